"""Trains an adapter in a run that can be resumed, and writes `adapter/`, `loss.jsonl`, `run.json` and its last state.

    sequences of `accumulate` samples -> loss on answers -> gradient -> clipped -> AdamW -> a line in loss.jsonl

With validation data, `adapter/` is the adapter with the lowest loss on them; otherwise it is that of the last step.
`checkpoints/` holds the state after the last step, also of a finished run, so that a run can get more steps.

accelerate places tensors, shares gradients between processes and, if its own configuration says so, distributes weights
over them (FSDP). Everything else is here.
"""

import contextlib
import dataclasses
import json
import math
import os
import platform
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError, InputError, MissingExtraError, ModelError, SettingError
from reeltalk.progress import Progress, Tell, ignore_sentences
from reeltalk.schema.sft import LoraSettings, check_training_options
from reeltalk.store.atomic import storage_errors, write_bytes, writing_directory
from reeltalk_streaming.inference.checkpoint import (
    ADAPTER_CONFIG,
    Checkpoint,
    TuningRecord,
    checkpoint_hash,
    load_error_text,
    open_checkpoint,
    within_memory,
)
from reeltalk_streaming.training import lora
from reeltalk_streaming.training.collate import IGNORED, Collator, Dialogues, Sequence
from reeltalk_streaming.training.lora import RunInputs, State, add_lora
from reeltalk_streaming.training.schedule import rate_at

LOSSES: Final = "loss.jsonl"
RUN: Final = "run.json"
PACKAGES: Final = ("torch", "transformers", "peft", "accelerate", "safetensors")


class Validation(NamedTuple):
    """The loss on the validation data after a step."""

    step: int
    loss: float


class LossLog:
    """Writes a line of JSON at the end of each step.

    Args:
        file: It is created, or cut after the last step of the checkpoint.
        keep: Number of steps in the checkpoint.
        write: False in all processes but one.

    Raises:
        InputError: It lacks steps of the checkpoint.
    """

    def __init__(self, file: Path, *, keep: int, write: bool = True) -> None:
        self._file, self._write = file, write
        self.losses: list[float] = []
        self.validations: list[Validation] = []
        kept: list[str] = []
        if keep and file.is_file():
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()[:keep], 1):
                try:
                    self._note(json.loads(line), number)
                except (ValueError, KeyError, TypeError) as error:
                    raise InputError(
                        "is no line of losses", file=file, line=number, hint="pass --overwrite to begin anew"
                    ) from error
                kept.append(line + "\n")
        if len(kept) < keep:
            raise InputError(
                f"holds {len(kept):,} of the {keep:,} steps that the checkpoint knows",
                file=file,
                hint="put the whole file back, or pass --overwrite to begin anew",
            )
        if write:
            write_bytes(file, "".join(kept).encode())

    @property
    def best(self) -> Validation | None:
        """The validation with the lowest loss, the first of equal ones."""
        return min(self.validations, key=lambda one: one.loss, default=None)

    @property
    def since_best(self) -> int:
        """Validations after the best one."""
        return len(self.validations) - self.validations.index(self.best) - 1 if self.best else 0

    def add(self, row: dict[str, Any]) -> None:
        """Appends the results of a step."""
        self._note(row, len(self.losses) + 1)
        if self._write:
            with storage_errors(self._file), self._file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
                stream.flush()
                # A checkpoint survives a power cut, so the lines of its steps must too.
                os.fsync(stream.fileno())

    def _note(self, row: dict[str, Any], step: int) -> None:
        self.losses.append(float(row["loss"]))
        if "validation_loss" in row:
            self.validations.append(Validation(step, float(row["validation_loss"])))


class TrainingWatcher(Protocol):
    """Follows a training while it runs, in one process."""

    def step(self, row: dict[str, Any]) -> None:
        """A step is done; `row` is its line in `loss.jsonl`."""

    def validating(self, done: int, samples: int) -> None:
        """So many of the validation samples are done."""


def write_training_run(out: Path, row: dict[str, Any]) -> None:
    """Writes `run.json`: the given row, and the versions of the packages."""
    versions = {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}
    whole = {"layout": "reeltalk-lora-run-1", "reeltalk": __version__, "versions": versions, **row}
    write_bytes(out / RUN, (json.dumps(whole, indent=2, ensure_ascii=False) + "\n").encode())


