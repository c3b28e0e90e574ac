"""Every reader has the clock of a player: 0 is where pictures or sound begin, and hidden frames do not count."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from sample_videos import Numbered, beeping, number_of, numbered_picture

from reeltalk.schema.intervals import Interval
from reeltalk.video.cut import cut_clip
from reeltalk.video.frames import frames_at
from reeltalk.video.probe import probe
from reeltalk.video.stream import VideoError, open_video

RATE = 25


def numbers(path: Path, *times_s: float) -> list[int]:
    return [number_of(frame.pixels) for frame in frames_at(path, times_s)]


def test_frames_that_an_edit_list_hides_do_not_count(tmp_path: Path) -> None:
    film, _ = Numbered("h264-long-gop.mp4", rate=Fraction(RATE), options={"g": "100", "bf": "2"}).make()
    cut = cut_clip(film, Interval(start_s=3.0, end_s=5.0), tmp_path / "cut.mp4", lossless=True)
    assert cut.how == "trim"
    facts = probe(tmp_path / "cut.mp4")
    assert facts.duration_s == pytest.approx(2.0, abs=0.13)
    assert (facts.hidden_frames, facts.start_s) == (75, 0)
    assert numbers(tmp_path / "cut.mp4", 0.0, 0.5, 1.98) == [75, 87, 124]


def test_a_picture_that_begins_after_the_sound_keeps_its_time() -> None:
    path = beeping("late.mp4", sound_codec="aac", picture_from_s=Fraction(3, 2), beep_at_s=2)
    facts = probe(path)
    assert [facts.start_s, facts.duration_s] == pytest.approx([1.5, 3.5], abs=0.001)
    found = list(frames_at(path, [0.0, 1.0, 1.6, 3.0]))
    assert [frame.pts_s for frame in found] == pytest.approx([0.0, 0.0, 1.5 + 2 / 24, 3.0], abs=0.001)
    assert found[1].pixels.max() == 0, "a question at 1 s sees what comes later"
    assert [number_of(frame.pixels) for frame in found[2:]] == [2, 36]


def test_a_clip_has_the_times_of_its_film(tmp_path: Path) -> None:
    path = beeping("late.mp4", sound_codec="aac", picture_from_s=Fraction(3, 2), beep_at_s=2)
    cut_clip(path, Interval(start_s=2.0, end_s=3.0), tmp_path / "clip.mp4", lossless=False)
    assert numbers(tmp_path / "clip.mp4", 0.0, 0.5) == [12, 24]


def test_a_first_frame_that_comes_a_moment_after_the_sound_is_shown_from_the_start(tmp_path: Path) -> None:
    film, _ = Numbered("h264-late.mkv", audio=True, variable=True, start_s=Fraction(21, 1000)).make()
    with open_video(film) as source:
        first = next(source.frames())
        assert first.pts > source.zero
        assert first.pts_s == 0.0
    facts = probe(film)
    assert facts.start_s == 0.0
    assert facts.frames == 240


def segment(path: Path, first: int, *, start_s: float) -> bytes:
    with av.open(str(path), "w") as output:
        codec = "mpeg2video" if path.suffix == ".mpg" else "libx264"
        stream: Any = output.add_stream(codec, rate=RATE, options={"g": "25", "bf": "2"})
        stream.width, stream.height, stream.pix_fmt = 320, 96, "yuv420p"
        stream.time_base = stream.codec_context.time_base = Fraction(1, RATE)
        for n in range(2 * RATE):
            frame = av.VideoFrame.from_ndarray(numbered_picture(first + n), format="rgb24").reformat(format="yuv420p")
            frame.pts, frame.time_base = n + round(start_s * RATE), Fraction(1, RATE)
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    return path.read_bytes()


@pytest.mark.parametrize("step_s", [0.0, 3600.0], ids=["the same stamps", "stamps that jump"])
@pytest.mark.parametrize("ending", ["ts", "mpg"])
def test_joined_recordings_follow_each_other(step_s: float, ending: str, tmp_path: Path) -> None:
    if ending == "mpg" and step_s:
        pytest.skip("a program stream's clock does not reach that far in this muxer")
    parts = [segment(tmp_path / f"{n}.{ending}", n * 50, start_s=n * step_s) for n in range(3)]
    path = tmp_path / f"joined.{ending}"
    path.write_bytes(b"".join(parts))
    facts = probe(path)
    assert (facts.recordings, facts.frames, facts.gaps_s) == (3, 150, ())
    assert facts.duration_s == pytest.approx(6.0, abs=0.1)
    times = np.arange(0.02, 6.0, 0.48)
    assert numbers(path, *times) == pytest.approx([int(t * RATE) for t in times], abs=1)
    with open_video(path) as source:
        assert [number_of(source.shown(frame.picture)) for frame in source.frames()] == list(range(150))
    cut_clip(path, Interval(start_s=3.0, end_s=5.0), tmp_path / "clip.mp4", lossless=True)
    assert numbers(tmp_path / "clip.mp4", 0.5, 1.5) == pytest.approx([87, 112], abs=1)


def test_a_recording_that_was_not_joined_is_one() -> None:
    facts = probe(Numbered("h264.ts", rate=Fraction(25)).make()[0])
    assert (facts.recordings, facts.start_s) == (1, 0.0)


def test_the_stream_that_is_marked_as_the_default_is_read_and_a_cover_never(tmp_path: Path) -> None:
    path = tmp_path / "two.mkv"
    with av.open(str(path), "w") as output:
        streams: list[Any] = [output.add_stream("libx264", rate=RATE) for _ in range(2)]
        for stream, width in zip(streams, (640, 320), strict=True):
            stream.width, stream.height, stream.pix_fmt = width, 96, "yuv420p"
        streams[0].disposition = 0
        streams[1].disposition = av.stream.Disposition.default
        for n in range(10):
            for stream in streams:
                picture = np.full((96, stream.width, 3), 20 * n, np.uint8)
                frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")
                output.mux(stream.encode(frame))
        for stream in streams:
            output.mux(stream.encode(None))
    facts = probe(path)
    assert (facts.width_px, facts.streams) == (320, 2)


def test_a_song_with_a_cover_is_no_film(tmp_path: Path) -> None:
    path = tmp_path / "song.mp4"
    with av.open(str(path), "w") as output:
        sound: Any = output.add_stream("aac", rate=8000)
        cover: Any = output.add_stream("mjpeg", rate=1)
        cover.width, cover.height, cover.pix_fmt = 64, 64, "yuvj420p"
        cover.disposition = av.stream.Disposition.attached_pic
        output.mux(cover.encode(av.VideoFrame(64, 64, "yuvj420p")))
        output.mux(cover.encode(None))
        part = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        part.sample_rate = 8000
        output.mux(sound.encode(part))
        output.mux(sound.encode(None))
    with pytest.raises(VideoError, match="cover"):
        probe(path)
