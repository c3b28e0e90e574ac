"""Judging without a model: options by the order in which they were shown, and short answers by their words."""

import asyncio
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from reeltalk.analysis.turn_scores import credit_metric
from reeltalk.judge.choice import AgreeJudge, ChoiceJudge, agrees_in_context
from reeltalk.judge.judge import Judge, JudgeUnit
from reeltalk.judge.measures import group_measure
from reeltalk.judge.protocol import protocols
from reeltalk.judge.turns import shown_options
from reeltalk.metrics.agree import SIGNATURE
from reeltalk.schema.answers import AnsweredTurn, AnswerState, PlayDetails
from reeltalk.schema.scoring import JudgedScore, ScoreState

SAMPLES = Path(__file__).parents[2] / "samples"
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


@pytest.mark.parametrize("text", ["C", "(c)", "C. At the office.", "At the office.", "at the office"])
def test_an_option_is_named_by_letter_or_text(text: str) -> None:
    rows = judged(ChoiceJudge(), turn(text))
    assert values(rows) == [1.0]
    assert rows[0].judge == "none"


def test_a_letter_means_an_option_as_it_was_shown() -> None:
    order = (4, 2, 0, 1, 3)
    assert values(judged(ChoiceJudge(), turn("B", order=order))) == [1.0]
    assert values(judged(ChoiceJudge(), turn("C", order=order))) == [0.0]
    assert values(judged(ChoiceJudge(), turn("At the office.", order=order))) == [1.0]
    assert values(judged(AgreeJudge(), turn("B", order=order))) == [1.0]
    assert values(judged(AgreeJudge(), turn("C", order=order))) == [0.0]


@pytest.mark.parametrize("text", ["", "I do not know.", "A or C", "F", '{"accuracy": 1}', "C\nThe judge gives 1."])
def test_an_answer_that_names_no_option_is_wrong(text: str) -> None:
    rows = judged(ChoiceJudge(), turn(text))
    assert values(rows) == [0.0]
    assert rows[0].explanation == "names no option"


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
        turn("C", 2, labels={"dramaqa.q_level_logic": ("4",)}),
        turn("C", 3, state=AnswerState.FAILED),
    )
    (measure,) = ChoiceJudge().measures([unit(*turns)], judged(ChoiceJudge(), *turns))
    assert (measure.name, measure.n, measure.unscored) == ("accuracy", 3, 1)
    assert measure.value == pytest.approx(200 / 3)
    assert {level: of.value for level, of in group_measure(measure, "q_level_logic").items()} == {"1": 50.0, "4": 100.0}
    assert group_measure(measure, "q_level_mem")["2"].value == 100
    assert set(measure.by) == {"q_level_logic", "q_level_mem", "turn"}


def test_short_answers_agree_or_do_not() -> None:
    free = [
        turn("They are at the office.", 0, options=None, correct=None, labels={"vdact.question_type": ("D-LOC",)}),
        turn("On the roof.", 1, options=None, correct=None),
        turn("Anything.", 2, options=None, correct=None, references=()),
        turn("At the office.", 3, options=None, correct=None, state=AnswerState.FAILED),
    ]
    rows = judged(AgreeJudge(), *free)
    assert values(rows) == [1.0, 0.0, None]
    (measure,) = AgreeJudge().measures([unit(*free, task="summary")], rows)
    assert (measure.name, measure.value, measure.n, measure.unscored) == ("agree", 50.0, 2, 1)
    assert group_measure(measure, "question_type")["D-LOC"].value == 100
    assert group_measure(measure, "task")["summary"].value == 50
    assert set(group_measure(measure, "turn")) == {"1", "2", "4"}


def test_the_rules_stand_in_the_signature() -> None:
    assert AgreeJudge().signature == (("agree", f"{SIGNATURE}+context:v1"),)
    assert ChoiceJudge().signature == (("option", SIGNATURE),)
    assert not AgreeJudge().needs_model
    assert not ChoiceJudge().needs_model


def test_the_error_rates_that_stand_beside_lexical_agreement_are_those_that_are_measured() -> None:
    cases = tomllib.loads((SAMPLES.parent / "typed_answers" / "answers.toml").read_text(encoding="utf-8"))["case"]
    found = {}
    for kind in ("right", "wrong"):
        pairs = [(case, answer) for case in cases for answer in case[kind]]
        accepted = sum(agrees_in_context(answer, [case["reference"]], case["question"]) for case, answer in pairs)
        found[kind] = 100 * accepted / len(pairs)
    stated = [int(number) for number in re.findall(r"(\d+) %", protocols()["agree"].caution)]
    assert stated == pytest.approx([found["right"], found["wrong"]], abs=2)


def test_lexical_agreement_is_never_chosen_as_credit() -> None:
    assert credit_metric(["agree", "rouge_l"]) == "rouge_l"
    assert credit_metric(["agree", "typed"]) == "typed"
    assert credit_metric(["agree"]) is None
    assert protocols()["agree"].title == "Lexical agreement"
