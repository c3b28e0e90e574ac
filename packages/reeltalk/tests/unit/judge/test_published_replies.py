"""Replies to the official scripts' prompts as real judges write them, noted before the rules were read."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from reeltalk.judge.asking import judge_prompt_group, our_judge_prompts
from reeltalk.judge.checklist import OFFICIAL_TRIES, ChecklistJudge
from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.svbench import SVBenchJudge
from reeltalk.judge.turns import judge_unit
from reeltalk.llm import Message, Reply
from reeltalk.llm.prompts import Prompt, Prompts
from reeltalk.llm.replies import reply_key
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import Checklist, ChecklistItem
from reeltalk.schema.record import Json
from reeltalk.schema.scoring import JudgedScore

TABLE = json.loads((Path(__file__).parent / "published_replies.json").read_text(encoding="utf-8"))
EXPECTED = (True, True, False, True, False)
MARKS = {"OS": 7.0, "SA": 8.0, "CC": 7.0, "LC": 9.0, "TU": 6.0, "IC": 7.0}
FENCED = TABLE["checklist"][0]["reply"]


class Says:
    """Says its texts one after the other, and the last one from then on."""

    name, sees_images = "judge", False

    def __init__(self, *texts: str, temperature: float | None = None) -> None:
        self.texts = texts
        self.sampling: Mapping[str, Json] = {} if temperature is None else {"temperature": temperature}
        self.asked: list[str] = []

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        self.asked.append(reply_key(self.name, messages, schema=schema, sample=sample))
        return Reply(self.texts[min(len(self.asked), len(self.texts)) - 1], self.name, None, None, cut_off=False)


def stand_in(name: str, text: str) -> Prompts:
    """The judges' prompts with a text in place of a paper's."""
    own = Prompt.read(f"<!-- {name} v1 verbatim -->\n{text}", Path(name))
    return Prompts(judge_prompt_group(), {**our_judge_prompts(), name: own})


def unit(answer: str = TABLE["answer"], kind: Any = "dialogue", id: str = "u") -> JudgeUnit:
    items = tuple(ChecklistItem(question=f"Is it so ({number})?", expected=one) for number, one in enumerate(EXPECTED))
    turn = AnsweredTurn(
        model="m", item_id="i", video_id="v", unit_id=id, turn_index=0, question="What does he do?",
        references=("He takes a mug.",), text=answer, checklist=Checklist(items=items),
    )  # fmt: skip
    return JudgeUnit("m", kind, id, "v", (turn,))


def checklist(model: Says, answer: str = TABLE["answer"], id: str = "u", rounds: int = 1) -> list[JudgedScore]:
    prompts = stand_in("checklist-published", "{model_answer}\n{checklist}\nA1")
    judge = ChecklistJudge(eval_rounds=rounds, published=True, prompts=prompts)
    return asyncio.run(judge_unit(judge, unit(answer, id=id), model))


def svbench(reply: str, answer: str = TABLE["answer"]) -> dict[str, float | None]:
    prompts = stand_in("svbench-published", "{questions}{ground_truth}{model_responses}")
    judge = SVBenchJudge(published=True, prompts=prompts)
    rows = asyncio.run(judge.judge(unit(answer, "chain"), Says(reply)))
    return {one.criterion: one.value for one in rows if one.criterion in MARKS}


@pytest.mark.parametrize("row", TABLE["checklist"], ids=lambda row: row["what"])
def test_a_verdict_amid_ordinary_prose_is_read(row: dict[str, Any]) -> None:
    assert checklist(Says(row["reply"]))[0].value == (None if "unread" in row else 1.0)


@pytest.mark.parametrize("row", TABLE["attacks"], ids=lambda row: row["what"])
def test_no_quoted_doubted_or_contradicted_verdict_is_read(row: dict[str, Any]) -> None:
    assert checklist(Says(row["reply"]), row["answer"])[0].value is None


@pytest.mark.parametrize("row", TABLE["svbench"], ids=lambda row: row["what"])
def test_each_dimension_is_read_for_itself(row: dict[str, Any]) -> None:
    assert svbench(row["reply"]) == MARKS | ({"OS": None} if row["what"] == "no overall" else {})


def test_a_verdict_of_svbench_that_an_answer_dictates_is_not_read() -> None:
    dictated = TABLE["svbench"][0]["reply"]
    assert svbench(f"The answer says:\n\n{dictated}", dictated) == dict.fromkeys(MARKS)


def test_the_share_that_was_read_leniently_is_a_measure() -> None:
    rows = checklist(Says(FENCED, f"{FENCED}\n\nExplanation: the toaster is not said to be on.", FENCED), rounds=4)
    found = ChecklistJudge(eval_rounds=4, published=True).measures([unit()], rows)
    values = {one.name: one.value for one in found}
    assert (values["mtv"], values["mtv.lenient"]) == (100.0, 25.0)


def test_compat_asks_up_to_five_times_for_json_and_reads_the_later_reply() -> None:
    ours, official = checklist(Says("I think so.", "Still thinking.", FENCED))
    assert (ours.value, official.value, len(official.replies)) == (1.0, 1.0, 3)
    never = Says("I think so.")
    assert [row.value for row in checklist(never)] == [None, None]
    assert len(never.asked) == OFFICIAL_TRIES == len(set(never.asked))


def test_equal_requests_of_a_sampled_judge_are_sampled_anew() -> None:
    sampled, sure = Says(FENCED), Says(FENCED, temperature=0)
    for model in (sampled, sure):
        for id in ("a", "b"):
            checklist(model, id=id, rounds=2)
    assert len(set(sampled.asked)) == 4
    assert len(set(sure.asked)) == 2
    again = Says(FENCED)
    checklist(again, id="a", rounds=2)
    assert again.asked == sampled.asked[:2]
