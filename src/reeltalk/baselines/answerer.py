"""What every baseline is: something that answers a question from less than the video, or says nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.agree import chosen_option

Frames = Sequence[NDArray[np.uint8]]
"""Pictures of a video in order, each (H, W, 3) RGB."""
Said = Sequence[tuple[str, str]]
"""Questions and answers before the present question, the first one first."""


@dataclass(frozen=True)
class Pair:
    """A question whose answer is known, from which a baseline learns."""

    question: str
    answer: str
    video_id: str = ""
    """Whose it is, so that a video's own questions can be left out."""
    features: NDArray[Any] | None = None
    """(D,) what describes the video's frames, for `Nearest`."""


class Answerer(Protocol):
    """Answers questions about a video. It needs no weights, and the same input gives the same answer."""

    @property
    def name(self) -> str:
        """How it stands in a table, as `blind`."""
        ...

    @property
    def signature(self) -> str:
        """Everything that can move its answers, as `baseline:blind|train:1f2e3d4c`."""
        ...

    def answer(
        self,
        question: str,
        history: Said,
        options: Sequence[str] | None,
        frames: Frames | None = None,
        *,
        without: str | None = None,
    ) -> str | None:
        """An answer, one of the options where there are some; None where it has nothing to say.

        Args:
            question: What is asked now.
            history: What was said before.
            options: The choices of a multiple-choice question.
            frames: Pictures of the video, for what looks at them.
            without: The video that is asked about, so that nothing learnt from it is used.
        """
        ...


def as_option(answer: str, options: Sequence[str] | None) -> str | None:
    """An answer as the option that it names; itself where there are no options, None where it names none."""
    if not options:
        return answer
    index = chosen_option(answer, options)
    return None if index is None else options[index]
