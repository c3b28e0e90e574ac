"""Can you trust this judge? Judges, rules and text metrics compared with people who rated some of the same answers.

`calibrate` computes everything as plain data; pages, tables and files show it. Models' means are given by the judge, by
people, and corrected. Floors and references are not part of any correlation: a judge that only recognised these would
look good.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Annotated, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.analysis.agreement_levels import (
    MOST_CATEGORIES,
    Categories,
    Levels,
    agreement_categories,
    agreement_levels,
    pair_differences,
    replacement_test,
)
from reeltalk.analysis.columns import is_reference, share_of_scale
from reeltalk.analysis.human_ratings import HumanRating, HumanRatings
from reeltalk.analysis.judge_bias import Bias, bias
from reeltalk.analysis.judge_values import Flags, Floats, JudgedRuns, Kind, Scorer, comparable_scorers
from reeltalk.errors import SettingError
from reeltalk.metrics.agreement import SCALES, cohen_kappa, krippendorff_alpha, raw_agreement
from reeltalk.metrics.draws import Draws, Statistic, draw_videos, significant_differences
from reeltalk.metrics.prediction_powered import CorrectedInterval, corrected_interval
from reeltalk.metrics.uncertainty import MeanInterval, mean_interval
from reeltalk.schema.overview import HasOverview, Overview
from reeltalk.store.runs import Run

Ints = NDArray[np.intp]
Scale = tuple[float, float]

ONE_RATING: Final = "all ratings by people are equal, so their scale is unknown; give it with --scale LOW:HIGH"


@dataclass(frozen=True)
class CorrectedMean:
    """One model's mean, or its share of right answers, from a judge, from people, and from both."""

    model: str
    judged: int
    """Number of answers that the judge scored."""
    judge: float | None
    """The judge's mean over all of them, stretched onto people's scale; None if it scored none."""
    people: MeanInterval | None
    """The mean of the labels alone; None if there are none."""
    corrected: CorrectedInterval

    @property
    def worth(self) -> float | None:
        """Number of labels that would give an equally narrow interval alone; None without two intervals."""
        people, both = self.people, self.corrected
        if people is None or people.low is None or people.high is None or both.low is None or both.high is None:
            return None
        return None if both.bound else both.n * ((people.high - people.low) / (both.high - both.low)) ** 2


@dataclass(frozen=True)
class Landmark:
    """The position of references, floors or a model on a judge's scale."""

    name: str
    role: str
    """`reference`, `floor` or `model`."""
    share: float
    """Mean position on the judge's scale: 0 is its lowest value, 1 its highest."""
    low: float | None
    high: float | None
    n: int


def _corrected(model: str, judged: Floats, labels: Floats, videos: Sequence[str], scale: Scale) -> CorrectedMean:
    """One model's mean of the judge's values and of people's labels of the same answers, on one scale."""
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


def _in_summary(scorer: Scorer, runs: Sequence[Run], model: str, role: str) -> Landmark | None:
    protocol = scorer.protocol.replace("-", "_")
    names = {scorer.criterion, f"{scorer.protocol}.{scorer.criterion}", scorer.protocol, protocol}
    for run in runs:
        for row in run.summary:
            if row.model != model or row.metric not in names or row.value is None:
                continue
            if scorer.judge is not None and f"judge:{scorer.judge}" not in row.signature.split("|"):
                continue
            ends = [None if end is None else share_of_scale(row.metric, end) for end in (row.value, row.low, row.high)]
            if ends[0] is not None:
                return Landmark(model, role, ends[0], ends[1], ends[2], row.n)
    return None


RESAMPLES: Final = 1000
SEED: Final = 17


class CalibrationSettings(BaseModel):
    """Settings of the comparison of judges with people."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    resamples: Annotated[int, Field(ge=100, le=100_000)] = RESAMPLES
    """Number of resamples of videos behind each interval."""
    seed: Annotated[int, Field(ge=0)] = SEED
    scale: tuple[float, float] | None = None
    """People's scale; by default the range of their ratings."""
    people_pass: float | None = None
    """People pass an answer from this value; by default the middle of their scale."""
    passes: dict[str, float] = Field(default_factory=dict)
    """Pass marks of judges by protocol, criterion or metric, if they differ from the known ones."""

    @model_validator(mode="after")
    def _scale_goes_up(self) -> "CalibrationSettings":
        if self.scale is not None and not self.scale[0] < self.scale[1]:
            raise ValueError("a scale goes from a lower to a higher number")
        return self


