"""One pair of models on one metric: which turns count, and what they say."""

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.errors import BenchmarkError
from reeltalk.metrics.clustered import (
    ClusteredEstimate,
    clustered_contrast,
    clustered_difference,
    clustered_mean,
    linearised,
)
from reeltalk.metrics.power import detectable_difference
from reeltalk.metrics.scoring import METRICS, MetricResult
from reeltalk.report.columns import share_of, title_of
from reeltalk.report.comparability import not_scored, signatures_differ, withheld
from reeltalk.report.comparison import CompareSettings, Comparison, LeftOut
from reeltalk.report.leaderboard import Leaderboard
from reeltalk.report.paired import Turns
from reeltalk.report.sheets import Bools, Floats, Sheet, number_of, rows_of

CORPUS: Final = frozenset(METRICS["bleu"])
"""Measures of a whole file that can be computed anew: what each turn adds follows from its texts."""


@dataclass(frozen=True)
class PairComparer:
    """Compares any two models of a leaderboard, metric by metric."""

    turns: Turns
    settings: CompareSettings

    @property
    def board(self) -> Leaderboard:
        """Whose models these are."""
        return self.turns.board

    def refuse_strangers(self, first: int, second: int) -> None:
        """Refuse two models of which nothing can be laid side by side.

        Args:
            first: Place of a model.
            second: Of another.

        Raises:
            BenchmarkError: They have no turn in common, or none asked alike.
        """
        a, b = self.turns.asked[:, first], self.turns.asked[:, second]
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

        Args:
            metric: By its name on the leaderboard.
            first: Place of a model.
            second: Of the model that is taken from it.

        Raises:
            SettingError: The turns have no such groups.
        """
        blank = Comparison(metric, first, second)
        models = [self.board.models[index] for index in (first, second)]
        if problem := not_scored(models, metric):
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
        narrowed = dataclasses.replace(sheet, nesting="units" if sheet.nesting == "tasks" else sheet.nesting)
        if sheet.nesting == "kinds":
            narrowed = dataclasses.replace(sheet, nesting="items")
        return [
            self._one(narrowed, dataclasses.replace(blank, group=group), groups[group]) for group in _in_order(groups)
        ]

    def _one(self, sheet: Sheet, blank: Comparison, within: Bools) -> Comparison:
        a, b = sheet.values[:, blank.first], sheet.values[:, blank.second]
        models = [self.board.models[index] for index in (blank.first, blank.second)]
        silent = [not np.isfinite(column).any() for column in (a, b)]
        if any(silent):
            return self._against_fixed(sheet, blank, within, silent)
        alike = self.turns.asked_alike(sheet, blank.first, blank.second) & within
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
            note = f"means of single turns, while the leaderboard's {title_of(sheet.metric)} is of the whole file"
            blank = dataclasses.replace(blank, notes=(*blank.notes, note))
        rows = rows_of(sheet, there, {"first": a, "second": b, "difference": a - b})
        estimate = clustered_contrast(
            rows.values["difference"],
            rows.videos.tolist(),
            rows.strata,
            rows.weights,
            confidence=self.settings.confidence,
        )
        found = dataclasses.replace(
            blank,
            first_value=rows.mean("first"),
            second_value=rows.mean("second"),
            items=int(there.sum()),
        )
        return self._with(found, estimate)

    def _with(self, blank: Comparison, estimate: ClusteredEstimate) -> Comparison:
        error, df = estimate.standard_error, estimate.df
        return dataclasses.replace(
            blank,
            difference=estimate.value,
            low=estimate.low,
            high=estimate.high,
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

    def _against_fixed(self, sheet: Sheet, blank: Comparison, within: Bools, silent: Sequence[bool]) -> Comparison:
        """A model against a number without turns, as that of a player that knows nothing."""
        models = [self.board.models[index] for index in (blank.first, blank.second)]
        if all(silent) or not sheet.is_mean or self.settings.by is not None:
            names = " and ".join(repr(model.name) for model, quiet in zip(models, silent, strict=True) if quiet)
            return dataclasses.replace(blank, problem=f"the run holds no values of single turns of {names}")
        quiet = int(silent[1])
        fixed = number_of(models[quiet], sheet.metric)
        assert fixed is not None
        column = sheet.values[:, (blank.first, blank.second)[1 - quiet]]
        there = within & np.isfinite(column)
        rows = rows_of(sheet, there, {"value": column})
        sign = 1.0 if quiet else -1.0
        estimate = clustered_contrast(
            sign * (rows.values["value"] - fixed),
            rows.videos.tolist(),
            rows.strata,
            rows.weights,
            confidence=self.settings.confidence,
        )
        own = rows.mean("value")
        notes = blank.notes
        if share_of(sheet.metric, fixed) != 0:
            note = (
                f"{models[quiet].name} has no turns in the run: its {title_of(sheet.metric)} is taken as a fixed number"
            )
            notes = (*notes, note)
        found = dataclasses.replace(
            self._duel(blank, sign * (column[there] - fixed), sheet.videos[there]),
            method="against a fixed number",
            first_value=own if quiet else fixed,
            second_value=fixed if quiet else own,
            items=int(there.sum()),
            withheld=withheld(models, sheet.metric),
            notes=notes,
        )
        return self._with(found, estimate)

    def _unpaired(self, sheet: Sheet, blank: Comparison, within: Bools) -> Comparison:
        """Each model over its own turns."""
        models = [self.board.models[index] for index in (blank.first, blank.second)]
        a, b = sheet.values[:, blank.first], sheet.values[:, blank.second]
        there_a, there_b = within & np.isfinite(a), within & np.isfinite(b)
        if not there_a.any() or not there_b.any():
            return dataclasses.replace(blank, problem="one of the two has no score here")
        plain = sheet if sheet.nesting == "units" else dataclasses.replace(sheet, nesting="items")
        own, other = rows_of(plain, there_a, {"value": a}), rows_of(plain, there_b, {"value": b})
        estimate = clustered_difference(
            own.values["value"],
            other.values["value"],
            own.videos.tolist(),
            other.videos.tolist(),
            confidence=self.settings.confidence,
        )
        found = dataclasses.replace(
            blank,
            method="unpaired clustered t",
            first_value=own.mean("value"),
            second_value=other.mean("value"),
            items=int(there_a.sum() + there_b.sum()),
            withheld=withheld(models, sheet.metric),
            notes=(*blank.notes, "no turn in common: each model over its own turns, which may be harder or easier"),
        )
        return self._with(found, estimate)

    def _corpus(self, sheet: Sheet, blank: Comparison, there: Bools) -> Comparison:
        """A measure of the whole file: tested by what each turn moves it by."""
        found_of = self.turns.corpus(sheet.metric)
        parts = [found_of[index] for index in (blank.first, blank.second)]
        if any(part is None for part in parts):
            words = (
                f"{title_of(sheet.metric)} is of the whole file, and cannot be computed anew from what the run holds"
            )
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
        table, videos = np.hstack(statistics), sheet.videos[chosen].tolist()

        def difference(sums: Floats, n: Floats) -> Floats:
            return results[0].from_sums(sums[:, :width], n) - results[1].from_sums(sums[:, width:], n)

        estimate = clustered_mean(linearised(table, difference), videos, confidence=self.settings.confidence)
        found = dataclasses.replace(
            blank,
            method="linearised clustered t",
            first_value=values[0],
            second_value=values[1],
            items=len(chosen),
        )
        return self._with(found, dataclasses.replace(estimate, value=values[0] - values[1]))

    def _duel(self, blank: Comparison, differences: Floats, videos: NDArray[np.str_]) -> Comparison:
        signs = np.where(np.abs(differences) <= 1e-12, 0.0, np.sign(differences))
        return dataclasses.replace(
            blank,
            wins=int((signs > 0).sum()),
            ties=int((signs == 0).sum()),
            losses=int((signs < 0).sum()),
            net=clustered_mean(signs, videos.tolist(), confidence=self.settings.confidence),
        )

    def _left_out(self, sheet: Sheet, blank: Comparison, within: Bools, alike: Bools) -> LeftOut:
        scored_a = np.isfinite(sheet.values[:, blank.first])
        scored_b = np.isfinite(sheet.values[:, blank.second])
        if sheet.item != "turn":
            asked_a, asked_b = scored_a | alike, scored_b | alike
        else:
            asked_a, asked_b = self.turns.asked[:, blank.first] > 0, self.turns.asked[:, blank.second] > 0
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
