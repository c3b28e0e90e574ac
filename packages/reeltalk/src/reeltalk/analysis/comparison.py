"""Compares pairs of models on the turns that both answered, with tests clustered by source video.

Two numbers are comparable if both exist, both are scored in the same way, and few turns lack a score.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from reeltalk.analysis.columns import (
    answer_settings,
    bounds_of,
    differing_parts,
    direction_of,
    metric_kind,
    metric_title,
    signature_parts,
)
from reeltalk.analysis.difference_words import Difference, describe_differences, independent_parts
from reeltalk.analysis.leaderboard import FREE_PARTS, Leaderboard, ModelRow, model_letter
from reeltalk.analysis.score_matrix import (
    TURN,
    Bools,
    Floats,
    Ints,
    ScoreMatrix,
    Turns,
    average_units,
    leaderboard_number,
)
from reeltalk.analysis.style import difference_at_equal_style
from reeltalk.analysis.values import format_points, format_range, format_signed
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.metrics.info import MeanOf
from reeltalk.metrics.scoring import METRICS, TEXT_METRICS, MetricResult
from reeltalk.metrics.significance import POWER, Correction, correct_p_values, detectable_difference, levels_of_tests
from reeltalk.metrics.uncertainty import (
    FEW_VIDEOS,
    FEWEST_VIDEOS,
    ClusteredEstimate,
    Ends,
    Means,
    clustered_contrast,
    clustered_mean,
    difference_bounds,
    linearise,
    no_ends,
    unpaired_difference,
)
from reeltalk.schema.overview import HasOverview, Overview

Method = Literal["clustered t", "linearised clustered t", "unpaired clustered t"]


class CompareSettings(BaseModel):
    """Settings of a comparison."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metrics: tuple[str, ...] = ()
    """Names on the leaderboard; by default all judged headlines and text metrics."""
    by: str | None = None
    """Compare within each group of turns, such as `task` or `question_type`."""
    correction: Correction = "holm"
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    target_power: float = Field(default=POWER, gt=0.5, lt=1)
    """Power for the smallest detectable difference."""
    style: bool = False
    """Also give differences at equal style: length, markup, and words around the answer."""
    anyway: bool = False
    """Also compare numbers that were scored in different ways."""
    unpaired: bool = False
    """Compare models that have no turn in common, each over its own turns."""

    @property
    def alpha(self) -> float:
        """Level of the tests."""
        return 1 - self.confidence


@dataclass(frozen=True)
class LeftOut:
    """Numbers of items that are left out of a comparison, by reason."""

    only_first: int = 0
    """Items that the second model was not asked."""
    only_second: int = 0
    asked_otherwise: int = 0
    """Items that both were asked in different words, or with different references or options."""
    unscored_first: int = 0
    """Items without a score of the first model only."""
    unscored_second: int = 0
    unscored_both: int = 0

    @property
    def total(self) -> int:
        """Number of all items left out."""
        return sum(dataclasses.astuple(self))


