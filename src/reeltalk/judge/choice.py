"""Judges answers without a model: by the option that an answer names, or by lexical agreement with a reference.

An answer that names no option is wrong, as in DramaQA's accuracy: the model failed, not the judge.
Lexical agreement reads an answer in its dialogue: a reference often repeats words of the question, or
names the object of a pronoun ("Right after opening the fridge, the person takes the milk"); an answer need not ("He
takes the milk").
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from reeltalk.baselines.history import rests_on_history
from reeltalk.judge.judge import JudgeUnit, score_row, unscored_row
from reeltalk.judge.protocol import Need, Protocol, ProtocolCriterion, per_cent
from reeltalk.judge.turns import NOBODY, SingleTurnJudge, earlier_turns, no_answer_reason, shown_options
from reeltalk.llm.model import AsyncModel
from reeltalk.metrics.agree import SIGNATURE, agrees, chosen_option
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.scoring import JudgedScore

CONTEXT_SIGNATURE: Final = f"{SIGNATURE}+context:v1"
_LEADING: Final = re.compile(
    r"^(?:(?:right|just|immediately|directly|shortly)\s+)?"
    r"(?:after|before|while|when|once|besides|during|following)\b[^,;.]*,\s*(?=\S)",
    re.IGNORECASE,
)
_TRAILING: Final = re.compile(
    r"\s+(?:(?:right|just|immediately|directly|shortly)\s+)?(?:after|before|while|when)\b[^,;.]*(?=[.!]?$)"
    r"|\s+at the (?:end|beginning|start)(?=[.!]?$)",
    re.IGNORECASE,
)


def without_time_clause(sentence: str) -> str:
    """A sentence without a clause that only says when, as it repeats the question."""
    shorter = _TRAILING.sub("", _LEADING.sub("", sentence.strip(), count=1), count=1).strip()
    return shorter[:1].upper() + shorter[1:] if len(shorter) > 2 else sentence


def agrees_in_context(
    answer: str,
    references: Sequence[str],
    question: str,
    before: Sequence[tuple[str, str]] = (),
    options: Sequence[str] | None = None,
) -> bool:
    """Like `agrees`, but uses the dialogue before the question.

    Args:
        answer: The answer.
        references: Reference answers.
        question: The question.
        before: Questions and reference answers of the earlier turns.
        options: The options as they were shown, if there are any.
    """
    if agrees(answer, references, question, options):
        return True
    if options:
        return False
    cores = [*references, *(without_time_clause(reference) for reference in references)]
    said = dict.fromkeys((answer, without_time_clause(answer)))
    if any(agrees(text, cores, question) for text in said):
        return True
    if not before or not rests_on_history(question):
        return False
    # Pronouns of this turn refer to words of the turn before, so these words are not new in either answer.
    told = f"{before[-1][0]} {before[-1][1]} {question}"
    return any(agrees(text, cores, told) for text in said)


ACCURACY: Final = "accuracy"
AGREE: Final = "agree"
ERRORS_OF_AGREE: Final = (
    "Lexical agreement compares words and knows no synonyms. Of 908 answers that were read by hand, it accepts 49 % of "
    "the 444 right ones and 16 % of the 464 wrong ones. Do not publish it as a score."
)
"""Measured on `tests/typed_answers/answers.toml`; `test_choice` counts them again."""
NAMES_NO_OPTION: Final = "names no option"
LEVELS: Final = ("q_level_logic", "q_level_mem")
"""DramaQA's two difficulty levels; its tables give the accuracy at each."""


CHOICE, AGREEMENT = PROTOCOLS = (
    Protocol(
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
    ),
    Protocol(
        name=AGREE,
        title="Lexical agreement",
        help="Whether a short answer says the same as a reference, by its words: a rough measure.",
        create=lambda _: AgreeJudge(),
        criteria=(ProtocolCriterion(AGREE, "Lexical agreement", pass_mark=0.5),),
        measures=(per_cent(AGREE, "Lexical agreement"),),
        needs_model=False,
        right_or_wrong=True,
        caution=ERRORS_OF_AGREE,
    ),
)


class ChoiceJudge(SingleTurnJudge):
    """Judges multiple-choice answers by the option that they name: criterion `accuracy`, 0 or 1."""

    protocol = CHOICE
    by = (*LEVELS, "turn")

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Version of the rules that recognise an option."""
        return (("option", SIGNATURE),)

    def is_due(self, turn: AnsweredTurn) -> bool:
        """True for a turn that was asked and has a correct option."""
        return bool(turn.options) and turn.correct_option is not None and super().is_due(turn)

    def skip_reason(self, unit: JudgeUnit, turn: AnsweredTurn) -> str | None:
        """Why the turn has no answer; a reference is not needed."""
        return None if turn.state is AnswerState.ANSWERED else no_answer_reason(turn)

    def groups(self, unit: JudgeUnit, turn: AnsweredTurn) -> Mapping[str, tuple[str, ...]]:
        """DramaQA's two levels of difficulty."""
        return {level: turn.labels.get(f"dramaqa.{level}", ()) for level in LEVELS}

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """One row, 0 or 1.

        Args:
            unit: The unit of the turn.
            index: Index of the turn in the unit.
            model: Not used.
        """
        return [self._row(unit, unit.turns[index])]

    def _row(self, unit: JudgeUnit, turn: AnsweredTurn) -> JudgedScore:
        shown = shown_options(turn)
        if shown is None:
            return unscored_row(
                unit, ACCURACY, NOBODY, "the order in which options were shown is no order of these", turn=turn
            )
        order, options = shown
        chosen = chosen_option(turn.text, options)
        if chosen is None:
            return score_row(unit, ACCURACY, NOBODY, 0.0, turn=turn, explanation=NAMES_NO_OPTION)
        option = order[chosen]
        return score_row(
            unit,
            ACCURACY,
            NOBODY,
            float(option == turn.correct_option),
            turn=turn,
            explanation=f"names option {option}, counted from 0 in the benchmark's order",
        )


class AgreeJudge(SingleTurnJudge):
    """Judges short answers by their words: criterion `agree`, 1 if an answer says the same as a reference, else 0.

    A rough measure for checks, and if there is no judge model. It knows no synonyms.
    """

    protocol = AGREEMENT
    by = ("turn", "question_type", "task")

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Version of the rules of agreement."""
        return ((AGREE, CONTEXT_SIGNATURE),)

    def is_due(self, turn: AnsweredTurn) -> bool:
        """True for a turn that was asked and has a reference."""
        return bool(turn.references) and super().is_due(turn)

    def groups(self, unit: JudgeUnit, turn: AnsweredTurn) -> Mapping[str, tuple[str, ...]]:
        """Type of the question, and task of the unit."""
        return {**super().groups(unit, turn), "task": (unit.task,) if unit.task is not None else ()}

    async def judge_turn(self, unit: JudgeUnit, index: int, model: AsyncModel | None) -> list[JudgedScore]:
        """One row, 0 or 1.

        Args:
            unit: The unit of the turn. Pronouns refer to words of earlier turns.
            index: Index of the turn in the unit.
            model: Not used.
        """
        turn, before = unit.turns[index], earlier_turns(unit, index)
        shown = shown_options(turn)
        # A letter means an option as it was shown.
        options = shown[1] if shown is not None else turn.options
        right = agrees_in_context(turn.text, turn.references, turn.question, before, options)
        return [score_row(unit, AGREE, NOBODY, float(right), turn=turn)]
