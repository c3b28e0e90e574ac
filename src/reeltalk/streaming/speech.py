"""Second part of reeltalk-mini's training: projector and decoder learn to answer from what the eye tells them.

The eye is not changed any more, so that each frame is looked at once for the whole of the training.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from reeltalk.errors import ModelError
from reeltalk.streaming.lessons import Lessons
from reeltalk.streaming.network import Mini
from reeltalk.streaming.sequence import NOT_LEARNED, Batch, Interleaved, batch_of
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


def _batches(lessons: Lessons, features: Sequence[NDArray[np.float32]], fps: float, size: int) -> Iterator[Batch]:
    while True:
        drawn: list[tuple[int, Interleaved]] = [lessons.next() for _ in range(POOL * size)]
        drawn.sort(key=lambda lesson: len(lesson[1]))
        parts = [drawn[start : start + size] for start in range(0, len(drawn), size)]
        for place in lessons.shuffled(len(parts)):
            yield batch_of([lesson for _, lesson in parts[place]], [features[n] for n, _ in parts[place]], fps)


def train_speech(
    model: Mini,
    lessons: Lessons,
    features: Sequence[NDArray[np.float32]],
    settings: SpeechSettings,
    report: Report,
) -> None:
    """Train projector and decoder in place.

    Args:
        model: With a trained encoder.
        lessons: What is asked.
        features: (frames, K, V) visual tokens of each of the lessons' videos.
        settings: Steps, rate and seed.
        report: Called with each step, the loss of words and that of when to speak.

    Raises:
        ModelError: The loss is no number any more.
    """
    torch.manual_seed(settings.seed)
    learned = [*model.projector.parameters(), *model.decoder.parameters()]
    matrices, others = [p for p in learned if p.ndim > 1], [p for p in learned if p.ndim <= 1]
    optimiser = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": settings.weight_decay}, {"params": others, "weight_decay": 0.0}],
        lr=settings.rate,
        betas=(0.9, 0.98),
    )
    model.train()
    batches = _batches(lessons, features, model.shape.fps, settings.batch)
    for step in range(settings.steps):
        for group in optimiser.param_groups:
            group["lr"] = rate_at(step, settings.steps, top=settings.rate, warmup=settings.warmup)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=settings.bf16):
            words, ready = losses_of(model, next(batches), blur=settings.blur)
        loss = words + settings.ready_weight * ready
        if not bool(torch.isfinite(loss)):
            raise ModelError(f"the loss of step {step + 1} is {float(loss.detach())}; take a lower --rate")
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimiser.step()
        report(step, float(words.detach()), float(ready.detach()))
    model.eval()
