"""The input and the result of a construction step."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

from reeltalk.construct.costs import StepCost, StepCounter, step_costs
from reeltalk.construct.equivalence import Equivalence
from reeltalk.construct.prompting import PromptedModel
from reeltalk.construct.quality import unwritten_gate
from reeltalk.construct.settings import ConstructSettings, Step
from reeltalk.construct.writers import ProposesTags, Unwritten, Writer
from reeltalk.parallel import Executor
from reeltalk.parallel.threads import map_threads
from reeltalk.progress import Progress, unseen
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.gates import GateOutcome, GateResult, GateUnit
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import Record
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, GATES, VIDEOS, Table

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R", bound=Record)
C = TypeVar("C", QAChain, Dialogue)
Ask = Callable[[str, Sequence[bytes]], str]
"""Turns a prompt and encoded pictures into a reply; raises a `ReeltalkError` if the model fails."""
WRITER: Final = "writer"
"""Key in a row's `extra` that names its writer. Rows without it come from elsewhere and are never replaced."""


@dataclass
class ConstructRun:
    """One call of `construct`: the benchmark, the writer, and the models that check its work."""

    benchmark: Benchmark
    settings: ConstructSettings
    writer: Writer
    executor: Executor
    progress: Progress = unseen
    judges: tuple[PromptedModel, ...] = ()
    """Models that check what is written; the first one decides whether two answers say the same."""
    runs: tuple[Path, ...] = ()
    """Run folders whose scores show which turns are too easy."""
    probe: Ask | None = None
    """A model that answers turns without the video, and with the frames of their evidence."""
    probe_name: str | None = None
    probe_sees: bool = True
    """False if the probe and the attackers get no frames."""
    attackers: Mapping[str, Ask] = field(default_factory=dict)
    """Models by name that answer turns from the video; a turn that one of them answers is too easy."""
    prompts: Path | None = None
    """A user's own folder of prompts."""
    counter: StepCounter = field(default_factory=StepCounter)
    """Counts what the models of this call are asked."""
    retries: bool = False
    """True to run again each step that has results without a usable reply."""

    @property
    def equivalence(self) -> Equivalence:
        """Compares answers by the first judge; without one only typed and identical answers."""
        return Equivalence(self.judges[0] if self.judges else None)

    def videos(self) -> list[Video]:
        """The videos to write about, at most `limit`."""
        return list(islice(self.benchmark.read(VIDEOS), self.settings.limit))

    def clips(self) -> dict[str, list[Clip]]:
        """Clips by video in order of time. Clips without times keep the order of the table."""
        found: dict[str, list[Clip]] = {video.id: [] for video in self.videos()}
        for clip in self.benchmark.read(CLIPS):
            if clip.video_id in found:
                found[clip.video_id].append(clip)
        for clips in found.values():
            clips.sort(key=lambda clip: clip.interval.start_s if clip.interval else 0.0)
        return found

    def cost(self) -> StepCost:
        """The requests of the step that runs."""
        clips = self.clips()
        return StepCost(videos=len(clips), clips=sum(map(len, clips.values())), prompts=self.counter.asked)

    def written_rows(self, table: Table[R]) -> list[R]:
        """Rows of a table that a writer of ours wrote; all rows if there are none, as in an imported benchmark."""
        rows = list(self.benchmark.read(table))
        written = [row for row in rows if WRITER in row.extra]
        return written or rows

    def report_each(self, what: str, total: int) -> Callable[[], None]:
        """A function that reports that one more of `total` is done. Threads may call it."""
        lock, numbers = Lock(), count(1)

        def report() -> None:
            with lock:
                done = next(numbers)
                self.progress(what, done, total, done / total)

        return report

    def map_ordered(self, what: str | None, items: Sequence[T], work: Callable[[T], U]) -> Iterator[U]:
        """Apply `work` to all items in threads, and yield the results in the order of the items.

        Args:
            what: Name of the work in its progress; None if `work` reports by itself (`report_each`).
            items: The items.
            work: Applied to each.

        Raises:
            ReeltalkError: Whatever `work` raises, after the calls in progress have ended.
        """
        results: dict[int, U] = {}
        place = 0
        for done, (index, result) in enumerate(map_threads(work, items, self.writer.threads), 1):
            if what is not None:
                self.progress(what, done, len(items), done / len(items))
            results[index] = result
            while place in results:
                yield results.pop(place)
                place += 1


@dataclass
class StepResult:
    """The rows and gate results of a step."""

    rows: dict[Table[Any], list[Any]] = field(default_factory=dict)
    gates: list[GateResult] = field(default_factory=list)


@dataclass(frozen=True)
class StepSpec:
    """A step: its function, the tables it reads and writes, and the settings that change its result."""

    name: Step
    work: Callable[[ConstructRun], StepResult]
    reads: tuple[Table[Any], ...]
    writes: tuple[Table[Any], ...]
    settings: tuple[str, ...]
    """Names of the settings that change its result."""


def lacks_replies(benchmark: Benchmark, step: Step) -> bool:
    """True if a step got replies that cannot be used, so that something is unwritten or unchecked."""
    cost = step_costs(benchmark).get(step)
    if cost is not None and any(asked.unusable for asked in cost.prompts.values()):
        return True
    lacking = (GateOutcome.UNWRITTEN, GateOutcome.UNCHECKED)
    return any(
        gate.raw and gate.outcome in lacking for gate in benchmark.read(GATES) if gate.gate.startswith(f"{step}:")
    )


def with_tags(run: ConstructRun, unit: C, gates: list[GateResult]) -> C:
    """A chain or dialogue with CogME's tags and question types, if its writer proposes them. Nobody has verified them.

    Args:
        run: Holds the writer. The graph writer tags by rule while it writes, so it is not asked here.
        unit: The chain or dialogue.
        gates: Receives a result if no tags could be proposed.
    """
    if not isinstance(run.writer, ProposesTags):
        return unit
    turns = run.writer.propose_tags(unit.turns)
    if isinstance(turns, Unwritten):
        kind: GateUnit = "chain" if isinstance(unit, QAChain) else "dialogue"
        gates.append(unwritten_gate("tags", kind, unit.id, turns))
        return unit
    return unit.model_copy(update={"turns": turns})


def sign_rows(rows: Iterable[R], writer: str) -> list[R]:
    """The rows with the writer's signature in `extra`."""
    return [row.model_copy(update={"extra": row.extra | {WRITER: writer}}) for row in rows]
