"""Removes turns that need no video from what was written, or the whole unit if its rules would be broken."""

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import chain
from typing import Final, TypeVar

from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.entrances import refers_back
from reeltalk.schema.gates import GONE_OUTCOMES, GateOutcome, GateResult
from reeltalk.schema.labels import Task
from reeltalk.store.rows import SpooledRows
from reeltalk_build.construct.equivalence import Equivalence
from reeltalk_build.construct.gate_results import Subject
from reeltalk_build.construct.leakage import leaks
from reeltalk_build.construct.linting import check_structure, is_labelled, names_a_round

LEAKS_LEFT_GATE: Final = "leak.left"
"""Gate of a chain or dialogue that is dropped as a whole."""
U = TypeVar("U", QAChain, Dialogue)
Shortener = Callable[[U, Collection[int]], "list[int] | str"]
"""Gives the indices of the turns that stay when some are removed, or the reason why the unit must be dropped."""


def remove_leaks(
    units: Sequence[U],
    gates: Sequence[GateResult],
    shorter: Shortener[U],
    equivalence: Equivalence | None = None,
) -> tuple[Sequence[U], Sequence[GateResult]]:
    """Remove turns that their own question or an earlier turn answers.

    Returns:
        The remaining units, and the gate results: `gates` with updated turn indices, one for each removed turn, and one
        for each dropped unit.
    """
    kept, found = units, gates
    # Removing turns changes word frequencies, and so which questions count as similar; hence the loop.
    while leaking := _leaking(kept, equivalence):
        stays: dict[str, list[int]] = {}
        removed: list[GateResult] = []
        for unit in kept:
            if unit.id not in leaking:
                continue
            removed += leaking[unit.id].values()
            left = shorter(unit, leaking[unit.id])
            stays[unit.id] = [] if isinstance(left, str) else left
            if isinstance(left, str):
                removed.append(Subject.of(unit).gate(LEAKS_LEFT_GATE, GateOutcome.DROPPED, left))
        cut = (keep_turns(unit, stays[unit.id]) if unit.id in stays else unit for unit in kept)
        kept = SpooledRows(type(units[0]), rows=(unit for unit in cut if unit.turns))
        moved = (_moved(row, stays) for row in chain(found, removed))
        found = SpooledRows(GateResult, rows=(gate for gate in moved if gate is not None))
    return kept, found


def keep_turns(unit: U, stays: Sequence[int]) -> U:
    """A chain or dialogue with only some of its turns, by index."""
    return unit.model_copy(update={"turns": tuple(unit.turns[index] for index in stays)})


def _leaking(units: Sequence[U], equivalence: Equivalence | None) -> dict[str, dict[int, GateResult]]:
    """Gate results of the turns to remove, by unit and turn."""
    found: dict[str, dict[int, GateResult]] = {}
    for row in leaks(units, probes=("own", "history"), equivalence=equivalence):
        if row.outcome is GateOutcome.FLAGGED and row.turn_index is not None:
            found.setdefault(row.unit_id, {}).setdefault(row.turn_index, row)
    for unit in units if found else ():
        for index, row in found.get(unit.id, {}).items():
            reason = f"{unit.turns[index].question!r}: {row.reason}"
            found[unit.id][index] = row.model_copy(update={"outcome": GateOutcome.DROPPED, "reason": reason})
    return found


def _moved(gate: GateResult, stays: Mapping[str, Sequence[int]]) -> GateResult | None:
    """A gate result with the turn's new index; None if its turn or unit was removed."""
    if gate.unit_id not in stays or gate.outcome in GONE_OUTCOMES:
        return gate
    if not stays[gate.unit_id]:
        return None
    if gate.turn_index is None:
        return gate
    if gate.turn_index not in stays[gate.unit_id]:
        return None
    return gate.model_copy(update={"turn_index": stays[gate.unit_id].index(gate.turn_index)})


def chain_shortener(least: int) -> Shortener[QAChain]:
    """A function that cuts a chain before its first leak, since each later turn depends on it (SVBench)."""

    def shorter(chain: QAChain, out: Collection[int]) -> list[int] | str:
        first = min(out)
        return list(range(first)) if first >= least else f"{first} turns would be left, fewer than {least}"

    return shorter


def shorten_dialogue(dialogue: Dialogue, out: Collection[int]) -> list[int] | str:
    """Remove rounds from a dialogue if no other round refers to them and the rules of its task still hold.

    Returns:
        Indices of the remaining rounds, or the reason why the dialogue must be dropped.
    """
    task = next((task for task in Task if task.value == dialogue.task), None)
    turns = dialogue.turns
    if any(is_labelled(turn, Task.CONTENT_SUMMARY) for turn in turns):
        return "its summary tells of the round that would be taken out"
    if any(names_a_round(turn) for turn in turns[min(out) + 1 :]):
        return "a later round names rounds by their number"
    stays = [index for index in range(len(turns)) if index not in out]
    if any(index - 1 in out and refers_back(turns[index]) for index in stays):
        return "the next round rests on the one that would be taken out"
    problems = check_structure(keep_turns(dialogue, stays), task) if task is not None else []
    return f"without it the rules of its task are broken: {'; '.join(problems)}" if problems else stays