@dataclass(frozen=True)
class AgreementPair:
    """Agreement of two people."""

    first: str
    """Name of a person."""
    second: str
    """Name of another."""
    raw: Statistic
    """Share of equal ratings."""
    kappa: Statistic
    """Cohen's kappa."""
    quadratic: Statistic
    """Cohen's kappa with quadratic weights."""


@dataclass(frozen=True)
class People:
    """Agreement of people with each other."""

    raters: tuple[str, ...]
    items: int
    """Number of rated answers that are in the runs."""
    several: int
    """Number of answers with more than one rating."""
    alpha: dict[str, Statistic]
    """Krippendorff's alpha, by level of measurement."""
    pairs: tuple[AgreementPair, ...]
    ceiling: Statistic
    """Spearman's rho of one person with the mean of the others, averaged over people."""
    each: tuple[tuple[str, int, float | None], ...]
    """The same for each person, with the number of answers."""


@dataclass(frozen=True)
class JudgeAgreement:
    """Agreement of one judge, rule or text metric with people."""

    name: str
    kind: Kind
    protocol: str
    criterion: str
    judge: str | None
    scale: tuple[float, float] | None
    levels: Levels
    categories: Categories | None
    no_categories: str | None
    """Why there are none; None if there are some."""
    in_place: Statistic | None
    """Its rho in the place of each person in turn, comparable with the people's ceiling; None for one person."""
    not_told_apart: tuple[str, ...]
    """Other judges whose correlation on the same answers does not differ significantly."""
    bias: Bias
    means: tuple[CorrectedMean, ...]
    shares: tuple[CorrectedMean, ...]
    """Shares of right answers; empty if the judge has more than pass and fail."""
    landmarks: tuple[Landmark, ...]
    points: tuple[tuple[float, float, int, str], ...]
    """For figures: rating by people, score of the judge, number of answers, model."""


@dataclass(frozen=True)
class Dimension:
    """One criterion that people rated, with the judges' agreement on it."""

    criterion: str
    whole: bool
    """True if whole dialogues were rated, False for turns."""
    scale: tuple[float, float]
    people_pass: float
    videos: int
    models: tuple[str, ...]
    people: People
    judges: tuple[JudgeAgreement, ...]
    """By Spearman correlation on answers, the highest first; judges without one last."""
    left_out: tuple[tuple[str, str], ...]
    """Judges that could not be compared, with reasons."""


@dataclass(frozen=True, repr=False)
class Calibration(HasOverview):
    """The whole comparison of judges with people."""

    dimensions: tuple[Dimension, ...]
    """One for each criterion that people rated."""
    sources: tuple[str, ...]
    """Sources of the ratings."""
    ratings: int
    """Number of people's ratings."""
    unmatched: int
    """Number of ratings of answers that are not in the runs."""
    apart: int
    """Number of ratings of floors and references, which are not part of correlations."""
    empty: int
    """Number of ratings that are not filled in."""
    not_applicable: int
    """Number of ratings that say that the criterion does not apply."""
    resamples: int
    """Number of resamples of videos behind each interval."""
    seed: int
    """Seed of the resamples."""

    def unused_ratings(self) -> list[str]:
        """How many ratings are not part of the comparison, a sentence for each reason."""
        counts = (
            (self.unmatched, "are of answers that the runs do not hold"),
            (self.apart, "are of floors and references, which count in no correlation"),
            (self.empty, "are not filled in"),
            (self.not_applicable, "do not apply"),
        )
        return [f"{count:,} ratings {words}" for count, words in counts if count]

    def overview(self) -> Overview:
        """Every judge's agreement with people, the highest first, by criterion."""
        rows = tuple(
            (
                dimension.criterion,
                judge.name,
                f"{dimension.people.items:,}",
                _statistic_cell(judge.levels.answers.spearman),
                _statistic_cell(judge.categories.kappa if judge.categories else None),
            )
            for dimension in self.dimensions
            for judge in dimension.judges
        )
        notes = [
            f"{dimension.criterion}: {name} is not compared, {why}"
            for dimension in self.dimensions
            for name, why in dimension.left_out
        ]
        notes += self.unused_ratings()
        title = f"judges compared with {self.ratings:,} ratings by people"
        return Overview(title, ("criterion", "judge", "n", "Spearman", "kappa"), rows, tuple(notes))


def _statistic_cell(statistic: Statistic | None) -> str:
    """A statistic with its interval."""
    if statistic is None or statistic.value is None:
        return "–"
    interval = "" if statistic.low is None else f" [{statistic.low:.2f}, {statistic.high:.2f}]"
    return f"{statistic.value:.2f}{interval}"


