"""Forms of the rounds that ask for no single fact of a graph: recall, summaries, other topics, needs and returns.

A form is a pattern such as `[Remind me|Tell me again], please: {about}`, which stands for one text for each choice. All
texts of a pattern belong to one split, so that no wording of train comes close to one of test.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from reeltalk.language.grammar import alternatives, split_of_form

ROUNDS: Final = Path(__file__).parent / "rounds.toml"


class RoundForms(BaseModel):
    """Patterns for one sort of round."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    questions: tuple[str, ...]
    answers: tuple[str, ...] = ()
    """Patterns of answers are shared by all splits."""


@cache
def round_forms() -> Mapping[str, RoundForms]:
    """Patterns by sort of round."""
    raw = tomllib.loads(ROUNDS.read_text(encoding="utf-8"))
    return {name: RoundForms.model_validate(forms) for name, forms in raw.items()}


@cache
def expand_pattern(pattern: str) -> tuple[str, ...]:
    """All texts that a pattern stands for, in a fixed order.

    Args:
        pattern: A form with choices in square brackets; a choice may be empty.
    """
    return tuple(alternatives(pattern))


def texts_of_split(patterns: Sequence[str], split: str) -> list[str]:
    """The texts of those patterns that a split may use."""
    return [text for n, pattern in enumerate(patterns) if split_of_form(n) == split for text in expand_pattern(pattern)]
