"""One metric's values of all models on the same turns or dialogues; the input of comparisons.

A measure states how its number follows from single values: as their mean, or as that of dialogues, tasks or kinds. The
values of a number that is not that mean are compared as they are, and a note says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.analysis.columns import metric_info
from reeltalk.analysis.leaderboard import Leaderboard, ModelRow
from reeltalk.analysis.style import STYLE_TRAITS, style_of
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.judge.protocol import find_protocol
from reeltalk.metrics.info import MeanOf
from reeltalk.metrics.scoring import METRICS, TEXT_METRICS, MetricResult, score_texts
from reeltalk.metrics.tokenise import Language, languages_by_item
from reeltalk.store.runs import Run
from reeltalk.store.score_frame import SCORE

if TYPE_CHECKING:
    import polars as pl

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

KIND: Final = "kind"
TURN: Final = "turn"
TASK: Final = "task"
PLACE_COLUMNS: Final = ("video_id", "unit", "unit_id", "turn_index", "task", "labels")
"""Columns that say where a turn belongs."""
UNIT_COLUMNS: Final = ("unit", "unit_id")
CACHED_MATRICES: Final = 4
"""Matrices that are kept, since pairs of models are compared metric by metric."""
MEAN_TOLERANCE: Final = 1e-9
"""Maximum relative difference between a mean and an equal number of the leaderboard."""


@dataclass(frozen=True)
class ScoreMatrix:
    """One metric, with a row for each item and a column for each model."""

    metric: str
    values: Floats
    """(N, M); NaN where there is no score."""
    places: "pl.DataFrame"
    """(N,) with the columns of `PLACE_COLUMNS`, as far as an item has them."""
    mean_of: MeanOf
    """How values are averaged."""
    is_mean: bool
    """True if the leaderboard's number is the mean of these values."""
    item: str = "turn"
    """The item of a row: a turn, or a chain, path or dialogue judged as a whole."""

    @cached_property
    def videos(self) -> Ints:
        """(N,) the source video of each item, as a number in the order of their names."""
        return self.numbers("video_id")

    def numbers(self, *columns: str) -> Ints:
        """(N,) number of the group of items with equal values in some columns, in the order of these values."""
        import polars as pl

        texts = self.places.select(pl.col(columns).cast(pl.String).fill_null(""))
        return texts.select(pl.struct(columns).rank("dense")).to_series().to_numpy().astype(np.intp) - 1


@dataclass(frozen=True)
class AveragedRows:
    """The rows of a mean after averaging within units, with video, stratum and values."""

    videos: Ints
    strata: Ints
    weights: Floats
    """Weight of the mean of each stratum; the sum is 1."""
    values: dict[str, Floats]

    def mean(self, name: str) -> float:
        """The number over all rows."""
        sums = np.bincount(self.strata, weights=self.values[name], minlength=len(self.weights))
        return float((sums / np.bincount(self.strata, minlength=len(self.weights))) @ self.weights)


def average_units(sheet: ScoreMatrix, there: Bools, values: Mapping[str, Floats]) -> AveragedRows:
    """Average values as the leaderboard does, up to the last mean.

    Args:
        sheet: The matrix, which says how.
        there: (N,) True for items to include; at least one.
        values: (N,) arrays by name, finite for included items.
    """
    rows = np.flatnonzero(there)
    kept = {name: column[rows] for name, column in values.items()}
    if sheet.mean_of in ("dialogues", "tasks"):
        unit, first = _in_order_of_first(sheet.numbers("video_id", "unit_id")[rows])
        counts = np.bincount(unit)
        kept = {name: np.bincount(unit, weights=column) / counts for name, column in kept.items()}
        rows = rows[first]
    groups = np.zeros(len(rows), np.intp)
    if sheet.mean_of in ("tasks", "kinds"):
        groups = sheet.numbers("task" if sheet.mean_of == "tasks" else "unit")[rows]
    strata, firsts = _in_order_of_first(groups)
    weights = np.full(len(firsts), 1 / len(firsts))
    return AveragedRows(sheet.videos[rows], strata, weights, kept)


def _in_order_of_first(keys: Ints) -> tuple[Ints, Ints]:
    """(N,) keys numbered in the order in which they come, and (K,) the first place of each."""
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    return rank[number], first[order]


