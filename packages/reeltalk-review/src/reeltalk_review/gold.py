"""Known answers: copies of settled tasks, to measure how well annotators work. Tables call them gold.

*Planted faults* are copies in which some turns were made wrong, from the benchmark itself; annotators cannot tell them
from other tasks. A *training set* is copies of tasks as they were drafted; people who begin in a queue get them first,
and sees after each what was settled. Neither becomes a result. Nobody ever gets both a copy and another unit that shows
the same turns, in any queue and in any order.
"""

import copy
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from sqlalchemy import ColumnElement, and_, case, exists, func, literal, or_, select
from sqlalchemy.orm import Session, aliased

from reeltalk.schema.record import Json, derive_id
from reeltalk_review.errors import InvalidValue, NotFound
from reeltalk_review.events import Transaction
from reeltalk_review.tables import AssignmentRow, EntryRow, PersonRow, QueueRow, ResultRow, UnitRow
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import ReviewTask
from reeltalk_review.tasks.turns import EDITABLE, KEEPING_DECISIONS

Kind = Literal["faults", "training"]
Turn = dict[str, Json]
MOST_COPIES: Final = 200
"""Largest number of tasks that are copied at once."""
FAULTY_TASK: Final = "turns"
"""The kind of work in which faults are planted."""
LARGEST_SHARE: Final = 1 / 3
"""Largest share of a unit's turns that get a fault, but at least one turn: the copy must look like any other unit."""
MOST_LENDERS: Final = 100
"""Largest number of units from which one copy borrows turns of the same video, and as many of others."""
COPIED_COLUMNS: Final = (
    "queue_id", "title", "video_id", "turns", "flags", "doubt", "words", "target_table", "target_id",
)  # fmt: skip
"""Columns of a unit that its copy shares."""
FIRST_DOUBT: Final = 1e6
"""Doubt of a training set, which comes first also where the most doubtful unit does."""
NO_TASKS: Final[Mapping[Kind, str]] = {
    "faults": "no fault can be planted: that takes settled tasks of two turns or more, kept whole, that an annotator "
    "has not seen",
    "training": "no task of this queue is settled yet, beside those in the training set",
}


class Lenders(NamedTuple):
    """Turns from which a fault may borrow."""

    unit: Sequence[Turn]
    """Of the same unit."""
    video: Sequence[Turn]
    """Of the same video."""
    others: Sequence[Turn]
    """Of other videos."""


Fault = Callable[[Turn, Lenders, random.Random], Turn | None]
"""Makes a turn wrong; None where the fault does not fit."""


def wrong_answer(turn: Turn, lenders: Lenders, rng: random.Random) -> Turn | None:
    """The answer of another turn of the same video, or another option."""
    options = turn.get("options") or ()
    if turn.get("correct_option") is not None and len(options) > 1:
        chosen = rng.choice([index for index in range(len(options)) if index != turn["correct_option"]])
        return turn | {"correct_option": chosen, "references": [options[chosen]]}
    other = _unlike(turn, lenders.video, rng) if turn.get("references") else None
    return turn | {"references": other["references"][:1]} if other is not None else None


def leaked_answer(turn: Turn, lenders: Lenders, rng: random.Random) -> Turn | None:
    """The question contains its answer."""
    if not turn.get("references"):
        return None
    return turn | {"question": f"{turn['references'][0].strip().rstrip('.。')}: {turn['question']}"}


def wrong_time(turn: Turn, lenders: Lenders, rng: random.Random) -> Turn | None:
    """The evidence of another turn of the unit, before the question: no rule for turns finds it."""
    own, until_s = turn.get("evidence"), turn.get("asked_at_s")
    others = [
        other["evidence"]
        for other in lenders.unit
        if own and other.get("evidence") and not any(_overlap(a, b) for a in own for b in other["evidence"])
    ]
    fitting = [parts for parts in others if until_s is None or parts[-1]["end_s"] <= until_s]
    return turn | {"evidence": rng.choice(fitting)} if fitting else None


def not_in_video(turn: Turn, lenders: Lenders, rng: random.Random) -> Turn | None:
    """Question and answer of a turn about another video."""
    other = _unlike(turn, lenders.others, rng)
    if other is None or bool(other.get("options")) != bool(turn.get("options")):
        return None
    return turn | {
        name: other[name] for name in ("question", "references", "options", "correct_option") if name in other
    }


FAULTS: Final[Mapping[str, Fault]] = {
    fault.__name__: fault for fault in (wrong_answer, leaked_answer, wrong_time, not_in_video)
}


