"""trackio, W&B and MLflow themselves are told of runs and trainings, without a network, and asked what they know."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from places import PYTHONPATH, ROOT
from tiny_architectures import save_dialogues

from reeltalk.analysis.trackers import model_numbers
from reeltalk.cli import run
from reeltalk.store.runs import read_run

PYTHON = ROOT / "build" / "trackers" / "venv" / "bin" / "python"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.is_file(), reason="no trackers: run make build/trackers/ready"),
]


@pytest.fixture
def scored(samples: Path, tmp_path: Path) -> Path:
    answers = sorted(map(str, (samples / "vdact" / "results").glob("*.json")))
    metrics = ["--format", "vdact", "--metrics", "rouge_l,token_f1"]
    assert run(["score", *answers, *metrics, "--out", str(tmp_path / "run")]) == 0
    return tmp_path / "run"


def command(folder: Path, *arguments: str) -> str:
    told = {"TRACKIO_DIR": str(folder / "trackio"), "HF_HUB_OFFLINE": "1", "HOME": str(folder)}
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": PYTHONPATH, **told}
    done = subprocess.run(
        [PYTHON, *arguments], capture_output=True, text=True, check=False, cwd=folder, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("tracker", ["trackio", "wandb", "mlflow"])
def test_a_tracker_knows_all_numbers_and_curves(tracker: str, scored: Path, tmp_path: Path) -> None:
    folder = tmp_path / tracker
    folder.mkdir()
    where = {"wandb": str(folder), "mlflow": f"sqlite:///{folder}/mlflow.db"}.get(tracker)
    options = ["--to", tracker, *(["--where", where] if where else [])]
    command(folder, "-m", "reeltalk", "publish", str(scored), *options)
    printed = command(folder, str(ROOT / "tools" / "read_trackers.py"), tracker, where or "", "reeltalk")
    known: dict[str, Any] = json.loads(printed.splitlines()[-1])
    sent = read_run(scored)
    expected = {f"{sent.name} {info.model}": info.model for info in sent.info.models}
    assert known.keys() == expected.keys()
    for name, model in expected.items():
        numbers, curves = known[name]["numbers"], known[name]["curves"]
        steps = model_numbers(sent, model)
        own = steps.pop(0)
        assert {key: numbers[key] for key in own} == pytest.approx(own)
        told = {(key, turn): value for turn, values in steps.items() for key, value in values.items()}
        found = {(key, turn): value for key, points in curves.items() for turn, value in points}
        assert found == pytest.approx(told)
        assert known[name]["settings"]["model"] == model


@pytest.mark.parametrize("tracker", ["trackio", "wandb", "mlflow"])
def test_a_tracker_follows_a_training_step_by_step(tracker: str, tmp_path: Path) -> None:
    base = tmp_path / "tiny"
    command(tmp_path, str(ROOT / "tools" / "tiny_architectures.py"), "internvl", str(base))
    data, held_out = save_dialogues(tmp_path / "data"), save_dialogues(tmp_path / "held-out", count=2)
    folder = tmp_path / tracker
    folder.mkdir()
    where = {"wandb": str(folder), "mlflow": f"sqlite:///{folder}/mlflow.db"}.get(tracker)
    learn = [
        "train",
        "lora",
        str(data),
        "--base",
        str(base),
        "--out",
        str(folder / "tuned"),
        "--frame-tokens",
        "6",
        "--cpu",
    ]
    learn += ["--validation", str(held_out), "--validate-every", "2", "--accumulate", "2"]
    track = ["--track", tracker, "--project", "kitchen", *(["--where", where] if where else [])]
    told = command(folder, "-m", "reeltalk", *learn, *track, "--max-steps", "4")
    assert told.startswith("4 steps on 4 samples"), "standard output is for results"
    command(folder, "-m", "reeltalk", *learn, *track, "--max-steps", "5")

    printed = command(folder, str(ROOT / "tools" / "read_trackers.py"), tracker, where or "", "kitchen")
    known: dict[str, Any] = json.loads(printed.splitlines()[-1])
    assert sorted(known) == ["tuned", "tuned from step 4"]
    rows = [json.loads(line) for line in (folder / "tuned" / "loss.jsonl").read_text(encoding="utf-8").splitlines()]
    for name, steps in (("tuned", rows[:4]), ("tuned from step 4", rows[4:])):
        for key in ("loss", "learning_rate", "gradient"):
            expected = [[row["step"], pytest.approx(row[key])] for row in steps]
            assert known[name]["curves"][f"train/{key}"] == expected
        assert all(speed > 0 for _, speed in known[name]["curves"]["train/frames_per_s"])
        validated = [row for row in steps if "validation_loss" in row]
        expected = [[row["step"], pytest.approx(row["validation_loss"])] for row in validated]
        assert known[name]["curves"]["validation/loss"] == expected
    assert str(known["tuned"]["settings"]["rank"]) == "16"
