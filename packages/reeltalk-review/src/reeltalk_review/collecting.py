"""Two-role collection of dialogues, as in VDAct: an investigator asks without the video, a correspondent answers.

The investigator sees the unordered list of activities and never the video: every route that serves a video calls
`is_hidden_from`. A pair's first dialogues must be approved before the next can begin, and the two swap roles half-way.

Reference: VDAct (AAAI 2025), section on data collection. Which half begins and how videos are drawn are our choices.
"""

import hashlib
import secrets
import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import CompoundSelect, Select, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Json
from reeltalk.schema.titles import activity_title
from reeltalk.schema.turn_sense import Film, turn_findings
from reeltalk.store.content import Content
from reeltalk_review.errors import Conflict, Forbidden, InvalidValue, NotFound
from reeltalk_review.events import Transaction
from reeltalk_review.naming import ContentNames, dialogue_name
from reeltalk_review.tables import (
    AssignmentRow,
    EventRow,
    LiveDialogueRow,
    MessageRow,
    PairRow,
    PersonRow,
    QueueRow,
    UnitRow,
)
from reeltalk_review.tasks.task import Draft

GUIDE: Final = Path(__file__).parent / "guide.toml"


@cache
def collection_guide() -> dict[str, Any]:
    """Rules for each role, kinds of questions and sample dialogues."""
    return tomllib.loads(GUIDE.read_text(encoding="utf-8"))


KIND: Final = "collect"
LIVE: Final = "live"
AWAITING: Final = "awaiting"
APPROVED: Final = "approved"
DROPPED: Final = "dropped"
LONGEST_MESSAGE: Final = 2_000


class CollectSettings(BaseModel):
    """Settings of a queue for collecting."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    least_turns: Annotated[int, Field(ge=1, le=100)] = 10
    """Least number of questions in a dialogue. Every released dialogue of VDAct has at least 10."""
    most_turns: Annotated[int, Field(ge=1, le=200)] = 15
    approve_first: Annotated[int, Field(ge=0, le=100)] = 2
    """How many of a pair's first dialogues wait for approval, one by one."""


def collecting_drafts(content: Content) -> list[Draft]:
    """One unit for each video, with its activities in alphabetical order, which reveals nothing."""
    activities: dict[str, set[str]] = {}
    for clip in content.clips:
        name = clip.extra.get("activity")
        if isinstance(name, str):
            activities.setdefault(clip.video_id, set()).add(activity_title(name))
    names = ContentNames(content)
    return [
        Draft(
            target_table="videos",
            target_id=video.id,
            # The investigator must not learn from a name what the video shows.
            title=names.hidden_video(video.id),
            video_id=video.id,
            content={"activities": sorted(activities.get(video.id, ())), "film": asdict(Film.of(video))},
        )
        for video in content.videos
    ]


def add_pair(change: Transaction, queue_id: str, first_id: str, second_id: str, goal: int) -> PairRow:
    """Let two people collect dialogues together.

    Raises:
        InvalidValue: Both are the same person, one cannot work, or the goal is odd or out of range.
        NotFound: There is no such queue.
    """
    queue = change.session.get(QueueRow, queue_id)
    if queue is None or queue.task != KIND:
        raise NotFound("there is no such queue for collecting dialogues")
    people = [change.session.get(PersonRow, person_id) for person_id in (first_id, second_id)]
    if first_id == second_id or any(row is None or row.disabled_at or row.role == "reader" for row in people):
        raise InvalidValue("a pair is two different people who may work", field="second")
    if not 2 <= goal <= 1000 or goal % 2:
        raise InvalidValue("a pair collects 2 to 1,000 dialogues, an even number: roles change half-way", field="goal")
    row = PairRow(
        id=secrets.token_hex(8),
        queue_id=queue_id,
        first_id=first_id,
        second_id=second_id,
        goal=goal,
        created_at=change.at,
    )
    change.session.add(row)
    change.session.flush()
    change.record("pair", row.id, after={"queue": queue_id, "first": first_id, "second": second_id, "goal": goal})
    return row


class PairState(NamedTuple):
    """The progress of a pair."""

    live: LiveDialogueRow | None
    """The dialogue that is under way."""
    begun: int
    """Number of dialogues, dropped ones included."""
    counted: int
    """The same without dropped ones."""
    roles: tuple[str, str]
    """Who asks and who answers in the next dialogue."""
    waits: str
    """Why no other can begin; empty if one can."""


