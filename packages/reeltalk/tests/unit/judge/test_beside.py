"""Answers that try a judge, put beside a model's."""

from pathlib import Path

import pytest

from reeltalk.cli import run as command
from reeltalk.errors import SettingError
from reeltalk.judge.reference_checks import REFERENCE_CHECKS, replace_answers
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.record import VideoId
from reeltalk.store.runs import read_run


def turn(
    index: int, *, references: tuple[str, ...] = ("Tea.",), state: AnswerState = AnswerState.ANSWERED
) -> AnsweredTurn:
    return AnsweredTurn(
        model="m", item_id=f"d/{index}", video_id=VideoId("v"), unit_id="d", turn_index=index,
        question="What is in the cup?", references=references, text="Milk.", state=state, repeats=("Again.",),
    )  # fmt: skip


def test_each_says_what_it_is_named_after() -> None:
    assert {name: replace_answers(name, [turn(0)])[0].text for name in REFERENCE_CHECKS} == {
        "reference": "Tea.",
        "yes": "Yes.",
        "copied-question": "What is in the cup?",
    }


def test_the_reference_of_a_choice_is_the_right_option() -> None:
    choice = turn(0).model_copy(update={"options": ("a", "b"), "correct_option": 1})
    assert replace_answers("reference", [choice])[0].text == "b"


def test_failed_turns_are_answered_and_those_not_asked_stay_so() -> None:
    found = replace_answers("yes", [turn(0, state=AnswerState.FAILED), turn(1, state=AnswerState.NOT_ASKED)])
    assert [(one.model, one.state) for one in found] == [
        ("yes", AnswerState.ANSWERED),
        ("yes", AnswerState.NOT_ASKED),
    ]
    assert found[0].repeats == ()
    own = replace_answers("yes", [turn(0, state=AnswerState.NOT_SCORED)])[0]
    assert (own.state, own.text) == (AnswerState.NOT_ASKED, "")


def test_a_turn_without_a_reference_has_no_answer_and_a_reason() -> None:
    found = replace_answers("reference", [turn(0, references=())])[0]
    assert (found.state, found.reason) == (AnswerState.FAILED, "the benchmark holds no reference to this turn")


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(SettingError, match="reference, yes, copied-question"):
        replace_answers("always-no", [turn(0)])


def test_the_command_judges_them_beside_the_models(
    samples: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = sorted((samples / "vdact/results").glob("*.json"))
    arguments = ["judge", str(results[0]), "--format", "vdact", "--protocols", "match", "--metrics", "none"]
    assert command([*arguments, "--beside", "reference,yes", "--out", str(tmp_path / "run")]) in (0, 1)
    found = read_run(tmp_path / "run")
    assert {info.source for info in found.info.models} >= {"baseline:reference", "baseline:yes"}
    values = [row.value for row in found.judged("match") if row.model == "reference" and row.value is not None]
    assert values
    assert set(values) == {1.0}
    assert command([*arguments, "--beside", "perhaps", "--out", str(tmp_path / "other")]) == 2
    assert "reference, yes, copied-question" in capsys.readouterr().err
