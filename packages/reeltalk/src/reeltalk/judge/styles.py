"""Styles of answering, and wrong answers of a benchmark's own, to find what a way of writing costs with a judge."""

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from reeltalk.judge.judge import JudgeUnit
from reeltalk.schema.answers import AnsweredTurn, AnswerState

STYLES: Final = Path(__file__).parent / "styles.toml"


@dataclass(frozen=True)
class AnswerStyle:
    """A way in which models wrap an answer."""

    name: str
    text: str
    """The reply, with fields for the answer and the question."""
    source: str
    """Where replies look so."""

    def wrap(self, answer: str, question: str) -> str:
        """A reply that gives an answer to a question in this style."""
        first = re.match(r"\w+", answer)
        # "B", "B. a whisk" and "TV" stay as they are.
        small = first is not None and first[0][1:].islower()
        fields = {
            "{answer}": answer,
            "{lower}": answer[:1].lower() + answer[1:] if small else answer,
            "{bare}": answer.rstrip(" ."),
            "{closed}": answer if answer.rstrip('"”’)').endswith((".", "!", "?")) else f"{answer}.",
            "{small}": answer.lower(),
            "{json}": json.dumps(answer, ensure_ascii=False),
            "{question}": question,
        }
        found = self.text
        for field, value in fields.items():
            found = found.replace(field, value)
        return found


@cache
def answer_styles() -> tuple[AnswerStyle, ...]:
    """All styles, in the order of their file."""
    return tuple(AnswerStyle(**row) for row in tomllib.loads(STYLES.read_text(encoding="utf-8"))["style"])


def with_answers(unit: JudgeUnit, answers: Mapping[int, str]) -> JudgeUnit:
    """A unit with other answers, by the place of their turns; other turns that are due have an empty answer."""
    turns = []
    for place, turn in enumerate(unit.turns):
        if turn.state.is_due:
            said = {"state": AnswerState.ANSWERED, "text": answers.get(place, ""), "reason": None, "repeats": ()}
            turn = turn.model_copy(update=said)
        turns.append(turn)
    return replace(unit, turns=tuple(turns))


def wrong_answers(turns: Sequence[AnsweredTurn]) -> dict[tuple[str, str], str]:
    """A wrong answer to each turn, by unit and item: another option, or the reference of another turn like it.

    Turns are like each other if their keys have one type. Turns whose keys have the same values are left out, as are
    those with the same reference.
    """
    alike: dict[str, list[AnsweredTurn]] = defaultdict(list)
    for turn in turns:
        if turn.references:
            alike[turn.key.type if turn.key is not None else ""].append(turn)
    found = {}
    for ring in alike.values():
        for place, turn in enumerate(ring):
            others = (ring[(place + step) % len(ring)] for step in range(1, len(ring)))
            text = next((other.references[0] for other in others if _differ(turn, other)), None)
            if text is not None:
                found[turn.unit_id, turn.item_id] = text
    for turn in turns:
        if turn.options and turn.correct_option is not None and len(turn.options) > 1:
            found[turn.unit_id, turn.item_id] = turn.options[(turn.correct_option + 1) % len(turn.options)]
    return found


def _differ(turn: AnsweredTurn, other: AnsweredTurn) -> bool:
    if turn.key is not None and other.key is not None and turn.key.values == other.key.values:
        return False
    own = {reference.casefold() for reference in turn.references}
    return not own & {reference.casefold() for reference in other.references}
