"""Baselines as players. They answer without a model, from more and more sources of knowledge.

Each of these uses one source more than the one before it: *blind* the question, *history* the dialogue too, *frames*
the frames too. *constant* and *empty* use less; *ngrams* answers in another way. *yes*, *copied-question* and
*reference* test judges: a judge should score the first two lowest, and the last one highest.
"""

import base64
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.baselines.answerer import Answerer, KnownAnswer, KnownTurn
from reeltalk.baselines.constant import ConstantAnswerer
from reeltalk.baselines.in_context import InContextAnswerer
from reeltalk.baselines.looking import LookingAnswerer, visible_frames
from reeltalk.baselines.nearest import BlindAnswerer
from reeltalk.baselines.ngrams import NGramsAnswerer
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.evaluation.playing.play import Pictures, Player, Response, TurnInput
from reeltalk.evaluation.playing.script import clip_intervals
from reeltalk.judge.reference_checks import REFERENCE_CHECKS
from reeltalk.parallel import Call, Executor, Failure, Limits, LocalExecutor
from reeltalk.plugins import added, load
from reeltalk.schema.answers import NO_REFERENCE
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.rows import FieldValues, MappedRows
from reeltalk.video.encode import pixels_of
from reeltalk.video.frame_features import SMALL_SHAPE, FrameFeatures, describe_frames, shrink


class RulePlayer:
    """Answers by a rule that reads the turn alone: nothing, yes, the question again, or the reference.

    Args:
        name: The name in tables.
        rule: Gives the answer; None if the benchmark withholds it.
    """

    def __init__(self, name: str, rule: Callable[[Turn], str | None]) -> None:
        self.name: Final = name
        self.signature: Final = (("baseline", name),)
        self.sees_frames: Final = False
        self._rule = rule

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        text = self._rule(seen.step.turn)
        return Response(text) if text is not None else Response(None, reason=NO_REFERENCE)


BASELINES: Final = (
    "empty", "constant", "blind", "ngrams", "history", "frames", "yes", "copied-question", "reference",
)  # fmt: skip
TRAIN: Final = "train"
LOOK_EVERY_S: Final = 1.0
CACHED_FRAMES: Final = 4096
"""Number of small frames in memory, 7 KB each. The turns of a dialogue use the same frames."""
CACHED_VIEWS: Final = 16
CACHED_UNITS: Final = 64
"""Chains and dialogues that are kept after one of their turns was read."""
CALL_S: Final = 600.0
MEMORY_BYTES: Final = 1 << 30


class BaselinePlayer:
    """A player that asks an answerer. It uses nothing learned from the video in question."""

    sees_frames = False

    def __init__(self, answerer: Answerer) -> None:
        self._answerer = answerer

    @property
    def name(self) -> str:
        return self._answerer.name

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        return (("baseline", _as_part(self._answerer.signature)),)

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        """The baseline's answer, empty if it has none: every model then has an answer to the same turns."""
        history = [(past.question, past.answer) for past in seen.history]
        text = self._answerer.answer(seen.question, history, seen.options, without=seen.video_id)
        return Response(text="" if text is None else text)


