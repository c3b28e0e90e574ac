"""Numbers about people in queues: progress, agreement, and the quality of each person's work.

They are as of the moment at which a page is opened. Work counts as it was when all work on its unit first was in:
returned work was done again by somebody who knew the adjudicator's opinion. Incomplete units are left out, and known
answers count for themselves alone.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import numpy as np
from pydantic import BaseModel
from sqlalchemy import case, exists, func, select
from sqlalchemy.orm import Session

from reeltalk.metrics.uncertainty import mean_interval, wilson
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
from reeltalk_review.gold import count_known_answers, essence_of
from reeltalk_review.tables import AssignmentRow, ChainRow, EntryRow, EventRow, QueueRow, ResultRow, UnitRow, timestamp
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import ReviewTask, remarks_of
from reeltalk_review.work import EDIT_KINDS

STATES: Final = ("waiting", "begun", "adjudication", "done")
"""A unit is in one of them: nobody has it, somebody has it but not all work is in, people differ, all is settled."""
HEADINGS: Final = ("queue", "units", "turns", "done", "to adjudicate", "under way", "left", "people each")
NOT_MEASURED: Final = "no task was done by two people yet"
_AT_ONCE: Final = 400
"""Units in one query. Databases accept a few thousand values at most."""


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
    total_turns: int

    @property
    def total(self) -> int:
        """Number of all units."""
        return sum(self.units.values())


def queue_progress(session: Session) -> list[QueueProgress]:
    """Progress of every queue, in the order of the project. Known answers do not count."""
    taken = exists().where(
        AssignmentRow.unit_id == UnitRow.id, AssignmentRow.role == ANNOTATOR, AssignmentRow.state != LAPSED
    )
    state = case((UnitRow.state == "open", case((taken, "begun"), else_="waiting")), else_=UnitRow.state).label("state")
    query = select(UnitRow.queue_id, state, func.count(), func.sum(UnitRow.turns)).where(UnitRow.gold.is_(None))
    units: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(STATES, 0))
    turns: Counter[str] = Counter()
    for queue_id, name, count, total in session.execute(query.group_by(UnitRow.queue_id, state)):
        units[queue_id][name] += count
        turns[queue_id] += int(total or 0)
    return [
        QueueProgress(queue.id, queue.title, queue.overlap, queue.is_open, units[queue.id], turns[queue.id])
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


def read_decisions(
    session: Session, unit_ids: Sequence[str] | None = None
) -> Iterator[tuple[str, str, list[CodedPlace]]]:
    """Each complete unit, its queue, and what its annotators decided.

    Args:
        session: The database.
        unit_ids: Which units; by default all. Incomplete units and known answers are left out.
    """
    is_complete = (UnitRow.state.in_(("adjudication", "done")), UnitRow.gold.is_(None))
    if unit_ids is None:
        unit_ids = session.scalars(select(UnitRow.id).where(*is_complete)).all()
    for start in range(0, len(unit_ids), _AT_ONCE):
        some = select(UnitRow.id).where(UnitRow.id.in_(unit_ids[start : start + _AT_ONCE]), *is_complete)
        values = _first_values(session, some)
        results: dict[str, dict[str, Json]] = defaultdict(dict)
        settled = select(ResultRow).where(ResultRow.unit_id.in_(some), ResultRow.how != "sole")
        for row in session.scalars(settled):
            results[row.unit_id][row.place] = row.value
        units = select(UnitRow, QueueRow.task).join(QueueRow, QueueRow.id == UnitRow.queue_id)
        for unit, kind in session.execute(units.where(UnitRow.id.in_(some))):
            # While an adjudicator is at work, the places that all agree on are settled and the others are not.
            known = results[unit.id] if unit.state == "done" else {}
            found = [
                decision
                for person_id, places in values[unit.id].items()
                for decision in _decisions(unit, TASKS[kind], person_id, places, known)
            ]
            yield unit.id, unit.queue_id, found


def _first_values(session: Session, unit_ids: Any) -> dict[str, dict[str, dict[str, Json]]]:
    """Values of complete units by unit, person and place, as they were when all work on the unit first was in."""
    found: dict[str, dict[str, dict[str, Json]]] = defaultdict(lambda: defaultdict(dict))
    again = set()
    query = (
        select(AssignmentRow, EntryRow.place, EntryRow.value)
        .join(EntryRow, EntryRow.assignment_id == AssignmentRow.id)
        .where(AssignmentRow.unit_id.in_(unit_ids), AssignmentRow.role == ANNOTATOR, AssignmentRow.state == "submitted")
        .order_by(AssignmentRow.unit_id, EntryRow.place)
    )
    for copy, place, value in session.execute(query):
        found[copy.unit_id][copy.person_id][place] = value
        if copy.round > 1:
            again.add(copy.unit_id)
    for unit_id in again:
        first = select(func.min(EventRow.seq)).where(EventRow.subject == unit_id, EventRow.kind == "complete")
        edits = (
            select(AssignmentRow.person_id, EventRow.place, EventRow.after)
            .join(AssignmentRow, AssignmentRow.id == EventRow.subject)
            .where(AssignmentRow.unit_id == unit_id, AssignmentRow.role == ANNOTATOR)
            .where(EventRow.kind.in_(EDIT_KINDS), EventRow.seq < first.scalar_subquery())
            .order_by(EventRow.seq)
        )
        found[unit_id] = defaultdict(dict)
        for person_id, place, after in session.execute(edits):
            found[unit_id][person_id][place] = after["value"]
    return found


_KINDS: Final = {
    "accept": "accepted", "keep": "accepted", "edit": "edited", "reject": "rejected", "delete": "rejected",
    "skip": "skipped",
}  # fmt: skip


def _decisions(
    unit: UnitRow, task: ReviewTask, person_id: str, values: Mapping[str, Json], settled: Mapping[str, Json]
) -> Iterator[CodedPlace]:
    """One person's decisions about a complete unit, also where others decided something and they did not."""
    content, video = unit.content, unit.video_id or unit.id
    for place in sorted({*values, *settled}):
        value = values.get(place)
        as_settled = None
        if place in settled:
            essence = essence_of(task, content, place, value)
            as_settled = essence == essence_of(task, content, place, settled[place])
        if value is None or not task.is_decided(value):
            if as_settled is not None:
                yield CodedPlace(unit.id, place, video, person_id, {}, as_settled=as_settled)
            continue
        said = value if isinstance(value, dict) else {}
        in_bulk = said.get(IN_BULK) is True
        # Two people who accepted drafts unseen did not judge the same way; they did not judge.
        codes = {} if in_bulk else {code.variable: code for code in task.codes(content, place, value)}
        yield CodedPlace(
            unit.id,
            place,
            video,
            person_id,
            codes,
            kind=_KINDS.get(str(said.get("decision")), ""),
            unsure=remarks_of(value)[0],
            in_bulk=in_bulk,
            as_settled=as_settled,
        )


