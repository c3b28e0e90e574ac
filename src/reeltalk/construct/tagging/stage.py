"""The tag stage: proposes tags for turns without them, with a trained linear model or a language model.

Tags that a person or a rule gave stay, unless the settings replace them. For each proposed tag the table of proposals
records the tagger and its probabilities.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from reeltalk.construct.tagging.decide import TurnTags, decide, select_for_review
from reeltalk.construct.tagging.settings import UNITS, ReviewSettings, TagSettings
from reeltalk.construct.tagging.turns import (
    TABLE_OF,
    UNVERIFIED,
    Place,
    TurnToTag,
    read_turns,
    replace_turns,
    worded_turns,
)
from reeltalk.errors import BenchmarkError
from reeltalk.inference.linear_tagger import SHIPPED, TAGGED, LinearTagger
from reeltalk.progress import Progress, unseen
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.labels import TagProposal, TagUnit
from reeltalk.schema.outcomes import StageReport
from reeltalk.schema.record import Json
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import TAG_PROPOSALS

HOUSEHOLD: Final = "household"
"""Name of the tagger that comes with reeltalk."""


class Tagger(Protocol):
    """Proposes tags for turns. A linear model and a language model implement it."""

    @property
    def signature(self) -> str:
        """Name of the tagger with a hash of everything that its proposals depend on."""
        ...

    def tag(self, turns: Sequence[TurnToTag], progress: Progress) -> list[TurnTags]:
        """Tag turns.

        Args:
            turns: The turns.
            progress: Called with the name of the work, done, total and share.

        Returns:
            One result per turn, in order.

        Raises:
            ModelError: The model gives no reply.
            BudgetError: A limit would be exceeded.
        """
        ...


class LinearTagging:
    """Tags with a trained linear model."""

    def __init__(self, tagger: LinearTagger) -> None:
        self.tagger = tagger
        self.signature = tagger.signature

    @classmethod
    def named(cls, name: str) -> "LinearTagging":
        """Load the built-in tagger by its name, or a tagger from a file.

        Raises:
            InputError: The file is not a usable tagger.
        """
        return cls(LinearTagger.load(SHIPPED if name == HOUSEHOLD and not os.path.isfile(name) else Path(name)))

    def tag(self, turns: Sequence[TurnToTag], progress: Progress) -> list[TurnTags]:
        """Tag turns. A turn without a question stays untagged."""
        values = self.tagger.probabilities([asked.turn.question for asked in turns], [asked.answer for asked in turns])
        found: list[TurnTags] = []
        for asked, row in zip(turns, values, strict=True):
            if not asked.turn.question.strip():
                found.append(TurnTags({}, {}, "there is no question"))
                continue
            given = iter(row.tolist())
            probabilities = {
                name: {tag: next(given) for tag in tags} for name, tags in self.tagger.vocabularies.items()
            }
            found.append(TurnTags({name: decide(name, part) for name, part in probabilities.items()}, probabilities))
        if turns:
            progress("tagging", len(turns), len(turns), 1.0)
        return found


STAGE: Final = "tag"
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


def turns_to_tag(benchmark: Benchmark, settings: TagSettings) -> tuple[int, list[TurnToTag]]:
    """The number of turns, and the turns that `tag` would tag.

    Raises:
        BenchmarkError: There are no turns.
        InputError: A table is damaged.
    """
    turns = read_turns(benchmark, units=settings.units)
    if not turns:
        raise BenchmarkError(
            f"{benchmark.path} has no turns to tag in {', '.join(settings.units)}; "
            "'reeltalk import', 'reeltalk construct' or 'reeltalk graph questions' gives it some"
        )
    return len(turns), [asked for asked in turns if asked.missing_vocabularies(settings.replace)]


def tag(
    benchmark: Benchmark,
    tagger: Tagger,
    settings: TagSettings,
    review: ReviewSettings,
    *,
    write: bool = True,
    progress: Progress = unseen,
) -> TaggingResult:
    """Propose tags for the turns that lack them.

    Args:
        benchmark: Receives tags and the table of proposals, in one step.
        tagger: Proposes the tags.
        settings: Selects the turns.
        review: Selects the proposals that are marked for review.
        write: False to change nothing.
        progress: Called with the name of the work, done, total and share.

    Raises:
        BenchmarkError: There are no turns, or the benchmark cannot be written.
        FrozenError: The benchmark is a release.
        ModelError: A model cannot be reached. Nothing is written; cached replies are kept.
        BudgetError: A limit is reached. Nothing is written; cached replies are kept.
    """
    total, turns = turns_to_tag(benchmark, settings)
    made = tagger.tag(turns, progress)
    marked = set(select_for_review(made, review))
    proposals: list[TagProposal] = []
    changed: dict[tuple[TagUnit, str], dict[int, Turn]] = defaultdict(dict)
    counts: Counter[str] = Counter()
    for number, (asked, found) in enumerate(zip(turns, made, strict=True)):
        wanted = asked.missing_vocabularies(settings.replace)
        rows = list(_rows(asked, found, wanted, tagger.signature, number in marked))
        proposals += rows
        if found.decisions:
            labels = {row.vocabulary: row.tags for row in rows}
            counts.update(tag for tags in labels.values() for tag in tags)
            changed[asked.unit, asked.unit_id][asked.index] = asked.turn.model_copy(
                update={"labels": asked.turn.labels | labels, "extra": asked.turn.extra | {UNVERIFIED: False}}
            )
    if write and turns:
        stored = settings.model_dump(mode="json") | review.model_dump(mode="json") | {"tagger": tagger.signature}
        _write(benchmark, changed, {asked.place for asked in turns}, proposals, stored)
    untagged = sum(not found.decisions for found in made)
    report = StageReport(
        stage=STAGE,
        counts={"turns tagged": len(turns) - untagged, "turns left untagged": untagged, "to review": len(marked)},
        warnings=tuple(
            f"{count:,} turns left untagged: {reason}"
            for reason, count in Counter(found.reason for found in made if found.reason).most_common()
        ),
    )
    return TaggingResult(report, total, len(turns) - untagged, untagged, len(marked), dict(counts.most_common()))


def _rows(
    asked: TurnToTag, found: TurnTags, wanted: Sequence[str], signature: str, to_look_at: bool
) -> "Sequence[TagProposal]":
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
                needs_review=to_look_at,
                reason=found.reason,
                raw=found.raw if number == 0 else (),
            )
        )
    return rows


def _write(
    benchmark: Benchmark,
    changed: Mapping[tuple[TagUnit, str], Mapping[int, Turn]],
    anew: set[Place],
    proposals: Sequence[TagProposal],
    settings: dict[str, Json],
) -> None:
    """Write turns and proposals. Proposals for other turns stay if those turns still have the proposed tags."""
    files = benchmark.manifest.files
    tables: dict[Any, list[Any]] = {}
    labels: dict[Place, Mapping[str, tuple[str, ...]]] = {}
    for unit in UNITS:
        table: Any = TABLE_OF[unit]
        if table.file_name not in files:
            continue
        rows = [replace_turns(row, changed.get((unit, row.id), {})) for row in benchmark.read(table)]
        labels |= {(unit, row.id, index): turn.labels for row in rows for index, turn in worded_turns(row)}
        if any(key[0] == unit for key in changed):
            tables[table] = rows
    kept = [
        row
        for row in benchmark.read(TAG_PROPOSALS)
        if (place := (row.unit, row.unit_id, row.turn_index)) not in anew
        and place in labels
        and labels[place].get(row.vocabulary, ()) == row.tags
    ]
    order = {place: number for number, place in enumerate(labels)}
    ordered = sorted(
        (*kept, *proposals), key=lambda r: (order[r.unit, r.unit_id, r.turn_index], TAGGED.index(r.vocabulary))
    )
    parents = {TABLE_OF[unit].file_name: files[TABLE_OF[unit].file_name].sha256 for unit in UNITS
               if TABLE_OF[unit].file_name in files}  # fmt: skip
    with benchmark.writing(stage=STAGE, settings=settings, parents=parents) as writer:
        for table, rows in tables.items():
            writer.add(table, rows, work_of=files[table.file_name])
        writer.add(TAG_PROPOSALS, ordered)
