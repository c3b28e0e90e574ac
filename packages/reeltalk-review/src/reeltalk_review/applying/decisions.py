"""What people decided at a place of a unit: the decision with its reasons, and how the result differs from the draft.

Reviews in the benchmark, `review apply --dry-run` and the page of changes say the same, since all ask here.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from reeltalk.schema.dialogue import Turn
from reeltalk.schema.record import Json
from reeltalk.schema.review import Decision, FieldEdit
from reeltalk_review.applying.settled import DoneUnit
from reeltalk_review.tasks.task import spoken_place

WORDED: Final = ("question", "references", "asked_at_s", "evidence", "options", "correct_option")
"""Fields of a turn's wording: all that people edit except labels."""
LABELS: Final = "labels"
CHANGES: Final = ("turns", "links", "tagging", "types")
"""Kinds of work that change turns and links, in the order in which they are applied."""


@dataclass(frozen=True)
class ReviewDecision:
    """The decision in a value."""

    decision: Decision
    reasons: Sequence[str] = ()
    edits: Sequence[FieldEdit] = ()
    comment: str = ""

    @property
    def why(self) -> str:
        """Reasons and note as one text, such as `leaks, other (it is in the title)`."""
        reasons = ", ".join(reason.replace("_", " ") for reason in self.reasons)
        return f"{reasons} ({self.comment})" if reasons and self.comment else reasons or self.comment


def decision_of(unit: DoneUnit, place: str, value: Json) -> ReviewDecision:
    """The decision in a value at a place of a unit, with what the value changes in the draft."""
    if unit.kind == "links":
        return _link_decision(unit, place, value)
    draft = Turn.model_validate(unit.content["turns"][int(place)]).model_dump(mode="json")
    decision = Decision(value["decision"])
    if unit.kind == "turns":
        fields = {name: (draft[name], value[name]) for name in (*WORDED, LABELS) if decision is Decision.EDIT}
    else:
        named = value[LABELS].items() if decision is not Decision.SKIP else ()
        fields = {f"{LABELS}.{name}": (draft[LABELS].get(name, []), list(labels)) for name, labels in named}
    edits = [
        FieldEdit(field=f"turns[{place}].{name}", before=before, after=after)
        for name, (before, after) in fields.items()
        if before != after
    ]
    return ReviewDecision(decision, value.get("reasons", ()), edits, value["note"])


def _link_decision(unit: DoneUnit, place: str, value: Json) -> ReviewDecision:
    if value is None or value["decision"] != "keep":
        return ReviewDecision(Decision.REJECT, comment=value["note"] if value is not None else "")
    drafted = _drafted(unit, place)
    edits = []
    if drafted != list(value["relations"]):
        edits.append(FieldEdit(field="relations", before=drafted, after=list(value["relations"])))
    if value["skills"]:
        edits.append(FieldEdit(field="skills", before=None, after=list(value["skills"])))
    if value["question"] is not None:
        reworded = {"question": value["question"], "references": value["references"], "method": value["method"]}
        edits.append(FieldEdit(field="rewrite", before=None, after=reworded))
    return ReviewDecision(Decision.EDIT if edits else Decision.ACCEPT, edits=edits, comment=value["note"])


def _drafted(unit: DoneUnit, place: str) -> list[Json]:
    """The relations of a link as it was drafted; none if it was not."""
    return next((list(link["relations"]) for link in unit.content["linkages"] if link["place"] == place), [])


@dataclass(frozen=True)
class Change:
    """What a settled place changes, for people."""

    place: str
    """As `turn 2`."""
    what: str
    """`edited`, `removed`, `drawn`."""
    why: str
    fields: Sequence[tuple[str, str, str]] = field(default=())
    """Name, old words and new words of each changed field."""

    def lines(self) -> Iterator[str]:
        """The change as a difference in lines."""
        yield f"  {self.place}: {self.what}{f', {self.why}' if self.why else ''}"
        for name, before, after in self.fields:
            yield f"    {name}"
            yield from (f"    - {line}" for line in before.splitlines())
            yield from (f"    + {line}" for line in after.splitlines())


def changes_of(unit: DoneUnit, places: Iterable[str] | None = None) -> Iterator[Change]:
    """How the results of a unit differ from its draft; nothing for places that stay as they were.

    Args:
        unit: The unit.
        places: The places that are looked at; by default all.
    """
    for place in sorted(unit.results if places is None else places, key=place_order):
        value = unit.results[place].value
        if place.isdecimal() or unit.kind == "links":
            if (change := _change(unit, place, value)) is not None:
                yield change


def place_order(place: str) -> tuple[int, ...]:
    """Sorts places by the numbers of their turns."""
    return tuple(int(part) if part.isdecimal() else 0 for part in place.split("-"))


def _change(unit: DoneUnit, place: str, value: Json) -> Change | None:
    if unit.kind == "links" and not all(part.isdecimal() for part in place.split("-")):
        return None
    found, spoken = decision_of(unit, place, value), spoken_place(place)
    if found.decision is Decision.REJECT:
        if unit.kind != "links":
            name, before = "question", unit.content["turns"][int(place)]["question"]
        else:
            name, before = "relations", _words(_drafted(unit, place))
        return Change(spoken, "removed", found.why, [(name, before, "")]) if before else None
    fields = [(_field_name(edit.field), _words(edit.before), _words(edit.after)) for edit in found.edits]
    what = "drawn" if unit.kind == "links" and not _drafted(unit, place) else "edited"
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