class PersonQuality(BaseModel):
    """Numbers about one person's work in one queue. Shares are 0 to 1; null where there is nothing to count."""

    person: str
    queue: str
    submitted: int = 0
    """Units submitted, known answers included."""
    turns: int = 0
    """Turns in them."""
    returned: int = 0
    """How often work came back."""
    complete_tasks: int = 0
    """Complete units that they worked on. The decisions and results are about these."""
    decisions: int = 0
    accepted: int = 0
    edited: int = 0
    rejected: int = 0
    skipped: int = 0
    unsure: int = 0
    in_bulk: int = 0
    """Turns that they accepted together with others."""
    results_share: float | None = None
    """Share of places at which their work is what was settled. Places that their work alone settled do not count."""
    results_low: float | None = None
    results_high: float | None = None
    results_places: int = 0
    gold_caught: float | None = None
    """Share of planted faults that they rejected, or mended where the fault is; with Wilson's interval."""
    gold_caught_low: float | None = None
    gold_caught_high: float | None = None
    gold_faults: int = 0
    gold_false_alarms: float | None = None
    """Share of places without a planted fault that they rejected or edited."""
    gold_false_alarms_low: float | None = None
    gold_false_alarms_high: float | None = None
    gold_without_fault: int = 0
    training_right: float | None = None
    """Share of places of the training set at which their first answer is what was settled."""
    training_right_low: float | None = None
    training_right_high: float | None = None
    training_places: int = 0
    hours: float = 0.0
    """Hours of activity, as browsers measured them."""
    timed_turns: int = 0
    seconds_per_turn: float | None = None
    """The median."""


