"""A filmed household as training data: every answer learnt from frames that were shown before its question."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reeltalk.cli import run
from reeltalk.parallel import LocalExecutor
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.sft import read_samples
from reeltalk.store.tables import DIALOGUES, VIDEOS
from reeltalk.world.film import film
from reeltalk.world.settings import FilmSettings


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("training") / "household"
    film(
        Benchmark.create(folder),
        FilmSettings(scenarios=1, houses=1, seed=5, width_px=320, fps=2),
        executor=LocalExecutor(2),
    )
    assert run(["graph", "questions", str(folder)]) == 0
    return folder


def test_a_household_becomes_training_data(household: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    command = ["export", "streamingchat", str(household), str(out), "--split", "all", "--size", "112"]
    assert run([*command, "--frame-tokens", "64", "--budget", "6000", "--choices", "open"]) == 0
    assert "samples of dialogues" in capsys.readouterr().out
    benchmark = Benchmark.open(household)
    lengths = {video.id: video.duration_s or 0.0 for video in benchmark.read(VIDEOS)}
    asked = {
        (turn.question, turn.references[0])
        for dialogue in benchmark.read(DIALOGUES)
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


def test_a_killed_export_goes_on(household: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "reeltalk", "export", "trl", str(household), str(out), "--split", "all"]
    command += ["--size", "64"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline and not list(out.glob("frames/*/*.jpg")):
        time.sleep(0.005)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    assert list(out.glob("frames/*/*.jpg"))
    if process.returncode != 0:
        assert not (out / "trl.jsonl").exists()
        assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert run(["validate-sft", str(out / "trl.jsonl")]) == 0
    about = json.loads((out / "trl.about.json").read_text(encoding="utf-8"))
    assert about["samples"] == len((out / "trl.jsonl").read_text(encoding="utf-8").splitlines())
