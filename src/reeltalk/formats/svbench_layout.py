"""SVBench's files as their authors describe them: what each is called, what it holds, how it spells a time."""

import csv
import io
import math
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from reeltalk.errors import InputError
from reeltalk.metrics.tokenise import languages_of
from reeltalk.schema.dialogue import QAChain
from reeltalk.schema.record import Json
from reeltalk.store.documents import SourceModel, read_text

FORMAT: Final = "svbench"
DEFAULT_LANGUAGE: Final = "en"
LANGUAGE: Final = "language"
"""The label vocabulary by which turns name their language: a video has chains in English and in Chinese."""

OVERALL: Final = "Overall Evaluation"
CRITERIA: Final = (
    "Semantic Accuracy",
    "Contextual Coherence",
    "Logical Consistency",
    "Temporal Understanding",
    "Informational Completeness",
    OVERALL,
)
MAY_NOT_APPLY: Final = "Temporal Understanding"
NOT_APPLICABLE: Final = -1
HIGHEST_SCORE: Final = 10
ALIASES: Final = {"Overall Score": OVERALL}
"""The paper's prompt says *Score* where the published script looks for *Evaluation*."""

META_COLUMNS: Final = ("Video_Name", "Path_of_Video", "Sort_of_Set")
SCENE_COLUMNS: Final = ("path", "timestamp")

_LANGUAGE = re.compile(r"[a-z]{2}")
_CLOCK = re.compile(r"([0-9]{1,5}):([0-5]?[0-9]):([0-5]?[0-9](?:\.[0-9]{1,12})?)")
_PLAIN = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,12})?")
_LAYOUT_FOLDER = re.compile(r"(?i)(meta|dialogue|con|path|streaming|answers|judged|chain|single)(?:_([a-z]{2}))?")
_KINDS: Final[dict[str, dict[str, str]]] = {
    "": {
        "dialogue": "dialogue",
        "con": "con",
        "path": "path",
        "streaming": "streaming",
        "answers": "answers",
        "chain": "judged chain",
        "single": "judged single",
    },
    "answers": {"dialogue": "answers", "streaming": "answers"},
    "judged": {"streaming": "judged chain", "con": "judged con"},
}
"""What a folder holds, by the section of the layout that it lies in."""
_SCENE = re.compile(r"""[\[(]\s*(['"])([0-9:.]+)\1\s*,\s*(['"])([0-9:.]+)\3\s*[\])]""")


def video_id_of(name: str) -> str:
    """A video's identifier: its name without the ending of a file."""
    for suffix in (".mp4", ".json"):
        name = name.removesuffix(suffix)
    return name


def seconds_of(spelling: str | float) -> float:
    """Seconds of `"HH:MM:SS.ffffff"`, of a decimal number in a string, or of a number.

    Raises:
        ValueError: It is neither, negative, or beyond any video.
    """
    if isinstance(spelling, str):
        if match := _CLOCK.fullmatch(spelling):
            return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3])
        if _PLAIN.fullmatch(spelling):
            return float(spelling)
        raise ValueError("a time must be seconds or HH:MM:SS.ffffff")
    if not 0 <= spelling < 1e9 or not math.isfinite(spelling):
        raise ValueError("a time must be 0 s or more, and less than a thousand million seconds")
    return float(spelling)


def _is_time(spelling: str | float) -> str | float:
    seconds_of(spelling)
    return spelling


Time = Annotated[str | int | float, AfterValidator(_is_time)]
"""A time as the source spells it."""

Position = Annotated[int, Field(ge=0, lt=100_000)]
"""An index from 0. The bound keeps a damaged number from being taken for one."""


class QuestionsAndAnswers(SourceModel):
    """Two parallel lists."""

    questions: list[str]
    answers: list[str]


class ChainEntry(SourceModel):
    """One entry of a `Dialogue` file; both times are null where nothing is known of them."""

    chain: QuestionsAndAnswers
    qac_timestamps_start: Time | None
    qac_timestamps_end: Time | None


class LinkedChain(SourceModel):
    """A chain as `Con` repeats it."""

    questions: list[str]
    answers: list[str]
    qac_timestamps_start: Time | None = None
    qac_timestamps_end: Time | None = None


class LinksByIndex(SourceModel):
    """Relations between turns of two chains, as three parallel lists."""

    chainBefore: list[Position]
    chainAfter: list[Position]
    relationship: list[str]


class LinksByText(SourceModel):
    """Relations as the construction script writes them: by the wording of questions and answers."""

    questionsBefore: list[str]
    answersBefore: list[str]
    questionsAfter: list[str]
    answersAfter: list[str]
    relationship: list[str]


class LinkEntry(SourceModel):
    """One entry of a `Con` file; any of the three may be `{}`."""

    chain_1: dict[str, Any]
    chain_2: dict[str, Any]
    relationship: dict[str, Any]


class PathFile(SourceModel):
    """A `Path` file: each step is `[chain, question]`, from 0."""

    Paths: list[list[Annotated[list[Position], Field(min_length=2, max_length=2)]]]


class StreamingEntry(SourceModel):
    """One path of a `Streaming` file: three parallel lists."""

    questions: list[str]
    answers: list[str]
    timestamps: list[Annotated[list[Time | None], Field(min_length=2, max_length=2)]]


class AnsweredEntry(SourceModel):
    """A model's answers to one chain or path: three parallel lists."""

    questions: list[str]
    gt_answers: list[str]
    answers: list[str]


Score = float | int | None
SceneId = Annotated[str, Field(pattern=r"^[0-9]{1,5}$")] | Position


