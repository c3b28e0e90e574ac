"""Writes dialogues and proactive tasks about a benchmark's videos from their graphs.

SPARQL checks every question before anything is stored.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.errors import BenchmarkError, BrokenInvariantError
from reeltalk.language.grammar import SPLITS
from reeltalk.progress import CountProgress
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import DialogueId, derive_id
from reeltalk.schema.stream import ProactiveTask
from reeltalk.store.benchmark import GRAPHS, Benchmark
from reeltalk.store.tables import CLIPS, DIALOGUES, PROACTIVE, VIDEOS
from reeltalk_build.graph.activity import ActivityGraph
from reeltalk_build.graph.reading import graph_of_clip, read_activity
from reeltalk_build.graph.story import Story, starts_s
from reeltalk_household.questions.balancing import AnswerBalance, AnswerCounts
from reeltalk_household.questions.checking import Checker
from reeltalk_household.questions.proactive import KINDS, tasks_of
from reeltalk_household.questions.proactive_checks import StreamChecker
from reeltalk_household.questions.questions import questions
from reeltalk_household.questions.wording import IsAnswered, write_dialogue

STAGE: Final = "graph questions"
WRITTEN_HERE: Final = "asked"
"""Key in the `extra` of a dialogue that was written here."""
WRITER_KEY: Final = "writer"
"""Key in the `extra` of a dialogue that `reeltalk construct` wrote."""


@dataclass(frozen=True)
class WrittenDialogues:
    """Counts of the dialogues written."""

    dialogues: int
    turns: int
    types: dict[str, int]
    """Turns by VDAct's question type; a turn may have several."""
    answer_types: dict[str, int]
    forms: dict[str, int]
    """Surface forms that occur, by split."""
    checked: int
    """Turns that SPARQL answered again. All agree, otherwise nothing is written."""
    without_graphs: int
    """Videos left out because no clip has a graph."""


class ClipGraphs:
    """The graphs of a benchmark's clips, read video by video.

    Args:
        among: The videos to ask for; all by default. Parts of the table without clips of these are not read.

    Raises:
        InputError: A table is damaged.
    """

    def __init__(self, benchmark: Benchmark, among: Collection[str] | None = None) -> None:
        self._benchmark, self._names = benchmark, set(benchmark.graphs())
        self._clips = benchmark.table(CLIPS, among=among).grouped()

    def of(self, video_id: str) -> tuple[list[Clip], dict[str, str]]:
        """The clips of a video that have graphs, in order, and these as N-Quads by name; both empty without graphs."""
        known = ((clip, graph_of_clip(clip, self._names)) for clip in self._clips.get(video_id, ()))
        found = [(clip, name) for clip, name in known if name is not None]
        # Clips without times are in the order of the table, as in VDAct's recovered scenarios.
        found.sort(key=lambda one: one[0].interval.start_s if one[0].interval else 0.0)
        return [clip for clip, _ in found], {name: self._benchmark.graph(name) for _, name in found}


def stories(benchmark: Benchmark, *, among: slice = slice(None)) -> Iterator[tuple[Video, list[Clip], dict[str, str]]]:
    """Yield each video with its clips in order and their graphs as N-Quads by name; both empty without graphs.

    Raises:
        InputError: A table is damaged.
    """
    videos = benchmark.table(VIDEOS)[among]
    graphs = ClipGraphs(benchmark, {row["id"] for row in videos.raw()})
    for video in videos:
        yield video, *graphs.of(video.id)


def _story(graphs: Sequence[ActivityGraph], clips: Sequence[Clip]) -> Story:
    """The story of a video, in its own time where the clips have times."""
    begins = [clip.interval.start_s for clip in clips if clip.interval is not None]
    return Story(graphs, begins_s=begins if len(begins) == len(clips) else None)


def possible_answers(benchmark: Benchmark, *, seed: int, among: slice = slice(None)) -> AnswerCounts:
    """Count the answers of all questions that the videos of a benchmark can be asked.

    Raises:
        InputError: A table or a graph is damaged.
    """
    counts = AnswerCounts()
    for _, clips, texts in stories(benchmark, among=among):
        if clips:
            file = benchmark.path / GRAPHS
            story = _story([read_activity(text, file=file / f"{n}.nq", name=n) for n, text in texts.items()], clips)
            counts.add(questions(story, seed=seed), story)
    return counts


