"""The home page, a person's own work, and adjudication: pages and JSON API.

People open, save, undo and submit their work, and see its history. An adjudicator sees the work of others side by side,
and decides or returns it.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review import work
from reeltalk_review.access import Action, may
from reeltalk_review.assigning import ADJUDICATOR, ANNOTATOR, LABELS, UNFINISHED, next_unit, open_units, renew_lease
from reeltalk_review.collecting import awaiting_approval, pair_turns
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import NotFound
from reeltalk_review.events import Transaction, transaction
from reeltalk_review.gold import is_training
from reeltalk_review.guiding import guideline_html, line_of
from reeltalk_review.idempotency import RequestKey, answer_once
from reeltalk_review.people import User
from reeltalk_review.reasons import offered_reasons
from reeltalk_review.routes.media import video_view
from reeltalk_review.settling import ADJUDICATION, DONE, dispute_view, next_dispute, open_disputes, submitted_works
from reeltalk_review.tables import AssignmentRow, EntryRow, PersonRow, QueueRow, UnitRow, timestamp
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.tasks.task import ReviewTask
from reeltalk_review.web import PlainJson, ProjectHere, page, plain_text, require, require_api, require_form

router = APIRouter()
RECENT_UNITS = 50
"""How many submitted units are listed."""


@router.get("/", response_class=HTMLResponse)
def show_home(
    request: Request, project: ProjectHere, person: Annotated[User, require(Action.LOOK)], nothing: str = ""
) -> Response:
    """The inbox: returned and begun work, what is to be settled or approved, queues, and submitted work."""
    with project.database.reading() as session:
        own = _own(session, person.id, UNFINISHED)
        judges = may(person.role, Action.ADJUDICATE)
        disputed = open_disputes(session, person.id) if judges else []
        approvals = awaiting_approval(session, person.id) if judges else []
        return page(
            request,
            "home.html",
            person,
            queues=_queues(session, person),
            returned=[row for row in own if row["state"] == "returned"],
            begun=[row for row in own if row["state"] == "working"],
            handed_in=_own(session, person.id, ("submitted",), RECENT_UNITS),
            disputed=disputed,
            approvals=approvals,
            step=_next_step(session, person, len(disputed) + len(approvals)),
            nothing=nothing == "1",
        )


def _own(
    session: Session, person_id: str, states: Sequence[str], limit: int | None = None
) -> Sequence[Mapping[Any, Any]]:
    """The person's work in some states, most recently touched first."""
    saved = select(func.max(EntryRow.at)).where(EntryRow.assignment_id == AssignmentRow.id).scalar_subquery()
    touched = func.coalesce(AssignmentRow.submitted_at, saved, AssignmentRow.created_at).label("touched")
    query = (
        select(AssignmentRow.id, AssignmentRow.role, AssignmentRow.state, AssignmentRow.note, touched)
        .add_columns(UnitRow.title.label("name"), QueueRow.title.label("queue"))
        .join(UnitRow, UnitRow.id == AssignmentRow.unit_id)
        .join(QueueRow, QueueRow.id == UnitRow.queue_id)
        .where(AssignmentRow.person_id == person_id, AssignmentRow.state.in_(states))
        .order_by(touched.desc(), AssignmentRow.id)
        .limit(limit)
    )
    return session.execute(query).mappings().all()


def _queues(session: Session, person: User) -> list[Mapping[str, Any]]:
    """Queues with how many of their units are complete, and what there is in them for this person."""
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    real = select(UnitRow.queue_id, UnitRow.state, func.count()).where(UnitRow.gold.is_(None))
    for queue, state, count in session.execute(real.group_by(UnitRow.queue_id, UnitRow.state)):
        counts[queue][state] = count
    works, now = may(person.role, Action.WORK), timestamp()
    pairs = pair_turns(session, person.id) if works else []
    begun: dict[str, int] = defaultdict(int)
    own = select(UnitRow.queue_id).join(AssignmentRow, AssignmentRow.unit_id == UnitRow.id)
    mine = (AssignmentRow.person_id == person.id, AssignmentRow.role == ANNOTATOR)
    for queue in session.scalars(own.where(*mine, AssignmentRow.state.in_(UNFINISHED))):
        begun[queue] += 1
    return [
        {
            "row": row,
            "says": line_of(row),
            "total": sum(counts[row.id].values()),
            "complete": sum(counts[row.id].get(state, 0) for state in (DONE, ADJUDICATION)),
            "left": open_units(session, row.id, person.id, now) if works and row.is_open and row.task in TASKS else 0,
            "begun": begun[row.id],
            "in_pairs": row.task not in TASKS,
            "pairs": [turn for turn in pairs if turn.queue_id == row.id],
        }
        for row in session.scalars(select(QueueRow).order_by(QueueRow.position, QueueRow.id))
    ]


