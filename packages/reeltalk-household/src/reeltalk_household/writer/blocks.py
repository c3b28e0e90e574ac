"""Writes about blocks of videos, each in a process of its own, on this machine or on a Ray cluster.

A block holds the same videos however many processes work, and the graph balances answers within a block. So the rows
are the same for any number of processes. Finished blocks are kept until the step has written its tables: a step that
was interrupted continues with the others.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from reeltalk._version import __version__
from reeltalk.errors import BenchmarkError, ReeltalkError
from reeltalk.parallel import Call, Failure, Limits, LocalExecutor
from reeltalk.schema.record import Json
from reeltalk.store.atomic import make_directory, storage_errors, sync_directory, write_bytes
from reeltalk.store.benchmark import GRAPHS, WORK, Benchmark
from reeltalk.store.tables import GATES, VIDEOS, write_rows
from reeltalk_build.construct.settings import ConstructSettings
from reeltalk_build.construct.stage import BLOCK_STEPS
from reeltalk_build.construct.step import ConstructRun, StepResult, StepSpec
from reeltalk_household.questions.asking import possible_answers
from reeltalk_household.questions.balancing import AnswerCounts
from reeltalk_household.writer.graph_writer import GraphWriter

BALANCED_STEPS: Final = frozenset({"chains", "dialogues"})
"""Steps for which the writer knows how often each answer is possible in all videos."""
LIMITS: Final = Limits(wall_s=24 * 3600.0, memory_bytes=4 << 30)
POSSIBLE: Final = "possible"


def write_in_blocks(run: ConstructRun, spec: StepSpec, parents: Mapping[str, str]) -> StepResult:
    """The rows of a step about all videos, in the order of the videos.

    Args:
        run: Its executor runs the blocks.
        spec: One of `BLOCK_STEPS`.
        parents: Hashes of what the step reads. Blocks that were written from the same are not written again.

    Raises:
        BenchmarkError: A block cannot be written. Those that are finished are kept.
    """
    folder = _folder_of(run.benchmark)
    with storage_errors(folder):
        make_directory(folder)
    possible = None
    if spec.name in BALANCED_STEPS:
        key = _key(run, [parents.get(f"{GRAPHS}/"), run.settings.seed, run.settings.limit, run.settings.block])
        possible = folder / f"{POSSIBLE}-{key}.json"
        for old in folder.glob(f"{POSSIBLE}-*"):
            if old != possible:
                old.unlink()
        if not possible.is_file():
            _count_possible(run, possible)
    kept = folder / f"{spec.name}-{_key(run, [dict(parents), _dump_settings(run.settings)])}"
    for old in folder.glob(f"{spec.name}-*"):
        if old != kept:
            shutil.rmtree(old)
    with storage_errors(kept):
        make_directory(kept)
    blocks = _blocks(run)
    left = [block for block in blocks if not (kept / _name(block)).is_dir()]
    calls = [
        _arguments(run, block) | {"step": spec.name, "into": str(kept), "possible": possible and str(possible)}
        for block in left
    ]
    _run_all(run, f"writing {spec.name}", "write_block", calls, len(blocks))
    tables = (*spec.writes, GATES)
    rows = {table: run.benchmark.spool(table.record) for table in tables}
    for block in blocks:
        for table in tables:
            rows[table].take(kept / _name(block) / table.file_name)
    gates = rows.pop(GATES)
    return StepResult(rows, gates)


def forget_blocks(benchmark: Benchmark, step: str) -> None:
    """Remove the finished blocks of a step, whose rows are in the benchmark's tables now."""
    for old in _folder_of(benchmark).glob(f"{step}-*"):
        shutil.rmtree(old, ignore_errors=True)


def write_block(argument: Any) -> Json:
    """Write about one block into a folder of its own, which appears whole; called in a process of its own.

    Returns:
        None, or the message of an error.
    """
    try:
        _write_block(argument)
    except ReeltalkError as error:
        return str(error)
    return None


