"""The table of units for those who lead a team: what it shows, and how it is searched.

Nobody sees work of others here before all work on a unit is in: notes, unsure values and disagreements count only for
complete units. Readers see complete units only. Somebody who asks about a video in a live dialogue sees no unit of it.

Only owners may know which units are gold. Everybody else who works gets gold like any other unit, so to them their own
gold is listed as a unit that only they work on, in place of the unit that it was made from.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal
from urllib.parse import parse_qs, urlencode

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import ColumnElement, Row, Select, and_, case, exists, false, func, or_, select, type_coerce
from sqlalchemy import Text as AnyText
from sqlalchemy.orm import Session, aliased

from reeltalk_review.access import Action, may
from reeltalk_review.assigning import ANNOTATOR, LAPSED, may_know
from reeltalk_review.describing import searched
from reeltalk_review.duties import unit_duties
from reeltalk_review.errors import InvalidValue
from reeltalk_review.naming import unit_names
from reeltalk_review.people import User, names_by_id
from reeltalk_review.settling import (
    ADJUDICATION,
    DONE,
    OPEN,
)
from reeltalk_review.tables import (
    AssignmentRow,
    DutyRow,
    EntryRow,
    PersonRow,
    QueueRow,
    UnitRow,
    UnitWordsRow,
    canonical_json,
)
from reeltalk_review.web import plain_text

ON_A_PAGE: Final = 50
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
    """A person to whom a unit is assigned."""

    id: str
    """The duty's id."""
    name: str


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
        .where(UnitRow.gold.is_not(None), AssignmentRow.person_id == person.id)
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
    if words := searched(query.q).split():
        stored = type_coerce(UnitWordsRow.words, AnyText)
        found = (stored.contains(canonical_json(word)[1:-1], autoescape=True) for word in words)
        conditions.append(UnitRow.id.in_(select(UnitWordsRow.unit_id).where(*found)))
    return statement.where(*conditions)


def _is_submitted() -> ColumnElement[bool]:
    return and_(AssignmentRow.role == ANNOTATOR, AssignmentRow.state == "submitted")


def _is_of(sight: Sight, person_id: str) -> ColumnElement[bool]:
    assigned = select(DutyRow.unit_id).where(DutyRow.unit_id.is_not(None), DutyRow.person_id == person_id)
    works = sight.copies(AssignmentRow.person_id == person_id, AssignmentRow.state != LAPSED)
    return or_(works, UnitRow.id.in_(assigned))


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
    names = names_by_id(session)
    found: dict[str, list[AssignedHere]] = {}
    for row in duties:
        found.setdefault(row.unit_id or "", []).append(AssignedHere(id=row.id, name=names[row.person_id]))
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
