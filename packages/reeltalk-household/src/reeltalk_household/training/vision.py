"""First part of reeltalk-mini's training: the vision encoder learns the contents of frames.

In training, a linear layer reads each label from the token that it belongs to: of the scene, or of a person.
Afterwards these layers are discarded. Brightness, contrast and tint vary, by so little that colours keep their names.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim import Optimizer

from reeltalk.errors import BenchmarkError
from reeltalk_household.mini.mini_input import LETTERS, MiniShape
from reeltalk_household.mini.mini_people import read_name
from reeltalk_household.training.household import (
    FRAME_LABEL_SETS,
    FRAME_LABELS,
    PERSON_LABEL_SETS,
    PERSON_LABELS,
    THING_LABEL_SETS,
    THING_LABELS,
    Corners,
    FilmedVideo,
    LabelWords,
    Seconds,
    SeenPerson,
    middle_of,
)
from reeltalk_household.training.network import CLOSE_GLIMPSES, GLIMPSES, TAG_GLIMPSE, FrameEncoder, Glimpsed
from reeltalk_household.training.tags import tagged_parts
from reeltalk_streaming.training.schedule import check_loss, rate_at
from reeltalk_streaming.training.settings import VisionSettings

Labels = dict[str, Tensor]
_BODY: Final = {"head": (0.0, 0.25), "shirt": (0.2, 0.6), "trousers": (0.6, 1.0)}
"""Parts of the height of a person who stands or sits."""
TAUGHT_LOOK_SHARE: Final = 0.5
"""Share of the close looks that go where the labels say, in training; the others go where the encoder attends."""
JITTER_CELLS: Final = 1
"""Largest distance in cells from there."""
LETTERS_WEIGHT: Final = 0.5
"""Weight of the loss of names above heads."""
Report = Callable[[int, float], None]


CLOSE_LABELS: Final = (("feeling",), ("main", "colour"), ("held", "held_colour"))
"""The labels that each close look must tell on its own."""


class Readings(nn.Module):
    """One linear layer for each label, which reads it from the token of the scene or of a person.

    Others read labels of a thing from the close look at it.
    """

    def __init__(self, shape: MiniShape, labels: LabelWords) -> None:
        super().__init__()
        sizes = {name: len(labels.words[name]) + 1 for name in (*FRAME_LABELS, *PERSON_LABELS)}
        sizes |= {name: len(labels.words[name]) for name in FRAME_LABEL_SETS}
        self.looks = len(labels.words["looks"])
        if self.looks > shape.looks:
            raise BenchmarkError(f"the films have {self.looks} looks, and the network can tell {shape.looks} apart")
        self.heads = nn.ModuleDict({name: nn.Linear(shape.vision_width, size) for name, size in sizes.items()})
        close = [name for names in CLOSE_LABELS for name in names]
        self.close = nn.ModuleDict({name: nn.Linear(shape.close_width, sizes[name]) for name in close})
        of_thing = {name: len(labels.words[name]) + 1 for name in THING_LABELS}
        of_thing |= {name: len(labels.words[name]) for name in THING_LABEL_SETS}
        self.things = nn.ModuleDict({name: nn.Linear(shape.glimpse_width, size) for name, size in of_thing.items()})
        self.near = nn.ModuleDict({name: nn.Linear(shape.close_width, size) for name, size in of_thing.items()})

    def forward(self, seen: Glimpsed) -> dict[str, Tensor]:
        """Logits by label: (N, values) of the frame, (N, people, values) of people."""
        of_frame, tokens = (*FRAME_LABELS, *FRAME_LABEL_SETS), seen.tokens
        read = {name: head(tokens[:, 0] if name in of_frame else tokens[:, 1:]) for name, head in self.heads.items()}
        return read | {"looks": seen.looks[..., : self.looks]}


NONE_WEIGHT: Final = 0.2
"""Weight of the value that stands for none, which is by far the most frequent one of many labels."""


def _rare_loss(logits: Tensor, values: Tensor) -> Tensor:
    """Cross entropy of (M, values) logits. The first value, *none*, weighs less, since nearly all rows have it."""
    weight = torch.ones(logits.shape[1], device=logits.device)
    weight[0] = NONE_WEIGHT
    # The mean over all of them stays small where nearly all are none.
    return F.cross_entropy(logits.float(), values, weight=weight, reduction="sum") / len(values) / NONE_WEIGHT**0.5


def things_loss(layers: nn.ModuleDict, seen: Tensor, labels: Labels) -> Tensor:
    """Loss of the labels of things."""
    total = seen.new_zeros(())
    for name in THING_LABELS:
        known = labels[name] >= 0
        if bool(known.any()):
            total = total + _rare_loss(layers[name](seen[known]), labels[name][known])
    for name in THING_LABEL_SETS:
        if labels[name].numel():
            total = total + F.binary_cross_entropy_with_logits(layers[name](seen).float(), labels[name]) * 5
    return total


FOUND_WEIGHT: Final = 20.0
"""Weight of the middle of somebody, relative to a cell with nobody."""


def finding_loss(heat: Tensor, people: Tensor, shape: MiniShape) -> Tensor:
    """Cross entropy of where people are. The cells around the middle of somebody count neither as right nor as wrong.

    Args:
        heat: (N, cells) logits, as `glimpse` returns them.
        people: (N, people) cells; -1 for nobody.
        shape: The sizes.
    """
    target = torch.zeros(len(heat), heat.shape[1] + 1, device=heat.device)
    target = target.scatter(1, torch.where(people < 0, heat.shape[1], people), 1.0)[:, :-1]
    near = F.max_pool2d(target.view(-1, 1, shape.cells_high, shape.cells_wide), 3, 1, 1).flatten(1)
    # Without a weight, a place is found only where it is sure to the cell.
    weight = target.new_tensor(FOUND_WEIGHT)
    losses = F.binary_cross_entropy_with_logits(heat.float(), target, pos_weight=weight, reduction="none")
    return (losses * (1 - near + target)).sum() / len(heat) / FOUND_WEIGHT**0.5


def close_loss(readings: Readings, close: Tensor, where: Tensor, labels: Labels) -> Tensor:
    """Cross entropy of what close looks tell, where they were shown the thing.

    Args:
        readings: The layers that read them.
        close: (N, people, close looks, width), as `glimpse` returns it.
        where: The result of `shown_cells`.
        labels: The labels of the batch.
    """
    total = close.new_zeros(())
    for at, names in enumerate(CLOSE_LABELS):
        for name in names:
            shown = (where[..., at] >= 0) & (labels[name] >= 0)
            if bool(shown.any()):
                told = readings.close[name](close[:, :, at][shown])
                total = total + _rare_loss(told, labels[name][shown])
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


def _spelling_loss(
    encoder: FrameEncoder, pictures: Tensor, tags: Tensor, frames: "Frames", chosen: NDArray[np.int64],
    mirrored: NDArray[np.bool_],
) -> Tensor:  # fmt: skip
    """Loss of the names above heads in films, and of as many places without a name."""
    places = [(row, at, name) for row, people in enumerate(frames.names(chosen, mirrored))
              for at, name in enumerate(people) if name is not None]  # fmt: skip
    shown = [place for place in places if place[2]]
    picked = [*shown, *[place for place in places if not place[2]][: len(shown)]]
    if not picked:
        return tags.new_zeros(())
    rows, people = [row for row, _, _ in picked], [at for _, at, _ in picked]
    return letters_loss(encoder.spell(pictures[rows], tags[rows, people][:, None]), [[name] for *_, name in picked])


def _varied_parts(parts: NDArray[np.uint8], draw: np.random.Generator) -> Tensor:
    """(N, 3, H, W) from 0 to 1 with other contrast, brightness and noise."""
    n = len(parts)
    values = parts.astype(np.float32) / 255 * draw.uniform(0.85, 1.1, (n, 1, 1, 1))
    values = values + draw.uniform(-0.08, 0.08, (n, 1, 1, 1)) + draw.normal(0, 0.015, parts.shape)
    return torch.from_numpy(values.astype(np.float32)).permute(0, 3, 1, 2).clamp(0, 1)


def loss_of(read: dict[str, Tensor], labels: Labels) -> Tensor:
    """Cross entropy of labels with one value and, summed over words, of labels with several values."""
    there = labels["present"]
    total = there.new_zeros(())
    for name in (*FRAME_LABELS, *PERSON_LABELS):
        known = labels[name] >= 0
        if bool(known.any()):
            total = total + _rare_loss(read[name][known], labels[name][known])
    for name in FRAME_LABEL_SETS:
        total = total + F.binary_cross_entropy_with_logits(read[name].float(), labels[name]) * 10
    if bool(there.any()):
        for name in PERSON_LABEL_SETS:
            shown = there > 0
            total = total + F.binary_cross_entropy_with_logits(read[name].float()[shown], labels[name][shown]) * 10
    return total


def looking_loss(attend: Tensor, where: Tensor) -> Tensor:
    """Loss of the first glimpses for attention outside their targets.

    Args:
        attend: Logits (N, people, glimpses, cells).
        where: (N, people, boxes, cells) 1 in a box and 0 outside; all 0 if there is no box.
    """
    shares = attend[:, :, : where.shape[2]].float().log_softmax(dim=-1)
    known = where.amax(dim=-1) > 0  # (N, people, boxes)
    inside = torch.logsumexp(shares.masked_fill(where == 0, -1e4), dim=-1)
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
    _of_things: list[dict[str, NDArray[np.int64] | NDArray[np.float32]]]
    """Labels of all things of a video."""
    _first: list[NDArray[np.int64]]
    """The number of the first thing of each frame among them."""

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
            [words.of_things([thing for second in video.labels for thing in second.things]) for video in videos],
            [np.cumsum([0, *(len(second.things) for second in video.labels)]) for video in videos],
        )

    def where(self, chosen: NDArray[np.int64], *, mirrored: NDArray[np.bool_]) -> Tensor:
        """(N, people, glimpses, cells): 1 in the target of a glimpse; all 0 for a glimpse without a target."""
        high, wide = self.shape.cells_high, self.shape.cells_wide
        found = np.zeros((len(chosen), self.shape.people, len(GLIMPSES), high, wide), np.float32)
        for row, (v, t) in enumerate(chosen):
            for at, person in enumerate(self.seconds[v][t].people):
                for place, box in enumerate(boxes_of(person)):
                    found[row, at, place] = cells_of(box, high, wide).reshape(high, wide)
        found = np.take_along_axis(found, self._order(chosen, mirrored)[:, :, None, None, None], axis=1)
        found[mirrored] = found[mirrored, ..., ::-1]
        return torch.from_numpy(found.reshape(*found.shape[:3], -1))

    def people(self, chosen: NDArray[np.int64], *, mirrored: NDArray[np.bool_]) -> Tensor:
        """(N, people) cells of the middle of people; -1 for nobody."""
        found = np.full((len(chosen), self.shape.people), -1, np.int64)
        for row, (v, t) in enumerate(chosen):
            for at, person in enumerate(self.seconds[v][t].people):
                if person.box is not None:
                    found[row, at] = self._cell(*middle_of(person.box), mirrored=bool(mirrored[row]))
        return torch.from_numpy(np.take_along_axis(found, self._order(chosen, mirrored), axis=1))

    def things(
        self, chosen: NDArray[np.int64], *, mirrored: NDArray[np.bool_], draw: np.random.Generator
    ) -> tuple[Tensor, Labels]:
        """A place of each thing that nothing smaller covers.

        Returns:
            (M, 2) the row in `chosen` and the cell of each, and their labels.
        """
        places, which = [], []
        for row, (v, t) in enumerate(chosen):
            things = self.seconds[v][t].things
            boxes = np.array([thing.box for thing in things]).reshape(-1, 4)
            # A place in the middle half of each box.
            at = boxes[:, :2] + (boxes[:, 2:] - boxes[:, :2]) * draw.uniform(0.25, 0.75, (len(boxes), 2))
            inside = ((at[:, None] >= boxes[None, :, :2]) & (at[:, None] <= boxes[None, :, 2:])).all(axis=2)
            # Things are in the order of their sizes.
            for thing in np.flatnonzero(inside.argmax(axis=1) == np.arange(len(boxes))):
                places.append((row, self._cell(*at[thing], mirrored=bool(mirrored[row]))))
                which.append((v, self._first[v][t] + thing))
        labels = {}
        for name in (*THING_LABELS, *THING_LABEL_SETS):
            rows = [self._of_things[v][name][n] for v, n in which]
            labels[name] = torch.from_numpy(np.array(rows, self._of_things[0][name].dtype))
        return torch.tensor(places, dtype=torch.long).view(-1, 2), labels

    def _cell(self, x: float, y: float, *, mirrored: bool) -> int:
        high, wide = self.shape.cells_high, self.shape.cells_wide
        column = min(int((1 - x if mirrored else x) * wide), wide - 1)
        return min(int(y * high), high - 1) * wide + column

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
            if name in (*PERSON_LABELS, *PERSON_LABEL_SETS, "present"):
                found = np.take_along_axis(found, order.reshape(*order.shape, *[1] * (found.ndim - 2)), axis=1)
            labels[name] = torch.from_numpy(found)
        return as_input(pairs), labels


def shown_cells(where: Tensor, shape: MiniShape, draw: np.random.Generator) -> Tensor:
    """(N, people, close looks + 1): cells near the middle of the targets of some close looks, and -1 for the others.

    Args:
        where: (N, people, glimpses, cells), as `Frames.where` returns it.
        shape: The sizes.
        draw: Decides which of them are shown, and how near.
    """
    n, high, wide = where.shape[0], shape.cells_high, shape.cells_wide
    there = where[:, :, [*CLOSE_GLIMPSES, TAG_GLIMPSE]].view(n, shape.people, -1, high, wide).numpy()
    count = np.maximum(1, there.sum(axis=(3, 4)))
    row = (there.sum(axis=4) * np.arange(high)).sum(axis=3) / count
    column = (there.sum(axis=3) * np.arange(wide)).sum(axis=3) / count
    jitter = draw.integers(-JITTER_CELLS, JITTER_CELLS + 1, (2, *row.shape))
    row = np.clip(np.rint(row).astype(np.int64) + jitter[0], 0, high - 1)
    column = np.clip(np.rint(column).astype(np.int64) + jitter[1], 0, wide - 1)
    told = there.any(axis=(3, 4)) & (draw.random(row.shape) < TAUGHT_LOOK_SHARE)
    return torch.from_numpy(np.where(told, row * wide + column, -1))


def vary_colours(pictures: Tensor, draw: np.random.Generator) -> Tensor:
    """Pictures (N, 6, H, W) from 0 to 1 with other brightness, contrast and tint. Colours keep their names."""
    n = len(pictures)

    def drawn(low: float, high: float, *size: int) -> Tensor:
        return torch.from_numpy(draw.uniform(low, high, size).astype(np.float32))

    tint = drawn(0.94, 1.06, n, 3).repeat(1, 2)[:, :, None, None] * drawn(0.85, 1.1, n, 1, 1, 1)
    bright = drawn(-0.08, 0.08, n, 1, 1, 1) + 0.5 - 0.5 * tint
    return torch.addcmul(bright, pictures, tint).clamp_(0, 1)


def pair_of(pixels: NDArray[np.uint8], t: int) -> NDArray[np.uint8]:
    """A frame and the one before it, (H, W, 6); for the first frame twice the same."""
    return np.concatenate([pixels[t], pixels[max(0, t - 1)]], axis=-1)


def as_input(pairs: NDArray[np.uint8]) -> Tensor:
    """(N, H, W, 6) uint8 to (N, 6, H, W) from 0 to 1."""
    found: Tensor = torch.from_numpy(np.ascontiguousarray(pairs)).permute(0, 3, 1, 2).float() / 255
    return found.contiguous(memory_format=torch.channels_last)


class ConvolutionMuon(torch.optim.Muon):
    """Muon for convolutions: each is a matrix with a row for each output channel (O, I · height · width).

    `torch.optim.Muon` takes matrices only.
    """

    def __init__(self, weights: Sequence[nn.Parameter], *, lr: float, weight_decay: float) -> None:
        self._weights = list(weights)
        matrices = [nn.Parameter(weight.detach().flatten(1).clone()) for weight in self._weights]
        super().__init__(matrices, lr=lr, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw")

    def step(self, closure: None = None) -> None:
        """Changes the weights by their gradients."""
        pairs = list(zip(self._weights, self.param_groups[0]["params"], strict=True))
        with torch.no_grad():
            for weight, matrix in pairs:
                matrix.copy_(weight.flatten(1))
                matrix.grad = None if weight.grad is None else weight.grad.flatten(1)
            super().step(closure)
            for weight, matrix in pairs:
                weight.copy_(matrix.view_as(weight))


def optimisers_of_eye(encoder: nn.Module, readings: nn.Module, settings: VisionSettings) -> tuple[Optimizer, ...]:
    """Muon for the encoder's matrices, with steps of the same size as AdamW's, and AdamW for all else."""
    shapes = [p for name, p in encoder.named_parameters() if name.endswith("weight")]
    convolutions, matrices = ([p for p in shapes if p.ndim == ndim] for ndim in (4, 2))
    taken = {id(p) for p in (*convolutions, *matrices)}
    others = [p for part in (encoder, readings) for p in part.parameters() if id(p) not in taken]
    rate, decay = settings.rate, settings.weight_decay
    return (
        ConvolutionMuon(convolutions, lr=rate, weight_decay=decay),
        torch.optim.Muon(matrices, lr=rate, weight_decay=decay, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, lr=rate, weight_decay=decay, betas=(0.9, 0.98)),
    )


def train_encoder(
    encoder: FrameEncoder,
    readings: Readings,
    videos: Sequence[FilmedVideo],
    words: LabelWords,
    settings: VisionSettings,
    optimisers: Sequence[Optimizer],
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
        optimisers: The result of `optimisers_of_eye`.
        report: Called after each step with its number from 0 and its loss.
        seed: Decides the order of frames.
        first: Number of finished steps.

    Raises:
        ModelError: The loss is no longer a finite number.
    """
    frames = Frames.of(videos, words, encoder.shape)
    groups = [group for optimiser in optimisers for group in optimiser.param_groups]
    learned = [*encoder.parameters(), *readings.parameters()]
    device = learned[0].device
    encoder.train()
    encoder.to(memory_format=torch.channels_last)
    for step in range(first, settings.steps):
        chosen, mirrored = _drawn(frames, step, settings.batch, seed)
        pictures, labels = frames.batch(chosen, mirrored=mirrored)
        for group in groups:
            group["lr"] = rate_at(step, settings.steps, top=settings.rate, warmup=settings.warmup)
        where, draw = frames.where(chosen, mirrored=mirrored), np.random.default_rng([seed, step, 2])
        cells, pictures = shown_cells(where, encoder.shape, draw).to(device), vary_colours(pictures, draw).to(device)
        labels, where = {name: values.to(device) for name, values in labels.items()}, where.to(device)
        people = frames.people(chosen, mirrored=mirrored).to(device)
        places, of_things = frames.things(chosen, mirrored=mirrored, draw=draw)
        places, of_things = places.to(device), {name: values.to(device) for name, values in of_things.items()}
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=settings.bf16):
            seen = encoder.glimpse(pictures, people, cells)
            loss = loss_of(readings(seen), labels) + close_loss(readings, seen.close, cells, labels)
            loss = loss + things_loss(readings.things, seen.seen[places[:, 0], places[:, 1]], of_things)
            loss = loss + looking_loss(seen.attend, where) + finding_loss(seen.heat, people, encoder.shape)
            loss = loss + LETTERS_WEIGHT * _spelling_loss(encoder, pictures, seen.tags, frames, chosen, mirrored)
            parts, names = tagged_parts([frames.pixels[v][t] for v, t in chosen], random.Random(f"{seed} {step}"))
            told = encoder.letters(_varied_parts(parts, draw).to(device) - 0.5)
            loss = loss + LETTERS_WEIGHT * letters_loss(told[:, None], [[name] for name in names])
        check_loss(loss, step)
        for parameter in learned:
            parameter.grad = None
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        for optimiser in optimisers:
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
    encoder: FrameEncoder, readings: Readings, videos: Sequence[FilmedVideo], words: LabelWords, *, bf16: bool = False
) -> dict[str, float]:
    """Share of labels that are recognised, by name; for labels with several values and for people, F1.

    Labels of people are counted where they have a value; a person that is not found counts as not recognised.
    """
    frames, device = Frames.of(videos, words, encoder.shape), next(encoder.parameters()).device
    right: dict[str, list[float]] = {name: [] for name in ("name", *FRAME_LABELS, *PERSON_LABELS)}
    hits = {name: np.zeros(3) for name in ("present", *FRAME_LABEL_SETS, *PERSON_LABEL_SETS)}
    for start in range(0, len(frames.places), 128):
        chosen = frames.places[start : start + 128]
        pictures, labels = frames.batch(chosen)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16):
            seen = encoder.glimpse(pictures.to(device))
            read = {name: found.float().cpu() for name, found in readings(seen).items()}
        letters = encoder.spell(pictures.to(device), seen.tags).argmax(-1).cpu().numpy()
        seconds = [frames.seconds[v][t] for v, t in chosen]
        people = seen.people.cpu().numpy()
        who = np.stack([match_people(*one, encoder.shape) for one in zip(seconds, people, strict=True)])
        there = labels["present"] > 0
        hits["present"] += [(who >= 0).sum(), (people >= 0).sum(), float(there.sum())]
        slots = np.stack([(who == at).argmax(axis=1) for at in range(who.shape[1])], axis=1)
        found = torch.from_numpy(np.stack([(who == at).any(axis=1) for at in range(who.shape[1])], axis=1))
        rows = np.arange(len(chosen))[:, None]
        for row, second in enumerate(seconds):
            for at, person in enumerate(second.people):
                if person.tagged and person.name:
                    told = read_name(letters[row, slots[row, at]]) if found[row, at] else None
                    right["name"].append(float(told == person.name))
        for name in FRAME_LABELS:
            known = labels[name] >= 0
            right[name] += (read[name].argmax(-1) == labels[name])[known].float().tolist()
        for name in PERSON_LABELS:
            # Frames in which nobody can tell a right answer from none would hide what is not recognised.
            known = labels[name] >= 1
            said = read[name].argmax(-1)[rows, slots]
            right[name] += ((said == labels[name]) & found)[known].float().tolist()
        for name in (*FRAME_LABEL_SETS, *PERSON_LABEL_SETS):
            of_person = name in PERSON_LABEL_SETS
            said = (read[name][rows, slots] > 0) & found[..., None] if of_person else read[name] > 0
            shown = there if of_person else slice(None)
            said, true = said[shown], labels[name][shown] > 0.5
            hits[name] += [float((said & true).sum()), float(said.sum()), float(true.sum())]
    single = {name: float(np.mean(values)) for name, values in right.items() if values}
    return single | {name: float(2 * hit / max(1.0, said + true)) for name, (hit, said, true) in hits.items()}


