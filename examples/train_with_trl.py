"""Train a vision-language model with TRL on an export of reeltalk: a script to start yours from.

reeltalk export trl benchmarks/kitchen out/train
python examples/train_with_trl.py out/train/trl.jsonl models/my-vlm models/tuned
reeltalk evaluate benchmarks/kitchen --model transformers:models/tuned --out runs/tuned

It needs `pip install trl`, and nothing of reeltalk.
"""

import sys
from pathlib import Path
from typing import Any

LEARNT = ["prompt", "completion", "images"]
"""Columns of a row: the dialogue up to a question, its answer, and the frames before the question."""


def read_rows(file: Path) -> Any:
    """The rows of `reeltalk export trl`; frames are opened when they are needed."""
    from datasets import Image, List, load_dataset

    rows = load_dataset("json", data_files=str(file), split="train").select_columns(LEARNT)
    rows = rows.map(lambda row: {"images": [str(file.parent / frame) for frame in row["images"]]})
    return rows.cast_column("images", List(Image()))


def main(data: str, checkpoint: str, out: str, steps: str = "-1", learning_rate: str = "2e-5") -> None:
    """Train on the rows of `data` for one pass, or for a number of steps, and write a checkpoint to `out`."""
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor
    from trl import SFTConfig, SFTTrainer

    settings = SFTConfig(
        output_dir=f"{out}-training",
        max_steps=int(steps),
        num_train_epochs=1,
        per_device_train_batch_size=1,
        learning_rate=float(learning_rate),
        # Text that is cut off would leave frames without their placeholders.
        max_length=None,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=not torch.accelerator.is_available(),
    )
    trainer = SFTTrainer(
        model=AutoModelForImageTextToText.from_pretrained(checkpoint),
        processing_class=AutoProcessor.from_pretrained(checkpoint),
        train_dataset=read_rows(Path(data)),
        args=settings,
    )
    trainer.train()
    trainer.save_model(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
