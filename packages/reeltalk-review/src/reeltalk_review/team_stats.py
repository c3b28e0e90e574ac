"""Progress and statistics of a team: units by state, work of each person, agreement, speed, results on gold.

The statistics are as of the moment at which a page is opened: one object serves a project, and computes anew only what
the events since its last computation changed.

Agreement compares blind work: the versions that were submitted when all work on a unit first was in. Returned work was
done again by somebody who knew the adjudicator's opinion, so its first version counts. Incomplete units and gold are
left out.
"""

import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import case, exists, func, select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review.agreement import (
    CodedPlace,
    PairAgreement,
    VariableAgreement,
    agreement_by_pair,
    agreement_by_variable,
)
from reeltalk_review.assigning import ANNOTATOR, IN_BULK, LAPSED
from reeltalk_review.database import Database
from reeltalk_review.gold import GoldMeasures, GoldOutcome, gold_outcomes, measure_outcomes
from reeltalk_review.quality import Handed, PersonQuality, UnitWork, quality_of, unit_works
from reeltalk_review.tables import (
    AssignmentRow,
    ChainRow,
    EntryRow,
    EventRow,
    QueueRow,
    ResultRow,
    UnitRow,
    moment,
)
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.work import EDITS

STATES: Final = ("waiting", "begun", "adjudication", "done")
"""A unit is in one of them: nobody has it, somebody has it but not all work is in, people differ, all is settled."""
HEADINGS: Final = ("queue", "units", "turns", "done", "to adjudicate", "under way", "left", "people each")


@dataclass(frozen=True)
class QueueProgress:
    """Progress of one queue."""

    id: str
    title: str
    overlap: int
    """How many people do each unit."""
    is_open: bool
    units: Mapping[str, int]
    """Number of units by `STATES`."""
    turns: Mapping[str, int]
    """Number of turns by `STATES`."""

    @property
    def total(self) -> int:
        """Number of all units."""
        return sum(self.units.values())

    @property
    def total_turns(self) -> int:
        """Number of all turns."""
        return sum(self.turns.values())


def queue_progress(session: Session) -> list[QueueProgress]:
    """Progress of every queue, in the order of the project. Gold does not count."""
    taken = exists().where(
        AssignmentRow.unit_id == UnitRow.id, AssignmentRow.role == ANNOTATOR, AssignmentRow.state != LAPSED
    )
    state = case((UnitRow.state == "open", case((taken, "begun"), else_="waiting")), else_=UnitRow.state).label("state")
    query = (
        select(UnitRow.queue_id, state, func.count().label("units"), func.sum(UnitRow.turns).label("turns"))
        .where(UnitRow.gold.is_(None))
        .group_by(UnitRow.queue_id, state)
    )
    units: dict[str, dict[str, int]] = {}
    turns: dict[str, dict[str, int]] = {}
    for queue_id, name, count, total in session.execute(query):
        units.setdefault(queue_id, dict.fromkeys(STATES, 0))[name] += count
        turns.setdefault(queue_id, dict.fromkeys(STATES, 0))[name] += int(total or 0)
    return [
        QueueProgress(
            queue.id,
            queue.title,
            queue.overlap,
            queue.is_open,
            units.get(queue.id, dict.fromkeys(STATES, 0)),
            turns.get(queue.id, dict.fromkeys(STATES, 0)),
        )
        for queue in session.scalars(select(QueueRow).order_by(QueueRow.position, QueueRow.id))
    ]


def queue_table(session: Session) -> Iterator[tuple[str, ...]]:
    """A row of headings and one for each queue, as commands print them; nothing if there is no queue."""
    queues = queue_progress(session)
    if queues:
        yield HEADINGS
    for queue in queues:
        states = (queue.units[name] for name in ("done", "adjudication", "begun", "waiting"))
        numbers = (queue.total, queue.total_turns, *states, queue.overlap)
        yield (queue.id + ("" if queue.is_open else " (closed)"), *(f"{number:,}" for number in numbers))


