"""Label Studio: export one task per scene with drafts as predictions and a labelling config; import the annotations.

For teams that run a Label Studio server. A task contains its dialogues, chains or paths, so unchanged ones are restored
exactly. Rows that belong to no task are stored in files next to the tasks. Several people may have annotated a task.
All their annotations are kept as reviews, one per person and turn. The wording of a turn is the newest one that was
accepted, or the newest one marked as ground truth if there is one.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from reeltalk.errors import InputError
from reeltalk.formats.label_studio_layout import (
    DECISIONS,
    DEFAULTS,
    KEPT,
    Annotation,
    LabelStudioOptions,
    LabelStudioTask,
    NumberedRow,
    Range,
    Region,
    TurnRegions,
    draft_regions,
    interval_ticks,
    label_paths,
    marked_interval,
    moment_of,
    read_regions,
    read_tasks,
)
from reeltalk.formats.label_studio_write import GRAPHS, VIDEOS, LabelStudioWriter
from reeltalk.schema.dialogue import REWORDING, Dialogue, QAChain, Turn, without_facts
from reeltalk.schema.intervals import Interval
from reeltalk.schema.outcomes import Rejected
from reeltalk.schema.record import Json
from reeltalk.schema.review import REASON_TITLES, Decision, FieldEdit, Review
from reeltalk.store.content import Content
from reeltalk.store.documents import parse, read_json, read_json_lines, record_errors
from reeltalk.store.foreign import visible_files
from reeltalk.store.manifest import hash_file
from reeltalk.store.tables import TABLES

__all__ = ["LabelStudioOptions", "read", "write"]

_DECISION_OF: Final = {words: decision for decision, words in DECISIONS.items()}
_REASON_OF: Final = {words: reason for reason, words in REASON_TITLES.items()}
REVISION: Final = 0
"""Revision of the reviewed drafts, since a benchmark does not number its revisions."""

TurnKey = tuple[str, int, int]
"""Table, row and turn."""


class _RefusedError(Exception):
    """An annotation that cannot become a turn."""


@dataclass(frozen=True)
class Wording:
    """A turn as one annotation words it."""

    turn: Turn
    moment: datetime
    ground_truth: bool


@dataclass
class Annotations:
    """All annotations of the turns of all tasks."""

    reviews: list[Review] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    wordings: dict[TurnKey, list[Wording]] = field(default_factory=lambda: defaultdict(list))
    counts: Counter[str] = field(default_factory=Counter)
    """Warnings for the importer, with their counts."""
    _seen: set[tuple[Any, ...]] = field(default_factory=set)

    def add(self, task: LabelStudioTask, units: list[tuple[NumberedRow, QAChain | Dialogue]]) -> None:
        """Read all annotations of a task.

        Raises:
            InputError: An annotation has no time, or its annotator no name.
        """
        self.counts["drafts of annotations were not submitted and are not read"] += task.drafts
        if not task.annotations:
            return
        places = [(row, unit, index) for row, unit in units for index in range(len(unit.turns))]
        rate_hz = task.source.rate_hz
        regions = [
            region
            for number, (_, unit, index) in enumerate(places)
            for region in draft_regions(unit.turns[index], number, rate_hz)
        ]
        drafts = read_regions([Region.model_validate(region) for region in regions], len(places)).turns
        for place, annotation in task.annotations:
            # Several exports may contain the same annotation.
            key = (*((row.table, row.row) for row, _ in units), str(annotation.id), annotation.created_at)
            if annotation.id is not None and key in self._seen:
                continue
            self._seen.add(key)
            voice = _Voice(task, annotation, place)
            if annotation.was_cancelled:
                self.counts["tasks were skipped by an annotator; kept as reviews"] += 1
                self.reviews += [voice.review(row, unit, None, Decision.SKIP) for row, unit in units]
                continue
            read = read_regions(annotation.result, len(places))
            for name in read.strange:
                self.counts[f"results that are of no control of ours are not read ({name:.60})"] += 1
            for number, (row, unit, index) in enumerate(places):
                self._add_turn(voice, row, unit, index, read.turns[number], drafts[number])

    def _add_turn(
        self,
        voice: "_Voice",
        row: NumberedRow,
        unit: QAChain | Dialogue,
        index: int,
        said: TurnRegions,
        draft: TurnRegions,
    ) -> None:
        before, rate_hz = unit.turns[index], voice.task.source.rate_hz
        try:
            decision = _decision(said.decision)
            turn = before
            if said.question or said.answers:
                turn = _reworded(before, said, draft, rate_hz)
            elif draft.question or draft.answers:
                self.counts["turns have no text in an annotation, and keep that of the draft"] += 1
        except _RefusedError as error:
            self.rejected.append(voice.rejected(unit, index, str(error), said))
            return
        if decision is None and turn == before:
            self.counts["turns have no decision in an annotation, and no change: no review of them is made"] += 1
            return
        if turn != before and decision in (None, Decision.ACCEPT):
            decision = Decision.EDIT
        assert decision is not None
        self.reviews.append(voice.review(row, unit, index, decision, said, before, turn))
        if decision is Decision.REJECT:
            self.counts["turns were rejected; they stay, with the review that says so"] += 1
        if decision in (Decision.ACCEPT, Decision.EDIT):
            self.wordings[row.table, row.row, index].append(
                Wording(turn, voice.moment, bool(voice.annotation.ground_truth))
            )

    def turn(self, key: TurnKey, draft: Turn) -> Turn:
        """The accepted wording of a turn; the draft if nobody accepted one."""
        wordings = self.wordings.get(key)
        if not wordings:
            return draft
        if any(each.turn != wordings[0].turn for each in wordings):
            self.counts["turns were worded in several ways; the newest counts, ground truth before others"] += 1
        return max(wordings, key=lambda each: (each.ground_truth, each.moment)).turn


@dataclass(frozen=True)
class _Voice:
    """One annotation, with its author, time and place."""

    task: LabelStudioTask
    annotation: Annotation
    place: str

    @property
    def moment(self) -> datetime:
        found = [
            moment_of(getattr(self.annotation, name), self.task.file, f"{self.place}.{name}")
            for name in ("updated_at", "created_at")
        ]
        moment = found[0] or found[1]
        if moment is None:
            raise InputError("a required field is missing", file=self.task.file, place=f"{self.place}.created_at")
        return moment

    @property
    def reviewer(self) -> str:
        who = self.annotation.completed_by
        if isinstance(who, dict):
            who = who.get("email") or who.get("id")
        return who if isinstance(who, str) else f"label-studio:{'unknown' if who is None else who}"

    @property
    def origin(self) -> dict[str, Json]:
        return {"task": self.task.id, "annotation": self.annotation.id}

    def review(
        self,
        row: NumberedRow,
        unit: QAChain | Dialogue,
        index: int | None,
        decision: Decision,
        said: TurnRegions | None = None,
        before: Turn | None = None,
        after: Turn | None = None,
    ) -> Review:
        edits = _edits(index, before, after) if before is not None and after is not None and index is not None else ()
        extra: dict[str, Json] = {"label_studio": self.origin}
        if index is not None:
            extra["turn_index"] = index
        if self.annotation.ground_truth:
            extra["ground_truth"] = True
        with record_errors(self.task.file, self.place):
            return Review(
                target_table=row.table,
                target_id=unit.id,
                revision=REVISION,
                reviewer=self.reviewer,
                decision=decision,
                reasons=tuple(_REASON_OF.get(word, word) for word in said.reasons) if said else (),
                edits=tuple(edits),
                comment="\n".join(said.note) if said else "",
                created_at=self.moment,
                extra=extra,
            )

    def rejected(self, unit: QAChain | Dialogue, index: int, reason: str, said: TurnRegions) -> Rejected:
        content = {name: value for name, value in vars(said).items() if value}
        return Rejected(
            table="annotations",
            record_id=f"{unit.id}[{index}]",
            reason=f"{reason}; the turn keeps its draft",
            place=f"{self.task.file.name} at {self.place}",
            content={"said": _plain(content), **self.origin, "annotator": self.reviewer},
        )


def _plain(value: Any) -> Json:
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    return [_plain(member) for member in value] if isinstance(value, tuple | list) else value


def _decision(words: tuple[str, ...]) -> Decision | None:
    if not words:
        return None
    if len(set(words)) > 1:
        raise _RefusedError(f"several decisions: {', '.join(words)}")
    if words[0] in _DECISION_OF:
        return _DECISION_OF[words[0]]
    if words[0] in Decision._value2member_map_:
        return Decision(words[0])
    raise _RefusedError(f"an unknown decision: {words[0]!r:.60}")


def _reworded(turn: Turn, said: TurnRegions, draft: TurnRegions, rate_hz: float) -> Turn:
    """The turn with the fields that differ from the draft changed, and all others as they were.

    Raises:
        _RefusedError: It is no turn.
    """
    changed: dict[str, Any] = {}
    if said.question != draft.question:
        if len(said.question) != 1 or not said.question[0].strip():
            raise _RefusedError("a turn needs one question")
        changed["question"] = said.question[0]
    if said.answers != draft.answers:
        changed["references"] = said.answers
    if said.options != draft.options:
        changed["options"] = said.options or None
    if said.correct != draft.correct:
        if len(said.correct) > 1 or any(number != int(number) or number < 1 for number in said.correct):
            raise _RefusedError("the right option must be one whole number from 1")
        changed["correct_option"] = int(said.correct[0]) - 1 if said.correct else None
    if said.asked != draft.asked:
        if len(said.asked) > 1:
            raise _RefusedError("a turn is asked at one moment")
        changed["asked_at_s"] = said.asked[0] if said.asked else None
    if set(said.labels) != set(draft.labels):
        changed["labels"] = _labels(turn, said.labels)
    try:
        if sorted(said.evidence) != sorted(draft.evidence):
            changed["evidence"] = _evidence(turn, said.evidence, rate_hz)
        # `model_copy` does not validate.
        new = Turn.model_validate({**dict(turn), **changed}) if changed else turn
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise _RefusedError(f"{where}: {first['msg']}".removeprefix(": ")) from None
    return without_facts(new) if not changed.keys().isdisjoint(REWORDING) else new


def _labels(turn: Turn, paths: Iterable[tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    wanted = list(dict.fromkeys(paths))
    for path in wanted:
        if len(path) != 2:
            raise _RefusedError(f"a label is a vocabulary and a name, not {' / '.join(path)!r:.80}")
    shown = {(vocabulary, label) for vocabulary, label in label_paths(turn)}
    labels = {
        vocabulary: [label for label in given if (vocabulary, label) in wanted or (vocabulary, label) not in shown]
        for vocabulary, given in turn.labels.items()
    }
    for vocabulary, label in wanted:
        if label not in labels.setdefault(vocabulary, []):
            labels[vocabulary].append(label)
    return {
        vocabulary: tuple(given)
        for vocabulary, given in labels.items()
        if given or not turn.labels.get(vocabulary, (1,))
    }


def _evidence(turn: Turn, ranges: Iterable[Range], rate_hz: float) -> tuple[Interval, ...]:
    """Marks as intervals. An unchanged mark keeps the exact times of the draft."""
    known: dict[Range, list[Interval]] = defaultdict(list)
    for interval in turn.evidence:
        found = interval_ticks(interval, rate_hz)
        known[float(found["start"]), float(found["end"])].append(interval)
    intervals = [known[ends].pop(0) if known.get(ends) else marked_interval(ends, rate_hz) for ends in ranges]
    return tuple(sorted(intervals, key=lambda interval: (interval.start_s, interval.end_s)))


def _edits(index: int, before: Turn, after: Turn) -> list[FieldEdit]:
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    return [
        FieldEdit(field=f"turns[{index}].{name}", before=old[name], after=new[name])
        for name in old
        if old[name] != new[name]
    ]


UNITS: Final = {"chains": QAChain, "dialogues": Dialogue}
LONGEST_GRAPH_NAME_BYTES: Final = 200
"""A file system allows 255 bytes; the ending and the prefix of a partial file need some of them."""
_HASH: Final = re.compile(r"[0-9a-f]{64}")


class _Reader:
    """Reads one file or folder.

    Args:
        source: An export, or a folder with exports, `tasks.json`, `kept` and `videos`.
    """

    def __init__(self, source: Path) -> None:
        self.source = source
        self.files = visible_files(source) if source.is_dir() else []
        self.content = Content()
        self.rows: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        self.records: dict[str, dict[int, Any]] = defaultdict(dict)

    def read(self) -> Content:
        """Read everything.

        Raises:
            InputError: A file is damaged, or is of another benchmark than the rest; names file and place.
        """
        tasks = self._tasks()
        for task in tasks:
            for number, row in enumerate(task.source.units):
                self._add(row, task.file, f"{task.place}: unit {number}", unit=True)
            for number, row in enumerate(task.source.rows):
                self._add(row, task.file, f"{task.place}: row {number}")
        kept = self._read_kept() if self.source.is_dir() else set()
        self._read_annotations(tasks)
        for table, records in self.records.items():
            found = [records[number] for number in sorted(records)]
            setattr(self.content, table, found + getattr(self.content, table))
        if self.source.is_dir():
            self._read_videos()
        self._tell_left_behind(tasks, kept)
        return self.content

    def _tasks(self) -> list[LabelStudioTask]:
        if not self.source.exists():
            raise InputError("no such file or folder", file=self.source, hint="check the path")
        if not self.source.is_dir():
            return read_tasks(self.source, read_json(self.source))
        paths = self._files(".json")
        if not paths:
            raise InputError(
                "no tasks or exports here",
                file=self.source,
                hint="expected tasks.json, or an export as JSON or JSON-MIN",
            )
        return [task for path in paths for task in read_tasks(path, read_json(path))]

    def _add(self, row: NumberedRow, file: Path, place: str, *, unit: bool = False) -> None:
        if row.table not in (UNITS if unit else TABLES):
            known = ", ".join(UNITS if unit else TABLES)
            raise InputError("no such table", file=file, place=place, value=row.table, hint=f"known are {known}")
        known_row = self.rows[row.table].setdefault(row.row, row.record)
        if known_row is not row.record:
            if json.dumps(known_row, sort_keys=True) != json.dumps(row.record, sort_keys=True):
                raise InputError(
                    f"row {row.row} of {row.table} differs from what another task or file says",
                    file=file,
                    place=place,
                    hint="keep the files of each export in a separate folder",
                )
            return
        with record_errors(file, place):
            self.records[row.table][row.row] = TABLES[row.table].record.model_validate(row.record)

    def _files(self, suffix: str, folder: str = "") -> list[Path]:
        """The files directly below a folder of the source with this ending."""
        return [path for path in self.files if path.parent == self.source / folder and path.name.endswith(suffix)]

    def _read_kept(self) -> set[str]:
        """Read the rows that are in no task; return the names of their tables."""
        found = set()
        for path in self._files(".jsonl", KEPT):
            found.add(path.stem)
            for line, value in read_json_lines(path):
                if path.name == GRAPHS:
                    graph = parse(dict[str, str], value, file=path, line=line)
                    if graph.keys() != {"name", "quads"}:
                        raise InputError("must have name and quads", file=path, line=line)
                    name = graph["name"]
                    if not _names_a_file(name):
                        raise InputError(
                            "no graph can have this name", file=path, line=line, place="$.name", value=name
                        )
                    self.content.graphs[graph["name"]] = graph["quads"]
                    continue
                self._add(parse(NumberedRow, value, file=path, line=line), path, f"line {line}")
        return found

    def _read_annotations(self, tasks: list[LabelStudioTask]) -> None:
        annotations = Annotations()
        for task in tasks:
            units = [(row, self.records[row.table][row.row]) for row in task.source.units]
            annotations.add(task, units)
        touched = {(table, row) for table, row, _ in annotations.wordings}
        for table, row in sorted(touched):
            unit = self.records[table][row]
            turns = tuple(annotations.turn((table, row, index), turn) for index, turn in enumerate(unit.turns))
            if turns != unit.turns:
                self.records[table][row] = unit.model_copy(update={"turns": turns})
        self.content.reviews = annotations.reviews
        self.content.rejected = annotations.rejected
        self.content.warnings += [f"{what}: {count:,}" for what, count in annotations.counts.items() if count]

    def _read_videos(self) -> None:
        strange = 0
        for path in self._files("", VIDEOS):
            if not _HASH.fullmatch(path.stem):
                strange += 1
                continue
            sha256 = hash_file(path)[0]
            if sha256 != path.stem:
                raise InputError("the file does not have the hash that it is named by", file=path, value=sha256)
            self.content.media[sha256] = path
        if strange:
            self.content.warnings.append(f"videos that are not named by their hash are not taken in: {strange:,}")

    def _tell_left_behind(self, tasks: list[LabelStudioTask], kept: set[str]) -> None:
        counts: dict[str, int] = {}
        for task in tasks:
            counts |= task.source.kept
        absent = [f"{count:,} {table}" for table, count in counts.items() if table not in kept]
        if absent:
            self.content.warnings.append(
                f"tasks do not hold {', '.join(absent)}: import the folder that was exported, with the export in it"
            )


def _names_a_file(name: str) -> bool:
    """True if the benchmark can hold a graph of this name."""
    fits = len(name.encode(errors="replace")) <= LONGEST_GRAPH_NAME_BYTES
    return name != "" and not name.startswith(".") and not set("/\\\0") & set(name) and fits


def read(source: Path) -> Content:
    """Read an export (JSON or JSON-MIN), or a folder of tasks with exports in it.

    Raises:
        InputError: A file is damaged, or its tasks did not come from reeltalk.
    """
    return _Reader(source).read()


def write(content: Content, folder: Path, options: LabelStudioOptions = DEFAULTS) -> list[str]:
    """Write tasks, config and videos into an empty folder; return a line for each thing that cannot be imported again.

    Raises:
        InputError: A video cannot be copied.
        SettingError: The address of the videos is not valid.
    """
    return LabelStudioWriter(content, folder, options).write()
