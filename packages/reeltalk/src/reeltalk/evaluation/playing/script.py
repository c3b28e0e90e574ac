"""Scripts: turns in the order in which they are asked, and how to make scripts from a benchmark.

Modes decide the scripts: chains and dialogues, streams along paths, or questions alone.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.evaluation.settings import PlaySettings
from reeltalk.metrics.selection import TurnSelection
from reeltalk.schema.answers import UnitKind
from reeltalk.schema.dialogue import Dialogue, DialoguePath, PathStep, QAChain, Turn
from reeltalk.schema.entrances import finds_its_reference
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Task
from reeltalk.schema.paths import PathStatistics, draw_paths, links_by_video, recorded_verdicts
from reeltalk.schema.record import PathId, Record, derive_id
from reeltalk.schema.runs import left_out_sentence
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.rows import FieldValues, MappedRows, NamedRows, rows_by


@dataclass(frozen=True)
class Step:
    """One turn as it is asked."""

    unit: UnitKind
    unit_id: str
    turn_index: int
    """Position in its unit, from 0."""
    turn: Turn
    asked_at_s: float | None
    """The moment of the question; None if it is asked after the whole video."""
    clips: tuple[Interval, ...] = ()
    """The clips it is about, in order."""
    answered: bool = True
    """False if the protocol does not score this turn. It is not asked, and the history holds its reference, unless all
    of the history is the model's own."""
    task: str | None = None
    source: str | None = None
    """The chain or dialogue of a step of a path; its unit by default."""
    understood: bool = True
    """False if it refers to a turn that its path has skipped, so that its meaning is unclear."""

    @property
    def source_id(self) -> str:
        """The chain or dialogue of the turn."""
        return self.source or self.unit_id


@dataclass(frozen=True)
class Script:
    """One sample of the log: turns that are played in order, each with the answers of the turns before it."""

    id: str
    video_id: str
    steps: tuple[Step, ...]
    epoch: int = 0
    """Number of the play, from 0."""

    @property
    def name(self) -> str:
        """Its name among all plays."""
        return f"{self.id} (epoch {self.epoch + 1})" if self.epoch else self.id


Rounds = Literal["all", "mt-video-bench"]

ONE_ABILITY: Final = frozenset({Task.CONTENT_SUMMARY, Task.OBJECT_REFERENCE, Task.MEMORY_RECALL, Task.ANSWER_REFUSAL})
"""MT-Video-Bench's files in which only the rounds of these abilities are answered. In the other two all are."""
TEST: Final = "test"


PATHS_PER_VIDEO: Final = 5
"""Number of new paths that are drawn in each video."""


Scripts = MappedRows[tuple[Callable[[int], Script], int, int], Script]
"""Scripts that are made when you ask for them, so that memory hardly grows with them."""


def make_scripts(
    content: Content,
    settings: PlaySettings,
    *,
    limit: int | None = None,
    paths_per_video: int = PATHS_PER_VIDEO,
) -> Scripts:
    """Make the scripts that are played, in the order of the benchmark; all of an epoch before those of the next.

    The chains of a video are one script; each chain sees the video up to the end of its clip. Every dialogue and every
    path is a separate script.

    Args:
        content: The benchmark.
        settings: Mode, and which split, kinds of units, tasks and turns are played.
        limit: Maximum number of scripts, from the first one of the benchmark.
        paths_per_video: Number of new paths in each video, if `settings.rejump` is given.

    Raises:
        BenchmarkError: There is nothing to play.
        SettingError: The settings name an unknown split, task or kind.
    """
    videos = _videos(content, settings.split)
    clips = clip_intervals(content)
    kinds = _kinds(settings)
    found: list[tuple[Callable[[int], Script], Sequence[int]]] = []
    if "path" in kinds:
        found.append(_paths(content, settings, paths_per_video, clips, videos))
    # Chains have no task. They are played too if tasks and chains are both named.
    if "chain" in kinds and (not settings.tasks or {"chain", "dialogue"} <= set(settings.units)):
        found.append(_chains(content.chains, clips, videos))
    if "dialogue" in kinds:
        found.append(_dialogues(content.dialogues, settings, clips, videos))
    if not any(places for _, places in found):
        raise BenchmarkError(
            f"there is nothing to play: no {' or '.join(kinds)} "
            f"{'of ' + ', '.join(settings.tasks) + ' ' if settings.tasks else ''}in the videos of the split; "
            "'reeltalk report BENCH --format text' tells what it holds"
        )
    made = [(make, place) for make, places in found for place in places][:limit]
    plays = [(*one, epoch) for epoch in range(settings.epochs) for one in made]
    return Scripts(plays, lambda one: replace(one[0](one[1]), epoch=one[2]) if one[2] else one[0](one[1]))


