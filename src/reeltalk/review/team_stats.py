"""Statistics of a team, computed in the background: agreement, speed and results on gold.

Computing them takes seconds, so pages never wait for it. One object serves a project. It reads only the events since
its last computation and pauses between computations. Pages get the latest result with its time.

Agreement compares blind work: what people submitted when all work on a unit first was in. Returned work was done again
by somebody who knew the adjudicator's opinion, so its first version counts. Incomplete units and gold are left out.
"""

import contextlib
import gc
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import median
from typing import Any, Final

from sqlalchemy import case, func, select
from sqlalchemy.orm import Session

from reeltalk.errors import ReeltalkError
from reeltalk.review.agreement import (
    CodedPlace,
    PairAgreement,
    VariableAgreement,
    agreement_by_pair,
    agreement_by_variable,
)
from reeltalk.review.assigning import ANNOTATOR
from reeltalk.review.database import Database
from reeltalk.review.gold import GoldResult, gold_results
from reeltalk.review.tables import AssignmentRow, ChainRow, EntryRow, EventRow, QueueRow, UnitRow, moment
from reeltalk.review.tasks.registry import TASKS
from reeltalk.review.work import EDITS
from reeltalk.schema.record import Json

_AT_ONCE: Final = 400
"""Units in one query. Databases accept a few thousand values at most."""


def completed_units(session: Session) -> list[str]:
    """Ids of all complete units."""
    query = select(UnitRow.id).where(UnitRow.state.in_(("adjudication", "done")), UnitRow.gold.is_(None))
    return list(session.scalars(query))


def codes_of(session: Session, unit_ids: Sequence[str]) -> Iterator[tuple[str, str, list[CodedPlace]]]:
    """Each complete unit, with its queue and each annotator's codes of each place.

    Args:
        session: The database.
        unit_ids: Which units. Incomplete units and gold are left out.
    """
    for start in range(0, len(unit_ids), _AT_ONCE):
        yield from _codes_of(session, unit_ids[start : start + _AT_ONCE])


