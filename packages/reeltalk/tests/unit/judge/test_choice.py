"""Judging of options: by the order in which they were shown, and what names none or several."""

import asyncio
from collections.abc import Sequence

import pytest

from reeltalk.judge.choice import ChoiceJudge
from reeltalk.judge.judge import Judge, JudgeUnit
from reeltalk.judge.measures import group_measure
from reeltalk.judge.turns import shown_options
from reeltalk.metrics.choice import choice_signature
from reeltalk.schema.answers import AnsweredTurn, AnswerState, PlayDetails
from reeltalk.schema.scoring import JudgedScore, ScoreState

OPTIONS = ("In the kitchen.", "In the car.", "At the office.", "On the roof.", "In the garden.")


def turn(
    text: str,
    index: int = 0,
    *,
    correct: int | None = 2,
    order: tuple[int, ...] | None = None,
    labels: dict[str, tuple[str, ...]] | None = None,
    state: AnswerState = AnswerState.ANSWERED,
    options: tuple[str, ...] | None = OPTIONS,
    references: tuple[str, ...] = ("At the office.",),
) -> AnsweredTurn:
    return AnsweredTurn(
        model="m",
        item_id=f"i{index}",
        video_id="v",
        unit_id="u",
        turn_index=index,
        question="Where are they?",
        references=references,
        text=text,
        state=state,
        options=options,
        correct_option=correct,
        labels=labels or {},
        played=PlayDetails(option_order=order),
    )


def unit(*turns: AnsweredTurn, task: str | None = None) -> JudgeUnit:
    return JudgeUnit("m", "dialogue", "u", "v", turns, task=task)


def judged(judge: Judge, *turns: AnsweredTurn) -> list[JudgedScore]:
    return asyncio.run(judge.judge(unit(*turns), None))


def values(rows: Sequence[JudgedScore]) -> list[float | None]:
    return [row.value for row in rows]


@pytest.mark.parametrize(
    "text",
    ["C", "(c)", "C. At the office.", "At the office.", "at the office", "C\nThe desks show it.", "**C**", "[C]",
     "\\boxed{C}", "<think>A? No.</think>C", "They are not in the car, so C."],
)  # fmt: skip
def test_an_option_is_named_by_letter_or_text(text: str) -> None:
    rows = judged(ChoiceJudge(), turn(text))
    assert values(rows) == [1.0]
    assert rows[0].judge == "none"


def test_a_letter_means_an_option_as_it_was_shown() -> None:
    order = (4, 2, 0, 1, 3)
    assert values(judged(ChoiceJudge(), turn("B", order=order))) == [1.0]
    assert values(judged(ChoiceJudge(), turn("C", order=order))) == [0.0]
    assert values(judged(ChoiceJudge(), turn("At the office.", order=order))) == [1.0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the answer is empty"),
        (" \n", "the answer is empty"),
        ("I do not know.", "names no option"),
        ("F", "names no option"),
        ('{"accuracy": 1}', "names no option"),
        ("A or C", "names several options"),
        ("C. In the car.", "names several options"),
    ],
)
def test_an_answer_that_names_no_option_is_wrong(text: str, why: str) -> None:
    rows = judged(ChoiceJudge(), turn(text))
    assert values(rows) == [0.0]
    assert rows[0].explanation == why


def test_answers_that_name_no_option_are_counted_as_unread_and_empty_ones_are_not() -> None:
    turns = [turn(text, index) for index, text in enumerate(("C", "A", "A or C", "I do not know.", ""))]
    turns.append(turn("", 5, state=AnswerState.FAILED))
    right, unread = ChoiceJudge().measures([unit(*turns)], judged(ChoiceJudge(), *turns))
    assert (right.name, right.value, right.n, right.unscored) == ("accuracy", 20.0, 5, 1)
    assert (unread.name, unread.value, unread.n, unread.unscored) == ("accuracy.unread", 40.0, 5, 1)


def test_a_failed_answer_and_an_impossible_order_are_unscored() -> None:
    rows = judged(
        ChoiceJudge(), turn("C", state=AnswerState.FAILED), turn("C", 1, order=(0, 0, 1)), turn("C", 2, order=(7,))
    )
    assert [row.state for row in rows] == [ScoreState.UNSCORED] * 3
    assert shown_options(turn("C", order=(1, 0))) is None
    assert shown_options(turn("C", options=None, correct=None)) is None


def test_turns_without_options_or_not_asked_are_not_judged() -> None:
    assert judged(ChoiceJudge(), turn("C", correct=None), turn("C", 1, state=AnswerState.NOT_ASKED)) == []


def test_accuracy_is_given_at_each_level_of_dramaqa() -> None:
    turns = (
        turn("C", 0, labels={"dramaqa.q_level_logic": ("1",), "dramaqa.q_level_mem": ("2",)}),
        turn("A", 1, labels={"dramaqa.q_level_logic": ("1",)}),
        turn("C", 2, labels={"dramaqa.q_level_logic": ("4",), "type": ("colour",)}),
        turn("C", 3, state=AnswerState.FAILED),
    )
    measure, _ = ChoiceJudge().measures([unit(*turns)], judged(ChoiceJudge(), *turns))
    assert (measure.name, measure.n, measure.unscored) == ("accuracy", 3, 1)
    assert measure.value == pytest.approx(200 / 3)
    assert {level: of.value for level, of in group_measure(measure, "q_level_logic").items()} == {"1": 50.0, "4": 100.0}
    assert group_measure(measure, "q_level_mem")["2"].value == 100
    assert group_measure(measure, "question_type")["colour"].value == 100
    assert set(measure.by) == {"q_level_logic", "q_level_mem", "question_type", "turn"}


def test_the_rules_stand_in_the_signature() -> None:
    assert ChoiceJudge().signature == (("option", choice_signature()),)
    assert not ChoiceJudge().needs_model
