"""Applies reviewed turns and labels.

Edited turns get their new wording, rejected ones leave their chain, skipped ones stay. Labels that people gave replace
proposed ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from reeltalk.schema.dialogue import MADE_FOR_WORDING, REWORDING, Dialogue, QAChain, Turn, without_facts
from reeltalk.schema.record import Json
from reeltalk.schema.review import Decision, FieldEdit
from reeltalk.schema.turn_sense import KEPT_BECAUSE
from reeltalk_review.applying.next_revision import (
    WORDED,
    DoneUnit,
    Key,
    NextRevision,
    ReviewDecision,
    SettledPlace,
    person_reviews,
    wording_hash,
)

LABELS: Final = "labels"


def apply_turns(made: NextRevision, units: Iterator[DoneUnit]) -> None:
    """Apply settled turns to their chains and dialogues."""
    rows_of: dict[str, list[Any]] = {"chains": made.content.chains, "dialogues": made.content.dialogues}
    numbers = {table: {str(row.id): number for number, row in enumerate(rows)} for table, rows in rows_of.items()}
    gone: dict[str, set[int]] = {"chains": set(), "dialogues": set()}
    for unit in units:
        table, name = unit.target_table, unit.target_id
        rows, number = rows_of[table], numbers[table].get(name)
        current = rows[number] if number is not None else _taken_out(made, table, name)
        if current is None:
            made.set_aside(unit, "it is in the benchmark no longer")
            continue
        turns = _turns(made, unit, current.turns if number is not None else ())
        if turns is None:
            continue
        new = current.model_copy(update={"turns": tuple(turns.values())})
        made.places[table, name] = list(turns)
        if not turns:
            if number is not None:
                made.gone.add((table, name))
                gone[table].add(number)
        elif number is None:
            rows.append(new)
        else:
            rows[number] = new
    for table, rows in rows_of.items():
        rows[:] = [row for number, row in enumerate(rows) if number not in gone[table]]


def _taken_out(made: NextRevision, table: str, name: str) -> QAChain | Dialogue | None:
    """A chain or dialogue that an earlier revision removed with all of its turns."""
    model = QAChain if table == "chains" else Dialogue
    for row in reversed(made.before.rejected):
        if row.table == table and row.record_id == name and row.place is None and isinstance(row.content, dict):
            if (record := row.content.get("record")) is not None:
                return model.model_validate(record)
    return None


def _turns(made: NextRevision, unit: DoneUnit, current: Sequence[Turn]) -> dict[int, Turn] | None:
    """The turns of a unit in this revision, by place; None if its review cannot be applied."""
    key: Key = (unit.target_table, unit.target_id)
    drafts = [Turn.model_validate(turn) for turn in unit.content["turns"]]
    shown = made.snapshot_places(*key, len(drafts), unit.revision)
    present = dict(zip(made.earlier_places.get(key, []), current, strict=True))
    turns = dict(present)
    news: list[tuple[int, int, SettledPlace, Turn | None]] = []
    for index, (place, draft) in enumerate(zip(shown, drafts, strict=True)):
        settled = unit.results.get(str(index))
        if settled is None or settled.hash == made.history.result(unit.kind, *key, place):
            continue
        decision = Decision(settled.value["decision"])
        if decision is Decision.SKIP:
            news.append((index, place, settled, None))
            continue
        there = present.get(place)
        new = _worded(there or draft, draft, settled.value)
        if there is not None and not _is_known(made, key, place, there, draft, new):
            problem = f"it was changed by something else since it was reviewed: {there.question!r}"
            made.set_aside(unit, problem, place=str(index))
            return None
        news.append((index, place, settled, new))
        if decision is Decision.REJECT:
            turns.pop(place, None)
        else:
            turns[place] = new
    for index, place, settled, became in news:
        _keep(made, unit, index, place, settled, drafts[index], present.get(place), became)
    return dict(sorted(turns.items()))


def _worded(there: Turn, draft: Turn, value: Mapping[str, Json]) -> Turn:
    """A turn with the settled wording, and with its labels if people changed them."""
    stored = {name: value[name] for name in WORDED}
    extra = {name: kept for name, kept in there.extra.items() if name != KEPT_BECAUSE}
    stored["extra"] = extra | ({KEPT_BECAUSE: value["kept_because"]} if value["kept_because"] else {})
    if {name: tuple(labels) for name, labels in value[LABELS].items()} != draft.labels:
        stored[LABELS] = value[LABELS]
    new = Turn.model_validate(there.model_dump(mode="json") | stored)
    if all(getattr(new, name) == getattr(there, name) for name in REWORDING):
        return new
    return without_facts(new)


def _is_known(made: NextRevision, key: Key, place: int, there: Turn, draft: Turn, new: Turn) -> bool:
    """True if a turn has the wording that people saw, that a review wrote, or that it gets now."""
    written = made.history.wording(*key, place)
    expected = {wording_hash(new), wording_hash(draft), *([written] if written else [])}
    return wording_hash(there) in expected


def _keep(
    made: NextRevision,
    unit: DoneUnit,
    index: int,
    place: int,
    settled: SettledPlace,
    draft: Turn,
    there: Turn | None,
    new: Turn | None,
) -> None:
    """Count a decision, and store its author and the removed turns."""
    decision, key = Decision(settled.value["decision"]), (unit.target_table, unit.target_id)
    made.counts[f"turns {_PAST_TENSE[decision]}"] += 1
    effects: list[FieldEdit] = []
    if decision is Decision.REJECT:
        if there is not None:
            _take_out(made, unit, place, settled, there)
    elif new is not None and there is not None:
        if any(getattr(new, name) != getattr(there, name) for name in REWORDING):
            made.reworded[(*key, place)] = there
        effects = [
            FieldEdit(field=f"turns[{index}].{name}", before=getattr(there, name).model_dump(mode="json"))
            for name in MADE_FOR_WORDING
            if getattr(there, name) is not None and getattr(new, name) is None
        ]
        made.counts["checklists, rubrics and keys taken off"] += len(effects)
    worded = new if decision in (Decision.ACCEPT, Decision.EDIT) else None
    found = person_reviews(unit, str(index), settled, lambda value: _turn_decision(index, draft, value))
    made.review(unit, found, place=place, settled=settled, worded=worded, effects=effects)


_PAST_TENSE: Final = {
    Decision.ACCEPT: "accepted",
    Decision.EDIT: "edited",
    Decision.REJECT: "rejected",
    Decision.SKIP: "skipped",
}


def _turn_decision(index: int, draft: Turn, value: Json) -> ReviewDecision:
    stored = draft.model_dump(mode="json")
    decision = Decision(value["decision"])
    edits = [
        FieldEdit(field=f"turns[{index}].{name}", before=stored[name], after=value[name])
        for name in (*WORDED, LABELS)
        if decision is Decision.EDIT and stored[name] != value[name]
    ]
    return ReviewDecision(decision, value["reasons"], edits, value["note"])


def _take_out(made: NextRevision, unit: DoneUnit, place: int, settled: SettledPlace, there: Turn) -> None:
    value = settled.value
    reasons = ", ".join(reason.replace("_", " ") for reason in value["reasons"])
    note = f" ({value['note']})" if value["note"] else ""
    kind = "chain" if unit.target_table == "chains" else "dialogue"
    at = made.earlier_places[unit.target_table, unit.target_id].index(place)
    kept: dict[str, Json] = {"turn": there.model_dump(mode="json", exclude_defaults=True)}
    for name, rows in (("gates", made.before.gates), ("tag_proposals", made.before.tag_proposals)):
        about = [row for row in made.rows_about(name, kind, unit.target_id) if row.turn_index == at] if rows else []
        if about:
            kept[name] = [row.model_dump(mode="json", exclude_defaults=True) for row in about]
    made.reject(
        unit.target_table,
        unit.target_id,
        f"rejected in review: {reasons}{note}",
        kept,
        place=f"turns[{at}]",
    )


VERIFIED: Final[Mapping[str, str]] = {"tagging": "tags_verified", "types": "types_verified"}
"""Key in a turn's `extra` that says that a person has checked the labels, by kind of work."""
MANUAL: Final = "_manual"
"""Suffix of the key in `extra` with the manual that was used."""


def apply_labels(made: NextRevision, units: Iterator[DoneUnit]) -> None:
    """Apply settled labels, after the turns."""
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
            found = person_reviews(unit, str(index), settled, partial(_labels_decision, index, drafts[index]))
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
    # People who gave the labels have not seen a question that was reworded since.
    is_same = (turn.question, turn.references) == (draft.question, draft.references)
    extra = {**turn.extra, VERIFIED.get(kind, f"{kind}_verified"): is_same, f"{kind}{MANUAL}": value["manual"]}
    return turn.model_copy(update={"labels": {name: found for name, found in labels.items() if found}, "extra": extra})


def _labels_decision(index: int, draft: Turn, value: Json) -> ReviewDecision:
    edits = [
        FieldEdit(field=f"turns[{index}].labels.{name}", before=list(draft.labels.get(name, ())), after=list(labels))
        for name, labels in value["labels"].items()
        if value["decision"] != Decision.SKIP and list(draft.labels.get(name, ())) != list(labels)
    ]
    return ReviewDecision(Decision(value["decision"]), edits=edits, comment=value["note"])
