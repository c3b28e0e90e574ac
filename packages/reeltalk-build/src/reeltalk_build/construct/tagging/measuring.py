"""Measures a tagger against turns with reference tags: those that a person or a rule gave."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import BenchmarkError
from reeltalk.metrics.agreement import cohen_kappa
from reeltalk.metrics.draws import Draws, Statistic, draw_videos, ratio_of_sums
from reeltalk.metrics.uncertainty import FEW_VIDEOS
from reeltalk_build.construct.tagging.turns import TurnTags, TurnToTag, known_vocabularies

Bools = NDArray[np.bool_]
NEVER_PROPOSED: Final = "it was proposed for no turn"
IN_NO_REFERENCE: Final = "no turn's reference has it"


@dataclass(frozen=True)
class TagAgreement:
    """Agreement on one tag, with intervals clustered by video."""

    reference: int
    """Number of turns whose reference has it."""
    proposed: int
    """Number of turns for which it was proposed."""
    precision: Statistic
    recall: Statistic
    kappa: Statistic
    """Cohen's."""


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
    exact: dict[str, Statistic]
    """Share of turns with exactly the reference's tags, by vocabulary, and over `all` of them."""

    def to_json(self) -> dict[str, Any]:
        """All numbers, not rounded."""
        return asdict(self)


def measure_tagger(turns: Sequence[TurnToTag], tagged: Sequence[TurnTags], *, tagger: str) -> Measures:
    """Compare proposed tags with reference tags.

    Raises:
        BenchmarkError: No turn has both reference and proposed tags.
    """
    pairs = [
        (asked.video_id, reference, {name: decision.tags for name, decision in made.decisions.items()})
        for asked, made in zip(turns, tagged, strict=True)
        if (reference := asked.reference) is not None
    ]
    both = [pair for pair in pairs if pair[2]]
    if not both:
        raise BenchmarkError("no turn has both reference tags and proposed ones; there is nothing to compare")
    draws = draw_videos([video for video, _, _ in both])
    by_tag: dict[str, dict[str, TagAgreement]] = {}
    exact: dict[str, Bools] = {}
    for name, tags in known_vocabularies().items():
        truth = _matrix([reference[name] for _, reference, _ in both], tags)
        found = _matrix([made[name] for _, _, made in both], tags)
        by_tag[name] = {tag: tag_agreement(truth[:, n], found[:, n], draws) for n, tag in enumerate(tags)}
        exact[name] = (truth == found).all(axis=1)
    exact["all"] = np.all(list(exact.values()), axis=0)
    return Measures(
        tagger=tagger,
        turns=len(both),
        videos=draws.videos,
        untagged=len(pairs) - len(both),
        tags=by_tag,
        exact={
            name: ratio_of_sums(same.astype(np.float64), np.ones(len(both)), draws, reason=None)
            for name, same in exact.items()
        },
    )


def _matrix(given: Sequence[Sequence[str]], tags: Sequence[str]) -> Bools:
    """(N, T) booleans: turn n has tag t."""
    return np.array([[tag in own for tag in tags] for own in given], dtype=bool)


def tag_agreement(reference: Bools, proposed: Bools, draws: Draws) -> TagAgreement:
    """The agreement on one tag.

    Args:
        reference: (N,) True for turns that have it.
        proposed: (N,) True for turns for which it was proposed.
        draws: Samples of the turns' videos.
    """
    first, second = reference.astype(np.float64), proposed.astype(np.float64)
    return TagAgreement(
        reference=int(reference.sum()),
        proposed=int(proposed.sum()),
        precision=ratio_of_sums(first * second, second, draws, reason=NEVER_PROPOSED),
        recall=ratio_of_sums(first * second, first, draws, reason=IN_NO_REFERENCE),
        kappa=cohen_kappa(first, second, draws),
    )


def format_measures(measures: Measures) -> Iterator[str]:
    """The measures as lines of a table."""
    yield f"{measures.turns:,} turns of {measures.videos:,} videos, by {measures.tagger}"
    if measures.untagged:
        yield f"{measures.untagged:,} turns more were not tagged; no number below counts them"
    if measures.videos < 2:
        yield "one video alone gives no interval"
    elif measures.videos < FEW_VIDEOS:
        yield f"intervals are rough: {measures.videos} videos"
    yield f"{'':<14}{'reference':>10}{'proposed':>10}  {'precision':<22}{'recall':<22}Cohen's kappa"
    for vocabulary, tags in measures.tags.items():
        yield vocabulary
        for tag, found in tags.items():
            numbers = "".join(f"{_number(value):<22}" for value in (found.precision, found.recall, found.kappa))
            yield f"  {tag:<12}{found.reference:>10,}{found.proposed:>10,}  {numbers}".rstrip()
    for name, exact in measures.exact.items():
        yield f"exactly the reference's tags, {name}: {_number(exact)}"


def _number(statistic: Statistic) -> str:
    if statistic.value is None:
        return "–"
    if statistic.low is None or statistic.high is None:
        return f"{statistic.value:.3f}"
    return f"{statistic.value:.3f} [{statistic.low:.2f}, {statistic.high:.2f}]"
