"""The standings as a short text for a terminal: the verdict, a table and the worst types of questions."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import Final

from reeltalk.analysis.columns import items_of
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.reader_error import reader_errors
from reeltalk.analysis.standings import ROLES, Standing, Standings, find_standings, unread_counts, worst_types
from reeltalk.analysis.values import format_quoted, format_range, metric_heading
from reeltalk.errors import ReeltalkError
from reeltalk.schema.texts import printable
from reeltalk.store.manifest import MANIFEST, MEDIA
from reeltalk.store.runs import Run, runs_beside

MOST_LINES: Final = 8
"""Longest table, with its head."""
MOST_OTHER_RUNS: Final = 20
"""Most runs that are read beside the run."""
MOST_ANSWERS: Final = 100_000
"""Most answers that are compared, of all runs together."""
MOST_PATHS: Final = 4
"""Most runs in the next command."""
REASON_CHARS: Final = 40


def run_standings(run: Run) -> Standings:
    """The standings of a run's models, together with the runs on the same benchmark beside it.

    Runs beside it are those of `runs_beside`, as long as there are not so many that comparing them takes long.

    Raises:
        BenchmarkError: The run has no scores, or its tables do not have one order.
        InputError: A table is damaged.
    """
    runs, answers = [run], _answers(run)
    for other in runs_beside(run, MOST_OTHER_RUNS):
        answers += _answers(other)
        if answers > MOST_ANSWERS:
            break
        runs.append(other)
    if len(runs) > 1:
        try:
            return find_standings(build_leaderboard(runs))
        except ReeltalkError:
            # A run beside this one is damaged; its own commands say so.
            pass
    return find_standings(build_leaderboard([run]))


def standing_lines(found: Standings, run: Run) -> list[str]:
    """The verdict, a table of at most eight lines and the worst types of questions of a run's model."""
    if found.headline is None:
        return [found.verdict]
    metric = found.headline.metric
    header = ["", metric_heading(metric), "", "95 % interval", items_of(metric), "unscored", "above the floor"]
    rows = [_cells(row, metric, run) for row in _chosen(found, run)]
    table = [header, *rows]
    widths = [max(len(row[place]) for row in table) for place in range(len(header))]
    right = (2, 4)
    lines = [found.verdict, ""]
    for row in table:
        cells = [
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines += ["", *ledger_lines(found, run)]
    own = next((row for row in found.rows if row.model.run is run and row.value is not None), None)
    weak = worst_types(found.board, own.index, metric) if own is not None and own.role != "floor" else []
    if own is not None and weak:
        lines += ["", f"lowest question types of {own.title}:"]
    for one in weak:
        lines.append(f"   {one.title} ({one.kind}): {one.figures}")
    return [printable(line) for line in lines]


def ledger_lines(found: Standings, run: Run) -> list[str]:
    """What became of the due turns of a run's model, and what limits its numbers, as sentences."""
    lines = []
    for row in found.rows:
        counts = row.model.info.turns
        if row.model.run is not run or row.role == "floor" or not counts:
            continue
        parts = [f"{counts[name]:,} {name}" for name in ("answered", "empty", "failed", "missing") if counts.get(name)]
        unread, read = unread_counts(row.model)
        parts += [f"{unread:,} of {read:,} not read"] if read else []
        lines.append(f"{row.model.info.due:,} due turns of {row.title}: {', '.join(parts)}")
    errors = reader_errors([run], found.headline.metric) if found.headline is not None else []
    warnings = [line for line in found.warnings if "could not be read" in line or "covers" in line]
    return [*lines, *errors, *warnings]


def next_command(run: Run, found: Standings | None, *, can_retry: bool) -> str:
    """The command to give next."""

    def shown(path: Path) -> str:
        return shlex.quote(str(path))

    if can_retry:
        return f"ask again what failed: reeltalk retry {shown(run.path)}"
    if found is None or found.headline is None or found.headline.is_partial:
        return f"next: reeltalk judge {shown(run.path)} --protocols clair --judge NAME --out judged"
    runs = {one.path: one for one in (run, *(row.model.run for row in _chosen(found, run)))}
    if len(found.models) > 1:
        return f"next: reeltalk compare {' '.join(map(shown, [*runs][:MOST_PATHS]))}"
    return f"next: {report_command([*runs.values()][:MOST_PATHS])}"


def report_command(runs: Sequence[Run]) -> str:
    """The command that writes the site of runs, with their benchmark and its videos where both are still there."""
    words = ["reeltalk", "report", *(str(run.path) for run in runs)]
    named = {str(run.info.settings.get("benchmark_path") or "") for run in runs}
    if len(named) == 1 and (benchmark := Path(*named)) != Path() and (benchmark / MANIFEST).is_file():
        here = benchmark.relative_to(Path.cwd()) if benchmark.is_relative_to(Path.cwd()) else benchmark
        words += ["--bench", str(here)]
        if any((benchmark / MEDIA).glob("*")):
            words += ["--media", "cut"]
    return shlex.join([*words, "--out", "report"])


def _chosen(found: Standings, run: Run) -> Sequence[Standing]:
    """The rows to print: the run's own, the hardest baseline that does not see the video, and the best others."""
    own = [row for row in found.rows if row.model.run is run and row.role != "floor"]
    hardest = [row.above.over for row in own if row.above is not None]
    others = [row for row in found.rows if row not in own]
    others.sort(key=lambda row: (row.index not in hardest, list(ROLES).index(row.role), -(row.value or 0.0)))
    kept = [*own, *others][: MOST_LINES - 1]
    return [row for row in found.rows if row in kept]


def _cells(row: Standing, metric: str, run: Run) -> list[str]:
    role = "" if row.role == "model" else f" ({row.role})"
    mark = ">" if row.model.run is run and row.role != "floor" else " "
    above = "–" if row.above is None else "yes" if row.above.shown else "not shown"
    if row.above is not None and row.above.difference is None:
        above = "not comparable"
    unscored, reason = "0", shorten(row.reason, REASON_CHARS, placeholder=" …")
    if row.unscored:
        unscored = f"{row.unscored:,}: {reason}"
    if row.cell is None or row.value is None:
        value = "withheld" if row.cell is not None and row.cell.withheld else "not scored"
        n = "" if row.cell is None else f"{row.cell.row.n:,}"
        return [mark, f"{row.title}{role}", value, "", n, unscored if row.unscored else reason, above]
    interval = format_range(row.cell.row.low, row.cell.row.high, metric) or "none"
    return [
        mark, f"{row.title}{role}", format_quoted(row.value, metric).split(" on a scale")[0], interval,
        f"{row.cell.row.n:,}", unscored, above,
    ]  # fmt: skip


def _answers(run: Run) -> int:
    return sum(info.rows for info in run.info.models)
