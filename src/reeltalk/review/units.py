"""The table of units for those who lead a team: what it shows, how it is searched, and what is done to many units.

Nobody sees work of others here before all work on a unit is in: notes, unsure values and disagreements count only for
complete units. Readers see complete units only. Somebody who asks about a video in a live dialogue sees no unit of it.

Only owners may know which units are gold. Everybody else who works gets gold like any other unit, so to them their own
gold is listed as a unit that only they work on, in place of the unit that it was made from.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Literal
from urllib.parse import parse_qs, urlencode

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import ColumnElement, Row, Select, and_, case, exists, false, func, or_, select, type_coerce
from sqlalchemy import Text as AnyText
from sqlalchemy.orm import Session, aliased

from reeltalk.review import work
from reeltalk.review.access import Action, may
from reeltalk.review.assigning import ADJUDICATOR, ANNOTATOR, LAPSED, UNFINISHED, lapse_work, may_know
from reeltalk.review.describing import searched
from reeltalk.review.duties import all_groups, assign_units, of_person, set_deadline, unassign_units, unit_duties
from reeltalk.review.errors import ApiError, Conflict, InvalidValue, NotFound
from reeltalk.review.events import Transaction
from reeltalk.review.gold import is_training
from reeltalk.review.naming import unit_names
from reeltalk.review.people import User, names_by_id
from reeltalk.review.settling import (
    ADJUDICATION,
    DONE,
    OPEN,
    WAITING,
    dispute_view,
    settle_if_complete,
    submitted_works,
)
from reeltalk.review.tables import (
    AssignmentRow,
    DutyRow,
    EntryRow,
    EventRow,
    MembershipRow,
    PersonRow,
    QueueRow,
    UnitRow,
    UnitWordsRow,
    canonical_json,
    moment,
)
from reeltalk.review.tasks.registry import TASKS
from reeltalk.review.tasks.task import ReviewTask
from reeltalk.review.web import plain_text
from reeltalk.schema.record import Json

ON_A_PAGE: Final = 50
MOST_RETURNED: Final = 500
"""Most units that are returned at once: meanwhile nobody can save."""
MOST_ASSIGNED: Final = 2_000
"""Most units that are assigned at once, for the same reason."""
STATES: Final = {
    "waiting": "waiting",
    "begun": "begun",
    "submitted": "partly submitted",
    "returned": "returned",
    "adjudication": "to adjudicate",
    "done": "done",
}
"""The states of a unit, with their names for people: nobody has it, somebody has begun it, some of its work is in,
some of its work was returned, people differ, all is settled."""
SORTS: Final = {
    "order": "the order of the queue",
    "name": "name",
    "video": "video",
    "turns": "turns",
    "flags": "flags",
    "disputed": "disagreement",
}
Yes = Literal["", "yes"]
Short = Annotated[str, Field(max_length=200), AfterValidator(plain_text)]


class UnitQuery(BaseModel):
    """What of the table somebody looks at. It is the query of the page's address, so that a view can be linked."""

    model_config = ConfigDict(frozen=True)

    q: Short = ""
    """Words that must all occur in a unit's name, its video's name or the texts of its turns."""
    queue: Short = ""
    state: Annotated[
        list[Literal["waiting", "begun", "submitted", "returned", "adjudication", "done"]], Field(max_length=10)
    ] = []
    """Units in one of these states; all if it is empty."""
    person: Short = ""
    """Id of a person who works on it, or to whom it is assigned."""
    video: Short = ""
    task: Short = ""
    """The kind of work."""
    flagged: Yes = ""
    """Only units with turns that a check flagged."""
    disputed: Yes = ""
    """Only complete units on which people differed."""
    noted: Yes = ""
    """Only complete units with a note."""
    unsure: Yes = ""
    """Only complete units with a value of which somebody was unsure."""
    aside: Yes = ""
    """Only units that were set aside when results were applied."""
    late: Yes = ""
    """Only incomplete units whose deadline has passed."""
    gold: Yes = ""
    """Only gold; for owners."""
    sort: Literal["order", "name", "video", "turns", "flags", "disputed"] = "order"
    down: Yes = ""
    """The highest first."""
    page: Annotated[int, Field(ge=1, le=100_000)] = 1

    def address(self, **changes: Any) -> str:
        """This view's part of an address, with some values changed; an empty text if it shows everything."""
        default = UnitQuery().model_dump()
        values = {name: getattr(self, name) for name in default} | {"page": 1} | changes
        return urlencode({name: value for name, value in values.items() if value != default.get(name)}, doseq=True)

    @classmethod
    def of_address(cls, address: str) -> "UnitQuery":
        """The view of a part of an address.

        Raises:
            InvalidValue: It is none.
        """
        values: dict[str, Any] = {}
        for name, found in parse_qs(address, max_num_fields=100).items():
            values[name] = found if name == "state" else found[-1]
        try:
            return cls.model_validate(values)
        except ValidationError:
            raise InvalidValue("this view of the table cannot be shown; go back to the table", field="match") from None


