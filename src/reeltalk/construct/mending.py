"""Takes out what can be answered without the video: turns where what is left keeps its rules, else whole units.

Writers are sent back before (`quality.py`, `dialogue_steps.py`); this is what becomes of the turns that still leak. A
check that found something about a turn moves with the turn, and goes with it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, TypeVar

from reeltalk.construct.leakage import BLIND, HISTORY, LeakSettings, leaks
from reeltalk.construct.own_answers import own_answer
from reeltalk.construct.structure import is_labelled, names_a_round, structural
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.gates import GONE, GateOutcome, GateResult, is_counted
from reeltalk.schema.labels import Task
from reeltalk.schema.standing import refers_back

LEFT: Final = "leak.left"
"""The gate of a unit that is left out as a whole."""
U = TypeVar("U", QAChain, Dialogue)
Shorter = Callable[[U, Collection[int]], "list[int] | str"]
"""Gives the indices of the turns that stay where some are taken out, or why nothing stays."""


def without_leaks(
    units: Sequence[U], gates: Sequence[GateResult], shorter: Shorter[U]
) -> tuple[list[U], list[GateResult]]:
    """The units without the turns that they answer themselves, by the question or by what was said before it.

    Args:
        units: Chains, or dialogues, as they were written.
        gates: What was found about them so far.
        shorter: Decides what is left of a unit.

    Returns:
        The units that stay, and what was found: `gates` as they apply now, a row for each turn that was taken out, and
        one for each unit that was left out.
    """
    kept, found = list(units), list(gates)
    # What is common among the turns changes as turns go, and with it what counts as a like question.
    while leaking := _leaking(kept):
        stays: dict[str, list[int]] = {}
        for unit in kept:
            if unit.id not in leaking:
                continue
            found += leaking[unit.id].values()
            left = shorter(unit, leaking[unit.id])
            stays[unit.id] = [] if isinstance(left, str) else left
            if isinstance(left, str):
                kind, reason = leaking[unit.id][min(leaking[unit.id])].unit, left
                found.append(
                    GateResult(gate=LEFT, unit=kind, unit_id=unit.id, outcome=GateOutcome.DROPPED, reason=reason)
                )
        kept = [_cut(unit, stays[unit.id]) if unit.id in stays else unit for unit in kept]
        kept = [unit for unit in kept if unit.turns]
        found = [gate for row in found if (gate := _moved(row, stays)) is not None]
    return kept, found


def _cut(unit: U, stays: Sequence[int]) -> U:
    return unit.model_copy(update={"turns": tuple(unit.turns[index] for index in stays)})


def _leaking(units: Sequence[U]) -> dict[str, dict[int, GateResult]]:
    """What is to be taken out, by unit and turn."""
    found: dict[str, dict[int, GateResult]] = {}
    results = leaks(units, settings=LeakSettings(probes=("history",)))
    reasons = {(r.unit_id, r.turn_index): r for r in results if r.outcome is GateOutcome.FLAGGED}
    kind = "chain" if units and isinstance(units[0], QAChain) else "dialogue"
    for unit in units:
        for index, turn in enumerate(unit.turns):
            own = own_answer(turn) if is_counted(turn) else None
            told = reasons.get((unit.id, index))
            if own is None and told is None:
                continue
            gate, reason = (BLIND, own) if own is not None else (HISTORY, told.reason if told else None)
            found.setdefault(unit.id, {})[index] = GateResult(
                gate=gate,
                unit="chain" if kind == "chain" else "dialogue",
                unit_id=unit.id,
                turn_index=index,
                outcome=GateOutcome.DROPPED,
                reason=f"{turn.question!r}: {reason}",
            )
    return found


def _moved(gate: GateResult, stays: Mapping[str, Sequence[int]]) -> GateResult | None:
    """A check as it applies to what stays; None where its turn or unit is gone."""
    if gate.unit_id not in stays or gate.outcome in GONE:
        return gate
    if not stays[gate.unit_id]:
        return None
    if gate.turn_index is None:
        return gate
    if gate.turn_index not in stays[gate.unit_id]:
        return None
    return gate.model_copy(update={"turn_index": stays[gate.unit_id].index(gate.turn_index)})


def shorter_chain(least: int) -> Shorter[QAChain]:
    """Cuts a chain off before its first leak: every turn after it rests on it (SVBench).

    Args:
        least: Fewest turns of a chain.
    """

    def shorter(chain: QAChain, out: Collection[int]) -> list[int] | str:
        first = min(out)
        return list(range(first)) if first >= least else f"{first} turns would be left, fewer than {least}"

    return shorter


def shorter_dialogue(dialogue: Dialogue, out: Collection[int]) -> list[int] | str:
    """Takes rounds out of a dialogue where no other round speaks of them and the rules of its task are kept.

    Args:
        dialogue: As it was written.
        out: The rounds that are taken out.
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
    problems = structural(_cut(dialogue, stays), task) if task is not None else []
    return f"without it the rules of its task are broken: {'; '.join(problems)}" if problems else stays
