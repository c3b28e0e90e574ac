"""The cost of a number of videos, line by line: arithmetic on measured figures and on numbers that only you know.

Every line shows its calculation with its numbers, so that you can check it by hand. `bench/suites.py` writes the
measured figures, each with what measured it.
"""

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.store.documents import parse, read_json

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]

FIGURES: Final = Path(__file__).parents[1] / "bench" / "capacity.json"


class Figure(BaseModel):
    """One measured figure."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: float
    unit: str
    source: str
    """The program that measured it."""
    machine: str
    """The machine, and the date."""


class Measured(BaseModel):
    """Measured figures, on one core of one machine unless a field says otherwise."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    core_s_an_hour_720p: Positive
    """Core seconds to curate an hour of 720p: decode it once and measure everything."""
    core_s_an_hour_1080p: Positive
    """The same for 1080p."""
    curate_core_s_a_video: NonNegative
    """Core seconds for each video in addition to its pixels: a process, tables, a contact sheet."""
    curate_mib_an_hour: float
    """Memory of the process that decodes, for each additional hour of one video."""
    hash_mb_a_core_s: Positive
    """Megabytes that a core hashes a second."""
    clips_over_original: NonNegative
    """Bytes of clips that are cut without loss, divided by bytes of their video."""
    key_frames_mb_an_hour: NonNegative
    """Key frames of an hour of 720p as JPEG."""
    sheet_kb: NonNegative
    """A contact sheet."""
    tables_kb_a_video: NonNegative
    """JSON Lines of a constructed video with all its chains, dialogues and checks."""
    manifest_kb_a_video: NonNegative
    """The manifest, for each video that was curated."""
    graph_kb_a_video: NonNegative
    """Activity graphs as N-Quads, if videos have them."""
    turns_a_video_constructed: Positive
    """Turns that the graph writer writes about a video."""
    construct_core_s_a_video: NonNegative
    """Core seconds of construction with the graph writer."""
    construct_mib: Positive
    """Memory of a process that constructs a block of 256 videos with the graph writer."""
    play_core_s_a_turn: NonNegative
    """Core seconds to play and judge a turn without asking a model."""
    core_ms_a_call: NonNegative
    """Core milliseconds of a call to a language model with 16 pictures."""
    score_core_s_a_turn: NonNegative
    """Core seconds of text metrics with intervals, for each additional turn."""
    report_core_s_a_turn: NonNegative
    """Core seconds of a report on two models, for each additional turn."""
    jsonl_kb_a_turn: Positive
    """A stored turn of a chain, as JSON Lines."""
    parquet_kb_a_turn: Positive
    """The same turn in a data set repository, as Parquet."""
    run_kb_a_turn: NonNegative
    """Answers, scores and log of a run."""
    report_kb_a_turn: NonNegative
    """Pages of a report on two models."""
    database_kb_a_turn: NonNegative
    """The database of review, with people's work."""
    ray_efficiency: Share
    """Share of time for which the cores of several processes work on videos."""


@cache
def figures(path: Path | None = None) -> dict[str, Figure]:
    """The measured figures, with their sources.

    Args:
        path: A file laid out like `bench/capacity.json`, which is read by default.

    Raises:
        InputError: It cannot be read, or a figure is missing or out of its range.
    """
    file = path or FIGURES
    found = parse(dict[str, Figure], read_json(file), file=file)
    parse(Measured, {name: figure.value for name, figure in found.items()}, file=file)
    return found


def measured(path: Path | None = None) -> Measured:
    """The values alone; see `figures`."""
    return Measured.model_validate({name: figure.value for name, figure in figures(path).items()})


