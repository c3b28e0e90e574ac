"""The next revision of a benchmark while it is built: settled work from the database, changed rows, reviews, counts.

Each time reviews are applied, the benchmark's revision grows by one. Every settled place adds a `Review` whose `extra`
holds the turn's place in the first draft and the outcome. So the benchmark alone shows which turns the review removed
or rewrote; the database is not needed for that.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Literal

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.outcomes import Rejected
from reeltalk.schema.record import Json, Record
from reeltalk.schema.review import Decision, FieldEdit, Review
from reeltalk.store.content import Content
from reeltalk_review.assigning import ADJUDICATOR
from reeltalk_review.importing import WRITTEN
from reeltalk_review.settling import DONE
from reeltalk_review.tables import AssignmentRow, EntryRow, PersonRow, QueueRow, ResultRow, UnitRow, canonical_json
from reeltalk_review.tasks.task import spoken_place

BATCH = 500


@dataclass(frozen=True)
class SubmittedWork:
    """The work that one person submitted on a unit."""

    reviewer: str
    """The person's name."""
    person_id: str
    role: str
    """`annotator` or `adjudicator`."""
    at: str
    """When it was submitted."""
    values: Mapping[str, Json]
    """By place."""
    times: Mapping[str, str]
    """When each place was decided."""


@dataclass(frozen=True)
class SettledPlace:
    """The settled value of one place."""

    value: Json
    how: str
    people: Sequence[str]
    """Names; first those whose work it is."""
    at: str

    @property
    def hash(self) -> str:
        """Identifies the value, to know whether it was applied."""
        # Whether somebody was unsure is not part of a result, and old values do not say it.
        value = {k: v for k, v in self.value.items() if k != "unsure"} if isinstance(self.value, dict) else self.value
        return value_hash([value, self.how, list(self.people)])


@dataclass(frozen=True)
class DoneUnit:
    """A unit without open work."""

    id: str
    title: str
    kind: str
    """The kind of work."""
    target_table: str
    target_id: str
    video_id: str | None
    content: Mapping[str, Json]
    results: Mapping[str, SettledPlace]
    """By place; empty if each person's work counts by itself."""
    works: Sequence[SubmittedWork]
    """In the order of submission."""

    @property
    def revision(self) -> int:
        """Revision of the benchmark that people saw."""
        return int(self.content.get("revision", 0))


@dataclass(frozen=True)
class SetAside:
    """Results of a unit that are left out of the benchmark, and why."""

    unit_id: str
    title: str
    """The unit's title, which `revise` replaces by its name for people."""
    place: str | None
    """The place that is wrong; None if the whole unit is."""
    field: str | None
    """The field that is wrong."""
    problem: str

    def __str__(self) -> str:
        """For people, who count turns from 1."""
        at = f", {spoken_place(self.place)}" if self.place is not None else ""
        return f"{self.title}{at}: {self.problem}"


def done_units(session: Session, kind: str, unit_ids: Sequence[str]) -> Iterator[DoneUnit]:
    """Finished units of one kind of work, in the order of their ids here.

    Args:
        session: The database.
        kind: The kind of work.
        unit_ids: Ids of the units.
    """
    names: dict[str, str] = {name: shown for name, shown in session.execute(select(PersonRow.id, PersonRow.name))}
    for start in range(0, len(unit_ids), BATCH):
        some = unit_ids[start : start + BATCH]
        results: dict[str, dict[str, SettledPlace]] = defaultdict(dict)
        for found in session.scalars(select(ResultRow).where(ResultRow.unit_id.in_(some)).order_by(ResultRow.place)):
            people = [names.get(person, person) for person in found.people or ()]
            results[found.unit_id][found.place] = SettledPlace(found.value, found.how, people, found.at)
        works = _works(session, some, names)
        rows = {row.id: row for row in session.scalars(select(UnitRow).where(UnitRow.id.in_(some)))}
        for unit_id in some:
            row = rows[unit_id]
            yield DoneUnit(
                id=unit_id,
                title=row.title,
                kind=kind,
                target_table=row.target_table or "",
                target_id=row.target_id or "",
                video_id=row.video_id,
                content=row.content,
                results=results[unit_id],
                works=works[unit_id],
            )


