"""Output of commands: messages, reports, progress, and the check for an existing file."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reeltalk.errors import BenchmarkError

if TYPE_CHECKING:
    from reeltalk.schema.outcomes import StageReport
    from reeltalk.stages.run import RunReport


def say(message: str) -> None:
    """Print a message that is not a result, on standard error."""
    print(message, file=sys.stderr, flush=True)


def refuse_existing(out: Path | None, *, overwrite: bool) -> None:
    """Raise `BenchmarkError` if a file exists and must not be replaced."""
    if out is not None and out.exists() and not overwrite:
        raise BenchmarkError(f"{out} exists; choose another file or pass --overwrite")


def print_report(report: "StageReport") -> None:
    """Print the report of a stage."""
    for line in report.lines():
        print(line)


def print_run(done: "RunReport", *, verbose: bool) -> int:
    """Print the result of a run and return the exit code: 1 if turns have no answer or no score.

    Args:
        done: The run: its standings beside the runs of the same benchmark in its folder.
        verbose: Also print every number and count of the run.
    """
    for line in (*(done.text if verbose else ()), *done.end_lines()):
        print(line)
    for warning in done.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return 0 if done.complete else 1


class ProgressBar:
    """Progress with the remaining time: a bar on a terminal, a line every ten seconds elsewhere."""

    EVERY_S = 10.0

    def __init__(self) -> None:
        self._what, self._last_s = "", 0.0
        self._bar: Any = None

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, what: str, done: int, total: int, share: float) -> None:
        """Show the progress of one part of the work; `share` is the share of all work, 0 to 1."""
        from tqdm import tqdm

        if not sys.stderr.isatty():
            now_s = time.monotonic()
            if what != self._what or done == total or now_s - self._last_s > self.EVERY_S:
                say(f"{what}: {done:,} of {total:,}")
                self._last_s = now_s
            self._what = what
            return
        if what != self._what:
            self.__exit__()
            layout = "{desc} |{bar}| {percentage:3.0f} % [{elapsed} gone, {remaining} left]"
            self._what = what
            self._bar = tqdm(total=1.0, file=sys.stderr, bar_format=layout, dynamic_ncols=True)
        assert self._bar is not None
        self._bar.set_description_str(f"{what}: {done:,} of {total:,}", refresh=False)
        self._bar.n = share
        self._bar.refresh()
