"""The loop that trains an adapter, step by step, on one process or several.

    sequences of `accumulate` samples -> loss on answers -> gradient -> clipped -> AdamW -> a line in loss.jsonl

accelerate places tensors, shares gradients between processes and, where its own configuration says so, spreads weights
over them (FSDP). Everything else stands here.
"""

import contextlib
import math
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from reeltalk.errors import InputError, ModelError
from reeltalk.inference.checkpoint import told, within_memory
from reeltalk.inference.processor import Tuned
from reeltalk.schema.lora import LoraSettings
from reeltalk.streaming import lora_checkpoints
from reeltalk.streaming.collate import IGNORED, Collator, Sequence
from reeltalk.streaming.dialogues import Dialogues
from reeltalk.streaming.lora_checkpoints import Begun, State
from reeltalk.streaming.run_record import LOSSES, LossLog
from reeltalk.streaming.schedule import rate_at

Progress = Callable[[str, int, int, float], None]
"""What is done, how many of them, of how many, and the share."""
DRAWN_FOR_STEP: Final = 2
"""Tells the random numbers of a step from others of the same seed."""
OUT_OF_MEMORY: Final = (
    "the memory does not suffice for a step; the last checkpoint is kept. Try --gradient-checkpointing, --precision "
    "bfloat16, samples with fewer frames (export with a smaller token budget), a smaller --rank, or several GPUs with "
    "FSDP, and begin anew"
)


def answer_loss(model: Any, sequence: Sequence) -> Tensor:
    """Mean cross-entropy of the answers' tokens, in nats.

    Only the positions before answers get scores for the whole vocabulary: 25,000 tokens of frames in a vocabulary of
    150,000 would take 15 GB.

    Args:
        model: A vision-language model of transformers.
        sequence: On the model's device.
    """
    targets = sequence.labels[0, 1:]
    places = (targets != IGNORED).nonzero()[:, 0]
    scores = model(**sequence.inputs, logits_to_keep=places, use_cache=False).logits[0]  # (answer tokens, vocabulary)
    return F.cross_entropy(scores.float(), targets[places])


class Loop:
    """The loop and what it works on."""

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
        """Steps from `first` to the end; the losses of all of them, those before too."""
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
        """One step of the optimizer."""
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
                        # transformers compares image tokens with what the vision encoder gives.
                        raise InputError(
                            f"sample {sequence.name!r} does not fit the model: {told(error)}", file=self.dialogues.file,
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
        """Write a checkpoint."""
        lora_checkpoints.save(
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
        kept = lora_checkpoints.latest(self.out)
        return (
            f"{what} in step {step + 1}{where}; the checkpoint of step {kept[1].step if kept else 0} in {self.out} "
            "is kept. Look at the sample, or begin anew with a smaller --learning-rate or in float32"
        )


@contextlib.contextmanager
def _asked_to_stop() -> Iterator[list[bool]]:
    """A list that gets an entry when Ctrl-C is pressed; pressed again, it interrupts at once."""
    asked: list[bool] = []

    def note(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(True)

    try:
        before = signal.signal(signal.SIGINT, note)
    except ValueError:
        # Not in the main thread: nobody can press Ctrl-C here.
        yield asked
        return
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
