"""Agreement between people who judged the same places, by variable and by pair of people.

All functions are pure. The caller decides which work counts (`team_stats`: complete units, no gold).
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
from reeltalk.schema.intervals import Interval, union
from reeltalk.schema.record import Json
from reeltalk_review.edit_similarity import EditAgreement, edit_agreement
from reeltalk_review.tasks.task import Code, CodeScale

Floats = NDArray[np.float64]

NO_PAIRS: Final = "no place that two people judged"


@dataclass(frozen=True, slots=True)
class CodedPlace:
    """The codes that one person gave one place."""

    unit: str
    place: str
    video: str
    """The source video. Confidence intervals resample videos."""
    person: str
    codes: Mapping[str, Code]
    """By variable. A code without a value was not given."""


@dataclass(frozen=True)
class VariableAgreement:
    """Agreement on one variable, or on one label of it."""

    variable: str
    scale: CodeScale
    label: str | None
    """The label; None for the whole variable."""
    raw: Statistic
    """Share of equal pairs of codes. For `spans` the mean overlap, for `text` the mean edit similarity."""
    kappa: Statistic | None
    """Cohen's kappa, the mean over all pairs of people; None if the scale has none."""
    alpha: Statistic | None
    """Krippendorff's alpha for the variable's scale, for `set` with MASI distances; None if the scale has none."""
    text: EditAgreement | None = None

    @property
    def chance_corrected(self) -> Statistic:
        """The number compared with a required level: alpha, for text the overlap of edits, else the raw number."""
        if self.alpha is not None:
            return self.alpha
        return self.text.overlap if self.text is not None else self.raw


@dataclass(frozen=True)
class PairAgreement:
    """Agreement of two people."""

    people: tuple[str, str]
    """Their ids in ascending order."""
    places: int
    """Number of places that both judged."""
    variables: tuple[VariableAgreement, ...]


@dataclass(frozen=True)
class _Pairs:
    """Each pair of codes of one place, as columns."""

    variable: str
    scale: CodeScale
    first: list[Json]
    second: list[Json]
    pairs: list[str]
    videos: list[str]
    drafts: list[str]
    places: list[list[Json]]
    """All codes of each place that two people or more coded."""
    place_videos: list[str]


def agreement_by_variable(rows: Iterable[CodedPlace], *, tags: bool = True) -> list[VariableAgreement]:
    """Agreement of all people, by variable, in the order in which a task names its variables.

    Args:
        rows: The codes. Places that only one person coded do not count.
        tags: Add each label of a set of labels after its variable, coded as present or absent.
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
    """Agreement of each two people who judged a place in common, in the order of their ids.

    Args:
        rows: The codes.
        known: Earlier results of pairs whose work has not changed. They are not computed again.
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
    """The rows of each place that two people or more judged, in a fixed order."""
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
            if codes[0][1].scale == "spans" and not any(code.value for _, code in said):
                # That nobody marked anything is no agreement on what shows it.
                continue
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
    """Agreement on codes that are numbers, or categories as numbers."""
    # One label of a set is present or absent.
    scale = pairs.scale if pairs.scale in ("ordinal", "interval") else "nominal"
    weights: Weights = "quadratic" if scale == "ordinal" else "none"
    first, second = np.array([number(c) for c in pairs.first]), np.array([number(c) for c in pairs.second])
    # Amounts are not categories, so they have no kappa.
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
    """Each label that somebody gave, as present or absent."""
    draws = draw_videos(pairs.videos)

    def of_label(label: str) -> VariableAgreement:
        return _of_numbers(label, pairs, lambda code: float(label in _labels(code)), draws)

    return [
        of_label(label) for label in sorted({tag for codes in pairs.places for code in codes for tag in _labels(code)})
    ]


def _mean(values: Floats, draws: Draws) -> Statistic:
    return ratio_of_sums(values, np.ones_like(values), draws, reason=NO_PAIRS)


def _table(pairs: _Pairs, number: Callable[[Json], float]) -> Floats:
    """The (N, P) codes of the places as numbers. Columns are not people: alpha does not need to know who gave which."""
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
    """Intersection over union of two sets of intervals, 0 to 1; 1 if both are equal."""
    a, b = _union(first), _union(second)
    if a == b:
        return 1.0
    common = sum(max(0.0, min(end, other_end) - max(start, other)) for start, end in a for other, other_end in b)
    either = sum(end - start for start, end in a + b) - common
    return common / either if either > 0 else 0.0


def _union(code: Json) -> list[tuple[float, float]]:
    if isinstance(code, str | int | float):
        raise TypeError(f"spans are a list of pairs of seconds, not {code!r}")
    parts = union(Interval(start_s=start_s, end_s=end_s) for start_s, end_s in code)
    return [(part.start_s, part.end_s) for part in parts]
