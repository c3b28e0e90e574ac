"""One metric's values of all models on the same turns or dialogues; the input of comparisons.

A run does not state how the leaderboard's number is computed from single values. So this module tries the known ways,
such as the mean over turns or over dialogues, and uses one only if it gives every model's number.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from reeltalk.analysis.columns import TEXT
from reeltalk.analysis.leaderboard import Leaderboard, ModelRow
from reeltalk.analysis.turn_scores import scored_turns
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.metrics.scoring import METRICS, MetricResult, score_texts
from reeltalk.metrics.tokenise import ItemLanguages, Language, Spoken, languages_by_item
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.runs import Run

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

Nesting = Literal["items", "units", "tasks", "kinds"]
"""Whether items are averaged directly, first within dialogues, or also within tasks or kinds of units."""

KIND: Final = "kind"
TURN: Final = "turn"
TASK: Final = "task"
ANSWER_TYPE: Final = "answer_type"
"""Group by type of the answer, for turns with a key."""


@dataclass(frozen=True)
class TurnPlace:
    """The position and labels of a turn or a unit."""

    video_id: str
    unit: str
    """`chain`, `path` or `dialogue`."""
    unit_id: str
    turn_index: int
    task: str | None
    labels: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class ScoreMatrix:
    """One metric, with a row for each item and a column for each model."""

    metric: str
    values: Floats
    """(N, M); NaN where there is no score."""
    places: Sequence[TurnPlace]
    """(N,)"""
    nesting: Nesting
    is_mean: bool
    """True if the leaderboard's number is the mean of these values with this nesting."""
    item: str = "turn"
    """The item of a row: a turn, or a chain, path or dialogue judged as a whole."""

    @property
    def videos(self) -> NDArray[np.str_]:
        """(N,) the source video of each item."""
        return np.array([place.video_id for place in self.places])


@dataclass(frozen=True)
class AveragedRows:
    """The rows of a mean after averaging within units, with video, stratum and values."""

    videos: NDArray[np.str_]
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
        sheet: The matrix, which has the nesting.
        there: (N,) True for items to include; at least one.
        values: (N,) arrays by name, finite for included items.
    """
    chosen = np.flatnonzero(there)
    places = [sheet.places[row] for row in chosen.tolist()]
    kept = {name: column[chosen] for name, column in values.items()}
    if sheet.nesting in ("units", "tasks"):
        units: dict[tuple[str, str], int] = {}
        unit = np.array([units.setdefault((p.video_id, p.unit_id), len(units)) for p in places], np.intp)
        _, first = np.unique(unit, return_index=True)
        counts = np.bincount(unit)
        kept = {name: np.bincount(unit, weights=column) / counts for name, column in kept.items()}
        places = [places[int(row)] for row in first]
    of: Callable[[TurnPlace], str] = {"tasks": _task, "kinds": _kind}.get(sheet.nesting, _one)
    numbers: dict[str, int] = {}
    strata = np.array([numbers.setdefault(of(place), len(numbers)) for place in places], np.intp)
    weights = np.full(len(numbers), 1 / len(numbers))
    return AveragedRows(np.array([place.video_id for place in places]), strata, weights, kept)


def leaderboard_number(model: ModelRow, metric: str) -> float | None:
    """A model's number of the leaderboard, even if it is withheld."""
    cell = model.cells[metric]
    if cell is None:
        return None
    return cell.row.value if cell.row.value is not None else cell.row.over_scored


def _task(place: TurnPlace) -> str:
    return place.task or ""


def _kind(place: TurnPlace) -> str:
    return place.unit


def _one(place: TurnPlace) -> str:
    return ""


def turn_groups(place: TurnPlace, by: str) -> Sequence[str]:
    """The groups that a turn belongs to.

    Args:
        place: The turn.
        by: `task`, `kind`, `turn`, or the whole or last part of a label's name.
    """
    if by == TASK:
        return [place.task] if place.task else []
    if by == KIND:
        return [place.unit]
    if by == TURN:
        return [str(place.turn_index + 1)]
    return [value for name, values in place.labels.items() if by in (name, name.split(".")[-1]) for value in values]


SAME: Final = 1e-9
"""Maximum relative difference between a mean and an equal number of the leaderboard."""
SCALES: Final = (1.0, 10.0, 100.0)
"""Factors between a judge's marks and numbers in tables."""


