"""SVBench's files: their specification, and their documents made from typed records.

The importer makes the documents too, to find the places in which a source differs from them. SVBench's official
streaming evaluation joins chains and links by equal spellings of their start times, so `join_inputs` keeps the spelling
of each file.
"""

import csv
import io
import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field

from reeltalk.errors import InputError
from reeltalk.formats.layout import restore_form
from reeltalk.metrics.tokenise import languages_of
from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, PathStep, QAChain, Turn
from reeltalk.schema.labels import Relation
from reeltalk.schema.outcomes import Rejected, SourceFile
from reeltalk.schema.record import Json
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.content import Content
from reeltalk.store.documents import SourceModel, read_text, refuse_characters

FORMAT: Final = "svbench"
DEFAULT_LANGUAGE: Final = "en"
LANGUAGE: Final = "language"
"""Label vocabulary for the language of a turn. A video has chains in English and in Chinese."""

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
"""The paper's prompt uses *Score*, and the published script expects *Evaluation*."""

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
"""The kind of files in a folder, by the section of the layout."""
_SCENE = re.compile(r"""[\[(]\s*(['"])([0-9:.]+)\1\s*,\s*(['"])([0-9:.]+)\3\s*[\])]""")


def video_id_of(name: str) -> str:
    """A video's identifier: its name without the ending of a file."""
    for suffix in (".mp4", ".json"):
        name = name.removesuffix(suffix)
    return name


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


def _is_time(spelling: str | float) -> str | float:
    seconds_of(spelling)
    return spelling


Time = Annotated[str | int | float, AfterValidator(_is_time)]
"""A time as the source spells it."""

Position = Annotated[int, Field(ge=0, lt=100_000)]
"""An index from 0. The bound excludes damaged numbers."""


class QuestionsAndAnswers(SourceModel):
    """Two parallel lists."""

    questions: list[str]
    answers: list[str]


class ChainEntry(SourceModel):
    """One entry of a `Dialogue` file; both times are null if they are unknown."""

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
    """A judge's record about the linked questions of one video. Lists are nested if a chain has links both ways."""

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
    """A judge's records about the questions of one chain, judged separately."""

    video_name: str
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


def language_of(chain: QAChain) -> str:
    """The two letters of a chain's language: by the labels of its turns, else by their text."""
    words = {turn.labels[LANGUAGE] for turn in chain.turns if LANGUAGE in turn.labels}
    if not words:
        return languages_of([[turn.question for turn in chain.turns]])[0]
    first = min(words)
    return first[0] if len(words) == len(first) == 1 and _LANGUAGE.fullmatch(first[0]) else DEFAULT_LANGUAGE


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
                    raise InputError("a column appears twice", file=path, line=reader.line_num, value=",".join(header))
                continue
            if len(fields) != len(header):
                raise InputError(
                    f"{len(fields)} fields where the header has {len(header)}",
                    file=path,
                    line=reader.line_num,
                    value=",".join(fields),
                )
            for column, field in zip(header, fields, strict=True):
                refuse_characters(field, column, file=path, line=reader.line_num)
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


def parse_scenes(literal: str) -> list[tuple[str, str]]:
    """The scenes of a `timestamp` field, a Python list of pairs of strings.

    Raises:
        ValueError: It is not such a list.
    """
    inner = literal.strip()
    found = _SCENE.findall(inner)
    rest = _SCENE.sub("", inner)
    if not re.fullmatch(r"[\[(][\s,]*[\])]", rest) or rest.count(",") not in (max(0, len(found) - 1), len(found)):
        raise ValueError('scenes must be a list as [["00:00:00.000000", "00:00:04.500000"], …]')
    return [(start, end) for _, start, _, end in found]


def format_scenes(scenes: list[tuple[str, str]]) -> str:
    """A `timestamp` field."""
    return repr([list(scene) for scene in scenes])


def clock_time(seconds: float) -> str:
    micros = round(seconds * 1_000_000)
    whole, fraction = divmod(micros, 1_000_000)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}.{fraction:06d}"


