"""MT-Video-Bench's official averaging, defects included (arXiv 2510.17722): what its published numbers are made of."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from reeltalk.schema.answers import NOT_IN_SOURCE, AnsweredTurn, AnswerState

ERROR: Final = "[ERROR] "
"""Begins what the official inference scripts store in place of an answer that failed."""
PLACEHOLDER: Final = "No need for this ability to answer."
"""What they store for a round that is not asked."""

_FENCE: Final = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)


def official_answer(turn: AnsweredTurn) -> str | None:
    """What the official judging script takes for a turn's answer; None where it has none and leaves the round out.

    Texts that stand for an error, or for a round that was not asked, are answers to it.

    Args:
        turn: Any turn.
    """
    if turn.text.strip() or turn.state is AnswerState.ANSWERED:
        return turn.text
    if turn.state is AnswerState.NOT_ASKED:
        return PLACEHOLDER
    return None if turn.reason == NOT_IN_SOURCE else f"{ERROR}{turn.reason or 'no answer'}"


def official_replies(text: str) -> list[str] | None:
    """A judge's replies in their order, as the official script takes them; None where it takes none.

    Whatever keys the object has, its values are replies. JSON that is no object of texts stops the official script.

    Args:
        text: The judge's reply, a JSON object, fenced or not.
    """
    fenced = _FENCE.search(text)
    try:
        found = json.loads(fenced[1] if fenced is not None else text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        return None
    return list(found.values())


def official_run_accuracy(returned: Sequence[str], expected: Sequence[str]) -> float | None:
    """One judging's accuracy, 0 to 1 with two decimals; None where nothing was returned.

    Replies and items are paired by their order, not by their keys, and the number of replies is the denominator: a
    judge that also replies to items that are not there lowers the accuracy, one that leaves items out raises it.

    Args:
        returned: The judge's replies.
        expected: *Yes* or *No* for each item.
    """
    if not returned:
        return None
    correct = sum(said.lower() == due.lower() for said, due in zip(returned, expected, strict=False))
    return round(correct / len(returned), 2)


def official_round(runs: Iterable[float | None]) -> float | None:
    """A round's accuracy: the mean of the judgings that succeeded, with two decimals; None where none did.

    Args:
        runs: The accuracy of each judging.
    """
    return _rounded_mean(runs)


def official_dialogue(rounds: Iterable[float | None]) -> float | None:
    """A dialogue's accuracy: the mean of its judged rounds, with two decimals; None where it has none.

    Args:
        rounds: The accuracy of each round; one that was not judged vanishes.
    """
    return _rounded_mean(rounds)


def official_overall(tasks: Mapping[str, Sequence[float]]) -> float | None:
    """The overall score, 0 to 100: the mean of the tasks that have dialogues; None where none has.

    Args:
        tasks: The accuracy of each dialogue, 0 to 1, by task.
    """
    means = [sum(dialogues) / len(dialogues) for dialogues in tasks.values() if dialogues]
    return 100 * sum(means) / len(means) if means else None


def _rounded_mean(values: Iterable[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return round(sum(present) / len(present), 2) if present else None
