"""What reeltalk-mini is asked while it learns: fresh dialogues about the videos of the train split, without an end.

Questions, answers and their wording come from the graphs by the same rules as a benchmark's (`graph.wording`), in the
surface forms of the train split alone.
"""

import random
from collections.abc import Sequence
from typing import Final

from reeltalk.graph.proactive import tasks_of
from reeltalk.graph.wording import dialogue
from reeltalk.inference.mini_words import MiniWords
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.ids import VideoId
from reeltalk.streaming.household import FilmedVideo
from reeltalk.streaming.sequence import Interleaved

SPLIT: Final = "train"
SHARES: Final = {"dialogue": 0.45, "part": 0.1, "clips": 0.2, "watch": 0.25}
"""How often each kind of lesson comes: about the whole video, its beginning, clip after clip, and something to look
out for."""
TURNS: Final = 16
CLIP_TURNS: Final = 5
AFTERWARDS_S: Final = 0.5
"""An event may show in the first frame after it."""
NARRATIONS: Final = 0.5
SEEN_S: Final = 0.5
"""What is due is said at the first frame that is so much later than its beginning: before, there is nothing to see."""
FORGOTTEN: Final = 0.08
"""Share of a question's words that are not read while learning."""


class Lessons:
    """Lessons by number, so that training that was interrupted goes on with the lesson it would have had.

    Args:
        videos: Of the train split.
        words: The tokenizer.
        frame_tokens: Visual tokens a frame.
        seed: Decides everything.
    """

    def __init__(self, videos: Sequence[FilmedVideo], words: MiniWords, frame_tokens: int, *, seed: int) -> None:
        self.videos, self._words, self._frame_tokens, self._seed = videos, words, frame_tokens, seed
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
        kinds = {
            "dialogue": self._about_all, "part": self._about_beginning, "clips": self._clip_by_clip,
            "watch": self._look_out,
        }  # fmt: skip
        kind = draw.choices(list(SHARES), list(SHARES.values()))[0]
        return order[turn], kinds[kind](self.videos[order[turn]], draw)

    def _about_all(self, video: FilmedVideo, draw: random.Random) -> Interleaved:
        return self._about(video, len(video.clips), draw)

    def _about_beginning(self, video: FilmedVideo, draw: random.Random) -> Interleaved:
        return self._about(video, draw.randint(1, len(video.clips)), draw)

    def _about(self, video: FilmedVideo, clips: int, draw: random.Random) -> Interleaved:
        sequence = Interleaved(self._words, self._frame_tokens)
        end = _end_s(video, clips)
        for index, time_s in enumerate(video.times_s):
            if time_s <= end:
                sequence.frame(index)
        for turn in self._turns(video, 0, clips, TURNS, draw):
            self._ask(sequence, turn, video, draw)
        return sequence

    def _clip_by_clip(self, video: FilmedVideo, draw: random.Random) -> Interleaved:
        sequence = Interleaved(self._words, self._frame_tokens)
        index = 0
        for clip in range(len(video.clips)):
            end = _end_s(video, clip + 1)
            while index < len(video.times_s) and video.times_s[index] <= end:
                sequence.frame(index)
                index += 1
            for turn in self._turns(video, clip, clip + 1, CLIP_TURNS, draw):
                self._ask(sequence, turn, video, draw)
        return sequence

    def _look_out(self, video: FilmedVideo, draw: random.Random) -> Interleaved:
        end = video.times_s[-1]
        tasks = tasks_of(
            video.story(), VideoId(video.video.id), SPLIT, draw.getrandbits(32), until_s=video.video.duration_s
        )
        # Half of them tell all that goes on: the plainest lesson in what a frame is called.
        tasks = [task for task in tasks if task.kind == "narrate"] if draw.random() < NARRATIONS else tasks
        task = draw.choice(tasks)
        said = draw.choices((True, False), (0.85, 0.15))[0]
        sequence = Interleaved(self._words, self._frame_tokens)
        if said:
            sequence.instruct(task.instruction)
        waiting = list(task.moments) if said else []
        for index, time_s in enumerate(video.times_s):
            due = bool(waiting) and (time_s >= waiting[0].interval.start_s + SEEN_S or time_s == end)
            sequence.frame(index, ready=float(due))
            if due:
                sequence.say(waiting.pop(0).references[0])
        for turn in self._turns(video, 0, len(video.clips), CLIP_TURNS, draw):
            self._ask(sequence, turn, video, draw)
        return sequence

    def _turns(self, video: FilmedVideo, first: int, last: int, turns: int, draw: random.Random) -> list[Turn]:
        story = video.story(first, last)
        return dialogue(story, split=SPLIT, seed=draw.getrandbits(32), turns=turns, asked_at_s=_end_s(video, last))[0]

    def _ask(self, sequence: Interleaved, turn: Turn, video: FilmedVideo, draw: random.Random) -> None:
        lost = [draw.random() < FORGOTTEN for _ in range(64)]
        shown = [
            index
            for index, time_s in enumerate(video.times_s)
            if any(span.start_s <= time_s <= span.end_s + AFTERWARDS_S for span in turn.evidence)
        ]
        # What rests on most of a video is not to be found at a place.
        evidence = shown if len(shown) <= len(video.times_s) / 2 else []
        sequence.ask(turn.question, turn.references[0], forget=lost, evidence=evidence)


def _end_s(video: FilmedVideo, clips: int) -> float:
    interval = video.clips[clips - 1].interval
    assert interval is not None  # household.py takes clips with an interval only
    return interval.end_s