START: Final = "qac_timestamps_start"
END: Final = "qac_timestamps_end"
ABSENT: Final = "the record has no such score"


def slots(records: Iterable[str], empty: Iterable[int]) -> list[str | None]:
    """The entries of a list in a file: its records in order, and None at the places that are empty."""
    places, ids = set(empty), list(records)
    entries: list[str | None] = []
    while ids or len(entries) in places:
        entries.append(None if len(entries) in places else ids.pop(0))
    return entries


def first_reference(texts: tuple[str, ...]) -> str:
    """The preferred reference; empty if the source withholds it."""
    return texts[0] if texts else ""


class SVBenchDocuments:
    """Finds records by the names that files use for them, and makes the document of each file."""

    def __init__(self, content: Content, files: Iterable[SourceFile]) -> None:
        self.files = list(files)
        self.videos = {row.id: row for row in content.videos}
        self.clips = {row.id: row for row in content.clips}
        self.chains: dict[str, QAChain] = {row.id: row for row in content.chains}
        self.paths: dict[str, DialoguePath] = {row.id: row for row in content.paths}
        self.dialogues: dict[str, Dialogue] = {row.id: row for row in content.dialogues}
        self.linkages: dict[tuple[str, str], list[Linkage]] = defaultdict(list)
        for linkage in content.linkages:
            self.linkages[linkage.source.unit_id, linkage.target.unit_id].append(linkage)
        self.rejected: dict[tuple[Json, Json], dict[int, Rejected]] = defaultdict(dict)
        for row in content.rejected:
            if row.table == "linkages" and isinstance(row.extra.get("position"), int):
                self.rejected[row.extra.get("file"), row.extra.get("entry")][row.extra["position"]] = row
        self.answers: dict[tuple[str, str, str], list[Answer]] = defaultdict(list)
        for answer in sorted(content.answers, key=lambda row: row.turn_index):
            self.answers[answer.model, answer.unit, answer.unit_id].append(answer)
        self.scores: dict[tuple[str, str, str, str], list[JudgedScore]] = defaultdict(list)
        for score in content.scores:
            self.scores[score.model, score.judge, score.unit, score.unit_id].append(score)
        self.numbers = self._chain_numbers(content)

    def _chain_numbers(self, content: Content) -> dict[str, int]:
        """Each chain's place in its `Dialogue` file, or else in its identifier or among the chains of its video."""
        numbers: dict[str, int] = {}
        for file in self.files:
            if file.kind == "dialogue":
                entries = slots(file.records, file.extra.get("empty", ()))
                numbers |= {chain_id: number for number, chain_id in enumerate(entries) if chain_id}
        counts: dict[str, int] = defaultdict(int)
        for chain in content.chains:
            tail = chain.id.rpartition("/")[2]
            own = int(tail) if tail.isascii() and tail.isdigit() and len(tail) < 6 else counts[chain.video_id]
            numbers.setdefault(chain.id, own)
            counts[chain.video_id] += 1
        return numbers

    def document(self, file: SourceFile) -> Json:
        """The document of a file, in the source's own form; the rows of a CSV file."""
        return restore_form(file, self.plain(file))

    def plain(self, file: SourceFile) -> Json:
        """The document of a file, in our form."""
        match file.kind:
            case "meta":
                return [self._meta_row(video_id, file.extra["columns"]) for video_id in file.records]
            case "scenes":
                return [
                    self._scenes_row(video_id, clip_ids, file.extra["columns"])
                    for video_id, clip_ids in zip(file.records, file.extra.get("clips", ()), strict=False)
                ]
            case "con":
                return self._con(file)
            case "path":
                return {
                    "Paths": [
                        [[self.numbers.get(step.ref.unit_id, 0), step.ref.turn_index] for step in self.paths[id_].steps]
                        for id_ in file.records
                        if id_ in self.paths
                    ]
                }
            case "judged con":
                return [self._judged_links(file, id_) for id_ in file.records]
            case "streaming":
                return [self._streaming(id_) for id_ in file.records if id_ in self.paths or id_ in self.dialogues]
        entries = slots(file.records, file.extra.get("empty", ()))
        if file.kind == "dialogue":
            return [self._chain(id_) if id_ in self.chains else {} for id_ in entries]
        if file.kind == "answers":
            return [self._answered(file, id_) if id_ else {} for id_ in entries]
        judged = self._judged_scene if file.kind == "judged single" else self._judged_unit
        return [judged(file, id_) if id_ else {} for id_ in entries]

    def _meta_row(self, video_id: str, columns: list[str]) -> dict[str, str]:
        video = self.videos.get(video_id)  # type: ignore[call-overload]
        if video is None:
            return dict.fromkeys(columns, "") | {META_COLUMNS[0]: video_id}
        known = dict(zip(META_COLUMNS, (video.id, video.file or "", video.split or ""), strict=True))
        return {column: known[column] if column in known else str(video.extra.get(column, "")) for column in columns}

    def _scenes_row(self, video_id: str, clip_ids: list[str], columns: list[str]) -> dict[str, str]:
        video = self.videos.get(video_id)  # type: ignore[call-overload]
        scenes = []
        for clip_id in clip_ids:
            start, end = self._clip_times(clip_id)
            if start is not None and end is not None:
                scenes.append(tuple(t if isinstance(t, str) else clock_time(t) for t in (start, end)))
        path = (video.file if video else None) or video_id
        known = {"path": path, "timestamp": format_scenes(scenes)}  # type: ignore[arg-type]
        extra = video.extra if video else {}
        return {column: known[column] if column in known else str(extra.get(column, "")) for column in columns}

    def _clip_times(self, clip_id: str | None) -> tuple[str | float | None, str | float | None]:
        clip = self.clips.get(clip_id) if clip_id else None  # type: ignore[call-overload]
        if clip is None or clip.interval is None:
            return None, None
        return (
            spell_time(clip.interval.start_s, clip.extra.get(START)),
            spell_time(clip.interval.end_s, clip.extra.get(END)),
        )

    def _pair_of_lists(self, turns: Iterable[Turn]) -> dict[str, Json]:
        listed = list(turns)
        return {
            "questions": [turn.question for turn in listed],
            "answers": [first_reference(turn.references) for turn in listed],
        }

    def _chain(self, chain_id: str | None) -> dict[str, Json]:
        chain = self.chains[chain_id or ""]
        start, end = self._clip_times(chain.clip_id)
        row: dict[str, Json] = {"chain": self._pair_of_lists(chain.turns), START: start, END: end}
        return row | {key: value for key, value in chain.extra.items() if key not in ChainEntry.model_fields}

    def _con(self, file: SourceFile) -> list[Json]:
        pairs = list(zip(file.records[::2], file.records[1::2], strict=False))
        entries = slots((str(number) for number in range(len(pairs))), file.extra.get("empty", ()))
        by_text = set(file.extra.get("by_text", ()))
        return [
            self._con_entry(file, index, *pairs[int(number)], by_text=index in by_text) if number else {}
            for index, number in enumerate(entries)
        ]

    def _con_entry(self, file: SourceFile, index: int, before: str, after: str, *, by_text: bool) -> dict[str, Json]:
        if before not in self.chains or after not in self.chains:
            return {}
        rows: dict[str, Json] = {}
        for key, chain_id in (("chain_1", before), ("chain_2", after)):
            start, end = self._clip_times(self.chains[chain_id].clip_id)
            rows[key] = self._pair_of_lists(self.chains[chain_id].turns) | {START: start, END: end}
        linkages = [row for row in self.linkages[before, after] if self._resolves(row)]
        if not by_text:
            rows["relationship"] = {
                "chainBefore": [row.source.turn_index for row in linkages],
                "chainAfter": [row.target.turn_index for row in linkages],
                "relationship": [spell_relation(row) for row in linkages],
            }
            return rows
        texts = [self._linkage_texts(row, before, after) for row in linkages]
        for position, row in sorted(self.rejected[file.path, index].items()):
            texts.insert(position, row.content)
        keys = ("questionsBefore", "answersBefore", "questionsAfter", "answersAfter", "relationship")
        rows["relationship"] = {key: [text[key] for text in texts] for key in keys}
        return rows

    def _resolves(self, linkage: Linkage) -> bool:
        source, target = self.chains.get(linkage.source.unit_id), self.chains.get(linkage.target.unit_id)
        return (
            source is not None
            and target is not None
            and linkage.source.turn_index < len(source.turns)
            and linkage.target.turn_index < len(target.turns)
        )

    def _linkage_texts(self, linkage: Linkage, before: str, after: str) -> dict[str, str]:
        source = self.chains[before].turns[linkage.source.turn_index]
        target = self.chains[after].turns[linkage.target.turn_index]
        return {
            "questionsBefore": source.question,
            "answersBefore": first_reference(source.references),
            "questionsAfter": target.question,
            "answersAfter": first_reference(target.references),
            "relationship": spell_relation(linkage),
        }

    def _streaming(self, unit_id: str) -> dict[str, Json]:
        if unit_id in self.dialogues:
            turns = self.dialogues[unit_id].turns
            return self._pair_of_lists(turns) | {"timestamps": [_turn_times(turn) for turn in turns]}
        steps = self.paths[unit_id].steps
        return self._pair_of_lists(self.step_turn(step) for step in steps) | {
            "timestamps": [self._step_times(step) for step in steps]
        }

    def step_turn(self, step: PathStep) -> Turn:
        """The turn of a step, in the wording of its path."""
        if step.turn is not None:
            return step.turn
        unit: QAChain | Dialogue | None = self.chains.get(step.ref.unit_id)
        if step.ref.unit == "dialogue":
            unit = self.dialogues.get(step.ref.unit_id)
        turns = unit.turns if unit else ()
        return turns[step.ref.turn_index] if step.ref.turn_index < len(turns) else Turn(question="")

    def _step_times(self, step: PathStep) -> list[Json]:
        chain = self.chains.get(step.ref.unit_id)
        clip = self.clips.get(chain.clip_id) if chain and chain.clip_id else None
        interval = clip.interval if clip else None
        # The evidence of a draft may be in an earlier clip; only imported evidence gives the time of the question.
        if step.turn is not None and step.turn.evidence and ("timestamps" in step.extra or interval is None):
            interval = step.turn.evidence[0]
        if interval is None:
            return [None, None]
        own = step.extra.get("timestamps")
        start, end = (
            own if isinstance(own, list) and len(own) == 2 else self._clip_times(chain.clip_id if chain else None)
        )
        return [spell_time(interval.start_s, start), spell_time(interval.end_s, end)]

    def turn_of(self, unit: str, unit_id: str, index: int) -> Turn:
        """The turn of an answer; a turn without text if the content lacks it."""
        if unit == "path" and unit_id in self.paths:
            steps = self.paths[unit_id].steps
            return self.step_turn(steps[index]) if index < len(steps) else Turn(question="")
        found: QAChain | Dialogue | None = self.chains.get(unit_id) if unit == "chain" else self.dialogues.get(unit_id)
        return found.turns[index] if found and index < len(found.turns) else Turn(question="")

    def _answered(self, file: SourceFile, unit_id: str) -> dict[str, Json]:
        unit = file.extra.get("unit", "chain")
        rows = self.answers.get((file.extra["model"], unit, unit_id), [])
        if not rows:
            return {}
        turns = [self.turn_of(unit, unit_id, row.turn_index) for row in rows]
        return {
            "questions": [
                turn.question if row.asked_as is None else row.asked_as for row, turn in zip(rows, turns, strict=True)
            ],
            "gt_answers": [
                first_reference(turn.references if row.referred_to is None else row.referred_to)
                for row, turn in zip(rows, turns, strict=True)
            ],
            "answers": [row.text for row in rows],
        }

    def _scored(self, file: SourceFile, unit: str, unit_id: str) -> dict[str, Json]:
        scores = self.scores.get((file.extra["model"], file.extra["judge"], unit, unit_id), [])
        return {
            "evaluation": next((row.explanation for row in scores if row.explanation is not None), None),
            "scores": _score_fields(scores),
        }

    def _unit_number(self, unit_id: str) -> int:
        tail = unit_id.rpartition("/")[2]
        return self.numbers.get(unit_id, int(tail) if tail.isascii() and tail.isdigit() and len(tail) < 6 else 0)

    def _video_of(self, unit_id: str) -> str:
        unit = self.chains.get(unit_id) or self.paths.get(unit_id) or self.dialogues.get(unit_id)
        return unit.video_id if unit else unit_id

    def _judged_unit(self, file: SourceFile, unit_id: str) -> dict[str, Json]:
        unit = file.extra.get("unit", "chain")
        return {
            "video_name": self._video_of(unit_id),
            "scene_id": self._unit_number(unit_id),
            **(self._answered(file, unit_id) or {"questions": [], "gt_answers": [], "answers": []}),
            **self._scored(file, unit, unit_id),
        }

    def _judged_links(self, file: SourceFile, dialogue_id: str) -> dict[str, Json]:
        dialogue = self.dialogues.get(dialogue_id)
        shape = dialogue.extra.get("shape") if dialogue else None
        answered = self._answered(file, dialogue_id) or {"questions": [], "gt_answers": [], "answers": []}
        row: dict[str, Json] = {
            "video_name": self._video_of(dialogue_id),
            **{key: nest(texts, shape) for key, texts in answered.items()},
        }
        if dialogue and "relationships" in dialogue.extra:
            row["relationships"] = dialogue.extra["relationships"]
        return row | self._scored(file, "dialogue", dialogue_id)

    def _judged_scene(self, file: SourceFile, chain_id: str) -> dict[str, Json]:
        model, judge = file.extra["model"], file.extra["judge"]
        answers = {row.turn_index: row for row in self.answers.get((model, "chain", chain_id), [])}
        by_turn: dict[int, list[JudgedScore]] = defaultdict(list)
        for score in self.scores.get((model, judge, "turn", chain_id), []):
            by_turn[score.turn_index or 0].append(score)
        rows = []
        for index, scores in sorted(by_turn.items()):
            turn, answer = self.turn_of("chain", chain_id, index), answers.get(index)
            asked = answer.asked_as if answer else None
            referred = answer.referred_to if answer else None
            rows.append(
                {
                    "question_id": index,
                    "question": turn.question if asked is None else asked,
                    "gt_answer": first_reference(turn.references if referred is None else referred),
                    "model_response": answer.text if answer else "",
                    "evaluation": next((row.explanation for row in scores if row.explanation is not None), None),
                    "question_scores": _score_fields(scores),
                }
            )
        return {"video_name": self._video_of(chain_id), "scene_id": self._unit_number(chain_id), "scores": rows}


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