class PersonHere(BaseModel):
    """A person's work on a unit."""

    id: str
    name: str
    role: Literal["annotator", "adjudicator"]
    state: str
    """`working`, `returned`, `submitted` or `waiting`."""
    round: int
    """How often it was returned, plus one."""


class AssignedHere(BaseModel):
    """A person or a group to whom a unit is assigned."""

    id: str
    """The duty's id."""
    name: str
    group: bool
    deadline: str | None
    """The last day, as `2026-12-31`."""


class UnitSummary(BaseModel):
    """A row of the table."""

    id: str
    name: str
    queue: str
    """The queue's id."""
    queue_title: str
    task: str
    video: str | None
    state: Literal["waiting", "begun", "submitted", "returned", "adjudication", "done"]
    people: list[PersonHere]
    assigned: list[AssignedHere]
    turns: int
    flags: int
    """Turns that a check of construction flagged."""
    disputed: int | None
    """Places on which people differed; None before all work is in."""
    notes: int | None
    """Values with a note; None before all work is in."""
    unsure: int | None
    """Values of which somebody was unsure; None before all work is in."""
    aside: bool
    """True if it was set aside when results were applied."""
    gold: bool
    """True if it is gold, and who asks may know it."""


class UnitPage(BaseModel):
    """A page of the table."""

    units: list[UnitSummary]
    total: int
    """Number of units that match."""
    page: int
    pages: int


@dataclass(frozen=True)
class Sight:
    """What one person may see of the units."""

    person_id: str
    leads: bool
    """They may know which units are gold."""
    complete_only: bool
    judges: bool
    """They may settle and return units."""
    own_gold: tuple[str, ...] = ()
    """Gold that they work on and must not recognise: it is listed like other units."""
    settled_gold: tuple[str, ...] = ()
    """Those of them that would be complete if they were not gold."""
    sources: tuple[str | None, ...] = ()
    """The unit that each of `own_gold` was made from; None if it is no longer there."""
    settled_as: str = DONE
    """The state that such a unit would have."""

    def conditions(self, *, gold: bool = False) -> list[ColumnElement[bool]]:
        """As SQL: the units that they see.

        Args:
            gold: Only gold, for those who may know it.
        """
        found = [may_know(self.person_id)]
        if self.leads:
            found.append(UnitRow.gold.is_not(None) if gold else UnitRow.gold.is_(None))
        elif gold:
            found.append(false())
        elif self.own_gold:
            copied = [source for source in self.sources if source is not None]
            real = and_(UnitRow.gold.is_(None), UnitRow.id.not_in(copied))
            found.append(or_(real, UnitRow.id.in_(self.own_gold)))
        else:
            found.append(UnitRow.gold.is_(None))
        if self.complete_only:
            found.append(UnitRow.state.in_((ADJUDICATION, DONE)))
        return found

    def state(self) -> ColumnElement[str]:
        """As SQL: the stored state of a unit as they see it."""
        if not self.settled_gold:
            return type_coerce(UnitRow.state, AnyText)
        return case((UnitRow.id.in_(self.settled_gold), self.settled_as), else_=UnitRow.state)

    def copies(self, *conditions: ColumnElement[bool]) -> ColumnElement[bool]:
        """As SQL: a unit has a copy of work that fulfils conditions. Others' copies of gold count only for owners."""
        found = exists().where(AssignmentRow.unit_id == UnitRow.id, *conditions)
        if self.own_gold:
            found = found.where(or_(UnitRow.gold.is_(None), AssignmentRow.person_id == self.person_id))
        return found

    def in_state(self, name: str) -> ColumnElement[bool]:
        """As SQL: a unit is in one of `STATES`."""
        if name in (ADJUDICATION, DONE):
            return self.state() == name

        def has(*states: str) -> ColumnElement[bool]:
            return self.copies(AssignmentRow.role == ANNOTATOR, AssignmentRow.state.in_(states))

        is_open = self.state() == OPEN
        return {
            "waiting": and_(is_open, ~has("working", "returned", "submitted")),
            "begun": and_(is_open, has("working"), ~has("returned", "submitted")),
            "submitted": and_(is_open, has("submitted"), ~has("returned")),
            "returned": and_(is_open, has("returned")),
        }[name]


