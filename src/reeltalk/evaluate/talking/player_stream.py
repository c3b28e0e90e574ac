"""A player, as a class of the user's own, as a model that follows a stream."""

import asyncio
import time
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import ModelError
from reeltalk.evaluate.playing.player import Past, Player, Seen, ShownFrame
from reeltalk.evaluate.playing.script import Step
from reeltalk.evaluate.talking.chat_stream import MOST_FRAMES, SAY_NOW
from reeltalk.inference.stream import Spoken
from reeltalk.schema.dialogue import Turn
from reeltalk.video.encode import jpeg

MOST_TURNS: Final = 64


class PlayerModel:
    """Follows streams with a player: at each question it gets the frames that are kept, and what was said.

    Args:
        player: Who answers.
        most_frames: Frames that are kept at most: the newest.
    """

    def __init__(self, player: Player, *, most_frames: int = MOST_FRAMES) -> None:
        self.player, self.most_frames = player, most_frames

    @property
    def name(self) -> str:
        """Name of the player."""
        return self.player.name

    def stream(self) -> "PlayerStream":
        """A new conversation about a video that begins now."""
        return PlayerStream(self.player, self.most_frames)


class PlayerStream:
    """One conversation. Made by `PlayerModel.stream`; serves as `Pictures` to its player."""

    def __init__(self, player: Player, most_frames: int) -> None:
        self._player, self._most_frames = player, most_frames
        self._frames: dict[bytes, tuple[ShownFrame, bytes]] = {}
        self._history: list[Past] = []
        self._instructions: list[str] = []
        self._now_s = 0.0

    @property
    def memory_bytes(self) -> int:
        """Bytes of the frames and of what was said."""
        said = sum(len(past.question) + len(past.answer) for past in self._history)
        return said + sum(len(picture) for _, picture in self._frames.values())

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        """Keep the next frame. A player cannot tell when it is ready: None."""
        self._now_s = pts_s
        if self._player.sees_frames:
            frame = ShownFrame(pts_s, f"{pts_s:.6f}".encode())
            self._frames[frame.reference] = (frame, jpeg(rgb))
            while len(self._frames) > self._most_frames:
                del self._frames[next(iter(self._frames))]
        return None

    def ask(self, question: str) -> Spoken:
        """Ask with all that is kept.

        Raises:
            ModelError: The player has no answer.
        """
        began_s = time.monotonic()
        text = "\n\n".join([*self._instructions, question])
        said = asyncio.run(self._player.answer(self._seen(text), self))
        if said.text is None:
            raise ModelError(f"{self._player.name} has no answer: {said.reason or 'it gave no reason'}")
        self.told(question, said.text)
        took_s = said.took_s if said.took_s is not None else time.monotonic() - began_s
        return Spoken(said.text, said.prompt_tokens or 0, said.completion_tokens or 0, took_s, said.first_token_s)

    def instruct(self, instruction: str) -> None:
        """Say something that goes with the next question."""
        self._instructions.append(instruction)

    def speak(self) -> Spoken:
        """Say what there is to say of what it was told to look out for.

        Raises:
            ModelError: The player has no answer.
        """
        return self.ask(SAY_NOW)

    def told(self, question: str, answer: str) -> None:
        """Put a question and an answer into the conversation."""
        self._history.append(Past("\n\n".join([*self._instructions, question]), answer))
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

    def _seen(self, question: str) -> Seen:
        turn = Turn(question=question, asked_at_s=self._now_s)
        return Seen(
            question=question,
            history=tuple(self._history),
            frames=tuple(frame for frame, _ in self._frames.values()),
            new_frames=(),
            options=None,
            subtitles=(),
            step=Step("dialogue", "chat", len(self._history), turn, self._now_s),
            video_id="chat",
        )
