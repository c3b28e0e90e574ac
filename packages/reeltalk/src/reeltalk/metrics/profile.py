"""CogME's profile of an agent: its achievement at each of 19 tags of understanding (CogSci 2024, arXiv 2107.09847).

A question is tagged with one to three targets, one to three contents, and the highest level of thinking that it needs.
A right answer earns the weight of that level under every tag.
"""

from collections.abc import Iterable
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