def pair_state(session: Session, pair: PairRow) -> PairState:
    """The progress of a pair. The two swap roles half-way."""
    found = dialogues_of(session, pair.id)
    counted = [row.state for row in found if row.state != DROPPED]
    roles = (pair.first_id, pair.second_id) if len(counted) < pair.goal / 2 else (pair.second_id, pair.first_id)
    waits = ""
    if len(counted) >= pair.goal:
        waits = "all dialogues are collected; thank you"
    elif AWAITING in counted and counted.count(APPROVED) < collect_settings(session, pair.queue_id).approve_first:
        waits = "your last dialogue awaits approval"
    live = next((row for row in found if row.state == LIVE), None)
    return PairState(live, len(found), len(counted), roles, waits)


def begin_dialogue(change: Transaction, person_id: str, pair_id: str) -> LiveDialogueRow:
    """Continue a pair's dialogue, or begin the next one.

    Raises:
        NotFound: The person has no such pair.
        Conflict: A dialogue awaits approval, all are collected, or no video is left for the pair.
    """
    session = change.session
    pair = session.get(PairRow, pair_id)
    if pair is None or person_id not in (pair.first_id, pair.second_id):
        raise NotFound("you have no such pair")
    state = pair_state(session, pair)
    if state.live is not None:
        return state.live
    if state.waits:
        raise Conflict(state.waits)
    asks, answers = state.roles
    unit = _next_unit(session, pair.queue_id, asks, answers)
    if unit is None:
        raise Conflict("no video is left that the investigator has not seen")
    row = LiveDialogueRow(
        id=secrets.token_hex(8),
        pair_id=pair.id,
        number=state.begun,
        unit_id=unit.id,
        investigator_id=asks,
        correspondent_id=answers,
        state=LIVE,
        note="",
        created_at=change.at,
    )
    session.add(row)
    session.flush()
    after = {"pair": pair.id, "unit": unit.id, "investigator": asks, "correspondent": answers}
    change.record("begin", row.id, after=after)
    return row


def say_in_dialogue(
    change: Transaction,
    person_id: str,
    dialogue_id: str,
    position: int,
    text: str,
    evidence: Sequence[Interval] = (),
) -> MessageRow:
    """Ask or answer. Until the other person replies, a message at the same position corrects the earlier one.

    Positions count from 0: questions are even, and answers, which may have evidence, are odd.

    Raises:
        NotFound: The person has no such dialogue.
        Conflict: It is the other's turn, or another message came first (`said_meanwhile`).
        InvalidValue: The text is empty or too long, or the turn makes no sense; `more` has the findings.
    """
    row = own_dialogue(change.session, person_id, dialogue_id)
    if row.state != LIVE:
        raise Conflict("this dialogue is finished")
    text, is_question = text.strip(), position % 2 == 0
    if not 1 <= len(text) <= LONGEST_MESSAGE:
        raise InvalidValue(f"a message has 1 to {LONGEST_MESSAGE:,} characters", field="text")
    said = messages_of(change.session, row.id)
    if person_id != (row.investigator_id if is_question else row.correspondent_id):
        raise Conflict("it is the other's turn", code="not_your_turn")
    if position not in (len(said), len(said) - 1):
        raise Conflict("another message came meanwhile; look again", code="said_meanwhile")
    most = _settings_of(change.session, row).most_turns
    if position >= 2 * most:
        raise Conflict(f"a dialogue has at most {most} questions; finish it")
    if evidence and is_question:
        raise InvalidValue("only an answer has evidence", field="evidence")
    texts = [text] if is_question else [said[position - 1].text, text]
    film = Film(**change.session.get_one(UnitRow, row.unit_id).content["film"])
    _refuse_nonsense(collected_turn(texts, evidence, film), film, position)
    parts = [part.model_dump() for part in evidence]
    found = said[position] if position < len(said) else None
    before = {"text": found.text, "evidence": found.evidence} if found is not None else None
    change.record("say", row.id, place=str(position), before=before, after={"text": text, "evidence": parts})
    if found is None:
        found = MessageRow(dialogue_id=row.id, position=position, text=text, evidence=parts, at=change.at)
        change.session.add(found)
    else:
        found.text, found.evidence, found.at = text, parts, change.at
    change.session.flush()
    return found


