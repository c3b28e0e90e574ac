"""A log of the events of models that follow streams: JSON Lines of `StreamEvent`, written line by line.

Any program may write one. A session is one play of one task: its events are in the order of their times, and the last
one is `ended` or `failed`. A reply directly after a question (`asked`) is its answer. Sessions of several models and
tasks may be mixed.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

from pydantic import ValidationError

from reeltalk.errors import InputError
from reeltalk.schema.intervals import no_later
from reeltalk.schema.stream import ProactiveTask, StreamEvent
from reeltalk.store.atomic import storage_errors, sync_directory, writing
from reeltalk.store.documents import input_error

EVENT_LOG: Final = "events.jsonl"
"""The name of the log in the folder of a run of `reeltalk proactive`."""
LAST_EVENTS: Final = frozenset({"ended", "failed"})
"""Kinds of the last event of a session."""
SLACK_S: Final = 0.05
"""A container's duration and its last presentation time differ by up to a frame."""


@dataclass
class SessionLog:
    """The events of one session."""

    model: str
    session: str
    video_id: str
    events: list[StreamEvent] = field(default_factory=list)

    @property
    def last(self) -> str:
        """Kind of its last event; `ended` if the session is complete."""
        return self.events[-1].kind

    @property
    def replies(self) -> list[StreamEvent]:
        """What the model said without being asked at that time."""
        before = [None, *self.events]
        return [
            event
            for event, last in zip(self.events, before, strict=False)
            if event.kind == "replied" and (last is None or last.kind != "asked")
        ]

    @property
    def answers(self) -> list[tuple[StreamEvent, StreamEvent | None]]:
        """The questions that the model was asked, each with its answer: the reply that follows directly, if any."""
        after = [*self.events[1:], None]
        return [
            (event, following if following is not None and following.kind == "replied" else None)
            for event, following in zip(self.events, after, strict=True)
            if event.kind == "asked"
        ]


def read_event_log(path: Path, tasks: Mapping[str, ProactiveTask] | None = None) -> list[SessionLog]:
    """The sessions of a log, each checked.

    Args:
        path: The log.
        tasks: The task of each session, by the name of the session; by default tasks are not checked.

    Returns:
        The sessions, in the order of their first events in the file.

    Raises:
        InputError: The file is absent or empty, a line is no event, or events contradict each other; names the line.
    """
    sessions: dict[tuple[str, str], SessionLog] = {}
    try:
        stream = path.open("rb")
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", file=path, hint="give a log as 'reeltalk proactive run' writes it"
        ) from None
    with stream:
        for number, line in enumerate(stream, start=1):
            if line.strip():
                _take(sessions, _event(line, path, number), path, number, tasks)
    if not sessions:
        raise InputError("no events", file=path, hint="give a log as 'reeltalk proactive run' writes it")
    return list(sessions.values())


def _event(line: bytes, path: Path, number: int) -> StreamEvent:
    try:
        return StreamEvent.model_validate_json(line)
    except ValidationError as error:
        raise input_error(error, file=path, line=number, place="") from None
    except (UnicodeDecodeError, RecursionError):
        raise InputError("not a JSON line", file=path, line=number) from None


def _take(
    sessions: dict[tuple[str, str], SessionLog],
    event: StreamEvent,
    path: Path,
    number: int,
    tasks: Mapping[str, ProactiveTask] | None,
) -> None:
    def refuse(problem: str, value: object = None, hint: str | None = None) -> InputError:
        return InputError(problem, file=path, line=number, value=value, hint=hint)

    key = event.model, event.session
    session = sessions.get(key)
    if session is None:
        if tasks is not None and event.session not in tasks:
            raise refuse(
                "no task of this session", event.session, "a session has the id of its task in proactive.jsonl"
            )
        session = sessions[key] = SessionLog(event.model, event.session, event.video_id)
        if tasks is not None and tasks[event.session].video_id != event.video_id:
            raise refuse(f"the task is about video {tasks[event.session].video_id!r}", event.video_id)
    elif event.video_id != session.video_id:
        raise refuse(f"the session began with video {session.video_id!r}", event.video_id)
    elif session.last in LAST_EVENTS:
        raise refuse(
            f"session {event.session!r} of {event.model!r} had {session.last} already, and this comes after it",
            event.kind,
        )
    elif event.at_s < session.events[-1].at_s:
        raise refuse(f"goes back in time, after {session.events[-1].at_s:g} s of the same session", event.at_s)
    if event.kind == "replied":
        if not event.text.strip():
            raise refuse("a reply without text", hint="leave the event out, or write it as silent")
        if tasks is not None and not no_later(event.at_s, tasks[event.session].until_s + SLACK_S):
            raise refuse(f"a reply after the end of the stream at {tasks[event.session].until_s:g} s", event.at_s)
    session.events.append(event)


class EventLog:
    """Writes a log, each event as it happens. Use as a context.

    An existing log is continued: complete sessions stay, and sessions that failed or did not end are removed, so that
    they are played again.

    Raises:
        BenchmarkError: It cannot be written.
        InputError: The existing file is not a log; only its last line may be cut off.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.whole: Final[frozenset[tuple[str, str]]] = _keep_whole(path)
        """Model and name of the sessions that are complete already."""
        with storage_errors(path):
            self._stream: IO[bytes] = path.open("ab")
            sync_directory(path.parent)

    def add(self, event: StreamEvent) -> None:
        """Write an event. It is safely on disk when its session has ended.

        Raises:
            BenchmarkError: The disk is full or cannot be written; the same command resumes.
        """
        with storage_errors(self.path):
            self._stream.write(event.to_json().encode() + b"\n")
            self._stream.flush()
            if event.kind in LAST_EVENTS:
                os.fsync(self._stream.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()


def _keep_whole(path: Path) -> frozenset[tuple[str, str]]:
    if not path.exists():
        return frozenset()
    # After a power cut, the file may hold zeros in place of events that were not yet on the disk.
    content, torn, _ = path.read_bytes().partition(b"\0")
    lines = content.split(b"\n")
    # The last line feed is followed by nothing, or by a line that a killed process did not finish.
    events = [(line, _event(line, path, number)) for number, line in enumerate(lines[:-1], start=1) if line.strip()]
    whole = frozenset((event.model, event.session) for _, event in events if event.kind == "ended")
    kept = [line for line, event in events if (event.model, event.session) in whole]
    if len(kept) != len(lines) - 1 or lines[-1] or torn:
        _write_lines(path, kept)
    return whole


def _write_lines(path: Path, lines: Iterable[bytes]) -> None:
    with writing(path) as stream:
        for line in lines:
            stream.write(line + b"\n")
