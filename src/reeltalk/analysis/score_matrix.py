"""One metric's values of all models on the same items, and the mean that the leaderboard makes of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from reeltalk.analysis.leaderboard import ModelRow

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]

Nesting = Literal["items", "units", "tasks", "kinds"]
"""Whether items are averaged at once, within dialogues first, or besides within tasks or kinds of units."""

KIND: Final = "kind"
TURN: Final = "turn"
TASK: Final = "task"
ANSWER_TYPE: Final = "answer_type"
"""The type of the answer, of turns that have a key."""


@dataclass(frozen=True)
class Place:
    """Where a turn, or a unit, stands."""

    video_id: str
    unit: str
    """`chain`, `path` or `dialogue`."""
    unit_id: str
    turn_index: int
    task: str | None
    labels: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Sheet:
    """One metric: a row an item, a column a model."""

    metric: str
    values: Floats
    """(N, M); NaN where there is no score."""
    places: Sequence[Place]
    """(N,)"""
    nesting: Nesting
    is_mean: bool
    """True where the leaderboard's number is the mean of these values, nested so."""
    item: str = "turn"
    """What a row is: a turn, or the chain, path or dialogue that a judge saw at once."""

    @property
    def videos(self) -> NDArray[np.str_]:
        """(N,) the source video of each item."""
        return np.array([place.video_id for place in self.places])


@dataclass(frozen=True)
class Rows:
    """What a number is the mean of, after averaging within units: its rows with their video, stratum and values."""

    videos: NDArray[np.str_]
    strata: Ints
    weights: Floats
    """What the mean of each stratum counts; they add up to 1."""
    values: dict[str, Floats]

    def mean(self, name: str) -> float:
        """The number over all rows."""
        sums = np.bincount(self.strata, weights=self.values[name], minlength=len(self.weights))
        return float((sums / np.bincount(self.strata, minlength=len(self.weights))) @ self.weights)


def rows_of(sheet: Sheet, there: Bools, values: Mapping[str, Floats]) -> Rows:
    """Average values as the leaderboard does, up to the last mean.

    Args:
        sheet: Says how they are nested.
        there: (N,) which items count; at least one.
        values: (N,) arrays by name, finite where items count.
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
    of: Callable[[Place], str] = {"tasks": _task, "kinds": _kind}.get(sheet.nesting, _one)
    numbers: dict[str, int] = {}
    strata = np.array([numbers.setdefault(of(place), len(numbers)) for place in places], np.intp)
    weights = np.full(len(numbers), 1 / len(numbers))
    return Rows(np.array([place.video_id for place in places]), strata, weights, kept)


def number_of(model: ModelRow, metric: str) -> float | None:
    """A model's number of the leaderboard, also where it is withheld."""
    cell = model.cells[metric]
    if cell is None:
        return None
    return cell.row.value if cell.row.value is not None else cell.row.over_scored


def _task(place: Place) -> str:
    return place.task or ""


def _kind(place: Place) -> str:
    return place.unit


def _one(place: Place) -> str:
    return ""


def groups_of(place: Place, by: str) -> Sequence[str]:
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
