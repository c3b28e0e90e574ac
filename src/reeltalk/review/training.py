"""The training round of a queue: tasks with known answers, which everybody who is new to the queue does first.

A training task is a copy of a settled one, kept as gold with `training`. It shows openly what it is. After each, people
see what they answered, what is right, and why. Their copies of the work have a role of their own, so that nothing of
training counts as a result, as agreement or as progress.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import ColumnElement, func, or_, select
from sqlalchemy.orm import Session, aliased

from reeltalk.review.collecting import hidden_videos
from reeltalk.review.errors import Conflict, InvalidValue, NotFound
from reeltalk.review.events import Transaction
from reeltalk.review.gold import is_training
from reeltalk.review.tables import AssignmentRow, EntryRow, PersonRow, QueueRow, ResultRow, UnitRow
from reeltalk.review.tasks.registry import TASKS
from reeltalk.review.tasks.task import ReviewTask, with_remarks
from reeltalk.schema.record import Json, derive_id

TRAINEE: Final = "trainee"
"""The role of somebody's copy of a training task."""
RULE: Final = "training"
"""Key in a queue's settings: the pass mark, and who may begin without it."""
PASS_PERCENT: Final = 70
MOST_TASKS: Final = 50
LONGEST_EXPLANATION: Final = 1000
_GONE: Final = ("reject", "skip")


@dataclass(frozen=True)
class TrainingState:
    """How far somebody is in the training round of a queue."""

    tasks: int
    submitted: int
    right: int
    """Places that they answered as is right, of the submitted tasks."""
    places: int
    pass_percent: int
    is_let_in: bool
    is_new: bool
    """They have begun no real task of the queue."""

    @property
    def percent(self) -> int | None:
        """Share of right places in percent, rounded down; None if nothing was submitted."""
        return 100 * self.right // self.places if self.places else None

    @property
    def is_due(self) -> bool:
        """True if they do training tasks next."""
        return self.is_new and self.submitted < self.tasks

    @property
    def has_failed(self) -> bool:
        """True if they did all training tasks and are below the pass mark: the lead decides whether they may begin."""
        is_below = (self.percent or 0) < self.pass_percent
        return self.is_new and 0 < self.tasks <= self.submitted and is_below and not self.is_let_in


def training_tasks(session: Session, queue_id: str) -> Sequence[UnitRow]:
    """The training tasks of a queue, in the order in which people do them."""
    query = select(UnitRow).where(UnitRow.queue_id == queue_id, UnitRow.gold.is_not(None), is_training())
    return session.scalars(query.order_by(UnitRow.position, UnitRow.id)).all()


def training_state(session: Session, queue: QueueRow, person_id: str) -> TrainingState | None:
    """How far somebody is in the training round of a queue; None if it has none."""
    units = _tasks_for(session, queue, person_id)
    if not units:
        return None
    rule = _rule(queue)
    done = [row for row in _copies(session, units, person_id) if row.state == "submitted"]
    found = [answer for row in done for answer in feedback(session, row)]
    real = (
        select(AssignmentRow.id)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(UnitRow.queue_id == queue.id, AssignmentRow.person_id == person_id, AssignmentRow.role == "annotator")
    )
    return TrainingState(
        tasks=len(units),
        submitted=len(done),
        right=sum(answer.is_right for answer in found),
        places=len(found),
        pass_percent=rule["pass_percent"],
        is_let_in=person_id in rule["let_in"],
        is_new=session.scalars(real.limit(1)).first() is None,
    )


def training_of(session: Session, queue: QueueRow, person_id: str) -> AssignmentRow | UnitRow | None:
    """The training task that somebody does next: their copy if they have begun it, else the task itself."""
    units = _tasks_for(session, queue, person_id)
    copies = {row.unit_id: row for row in _copies(session, units, person_id)}
    for unit in units:
        copy = copies.get(unit.id)
        if copy is None:
            return unit
        if copy.state != "submitted":
            return copy
    return None


