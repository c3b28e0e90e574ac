"""Keeps the streams of recent conversations, so that the next turn costs only its new frames and its question."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from reeltalk.errors import InputError, ModelError
from reeltalk.llm.model import Message
from reeltalk.video.encode import pixels_of
from reeltalk_streaming.inference.stream import Rewinding, Stream, StreamAnswer

MOST_STREAMS: Final = 64


@dataclass(frozen=True)
class _Event:
    """One part of a conversation: a frame, a question or an answer."""

    kind: Literal["frame", "asked", "answered"]
    content: bytes | str

    @property
    def key(self) -> tuple[str, bytes]:
        """A short key, equal for equal events."""
        content = self.content.encode() if isinstance(self.content, str) else self.content
        return self.kind, hashlib.sha256(content).digest()


@dataclass
class _CachedStream:
    system: str
    stream: Stream
    keys: list[tuple[str, bytes]] = field(default_factory=list)
    marks: list[tuple[int, Any]] = field(default_factory=list)
    """Number of events and the mark of the stream before a question."""


@dataclass(frozen=True)
class CachedAnswer:
    """An answer, with the number of frames that were read and kept for it."""

    spoken: StreamAnswer
    new_frames: int
    """Frames that were read for it; all others were kept."""
    stored_events: int
    """Frames, questions and answers that were kept from before."""


class StreamCache:
    """Answers whole conversations with the kept stream that already holds most of the conversation.

    Args:
        stream: Begins one, with a system message.
        fps: Frames a second. It gives the times of frames, since messages do not contain them.
        most_bytes: Limit for all streams together. Above it the oldest streams are dropped; the newest one always
            stays.
    """

    def __init__(self, stream: Callable[[str], Stream], *, fps: float, most_bytes: int) -> None:
        self._begin, self._fps, self._most_bytes = stream, fps, most_bytes
        self._streams: list[_CachedStream] = []

    def answer(self, messages: Sequence[Message]) -> CachedAnswer:
        """The next message of a conversation.

        Args:
            messages: The conversation. It may begin with system messages and ends with a question.

        Raises:
            ModelError: There is no answer, or the conversation ends with an answer.
            InputError: A picture cannot be read.
        """
        system = "\n\n".join(message.text for message in messages if message.role == "system")
        events = [event for message in messages for event in _events(message)]
        if not events or events[-1].kind != "asked":
            raise ModelError("the conversation does not end with a question")
        *before, question = events
        keys = [event.key for event in before]
        held = self._longest(system, keys) or _CachedStream(system, self._begin(system))
        self._streams = [*(other for other in self._streams if other is not held), held]
        count = len(held.keys)
        try:
            self._catch_up(held, before)
            self._mark(held)
            spoken = held.stream.ask(str(question.content))
        except BaseException:
            # Its state is now uncertain.
            self._streams.remove(held)
            raise
        held.keys += [question.key, _Event("answered", spoken.text).key]
        self._make_room()
        return CachedAnswer(spoken, sum(event.kind == "frame" for event in before[count:]), count)

    def _longest(self, system: str, keys: list[tuple[str, bytes]]) -> _CachedStream | None:
        """The kept stream that shares the longest beginning, rewound to the end of that beginning."""
        best: tuple[int, _CachedStream, Any] | None = None
        for held in self._streams:
            if held.system != system:
                continue
            common = next((n for n, (a, b) in enumerate(zip(held.keys, keys, strict=False)) if a != b), None)
            common = min(len(held.keys), len(keys)) if common is None else common
            mark = None
            if common < len(held.keys):
                common, mark = max(((n, mark) for n, mark in held.marks if n <= common), default=(0, None), key=_count)
            if common and (best is None or common >= best[0]):
                best = (common, held, mark)
        if best is None:
            return None
        common, held, mark = best
        if mark is not None:
            assert isinstance(held.stream, Rewinding)
            if not held.stream.rewind(mark):
                return None
            del held.keys[common:]
            held.marks = [(n, mark) for n, mark in held.marks if n <= common]
        return held

    def _catch_up(self, held: _CachedStream, events: Sequence[_Event]) -> None:
        """Give a stream the frames and turns that it has not seen yet."""
        position = len(held.keys)
        while position < len(events):
            event = events[position]
            if event.kind == "frame":
                number = sum(kind == "frame" for kind, _ in held.keys)
                held.stream.see(_pixels(event.content), number / self._fps)
                held.keys.append(event.key)
                position += 1
                continue
            self._mark(held)
            # An unanswered question gets an empty answer. Two answers in a row are one turn each.
            asked = str(event.content) if event.kind == "asked" else ""
            told = events[position] if event.kind == "answered" else None
            if event.kind == "asked" and position + 1 < len(events) and events[position + 1].kind == "answered":
                told = events[position + 1]
            held.stream.add_exchange(asked, str(told.content) if told is not None else "")
            taken = 2 if told is not None and told is not event else 1
            held.keys += [event.key for event in events[position : position + taken]]
            position += taken

    def _mark(self, held: _CachedStream) -> None:
        if isinstance(held.stream, Rewinding):
            held.marks.append((len(held.keys), held.stream.mark()))

    def _make_room(self) -> None:
        sizes = [held.stream.memory_bytes for held in self._streams]
        while len(self._streams) > 1 and (sum(sizes) > self._most_bytes or len(self._streams) > MOST_STREAMS):
            del self._streams[0], sizes[0]


def _count(item: tuple[int, Any]) -> int:
    return item[0]


def _events(message: Message) -> list[_Event]:
    if message.role == "system":
        return []
    if message.role == "assistant":
        return [_Event("answered", message.text)]
    return [*(_Event("frame", image) for image in message.images), _Event("asked", message.text)]


def _pixels(content: bytes | str) -> Any:
    assert isinstance(content, bytes)
    try:
        return pixels_of(content)
    except ValueError as error:
        raise InputError("a picture of the conversation cannot be read", file="(a message)") from error