def collected_turn(texts: Sequence[str], evidence: Iterable[Interval], film: Film) -> Turn:
    """A question and its answer, if there is one. It is asked after the whole video, which the correspondent sees."""
    question, *references = texts
    return Turn(question=question, references=tuple(references), asked_at_s=film.duration_s, evidence=tuple(evidence))


def _refuse_nonsense(turn: Turn, film: Film, position: int) -> None:
    """Refuse a message for all findings: each can be put right at once."""
    number, findings = position // 2 + 1, []
    for found in turn_findings(turn, film, answered=False):
        field = found.field if found.field.startswith("evidence") else "text"
        findings.append({"field": field, "turn": number, "text": found.text, "may_go_on": False})
    if findings:
        said = f"Turn {number}: {findings[0]['text']}"
        raise InvalidValue(said, code="no_sense", field=str(findings[0]["field"]), more={"findings": findings})


def finish_dialogue(change: Transaction, person_id: str, dialogue_id: str) -> LiveDialogueRow:
    """End a dialogue. The investigator decides when.

    Raises:
        NotFound: The person has no such dialogue.
        Forbidden: The person is its correspondent.
        Conflict: It is finished, has too few questions, or the last one is not answered.
    """
    row = own_dialogue(change.session, person_id, dialogue_id)
    if row.investigator_id != person_id:
        raise Forbidden("the investigator ends the dialogue")
    if row.state != LIVE:
        raise Conflict("this dialogue is finished")
    settings, said = _settings_of(change.session, row), len(messages_of(change.session, row.id))
    if said % 2:
        raise Conflict("the last question is not answered yet")
    if said // 2 < settings.least_turns:
        raise Conflict(f"a dialogue has at least {settings.least_turns} questions; this one has {said // 2}")
    others = dialogues_of(change.session, row.pair_id)
    approved = sum(other.state == APPROVED for other in others if other.number < row.number)
    row.state = APPROVED if approved >= settings.approve_first else AWAITING
    row.finished_at = change.at
    change.record("finish", row.id, after={"state": row.state})
    return row


@dataclass(frozen=True)
class PairTurn:
    """What comes next in one of somebody's pairs."""

    pair_id: str
    queue_id: str
    partner: str
    """The other's name."""
    says: str
    """What comes next, as a sentence."""
    action: str | None
    """The button that leads there; None if the person must wait, or all is collected."""
    is_due: bool
    """True if the other waits for this person."""


def pair_turns(session: Session, person_id: str) -> list[PairTurn]:
    """Whose turn it is in each of somebody's pairs; those that wait for this person come first."""
    query = select(PairRow).where(or_(PairRow.first_id == person_id, PairRow.second_id == person_id))
    found = [_pair_turn(session, person_id, pair) for pair in session.scalars(query.order_by(PairRow.created_at))]
    return sorted(found, key=lambda turn: not turn.is_due)


def _pair_turn(session: Session, person_id: str, pair: PairRow) -> PairTurn:
    partner = session.get_one(PersonRow, pair.second_id if pair.first_id == person_id else pair.first_id).name
    state = pair_state(session, pair)
    action, is_due = None, False
    if state.live is not None:
        is_question = len(messages_of(session, state.live.id)) % 2 == 0
        action, is_due = "Go on", is_question == (state.live.investigator_id == person_id)
        name, verb = dialogue_name(state.live.number, pair.goal), "ask" if is_question else "answer"
        says = f"{name}: it is your turn to {verb}." if is_due else f"{name}: {partner} is to {verb}."
    elif state.waits:
        says = f"{state.waits.capitalize()}."
    else:
        action, is_due = "Begin", state.roles[0] == person_id
        says = f"{dialogue_name(state.counted, pair.goal)} can begin: you {'ask' if is_due else 'answer'}."
    return PairTurn(pair.id, pair.queue_id, partner, says, action, is_due)


