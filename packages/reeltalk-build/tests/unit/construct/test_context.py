"""What a model is shown of a video: frames by length and motion, and what the source says about it."""

import pytest

from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk_build.construct.context import closer_times, frame_count, frame_times, title_of


@pytest.mark.parametrize(
    ("duration_s", "frames"), [(1, 3), (3, 3), (10, 5), (20, 7), (30, 9), (60, 12), (120, 16), (3600, 16)]
)
def test_a_longer_part_gets_more_frames_up_to_the_most(duration_s: float, frames: int) -> None:
    assert frame_count(duration_s, most=16) == frames


def test_much_motion_takes_more_frames_and_the_most_is_a_limit() -> None:
    still, calm, quick, wild = (frame_count(20, most=16, flow_px=px) for px in (None, 6.0, 9.0, 90.0))
    assert still == calm < quick < wild
    assert wild == 14
    assert frame_count(20, most=2) == 2
    assert frame_count(20, most=16, flow_px=90, denser=1.25) == 18


FIRST, SECOND, LONG = (Interval(start_s=a, end_s=b) for a, b in ((0, 20), (20, 24), (24, 90)))


def test_a_clip_has_the_same_frames_alone_and_in_a_scene() -> None:
    alone = {interval: frame_times([interval], 16) for interval in (FIRST, SECOND, LONG)}
    scene = frame_times([FIRST, SECOND, LONG], 16)
    assert set(scene) <= {time_s for times in alone.values() for time_s in times}
    assert len(scene) <= frame_count(90, most=16) + 1
    assert all(any(interval.start_s <= time_s < interval.end_s for time_s in scene) for interval in alone)
    assert scene == sorted(scene)


def test_many_parts_have_a_frame_each_though_they_are_more_than_the_most() -> None:
    parts = [Interval(start_s=n, end_s=n + 1) for n in range(20)]
    assert len(frame_times(parts, 4)) == 20


def test_a_judge_sees_more_of_the_same_part() -> None:
    assert len(frame_times([FIRST], 16, denser=1.25)) == 9
    assert len(frame_times([FIRST], 16, flows_px=[90.0])) == 14


def test_short_stretches_get_a_denser_look_until_each_has_three_frames() -> None:
    shown = frame_times([FIRST], 16)
    short, long = Interval(start_s=4.5, end_s=5.0), Interval(start_s=0, end_s=20)
    times = closer_times([long, short, short], shown, 16)
    assert len(times) == 3
    assert all(short.reaches(time_s) for time_s in times)
    assert closer_times([long], shown, 16) == []
    parts = [Interval(start_s=n, end_s=n + 0.5) for n in range(20)]
    assert len(closer_times(parts, shown, 16)) == 16
    assert closer_times([Interval(start_s=3, end_s=3)], shown, 16) == [3.0]


@pytest.mark.parametrize(
    ("file", "title"),
    [
        ("kitchen/how_to_bake-bread.mp4", "how to bake bread"),
        ("如何烤面包.mp4", "如何烤面包"),
        ("house1-0001.mp4", ""),
        ("VID_20240101.mov", ""),
        ("dQw4w9WgXcQ.mp4", ""),
        (None, ""),
    ],
)
def test_a_title_is_a_file_name_with_words(file: str | None, title: str) -> None:
    assert title_of(Video(id="v", file=file)) == title
    assert title_of(Video(id="v", file=file, category="Cooking")) == "\n".join(filter(None, [title, "Cooking"]))
