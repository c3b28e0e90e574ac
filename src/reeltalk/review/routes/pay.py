"""Pay: the rate, and what each person has earned by month."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, ValidationError

from reeltalk.review import administration
from reeltalk.review.access import Action
from reeltalk.review.database import Pay, ReviewProject
from reeltalk.review.errors import ApiError, Conflict, InvalidValue
from reeltalk.review.events import transaction
from reeltalk.review.pay import BASES, MonthOfWork, months_of_work, total_of
from reeltalk.review.people import User, names_by_id
from reeltalk.review.routes.board import team_stats_of
from reeltalk.review.sheets import CSV, Format, sheet_answer
from reeltalk.review.web import ProjectHere, ShortText, page, require, require_form

router = APIRouter()
Owner = Annotated[User, require(Action.MANAGE)]


class PayRow(BaseModel):
    """One person's work in one month."""

    month: str
    person: str
    tasks: int
    turns: int
    hours: float
    amount: str | None
    """With two decimals; null while there is no rate."""
    currency: str | None


class PayTable(BaseModel):
    """Work by person and month."""

    rows: list[PayRow]


@router.get("/pay", response_class=HTMLResponse)
def show_pay(request: Request, project: ProjectHere, person: Owner, saved: str = "") -> Response:
    """The rate, and the work of each person by month with its worth."""
    return _page(request, project, person, saved=saved == "1")


@router.get("/api/pay", response_model=PayTable, responses=CSV)
def get_pay(request: Request, project: ProjectHere, person: Owner, format: Format = "json") -> Response:
    """The work of each person by month, with its worth."""
    cache = team_stats_of(request)
    if cache.latest() is None:
        cache.compute()
    with project.database.reading() as session:
        found, names = months_of_work(session, cache.turn_seconds()), names_by_id(session)
    pay = project.settings.pay
    rows = [
        PayRow(
            month=row.month,
            person=names.get(row.person, row.person),
            tasks=row.units,
            turns=row.turns,
            hours=round(row.seconds / 3600, 2),
            amount=str(row.amount(pay)) if pay is not None else None,
            currency=pay.currency if pay is not None else None,
        ).model_dump()
        for row in found
    ]
    return sheet_answer("pay", rows, list(PayRow.model_fields), format)


@router.post("/pay/rate", response_class=HTMLResponse)
def change_rate(
    request: Request,
    project: ProjectHere,
    person: Annotated[User, require_form(Action.MANAGE)],
    basis: ShortText,
    rate: ShortText = "",
    currency: ShortText = "",
) -> Response:
    """Change what work is worth."""
    try:
        pay = _pay(basis, rate, currency)
        with transaction(project.database, person.id) as change:
            settings = administration.change_settings(change, pay=pay)
    except (InvalidValue, Conflict) as error:
        typed = {"basis": basis, "rate": rate, "currency": currency}
        return _page(request, project, person, problem=error, typed=typed)
    project.settings = settings
    return RedirectResponse("/pay?saved=1", status_code=303)


def _pay(basis: str, rate: str, currency: str) -> Pay | None:
    if basis == "none":
        return None
    try:
        return Pay.model_validate_strings(
            {"basis": basis, "rate": rate.strip().replace(",", "."), "currency": currency.strip().upper()}
        )
    except ValidationError as error:
        field = str(error.errors()[0]["loc"][0])
        wanted = {
            "basis": "pay is by task, turn or hour, or not counted",
            "rate": "a rate is a number from 0 to 99999 with at most four decimals",
            "currency": "a currency has three letters, as EUR",
        }
        raise InvalidValue(wanted[field], field=field) from None


def _page(
    request: Request,
    project: ReviewProject,
    person: User,
    *,
    problem: ApiError | None = None,
    typed: Mapping[str, str] | None = None,
    saved: bool = False,
) -> Response:
    cache = team_stats_of(request)
    stats = cache.latest()
    with project.database.reading() as session:
        rows, names = months_of_work(session, cache.turn_seconds()), names_by_id(session)
    pay = project.settings.pay
    by_month: dict[str, list[MonthOfWork]] = {}
    by_person: dict[str, list[MonthOfWork]] = {}
    for row in sorted(rows, key=lambda row: names.get(row.person, row.person).casefold()):
        by_person.setdefault(row.person, []).append(row)
    for row in rows:
        by_month.setdefault(row.month, []).append(row)
    for found in by_month.values():
        found.sort(key=lambda row: names.get(row.person, row.person).casefold())
    return page(
        request,
        "pay.html",
        person,
        status=problem.status if problem is not None else 200,
        pay=pay,
        basis=BASES[pay.basis] if pay is not None else "",
        typed=typed or _typed(pay),
        months=[(month, found, total_of(found, pay)) for month, found in by_month.items()],
        people=[(who, total_of(found, pay)) for who, found in by_person.items()],
        names=names,
        stats=stats,
        problem=problem,
        saved=saved,
    )


def _typed(pay: Pay | None) -> dict[str, Any]:
    if pay is None:
        return {"basis": "none", "rate": "", "currency": ""}
    return {"basis": pay.basis, "rate": str(Decimal(pay.rate).normalize()), "currency": pay.currency}