def judge_dialogue(change: Transaction, person_id: str, dialogue_id: str, verdict: str, note: str) -> LiveDialogueRow:
    """Approve a finished dialogue, send it back, or drop it: `approve`, `send_back` or `drop`.

    Raises:
        NotFound: There is no such finished dialogue.
        Forbidden: The person belongs to the pair.
        InvalidValue: There is no such verdict, or a note is missing.
        Conflict: It was sent back while the pair has begun another.
    """
    row = change.session.get(LiveDialogueRow, dialogue_id)
    if row is None or row.state not in (AWAITING, APPROVED):
        raise NotFound("there is no such dialogue that was finished")
    if person_id in (row.investigator_id, row.correspondent_id):
        raise Forbidden("somebody else must judge your own dialogue")
    if verdict not in ("approve", "send_back", "drop"):
        raise InvalidValue("choose approve, send_back or drop", field="verdict")
    if verdict != "approve" and not 1 <= len(note.strip()) <= LONGEST_MESSAGE:
        raise InvalidValue("say what should be done, or why it is dropped", field="note")
    others = dialogues_of(change.session, row.pair_id)
    if verdict == "send_back" and any(other.state == LIVE for other in others):
        raise Conflict("the pair has begun another dialogue; wait until it is finished")
    before = row.state
    row.state = {"approve": APPROVED, "send_back": LIVE, "drop": DROPPED}[verdict]
    row.note = note.strip() if verdict != "approve" else ""
    change.record("judge", row.id, before={"state": before}, after={"state": row.state, "note": row.note})
    return row


def is_hidden_from(session: Session, person_id: str, videos: Collection[str]) -> bool:
    """True if a person may not see one of some videos, whatever their role: they ask about it without knowing it."""
    return not set(videos).isdisjoint(session.scalars(hidden_videos(person_id)))


def hidden_videos(person_id: str) -> Select[str | None]:
    """As SQL: ids of the videos that a person asks about now. They get no other work on these either."""
    unit = aliased(UnitRow)
    return (
        select(unit.video_id.label("kept"))
        .join(LiveDialogueRow, LiveDialogueRow.unit_id == unit.id)
        .where(
            unit.video_id.is_not(None),
            LiveDialogueRow.investigator_id == person_id,
            LiveDialogueRow.state.in_((LIVE, AWAITING)),
        )
    )


def known_videos(person_id: str, queue_id: Any = None) -> CompoundSelect[Any]:
    """As SQL: ids of the videos that a person has seen, in units, in dialogues, and in judging these.

    Args:
        queue_id: Id of a queue that does not count, as a value or as SQL.
    """
    unit, other = aliased(UnitRow), aliased(UnitRow)
    mine, talk = aliased(AssignmentRow), aliased(LiveDialogueRow)
    judged = exists().where(EventRow.subject == talk.id, EventRow.kind == "judge", EventRow.author == person_id)
    held = select(unit.video_id.label("known")).join(mine, mine.unit_id == unit.id)
    held = held.where(unit.video_id.is_not(None), mine.person_id == person_id)
    talked = select(other.video_id).join(talk, talk.unit_id == other.id).where(other.video_id.is_not(None))
    talked = talked.where(or_(talk.investigator_id == person_id, talk.correspondent_id == person_id, judged))
    if queue_id is not None:
        held, talked = held.where(unit.queue_id != queue_id), talked.where(other.queue_id != queue_id)
    return held.union_all(talked)


def own_dialogue(session: Session, person_id: str, dialogue_id: str) -> LiveDialogueRow:
    """A dialogue of the person who asks.

    Raises:
        NotFound: There is no such dialogue, or it belongs to others.
    """
    row = session.get(LiveDialogueRow, dialogue_id)
    if row is None or person_id not in (row.investigator_id, row.correspondent_id):
        raise NotFound("you have no such dialogue")
    return row


def dialogues_of(session: Session, pair_id: str) -> Sequence[LiveDialogueRow]:
    """A pair's dialogues, first to last."""
    query = select(LiveDialogueRow).where(LiveDialogueRow.pair_id == pair_id).order_by(LiveDialogueRow.number)
    return session.scalars(query).all()


def messages_of(session: Session, dialogue_id: str) -> Sequence[MessageRow]:
    """The messages of a dialogue, first to last."""
    query = select(MessageRow).where(MessageRow.dialogue_id == dialogue_id).order_by(MessageRow.position)
    return session.scalars(query).all()


