"""Checks that the history is whole and leads to what the tables hold.

The chain of hashes shows that no event was changed, removed, added or moved. Replaying all events from first to last
must give the entries, marks, copies, results, states, duties, pairs and dialogues in the tables, so a row that
was changed outside the history is found too. Somebody who can write the database could still forge a whole new chain.
To notice that, keep the hash of the chain's end elsewhere.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from reeltalk.schema.record import Json
from reeltalk_review.assigning import ANNOTATOR
from reeltalk_review.database import Database
from reeltalk_review.events import broken_links, stored_text
from reeltalk_review.settling import BY_ADJUDICATOR
from reeltalk_review.tables import (
    AssignmentRow,
    ChainRow,
    DutyRow,
    EntryRow,
    EventRow,
    LiveDialogueRow,
    MessageRow,
    PairRow,
    PersonRow,
    QueueRow,
    ResultRow,
    UnitRow,
    canonical_json,
)
from reeltalk_review.tasks.task import remarks_of

_COPY_FIELDS: Final = ("unit_id", "person_id", "role", "state", "round", "note", "submitted_at")
_TALK_FIELDS: Final = (
    "pair_id", "unit_id", "investigator_id", "correspondent_id", "state", "note", "finished_at"
)  # fmt: skip
_PAIR_FIELDS: Final = ("queue_id", "first_id", "second_id", "goal")
_DUTY_FIELDS: Final = ("queue_id", "unit_id", "person_id")
_READ_AT_ONCE: Final = 2000


@dataclass(frozen=True)
class Verification:
    """The checked parts and the problems."""

    events: int
    people: int
    entries: int
    results: int
    seq: int
    """Number of the last event; 0 if there is none."""
    head: str
    """Hash of the last event. If you note it elsewhere, it proves later that no event up to here was changed."""
    findings: tuple[str, ...]
    """What is wrong, one sentence each."""

    def lines(self) -> list[str]:
        """Lines for people."""
        found = [
            f"{self.events} events, {self.people} people, {self.entries} entries, {self.results} results",
            f"head {self.seq}:{self.head}",
        ]
        return [*found, *(f"found: {finding}" for finding in self.findings)]


@dataclass
class _Copy:
    """One person's work on a unit, as the history has it."""

    unit_id: str
    person_id: str
    role: str
    state: str = "working"
    round: int = 1
    note: str = ""
    submitted_at: str | None = None
    entries: dict[str, tuple[int, str, bool, str]] = field(default_factory=dict)
    """By place: revision, hash of the value, whether it is stale, and when it was put there."""
    active_s: dict[str, float] = field(default_factory=dict)
    """By place: seconds of activity."""

    def add_activity(self, place: str, active_s: float) -> None:
        """Count activity at a place, rounded as entries round it."""
        self.active_s[place] = round(self.active_s.get(place, 0.0) + active_s, 2)