DRAWN_FOR_STEP: Final = 2
"""Separates the random numbers of a step from other random numbers of the same seed."""
OUT_OF_MEMORY: Final = (
    "the memory does not suffice for a step; the last checkpoint is kept. Try --gradient-checkpointing, --precision "
    "bfloat16, samples with fewer frames (export with a smaller token budget), a smaller --rank, or several GPUs with "
    "FSDP, and begin anew"
)


def answer_loss(model: Any, sequence: Sequence) -> Tensor:
    """Mean cross-entropy of the answers' tokens, in nats.

    Only the positions before the answers' tokens get scores for the whole vocabulary. For 25,000 tokens of frames and a
    vocabulary of 150,000, all scores would take 15 GB.
    """
    targets = sequence.labels[0, 1:]
    places = (targets != IGNORED).nonzero()[:, 0]
    scores = model(**sequence.inputs, logits_to_keep=places, use_cache=False).logits[0]  # (answer tokens, vocabulary)
    return F.cross_entropy(scores.float(), targets[places])


class Loop:
    """The training loop and its data."""

    def __init__(
        self, out: Path, settings: LoraSettings, begun: RunInputs, tuned: TuningRecord, dialogues: Dialogues,
        validation: Dialogues | None, collator: Collator, accelerator: Any, model: Any, optimizer: Any,
        watcher: TrainingWatcher | None,
    ) -> None:  # fmt: skip
        self.out, self.settings, self.begun, self.tuned = out, settings, begun, tuned
        self.dialogues, self.validation, self.collator = dialogues, validation, collator
        self.accelerator, self.model, self.optimizer = accelerator, model, optimizer
        self.in_a_step = settings.accumulate * accelerator.num_processes
        self.steps = self.steps_of(settings)
        self.watcher = watcher if accelerator.is_main_process else None

    def steps_of(self, settings: LoraSettings) -> int:
        """Number of steps of a whole run on these data."""
        passes: int = math.ceil(settings.epochs * len(self.dialogues.rows) / self.in_a_step)
        return settings.max_steps if settings.max_steps is not None else max(1, passes)

    def rate(self, step: int) -> float:
        """The learning rate of a step, from 0."""
        warmup = max(1, round(self.settings.warmup * self.steps))
        return rate_at(step, self.steps, top=self.settings.learning_rate, warmup=warmup, floor=0.0)

    def go(self, first: int, progress: Progress | None) -> LossLog:
        """Runs the steps from `first` to the end, and returns the losses of all steps, with those before `first`."""
        log = LossLog(self.out / LOSSES, keep=first, write=self.accelerator.is_main_process)
        if not self.accelerator.is_main_process:
            progress = None
        if log.best is not None and log.best.step == first:
            # The run may have been stopped between the checkpoint and the copy.
            self.keep_adapter()
        if progress is not None and self.steps:
            progress("training", first, self.steps, first / self.steps)
        with _catch_interrupt() as interrupts, ThreadPoolExecutor(1, "collate") as reader:
            upcoming = reader.submit(self.sequences, first)
            for step in range(first, self.steps):
                started = time.perf_counter()
                sequences = upcoming.result()
                if step + 1 < self.steps:
                    upcoming = reader.submit(self.sequences, step + 1)
                row = self.step(step, sequences, interrupts)
                row["took_s"] = round(time.perf_counter() - started, 4)
                done, stop = step + 1, row.pop("stop")
                last = done == self.steps
                validated = self.validation is not None and (last or done % self.settings.validate_every == 0)
                if validated:
                    row["validation_loss"] = self.validate(step, reader)
                log.add(row)
                if self.watcher is not None:
                    self.watcher.step(row)
                if progress is not None:
                    progress("training", done, self.steps, done / self.steps)
                if stop or last or validated or done % self.settings.save_every == 0:
                    self.save(done)
                if validated and log.best is not None and log.best.step == done:
                    self.keep_adapter()
                if last or (validated and self.is_patience_over(log)):
                    upcoming.cancel()
                    break
                if stop:
                    upcoming.cancel()
                    raise KeyboardInterrupt
        return log

    def is_patience_over(self, log: LossLog) -> bool:
        """True if too many validations in a row were no better than an earlier one."""
        return self.settings.patience is not None and log.since_best >= self.settings.patience

    def validate(self, step: int, reader: ThreadPoolExecutor) -> float:
        """Mean loss of the validation samples after a step: as in training, but without dropout and in a fixed order.

        Args:
            step: From 0.
            reader: Prepares samples ahead.
        """
        assert self.validation is not None
        rows, root = self.validation.rows, self.validation.root
        world, rank = self.accelerator.num_processes, self.accelerator.process_index
        # FSDP needs every process in each forward pass, so those without a sample of their own repeat the last one.
        places = [min(start + rank, len(rows) - 1) for start in range(0, len(rows), world)]
        own = len(range(rank, len(rows), world))
        self.model.eval()
        total = 0.0
        upcoming = reader.submit(self.collator.collate, rows[places[0]], root)
        for index in range(len(places)):
            sequence = upcoming.result()
            if index + 1 < len(places):
                upcoming = reader.submit(self.collator.collate, rows[places[index + 1]], root)
            with torch.no_grad(), within_memory(OUT_OF_MEMORY):
                loss = float(self.loss(sequence, self.validation.file))
            total += loss if index < own else 0.0
            if self.watcher is not None:
                self.watcher.validating(min((index + 1) * world, len(rows)), len(rows))
        everyone = self.accelerator.gather(torch.tensor([total], device=self.accelerator.device)).cpu()
        mean = float(everyone.double().sum()) / len(rows)
        if not math.isfinite(mean):
            raise ModelError(self._broken(f"the validation loss is {mean}", step, []))
        return mean

    def sequences(self, step: int) -> list[Sequence]:
        """This process's sequences of a step."""
        own = range(self.settings.accumulate)
        world, rank = self.accelerator.num_processes, self.accelerator.process_index
        places = [step * self.in_a_step + index * world + rank for index in own]
        dialogues = [self.dialogues.at(place, seed=self.settings.seed) for place in places]
        return [self.collator.collate(dialogue, self.dialogues.root) for dialogue in dialogues]

    def step(self, step: int, sequences: list[Sequence], stop_requests: list[bool]) -> dict[str, Any]:
        """Runs one step of the optimizer."""
        accelerator, settings = self.accelerator, self.settings
        seed = np.random.SeedSequence([settings.seed, DRAWN_FOR_STEP, step, accelerator.process_index])
        torch.manual_seed(int(seed.generate_state(1)[0]))
        rate = self.rate(step)
        self.model.train()
        total = torch.zeros((), device=accelerator.device)
        bad = -1
        with within_memory(OUT_OF_MEMORY):
            for index, sequence in enumerate(sequences):
                last = index + 1 == len(sequences)
                with contextlib.nullcontext() if last else accelerator.no_sync(self.model):
                    loss = self.loss(sequence, self.dialogues.file)
                    if bad < 0 and not bool(torch.isfinite(loss)):
                        bad = index
                    accelerator.backward(loss / len(sequences))
                    total += loss.detach()
            tokens = sum(sequence.tokens for sequence in sequences)
            frames = sum(sequence.frames for sequence in sequences)
            counts = torch.tensor([bad, bool(stop_requests), tokens, frames]).to(total).double()
            mine = torch.stack([total.double() / len(sequences), *counts])
            everyone = accelerator.gather(mine[None]).cpu()  # (processes, 5)
            self._check_finite(step, everyone, sequences)
            norm = float(accelerator.clip_grad_norm_(self.model.parameters(), settings.clip))
            if not math.isfinite(norm):
                raise ModelError(self._broken(f"the gradient is {norm}", step, [s.name for s in sequences]))
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            self.optimizer.step()
            self.optimizer.zero_grad()
        return {
            "step": step + 1,
            "loss": float(everyone[:, 0].mean()),
            "learning_rate": rate,
            "gradient": norm,
            "samples": [sequence.name for sequence in sequences],
            "tokens": int(everyone[:, 3].sum()),
            "frames": int(everyone[:, 4].sum()),
            "stop": bool(everyone[:, 2].max() > 0),
        }

    def loss(self, sequence: Sequence, file: Path) -> Tensor:
        """The loss of a sample."""
        device = self.accelerator.device
        try:
            with torch.autocast(device.type, torch.bfloat16, enabled=self.settings.precision == "bfloat16"):
                return answer_loss(self.model, sequence.to(device))
        except ValueError as error:
            # transformers compares the image tokens with the output of the vision encoder.
            raise InputError(
                f"sample {sequence.name!r} does not fit the model: {load_error_text(error)}",
                file=file,
                hint="take processor and weights from one checkpoint",
            ) from error

    def save(self, step: int) -> None:
        """Writes a checkpoint."""
        lora.save(
            self.out, State(step=step, begun=self.begun), model=self.model, optimizer=self.optimizer,
            accelerator=self.accelerator, tuned=self.tuned,
        )  # fmt: skip

    def keep_adapter(self) -> None:
        """Copies the adapter of the last checkpoint to `adapter/`, in place of an earlier one."""
        if self.accelerator.is_main_process:
            last = lora.latest(self.out)
            assert last is not None
            with writing_directory(self.out / ADAPTER, overwrite=True) as folder:
                for file in last[0].iterdir():
                    if file.name not in (lora.OPTIMIZER, lora.STATE):
                        shutil.copyfile(file, folder / file.name)
        self.accelerator.wait_for_everyone()

    def _check_finite(self, step: int, everyone: Tensor, sequences: list[Sequence]) -> None:
        if bool(everyone[:, 1].max() < 0) and bool(torch.isfinite(everyone[:, 0]).all()):
            return
        index = int(everyone[self.accelerator.process_index, 1])
        names = [sequences[index].name] if index >= 0 else []
        raise ModelError(self._broken("the loss is no number any more", step, names))

    def _broken(self, what: str, step: int, names: list[str]) -> str:
        where = f" at sample {', '.join(map(repr, names))}" if names else ""
        latest = lora.latest(self.out)
        return (
            f"{what} in step {step + 1}{where}; the checkpoint of step {latest[1].step if latest else 0} in {self.out} "
            "is kept. Look at the sample, or begin anew with a smaller --learning-rate or in float32"
        )


