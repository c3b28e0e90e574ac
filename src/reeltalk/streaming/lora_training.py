"""Trains an adapter in a run that can be resumed, and writes `adapter/`, `loss.jsonl` and `run.json`.

    sequences of `accumulate` samples -> loss on answers -> gradient -> clipped -> AdamW -> a line in loss.jsonl

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
from typing import Any, Final

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError, InputError, MissingExtraError, ModelError, SettingError
from reeltalk.inference.checkpoint import (
    ADAPTER_CONFIG,
    Checkpoint,
    Tuned,
    checkpoint_hash,
    load_error_text,
    open_checkpoint,
    within_memory,
)
from reeltalk.progress import Progress
from reeltalk.schema.sft import LoraSettings
from reeltalk.store.atomic import storage_errors, write_bytes, writing_directory
from reeltalk.streaming import lora
from reeltalk.streaming.collate import IGNORED, Collator, Dialogues, Sequence
from reeltalk.streaming.lora import Begun, State, add_lora
from reeltalk.streaming.schedule import rate_at

LOSSES: Final = "loss.jsonl"
RUN: Final = "run.json"
PACKAGES: Final = ("torch", "transformers", "peft", "accelerate", "safetensors")


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
        kept: list[str] = []
        if keep and file.is_file():
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines()[:keep], 1):
                try:
                    self.losses.append(float(json.loads(line)["loss"]))
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

    def add(self, row: dict[str, Any]) -> None:
        """Appends the results of a step."""
        self.losses.append(float(row["loss"]))
        if self._write:
            with storage_errors(self._file), self._file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(row, ensure_ascii=False) + "\n")
                stream.flush()
                # A checkpoint survives a power cut, so the lines of its steps must too.
                os.fsync(stream.fileno())


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

    Args:
        model: A vision-language model of transformers.
        sequence: On the model's device.
    """
    targets = sequence.labels[0, 1:]
    places = (targets != IGNORED).nonzero()[:, 0]
    scores = model(**sequence.inputs, logits_to_keep=places, use_cache=False).logits[0]  # (answer tokens, vocabulary)
    return F.cross_entropy(scores.float(), targets[places])


class Loop:
    """The training loop and its data."""

    def __init__(
        self, out: Path, settings: LoraSettings, begun: Begun, tuned: Tuned, dialogues: Dialogues, collator: Collator,
        accelerator: Any, model: Any, optimizer: Any,
    ) -> None:  # fmt: skip
        self.out, self.settings, self.begun, self.tuned = out, settings, begun, tuned
        self.dialogues, self.collator = dialogues, collator
        self.accelerator, self.model, self.optimizer = accelerator, model, optimizer
        self.in_a_step = settings.accumulate * accelerator.num_processes
        passes = math.ceil(settings.epochs * len(dialogues.rows) / self.in_a_step)
        self.steps = settings.max_steps if settings.max_steps is not None else max(1, passes)

    def go(self, first: int, progress: Progress | None) -> list[float]:
        """Runs the steps from `first` to the end, and returns the losses of all steps, with those before `first`."""
        log = LossLog(self.out / LOSSES, keep=first, write=self.accelerator.is_main_process)
        if not first:
            self.save(0)
        with _asked_to_stop() as asked_to_stop, ThreadPoolExecutor(1, "collate") as reader:
            upcoming = reader.submit(self.sequences, first)
            for step in range(first, self.steps):
                sequences = upcoming.result()
                if step + 1 < self.steps:
                    upcoming = reader.submit(self.sequences, step + 1)
                started = time.perf_counter()
                told_of = self.step(step, sequences, asked_to_stop)
                log.add(told_of | {"took_s": round(time.perf_counter() - started, 4)})
                done, stop = step + 1, told_of["stop"]
                if progress is not None and self.accelerator.is_main_process:
                    progress("training", done, self.steps, done / self.steps)
                if stop or done == self.steps or done % self.settings.save_every == 0:
                    self.save(done)
                if stop and done < self.steps:
                    upcoming.cancel()
                    raise KeyboardInterrupt
        return log.losses

    def sequences(self, step: int) -> list[Sequence]:
        """This process's sequences of a step."""
        own = range(self.settings.accumulate)
        world, rank = self.accelerator.num_processes, self.accelerator.process_index
        places = [step * self.in_a_step + index * world + rank for index in own]
        dialogues = [self.dialogues.at(place, seed=self.settings.seed) for place in places]
        return [self.collator.collate(dialogue, self.dialogues.root) for dialogue in dialogues]

    def step(self, step: int, sequences: list[Sequence], asked_to_stop: list[bool]) -> dict[str, Any]:
        """Runs one step of the optimizer."""
        accelerator, settings = self.accelerator, self.settings
        seed = np.random.SeedSequence([settings.seed, DRAWN_FOR_STEP, step, accelerator.process_index])
        torch.manual_seed(int(seed.generate_state(1)[0]))
        warmup = max(1, round(settings.warmup * self.steps))
        rate = rate_at(step, self.steps, top=settings.learning_rate, warmup=warmup, floor=0.0)
        self.model.train()
        total = torch.zeros((), device=accelerator.device)
        bad = -1
        with within_memory(OUT_OF_MEMORY):
            for index, sequence in enumerate(sequences):
                last = index + 1 == len(sequences)
                with contextlib.nullcontext() if last else accelerator.no_sync(self.model):
                    try:
                        half = settings.precision == "bfloat16"
                        with torch.autocast(accelerator.device.type, torch.bfloat16, enabled=half):
                            loss = answer_loss(self.model, sequence.to(accelerator.device))
                    except ValueError as error:
                        # transformers compares the image tokens with the output of the vision encoder.
                        raise InputError(
                            f"sample {sequence.name!r} does not fit the model: {load_error_text(error)}",
                            file=self.dialogues.file,
                            hint="take processor and weights from one checkpoint",
                        ) from error  # fmt: skip
                    if bad < 0 and not bool(torch.isfinite(loss)):
                        bad = index
                    accelerator.backward(loss / len(sequences))
                    total += loss.detach()
            mine = torch.stack(
                [total.double() / len(sequences), *torch.tensor([bad, bool(asked_to_stop)]).to(total).double()]
            )
            everyone = accelerator.gather(mine[None]).cpu()  # (processes, 3)
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
            "tokens": sum(sequence.tokens for sequence in sequences),
            "frames": sum(sequence.frames for sequence in sequences),
            "stop": bool(everyone[:, 2].max() > 0),
        }

    def save(self, step: int) -> None:
        """Writes a checkpoint."""
        lora.save(
            self.out, State(step=step, begun=self.begun), model=self.model, optimizer=self.optimizer,
            accelerator=self.accelerator, tuned=self.tuned,
        )  # fmt: skip

    def _check_finite(self, step: int, everyone: Tensor, sequences: list[Sequence]) -> None:
        if bool(everyone[:, 1].max() < 0) and bool(torch.isfinite(everyone[:, 0]).all()):
            return
        index = int(everyone[self.accelerator.process_index, 1])
        names = [sequences[index].name] if index >= 0 else []
        raise ModelError(self._broken("the loss is no number any more", step, names))

    def _broken(self, what: str, step: int, names: list[str]) -> str:
        where = f" at sample {', '.join(map(repr, names))}" if names else ""
        kept = lora.latest(self.out)
        return (
            f"{what} in step {step + 1}{where}; the checkpoint of step {kept[1].step if kept else 0} in {self.out} "
            "is kept. Look at the sample, or begin anew with a smaller --learning-rate or in float32"
        )


