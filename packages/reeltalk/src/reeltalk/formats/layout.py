"""What all layouts of JSON documents build on: errors with a place, what a layout loses, and the form of a source.

A layout that is written keeps the form of its source: the importer writes each document again, and keeps every
difference from the source with the file, be it an alias, `"1"` for `1`, a key left out, or an order. The export
restores a difference only if our side still has the value that it had at import, so an edited record is never
overwritten by an old spelling. Names of new files come from labels, models and splits, which may hold any character.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from reeltalk.errors import InputError
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import DialogueId, Json
from reeltalk.store.content import Content
from reeltalk.store.documents import parse, record_errors

T = TypeVar("T")

SPLIT_IN_NAME: Final = re.compile(r"(?:^|[^a-z])(train|val|valid|validation|dev|test)(?:$|[^a-z])")


@dataclass
class OpenedFile:
    """A file that is being read, and the errors at its places."""

    path: Path
    name: str
    """Relative to the imported folder."""
    value: Json

    def error(
        self, problem: str, place: str, value: object = None, hint: str | None = None, line: int | None = None
    ) -> InputError:
        """An error at a place of this file."""
        return InputError(problem, file=self.path, line=line, place=place, value=value, hint=hint)

    def parse(self, kind: type[T], value: Json, place: str = "$", line: int | None = None) -> T:
        """A value at a place of this file, checked against a type.

        Raises:
            InputError: It does not fit.
        """
        return parse(kind, value, file=self.path, line=line, place=place)

    def making(self, place: str, line: int | None = None) -> AbstractContextManager[None]:
        """A context in which records are made of what is at a place; their errors name the place."""
        return record_errors(self.path, place, line=line)


class Repeated(Iterable[T]):
    """What a function gives, each time anew: it can be read several times, and is never whole in memory."""

    def __init__(self, make: Callable[[], Iterable[T]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[T]:
        return iter(self._make())


def all_dialogues(content: Content) -> Repeated[Dialogue]:
    """The chains and dialogues of a benchmark, all as dialogues, for a layout without chains."""

    def all_of_them() -> Iterator[Dialogue]:
        for chain in content.chains:
            clips = (chain.clip_id,) if chain.clip_id else ()
            yield Dialogue(id=DialogueId(chain.id), video_id=chain.video_id, clip_ids=clips, turns=chain.turns)
        yield from content.dialogues

    return Repeated(all_of_them)


def lost_beyond_dialogues(content: Content, *, options: bool) -> list[str]:
    """Lines for everything that a layout of dialogues cannot express.

    Args:
        content: The benchmark.
        options: The turns of the layout may have options.
    """
    turns = Repeated(lambda: (turn for unit in all_dialogues(content) for turn in unit.turns))
    counts = {
        "chains became dialogues": len(content.chains),
        "linkages are left out": len(content.linkages),
        "paths are left out": len(content.paths),
        "model answers are left out": len(content.answers),
        "scores are left out": len(content.scores),
        "graphs are left out": len(content.graphs),
        "checklists are left out": sum(turn.checklist is not None for turn in turns),
        "turns lose their options": 0 if options else sum(turn.options is not None for turn in turns),
    }
    return [f"{what}: {count:,}" for what, count in counts.items() if count]


LONGEST_NAME_BYTES: Final = 100
"""A longer name of a video, model or judge is not used as a file or folder name in an export."""


FORM_KEY: Final = "form"
"""Key of `SourceFile.extra` that holds the difference."""


def keep_form(file: SourceFile, theirs: Json, ours: Json) -> SourceFile:
    """`file`, with the difference from `ours` to `theirs` in its `extra`; unchanged if the two are the same."""
    found = difference(theirs, ours)
    return file if found is None else file.model_copy(update={"extra": {**file.extra, FORM_KEY: found}})


def restore_form(file: SourceFile, ours: Json) -> Json:
    """The document in the source's form, except for values that changed since the import."""
    return apply_difference(ours, file.extra[FORM_KEY]) if isinstance(file.extra.get(FORM_KEY), dict) else ours


def difference(theirs: Json, ours: Json) -> dict[str, Json] | None:
    """The difference from `ours` to `theirs`; None if they are the same, including the order of keys."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        return _difference_of_objects(theirs, ours)
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        pairs = enumerate(zip(theirs, ours, strict=True))
        items = {str(i): found for i, (a, b) in pairs if (found := difference(a, b)) is not None}
        return {"items": items, "length": len(ours)} if items else None
    return None if _same(theirs, ours) else {"theirs": theirs, "ours": ours}


def _difference_of_objects(theirs: dict[str, Json], ours: dict[str, Json]) -> dict[str, Json] | None:
    added = {key: member for key, member in theirs.items() if key not in ours}
    absent = {key: member for key, member in ours.items() if key not in theirs}
    # Only the name of an alias is stored, not its value, so an edited record is also exported under the alias.
    renamed: dict[str, Json] = {}
    for key, member in list(absent.items()):
        alias = next((alias for alias, other in added.items() if _same(member, other)), None)
        if alias is not None:
            renamed[key] = alias
            del absent[key], added[alias]
    changed = {
        key: found
        for key, member in theirs.items()
        if key in ours and (found := difference(member, ours[key])) is not None
    }
    merged = [*(renamed.get(key, key) for key in ours if key not in absent), *added]
    order = list(theirs) if merged != list(theirs) else []
    parts = {"keys": changed, "renamed": renamed, "added": added, "absent": absent, "order": order}
    return {part: members for part, members in parts.items() if members} or None


def apply_difference(ours: Json, found: dict[str, Json]) -> Json:
    """Apply a difference if our value has not changed since the difference was computed."""
    if "theirs" in found:
        return found["theirs"] if _same(ours, found["ours"]) else ours
    if "items" in found and isinstance(ours, list) and len(ours) >= found["length"]:
        items: dict[str, Json] = found["items"]
        return [apply_difference(member, items[str(i)]) if str(i) in items else member for i, member in enumerate(ours)]
    if "items" in found or not isinstance(ours, dict):
        return ours
    keys, renamed, absent = (found.get(part, {}) for part in ("keys", "renamed", "absent"))
    members = {
        renamed.get(key, key): apply_difference(member, keys[key]) if key in keys else member
        for key, member in ours.items()
        if not (key in absent and _same(member, absent[key]))
    }
    members |= {key: member for key, member in found.get("added", {}).items() if key not in members}
    order = {key: place for place, key in enumerate(found.get("order", ()))}
    return dict(sorted(members.items(), key=lambda item: order.get(item[0], len(order)))) if order else members


def _same(one: Json, other: Json) -> bool:
    # 1, 1.0 and true are equal in Python, but different in a file.
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_same(member, other[key]) for key, member in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)