@dataclass(frozen=True)
class Comparison:
    """One metric of two models, over all turns or over a group. The difference is the first minus the second."""

    metric: str
    """Name of the metric."""
    first: int
    """The model's place on the leaderboard."""
    second: int
    """The place of the model that is subtracted."""
    group: str | None = None
    """Name of the group of turns; None for all turns."""
    problem: str | None = None
    """Why there is no comparison; the fields after it are then empty."""
    method: Method = "clustered t"
    """How the difference is tested."""
    first_value: float | None = None
    """Mean over the compared turns, which may differ from the leaderboard's."""
    second_value: float | None = None
    """The same for the second model."""
    difference: float | None = None
    """The first value minus the second."""
    low: float | None = None
    """Lower end of the difference's interval, at the level of its test; None if there is none."""
    high: float | None = None
    """Its upper end."""
    confidence: float | None = None
    """Confidence of the interval: 1 minus the level at which the correction tests this difference. So the interval
    leaves out 0 exactly where the corrected test does."""
    ends: Callable[[float], Ends] = field(default=no_ends, repr=False, compare=False)
    """The difference's interval at any confidence."""
    standard_error: float | None = None
    """Standard error of the difference, clustered by source video."""
    df: float | None = None
    """Degrees of freedom of the test."""
    p: float | None = None
    """The p value of a difference of zero."""
    corrected_p: float | None = None
    """Corrected over the family; `p` itself for a pair outside it."""
    family: int = 0
    """Number of p values in the family of its metric; 0 for a pair outside it."""
    detectable: float | None = None
    """The smallest difference that the test at this level finds with the target power."""
    items: int = 0
    """Number of compared items."""
    item: str = "turn"
    """What an item is, such as a turn or a dialogue."""
    videos: int = 0
    """Number of source videos of the items."""
    icc: float | None = None
    """Correlation of the differences within a video."""
    design_effect: float | None = None
    """Factor by which clusters increase the variance."""
    wins: int = 0
    """Number of items on which the first has more."""
    ties: int = 0
    """Number of items on which both have the same."""
    losses: int = 0
    """Number of items on which the second has more."""
    net: ClusteredEstimate | None = None
    """Wins minus losses, as a share of items, -1 to 1."""
    styled: ClusteredEstimate | None = None
    """The difference at equal style; None if it was not asked for, or if the answers do not tell it."""
    left_out: LeftOut = LeftOut()
    """Items that are not compared."""
    withheld: str | None = None
    """Why no winner may be named."""
    notes: tuple[str, ...] = ()
    """What else to know about the comparison."""

    @property
    def paired(self) -> bool:
        """True if both models answered the same items."""
        return self.method in ("clustered t", "linearised clustered t")

    def left_out_text(self) -> str:
        """The number of items that are left out, by reason; empty if there are none."""
        first, second, left = model_letter(self.first), model_letter(self.second), self.left_out
        parts = [
            (left.only_first, f"of {first} alone"),
            (left.only_second, f"of {second} alone"),
            (left.asked_otherwise, "asked otherwise"),
            (left.unscored_first, f"without a score of {first}"),
            (left.unscored_second, f"without a score of {second}"),
            (left.unscored_both, "without a score of both"),
        ]
        return ", ".join(f"{count:,} {words}" for count, words in parts if count)

    def winner(self, alpha: float) -> int | None:
        """The place of the better model, or of the higher value if neither is better; None without a winner."""
        if self.difference is None or self.corrected_p is None or self.withheld or self.corrected_p >= alpha:
            return None
        return self.first if self.difference > 0 else self.second


SHORT_NAME: Final = 22


@dataclass(frozen=True, repr=False)
class Comparisons(HasOverview):
    """All requested comparisons."""

    board: Leaderboard
    """The leaderboard of all runs; places of models are places in it."""
    models: tuple[int, ...]
    """Places of the models that were compared."""
    rows: tuple[Comparison, ...]
    """One for each pair of models and metric, and group if groups are compared."""
    settings: CompareSettings
    """The settings of the comparison."""
    aside: tuple[int, ...] = ()
    """Floors, the oracle, references and people, if they were not requested."""

    def verdict(self, row: Comparison) -> str:
        """The result of a comparison as text."""
        first, second = model_letter(row.first), model_letter(row.second)
        if row.problem is not None:
            return f"not compared: {row.problem}"
        if row.p is None:
            if row.method == "unpaired clustered t":
                return f"nothing can be said: an interval of each of two means needs {FEWEST_VIDEOS} source videos"
            if row.videos > 1:
                return "nothing can be said: a part of its mean rests on one source video, and an interval needs two"
            return "nothing can be said: 1 source video, and an interval needs two"
        rough = f", roughly: {row.videos} videos are few" if row.videos < FEW_VIDEOS else ""
        if row.withheld:
            return f"no winner is named: {row.withheld}"
        best = row.winner(self.settings.alpha)
        if best is None:
            shown = "" if row.detectable is None else (
                f"; the smallest detectable difference here is {format_points(row.detectable, row.metric)}"
                f" ({self.settings.target_power * 100:.0f} % power)"
            )  # fmt: skip
            return f"{NO_DIFFERENCE}{shown}{rough}"
        word = "has more" if direction_of(row.metric) == "neither" else "is better"
        return f"{first if best == row.first else second} {word}{rough}"

    def _named_verdict(self, row: Comparison) -> str:
        """The verdict, with the name of the better model in place of its letter."""
        best = row.winner(self.settings.alpha)
        words = self.verdict(row)
        return words if best is None else words.replace(model_letter(best), self.board.models[best].name, 1)

    def overview(self) -> Overview:
        """Every comparison with its difference, its interval and its verdict."""
        names = [model.name for model in self.board.models]
        rows = tuple(
            (
                metric_title(row.metric) + (f": {row.group}" if row.group else ""),
                f"{_short_name(names[row.first])} − {_short_name(names[row.second])}",
                _difference_cell(row),
                f"{row.items:,}",
                self._named_verdict(row).split("; ")[0],
            )
            for row in sorted(self.rows, key=lambda row: row.problem is not None)
        )
        notes = [f"Intervals of {self.settings.confidence * 100:g} %, clustered by source video."]
        if self.aside:
            aside = ", ".join(names[index] for index in self.aside)
            notes.append(f"Not compared, as they do not compete: {aside}. Name them in models= to compare them.")
        notes.append("render_comparisons of reeltalk.analysis.compare_text writes all values.")
        title = f"{len(self.models):,} models compared, each pair on the turns that both answered"
        return Overview(title, ("metric", "pair", "difference", "n", "verdict"), rows, tuple(notes))


