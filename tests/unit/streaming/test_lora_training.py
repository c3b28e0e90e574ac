"""Adapters of tiny random checkpoints of real architectures learn dialogues by heart, and a run goes on exactly.

What is trained: LoRA of rank 16 on the linear layers of a frozen random language model, and the projector.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("peft", reason="the train extra is not installed")

import torch
from safetensors.torch import load_file
from tiny_architectures import ARCHITECTURES, save_dialogues, save_tiny

from reeltalk.errors import BenchmarkError, InputError, ModelError, SettingError
from reeltalk.inference.checkpoint import Checkpoint, open_checkpoint
from reeltalk.schema.sft import LoraSettings
from reeltalk.streaming import lora, lora_training
from reeltalk.streaming.collate import Collator, Dialogues, Sequence
from reeltalk.streaming.lora import State, add_lora, linear_layers, merge
from reeltalk.streaming.lora_training import LossLog, Trained, train_lora

LEARNING = [pytest.param(name, marks=() if name == "internvl" else pytest.mark.slow) for name in ARCHITECTURES]
QUICK = LoraSettings(max_steps=6, accumulate=2, learning_rate=0.01, frame_tokens=6, save_every=2)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_dialogues(tmp_path_factory.mktemp("dialogues"))


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("checkpoints")
    return {name: save_tiny(name, root / name) for name in ARCHITECTURES}


@pytest.fixture
def base(checkpoints: dict[str, Path]) -> Path:
    return checkpoints["internvl"]


def trained(data: Path, base: Path, out: Path, settings: LoraSettings = QUICK, **more: Any) -> Trained:
    return train_lora(data, base, out, settings, cpu=True, **more)


def a_sequence(checkpoint: Checkpoint, data: Path) -> Sequence:
    dialogues = Dialogues.read(data)
    return Collator(checkpoint, frame_tokens=6).collate(dialogues.rows[0], dialogues.root)


def scores(checkpoint: Checkpoint, data: Path) -> torch.Tensor:
    with torch.no_grad():
        found: torch.Tensor = checkpoint.model.eval()(**a_sequence(checkpoint, data).inputs).logits
    return found


@pytest.mark.parametrize("architecture", LEARNING)
def test_four_dialogues_are_learnt_by_heart_and_come_back_from_disk(
    architecture: str, checkpoints: dict[str, Path], data: Path, tmp_path: Path
) -> None:
    base = checkpoints[architecture]
    settings = LoraSettings(
        rank=16, dropout=0.0, learning_rate=0.02, weight_decay=0.0, max_steps=48, accumulate=4, frame_tokens=6
    )
    done = trained(data, base, tmp_path / "run", settings)
    assert done.losses[0] > 2
    assert done.losses[-1] < 0.05
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["adapter", "loss.jsonl", "run.json"]

    tuned = open_checkpoint(done.adapter, purpose="the test")
    before = scores(tuned, data)
    again = scores(open_checkpoint(done.adapter, purpose="the test"), data)
    assert torch.equal(before, again)
    assert lora_training.answer_loss(tuned.model, a_sequence(tuned, data)).item() < 0.1

    merged = open_checkpoint(merge(done.adapter, tmp_path / "merged"), purpose="the test")
    assert type(merged.model).__name__ == type(open_checkpoint(base, purpose="the test").model).__name__
    after = scores(merged, data)
    assert (after - before).abs().max() < 1e-4
    assert (after - scores(open_checkpoint(base, purpose="the test"), data)).abs().max() > 1


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_adapters_are_on_every_linear_layer_of_the_language_model_and_the_encoder_is_frozen(
    architecture: str, checkpoints: dict[str, Path]
) -> None:
    checkpoint = open_checkpoint(checkpoints[architecture], purpose="the test")
    model = checkpoint.model
    layers = linear_layers(model, model.get_decoder())
    kinds = {name.rpartition(".")[2] for name in layers}
    assert kinds == {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}
    assert len(layers) == 2 * 7
    adapted = add_lora(checkpoint, rank=4, dropout=0.05, train_projector=False)
    learnt = [name for name, weight in adapted.named_parameters() if weight.requires_grad]
    assert len(learnt) == 2 * len(layers)
    assert all("lora_" in name for name in learnt)
    assert adapted.peft_config["default"].lora_alpha == 8


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_projector_is_trained_where_that_is_asked_for(architecture: str, checkpoints: dict[str, Path]) -> None:
    adapted = add_lora(
        open_checkpoint(checkpoints[architecture], purpose="the test"), rank=4, dropout=0.05, train_projector=True
    )
    others = {name for name, weight in adapted.named_parameters() if weight.requires_grad and "lora_" not in name}
    assert others
    assert all("modules_to_save" in name for name in others)


def losses_of(run: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (run / "loss.jsonl").read_text().splitlines()]


def weights_of(run: Path) -> dict[str, torch.Tensor]:
    found: dict[str, torch.Tensor] = load_file(run / "adapter" / "adapter_model.safetensors")
    return found


def assert_same_run(run: Path, other: Path) -> None:
    assert losses_of(run) == pytest.approx(losses_of(other), abs=1e-6)
    weights, others = weights_of(run), weights_of(other)
    assert weights.keys() == others.keys()
    assert all((weights[name] - others[name]).abs().max() < 1e-6 for name in weights)


def test_an_interrupted_run_goes_on_to_the_same_losses(base: Path, data: Path, tmp_path: Path) -> None:
    whole = trained(data, base, tmp_path / "whole")

    def press(what: str, done: int, total: int, share: float) -> None:
        if what.startswith("training") and done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trained(data, base, tmp_path / "stopped", progress=press)
    stopped_at = len(losses_of(tmp_path / "stopped"))
    assert 3 <= stopped_at < 6
    resumed = trained(data, base, tmp_path / "stopped")
    assert resumed.resumed_at == stopped_at
    assert resumed.losses == pytest.approx(whole.losses, abs=1e-6)
    assert_same_run(tmp_path / "stopped", tmp_path / "whole")
    assert len(set(whole.losses)) == 6


KILLED = """
import os, signal, sys
from pathlib import Path
from reeltalk.schema.sft import LoraSettings
from reeltalk.streaming import lora
from reeltalk.streaming.lora_training import train_lora

