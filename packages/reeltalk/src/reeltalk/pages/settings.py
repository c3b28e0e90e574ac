"""Settings of a report on runs: figure and table files, videos, and facts about models.

The command line imports this module, so it imports no drawing code.
"""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reeltalk.analysis.table_files import TablesFormat
from reeltalk.errors import InputError
from reeltalk.pages.figure_files import FigureFormat
from reeltalk.store.foreign import open_file


class ModelAbout(BaseModel):
    """Facts about a model from the user; None if not given."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    parameters_b: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = None
    """Parameters in thousands of millions; all of them if a router selects some."""
    kind: Annotated[str, Field(min_length=1, max_length=60)] | None = None
    """Such as `open`, `closed`, `text only`, `video`."""
    frames: Annotated[int, Field(ge=0)] | None = None
    """Maximum number of frames."""
    context: Annotated[int, Field(gt=0)] | None = None
    """Maximum number of tokens."""
    link: Annotated[str, Field(pattern=r"^https?://[^\s]+$", max_length=500)] | None = None
    """Address of its description."""


def read_about(path: Path) -> dict[str, ModelAbout]:
    """Read facts about models from a TOML file with a table for each model, named as in the runs.

    Args:
        path: The file, for example `["qwen3-vl-8b"]` followed by `parameters_b = 8.8` and `kind = "open"`.

    Raises:
        InputError: The file cannot be read, is not TOML, or a value is invalid; names file and key.
    """
    try:
        with open_file(path) as stream:
            text = stream.read().decode("utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path) from error
    except UnicodeDecodeError as error:
        raise InputError("is not UTF-8", file=path, hint="save it as UTF-8") from error
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits is no TOMLDecodeError
        at = re.search(r"line (\d+)", str(error))
        raise InputError(f"is not TOML: {error}", file=path, line=int(at[1]) if at else None) from error
    return {name: _about(name, value, path) for name, value in found.items()}


def _about(name: str, value: object, path: Path) -> ModelAbout:
    if not isinstance(value, dict):
        raise InputError(
            "a key is outside the table of a model",
            file=path,
            place=name,
            value=value,
            hint='begin with the model\'s name, as ["qwen3-vl-8b"]',
        )
    try:
        return ModelAbout.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        # TOML reads [gpt-4.1] as a table "1" in a table "gpt-4"; this is the most common mistake.
        dotted = first["type"] == "extra_forbidden" and isinstance(first["input"], dict)
        keys = ", ".join(ModelAbout.model_fields)
        hint = f'a name with a dot needs quotes: ["{name}.{key}"]' if dotted else f"the keys are {keys}"
        problem = "unknown key" if first["type"] == "extra_forbidden" else first["msg"].lower()
        raise InputError(problem, file=path, place=f"{name}.{key}", value=first["input"], hint=hint) from error


MediaMode = Literal["none", "link", "copy", "cut"]
"""Source of the videos on the pages of dialogues."""


class ReportSettings(BaseModel):
    """Settings of a report on runs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    figures: tuple[FigureFormat, ...] | None = None
    """File formats of figures; every figure is also written below `figures/`. By default only those that a paper uses,
    as SVG and PDF."""
    tables: tuple[TablesFormat, ...] | None = None
    """File formats of tables; every table is also written below `tables/`. By default only those that a paper uses, as
    LaTeX and CSV."""
    about: dict[str, ModelAbout] = Field(default_factory=dict)
    """Facts about models, by their names in the runs."""
    published: tuple[str, ...] = ()
    """Benchmarks whose published numbers are shown next to the runs' numbers, such as `svbench`."""
    human: Path | None = None
    """People's ratings, in addition to those in the runs; judges are then compared with them."""
    credit: str | None = None
    """Measure of how right an answer is in profiles, such as `match`; by default the most exact one that all models
    have."""
    media: MediaMode = "none"
    """`link`: pages play the benchmark's own files. `copy`: the files of the videos asked about are copied into the
    site. `cut`: only the part of each video that a dialogue is about is copied. `none`: no video and no frames. All but
    `none` need the benchmark."""
    frames: Annotated[int, Field(ge=0, le=64)] = 8
    """Maximum number of frames shown at a turn, of those that the models saw; 0 for none."""
    most_frames: Annotated[int, Field(ge=0)] = 5000
    """Maximum number of frames in the whole report; later dialogues have none, and say so."""