def sight_of(session: Session, person: User, *, approval: bool) -> Sight:
    """What a person may see of the units.

    Args:
        session: The database.
        person: Who looks.
        approval: As in the project's settings: whether an adjudicator looks at every unit.
    """
    leads, judges = may(person.role, Action.MANAGE), may(person.role, Action.ADJUDICATE)
    seen = Sight(person.id, leads, not judges, judges, settled_as=ADJUDICATION if approval else DONE)
    if leads or not may(person.role, Action.WORK):
        return seen
    source = aliased(UnitRow)
    own = session.execute(
        select(UnitRow.id, AssignmentRow.state, QueueRow.overlap, source.id.label("source"))
        .join(AssignmentRow, AssignmentRow.unit_id == UnitRow.id)
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .outerjoin(
            source,
            and_(
                source.queue_id == UnitRow.queue_id,
                source.target_table == UnitRow.target_table,
                source.target_id == UnitRow.target_id,
                source.gold.is_(None),
            ),
        )
        .where(UnitRow.gold.is_not(None), ~is_training(), AssignmentRow.person_id == person.id)
    ).all()
    by_id = {row.id: row for row in own}
    settled = tuple(row.id for row in by_id.values() if row.state == "submitted" and row.overlap == 1)
    return replace(
        seen, own_gold=tuple(by_id), settled_gold=settled, sources=tuple(row.source for row in by_id.values())
    )


