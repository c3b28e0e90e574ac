"""What an export leaves out, counted, so that nothing goes missing without a line about it."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeVar

from reeltalk.schema.dialogue import GRAPH_FACTS, Dialogue, QAChain, Turn
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json, Record
from reeltalk.store.content import Content

Unit = TypeVar("Unit", Dialogue, QAChain)
UNHELD: Final = ("entities", "events", "facts", "tag_proposals", "rubrics", "reviews", "rejected", "media")
"""Tables that no layout of questions has a place for, beyond those that every export counts."""
ADDED_LATER: Final = ("chains", "linkages", "paths", "graphs", "answers", "scores", *UNHELD)
"""Tables that a layout of questions does not fill."""
MADE_ON_THE_WAY: Final = (
    "screenings", "shots", "frames", "scenes", "rewrites", "proactive", "known_boxes", "sightings", "identity_changes",
    "gates",
)  # fmt: skip
"""Tables that stages work with, which no published layout of dialogues has a place for."""
WORDS: Final = {
    "proactive": "proactive tasks",
    "known_boxes": "known boxes",
    "identity_changes": "changes of identities",
    "gates": "results of gates",
    "tag_proposals": "proposed tags",
    "media": "video files",
    "rejected": "refused records",
}
"""What a table holds, where its name does not say it."""
FILE_FIELDS: Final = "fields"
"""Under which key of a file's `extra` those of its own fields stand that are called like one of ours."""
_OURS: Final = frozenset({*GRAPH_FACTS, "writer", "about", "scene"})
_REVIEWED: Final = re.compile(r"[a-z_]+_(verified|manual)")


def is_ours(key: str) -> bool:
    """True for a key of `extra` under which our own stages keep something: no layout has a place for it."""
    return key in _OURS or _REVIEWED.fullmatch(key) is not None


def source_fields(extra: Mapping[str, Json], named: Collection[str] = ()) -> dict[str, Json]:
    """What of an imported record's `extra` its source has written.

    Args:
        extra: The record's fields that the layout does not specify.
        named: Keys that the source has, although ours are called so too.
    """
    return {key: value for key, value in extra.items() if key in named or not is_ours(key)}


def without_our_fields(unit: Unit, named: Collection[str]) -> Unit:
    """A dialogue or chain with those fields of `extra` alone, its own and its turns', that its source has written.

    Args:
        unit: It.
        named: See `source_fields`.
    """
    turns = tuple(turn.model_copy(update={"extra": source_fields(turn.extra, named)}) for turn in unit.turns)
    return unit.model_copy(update={"extra": source_fields(unit.extra, named), "turns": turns})


def fields_like_ours(extras: Iterable[Mapping[str, Json]]) -> list[str]:
    """The keys of a file's own fields that are called like one of ours, for `FILE_FIELDS`."""
    return sorted({key for extra in extras for key in extra if is_ours(key)})


def source_keys_like_ours(files: Iterable[SourceFile]) -> frozenset[str]:
    """All keys of `FILE_FIELDS` of some files."""
    return frozenset(key for file in files for key in file.extra.get(FILE_FIELDS, ()))


def tables_left_out(content: Content, tables: Collection[str] = UNHELD) -> list[str]:
    """A line for each table that has rows."""
    return [
        f"{WORDS.get(name, name)} are left out: {len(getattr(content, name)):,}"
        for name in tables
        if getattr(content, name)
    ]


def fields_left_out(what: str, records: Iterable[Record], kept: Collection[str]) -> list[str]:
    """A line for each field that some record sets and the layout has no place for.

    Args:
        what: The records in the plural, as `turns`.
        records: They themselves.
        kept: Names of the fields that the layout holds, or that another line speaks of.
    """
    counts: Counter[str] = Counter()
    for record in records:
        for name, field in type(record).model_fields.items():
            if name not in kept and getattr(record, name) != field.get_default(call_default_factory=True):
                counts[name] += 1
    return [f"{what} lose their {name}: {count:,}" for name, count in counts.items()]


def labels_left_out(turns: Iterable[Turn], kept: Collection[str]) -> list[str]:
    """A line for each vocabulary of labels that the layout has no place for."""
    counts = Counter(name for turn in turns for name in turn.labels if name not in kept)
    return [f"turns lose their labels of {name}: {count:,}" for name, count in sorted(counts.items())]


def more_references_left_out(turns: Iterable[Turn]) -> list[str]:
    """A line where turns have references beyond the one that the right option is."""
    count = sum(
        turn.options is not None
        and turn.correct_option is not None
        and turn.references not in ((), (turn.options[turn.correct_option],))
        for turn in turns
    )
    return [f"turns lose references other than their right option: {count:,}"] if count else []


def added_since_import(content: Content, format_name: str, tables: Collection[str] = ADDED_LATER) -> list[str]:
    """Lines for what came into a benchmark after the files of this format; empty where none of its files did.

    An export writes the imported files again, with the records that stand in them.

    Args:
        content: The benchmark.
        format_name: The format of the files.
        tables: Tables that the layout does not fill.
    """
    files = content.source_files_of(format_name)
    if not files:
        return []
    named = {name for file in files for name in file.records}
    dialogues = sum(dialogue.id not in named for dialogue in content.dialogues)
    lines = [f"dialogues that no imported file holds are left out: {dialogues:,}"] if dialogues else []
    return lines + tables_left_out(content, tables)
