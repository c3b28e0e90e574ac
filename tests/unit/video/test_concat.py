"""Videos are joined end to end: every frame, at its time."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sample_videos import Numbered, number_of

from reeltalk.video.stream import VideoError, open_video, rgb
from reeltalk.video.write import concatenate


def test_all_frames_are_there_and_time_runs_on(tmp_path: Path) -> None:
    parts = [
        Numbered("join-a.mp4", frames=48).make()[0],
        Numbered("join-b.mp4", frames=72, rate=Fraction(24)).make()[0],
        Numbered("join-a.mp4", frames=48).make()[0],
    ]
    starts = concatenate(parts, tmp_path / "joined.mp4")
    assert starts == [0.0, 2.0, 5.0]
    numbers, times = [], []
    with open_video(tmp_path / "joined.mp4") as source:
        while (picture := source.next_frame()) is not None:
            numbers.append(number_of(rgb(picture)))
            times.append(float((picture.pts or 0) * source.time_base))
    assert numbers == [*range(48), *range(72), *range(48)]
    np.testing.assert_allclose(times, np.arange(168) / 24, atol=1e-4)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Numbered("join-c.mp4", codec="mpeg4", frames=24), "mpeg4 of 320 × 96 and the first video h264"),
        (Numbered("join-d.mp4", frames=24, options={"bf": "0", "refs": "1"}), "encoded with other settings"),
    ],
)
def test_videos_that_differ_are_refused(other: Numbered, message: str, tmp_path: Path) -> None:
    parts = [Numbered("join-a.mp4", frames=48).make()[0], other.make()[0]]
    with pytest.raises(VideoError, match=message):
        concatenate(parts, tmp_path / "joined.mp4")
