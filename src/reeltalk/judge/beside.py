"""Answers that are judged beside a model's to try the judge: the reference itself, and two that know nothing.

A judge that does not give the reference the top of its scale, or the question given back more than the bottom, measures
something else than whether answers are right.
"""

from collections.abc import Callable, Iterable
from typing import Final

from reeltalk.baselines.floors import AlwaysYes, CopiedQuestion
from reeltalk.errors import SettingError
from reeltalk.schema.answers import NO_REFERENCE, AnsweredTurn, AnswerState, right_answer

BESIDE: Final[dict[str, Callable[[AnsweredTurn], str | None]]] = {
    "reference": right_answer,
    AlwaysYes.name: lambda turn: AlwaysYes().answer(turn.question),
    CopiedQuestion.name: lambda turn: CopiedQuestion().answer(turn.question),
}
"""What each answers to a turn; the name is also its model's, and its source `baseline:NAME`."""


def beside(name: str, turns: Iterable[AnsweredTurn]) -> list[AnsweredTurn]:
    """A model's turns, those that are asked with another answer.

    Args:
        name: Of `BESIDE`.
        turns: Of one model.

    Raises:
        SettingError: There is none of the name.
    """
    if name not in BESIDE:
        raise SettingError(f"--beside knows no {name!r}; it knows {', '.join(BESIDE)}")
    found = []
    for turn in turns:
        if not turn.state.is_due:
            # What the model said for its history alone is not said by another.
            own = {"text": "", "state": AnswerState.NOT_ASKED, "reason": None, "played": None}
            said = own if turn.state is AnswerState.NOT_SCORED else {}
            found.append(turn.model_copy(update={"model": name, **said}))
            continue
        text = BESIDE[name](turn)
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
