"""Adapters of tiny random checkpoints of real architectures learn dialogues by heart, and a run goes on exactly.

What is trained: LoRA of rank 16 on the linear layers of a frozen random language model, and the projector.
"""

import contextlib
import json
import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("peft", reason="the train extra is not installed")

import torch
from launched_runs import Launcher, launcher_of_tests
from safetensors.torch import load_file
from tiny_architectures import ARCHITECTURES, save_dialogues, save_tiny

from reeltalk.cli import run
from reeltalk.errors import BenchmarkError, InputError, ModelError, SettingError
from reeltalk.schema.sft import LoraSettings
from reeltalk_streaming.inference.checkpoint import Checkpoint, open_checkpoint
from reeltalk_streaming.training import lora, lora_training
from reeltalk_streaming.training.collate import Collator, Dialogues, Sequence
from reeltalk_streaming.training.lora import State, add_lora, linear_layers, merge
from reeltalk_streaming.training.lora_training import LossLog, Trained, train_lora

LEARNING = [pytest.param(name, marks=() if name == "internvl" else pytest.mark.slow) for name in ARCHITECTURES]
UNTRAINED = "holds the random weights"
"""Of the tiny checkpoints of tests."""
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
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "adapter",
        "checkpoints",
        "loss.jsonl",
        "run.json",
    ]

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


@pytest.fixture(scope="module")
def quick(checkpoints: dict[str, Path], data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the settings `QUICK` to its end; copy it before going on with it."""
    folder = tmp_path_factory.mktemp("quick") / "run"
    trained(data, checkpoints["internvl"], folder)
    return folder


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


def test_an_interrupted_run_goes_on_to_the_same_losses(base: Path, data: Path, quick: Path, tmp_path: Path) -> None:
    def press(what: str, done: int, total: int, share: float) -> None:
        if what.startswith("training") and done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trained(data, base, tmp_path / "stopped", progress=press)
    stopped_at = len(losses_of(tmp_path / "stopped"))
    assert 3 <= stopped_at < 6
    resumed = trained(data, base, tmp_path / "stopped")
    assert resumed.resumed_at == stopped_at
    assert resumed.losses == pytest.approx(losses_of(quick), abs=1e-6)
    assert_same_run(tmp_path / "stopped", quick)
    assert len(set(resumed.losses)) == 6


KILLED = """
import os, signal, sys
from pathlib import Path
from reeltalk.schema.sft import LoraSettings
from reeltalk_streaming.training import lora
from reeltalk_streaming.training.lora_training import train_lora

kept = lora.save
def save(out, state, **more):
    # Beyond the second checkpoint; the step after it is in the log and in no checkpoint.
    if state.step == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    kept(out, state, **more)
lora.save = save
data, base, out, *validation = map(Path, sys.argv[2:])
settings = LoraSettings.model_validate_json(sys.argv[1])
train_lora(data, base, out, settings, validation=validation[0] if validation else None, cpu=True)
"""


@pytest.fixture(scope="module")
def starter() -> Iterator[Launcher]:
    """Starts processes that have imported torch already, which takes most of the time of a short training."""
    with launcher_of_tests() as made:
        yield made


def test_a_killed_run_goes_on_from_its_last_checkpoint_to_the_same_losses(
    base: Path, data: Path, quick: Path, starter: Launcher, tmp_path: Path
) -> None:
    (tmp_path / "killed_training.py").write_text(KILLED)
    arguments = (QUICK.model_dump_json(), data, base, tmp_path / "killed")
    with starter.start(*arguments, module="killed_training", cwd=tmp_path) as killed:
        assert killed.wait() == -signal.SIGKILL
    assert len(losses_of(tmp_path / "killed")) == 4
    resumed = trained(data, base, tmp_path / "killed")
    assert resumed.resumed_at == 2
    assert_same_run(tmp_path / "killed", quick)


def by_torch(module: str, arguments: Iterable[object], folder: Path) -> tuple[int, str]:
    """What comes of two processes that torch starts, and what they said."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", module]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(
        [*launch, *map(str, arguments)], capture_output=True, text=True, check=False, env=environment, cwd=folder
    )
    return done.returncode, done.stderr


