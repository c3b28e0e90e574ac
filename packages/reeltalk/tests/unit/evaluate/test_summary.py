"""A run's tables: values with intervals and signatures, groups, curves, and each turn's scores."""

from typing import Any

import pytest

from reeltalk import __version__
from reeltalk.evaluation.tables import Tables, add_summary
from reeltalk.judge.measures import MeanItem, mean_measure, mean_of_means
from reeltalk.metrics.uncertainty import INTERVAL


def tables_of(*measures: Any, signed: tuple[tuple[str, str], ...] = (("judge", "j"),), **more: Any) -> Tables:
    tables = Tables()
    options: dict[str, Any] = {"subject": "bench.dialogue"} | more
    add_summary("m", measures, signed=signed, tables=tables, **options)
    return tables


def entry(video: str, value: float | None, number: int = 0, **groups: str) -> MeanItem:
    return MeanItem(video, value, f"{video}/{number}", groups={by: (name,) for by, name in groups.items()})


def two_videos(*, unscored: int = 0, scored: int = 10) -> list[MeanItem]:
    found = [entry(f"v{n % 2}", float(n % 3), n) for n in range(scored)]
    return found + [entry("v0", None, 100 + n) for n in range(unscored)]


class TestSummary:
    def test_a_value_has_its_count_and_an_interval_around_it(self) -> None:
        [row] = tables_of(
            mean_measure("m1", [entry(v, n) for v, n in zip("vwxy", (1.0, 3.0, 2.0, 2.0), strict=True)])
        ).summary
        assert (row.model, row.metric, row.value, row.n, row.unscored) == ("m", "m1", 2.0, 4, 0)
        assert row.low is not None
        assert row.high is not None
        assert row.low < 2.0 < row.high
        assert row.videos == 4

    def test_one_video_has_no_interval(self) -> None:
        [row] = tables_of(mean_measure("m1", [entry("v", 1.0), entry("v", 3.0, 1)])).summary
        assert (row.value, row.low, row.high) == (2.0, None, None)

    def test_turns_of_one_video_count_together(self) -> None:
        alike = [entry(f"v{n}", float(n % 2), n) for n in range(40)]
        in_four = [entry(f"v{n % 4}", float(n % 2), n) for n in range(40)]
        [many] = tables_of(mean_measure("m1", alike)).summary
        [few] = tables_of(mean_measure("m1", in_four)).summary
        assert many.value == few.value == 0.5
        assert few.low is not None
        assert few.low < 0.0, "four videos say little"
        assert many.low is not None
        assert many.low > 0.2

    def test_above_two_percent_unscored_the_value_is_withheld_and_shown_beside(self) -> None:
        [row] = tables_of(mean_measure("m1", two_videos(unscored=1, scored=48))).summary
        assert (row.value, row.low, row.high) == (None, None, None)
        assert row.over_scored == 1.0
        assert (row.n, row.unscored) == (48, 1)

    def test_up_to_two_percent_it_stands_and_says_so(self) -> None:
        [row] = tables_of(mean_measure("m1", two_videos(unscored=1, scored=49))).summary
        assert row.value is not None
        assert row.over_scored is None
        assert (row.n, row.unscored) == (49, 1)

    def test_where_nothing_could_be_scored_the_row_says_how_much(self) -> None:
        [row] = tables_of(mean_measure("m1", [entry("v", None), entry("w", None)])).summary
        assert (row.value, row.over_scored, row.n, row.unscored) == (None, None, 0, 2)

    def test_what_does_not_apply_is_counted_apart(self) -> None:
        [row] = tables_of(mean_measure("m1", [entry("v", 1.0), MeanItem("w", None, applies=False)])).summary
        assert (row.value, row.n, row.unscored, row.not_applicable) == (1.0, 1, 0, 1)

    def test_a_number_over_nothing_has_no_row(self) -> None:
        tables = tables_of(mean_measure("m1", []), mean_measure("m2", [entry("v", 1.0)]))
        assert [row.metric for row in tables.summary] == tables.metrics == ["m2"]

    def test_the_interval_is_never_of_zero_width_and_stays_on_the_scale(self) -> None:
        [row] = tables_of(mean_measure("match", [entry(f"v{n}", 1.0, n) for n in range(6)], scale=100.0)).summary
        assert (row.value, row.high, row.videos) == (100.0, 100.0, 6)
        assert row.low is not None
        assert row.low < 80

    def test_a_metric_of_two_models_is_listed_once(self) -> None:
        tables = Tables()
        for model in ("m", "n"):
            add_summary(model, [mean_measure("m1", two_videos())], subject="s", signed=(), tables=tables)
        assert tables.metrics == ["m1"]
        assert [row.model for row in tables.summary] == ["m", "n"]
        assert list(tables.items.scores([("m", "v1/1", 0), ("n", "v1/1", 0)])) == [{"m1": 1.0}] * 2


