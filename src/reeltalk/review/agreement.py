"""How far people who judged the same places agree, by variable and by pair of people.

Everything here is a pure function of what was coded. Which work may count at all (units that all have handed in, no
gold) is for the caller to see to: `review.board` reads it from the database.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.agreement import (
    Weights,
    distance_alpha,
    krippendorff_alpha,
    masi_distances,
    mean_kappa_of_pairs,
    raw_agreement,
)
from reeltalk.metrics.draws import Draws, Statistic, draw_videos, ratio_of_sums
from reeltalk.metrics.edit_similarity import EditAgreement, edit_agreement
from reeltalk.review.tasks.task import Code, CodeScale
from reeltalk.schema.record import Json

Floats = NDArray[np.float64]

NO_PAIRS: Final = "no place that two people judged"


@dataclass(frozen=True, slots=True)
class CodedPlace:
    """What one person says of one place."""

    unit: str
    place: str
    video: str
    """The source video, which intervals are clustered by."""
    person: str
    codes: Mapping[str, Code]
    """By variable; a code without a value is one that the person did not give."""


@dataclass(frozen=True)
class VariableAgreement:
    """How far people agree on one variable, or on one label of it."""

    variable: str
    scale: CodeScale
    label: str | None
    """The one label that this is about; None for the whole variable."""
    raw: Statistic
    """Share of pairs of codes that are the same; of `spans` the mean overlap, of `text` the mean edit similarity."""
    kappa: Statistic | None
    """Cohen's kappa, the mean of all pairs of people; None where the scale has none."""
    alpha: Statistic | None
    """Krippendorff's alpha by the variable's scale, of a `set` by MASI; None where the scale has none."""
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
    variables: tuple[VariableAgreement, ...]


@dataclass(frozen=True)
class _Pairs:
    """Every two people's codes of one place, as columns."""

    variable: str
    scale: CodeScale
    first: list[Json]
    second: list[Json]
    pairs: list[str]
    videos: list[str]
    drafts: list[str]
    places: list[list[Json]]
    """All codes of each place that at least two people coded."""
    place_videos: list[str]


def agreement_by_variable(rows: Iterable[CodedPlace], *, tags: bool = True) -> list[VariableAgreement]:
    """How far all people agree, variable by variable, in the order in which a task names its variables.

    Args:
        rows: What was coded. Places that one person coded do not count.
        tags: Also each label of sets of labels, after its variable, as there or not.
    """
    found = []
    for pairs in _pairs(_by_place(rows)):
        found.append(_of(pairs))
        if tags and pairs.scale == "set":
            found += _of_labels(pairs)
    return found


def agreement_by_pair(
    rows: Iterable[CodedPlace],
    *,
    known: Mapping[tuple[str, str], PairAgreement] | None = None,
) -> list[PairAgreement]:
    """How far every two people agree that have judged a place in common, in the order of their ids.

    Args:
        rows: What was coded.
        known: What was found before, of pairs whose work is still the same; it is not computed again.
    """
    together: dict[tuple[str, str], list[list[CodedPlace]]] = defaultdict(list)
    for coded in _by_place(rows):
        for first, second in combinations(coded, 2):
            together[first.person, second.person].append([first, second])
    return [
        known[people]
        if known is not None and people in known
        else PairAgreement(people, len(placed), tuple(_of(pairs) for pairs in _pairs(placed)))
        for people, placed in sorted(together.items())
    ]


def _by_place(rows: Iterable[CodedPlace]) -> list[list[CodedPlace]]:
    """The rows of each place that two people or more judged, in a fixed order whatever the rows' order."""
    placed: dict[tuple[str, str], list[CodedPlace]] = defaultdict(list)
    for row in rows:
        placed[row.unit, row.place].append(row)
    return [sorted(placed[at], key=lambda row: row.person) for at in sorted(placed) if len(placed[at]) > 1]


def _pairs(placed: list[list[CodedPlace]]) -> list[_Pairs]:
    found: dict[str, _Pairs] = {}
    for rows in placed:
        for name in {name: None for row in rows for name in row.codes}:
            codes = [(row, row.codes[name]) for row in rows if name in row.codes]
            column = found.get(name)
            if column is None:
                column = found[name] = _Pairs(name, codes[0][1].scale, [], [], [], [], [], [], [])
            said = [(row, code) for row, code in codes if code.value is not None]
            if len(said) < 2:
                continue
            column.places.append([code.value for _, code in said])
            column.place_videos.append(said[0][0].video)
            for (row, code), (other, other_code) in combinations(said, 2):
                column.first.append(code.value)
                column.second.append(other_code.value)
                column.pairs.append(f"{row.person} {other.person}")
                column.videos.append(row.video)
                column.drafts.append(code.draft)
    return list(found.values())


