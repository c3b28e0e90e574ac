"""Reviewed turns: edited ones get their new wording, rejected ones leave their chain, skipped ones stay as they are."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from reeltalk.review.applying.next_revision import Key, NextRevision
from reeltalk.review.applying.settled import DoneUnit, Settled
from reeltalk.review.applying.verdicts import Said, verdicts
from reeltalk.review.revisions import WORDED, wording_hash
from reeltalk.schema.dialogue import MADE_FOR_WORDING, REWORDING, Dialogue, QAChain, Turn, without_facts
from reeltalk.schema.record import Json
from reeltalk.schema.review import Decision, FieldEdit

LABELS: Final = "labels"


def apply_turns(made: NextRevision, units: Iterator[DoneUnit]) -> None:
    """Bring what was settled about turns into their chains and dialogues."""
    rows_of: dict[str, list[Any]] = {"chains": made.content.chains, "dialogues": made.content.dialogues}
    numbers = {table: {str(row.id): number for number, row in enumerate(rows)} for table, rows in rows_of.items()}
    gone: dict[str, set[int]] = {"chains": set(), "dialogues": set()}
    for unit in units:
        table, name = unit.target_table, unit.target_id
        rows, number = rows_of[table], numbers[table].get(name)
        current = rows[number] if number is not None else _taken_out(made, table, name)
        if current is None:
            made.conflicts.append(f"{table}:{name} is in the benchmark no longer; its review was not applied")
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
    """A chain or dialogue that an earlier revision took out with all of its turns."""
    model = QAChain if table == "chains" else Dialogue
    for row in reversed(made.before.rejected):
        if row.table == table and row.record_id == name and row.place is None and isinstance(row.content, dict):
            if (record := row.content.get("record")) is not None:
                return model.model_validate(record)
    return None


def _turns(made: NextRevision, unit: DoneUnit, current: Sequence[Turn]) -> dict[int, Turn] | None:
    """The turns that a unit has in this revision, by place; None where its review cannot be applied."""
    key: Key = (unit.target_table, unit.target_id)
    drafts = [Turn.model_validate(turn) for turn in unit.content["turns"]]
    shown = made.snapshot_places(*key, len(drafts), unit.revision)
    present = dict(zip(made.earlier_places.get(key, []), current, strict=True))
    turns = dict(present)
    news: list[tuple[int, int, Settled, Turn | None]] = []
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
            made.conflicts.append(
                f"{key[0]}:{key[1]}.turns[{index}] was changed by something else since it was reviewed: "
                f"{there.question!r}; the review of this {unit.content['unit']} was not applied"
            )
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
    """A turn with the wording that was settled, and with its labels where people changed them."""
    stored = {name: value[name] for name in WORDED}
    if {name: tuple(labels) for name, labels in value[LABELS].items()} != draft.labels:
        stored[LABELS] = value[LABELS]
    new = Turn.model_validate(there.model_dump(mode="json") | stored)
    if all(getattr(new, name) == getattr(there, name) for name in REWORDING):
        return new
    return without_facts(new)


def _is_known(made: NextRevision, key: Key, place: int, there: Turn, draft: Turn, new: Turn) -> bool:
    """True where a turn is worded as people saw it, as a review wrote it, or as it becomes."""
    written = made.history.wording(*key, place)
    expected = {wording_hash(new), wording_hash(draft), *([written] if written else [])}
    return wording_hash(there) in expected


def _keep(
    made: NextRevision,
    unit: DoneUnit,
    index: int,
    place: int,
    settled: Settled,
    draft: Turn,
    there: Turn | None,
    new: Turn | None,
) -> None:
    """Count a decision, and keep who made it and what was taken out."""
    decision, key = Decision(settled.value["decision"]), (unit.target_table, unit.target_id)
    made.counts[f"turns {_PAST[decision]}"] += 1
    effects: list[FieldEdit] = []
    if decision is Decision.REJECT:
        if there is not None:
            _take_out(made, unit, index, place, settled, there)
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
    found = verdicts(unit, str(index), settled, lambda value: _said(index, draft, value))
    made.review(unit, found, place=place, settled=settled, worded=worded, effects=effects)


_PAST: Final = {
    Decision.ACCEPT: "accepted",
    Decision.EDIT: "edited",
    Decision.REJECT: "rejected",
    Decision.SKIP: "skipped",
}


def _said(index: int, draft: Turn, value: Json) -> Said:
    stored = draft.model_dump(mode="json")
    decision = Decision(value["decision"])
    edits = [
        FieldEdit(field=f"turns[{index}].{name}", before=stored[name], after=value[name])
        for name in (*WORDED, LABELS)
        if decision is Decision.EDIT and stored[name] != value[name]
    ]
    return Said(decision, value["reasons"], edits, value["note"])


def _take_out(made: NextRevision, unit: DoneUnit, index: int, place: int, settled: Settled, there: Turn) -> None:
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
