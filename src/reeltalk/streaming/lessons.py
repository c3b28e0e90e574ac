"""Lessons for the training of reeltalk-mini: an endless series of new dialogues about the videos of the train split.

Questions, answers and their wording come from the graphs by the same rules as a benchmark's (`questions.wording`), in
the surface forms of the train split and in more of them that no benchmark uses.
"""

import random
from collections.abc import Sequence
from typing import Final

from reeltalk.inference.mini_words import MiniWords
from reeltalk.questions.proactive import tasks_of
from reeltalk.questions.wording import LESSONS, write_dialogue
from reeltalk.schema.intervals import no_later
from reeltalk.schema.record import VideoId
from reeltalk.streaming.household import FilmedVideo
from reeltalk.streaming.sequence import Interleaved

SPLIT: Final = "train"
TOLD: Final = 0.85
"""How often a lesson has an instruction to look out for something. In other lessons, silence is right."""
SHARES: Final = {"dialogue": 0.45, "part": 0.1, "clips": 0.2, "watch": 0.25}
"""How often each kind of lesson comes: about the whole video, its beginning, clip after clip, and something to look
out for."""
TURNS: Final = 16
CLIP_TURNS: Final = 5
AFTERWARDS_S: Final = 0.5
"""An event may show in the first frame after it."""
NARRATIONS: Final = 0.5
"""How often what is to be looked out for is all that goes on."""
SEEN_S: Final = 0.5
"""What is due is said at the first frame that is so much later than its beginning: before, there is nothing to see."""
FORGOTTEN: Final = 0.12
"""Share of a question's words that are hidden while learning."""


class Lessons:
    """Lessons by number, so that an interrupted training continues with the same lesson.

    Args:
        videos: Of the train split.
        words: The tokenizer.
        frame_tokens: Visual tokens a frame.
        seed: Decides everything.
        short: So many lessons at the beginning are about a clip or two.
    """

    def __init__(
        self, videos: Sequence[FilmedVideo], words: MiniWords, frame_tokens: int, *, seed: int, short: int = 0
    ) -> None:
        self.videos, self._words, self._frame_tokens = videos, words, frame_tokens
        self._seed, self._short = seed, short
        self.names = [[words.numbers(second.named) for second in video.labels] for video in videos]
        """Words by which each frame of each video is called."""

    def lesson(self, number: int) -> tuple[int, Interleaved]:
        """The place of a video, and a sequence about it. Every video comes once before one comes again.

        Args:
            number: From 0, without an end.
        """
        round_, turn = divmod(number, len(self.videos))
        order = list(range(len(self.videos)))
        random.Random(f"round {self._seed} {round_}").shuffle(order)
        draw = random.Random(f"lesson {self._seed} {number}")
        video = self.videos[order[turn]]
        count = len(video.clips)
        kind = draw.choices(list(SHARES), list(SHARES.values()))[0]
        first, last = 0, draw.randint(1, count) if kind == "part" else count
        if number < self._short:
            first = draw.randrange(count)
            last = min(count, first + draw.randint(1, 2))
        lesson = _Lesson(video, first, last, self._words, self._frame_tokens, draw)
        if kind == "watch":
            return order[turn], lesson.look_out()
        return order[turn], lesson.clip_by_clip() if kind == "clips" else lesson.about_all()


class _Lesson:
    """One lesson about clips `first` to before `last` of a video, as if the video were these clips."""

    def __init__(
        self, video: FilmedVideo, first: int, last: int, words: MiniWords, frame_tokens: int, draw: random.Random
    ) -> None:
        self.video, self.first, self.last, self.draw = video, first, last, draw
        self.sequence = Interleaved(words, frame_tokens)
        self.begin_s = _span(video, first)[0]

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
        # Half of them tell all that goes on: the plainest lesson in what a frame is called.
        tasks = [task for task in tasks if task.kind == "narrate"] if draw.random() < NARRATIONS else tasks
        task = draw.choice(tasks)
        told = draw.random() < TOLD
        if told:
            self.sequence.instruct(task.instruction)
        waiting = list(task.moments) if told else []
        frames = self._frames(self.first, self.last)
        for index in frames:
            late = waiting and no_later(waiting[0].interval.start_s + SEEN_S, video.times_s[index])
            due = bool(waiting) and (bool(late) or index == frames[-1])
            self._show(index, ready=float(due))
            if due:
                self.sequence.say(waiting.pop(0).references[0])
        self._ask(self.first, self.last, CLIP_TURNS)
        return self.sequence

    def _frames(self, first: int, last: int) -> list[int]:
        begin_s, end_s = _span(self.video, first)[0], _span(self.video, last - 1)[1]
        # What a clip begins with belongs to it, the frame at its very end to the next one.
        return [
            index
            for index, time_s in enumerate(self.video.times_s)
            if no_later(begin_s, time_s) and not no_later(end_s, time_s)
        ]

    def _show(self, index: int, *, ready: float = float("nan")) -> None:
        self.sequence.frame(index, self.video.times_s[index] - self.begin_s, ready=ready)

    def _ask(self, first: int, last: int, turns: int) -> None:
        draw, times_s = self.draw, self.video.times_s
        asked = write_dialogue(
            self.video.story(first, last), split=LESSONS, seed=draw.getrandbits(32), turns=turns,
            asked_at_s=_span(self.video, last - 1)[1],
        )[0]  # fmt: skip
        for turn in asked:
            lost = [draw.random() < FORGOTTEN for _ in range(64)]
            shown = [
                index
                for index, time_s in enumerate(times_s)
                if any(
                    no_later(span.start_s, time_s) and no_later(time_s, span.end_s + AFTERWARDS_S)
                    for span in turn.evidence
                )
            ]
            # What rests on most of what was shown is not to be found at a place.
            evidence = shown if len(shown) <= len(self.sequence.frames) / 2 else []
            self.sequence.ask(turn.question, turn.references[0], forget=lost, evidence=evidence)


def _span(video: FilmedVideo, clip: int) -> tuple[float, float]:
    interval = video.clips[clip].interval
    assert interval is not None  # household.py takes clips with an interval only
    return interval.start_s, interval.end_s
