"""The input and the result of a construction step."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

from reeltalk.parallel import Executor
from reeltalk.progress import Progress, Tell, ignore_progress, ignore_sentences
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import Record
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.rows import Rows, SpooledRows
from reeltalk.store.tables import CLIPS, GATES, VIDEOS, Table
from reeltalk_build.construct.equivalence import Equivalence
from reeltalk_build.construct.gate_results import Subject
from reeltalk_build.construct.prompting import UNSEEN, PromptedModel
from reeltalk_build.construct.retries import ReplyWatch
from reeltalk_build.construct.settings import ConstructSettings, Step
from reeltalk_build.construct.writers import Unwritten, Writer
from reeltalk_build.threads import map_threads

T = TypeVar("T")
U = TypeVar("U")
R = TypeVar("R", bound=Record)
C = TypeVar("C", QAChain, Dialogue)
Ask = Callable[[str, Sequence[bytes]], str]
"""Turns a prompt and encoded pictures into a reply; raises a `ReeltalkError` if the model fails."""
WRITER: Final = "writer"
"""Key in a row's `extra` that names its writer. Rows without it come from elsewhere and are never replaced."""


@dataclass(frozen=True)
class BlockWriting:
    """How a writer writes about many videos, a block of them in each process."""

    write: "Callable[[ConstructRun, StepSpec, Mapping[str, str]], StepResult]"
    """The rows of a step about all videos; the mapping holds the hashes of what the step reads."""
    forget: Callable[[Benchmark, str], None]
    """Removes the finished blocks of a step, whose rows are in the benchmark's tables now."""


@dataclass
class ConstructRun:
    """One call of `construct`: the benchmark, the writer, and the models that check its work."""

    benchmark: Benchmark
    settings: ConstructSettings
    writer: Writer
    executor: Executor
    progress: Progress = ignore_progress
    tell: Tell = ignore_sentences
    """Receives the lines of a table that explains why a step stops."""
    judges: tuple[PromptedModel, ...] = ()
    """Models that check what is written; the first one decides whether two answers say the same."""
    probe: Ask | None = None
    """A model that answers turns without the video, and with the frames of their evidence."""
    probe_name: str | None = None
    probe_sees: bool = True
    """False if the probe and the attackers get no frames."""
    attackers: Mapping[str, Ask] = field(default_factory=dict)
    """Models by name that answer turns from the video; a turn that one of them answers is too easy."""
    canaries: bool = True
    """False to take the writer's judges as they are; otherwise they first read turns that were changed to be wrong."""
    prompts: Path | None = None
    """A user's own folder of prompts."""
    watch: ReplyWatch = field(default_factory=ReplyWatch)
    """Stops a step whose first replies cannot be used."""
    retries: bool = False
    """True to run again each step that has results without a usable reply."""
    blocks: "BlockWriting | None" = None
    """Writes about many videos in several processes, for a writer that can."""
    block: tuple[int, int] | None = None
    """Index of the first video to write about, and that after the last; None for all."""

    @property
    def equivalence(self) -> Equivalence:
        """Compares answers by the first judge; without one only typed and identical answers."""
        return Equivalence(self.judges[0] if self.judges else None)

    @cached_property
    def videos(self) -> Sequence[Video]:
        """The videos to write about: at most `limit`, and only those of `block`."""
        return self.benchmark.table(VIDEOS)[: self.settings.limit][slice(*(self.block or (None, None)))]

    @cached_property
    def among(self) -> frozenset[str] | None:
        """The identifiers of `videos`, for a run about a block; None for a run about all videos."""
        return None if self.block is None else frozenset(video.id for video in self.videos)

    @cached_property
    def _clips(self) -> Mapping[str, Sequence[Clip]]:
        return self.benchmark.table(CLIPS, among=self.among).grouped()

    @cached_property
    def clip_count(self) -> int:
        """Number of the clips of these videos."""
        return sum(len(self._clips.get(video.id, ())) for video in self.videos)

    def clips_of(self, video_id: str) -> list[Clip]:
        """The clips of a video in order of time. Clips without times keep the order of the table."""
        clips = self._clips.get(video_id, ())
        return sorted(clips, key=lambda clip: clip.interval.start_s if clip.interval else 0.0)

    def written_rows(self, table: Table[R]) -> Rows[R]:
        """Rows of a table that a writer of ours wrote; all rows if there are none, as in an imported benchmark."""
        rows = self.benchmark.table(table, among=self.among)
        written = rows.where(is_written)
        if not written and (self.among is None or not self.benchmark.table(table).where(is_written)):
            return rows[:]
        return written

    def spooled(self, *tables: Table[Any]) -> "StepResult":
        """A result whose rows and gate results are put into files as they come."""
        return StepResult({table: self.benchmark.spool(table.record) for table in tables},
                          self.benchmark.spool(GateResult))  # fmt: skip

    def report_each(self, what: str, total: int) -> Callable[[], None]:
        """A function that reports that one more of `total` is done. Threads may call it."""
        lock, numbers = Lock(), count(1)

        def report() -> None:
            with lock:
                done = next(numbers)
                self.progress(what, done, total, done / total)

        return report

    def map_ordered(
        self, what: str | None, items: Iterable[T], work: Callable[[T], U], *, total: int | None = None
    ) -> Iterator[U]:
        """Apply `work` to all items in threads, and yield the results in the order of the items.

        `what` names the work in its progress; None if `work` reports by itself. Items without a length need a `total`.

        Raises:
            ReeltalkError: Whatever `work` raises, after the calls in progress have ended.
        """
        results: dict[int, U] = {}
        place, of = 0, total or (len(items) if isinstance(items, Sized) else 1)
        for done, (index, result) in enumerate(map_threads(work, items, self.writer.threads), 1):
            if what is not None:
                self.progress(what, done, of, done / of)
            results[index] = result
            while place in results:
                yield results.pop(place)
                place += 1

    def collect(
        self,
        what: str | None,
        items: Iterable[T],
        work: Callable[[T], tuple[*tuple[Sequence[Any], ...], Sequence[GateResult]]],
        *tables: Table[Any],
        total: int | None = None,
        signature: str | None = None,
    ) -> "StepResult":
        """The rows and gate results that `work` gives about all items, in their order, in files."""
        made = self.spooled(*tables)
        for *parts, gates in self.map_ordered(what, items, work, total=total):
            for table, rows in zip(tables, parts, strict=True):
                made.rows[table] += sign_rows(rows, signature or self.writer.signature)
            made.gates.extend(gates)
        return made