def _quality(session: Session, rows: Mapping[str, Sequence[CodedPlace]]) -> list[PersonQuality]:
    """Numbers about everybody who worked, by queue and person."""
    fields: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    of_annotators = (
        select(AssignmentRow.person_id, UnitRow.queue_id)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(AssignmentRow.role == ANNOTATOR)
    )
    is_submitted = AssignmentRow.state == "submitted"
    handed_in = of_annotators.add_columns(
        func.count().filter(is_submitted),
        func.sum(UnitRow.turns).filter(is_submitted),
        func.sum(AssignmentRow.round - 1),
    ).group_by(AssignmentRow.person_id, UnitRow.queue_id)
    for person, queue, units, turns, returned in session.execute(handed_in):
        fields[queue, person] |= {"submitted": units, "turns": int(turns or 0), "returned": int(returned or 0)}
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    active = of_annotators.add_columns(EntryRow.active_s).join(EntryRow, EntryRow.assignment_id == AssignmentRow.id)
    for person, queue, seconds in session.execute(active.where(EntryRow.active_s > 0)):
        times[queue, person].append(seconds)
    for key, found in times.items():
        fields[key] |= {
            "hours": round(sum(found) / 3600, 4),
            "timed_turns": len(found),
            "seconds_per_turn": median(found),
        }
    for (person, queue), counts in count_known_answers(session).items():
        fields[queue, person] |= (
            _share("gold_caught", "gold_faults", counts["caught"], counts["faults"])
            | _share("gold_false_alarms", "gold_without_fault", counts["false_alarms"], counts["whole"])
            | _share("training_right", "training_places", counts["right"], counts["training"])
        )
    for queue, decided in rows.items():
        by_person: dict[str, list[CodedPlace]] = defaultdict(list)
        for row in decided:
            by_person[row.person].append(row)
        for person, own in by_person.items():
            fields[queue, person] |= _decided(own)
    return [PersonQuality(person=person, queue=queue, **fields[queue, person]) for queue, person in sorted(fields)]


def _share(name: str, of: str, successes: int, trials: int) -> dict[str, Any]:
    found = wilson(successes, trials)
    return {name: found.share, f"{name}_low": found.low, f"{name}_high": found.high, of: trials}


def _decided(rows: Sequence[CodedPlace]) -> dict[str, Any]:
    kinds = Counter(row.kind for row in rows if row.kind)
    found = dict(kinds) | {
        "complete_tasks": len({row.unit for row in rows}),
        "decisions": kinds.total(),
        "unsure": sum(row.unsure for row in rows),
        "in_bulk": sum(row.in_bulk for row in rows),
    }
    settled = [row for row in rows if row.as_settled is not None]
    if not settled:
        return found
    share = mean_interval(
        np.array([row.as_settled for row in settled], np.float64), [row.video for row in settled], (0, 1)
    )
    return found | {
        "results_share": share.value,
        "results_low": share.low,
        "results_high": share.high,
        "results_places": share.n,
    }


