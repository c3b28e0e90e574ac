"""Biases of a judge: length, position in the dialogue, place of the right option, and its own model family.

Each check is a correlation over answers, and the partial correlation given people's ratings, which shows the judge's
own bias. If nobody rated, the words shared with the reference take the place of ratings. These correlations use all
answers that a judge scored, often tens of thousands. So resamples of the videos keep the ranks among all answers; only
the intervals of the comparison with people rank again.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.analysis.judge_values import Flags, Floats, Scorer
from reeltalk.metrics.correlation import partial_correlation, spearman_of_held_ranks, undefined_reason
from reeltalk.metrics.draws import CORRELATION, Draws, Statistic, draw_videos

if TYPE_CHECKING:
    import polars as pl

NOT_INDEPENDENT: Final = "one of the two follows from what is held equal"


@dataclass(frozen=True)
class BiasCheck:
    """A property of answers that should not change their score."""

    what: str
    """`length`, `position` or `option`."""
    judge: Statistic
    """Spearman's rho of the judge's scores with the property, over all answers that it scored."""
    people: Statistic | None
    """The same for people's ratings, over the rated answers."""
    beyond_people: Statistic | None
    """The judge's partial correlation, given people's ratings."""
    beyond_overlap: Statistic | None
    """The judge's partial correlation, given the words shared with the reference, over all answers that it scored."""


@dataclass(frozen=True)
class SelfPreference:
    """Whether a judge prefers answers of its own model family."""

    family: str
    own: tuple[str, ...]
    """Models whose name has the name of the family."""
    difference: Statistic
    """How much more it gives them than people do, compared with the other models; in standard deviations."""


@dataclass(frozen=True)
class Noise:
    """Differences between rounds of one judge."""

    items: int
    """Answers with several rounds."""
    rounds_sd: float
    """Standard deviation between rounds, in points of the judge's scale."""
    answers_sd: float
    """Standard deviation between answers' means."""


@dataclass(frozen=True)
class Bias:
    """All bias checks of one judge."""

    checks: tuple[BiasCheck, ...]
    self_preference: SelfPreference | None
    noise: Noise | None


def bias(scorer: Scorer, answers: "pl.DataFrame", people: Floats, counted: Flags) -> Bias:
    """Check a judge for biases.

    Args:
        scorer: The judge.
        answers: All answers, as in `JudgedRuns`.
        people: (A,) people's ratings; NaN where there is none.
        counted: (A,) true for the answers that count.
    """
    rows = np.flatnonzero(counted & scorer.known)
    if not len(rows):
        return Bias((), None, None)
    judged, rated, shown = scorer.values[rows], people[rows], answers[rows]
    draws = draw_videos(shown["video_id"].to_list())
    traits = {"length": "words", "position": "turn_index", "option": "right_option"}
    checks = []
    for what, column in traits.items():
        trait = shown[column].cast(float).fill_null(np.nan).to_numpy()
        if np.isfinite(trait).sum() and np.ptp(trait[np.isfinite(trait)]) > 0:
            checks.append(_check(what, trait, judged, rated, shown["overlap"].to_numpy(), draws))
    names = shown["model"].to_numpy()
    rounds = [scorer.rounds[row] for row in rows.tolist() if row in scorer.rounds]
    return Bias(tuple(checks), _self_preference(scorer, names, judged, rated, draws), _noise(rounds))


def _check(what: str, trait: Floats, judged: Floats, rated: Floats, overlap: Floats, draws: Draws) -> BiasCheck:
    has_trait = np.isfinite(trait)
    labelled, covered = has_trait & np.isfinite(rated), has_trait & np.isfinite(overlap)
    return BiasCheck(
        what,
        _rank_correlation(judged, trait, has_trait, draws),
        _rank_correlation(rated, trait, labelled, draws) if labelled.any() else None,
        _beyond(judged, trait, rated, labelled, draws) if labelled.any() else None,
        _beyond(judged, trait, overlap, covered, draws) if covered.any() else None,
    )


def _rank_correlation(first: Floats, second: Floats, rows: NDArray[np.bool_], draws: Draws) -> Statistic:
    x, y, own = first[rows], second[rows], draws.subset(rows)
    reason = undefined_reason(x, y)
    if reason is not None:
        return own.statistic(None, None, reason=reason)
    value, drawn = spearman_of_held_ranks(x, y, own)
    return own.statistic(value, drawn, scale=CORRELATION)


def _beyond(judged: Floats, trait: Floats, held: Floats, rows: NDArray[np.bool_], draws: Draws) -> Statistic:
    """The partial rank correlation of judge and trait, given a third variable."""
    own = draws.subset(rows)
    pairs = ((judged[rows], trait[rows]), (judged[rows], held[rows]), (trait[rows], held[rows]))
    reason = next((why for x, y in pairs if (why := undefined_reason(x, y))), None)
    if reason is not None:
        return own.statistic(None, None, reason=reason)
    found = [spearman_of_held_ranks(x, y, own) for x, y in pairs]
    value = float(partial_correlation(*(np.array(rho) for rho, _ in found)))
    if not np.isfinite(value):
        return own.statistic(None, None, reason=NOT_INDEPENDENT)
    return own.statistic(value, partial_correlation(*(drawn for _, drawn in found)), scale=CORRELATION)


def family_of(judge: str) -> str | None:
    """The first word of a model's name, without its provider: of `openai/gpt-4o-mini` it is `gpt`."""
    name = re.split(r"[/:]", judge.lower())[-1]
    match = re.match(r"[a-z]{2,}", name)
    return match[0] if match else None


def _self_preference(
    scorer: Scorer, names: NDArray[np.object_], judged: Floats, rated: Floats, draws: Draws
) -> SelfPreference | None:
    family = family_of(scorer.judge) if scorer.judge else None
    rows = np.isfinite(rated)
    if family is None or not rows.any():
        return None
    names = names[rows]
    own = np.array([bool(re.search(rf"(?<![a-z]){re.escape(family)}(?![a-z])", name.lower())) for name in names])
    if not own.any() or own.all() or np.ptp(judged[rows]) == 0 or np.ptp(rated[rows]) == 0:
        return None
    gap = _standard(judged[rows]) - _standard(rated[rows])
    some = draws.subset(rows)
    drawn = None
    if some.videos > 1:
        sums = some.summed(np.stack([gap * own, own, gap * ~own, ~own], axis=1).astype(np.float64))
        counts = np.where(sums[:, [1, 3]] > 0, sums[:, [1, 3]], np.nan)
        drawn = sums[:, 0] / counts[:, 0] - sums[:, 2] / counts[:, 1]
    value = float(gap[own].mean() - gap[~own].mean())
    return SelfPreference(family, tuple(sorted(set(names[own].tolist()))), some.statistic(value, drawn))


def _standard(values: Floats) -> Floats:
    standard: Floats = (values - values.mean()) / values.std()
    return standard


def _noise(rounds: Sequence[Sequence[float]]) -> Noise | None:
    if not rounds:
        return None
    within = float(np.sqrt(np.mean([np.var(values, ddof=1) for values in rounds])))
    means = [float(np.mean(values)) for values in rounds]
    return Noise(len(rounds), within, float(np.std(means, ddof=1)) if len(means) > 1 else 0.0)
