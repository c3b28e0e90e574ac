"""One unit for those who lead a team: its turns, its people, its history, and once all work is in its values.

The rules of `units` about who sees what hold here, too. Adjudicators who could still settle a unit see its sides
without names, as in adjudication. Who works on a unit sees no others' work on it here.
"""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review.access import Action, may
from reeltalk_review.assigning import ADJUDICATOR, ANNOTATOR
from reeltalk_review.errors import NotFound
from reeltalk_review.people import User, names_by_id
from reeltalk_review.settling import ADJUDICATION, DONE, dispute_view
from reeltalk_review.tables import AssignmentRow, EventRow, UnitRow
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import spoken_place
from reeltalk_review.units import UnitSummary, summaries, visible_ids

Lines = list[tuple[str, str]]
"""Labels with their texts."""


class PlaceView(BaseModel):
    """One place of a complete unit, for people."""

    place: str
    title: str
    settled: Lines | None = None
    """The settled value; None if nothing is settled here."""
    how: str | None = None
    """By a `sole` annotator, `agreed`, `taken` or `written`."""
    disputed: bool = False
    sides: dict[str, Lines] = {}
    """Everybody's value, by name, or by letter while the unit waits for an adjudicator."""


class UnitEvent(BaseModel):
    """A change of a unit or of work on it. Values are never part of it."""

    at: str
    who: str
    what: str
    note: str = ""


class TurnView(BaseModel):
    """A turn of a unit as it was imported."""

    part: str
    """The chain that it belongs to, of a unit with two; empty for others."""
    number: int
    """From 1."""
    question: str
    lines: Lines
    """Answers, options, evidence, and the checks that flagged it."""


class UnitDetail(BaseModel):
    """Everything of one unit that may be shown."""

    unit: UnitSummary
    problems: list[str]
    """Why it was set aside when results were applied."""
    turns: list[TurnView]
    places: list[PlaceView]
    """Empty before all work is in."""
    history: list[UnitEvent]
    may_return: bool
    """Who asks may return somebody's work on it."""
    may_adjudicate: bool


def unit_detail(session: Session, person: User, unit_id: str) -> tuple[UnitDetail, UnitRow]:
    """One unit, with everything that a person may see of it.

    Raises:
        NotFound: There is no such unit, or they may not know of it.
    """
    if not visible_ids(session, person, [unit_id]):
        raise NotFound("there is no such task, or it is not for you to see")
    row = session.get_one(UnitRow, unit_id)
    (unit,) = summaries(session, [unit_id])
    mine = (AssignmentRow.unit_id == unit_id, AssignmentRow.person_id == person.id)
    own = set(session.scalars(select(AssignmentRow.role).where(*mine)))
    others = [(here.role, here.state) for here in unit.people if here.id != person.id]
    is_free = ADJUDICATOR in own or ADJUDICATOR not in dict(others)
    judges = may(person.role, Action.ADJUDICATE)
    return (
        UnitDetail(
            unit=unit,
            problems=[
                f"{_title(found['place'])}: {found['problem']}" if found.get("place") is not None else found["problem"]
                for found in row.set_aside or ()
            ],
            turns=_turns(row, unit.task),
            places=_places(session, row, unit, shows_sides=judges and ANNOTATOR not in own),
            history=_history(session, unit_id),
            may_return=judges and (ANNOTATOR, "submitted") in others,
            may_adjudicate=judges and row.state == ADJUDICATION and ANNOTATOR not in own and is_free,
        ),
        row,
    )


def _places(session: Session, row: UnitRow, unit: UnitSummary, *, shows_sides: bool) -> list[PlaceView]:
    """The settled values of a complete unit; also everybody's, for those who may see them."""
    task = TASKS.get(unit.task)
    if not unit.is_complete or task is None:
        return []
    # While somebody could still decide, they see sides without names, as in adjudication.
    found = dispute_view(session, row, task, names=unit.state == DONE)
    names = [side["name"] for side in found["sides"]]
    sides = {
        side["id"]: (side["name"] if names.count(side["name"]) == 1 else f"{side['name']} ({side['letter']})")
        if side["name"]
        else side["letter"]
        for side in found["sides"]
    }
    return [
        PlaceView(
            place=place,
            title=_title(place),
            settled=values["settled"]["lines"] if values["how"] is not None else None,
            how=values["how"],
            disputed=place in found["disputed"] or values["how"] in ("taken", "written"),
            sides={sides[key]: value["lines"] for key, value in values["sides"].items()} if shows_sides else {},
        )
        for place, values in found["places"].items()
    ]


def _title(place: str) -> str:
    words = spoken_place(place)
    return words[:1].upper() + words[1:]


def _turns(row: UnitRow, kind: str) -> list[TurnView]:
    """The turns as they were imported, as far as somebody who begins the unit sees them."""
    task = TASKS.get(kind)
    shown = task.visible_content(row.content, {}) if task is not None else row.content
    chains = {"Earlier chain": shown.get("before"), "Later chain": shown.get("after")}
    halves: dict[str, Mapping[str, Json]] = {title: half for title, half in chains.items() if isinstance(half, dict)}
    parts = halves or {"": shown}
    return [
        _turn(part, turn.get("turn_index", number), turn, half)
        for part, half in parts.items()
        for number, turn in enumerate(half.get("turns", ()))
    ]


def _turn(part: str, index: int, turn: Mapping[str, Any], content: Mapping[str, Json]) -> TurnView:
    answer = [turn["answer"]] if isinstance(turn.get("answer"), str) else []
    spans = [f"{span['start_s']:.1f}–{span['end_s']:.1f} s" for span in turn.get("evidence") or ()]
    flagged = [check for check in content.get("checks", {}).get(str(index), ()) if check["outcome"] == "flagged"]
    texts = {
        "Answer": [*answer, *(turn.get("references") or ())],
        "Option": turn.get("options") or (),
        "Evidence": spans,
        "Flagged": [": ".join(filter(None, (check["gate"], check.get("reason")))) for check in flagged],
    }
    lines = [(label, text) for label, found in texts.items() for text in found]
    return TurnView(part=part, number=index + 1, question=turn.get("question") or "", lines=lines)


_EVENT_WORDS: Final = {
    "take": "began",
    "submit": "submitted",
    "reopen": "took it back",
    "return": "returned it",
    "lapse": "made room for others",
    "regain": "went on",
    "settle": "settled it",
    "assign": "assigned it",
    "unassign": "ended an assignment",
}
"""Kinds of events in the history of a unit, in words."""


def _history(session: Session, unit_id: str) -> list[UnitEvent]:
    copies = select(AssignmentRow.id).where(AssignmentRow.unit_id == unit_id)
    events = session.execute(
        select(EventRow.at, EventRow.author, EventRow.kind, EventRow.after)
        .where(or_(EventRow.subject == unit_id, EventRow.subject.in_(copies)), EventRow.kind.in_(_EVENT_WORDS))
        .order_by(EventRow.seq)
    )
    names = names_by_id(session)
    return [
        UnitEvent(
            at=at,
            who=names.get(author, "a command"),
            what=_EVENT_WORDS[kind] if kind != "take" or after["role"] == ANNOTATOR else "began to adjudicate",
            note=after["note"] if kind == "return" else "",
        )
        for at, author, kind, after in events
    ]
