"""The right frame is an equality: every frame of these videos carries its number in its pixels."""

import itertools
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sample_videos import FILMS, Numbered, number_of

from reeltalk.schema.intervals import Interval
from reeltalk.video.cut import cut_clip
from reeltalk.video.frames import frames_at
from reeltalk.video.picture import rgb
from reeltalk.video.probe import probe
from reeltalk.video.records import ContentSettings, CutMethod, ScanSettings
from reeltalk.video.stream import VideoError, open_video
from reeltalk_build.video.scan import scan_video
from reeltalk_build.video.write import write_video

SELDOM = {"h264-ntsc.mp4", "h264-variable.mp4", "h264-sound.mp4", "vp9.webm", "av1.mp4", "mpeg4-b-frames.mp4"}
"""Films of which others differ in one thing alone: for `make test-full`."""


def by_kind(films: Sequence[Numbered]) -> pytest.MarkDecorator:
    """Films by name, the seldom ones in full counts."""
    chosen = [pytest.param(film, marks=pytest.mark.slow if film.name in SELDOM else ()) for film in films]
    return pytest.mark.parametrize("film", chosen, ids=[film.name for film in films])


by_name = by_kind(FILMS)


def shown_at(times: list[Fraction], moment: float) -> int:
    """The frame that is on the screen: the last that is not after the moment."""
    return max(0, sum(time <= Fraction(moment) + Fraction(1, 1_000_000) for time in times) - 1)


@by_name
def test_every_frame_comes_once_in_order_at_its_time(film: Numbered) -> None:
    path, times = film.make()
    with open_video(path) as source:
        found = [(number_of(rgb(frame.picture)), frame.pts_s) for frame in source.frames()]
    assert [number for number, _ in found] == list(range(film.frames))
    assert [time for _, time in found] == pytest.approx([float(time) for time in times], abs=0.0011)


@by_name
def test_the_frame_at_a_moment_is_the_one_on_the_screen(film: Numbered) -> None:
    path, times = film.make()
    end = float(times[-1])
    with open_video(path) as source:
        exact = [frame.pts_s for frame in source.frames()]
    moments = sorted([0.0, 0.001, 0.5, 1.0, end / 3, end / 2, end - 0.3, end, end + 9, *exact[7::31], exact[-2]])
    truth = [max(0, sum(time <= moment + 1e-6 for time in exact) - 1) for moment in moments]
    assert [number_of(rgb(frame.picture)) for frame in frames_at(path, moments)] == truth


@by_name
def test_each_moment_is_reached_from_the_start_alone(film: Numbered) -> None:
    path, _ = film.make()
    with open_video(path) as source:
        exact = [frame.pts_s for frame in source.frames()]
    for moment in (exact[-1] * part / 7 for part in range(8)):
        [frame] = frames_at(path, [moment])
        assert number_of(rgb(frame.picture)) == sum(time <= moment + 1e-6 for time in exact) - 1


