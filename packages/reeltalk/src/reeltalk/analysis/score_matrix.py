"""One metric's values of all models on the same turns or dialogues; the input of comparisons.

A run does not state how the leaderboard's number is computed from single values. So this module tries the known ways,
such as the mean over turns or over dialogues, and uses one only if it gives every model's number.
"""

import dataclasses
import math
import tempfile
import weakref
from array import array
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import IO, Any, Final, Generic, Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from reeltalk.analysis.columns import TEXT
from reeltalk.analysis.leaderboard import Leaderboard, ModelRow
from reeltalk.analysis.turn_scores import scored_turns
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.metrics.scoring import METRICS, MetricResult, score_texts
from reeltalk.metrics.tokenise import Language, languages_by_item
from reeltalk.schema.record import name_key
from reeltalk.schema.scoring import JudgedScore
from reeltalk.store.atomic import storage_errors
from reeltalk.store.rows import Column
from reeltalk.store.runs import Run

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]
H = TypeVar("H", bound=Hashable)

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
class ItemPlaces(Sequence[TurnPlace]):
    """Positions and labels of turns or units, 24 bytes each, with what they name once."""

    videos: Codes
    """(N,) the source video, as a number in the order of names."""
    kinds: Codes
    """(N,) place of the kind of unit in `kind_names`."""
    units: Codes
    """(N,) place of the unit's id in `unit_ids`."""
    turns: Codes
    """(N,) index of the turn."""
    tasks: Codes
    """(N,) place of the task in `task_names`."""
    labels: Codes
    """(N,) place of the labels in `label_sets`."""
    video_names: Sequence[str]
    kind_names: Sequence[str]
    unit_ids: Sequence[str]
    task_names: Sequence[str]
    """Empty for no task."""
    label_sets: Sequence[Mapping[str, tuple[str, ...]]]

    @classmethod
    def of(cls, places: Iterable[TurnPlace]) -> "ItemPlaces":
        """The places of items, read one by one."""
        videos, kinds, units, tasks = _Numbered[str](), _Numbered[str](), _Numbered[str](), _Numbered[str]()
        labels = _Numbered[tuple[tuple[str, tuple[str, ...]], ...]]()
        turns = array("i")
        for place in places:
            videos.add(place.video_id)
            kinds.add(place.unit)
            units.add(place.unit_id)
            tasks.add(place.task or "")
            labels.add(tuple(place.labels.items()))
            turns.append(place.turn_index)
        names = sorted(videos.names)
        place_of = {name: number for number, name in enumerate(names)}
        in_order = np.array([place_of[name] for name in videos.names], np.int32)
        return cls(
            in_order[videos.numbers] if names else videos.numbers,
            kinds.numbers,
            units.numbers,
            np.array(turns, np.int32),
            tasks.numbers,
            labels.numbers,
            names,
            list(kinds.names),
            list(units.names),
            list(tasks.names),
            [dict(entry) for entry in labels.names],
        )

    def at(self, rows: Ints) -> "ItemPlaces":
        """Some of the items."""
        names = ("videos", "kinds", "units", "turns", "tasks", "labels")
        return dataclasses.replace(self, **{name: getattr(self, name)[rows] for name in names})

    def __len__(self) -> int:
        return len(self.videos)

    @overload
    def __getitem__(self, place: int) -> TurnPlace: ...
    @overload
    def __getitem__(self, place: slice) -> list[TurnPlace]: ...
    def __getitem__(self, place: int | slice) -> TurnPlace | list[TurnPlace]:
        if isinstance(place, slice):
            return [self[number] for number in range(len(self))[place]]
        return TurnPlace(
            self.video_names[self.videos[place]],
            self.kind_names[self.kinds[place]],
            self.unit_ids[self.units[place]],
            int(self.turns[place]),
            self.task_names[self.tasks[place]] or None,
            self.label_sets[self.labels[place]],
        )


