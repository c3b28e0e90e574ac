"""Lessons for the training of reeltalk-mini: an endless series of new dialogues about the videos of the train split.

Questions, answers and their wording come from the graphs by the same rules as in a benchmark (`questions.wording`), in
the surface forms of the train split and in further forms that no benchmark uses.

A lesson is one sequence of frames and words: the frames of a segment, then its turns, then the frames of the next
segment, as in SVBench's training paths. The model learns the words of answers and of unasked messages, and after an
instruction whether each frame is a moment to speak.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from reeltalk.schema.intervals import no_later
from reeltalk.schema.record import VideoId
from reeltalk.schema.stream import UserRequest
from reeltalk_household.mini.mini_input import (
    ANSWER,
    BEGIN,
    END,
    HEARD,
    INSTRUCTION,
    PAD,
    PEOPLE,
    QUESTION,
    SAYS,
    UNKNOWN,
    MiniWords,
)
from reeltalk_household.questions.proactive import tasks_of
from reeltalk_household.questions.wording import LESSONS, write_dialogue
from reeltalk_household.training.household import FilmedVideo

FRAME: Final = -1
"""The entry at the place of a visual token."""
NOT_LEARNED: Final = -100


@dataclass
class Interleaved:
    """A sequence under construction."""

    words: MiniWords
    frame_tokens: int
    people: dict[str, int] = field(default_factory=dict)
    """Marks of the people of the video whose names are known, by name."""
    ids: list[int] = field(default_factory=lambda: [BEGIN])
    learned: list[int] = field(default_factory=lambda: [NOT_LEARNED])
    """The target of each place: the word after it, or `NOT_LEARNED`."""
    frames: list[int] = field(default_factory=list)
    """Frames of the video, in order."""
    pts_s: list[float] = field(default_factory=list)
    """Their times in the sequence. A sequence may begin with a clip in the middle of a video."""
    ready: list[float] = field(default_factory=lambda: [float("nan")])
    """1 if it is time to speak, 0 if not, NaN if that is not learned."""
    looked_at: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)
    """First and last place of an answer, and the places of the visual tokens that show the evidence."""
    _places: dict[int, range] = field(default_factory=dict)

    def frame(self, index: int, pts_s: float, *, ready: float = float("nan")) -> None:
        """Adds a frame, by its place in the video, and its time in seconds."""
        self.frames.append(index)
        self.pts_s.append(pts_s)
        self._places[index] = range(len(self.ids), len(self.ids) + self.frame_tokens)
        for token in range(self.frame_tokens):
            self._add(FRAME, ready=ready if token == self.frame_tokens - 1 else float("nan"))

    def ask(self, question: str, answer: str, *, forget: Sequence[bool] = (), evidence: Sequence[int] = ()) -> None:
        """Adds a question and its answer.

        Args:
            question: Its text.
            answer: The answer to learn.
            forget: Words of the question that are hidden, by place, so that no form is recognised by a single word.
            evidence: Frames with the evidence, by their place in the video; those that were not shown do not count.
        """
        asked = self.words.numbers(question, self.people)
        asked = [UNKNOWN if lost else word for word, lost in zip_longest(asked, forget[: len(asked)])]
        self._extend([QUESTION, *asked])
        first = len(self.ids)
        self._learn([ANSWER, *self.words.numbers(answer, self.people), END])
        places = tuple(place for frame in evidence if frame in self._places for place in self._places[frame])
        if places:
            self.looked_at.append((first, len(self.ids) - 2, places))

    def instruct(self, text: str) -> None:
        """Adds an instruction to look out for something."""
        self._extend([INSTRUCTION, *self.words.numbers(text, self.people), END])

    def hear(self, line: str) -> None:
        """Adds what is said in the video."""
        self._extend([HEARD, *self.words.numbers(line, self.people), END])

    def say(self, text: str) -> None:
        """Adds an unasked message."""
        self._learn([SAYS, *self.words.numbers(text, self.people), END])

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
        # The mark before it is given; everything after the mark is learned.
        self._extend(numbers)
        start = len(self.ids) - len(numbers)
        for place in range(start, len(self.ids) - 1):
            self.learned[place] = self.ids[place + 1]


@dataclass(frozen=True)
class Batch:
    """Sequences of one length; shorter ones are padded at their end."""

    ids: Tensor
    """(B, T) words; PAD at a visual token or padding."""
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
    marks: Tensor
    """(N, K) marks of the people of visual tokens; `PAD` for none."""
    named: Tensor
    """(N, K, vocabulary) shares of the words for each visual token; they sum to 1, or are 0 if it has no words."""
    answers: Tensor
    """(B, M) places of learned answers with evidence in a frame; padded with 0."""
    evidence: Tensor
    """(B, M, T) true for the visual tokens with the evidence; all false where `answers` is padded."""

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device."""
        return Batch(**{name: values.to(device) for name, values in vars(self).items()})


