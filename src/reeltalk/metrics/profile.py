"""CogME's profile of an agent: what it achieves at each of 19 parts of understanding (CogSci 2024, arXiv 2107.09847).

A question is tagged with one to three targets, one to three contents, and the highest way of thinking that it needs. A
right answer earns that way of thinking's weight under every tag.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.schema.labels import Content, Target, Thinking

WEIGHTS: Final = {Thinking.RECALL: 1, Thinking.GRASPING: 2, Thinking.REASONING: 3}
"""Grasping includes recall, and reasoning both."""
TAGS: Final = (*(tag.value for tag in Target), *(tag.value for tag in Content), *(tag.value for tag in Thinking))
"""All 19, in the order of the paper's tables."""
RARE_PERCENT: Final = 5.0
"""A tag that fewer questions carry says little."""


@dataclass(frozen=True)
class TaggedAnswer:
    """One question with its tags, and how far it was answered rightly."""

    tags: tuple[str, ...]
    """Targets and contents."""
    thinking: Thinking
    credit: float
    """0 is wrong and 1 is right; a rubric may give something between."""

    @property
    def weight(self) -> int:
        """1 to 3, by its way of thinking."""
        return WEIGHTS[self.thinking]

    @property
    def all_tags(self) -> frozenset[str]:
        """Its tags among the 19, that of its thinking too."""
        return frozenset({*self.tags, self.thinking.value}).intersection(TAGS)


@dataclass(frozen=True)
class Profile:
    """Values by tag, in the order of `TAGS`, all in percent."""

    weighted: dict[str, float | None]
    """Points earned of points possible; None where no question carries the tag."""
    unweighted: dict[str, float | None]
    """Mean credit; None where no question carries the tag."""
    frequency: dict[str, float | None]
    """Share of questions that carry the tag; the shares add up to more than 100. None where there are no questions."""
    accuracy: float | None
    """Mean credit of all questions."""
    questions: int

    @property
    def rare(self) -> tuple[str, ...]:
        """Tags that some questions carry, but fewer than 5 %."""
        return tuple(tag for tag, share in self.frequency.items() if share is not None and 0 < share < RARE_PERCENT)


def profile(entries: Iterable[TaggedAnswer]) -> Profile:
    """The profile of one agent.

    Args:
        entries: Its answers. Tags beyond the 19 have no place in the profile.

    Raises:
        ValueError: A credit is not within 0 and 1.
    """
    kept = list(entries)
    for entry in kept:
        if not 0 <= entry.credit <= 1:
            raise ValueError(f"a credit must be within 0 and 1, got {entry.credit}")
    by_tag = {tag: [entry for entry in kept if tag in entry.all_tags] for tag in TAGS}
    return Profile(
        weighted={tag: _share(found, [entry.weight for entry in found]) for tag, found in by_tag.items()},
        unweighted={tag: _share(found, [1] * len(found)) for tag, found in by_tag.items()},
        frequency={tag: 100 * len(found) / len(kept) if kept else None for tag, found in by_tag.items()},
        accuracy=_share(kept, [1] * len(kept)),
        questions=len(kept),
    )


def _share(entries: Sequence[TaggedAnswer], weights: Sequence[int]) -> float | None:
    if not entries:
        return None
    earned = sum(weight * entry.credit for entry, weight in zip(entries, weights, strict=True))
    return 100 * earned / sum(weights)
