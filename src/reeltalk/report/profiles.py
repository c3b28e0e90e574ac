"""Profiles of all models: achievement at CogME's 19 tags and at other labels, with intervals clustered by video.

Nothing here draws or writes. A tag that no question carries has no value, and a tag on which a model has no score has
none for that model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.clustered import ClusteredEstimate
from reeltalk.metrics.multiple import corrected
from reeltalk.metrics.profile import RARE_PERCENT, TAGS, profile
from reeltalk.metrics.ratios import (
    by_cluster,
    intervals,
    paired_difference,
    rank_correlation,
    resampled_ratios,
)
from reeltalk.metrics.resampling import cluster_bootstrap
from reeltalk.report.figures import FEW, Estimate
from reeltalk.report.tagged import Flags, Floats, TaggedTurns
from reeltalk.schema.labels import Content, Target, Thinking

RESAMPLES: Final = 1000
SEED: Final = 17
"""Both as `reeltalk evaluate` has them, so that a run's own numbers by tag and a profile of it agree."""
PERCENT: Final = 100.0
COMPONENTS: Final = (
    ("Target", tuple(tag.value for tag in Target)),
    ("Content", tuple(tag.value for tag in Content)),
    ("Thinking", tuple(tag.value for tag in Thinking)),
)
"""The three radars: what a question is about, what it asks of that, and how far one must think."""


@dataclass(frozen=True)
class Deviation:
    """How far a part lies from the whole, in percentage points, with an interval of that difference."""

    vocabulary: str
    label: str
    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class ModelProfile:
    """One model's profile."""

    index: int
    """Its place on the leaderboard."""
    weighted: Mapping[str, Estimate | None]
    """Points earned of points possible by tag, in per cent."""
    unweighted: Mapping[str, Estimate | None]
    """Mean credit by tag."""
    overall: Estimate | None
    """Mean credit of all its tagged turns."""
    asked: int
    """Tagged turns that it was asked."""
    rank_correlation: float | None
    """Spearman's, between how frequent tags are and what it achieves at them."""
    labels: Mapping[str, Mapping[str, Estimate | None]]
    """Mean credit by vocabulary and label, over all turns, tagged or not."""
    strengths: tuple[Deviation, ...]
    """Tags and labels on at least 30 turns at which it does better than in all; the furthest first."""
    weaknesses: tuple[Deviation, ...]


@dataclass(frozen=True)
class Frequency:
    """How many of the tagged questions carry a tag."""

    questions: int
    percent: float | None
    """None where no question carries any tag."""

    @property
    def rare(self) -> bool:
        """True for a tag that occurs, but on less than 5 % of the questions."""
        return self.percent is not None and 0 < self.percent < RARE_PERCENT


@dataclass(frozen=True)
class TagDifference:
    """What one model achieves more than another at a tag, on the turns that both have a score for."""

    tag: str
    found: Estimate | None
    """None where both have no turn in common; in percentage points."""
    corrected: float | None
    """p among 19 comparisons, after Holm."""

    @property
    def differs(self) -> bool:
        """True where chance alone would hardly have any of the 19 differ like this."""
        return self.corrected is not None and self.corrected < 0.05


@dataclass(frozen=True)
class Matrix:
    """Tags joined with the labels of another vocabulary."""

    vocabulary: str
    labels: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Estimate | None, ...]], ...]
    """By tag; None where no turn that carries both has a score."""


def frequencies(turns: TaggedTurns) -> dict[str, Frequency]:
    """How frequent each of the 19 tags is among all tagged questions; the shares add up to more than 100."""
    total = int(turns.tagged.sum())
    counts = turns.tags.sum(axis=0)
    return {
        tag: Frequency(int(count), PERCENT * int(count) / total if total else None)
        for tag, count in zip(TAGS, counts, strict=True)
    }


def model_profiles(turns: TaggedTurns) -> list[ModelProfile]:
    """The profile of every model, in the leaderboard's order."""
    often = frequencies(turns)
    return [_profile(turns, often, model) for model in range(turns.credit.shape[1])]