def _works(session: Session, units: Sequence[str], names: Mapping[str, str]) -> dict[str, list[SubmittedWork]]:
    found: dict[str, list[SubmittedWork]] = defaultdict(list)
    values: dict[str, dict[str, Json]] = defaultdict(dict)
    times: dict[str, dict[str, str]] = defaultdict(dict)
    mine = select(AssignmentRow.id).where(AssignmentRow.unit_id.in_(units), AssignmentRow.state == "submitted")
    for entry in session.scalars(select(EntryRow).where(EntryRow.assignment_id.in_(mine)).order_by(EntryRow.place)):
        values[entry.assignment_id][entry.place] = entry.value
        times[entry.assignment_id][entry.place] = entry.at
    for row in session.scalars(
        select(AssignmentRow)
        .where(AssignmentRow.unit_id.in_(units), AssignmentRow.state == "submitted")
        .order_by(AssignmentRow.submitted_at, AssignmentRow.id)
    ):
        name = names.get(row.person_id, row.person_id)
        submitted_at = row.submitted_at or row.created_at
        found[row.unit_id].append(
            SubmittedWork(name, row.person_id, row.role, submitted_at, values[row.id], times[row.id])
        )
    return found


def undecided_counts(session: Session) -> dict[str, int]:
    """Number of places in unfinished units, by kind of work."""
    rows = session.execute(
        select(QueueRow.task, func.sum(UnitRow.turns))
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .where(UnitRow.state != DONE, UnitRow.gold.is_(None))
        .group_by(QueueRow.task)
    )
    return {kind: int(count or 0) for kind, count in rows}


def parse_moment(at: str) -> datetime:
    """A stored time as a `datetime` with its zone."""
    return datetime.fromisoformat(at)


@dataclass(frozen=True)
class ReviewDecision:
    """The decision in a value."""

    decision: Decision
    reasons: Sequence[str] = ()
    edits: Sequence[FieldEdit] = ()
    comment: str = ""


@dataclass(frozen=True)
class PersonReview:
    """One person's decision on a place, as it becomes a `Review`."""

    reviewer: str
    at: str
    said: ReviewDecision
    comment: str
    counts: bool
    """True for the one decision that counted."""


def person_reviews(
    unit: DoneUnit, place: str, settled: SettledPlace, read: Callable[[Json], ReviewDecision]
) -> Iterator[PersonReview]:
    """The decision of each person on a place. An adjudicator's counts if there is one, otherwise the first annotator's.

    Args:
        unit: A finished unit.
        place: The place.
        settled: Its settled value.
        read: Reads the decision from a value.
    """
    by_adjudicator, counted = settled.how in ("taken", "written"), False
    for work in unit.works:
        value, note = work.values.get(place), None
        if value is None:
            continue
        if work.role == ADJUDICATOR:
            # An adjudicator's value only names the work they took. The settled value is the result.
            note, value = value.get("note"), settled.value
        counts = not counted and (work.role == ADJUDICATOR) == by_adjudicator
        counted |= counts
        said = read(value)
        yield PersonReview(work.reviewer, work.times[place], said, note or said.comment, counts)
    if not counted:
        # The person who settled it has no value there, as when nobody drew a link. Their name is kept.
        said = read(settled.value)
        reviewer = settled.people[-1] if settled.people else "unknown"
        yield PersonReview(reviewer, settled.at, said, said.comment, counts=True)


def value_hash(value: Json) -> str:
    """The first 64 bits of the SHA-256 of canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:16]


TASK: Final = "task"
"""Key in a review's `extra`: the kind of work."""
TURNS: Final = "turns"
PLACE: Final = "place"
"""The turn's index in the first draft, from 0; or another name of a place."""
WORDING: Final = "wording"
"""Hash of the turn's new wording, if the review settled and changed it."""
RESULT: Final = "result"
"""Hash of the settled value. It shows that the value was applied."""
SETTLED: Final = "settled"
"""How the place was settled; only in the one review of a place that counted."""


def wording_hash(turn: Turn) -> str:
    """Identifies a turn by its wording; labels and checks may change meanwhile."""
    stored = turn.model_dump(mode="json")
    return value_hash({name: stored[name] for name in WORDED})


WORDED: Final = ("question", "references", "asked_at_s", "evidence", "options", "correct_option")
"""Fields of a turn's wording: all that people edit except labels."""


@dataclass(frozen=True)
class TurnRevision:
    """What one revision did to a turn."""

    revision: int
    is_kept: bool
    wording: str | None
    """Hash of the new wording; None if it did not change."""


