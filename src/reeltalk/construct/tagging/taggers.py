"""Who tags: one protocol, which a trained linear model and a language model both follow."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

from reeltalk.construct.tagging.decide import Tagged, decide
from reeltalk.construct.tagging.turns import Asked
from reeltalk.inference.linear_tagger import SHIPPED, LinearTagger
from reeltalk.progress import Progress

HOUSEHOLD: Final = "household"
"""Name of the tagger that comes with reeltalk."""


class Tagger(Protocol):
    """Proposes tags for turns."""

    @property
    def signature(self) -> str:
        """Who proposed, with a hash of all that the proposals depend on."""
        ...

    def tag(self, turns: Sequence[Asked], progress: Progress) -> list[Tagged]:
        """What it makes of each turn, in their order.

        Args:
            turns: What to tag.
            progress: Called with what is done of how much.

        Raises:
            ModelError: There is no reply to be had.
            BudgetError: A limit would be passed.
        """
        ...


class LinearTagging:
    """The trained linear model."""

    def __init__(self, tagger: LinearTagger) -> None:
        self.tagger = tagger
        self.signature = tagger.signature

    @classmethod
    def named(cls, name: str) -> "LinearTagging":
        """The tagger that comes with reeltalk by its name, or that of a file.

        Raises:
            InputError: The file holds no tagger that can be used.
        """
        return cls(LinearTagger.load(SHIPPED if name == HOUSEHOLD and not os.path.isfile(name) else Path(name)))

    def tag(self, turns: Sequence[Asked], progress: Progress) -> list[Tagged]:
        """What it makes of each turn; a turn without a question is left untagged."""
        values = self.tagger.probabilities([asked.turn.question for asked in turns], [asked.answer for asked in turns])
        found: list[Tagged] = []
        for asked, row in zip(turns, values, strict=True):
            if not asked.turn.question.strip():
                found.append(Tagged({}, {}, "there is no question"))
                continue
            given = iter(row.tolist())
            probabilities = {
                name: {tag: next(given) for tag in tags} for name, tags in self.tagger.vocabularies.items()
            }
            found.append(Tagged({name: decide(name, part) for name, part in probabilities.items()}, probabilities))
        if turns:
            progress("tagging", len(turns), len(turns), 1.0)
        return found