@dataclass(frozen=True)
class QueueAgreement:
    """Agreement in one queue, and what it rests on."""

    queue_id: str
    title: str
    units: int
    """Complete units that at least two people did."""
    people: int
    """The people who did them."""
    turns: int
    """Places of them that at least two people decided."""
    in_bulk: int
    """Decisions that were made together with others, unseen; agreement leaves them out."""
    variables: tuple[VariableAgreement, ...]
    """The first is the task's main one, which is compared with the required level."""
    pairs: tuple[PairAgreement, ...]

    @property
    def main(self) -> VariableAgreement | None:
        """The task's main variable; None if nothing was done twice."""
        return self.variables[0] if self.variables else None


def _agreement(queue_id: str, title: str, rows: Sequence[CodedPlace]) -> QueueAgreement:
    decided = [row for row in rows if row.codes]
    judged = Counter((row.unit, row.place) for row in decided)
    twice = [row for row in decided if judged[row.unit, row.place] > 1]
    return QueueAgreement(
        queue_id,
        title,
        units=len({row.unit for row in twice}),
        people=len({row.person for row in twice}),
        turns=len({(row.unit, row.place) for row in twice}),
        in_bulk=sum(row.in_bulk for row in rows),
        variables=tuple(agreement_by_variable(twice)),
        pairs=tuple(agreement_by_pair(twice)),
    )


@dataclass(frozen=True)
class TeamStats:
    """Statistics computed at one time."""

    seq: int
    """The last event that they include."""
    at: str
    """When they were computed."""
    tasks: tuple[QueueAgreement, ...]
    quality: tuple[PersonQuality, ...] = ()
    """By queue and person."""


class TeamStatsCache:
    """Computes the statistics of a team. Only units that were completed or opened since the last time are read again.

    Args:
        database: The project's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._units: dict[str, tuple[str, list[CodedPlace]]] = {}
        self._tasks: tuple[QueueAgreement, ...] = ()
        self._latest: TeamStats | None = None

    def compute(self) -> TeamStats:
        """The statistics as of now.

        Raises:
            BenchmarkError: The database cannot be reached.
        """
        with self._lock, self._database.reading() as session:
            head, latest = session.scalar(select(ChainRow.seq)) or 0, self._latest
            if latest is not None and head == latest.seq:
                return latest
            queues = session.execute(select(QueueRow.id, QueueRow.title).order_by(QueueRow.position, QueueRow.id)).all()
            touched: Sequence[str] | None = None
            if latest is not None:
                is_new = (
                    EventRow.seq > latest.seq,
                    EventRow.kind.in_(("complete", "unsettle", "settle", "reconsider")),
                )
                touched = session.scalars(select(EventRow.subject).where(*is_new).distinct()).all()
            for unit_id in touched or ():
                self._units.pop(unit_id, None)
            self._units |= {unit: (queue, rows) for unit, queue, rows in read_decisions(session, touched)}
            rows: dict[str, list[CodedPlace]] = {queue.id: [] for queue in queues}
            for _, (queue_id, decided) in sorted(self._units.items()):
                rows[queue_id] += decided
            if touched != [] or [(task.queue_id, task.title) for task in self._tasks] != [
                tuple(queue) for queue in queues
            ]:
                self._tasks = tuple(_agreement(queue.id, queue.title, rows[queue.id]) for queue in queues)
            order = {queue.id: number for number, queue in enumerate(queues)}
            quality = sorted(_quality(session, rows), key=lambda row: order[row.queue])
            self._latest = TeamStats(head, timestamp(), self._tasks, tuple(quality))
            return self._latest


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
        main = task.main
        found = main.chance_corrected if main is not None else None
        if main is None or found is None:
            blocks.append(f"agreement of '{task.title}' is not known, and {least:g} is asked for: {NOT_MEASURED}")
        elif found.value is None and main.raw.value != 1:
            blocks.append(f"agreement of '{task.title}' is not known, and {least:g} is asked for: {found.reason}")
        elif found.value is not None and found.value < least:
            blocks.append(
                f"agreement of '{task.title}' on {main.variable} is {found.value:.2f}, below the {least:g} that "
                f"the project asks for (n = {found.n})"
            )
    return blocks