class TestSignature:
    def test_it_says_how_answers_came_about_and_what_tells_the_number_from_others(self) -> None:
        measure = mean_measure("m1", two_videos(), signature=(("mode", "compat"),))
        [row] = tables_of(measure, signed=(("data", "12345678"), ("judge", "j"))).summary
        assert row.signature == (
            f"bench.dialogue|data:12345678|judge:j|metric:m1|mode:compat|ci:{INTERVAL}|v:{__version__}"
        )


class TestGroups:
    def test_each_group_has_a_row_in_order(self) -> None:
        found = [
            entry("v", 1.0, 0, question_type="LOC", turns="10"),
            entry("w", 0.0, 1, question_type="ACT", turns="9"),
            entry("w", None, 2, question_type="ACT", turns="9"),
        ]
        tables = tables_of(mean_measure("m1", found, by=("question_type", "turns"), scale=100))
        assert [(row.by, row.group, row.value, row.n, row.unscored) for row in tables.groups] == [
            ("question_type", "ACT", None, 1, 1),
            ("question_type", "LOC", 100.0, 1, 0),
            # Numbers as numbers.
            ("turns", "9", None, 1, 1),
            ("turns", "10", 100.0, 1, 0),
        ]

    def test_a_group_of_one_video_has_no_interval(self) -> None:
        found = [entry(video, float(n), n, task="both") for n, video in enumerate("vwxy")]
        found.append(entry("v", 1.0, 9, task="one"))
        rows = {row.group: row for row in tables_of(mean_measure("m1", found, by=("task",))).groups}
        assert rows["one"].low is None
        assert rows["both"].low is not None

    def test_a_group_of_which_nothing_is_scored_keeps_its_row(self) -> None:
        found = [entry("v", 1.0, 0, task="a"), entry("v", None, 1, task="b")]
        rows = {row.group: row for row in tables_of(mean_measure("m1", found, by=("task",))).groups}
        assert (rows["b"].value, rows["b"].n, rows["b"].unscored) == (None, 0, 1)

    def test_only_what_is_asked_for_is_broken_down(self) -> None:
        assert not tables_of(mean_measure("m1", [entry("v", 1.0, task="a")])).groups


VIDEOS = (("v", 0.0), ("w", 1.0), ("x", 0.0), ("y", 1.0))


class TestCurves:
    def test_turns_become_points_in_order_from_zero(self) -> None:
        found = [entry(video, float(n) + more, n, turn=str(n + 1)) for n in range(12) for video, more in VIDEOS]
        tables = tables_of(mean_measure("m1", found, by=("turn",)))
        assert [(point.turn_index, point.value, point.n) for point in tables.curves] == [
            (n, n + 0.5, 4) for n in range(12)
        ]
        assert not tables.groups
        assert tables.curves[0].low is not None

    def test_a_position_without_a_score_has_no_point(self) -> None:
        found = [entry("v", 1.0, 0, turn="1"), entry("v", None, 1, turn="2")]
        tables = tables_of(mean_measure("m1", found, by=("turn",)))
        assert [point.turn_index for point in tables.curves] == [0]


class TestItems:
    def test_every_scored_turn_has_its_value(self) -> None:
        found = [entry("v", 3.0), entry("w", None), MeanItem("x", 1.0), MeanItem("y", 2.0, "y/0", applies=False)]
        tables = tables_of(mean_measure("m1", found, scale=0.5, offset=-0.5))
        items = [("m", "v/0", 0), ("m", "w/0", 0), ("m", "y/0", 0), ("n", "v/0", 0)]
        assert list(tables.items.scores(items)) == [{"m1": 1.0}, {}, {}, {}]

    def test_several_numbers_stand_beside_each_other(self) -> None:
        found = [entry("v", 1.0), entry("w", 2.0)]
        tables = tables_of(mean_measure("m1", found), mean_of_means("m2", {"a": found[:1], "b": found[1:]}, scale=10))
        assert next(tables.items.scores([("m", "v/0", 0)])) == {"m1": 1.0, "m2": 10.0}

    def test_the_first_of_several_values_of_a_turn_is_kept(self) -> None:
        tables = tables_of(mean_measure("m1", [entry("v", 1.0), entry("v", 5.0)]))
        assert next(tables.items.scores([("m", "v/0", 0)])) == {"m1": 1.0}


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_where_all_values_are_at_one_end_the_interval_is_one_sided_and_not_a_point(value: float) -> None:
    found = [entry(f"v{n}", value) for n in range(6)]
    [row] = tables_of(mean_measure("match", found, scale=100.0)).summary
    assert row.low is not None
    assert row.high is not None
    assert row.high - row.low > 10
    assert (row.low if value == 0 else row.high) == row.value
    [unknown] = tables_of(mean_measure("of-no-protocol", found)).summary
    assert (unknown.low, unknown.high) == (None, None), "without a scale nothing can be said"