MOST_PAIRS: Final = 45
"""The pairs of ten people; of more people only the agreement of all together is shown."""
MOST_NAMED: Final = 5


def calibrate(
    runs: Sequence[Run],
    human: HumanRatings,
    found: JudgedRuns,
    settings: CalibrationSettings,
    *,
    progress: Callable[[str], None] = lambda _: None,
) -> Calibration:
    """Compare all judges, rules and metrics with people.

    Raises:
        SettingError: No rating is of an answer in the runs, nothing scored them, or a pass mark has an unknown name.
    """
    _refuse_unknown_marks(settings, found)
    models = found.competing
    matched = [rating for rating in human.ratings if rating.place in found.places]
    if not matched:
        raise SettingError(_nothing_matches(human.ratings, found))
    counted = [rating for rating in matched if rating.place[0] in models]
    if not counted:
        raise SettingError(
            f"all {len(matched):,} ratings are of floors or references, which do not show how a judge ranks "
            "answers; rate answers of models"
        )
    by_criterion: dict[tuple[str, bool], list[HumanRating]] = {}
    for rating in counted:
        by_criterion.setdefault((rating.criterion, rating.place[2] is None), []).append(rating)
    dimensions = tuple(
        _dimension(criterion, whole, ratings, runs, found, settings, progress)
        for (criterion, whole), ratings in by_criterion.items()
    )
    if not any(dimension.judges for dimension in dimensions):
        raise SettingError(
            "no judge and no metric scored any answer that people rated; "
            + "; ".join(f"{name}: {why}" for name, why in dimensions[0].left_out[:MOST_NAMED])
            if dimensions[0].left_out
            else "the runs have no scores of single answers; judge them with 'reeltalk judge' first"
        )
    return Calibration(
        dimensions,
        human.sources,
        len(human.ratings),
        len(human.ratings) - len(matched),
        len(matched) - len(counted),
        human.empty,
        human.not_applicable,
        settings.resamples,
        settings.seed,
    )


def _refuse_unknown_marks(settings: CalibrationSettings, found: JudgedRuns) -> None:
    there = {name for scorer in found.scorers for name in (scorer.criterion, scorer.protocol)}
    for name in settings.passes:
        if name not in there:
            raise SettingError(
                f"--pass-mark {name}: no judge of that name scored an answer; known are human, "
                f"{', '.join(sorted(there))}"
            )


def _nothing_matches(ratings: Sequence[HumanRating], found: JudgedRuns) -> str:
    rated = list(dict.fromkeys(rating.place[0] for rating in ratings))
    model, unit, turn = ratings[0].place
    there = list(found.infos)
    known = [place for place in found.places if place[0] == model] or list(found.places)
    which = f"turn_index {turn}" if turn is not None else "no turn_index (the whole dialogue)"
    looked = f"the first is of model {model!r}, unit_id {unit!r}, {which}"
    if model not in there:
        return (
            f"none of {len(ratings):,} ratings is of an answer in the runs: {looked}; they rate the models "
            f"{_listed(rated)}, the runs hold {_listed(there)}"
        )
    example = known[0] if known else None
    having = f", where the runs hold unit_id {example[1]!r}, turn_index {example[2]}" if example else ""
    return f"none of {len(ratings):,} ratings is of an answer in the runs: {looked}{having}; turns count from 0"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(map(repr, names[:MOST_NAMED])) + more


def _dimension(
    criterion: str,
    whole: bool,
    ratings: Sequence[HumanRating],
    runs: Sequence[Run],
    found: JudgedRuns,
    settings: CalibrationSettings,
    progress: Callable[[str], None],
) -> Dimension:
    places = dict.fromkeys(rating.place for rating in ratings)
    raters = sorted({rating.rater for rating in ratings})
    row_of, column_of = ({key: n for n, key in enumerate(keys)} for keys in (places, raters))
    matrix = np.full((len(places), len(raters)), np.nan)
    for rating in ratings:
        matrix[row_of[rating.place], column_of[rating.rater]] = rating.value
    rows = np.array([found.places[place] for place in places])
    draws = draw_videos(
        found.answers["video_id"].gather(rows).to_list(), resamples=settings.resamples, seed=settings.seed
    )
    scale = settings.scale or (float(np.nanmin(matrix)), float(np.nanmax(matrix)))
    if settings.scale and (np.nanmin(matrix) < scale[0] or np.nanmax(matrix) > scale[1]):
        raise SettingError(
            f"--scale {scale[0]:g}:{scale[1]:g} does not hold all ratings on {criterion!r}, which go from "
            f"{np.nanmin(matrix):g} to {np.nanmax(matrix):g}"
        )
    people_pass = settings.people_pass if settings.people_pass is not None else sum(scale) / 2
    kept, left_out = _with_values(comparable_scorers(found.scorers, criterion), rows, found)
    task = _Task(runs, found, settings, criterion, whole, scale, people_pass, rows, matrix, draws)
    judges = [task.compare(scorer, progress) for scorer in kept]
    alike = _find_ties(kept, task)
    judges = [
        replace(judge, not_told_apart=tuple(other.name for m, other in enumerate(judges) if (n, m) in alike))
        for n, judge in enumerate(judges)
    ]
    judges.sort(key=lambda judge: -_or_least(judge.levels.answers.spearman.value))
    return Dimension(
        criterion,
        whole,
        scale,
        people_pass,
        draws.videos,
        tuple(sorted(set(task.names.tolist()))),
        _people(raters, matrix, draws),
        tuple(judges),
        tuple(left_out),
    )


