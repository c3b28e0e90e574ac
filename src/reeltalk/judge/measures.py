"""Measures from scores: means with the data that their intervals need, and counts of items without a score."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from reeltalk.schema.runs import is_withheld

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MeanItem:
    """An item of a mean: a turn, chain, path, dialogue or round."""

    video_id: str
    value: float | None
    """None if there is no score."""
    item_id: str | None = None
    """Identifier of the turn, if the item is a turn."""
    applies: bool = True
    """False if the criterion does not apply; the item then counts neither as scored nor as unscored."""
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Groups that it belongs to, as `{"question_type": ("D-LOC",), "turn": ("3",)}`."""
    mean_of: str | None = None
    """Items of this group, as the rounds of a dialogue, are averaged before the groups are."""
    reason: str | None = None
    """Why it has no score, if that is known."""
    lacking: float = 0.0
    """Share of its judgings that failed, 0 to 1, if the others gave a score."""


@dataclass(frozen=True)
class Measure:
    """A number of one model, with the data that its interval needs."""

    name: str
    value: float | None
    """Over the scored items; None if there are none."""
    n: int
    """Number of scored items."""
    unscored: int
    not_applicable: int
    statistics: Floats
    """(N, K) contribution of each scored item, or group of items."""
    clusters: Sequence[str]
    """(N,) source video of each row."""
    from_sums: Callable[[Floats, Floats], Floats]
    """(R,) values from (R, K) summed statistics and (R,) numbers of items."""
    entries: tuple[MeanItem, ...]
    scale: float = 1.0
    offset: float = 0.0
    by: tuple[str, ...] = ()
    """Keys of its entries' groups by which tables break it down."""
    signature: tuple[tuple[str, str], ...] = ()
    """Distinguishes it from other numbers of the same protocol, as `(("mode", "compat"),)`."""
    vanishing: bool = False
    """True if an official script ignores items without a score; the number is never withheld then."""
    weights: Floats | None = None
    """(N,) weight of each item, or group of items; None if all weigh the same."""

    lacking: float = 0.0
    """Sum of `MeanItem.lacking` over scored items."""
    part_withheld: bool = False
    """True if one of the means that it consists of is withheld."""

    @property
    def withheld(self) -> bool:
        """True if too many items are unscored, of all or of a part, to report the number."""
        return not self.vanishing and (self.part_withheld or is_withheld(self.n, self.unscored + self.lacking))

    @property
    def videos(self) -> int:
        """Number of source videos of the scored items."""
        return len(set(self.clusters))


def mean_measure(
    name: str,
    entries: Iterable[MeanItem],
    *,
    scale: float = 1.0,
    offset: float = 0.0,
    by: tuple[str, ...] = (),
    signature: tuple[tuple[str, str], ...] = (),
) -> Measure:
    """The mean of values, each `value * scale + offset`.

    Where entries name a group in `mean_of`, the mean of the groups' means. A group counts if any of its items has
    a value.

    Args:
        name: Name of the measure, as `vdeval`.
        entries: All items, with and without a score.
        scale: Factor of each value.
        offset: Added after scaling.
        by: Groups by which tables break it down.
        signature: Distinguishes it from other numbers of its protocol.
    """
    kept = tuple(entries)
    rows = _rows(kept)
    table = np.array([value * scale + offset for _, value in rows], np.float64).reshape(-1, 1)
    scored = sum(entry.applies and entry.value is not None for entry in kept)
    return Measure(
        name=name,
        value=float(table.mean()) if len(table) else None,
        n=scored,
        unscored=sum(entry.applies and entry.value is None for entry in kept),
        not_applicable=sum(not entry.applies for entry in kept),
        statistics=table,
        clusters=[video for video, _ in rows],
        from_sums=_mean,
        entries=kept,
        scale=scale,
        offset=offset,
        by=by,
        signature=signature,
        lacking=_lacking(kept),
    )


def mean_of_means(
    name: str,
    parts: Mapping[str, Iterable[MeanItem]],
    *,
    scale: float = 1.0,
    by: tuple[str, ...] = (),
    signature: tuple[tuple[str, str], ...] = (),
) -> Measure:
    """The mean of several means that count the same each, as MT-Video-Bench's overall score of its six tasks.

    Args:
        name: Name of the measure.
        parts: Items of each part. The mean is withheld if a part is. A part that applies nowhere is left out.
        scale: Factor of each value.
        by: Groups by which tables break it down.
        signature: Distinguishes it from other numbers of its protocol.
    """
    kept = {part: tuple(entries) for part, entries in parts.items()}
    rows = {part: _rows(entries) for part, entries in kept.items()}
    present = [part for part, found in rows.items() if found]
    table = np.zeros((sum(len(rows[part]) for part in present), 2 * len(present)))
    clusters: list[str] = []
    for column, part in enumerate(present):
        for video, value in rows[part]:
            table[len(clusters), 2 * column] = value * scale
            table[len(clusters), 2 * column + 1] = 1.0
            clusters.append(video)
    every = tuple(entry for entries in kept.values() for entry in entries)
    return Measure(
        name=name,
        value=float(_mean_of_means(table.sum(axis=0, keepdims=True), np.array([len(table)]))[0]) if present else None,
        n=sum(entry.applies and entry.value is not None for entry in every),
        unscored=sum(entry.applies and entry.value is None for entry in every),
        not_applicable=sum(not entry.applies for entry in every),
        statistics=table,
        clusters=clusters,
        weights=np.repeat([1 / len(rows[part]) for part in present], [len(rows[part]) for part in present]),
        from_sums=_mean_of_means,
        entries=every,
        scale=scale,
        by=by,
        signature=signature,
        lacking=_lacking(every),
        part_withheld=any(mean_measure(name, entries).withheld for entries in kept.values()),
    )


def _lacking(entries: Iterable[MeanItem]) -> float:
    return sum(entry.lacking for entry in entries if entry.applies and entry.value is not None)


def group_measure(measure: Measure, by: str) -> dict[str, Measure]:
    """The same measure over each group of its items, by the name of the group. An item may be in several groups."""
    found: dict[str, list[MeanItem]] = {}
    for entry in measure.entries:
        for group in entry.groups.get(by, ()):
            found.setdefault(group, []).append(entry)
    return {
        group: replace(
            mean_measure(measure.name, entries, scale=measure.scale, offset=measure.offset), vanishing=measure.vanishing
        )
        for group, entries in found.items()
    }


def _rows(entries: Sequence[MeanItem]) -> list[tuple[str, float]]:
    """Video and value of every item, or of every group of items that are averaged first."""
    rows: list[tuple[str, float]] = []
    groups: dict[tuple[str, str], list[float]] = {}
    for entry in entries:
        if not entry.applies or entry.value is None:
            continue
        if entry.mean_of is None:
            rows.append((entry.video_id, entry.value))
        else:
            groups.setdefault((entry.video_id, entry.mean_of), []).append(entry.value)
    return rows + [(video, sum(values) / len(values)) for (video, _), values in groups.items()]


def _mean(sums: Floats, n: Floats) -> Floats:
    return sums[:, 0] / n


def _mean_of_means(sums: Floats, n: Floats) -> Floats:
    """(R,) means of the parts' means; a resample without items of a part averages the other parts."""
    totals, counts = sums[:, 0::2], sums[:, 1::2]
    there = (counts > 0).sum(axis=1)
    means = np.where(counts > 0, totals / np.maximum(counts, 1), 0.0).sum(axis=1)
    values: Floats = np.where(there > 0, means / np.maximum(there, 1), np.nan)
    return values
