"""The table of units for those who lead a team: what it shows, and how it is searched.

Nobody sees work of others here before all work on a unit is in: notes, unsure values and disagreements count only for
complete units. Readers see complete units only. Somebody who asks about a video in a live dialogue sees no unit of it.
Only owners see gold, and only annotators, who see no table, get it as work.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final, Literal
from urllib.parse import parse_qs, urlencode

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import ColumnElement, Select, and_, case, exists, func, or_, select
from sqlalchemy.orm import Session

from reeltalk_review.access import Action, may
from reeltalk_review.assigning import ANNOTATOR, LAPSED, may_know
from reeltalk_review.describing import has_words, searched
from reeltalk_review.duties import unit_duties
from reeltalk_review.errors import InvalidValue
from reeltalk_review.people import User, names_by_id
from reeltalk_review.settling import ADJUDICATION, DONE, OPEN
from reeltalk_review.tables import AssignmentRow, DutyRow, EntryRow, PersonRow, QueueRow, UnitRow
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
State = Literal["waiting", "begun", "submitted", "returned", "adjudication", "done"]
Only = Literal["flagged", "disputed", "noted", "unsure", "aside", "gold"]
Short = Annotated[str, Field(max_length=200), AfterValidator(plain_text)]


class UnitQuery(BaseModel):
    """What of the table somebody looks at. It is the query of the page's address, so that a view can be linked."""

    model_config = ConfigDict(frozen=True)

    q: Short = ""
    """Words that must all occur in a unit's name, its video's name or the texts of its turns."""
    queue: Short = ""
    state: Annotated[list[State], Field(max_length=10)] = []
    """Units in one of these states; all if it is empty."""
    person: Short = ""
    """Id of a person who works on it, or to whom it is assigned."""
    only: Annotated[list[Only], Field(max_length=10)] = []
    """Units with all of this: turns that a check flagged; a disagreement, a note or an unsure value in complete work;
    results that were set aside when they were applied; being gold, for owners."""
    sort: Literal["order", "name", "turns", "flags", "disputed"] = "order"
    down: Literal["", "yes"] = ""
    """The highest first."""
    page: Annotated[int, Field(ge=1, le=100_000)] = 1

    def address(self, **changes: Any) -> str:
        """This view's part of an address, with some values changed; an empty text if it shows everything."""
        default = UnitQuery().model_dump()
        values = {name: getattr(self, name) for name in default} | {"page": 1} | changes
        return urlencode({name: value for name, value in values.items() if value != default[name]}, doseq=True)

    @classmethod
    def of_address(cls, address: str) -> "UnitQuery":
        """The view of a part of an address.

        Raises:
            InvalidValue: It is none.
        """
        given = parse_qs(address, max_num_fields=100)
        try:
            return cls.model_validate(
                {name: found if name in ("state", "only") else found[-1] for name, found in given.items()}
            )
        except ValidationError:
            raise InvalidValue("this view of the table cannot be shown; go back to the table", field="match") from None


class PersonHere(BaseModel):
    """A person's work on a unit."""

    id: str
    name: str
    role: Literal["annotator", "adjudicator"]
    state: str
    """`working`, `returned` or `submitted`."""
    round: int
    """How often it was returned, plus one."""


class UnitSummary(BaseModel):
    """A row of the table."""

    id: str
    name: str
    queue: str
    """The queue's id."""
    queue_title: str
    task: str
    video: str | None
    state: State
    people: list[PersonHere] = []
    assigned: list[str] = []
    """Names of people to whom it is assigned."""
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

    @property
    def is_complete(self) -> bool:
        """True if all work on it is in."""
        return self.state in (ADJUDICATION, DONE)


class UnitPage(BaseModel):
    """A page of the table."""

    units: list[UnitSummary]
    total: int
    """Number of units that match."""
    page: int
    pages: int


_complete: Final = UnitRow.state.in_((ADJUDICATION, DONE))
_is_submitted: Final = and_(AssignmentRow.role == ANNOTATOR, AssignmentRow.state == "submitted")


