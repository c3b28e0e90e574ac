"""A video that was cut off is rejected with its reason, or marked where it may stay; no earlier frame stands in."""

import asyncio
import shutil
from pathlib import Path

import pytest
import sample_videos

from reeltalk.cli import run
from reeltalk.errors import InputError
from reeltalk.evaluation.playing.frames import FrameServer
from reeltalk.evaluation.playing.script import Script, Step
from reeltalk.evaluation.settings import FrameSettings
from reeltalk.schema.dialogue import Turn
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import REJECTED, SCREENINGS, VIDEOS
from reeltalk_build.video.write import write_video

LOOSE = ["--min-duration-s", "1", "--min-shots", "1", "--max-shots", "500", "--min-mean-shot-s", "0"]
LOOSE += ["--max-mean-shot-s", "1000", "--min-flow-px", "0", "--max-flow-px", "1000"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("film") / "film.mp4"
    write_video(path, map(sample_videos.numbered_picture, range(200)), fps=10)
    return path


def part(whole: Path, path: Path, share: float) -> Path:
    path.parent.mkdir(exist_ok=True)
    content = whole.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    return path


def zeroed(whole: Path, path: Path) -> Path:
    content = bytearray(whole.read_bytes())
    first, end = len(content) * 4 // 10, len(content) * 7 // 10
    content[first:end] = bytes(end - first)
    path.write_bytes(content)
    return path


def test_curate_rejects_what_was_cut_off_and_says_how_much_is_there(whole: Path, tmp_path: Path) -> None:
    part(whole, tmp_path / "raw" / "cut.mp4", 0.6)
    zeroed(whole, tmp_path / "raw" / "damaged.mp4")
    shutil.copy(whole, tmp_path / "raw" / "whole.mp4")
    made = tmp_path / "made"
    assert run(["curate", str(tmp_path / "raw"), "--into", str(made), *LOOSE]) == 0
    opened = Benchmark.open(made)
    assert [(video.id, video.decoded_s) for video in opened.read(VIDEOS)] == [("whole", None)]
    reasons = {row.record_id: row.reason for row in opened.read(REJECTED)}
    assert reasons.keys() == {"cut", "damaged"}
    assert "of 20.0 s can be decoded" in reasons["cut"]
    assert "above 2 %" in reasons["damaged"]
    assert "decoded_s" not in (made / "videos.jsonl").read_text()
    decoded = {str(row.video_id): row.decoded_s for row in opened.read(SCREENINGS)}
    assert decoded["cut"] == 0, "what its packets already show costs no decoding"


def test_what_may_stay_is_marked_in_the_table_and_on_the_pages(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part(whole, tmp_path / "raw" / "cut.mp4", 0.6)
    zeroed(whole, tmp_path / "raw" / "damaged.mp4")
    made, pages = tmp_path / "made", tmp_path / "pages"
    assert run(["curate", str(tmp_path / "raw"), "--into", str(made), "--max-missing", "60", *LOOSE]) == 0
    assert "2 videos were cut off or are damaged" in capsys.readouterr().out
    videos = {str(video.id): video for video in Benchmark.open(made).read(VIDEOS)}
    for video in videos.values():
        assert video.duration_s == pytest.approx(20.0)
        assert video.decoded_s is not None
        assert 8 < video.decoded_s < 17
    assert run(["validate", str(made)]) == 0
    assert run(["report", str(made), "--out", str(pages)]) == 0
    for name, video in videos.items():
        words = f"decoded {video.decoded_s:.1f} of 20.0 s"
        found = [path.relative_to(pages).parts[-2:] for path in pages.rglob("*.html") if words in path.read_text()]
        assert len(found) >= 2, f"{name}: on its own page and among all, not only on {found}"


def test_attach_takes_no_file_that_was_cut_off(
    whole: Path, tmp_path: Path, samples: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "benchmark"
    assert run(["import", "svbench", str(samples / "svbench"), str(made)]) == 0
    name = next(str(video.id) for video in Benchmark.open(made).read(VIDEOS))
    part(whole, tmp_path / "raw" / f"{Path(name).name}.mp4", 0.6)
    capsys.readouterr()
    assert run(["attach", str(made), str(tmp_path / "raw")]) == 1
    assert "of 20.0 s can be decoded" in capsys.readouterr().out
    assert run(["attach", str(made), str(tmp_path / "raw"), "--max-missing", "101"]) == 2
    assert "from 0 to 100" in capsys.readouterr().err
    assert run(["attach", str(made), str(tmp_path / "raw"), "--max-missing", "50"]) == 0
    video = next(video for video in Benchmark.open(made).read(VIDEOS) if video.id == name)
    assert video.duration_s == pytest.approx(20.0)
    assert video.decoded_s is not None
    assert 8 < video.decoded_s < 14


@pytest.mark.parametrize(
    ("damage", "asked", "said"),
    [
        ("cut", 19.0, r"the video ends at 1\d\.\d s, of 20\.0 s that it says it has, and 's' asks about it at 19\.0 s"),
        ("cut", None, r"the video ends at 1\d\.\d s, of 20\.0 s that it says it has, and 's' asks about it at 20\.0 s"),
        ("damaged", 20.0, r"the file is damaged: \d+ frames at [\d., …]+ s cannot be had"),
    ],
)
def test_lost_frames_are_named_and_none_stands_in_for_them(
    whole: Path, tmp_path: Path, damage: str, asked: float | None, said: str
) -> None:
    path = tmp_path / "film.mp4"
    part(whole, path, 0.6) if damage == "cut" else zeroed(whole, path)
    settings = FrameSettings(policy="uniform", frames=40)

    def play(asked_at_s: float | None) -> None:
        async def opened() -> None:
            step = Step("dialogue", "d", 0, Turn(question="What is shown?"), asked_at_s)
            async with FrameServer(lambda name: path, settings, tmp_path / "frames") as server:
                await server.open(Script("s", "v", (step,)))

        asyncio.run(opened())

    # A second try finds what the first left in the folder, and nothing that stands in for what was lost.
    for _ in range(2):
        with pytest.raises(InputError, match=said) as caught:
            play(asked)
        assert str(path) in str(caught.value)
    play(6.0)