def _flags(rows: "array[int]", count: int) -> Bools:
    found = np.zeros(count, bool)
    found[np.array(rows, np.intp)] = True
    return found


class _Numbered(Generic[H]):
    """Values as numbers, in the order in which they come."""

    def __init__(self) -> None:
        self.names: dict[H, int] = {}
        self._numbers = array("i")

    def add(self, value: H) -> None:
        self._numbers.append(self.names.setdefault(value, len(self.names)))

    @property
    def numbers(self) -> Codes:
        """(N,) the number of each value."""
        return np.array(self._numbers, np.int32)


def _in_order_of_first(keys: NDArray[Any]) -> tuple[Ints, Ints]:
    """(N,) keys numbered in the order in which they come, and (K,) the first place of each."""
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order))
    return rank[number], first[order]


@dataclass(frozen=True)
class ScoreMatrix:
    """One metric, with a row for each item and a column for each model."""

    metric: str
    values: Floats
    """(N, M); NaN where there is no score."""
    places: "ItemPlaces"
    """(N,)"""
    nesting: Nesting
    is_mean: bool
    """True if the leaderboard's number is the mean of these values with this nesting."""
    item: str = "turn"
    """The item of a row: a turn, or a chain, path or dialogue judged as a whole."""

    @property
    def videos(self) -> Ints:
        """(N,) the source video of each item, as a number in the order of their names."""
        return self.places.videos.astype(np.intp)


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
        sheet: The matrix, which has the nesting.
        there: (N,) True for items to include; at least one.
        values: (N,) arrays by name, finite for included items.
    """
    rows = np.flatnonzero(there)
    places = sheet.places
    kept = {name: column[rows] for name, column in values.items()}
    if sheet.nesting in ("units", "tasks"):
        unit, first = _in_order_of_first(
            places.videos[rows].astype(np.int64) * len(places.unit_ids) + places.units[rows]
        )
        counts = np.bincount(unit)
        kept = {name: np.bincount(unit, weights=column) / counts for name, column in kept.items()}
        rows = rows[first]
    if sheet.nesting == "tasks":
        groups = places.tasks[rows]
    elif sheet.nesting == "kinds":
        groups = places.kinds[rows]
    else:
        groups = np.zeros(len(rows), np.int32)
    strata, firsts = _in_order_of_first(groups.astype(np.int64))
    weights = np.full(len(firsts), 1 / len(firsts))
    return AveragedRows(places.videos[rows].astype(np.intp), strata, weights, kept)


def leaderboard_number(model: ModelRow, metric: str) -> float | None:
    """A model's number of the leaderboard, even if it is withheld."""
    cell = model.cells[metric]
    if cell is None:
        return None
    return cell.row.value if cell.row.value is not None else cell.row.over_scored


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


NESTINGS: Final[tuple[Nesting, ...]] = ("items", "units", "tasks")
KEPT_SHEETS: Final = 4
"""Matrices that are kept, since pairs of models are compared metric by metric."""
ANSWERS_AT_A_TIME: Final = 4096
"""Answers whose scores are read at a time."""
SAME: Final = 1e-9
"""Maximum relative difference between a mean and an equal number of the leaderboard."""
SCALES: Final = (1.0, 10.0, 100.0)
"""Factors between a judge's marks and numbers in tables."""


