"""Compares the exported reeltalk-mini with its torch network, for tests and measurements.

`compare_exported` asks both networks the same questions. The torch network reads each sequence from its beginning, in
one piece and without a memory, so the comparison covers the export, its rounding, and the memory of the exported
network.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reeltalk_household.mini.mini import FRAME, MiniModel
from reeltalk_household.mini.mini_input import ANSWER, BEGIN, END, PAD, QUESTION, MiniWords
from reeltalk_household.mini.mini_people import KnownPeople
from reeltalk_household.training.export_onnx import Vision
from reeltalk_household.training.network import Mini


@dataclass
class Agreement:
    """How well two networks agree."""

    answers: int = 0
    same: int = 0
    """Number of answers that are equal, word for word."""
    largest: float = 0.0
    """Largest difference between logits of the first words of answers."""
    different: tuple[str, ...] = ()
    """The first questions with different answers."""


def embed(model: Mini, ids: Sequence[int], visual: Tensor) -> Tensor:
    """Embeds a sequence as (1, T, D).

    Args:
        model: The network with the word embeddings.
        ids: (T,) words; `FRAME` at a visual token.
        visual: (T', D) visual tokens, in order.
    """
    numbers = torch.tensor(ids)
    x: Tensor = model.decoder.words(numbers.clamp(min=0))
    x[numbers == FRAME] = visual[: int((numbers == FRAME).sum())]
    return x[None]


@torch.inference_mode()  # type: ignore[untyped-decorator]
def torch_answer(
    model: Mini, words: MiniWords, ids: Sequence[int], visual: Tensor, longest: int
) -> tuple[list[int], Tensor]:
    """The words of an answer, and the logits (vocabulary,) of the first. Each word reads the whole sequence anew."""
    said: list[int] = []
    first: Tensor | None = None
    while len(said) < longest:
        logits = model.decoder(embed(model, [*ids, *said], visual))[0][0, -1]
        first = logits if first is None else first
        word = words.likeliest(logits.numpy())
        if word == END:
            break
        said.append(word)
    assert first is not None
    return said, first


@torch.inference_mode()  # type: ignore[untyped-decorator]
def compare_exported(
    model: Mini,
    exported: MiniModel,
    videos: Iterable[tuple[NDArray[np.uint8], Sequence[float], Sequence[tuple[float, str]]]],
) -> Agreement:
    """Asks both networks the same questions, each after the frames up to its moment.

    People are recognised by the names and the looks that each network reads.

    Args:
        model: The network with the exported values, as `round_weights` returns it.
        exported: The exported network, with a memory that keeps everything.
        videos: For each video its frames (N, H, W, 3) in the network's size, their times (N,), and questions with their
            moments in the order of time.
    """
    found = Agreement()
    vision = Vision(model)
    for pixels, times_s, questions in videos:
        stream, seen = exported.stream(), 0
        pairs = np.stack([pixels, pixels[np.maximum(np.arange(len(pixels)) - 1, 0)]], axis=1)
        people, parts = KnownPeople(), []
        for n in range(0, len(pixels), 16):
            tokens, letters, looks, present = vision(
                torch.from_numpy(pairs[n : n + 16]), torch.tensor(times_s[n : n + 16], dtype=torch.float32)
            )
            told = zip(letters.numpy(), looks.numpy(), present.numpy(), strict=True)
            marks = torch.tensor([[PAD, *people.see(*one)] for one in told])
            parts.append(model.decoder.marked(tokens, marks))
        visual = torch.cat(parts).flatten(0, 1)
        for asked_at_s, question in questions:
            while seen < len(times_s) and times_s[seen] <= asked_at_s:
                stream.see(pixels[seen], times_s[seen])
                seen += 1
            asked = [QUESTION, *stream.numbers(question), ANSWER]
            ids = [BEGIN, *[FRAME] * (seen * model.shape.frame_tokens), *asked]
            said, expected = torch_answer(model, exported.words, ids, visual, exported.longest_answer)
            logits = exported.read(asked, None, stream.memory)[0]
            answer = stream.fork().say(asked)
            found.answers += 1
            found.same += answer == said
            found.largest = max(found.largest, float(np.abs(logits - expected.numpy()).max()))
            if answer != said and len(found.different) < 10:
                found.different += (question,)
    return found
