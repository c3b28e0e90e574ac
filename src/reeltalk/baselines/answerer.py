"""What every baseline is: an answerer that uses less than the video, and the known questions that it learns from.

Two answerers that know nothing stand here too; a judge is tested with them.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.agree import chosen_option
from reeltalk.schema.intervals import Interval
from reeltalk.schema.scoring import short_hash

Frames = Sequence[NDArray[np.uint8]]
"""Pictures of a video in order, each (H, W, 3) RGB."""
DialogueHistory = Sequence[tuple[str, str]]
"""Questions and answers before the present question, the first one first."""


@dataclass(frozen=True)
class KnownAnswer:
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
        history: DialogueHistory,
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


OF_THE_DIALOGUE: Final = ("history", "asked_at_s")
"""Fields of a `KnownTurn` from which a baseline learns that knows the dialogue and does not look."""
OF_THE_VIDEO: Final = (*OF_THE_DIALOGUE, "evidence", "about")
"""Those of one that looks too."""


@dataclass(frozen=True)
class KnownTurn(KnownAnswer):
    """A turn whose answer is known."""

    history: tuple[tuple[str, str], ...] = ()
    """Questions and reference answers before it."""
    asked_at_s: float | None = None
    """The moment of the question; None where it is asked after the whole video."""
    evidence: tuple[Interval, ...] = ()
    """Where in the video the answer can be seen."""
    about: tuple[Interval, ...] = ()
    """The clips that the turn is about; none where it is about the whole video."""


def training_hash(turns: Sequence[KnownAnswer], fields: Sequence[str] = (), *arrays: np.ndarray) -> str:
    """The beginning of a hash over what is known, for a signature.

    Args:
        turns: What is known, in the order in which it is learnt.
        fields: Of `KnownTurn`, beside question, answer and video.
        arrays: What videos look like.
    """
    told = [[getattr(turn, name) for name in ("video_id", "question", "answer", *fields)] for turn in turns]
    return short_hash([told, [hashlib.sha256(array.tobytes()).hexdigest() for array in arrays]])


YES: Final = "Yes."
YES_ZH: Final = "是的。"
"""A judge of Chinese answers is tried in Chinese."""


class AlwaysYes:
    """Says yes to everything. A judge that likes it likes agreement, not answers."""

    name: Final = "yes"
    signature: Final = "baseline:yes"

    def answer(
        self,
        question: str,
        history: DialogueHistory = (),
        options: Sequence[str] | None = None,
        frames: Frames | None = None,
        *,
        without: str | None = None,
    ) -> str | None:
        """Yes, in Chinese where the question is; none of the options."""
        return YES_ZH if any("\u4e00" <= character <= "\u9fff" for character in question) else YES


class CopiedQuestion:
    """Gives the question back. It shares words with the reference and says nothing."""

    name: Final = "copied-question"
    signature: Final = "baseline:copied-question"

    def answer(
        self,
        question: str,
        history: DialogueHistory = (),
        options: Sequence[str] | None = None,
        frames: Frames | None = None,
        *,
        without: str | None = None,
    ) -> str | None:
        """The question, word for word; none of the options."""
        return question
