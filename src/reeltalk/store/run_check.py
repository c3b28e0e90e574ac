"""Whether a run is whole, and still about the benchmark that it was made on."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from reeltalk.errors import ReeltalkError
from reeltalk.schema.checks import Check
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run, read_run

HASH: Final = "benchmark"
"""Where a run's settings hold the hash of its benchmark."""


def check_run(path: Path, benchmarks: Sequence[Benchmark] = ()) -> Iterator[Check]:
    """Read every row of a run once.

    Args:
        path: The run's folder.
        benchmarks: Those that it may be about.
    """
    try:
        run = read_run(path)
        answers = sum(1 for _ in run.answers())
        scored = sum(1 for _ in run.item_scores())
        judged = {protocol: sum(1 for _ in run.judged(protocol)) for protocol in run.protocols()}
        len(run.groups())
    except (ReeltalkError, OSError) as error:
        advice = "make the run again, or take it from a copy"
        yield Check(area="runs", subject=str(path), status="problem", found=str(error), advice=advice)
        return
    if answers != scored:
        found = f"it has {answers:,} answers, and scores of {scored:,}"
        yield Check(area="runs", subject=str(path), status="problem", found=found, advice="score or judge it again")
    else:
        also = "".join(f", {count:,} scores of {protocol}" for protocol, count in judged.items())
        found = f"{answers:,} answers{also}, {len(run.summary):,} numbers, all readable"
        yield Check(area="runs", subject=str(path), status="ok", found=found)
    if benchmarks:
        yield _about(run, benchmarks)


def _about(run: Run, benchmarks: Sequence[Benchmark]) -> Check:
    made_on = run.info.settings.get(HASH)
    subject = str(run.path)
    if not isinstance(made_on, str):
        found = "it does not say which benchmark it was made on"
        return Check(area="runs", subject=subject, status="warning", found=found)
    for benchmark in benchmarks:
        if benchmark.manifest.content_hash == made_on:
            found = f"it was made on {benchmark.path} as that is now (#{made_on[:8]})"
            return Check(area="runs", subject=subject, status="ok", found=found)
    found = f"it was made on #{made_on[:8]}, which is not {' or '.join(_named(b) for b in benchmarks)}"
    advice = "the benchmark changed since, or is another; evaluate again, or name the release that the run was made on"
    return Check(area="runs", subject=subject, status="problem", found=found, advice=advice)


def _named(benchmark: Benchmark) -> str:
    return f"{benchmark.path} (#{benchmark.manifest.content_hash[:8]})"
