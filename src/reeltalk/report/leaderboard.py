"""What the pages show, as plain data: rows and columns, best values, what was counted, and which numbers compare."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.schema.runs import CurvePoint, ModelInfo, SummaryRow
from reeltalk.schema.scoring import Signature
from reeltalk.store.runs import INFO, SUMMARY, Run

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
    """True for the highest of several values that compare."""
    may_equal_best: bool
    """True where the 95 % intervals do not tell it from the best value: they overlap, or one of the two is missing."""


@dataclass(frozen=True)
class ModelRow:
    """One model of one run."""

    name: str
    run: Run
    info: ModelInfo
    cells: dict[str, Cell | None]
    """By metric; None where the model's run does not have the metric."""
    curves: dict[str, list[CurvePoint]]
    """By metric, in the order of turn positions."""


@dataclass(frozen=True)
class SignatureLine:
    """A distinct signature, and the numbers that carry it."""

    number: int
    """From 1, in the order of the table's numbers."""
    signature: str
    metrics: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class UnscoredLine:
    """A metric without a value, why, and for which models."""

    metric: str
    reason: str
    models: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Leaderboard:
    """Models of all runs side by side."""

    metrics: list[str]
    models: list[ModelRow]
    mixed: dict[str, list[str]]
    """Metrics whose numbers do not compare between models, with the signature parts that differ."""
    signatures: dict[str, SignatureLine]
    """By signature."""
    unscored: list[UnscoredLine]

    @property
    def subjects(self) -> list[str]:
        """What was scored, as `vdact.answers`: usually one."""
        return list(dict.fromkeys(model.run.info.subject for model in self.models))

    @property
    def clusters(self) -> int:
        """Source videos behind the intervals: those of the largest run."""
        return max(model.run.info.clusters for model in self.models)

    @property
    def has_best(self) -> bool:
        """True where some column has a value that is called the highest."""
        return any(cell.is_best for model in self.models for cell in model.cells.values() if cell)

    @property
    def mixed_together(self) -> list[tuple[list[str], list[str]]]:
        """Metrics whose numbers do not compare, grouped by the signature parts that differ."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for metric, parts in self.mixed.items():
            groups.setdefault(tuple(parts), []).append(metric)
        return [(metrics, list(parts)) for parts, metrics in groups.items()]

    def naming(self, models: Sequence[str]) -> str:
        """Some of the models as words: `all models` where none is left out."""
        return "all models" if len(models) == len(self.models) > 1 else ", ".join(models)

    @property
    def shares_no_metric(self) -> bool:
        """True where there are several models and none of the metrics has a value for two of them."""
        values = [[model.cells[metric] for model in self.models] for metric in self.metrics]
        most = max(sum(cell is not None and cell.row.value is not None for cell in column) for column in values)
        return len(self.models) > 1 and most == 1


def build(runs: Sequence[Run]) -> Leaderboard:
    """Put the models of several runs side by side.

    A model name that stands in several runs gets its run's name behind it.

    Raises:
        BenchmarkError: No run has a number or a reason for none, or a run contradicts itself.
    """
    if not any(run.summary for run in runs):
        raise BenchmarkError("the runs hold no scores, so there is nothing to report; score some answers first")
    metrics = list(dict.fromkeys(row.metric for run in runs for row in run.summary))
    times = Counter(info.model for run in runs for info in run.info.models)
    rows: list[tuple[str, Run, ModelInfo, dict[str, SummaryRow]]] = []
    for run, run_name in zip(runs, _distinct([run.name for run in runs]), strict=True):
        found = _by_model(run)
        for info in run.info.models:
            name = info.model if times[info.model] == 1 else f"{info.model} · {run_name}"
            rows.append((name, run, info, found[info.model]))
    columns = {metric: [found[metric] for *_, found in rows if metric in found] for metric in metrics}
    mixed = {metric: parts for metric in metrics if (parts := _differing_parts(columns[metric]))}
    best = {metric: None if metric in mixed else _best(columns[metric]) for metric in metrics}
    names = _distinct([name for name, *_ in rows])
    models = [
        ModelRow(
            name,
            run,
            info,
            {metric: _cell(run, found[metric], best[metric]) if metric in found else None for metric in metrics},
            _curves(run, info.model),
        )
        for name, (_, run, info, found) in zip(names, rows, strict=True)
    ]
    return Leaderboard(metrics, models, mixed, _signatures(metrics, models), _unscored(metrics, models))


def title_of(metric: str) -> str:
    """How a metric is written for people."""
    return METRIC_TITLES.get(metric, metric)


def shown(value: float) -> str:
    """A value with four digits after the point, below the width of any interval seen so far; two from 10 on."""
    return f"{value:.4f}" if abs(value) < 10 else f"{value:.2f}"


def key_of(index: int) -> str:
    """The letter by which figures name the model at that place of the leaderboard: A to Z, then AA, AB."""
    letters = ""
    index += 1
    while index:
        index, place = divmod(index - 1, 26)
        letters = chr(ord("A") + place) + letters
    return letters


def _distinct(names: list[str]) -> list[str]:
    """The names, those that came before with a number behind them."""
    taken: set[str] = set()
    distinct = []
    for name in names:
        tried, times = name, 1
        while tried in taken:
            times += 1
            tried = f"{name} ({times})"
        taken.add(tried)
        distinct.append(tried)
    return distinct


def _by_model(run: Run) -> dict[str, dict[str, SummaryRow]]:
    found: dict[str, dict[str, SummaryRow]] = {info.model: {} for info in run.info.models}
    for row in run.summary:
        if row.model not in found:
            raise BenchmarkError(
                f"{run.path / SUMMARY} has a number of model {row.model!r}, which {INFO} does not list; "
                "score the answers again"
            )
        if row.metric in found[row.model]:
            raise BenchmarkError(
                f"{run.path / SUMMARY} has two numbers of {row.metric!r} for model {row.model!r}; "
                "score the answers again"
            )
        found[row.model][row.metric] = row
    return found


def _curves(run: Run, model: str) -> dict[str, list[CurvePoint]]:
    found: dict[str, list[CurvePoint]] = defaultdict(list)
    for point in run.curves:
        if point.model == model:
            found[point.metric].append(point)
    return {metric: sorted(points, key=lambda point: point.turn_index) for metric, points in found.items()}


def _best(rows: list[SummaryRow]) -> SummaryRow | None:
    """The row with the highest value, where there are several to be best of."""
    scored = [(row.value, row) for row in rows if row.value is not None]
    return max(scored, key=lambda pair: pair[0])[1] if len(scored) > 1 else None


def _cell(run: Run, row: SummaryRow, best: SummaryRow | None) -> Cell:
    if row.value is None:
        reasons = [u.reason for u in run.info.unscored if (u.model, u.metric) == (row.model, row.metric)]
        return Cell(row, reasons[0] if reasons else "the run does not say why", False, False)
    if best is None or best.value is None:
        return Cell(row, None, False, False)
    if row.value == best.value:
        return Cell(row, None, True, False)
    return Cell(row, None, False, row.high is None or best.low is None or row.high >= best.low)


def _differing_parts(rows: list[SummaryRow]) -> list[str]:
    parts = [_parts(row.signature) for row in rows if row.value is not None]
    keys = {key for found in parts for key in found} - DOES_NOT_TELL_MODELS_APART
    return sorted(key for key in keys if len({found.get(key) for found in parts}) > 1)


def _parts(signature: str) -> dict[str, str]:
    try:
        parsed = Signature.parse(signature)
    except ValueError:
        # A run that another program wrote; its signatures still differ or not as a whole.
        return {"signature": signature}
    return {"subject": parsed.subject, **dict(parsed.parts)}


def _signatures(metrics: list[str], models: list[ModelRow]) -> dict[str, SignatureLine]:
    lines: dict[str, SignatureLine] = {}
    for metric in metrics:
        for model in models:
            if (cell := model.cells[metric]) is None:
                continue
            signature = cell.row.signature
            line = lines.setdefault(signature, SignatureLine(len(lines) + 1, signature))
            if metric not in line.metrics:
                line.metrics.append(metric)
            if model.name not in line.models:
                line.models.append(model.name)
    return lines


def _unscored(metrics: list[str], models: list[ModelRow]) -> list[UnscoredLine]:
    lines: dict[tuple[str, str], UnscoredLine] = {}
    for metric in metrics:
        for model in models:
            if (cell := model.cells[metric]) is not None and cell.reason is not None:
                lines.setdefault((metric, cell.reason), UnscoredLine(metric, cell.reason)).models.append(model.name)
    return list(lines.values())
