"""Exports proposed tags as a list for people, and applies the corrected list to the benchmark."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from reeltalk.construct.tagging.decide import MOST_TAGS
from reeltalk.construct.tagging.settings import UNITS
from reeltalk.construct.tagging.turns import TABLE_OF, UNVERIFIED, read_turns, replace_turns
from reeltalk.errors import BenchmarkError, InputError
from reeltalk.inference.linear_tagger import TAGGED
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.labels import Content, TagProposal, TagUnit, Target, Thinking
from reeltalk.schema.record import Json
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.documents import input_error
from reeltalk.store.foreign import open_file
from reeltalk.store.tables import TAG_PROPOSALS

STAGE: Final = "tag apply"
LONGEST_LIST_BYTES: Final = 256 << 20


class Correction(BaseModel):
    """One line of a corrected list. Other fields of the line are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    unit: TagUnit
    unit_id: str
    turn_index: Annotated[int, Field(ge=0)]
    target: Annotated[tuple[Target, ...], Field(min_length=1, max_length=MOST_TAGS)]
    content: Annotated[tuple[Content, ...], Field(min_length=1, max_length=MOST_TAGS)]
    thinking: Thinking

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Tags by vocabulary, without duplicates, in the vocabulary's order."""
        given = (self.target, self.content, (self.thinking,))
        kinds: tuple[Any, ...] = (Target, Content, Thinking)
        return {
            name: tuple(tag.value for tag in kind if tag in tags)
            for name, kind, tags in zip(TAGGED, kinds, given, strict=True)
        }


def list_for_review(benchmark: Benchmark) -> Iterator[dict[str, Json]]:
    """Turns that are marked for review: first those without tags or margin, then by ascending margin.

    Args:
        benchmark: A tagged benchmark.

    Raises:
        BenchmarkError: It has no proposed tags.
        InputError: A table is damaged.
    """
    if not benchmark.rows(TAG_PROPOSALS):
        raise BenchmarkError(f"{benchmark.path} has no proposed tags to review; 'reeltalk tag' proposes some")
    by_place: dict[tuple[str, str, int], list[TagProposal]] = defaultdict(list)
    for row in benchmark.read(TAG_PROPOSALS):
        if row.needs_review:
            by_place[row.unit, row.unit_id, row.turn_index].append(row)
    found: list[tuple[float, dict[str, Json]]] = []
    for asked in read_turns(benchmark):
        if not (rows := by_place.get(asked.place)):
            continue
        margins = [row.margin for row in rows if row.margin is not None]
        closest = min(margins) if len(margins) == len(rows) else None
        thinking = asked.turn.labels.get(TAGGED[2], ())
        entry: dict[str, Json] = {
            "unit": asked.unit,
            "unit_id": asked.unit_id,
            "turn_index": asked.index,
            "question": asked.turn.question,
            "answer": asked.answer,
            "target": list(asked.turn.labels.get(TAGGED[0], ())),
            "content": list(asked.turn.labels.get(TAGGED[1], ())),
            "thinking": thinking[0] if thinking else None,
            "margin": closest,
        }
        found.append((-1.0 if closest is None else closest, entry))
    yield from (entry for _, entry in sorted(found, key=lambda item: item[0]))


def read_corrections(path: Path) -> list[Correction]:
    """Read a corrected list.

    Raises:
        InputError: A line cannot be used; the message names line and field.
    """
    try:
        if path.stat().st_size > LONGEST_LIST_BYTES:
            raise InputError("a list of more than 256 MB", file=path)
        with open_file(path) as stream:
            content = stream.read()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path, hint="check the path") from None
    found: dict[tuple[str, str, int], Correction] = {}
    for number, line in enumerate(content.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = Correction.model_validate_json(line)
        except ValidationError as error:
            raise input_error(error, file=path, line=number, place="") from None
        if (place := (row.unit, row.unit_id, row.turn_index)) in found:
            raise InputError("the turn stands in the list twice", file=path, line=number, value=list(place))
        found[place] = row
    if not found:
        raise InputError("a list without lines", file=path, hint="'reeltalk tag BENCH --doubts' writes one")
    return list(found.values())


def apply_corrections(benchmark: Benchmark, corrections: list[Correction], *, file: Path) -> int:
    """Write the tags of a corrected list into the turns. Taggers then leave these tags alone by default.

    Args:
        benchmark: The benchmark.
        corrections: The list.
        file: Path of the list, for error messages.

    Returns:
        Number of turns whose tags changed.

    Raises:
        InputError: The list names a turn that is not in the benchmark.
        FrozenError: The benchmark is a release.
    """
    turns = {asked.place: asked.turn for asked in read_turns(benchmark)}
    changed: dict[tuple[TagUnit, str], dict[int, Turn]] = defaultdict(dict)
    count = 0
    for row in corrections:
        turn = turns.get((row.unit, row.unit_id, row.turn_index))
        if turn is None:
            place = [row.unit, row.unit_id, row.turn_index]
            raise InputError("the benchmark has no such turn", file=file, value=place, hint="check the benchmark")
        count += any(turn.labels.get(name, ()) != tags for name, tags in row.labels.items())
        changed[row.unit, row.unit_id][row.turn_index] = turn.model_copy(
            update={"labels": turn.labels | row.labels, "extra": turn.extra | {UNVERIFIED: True}}
        )
    done = {(row.unit, row.unit_id, row.turn_index) for row in corrections}
    proposals = [row for row in benchmark.read(TAG_PROPOSALS) if (row.unit, row.unit_id, row.turn_index) not in done]
    files = benchmark.manifest.files
    with benchmark.writing(stage=STAGE, settings={"corrections": len(corrections)}) as writer:
        for unit in UNITS:
            table: Any = TABLE_OF[unit]
            if any(key[0] == unit for key in changed):
                rows = [replace_turns(row, changed.get((unit, row.id), {})) for row in benchmark.read(table)]
                writer.add(table, rows, work_of=files[table.file_name])
        entry = files.get(TAG_PROPOSALS.file_name)
        if entry is not None:
            writer.add(TAG_PROPOSALS, proposals, work_of=entry)
    return count
