"""What was measured and a capacity plan rests on; `bench/suites.py` writes the values, with what measured them."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.store.documents import parse, read_json

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]

FILE: Final = "measured.json"


class Figure(BaseModel):
    """One measured figure."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: float
    unit: str
    source: str
    """What measured it."""
    machine: str
    """On what, and when."""


class Measured(BaseModel):
    """What was measured, on one core of one machine unless it says otherwise."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    core_s_an_hour_720p: Positive
    """Core seconds in which an hour of 720p is curated: decoded once, and all measured on the way."""
    core_s_an_hour_1080p: Positive
    """The same of 1080p."""
    curate_core_s_a_video: NonNegative
    """Core seconds that a video costs beside its pixels: a process, tables, a contact sheet."""
    curate_mib_an_hour: float
    """Memory of the process that decodes, for each hour more of one video."""
    curate_mib_a_video: NonNegative
    """Memory of the process that writes the tables, for each video more."""
    hash_mb_a_core_s: Positive
    """Megabytes that a core hashes in a second."""
    clips_over_original: NonNegative
    """Bytes of clips that are cut without loss, over bytes of their video."""
    key_frames_mb_an_hour: NonNegative
    """Key frames of an hour of 720p as JPEG."""
    sheet_kb: NonNegative
    """A contact sheet."""
    tables_kb_a_video: NonNegative
    """Rows in JSON Lines of a constructed video with all its chains, dialogues and checks."""
    manifest_kb_a_video: NonNegative
    """The manifest, for each video that was curated."""
    graph_kb_a_video: NonNegative
    """Activity graphs as N-Quads, where videos have them."""
    turns_a_video_constructed: Positive
    """Turns that the graph writer writes about a video."""
    construct_core_s_a_video: NonNegative
    """Core seconds of construction with the graph writer."""
    construct_mib_a_video: NonNegative
    """Memory of the process that constructs, for each video more."""
    play_core_s_a_turn: NonNegative
    """Core seconds of playing and judging a turn that no model is asked for."""
    core_ms_a_call: NonNegative
    """Core milliseconds of a call to a language model with 16 pictures."""
    score_core_s_a_turn: NonNegative
    """Core seconds of text metrics with intervals, for each turn more."""
    report_core_s_a_turn: NonNegative
    """Core seconds of a report on two models, for each turn more."""
    jsonl_kb_a_turn: Positive
    """A turn of a chain as it is stored."""
    parquet_kb_a_turn: Positive
    """The same in a data set repository."""
    run_kb_a_turn: NonNegative
    """Answers, scores and log of a run."""
    report_kb_a_turn: NonNegative
    """Pages of a report on two models."""
    database_kb_a_turn: NonNegative
    """The database of review, with the work of people."""
    ray_efficiency: Share
    """Share of their time that the cores of several processes work on videos."""


@cache
def figures(path: Path | None = None) -> dict[str, Figure]:
    """What was measured, with its sources.

    Args:
        path: A file laid out as the one of the package, which is read by default.

    Raises:
        InputError: It cannot be read, or a figure is missing or out of its range.
    """
    file = path or Path(str(files("reeltalk.capacity").joinpath(FILE)))
    found = parse(dict[str, Figure], read_json(file), file=file)
    parse(Measured, {name: figure.value for name, figure in found.items()}, file=file)
    return found


def measured(path: Path | None = None) -> Measured:
    """The values alone; see `figures`."""
    return Measured.model_validate({name: figure.value for name, figure in figures(path).items()})