def _unlike(turn: Turn, others: Sequence[Turn], rng: random.Random) -> Turn | None:
    """A turn with another question and another answer; None if there is none."""
    answers = {_plain(text) for text in turn.get("references", ())}
    found = [
        other
        for other in others
        if other.get("references")
        and _plain(other["question"]) != _plain(turn["question"])
        and _plain(other["references"][0]) not in answers
    ]
    return rng.choice(found) if found else None


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.casefold()).strip()


def _overlap(first: Mapping[str, float], second: Mapping[str, float]) -> bool:
    return first["start_s"] < second["end_s"] and second["start_s"] < first["end_s"]


def make_faulty(
    content: Json, others: Sequence[Json], planted: Counter[str], rng: random.Random
) -> tuple[Json, dict[str, str]] | None:
    """A copy of a unit with some turns made wrong, and the fault of each by place; None if no fault fits.

    Args:
        content: Content of a unit of turns that are right. One of them stays so.
        others: Contents of such units, which lend turns.
        planted: How often each fault was planted so far; the rarest comes first. The faults made here are added.
        rng: Chooses places and faults.
    """
    turns = copy.deepcopy(content["turns"])
    if len(turns) < 2:
        return None
    video = content["video_id"]
    near, far = ([other for other in others if (other["video_id"] == video) is same] for same in (True, False))
    borrowed = (
        [turn for other in rng.sample(units, min(len(units), MOST_LENDERS)) for turn in other["turns"]]
        for units in (near, far)
    )
    lenders = Lenders(content["turns"], *borrowed)
    faults: dict[str, str] = {}
    for place in rng.sample(range(len(turns)), max(1, int(len(turns) * LARGEST_SHARE))):
        for name in sorted(FAULTS, key=lambda name: (planted[name], rng.random())):
            made = FAULTS[name](turns[place], lenders, rng)
            if made is not None:
                turns[place], faults[str(place)] = made, name
                planted[name] += 1
                break
    return ({**content, "turns": turns}, faults) if faults else None


def add_known_answers(change: Transaction, queue_id: str, kind: Kind, count: int) -> int:
    """Add copies of settled units to a queue. No unit is copied twice for the same purpose.

    Args:
        kind: `faults`: among the open units, for everybody who works here. `training`: before all units, for whoever
            begins.
        count: Number of units, 1 to `MOST_COPIES`.

    Returns:
        How many were added: fewer if fewer units can be copied.

    Raises:
        NotFound: There is no such queue.
        InvalidValue: The count cannot be used, the queue has other work, or no unit can be copied.
    """
    session = change.session
    queue = session.get(QueueRow, queue_id)
    if queue is None:
        raise NotFound("there is no such queue")
    task = TASKS.get(queue.task)
    if task is None or not task.adjudicated or (kind == "faults" and task.kind != FAULTY_TASK):
        raise InvalidValue("tasks of this queue are not settled, or no faults can be planted in them", field="queue")
    if not 1 <= count <= MOST_COPIES:
        raise InvalidValue(f"ask for 1 to {MOST_COPIES} tasks", field="count")
    made = _training(session, queue_id, count) if kind == "training" else _faulty(session, queue_id, count)
    if not made:
        raise InvalidValue(NO_TASKS[kind], field="kind")
    for (source, content, answers, faults), position in zip(
        made, _positions(session, queue_id, kind, len(made)), strict=True
    ):
        unit_id = _copy_id(kind, source)
        shared = {name: getattr(source, name) for name in COPIED_COLUMNS}
        if kind == "training":
            shared["doubt"] = FIRST_DOUBT
        gold = {"source": source.id, "answers": answers, "faults": faults}
        session.add(UnitRow(id=unit_id, position=position, content=content, gold=gold, **shared))
        change.record("gold", unit_id, after={"kind": kind, "source": source.id, "faults": faults})
    return len(made)


Copied = tuple[UnitRow, Json, dict[str, Json], dict[str, str]]
"""The copied unit, the copy's content, the right values by place, and the planted faults by place."""


def _copy_id(kind: Kind, source: UnitRow) -> str:
    return derive_id("unit", kind, source.queue_id, source.id)


def _settled(session: Session, queue_id: str) -> list[tuple[UnitRow, dict[str, Json]]]:
    """The settled units of a queue, in its order, with what was settled by place."""
    is_settled = and_(UnitRow.queue_id == queue_id, UnitRow.gold.is_(None), UnitRow.state == "done")
    values: dict[str, dict[str, Json]] = defaultdict(dict)
    results = select(ResultRow.unit_id, ResultRow.place, ResultRow.value)
    for unit_id, place, value in session.execute(
        results.join(UnitRow, UnitRow.id == ResultRow.unit_id).where(is_settled)
    ):
        values[unit_id][place] = value
    units = session.scalars(select(UnitRow).where(is_settled).order_by(UnitRow.position, UnitRow.id))
    return [(unit, values[unit.id]) for unit in units]


