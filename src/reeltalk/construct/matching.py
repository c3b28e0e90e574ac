"""Find the turn that a model means when it copies a question.

SVBench's linkages come as the words of two chains. A copy is matched letter by letter first, then by likeness; what
fits no turn, or two turns alike, is refused with a reason and never guessed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.construct.wording import normalised
from reeltalk.errors import shorten
from reeltalk.schema.dialogue import Turn


class MatchSettings(BaseModel):
    """How alike a copy must be."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    min_likeness: Annotated[float, Field(gt=0, le=1)] = 0.85
    """Least likeness of a question that was not copied exactly, 0 to 1."""
    min_margin: Annotated[float, Field(ge=0, le=1)] = 0.05
    """How much more alike the best turn must be than the second."""


DEFAULT_MATCH = MatchSettings()


@dataclass(frozen=True)
class Matched:
    """The turn that was meant."""

    turn_index: int
    """From 0."""
    how: Literal["exact", "fuzzy"]
    likeness: float
    """Of the question, 0 to 1; 1 where it is exact."""


@dataclass(frozen=True)
class Unmatched:
    """No turn, or no single one, was meant."""

    reason: str


def match_turn(
    question: str, answer: str, turns: Sequence[Turn], settings: MatchSettings = DEFAULT_MATCH
) -> Matched | Unmatched:
    """The turn whose question a text copies; its answer decides between turns that ask alike.

    Args:
        question: What a model copied; case, punctuation and spaces do not count.
        answer: The answer it copied along, perhaps empty.
        turns: Where to look.
        settings: How alike a copy must be.
    """
    wanted = normalised(question)
    if not wanted:
        return Unmatched("the question is empty")
    likeness = {index: likeness_of(question, turn.question) for index, turn in enumerate(turns)}
    exact = [index for index, turn in enumerate(turns) if normalised(turn.question) == wanted]
    if exact:
        near = exact
    else:
        best = max(likeness.values(), default=0.0)
        near = [
            index
            for index, value in likeness.items()
            if value >= max(settings.min_likeness, best - settings.min_margin)
        ]
        if not near:
            return Unmatched(f"no turn asks {shorten(question)}; the nearest is alike by {best:.2f}")
    how: Literal["exact", "fuzzy"] = "exact" if exact else "fuzzy"
    if len(near) == 1:
        return Matched(near[0], how, likeness[near[0]])
    chosen = _by_answer(answer, near, turns, settings)
    if chosen is None:
        places = ", ".join(str(index + 1) for index in near)
        return Unmatched(f"turns {places} ask {shorten(question)} alike, and the answer does not tell which is meant")
    return Matched(chosen, how, likeness[chosen])


def likeness_of(one: str, other: str) -> float:
    """How alike two texts are, 0 to 1: Ratcliff and Obershelp's measure, without case and punctuation."""
    # The measure depends on the order of its arguments where several common parts are equally long.
    first, second = sorted((normalised(one), normalised(other)))
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


def _by_answer(answer: str, near: Sequence[int], turns: Sequence[Turn], settings: MatchSettings) -> int | None:
    wanted = normalised(answer)
    if not wanted:
        return None
    exact = [index for index in near if any(normalised(text) == wanted for text in turns[index].references)]
    if exact:
        return exact[0] if len(exact) == 1 else None
    ranked = sorted(
        (max((likeness_of(answer, text) for text in turns[index].references), default=0.0), index) for index in near
    )
    (second, _), (best, chosen) = ranked[-2:]
    return chosen if best >= settings.min_likeness and best - second >= settings.min_margin else None
