"""Applies reviewed turns and labels.

Edited turns get their new wording, rejected ones leave their chain, skipped ones stay. Labels that people gave replace
proposed ones.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from reeltalk.schema.dialogue import MADE_FOR_WORDING, REWORDING, Dialogue, QAChain, Turn, without_facts
from reeltalk.schema.record import Json
from reeltalk.schema.review import WORDING_FIELDS, Decision, FieldEdit, wording_hash
from reeltalk.schema.turn_sense import KEPT_BECAUSE
from reeltalk.store.rows import rows_by
from reeltalk_review.applying.decisions import LABELS, decision_of
from reeltalk_review.applying.next_revision import Key, NextRevision
from reeltalk_review.applying.settled import DoneUnit


def apply_turns(made: NextRevision, units: Iterable[DoneUnit]) -> None:
    """Apply settled turns to their chains and dialogues."""
    for unit in units:
        key = (unit.target_table, unit.target_id)
        there = made.unit(key)
        current = there if there is not None else _taken_out(made, key)
        if current is None:
            made.set_aside(unit, "it is in the benchmark no longer")
            continue
        turns = _turns(made, unit, there.turns if there is not None else ())
        if turns is not None:
            made.put_unit(current.model_copy(update={"turns": tuple(turns.values())}), key, list(turns))


def _taken_out(made: NextRevision, key: Key) -> QAChain | Dialogue | None:
    """A chain or dialogue that an earlier revision removed with all of its turns."""
    model = QAChain if key[0] == "chains" else Dialogue
    for row in reversed(rows_by(made.before.rejected, "record_id").get(key[1], ())):
        if row.table == key[0] and row.place is None and isinstance(row.content, dict) and "record" in row.content:
            return model.model_validate(row.content["record"])
    return None


def _turns(made: NextRevision, unit: DoneUnit, current: Sequence[Turn]) -> dict[int, Turn] | None:
    """The turns of a unit in this revision, by place; None if its review cannot be applied."""
    key: Key = (unit.target_table, unit.target_id)
    earlier = made.earlier_places(key)
    present = dict(zip(earlier, current, strict=True))
    shown = made.shown_places(key, len(unit.content["turns"]), unit.revision)
    turns, news = dict(present), {}
    for name in made.new_places(unit):
        place, value = shown[int(name)], unit.results[name].value
        draft, there = Turn.model_validate(unit.content["turns"][int(name)]), present.get(place)
        decision, new = Decision(value["decision"]), None
        if decision is not Decision.SKIP:
            new = _worded(there or draft, draft, value)
            written = made.history(*key).wording(place)
            known = {wording_hash(new), wording_hash(draft), *([written] if written else [])}
            if there is not None and wording_hash(there) not in known:
                problem = f"it was changed by something else since it was reviewed: {there.question!r}"
                made.set_aside(unit, problem, place=name)
                return None
            turns[place] = new
        if decision is Decision.REJECT:
            del turns[place]
        news[name] = (decision, there, new)
    for name, (decision, there, new) in news.items():
        made.counts[f"turns {_PAST_TENSE[decision]}"] += 1
        index = earlier.index(shown[int(name)]) if there is not None else -1
        effects: list[FieldEdit] = []
        if decision is Decision.REJECT and there is not None:
            _take_out(made, unit, name, index, there)
        elif new is not None and there is not None:
            if any(getattr(new, field) != getattr(there, field) for field in REWORDING):
                made.reworded[key][index] = (there.question, there.references)
            effects = [
                FieldEdit(field=f"turns[{name}].{field}", before=getattr(there, field).model_dump(mode="json"))
                for field in MADE_FOR_WORDING
                if getattr(there, field) is not None and getattr(new, field) is None
            ]
            made.counts["checklists, rubrics and keys taken off"] += len(effects)
        worded = new if decision in (Decision.ACCEPT, Decision.EDIT) else None
        made.review(unit, name, worded=worded, effects=effects)
    return dict(sorted(turns.items()))


def _worded(there: Turn, draft: Turn, value: Mapping[str, Json]) -> Turn:
    """A turn with the settled wording, and with its labels if people changed them."""
    stored = {name: value[name] for name in WORDING_FIELDS}
    extra = {name: kept for name, kept in there.extra.items() if name != KEPT_BECAUSE}
    stored["extra"] = extra | ({KEPT_BECAUSE: value["kept_because"]} if value["kept_because"] else {})
    if {name: tuple(labels) for name, labels in value[LABELS].items()} != draft.labels:
        stored[LABELS] = value[LABELS]
    new = Turn.model_validate(there.model_dump(mode="json") | stored)
    if all(getattr(new, name) == getattr(there, name) for name in REWORDING):
        return new
    return without_facts(new)


_PAST_TENSE: Final = {
    Decision.ACCEPT: "accepted",
    Decision.EDIT: "edited",
    Decision.REJECT: "rejected",
    Decision.SKIP: "skipped",
}


def _take_out(made: NextRevision, unit: DoneUnit, place: str, index: int, there: Turn) -> None:
    """Keep a rejected turn with its checks and proposed labels."""
    key = (unit.target_table, unit.target_id)
    kept: dict[str, Json] = {"turn": there.model_dump(mode="json", exclude_defaults=True)}
    for name in ("gates", "tag_proposals"):
        about = [row for row in made.rows_about(name, key) if row.turn_index == index]
        if about:
            kept[name] = [row.model_dump(mode="json", exclude_defaults=True) for row in about]
    why = decision_of(unit, place, unit.results[place].value).why
    made.reject(*key, f"rejected in review: {why}", kept, place=f"turns[{index}]")


VERIFIED: Final[Mapping[str, str]] = {"tagging": "tags_verified", "types": "types_verified"}
"""Key in a turn's `extra` that says that a person has checked the labels, by kind of work."""
MANUAL: Final = "_manual"
"""Suffix of the key in `extra` with the manual that was used."""


