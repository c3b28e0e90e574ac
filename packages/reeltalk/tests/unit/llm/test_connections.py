"""A server that receives too many requests is sent fewer at a time, and slowly more again."""

import asyncio

import pytest

from reeltalk.llm import connections
from reeltalk.llm.connections import Connections


def test_who_waits_longest_enters_first_and_who_gives_up_takes_no_place() -> None:
    async def entered() -> list[int]:
        limit, order = Connections(1), list[int]()

        async def enter(number: int) -> None:
            async with limit:
                order.append(number)
                await asyncio.sleep(0)

        await limit.__aenter__()
        tasks = [asyncio.create_task(enter(number)) for number in range(5)]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await limit.__aexit__()
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
            async with limit:
                order.append(name)

        await limit.__aenter__()
        early = asyncio.create_task(enter("early"))
        await asyncio.sleep(0)
        limit.limit = 2
        late = asyncio.create_task(enter("late"))
        await asyncio.sleep(0)
        await limit.__aexit__()
        await asyncio.gather(early, late)
        return order

    assert asyncio.run(entered()) == ["early", "late"]


def test_it_shrinks_once_for_many_refusals_and_grows_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    async def limits() -> list[int]:
        limit, found = Connections(100), list[int]()
        for _ in range(30):
            limit.cut()
        found.append(limit.limit)
        monkeypatch.setattr(connections, "APART_S", 0.0)
        limit.grow()  # one request alone says nothing about the limit
        async with asyncio.TaskGroup() as group:
            for _ in range(80):
                group.create_task(limit.__aenter__())
        for _ in range(79):
            limit.grow()
        found.append(limit.limit)
        limit.grow()
        found.append(limit.limit)
        limit.limit = 1
        limit.cut()
        found.append(limit.limit)
        return found

    assert asyncio.run(limits()) == [80, 80, 84, 1]