def _short_name(name: str) -> str:
    """A name of which two fit into a cell."""
    return name if len(name) <= SHORT_NAME else f"{name[: SHORT_NAME - 1]}…"


def _difference_cell(row: Comparison) -> str:
    if row.difference is None:
        return "–"
    interval = format_range(row.low, row.high, row.metric, signed=True, videos=row.videos)
    return f"{format_signed(row.metric, row.difference)} {interval}".rstrip()


def format_p(p: float | None) -> str:
    """A p value as text."""
    return "–" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.4f}"


NO_DIFFERENCE: Final = "no difference shown"
"""Begin of the verdict on two models of which none is shown to be better."""
INTERVAL_PARTS: Final = frozenset({"ci", "seed"})
"""Signature parts about the leaderboard's own intervals."""
CHECKED_BY_TURN: Final = frozenset({"data"})
"""Questions and references are compared turn by turn."""
NOTED_PARTS: Final = frozenset({"subject", "v"})
"""Parts that may differ between comparable numbers; a note says so."""


def signatures_differ(models: Sequence[ModelRow], metric: str, *, anyway: bool = False) -> tuple[str | None, list[str]]:
    """Why two numbers cannot be compared (None if they can), and notes on other differences of their signatures.

    The input of the models may differ, because it may be the subject of the comparison. The scoring may not; with
    `anyway`, the reason against a comparison is a note.
    """
    cells = [model.cells[metric] for model in models]
    pairs = [(model.info, cell.row) for model, cell in zip(models, cells, strict=True) if cell is not None]
    ignored = FREE_PARTS | INTERVAL_PARTS
    quoted = [(info, row.model_copy(update={"value": row.value or row.over_scored or 0.0})) for info, row in pairs]
    differing = differing_parts(quoted, ignored)
    told = [signature_parts(row.signature) for _, row in pairs]
    how = [answer_settings(model.run, model.info.model) for model in models]
    moving, answered, said = list[str](), list[str](), list[str]()

    def in_words(parts: Sequence[str]) -> list[Difference]:
        titles = [model.title for model in models]
        titles = titles if len(set(titles)) > 1 else [model.name for model in models]
        return describe_differences([(title, *pair) for title, pair in zip(titles, quoted, strict=True)], parts)

    for part in differing:
        if part in CHECKED_BY_TURN:
            if metric == "cider":
                said.append("CIDEr weighs words by how rare they are in each file, and the files differ")
        elif part in NOTED_PARTS:
            said += map(str, in_words([part]))
        elif any(part in own for own in how) and all(
            own.get(part, "none") == found.get(part, "none") for own, found in zip(how, told, strict=True)
        ):
            answered += [part] if part in independent_parts(differing) else []
        else:
            moving.append(part)
    if models[0].info.sha256 == models[1].info.sha256 and models[0].info.model == models[1].info.model:
        said.append("both rest on the same file of answers")
    if answered:
        said.insert(0, f"answered in different ways: {'; '.join(one.what for one in in_words(answered))}")
    if not moving:
        return None, said
    if anyway:
        return None, [f"scored in different ways: {'; '.join(one.what for one in in_words(moving))}", *said]
    why = "; ".join(one.clause for one in in_words(moving))
    return f"scored in different ways: {why}; --anyway compares all the same", []