def apply_labels(made: NextRevision, units: Iterator[DoneUnit]) -> None:
    """Apply settled labels, after all rows have followed their turns."""
    looked: set[tuple[Key | None, int | None, str]] = set()
    for unit in units:
        key = (unit.target_table, unit.target_id)
        record = made.unit(key)
        turns: list[Turn] = list(record.turns) if record is not None else []
        shown = made.shown_places(key, len(unit.content["turns"]), unit.revision)
        for place in made.new_places(unit):
            value, now = unit.results[place].value, made.now(key, shown[int(place)])
            is_skipped = Decision(value["decision"]) is Decision.SKIP
            if now is None:
                made.counts[f"turns taken out, whose {unit.kind} is kept as a review alone"] += 1
            else:
                made.counts[f"turns whose {unit.kind} was {'skipped' if is_skipped else 'settled'}"] += 1
            if not is_skipped and now is not None and record is not None:
                draft = Turn.model_validate(unit.content["turns"][int(place)])
                turns[now] = _labelled(turns[now], draft, unit.kind, value)
                looked |= {(key, now, vocabulary) for vocabulary in value["labels"]}
            made.review(unit, place)
        if record is not None:
            made.change_turns(key, turns)
    for number, row in made.tag_proposals.numbered() if looked else ():
        if (made.key_of(row.unit, row.unit_id), row.turn_index, row.vocabulary) in looked:
            made.tag_proposals.put(number, None)


def _labelled(turn: Turn, draft: Turn, kind: str, value: Mapping[str, Json]) -> Turn:
    labels = {**turn.labels, **{name: tuple(found) for name, found in value["labels"].items()}}
    # People who gave the labels have not seen a question that was reworded since.
    is_same = (turn.question, turn.references) == (draft.question, draft.references)
    extra = {**turn.extra, VERIFIED.get(kind, f"{kind}_verified"): is_same, f"{kind}{MANUAL}": value["manual"]}
    return turn.model_copy(update={"labels": {name: found for name, found in labels.items() if found}, "extra": extra})
