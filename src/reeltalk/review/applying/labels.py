"""Labels that people gave turns: they take the place of what was proposed, and the turn says that somebody looked."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from reeltalk.review.applying.next_revision import NextRevision
from reeltalk.review.applying.settled import DoneUnit
from reeltalk.review.applying.verdicts import Said, verdicts
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.record import Json
from reeltalk.schema.review import Decision, FieldEdit

VERIFIED: Final[Mapping[str, str]] = {"tagging": "tags_verified", "types": "types_verified"}
"""By kind of work, what a turn's `extra` says once a person has looked."""
MANUAL: Final = "_manual"
"""Ending of the name under which `extra` says by which manual that was done."""


def apply_labels(made: NextRevision, units: Iterator[DoneUnit]) -> None:
    """Bring labels into turns, after all turns are as they become."""
    turns: dict[tuple[str, str], list[Turn]] = {}
    looked: set[tuple[str, str, int, str]] = set()
    rows: dict[tuple[str, str], QAChain | Dialogue] = {("chains", row.id): row for row in made.content.chains}
    rows |= {("dialogues", row.id): row for row in made.content.dialogues}
    for unit in units:
        key = (unit.target_table, unit.target_id)
        drafts = [Turn.model_validate(turn) for turn in unit.content["turns"]]
        for index, place in enumerate(made.snapshot_places(*key, len(drafts), unit.revision)):
            settled = unit.results.get(str(index))
            if settled is None or settled.hash == made.history.result(unit.kind, *key, place):
                continue
            decision = Decision(settled.value["decision"])
            now = made.now(*key, place)
            if decision is not Decision.SKIP and now is not None and key in rows:
                those = turns.setdefault(key, list(rows[key].turns))
                those[now] = _labelled(those[now], drafts[index], unit.kind, settled.value)
                looked |= {(*key, now, vocabulary) for vocabulary in settled.value["labels"]}
            made.counts[_words(unit.kind, decision, is_there=now is not None)] += 1
            found = verdicts(unit, str(index), settled, partial(_said, index, drafts[index]))
            made.review(unit, found, place=place, settled=settled)
    if not turns:
        return
    made.content.chains = [_with(turns, "chains", row) for row in made.content.chains]
    made.content.dialogues = [_with(turns, "dialogues", row) for row in made.content.dialogues]
    made.content.tag_proposals = [
        row
        for row in made.content.tag_proposals
        if (f"{row.unit}s", row.unit_id, row.turn_index, row.vocabulary) not in looked
    ]


def _with(turns: Mapping[tuple[str, str], list[Turn]], table: str, row: Any) -> Any:
    found = turns.get((table, row.id))
    return row if found is None else row.model_copy(update={"turns": tuple(found)})


def _words(kind: str, decision: Decision, *, is_there: bool) -> str:
    if not is_there:
        return f"turns taken out, whose {kind} is kept as a review alone"
    return f"turns whose {kind} was {'skipped' if decision is Decision.SKIP else 'settled'}"


def _labelled(turn: Turn, draft: Turn, kind: str, value: Mapping[str, Json]) -> Turn:
    labels = {**turn.labels, **{name: tuple(found) for name, found in value["labels"].items()}}
    # A question that was reworded since is another: whoever gave the labels has not seen it.
    is_same = (turn.question, turn.references) == (draft.question, draft.references)
    extra = {**turn.extra, VERIFIED.get(kind, f"{kind}_verified"): is_same, f"{kind}{MANUAL}": value["manual"]}
    return turn.model_copy(update={"labels": {name: found for name, found in labels.items() if found}, "extra": extra})


def _said(index: int, draft: Turn, value: Json) -> Said:
    edits = [
        FieldEdit(field=f"turns[{index}].labels.{name}", before=list(draft.labels.get(name, ())), after=list(labels))
        for name, labels in value["labels"].items()
        if value["decision"] != Decision.SKIP and list(draft.labels.get(name, ())) != list(labels)
    ]
    return Said(Decision(value["decision"]), edits=edits, comment=value["note"])