def _copies(session: Session, queue_id: str) -> set[str]:
    return set(session.scalars(select(UnitRow.id).where(UnitRow.queue_id == queue_id, UnitRow.gold.is_not(None))))


def _training(session: Session, queue_id: str, count: int) -> list[Copied]:
    known = _copies(session, queue_id)
    settled = [found for found in _settled(session, queue_id) if _copy_id("training", found[0]) not in known]
    return [(unit, unit.content, values, {}) for unit, values in settled[:count]]


def _faulty(session: Session, queue_id: str, count: int) -> list[Copied]:
    task = TASKS[FAULTY_TASK]
    # Only turns that people kept are sure to be right.
    whole = [
        (unit, _as_settled(unit.content, values))
        for unit, values in _settled(session, queue_id)
        if all((values.get(place) or {}).get("decision") in KEEPING_DECISIONS for place in task.places(unit.content))
    ]
    known = _copies(session, queue_id)
    annotates = and_(PersonRow.role == "annotator", PersonRow.disabled_at.is_(None))
    reaches = exists().where(annotates, ~_has_held(PersonRow.id, lambda other: _shows(other, UnitRow)))
    reachable = set(session.scalars(select(UnitRow.id).where(UnitRow.queue_id == queue_id, reaches)))
    rng, planted = random.Random(f"{queue_id} {len(known)}"), Counter[str]()
    made: list[Copied] = []
    usable = [(unit, right) for unit, right in whole if unit.id in reachable and _copy_id("faults", unit) not in known]
    rng.shuffle(usable)
    for unit, right in usable:
        found = make_faulty(right, [content for _, content in whole], planted, rng) if len(made) < count else None
        if found is not None:
            content, faults = found
            made.append((unit, content, {place: task.draft_value(right, place) for place in faults}, faults))
    return sorted(made, key=lambda copied: (copied[0].position, copied[0].id))


def _as_settled(content: Json, values: Mapping[str, Json]) -> Json:
    turns = [turn | {name: values[str(n)][name] for name in EDITABLE} for n, turn in enumerate(content["turns"])]
    return {**content, "turns": turns}


def _positions(session: Session, queue_id: str, kind: Kind, count: int) -> Sequence[int]:
    positions = select(UnitRow.position).where(UnitRow.queue_id == queue_id).order_by(UnitRow.position)
    if kind == "training":
        first = min(0, *session.scalars(positions.limit(1)).all())
        return range(first - count, first)
    is_real = (UnitRow.state == "open", UnitRow.gold.is_(None))
    waiting = session.scalars(positions.where(*is_real)).all() or [0]
    return [waiting[int((number + 0.5) * len(waiting) / count)] for number in range(count)]


def is_training(unit: UnitRow) -> bool:
    """True if a unit belongs to a training set. Its position is below 0, so that it comes first."""
    return unit.position < 0


def gold_rules(session: Session, queue_id: str, person_id: str) -> list[ColumnElement[bool]]:
    """As SQL about a unit of a queue: which known answers a person may get, and what else then. Empty without any."""
    copies = select(UnitRow.id).where(UnitRow.gold.is_not(None))
    own = select(UnitRow.id).join(AssignmentRow, AssignmentRow.unit_id == UnitRow.id)
    own = own.where(AssignmentRow.person_id == person_id, AssignmentRow.role == "annotator").limit(1)
    has_held = session.scalars(own.where(UnitRow.gold.is_not(None))).first() is not None
    if not has_held and session.scalars(copies.where(UnitRow.queue_id == queue_id).limit(1)).first() is None:
        return []
    has_begun = session.scalars(own.where(UnitRow.queue_id == queue_id, UnitRow.gold.is_(None))).first() is not None
    is_new = ~_has_held(person_id, lambda other: and_(other.id != UnitRow.id, _shows(other, UnitRow)))
    rules = [or_(UnitRow.gold.is_(None), and_(UnitRow.position >= 0, is_new) if has_begun else is_new)]
    if has_held:
        rules.append(
            ~_has_held(
                person_id, lambda gold: and_(gold.gold.is_not(None), gold.id != UnitRow.id, _shows(UnitRow, gold))
            )
        )
    return rules