@contextlib.contextmanager
def _catch_interrupt() -> Iterator[list[bool]]:
    """A list that receives an entry when Ctrl-C is pressed. A second Ctrl-C interrupts at once."""
    interrupts: list[bool] = []

    def note(number: int, frame: Any) -> None:
        if interrupts:
            raise KeyboardInterrupt
        interrupts.append(True)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:
        # Ctrl-C only reaches the main thread.
        yield interrupts
        return
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


ADAPTER = "adapter"
"""Folder of the adapter inside a run."""


@dataclass(frozen=True)
class Trained:
    """The result of a run."""

    adapter: Path
    state: Path
    """Folder of the state after the last step: its adapter, and what the run needs to go on."""
    steps: int
    resumed_at: int
    """Number of steps before this call."""
    losses: list[float]
    """Loss of each step, from the first."""
    samples: int
    left_out: tuple[str, ...]
    """Samples over the token limit."""
    validations: list[Validation]
    best: Validation | None
    """The validation whose adapter was kept; None without validation data."""
    stopped_early: bool
    tells: bool
    """False in all processes but one."""


def train_lora(
    data: Path,
    base: Path,
    out: Path,
    settings: LoraSettings,
    *,
    validation: Path | None = None,
    frames: Path | None = None,
    cpu: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
    watcher: TrainingWatcher | None = None,
    tell: Tell = ignore_sentences,
) -> Trained:
    """Trains an adapter on dialogues, resumes an interrupted training, or adds steps to a finished one.

    Args:
        data: StreamingChat's JSON Lines.
        base: Folder of a checkpoint that transformers' Auto classes can load.
        out: Folder of the run: `adapter/`, `loss.jsonl`, `run.json` and `checkpoints/`.
        settings: Settings of the training.
        validation: Dialogues of another split, of the same layout. The adapter with the lowest loss on them is kept.
        frames: Folder that the paths of frames are relative to; the folder of each file by default.
        cpu: Use the CPU even if there is an accelerator.
        overwrite: Replace an existing run.
        progress: Called with the progress.
        watcher: Follows the steps.
        tell: Receives what the user must know before the first step.

    Raises:
        InputError: Data or checkpoint cannot be used, or do not fit each other.
        ModelError: The loss is no longer a finite number, or there is not enough memory. The last checkpoint stays.
        SettingError: Settings differ from those at the beginning of the run, or one has no effect.
        BenchmarkError: The run is already finished, and no more steps are asked for.
        KeyboardInterrupt: It was interrupted; a checkpoint was written at the end of the step.
    """
    try:
        import accelerate
    except ImportError:
        raise MissingExtraError("training an adapter", extra="train", of="reeltalk-streaming") from None

    check_training_options(settings, validates=validation is not None)
    accelerator: Any = accelerate.Accelerator(
        cpu=cpu or None,
        # A sample without frames gives the projector no gradient.
        kwargs_handlers=[accelerate.DistributedDataParallelKwargs(find_unused_parameters=settings.train_projector)],
    )
    if (base / ADAPTER_CONFIG).is_file():
        raise InputError("is an adapter, not a checkpoint", file=base, hint="merge it first: 'reeltalk train merge'")
    dialogues = Dialogues.read(data, frames)
    held_out = Dialogues.read(validation, frames) if validation is not None else None
    base_hash = checkpoint_hash(base) if base.is_dir() else ""
    begun = RunInputs(
        settings=settings, data_sha256=dialogues.sha256, validation_sha256=held_out.sha256 if held_out else None,
        base_hash=base_hash, processes=accelerator.num_processes,
    )  # fmt: skip
    latest = None if overwrite else _find_checkpoint(out, begun)
    if not accelerator.is_main_process:
        progress, tell = None, ignore_sentences
    if held_out is not None:
        _tell_shared_videos(dialogues, held_out, tell)
    # Under FSDP all weights of a group need one precision. The computation is in bfloat16 anyway.
    spread = accelerator.distributed_type == accelerate.DistributedType.FSDP
    checkpoint = open_checkpoint(
        base, weights="float32" if spread else settings.precision, purpose="training an adapter"
    )
    if checkpoint.untrained is not None:
        tell(checkpoint.untrained)
    collator = Collator(
        checkpoint, frame_tokens=settings.frame_tokens, max_tokens=settings.max_tokens, system=settings.system
    )
    dialogues, left_out = _within_budget("counting tokens", dialogues, collator, settings, progress)
    if held_out is not None:
        held_out, too_long = _within_budget("counting validation tokens", held_out, collator, settings, progress)
        left_out += too_long
    torch.manual_seed(settings.seed)
    adapted = add_lora(
        checkpoint, rank=settings.rank, dropout=settings.dropout, train_projector=settings.train_projector
    )
    if settings.gradient_checkpointing:
        adapted.enable_input_require_grads()
        checkpoint.model.activation_checkpointing_enable({"use_reentrant": False})
    if latest is not None:
        lora.load_adapter(latest[0], adapted)
    weights = [weight for weight in adapted.parameters() if weight.requires_grad]
    optimizer: Any = torch.optim.AdamW(weights, lr=settings.learning_rate, weight_decay=settings.weight_decay)
    with within_memory(OUT_OF_MEMORY):
        model, optimizer = accelerator.prepare(adapted, optimizer)
    if latest is not None and latest[1].step:
        lora.load_optimizer(latest[0], model=model, optimizer=optimizer)

    loop = Loop(out, settings, begun, TuningRecord(frame_tokens=settings.frame_tokens, trained_on=base_hash), dialogues,
               held_out, collator, accelerator, model, optimizer, watcher)  # fmt: skip
    first = latest[1].step if latest is not None else 0
    if latest is not None and _is_done(out, latest[1]):
        _go_further(out, loop, latest[1], tell)
    elif first:
        tell(f"went on after step {first:,}")
    if overwrite:
        _clear(out, accelerator)
    if latest is None:
        loop.save(0)
    log = loop.go(first, progress)
    stopped_early = len(log.losses) < loop.steps
    if log.best is None:
        loop.keep_adapter()
    if accelerator.is_main_process:
        _finish(out, checkpoint, loop, log, left_out)
    accelerator.wait_for_everyone()
    last = lora.latest(out)
    assert last is not None
    return Trained(
        out / ADAPTER, last[0], len(log.losses), first, log.losses, len(dialogues.rows), left_out, log.validations,
        log.best, stopped_early, accelerator.is_main_process,
    )  # fmt: skip


