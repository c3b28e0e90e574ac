"""Frames and words in one sequence, as reeltalk-mini reads them.

Frames of a segment, then its turns, then the next segment's frames, as SVBench lays out its training paths. Learned are
the words of answers and of what is said unasked, and after an instruction whether each frame is a moment to speak.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reeltalk.inference.mini_words import ANSWER, BEGIN, END, INSTRUCTION, PAD, QUESTION, SAYS, UNKNOWN, MiniWords

FRAME: Final = -1
"""Stands in place of a word where a visual token is."""
NOT_LEARNED: Final = -100


@dataclass
class Interleaved:
    """A sequence that is being put together."""

    words: MiniWords
    frame_tokens: int
    ids: list[int] = field(default_factory=lambda: [BEGIN])
    learned: list[int] = field(default_factory=lambda: [NOT_LEARNED])
    """What each place shall predict, which is the word after it, or `NOT_LEARNED`."""
    frames: list[int] = field(default_factory=list)
    """Frames of the video, in order."""
    pts_s: list[float] = field(default_factory=list)
    """Their times in the sequence, which may begin with a clip in the middle of a video."""
    ready: list[float] = field(default_factory=lambda: [float("nan")])
    """1 where it is time to speak, 0 where it is not, NaN where that is not learned."""
    looked_at: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)
    """First and last place of an answer, and the places of the visual tokens that show why."""
    _places: dict[int, range] = field(default_factory=dict)

    def frame(self, index: int, pts_s: float, *, ready: float = float("nan")) -> None:
        """A frame, by its place in the video, and its time in seconds."""
        self.frames.append(index)
        self.pts_s.append(pts_s)
        self._places[index] = range(len(self.ids), len(self.ids) + self.frame_tokens)
        for token in range(self.frame_tokens):
            self._add(FRAME, ready=ready if token == self.frame_tokens - 1 else float("nan"))

    def ask(self, question: str, answer: str, *, forget: Sequence[bool] = (), evidence: Sequence[int] = ()) -> None:
        """A question and its answer.

        Args:
            question: Its text.
            answer: The answer that is learned.
            forget: Words of the question that are not to be read, by place; so no form is learned by a single word.
            evidence: Frames, by their place in the video, that show why; those that were not shown do not count.
        """
        asked = self.words.numbers(question)
        asked = [UNKNOWN if lost else word for word, lost in zip_longest(asked, forget[: len(asked)])]
        self._extend([QUESTION, *asked])
        first = len(self.ids)
        self._learn([ANSWER, *self.words.numbers(answer), END])
        places = tuple(place for frame in evidence if frame in self._places for place in self._places[frame])
        if places:
            self.looked_at.append((first, len(self.ids) - 2, places))

    def instruct(self, text: str) -> None:
        """Add an instruction to look out for something."""
        self._extend([INSTRUCTION, *self.words.numbers(text), END])

    def say(self, text: str) -> None:
        """Add something that is said unasked."""
        self._learn([SAYS, *self.words.numbers(text), END])

    def __len__(self) -> int:
        return len(self.ids)

    def _add(self, number: int, *, ready: float = float("nan")) -> None:
        self.ids.append(number)
        self.learned.append(NOT_LEARNED)
        self.ready.append(ready)

    def _extend(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            self._add(number)

    def _learn(self, numbers: Sequence[int]) -> None:
        # The mark in front is given; all after it is learned.
        self._extend(numbers)
        start = len(self.ids) - len(numbers)
        for place in range(start, len(self.ids) - 1):
            self.learned[place] = self.ids[place + 1]


@dataclass(frozen=True)
class Batch:
    """Sequences of one length; shorter ones are filled up at their end."""

    ids: Tensor
    """(B, T) words, PAD where there is a visual token or nothing."""
    learned: Tensor
    """(B, T) the word after each place, or `NOT_LEARNED`."""
    ready: Tensor
    """(B, T) 0, 1 or NaN."""
    at: Tensor
    """(N·K, 2) row and place of each visual token."""
    seen: Tensor
    """(N, K, V) visual tokens."""
    pts_s: Tensor
    """(N,) times of the frames."""
    named: Tensor
    """(N, vocabulary) shares of the words by which each frame is called; they sum to 1."""
    answers: Tensor
    """(B, M) places at which an answer is learned that a frame shows; 0 fills up."""
    evidence: Tensor
    """(B, M, T) true for the visual tokens that show it; false all along where `answers` is filled up."""


def batch_of(
    sequences: Sequence[Interleaved],
    features: Sequence[NDArray[np.float32]],
    names: Sequence[Sequence[Sequence[int]]],
) -> Batch:
    """Put sequences side by side.

    Args:
        sequences: What is put together.
        features: (frames, K, V) visual tokens of each one's video.
        names: Words of each frame of each one's video; at least one a frame.
    """
    longest = max(len(sequence) for sequence in sequences)
    ids = np.full((len(sequences), longest), PAD, np.int64)
    learned = np.full((len(sequences), longest), NOT_LEARNED, np.int64)
    ready = np.full((len(sequences), longest), np.nan, np.float32)
    at, seen, pts, named = [], [], [], []
    for row, (sequence, tokens, called) in enumerate(zip(sequences, features, names, strict=True)):
        numbers = np.array(sequence.ids, np.int64)
        places = np.flatnonzero(numbers == FRAME)
        at.append(np.stack([np.full(len(places), row), places], axis=-1))
        ids[row, : len(numbers)] = np.where(numbers == FRAME, PAD, numbers)
        learned[row, : len(numbers)] = sequence.learned
        ready[row, : len(numbers)] = sequence.ready
        seen.append(tokens[sequence.frames])
        pts.append(np.array(sequence.pts_s, np.float32))
        for frame in sequence.frames:
            shares = np.zeros(sequence.words.size, np.float32)
            np.add.at(shares, called[frame], 1 / len(called[frame]))
            named.append(shares)
    answers, evidence = _evidence(sequences, longest)
    return Batch(
        torch.from_numpy(ids),
        torch.from_numpy(learned),
        torch.from_numpy(ready),
        torch.from_numpy(np.concatenate(at)),
        torch.from_numpy(np.concatenate(seen)),
        torch.from_numpy(np.concatenate(pts)),
        torch.from_numpy(np.stack(named)),
        torch.from_numpy(answers),
        torch.from_numpy(evidence),
    )


def _evidence(sequences: Sequence[Interleaved], longest: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    most = max(sum(last - first + 1 for first, last, _ in sequence.looked_at) for sequence in sequences)
    answers = np.zeros((len(sequences), max(1, most)), np.int64)
    evidence = np.zeros((len(sequences), max(1, most), longest), np.bool_)
    for row, sequence in enumerate(sequences):
        at = 0
        for first, last, places in sequence.looked_at:
            count = last - first + 1
            answers[row, at : at + count] = np.arange(first, last + 1)
            evidence[row, at : at + count, list(places)] = True
            at += count
    return answers, evidence