def _kinds(settings: PlaySettings) -> tuple[UnitKind, ...]:
    return settings.units or (("path",) if settings.mode == "streaming" else ("chain", "dialogue"))


def scripts_of(selection: TurnSelection, settings: PlaySettings, *, limit: int | None = None) -> Scripts:
    """`make_scripts` of what is played of a benchmark. If that is nothing, the error says what is left out.

    Raises:
        BenchmarkError: There is nothing to play.
        SettingError: The settings name an unknown split, task or kind.
    """
    try:
        return make_scripts(selection.content, settings, limit=limit)
    except (BenchmarkError, SettingError) as error:
        if left_out := left_out_of_play(selection, settings):
            told = left_out_sentence(settings.only, left_out)
            raise type(error)(f"{error}. {told}; --only all plays them") from None
        raise


def left_out_of_play(selection: TurnSelection, settings: PlaySettings) -> Counter[str]:
    """The turns that would be played if all of the benchmark were, by the reason why they are left out.

    Args:
        selection: What is played of the benchmark.
        settings: Mode, and which split, kinds of units and tasks are played.
    """
    videos = _videos(selection.content, settings.split)
    # New paths are drawn along the chains that are left.
    kinds = ("chain",) if settings.rejump is not None else _kinds(settings)
    return Counter(
        row.kind
        for row in (*selection.left, *selection.steps)
        if row.table.removesuffix("s") in kinds
        and (videos is None or row.video_id in videos)
        and (not settings.tasks or row.task in settings.tasks)
    )


ClipOf = Callable[[str], Interval | None]
"""The part of its video that a clip covers; None if it is not known."""


def clip_intervals(content: Content) -> ClipOf:
    """A function that gives the part of its video that a clip covers, by the clip's name."""
    clips = NamedRows(content.clips)

    def interval(name: str) -> Interval | None:
        return clip.interval if (clip := clips.get(name)) is not None else None

    return interval


def _known(names: Iterable[str | None], clips: ClipOf) -> tuple[Interval, ...]:
    found = (clips(name) for name in names if name is not None)
    return tuple(interval for interval in found if interval is not None)


def _videos(content: Content, split: str | None) -> set[str] | None:
    """The videos of a split; None for all videos."""
    by_split: dict[str | None, set[str]] = defaultdict(set)
    for name, own in zip(FieldValues(content.videos, "id"), FieldValues(content.videos, "split"), strict=True):
        by_split[own].add(name or "")
    if split is None:
        return by_split.get(TEST) or None
    if split == "all":
        return None
    if split not in by_split:
        there = ", ".join(sorted(name for name in by_split if name)) or "none"
        raise SettingError(f"no video is in split '{split}'; the benchmark's splits: {there}")
    return by_split[split]


def _places(units: Sequence[Record], videos: set[str] | None) -> Sequence[int]:
    if videos is None:
        return range(len(units))
    return array("q", (place for place, name in enumerate(FieldValues(units, "video_id")) if name in videos))


