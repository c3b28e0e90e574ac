"""A server that fails in nineteen ways, asked by eight threads within a budget: every item is accounted for.

No limit on requests, tokens or money is passed, whatever fails.
"""

import contextlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict
from reliability_page import Reliability
from scripted_server import FAULTS, completion, faulty, serve, words

from reeltalk.errors import BudgetError, ModelError
from reeltalk.llm import Budget, CachedModel, Endpoint, LanguageModel, Message, RecordResult, ReplyStore, Spent, ask_for
from reeltalk.llm.budget import PER
from reeltalk_build.threads import map_threads

THREADS = 8
PRICE_IN, PRICE_OUT = 1.0, 4.0


class Record(BaseModel):
    """What is asked for."""

    model_config = ConfigDict(extra="forbid")

    item: str
    score: int


def right(body: dict[str, Any]) -> str:
    item = next(words(message) for message in body["messages"] if message["role"] == "user")
    return f'{{"item": "{item}", "score": 3}}'


def endpoint(base_url: str) -> Endpoint:
    return Endpoint(
        model="tiny",
        base_url=base_url,
        timeout_s=0.5,
        max_tokens=64,
        max_retries=3,
        give_up_after_s=0,
        backoff_s=0.001,
        longest_wait_s=0.02,
        price_in=PRICE_IN,
        price_out=PRICE_OUT,
    )


def run(
    tmp_path: Path, calls: int, max_tokens: int, reliability: Reliability, *, max_cost: float | None = None
) -> tuple[Counter[str], Spent]:
    """Ask for so many items that the budget ends before them. Returns how they ended, and what was spent."""
    # About two requests an item.
    items = [f"item {n}" for n in range(calls * 6 // 10)]
    counts: Counter[str] = Counter()
    budget = Budget(max_calls=calls, max_tokens=max_tokens, max_cost=max_cost)
    asked_for = reliability("servers", "requests to a server that fails in 19 ways", "an item without reply or reason")
    within = reliability(
        "servers",
        "requests under limits on requests, tokens and money, while 8 threads ask a server that fails",
        "more is taken than a limit allows",
    )
    most_tokens, most_cost = 0, 0.0
    reasons: dict[str, str] = {}
    with (
        serve(faulty(17, right, counts=counts, hold_s=0.8), keep=0) as server,
        ReplyStore(tmp_path / "replies.sqlite") as store,
        contextlib.closing(LanguageModel(endpoint(server.base_url), budget=budget)) as tiny,
    ):
        model = CachedModel(tiny, store)

        def ask(item: str) -> str:
            nonlocal most_tokens, most_cost
            try:
                asked = ask_for(
                    model,
                    [Message("user", item)],
                    Record,
                    check=lambda record: None if record.item == item else "this is another item",
                )
            except BudgetError:
                return "stopped by the budget"
            except ModelError as error:
                reasons[item] = str(error)
                return "no reply"
            finally:
                spent = budget.spent
                most_tokens, most_cost = max(most_tokens, spent.tokens), max(most_cost, spent.cost)
            if asked.record is None:
                assert len(asked.replies) == len(asked.reasons) == 2
                reasons[item] = " / ".join(asked.reasons)
                return "malformed"
            assert asked.record == Record(item=item, score=3)
            return "written"

        ended = dict(map_threads(ask, items, THREADS))
        asked_for.tried = within.tried = server.count
        assert sorted(ended) == list(range(len(items)))
        outcome = Counter(ended.values())
        assert outcome.total() == len(items)
        assert set(outcome) <= {"written", "malformed", "no reply", "stopped by the budget"}
        assert len(reasons) == outcome["malformed"] + outcome["no reply"]
        assert all(reasons.values())
        # A request may be lost on its way, never sent without being counted.
        assert server.count <= budget.spent.calls <= calls
        assert server.count >= budget.spent.calls * 0.9
        assert counts.total() == server.count
        assert most_tokens == budget.spent.tokens
        assert server.tokens <= budget.spent.tokens
        assert budget.spent.tokens <= max_tokens
        assert most_cost == budget.spent.cost >= server.tokens * PRICE_IN / PER
        assert max_cost is None or most_cost <= max_cost
        if calls >= 1000:
            assert set(counts) == {*FAULTS, "right"}
        kept, before = len(store), server.count
        # What was written once costs nothing the second time, though the budget is spent.
        written = [index for index, end in ended.items() if end == "written"]
        assert all(ask(items[index]) == "written" for index in written[:100])
        assert (len(store), server.count) == (kept, before)
    print(dict(outcome), dict(counts), budget.spent)
    return outcome, budget.spent


@pytest.mark.timeout(7200)
def test_every_item_is_accounted_for(tmp_path: Path, reliability: Reliability) -> None:
    calls = reliability.count(1000, full=20_000, release=100_000)
    # A call takes about 130 tokens, so the calls end first.
    outcome, spent = run(tmp_path, calls, calls * 160, reliability)
    assert spent.calls == calls
    assert outcome["written"] > calls * 3 // 10
    assert outcome["stopped by the budget"] > 0


@pytest.mark.timeout(7200)
def test_tokens_end_before_calls(tmp_path: Path, reliability: Reliability) -> None:
    calls = reliability.count(400, full=20_000, release=20_000)
    outcome, spent = run(tmp_path, calls, calls * 40, reliability)
    assert spent.calls < calls
    assert outcome["stopped by the budget"] > calls // 100


@pytest.mark.timeout(7200)
def test_money_ends_before_calls_and_tokens(tmp_path: Path, reliability: Reliability) -> None:
    calls = reliability.count(400, full=20_000, release=20_000)
    outcome, spent = run(tmp_path, calls, calls * 130, reliability, max_cost=calls * 60 / PER)
    assert spent.calls < calls
    assert spent.tokens < calls * 100
    assert outcome["stopped by the budget"] > calls // 100


def test_a_run_with_a_larger_budget_goes_on(tmp_path: Path) -> None:
    items = [f"item {n}" for n in range(40)]
    with serve(right) as server, ReplyStore(tmp_path / "replies.sqlite") as store:

        def go_on(calls: int) -> list[RecordResult[Record]]:
            with contextlib.closing(LanguageModel(endpoint(server.base_url), budget=Budget(max_calls=calls))) as tiny:
                model = CachedModel(tiny, store)
                return [
                    asked
                    for _, asked in map_threads(lambda item: ask_for(model, [Message("user", item)], Record), items, 4)
                ]

        with pytest.raises(BudgetError, match=r"15 of 15 requests.*run again with a larger one"):
            go_on(15)
        assert server.count == len(store) == 15
        for calls in (25, 0):
            assert all(asked.record is not None for asked in go_on(calls))
        assert server.count == len(store) == 40


def test_pictures_reach_the_server() -> None:
    def see(body: dict[str, Any]) -> dict[str, Any]:
        return completion(body, '{"item": "seen", "score": 1}')

    with serve(see) as server, contextlib.closing(LanguageModel(endpoint(server.base_url))) as tiny:
        asked = ask_for(tiny, [Message("user", "look", (b"\xff\xd8" * 500,) * 3)], Record)
    assert asked.record is not None
    assert server.images == 3
