"""Floors of proactive scores: what silence and constant talk get in a set of tasks. They look at no video."""

import asyncio
from collections.abc import Sequence
from typing import Final

from reeltalk.evaluation.playing.play import ShownFrame
from reeltalk.schema.stream import ProactiveTask, StreamEvent
from reeltalk.store.event_log import SessionLog
from reeltalk_streaming.proactive.stage import play_task
from reeltalk_streaming.proactive.watchers import Always, Never, Watcher

EVERY_S: Final = 5.0
FLOORS: Final = ("never", f"always:{EVERY_S:g}")
"""Names of the floors: silence, and every 5 s what the user said last."""


def floor_sessions(tasks: Sequence[ProactiveTask]) -> list[SessionLog]:
    """What the floors say in some tasks, at one frame a second."""
    return asyncio.run(_play(tasks))


async def _play(tasks: Sequence[ProactiveTask]) -> list[SessionLog]:
    watchers: tuple[Watcher, ...] = (Never(), Always(EVERY_S))
    return [await _session(task, watcher) for watcher in watchers for task in tasks]


async def _session(task: ProactiveTask, watcher: Watcher) -> SessionLog:
    frames = [ShownFrame(float(second), b"") for second in range(int(task.until_s) + 1)]
    said: list[StreamEvent] = [event async for event in play_task(task, watcher, frames, _NoPictures())]
    return SessionLog(watcher.name, task.id, str(task.video_id), [one for one in said if one.kind != "frame"])


class _NoPictures:
    async def jpeg(self, reference: bytes) -> bytes:
        return b""
