"""A proxy shows the same frames at the same times, upright, small, with a key frame every second and with sound."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from sample_videos import Numbered, beeping, number_of

from reeltalk.video.picture import Look, rgb
from reeltalk.video.probe import probe
from reeltalk.video.stream import VideoError, open_video
from reeltalk_review.video.proxy import MP4, make_playable, make_proxy, playable, proxy_size

QUIET = {"x265-params": "log-level=error"}
NTSC = Fraction(30000, 1001)
FILMS = [
    Numbered("hevc-10-bit.mp4", codec="libx265", frames=96, pixel_format="yuv420p10le", options=QUIET),
    Numbered("h264-variable.mkv", variable=True),
    Numbered("mpeg4.avi", codec="mpeg4", rate=Fraction(25), options={"qscale": "3"}),
    Numbered("h264.ts", rate=Fraction(25)),
    Numbered("mpeg4-b-frames.mp4", codec="mpeg4", rate=NTSC, options={"qscale": "3", "bf": "2"}),
    Numbered("h264-late.mp4", start_s=Fraction(5), options={"bf": "3"}),
]


def made(path: Path, folder: Path) -> Path:
    target = folder / "proxy.mp4"
    found = make_playable({"path": str(path), "target": str(target)})
    assert (found["media_type"], found["is_proxy"]) == (MP4, True)
    return target


@pytest.mark.parametrize("film", FILMS, ids=lambda film: film.name)
def test_every_frame_is_there_at_its_time(film: Numbered, tmp_path: Path) -> None:
    path, times = film.make()
    proxy = made(path, tmp_path)
    with open_video(proxy) as source:
        numbers = [number_of(rgb(frame.picture)) for frame in source.frames()]
    found = playable(proxy)
    assert numbers == list(range(film.frames))
    assert found.pts_s == pytest.approx([float(time) for time in times], abs=0.0011)


def test_a_key_frame_comes_every_second(tmp_path: Path) -> None:
    path, times = FILMS[1].make()
    keys = probe(made(path, tmp_path)).key_frames_s
    steps = np.diff([*keys, float(times[-1])])
    assert steps.max() < 1.13
    assert np.median(steps) > 0.99


def test_the_picture_is_upright(tmp_path: Path) -> None:
    path, _ = Numbered("mpeg4-turned.mp4", codec="mpeg4", rotation_deg=270, options={"qscale": "3"}).make()
    facts = probe(proxy := made(path, tmp_path))
    assert (facts.width_px, facts.height_px, facts.rotation_deg) == (96, 320, 0)
    with open_video(proxy) as source:
        numbers = [number_of(np.ascontiguousarray(np.rot90(rgb(frame.picture), -1))) for frame in source.frames()]
    assert numbers == list(range(240))


def test_sound_stays_beside_its_picture(tmp_path: Path) -> None:
    path = beeping("beep-ac3.mp4", sound_codec="ac3", picture_from_s=Fraction(1, 2), beep_at_s=2)
    with av.open(str(made(path, tmp_path))) as proxy:
        assert proxy.streams.audio[0].codec_context.name == "aac"
        loud = [
            (frame.time or 0.0) + first / frame.sample_rate
            for frame in proxy.decode(audio=0)
            for first in np.flatnonzero(np.abs(frame.to_ndarray()[0]) > 0.1)[:1]
        ]
    # The picture begins half a second after the sound; until then a player shows a black one, and so does the proxy.
    assert loud[0] == pytest.approx(2.0, abs=0.03)
    with open_video(made(path, tmp_path)) as proxy:
        frames = list(proxy.frames())
    assert [frame.pts_s for frame in frames[:3]] == pytest.approx([0, 0.5, 0.5 + 1 / 24], abs=0.001)
    assert rgb(frames[0].picture).max() < 20


@pytest.mark.parametrize(
    ("size", "shape", "shown"),
    [
        ((1920, 1080), Fraction(1), (1280, 720)),
        ((1080, 1920), Fraction(1), (720, 1280)),
        ((321, 97), Fraction(1), (320, 96)),
        ((720, 576), Fraction(16, 15), (768, 576)),
        ((720, 480), Fraction(8, 9), (720, 540)),
        ((8000, 2), Fraction(1), (1280, 2)),
    ],
)
def test_sizes_are_even_and_at_most_1280(size: tuple[int, int], shape: Fraction, shown: tuple[int, int]) -> None:
    assert proxy_size(Look(*size, shape, 0, False)) == shown


def test_a_video_that_cannot_be_decoded_gives_no_proxy(tmp_path: Path) -> None:
    (tmp_path / "text.avi").write_text("no video")
    with pytest.raises(VideoError):
        make_proxy(tmp_path / "text.avi", tmp_path / "proxy.mp4")
    assert "refused" in make_playable({"path": str(tmp_path / "text.avi"), "target": str(tmp_path / "proxy.mp4")})


def test_a_proxy_that_cannot_be_written_is_no_fault_of_the_video(tmp_path: Path) -> None:
    path, _ = FILMS[1].make()
    target = tmp_path / "missing" / "proxy.mp4"
    assert "unwritable" in make_playable({"path": str(path), "target": str(target)})
