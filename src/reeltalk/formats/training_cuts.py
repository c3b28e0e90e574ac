"""From conversations to samples: which frames are seen when, and where a long conversation is cut.

A cut lies between segments only. A segment that alone is too long loses frames, evenly over its length. Of SVBench's
StreamingChat only is published that paths of more than 100 frames are split; the rest is our choice.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

from reeltalk.formats.training_units import Conversation, Segment
from reeltalk.schema.intervals import Interval
from reeltalk.schema.sft import (
    CarriedTurn,
    SampleLimits,
    TokenCounter,
    TrainingFrame,
    TrainingSample,
    TrainingTurn,
    carried_text,
    text_tokens,
)
from reeltalk.video.sampling import fixed_rate

T = TypeVar("T")

LONGEST_ID: Final = 480
"""Room stays for the number of a part."""
DROPPED: Final = "frames are dropped from segments that alone are too long"
THINNED: Final = "segments lost frames, as they alone are too long"
TOO_LONG: Final = "segments are left out, as their text alone is too long"
TOO_EARLY: Final = "turns are left out, as they are asked before what has been shown by then"
CUT: Final = "conversations are cut into several samples"
UNCARRIED: Final = "turns were not carried over, for want of room"


@dataclass(frozen=True)
class FrameRule:
    """Which moments of a video are shown."""

    fps: float = 1.0
    frames: Literal["segment", "stream"] = "segment"


@dataclass
class Cutter:
    """Cuts conversations into samples and counts what that cost.

    Args:
        limits: What a sample may hold.
        count: Counts the tokens of a text.
        rule: Which moments are shown.
        carry_over: Turns before a cut that the next sample is told.
    """

    limits: SampleLimits
    count: TokenCounter
    rule: FrameRule = FrameRule()
    carry_over: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def samples(self, conversation: Conversation, *, duration_s: float, folder: str) -> list[TrainingSample]:
        """The samples of a conversation, in order.

        Args:
            conversation: The conversation.
            duration_s: Length of its video: a turn without a moment is asked then.
            folder: Folder of the video's pictures, relative to the root of the data set.
        """
        parts: list[_Part] = []
        said: list[CarriedTurn] = []
        broken = True
        for turns in self._segments(conversation, duration_s, folder):
            fitted = self._fitted(turns)
            if fitted is None:
                # What comes after has not seen this, so it is another sample.
                broken = True
                continue
            if broken or not self._fits(parts[-1].carried, (*parts[-1].turns, *fitted)):
                parts.append(_Part(self._carried(said, fitted), []))
            parts[-1].turns += fitted
            said += [CarriedTurn(question=turn.question, answer=turn.answer) for turn in fitted]
            broken = False
        self.counts[CUT] += len(parts) > 1
        many, name = len(parts) > 1, conversation.id[:LONGEST_ID].strip()
        return [
            TrainingSample(
                id=name if not many else f"{name}#{number}",
                video_id=conversation.video_id,
                carried=part.carried,
                turns=tuple(part.turns),
            )
            for number, part in enumerate(parts, start=1)
        ]

    def _segments(self, conversation: Conversation, duration_s: float, folder: str) -> list[list[TrainingTurn]]:
        """Turns with the frames that are new at each; what brings no new frame belongs to the segment before."""
        found: list[list[TrainingTurn]] = []
        shown_s = -1.0
        for segment in conversation.segments:
            turns: list[TrainingTurn] = []
            for turn in segment.turns:
                asked_at_s = min(duration_s, turn.asked_at_s) if turn.asked_at_s is not None else duration_s
                if asked_at_s < shown_s:
                    self.counts[TOO_EARLY] += 1
                    continue
                times = self._times(segment, asked_at_s, shown_s)
                shown_s = times[-1] if times else shown_s
                turns.append(
                    TrainingTurn(
                        frames=tuple(TrainingFrame(file=frame_file(folder, time_s), at_s=time_s) for time_s in times),
                        question=turn.question,
                        answer=turn.answer,
                        asked_at_s=asked_at_s,
                    )
                )
            if found and not any(turn.frames for turn in turns):
                found[-1] += turns
            elif turns:
                found.append(turns)
        return found

    def _times(self, segment: Segment, asked_at_s: float, shown_s: float) -> list[float]:
        """Moments that are new at a question, in rising order; at least one where nothing was shown yet."""
        spans = segment.clips
        if self.rule.frames == "stream" or not spans:
            spans = (Interval(start_s=0.0, end_s=asked_at_s),)
        found = {
            time_s
            for span in spans
            if span.start_s <= asked_at_s
            for time_s in fixed_rate(span, fps=self.rule.fps)
            if shown_s < time_s <= asked_at_s
        }
        if not found and shown_s < 0:
            # A question about what comes later, or at the very beginning.
            found = {0.0}
        return sorted(found)

    def _fits(self, carried: Sequence[CarriedTurn], turns: Sequence[TrainingTurn]) -> bool:
        frames = sum(len(turn.frames) for turn in turns)
        return frames <= self.limits.max_frames and self._tokens(carried, turns) <= self.limits.budget

    def _tokens(self, carried: Sequence[CarriedTurn], turns: Sequence[TrainingTurn]) -> int:
        told = carried_text(tuple(carried))
        text = sum(text_tokens(turn, self.count) for turn in turns) + (self.count(told) if told else 0)
        return self.limits.reserve + text + self.limits.per_frame * sum(len(turn.frames) for turn in turns)

    def _fitted(self, turns: list[TrainingTurn]) -> list[TrainingTurn] | None:
        """A segment that fits a sample of its own; None where its text alone does not."""
        if self._fits((), turns):
            return turns
        text = [turn.model_copy(update={"frames": ()}) for turn in turns]
        room = min(self.limits.max_frames, (self.limits.budget - self._tokens((), text)) // self.limits.per_frame)
        there = [(n, frame) for n, turn in enumerate(turns) for frame in turn.frames]
        if room < 1 or not there:
            self.counts[TOO_LONG] += 1
            return None
        kept = evenly(there, room)
        self.counts[DROPPED] += len(there) - len(kept)
        self.counts[THINNED] += 1
        return [
            turn.model_copy(update={"frames": tuple(frame for at, frame in kept if at == n)})
            for n, turn in enumerate(turns)
        ]

    def _carried(self, said: Sequence[CarriedTurn], turns: Sequence[TrainingTurn]) -> tuple[CarriedTurn, ...]:
        """The last turns before a cut, as many as there is room for."""
        wanted = tuple(said[len(said) - min(self.carry_over, len(said)) :])
        kept = wanted
        while kept and not self._fits(kept, turns):
            kept = kept[1:]
        self.counts[UNCARRIED] += len(wanted) - len(kept)
        return kept


@dataclass
class _Part:
    carried: tuple[CarriedTurn, ...]
    turns: list[TrainingTurn]


def evenly(items: Sequence[T], count: int) -> list[T]:
    """`count` of the items from first to last, the last of all where it is one; all where there are fewer."""
    if len(items) <= count:
        return list(items)
    if count == 1:
        return [items[-1]]
    return [items[round(n * (len(items) - 1) / (count - 1))] for n in range(count)]


def frame_file(folder: str, time_s: float) -> str:
    """Path of a picture relative to the root, named by its moment in whole milliseconds."""
    return f"{folder}/{int(time_s * 1000 + 1e-6):08d}.jpg"