def collect_settings(session: Session, queue_id: str) -> CollectSettings:
    """Settings of a queue for collecting."""
    return CollectSettings.model_validate(session.get_one(QueueRow, queue_id).settings)


def approved_dialogues(
    session: Session, among: Collection[str] | None = None
) -> Iterator[tuple[LiveDialogueRow, UnitRow, Sequence[MessageRow]]]:
    """Approved dialogues with their unit and their messages, in the order in which they were begun; by default all."""
    query = (
        select(LiveDialogueRow, UnitRow)
        .join(UnitRow, UnitRow.id == LiveDialogueRow.unit_id)
        .where(LiveDialogueRow.state == APPROVED)
        .order_by(LiveDialogueRow.created_at, LiveDialogueRow.id)
    )
    if among is not None:
        query = query.where(LiveDialogueRow.id.in_(among))
    for row, unit in session.execute(query).all():
        yield row, unit, messages_of(session, row.id)


def dialogue_view(session: Session, person_id: str, row: LiveDialogueRow) -> dict[str, Json]:
    """A dialogue as one of the two sees it. Nothing in the view of the investigator names the video."""
    settings = _settings_of(session, row)
    unit = session.get_one(UnitRow, row.unit_id)
    said = messages_of(session, row.id)
    investigates = row.investigator_id == person_id
    answer: dict[str, Any] = {
        "id": row.id,
        "role": "investigator" if investigates else "correspondent",
        "state": row.state,
        "note": row.note,
        "number": row.number + 1,
        "least_turns": settings.least_turns,
        "most_turns": settings.most_turns,
        "messages": [{"position": message.position, "text": message.text, "at": message.at} for message in said],
        "your_turn": row.state == LIVE and (len(said) % 2 == 0) == investigates,
        "activities": unit.content["activities"],
    }
    if not investigates:
        for view, message in zip(answer["messages"], said, strict=True):
            view["evidence"] = message.evidence
        answer |= {"video_id": unit.video_id, "film": unit.content["film"]}
    return answer


def _settings_of(session: Session, row: LiveDialogueRow) -> CollectSettings:
    return collect_settings(session, session.get_one(PairRow, row.pair_id).queue_id)


def _next_unit(session: Session, queue_id: str, investigator_id: str, correspondent_id: str) -> UnitRow | None:
    """A unit that has room for another dialogue, with a video of which the investigator has never seen anything."""
    taken = (
        select(func.count())
        .select_from(LiveDialogueRow)
        .where(LiveDialogueRow.unit_id == UnitRow.id, LiveDialogueRow.state != DROPPED)
        .correlate(UnitRow)
        .scalar_subquery()
    )
    # Who asked about a video does not answer about it either.
    other = aliased(UnitRow)
    asked = select(other.video_id).join(LiveDialogueRow, LiveDialogueRow.unit_id == other.id)
    asked = asked.where(LiveDialogueRow.investigator_id == correspondent_id, other.video_id.is_not(None))
    free = session.scalars(
        select(UnitRow).where(
            UnitRow.queue_id == queue_id,
            taken < session.get_one(QueueRow, queue_id).overlap,
            UnitRow.video_id.not_in(known_videos(investigator_id)),
            UnitRow.video_id.not_in(asked),
        )
    ).all()
    # In a mixed order: neighbours in the benchmark may be alike and should not follow each other.
    key = f"{investigator_id} {correspondent_id}"
    return min(free, key=lambda unit: hashlib.sha256(f"{key} {unit.id}".encode()).digest(), default=None)


def awaiting_approval(session: Session, person_id: str) -> list[tuple[str, str]]:
    """Id and name of the finished dialogues of others that somebody could approve, first to last."""
    query = (
        select(LiveDialogueRow, PairRow.goal)
        .join(PairRow, PairRow.id == LiveDialogueRow.pair_id)
        .where(
            LiveDialogueRow.state == AWAITING,
            LiveDialogueRow.investigator_id != person_id,
            LiveDialogueRow.correspondent_id != person_id,
        )
        .order_by(LiveDialogueRow.finished_at, LiveDialogueRow.id)
    )
    return [(row.id, dialogue_name(row.number, goal)) for row, goal in session.execute(query)]
