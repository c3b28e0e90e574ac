"""Turns that are too easy: those that many of the given runs answer correctly."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.store.runs import read_run

GATE: Final = "difficulty"
Item = tuple[str, int]
"""A turn: the dialogue or chain, and its index from 0."""


class DifficultySettings(BaseModel):
    """What makes a turn too easy, and what becomes of it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    at_least: Annotated[int, Field(ge=1)] = 2
    """How many of the models must answer a turn correctly for it to be too easy."""
    metric: str = "token_f1"
    """The metric of the runs that says what is correct."""
    threshold: float = 0.5
    """Score from which an answer is correct."""
    rule: Literal["flag", "drop"] = "flag"
    """flag keeps such a turn and shows it to whoever reviews; drop leaves it out."""


def read_correct(runs: Sequence[Path], settings: DifficultySettings) -> dict[str, dict[Item, bool]]:
    """Which turns each model of the runs answers correctly; a model of a second run of one name is told apart by it.

    Args:
        runs: Run folders.
        settings: Metric and threshold.

    Raises:
        BenchmarkError: A folder is no run, or its scores do not follow its answers.
        SettingError: A run has no scores of the metric.
        InputError: A file of a run is damaged.
    """
    found: dict[str, dict[Item, bool]] = {}
    for path in runs:
        run = read_run(path)
        models: dict[str, dict[Item, bool]] = {}
        # Both files hold the same rows in the same order; nothing else ties an item to its dialogue and turn.
        rows = zip(run.answers(), run.item_scores(), strict=False)
        for answer, scores in rows:
            if (answer.model, answer.item_id) != (scores.model, scores.item_id):
                raise BenchmarkError(
                    f"{path}: the scores of '{scores.model}' for '{scores.item_id}' stand beside the answer of "
                    f"'{answer.model}' to '{answer.item_id}'; score the answers again"
                )
            score = scores.scores.get(settings.metric)
            if score is not None:
                item = (answer.unit_id, answer.turn_index)
                models.setdefault(answer.model, {})[item] = score >= settings.threshold
        if not models:
            known = ", ".join(run.info.metrics) or "none"
            raise SettingError(f"{path} has no scores of '{settings.metric}'; its metrics are {known}")
        for model, correct in models.items():
            found[model if model not in found else f"{model} ({path})"] = correct
    return found


def too_easy(
    correct: Mapping[str, Mapping[Item, bool]],
    settings: DifficultySettings | None = None,
    *,
    unit: Literal["dialogue", "chain", "path"] = "dialogue",
) -> list[GateResult]:
    """Check every turn that some model answered.

    Args:
        correct: Whether a model answers a turn correctly, by model and turn.
        settings: How many must, and what becomes of it.
        unit: What the turns belong to.

    Returns:
        A result a turn, in the order of units and turns: `unchecked` where fewer models answered it than are needed.

    Raises:
        SettingError: More models are needed than are given.
    """
    settings = settings or DifficultySettings()
    if settings.at_least > len(correct):
        raise SettingError(
            f"a turn is too easy if {settings.at_least} models answer it, but only {len(correct)} are given"
        )
    results = []
    for item in sorted({item for answered in correct.values() for item in answered}):
        answers = {model: answered[item] for model, answered in sorted(correct.items()) if item in answered}
        right = [model for model, is_right in answers.items() if is_right]
        outcome, reason = GateOutcome.PASSED, None
        if len(right) >= settings.at_least:
            outcome = GateOutcome.DROPPED if settings.rule == "drop" else GateOutcome.FLAGGED
            reason = f"{len(right)} of {len(answers)} models answer it correctly: {', '.join(right)}"
        elif len(right) + len(correct) - len(answers) >= settings.at_least:
            outcome = GateOutcome.UNCHECKED
            reason = f"only {len(answers)} of {len(correct)} models answered it, {len(right)} of them correctly"
        results.append(
            GateResult(gate=GATE, unit=unit, unit_id=item[0], turn_index=item[1], outcome=outcome, reason=reason)
        )
    return results
