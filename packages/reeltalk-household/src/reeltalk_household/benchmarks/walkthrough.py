"""Parts of the demo: numbered steps, runs that resume, and one site at the end."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from reeltalk.evaluation.settings import RunConfig
from reeltalk.evaluation.signing import run_request
from reeltalk.pages.cover import Cover, write_cover
from reeltalk.pages.settings import ReportSettings
from reeltalk.progress import Progress, Tell
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.stages import evaluate, report
from reeltalk.stages.run import add_controls, report_of
from reeltalk.store.atomic import write_bytes, writing_directory
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.documents import read_json
from reeltalk.store.manifest import hash_file
from reeltalk.store.runs import INFO, REQUEST, Run, read_run
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, LINKAGES, PATHS, REJECTED, SHOTS, VIDEOS

MADE_FROM: Final = "made-from.txt"


class Steps:
    """Prints the number of each step, the total, and the step's results.

    Args:
        total: Number of steps.
        tell: Receives a line when a step begins, and a line with its result.
        progress: Receives the progress of the step.
    """

    def __init__(self, total: int, *, tell: Tell, progress: Progress) -> None:
        self._total, self._tell, self._progress = total, tell, progress
        self._number = 0

    def begin(self, what: str) -> Progress:
        """Begin the next step.

        Args:
            what: What it does, such as `film 14 scenarios`.

        Returns:
            The progress callback for the step.
        """
        self._number += 1
        head = f"step {self._number} of {self._total}"
        self._tell(f"{head}: {what}")
        return lambda part, done, total, share: self._progress(f"{head}, {part}", done, total, share)

    def say(self, line: str) -> None:
        """Print a result of the step."""
        self._tell(f"  {line}")


def evaluate_or_resume(benchmark: Benchmark, out: Path, config: RunConfig, *, progress: Progress) -> Run:
    """Make a run. A complete run with the same settings is reused, and an unfinished one continues.

    Raises:
        ReeltalkError: As `reeltalk.stages.evaluate`.
    """
    before = read_json(out / REQUEST) if (out / REQUEST).is_file() else {}
    is_same = bool(before == run_request(config, benchmark.manifest.content_hash, None))
    if is_same and (out / INFO).is_file() and set(config.controls) <= set((run := read_run(out)).controls()):
        if not add_controls(report_of(run)).can_retry:
            return run
    return evaluate(benchmark, config, out=out, overwrite=bool(before) and not is_same, progress=progress).run


def write_site(
    site: Path,
    benchmark: Benchmark,
    groups: Mapping[str, Sequence[Run]],
    cover: Cover,
    *,
    metrics: Mapping[str, str],
    settings: ReportSettings,
    progress: Progress,
) -> Path:
    """Write the cover, the benchmark's pages and a report for each group of runs into one folder, all or nothing.

    Returns:
        Path of `index.html`.
    """
    runs = {
        name: [hash_file(one.path / INFO)[0] for run in found for one in (run, *run.controls().values())]
        for name, found in groups.items()
    }
    parts = [benchmark.manifest.content_hash, runs, repr(cover), dict(metrics), settings.model_dump(mode="json")]
    made_from = hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    stamp = site / MADE_FROM
    if stamp.is_file() and stamp.read_text(encoding="utf-8").strip() == made_from:
        return site / "index.html"
    with writing_directory(site, overwrite=True, lasting=False) as folder:
        total = 1 + len(groups)
        progress("writing pages", 0, total, 0.0)
        report(benchmark, out=folder / "benchmark")
        progress("writing pages", 1, total, 1 / total)
        for done, (name, found) in enumerate(groups.items(), 2):
            report(*found, out=folder / name, settings=settings, benchmark=benchmark)
            progress("writing pages", done, total, done / total)
        write_cover(cover, folder, groups, metrics, benchmark)
        write_bytes(folder / MADE_FROM, f"{made_from}\n".encode())
    return site / "index.html"


def curation_summary(benchmark: Benchmark) -> str:
    """Describe in words which videos and clips curation kept."""
    kept, gone = benchmark.rows(VIDEOS), list(benchmark.read(REJECTED))
    reasons = "; ".join(f"{row.record_id}: {row.reason}" for row in gone)
    told = f"{kept:,} of {kept + len(gone):,} videos kept"
    told += f", {benchmark.rows(SHOTS):,} shots, {benchmark.rows(CLIPS):,} clips"
    return f"{told}. Rejected: {reasons}" if gone else told


def construction_summary(benchmark: Benchmark) -> str:
    """Describe in words which dialogues construction wrote."""
    units: list[QAChain | Dialogue] = [*benchmark.read(CHAINS), *benchmark.read(DIALOGUES)]
    checklists = sum(turn.checklist is not None for unit in units for turn in unit.turns)
    counts = {
        "question chains": benchmark.rows(CHAINS),
        "linkages": benchmark.rows(LINKAGES),
        "dialogue paths": benchmark.rows(PATHS),
        "dialogues": benchmark.rows(DIALOGUES),
        "turns": sum(len(unit.turns) for unit in units),
        "checklists": checklists,
    }
    return ", ".join(f"{count:,} {what}" for what, count in counts.items())
