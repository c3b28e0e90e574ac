"""Make any model follow a stream: a chat model, a user's class, or a model that follows streams itself.

A chat model keeps nothing between questions, and neither does a class that answers single questions. They get the
frames and the conversation again with each question.
"""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import ModelError, SettingError
from reeltalk.evaluation.models import ModelConfig, create_model, find_added
from reeltalk.evaluation.playing.other_players import PythonPlayer
from reeltalk.evaluation.playing.play import HistoryTurn, Player, ShownFrame, TurnInput
from reeltalk.evaluation.playing.script import Step
from reeltalk.extension import loaded_class
from reeltalk.llm import Budget, ReplyStore
from reeltalk.llm.model import AsyncModel, Message, Reply
from reeltalk.progress import ignore_sentences
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.model_texts import without_thoughts
from reeltalk.video.encode import jpeg
from reeltalk_streaming.inference.stream import StreamAnswer, StreamingModel
from reeltalk_streaming.inference.stream_memory import bounded_memory
from reeltalk_streaming.proactive.watchers import streaming_model

MOST_FRAMES: Final = 64
MOST_TURNS: Final = 64
SAY_NOW: Final = "Say now, in one short sentence, what there is to say about what you were told to look out for."


@dataclass(frozen=True)
class _Turn:
    frames: tuple[bytes, ...]
    """JPEG files of the frames before it."""
    text: str
    answer: str


class ChatModel:
    """Follows streams with a model that keeps nothing. Each question is sent with the conversation and its frames.

    Each request begins like the request before it, so a server with a prefix cache reads each frame once. If there are
    more than `most_frames` frames, the older half is dropped at once. After that the beginning stays the same for as
    long as possible.

    Args:
        model: The model that answers. Its messages hold JPEG files.
        prompt: The system message. An empty text sends none.
        most_frames: Frames that a conversation holds at most; None for all.

    Raises:
        SettingError: `most_frames` is below 2.
    """

    def __init__(self, model: AsyncModel, prompt: str = "", *, most_frames: int | None = MOST_FRAMES) -> None:
        if most_frames is not None and most_frames < 2:
            raise SettingError(f"a memory of {most_frames} frames is too small; keep 2 or more")
        self._model, self._prompt, self._most_frames = model, prompt, most_frames
        self._loop: asyncio.Runner | None = None
        self._pending: asyncio.Task[Reply] | None = None

    @property
    def name(self) -> str:
        return self._model.name

    def stream(self) -> "ChatStream":
        """Start a conversation about a video that begins now."""
        return ChatStream(self, self._model.sees_images, self._most_frames)

    def answer(self, conversation: Sequence[Message]) -> StreamAnswer:
        """The model's next message.

        Args:
            conversation: The messages so far, without the system message. The last one is a question.

        Raises:
            ModelError: There is no reply, or it holds no answer.
            asyncio.CancelledError: `cancel` was called.
        """
        system = [Message("system", self._prompt)] if self._prompt else []
        # One loop for all questions: connections belong to the loop that opened them.
        self._loop = self._loop or asyncio.Runner()
        reply = self._loop.run(self._request([*system, *conversation]))
        text = without_thoughts(reply.text)
        if not text:
            raise ModelError(f"{self.name} thought aloud and gave no answer; allow a longer reply")
        return StreamAnswer(
            text=text,
            prompt_tokens=reply.prompt_tokens or 0,
            completion_tokens=reply.completion_tokens or 0,
            took_s=reply.took_s or 0.0,
            first_token_s=reply.first_token_s,
            cut_off=reply.cut_off,
        )

    async def _request(self, messages: Sequence[Message]) -> Reply:
        self._pending = asyncio.ensure_future(self._model.ask(messages))
        try:
            return await self._pending
        finally:
            self._pending = None

    def cancel(self) -> None:
        """Cancel a request that waits for its reply. `answer` then raises `asyncio.CancelledError`."""
        pending = self._pending
        if pending is not None:
            with contextlib.suppress(RuntimeError):
                pending.get_loop().call_soon_threadsafe(pending.cancel)

    def close(self) -> None:
        """Close connections. Call it in the thread that asked the questions."""
        if self._loop is None:
            return
        api = getattr(getattr(self._model, "model", None), "api", None)
        # A user who leaves during an answer does not wait for its connection.
        with contextlib.suppress(RuntimeError), contextlib.closing(self._loop):
            if api is not None:
                self._loop.run(api.aclose())
        self._loop = None


