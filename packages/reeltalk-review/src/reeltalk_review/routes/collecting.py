"""Pairs and their dialogues: pairing people, the dialogue itself, and approval by adjudicators."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import select

from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Json
from reeltalk_review import collecting
from reeltalk_review.access import Action
from reeltalk_review.collecting import collection_guide
from reeltalk_review.errors import Forbidden, InvalidValue, NotFound
from reeltalk_review.events import Transaction, transaction
from reeltalk_review.guiding import guideline_html
from reeltalk_review.idempotency import RequestKey, answer_once
from reeltalk_review.naming import dialogue_name
from reeltalk_review.people import User, names_by_id
from reeltalk_review.routes.media import video_view
from reeltalk_review.tables import LiveDialogueRow, PairRow, PersonRow, QueueRow, UnitRow
from reeltalk_review.web import FormText, ProjectHere, page, plain_json, require, require_api, require_form

router = APIRouter()
Looker = Annotated[User, require(Action.WORK)]
Worker = Annotated[User, require_api(Action.WORK)]


class MessageBody(BaseModel):
    """Body of a message."""

    model_config = ConfigDict(extra="forbid")

    position: Annotated[int, Field(ge=0, le=1000)]
    text: Annotated[str, Field(max_length=2 * collecting.LONGEST_MESSAGE), AfterValidator(plain_json)]
    evidence: Annotated[tuple[Interval, ...], Field(max_length=200)] = ()
    """With an answer: the parts of the video that show it."""


@router.get("/pairs", response_class=HTMLResponse)
def show_pairs(request: Request, project: ProjectHere, person: Annotated[User, require(Action.MANAGE)]) -> Response:
    """All pairs with their finished dialogues, and a form for another pair."""
    with project.database.reading() as session:
        pairs = session.scalars(select(PairRow).order_by(PairRow.created_at, PairRow.id)).all()
        workers = select(PersonRow).where(PersonRow.disabled_at.is_(None), PersonRow.role != "reader")
        return page(
            request,
            "pairs.html",
            person,
            pairs=[(pair, collecting.dialogues_of(session, pair.id)) for pair in pairs],
            names=names_by_id(session),
            dialogue_name=dialogue_name,
            queues=session.scalars(select(QueueRow).where(QueueRow.task == collecting.KIND)).all(),
            people=session.scalars(workers.order_by(PersonRow.name)).all(),
        )


@router.post("/pairs")
def add_pair(
    project: ProjectHere,
    person: Annotated[User, require_form(Action.MANAGE)],
    queue: FormText,
    first: FormText,
    second: FormText,
    goal: FormText,
) -> Response:
    """Let two people collect together."""
    if not (goal.isascii() and goal.isdigit() and len(goal) < 6):
        raise InvalidValue("say how many dialogues as a number", field="goal")
    with transaction(project.database, person.id) as change:
        collecting.add_pair(change, queue, first, second, int(goal))
    return RedirectResponse("/pairs", status_code=303)


@router.post("/pairs/{pair_id}/begin")
def begin(project: ProjectHere, pair_id: str, person: Annotated[User, require_form(Action.WORK)]) -> Response:
    """Continue the pair's dialogue, or begin its next one."""
    with transaction(project.database, person.id) as change:
        row = collecting.begin_dialogue(change, person.id, pair_id)
    return RedirectResponse(f"/dialogues/{row.id}", status_code=303)


@router.get("/dialogues/{dialogue_id}", response_class=HTMLResponse)
def show_dialogue(request: Request, project: ProjectHere, dialogue_id: str, person: Looker) -> Response:
    """The page of your own live dialogue, in your role."""
    with project.database.reading() as session:
        row = collecting.own_dialogue(session, person.id, dialogue_id)
        role = "investigator" if row.investigator_id == person.id else "correspondent"
        pair = session.get_one(PairRow, row.pair_id)
        return page(
            request,
            "dialogue.html",
            person,
            dialogue=row,
            role=role,
            name=dialogue_name(row.number, pair.goal),
            guide=collection_guide(),
            guideline=guideline_html(session, pair.queue_id),
        )


@router.get("/dialogues/{dialogue_id}/look", response_class=HTMLResponse)
def look(
    request: Request,
    project: ProjectHere,
    dialogue_id: str,
    person: Annotated[User, require(Action.ADJUDICATE)],
) -> Response:
    """A finished dialogue, for somebody outside the pair to approve, send back or drop."""
    with project.database.reading() as session:
        row = session.get(LiveDialogueRow, dialogue_id)
        if row is None or row.state not in (collecting.AWAITING, collecting.APPROVED):
            raise NotFound("there is no such dialogue that was finished")
        unit = session.get_one(UnitRow, row.unit_id)
        said = [message.text for message in collecting.messages_of(session, row.id)]
        turns = list(zip(said[::2], said[1::2], strict=False))
        own = person.id in (row.investigator_id, row.correspondent_id)
        is_kept = collecting.is_hidden_from(session, person.id, [unit.video_id or ""])
        if is_kept and not own:
            raise Forbidden("you are asking about this video yourself; somebody else must judge this dialogue")
        video = None if is_kept else video_view(project, session, person.id, unit)
        return page(
            request,
            "dialogue_look.html",
            person,
            dialogue=row,
            name=dialogue_name(row.number, session.get_one(PairRow, row.pair_id).goal),
            turns=turns,
            own=own,
            video_text=json.dumps(video, ensure_ascii=False),
            activities=unit.content["activities"],
        )


@router.post("/dialogues/{dialogue_id}/judge")
def judge(
    project: ProjectHere,
    dialogue_id: str,
    person: Annotated[User, require_form(Action.ADJUDICATE)],
    verdict: FormText,
    note: FormText = "",
) -> Response:
    """Approve a dialogue, send it back or drop it."""
    with transaction(project.database, person.id) as change:
        collecting.judge_dialogue(change, person.id, dialogue_id, verdict, note)
    return RedirectResponse("/", status_code=303)


@router.get("/api/dialogues/{dialogue_id}")
def open_dialogue(project: ProjectHere, dialogue_id: str, person: Looker) -> dict[str, Any]:
    """The messages so far and whose turn it is; the video only for the correspondent."""
    with project.database.reading() as session:
        row = collecting.own_dialogue(session, person.id, dialogue_id)
        answer = collecting.dialogue_view(session, person.id, row)
        if answer["role"] == "correspondent":
            answer["video"] = video_view(project, session, person.id, session.get_one(UnitRow, row.unit_id))
        return answer


@router.post("/api/dialogues/{dialogue_id}/messages")
def say(
    request: Request, project: ProjectHere, dialogue_id: str, body: MessageBody, person: Worker, key: RequestKey
) -> JSONResponse:
    """Ask, answer, or correct your last message."""

    def do(change: Transaction) -> Json:
        collecting.say_in_dialogue(change, person.id, dialogue_id, body.position, body.text, body.evidence)
        row = collecting.own_dialogue(change.session, person.id, dialogue_id)
        return collecting.dialogue_view(change.session, person.id, row)

    return answer_once(project, person, key, request, body.model_dump(), do)


@router.post("/api/dialogues/{dialogue_id}/finish")
def finish(request: Request, project: ProjectHere, dialogue_id: str, person: Worker, key: RequestKey) -> JSONResponse:
    """End a dialogue."""

    def do(change: Transaction) -> Json:
        return {"state": collecting.finish_dialogue(change, person.id, dialogue_id).state}

    return answer_once(project, person, key, request, None, do)
