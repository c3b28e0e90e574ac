"""A baseline: the shortest answer that it has seen.

A baseline shows what a score is worth. This one knows nothing of the video and little of language, so a judge that
scores it well does not measure understanding.
"""

from collections.abc import Sequence
from typing import Final

from reeltalk.baselines.answerer import DialogueHistory, KnownAnswer, as_option, training_hash
from reeltalk.evaluation.playing.baseline_players import BaselinePlayer


class ShortestAnswer:
    """Answers every question with the shortest known answer of another video.

    Args:
        known: Questions with their answers.
    """

    name: Final = "shortest"

    def __init__(self, known: Sequence[KnownAnswer]) -> None:
        self._by_length = sorted(known, key=lambda one: (len(one.answer.split()), one.answer))
        self._hash = training_hash(known)

    @property
    def signature(self) -> str:
        """Everything that can change an answer: the rule and what it has learnt from."""
        return f"baseline:shortest|train:{self._hash}"

    def answer(
        self,
        question: str,
        history: DialogueHistory,
        options: Sequence[str] | None,
        *,
        without: str | None = None,
    ) -> str | None:
        """Return the answer; None if there is none.

        Args:
            question: The question.
            history: Earlier questions and answers of the dialogue.
            options: The choices, if the question has some. The answer must then be one of them.
            without: The video of the question. A baseline uses nothing that it learnt from this video.
        """
        others = (as_option(one.answer, options) for one in self._by_length if one.video_id != without)
        return next((answer for answer in others if answer is not None), None)


def create_player(known: Sequence[KnownAnswer]) -> BaselinePlayer:
    """Create the baseline. The entry point names this function.

    Args:
        known: The turns of the benchmark's train split, or of all its videos if it has none.
    """
    return BaselinePlayer(ShortestAnswer(known))
