"""Decide which steps of a project must run, forecast them, and run them, one command line after the other."""

import contextlib
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from filelock import FileLock, Timeout

from reeltalk.errors import BenchmarkError, SettingError, UnusableError
from reeltalk.extension import PYTHON_PREFIX
from reeltalk.stages.failures import outlook_of
from reeltalk.store.atomic import storage_errors
from reeltalk.store.benchmark import WORK, Benchmark
from reeltalk.store.manifest import MANIFEST, read_manifest
from reeltalk_build.project.records import (
    HIDDEN,
    MISSING,
    Ended,
    Fingerprints,
    ProjectRecords,
    StepRecord,
    read_records,
    write_records,
)
from reeltalk_build.project.sections import SOURCES
from reeltalk_build.project.steps import ProjectStep

Kind = Literal["done", "new", "changed", "failed", "interrupted", "waits"]


@dataclass(frozen=True)
class StepStatus:
    """State of a step."""

    kind: Kind
    """`waits`: its inputs have not changed yet, but an earlier step must still run."""
    why: str

    @property
    def runs(self) -> bool:
        """Whether it must run."""
        return self.kind not in ("done", "waits")


def step_status(
    step: ProjectStep, record: StepRecord | None, reads: dict[str, str], folder: Path, version: str
) -> StepStatus:
    """Decide whether a step must run."""
    if record is None:
        return StepStatus("new", "not run yet")
    if record.ended == "failed":
        return StepStatus("failed", f"failed when it was last run (exit code {record.code})")
    if record.ended != "done":
        return StepStatus("interrupted", "was interrupted, and continues")
    if not step.whole(folder):
        return StepStatus("changed", f"its result, {step.result}, does not exist")
    if record.version != version:
        return StepStatus("changed", f"reeltalk was {record.version} and is {version}")
    if record.decides != step.decides:
        return StepStatus("changed", _difference(record.decides, step.decides))
    differing = [path for path, sha256 in reads.items() if record.reads.get(path) != sha256]
    if differing:
        return StepStatus("changed", f"{' and '.join(differing)} {'has' if len(differing) == 1 else 'have'} changed")
    if record.code and step.kind == "run":
        outlook = outlook_of(folder / step.result)
        if outlook == "worth a retry":
            return StepStatus("failed", "turns or judgings in it failed, and are repeated")
        if outlook == "whole":
            return StepStatus("changed", "its failed requests were repeated since")
    return StepStatus("done", "done, with findings" if record.code else "done")


def _difference(before: tuple[str, ...], now: tuple[str, ...]) -> str:
    came = [part for part in now if part not in before]
    went = [part for part in before if part not in now]
    parts = [f"now {', '.join(came)}"] if came else []
    parts += [f"before {', '.join(went)}"] if went else []
    return "; ".join(parts) or "its settings are in another order"


def step_statuses(
    steps: tuple[ProjectStep, ...], records: ProjectRecords, prints: Fingerprints, folder: Path, version: str
) -> list[StepStatus]:
    """The current state of all steps. A step waits if it depends on a step that must run."""
    found: list[StepStatus] = []
    to_come: dict[str, str] = {}
    for step in steps:
        reads = {read.path: prints.of(read) for read in step.reads}
        now = step_status(step, records.steps.get(step.name), reads, folder, version)
        rests_on = next((to_come[path] for path in reads if path in to_come), None)
        if now.kind == "done" and rests_on is not None:
            now = StepStatus("waits", f"runs again if {rests_on} changes what it reads")
        if now.kind != "done":
            to_come[step.result] = step.name
        found.append(now)
    return found


EXIT_INTERRUPTED: Final = 130
EXIT_FINDINGS: Final = 1
REVIEWED: Final = "review"
"""First word of the stages that write people's decisions into a benchmark."""
RunCommand = Callable[[Sequence[str]], int]
"""Runs a command line without its first word, `reeltalk`, and returns the exit code; raises `UnusableError` if a
model's replies stopped it."""
Say = Callable[[str], None]


@dataclass(frozen=True)
class StepChoice:
    """The steps that a run selects."""

    only: tuple[str, ...] = ()
    """Run only these steps."""
    since: str | None = None
    """Run this step and the steps after it."""
    force: tuple[str, ...] = ()
    """Steps to run even if nothing changed."""


def command_text(arguments: Sequence[str]) -> str:
    """A command line as text for a shell."""
    return shlex.join(["reeltalk", *arguments])


