"""May two numbers be compared? Both must be there, scored in one way, and hardly any turn without a score."""

from collections.abc import Sequence
from typing import Final

from reeltalk.report.columns import differing_parts, parts_of, settings_of
from reeltalk.report.leaderboard import DOES_NOT_TELL_MODELS_APART, ModelRow
from reeltalk.report.sheets import number_of

MOVES_NO_SCORE: Final = frozenset({"ci", "seed"})
"""Signature parts about the leaderboard's own intervals."""
CHECKED_BY_TURN: Final = frozenset({"data"})
"""Questions and references are compared turn by turn."""
SAID_ONLY: Final = frozenset({"subject", "v"})
"""Parts that may differ between comparable numbers; a note says so."""


def signatures_differ(models: Sequence[ModelRow], metric: str, *, anyway: bool = False) -> tuple[str | None, list[str]]:
    """Why two numbers cannot be compared, if so, and notes on what else their signatures differ in.

    What models were shown and told may differ: it may be what is compared. How they were scored may not.

    Args:
        models: The two.
        metric: Of which both have a number.
        anyway: Make a note of what would forbid it.
    """
    cells = [model.cells[metric] for model in models]
    pairs = [(model.info, cell.row) for model, cell in zip(models, cells, strict=True) if cell is not None]
    ignored = DOES_NOT_TELL_MODELS_APART | MOVES_NO_SCORE
    quoted = [(info, row.model_copy(update={"value": row.value or row.over_scored or 0.0})) for info, row in pairs]
    differing = differing_parts(quoted, ignored)
    told = [parts_of(row.signature) for _, row in pairs]
    how = [settings_of(model.run, model.info.model) for model in models]
    moving, answered, said = [], [], []
    for part in differing:
        words = f"{part} ({' and '.join(found.get(part, 'none') for found in told)})"
        if part in CHECKED_BY_TURN:
            if metric == "cider":
                said.append("CIDEr weighs words by how rare they are in each file, and the files differ")
        elif part in SAID_ONLY:
            said.append(f"signatures differ in {words}")
        elif any(part in own for own in how) and all(
            own.get(part, "none") == found.get(part, "none") for own, found in zip(how, told, strict=True)
        ):
            answered.append(words)
        else:
            moving.append(words)
    if models[0].info.sha256 == models[1].info.sha256 and models[0].info.model == models[1].info.model:
        said.append("both rest on the same file of answers")
    if answered:
        said.insert(0, f"answered in different ways: {', '.join(answered)}")
    if not moving:
        return None, said
    if anyway:
        return None, [f"scored in different ways: {', '.join(moving)}", *said]
    return f"scored in different ways, by {', '.join(moving)}; --anyway compares all the same", []


def not_scored(models: Sequence[ModelRow], metric: str) -> str | None:
    """Which of some models have no number, and why; None where all have one."""
    missing = [model for model in models if number_of(model, metric) is None]
    if not missing:
        return None
    reasons = {cell.reason for model in missing if (cell := model.cells[metric]) is not None and cell.reason}
    names = " and ".join(model.name for model in missing)
    return f"{names} {'is' if len(missing) == 1 else 'are'} not scored by it" + (
        f" ({'; '.join(sorted(reasons))})" if reasons else ""
    )


def withheld(models: Sequence[ModelRow], metric: str) -> str | None:
    """Why no winner may be named; None where one may. Those that are missing are seldom like those that are there."""
    for model in models:
        cell = model.cells[metric]
        if cell is not None and cell.withheld:
            return f"{cell.row.unscored:,} of {cell.due:,} of {model.name} are unscored, more than 2 %"
    return None
