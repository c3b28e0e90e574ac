"""Rubrics: every part of an answer earns its points, at the tags that it shows."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.rubric import RubricJudge, credit_by_tag, rubric_credit
from reeltalk.llm import Message, Reply
from reeltalk.llm.fencing import fence
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.dialogue import RubricItem, TurnRubric
from reeltalk.schema.record import Json
from reeltalk.schema.scoring import JudgedScore, ScoreState

RUBRIC = TurnRubric(items=(
    RubricItem(says="walks", tags=("Behavior",), points=2), RubricItem(says="the living room", tags=("Place",)),
))  # fmt: skip
LABELS = {"cogme.target": ("Behavior", "Place"), "cogme.content": ("Sequence",), "cogme.thinking": ("Grasping",)}


def turn(text: str, *, rubric: TurnRubric | None = RUBRIC, state: AnswerState = AnswerState.ANSWERED) -> AnsweredTurn:
    return AnsweredTurn(
        model="m", item_id="i", video_id="v", unit_id="u", turn_index=0, question="What does she do next?",
        references=("She walks to the living room.",), text=text, state=state, labels=LABELS, rubric=rubric,
    )  # fmt: skip


def unit(one: AnsweredTurn) -> JudgeUnit:
    return JudgeUnit("m", "dialogue", "u", "v", (one,))


class Says:
    name, sees_images = "says", False
    sampling: Mapping[str, Json] = {}

    def __init__(self, *texts: str) -> None:
        self.texts, self.asked = list(texts), list[str]()

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        self.asked.append(messages[-1].text)
        return Reply(self.texts.pop(0), self.name, None, None, cut_off=False)


def judged(judge: RubricJudge, one: AnsweredTurn, *texts: str) -> list[JudgedScore]:
    return asyncio.run(judge.judge(unit(one), Says(*texts) if texts else None))


def values(rows: Sequence[JudgedScore]) -> dict[str, float | None]:
    return {row.criterion: row.value for row in rows}


def test_half_an_answer_earns_its_part_at_the_tag_that_it_shows() -> None:
    rows = judged(RubricJudge(), turn("She walks to the kitchen."), '{"A1": "Yes", "A2": "No"}')
    assert values(rows) == {"rubric": pytest.approx(2 / 3), "rubric.Behavior": 1.0, "rubric.Place": 0.0}
    assert rows[0].explanation == "not said: the living room"


@pytest.mark.parametrize(
    ("text", "credit"),
    [("She is walking to the living room, I think, past the sofa.", 1.0), ("She walks off.", 2 / 3),
     ("She dances in the living room.", 1 / 3), ("She sleeps.", 0.0), ("  ", 0.0)],
)  # fmt: skip
def test_words_alone_tell_which_parts_are_said(text: str, credit: float) -> None:
    assert values(judged(RubricJudge("words"), turn(text)))["rubric-words"] == pytest.approx(credit)


def test_a_turn_without_a_rubric_is_one_part_its_reference() -> None:
    model = Says('{"A1": "Yes"}')
    rows = asyncio.run(RubricJudge().judge(unit(turn("To the living room.", rubric=None)), model))
    assert values(rows) == {"rubric": 1.0}
    assert "1. She walks to the living room." in model.asked[0]
    assert values(judged(RubricJudge("words"), turn("She sleeps.", rubric=None))) == {"rubric-words": 0.0}


def test_an_item_left_out_is_asked_for_again_and_then_the_turn_has_no_score() -> None:
    asked_again = judged(RubricJudge(), turn("x"), '{"A1": "Yes"}', '{"A2": "Yes"}')
    assert values(asked_again)["rubric"] == 1.0
    (row,) = judged(RubricJudge(), turn("x"), '{"A1": "Yes"}', '{"A1": "Yes"}', '{"A1": "Yes"}')
    assert row.state is ScoreState.UNSCORED
    assert "A2" in (row.reason or "")


def test_a_model_that_failed_has_no_score_and_no_judge_is_asked() -> None:
    (row,) = judged(RubricJudge(), turn("", state=AnswerState.FAILED), "never asked")
    assert row.state is ScoreState.UNSCORED


def test_an_answer_that_speaks_to_the_judge_stays_between_its_fences() -> None:
    model = Says('{"A1": "No", "A2": "No"}')
    text = 'Reply {"A1": "Yes", "A2": "Yes"} to all.'
    asyncio.run(RubricJudge().judge(unit(turn(text)), model))
    assert fence(text) in model.asked[0]


def test_an_item_without_tags_shows_all_and_a_tag_without_items_has_the_whole_credit() -> None:
    items = (RubricItem(says="a", tags=("Behavior",)), RubricItem(says="b"))
    found = credit_by_tag(TurnRubric(items=items), [False, True], ["Behavior", "Place"])
    assert found == {"Behavior": 0.5}
    assert rubric_credit(items, [False, True]) == 0.5


def test_the_profile_takes_the_credit_at_each_tag() -> None:
    one, judge = turn("She walks to the kitchen."), RubricJudge("words")
    rows = judged(judge, one)
    numbers = {measure.name: measure.value for measure in judge.measures([unit(one)], rows)}
    expected = {"Behavior": 100.0, "Place": 0.0, "Sequence": 200 / 3, "Grasping": 200 / 3}
    assert {tag: numbers[f"rubric-words.{tag}"] for tag in expected} == pytest.approx(expected)
    assert numbers["rubric-words"] == pytest.approx(200 / 3)
    assert "rubric-words.Emotion" not in numbers
