"""Second part of reeltalk-mini's training: projector and decoder learn to answer from the visual tokens.

The vision encoder no longer changes, so each frame is encoded once for the whole training.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from reeltalk_household.training.lessons import NOT_LEARNED, Batch, Interleaved, Lessons, batch_of
from reeltalk_household.training.network import Mini, rotate, turns
from reeltalk_streaming.training.schedule import check_loss, rate_at
from reeltalk_streaming.training.settings import SpeechSettings

Report = Callable[[int, dict[str, float]], None]
LOOKING_LAYER: Final = 2
LOOKING_HEADS: Final = 2
"""Number of heads of this layer that learn to attend to the evidence of an answer; the others are free."""
POOL_BATCHES: Final = 8
"""Number of batches that are drawn together, so that sequences of similar length are in one batch."""
POOLS_BETWEEN: Final = 8
"""Each lesson comes again so many pools later, because writing one takes nearly as long as learning from it."""


@dataclass(frozen=True)
class Losses:
    """Mean losses of a batch."""

    words: Tensor
    """Loss of the learned words."""
    ready: Tensor
    """Loss of whether to speak; 0 if the batch has no such target."""
    named: Tensor
    """Loss of the words for the scene and for each person. It puts a visual token near the words for what it shows, so
    that a word can be copied."""
    looked: Tensor
    """Loss of the attention to evidence during an answer."""


def losses_of(model: Mini, batch: Batch, *, blur: float = 0.0) -> Losses:
    """The losses of a batch; `blur` is the share of visual values that are hidden."""
    seen = F.dropout(batch.seen, blur) if blur else batch.seen
    visual = model.decoder.marked(model.projector(seen, batch.pts_s), batch.marks)  # (N, K, D)
    x = model.decoder.words(batch.ids)
    x = x.index_put((batch.at[:, 0], batch.at[:, 1]), visual.flatten(0, 1).to(x.dtype))
    shown = batch.named.sum(dim=-1) > 0
    called = (visual[shown] @ model.decoder.words.weight.T).float().log_softmax(dim=-1)
    named = -(batch.named[shown] * called).sum(dim=-1).mean()
    hidden, looked = _read(model, x, batch)
    learned = batch.learned != NOT_LEARNED
    # Scores of words are computed only at learned places, because most places are frames and questions.
    words = F.cross_entropy(model.decoder.tell(hidden[learned])[0].float(), batch.learned[learned])
    known = ~torch.isnan(batch.ready)
    if not bool(known.any()):
        return Losses(words, words.new_zeros(()), named, looked)
    ready = model.decoder.tell(hidden[known])[1].float()
    return Losses(words, F.binary_cross_entropy_with_logits(ready, batch.ready[known]), named, looked)


def _read(model: Mini, x: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """States after the last layer, as in `Decoder.read`, and the loss of not attending to the evidence."""
    shape, decoder = model.shape, model.decoder
    by = turns(torch.arange(x.shape[1], device=x.device)[None], shape.head_width)
    looked = x.new_zeros(())
    for number, block in enumerate(decoder.blocks):
        if number == LOOKING_LAYER:
            b, t, _ = x.shape
            q, k, _ = block.qkv(block.before(x)).view(b, t, 3, shape.heads, shape.head_width).permute(2, 0, 3, 1, 4)
            q, k = rotate(q[:, :LOOKING_HEADS], by), rotate(k[:, :LOOKING_HEADS], by)
            at = batch.answers[:, None, :, None].expand(-1, LOOKING_HEADS, -1, shape.head_width)
            scores = (q.gather(2, at) @ k.transpose(-1, -2)).float() / shape.head_width**0.5  # (B, heads, M, T)
            later = torch.arange(t, device=x.device) > batch.answers[:, :, None]
            shares = scores.masked_fill(later[:, None], -1e4).log_softmax(dim=-1)
            inside = torch.logsumexp(shares.masked_fill(~batch.evidence[:, None], -1e4), dim=-1)
            known = batch.evidence.any(dim=-1)[:, None].expand_as(inside)
            looked = -inside[known].mean() if bool(known.any()) else looked
        x, _, _ = block(x, by, by, None, None)
    return decoder.last(x), looked


def batches(lessons: Lessons, features: Sequence[NDArray[np.float32]], size: int, *, first: int = 0) -> Iterator[Batch]:
    """Endless batches from step `first` on. `POOL_BATCHES` are drawn together, half of them for the second time."""
    kept: dict[int, list[tuple[int, Interleaved]]] = {}
    count_of_new = POOL_BATCHES * size // 2

    def new(pool: int) -> list[tuple[int, Interleaved]]:
        if pool not in kept:
            kept[pool] = [lessons.lesson(pool * count_of_new + n) for n in range(count_of_new)]
        return kept[pool]

    for pool in count(first // POOL_BATCHES):
        again = pool - POOLS_BETWEEN if pool >= POOLS_BETWEEN else pool
        drawn = sorted([*new(again), *new(pool)], key=lambda lesson: len(lesson[1]))
        if pool >= POOLS_BETWEEN:
            kept.pop(again)
        order = list(range(POOL_BATCHES))
        random.Random(f"pool {pool}").shuffle(order)
        for place in order[first % POOL_BATCHES if pool == first // POOL_BATCHES else 0 :]:
            part = drawn[place * size : (place + 1) * size]
            lessons_of, videos = [lesson for _, lesson in part], [video for video, _ in part]
            yield batch_of(lessons_of, [features[n] for n in videos], [lessons.names[n] for n in videos])


def optimisers_of(model: Mini, settings: SpeechSettings) -> tuple[torch.optim.Optimizer, ...]:
    """Muon for the decoder's matrices, with steps of the same size as AdamW's, and AdamW for all else."""
    matrices = [p for p in model.decoder.blocks.parameters() if p.ndim == 2]
    others = [
        p for part in (model.projector, model.decoder) for p in part.parameters() if not any(p is m for m in matrices)
    ]
    return (
        torch.optim.Muon(
            matrices, lr=settings.rate, weight_decay=settings.weight_decay, adjust_lr_fn="match_rms_adamw"
        ),
        torch.optim.AdamW(others, lr=settings.rate, weight_decay=settings.weight_decay, betas=(0.9, 0.98)),
    )


def train_speech(
    model: Mini,
    lessons: Lessons,
    features: Sequence[NDArray[np.float32]],
    settings: SpeechSettings,
    optimisers: Sequence[torch.optim.Optimizer],
    report: Report,
    *,
    seed: int,
    first: int = 0,
) -> None:
    """Trains projector and decoder in place.

    Args:
        model: The network, with a trained encoder.
        features: (frames, K, V) visual tokens of each of the lessons' videos.
        settings: Settings of this part.
        optimisers: The result of `optimisers_of`, in the state after step `first`.
        report: Called after each step with its number from 0 and its losses by name.
        seed: Decides the hidden values.
        first: Number of finished steps.

    Raises:
        ModelError: The loss is no longer a finite number.
    """
    groups = [group for optimiser in optimisers for group in optimiser.param_groups]
    learned = [p for group in groups for p in group["params"]]
    model.train()
    model.encoder.eval()
    device = learned[0].device
    drawn = batches(lessons, features, settings.batch, first=first)
    for step in range(first, settings.steps):
        # Seeded per step and not per run, so that a resumed run draws the same numbers.
        torch.manual_seed(seed * 1_000_003 + step)
        for group in groups:
            group["lr"] = rate_at(step, settings.steps, top=settings.rate, warmup=settings.warmup)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=settings.bf16):
            found = losses_of(model, next(drawn).to(device), blur=settings.blur)
        loss = (
            found.words
            + settings.ready_weight * found.ready
            + settings.named_weight * found.named
            + settings.looked_weight * found.looked
        )
        check_loss(loss, step)
        for optimiser in optimisers:
            optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        for optimiser in optimisers:
            optimiser.step()
        report(step, {name: float(getattr(found, name).detach()) for name in ("words", "ready", "named", "looked")})
    model.eval()