class ReviewHistory:
    """What reviews did to the turns of each chain and dialogue.

    Args:
        reviews: The benchmark's table.
    """

    def __init__(self, reviews: Iterable[Review]) -> None:
        self._steps: dict[tuple[str, str], dict[int, list[TurnRevision]]] = defaultdict(lambda: defaultdict(list))
        self._results: dict[tuple[str, str, str, str], str] = {}
        for review in reviews:
            extra = review.extra
            if SETTLED not in extra:
                continue
            task, place, target = str(extra.get(TASK)), extra.get(PLACE), (review.target_table, review.target_id)
            self._results[task, *target, str(place)] = str(extra.get(RESULT))
            if task == TURNS and isinstance(place, int):
                self._steps[target][place].append(
                    TurnRevision(int(extra.get(WRITTEN, 0)), review.decision is not Decision.REJECT, extra.get(WORDING))
                )

    def kept(self, table: str, name: str, turns: int, revision: int | None = None) -> list[int]:
        """The turns of the first draft that a chain or dialogue still has, in order, as indices into the first draft.

        Args:
            table: `chains` or `dialogues`.
            name: Its id.
            turns: How many turns the first draft had, or more.
            revision: The revision; the latest by default.
        """
        steps: Mapping[int, Sequence[TurnRevision]] = self._steps.get((table, name), {})
        found = []
        for place in range(turns):
            past = [step for step in steps.get(place, ()) if revision is None or step.revision <= revision]
            if not past or past[-1].is_kept:
                found.append(place)
        return found

    def removed(self, table: str, name: str, revision: int | None = None) -> int:
        """How many turns of the first draft a chain or dialogue has lost."""
        steps: Mapping[int, Sequence[TurnRevision]] = self._steps.get((table, name), {})
        pasts = [[step for step in past if revision is None or step.revision <= revision] for past in steps.values()]
        return sum(bool(past) and not past[-1].is_kept for past in pasts)

    def wording(self, table: str, name: str, place: int) -> str | None:
        """Hash of the last wording that a review gave a turn; None if there is none."""
        past = self._steps.get((table, name), {}).get(place, ())
        return next((step.wording for step in reversed(past) if step.wording), None)

    def result(self, task: str, table: str, name: str, place: int | str) -> str | None:
        """Hash of the last settled value of a place for one kind of work; None if nothing was applied."""
        return self._results.get((task, table, name, str(place)))


UnitTable = Literal["chains", "dialogues"]
Key = tuple[str, str]
"""Table and id of a chain or dialogue."""
TABLE_OF: Final[Mapping[str, UnitTable]] = {"chain": "chains", "dialogue": "dialogues"}
"""Tables by the word in references."""