def by_hand(starter: Launcher, module: str, arguments: Iterable[object], folder: Path) -> tuple[int, str]:
    """The same of two that are started as torch starts them; torch takes longer to start than they take to train."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(probe.getsockname()[1]), "WORLD_SIZE": "2"}
    with contextlib.ExitStack() as stack, (folder / "said.txt").open("w") as said:
        runs = [
            stack.enter_context(
                starter.start(
                    *arguments,
                    module=module,
                    cwd=folder,
                    stdout=said,
                    stderr=said,
                    environment=place | {"LOCAL_WORLD_SIZE": "2", "RANK": str(rank), "LOCAL_RANK": str(rank)},
                )
            )
            for rank in range(2)
        ]
        # Where one ends badly, the other waits for it in vain.
        while not any(run.poll() for run in runs) and any(run.poll() is None for run in runs):
            time.sleep(0.05)
        code = next((run.returncode for run in runs if run.returncode), 0)
    return code, (folder / "said.txt").read_text()


@pytest.mark.slow
def test_two_processes_that_are_killed_and_go_on_train_what_one_does_that_adds_up_twice_as_many_samples(
    base: Path, data: Path, starter: Launcher, tmp_path: Path, full: bool
) -> None:
    # Dropout draws other numbers in each process.
    settings = QUICK.model_copy(update={"dropout": 0.0, "accumulate": 2, "max_steps": 5, "validate_every": 3})
    held_out = save_dialogues(tmp_path / "held-out", count=3)
    one = trained(data, base, tmp_path / "one", settings, validation=held_out)
    (tmp_path / "killed_training.py").write_text(KILLED)
    half = settings.model_copy(update={"accumulate": 1}).model_dump_json()
    launched = by_torch if full else partial(by_hand, starter)
    arguments = (half, data, base, tmp_path / "two", held_out)
    assert launched("killed_training", arguments, tmp_path)[0] != 0
    assert len(losses_of(tmp_path / "two")) == 4
    options = "--cpu --dropout 0 --accumulate 1 --max-steps 5 --learning-rate 0.01 --frame-tokens 6 --save-every 2"
    command = ("train", "lora", data, "--base", base, "--out", tmp_path / "two", *options.split())
    code, said = launched("reeltalk", (*command, "--validation", held_out, "--validate-every", "3"), tmp_path)
    assert code == 0, said[-3000:]
    assert "went on after step 3" in said
    assert json.loads((tmp_path / "two" / "run.json").read_text())["begun"]["processes"] == 2
    assert losses_of(tmp_path / "two") == pytest.approx(one.losses, abs=1e-5)
    # Two processes share three samples, so one of them has one more than the other.
    assert validations_of(tmp_path / "two") == pytest.approx(validations_of(tmp_path / "one"), abs=1e-5)
    assert list(validations_of(tmp_path / "two")) == [3, 5]


def test_a_finished_run_goes_on_to_more_steps_as_if_nothing_had_been_between(
    base: Path, data: Path, quick: Path, tmp_path: Path
) -> None:
    shutil.copytree(quick, tmp_path / "run")
    told: list[str] = []
    longer = QUICK.model_copy(update={"max_steps": 10})
    ten = trained(data, base, tmp_path / "run", longer, tell=told.append)
    assert (ten.resumed_at, ten.steps, len(ten.losses)) == (6, 10, 10)
    assert ten.losses[:6] == losses_of(quick)
    rows = [json.loads(line) for line in (tmp_path / "run" / "loss.jsonl").read_text().splitlines()]
    rates = [row["learning_rate"] for row in rows]
    assert rates[5] < rates[6] == pytest.approx(0.01 * 0.5 * (1 + math.cos(math.pi * 5 / 9)))
    assert [line for line in told if UNTRAINED not in line] == [
        "the run was done after step 6 and goes on to step 10; the learning rate follows the curve of 10 steps from "
        f"here on: {rates[6]:.2g}"
    ]

    # Interrupted in the steps that were added, and gone on with.
    shutil.copytree(quick, tmp_path / "other")

    def press(what: str, done: int, total: int, share: float) -> None:
        if what == "training" and done == 8:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trained(data, base, tmp_path / "other", longer, progress=press)
    with pytest.raises(SettingError, match=r"begun with something else: max steps 6, was 10"):
        trained(data, base, tmp_path / "other")
    again = trained(data, base, tmp_path / "other", longer)
    assert 8 <= again.resumed_at < 10
    assert again.losses == ten.losses
    assert_same_run(tmp_path / "other", tmp_path / "run")


def test_a_finished_run_does_not_become_shorter_and_needs_its_last_state(
    base: Path, data: Path, quick: Path, tmp_path: Path
) -> None:
    shutil.copytree(quick, tmp_path / "run")
    for settings in (QUICK, QUICK.model_copy(update={"max_steps": 5}), QUICK.model_copy(update={"patience": None})):
        with pytest.raises(BenchmarkError, match="is done after 6 steps"):
            trained(data, base, tmp_path / "run", settings)
    with pytest.raises(SettingError, match="seed 18, was 17"):
        trained(data, base, tmp_path / "run", QUICK.model_copy(update={"max_steps": 9, "seed": 18}))
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    with pytest.raises(BenchmarkError, match="its last state is not there any more"):
        trained(data, base, tmp_path / "run", QUICK.model_copy(update={"max_steps": 9}))


@pytest.fixture(scope="module")
def lessons(full: bool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is learnt where validation is watched."""
    return save_dialogues(tmp_path_factory.mktemp("lessons"), count=lessons_count(full))


