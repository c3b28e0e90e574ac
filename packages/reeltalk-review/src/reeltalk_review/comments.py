"""Comments on a unit or on one place of it: who may read which, and how one is added.

A comment may say what its author thinks of the work, so it falls under the blind rule. Until all work on a unit is in,
what an annotator writes reaches the owners and adjudicators who do not work on the unit themselves, and nobody else;
the author is told so. Other annotators never get it. Annotators read what owners and adjudicators write.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, Select, and_, exists, or_, select
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from reeltalk.schema.record import Json
from reeltalk_review.access import ALLOWED, Action, may
from reeltalk_review.assigning import ANNOTATOR, may_know
from reeltalk_review.errors import InvalidValue
from reeltalk_review.events import Transaction
from reeltalk_review.settling import OPEN, sides
from reeltalk_review.tables import AssignmentRow, CommentRow, EntryRow, PersonRow, QueueRow, UnitRow
from reeltalk_review.tasks.registry import TASKS

COMMENT: Final = "comment"
"""Kind of the event of a comment. Its subject is the unit."""
LONGEST_COMMENT: Final = 2000
MOST_COMMENTS: Final = 200
"""Most comments of one person on one unit."""
LEADS: Final = tuple(sorted(ALLOWED[Action.ADJUDICATE]))
"""Roles of those who read annotators' comments."""
TO_LEADS: Final = "Owners and adjudicators read this at once. Other annotators of this task never do."
TO_ANNOTATORS: Final = "Everybody who works on this task reads this."
SOMEBODY: Final = "an annotator"
"""The author of a comment whose name is not shown."""


@dataclass(frozen=True)
class Comment:
    """A comment as one person may read it."""

    id: str
    unit_id: str
    place: str | None
    author: str
    """A name, or the letter of an annotator whose name is not shown."""
    text: str
    at: str
    mine: bool

    def document(self) -> dict[str, Json]:
        """As JSON for screens and scripts."""
        return {name: getattr(self, name) for name in ("id", "place", "author", "text", "at", "mine")}


def readable_by(session: Session, person_id: str) -> ColumnElement[bool]:
    """As SQL about a comment joined with its unit: this person may read it.

    Args:
        session: The database.
        person_id: Who reads. Their role decides, as it is now.
    """
    person = session.get(PersonRow, person_id)
    author = aliased(PersonRow)
    mine = CommentRow.author_id == person_id
    works = _works_on(person_id)
    by_lead = and_(
        exists().where(author.id == CommentRow.author_id, author.role.in_(LEADS)), ~_works_on(CommentRow.author_id)
    )
    told = and_(works, by_lead)
    if person is None or not may(person.role, Action.ADJUDICATE):
        return or_(mine, told)
    return or_(mine, told, and_(or_(UnitRow.state != OPEN, ~works), may_know(person_id)))


def _works_on(person_id: str | InstrumentedAttribute[str]) -> ColumnElement[bool]:
    work = aliased(AssignmentRow)
    return exists().where(work.unit_id == CommentRow.unit_id, work.person_id == person_id, work.role == ANNOTATOR)


def comments_on(
    session: Session, person_id: str, unit: UnitRow, letters: Mapping[str, str] | None = None
) -> list[Comment]:
    """The comments on a unit that somebody may read, first to last.

    Args:
        session: The database.
        person_id: Who reads.
        unit: The unit.
        letters: Letters of annotators in place of their names, by id; None to show names.
    """
    found = []
    for row, name, role in session.execute(_readable(session, person_id).where(CommentRow.unit_id == unit.id)):
        mine = row.author_id == person_id
        hidden = letters is not None and not mine and (role not in LEADS or row.author_id in letters)
        author = letters.get(row.author_id, SOMEBODY) if hidden and letters is not None else name
        found.append(Comment(row.id, row.unit_id, row.place, author, row.text, row.at, mine))
    return found


