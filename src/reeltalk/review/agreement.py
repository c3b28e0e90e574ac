"""How far people who judged the same places agree, by variable and by pair of people.

Everything here is a pure function of what was coded. Which work may count at all (units that all have handed in, no
gold) is for the caller to see to: `review.board` reads it from the database.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.agreement import Weights, mean_kappa_of_pairs, raw_agreement
from reeltalk.metrics.draws import Draws, Statistic, draw_videos, ratio_of_sums
from reeltalk.metrics.edit_similarity import EditAgreement, edit_agreement
from reeltalk.metrics.reliability import Scale, distance_alpha, krippendorff_alpha, masi_distances

Floats = NDArray[np.float64]
Measure = Literal["nominal", "ordinal", "interval", "tags", "spans", "text"]
"""What differences of codes mean: categories, ranks, amounts, sets of tags, stretches of time in seconds, words."""
Code = str | float | Sequence[str] | Sequence[tuple[float, float]]

RESAMPLES: Final = 1000
"""Draws of videos behind an interval."""
SEED: Final = 0
NO_PAIRS: Final = "no place that two people judged"


@dataclass(frozen=True)
class Variable:
    """Something that people say of a place, as whether they accept it."""

    name: str
    title: str
    """As people read it."""
    measure: Measure


@dataclass(frozen=True, slots=True)
class Coded:
    """What one person says of one place."""

    unit: str
    place: str
    video: str
    """The source video, which intervals are clustered by."""
    person: str
    codes: Mapping[str, Code | None]
    """By variable; None or left out where the person says nothing of it."""
    drafts: Mapping[str, str] = field(default_factory=dict)
    """The text that everybody started from, by variable of measure `text`."""


@dataclass(frozen=True)
class Agreement:
    """How far people agree on one variable, or on one tag of it."""

    variable: Variable
    tag: str | None
    """The one tag that this is about; None for the whole variable."""
    raw: Statistic
    """Share of pairs of codes that are the same; of `spans` the mean overlap, of `text` the mean edit similarity."""
    kappa: Statistic | None
    """Cohen's kappa, the mean of all pairs of people; None where the measure has none."""
    alpha: Statistic | None
    """Krippendorff's alpha, by the variable's measure, of `tags` by MASI; None where the measure has none."""
    text: EditAgreement | None = None

    @property
    def chance_corrected(self) -> Statistic:
        """The number that a set level is held against: alpha, of text the overlap of the edits, else the raw one."""
        if self.alpha is not None:
            return self.alpha
        return self.text.overlap if self.text is not None else self.raw


@dataclass(frozen=True)
class PairAgreement:
    """Two people."""

    people: tuple[str, str]
    """In ascending order."""
    places: int
    """Places that both judged."""
    variables: tuple[Agreement, ...]


@dataclass(frozen=True)
class _Pairs:
    """Every two people's codes of one place, as columns."""

    first: list[Code]
    second: list[Code]
    pairs: list[str]
    videos: list[str]
    drafts: list[str]
    places: list[list[Code]]
    """All codes of each place that at least two people coded."""
    place_videos: list[str]


def agreement_by_variable(
    rows: Iterable[Coded],
    variables: Sequence[Variable],
    *,
    tags: bool = True,
    resamples: int = RESAMPLES,
) -> list[Agreement]:
    """How far all people agree, variable by variable.

    Args:
        rows: What was coded. Places that one person coded do not count.
        variables: What to measure, in the order of the result.
        tags: Also each tag of sets of tags, after its variable, as present or absent.
        resamples: Draws of videos behind each interval.
    """
    placed = _by_place(rows)
    found = []
    for variable in variables:
        pairs = _pairs(placed, variable.name)
        found.append(_of(variable, pairs, resamples))
        if tags and variable.measure == "tags":
            found += _of_tags(variable, pairs, resamples)
    return found


def agreement_by_pair(
    rows: Iterable[Coded], variables: Sequence[Variable], *, resamples: int = RESAMPLES
) -> list[PairAgreement]:
    """How far every two people agree that have judged a place in common, in the order of their ids."""
    together: dict[tuple[str, str], list[list[Coded]]] = defaultdict(list)
    for coded in _by_place(rows):
        for first, second in combinations(coded, 2):
            together[first.person, second.person].append([first, second])
    return [
        PairAgreement(
            people,
            len(placed),
            tuple(_of(variable, _pairs(placed, variable.name), resamples) for variable in variables),
        )
        for people, placed in sorted(together.items())
    ]


def _by_place(rows: Iterable[Coded]) -> list[list[Coded]]:
    """The rows of each place that two people or more judged, in a fixed order whatever the rows' order."""
    placed: dict[tuple[str, str], list[Coded]] = defaultdict(list)
    for row in rows:
        placed[row.unit, row.place].append(row)
    return [sorted(found, key=lambda row: row.person) for _, found in sorted(placed.items()) if len(found) > 1]


def _pairs(placed: list[list[Coded]], name: str) -> _Pairs:
    found = _Pairs([], [], [], [], [], [], [])
    for rows in placed:
        said = [(row, code) for row in rows if (code := row.codes.get(name)) is not None]
        if len(said) < 2:
            continue
        found.places.append([code for _, code in said])
        found.place_videos.append(said[0][0].video)
        for (row, code), (other, other_code) in combinations(said, 2):
            found.first.append(code)
            found.second.append(other_code)
            found.pairs.append(f"{row.person} {other.person}")
            found.videos.append(row.video)
            found.drafts.append(row.drafts.get(name, ""))
    return found


