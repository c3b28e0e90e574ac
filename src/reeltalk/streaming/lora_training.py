"""A run that trains an adapter: begins or goes on, and leaves `adapter/`, `loss.jsonl` and `run.json`."""

import dataclasses
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from reeltalk.errors import BenchmarkError, InputError, MissingExtraError, SettingError
from reeltalk.inference.checkpoint import ADAPTER_CONFIG, Checkpoint, open_checkpoint, within_memory
from reeltalk.inference.processor import Tuned, checkpoint_hash
from reeltalk.schema.lora import LoraSettings
from reeltalk.store.atomic import writing_directory
from reeltalk.streaming import lora_checkpoints
from reeltalk.streaming.collate import Collator
from reeltalk.streaming.dialogues import Dialogues
from reeltalk.streaming.lora import add_lora
from reeltalk.streaming.lora_checkpoints import Begun, State
from reeltalk.streaming.lora_loop import OUT_OF_MEMORY, Loop, Progress
from reeltalk.streaming.run_record import RUN, write_run

ADAPTER = "adapter"
"""Folder of the adapter inside a run."""


@dataclass(frozen=True)
class Trained:
    """What became of a run."""

    adapter: Path
    steps: int
    resumed_at: int
    """Steps that were done before."""
    losses: list[float]
    """Of each step, from the first."""
    samples: int
    left_out: tuple[str, ...]
    """Samples over the budget."""
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
    """Train an adapter on dialogues, or go on with one that was interrupted.

    Args:
        data: StreamingChat's JSON Lines.
        base: Folder of a checkpoint that transformers' Auto classes can load.
        out: Folder of the run: `adapter/`, `loss.jsonl`, `run.json`, and `checkpoints/` until it is done.
        settings: How.
        frames: Folder that the paths of frames begin from; that of `data` by default.
        cpu: Use no accelerator even where there is one.
        overwrite: Begin anew where a run is already.
        progress: Is told how far it is.

    Raises:
        InputError: Data or checkpoint cannot be used, or do not fit each other.
        ModelError: The loss is no number any more, or the memory does not suffice; the last checkpoint is kept.
        SettingError: Settings differ from those that the run was begun with.
        BenchmarkError: The run is done already.
        KeyboardInterrupt: It was interrupted; a checkpoint was written at the end of the step.
    """
    try:
        import accelerate
    except ImportError:
        raise MissingExtraError("training an adapter", extra="train") from None

    accelerator: Any = accelerate.Accelerator(
        cpu=cpu or None,
        # A sample without frames leaves the projector without a gradient.
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
    # Under FSDP all weights that are spread together have one precision; it computes in bfloat16 all the same.
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
        lora_checkpoints.load_adapter(kept[0], adapted)
    weights = [weight for weight in adapted.parameters() if weight.requires_grad]
    optimizer: Any = torch.optim.AdamW(weights, lr=settings.learning_rate, weight_decay=settings.weight_decay)
    with within_memory(OUT_OF_MEMORY):
        model, optimizer = accelerator.prepare(adapted, optimizer)
    if kept is not None and kept[1].step:
        lora_checkpoints.load_optimizer(kept[0], model=model, optimizer=optimizer)

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
    """Take away the run that is there, once nothing stands in the way of another."""
    if accelerator.is_main_process:
        (out / RUN).unlink(missing_ok=True)
        for name in (lora_checkpoints.CHECKPOINTS, ADAPTER):
            shutil.rmtree(out / name, ignore_errors=True)
    accelerator.wait_for_everyone()


def _kept(out: Path, begun: Begun) -> tuple[Path, State] | None:
    """The checkpoint to go on from; None where the run begins."""
    if (out / RUN).is_file():
        raise BenchmarkError(f"the run in {out} is done; choose another --out, or pass --overwrite to begin anew")
    kept = lora_checkpoints.latest(out)
    if kept is not None:
        differences = begun.differences(kept[1].begun)
        if differences:
            raise SettingError(
                f"the run in {out} was begun with something else: {'; '.join(differences)}. Run the command as it was, "
                "choose another --out, or pass --overwrite to begin anew"
            )
    elif out.is_dir() and any(path.name != lora_checkpoints.CHECKPOINTS for path in out.iterdir()):
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
    """Write what remains of the run, then delete its checkpoints."""
    last = lora_checkpoints.latest(out)
    assert last is not None
    with writing_directory(out / ADAPTER, overwrite=True) as folder:
        for file in last[0].iterdir():
            if file.name not in (lora_checkpoints.OPTIMIZER, lora_checkpoints.STATE):
                shutil.copyfile(file, folder / file.name)
    write_run(
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
    shutil.rmtree(out / lora_checkpoints.CHECKPOINTS, ignore_errors=True)
