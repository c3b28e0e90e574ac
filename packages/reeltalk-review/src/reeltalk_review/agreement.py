"""Agreement between people who decided the same places, by variable and by pair of people.

All functions are pure. The caller chooses the decisions that count (`team_stats`: complete units, no known answers).

Two people who hardly change a draft have similar texts whatever they change. So beside the similarity there is the
share of *edits in common*: how many of the changed words both changed in the same way. Chance-corrected coefficients
would compare with texts of other questions, whose drafts differ, and any two edits of one draft would seem to agree.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.metrics.agreement import distance_alpha, krippendorff_alpha, masi_distances, mean_kappa_of_pairs
from reeltalk.metrics.draws import Draws, Statistic, draw_videos, ratio_of_sums
from reeltalk.schema.intervals import Interval, union
from reeltalk.schema.record import Json
from reeltalk_review.tasks.task import Code, CodeScale

Floats = NDArray[np.float64]

NO_PAIRS: Final = "no place that two people judged"
NOTHING_EDITED: Final = "neither changed a word"


@dataclass(frozen=True, slots=True)
class CodedPlace:
    """What one person decided at one place of a unit."""

    unit: str
    place: str
    video: str
    """The source video. Confidence intervals resample videos."""
    person: str
    codes: Mapping[str, Code]
    """By variable. A code without a value was not given."""
    kind: str = ""
    """`accepted`, `edited`, `rejected` or `skipped`, if it is one of them."""
    unsure: bool = False
    in_bulk: bool = False
    """True if it was accepted together with others."""
    as_settled: bool | None = None
    """Whether it is what was settled; None if nothing is, or by this decision alone."""


@dataclass(frozen=True)
class VariableAgreement:
    """Agreement on one variable, or on one label of it."""

    variable: str
    label: str | None
    """The label; None for the whole variable."""
    raw: Statistic
    """Share of equal pairs of codes. For `spans` the mean overlap, for `text` the mean similarity."""
    kappa: Statistic | None = None
    """Cohen's kappa, the mean over all pairs of people; None if the scale has none."""
    alpha: Statistic | None = None
    """Krippendorff's alpha for the variable's scale, for `set` with MASI distances; None if the scale has none."""
    edits: Statistic | None = None
    """For `text`: the share of changed words that both changed in the same way."""

    @property
    def chance_corrected(self) -> Statistic:
        """The number compared with a required level: alpha, for text the edits in common, else the raw number."""
        return self.alpha or self.edits or self.raw


@dataclass(frozen=True)
class PairAgreement:
    """Agreement of two people."""

    people: tuple[str, str]
    """Their ids in ascending order."""
    places: int
    """Number of places that both judged."""
    main: VariableAgreement
    """Agreement on the task's main variable."""


Given = tuple[CodedPlace, Code]
"""A code, and the decision that it belongs to."""


def agreement_by_variable(decisions: Iterable[CodedPlace]) -> list[VariableAgreement]:
    """Agreement of all people, by variable, in the order in which a task names its variables.

    Each label of a set of labels comes after its variable, coded as present or absent. Places that only one person
    decided do not count.
    """
    placed = _by_place(decisions)
    found = []
    for name, scale in _scales(placed).items():
        places = _given(placed, name)
        found.append(_of(name, scale, places))
        for label in sorted({label for codes in places for _, code in codes for label in _labels(code)}):
            has = [
                [(row, Code(name, "nominal", str(label in _labels(code)))) for row, code in codes] for codes in places
            ]
            found.append(_of(name, "nominal", has, label))
    return found


def agreement_by_pair(decisions: Iterable[CodedPlace]) -> list[PairAgreement]:
    """Agreement of each two people who judged a place in common, in the order of their ids, on the first variable."""
    placed = _by_place(decisions)
    together: dict[tuple[str, str], list[list[CodedPlace]]] = defaultdict(list)
    for there in placed:
        for first, second in combinations(there, 2):
            together[first.person, second.person].append([first, second])
    scales = _scales(placed)
    main = next(iter(scales), "")
    return [
        PairAgreement(people, len(places), _of(main, scales[main], _given(places, main)))
        for people, places in sorted(together.items())
    ]


def _scales(placed: Sequence[Sequence[CodedPlace]]) -> dict[str, CodeScale]:
    return {name: code.scale for there in placed for row in there for name, code in row.codes.items()}


def _given(placed: Sequence[Sequence[CodedPlace]], name: str) -> list[list[Given]]:
    """The codes of one variable that were given, place by place."""
    return [
        [(row, row.codes[name]) for row in there if name in row.codes and row.codes[name].value is not None]
        for there in placed
    ]


def _by_place(decisions: Iterable[CodedPlace]) -> list[list[CodedPlace]]:
    """The decisions about each place that two people or more judged, in a fixed order."""
    placed: dict[tuple[str, str], list[CodedPlace]] = defaultdict(list)
    for row in decisions:
        placed[row.unit, row.place].append(row)
    return [sorted(placed[at], key=lambda row: row.person) for at in sorted(placed) if len(placed[at]) > 1]


