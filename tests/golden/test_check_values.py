"""The check values of the published protocols: one line each, from the public function to the number."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from reeltalk.judge.checklist import ChecklistJudge, official_run_accuracy
from reeltalk.judge.checklist_measures import official_mean
from reeltalk.judge.cogme import CogMEJudge
from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.measures import Measure
from reeltalk.judge.rating import read_rating, vdeval_compat
from reeltalk.judge.single_answers import frequent_references
from reeltalk.judge.svbench_official import official_scores
from reeltalk.judge.vdeval import VDEval
from reeltalk.llm import Message, Reply
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import Checklist, ChecklistItem
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Json
from reeltalk.video.sampling import svbench_published

YES_YES_NO = ["Yes", "Yes", "No"]


class Says:
    """Says texts in order."""

    name, sees_images = "says", False
    sampling: Mapping[str, Json] = {}

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    async def ask(self, messages: Sequence[Message], *, schema: Any = None, sample: int = 0) -> Reply:
        return Reply(self.texts.pop(0), self.name, None, None, cut_off=False)


def measured(judge: Any, texts: Sequence[str], turns: int, items: str = "") -> dict[str, Measure]:
    checklist = Checklist(items=tuple(ChecklistItem(question="?", expected=mark == "Y") for mark in items))
    rows = tuple(
        AnsweredTurn(
            model="m",
            item_id=f"u/{index + 1:02d}",
            video_id="v",
            unit_id="u",
            turn_index=index,
            question="Q?",
            references=("R.",),
            text="A.",
            checklist=checklist if items else None,
        )
        for index in range(turns)
    )
    unit = JudgeUnit("m", "dialogue", "u", "v", rows, task="summary")
    scores = asyncio.run(judge.judge(unit, Says(*texts)))
    return {measure.name: measure for measure in judge.measures([unit], scores)}


def vdeval(name: str) -> float | None:
    texts = [f"So. So rating={rating}" for rating in (3, 2, 1, 3)]
    return measured(VDEval(summary="none", compat=True), texts, turns=4)[name].value


def frames(start_s: float, end_s: float) -> list[int]:
    return list(map(int, svbench_published(Interval(start_s=start_s, end_s=end_s), frames_of_video=200)))


def cogme(name: str) -> float | None:
    """A right recall and a wrong reasoning about a character."""
    turns = tuple(
        AnsweredTurn(
            model="m", item_id=f"i{index}", video_id="v", unit_id="u", turn_index=index, question="Q?", text=text,
            references=("Yes.",), options=("No.", "Yes."), correct_option=1,
            labels={"cogme.target": ("Character",), "cogme.thinking": (thinking,)},
        )
        for index, (text, thinking) in enumerate((("B", "Recall"), ("A", "Reasoning")))
    )  # fmt: skip
    unit, judge = JudgeUnit("m", "dialogue", "u", "v", turns), CogMEJudge()
    measures = judge.measures([unit], asyncio.run(judge.judge(unit, None)))
    return next(measure.value for measure in measures if measure.name == name)


def checklists(name: str) -> float | None:
    """Two rounds of three judgings each, all of items Yes, Yes, No: 2, 2 and 3 right, then the same again."""
    two, three = '{"A1": "Yes", "A2": "Yes", "A3": "Yes"}', '{"A1": "Yes", "A2": "Yes", "A3": "No"}'
    return measured(ChecklistJudge(), [two, two, three] * 2, turns=2, items="YYN")[name].value


VALUES: list[tuple[str, Callable[[], Any], Any]] = [
    ("VDEval: mean of the ratings 3, 2, 1, 3", lambda: vdeval("vdeval"), 2.25),
    ("VDEval: percentile of the same", lambda: vdeval("vdeval.percentile"), 0.625),
    ("VDEval: mean of the same, official", lambda: vdeval("vdeval.compat"), 2.25),
    ("VDEval compat: '…=3'", lambda: vdeval_compat("So rating=3"), 3),
    ("VDEval compat: '…=3.'", lambda: vdeval_compat("So rating=3."), 1),
    ("VDEval compat: '…= 2\\n'", lambda: vdeval_compat("So rating= 2\n"), 2),
    ("VDEval compat: '…=5'", lambda: vdeval_compat("So rating=5"), 5),
    ("VDEval fixed: '…=3.'", lambda: read_rating("So rating=3.").value, 3),
    ("LAVE: b and c are dropped", lambda: frequent_references(["a"] * 8 + ["b"] * 2 + ["c"]), ["a"] * 8),
    ("SVBench frames of 40.2 to 52.7 s", lambda: frames(40.2, 52.7), list(range(35, 54, 2))),
    ("SVBench frames of 0 to 12 s", lambda: frames(0, 12), list(range(2, 13, 2))),
    ("SVBench frames of 10 to 18.5 s", lambda: frames(10, 18.5), list(range(10, 20))),
    ("SVBench compat: TU -1", lambda: official_scores("Temporal Understanding\nScore: -1")["TU"], 1),
    ("SVBench compat: SA of (0-10)", lambda: official_scores("Semantic Accuracy\nScore (0-10): 8")["SA"], 0),
    ("CogME: Character, weighted", lambda: cogme("cogme.Character"), 25.0),
    ("CogME: Character, unweighted", lambda: cogme("cogme.unweighted.Character"), 50.0),
    ("MT-Video-Bench: 2 of 3 items", lambda: official_run_accuracy(["Yes"] * 3, YES_YES_NO), 0.67),
    (
        "MT-Video-Bench: the same padded to 5",
        lambda: official_run_accuracy([*["Yes"] * 3, "No", "No"], YES_YES_NO),
        0.40,
    ),
    ("MT-Video-Bench: runs 0.67, 0.67, 1.0", lambda: official_mean([0.67, 0.67, 1.0]), 0.78),
    ("MT-Video-Bench: rounds 0.78, 0.60", lambda: official_mean([0.78, 0.60]), 0.69),
    ("MT-Video-Bench fixed: runs 2/3, 2/3, 1", lambda: checklists("mtv"), 100 * 7 / 9),
    ("MT-Video-Bench fixed: what an empty answer gets", lambda: checklists("mtv.floor"), 100 / 3),
]


@pytest.mark.parametrize(("of", "expected"), [row[1:] for row in VALUES], ids=[row[0] for row in VALUES])
def test_check_value(of: Callable[[], Any], expected: Any) -> None:
    found = of()
    assert found == (expected if isinstance(expected, list) else pytest.approx(expected, abs=1e-9))
