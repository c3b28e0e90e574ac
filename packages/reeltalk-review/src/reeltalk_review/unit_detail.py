"""One unit for those who lead a team: its turns, its people, its history, and once all work is in its values.

The rules of `units` about who sees what hold here, too. Adjudicators who could still settle a unit see its sides
without names, as in adjudication. Who works on a unit sees no others' work on it here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel
from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review import work
from reeltalk_review.assigning import ADJUDICATOR, ANNOTATOR
from reeltalk_review.errors import NotFound
from reeltalk_review.people import names_by_id
from reeltalk_review.settling import ADJUDICATION, DONE, dispute_view
from reeltalk_review.tables import (
    AssignmentRow,
    EventRow,
    UnitRow,
)
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import ReviewTask, spoken_place
from reeltalk_review.units import Sight, UnitSummary, summaries, visible_ids


class PlaceView(BaseModel):
    """One place of a unit, for people."""

    place: str
    title: str
    draft: list[tuple[str, str]] = []
    """What people started from, as labelled lines."""
    settled: list[tuple[str, str]] | None = None
    """The settled value; None if nothing is settled here."""
    how: str | None = None
    """By a `sole` annotator, `agreed`, `taken` or `written`."""
    disputed: bool = False
    sides: dict[str, list[tuple[str, str]]] = {}
    """Everybody's value, by name, or by letter while the unit waits for an adjudicator."""


class UnitEvent(BaseModel):
    """A change of a unit or of work on it. Values are never part of it."""

    at: str
    who: str
    what: str
    note: str = ""


class TurnView(BaseModel):
    """A turn of a unit as it was imported."""

    number: int
    """From 1."""
    question: str
    answers: list[str] = []
    options: list[str] = []
    evidence: list[str] = []
    flagged: list[str] = []
    """Checks that flagged it, with their reasons."""


class UnitPart(BaseModel):
    """The turns of a unit, or of one of its two chains."""

    title: str
    turns: list[TurnView]


class UnitDetail(BaseModel):
    """Everything of one unit that may be shown."""

    unit: UnitSummary
    problems: list[str]
    """Why it was set aside when results were applied."""
    parts: list[UnitPart]
    places: list[PlaceView]
    """Empty before all work is in."""
    history: list[UnitEvent]
    may_return: bool
    """Who asks may return somebody's work on it."""
    may_adjudicate: bool


def unit_detail(session: Session, sight: Sight, unit_id: str) -> tuple[UnitDetail, UnitRow]:
    """One unit, with everything that a person may see of it.

    Raises:
        NotFound: There is no such unit, or they may not know of it.
    """
    if not visible_ids(session, sight, [unit_id]):
        raise NotFound("there is no such task, or it is not for you to see")
    row = session.get_one(UnitRow, unit_id)
    summary = summaries(session, sight, [unit_id])[0]
    task = TASKS.get(summary.task)
    is_complete = summary.state in (ADJUDICATION, DONE)
    own = {copy.role: copy for copy in _own_copies(session, sight, unit_id)}
    submitted = [person for person in summary.people if person.role == ANNOTATOR and person.state == "submitted"]
    held = any(person.role == ADJUDICATOR and person.id != sight.person_id for person in summary.people)
    return (
        UnitDetail(
            unit=summary,
            problems=[_problem(found) for found in row.set_aside or ()],
            parts=_parts(task, row.content),
            places=_places(session, sight, row, summary, task, own) if is_complete and task is not None else [],
            history=_history(session, sight, row),
            may_return=sight.judges and any(person.id != sight.person_id for person in submitted),
            may_adjudicate=(
                sight.judges and row.state == ADJUDICATION and ANNOTATOR not in own and (ADJUDICATOR in own or not held)
            ),
        ),
        row,
    )


def _problem(found: Mapping[str, Any]) -> str:
    place = f"{_title(found['place'])}: " if found.get("place") is not None else ""
    return f"{place}{found['problem']}"


def _own_copies(session: Session, sight: Sight, unit_id: str) -> Sequence[AssignmentRow]:
    own = (AssignmentRow.unit_id == unit_id, AssignmentRow.person_id == sight.person_id)
    return session.scalars(select(AssignmentRow).where(*own)).all()


