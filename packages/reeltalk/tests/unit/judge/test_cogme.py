"""CogME's profile: points by tag, weighted by the way of thinking."""

import asyncio
from collections.abc import Sequence

import pytest

from reeltalk.judge.choice import ChoiceJudge
from reeltalk.judge.cogme import CogMEJudge
from reeltalk.judge.judge import Judge, JudgeUnit
from reeltalk.judge.match import MatchJudge
from reeltalk.judge.measures import Measure
from reeltalk.metrics.profile import TAGS
from reeltalk.metrics.uncertainty import measure_interval
from reeltalk.schema.answers import AnsweredTurn, AnswerState
from reeltalk.schema.labels import Thinking
from reeltalk.schema.scoring import JudgedScore

RIGHT, WRONG = "B", "A"


def turn(
    text: str,
    thinking: tuple[str, ...],
    *,
    target: tuple[str, ...] = ("Character",),
    content: tuple[str, ...] = (),
    index: int = 0,
    state: AnswerState = AnswerState.ANSWERED,
) -> AnsweredTurn:
    labels = {"cogme.target": target, "cogme.content": content, "cogme.thinking": thinking}
    return AnsweredTurn(
        model="m",
        item_id=f"i{index}",
        video_id="v",
        unit_id="u",
        turn_index=index,
        question="Who is it?",
        references=("The driver.",),
        text=text,
        state=state,
        options=("The cook.", "The driver."),
        correct_option=1,
        labels={vocabulary: given for vocabulary, given in labels.items() if given},
    )


def unit(*turns: AnsweredTurn, name: str = "u", video: str = "v") -> JudgeUnit:
    return JudgeUnit("m", "dialogue", name, video, turns)


def measured(judge: CogMEJudge, units: Sequence[JudgeUnit]) -> dict[str, Measure]:
    rows = [row for of in units for row in asyncio.run(judge.judge(of, None))]
    return {measure.name: measure for measure in judge.measures(units, rows)}


def test_a_tag_without_questions_has_no_value_and_is_not_zero() -> None:
    found = measured(CogMEJudge(), [unit(turn(WRONG, ("Recall",), target=("Place",)))])
    assert found["cogme.Place"].value == 0
    assert found["cogme.Emotion"].value is None
    assert len(TAGS) == len(set(TAGS)) == 19


def test_a_tag_that_stands_twice_or_is_unknown_changes_nothing() -> None:
    found = measured(CogMEJudge(), [unit(turn(RIGHT, ("Recall",), target=("Event", "Event", "Weather")))])
    assert (found["cogme.Event"].value, found["cogme.Event"].n) == (100, 1)
    assert "cogme.Weather" not in found


@pytest.mark.parametrize("correctness", [None, ChoiceJudge()])
def test_a_wrong_reasoning_weighs_three_times_a_right_recall(correctness: Judge | None) -> None:
    of = unit(
        turn(RIGHT, ("Recall",)),
        turn(WRONG, ("Reasoning",), content=("Causality",), index=1),
        turn(RIGHT, ("Grasping",), target=("Place",), index=2),
    )
    found = measured(CogMEJudge(correctness), [of])
    assert next(iter(found)) == "cogme"
    assert found["cogme"].value == pytest.approx(200 / 3)
    rest = {"Causality": 0, "Place": 100, "Recall": 100, "Reasoning": 0, "Grasping": 100}
    for part, expected in (("", {"Character": 25, **rest}), ("unweighted.", {"Character": 50, **rest})):
        values = {tag: found[f"cogme.{part}{tag}"].value for tag in TAGS}
        assert {tag: value for tag, value in values.items() if value is not None} == pytest.approx(expected)


def test_turns_without_a_way_of_thinking_do_not_count_and_of_several_the_highest_does() -> None:
    of = unit(
        turn(RIGHT, ()),
        turn(RIGHT, ("Recall", "Reasoning"), index=1),
        turn(WRONG, ("Recall",), index=2),
        turn(RIGHT, ("Recall",), index=3, state=AnswerState.NOT_ASKED),
    )
    found = measured(CogMEJudge(), [of])
    assert found["cogme.Character"].value == pytest.approx(75)
    assert found["cogme"].n == 2


def test_a_turn_that_was_not_scored_is_counted_and_left_out() -> None:
    of = unit(turn(RIGHT, ("Recall",)), turn(RIGHT, ("Reasoning",), index=1, state=AnswerState.FAILED))
    found = measured(CogMEJudge(), [of])
    assert (found["cogme.Character"].value, found["cogme.Character"].n, found["cogme.Character"].unscored) == (
        100,
        1,
        1,
    )
    assert (found["cogme.Reasoning"].value, found["cogme.Reasoning"].unscored) == (None, 1)


def test_a_weighted_tag_has_an_interval_clustered_by_video() -> None:
    units = [
        unit(
            turn(RIGHT if n % 3 else WRONG, ((Thinking.RECALL, Thinking.REASONING)[n % 2].value,)),
            name=f"u{n}",
            video=f"v{n}",
        )
        for n in range(12)
    ]
    measure = measured(CogMEJudge(), units)["cogme.Character"]
    found = measure_interval(
        measure.statistics, measure.clusters, measure.from_sums, (0.0, 100.0), weights=measure.weights
    )
    assert measure.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low < measure.value < found.high <= 100


class Rubric(ChoiceJudge):
    """Gives half the credit, twice."""

    async def judge(self, unit: JudgeUnit, model: object) -> list[JudgedScore]:
        rows = await super().judge(unit, None)
        return [row.model_copy(update={"value": 0.5, "sample": sample}) for row in rows for sample in (0, 1)]


def test_another_judge_may_give_the_credit() -> None:
    judge: Judge = Rubric()
    found = measured(CogMEJudge(judge), [unit(turn(RIGHT, ("Recall",)))])
    assert found["cogme.Character"].value == pytest.approx(50)


def test_marks_beyond_one_are_no_credit() -> None:
    of = unit(turn(RIGHT, ("Recall",)))
    rows = [row.model_copy(update={"value": 8.0}) for row in asyncio.run(ChoiceJudge().judge(of, None))]
    with pytest.raises(ValueError, match="within 0 and 1"):
        CogMEJudge().measures([of], rows)


def test_the_signature_says_who_decides_what_is_right() -> None:
    assert CogMEJudge().signature[:2] == (("correctness", "choice"), ("weights", "1-2-3"))
    assert dict(CogMEJudge(MatchJudge(), criterion="match").signature)["correctness"] == "match"
