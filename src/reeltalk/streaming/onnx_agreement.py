"""Whether the exported network says what the torch network says, question by question.

The torch side reads each sequence from its beginning, in one piece and without a memory. So what is compared is the
export, its rounding, and the memory that the other side keeps while frames come one by one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reeltalk.inference.mini import FRAME, MiniModel
from reeltalk.inference.mini_words import ANSWER, BEGIN, END, QUESTION
from reeltalk.streaming.export_onnx import Vision
from reeltalk.streaming.network import Mini


@dataclass
class Agreement:
    """How far two networks say the same."""

    answers: int = 0
    same: int = 0
    """Answers that are the same, word for word."""
    largest: float = 0.0
    """Largest difference of a logit of an answer's first word."""
    different: tuple[str, ...] = ()
    """The first questions that were answered otherwise."""


def embedded(model: Mini, ids: Sequence[int], visual: Tensor) -> Tensor:
    """(1, T, D) of a sequence.

    Args:
        model: Has the words.
        ids: (T,) words; `FRAME` where there is a visual token.
        visual: (T', D) visual tokens, in order.
    """
    numbers = torch.tensor(ids)
    x: Tensor = model.decoder.words(numbers.clamp(min=0))
    x[numbers == FRAME] = visual[: int((numbers == FRAME).sum())]
    return x[None]


@torch.inference_mode()  # type: ignore[untyped-decorator]
def torch_answer(model: Mini, ids: Sequence[int], visual: Tensor, longest: int) -> tuple[list[int], Tensor]:
    """The words of an answer, each by reading the whole sequence anew, and the logits (vocabulary,) of the first.

    Args:
        model: The network.
        ids: (T,) the sequence up to the mark of the answer.
        visual: (T', D) its visual tokens.
        longest: Words at most.
    """
    said: list[int] = []
    first: Tensor | None = None
    while len(said) < longest:
        logits = model.decoder(embedded(model, [*ids, *said], visual))[0][0, -1]
        first = logits if first is None else first
        word = END + int(logits[END:].argmax())
        if word == END:
            break
        said.append(word)
    assert first is not None
    return said, first


@torch.inference_mode()  # type: ignore[untyped-decorator]
def compare(
    model: Mini,
    exported: MiniModel,
    videos: Iterable[tuple[NDArray[np.uint8], Sequence[float], Sequence[tuple[float, str]]]],
) -> Agreement:
    """Ask both the same questions, each after the frames up to its moment.

    Args:
        model: The network with the numbers that were exported, as `rounded` gives it.
        exported: What was exported, with a memory that keeps everything.
        videos: Of each video its frames (N, H, W, 3) in the network's size, their times (N,), and questions with their
            moments in the order of time.
    """
    found = Agreement()
    vision = Vision(model)
    for pixels, times_s, questions in videos:
        stream, seen = exported.stream(), 0
        pairs = np.stack([pixels, pixels[np.maximum(np.arange(len(pixels)) - 1, 0)]], axis=1)
        visual = torch.cat([
            vision(torch.from_numpy(pairs[n : n + 16]), torch.tensor(times_s[n : n + 16], dtype=torch.float32))
            for n in range(0, len(pixels), 16)
        ]).flatten(0, 1)  # fmt: skip
        for asked_at_s, question in questions:
            while seen < len(times_s) and times_s[seen] <= asked_at_s:
                stream.see(pixels[seen], times_s[seen])
                seen += 1
            asked = [QUESTION, *exported.words.numbers(question), ANSWER]
            ids = [BEGIN, *[FRAME] * (seen * model.shape.frame_tokens), *asked]
            said, expected = torch_answer(model, ids, visual, exported.longest_answer)
            logits = exported.read(asked, None, stream.memory)[0]
            answer = stream.fork().say(asked)
            found.answers += 1
            found.same += answer == said
            found.largest = max(found.largest, float(np.abs(logits - expected.numpy()).max()))
            if answer != said and len(found.different) < 10:
                found.different += (question,)
    return found