def _codes_of(session: Session, unit_ids: Sequence[str]) -> Iterator[tuple[str, str, list[CodedPlace]]]:
    units = session.execute(
        select(UnitRow.id, UnitRow.queue_id, QueueRow.task, UnitRow.video_id, UnitRow.content)
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
    for unit in units:
        task = TASKS[unit.task]
        coded = []
        for person_id, places in values[unit.id].items():
            for place, value in places.items():
                if value is None or not task.is_decided(value):
                    continue
                codes = {code.variable: code for code in task.codes(unit.content, place, value)}
                coded.append(CodedPlace(unit.id, place, unit.video_id or unit.id, person_id, codes))
        yield unit.id, unit.queue_id, coded


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


REST_S: Final = 5.0
"""Least pause in seconds between two computations."""
REST_SHARE: Final = 9.0
"""Least pause as a multiple of the last computation, so that computing takes at most a tenth of a core."""
WAIT_S: Final = 0.15
"""How long the first page waits; small projects are computed in this time."""
MANY: Final = 1000
"""From this many units read at once, their codes are kept out of garbage collection."""
NOT_MEASURED: Final = "no task was done by two people yet"


AWAY_S: Final = 300.0
"""A longer gap between two saves is a break and does not count as work."""


class Speeds:
    """Seconds that people work on a turn, from the events of their work. Each reading continues after the last."""

    def __init__(self) -> None:
        self.seq = 0
        """The last event that was read."""
        self._last: dict[str, datetime] = {}
        self._seconds: dict[str, dict[tuple[str, str], float]] = {}

    def read_on(self, session: Session) -> None:
        """Read the events since the last reading."""
        taken = case((EventRow.kind == "take", EventRow.after), else_=None)
        query = (
            select(EventRow.seq, EventRow.at, EventRow.author, EventRow.kind, EventRow.subject, EventRow.place, taken)
            .where(EventRow.seq > self.seq, EventRow.kind.in_(("take", "save", "undo", "redo", "reopen")))
            .order_by(EventRow.seq)
            .execution_options(yield_per=5000)
        )
        for seq, at, author, kind, subject, place, after in session.execute(query):
            now = datetime.fromisoformat(at)
            self.seq = seq
            # An adjudicator reads two people's work at once, so their speed is not comparable.
            if kind == "take" and after["role"] != ANNOTATOR:
                continue
            if kind != "take" and subject not in self._last:
                continue
            gap = (now - self._last.get(subject, now)).total_seconds()
            if place is not None and 0 < gap <= AWAY_S:
                worked = self._seconds.setdefault(author, {})
                worked[subject, place] = worked.get((subject, place), 0.0) + gap
            self._last[subject] = now

    def medians_s(self) -> dict[str, float]:
        """Median over the turns that somebody worked on, in seconds, by person."""
        return {person: median(worked.values()) for person, worked in self._seconds.items()}


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Disable garbage collection meanwhile: with a million codes it takes a second, in which no request is answered.

    The objects made here have no cycles. After many codes were read, `gc.freeze` keeps them out of later collections.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


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
    took_s: float
    tasks: tuple[QueueAgreement, ...]
    seconds: Mapping[str, float]
    """Median seconds for a turn, by person."""
    gold: Mapping[str, GoldResult]
    """By person."""


class TeamStatsCache:
    """Computes the statistics of a team in the background.

    Args:
        database: The project's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._codes: dict[str, tuple[str, list[CodedPlace]]] = {}
        self._tasks: dict[str, QueueAgreement] = {}
        self._speeds = Speeds()
        self._seq = -1
        self._latest: TeamStats | None = None
        self._ended = 0.0
        self._thread: threading.Thread | None = None

    def latest(self) -> TeamStats | None:
        """The latest statistics without waiting; None if there are none yet. Starts a computation if one is due."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            took = self._latest.took_s if self._latest is not None else 0.0
            if time.monotonic() - self._ended >= max(REST_S, REST_SHARE * took) or self._ended == 0.0:
                thread = self._thread = threading.Thread(target=self._in_background, name="team-stats", daemon=True)
                thread.start()
        if self._latest is None and thread is not None:
            thread.join(WAIT_S)
        return self._latest

    def codes(self, queue_id: str, people: Iterable[str]) -> list[CodedPlace]:
        """Codes of some people in the complete units of a queue, as of the latest statistics."""
        wanted = set(people)
        found = [coded for queue, coded in self._codes.values() if queue == queue_id]
        return [row for coded in found for row in coded if row.person in wanted]

    def compute(self) -> TeamStats:
        """Compute now, and wait for it.

        Raises:
            BenchmarkError: The database cannot be reached.
        """
        with self._lock, _without_collections():
            started = time.monotonic()
            with self._database.reading() as session:
                head = session.scalar(select(ChainRow.seq)) or 0
                if self._latest is not None and head == self._seq:
                    self._ended = time.monotonic()
                    return self._latest
                changed = self._read_on(session)
                self._speeds.read_on(session)
                gold = gold_results(session)
                queues = session.execute(select(QueueRow.id, QueueRow.title).order_by(QueueRow.position)).all()
            tasks = tuple(self._of_task(queue.id, queue.title, changed) for queue in queues)
            self._tasks = {task.queue_id: task for task in tasks}
            self._seq, self._ended = head, time.monotonic()
            self._latest = TeamStats(head, moment(), self._ended - started, tasks, self._speeds.medians_s(), gold)
            return self._latest

    def _read_on(self, session: Session) -> dict[str, set[str]]:
        """Read units that were completed or opened again since; returns the affected people by queue."""
        if self._seq < 0:
            units = completed_units(session)
        else:
            since = (EventRow.seq > self._seq, EventRow.kind.in_(("complete", "unsettle")))
            units = list(session.scalars(select(EventRow.subject).where(*since).distinct()))
        read = {unit_id: (queue_id, coded) for unit_id, queue_id, coded in codes_of(session, units)}
        changed: dict[str, set[str]] = defaultdict(set)
        for queue_id, coded in [*(self._codes[unit] for unit in units if unit in self._codes), *read.values()]:
            changed[queue_id].update(row.person for row in coded)
        # A new mapping, since pages may still read the old one.
        gone = set(units)
        self._codes = {unit: known for unit, known in self._codes.items() if unit not in gone} | read
        if len(read) > MANY:
            gc.freeze()
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

    def _in_background(self) -> None:
        # If the database cannot be reached, pages show the latest statistics with their time and try again later.
        try:
            with contextlib.suppress(ReeltalkError):
                self.compute()
        finally:
            self._ended = time.monotonic()


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