GateResults = list[GateResult] | SpooledRows[GateResult]


@dataclass
class StepResult:
    """The rows and gate results of a step."""

    rows: dict[Table[Any], Any] = field(default_factory=dict)
    """Sequences of rows, in memory or in files."""
    gates: GateResults = field(default_factory=list)


@dataclass(frozen=True)
class StepSpec:
    """A step: its function, the tables it reads and writes, and the settings that change its result."""

    name: Step
    work: Callable[[ConstructRun], StepResult]
    reads: tuple[Table[Any], ...]
    writes: tuple[Table[Any], ...]
    settings: tuple[str, ...]
    """Names of the settings that change its result."""
    join: Callable[[ConstructRun, StepResult], StepResult] = lambda run, made: made
    """Compares the results of all videos, and gives the rows to write."""


def is_written(row: Mapping[str, Any]) -> bool:
    """True for a row, as a JSON object, that a writer of ours wrote."""
    return WRITER in row.get("extra", ())


def lacks_replies(benchmark: Benchmark, step: Step) -> bool:
    """True if a step got replies that cannot be used, so that something is unwritten or unchecked."""
    lacking = (GateOutcome.UNWRITTEN, GateOutcome.UNCHECKED)
    return any(
        gate.raw and gate.outcome in lacking for gate in benchmark.read(GATES) if gate.gate.startswith(f"{step}:")
    )


def unseen_parts(benchmark: Benchmark, step: Step) -> Iterator[str]:
    """A line for each part of a video about which a step wrote nothing, since its film cannot be shown."""
    for gate in benchmark.read(GATES):
        if gate.gate.startswith(f"{step}:") and UNSEEN in (gate.reason or ""):
            yield f"{gate.unit} {gate.unit_id}: {gate.reason}"


def with_tags(run: ConstructRun, unit: C, gates: GateResults) -> C:
    """A chain or dialogue with the tags of CogME and the question types that its writer proposes, as unverified."""
    turns = run.writer.propose_tags(unit.turns)
    if isinstance(turns, Unwritten):
        gates.append(Subject.of(unit).unwritten("tags", turns))
        return unit
    return unit.model_copy(update={"turns": turns})


def sign_rows(rows: Iterable[R], writer: str) -> list[R]:
    """The rows with the writer's signature in `extra`."""
    return [row.model_copy(update={"extra": row.extra | {WRITER: writer}}) for row in rows]
