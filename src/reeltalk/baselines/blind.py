"""Answers from the question alone: what other videos' answers to like questions give away."""

from collections.abc import Sequence
from typing import Final

from reeltalk.baselines.answerer import Frames, Pair, Said, as_option
from reeltalk.baselines.likeness import LikeIndex
from reeltalk.metrics.agree import content_words

CONSIDERED: Final = 10
"""Like questions whose answers are tried on the options, until one fits."""


class Blind:
    """The answer to the likest known question. It shows how far one comes with other videos' answers and no video.

    Args:
        pairs: Known questions and answers, of other videos than those asked about.
    """

    name: Final = "blind"

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.index = LikeIndex(pairs)

    @property
    def signature(self) -> str:
        """Name and what it learnt from."""
        return f"baseline:blind|train:{self.index.fingerprint}"

    def answer(
        self,
        question: str,
        history: Said = (),
        options: Sequence[str] | None = None,
        frames: Frames | None = None,
        *,
        without: str | None = None,
    ) -> str | None:
        """The likest question's answer, or the option nearest to it; neither history nor frames are looked at."""
        for like in self.index.likest(question, without=without, most=CONSIDERED if options else 1):
            chosen = as_option(like.pair.answer, options)
            if chosen is None and options:
                chosen = _nearest_option(like.pair.answer, options)
            if chosen is not None:
                return chosen
        return None


def _nearest_option(answer: str, options: Sequence[str]) -> str | None:
    """The option that shares most words with an answer; None where none shares any, or two share as many."""
    words = frozenset(content_words(answer))
    common = [len(words & set(content_words(option))) for option in options]
    best = max(common)
    return options[common.index(best)] if best and common.count(best) == 1 else None