def _clear(out: Path, accelerator: Any) -> None:
    """Deletes the existing run, once nothing prevents a new one."""
    if accelerator.is_main_process:
        (out / RUN).unlink(missing_ok=True)
        for name in (lora.CHECKPOINTS, ADAPTER):
            shutil.rmtree(out / name, ignore_errors=True)
    accelerator.wait_for_everyone()


def _find_checkpoint(out: Path, begun: RunInputs) -> tuple[Path, State] | None:
    """The checkpoint to resume from; None if the run begins."""
    found = lora.latest(out)
    if found is None:
        if (out / RUN).is_file():
            raise BenchmarkError(
                f"the run in {out} is done, and its last state is not there any more, so it cannot get more steps; "
                "choose another --out, or pass --overwrite to begin anew"
            )
        if out.is_dir() and any(path.name != lora.CHECKPOINTS for path in out.iterdir()):
            raise BenchmarkError(f"{out} exists and is no run; choose another folder or pass --overwrite")
        return None
    done = _is_done(out, found[1])
    if done and begun == found[1].begun:
        raise _done_error(out, found[1].step)
    differences = begun.differences(found[1].begun, longer=done)
    if differences:
        raise SettingError(
            f"the run in {out} was begun with something else: {'; '.join(differences)}. Run the command as it was, "
            "choose another --out, or pass --overwrite to begin anew"
        )
    return found


