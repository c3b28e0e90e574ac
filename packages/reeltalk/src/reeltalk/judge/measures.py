"""Measures from scores: means with the data that their intervals need, and counts of items without a score."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, overload

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


class _Columns:
    """Items by column, about 50 bytes each: texts that many items share are kept once."""

    def __init__(self) -> None:
        self.videos: list[str] = []
        self.groups: list[Mapping[str, tuple[str, ...]]] = []
        self.means: list[str] = []
        self.video, self.group, self.value, self.flags = array("i"), array("i"), array("d"), array("B")
        self.names, self.ends = bytearray(), array("Q")
        self.mean_of = array("i")
        """Number of the group in which an item is averaged first; empty if there are no such groups."""
        self.reasons: dict[int, str] = {}
        self.lacking: dict[int, float] = {}
        self._numbers: tuple[dict[Any, int], dict[Any, int], dict[Any, int]] = {}, {}, {}
        self._interned: dict[str, str] = {}

    def add(self, item: MeanItem) -> None:
        place = len(self.value)
        self.video.append(_number(item.video_id, item.video_id, self._numbers[0], self.videos))
        self.group.append(_number(tuple(item.groups.items()), item.groups, self._numbers[1], self.groups))
        self.value.append(0.0 if item.value is None else item.value)
        has = APPLIES * item.applies + SCORED * (item.value is not None) + NAMED * (item.item_id is not None)
        self.flags.append(has)
        if item.item_id is not None:
            self.names += item.item_id.encode("utf-8", "surrogatepass")
        self.ends.append(len(self.names))
        if item.mean_of is not None or self.mean_of:
            self.mean_of.extend([-1] * (place - len(self.mean_of)))
            if item.mean_of is None:
                self.mean_of.append(-1)
            else:
                self.mean_of.append(_number(item.mean_of, item.mean_of, self._numbers[2], self.means))
        if item.reason is not None:
            self.reasons[place] = self._interned.setdefault(item.reason, item.reason)
        if item.lacking:
            self.lacking[place] = item.lacking

    def close(self) -> None:
        """Forget what only adding needs."""
        self._numbers = {}, {}, {}
        self._interned = {}

    def item(self, place: int) -> MeanItem:
        flags = self.flags[place]
        name = self.names[self.ends[place - 1] if place else 0 : self.ends[place]]
        group = self.mean_of[place] if self.mean_of else -1
        return MeanItem(
            self.videos[self.video[place]],
            self.value[place] if flags & SCORED else None,
            name.decode("utf-8", "surrogatepass") if flags & NAMED else None,
            bool(flags & APPLIES),
            self.groups[self.group[place]],
            self.means[group] if group >= 0 else None,
            self.reasons.get(place),
            self.lacking.get(place, 0.0),
        )


APPLIES: Final = 1
SCORED: Final = 2
NAMED: Final = 4


def _number(key: Any, value: Any, numbers: dict[Any, int], known: list[Any]) -> int:
    if (number := numbers.get(key)) is None:
        number = numbers[key] = len(known)
        known.append(value)
    return number


class MeanItems(Sequence[MeanItem]):
    """Items of a mean, in little memory."""

    def __init__(self, items: Iterable[MeanItem] = ()) -> None:
        columns = _Columns()
        for item in items:
            columns.add(item)
        self._set(columns)

    def _set(self, columns: _Columns) -> None:
        columns.close()
        self._columns = columns
        self._places: NDArray[np.int64] = np.arange(len(columns.value))

    @classmethod
    def of(cls, items: Iterable[MeanItem]) -> "MeanItems":
        """The items in little memory, or the same object if they are."""
        return items if isinstance(items, cls) else cls(items)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> MeanItem: ...
    @overload
    def __getitem__(self, place: slice) -> "MeanItems": ...
    def __getitem__(self, place: int | slice) -> "MeanItem | MeanItems":
        if isinstance(place, slice):
            return self._at(self._places[place])
        return self._columns.item(int(self._places[place]))

    def __iter__(self) -> Iterator[MeanItem]:
        return map(self._columns.item, map(int, self._places))

    def counts(self) -> tuple[int, int, int]:
        """Numbers of scored items, of unscored ones, and of those to which the criterion does not apply."""
        flags = self._flags
        scored = int(np.count_nonzero(flags & (APPLIES | SCORED) == (APPLIES | SCORED)))
        applies = int(np.count_nonzero(flags & APPLIES))
        return scored, applies - scored, len(flags) - applies

    @property
    def lacking(self) -> float:
        """Sum of `MeanItem.lacking` over scored items."""
        if not self._columns.lacking:
            return 0.0
        return sum(item.lacking for item in self if item.applies and item.value is not None)

    def rows(self) -> tuple[list[str], Floats]:
        """Video and value of every scored item, then of every group of items that are averaged first."""
        kept = self._places[self._flags & (APPLIES | SCORED) == (APPLIES | SCORED)]
        columns = self._columns
        video = np.frombuffer(columns.video, np.int32)[kept] if len(kept) else np.zeros(0, np.int32)
        value = np.frombuffer(columns.value, np.float64)[kept] if len(kept) else np.zeros(0)
        if not columns.mean_of:
            return [columns.videos[number] for number in video], value
        group = np.frombuffer(columns.mean_of, np.int32)[kept]
        alone = group < 0
        groups: dict[tuple[int, int], list[float]] = {}
        for key, one in zip(
            zip(video[~alone].tolist(), group[~alone].tolist(), strict=True), value[~alone], strict=True
        ):
            groups.setdefault(key, []).append(float(one))
        names = [columns.videos[number] for number in (*video[alone], *(number for number, _ in groups))]
        means = np.array([sum(values) / len(values) for values in groups.values()], np.float64)
        return names, np.concatenate([value[alone], means])

    def by(self, key: str) -> "dict[str, MeanItems]":
        """The items of each group of a kind, in the order in which groups come. An item may be in several groups.

        Args:
            key: Key of `MeanItem.groups`.
        """
        if not len(self):
            return {}
        numbers = np.frombuffer(self._columns.group, np.int32)[self._places]
        kinds, first = np.unique(numbers, return_index=True)
        found: dict[str, dict[int, int]] = {}
        for number in kinds[np.argsort(first)].tolist():
            for group in self._columns.groups[number].get(key, ()):
                times = found.setdefault(group, {})
                times[number] = times.get(number, 0) + 1
        by: dict[str, MeanItems] = {}
        for group, times in found.items():
            repeats = np.zeros(len(self._columns.groups), np.int64)
            repeats[list(times)] = list(times.values())
            by[group] = self._at(np.repeat(self._places, repeats[numbers]))
        return by

    @property
    def _flags(self) -> NDArray[np.uint8]:
        if not len(self._places):
            return np.zeros(0, np.uint8)
        return np.frombuffer(self._columns.flags, np.uint8)[self._places]

    def _at(self, places: NDArray[np.int64]) -> "MeanItems":
        some = MeanItems.__new__(MeanItems)
        some._columns, some._places = self._columns, places
        return some


def split_items(items: Iterable[tuple[int, MeanItem]], means: int) -> list[MeanItems]:
    """The items of several means, from one pass over all of them."""
    columns = [_Columns() for _ in range(means)]
    for mean, item in items:
        columns[mean].add(item)
    found = [MeanItems() for _ in columns]
    for one, own in zip(found, columns, strict=True):
        one._set(own)
    return found


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
    entries: Sequence[MeanItem]
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
    kept = MeanItems.of(entries)
    clusters, values = kept.rows()
    table = (values * scale + offset).reshape(-1, 1)
    scored, unscored, not_applicable = kept.counts()
    return Measure(
        name=name,
        value=float(table.mean()) if len(table) else None,
        n=scored,
        unscored=unscored,
        not_applicable=not_applicable,
        statistics=table,
        clusters=clusters,
        from_sums=_mean,
        entries=kept,
        scale=scale,
        offset=offset,
        by=by,
        signature=signature,
        lacking=kept.lacking,
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
    kept = {part: MeanItems.of(entries) for part, entries in parts.items()}
    rows = {part: entries.rows() for part, entries in kept.items()}
    present = [part for part, (_, values) in rows.items() if len(values)]
    table = np.zeros((sum(len(rows[part][1]) for part in present), 2 * len(present)))
    clusters: list[str] = []
    for column, part in enumerate(present):
        videos, values = rows[part]
        own = slice(len(clusters), len(clusters) + len(values))
        table[own, 2 * column], table[own, 2 * column + 1] = values * scale, 1.0
        clusters += videos
    every = MeanItems(entry for entries in kept.values() for entry in entries)
    scored, unscored, not_applicable = every.counts()
    sizes = [len(rows[part][1]) for part in present]
    return Measure(
        name=name,
        value=float(_mean_of_means(table.sum(axis=0, keepdims=True), np.array([len(table)]))[0]) if present else None,
        n=scored,
        unscored=unscored,
        not_applicable=not_applicable,
        statistics=table,
        clusters=clusters,
        weights=np.repeat([1 / size for size in sizes], sizes),
        from_sums=_mean_of_means,
        entries=every,
        scale=scale,
        by=by,
        signature=signature,
        lacking=every.lacking,
        part_withheld=any(mean_measure(name, entries).withheld for entries in kept.values()),
    )


def group_measure(measure: Measure, by: str) -> dict[str, Measure]:
    """The same measure over each group of its items, by the name of the group. An item may be in several groups."""
    return {
        group: replace(
            mean_measure(measure.name, entries, scale=measure.scale, offset=measure.offset), vanishing=measure.vanishing
        )
        for group, entries in MeanItems.of(measure.entries).by(by).items()
    }


def _mean(sums: Floats, n: Floats) -> Floats:
    return sums[:, 0] / n


def _mean_of_means(sums: Floats, n: Floats) -> Floats:
    """(R,) means of the parts' means; a resample without items of a part averages the other parts."""
    totals, counts = sums[:, 0::2], sums[:, 1::2]
    there = (counts > 0).sum(axis=1)
    means = np.where(counts > 0, totals / np.maximum(counts, 1), 0.0).sum(axis=1)
    values: Floats = np.where(there > 0, means / np.maximum(there, 1), np.nan)
    return values