@dataclass
class Turns:
    """The turns of all models of a leaderboard."""

    board: Leaderboard
    places: list[TurnPlace] = field(default_factory=list)
    asked: Ints = field(default_factory=lambda: np.zeros((0, 0), np.intp))
    """(N, M) number of the wording that each model was asked, from 1; 0 if it was not asked."""
    _rows: dict[str, int] = field(default_factory=dict)
    _sheets: dict[str, ScoreMatrix | None] = field(default_factory=dict)
    _values: dict[str, Floats] = field(default_factory=dict)
    _corpora: dict[str, list[tuple[Ints, dict[str, MetricResult]] | None]] = field(default_factory=dict)

    @classmethod
    def read(cls, board: Leaderboard) -> "Turns":
        """Read the answers and scores of every run.

        Raises:
            BenchmarkError: A table of scores lacks a row.
            InputError: A table is damaged.
        """
        turns = cls(board)
        turns._read_answers()
        turns._read_scores()
        return turns

    def sheet(self, metric: str) -> ScoreMatrix | None:
        """A metric's values; None if the runs have no values of single items."""
        if metric not in self._sheets:
            self._sheets[metric] = self._make_sheet(metric)
        return self._sheets[metric]

    def asked_alike(self, sheet: ScoreMatrix, first: int, second: int) -> Bools:
        """(N,) true for items that both models were asked in the same words.

        Args:
            sheet: The matrix of the items.
            first: Place of a model in the leaderboard.
            second: Place of another model.
        """
        alike: Bools = (self.asked[:, first] == self.asked[:, second]) & (self.asked[:, first] > 0)
        if sheet.item == TURN:
            return alike
        # A unit is judged as a whole: if one turn differs, or only one model has it, the units are not the same.
        anywhere = (self.asked[:, first] > 0) | (self.asked[:, second] > 0)
        spoiled = {
            (p.unit, p.unit_id) for p, a, there in zip(self.places, alike, anywhere, strict=True) if there and not a
        }
        return np.array([(place.unit, place.unit_id) not in spoiled for place in sheet.places], bool)

    def groups(self, sheet: ScoreMatrix, by: str) -> dict[str, Bools]:
        """The items of each group; an item may belong to several.

        Args:
            sheet: The matrix of the items.
            by: `task`, `kind`, `turn`, `answer_type`, or labels as `question_type` or `svbench.skill`.

        Raises:
            SettingError: No item has such labels; the message names the existing ones.
        """
        found: dict[str, set[int]] = {}
        rows = range(len(sheet.places)) if sheet.item == TURN else []
        for row in rows:
            for group in turn_groups(sheet.places[row], by):
                found.setdefault(group, set()).add(row)
        if sheet.item != TURN:
            of_unit: dict[tuple[str, str], set[str]] = {}
            for place in self.places:
                of_unit.setdefault((place.unit, place.unit_id), set()).update(turn_groups(place, by))
            for row, place in enumerate(sheet.places):
                for group in of_unit.get((place.unit, place.unit_id), ()):
                    found.setdefault(group, set()).add(row)
        if not found and not any(turn_groups(place, by) for place in self.places):
            raise SettingError(f"--by {by}: no turn has it; these turns can be grouped by {', '.join(self.kinds())}")
        return {group: np.isin(np.arange(len(sheet.places)), sorted(rows)) for group, rows in found.items()}

    def kinds(self) -> list[str]:
        """Names by which turns can be grouped."""
        labels = {name for place in self.places for name, values in place.labels.items() if values}
        return [TURN, KIND, *([TASK] if any(place.task for place in self.places) else []), *sorted(labels)]

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
            told = leaderboard_number(model, metric)
            there = scored is not None and told is not None and _same(scored[1][metric].corpus, told)
            found.append((scored[0], scored[1][metric]) if scored is not None and there else None)
        return found

    def _score_anew(self, wanted: str, metric: str) -> list[tuple[Ints, dict[str, MetricResult]] | None]:
        texts: list[tuple[list[int], list[str], list[tuple[str, ...]], list[Spoken]]] = [
            ([], [], [], []) for _ in self.board.models
        ]
        scored = np.isfinite(self._values[metric])
        spoken: dict[int, ItemLanguages] = {}
        for run, columns in self._runs():
            spoken[id(run)] = languages_by_item(
                ((answer.item_id, answer.references) for answer in run.answers()), _language(run)
            )
            for answer in run.answers():
                row = self._rows[answer.item_id]
                for column in columns.get(answer.model, ()):
                    if scored[row, column]:
                        texts[column][0].append(row)
                        texts[column][1].append(answer.text)
                        texts[column][2].append(answer.references)
                        texts[column][3].append(spoken[id(run)][answer.item_id])
        found: list[tuple[Ints, dict[str, MetricResult]] | None] = []
        for rows, answers, references, languages in texts:
            results = score_texts(answers, references, [wanted], languages=languages) if rows else {}
            found.append((np.array(rows, np.intp), results) if rows else None)
        return found

    def _runs(self) -> Iterator[tuple[Run, dict[str, list[int]]]]:
        """Each run once, with the columns of its models by their own names."""
        for run in {id(model.run): model.run for model in self.board.models}.values():
            columns: dict[str, list[int]] = {}
            for index, model in enumerate(self.board.models):
                if model.run is run:
                    columns.setdefault(model.info.model, []).append(index)
            yield run, columns

    def _read_answers(self) -> None:
        wordings: list[dict[object, int]] = []
        cells: list[tuple[int, int, int]] = []
        for run, columns in self._runs():
            for answer in run.answers():
                if answer.model not in columns:
                    continue
                row = self._rows.setdefault(answer.item_id, len(self._rows))
                if row == len(wordings):
                    wordings.append({})
                    labels = answer.labels | ({ANSWER_TYPE: (answer.key.type,)} if answer.key is not None else {})
                    self.places.append(
                        TurnPlace(answer.video_id, answer.unit, answer.unit_id, answer.turn_index, answer.task, labels)
                    )
                known = wordings[row]
                words = (answer.video_id, answer.question, answer.references, answer.options)
                number = known.setdefault(words, len(known) + 1)
                cells += [(row, column, number) for column in columns[answer.model]]
        self.asked = np.zeros((len(wordings), len(self.board.models)), np.intp)
        for row, column, number in cells:
            self.asked[row, column] = number

    def _read_scores(self) -> None:
        shape = self.asked.shape
        for run, columns in self._runs():
            for turn in scored_turns(run):
                for column in columns.get(turn.model, ()):
                    row = self._rows[turn.item_id]
                    for metric, value in turn.scores.items():
                        if metric not in self._values:
                            self._values[metric] = np.full(shape, np.nan)
                        self._values[metric][row, column] = value

    def _make_sheet(self, metric: str) -> ScoreMatrix | None:
        if metric in self._values:
            for nesting in ("items", "units", "tasks"):
                sheet = ScoreMatrix(metric, self._values[metric], self.places, nesting, True)
                if self._comes_out(sheet):
                    return sheet
        for sheet in self._judged_sheets(metric):
            if self._comes_out(sheet):
                return sheet
        if metric in self._values:
            return ScoreMatrix(metric, self._values[metric], self.places, "items", False)
        return None

    def _comes_out(self, sheet: ScoreMatrix) -> bool:
        """True if every model's number is the mean of its values with this nesting."""
        some = False
        for column, model in enumerate(self.board.models):
            told = leaderboard_number(model, sheet.metric)
            there = np.isfinite(sheet.values[:, column])
            if told is None or not there.any():
                continue
            rows = average_units(sheet, there, {"value": sheet.values[:, column]})
            if not _same(rows.mean("value"), told):
                return False
            some = True
        return some

    def _judged_sheets(self, metric: str) -> Iterator[ScoreMatrix]:
        """Values of whole units from the rows of judges: their mean over samples, by scale and nesting."""
        family, *rest = metric.split(".")
        if metric in TEXT or not rest:
            return
        criterion = "OS" if rest == ["average"] else ".".join(rest)
        found: dict[tuple[str, str], dict[int, list[float]]] = {}
        videos: dict[tuple[str, str], str] = {}
        for run, columns in self._runs():
            if family not in run.protocols():
                continue
            for score in run.judged(family):
                if score.unit == TURN or score.criterion != criterion or score.value is None or not score.video_id:
                    continue
                for column in columns.get(score.model, ()):
                    _add(found, videos, score, column)
        if not found:
            return
        tasks = {(place.unit, place.unit_id): place.task for place in self.places}
        places = [TurnPlace(videos[key], *key, 0, tasks.get(key), {}) for key in found]
        marks = np.full((len(found), len(self.board.models)), np.nan)
        for row, columns_of in enumerate(found.values()):
            for column, values in columns_of.items():
                marks[row, column] = sum(values) / len(values)
        nesting: Nesting = "kinds" if rest == ["average"] else "items"
        for scale in SCALES:
            yield ScoreMatrix(
                metric, marks * scale, places, nesting, True, item=" or ".join(sorted({p.unit for p in places}))
            )


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


def _add(
    found: dict[tuple[str, str], dict[int, list[float]]],
    videos: dict[tuple[str, str], str],
    score: JudgedScore,
    column: int,
) -> None:
    key = (score.unit, score.unit_id)
    found.setdefault(key, {}).setdefault(column, []).append(score.value or 0.0)
    videos[key] = str(score.video_id)


def _same(value: float, told: float) -> bool:
    return abs(value - told) <= SAME * max(1.0, abs(told))


def _language(run: Run) -> Language:
    """The language setting of a run's text metrics."""
    settings = run.info.settings
    judging = settings.get("judging")
    said = settings.get("language") or (judging.get("language") if isinstance(judging, dict) else None)
    return "en" if said == "en" else "zh" if said == "zh" else "auto"