def _of(
    variable: str, scale: CodeScale, given: Sequence[Sequence[Given]], label: str | None = None
) -> VariableAgreement:
    places = [codes for codes in given if len(codes) > 1]
    pairs = [pair for codes in places for pair in combinations(codes, 2)]
    if scale == "spans":
        # That two marked nothing is no agreement on what shows it.
        pairs = [(first, second) for first, second in pairs if first[1].value or second[1].value]
    draws = draw_videos([row.video for (row, _), _ in pairs])
    if not pairs:
        return VariableAgreement(variable, label, draws.statistic(None, None, reason=NO_PAIRS))
    same = _SIMILARITY.get(scale, lambda first, second: float(first == second))
    similar = np.array([same(first[1].value, second[1].value) for first, second in pairs], np.float64)
    raw = ratio_of_sums(similar, np.ones_like(similar), draws, reason=NO_PAIRS)
    if scale == "spans":
        return VariableAgreement(variable, label, raw)
    if scale == "text":
        texts = [(str(first[1].value), str(second[1].value), first[1].draft) for first, second in pairs]
        return VariableAgreement(variable, label, raw, edits=_edits_in_common(texts, draws))
    of_places = draw_videos([codes[0][0].video for codes in places])
    if scale == "set":
        sets = sorted({_labels(code) for codes in places for _, code in codes}, key=sorted)
        table = _table(places, lambda code: sets.index(_labels(code)))
        return VariableAgreement(variable, label, raw, alpha=distance_alpha(table, masi_distances(sets), of_places))
    names = sorted({str(code.value) for codes in places for _, code in codes}) if scale == "nominal" else []

    def number(code: Code) -> float:
        return float(names.index(str(code.value)) if names else code.value)

    alpha = krippendorff_alpha(_table(places, number), of_places, scale=scale)
    # Amounts are no categories, so they have no kappa.
    kappa = None
    if scale != "interval":
        one, other = (np.array([number(pair[side][1]) for pair in pairs], np.float64) for side in (0, 1))
        people = [f"{first.person} {second.person}" for (first, _), (second, _) in pairs]
        kappa = mean_kappa_of_pairs(one, other, people, draws, weights="quadratic" if scale == "ordinal" else "none")
    return VariableAgreement(variable, label, raw, kappa, alpha)


def _table(places: Sequence[Sequence[Given]], number: Callable[[Code], float]) -> Floats:
    """The (N, P) codes of the places as numbers. Columns are not people: alpha does not need to know who gave which."""
    table = np.full((len(places), max(map(len, places))), np.nan)
    for row, codes in enumerate(places):
        table[row, : len(codes)] = [number(code) for _, code in codes]
    return table


def _labels(code: Code) -> frozenset[str]:
    """The labels of a code on the scale `set`; none on others."""
    return frozenset(map(str, code.value)) if code.scale == "set" else frozenset()


def _common_time(first: Json, second: Json) -> float:
    """Intersection over union of two sets of intervals, 0 to 1."""
    a, b = (
        [(part.start_s, part.end_s) for part in union(Interval(start_s=start, end_s=end) for start, end in code)]
        for code in (first, second)
    )
    common = sum(max(0.0, min(end, other_end) - max(start, other)) for start, end in a for other, other_end in b)
    either = sum(end - start for start, end in a + b) - common
    return common / either if either > 0 else float(a == b)


_CJK: Final = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN: Final = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+|[^\w\s]")
"""A Han or Kana character, a run of letters and digits of other scripts, or one mark."""


def edit_tokens(text: str) -> list[str]:
    """The tokens in which edits are counted: words, single Han and Kana characters, and marks. Case counts."""
    return _TOKEN.findall(unicodedata.normalize("NFC", text))


def word_distance(first: str, second: str) -> int:
    """Levenshtein's distance in words (Soviet Physics Doklady 10, 1966)."""
    if first == second:
        return 0
    words, others = edit_tokens(first), edit_tokens(second)
    # Most edits are small: what is the same at both ends needs no table.
    for _ in range(2):
        while words and others and words[-1] == others[-1]:
            words.pop()
            others.pop()
        words.reverse()
        others.reverse()
    row = list(range(len(others) + 1))
    for number, word in enumerate(words, 1):
        diagonal, row[0] = row[0], number
        for place, other in enumerate(others, 1):
            diagonal, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, diagonal + (word != other))
    return row[-1]


def _similar_texts(first: Json, second: Json) -> float:
    longest = max(len(edit_tokens(first)), len(edit_tokens(second)))
    return 1 - word_distance(first, second) / longest if longest else 1.0


def _edits_in_common(texts: Sequence[tuple[str, str, str]], draws: Draws) -> Statistic:
    """Share of the changed words that both changed in the same way, over pairs of texts and their draft.

    Reference:
        1 - Σ d(first, second) / Σ (d(first, draft) + d(second, draft)). Seen as sets of changed words, d(first, second)
        is their symmetric difference, and this is Dice's coefficient (Ecology 26, 1945), as with F1 of edits in Bryant
        & Ng, "How Far are We from Fully Automatic High Quality Grammatical Error Correction?", 2015. The triangle
        inequality holds it between 0 and 1.
    """
    apart = np.array([word_distance(first, second) for first, second, _ in texts], np.float64)
    changed = np.array(
        [word_distance(first, draft) + word_distance(second, draft) for first, second, draft in texts], np.float64
    )
    edited = changed > 0
    common = changed[edited] - apart[edited]
    return ratio_of_sums(common, changed[edited], draws.subset(edited), reason=NOTHING_EDITED)


_SIMILARITY: Final[Mapping[CodeScale, Callable[[Json, Json], float]]] = {"spans": _common_time, "text": _similar_texts}
"""How similar two codes are, 0 to 1, on scales on which they need not be equal."""
