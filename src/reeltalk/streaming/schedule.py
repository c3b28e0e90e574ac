"""The learning rate at each step, and the check that ends a training."""

import math

import torch
from torch import Tensor

from reeltalk.errors import ModelError


def rate_at(step: int, steps: int, *, top: float, warmup: int, floor: float = 0.05) -> float:
    """The learning rate: rises in a line, then falls as half a cosine.

    Args:
        step: From 0.
        steps: Of the whole training.
        top: Highest rate.
        warmup: Steps until it is reached, 1 or more.
        floor: Share of it that is left at the end.
    """
    if step < warmup:
        return top * (step + 1) / warmup
    share = (step - warmup) / max(1, steps - warmup)
    return top * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * share)))


def check_loss(loss: Tensor, step: int) -> None:
    """End a training if the loss is not a finite number.

    Raises:
        ModelError: It is not finite.
    """
    if not bool(torch.isfinite(loss)):
        raise ModelError(
            f"the loss of step {step + 1} is {float(loss.detach())}; what was saved before it is kept, "
            "begin in another folder with another --seed"
        )
