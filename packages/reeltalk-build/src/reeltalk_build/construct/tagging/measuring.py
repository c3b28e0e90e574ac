"""Measures a tagger against turns with reference tags.

Reference tags are those that a person or a rule gave.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from reeltalk.errors import BenchmarkError
from reeltalk.metrics.draws import Statistic, draw_videos
from reeltalk.metrics.uncertainty import FEW_VIDEOS
from reeltalk_build.construct.tagging.turns import TurnTags, TurnToTag, known_vocabularies
from reeltalk_build.metrics.tag_agreement import (
    Bools,
    ReliabilityBin,
    ReviewedShare,
    TagAgreement,
    brier_score,
    jaccard,
    mean_kappa,
    mean_statistic,
    reliability_bins,
    review_curve,
    tag_agreement,
)


@dataclass(frozen=True)
class Measures:
    """Agreement of a tagger with reference tags."""

    tagger: str
    """Signature of the tagger."""
    turns: int
    videos: int
    untagged: int
    """Turns that it could not tag. No other number counts them."""
    tags: dict[str, dict[str, TagAgreement]]
    """By vocabulary and tag."""
    kappa: float | None
    """Mean over the tags that the reference has."""
    exact: dict[str, Statistic]
    """Share of turns with exactly the reference's tags, by vocabulary, and over `all` of them."""
    jaccard: dict[str, Statistic]
    """Mean share of tags in common, by vocabulary."""
    brier: float | None
    """Brier score over all tags; None for a tagger without probabilities."""
    brier_of_frequencies: float | None
    """Brier score of a baseline that predicts the frequency of each tag."""
    reliability: tuple[ReliabilityBin, ...]
    review: tuple[ReviewedShare, ...]
    """Effect of reviewing the most doubtful turns; empty for a tagger without probabilities."""

    def to_json(self) -> dict[str, Any]:
        """All numbers, not rounded."""
        return asdict(self)


def measure_tagger(
    turns: Sequence[TurnToTag],
    tagged: Sequence[TurnTags],
    *,
    tagger: str,
) -> Measures:
    """Compare proposed tags with reference tags.

    Args:
        turns: Turns with reference tags; others are ignored.
        tagged: Result of the tagger for each turn.
        tagger: Signature of the tagger.

    Raises:
        BenchmarkError: No turn has both reference and proposed tags.
    """
    vocabularies = known_vocabularies()
    pairs = [
        (asked, reference, made)
        for asked, made in zip(turns, tagged, strict=True)
        if (reference := asked.reference) is not None
    ]
    both = [pair for pair in pairs if pair[2].decisions]
    if not both:
        raise BenchmarkError("no turn has both reference tags and proposed ones; there is nothing to compare")
    videos = [asked.video_id for asked, _, _ in both]
    draws = draw_videos(videos)
    truth = _matrix([reference for _, reference, _ in both])
    found = _matrix([{name: made.decisions[name].tags for name in vocabularies} for _, _, made in both])
    names = [(vocabulary, tag) for vocabulary, tags in vocabularies.items() for tag in tags]
    columns = {name: [i for i, (vocabulary, _) in enumerate(names) if vocabulary == name] for name in vocabularies}
    by_tag: dict[str, dict[str, TagAgreement]] = {name: {} for name in vocabularies}
    for column, (vocabulary, tag) in enumerate(names):
        by_tag[vocabulary][tag] = tag_agreement(truth[:, column], found[:, column], draws)
    exact = {name: (truth[:, part] == found[:, part]).all(axis=1) for name, part in columns.items()}
    exact["all"] = (truth == found).all(axis=1)
    said = [pair for pair in both if pair[2].probabilities]
    brier = brier_base = None
    bins: tuple[ReliabilityBin, ...] = ()
    curve: tuple[ReviewedShare, ...] = ()
    if len(said) == len(both):
        values = np.array([[made.probabilities[name][tag] for name, tag in names] for _, _, made in both])
        brier, bins = brier_score(truth, values), tuple(reliability_bins(truth, values))
        brier_base = brier_score(truth, np.broadcast_to(truth.mean(axis=0), truth.shape))
        order = sorted(range(len(both)), key=lambda place: (both[place][2].margin or 0.0, place))
        curve = tuple(review_curve(truth, found, order))
    return Measures(
        tagger,
        len(both),
        len(set(videos)),
        len(pairs) - len(both),
        by_tag,
        mean_kappa(truth, found),
        {k: mean_statistic(v.astype(np.float64), draws) for k, v in exact.items()},
        {name: mean_statistic(jaccard(truth[:, part], found[:, part]), draws) for name, part in columns.items()},
        brier,
        brier_base,
        bins,
        curve,
    )


