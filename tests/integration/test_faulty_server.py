"""A server that fails in nineteen ways, asked by eight threads within a budget: every item is accounted for."""

import contextlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict
from scripted_server import FAULTS, completion, faulty, serve, words

from reeltalk.errors import BudgetError, ModelError
from reeltalk.llm import Asked, Budget, CachedModel, Endpoint, LanguageModel, Message, ReplyStore, Spent, ask_for
from reeltalk.parallel.threads import map_threads

THREADS = 8


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
        backoff_s=0.001,
        longest_wait_s=0.02,
    )


def run(tmp_path: Path, calls: int, max_tokens: int) -> tuple[Counter[str], Spent]:
    """Ask for so many items that the budget ends before them. Returns how they ended, and what was spent."""
    # About two requests an item.
    items = [f"item {n}" for n in range(calls * 6 // 10)]
    counts: Counter[str] = Counter()
    budget = Budget(max_calls=calls, max_tokens=max_tokens)
    most_tokens = 0
    reasons: dict[str, str] = {}
    with (
        serve(faulty(17, right, counts=counts, hold_s=0.8), keep=0) as server,
        ReplyStore(tmp_path / "replies.sqlite") as store,
        contextlib.closing(LanguageModel(endpoint(server.base_url), budget=budget)) as tiny,
    ):
        model = CachedModel(tiny, store)

        def ask(item: str) -> str:
            nonlocal most_tokens
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
                most_tokens = max(most_tokens, budget.spent.tokens)
            if asked.record is None:
                assert len(asked.replies) == len(asked.reasons) == 2
                reasons[item] = " / ".join(asked.reasons)
                return "malformed"
            assert asked.record == Record(item=item, score=3)
            return "written"

        ended = dict(map_threads(ask, items, THREADS))
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
        if calls >= 1000:
            assert set(counts) == {*FAULTS, "right"}
        kept, before = len(store), server.count
        # What was written once costs nothing the second time, though the budget is spent.
        written = [index for index, end in ended.items() if end == "written"]
        assert all(ask(items[index]) == "written" for index in written[:100])
        assert (len(store), server.count) == (kept, before)
    print(dict(outcome), dict(counts), budget.spent)
    return outcome, budget.spent


def test_a_tenth_of_the_requests(tmp_path: Path) -> None:
    outcome, spent = run(tmp_path, 2000, 2000 * 130)
    assert spent.calls == 2000
    assert outcome["written"] > 600
    assert outcome["stopped by the budget"] > 0


@pytest.mark.slow
def test_all_requests(tmp_path: Path) -> None:
    outcome, spent = run(tmp_path, 20_000, 20_000 * 130)
    assert spent.calls == 20_000
    assert outcome["written"] > 6000
    assert outcome["stopped by the budget"] > 0


@pytest.mark.parametrize("calls", [400, pytest.param(20_000, marks=pytest.mark.slow)])
def test_tokens_end_before_calls(tmp_path: Path, calls: int) -> None:
    outcome, spent = run(tmp_path, calls, calls * 40)
    assert spent.calls < calls
    assert outcome["stopped by the budget"] > calls // 100


def test_a_run_with_a_larger_budget_goes_on(tmp_path: Path) -> None:
    items = [f"item {n}" for n in range(40)]
    with serve(right) as server, ReplyStore(tmp_path / "replies.sqlite") as store:

        def go_on(calls: int) -> list[Asked[Record]]:
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
