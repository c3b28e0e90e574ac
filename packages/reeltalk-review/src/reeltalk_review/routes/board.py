"""The board: progress of the work, and for those who lead it, agreement, speed and gold."""

from collections import Counter
from typing import Annotated, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from sqlalchemy import select

from reeltalk.schema.record import Json
from reeltalk_review.access import Action, may
from reeltalk_review.agreement import CodedPlace, agreement_by_variable
from reeltalk_review.errors import NotFound
from reeltalk_review.events import transaction
from reeltalk_review.gold import Fault, GoldPlanted, count_gold, plant_gold
from reeltalk_review.naming import unit_names
from reeltalk_review.people import User
from reeltalk_review.tables import PersonRow, QueueRow
from reeltalk_review.team_stats import (
    TeamStatsCache,
    people_progress,
    queue_progress,
    release_blocks,
)
from reeltalk_review.web import ProjectHere, ShortText, page, require, require_form

router = APIRouter()
Count = Annotated[int, Query(ge=0, le=10**9)]
SHOWN_DIFFERENCES = 50
"""How many places at which two people differ a page lists."""


def team_stats_of(request: Request) -> TeamStatsCache:
    """The project's statistics: one object for the application."""
    state = request.app.state
    if not hasattr(state, "team_stats"):
        state.team_stats = TeamStatsCache(state.project.database)
    found: TeamStatsCache = state.team_stats
    return found


@router.get("/board", response_class=HTMLResponse)
def show_board(
    request: Request,
    project: ProjectHere,
    person: Annotated[User, require(Action.LOOK)],
    planted: Count = 0,
    wanted: Count = 0,
    unreachable: Count = 0,
    unfit: Count = 0,
    crowded: Count = 0,
    again: Count = 0,
) -> Response:
    """Everybody's progress; people and agreement only as far as this person's role may see them.

    The numbers say what the planting of gold came to.
    """
    leads = may(person.role, Action.SEE_TEAM)
    stats = team_stats_of(request).latest()
    least = project.settings.least_agreement
    with project.database.reading() as session:
        queues = queue_progress(session, seen_by=None if leads else person.id)
        people = people_progress(session, only=None if leads else person.id)
        gold = count_gold(session) if leads else 0
    return page(
        request,
        "board.html",
        person,
        leads=leads,
        queues=queues,
        people=people,
        seconds=stats.seconds if stats is not None else {},
        blocks=release_blocks(stats, least) if stats is not None and leads else [],
        gold=gold,
        planted=GoldPlanted(planted, wanted, unreachable, unfit, crowded, again) if wanted else None,
        faults=list(Fault),
    )


@router.get("/board/{queue_id}/pairs/{first}/{second}", response_class=HTMLResponse)
def show_pair(
    request: Request,
    project: ProjectHere,
    queue_id: str,
    first: str,
    second: str,
    person: Annotated[User, require(Action.SEE_TEAM)],
) -> Response:
    """Agreement of two people in one queue, and the places where they disagree."""
    cache = team_stats_of(request)
    stats = cache.latest()
    with project.database.reading() as session:
        queue = session.get(QueueRow, queue_id)
        people = {
            row.id: row.name for row in session.scalars(select(PersonRow).where(PersonRow.id.in_((first, second))))
        }
        if queue is None or first == second or len(people) != 2:
            raise NotFound("there is no such pair of people, or no such queue")
        both = _by_place(cache.codes(queue_id, (first, second)), first, second)
        variables = agreement_by_variable([row for pair in both for row in pair])
        main = variables[0].variable if variables else None
        said = [(pair, [_value(row, main) for row in pair]) for pair in both]
        differing = [(pair, values) for pair, values in said if values[0] != values[1]]
        units = unit_names(session, {pair[0].unit for pair, _ in differing[:SHOWN_DIFFERENCES]})
    return page(
        request,
        "pair.html",
        person,
        queue=queue,
        names=[people[first], people[second]],
        stats=stats,
        places=len(both),
        variables=variables,
        main=main,
        values=sorted({str(value) for _, values in said for value in values}),
        counts=Counter((str(values[0]), str(values[1])) for _, values in said),
        nominal=bool(variables) and variables[0].scale in ("nominal", "ordinal"),
        differing=differing[:SHOWN_DIFFERENCES],
        more=max(0, len(differing) - SHOWN_DIFFERENCES),
        units=units,
        least=project.settings.least_agreement,
    )


def _value(row: CodedPlace, variable: str | None) -> Json:
    return row.codes[variable].value if variable is not None and variable in row.codes else None


def _by_place(rows: list[CodedPlace], first: str, second: str) -> list[tuple[CodedPlace, CodedPlace]]:
    """The codes of two people at the places that both judged."""
    of = {(row.unit, row.place, row.person): row for row in rows}
    places = sorted({(row.unit, row.place) for row in rows})
    found = [(of.get((*place, first)), of.get((*place, second))) for place in places]
    return [(mine, theirs) for mine, theirs in found if mine is not None and theirs is not None]


@router.post("/board/gold")
def plant(
    project: ProjectHere,
    person: Annotated[User, require_form(Action.MANAGE)],
    queue: ShortText,
    count: Annotated[int, Form(ge=1, le=200)],
    trusted: Annotated[Literal["settled", "drafts"], Form()],
    seed: Annotated[int, Form(ge=0, le=10**9)] = 0,
) -> Response:
    """Plant gold among the units of a queue."""
    with transaction(project.database, person.id) as change:
        found = plant_gold(change, queue, count=count, seed=seed, trusted=trusted)
    counts = urlencode({name: value for name, value in vars(found).items() if value or name in ("planted", "wanted")})
    return RedirectResponse(f"/board?{counts}#gold", status_code=303)
