"""Run samples, several at a time. Each is one script; its log opens in inspect_ai's viewer.

Other modules decide how to play and judge, and handle the results. The log is for people to read; results are not read
from it.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final, Protocol

from reeltalk.evaluation.eval_log import EvalLog, LoggedSample, LoggedScore, SampleRecord
from reeltalk.llm.language_model import LoopThread
from reeltalk.llm.served import Exchange, ServedModel
from reeltalk.schema.record import Json

_RECORD: Final[ContextVar[SampleRecord]] = ContextVar("reeltalk_record")
"""The sample of a task."""


class Notes(Protocol):
    """Writes into the log of the sample that runs."""

    def span(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Group the events of the block in the log under this name."""
        ...

    def note(self, content: Mapping[str, Json]) -> None:
        """Add a note."""
        ...

    def message(self, role: str, text: str) -> None:
        """Add a message to the conversation that the log shows."""
        ...


PlaySample = Callable[[str, Notes], Awaitable[None]]
JudgeSample = Callable[[str, Notes], Awaitable[LoggedScore | None]]


def run_samples(
    name: str,
    samples: Sequence[LoggedSample],
    play: PlaySample,
    judging: JudgeSample | None,
    *,
    models: Mapping[str, ServedModel],
    log_dir: Path,
    at_a_time: int,
    metadata: Mapping[str, Json],
    close: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Play and judge every sample.

    Args:
        name: Name of the task in the log.
        play: Plays a sample by its identifier.
        judging: Judges it after that.
        models: Models by role, whose requests the log shows; `player` is the one the log is filed under.
        log_dir: Folder of the log.
        at_a_time: Samples that run together.
        metadata: Metadata of the run for the log.
        close: Awaited after the last sample, and after Ctrl-C, to close objects that belong to the event loop of the
            run.

    Raises:
        BenchmarkError: The log cannot be written, as on a full disk.
        Exception: The first error that `play` or `judging` raised. Samples in progress end first, and no new sample
            begins.
        KeyboardInterrupt: Ctrl-C.
    """
    log = EvalLog(
        log_dir,
        name,
        samples,
        models=models,
        scored=judging is not None,
        at_a_time=at_a_time,
        metadata=metadata,
    )
    failures: list[Exception] = []

    async def run_one(sample: LoggedSample) -> None:
        record = SampleRecord(sample)
        _RECORD.set(record)
        try:
            with record.span("playing", "solvers"):
                await play(sample.id, record)
            if judging is not None and not failures:
                with record.span("judging", "scorers"):
                    if (score := await judging(sample.id, record)) is not None:
                        record.score(score)
        except Exception as error:
            failures.append(error)
            record.fail(error)
        try:
            await log.add(record)
        except Exception as error:
            failures.append(error)

    async def run_all() -> None:
        # Each of the tasks takes the next sample, so that none of them waits for another.
        waiting = iter(samples)

        async def run_next() -> None:
            for sample in waiting:
                if failures:
                    return
                await run_one(sample)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(at_a_time, len(samples))):
                    group.create_task(run_next())
        finally:
            if close is not None:
                await close()

    for model in models.values():
        model.listener = _record
    try:
        _run(run_all())
    except BaseException as error:
        # What ended the run is told, even if the log cannot be written either.
        with contextlib.suppress(Exception):
            log.close("cancelled", error if isinstance(error, Exception) else None)
        raise
    finally:
        for model in models.values():
            model.listener = None
    if failures:
        with contextlib.suppress(Exception):
            log.close("error", failures[0])
        raise failures[0]
    log.close("success")


def _record(exchange: Exchange) -> None:
    _RECORD.get().exchange(exchange)


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
