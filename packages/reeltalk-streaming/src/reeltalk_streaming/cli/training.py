"""Commands that train streaming models."""

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import App, Group, Parameter

from reeltalk.cli.options import IN_OUTPUT, OVERWRITE
from reeltalk.cli.terminal import ProgressBar, say
from reeltalk.errors import MissingExtraError
from reeltalk.schema.sft import LoraSettings, check_training_options

if TYPE_CHECKING:
    pass

train = App(name="train", group_commands=Group("Commands", sort_key=0), group_parameters=Group("Training", sort_key=1))
Settings = Annotated[LoraSettings, Parameter(name="*", group=Group("Adapter", sort_key=2))]
SETTINGS = LoraSettings()


@train.command(sort_key=1)
def lora(
    data: Path,
    /,
    *,
    base: Path,
    out: Annotated[Path, IN_OUTPUT],
    validation: Path | None = None,
    frames: Path | None = None,
    cpu: Annotated[bool, Parameter(negative="")] = False,
    overwrite: Annotated[bool, OVERWRITE] = False,
    settings: Settings = SETTINGS,
) -> int:
    """Train a LoRA adapter of a vision-language checkpoint on dialogues with frames. Needs the `train` extra.

    Run it again to continue after an interruption; the losses are the same. Run it again with a larger --max-steps or
    more --epochs to go on with a finished run. On several GPUs: `accelerate launch -m reeltalk train lora …`.

    With --validation, adapter/ is the adapter with the lowest loss on these dialogues, otherwise that of the last step.
    checkpoints/ holds the last step with the optimizer's state, three times the size of the adapter; without it the
    run cannot go on.

    Example: `reeltalk train lora train.jsonl --base models/InternVL3-1B-hf --out runs/tuned --precision bfloat16`.

    Parameters
    ----------
    data
        StreamingChat's JSON Lines, as `reeltalk export streamingchat` writes it.
    base
        Folder of a checkpoint: InternVL, Qwen-VL, SmolVLM, or another that transformers' Auto classes load.
    out
        Folder of the run to create: adapter/, checkpoints/, loss.jsonl and run.json.
    validation
        Dialogues about other videos, as `reeltalk export streamingchat --split dev` writes them. Their loss is measured
        every --validate-every steps, without dropout.
    frames
        Folder to which the paths of frames are relative; each file's own folder by default.
    cpu
        Use no accelerator, even if there is one.
    overwrite
        Replace an existing run.
    """
    check_training_options(settings, validates=validation is not None)
    try:
        from reeltalk_streaming.training.lora_training import train_lora
    except ImportError:
        raise MissingExtraError("training an adapter", extra="train", of="reeltalk-streaming") from None

    with ProgressBar() as bar:
        done = train_lora(
            data, base, out, settings, validation=validation, frames=frames, cpu=cpu, overwrite=overwrite,
            progress=bar.show, watcher=_Watch(bar), tell=say,
        )  # fmt: skip
    if not done.tells:
        return 0
    if done.left_out:
        print(f"{len(done.left_out):,} samples over the budget were left out: {', '.join(done.left_out[:5])}")
    if done.losses:
        print(f"{done.steps:,} steps on {done.samples:,} samples: loss {done.losses[0]:.4f} to {done.losses[-1]:.4f}")
    adapter = f"adapter: {done.adapter}"
    if done.best is not None:
        early = f"stopped early, as {settings.patience} validations in a row were no better; " * done.stopped_early
        print(
            f"{early}validation loss {done.validations[0].loss:.4f} after step {done.validations[0].step:,}, "
            f"{done.validations[-1].loss:.4f} after step {done.validations[-1].step:,}"
        )
        adapter += f", the best: step {done.best.step:,}, validation loss {done.best.loss:.4f}"
        if done.best.step != done.steps:
            adapter += f"; the last: {done.state}"
    print(adapter)
    print(f"'reeltalk train merge {done.adapter} --out FOLDER' makes a whole checkpoint of it")
    return 0


class _Watch:
    """Shows the numbers of a training behind its bar."""

    STEPS: Final = 20
    """Steps over which speeds are averaged."""

    def __init__(self, bar: ProgressBar) -> None:
        self._bar = bar
        self._last: deque[dict[str, Any]] = deque(maxlen=self.STEPS)
        self._validated = ""

    def step(self, row: dict[str, Any]) -> None:
        self._last.append(row)
        took_s = sum(one["took_s"] for one in self._last) or 1e-9
        frames_s, tokens_s = (sum(one[what] for one in self._last) / took_s for what in ("frames", "tokens"))
        if "validation_loss" in row:
            self._validated = f", validation {row['validation_loss']:.3f}"
        loss = f"loss {row['loss']:.3f}{self._validated}, lr {row['learning_rate']:.1e}"
        self._bar.note = f"{loss}, {frames_s:,.{int(frames_s < 10)}f} frames/s, {tokens_s:,.0f} tokens/s"

    def validating(self, done: int, samples: int) -> None:
        self._bar.note = f"validating: {done:,} of {samples:,}"
        self._bar.refresh()


@train.command(sort_key=2)
def merge(adapter: Path, /, *, out: Path, overwrite: Annotated[bool, OVERWRITE] = False) -> int:
    """Merge an adapter into the checkpoint that it was trained on, as a new checkpoint. Needs the `train` extra.

    Example: `reeltalk train merge runs/tuned/adapter --out models/tuned`, and then `reeltalk evaluate
    benchmarks/kitchen --model transformers:models/tuned`.

    Parameters
    ----------
    adapter
        Folder of an adapter, as `reeltalk train lora` writes it.
    out
        Folder to create.
    overwrite
        Replace existing output.
    """
    try:
        from reeltalk_streaming.training.lora import merge as add_up
    except ImportError:
        raise MissingExtraError("merging an adapter", extra="train", of="reeltalk-streaming") from None

    add_up(adapter, out, overwrite=overwrite)
    print(f"merged: {out}")
    return 0
