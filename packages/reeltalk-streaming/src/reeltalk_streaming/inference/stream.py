"""The interface of a model that follows a running video, for any engine."""

from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

THRESHOLD: Final = 0.5
"""Readiness from which a model speaks that names none itself."""


@dataclass(frozen=True)
class StreamAnswer:
    """An answer of a model about a stream."""

    text: str
    prompt_tokens: int
    """Tokens that were read for this answer, without tokens that were read and kept before."""
    completion_tokens: int
    took_s: float
    """Seconds from the question to the end of the answer."""
    first_token_s: float | None
    """Seconds to the first token."""
    cut_off: bool = False
    """True if the answer was cut off at the longest length."""


class Stream(Protocol):
    """One conversation about one running video. Frames and questions come in the order of their times."""

    @property
    def memory_bytes(self) -> int:
        """Memory of the stream so far: the cache of keys and values, with its merged frames."""
        ...

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        """Add the next frame. It is encoded here, once.

        Args:
            rgb: (H, W, 3) uint8.
            pts_s: Its presentation time in seconds; later than that of the previous frame.

        Returns:
            How ready the model is to speak now, from 0 to 1; None if it was not trained for this.
        """
        ...

    def ask(self, question: str) -> StreamAnswer:
        """Ask a question now. Question and answer stay in the conversation.

        Raises:
            ModelError: The model gives no answer.
        """
        ...

    def instruct(self, instruction: str) -> None:
        """Give an instruction that the model answers later, such as `Tell me when the kettle boils`."""
        ...

    def speak(self) -> StreamAnswer:
        """Let the model speak now without a question. Its words stay in the conversation."""
        ...

    def add_exchange(self, question: str, answer: str) -> None:
        """Add a question and an answer to the conversation, for example from a given history."""
        ...


@runtime_checkable
class Rewinding(Protocol):
    """A stream that can return to an earlier state, for example to replace an answer."""

    def mark(self) -> Any:
        """The current state of the conversation. It takes almost no memory."""
        ...

    def rewind(self, mark: Any) -> bool:
        """Return to an earlier state and discard everything after it.

        Returns:
            False if that is no longer possible; then nothing changes.
        """
        ...


class StreamingModel(Protocol):
    """A model that can follow streams. It may have `speaks_from`, the readiness from which it speaks, 0 to 1."""

    @property
    def name(self) -> str:
        """A name that identifies the weights."""
        ...

    def stream(self) -> Stream:
        """Starts a conversation about a new video."""
        ...


def speaks_from(model: StreamingModel) -> float:
    """The readiness from which a model speaks unless a user names another."""
    return float(getattr(model, "speaks_from", THRESHOLD))
