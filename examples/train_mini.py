"""Train reeltalk-mini from nothing on a filmed household, and export it for use without torch.

python examples/train_mini.py benchmarks/household models/mini 17
"""

import sys
from pathlib import Path

from reeltalk import Benchmark
from reeltalk.parallel.local import LocalExecutor
from reeltalk_household.mini.mini_input import TOKENIZER
from reeltalk_household.training.export_onnx import export_mini
from reeltalk_household.training.mini_training import train_mini
from reeltalk_streaming.training.settings import MiniSettings


def main(bench: str, out: str, seed: str = "17", share: str = "1") -> None:
    """Train on `bench` with a share of the steps. The same call continues an interrupted training."""
    settings = MiniSettings(seed=int(seed))
    parts = {
        name: part.model_copy(
            update={"steps": max(1, round(part.steps * float(share))), "warmup": round(part.warmup * float(share))}
        )
        for name, part in (("eye", settings.eye), ("speech", settings.speech))
    }
    folder = Path(out)
    model, _ = train_mini(
        Benchmark.open(bench), folder, settings.model_copy(update=parts), frames=folder / "frames",
        executor=LocalExecutor(settings.threads),
    )  # fmt: skip
    export_mini(model, folder / TOKENIZER, folder / "model", overwrite=True)
    print(f"reeltalk-mini: {folder / 'model'}, {sum(value.numel() for value in model.parameters()):,} parameters")


if __name__ == "__main__":
    main(*sys.argv[1:])