def write_question_dialogues(
    benchmark: Benchmark,
    *,
    per_video: int = 3,
    turns: int = 10,
    seed: int = 17,
    overwrite: bool = False,
    is_answered: IsAnswered | None = None,
    progress: CountProgress | None = None,
) -> WrittenDialogues:
    """Write dialogues about every video that has graphs.

    Args:
        benchmark: Receives the table of dialogues.
        per_video: Dialogues per video; VDAct has 3.
        turns: Turns per dialogue; VDAct has 10 to 15.
        seed: Chooses the questions.
        overwrite: Replace existing dialogues.
        is_answered: Leaves out a turn that its own words or the turns before it answer; all turns stay by default.
        progress: Called with the number of finished videos and of all videos.

    Raises:
        BenchmarkError: The benchmark has dialogues already, or no graphs, or a split without surface forms.
        BrokenInvariantError: SPARQL finds another answer to a question; nothing is written.
    """
    settings = {"per_video": per_video, "turns": turns, "seed": seed}
    kept = _written_by_others(benchmark, overwrite=overwrite)
    rows: list[Dialogue] = []
    types: Counter[str] = Counter()
    answer_types: Counter[str] = Counter()
    forms: dict[str, set[str]] = defaultdict(set)
    total, without, checked = benchmark.rows(VIDEOS), 0, 0
    balance = AnswerBalance(possible_answers(benchmark, seed=seed))
    for done, (video, clips, texts) in enumerate(stories(benchmark), 1):
        if not clips:
            without += 1
            continue
        graphs = [read_activity(text, file=benchmark.path / GRAPHS / f"{n}.nq", name=n) for n, text in texts.items()]
        story, checker = _story(graphs, clips), Checker(texts)
        split = video.split or SPLITS[0]
        if split not in SPLITS:
            # Forms are divided among these; another split would share its forms with one of them.
            raise BenchmarkError(
                f"video '{video.id}' is of split {split!r}; forms are divided among {', '.join(SPLITS)}"
            )
        draw = random.Random(f"{seed} {video.id}")
        for number in range(per_video):
            written, _ = write_dialogue(
                story,
                split=split,
                seed=draw.getrandbits(32),
                turns=turns,
                asked_at_s=video.duration_s,
                balance=balance,
                is_answered=is_answered,
            )
            for wrong in checker.disagreements(written):
                raise BrokenInvariantError(
                    f"{video.id}: {wrong.question!r} has the answer {wrong.written!r} but SPARQL finds {wrong.found!r}"
                )
            checked += len(written)
            for turn in written:
                types.update(turn.labels["vdact.question_type"])
                answer_types[str(turn.extra["answer_type"])] += 1
                forms[split].add(str(turn.extra["form"]))
            rows.append(
                Dialogue(
                    id=DialogueId(derive_id("dialogue", video.id, seed, number)),
                    video_id=video.id,
                    clip_ids=tuple(clip.id for clip in clips),
                    turns=tuple(written),
                    extra={WRITTEN_HERE: seed},
                )
            )
        if progress is not None:
            progress(done, total)
    if not rows:
        raise BenchmarkError(f"{benchmark.path} has no video with graphs; 'reeltalk world film' makes some")
    shared = [(a, b) for a in forms for b in forms if a < b and forms[a] & forms[b]]
    if shared:
        raise BrokenInvariantError(f"splits share surface forms: {shared}")
    with benchmark.writing(stage=STAGE, settings=settings) as writer:
        writer.add(DIALOGUES, [*rows, *kept])
    return WrittenDialogues(
        dialogues=len(rows),
        turns=sum(len(row.turns) for row in rows),
        types=dict(types.most_common()),
        answer_types=dict(answer_types.most_common()),
        forms={split: len(found) for split, found in sorted(forms.items())},
        checked=checked,
        without_graphs=without,
    )


