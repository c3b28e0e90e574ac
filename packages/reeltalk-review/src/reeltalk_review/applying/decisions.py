"""What people decided at a place of a unit: the decision with its reasons, and how the result differs from the draft.

Reviews in the benchmark, `review apply --dry-run` and the page of changes say the same, since all ask here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.schema.dialogue import Turn
from reeltalk.schema.record import Json
from reeltalk.schema.review import WORDING_FIELDS, Decision, FieldEdit
from reeltalk_review.applying.settled import DoneUnit

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
        fields = {name: (draft[name], value[name]) for name in (*WORDING_FIELDS, LABELS) if decision is Decision.EDIT}
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
    drafted = drafted_relations(unit, place)
    edits = []
    if drafted != list(value["relations"]):
        edits.append(FieldEdit(field="relations", before=drafted, after=list(value["relations"])))
    if value["skills"]:
        edits.append(FieldEdit(field="skills", before=None, after=list(value["skills"])))
    if value["question"] is not None:
        reworded = {"question": value["question"], "references": value["references"], "method": value["method"]}
        edits.append(FieldEdit(field="rewrite", before=None, after=reworded))
    return ReviewDecision(Decision.EDIT if edits else Decision.ACCEPT, edits=edits, comment=value["note"])


def drafted_relations(unit: DoneUnit, place: str) -> list[Json]:
    """The relations of a link as it was drafted; none if it was not."""
    return next((list(link["relations"]) for link in unit.content["linkages"] if link["place"] == place), [])


def place_order(place: str) -> tuple[int, ...]:
    """Sorts places by the numbers of their turns."""
    return tuple(int(part) if part.isdecimal() else 0 for part in place.split("-"))
