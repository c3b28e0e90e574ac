"""The tag stage: proposes tags for turns without them.

Tags that a person or a rule gave stay, unless the settings replace them. For each proposed tag the table of proposals
records the tagger and its probabilities. People correct doubtful tags in `reeltalk review`.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Protocol

from reeltalk.errors import BenchmarkError
from reeltalk.progress import Progress, ignore_progress
from reeltalk.schema.labels import TagProposal, TagUnit
from reeltalk.schema.outcomes import StageReport
from reeltalk.schema.record import Json
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.rows import rows_by
from reeltalk.store.tables import TAG_PROPOSALS
from reeltalk_build.construct.settings import UNITS, ReviewSettings, TagSettings
from reeltalk_build.construct.tagging.turns import (
    TABLE_OF,
    TAGGED,
    UNVERIFIED,
    TurnTags,
    TurnToTag,
    read_turns,
    replace_turns,
    select_for_review,
    worded_turns,
)


class Tagger(Protocol):
    """Proposes tags for turns."""

    @property
    def signature(self) -> str:
        """Name of the tagger with a hash of everything that its proposals depend on."""
        ...

    def tag(self, turns: Sequence[TurnToTag], progress: Progress) -> list[TurnTags]:
        """Tag turns.

        Returns:
            One result per turn, in order.
        """
        ...


STAGE: Final = "tag"
TURNS_AT_ONCE: Final = 2_000
"""Turns that are given to a tagger together."""
DIGITS: Final = 6
"""Stored decimals of a probability."""


@dataclass(frozen=True)
class TaggingResult:
    """The result of `tag`."""

    report: StageReport
    turns: int
    """Turns of the benchmark in the selected units."""
    tagged: int
    untagged: int
    """Turns for which the tagger gave no usable result."""
    review: int
    """Turns that a person should look at."""
    counts: Mapping[str, int]
    """Number of turns by written tag."""


def count_turns(benchmark: Benchmark, settings: TagSettings) -> tuple[int, int]:
    """The number of turns, and the number of those that `tag` would tag.

    Raises:
        BenchmarkError: There are no turns.
        InputError: A table is damaged.
    """
    total, wanted = 0, 0
    for asked in read_turns(benchmark, units=settings.units):
        total += 1
        wanted += bool(asked.missing_vocabularies(settings.replace))
    if not total:
        raise BenchmarkError(
            f"{benchmark.path} has no turns to tag in {', '.join(settings.units)}; "
            "'reeltalk import', 'reeltalk construct' or 'reeltalk graph questions' gives it some"
        )
    return total, wanted


def turns_to_tag(benchmark: Benchmark, settings: TagSettings) -> Iterator[list[TurnToTag]]:
    """The turns that `tag` would tag, in parts of whole units with `TURNS_AT_ONCE` turns or a few more.

    Raises:
        InputError: A table is damaged.
    """
    part: list[TurnToTag] = []
    for asked in read_turns(benchmark, units=settings.units):
        if len(part) >= TURNS_AT_ONCE and asked.place[:2] != part[-1].place[:2]:
            yield part
            part = []
        if asked.missing_vocabularies(settings.replace):
            part.append(asked)
    if part:
        yield part


def tag(
    benchmark: Benchmark,
    tagger: Tagger,
    settings: TagSettings,
    review: ReviewSettings,
    *,
    progress: Progress = ignore_progress,
) -> TaggingResult:
    """Propose tags for the turns that lack them.

    Raises:
        BenchmarkError: There are no turns, or the benchmark cannot be written.
        FrozenError: The benchmark is a release.
    """
    total, to_tag = count_turns(benchmark, settings)
    if to_tag:
        benchmark.check_changeable()
    proposals = benchmark.spool(TagProposal) if to_tag else None
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    tagged: Counter[TagUnit] = Counter()

    def results() -> Iterator[TurnTags]:
        done = 0
        for turns in turns_to_tag(benchmark, settings):
            made = tagger.tag(turns, _part_of(progress, done / to_tag, len(turns) / to_tag))
            done += len(turns)
            for asked, found in zip(turns, made, strict=True):
                rows = _rows(asked, found, asked.missing_vocabularies(settings.replace), tagger.signature)
                if proposals is not None:
                    proposals.extend(rows)
                tagged[asked.unit] += bool(found.decisions)
                if found.decisions:
                    counts.update(tag for row in rows for tag in row.tags)
                if found.reason:
                    reasons[found.reason] += 1
                yield found

    marked = set(select_for_review(results(), review))
    if proposals is not None:
        stored = settings.model_dump(mode="json") | review.model_dump(mode="json") | {"tagger": tagger.signature}
        _write(benchmark, proposals, marked, {unit for unit, count in tagged.items() if count}, stored)
    untagged = to_tag - tagged.total()
    report = StageReport(
        stage=STAGE,
        counts={"turns tagged": to_tag - untagged, "turns left untagged": untagged, "to review": len(marked)},
        warnings=tuple(f"{count:,} turns left untagged: {reason}" for reason, count in reasons.most_common()),
    )
    return TaggingResult(report, total, to_tag - untagged, untagged, len(marked), dict(counts.most_common()))


def _part_of(progress: Progress, start: float, share: float) -> Progress:
    """The progress of a part of the work."""
    return lambda what, done, total, part: progress(what, done, total, start + share * part)


def _rows(asked: TurnToTag, found: TurnTags, wanted: Sequence[str], signature: str) -> list[TagProposal]:
    rows = []
    for number, name in enumerate(wanted):
        decision = found.decisions.get(name)
        rows.append(
            TagProposal(
                unit=asked.unit,
                unit_id=asked.unit_id,
                turn_index=asked.index,
                vocabulary=name,
                tags=() if decision is None else decision.tags,
                probabilities={tag: round(value, DIGITS) for tag, value in found.probabilities.get(name, {}).items()},
                margin=None if decision is None or not found.probabilities else round(decision.margin, DIGITS),
                tagger=signature,
                reason=found.reason,
                raw=found.raw if number == 0 else (),
            )
        )
    return rows


def _write(
    benchmark: Benchmark,
    proposals: Sequence[TagProposal],
    marked: Collection[int],
    changed: Collection[TagUnit],
    settings: dict[str, Json],
) -> None:
    """Write turns and proposals. Proposals for other turns stay if those turns still have the proposed tags."""
    files = benchmark.manifest.files
    earlier = rows_by(benchmark.table(TAG_PROPOSALS), "unit_id")
    ordered = benchmark.spool(TagProposal)
    coming = _by_turn(proposals, marked)
    following = next(coming, None)

    def tagged(unit: TagUnit, row: Any) -> Any:
        """A unit with its new tags, once its proposals are in `ordered`."""
        nonlocal following
        news: dict[int, list[TagProposal]] = {}
        while following is not None and following[0].unit == unit and following[0].unit_id == row.id:
            news[following[0].turn_index] = following
            following = next(coming, None)
        turns = {
            index: turn.model_copy(
                update={
                    "labels": turn.labels | {found.vocabulary: found.tags for found in news[index]},
                    "extra": turn.extra | {UNVERIFIED: False},
                }
            )
            for index, turn in worded_turns(row)
            if any(found.tags for found in news.get(index, ()))
        }
        row = replace_turns(row, turns)
        old = [found for found in earlier.get(row.id, ()) if found.unit == unit]
        for index, turn in worded_turns(row):
            kept = (
                []
                if index in news
                else [
                    found
                    for found in old
                    if found.turn_index == index and turn.labels.get(found.vocabulary, ()) == found.tags
                ]
            )
            ordered.extend(sorted((*kept, *news.get(index, ())), key=lambda found: TAGGED.index(found.vocabulary)))
        return row

    parents = {TABLE_OF[unit].file_name: files[TABLE_OF[unit].file_name].sha256 for unit in UNITS
               if TABLE_OF[unit].file_name in files}  # fmt: skip
    with benchmark.writing(stage=STAGE, settings=settings, parents=parents) as writer:
        for unit in UNITS:
            table: Any = TABLE_OF[unit]
            rows = (tagged(unit, row) for row in benchmark.read(table))
            if unit in changed:
                writer.add(table, rows, work_of=files[table.file_name])
            else:
                deque(rows, maxlen=0)
        writer.add(TAG_PROPOSALS, ordered)


def _by_turn(proposals: Iterable[TagProposal], marked: Collection[int]) -> Iterator[list[TagProposal]]:
    turns = groupby(proposals, key=lambda row: (row.unit, row.unit_id, row.turn_index))
    for number, (_, rows) in enumerate(turns):
        yield [row.model_copy(update={"needs_review": number in marked}) for row in rows]
