"""Writing towards target shares of labels: how far one is from them, and what is missing of which label."""

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from reeltalk.errors import InputError
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.labels import VOCABULARIES
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.documents import read_text
from reeltalk.store.tables import CHAINS, DIALOGUES

Balance = Literal["tags", "types"]
Label = tuple[str, str]
"""A vocabulary and a label of it, as `("cogme.target", "Object")`."""

BALANCED: Final[dict[Balance, tuple[str, ...]]] = {
    "tags": ("cogme.target", "cogme.content", "cogme.thinking"),
    "types": ("vdact.question_type",),
}
"""Vocabularies by what `--balance` is told. Each is balanced on its own: its target shares add up to 1."""


@dataclass(frozen=True)
class Shortfall:
    """How far a label is from its target."""

    label: Label
    target: float
    """Share wanted, of all labels of its vocabulary."""
    count: int
    share: float
    """Share reached; 0 where nothing has a label of the vocabulary."""
    missing: int
    """Labels wanting to the target share at the present number of labels, rounded up; 0 where there are enough."""


def balanced_labels(turn: Turn, balance: Balance) -> frozenset[Label]:
    """The labels of a turn that are balanced."""
    return frozenset(
        (vocabulary, label) for vocabulary in BALANCED[balance] for label in turn.labels.get(vocabulary, ())
    )


def count_labels(labelled: Iterable[Iterable[Label]]) -> dict[Label, int]:
    """How often each label occurs."""
    return dict(Counter(label for labels in labelled for label in sorted(labels)))


def even_targets(balance: Balance, possible: Iterable[Label] | None = None) -> dict[Label, float]:
    """The same share for every label of a vocabulary.

    Args:
        balance: Which vocabularies.
        possible: Labels that can be reached; all known ones by default.
    """
    if possible is None:
        labels = [(name, str(label)) for name in BALANCED[balance] for label in VOCABULARIES[name]]
    else:
        labels = [label for label in sorted(set(possible)) if label[0] in BALANCED[balance]]
    sizes = Counter(vocabulary for vocabulary, _ in labels)
    return {label: 1.0 / sizes[label[0]] for label in labels}


def read_targets(path: Path, balance: Balance) -> dict[Label, float]:
    """Target shares from a TOML file: a table a vocabulary, a share of 0 to 1 a label.

    Shares of a vocabulary need not add up to 1; they are divided by their sum.

    Raises:
        InputError: It is no such file, or names a vocabulary or label that is not known; names the place.
    """
    try:
        tables = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"not TOML: {error}", file=path) from None
    targets: dict[Label, float] = {}
    # `[cogme.target]` is a table inside a table in TOML; `["cogme.target"]` is not. Both are taken.
    for vocabulary in BALANCED[balance]:
        first, _, second = vocabulary.partition(".")
        outer = tables.get(first)
        shares = tables.get(vocabulary) or (outer.get(second) if isinstance(outer, dict) else None)
        if shares is None:
            continue
        if not isinstance(shares, dict):
            raise InputError("a table of shares by label was expected", file=path, place=vocabulary, value=shares)
        for label, share in shares.items():
            place = f"{vocabulary}.{label}"
            if label not in VOCABULARIES[vocabulary]._value2member_map_:
                known = ", ".join(VOCABULARIES[vocabulary])
                raise InputError("unknown label", file=path, place=place, hint=f"known are {known}")
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
                raise InputError("a share must be a number from 0 to 1", file=path, place=place, value=share)
            targets[vocabulary, label] = float(share)
    sums = {name: sum(share for (own, _), share in targets.items() if own == name) for name in BALANCED[balance]}
    if not any(sums.values()):
        raise InputError("no target shares", file=path, hint=f"write a table [{BALANCED[balance][0]}]")
    return {label: share / sums[label[0]] for label, share in targets.items() if sums[label[0]]}


def shortfall(counts: Mapping[Label, int], targets: Mapping[Label, float]) -> list[Shortfall]:
    """How far each label is from its target, in the order of targets.

    Args:
        counts: How often each label occurs.
        targets: Share of each label in its vocabulary.
    """
    totals: Counter[str] = Counter()
    for (vocabulary, _), count in counts.items():
        totals[vocabulary] += count
    found = []
    for label, target in targets.items():
        count, total = counts.get(label, 0), totals[label[0]]
        # Rounded first, so that 0.1 * 30 does not come out above 3.
        missing = max(0, -int(-round(target * total, 6) // 1) - count)
        found.append(Shortfall(label, target, count, count / total if total else 0.0, missing))
    return found


def benchmark_shortfall(benchmark: Benchmark, balance: Balance, targets: Path | None) -> list[Shortfall]:
    """How far the chains and dialogues that were constructed are from the targets.

    Raises:
        InputError: The file of targets or a table is damaged.
    """
    units: list[QAChain | Dialogue] = [*benchmark.read(CHAINS), *benchmark.read(DIALOGUES)]
    turns = (turn for unit in units if "writer" in unit.extra for turn in unit.turns)
    counts = count_labels(balanced_labels(turn, balance) for turn in turns)
    return shortfall(counts, read_targets(targets, balance) if targets else even_targets(balance))


def distance(counts: Mapping[Label, int], targets: Mapping[Label, float]) -> float:
    """Sum of squared differences between shares and targets, 0 or more; labels without a target want 0."""
    totals: Counter[str] = Counter()
    for (vocabulary, _), count in counts.items():
        totals[vocabulary] += count
    found = 0.0
    for label in dict.fromkeys([*targets, *counts]):
        total = totals[label[0]]
        share = counts.get(label, 0) / total if total else 0.0
        found += (share - targets.get(label, 0.0)) ** 2
    return round(found, 12)


def format_shortfalls(found: Iterable[Shortfall]) -> Iterable[str]:
    """What is missing of which label, most first, as lines of text."""
    missing = sorted((one for one in found if one.missing), key=lambda one: (-one.missing, one.label))
    yield (
        f"balance: {len(missing):,} labels are short of their target share" if missing else "balance: no label is short"
    )
    for one in missing:
        yield f"  {one.label[0]} {one.label[1]}: {one.share:.1%} of {one.target:.1%}, {one.missing:,} missing"
