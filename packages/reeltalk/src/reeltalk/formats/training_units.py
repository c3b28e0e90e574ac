"""From a benchmark to training samples: the turns that are taught, the frames at each turn, and the cuts of samples.

A segment is a clip on a path or in a video's chains, or a moment of a dialogue. Turns without a question or a
reference answer are left out and counted. Cuts are only between segments. A segment that is too long by itself loses
frames, evenly over its length. About StreamingChat, SVBench publishes only that paths of more than 100 frames are
split; the other rules are ours.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeVar

from pydantic import Field

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.schema.dialogue import Dialogue, DialoguePath, QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import VideoId
from reeltalk.schema.settings import Settings
from reeltalk.schema.sft import (
    SampleLimits,
    TokenCounter,
    TrainingFrame,
    TrainingSample,
    TrainingTurn,
    escape_reserved,
    reserved_in,
    tokens_of,
)
from reeltalk.video.sampling import fixed_rate

if TYPE_CHECKING:
    from reeltalk.store.content import Content

TRAIN: Final = "train"
TEST: Final = "test"
EVERY_SPLIT: Final = "all"

UnitKind = Literal["path", "chain", "dialogue"]


class TrainingOptions(Settings):
    """The part of a benchmark that becomes training samples, for streamingchat, sharegpt and trl."""

    units: UnitKind | None = None
    """path: each path is a conversation; chain: all chains of a video in order; dialogue: each dialogue. By default the
    first of these that the split has."""
    frames: Literal["segment", "stream"] = "segment"
    """segment: frames of the turns' clips; stream: all frames from the beginning of the video."""
    choices: Literal["told", "open"] = "told"
    """told: questions include their options, and answers are letters; open: no options, and answers are references."""
    fps: Annotated[float, Field(gt=0, le=60, allow_inf_nan=False)] = 1.0
    """Frames per second, on the video's own grid."""
    size: Annotated[int, Field(ge=16, le=4096)] = 448
    """Width and height of each frame in pixels, for every shape of video."""
    quality: Annotated[int, Field(ge=1, le=100)] = 90
    """Quality of the JPEG files."""
    frame_tokens: Annotated[int, Field(ge=1)] = 256
    """Tokens of a frame in the model that is trained."""
    budget: Annotated[int, Field(ge=1)] = 32768
    """Tokens of a sample at most; a longer conversation is cut between segments."""
    max_frames: Annotated[int, Field(ge=1)] = 100
    """Frames of a sample at most."""
    reserve: Annotated[int, Field(ge=0)] = 128
    """Tokens kept free for a system message."""
    tokenizer: Path | None = None
    """Folder of the tokenizer of the trained model; without it, the tokens of a text are counted as its bytes."""
    skip_missing: bool = False
    """Leave out conversations about videos that are not available."""

    @property
    def limits(self) -> SampleLimits:
        """Limits of a sample."""
        return SampleLimits(
            budget=self.budget, frame_tokens=self.frame_tokens, max_frames=self.max_frames, reserve=self.reserve
        )


TRAINING_DEFAULTS: Final = TrainingOptions()


NO_REFERENCE: Final = "turns without a question or a reference answer are left out"
ESCAPED: Final = "questions or answers hold a word that stands for a frame, which is written with spaces"


@dataclass(frozen=True)
class TaughtTurn:
    """A turn with its answer, as text."""

    question: str
    answer: str
    asked_at_s: float | None
    """Time of the question; None if it comes after its whole material."""


Part = tuple[object, tuple[Interval, ...], TaughtTurn | None]
"""A key that separates a segment from its neighbours, the clips of a turn, and the turn if it can be taught."""


@dataclass(frozen=True)
class Segment:
    """Turns about one part of a video."""

    clips: tuple[Interval, ...]
    """The part; empty for everything up to the question."""
    turns: tuple[TaughtTurn, ...]


@dataclass(frozen=True)
class TrainingConversation:
    """A conversation; it becomes one sample, or several if it is too long."""

    id: str
    video_id: VideoId
    segments: tuple[Segment, ...]


@dataclass
class TrainingUnits:
    """Conversations, and counts of omissions and changes."""

    conversations: list[TrainingConversation] = field(default_factory=list)
    units: UnitKind = "path"
    splits: tuple[str, ...] = ()
    """The splits that their videos are in."""
    counts: Counter[str] = field(default_factory=Counter)


