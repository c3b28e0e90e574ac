"""From a benchmark to conversations: segments of a video, each with the turns that are asked about it.

A segment is a clip on a path or in a video's chains, and a moment of a dialogue. Turns without a question or a
reference answer are left out and counted.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.formats.training_options import EVERY_SPLIT, TRAIN, UnitKind
from reeltalk.schema.dialogue import Dialogue, DialoguePath, QAChain, Turn
from reeltalk.schema.ids import ClipId, VideoId
from reeltalk.schema.intervals import Interval
from reeltalk.schema.sft import escaped, reserved_in
from reeltalk.store.content import Content

NO_REFERENCE: Final = "turns without a question or a reference answer are left out"
ESCAPED: Final = "questions or answers hold a word that stands for a frame, which is written with spaces"


Part = tuple[object, tuple[Interval, ...], "TaughtTurn | None"]
"""What tells a segment from its neighbours, the clips of a turn, and the turn where it can be taught."""


@dataclass(frozen=True)
class TaughtTurn:
    """A turn with its answer, as text."""

    question: str
    answer: str
    asked_at_s: float | None
    """None where it is asked after all that it is about."""


@dataclass(frozen=True)
class Segment:
    """Turns about a part of a video."""

    clips: tuple[Interval, ...]
    """The part; none where it is all up to the question."""
    turns: tuple[TaughtTurn, ...]


@dataclass(frozen=True)
class Conversation:
    """What becomes one sample, or several where it is too long."""

    id: str
    video_id: VideoId
    segments: tuple[Segment, ...]


@dataclass
class Found:
    """Conversations, and what was left out or changed."""

    conversations: list[Conversation] = field(default_factory=list)
    units: UnitKind = "path"
    choices: bool = True
    """Options are told with their questions."""
    splits: tuple[str, ...] = ()
    """The splits that their videos are in."""
    counts: Counter[str] = field(default_factory=Counter)


def conversations(
    content: Content,
    *,
    units: UnitKind | None = None,
    split: str | None = None,
    tasks: Sequence[str] = (),
    limit: int | None = None,
    choices: bool = True,
) -> Found:
    """The conversations of a split.

    Args:
        content: The benchmark.
        units: What is one conversation; by default the first kind that the split has.
        split: `train` by default; `all` for all.
        tasks: Tasks of dialogues; all by default.
        limit: The first ones only.
        choices: Tell options with their questions, and answer by letter.

    Raises:
        BenchmarkError: There is nothing to teach in the split.
        SettingError: There is no such split or task.
    """
    chosen = _videos(content, split)
    clips = {clip.id: clip.interval for clip in content.clips if clip.interval is not None}
    found = Found(choices=choices)
    held: dict[UnitKind, bool] = {
        "path": any(path.video_id in chosen for path in content.paths),
        "chain": any(chain.video_id in chosen for chain in content.chains),
        "dialogue": any(dialogue.video_id in chosen for dialogue in content.dialogues),
    }
    there = [kind for kind, has in held.items() if has and not (tasks and kind != "dialogue")]
    found.units = units or (there[0] if there else "dialogue")
    if found.units == "path":
        made = _paths(content, chosen, clips, found)
    elif found.units == "chain":
        made = _chains(content.chains, chosen, clips, found)
    else:
        made = _dialogues(content.dialogues, chosen, clips, tasks, found)
    found.conversations = made[:limit]
    if not found.conversations:
        also = f"; it has {', '.join(f'{kind}s' for kind in there)}" if there else ""
        raise BenchmarkError(f"the split has no {found.units} with reference answers{also}")
    splits = {video.id: video.split or "none" for video in content.videos}
    found.splits = tuple(sorted({splits.get(one.video_id, "none") for one in found.conversations}))
    return found


def _videos(content: Content, split: str | None) -> set[VideoId]:
    by_split: dict[str | None, set[VideoId]] = defaultdict(set)
    for video in content.videos:
        by_split[video.split].add(video.id)
    if split == EVERY_SPLIT:
        return {video.id for video in content.videos}
    wanted = split or TRAIN
    if wanted not in by_split:
        there = ", ".join(sorted(name for name in by_split if name)) or "none"
        hint = (
            "what a model was trained on says nothing about it any more, so no other split is taken unasked; pass "
            "--split NAME, or --split all"
        )
        raise SettingError(
            f"no video is in split '{wanted}'; the benchmark's splits: {there}" + (f"; {hint}" if split is None else "")
        )
    return by_split[wanted]


def _taught(turn: Turn, asked_at_s: float | None, found: Found) -> TaughtTurn | None:
    """A turn as text, or None where it has no question or no answer."""
    answer = turn.references[0] if turn.references else ""
    question = turn.question
    if turn.options and not found.choices:
        answer = answer or (turn.options[turn.correct_option] if turn.correct_option is not None else "")
    elif turn.options:
        question += "\n" + "\n".join(f"{option_label(n)}. {option}" for n, option in enumerate(turn.options))
        if turn.correct_option is not None:
            answer = f"{option_label(turn.correct_option)}. {turn.options[turn.correct_option]}"
    if not question.strip() or not answer.strip():
        found.counts[NO_REFERENCE] += 1
        return None
    if reserved_in(question) or reserved_in(answer):
        found.counts[ESCAPED] += 1
        question, answer = escaped(question), escaped(answer)
    return TaughtTurn(question, answer, asked_at_s)


def option_label(index: int) -> str:
    """A to Z, then A1, B1 and so on."""
    letter = chr(ord("A") + index % 26)
    return letter if index < 26 else f"{letter}{index // 26}"


def _add(name: str, video_id: VideoId, parts: Iterable[Part], made: list[Conversation]) -> None:
    """Add a conversation; neighbours with the same key are one segment."""
    segments: list[Segment] = []
    last: object = None
    for key, clips, turn in parts:
        if turn is None:
            continue
        if segments and key == last:
            segments[-1] = Segment(segments[-1].clips, (*segments[-1].turns, turn))
        else:
            segments.append(Segment(clips, (turn,)))
        last = key
    if segments:
        made.append(Conversation(name, video_id, tuple(segments)))


def _intervals(names: Iterable[ClipId | None], clips: Mapping[ClipId, Interval]) -> tuple[Interval, ...]:
    return tuple(clips[name] for name in names if name is not None and name in clips)


def _moment(turn: Turn, clips: tuple[Interval, ...]) -> float | None:
    """When a turn is asked: at its own moment, else when what it is about has ended."""
    if turn.asked_at_s is not None:
        return turn.asked_at_s
    return max((clip.end_s for clip in clips), default=None)


def _paths(
    content: Content, chosen: set[VideoId], clips: Mapping[ClipId, Interval], found: Found
) -> list[Conversation]:
    units: dict[tuple[str, str], QAChain | Dialogue] = {("chain", chain.id): chain for chain in content.chains}
    units |= {("dialogue", dialogue.id): dialogue for dialogue in content.dialogues}
    made: list[Conversation] = []
    for path in content.paths:
        if path.video_id in chosen:
            _add(path.id, path.video_id, _steps(path, units, clips, found), made)
    return made


def _steps(
    path: DialoguePath,
    units: Mapping[tuple[str, str], QAChain | Dialogue],
    clips: Mapping[ClipId, Interval],
    found: Found,
) -> Iterable[Part]:
    for step in path.steps:
        unit = units.get((step.ref.unit, step.ref.unit_id))
        if unit is None or step.ref.turn_index >= len(unit.turns):
            raise BenchmarkError(
                f"path '{path.id}' leads to turn {step.ref.turn_index} of {step.ref.unit} '{step.ref.unit_id}', which "
                "is not there; 'reeltalk validate' lists all such places"
            )
        turn = step.turn or unit.turns[step.ref.turn_index]
        shown = _intervals((unit.clip_id,) if isinstance(unit, QAChain) else unit.clip_ids, clips)
        yield (step.ref.unit, step.ref.unit_id), shown, _taught(turn, _moment(turn, shown), found)


def _chains(
    chains: Iterable[QAChain], chosen: set[VideoId], clips: Mapping[ClipId, Interval], found: Found
) -> list[Conversation]:
    by_video: dict[VideoId, list[QAChain]] = defaultdict(list)
    for chain in chains:
        if chain.video_id in chosen:
            by_video[chain.video_id].append(chain)
    made: list[Conversation] = []
    for video_id, own in by_video.items():
        own.sort(key=lambda chain: _begins(chain, clips))
        parts = [
            (chain.id, shown, _taught(turn, _after_clip(turn, shown), found))
            for chain in own
            for shown in (_intervals((chain.clip_id,), clips),)
            for turn in chain.turns
        ]
        _add(f"chains of {video_id}", video_id, parts, made)
    return made


def _begins(chain: QAChain, clips: Mapping[ClipId, Interval]) -> float:
    interval = clips.get(chain.clip_id) if chain.clip_id is not None else None
    if interval is not None:
        return interval.start_s
    return min((turn.asked_at_s for turn in chain.turns if turn.asked_at_s is not None), default=float("inf"))


def _after_clip(turn: Turn, clips: tuple[Interval, ...]) -> float | None:
    """A chain's turns are asked when its clip has ended, as they are when it is evaluated."""
    moments = [at_s for at_s in (turn.asked_at_s, *(clip.end_s for clip in clips)) if at_s is not None]
    return max(moments, default=None)


def _dialogues(
    dialogues: Iterable[Dialogue],
    chosen: set[VideoId],
    clips: Mapping[ClipId, Interval],
    tasks: Sequence[str],
    found: Found,
) -> list[Conversation]:
    dialogues = list(dialogues)
    known = {dialogue.task for dialogue in dialogues}
    for task in tasks:
        if task not in known:
            there = ", ".join(sorted(name for name in known if name)) or "none"
            raise SettingError(f"no dialogue has task '{task}'; the benchmark's tasks: {there}")
    made: list[Conversation] = []
    for dialogue in dialogues:
        if dialogue.video_id not in chosen or (tasks and dialogue.task not in tasks):
            continue
        shown = _intervals(dialogue.clip_ids, clips)
        parts = []
        for turn in dialogue.turns:
            moment = _moment(turn, shown)
            # Each moment is a segment of its own: that is where what is seen grows.
            parts.append((moment, shown, _taught(turn, moment, found)))
        _add(dialogue.id, dialogue.video_id, parts, made)
    return made
