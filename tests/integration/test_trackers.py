"""trackio, W&B and MLflow themselves are told of a run, without a network, and asked what they know."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reeltalk.analysis.trackers import tracked_models
from reeltalk.cli import run
from reeltalk.store.runs import read_run

ROOT = Path(__file__).parents[2]
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
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), **told}
    done = subprocess.run(
        [PYTHON, *arguments], capture_output=True, text=True, check=False, cwd=folder, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("tracker", ["trackio", "wandb", "mlflow"])
def test_a_tracker_knows_all_numbers_and_curves_once(tracker: str, scored: Path, tmp_path: Path) -> None:
    folder = tmp_path / tracker
    (folder / "site").mkdir(parents=True)
    (folder / "site" / "index.html").write_text("<p>A report.</p>", encoding="utf-8")
    where = {"wandb": str(folder), "mlflow": f"sqlite:///{folder}/mlflow.db"}.get(tracker)
    options = ["--to", tracker, *(["--where", where] if where else []), "--report", str(folder / "site")]
    for number in range(2):
        out = command(folder, "-m", "reeltalk", "publish", str(scored), *options)
        assert out.count("nothing was sent again") == 2 * number
    printed = command(folder, str(ROOT / "tools" / "read_trackers.py"), tracker, where or "", "reeltalk")
    known: dict[str, Any] = json.loads(printed.splitlines()[-1])
    expected = {model.name: model for model in tracked_models(read_run(scored))}
    assert known.keys() == expected.keys()
    for name, model in expected.items():
        numbers, curves = known[name]["numbers"], known[name]["curves"]
        assert {key: numbers[key] for key in model.numbers} == pytest.approx(model.numbers)
        told = {(key, turn): value for turn, values in model.curves for key, value in values.items()}
        found = {(key, turn): value for key, points in curves.items() for turn, value in points}
        assert found == pytest.approx(told)
        assert known[name]["settings"]["model"] == model.settings["model"]