def not_scored(models: Sequence[ModelRow], metric: str) -> str | None:
    """Which of some models have no number, and why; None if all have one."""
    missing = [model for model in models if leaderboard_number(model, metric) is None]
    if not missing:
        return None
    reasons = {cell.reason for model in missing if (cell := model.cells[metric]) is not None and cell.reason}
    names = " and ".join(model.name for model in missing)
    return f"{names} {'is' if len(missing) == 1 else 'are'} not scored by it" + (
        f" ({'; '.join(sorted(reasons))})" if reasons else ""
    )


def withheld(models: Sequence[ModelRow], metric: str) -> str | None:
    """Why no winner may be named; None if one may. Items without a score often differ from the others."""
    for model in models:
        cell = model.cells[metric]
        if cell is not None and cell.withheld:
            return f"{cell.row.unscored:,} of {cell.due:,} of {model.name} are unscored, more than 2 %"
    return None


CORPUS: Final = frozenset(METRICS["bleu"])
"""Measures of a whole file that can be recomputed from the texts of each turn."""


@dataclass(frozen=True)
class PairComparer:
    """Compares any two models of a leaderboard, metric by metric."""

    turns: Turns
    settings: CompareSettings

    @property
    def board(self) -> Leaderboard:
        """The leaderboard of the runs whose models are compared."""
        return self.turns.board

    def refuse_strangers(self, first: int, second: int) -> None:
        """Reject two models without comparable turns.

        Raises:
            BenchmarkError: They have no turn in common, or none that was asked in the same way.
        """
        a, b = self.turns.wordings[:, first], self.turns.wordings[:, second]
        if self.settings.unpaired or not a.any() or not b.any() or ((a == b) & (a > 0)).any():
            return
        names = [self.board.models[index].name for index in (first, second)]
        if common := int(((a > 0) & (b > 0)).sum()):
            raise BenchmarkError(
                f"{names[0]!r} and {names[1]!r} have {common:,} turns in common, but none asked in the same words "
                "with the same references; score both against one benchmark, or pass --unpaired to compare their means"
            )
        raise BenchmarkError(
            f"{names[0]!r} and {names[1]!r} have no turn in common: {int((a > 0).sum()):,} and {int((b > 0).sum()):,} "
            "turns with different identifiers; give runs on one benchmark, or pass --unpaired to compare their means"
        )

    def compare(self, metric: str, first: int, second: int) -> list[Comparison]:
        """One comparison, or one for each group.

        Raises:
            SettingError: The turns have no such groups.
        """
        blank = Comparison(metric, first, second)
        models = [self.board.models[index] for index in (first, second)]
        why = None if self.settings.anyway else withheld(models, metric)
        if problem := not_scored(models, metric) or (why and f"withheld: {why}; --anyway compares what was scored"):
            return [dataclasses.replace(blank, problem=problem)]
        problem, notes = signatures_differ(models, metric, anyway=self.settings.anyway)
        if problem:
            return [dataclasses.replace(blank, problem=problem)]
        sheet = self.turns.sheet(metric)
        if sheet is None:
            words = "the runs hold no values of single turns or dialogues for it, so that it cannot be paired"
            return [dataclasses.replace(blank, problem=words)]
        blank = dataclasses.replace(blank, notes=tuple(notes), item=sheet.item)
        if self.settings.by is None:
            return [self._one(sheet, blank, np.ones(len(sheet.places), bool))]
        groups = self.turns.groups(sheet, self.settings.by)
        # Within a group, tasks and kinds are not averaged once more.
        narrower: dict[MeanOf, MeanOf] = {"tasks": "dialogues", "kinds": "items"}
        narrowed = dataclasses.replace(sheet, mean_of=narrower.get(sheet.mean_of, sheet.mean_of))
        return [
            self._one(narrowed, dataclasses.replace(blank, group=group), groups[group]) for group in _in_order(groups)
        ]

    def _one(self, sheet: ScoreMatrix, blank: Comparison, within: Bools) -> Comparison:
        a, b = sheet.values[:, blank.first], sheet.values[:, blank.second]
        models = [self.board.models[index] for index in (blank.first, blank.second)]
        silent = [not np.isfinite(column).any() for column in (a, b)]
        if any(silent):
            names = " and ".join(repr(model.name) for model, quiet in zip(models, silent, strict=True) if quiet)
            return dataclasses.replace(blank, problem=f"the run holds no values of single turns of {names}")
        if self.turns.sampled & {blank.first, blank.second} and (within & (np.isfinite(a) != np.isfinite(b))).any():
            return self._unpaired(sheet, blank, within)
        alike = self.turns.same_wording(sheet, blank.first, blank.second) & within
        if not alike.any() and self.settings.unpaired:
            return self._unpaired(sheet, blank, within)
        there = alike & np.isfinite(a) & np.isfinite(b)
        blank = dataclasses.replace(
            blank, left_out=self._left_out(sheet, blank, within, alike), withheld=withheld(models, sheet.metric)
        )
        if not there.any():
            of = f" of {blank.group}" if blank.group else ""
            return dataclasses.replace(blank, problem=f"no {sheet.item}{of} has a score of both models")
        blank = self._duel(blank, a[there] - b[there], sheet.videos[there])
        if sheet.metric in CORPUS and not sheet.is_mean:
            return self._corpus(sheet, blank, there)
        if not sheet.is_mean:
            note = f"means of single turns, while the leaderboard's {metric_title(sheet.metric)} is of the whole file"
            blank = dataclasses.replace(blank, notes=(*blank.notes, note))
        rows = average_units(sheet, there, {"first": a, "second": b, "difference": a - b})
        estimate = clustered_contrast(
            rows.values["difference"],
            rows.videos,
            rows.strata,
            rows.weights,
            bounds=difference_bounds(bounds_of(sheet.metric)),
            confidence=self.settings.confidence,
        )
        found = dataclasses.replace(
            blank,
            first_value=rows.mean("first"),
            second_value=rows.mean("second"),
            items=int(there.sum()),
            styled=self._styled(sheet, blank, a - b, there),
        )
        return self._with(found, estimate)

    def _styled(
        self, sheet: ScoreMatrix, blank: Comparison, differences: Floats, there: Bools
    ) -> ClusteredEstimate | None:
        if not self.settings.style or sheet.item != TURN or sheet.mean_of != "items" or sheet.metric in TEXT_METRICS:
            return None
        styles = self.turns.styles(blank.first) - self.turns.styles(blank.second)
        known = there & np.isfinite(styles).all(axis=1)
        return difference_at_equal_style(
            differences[known],
            styles[known],
            sheet.videos[known],
            bounds=difference_bounds(bounds_of(sheet.metric)),
            confidence=self.settings.confidence,
        )

    def _with(self, blank: Comparison, estimate: ClusteredEstimate) -> Comparison:
        error, df = estimate.standard_error, estimate.df
        return dataclasses.replace(
            blank,
            difference=estimate.value,
            low=estimate.low,
            high=estimate.high,
            confidence=self.settings.confidence,
            ends=estimate.ends,
            standard_error=error,
            df=df,
            p=estimate.p,
            videos=estimate.clusters,
            icc=estimate.icc,
            design_effect=estimate.design_effect,
            detectable=None
            if error is None or df is None
            else detectable_difference(error, df, alpha=self.settings.alpha, power=self.settings.target_power),
        )

    def _unpaired(self, sheet: ScoreMatrix, blank: Comparison, within: Bools) -> Comparison:
        """Each model over its own items: two without a common turn, or one and a floor that was judged on a sample."""
        pair = (blank.first, blank.second)
        models = [self.board.models[index] for index in pair]
        there = [within & np.isfinite(sheet.values[:, index]) for index in pair]
        if not there[0].any() or not there[1].any():
            return dataclasses.replace(blank, problem="one of the two has no score here")
        counts = [int(rows.sum()) for rows in there]
        sampled = [index in self.turns.sampled for index in pair]
        if any(sampled):
            number = sampled.index(True)
            note = (
                f"empty answers were judged on {counts[number]:,} {sheet.item}s; {models[number].name} has the "
                "uncertainty of so many"
            )
        else:
            note = "no turn in common: each model over its own turns, which may be harder or easier"
            # The two may not have the same tasks.
            sheet = sheet if sheet.mean_of == "dialogues" else dataclasses.replace(sheet, mean_of="items")
        sides = [
            average_units(sheet, rows, {"value": sheet.values[:, index]})
            for index, rows in zip(pair, there, strict=True)
        ]
        one, other = (Means(side.values["value"], side.videos, side.strata, side.weights) for side in sides)
        estimate = unpaired_difference(one, other, bounds_of(sheet.metric), confidence=self.settings.confidence)
        found = dataclasses.replace(
            blank,
            method="unpaired clustered t",
            first_value=sides[0].mean("value"),
            second_value=sides[1].mean("value"),
            items=sum(counts),
            withheld=withheld(models, sheet.metric),
            notes=(*blank.notes, note),
        )
        return self._with(found, estimate)

    def _corpus(self, sheet: ScoreMatrix, blank: Comparison, there: Bools) -> Comparison:
        """A measure of the whole file, tested by the effect of each turn."""
        found_of = self.turns.corpus(sheet.metric)
        parts = [found_of[index] for index in (blank.first, blank.second)]
        if any(part is None for part in parts):
            title = metric_title(sheet.metric)
            words = f"{title} is of the whole file, and cannot be computed anew from what the run holds"
            return dataclasses.replace(blank, problem=words)
        chosen = np.flatnonzero(there)
        statistics: list[Floats] = []
        results: list[MetricResult] = []
        for part in parts:
            assert part is not None
            rows, result = part
            of_row = np.full(len(sheet.places), -1, np.intp)
            of_row[rows] = np.arange(len(rows))
            statistics.append(result.statistics[of_row[chosen]])
            results.append(result)
        width = statistics[0].shape[1]
        n = np.array([float(len(chosen))])
        values = [
            float(result.from_sums(part.sum(axis=0, keepdims=True), n)[0])
            for part, result in zip(statistics, results, strict=True)
        ]
        table, videos = np.hstack(statistics), sheet.videos[chosen]

        def difference(sums: Floats, n: Floats) -> Floats:
            return results[0].from_sums(sums[:, :width], n) - results[1].from_sums(sums[:, width:], n)

        bounds = difference_bounds(bounds_of(sheet.metric))
        estimate = clustered_mean(
            linearise(table, difference), videos, bounds=bounds, confidence=self.settings.confidence
        )
        found = dataclasses.replace(
            blank, method="linearised clustered t", first_value=values[0], second_value=values[1], items=len(chosen)
        )
        return self._with(found, dataclasses.replace(estimate, value=values[0] - values[1]))

    def _duel(self, blank: Comparison, differences: Floats, videos: Ints) -> Comparison:
        signs = np.where(np.abs(differences) <= 1e-12, 0.0, np.sign(differences))
        return dataclasses.replace(
            blank,
            wins=int((signs > 0).sum()),
            ties=int((signs == 0).sum()),
            losses=int((signs < 0).sum()),
            net=clustered_mean(signs, videos, bounds=(-1.0, 1.0), confidence=self.settings.confidence),
        )

    def _left_out(self, sheet: ScoreMatrix, blank: Comparison, within: Bools, alike: Bools) -> LeftOut:
        scored_a = np.isfinite(sheet.values[:, blank.first])
        scored_b = np.isfinite(sheet.values[:, blank.second])
        if sheet.item != "turn":
            asked_a, asked_b = scored_a | alike, scored_b | alike
        else:
            asked_a, asked_b = self.turns.wordings[:, blank.first] > 0, self.turns.wordings[:, blank.second] > 0
        return LeftOut(
            only_first=int((within & asked_a & ~asked_b).sum()),
            only_second=int((within & asked_b & ~asked_a).sum()),
            asked_otherwise=int((within & asked_a & asked_b & ~alike).sum()),
            unscored_first=int((alike & ~scored_a & scored_b).sum()),
            unscored_second=int((alike & scored_a & ~scored_b).sum()),
            unscored_both=int((alike & ~scored_a & ~scored_b).sum()),
        )