def _of(variable: Variable, pairs: _Pairs, resamples: int) -> Agreement:
    draws = draw_videos(pairs.videos, resamples=resamples, seed=SEED)
    if not pairs.first:
        return Agreement(variable, None, draws.statistic(None, None, reason=NO_PAIRS), None, None)
    if variable.measure == "text":
        text = edit_agreement([str(c) for c in pairs.first], [str(c) for c in pairs.second], pairs.drafts, draws)
        return Agreement(variable, None, text.similarity, None, None, text)
    if variable.measure == "spans":
        overlaps = np.array([_overlap(a, b) for a, b in zip(pairs.first, pairs.second, strict=True)])
        return Agreement(variable, None, _mean(overlaps, draws), None, None)
    if variable.measure == "tags":
        return _of_sets(variable, pairs, draws, resamples)
    if variable.measure == "nominal":
        names = sorted({str(code) for codes in pairs.places for code in codes})
        numbers = {name: float(number) for number, name in enumerate(names)}
        return _of_numbers(variable, None, pairs, lambda code: numbers[str(code)], draws, resamples)
    return _of_numbers(variable, None, pairs, _number, draws, resamples)


def _of_numbers(
    variable: Variable,
    tag: str | None,
    pairs: _Pairs,
    number: Callable[[Code], float],
    draws: Draws,
    resamples: int,
) -> Agreement:
    """Agreement on codes that are numbers, or stand for categories as numbers."""
    scale: Scale = {"ordinal": "ordinal", "interval": "interval"}.get(variable.measure, "nominal")  # type: ignore[assignment]
    weights: Weights = "quadratic" if scale == "ordinal" else "none"
    first, second = np.array([number(c) for c in pairs.first]), np.array([number(c) for c in pairs.second])
    # Amounts are no categories, and have no kappa.
    kappa = mean_kappa_of_pairs(first, second, pairs.pairs, draws, weights=weights) if scale != "interval" else None
    alpha = krippendorff_alpha(_table(pairs, number), _draws_of_places(pairs, resamples), scale=scale)
    return Agreement(variable, tag, raw_agreement(first, second, draws), kappa, alpha)


def _of_sets(variable: Variable, pairs: _Pairs, draws: Draws, resamples: int) -> Agreement:
    sets = sorted({_tags(code) for codes in pairs.places for code in codes}, key=sorted)
    numbers = {found: float(number) for number, found in enumerate(sets)}
    same = np.array([float(_tags(a) == _tags(b)) for a, b in zip(pairs.first, pairs.second, strict=True)])
    table = _table(pairs, lambda code: numbers[_tags(code)])
    alpha = distance_alpha(table, masi_distances(sets), _draws_of_places(pairs, resamples))
    return Agreement(variable, None, _mean(same, draws), None, alpha)


def _of_tags(variable: Variable, pairs: _Pairs, resamples: int) -> list[Agreement]:
    """Each tag that somebody gave, as there or not."""
    draws = draw_videos(pairs.videos, resamples=resamples, seed=SEED)

    def of_tag(tag: str) -> Agreement:
        return _of_numbers(variable, tag, pairs, lambda code: float(tag in _tags(code)), draws, resamples)

    return [of_tag(tag) for tag in sorted({tag for codes in pairs.places for code in codes for tag in _tags(code)})]


def _draws_of_places(pairs: _Pairs, resamples: int) -> Draws:
    return draw_videos(pairs.place_videos, resamples=resamples, seed=SEED)


def _mean(values: Floats, draws: Draws) -> Statistic:
    return ratio_of_sums(values, np.ones_like(values), draws, reason=NO_PAIRS)


def _table(pairs: _Pairs, number: Callable[[Code], float]) -> Floats:
    """(N, P) codes of the places as numbers; alpha does not ask who gave which, so columns are no people."""
    table = np.full((len(pairs.places), max(map(len, pairs.places))), np.nan)
    for row, codes in enumerate(pairs.places):
        table[row, : len(codes)] = [number(code) for code in codes]
    return table


def _number(code: Code) -> float:
    if not isinstance(code, int | float):
        raise TypeError(f"a code on an ordinal or interval scale is a number, not {code!r}")
    return float(code)


def _tags(code: Code) -> frozenset[str]:
    if isinstance(code, str | int | float):
        raise TypeError(f"a set of tags is a list of names, not {code!r}")
    return frozenset(str(tag) for tag in code)


def _overlap(first: Code, second: Code) -> float:
    """Common time of two sets of intervals over the time that either holds, 0 to 1; 1 where both are the same."""
    a, b = _merged(first), _merged(second)
    if a == b:
        return 1.0
    common = sum(max(0.0, min(end, other_end) - max(start, other)) for start, end in a for other, other_end in b)
    either = sum(end - start for start, end in a + b) - common
    return common / either if either > 0 else 0.0


def _merged(code: Code) -> list[tuple[float, float]]:
    if isinstance(code, str | int | float):
        raise TypeError(f"spans are a list of pairs of seconds, not {code!r}")
    merged: list[tuple[float, float]] = []
    for start, end in sorted((float(span[0]), float(span[1])) for span in code):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged
