"""Answers that exist are judged unit by unit, so that a server reads what models have in common once."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import pytest
from scripted_server import Body, serve, words

from reeltalk.evaluation.models import ModelConfig, create_judges, create_model
from reeltalk.evaluation.run_folder import RunFolder
from reeltalk.evaluation.stage import Evaluation, EvaluationRunner, JudgingSetup
from reeltalk.judge.settings import JudgeSettings
from reeltalk.llm import Endpoint, ReplyStore
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.record import VideoId

MODELS = ("second", "first")
UNITS = (("v2", "d3"), ("v1", "d2"), ("v2", "d1"))
JUDGING = JudgeSettings(protocols=("lave",), null_units=3)


def turn(model: str, video: str, unit: str, index: int, state: AnswerState = AnswerState.ANSWERED) -> AnsweredTurn:
    return AnsweredTurn(
        model=model, item_id=f"{unit}/{index}", video_id=VideoId(video), unit="dialogue", unit_id=unit,
        turn_index=index, question=f"What is {unit} about in turn {index}?", references=(f"A cup of {unit}.",),
        text=f"{model} says {unit}.", state=state,
    )  # fmt: skip


def answers(models: Sequence[str] = MODELS, units: Sequence[tuple[str, str]] = UNITS) -> dict[str, list[AnsweredTurn]]:
    """One model after the other, as they are given."""
    return {
        f"{model} dialogue {unit}": [turn(model, video, unit, index) for index in range(2)]
        for model in models
        for video, unit in units
    }


def rating(body: Body) -> str:
    return f"Because. So rating={1 + len(words(body['messages'][-1])) % 3}"


def judged(
    units: Mapping[str, Sequence[AnsweredTurn]], folder: Path, reply: Callable[[Body], str] = rating, at_a_time: int = 1
) -> tuple[Evaluation, list[str]]:
    """What comes of it, and what the judge was asked, in order."""
    with serve(reply) as server, RunFolder(folder, {}) as made, ReplyStore(made.replies) as store:
        endpoint = Endpoint(model="judge", base_url=server.base_url, backoff_s=0.0)
        judge = create_model("judge", ModelConfig(endpoint, connections=at_a_time, sees_images=False), store, None)
        setup = JudgingSetup(JUDGING, create_judges(JUDGING), judge, judge)
        runner = EvaluationRunner(made.work, setup, None, at_a_time=at_a_time)
        evaluation = runner.judge(units)
        return evaluation, [words(request["messages"][-1]) for request in server.requests]


def test_all_answers_to_a_unit_are_judged_one_after_the_other_and_units_of_a_video_too(tmp_path: Path) -> None:
    _, asked = judged(answers(), tmp_path / "run")
    units = [next(unit for _, unit in UNITS if f"What is {unit} about" in text) for text in asked]
    assert [unit for unit, _ in groupby(units)] == ["d2", "d1", "d3"]
    # Two turns of two models, and two empty answers.
    assert len(asked) == 3 * (2 * 2 + 2)


def test_results_have_the_order_in_which_answers_are_given(tmp_path: Path) -> None:
    given = answers()
    found, _ = judged(given, tmp_path / "run")
    assert list(found.turns) == [turn for turns in given.values() for turn in turns]
    assert [(row.model, row.unit_id, row.turn_index) for row in found.scores["lave"]] == [
        (turn.model, turn.unit_id, turn.turn_index) for turn in found.turns
    ]
    assert [unit.id for unit in found.null["lave"].units] == ["d1", "d2", "d3"]


def test_scores_do_not_depend_on_the_order_in_which_answers_are_given(tmp_path: Path) -> None:
    one, asked = judged(answers(), tmp_path / "one")
    other, asked_other = judged(answers(MODELS[::-1], UNITS[::-1]), tmp_path / "other", at_a_time=4)
    assert sorted(one.scores["lave"], key=repr) == sorted(other.scores["lave"], key=repr)
    assert one.null["lave"].scores == other.null["lave"].scores
    assert sorted(asked) == sorted(asked_other)


@pytest.mark.parametrize("late", MODELS)
def test_empty_answers_are_of_the_first_model_whichever_is_judged_first(tmp_path: Path, late: str) -> None:
    """A turn that is shown and not scored keeps what its model said, so units with empty answers can differ."""
    units = {
        model: [turn(model, "v1", "d1", 0, AnswerState.NOT_SCORED), turn(model, "v1", "d1", 1)] for model in MODELS
    }

    def reply(body: Body) -> str:
        if f"{late} says" in words(body["messages"][-1]):
            time.sleep(0.3)
        return rating(body)

    found, asked = judged(units, tmp_path / "run", reply, at_a_time=2)
    (empty,) = found.null["lave"].units
    assert (empty.model, [turn.text for turn in empty.turns]) == ("empty", [f"{MODELS[0]} says d1.", ""])
    assert len(asked) == 3
