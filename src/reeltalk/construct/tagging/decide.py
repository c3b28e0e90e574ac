"""Turns probabilities into tags with a margin, and selects the turns that a person should review."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.construct.tagging.settings import ReviewSettings
from reeltalk.inference.linear_tagger import ONE_OF

MOST_TAGS: Final = 3
"""Most targets, and most contents, of a question (CogME)."""
TAKEN_FROM: Final = 0.5
"""Least probability of a tag that is taken."""


@dataclass(frozen=True)
class TagDecision:
    """The tags of a turn in one vocabulary."""

    tags: tuple[str, ...]
    """One to three tags in the vocabulary's order; exactly one if the vocabulary allows only one."""
    margin: float
    """Least change of the probabilities that would change the tags, 0 to 0.5."""


def decide(vocabulary: str, probabilities: Mapping[str, float]) -> TagDecision:
    """Choose the tags with a probability of 0.5 or more: at least the most likely one, at most three.

    Args:
        vocabulary: For example `cogme.target`.
        probabilities: Probability of each tag of the vocabulary; not empty. Ties go by the vocabulary's order.
    """
    order = list(probabilities)
    ranked = sorted(order, key=lambda tag: -probabilities[tag])
    values = [probabilities[tag] for tag in ranked]
    if vocabulary in ONE_OF:
        count = 1
    else:
        count = min(max(1, sum(value >= TAKEN_FROM for value in values)), MOST_TAGS)
    following = values[count] if count < len(values) else 0.0
    # If two tags change places, each probability changes by half the difference.
    margin = (values[count - 1] - following) / 2
    if vocabulary not in ONE_OF and values[count - 1] >= TAKEN_FROM > following:
        joins = TAKEN_FROM - following if count < MOST_TAGS else max(margin, TAKEN_FROM - following)
        leaves = values[count - 1] - TAKEN_FROM if count > 1 else margin
        margin = min(joins, leaves)
    taken = set(ranked[:count])
    return TagDecision(tuple(tag for tag in order if tag in taken), margin)


@dataclass(frozen=True)
class TurnTags:
    """The result of a tagger for one turn."""

    decisions: Mapping[str, TagDecision]
    """By vocabulary; empty if no reply could be used."""
    probabilities: Mapping[str, Mapping[str, float]]
    """By vocabulary and tag; empty if the tagger gives none, as after a single reply of a model."""
    reason: str | None = None
    """Why there are no tags."""
    raw: tuple[str, ...] = ()
    """Replies that could not be used."""

    @property
    def margin(self) -> float | None:
        """The smallest margin of its decisions; None if the tagger gives no probabilities."""
        return min((d.margin for d in self.decisions.values()), default=None) if self.probabilities else None


def select_for_review(tagged: Sequence[TurnTags], settings: ReviewSettings) -> tuple[int, ...]:
    """Select turns for review: first those without tags or margin, then those with the smallest margins.

    Args:
        tagged: Results of all turns.
        settings: Number or band of probabilities.

    Returns:
        Indices into `tagged`.
    """
    unknown = [place for place, turn in enumerate(tagged) if turn.margin is None]
    known = sorted((turn.margin, place) for place, turn in enumerate(tagged) if turn.margin is not None)
    if settings.review_band is not None:
        low, high = settings.review_band
        close = [
            place
            for _, place in known
            if any(low <= value <= high for part in tagged[place].probabilities.values() for value in part.values())
        ]
    else:
        close = [place for _, place in known[: round(settings.review_share * len(known))]]
    return (*unknown, *close)
