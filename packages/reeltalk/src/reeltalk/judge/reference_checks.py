"""Answers that test a judge and not a model: empty ones, the reference itself, and two that know nothing.

A judge that scores an empty answer well has a scale with a floor. One that does not give the reference the top of its
scale, or gives the repeated question more than the bottom, measures something other than correctness.
"""

from collections.abc import Callable, Iterable
from typing import Final

from reeltalk.errors import SettingError
from reeltalk.schema.answers import NO_REFERENCE, AnsweredTurn, AnswerState, right_answer
from reeltalk.schema.dialogue import Turn

YES: Final = "Yes."
YES_ZH: Final = "是的。"
"""A judge of Chinese answers is tested in Chinese."""


def _yes(turn: Turn | AnsweredTurn) -> str:
    """A judge that scores it well rewards agreement, not answers."""
    return YES_ZH if any("\u4e00" <= character <= "\u9fff" for character in turn.question) else YES


REFERENCE_CHECKS: Final[dict[str, Callable[[Turn | AnsweredTurn], str | None]]] = {
    "reference": right_answer,
    "yes": _yes,
    "copied-question": lambda turn: turn.question,
}
"""The answer of each check to a turn. Its name is also its model's name, and its source is `baseline:NAME`."""


def replace_answers(name: str, turns: Iterable[AnsweredTurn]) -> list[AnsweredTurn]:
    """Replace a model's answers by those of a reference check.

    Args:
        name: A key of `REFERENCE_CHECKS`.
        turns: The turns of one model.

    Raises:
        SettingError: There is no check of this name.
    """
    if name not in REFERENCE_CHECKS:
        raise SettingError(f"--beside knows no {name!r}; it knows {', '.join(REFERENCE_CHECKS)}")
    found = []
    for turn in turns:
        if not turn.state.is_due:
            # An answer that was given for the history alone is not replaced, but removed.
            own = {"text": "", "state": AnswerState.NOT_ASKED, "reason": None, "played": None}
            said = own if turn.state is AnswerState.NOT_SCORED else {}
            found.append(turn.model_copy(update={"model": name, **said}))
            continue
        text = REFERENCE_CHECKS[name](turn)
        state = AnswerState.ANSWERED if text is not None else AnswerState.FAILED
        update = {
            "model": name,
            "text": text or "",
            "state": state,
            "reason": None if text is not None else NO_REFERENCE,
            "repeats": (),
            "played": None,
        }
        found.append(turn.model_copy(update=update))
    return found
