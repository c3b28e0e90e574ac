"""What baselines that look further than one question learn from: turns with their dialogue and their evidence."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from reeltalk.baselines.answerer import Pair
from reeltalk.baselines.history import rests_on_history
from reeltalk.metrics.agree import content_words
from reeltalk.schema.intervals import Interval
from reeltalk.schema.scoring import short_hash

FOLDS: Final = 5
OF_THE_DIALOGUE: Final = ("history", "asked_at_s")
"""Fields of a `KnownTurn` from which a baseline learns that knows the dialogue and does not look."""
OF_THE_VIDEO: Final = (*OF_THE_DIALOGUE, "evidence", "about")
"""Those of one that looks too."""


@dataclass(frozen=True)
class KnownTurn(Pair):
    """A turn whose answer is known."""

    history: tuple[tuple[str, str], ...] = ()
    """Questions and reference answers before it."""
    asked_at_s: float | None = None
    """The moment of the question; None where it is asked after the whole video."""
    evidence: tuple[Interval, ...] = ()
    """Where in the video the answer can be seen."""
    about: tuple[Interval, ...] = ()
    """The clips that the turn is about; none where it is about the whole video."""


def learnt(turns: Sequence[Pair], fields: Sequence[str] = (), *arrays: np.ndarray) -> str:
    """The beginning of a hash over what is known, for a signature.

    Args:
        turns: What is known, in the order in which it is learnt.
        fields: Of `KnownTurn`, beside question, answer and video.
        arrays: What videos look like.
    """
    told = [[getattr(turn, name) for name in ("video_id", "question", "answer", *fields)] for turn in turns]
    return short_hash([told, [hashlib.sha256(array.tobytes()).hexdigest() for array in arrays]])


def spoken_of(question: str, history: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """What a pronoun of the question can mean: content words of the turn before; none where it rests on nothing."""
    if not history or not rests_on_history(question):
        return ()
    before, answer = history[-1]
    return (*content_words(before), *content_words(answer))


def folds_of(videos: list[str], appearance: np.ndarray | None = None) -> dict[str, int]:
    """Divide videos among `FOLDS` parts, so that what is learnt from the others can be tried on each.

    Args:
        videos: Their names.
        appearance: (N, D) what each looks like, if anything is known of it. Videos that look alike are then kept
            together (k-means), as films of one house are, for else a test on one of them would be too easy.

    Returns:
        The part of each video, from 0.
    """
    names = sorted(videos)
    if appearance is None or len(names) <= FOLDS:
        return {name: n % FOLDS for n, name in enumerate(names)}
    rows = np.asarray(appearance, np.float64)[np.argsort(videos, kind="stable")]
    # The farthest from all that were chosen before: no seed, and the same parts each time.
    chosen = [int(((rows - rows.mean(0)) ** 2).sum(1).argmax())]
    while len(chosen) < FOLDS:
        chosen.append(int(((rows[:, None] - rows[chosen]) ** 2).sum(-1).min(1).argmax()))
    centres = rows[chosen]
    part = np.zeros(len(rows), np.intp)
    for _ in range(20):
        part = ((rows[:, None] - centres) ** 2).sum(-1).argmin(1)
        centres = np.array([rows[part == k].mean(0) if (part == k).any() else centres[k] for k in range(FOLDS)])
    return {name: int(k) for name, k in zip(names, part, strict=True)}
