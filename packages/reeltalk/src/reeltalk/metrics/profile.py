"""CogME's profile of an agent: its achievement at each of 19 tags of understanding (CogSci 2024, arXiv 2107.09847).

A question is tagged with one to three targets, one to three contents, and the highest level of thinking that it needs.
A right answer earns the weight of that level under every tag.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from reeltalk.schema.labels import Content, Target, Thinking

WEIGHTS: Final = {Thinking.RECALL: 1, Thinking.GRASPING: 2, Thinking.REASONING: 3}
"""Grasping includes recall, and reasoning both."""
TAGS: Final = (*(tag.value for tag in Target), *(tag.value for tag in Content), *(tag.value for tag in Thinking))
"""All 19 tags, in the order of the tables of the paper."""
RARE_PERCENT: Final = 5.0
"""Scores at tags on a smaller share of the questions, in per cent, are unreliable."""


def highest_thinking(labels: Iterable[str]) -> Thinking | None:
    """The highest level of thinking among labels, which counts; None without one."""
    known = set(labels)
    return next((thinking for thinking in reversed(Thinking) if thinking.value in known), None)


@dataclass(frozen=True)
class TaggedAnswer:
    """A question with its tags and the credit of its answer."""

    tags: tuple[str, ...]
    """Targets and contents."""
    thinking: Thinking
    credit: float
    """0 for a wrong and 1 for a right answer; a rubric may give values between."""
    tag_credit: Mapping[str, float] = field(default_factory=dict)
    """Credit at single tags, if a rubric distinguishes them; `credit` counts at all others."""

    @property
    def weight(self) -> int:
        """1 to 3, by its level of thinking."""
        return WEIGHTS[self.thinking]

    @property
    def all_tags(self) -> frozenset[str]:
        """Its tags among the 19, including that of its thinking."""
        return frozenset({*self.tags, self.thinking.value}).intersection(TAGS)


@dataclass(frozen=True)
class Profile:
    """Values by tag, in the order of `TAGS`, all in percent."""

    weighted: dict[str, float | None]
    """Share of the possible points; None if no question has the tag."""
    unweighted: dict[str, float | None]
    """Mean credit; None if no question has the tag."""
    frequency: dict[str, float | None]
    """Share of questions with the tag; the shares add up to more than 100. None without questions."""
    accuracy: float | None
    """Mean credit of all questions, without the credits at single tags."""
    questions: int

    @property
    def rare(self) -> tuple[str, ...]:
        """Tags on some, but fewer than 5 % of the questions."""
        return tuple(tag for tag, share in self.frequency.items() if share is not None and 0 < share < RARE_PERCENT)


def profile(entries: Iterable[TaggedAnswer]) -> Profile:
    """The profile of one agent.

    Args:
        entries: Its answers. Tags other than the 19 are ignored.

    Raises:
        ValueError: A credit is not within 0 and 1.
    """
    kept = list(entries)
    by_tag: dict[str, list[tuple[float, int]]] = {tag: [] for tag in TAGS}
    for entry in kept:
        for credit in chain([entry.credit], entry.tag_credit.values()):
            if not 0 <= credit <= 1:
                raise ValueError(f"a credit must be within 0 and 1, got {credit}")
        for tag in entry.all_tags:
            by_tag[tag].append((entry.tag_credit.get(tag, entry.credit), entry.weight))
    return Profile(
        weighted={tag: _share(found) for tag, found in by_tag.items()},
        unweighted={tag: _share([(credit, 1) for credit, _ in found]) for tag, found in by_tag.items()},
        frequency={tag: 100 * len(found) / len(kept) if kept else None for tag, found in by_tag.items()},
        accuracy=_share([(entry.credit, 1) for entry in kept]),
        questions=len(kept),
    )


def _share(found: Sequence[tuple[float, int]]) -> float | None:
    """Share of the possible points, from credits and weights."""
    if not found:
        return None
    return 100 * sum(weight * credit for credit, weight in found) / sum(weight for _, weight in found)
