"""Which words fit what a frame shows: one linear detector a word, learnt from questions and where their evidence lies.

A frame in a short piece of evidence is taken to show the content words of the question and its answer. Detectors are
ridge regressions on `video.frame_features`; nothing is learnt from anything but turns of known videos.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from reeltalk.baselines.known import KnownTurn
from reeltalk.metrics.agree import content_words
from reeltalk.video.frame_features import FrameFeatures

LONGEST_EVIDENCE_S: Final = 15.0
"""Longer evidence shows too much for its frames to be of one thing."""
BESIDE_S: Final = 1.0
"""What is seen so shortly before or after evidence counts as evidence."""
LEAST_VIDEOS: Final = 5
"""Videos in which a word must be shown to be learnt."""
PENALTY: Final = 1e4
NEIGHBOUR_S: Final = 2.0
"""Scores of a frame are averaged with those of the frames beside it, unless they are further away."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class WordSpotter:
    """Detectors of words."""

    words: Mapping[str, int]
    """The words that are known, stemmed, with their columns."""
    mean: Floats
    """(D,) of the features."""
    spread: Floats
    """(D,)."""
    weights: Floats
    """(D, W); scores have variance 1 on the frames that were learnt from."""

    @classmethod
    def fit(cls, videos: Mapping[str, FrameFeatures], turns: Sequence[KnownTurn]) -> Self:
        """Learn from the turns of videos whose frames are given; others are passed over.

        Args:
            videos: What their frames look like.
            turns: Questions with answers and evidence.
        """
        shown = {name: _shown(frames, [t for t in turns if t.video_id == name]) for name, frames in videos.items()}
        counts = Counter(word for name in sorted(shown) for word in shown[name])
        words = {word: n for n, word in enumerate(sorted(w for w, count in counts.items() if count >= LEAST_VIDEOS))}
        names = sorted(videos)
        if not names:
            return cls({}, np.zeros(0), np.ones(0), np.zeros((0, 0)))
        values = np.concatenate([videos[name].values for name in names]).astype(np.float64)
        targets = np.zeros((len(values), len(words)))
        start = 0
        for name in names:
            count = len(videos[name].times_s)
            for word, rows in shown[name].items():
                if word in words:
                    targets[start : start + count, words[word]] = rows
            start += count
        mean, spread = values.mean(0), values.std(0) + 1e-2
        scaled = (values - mean) / spread
        square = scaled.T @ scaled + PENALTY * np.eye(scaled.shape[1])
        weights = np.linalg.solve(square, scaled.T @ (targets - targets.mean(0)))
        return cls(words, mean, spread, weights / ((scaled @ weights).std(0) + 1e-6))

    def scores(self, frames: FrameFeatures) -> Floats:
        """(T, W) how much each frame fits each word; about 0 on average, with a variance of about 1."""
        if not len(frames.times_s) or not self.words:
            return np.zeros((len(frames.times_s), len(self.words)))
        raw = (frames.values - self.mean) / self.spread @ self.weights
        near = np.abs(frames.times_s[:, None] - frames.times_s[None]) < NEIGHBOUR_S
        near &= np.abs(np.subtract.outer(np.arange(len(raw)), np.arange(len(raw)))) <= 1
        averaged: Floats = near @ raw / near.sum(1, keepdims=True)
        return averaged


def _shown(frames: FrameFeatures, turns: Sequence[KnownTurn]) -> dict[str, NDArray[np.bool_]]:
    """By word, (T,) whether a frame shows it."""
    found: dict[str, NDArray[np.bool_]] = {}
    for turn in turns:
        if not turn.evidence or sum(interval.duration_s for interval in turn.evidence) > LONGEST_EVIDENCE_S:
            continue
        inside = np.zeros(len(frames.times_s), bool)
        for interval in turn.evidence:
            inside |= (frames.times_s >= interval.start_s - BESIDE_S) & (frames.times_s <= interval.end_s + BESIDE_S)
        for word in (*content_words(turn.question), *content_words(turn.answer)):
            found[word] = found.get(word, np.zeros(len(inside), bool)) | inside
    return found