class FramesPlayer:
    """Question, history and frames, by `LookingAnswerer`: learnt from the train split, no weights from elsewhere.

    It looks at the clips that a turn is about if the protocol names them, else at all visible frames. Without a visible
    frame it is the *history* baseline.
    """

    sees_frames = True
    name = "frames"

    def __init__(self, looking: LookingAnswerer) -> None:
        self._looking = looking
        self._small: OrderedDict[bytes, NDArray[np.uint8]] = OrderedDict()
        self._views: OrderedDict[tuple[tuple[bytes, ...], tuple[Interval, ...]], FrameFeatures] = OrderedDict()

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The features, and the turns that it learnt from."""
        return (("baseline", _as_part(self._looking.signature)),)

    async def answer(self, seen: TurnInput, pictures: Pictures) -> Response:
        """The best answer among those of similar questions; empty if there are none."""
        frames = await self._view(seen, pictures)
        text = self._looking.answer(
            seen.question,
            tuple((past.question, past.answer) for past in seen.history),
            seen.options,
            frames,
            asked_at_s=seen.step.asked_at_s,
            without=seen.video_id,
        )
        return Response(text="" if text is None else text)

    async def _view(self, seen: TurnInput, pictures: Pictures) -> FrameFeatures:
        references = tuple(frame.reference for frame in seen.frames)
        key = (references, seen.step.clips)
        if key not in self._views:
            small = [await self._picture(reference, pictures) for reference in references]
            stacked = np.array(small, np.uint8).reshape(-1, *SMALL_SHAPE, 3)
            shown = describe_frames([frame.pts_s for frame in seen.frames], stacked)
            self._views[key] = visible_frames(shown, None, seen.step.clips)
            if len(self._views) > CACHED_VIEWS:
                self._views.popitem(last=False)
        return self._views[key]

    async def _picture(self, reference: bytes, pictures: Pictures) -> NDArray[np.uint8]:
        if reference not in self._small:
            self._small[reference] = shrink(pixels_of(await pictures.jpeg(reference)))
            if len(self._small) > CACHED_FRAMES:
                self._small.popitem(last=False)
        return self._small[reference]


def training_pairs(content: Content, *, split: str = TRAIN) -> Sequence[KnownTurn]:
    """The turns of a benchmark's chains and dialogues that baselines learn from.

    They are from the videos of one split, or from all videos if the benchmark has no such split. A baseline does not
    use turns of the video that it is asked about. So without a split each video is answered from all others.

    Args:
        content: The benchmark.
        split: The split's name.
    """
    own = list(zip(FieldValues(content.videos, "id"), FieldValues(content.videos, "split"), strict=True))
    chosen = {name for name, of in own if of == split} or {name for name, _ in own}
    tables: tuple[Sequence[QAChain | Dialogue], ...] = (content.chains, content.dialogues)
    clips = clip_intervals(content)

    @lru_cache(CACHED_UNITS)
    def turns_of(table: int, place: int) -> dict[int, KnownTurn]:
        unit = tables[table][place]
        names = (unit.clip_id,) if isinstance(unit, QAChain) else unit.clip_ids
        intervals = (clips(name) for name in names if name is not None)
        about = tuple(interval for interval in intervals if interval is not None)
        found: dict[int, KnownTurn] = {}
        history: list[tuple[str, str]] = []
        for index, turn in enumerate(unit.turns):
            reference = turn.references[0] if turn.references else None
            if reference is not None:
                found[index] = KnownTurn(
                    turn.question,
                    reference,
                    str(unit.video_id),
                    history=tuple(history),
                    asked_at_s=turn.asked_at_s,
                    evidence=turn.evidence,
                    about=about,
                )
            history.append((turn.question, reference or ""))
        return found

    known = [
        (table, place, index)
        for table, rows in enumerate(tables)
        for place, unit in enumerate(rows)
        if unit.video_id in chosen
        for index, turn in enumerate(unit.turns)
        if turn.references
    ]
    return MappedRows(known, lambda turn: turns_of(turn[0], turn[1])[turn[2]])


def baseline_player(
    name: str, pairs: Sequence[KnownAnswer], *, videos: Mapping[str, FrameFeatures] | None = None
) -> Player:
    """A baseline by its name.

    `empty` gives an empty answer, `yes` always says yes, `copied-question` repeats the question and `reference` gives
    the reference. `constant` gives the most frequent answer to the form of the question. `blind` gives the answer to
    the most similar question, `ngrams` the likeliest one by the words of the question and the dialogue. `history`
    weights the answers to similar questions by the dialogue, and `frames` also by the frames.

    Args:
        name: One of `BASELINES`.
        pairs: The known turns, from `training_pairs`.
        videos: Features of the known videos, from `look_at_videos`; `frames` needs them.

    Raises:
        SettingError: There is no such baseline, or its input is missing.
    """
    if name == "empty":
        # Measures the score that a judge gives to no answer.
        return RulePlayer(name, lambda turn: "")
    if name in REFERENCE_CHECKS:
        return RulePlayer(name, REFERENCE_CHECKS[name])
    if name == "constant":
        return BaselinePlayer(ConstantAnswerer(pairs))
    if name == "blind":
        return BaselinePlayer(BlindAnswerer(pairs))
    if name == "ngrams":
        return BaselinePlayer(NGramsAnswerer(_as_turns(pairs)))
    if name == "history":
        return BaselinePlayer(InContextAnswerer(_as_turns(pairs)))
    if name == "frames":
        if not videos:
            raise SettingError("the baseline 'frames' needs the frames of the known videos; curate with --media copy")
        return FramesPlayer(LookingAnswerer(_as_turns(pairs), videos))
    raise SettingError(f"there is no baseline {name!r}; there are {', '.join(BASELINES)}")


def _as_turns(pairs: Sequence[KnownAnswer]) -> list[KnownTurn]:
    return [
        pair if isinstance(pair, KnownTurn) else KnownTurn(pair.question, pair.answer, pair.video_id) for pair in pairs
    ]


def create_baseline(name: str, benchmark: Benchmark, content: Content, *, workers: int = 2) -> Player:
    """A baseline that has learnt from a benchmark's train split.

    Args:
        name: One of `BASELINES`, or a baseline that another package names in the entry points `reeltalk.baselines`: a
            function that takes the known turns and returns a `Player`.
        benchmark: The benchmark that it learns from, with the files that `frames` looks at.
        content: Its rows.
        workers: Videos that are decoded at a time.

    Raises:
        SettingError: There is no such baseline, or its input is missing.
        BenchmarkError: A video cannot be decoded.
    """
    if name in added("reeltalk.baselines"):
        own: Player = load("reeltalk.baselines", name)(training_pairs(content))
        return own
    if name not in BASELINES:
        known_names = ", ".join((*BASELINES, *added("reeltalk.baselines")))
        raise SettingError(f"there is no baseline '{name}'; there are {known_names}")
    if name != "frames":
        return baseline_player(name, training_pairs(content))
    splits = {video.split for video in content.videos}
    known = [video for video in content.videos if TRAIN not in splits or video.split == TRAIN]
    looks = look_at_videos(benchmark, known, executor=LocalExecutor(workers))
    return baseline_player(name, training_pairs(content), videos=looks)


def look_at_videos(
    benchmark: Benchmark, videos: Iterable[Video], *, executor: Executor, every_s: float = LOOK_EVERY_S
) -> dict[str, FrameFeatures]:
    """Features of videos, from one frame a second; videos without a file or a known length are left out.

    Raises:
        BenchmarkError: A video cannot be decoded.
    """
    at_hand = set(benchmark.media.names())
    there = [video for video in videos if video.sha256 in at_hand and video.duration_s]
    calls = []
    for video in there:
        times = np.arange(0.0, video.duration_s or 0.0, every_s)
        argument = {
            "path": str(benchmark.media.whole(video.sha256 or "")),
            "times_s": [float(time_s) for time_s in times],
        }
        calls.append(Call(argument, Limits(wall_s=CALL_S, memory_bytes=MEMORY_BYTES)))
    found: dict[str, FrameFeatures] = {}
    for place, outcome in executor.map("reeltalk.video.frame_features:decode_features", calls):
        video = there[place]
        if isinstance(outcome, Failure):
            raise BenchmarkError(f"the video {video.id!r} cannot be decoded: {outcome}")
        pixels = np.frombuffer(base64.b64decode(outcome["pixels"]), np.uint8)
        found[str(video.id)] = describe_frames(outcome["times_s"], pixels.reshape(-1, *SMALL_SHAPE, 3))
    return found


def _as_part(signature: str) -> str:
    """A baseline's signature as one part of a run's."""
    return signature.removeprefix("baseline:").replace("|", ",")
