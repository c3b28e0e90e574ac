"""Second part of reeltalk-mini's training: projector and decoder learn to answer from what the eye tells them.

The eye is not changed any more, so that each frame is looked at once for the whole of the training.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Final

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from reeltalk.errors import ModelError
from reeltalk.streaming.lessons import Lessons
from reeltalk.streaming.network import Mini
from reeltalk.streaming.sequence import NOT_LEARNED, Batch, batch_of
from reeltalk.streaming.settings import SpeechSettings
from reeltalk.streaming.vision import rate_at

Report = Callable[[int, float, float], None]
POOL: Final = 8
"""Batches that are drawn at a time, so that sequences of like length go together."""


def losses_of(model: Mini, batch: Batch, *, blur: float = 0.0) -> tuple[Tensor, Tensor]:
    """Mean loss of learned words, and of whether to speak (0 where nothing of it is learned)."""
    seen = F.dropout(batch.seen, blur) if blur else batch.seen
    visual = model.projector(seen, batch.pts_s).flatten(0, 1)
    x = model.decoder.words(batch.ids)
    x = x.index_put((batch.at[:, 0], batch.at[:, 1]), visual.to(x.dtype))
    hidden = model.decoder.read(x)
    learned = batch.learned != NOT_LEARNED
    # Only what is learned is told in words: most places are frames and questions.
    words = F.cross_entropy(model.decoder.tell(hidden[learned])[0].float(), batch.learned[learned])
    known = ~torch.isnan(batch.ready)
    if not bool(known.any()):
        return words, words.new_zeros(())
    ready = model.decoder.tell(hidden[known])[1].float()
    return words, F.binary_cross_entropy_with_logits(ready, batch.ready[known])


def batches(
    lessons: Lessons, features: Sequence[NDArray[np.float32]], fps: float, size: int, *, first: int = 0
) -> Iterator[Batch]:
    """Batches without an end, from step `first` on; `POOL` of them are drawn at a time."""
    for pool in count(first // POOL):
        number = pool * POOL * size
        drawn = sorted((lessons.lesson(number + n) for n in range(POOL * size)), key=lambda lesson: len(lesson[1]))
        order = list(range(POOL))
        random.Random(f"pool {pool}").shuffle(order)
        for place in order[first % POOL if pool == first // POOL else 0 :]:
            part = drawn[place * size : (place + 1) * size]
            yield batch_of([lesson for _, lesson in part], [features[n] for n, _ in part], fps)


def optimiser_of(model: Mini, settings: SpeechSettings) -> torch.optim.AdamW:
    """AdamW over projector and decoder; matrices decay, the rest does not."""
    learned = [*model.projector.parameters(), *model.decoder.parameters()]
    matrices, others = [p for p in learned if p.ndim > 1], [p for p in learned if p.ndim <= 1]
    groups = [{"params": matrices, "weight_decay": settings.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=settings.rate, betas=(0.9, 0.98))


def train_speech(
    model: Mini,
    lessons: Lessons,
    features: Sequence[NDArray[np.float32]],
    settings: SpeechSettings,
    optimiser: torch.optim.AdamW,
    report: Report,
    *,
    first: int = 0,
) -> None:
    """Train projector and decoder in place.

    Args:
        model: With a trained encoder.
        lessons: What is asked.
        features: (frames, K, V) visual tokens of each of the lessons' videos.
        settings: Steps, rate and seed.
        optimiser: Of `optimiser_of`, as it was after step `first`.
        report: Called after each step with its number from 0, the loss of words and that of when to speak.
        first: How many steps were made before.

    Raises:
        ModelError: The loss is no number any more.
    """
    learned = [p for group in optimiser.param_groups for p in group["params"]]
    model.train()
    model.encoder.eval()
    drawn = batches(lessons, features, model.shape.fps, settings.batch, first=first)
    for step in range(first, settings.steps):
        # Of each step, not of the run: so a run that goes on draws what it would have drawn.
        torch.manual_seed(settings.seed * 1_000_003 + step)
        for group in optimiser.param_groups:
            group["lr"] = rate_at(step, settings.steps, top=settings.rate, warmup=settings.warmup)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=settings.bf16):
            words, ready = losses_of(model, next(drawn), blur=settings.blur)
        loss = words + settings.ready_weight * ready
        if not bool(torch.isfinite(loss)):
            raise ModelError(f"the loss of step {step + 1} is {float(loss.detach())}; take a lower --rate")
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimiser.step()
        report(step, float(words.detach()), float(ready.detach()))
    model.eval()