def _in_order(groups: Iterable[str]) -> list[str]:
    return sorted(groups, key=lambda group: (0, int(group), "") if group.isdigit() else (1, 0, group))


SHOWN_NAMES: Final = 12


def compare_models(
    board: Leaderboard, settings: CompareSettings, *, models: Sequence[int] | None = None, strict: bool = True
) -> Comparisons:
    """Compare pairs of models.

    The p values of one metric are one family: all pairs of competing models on the leaderboard, whether requested or
    not. So a pair has the same corrected p in every table of the same runs. Pairs with a floor, the oracle, the
    references or people are outside the family; their p values are not corrected.

    Args:
        settings: What to compare.
        models: Places of the models to compare, in order. By default all competing models, or all models if fewer than
            two compete.
        strict: Reject models without a common turn; otherwise their comparison has the problem.

    Raises:
        BenchmarkError: There are no two models, or two have no turn in common.
        SettingError: The runs have no such metric or group.
        InputError: A table is damaged.
    """
    competing = [index for index, model in enumerate(board.models) if model.competes]
    family = competing if len(competing) > 1 else list(range(len(board.models)))
    chosen = _chosen(board, models, family)
    metrics = compared_metrics(board, settings.metrics)
    comparer = PairComparer(Turns(board), settings)
    for first, second in combinations(chosen, 2) if strict else ():
        comparer.refuse_strangers(first, second)
    rows: list[Comparison] = []
    for metric in metrics:
        rows += _of_metric(comparer, metric, chosen, family)
    aside = [index for index in range(len(board.models)) if index not in chosen] if models is None else []
    return Comparisons(board, tuple(chosen), tuple(rows), settings, tuple(aside))