def tag_differences(turns: TaggedTurns, one: int, two: int) -> list[TagDifference]:
    """What a model achieves more than another at each tag, weighted, over the turns that both have a score for.

    Args:
        turns: All turns.
        one: Place of the first model.
        two: Place of the second.
    """
    found = [(tag, _difference(turns, tag, place, one, two)) for place, tag in enumerate(TAGS)]
    tested = {tag: made.p for tag, made in found if made is not None and made.p is not None}
    p = dict(zip(tested, corrected(list(tested.values())), strict=True))
    return [
        TagDifference(tag, None if made is None else Estimate(made.value, made.low, made.high, made.items), p.get(tag))
        for tag, made in found
    ]


def matrix_of(turns: TaggedTurns, vocabulary: str, one: int, two: int | None = None) -> Matrix:
    """Weighted achievement at each tag among the turns of each label, or how far two models are apart there.

    Args:
        turns: All turns.
        vocabulary: Whose labels are the columns.
        one: Place of a model.
        two: Place of another, to subtract: over the turns that both have a score for.
    """
    groups = turns.groups[vocabulary]
    labels = tuple(groups)
    flags = np.column_stack([groups[label] for label in labels])
    places, names = _video_places(turns)
    cells = []
    for place, tag in enumerate(TAGS):
        at = turns.at_tag(tag)
        value = at[:, one] if two is None else at[:, one] - at[:, two]
        kept = turns.tags[:, place] & ~np.isnan(value)
        weight = np.where(kept, turns.weights, 0.0)[:, None] * flags
        earned = weight * np.where(kept, value, 0.0)[:, None]
        cells.append(_estimates(earned, weight, places, len(names)))
    return Matrix(vocabulary, labels, tuple(zip(TAGS, map(tuple, cells), strict=True)))


def best_of(profiles: Sequence[ModelProfile], among: Sequence[int]) -> int | None:
    """The model with the highest mean credit.

    Args:
        profiles: Of all models.
        among: Which count.
    """
    known = [(found.overall.value, -index) for index in among if (found := profiles[index]).overall is not None]
    return -max(known)[1] if known else None


def _profile(turns: TaggedTurns, often: Mapping[str, Frequency], model: int) -> ModelProfile:
    mine = profile(turns.answers(model))
    weighted: dict[str, Estimate | None] = {}
    unweighted: dict[str, Estimate | None] = {}
    for place, tag in enumerate(TAGS):
        credit = turns.at_tag(tag)[:, model]
        kept = turns.tags[:, place] & ~np.isnan(credit)
        weighted[tag] = _by_bootstrap(turns, credit, turns.weights, kept, mine.weighted[tag])
        unweighted[tag] = _by_bootstrap(turns, credit, np.ones_like(credit), kept, mine.unweighted[tag])
    credit = turns.credit[:, model]
    kept = turns.tagged & ~np.isnan(credit)
    pairs = [(share.percent, found.value) for tag, share in often.items() if (found := weighted[tag]) and share.percent]
    labels, deviations = _labels(turns, model)
    return ModelProfile(
        index=model,
        weighted=weighted,
        unweighted=unweighted,
        overall=_by_bootstrap(turns, credit, np.ones_like(credit), kept, mine.accuracy),
        asked=int((turns.tagged & turns.asked[:, model]).sum()),
        rank_correlation=rank_correlation([a for a, _ in pairs], [b for _, b in pairs]),
        labels=labels,
        strengths=tuple(sorted((d for d in deviations if d.low > 0 and d.n >= FEW), key=lambda d: (-d.value, d.label))),
        weaknesses=tuple(
            sorted((d for d in deviations if d.high < 0 and d.n >= FEW), key=lambda d: (d.value, d.label))
        ),
    )


def _by_bootstrap(
    turns: TaggedTurns, credit: Floats, weights: Floats, kept: Flags, value: float | None
) -> Estimate | None:
    """A ratio of sums with its interval, as an evaluated run has it: only videos that hold the tag are drawn."""
    if value is None:
        return None
    rows = np.flatnonzero(kept)
    statistics = np.column_stack([weights[rows] * credit[rows] * PERCENT, weights[rows]])
    clusters = [turns.videos[row] for row in rows]
    found = cluster_bootstrap(statistics, clusters, _ratio, resamples=RESAMPLES, seed=SEED)
    low, high = (found.low, found.high) if found is not None else (None, None)
    return Estimate(value, low, high, len(rows))


def _ratio(sums: Floats, _: Floats) -> Floats:
    return sums[:, 0] / sums[:, 1]


