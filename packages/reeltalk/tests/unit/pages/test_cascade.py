"""What is right after right and wrong answers, and since the first wrong one."""

from collections.abc import Callable

import pytest

from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.pages.along import ModelCascade, find_cascades
from reeltalk.store.runs import Run

RunMaker = Callable[..., Run]


def only(run: Run) -> ModelCascade:
    ((model,),) = (one.models for one in find_cascades(build_leaderboard([run])))
    return model


def test_turns_are_split_by_the_answer_before_them(make_played: RunMaker) -> None:
    found = only(make_played("run", {"a": [100, 0, 100, 100], "b": [0, 0, 100]}))
    assert found.after_right is not None
    assert found.after_wrong is not None
    assert found.difference is not None
    assert (found.after_right.value, found.after_right.n) == (50.0, 2)
    assert found.after_wrong.value == pytest.approx(200 / 3)
    assert found.after_wrong.n == 3
    assert found.difference.value == pytest.approx(50 - 200 / 3)


def test_distance_is_counted_from_the_first_wrong_answer_only(make_played: RunMaker) -> None:
    found = only(make_played("run", {"a": [100, 0, 100, 0, 100], "b": [100, 100]}))
    assert [(distance, mean.value) for distance, mean in found.since_error] == [(1, 100.0), (2, 0.0), (3, 100.0)]
    # The second turn of a, which is the first wrong one itself, and that of b.
    assert found.no_error_yet is not None
    assert (found.no_error_yet.value, found.no_error_yet.n) == (50.0, 2)


def test_a_turn_without_a_score_is_neither_right_nor_wrong(make_played: RunMaker) -> None:
    found = only(make_played("run", {"a": [100, None, 100, 100]}))
    assert found.after_right is not None
    assert found.after_right.n == 1
    assert found.after_wrong is None
    assert found.difference is None


def test_a_planted_answer_is_not_the_models(make_played: RunMaker) -> None:
    found = only(make_played("run", {"a": [0, 0, 100], "b": [100, 100]}, planted=["a/01"]))
    assert found.after_wrong is not None
    assert (found.after_wrong.value, found.after_wrong.n) == (100.0, 1)
    assert found.since_error == ()


def test_who_knows_nothing_and_runs_without_right_and_wrong_have_none(
    make_played: RunMaker, make_run: RunMaker
) -> None:
    assert find_cascades(build_leaderboard([make_run()])) == []
    empty = make_played("null", {"a": [0, 0]}, model="empty", source="baseline:empty")
    assert find_cascades(build_leaderboard([empty])) == []


def test_half_a_credit_is_not_right(make_played: RunMaker) -> None:
    found = only(make_played("run", {"a": [50, 100], "b": [51, 0]}))
    assert found.after_wrong is not None
    assert found.after_right is not None
    assert (found.after_wrong.value, found.after_right.value) == (100.0, 0.0)
