"""Categories by name agree with the paper's figure."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from sample_graphs import LAMP, read

from reeltalk.cli import run
from reeltalk.language.vocabulary import CATEGORIES
from reeltalk_build.graph.activity import ActivityGraph, named_category
from reeltalk_build.graph.statistics import placements

FIGURE_2A = {
    "Abnormal": 23,
    "BedTimeSleep": 3,
    "EatingDrinking": 11,
    "FoodPreparation": 8,
    "HouseArrangement": 45,
    "HouseCleaning": 13,
    "HygieneStyling": 6,
    "Leisure": 14,
    "Other": 2,
    "PhysicalActivity": 6,
    "SocialInteraction": 1,
    "Work": 5,
}
"""Distinct activities by category, the numbers in the figure's parentheses."""


def test_names_give_the_categories_that_the_paper_counts(released: dict[str, ActivityGraph]) -> None:
    activities = {name.rsplit("_scene", 1)[0] for name in released}
    assert Counter(named_category(name) for name in activities) == FIGURE_2A


@pytest.mark.parametrize(
    ("name", "category"),
    [
        ("Bake_cake1_scene2", "FoodPreparation"),
        ("Wash_dishes2_scene1", "HouseCleaning"),
        ("Wash_face1_scene1", "HygieneStyling"),
        ("Fall_while_cooking1_scene4", "Abnormal"),
        ("Eat_soup_while_watching_television1_scene4", "Leisure"),
        ("Eat_apple", "EatingDrinking"),
        ("Set_up_chairs3_scene1", "HouseArrangement"),
        ("LegOpp1_scene5", "PhysicalActivity"),
        ("Clean_bathroom1_scene1", "HouseCleaning"),
        ("Frobnicate1_scene1", None),
        ("Carpet1_scene1", None),
        ("scene1", None),
        ("", None),
    ],
)
def test_rules_read_whole_words_of_names(name: str, category: str | None) -> None:
    assert named_category(name) == category


def test_categories_of_the_released_graphs_are_said_to_be_by_name(
    scenarios: dict[str, list[ActivityGraph]],
) -> None:
    placed = placements(scenarios.values())
    total = sum(map(len, scenarios.values()))
    assert sum(map(sum, placed.counts.values())) == placed.by_name == total
    assert placed.unknown == 0
    # The paper: HouseArrangement is by far the most frequent.
    assert next(iter(placed.counts)) == "HouseArrangement"
    assert set(placed.counts) == set(CATEGORIES)
    assert f"{total:,} activities are by the words of their names" in placed.source


def test_stated_categories_win_and_unknown_ones_are_counted() -> None:
    lamp = read(LAMP)
    stated, unnamed = replace(lamp, category="Work"), replace(lamp, name="Frobnicate1_scene1", category="frobnicate")
    assert placements([[stated]]).source == ""
    assert placements([[stated]]).counts == {"Work": (1,)}
    both = placements([[stated, unnamed]])
    assert (both.by_name, both.unknown) == (0, 1)
    assert "1 activities are left out" in both.source


@pytest.mark.slow
def test_stats_print_figure_2a_of_the_released(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = shared / "data/vdact"
    map_ = str(data / "derived/scenario_to_activities.json")
    assert run(["report", "--format", "text", str(data / "kg_activity.zip"), "--scenarios", map_]) == 0
    shown = capsys.readouterr().out
    assert "HouseArrangement" in shown
    assert "by the words of their names, since their graphs state none" in shown