def _labels(turns: TaggedTurns, model: int) -> tuple[dict[str, dict[str, Estimate | None]], list[Deviation]]:
    """Mean credit by label; and how far each tag and label lies from the mean of its own kind of turns."""
    places, names = _video_places(turns)
    credit = turns.credit[:, model]
    known = ~np.isnan(credit)
    filled = np.where(known, credit, 0.0)
    labels: dict[str, dict[str, Estimate | None]] = {}
    deviations: list[Deviation] = []
    if turns.tags.any():
        at = np.column_stack([np.where(known, turns.at_tag(tag)[:, model], 0.0) for tag in TAGS])
        _, apart = _against_whole(at, turns.tags, filled, turns.tagged & known, places, len(names))
        deviations += [Deviation("cogme", tag, *found) for tag, found in zip(TAGS, apart, strict=True) if found]
    for vocabulary, groups in turns.groups.items():
        flags = np.column_stack(list(groups.values()))
        at = np.repeat(filled[:, None], flags.shape[1], axis=1)
        # A vocabulary that only some turns have is compared with those, not with turns of another kind.
        estimates, apart = _against_whole(at, flags, filled, known & flags.any(axis=1), places, len(names))
        labels[vocabulary] = dict(zip(groups, estimates, strict=True))
        pairs = zip(groups, apart, strict=True)
        deviations += [Deviation(vocabulary, label, *found) for label, found in pairs if found]
    return labels, deviations


def _against_whole(
    at: Floats, flags: Flags, credit: Floats, whole: Flags, places: NDArray[np.int64], count: int
) -> tuple[list[Estimate | None], list[tuple[float, float, float, int] | None]]:
    """Means over groups; and their differences from the mean of all, where their interval can be told."""
    possible = (flags & whole[:, None]).astype(np.float64)
    earned = np.column_stack([at * possible, credit * whole])
    possible = np.column_stack([possible, whole.astype(np.float64)])
    below, above = by_cluster(possible, places, count), by_cluster(earned, places, count)
    samples = resampled_ratios(above, below, resamples=RESAMPLES, seed=SEED)
    present = (below > 0).sum(axis=0)
    own, apart = intervals(samples, present), intervals(samples - samples[:, -1:], present)
    n = possible.sum(axis=0)
    means = [float(a / b) if b else None for a, b in zip(earned.sum(axis=0), n, strict=True)]
    estimates: list[Estimate | None] = []
    differences: list[tuple[float, float, float, int] | None] = []
    for mean, ends, off, items in zip(means[:-1], own, apart, n, strict=False):
        if mean is None or means[-1] is None:
            estimates.append(None)
            differences.append(None)
            continue
        estimates.append(_percent(mean, ends, int(items)))
        far = PERCENT * (mean - means[-1])
        differences.append((far, PERCENT * off[0], PERCENT * off[1], int(items)) if off is not None else None)
    return estimates, differences


def _estimates(earned: Floats, weight: Floats, places: NDArray[np.int64], count: int) -> list[Estimate | None]:
    below, above = by_cluster(weight, places, count), by_cluster(earned, places, count)
    samples = resampled_ratios(above, below, resamples=RESAMPLES, seed=SEED)
    ends = intervals(samples, (below > 0).sum(axis=0))
    totals, items = weight.sum(axis=0), (weight > 0).sum(axis=0)
    return [
        _percent(float(above_sum / total), found, int(n)) if n else None
        for above_sum, total, found, n in zip(earned.sum(axis=0), totals, ends, items, strict=True)
    ]


def _percent(share: float, ends: tuple[float, float] | None, n: int) -> Estimate:
    low, high = (PERCENT * ends[0], PERCENT * ends[1]) if ends is not None else (None, None)
    return Estimate(PERCENT * share, low, high, n)


def _difference(turns: TaggedTurns, tag: str, place: int, one: int, two: int) -> ClusteredEstimate | None:
    at: Floats = turns.at_tag(tag) * PERCENT
    rows = np.flatnonzero(turns.tags[:, place] & ~np.isnan(at[:, one]) & ~np.isnan(at[:, two]))
    if not len(rows):
        return None
    return paired_difference(
        at[rows, one],
        at[rows, two],
        turns.weights[rows],
        [turns.videos[row] for row in rows],
    )


def _video_places(turns: TaggedTurns) -> tuple[NDArray[np.int64], list[str]]:
    names, places = np.unique(np.asarray(turns.videos), return_inverse=True)
    return places.astype(np.int64), names.tolist()