_AT_ONCE: Final = 400
"""Units in one query. Databases accept a few thousand values at most."""


def completed_units(session: Session) -> list[str]:
    """Ids of all complete units."""
    query = select(UnitRow.id).where(UnitRow.state.in_(("adjudication", "done")), UnitRow.gold.is_(None))
    return list(session.scalars(query))


@dataclass(frozen=True)
class CompleteUnit:
    """A complete unit: who decided what, as agreement and quality count it."""

    id: str
    queue_id: str
    coded: list[CodedPlace]
    """Each annotator's codes of each place."""
    works: list[UnitWork]
    """Each annotator's work in counts."""


def read_complete(session: Session, unit_ids: Sequence[str]) -> Iterator[CompleteUnit]:
    """Complete units.

    Args:
        session: The database.
        unit_ids: Which units. Incomplete units and gold are left out.
    """
    for start in range(0, len(unit_ids), _AT_ONCE):
        yield from _read_complete(session, unit_ids[start : start + _AT_ONCE])


def _read_complete(session: Session, unit_ids: Sequence[str]) -> Iterator[CompleteUnit]:
    units = session.execute(
        select(UnitRow.id, UnitRow.queue_id, UnitRow.state, QueueRow.task, UnitRow.video_id, UnitRow.content)
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .where(UnitRow.id.in_(unit_ids), UnitRow.state.in_(("adjudication", "done")), UnitRow.gold.is_(None))
    ).all()
    values: dict[str, dict[str, dict[str, Json]]] = defaultdict(lambda: defaultdict(dict))
    again: set[str] = set()
    for unit_id, person_id, rounds, place, value in session.execute(
        select(AssignmentRow.unit_id, AssignmentRow.person_id, AssignmentRow.round, EntryRow.place, EntryRow.value)
        .join(EntryRow, EntryRow.assignment_id == AssignmentRow.id)
        .where(
            AssignmentRow.unit_id.in_([unit.id for unit in units]),
            AssignmentRow.role == ANNOTATOR,
            AssignmentRow.state == "submitted",
        )
        .order_by(AssignmentRow.unit_id, EntryRow.place)
    ):
        values[unit_id][person_id][place] = value
        if rounds > 1:
            again.add(unit_id)
    for unit_id in again:
        values[unit_id] = _first_values(session, unit_id)
    results: dict[str, dict[str, tuple[Json, str]]] = defaultdict(dict)
    for unit_id, place, value, how in session.execute(
        select(ResultRow.unit_id, ResultRow.place, ResultRow.value, ResultRow.how).where(
            ResultRow.unit_id.in_([unit.id for unit in units])
        )
    ):
        results[unit_id][place] = (value, how)
    for unit in units:
        task = TASKS[unit.task]
        video = unit.video_id or unit.id
        coded = []
        for person_id, places in values[unit.id].items():
            for place, value in places.items():
                # Two people who accepted drafts unseen did not judge the same way; they did not judge.
                if value is None or not task.is_decided(value) or value.get(IN_BULK):
                    continue
                codes = {code.variable: code for code in task.codes(unit.content, place, value)}
                coded.append(CodedPlace(unit.id, place, video, person_id, codes))
        # While an adjudicator is at work, the places that all agree on are settled and the others are not.
        settled = results[unit.id] if unit.state == "done" else {}
        works = unit_works(task, unit.content, video, values[unit.id], settled)
        yield CompleteUnit(unit.id, unit.queue_id, coded, works)


def _first_values(session: Session, unit_id: str) -> dict[str, dict[str, Json]]:
    """Each person's values by place when all work on a unit first was in."""
    complete = session.scalar(
        select(func.min(EventRow.seq)).where(EventRow.subject == unit_id, EventRow.kind == "complete")
    )
    found: dict[str, dict[str, Any]] = {}
    for assignment in session.scalars(
        select(AssignmentRow).where(AssignmentRow.unit_id == unit_id, AssignmentRow.role == ANNOTATOR)
    ):
        edits = session.execute(
            select(EventRow.place, EventRow.after)
            .where(EventRow.subject == assignment.id, EventRow.kind.in_(EDITS), EventRow.seq < complete)
            .order_by(EventRow.seq)
        )
        last = {place: after["value"] for place, after in edits if place is not None}
        if last:
            found[assignment.person_id] = last
    return found


