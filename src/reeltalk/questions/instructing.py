"""What may be looked out for in a benchmark's videos, written from their graphs."""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from reeltalk.errors import BenchmarkError
from reeltalk.graph.activity_reading import read_activity
from reeltalk.graph.story import Story
from reeltalk.progress import CountProgress
from reeltalk.questions.asking import stories
from reeltalk.questions.proactive import tasks_of
from reeltalk.questions.wording import SPLITS
from reeltalk.schema.stream import ProactiveTask
from reeltalk.store.benchmark import GRAPHS, Benchmark
from reeltalk.store.tables import PROACTIVE, VIDEOS

STAGE: Final = "proactive write"


@dataclass(frozen=True)
class WrittenTasks:
    """What was written."""

    tasks: int
    moments: int
    kinds: dict[str, int]
    """Tasks by kind."""
    without_graphs: int
    """Videos that are left out, having no graphs with times."""


def write_tasks(
    benchmark: Benchmark,
    *,
    per_kind: int = 1,
    seed: int = 17,
    overwrite: bool = False,
    progress: CountProgress | None = None,
) -> WrittenTasks:
    """Write tasks about every video that has graphs with times.

    Args:
        benchmark: Receives the table of tasks.
        per_kind: Tasks of a kind for each video, at most.
        seed: Decides what is looked out for.
        overwrite: Replace the tasks that are there.
        progress: Called with videos done of videos.

    Raises:
        BenchmarkError: The benchmark has tasks already, no graphs with times, or a split that has no forms.
    """
    if benchmark.rows(PROACTIVE) and not overwrite:
        raise BenchmarkError(f"{benchmark.path} holds {benchmark.rows(PROACTIVE):,} tasks; pass --overwrite")
    rows: list[ProactiveTask] = []
    without, total = 0, benchmark.rows(VIDEOS)
    for done, (video, clips, texts) in enumerate(stories(benchmark), 1):
        split = video.split or SPLITS[0]
        if split not in SPLITS:
            # Forms are divided among these; another split would share its forms with one of them.
            raise BenchmarkError(
                f"video '{video.id}' is of split {split!r}; forms are divided among {', '.join(SPLITS)}"
            )
        graphs = [read_activity(text, file=benchmark.path / GRAPHS / f"{n}.nq", name=n) for n, text in texts.items()]
        begins = [clip.interval.start_s for clip in clips if clip.interval is not None]
        story = Story(graphs, begins_s=begins if len(begins) == len(clips) else None)
        found = tasks_of(story, video.id, split, seed, until_s=video.duration_s, per_kind=per_kind) if graphs else []
        without += not found
        rows += found
        if progress is not None:
            progress(done, total)
    if not rows:
        raise BenchmarkError(
            f"{benchmark.path} has no video with graphs that tell when things happen; 'reeltalk world film' makes some"
        )
    with benchmark.writing(stage=STAGE, settings={"per_kind": per_kind, "seed": seed}) as writer:
        writer.add(PROACTIVE, rows)
    return WrittenTasks(
        tasks=len(rows),
        moments=sum(len(row.moments) for row in rows),
        kinds=dict(Counter(row.kind for row in rows)),
        without_graphs=without,
    )