def match_people(second: Seconds, found: NDArray[np.int64], shape: MiniShape) -> NDArray[np.int64]:
    """(people,) which of the people of a frame was found at each of the cells `found`; -1 for none of them."""
    who = np.full(len(found), -1, np.int64)
    pairs = []
    for slot, cell in enumerate(found):
        x, y = (cell % shape.cells_wide + 0.5) / shape.cells_wide, (cell // shape.cells_wide + 0.5) / shape.cells_high
        for at, person in enumerate(second.people):
            if cell >= 0 and person.box is not None:
                left, top, right, bottom = person.box
                middle = middle_of(person.box)
                if left - MARGIN <= x <= right + MARGIN and top - MARGIN <= y <= bottom + MARGIN:
                    pairs.append((np.hypot(x - middle[0], (y - middle[1]) * 9 / 16), slot, at))
    for _, slot, at in sorted(pairs):
        if who[slot] < 0 and at not in who:
            who[slot] = at
    return who


MARGIN: Final = 0.02
"""Share of the picture by which somebody may be found outside their box."""


@torch.inference_mode()  # type: ignore[untyped-decorator]
def visual_tokens(
    encoder: FrameEncoder, video: FilmedVideo, *, bf16: bool = False
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The visual tokens of a video's frames (T, K, V), and which of the people of each frame they show (T, P)."""
    pixels, device = video.pixels(), next(encoder.parameters()).device
    parts, who = [], []
    for start in range(0, len(pixels), 64):
        times = range(start, min(start + 64, len(pixels)))
        pairs = as_input(np.stack([pair_of(pixels, t) for t in times])).to(device)
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16):
            seen = encoder.glimpse(pairs)
        parts.append(seen.tokens.float().cpu().numpy())
        found = seen.people.cpu().numpy()
        who += [match_people(video.labels[t], row, encoder.shape) for t, row in zip(times, found, strict=True)]
    return np.concatenate(parts), np.stack(who)
