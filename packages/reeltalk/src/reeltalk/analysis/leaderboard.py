"""The leaderboard as plain data: rows and columns, best values, counts, and which numbers are comparable."""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from reeltalk.analysis.columns import (
    BASELINE_NOTES,
    Column,
    Role,
    columns,
    competes,
    differing_parts,
    direction_of,
    floor_of,
    is_human,
    is_reference,
    metric_kind,
    metric_title,
    role_of,
    split_model_name,
)
from reeltalk.analysis.difference_words import Difference, describe_differences, part_titles
from reeltalk.analysis.values import format_range, format_value, metric_heading
from reeltalk.errors import BenchmarkError
from reeltalk.judge.protocol import COMPAT, measure_note
from reeltalk.metrics.info import Direction
from reeltalk.schema.overview import HasOverview, Overview
from reeltalk.schema.runs import CurvePoint, GroupRow, ModelInfo, SummaryRow, is_withheld
from reeltalk.schema.scoring import ScoreState
from reeltalk.store.runs import ANSWERS, INFO, SUMMARY, Run

if TYPE_CHECKING:
    import polars as pl

COLUMNS_SHOWN: Final = 3
"""Number of metrics in the overview of a leaderboard."""
FREE_PARTS: Final = frozenset({"duplicates", "epochs", "answers", "python", "weights", "model", "served"})
"""Signature parts that may differ between comparable numbers: all but the first two say which model answered."""

RESERVED_NAMES: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
)
"""Names that Windows reserves for devices, with any extension."""


@dataclass(frozen=True)
class Cell:
    """One number of the table."""

    row: SummaryRow
    reason: str | None
    """Why there is no number; None if there is one."""
    is_best: bool
    """True for the highest of several comparable values, or the lowest if less is better."""
    may_equal_best: bool
    """True if its 95 % interval overlaps the interval of the best value, or one of the two is missing."""

    @property
    def withheld(self) -> bool:
        """True if the number is not quoted because too many items are unscored."""
        return self.row.value is None and self.row.over_scored is not None

    @property
    def due(self) -> int:
        """Number of items that should have a score."""
        return self.row.n + self.row.unscored


