"""The learning rate at each step, and a check that stops a training."""

import math

import torch
from torch import Tensor

from reeltalk.errors import ModelError


def rate_at(step: int, steps: int, *, top: float, warmup: int, floor: float = 0.05) -> float:
    """The learning rate, which rises linearly and then falls as half a cosine.

    Args:
        step: Number of the step, from 0.
        steps: Number of steps of the whole training.
        top: Highest rate.
        warmup: Steps until the highest rate is reached, 1 or more.
        floor: Share of the highest rate at the end.
    """
    if step < warmup:
        return top * (step + 1) / warmup
    share = (step - warmup) / max(1, steps - warmup)
    return top * (floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * share)))


def check_loss(loss: Tensor, step: int) -> None:
    """Stops a training if the loss is not a finite number.

    Raises:
        ModelError: The loss is not finite.
    """
    if not bool(torch.isfinite(loss)):
        raise ModelError(
            f"the loss of step {step + 1} is {float(loss.detach())}; what was saved before it is kept, "
            "begin in another folder with another --seed"
        )
