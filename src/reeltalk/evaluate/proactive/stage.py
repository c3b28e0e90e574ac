"""The stage: play tasks to a model and write the log of events, line by line, so that a stopped run goes on."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from reeltalk.errors import BenchmarkError, InputError, SettingError
from reeltalk.evaluate.playing.frames import FrameServer
from reeltalk.evaluate.playing.script import Script, Step
from reeltalk.evaluate.proactive.play import play
from reeltalk.evaluate.proactive.watching import Signature, Watcher
from reeltalk.progress import CountProgress
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.stream import ProactiveTask, StreamEvent
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.event_log import EventLog
from reeltalk.store.tables import PROACTIVE, VIDEOS

ALL = "all"


@dataclass(frozen=True)
class PlayedTasks:
    """What was done."""

    played: int
    """Now."""
    before: int
    """By an earlier run that was stopped."""
    failed: int
    replies: int
    """That were given now."""


def chosen_tasks(
    benchmark: Benchmark, *, split: str | None, kinds: Sequence[str] = (), limit: int | None = None
) -> list[ProactiveTask]:
    """Tasks to play, video by video.

    Args:
        benchmark: Holds them.
        split: Of the videos; `test` where there is one by default, else all; `all` for all.
        kinds: Which kinds; all where none is named.
        limit: The tasks of the first so many videos.

    Raises:
        BenchmarkError: There are none.
    """
    splits = {video.id: video.split for video in benchmark.read(VIDEOS)}
    tasks = list(benchmark.read(PROACTIVE)) if benchmark.rows(PROACTIVE) else []
    if not tasks:
        hint = "'reeltalk graph questions --proactive' writes it"
        raise BenchmarkError(f"{benchmark.path} has no {PROACTIVE.file_name}; {hint}")
    known = {task.kind for task in tasks}
    if unknown := sorted(set(kinds) - known):
        raise SettingError(f"no task of kind {unknown[0]!r}; known are {', '.join(sorted(known))}")
    if split is None:
        split = "test" if "test" in splits.values() else ALL
    found = [
        task
        for task in tasks
        if (split == ALL or splits.get(task.video_id) == split) and (not kinds or task.kind in kinds)
    ]
    videos = list(dict.fromkeys(task.video_id for task in found))[:limit]
    found = [task for video in videos for task in found if task.video_id == video]
    if not found:
        raise BenchmarkError(f"{benchmark.path} has no tasks about videos of split {split!r}; name another --split")
    return found


def run(
    tasks: Sequence[ProactiveTask],
    watcher: Watcher,
    frames: FrameServer,
    log: EventLog,
    *,
    signed: Signature = (),
    progress: CountProgress | None = None,
) -> PlayedTasks:
    """Play tasks one after the other. Sessions that the log holds already are passed over.

    Args:
        tasks: In the order in which they are played.
        watcher: Who follows.
        frames: Gives frames.
        log: Receives events.
        signed: What can move what is said beside the watcher; stands in each session's first event.
        progress: Told tasks done of tasks.

    Raises:
        BenchmarkError: A video's file is not at hand, or the log cannot be written.
        BudgetError: A limit would be passed; the same command goes on.
        KeyboardInterrupt: Ctrl-C; the same command goes on with the task that was broken off.
    """
    return asyncio.run(_run_and_close(tasks, watcher, frames, log, signed, progress or (lambda done, total: None)))


async def _run_and_close(
    tasks: Sequence[ProactiveTask],
    watcher: Watcher,
    frames: FrameServer,
    log: EventLog,
    signed: Signature,
    progress: CountProgress,
) -> PlayedTasks:
    try:
        return await _run(tasks, watcher, frames, log, signed, progress)
    finally:
        await watcher.close()


async def _run(
    tasks: Sequence[ProactiveTask],
    watcher: Watcher,
    frames: FrameServer,
    log: EventLog,
    signed: Signature,
    progress: CountProgress,
) -> PlayedTasks:
    played = before = failed = replies = 0
    async with frames:
        for done, task in enumerate(tasks, 1):
            if (watcher.name, task.id) in log.whole:
                before += 1
                continue
            try:
                screening = await frames.open(_script(task))
                shown, _ = screening.at(0)
            except asyncio.CancelledError:
                frames.stop()
                raise
            except InputError as error:
                # A video that cannot be shown costs its own tasks, not the run.
                log.add(_cannot(task, watcher, str(error), signed))
                failed += 1
                progress(done, len(tasks))
                continue
            async with aclosing(play(task, watcher, shown, screening, signed=signed)) as events:
                async for event in events:
                    log.add(event)
                    replies += event.kind == "replied"
                    failed += event.kind == "failed"
            played += 1
            progress(done, len(tasks))
    return PlayedTasks(played, before, failed, replies)


def _script(task: ProactiveTask) -> Script:
    """A task as what the frame server knows: all frames up to its end."""
    step = Step("dialogue", task.id, 0, Turn(question=task.instruction), task.until_s)
    return Script(task.id, task.video_id, (step,))


def _cannot(task: ProactiveTask, watcher: Watcher, reason: str, signed: Signature) -> StreamEvent:
    """A session of one event, with the same settings as every other session's first: scores compare them."""
    return StreamEvent(
        model=watcher.name,
        session=task.id,
        video_id=task.video_id,
        kind="failed",
        at_s=0.0,
        text=reason,
        extra={"settings": dict((*watcher.signature, *signed))},
    )
