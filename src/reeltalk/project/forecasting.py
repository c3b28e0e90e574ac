"""Forecast a project: the steps that would run, why, their requests to models, and the cost."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from reeltalk.project.records import MISSING, Fingerprints, read_records
from reeltalk.project.running import RunCommand, StepStatus, command_text, step_statuses
from reeltalk.project.steps import ProjectStep

FORECAST: Final = ("construct", "evaluate")
"""Sections whose commands can forecast with --plan."""


def forecast_arguments(step: ProjectStep) -> tuple[str, ...] | None:
    """The command line that forecasts a step; None if the step asks no model."""
    if step.section not in FORECAST or (step.section == "construct" and "writer" not in dict(step.options)):
        return None
    return (*step.words, "--plan", *(word for key, words in step.options if key != "out" for word in words))


def tell_plan(
    steps: Sequence[ProjectStep],
    found: Sequence[StepStatus],
    folder: Path,
    run_command: RunCommand,
    write: Callable[[str], None],
) -> int:
    """Print the steps that would run, and let the commands forecast their requests to models.

    Args:
        steps: All steps.
        found: The state of each step.
        folder: The project's folder.
        run_command: Runs a command line.
        write: Takes a line.

    Returns:
        The exit code: 0, or the exit code of a failed forecast.
    """
    prints = Fingerprints(folder, dict(read_records(folder).files))
    worst = 0
    to_come: set[str] = set()
    for step, standing in zip(steps, found, strict=True):
        if standing.kind == "done":
            write(f"{step.name}: {standing.why}, would not run")
            continue
        write(f"{step.name}: {standing.why}")
        write(f"  $ {command_text(step.arguments)}")
        asks = forecast_arguments(step)
        if asks is not None and any(read.path in to_come or prints.of(read) == MISSING for read in step.reads):
            write("  what it asks can be said when the steps before it are done")
        elif asks is not None:
            with contextlib.chdir(folder):
                worst = max(worst, run_command(asks))
        to_come.add(step.result)
    would = sum(standing.runs for standing in found)
    waits = sum(standing.kind == "waits" for standing in found)
    write(
        f"{would:,} of {len(steps):,} steps would run"
        + (f", and {waits:,} more if their input changes" if waits else "")
    )
    return worst


def status_lines(steps: Sequence[ProjectStep], folder: Path, version: str) -> tuple[list[str], bool]:
    """The state of each step, as lines of a table, and whether all steps are done.

    Args:
        steps: All steps.
        folder: The project's folder.
        version: This reeltalk's.
    """
    records = read_records(folder)
    found = step_statuses(tuple(steps), records, Fingerprints(folder, dict(records.files)), folder, version)
    wide = max((len(step.name) for step in steps), default=0)
    shown = max((len(step.result) for step in steps), default=0)
    lines = []
    for step, standing in zip(steps, found, strict=True):
        record = records.steps.get(step.name)
        when = f"{record.at:%Y-%m-%d %H:%M} UTC, {record.took_s:,.1f} s" if record and record.ended == "done" else ""
        where = step.result if step.whole(folder) else "-"
        parts = (
            f"{step.name:<{wide}}",
            f"{where:<{shown}}",
            f"{_STATES[standing.kind]:<11}",
            status_text(standing, when),
        )
        lines.append("  ".join(parts).rstrip())
    return lines, all(standing.kind == "done" for standing in found)


def status_text(standing: StepStatus, when: str) -> str:
    """The reason for a step's state, and its date if it is done."""
    parts: Iterator[str] = (part for part in (standing.why if standing.why != "done" else "", when) if part)
    return "; ".join(parts)


_STATES: Final = {
    "done": "done",
    "new": "to run",
    "changed": "out of date",
    "failed": "failed",
    "interrupted": "interrupted",
    "waits": "may change",
}
