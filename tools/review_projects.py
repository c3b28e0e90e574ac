"""Projects of `reeltalk review` for tests and measurements, with synthetic turns and with people."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from reeltalk.schema.record import Json
from reeltalk_review import work
from reeltalk_review.database import ReviewProject
from reeltalk_review.describing import content_columns
from reeltalk_review.events import OPERATOR, Transaction, transaction
from reeltalk_review.tables import AssignmentRow, EntryRow, PersonRow, QueueRow, UnitRow

QUEUE: Final = "turns"


def small_project(
    folder: Path,
    *,
    annotators: Sequence[str] = ("ann", "ben", "cai"),
    adjudicators: Sequence[str] = ("jo",),
    units: int = 4,
    turns: int = 3,
    overlap: int = 1,
    gold: Sequence[int] = (),
) -> ReviewProject:
    """A project with one queue of task `turns`.

    Args:
        folder: Folder of its files.
        annotators: Ids and names of people with that role.
        adjudicators: The same.
        units: Number of units, named `u0`, `u1` …
        turns: Number of turns of each unit.
        overlap: Number of people for each unit.
        gold: The numbers of units that are gold.
    """
    project = ReviewProject.open(folder / "bench", folder=folder / "bench.review")
    with transaction(project.database, OPERATOR) as change:
        for role, names in (("annotator", annotators), ("adjudicator", adjudicators)):
            for name in names:
                row = PersonRow(id=name, name=name, sign_in=name, role=role, created_at=change.at)
                change.session.add(row)
        queue = QueueRow(id=QUEUE, task="turns", title="Turns", position=0, overlap=overlap, settings={})
        change.session.add(queue)
        change.session.flush()
        for number in range(units):
            change.session.add(
                UnitRow(
                    id=f"u{number}",
                    queue_id=QUEUE,
                    position=number,
                    title=f"u{number}",
                    video_id=None,
                    turns=turns,
                    content=unit_content(f"u{number}", turns),
                    words=content_columns(None, [f"u{number}"], unit_content(f"u{number}", turns))["words"],
                    target_table="chains",
                    target_id=f"u{number}",
                    gold={"faults": {}} if number in gold else None,
                )
            )
    return project


def unit_content(name: str, turns: int) -> dict[str, Any]:
    """A chain in the form of task `turns`."""
    return {
        "unit": "chain",
        "id": name,
        "video_id": "v",
        "clips": [],
        "scenes": [],
        "turns": [
            {"question": f"What is thing {turn} of {name}?", "references": [f"Thing {turn}."]} for turn in range(turns)
        ],
        "checks": {},
        "links": [],
    }


def decide(
    change: Transaction, assignment: AssignmentRow, *, decision: str = "accept", question: str | None = None
) -> dict[str, Json]:
    """Decides all places of a person's work, and returns the stored work."""
    _, unit, task = work.own_work(change.session, assignment.person_id, assignment.id)
    stored: dict[str, Json] = {}
    for place in task.places(unit.content):
        value = task.draft_value(unit.content, place) | {"decision": decision}
        value["reasons"] = ["leaks"] if decision == "reject" else []
        value["question"] = question or value["question"]
        row = change.session.get(EntryRow, (assignment.id, place))
        entry = work.save_value(change, assignment, unit, task, place, row.revision if row is not None else 0, value)
        stored[place] = entry.value
    return stored


def submit(change: Transaction, assignment: AssignmentRow, *, approval: bool = False) -> None:
    """Submits a person's work."""
    _, unit, task = work.own_work(change.session, assignment.person_id, assignment.id)
    work.submit(change, assignment, unit, task, approval=approval)
