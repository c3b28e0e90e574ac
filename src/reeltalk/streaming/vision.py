"""First part of reeltalk-mini's training: the vision encoder learns the contents of frames.

In training, a linear layer reads each label from the visual tokens. Afterwards these layers are discarded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from reeltalk.inference.mini_input import MiniShape
from reeltalk.streaming.household import SEVERAL, SINGLE, Corners, FilmedVideo, LabelWords, Seconds
from reeltalk.streaming.network import FrameEncoder
from reeltalk.streaming.schedule import check_loss, rate_at
from reeltalk.streaming.settings import VisionSettings

Labels = dict[str, Tensor]
BOXES: Final = ("hair", "shirt", "trousers", "main", "rest", "held")
"""Targets of the first glimpses; the others are free."""
_BODY: Final = {"hair": (0.0, 0.25), "shirt": (0.2, 0.6), "trousers": (0.6, 1.0)}
"""Parts of the height of a person who stands or sits."""
Report = Callable[[int, float], None]


class Readings(nn.Module):
    """One linear layer for each label, which reads it from the visual tokens."""

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
    """Cross entropy of labels with one value and, summed over words, of labels with several values."""
    total = sum(F.cross_entropy(read[name].float(), labels[name], ignore_index=-1) for name in SINGLE)
    for name in SEVERAL:
        total = total + F.binary_cross_entropy_with_logits(read[name].float(), labels[name]) * 10
    assert isinstance(total, Tensor)
    return total


def looking_loss(attend: Tensor, where: Tensor) -> Tensor:
    """Loss of the first glimpses for attention outside their targets.

    Args:
        attend: Logits (N, cells, glimpses).
        where: (N, cells, boxes) 1 in a box and 0 outside; all 0 if there is no box.
    """
    shares = attend[:, :, : where.shape[2]].float().log_softmax(dim=1)
    known = where.amax(dim=1) > 0  # (N, boxes)
    inside = torch.logsumexp(shares.masked_fill(where == 0, -1e4), dim=1)
    return -inside[known].mean() if bool(known.any()) else inside.new_zeros(())


def cells_of(box: Corners | None, high: int, wide: int) -> NDArray[np.float32]:
    """(high · wide,) 1 for the cells with their middle in a box, at least one cell; all 0 without a box."""
    found = np.zeros((high, wide), np.float32)
    if box is not None:
        left, top, right, bottom = box
        x, y = (np.arange(wide) + 0.5) / wide, (np.arange(high) + 0.5) / high
        found[np.ix_((y >= top) & (y < bottom), (x >= left) & (x < right))] = 1.0
        middle = int((top + bottom) / 2 * high), int((left + right) / 2 * wide)
        found[min(middle[0], high - 1), min(middle[1], wide - 1)] = 1.0
    return found.ravel()


def boxes_of(second: Seconds) -> tuple[Corners | None, ...]:
    """The boxes of a frame, in the order of `BOXES`."""
    body: list[Corners | None] = [None, None, None]
    if second.person_box is not None:
        left, top, right, bottom = second.person_box
        # The box of a lying person is wider than high (a picture is 16:9), and which end is the head is unknown.
        upright = (bottom - top) * 9 > (right - left) * 16
        body = [
            (left, top + (bottom - top) * first, right, top + (bottom - top) * last) if upright else second.person_box
            for first, last in _BODY.values()
        ]
    return (*body, second.main_box, second.rest_box, second.held_box)


@dataclass
class Frames:
    """All frames of some videos with their labels as numbers."""

    pixels: Sequence[NDArray[np.uint8]]
    labels: list[dict[str, NDArray[np.int64] | NDArray[np.float32]]]
    places: NDArray[np.int64]
    """(frames, 2): video and frame."""
    seconds: Sequence[Sequence[Seconds]]
    shape: MiniShape

    @classmethod
    def of(cls, videos: Sequence[FilmedVideo], words: LabelWords, shape: MiniShape) -> "Frames":
        """The frames of videos, as memory maps."""
        places = [(v, t) for v, video in enumerate(videos) for t in range(len(video.times_s))]
        return cls(
            [video.pixels() for video in videos],
            [words.numbers(video) for video in videos],
            np.array(places, np.int64),
            [video.labels for video in videos],
            shape,
        )

    def where(self, chosen: NDArray[np.int64], *, mirrored: NDArray[np.bool_]) -> Tensor:
        """(N, cells, boxes): the targets of the first glimpses."""
        high, wide = -(-self.shape.height_px // 8), -(-self.shape.width_px // 8)
        found = np.stack(
            [np.stack([cells_of(box, high, wide) for box in boxes_of(self.seconds[v][t])], -1) for v, t in chosen]
        ).reshape(len(chosen), high, wide, len(BOXES))
        found[mirrored] = found[mirrored, :, ::-1]
        return torch.from_numpy(found.reshape(len(chosen), high * wide, len(BOXES)))

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
    """A frame and the one before it, (H, W, 6); for the first frame twice the same."""
    return np.concatenate([pixels[t], pixels[max(0, t - 1)]], axis=-1)


def as_input(pairs: NDArray[np.uint8]) -> Tensor:
    """(N, H, W, 6) uint8 to (N, 6, H, W) from 0 to 1."""
    found: Tensor = torch.from_numpy(np.ascontiguousarray(pairs)).permute(0, 3, 1, 2).float() / 255
    return found.contiguous(memory_format=torch.channels_last)


def optimiser_of_eye(both: nn.Module, settings: VisionSettings) -> torch.optim.AdamW:
    """AdamW for encoder and readings."""
    return torch.optim.AdamW(both.parameters(), lr=settings.rate, weight_decay=settings.weight_decay)


def train_encoder(
    encoder: FrameEncoder,
    readings: Readings,
    videos: Sequence[FilmedVideo],
    words: LabelWords,
    settings: VisionSettings,
    optimiser: torch.optim.AdamW,
    report: Report,
    *,
    seed: int,
    first: int = 0,
) -> None:
    """Trains the vision encoder in place.

    Args:
        encoder: The encoder, new or in the state after step `first`.
        readings: The readings, in the same state.
        videos: Videos of the train split.
        words: The values of labels.
        settings: Settings of this part.
        optimiser: The result of `optimiser_of_eye`.
        report: Called after each step with its number from 0 and its loss.
        seed: Decides the order of frames.
        first: Number of finished steps.

    Raises:
        ModelError: The loss is no longer a finite number.
    """
    frames = Frames.of(videos, words, encoder.shape)
    learned = [p for group in optimiser.param_groups for p in group["params"]]
    encoder.train()
    encoder.to(memory_format=torch.channels_last)
    for step in range(first, settings.steps):
        chosen, mirrored = _drawn(frames, step, settings.batch, seed)
        pictures, labels = frames.batch(chosen, mirrored=mirrored)
        for group in optimiser.param_groups:
            group["lr"] = rate_at(step, settings.steps, top=settings.rate, warmup=settings.warmup)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=settings.bf16):
            seen, attend = encoder.glimpse(pictures)
            read = readings(seen)
        loss = loss_of(read, labels) + looking_loss(attend, frames.where(chosen, mirrored=mirrored))
        check_loss(loss, step)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimiser.step()
        report(step, float(loss.detach()))
    encoder.eval()


def _drawn(frames: Frames, step: int, batch: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The frames of a step, and which of them are mirrored. Every frame comes once before any comes again."""
    size = min(batch, len(frames.places))
    round_, turn = divmod(step, len(frames.places) // size)
    order = np.random.default_rng([seed, round_]).permutation(len(frames.places))
    mirrored = np.random.default_rng([seed, step, 1]).random(size) < 0.5
    return frames.places[order[turn * size : (turn + 1) * size]], mirrored


@torch.inference_mode()  # type: ignore[untyped-decorator]
def accuracy(
    encoder: FrameEncoder, readings: Readings, videos: Sequence[FilmedVideo], words: LabelWords
) -> dict[str, float]:
    """Share of frames whose label is recognised, by label; for labels with several values, the F1 of words."""
    frames = Frames.of(videos, words, encoder.shape)
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
    """(T, K, V) visual tokens of a video's frames."""
    pixels = video.pixels()
    parts = [
        encoder(as_input(np.stack([pair_of(pixels, t) for t in range(start, min(start + 64, len(pixels)))]))).numpy()
        for start in range(0, len(pixels), 64)
    ]
    return np.concatenate(parts)
