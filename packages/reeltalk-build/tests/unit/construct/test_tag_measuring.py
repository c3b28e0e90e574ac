"""Proposed tags beside reference tags: values by hand, and what is undefined."""

import numpy as np
import pytest

from reeltalk.metrics.draws import draw_videos
from reeltalk_build.construct.tagging.measuring import tag_agreement

VIDEOS = tuple(f"v{number // 4}" for number in range(40))
DRAWS = draw_videos(VIDEOS, resamples=200, seed=17)


def flags(*counts: tuple[int, bool]) -> np.ndarray:
    return np.array([value for count, value in counts for _ in range(count)], dtype=bool)


def test_one_tag_by_hand() -> None:
    # 12 both, 4 reference only, 2 proposed only, 22 neither.
    reference = flags((16, True), (24, False))
    proposed = flags((12, True), (4, False), (2, True), (22, False))
    found = tag_agreement(reference, proposed, DRAWS)
    assert (found.reference, found.proposed) == (16, 14)
    assert found.precision.value == pytest.approx(12 / 14)
    assert found.recall.value == pytest.approx(12 / 16)
    chance = 0.4 * 0.35 + 0.6 * 0.65
    assert found.kappa.value == pytest.approx((0.85 - chance) / (1 - chance))
    for value in (found.precision, found.recall, found.kappa):
        assert value.low is not None
        assert value.value is not None
        assert value.high is not None
        assert value.low <= value.value <= value.high


def test_what_is_undefined_is_not_zero() -> None:
    nothing, some = flags((40, False)), flags((5, True), (35, False))
    unused = tag_agreement(nothing, nothing, DRAWS)
    assert [v.value for v in (unused.precision, unused.recall, unused.kappa)] == [None] * 3
    missed = tag_agreement(some, nothing, DRAWS)
    assert missed.precision.value is None
    assert missed.recall.value == 0
    assert missed.kappa.value == 0
    assert missed.precision.reason == "it was proposed for no turn"
    one_video = tag_agreement(some, some, draw_videos(("v",) * 40, resamples=200, seed=17))
    assert one_video.kappa.value == 1
    assert one_video.kappa.low is None