def _paths(
    content: Content, settings: PlaySettings, paths_per_video: int, clips: ClipOf, videos: set[str] | None
) -> tuple[Callable[[int], Script], Sequence[int]]:
    chains, dialogues = NamedRows(content.chains), NamedRows(content.dialogues)
    played: Sequence[DialoguePath] = (
        content.paths if settings.rejump is None else draw_new_paths(content, settings, paths_per_video)[0]
    )

    def make(place: int) -> Script:
        path = played[place]
        steps: list[Step] = []
        for index, step in enumerate(path.steps):
            turn, interval = _resolved(step, chains, dialogues, clips, path)
            before = (path.steps[index - 1].ref, steps[-1].turn) if index else None
            steps.append(
                Step(
                    "path",
                    path.id,
                    index,
                    turn,
                    _question_time(turn, interval),
                    interval,
                    source=step.ref.unit_id,
                    understood=finds_its_reference(before, step, turn),
                )
            )
        return Script(path.id, path.video_id, tuple(steps))

    places = _places(played, videos)
    for place in places:
        make(place)  # a path that leads nowhere is refused before anything is asked
    return make, places


def _resolved(
    step: PathStep,
    chains: Mapping[str, QAChain],
    dialogues: Mapping[str, Dialogue],
    clips: ClipOf,
    path: DialoguePath,
) -> tuple[Turn, tuple[Interval, ...]]:
    unit = chains.get(step.ref.unit_id) if step.ref.unit == "chain" else dialogues.get(step.ref.unit_id)
    if unit is None or step.ref.turn_index >= len(unit.turns):
        raise BenchmarkError(
            f"path '{path.id}' leads to turn {step.ref.turn_index} of {step.ref.unit} '{step.ref.unit_id}', which is "
            "not there; 'reeltalk validate' lists all such places"
        )
    turn = step.turn or unit.turns[step.ref.turn_index]
    return turn, _known((unit.clip_id,) if isinstance(unit, QAChain) else unit.clip_ids, clips)


def draw_new_paths(
    content: Content, settings: PlaySettings, paths_per_video: int = PATHS_PER_VIDEO
) -> tuple[list[DialoguePath], PathStatistics]:
    """New paths of the videos that are played. They land where the benchmark allows its own paths to, else by the rule.

    Args:
        content: The benchmark.
        settings: The split, and the seed `rejump` that decides the walks.
        paths_per_video: Number of paths in each video.

    Raises:
        SettingError: There is no such split, or no seed.
        BrokenInvariantError: A linkage leads to no turn, or not forward.
    """
    if settings.rejump is None:
        raise SettingError("new paths need a seed: --rejump SEED")
    statistics = PathStatistics()
    clips = clip_intervals(content)
    videos = _videos(content, settings.split)
    decide = recorded_verdicts(content.gates)
    by_video: dict[str, list[QAChain]] = defaultdict(list)
    for chain in content.chains:
        if videos is None or chain.video_id in videos:
            by_video[chain.video_id].append(chain)
    found: list[DialoguePath] = []
    links = links_by_video(by_video, content.linkages, content.rewrites)
    for video_id, chains in by_video.items():
        ordered = _in_time(chains, clips)
        drawn, _ = draw_paths(
            ordered,
            *links[video_id],
            decide,
            video_id=video_id,
            count=paths_per_video,
            seed=settings.rejump,
            statistics=statistics,
        )
        # Their names differ from those of the benchmark's own paths, with any seed.
        found += [path.model_copy(update={"id": PathId(derive_id("rejump", path.id))}) for path in drawn]
    return found, statistics


def _in_time(chains: Iterable[QAChain], clips: ClipOf) -> list[QAChain]:
    """Chains in the order of their clips. Chains without a clip come last, in their order."""

    def start(chain: QAChain) -> float:
        interval = clips(chain.clip_id) if chain.clip_id else None
        if interval is not None:
            return interval.start_s
        asked = [turn.asked_at_s for turn in chain.turns if turn.asked_at_s is not None]
        return min(asked) if asked else float("inf")

    return sorted(chains, key=start)


