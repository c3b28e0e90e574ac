"""Quality of each person's work, agreement, and known answers: a page, and a table for scripts."""

from collections.abc import Mapping
from typing import Annotated, Literal

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel
from sqlalchemy import select

from reeltalk_review.access import Action
from reeltalk_review.database import ReviewProject
from reeltalk_review.errors import ApiError, InvalidValue
from reeltalk_review.events import transaction
from reeltalk_review.gold import TASK, Fault, GoldPlanted, count_gold, plant_gold
from reeltalk_review.people import User, names_by_id
from reeltalk_review.quality import FEW, PersonQuality
from reeltalk_review.sheets import CSV, Format, sheet_answer
from reeltalk_review.tables import QueueRow
from reeltalk_review.team_stats import TeamStats, TeamStatsCache, release_blocks
from reeltalk_review.web import ProjectHere, ShortText, page, require, require_form

router = APIRouter()
Viewer = Annotated[User, require(Action.SEE_TEAM)]


class QualityRow(BaseModel):
    """Quality of one person's work in one queue. Shares are 0 to 1; null where there is nothing to count."""

    person: str
    queue: str
    submitted: int
    turns: int
    returned: int
    complete_tasks: int
    decisions: int
    accepted: int
    edited: int
    rejected: int
    skipped: int
    in_bulk: int
    unsure: int
    results_share: float | None
    results_low: float | None
    results_high: float | None
    results_places: int
    gold_caught: float | None
    gold_caught_low: float | None
    gold_caught_high: float | None
    gold_faults: int
    gold_false_alarms: float | None
    gold_false_alarms_low: float | None
    gold_false_alarms_high: float | None
    gold_without_fault: int
    hours: float
    timed_turns: int
    seconds_per_turn: float | None


class QualityTable(BaseModel):
    """Quality by person and queue."""

    rows: list[QualityRow]
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
    planted: GoldPlanted | None = None,
    problem: ApiError | None = None,
) -> Response:
    stats, least = _stats(request), project.settings.least_agreement
    with project.database.reading() as session:
        names = names_by_id(session)
        return page(
            request,
            "quality.html",
            person,
            status=problem.status if problem is not None else 200,
            stats=stats,
            rows=_sorted(stats, names),
            names=names,
            titles=_titles(stats),
            few=FEW,
            least=least,
            blocks=release_blocks(stats, least),
            gold=count_gold(session),
            queues=session.scalars(select(QueueRow).where(QueueRow.task == TASK).order_by(QueueRow.position)).all(),
            faults=list(Fault),
            planted=planted,
            problem=problem,
        )


@router.post("/quality/gold", response_class=HTMLResponse)
def plant(
    request: Request,
    project: ProjectHere,
    person: Annotated[User, require_form(Action.MANAGE)],
    queue: ShortText,
    count: Annotated[int, Form(ge=1, le=200)],
    trusted: Annotated[Literal["settled", "drafts"], Form()],
    seed: Annotated[int, Form(ge=0, le=10**9)] = 0,
) -> Response:
    """Plant known answers among the units of a queue."""
    try:
        with transaction(project.database, person.id) as change:
            planted = plant_gold(change, queue, count=count, seed=seed, trusted=trusted)
    except InvalidValue as error:
        return _page(request, project, person, problem=error)
    return _page(request, project, person, planted=planted)


@router.get("/api/quality", response_model=QualityTable, responses=CSV)
def get_quality(request: Request, project: ProjectHere, person: Viewer, format: Format = "json") -> Response:
    """Quality and hours of each person's work in each queue."""
    stats = _stats(request)
    with project.database.reading() as session:
        names = names_by_id(session)
    titles = _titles(stats)
    rows = [_document(row, names, titles).model_dump() for row in _sorted(stats, names)]
    return sheet_answer("quality", rows, list(QualityRow.model_fields), format, as_of=stats.at)


def _titles(stats: TeamStats) -> dict[str, str]:
    return {task.queue_id: task.title for task in stats.tasks}


def _sorted(stats: TeamStats, names: Mapping[str, str]) -> list[PersonQuality]:
    return sorted(stats.quality, key=lambda row: names.get(row.person, row.person).casefold())


def _document(row: PersonQuality, names: Mapping[str, str], titles: Mapping[str, str]) -> QualityRow:
    gold = row.gold
    return QualityRow(
        person=names.get(row.person, row.person),
        queue=titles.get(row.queue_id, row.queue_id),
        submitted=row.submitted,
        turns=row.turns,
        returned=row.returned,
        complete_tasks=row.units,
        decisions=row.decided,
        **row.decisions,
        in_bulk=row.in_bulk,
        unsure=row.unsure,
        results_share=row.results.value,
        results_low=row.results.low,
        results_high=row.results.high,
        results_places=row.results.n,
        gold_caught=gold.caught.share if gold is not None else None,
        gold_caught_low=gold.caught.low if gold is not None else None,
        gold_caught_high=gold.caught.high if gold is not None else None,
        gold_faults=gold.caught.trials if gold is not None else 0,
        gold_false_alarms=gold.false_alarms.share if gold is not None else None,
        gold_false_alarms_low=gold.false_alarms.low if gold is not None else None,
        gold_false_alarms_high=gold.false_alarms.high if gold is not None else None,
        gold_without_fault=gold.false_alarms.trials if gold is not None else 0,
        hours=round(row.hours, 4),
        timed_turns=len(row.times_s),
        seconds_per_turn=row.seconds,
    )