def spell_relation(linkage: Linkage) -> str:
    """The source's word for a relation, if the record still has this relation."""
    own = linkage.extra.get("relationship")
    if isinstance(own, str):
        meant = relation_of(own)
        if meant == linkage.relation:
            return own
    return linkage.relation


def relation_of(word: str) -> str:
    """One of the six relations, or the source's own word."""
    found = Relation.from_published(word)
    return found.value if found else word


def _turn_times(turn: Turn) -> list[Json]:
    if not turn.evidence:
        return [None, None]
    own = turn.extra.get("timestamps")
    start, end = own if isinstance(own, list) and len(own) == 2 else (None, None)
    return [spell_time(turn.evidence[0].start_s, start), spell_time(turn.evidence[0].end_s, end)]


def _score_fields(scores: list[JudgedScore]) -> dict[str, Json]:
    order = {name: place for place, name in enumerate(CRITERIA)}
    fields: dict[str, Json] = {}
    for row in sorted(scores, key=lambda row: order.get(row.criterion, len(order))):
        if row.state is ScoreState.UNSCORED and row.reason == ABSENT:
            continue
        if row.state is ScoreState.NOT_APPLICABLE:
            fields[row.criterion] = NOT_APPLICABLE
        elif row.value is None:
            fields[row.criterion] = row.extra.get("value")
        else:
            fields[row.criterion] = int(row.value) if row.value.is_integer() else row.value
    return fields