def conversations(
    content: "Content",
    *,
    units: UnitKind | None = None,
    split: str | None = None,
    tasks: Sequence[str] = (),
    limit: int | None = None,
    choices: bool = True,
) -> TrainingUnits:
    """The conversations of a split.

    Args:
        content: The benchmark.
        units: Unit of a conversation; by default the first kind that the split has.
        split: `train` by default; `all` for all.
        tasks: Tasks of dialogues; all by default.
        limit: Take only the first conversations, up to this number.
        choices: Show options with their questions, and answer by letter.

    Raises:
        BenchmarkError: There are no turns to teach in the split.
        SettingError: There is no such split or task.
    """
    chosen = _videos(content, split)
    tables: dict[UnitKind, Sequence[DialoguePath | QAChain | Dialogue]] = {
        "path": content.paths,
        "chain": content.chains,
        "dialogue": content.dialogues,
    }
    there = [
        kind
        for kind, rows in tables.items()
        if any(row.video_id in chosen for row in rows) and not (tasks and kind != "dialogue")
    ]
    found = TrainingUnits(units=units or (there[0] if there else "dialogue"))
    collector = _Collector(content, chosen, found.counts, choices)
    if found.units == "path":
        made = collector.paths()
    elif found.units == "chain":
        made = collector.chains()
    else:
        made = collector.dialogues(tasks)
    found.conversations = [conversation for conversation in made if conversation.segments][:limit]
    if not found.conversations:
        also = f"; it has {', '.join(f'{kind}s' for kind in there)}" if there else ""
        raise BenchmarkError(f"the split has no {found.units} with reference answers{also}")
    splits = {video.id: video.split or "none" for video in content.videos}
    found.splits = tuple(sorted({splits.get(one.video_id, "none") for one in found.conversations}))
    return found


def _videos(content: "Content", split: str | None) -> set[VideoId]:
    by_split: dict[str | None, set[VideoId]] = defaultdict(set)
    for video in content.videos:
        by_split[video.split].add(video.id)
    if split == EVERY_SPLIT:
        return {video.id for video in content.videos}
    wanted = split or TRAIN
    if wanted not in by_split:
        there = ", ".join(sorted(name for name in by_split if name)) or "none"
        hint = (
            "; a model must not be evaluated on its training data, so no other split is taken by default; pass "
            "--split NAME, or --split all"
        )
        known = f"no video is in split '{wanted}'; the benchmark's splits: {there}"
        raise SettingError(known + (hint if split is None else ""))
    return by_split[wanted]


