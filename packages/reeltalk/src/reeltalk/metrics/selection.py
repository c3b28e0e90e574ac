"""Chooses which turns of a benchmark leave it: those that passed, those that people accepted, or all.

A turn goes if a check flags it or its whole chain or dialogue, unless people accepted it as it is worded. The turns
after it go too: in their history would be a gap or a fault. So a chain is cut, and no index changes. A dialogue of a
task goes as a whole, since its turns test the task together. A turn whose answer nobody checked is unverified, and
stays.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from itertools import chain, groupby
from typing import Any, Final, TypeVar

from reeltalk.errors import BenchmarkError
from reeltalk.metrics.turn_checks import CheckedTurn, checked_turns
from reeltalk.schema.dialogue import Dialogue, DialoguePath, QAChain, TurnRef
from reeltalk.schema.gates import GONE_OUTCOMES, VERIFIED, GateOutcome, GateResult, Only
from reeltalk.schema.outcomes import Rejected
from reeltalk.schema.paths import ACCEPTED, WALK
from reeltalk.schema.record import Json, Record
from reeltalk.schema.review import WORDING, accepted_wordings, wording_hash
from reeltalk.store.content import Content
from reeltalk.store.rows import Rows, SpooledRows

R = TypeVar("R", bound=Record)

AFTER_LEFT_OUT: Final = "after a turn that is left out"
BESIDE_LEFT_OUT: Final = "in a dialogue of a task with a turn that is left out"
ALONE_ON_PATH: Final = "alone on its path"
NOT_ACCEPTED: Final = "not accepted by people"
NOTHING_LEFT: Final = {
    "passed": "checks flag all {n:,} turns; mend them, or pass --only all",
    "reviewed": "people accepted none of the {n:,} turns; 'reeltalk review apply' writes what they accept, and "
    "--only passed asks for no people",
}
_TABLES: Final = {"chain": "chains", "dialogue": "dialogues", "path": "paths"}


class TurnState(StrEnum):
    """What is known about a turn."""

    ACCEPTED = "accepted by people"
    PASSED = "passed"
    UNVERIFIED = "unverified"
    FLAGGED = "flagged"


@dataclass(frozen=True)
class TurnLeftOut:
    """A turn or a step of a path that is left out."""

    table: str
    """`chains`, `dialogues` or `paths`."""
    id: str
    turn_index: int
    """From 0."""
    reason: str
    """`flagged: ` and what flags it, `AFTER_LEFT_OUT`, `BESIDE_LEFT_OUT`, `ALONE_ON_PATH` or `NOT_ACCEPTED`."""
    video_id: str
    task: str | None = None
    """Task of its dialogue."""

    @property
    def kind(self) -> str:
        """The reason without what flags the turn."""
        return self.reason.partition(":")[0]


@dataclass(frozen=True)
class TurnSelection:
    """The turns of a benchmark that leave it, and those that do not."""

    only: Only
    content: Content
    """The benchmark without what is left out; the same object if nothing is."""
    selected: Counter[TurnState] = field(default_factory=Counter)
    """Turns of chains and dialogues that stay. Empty if the benchmark has neither checks nor reviews: then all stay
    unverified."""
    left: tuple[TurnLeftOut, ...] = ()
    """Turns of chains and dialogues that are left out."""
    steps: tuple[TurnLeftOut, ...] = ()
    """Steps of paths that are left out with them."""
    also: Mapping[str, int] = field(default_factory=dict)
    """What else is left out or cut short, with its number."""

    @property
    def sentence(self) -> str:
        """What was left out and what stays; empty if nothing is known about any turn."""
        stay = ", ".join(f"{n:,} {state.value}" for state in TurnState if (n := self.selected[state]))
        if not self.left:
            return f"all {self.selected.total():,} turns: {stay}" if self.selected else ""
        why = ", ".join(f"{n:,} {kind}" for kind, n in Counter(row.kind for row in self.left).most_common())
        every = self.selected.total() + len(self.left)
        return f"left out {len(self.left):,} of {every:,} turns ({why}); the others: {stay}"

    @property
    def is_whole(self) -> bool:
        """True if nothing is left out and nothing that stays is flagged or, as far as anything is known, unverified."""
        return not self.left and not (self.selected[TurnState.UNVERIFIED] or self.selected[TurnState.FLAGGED])

    def counts(self) -> dict[str, Json]:
        """What was chosen, in numbers."""
        return {
            "only": self.only,
            "turns": self.selected.total() + len(self.left),
            "kept": {state.value: self.selected[state] for state in TurnState if self.selected[state]},
            "left_out": len(self.left),
            "by_reason": dict(Counter(row.reason for row in self.left).most_common()),
            "also": dict(self.also),
        }

    def document(self) -> dict[str, Json]:
        """The counts, and every turn that is left out with the reason."""
        return self.counts() | {
            "turns_left_out": [
                {"table": row.table, "id": row.id, "turn_index": row.turn_index, "reason": row.reason}
                for row in self.left
            ]
        }

    def rejected(self) -> Iterator[Rejected]:
        """A row for each turn that is left out, without its text."""
        for row in self.left:
            reason, place = f"left out by --only {self.only}: {row.reason}", f"turns[{row.turn_index}]"
            yield Rejected(table=row.table, record_id=row.id, reason=reason, place=place)

    def changed(self, whole: Content) -> list[str]:
        """Names of the tables that differ from those of the whole benchmark."""
        names = [one.name for one in fields(Content)]
        return [name for name in names if getattr(self.content, name) is not getattr(whole, name)]


def select_turns(content: Content, only: Only = "passed") -> TurnSelection:
    """Choose the turns that leave a benchmark. Rows that refer to a turn that is left out go with it.

    Args:
        content: The benchmark. It is not changed.
        only: `passed`: all but those that are flagged; `reviewed`: those that people accepted; `all`.

    Raises:
        BenchmarkError: Nothing would be left.
    """
    if not content.gates and not content.reviews and only != "reviewed":
        return TurnSelection(only, content)
    accepted = accepted_wordings(content.reviews)
    units = chain[QAChain | Dialogue](content.chains, content.dialogues)
    selected, left, wordings = Counter[TurnState](), list[TurnLeftOut](), set[str]()
    cuts: dict[tuple[str, str], int] = {}
    gates = content.gates
    if isinstance(gates, Rows):
        # Of most rows nothing more is needed than that they do not flag.
        gates = gates.where(lambda row: row["outcome"] == GateOutcome.FLAGGED or row["gate"].endswith(VERIFIED))
    for (kind, name), found in groupby(checked_turns(units, gates), lambda turn: (turn.unit, turn.unit_id)):
        turns, key = list(found), (_TABLES[kind], name)
        told, task = accepted.get(key, frozenset()), turns[0].task
        states = [_state(turn, is_accepted=bool(told) and wording_hash(turn.turn) in told) for turn in turns]
        reasons = [_reason(only, state, turn) for state, turn in zip(states, turns, strict=True)]
        first = next((index for index, reason in enumerate(reasons) if reason), len(turns))
        stay = 0 if task and first < len(turns) else first
        selected.update(states[:stay])
        if stay == len(turns):
            continue
        cuts[key] = stay
        wordings |= {wording_hash(turn.turn) for turn in turns[stay:]}
        for turn, reason in zip(turns[stay:], reasons[stay:], strict=True):
            why = reason or (BESIDE_LEFT_OUT if task else AFTER_LEFT_OUT)
            left.append(TurnLeftOut(key[0], name, turn.index, why, turn.video_id, task))
    if left and not selected:
        raise BenchmarkError(f"nothing is left: {NOTHING_LEFT[only].format(n=len(left))}")
    return _without(TurnSelection(only, content, selected, tuple(left)), cuts, wordings)


def _state(turn: CheckedTurn, *, is_accepted: bool) -> TurnState:
    if is_accepted:
        return TurnState.ACCEPTED
    if turn.flags:
        return TurnState.FLAGGED
    return TurnState.PASSED if turn.verified else TurnState.UNVERIFIED


def _reason(only: Only, state: TurnState, turn: CheckedTurn) -> str:
    if state is TurnState.ACCEPTED or only == "all":
        return ""
    if state is TurnState.FLAGGED:
        return f"{state}: {', '.join(turn.faults)}"
    return NOT_ACCEPTED if only == "reviewed" else ""


def _without(found: TurnSelection, cuts: dict[tuple[str, str], int], wordings: set[str]) -> TurnSelection:
    """The selection with the content that is left once chains and dialogues have so many turns, and no draft fails."""
    content, steps, also = found.content, list[TurnLeftOut](), Counter[str]()

    def is_there(unit: str, name: str, index: int | None) -> bool:
        tables = ("dialogues", "chains") if unit == "turn" else (_TABLES.get(unit, ""),)
        stay = next((cuts[table, name] for table in tables if (table, name) in cuts), None)
        return stay is None or (stay > 0 if index is None else index < stay)

    def has(ref: TurnRef) -> bool:
        return is_there(ref.unit, ref.unit_id, ref.turn_index)

    def without(name: str, stays: Callable[[Any], bool]) -> Any:
        rows = getattr(content, name)
        places = [place for place, row in enumerate(rows) if stays(row)]
        also[name] += len(rows) - len(places)
        if len(places) == len(rows):
            return rows
        return rows.at(places) if isinstance(rows, Rows) else [rows[place] for place in places]

    failed: dict[str, set[str]] = defaultdict(set)
    for rewrite in content.rewrites if found.only != "all" else ():
        if not rewrite.extra.get(ACCEPTED) and (rewrite.coherent is False or found.only == "reviewed"):
            failed[rewrite.draft.to_json()].add(rewrite.id)
    drafts = {name for names in failed.values() for name in names}
    why = {(row.table, row.id, row.turn_index): row.reason for row in found.left}
    draft_fails = NOT_ACCEPTED if found.only == "reviewed" else f"{TurnState.FLAGGED}: its rewriting draft"
    for path in content.paths if cuts or drafts else ():
        reasons = [why.get((_TABLES[step.ref.unit], step.ref.unit_id, step.ref.turn_index), "") for step in path.steps]
        for at, step in enumerate(path.steps):
            if step.turn is not None and step.turn.to_json() in failed:
                reasons[at] = reasons[at] or draft_fails
        if not any(reasons):
            continue
        stay = next(at for at, reason in enumerate(reasons) if reason)
        cuts["paths", path.id] = stay = stay if stay > 1 else 0
        also["paths cut short"] += stay > 0
        steps += [
            TurnLeftOut(
                "paths", path.id, at, reason or (AFTER_LEFT_OUT if any(reasons[:at]) else ALONE_ON_PATH), path.video_id
            )
            for at, reason in enumerate(reasons[stay:], stay)
        ]
    if not cuts and not drafts:
        return found
    gone = {name for (_, name), stay in cuts.items() if not stay}

    def is_about_something(gate: GateResult) -> bool:
        there = is_there(gate.unit, gate.unit_id, gate.turn_index)
        return gate.outcome in GONE_OUTCOMES or (there and not (gate.unit == "linkage" and gate.unit_id in drafts))

    new = {
        "chains": _cut(content.chains, QAChain, "chains", "turns", cuts),
        "dialogues": _cut(content.dialogues, Dialogue, "dialogues", "turns", cuts),
        "paths": _cut(content.paths, DialoguePath, "paths", "steps", cuts),
        "linkages": without("linkages", lambda row: has(row.source) and has(row.target)),
        "rewrites": without(
            "rewrites", lambda row: row.id not in drafts and has(row.linkage.source) and has(row.linkage.target)
        ),
        "gates": without("gates", is_about_something),
        "reviews": without("reviews", lambda row: row.target_id not in gone and row.extra.get(WORDING) not in wordings),
        **{
            name: without(name, lambda row: is_there(row.unit, row.unit_id, row.turn_index))
            for name in ("tag_proposals", "answers", "scores")
        },
    }
    if content.source_files and gone:
        new["source_files"] = [
            file.model_copy(update={"records": tuple(name for name in file.records if name not in gone)})
            for file in content.source_files
        ]
    also["paths"] += len(content.paths) - len(new["paths"])
    shown = {"linkages": "linkages", "rewrites": "rewriting drafts", "paths": "paths", "paths cut short": ""}
    return replace(
        found,
        content=replace(content, **new),
        steps=tuple(steps),
        also={shown[name] or name: n for name, n in also.items() if n and name in shown},
    )


def _cut(rows: Sequence[R], record: type[R], table: str, part: str, cuts: Mapping[tuple[str, str], int]) -> Sequence[R]:
    """Rows with as many turns or steps as stay; those without any are left out."""
    own = {name: stay for (of, name), stay in cuts.items() if of == table}

    def cut() -> Iterator[R]:
        for row in rows:
            stay = own.get(row.id)  # type: ignore[attr-defined]
            if stay is None:
                yield row
            elif stay:
                # How often a walk could jump is known of a whole walk only.
                extra = {name: value for name, value in row.extra.items() if name != WALK}
                yield row.model_copy(update={part: getattr(row, part)[:stay], "extra": extra})

    return SpooledRows(record, rows=cut()) if own else rows