@dataclass
class _Talk:
    """A pair's dialogue, as the history has it."""

    pair_id: str
    unit_id: str
    investigator_id: str
    correspondent_id: str
    state: str = "live"
    note: str = ""
    finished_at: str | None = None
    messages: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By position: hash of the text, and when it was said."""


@dataclass
class _Unit:
    state: str = "open"
    submitted: int = 0
    set_aside: str = field(default_factory=lambda: _digest(None))
    """Hash of why applying left it out."""
    results: dict[str, tuple[str, str, str, str]] = field(default_factory=dict)


def verify_history(database: Database, *, head: str | None = None) -> Verification:
    """Check the chain, and that the tables hold what the history leads to. Nothing is changed.

    Args:
        database: The database of a project.
        head: The head of an earlier verification, as `SEQ:HASH`. It must be in the chain.

    Raises:
        BenchmarkError: The database cannot be read.
    """
    with database.reading() as session:
        findings = [*broken_links(session), *_of_head(session, head)]
        history = _History()
        kinds: Counter[str] = Counter()
        for event in session.execute(_IN_ORDER):
            kinds[event.kind] += 1
            try:
                history.do(event.kind, event.subject, event.place, event.at, json.loads(event.after or "null"))
            except (KeyError, TypeError, ValueError) as error:
                findings.append(f"event {event.seq} ({event.kind} of {event.subject}) cannot be done again: {error!r}")
        findings.extend(history.compared(session))
        chain = session.scalars(select(ChainRow)).one_or_none()
        return Verification(
            events=sum(kinds.values()),
            people=len(session.scalars(select(PersonRow.id)).all()),
            entries=sum(len(copy.entries) for copy in history.copies.values()),
            results=sum(len(unit.results) for unit in history.units.values()),
            seq=chain.seq if chain is not None else 0,
            head=chain.hash if chain is not None else "",
            findings=tuple(findings),
        )


_IN_ORDER: Final = (
    select(EventRow.seq, EventRow.kind, EventRow.subject, EventRow.place, EventRow.at, stored_text(EventRow.after))
    .order_by(EventRow.seq)
    .execution_options(yield_per=_READ_AT_ONCE)
)
_ENTRIES: Final = select(
    EntryRow.assignment_id,
    EntryRow.place,
    EntryRow.revision,
    stored_text(EntryRow.value),
    EntryRow.stale,
    EntryRow.at,
    EntryRow.unsure,
    EntryRow.noted,
    EntryRow.active_s,
).execution_options(yield_per=_READ_AT_ONCE)
_RESULTS: Final = select(
    ResultRow.unit_id,
    ResultRow.place,
    stored_text(ResultRow.value),
    ResultRow.how,
    stored_text(ResultRow.people),
    ResultRow.at,
).execution_options(yield_per=_READ_AT_ONCE)
_MESSAGES: Final = select(
    MessageRow.dialogue_id, MessageRow.position, stored_text(MessageRow.text).label("said"), MessageRow.at
).execution_options(yield_per=_READ_AT_ONCE)
_UNIT_STATES: Final = select(UnitRow.id, UnitRow.state, UnitRow.submitted, stored_text(UnitRow.set_aside))


def _of_head(session: Session, head: str | None) -> Iterable[str]:
    if head is None:
        return
    seq, _, noted = head.partition(":")
    row = session.get(EventRow, int(seq)) if seq.isdecimal() and len(seq) < 19 else None
    if row is None:
        yield f"the noted head {head} names an event that is not there"
    elif row.hash != noted:
        yield f"event {seq} has another hash than was noted: the history up to there was written anew"


class _History:
    """The state that the events lead to."""

    def __init__(self) -> None:
        self.copies: dict[str, _Copy] = {}
        self.units: dict[str, _Unit] = {}
        self.overlaps: dict[str, int] = {}
        self.pairs: dict[str, tuple[Any, ...]] = {}
        self.duties: dict[str, tuple[Any, ...]] = {}
        self.talks: dict[str, _Talk] = {}

    def do(self, kind: str, subject: str, place: str | None, at: str, after: Json) -> None:
        """Replay one event. Only events about work have an effect here."""
        match kind:
            case "take":
                self.copies[subject] = _Copy(after["unit"], after["person"], after["role"])
            case "give_back":
                del self.copies[subject]
            case "save" | "undo" | "redo":
                entries = self.copies[subject].entries
                entries[_named(place)] = (
                    after["revision"],
                    _digest(canonical_json(after["value"])),
                    after["stale"],
                    at,
                )
                for other, mark in after["others"].items():
                    entries[other] = (*entries[other][:2], mark, entries[other][3])
                self.copies[subject].add_activity(_named(place), after.get("active_s", 0.0))
            case "active":
                self.copies[subject].add_activity(_named(place), after["active_s"])
            case "submit":
                copy = self.copies[subject]
                copy.state, copy.submitted_at = "submitted", at
                self._unit(copy.unit_id).submitted += copy.role == ANNOTATOR
            case "reopen" | "return":
                copy = self.copies[subject]
                copy.state, copy.submitted_at = ("working" if kind == "reopen" else "returned"), None
                if kind == "return":
                    copy.note, copy.round = after["note"], after["round"]
                self._unit(copy.unit_id).submitted -= copy.role == ANNOTATOR
            case "lapse" | "regain" | "resume":
                self.copies[subject].state = after["state"]
            case "wait":
                copy = self.copies[subject]
                copy.state, copy.submitted_at = after["state"], None
                copy.entries = {name: (*entry[:2], True, entry[3]) for name, entry in copy.entries.items()}
            case "complete" | "settle" | "unsettle" | "reconsider":
                unit = self._unit(subject)
                unit.state = after["state"]
                if kind == "unsettle":
                    unit.results.clear()
                elif kind == "reconsider":
                    unit.results = {at: row for at, row in unit.results.items() if row[1] not in BY_ADJUDICATOR}
                if kind in ("unsettle", "reconsider"):
                    unit.set_aside = _digest(None)
            case "set_aside":
                self._unit(subject).set_aside = _digest(canonical_json(after["problems"]))
            case "result":
                value, people = _digest(canonical_json(after["value"])), canonical_json(after["people"])
                self._unit(subject).results[_named(place)] = (value, after["how"], people, at)
            case "overlap":
                self.overlaps[subject] = after["overlap"]
            case "assign":
                self.duties[after["id"]] = tuple(after[name] for name in _DUTY_FIELDS)
            case "unassign":
                del self.duties[after["id"]]
            case "pair":
                self.pairs[subject] = (after["queue"], after["first"], after["second"], after["goal"])
            case "begin":
                roles = (after["investigator"], after["correspondent"])
                self.talks[subject] = _Talk(after["pair"], after["unit"], *roles)
            case "say":
                self.talks[subject].messages[_named(place)] = (_digest(canonical_json(after)), at)
            case "finish":
                talk = self.talks[subject]
                talk.state, talk.finished_at = after["state"], at
            case "judge":
                talk = self.talks[subject]
                talk.state, talk.note = after["state"], after["note"]

    def compared(self, session: Session) -> Iterable[str]:
        """The differences from the tables."""
        entries: dict[str, dict[str, Any]] = {}
        active_s: dict[str, dict[str, float]] = {}
        for row in session.execute(_ENTRIES):
            active_s.setdefault(row.assignment_id, {})[row.place] = row.active_s
            found = (row.revision, _digest(row.value), row.stale, row.at)
            entries.setdefault(row.assignment_id, {})[row.place] = found
            if (row.unsure, row.noted) != _marks(row.value):
                yield f"entry of {row.assignment_id} at place {row.place}: its marks do not follow from its value"
        copies: dict[str, Any] = {}
        for copy in session.scalars(select(AssignmentRow).execution_options(yield_per=_READ_AT_ONCE)):
            copies[copy.id] = _values(copy, _COPY_FIELDS)
        results: dict[str, dict[str, Any]] = {}
        for row in session.execute(_RESULTS):
            results.setdefault(row.unit_id, {})[row.place] = (_digest(row.value), row.how, row.people, row.at)
        units = {row.id: (row.state, row.submitted, _digest(row.set_aside)) for row in session.execute(_UNIT_STATES)}
        overlaps = {row.id: row.overlap for row in session.execute(select(QueueRow.id, QueueRow.overlap))}
        known_copies = {name: _values(copy, _COPY_FIELDS) for name, copy in self.copies.items()}
        known_units = dict.fromkeys(units, ("open", 0, _digest(None)))
        known_units |= {name: (unit.state, unit.submitted, unit.set_aside) for name, unit in self.units.items()}
        yield from _differences("copy", known_copies, copies)
        yield from _differences("unit", known_units, units)
        for name in sorted(self.copies.keys() | entries.keys()):
            known = self.copies[name].entries if name in self.copies else {}
            yield from _differences(f"entry of {name} at place", known, entries.get(name, {}))
            measured = self.copies[name].active_s if name in self.copies else {}
            yield from _differences(f"activity in {name} at place", measured, active_s.get(name, {}))
        for name in sorted(self.units.keys() | results.keys()):
            settled = self.units[name].results if name in self.units else {}
            yield from _differences(f"result of {name} at place", settled, results.get(name, {}))
        yield from _differences("overlap of queue", self.overlaps, {name: overlaps.get(name) for name in self.overlaps})
        duties = {row.id: _values(row, _DUTY_FIELDS) for row in session.scalars(select(DutyRow))}
        yield from _differences("duty", self.duties, duties)
        yield from self._talks_compared(session)

    def _talks_compared(self, session: Session) -> Iterable[str]:
        pairs = {row.id: _values(row, _PAIR_FIELDS) for row in session.scalars(select(PairRow))}
        talks = {row.id: _values(row, _TALK_FIELDS) for row in session.scalars(select(LiveDialogueRow))}
        messages: dict[str, dict[str, Any]] = {}
        for row in session.execute(_MESSAGES):
            messages.setdefault(row.dialogue_id, {})[str(row.position)] = (_digest(row.said), row.at)
        known = {name: _values(talk, _TALK_FIELDS) for name, talk in self.talks.items()}
        yield from _differences("pair", self.pairs, pairs)
        yield from _differences("dialogue", known, talks)
        for name in sorted(self.talks.keys() | messages.keys()):
            said = self.talks[name].messages if name in self.talks else {}
            yield from _differences(f"message of {name} at place", said, messages.get(name, {}))

    def _unit(self, name: str) -> _Unit:
        return self.units.setdefault(name, _Unit())


def _marks(written_value: str | None) -> tuple[bool, bool] | None:
    """Whether an entry should be marked as unsure and as noted; None if its value is no JSON."""
    try:
        return remarks_of(json.loads(written_value or "null"))
    except ValueError:
        return None


def _values(row: object, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in names)


def _named(place: str | None) -> str:
    if place is None:
        raise ValueError("it names no place")
    return place


def _digest(written_value: str | None) -> str:
    return hashlib.sha256((written_value or "null").encode(errors="surrogatepass")).hexdigest()


def _differences(what: str, history: Mapping[str, Any], there: Mapping[str, Any]) -> Iterable[str]:
    for name in sorted(history.keys() | there.keys()):
        if name not in there:
            yield f"{what} {name} is in the history, and not in the tables"
        elif name not in history:
            yield f"{what} {name} is in the tables, and the history does not know it"
        elif history[name] != there[name]:
            was, now = _shown(history[name]), _shown(there[name])
            yield f"{what} {name} is not what the history leads to: {was} became {now}"


def _shown(value: Any) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    return ", ".join(str(part)[:16] for part in parts)
