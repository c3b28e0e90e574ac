"""Pay: counted by hand, rounded as money is, for owners, and everybody's own."""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from askers import World
from sqlalchemy import select
from team import make_team, on_databases

from reeltalk.review.database import Pay, ProjectSettings
from reeltalk.review.pay import MonthOfWork, months_of_work, total_of
from reeltalk.review.tables import AssignmentRow, EntryRow, ProjectRow


@pytest.fixture
def world(tmp_path: Path, database_kind: str) -> Iterator[World]:
    """A team in which two do each unit."""
    found = World(make_team(tmp_path, overlap=2))
    yield found
    found.team.project.database.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "world" in metafunc.fixturenames:
        metafunc.parametrize("database_kind", on_databases(metafunc.definition.name), indirect=True)


def pay_by(basis: str, rate: str) -> Pay:
    return Pay.model_validate({"basis": basis, "rate": rate, "currency": "EUR"})


def test_amounts_are_rounded_and_sums_are_of_rounded_amounts() -> None:
    row = MonthOfWork("ann", "2026-11", units=3, turns=7, seconds=5400.0)
    assert [row.amount(pay_by(*each)) for each in (("unit", "1.5"), ("turn", "0.0750"), ("hour", "15.99"))] == [
        Decimal("4.50"), Decimal("0.53"), Decimal("23.99"),
    ]  # fmt: skip
    assert total_of([row, row], pay_by("turn", "0.075")) == (6, 14, 10800.0, Decimal("1.06"))
    assert total_of([], pay_by("turn", "1"))[3] == Decimal("0.00")
    assert total_of([row], None)[3] is None


def test_work_counts_in_the_month_in_which_it_was_submitted_or_saved(world: World) -> None:
    first, second = world.work("annotator", "submitted"), world.work("annotator", "submitted")
    world.work("annotator", "working")
    with world.changing() as change:
        change.session.get_one(AssignmentRow, first).submitted_at = "2026-02-28T23:59:59.999Z"
        change.session.get_one(AssignmentRow, second).submitted_at = "2026-03-01T00:00:00.000Z"
        change.session.get_one(EntryRow, (first, "1")).at = "2026-01-31T12:00:00.000Z"
    seconds = {(first, "1"): 60.0, ("gone", "0"): 9.0}
    with world.team.project.database.reading() as session:
        rows = months_of_work(session, seconds)
        assert months_of_work(session, seconds, only=world.browsers["other"].id) == []
    assert [(row.month, row.units, row.turns, row.seconds) for row in rows] == [
        ("2026-03", 1, 3, 0.0),
        ("2026-02", 1, 3, 0.0),
        ("2026-01", 0, 0, 60.0),
    ]


def test_owners_set_the_rate_and_everybody_sees_their_own_pay(world: World) -> None:
    owner, annotator = world.browsers["owner"], world.browsers["annotator"]
    world.work("annotator", "submitted")
    assert "Your pay" not in annotator.get("/board").text
    for fields, said in (
        ({"basis": "turn", "rate": "x", "currency": "EUR"}, "A rate is a number"),
        ({"basis": "turn", "rate": "-1", "currency": "EUR"}, "A rate is a number"),
        ({"basis": "turn", "rate": "1", "currency": "Euro"}, "A currency has three letters"),
        ({"basis": "week", "rate": "1", "currency": "EUR"}, "Pay is by task"),
    ):
        answer = owner.form("/pay/rate", **fields)
        assert (answer.status_code, said in answer.text) == (422, True)
    assert owner.form("/pay/rate", basis="turn", rate="0,4", currency="eur").status_code == 303
    page = owner.get("/pay").text
    assert 'value="0.4"' in page
    assert '<td class="number">1.20</td>' in page
    (row,) = owner.get("/api/pay").json()["rows"]
    assert (row["person"], row["tasks"], row["turns"], row["amount"]) == ("The annotator", 1, 3, "1.20")
    text = owner.get("/api/pay?format=csv").text.splitlines()
    assert text[0] == "month,person,tasks,turns,hours,amount,currency"
    assert text[1].endswith(",The annotator,1,3,0.0,1.20,EUR")
    assert '<td class="number">1.20</td>' in annotator.get("/board").text
    assert "Your pay" not in world.browsers["other"].get("/board").text
    # The rate is in the history, and another process of the server reads it.
    assert owner.get("/api/events?kind=settings").json()["events"][-1]["after"]["pay"]["rate"] == "0.4"
    with world.team.project.database.reading() as session:
        stored = session.scalars(select(ProjectRow)).one().settings
    assert ProjectSettings.model_validate(stored).pay == pay_by("turn", "0.4")
    assert owner.form("/pay/rate", basis="none").status_code == 303
    assert owner.get("/api/pay").json()["rows"][0]["amount"] is None
