"""One play: the frames of a video one after the other by its own clock, and what was said, as events."""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from reeltalk.errors import BenchmarkError, BudgetError, ModelError, OutageError
from reeltalk.evaluate.playing.player import ShownFrame
from reeltalk.evaluate.proactive.watching import Glimpse, Signature, Watcher
from reeltalk.schema.intervals import no_later
from reeltalk.schema.record import Json
from reeltalk.schema.stream import ProactiveTask, StreamEvent, StreamEventKind


class FramePictures(Protocol):
    """Gives the pictures of frames."""

    async def jpeg(self, reference: bytes) -> bytes:
        """The JPEG file of a frame."""
        ...


async def play(
    task: ProactiveTask,
    watcher: Watcher,
    frames: Sequence[ShownFrame],
    pictures: FramePictures,
    *,
    signed: Signature = (),
) -> AsyncGenerator[StreamEvent]:
    """Play a task to whoever follows it. Each frame is handed over when its time has come, and none before.

    Args:
        task: What to look out for; its moments are not looked at.
        watcher: Who follows.
        frames: Of the video, in the order of time.
        pictures: Gives their pictures.
        signed: What else can move what is said; stands in the first event.

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
    yield event("started", extra=({"settings": settings} if settings else {}) | ({"film": film} if film else {}))
    try:
        watching, told = watcher.begin(), False
        for frame in frames:
            if not no_later(frame.pts_s, task.until_s):
                break
            if not told and no_later(task.asked_at_s, frame.pts_s):
                at_s = max(at_s, task.asked_at_s)
                await watching.instruct(task.instruction)
                told = True
                yield event("instructed", task.instruction)
            at_s = max(at_s, frame.pts_s)
            seen = await watching.see(Glimpse(at_s, frame.reference, await pictures.jpeg(frame.reference)))
            yield event("frame", readiness=seen.readiness, took_s=seen.took_s, memory_bytes=watching.memory_bytes)
            if seen.text is not None:
                yield event("replied", seen.text, readiness=seen.readiness, took_s=seen.speaking_s)
    except (BenchmarkError, BudgetError, OutageError):
        raise
    except ModelError as error:
        yield event("failed", str(error))
        return
    except Exception as error:  # A class of the user's own may raise anything.
        yield event("failed", f"{type(error).__name__}: {error}")
        return
    at_s = max(at_s, task.until_s)
    yield event("ended")
