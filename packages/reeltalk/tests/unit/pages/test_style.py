"""Differences at equal style: what a talkative model gains or loses by its words alone."""

from collections.abc import Callable

import numpy as np
import pytest

from reeltalk.analysis.compare_text import render_comparisons
from reeltalk.analysis.comparison import CompareSettings, compare_models
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.style import difference_at_equal_style, style_of
from reeltalk.store.runs import Run


def test_a_style_is_length_markup_and_words_around_the_answer() -> None:
    assert style_of("a whisk")[1:] == (0, 0)
    assert style_of("**a whisk**")[1:] == (1, 0)
    assert style_of("In the video, a whisk.")[1:] == (0, 1)
    assert style_of("<think>It has wires.</think>a whisk") == style_of("a whisk")


def test_a_difference_that_style_alone_makes_vanishes_at_equal_style() -> None:
    draw = np.random.default_rng(1)
    videos = np.repeat(np.arange(30), 8)
    lead = (draw.random(240) < 0.7).astype(float)
    length = draw.normal(0.5, 1, 240)
    styles = np.column_stack([length, np.zeros(240), lead])
    differences = -20 * lead + 3 * length + draw.normal(0, 5, 240)
    found = difference_at_equal_style(differences, styles, videos, bounds=(-100, 100), confidence=0.95)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert differences.mean() < -10
    assert found.low < 0 < found.high
    assert found.high - found.low < 8
    moved = difference_at_equal_style(differences + 7, styles, videos, bounds=(-100, 100), confidence=0.95)
    assert moved is not None
    assert moved.value == pytest.approx(found.value + 7)


def test_the_interval_at_equal_style_covers(full: bool) -> None:
    draw, misses, trials = np.random.default_rng(2), 0, 1000 if full else 200
    videos = np.repeat(np.arange(20), 6)
    for _ in range(trials):
        styles = draw.normal(0.5, 1, (120, 1)) + draw.normal(0, 0.5, (20, 1))[videos]
        differences = 2 + 3 * styles[:, 0] + draw.normal(0, 1, 20)[videos] + draw.normal(0, 2, 120)
        found = difference_at_equal_style(differences, styles, videos, bounds=(None, None), confidence=0.95)
        assert found is not None
        assert found.low is not None
        assert found.high is not None
        misses += not found.low <= 2 <= found.high
    assert misses / trials <= (0.08 if full else 0.1)


def test_without_a_difference_in_style_or_with_few_turns_there_is_none() -> None:
    videos = np.arange(40) % 10
    assert (
        difference_at_equal_style(np.ones(40), np.zeros((40, 3)), videos, bounds=(None, None), confidence=0.95) is None
    )
    few = np.random.default_rng(3).random((12, 3))
    assert difference_at_equal_style(few[:, 0], few, videos[:12], bounds=(None, None), confidence=0.95) is None


def test_compare_gives_it_beside_the_plain_difference(make_paired_run: Callable[..., Run]) -> None:
    draw = np.random.default_rng(4)
    items = [f"d{v}/{t:02d}" for v in range(12) for t in range(1, 6)]
    long = {item: draw.random() < 0.5 for item in items}
    scores = {
        "plain": {item: (item.split("/")[0], {"match": float(50 + draw.normal())}) for item in items},
        "talks": {item: (item.split("/")[0], {"match": float(50 - 20 * long[item] + draw.normal())}) for item in items},
    }
    texts = {("talks", item): "In the video, a man" for item in items if long[item]}
    board = build_leaderboard([make_paired_run(scores, texts=texts)])
    (row,) = compare_models(board, CompareSettings(style=True)).rows
    assert row.difference is not None
    assert row.difference > 7
    assert row.styled is not None
    assert abs(row.styled.value) < 1
    assert "at equal style (length, markup, words around the answer): " in render_comparisons(
        compare_models(board, CompareSettings(style=True)), "text"
    )
    assert compare_models(board, CompareSettings()).rows[0].styled is None