def _of(pairs: _Pairs) -> VariableAgreement:
    draws = draw_videos(pairs.videos)
    if not pairs.first:
        return VariableAgreement(
            pairs.variable, pairs.scale, None, draws.statistic(None, None, reason=NO_PAIRS), None, None
        )
    if pairs.scale == "text":
        text = edit_agreement([str(c) for c in pairs.first], [str(c) for c in pairs.second], pairs.drafts, draws)
        return VariableAgreement(pairs.variable, pairs.scale, None, text.similarity, None, None, text)
    if pairs.scale == "spans":
        overlaps = np.array([_overlap(a, b) for a, b in zip(pairs.first, pairs.second, strict=True)])
        return VariableAgreement(pairs.variable, pairs.scale, None, _mean(overlaps, draws), None, None)
    if pairs.scale == "set":
        return _of_sets(pairs, draws)
    if pairs.scale == "nominal":
        names = sorted({str(code) for codes in pairs.places for code in codes})
        numbers = {name: float(number) for number, name in enumerate(names)}
        return _of_numbers(None, pairs, lambda code: numbers[str(code)], draws)
    return _of_numbers(None, pairs, _number, draws)


def _of_numbers(
    label: str | None,
    pairs: _Pairs,
    number: Callable[[Json], float],
    draws: Draws,
) -> VariableAgreement:
    """Agreement on codes that are numbers, or stand for categories as numbers."""
    # Of a set, one label is there or not.
    scale = pairs.scale if pairs.scale in ("ordinal", "interval") else "nominal"
    weights: Weights = "quadratic" if scale == "ordinal" else "none"
    first, second = np.array([number(c) for c in pairs.first]), np.array([number(c) for c in pairs.second])
    # Amounts are no categories, and have no kappa.
    kappa = mean_kappa_of_pairs(first, second, pairs.pairs, draws, weights=weights) if scale != "interval" else None
    alpha = krippendorff_alpha(_table(pairs, number), draw_videos(pairs.place_videos), scale=scale)
    return VariableAgreement(pairs.variable, pairs.scale, label, raw_agreement(first, second, draws), kappa, alpha)


def _of_sets(pairs: _Pairs, draws: Draws) -> VariableAgreement:
    sets = sorted({_labels(code) for codes in pairs.places for code in codes}, key=sorted)
    numbers = {found: float(number) for number, found in enumerate(sets)}
    same = np.array([float(_labels(a) == _labels(b)) for a, b in zip(pairs.first, pairs.second, strict=True)])
    table = _table(pairs, lambda code: numbers[_labels(code)])
    alpha = distance_alpha(table, masi_distances(sets), draw_videos(pairs.place_videos))
    return VariableAgreement(pairs.variable, pairs.scale, None, _mean(same, draws), None, alpha)


def _of_labels(pairs: _Pairs) -> list[VariableAgreement]:
    """Each label that somebody gave, as there or not."""
    draws = draw_videos(pairs.videos)

    def of_label(label: str) -> VariableAgreement:
        return _of_numbers(label, pairs, lambda code: float(label in _labels(code)), draws)

    return [
        of_label(label) for label in sorted({tag for codes in pairs.places for code in codes for tag in _labels(code)})
    ]


def _mean(values: Floats, draws: Draws) -> Statistic:
    return ratio_of_sums(values, np.ones_like(values), draws, reason=NO_PAIRS)


def _table(pairs: _Pairs, number: Callable[[Json], float]) -> Floats:
    """(N, P) codes of the places as numbers; alpha does not ask who gave which, so columns are no people."""
    table = np.full((len(pairs.places), max(map(len, pairs.places))), np.nan)
    for row, codes in enumerate(pairs.places):
        table[row, : len(codes)] = [number(code) for code in codes]
    return table


def _number(code: Json) -> float:
    if not isinstance(code, int | float):
        raise TypeError(f"a code on an ordinal or interval scale is a number, not {code!r}")
    return float(code)


def _labels(code: Json) -> frozenset[str]:
    if isinstance(code, str | int | float):
        raise TypeError(f"a set of labels is a list of names, not {code!r}")
    return frozenset(str(tag) for tag in code)


def _overlap(first: Json, second: Json) -> float:
    """Common time of two sets of intervals over the time that either holds, 0 to 1; 1 where both are the same."""
    a, b = _merged(first), _merged(second)
    if a == b:
        return 1.0
    common = sum(max(0.0, min(end, other_end) - max(start, other)) for start, end in a for other, other_end in b)
    either = sum(end - start for start, end in a + b) - common
    return common / either if either > 0 else 0.0


def _merged(code: Json) -> list[tuple[float, float]]:
    if isinstance(code, str | int | float):
        raise TypeError(f"spans are a list of pairs of seconds, not {code!r}")
    merged: list[tuple[float, float]] = []
    for start, end in sorted((float(span[0]), float(span[1])) for span in code):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], end)
        else:
            merged.append((start, end))
    return merged
