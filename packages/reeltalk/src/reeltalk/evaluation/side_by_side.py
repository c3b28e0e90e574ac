"""Play and judge several scripts at a time, in an event loop of their own."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from reeltalk.llm.language_model import LoopThread

Act = Callable[[str], Awaitable[None]]


def run_side_by_side(
    names: Sequence[str], play: Act, judge: Act, *, at_a_time: int, close: Callable[[], Awaitable[None]]
) -> None:
    """Play and judge what has a name.

    Args:
        names: Names of scripts.
        play: Plays a script.
        judge: Judges it after that.
        at_a_time: Scripts that run together.
        close: Awaited after the last script, and after Ctrl-C, to close objects that belong to the event loop.

    Raises:
        Exception: The first error that `play` or `judge` raised. Scripts in progress end first, and no new one begins.
        KeyboardInterrupt: Ctrl-C.
    """
    failures: list[Exception] = []

    async def run_all() -> None:
        # Each of the tasks takes the next script, so that none of them waits for another.
        waiting = iter(names)

        async def run_next() -> None:
            for name in waiting:
                if failures:
                    return
                try:
                    await play(name)
                    if not failures:
                        await judge(name)
                except Exception as error:
                    failures.append(error)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(at_a_time, len(names))):
                    group.create_task(run_next())
        finally:
            await close()

    _run(run_all())
    if failures:
        raise failures[0]


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run it in a new event loop; in a thread of its own where one runs here already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    loop = LoopThread("evaluate")
    try:
        loop.run(work)
    finally:
        loop.close()
