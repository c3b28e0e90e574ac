"""Profiles of models: weighted achievement at each tag and label, strengths and weaknesses, with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from reeltalk.analysis.estimates import FEW_TURNS, Estimate
from reeltalk.analysis.turn_scores import Flags, Floats, TaggedTurns
from reeltalk.metrics.correlation import correlation
from reeltalk.metrics.profile import RARE_PERCENT, TAGS
from reeltalk.metrics.significance import correct_p_values
from reeltalk.metrics.uncertainty import ClusteredEstimate, mean_interval, measure_interval, paired_difference
from reeltalk.schema.labels import Content, Target, Thinking

PERCENT: Final = 100.0
SCALE: Final = (0.0, PERCENT)
COMPONENTS: Final = (
    ("Target", tuple(tag.value for tag in Target)),
    ("Content", tuple(tag.value for tag in Content)),
    ("Thinking", tuple(tag.value for tag in Thinking)),
)
"""The three radars: target, content and thinking of a question."""


@dataclass(frozen=True)
class Deviation:
    """Difference between a group and all turns in percentage points, with its interval."""

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
    """Share of the possible points by tag, in per cent."""
    unweighted: Mapping[str, Estimate | None]
    """Mean credit by tag."""
    overall: Estimate | None
    """Mean credit of all its tagged turns."""
    tagged_turns: int
    """Number of tagged turns that it was asked."""
    rank_correlation: float | None
    """Spearman's rho between frequency of tags and achievement at them."""
    labels: Mapping[str, Mapping[str, Estimate | None]]
    """Mean credit by vocabulary and label, over all turns, tagged or not."""
    strengths: tuple[Deviation, ...]
    """Tags and labels on at least 30 turns with better scores than overall; the largest difference first."""
    weaknesses: tuple[Deviation, ...]


@dataclass(frozen=True)
class Frequency:
    """Number and share of tagged questions with a tag."""

    questions: int
    percent: float | None
    """None if no question has any tag."""

    @property
    def rare(self) -> bool:
        """True for a tag on some, but less than 5 % of the questions."""
        return self.percent is not None and 0 < self.percent < RARE_PERCENT


@dataclass(frozen=True)
class TagDifference:
    """Achievement of one model minus another at a tag, on the turns that both have a score for."""

    tag: str
    found: Estimate | None
    """The difference in percentage points; None without common turns."""
    corrected: float | None
    """p, corrected for 19 comparisons by Holm's method."""

    @property
    def differs(self) -> bool:
        """True if the corrected p is significant."""
        return self.corrected is not None and self.corrected < 0.05


@dataclass(frozen=True)
class Matrix:
    """Achievement by tag and by label of another vocabulary."""

    vocabulary: str
    labels: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Estimate | None, ...]], ...]
    """By tag; None if no turn with both has a score."""


def frequencies(turns: TaggedTurns) -> dict[str, Frequency]:
    """Frequency of each of the 19 tags among tagged questions; the shares add up to more than 100."""
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
    """Weighted achievement of a model minus another at each tag, over the turns that both have a score for."""
    found = [
        (
            tag,
            None
            if any(turns.withheld(model, turns.tags[:, place]) for model in (one, two))
            else _difference(turns, tag, place, one, two),
        )
        for place, tag in enumerate(TAGS)
    ]
    tested = {tag: made.p for tag, made in found if made is not None and made.p is not None}
    p = dict(zip(tested, correct_p_values(list(tested.values())), strict=True))
    return [
        TagDifference(
            tag,
            None if made is None else Estimate(made.value, made.low, made.high, made.items, made.clusters),
            p.get(tag),
        )
        for tag, made in found
    ]


def matrix_of(turns: TaggedTurns, vocabulary: str, one: int, two: int | None = None) -> Matrix:
    """Weighted achievement by tag and label, or the difference of two models on turns with a score of both."""
    groups = turns.groups[vocabulary]
    labels = tuple(groups)
    rows = []
    for place, tag in enumerate(TAGS):
        at = turns.at_tag(tag)
        kept = turns.tags[:, place] & ~np.isnan(at[:, one] if two is None else at[:, one] - at[:, two])
        pair = [one] if two is None else [one, two]
        cells = [
            None
            if any(turns.withheld(model, turns.tags[:, place] & groups[label]) for model in pair)
            else _weighted_mean(turns, at[:, one], turns.weights, kept & groups[label])
            if two is None
            else _weighted_difference(turns, at[:, one], at[:, two], kept & groups[label])
            for label in labels
        ]
        rows.append((tag, tuple(cells)))
    return Matrix(vocabulary, labels, tuple(rows))


def best_of(profiles: Sequence[ModelProfile], among: Sequence[int]) -> int | None:
    """The model with the highest mean credit."""
    known = [(found.overall.value, -index) for index in among if (found := profiles[index]).overall is not None]
    return -max(known)[1] if known else None


