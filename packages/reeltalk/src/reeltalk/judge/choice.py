"""Judges multiple-choice answers by the option that they name.

An answer that names no option, or several, is wrong, as in DramaQA's accuracy, and counted as unread.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from reeltalk.judge.judge import JudgeUnit, score_row, unscored_row
from reeltalk.judge.measures import Measure
from reeltalk.judge.protocol import Need, Protocol, ProtocolCriterion, per_cent
from reeltalk.judge.turns import (
    EMPTY_ANSWER,
    GROUPED_BY,
    NO_MODEL,
    UNREAD_PART,
    SingleTurnJudge,
    no_answer_reason,
    shown_options,
    unread_measure,
)
from reeltalk.llm.model import AsyncModel
from reeltalk.metrics.choice import NAMES_NONE, NAMES_SEVERAL, choice_signature, read_choice
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.scoring import JudgedScore

ACCURACY: Final = "accuracy"
LEVELS: Final = ("q_level_logic", "q_level_mem")
"""DramaQA's two difficulty levels; its tables give the accuracy at each."""


PROTOCOL: Final = Protocol(
    name="choice",
    title="Choice",
    help="Multiple choice: whether the answer names the right option.",
    create=lambda _: ChoiceJudge(),
    criteria=(ProtocolCriterion(ACCURACY, "Choice, accuracy", pass_mark=0.5),),
    needs=Need(
        "options with a correct one",
        lambda turn: bool(turn.options) and turn.correct_option is not None,
        "name a protocol for free answers",
    ),
    measures=(per_cent(ACCURACY, "Accuracy"),),
    needs_model=False,
    credit_rank=10,
    right_or_wrong=True,
    parts=(UNREAD_PART,),
)


class ChoiceJudge(SingleTurnJudge):
    """Judges multiple-choice answers by the option that they name: criterion `accuracy`, 0 or 1."""

    reads: ClassVar[frozenset[str]] = frozenset()
    protocol = PROTOCOL
    reads_answers = True
    by = (*LEVELS, *GROUPED_BY)

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Version of the rules that recognise an option."""
        return (("option", choice_signature()),)

    def is_due(self, turn: AnsweredTurn) -> bool:
        """True for a turn that was asked and has a correct option."""
        return bool(turn.options) and turn.correct_option is not None and super().is_due(turn)

    def skip_reason(self, unit: JudgeUnit, turn: AnsweredTurn) -> str | None:
        """Why the turn has no answer; a reference is not needed."""
        return None if turn.state is AnswerState.ANSWERED else no_answer_reason(turn)

    def groups(self, unit: JudgeUnit, turn: AnsweredTurn) -> Mapping[str, tuple[str, ...]]:
        """Types of questions, and DramaQA's two levels of difficulty."""
        levels = {level: turn.labels.get(f"dramaqa.{level}", ()) for level in LEVELS}
        return {**super().groups(unit, turn), **levels}

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """One row, 0 or 1."""
        return [self._row(unit, unit.turns[index])]

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """`accuracy`, and `accuracy.unread`: the share of answers that name no option, or several, in per cent."""
        return [*super().measures(units, scores), unread_measure(self, units, scores)]

    def is_unread(self, row: JudgedScore) -> bool:
        """True for the row of an answer that names no option, or several."""
        return row.explanation in (NAMES_NONE, NAMES_SEVERAL)

    def _row(self, unit: JudgeUnit, turn: AnsweredTurn) -> JudgedScore:
        shown = shown_options(turn)
        if shown is None:
            return unscored_row(
                unit, ACCURACY, NO_MODEL, "the order in which options were shown is no order of these", turn=turn
            )
        order, options = shown
        found = read_choice(turn.text, options, turn.question)
        if found.option is None:
            why = found.why if turn.text.strip() else EMPTY_ANSWER
            return score_row(unit, ACCURACY, NO_MODEL, 0.0, turn=turn, explanation=why)
        option = order[found.option]
        return score_row(
            unit,
            ACCURACY,
            NO_MODEL,
            float(option == turn.correct_option),
            turn=turn,
            explanation=f"read as option {chr(ord('A') + option)}: {(turn.options or ())[option]}",
        )
