"""The interface of baselines, and the known questions that they learn from."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from reeltalk.metrics.choice import read_choice
from reeltalk.schema.intervals import Interval
from reeltalk.schema.scoring import short_hash

DialogueHistory = Sequence[tuple[str, str]]
"""Earlier questions and their answers, in order."""


@dataclass(frozen=True)
class KnownAnswer:
    """A question with its answer, from which a baseline learns."""

    question: str
    answer: str
    video_id: str = ""
    """Its video, so that questions about the same video can be left out."""


class Answerer(Protocol):
    """Answers questions about a video. It has no pretrained weights, and equal inputs give equal answers."""

    @property
    def name(self) -> str:
        """Name in tables, as `blind`."""
        ...

    @property
    def signature(self) -> str:
        """Everything that can change its answers, as `baseline:blind|train:1f2e3d4c`."""
        ...

    def answer(
        self,
        question: str,
        history: DialogueHistory,
        options: Sequence[str] | None,
        *,
        without: str | None = None,
    ) -> str | None:
        """Answer a question; with options, by one of them. None if the baseline has no answer.

        Args:
            history: Earlier questions and answers.
            options: Options of a multiple-choice question.
            without: The video that the question is about; nothing that was learned from it is used.
        """
        ...


def as_option(answer: str, options: Sequence[str] | None) -> str | None:
    """The option that an answer names, None if it names none; without options, the answer itself."""
    if not options:
        return answer
    index = read_choice(answer, tuple(options)).option
    return None if index is None else options[index]


DIALOGUE_FIELDS: Final = ("history", "asked_at_s")
"""Fields of a `KnownTurn` for a baseline that knows the dialogue and does not look at the video."""
VIDEO_FIELDS: Final = (*DIALOGUE_FIELDS, "evidence", "about")
"""Fields for a baseline that also looks at the video."""


@dataclass(frozen=True)
class KnownTurn(KnownAnswer):
    """A turn with its answer, dialogue and evidence."""

    history: tuple[tuple[str, str], ...] = ()
    """Questions and reference answers before it."""
    asked_at_s: float | None = None
    """Time of the question; None if it is asked after the whole video."""
    evidence: tuple[Interval, ...] = ()
    """Intervals of the video that show the answer."""
    about: tuple[Interval, ...] = ()
    """Clips that the turn is about; empty if it is about the whole video."""


def training_hash(turns: Sequence[KnownAnswer], fields: Sequence[str] = (), *arrays: np.ndarray) -> str:
    """First digits of a hash over the training data, for a signature.

    Args:
        turns: Training data in the order of learning.
        fields: Fields of `KnownTurn` to include besides question, answer and video.
        arrays: Features of videos.
    """
    told = [[getattr(turn, name) for name in ("video_id", "question", "answer", *fields)] for turn in turns]
    return short_hash([told, [hashlib.sha256(array.tobytes()).hexdigest() for array in arrays]])
