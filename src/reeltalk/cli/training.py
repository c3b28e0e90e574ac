"""Commands that train streaming models."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Group, Parameter
from pydantic import Field

from reeltalk.cli.options import OUT, OVERWRITE
from reeltalk.cli.terminal import ProgressBar, say
from reeltalk.errors import MissingExtraError
from reeltalk.schema.sft import LoraSettings

train = App(name="train", group_commands=Group("Commands", sort_key=0), group_parameters=Group("Training", sort_key=1))
Settings = Annotated[LoraSettings, Parameter(name="*", group=Group("Adapter", sort_key=2))]
SETTINGS = LoraSettings()


@train.command(sort_key=1)
def lora(
    data: Path,
    /,
    *,
    base: Path,
    out: Annotated[Path, OUT],
    frames: Path | None = None,
    cpu: Annotated[bool, Parameter(negative="")] = False,
    overwrite: Annotated[bool, OVERWRITE] = False,
    settings: Settings = SETTINGS,
) -> int:
    """Train a LoRA adapter of a vision-language checkpoint on dialogues with frames. Needs the `train` extra.

    Run it again to continue after an interruption; the losses are the same. On several GPUs: `accelerate launch -m
    reeltalk train lora …`.

    Example: `reeltalk train lora train.jsonl --base models/InternVL3-1B-hf --out runs/tuned --precision bfloat16`.

    Parameters
    ----------
    data
        StreamingChat's JSON Lines, as `reeltalk export streamingchat` writes it.
    base
        Folder of a checkpoint: InternVL, Qwen-VL, SmolVLM, or another that transformers' Auto classes load.
    out
        Folder of the run to create: adapter/, loss.jsonl and run.json.
    frames
        Folder to which the paths of frames are relative; the data's folder by default.
    cpu
        Use no accelerator, even if there is one.
    overwrite
        Replace an existing run.
    """
    try:
        from reeltalk.streaming.lora_training import train_lora
    except ImportError:
        raise MissingExtraError("training an adapter", extra="train") from None

    with ProgressBar() as bar:
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
        from reeltalk.streaming.lora import merge as add_up
    except ImportError:
        raise MissingExtraError("merging an adapter", extra="train") from None

    add_up(adapter, out, overwrite=overwrite)
    print(f"merged: {out}")
    return 0


MODEL = "model"
CHECKPOINT = "checkpoint"
"""Folders, in the folder of a run, of the exported model and of the network as a torch checkpoint."""


@train.command(sort_key=3)
def mini(
    bench: Path,
    /,
    *,
    out: Annotated[Path, OUT],
    seed: int = 17,
    share: Annotated[float, Field(gt=0, le=1)] = 1.0,
    eye_steps: Annotated[int, Field(ge=1)] | None = None,
    speech_steps: Annotated[int, Field(ge=1)] | None = None,
    threads: Annotated[int, Field(ge=1)] = 2,
    frames: Path | None = None,
) -> int:
    """Train reeltalk-mini from nothing on a filmed household, and export it for use without torch. Needs `train`.

    Run it again to continue after an interruption; the losses are the same; then `reeltalk evaluate BENCH --model
    mini:models/mini/model`.

    Example: `reeltalk train mini benchmarks/household --out models/mini --seed 17`.

    Parameters
    ----------
    bench
        A benchmark as `reeltalk world film` makes it, with train and dev videos.
    out
        Folder to create: model/ for use without torch, checkpoint/ for use with it, the state to continue from,
        loss.jsonl and run.json.
    seed
        Seed of the initial weights and of the questions.
    share
        Share of the steps of both parts, for a point of a learning curve.
    eye_steps
        Steps of the vision encoder, of 24 frames.
    speech_steps
        Steps of projector and decoder, of 8 dialogues.
    threads
        Number of cores to use.
    frames
        Folder for decoded frames, which several seeds may share; in the folder of the run by default.
    """
    try:
        from reeltalk.inference.mini_input import TOKENIZER
        from reeltalk.parallel.local import LocalExecutor
        from reeltalk.store.benchmark import Benchmark
        from reeltalk.streaming.export_onnx import export_mini
        from reeltalk.streaming.mini_training import train_mini
        from reeltalk.streaming.network import save_mini
        from reeltalk.streaming.settings import MiniSettings, SpeechSettings, VisionSettings
    except ImportError:
        raise MissingExtraError("training reeltalk-mini", extra="train") from None

    def steps(part: VisionSettings | SpeechSettings, asked: int | None) -> dict[str, int]:
        count = asked or max(1, round(part.steps * share))
        return {"steps": count, "warmup": min(part.warmup, max(1, count // 5))}

    settings = MiniSettings(seed=seed, threads=threads)
    settings = settings.model_copy(
        update={
            "eye": settings.eye.model_copy(update=steps(settings.eye, eye_steps)),
            "speech": settings.speech.model_copy(update=steps(settings.speech, speech_steps)),
        }
    )
    benchmark = Benchmark.open(bench)
    with ProgressBar() as bar:
        model, _ = train_mini(
            benchmark, out, settings, frames=frames or out / "frames", executor=LocalExecutor(threads),
            progress=bar.show,
        )  # fmt: skip
    save_mini(out / CHECKPOINT, model, out / TOKENIZER, overwrite=True)
    export_mini(model, out / TOKENIZER, out / MODEL, overwrite=True)
    say(f"reeltalk-mini: {out / MODEL}")
    return 0
