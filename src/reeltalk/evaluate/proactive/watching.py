"""Whoever follows a stream and may speak unasked: a streaming model with a rule, and baselines that do not look."""

import time
from dataclasses import dataclass
from typing import Protocol

from reeltalk.errors import ModelError
from reeltalk.inference.stream import Stream, StreamingModel
from reeltalk.schema.intervals import no_later
from reeltalk.video.encode import pixels_of

Signature = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Glimpse:
    """A frame that is on the screen now."""

    at_s: float
    """Its presentation time in seconds."""
    reference: bytes
    """By which the frame server gives the picture again."""
    jpeg: bytes


@dataclass(frozen=True)
class Observed:
    """What came of a frame."""

    readiness: float | None
    """From 0 to 1; None where it is not told."""
    text: str | None
    """What is said now; None is silence."""
    took_s: float
    """Seconds for the frame."""
    speaking_s: float = 0.0
    """Seconds for the reply."""


class Watching(Protocol):
    """One stream that is followed."""

    @property
    def memory_bytes(self) -> int | None:
        """What is kept of the stream; None where it is not known."""
        ...

    async def instruct(self, instruction: str) -> None:
        """Be told what to look out for."""
        ...

    async def see(self, glimpse: Glimpse) -> Observed:
        """Take in the next frame, and speak or not.

        Raises:
            ModelError: The model gave nothing.
            BudgetError: A limit would be passed.
        """
        ...


class Watcher(Protocol):
    """Follows streams."""

    @property
    def name(self) -> str:
        """How it stands in a table."""
        ...

    @property
    def signature(self) -> Signature:
        """What of it can move what it says."""
        ...

    def begin(self) -> Watching:
        """Follow a stream that begins now."""
        ...

    async def close(self) -> None:
        """Close connections; nothing is followed any more."""
        ...


class StreamWatcher:
    """A streaming model that speaks once its readiness reaches a threshold, and is then silent for a while.

    Args:
        model: Tells how ready it is, and what there is to say.
        threshold: From this readiness on it speaks, 0 to 1.
        refractory_s: Seconds of silence after each reply.
    """

    def __init__(self, model: StreamingModel, *, threshold: float, refractory_s: float) -> None:
        self._model, self._threshold, self._refractory_s = model, threshold, refractory_s

    @property
    def name(self) -> str:
        """That of the model."""
        return self._model.name

    @property
    def signature(self) -> Signature:
        """Threshold and silence after a reply."""
        return (("threshold", f"{self._threshold:g}"), ("refractory", f"{self._refractory_s:g}"))

    def begin(self) -> Watching:
        """As `Watcher.begin`."""
        return _StreamWatching(self._model.stream(), self._threshold, self._refractory_s)

    async def close(self) -> None:
        """Nothing is open."""


class _StreamWatching:
    def __init__(self, stream: Stream, threshold: float, refractory_s: float) -> None:
        self._stream, self._threshold, self._refractory_s = stream, threshold, refractory_s
        self._silent_until_s = 0.0

    @property
    def memory_bytes(self) -> int | None:
        return self._stream.memory_bytes

    async def instruct(self, instruction: str) -> None:
        self._stream.instruct(instruction)

    async def see(self, glimpse: Glimpse) -> Observed:
        began = time.perf_counter()
        readiness = self._stream.see(pixels_of(glimpse.jpeg), glimpse.at_s)
        took_s = time.perf_counter() - began
        if readiness is None:
            raise ModelError("the model was not trained to tell when to speak; poll it, as '--model poll:NAME' does")
        # Silence does not decay: a model that stays ready speaks again when it may.
        if readiness < self._threshold or not no_later(self._silent_until_s, glimpse.at_s):
            return Observed(readiness, None, took_s)
        said = self._stream.speak()
        if not said.text.strip():
            return Observed(readiness, None, took_s, said.took_s)
        self._silent_until_s = glimpse.at_s + self._refractory_s
        return Observed(readiness, said.text.strip(), took_s, said.took_s)


class Always:
    """Says what it was told to look out for, every so many seconds, whatever happens: the floor of spam.

    Args:
        every_s: Seconds from one reply to the next; above 0.
    """

    def __init__(self, every_s: float) -> None:
        self._every_s = every_s

    @property
    def name(self) -> str:
        """With its seconds, as `always:5`."""
        return f"always:{self._every_s:g}"

    @property
    def signature(self) -> Signature:
        """Nothing beside the name."""
        return ()

    def begin(self) -> Watching:
        """As `Watcher.begin`."""
        return _Repeating(self._every_s)

    async def close(self) -> None:
        """Nothing is open."""


class Never:
    """Says nothing: the floor of silence."""

    name = "never"

    @property
    def signature(self) -> Signature:
        """Nothing beside the name."""
        return ()

    def begin(self) -> Watching:
        """As `Watcher.begin`."""
        return _Repeating(None)

    async def close(self) -> None:
        """Nothing is open."""


class _Repeating:
    memory_bytes: int | None = None

    def __init__(self, every_s: float | None) -> None:
        self._every_s = every_s
        self._instruction, self._next_s = "", every_s or 0.0

    async def instruct(self, instruction: str) -> None:
        self._instruction = instruction

    async def see(self, glimpse: Glimpse) -> Observed:
        if self._every_s is None or not no_later(self._next_s, glimpse.at_s) or not self._instruction:
            return Observed(None, None, 0.0)
        while no_later(self._next_s, glimpse.at_s):
            self._next_s += self._every_s
        return Observed(None, self._instruction, 0.0)
