"""Style must not decide: right answers stay right, and wrong ones wrong, however a model wraps them."""

import asyncio
import json
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from places import ROOT

from reeltalk.judge.attacks import neutral_dialogues
from reeltalk.judge.choice import ChoiceJudge
from reeltalk.judge.judge import Judge, JudgeUnit
from reeltalk.judge.match import MatchJudge, matches
from reeltalk.judge.single_answers import single_answer_judge
from reeltalk.judge.styles import STYLES, AnswerStyle, answer_styles, wrong_answers
from reeltalk.judge.typed import TypedJudge
from reeltalk.judge.under_attack import AttackReport, play_styles
from reeltalk.llm import Message, Reply
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import AnswerKey
from reeltalk.schema.model_texts import plain_answer
from reeltalk.schema.scoring import JudgedScore

FRESH = ROOT / "tests" / "answer_styles" / "fresh.toml"
STYLE = {style.name: style for style in answer_styles()}


def turn(index: int, question: str, reference: str, **fields: object) -> AnsweredTurn:
    return AnsweredTurn.model_validate(
        {
            "model": "m", "item_id": f"d/{index}", "video_id": "v", "unit_id": "d", "turn_index": index,
            "question": question, "references": (reference,), "text": "what the model said",
        }
        | fields
    )  # fmt: skip


def unit_of(turns: list[AnsweredTurn]) -> JudgeUnit:
    return JudgeUnit(model="m", kind="dialogue", id="d", video_id="v", turns=tuple(turns))


def typed_turns() -> Iterator[AnsweredTurn]:
    cases = tomllib.loads((ROOT / "tests" / "typed_answers" / "answers.toml").read_text(encoding="utf-8"))["case"]
    for index, case in enumerate(cases):
        key = AnswerKey.model_validate(case["key"])
        yield turn(index, case["question"], case["reference"], key=key)


def short_turns() -> Iterator[AnsweredTurn]:
    cases = tomllib.loads((ROOT / "tests" / "short_answers" / "fresh.toml").read_text(encoding="utf-8"))["case"]
    pairs = {case["question"]: case["references"][0] for case in cases if case["references"][0].isascii()}
    for index, (question, reference) in enumerate(pairs.items()):
        if matches(reference, (reference,), question):
            yield turn(index, question, reference)


def option_turns() -> Iterator[AnsweredTurn]:
    turns = [found for dialogue in neutral_dialogues() for found in dialogue.turns]
    for index, found in enumerate(turns):
        yield turn(index, found.question, found.reference, options=found.options, correct_option=found.correct_option)


def played(
    judge: Judge, turns: Iterator[AnsweredTurn] | list[AnsweredTurn], styles: tuple[AnswerStyle, ...]
) -> AttackReport:
    return asyncio.run(play_styles(judge, None, [unit_of(list(turns))], styles))


def fresh_styles() -> tuple[AnswerStyle, ...]:
    return tuple(AnswerStyle(**row) for row in tomllib.loads(FRESH.read_text(encoding="utf-8"))["style"])


def test_every_style_names_where_replies_look_so() -> None:
    assert len(answer_styles()) == len(STYLE) >= 30
    assert all(style.source for style in answer_styles())
    assert {style.name for style in answer_styles()} == {
        row["name"] for row in tomllib.loads(STYLES.read_text(encoding="utf-8"))["style"]
    }


@pytest.mark.parametrize("styles", [answer_styles(), fresh_styles()], ids=["styles", "fresh"])
@pytest.mark.parametrize(
    ("judge", "turns"), [(TypedJudge(), typed_turns), (MatchJudge(), short_turns), (ChoiceJudge(), option_turns)]
)
def test_no_style_costs_right_answers_or_helps_wrong_ones(
    judge: Judge, turns: object, styles: tuple[AnswerStyle, ...]
) -> None:
    assert callable(turns)
    report = played(judge, turns(), styles)
    assert report.total.references > 150
    assert not report.is_fooled
    # One of few answers weighs more than the limit.
    most = 2 if styles == answer_styles() else 5
    costs = {row.family: (row.lost_points, row.gained_points) for row in report.families}
    assert {name: cost for name, cost in costs.items() if (cost[0] or 0) > most or (cost[1] or 0) > 1} == {}


class ExactJudge(MatchJudge):
    """Accepts an answer of exactly the words of the reference."""

    async def judge_turn(self, unit: JudgeUnit, index: int, model: object) -> list[JudgedScore]:
        found = unit.turns[index]
        return [
            JudgedScore(
                unit="turn", unit_id="d", turn_index=found.turn_index, model="m", criterion="match", judge="none",
                value=float(found.text in found.references),
            )
        ]  # fmt: skip