def choose_steps(steps: tuple[ProjectStep, ...], chosen: StepChoice) -> tuple[ProjectStep, ...]:
    """The steps that a choice selects.

    Raises:
        SettingError: There is no step of a name, or other options leave it out.
    """
    for option, name in (
        *(("only", name) for name in chosen.only),
        *(("force", name) for name in chosen.force),
        *((("from", chosen.since),) if chosen.since else ()),
    ):
        if not any(step.is_called(name) for step in steps):
            names = ", ".join(step.name for step in steps)
            raise SettingError(f"--{option} {name}: the project has no such step; it has {names}")
    first = 0
    if chosen.since:
        first = next(place for place, step in enumerate(steps) if step.is_called(chosen.since))
    wanted = [step for step in steps[first:] if not chosen.only or any(step.is_called(name) for name in chosen.only)]
    for option, name in (*(("only", name) for name in chosen.only), *(("force", name) for name in chosen.force)):
        if not any(step.is_called(name) for step in wanted):
            raise SettingError(f"--{option} {name}: other options leave that step out; remove one of them")
    return tuple(wanted)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Lock the project, so that two runs cannot write into the same folders."""
    with storage_errors(folder):
        (folder / HIDDEN).mkdir(exist_ok=True)
    lock = FileLock(folder / HIDDEN / "lock", timeout=0)
    with storage_errors(folder):
        try:
            lock.acquire()
        except Timeout:
            raise BenchmarkError(f"another process is running the project in {folder}; wait for its end") from None
    try:
        yield
    finally:
        lock.release()


class Runner:
    """Runs a project's steps in its folder and records each result."""

    def __init__(self, folder: Path, run_command: RunCommand, say: Say, *, version: str) -> None:
        """Create a runner."""
        self._folder, self._run_command, self._say, self._version = folder, run_command, say, version
        self.ran: list[str] = []
        """Steps that ran to their end."""
        self._records = ProjectRecords()
        self._prints = Fingerprints(folder, {})

    def run(self, steps: tuple[ProjectStep, ...], chosen: StepChoice) -> int:
        """Run the steps that must run.

        Returns:
            The exit code: 0; 1 if a step had findings; or the exit code of the step that stopped the run.

        Raises:
            SettingError: A named step does not exist, or the other options leave it out.
            BenchmarkError: Another process runs the project, or the run would overwrite reviewed work.
        """
        wanted = choose_steps(steps, chosen)
        with _alone(self._folder), contextlib.chdir(self._folder):
            self._records = read_records(self._folder)
            self._prints = Fingerprints(self._folder, dict(self._records.files))
            self.ran.clear()
            findings = []
            for number, step in enumerate(wanted, 1):
                now = self._standing(step)
                forced = any(step.is_called(name) for name in chosen.force)
                count = f"[{number}/{len(wanted)}] {step.name}"
                if not now.runs and not forced:
                    self._say(f"{count}: {now.why}, nothing changed")
                else:
                    self._say(f"{count}: {now.why if now.runs else 'forced'}")
                    ended, code = self._step(step, forced=forced)
                    if ended != "done":
                        self._tell_stopped(step, code, len(wanted) - number)
                        return code
                    self.ran.append(step.name)
                if self._records.steps[step.name].code:
                    findings.append(step.name)
            ran = len(self.ran)
            ending = f"{ran:,} of {len(wanted):,} steps were run, {len(wanted) - ran:,} were done already"
            if findings:
                ending += f"; findings in {', '.join(findings)}"
            self._say(ending)
            return EXIT_FINDINGS if findings else 0

    def _tell_stopped(self, step: ProjectStep, code: int, left: int) -> None:
        after = f"; {left:,} {'step is' if left == 1 else 'steps are'} left after it" if left else ""
        if code == EXIT_INTERRUPTED:
            self._say(f"stopped in {step.name}{after}; 'reeltalk run' goes on from here")
        else:
            self._say(f"{step.name} failed{after}; fix the problem above, then 'reeltalk run' continues from here")

    def _reads(self, step: ProjectStep) -> dict[str, str]:
        return {read.path: self._prints.of(read) for read in step.reads}

    def _standing(self, step: ProjectStep) -> StepStatus:
        record = self._records.steps.get(step.name)
        return step_status(step, record, self._reads(step), self._folder, self._version)

    def _step(self, step: ProjectStep, *, forced: bool) -> tuple[Ended, int]:
        before = self._records.steps.get(step.name)
        arguments = step.arguments
        if step.section in SOURCES:
            self._make_room(step, before, forced=forced)
        if step.replaces and self._is_to_be_replaced(step, before, forced=forced):
            arguments = (*arguments, "--overwrite")
        self._say(f"$ {command_text(arguments)}")
        at, clock = datetime.now(UTC), time.monotonic()
        ended: Ended = "begun"
        code = 0
        rests_on = self._reads(step)
        self._remember(step, ended, code, at, 0.0, rests_on)
        try:
            code = self._run_command(arguments)
            ended = "interrupted" if code == EXIT_INTERRUPTED else "done" if code in (0, EXIT_FINDINGS) else "failed"
        except UnusableError as error:
            self._say(" ".join(str(error).split()))
            ended, code = "failed", EXIT_FINDINGS
        except KeyboardInterrupt:
            ended, code = "interrupted", EXIT_INTERRUPTED
        finally:
            # A file that changed during the run may not have been read, so only the hash of the step's result is new.
            rests_on |= {path: sha256 for path, sha256 in self._reads(step).items() if path == step.result}
            self._remember(step, ended, code, at, time.monotonic() - clock, rests_on)
        return ended, code

    def _is_to_be_replaced(self, step: ProjectStep, before: StepRecord | None, *, forced: bool) -> bool:
        """Whether the existing result is the project's own and must be replaced, not continued."""
        if not (self._folder / step.result).exists():
            return False
        if forced:
            return True
        if before is None:  # not made by this project; the command reports it
            return False
        if before.decides != step.decides or before.reads != self._reads(step):
            return True
        # The command of a run repeats failed requests itself.
        asks_again = step.kind in ("run", "stream") and before.version == self._version and before.ended == "done"
        return step.whole(self._folder) and not asks_again

    def _make_room(self, step: ProjectStep, before: StepRecord | None, *, forced: bool) -> None:
        """Move a complete benchmark away before a new one starts in its place; an unfinished one is continued."""
        path = self._folder / step.result
        kept = {n: r for n, r in self._records.steps.items() if n == step.name or r.result != step.result}
        self._records = ProjectRecords(steps=kept, files=self._prints.files)
        whole = (path / MANIFEST).is_file() and bool(files := read_manifest(path).files)
        if not whole or not (forced or (before is not None and before.ended == "done")):
            return
        if not forced and all(entry.stage.split(" ")[0] == step.section for entry in files.values()):
            return  # curate and import replace their own tables, unless it was filmed or extended
        if not forced and any(entry.stage.split(" ")[0] == REVIEWED for entry in files.values()):
            raise BenchmarkError(
                f"{step.result} holds reviewed work, and {step.name} would replace it; "
                f"'reeltalk run --force {step.name}' does so and sets it aside"
            )
        number = next(n for n in range(1, 1_000_000) if not path.with_name(f"{path.name}.before-{n}").exists())
        aside = path.with_name(f"{path.name}.before-{number}")
        with storage_errors(path):
            path.rename(aside)
            # The stored work of stages, such as replies that were paid for, is used for the new benchmark too.
            if (aside / WORK).is_dir():
                Benchmark.create(path)
                shutil.move(aside / WORK, path / WORK)
        self._say(f"{step.result} is set aside as {aside.name}; delete it when you no longer need it")

    def _remember(
        self, step: ProjectStep, ended: Ended, code: int, at: datetime, took_s: float, reads: dict[str, str]
    ) -> None:
        steps: Mapping[str, StepRecord] = self._records.steps | {
            step.name: StepRecord(
                ended=ended,
                code=code,
                decides=step.decides,
                reads=reads,
                version=self._version,
                at=at,
                took_s=round(took_s, 3),
                result=step.result,
            )
        }
        self._records = ProjectRecords(steps=dict(steps), files=self._prints.files)
        write_records(self._folder, self._records)


FORECAST_SECTIONS: Final = ("construct", "evaluate")
"""Sections whose commands can forecast with --plan."""


def forecast_arguments(step: ProjectStep) -> tuple[str, ...] | None:
    """The command line that forecasts a step; None if the step asks no model."""
    if step.section not in FORECAST_SECTIONS or (step.section == "construct" and "writer" not in dict(step.options)):
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
            write("  its requests can be forecast when the steps before it are done")
        elif asks is not None and any(PYTHON_PREFIX in word for word in asks):
            write("  its requests are not forecast: that would run the code that it names, and --plan runs none")
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
    """The state of each step, as lines of a table, and whether all steps are done."""
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
            "; ".join(part for part in (standing.why if standing.why != "done" else "", when) if part),
        )
        lines.append("  ".join(parts).rstrip())
    return lines, all(standing.kind == "done" for standing in found)


_STATES: Final = {
    "done": "done",
    "new": "to run",
    "changed": "out of date",
    "failed": "failed",
    "interrupted": "interrupted",
    "waits": "may change",
}