def _next_step(session: Session, person: User, waiting: int) -> tuple[str, str, str] | None:
    """What an owner does next: a sentence, and the address and name of a page; None if it waits in their inbox."""
    if not may(person.role, Action.MANAGE) or waiting:
        return None
    others = select(PersonRow.id).where(PersonRow.disabled_at.is_(None), PersonRow.id != person.id)
    if session.scalars(others.limit(1)).first() is None:
        return "You are alone on the team.", "/team", "Invite people"
    if session.scalars(select(AssignmentRow.id).limit(1)).first() is None:
        return "Nobody has begun yet.", "/setup", "Check the queues, their guidelines and how many people do each task"
    real = select(UnitRow.id).where(UnitRow.gold.is_(None), UnitRow.state != DONE)
    if session.scalars(real.limit(1)).first() is not None:
        return "People are at work.", "/quality", "See how far they agree"
    return (
        "All work is settled, and reeltalk review apply writes it into the benchmark.",
        "/changes",
        "See what changes",
    )


@router.post("/queues/{queue_id}/next")
def continue_work(project: ProjectHere, queue_id: str, person: Annotated[User, require_form(Action.WORK)]) -> Response:
    """Continue your work in a queue, or take the next unit."""
    with transaction(project.database, person.id) as change:
        found = next_unit(change, person.id, queue_id, lease_minutes=project.settings.lease_minutes)
    return RedirectResponse(f"/work/{found.id}" if found is not None else "/?nothing=1", status_code=303)


@router.post("/adjudicate/queues/{queue_id}/next")
def continue_dispute(
    project: ProjectHere, queue_id: str, person: Annotated[User, require_form(Action.ADJUDICATE)]
) -> Response:
    """Continue with what this person decides, or take the next unit on which people differ."""
    with transaction(project.database, person.id) as change:
        found = next_dispute(change, person.id, queue_id, lease_minutes=project.settings.lease_minutes)
    return RedirectResponse(f"/adjudicate/{found.id}" if found is not None else "/", status_code=303)


Worker = Annotated[User, require(Action.WORK)]
Adjudicator = Annotated[User, require(Action.ADJUDICATE)]


@router.get("/work/{assignment_id}", response_class=HTMLResponse)
def show_work(request: Request, project: ProjectHere, assignment_id: str, person: Worker) -> Response:
    """The screen of your own work on a unit."""
    with project.database.reading() as session:
        assignment, unit, task = work.own_work(session, person.id, assignment_id)
        if assignment.role == ADJUDICATOR:
            return RedirectResponse(f"/adjudicate/{assignment.id}", status_code=303)
        if is_training(unit) and assignment.state == "submitted":
            return RedirectResponse(f"/training/{assignment.id}", status_code=303)
        return _editor(request, project, session, person, assignment, unit, task, template=task.template)


@router.get("/adjudicate/{assignment_id}", response_class=HTMLResponse)
def show_dispute(request: Request, project: ProjectHere, assignment_id: str, person: Adjudicator) -> Response:
    """The screen on which one unit is decided."""
    with project.database.reading() as session:
        return _editor(
            request,
            project,
            session,
            person,
            *work.own_dispute(session, person.id, assignment_id),
            template="adjudicate.html",
            settles=True,
        )


def _editor(
    request: Request,
    project: ReviewProject,
    session: Session,
    person: User,
    assignment: AssignmentRow,
    unit: UnitRow,
    task: ReviewTask,
    *,
    template: str,
    settles: bool = False,
) -> Response:
    # The page holds the answer about the work, so that it need not ask.
    opened = json.dumps(_view(project, session, assignment, unit, task, settles=settles), ensure_ascii=False)
    guideline = guideline_html(session, unit.queue_id)
    return page(
        request, template, person, assignment=assignment, name=unit.title, task=task, opened=opened, guideline=guideline
    )


@router.get("/api/work/{assignment_id}")
def open_work(project: ProjectHere, assignment_id: str, person: Worker) -> dict[str, Any]:
    """A unit, its draft, and this person's values so far."""
    with project.database.reading() as session:
        return _view(project, session, *work.own_work(session, person.id, assignment_id))


