"""Reasons that mean the same are one; those that do not stay apart."""

from collections import Counter

import pytest

from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.stages.failures import Failures, asking_helps, failures_of, group_reasons


def turn(index: int, *, reason: str | None = None, unit: str = "d") -> AnsweredTurn:
    return AnsweredTurn(
        model="tiny", item_id=f"{unit}-{index}", video_id="v", unit_id=unit, turn_index=index, question="?",
        references=("Yes.",), text="" if reason else "Yes.", reason=reason,
        state=AnswerState.FAILED if reason else AnswerState.ANSWERED,
    )  # fmt: skip


def score(index: int, *, reason: str | None = None, replies: tuple[str, ...] = ()) -> JudgedScore:
    return JudgedScore(
        unit="turn", unit_id="d", turn_index=index, model="tiny", criterion="c", judge="judge", reason=reason,
        value=None if reason else 1.0, state=ScoreState.UNSCORED if reason else ScoreState.SCORED, replies=replies,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://127.0.0.1:8000/v1 answered 404: no model", "http://10.0.0.7:81/v1 answered 404: no model"),
        ("request req_a81bc81b77 refused", "request req_77f0d2e3c4 refused"),
        ("request req-5699131823384044 refused", "request req-433591b0b6c602c8 refused"),
        ("id 123e4567-e89b-12d3-a456-426614174000 failed", "id 123e4567-e89b-12d3-a456-426614174fff failed"),
        ("took 12.5 s (asked 3 times)", "took 9 s (asked 6 times)"),
        ("the prompt has 9,012 tokens", "the prompt has 128,000 tokens"),
        ("connection to 10.1.2.3:80 refused", "connection to 10.1.2.4:8080 refused"),
    ],
)  # fmt: skip
def test_reasons_that_differ_in_addresses_identifiers_and_numbers_are_one(one: str, other: str) -> None:
    assert [count for _, count in group_reasons({one: 3, other: 4})] == [7]
    assert group_reasons({one: 3, other: 4})[0][0] == other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tiny answered 404: no", "tiny answered 503: no"),
        ("Error code: 400 - no", "Error code: 401 - no"),
        ("no model 'qwen3'", "no model 'qwen2'"),
        ("no model qwen-20250101", "no model gpt-20250101"),
        ("no video", "no file"),
    ],
)
def test_other_reasons_stay_apart(one: str, other: str) -> None:
    assert len(group_reasons({one: 1, other: 1})) == 2


def test_five_reasons_are_told_and_the_rest_is_counted() -> None:
    words = ["red", "green", "blue", "black", "white", "grey", "pink"]
    turns = [turn(n, reason=f"it is {words[n % 7]}") for n in range(21)]
    lines = list(failures_of([*turns, turn(21)], {}).lines())
    assert len(lines) == 6
    assert lines[0] == "3 of 22 turns: it is black"
    assert lines[-1] == "6 of 22 turns: and 2 more reasons"


def test_a_judging_is_counted_once_and_only_where_the_judge_failed() -> None:
    turns = [turn(0), turn(1, reason="dead"), turn(2), turn(3)]
    rows = [
        score(0),
        score(1, reason="the model gave no answer: dead"),
        score(2, reason="cannot be reached"),
        score(2, reason="cannot be reached").model_copy(update={"criterion": "other"}),
        score(3, reason="there is no reference answer"),
    ]
    found = failures_of(turns, {"vdeval": rows})
    assert (found.due, found.answered, dict(found.reasons)) == (4, 3, {"dead": 1})
    assert found.judgings == {"vdeval": 2}
    assert found.unjudged == {"vdeval": Counter({"cannot be reached": 1})}
    assert list(found.lines()) == ["1 of 4 turns: dead", "1 of 2 judgings by vdeval: cannot be reached"]
    assert not found.judged_nothing
    assert failures_of(turns[2:3], {"vdeval": rows[2:4]}).judged_nothing


def test_asking_again_helps_only_what_was_asked_and_has_no_reply() -> None:
    failed = failures_of([turn(0, reason="dead"), turn(1)], {})
    assert asking_helps(failed, kind="evaluate", model="tiny")
    assert not asking_helps(failed, kind="evaluate", model="oracle")
    assert not asking_helps(failed, kind="evaluate", model="answers:file.json")
    assert not asking_helps(failed, kind="judge", model=None)
    unread = failures_of([turn(0)], {"vdeval": [score(0, reason="no rating", replies=("a", "b"))]})
    assert not asking_helps(unread, kind="judge", model=None)
    assert asking_helps(failures_of([turn(0)], {"vdeval": [score(0, reason="dead")]}), kind="judge", model=None)
    assert not asking_helps(Failures(), kind="evaluate", model="tiny")
