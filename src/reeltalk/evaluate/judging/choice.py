"""Judges answers without a model: which option an answer names, and whether a short answer says what a reference says.

An answer that names no option is wrong, as in DramaQA's accuracy; it is the model that failed then, not the judge.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from reeltalk.evaluate.judging import in_context
from reeltalk.evaluate.judging.in_context import agrees_in_context
from reeltalk.evaluate.judging.judge import JudgeUnit, unscored
from reeltalk.evaluate.judging.measures import Entry, Measure, mean_of
from reeltalk.evaluate.judging.rows import scored
from reeltalk.evaluate.judging.turns import NOBODY, no_answer
from reeltalk.llm.model import AsyncModel
from reeltalk.metrics.agree import SIGNATURE, chosen_option
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.scoring import JudgedScore

ACCURACY: Final = "accuracy"
AGREE: Final = "agree"
NAMES_NO_OPTION: Final = "names no option"
PERCENT: Final = 100.0
LEVELS: Final = ("q_level_logic", "q_level_mem")
"""DramaQA's two difficulty levels; its tables give the accuracy at each."""


class ChoiceJudge:
    """Multiple-choice questions by the option that an answer names: criterion `accuracy`, 0 or 1."""

    @property
    def name(self) -> str:
        """`choice`."""
        return "choice"

    @property
    def needs_model(self) -> bool:
        """False."""
        return False

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The rules by which an option is recognised."""
        return (("option", SIGNATURE),)

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """A row for each turn that has options, one of them right, and was asked.

        Args:
            unit: What is judged.
            model: Is not asked.
        """
        return [self._row(unit, turn) for turn in unit.turns if _has_choice(turn)]

    def _row(self, unit: JudgeUnit, turn: AnsweredTurn) -> JudgedScore:
        if turn.state is not AnswerState.ANSWERED:
            return unscored(unit, ACCURACY, NOBODY, no_answer(turn), turn=turn)
        shown = shown_options(turn)
        if shown is None:
            return unscored(
                unit, ACCURACY, NOBODY, "the order in which options were shown is no order of these", turn=turn
            )
        order, options = shown
        chosen = chosen_option(turn.text, options)
        if chosen is None:
            return scored(unit, ACCURACY, NOBODY, 0.0, turn=turn, explanation=NAMES_NO_OPTION)
        option = order[chosen]
        return scored(
            unit,
            ACCURACY,
            NOBODY,
            float(option == turn.correct_option),
            turn=turn,
            explanation=f"names option {option}, counted from 0 in the benchmark's order",
        )

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """`accuracy`, 0 to 100, over turns.

        Args:
            units: All units, judged or not.
            scores: What `judge` gave for them.
        """
        by = (*LEVELS, "turn")
        entries = _entries(
            units,
            scores,
            ACCURACY,
            _has_choice,
            lambda _, turn: {level: turn.labels.get(f"dramaqa.{level}", ()) for level in LEVELS},
        )
        return [mean_of(ACCURACY, entries, scale=PERCENT, by=by)]


class AgreeJudge:
    """Short answers by their words: criterion `agree`, 1 where an answer says the same as a reference, else 0.

    A rough measure of our own, for checks and for want of a judge; it knows no synonyms.
    """

    @property
    def name(self) -> str:
        """`agree`."""
        return AGREE

    @property
    def needs_model(self) -> bool:
        """False."""
        return False

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The rules of agreement."""
        return ((AGREE, in_context.SIGNATURE),)

    async def judge(self, unit: JudgeUnit, model: AsyncModel | None) -> list[JudgedScore]:
        """A row for each turn that has a reference and was asked.

        Args:
            unit: What is judged.
            model: Is not asked.
        """
        rows: list[JudgedScore] = []
        before: list[tuple[str, str]] = []
        for turn in unit.turns:
            if _has_reference(turn):
                rows.append(self._row(unit, turn, before))
            before.append((turn.question, turn.references[0] if turn.references else ""))
        return rows

    def _row(self, unit: JudgeUnit, turn: AnsweredTurn, before: Sequence[tuple[str, str]]) -> JudgedScore:
        if turn.state is not AnswerState.ANSWERED:
            return unscored(unit, AGREE, NOBODY, no_answer(turn), turn=turn)
        shown = shown_options(turn)
        # A letter means an option as it was shown.
        options = shown[1] if shown is not None else turn.options
        right = agrees_in_context(turn.text, turn.references, turn.question, before, options)
        return scored(unit, AGREE, NOBODY, float(right), turn=turn)

    def measures(self, units: Sequence[JudgeUnit], scores: Sequence[JudgedScore]) -> list[Measure]:
        """`agree`, 0 to 100, over turns.

        Args:
            units: All units, judged or not.
            scores: What `judge` gave for them.
        """
        entries = _entries(
            units,
            scores,
            AGREE,
            _has_reference,
            lambda unit, turn: {
                "question_type": turn.labels.get("vdact.question_type", ()),
                "task": (unit.task,) if unit.task is not None else (),
            },
        )
        return [mean_of(AGREE, entries, scale=PERCENT, by=("turn", "question_type", "task"))]


def shown_options(turn: AnsweredTurn) -> tuple[tuple[int, ...], tuple[str, ...]] | None:
    """The options of a turn as they were shown: their indices in the benchmark, and their texts.

    Args:
        turn: One that may have options.

    Returns:
        None where there are none, or where the order that was recorded is no order of them.
    """
    if turn.options is None:
        return None
    recorded = turn.played.option_order if turn.played is not None else None
    order = recorded if recorded is not None else tuple(range(len(turn.options)))
    if sorted(order) != list(range(len(turn.options))):
        return None
    return order, tuple(turn.options[index] for index in order)


def _has_choice(turn: AnsweredTurn) -> bool:
    return bool(turn.options) and turn.correct_option is not None and turn.state is not AnswerState.NOT_ASKED


def _has_reference(turn: AnsweredTurn) -> bool:
    return bool(turn.references) and turn.state is not AnswerState.NOT_ASKED


def _entries(
    units: Sequence[JudgeUnit],
    scores: Sequence[JudgedScore],
    criterion: str,
    due: Callable[[AnsweredTurn], bool],
    groups: Callable[[JudgeUnit, AnsweredTurn], Mapping[str, tuple[str, ...]]],
) -> list[Entry]:
    values = {
        (row.unit_id, row.turn_index): row.value for row in scores if row.unit == "turn" and row.criterion == criterion
    }
    return [
        Entry(
            video_id=unit.video_id,
            value=values.get((unit.id, turn.turn_index)),
            item_id=turn.item_id,
            groups={"turn": (str(turn.turn_index + 1),), **groups(unit, turn)},
        )
        for unit in units
        for turn in unit.turns
        if due(turn)
    ]
