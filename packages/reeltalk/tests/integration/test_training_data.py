"""A filmed household as training data: every answer learnt from frames that were shown before its question."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import cv2
import pytest
from launched_runs import Launcher

from reeltalk.cli import run
from reeltalk.formats.training_samples import read_samples
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import DIALOGUES, VIDEOS


@pytest.fixture(scope="module")
def household(filmed_household: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("training") / "household"
    shutil.copytree(filmed_household, folder)
    assert run(["graph", "questions", str(folder)]) == 0
    return folder


def test_a_household_becomes_training_data(household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    command = ["export", "streamingchat", str(household), str(out), "--split", "dev", "--size", "112"]
    assert run([*command, "--frame-tokens", "64", "--budget", "6000", "--choices", "open"]) == 0
    assert "samples of dialogues" in capsys.readouterr().out
    benchmark = Benchmark.open(household)
    lengths = {video.id: video.duration_s or 0.0 for video in benchmark.read(VIDEOS) if video.split == "dev"}
    asked = {
        (turn.question, turn.references[0])
        for dialogue in benchmark.read(DIALOGUES)
        if dialogue.video_id in lengths
        for turn in dialogue.turns
        if turn.references
    }
    learnt = set()
    for _, sample in read_samples(out / "streamingchat.jsonl"):
        assert sample.video_id in lengths
        shown_s = -1.0
        for turn in sample.turns:
            learnt.add((turn.question, turn.answer))
            for frame in turn.frames:
                assert (out / frame.file).is_file()
                assert shown_s < (frame.at_s or 0.0) <= (turn.asked_at_s or 0.0) <= lengths[sample.video_id]
                shown_s = frame.at_s or 0.0
    assert learnt == asked


def test_a_killed_export_goes_on(household: Path, runs: Launcher, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["export", "trl", str(household), str(out), "--split", "dev", "--size", "64"]
    process = runs.start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, new_session=True)
    while process.poll() is None and not list(out.glob("frames/*/*.jpg")):
        time.sleep(0.005)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    assert list(out.glob("frames/*/*.jpg"))
    if process.wait() != 0:
        assert not (out / "trl.jsonl").exists()
        assert run(command) == 0
    rows = [json.loads(line) for line in (out / "trl.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all(cv2.imread(str(out / image)) is not None for row in rows for image in row["images"])
    about = json.loads((out / "trl.about.json").read_text(encoding="utf-8"))
    assert about["answers"] == len(rows)


def test_what_was_exported_trains_an_adapter_that_is_evaluated_on_the_same_benchmark(
    household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("reeltalk_streaming.training.lora_training", reason="the train extra is not installed")
    from tiny_architectures import save_tiny

    base, out, trained = save_tiny("internvl", tmp_path / "tiny"), tmp_path / "out", tmp_path / "trained"
    command = ["export", "streamingchat", str(household), str(out), "--split", "dev", "--size", "32", "--fps", "0.1"]
    limits = ["--frame-tokens", "4", "--max-frames", "4"]
    assert run([*command, *limits, "--limit", "2"]) == 0
    learn = ["train", "lora", str(out / "streamingchat.jsonl"), "--base", str(base), "--out", str(trained), "--cpu"]
    capsys.readouterr()
    assert run([*learn, "--frame-tokens", "4", "--max-steps", "2", "--accumulate", "1"]) == 0
    samples = {sample.id: sample for _, sample in read_samples(out / "streamingchat.jsonl")}
    assert f"2 steps on {len(samples):,} samples" in capsys.readouterr().out
    about = json.loads((out / "streamingchat.about.json").read_text(encoding="utf-8"))
    for line in (trained / "loss.jsonl").read_text(encoding="utf-8").splitlines():
        step = json.loads(line)
        (name,) = step["samples"]
        assert step["frames"] == len(samples[name].frames) > 0
        # What the export counts before it cuts holds for what is trained.
        assert step["tokens"] <= about["most_tokens"]

    asked = ["evaluate", str(household), "--model", f"transformers:{trained / 'adapter'}", "--out", str(tmp_path / "e")]
    asked += ["--policy", "uniform", "--frames", "1", "--limit", "1", "--metrics", "none", "--max-reply-tokens", "4"]
    assert run(asked) in (0, 1)
    answers = [json.loads(line) for line in (tmp_path / "e" / "answers.jsonl").read_text().splitlines()]
    assert answers
    assert all(row["model"].startswith("transformers/adapter#") and row["played"]["frames_s"] for row in answers)