NOT_MEASURED: Final = "no task was done by two people yet"


def measured_times(session: Session) -> dict[tuple[str, str], list[float]]:
    """Seconds of activity at each turn, as browsers measured them, by annotator and queue."""
    query = (
        select(AssignmentRow.person_id, UnitRow.queue_id, EntryRow.active_s)
        .join(AssignmentRow, AssignmentRow.id == EntryRow.assignment_id)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(AssignmentRow.role == ANNOTATOR, EntryRow.active_s > 0)
    )
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for person, queue, seconds in session.execute(query):
        found[person, queue].append(seconds)
    return found


def read_gold(session: Session) -> dict[tuple[str, str], GoldMeasures]:
    """Results on gold, by person and queue."""
    planted = session.execute(select(UnitRow.id, UnitRow.queue_id).where(UnitRow.gold.is_not(None)))
    queues = {unit_id: queue_id for unit_id, queue_id in planted}
    found: dict[tuple[str, str], list[GoldOutcome]] = defaultdict(list)
    for person, units in gold_outcomes(session).items():
        for unit_id, places in units.items():
            found[person, queues[unit_id]].extend(outcome for _, outcome in places)
    return {key: measure_outcomes(outcomes) for key, outcomes in found.items()}


def read_handed(session: Session) -> dict[tuple[str, str], Handed]:
    """How much everybody handed in as an annotator, by person and queue."""
    query = (
        select(
            AssignmentRow.person_id,
            UnitRow.queue_id,
            func.count().filter(AssignmentRow.state == "submitted"),
            func.sum(UnitRow.turns).filter(AssignmentRow.state == "submitted"),
            func.sum(AssignmentRow.round - 1),
        )
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(AssignmentRow.role == ANNOTATOR)
        .group_by(AssignmentRow.person_id, UnitRow.queue_id)
    )
    return {
        (person, queue): Handed(units, int(turns or 0), int(returned or 0))
        for person, queue, units, turns, returned in session.execute(query)
    }


@dataclass(frozen=True)
class QueueAgreement:
    """Agreement in one queue."""

    queue_id: str
    title: str
    units: int
    """Complete units that at least two people did."""
    variables: tuple[VariableAgreement, ...]
    """The first is the task's main one, which is compared with the required level."""
    pairs: tuple[PairAgreement, ...]

    @property
    def main(self) -> VariableAgreement | None:
        """The task's main variable; None if nothing was done twice."""
        return self.variables[0] if self.variables else None


@dataclass(frozen=True)
class TeamStats:
    """Statistics computed at one time."""

    seq: int
    """The last event that they include."""
    at: str
    """When they were computed."""
    tasks: tuple[QueueAgreement, ...]
    quality: tuple[PersonQuality, ...] = ()
    """By person and queue, in the order of the queues."""