def nest(texts: Json, shape: Json) -> Json:
    """Put a flat list into the nesting of `shape`: None for one text, a list for a list."""
    if not isinstance(shape, list) or not isinstance(texts, list):
        return texts
    rest = iter(texts)

    def fill(part: Json) -> Json:
        return [fill(member) for member in part] if isinstance(part, list) else next(rest, "")

    filled = [fill(part) for part in shape]
    return filled if next(rest, None) is None else texts


PER_PAIR: Final = 2
"""Number of chains in a record of links."""


@dataclass
class JoinInput:
    """Input of the official script for one video in one language."""

    video_id: str
    language: str
    chain_ids: list[str | None] = field(default_factory=list)
    """In order; None if the source has an empty entry."""
    chains: list[dict[str, Json]] = field(default_factory=list)
    """The start time of each chain, as the file of chains spells it."""
    links: list[dict[str, Json]] = field(default_factory=list)
    """Records of links: the start time of the earlier chain, as the file of links spells it, and question indices."""


def join_inputs(content: Content) -> list[JoinInput]:
    """The input of the official script for each video and language that has chains.

    A benchmark that was not imported from SVBench is treated like its export.
    """
    files = content.source_files_of(FORMAT)
    documents = SVBenchDocuments(content, files)
    found: dict[tuple[str, str], JoinInput] = {}
    for chain in content.chains:
        own = (str(chain.video_id), language_of(chain))
        found.setdefault(own, JoinInput(*own))
    listed: set[str] = set()
    linked: set[tuple[str, str]] = set()
    for file in files:
        key = (str(file.extra.get("video")), str(file.extra.get("language")))
        if file.kind == "dialogue" and key in found:
            _add_chains(found[key], documents, file)
            listed.update(file.records)
        elif file.kind == "con" and key in found:
            _add_links(found[key], documents, file)
            linked.update(zip(file.records[::PER_PAIR], file.records[1::PER_PAIR], strict=False))
    for chain in content.chains:
        if chain.id not in listed:
            into = found[chain.video_id, language_of(chain)]
            into.chain_ids.append(chain.id)
            into.chains.append({START: _plain_start(documents, chain.id)})
    for before, after in documents.linkages:
        source = documents.chains.get(before)
        if (before, after) not in linked and source is not None and after in documents.chains:
            entry = _link(documents, before, after, _plain_start(documents, before))
            found[source.video_id, language_of(source)].links.append(entry)
    return list(found.values())