def leaderboard_number(model: ModelRow, metric: str) -> float | None:
    """A model's number of the leaderboard, even if it is withheld."""
    cell = model.cells[metric]
    if cell is None:
        return None
    return cell.row.value if cell.row.value is not None else cell.row.over_scored


class Turns:
    """The turns of all models of a leaderboard, from the frames of their runs.

    Raises:
        BenchmarkError: A table of scores lacks a row.
        InputError: A table is damaged.
    """

    def __init__(self, board: Leaderboard) -> None:
        import polars as pl
        from polars import selectors as cs

        self.board = board
        answers, floor = board.answers, board.floor_scores
        self.sampled = frozenset(floor["column"])
        """Places of models whose scores are of empty answers that were not played, to a sample of the turns."""
        if len(floor):
            # An empty answer is about the turn of which it was judged, as the first model of its run was asked it.
            first = answers.unique(["run", "item_id"], keep="first", maintain_order=True)
            own = first.drop("row", "model", "column", cs.starts_with(SCORE))
            floor = floor.drop("row", "model").join(own, on=["run", "item_id"], maintain_order="left")
            answers = pl.concat([answers, floor.drop_nulls("video_id")], how="diagonal")
        items = answers.unique("item_id", keep="first", maintain_order=True).select("item_id", *PLACE_COLUMNS)
        number = items.select("item_id", number=pl.int_range(pl.len()))
        self._answers = answers.join(number, on="item_id", how="left", maintain_order="left")
        self._rows = self._answers["number"].to_numpy().astype(np.intp)
        self._columns = self._answers["column"].to_numpy().astype(np.intp)
        self.places = items.drop("item_id")
        """(N,) where each turn belongs, from the first model that was asked it."""
        self.wordings = np.zeros((len(items), len(board.models)), np.uint64)
        """(N, M) hash of the wording that each model was asked; 0 if it was not asked."""
        self.wordings[self._rows, self._columns] = self._answers["wording"].to_numpy()
        self.sheet = lru_cache(maxsize=CACHED_MATRICES)(self._make_sheet)
        """Returns a metric's values; None if the runs have no values of single items."""
        self._styles: dict[int, Floats] = {}
        self._corpora: dict[str, list[tuple[Ints, dict[str, MetricResult]] | None]] = {}

    def same_wording(self, sheet: ScoreMatrix, first: int, second: int) -> Bools:
        """(N,) true for items that both models were asked in the same words."""
        alike: Bools = (self.wordings[:, first] == self.wordings[:, second]) & (self.wordings[:, first] > 0)
        if sheet.item == TURN:
            return alike
        # A unit is judged as a whole: if one turn differs, or only one model has it, the units are not the same.
        anywhere = (self.wordings[:, first] > 0) | (self.wordings[:, second] > 0)
        spoiled = set(self.places.filter(anywhere & ~alike).select(UNIT_COLUMNS).iter_rows())
        return np.array([unit not in spoiled for unit in sheet.places.select(UNIT_COLUMNS).iter_rows()], bool)

    def groups(self, sheet: ScoreMatrix, by: str) -> dict[str, Bools]:
        """The items of each group; an item may belong to several.

        Args:
            sheet: The matrix of the items.
            by: `task`, `kind`, `turn`, `answer_type`, or labels as `question_type` or `svbench.skill`.

        Raises:
            SettingError: No item has such labels; the message names the existing ones.
        """
        import polars as pl

        turns = self._groups_of_turns(by)
        if turns.is_empty():
            raise SettingError(f"--by {by}: no turn has it; these turns can be grouped by {', '.join(self.kinds())}")
        if sheet.item != TURN:
            # A unit belongs to the groups of its turns.
            units = sheet.places.select(*UNIT_COLUMNS, number=pl.int_range(pl.len()))
            turns = turns.drop("number").unique(maintain_order=True).join(units, on=UNIT_COLUMNS, maintain_order="left")
        found = {}
        for (group,), rows in turns.group_by("group", maintain_order=True):
            found[str(group)] = np.zeros(len(sheet.places), bool)
            found[str(group)][rows["number"].to_numpy()] = True
        return found

    def _groups_of_turns(self, by: str) -> "pl.DataFrame":
        """A row for each turn and group of it: number of the turn, its unit, the group."""
        import polars as pl

        turns = self.places.with_columns(number=pl.int_range(pl.len()))
        if by in (TASK, KIND, TURN):
            named = {TASK: pl.col("task"), KIND: pl.col("unit"), TURN: pl.col("turn_index") + 1}[by]
            found = turns.with_columns(group=named.cast(pl.String))
        else:
            label = pl.col("labels").cast(pl.String).str.split_exact("=", 1)
            vocabulary = label.struct.field("field_0")
            found = (
                turns.explode("labels", empty_as_null=False)
                .filter((vocabulary == by) | (vocabulary.str.split(".").list.last() == by))
                .with_columns(group=pl.col("labels").cast(pl.String).str.splitn("=", 2).struct.field("field_1"))
            )
        return found.drop_nulls("group").select("number", *UNIT_COLUMNS, "group")

    def kinds(self) -> list[str]:
        """Names by which turns can be grouped."""
        import polars as pl

        labels = self.places.select(pl.col("labels").explode(empty_as_null=False).unique()).to_series().cast(pl.String)
        known = set(labels.str.split("=").list.first())
        return [TURN, KIND, *([TASK] if self.places["task"].count() else []), *sorted(known)]

    def styles(self, column: int) -> Floats:
        """(N, 3) style of a model's answers, as `style_of` gives it; NaN where it has none."""
        if column not in self._styles:
            import polars as pl

            found = np.full((len(self.places), len(STYLE_TRAITS)), np.nan)
            for number, (run, columns) in enumerate(self.board.runs):
                if column in columns.values() and column not in self.sampled:
                    own = self._answers.filter(pl.col("column") == column, pl.col("run") == number)
                    answers = run.answers()
                    for row, place in own.select("row", "number").iter_rows():
                        found[place] = style_of(answers[row].text)
            self._styles[column] = found
        return self._styles[column]

    def corpus(self, metric: str) -> list[tuple[Ints, MetricResult] | None]:
        """For each model the rows of its scored turns and a text metric of the whole file, computed again.

        Args:
            metric: One of `bleu_1` to `bleu_4`.

        Returns:
            None for models for which the result differs from the leaderboard's number.
        """
        wanted = next(name for name, produced in METRICS.items() if metric in produced)
        if wanted not in self._corpora:
            self._corpora[wanted] = self._score_anew(wanted, metric)
        found: list[tuple[Ints, MetricResult] | None] = []
        for model, scored in zip(self.board.models, self._corpora[wanted], strict=True):
            number = leaderboard_number(model, metric)
            there = scored is not None and number is not None and _same(scored[1][metric].corpus, number)
            found.append((scored[0], scored[1][metric]) if scored is not None and there else None)
        return found

    def _score_anew(self, wanted: str, metric: str) -> list[tuple[Ints, dict[str, MetricResult]] | None]:
        import polars as pl

        found: list[tuple[Ints, dict[str, MetricResult]] | None] = [None for _ in self.board.models]
        scored = self._answers.filter(pl.col(SCORE + metric).is_not_null())
        for run, columns in self.board.runs:
            answers = run.answers()
            spoken = languages_by_item(((answer.item_id, answer.references) for answer in answers), _language(run))
            for column in columns.values():
                own = scored.filter(pl.col("column") == column)
                if len(own):
                    texts = [answers[row] for row in own["row"]]
                    results = score_texts(
                        [answer.text for answer in texts],
                        [answer.references for answer in texts],
                        [wanted],
                        languages=[spoken[answer.item_id] for answer in texts],
                    )
                    found[column] = own["number"].to_numpy().astype(np.intp), results
        return found

    def _values(self, metric: str) -> Floats | None:
        """(N, M) NaN where there is no score; None if no turn has one."""
        if SCORE + metric not in self._answers.columns:
            return None
        values = np.full(self.wordings.shape, np.nan)
        values[self._rows, self._columns] = self._answers[SCORE + metric].fill_null(np.nan).to_numpy()
        return values if np.isfinite(values).any() else None

    def _make_sheet(self, metric: str) -> ScoreMatrix | None:
        info = metric_info(metric)
        mean_of: MeanOf = "items" if info is None else info.mean_of
        values = self._values(metric)
        if values is not None:
            sheet = ScoreMatrix(metric, values, self.places, mean_of, True)
            if mean_of != "file" and self._comes_out(sheet):
                return sheet
            return ScoreMatrix(metric, values, self.places, "items", False)
        units = self._unit_sheet(metric, mean_of)
        return units if units is not None and self._comes_out(units) else None

    def _floor_of_units(self, measure: str, units: "pl.DataFrame") -> "pl.DataFrame":
        """What a judge gave empty answers to whole units: unit, the model's place and value."""
        import polars as pl

        floor = self.board.floor_scores
        item = pl.concat_str(pl.col("unit").cast(pl.String), pl.lit(":"), pl.col("unit_id").cast(pl.String))
        value = pl.col(SCORE + measure) if SCORE + measure in floor.columns else pl.lit(None, pl.Float64)
        found = units.with_columns(item_id=item).join(floor, on="item_id", maintain_order="left")
        return found.select(*UNIT_COLUMNS, "column", value=value).drop_nulls("value")

    def _comes_out(self, sheet: ScoreMatrix) -> bool:
        """True if every model's number is the mean of its values. A run of another program may state another one."""
        some = False
        for column, model in enumerate(self.board.models):
            number = leaderboard_number(model, sheet.metric)
            there = np.isfinite(sheet.values[:, column])
            if number is None or column in self.sampled or not there.any():
                continue
            if not _same(average_units(sheet, there, {"value": sheet.values[:, column]}).mean("value"), number):
                return False
            some = True
        return some

    def _unit_sheet(self, metric: str, mean_of: MeanOf) -> ScoreMatrix | None:
        """Values of whole units from the rows of judges: their mean over judgings, on the scale of the measure."""
        import polars as pl

        family, *rest = metric.split(".")
        if metric in TEXT_METRICS or not rest:
            return None
        protocol, info = find_protocol(family), metric_info(metric)
        criterion = protocol.main.name if protocol is not None and mean_of == "kinds" else ".".join(rest)
        found = self.board.judgings.filter(
            (pl.col("protocol") == family)
            & (pl.col("unit") != TURN)
            & (pl.col("criterion") == criterion)
            & pl.col("value").is_not_null()
            & pl.col("video_id").is_not_null()
        )
        if found.is_empty():
            return None
        described = None if protocol is None else protocol.criterion(criterion)
        scale = 1.0
        if described is not None and info is not None and info.width is not None:
            scale = info.width / (described.high - described.low)
        units = found.group_by(UNIT_COLUMNS, maintain_order=True).agg(pl.col("video_id").last())
        units = units.with_columns(number=pl.int_range(pl.len()))
        means = found.group_by(*UNIT_COLUMNS, "column", maintain_order=True).agg(pl.col("value").mean())
        means = pl.concat([means, self._floor_of_units(f"{family}.{criterion}", units)], how="vertical_relaxed")
        means = means.join(units, on=UNIT_COLUMNS, maintain_order="left")
        tasks = self.places.group_by(UNIT_COLUMNS, maintain_order=True).agg(pl.col("task").last())
        places = units.join(tasks, on=UNIT_COLUMNS, how="left", maintain_order="left").with_columns(
            turn_index=pl.lit(0)
        )
        values = np.full((len(units), len(self.board.models)), np.nan)
        values[means["number"].to_numpy(), means["column"].to_numpy()] = scale * means["value"].to_numpy()
        item = " or ".join(sorted(places["unit"].unique()))
        return ScoreMatrix(metric, values, places, mean_of, True, item=item)


def score_column(board: Leaderboard, name: str) -> int:
    """The place of a model by its name on the leaderboard, or by its own name if it is unique.

    Raises:
        BenchmarkError: There is none, or there are several; the message names the models.
    """
    shown = [index for index, model in enumerate(board.models) if model.name == name]
    own = shown or [index for index, model in enumerate(board.models) if model.info.model == name]
    if len(own) == 1:
        return own[0]
    names = ", ".join(repr(board.models[index].name) for index in own or range(len(board.models)))
    if own:
        raise BenchmarkError(f"several models are called {name!r}; name one of {names}")
    raise BenchmarkError(f"the runs have no model {name!r}; they have {names}")


def _same(value: float, number: float) -> bool:
    return abs(value - number) <= MEAN_TOLERANCE * max(1.0, abs(number))


def _language(run: Run) -> Language:
    """The language setting of a run's text metrics."""
    settings = run.info.settings
    judging = settings.get("judging")
    said = settings.get("language") or (judging.get("language") if isinstance(judging, dict) else None)
    return "en" if said == "en" else "zh" if said == "zh" else "auto"