@dataclass
class NextRevision:
    """A benchmark's rows while they change."""

    before: Content
    content: Content
    history: ReviewHistory
    number: int
    """Number of this revision, from 1."""
    places: dict[Key, list[int]] = field(default_factory=dict)
    """The turns that each chain and dialogue now has, as indices into the first draft."""
    earlier_places: dict[Key, list[int]] = field(default_factory=dict)
    """The same before this revision."""
    reworded: dict[tuple[str, str, int], Turn] = field(default_factory=dict)
    """Turns with a new wording, as they were before, by table, id and place."""
    gone: set[Key] = field(default_factory=set)
    """Chains and dialogues without any turn left."""
    counts: Counter[str] = field(default_factory=Counter)
    aside: dict[str, list[SetAside]] = field(default_factory=dict)
    """What is left out, and why, by unit."""
    _about: dict[str, dict[tuple[str, str], list[Any]]] = field(default_factory=dict)

    @classmethod
    def after(cls, content: Content, number: int = 1) -> "NextRevision":
        """The start: everything unchanged.

        Args:
            content: Rows of the benchmark.
            number: Number of the revision.
        """
        content, fresh = replace(content), replace(content)
        for name, rows in content.rows():
            setattr(content, name, list(rows))
            setattr(fresh, name, list(getattr(content, name)))
        history = ReviewHistory(content.reviews)
        made = cls(content, fresh, history, number)
        units: tuple[tuple[UnitTable, Sequence[QAChain | Dialogue]], ...] = (
            ("chains", content.chains),
            ("dialogues", content.dialogues),
        )
        for table, found in units:
            for unit in found:
                first = len(unit.turns) + history.removed(table, unit.id)
                made.earlier_places[table, unit.id] = history.kept(table, unit.id, first)
        made.places = {key: list(places) for key, places in made.earlier_places.items()}
        return made

    def snapshot_places(self, table: str, name: str, turns: int, revision: int) -> list[int]:
        """The turns of a unit's snapshot, as indices into the first draft.

        Args:
            table: `chains` or `dialogues`.
            name: Its id.
            turns: How many turns the snapshot shows.
            revision: Revision of the benchmark when it was taken.
        """
        first = turns + self.history.removed(table, name, revision)
        return self.history.kept(table, name, first, revision)

    def now(self, table: str, name: str, place: int) -> int | None:
        """Index in this revision of a turn of the first draft; None if it is gone."""
        places = self.places.get((table, name), [])
        return places.index(place) if place in places else None

    def moved(self, table: str, name: str, index: int) -> int | None:
        """Index in this revision of a turn that the benchmark had before; None if it was taken out."""
        earlier = self.earlier_places.get((table, name))
        if earlier is None or index >= len(earlier):
            return None
        if earlier == self.places.get((table, name)):
            return index
        return self.now(table, name, earlier[index])

    def rows_about(self, table: str, unit: str, name: str) -> Sequence[Any]:
        """Earlier rows of gates or tag proposals about a chain or dialogue and its turns."""
        if table not in self._about:
            found: dict[tuple[str, str], list[Any]] = defaultdict(list)
            for row in getattr(self.before, table):
                found[row.unit, row.unit_id].append(row)
            self._about[table] = found
        return self._about[table].get((unit, name), ())

    def reject(
        self, table: str, record_id: str, reason: str, content: Json | Record, *, place: str | None = None
    ) -> None:
        """Keep a removed row, with the reason."""
        stored = content.model_dump(mode="json", exclude_defaults=True) if isinstance(content, Record) else content
        self.content.rejected.append(
            Rejected(table=table, record_id=record_id, reason=reason, place=place, content=stored)
        )
        self.counts[f"{table if place is None else 'turns'} taken out"] += 1

    def set_aside(self, unit: DoneUnit, problem: str, *, place: str | None = None, field: str | None = None) -> None:
        """Leave a unit out, with the reason."""
        found = SetAside(unit.id, unit.title, place, field, problem)
        self.aside.setdefault(unit.id, []).append(found)

    def applied_place(self, unit: DoneUnit, place: str) -> int | str | None:
        """A place of a unit as reviews in the benchmark name it; None for a place that adds nothing to it.

        Turns are named by their index in the first draft.
        """
        if unit.kind != "links":
            turns = len(unit.content["turns"])
            shown = self.snapshot_places(unit.target_table, unit.target_id, turns, unit.revision)
            return shown[int(place)]
        source, dash, target = place.partition("-")
        if not (dash and source.isdigit() and target.isdigit()):
            return None
        before, after = unit.content["before"], unit.content["after"]
        sources = self.snapshot_places("chains", before["id"], len(before["turns"]), unit.revision)
        targets = self.snapshot_places("chains", after["id"], len(after["turns"]), unit.revision)
        return f"{sources[int(source)]}-{targets[int(target)]}"

    def is_new(self, unit: DoneUnit, place: str) -> bool:
        """True if the result at a place of a unit was not applied yet."""
        at = self.applied_place(unit, place)
        known = self.history.result(unit.kind, unit.target_table, unit.target_id, at) if at is not None else None
        return at is not None and unit.results[place].hash != known

    def review(
        self,
        unit: DoneUnit,
        verdicts: Iterable[PersonReview],
        *,
        place: int | str,
        settled: SettledPlace | None = None,
        worded: Turn | None = None,
        effects: Sequence[FieldEdit] = (),
    ) -> None:
        """Add the reviews of a place: who decided what.

        Args:
            unit: The unit.
            verdicts: One for each person.
            place: The turn's index in the first draft, or another place.
            settled: The settled value.
            worded: The turn, if its wording was settled.
            effects: Other changes that this caused in the record.
        """
        for verdict in verdicts:
            said, extra = verdict.said, {TASK: unit.kind, PLACE: place, WRITTEN: self.number}
            if verdict.counts and settled is not None:
                extra |= {SETTLED: settled.how, RESULT: settled.hash}
                if worded is not None:
                    extra[WORDING] = wording_hash(worded)
            self.content.reviews.append(
                Review(
                    extra=extra,
                    target_table=unit.target_table,
                    target_id=unit.target_id,
                    revision=unit.revision,
                    reviewer=verdict.reviewer,
                    decision=said.decision,
                    reasons=tuple(said.reasons),
                    edits=(*said.edits, *(effects if verdict.counts else ())),
                    comment=verdict.comment,
                    created_at=parse_moment(verdict.at),
                )
            )