def _is_done(out: Path, state: State) -> bool:
    """True if the run has ended with its settings, and was not given more steps since."""
    try:
        found = json.loads((out / RUN).read_bytes())
        return RunInputs.model_validate(found["begun"]) == state.begun
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError("is no description of a run", file=out / RUN, hint="delete it, and run this again") from error


def _done_error(out: Path, steps: int) -> BenchmarkError:
    return BenchmarkError(
        f"the run in {out} is done after {steps:,} steps; pass a larger --max-steps or more --epochs to go on, choose "
        "another --out, or pass --overwrite to begin anew"
    )


def _go_further(out: Path, loop: Loop, state: State, tell: Tell) -> None:
    """Gives a finished run more steps."""
    before = loop.steps_of(state.begun.settings)
    # A run that stopped early goes on with the steps that it had if it may wait longer for a better validation.
    waits = loop.settings.patience != state.begun.settings.patience
    if loop.steps <= state.step or (loop.steps <= before and not waits):
        raise _done_error(out, state.step)
    # From here on the run counts as begun with these settings and not as done.
    loop.save(state.step)
    if loop.accelerator.is_main_process:
        (out / RUN).unlink(missing_ok=True)
    loop.accelerator.wait_for_everyone()
    curve = f"the learning rate follows the curve of {loop.steps:,} steps from here on" if loop.steps > before else ""
    tell(
        f"the run was done after step {state.step:,} and goes on to step {loop.steps:,}; "
        f"{curve or 'the learning rate goes on along its curve'}: {loop.rate(state.step):.2g}"
    )


