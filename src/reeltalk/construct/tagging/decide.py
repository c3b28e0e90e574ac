"""From probabilities to tags: which are taken, how close the call was, and which turns a person should look at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.construct.tagging.settings import ReviewSettings
from reeltalk.inference.linear_tagger import ONE_OF

MOST_TAGS: Final = 3
"""Most targets, and most contents, of a question (CogME)."""
TAKEN_FROM: Final = 0.5
"""A tag is taken that is at least so likely."""


@dataclass(frozen=True)
class TagDecision:
    """The tags of a turn in one vocabulary."""

    tags: tuple[str, ...]
    """One to three; exactly one where the vocabulary wants that. In the vocabulary's order."""
    margin: float
    """By how much probabilities would have to change for other tags to be taken, 0 to 0.5."""


def decide(vocabulary: str, probabilities: Mapping[str, float]) -> TagDecision:
    """The tags that are at least as likely as not: the most likely one at least, the three most likely at most.

    Args:
        vocabulary: As `cogme.target`.
        probabilities: Of each tag of the vocabulary; not empty. Equal ones go by the vocabulary's order.
    """
    order = list(probabilities)
    ranked = sorted(order, key=lambda tag: -probabilities[tag])
    values = [probabilities[tag] for tag in ranked]
    if vocabulary in ONE_OF:
        count = 1
    else:
        count = min(max(1, sum(value >= TAKEN_FROM for value in values)), MOST_TAGS)
    following = values[count] if count < len(values) else 0.0
    # Two tags that change places go half of the way each.
    margin = (values[count - 1] - following) / 2
    if vocabulary not in ONE_OF and values[count - 1] >= TAKEN_FROM > following:
        joins = TAKEN_FROM - following if count < MOST_TAGS else max(margin, TAKEN_FROM - following)
        leaves = values[count - 1] - TAKEN_FROM if count > 1 else margin
        margin = min(joins, leaves)
    taken = set(ranked[:count])
    return TagDecision(tuple(tag for tag in order if tag in taken), margin)


@dataclass(frozen=True)
class Tagged:
    """What a tagger made of one turn."""

    decisions: Mapping[str, TagDecision]
    """By vocabulary; empty where nothing could be used."""
    probabilities: Mapping[str, Mapping[str, float]]
    """By vocabulary and tag; empty where the tagger does not say, as after a single reply of a model."""
    reason: str | None = None
    """Why there are no tags."""
    raw: tuple[str, ...] = ()
    """Replies that could not be used."""

    @property
    def margin(self) -> float | None:
        """That of its closest call; None where the tagger does not say."""
        return min((d.margin for d in self.decisions.values()), default=None) if self.probabilities else None


def select_for_review(tagged: Sequence[Tagged], settings: ReviewSettings) -> tuple[int, ...]:
    """Places of the turns to look at: those without tags or margin first, then the closest calls.

    Args:
        tagged: All turns.
        settings: How many.
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
