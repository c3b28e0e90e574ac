"""What settled work changes, as a difference for people: in a terminal (`review apply --dry-run`) and on a page."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from reeltalk.schema.record import Json
from reeltalk.schema.review import Decision
from reeltalk_review.applying.decisions import decision_of, drafted_relations, place_order
from reeltalk_review.applying.settled import DoneUnit
from reeltalk_review.tasks.task import spoken_place

_WORD: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|\s+|\d+\.\d+|\w+|.", re.DOTALL)
"""A Han or Kana character, a run of spaces, a number, a word, or one mark."""


@dataclass(frozen=True)
class FieldChange:
    """The words of one field of a turn or link, before and after."""

    name: str
    before: str
    after: str

    @property
    def pieces(self) -> Iterator[tuple[str, str]]:
        """The text in pieces: `same`, `del` or `ins`, and its words."""
        old, new = _WORD.findall(self.before), _WORD.findall(self.after)
        for what, i, j, k, n in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if what == "equal":
                yield "same", "".join(old[i:j])
                continue
            if i < j:
                yield "del", "".join(old[i:j])
            if k < n:
                yield "ins", "".join(new[k:n])


@dataclass(frozen=True)
class Change:
    """What a settled place changes, for people."""

    place: str
    """As `turn 2`."""
    what: str
    """`edited`, `removed`, `drawn`."""
    why: str
    fields: Sequence[FieldChange] = ()

    def lines(self) -> Iterator[str]:
        """The change as a difference in lines."""
        yield f"  {self.place}: {self.what}{f', {self.why}' if self.why else ''}"
        for one in self.fields:
            yield f"    {one.name}"
            yield from (f"    - {line}" for line in one.before.splitlines())
            yield from (f"    + {line}" for line in one.after.splitlines())


def changes_of(unit: DoneUnit, places: Iterable[str] | None = None) -> Iterator[Change]:
    """How the results of a unit differ from its draft; nothing for places that stay as they were.

    Args:
        places: The places that are looked at; by default all.
    """
    for place in sorted(unit.results if places is None else places, key=place_order):
        value = unit.results[place].value
        if place.isdecimal() or unit.kind == "links":
            if (change := _change(unit, place, value)) is not None:
                yield change


def _change(unit: DoneUnit, place: str, value: Json) -> Change | None:
    if unit.kind == "links" and not all(part.isdecimal() for part in place.split("-")):
        return None
    found, spoken = decision_of(unit, place, value), spoken_place(place)
    if found.decision is Decision.REJECT:
        if unit.kind != "links":
            name, before = "question", unit.content["turns"][int(place)]["question"]
        else:
            name, before = "relations", _words(drafted_relations(unit, place))
        return Change(spoken, "removed", found.why, [FieldChange(name, before, "")]) if before else None
    fields = [FieldChange(_field_name(edit.field), _words(edit.before), _words(edit.after)) for edit in found.edits]
    what = "drawn" if unit.kind == "links" and not drafted_relations(unit, place) else "edited"
    return Change(spoken, what, found.comment, fields) if fields else None


def _field_name(name: str) -> str:
    """A field for people: `asked at`, `labels of cogme.target`."""
    last = name.partition("].")[2] or name
    return last.replace("labels.", "labels of ").removesuffix("_s").replace("_", " ")


def _words(value: Json) -> str:
    """A value for people, one line for each part."""
    if value is None:
        return ""
    if isinstance(value, dict):
        if "start_s" in value:
            return f"{value['start_s']:.2f}–{value['end_s']:.2f} s"
        return "\n".join(f"{_field_name(name)}: {_words(part)}" for name, part in value.items() if part)
    if isinstance(value, list):
        return "\n".join(_words(part) for part in value)
    return str(value)