def _copies(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    """As SQL: a unit has a copy of work that fulfils conditions."""
    return exists().where(AssignmentRow.unit_id == UnitRow.id, *conditions)


def _having(column: Any) -> ColumnElement[bool]:
    """As SQL: all work on a unit is in, and a value in it has a mark."""
    marked = select(AssignmentRow.id).join(EntryRow, EntryRow.assignment_id == AssignmentRow.id).where(column)
    return and_(_complete, _copies(_is_submitted, AssignmentRow.id.in_(marked)))


_state: Final[ColumnElement[str]] = case(
    (UnitRow.state != OPEN, UnitRow.state),
    *(
        (_copies(AssignmentRow.role == ANNOTATOR, AssignmentRow.state == state), name)
        for state, name in (("returned", "returned"), ("submitted", "submitted"), ("working", "begun"))
    ),
    else_="waiting",
)
"""As SQL: one of `STATES`."""
_ONLY: Final[dict[str, ColumnElement[bool]]] = {
    "flagged": UnitRow.flags > 0,
    "disputed": and_(_complete, UnitRow.disputed > 0),
    "noted": _having(EntryRow.noted),
    "unsure": _having(EntryRow.unsure),
    "aside": UnitRow.set_aside.is_not(None),
    "gold": UnitRow.gold.is_not(None),
}
_SORTED_BY: Final[dict[str, Any]] = {
    "name": UnitRow.title,
    "turns": UnitRow.turns,
    "flags": UnitRow.flags,
    # Before all work is in, it is unknown how much people differ.
    "disputed": case((_complete, UnitRow.disputed), else_=-1),
}


def _seen_by(person: User) -> list[ColumnElement[bool]]:
    """As SQL: the units that somebody may see."""
    found = [may_know(person.id)]
    if not may(person.role, Action.MANAGE):
        found.append(UnitRow.gold.is_(None))
    if not may(person.role, Action.ADJUDICATE):
        found.append(_complete)
    return found


def find_units(session: Session, person: User, query: UnitQuery) -> UnitPage:
    """A page of the units that match what somebody looks for."""
    total = session.scalar(_matching(select(func.count()).select_from(UnitRow), person, query)) or 0
    pages = max(1, -(-total // ON_A_PAGE))
    page = min(query.page, pages)
    ids = session.scalars(_sorted(person, query).limit(ON_A_PAGE).offset((page - 1) * ON_A_PAGE)).all()
    return UnitPage(units=summaries(session, ids), total=total, page=page, pages=pages)


def matching_ids(session: Session, person: User, query: UnitQuery) -> list[str]:
    """The ids of all units that match, in the order of the table."""
    return list(session.scalars(_sorted(person, query)))


def visible_ids(session: Session, person: User, unit_ids: Iterable[str]) -> list[str]:
    """Those of some units that a person may see, in the given order."""
    wanted = list(dict.fromkeys(unit_ids))
    there = set(session.scalars(select(UnitRow.id).where(UnitRow.id.in_(wanted), *_seen_by(person))))
    return [unit_id for unit_id in wanted if unit_id in there]


def _matching(statement: Select[Any], person: User, query: UnitQuery) -> Select[Any]:
    conditions = _seen_by(person) + [_ONLY[name] for name in query.only]
    if "gold" not in query.only:
        conditions.append(UnitRow.gold.is_(None))
    if query.queue:
        conditions.append(UnitRow.queue_id == query.queue)
    if query.state:
        conditions.append(_state.in_(query.state))
    if query.person:
        assigned = select(DutyRow.unit_id).where(DutyRow.unit_id.is_not(None), DutyRow.person_id == query.person)
        works = _copies(AssignmentRow.person_id == query.person, AssignmentRow.state != LAPSED)
        conditions.append(or_(works, UnitRow.id.in_(assigned)))
    return statement.where(*conditions, *map(has_words, searched(query.q).split()))


def _sorted(person: User, query: UnitQuery) -> Select[str]:
    queue = select(QueueRow.position).where(QueueRow.id == UnitRow.queue_id).correlate(UnitRow).scalar_subquery()
    order: tuple[Any, ...] = (queue, UnitRow.queue_id, UnitRow.position, UnitRow.id)
    statement = _matching(select(UnitRow.id), person, query)
    if query.sort == "order":
        return statement.order_by(*(column.desc() for column in order) if query.down else order)
    column = _SORTED_BY[query.sort]
    return statement.order_by(column.desc() if query.down else column, *order)


def summaries(session: Session, unit_ids: Sequence[str]) -> list[UnitSummary]:
    """The rows of some units, in the given order."""
    shown = (UnitRow.id, UnitRow.queue_id, UnitRow.title, UnitRow.video_id, UnitRow.turns, UnitRow.flags)
    facts = (UnitRow.gold.is_not(None).label("is_gold"), UnitRow.set_aside.is_not(None).label("is_aside"))
    notes, unsure = (
        select(func.count())
        .select_from(EntryRow)
        .join(AssignmentRow, AssignmentRow.id == EntryRow.assignment_id)
        .where(AssignmentRow.unit_id == UnitRow.id, _is_submitted, column)
        .correlate(UnitRow)
        .scalar_subquery()
        for column in (EntryRow.noted, EntryRow.unsure)
    )
    found = {}
    for row in session.execute(
        select(*shown, UnitRow.disputed, _complete.label("is_complete"), _state.label("state"), *facts)
        .add_columns(notes.label("notes"), unsure.label("unsure"), QueueRow.title.label("queue"), QueueRow.task)
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .where(UnitRow.id.in_(unit_ids))
    ):
        found[row.id] = UnitSummary(
            id=row.id,
            name=row.title,
            queue=row.queue_id,
            queue_title=row.queue,
            task=row.task,
            video=row.video_id,
            state=row.state,
            turns=row.turns,
            flags=row.flags,
            disputed=row.disputed if row.is_complete else None,
            notes=row.notes if row.is_complete else None,
            unsure=row.unsure if row.is_complete else None,
            aside=row.is_aside,
            gold=row.is_gold,
        )
    at_work = (
        select(AssignmentRow, PersonRow.name)
        .join(PersonRow, PersonRow.id == AssignmentRow.person_id)
        .where(AssignmentRow.unit_id.in_(unit_ids), AssignmentRow.state != LAPSED)
        .order_by(AssignmentRow.role.desc(), PersonRow.sign_in)
    )
    for copy, name in session.execute(at_work):
        here = PersonHere(id=copy.person_id, name=name, role=copy.role, state=copy.state, round=copy.round)
        found[copy.unit_id].people.append(here)
    if duties := unit_duties(session, unit_ids):
        names = names_by_id(session)
        for duty in duties:
            found[duty.unit_id or ""].assigned.append(names[duty.person_id])
    return [found[unit_id] for unit_id in unit_ids]
