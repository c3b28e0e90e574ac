"""Run samples through inspect_ai: one Sample is one script, its log opens in inspect_ai's viewer.

In this package only this module and the providers use inspect_ai. Other modules decide how to play and judge, and
handle the results. The log is for people to read; results are not read from it.
"""

import contextlib
import math
import os
import re
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from reeltalk.schema.record import Json
from reeltalk.store.atomic import storage_errors

SOURCE: Final = "reeltalk"
PROBE_BYTES: Final = 1 << 16
"""Written to test whether the disk is full."""


@dataclass(frozen=True)
class LoggedSample:
    """A sample as the log shows it before it runs."""

    id: str
    input: str
    metadata: Mapping[str, Json]


class Notes(Protocol):
    """Writes into the log of the sample that runs."""

    def turn(self, name: str) -> contextlib.AbstractAsyncContextManager[None]:
        """Group the events of the block in the log under this name."""
        ...

    def note(self, content: Mapping[str, Json]) -> None:
        """Add a note."""
        ...

    def message(self, role: str, text: str) -> None:
        """Add a message to the conversation that the log shows."""
        ...


@dataclass(frozen=True)
class LoggedScore:
    """The scores of a sample as the log shows them."""

    values: Mapping[str, float | None]
    """A number for each measure; the keys are the same for every sample."""
    explanation: str = ""


PlaySample = Callable[[str, Notes], Awaitable[None]]
JudgeSample = Callable[[str, Notes], Awaitable[LoggedScore | None]]


def run_samples(
    name: str,
    samples: Sequence[LoggedSample],
    play: PlaySample,
    judging: JudgeSample | None,
    *,
    models: Mapping[str, Any],
    log_dir: Path,
    at_a_time: int,
    metadata: Mapping[str, Json],
    close: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Play and judge every sample.

    Args:
        name: Name of the task in the log.
        samples: The samples.
        play: Plays a sample by its identifier.
        judging: Judges it after that.
        models: inspect_ai's own Models by role; `player` is the one the log is filed under.
        log_dir: Folder of the log.
        at_a_time: Samples that run together.
        metadata: Metadata of the run for the log.
        close: Awaited after the last sample, to close objects that belong to the event loop of the run.

    Raises:
        BenchmarkError: The log cannot be written, as on a full disk.
        BaseException: The first error that `play` or `judging` raised. Samples in progress end first, and no new sample
            begins.
        KeyboardInterrupt: Ctrl-C.
    """
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.scorer import Score, Target, scorer
    from inspect_ai.solver import TaskState, solver

    failures: list[BaseException] = []
    due = len(samples) * (2 if judging is not None else 1)

    async def guarded(what: Any, state: Any) -> Any:
        nonlocal due
        try:
            return None if failures else await what(str(state.sample_id), _Notes(state))
        except Exception as error:
            failures.append(error)
            return None
        finally:
            due -= 1
            if not due and close is not None:
                await close()

    @solver(name=SOURCE)  # type: ignore[untyped-decorator]
    def playing() -> Any:
        async def solve(state: TaskState, generate: Any) -> TaskState:
            await guarded(play, state)
            return state

        return solve

    @scorer(name=SOURCE, metrics=[])  # type: ignore[untyped-decorator]
    def judged() -> Any:
        async def score(state: TaskState, target: Target) -> Any:
            found: LoggedScore | None = await guarded(judging, state)
            if found is None:
                return None
            # A key that the first sample lacks is dropped, and None averages as 0.
            values = {key: math.nan if value is None else value for key, value in found.values.items()}
            return Score(value=values, explanation=found.explanation)

        return score

    task = Task(
        name=name,
        dataset=[Sample(id=sample.id, input=sample.input, metadata=dict(sample.metadata)) for sample in samples],
        solver=playing(),
        scorer=judged() if judging is not None else None,
        metadata=dict(metadata),
    )
    player = models.get("player")
    # Otherwise each request adds two lines to a file in the user's home.
    os.environ.setdefault("INSPECT_TRACE_LEVEL", "ERROR")
    try:
        logs = eval(
            task,
            model=player if player is not None else "none/none",
            model_roles={role: model for role, model in models.items() if role != "player"},
            log_dir=str(log_dir),
            max_samples=at_a_time,
            fail_on_error=False,
            display="none",
            log_images=False,
            # Measured: both cost much time for each call.
            log_realtime=False,
            score_display=False,
            log_level="error",
        )
    except Exception as error:
        _refuse(_refusal(error), log_dir)
        raise
    if failures:
        raise failures[0]
    for log in logs:
        if log.status == "cancelled":
            raise KeyboardInterrupt
        # Such an error is in inspect_ai's own code: `guarded` catches all errors of ours.
        errors = [log.error, *(sample.error for sample in log.samples or ())]
        messages = [error.message for error in errors if error is not None]
        if log.status != "success" or (due and messages):
            message = messages[0] if messages else ""
            _refuse(_written_error(message), log_dir)
            raise RuntimeError(f"inspect_ai ended with status {log.status}: {message}")
    if due:
        # Interrupted before it had a log, inspect_ai returns as if there had been nothing to do.
        raise KeyboardInterrupt


def _refuse(error: OSError | None, log_dir: Path) -> None:
    """Raise a system error that inspect_ai met as an error that names the place.

    inspect_ai's archive may report a failed write as another kind of error, so this function tests the folders itself.
    """
    place = error.filename if error is not None else None
    for folder in (log_dir, Path(tempfile.gettempdir()), Path(os.environ.get("XDG_DATA_HOME") or Path.home())):
        if place is None and (refused := _probe(folder)) is not None:
            error, place = error or refused, folder
    if error is not None:
        with storage_errors(Path(place or log_dir)):
            raise error


def _refusal(error: BaseException | None) -> OSError | None:
    """The operating system's error behind an error of inspect_ai."""
    if error is None or isinstance(error, OSError):
        return error
    grouped = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    causes = (*grouped, error.__cause__, error.__context__)
    return next((found for cause in causes if (found := _refusal(cause)) is not None), None)


def _written_error(message: str) -> OSError | None:
    """The operating system's error that a log names, as `OSError(28, 'No space left on device')`."""
    number = re.match(r"\w+\((\d+), ", message)
    return OSError(int(number[1]), os.strerror(int(number[1]))) if number else None


def _probe(log_dir: Path) -> OSError | None:
    """The error of writing into the folder of the log; None if it can be written."""
    try:
        with tempfile.TemporaryFile(dir=log_dir) as file:
            file.write(bytes(PROBE_BYTES))
    except OSError as error:
        return error
    return None


class _Notes:
    def __init__(self, state: Any) -> None:
        self._state = state

    @contextlib.asynccontextmanager
    async def turn(self, name: str) -> AsyncIterator[None]:
        from inspect_ai.util import span

        async with span(name):
            yield

    def note(self, content: Mapping[str, Json]) -> None:
        from inspect_ai.log import transcript

        transcript().info(dict(content), source=SOURCE)

    def message(self, role: str, text: str) -> None:
        from inspect_ai.model import ChatMessageAssistant, ChatMessageUser

        kind = ChatMessageAssistant if role == "assistant" else ChatMessageUser
        self._state.messages.append(kind(content=text))
