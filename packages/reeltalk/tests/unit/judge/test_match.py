"""Judging answers to questions with a short reference by rule: which turns it takes, and what it accepts."""

import asyncio
import tomllib
from collections.abc import Sequence
from typing import Any

import pytest
from places import TESTS

from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.match import PROTOCOL, MatchJudge, has_short_reference, matches
from reeltalk.judge.measures import group_measure
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.dialogue import AnswerKey
from reeltalk.schema.scoring import JudgedScore, ScoreState

LONG = "She sits down on the couch and reads, since the day has been long and the tea is hot."


def turn(text: str, index: int = 0, *, reference: str | None = "At the office.", **fields: Any) -> AnsweredTurn:
    return AnsweredTurn.model_validate(
        {
            "model": "m",
            "item_id": f"i{index}",
            "video_id": "v",
            "unit_id": "u",
            "turn_index": index,
            "question": "Where are they?",
            "references": () if reference is None else (reference,),
            "text": text,
        }
        | fields
    )


def judged(*turns: AnsweredTurn) -> tuple[JudgeUnit, list[JudgedScore]]:
    unit = JudgeUnit("m", "dialogue", "u", "v", turns, task="summary")
    return unit, asyncio.run(MatchJudge().judge(unit, None))


def told(rows: Sequence[JudgedScore]) -> list[tuple[int | None, float | None]]:
    return [(row.turn_index, row.value) for row in rows]


# Question, reference, answers that give it, and answers that do not.
CASES = [
    ("Where are they?", "At the office.",
     ["At the office.", "the office", "They are at the office.", "**At the office**", "<think>Roof?</think>Office."],
     ["", "At the school.", "Not at the office.", "At the office or at the school.", "I cannot tell."]),
    ("Which colour is the mug?", "Red.", ["red", "The mug is red.", "It's a red one."],
     ["blue", "Red and blue.", "It is not red."]),
    ("How many mugs are there?", "Three.", ["3", "three mugs", "There are three."], ["2", "Three or four.", "Many."]),
    ("Does she open it?", "Yes.", ["Yes.", "Yes, she does.", "Yeah"], ["No.", "She does not.", "Maybe."]),
    ("Does she open it?", "No, she doesn't.", ["No.", "No, she does not open it."], ["Yes.", "Yes, she does."]),
    ("When does she sit down?", "1:17", ["1:17", "At 01:17.", "77 s"], ["1:19", "2:17", "At the end."]),
    ("When does she sit down?", "At 1:17.", ["1:17", "At 01:17.", "77 s"], ["At 1:19.", "At 2:17.", "At the end."]),
    ("How heavy is it?", "3.5 kg", ["3.5 kg", "It weighs 3.5 kg."], ["4.5 kg", "5 kg", "35 kg"]),
    ("杯子是什么颜色?", "红色。", ["红色", "杯子是红色的。"], ["蓝色", "不是红色。"]),
]  # fmt: skip


@pytest.mark.parametrize(("question", "reference", "right", "wrong"), CASES)
def test_a_short_reference_must_stand_in_the_answer_alone_and_undenied(
    question: str, reference: str, right: list[str], wrong: list[str]
) -> None:
    assert {answer: matches(answer, (reference,), question) for answer in right} == dict.fromkeys(right, True)
    assert {answer: matches(answer, (reference,), question) for answer in wrong} == dict.fromkeys(wrong, False)


@pytest.mark.parametrize(
    ("fields", "takes"),
    [
        ({}, True),
        ({"references": (LONG, "At the office.")}, True),
        ({"references": (LONG,)}, False),
        ({"references": ("Before the dinner.",)}, False),
        ({"references": ("事務所です。", "オフィス")}, False),
        ({"question": "Why does she go?", "references": ("To work.",)}, False),
        ({"question": "What does she do next?", "references": ("Opens it.",)}, False),
        ({"references": ()}, False),
        ({"options": ("At the office.", "On the roof."), "correct_option": 0}, False),
        ({"key": AnswerKey(type="room", values=("office",))}, False),
    ],
)
def test_turns_with_one_short_value_are_taken_and_the_others_left_to_a_judge(
    fields: dict[str, Any], takes: bool
) -> None:
    found = turn("At the office.", **fields)
    assert has_short_reference(found) == takes
    assert [row.state is ScoreState.SCORED for row in judged(found)[1]] in ([takes], [] if not takes else [takes])


@pytest.mark.parametrize("state", [AnswerState.ANSWERED, AnswerState.FAILED])
@pytest.mark.parametrize("text", [LONG, "", "Office."])
def test_whether_the_rule_applies_does_not_depend_on_the_answer(state: AnswerState, text: str) -> None:
    ((row,), (short,)) = (judged(turn(text, reference=one, state=state))[1] for one in (LONG, "At the office."))
    assert row.state is ScoreState.NOT_APPLICABLE
    assert "a judge can score it" in (row.reason or "")
    assert short.state is (ScoreState.SCORED if state is AnswerState.ANSWERED else ScoreState.UNSCORED)


def test_short_answers_are_right_or_wrong_and_failed_ones_unscored() -> None:
    unit, rows = judged(
        turn("They are at the office.", 0, labels={"vdact.question_type": ("D-LOC",)}),
        turn("On the roof.", 1),
        turn("Anything.", 2, reference=None),
        turn("At the office.", 3, state=AnswerState.FAILED),
        turn("At the office.", 4, state=AnswerState.NOT_ASKED),
        turn("At the office.", 5, reference=LONG),
    )
    assert told(rows) == [(0, 1.0), (1, 0.0), (3, None), (5, None)]
    (measure,) = MatchJudge().measures([unit], rows)
    assert (measure.name, measure.value, measure.n) == ("match", 50.0, 2)
    assert (measure.unscored, measure.not_applicable) == (1, 1)
    assert group_measure(measure, "question_type")["D-LOC"].value == 100
    assert group_measure(measure, "task")["summary"].value == 50


def test_the_rules_stand_in_the_signature() -> None:
    ((name, rules),) = MatchJudge().signature
    assert name == "match"
    assert rules.startswith("match:v")
    assert not MatchJudge().needs_model


def test_the_rates_beside_the_score_are_those_of_the_table() -> None:
    path = TESTS / "short_answers" / "fresh.toml"
    cases = tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    found = [(matches(case["answer"], tuple(case["references"]), case["question"]), case["right"]) for case in cases]
    right = [said for said, is_right in found if is_right and said is not None]
    wrong = [said for said, is_right in found if not is_right and said is not None]
    share_right, share_wrong = round(100 * sum(right) / len(right)), round(100 * sum(wrong) / len(wrong))
    assert PROTOCOL.note is not None
    assert f"{len(right) + len(wrong):,}" in PROTOCOL.note
    assert f"{share_right} % of the right ones and {share_wrong} % of the wrong ones" in PROTOCOL.note