def correct_family(rows: Sequence[Comparison], settings: CompareSettings) -> list[Comparison]:
    """Comparisons of one family, with corrected p values and with intervals at the level of each test."""
    tested = [row.p for row in rows if row.p is not None]
    corrected = iter(correct_p_values(tested, settings.correction))
    levels = iter(levels_of_tests(tested, settings.alpha, settings.correction))
    found = []
    for row in rows:
        if row.p is None:
            found.append(row)
            continue
        level = next(levels)
        low, high = row.ends(1 - level)
        least = row.detectable
        if row.standard_error and row.df is not None:
            least = detectable_difference(row.standard_error, row.df, alpha=level, power=settings.target_power)
        found.append(
            dataclasses.replace(
                row,
                corrected_p=next(corrected),
                family=len(tested),
                confidence=1 - level,
                low=low,
                high=high,
                detectable=least,
            )
        )
    return found


def _of_metric(comparer: PairComparer, metric: str, chosen: Sequence[int], family: Sequence[int]) -> list[Comparison]:
    """The chosen pairs on one metric, each corrected over the family."""
    pairs = [(pair, row) for pair in combinations(family, 2) for row in comparer.compare(metric, *pair)]
    in_family: dict[tuple[int, int], list[Comparison]] = {}
    for (pair, _), row in zip(pairs, correct_family([row for _, row in pairs], comparer.settings), strict=True):
        in_family.setdefault(pair, []).append(row)
    found: list[Comparison] = []
    for first, second in combinations(chosen, 2):
        if (first, second) in in_family:
            found += in_family[first, second]
            continue
        # A pair in the other order is computed again, so that its difference has the right sign.
        rows = comparer.compare(metric, first, second)
        for row, known in zip(rows, in_family.get((second, first), rows), strict=True):
            if known is row:
                found.append(dataclasses.replace(row, corrected_p=row.p))
            else:
                low, high = row.ends(known.confidence or comparer.settings.confidence)
                found.append(
                    dataclasses.replace(
                        row, corrected_p=known.corrected_p, family=known.family, confidence=known.confidence, low=low,
                        high=high, detectable=known.detectable,
                    )
                )  # fmt: skip
    return found


