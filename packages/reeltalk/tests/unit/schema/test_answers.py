"""What became of a turn: one of five outcomes, by which every count of a run is made."""

import pytest

from reeltalk.schema.answers import NOT_IN_SOURCE, SAYS_NONE, AnsweredTurn, AnswerState, turn_counts
from reeltalk.schema.runs import ModelInfo

STATES = AnswerState
CASES = [
    ("A cup.", STATES.ANSWERED, None, "answered"),
    ("", STATES.ANSWERED, None, "empty"),
    (" \n", STATES.ANSWERED, None, "empty"),
    ("", STATES.FAILED, "status 500", "failed"),
    ("", STATES.FAILED, None, "failed"),
    ("[ERROR] x", STATES.FAILED, "[ERROR] x", "failed"),
    ("", STATES.FAILED, NOT_IN_SOURCE, "missing"),
    ("", STATES.FAILED, SAYS_NONE, "missing"),
    ("", STATES.NOT_ASKED, None, "not_due"),
    ("A cup.", STATES.NOT_SCORED, None, "not_due"),
    ("", STATES.NOT_SCORED, "status 500", "not_due"),
]


def turn(text: str, state: AnswerState, reason: str | None) -> AnsweredTurn:
    return AnsweredTurn(
        model="m", item_id="d/01", video_id="v", unit_id="d", turn_index=0, question="What?", references=("A cup.",),
        text=text, state=state, reason=reason,
    )  # fmt: skip


@pytest.mark.parametrize(("text", "state", "reason", "outcome"), CASES)
def test_a_turn_has_one_outcome(text: str, state: AnswerState, reason: str | None, outcome: str) -> None:
    assert turn(text, state, reason).outcome == outcome


def test_a_ledger_counts_every_turn_once() -> None:
    counts = turn_counts(turn(text, state, reason) for text, state, reason, _ in CASES)
    assert counts == {"answered": 1, "empty": 2, "failed": 3, "missing": 2, "not_due": 3}
    info = ModelInfo(model="m", source="s", sha256="0", rows=11, items=3, turns=counts)
    assert (info.due, info.without_answer) == (8, 5)
    older = ModelInfo(model="m", source="s", sha256="0", rows=3, items=3)
    assert (older.due, older.turns) == (0, {})
