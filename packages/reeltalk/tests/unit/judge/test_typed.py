"""The judge of typed answers: which turns it scores, what its rows and numbers say."""

import asyncio
import json
import re
import tomllib
from collections.abc import Iterable
from statistics import mean
from typing import Any

import pytest
from places import ROOT

from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.typed import ERRORS, TypedJudge
from reeltalk.language.answer_reading import read_answer
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.dialogue import AnswerKey
from reeltalk.schema.model_texts import plain_answer
from reeltalk.schema.scoring import JudgedScore, ScoreState

ROOM = AnswerKey(type="room", values=("kitchen",), among=("bedroom",))


def turn(index: int, text: str, key: AnswerKey | None = ROOM, **fields: object) -> AnsweredTurn:
    return AnsweredTurn.model_validate(
        {
            "model": "m",
            "item_id": f"d/{index}",
            "video_id": "v",
            "unit_id": "d",
            "turn_index": index,
            "question": "In which room is he?",
            "references": ("In the kitchen.",),
            "text": text,
            "key": key,
        }
        | fields
    )


def judged(*turns: AnsweredTurn) -> tuple[JudgeUnit, list[JudgedScore]]:
    unit = JudgeUnit(model="m", kind="dialogue", id="d", video_id="v", turns=turns)
    return unit, asyncio.run(TypedJudge().judge(unit, None))


def test_a_row_tells_what_was_read_and_what_was_due() -> None:
    _, rows = judged(turn(0, "He is in the bedroom."))

    assert [row.value for row in rows] == [0.0]
    assert rows[0].explanation == "room: read: bedroom; due: kitchen"


def test_every_turn_with_a_key_is_scored_whatever_is_answered() -> None:
    unit, rows = judged(
        turn(0, "In the kitchen."), turn(1, "I cannot see the video."), turn(2, "?"), turn(3, "x", None)
    )

    right, unread = TypedJudge().measures([unit], rows)

    assert [row.value for row in rows] == [1.0, 0.0, 0.0]
    assert (right.name, right.n) == ("typed", 3)
    assert right.value == pytest.approx(100 / 3)
    assert (unread.name, unread.n) == ("typed.unread", 3)
    assert unread.value == pytest.approx(200 / 3)


def test_a_turn_without_an_answer_is_unscored_and_one_that_was_not_asked_is_left_out() -> None:
    unit, rows = judged(
        turn(0, "", state=AnswerState.FAILED, reason="time out"), turn(1, "", state=AnswerState.NOT_ASKED)
    )

    assert [(row.state, row.reason) for row in rows] == [
        (ScoreState.UNSCORED, "the model gave no answer: time out"),
    ]
    assert [(m.n, m.unscored) for m in TypedJudge().measures([unit], rows)] == [(0, 1), (0, 1)]


@pytest.mark.parametrize(
    ("text", "value"),
    [("B", 1.0), ("(b) the bedroom", 0.0), ("B.", 1.0), ("Option B", 1.0), ("A", 0.0), ("A: the bedroom", 0.0),
     ("B) the kitchen", 1.0), ("The kitchen", 1.0), ("Z", 0.0)],
)  # fmt: skip
def test_a_letter_means_an_option_as_it_was_shown(text: str, value: float) -> None:
    shown = turn(0, text, options=("the kitchen", "the bedroom"), correct_option=0, played={"option_order": (1, 0)})

    assert [row.value for row in judged(shown)[1]] == [value]


def test_the_signature_names_the_rules_and_their_words() -> None:
    ((name, rules),) = TypedJudge().signature

    assert name == "rules"
    assert re.match(r"v\d+-[0-9a-f]{8}$", rules)


def rates(cases: Iterable[dict[str, Any]]) -> tuple[str, str, str]:
    """How many answers there are, and the shares of right and of wrong ones that are accepted."""
    right: list[bool] = []
    wrong: list[bool] = []
    for case in cases:
        key = AnswerKey.model_validate(case["key"])
        for found, answers in ((right, case["right"]), (wrong, case["wrong"])):
            found += [read_answer(case["question"], key, plain_answer(answer)).right for answer in answers]
    return f"{len(right) + len(wrong):,} answers", f"{mean(right):.1%}", f"{mean(wrong):.1%}"


def test_the_errors_that_a_report_names_are_counted() -> None:
    folder = ROOT / "tests" / "typed_answers"
    reviews = (tomllib.loads((folder / f"{name}.toml").read_text("utf-8")) for name in ("review", "second_review"))
    unseen = map(json.loads, (folder / "second_pairs_held_out.jsonl").read_text("utf-8").splitlines())

    told = *rates(case for one in reviews for case in one["case"]), *rates(unseen)

    assert all(part.replace("%", " %") in ERRORS for part in told), told