def _matrix(tags: Sequence[dict[str, tuple[str, ...]]]) -> Bools:
    """(N, T) booleans: turn n carries tag t."""
    known = known_vocabularies()
    rows = [[tag in given[name] for name, part in known.items() for tag in part] for given in tags]
    return np.array(rows, dtype=bool)


def format_statistic(statistic: Statistic) -> str:
    """A value with its interval, for example 0.912 [0.88, 0.94]; a dash if it is undefined."""
    if statistic.value is None:
        return "–"
    if statistic.low is None or statistic.high is None:
        return f"{statistic.value:.3f}"
    return f"{statistic.value:.3f} [{statistic.low:.2f}, {statistic.high:.2f}]"


def format_measures(measures: Measures) -> Iterator[str]:
    """The measures as lines of a table."""
    yield f"{measures.turns:,} turns of {measures.videos:,} videos, by {measures.tagger}"
    if measures.untagged:
        yield f"{measures.untagged:,} turns more were not tagged; no number below counts them"
    if measures.videos < 2:
        yield "one video alone gives no interval"
    elif measures.videos < FEW_VIDEOS:
        yield f"intervals are rough: {measures.videos} videos"
    yield (
        f"{'':<14}{'reference':>10}{'proposed':>10}  {'precision':<22}{'recall':<22}"
        f"{'Cohen kappa':<22}{'Krippendorff alpha':<22}"
    ).rstrip()
    for vocabulary, tags in measures.tags.items():
        yield vocabulary
        for tag, found in tags.items():
            values = (found.precision, found.recall, found.kappa, found.alpha)
            numbers = "".join(f"{format_statistic(value):<22}" for value in values)
            yield f"  {tag:<12}{found.reference:>10,}{found.proposed:>10,}  {numbers}".rstrip()
    kappa = "–" if measures.kappa is None else f"{measures.kappa:.3f}"
    yield f"mean kappa over the tags that the reference has: {kappa}"
    for name, exact in measures.exact.items():
        tail = f", Jaccard {format_statistic(measures.jaccard[name])}" if name in measures.jaccard else ""
        yield f"exactly the reference's tags, {name}: {format_statistic(exact)}{tail}"
    if measures.brier is None:
        yield "the tagger does not say how sure it is: no calibration, no order of review"
        return
    yield f"Brier score {measures.brier:.4f}; {measures.brier_of_frequencies:.4f} for frequencies alone"
    yield "said to be likely by, and found:"
    for part in measures.reliability:
        if part.said is not None:
            said = f"said {part.said:.3f}, found {part.found:.3f}"
            yield f"  {part.low:.1f} to {part.high:.1f}: {said}, {part.count:,} times"
    yield "if a person puts the most doubtful turns right:"
    for row in measures.review:
        kappa = "–" if row.kappa is None else f"{row.kappa:.3f}"
        yield (
            f"  {100 * row.share:>3.0f} % ({row.turns:,} turns): mean kappa {kappa}, all tags right {row.exact:.3f} "
            f"({row.exact_at_random:.3f} if picked at random)"
        )