def _has_held(person_id: Any, condition: Callable[[Any], ColumnElement[bool]]) -> ColumnElement[bool]:
    """As SQL: a person has held a unit that fulfils a condition, in any role and state."""
    held, other = aliased(AssignmentRow), aliased(UnitRow)
    found = exists().where(held.person_id == person_id, held.unit_id == other.id, condition(other))
    # By itself, SQLAlchemy takes a table only from the statement right around this one.
    return found.correlate_except(held, other)


def _shows(unit: Any, copied: Any) -> ColumnElement[bool]:
    """As SQL: a unit is about the same record as a copy, or shows its turns."""
    name = copied.target_id
    length, part = func.length(unit.target_id), func.length(name) + 1
    begins = func.substr(unit.target_id, 1, part) == name.concat("/")
    ends = func.substr(unit.target_id, length - part + 1, part) == literal("/").concat(name)
    asked = case((copied.target_table == "chains", "chain "), else_="dialogue ").concat(name)
    asks = func.substr(unit.target_id, length - func.length(asked) + 1, func.length(asked)) == asked
    along = and_(unit.target_id.like("%path %"), unit.video_id == copied.video_id)
    return or_(
        and_(unit.target_table == copied.target_table, unit.target_id == name),
        and_(unit.target_table == "linkages", copied.target_table == "chains", length > part, or_(begins, ends)),
        and_(unit.target_table.in_(("test", "answers")), or_(asks, along)),
    )


def count_known_answers(session: Session) -> dict[tuple[str, str], Counter[str]]:
    """What everybody made of known answers that they submitted, by person and queue.

    Counts `faults` and those `caught`, `whole` places and `false_alarms` at them, places of `training` and those
    `right`. A place that was skipped does not count.
    """
    query = (
        select(AssignmentRow, UnitRow, QueueRow.task, EntryRow)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .join(EntryRow, EntryRow.assignment_id == AssignmentRow.id)
        .where(UnitRow.gold.is_not(None), AssignmentRow.state == "submitted")
        .order_by(AssignmentRow.id, EntryRow.place)
    )
    works: dict[str, tuple[AssignmentRow, UnitRow, str, dict[str, Json]]] = {}
    for assignment, unit, kind, entry in session.execute(query):
        works.setdefault(assignment.id, (assignment, unit, kind, {}))[3][entry.place] = entry.value
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for assignment, unit, kind, values in works.values():
        counts, task = found[assignment.person_id, unit.queue_id], TASKS[kind]
        if is_training(unit):
            compared = compare_with_settled(unit, task, values)
            counts.update(training=len(compared), right=sum(place.is_right for place in compared))
            continue
        for place, value in values.items():
            if value is not None and value["decision"] in ("accept", "edit", "reject"):
                name, reached = ("faults", "caught") if place in unit.gold["faults"] else ("whole", "false_alarms")
                counts.update({name: 1, reached: _is_touched(task, unit, place, value)})
    return found


def _is_touched(task: ReviewTask, unit: UnitRow, place: str, value: Json) -> bool:
    """True if a turn was rejected, or edited; where a fault is planted, in a field that it changed."""
    if value["decision"] != "edit" or place not in unit.gold["faults"]:
        return bool(value["decision"] != "accept")
    shown, right = task.draft_value(unit.content, place), unit.gold["answers"][place]
    return any(value[name] != shown[name] != right[name] for name in EDITABLE)


class ComparedPlace(NamedTuple):
    """A place of a unit of a training set: somebody's value and the settled one, as labelled lines."""

    place: str
    own: Sequence[tuple[str, str]]
    settled: Sequence[tuple[str, str]]
    is_right: bool


def compare_with_settled(unit: UnitRow, task: ReviewTask, own: Mapping[str, Json]) -> list[ComparedPlace]:
    """Somebody's values in a unit of a training set beside what was settled, place by place."""
    found, settled = [], unit.gold["answers"]
    for place in dict.fromkeys((*task.places(unit.content), *own, *settled)):
        values = (own.get(place), settled.get(place))
        mine, theirs = (task.summary(unit.content, place, value) if value is not None else () for value in values)
        first, second = (essence_of(task, unit.content, place, value) for value in values)
        # A place where nothing can differ, as a board without its links, says nothing.
        if first != {} or second != {}:
            found.append(ComparedPlace(place, mine, theirs, first == second))
    return found


def essence_of(task: ReviewTask, content: Mapping[str, Json], place: str, value: Json) -> Json:
    """The part of a value that two people must share to agree; None where there is no value."""
    return task.essence(content, place, value) if value is not None else None
