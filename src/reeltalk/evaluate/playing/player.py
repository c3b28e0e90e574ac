"""Whatever answers: what it is shown of a turn, and what it says."""

from dataclasses import dataclass
from typing import Protocol

from reeltalk.evaluate.playing.script import Step


@dataclass(frozen=True)
class ShownFrame:
    """A frame that may be seen now."""

    pts_s: float
    """Its presentation time; never after the question."""
    reference: bytes
    """By which `FrameServer.jpeg` gives the picture: the video's hash, its own time, the size, and which picture a
    control shows in its place."""
    film: str | None = None
    """The first digits of the hash of the file that its picture is of, where that is known."""


@dataclass(frozen=True)
class Past:
    """A turn before this one, as its history has it."""

    question: str
    answer: str
    new_frames: tuple[ShownFrame, ...] = ()
    """Frames that came with it, where frames are sent as they come."""


@dataclass(frozen=True)
class Seen:
    """All that may be known when a turn is answered. There is no way from here to the video's file."""

    question: str
    history: tuple[Past, ...]
    frames: tuple[ShownFrame, ...]
    """All that may be seen, in order."""
    new_frames: tuple[ShownFrame, ...]
    """Those that came since the turn before, where frames are sent as they come; none where they are chosen anew."""
    options: tuple[str, ...] | None
    """The choices, in the order in which they are shown."""
    subtitles: tuple[str, ...]
    """Lines that ended by the moment of the question."""
    step: Step
    video_id: str


@dataclass(frozen=True)
class Said:
    """An answer."""

    text: str | None
    """None where there is nothing to say; `reason` then tells why."""
    reason: str | None = None
    took_s: float | None = None
    first_token_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    memory_bytes: int | None = None
    """What is kept of the stream after it, where that is known."""
    cached: bool = False


class Pictures(Protocol):
    """Gives frames that were shown as files."""

    async def jpeg(self, reference: bytes) -> bytes:
        """The JPEG file of a frame."""
        ...


class Player(Protocol):
    """Answers turns."""

    @property
    def name(self) -> str:
        """How it stands in a table."""
        ...

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """What can move its answers beside what it is shown: sampling, prompt, weights."""
        ...

    @property
    def sees_frames(self) -> bool:
        """True where it looks at frames; for others none are decoded."""
        ...

    async def answer(self, seen: Seen, pictures: Pictures) -> Said:
        """The answer to one turn.

        Raises:
            BudgetError: A limit would be passed.
        """
        ...
