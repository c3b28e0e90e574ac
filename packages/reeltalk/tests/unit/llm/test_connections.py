"""A server that receives too many requests is sent fewer at a time, and slowly more again."""

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any, TypeVar

import pytest

from reeltalk.llm.connections import HALF, OVERTAKEN, Connections, Queue


def test_who_waits_longest_enters_first_and_who_gives_up_takes_no_place() -> None:
    async def entered() -> list[int]:
        limit, order = Connections(1), list[int]()

        async def enter(number: int) -> None:
            async with limit.place():
                order.append(number)
                await asyncio.sleep(0)

        async with limit.place():
            tasks = [asyncio.create_task(enter(number)) for number in range(5)]
            await asyncio.sleep(0)
            tasks[1].cancel()
        # Its turn has come, and it has not run since.
        tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.wait_for(enter(5), 5)
        return order

    assert asyncio.run(entered()) == [2, 3, 4, 5]


def test_who_comes_after_the_limit_has_grown_does_not_overtake() -> None:
    async def entered() -> list[str]:
        limit, order = Connections(1), list[str]()

        async def enter(name: str) -> None:
            async with limit.place():
                order.append(name)

        async with limit.place():
            early = asyncio.create_task(enter("early"))
            await asyncio.sleep(0)
            limit.limit = 2
            late = asyncio.create_task(enter("late"))
            await asyncio.sleep(0)
        await asyncio.gather(early, late)
        return order

    assert asyncio.run(entered()) == ["early", "late"]


class ClockSelector(selectors.SelectSelector):
    """Waits no time: the clock moves on."""

    now_s = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now_s += max(timeout or 0.0, 0.0)
        return super().select(0)


class ClockLoop(asyncio.SelectorEventLoop):
    """An event loop whose waits take no time, so that a test is exact on a busy machine."""

    def __init__(self) -> None:
        self._clock = ClockSelector()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now_s


T = TypeVar("T")


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> Callable[[Coroutine[Any, Any, T]], T]:
    """Runs a coroutine on a clock of its own."""

    def run(task: Coroutine[Any, Any, T]) -> T:
        with asyncio.Runner(loop_factory=ClockLoop) as runner:
            monkeypatch.setattr(time, "monotonic", runner.get_loop().time)
            return runner.run(task)

    return run


async def served(requests: int, slots: int, most: int, spread: float, *, fixed: bool = False) -> tuple[int, int, float]:
    """What proved best, most requests at a time, and seconds, at a server that answers `slots` requests at a time."""
    limit, free, here, peak = Connections(most), asyncio.Semaphore(slots), 0, 0
    random = Random(slots)
    if fixed:
        limit.limit = most

    async def ask() -> None:
        nonlocal here, peak
        async with limit.place() as place:
            here += 1
            peak = max(peak, here)
            async with free:
                await asyncio.sleep(random.lognormvariate(0, spread))
            here -= 1
            if not fixed:
                limit.grow(place)

    began_s = asyncio.get_running_loop().time()
    await asyncio.gather(*(ask() for _ in range(requests)))
    return limit.best, peak, asyncio.get_running_loop().time() - began_s


@pytest.mark.parametrize("spread", [0.0, 0.5])
@pytest.mark.parametrize(
    ("slots", "best", "peak", "longer"), [(1, (2, 4), 8, 0), (4, (4, 8), 16, 0.5), (64, (20, 20), 20, 3.0)]
)
def test_it_finds_how_many_a_server_answers_at_a_time(
    slots: int,
    best: tuple[int, int],
    peak: int,
    longer: float,
    spread: float,
    timed: Callable[..., tuple[int, int, float]],
) -> None:
    """Twenty may be sent. A server with one slot gets two or four, and no server is slower by more than `longer` s."""
    found, most, took_s = timed(served(200, slots, 20, spread))
    assert best[0] <= found <= best[1]
    assert most <= peak
    assert took_s <= timed(served(200, slots, 20, spread, fixed=True))[2] + longer


def test_it_is_cut_once_for_many_refusals_and_grows_slowly(timed: Callable[..., list[int]]) -> None:
    async def limits() -> list[int]:
        limit, found = Connections(100), list[int]()
        limit.limit = 100
        for _ in range(30):
            limit.cut()
        found.append(limit.limit)

        async def ask() -> None:
            async with limit.place() as place:
                await asyncio.sleep(1)
                limit.grow(place)
                found.append(limit.limit)

        # Nothing changes in the first 15 s; then it grows by a twentieth for each round.
        await asyncio.gather(*(ask() for _ in range(80 * 17 + 84)))
        limit.cut(HALF)
        return [found[0], found[80 * 14], *sorted(set(found[80 * 14 :])), limit.limit]

    assert timed(limits()) == [80, 80, 80, 84, 88, 44]


def test_a_request_in_a_queue_is_no_failure_while_those_before_it_are_answered(
    timed: Callable[..., list[bool]],
) -> None:
    async def answered() -> list[bool]:
        queue, slot = Queue(), asyncio.Lock()

        async def ask(hangs: bool = False) -> bool:
            try:
                async with queue.reply_within(2), slot:
                    await asyncio.sleep(60 if hangs else 1)
            except TimeoutError:
                return False
            return True

        # The eighth waits 7 s, longer than a reply may take. Behind a reply that never comes the next one fails, too.
        found = await asyncio.gather(*(ask() for _ in range(8)))
        return [*found, *await asyncio.gather(ask(), ask(hangs=True), ask())]

    assert timed(answered()) == [True] * 8 + [True, False, False]


def test_a_request_is_overtaken_for_some_time_before_it_is_given_up(timed: Callable[..., list[bool]]) -> None:
    async def answered(overtaking: int) -> bool:
        queue = Queue()

        async def ask(takes_s: float) -> bool:
            try:
                async with queue.reply_within(2):
                    await asyncio.sleep(takes_s)
            except TimeoutError:
                return False
            return True

        # Its connection is new, and the others are kept busy.
        first = asyncio.create_task(ask(overtaking + 0.5))
        await asyncio.sleep(0)
        assert all([await ask(1) for _ in range(overtaking)])
        return await first

    assert timed(answered(OVERTAKEN))
    assert not timed(answered(OVERTAKEN + 3))
