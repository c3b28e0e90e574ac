"""SVBench's files: their folders, the models of their entries, and the spellings of times."""

import ast
import math
import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Any, Final, Self

from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter, model_validator

from reeltalk.metrics.tokenise import languages_of
from reeltalk.schema.dialogue import QAChain
from reeltalk.schema.labels import Relation
from reeltalk.schema.record import Json
from reeltalk.store.documents import SourceModel

FORMAT: Final = "svbench"
DEFAULT_LANGUAGE: Final = "en"
LANGUAGE: Final = "language"
"""Label vocabulary for the language of a turn. A video has chains in English and in Chinese."""

OVERALL: Final = "Overall Evaluation"
MAY_NOT_APPLY: Final = "Temporal Understanding"
CRITERIA: Final = (
    "Semantic Accuracy", "Contextual Coherence", "Logical Consistency", MAY_NOT_APPLY, "Informational Completeness",
    OVERALL,
)  # fmt: skip
NOT_APPLICABLE: Final = -1
HIGHEST_SCORE: Final = 10
ALIASES: Final = {"Overall Score": OVERALL}
"""The paper's prompt uses *Score*, and the published script expects *Evaluation*."""
NO_SCORE: Final = "the record has no such score"

META_COLUMNS: Final = ("Video_Name", "Path_of_Video", "Sort_of_Set")
SCENE_COLUMNS: Final = ("path", "timestamp")
START_KEY: Final = "qac_timestamps_start"
END_KEY: Final = "qac_timestamps_end"

_LANGUAGE = re.compile(r"[a-z]{2}")
_CLOCK = re.compile(r"([0-9]{1,5}):([0-5]?[0-9]):([0-5]?[0-9](?:\.[0-9]{1,12})?)")
_PLAIN = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,12})?")
_LAYOUT_FOLDER = re.compile(r"(?i)(meta|dialogue|con|path|streaming|answers|judged|chain|single)(?:_([a-z]{2}))?")
_KINDS: Final[dict[str, dict[str, str]]] = {
    "": {
        **{name: name for name in ("dialogue", "con", "path", "streaming", "answers")},
        "chain": "judged chain",
        "single": "judged single",
    },
    "answers": {"dialogue": "answers", "streaming": "answers"},
    "judged": {"streaming": "judged chain", "con": "judged con"},
}
"""The kind of files in a folder, by the section of the layout."""


def video_id_of(name: str) -> str:
    """A video's identifier: its name without the ending of a file."""
    return name.removesuffix(".mp4").removesuffix(".json")


def seconds_of(spelling: str | float) -> float:
    """Seconds of `"HH:MM:SS.ffffff"`, of a decimal number in a string, or of a number.

    Raises:
        ValueError: It has another form, is negative, or is longer than any video.
    """
    if isinstance(spelling, str):
        if match := _CLOCK.fullmatch(spelling):
            return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3])
        if _PLAIN.fullmatch(spelling):
            return float(spelling)
        raise ValueError("a time must be seconds or HH:MM:SS.ffffff")
    if not 0 <= spelling < 1e9 or not math.isfinite(spelling):
        raise ValueError("a time must be 0 s or more, and less than 1,000,000,000 s")
    return float(spelling)


def clock_time(seconds: float) -> str:
    """Seconds as `HH:MM:SS.ffffff`."""
    whole, fraction = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}.{fraction:06d}"


def spell_time(seconds: float, spelling: Json) -> str | float:
    """The source's spelling of a time if it still equals `seconds`; else `seconds` in the same style."""
    if isinstance(spelling, str | int | float) and not isinstance(spelling, bool):
        try:
            if seconds_of(spelling) == seconds:
                return spelling
        except ValueError:
            return seconds
        return clock_time(seconds) if isinstance(spelling, str) else seconds
    return seconds