@contextlib.contextmanager
def _asked_to_stop() -> Iterator[list[bool]]:
    """A list that receives an entry when Ctrl-C is pressed. A second Ctrl-C interrupts at once."""
    asked: list[bool] = []

    def note(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(True)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:
        # Ctrl-C only reaches the main thread.
        yield asked
        return
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


ADAPTER = "adapter"
"""Folder of the adapter inside a run."""


@dataclass(frozen=True)
class Trained:
    """The result of a run."""

    adapter: Path
    steps: int
    resumed_at: int
    """Number of steps before this call."""
    losses: list[float]
    """Loss of each step, from the first."""
    samples: int
    left_out: tuple[str, ...]
    """Samples over the token limit."""
    tells: bool
    """False in all processes but one."""


def train_lora(
    data: Path,
    base: Path,
    out: Path,
    settings: LoraSettings,
    *,
    frames: Path | None = None,
    cpu: bool = False,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Trained:
    """Trains an adapter on dialogues, or resumes an interrupted training.

    Args:
        data: StreamingChat's JSON Lines.
        base: Folder of a checkpoint that transformers' Auto classes can load.
        out: Folder of the run: `adapter/`, `loss.jsonl`, `run.json`, and `checkpoints/` until it is done.
        settings: Settings of the training.
        frames: Folder that the paths of frames are relative to; the folder of `data` by default.
        cpu: Use the CPU even if there is an accelerator.
        overwrite: Replace an existing run.
        progress: Called with the progress.

    Raises:
        InputError: Data or checkpoint cannot be used, or do not fit each other.
        ModelError: The loss is no longer a finite number, or there is not enough memory. The last checkpoint stays.
        SettingError: Settings differ from those at the beginning of the run.
        BenchmarkError: The run is already finished.
        KeyboardInterrupt: It was interrupted; a checkpoint was written at the end of the step.
    """
    try:
        import accelerate
    except ImportError:
        raise MissingExtraError("training an adapter", extra="train") from None

    accelerator: Any = accelerate.Accelerator(
        cpu=cpu or None,
        # A sample without frames gives the projector no gradient.
        kwargs_handlers=[accelerate.DistributedDataParallelKwargs(find_unused_parameters=settings.train_projector)],
    )
    if (base / ADAPTER_CONFIG).is_file():
        raise InputError("is an adapter, not a checkpoint", file=base, hint="merge it first: 'reeltalk train merge'")
    dialogues = Dialogues.read(data, frames)
    base_hash = checkpoint_hash(base) if base.is_dir() else ""
    begun = Begun(
        settings=settings, data_sha256=dialogues.sha256, base_hash=base_hash, processes=accelerator.num_processes
    )
    kept = None if overwrite else _kept(out, begun)
    # Under FSDP all weights of a group need one precision. The computation is in bfloat16 anyway.
    spread = accelerator.distributed_type == accelerate.DistributedType.FSDP
    checkpoint = open_checkpoint(
        base, weights="float32" if spread else settings.precision, purpose="training an adapter"
    )
    collator = Collator(
        checkpoint, frame_tokens=settings.frame_tokens, max_tokens=settings.max_tokens, system=settings.system
    )
    dialogues, left_out = _within_budget(dialogues, collator, settings, progress)
    torch.manual_seed(settings.seed)
    adapted = add_lora(
        checkpoint, rank=settings.rank, dropout=settings.dropout, train_projector=settings.train_projector
    )
    if settings.gradient_checkpointing:
        adapted.enable_input_require_grads()
        checkpoint.model.activation_checkpointing_enable({"use_reentrant": False})
    if kept is not None:
        lora.load_adapter(kept[0], adapted)
    weights = [weight for weight in adapted.parameters() if weight.requires_grad]
    optimizer: Any = torch.optim.AdamW(weights, lr=settings.learning_rate, weight_decay=settings.weight_decay)
    with within_memory(OUT_OF_MEMORY):
        model, optimizer = accelerator.prepare(adapted, optimizer)
    if kept is not None and kept[1].step:
        lora.load_optimizer(kept[0], model=model, optimizer=optimizer)

    if overwrite:
        _clear(out, accelerator)
    loop = Loop(out, settings, begun, Tuned(frame_tokens=settings.frame_tokens, trained_on=base_hash), dialogues,
               collator, accelerator, model, optimizer)  # fmt: skip
    first = kept[1].step if kept is not None else 0
    losses = loop.go(first, progress)
    if accelerator.is_main_process:
        _finish(out, checkpoint, loop, losses, left_out)
    accelerator.wait_for_everyone()
    return Trained(out / ADAPTER, loop.steps, first, losses, len(dialogues.rows), left_out, accelerator.is_main_process)


def _clear(out: Path, accelerator: Any) -> None:
    """Deletes the existing run, once nothing prevents a new one."""
    if accelerator.is_main_process:
        (out / RUN).unlink(missing_ok=True)
        for name in (lora.CHECKPOINTS, ADAPTER):
            shutil.rmtree(out / name, ignore_errors=True)
    accelerator.wait_for_everyone()


def _kept(out: Path, begun: Begun) -> tuple[Path, State] | None:
    """The checkpoint to resume from; None if the run begins."""
    if (out / RUN).is_file():
        raise BenchmarkError(f"the run in {out} is done; choose another --out, or pass --overwrite to begin anew")
    kept = lora.latest(out)
    if kept is not None:
        differences = begun.differences(kept[1].begun)
        if differences:
            raise SettingError(
                f"the run in {out} was begun with something else: {'; '.join(differences)}. Run the command as it was, "
                "choose another --out, or pass --overwrite to begin anew"
            )
    elif out.is_dir() and any(path.name != lora.CHECKPOINTS for path in out.iterdir()):
        raise BenchmarkError(f"{out} exists and is no run; choose another folder or pass --overwrite")
    return kept


def _within_budget(
    dialogues: Dialogues, collator: Collator, settings: LoraSettings, progress: Progress | None
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
            progress("counting tokens", number, len(dialogues.rows), number / len(dialogues.rows))
    if not kept:
        raise InputError(
            f"no sample has at most {settings.max_tokens:,} tokens", file=dialogues.file, hint="pass --max-tokens"
        )
    return dataclasses.replace(dialogues, rows=tuple(kept)), tuple(left_out)


def _finish(out: Path, checkpoint: Checkpoint, loop: Loop, losses: list[float], left_out: tuple[str, ...]) -> None:
    """Writes the remaining files of the run, then deletes its checkpoints."""
    last = lora.latest(out)
    assert last is not None
    with writing_directory(out / ADAPTER, overwrite=True) as folder:
        for file in last[0].iterdir():
            if file.name not in (lora.OPTIMIZER, lora.STATE):
                shutil.copyfile(file, folder / file.name)
    write_training_run(
        out,
        {
            "begun": loop.begun.model_dump(mode="json"),
            "data": str(loop.dialogues.file),
            "base": str(checkpoint.base.resolve()),
            "steps": loop.steps,
            "samples": len(loop.dialogues.rows),
            "left_out": list(left_out),
            "first_loss": losses[0] if losses else None,
            "last_loss": losses[-1] if losses else None,
            "device": str(loop.accelerator.device),
        },
    )
    shutil.rmtree(out / lora.CHECKPOINTS, ignore_errors=True)