@dataclass(frozen=True)
class ModelRow:
    """One model of one run."""

    name: str
    run: Run
    info: ModelInfo
    cells: dict[str, Cell | None]
    """By metric; None if the model's run does not have the metric."""
    curves: dict[str, list[CurvePoint]]
    """By metric, in order of turn positions; includes withheld points."""

    def quoted_curve(self, metric: str) -> list[CurvePoint]:
        """The points of a metric's curve that are not withheld."""
        return [point for point in self.curves.get(metric, ()) if point.value is not None]

    @property
    def page(self) -> str:
        """File of its page below the report's folder: a unique name that is safe on every system."""
        plain = re.sub(r"[^a-z0-9_-]", "_", self.name.lower())[:80]
        if plain != self.name or plain in RESERVED_NAMES:
            # A plain name has no dot, so it never equals a hashed one.
            plain += "." + hashlib.sha256(self.name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return f"models/{plain}.html"

    @property
    def title(self) -> str:
        """The name for people, without the hash of weights that tells two versions apart."""
        return model_title(self.name)

    @property
    def revision(self) -> str:
        """The hash of weights in the name; empty if there is none."""
        return split_model_name(self.name).weights

    @property
    def note(self) -> str:
        """What a baseline does; empty for other models."""
        return BASELINE_NOTES.get(self.info.source, "")

    @property
    def role(self) -> Role:
        """What the model is: a model, people, a baseline, a floor or a reference."""
        return role_of(self.info)

    @property
    def floor(self) -> str | None:
        """Description of a baseline that does not see the video; None for other models."""
        return floor_of(self.info)

    @property
    def competes(self) -> bool:
        """True for a model that may be called the best."""
        return competes(self.info)

    @property
    def is_human(self) -> bool:
        """True if people answered."""
        return is_human(self.info)

    @property
    def is_reference(self) -> bool:
        """True if the answers are the references themselves."""
        return is_reference(self.info)


@dataclass(frozen=True)
class SignatureLine:
    """A distinct signature, and the numbers that have it."""

    number: int
    """From 1, in the order of the table's numbers."""
    signature: str
    metrics: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class UnscoredLine:
    """A metric without a value, with reason and models."""

    metric: str
    reason: str
    models: list[str] = field(default_factory=list)


@dataclass(frozen=True, repr=False)
class Leaderboard(HasOverview):
    """Models of all runs."""

    metrics: list[str]
    """Names of all metrics, judged ones first."""
    models: list[ModelRow]
    """Models in the order of the runs, floors last."""
    mixed: dict[str, list[str]]
    """Metrics whose numbers are not comparable between models, with the signature parts that differ."""
    signatures: dict[str, SignatureLine]
    """By signature."""
    unscored: list[UnscoredLine]
    """Metrics without a value."""

    @cached_property
    def runs(self) -> list[tuple[Run, dict[str, int]]]:
        """Each run once, with the places of its models by their own names."""
        return [
            (run, {model.info.model: place for place, model in enumerate(self.models) if model.run is run})
            for run in {id(model.run): model.run for model in self.models}.values()
        ]

    @cached_property
    def answers(self) -> "pl.DataFrame":
        """The answers of all models in the order of the runs, with the columns of `RunScores.answers`.

        `run` is the place of the run in `runs`, `row` the place of the answer in it, and `column` the model's place.

        Raises:
            BenchmarkError: A table of scores lacks a row, or an answer is of an unknown model.
            InputError: A table is damaged.
        """
        import polars as pl

        for run, _ in self.runs:
            known = [info.model for info in run.info.models]
            strangers = run.scores.answers.filter(~pl.col("model").is_in(known))["model"]
            if len(strangers):
                raise BenchmarkError(
                    f"{run.path / ANSWERS} has an answer of model {strangers[0]!r}, which {INFO} does not list; "
                    "score the answers again"
                )
        return self._of_all("answers")

    @cached_property
    def judgings(self) -> "pl.DataFrame":
        """The judgings of all models, with the columns of `RunScores.judged`, `run`, `row` and `column`.

        `failed` is true for a judging that should have a score and has none; not for those of official scripts.

        Raises:
            InputError: A table is damaged.
        """
        import polars as pl

        criterion = pl.col("criterion").cast(pl.String).str.split(".")
        return self._of_all("judged").with_columns(
            failed=(pl.col("state") == ScoreState.UNSCORED) & ~criterion.list.contains(COMPAT)
        )

    @cached_property
    def floor_scores(self) -> "pl.DataFrame":
        """The scores of floors that were not played, with the columns of `RunScores.floor`, `run`, `row` and `column`.

        Raises:
            InputError: A table is damaged.
        """
        return self._of_all("floor")

    def _of_all(self, table: str) -> "pl.DataFrame":
        """A table of the scores of all runs, without models that are not on the leaderboard."""
        import polars as pl

        parts: list[pl.DataFrame] = [
            _numbered(getattr(run.scores, table))
            .filter(pl.col("model").is_in(list(columns)))
            .with_columns(
                run=pl.lit(number, pl.Int32),
                column=pl.col("model").cast(pl.String).replace_strict(columns, return_dtype=pl.Int32),
            )
            for number, (run, columns) in enumerate(self.runs)
        ]
        return pl.concat(parts, how="diagonal")

    @property
    def judged(self) -> list[Column]:
        """The first table: judged measures, each with the value of the official script and its floor."""
        return columns(self.metrics, ("headline", "compat", "floor"))

    @property
    def notes(self) -> list[str]:
        """What readers should know about measures of the first table, each once."""
        return list(dict.fromkeys(filter(None, (measure_note(column.metric) for column in self.judged))))

    @property
    def texts(self) -> list[Column]:
        """The table of text metrics."""
        return columns(self.metrics, ("text",))

    @property
    def timings(self) -> list[Column]:
        """The table of times, tokens and frames."""
        return columns(self.metrics, ("timing",))

    @property
    def details(self) -> list[tuple[str, list[str]]]:
        """Every judged metric by family, including official scripts and withheld numbers."""
        found: dict[str, list[str]] = {}
        for metric in self.metrics:
            if metric_kind(metric) not in ("text", "timing"):
                found.setdefault(metric.split(".")[0], []).append(metric)
        return list(found.items())

    @property
    def plotted(self) -> list[str]:
        """Metrics with figures: headlines and text metrics."""
        return [metric for metric in self.metrics if metric_kind(metric) in ("headline", "text")]

    @property
    def floors(self) -> list[ModelRow]:
        """The floors: baselines without knowledge of the video or the question."""
        return [model for model in self.models if model.floor is not None]

    @property
    def withheld(self) -> bool:
        """True if some number is withheld."""
        return self.withheld_among(self.metrics)

    def withheld_among(self, metrics: Sequence[str]) -> bool:
        """True if a number of these metrics is withheld."""
        cells = [model.cells[metric] for model in self.models for metric in metrics]
        return any(cell.withheld for cell in cells if cell)

    def floor(self, metric: str, run: Run) -> float | None:
        """The highest value of the floors: of the run's floors if it has some, else of all runs."""
        own = [model for model in self.floors if model.run is run] or (self.floors if metric not in self.mixed else [])
        found = [cell.row.value for model in own if (cell := model.cells[metric]) is not None]
        return max((value for value in found if value is not None), default=None)

    @property
    def subjects(self) -> list[str]:
        """Subjects of the runs, such as `vdact.answers`; usually one."""
        return list(dict.fromkeys(model.run.info.subject for model in self.models))

    @property
    def clusters(self) -> int:
        """Number of source videos behind the intervals, of the largest run."""
        return max(model.run.info.clusters for model in self.models)

    @property
    def has_best(self) -> bool:
        """True if some column has a best value."""
        return any(cell.is_best for model in self.models for cell in model.cells.values() if cell)

    @property
    def mixed_together(self) -> list[tuple[list[str], list[str]]]:
        """Metrics whose numbers are not comparable, grouped by the signature parts that differ."""
        groups: dict[tuple[str, ...], list[str]] = {}
        for metric, parts in self.mixed.items():
            groups.setdefault(tuple(parts), []).append(metric)
        return [(metrics, list(parts)) for parts, metrics in groups.items()]

    def differences(self, metric: str) -> list[Difference]:
        """What differs between the numbers of a metric, in words; empty if they are comparable."""
        cells = [
            (title, model.info, model.cells[metric]) for title, model in zip(self.titles, self.models, strict=True)
        ]
        numbers = [(title, info, cell.row) for title, info, cell in cells if cell is not None and not cell.reason]
        return describe_differences(numbers, self.mixed.get(metric, ()))

    def why_mixed(self, metric: str) -> str:
        """The same as sentences, each with how to make it equal."""
        return " ".join(map(str, self.differences(metric)))

    def differing(self, metric: str) -> str:
        """The settings in which the numbers of a metric differ, such as `number of frames and history`."""
        return part_titles(self.mixed.get(metric, ()))

    @cached_property
    def titles(self) -> list[str]:
        """Names of the models for people; with the hash of weights only if another model has the same name."""
        titles = [model.title for model in self.models]
        return [
            model.name if titles.count(title) > 1 else title for model, title in zip(self.models, titles, strict=True)
        ]

    def naming(self, models: Sequence[str]) -> str:
        """Names of models as text; `all models` if none is left out."""
        return "all models" if len(models) == len(self.models) > 1 else ", ".join(models)

    @property
    def shares_no_metric(self) -> bool:
        """True if there are several models and none of the metrics has a value for two of them."""
        values = [[model.cells[metric] for model in self.models] for metric in self.metrics]
        most = max(sum(cell is not None and cell.row.value is not None for cell in column) for column in values)
        return len(self.models) > 1 and most == 1

    def overview(self) -> Overview:
        """Every model with the first few metrics, and why numbers are missing."""
        # Of BLEU-1 to BLEU-4 the last stands for all.
        texts = {column.metric.rstrip("1234"): column.metric for column in self.texts}
        shown = [*(column.metric for column in self.judged), *texts.values()][:COLUMNS_SHOWN]
        rows = [(model.name, *(_value_cell(model.cells[metric], metric) for metric in shown)) for model in self.models]
        hidden = len(self.metrics) - len(shown)
        notes = [f"{line.metric}: not scored, {line.reason} ({self.naming(line.models)})" for line in self.unscored]
        notes += [
            f"not comparable: {', '.join(map(metric_title, found))}. {self.why_mixed(found[0])}"
            for found, _ in self.mixed_together
        ]
        notes += [f"{hidden:,} more metrics: reeltalk.stages.runs_table writes them all"] if hidden else []
        videos = f"{self.clusters:,} video{'s' if self.clusters != 1 else ''}"
        return Overview(
            f"{len(self.models):,} models, {videos}; means with 95 % intervals",
            ("model", *map(metric_heading, shown)),
            tuple(rows),
            tuple(notes),
        )


def _numbered(table: "pl.DataFrame") -> "pl.DataFrame":
    return table if "row" in table.columns else table.with_row_index("row")


def _value_cell(cell: Cell | None, metric: str) -> str:
    """A number with its interval, and how many items have no score."""
    if cell is None:
        return "–"
    row = cell.row
    if row.value is None:
        return f"none, {row.unscored:,} unscored" if row.unscored else "none"
    unscored = f", {row.unscored:,} unscored" if row.unscored else ""
    return f"{format_value(row.value, metric)} {format_range(row.low, row.high, metric)}".rstrip() + unscored


def _shown(runs: Sequence[Run]) -> list[tuple[int, ModelInfo, dict[str, SummaryRow]]]:
    """The models by place of their run, floors last; equal floors of several runs appear once."""
    models: list[tuple[int, ModelInfo, dict[str, SummaryRow]]] = []
    floors: list[tuple[int, ModelInfo, dict[str, SummaryRow]]] = []
    for place, run in enumerate(runs):
        found = _by_model(run)
        for info in run.info.models:
            rows = found[info.model]
            if floor_of(info) is None:
                models.append((place, info, rows))
            elif not any(before.model == info.model and equal == rows for _, before, equal in floors):
                floors.append((place, info, rows))
    return models + floors


def build_leaderboard(runs: Sequence[Run]) -> Leaderboard:
    """Build the leaderboard of several runs.

    If several runs have the same model name, the run's name is added to it.

    Raises:
        BenchmarkError: No run has a number or a reason for none, or a run contradicts itself.
    """
    if not any(run.summary for run in runs):
        raise BenchmarkError("the runs have no scores, so there is nothing to report; score some answers first")
    metrics = list(dict.fromkeys(row.metric for run in runs for row in run.summary))
    shown = _shown(runs)
    times = Counter(info.model for _, info, _ in shown)
    run_names = _distinct([run.name for run in runs])
    rows: list[tuple[str, Run, ModelInfo, dict[str, SummaryRow]]] = []
    for place, info, found in shown:
        name = info.model if times[info.model] == 1 else f"{info.model} · {run_names[place]}"
        rows.append((name, runs[place], info, found))
    numbers = {metric: [(info, found[metric]) for _, _, info, found in rows if metric in found] for metric in metrics}
    mixed = {
        metric: parts
        for metric in metrics
        if metric_kind(metric) != "timing" and (parts := differing_parts(numbers[metric], FREE_PARTS))
    }
    best = {
        metric: None
        if metric in mixed
        else _best([row for info, row in numbers[metric] if competes(info)], direction_of(metric))
        for metric in metrics
    }
    names = _distinct([name for name, *_ in rows])
    models = [
        ModelRow(
            name,
            run,
            info,
            {
                metric: _cell(run, found[metric], best[metric] if competes(info) else None) if metric in found else None
                for metric in metrics
            },
            _curves(run, info.model),
        )
        for name, (_, run, info, found) in zip(names, rows, strict=True)
    ]
    return Leaderboard(metrics, models, mixed, _signatures(metrics, models), _unscored(metrics, models))


def model_title(name: str) -> str:
    """The name of a model for people, without the hash of weights that tells two versions apart."""
    return split_model_name(name).title


def model_letter(index: int) -> str:
    """The letter of the model at a place of the leaderboard: A to Z, then AA, AB."""
    letters = ""
    index += 1
    while index:
        index, place = divmod(index - 1, 26)
        letters = chr(ord("A") + place) + letters
    return letters


def _distinct(names: list[str]) -> list[str]:
    """The names; repeated names get a number."""
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


def _best(rows: list[SummaryRow], direction: Direction) -> SummaryRow | None:
    """The row with the best value; None if there are not several values."""
    scored = [(row.value, row) for row in rows if row.value is not None]
    if len(scored) < 2 or direction == "neither":
        return None
    of = max if direction == "higher" else min
    return of(scored, key=lambda pair: pair[0])[1]


def _cell(run: Run, row: SummaryRow, best: SummaryRow | None) -> Cell:
    if row.value is None:
        return Cell(row, missing_reason(run, row), False, False)
    if best is None or best.value is None:
        return Cell(row, None, False, False)
    if row.value == best.value:
        return Cell(row, None, True, False)
    low, high = (best.low, row.high) if row.value < best.value else (row.low, best.high)
    return Cell(row, None, False, low is None or high is None or high >= low)


def missing_reason(run: Run, row: SummaryRow | GroupRow) -> str:
    """Why there is no number."""
    stated = [u.reason for u in run.info.unscored if (u.model, u.metric) == (row.model, row.metric)]
    if stated:
        return stated[0]
    due = row.n + row.unscored
    why = f" ({format_reasons(row.reasons)})" if isinstance(row, SummaryRow) and row.reasons else ""
    if row.over_scored is not None:
        if not is_withheld(row.n, row.unscored):
            return f"withheld: more than 2 % of a part of it, or of its judgings, are unscored{why}"
        return f"withheld: {row.unscored:,} of {due:,} are unscored, more than 2 %{why}"
    if row.unscored:
        return f"none of {due:,} has a score{why}"
    if isinstance(row, SummaryRow) and row.not_applicable:
        return f"it applies to none of {row.not_applicable:,}"
    return "the run does not say why"


def format_reasons(reasons: Mapping[str, int]) -> str:
    """Reasons for unscored items, such as `the model gave no answer: timed out: 3; there is no reference: 1`."""
    return "; ".join(f"{reason}: {count:,}" for reason, count in reasons.items())


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
