"""Quality of each person's work, and agreement: a page, and tables for scripts."""

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup
from pydantic import BaseModel

from reeltalk_review.access import Action
from reeltalk_review.people import User, names_by_id
from reeltalk_review.quality import FEW, PersonQuality
from reeltalk_review.routes.board import team_stats_of
from reeltalk_review.sheets import CSV, Format, sheet_answer
from reeltalk_review.team_stats import TeamStats
from reeltalk_review.web import ProjectHere, page, require, template_environment

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
    unsure: int
    results_share: float | None
    results_low: float | None
    results_high: float | None
    results_places: int
    others_alpha: float | None
    others_low: float | None
    others_high: float | None
    others_places: int
    gold_caught: float | None
    gold_caught_low: float | None
    gold_caught_high: float | None
    gold_faults: int
    gold_false_alarms: float | None
    gold_false_alarms_low: float | None
    gold_false_alarms_high: float | None
    gold_without_fault: int
    seconds_per_turn: float | None
    timed_turns: int
    measured_turns: int
    watching_seconds_per_turn: float | None
    below_watching: bool


class QualityTable(BaseModel):
    """Quality by person and queue."""

    rows: list[QualityRow]
    as_of: str


@router.get("/quality", response_class=HTMLResponse)
def show_quality(request: Request, project: ProjectHere, person: Viewer) -> Response:
    """Decisions, agreement, gold and time of each person, and agreement of the team."""
    stats = team_stats_of(request).latest()
    with project.database.reading() as session:
        names = names_by_id(session)
    return page(
        request,
        "quality.html",
        person,
        stats=stats,
        rows=_sorted(stats, names) if stats is not None else [],
        names=names,
        titles=_titles(stats),
        few=FEW,
        agreement=_agreement(request, stats, names, project.settings.least_agreement) if stats is not None else "",
    )


@router.get("/api/quality", response_model=QualityTable, responses=CSV)
def get_quality(request: Request, project: ProjectHere, person: Viewer, format: Format = "json") -> Response:
    """Quality of each person's work in each queue."""
    cache = team_stats_of(request)
    stats = cache.latest() or cache.compute()
    with project.database.reading() as session:
        names = names_by_id(session)
    titles = _titles(stats)
    rows = [_document(row, names, titles).model_dump() for row in _sorted(stats, names)]
    return sheet_answer("quality", rows, list(QualityRow.model_fields), format, as_of=stats.at)


def _titles(stats: TeamStats | None) -> dict[str, str]:
    return {task.queue_id: task.title for task in stats.tasks} if stats is not None else {}


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
        unsure=row.unsure,
        results_share=row.results.value,
        results_low=row.results.low,
        results_high=row.results.high,
        results_places=row.results.n,
        others_alpha=row.others.value,
        others_low=row.others.low,
        others_high=row.others.high,
        others_places=row.others.n,
        gold_caught=gold.caught.share if gold is not None else None,
        gold_caught_low=gold.caught.low if gold is not None else None,
        gold_caught_high=gold.caught.high if gold is not None else None,
        gold_faults=gold.caught.trials if gold is not None else 0,
        gold_false_alarms=gold.false_alarms.share if gold is not None else None,
        gold_false_alarms_low=gold.false_alarms.low if gold is not None else None,
        gold_false_alarms_high=gold.false_alarms.high if gold is not None else None,
        gold_without_fault=gold.false_alarms.trials if gold is not None else 0,
        seconds_per_turn=row.seconds,
        timed_turns=row.timed,
        measured_turns=row.measured,
        watching_seconds_per_turn=row.watch_s,
        below_watching=row.too_fast,
    )


def _agreement(request: Request, stats: TeamStats, names: Mapping[str, str], least: float | None) -> Markup:
    """The agreement tables as HTML, cached: with hundreds of pairs they take longer to render than all else."""
    key: tuple[Any, ...] = (stats.at, stats.seq, least, tuple(names.items()))
    state = request.app.state
    kept: tuple[object, Markup] | None = getattr(state, "agreement_tables", None)
    if kept is None or kept[0] != key:
        html = template_environment().get_template("_tasks.html").render(tasks=stats.tasks, names=names, least=least)
        kept = state.agreement_tables = key, Markup(html)
    return kept[1]
