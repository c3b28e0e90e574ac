"""No limit is passed, however many threads ask."""

import asyncio
import random
import threading
import time
from pathlib import Path

import pytest

from reeltalk.errors import BudgetError, SettingError
from reeltalk.llm import Budget, Prices, Spent
from reeltalk.llm.budget import Reservation
from reeltalk.llm.replies import ReplyStore
from reeltalk_build.threads import map_threads


def reserve(budget: Budget, prompt: int, completion: int, prices: Prices | None = None) -> Reservation:
    return asyncio.run(budget.reserve(prompt, completion, prices))


def test_exactly_as_many_calls_leave_as_are_allowed() -> None:
    budget = Budget(max_calls=100)

    def ask(_: int) -> bool:
        try:
            budget.settle(reserve(budget, 10, 10), 1, 1)
        except BudgetError:
            return False
        return True

    assert sum(got for _, got in map_threads(ask, range(500), 8)) == 100
    assert budget.spent == Spent(calls=100, tokens=200, cost=0.0)


def test_tokens_and_money_never_pass_their_limits() -> None:
    budget = Budget(max_tokens=20_000, max_cost=0.05)
    prices = Prices(input=1.0, output=4.0)
    most_tokens, most_cost = 0, 0.0

    def ask(seed: int) -> bool:
        nonlocal most_tokens, most_cost
        draw = random.Random(seed)
        prompt, completion = draw.randint(0, 300), draw.randint(0, 300)
        try:
            reserved = reserve(budget, prompt, completion, prices)
        except BudgetError:
            return False
        if draw.random() < 0.3:
            budget.settle(reserved)
        else:
            budget.settle(reserved, draw.randint(0, prompt), draw.randint(0, completion))
        spent = budget.spent
        most_tokens, most_cost = max(most_tokens, spent.tokens), max(most_cost, spent.cost)
        return True

    got = [one for _, one in map_threads(ask, range(400), 8)]
    assert not all(got)
    assert most_tokens <= 20_000
    assert most_cost <= 0.05
    assert budget.spent.cost > 0.045


def test_who_may_still_fit_waits_for_those_under_way() -> None:
    budget = Budget(max_tokens=100)
    first = reserve(budget, 50, 40)
    timer = threading.Timer(0.1, lambda: budget.settle(first, 5, 5))
    timer.start()
    began = time.monotonic()
    budget.settle(reserve(budget, 50, 40), 50, 40)
    assert time.monotonic() - began >= 0.09
    timer.join()
    assert budget.spent.tokens == 100


def test_who_cannot_fit_is_told_what_was_spent() -> None:
    budget = Budget(max_calls=5, max_tokens=1000, max_cost=1.5)
    budget.settle(reserve(budget, 400, 400, Prices(input=1000, output=2000)), 400, 400)
    with pytest.raises(
        BudgetError,
        match=r"spent: 1 of 5 requests, 800 of 1,000 tokens, 1\.2000 of 1\.5000 in money; the next request may take "
        r"300 tokens and 0\.0000 in money; run again with a larger one",
    ):
        reserve(budget, 200, 100, Prices(input=0, output=0))
    assert budget.spent.calls == 1


class Told:
    """A ledger of earlier calls."""

    def spent(self) -> Spent:
        return Spent(20, 1000, 0.5)

    def add_spent(self, spent: Spent) -> None:
        return


@pytest.mark.parametrize(
    ("limit", "more", "found"),
    [(None, None, None), (30, None, 30), (30, 5, 35), (20, 5, 25), (10, 5, 25), (None, 5, 25)],
)
def test_more_is_added_to_a_limit_or_to_what_was_spent(limit: int | None, more: int | None, found: int | None) -> None:
    assert Budget(limit, ledger=Told(), more=(more, None, None)).max_calls == found


def test_who_has_a_ledger_is_told_what_to_add() -> None:
    budget = Budget(20, 1200, 0.5, ledger=Told())
    with pytest.raises(BudgetError, match=r"20 of 20 requests.*; add --more 20 to the same command, and it goes on"):
        reserve(budget, 1, 1, Prices(input=0, output=0))
    budget = Budget(40, 1200, 0.6, ledger=Told())
    budget.expected = lambda: Spent(30, 4321, 0.05)
    # A quarter more than what is expected: 38 requests, 5,402 tokens and 0.0625.
    with pytest.raises(BudgetError, match=r"add --more 18 --more-tokens 5300 to the same command"):
        reserve(budget, 150, 100, Prices(input=0, output=0))


def test_nothing_is_limited_by_default() -> None:
    budget = Budget()
    budget.settle(reserve(budget, 10**9, 10**9))
    assert budget.spent == Spent(1, 2 * 10**9, 0.0)


def test_wrong_limits_are_refused() -> None:
    for wrong in ({"max_calls": -1}, {"max_tokens": -1}, {"max_cost": float("nan")}):
        with pytest.raises(ValueError, match="must be a number from 0"):
            Budget(**wrong)
    with pytest.raises(SettingError, match="needs the prices"):
        reserve(Budget(max_cost=1), 1, 1)


def test_a_limit_holds_for_all_calls_together_where_a_ledger_remembers(tmp_path: Path) -> None:
    prices = Prices(input=1.0, output=1.0)

    def asked_until_spent(budget: Budget) -> int:
        for asked in range(100):
            try:
                budget.settle(reserve(budget, 10, 10, prices), 5, 5)
            except BudgetError:
                return asked
        raise AssertionError

    for limit, asked in ((4, 4), (4, 0), (6, 2), (6, 0), (9, 3)):
        with ReplyStore(tmp_path / "replies.sqlite") as store:
            budget = Budget(max_calls=limit, ledger=store)
            assert asked_until_spent(budget) == (budget.spent - budget.before).calls == asked
    with ReplyStore(tmp_path / "replies.sqlite") as store:
        assert (store.spent().calls, store.spent().tokens) == (9, 90)
        assert store.spent().cost == pytest.approx(90 / 1e6)
        budget = Budget(max_cost=95 / 1e6, ledger=store)
        budget.settle(reserve(budget, 2, 2, prices), 0, 0, reached=False)
        with pytest.raises(BudgetError, match="by all calls together"):
            reserve(budget, 4, 4, prices)
        assert store.spent().calls == 9
