"""Judges answers by the type of their key (a room, a thing, a number, yes or no, an act and so on), without a model.

Only question, key and answer are read. An answer without a readable value is wrong; `typed.unread` is their share.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from reeltalk.judge.judge import JudgeUnit, score_row
from reeltalk.judge.measures import Measure
from reeltalk.judge.protocol import Need, Protocol, ProtocolCriterion, per_cent
from reeltalk.judge.turns import (
    EMPTY_ANSWER,
    NO_MODEL,
    UNREAD_PART,
    SingleTurnJudge,
    no_answer_reason,
    shown_options,
    unread_measure,
)
from reeltalk.language.answer_reading import UNREAD, read_answer, rules_signature
from reeltalk.llm.model import AsyncModel
from reeltalk.metrics.choice import read_choice
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.scoring import JudgedScore

NAME: Final = "typed"
ERRORS: Final = (
    "Typed reads answers by rule. Of 1,367 answers that two authors wrote without having read the rules, it accepts "
    "98.4 % of the right ones and 0.4 % of the wrong ones; the rules were mended on them. Of 210 answers that they "
    "were not mended on, it accepts 93.7 % and 0.0 %."
)
"""Measured on `tests/typed_answers`, the reviews and the second pairs held out; `test_typed` counts them again."""


PROTOCOL: Final = Protocol(
    name=NAME,
    title="Typed answers",
    help="Turns with a key: whether the answer says the key's value, read by its type (room, count, act and so on).",
    create=lambda _: TypedJudge(),
    criteria=(ProtocolCriterion(NAME, "Typed answers", pass_mark=0.5),),
    measures=(per_cent(NAME, "Typed answers"),),
    needs_model=False,
    needs=Need(
        "a key",
        lambda turn: turn.key is not None,
        "name another protocol; 'reeltalk graph questions' and 'construct' write turns with keys",
    ),
    credit_rank=30,
    right_or_wrong=True,
    parts=(UNREAD_PART,),
    note=ERRORS,
)


class TypedJudge(SingleTurnJudge):
    """Judges turns that have a key: criterion `typed`, 1 if the answer says the value of the key alone, else 0."""

    protocol = PROTOCOL
    reads_answers = True
    by = ("turn", "answer_type", "question_type", "task")

    @property
    def reads(self) -> frozenset[str]:
        return frozenset({"key"})

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Version of the rules and hash of their vocabulary."""
        return (("rules", rules_signature()),)

    def is_due(self, turn: AnsweredTurn) -> bool:
        """True for a turn that was asked and has a key."""
        return turn.key is not None and super().is_due(turn)

    def skip_reason(self, unit: JudgeUnit, turn: AnsweredTurn) -> str | None:
        """Why the turn has no answer; a turn with a key needs no reference."""
        return no_answer_reason(turn) if turn.state is not AnswerState.ANSWERED else None

    def groups(self, unit: JudgeUnit, turn: AnsweredTurn) -> Mapping[str, tuple[str, ...]]:
        """Type of the answer, task, and type of the question."""
        assert turn.key is not None
        task = (unit.task,) if unit.task is not None else ()
        return {"answer_type": (turn.key.type,), "task": task, **super().groups(unit, turn)}

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """One row: 1 if the value that was read is the value of the key, else 0."""
        turn = unit.turns[index]
        assert turn.key is not None
        if not turn.text.strip():
            return [score_row(unit, NAME, NO_MODEL, 0.0, turn=turn, explanation=EMPTY_ANSWER)]
        found = read_answer(turn.question, turn.key, answer_in_words(turn))
        why = f"{turn.key.type}: {found.why}"
        return [score_row(unit, NAME, NO_MODEL, float(found.right), turn=turn, explanation=why)]

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """`typed`, the share of right answers, and `typed.unread`, the share without a readable value, in per cent."""
        return [*super().measures(units, scores), unread_measure(self, units, scores)]

    def is_unread(self, row: JudgedScore) -> bool:
        """True for the row of an answer in which no value could be read."""
        # An explanation begins with the type of the key; the reason follows it.
        return (row.explanation or "").partition(": ")[2].startswith(UNREAD)


def answer_in_words(turn: AnsweredTurn) -> str:
    """The answer to a turn; if it names an option, the words of that option."""
    shown = shown_options(turn)
    found = read_choice(turn.text, shown[1], turn.question).option if shown is not None else None
    return turn.text if shown is None or found is None else shown[1][found]