def _places(
    session: Session,
    sight: Sight,
    row: UnitRow,
    summary: UnitSummary,
    task: ReviewTask,
    own: Mapping[str, AssignmentRow],
) -> list[PlaceView]:
    """The settled values of a complete unit; also everybody's, for those who judge and have no work of theirs in it."""
    if row.id in sight.settled_gold:
        return _own_places(session, row, summary, task, own[ANNOTATOR])
    # While somebody could still decide, they see sides without names, as in adjudication.
    names = summary.state == DONE
    found = dispute_view(session, row, task, names=names)
    shown = sight.judges and ANNOTATOR not in own
    sides = {side["id"]: (side["name"] if names else None) or side["letter"] for side in found["sides"]}
    if len(set(sides.values())) < len(sides):
        sides = {side["id"]: f"{side['name']} ({side['letter']})" for side in found["sides"]}
    return [
        PlaceView(
            place=place,
            title=_title(place),
            draft=values["draft"]["lines"],
            settled=values["settled"]["lines"] if values["how"] is not None else None,
            how=values["how"],
            disputed=place in found["disputed"] or values["how"] in ("taken", "written"),
            sides={sides[key]: value["lines"] for key, value in values["sides"].items()} if shown else {},
        )
        for place, values in found["places"].items()
    ]


def _own_places(
    session: Session, row: UnitRow, summary: UnitSummary, task: ReviewTask, copy: AssignmentRow
) -> list[PlaceView]:
    """The own values, as they would have been settled."""
    found = []
    for place, entry in work.entries(session, copy.id).items():
        lines = [(name, text) for name, text in task.summary(row.content, place, entry.value)]
        start = task.summary(row.content, place, task.draft_value(row.content, place))
        waits = summary.state == ADJUDICATION
        found.append(
            PlaceView(
                place=place,
                title=_title(place),
                draft=list(start),
                settled=None if waits else lines,
                how=None if waits else "sole",
                disputed=waits,
            )
        )
    return found


def _title(place: str) -> str:
    words = spoken_place(place)
    return words[:1].upper() + words[1:]


def _parts(task: ReviewTask | None, content: Mapping[str, Json]) -> list[UnitPart]:
    """The turns as they were imported, as far as somebody who begins the unit sees them."""
    shown = task.visible_content(content, {}) if task is not None else content
    halves = [("Earlier chain", shown.get("before")), ("Later chain", shown.get("after"))]
    chains: list[tuple[str, Mapping[str, Json]]] = [(title, half) for title, half in halves if isinstance(half, dict)]
    return [
        UnitPart(title=title, turns=[_turn(number, turn, half) for number, turn in enumerate(half.get("turns", ()))])
        for title, half in chains or [("Turns", shown)]
    ]


def _turn(number: int, turn: Mapping[str, Any], content: Mapping[str, Json]) -> TurnView:
    index = turn.get("turn_index", number)
    spans = [f"{part['start_s']:.1f}–{part['end_s']:.1f} s" for part in turn.get("evidence") or ()]
    checks = content.get("checks", {}).get(str(index), ())
    answer = [turn["answer"]] if isinstance(turn.get("answer"), str) else []
    return TurnView(
        number=index + 1,
        question=turn.get("question") or "",
        answers=[*answer, *(turn.get("references") or ())],
        options=list(turn.get("options") or ()),
        evidence=spans,
        flagged=[
            f"{check['gate']}: {check['reason']}" if check.get("reason") else check["gate"]
            for check in checks
            if check["outcome"] == "flagged"
        ],
    )


_TOLD: Final = {
    "take": "began",
    "give_back": "gave it back",
    "submit": "submitted",
    "reopen": "took it back",
    "return": "returned it",
    "lapse": "made room for others",
    "regain": "went on",
    "settle": "settled it",
    "assign": "assigned it",
    "unassign": "ended an assignment",
}
"""Kinds of events in the history of a unit, in words. That all work is in is left out: it never is for gold."""


def _history(session: Session, sight: Sight, row: UnitRow) -> list[UnitEvent]:
    copies = select(AssignmentRow.id).where(AssignmentRow.unit_id == row.id)
    if row.id in sight.own_gold:
        copies = copies.where(AssignmentRow.person_id == sight.person_id)
    subjects = [row.id, *session.scalars(copies)]
    events = session.execute(
        select(EventRow.at, EventRow.author, EventRow.kind, EventRow.after)
        .where(EventRow.subject.in_(subjects), EventRow.kind.in_(_TOLD))
        .order_by(EventRow.seq)
    )
    names = names_by_id(session)
    return [
        UnitEvent(
            at=at,
            who=names.get(author, "a command"),
            what=_TOLD[kind] if kind != "take" or after["role"] == ANNOTATOR else "began to adjudicate",
            note=after["note"] if kind == "return" else "",
        )
        for at, author, kind, after in events
    ]
