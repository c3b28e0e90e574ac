"""Gold in the database: planting it among other units, giving it to those who cannot know it, measuring with it."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from sqlalchemy import ColumnElement, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from reeltalk.review.events import Change
from reeltalk.review.gold import Fault, Measured, Outcome, Source, measure, outcome, plant
from reeltalk.review.refusals import BadValueError, NotThereError
from reeltalk.review.tables import AssignmentRow, EntryRow, QueueRow, ResultRow, UnitRow
from reeltalk.review.tasks.registry import TASKS
from reeltalk.review.tasks.turns import EDITABLE
from reeltalk.schema.ids import derive_id
from reeltalk.schema.record import Json

Trusted = Literal["settled", "drafts"]
"""What gold is made of: units that people have settled and kept whole, or the drafts as they are."""
MOST: Final = 200
TASK: Final = "turns"
"""The kind of work that faults are planted for."""


@dataclass(frozen=True)
class GoldResult:
    """One annotator against the gold that they handed in."""

    units: int
    measured: Measured
    by_fault: Mapping[Fault, Measured]


def plant_gold(change: Change, queue_id: str, *, count: int, seed: int, trusted: Trusted) -> int:
    """Put gold among the units of a queue.

    Args:
        change: The transaction.
        queue_id: A queue of turns.
        count: Units of gold, 1 to `MOST`; those that were planted with the same seed before are not planted again.
        seed: Which turns get which fault follows from it.
        trusted: What it is made of.

    Returns:
        How many units of gold were added.

    Raises:
        NotThereError: There is no such queue.
        BadValueError: The count cannot be used, the queue has other work than turns, or no unit can be made faulty.
    """
    queue = change.session.get(QueueRow, queue_id)
    if queue is None:
        raise NotThereError("there is no such queue")
    if queue.task != TASK:
        raise BadValueError(f"faults can be planted in turns; this queue is for {queue.title!r}", field="queue")
    if not 1 <= count <= MOST:
        raise BadValueError(f"plant 1 to {MOST} units of gold", field="count")
    rows = {row.id: row for row in _rows(change.session, queue_id, trusted)}
    planted = plant(_sources(change.session, rows, trusted), count=count, seed=seed)
    if not planted:
        raise BadValueError(
            "no unit here can be made faulty: gold needs units of two turns or more"
            + (" that people have settled and kept whole" if trusted == "settled" else ""),
            field="trusted",
        )
    # Gold comes in among the units that are still to be done, evenly, and before the unit that it is a copy of: who
    # has done that one would know the copy, and does not get it.
    planted.sort(key=lambda gold: rows[gold.source].position)
    waiting = change.session.scalars(
        select(UnitRow.position).where(UnitRow.queue_id == queue_id, UnitRow.state == "open").order_by(UnitRow.position)
    ).all()
    added = 0
    for number, gold in enumerate(planted):
        source = rows[gold.source]
        unit_id = derive_id("unit", "gold", queue_id, gold.source, str(seed))
        if change.session.get(UnitRow, unit_id) is not None:
            continue
        position = waiting[int((number + 0.5) * len(waiting) / len(planted))] if waiting else source.position
        if trusted == "drafts":
            position = min(position, source.position)
        faults: dict[str, Json] = {place: fault.value for place, fault in gold.faults.items()}
        change.session.add(
            UnitRow(
                id=unit_id,
                queue_id=queue_id,
                position=position,
                title=source.title,
                video_id=source.video_id,
                turns=source.turns,
                content=gold.content,
                target_table=source.target_table,
                target_id=source.target_id,
                state="open",
                submitted=0,
                gold={"source": gold.source, "faults": faults, "seed": seed},
            )
        )
        change.record("gold", unit_id, after={"source": gold.source, "faults": faults, "trusted": trusted})
        added += 1
    return added


def _rows(session: Session, queue_id: str, trusted: Trusted) -> list[UnitRow]:
    query = select(UnitRow).where(UnitRow.queue_id == queue_id, UnitRow.gold.is_(None)).order_by(UnitRow.position)
    if trusted == "settled":
        query = query.where(UnitRow.state == "done")
    return list(session.scalars(query))


def _sources(session: Session, rows: Mapping[str, UnitRow], trusted: Trusted) -> list[Source]:
    settled: dict[str, dict[str, Json]] = defaultdict(dict)
    if trusted == "settled":
        query = select(ResultRow.unit_id, ResultRow.place, ResultRow.value).join(
            UnitRow, UnitRow.id == ResultRow.unit_id
        )
        for unit_id, place, value in session.execute(query.where(UnitRow.gold.is_(None))):
            settled[unit_id][place] = value
    found = []
    for row in rows.values():
        content: dict[str, Json] = dict(row.content)
        if trusted == "settled":
            values = settled[row.id]
            kept = all((values.get(place) or {}).get("decision") in ("accept", "edit") for place in _places(content))
            if not kept:
                continue
            content["turns"] = [
                turn | {name: values[str(index)][name] for name in EDITABLE}
                for index, turn in enumerate(content["turns"])
            ]
        found.append(Source(row.id, row.video_id or content["video_id"], content))
    return found


def _places(content: Mapping[str, Json]) -> list[str]:
    return list(TASKS[TASK].places(content))


def may_get(person_id: str) -> ColumnElement[bool]:
    """As SQL about a unit: it is no gold, or gold of a unit that this person has never held, and so cannot know."""
    source = aliased(UnitRow)
    held = exists().where(
        AssignmentRow.unit_id == source.id,
        AssignmentRow.person_id == person_id,
        source.queue_id == UnitRow.queue_id,
        source.target_table == UnitRow.target_table,
        source.target_id == UnitRow.target_id,
    )
    return or_(UnitRow.gold.is_(None), ~held)


def gold_outcomes(
    session: Session, person_id: str | None = None
) -> dict[str, dict[str, list[tuple[Fault | None, Outcome]]]]:
    """What became of each place of gold that was handed in: by person and unit.

    Args:
        session: The database.
        person_id: The one person to look at; everybody by default.
    """
    query = (
        select(AssignmentRow.person_id, AssignmentRow.id, UnitRow.id, UnitRow.content, UnitRow.gold, QueueRow.task)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .where(UnitRow.gold.is_not(None), AssignmentRow.state == "submitted")
        .order_by(AssignmentRow.person_id, UnitRow.id)
    )
    if person_id is not None:
        query = query.where(AssignmentRow.person_id == person_id)
    handed_in = session.execute(query).all()
    entries: dict[str, dict[str, Json]] = defaultdict(dict)
    for assignment_id, place, value in session.execute(
        select(EntryRow.assignment_id, EntryRow.place, EntryRow.value)
        .join(AssignmentRow, AssignmentRow.id == EntryRow.assignment_id)
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .where(UnitRow.gold.is_not(None), AssignmentRow.state == "submitted")
    ):
        entries[assignment_id][place] = value
    found: dict[str, dict[str, list[tuple[Fault | None, Outcome]]]] = defaultdict(dict)
    for person, assignment_id, unit_id, content, gold, kind in handed_in:
        task = TASKS[kind]
        places = []
        for place in task.places(content):
            value = entries[assignment_id].get(place)
            if value is not None:
                fault = Fault(gold["faults"][place]) if place in gold["faults"] else None
                places.append((fault, outcome(fault, task.draft_value(content, place), value)))
        found[person][unit_id] = places
    return found


def gold_results(session: Session) -> dict[str, GoldResult]:
    """Everybody who handed in gold, by person."""
    found = {}
    for person, units in gold_outcomes(session).items():
        places = [place for unit in units.values() for place in unit]
        by_fault = {
            fault: measure([result for planted, result in places if planted is fault])
            for fault in Fault
            if any(planted is fault for planted, _ in places)
        }
        found[person] = GoldResult(len(units), measure([result for _, result in places]), by_fault)
    return found


def gold_units(session: Session, queue_id: str | None = None) -> int:
    """How many units of gold there are."""
    query = select(func.count()).select_from(UnitRow).where(UnitRow.gold.is_not(None))
    return session.scalar(query if queue_id is None else query.where(UnitRow.queue_id == queue_id)) or 0
