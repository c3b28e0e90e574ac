"""Container, codec, pixels and sound tell whether browsers play a file, and frames have the browser's own times."""

from fractions import Fraction
from pathlib import Path

import pytest
from sample_videos import Numbered, beeping, cached

from reeltalk.schema.intervals import Interval
from reeltalk.video.cut import cut_clip
from reeltalk.video.stream import VideoError
from reeltalk_review.video.proxy import MP4, WEBM, playable

FAST = {"deadline": "realtime", "cpu-used": "8"}
QUIET = {"x265-params": "log-level=error"}
NTSC = Fraction(30000, 1001)
PLAYED = [
    (Numbered("h264-b-frames.mp4", options={"bf": "3", "g": "48"}, rate=NTSC), MP4),
    (Numbered("h264-variable-no-b.mp4", variable=True, options={"bf": "0"}), MP4),
    (Numbered("h264-sound.mp4", audio=True), MP4),
    (Numbered("h264-turned.mp4", rotation_deg=90), MP4),
    (Numbered("av1.mp4", codec="libsvtav1", frames=120, options={"preset": "12"}), MP4),
    (Numbered("vp9.webm", codec="libvpx-vp9", frames=120, options=FAST), WEBM),
    (Numbered("vp9-variable.webm", codec="libvpx-vp9", frames=120, variable=True, options=FAST), WEBM),
    # With hidden frames, which have packets of their own.
    (Numbered("vp8.webm", codec="libvpx", frames=48, options={"auto-alt-ref": "1", "lag-in-frames": "16"}), WEBM),
]
NOT_PLAYED = [
    (Numbered("hevc-10-bit.mp4", codec="libx265", frames=96, pixel_format="yuv420p10le", options=QUIET), "hevc"),
    (Numbered("h264-10-bit.mp4", frames=24, pixel_format="yuv420p10le"), "yuv420p10le"),
    (Numbered("h264-444.mp4", frames=24, pixel_format="yuv444p"), "yuv444p"),
    (Numbered("mpeg4-b-frames.mp4", codec="mpeg4", rate=NTSC, options={"qscale": "3", "bf": "2"}), "mpeg4"),
    (Numbered("h264-variable.mp4", variable=True), "browsers skip some of its frames"),
    (Numbered("h264-variable.mkv", variable=True), "h264 in WEBM"),
    (Numbered("mpeg4.avi", codec="mpeg4", rate=Fraction(25), options={"qscale": "3"}), "AVI"),
    (Numbered("h264.ts", rate=Fraction(25)), "MPEG-TS"),
    (Numbered("h264-late.mp4", start_s=Fraction(5), options={"bf": "3"}), "begins late"),
    (Numbered("vp9-late.webm", codec="libvpx-vp9", frames=120, start_s=Fraction(5), options=FAST), "begins late"),
]


@pytest.mark.parametrize(("film", "media_type"), PLAYED, ids=lambda value: getattr(value, "name", ""))
def test_what_browsers_play_has_the_time_of_every_frame(film: Numbered, media_type: str) -> None:
    path, times = film.make()
    found = playable(path)
    assert (found.media_type, found.why) == (media_type, "")
    assert found.pts_s == pytest.approx([float(time + film.start_s) for time in times], abs=0.0011)


@pytest.mark.parametrize(("film", "why"), NOT_PLAYED, ids=lambda value: getattr(value, "name", ""))
def test_what_browsers_do_not_play_says_why(film: Numbered, why: str) -> None:
    path, _ = film.make()
    found = playable(path)
    assert (found.media_type, found.pts_s) == (None, ())
    assert why in found.why


@pytest.mark.parametrize(("codec", "plays"), [("ac3", False), ("aac", True), ("libmp3lame", True)])
def test_sound_that_browsers_do_not_play_counts_too(codec: str, plays: bool) -> None:
    found = playable(beeping(f"beep-{codec}.mp4", sound_codec=codec, picture_from_s=Fraction(0), beep_at_s=2))
    assert (found.media_type == MP4, "sound" in found.why) == (plays, not plays)


def test_a_file_whose_edit_list_hides_frames_gets_a_proxy_since_firefox_shows_them() -> None:
    film = Numbered("h264-b-frames.mp4", options={"bf": "3", "g": "48"}, rate=NTSC)
    whole, _ = film.make()

    def cut(target: Path) -> None:
        cut_clip(whole, Interval(start_s=float(31 / NTSC), end_s=float(100 / NTSC)), target, lossless=True)

    found = playable(cached("trimmed.mp4", f"{film!r} from 31", cut))
    assert (found.media_type, found.why) == (None, "Firefox shows frames that an edit list hides")


def test_a_file_that_ends_in_the_middle_has_the_frames_that_are_left(tmp_path: Path) -> None:
    path, _ = Numbered("vp9.webm", codec="libvpx-vp9", frames=120, options=FAST).make()
    short = tmp_path / "short.webm"
    short.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    found = playable(short)
    assert found.media_type == WEBM
    assert 10 < len(found.pts_s) < 110


def test_what_is_no_video_is_refused(tmp_path: Path) -> None:
    path, _ = Numbered("h264-b-frames.mp4", options={"bf": "3", "g": "48"}, rate=NTSC).make()
    short = tmp_path / "short.mp4"
    short.write_bytes(path.read_bytes()[:2000])
    (tmp_path / "text.mp4").write_text("no video")
    for name in ("short.mp4", "text.mp4", "missing.mp4"):
        with pytest.raises(VideoError):
            playable(tmp_path / name)
