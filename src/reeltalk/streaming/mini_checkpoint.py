"""reeltalk-mini on disk while it is trained: weights as safetensors, its measures and its words beside them."""

from pathlib import Path
from typing import Final

from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save

from reeltalk.errors import InputError
from reeltalk.inference.mini_shape import MiniShape
from reeltalk.inference.mini_words import TOKENIZER
from reeltalk.store.atomic import write_bytes, writing_directory
from reeltalk.streaming.network import Mini

WEIGHTS: Final = "model.safetensors"
SHAPE: Final = "shape.json"
HINT: Final = "give a folder that training reeltalk-mini wrote"


def save_mini(folder: Path, model: Mini, tokenizer: Path, *, overwrite: bool = False) -> None:
    """Write a checkpoint, whole or not at all.

    Args:
        folder: Where.
        model: The network.
        tokenizer: Its `tokenizer.json`, which is copied.
        overwrite: Replace what is there.

    Raises:
        BenchmarkError: The folder is there and not empty, or cannot be written.
        InputError: The tokenizer is not there.
    """
    if not tokenizer.is_file():
        raise InputError("no such file", file=tokenizer, hint="train the words first")
    words = tokenizer.read_bytes()
    tensors = {name: tensor.detach().contiguous() for name, tensor in model.state_dict().items()}
    with writing_directory(folder, overwrite=overwrite) as partial:
        write_bytes(partial / WEIGHTS, save(tensors))
        write_bytes(partial / SHAPE, f"{model.shape.model_dump_json(indent=1)}\n".encode())
        write_bytes(partial / TOKENIZER, words)


def load_mini(folder: Path) -> Mini:
    """The network of a checkpoint, ready to be run.

    Args:
        folder: As `save_mini` wrote it.

    Raises:
        InputError: A file is missing, broken, or does not fit the others.
    """
    for name in (SHAPE, WEIGHTS):
        if not (folder / name).is_file():
            raise InputError("no such file", file=folder / name, hint=HINT)
    try:
        shape = MiniShape.model_validate_json((folder / SHAPE).read_bytes())
    except ValidationError as error:
        raise InputError(
            f"not the measures of reeltalk-mini: {error.errors()[0]['msg']}", file=folder / SHAPE
        ) from None
    try:
        tensors = load_file(folder / WEIGHTS)
    except (SafetensorError, OSError) as error:
        raise InputError(f"not a file of weights: {error}", file=folder / WEIGHTS, hint=HINT) from None
    model = Mini(shape)
    try:
        model.load_state_dict(tensors)
    except RuntimeError as error:
        told = " ".join(str(error).split())[:300]
        raise InputError(f"the weights do not fit {SHAPE}: {told}", file=folder / WEIGHTS, hint=HINT) from None
    model.eval()
    return model