def _written_by_others(benchmark: Benchmark, *, overwrite: bool) -> list[Dialogue]:
    """The dialogues that `reeltalk construct` wrote, which stay."""
    rows: list[Dialogue] = list(benchmark.read(DIALOGUES))
    entry = benchmark.manifest.files.get(DIALOGUES.file_name)
    constructed = [row for row in rows if WRITER_KEY in row.extra]
    own = sum(WRITTEN_HERE in row.extra for row in rows)
    if entry is not None and (entry.stage.split(" ")[0] == "review" or own + len(constructed) < len(rows)):
        # Answers, scores and reviews may rest on them.
        raise BenchmarkError(f"{benchmark.path} holds dialogues of '{entry.stage}', which are not replaced")
    if own and not overwrite:
        raise BenchmarkError(f"{benchmark.path} holds {own:,} dialogues; pass --overwrite")
    return constructed


PROACTIVE_STAGE: Final = "proactive write"


@dataclass(frozen=True)
class WrittenTasks:
    """Counts of the proactive tasks written."""

    tasks: int
    requests: int
    moments: int
    kinds: dict[str, int]
    """Tasks by kind."""
    checked: int
    """Requests that SPARQL answered again. All agree, otherwise nothing is written."""
    without_graphs: int
    """Videos left out because they have no graphs with times."""


def write_tasks(
    benchmark: Benchmark,
    *,
    per_kind: int = 1,
    seed: int = 17,
    overwrite: bool = False,
    progress: CountProgress | None = None,
) -> WrittenTasks:
    """Write proactive tasks about every video that has graphs with times.

    Raises:
        BenchmarkError: The benchmark has tasks already, or no graphs with times, or a split without surface forms.
        BrokenInvariantError: SPARQL finds other moments or another answer; nothing is written.
    """
    if benchmark.rows(PROACTIVE) and not overwrite:
        raise BenchmarkError(f"{benchmark.path} holds {benchmark.rows(PROACTIVE):,} tasks; pass --overwrite")
    rows: list[ProactiveTask] = []
    without, checked, total = 0, 0, benchmark.rows(VIDEOS)
    for done, (video, clips, texts) in enumerate(stories(benchmark), 1):
        split = video.split or SPLITS[0]
        if split not in SPLITS:
            # Forms are divided among these; another split would share its forms with one of them.
            raise BenchmarkError(
                f"video '{video.id}' is of split {split!r}; forms are divided among {', '.join(SPLITS)}"
            )
        graphs = [read_activity(text, file=benchmark.path / GRAPHS / f"{n}.nq", name=n) for n, text in texts.items()]
        story = _story(graphs, clips)
        found = (
            tasks_of(story, video.id, split, seed, until_s=video.duration_s, kinds=KINDS, per_kind=per_kind)
            if graphs
            else []
        )
        without += not found
        checked += _check_tasks(found, graphs, texts)
        rows += found
        if progress is not None:
            progress(done, total)
    if not rows:
        raise BenchmarkError(
            f"{benchmark.path} has no video with graphs that tell when things happen; 'reeltalk world film' makes some"
        )
    with benchmark.writing(stage=PROACTIVE_STAGE, settings={"per_kind": per_kind, "seed": seed}) as writer:
        writer.add(PROACTIVE, rows)
    return WrittenTasks(
        tasks=len(rows),
        requests=sum(len(row.requests) for row in rows),
        moments=sum(len(row.moments) for row in rows),
        kinds=dict(Counter(row.kind for row in rows)),
        checked=checked,
        without_graphs=without,
    )


def _check_tasks(tasks: Sequence[ProactiveTask], graphs: Sequence[ActivityGraph], texts: Mapping[str, str]) -> int:
    """The number of requests of a video that SPARQL answered again."""
    begins = starts_s(graphs)
    if not tasks or begins is None or any(event.begins_s is None for graph in graphs for event in graph.events):
        return 0
    checker = StreamChecker(texts, begins, tasks[0].until_s)
    for task in tasks:
        for wrong in checker.disagreements(task):
            raise BrokenInvariantError(f"{task.video_id}: {wrong}")
    return sum(bool(request.fact) for task in tasks for request in task.requests)
