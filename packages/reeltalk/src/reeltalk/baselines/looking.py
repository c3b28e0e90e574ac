"""Answers from question, dialogue and frames, without pretrained weights: the baseline that looks.

It adds to `InContextAnswerer` the scores of `WordSpotter`: how well the words of a candidate match the frames that
match the question, those after and before them, the first, the last and the best ones; and which colours are there.

`WordSpotter` has one linear detector a word, learned from questions and the intervals of their evidence. A frame in a
short piece of evidence is taken to show the content words of question and answer. Detectors are ridge regressions on
`video.frame_features`; nothing is learned from other data than turns of known videos.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from reeltalk.baselines.answerer import VIDEO_FIELDS, KnownTurn, training_hash
from reeltalk.baselines.history import referent_words
from reeltalk.baselines.in_context import InContextAnswerer, PossibleAnswer, right_answers
from reeltalk.baselines.ranking import (
    Floats,
    Ranker,
    RankingExample,
    assign_folds,
    drawn_questions,
    drawn_signature,
)
from reeltalk.metrics.agree import content_words, polarity, stem
from reeltalk.schema.intervals import Interval
from reeltalk.video.frame_features import COLOURS, REGIONS, SETTINGS, FrameFeatures

LONGEST_EVIDENCE_S: Final = 15.0
"""Longer evidence shows too much for its frames to be of one thing."""
NEAR_EVIDENCE_S: Final = 1.0
"""Frames this close to evidence count as evidence."""
LEAST_VIDEOS: Final = 5
"""Least number of videos that show a word, for it to be learned."""
SPOTTER_PENALTY: Final = 1e4
NEIGHBOUR_S: Final = 2.0
"""Scores of a frame are averaged with those of its neighbours, unless they are further away than this."""


@dataclass(frozen=True)
class WordSpotter:
    """Linear detectors of words."""

    words: Mapping[str, int]
    """Known words, stemmed, with their columns."""
    mean: Floats
    """(D,) of the features."""
    spread: Floats
    """(D,)."""
    weights: Floats
    """(D, W); scores have variance 1 on the training frames."""

    @classmethod
    def fit(cls, videos: Mapping[str, FrameFeatures], turns: Sequence[KnownTurn]) -> Self:
        """Learn from the turns of videos whose frames are given; other turns are skipped.

        Args:
            videos: Features of their frames.
            turns: Questions with answers and evidence.
        """
        own: dict[str, list[KnownTurn]] = defaultdict(list)
        for turn in turns:
            own[turn.video_id].append(turn)
        shown = {name: _shown(frames, own[name]) for name, frames in videos.items()}
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
        square = scaled.T @ scaled + SPOTTER_PENALTY * np.eye(scaled.shape[1])
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
            inside |= (frames.times_s >= interval.start_s - NEAR_EVIDENCE_S) & (
                frames.times_s <= interval.end_s + NEAR_EVIDENCE_S
            )
        for word in (*content_words(turn.question), *content_words(turn.answer)):
            found[word] = found.get(word, np.zeros(len(inside), bool)) | inside
    return found


PENALTY: Final = 100.0
NEXT_S: Final = 10.0
"""Frames this soon after another count as after it; this shortly before, as before it."""
ENDS_S: Final = 8.0
"""Length of the beginning and of the end."""
PLACES: Final = 7
"""At the match of the question, after it, before it, at the beginning, at the end, at best, on average."""
CUES: Final = (
    frozenset("after afterwards next then once follow following".split()),
    frozenset("before previous previously preceding prior precedes".split()),
    frozenset("first begin begins beginning start starts initially".split()),
    frozenset("last end ends final finally finish".split()),
)
"""Words of a question that say where to look."""
WORN: Final = (frozenset({stem("shirt"), stem("top"), stem("sweater")}), frozenset({stem("trousers"), stem("pants")}),
               frozenset({stem("hair"), stem("hat")}))  # fmt: skip
"""Clothes and hair, by part of the body."""
_COLOUR_OF: Final = {stem(name): n for n, name in enumerate(COLOURS)} | {
    stem("blond"): COLOURS.index("yellow"), stem("gray"): COLOURS.index("grey"),
}  # fmt: skip
_COLOUR_SIGNS: Final = 2 * len(REGIONS)
SIGNS: Final = PLACES * (2 + len(CUES)) + _COLOUR_SIGNS * (2 + len(WORN)) + 1


@dataclass(frozen=True)
class _View:
    """Scores of the frames that may be seen."""

    frames: FrameFeatures
    scores: Floats
    """(T, W) scores of the words."""
    after: Floats
    """(T, W) means over the frames soon after each frame."""
    before: Floats

    @classmethod
    def of(cls, frames: FrameFeatures, spotter: WordSpotter) -> Self:
        scores = spotter.scores(frames)
        ahead = frames.times_s[None] - frames.times_s[:, None]
        near = ((ahead > 0) & (ahead <= NEXT_S)).astype(np.float64)
        after, before = (side @ scores / np.maximum(side.sum(1, keepdims=True), 1) for side in (near, near.T))
        return cls(frames, scores, after, before)


class LookingAnswerer:
    """Chooses among the answers to similar questions by votes, dialogue and frames.

    Args:
        turns: Known turns, as for `InContextAnswerer`. Turns of videos without frames train the other parts only.
        videos: Features of the frames of known videos, about one a second.
    """

    def __init__(self, turns: Sequence[KnownTurn], videos: Mapping[str, FrameFeatures]) -> None:
        self.in_context = InContextAnswerer(turns)
        self._turns = [turn for turn in turns if turn.video_id in videos and len(videos[turn.video_id].times_s)]
        self._videos = {turn.video_id: videos[turn.video_id] for turn in self._turns}
        names = sorted(self._videos)
        looks = np.array([self._videos[name].values.mean(0) for name in names]) if names else None
        self._folds = assign_folds(names, looks)
        self._spotters: dict[int | None, WordSpotter] = {}
        self._rankers: dict[int | None, Ranker] = {}
        self._choices: list[tuple[int, RankingExample]] | None = None
        self._last: tuple[int | None, _View] | None = None

    @property
    def signature(self) -> str:
        """Name, features, and hash of the training data."""
        films = [
            array for _, film in sorted(self._videos.items()) for array in (film.times_s, film.values, film.colours)
        ]
        train = training_hash(self.in_context.turns, VIDEO_FIELDS, *films)
        drawn = drawn_signature(len(self._turns))
        return f"baseline:looking|{SETTINGS}|train:{train}{drawn}|films:{len(self._videos)}"

    def answer(
        self,
        question: str,
        history: tuple[tuple[str, str], ...],
        options: Sequence[str] | None,
        frames: FrameFeatures,
        *,
        asked_at_s: float | None = None,
        without: str | None = None,
    ) -> str | None:
        """The best candidate; None if no known question shares a word.

        Args:
            history: Earlier questions and answers.
            options: Options of a multiple-choice question.
            frames: Features of the frames that may be seen; without frames, question and dialogue decide.
            asked_at_s: Time of the question; that of the last frame by default.
            without: The video that the question is about; nothing that was learned from it is used.
        """
        if not len(frames.times_s):
            return self.in_context.answer(question, history, options, without=without)
        passed_s = float(frames.times_s[-1]) if asked_at_s is None else asked_at_s
        possible = self.in_context.possible(question, history, options, without=without, passed_s=passed_s)
        if not possible:
            return None
        fold = self._folds.get(without) if without is not None else None
        view = self._view(frames, fold)
        signs = self._signs(question, history, possible, view, self._spotter(fold), without)
        return possible[self._ranker(fold).best(signs)].text

    def _view(self, frames: FrameFeatures, fold: int | None) -> _View:
        # Consecutive turns of a dialogue look at the same frames.
        if self._last is None or self._last[0] != fold or self._last[1].frames is not frames:
            self._last = (fold, _View.of(frames, self._spotter(fold)))
        return self._last[1]

    def _spotter(self, fold: int | None) -> WordSpotter:
        if fold not in self._spotters:
            others = {name: frames for name, frames in self._videos.items() if self._folds[name] != fold}
            self._spotters[fold] = WordSpotter.fit(others, self._turns)
        return self._spotters[fold]

    def _ranker(self, fold: int | None) -> Ranker:
        if fold not in self._rankers:
            if self._choices is None:
                self._choices = self._known_choices()
            told = [choice for own, choice in self._choices if own != fold]
            context = self.in_context.turns
            count = (self.in_context.signs("", (), ()).shape[1] if context else 0) + SIGNS
            self._rankers[fold] = Ranker.fit(told, count, penalty=PENALTY)
        return self._rankers[fold]

    def _known_choices(self) -> list[tuple[int, RankingExample]]:
        found: list[tuple[int, RankingExample]] = []
        sharing: dict[tuple[str, float | None, tuple[Interval, ...]], list[KnownTurn]] = defaultdict(list)
        for place in drawn_questions(len(self._turns)):
            turn = self._turns[place]
            sharing[turn.video_id, turn.asked_at_s, turn.about].append(turn)
        # A view is large, so turns that share one come together, and one is kept at a time.
        for (video_id, asked_at_s, about), turns in sharing.items():
            fold = self._folds[video_id]
            frames = visible_frames(self._videos[video_id], asked_at_s, about)
            if not len(frames.times_s):
                continue
            # The detectors for a video are learned from other videos, as for a new video.
            view = _View.of(frames, self._spotter(fold))
            passed_s = float(frames.times_s[-1]) if asked_at_s is None else asked_at_s
            for turn in turns:
                possible = self.in_context.possible(
                    turn.question, turn.history, without=video_id, new_form=True, passed_s=passed_s
                )
                if possible:
                    signs = self._signs(turn.question, turn.history, possible, view, self._spotter(fold), video_id)
                    found.append((fold, RankingExample(signs, right_answers(possible, turn))))
        return found

    def _signs(
        self,
        question: str,
        history: tuple[tuple[str, str], ...],
        possible: Sequence[PossibleAnswer],
        view: _View,
        spotter: WordSpotter,
        without: str | None,
    ) -> Floats:
        context = self.in_context.signs(question, history, possible, without=without)
        topic = (*content_words(question), *referent_words(question, history))
        columns = [spotter.words[word] for word in dict.fromkeys(topic) if word in spotter.words]
        weights = [self.in_context.index.weights.weight(word) for word in dict.fromkeys(topic) if word in spotter.words]
        fits = view.scores[:, columns] @ np.array(weights) / max(1, len(columns)) ** 0.5
        there = np.exp(fits - fits.max())
        there /= there.sum()
        places = _places(view, there)
        said = set(re.findall("[a-z]+", question.lower()))
        cues = [float(bool(said & cue)) for cue in CUES]
        cues.append(float(not any(cues)))
        worn = [float(bool(set(topic) & part)) for part in WORN]
        worn.append(float(not any(worn)))
        colours = np.concatenate(
            [view.frames.colours.mean(0), np.tensordot(there, view.frames.colours, axes=1)]
        )  # Shape: (10, 11)
        rows = []
        for one, before in zip(possible, context, strict=True):
            own = [spotter.words[word] for word in one.essence if word in spotter.words and word not in _COLOUR_OF]
            fit = places[:, own].mean(1) if own else np.zeros(PLACES)
            named = [_COLOUR_OF[word] for word in one.essence if word in _COLOUR_OF]
            share = colours[:, named].mean(1) if named else np.zeros(_COLOUR_SIGNS)
            yes = {"yes": 1.0, "no": -1.0, None: 0.0}[polarity(one.text)]
            parts = [before, fit, *(cue * fit for cue in cues), share, *(part * share for part in worn)]
            rows.append(np.concatenate([*parts, [yes * float(fits.max())]]))
        return np.array(rows).reshape(len(possible), -1)


def _places(view: _View, there: Floats) -> Floats:
    """(7, W) scores of the words at each of the places; `there` is (T,) the weight of each frame."""
    times, scores = view.frames.times_s, view.scores
    rows = [there @ scores, there @ view.after, there @ view.before]
    rows.append(scores[times <= times[0] + ENDS_S].mean(0))
    rows.append(scores[times >= times[-1] - ENDS_S].mean(0))
    return np.array([*rows, scores.max(0), scores.mean(0)])


def visible_frames(frames: FrameFeatures, until_s: float | None, about: Sequence[Interval] = ()) -> FrameFeatures:
    """The frames up to a moment that lie in the clips that a turn is about.

    Args:
        until_s: The moment; None for all frames.
        about: The clips. Without clips, or if no frame lies in one, all frames count.
    """
    seen = np.ones(len(frames.times_s), bool) if until_s is None else frames.times_s <= until_s
    inside = np.zeros(len(seen), bool)
    for clip in about:
        inside |= (frames.times_s >= clip.start_s) & (frames.times_s <= clip.end_s)
    if (seen & inside).any():
        seen &= inside
    return FrameFeatures(frames.times_s[seen], frames.values[seen], frames.colours[seen])