class TeamStatsCache:
    """Computes the statistics of a team, each time from what has changed since the last.

    Args:
        database: The project's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._codes: dict[str, tuple[str, list[CodedPlace]]] = {}
        self._works: dict[str, tuple[str, list[UnitWork]]] = {}
        self._tasks: dict[str, QueueAgreement] = {}
        self._seq = -1
        self._latest: TeamStats | None = None

    def compute(self) -> TeamStats:
        """The statistics as of now.

        Raises:
            BenchmarkError: The database cannot be reached.
        """
        with self._lock:
            with self._database.reading() as session:
                head = session.scalar(select(ChainRow.seq)) or 0
                if self._latest is not None and head == self._seq:
                    return self._latest
                changed = self._read_on(session)
                times, gold, handed = measured_times(session), read_gold(session), read_handed(session)
                queues = session.execute(select(QueueRow.id, QueueRow.title).order_by(QueueRow.position)).all()
            tasks = tuple(self._of_task(queue.id, queue.title, changed) for queue in queues)
            self._tasks = {task.queue_id: task for task in tasks}
            quality = tuple(row for queue in queues for row in self._quality_in(queue.id, times, gold, handed))
            self._seq, self._latest = head, TeamStats(head, moment(), tasks, quality)
            return self._latest

    def _quality_in(
        self,
        queue_id: str,
        times: Mapping[tuple[str, str], list[float]],
        gold: Mapping[tuple[str, str], GoldMeasures],
        handed: Mapping[tuple[str, str], Handed],
    ) -> Iterator[PersonQuality]:
        works: dict[str, list[UnitWork]] = defaultdict(list)
        for _, (queue, found) in sorted(self._works.items()):
            if queue == queue_id:
                for work in found:
                    works[work.person].append(work)
        people = {person for person, queue in (*times, *gold, *handed) if queue == queue_id} | works.keys()
        for person in sorted(people):
            key = (person, queue_id)
            yield quality_of(
                person,
                queue_id,
                works[person],
                handed=handed.get(key, Handed()),
                gold=gold.get(key),
                times_s=times.get(key, ()),
            )

    def _read_on(self, session: Session) -> dict[str, set[str]]:
        """Read units that were completed or opened again since; returns the affected people by queue."""
        if self._seq < 0:
            units = completed_units(session)
        else:
            since = (EventRow.seq > self._seq, EventRow.kind.in_(("complete", "unsettle", "settle")))
            units = list(session.scalars(select(EventRow.subject).where(*since).distinct()))
        complete = list(read_complete(session, units))
        read = {unit.id: (unit.queue_id, unit.coded) for unit in complete}
        works = {unit.id: (unit.queue_id, unit.works) for unit in complete}
        changed: dict[str, set[str]] = defaultdict(set)
        for queue_id, coded in [*(self._codes[unit] for unit in units if unit in self._codes), *read.values()]:
            changed[queue_id].update(row.person for row in coded)
        gone = set(units)
        self._codes = {unit: known for unit, known in self._codes.items() if unit not in gone} | read
        self._works = {unit: known for unit, known in self._works.items() if unit not in gone} | works
        return changed

    def _of_task(self, queue_id: str, title: str, changed: Mapping[str, set[str]]) -> QueueAgreement:
        before = self._tasks.get(queue_id)
        if before is not None and queue_id not in changed:
            return replace(before, title=title)
        known = {
            pair.people: pair
            for pair in (before.pairs if before is not None else ())
            if not {*pair.people} <= changed[queue_id]
        }
        rows = [row for queue, coded in self._codes.values() if queue == queue_id for row in coded]
        people: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            people[row.unit].add(row.person)
        return QueueAgreement(
            queue_id,
            title,
            sum(len(found) > 1 for found in people.values()),
            tuple(agreement_by_variable(rows)),
            tuple(agreement_by_pair(rows, known=known)),
        )


def release_blocks(stats: TeamStats, least: float | None) -> list[str]:
    """Why a release must wait: one sentence for each queue whose agreement is below the required level.

    Args:
        stats: The team's statistics.
        least: The required level; None if there is none, and nothing is blocked.
    """
    if least is None:
        return []
    blocks = []
    for task in stats.tasks:
        if task.main is None:
            blocks.append(f"agreement of '{task.title}' is not known, and {least:g} is asked for: {NOT_MEASURED}")
            continue
        found = task.main.chance_corrected
        if found.value is None and task.main.raw.value == 1:
            continue
        if found.value is None:
            blocks.append(f"agreement of '{task.title}' is not known, and {least:g} is asked for: {found.reason}")
        elif found.value < least:
            blocks.append(
                f"agreement of '{task.title}' on {task.main.variable} is {found.value:.2f}, below the {least:g} that "
                f"the project asks for (n = {found.n})"
            )
    return blocks