def _tell_shared_videos(dialogues: Dialogues, validation: Dialogues, tell: Tell) -> None:
    """Says which validation samples are about videos that are trained on."""
    if validation.sha256 == dialogues.sha256:
        raise SettingError(
            f"--validation {validation.file} holds the training data; take another split, as from 'reeltalk export "
            "streamingchat BENCH OUT --split dev'"
        )
    trained = {row.sample.video_id for row in dialogues.rows} - {None}
    shared = sum(row.sample.video_id in trained for row in validation.rows)
    if shared:
        tell(
            f"warning: {shared:,} of {len(validation.rows):,} validation samples are about videos that are trained on, "
            "so their loss is too low; take a split of other videos"
        )


def _within_budget(
    what: str, dialogues: Dialogues, collator: Collator, settings: LoraSettings, progress: Progress | None
) -> tuple[Dialogues, tuple[str, ...]]:
    """The dialogues whose sequences are short enough, and the names of the others."""
    kept, left_out = [], []
    for number, row in enumerate(dialogues.rows, 1):
        tokens = collator.tokens(row, dialogues.root)
        if tokens <= settings.max_tokens:
            kept.append(row)
        elif settings.over_budget == "skip":
            left_out.append(row.sample.id)
        else:
            raise collator.over_budget(row, tokens)
        if progress is not None:
            progress(what, number, len(dialogues.rows), number / len(dialogues.rows))
    if not kept:
        raise InputError(
            f"no sample has at most {settings.max_tokens:,} tokens", file=dialogues.file, hint="pass --max-tokens"
        )
    return dataclasses.replace(dialogues, rows=tuple(kept)), tuple(left_out)


def _finish(out: Path, checkpoint: Checkpoint, loop: Loop, log: LossLog, left_out: tuple[str, ...]) -> None:
    """Writes the description of the run, by which it counts as done."""
    validation = loop.validation
    write_training_run(
        out,
        {
            "begun": loop.begun.model_dump(mode="json"),
            "data": str(loop.dialogues.file),
            "validation": None if validation is None else str(validation.file),
            "base": str(checkpoint.base.resolve()),
            "steps": len(log.losses),
            "stopped_early": len(log.losses) < loop.steps,
            "samples": len(loop.dialogues.rows),
            "validation_samples": None if validation is None else len(validation.rows),
            "left_out": list(left_out),
            "first_loss": log.losses[0] if log.losses else None,
            "last_loss": log.losses[-1] if log.losses else None,
            "best": None if log.best is None else log.best._asdict(),
            "device": str(loop.accelerator.device),
        },
    )
