"""Output of commands: messages, reports, progress, and the check for an existing file."""

import contextlib
import logging
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO, cast

from reeltalk.errors import BenchmarkError
from reeltalk.store.atomic import write_bytes
from reeltalk.store.consent import consent_error
from reeltalk.store.manifest import REPORT

if TYPE_CHECKING:
    from reeltalk.stages.run import RunReport
    from reeltalk.store.runs import Run


class Report(Protocol):
    """A result that a stage reports in lines of text."""

    def lines(self, *, shown: int | None = ..., listed: Path | None = ...) -> Iterable[str]:
        """The lines, as those of `StageReport`."""


def say(message: str) -> None:
    """Print a message that is not a result, on standard error."""
    print(message, file=sys.stderr, flush=True)


def ask_consent(lines: str) -> bool:
    """Ask a person at a terminal about what a folder names; elsewhere raise an error with the command that agrees."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        again = shlex.join(["reeltalk", *sys.argv[1:], "--trust"])
        raise consent_error(lines, f"if you agree to all of it: {again}")
    say(f"{lines}\nDo it? [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def refuse_existing(out: Path | None, *, overwrite: bool) -> None:
    """Raise `BenchmarkError` if a file exists and must not be replaced."""
    if out is not None and out.exists() and not overwrite:
        raise BenchmarkError(f"{out} exists; choose another file or pass --overwrite")


def whole_runs(runs: "Sequence[Path]", *, strict: bool) -> "tuple[Sequence[Run | Path], int]":
    """The runs that can be read, and the exit code: 1 if one of several is damaged, which is reported and left out.

    Raises:
        ReeltalkError: None can be read, or one is damaged and `strict`.
    """
    from reeltalk.stages.reporting import readable_runs

    whole, faults = (runs, []) if strict else readable_runs(runs)
    for fault in faults:
        say(f"left out: {fault}")
    return whole, 1 if faults else 0


def print_report(report: Report, folder: Path) -> None:
    """Print the report of a stage; if it is long, its beginning, and write the whole into the benchmark's folder."""
    shown = list(report.lines(listed=folder / REPORT))
    whole = list(report.lines(shown=None))
    if shown != whole:
        write_bytes(folder / REPORT, "\n".join([*whole, ""]).encode())
    print(*shown, sep="\n")


def print_some(lines: Sequence[str], folder: Path, *, most: int = 10) -> None:
    """Print some lines; if there are more, write all into a file of the benchmark's folder and name it."""
    print(*lines[:most], sep="\n", end="\n" if lines else "")
    if len(lines) > most:
        write_bytes(folder / REPORT, "\n".join([*lines, ""]).encode())
        print(f"  … and {len(lines) - most:,} more: all are in {folder / REPORT}")


def print_run(done: "RunReport", *, verbose: bool) -> int:
    """Print the result of a run and return the exit code: 1 if turns have no answer or no score.

    Args:
        done: The run: its standings beside the runs of the same benchmark in its folder.
        verbose: Also print every number and count of the run.
    """
    for line in (*(done.text if verbose else done.run.info.remarks), *done.end_lines()):
        print(line)
    for warning in done.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return 0 if done.complete else 1


class ProgressBar:
    """Progress with the remaining time: a bar on a terminal, a line every ten seconds elsewhere.

    While a bar is shown on a terminal, lines that Python code writes to standard error, such as a library's warnings,
    appear above it.
    """

    EVERY_S = 10.0
    LAYOUT = "{desc} |{bar}| {percentage:3.0f} % [{elapsed} gone, {remaining} left]"

    def __init__(self) -> None:
        self.note = ""
        """Numbers of the work, shown below the bar or behind the line."""
        self._what, self._last_s = "", -inf
        self._begun = (0.0, 0.0)
        """When a part of the work began to be shown, in seconds, and its share then."""
        self._bar: Any = None
        self._below: Any = None
        self._above = contextlib.ExitStack()

    def __enter__(self) -> "ProgressBar":
        if sys.stderr.isatty():
            self._above.enter_context(_lines_above_bars(sys.stderr))
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        self._above.close()

    def _close(self) -> None:
        for bar in (self._bar, self._below):
            if bar is not None:
                bar.close()
        self._bar = self._below = None

    def show(self, what: str, done: int, total: int, share: float) -> None:
        """Show the progress of one part of the work; `share` is the share of all work, 0 to 1."""
        if not sys.stderr.isatty():
            self._say(what, done, total, share)
            return
        text = f"{what}: {done:,} of {total:,}"
        if what != self._what:
            self._close()
            self._what = what
            # The remaining time follows from what this process did, not from what was done before.
            self._bar = _bar(text, self.LAYOUT, total=1.0, initial=share)
        self._bar.set_description_str(text, refresh=False)
        self._bar.n = share
        self.refresh()

    def _say(self, what: str, done: int, total: int, share: float) -> None:
        now_s = time.monotonic()
        if what != self._what:
            self._what, self._last_s, self._begun = what, -inf, (now_s, share)
        if done != total and now_s - self._last_s <= self.EVERY_S:
            return
        begun_s, before = self._begun
        left = ""
        if before < share < 1:
            minutes, seconds = divmod(round((now_s - begun_s) * (1 - share) / (share - before)), 60)
            left = f", {minutes:,}:{seconds:02} left"
        say(f"{what}: {done:,} of {total:,}{left}{', ' if self.note else ''}{self.note}")
        self._last_s = now_s

    def refresh(self) -> None:
        """Show a changed note at once, if a bar is shown."""
        if self._bar is None:
            return
        if self.note and self._below is None:
            self._below = _bar(self.note, "{desc}", position=1)
        self._bar.refresh()
        if self._below is not None:
            self._below.set_description_str(self.note)


def _bar(text: str, layout: str, **more: Any) -> Any:
    from tqdm import tqdm

    # mypy knows standard error as a text stream only.
    screen: Any = sys.stderr
    file = screen.screen if isinstance(screen, _LinesAbove) else screen
    return tqdm(desc=text, bar_format=layout, file=file, dynamic_ncols=True, **more)


class _LinesAbove:
    """Standard error of a terminal on which a bar is shown: whole lines appear above the bar.

    Args:
        screen: The terminal.
    """

    def __init__(self, screen: TextIO) -> None:
        self.screen, self._begun = screen, ""

    def write(self, text: str) -> int:
        from tqdm import tqdm

        # A carriage return redraws a line of somebody else's bar, which tqdm keeps apart from ours.
        if "\r" in text:
            return self.screen.write(text)
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            tqdm.write(line, file=self.screen)
        return len(text)

    def finish(self) -> None:
        """Write a line that has not ended."""
        self.screen.write(self._begun)
        self._begun = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.screen, name)


@contextlib.contextmanager
def _lines_above_bars(screen: TextIO) -> Iterator[None]:
    """Send what is written to standard error to `_LinesAbove`, also what handlers of logging write."""
    above = _LinesAbove(screen)
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    handlers = [
        handler
        for logger in loggers
        if isinstance(logger, logging.Logger)
        for handler in logger.handlers
        if isinstance(handler, logging.StreamHandler) and handler.stream is screen
    ]
    for handler in handlers:
        handler.setStream(above)
    sys.stderr = cast("TextIO", above)
    try:
        yield
    finally:
        sys.stderr = screen
        for handler in handlers:
            handler.setStream(screen)
        above.finish()
