"""Any model that answers messages, as one that follows a stream: it is shown again what it is asked about."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import ModelError, SettingError
from reeltalk.evaluate.playing.chat import spoken
from reeltalk.inference.stream import Spoken
from reeltalk.llm.model import AsyncModel, Message
from reeltalk.video.encode import jpeg

MOST_FRAMES: Final = 64
MOST_TURNS: Final = 64
SAY_NOW: Final = "Say now, in one short sentence, what there is to say about what you were told to look out for."


@dataclass(frozen=True)
class _Turn:
    frames: tuple[bytes, ...]
    """JPEG files that came before it."""
    text: str
    answer: str


class ChatModel:
    """Follows streams with a model that keeps nothing: each question goes with the conversation and its frames.

    Every conversation begins as the one before did, so that a server that keeps prefixes reads each frame once. Where
    there are more frames than `most_frames`, the older half goes at once, and the beginning stays the same for as long
    as possible after that.

    Args:
        model: Who answers; its messages hold JPEG files.
        prompt: The system message; none where it is empty.
        most_frames: Frames that a conversation holds at most.

    Raises:
        SettingError: `most_frames` is below 2.
    """

    def __init__(self, model: AsyncModel, prompt: str = "", *, most_frames: int = MOST_FRAMES) -> None:
        if most_frames < 2:
            raise SettingError(f"a memory of {most_frames} frames is too small; keep 2 or more")
        self._model, self._prompt, self._most_frames = model, prompt, most_frames
        self._loop: asyncio.Runner | None = None

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._model.name

    def stream(self) -> "ChatStream":
        """A new conversation about a video that begins now."""
        return ChatStream(self, self._model.sees_images, self._most_frames)

    def answer(self, conversation: Sequence[Message]) -> Spoken:
        """What the model says next.

        Args:
            conversation: What was said so far, without the system message; it ends with a question.

        Raises:
            ModelError: There is no reply to be had, or it holds no answer.
        """
        system = [Message("system", self._prompt)] if self._prompt else []
        # One loop for all questions: connections belong to the loop that opened them.
        self._loop = self._loop or asyncio.Runner()
        reply = self._loop.run(self._model.ask([*system, *conversation]))
        text = spoken(reply.text)
        if not text:
            raise ModelError(f"{self.name} thought aloud and gave no answer; allow a longer reply")
        return Spoken(
            text=text,
            prompt_tokens=reply.prompt_tokens or 0,
            completion_tokens=reply.completion_tokens or 0,
            took_s=reply.took_s or 0.0,
            first_token_s=reply.first_token_s,
            cut_off=reply.cut_off,
        )

    def close(self) -> None:
        """Close connections. To be called where the questions were asked."""
        if self._loop is None:
            return
        api = getattr(getattr(self._model, "model", None), "api", None)
        # Whoever leaves while an answer is written cannot wait for its connection.
        with contextlib.suppress(RuntimeError), contextlib.closing(self._loop):
            if api is not None:
                self._loop.run(api.aclose())
        self._loop = None


class ChatStream:
    """One conversation. Made by `ChatModel.stream`."""

    def __init__(self, model: ChatModel, sees_images: bool, most_frames: int) -> None:
        self._model, self._sees_images, self._most_frames = model, sees_images, most_frames
        self._turns: list[_Turn] = []
        self._waiting: list[bytes] = []
        self._instructions: list[str] = []

    @property
    def memory_bytes(self) -> int:
        """Bytes of the frames and of what was said."""
        said = sum(len(turn.text) + len(turn.answer) for turn in self._turns)
        return said + sum(map(len, self._waiting)) + sum(len(frame) for turn in self._turns for frame in turn.frames)

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        """Keep the next frame; the model sees it with the next question. It cannot tell when it is ready: None."""
        if not self._sees_images:
            return None
        self._waiting.append(jpeg(rgb))
        if len(self._waiting) + sum(len(turn.frames) for turn in self._turns) > self._most_frames:
            self._forget_frames()
        return None

    def ask(self, question: str) -> Spoken:
        """Ask with all that is kept.

        Raises:
            ModelError: There is no answer to be had; the conversation stays as it was.
        """
        text = "\n\n".join([*self._instructions, question])
        said = self._model.answer([*self._conversation(), Message("user", text, tuple(self._waiting))])
        self._keep(text, said.text)
        return said

    def instruct(self, instruction: str) -> None:
        """Say something that goes with the next question."""
        self._instructions.append(instruction)

    def speak(self) -> Spoken:
        """Say what there is to say of what it was told to look out for.

        Raises:
            ModelError: There is no answer to be had.
        """
        return self.ask(SAY_NOW)

    def told(self, question: str, answer: str) -> None:
        """Put a question and an answer into the conversation."""
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

    def _forget_frames(self) -> None:
        kept = self._most_frames // 2
        self._waiting = self._waiting[-kept:]
        left = kept - len(self._waiting)
        for index in reversed(range(len(self._turns))):
            frames = self._turns[index].frames
            self._turns[index] = replace(self._turns[index], frames=frames[max(0, len(frames) - left) :])
            left = max(0, left - len(frames))
