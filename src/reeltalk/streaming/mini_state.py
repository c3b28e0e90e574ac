"""Where the training of reeltalk-mini stands, as a file: weights, moments and the step, written whole or not at all.

Nothing in them is code: tensors are safetensors, the rest is JSON inside the same file.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from reeltalk.errors import InputError
from reeltalk.store.atomic import write_bytes

STEP: Final = "step"
_MOMENTS: Final = ("exp_avg", "exp_avg_sq", "momentum_buffer", "step")
Optimisers = Sequence[torch.optim.Optimizer]


def save_state(path: Path, model: nn.Module, optimisers: Optimisers, *, step: int, signature: str = "") -> None:
    """Write a state.

    Args:
        path: A `.safetensors` file.
        model: Whose parameters and buffers are kept.
        optimisers: AdamW or Muon; their moments are kept in the order of their parameters.
        step: Steps that were made.
        signature: What must be the same for the training to go on: settings, data, versions.
    """
    tensors: dict[str, Tensor] = {f"model.{name}": value for name, value in model.state_dict().items()}
    for which, optimiser in enumerate(optimisers):
        for number, kept in optimiser.state_dict()["state"].items():
            found = {name: torch.as_tensor(kept[name]) for name in _MOMENTS if name in kept}
            tensors |= {f"optimiser.{which}.{number}.{name}": value for name, value in found.items()}
    clean = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    write_bytes(path, save(clean, metadata={STEP: str(step), "signature": signature}))


def load_state(path: Path, model: nn.Module, optimisers: Optimisers, *, signature: str = "") -> int:
    """Read a state into a model and its optimiser.

    Args:
        path: What `save_state` wrote.
        model: Of the same make.
        optimisers: Over the same parameters.
        signature: What it must have been written with.

    Returns:
        Steps that were made.

    Raises:
        InputError: It is no such file, is of another model, or of a training with other settings.
    """
    try:
        with safe_open(str(path), framework="pt") as file:
            metadata: Mapping[str, str] = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except (OSError, SafetensorError) as error:
        raise InputError(f"no state of a training: {error}", file=path) from error
    if metadata.get("signature") != signature:
        raise InputError(
            "it was written with other settings or data",
            file=path,
            hint="go on with the same ones, or begin in another folder",
        )
    weights = {name.removeprefix("model."): value for name, value in tensors.items() if name.startswith("model.")}
    try:
        model.load_state_dict(weights)
        for which, optimiser in enumerate(optimisers):
            state = optimiser.state_dict()
            state["state"] = _moments(tensors, f"optimiser.{which}.")
            optimiser.load_state_dict(state)
        return int(metadata[STEP])
    except (RuntimeError, ValueError, KeyError) as error:
        raise InputError(f"it is of another model: {' '.join(str(error).split())[:200]}", file=path) from error


def _moments(tensors: Mapping[str, Tensor], prefix: str) -> dict[int, dict[str, Tensor]]:
    found: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        if name.startswith(prefix):
            number, _, moment = name.removeprefix(prefix).partition(".")
            found.setdefault(int(number), {})[moment] = value
    return found
