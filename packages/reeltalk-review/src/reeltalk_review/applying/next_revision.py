"""The next revision of a benchmark while it is made: which rows change, what leaves, who decided it.

The rows stay in their files; only changed ones are kept, in temporary files. Each time reviews are applied, the
benchmark's revision grows by one. Every settled place adds a `Review` whose `extra` holds the turn's place in the
first draft and the outcome. So the benchmark alone shows which turns the review removed or rewrote; the database is not
needed for that.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, Generic, TypeVar

from reeltalk.schema.answers import Answer
from reeltalk.schema.dialogue import Dialogue, DialoguePath, Linkage, QAChain, Turn
from reeltalk.schema.gates import GateResult
from reeltalk.schema.labels import TagProposal
from reeltalk.schema.outcomes import Rejected, SourceFile
from reeltalk.schema.record import LONGEST_NAME, Json, Record, derive_id
from reeltalk.schema.review import PLACE, SETTLED, TASK, WORDING, Decision, FieldEdit, Review, wording_hash
from reeltalk.schema.rewriting import Rewrite
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.content import Content
from reeltalk.store.rows import FieldValues, SpooledRows, rows_by
from reeltalk.store.tables import TABLES, Table
from reeltalk_review.applying.decisions import decision_of, place_order
from reeltalk_review.applying.settled import DoneUnit
from reeltalk_review.importing import WRITTEN_KEY, latest_revision
from reeltalk_review.tasks.task import spoken_place

R = TypeVar("R", bound=Record)

RESULT: Final = "result"
"""Hash of the settled value. It shows that the value was applied."""
EMPTY: Final = "review left none of its turns"
Key = tuple[str, str]
"""Table and id of a chain, dialogue or path."""
Wording = tuple[str, tuple[str, ...]]
"""A question and its references."""
TABLE_OF: Final[Mapping[str, str]] = {"chain": "chains", "dialogue": "dialogues", "path": "paths"}
"""Tables by the word in references."""
KIND_OF: Final = {table: kind for kind, table in TABLE_OF.items()}


@dataclass(frozen=True)
class SetAside:
    """Results of a unit that are left out of the benchmark, and why."""

    unit_id: str
    title: str
    place: str | None
    """The place that is wrong; None if the whole unit is."""
    field: str | None
    """The field that is wrong."""
    problem: str

    def __str__(self) -> str:
        """For people, who count turns from 1."""
        at = f", {spoken_place(self.place)}" if self.place is not None else ""
        return f"{self.title}{at}: {self.problem}"


class RecordHistory:
    """What reviews in a benchmark did to one of its chains or dialogues, or to the links of two chains.

    Args:
        reviews: All reviews of it, in the order in which they were written.
    """

    def __init__(self, reviews: Iterable[Review]) -> None:
        self._steps: dict[int, list[Review]] = defaultdict(list)
        """Reviews of each turn that counted, by its place in the first draft."""
        self._results: dict[tuple[str, str], str] = {}
        for review in reviews:
            if SETTLED in review.extra:
                task, place = str(review.extra.get(TASK)), review.extra.get(PLACE)
                self._results[task, str(place)] = str(review.extra.get(RESULT))
                if task == "turns" and isinstance(place, int):
                    self._steps[place].append(review)

    def _remains(self, place: int, revision: int | None) -> bool:
        past = [
            review.decision
            for review in self._steps.get(place, ())
            if revision is None or int(review.extra.get(WRITTEN_KEY, 0)) <= revision
        ]
        return not past or past[-1] is not Decision.REJECT

    def remaining(self, turns: int, revision: int | None = None) -> list[int]:
        """The turns of the first draft that a revision has, in order, as indices into the first draft.

        Args:
            turns: How many turns that revision has.
            revision: The revision; the latest by default.
        """
        removed = sum(not self._remains(place, revision) for place in self._steps)
        return [place for place in range(turns + removed) if self._remains(place, revision)]

    def wording(self, place: int) -> str | None:
        """Hash of the last wording that a review gave a turn; None if there is none."""
        past = (review.extra.get(WORDING) for review in reversed(self._steps.get(place, ())))
        return next((wording for wording in past if wording), None)

    def result(self, task: str, place: int | str) -> str | None:
        """Hash of the last settled value of a place for one kind of work; None if nothing was applied."""
        return self._results.get((task, str(place)))


class ChangedRows(Generic[R]):
    """The rows of a table that stays as it is, with some replaced, some gone, and others after them.

    Args:
        rows: The table's rows.
        record: Type of the rows.
    """

    def __init__(self, rows: Sequence[R], record: type[R]) -> None:
        self._rows, self._spool = rows, SpooledRows(record)
        self._new: dict[int, int | None] = {}
        """By place: the index in `_spool` of the row that is there now; None if it is gone."""
        self._count = len(rows)

    @property
    def is_changed(self) -> bool:
        """True if a row was replaced, removed or added."""
        return bool(self._new)

    def __iter__(self) -> Iterator[R]:
        return (row for _, row in self.numbered())

    def __getitem__(self, place: int) -> R:
        at = self._new.get(place, _SAME)
        if at is None:
            raise KeyError(place)
        return self._rows[place] if at == _SAME else self._spool[at]

    def numbered(self) -> Iterator[tuple[int, R]]:
        """The rows with their places. They may be replaced or removed meanwhile."""
        for place, row in enumerate(self._rows):
            at = self._new.get(place, _SAME)
            if at is not None:
                yield place, row if at == _SAME else self._spool[at]
        yield from self._added()

    def added(self) -> Iterator[R]:
        """The rows after those of the table."""
        return (row for _, row in self._added())

    def _added(self) -> Iterator[tuple[int, R]]:
        for place in range(len(self._rows), self._count):
            if (at := self._new[place]) is not None:
                yield place, self._spool[at]

    def put(self, place: int, row: R | None) -> None:
        """Replace a row; None removes it."""
        self._new[place] = None if row is None else len(self._spool)
        if row is not None:
            self._spool.append(row)

    def append(self, row: R) -> int:
        """Add a row at the end, and return its place."""
        self._count += 1
        self.put(self._count - 1, row)
        return self._count - 1


_SAME: Final = -1


class NextRevision:
    """A benchmark's rows while they change.

    Args:
        before: The benchmark's content, in its files or in memory.
    """

    def __init__(self, before: Content) -> None:
        self.before = before
        self.number = latest_revision(before.reviews) + 1
        """Number of this revision, from 1."""
        self.chains = ChangedRows(before.chains, QAChain)
        self.dialogues = ChangedRows(before.dialogues, Dialogue)
        self.linkages = ChangedRows(before.linkages, Linkage)
        self.rewrites = ChangedRows(before.rewrites, Rewrite)
        self.paths = ChangedRows(before.paths, DialoguePath)
        self.gates = ChangedRows(before.gates, GateResult)
        self.tag_proposals = ChangedRows(before.tag_proposals, TagProposal)
        self.answers = ChangedRows(before.answers, Answer)
        self.scores = ChangedRows(before.scores, JudgedScore)
        self.reviews = ChangedRows(before.reviews, Review)
        self.rejected = ChangedRows(before.rejected, Rejected)
        self.source_files = ChangedRows(before.source_files, SourceFile)
        self.counts: Counter[str] = Counter()
        self.aside: dict[str, list[SetAside]] = {}
        """What is left out, and why, by unit."""
        self.lengths: dict[Key, int] = {}
        """Number of turns of each chain and dialogue, and of steps of each path."""
        self._place_of: dict[Key, int] = {}
        for table, parts in (("chains", "turns"), ("dialogues", "turns"), ("paths", "steps")):
            rows = getattr(before, table)
            for place, (name, found) in enumerate(zip(FieldValues(rows, "id"), FieldValues(rows, parts), strict=True)):
                self.lengths[table, str(name)], self._place_of[table, str(name)] = len(found), place
        self.earlier_lengths = dict(self.lengths)
        self._places: dict[Key, list[int]] = {}
        """The turns that a changed chain or dialogue has, as indices into the first draft."""
        self.moves: dict[Key, list[int | None]] = {}
        """Of units of which turns or steps were taken out or put back: the index of each earlier one; None if gone."""
        self.reworded: dict[Key, dict[int, Wording]] = defaultdict(dict)
        """What turns with a new wording asked before, by unit and earlier index."""
        self.gone: dict[Key, str] = {}
        """Units that leave, and why."""
        self._reviewed: set[Key] = set()
        self.history = lru_cache(64)(self._history)
        """What reviews in the benchmark did to a record, by table and id."""

    def read(self, table: Table[R]) -> Iterator[R]:
        """The rows of a table."""
        return iter(self._changed(table.name) or getattr(self.before, table.name))

    def graph_texts(self) -> Iterator[tuple[str, str]]:
        """Each graph's name with its N-Quads text."""
        return self.before.graph_texts()

    def changed(self) -> dict[Table[Any], Iterator[Any]]:
        """The rows of each table that changed."""
        return {table: iter(rows) for name, table in TABLES.items() if (rows := self._changed(name)) is not None}

    def _changed(self, name: str) -> ChangedRows[Any] | None:
        rows = getattr(self, name, None)
        return rows if isinstance(rows, ChangedRows) and rows.is_changed else None

    def _history(self, table: str, name: str) -> RecordHistory:
        about = rows_by(self.before.reviews, "target_id").get(name, ())
        return RecordHistory(review for review in about if review.target_table == table)

    def is_reviewed(self, key: Key) -> bool:
        """True if this revision or an earlier one reviewed a record."""
        about = rows_by(self.before.reviews, "target_id").get(key[1], ())
        return key in self._reviewed or any(review.target_table == key[0] for review in about)

    def unit(self, key: Key) -> Any:
        """A chain or dialogue as it is now; None if it is not there."""
        return self._rows(key)[self._place_of[key]] if key in self._place_of and key not in self.gone else None

    def _rows(self, key: Key) -> ChangedRows[Any]:
        return self.chains if key[0] == "chains" else self.dialogues

    def change_turns(self, key: Key, turns: Iterable[Turn]) -> None:
        """Give a chain or dialogue other turns in the places of its own."""
        before = self.unit(key)
        if (new := before.model_copy(update={"turns": tuple(turns)})) != before:
            self._rows(key).put(self._place_of[key], new)

    def put_unit(self, unit: QAChain | Dialogue, key: Key, places: Sequence[int]) -> None:
        """Store a chain or dialogue with its turns as they are now; without turns it leaves.

        Args:
            unit: The record.
            key: Its table and id.
            places: Its turns as indices into the first draft.
        """
        earlier = self.earlier_places(key)
        if list(places) != earlier:
            now = {place: index for index, place in enumerate(places)}
            self.moves[key] = [now.get(place) for place in earlier]
        self._places[key], self.lengths[key] = list(places), len(places)
        at = self._place_of.get(key)
        if not places:
            del self.lengths[key]
            if at is not None:
                self._empty(key, self.unit(key))
                self._rows(key).put(at, None)
        elif at is None:
            self._place_of[key] = self._rows(key).append(unit)
        else:
            self.change_turns(key, unit.turns)

    def _empty(self, key: Key, unit: Record) -> None:
        """Keep a record that lost all turns, with the checks of it as a whole."""
        content: dict[str, Json] = {"record": unit.model_dump(mode="json", exclude_defaults=True)}
        gates = [row for row in self.rows_about("gates", key) if row.turn_index is None]
        if gates:
            content["gates"] = [row.model_dump(mode="json", exclude_defaults=True) for row in gates]
        self.reject(*key, EMPTY, content)
        self.gone[key] = EMPTY

    def earlier_places(self, key: Key) -> list[int]:
        """The turns that a chain or dialogue had before this revision, as indices into the first draft."""
        return self.history(*key).remaining(self.earlier_lengths[key]) if key in self.earlier_lengths else []

    def shown_places(self, key: Key, turns: int, revision: int) -> list[int]:
        """The turns of a draft that people saw, as indices into the first draft.

        Args:
            key: Table and id of the chain or dialogue.
            turns: How many turns the draft shows.
            revision: Revision of the benchmark when it was taken.
        """
        return self.history(*key).remaining(turns, revision)

    def now(self, key: Key, place: int) -> int | None:
        """Index in this revision of a turn of the first draft; None if it is gone."""
        places = self._places[key] if key in self._places else self.earlier_places(key)
        return places.index(place) if place in places else None

    def moved(self, key: Key, index: int) -> int | None:
        """Index in this revision of a turn or step that the benchmark had before; None if it was taken out."""
        moves = self.moves.get(key)
        return index if moves is None else moves[index] if index < len(moves) else None

    def key_of(self, unit: str, name: str) -> Key | None:
        """The unit that a row is about; None if it is about something that review does not change."""
        if unit == "turn":
            # The unit of a turn is a dialogue if there is one with the id, otherwise a chain.
            return ("dialogues" if ("dialogues", name) in self.earlier_lengths else "chains", name)
        return (TABLE_OF[unit], name) if unit in TABLE_OF else None

    def rows_about(self, table: str, key: Key) -> Sequence[Any]:
        """Earlier rows of gates or tag proposals about a chain or dialogue and its turns."""
        found = rows_by(getattr(self.before, table), "unit_id").get(key[1], ())
        return [row for row in found if row.unit == KIND_OF[key[0]]]

    def replace(self, table: str, place: int, new: Record | None, reason: str) -> None:
        """Replace a row by another one, or remove it, and keep it with the reason."""
        rows: ChangedRows[Any] = getattr(self, table)
        before = rows[place]
        if new is None:
            self.reject(table, _name(before), reason, before)
        if new != before:
            rows.put(place, new)

    def reject(
        self, table: str, record_id: str, reason: str, content: Json | Record, *, place: str | None = None
    ) -> None:
        """Keep a removed row, with the reason."""
        stored = content.model_dump(mode="json", exclude_defaults=True) if isinstance(content, Record) else content
        self.rejected.append(Rejected(table=table, record_id=record_id, reason=reason, place=place, content=stored))
        self.counts[f"{table if place is None else 'turns'} taken out"] += 1

    def set_aside(self, unit: DoneUnit, problem: str, *, place: str | None = None, field: str | None = None) -> None:
        """Leave a unit out, with the reason."""
        self.aside.setdefault(unit.id, []).append(SetAside(unit.id, unit.title, place, field, problem))

    def name_aside(self, names: Mapping[str, str]) -> None:
        """Give the units that are left out their names for people."""
        for unit_id, found in self.aside.items():
            self.aside[unit_id] = [replace(one, title=names[unit_id]) for one in found]

    def applied_place(self, unit: DoneUnit, place: str) -> int | str | None:
        """A place of a unit as reviews in the benchmark name it: by the turns' indices in the first draft.

        None for a place that adds nothing to the benchmark.
        """
        if unit.kind != "links":
            turns = len(unit.content["turns"])
            return self.shown_places((unit.target_table, unit.target_id), turns, unit.revision)[int(place)]
        ends = self.linked_places(unit, place)
        return None if ends is None else "-".join(map(str, ends))

    def linked_places(self, unit: DoneUnit, place: str) -> tuple[int, int] | None:
        """The two turns that a place of a link board joins, as indices into the first draft; None for other places."""
        parts = place.split("-")
        if len(parts) != 2 or not all(part.isdecimal() for part in parts):
            return None
        source, target = (
            self.shown_places(("chains", side["id"]), len(side["turns"]), unit.revision)[int(index)]
            for side, index in zip((unit.content["before"], unit.content["after"]), parts, strict=True)
        )
        return source, target

    def new_places(self, unit: DoneUnit) -> list[str]:
        """The places of a unit whose results were not applied yet, in their order."""
        history = self.history(unit.target_table, unit.target_id)
        places = {place: self.applied_place(unit, place) for place in sorted(unit.results, key=place_order)}
        return [
            place
            for place, at in places.items()
            if at is not None and unit.results[place].hash != history.result(unit.kind, at)
        ]

    def review(
        self, unit: DoneUnit, place: str, *, worded: Turn | None = None, effects: Sequence[FieldEdit] = ()
    ) -> None:
        """Add the reviews of a place: who decided what.

        Args:
            place: The place in it.
            worded: The turn, if its wording was settled.
            effects: Other changes that this caused in the record.
        """
        settled, counted = unit.results[place], unit.counted(place)
        at = self.applied_place(unit, place)
        self._reviewed.add((unit.target_table, unit.target_id))

        def add(reviewer: str, moment: str, value: Json, note: str | None, *, counts: bool) -> None:
            said = decision_of(unit, place, value)
            extra: dict[str, Json] = {TASK: unit.kind, PLACE: at, WRITTEN_KEY: self.number}
            if counts:
                extra |= {SETTLED: settled.how, RESULT: settled.hash}
                extra |= {WORDING: wording_hash(worded)} if worded is not None else {}
            self.reviews.append(
                Review(
                    extra=extra,
                    target_table=unit.target_table,
                    target_id=unit.target_id,
                    revision=unit.revision,
                    reviewer=reviewer,
                    decision=said.decision,
                    reasons=tuple(said.reasons),
                    edits=(*said.edits, *(effects if counts else ())),
                    comment=note or said.comment,
                    created_at=datetime.fromisoformat(moment),
                )
            )

        for work in unit.works:
            if (value := work.values.get(place)) is None:
                continue
            # An adjudicator's value only names the work they took. The settled value is the result.
            is_judge = work.role == "adjudicator"
            add(
                work.reviewer,
                work.times[place],
                settled.value if is_judge else value,
                value.get("note") if is_judge else None,
                counts=work is counted,
            )
        if counted is None:
            people = settled.people or ("unknown",)
            add(people[-1], settled.at, settled.value, None, counts=True)


def _name(row: Any) -> str:
    """The name under which a removed row is kept."""
    if isinstance(row, Linkage):
        return derive_id("linkage", row.model_dump(mode="json"))
    return row.id if hasattr(row, "id") else f"{row.model}/{row.unit_id}"[:LONGEST_NAME].strip()
