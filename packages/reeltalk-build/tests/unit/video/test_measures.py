"""Numbers about pictures: against the package they come from, or against what they must do."""

import json
from collections.abc import Iterable
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import TESTS

from reeltalk.video.encode import MOST_PICTURES, MOST_THUMBS, USUAL_THUMBS, Thumbnails, centre_square, contact_sheet
from reeltalk_build.video import measure
from reeltalk_build.video.measure import brisque

GOLDEN = TESTS / "golden" / "brisque.json"


def pictures() -> dict[str, np.ndarray[Any, Any]]:
    """Made pictures of six kinds, as `tests/golden/brisque.json` describes."""
    generator = np.random.default_rng(7)
    y, x = np.mgrid[0:180, 0:320]
    found = {}
    for k, noise in enumerate((0.5, 2, 8, 20, 1, 4)):
        base = 128 + 60 * np.sin(x / (5 + 3 * k)) * np.cos(y / (7 + k)) + 30 * np.sin((x + 2 * y) / 23.0)
        picture = np.stack([base, np.roll(base, 17 * k, 1), 255 - base], -1) + generator.normal(0, noise, (180, 320, 3))
        picture = np.clip(picture, 0, 255).astype(np.uint8)
        found[f"made-{k}"] = cv2.GaussianBlur(picture, (9, 9), 3) if k == 4 else picture
    return found


def test_brisque_is_that_of_the_package_whose_regression_it_is() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    for name, picture in pictures().items():
        assert brisque(picture) == pytest.approx(golden["scores"][name], abs=0.01)


def test_brisque_of_nothing_is_none() -> None:
    assert brisque(np.full((90, 160, 3), 77, np.uint8)) is None
    assert brisque(np.zeros((8, 8, 3), np.uint8)) is None


def test_blur_and_blocks_score_worse() -> None:
    clear = pictures()["made-1"]
    blocks: Any = cv2.imdecode(cv2.imencode(".jpg", clear, [cv2.IMWRITE_JPEG_QUALITY, 3])[1], 1)
    scores = [brisque(picture) for picture in (pictures()["made-2"], cv2.GaussianBlur(clear, (15, 15), 5), blocks)]
    assert scores[0] is not None
    assert all(score is not None and score > scores[0] for score in scores[1:])


def test_similarity_is_one_for_equal_pictures_only() -> None:
    one, other = (cv2.cvtColor(pictures()[name], cv2.COLOR_RGB2HSV) for name in ("made-1", "made-3"))
    a, b = measure.histogram(one), measure.histogram(other)
    assert a.shape == (512,)
    assert a.sum() == pytest.approx(1)
    assert measure.correlate_histograms(a, a) == pytest.approx(1)
    assert measure.correlate_histograms(a, b) < 0.99


@given(st.integers(1, 6))
def test_motion_is_measured_in_pixels(shift: int) -> None:
    grey = cv2.GaussianBlur(np.random.default_rng(2).integers(0, 256, (144, 256), dtype=np.uint8), (9, 9), 3)
    moved = np.roll(grey, shift, axis=1)
    assert measure.Motion()(grey, moved) == pytest.approx(shift, abs=0.6)


def test_nothing_moves_in_a_still() -> None:
    grey = pictures()["made-2"][:, :, 0]
    assert measure.Motion()(np.ascontiguousarray(grey), np.ascontiguousarray(grey)) < 0.05


def test_a_hash_survives_another_size_and_tells_pictures_apart() -> None:
    grey = np.ascontiguousarray(pictures()["made-0"][:, :, 0])
    small = cv2.resize(grey, (160, 90), interpolation=cv2.INTER_AREA)
    other = np.ascontiguousarray(pictures()["made-3"][:, :, 0])
    hashes = [int(str(measure.perceptual_hash(picture)), 16) for picture in (grey, small, other)]
    assert (hashes[0] ^ hashes[1]).bit_count() <= 4
    assert (hashes[0] ^ hashes[2]).bit_count() > 12
    assert measure.perceptual_hash(np.full((90, 160), 9, np.uint8)) is None


def thumbs_at(times: Iterable[float]) -> Thumbnails:
    thumbs = Thumbnails()
    for time in times:
        thumbs.add(time, np.zeros((4, 8, 3), np.uint8))
    return thumbs


@given(st.integers(1, 3 * MOST_PICTURES))
def test_kept_thumbs_are_few_and_spread_evenly(count: int) -> None:
    times = [thumb.pts_s for thumb in thumbs_at(map(float, range(count))).pictures]
    assert min(count, MOST_PICTURES // 2) <= len(times) <= MOST_PICTURES
    assert times[0] == 0
    assert len(set(np.diff(times))) <= 1


@given(st.integers(1, 400), st.lists(st.integers(1, 399), max_size=300, unique=True))
def test_a_sheet_shows_each_shot(count: int, cuts: list[int]) -> None:
    cuts_s = [float(cut) for cut in sorted(cuts)]
    chosen = [thumb.pts_s for thumb in thumbs_at(map(float, range(count))).chosen(cuts_s, float(count))]
    shots = {int(np.searchsorted(cuts_s, time, side="right")) for time in range(count)}
    assert chosen == sorted(set(chosen))
    assert len(chosen) == min(count, max(USUAL_THUMBS, min(len(shots), MOST_THUMBS)))
    if len(shots) <= MOST_THUMBS:
        assert {0.0, *(cut for cut in cuts_s if cut < count)} <= set(chosen), "the first picture of each shot"


@pytest.mark.parametrize(("shots", "expected"), [(1, 240), (90, 240), (239, 240), (500, 240)])
def test_the_sheet_of_an_hour_has_a_picture_for_each_shot_or_quarter_of_a_minute(shots: int, expected: int) -> None:
    cuts_s = [3600 / shots * shot for shot in range(1, shots)]
    chosen = [thumb.pts_s for thumb in thumbs_at(second / 2 for second in range(7200)).chosen(cuts_s, 3600.0)]
    assert len(chosen) == expected
    assert max(np.diff(chosen)) <= 3600 / 48
    if shots <= expected:
        assert len({int(np.searchsorted(cuts_s, time, side="right")) for time in chosen}) == shots


def test_a_contact_sheet_is_a_png_of_the_thumbs() -> None:
    thumbs = Thumbnails()
    for number in range(11):
        thumbs.add(number * 7.5, np.full((256, 144, 3), 10 * number, np.uint8))
    sheet: Any = cv2.imdecode(np.frombuffer(contact_sheet(thumbs.pictures), np.uint8), 1)
    assert sheet.shape[1] > sheet.shape[0] > 2 * 160
    assert {0, 50, 100} <= set(np.unique(sheet).tolist())


def test_a_square_is_the_middle() -> None:
    picture = np.zeros((300, 900, 3), np.uint8)
    picture[:, 300:600] = 200
    assert centre_square(picture).shape == (224, 224, 3)
    assert centre_square(picture)[:, 4:-4].min() == 200