def _chains(
    chains: Sequence[QAChain], clips: ClipOf, videos: set[str] | None
) -> tuple[Callable[[int], Script], Sequence[int]]:
    by_video = rows_by(chains, "video_id")
    names = [name for name in by_video if videos is None or name in videos]

    def make(place: int) -> Script:
        steps: list[Step] = []
        for chain in _in_time(by_video[names[place]], clips):
            interval = _known((chain.clip_id,), clips)
            # The turns of a chain are asked at the end of its clip.
            end_s = interval[0].end_s if interval else None
            for index, turn in enumerate(chain.turns):
                asked = [at for at in (turn.asked_at_s, end_s) if at is not None]
                steps.append(Step("chain", chain.id, index, turn, max(asked) if asked else None, interval))
        return Script(f"chains of {names[place]}", names[place], tuple(steps))

    return make, range(len(names))


def _dialogues(
    dialogues: Sequence[Dialogue], settings: PlaySettings, clips: ClipOf, videos: set[str] | None
) -> tuple[Callable[[int], Script], Sequence[int]]:
    tasks = set(FieldValues(dialogues, "task")) if settings.tasks else set()
    for task in settings.tasks:
        if task not in tasks:
            there = ", ".join(sorted(name for name in tasks if name)) or "none"
            raise SettingError(f"no dialogue has task '{task}'; the benchmark's tasks: {there}")

    def make(place: int) -> Script:
        dialogue = dialogues[place]
        intervals = _known(dialogue.clip_ids, clips)
        steps = [
            Step(
                "dialogue",
                dialogue.id,
                index,
                turn,
                turn.asked_at_s,
                intervals,
                answered=_is_answered(turn, dialogue.task, settings.rounds),
                task=dialogue.task,
            )
            for index, turn in enumerate(dialogue.turns)
        ]
        return Script(dialogue.id, dialogue.video_id, tuple(steps))

    places = _places(dialogues, videos)
    if settings.tasks:
        wanted = [task in settings.tasks for task in FieldValues(dialogues, "task")]
        places = array("q", (place for place in places if wanted[place]))
    return make, places


def _is_answered(turn: Turn, task: str | None, rounds: Rounds) -> bool:
    if rounds == "all" or task not in ONE_ABILITY:
        return True
    return any(label in ONE_ABILITY for label in turn.labels.get("mt_video_bench.task", ()))


def _question_time(turn: Turn, intervals: tuple[Interval, ...]) -> float | None:
    """The time of a turn of a path: its own, else the end of its clip."""
    if turn.asked_at_s is not None:
        return turn.asked_at_s
    return max((interval.end_s for interval in intervals), default=None)


def media_of(benchmark: Benchmark, content: Content) -> Callable[[str], Path | None]:
    """A function that gives the file of a video by the video's identifier; None if it is not available."""
    videos = NamedRows(content.videos)

    def media(video_id: str) -> Path | None:
        video = videos.get(video_id)
        path = benchmark.media.path(video.sha256) if video is not None and video.sha256 else None
        return path if path is not None and path.is_file() else None

    return media


def available_scripts(
    scripts: Scripts, media: Callable[[str], Path | None], *, skip_missing: bool
) -> tuple[Scripts, set[str]]:
    """The scripts whose videos can be shown, and the videos that are missing.

    Args:
        scripts: The scripts to play.
        media: Gives the file of a video.
        skip_missing: Leave out scripts whose video is not available. Otherwise they stay.

    Raises:
        BenchmarkError: Nothing is left.
    """
    names = [script.video_id for script in scripts]
    missing = {name for name in dict.fromkeys(names) if media(name) is None}
    if not missing or not skip_missing:
        return scripts, missing
    found = scripts.at([place for place, name in enumerate(names) if name not in missing])
    if not found:
        raise BenchmarkError(f"there is nothing to play: none of the {len(missing):,} videos is available")
    return found, missing