def _profile(turns: TaggedTurns, often: Mapping[str, Frequency], model: int) -> ModelProfile:
    weighted: dict[str, Estimate | None] = {}
    unweighted: dict[str, Estimate | None] = {}
    for place, tag in enumerate(TAGS):
        credit = turns.at_tag(tag)[:, model]
        kept = turns.tags[:, place] & ~np.isnan(credit)
        withheld = turns.withheld(model, turns.tags[:, place])
        weighted[tag] = None if withheld else _weighted_mean(turns, credit, turns.weights, kept)
        unweighted[tag] = None if withheld else _weighted_mean(turns, credit, np.ones_like(credit), kept)
    credit = turns.credit[:, model]
    kept = turns.tagged & ~np.isnan(credit)
    pairs = [(share.percent, found.value) for tag, share in often.items() if (found := weighted[tag]) and share.percent]
    labels, deviations = _labels(turns, model)
    return ModelProfile(
        index=model,
        weighted=weighted,
        unweighted=unweighted,
        overall=None
        if turns.withheld(model, turns.tagged)
        else _weighted_mean(turns, credit, np.ones_like(credit), kept),
        tagged_turns=int((turns.tagged & turns.due[:, model]).sum()),
        rank_correlation=correlation("spearman", np.array([a for a, _ in pairs]), np.array([b for _, b in pairs]))[0],
        labels=labels,
        strengths=tuple(
            sorted((d for d in deviations if d.low > 0 and d.n >= FEW_TURNS), key=lambda d: (-d.value, d.label))
        ),
        weaknesses=tuple(
            sorted((d for d in deviations if d.high < 0 and d.n >= FEW_TURNS), key=lambda d: (d.value, d.label))
        ),
    )


def _weighted_mean(turns: TaggedTurns, credit: Floats, weights: Floats, kept: Flags) -> Estimate | None:
    """Share of the possible points in per cent over some turns, with its interval; None without turns."""
    rows = np.flatnonzero(kept)
    if not len(rows):
        return None
    found = mean_interval(credit[rows] * PERCENT, turns.video_codes[rows], SCALE, weights=weights[rows])
    return Estimate(found.value, found.low, found.high, found.n, found.clusters)


def _weighted_difference(turns: TaggedTurns, one: Floats, two: Floats, kept: Flags) -> Estimate | None:
    """Difference of two models in points over some turns, with its interval; None without turns."""
    rows = np.flatnonzero(kept)
    if not len(rows):
        return None
    found = paired_difference(
        one[rows] * PERCENT, two[rows] * PERCENT, turns.weights[rows], turns.video_codes[rows], SCALE
    )
    return Estimate(found.value, found.low, found.high, found.items, found.clusters)


def _labels(turns: TaggedTurns, model: int) -> tuple[dict[str, dict[str, Estimate | None]], list[Deviation]]:
    """Mean credit by label; and the difference of each tag and label from the mean of its kind of turns."""
    credit = turns.credit[:, model]
    known = ~np.isnan(credit)
    labels: dict[str, dict[str, Estimate | None]] = {}
    deviations: list[Deviation] = []
    for place, tag in enumerate(TAGS):
        flags = turns.tags[:, place]
        if turns.withheld(model, flags):
            continue
        deviations += _deviation(turns, "cogme", tag, turns.at_tag(tag)[:, model], flags, credit, turns.tagged & known)
    for vocabulary, groups in turns.groups.items():
        # If only some turns have a vocabulary, its labels are compared with these turns only.
        whole = known & np.column_stack(list(groups.values())).any(axis=1)
        labels[vocabulary] = {}
        for label, flags in groups.items():
            if turns.withheld(model, flags):
                labels[vocabulary][label] = None
                continue
            labels[vocabulary][label] = _weighted_mean(turns, credit, np.ones_like(credit), flags & known)
            deviations += _deviation(turns, vocabulary, label, credit, flags, credit, whole)
    return labels, deviations


def _deviation(
    turns: TaggedTurns, vocabulary: str, label: str, at: Floats, flags: Flags, credit: Floats, whole: Flags
) -> list[Deviation]:
    """Difference between the mean over a group and over all, if it has an interval; else empty."""
    inside = flags & whole & ~np.isnan(at)
    if not inside.any():
        return []
    rows = np.flatnonzero(whole)
    statistics = np.column_stack([np.where(inside, at, 0.0), inside, np.where(whole, credit, 0.0), whole])[rows].astype(
        np.float64
    )
    found = measure_interval(statistics, turns.video_codes[rows], _apart)
    if found.low is None or found.high is None or len(np.unique(turns.video_codes[np.flatnonzero(inside)])) < 2:
        return []
    low, high = max(found.low, -PERCENT), min(found.high, PERCENT)
    return [Deviation(vocabulary, label, found.value, low, high, int(inside.sum()))]


def _apart(sums: Floats, _: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        far: Floats = PERCENT * (sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3])
    return far


def _difference(turns: TaggedTurns, tag: str, place: int, one: int, two: int) -> ClusteredEstimate | None:
    at: Floats = turns.at_tag(tag) * PERCENT
    rows = np.flatnonzero(turns.tags[:, place] & ~np.isnan(at[:, one]) & ~np.isnan(at[:, two]))
    if not len(rows):
        return None
    return paired_difference(at[rows, one], at[rows, two], turns.weights[rows], turns.video_codes[rows], SCALE)
