"""Models that run in this process, each in its own thread: a video model on disk, and a model that follows streams.

Before a question the conversation must hold the frames and turns of its history, then its new frames. A stream that
holds exactly the beginning of these is continued; otherwise a new stream begins. So the model always sees the history
as given, even if it holds a reference in place of its own answer.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import ModelError
from reeltalk.evaluation.models import AddedModel, ModelConfig
from reeltalk.evaluation.playing.chat import question_text
from reeltalk.evaluation.playing.play import Pictures, Response, TurnInput
from reeltalk.llm.model import Message, Reply
from reeltalk.progress import ignore_sentences
from reeltalk.schema.intervals import no_later
from reeltalk.schema.record import Json
from reeltalk.video.encode import pixels_of
from reeltalk_streaming.inference.checkpoint import checkpoint_hash
from reeltalk_streaming.inference.stream import StreamAnswer
from reeltalk_streaming.inference.video_model import LocalVideoModel


class LocalModel:
    """An `AsyncModel` of a checkpoint on disk.

    Args:
        model: The checkpoint, loaded.
        pictures: Gives the pictures if messages hold references. By default messages hold JPEG files.
    """

    sees_images: Final = True

    def __init__(self, model: LocalVideoModel, *, pictures: Pictures | None = None) -> None:
        self._model, self._pictures = model, pictures
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="video-model")
        self._hash = checkpoint_hash(model.path)[:8]

    @property
    def name(self) -> str:
        """`transformers/FOLDER#HASH`; the hash is of the configuration and the beginnings of the weights."""
        return f"transformers/{self._model.name}#{self._hash}"

    @property
    def sampling(self) -> dict[str, Json]:
        """Greedy decoding, the longest reply, and how frames are passed to the model."""
        return {
            "temperature": 0.0,
            "max_tokens": self._model.max_new_tokens,
            "seed": self._model.seed,
            "as_video": self._model.as_video,
        }

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """One reply; the same for the same messages.

        Raises:
            InputError: A picture cannot be read.
            ModelError: There is not enough memory, or the model wrote nothing.
        """
        shown = [
            # A processor of videos takes no text between frames: their times stand before the question.
            Message(
                message.role,
                "\n".join(filter(None, (" ".join(message.captions), message.text))),
                tuple([await self._jpeg(image) for image in message.images]),
            )
            for message in messages
        ]
        try:
            written = await asyncio.get_running_loop().run_in_executor(self._thread, self._model.reply, shown)
        except RuntimeError as error:
            raise ModelError(f"{self._model.name} is closed: {error}") from error
        return Reply(
            text=written.text,
            model=self.name,
            prompt_tokens=written.prompt_tokens,
            completion_tokens=written.completion_tokens,
            cut_off=written.cut_off,
            took_s=written.took_s,
            first_token_s=written.first_token_s,
        )

    def peak_memory(self) -> dict[str, int]:
        """Peak memory in bytes: `host` for this process, and `device` if there is an accelerator."""
        peak = self._model.peak_memory()
        device = {} if peak.device_bytes is None else {"device": peak.device_bytes}
        return {"host": peak.host_bytes, **device}

    def close(self) -> None:
        """Finish the current reply and accept no other."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    async def _jpeg(self, image: bytes) -> bytes:
        return image if self._pictures is None else await self._pictures.jpeg(image)


CACHED_STREAMS: Final = 64
CACHE_BYTES: Final = 1 << 30
"""Limit of all kept streams together; the least recently used one is dropped."""


class ForkingStream(Protocol):
    """A `Stream` that can be copied, so that it can be continued in several ways."""

    @property
    def memory_bytes(self) -> int:
        """Bytes that the stream keeps so far."""
        ...

    def see_all(self, frames: Sequence[NDArray[np.uint8]], pts_s: Sequence[float]) -> float | None:
        """Take in several frames, (H, W, 3) uint8 each, with their times in seconds."""
        ...

    def ask(self, question: str) -> StreamAnswer:
        """Ask a question now."""
        ...

    def add_exchange(self, question: str, answer: str) -> None:
        """Add a question and its answer to the conversation."""
        ...

    def hear(self, line: str) -> None:
        """Add what was said in the video until now."""
        ...

    def fork(self) -> Self:
        """A copy of the conversation, which can be continued in another way."""
        ...


class ForkingModel(Protocol):
    """A `StreamingModel` whose streams fork."""

    @property
    def name(self) -> str:
        """Names the weights."""
        ...

    def stream(self) -> ForkingStream:
        """A new conversation about a video that begins now."""
        ...


@dataclass(frozen=True)
class FrameEntry:
    """A frame that is in a conversation."""

    reference: bytes
    pts_s: float


@dataclass(frozen=True)
class TurnEntry:
    """A turn that is in a conversation."""

    question: str
    answer: str


@dataclass(frozen=True)
class HeardEntry:
    """What was said in the video, in a conversation."""

    line: str


Entry = FrameEntry | TurnEntry | HeardEntry


@dataclass
class HeldStream:
    """A stream, and the frames, turns and spoken lines that it holds."""

    stream: ForkingStream
    holds: list[Entry] = field(default_factory=list)