class CapacitySettings(BaseModel):
    """Numbers that only you know. The defaults are round numbers to replace, unless they name a source."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    videos: Annotated[int, Field(ge=1)] = 1_000_000
    """Videos before filtering."""
    minutes: Positive = 2.0
    """Mean length of a video in minutes."""
    height: Literal[720, 1080] = 720
    """Height of the pictures in pixels."""
    mbit_s: Positive = 2.5
    """Mean bit rate of the files in Mbit/s."""
    kept: Share = 0.25
    """Share of the videos that pass the filters."""
    turns: Positive = 37.0
    """Turns of a kept video; SVBench has 49,979 for 1,353 videos."""
    turns_a_dialogue: Positive = 4.3
    """Turns of a dialogue; SVBench's test set has 7,374 in 1,719 chains."""
    frames: Annotated[int, Field(ge=0)] = 120
    """Frames that a model sees of a video."""
    frame_tokens: Positive = 256.0
    """Tokens of a frame."""
    system_tokens: NonNegative = 50.0
    """Tokens of instructions."""
    question_tokens: NonNegative = 20.0
    """Tokens of a question."""
    answer_tokens: NonNegative = 20.0
    """Tokens of an answer."""
    models: Annotated[int, Field(ge=0)] = 1
    """Models that are evaluated."""
    judge_tokens_in: NonNegative = 600.0
    """Tokens that a judge reads for a turn."""
    judge_tokens_out: NonNegative = 100.0
    """Tokens that a judge writes for a turn."""
    writer_tokens_in: NonNegative = 60_000.0
    """Tokens that a writer reads for a kept video; `reeltalk construct --plan` shows the number for your videos."""
    writer_tokens_out: NonNegative = 8_000.0
    """Tokens that a writer writes for a kept video."""
    prefill_tokens_s: Positive = 10_000.0
    """Tokens that one of your GPUs reads a second."""
    decode_tokens_s: Positive = 1_500.0
    """Tokens that one GPU writes a second, all requests together."""
    gpus: Annotated[int, Field(ge=1)] = 8
    """GPUs."""
    nodes: Annotated[int, Field(ge=1)] = 4
    """Nodes of a Ray cluster."""
    cores: Annotated[int, Field(ge=1)] = 64
    """Cores of a node."""
    node_gib: Positive = 128.0
    """Memory of a node in GiB."""
    turns_a_person_hour: Positive = 60.0
    """Turns that a person reviews an hour."""
    double: Share = 0.1
    """Share of turns that two people review."""
    core_hour: NonNegative = 0.04
    """Price of a core hour."""
    gpu_hour: NonNegative = 2.0
    """Price of a GPU hour."""
    tb_month: NonNegative = 20.0
    """Price of a terabyte for a month."""
    person_hour: NonNegative = 25.0
    """Price of a person hour."""


BLOCK_TOKENS: Final = 16
"""Tokens of a block, which a server caches only whole; the part of a block after a prefix is read again."""
NAMES_OF_WAYS: Final = (
    "everything again at each turn",
    "each dialogue's prefix cached",
    "each frame read once a video",
)
CALLS_A_TURN: Final = 2
"""An answer, and a judge's reply."""
REPORTED: Final = 2
"""Models of the measured reports; the cost of a report grows with its answers."""
SECONDS_AN_HOUR: Final = 3600
HOURS_A_YEAR: Final = 1600
"""Of a person's work."""


@dataclass(frozen=True)
class Line:
    """One result."""

    what: str
    value: float
    unit: str
    working: str
    """The calculation, with its numbers."""


@dataclass(frozen=True)
class Section:
    """Results that belong together."""

    title: str
    lines: tuple[Line, ...]


def prefill_tokens(settings: CapacitySettings) -> tuple[float, float, float]:
    """Tokens that a model reads for a kept video, by how its server is asked.

    Returns:
        Three numbers: everything again at each turn; each dialogue's prefix cached; each frame read once for all
        dialogues of a video (frames first on one replica, or frames appended to a stream at a fixed rate).
    """
    s, t = settings, settings.turns_a_dialogue
    dialogues, seen = s.turns / t, s.frames * s.frame_tokens
    anew = t * (seen + s.system_tokens + s.question_tokens) + (s.question_tokens + s.answer_tokens) * t * (t - 1) / 2
    own = t * s.question_tokens + BLOCK_TOKENS * max(0.0, t - 1)
    once = seen + s.system_tokens
    return dialogues * anew, dialogues * (once + own), once + dialogues * own


@dataclass(frozen=True)
class _Work:
    """Amounts that several sections use."""

    s: CapacitySettings
    m: Measured

    @property
    def hours(self) -> float:
        return self.s.videos * self.s.minutes / 60

    @property
    def kept(self) -> float:
        return self.s.videos * self.s.kept

    @property
    def turns(self) -> float:
        return self.kept * self.s.turns

    @property
    def originals_tb(self) -> float:
        return self.hours * 3600 * self.s.mbit_s / 8 / 1e6

    @property
    def rate(self) -> float:
        """Core seconds of an hour of video."""
        return self.m.core_s_an_hour_720p if self.s.height == 720 else self.m.core_s_an_hour_1080p