@dataclass(frozen=True)
class TokenWords:
    """The facts about the frame of a visual token, as words."""

    numbers: tuple[int, ...] = ()
    """Words for what it shows."""
    person: str | None = None
    """The name of its person."""


def batch_of(
    sequences: Sequence[Interleaved],
    features: Sequence[NDArray[np.float32]],
    names: Sequence[Sequence[Sequence[TokenWords]]],
) -> Batch:
    """Puts sequences into one batch.

    Args:
        features: (frames, K, V) visual tokens of each sequence's video.
        names: What is known of each visual token of each frame of each sequence's video.
    """
    longest = max(len(sequence) for sequence in sequences)
    ids = np.full((len(sequences), longest), PAD, np.int64)
    learned = np.full((len(sequences), longest), NOT_LEARNED, np.int64)
    ready = np.full((len(sequences), longest), np.nan, np.float32)
    at, seen, pts, named, marks = [], [], [], [], []
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
            shares = np.zeros((sequence.frame_tokens, sequence.words.size), np.float32)
            known = [sequence.people.get(token.person or "", PAD) for token in called[frame]]
            for own, token, mark in zip(shares, called[frame], known, strict=True):
                told = [*token.numbers, mark] if mark != PAD else token.numbers
                np.add.at(own, list(told), 1 / max(1, len(told)))
            named.append(shares)
            marks.append(known)
    answers, evidence = _evidence(sequences, longest)
    return Batch(
        torch.from_numpy(ids),
        torch.from_numpy(learned),
        torch.from_numpy(ready),
        torch.from_numpy(np.concatenate(at)),
        torch.from_numpy(np.concatenate(seen)),
        torch.from_numpy(np.concatenate(pts)),
        torch.tensor(marks, dtype=torch.long),
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


SPLIT: Final = "train"
STATED_SHARE: Final = 0.85
"""Share of lessons that state their instruction to look out for something. In the others, silence is right."""
LESSON_SHARES: Final = {"dialogue": 0.45, "part": 0.1, "clips": 0.2, "watch": 0.25}
"""Shares of the kinds of lessons: about the whole video, its beginning, one clip after another, and an instruction to
look out for something."""
TURNS: Final = 16
CLIP_TURNS: Final = 5
AFTERWARDS_S: Final = 0.5
"""An event may be visible until this long after its end."""
NARRATION_SHARE: Final = 0.5
"""Share of instructions that ask for everything that happens."""
SEEN_S: Final = 0.5
"""A message is learned at the first frame this long after its moment begins. Before, nothing is to be seen."""
SPEECH_SHARE: Final = 0.7
"""Share of lessons with what is said in the video. The others prepare for a benchmark that does not show it."""
READ_NAME_SHARE: Final = 0.95
"""Share of the names of people that count as read."""
HIDDEN_WORD_SHARE: Final = 0.12
"""Share of a question's words that are hidden while learning."""


class Lessons:
    """Lessons by number, so that an interrupted training continues with the same lesson."""

    def __init__(
        self, videos: Sequence[FilmedVideo], words: MiniWords, frame_tokens: int, *, seed: int, short: int = 0
    ) -> None:
        self.videos, self._words, self._frame_tokens = videos, words, frame_tokens
        self._seed, self._short = seed, short
        self.names = [
            [
                [
                    TokenWords(tuple(words.numbers(text)), name)
                    for text, name in zip(second.named[:frame_tokens], (None, *second.names), strict=False)
                ]
                for second in video.labels
            ]
            for video in videos
        ]
        """What is known of each visual token of each frame of each video."""

    def lesson(self, number: int) -> tuple[int, Interleaved]:
        """The index of a video, and a sequence about it. Every video comes once before any comes again.

        Args:
            number: From 0, without an upper limit.
        """
        round_, turn = divmod(number, len(self.videos))
        order = list(range(len(self.videos)))
        random.Random(f"round {self._seed} {round_}").shuffle(order)
        draw = random.Random(f"lesson {self._seed} {number}")
        video = self.videos[order[turn]]
        count = len(video.clips)
        kind = draw.choices(list(LESSON_SHARES), list(LESSON_SHARES.values()))[0]
        first, last = 0, draw.randint(1, count) if kind == "part" else count
        if number < self._short:
            first = draw.randrange(count)
            last = min(count, first + draw.randint(1, 2))
        lesson = _Lesson(video, first, last, self._words, self._frame_tokens, draw)
        if kind == "watch":
            return order[turn], lesson.look_out()
        return order[turn], lesson.clip_by_clip() if kind == "clips" else lesson.about_all()


class _Lesson:
    """One lesson about the clips from `first` to before `last` of a video, as if these were the whole video."""

    def __init__(
        self, video: FilmedVideo, first: int, last: int, words: MiniWords, frame_tokens: int, draw: random.Random
    ) -> None:
        self.video, self.first, self.last, self.draw = video, first, last, draw
        self.sequence = Interleaved(words, frame_tokens, _marks(video, draw))
        self.begin_s = _span(video, first)[0]
        self.unheard = [
            spoken for spoken in video.speech if not no_later(spoken.interval.end_s, self.begin_s)
        ] if draw.random() < SPEECH_SHARE else []  # fmt: skip

    def about_all(self) -> Interleaved:
        for index in self._frames(self.first, self.last):
            self._show(index)
        self._ask(self.first, self.last, TURNS)
        return self.sequence

    def clip_by_clip(self) -> Interleaved:
        for clip in range(self.first, self.last):
            for index in self._frames(clip, clip + 1):
                self._show(index)
            self._ask(clip, clip + 1, CLIP_TURNS)
        return self.sequence

    def look_out(self) -> Interleaved:
        video, draw = self.video, self.draw
        tasks = tasks_of(
            video.story(self.first, self.last), VideoId(video.video.id), SPLIT, draw.getrandbits(32),
            until_s=_span(video, self.last - 1)[1],
        )  # fmt: skip
        # Half of the lessons tell everything that happens, the simplest way to learn the words for a frame.
        tasks = [task for task in tasks if task.kind == "narrate"] if draw.random() < NARRATION_SHARE else tasks
        frames = self._frames(self.first, self.last)
        task = draw.choice(tasks) if tasks and draw.random() < STATED_SHARE else None
        requests = list(task.requests) if task else []
        waiting = list(task.moments) if task else []
        for index in frames:
            time_s = video.times_s[index]
            while requests and no_later(requests[0].at_s, time_s):
                self._request(requests.pop(0))
            late = waiting and no_later(waiting[0].interval.start_s + SEEN_S, time_s)
            due = bool(waiting) and (bool(late) or index == frames[-1])
            self._show(index, ready=float(due))
            if due:
                self.sequence.say(waiting.pop(0).references[0])
        self._ask(self.first, self.last, CLIP_TURNS)
        return self.sequence

    def _request(self, request: UserRequest) -> None:
        if request.act == "ask" and request.moments:
            self.sequence.ask(request.text, request.moments[0].references[0])
        elif request.act != "ask":
            self.sequence.instruct(request.text)

    def _frames(self, first: int, last: int) -> list[int]:
        begin_s, end_s = _span(self.video, first)[0], _span(self.video, last - 1)[1]
        # The frame at the start of a clip belongs to it, and the frame at its end to the next one.
        return [
            index
            for index, time_s in enumerate(self.video.times_s)
            if no_later(begin_s, time_s) and not no_later(end_s, time_s)
        ]

    def _show(self, index: int, *, ready: float = float("nan")) -> None:
        self._hear(self.video.times_s[index])
        self.sequence.frame(index, self.video.times_s[index] - self.begin_s, ready=ready)

    def _hear(self, until_s: float) -> None:
        """Adds what ended by a moment, before what is seen then."""
        while self.unheard and no_later(self.unheard[0].interval.end_s, until_s):
            self.sequence.hear(self.unheard.pop(0).line)

    def _ask(self, first: int, last: int, turns: int) -> None:
        self._hear(_span(self.video, last - 1)[1])
        draw, times_s = self.draw, self.video.times_s
        asked = write_dialogue(
            self.video.story(first, last), split=LESSONS, seed=draw.getrandbits(32), turns=turns,
            asked_at_s=_span(self.video, last - 1)[1],
        )[0]  # fmt: skip
        for turn in asked:
            lost = [draw.random() < HIDDEN_WORD_SHARE for _ in range(64)]
            shown = [
                index
                for index, time_s in enumerate(times_s)
                if any(
                    no_later(span.start_s, time_s) and no_later(time_s, span.end_s + AFTERWARDS_S)
                    for span in turn.evidence
                )
            ]
            # If the evidence is more than half of the shown frames, there is no single place to look at.
            evidence = shown if len(shown) <= len(self.sequence.frames) / 2 else []
            self.sequence.ask(turn.question, turn.references[0], forget=lost, evidence=evidence)


def _marks(video: FilmedVideo, draw: random.Random) -> dict[str, int]:
    """Marks for the people of a video in a random order. Some names are left out, as if they had not been read."""
    names = sorted({name for graph in video.graphs for name in graph.names.values()})
    marks = draw.sample(PEOPLE, len(PEOPLE))
    return {name: mark for name, mark in zip(names, marks, strict=False) if draw.random() < READ_NAME_SHARE}


def _span(video: FilmedVideo, clip: int) -> tuple[float, float]:
    interval = video.clips[clip].interval
    assert interval is not None  # household.py takes only clips with an interval
    return interval.start_s, interval.end_s
