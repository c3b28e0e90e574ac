"""First part of reeltalk-mini's training: its eye learns to tell what a frame of the household shows.

Readings of each label hang on the visual tokens while the encoder learns, and are thrown away after that.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from reeltalk.inference.mini_shape import MiniShape
from reeltalk.streaming.household import SEVERAL, SINGLE, FilmedVideo, LabelWords
from reeltalk.streaming.network import FrameEncoder
from reeltalk.streaming.settings import VisionSettings

Labels = dict[str, Tensor]
Report = Callable[[int, float], None]


class Readings(nn.Module):
    """One linear reading of the visual tokens for each label."""

    def __init__(self, shape: MiniShape, labels: LabelWords) -> None:
        super().__init__()
        wide = shape.frame_tokens * shape.vision_width
        sizes = {name: len(labels.words[name]) + 1 for name in SINGLE} | {
            name: len(labels.words[name]) for name in SEVERAL
        }
        self.heads = nn.ModuleDict({name: nn.Linear(wide, size) for name, size in sizes.items()})

    def forward(self, seen: Tensor) -> dict[str, Tensor]:
        """Logits by label for visual tokens (N, K, V)."""
        flat = seen.flatten(1)
        return {name: head(flat) for name, head in self.heads.items()}


def loss_of(read: dict[str, Tensor], labels: Labels) -> Tensor:
    """Cross entropy of single labels and, summed over words, of those of which a frame may have several."""
    total = sum(F.cross_entropy(read[name].float(), labels[name], ignore_index=-1) for name in SINGLE)
    for name in SEVERAL:
        total = total + F.binary_cross_entropy_with_logits(read[name].float(), labels[name]) * 10
    assert isinstance(total, Tensor)
    return total


@dataclass
class Frames:
    """All frames of some videos with their labels as numbers."""

    pixels: Sequence[NDArray[np.uint8]]
    labels: list[dict[str, NDArray[np.int64] | NDArray[np.float32]]]
    places: NDArray[np.int64]
    """(frames, 2): video and frame."""

    @classmethod
    def of(cls, videos: Sequence[FilmedVideo], words: LabelWords) -> "Frames":
        """Frames of videos, mapped into memory."""
        places = [(v, t) for v, video in enumerate(videos) for t in range(len(video.times_s))]
        return cls(
            [video.pixels() for video in videos],
            [words.numbers(video) for video in videos],
            np.array(places, np.int64),
        )

    def batch(self, chosen: NDArray[np.int64], *, mirrored: NDArray[np.bool_] | None = None) -> tuple[Tensor, Labels]:
        """Pairs of frames (N, 6, H, W) from 0 to 1, and their labels."""
        pairs = np.stack([pair_of(self.pixels[v], t) for v, t in chosen])
        if mirrored is not None:
            pairs[mirrored] = pairs[mirrored, :, ::-1]
        labels = {
            name: torch.from_numpy(np.stack([self.labels[v][name][t] for v, t in chosen]))
            for name in (*SINGLE, *SEVERAL)
        }
        return as_input(pairs), labels


def pair_of(pixels: NDArray[np.uint8], t: int) -> NDArray[np.uint8]:
    """A frame and the one before it, (H, W, 6); the first one stands for the frame before itself."""
    return np.concatenate([pixels[t], pixels[max(0, t - 1)]], axis=-1)


def as_input(pairs: NDArray[np.uint8]) -> Tensor:
    """(N, 6, H, W) from 0 to 1, of (N, H, W, 6) uint8."""
    found: Tensor = torch.from_numpy(np.ascontiguousarray(pairs)).permute(0, 3, 1, 2).float() / 255
    return found.contiguous(memory_format=torch.channels_last)


def rate_at(step: int, steps: int, *, top: float, warmup: int) -> float:
    """The learning rate: rises in a line, then falls as a cosine to a twentieth."""
    if step < warmup:
        return top * (step + 1) / warmup
    share = (step - warmup) / max(1, steps - warmup)
    return top * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * share)))


def train_encoder(
    encoder: FrameEncoder, videos: Sequence[FilmedVideo], words: LabelWords, settings: VisionSettings, report: Report
) -> Readings:
    """Train in place.

    Args:
        encoder: As it was initialised.
        videos: Of the train split.
        words: What labels say.
        settings: Steps, rate and seed.
        report: Called with each step and its loss.

    Returns:
        The readings, to measure with.
    """
    frames = Frames.of(videos, words)
    readings = Readings(encoder.shape, words)
    encoder.train()
    encoder.to(memory_format=torch.channels_last)
    learned = [*encoder.parameters(), *readings.parameters()]
    optimiser = torch.optim.AdamW(learned, lr=settings.rate, weight_decay=settings.weight_decay)
    draw = np.random.default_rng(settings.seed)
    for step, chosen in zip(range(settings.steps), _batches(frames, settings.batch, draw), strict=False):
        pictures, labels = frames.batch(chosen, mirrored=draw.random(len(chosen)) < 0.5)
        for group in optimiser.param_groups:
            group["lr"] = rate_at(step, settings.steps, top=settings.rate, warmup=settings.warmup)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=settings.bf16):
            read = readings(encoder(pictures))
        loss = loss_of(read, labels)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimiser.step()
        report(step, float(loss.detach()))
    encoder.eval()
    return readings


def _batches(frames: Frames, size: int, draw: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    while True:
        order = draw.permutation(len(frames.places))
        for start in range(0, len(order) - size + 1, size):
            yield frames.places[order[start : start + size]]


@torch.inference_mode()  # type: ignore[untyped-decorator]
def accuracy(
    encoder: FrameEncoder, readings: Readings, videos: Sequence[FilmedVideo], words: LabelWords
) -> dict[str, float]:
    """Share of frames whose label is read right, by label; for labels with several words, the F1 of words."""
    frames = Frames.of(videos, words)
    right: dict[str, list[float]] = {name: [] for name in SINGLE}
    hits = {name: np.zeros(3) for name in SEVERAL}
    for start in range(0, len(frames.places), 256):
        pictures, labels = frames.batch(frames.places[start : start + 256])
        read = readings(encoder(pictures))
        for name in SINGLE:
            known = labels[name] >= 0
            right[name] += (read[name].argmax(-1) == labels[name])[known].float().tolist()
        for name in SEVERAL:
            said, true = read[name] > 0, labels[name] > 0.5
            hits[name] += [float((said & true).sum()), float(said.sum()), float(true.sum())]
    single = {name: float(np.mean(values)) for name, values in right.items()}
    return single | {name: float(2 * hit / max(1.0, said + true)) for name, (hit, said, true) in hits.items()}


@torch.inference_mode()  # type: ignore[untyped-decorator]
def visual_tokens(encoder: FrameEncoder, video: FilmedVideo) -> NDArray[np.float32]:
    """(T, K, V) of a video's frames."""
    pixels = video.pixels()
    parts = [
        encoder(as_input(np.stack([pair_of(pixels, t) for t in range(start, min(start + 64, len(pixels)))]))).numpy()
        for start in range(0, len(pixels), 64)
    ]
    return np.concatenate(parts)
