"""Answers that know nothing, by which a judge is tried: always yes, and the question given back."""

from collections.abc import Sequence
from typing import Final

from reeltalk.baselines.answerer import Frames, Said

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
        history: Said = (),
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
        history: Said = (),
        options: Sequence[str] | None = None,
        frames: Frames | None = None,
        *,
        without: str | None = None,
    ) -> str | None:
        """The question, word for word; none of the options."""
        return question