def lessons_count(full: bool) -> int:
    return 4 if full else 2


@pytest.fixture(scope="module")
def held_out(full: bool, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The questions of `lessons` with the answers to others, so that learning makes their loss rise in the end."""
    file = save_dialogues(tmp_path_factory.mktemp("held-out"), count=lessons_count(full))
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    answers = [[said["value"] for said in row["conversations"][1::2]] for row in rows]
    for row, theirs in zip(rows, answers[1:] + answers[:1], strict=True):
        for said, answer in zip(row["conversations"][1::2], theirs, strict=True):
            said["value"] = answer
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


@pytest.fixture(scope="module")
def watched(full: bool) -> LoraSettings:
    """Settings of runs on `lessons`: every step takes all of them."""
    return LoraSettings(
        max_steps=24, accumulate=lessons_count(full), learning_rate=0.02, dropout=0.0, weight_decay=0.0,
        frame_tokens=6, validate_every=4,
    )  # fmt: skip


@pytest.fixture(scope="module")
def learnt(
    checkpoints: dict[str, Path],
    lessons: Path,
    held_out: Path,
    watched: LoraSettings,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Trained, Path]:
    """A run of the settings `watched` to its end, measured on `held_out`, and its folder."""
    folder = tmp_path_factory.mktemp("learnt") / "run"
    return trained(lessons, checkpoints["internvl"], folder, watched, validation=held_out), folder


def validations_of(run: Path) -> dict[int, float]:
    rows = [json.loads(line) for line in (run / "loss.jsonl").read_text().splitlines()]
    return {row["step"]: row["validation_loss"] for row in rows if "validation_loss" in row}


def test_the_adapter_with_the_lowest_validation_loss_is_kept_and_so_is_the_last(
    base: Path,
    lessons: Path,
    held_out: Path,
    watched: LoraSettings,
    learnt: tuple[Trained, Path],
    tmp_path: Path,
) -> None:
    done, run_folder = learnt
    found = validations_of(run_folder)
    assert list(found) == [4, 8, 12, 16, 20, 24]
    assert done.best is not None
    assert done.best.step < 24, "these answers are wrong, so learning must harm in the end"
    assert done.best.loss == min(found.values())

    def loss(folder: Path) -> float:
        tuned = open_checkpoint(folder, purpose="the test")
        dialogues, collator = Dialogues.read(held_out), Collator(tuned, frame_tokens=6)
        with torch.no_grad():
            losses = [
                float(lora_training.answer_loss(tuned.model.eval(), collator.collate(row, dialogues.root)))
                for row in dialogues.rows
            ]
        return sum(losses) / len(losses)

    assert loss(done.adapter) == pytest.approx(found[done.best.step], abs=1e-4)
    assert loss(done.state) == pytest.approx(found[24], abs=1e-4)
    about = json.loads((run_folder / "run.json").read_text())
    assert about["best"] == {"step": done.best.step, "loss": done.best.loss}
    # Measuring changes no step.
    alone = watched.model_copy(update={"validate_every": LoraSettings().validate_every})
    assert losses_of(run_folder) == trained(lessons, base, tmp_path / "alone", alone).losses


def test_a_run_stops_where_validation_gets_no_better_and_goes_on_with_more_patience(
    base: Path,
    lessons: Path,
    held_out: Path,
    watched: LoraSettings,
    learnt: tuple[Trained, Path],
    tmp_path: Path,
) -> None:
    impatient = watched.model_copy(update={"patience": 2})
    done = trained(lessons, base, tmp_path / "run", impatient, validation=held_out)
    assert done.best is not None
    assert done.stopped_early
    assert done.steps == done.best.step + 8 < 24
    assert json.loads((tmp_path / "run" / "run.json").read_text())["stopped_early"]
    with pytest.raises(BenchmarkError, match="is done after"):
        trained(lessons, base, tmp_path / "run", impatient, validation=held_out)
    whole, whole_folder = learnt
    further = trained(lessons, base, tmp_path / "run", watched, validation=held_out)
    assert (further.resumed_at, further.steps, further.stopped_early) == (done.steps, 24, False)
    assert further.losses == whole.losses
    assert further.validations == whole.validations
    assert_same_run(tmp_path / "run", whole_folder)
    with pytest.raises(SettingError, match="--patience needs --validation"):
        trained(lessons, base, tmp_path / "none", impatient)


def test_a_run_that_is_killed_before_the_best_adapter_is_in_place_goes_on_to_the_same_one(
    base: Path,
    lessons: Path,
    held_out: Path,
    watched: LoraSettings,
    learnt: tuple[Trained, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, whole_folder = learnt
    assert whole.best is not None

    def killed(loop: lora_training.Loop) -> None:
        raise SystemExit

    monkeypatch.setattr(lora_training.Loop, "keep_adapter", killed)
    with pytest.raises(SystemExit):
        trained(lessons, base, tmp_path / "run", watched, validation=held_out)
    monkeypatch.undo()
    assert not (tmp_path / "run" / "adapter").exists()
    again = trained(lessons, base, tmp_path / "run", watched, validation=held_out)
    assert again.resumed_at == 4
    assert again.validations == whole.validations
    assert_same_run(tmp_path / "run", whole_folder)


def test_the_command_shows_its_numbers_and_says_which_adapter_was_kept(
    base: Path, lessons: Path, held_out: Path, tmp_path: Path, full: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    command = ["train", "lora", str(lessons), "--base", str(base), "--out", str(out), "--frame-tokens", "6", "--cpu"]
    command += ["--validation", str(held_out), "--validate-every", "4", "--learning-rate", "0.02"]
    command += ["--accumulate", str(lessons_count(full))]
    command += ["--dropout", "0", "--weight-decay", "0"]
    assert run([*command, "--max-steps", "24", "--patience", "2"]) == 0
    said, found = capsys.readouterr().out, validations_of(out)
    best, last = min(found, key=lambda step: found[step]), max(found)
    assert "stopped early, as 2 validations in a row were no better" in said
    assert f"adapter: {out / 'adapter'}, the best: step {best}, validation loss {found[best]:.4f}" in said
    assert f"the last: {out / 'checkpoints' / f'step-{last:08d}'}" in said
    assert run([*command, "--max-steps", "28"]) == 0
    progress = capsys.readouterr().err
    assert f"the run was done after step {last} and goes on to step 28" in progress
    numbers = r"loss [\d.]+, validation [\d.]+, lr [\d.e-]+, [\d,.]+ frames/s, [\d,]+ tokens/s"
    assert re.search(rf"^training: 28 of 28, {numbers}$", progress, re.MULTILINE)


def test_validation_on_what_is_trained_on_is_refused_or_told(base: Path, data: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="holds the training data"):
        trained(data, base, tmp_path / "run", validation=data)
    files = []
    for name in ("learnt", "asked"):
        file = save_dialogues(tmp_path / name, count=2)
        rows = [json.loads(line) | {"video_id": "film"} for line in file.read_text().splitlines()]
        rows[1] |= {"video_id": name}
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        files.append(file)
    told: list[str] = []
    trained(files[0], base, tmp_path / "run", validation=files[1], tell=told.append)
    assert [line for line in told if UNTRAINED not in line] == [
        "warning: 1 of 2 validation samples are about videos that are trained on, so their loss is too low; take a "
        "split of other videos"
    ]


def test_a_run_that_is_done_or_begun_otherwise_is_not_overwritten(base: Path, data: Path, tmp_path: Path) -> None:
    short = QUICK.model_copy(update={"max_steps": 1})
    trained(data, base, tmp_path / "run", short)
    with pytest.raises(BenchmarkError, match=r"is done after 1 steps; pass a larger --max-steps"):
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


def test_half_precision_and_checkpointed_gradients_learn_as_well(
    base: Path, data: Path, tmp_path: Path, full: bool
) -> None:
    steps = 12 if full else 4
    settings = QUICK.model_copy(
        update={"max_steps": steps, "accumulate": 4, "precision": "bfloat16", "gradient_checkpointing": True}
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