def _or_least(value: float | None) -> float:
    return -2.0 if value is None else value


def _with_values(
    scorers: Iterable[Scorer], rows: Ints, found: JudgedRuns
) -> tuple[list[Scorer], list[tuple[str, str]]]:
    kept, left_out = [], []
    for scorer in scorers:
        if scorer.known[rows].any():
            kept.append(scorer)
        else:
            turns = found.answers["turn_index"].is_not_null().to_numpy()
            about = "turns" if (scorer.known & turns).any() else "whole dialogues"
            scores = f"its {int(scorer.known.sum()):,} scores are of {about}"
            left_out.append((scorer.name, f"it scored none of the rated answers; {scores}"))
    return kept, left_out


def _find_ties(scorers: Sequence[Scorer], task: "_Task") -> set[tuple[int, int]]:
    """Pairs, in both orders, whose correlations do not differ significantly."""
    judges = [(scorer.values[task.rows], scorer.known[task.rows]) for scorer in scorers]
    pairs, differences, drawn = pair_differences(judges, task.means, task.draws)
    sure = (
        significant_differences(differences, drawn[task.draws.left_out :])
        if task.draws.videos > 1
        else np.zeros(len(pairs), np.bool_)
    )
    alike = {pair for pair, surely in zip(pairs, sure, strict=True) if not surely}
    return alike | {(second, first) for first, second in alike}


def _people(raters: Sequence[str], matrix: Floats, draws: Draws) -> People:
    present = np.isfinite(matrix)
    alphas: dict[str, Statistic] = {}
    for scale in SCALES:
        if scale != "ratio" or np.nanmin(matrix) >= 0:
            alphas[scale] = krippendorff_alpha(matrix, draws, scale=scale)
    pairs = []
    if len(raters) * (len(raters) - 1) // 2 <= MOST_PAIRS:
        for first, second in combinations(range(len(raters)), 2):
            rows = present[:, first] & present[:, second]
            own, a, b = draws.subset(rows), matrix[rows, first], matrix[rows, second]
            # On a continuous scale kappa is not useful.
            if rows.any() and len(np.unique(np.concatenate([a, b]))) <= MOST_CATEGORIES:
                quadratic = cohen_kappa(a, b, own, weights="quadratic")
                pairs.append(
                    AgreementPair(
                        raters[first], raters[second], raw_agreement(a, b, own), cohen_kappa(a, b, own), quadratic
                    )
                )
    ceiling, each, _ = replacement_test(matrix, draws)
    return People(
        tuple(raters),
        len(matrix),
        int((present.sum(axis=1) > 1).sum()),
        alphas,
        tuple(pairs),
        ceiling,
        tuple((name, *one) for name, one in zip(raters, each, strict=False)),
    )