def find_units(session: Session, sight: Sight, query: UnitQuery) -> UnitPage:
    """A page of the units that match.

    Args:
        session: The database.
        sight: What the person who looks may see.
        query: What they look for.
    """
    matching = _matching(select(UnitRow.id), sight, query)
    total = session.scalar(_matching(select(func.count()).select_from(UnitRow), sight, query)) or 0
    pages = max(1, -(-total // ON_A_PAGE))
    page = min(query.page, pages)
    ids = session.scalars(_sorted(matching, sight, query).limit(ON_A_PAGE).offset((page - 1) * ON_A_PAGE)).all()
    return UnitPage(units=summaries(session, sight, ids), total=total, page=page, pages=pages)


def matching_ids(session: Session, sight: Sight, query: UnitQuery) -> list[str]:
    """The ids of all units that match, in the order of the table."""
    return list(session.scalars(_sorted(_matching(select(UnitRow.id), sight, query), sight, query)))


def visible_ids(session: Session, sight: Sight, unit_ids: Iterable[str]) -> list[str]:
    """Those of some units that a person may see, in the given order."""
    wanted = list(dict.fromkeys(unit_ids))
    there: set[str] = set()
    for start in range(0, len(wanted), ON_A_PAGE * 8):
        some = UnitRow.id.in_(wanted[start : start + ON_A_PAGE * 8])
        for gold in (False, True):
            there.update(session.scalars(select(UnitRow.id).where(some, *sight.conditions(gold=gold))))
    return [unit_id for unit_id in wanted if unit_id in there]


def _matching(statement: Select[Any], sight: Sight, query: UnitQuery) -> Select[Any]:
    conditions = sight.conditions(gold=bool(query.gold))
    complete = sight.state().in_((ADJUDICATION, DONE))
    if query.queue:
        conditions.append(UnitRow.queue_id == query.queue)
    if query.task:
        conditions.append(UnitRow.queue_id.in_(select(QueueRow.id).where(QueueRow.task == query.task)))
    if query.video:
        conditions.append(UnitRow.video_id == query.video)
    if query.state:
        conditions.append(or_(*(sight.in_state(name) for name in dict.fromkeys(query.state))))
    if query.flagged:
        conditions.append(UnitRow.flags > 0)
    if query.disputed:
        conditions += [complete, UnitRow.disputed > 0]
    for wanted, column in ((query.noted, EntryRow.noted), (query.unsure, EntryRow.unsure)):
        if wanted:
            having = select(AssignmentRow.id).join(EntryRow, EntryRow.assignment_id == AssignmentRow.id).where(column)
            conditions += [complete, sight.copies(_is_submitted(), AssignmentRow.id.in_(having))]
    if query.person:
        conditions.append(_is_of(sight, query.person))
    if query.aside:
        conditions.append(UnitRow.set_aside.is_not(None))
    if query.late:
        conditions += [sight.state() == OPEN, _is_late()]
    if words := searched(query.q).split():
        stored = type_coerce(UnitWordsRow.words, AnyText)
        found = (stored.contains(canonical_json(word)[1:-1], autoescape=True) for word in words)
        conditions.append(UnitRow.id.in_(select(UnitWordsRow.unit_id).where(*found)))
    return statement.where(*conditions)


def _is_submitted() -> ColumnElement[bool]:
    return and_(AssignmentRow.role == ANNOTATOR, AssignmentRow.state == "submitted")


def _is_of(sight: Sight, person_id: str) -> ColumnElement[bool]:
    assigned = select(DutyRow.unit_id).where(DutyRow.unit_id.is_not(None), of_person(person_id))
    works = sight.copies(AssignmentRow.person_id == person_id, AssignmentRow.state != LAPSED)
    return or_(works, UnitRow.id.in_(assigned))


def _is_late() -> ColumnElement[bool]:
    late = and_(DutyRow.deadline.is_not(None), DutyRow.deadline < moment()[:10])
    units = select(DutyRow.unit_id).where(late, DutyRow.unit_id.is_not(None))
    queues = select(DutyRow.queue_id).where(late, DutyRow.unit_id.is_(None))
    return or_(UnitRow.id.in_(units), UnitRow.queue_id.in_(queues))


def _sorted(statement: Select[Any], sight: Sight, query: UnitQuery) -> Select[Any]:
    queue = select(QueueRow.position).where(QueueRow.id == UnitRow.queue_id).correlate(UnitRow).scalar_subquery()
    order = (queue, UnitRow.queue_id, UnitRow.position, UnitRow.id)
    if query.sort == "order":
        return statement.order_by(*(column.desc() for column in order) if query.down else order)
    # Before all work is in, nobody knows how much people differ.
    settled = case((sight.state().in_((ADJUDICATION, DONE)), UnitRow.disputed), else_=-1)
    column: Any = {
        "name": UnitRow.title,
        "video": func.coalesce(UnitRow.video_id, ""),
        "turns": UnitRow.turns,
        "flags": UnitRow.flags,
        "disputed": settled,
    }[query.sort]
    return statement.order_by(column.desc() if query.down else column, *order)


def summaries(session: Session, sight: Sight, unit_ids: Sequence[str]) -> list[UnitSummary]:
    """The rows of some units, in the given order."""
    shown = (UnitRow.id, UnitRow.queue_id, UnitRow.title, UnitRow.video_id, UnitRow.turns, UnitRow.flags)
    facts = (UnitRow.gold.is_not(None).label("is_gold"), UnitRow.set_aside.is_not(None).label("is_aside"))
    rows = {
        row.id: row
        for row in session.execute(
            select(*shown, UnitRow.disputed, sight.state().label("state"), *facts, QueueRow.title.label("queue"))
            .add_columns(QueueRow.task)
            .join(QueueRow, QueueRow.id == UnitRow.queue_id)
            .where(UnitRow.id.in_(unit_ids))
        )
    }
    people, duties = _people(session, sight, rows), _assigned(session, unit_ids)
    names = _names(session, sight, unit_ids)
    complete = [unit_id for unit_id, row in rows.items() if row.state in (ADJUDICATION, DONE)]
    remarks = _remarks(session, sight, rows, complete)
    found = []
    for unit_id in unit_ids:
        row = rows[unit_id]
        is_complete = row.state in (ADJUDICATION, DONE)
        notes, unsure = remarks.get(unit_id, (0, 0))
        found.append(
            UnitSummary(
                id=unit_id,
                name=names[unit_id],
                queue=row.queue_id,
                queue_title=row.queue,
                task=row.task,
                video=row.video_id,
                state=_state(row.state, people.get(unit_id, [])),
                people=people.get(unit_id, []),
                assigned=duties.get(unit_id, []),
                turns=row.turns,
                flags=row.flags,
                disputed=row.disputed if is_complete else None,
                notes=notes if is_complete else None,
                unsure=unsure if is_complete else None,
                aside=row.is_aside,
                gold=row.is_gold and sight.leads,
            )
        )
    return found


def _names(session: Session, sight: Sight, unit_ids: Sequence[str]) -> dict[str, str]:
    """The names of units. Gold that somebody must not recognise has the name of the unit that it was made from."""
    sources = dict(zip(sight.own_gold, sight.sources, strict=True))
    found = unit_names(session, [sources.get(unit_id) or unit_id for unit_id in unit_ids])
    return {unit_id: found[sources.get(unit_id) or unit_id] for unit_id in unit_ids}


def _state(stored: str, people: Sequence[PersonHere]) -> Any:
    if stored != OPEN:
        return stored
    states = {person.state for person in people if person.role == ANNOTATOR}
    for name, meant in (("returned", "returned"), ("submitted", "submitted"), ("working", "begun")):
        if name in states:
            return meant
    return "waiting"


def _people(session: Session, sight: Sight, rows: Mapping[str, Row[Any]]) -> dict[str, list[PersonHere]]:
    """Who works on some units. Of gold that somebody must not recognise, only themselves."""
    query = (
        select(AssignmentRow, PersonRow.name)
        .join(PersonRow, PersonRow.id == AssignmentRow.person_id)
        .where(AssignmentRow.unit_id.in_(list(rows)), AssignmentRow.state != LAPSED)
        .order_by(AssignmentRow.role.desc(), PersonRow.sign_in)
    )
    found: dict[str, list[PersonHere]] = {}
    for copy, name in session.execute(query):
        if rows[copy.unit_id].is_gold and not sight.leads and copy.person_id != sight.person_id:
            continue
        here = PersonHere(id=copy.person_id, name=name, role=copy.role, state=copy.state, round=copy.round)
        found.setdefault(copy.unit_id, []).append(here)
    return found


def _assigned(session: Session, unit_ids: Iterable[str]) -> dict[str, list[AssignedHere]]:
    duties = unit_duties(session, unit_ids)
    if not duties:
        return {}
    names, groups = names_by_id(session), {group.id: group.name for group in all_groups(session)}
    found: dict[str, list[AssignedHere]] = {}
    for row in duties:
        name = names.get(row.person_id or "") or groups.get(row.group_id or "", "")
        here = AssignedHere(id=row.id, name=name, group=row.group_id is not None, deadline=row.deadline)
        found.setdefault(row.unit_id or "", []).append(here)
    return found


def _remarks(
    session: Session, sight: Sight, rows: Mapping[str, Row[Any]], unit_ids: Sequence[str]
) -> dict[str, tuple[int, int]]:
    """How many values of complete units have a note, and of how many somebody was unsure."""
    counts = (func.count().filter(EntryRow.noted), func.count().filter(EntryRow.unsure))
    query = (
        select(AssignmentRow.unit_id, AssignmentRow.person_id, *counts)
        .join(EntryRow, EntryRow.assignment_id == AssignmentRow.id)
        .where(AssignmentRow.unit_id.in_(unit_ids), _is_submitted())
        .group_by(AssignmentRow.unit_id, AssignmentRow.person_id)
    )
    found: dict[str, tuple[int, int]] = {}
    for unit_id, person_id, noted, unsure in session.execute(query):
        if not rows[unit_id].is_gold or sight.leads or person_id == sight.person_id:
            before = found.get(unit_id, (0, 0))
            found[unit_id] = before[0] + noted, before[1] + unsure
    return found


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
    may_assign: bool


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
            may_assign=sight.leads and row.state == OPEN and row.gold is None and task is not None,
        ),
        row,
    )


