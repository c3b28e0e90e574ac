"""A second table of replies, read by the judges themselves: none is read as what it does not say."""

import asyncio
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from reeltalk.errors import ModelError
from reeltalk.judge.checklist import ask_items
from reeltalk.judge.judge import Judge, JudgeUnit
from reeltalk.judge.rubric import RubricJudge
from reeltalk.judge.single_answers import single_answer_judge
from reeltalk.judge.svbench import CRITERIA, NOT_APPLICABLE, SVBenchJudge
from reeltalk.judge.vdeval import VDEval
from reeltalk.llm import Message, Reply
from reeltalk.llm.fencing import fence
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import RubricItem, TurnRubric
from reeltalk.schema.record import Json

REPLIES = tomllib.loads((Path(__file__).parent / "replies_to_judges.toml").read_text(encoding="utf-8"))["reply"]
JUDGES: dict[str, Judge] = {
    judge.name: judge
    for judge in (
        single_answer_judge("clair"),
        single_answer_judge("llm-acc"),
        single_answer_judge("gpt-score"),
        RubricJudge(),
        single_answer_judge("lave"),
        VDEval(summary="none"),
        SVBenchJudge(),
    )
}
# The points tell the four replies apart.
RUBRIC = TurnRubric(items=(RubricItem(says="a chair", points=1), RubricItem(says="the kitchen", points=2)))
TWO = ("No No", "Yes No", "No Yes", "Yes Yes")


class SaysOnce:
    """Cannot be reached when it is asked again."""

    name, sees_images = "says/once", False
    sampling: Mapping[str, Json] = {}

    def __init__(self, text: str) -> None:
        self.texts = [text]

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        if not self.texts:
            raise ModelError("asked again")
        return Reply(self.texts.pop(), self.name, None, None, cut_off=False)


def read(row: dict[str, Any]) -> float | str | None:
    """What the judge reads; None where it asks once more."""
    name, model = row["protocol"], SaysOnce(row["text"])
    answer = row.get("candidate", "He sits on a chair in the kitchen.")
    if name == "checklist":
        said = asyncio.run(ask_items(model, lambda due: f"{fence(answer)}\nReply as {{'A1': 'Yes'}}.", 2)).verdict
        return f"{said['A1']} {said['A2']}" if said is not None else None
    turn = AnsweredTurn(
        model="m", item_id="i", video_id="v", unit_id="u", turn_index=0, question="Where does he sit?",
        references=("On the chair.",), text=answer, rubric=RUBRIC if name == "rubric" else None,
    )  # fmt: skip
    unit = JudgeUnit("m", "chain" if name == "svbench" else "dialogue", "u", "v", (turn,))
    rows = {one.criterion: one.value for one in asyncio.run(JUDGES[name].judge(unit, model))}
    first = next(iter(rows.values()))
    if name == "svbench":
        marks = [rows[criterion] for criterion in (*CRITERIA[1:], CRITERIA[0])]
        shown = " ".join(str(NOT_APPLICABLE if mark is None else int(mark)) for mark in marks)
        return shown if any(mark is not None for mark in marks) else None
    if first is None:
        return None
    if name == "rubric":
        return TWO[round(3 * first)]
    return 1 + 2 * first if name == "lave" else first


def test_no_judge_reads_what_a_reply_does_not_say() -> None:
    wrong = [(row["text"], found) for row in REPLIES if (found := read(row)) not in (None, row.get("value"))]
    assert wrong == []


def test_judges_read_what_is_plainly_meant_at_once() -> None:
    plain = [row for row in REPLIES if "value" in row]
    unread = [row["text"] for row in plain if read(row) is None]
    assert len(unread) <= 0.05 * len(plain), unread


def test_every_protocol_that_reads_replies_has_both_sorts() -> None:
    both = {(row["protocol"], "value" in row) for row in REPLIES}
    assert both == {(name, plain) for name in (*JUDGES, "checklist") for plain in (False, True)}
    assert len({(row["protocol"], row["text"]) for row in REPLIES}) == len(REPLIES) >= 300