@by_name
def test_the_scan_samples_the_frame_on_the_screen(film: Numbered, tmp_path: Path) -> None:
    path, times = film.make()
    settings = ScanSettings(
        detector=ContentSettings(),
        sample_fps=2,
        min_sharpness=0,
        max_similarity=1,
        max_shots=1000,
        save_frames=str(tmp_path),
    )
    found = scan_video(path, settings)
    assert found.frames == film.frames
    for index, sample in enumerate(found.samples):
        picture: Any = cv2.imread(str(tmp_path / f"{round(sample.pts_s * 1000):09d}.jpg"))
        picture = picture[:, :, ::-1]
        if film.rotation_deg:
            picture = np.ascontiguousarray(np.rot90(picture, film.rotation_deg // 90))
        number = number_of(picture)
        assert sample.pts_s == pytest.approx(float(times[number]), abs=0.0011)
        # Times of a container are rounded to its ticks, so the frame at a whole half second is one of two.
        assert number in {shown_at(times, index / 2 - 0.0011), shown_at(times, index / 2 + 0.0011)}
    grid = [k / 2 for k in range(1000) if k / 2 < found.decoded_s - 0.0011]
    assert len(found.samples) == len({shown_at(times, moment) for moment in grid})


@by_name
def test_the_probe_tells_what_was_made(film: Numbered) -> None:
    path, _ = film.make()
    facts = probe(path)
    assert facts.frames == film.frames
    assert (facts.width_px, facts.height_px, facts.rotation_deg) == (320, 96, film.rotation_deg)
    assert facts.variable_frame_rate is film.variable
    assert facts.audio_codec == ("aac" if film.audio else None)
    assert facts.codec == {"libx264": "h264", "libx265": "hevc", "libsvtav1": "av1", "libvpx-vp9": "vp9"}.get(
        film.codec, film.codec
    )
    if not film.variable:
        assert facts.duration_s == pytest.approx(float(film.frames / film.rate), abs=0.05)
        assert facts.frame_rate is not None
        assert float(facts.frame_rate) == pytest.approx(float(film.rate), rel=1e-3)
    assert facts.key_frames_s[0] == 0


@by_kind(FILMS[1:4])
@given(moments=st.lists(st.floats(0, 11), min_size=1, max_size=6))
@settings(max_examples=15, deadline=None)
def test_any_moments_give_the_frames_on_the_screen(film: Numbered, moments: list[float]) -> None:
    path, _ = film.make()
    with open_video(path) as source:
        exact = [frame.pts_s for frame in source.frames()]
    moments = sorted(moments)
    truth = [max(0, sum(time <= moment + 1e-6 for time in exact) - 1) for moment in moments]
    assert [number_of(rgb(frame.picture)) for frame in frames_at(path, moments)] == truth


def test_moments_must_rise() -> None:
    path, _ = FILMS[0].make()
    with pytest.raises(ValueError, match="times must rise"):
        list(frames_at(path, [2.0, 1.0]))


CUTTABLE = [film for film in FILMS if film.name.split(".")[-1] in ("mp4", "mkv")]


@pytest.mark.parametrize("lossless", [True, False], ids=["lossless", "exact"])
@by_kind(CUTTABLE)
def test_a_clip_holds_the_frames_of_its_interval(film: Numbered, lossless: bool, tmp_path: Path) -> None:
    path, _ = film.make()
    with open_video(path) as source:
        exact = [frame.pts_s for frame in source.frames()]
    key = max(key for key in probe(path).key_frames_s if key < exact[-5])
    for start, end in ((exact[30], exact[75]), (key, exact[-1]), (0.0, exact[20])):
        target = tmp_path / "clip.mp4"
        made = cut_clip(path, Interval(start_s=start, end_s=end), target, lossless=lossless)
        with open_video(target) as source:
            frames = [(number_of(rgb(f.picture)) if not film.rotation_deg else None, f.pts_s) for f in source.frames()]
        truth = [n for n, time in enumerate(exact) if start - 1e-6 <= time < end - 1e-6]
        assert made.how in ((CutMethod.COPY, CutMethod.TRIM) if lossless else (CutMethod.COPY, CutMethod.ENCODE))
        numbers = [number for number, _ in frames]
        if not film.rotation_deg:
            assert numbers[: len(truth)] == truth
        # Copying may add the few frames that others are predicted from, and says how far the file goes.
        assert len(truth) <= len(frames) <= len(truth) + (0 if made.how.value == "encode" else 16)
        gaps = [b - a for a, b in itertools.pairwise([time for _, time in frames])]
        assert all(gap > 0 for gap in gaps)


def test_a_clip_keeps_its_sound(tmp_path: Path) -> None:
    path, _ = Numbered("h264-sound.mp4", audio=True).make()
    for lossless in (True, False):
        cut_clip(path, Interval(start_s=2.2, end_s=5), tmp_path / "clip.mp4", lossless=lossless)
        assert probe(tmp_path / "clip.mp4").audio_codec == "aac"


def test_what_is_no_video_is_refused_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("not a video")
    with pytest.raises(VideoError, match="no container that we read"):
        probe(tmp_path / "text.mp4")


def test_a_cut_keeps_its_score_however_long_the_video_goes_on(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    first, second = (
        np.kron(draw.integers(0, 255, (4, 4, 3), np.uint8), np.ones((8, 8, 1), np.uint8)) for _ in range(2)
    )
    write_video(tmp_path / "long.mp4", (first if number < 60 else second for number in range(4400)), fps=30)
    settings = ScanSettings(
        detector=ContentSettings(), sample_fps=1, min_sharpness=0, max_similarity=1.0, max_shots=9, save_frames=None
    )
    found = scan_video(tmp_path / "long.mp4", settings)
    assert found.cuts_s == (2.0,)
    assert found.cut_contents[0] > 27
