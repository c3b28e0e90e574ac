"""An empty answer has the lowest value of each criterion, whatever a judge would say of it, and is not asked about."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from reeltalk.judge.checklist import ChecklistJudge
from reeltalk.judge.judge import NULL_MODEL, Judge, JudgeUnit
from reeltalk.judge.protocol import find_protocol
from reeltalk.judge.single_answers import single_answer_judge
from reeltalk.judge.turns import EMPTY_ANSWER, judge_unit
from reeltalk.judge.vdeval import VDEval
from reeltalk.llm import Message, Reply
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.dialogue import Checklist, ChecklistItem
from reeltalk.schema.scoring import JudgedScore, ScoreState

# The best that a judge can say.
PRAISE: dict[str, tuple[Callable[[], Judge], str]] = {
    "clair": (partial(single_answer_judge, "clair"), json.dumps({"score": 100, "reason": "it says all"})),
    "lave": (partial(single_answer_judge, "lave"), "It says all. So rating=3"),
    "llm-acc": (partial(single_answer_judge, "llm-acc"), json.dumps({"pred": "yes", "score": 5})),
    "gpt-score": (partial(single_answer_judge, "gpt-score"), json.dumps({"rationale": "it says all", "accuracy": 10})),
    "vdeval": (lambda: VDEval(summary="none"), "It says all. So rating=3"),
    "checklist": (lambda: ChecklistJudge(eval_rounds=2), json.dumps({"A1": "No", "A2": "No"})),
}


class Praising:
    """Gives the highest mark to everything."""

    name, sees_images = "praising", False
    sampling: Mapping[str, Any] = {}

    def __init__(self, reply: str) -> None:
        self.reply, self.asked = reply, list[str]()

    async def ask(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None, sample: int = 0) -> Reply:
        self.asked.append(messages[-1].text)
        return Reply(self.reply, self.name, None, None, cut_off=False)


def turn(index: int, text: str, state: AnswerState = AnswerState.ANSWERED) -> AnsweredTurn:
    items = tuple(ChecklistItem(question=f"Does it say {n}?", expected=False) for n in (1, 2))
    return AnsweredTurn(
        model="m", item_id=f"i{index}", video_id="v", unit_id="u", turn_index=index, question=f"Where is mug {index}?",
        references=("On the table.",), text=text, state=state, checklist=Checklist(items=items),
    )  # fmt: skip


def judged(protocol: str, *turns: AnsweredTurn, model: str = "m") -> tuple[list[JudgedScore], list[str]]:
    made, reply = PRAISE[protocol]
    judge = Praising(reply)
    return asyncio.run(judge_unit(made(), JudgeUnit(model, "dialogue", "u", "v", turns), judge)), judge.asked


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
@pytest.mark.parametrize("protocol", PRAISE)
def test_an_empty_answer_has_the_lowest_value(protocol: str, text: str) -> None:
    described = find_protocol(protocol)
    assert described is not None
    rows, _ = judged(protocol, turn(0, "On the table."), turn(1, text), turn(2, "", AnswerState.FAILED))
    values: dict[int | None, set[float | None]] = {
        place: {row.value for row in rows if row.turn_index == place} for place in range(3)
    }
    assert values[1] == {described.criteria[0].low}
    assert values[2] == {None}
    assert max(filter(None, values[0])) > described.criteria[0].low
    assert {row.explanation for row in rows if row.turn_index == 1} == {EMPTY_ANSWER}
    assert {row.state for row in rows if row.turn_index == 1} == {ScoreState.SCORED}


@pytest.mark.parametrize("protocol", ["clair", "lave", "llm-acc", "gpt-score"])
def test_a_judge_of_single_turns_is_not_asked_about_it(protocol: str) -> None:
    _, asked = judged(protocol, turn(0, "On the table."), turn(1, ""))
    assert len(asked) == 1
    assert "On the table." in asked[0]


def test_empty_answers_that_measure_the_judge_are_judged() -> None:
    rows, asked = judged("clair", turn(0, ""), turn(1, ""), model=NULL_MODEL)
    assert len(asked) == 2
    assert [row.value for row in rows] == [1.0, 1.0]
