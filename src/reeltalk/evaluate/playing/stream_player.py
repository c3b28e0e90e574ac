"""A model that follows a stream, as a player: a dialogue's frames are encoded once, a question costs its own words.

What is to stand in the conversation before a question follows from what the turn sees: the frames and turns of its
history, then its new frames. A stream that holds the beginning of just that is gone on with; else a new one is begun.
So whatever the history says, as a reference in place of the model's own answer, is what the model is told.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import ModelError
from reeltalk.evaluate.playing.chat import asked
from reeltalk.evaluate.playing.player import Pictures, Said, Seen
from reeltalk.inference.stream import Spoken
from reeltalk.video.encode import pixels_of

KEPT_STREAMS: Final = 64
KEPT_BYTES: Final = 1 << 30
"""What all kept streams may hold together; the one that was used longest ago is begun anew when it is needed."""


class Forking(Protocol):
    """A `Stream` that can be gone on with in more than one way."""

    @property
    def memory_bytes(self) -> int:
        """What is kept of the stream so far."""
        ...

    def see_all(self, frames: Sequence[NDArray[np.uint8]], pts_s: Sequence[float]) -> float | None:
        """Take in several frames, (H, W, 3) uint8 each, with their times in seconds."""
        ...

    def ask(self, question: str) -> Spoken:
        """Ask something now."""
        ...

    def told(self, question: str, answer: str) -> None:
        """Put a question and an answer into the conversation."""
        ...

    def fork(self) -> Self:
        """The same conversation, to be continued in another way than this one."""
        ...


class ForkingModel(Protocol):
    """A `StreamingModel` whose streams fork."""

    @property
    def name(self) -> str:
        """Names the weights."""
        ...

    def stream(self) -> Forking:
        """A new conversation about a video that begins now."""
        ...


@dataclass(frozen=True)
class Shown:
    """A frame that is in a conversation."""

    reference: bytes
    pts_s: float


@dataclass(frozen=True)
class Told:
    """A turn that is in a conversation."""

    question: str
    answer: str


@dataclass
class Held:
    """A stream, and what it holds."""

    stream: Forking
    holds: list[Shown | Told] = field(default_factory=list)


class StreamPlayer:
    """Plays with a model that follows streams. It computes in one thread of its own, one turn at a time.

    Args:
        model: Who answers.
        memory: Names what it keeps of a stream, for the signature.
        sees_frames: False where it is to answer without looking.
        tells_options: False for a model that never learned to read choices: it is asked the question alone.
    """

    def __init__(
        self, model: ForkingModel, *, memory: str = "all", sees_frames: bool = True, tells_options: bool = True
    ) -> None:
        self._model, self._memory, self._sees_frames = model, memory, sees_frames
        self._tells_options = tells_options
        self._kept: list[Held] = []
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stream")
        self.frames_encoded = 0
        """Frames so far; no more than there are as long as streams are gone on with."""

    @property
    def name(self) -> str:
        """The model's."""
        return self._model.name

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The weights, and what is kept of a stream."""
        return (
            ("weights", self._model.name),
            ("memory", self._memory),
            ("sampling", "greedy"),
            *(() if self._tells_options else (("choices", "not told"),)),
        )

    @property
    def sees_frames(self) -> bool:
        """As given."""
        return self._sees_frames

    async def answer(self, seen: Seen, pictures: Pictures) -> Said:
        """The model's answer; nothing, with the reason, where it has none.

        Raises:
            BenchmarkError: A picture cannot be read.
        """
        wanted = conversation(seen)
        held = self._taken(wanted)
        rest = wanted[len(held.holds) :]
        frames = {
            entry.reference: pixels_of(await pictures.jpeg(entry.reference))
            for entry in rest
            if isinstance(entry, Shown)
        }
        question = asked(seen) if self._tells_options else seen.question
        try:
            said, other = await asyncio.get_running_loop().run_in_executor(
                self._thread, self._answered, held, rest, frames, question
            )
        except ModelError as error:
            return Said(None, str(error))
        finally:
            self._keep(held)
        self._keep(other)
        return said

    def _taken(self, wanted: list[Shown | Told]) -> Held:
        """The kept stream that holds the most of the beginning of what is wanted, and nothing else; or a new one."""
        fitting = [held for held in self._kept if held.holds == wanted[: len(held.holds)]]
        if not fitting:
            return Held(self._model.stream())
        best = max(fitting, key=lambda held: len(held.holds))
        self._kept = [held for held in self._kept if held is not best]
        return best

    def _answered(
        self, held: Held, rest: list[Shown | Told], frames: dict[bytes, NDArray[np.uint8]], question: str
    ) -> tuple[Said, Held]:
        came: list[Shown] = []
        for entry in rest:
            if isinstance(entry, Shown):
                came.append(entry)
                continue
            self._see(held, came, frames)
            came = []
            held.stream.told(entry.question, entry.answer)
            held.holds.append(entry)
        self._see(held, came, frames)
        # Turns after this one may be told another answer, so the stream without it is kept, too.
        other = Held(held.stream.fork(), list(held.holds))
        spoken = other.stream.ask(question)
        other.holds.append(Told(question, spoken.text))
        said = Said(
            spoken.text,
            took_s=spoken.took_s,
            first_token_s=spoken.first_token_s,
            prompt_tokens=spoken.prompt_tokens,
            completion_tokens=spoken.completion_tokens,
            memory_bytes=other.stream.memory_bytes,
        )
        return said, other

    def _see(self, held: Held, came: list[Shown], frames: dict[bytes, NDArray[np.uint8]]) -> None:
        if came:
            held.stream.see_all([frames[frame.reference] for frame in came], [frame.pts_s for frame in came])
            held.holds += came
            self.frames_encoded += len(came)

    def _keep(self, held: Held) -> None:
        self._kept.append(held)
        while len(self._kept) > 1 and (
            len(self._kept) > KEPT_STREAMS or sum(one.stream.memory_bytes for one in self._kept) > KEPT_BYTES
        ):
            del self._kept[0]


def conversation(seen: Seen) -> list[Shown | Told]:
    """What stands in the conversation before a question, in order.

    Frames that came with an earlier turn stand before it; all others that may be seen stand first of all.
    """
    sent = {frame.reference for past in seen.history for frame in past.new_frames}
    sent |= {frame.reference for frame in seen.new_frames}
    out: list[Shown | Told] = [Shown(f.reference, f.pts_s) for f in seen.frames if f.reference not in sent]
    for past in seen.history:
        out += [Shown(frame.reference, frame.pts_s) for frame in past.new_frames]
        out.append(Told(past.question, past.answer))
    return out + [Shown(frame.reference, frame.pts_s) for frame in seen.new_frames]