def _tasks_for(session: Session, queue: QueueRow, person_id: str) -> list[UnitRow]:
    """The training tasks that somebody can do: none about a video of which they must know nothing now."""
    units = training_tasks(session, queue.id)
    hidden = set(session.scalars(hidden_videos(person_id))) if units else set()
    return [unit for unit in units if unit.video_id not in hidden]


@lru_cache(maxsize=1024)
def was_not_trained_on(person_id: str, queue_id: str) -> ColumnElement[bool]:
    """As SQL about a unit of a queue: this person has not trained on a copy of it, whose answers they know."""
    copy, held = aliased(UnitRow), aliased(AssignmentRow)
    known = (
        select(copy.target_table.concat(" ").concat(copy.target_id))
        .join(held, held.unit_id == copy.id)
        .where(
            held.person_id == person_id,
            held.role == TRAINEE,
            copy.queue_id == queue_id,
            # All training tasks are gold, which an index finds among the queue's units.
            copy.gold.is_not(None),
            copy.target_id.is_not(None),
            copy.target_table.is_not(None),
        )
    )
    target = UnitRow.target_table.concat(" ").concat(UnitRow.target_id)
    return or_(UnitRow.target_id.is_(None), UnitRow.target_table.is_(None), target.not_in(known))


def _copies(session: Session, units: Sequence[UnitRow], person_id: str) -> Sequence[AssignmentRow]:
    query = select(AssignmentRow).where(
        AssignmentRow.unit_id.in_([unit.id for unit in units]),
        AssignmentRow.person_id == person_id,
        AssignmentRow.role == TRAINEE,
    )
    return session.scalars(query).all()


def pass_percent(queue: QueueRow) -> int:
    """The share of right places in percent that the training of a queue asks for."""
    return int(_rule(queue)["pass_percent"])


def _rule(queue: QueueRow) -> dict[str, Any]:
    return {"pass_percent": PASS_PERCENT, "let_in": [], **(queue.settings or {}).get(RULE, {})}


@dataclass(frozen=True)
class Feedback:
    """One place of a training task: what somebody answered, what is right, and why."""

    place: str
    is_right: bool
    yours: Sequence[tuple[str, str]]
    """As labelled lines; empty if they left the place out, such as a link that they did not draw."""
    known: Sequence[tuple[str, str]]
    why: str


def feedback(session: Session, assignment: AssignmentRow) -> list[Feedback]:
    """The feedback on a submitted training task, place by place."""
    unit = session.get_one(UnitRow, assignment.unit_id)
    task = TASKS[session.get_one(QueueRow, unit.queue_id).task]
    entries = session.scalars(select(EntryRow).where(EntryRow.assignment_id == assignment.id))
    given = {row.place: with_remarks(row.value) for row in entries if row.value is not None}
    assert unit.gold is not None
    answers: Mapping[str, Any] = unit.gold["answers"]
    fixed = list(task.places(unit.content))
    places = [*fixed, *sorted((answers.keys() | given.keys()) - set(fixed))]

    def lines(place: str, value: Json) -> Sequence[tuple[str, str]]:
        return task.summary(unit.content, place, value) if value is not None else ()

    found = []
    for place in places:
        known = answers.get(place, {}).get("value")
        yours = given.get(place)
        is_right = is_as_known(task, unit.content, place, yours, known)
        why = answers.get(place, {}).get("why", "")
        found.append(Feedback(place, is_right, lines(place, yours), lines(place, known), why))
    return found


def is_as_known(task: ReviewTask, content: Mapping[str, Json], place: str, given: Json, known: Json) -> bool:
    """True if an answer is right. Wordings of questions and answers may differ from the known ones.

    Args:
        task: The kind of work.
        content: The content of the task.
        place: The place.
        given: What somebody answered; None if nothing.
        known: What is right; None if there should be nothing, such as no link.
    """
    essences: list[Any] = [
        task.essence(content, place, value) if value is not None else None for value in (given, known)
    ]
    if given is not None and known is not None:
        if task.kind == "turns":
            if given["decision"] in _GONE or known["decision"] in _GONE:
                return bool(given["decision"] == known["decision"])
            changed = [_changed(task, content, place, value) for value in (given, known)]
            return bool(changed[0] & changed[1]) if changed[1] else not changed[0]
        if task.kind == "links" and all(isinstance(found, dict) and found for found in essences):
            return all(essences[0][name] == essences[1][name] for name in ("relations", "skills"))
    return bool(essences[0] == essences[1])


