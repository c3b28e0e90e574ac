"""Quality of each person's work, agreement, and known answers: a page, and a table for scripts."""

from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel
from sqlalchemy import func, select

from reeltalk_review.access import Action
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import ApiError, InvalidValue, NotFound
from reeltalk_review.events import transaction
from reeltalk_review.gold import MOST_COPIES, Kind, add_known_answers, compare_with_settled, is_training
from reeltalk_review.people import User, names_by_id
from reeltalk_review.sheets import CSV, Format, sheet_answer
from reeltalk_review.tables import QueueRow, UnitRow
from reeltalk_review.tasks.registry import TASKS
from reeltalk_review.team_stats import PersonQuality, TeamStats, TeamStatsCache, release_blocks
from reeltalk_review.web import ProjectHere, ShortText, page, require, require_form
from reeltalk_review.work import entries, own_work

router = APIRouter()
Viewer = Annotated[User, require(Action.SEE_TEAM)]
FEW_DECISIONS: Final = 20
"""With fewer decisions no shares are shown."""


class QualityTable(BaseModel):
    """Quality by person and queue."""

    rows: list[PersonQuality]
    as_of: str


def _stats(request: Request) -> TeamStats:
    """The project's statistics as of now."""
    state = request.app.state
    if not hasattr(state, "team_stats"):
        state.team_stats = TeamStatsCache(state.project.database)
    found: TeamStats = state.team_stats.compute()
    return found


@router.get("/quality", response_class=HTMLResponse)
def show_quality(request: Request, project: ProjectHere, person: Viewer) -> Response:
    """Agreement of the team; decisions, known answers and time of each person."""
    return _page(request, project, person)


def _page(
    request: Request,
    project: ReviewProject,
    person: User,
    *,
    added: int | None = None,
    problem: ApiError | None = None,
) -> Response:
    stats, least = _stats(request), project.settings.least_agreement
    with project.database.reading() as session:
        names = names_by_id(session)
        queues = session.scalars(select(QueueRow).where(QueueRow.task.in_(TASKS)).order_by(QueueRow.position)).all()
        kind = (UnitRow.position < 0).label("is_training")
        known = select(QueueRow.title, kind, func.count()).join(UnitRow, UnitRow.queue_id == QueueRow.id)
        known = known.where(UnitRow.gold.is_not(None)).group_by(QueueRow.title, kind)
        return page(
            request,
            "quality.html",
            person,
            status=problem.status if problem is not None else 200,
            stats=stats,
            rows=_by_name(stats, names),
            names=names,
            titles={task.queue_id: task.title for task in stats.tasks},
            few=FEW_DECISIONS,
            least=least,
            blocks=release_blocks(stats, least),
            known=session.execute(known).all(),
            queues=[queue for queue in queues if TASKS[queue.task].adjudicated],
            added=added,
            problem=problem,
        )


@router.post("/quality/gold", response_class=HTMLResponse)
def add(
    request: Request,
    project: ProjectHere,
    person: Annotated[User, require_form(Action.MANAGE)],
    queue: ShortText,
    kind: Annotated[Kind, Form()],
    count: Annotated[int, Form(ge=1, le=MOST_COPIES)],
) -> Response:
    """Add known answers to a queue."""
    try:
        with transaction(project.database, person.id) as change:
            added = add_known_answers(change, queue, kind, count)
    except InvalidValue as error:
        return _page(request, project, person, problem=error)
    return _page(request, project, person, added=added)


@router.get("/training/{assignment_id}", response_class=HTMLResponse)
def show_training(
    request: Request, project: ProjectHere, assignment_id: str, person: Annotated[User, require(Action.WORK)]
) -> Response:
    """What you submitted in a training set, beside what was settled."""
    with project.database.reading() as session:
        assignment, unit, task = own_work(session, person.id, assignment_id)
        if not is_training(unit) or assignment.state != "submitted":
            raise NotFound("you have submitted no such task of a training set")
        own = {place: row.value for place, row in entries(session, assignment.id).items()}
        places = compare_with_settled(unit, task, own)
        return page(request, "training.html", person, unit=unit, name=unit.title, places=places)


@router.get("/api/quality", response_model=QualityTable, responses=CSV)
def get_quality(request: Request, project: ProjectHere, person: Viewer, format: Format = "json") -> Response:
    """Quality and hours of each person's work in each queue."""
    stats = _stats(request)
    with project.database.reading() as session:
        names = names_by_id(session)
    titles = {task.queue_id: task.title for task in stats.tasks}
    rows = [
        row.model_dump() | {"person": names.get(row.person, row.person), "queue": titles[row.queue]}
        for row in _by_name(stats, names)
    ]
    return sheet_answer("quality", rows, list(PersonQuality.model_fields), format, as_of=stats.at)


def _by_name(stats: TeamStats, names: Mapping[str, str]) -> list[PersonQuality]:
    return sorted(stats.quality, key=lambda row: names.get(row.person, row.person).casefold())
