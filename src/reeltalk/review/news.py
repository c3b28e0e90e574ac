"""What is new to one person: comments for them, work that came back, tasks assigned to them, guidelines that changed.

Something is new until its person marks the news as read.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import exists, or_, select
from sqlalchemy.orm import Session

from reeltalk.review.access import Action, may
from reeltalk.review.assigning import ADJUDICATOR, ANNOTATOR
from reeltalk.review.comments import is_for_all, mentions, readable_by
from reeltalk.review.duties import of_person
from reeltalk.review.events import Transaction
from reeltalk.review.guiding import read_versions
from reeltalk.review.naming import unit_names
from reeltalk.review.tables import (
    AssignmentRow,
    CommentRow,
    DutyRow,
    EventRow,
    GuidelineRow,
    PersonRow,
    QueueRow,
    UnitRow,
    moment,
)

SEEN: Final = "news_seen"
"""Key in a person's settings: the moment up to which they marked the news as read. Also the kind of its event."""
DAYS: Final = 30
"""How long news are listed."""
MOST: Final = 50
"""Most news of one kind that are listed."""


@dataclass(frozen=True)
class News:
    """Something that happened and concerns a person."""

    at: str
    kind: str
    """`comment`, `returned`, `assigned` or `guideline`."""
    says: str
    """What happened, in a sentence."""
    text: str
    """The comment, or the note with which work came back."""
    link: str
    """Where to look."""
    is_new: bool


def list_news(session: Session, person_id: str) -> list[News]:
    """The news of the last `DAYS` days, newest first."""
    person = session.get_one(PersonRow, person_id)
    oldest = moment(datetime.fromisoformat(moment()) - timedelta(days=DAYS))
    return _news(session, person, max(oldest, person.created_at))


def count_news(session: Session, person_id: str) -> int:
    """How many news somebody has not marked as read."""
    person = session.get_one(PersonRow, person_id)
    return len(_news(session, person, _seen(person)))


def mark_seen(change: Transaction, person_id: str, until: str) -> None:
    """Mark all news up to a moment as read."""
    person = change.session.get_one(PersonRow, person_id)
    before, until = _seen(person), min(until, change.at)
    if until > before:
        person.settings = {**(person.settings or {}), SEEN: until}
        change.record("seen", person.id, before={"until": before}, after={"until": until})


def _seen(person: PersonRow) -> str:
    return str((person.settings or {}).get(SEEN) or person.created_at)


def _news(session: Session, person: PersonRow, since: str) -> list[News]:
    seen = _seen(person)
    found = [*_comments(session, person, since, seen), *_returned(session, person, since, seen)]
    if may(person.role, Action.WORK):
        found += [*_assigned(session, person, since, seen), *_guidelines(session, person, since, seen)]
    return sorted(found, key=lambda news: news.at, reverse=True)


def _comments(session: Session, person: PersonRow, since: str, seen: str) -> list[News]:
    leads = may(person.role, Action.ADJUDICATE)
    query = (
        select(CommentRow, PersonRow.name)
        .join(UnitRow, UnitRow.id == CommentRow.unit_id)
        .join(PersonRow, PersonRow.id == CommentRow.author_id)
        .where(CommentRow.at > since, CommentRow.author_id != person.id, readable_by(session, person.id))
        .order_by(CommentRow.at.desc(), CommentRow.id)
        .limit(MOST)
    )
    if leads:
        mine = exists().where(AssignmentRow.unit_id == CommentRow.unit_id, AssignmentRow.person_id == person.id)
        query = query.where(or_(mentions(person.id), is_for_all(), mine))
    rows = session.execute(query).all()
    units = {row.unit_id for row, _ in rows}
    works: dict[str, AssignmentRow] = {}
    for work in session.scalars(
        select(AssignmentRow).where(AssignmentRow.person_id == person.id, AssignmentRow.unit_id.in_(units))
    ):
        works[work.unit_id] = work
    names = unit_names(session, units, seen_by=None if leads else person.id)
    return [
        News(row.at, "comment", f"{author} on {names[row.unit_id]}", row.text,
             _link(works.get(row.unit_id), row.unit_id), row.at > seen)
        for row, author in rows
    ]  # fmt: skip


def _link(work: AssignmentRow | None, unit_id: str) -> str:
    if work is None:
        return f"/units/{unit_id}"
    return f"/{'adjudicate' if work.role == ADJUDICATOR else 'work'}/{work.id}"


def _returned(session: Session, person: PersonRow, since: str, seen: str) -> list[News]:
    query = (
        select(AssignmentRow, EventRow.at)
        .join(EventRow, EventRow.subject == AssignmentRow.id)
        .where(
            AssignmentRow.person_id == person.id,
            AssignmentRow.state == "returned",
            AssignmentRow.role == ANNOTATOR,
            EventRow.kind == "return",
            EventRow.at > since,
        )
        .order_by(EventRow.at)
    )
    latest = {work.id: (work, at) for work, at in session.execute(query)}
    names = unit_names(session, {work.unit_id for work, _ in latest.values()}, seen_by=person.id)
    return [
        News(at, "returned", f"{names[work.unit_id]} came back to you", work.note, f"/work/{work.id}", at > seen)
        for work, at in latest.values()
    ]


def _assigned(session: Session, person: PersonRow, since: str, seen: str) -> list[News]:
    query = (
        select(DutyRow, QueueRow.title)
        .join(QueueRow, QueueRow.id == DutyRow.queue_id)
        .where(of_person(person.id), DutyRow.created_at > since)
        .order_by(DutyRow.created_at.desc(), DutyRow.id)
    )
    together: dict[tuple[str, str, bool], list[DutyRow]] = defaultdict(list)
    for duty, title in session.execute(query):
        together[duty.created_at, title, duty.unit_id is None].append(duty)
    found = []
    for (at, title, whole), duties in list(together.items())[:MOST]:
        count = "The tasks" if whole else "A task" if len(duties) == 1 else f"{len(duties):,} tasks"
        until = max((duty.deadline or "" for duty in duties), default="")
        says = f"{count} of “{title}” {'is' if count == 'A task' else 'are'} assigned to you"
        found.append(News(at, "assigned", f"{says}, until {until}" if until else says, "", "/", at > seen))
    return found


def _guidelines(session: Session, person: PersonRow, since: str, seen: str) -> list[News]:
    read = read_versions(session, person.id)
    query = (
        select(GuidelineRow.queue_id, GuidelineRow.version, GuidelineRow.at, QueueRow.title)
        .join(QueueRow, QueueRow.id == GuidelineRow.queue_id)
        .where(QueueRow.is_open, GuidelineRow.at > since, GuidelineRow.author != person.id)
        .order_by(GuidelineRow.version)
    )
    latest = {row.queue_id: row for row in session.execute(query)}
    return [
        News(
            row.at, "guideline", f"The guideline of “{row.title}” changed", "", f"/guidelines/{queue_id}", row.at > seen
        )
        for queue_id, row in latest.items()
        if row.version > read.get(queue_id, -1)
    ]