class Turns:
    """The turns of all models of a leaderboard, some 100 bytes each; scores of other metrics stay in a file.

    Args:
        board: The models with their runs.

    Raises:
        BenchmarkError: A table of scores lacks a row, or the disk is full.
        InputError: A table is damaged.
    """

    def __init__(self, board: Leaderboard) -> None:
        self.board = board
        self._columns: list[list[int]] = []
        """Columns of each model of each run."""
        items, wordings, models, files = array("Q"), array("Q"), array("i"), array("i")
        found = ItemPlaces.of(self._answers(items, wordings, models, files))
        self._models, self._files = np.array(models, np.int32), np.array(files, np.int32)
        self._rows, first = _in_order_of_first(np.array(items, np.uint64))
        self.places = found.at(first)
        self.asked = self._numbered(np.array(wordings, np.uint64))
        """(N, M) number of the wording that each model was asked, from 1; 0 if it was not asked."""
        self._scored: set[str] = set()
        self._scores = self._stored_scores()
        self.sheet = lru_cache(maxsize=KEPT_SHEETS)(self._make_sheet)
        """Returns a metric's values; None if the runs have no values of single items."""
        self._corpora: dict[str, list[tuple[Ints, dict[str, MetricResult]] | None]] = {}

    @classmethod
    def read(cls, board: Leaderboard) -> "Turns":
        """Read the answers and scores of every run.

        Raises:
            BenchmarkError: A table of scores lacks a row, or the disk is full.
            InputError: A table is damaged.
        """
        return cls(board)

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
        found: dict[str, array[int]] = {}
        if sheet.item == TURN:
            for row, place in enumerate(sheet.places):
                for group in turn_groups(place, by):
                    found.setdefault(group, array("i")).append(row)
        else:
            of_unit: dict[tuple[str, str], set[str]] = {}
            for place in self.places:
                of_unit.setdefault((place.unit, place.unit_id), set()).update(turn_groups(place, by))
            for row, place in enumerate(sheet.places):
                for group in of_unit.get((place.unit, place.unit_id), ()):
                    found.setdefault(group, array("i")).append(row)
        if not found and not any(turn_groups(place, by) for place in self.places):
            raise SettingError(f"--by {by}: no turn has it; these turns can be grouped by {', '.join(self.kinds())}")
        return {group: _flags(rows, len(sheet.places)) for group, rows in found.items()}

    def kinds(self) -> list[str]:
        """Names by which turns can be grouped."""
        used = [self.places.label_sets[number] for number in np.unique(self.places.labels)]
        labels = {name for own in used for name, values in own.items() if values}
        tasks = any(self.places.task_names[number] for number in np.unique(self.places.tasks))
        return [TURN, KIND, *([TASK] if tasks else []), *sorted(labels)]

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
        found: list[tuple[Ints, dict[str, MetricResult]] | None] = [None for _ in self.board.models]
        scored = np.isfinite(self._values(metric))
        number = 0
        for run, columns in self._runs():
            answers = run.answers()
            spoken = languages_by_item(map(itemgetter("item_id", "references"), answers.raw()), _language(run))
            for own in columns.values():
                of_model = np.flatnonzero(self._models == number)
                number += 1
                for column in own:
                    chosen = of_model[scored[self._rows[of_model], column]]
                    if len(chosen):
                        texts = answers.at(self._files[chosen].tolist())
                        results = score_texts(
                            Column(texts, "text"),
                            Column(texts, "references"),
                            [wanted],
                            languages=[spoken[item_id] for item_id in Column(texts, "item_id")],
                        )
                        found[column] = self._rows[chosen], results
        return found

    def _runs(self) -> Iterator[tuple[Run, dict[str, list[int]]]]:
        """Each run once, with the columns of its models by their own names."""
        for run in {id(model.run): model.run for model in self.board.models}.values():
            columns: dict[str, list[int]] = {}
            for index, model in enumerate(self.board.models):
                if model.run is run:
                    columns.setdefault(model.info.model, []).append(index)
            yield run, columns

    def _answers(
        self, items: "array[int]", wordings: "array[int]", models: "array[int]", files: "array[int]"
    ) -> Iterator[TurnPlace]:
        """Every answer's place; the item, the wording, the model and the row of its table are added to the arrays."""
        for run, columns in self._runs():
            numbers = {model: len(self._columns) + place for place, model in enumerate(columns)}
            self._columns += columns.values()
            for place, answer in enumerate(run.answers()):
                if (number := numbers.get(answer.model)) is None:
                    continue
                words = (answer.video_id, answer.question, answer.references, answer.options)
                for column, value in (
                    (items, name_key(answer.item_id)),
                    (wordings, name_key(repr(words))),
                    (models, number),
                    (files, place),
                ):
                    column.append(value)
                labels = answer.labels | ({ANSWER_TYPE: (answer.key.type,)} if answer.key is not None else {})
                yield TurnPlace(answer.video_id, answer.unit, answer.unit_id, answer.turn_index, answer.task, labels)

    def _numbered(self, wordings: NDArray[np.uint64]) -> Codes:
        """(N, M) different wordings of each turn, from 1, in the order in which they come."""
        order = np.lexsort((wordings, self._rows))
        rows, words = self._rows[order], wordings[order]
        new = np.ones(len(order), bool)
        new[1:] = (rows[1:] != rows[:-1]) | (words[1:] != words[:-1])
        # Sorting is stable, so the first answer of each wording comes first.
        row, first = rows[new], order[new]
        by_coming = np.lexsort((first, row))
        begins = np.searchsorted(row, np.arange(len(self.places)))
        number = np.empty(len(row), np.int32)
        number[by_coming] = np.arange(len(row)) - begins[row[by_coming]] + 1
        of_answer = np.empty(len(order), np.int32)
        of_answer[order] = number[np.cumsum(new) - 1]
        return self._scattered(of_answer, 0)

    def _scattered(self, of_answer: NDArray[Any], absent: float) -> NDArray[Any]:
        """(N, M) values of answers by turn and column of the leaderboard."""
        found = np.full((len(self.places), len(self.board.models)), absent, of_answer.dtype)
        for number, columns in enumerate(self._columns):
            own = self._models == number
            for column in columns:
                found[self._rows[own], column] = of_answer[own]
        return found

    def _stored_scores(self) -> IO[bytes]:
        """A file with the scores of every answer by every metric of the leaderboard."""
        place = {metric: number for number, metric in enumerate(self.board.metrics)}
        with storage_errors(Path(tempfile.gettempdir())):
            file = tempfile.TemporaryFile()
            weakref.finalize(self, file.close)
            for run, columns in self._runs():
                for turn in scored_turns(run):
                    if turn.model in columns:
                        own = array("d", [math.nan]) * len(place)
                        for metric, value in turn.scores.items():
                            if metric in place:
                                own[place[metric]] = value
                                self._scored.add(metric)
                        file.write(own.tobytes())
            file.flush()
        return file

    def _values(self, metric: str) -> Floats:
        """(N, M) NaN where there is no score."""
        width, column = len(self.board.metrics), self.board.metrics.index(metric)
        found = np.empty(len(self._rows))
        self._scores.seek(0)
        for start in range(0, len(found), ANSWERS_AT_A_TIME):
            block = np.frombuffer(self._scores.read(8 * width * ANSWERS_AT_A_TIME)).reshape(-1, width)
            found[start : start + len(block)] = block[:, column]
        return self._scattered(found, math.nan)

    def _make_sheet(self, metric: str) -> ScoreMatrix | None:
        values = self._values(metric) if metric in self._scored else None
        if values is not None:
            for nesting in NESTINGS:
                sheet = ScoreMatrix(metric, values, self.places, nesting, True)
                if self._comes_out(sheet):
                    return sheet
        for sheet in self._judged_sheets(metric):
            if self._comes_out(sheet):
                return sheet
        if values is not None:
            return ScoreMatrix(metric, values, self.places, "items", False)
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
        places = ItemPlaces.of(TurnPlace(videos[key], *key, 0, tasks.get(key), {}) for key in found)
        marks = np.full((len(found), len(self.board.models)), np.nan)
        for row, columns_of in enumerate(found.values()):
            for column, values in columns_of.items():
                marks[row, column] = sum(values) / len(values)
        nesting: Nesting = "kinds" if rest == ["average"] else "items"
        for scale in SCALES:
            yield ScoreMatrix(metric, marks * scale, places, nesting, True, item=" or ".join(sorted(places.kind_names)))


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