@router.get("/api/adjudicate/{assignment_id}")
def open_dispute(project: ProjectHere, assignment_id: str, person: Adjudicator, names: bool = False) -> dict[str, Any]:
    """Everybody's work on a unit, the draft, and this person's decisions so far."""
    with project.database.reading() as session:
        return _view(project, session, *work.own_dispute(session, person.id, assignment_id), settles=True, names=names)


def _view(
    project: ReviewProject,
    session: Session,
    assignment: AssignmentRow,
    unit: UnitRow,
    task: ReviewTask,
    *,
    settles: bool = False,
    names: bool = False,
) -> dict[str, Any]:
    """Somebody's work on a unit, as screens get it: `settles` with the sides, `names` with whose they are."""
    rows, queue = work.entries(session, assignment.id), session.get_one(QueueRow, unit.queue_id)
    places = task.places(unit.content)
    view = {
        "assignment": {
            name: getattr(assignment, name) for name in ("id", "role", "state", "round", "note", "lease_until")
        },
        "unit": {
            "id": unit.id,
            "task": task.kind,
            "name": unit.title,
            "video": video_view(project, session, assignment.person_id, unit),
            "content": task.visible_content(
                unit.content, {} if settles else {place: row.value for place, row in rows.items()}
            ),
        },
        "labels_asked": task.asks_labels or bool(queue.settings.get(LABELS)),
        "in_bulk": work.acceptable_places(assignment, unit, task, queue, rows),
        "reasons": offered_reasons(session, task.kind),
        "entries": {place: work.entry_view(row) for place, row in rows.items()},
        "findings": work.findings(assignment, unit, task, rows, places),
        "places": list(places),
    }
    return view | (dispute_view(session, unit, task, names=names) if settles else {})


@dataclass(frozen=True)
class OwnChange:
    """A change of somebody's own work, which happens once."""

    request: Request
    project: ReviewProject
    assignment_id: str
    person: User
    key: str

    @property
    def lease_minutes(self) -> int:
        """How long a unit is held for somebody."""
        return self.project.settings.lease_minutes

    def once(
        self, do: Callable[[Transaction, AssignmentRow, UnitRow, ReviewTask], Json], body: Json = None
    ) -> JSONResponse:
        """Make it, or repeat the answer; `body` belongs to the key of the request."""

        def change_own(change: Transaction) -> Json:
            return do(change, *work.own_work(change.session, self.person.id, self.assignment_id))

        return answer_once(self.project, self.person, self.key, self.request, body, change_own)


async def _own_change(
    request: Request,
    project: ProjectHere,
    assignment_id: str,
    person: Annotated[User, require_api(Action.WORK)],
    key: RequestKey,
) -> OwnChange:
    return OwnChange(request, project, assignment_id, person, key)


Own = Annotated[OwnChange, Depends(_own_change)]


class Save(BaseModel):
    """Body of a save."""

    model_config = ConfigDict(extra="forbid")

    revision: Annotated[int, Field(ge=0, le=10**9)]
    value: PlainJson
    active_s: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] = 0.0
    """Seconds of activity at this place since the last save that was answered."""


@router.put("/api/work/{assignment_id}/entries/{place}")
def save(own: Own, place: str, body: Save) -> JSONResponse:
    """Save a value at a place. The body names the revision that was read."""

    def do(change: Transaction, assignment: AssignmentRow, unit: UnitRow, task: ReviewTask) -> Json:
        row = work.save_value(change, assignment, unit, task, place, body.revision, body.value, active_s=body.active_s)
        renew_lease(assignment, lease_minutes=own.lease_minutes)
        change.session.flush()
        found = work.findings(assignment, unit, task, {place: row}, [place])
        stale = work.stale_places(change.session, assignment.id)
        return {**work.entry_view(row), "stale": stale, "findings": found.get(place, [])}

    return own.once(do, [body.revision, body.value])


@router.post("/api/work/{assignment_id}/bulk")
def accept_in_bulk(own: Own) -> JSONResponse:
    """Accept all drafts that nobody has touched and no check flagged, where the queue allows it."""

    def do(change: Transaction, assignment: AssignmentRow, unit: UnitRow, task: ReviewTask) -> Json:
        work.accept_in_bulk(change, assignment, unit, task)
        return _entries(change, assignment, unit, task)

    return own.once(do)