class JudgedChain(SourceModel):
    """A judge's record about one chain."""

    video_name: str
    scene_id: SceneId
    questions: list[str]
    gt_answers: list[str]
    answers: list[str]
    evaluation: str | None = None
    scores: dict[str, Score] | None = None


class JudgedLinks(SourceModel):
    """A judge's record about the linked questions of one video; the lists nest where a chain links both ways."""

    video_name: str
    questions: list[Any]
    gt_answers: list[Any]
    answers: list[Any]
    relationships: Any = None
    evaluation: str | None = None
    scores: dict[str, Score] | None = None


class JudgedQuestion(SourceModel):
    """A judge's record about one question."""

    question_id: SceneId
    question: str
    gt_answer: str
    model_response: str
    evaluation: str | None = None
    question_scores: dict[str, Score] | None = None


class JudgedScene(SourceModel):
    """A judge's records about the questions of one chain, each by itself."""

    video_name: str
    scene_id: SceneId
    scores: list[JudgedQuestion]


@dataclass(frozen=True)
class Place:
    """What the folders above a file say about it."""

    kind: str | None
    """What the file is, unless it shows something else itself."""
    unit: str
    """What answers and judgements in it are about: `chain` or `path`."""
    language: str | None
    names: tuple[str, ...]
    """The folders that the layout does not name: of a model, of a judge and a model."""

    @classmethod
    def of(cls, path: str) -> "Place":
        """Read the folders of a path; one further down says more."""
        section, kind, language, unit = "", None, None, "chain"
        names: list[str] = []
        for name in PurePosixPath(path).parts[:-1]:
            match = _LAYOUT_FOLDER.fullmatch(name)
            if match is None:
                names.append(name)
                continue
            folder = match[1].lower()
            language = match[2].lower() if match[2] else language
            unit = "path" if folder == "streaming" else unit
            if folder in ("answers", "judged"):
                section, names = folder, []
            kind = _KINDS.get(section, {}).get(folder) or _KINDS[""].get(folder)
        return cls(kind, unit, language, tuple(names))


def language_of(chain: QAChain) -> str:
    """The two letters of a chain's language: as its turns are labelled, else as they read."""
    words = {turn.labels[LANGUAGE] for turn in chain.turns if LANGUAGE in turn.labels}
    if not words:
        return languages_of([[turn.question for turn in chain.turns]])[0]
    first = min(words)
    return first[0] if len(words) == len(first) == 1 and _LANGUAGE.fullmatch(first[0]) else DEFAULT_LANGUAGE


def is_layout_folder(name: str) -> bool:
    """True for a folder that SVBench's layout names, as `Dialogue_ZH`."""
    return _LAYOUT_FOLDER.fullmatch(name) is not None


def kind_of(value: Json, place: Place) -> str | None:
    """What a JSON file is, by what it holds and, where that leaves it open, by its folder."""
    if isinstance(value, dict):
        return "path" if "Paths" in value else place.kind
    rows = value if isinstance(value, list) else []
    keys = {key for row in rows if isinstance(row, dict) for key in row}
    if "scene_id" in keys and "questions" not in keys:
        return "judged single"
    if {"evaluation", "scores", "video_name"} & keys and {"gt_answers", "scores"} & keys:
        return "judged chain" if "scene_id" in keys else "judged con"
    if "gt_answers" in keys:
        return "answers"
    for key, kind in (("chain", "dialogue"), ("chain_1", "con"), ("timestamps", "streaming")):
        if key in keys:
            return kind
    return place.kind


def read_csv(path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """The header of a CSV file, and its rows with their line numbers.

    Raises:
        InputError: It is not CSV, or a row has more or fewer fields than the header.
    """
    # newline="" keeps a line break inside a quoted field as it is.
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    header: list[str] = []
    rows: list[tuple[int, dict[str, str]]] = []
    try:
        for fields in reader:
            if not fields:
                continue
            if not header:
                header = fields
                if len(set(header)) < len(header):
                    raise InputError("a column stands twice", file=path, line=reader.line_num, value=",".join(header))
                continue
            if len(fields) != len(header):
                raise InputError(
                    f"{len(fields)} fields where the header has {len(header)}",
                    file=path,
                    line=reader.line_num,
                    value=",".join(fields),
                )
            rows.append((reader.line_num, dict(zip(header, fields, strict=True))))
    except csv.Error as error:
        raise InputError(f"not CSV: {error}", file=path, line=reader.line_num) from None
    return header, rows


def csv_text(header: list[str], rows: list[dict[str, str]]) -> str:
    """A CSV file with line feeds."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([row[column] for column in header] for row in rows)
    return stream.getvalue()


def scenes_of(literal: str) -> list[tuple[str, str]]:
    """The scenes of a `timestamp` field, a Python list of pairs of strings.

    Raises:
        ValueError: It is something else.
    """
    inner = literal.strip()
    found = _SCENE.findall(inner)
    rest = _SCENE.sub("", inner)
    if not re.fullmatch(r"[\[(][\s,]*[\])]", rest) or rest.count(",") not in (max(0, len(found) - 1), len(found)):
        raise ValueError('scenes must be a list as [["00:00:00.000000", "00:00:04.500000"], …]')
    return [(start, end) for _, start, _, end in found]


def scene_literal(scenes: list[tuple[str, str]]) -> str:
    """A `timestamp` field."""
    return repr([list(scene) for scene in scenes])


def clock(seconds: float) -> str:
    """`"HH:MM:SS.ffffff"`."""
    micros = round(seconds * 1_000_000)
    whole, fraction = divmod(micros, 1_000_000)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}.{fraction:06d}"
