"""What a file lacks of what it promises is told, and a whole file is never said to lack anything."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest
from reliability_page import Reliability
from sample_videos import FAST, FILMS, Numbered, cached, numbered_picture

from reeltalk.video.missing import gaps
from reeltalk.video.probe import probe
from reeltalk.video.records import ContentSettings, ScanSettings
from reeltalk.video.stream import VideoError
from reeltalk_build.video.scan import scan_video

SCAN = ScanSettings(detector=ContentSettings(), sample_fps=1, min_sharpness=0, max_similarity=1, max_shots=10**6)
SECONDS = 12
RATE = 25


def film(name: str, container: str, codec: str, *, sound_s: int = 0, pause_s: int = 0, **options: Any) -> Path:
    """Twelve seconds of numbered pictures; sound may be longer, and a last frame may stand for long."""

    def write(path: Path) -> None:
        base = Fraction(1, 1000) if pause_s else Fraction(1, RATE)
        with av.open(str(path), "w", format=container, options=options) as output:
            stream: Any = output.add_stream(codec, rate=RATE)
            stream.width, stream.height, stream.pix_fmt = 320, 96, "yuv420p"
            stream.codec_context.gop_size, stream.codec_context.max_b_frames = RATE, 0
            stream.time_base = stream.codec_context.time_base = base
            sound: Any = output.add_stream("aac", rate=8000) if sound_s else None
            for number in range(SECONDS * RATE):
                last = number == SECONDS * RATE - 1
                frame = av.VideoFrame.from_ndarray(numbered_picture(number), format="rgb24").reformat(format="yuv420p")
                frame.pts, frame.time_base = round((Fraction(number, RATE) + pause_s * last) / base), base
                output.mux(stream.encode(frame))
            output.mux(stream.encode(None))
            for start in range(0, 8000 * sound_s, 1024):
                part = av.AudioFrame(format="fltp", layout="mono", samples=1024)
                for plane in part.planes:
                    plane.update(bytes(plane.buffer_size))
                part.sample_rate, part.pts, part.time_base = 8000, start, Fraction(1, 8000)
                output.mux(sound.encode(part))
            if sound is not None:
                output.mux(sound.encode(None))

    return cached(name, f"{container} {codec} {sound_s} {pause_s} {options}", write)


Films = dict[str, Callable[[], Path]]
FRONT: dict[str, Any] = {"movflags": "+faststart"}
STATED: Films = {
    "fast.mp4": lambda: film("cut-fast.mp4", "mp4", "libx264", **FRONT),
    "sound.mp4": lambda: film("cut-sound.mp4", "mp4", "libx264", sound_s=SECONDS, **FRONT),
    "fast.mov": lambda: film("cut-fast.mov", "mov", "libx264", **FRONT),
    "still.mp4": lambda: film("cut-still.mp4", "mp4", "libx264", pause_s=20, **FRONT),
    "plain.mkv": lambda: film("cut-plain.mkv", "matroska", "libx264"),
    "still.mkv": lambda: film("cut-still.mkv", "matroska", "libx264", pause_s=20),
    "plain.webm": lambda: film("cut-plain.webm", "webm", "libvpx-vp9", **dict[str, Any](FAST)),
    "plain.avi": lambda: film("cut-plain.avi", "avi", "mpeg4"),
    "plain.flv": lambda: film("cut-plain.flv", "flv", "flv1"),
    "plain.mxf": lambda: film("cut-plain.mxf", "mxf", "mpeg2video"),
}
"""Containers that state a length."""
UNSTATED: Films = {
    "plain.ts": lambda: film("cut-plain.ts", "mpegts", "libx264"),
    "plain.mpg": lambda: film("cut-plain.mpg", "mpeg", "mpeg2video"),
    "parts.mp4": lambda: film("cut-parts.mp4", "mp4", "libx264", movflags="frag_keyframe+empty_moov"),
}
LONGER: Films = {
    "longer-sound.mp4": lambda: film("cut-longer.mp4", "mp4", "libx264", sound_s=2 * SECONDS, **FRONT),
    "longer-sound.mkv": lambda: film("cut-longer.mkv", "matroska", "libx264", sound_s=2 * SECONDS),
    "back.mp4": lambda: film("cut-back.mp4", "mp4", "libx264"),
}
WHOLE = STATED | UNSTATED | LONGER
OFTEN = ("fast.mp4", "still.mp4", "still.mkv", "plain.avi", "plain.mxf")
"""Of each way to state a length one, for `make test`."""


def chosen(name: str) -> Any:
    return pytest.param(name, marks=() if name in (*OFTEN, *UNSTATED) else pytest.mark.slow)


def cut(path: Path, share: float, folder: Path) -> Path:
    """The first bytes of a file."""
    content = path.read_bytes()
    (folder / path.name).write_bytes(content[: round(len(content) * share)])
    return folder / path.name


def damaged(path: Path, folder: Path) -> Path:
    """A file with a third of its bytes gone in the middle."""
    content = bytearray(path.read_bytes())
    first, end = len(content) * 2 // 5, len(content) * 7 // 10
    content[first:end] = bytes(end - first)
    (folder / path.name).write_bytes(content)
    return folder / path.name


def lacks(path: Path) -> float:
    """Share of the pictures that cannot be had, as curation finds it."""
    facts, scan = probe(path), scan_video(path, SCAN)
    end = [(scan.decoded_s, facts.duration_s)] if scan.damaged_end else []
    return 1 - facts.held_s([*scan.gaps_s, *end]) / facts.promised_s


def test_whole_videos_lack_nothing(
    clips: dict[str, Path], samples: Path, shared: Path, full: bool, reliability: Reliability
) -> None:
    suffixes = {".mp4", ".mkv", ".webm", ".mov", ".avi", ".ts", ".m4v"}
    there = [path for folder in (samples, shared / "data") for path in folder.rglob("*") if path.suffix in suffixes]
    known = [*clips.values()] if full else [clips["bikes"], clips["bigbuckbunny"]]
    kinds = WHOLE if full else {name: WHOLE[name] for name in (*OFTEN, *UNSTATED)}
    paths = [*(make() for make in kinds.values()), *(one.make()[0] for one in FILMS[:: 1 if full else 3]), *known]
    paths += there
    tally = reliability("videos", "whole videos of every container", "one is said to lack pictures")
    for path in paths:
        try:
            facts = probe(path)
        except VideoError:
            # The samples' videos are small stand-ins of a few bytes.
            assert path in there
            continue
        tally.tried += 1
        tally.failed += bool(facts.promised_s != facts.duration_s or facts.gaps_s or lacks(path))
    assert not tally.failed
    assert tally.tried > (30 if full else 12)


@pytest.mark.parametrize("name", [chosen(name) for name in STATED])
def test_a_video_that_was_cut_off_says_how_much_is_there(
    name: str, tmp_path: Path, full: bool, reliability: Reliability
) -> None:
    whole = STATED[name]()
    true_s = probe(whole).duration_s
    tally = reliability("videos", "videos cut off at 10 to 98 % of their bytes", "the missing part is not told")
    for percent in (10, 25, 40, 55, 70, 85, 95, 98) if full else (10, 40, 70, 98):
        tally.tried += 1
        try:
            facts = probe(cut(whole, percent / 100, tmp_path))
        except VideoError:
            # Nothing is left that can be opened: that is told, too.
            continue
        # A last frame that stands for long is promised by Matroska's header alone.
        promised_s = facts.promised_s if name == "still.mp4" else true_s
        told = facts.promised_s == pytest.approx(promised_s, abs=0.3) and facts.duration_s < facts.promised_s
        few = true_s - facts.duration_s <= 0.3
        tally.failed += not (told or few)
    assert not tally.failed


@pytest.mark.parametrize("name", UNSTATED)
def test_a_container_that_states_no_length_promises_none(name: str, tmp_path: Path) -> None:
    facts = probe(cut(UNSTATED[name](), 0.5, tmp_path))
    assert facts.promised_s == facts.duration_s < SECONDS - 3


def test_an_index_behind_a_cut_is_named(tmp_path: Path) -> None:
    with pytest.raises(VideoError, match=r"it was cut off: its part 'mdat' has [\d,]+ of [\d,]+ bytes"):
        probe(cut(WHOLE["back.mp4"](), 0.6, tmp_path))


# FFmpeg looks for the next part of an MXF file without a word of what it skips.
@pytest.mark.parametrize(
    "name", [chosen(name) for name in (*sorted(STATED.keys() - {"plain.mxf"}), "plain.ts", "longer-sound.mkv")]
)
def test_damage_in_the_middle_counts(name: str, tmp_path: Path, reliability: Reliability) -> None:
    tally = reliability("videos", "videos with 30 % of zero bytes in the middle", "the damage is not told")
    tally.tried = 1
    missing = lacks(damaged(WHOLE[name](), tmp_path))
    # In the twenty seconds in which one picture stands no bytes are lost.
    tally.failed = not (0.05 if "still" in name or "longer" in name else 0.15) < missing < 0.5
    assert not tally.failed


def test_an_edit_list_hides_frames_and_takes_none(tmp_path: Path) -> None:
    from reeltalk.schema.intervals import Interval
    from reeltalk.video.cut import cut_clip

    path, _ = Numbered("h264.mp4").make()
    done = cut_clip(path, Interval(start_s=1.3, end_s=4.0), tmp_path / "clip.mp4", lossless=True)
    facts = probe(tmp_path / "clip.mp4")
    assert done.how == "trim"
    assert (facts.promised_s, facts.gaps_s) == (facts.duration_s, ())


def test_a_long_frame_without_damage_is_no_gap() -> None:
    import numpy as np

    times = np.array([0.0, 0.1, 0.2, 8.0, 8.1, 8.2])
    assert gaps(times, []) == ()
    assert gaps(times, [20.0]) == ()
    assert gaps(times, [8.1]) == ((0.3, 8.0),)
