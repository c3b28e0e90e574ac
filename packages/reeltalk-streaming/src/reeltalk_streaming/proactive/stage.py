"""Play tasks to a model that may speak without a question, and log events so that a stopped run can continue.

The model receives each frame, and each word of the user, when the video's own clock reaches its time.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final, Protocol

from reeltalk.errors import BenchmarkError, BudgetError, InputError, ModelError, OutageError, SettingError
from reeltalk.evaluation.playing.frames import FrameServer
from reeltalk.evaluation.playing.play import ShownFrame
from reeltalk.evaluation.playing.script import Script, Step
from reeltalk.progress import CountProgress
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import no_later
from reeltalk.schema.record import Json, VideoId
from reeltalk.schema.stream import POLL, UNREAD, ProactiveTask, StreamEvent, StreamEventKind
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.event_log import EventLog
from reeltalk.store.tables import PROACTIVE, VIDEOS
from reeltalk_streaming.proactive.stream_replies import refused_references
from reeltalk_streaming.proactive.watchers import Glimpse, Reaction, Signature, Watcher


class FramePictures(Protocol):
    """Gives the JPEG files of frames."""

    async def jpeg(self, reference: bytes) -> bytes:
        """The JPEG file of a frame."""
        ...


async def play_task(
    task: ProactiveTask,
    watcher: Watcher,
    frames: Sequence[ShownFrame],
    pictures: FramePictures,
    *,
    signed: Signature = (),
) -> AsyncGenerator[StreamEvent]:
    """Play a task to a model. The model receives each frame and each request at its time, and never earlier.

    A question is asked when all frames up to its time were shown; other requests are made before the frame of their
    time.

    Args:
        task: What the user says. Its moments are not used.
        watcher: The model.
        frames: Frames of the video, in the order of time.
        pictures: Gives their pictures.
        signed: Other settings that can change what is said. The first event holds them.

    Yields:
        Events in order; the last is `ended`, or `failed` with the reason.

    Raises:
        BenchmarkError: A picture cannot be read.
        BudgetError: A limit would be passed.
    """
    at_s = 0.0

    def event(
        kind: StreamEventKind,
        text: str = "",
        *,
        readiness: float | None = None,
        took_s: float | None = None,
        memory_bytes: int | None = None,
        extra: dict[str, Json] | None = None,
    ) -> StreamEvent:
        return StreamEvent(
            model=watcher.name,
            session=task.id,
            video_id=task.video_id,
            kind=kind,
            at_s=at_s,
            text=text,
            readiness=readiness,
            took_s=took_s,
            memory_bytes=memory_bytes,
            extra=extra or {},
        )

    settings = dict((*watcher.signature, *signed))
    film = frames[0].film if frames else None
    polls = _Polls()
    yield event("started", extra=({"settings": settings} if settings else {}) | ({"film": film} if film else {}))
    try:
        watching, waiting = watcher.begin(task.id), deque(task.requests)

        async def told(until_s: float, *, shown: bool = False) -> AsyncGenerator[StreamEvent]:
            """What the user says up to a time, of which the frame was `shown` or comes next."""
            nonlocal at_s
            while waiting and no_later(waiting[0].at_s, until_s):
                if waiting[0].act == "ask" and not shown and no_later(until_s, waiting[0].at_s):
                    return
                request = waiting.popleft()
                at_s = max(at_s, request.at_s)
                if request.act != "ask":
                    await watching.instruct(request.text)
                    yield event("instructed", request.text)
                    continue
                yield event("asked", request.text)
                answer = await watching.ask(request.text)
                if answer.text is not None:
                    yield event("replied", answer.text, took_s=answer.speaking_s)

        for frame in frames:
            if not no_later(frame.pts_s, task.until_s):
                break
            async for said in told(frame.pts_s):
                yield said
            at_s = max(at_s, frame.pts_s)
            seen = await watching.see(Glimpse(at_s, frame.reference, await pictures.jpeg(frame.reference)))
            polled: dict[str, Json] = {} if seen.poll is None else {POLL: seen.poll}
            if seen.poll is not None:
                polls.add(seen)
                polled |= {"reply": seen.unread[:SHOWN_CHARS]} if seen.unread else {}
            yield event(
                "frame",
                readiness=seen.readiness,
                took_s=seen.took_s,
                memory_bytes=watching.memory_bytes,
                extra=polled,
            )
            if seen.text is not None:
                yield event("replied", seen.text, readiness=seen.readiness, took_s=seen.speaking_s)
            polls.check(whole=False)
        async for said in told(task.until_s, shown=True):
            yield said
        polls.check(whole=True)
    except (BenchmarkError, BudgetError, OutageError):
        raise
    except ModelError as error:
        yield event("failed", str(error))
        return
    except Exception as error:  # A user's class may raise any exception.
        yield event("failed", f"{type(error).__name__}: {error}")
        return
    at_s = max(at_s, task.until_s)
    yield event("ended")


SHOWN_CHARS: Final = 300
"""Longest part of a reply that could not be read in a log."""
MOST_UNREAD: Final = 0.1
"""Largest share of the replies to the polls of a play that may not be read."""
FIRST_POLLS: Final = 8
"""If none of so many first replies can be read, the play ends at once."""


@dataclass
class _Polls:
    """The replies to the polls of a play."""

    count: int = 0
    unread: int = 0
    """Replies that say neither yes nor no."""
    example: str = ""
    """The first of these."""

    def add(self, seen: Reaction) -> None:
        self.count += 1
        self.unread += seen.poll == UNREAD
        self.example = self.example or seen.unread

    def check(self, *, whole: bool) -> None:
        """Raise if too many replies could not be read; of a part of the play, if none could."""
        hopeless = self.count >= FIRST_POLLS and self.unread == self.count
        if hopeless or (whole and self.unread > MOST_UNREAD * self.count):
            raise ModelError(
                f"{self.unread:,} of {self.count:,} replies say neither yes nor no to whether it is time to speak, for "
                f"example {self.example[:100]!r}; use a model that follows the instruction, or allow a longer reply"
            )


ALL = "all"


@dataclass(frozen=True)
class PlayedTasks:
    """How many tasks were played, and how many failed."""

    played: int
    """Now."""
    before: int
    """Tasks that an earlier run played before it stopped."""
    failed: int
    replies: int
    """Replies that were given now."""
    why: str = ""
    """The reason of the first failure."""


def choose_tasks(
    benchmark: Benchmark, *, split: str | None, kinds: Sequence[str] = (), limit: int | None = None
) -> list[ProactiveTask]:
    """Tasks to play, video by video.

    Args:
        benchmark: Holds the tasks.
        split: Split of the videos. The default is `test` if there is one, else all; `all` for all.
        kinds: Kinds of tasks. The default is all.
        limit: Use only the tasks of this many videos, from the first one.

    Raises:
        BenchmarkError: There are none, or a reference of one is not right by its key.
    """
    splits = {video.id: video.split for video in benchmark.read(VIDEOS)}
    tasks = list(benchmark.read(PROACTIVE)) if benchmark.rows(PROACTIVE) else []
    if not tasks:
        made = f"'reeltalk graph questions {benchmark.path} --proactive' writes it for films of the household"
        raise BenchmarkError(f"{benchmark.path} has no {PROACTIVE.file_name}; {made}, and you write it for others")
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
        raise BenchmarkError(
            f"{benchmark.path} has no tasks about videos of split {split!r}{_other_splits(tasks, kinds, splits)}"
        )
    if (wrong := next(refused_references(found), None)) is not None:
        raise BenchmarkError(f"{benchmark.path}: {wrong}")
    return found


def _other_splits(tasks: Sequence[ProactiveTask], kinds: Sequence[str], splits: Mapping[VideoId, str | None]) -> str:
    """The splits that have tasks, and how a benchmark gets another split."""
    there = Counter(splits.get(task.video_id) or "none" for task in tasks if not kinds or task.kind in kinds)
    counts = ", ".join(f"{count:,} of {name}" for name, count in sorted(there.items()))
    named = next((name for name in ("train", "dev", "test") if name in there), ALL)
    return (
        f", but {counts or 'none of any'}: name one, as in --split {named}, or make the split: 'reeltalk world film "
        "--houses 5 --dev-houses 1' films one, and 'reeltalk curate --splits train=0.6,dev=0.2,test=0.2' divides videos"
    )


def play_tasks(
    tasks: Sequence[ProactiveTask],
    watcher: Watcher,
    frames: FrameServer,
    log: EventLog,
    *,
    signed: Signature = (),
    progress: CountProgress | None = None,
) -> PlayedTasks:
    """Play tasks one after the other. Sessions that the log already holds are skipped.

    Args:
        tasks: In the order in which they are played.
        watcher: The model.
        frames: Decodes the frames that are shown.
        log: Receives events.
        signed: Settings that can change what is said, apart from the watcher. The first event of each session holds
            them.
        progress: Called with the number of tasks done and of all tasks.

    Raises:
        BenchmarkError: A video's file is not available, or the log cannot be written.
        BudgetError: A limit would be exceeded; the same command continues.
        KeyboardInterrupt: Ctrl-C; the same command continues with the task that was interrupted.
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
    why = ""
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
                # If a video cannot be shown, its tasks fail and the run continues.
                log.add(_cannot(task, watcher, str(error), signed))
                failed, why = failed + 1, why or str(error)
                progress(done, len(tasks))
                continue
            async with aclosing(play_task(task, watcher, shown, screening, signed=signed)) as events:
                async for event in events:
                    log.add(event)
                    replies += event.kind == "replied"
                    if event.kind == "failed":
                        failed, why = failed + 1, why or event.text or ""
            played += 1
            progress(done, len(tasks))
    return PlayedTasks(played, before, failed, replies, why)


def _script(task: ProactiveTask) -> Script:
    """A task as a script of one step, so that the frame server gives all frames up to its end."""
    step = Step("dialogue", task.id, 0, Turn(question=task.instruction), task.until_s)
    return Script(task.id, task.video_id, (step,))


def _cannot(task: ProactiveTask, watcher: Watcher, reason: str, signed: Signature) -> StreamEvent:
    """A failed session of one event. It has the settings of every first event, because scoring compares them."""
    return StreamEvent(
        model=watcher.name,
        session=task.id,
        video_id=task.video_id,
        kind="failed",
        at_s=0.0,
        text=reason,
        extra={"settings": dict((*watcher.signature, *signed))},
    )
