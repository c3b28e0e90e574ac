"""From scores to numbers: what counts, what does not, and when a number is not quoted."""

import math

import numpy as np
import pytest

from reeltalk.judge.measures import MeanItem, Measure, group_measure, mean_measure, mean_of_means
from reeltalk.schema.runs import MOST_UNSCORED


def entries(*values: float | None, video: str = "v") -> list[MeanItem]:
    return [MeanItem(video, value, f"i{n}") for n, value in enumerate(values)]


def whole(measure: Measure) -> float:
    """The value as resampling computes it, over every item once."""
    sums = measure.statistics.sum(axis=0, keepdims=True)
    return float(measure.from_sums(sums, np.array([float(len(measure.statistics))]))[0])


def test_a_mean_is_over_what_was_scored() -> None:
    measure = mean_measure("m", entries(1, 2, None, 6))
    assert (measure.value, measure.n, measure.unscored, measure.not_applicable) == (3.0, 3, 1, 0)
    assert measure.clusters == ["v"] * 3


def test_scale_and_offset_apply_to_each_value() -> None:
    measure = mean_measure("percentile", entries(1, 3), scale=0.5, offset=-0.5)
    assert measure.value == 0.5
    assert whole(measure) == 0.5
    assert [row[0] for row in measure.statistics] == [0.0, 1.0]


def test_what_does_not_apply_is_neither_scored_nor_unscored() -> None:
    measure = mean_measure(
        "m", [MeanItem("v", 4), MeanItem("v", None, applies=False), MeanItem("v", 99, applies=False)]
    )
    assert (measure.value, measure.n, measure.unscored, measure.not_applicable) == (4.0, 1, 0, 2)


@pytest.mark.parametrize("found", [[], entries(None, None), [MeanItem("v", None, applies=False)]])
def test_where_nothing_was_scored_there_is_no_value(found: list[MeanItem]) -> None:
    measure = mean_measure("m", found)
    assert (measure.value, measure.n) == (None, 0)
    assert measure.statistics.shape == (0, 1)


def test_zero_is_a_score() -> None:
    measure = mean_measure("m", entries(0, 0))
    assert (measure.value, measure.n, measure.unscored) == (0.0, 2, 0)


@pytest.mark.parametrize(
    ("scored", "unscored", "withheld"),
    [(49, 1, False), (48, 1, True), (98, 2, False), (97, 3, True), (0, 1, True), (1, 0, False), (0, 0, False)],
)
def test_a_number_is_withheld_above_two_percent_unscored(scored: int, unscored: int, withheld: bool) -> None:
    measure = mean_measure("m", entries(*[1.0] * scored, *[None] * unscored))
    assert measure.withheld is withheld
    if scored + unscored:
        assert (unscored / (scored + unscored) > MOST_UNSCORED) is withheld


def test_what_does_not_apply_withholds_nothing() -> None:
    measure = mean_measure("m", [*entries(1.0), *[MeanItem("v", None, applies=False)] * 50])
    assert not measure.withheld


def test_groups_are_averaged_first_and_count_the_same() -> None:
    found = [
        MeanItem("v", 0, mean_of="round 1"),
        MeanItem("v", 1, mean_of="round 1"),
        MeanItem("v", 1, mean_of="round 2"),
    ]
    measure = mean_measure("m", found)
    assert measure.value == 0.75
    assert measure.n == 3
    assert len(measure.statistics) == 2
    assert whole(measure) == 0.75


def test_groups_of_one_name_in_two_videos_stay_apart() -> None:
    found = [MeanItem("v", 0, mean_of="g"), MeanItem("w", 1, mean_of="g"), MeanItem("w", 1, mean_of="g")]
    measure = mean_measure("m", found)
    assert measure.value == 0.5
    assert sorted(measure.clusters) == ["v", "w"]


def test_a_group_of_which_all_are_unscored_does_not_count() -> None:
    found = [MeanItem("v", 1, mean_of="a"), MeanItem("v", None, mean_of="b")]
    measure = mean_measure("m", found)
    assert (measure.value, measure.n, measure.unscored) == (1.0, 1, 1)


class TestMeanOfGroups:
    def test_parts_count_the_same_however_many_items_they_have(self) -> None:
        measure = mean_of_means("all", {"a": entries(0, 0, 0, 0), "b": entries(1)}, scale=100)
        assert measure.value == 50.0
        assert whole(measure) == 50.0
        assert (measure.n, len(measure.entries)) == (5, 5)

    def test_a_part_without_a_value_is_left_out_of_the_mean_and_counted(self) -> None:
        measure = mean_of_means("all", {"a": entries(0.5), "b": entries(None), "c": []})
        assert (measure.value, measure.unscored) == (0.5, 1)
        assert measure.withheld

    def test_without_any_value_there_is_none(self) -> None:
        assert mean_of_means("all", {"a": entries(None), "b": []}).value is None

    def test_a_resample_without_a_part_is_a_mean_of_the_others(self) -> None:
        measure = mean_of_means("all", {"a": entries(1.0, video="v"), "b": entries(3.0, video="w")})
        only_b = measure.statistics[1:].sum(axis=0, keepdims=True)
        assert measure.from_sums(only_b, np.array([1.0]))[0] == 3.0


class TestGrouped:
    FOUND = (
        MeanItem("v", 1.0, groups={"turn": ("1",), "type": ("LOC", "ACT")}),
        MeanItem("v", 0.0, groups={"turn": ("2",), "type": ("ACT",)}),
        MeanItem("w", None, groups={"turn": ("2",), "type": ()}),
    )

    def test_each_group_is_the_same_number_over_its_items(self) -> None:
        measure = mean_measure("m", self.FOUND, scale=100)
        by_turn = group_measure(measure, "turn")
        assert {name: (part.value, part.n, part.unscored) for name, part in by_turn.items()} == {
            "1": (100.0, 1, 0),
            "2": (0.0, 1, 1),
        }

    def test_an_item_may_stand_in_several_groups(self) -> None:
        by_type = group_measure(mean_measure("m", self.FOUND), "type")
        assert {name: part.value for name, part in by_type.items()} == {"LOC": 1.0, "ACT": 0.5}

    def test_there_may_be_no_such_groups(self) -> None:
        assert group_measure(mean_measure("m", self.FOUND), "task") == {}


def test_sums_over_all_items_give_the_value() -> None:
    generator = np.random.default_rng(3)
    values = [float(value) for value in generator.normal(size=200)]
    measure = mean_measure("m", [MeanItem(f"v{n % 7}", value) for n, value in enumerate(values)], scale=3, offset=1)
    assert math.isclose(whole(measure), 3 * sum(values) / 200 + 1, rel_tol=1e-12)
    assert measure.value == pytest.approx(whole(measure), abs=1e-12)
