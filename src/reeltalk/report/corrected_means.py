"""Models' means as a judge has them, as people have them, and corrected; and where references and floors stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.draws import draw_videos
from reeltalk.metrics.prediction_powered import Corrected, Estimated, corrected, rogan_gladen
from reeltalk.report.columns import share_of
from reeltalk.report.judge_values import RatedAnswer, Scorer
from reeltalk.report.verdicts import Place
from reeltalk.store.runs import Run

Floats = NDArray[np.float64]
Scale = tuple[float, float]


@dataclass(frozen=True)
class CorrectedMean:
    """One model's mean on people's scale."""

    model: str
    judged: int
    """Answers that the judge scored."""
    means: Corrected | None
    """None where people rated none of them."""


@dataclass(frozen=True)
class CorrectedShare:
    """One model's share of right answers, by a judge that passes or fails."""

    model: str
    judge: float
    """Share that the judge passes."""
    corrected: Corrected
    rogan_gladen: Estimated | None
    reason: str | None
    """Why there is no share from sensitivity and specificity."""


@dataclass(frozen=True)
class Landmark:
    """Where answers of known worth come to stand on a judge's scale."""

    name: str
    role: str
    """`reference`, `floor` or `model`."""
    share: float
    """Mean place on the judge's scale: 0 its lowest, 1 its highest."""
    low: float | None
    high: float | None
    n: int


def corrected_means(
    scorer: Scorer,
    answers: Mapping[Place, RatedAnswer],
    people: Mapping[Place, float],
    models: Sequence[str],
    *,
    scale: Scale,
    whole: bool,
) -> tuple[CorrectedMean, ...]:
    """Each model's mean three ways, on people's scale.

    Args:
        scorer: The judge; its scale is stretched onto that of people, end to end.
        answers: All answers.
        people: What people say, by answer.
        models: Which.
        scale: Of people.
        whole: True where people rated whole dialogues, False for turns.
    """
    own = scorer.scale or _span(scorer)
    width = own[1] - own[0] or 1.0
    found = []
    for model in models:
        places = _places(scorer, answers, model, whole)
        judged = np.array([scorer.values[place] for place in places])
        stretched = scale[0] + (judged - own[0]) / width * (scale[1] - scale[0])
        labels = np.array([people.get(place, np.nan) for place in places])
        videos = [answers[place].video_id for place in places]
        means = corrected(labels, stretched, np.isfinite(labels), videos, scale=scale) if places else None
        found.append(CorrectedMean(model, len(places), means))
    return tuple(found)


def corrected_shares(
    scorer: Scorer,
    answers: Mapping[Place, RatedAnswer],
    people: Mapping[Place, float],
    models: Sequence[str],
    *,
    people_pass: float,
    whole: bool,
) -> tuple[CorrectedShare, ...]:
    """Each model's share of right answers; nothing where the judge says more than pass or fail.

    Args:
        scorer: The judge.
        answers: All answers.
        people: What people say, by answer.
        models: Which.
        people_pass: From this value on people pass an answer.
        whole: True where people rated whole dialogues, False for turns.
    """
    if len(set(scorer.values.values())) != 2:
        return ()
    right = max(scorer.values.values())
    found = []
    for model in models:
        places = _places(scorer, answers, model, whole)
        has_label = np.array([place in people for place in places], np.bool_)
        if not has_label.any():
            continue
        judged = np.array([scorer.values[place] == right for place in places], np.bool_)
        labels = np.array([people.get(place, -np.inf) >= people_pass for place in places], np.bool_)
        videos = [answers[place].video_id for place in places]
        means = corrected(labels.astype(np.float64), judged.astype(np.float64), has_label, videos, scale=(0, 1))
        assert means is not None
        share, reason = rogan_gladen(labels, judged, has_label, videos)
        found.append(CorrectedShare(model, float(judged.mean()), means, share, reason))
    return tuple(found)


def _places(scorer: Scorer, answers: Mapping[Place, RatedAnswer], model: str, whole: bool) -> list[Place]:
    return [place for place in scorer.values if place[0] == model and place in answers and (place[2] is None) == whole]


def _span(scorer: Scorer) -> Scale:
    return min(scorer.values.values()), max(scorer.values.values())


def landmarks(
    scorer: Scorer,
    runs: Sequence[Run],
    answers: Mapping[Place, RatedAnswer],
    roles: Mapping[str, str],
    *,
    resamples: int,
    seed: int,
) -> tuple[Landmark, ...]:
    """Where references, floors and models come to stand on a judge's scale, the highest first.

    Args:
        scorer: The judge.
        runs: Of a floor that is judged only in passing, as the empty answers of every run, they hold a mean alone.
        answers: All answers.
        roles: What each model is: `reference`, `floor` or `model`.
        resamples: Draws of the videos behind each interval.
        seed: Of the draws.
    """
    scale = scorer.scale
    if scale is None:
        return ()
    found = []
    for model, role in roles.items():
        places = [place for place in scorer.values if place[0] == model and place in answers]
        if places:
            values = (np.array([scorer.values[place] for place in places]) - scale[0]) / (scale[1] - scale[0])
            draws = draw_videos([answers[place].video_id for place in places], resamples=resamples, seed=seed)
            sums = draws.summed(np.stack([values, np.ones_like(values)], axis=1))
            mean = draws.statistic(float(values.mean()), sums[:, 0] / np.maximum(sums[:, 1], 1))
            found.append(Landmark(model, role, float(values.mean()), mean.low, mean.high, len(places)))
        elif (only := _in_summary(scorer, runs, model, role)) is not None:
            found.append(only)
    return tuple(sorted(found, key=lambda one: (-one.share, one.name)))


def _in_summary(scorer: Scorer, runs: Sequence[Run], model: str, role: str) -> Landmark | None:
    protocol = scorer.protocol.replace("-", "_")
    names = {scorer.criterion, f"{scorer.protocol}.{scorer.criterion}", scorer.protocol, protocol}
    for run in runs:
        for row in run.summary:
            if row.model != model or row.metric not in names or row.value is None:
                continue
            if scorer.judge is not None and f"judge:{scorer.judge}" not in row.signature.split("|"):
                continue
            ends = [None if end is None else share_of(row.metric, end) for end in (row.value, row.low, row.high)]
            if ends[0] is not None:
                return Landmark(model, role, ends[0], ends[1], ends[2], row.n)
    return None
