"""Lines that count everything that an export leaves out, so that nothing is lost silently."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final, TypeVar

from reeltalk.schema.dialogue import GRAPH_FACTS, Dialogue, QAChain, Turn
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json, Record
from reeltalk.store.content import Content

Unit = TypeVar("Unit", Dialogue, QAChain)
UNSTORED: Final = ("speech", "entities", "events", "facts", "tag_proposals", "rubrics", "reviews", "rejected", "media")
"""Tables that no layout of questions can store, in addition to the tables that every export counts."""
ADDED_LATER: Final = ("chains", "linkages", "paths", "graphs", "answers", "scores", *UNSTORED)
"""Tables that a layout of questions does not fill."""
WORKING_TABLES: Final = (
    "screenings", "shots", "frames", "scenes", "rewrites", "proactive", "known_boxes", "sightings",
    "identity_changes", "gates",
)  # fmt: skip
"""Working tables of stages, which no published layout of dialogues can hold."""
TABLE_WORDS: Final = {
    "proactive": "proactive tasks",
    "speech": "spoken lines",
    "known_boxes": "known boxes",
    "identity_changes": "changes of identities",
    "gates": "results of gates",
    "tag_proposals": "proposed tags",
    "media": "video files",
    "rejected": "refused records",
}
"""Plain words for the rows of tables with unclear names."""
FILE_FIELDS: Final = "fields"
"""Key of a file's `extra` that lists fields of the source whose names are also names of our own fields."""
_OURS: Final = frozenset({*GRAPH_FACTS, "writer", "about", "scene"})
_REVIEWED_KEY: Final = re.compile(r"[a-z_]+_(verified|manual)")
"""A key that says whether people checked or chose the labels of a turn."""


def is_ours(key: str) -> bool:
    """True for a key of `extra` that our own stages write. No layout can hold it."""
    return key in _OURS or _REVIEWED_KEY.fullmatch(key) is not None


def source_fields(extra: Mapping[str, Json], named: Collection[str] = ()) -> dict[str, Json]:
    """The part of an imported record's `extra` that comes from its source."""
    return {key: value for key, value in extra.items() if key in named or not is_ours(key)}


def without_our_fields(unit: Unit, named: Collection[str]) -> Unit:
    """A dialogue or chain whose `extra`, and that of its turns, holds only fields from its source.

    Args:
        unit: The dialogue or chain.
        named: See `source_fields`.
    """
    turns = tuple(turn.model_copy(update={"extra": source_fields(turn.extra, named)}) for turn in unit.turns)
    return unit.model_copy(update={"extra": source_fields(unit.extra, named), "turns": turns})


def fields_like_ours(extras: Iterable[Mapping[str, Json]]) -> list[str]:
    """Keys of a source's fields that are also keys of ours, for `FILE_FIELDS`."""
    return sorted({key for extra in extras for key in extra if is_ours(key)})


def source_keys_like_ours(files: Iterable[SourceFile]) -> frozenset[str]:
    """All keys of `FILE_FIELDS` of some files."""
    return frozenset(key for file in files for key in file.extra.get(FILE_FIELDS, ()))


def tables_left_out(content: Content, tables: Collection[str] = UNSTORED) -> list[str]:
    """A line for each table that has rows."""
    return [
        f"{TABLE_WORDS.get(name, name)} are left out: {len(getattr(content, name)):,}"
        for name in tables
        if getattr(content, name)
    ]


def fields_left_out(what: str, records: Iterable[Record], stored: Collection[str]) -> list[str]:
    """A line for each field that some record sets and that the layout cannot hold.

    Args:
        what: The name of the records in the plural, such as `turns`.
        stored: Names of fields that the layout holds or that another line covers.
    """
    counts: Counter[str] = Counter()
    for record in records:
        for name, field in type(record).model_fields.items():
            if name not in stored and getattr(record, name) != field.get_default(call_default_factory=True):
                counts[name] += 1
    return [f"{what} lose their {name}: {count:,}" for name, count in counts.items()]


def labels_left_out(turns: Iterable[Turn], stored: Collection[str]) -> list[str]:
    """A line for each vocabulary of labels that the layout cannot hold."""
    counts = Counter(name for turn in turns for name in turn.labels if name not in stored)
    return [f"turns lose their labels of {name}: {count:,}" for name, count in sorted(counts.items())]


def added_since_import(content: Content, format_name: str, tables: Collection[str] = ADDED_LATER) -> list[str]:
    """Lines for everything added to a benchmark after files of this format were imported; empty if none were.

    An export writes the imported files again, with the records of those files.
    """
    files = content.source_files_of(format_name)
    if not files:
        return []
    named = {name for file in files for name in file.records}
    dialogues = sum(dialogue.id not in named for dialogue in content.dialogues)
    lines = [f"dialogues that no imported file holds are left out: {dialogues:,}"] if dialogues else []
    return lines + tables_left_out(content, tables)