def _add_chains(into: JoinInput, documents: SVBenchDocuments, file: SourceFile) -> None:
    rows = documents.document(file)
    for chain_id, row in zip(slots(file.records, file.extra.get("empty", ())), rows, strict=True):
        into.chain_ids.append(chain_id)
        into.chains.append({START: row[START]} if chain_id and START in row else {})


def _add_links(into: JoinInput, documents: SVBenchDocuments, file: SourceFile) -> None:
    pairs = zip(file.records[::PER_PAIR], file.records[1::PER_PAIR], strict=True)
    for row in documents.document(file):
        if row and row["chain_1"]:
            into.links.append(_link(documents, *next(pairs), row["chain_1"].get(START)))


def _link(documents: SVBenchDocuments, before: str, after: str, start: Json) -> dict[str, Json]:
    linkages = documents.linkages[before, after]
    relationship: dict[str, Json] = {
        "chainBefore": [linkage.source.turn_index for linkage in linkages],
        "chainAfter": [linkage.target.turn_index for linkage in linkages],
    }
    return {"chain_1": {START: start}, "relationship": relationship}


def _plain_start(documents: SVBenchDocuments, chain_id: str) -> Json:
    clip = documents.clips.get(documents.chains[chain_id].clip_id)  # type: ignore[arg-type]
    return clip.interval.start_s if clip is not None and clip.interval is not None else None