def capacity(settings: CapacitySettings, measured: Measured) -> list[Section]:
    """Everything that the videos take, section by section.

    Args:
        settings: What the user knows.
        measured: The measured figures.
    """
    work = _Work(settings, measured)
    curating, storage, asking = _curating(work), _storage(work), _asking(work)
    core_h = sum(line.value for line in curating.lines if line.unit == "core hours")
    calls_h = CALLS_A_TURN * settings.models * work.turns * measured.core_ms_a_call / 1000 / 3600
    gpu_h = sum(line.value for line in asking.lines[len(NAMES_OF_WAYS) - 1 :])
    people = _people(work)
    return [
        curating,
        storage,
        _tables(work),
        _tokens(work),
        asking,
        _nodes(work, core_h, calls_h, gpu_h),
        people,
        _money(work, core_h + calls_h, gpu_h, storage, people.lines[0].value),
    ]


def _product(what: str, unit: str, count: float, each: float, told: str, scale: float = 1.0) -> Line:
    """So many times so much; `told` is the unit of one, `scale` how many of those make one of the result."""
    seconds = f" / {SECONDS_AN_HOUR}" if scale == SECONDS_AN_HOUR else ""
    return Line(what, count * each / scale, unit, f"{shown(count)} × {shown(each)} {told}{seconds}")


def _curating(work: _Work) -> Section:
    s, m = work.s, work.m
    turned = s.models * work.turns
    own = m.play_core_s_a_turn + m.score_core_s_a_turn + m.report_core_s_a_turn / REPORTED
    return Section(
        "Cores",
        (
            Line("video", work.hours, "hours", f"{shown(s.videos)} videos × {shown(s.minutes)} min / 60"),
            _product(
                f"decode and measure {s.height}p, once", "core hours", work.hours, work.rate, "core s", SECONDS_AN_HOUR
            ),
            _product(
                "work in addition to the pixels",
                "core hours",
                s.videos,
                m.curate_core_s_a_video,
                "core s",
                SECONDS_AN_HOUR,
            ),
            Line(
                "hash every file",
                work.originals_tb * 1e6 / m.hash_mb_a_core_s / 3600,
                "core hours",
                f"{shown(work.originals_tb)} TB / {shown(m.hash_mb_a_core_s)} MB a core s / 3600",
            ),
            Line("kept videos", work.kept, "videos", f"{shown(s.videos)} × {shown(s.kept)}"),
            _product(
                "construct from graphs", "core hours", work.kept, m.construct_core_s_a_video, "core s", SECONDS_AN_HOUR
            ),
            _product("play, score and report", "core hours", turned, own, "core s a turn and model", SECONDS_AN_HOUR),
        ),
    )


def _storage(work: _Work) -> Section:
    s, m, kept_tb = work.s, work.m, work.originals_tb * work.s.kept
    seconds = f"{shown(work.hours)} h × 3600 × {shown(s.mbit_s)} Mbit/s / 8"
    return Section(
        "Storage",
        (
            Line("originals, all", work.originals_tb, "TB", seconds),
            Line("originals, kept", kept_tb, "TB", f"{shown(work.originals_tb)} TB × {shown(s.kept)}"),
            _product("clips cut without loss", "TB", kept_tb, m.clips_over_original, "of the original"),
            _product("key frames as files", "TB", work.hours * s.kept, m.key_frames_mb_an_hour, "MB an hour", 1e6),
            _product("contact sheets", "TB", work.kept, m.sheet_kb, "KB", 1e9),
            _product("graphs, if there are any", "TB", work.kept, m.graph_kb_a_video, "KB", 1e9),
            _product("tables, with results of checks", "TB", work.kept, m.tables_kb_a_video, "KB", 1e9),
            _product("manifests", "TB", s.videos, m.manifest_kb_a_video, "KB", 1e9),
        ),
    )


def _tables(work: _Work) -> Section:
    s, m, turns = work.s, work.m, work.turns
    construct = f"{shown(s.cores)} blocks × {shown(m.construct_mib)} MiB / 1024, of {shown(s.node_gib)} GiB"
    return Section(
        "Tables and database",
        (
            Line("turns", turns, "turns", f"{shown(work.kept)} videos × {shown(s.turns)}"),
            _product("turns as JSON Lines", "GB", turns, m.jsonl_kb_a_turn, "KB", 1e6),
            _product("turns as Parquet", "GB", turns, m.parquet_kb_a_turn, "KB", 1e6),
            _product("runs", "GB", s.models * turns, m.run_kb_a_turn, "KB", 1e6),
            _product("reports", "GB", s.models * turns, m.report_kb_a_turn / REPORTED, "KB", 1e6),
            _product("database of review", "GB", turns, m.database_kb_a_turn, "KB", 1e6),
            Line("memory of construct on a node", s.cores * m.construct_mib / 1024, "GiB", construct),
        ),
    )


