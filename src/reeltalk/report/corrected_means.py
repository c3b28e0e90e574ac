"""Models' means as a judge has them, as people have them, and corrected; and where references and floors stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.prediction_powered import CorrectedInterval, corrected_interval
from reeltalk.metrics.uncertainty import MeanInterval, mean_interval
from reeltalk.report.columns import share_of
from reeltalk.report.judge_values import RatedAnswer, Scorer
from reeltalk.report.verdicts import Place
from reeltalk.store.runs import Run

Floats = NDArray[np.float64]
Scale = tuple[float, float]

ONE_RATING: Final = "people gave one rating only, so their scale is not known; give it with --scale LOW:HIGH"


@dataclass(frozen=True)
class CorrectedMean:
    """One model's mean, or its share of right answers, from a judge, from people, and from both."""

    model: str
    judged: int
    """Answers that the judge scored."""
    judge: float | None
    """The judge's mean over all of them, stretched onto people's scale; None where it scored none."""
    people: MeanInterval | None
    """From the labels alone; None where there are none."""
    corrected: CorrectedInterval

    @property
    def worth(self) -> float | None:
        """How many labels alone would give an interval as narrow; None without two intervals."""
        people, both = self.people, self.corrected
        if people is None or people.low is None or people.high is None or both.low is None or both.high is None:
            return None
        return None if both.bound else both.n * ((people.high - people.low) / (both.high - both.low)) ** 2


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
        scorer: The judge; for its own mean its scale is stretched onto that of people, end to end.
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
        judged = np.array([scorer.values[place] for place in places], np.float64)
        stretched = scale[0] + (judged - own[0]) / width * (scale[1] - scale[0])
        labels = np.array([people.get(place, np.nan) for place in places], np.float64)
        found.append(_corrected(model, stretched, labels, [answers[place].video_id for place in places], scale))
    return tuple(found)


def corrected_shares(
    scorer: Scorer,
    answers: Mapping[Place, RatedAnswer],
    people: Mapping[Place, float],
    models: Sequence[str],
    *,
    people_pass: float,
    whole: bool,
) -> tuple[CorrectedMean, ...]:
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
        judged = np.array([scorer.values[place] == right for place in places], np.float64)
        labels = np.array([float(people[place] >= people_pass) if place in people else np.nan for place in places])
        found.append(_corrected(model, judged, labels, [answers[place].video_id for place in places], (0.0, 1.0)))
    return tuple(found)


def _corrected(model: str, judged: Floats, labels: Floats, videos: Sequence[str], scale: Scale) -> CorrectedMean:
    rated = np.isfinite(labels)
    judge = float(judged.mean()) if len(judged) else None
    rated_videos = [video for video, has in zip(videos, rated.tolist(), strict=True) if has]
    if not scale[0] < scale[1]:
        n, clusters, value = len(rated_videos), len(set(rated_videos)), scale[0]
        both = CorrectedInterval(value, None, None, None, n, clusters, len(set(videos)), ONE_RATING, 0, 0)
        return CorrectedMean(model, len(judged), judge, MeanInterval(value, None, None, n, clusters), both)
    both = corrected_interval(labels, judged, rated, videos, scale)
    alone = mean_interval(labels[rated], rated_videos, scale) if rated_videos else None
    return CorrectedMean(model, len(judged), judge, alone, both)


def _places(scorer: Scorer, answers: Mapping[Place, RatedAnswer], model: str, whole: bool) -> list[Place]:
    return [place for place in scorer.values if place[0] == model and place in answers and (place[2] is None) == whole]


def _span(scorer: Scorer) -> Scale:
    return min(scorer.values.values()), max(scorer.values.values())


def landmarks(
    scorer: Scorer,
    runs: Sequence[Run],
    answers: Mapping[Place, RatedAnswer],
    roles: Mapping[str, str],
) -> tuple[Landmark, ...]:
    """Where references, floors and models come to stand on a judge's scale, the highest first.

    Args:
        scorer: The judge.
        runs: Of a floor that is judged only in passing, as the empty answers of every run, they hold a mean alone.
        answers: All answers.
        roles: What each model is: `reference`, `floor` or `model`.
    """
    scale = scorer.scale
    if scale is None:
        return ()
    found = []
    for model, role in roles.items():
        places = [place for place in scorer.values if place[0] == model and place in answers]
        if places:
            values = (np.array([scorer.values[place] for place in places]) - scale[0]) / (scale[1] - scale[0])
            mean = mean_interval(values, [answers[place].video_id for place in places], (0.0, 1.0))
            found.append(Landmark(model, role, mean.value, mean.low, mean.high, mean.n))
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