def _changed(task: ReviewTask, content: Mapping[str, Json], place: str, value: Json) -> set[str]:
    """The fields that a value changes in the draft."""
    essence, draft = (task.essence(content, place, found) for found in (value, task.draft_value(content, place)))
    return {name for name in essence if essence[name] != draft[name]}


def add_training(change: Transaction, queue_id: str, unit_ids: Sequence[str]) -> int:
    """Put copies of settled units into a queue's training round; what was settled becomes the known answer.

    Args:
        change: The transaction.
        queue_id: Which queue.
        unit_ids: Ids of settled units of this queue. Units that are in the round already are left out.

    Returns:
        How many were added.

    Raises:
        NotFound: There is no such queue.
        InvalidValue: One of the units is not settled, the round would be too long, or its answers cannot be known.
    """
    session = change.session
    queue = session.get(QueueRow, queue_id)
    if queue is None:
        raise NotFound("there is no such queue")
    task = TASKS.get(queue.task)
    if task is None or not task.adjudicated:
        raise InvalidValue("in this kind of work each person's answer counts by itself, so none is known", field="unit")
    there = training_tasks(session, queue_id)
    used = {unit.id for unit in there}
    wanted = [unit_id for unit_id in dict.fromkeys(unit_ids) if _training_id(queue_id, unit_id) not in used]
    rows = {row.id: row for row in settled_units(session, queue_id)}
    if unknown := [unit_id for unit_id in wanted if unit_id not in rows]:
        raise InvalidValue(f"{len(unknown)} of these tasks are not settled; choose from the list", field="unit")
    if len(there) + len(wanted) > MOST_TASKS:
        raise InvalidValue(f"a training round has at most {MOST_TASKS} tasks", field="unit")
    last = max((unit.position for unit in there), default=-1)
    for number, unit_id in enumerate(wanted, 1):
        source = rows[unit_id]
        results = session.scalars(select(ResultRow).where(ResultRow.unit_id == unit_id))
        answers = {
            row.place: {"value": row.value, "why": str((row.value or {}).get("note", ""))[:LONGEST_EXPLANATION]}
            for row in results
        }
        gold = {"training": True, "source": unit_id, "answers": answers, "faults": {}}
        session.add(
            UnitRow(
                id=_training_id(queue_id, unit_id),
                queue_id=queue_id,
                position=last + number,
                title=source.title,
                video_id=source.video_id,
                turns=source.turns,
                flags=source.flags,
                content=source.content,
                target_table=source.target_table,
                target_id=source.target_id,
                state="open",
                submitted=0,
                gold=gold,
            )
        )
        session.flush()
        change.record("training", _training_id(queue_id, unit_id), after={"source": unit_id, "answers": answers})
    return len(wanted)


def _training_id(queue_id: str, source: str) -> str:
    return derive_id("unit", "training", queue_id, source)


def settled_units(session: Session, queue_id: str) -> Sequence[UnitRow]:
    """The settled units of a queue, without gold, in the order of the queue."""
    query = select(UnitRow).where(UnitRow.queue_id == queue_id, UnitRow.state == "done", UnitRow.gold.is_(None))
    return session.scalars(query.order_by(UnitRow.position, UnitRow.id)).all()


