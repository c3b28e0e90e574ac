"""Commands that train streaming models."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from reeltalk.cli.app import OVERWRITE, Bar, app, say
from reeltalk.errors import MissingExtraError
from reeltalk.schema.lora import LoraSettings

train = App(name="train", sort_key=15, help="Train a streaming video-language model.")
app.command(train)

Settings = Annotated[LoraSettings, Parameter(name="*")]
SETTINGS = LoraSettings()


@train.command(sort_key=1)
def lora(
    data: Path,
    /,
    *,
    base: Path,
    out: Path,
    frames: Path | None = None,
    cpu: Annotated[bool, Parameter(negative="")] = False,
    overwrite: Annotated[bool, OVERWRITE] = False,
    settings: Settings = SETTINGS,
) -> int:
    """Train a LoRA adapter of a vision-language checkpoint on dialogues with frames. Needs the `train` extra.

    Example: `reeltalk train lora train.jsonl --base models/InternVL3-1B-hf --out runs/tuned --precision bfloat16`. Run
    it again to go on after an interruption, to the same losses. On several GPUs: `accelerate launch -m reeltalk train
    lora …`.

    Parameters
    ----------
    data
        StreamingChat's JSON Lines, as `reeltalk export streamingchat` writes it.
    base
        Folder of a checkpoint: InternVL, Qwen-VL, SmolVLM, or another that transformers' Auto classes load.
    out
        Folder of the run that appears: adapter/, loss.jsonl and run.json.
    frames
        Folder that the paths of frames begin from; that of the data by default.
    cpu
        Use no accelerator even where there is one.
    overwrite
        Begin anew where a run is already.
    """
    try:
        from reeltalk.streaming.lora_training import train_lora
    except ImportError:
        raise MissingExtraError("training an adapter", extra="train") from None

    with Bar() as bar:
        done = train_lora(
            data, base, out, settings, frames=frames, cpu=cpu, overwrite=overwrite, progress=bar.show
        )  # fmt: skip
    if not done.tells:
        return 0
    if done.resumed_at:
        say(f"went on after step {done.resumed_at:,}")
    if done.left_out:
        print(f"{len(done.left_out):,} samples over the budget were left out: {', '.join(done.left_out[:5])}")
    if done.losses:
        print(f"{done.steps:,} steps on {done.samples:,} samples: loss {done.losses[0]:.4f} to {done.losses[-1]:.4f}")
    print(f"adapter: {done.adapter}; 'reeltalk train merge {done.adapter} --out FOLDER' makes a whole checkpoint of it")
    return 0


@train.command(sort_key=2)
def merge(adapter: Path, /, *, out: Path, overwrite: Annotated[bool, OVERWRITE] = False) -> int:
    """Add an adapter to the checkpoint that it was trained on; a whole checkpoint appears. Needs the `train` extra.

    Example: `reeltalk train merge runs/tuned/adapter --out models/tuned`, and then
    `reeltalk evaluate benchmarks/kitchen --model transformers:models/tuned`.

    Parameters
    ----------
    adapter
        Folder of an adapter, as `reeltalk train lora` writes it.
    out
        Folder that appears.
    overwrite
        Replace what is there.
    """
    try:
        from reeltalk.streaming.lora import merge as add_up
    except ImportError:
        raise MissingExtraError("merging an adapter", extra="train") from None

    add_up(adapter, out, overwrite=overwrite)
    print(f"merged: {out}")
    return 0
