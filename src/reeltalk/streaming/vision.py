"""First part of reeltalk-mini's training: the vision encoder learns the contents of frames.

In training, a linear layer reads each label from the token that it belongs to: of the scene, or of a person.
Afterwards these layers are discarded. Brightness, contrast and noise vary, by so little that colours keep their names.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from reeltalk.errors import BenchmarkError
from reeltalk.inference.mini_input import LETTERS, MiniShape
from reeltalk.inference.mini_people import read_name
from reeltalk.streaming.household import (
    OF_FRAME,
    OF_PERSON,
    SEVERAL_OF_FRAME,
    SEVERAL_OF_PERSON,
    Corners,
    FilmedVideo,
    LabelWords,
    Seconds,
    SeenPerson,
)
from reeltalk.streaming.network import CLOSE, GLIMPSES, TAG, FrameEncoder, Glimpsed
from reeltalk.streaming.schedule import check_loss, rate_at
from reeltalk.streaming.settings import VisionSettings

Labels = dict[str, Tensor]
_BODY: Final = {"head": (0.0, 0.25), "shirt": (0.2, 0.6), "trousers": (0.6, 1.0)}
"""Parts of the height of a person who stands or sits."""
SHOWN: Final = 0.5
"""Share of the close looks that go where the labels say, in training; the others go where the encoder attends."""
JITTER: Final = 1
"""Largest distance in cells from there."""
LETTERS_WEIGHT: Final = 0.5
"""Weight of the loss of names above heads."""
Report = Callable[[int, float], None]


OF_CLOSE: Final = (("feeling",), ("main", "colour"), ("held", "held_colour"))
"""The labels that each close look must tell on its own."""


class Readings(nn.Module):
    """One linear layer for each label, which reads it from the token of the scene or of a person.

    Others read labels of a thing from the close look at it.
    """

    def __init__(self, shape: MiniShape, labels: LabelWords) -> None:
        super().__init__()
        sizes = {name: len(labels.words[name]) + 1 for name in (*OF_FRAME, *OF_PERSON)}
        sizes |= {name: len(labels.words[name]) for name in SEVERAL_OF_FRAME}
        self.looks = len(labels.words["looks"])
        if self.looks > shape.looks:
            raise BenchmarkError(f"the films have {self.looks} looks, and the network can tell {shape.looks} apart")
        self.heads = nn.ModuleDict({name: nn.Linear(shape.vision_width, size) for name, size in sizes.items()})
        close = [name for names in OF_CLOSE for name in names]
        self.close = nn.ModuleDict({name: nn.Linear(shape.close_width, sizes[name]) for name in close})

    def forward(self, seen: Glimpsed) -> dict[str, Tensor]:
        """Logits by label: (N, values) of the frame, (N, people, values) of people, (N, people) of `present`."""
        of_frame, tokens = (*OF_FRAME, *SEVERAL_OF_FRAME), seen.tokens
        read = {name: head(tokens[:, 0] if name in of_frame else tokens[:, 1:]) for name, head in self.heads.items()}
        return read | {"present": seen.present, "looks": seen.looks[..., : self.looks]}


def close_loss(readings: Readings, close: Tensor, where: Tensor, labels: Labels) -> Tensor:
    """Cross entropy of what close looks tell, where they were shown the thing.

    Args:
        readings: The layers that read them.
        close: (N, people, close looks, width), as `glimpse` returns it.
        where: The result of `shown_cells`.
        labels: The labels of the batch.
    """
    total = close.new_zeros(())
    for at, names in enumerate(OF_CLOSE):
        for name in names:
            shown = (where[..., at] >= 0) & (labels[name] >= 0)
            if bool(shown.any()):
                told = readings.close[name](close[:, :, at][shown])
                total = total + F.cross_entropy(told.float(), labels[name][shown])
    return total


def letters_loss(letters: Tensor, names: Sequence[Sequence[str | None]]) -> Tensor:
    """Loss of the names above heads, by connectionist temporal classification.

    Args:
        letters: (N, people, steps, letters + 1) logits.
        names: For each frame and person the name, empty if none is shown, or None if that is not known.
    """
    known = [(row, at, name) for row, people in enumerate(names) for at, name in enumerate(people) if name is not None]
    if not known:
        return letters.new_zeros(())
    rows, places = [row for row, _, _ in known], [at for _, at, _ in known]
    told = letters[rows, places].float().log_softmax(dim=-1).transpose(0, 1)
    spelt = [[LETTERS.index(letter) + 1 for letter in name.casefold() if letter in LETTERS] for _, _, name in known]
    losses = F.ctc_loss(
        told,
        torch.tensor([letter for word in spelt for letter in word], dtype=torch.long),
        torch.full((len(known),), told.shape[0], dtype=torch.long),
        torch.tensor([len(word) for word in spelt], dtype=torch.long),
        reduction="none",
        zero_infinity=True,
    )
    # Names are rare, and each counts as much as all places without a name together.
    shown = torch.tensor([bool(word) for word in spelt], device=losses.device)
    return sum((losses[part].mean() for part in (shown, ~shown) if bool(part.any())), losses.new_zeros(()))


def loss_of(read: dict[str, Tensor], labels: Labels) -> Tensor:
    """Cross entropy of labels with one value and, summed over words, of labels with several values."""
    there = labels["present"]
    total = F.binary_cross_entropy_with_logits(read["present"].float(), there) * 3
    for name in (*OF_FRAME, *OF_PERSON):
        known = labels[name] >= 0
        if bool(known.any()):
            total = total + F.cross_entropy(read[name].float()[known], labels[name][known])
    for name in SEVERAL_OF_FRAME:
        total = total + F.binary_cross_entropy_with_logits(read[name].float(), labels[name]) * 10
    if bool(there.any()):
        for name in SEVERAL_OF_PERSON:
            shown = there > 0
            total = total + F.binary_cross_entropy_with_logits(read[name].float()[shown], labels[name][shown]) * 10
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


def boxes_of(person: SeenPerson) -> tuple[Corners | None, ...]:
    """The boxes of a person, in the order of `GLIMPSES`."""
    body: list[Corners | None] = [None, None, None]
    if person.box is not None:
        left, top, right, bottom = person.box
        # The box of a lying person is wider than high (a picture is 16:9), and which end is the head is unknown.
        upright = (bottom - top) * 9 > (right - left) * 16
        body = [
            (left, top + (bottom - top) * first, right, top + (bottom - top) * last) if upright else person.box
            for first, last in _BODY.values()
        ]
    return (*body, person.main_box, person.rest_box, person.held_box, _above(person.box))


def _above(box: Corners | None) -> Corners | None:
    """Where the name of a person stands, if it is shown: above the middle of the box, inside the picture."""
    if box is None:
        return None
    middle, top = (box[0] + box[2]) / 2, max(box[1], 0.07)
    return middle - 0.04, top - 0.07, middle + 0.04, top - 0.01


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
        """(N, cells, glimpses of people): 1 in the target of a glimpse; all 0 for a glimpse without a target."""
        shape, taught = self.shape, len(GLIMPSES)
        found = np.zeros(
            (len(chosen), shape.cells_high, shape.cells_wide, shape.people, shape.person_glimpses), np.float32
        )
        for row, (v, t) in enumerate(chosen):
            for at, person in enumerate(self.seconds[v][t].people):
                cells = [cells_of(box, shape.cells_high, shape.cells_wide) for box in boxes_of(person)]
                found[row, :, :, at, :taught] = np.stack(cells, -1).reshape(shape.cells_high, shape.cells_wide, taught)
        order = self._order(chosen, mirrored)
        found = np.take_along_axis(found, order[:, None, None, :, None], axis=3)
        found[mirrored] = found[mirrored, :, ::-1]
        return torch.from_numpy(found.reshape(len(chosen), shape.cells_high * shape.cells_wide, -1))

    def _order(self, chosen: NDArray[np.int64], mirrored: NDArray[np.bool_]) -> NDArray[np.int64]:
        """(N, people): where each person from the left stands in the labels. A mirror turns the order around."""
        order = np.tile(np.arange(self.shape.people), (len(chosen), 1))
        for row in np.flatnonzero(mirrored):
            v, t = chosen[row]
            count = len(self.seconds[v][t].people)
            order[row, :count] = order[row, :count][::-1]
        return order

    def names(self, chosen: NDArray[np.int64], mirrored: NDArray[np.bool_]) -> list[list[str | None]]:
        """The names above heads by frame and person, for `letters_loss`. In a mirror nobody can read them."""
        return [
            [
                None if person.tagged is None or mirror else (person.name or "") if person.tagged else ""
                for person in self.seconds[v][t].people
            ]
            for (v, t), mirror in zip(chosen, mirrored, strict=True)
        ]

    def batch(self, chosen: NDArray[np.int64], *, mirrored: NDArray[np.bool_] | None = None) -> tuple[Tensor, Labels]:
        """Pairs of frames (N, 6, H, W) from 0 to 1, and their labels."""
        mirrored = np.zeros(len(chosen), np.bool_) if mirrored is None else mirrored
        pairs = np.stack([pair_of(self.pixels[v], t) for v, t in chosen])
        pairs[mirrored] = pairs[mirrored, :, ::-1]
        order, labels = self._order(chosen, mirrored), {}
        for name in self.labels[0]:
            found = np.stack([self.labels[v][name][t] for v, t in chosen])
            if name in (*OF_PERSON, *SEVERAL_OF_PERSON, "present"):
                found = np.take_along_axis(found, order.reshape(*order.shape, *[1] * (found.ndim - 2)), axis=1)
            labels[name] = torch.from_numpy(found)
        return as_input(pairs), labels


def shown_cells(where: Tensor, shape: MiniShape, draw: np.random.Generator) -> Tensor:
    """(N, people, close looks + 1): cells near the middle of the targets of some close looks, and -1 for the others.

    Args:
        where: (N, cells, glimpses of people), as `Frames.where` returns it.
        shape: The sizes.
        draw: Decides which of them are shown, and how near.
    """
    n, high, wide = where.shape[0], shape.cells_high, shape.cells_wide
    there = where.view(n, high, wide, shape.people, shape.person_glimpses)[..., [*CLOSE, TAG]].numpy()
    count = np.maximum(1, there.sum(axis=(1, 2)))
    row = (there.sum(axis=2) * np.arange(high)[:, None, None]).sum(axis=1) / count
    column = (there.sum(axis=1) * np.arange(wide)[:, None, None]).sum(axis=1) / count
    jitter = draw.integers(-JITTER, JITTER + 1, (2, *row.shape))
    row = np.clip(np.rint(row).astype(np.int64) + jitter[0], 0, high - 1)
    column = np.clip(np.rint(column).astype(np.int64) + jitter[1], 0, wide - 1)
    told = there.any(axis=(1, 2)) & (draw.random(row.shape) < SHOWN)
    return torch.from_numpy(np.where(told, row * wide + column, -1))


def varied(pictures: Tensor, draw: np.random.Generator) -> Tensor:
    """Pictures (N, 6, H, W) from 0 to 1 with other brightness, contrast, tint and noise. Colours keep their names."""
    n = len(pictures)

    def drawn(low: float, high: float, *size: int) -> Tensor:
        return torch.from_numpy(draw.uniform(low, high, size).astype(np.float32))

    tint = drawn(0.94, 1.06, n, 3).repeat(1, 2)[:, :, None, None] * drawn(0.85, 1.1, n, 1, 1, 1)
    bright = drawn(-0.08, 0.08, n, 1, 1, 1) + 0.5 - 0.5 * tint
    # One noise for all pictures of a step, at another place in each: to draw it anew would take longer than to learn.
    noise = torch.from_numpy(draw.standard_normal(pictures.shape[1:], dtype=np.float32))
    moved = torch.stack([noise.roll((int(down), int(right)), (1, 2)) for down, right in draw.integers(0, 999, (n, 2))])
    varied = torch.addcmul(bright, pictures, tint).addcmul_(moved, drawn(0.0, 0.025, n, 1, 1, 1))
    return varied.clamp_(0, 1)


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
    device = learned[0].device
    encoder.train()
    encoder.to(memory_format=torch.channels_last)
    for step in range(first, settings.steps):
        chosen, mirrored = _drawn(frames, step, settings.batch, seed)
        pictures, labels = frames.batch(chosen, mirrored=mirrored)
        for group in optimiser.param_groups:
            group["lr"] = rate_at(step, settings.steps, top=settings.rate, warmup=settings.warmup)
        where, draw = frames.where(chosen, mirrored=mirrored), np.random.default_rng([seed, step, 2])
        cells, pictures = shown_cells(where, encoder.shape, draw).to(device), varied(pictures, draw).to(device)
        labels, where = {name: values.to(device) for name, values in labels.items()}, where.to(device)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=settings.bf16):
            seen = encoder.glimpse(pictures, cells)
            loss = loss_of(readings(seen), labels) + close_loss(readings, seen.close, cells, labels)
        loss = loss + looking_loss(seen.attend, where)
        loss = loss + LETTERS_WEIGHT * letters_loss(seen.letters, frames.names(chosen, mirrored))
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
    """Share of labels that are recognised, by name; for labels with several values, the F1 of words.

    Labels of people are counted where they have a value.
    """
    frames, device = Frames.of(videos, words, encoder.shape), next(encoder.parameters()).device
    right: dict[str, list[float]] = {name: [] for name in ("present", "name", *OF_FRAME, *OF_PERSON)}
    hits = {name: np.zeros(3) for name in (*SEVERAL_OF_FRAME, *SEVERAL_OF_PERSON)}
    for start in range(0, len(frames.places), 128):
        pictures, labels = frames.batch(frames.places[start : start + 128])
        seen = encoder.glimpse(pictures.to(device))
        read = {name: found.cpu() for name, found in readings(seen).items()}
        for person, spelt in _told_names(frames, start, seen.letters.cpu()):
            right["name"].append(float(person == spelt))
        right["present"] += ((read["present"] > 0) == (labels["present"] > 0)).flatten().float().tolist()
        for name in (*OF_FRAME, *OF_PERSON):
            # Frames in which nobody can tell a right answer from none would hide what is not recognised.
            known = labels[name] >= (1 if name in OF_PERSON else 0)
            right[name] += (read[name].argmax(-1) == labels[name])[known].float().tolist()
        for name in hits:
            shown = labels["present"] > 0 if name in SEVERAL_OF_PERSON else slice(None)
            said, true = read[name][shown] > 0, labels[name][shown] > 0.5
            hits[name] += [float((said & true).sum()), float(said.sum()), float(true.sum())]
    single = {name: float(np.mean(values)) for name, values in right.items() if values}
    return single | {name: float(2 * hit / max(1.0, said + true)) for name, (hit, said, true) in hits.items()}


def _told_names(frames: Frames, start: int, letters: Tensor) -> Iterator[tuple[str, str | None]]:
    """The names above heads in frames from `start` on, and what is read there."""
    for (v, t), told in zip(frames.places[start : start + len(letters)], letters.argmax(-1).numpy(), strict=True):
        for person, spelt in zip(frames.seconds[v][t].people, told, strict=False):
            if person.tagged and person.name:
                yield person.name, read_name(spelt)


@torch.inference_mode()  # type: ignore[untyped-decorator]
def visual_tokens(encoder: FrameEncoder, video: FilmedVideo) -> NDArray[np.float32]:
    """(T, K, V) visual tokens of a video's frames."""
    pixels, device = video.pixels(), next(encoder.parameters()).device
    parts = []
    for start in range(0, len(pixels), 64):
        pairs = np.stack([pair_of(pixels, t) for t in range(start, min(start + 64, len(pixels)))])
        parts.append(encoder(as_input(pairs).to(device)).cpu().numpy())
    return np.concatenate(parts)