def explain_training(change: Transaction, unit_id: str, text: str) -> None:
    """Say why the known answers of a training task are right.

    Args:
        change: The transaction.
        unit_id: The training task.
        text: One line for each place, as `1: The cup is on the shelf`, counted from 1 in the order of `known_places`.
            Places without a line have no explanation.

    Raises:
        NotFound: There is no such training task.
        InvalidValue: A line is no explanation of a place.
    """
    unit = _training_unit(change.session, unit_id)
    answers, places = unit.gold["answers"], known_places(change.session, unit)
    whys: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        match = re.fullmatch(r"(\d{1,4})\s*:\s*(.+)", line, re.ASCII)
        if match is None or not 1 <= int(match[1]) <= len(places) or len(match[2]) > LONGEST_EXPLANATION:
            raise InvalidValue(
                f"write each explanation as '1: The cup is on the shelf', with a number from 1 to {len(places)} and at "
                f"most {LONGEST_EXPLANATION:,} characters; this is none: {line[:60]!r}",
                field="text",
            )
        whys[places[int(match[1]) - 1]] = match[2]
    after = {place: {**answer, "why": whys.get(place, "")} for place, answer in answers.items()}
    if after != answers:
        unit.gold = {**unit.gold, "answers": after}
        change.record("training", unit.id, before={"answers": answers}, after={"answers": after})


def known_places(session: Session, unit: UnitRow) -> list[str]:
    """The places of a training task whose answers are known: those of the task first, then added ones."""
    task = TASKS[session.get_one(QueueRow, unit.queue_id).task]
    fixed = [place for place in task.places(unit.content) if place in unit.gold["answers"]]
    return [*fixed, *sorted(unit.gold["answers"].keys() - set(fixed))]


def remove_training(change: Transaction, unit_id: str) -> None:
    """Take a task out of a training round.

    Raises:
        NotFound: There is no such training task.
        Conflict: Somebody has begun it.
    """
    unit = _training_unit(change.session, unit_id)
    begun = select(AssignmentRow.id).where(AssignmentRow.unit_id == unit.id).limit(1)
    if change.session.scalars(begun).first() is not None:
        raise Conflict("somebody has begun this training task, so it stays")
    change.record("training", unit.id, before={"source": unit.gold["source"]})
    change.session.delete(unit)


def _training_unit(session: Session, unit_id: str) -> UnitRow:
    unit = session.get(UnitRow, unit_id)
    if unit is None or unit.gold is None or not unit.gold.get("training"):
        raise NotFound("there is no such training task")
    return unit


def change_rule(
    change: Transaction, queue_id: str, *, pass_percent: int | None = None, let_in: str | None = None
) -> None:
    """Change the pass mark of a queue's training round, or let somebody in who is below it.

    Args:
        change: The transaction.
        queue_id: Which queue.
        pass_percent: The new pass mark, 0 to 100.
        let_in: Id of the person to let in.

    Raises:
        NotFound: There is no such queue or person.
        InvalidValue: The pass mark is out of range.
    """
    queue = change.session.get(QueueRow, queue_id)
    if queue is None:
        raise NotFound("there is no such queue")
    before = _rule(queue)
    after = dict(before)
    if pass_percent is not None:
        if not 0 <= pass_percent <= 100:
            raise InvalidValue("the pass mark is 0 to 100 %", field="pass_percent")
        after["pass_percent"] = pass_percent
    if let_in is not None:
        if change.session.get(PersonRow, let_in) is None:
            raise NotFound("there is no such person")
        after["let_in"] = sorted({*before["let_in"], let_in})
    if after != before:
        queue.settings = {**(queue.settings or {}), RULE: after}
        change.record("training_rule", queue.id, before=before, after=after)


def trainees(session: Session, queue: QueueRow) -> list[tuple[PersonRow, TrainingState]]:
    """Everybody who has begun the training round of a queue, by name, with how far they are."""
    units = [unit.id for unit in training_tasks(session, queue.id)]
    ids = select(AssignmentRow.person_id).where(AssignmentRow.unit_id.in_(units), AssignmentRow.role == TRAINEE)
    people = session.scalars(select(PersonRow).where(PersonRow.id.in_(ids)).order_by(func.lower(PersonRow.name)))
    found = [(person, training_state(session, queue, person.id)) for person in people]
    return [(person, state) for person, state in found if state is not None]