@router.post("/api/work/{assignment_id}/undo")
def undo(own: Own) -> JSONResponse:
    """Undo the last change."""
    return _step(own, "undo")


@router.post("/api/work/{assignment_id}/redo")
def redo(own: Own) -> JSONResponse:
    """Redo the change that was undone last."""
    return _step(own, "redo")


def _step(own: OwnChange, kind: work.Step) -> JSONResponse:
    def do(change: Transaction, assignment: AssignmentRow, unit: UnitRow, task: ReviewTask) -> Json:
        row = work.undo_or_redo(change, assignment, unit, task, kind)
        return {"place": row.place, **_entries(change, assignment, unit, task)}

    return own.once(do)


def _entries(change: Transaction, assignment: AssignmentRow, unit: UnitRow, task: ReviewTask) -> dict[str, Json]:
    change.session.flush()
    rows = work.entries(change.session, assignment.id)
    return {
        "entries": {place: work.entry_view(row) for place, row in rows.items()},
        "findings": work.findings(assignment, unit, task, rows, task.places(unit.content)),
    }


@router.post("/api/work/{assignment_id}/submit")
def submit(own: Own) -> JSONResponse:
    """Submit the work, and return the address of the next."""

    def do(change: Transaction, assignment: AssignmentRow, unit: UnitRow, task: ReviewTask) -> Json:
        work.submit(change, assignment, unit, task, approval=own.project.settings.approval)
        change.session.flush()
        if assignment.role == ADJUDICATOR:
            dispute = next_dispute(change, own.person.id, unit.queue_id, lease_minutes=own.lease_minutes)
            return {"next": f"/adjudicate/{dispute.id}" if dispute is not None else None}
        if is_training(unit):
            return {"next": f"/training/{assignment.id}"}
        # Begun work of a closed queue can be submitted, but nothing follows it.
        if not change.session.get_one(QueueRow, unit.queue_id).is_open:
            return {"next": None}
        found = next_unit(change, own.person.id, unit.queue_id, lease_minutes=own.lease_minutes)
        return {"next": f"/work/{found.id}" if found is not None else None}

    return own.once(do)


@router.post("/api/work/{assignment_id}/reopen")
def reopen(own: Own) -> JSONResponse:
    """Take submitted work back until it is adjudicated or applied."""

    def do(change: Transaction, assignment: AssignmentRow, unit: UnitRow, _: ReviewTask) -> Json:
        work.reopen(change, assignment, unit)
        return {"state": assignment.state}

    return own.once(do)


@router.post("/api/work/{assignment_id}/lease")
def lease(own: Own) -> JSONResponse:
    """Hold the unit for another lease."""

    def do(_: Transaction, assignment: AssignmentRow, *__: object) -> Json:
        renew_lease(assignment, lease_minutes=own.lease_minutes)
        return {"lease_until": assignment.lease_until}

    return own.once(do)


@router.get("/api/work/{assignment_id}/history/{place}")
def history(project: ProjectHere, assignment_id: str, place: str, person: Worker) -> dict[str, Any]:
    """All values that were saved at a place of your own work, first to last."""
    with project.database.reading() as session:
        work.own_work(session, person.id, assignment_id)
        return {
            "versions": [
                {"revision": event.after["revision"], "value": event.after["value"], "at": event.at, "kind": event.kind}
                for event in work.entry_history(session, assignment_id, place)
            ]
        }


class Return(BaseModel):
    """Body of a return."""

    model_config = ConfigDict(extra="forbid")

    assignment: Annotated[str, Field(max_length=100)]
    """The assignment to return."""
    note: Annotated[str, Field(max_length=2000), AfterValidator(plain_text)]


@router.post("/api/adjudicate/{assignment_id}/return")
def send_back(
    request: Request,
    project: ProjectHere,
    assignment_id: str,
    body: Return,
    person: Annotated[User, require_api(Action.ADJUDICATE)],
    key: RequestKey,
) -> JSONResponse:
    """Return one person's work to them, with a note."""

    def do(change: Transaction) -> Json:
        _, unit, _ = work.own_dispute(change.session, person.id, assignment_id)
        if body.assignment not in {row.id for row, _ in submitted_works(change.session, unit.id)}:
            raise NotFound("there is no such work on this task")
        work.send_back(change, person.id, body.assignment, body.note, approval=project.settings.approval)
        return {"next": "/"}

    return answer_once(project, person, key, request, [body.assignment, body.note], do)