def parse_scenes(literal: str) -> list[tuple[str, str]]:
    """The scenes of a `timestamp` field, a Python list of pairs of times.

    Raises:
        ValueError: It is not such a list.
    """
    try:
        scenes = TypeAdapter(list[tuple[str, str]]).validate_python(ast.literal_eval(literal.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ValueError('scenes must be a list as [["00:00:00.000000", "00:00:04.500000"], …]') from None
    for time in (time for scene in scenes for time in scene):
        seconds_of(time)
    return scenes


def _is_time(spelling: str | float) -> str | float:
    seconds_of(spelling)
    return spelling


def _are_both_or_none(times: "list[Time | None]") -> "list[Time | None]":
    if (times[0] is None) != (times[1] is None):
        raise ValueError("one of the two times is missing; give both or none")
    return times


def refuse_unequal(lists: dict[str, list[Any]]) -> None:
    """Check that parallel lists have one length.

    Raises:
        ValueError: They differ.
    """
    if len({len(values) for values in lists.values()}) > 1:
        counts = ", ".join(f"{name} {len(values)}" for name, values in lists.items())
        raise ValueError(f"parallel lists differ in length: {counts}")


Time = Annotated[str | int | float, AfterValidator(_is_time)]
"""A time as the source spells it."""
Times = Annotated[list[Time | None], Field(min_length=2, max_length=2), AfterValidator(_are_both_or_none)]
"""Start and end, or twice null if they are unknown."""
Position = Annotated[int, Field(ge=0, lt=100_000)]
"""An index from 0. The bound excludes damaged numbers."""
Score = float | int | None
SceneId = Annotated[str, Field(pattern=r"^[0-9]{1,5}$")] | Position


class _Parallel(SourceModel):
    """Lists of equal length."""

    @model_validator(mode="after")
    def _have_one_length(self) -> Self:
        values = {name: getattr(self, name) for name in type(self).model_fields}
        refuse_unequal({name: value for name, value in values.items() if isinstance(value, list)})
        return self


class _Timed(SourceModel):
    """Something between two times."""

    qac_timestamps_start: Time | None = None
    qac_timestamps_end: Time | None = None

    @model_validator(mode="after")
    def _has_both_times_or_none(self) -> Self:
        _are_both_or_none(self.times)
        return self

    @property
    def times(self) -> list[Time | None]:
        """Both times."""
        return [self.qac_timestamps_start, self.qac_timestamps_end]


class QuestionsAndAnswers(_Parallel):
    """Two parallel lists."""

    questions: list[str]
    answers: list[str]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Each question with its answer."""
        return list(zip(self.questions, self.answers, strict=True))


class ChainEntry(_Timed):
    """One entry of a `Dialogue` file; both times are null if they are unknown."""

    chain: QuestionsAndAnswers
    qac_timestamps_start: Time | None
    qac_timestamps_end: Time | None


class LinkedChain(QuestionsAndAnswers, _Timed):
    """A chain as `Con` repeats it."""


class LinksByIndex(_Parallel):
    """Relations between turns of two chains, as three parallel lists."""

    chainBefore: list[Position]
    chainAfter: list[Position]
    relationship: list[str]


class LinksByText(_Parallel):
    """Relations as the construction script writes them: by the wording of questions and answers."""

    questionsBefore: list[str]
    answersBefore: list[str]
    questionsAfter: list[str]
    answersAfter: list[str]
    relationship: list[str]


Linked = Annotated[LinkedChain | None, BeforeValidator(lambda value: None if value == {} else value)]


class LinkEntry(SourceModel):
    """One entry of a `Con` file; any of the three may be `{}`."""

    chain_1: Linked
    chain_2: Linked
    relationship: dict[str, Any]


class PathFile(SourceModel):
    """A `Path` file: each step is `[chain, question]`, from 0."""

    Paths: list[list[Annotated[list[Position], Field(min_length=2, max_length=2)]]]


class StreamingEntry(QuestionsAndAnswers):
    """One path of a `Streaming` file: three parallel lists."""

    timestamps: list[Times]


class AnsweredEntry(_Parallel):
    """A model's answers to one chain or path: three parallel lists."""

    questions: list[str]
    gt_answers: list[str]
    answers: list[str]


class _Judged(SourceModel):
    video_name: str

    @property
    def video(self) -> str:
        """The video's identifier."""
        return video_id_of(self.video_name)


class JudgedChain(AnsweredEntry, _Judged):
    """A judge's record about one chain."""

    scene_id: SceneId
    evaluation: str | None = None
    scores: dict[str, Score] | None = None


class JudgedLinks(_Judged):
    """A judge's record about the linked questions of one video. Lists are nested if a chain has links both ways."""

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


class JudgedScene(_Judged):
    """A judge's records about the questions of one chain, judged separately."""

    scene_id: SceneId
    scores: list[JudgedQuestion]


@dataclass(frozen=True)
class FolderFacts:
    """Facts about a file from the names of its folders."""

    kind: str | None
    """The kind of the file, unless its content shows another kind."""
    unit: str
    """Unit of its answers and judgements: `chain` or `path`."""
    language: str | None
    names: tuple[str, ...]
    """The folders that are not of the layout: those of a model, or of a judge and a model."""

    @classmethod
    def of(cls, path: str) -> "FolderFacts":
        """Read the folders of a path; deeper folders override those above."""
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


def is_layout_folder(name: str) -> bool:
    """True for a folder of SVBench's layout, such as `Dialogue_ZH`."""
    return _LAYOUT_FOLDER.fullmatch(name) is not None


def kind_of_svbench_file(value: Json, place: FolderFacts) -> str | None:
    """The kind of a JSON file, by its content or, if that is not clear, by its folder."""
    if isinstance(value, dict):
        return "path" if "Paths" in value else place.kind
    rows = value if isinstance(value, list) else []
    keys = {key for row in rows if isinstance(row, dict) for key in row}
    if "scene_id" in keys and "questions" not in keys:
        return "judged single"
    if {"evaluation", "scores", "video_name"} & keys and {"gt_answers", "scores"} & keys:
        return "judged chain" if "scene_id" in keys else "judged con"
    signs = {"gt_answers": "answers", "chain": "dialogue", "chain_1": "con", "timestamps": "streaming"}
    return next((kind for key, kind in signs.items() if key in keys), place.kind)


def language_of(chain: QAChain) -> str:
    """The two letters of a chain's language: by the labels of its turns, else by their text."""
    words = {turn.labels[LANGUAGE] for turn in chain.turns if LANGUAGE in turn.labels}
    if not words:
        return languages_of([[turn.question for turn in chain.turns]])[0]
    first = min(words)
    return first[0] if len(words) == len(first) == 1 and _LANGUAGE.fullmatch(first[0]) else DEFAULT_LANGUAGE


def relation_of(word: str) -> str:
    """One of the six relations, or the source's own word."""
    found = Relation.from_published(word)
    return found.value if found else word


def first_reference(texts: tuple[str, ...]) -> str:
    """The preferred reference; empty if the source withholds it."""
    return texts[0] if texts else ""


def with_empty_places(records: tuple[str, ...] | list[str], empty: list[int]) -> list[str | None]:
    """The entries of a list in a file: its records in order, and None at the places that are empty."""
    ids, places = iter(records), set(empty)
    return [None if place in places else next(ids, None) for place in range(len(records) + len(places))]
