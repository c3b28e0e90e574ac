"""What a model that follows a running video can do, whichever engine runs it."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class StreamAnswer:
    """What a model said of a stream."""

    text: str
    prompt_tokens: int
    """Tokens that were read for this answer; those that were read before and kept do not count again."""
    completion_tokens: int
    took_s: float
    """Seconds from the question to the end of the answer."""
    first_token_s: float | None
    """Seconds to the first token."""
    cut_off: bool = False
    """True where it ended at the longest answer."""


class Stream(Protocol):
    """One conversation about one video while it goes on. Frames and questions come in the order of their times."""

    @property
    def memory_bytes(self) -> int:
        """What is kept of the stream so far: the cache of keys and values, with its merged frames."""
        ...

    def see(self, rgb: NDArray[np.uint8], pts_s: float) -> float | None:
        """Take in the next frame. It is encoded once, here.

        Args:
            rgb: (H, W, 3) uint8.
            pts_s: Its presentation time in seconds; later than that of the frame before.

        Returns:
            How ready the model is to speak now, from 0 to 1; None where it was not trained to tell.
        """
        ...

    def ask(self, question: str) -> StreamAnswer:
        """Ask something now. Question and answer stay in the conversation.

        Raises:
            ModelError: There is no answer to be had.
        """
        ...

    def instruct(self, instruction: str) -> None:
        """Say something that is answered later, when it is time to, as `Tell me when the kettle boils`."""
        ...

    def speak(self) -> StreamAnswer:
        """Say what there is to say now without being asked. What is said stays in the conversation."""
        ...

    def told(self, question: str, answer: str) -> None:
        """Put a question and an answer into the conversation, as where a history is given."""
        ...


@runtime_checkable
class Rewinding(Protocol):
    """A stream that can go back to where it was, as where an answer is replaced by another."""

    def mark(self) -> Any:
        """Where the conversation is now. It takes no memory to speak of."""
        ...

    def rewind(self, mark: Any) -> bool:
        """Go back, as if nothing had come after it.

        Returns:
            False, and nothing changes, where that is not possible any more.
        """
        ...


class StreamingModel(Protocol):
    """A model that can follow streams."""

    @property
    def name(self) -> str:
        """Names the weights."""
        ...

    def stream(self) -> Stream:
        """A new conversation about a video that begins now."""
        ...