class StreamPlayer:
    """Plays with a model that follows streams. It runs in its own thread, one turn at a time.

    Args:
        memory: Name of the memory that it keeps of a stream, for the signature.
        sees_frames: False if it must answer without frames.
        tells_options: False for a model that was not trained on choices. It gets the question without options.
        longest: Longest answer in words, for the signature, if it is shorter than the model's own limit.
    """

    def __init__(
        self,
        model: ForkingModel,
        *,
        memory: str = "all",
        sees_frames: bool = True,
        tells_options: bool = True,
        longest: int | None = None,
    ) -> None:
        self._model, self._memory, self._sees_frames = model, memory, sees_frames
        self._tells_options, self._longest = tells_options, longest
        self._held: list[HeldStream] = []
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stream")
        self.frames_encoded = 0
        """Number of frames that were read. If streams are continued, each frame is read once."""

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The weights, and the memory that the model keeps of a stream."""
        return (
            ("weights", self._model.name),
            ("memory", self._memory),
            ("sampling", "greedy"),
            *(() if self._tells_options else (("choices", "not told"),)),
            *(() if self._longest is None else (("longest", str(self._longest)),)),
        )

    @property
    def sees_frames(self) -> bool:
        return self._sees_frames

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        """The model's answer, or the reason why there is none.

        Raises:
            BenchmarkError: A picture cannot be read.
        """
        wanted = conversation(seen)
        held = self._taken(wanted)
        rest = wanted[len(held.holds) :]
        frames = {
            entry.reference: pixels_of(await pictures.jpeg(entry.reference))
            for entry in rest
            if isinstance(entry, FrameEntry)
        }
        # Frames come with their times, and the questions that such a model was trained on do not name any.
        told = replace(seen, speech=(), tells_times=False)
        question = question_text(told) if self._tells_options else seen.question
        try:
            said, other = await asyncio.get_running_loop().run_in_executor(
                self._thread, self._answered, held, rest, frames, question
            )
        except ModelError as error:
            return Response(None, str(error))
        finally:
            self._keep(held)
        self._keep(other)
        return said

    def _taken(self, wanted: list[Entry]) -> HeldStream:
        """The kept stream with the longest beginning of the wanted conversation and nothing else, or a new one."""
        fitting = [held for held in self._held if held.holds == wanted[: len(held.holds)]]
        if not fitting:
            return HeldStream(self._model.stream())
        best = max(fitting, key=lambda held: len(held.holds))
        self._held = [held for held in self._held if held is not best]
        return best

    def _answered(
        self,
        held: HeldStream,
        rest: list[Entry],
        frames: dict[bytes, NDArray[np.uint8]],
        question: str,
    ) -> tuple[Response, HeldStream]:
        came: list[FrameEntry] = []
        for entry in rest:
            if isinstance(entry, FrameEntry):
                came.append(entry)
                continue
            self._see(held, came, frames)
            came = []
            if isinstance(entry, HeardEntry):
                held.stream.hear(entry.line)
            else:
                held.stream.add_exchange(entry.question, entry.answer)
            held.holds.append(entry)
        self._see(held, came, frames)
        # Later turns may see another answer in the history, so the stream without it is kept, too.
        other = HeldStream(held.stream.fork(), list(held.holds))
        spoken = other.stream.ask(question)
        other.holds.append(TurnEntry(question, spoken.text))
        said = Response(
            spoken.text,
            took_s=spoken.took_s,
            first_token_s=spoken.first_token_s,
            prompt_tokens=spoken.prompt_tokens,
            completion_tokens=spoken.completion_tokens,
            memory_bytes=other.stream.memory_bytes,
        )
        return said, other

    def _see(self, held: HeldStream, came: list[FrameEntry], frames: dict[bytes, NDArray[np.uint8]]) -> None:
        if came:
            held.stream.see_all([frames[frame.reference] for frame in came], [frame.pts_s for frame in came])
            held.holds += came
            self.frames_encoded += len(came)

    def _keep(self, held: HeldStream) -> None:
        self._held.append(held)
        while len(self._held) > 1 and (
            len(self._held) > CACHED_STREAMS or sum(one.stream.memory_bytes for one in self._held) > CACHE_BYTES
        ):
            del self._held[0]


def conversation(seen: TurnInput) -> list[Entry]:
    """The frames, turns and spoken lines that the conversation holds before a question, in order.

    Frames that came with an earlier turn are directly before it. All other visible frames come first. A line is before
    the first frame after its end.
    """
    sent = {frame.reference for past in seen.history for frame in past.new_frames}
    sent |= {frame.reference for frame in seen.new_frames}
    out: list[Entry] = [FrameEntry(f.reference, f.pts_s) for f in seen.frames if f.reference not in sent]
    for past in seen.history:
        out += [FrameEntry(frame.reference, frame.pts_s) for frame in past.new_frames]
        out.append(TurnEntry(past.question, past.answer))
    out += [FrameEntry(frame.reference, frame.pts_s) for frame in seen.new_frames]
    last = max((at for at, entry in enumerate(out) if isinstance(entry, FrameEntry)), default=-1)
    spoken = sorted(seen.speech, key=lambda one: one.interval.end_s)
    heard: list[Entry] = []
    for at, entry in enumerate(out):
        while isinstance(entry, FrameEntry) and spoken and no_later(spoken[0].interval.end_s, entry.pts_s):
            heard.append(HeardEntry(spoken.pop(0).line))
        heard.append(entry)
        if at == last:
            heard += [HeardEntry(one.line) for one in spoken]
            spoken = []
    return [HeardEntry(one.line) for one in spoken] + heard


def _load(spec: str, asking: ModelConfig) -> LocalModel:
    folder = Path(spec.partition(":")[2])
    return LocalModel(
        LocalVideoModel(folder, max_new_tokens=asking.endpoint.max_tokens, tell=asking.tell or ignore_sentences)
    )


TRANSFORMERS: Final = AddedModel(language_model=_load)
"""`transformers:FOLDER`, a checkpoint on disk."""