def all_comments(session: Session, person_id: str) -> list[Comment]:
    """All comments that somebody may read, first to last, with the names of their authors."""
    return [
        Comment(row.id, row.unit_id, row.place, name, row.text, row.at, row.author_id == person_id)
        for row, name, _ in session.execute(_readable(session, person_id))
    ]


def _readable(session: Session, person_id: str) -> Select[CommentRow, str, str]:
    return (
        select(CommentRow, PersonRow.name, PersonRow.role)
        .join(UnitRow, UnitRow.id == CommentRow.unit_id)
        .join(PersonRow, PersonRow.id == CommentRow.author_id)
        .where(readable_by(session, person_id))
        .order_by(CommentRow.at, CommentRow.id)
    )


def comments_view(session: Session, person_id: str, unit: UnitRow, *, names: bool = True) -> dict[str, Json]:
    """What a screen shows about comments on a unit: `comments`, and in `comments_read_by` who reads a new one.

    Args:
        session: The database.
        person_id: Who reads.
        unit: The unit.
        names: False: annotators are shown by the letters that adjudicators see.
    """
    letters = None if names else letters_of(session, unit)
    leads = _leads_on(session, person_id, unit)
    return {
        "comments": [comment.document() for comment in comments_on(session, person_id, unit, letters)],
        "comments_read_by": TO_ANNOTATORS if leads else TO_LEADS,
    }


def letters_of(session: Session, unit: UnitRow) -> dict[str, str]:
    """The letters by which adjudicators see the annotators of a complete unit, by id; none while it is open."""
    return {} if unit.state == OPEN else {row.person_id: letter for letter, row, _ in sides(session, unit)}


def _leads_on(session: Session, person_id: str, unit: UnitRow) -> bool:
    """True if somebody reads annotators' comments on a unit: they lead, and do not work on it themselves."""
    person = session.get_one(PersonRow, person_id)
    works = exists().where(
        AssignmentRow.unit_id == unit.id, AssignmentRow.person_id == person_id, AssignmentRow.role == ANNOTATOR
    )
    return may(person.role, Action.ADJUDICATE) and not session.scalar(select(works))


def add_comment(change: Transaction, person_id: str, unit: UnitRow, place: str | None, text: str) -> CommentRow:
    """Comment on a unit.

    Args:
        change: The transaction.
        person_id: The author, who may open the unit.
        unit: The unit.
        place: The place in it; None for the whole unit.
        text: The comment, 1 to `LONGEST_COMMENT` characters.

    Raises:
        InvalidValue: The text or the place cannot be used, or there are too many comments.
    """
    session, text = change.session, text.strip()
    if not 1 <= len(text) <= LONGEST_COMMENT:
        raise InvalidValue(f"a comment has 1 to {LONGEST_COMMENT:,} characters", field="text")
    if place is not None and not _is_place(session, person_id, unit, place):
        raise InvalidValue("this task has no such place", field="place")
    own = select(CommentRow.id).where(CommentRow.unit_id == unit.id, CommentRow.author_id == person_id)
    if len(session.scalars(own).all()) >= MOST_COMMENTS:
        raise InvalidValue(f"there are {MOST_COMMENTS} comments by you on this task; write to the owners", field="text")
    row = CommentRow(
        id=secrets.token_hex(8), unit_id=unit.id, place=place, author_id=person_id, text=text, at=change.at
    )
    session.add(row)
    change.record(COMMENT, unit.id, place=place, after={"id": row.id, "author": person_id, "text": text})
    return row


def _is_place(session: Session, person_id: str, unit: UnitRow, place: str) -> bool:
    task = TASKS.get(session.get_one(QueueRow, unit.queue_id).task)
    if task is not None and place in task.places(unit.content):
        return True
    # A place that somebody added, such as a drawn link: their own, or anybody's once all work is in.
    added = (
        select(EntryRow.place)
        .join(AssignmentRow, AssignmentRow.id == EntryRow.assignment_id)
        .where(AssignmentRow.unit_id == unit.id, EntryRow.place == place)
    )
    if unit.state == OPEN:
        added = added.where(AssignmentRow.person_id == person_id)
    return session.scalars(added.limit(1)).first() is not None
