"""What errors do to the turns after them."""

from typing import Any

import pytest

from reeltalk.judge.judge import JudgeUnit
from reeltalk.judge.measures import Measure
from reeltalk.judge.turns import cascade
from reeltalk.schema.answers import AnsweredTurn, PlayDetails


def unit(name: str, count: int, *, corrupted: int | None = None, video: str = "v") -> JudgeUnit:
    turns = tuple(
        AnsweredTurn(
            model="m",
            item_id=f"{name}/{n}",
            video_id=video,
            unit_id=name,
            turn_index=n,
            question="?",
            references=("r",),
            text="a",
            played=PlayDetails(corrupted=n == corrupted),
        )
        for n in range(count)
    )
    return JudgeUnit("m", "dialogue", name, video, turns)


def found(*scored: tuple[JudgeUnit, list[float | None]]) -> dict[str, Measure]:
    values: dict[str, Any] = {
        turn.item_id: value
        for of, given in scored
        for turn, value in zip(of.turns, given, strict=True)
        if value is not None
    }
    return {measure.name: measure for measure in cascade([([of for of, _ in scored], values.get)], "agree")}


def test_units_without_an_error_say_that_their_first_error_comes_later() -> None:
    measures = found((unit("a", 3), [1, 1, 0]), (unit("b", 3), [0, 0, 1]), (unit("c", 2), [1, 1]))
    # Of three units two pass the first turn, both the second, and the one that is left not the third.
    assert measures["agree.first_error"].value == pytest.approx(4 / 3)
    assert measures["agree.first_error"].n == 3


def test_the_best_model_is_not_judged_by_its_worst_dialogues() -> None:
    def first_error(others: list[float | None]) -> Measure:
        return found((unit("worst", 4), [0, 1, 1, 1]), *((unit(f"d{n}", 4), others) for n in range(9)))[
            "agree.first_error"
        ]

    best, poor = first_error([1, 1, 1, 1]), first_error([1, 0, 0, 0])
    assert best.value == pytest.approx(3.6)
    assert poor.value == pytest.approx(0.9)


def test_a_turn_without_a_value_ends_what_a_unit_says_of_its_first_error() -> None:
    measures = found((unit("a", 3), [1, None, 0]), (unit("b", 3), [1, 1, 0]), (unit("c", 3), [None, 1, 1]))
    assert (measures["agree.first_error"].value, measures["agree.first_error"].n) == (2.0, 2)


def test_recovery_is_the_share_of_right_answers_after_a_wrong_one() -> None:
    measures = found((unit("a", 5), [0, 1, 0, 0, 1]))
    assert (measures["agree.recovery"].value, measures["agree.recovery"].n) == (200 / 3, 3)
    assert (measures["agree.after_right"].value, measures["agree.after_right"].n) == (0.0, 1)


def test_units_do_not_follow_each_other() -> None:
    measures = found((unit("a", 1), [0]), (unit("b", 1), [1]))
    assert measures["agree.recovery"].n == measures["agree.after_right"].n == 0


def test_a_turn_without_a_value_breaks_the_sequence() -> None:
    measures = found((unit("a", 4), [0, None, 1, 1]))
    assert measures["agree.recovery"].n == 0
    assert (measures["agree.after_right"].value, measures["agree.after_right"].n) == (100.0, 1)


def test_what_follows_a_planted_answer_is_told_apart() -> None:
    # The turn before was right in itself, but what was told of it was not.
    measures = found((unit("a", 3, corrupted=0), [1, 0, 1]), (unit("b", 3, corrupted=0), [0, 1, 1]))
    assert (measures["agree.after_corrupted"].value, measures["agree.after_corrupted"].n) == (50.0, 2)
    assert measures["agree.recovery"].n == 1
    assert measures["agree.after_right"].n == 1


def test_a_half_is_not_right() -> None:
    measures = found((unit("a", 2), [0.5, 0.51]))
    assert measures["agree.first_error"].value == 0.0
    assert measures["agree.recovery"].value == 100.0


def test_without_errors_there_is_nothing_to_recover_from() -> None:
    measures = found((unit("a", 3), [1, 1, 1]))
    assert measures["agree.first_error"].value == 3.0
    assert measures["agree.recovery"].value is None
    assert measures["agree.after_right"].value == 100.0


def test_videos_are_known_for_resampling() -> None:
    measures = found((unit("a", 2, video="v"), [0, 1]), (unit("b", 2, video="w"), [0, 0]))
    assert sorted(measures["agree.recovery"].clusters) == ["v", "w"]
