"""Finds turns that are too easy: an attacker, which sees little or is small, answers them, or many scored runs do."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.judge.protocol import credit_measures, measure_info
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.gates import DIFFICULTY, GateOutcome, GateResult, GateUnit
from reeltalk.store.runs import read_run
from reeltalk_build.construct.equivalence import AnswerPair, Equivalence, InOrder
from reeltalk_build.construct.gate_results import Subject

Item = tuple[str, int]
"""A turn, as (identifier of its dialogue or chain, index from 0)."""
Answered = Mapping[Item, bool | None]
"""Whether the answer to each turn is right; None if that is not known."""
RIGHT: Final = 0.5
"""An answer with more credit than this, 0 to 1, is right, as in the measures of `evaluate`."""
MOST: Final = 0.5
"""A dialogue is too easy if more than this share of its turns is."""


def read_correct(
    runs: Sequence[Path], equivalence: Equivalence | None = None, in_order: InOrder = map
) -> dict[str, dict[Item, bool | None]]:
    """Which turns each model of the runs answers correctly, by model. A model that occurs twice gets its run's path.

    The most exact score that a run has of an answer decides: typed answers, options, rubrics, then judges. An answer
    without such a score is compared with its references; text metrics, such as token F1, decide nothing.

    Args:
        runs: Run folders.
        equivalence: Compares the other answers; by default only typed and identical ones are decided.
        in_order: Compares the answers of several dialogues; one after the other by default.

    Raises:
        BenchmarkError: A folder is not a run, or its scores are not in the order of its answers.
        InputError: A file of a run is damaged.
    """
    equivalence = equivalence or Equivalence()
    found: dict[str, dict[Item, bool | None]] = {}
    for path in runs:
        models: dict[str, dict[Item, bool | None]] = {}
        open_: dict[tuple[str, str], list[AnsweredTurn]] = {}
        run = read_run(path)
        # Both files hold the same rows in the same order; only the answers name dialogue and turn.
        for answer, scores in zip(run.answers(), run.item_scores(), strict=False):
            if (answer.model, answer.item_id) != (scores.model, scores.item_id):
                raise BenchmarkError(
                    f"{path}: the scores of '{scores.model}' for '{scores.item_id}' are next to the answer of "
                    f"'{answer.model}' to '{answer.item_id}'; score the answers again"
                )
            if answer.state is AnswerState.ANSWERED:
                right = models.setdefault(answer.model, {})
                right[answer.unit_id, answer.turn_index] = is_right = _credited(scores.scores)
                if is_right is None:
                    open_.setdefault((answer.model, answer.unit_id), []).append(answer)
        pairs = [[AnswerPair.of(answer, answer.text) for answer in answers] for answers in open_.values()]
        for answers, verdicts in zip(open_.values(), in_order(equivalence.decide, pairs), strict=True):
            for answer, verdict in zip(answers, verdicts, strict=True):
                models[answer.model][answer.unit_id, answer.turn_index] = verdict
        for model, correct in models.items():
            found[model if model not in found else f"{model} ({path})"] = correct
    return found


def _credited(scores: Mapping[str, float]) -> bool | None:
    """Whether an answer is right by its most exact score; None without a score of correctness."""
    for measure in credit_measures():
        info = measure_info(measure)
        if measure in scores and info is not None:
            share = info.share(scores[measure])
            return None if share is None else share > RIGHT
    return None


def check_difficulty(
    attackers: Mapping[str, Answered],
    runs: Mapping[str, Answered],
    units: Mapping[str, GateUnit],
    *,
    at_least: int = 0,
) -> list[GateResult]:
    """Check every turn that at least one attacker or run answered.

    Args:
        attackers: What each attacker answers correctly, by its name; the one that sees least first.
        runs: The same for models of scored runs.
        units: Kind of each unit by its identifier; turns of others are ignored.
        at_least: Number of runs that must answer a turn correctly for it to be too easy; 0 for a majority.

    Returns:
        One result per turn, in the order of units and turns. The value is the share of all decided answers that are
        right. `unchecked` if answers that nobody could compare, or that are missing in a run, could change the outcome.

    Raises:
        SettingError: More runs are required than are given.
    """
    if runs and at_least > len(runs):
        raise SettingError(
            f"a turn is too easy if {at_least} runs answer it (--easy-runs), but they are of only {len(runs)} models"
        )
    wanted = at_least or len(runs) // 2 + 1
    order = {name: place for place, name in enumerate(units)}
    items = {item for answered in (*attackers.values(), *runs.values()) for item in answered if item[0] in units}
    results = []
    for item in sorted(items, key=lambda one: (order[one[0]], one[1])):
        attacks = {name: answered[item] for name, answered in attackers.items() if item in answered}
        answers = {name: answered[item] for name, answered in sorted(runs.items()) if item in answered}
        outcome, reason = _outcome(attacks, answers, wanted, len(runs))
        decided = [right for right in (*attacks.values(), *answers.values()) if right is not None]
        results.append(
            Subject(units[item[0]], item[0]).gate(
                DIFFICULTY,
                outcome,
                reason,
                turn=item[1],
                value=sum(decided) / len(decided) if decided else None,
                extra={"right": [name for name, right in (*attacks.items(), *answers.items()) if right]},
            )
        )
    return results


def _outcome(
    attacks: Mapping[str, bool | None], answers: Mapping[str, bool | None], wanted: int, runs: int
) -> tuple[GateOutcome, str | None]:
    beaten_by = next((name for name, right in attacks.items() if right), None)
    if beaten_by is not None:
        return GateOutcome.FLAGGED, f"{beaten_by} answers it correctly"
    right = [name for name, is_right in answers.items() if is_right]
    if len(right) >= wanted:
        return GateOutcome.FLAGGED, f"{len(right)} of {len(answers)} models answer it correctly: {', '.join(right)}"
    doubtful = [name for name, is_right in (*attacks.items(), *answers.items()) if is_right is None]
    unknown = runs - sum(is_right is not None for is_right in answers.values())
    if any(is_right is None for is_right in attacks.values()) or len(right) + unknown >= wanted:
        missing = runs - len(answers)
        told = [f"it is not known whether it is answered by {', '.join(doubtful)}"] if doubtful else []
        told += [f"only {len(answers)} of {runs} models answered it, {len(right)} of them correctly"] if missing else []
        return GateOutcome.UNCHECKED, "; ".join(told)
    return GateOutcome.PASSED, None
