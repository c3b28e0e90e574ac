"""Proposed tags beside reference tags: values by hand, what is undefined, calibration, and what review brings."""

import numpy as np
import pytest

from reeltalk.metrics.draws import draw_videos
from reeltalk_build.metrics.tag_agreement import (
    brier_score,
    jaccard,
    mean_kappa,
    mean_statistic,
    reliability_bins,
    review_curve,
    tag_agreement,
)

VIDEOS = tuple(f"v{number // 4}" for number in range(40))
DRAWS = draw_videos(VIDEOS, resamples=200, seed=17)


def flags(*counts: tuple[int, bool]) -> np.ndarray:
    return np.array([value for count, value in counts for _ in range(count)], dtype=bool)


def test_one_tag_by_hand() -> None:
    # 12 both, 4 reference only, 2 proposed only, 22 neither.
    reference = flags((16, True), (24, False))
    proposed = flags((12, True), (4, False), (2, True), (22, False))
    found = tag_agreement(reference, proposed, DRAWS)
    assert (found.turns, found.reference, found.proposed) == (40, 16, 14)
    assert found.precision.value == pytest.approx(12 / 14)
    assert found.recall.value == pytest.approx(12 / 16)
    chance = 0.4 * 0.35 + 0.6 * 0.65
    assert found.kappa.value == pytest.approx((0.85 - chance) / (1 - chance))
    assert found.alpha.value == pytest.approx(1 - 79 * 12 / (2 * 30 * 50))
    for value in (found.precision, found.recall, found.kappa, found.alpha):
        assert value.low is not None
        assert value.value is not None
        assert value.high is not None
        assert value.low <= value.value <= value.high


def test_what_is_undefined_is_not_zero() -> None:
    nothing, some = flags((40, False)), flags((5, True), (35, False))
    unused = tag_agreement(nothing, nothing, DRAWS)
    assert [v.value for v in (unused.precision, unused.recall, unused.kappa, unused.alpha)] == [None] * 4
    missed = tag_agreement(some, nothing, DRAWS)
    assert missed.precision.value is None
    assert missed.recall.value == 0
    assert missed.kappa.value == 0
    assert missed.precision.reason == "it was proposed for no turn"
    one_video = tag_agreement(some, some, draw_videos(("v",) * 40, resamples=200, seed=17))
    assert one_video.kappa.value == 1
    assert one_video.kappa.low is None


def test_the_mean_kappa_leaves_out_tags_that_the_reference_lacks() -> None:
    reference = np.stack([flags((20, True), (20, False)), flags((40, False)), flags((40, True))], axis=1)
    proposed = np.stack([flags((20, True), (20, False)), flags((1, True), (39, False)), flags((40, True))], axis=1)
    assert mean_kappa(reference, proposed) == 1
    assert mean_kappa(reference[:, 1:], proposed[:, 1:]) is None


def test_sets_are_compared_by_what_they_share() -> None:
    reference = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 0]], dtype=bool)
    proposed = np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)
    assert jaccard(reference, proposed).tolist() == pytest.approx([1 / 3, 1, 1])
    assert mean_statistic(np.array([0.0, 1.0] * 20), DRAWS).value == 0.5


def test_probabilities_that_are_right_as_often_as_they_say_are_seen_to_be() -> None:
    draw = np.random.default_rng(5)
    said = draw.random((4000, 3))
    found = draw.random((4000, 3)) < said
    assert brier_score(found, said) == pytest.approx(1 / 6, abs=0.02)
    bins = reliability_bins(found, said)
    assert sum(part.count for part in bins) == 12_000
    for part in bins:
        assert part.said is not None
        assert part.found == pytest.approx(part.said, abs=0.06)
    sure = reliability_bins(np.array([True, False]), np.array([1.0, 0.0]))
    assert (sure[-1].count, sure[-1].found, sure[0].count, sure[0].found) == (1, 1.0, 1, 0.0)
    assert sure[5].said is None


def test_looking_at_doubtful_turns_first_brings_more_than_at_any() -> None:
    reference = flags((20, True), (20, False))[:, None]
    proposed = reference.copy()
    wrong = [3, 7, 22, 30]
    proposed[wrong] = ~proposed[wrong]
    order = wrong + [place for place in range(40) if place not in wrong]
    nothing, some, enough, *_ = review_curve(reference, proposed, order, shares=(0, 0.05, 0.1))
    assert (nothing.turns, nothing.exact, nothing.exact_at_random) == (0, 0.9, 0.9)
    assert (some.turns, some.exact) == (2, 0.95)
    assert some.exact > some.exact_at_random == pytest.approx(0.905)
    assert (enough.exact, enough.kappa) == (1, 1)