def test_a_judge_that_minds_style_is_told_what_it_costs() -> None:
    turns = [turn(0, "What is it?", "a mug"), turn(1, "Who is it?", "Ann"), turn(2, "What is this?", "a cup")]
    report = played(ExactJudge(), turns, (STYLE["bold"], STYLE["small letters"]))
    bold, small = report.families
    assert (bold.references, bold.lost, bold.lost_points, bold.fooled) == (3, 3, 100.0, 0)
    assert (small.references, small.lost, small.n) == (3, 1, 3)
    assert report.is_fooled
    table = report.overview()
    assert [row[0] for row in table.rows] == ["all", "bold", "small letters"], "the style that costs most comes first"
    assert len(json.loads(json.dumps(report.to_json()))["outcomes"]) == 4, "only what went wrong"
    cost = report.style_cost()
    assert (cost.styles, cost.total.lost, cost.total.references) == (2, 4, 6)
    assert "lost 4 of 6" in cost.sentence


class MindsBold:
    """Says yes to the reference, unless it is bold."""

    name, sees_images, sampling = "minds bold", False, dict[str, Any]()

    async def ask(self, messages: Sequence[Message], *, schema: Any = None, sample: int = 0) -> Reply:
        told = messages[-1].text
        right = max(told.count("a mug"), told.count("a spoon")) > 1 and "**" not in told
        verdict = {"pred": "yes" if right else "no", "score": 5 if right else 0}
        return Reply(json.dumps(verdict), "m", 1, 1, cut_off=False)


def test_a_model_that_judges_is_attacked_too() -> None:
    turns = [turn(0, "What is it?", "a mug"), turn(1, "What is this?", "a spoon")]
    coming = play_styles(
        single_answer_judge("llm-acc"), MindsBold(), [unit_of(turns)], (STYLE["bold"], STYLE["in the video"])
    )
    report = asyncio.run(coming)
    assert report.model == "minds bold"
    assert [(row.family, row.lost, row.references, row.fooled) for row in report.families] == [
        ("bold", 2, 2, 0),
        ("in the video", 0, 2, 0),
    ]


def test_what_a_judge_cannot_tell_apart_counts_for_nothing() -> None:
    key = AnswerKey(type="room", values=("kitchen",), among=("bedroom",))
    turns = [
        turn(0, "In which room is he?", "In the kitchen.", key=key),
        turn(1, "Where is she?", "He is a cook.", key=key.model_copy(update={"values": ("bedroom",)})),
    ]
    report = played(TypedJudge(), turns, (STYLE["bold"],))
    assert (report.total.references, report.total.blind) == (1, 1)


def test_a_wrong_answer_is_another_option_or_the_reference_of_a_turn_like_it() -> None:
    room = AnswerKey(type="room", values=("kitchen",))
    turns = [
        turn(0, "Where?", "In the kitchen.", key=room),
        turn(1, "Where now?", "He is in the kitchen.", key=room),
        turn(2, "Where then?", "In the bath.", key=room.model_copy(update={"values": ("bathroom",)})),
        turn(3, "Which colour?", "Red.", key=AnswerKey(type="colour", values=("red",))),
        turn(4, "Which?", "a cup", options=("a cup", "a mug"), correct_option=0),
    ]
    found = {item: text for (_, item), text in wrong_answers(turns).items()}
    assert found == {"d/0": "In the bath.", "d/1": "In the bath.", "d/2": "In the kitchen.", "d/4": "a mug"}


@pytest.mark.parametrize(
    "text",
    [
        "<think>In the kitchen.</think>In the bedroom.",
        "In the kitchen. Final answer: in the bedroom.",
        "It may be the kitchen. So the answer is the bedroom.",
        "Let me check: is it the kitchen? Looking at the frames, he is in the bedroom.",
        "In the kitchen.\nResponse: in the bedroom.",
        "He is in the bedroom. The kitchen can be seen as well.",
    ],
)
def test_a_right_value_beside_the_answer_makes_nothing_right(text: str) -> None:
    key = AnswerKey(type="room", values=("kitchen",), among=("bedroom",))
    unit = unit_of([turn(0, "In which room is he?", "In the kitchen.", key=key, text=text)])
    assert [row.value for row in asyncio.run(TypedJudge().judge(unit, None))] == [0.0], plain_answer(text)