@dataclass(frozen=True, eq=False)
class _Task:
    """The ratings with which all judges of one dimension are compared."""

    runs: Sequence[Run]
    found: JudgedRuns
    settings: CalibrationSettings
    criterion: str
    whole: bool
    scale: tuple[float, float]
    people_pass: float
    rows: Ints
    """(N,) rows of the rated answers among all."""
    matrix: Floats
    """(N, P) each person's ratings."""
    draws: Draws

    @cached_property
    def means(self) -> Floats:
        """(N,) people's mean rating of each answer."""
        means: Floats = np.nanmean(self.matrix, axis=1)
        return means

    @cached_property
    def models(self) -> NDArray[np.object_]:
        """(A,) the model of every answer."""
        return self.found.answers["model"].to_numpy()

    @cached_property
    def names(self) -> NDArray[np.object_]:
        """(N,) the model of each rated answer."""
        return self.models[self.rows]

    @cached_property
    def people(self) -> Floats:
        """(A,) people's mean rating; NaN where there is none."""
        people = np.full(len(self.models), np.nan)
        people[self.rows] = self.means
        return people

    @cached_property
    def alike(self) -> Flags:
        """(A,) true for what was rated: turns, or whole dialogues."""
        whole: Flags = self.found.answers["turn_index"].is_null().to_numpy()
        return whole if self.whole else ~whole

    def compare(self, scorer: Scorer, progress: Callable[[str], None]) -> JudgeAgreement:
        """Compare one judge with people."""
        progress(f"{self.criterion}: {scorer.name}")
        values = scorer.values[self.rows]
        rows = np.isfinite(values)
        own, people, judge = self.draws.subset(rows), self.means[rows], values[rows]
        passes = self.settings.passes
        mark = passes.get(scorer.criterion, passes.get(scorer.protocol, scorer.passes))
        agreed = agreement_categories(people, judge, own, people_pass=self.people_pass, judge_passes=mark)
        in_place = replacement_test(self.matrix, self.draws, values)[0] if self.matrix.shape[1] > 1 else None
        competing = np.isin(self.models, list(self.found.competing))
        return JudgeAgreement(
            scorer.name,
            scorer.kind,
            scorer.protocol,
            scorer.criterion,
            scorer.judge,
            scorer.scale,
            agreement_levels(people, judge, self.names[rows], own),
            agreed if isinstance(agreed, Categories) else None,
            None if isinstance(agreed, Categories) else agreed,
            in_place,
            (),
            bias(scorer, self.found.answers, self.people, competing & self.alike),
            self._means(scorer),
            self._shares(scorer),
            self._landmarks(scorer),
            _points(people, judge, self.names[rows]),
        )

    def _means(self, scorer: Scorer) -> tuple[CorrectedMean, ...]:
        """Each model's mean three ways, with the judge's scale stretched onto people's."""
        low, high = scorer.scale or (np.nanmin(scorer.values), np.nanmax(scorer.values))
        judged = self.scale[0] + (scorer.values - low) / (high - low or 1.0) * (self.scale[1] - self.scale[0])
        return self._by_model(judged, self.people, self.scale)

    def _shares(self, scorer: Scorer) -> tuple[CorrectedMean, ...]:
        """Each model's share of right answers; empty if the judge has more than pass and fail."""
        if len(np.unique(scorer.values[scorer.known])) != 2:
            return ()
        right = np.where(scorer.known, scorer.values == np.nanmax(scorer.values), np.nan)
        passed = np.where(np.isfinite(self.people), self.people >= self.people_pass, np.nan)
        return self._by_model(right, passed, (0.0, 1.0))

    def _by_model(self, judged: Floats, labels: Floats, scale: Scale) -> tuple[CorrectedMean, ...]:
        found = []
        for model in sorted(set(self.names) & set(self.found.competing)):
            rows = np.flatnonzero(np.isfinite(judged) & self.alike & (self.models == model))
            videos = self.found.answers["video_id"].gather(rows).to_list()
            found.append(_corrected(model, judged[rows], labels[rows], videos, scale))
        return tuple(found)

    def _landmarks(self, scorer: Scorer) -> tuple[Landmark, ...]:
        """Positions of references, floors and models on a judge's scale, the highest first."""
        if scorer.scale is None:
            return ()
        low, high = scorer.scale
        found = []
        for model, info in self.found.infos.items():
            role = "model" if model in self.found.competing else "reference" if is_reference(info) else "floor"
            rows = np.flatnonzero(scorer.known & (self.models == model))
            if len(rows):
                videos = self.found.answers["video_id"].gather(rows).to_list()
                mean = mean_interval((scorer.values[rows] - low) / (high - low), videos, (0.0, 1.0))
                found.append(Landmark(model, role, mean.value, mean.low, mean.high, mean.n))
            # Some floors, such as the empty answers of every run, only have a mean.
            elif (only := _in_summary(scorer, self.runs, model, role)) is not None:
                found.append(only)
        return tuple(sorted(found, key=lambda one: (-one.share, one.name)))


def _points(people: Floats, judge: Floats, names: NDArray[np.object_]) -> tuple[tuple[float, float, int, str], ...]:
    counts: dict[tuple[float, float, str], int] = {}
    for one, other, name in zip(people.tolist(), judge.tolist(), names.tolist(), strict=True):
        counts[one, other, name] = counts.get((one, other, name), 0) + 1
    return tuple((one, other, count, name) for (one, other, name), count in sorted(counts.items()))
