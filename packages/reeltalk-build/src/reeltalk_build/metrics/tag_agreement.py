"""Agreement of proposed tags with reference tags: by tag, as sets, and after a person has reviewed the doubtful ones.

Cohen's kappa, Krippendorff's alpha and the samples of videos for intervals are the same as for judges.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.agreement import cohen_kappa, krippendorff_alpha
from reeltalk.metrics.draws import Draws, Floats, Statistic, draw_videos, ratio_of_sums

Bools = NDArray[np.bool_]

BINS: Final = 10
"""Bins of equal width in a table of reliability."""
REVIEWED: Final = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5)
"""Shares of the turns that a person reviews."""
NEVER_PROPOSED: Final = "it was proposed for no turn"
IN_NO_REFERENCE: Final = "no turn's reference has it"


@dataclass(frozen=True)
class TagAgreement:
    """Agreement on one tag."""

    turns: int
    reference: int
    """Number of turns whose reference has it."""
    proposed: int
    """Number of turns for which it was proposed."""
    precision: Statistic
    """Share of the proposed turns whose reference has it."""
    recall: Statistic
    """Share of the turns whose reference has it for which it was proposed."""
    kappa: Statistic
    """Cohen's, between the tagger and the reference."""
    alpha: Statistic
    """Krippendorff's, nominal."""


def tag_agreement(reference: Bools, proposed: Bools, draws: Draws) -> TagAgreement:
    """The agreement on one tag.

    Args:
        reference: (N,) True for turns that have it.
        proposed: (N,) True for turns for which it was proposed.
        draws: Samples of the turns' videos.
    """
    first, second = reference.astype(np.float64), proposed.astype(np.float64)
    shared = first * second
    return TagAgreement(
        len(reference),
        int(reference.sum()),
        int(proposed.sum()),
        ratio_of_sums(shared, second, draws, reason=NEVER_PROPOSED),
        ratio_of_sums(shared, first, draws, reason=IN_NO_REFERENCE),
        cohen_kappa(first, second, draws),
        krippendorff_alpha(np.stack([first, second], axis=1), draws, scale="nominal"),
    )


def mean_kappa(reference: Bools, proposed: Bools) -> float | None:
    """Mean of Cohen's kappa over tags that some reference turns have and others do not; None without such a tag.

    Args:
        reference: (N, T) True where a turn has a tag.
        proposed: (N, T) True where a tag was proposed.
    """
    all_alike = draw_videos([""] * len(reference), resamples=0, seed=0)
    found = [
        cohen_kappa(truth.astype(np.float64), made.astype(np.float64), all_alike).value
        for truth, made in zip(reference.T, proposed.T, strict=True)
        if truth.any() and not truth.all()
    ]
    values = [value for value in found if value is not None]
    return sum(values) / len(values) if values else None


def mean_statistic(values: Floats, draws: Draws) -> Statistic:
    """The mean of (N,) values of turns."""
    return ratio_of_sums(values, np.ones_like(values), draws, reason=None)


def jaccard(reference: Bools, proposed: Bools) -> Floats:
    """(N,) Jaccard coefficients of (N, T) tags; 1 where neither has any.

    Reference:
        Jaccard, "The Distribution of the Flora in the Alpine Zone", New Phytologist 11, 1912.
    """
    either = (reference | proposed).sum(axis=1)
    shared = (reference & proposed).sum(axis=1)
    return np.where(either > 0, shared / np.maximum(either, 1), 1.0)


@dataclass(frozen=True)
class ReliabilityBin:
    """A bin of similar probabilities."""

    low: float
    high: float
    count: int
    said: float | None
    """Mean probability; None in an empty bin."""
    found: float | None
    """Share in which the tag applied; None in an empty bin."""


def brier_score(reference: Bools, probabilities: Floats) -> float:
    """Mean squared difference of probabilities and outcomes; 0 is best.

    Reference:
        Brier, "Verification of Forecasts Expressed in Terms of Probability", Monthly Weather Review 78, 1950.
    """
    return float(np.mean((probabilities - reference) ** 2))


def reliability_bins(reference: Bools, probabilities: Floats, *, bins: int = BINS) -> list[ReliabilityBin]:
    """Share in which tags applied, by bins of their probability; the arrays have the same shape."""
    said, found = probabilities.reshape(-1), reference.reshape(-1)
    place = np.minimum((said * bins).astype(np.intp), bins - 1)
    table = []
    for number in range(bins):
        inside = place == number
        count = int(inside.sum())
        means = (float(said[inside].mean()), float(found[inside].mean())) if count else (None, None)
        table.append(ReliabilityBin(number / bins, (number + 1) / bins, count, *means))
    return table


@dataclass(frozen=True)
class ReviewedShare:
    """Agreement after a person has corrected a share of the turns."""

    share: float
    turns: int
    kappa: float | None
    """Mean over the tags that the reference has."""
    exact: float
    """Share of turns with all tags right."""
    exact_at_random: float
    """Expected share if as many turns were picked at random."""


def review_curve(
    reference: Bools, proposed: Bools, order: Sequence[int], *, shares: Sequence[float] = REVIEWED
) -> list[ReviewedShare]:
    """Agreement after reviewing the most doubtful turns first, if the reviewer finds the reference tags.

    Args:
        reference: (N, T) True where a turn has a tag.
        proposed: (N, T) True where a tag was proposed.
        order: Indices of all N turns, the most doubtful first.
        shares: Shares of the turns that are reviewed.
    """
    found = []
    right = float((reference == proposed).all(axis=1).mean())
    for share in shares:
        count = round(share * len(order))
        looked_at = proposed.copy()
        looked_at[list(order[:count])] = reference[list(order[:count])]
        kappa = mean_kappa(reference, looked_at)
        exact = float((reference == looked_at).all(axis=1).mean())
        found.append(ReviewedShare(share, count, kappa, exact, right + (1 - right) * count / len(order)))
    return found
