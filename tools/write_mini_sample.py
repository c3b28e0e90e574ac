"""Write tests/mini_sample: a tiny reeltalk-mini with random weights, for tests of what runs it without torch."""

import tempfile
from pathlib import Path

import torch

from reeltalk_household.mini.mini_input import MiniShape
from reeltalk_household.training.export_onnx import export_mini
from reeltalk_household.training.mini_training import train_words
from reeltalk_household.training.network import Mini

SAMPLE = Path(__file__).parents[1] / "tests" / "mini_sample"
SHAPE = MiniShape(
    height_px=36, width_px=64, channels=(4, 8, 8, 16), glimpses=2, glimpse_width=8, frame_tokens=2, vision_width=16,
    clock_waves=4, width=32, layers=2, heads=2, hidden=48, vocabulary=128,
)  # fmt: skip
TEXTS = ("what is on the table? a red cup.", "where is the person? in the kitchen.", "tell me when the kettle boils.")


def tiny(seed: int = 0, shape: MiniShape = SHAPE) -> Mini:
    """A network with random weights that says something, ready to be run."""
    torch.manual_seed(seed)
    model = Mini(shape)
    with torch.no_grad():
        # Words that all look alike would leave it to the last digit which is said.
        torch.nn.init.normal_(model.decoder.words.weight, std=0.5)
        # And places that all look alike, at which of them the network looks closely.
        for layer in (model.encoder.attend, model.encoder.key, model.encoder.ask[2]):
            torch.nn.init.normal_(layer.weight, std=2.0)
        torch.nn.init.normal_(model.encoder.column, std=2.0)
        # Somebody is there, and letters are read above the head.
        torch.nn.init.normal_(model.encoder.centre[0].weight, std=1.0)
        torch.nn.init.normal_(model.encoder.centre[2].weight, std=1.0)
        torch.nn.init.constant_(model.encoder.centre[2].bias, 30.0)
        torch.nn.init.normal_(model.encoder.letters.tell.weight, std=3.0)
        torch.nn.init.normal_(model.encoder.letters.read[0].weight, std=0.5)
        model.train()
        for _ in range(3):
            model.encoder(torch.rand(4, 6, shape.height_px, shape.width_px))
    model.eval()
    return model


def words(path: Path) -> Path:
    """A tokenizer of a few words, at `path`."""
    train_words(TEXTS, SHAPE.vocabulary, path)
    return path


if __name__ == "__main__":
    # With this seed, answers are split into the same words when they are read again.
    with tempfile.TemporaryDirectory() as scratch:
        export_mini(tiny(seed=3), words(Path(scratch, "tokenizer.json")), SAMPLE, overwrite=True)
    print(f"{SAMPLE}: {sum(path.stat().st_size for path in SAMPLE.iterdir()):,} bytes")