def compared_metrics(board: Leaderboard, metrics: Sequence[str]) -> list[str]:
    """The metrics to compare.

    Raises:
        SettingError: The runs do not have one of them.
    """
    there = list(board.metrics)
    for metric in metrics:
        if metric not in there and not any(name.split("_")[0] == metric for name in there):
            some = ", ".join(there[:SHOWN_NAMES]) + (
                f" and {len(there) - SHOWN_NAMES} more" if len(there) > SHOWN_NAMES else ""
            )
            raise SettingError(f"--metrics {metric}: the runs do not have it; they have {some}")
    if metrics:
        families = {metric: [name for name in there if name.split("_")[0] == metric] for metric in metrics}
        return list(dict.fromkeys(n for m in metrics for n in ([m] if m in there else families[m])))
    usual = [metric for metric in there if metric_kind(metric) in ("headline", "text")]
    scored = [
        metric for metric in usual if any(leaderboard_number(model, metric) is not None for model in board.models)
    ]
    return scored or usual or there


def _chosen(board: Leaderboard, models: Sequence[int] | None, family: Sequence[int]) -> list[int]:
    chosen = list(family if models is None else models)
    twice = [index for place, index in enumerate(chosen) if index in chosen[:place]]
    if twice:
        raise BenchmarkError(f"{board.models[twice[0]].name!r} is named twice; a model equals itself")
    if len(chosen) < 2:
        names = ", ".join(repr(board.models[index].name) for index in chosen)
        raise BenchmarkError(f"there is one model to compare, {names}; give a second run")
    return chosen