class ChatStream:
    """One conversation. Made by `ChatModel.stream`."""

    def __init__(self, model: ChatModel, sees_images: bool, most_frames: int | None) -> None:
        self._model, self._sees_images, self._most_frames = model, sees_images, most_frames
        self._turns: list[_Turn] = []
        self._waiting: list[bytes] = []
        self._instructions: list[str] = []

    @property
    def memory_bytes(self) -> int:
        """Bytes of the frames and of the messages."""
        said = sum(len(turn.text) + len(turn.answer) for turn in self._turns)
        return said + sum(map(len, self._waiting)) + sum(len(frame) for turn in self._turns for frame in turn.frames)

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        """Keep the next frame. The model sees it with the next question.

        Returns None, since the model has no readiness.
        """
        if not self._sees_images:
            return None
        self._waiting.append(jpeg(rgb))
        most = self._most_frames
        if most is not None and len(self._waiting) + sum(len(turn.frames) for turn in self._turns) > most:
            self._forget_frames(most // 2)
        return None

    def ask(self, question: str) -> StreamAnswer:
        """Ask with all kept frames and messages.

        Raises:
            ModelError: There is no answer. The conversation stays unchanged.
        """
        text = "\n\n".join([*self._instructions, question])
        said = self._model.answer([*self._conversation(), Message("user", text, tuple(self._waiting))])
        self._keep(text, said.text)
        return said

    def instruct(self, instruction: str) -> None:
        """Keep an instruction. It is sent with the next question."""
        self._instructions.append(instruction)

    def speak(self) -> StreamAnswer:
        """Return the reply to the instruction.

        Raises:
            ModelError: There is no answer.
        """
        return self.ask(SAY_NOW)

    def add_exchange(self, question: str, answer: str) -> None:
        """Add a question and its answer to the conversation."""
        self._keep("\n\n".join([*self._instructions, question]), answer)

    def _conversation(self) -> list[Message]:
        return [
            message
            for turn in self._turns
            for message in (Message("user", turn.text, turn.frames), Message("assistant", turn.answer))
        ]

    def _keep(self, text: str, answer: str) -> None:
        self._turns.append(_Turn(tuple(self._waiting), text, answer))
        self._waiting, self._instructions = [], []
        if len(self._turns) > MOST_TURNS:
            del self._turns[: MOST_TURNS // 2]

    def _forget_frames(self, kept: int) -> None:
        self._waiting = self._waiting[-kept:]
        left = kept - len(self._waiting)
        for index in reversed(range(len(self._turns))):
            frames = self._turns[index].frames
            self._turns[index] = replace(self._turns[index], frames=frames[max(0, len(frames) - left) :])
            left = max(0, left - len(frames))


class PlayerModel:
    """Follows streams with a player. Each question is sent with the kept frames and the messages so far.

    Args:
        player: Answers the questions.
        most_frames: Number of newest frames to keep; None for all.
    """

    def __init__(self, player: Player, *, most_frames: int | None = MOST_FRAMES) -> None:
        self.player, self.most_frames = player, most_frames

    @property
    def name(self) -> str:
        return self.player.name

    def stream(self) -> "PlayerStream":
        """Start a conversation about a video that begins now."""
        return PlayerStream(self.player, self.most_frames)


class PlayerStream:
    """One conversation. Made by `PlayerModel.stream`; serves as `Pictures` to its player."""

    def __init__(self, player: Player, most_frames: int | None) -> None:
        self._player, self._most_frames = player, most_frames
        self._frames: dict[bytes, tuple[ShownFrame, bytes]] = {}
        self._history: list[HistoryTurn] = []
        self._instructions: list[str] = []
        self._now_s = 0.0

    @property
    def memory_bytes(self) -> int:
        """Bytes of the frames and of the messages."""
        said = sum(len(past.question) + len(past.answer) for past in self._history)
        return said + sum(len(picture) for _, picture in self._frames.values())

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        """Keep the next frame. Returns None: a player has no readiness."""
        self._now_s = pts_s
        if self._player.sees_frames:
            frame = ShownFrame(pts_s, f"{pts_s:.6f}".encode())
            self._frames[frame.reference] = (frame, jpeg(rgb))
            while self._most_frames is not None and len(self._frames) > self._most_frames:
                del self._frames[next(iter(self._frames))]
        return None

    def ask(self, question: str) -> StreamAnswer:
        """Ask with all kept frames and messages.

        Raises:
            ModelError: The player has no answer.
        """
        began_s = time.monotonic()
        text = "\n\n".join([*self._instructions, question])
        said = asyncio.run(self._player.answer(self._seen(text), self))
        if said.text is None:
            raise ModelError(f"{self._player.name} has no answer: {said.reason or 'it gave no reason'}")
        self.add_exchange(question, said.text)
        took_s = said.took_s if said.took_s is not None else time.monotonic() - began_s
        return StreamAnswer(said.text, said.prompt_tokens or 0, said.completion_tokens or 0, took_s, said.first_token_s)

    def instruct(self, instruction: str) -> None:
        """Keep an instruction. It is sent with the next question."""
        self._instructions.append(instruction)

    def speak(self) -> StreamAnswer:
        """Return the reply to the instruction.

        Raises:
            ModelError: The player has no answer.
        """
        return self.ask(SAY_NOW)

    def add_exchange(self, question: str, answer: str) -> None:
        """Add a question and its answer to the conversation."""
        self._history.append(HistoryTurn("\n\n".join([*self._instructions, question]), answer))
        self._instructions = []
        if len(self._history) > MOST_TURNS:
            del self._history[: MOST_TURNS // 2]

    async def jpeg(self, reference: bytes) -> bytes:
        """The JPEG file of a frame that is kept.

        Raises:
            ValueError: No such frame is kept.
        """
        if reference not in self._frames:
            raise ValueError(f"no frame {reference!r} is kept")
        return self._frames[reference][1]

    def _seen(self, question: str) -> TurnInput:
        turn = Turn(question=question, asked_at_s=self._now_s)
        return TurnInput(
            question=question,
            history=tuple(self._history),
            frames=tuple(frame for frame, _ in self._frames.values()),
            new_frames=(),
            options=None,
            speech=(),
            step=Step("dialogue", "chat", len(self._history), turn, self._now_s),
            video_id="chat",
        )


@contextlib.contextmanager
def create_stream_model(
    spec: str,
    asking: ModelConfig,
    *,
    budget: Budget | None = None,
    replies: Path | None = None,
    prompt: str = "",
) -> Iterator[StreamingModel]:
    """Create a model that follows streams, by its name.

    Args:
        spec: `mini`, `mini:FOLDER`, `transformers:FOLDER`, `python:MODULE:CLASS`, `inspect:PROVIDER/MODEL`, or the
            name of a model at the endpoint's address.
        asking: How a language model is asked, and what the model keeps of a stream.
        budget: Limits on asking.
        replies: Keeps replies of a language model. By default replies are not kept.
        prompt: System message of a language model.

    Raises:
        MissingExtraError: A package that the model needs is not installed.
        InputError: A checkpoint cannot be loaded.
        ModelError: It cannot be opened.
        SettingError: No model has this name, or its memory cannot be bounded so.
    """
    kind, colon, name = spec.partition(":")
    # Without a word about it each model keeps what suits it. A conversation with a camera may last for days.
    keeps_all, frames = asking.memory == "all", asking.memory_frames
    most_frames = None if keeps_all else frames or MOST_FRAMES
    added = None if kind == "transformers" else find_added(spec)
    if added is not None and added.stream is not None:
        policy = None if keeps_all else bounded_memory(frames)
        yield added.stream(spec, policy=policy, max_words=asking.endpoint.max_tokens)
    elif kind == "transformers" and colon:
        from reeltalk_streaming.inference.streaming_model import StreamingVideoModel

        yield StreamingVideoModel(
            Path(name),
            max_new_tokens=asking.endpoint.max_tokens,
            memory_frames=most_frames if asking.bounded else None,
            system=prompt,
            tell=asking.tell or ignore_sentences,
        )
    elif kind == "python" and colon:
        yield _of_python(name, most_frames, asking)
    else:
        with contextlib.ExitStack() as stack:
            if replies is None:
                replies = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "replies.sqlite"
            store = stack.enter_context(ReplyStore(replies))
            model = ChatModel(create_model(spec, asking, store, budget), prompt, most_frames=most_frames)
            stack.callback(model.close)
            yield model


def _of_python(name: str, most_frames: int | None, asking: ModelConfig) -> StreamingModel:
    """A user's class. A class with a method `stream` follows streams itself; any other class is a player."""
    found = loaded_class(name)
    if not callable(getattr(found, "stream", None)):
        return PlayerModel(PythonPlayer(name), most_frames=most_frames)
    if asking.memory == "all" or asking.bounded:
        raise SettingError(f"--memory has no effect on python:{name}: the class keeps its own memory; leave it out")
    return streaming_model(f"python:{name}")