kept = lora.save
def save(out, state, **more):
    # Beyond the second checkpoint; the step after it is in the log and in no checkpoint.
    if state.step == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    kept(out, state, **more)
lora.save = save
data, base, out = map(Path, sys.argv[1:4])
train_lora(data, base, out, LoraSettings.model_validate_json(sys.argv[4]), cpu=True)
"""


def test_a_killed_run_goes_on_from_its_last_checkpoint_to_the_same_losses(
    base: Path, data: Path, tmp_path: Path
) -> None:
    trained(data, base, tmp_path / "whole")
    arguments = [str(data), str(base), str(tmp_path / "killed"), QUICK.model_dump_json()]
    killed = subprocess.run([sys.executable, "-c", KILLED, *arguments], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()[-2000:]
    assert len(losses_of(tmp_path / "killed")) == 4
    resumed = trained(data, base, tmp_path / "killed")
    assert resumed.resumed_at == 2
    assert_same_run(tmp_path / "killed", tmp_path / "whole")


def test_two_processes_that_are_killed_and_go_on_train_what_one_does_that_adds_up_twice_as_many_samples(
    base: Path, data: Path, tmp_path: Path
) -> None:
    # Dropout draws other numbers in each process.
    settings = QUICK.model_copy(update={"dropout": 0.0, "accumulate": 2, "max_steps": 5})
    one = trained(data, base, tmp_path / "one", settings)
    (tmp_path / "killed.py").write_text(KILLED)
    half = settings.model_copy(update={"accumulate": 1}).model_dump_json()

    def launched(*command: object) -> subprocess.CompletedProcess[bytes]:
        launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        return subprocess.run([*launch, *map(str, command)], capture_output=True, check=False, env=environment)

    assert launched(tmp_path / "killed.py", data, base, tmp_path / "two", half).returncode != 0
    assert len(losses_of(tmp_path / "two")) == 4
    options = "--cpu --dropout 0 --accumulate 1 --max-steps 5 --learning-rate 0.01 --frame-tokens 6 --save-every 2"
    command = ["-m", "reeltalk", "train", "lora", data, "--base", base, "--out", tmp_path / "two", *options.split()]
    done = launched(*command)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    assert b"went on after step 2" in done.stderr
    assert json.loads((tmp_path / "two" / "run.json").read_text())["begun"]["processes"] == 2
    assert losses_of(tmp_path / "two") == pytest.approx(one.losses, abs=1e-5)


def test_a_run_that_is_done_or_begun_otherwise_is_not_overwritten(base: Path, data: Path, tmp_path: Path) -> None:
    short = QUICK.model_copy(update={"max_steps": 1})
    trained(data, base, tmp_path / "run", short)
    with pytest.raises(BenchmarkError, match=r"is done; choose another --out"):
        trained(data, base, tmp_path / "run", short)
    trained(data, base, tmp_path / "run", short, overwrite=True)

    def press(what: str, done: int, total: int, share: float) -> None:
        if what.startswith("training") and done == 1:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trained(data, base, tmp_path / "other", progress=press)
    with pytest.raises(SettingError, match=r"begun with something else: rank 8, was 16"):
        trained(data, base, tmp_path / "other", QUICK.model_copy(update={"rank": 8}))
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(BenchmarkError, match="exists and is no run"):
        trained(data, base, tmp_path / "photos")


def test_a_run_stays_where_what_shall_replace_it_cannot_begin(base: Path, data: Path, tmp_path: Path) -> None:
    short = QUICK.model_copy(update={"max_steps": 0})
    done = trained(data, base, tmp_path / "run", short)
    with pytest.raises(InputError, match="no such folder"):
        trained(data, tmp_path / "mistyped", tmp_path / "run", short, overwrite=True)
    narrow = short.model_copy(update={"max_tokens": 16, "over_budget": "skip"})
    with pytest.raises(InputError, match="no sample has at most 16 tokens"):
        trained(data, base, tmp_path / "run", narrow, overwrite=True)
    assert (tmp_path / "run" / "run.json").is_file()
    assert weights_of(tmp_path / "run")
    assert done.adapter.is_dir()


def test_losses_that_a_checkpoint_knows_and_the_log_lacks_are_told(tmp_path: Path) -> None:
    log = LossLog(tmp_path / "loss.jsonl", keep=0)
    for loss in (3.0, 2.0, 1.0):
        log.add({"loss": loss})
    assert LossLog(tmp_path / "loss.jsonl", keep=2).losses == [3.0, 2.0]
    with pytest.raises(InputError, match="holds 2 of the 3 steps"):
        LossLog(tmp_path / "loss.jsonl", keep=3)


def test_no_steps_leave_an_adapter_that_changes_nothing(base: Path, data: Path, tmp_path: Path) -> None:
    done = trained(data, base, tmp_path / "run", QUICK.model_copy(update={"max_steps": 0}))
    adapted = scores(open_checkpoint(done.adapter, purpose="the test"), data)
    assert torch.allclose(adapted, scores(open_checkpoint(base, purpose="the test"), data), atol=1e-6)


def test_half_precision_and_checkpointed_gradients_learn_as_well(base: Path, data: Path, tmp_path: Path) -> None:
    settings = QUICK.model_copy(
        update={"max_steps": 12, "accumulate": 4, "precision": "bfloat16", "gradient_checkpointing": True}
    )
    done = trained(data, base, tmp_path / "run", settings)
    assert done.losses[-1] < done.losses[0] - 2
    assert {weight.dtype for weight in weights_of(tmp_path / "run").values()} == {torch.float32}


def test_a_loss_that_is_no_number_names_step_and_sample_and_keeps_the_last_checkpoint(
    base: Path, data: Path, tmp_path: Path
) -> None:
    wild = QUICK.model_copy(update={"save_every": 1})
    save = lora.save

    def diverging(out: Path, state: State, *, model: Any, **more: Any) -> None:
        save(out, state, model=model, **more)
        if state.step == 4:
            with torch.no_grad():
                for weight in model.parameters():
                    if weight.requires_grad:
                        weight.fill_(float("inf"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lora, "save", diverging)
        told = r"no number any more in step 5 at sample 'dialogue-\d'; the checkpoint of step 4 .* is kept"
        with pytest.raises(ModelError, match=told):
            trained(data, base, tmp_path / "run", wild)
    assert len(losses_of(tmp_path / "run")) == 4
    resumed = trained(data, base, tmp_path / "run", wild)
    assert (resumed.resumed_at, resumed.steps) == (4, 6)


def test_missing_memory_is_told_with_what_helps(
    base: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    monkeypatch.setattr(lora_training, "answer_loss", full)
    with pytest.raises(ModelError, match=r"memory does not suffice for a step.*--gradient-checkpointing"):
        trained(data, base, tmp_path / "run")
    monkeypatch.undo()
    assert trained(data, base, tmp_path / "run").steps == 6


def test_a_damaged_checkpoint_is_an_input_error(base: Path, data: Path, tmp_path: Path) -> None:
    def press(what: str, done: int, total: int, share: float) -> None:
        if what.startswith("training") and done == 1:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trained(data, base, tmp_path / "run", progress=press)
    (kept,) = (tmp_path / "run" / "checkpoints").glob("step-*")
    (kept / "optimizer.safetensors").write_bytes(b"short")
    with pytest.raises(InputError, match=r"cannot be read.*optimizer\.safetensors"):
        trained(data, base, tmp_path / "run")
    (kept / "state.json").write_text("{}")
    with pytest.raises(InputError, match="no checkpoint of this version"):
        trained(data, base, tmp_path / "run")
