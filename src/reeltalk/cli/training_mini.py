"""The command that trains reeltalk-mini."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from reeltalk.cli.app import Bar, say
from reeltalk.cli.training import train
from reeltalk.errors import MissingExtraError

MODEL = "model"
CHECKPOINT = "checkpoint"
"""Folders of the exported model, and of the network as torch has it, in that of a run."""


@train.command(sort_key=3)
def mini(
    bench: Path,
    /,
    *,
    out: Path,
    seed: int = 17,
    eye_steps: Annotated[int, Field(ge=1)] | None = None,
    speech_steps: Annotated[int, Field(ge=1)] | None = None,
    threads: Annotated[int, Field(ge=1)] = 2,
    frames: Path | None = None,
) -> int:
    """Train reeltalk-mini from nothing on a filmed household, and export it for use without torch. Needs `train`.

    Example: `reeltalk train mini benchmarks/household --out models/mini --seed 17`. Run it again to go on after an
    interruption, to the same losses; then `reeltalk evaluate BENCH --model mini:models/mini/model`.

    Parameters
    ----------
    bench
        A benchmark as `reeltalk world film` makes it, with train and dev videos.
    out
        Folder that appears: model/ for use without torch, checkpoint/ for use with it, the state to go on from,
        loss.jsonl and run.json.
    seed
        Decides what the network begins with and what it is asked.
    eye_steps
        Steps of the vision encoder, of 48 frames; 1,500 by default.
    speech_steps
        Steps of projector and decoder, of 8 dialogues; 1,400 by default.
    threads
        Cores to compute on.
    frames
        Folder that keeps decoded frames, which several seeds may share; in the folder of the run by default.
    """
    try:
        from reeltalk.inference.mini_words import TOKENIZER
        from reeltalk.parallel.local import LocalExecutor
        from reeltalk.store.benchmark import Benchmark
        from reeltalk.streaming.export_onnx import export_mini
        from reeltalk.streaming.mini_checkpoint import save_mini
        from reeltalk.streaming.mini_training import train_mini
        from reeltalk.streaming.settings import MiniSettings, SpeechSettings, VisionSettings
    except ImportError:
        raise MissingExtraError("training reeltalk-mini", extra="train") from None

    settings = MiniSettings(
        seed=seed,
        eye=VisionSettings(**({} if eye_steps is None else {"steps": eye_steps})),
        speech=SpeechSettings(**({} if speech_steps is None else {"steps": speech_steps})),
        threads=threads,
    )
    benchmark = Benchmark.open(bench)
    with Bar() as bar:
        model, _ = train_mini(
            benchmark, out, settings, frames=frames or out / "frames", executor=LocalExecutor(threads),
            progress=bar.show,
        )  # fmt: skip
    save_mini(out / CHECKPOINT, model, out / TOKENIZER, overwrite=True)
    export_mini(model, out / TOKENIZER, out / MODEL, overwrite=True)
    say(f"reeltalk-mini: {out / MODEL}")
    return 0
