"""TRL and LLaMA-Factory themselves train a tiny checkpoint on our exports, and learn what our own trainer would."""

import ast
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

pytest.importorskip("peft", reason="the train extra is not installed")

import torch
from tiny_checkpoint import save_tiny_checkpoint

from reeltalk.cli import run
from reeltalk.formats.training_samples import read_samples
from reeltalk_streaming.inference.checkpoint import Checkpoint, open_checkpoint
from reeltalk_streaming.training.collate import IGNORED, Collator, SampleLine, Sequence
from reeltalk_streaming.training.lora_training import answer_loss

TRL = ROOT / "build" / "trl" / "venv" / "bin" / "python"
LLAMA_FACTORY = ROOT / "build" / "llama-factory" / "venv" / "bin" / "llamafactory-cli"
STEPS = 5

pytestmark = pytest.mark.slow


@pytest.fixture
def household(copy_of: Any, filmed_household: Path) -> Path:
    folder: Path = copy_of(filmed_household)
    assert run(["graph", "questions", str(folder)]) == 0
    return folder


def exported(layout: str, household: Path, out: Path, *options: str) -> Path:
    limits = ["--size", "32", "--fps", "0.2", "--frame-tokens", "4", "--max-frames", "4", "--name", "kitchen"]
    assert run(["export", layout, str(household), str(out), *limits, *options]) == 0
    return out / f"{layout}.jsonl"


def trained(folder: Path, *command: object) -> subprocess.CompletedProcess[str]:
    """What a trainer printed; it reaches no network, and its home is the folder."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, cwd=folder, env=environment
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


def last_answer(sequence: Sequence) -> Sequence:
    """The sequence with a loss on its last answer only."""
    places = (sequence.labels[0] != IGNORED).nonzero()[:, 0].tolist()
    first = next(at for at in reversed(places) if at - 1 not in places)
    labels = sequence.labels.clone()
    labels[0, :first] = IGNORED
    return Sequence(sequence.inputs, labels, sequence.frames, sequence.name)


def sequences(checkpoint: Checkpoint, file: Path) -> list[Sequence]:
    """A sequence for each answer, after everything before it."""
    collator = Collator(checkpoint, frame_tokens=4)
    parts = [
        (line, sample.model_copy(update={"turns": sample.turns[:count]}))
        for line, sample in read_samples(file)
        for count in range(1, len(sample.turns) + 1)
    ]
    return [collator.collate(SampleLine(sample, file, line), file.parent) for line, sample in parts]


def losses(checkpoint: Checkpoint, rows: list[Sequence]) -> list[float]:
    with torch.no_grad():
        return [answer_loss(checkpoint.model.eval(), row).item() for row in rows]


@pytest.mark.skipif(not TRL.is_file(), reason="no TRL: run make build/trl/ready")
def test_trl_learns_the_answers_of_our_export(household: Path, tmp_path: Path) -> None:
    base = save_tiny_checkpoint(tmp_path / "tiny")
    data = exported("trl", household, tmp_path / "data")
    script = ROOT / "examples" / "train_with_trl.py"
    done = trained(tmp_path, TRL, script, data, base, tmp_path / "tuned", STEPS, 0.003)
    steps = [ast.literal_eval(line) for line in done.stdout.splitlines() if line.startswith("{'loss'")]
    assert len(steps) == STEPS

    before = open_checkpoint(base, purpose="the test")
    read = exported("streamingchat", household, tmp_path / "data")
    rows = [last_answer(row) for row in sequences(before, read)]
    # What TRL learns in its first step is one of our rows, with the loss that we compute for it.
    ours = [
        loss for row, loss in zip(rows, losses(before, rows), strict=True) if row.tokens == int(steps[0]["num_tokens"])
    ]
    assert min(abs(loss - float(steps[0]["loss"])) for loss in ours) < 0.02
    after = open_checkpoint(tmp_path / "tuned", purpose="the test")
    assert sum(losses(after, rows)) < sum(losses(before, rows)) - 0.1 * len(rows)


@pytest.mark.skipif(not LLAMA_FACTORY.is_file(), reason="no LLaMA-Factory: run make build/llama-factory/ready")
def test_llama_factory_learns_the_answers_of_our_export(household: Path, tmp_path: Path) -> None:
    base = save_tiny_checkpoint(tmp_path / "tiny")
    data = exported("sharegpt", household, tmp_path / "data")
    settings = {
        "model_name_or_path": str(base), "stage": "sft", "do_train": True, "finetuning_type": "lora",
        "dataset": "kitchen", "dataset_dir": str(data.parent), "media_dir": str(data.parent), "template": "llava",
        "cutoff_len": 8192, "output_dir": str(tmp_path / "tuned"), "max_steps": STEPS, "learning_rate": 0.01,
        "per_device_train_batch_size": 1, "logging_steps": 1, "use_cpu": True, "report_to": "none",
    }  # fmt: skip
    # JSON is YAML, too.
    (tmp_path / "train.yaml").write_text(json.dumps(settings), encoding="utf-8")
    done = trained(tmp_path, LLAMA_FACTORY, "train", tmp_path / "train.yaml")
    log = (tmp_path / "tuned" / "trainer_log.jsonl").read_text(encoding="utf-8").splitlines()
    found = [row["loss"] for row in map(json.loads, log) if "loss" in row]
    assert len(found) == STEPS
    assert found[-1] < found[0] - 0.1
    # It prints its first sample: all answers have a loss, and nothing else.
    _, sample = next(read_samples(exported("streamingchat", household, data.parent)))
    assert "labels:\n" + "</s>".join(turn.answer for turn in sample.turns) + "</s>\n" in done.stdout + done.stderr
    assert open_checkpoint(tmp_path / "tuned", purpose="the test").base == base
