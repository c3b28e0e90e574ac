"""What the pages show, as plain data: rows and columns, best values, what was counted, and which numbers compare."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.schema.runs import CurvePoint, ModelInfo, SummaryRow
from reeltalk.schema.scoring import Signature
from reeltalk.store.runs import Run

METRIC_TITLES: Final = {
    "bleu_1": "BLEU-1",
    "bleu_2": "BLEU-2",
    "bleu_3": "BLEU-3",
    "bleu_4": "BLEU-4",
    "meteor": "METEOR",
    "rouge_l": "ROUGE-L",
    "cider": "CIDEr",
    "token_f1": "Token F1",
    "exact_match": "Exact match",
    "similarity": "Similarity",
}

DOES_NOT_TELL_MODELS_APART: Final = frozenset({"duplicates"})
"""Signature parts that may differ between models whose numbers still compare."""


@dataclass(frozen=True)
class Cell:
    """One number of the table."""

    row: SummaryRow
    reason: str | None
    """Why there is no number."""
    is_best: bool
    overlaps_best: bool
    """True where the 95 % interval overlaps that of the column's best value."""


@dataclass(frozen=True)
class ModelRow:
    """One model of one run."""

    name: str
    run: Run
    info: ModelInfo
    cells: dict[str, Cell | None]
    """By metric; None where the model's run does not have the metric."""


@dataclass(frozen=True)
class Leaderboard:
    """Models of all runs side by side."""

    metrics: list[str]
    models: list[ModelRow]
    mixed: dict[str, list[str]]
    """Metrics whose numbers do not compare between models, with the signature parts that differ."""

    def curves(self, metric: str) -> list[tuple[str, list[CurvePoint]]]:
        """Each model's points over turn positions, in order; models without any left out."""
        found = []
        for model in self.models:
            points = [point for point in model.run.curves if point.metric == metric and point.model == model.info.model]
            if points:
                found.append((model.name, sorted(points, key=lambda point: point.turn_index)))
        return found

    def signatures(self) -> list[tuple[str, list[str], list[str]]]:
        """Each distinct signature without its metric, the metrics and the models that carry it."""
        grouped: dict[str, tuple[list[str], list[str]]] = {}
        for model in self.models:
            for metric, cell in model.cells.items():
                if cell is None:
                    continue
                metrics, models = grouped.setdefault(cell.row.signature, ([], []))
                if metric not in metrics:
                    metrics.append(metric)
                if model.name not in models:
                    models.append(model.name)
        return [(signature, metrics, models) for signature, (metrics, models) in grouped.items()]


def build(runs: Sequence[Run]) -> Leaderboard:
    """Put the models of several runs side by side.

    A model name that stands in several runs gets its run's name behind it.

    Raises:
        BenchmarkError: No run has a number or a reason for none.
    """
    if not any(run.summary for run in runs):
        raise BenchmarkError("the runs hold no scores, so there is nothing to report")
    metrics = list(dict.fromkeys(row.metric for run in runs for row in run.summary))
    names = Counter(info.model for run in runs for info in run.info.models)
    run_names = _distinct([run.name for run in runs])
    rows: list[tuple[str, Run, ModelInfo, dict[str, SummaryRow]]] = []
    for run, run_name in zip(runs, run_names, strict=True):
        for info in run.info.models:
            name = info.model if names[info.model] == 1 else f"{info.model} · {run_name}"
            rows.append((name, run, info, {row.metric: row for row in run.summary if row.model == info.model}))
    best = {metric: _best([found[metric] for *_, found in rows if metric in found]) for metric in metrics}
    models = [
        ModelRow(
            name,
            run,
            info,
            {metric: _cell(run, found[metric], best[metric]) if metric in found else None for metric in metrics},
        )
        for name, run, info, found in rows
    ]
    return Leaderboard(metrics, models, {metric: parts for metric in metrics if (parts := _mixed(metric, models))})


def _distinct(names: list[str]) -> list[str]:
    seen: Counter[str] = Counter()
    distinct = []
    for name in names:
        seen[name] += 1
        distinct.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return distinct


def _best(rows: list[SummaryRow]) -> SummaryRow | None:
    scored = [row for row in rows if row.value is not None]
    return max(scored, key=lambda row: row.value or 0.0) if scored else None


def _cell(run: Run, row: SummaryRow, best: SummaryRow | None) -> Cell:
    reason = None
    if row.value is None:
        reasons = [u.reason for u in run.info.unscored if (u.model, u.metric) == (row.model, row.metric)]
        reason = reasons[0] if reasons else "the run does not say why"
    is_best = best is not None and row.value is not None and row.value == best.value
    overlaps = (
        best is not None and row.high is not None and best.low is not None and row.high >= best.low and not is_best
    )
    return Cell(row, reason, is_best, overlaps)


def _mixed(metric: str, models: list[ModelRow]) -> list[str]:
    values: dict[str, set[str]] = defaultdict(set)
    cells = [cell for model in models if (cell := model.cells[metric]) and cell.row.value is not None]
    for cell in cells:
        signature = Signature.parse(cell.row.signature)
        values["subject"].add(signature.subject)
        parts = dict(signature.parts)
        for key in {key for other in cells for key, _ in Signature.parse(other.row.signature).parts}:
            values[key].add(parts.get(key, ""))
    return sorted(key for key, found in values.items() if len(found) > 1 and key not in DOES_NOT_TELL_MODELS_APART)


def title_of(metric: str) -> str:
    """How a metric is written for people."""
    return METRIC_TITLES.get(metric, metric)


def shown(value: float) -> str:
    """A value with four digits after the point, which is below the width of any interval seen so far."""
    return f"{value:.4f}"