def _tokens(work: _Work) -> Section:
    s, billion = work.s, "billion tokens"
    parts = [
        (f"a model reads, {name}", work.kept, way, "a video")
        for name, way in zip(NAMES_OF_WAYS, prefill_tokens(s), strict=True)
    ]
    parts += [
        ("a model writes", work.turns, s.answer_tokens, "a turn"),
        ("a judge reads, for a model", work.turns, s.judge_tokens_in, "a turn"),
        ("a judge writes, for a model", work.turns, s.judge_tokens_out, "a turn"),
        ("a writer reads", work.kept, s.writer_tokens_in, "a video"),
        ("a writer writes", work.kept, s.writer_tokens_out, "a video"),
    ]
    return Section("Tokens", tuple(_product(what, billion, n, each, told, 1e9) for what, n, each, told in parts))


def _asking(work: _Work) -> Section:
    s = work.s

    def line(what: str, count: float, read: float, wrote: float) -> Line:
        each_s = read / s.prefill_tokens_s + wrote / s.decode_tokens_s
        told = f"{shown(read)} / {shown(s.prefill_tokens_s)} + {shown(wrote)} / {shown(s.decode_tokens_s)}"
        return Line(what, count * each_s / 3600, "GPU hours", f"{shown(count)} × ({told}) s / 3600")

    answered = s.models * work.kept
    answers = [
        line(f"answers, {name}", answered, way, s.turns * s.answer_tokens)
        for name, way in zip(NAMES_OF_WAYS, prefill_tokens(s), strict=True)
    ]
    judging = line("judging", s.models * work.turns, s.judge_tokens_in, s.judge_tokens_out)
    writing = line("writing by a language model", work.kept, s.writer_tokens_in, s.writer_tokens_out)
    return Section("GPUs", (*answers, judging, writing))


def _nodes(work: _Work, core_h: float, calls_h: float, gpu_h: float) -> Section:
    s, m = work.s, work.m
    cores = f"({s.nodes} nodes × {s.cores} cores × {shown(m.ray_efficiency)})"
    asked_h = gpu_h / s.gpus
    calls = f"{CALLS_A_TURN} × {s.models} × {shown(work.turns)} calls × {shown(m.core_ms_a_call)} ms"
    return Section(
        "Nodes and time",
        (
            Line("work on cores, as above", core_h, "core hours", "the sum"),
            Line(
                "on the cluster",
                core_h / (s.nodes * s.cores * m.ray_efficiency),
                "hours",
                f"{shown(core_h)} core hours / {cores}",
            ),
            Line("asking models and judges", calls_h, "core hours", calls),
            Line("GPUs at work", asked_h, "hours", f"{shown(gpu_h)} GPU hours / {s.gpus}"),
            Line(
                "asking processes needed",
                float(math.ceil(calls_h / asked_h)) if asked_h else 0.0,
                "processes",
                f"{shown(calls_h)} core hours / {shown(asked_h)} hours",
            ),
        ),
    )


def _people(work: _Work) -> Section:
    s = work.s
    hours = work.turns * (1 + s.double) / s.turns_a_person_hour
    told = f"{shown(work.turns)} × (1 + {shown(s.double)}) / {shown(s.turns_a_person_hour)}"
    years = Line("the same", hours / HOURS_A_YEAR, "person years", f"{shown(hours)} / {shown(HOURS_A_YEAR)} hours")
    return Section("People", (Line("reviewing every turn", hours, "person hours", told), years))


def _money(work: _Work, core_h: float, gpu_h: float, storage: Section, people_h: float) -> Section:
    s = work.s
    kept_tb = sum(line.value for line in storage.lines[1:])
    return Section(
        "Money",
        (
            _product("cores", "money", core_h, s.core_hour, "a core hour"),
            _product("GPUs", "money", gpu_h, s.gpu_hour, "a GPU hour, each frame read once"),
            _product("storage, a month", "money", kept_tb, s.tb_month, "a TB, without rejected originals"),
            _product("people", "money", people_h, s.person_hour, "a person hour"),
        ),
    )


def shown(value: float) -> str:
    """A number as people read it: four digits that count or all before the point, thousands apart."""
    if value == 0:
        return "0"
    if abs(value) >= 1e6:
        digits = 3 - math.floor(math.log10(abs(value)))
        return f"{round(value, digits):,.0f}"
    places = max(0, 3 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