class _Collector:
    """Collects the conversations about some videos."""

    def __init__(self, content: "Content", chosen: set[VideoId], counts: Counter[str], choices: bool) -> None:
        self.content, self.chosen, self.counts, self.choices = content, chosen, counts, choices
        self.clips = {clip.id: clip.interval for clip in content.clips if clip.interval is not None}

    def paths(self) -> Iterator[TrainingConversation]:
        """Each path; a segment is what follows each other of one chain or dialogue."""
        units: dict[tuple[str, str], QAChain | Dialogue] = {("chain", chain.id): chain for chain in self.content.chains}
        units |= {("dialogue", dialogue.id): dialogue for dialogue in self.content.dialogues}
        for path in self.content.paths:
            if path.video_id not in self.chosen:
                continue
            parts: list[Part] = []
            for step in path.steps:
                key = (step.ref.unit, step.ref.unit_id)
                unit = units.get(key)
                if unit is None or step.ref.turn_index >= len(unit.turns):
                    raise BenchmarkError(
                        f"path '{path.id}' leads to turn {step.ref.turn_index} of {step.ref.unit} "
                        f"'{step.ref.unit_id}', which is not there; 'reeltalk validate' lists all such places"
                    )
                turn, clips = step.turn or unit.turns[step.ref.turn_index], self._intervals(unit)
                parts.append((key, clips, self._taught(turn, _moment(turn, clips))))
            yield TrainingConversation(path.id, path.video_id, _segments(parts))

    def chains(self) -> Iterator[TrainingConversation]:
        """The chains of each video in the order of time; each chain is a segment."""
        by_video: dict[VideoId, list[QAChain]] = defaultdict(list)
        for chain in self.content.chains:
            if chain.video_id in self.chosen:
                by_video[chain.video_id].append(chain)
        for video_id, chains in by_video.items():
            parts: list[Part] = []
            for chain in sorted(chains, key=self._begins):
                clips = self._intervals(chain)
                for turn in chain.turns:
                    # As in evaluation, a chain is asked when its clip has ended, at the earliest.
                    moments = [at_s for at_s in (turn.asked_at_s, *(clip.end_s for clip in clips)) if at_s is not None]
                    parts.append((chain.id, clips, self._taught(turn, max(moments, default=None))))
            yield TrainingConversation(f"chains of {video_id}", video_id, _segments(parts))

    def dialogues(self, tasks: Sequence[str]) -> Iterator[TrainingConversation]:
        """Each dialogue; each moment is a segment, since it shows new frames."""
        known = {dialogue.task for dialogue in self.content.dialogues}
        for task in tasks:
            if task not in known:
                there = ", ".join(sorted(name for name in known if name)) or "none"
                raise SettingError(f"no dialogue has task '{task}'; the benchmark's tasks: {there}")
        for dialogue in self.content.dialogues:
            if dialogue.video_id in self.chosen and (not tasks or dialogue.task in tasks):
                clips = self._intervals(dialogue)
                timed = [(turn, _moment(turn, clips)) for turn in dialogue.turns]
                parts: list[Part] = [(at_s, clips, self._taught(turn, at_s)) for turn, at_s in timed]
                yield TrainingConversation(dialogue.id, dialogue.video_id, _segments(parts))

    def _intervals(self, unit: QAChain | Dialogue) -> tuple[Interval, ...]:
        names = (unit.clip_id,) if isinstance(unit, QAChain) else unit.clip_ids
        return tuple(self.clips[name] for name in names if name is not None and name in self.clips)

    def _begins(self, chain: QAChain) -> float:
        if intervals := self._intervals(chain):
            return intervals[0].start_s
        return min((turn.asked_at_s for turn in chain.turns if turn.asked_at_s is not None), default=float("inf"))

    def _taught(self, turn: Turn, asked_at_s: float | None) -> TaughtTurn | None:
        """A turn as text, or None if it has no question or no answer."""
        answer = turn.references[0] if turn.references else ""
        question = turn.question
        right = turn.options[turn.correct_option] if turn.options and turn.correct_option is not None else ""
        if not self.choices:
            answer = answer or right
        elif turn.options:
            question += "\n" + "\n".join(f"{option_label(n)}. {option}" for n, option in enumerate(turn.options))
            if turn.correct_option is not None:
                answer = f"{option_label(turn.correct_option)}. {right}"
        if not question.strip() or not answer.strip():
            self.counts[NO_REFERENCE] += 1
            return None
        if reserved_in(question) or reserved_in(answer):
            self.counts[ESCAPED] += 1
            question, answer = escape_reserved(question), escape_reserved(answer)
        return TaughtTurn(question, answer, asked_at_s)


def option_label(index: int) -> str:
    """A to Z, then A1, B1 and so on."""
    letter = chr(ord("A") + index % 26)
    return letter if index < 26 else f"{letter}{index // 26}"


def _moment(turn: Turn, clips: tuple[Interval, ...]) -> float | None:
    """The time of a question: its own, else the end of its clips."""
    return turn.asked_at_s if turn.asked_at_s is not None else max((clip.end_s for clip in clips), default=None)


def _segments(parts: Iterable[Part]) -> tuple[Segment, ...]:
    """Segments of turns: neighbours with the same key are one."""
    taught = [(key, clips, turn) for key, clips, turn in parts if turn is not None]
    groups = [list(group) for _, group in itertools.groupby(taught, key=itemgetter(0))]
    return tuple(Segment(group[0][1], tuple(turn for *_, turn in group)) for group in groups)


T = TypeVar("T")

LONGEST_ID: Final = 480
"""Longest identifier, with room for the number of a part."""
DROPPED: Final = "frames are dropped from segments that alone are too long"
THINNED: Final = "segments lost frames, as they alone are too long"
TOO_LONG: Final = "segments are left out, as their text alone is too long"
TOO_EARLY: Final = "turns are left out, as they are asked before what has been shown by then"
CUT: Final = "conversations are cut into several samples"