def count_block(argument: Any) -> Json:
    """The answers that the videos of a block can have, as `AnswerCounts.to_json`, or the message of an error."""
    settings = ConstructSettings.model_validate(argument["settings"])
    try:
        counts = possible_answers(
            Benchmark.open(argument["benchmark"]), seed=settings.seed, among=slice(*argument["block"])
        )
    except ReeltalkError as error:
        return str(error)
    return counts.to_json()


def _write_block(argument: Any) -> None:
    spec, (start, stop) = BLOCK_STEPS[argument["step"]], argument["block"]
    into = Path(argument["into"]) / _name((start, stop))
    if into.is_dir():
        return
    benchmark, settings = Benchmark.open(argument["benchmark"]), ConstructSettings.model_validate(argument["settings"])
    possible = None
    if argument["possible"] is not None:
        possible = AnswerCounts.from_json(json.loads(Path(argument["possible"]).read_bytes()))
    among = frozenset(row["id"] for row in benchmark.table(VIDEOS)[start:stop].raw())
    writer = GraphWriter(benchmark, settings, graphs_needed=False, possible=possible, among=among)
    made = spec.work(ConstructRun(benchmark, settings, writer, LocalExecutor(1), block=(start, stop)))
    partial = into.with_name(f".{into.name}-{os.uname().nodename}-{os.getpid()}")
    with storage_errors(partial):
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        for table, rows in (*made.rows.items(), (GATES, made.gates)):
            with (partial / table.file_name).open("wb") as stream:
                write_rows(stream, rows)
                stream.flush()
                os.fsync(stream.fileno())
        sync_directory(partial)
        try:
            partial.rename(into)
        except OSError:
            # The same block, written by a task that was started twice.
            if not into.is_dir():
                raise
            shutil.rmtree(partial)


def _count_possible(run: ConstructRun, path: Path) -> None:
    counts = AnswerCounts()
    found = _run_all(run, "counting possible answers", "count_block", [_arguments(run, b) for b in _blocks(run)])
    for _, part in sorted(found.items()):
        counts.update(AnswerCounts.from_json(part))
    write_bytes(path, json.dumps(counts.to_json(), ensure_ascii=False).encode())


def _run_all(
    run: ConstructRun, what: str, function: str, arguments: list[dict[str, Json]], total: int | None = None
) -> dict[int, Any]:
    """The results of calls by their place; what was done before counts as done in the progress."""
    of = total or len(arguments)
    done, found = of - len(arguments), {}
    calls = (Call(argument, LIMITS) for argument in arguments)
    for place, outcome in run.executor.map(f"{__name__}:{function}", calls):
        if isinstance(outcome, Failure | str):
            first, last = arguments[place]["block"]
            raise BenchmarkError(
                f"{what} of videos {first + 1} to {last} failed: {outcome}; the blocks that are finished are kept, and "
                "the same command continues"
            )
        found[place], done = outcome, done + 1
        run.progress(what, done, of, done / of)
    return found


def _arguments(run: ConstructRun, block: tuple[int, int]) -> dict[str, Json]:
    return {
        "benchmark": str(run.benchmark.path.resolve()),
        "settings": run.settings.model_dump(mode="json"),
        "block": [*block],
    }


def _blocks(run: ConstructRun) -> list[tuple[int, int]]:
    videos, size = len(run.videos), run.settings.block
    return [(start, min(start + size, videos)) for start in range(0, videos, size)]


def _name(block: tuple[int, int]) -> str:
    return f"videos-{block[0]:08d}-{block[1]:08d}"


def _folder_of(benchmark: Benchmark) -> Path:
    return benchmark.path / WORK / "construct"


def _dump_settings(settings: ConstructSettings) -> dict[str, Json]:
    values = settings.model_dump(mode="json")
    if settings.targets is not None:
        values["targets"] = settings.targets.read_text(encoding="utf-8")
    return values


def _key(run: ConstructRun, parts: list[Any]) -> str:
    text = json.dumps([__version__, run.writer.signature, *parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