def _problem(found: Mapping[str, Any]) -> str:
    place = f"{spoken_place(found['place'])}: " if found.get("place") is not None else ""
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
            title=spoken_place(place),
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
                title=spoken_place(place),
                draft=list(start),
                settled=None if waits else lines,
                how=None if waits else "sole",
                disputed=waits,
            )
        )
    return found


def spoken_place(place: str) -> str:
    """A place of a unit for people: `Turn 3`, `Turn 1 → turn 2`."""
    numbers = place.split("-")
    if all(number.isascii() and number.isdigit() for number in numbers) and len(numbers) <= 2:
        return f"Turn {' → turn '.join(str(int(number) + 1) for number in numbers)}"
    return {"board": "All links", "whole": "The whole dialogue"}.get(place, place)


def _parts(task: ReviewTask | None, content: Mapping[str, Json]) -> list[UnitPart]:
    """The turns as they were imported, as far as somebody who begins the unit sees them."""
    shown = task.visible_content(content, {}) if task is not None else content
    halves = [("Earlier chain", shown.get("before")), ("Later chain", shown.get("after"))]
    chains = [(title, half) for title, half in halves if isinstance(half, dict)] or [("Turns", shown)]
    return [
        UnitPart(title=title, turns=[_turn(number, turn, half) for number, turn in enumerate(half.get("turns", ()))])
        for title, half in chains
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


@dataclass
class Outcome:
    """What was done to many units, and what could not be done."""

    done: int = 0
    """Number of units."""
    refused: dict[str, int] = field(default_factory=dict)
    """How many were left as they are, by reason."""
    warnings: list[str] = field(default_factory=list)

    def refuse(self, reason: str) -> None:
        """Count a unit that is left as it is."""
        self.refused[reason] = self.refused.get(reason, 0) + 1

    def document(self) -> dict[str, Json]:
        """As JSON for scripts."""
        return {"done": self.done, "refused": dict(self.refused), "warnings": list(self.warnings)}


def return_units(
    change: Transaction, sight: Sight, unit_ids: Sequence[str], note: str, *, person_id: str | None = None
) -> Outcome:
    """Return the submitted work on units to its annotators.

    Args:
        change: The transaction.
        sight: What the person who asks may see.
        unit_ids: Which units.
        note: What should be done again.
        person_id: Only this person's work.

    Raises:
        InvalidValue: There is no note, or too many units are chosen.
    """
    _check_count(unit_ids, MOST_RETURNED)
    if not 1 <= len(note.strip()) <= 2000:
        raise InvalidValue("say in 1 to 2,000 characters what should be done again", field="note")
    outcome = Outcome()
    for unit_id in _visible(change.session, sight, unit_ids, outcome):
        copies = [row for row, _ in submitted_works(change.session, unit_id)]
        if unit_id in sight.own_gold:
            copies = [row for row in copies if row.person_id == sight.person_id]
        returned, reason = 0, "no work on it was submitted"
        for row in copies if person_id is None else [row for row in copies if row.person_id == person_id]:
            try:
                work.send_back(change, sight.person_id, row.id, note)
                returned += 1
            except ApiError as error:
                reason = str(error)
        outcome.done += returned > 0
        if not returned:
            outcome.refuse(reason)
    return outcome


def give_units(
    change: Transaction,
    sight: Sight,
    unit_ids: Sequence[str],
    people: Sequence[str],
    groups: Sequence[str],
    deadline: str | None,
    *,
    instead: bool = False,
    release: bool = False,
    approval: bool = False,
) -> Outcome:
    """Assign units to people and groups.

    Args:
        change: The transaction.
        sight: What the person who asks may see.
        unit_ids: Which units. Complete units and gold are left out.
        people: Ids of people.
        groups: Ids of groups.
        deadline: The last day, as `2026-12-31`.
        instead: Earlier duties of these units end.
        release: Unfinished work of people to whom the unit is not assigned makes room. What they saved is kept.
        approval: As in `settle_if_complete`.

    Raises:
        InvalidValue: Nobody is named, one of them cannot work, there is no such day, or too many units are chosen.
    """
    _check_count(unit_ids, MOST_ASSIGNED)
    outcome = Outcome()
    units = _assignable(change.session, _visible(change.session, sight, unit_ids, outcome), outcome)
    assign_units(change, {unit_id: row.queue_id for unit_id, row in units.items()}, people, groups, deadline,
        instead=instead)  # fmt: skip
    change.session.flush()
    if release:
        _release(change, units, approval=approval)
    outcome.done = len(units)
    outcome.warnings += _too_few(change.session, units)
    return outcome


def take_units_away(change: Transaction, sight: Sight, unit_ids: Sequence[str], *, release: bool = False,
    approval: bool = False) -> Outcome:  # fmt: skip
    """End all duties of units, so that they are for everybody who works in their queue.

    Args:
        change: The transaction.
        sight: What the person who asks may see.
        unit_ids: Which units.
        release: Unfinished work on them makes room, too. What people saved is kept.
        approval: As in `settle_if_complete`.

    Raises:
        InvalidValue: Too many units are chosen.
    """
    _check_count(unit_ids, MOST_ASSIGNED)
    outcome = Outcome()
    units = _assignable(change.session, _visible(change.session, sight, unit_ids, outcome), outcome)
    unassign_units(change, units)
    change.session.flush()
    if release:
        _release(change, units, approval=approval)
    outcome.done = len(units)
    return outcome


def put_deadline(change: Transaction, sight: Sight, unit_ids: Sequence[str], deadline: str | None) -> Outcome:
    """Set the deadline of assigned units, None for none.

    Raises:
        InvalidValue: There is no such day, or too many units are chosen.
    """
    _check_count(unit_ids, MOST_ASSIGNED)
    outcome = Outcome()
    visible = _visible(change.session, sight, unit_ids, outcome)
    assigned = {row.unit_id for row in unit_duties(change.session, visible)}
    for unit_id in visible:
        if unit_id not in assigned:
            outcome.refuse("it is assigned to nobody")
    set_deadline(change, [unit_id for unit_id in visible if unit_id in assigned], deadline)
    outcome.done = len(assigned)
    return outcome


def _check_count(unit_ids: Sequence[str], most: int) -> None:
    if not unit_ids:
        raise InvalidValue("choose at least one task", field="units")
    if len(unit_ids) > most:
        raise InvalidValue(
            f"{len(unit_ids):,} tasks are chosen, and at most {most:,} can be changed at once: filter the table",
            field="units",
        )


def _visible(session: Session, sight: Sight, unit_ids: Sequence[str], outcome: Outcome) -> list[str]:
    there = visible_ids(session, sight, unit_ids)
    for _ in range(len(set(unit_ids)) - len(there)):
        outcome.refuse("there is no such task")
    return there


def _assignable(session: Session, unit_ids: Sequence[str], outcome: Outcome) -> dict[str, Row[Any]]:
    found: dict[str, Row[Any]] = {}
    for start in range(0, len(unit_ids), ON_A_PAGE * 8):
        some = unit_ids[start : start + ON_A_PAGE * 8]
        is_gold = UnitRow.gold.is_not(None).label("is_gold")
        for row in session.execute(
            select(UnitRow.id, UnitRow.queue_id, UnitRow.state, QueueRow.task, QueueRow.overlap, is_gold)
            .join(QueueRow, QueueRow.id == UnitRow.queue_id)
            .where(UnitRow.id.in_(some))
        ):
            if row.is_gold:
                outcome.refuse("it is gold, which everybody gets")
            elif row.task not in TASKS:
                outcome.refuse("people do this work in pairs")
            elif row.state != OPEN:
                outcome.refuse("all work on it is in")
            else:
                found[row.id] = row
    return found


def _holders(session: Session, unit_ids: Sequence[str]) -> dict[str, set[str]]:
    """The people to whom units are assigned, also as members of groups, by unit."""
    members: dict[str, list[str]] = {}
    for row in session.scalars(select(MembershipRow)):
        members.setdefault(row.group_id, []).append(row.person_id)
    able = {
        row.id
        for row in session.execute(select(PersonRow.id, PersonRow.role).where(PersonRow.disabled_at.is_(None)))
        if may(row.role, Action.WORK)
    }
    found: dict[str, set[str]] = {}
    for duty in unit_duties(session, unit_ids):
        people = [duty.person_id] if duty.person_id is not None else members.get(duty.group_id or "", [])
        found.setdefault(duty.unit_id or "", set()).update(able.intersection(people))
    return found


def _copies_of(session: Session, unit_ids: Sequence[str], states: Sequence[str]) -> list[AssignmentRow]:
    found: list[AssignmentRow] = []
    for start in range(0, len(unit_ids), ON_A_PAGE * 8):
        found += session.scalars(
            select(AssignmentRow).where(
                AssignmentRow.unit_id.in_(unit_ids[start : start + ON_A_PAGE * 8]),
                AssignmentRow.role == ANNOTATOR,
                AssignmentRow.state.in_(states),
            )
        )
    return found


def _release(change: Transaction, units: Mapping[str, Row[Any]], *, approval: bool) -> None:
    """Let the unfinished work on units lapse, except that of people to whom they are assigned."""
    holders = _holders(change.session, list(units))
    for row in _copies_of(change.session, list(units), UNFINISHED):
        if row.person_id not in holders.get(row.unit_id, ()):
            lapse_work(change, row)
            unit = change.session.get_one(UnitRow, row.unit_id)
            settle_if_complete(change, unit, TASKS[units[row.unit_id].task], approval=approval)


def _too_few(session: Session, units: Mapping[str, Row[Any]]) -> list[str]:
    """Warnings about units that fewer people may take than must do them."""
    holders = _holders(session, list(units))
    for row in _copies_of(session, list(units), (*UNFINISHED, "submitted", WAITING)):
        holders.setdefault(row.unit_id, set()).add(row.person_id)
    short = [row for unit_id, row in units.items() if len(holders.get(unit_id, ())) < row.overlap]
    if not short:
        return []
    needed = max(row.overlap for row in short)
    return [
        f"{len(short):,} of these tasks need more people: up to {needed} must do each, and fewer are named. Assign "
        "them to more people, too"
    ]


def check_same_count(found: Sequence[str], expected: int) -> None:
    """Reject a change of all units that match, if their number has changed since it was shown.

    Raises:
        Conflict: It has.
    """
    if len(found) != expected:
        raise Conflict(
            f"the table has changed: {len(found):,} tasks match now, and {expected:,} did before; look again",
            code="other_count",
        )