@dataclass
class Cutter:
    """Cuts conversations into samples and counts the losses.

    Args:
        limits: Limits of a sample.
        count: Counts the tokens of a text.
        fps: Frames per second.
        frames: As in `TrainingOptions`.
    """

    limits: SampleLimits
    count: TokenCounter
    fps: float = 1.0
    frames: Literal["segment", "stream"] = "segment"
    counts: Counter[str] = field(default_factory=Counter)

    def samples(self, conversation: TrainingConversation, *, duration_s: float, folder: str) -> list[TrainingSample]:
        """The samples of a conversation, in order.

        Args:
            duration_s: Length of its video: a turn without a moment is asked then.
            folder: Folder of the video's pictures, relative to the root of the data set.
        """
        parts: list[list[TrainingTurn]] = []
        broken = True
        for turns in self._segments(conversation, duration_s, folder):
            fitted = self._fitted(turns)
            # Later turns have not seen a segment that is left out, so they are in another sample.
            if fitted and (broken or not self._fits((*parts[-1], *fitted))):
                parts.append([])
            if fitted:
                parts[-1] += fitted
            broken = fitted is None
        self.counts[CUT] += len(parts) > 1
        name = conversation.id[:LONGEST_ID].strip()
        return [
            TrainingSample(
                id=name if len(parts) == 1 else f"{name}#{number}",
                video_id=conversation.video_id,
                turns=tuple(part),
            )
            for number, part in enumerate(parts, start=1)
        ]

    def _segments(self, conversation: TrainingConversation, duration_s: float, folder: str) -> list[list[TrainingTurn]]:
        """Turns with their new frames, by segment. Turns without new frames belong to the segment before."""
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
        """Moments of new frames at a question, in ascending order; at least one if no frame was shown before."""
        spans = segment.clips
        if self.frames == "stream" or not spans:
            spans = (Interval(start_s=0.0, end_s=asked_at_s),)
        found = {
            time_s
            for span in spans
            if span.start_s <= asked_at_s
            for time_s in fixed_rate(span, fps=self.fps)
            if shown_s < time_s <= asked_at_s
        }
        if not found and shown_s < 0:
            # A question about a later clip, or at the very beginning.
            found = {0.0}
        return sorted(found)

    def _fits(self, turns: Sequence[TrainingTurn]) -> bool:
        frames = sum(len(turn.frames) for turn in turns)
        return frames <= self.limits.max_frames and self._tokens(turns) <= self.limits.budget

    def _tokens(self, turns: Sequence[TrainingTurn]) -> int:
        return tokens_of(turns, self.limits, self.count)

    def _fitted(self, turns: list[TrainingTurn]) -> list[TrainingTurn] | None:
        """The segment with as many frames as fit into one sample; None if its text alone does not fit."""
        if self._fits(turns):
            return turns
        text = [turn.model_copy(update={"frames": ()}) for turn in turns]
        room = min(self.limits.max_frames, (self.limits.budget - self._tokens(text)) // self.limits.per_frame)
        there = [(n, frame) for n, turn in enumerate(turns) for frame in turn.frames]
        if room < 1 or not there:
            self.counts[TOO_LONG] += 1
            return None
        kept = evenly_spaced(there, room)
        self.counts[DROPPED] += len(there) - len(kept)
        self.counts[THINNED] += 1
        return [
            turn.model_copy(update={"frames": tuple(frame for at, frame in kept if at == n)})
            for n, turn in enumerate(turns)
        ]


def evenly_spaced(items: Sequence[T], count: int) -> list[T]:
    """`count` items at even distances, from first to last; all if there are fewer. A count of 1 takes the last."""
    if len(items) <= count:
        return list(items)
    if count == 1:
        return [items[-1]]
    return [items[round(n * (len(items) - 1) / (count - 1))] for n in range(count)]


def frame_file(folder: str, time_s: float) -> str:
    """Path of a picture relative to the root, named by its moment in whole milliseconds."""
    return f"{folder}/{int(time_s * 1000 + 1e-6):08d}.jpg"
