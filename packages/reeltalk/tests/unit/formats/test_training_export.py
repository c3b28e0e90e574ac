"""Training data as their users get them: true frames, resumed, checked, from every layout that can be imported."""

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from places import TESTS
from sample_videos import Numbered, number_of
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from reeltalk.cli import run
from reeltalk.formats import TRAINING_LAYOUTS, load_format
from reeltalk.formats.training import frame_folder
from reeltalk.formats.training_samples import line_text, read_samples, to_lines
from reeltalk.formats.training_units import Cutter, UnitKind, conversations
from reeltalk.schema.dialogue import Dialogue, DialoguePath, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Encoding, Video
from reeltalk.schema.sft import SampleLimits, most_tokens
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file

SAMPLES = TESTS / "samples"
FILM = Numbered("training-data.mp4", frames=240)
"""Ten seconds of 24 frames each."""


def film() -> tuple[Path, str]:
    path, _ = FILM.make()
    return path, hash_file(path)[0]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A benchmark of a film with two clips: chains, a path, a dialogue; in the train split."""
    path, sha256 = film()
    bounds = [(0.0, 4.0), (4.0, 9.5)]
    content = Content(
        videos=[Video(id="film", sha256=sha256, split="train", duration_s=10.0)],
        clips=[
            Clip(id=f"c{n}", video_id="film", interval=Interval(start_s=a, end_s=b)) for n, (a, b) in enumerate(bounds)
        ],
        chains=[
            QAChain(
                id=f"q{n}", video_id="film", clip_id=f"c{n}",
                turns=tuple(Turn(question=f"Q{n}{m}?", references=(f"A{n}{m}.",)) for m in range(2)),
            )
            for n in range(2)
        ],
        paths=[
            DialoguePath(
                id="p", video_id="film",
                steps=tuple(PathStep(ref=TurnRef(unit_id=f"q{n}", turn_index=m)) for n in range(2) for m in range(2)),
            )
        ],
        dialogues=[
            Dialogue(id="d", video_id="film", turns=(Turn(question="What?", references=("It.",), asked_at_s=2.6),))
        ],
        media={sha256: path},
    )  # fmt: skip
    Benchmark.create(tmp_path / "bench").write_content(content, stage="test")
    return tmp_path / "bench"


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def shape(picture: Path) -> tuple[int, ...]:
    pixels = cv2.imread(str(picture))
    assert pixels is not None
    return tuple(pixels.shape)


def number_in(picture: Path, *, quarter_turns: int = 0) -> int:
    """The number of a frame of a film, in whatever size it is, after it is turned back."""
    pixels = np.rot90(cv2.cvtColor(cv2.imread(str(picture)), cv2.COLOR_BGR2RGB), quarter_turns)
    return number_of(np.asarray(cv2.resize(pixels, (320, 96)), np.uint8))


def test_pictures_are_the_frames_of_their_moments(bench: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(["export", "streamingchat", str(bench), str(out), "--fps", "2", "--size", "320"]) == 0
    [(_, sample)] = read_samples(out / "streamingchat.jsonl")
    assert [frame.at_s for frame in sample.frames] == [n / 2 for n in range(19)]
    for frame in sample.frames:
        assert number_in(out / frame.file) == round((frame.at_s or 0.0) * 24)
        assert shape(out / frame.file) == (320, 320, 3)
    assert [(turn.asked_at_s, len(turn.frames)) for turn in sample.turns] == [(4, 8), (4, 0), (9.5, 11), (9.5, 0)]


def test_the_three_layouts_share_their_pictures(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    for layout, decoded in zip(TRAINING_LAYOUTS, (10, 0, 0), strict=True):
        assert run(["export", layout, str(bench), str(out), "--name", "mine", "--size", "64"]) == 0
        assert f"10 pictures ({decoded} decoded now)" in capsys.readouterr().out
    rows = [lines(out / f"{layout}.jsonl") for layout in TRAINING_LAYOUTS]
    shown = [{image for row in own for image in row.get("image") or row["images"]} for own in rows]
    assert shown[0] == shown[1] == shown[2]
    meta = json.loads((out / "meta.json").read_text(encoding="utf-8"))["mine"]
    assert (meta["annotation"], meta["root"], meta["length"]) == ("streamingchat.jsonl", ".", 1)
    info = json.loads((out / "dataset_info.json").read_text(encoding="utf-8"))["mine"]
    assert (info["file_name"], info["columns"]) == ("sharegpt.jsonl", {"messages": "messages", "images": "images"})
    about = json.loads((out / "trl.about.json").read_text(encoding="utf-8"))
    assert (about["split"], about["options"]["size"], about["answers"]) == (["train"], 64, 4)
    # Where others show them, they are not made anew in another size.
    assert run(["export", "trl", str(bench), str(out), "--size", "32", "--overwrite"]) == 2
    assert "as streamingchat.jsonl, sharegpt.jsonl shows them" in capsys.readouterr().err


def test_no_file_of_an_export_says_where_it_was_made(bench: Path, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]")).save(str(tmp_path / "model" / "tokenizer.json"))
    out = tmp_path / "out"
    for layout in TRAINING_LAYOUTS:
        assert (
            run(["export", layout, str(bench), str(out), "--size", "32", "--tokenizer", str(tmp_path / "model")]) == 0
        )
    for file in (path for path in out.rglob("*") if path.is_file()):
        assert str(tmp_path).encode() not in file.read_bytes(), file
    assert json.loads((out / "trl.about.json").read_text(encoding="utf-8"))["options"]["tokenizer"] == "model"
    moved = out.rename(tmp_path / "moved")
    meta = json.loads((moved / "meta.json").read_text(encoding="utf-8"))["bench"]
    [(_, sample)] = read_samples(moved / meta["annotation"])
    assert all((moved / meta["root"] / frame.file).is_file() for frame in sample.frames)


def test_trl_has_a_row_for_each_answer(bench: Path, tmp_path: Path) -> None:
    assert run(["export", "trl", str(bench), str(tmp_path / "out"), "--size", "32"]) == 0
    rows = lines(tmp_path / "out/trl.jsonl")
    assert [row["completion"][0]["content"][0]["text"] for row in rows] == ["A00.", "A01.", "A10.", "A11."]
    assert [len(row["images"]) for row in rows] == [4, 4, 10, 10]
    assert len({row["id"] for row in rows}) == 4


def test_only_what_is_not_there_is_decoded(bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    command = ["export", "streamingchat", str(bench), str(out), "--size", "64"]
    assert run(command) == 0
    before = (out / "streamingchat.jsonl").read_bytes()
    # As after an interruption: some pictures, and no samples yet.
    (out / "streamingchat.jsonl").unlink()
    for name in ("00003000.jpg", "00008000.jpg"):
        (out / "frames/film" / name).unlink()
    capsys.readouterr()
    assert run(command) == 0
    assert "10 pictures (2 decoded now)" in capsys.readouterr().out
    assert (out / "streamingchat.jsonl").read_bytes() == before
    assert run(command) == 2
    assert "exists; choose another folder or pass --overwrite" in capsys.readouterr().err
    assert run([*command[:-1], "96", "--overwrite"]) == 0
    assert shape(out / "frames/film/00003000.jpg") == (96, 96, 3)


def test_a_conversation_that_is_too_long_is_cut_and_told(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    options = ["--max-frames", "5", "--size", "32"]
    assert run(["export", "streamingchat", str(bench), str(out), *options]) == 0
    told = capsys.readouterr().out
    assert "frames are dropped from segments that alone are too long: 1" in told
    assert "conversations are cut into several samples: 1" in told
    first, second = lines(out / "streamingchat.jsonl")
    assert (len(first["image"]), len(second["image"])) == (4, 5)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--split", "test"], "no video is in split 'test'"),
        (["--units", "scene"], "--units"),
        (["--fps", "0"], "--fps"),
        (["--size", "1"], "--size"),
        (["--mode", "single"], "are for questions only"),
        (["--budget", "300"], "no turn fits a sample"),
        (["--tokenizer", "nowhere"], "no such file or folder (nowhere)"),
        (["--units", "dialogue", "--tasks", "x"], "no dialogue has task 'x'"),
    ],
)
def test_wrong_options_are_refused(
    options: list[str], problem: str, bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", "streamingchat", str(bench), str(tmp_path / "out"), *options]) == 2
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "out/streamingchat.jsonl").exists()


def test_training_options_are_for_training_data(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["export", "vdact", str(bench), str(tmp_path / "out"), "--fps", "2"]) == 2
    assert "for streamingchat, sharegpt, trl only" in capsys.readouterr().err


def test_a_video_that_is_damaged_or_missing_is_named(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, sha256 = film()
    stored = bench / "media" / sha256
    content = stored.read_bytes()
    stored.write_bytes(content[:3000])
    assert run(["export", "trl", str(bench), str(tmp_path / "out")]) == 2
    assert "its content does not have the hash that it is named by" in capsys.readouterr().err
    stored.unlink()
    assert run(["export", "trl", str(bench), str(tmp_path / "out")]) == 2
    assert "1 videos are not available, such as 'film'" in capsys.readouterr().err
    assert run(["export", "trl", str(bench), str(tmp_path / "out"), "--skip-missing"]) == 2
    assert not (tmp_path / "out/trl.jsonl").exists()


def test_the_test_split_is_taken_only_where_it_is_said(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = Benchmark.open(bench).content()
    content.videos = [content.videos[0].model_copy(update={"split": "test"})]
    Benchmark.open(bench).write_content(content, stage="test")
    command = ["export", "sharegpt", str(bench), str(tmp_path / "out"), "--size", "32"]
    assert run(command) == 2
    assert "no video is in split 'train'; the benchmark's splits: test" in capsys.readouterr().err
    assert run([*command, "--split", "test"]) == 0
    assert "do not evaluate a model on it that was trained on it" in capsys.readouterr().err


FOLDERS = {"mt-video-bench-v1": "mt-video-bench", "mt-video-bench-v2": "mt-video-bench", "dstc10": "avsd"}


DECODED = ("svbench", "ovo-bench", "mt-video-bench-v2")
"""Of these, frames are decoded in every run of the tests; of the others in the full one."""


@pytest.mark.parametrize("folder", sorted(path.name for path in SAMPLES.iterdir()))
def test_every_import_can_be_trained_on(folder: str, tmp_path: Path, full: bool) -> None:
    """Each sample of a published layout, with one film in place of all its videos."""
    path, sha256 = film()
    content = load_format(FOLDERS.get(folder, folder)).read(SAMPLES / folder)
    content.videos = [video.model_copy(update={"sha256": sha256, "duration_s": None}) for video in content.videos]
    content.media = {sha256: path}
    units: dict[UnitKind, list[Any]] = {"path": content.paths, "chain": content.chains, "dialogue": content.dialogues}
    kinds = [kind for kind, there in units.items() if any_reference(there, kind)]
    assert kinds or folder in ("folder", "streamingbench")
    for kind in kinds:
        found = conversations(content, units=kind, split="all")
        cutter = Cutter(SampleLimits(max_frames=8), most_tokens)
        samples = [s for one in found.conversations for s in cutter.samples(one, duration_s=10.0, folder="frames/v")]
        assert samples
        file = tmp_path / f"{kind}.jsonl"
        file.write_text("".join(line_text(line) for one in samples for line in to_lines(one, "streamingchat")), "utf-8")
        assert [sample for _, sample in read_samples(file)] == samples
    if kinds and (full or folder in DECODED):
        Benchmark.create(tmp_path / "bench").write_content(content, stage="test")
        command = ["export", "streamingchat", str(tmp_path / "bench"), str(tmp_path / "out"), "--split", "all"]
        assert run([*command, "--size", "16", "--fps", "0.5"]) == 0
        assert all(sample.frames for _, sample in read_samples(tmp_path / "out/streamingchat.jsonl"))


def any_reference(units: list[Any], kind: str) -> bool:
    if kind == "path":
        return bool(units)
    return any(turn.references or turn.correct_option is not None for unit in units for turn in unit.turns)


def test_folders_of_videos_are_names_that_every_file_system_takes() -> None:
    assert frame_folder("house1-0001") == "frames/house1-0001"
    odd = [frame_folder(name) for name in ("../../x", "a/b", "a:b", "été.mp4", "-rf", "x" * 200, "..")]
    assert len(set(odd)) == len(odd)
    for folder in odd:
        name = folder.removeprefix("frames/")
        assert name.replace("-", "").replace("_", "").isalnum()
        assert len(name) < 80
        assert name.isascii()


def test_pictures_stand_upright(bench: Path, tmp_path: Path) -> None:
    path, _ = Numbered("training-turned.mp4", frames=72, rotation_deg=90).make()
    sha256 = hash_file(path)[0]
    content = Benchmark.open(bench).content()
    stored = Encoding(
        container="mov", codec="h264", pixel_format="yuv420p", frames=72, variable_frame_rate=False, rotation_deg=90
    )
    content.videos = [Video(id="film", sha256=sha256, split="train", duration_s=3.0, encoding=stored)]
    content.media = {sha256: path}
    Benchmark.open(bench).write_content(content, stage="test")
    out = tmp_path / "out"
    assert run(["export", "streamingchat", str(bench), str(out), "--size", "320", "--units", "dialogue"]) == 0
    [(_, sample)] = read_samples(out / "streamingchat.jsonl")
    for frame in sample.frames:
        # Turned clockwise by a player, so back by a quarter turn.
        assert number_in(out / frame.file, quarter_turns=1) == (frame.at_s or 0.0) * 24
