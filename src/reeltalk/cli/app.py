"""The application: runs a command, turns errors into one paragraph, shows progress.

Commands live in the modules beside; each imports its stage when it is called, so that `reeltalk --help` is quick and
extras stay optional.
"""

import errno
import gc
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, CycloptsError, Group, Parameter
from pydantic import ValidationError

from reeltalk import __version__
from reeltalk.errors import BenchmarkError, ReeltalkError
from reeltalk.schema.settings import setting_problem
from reeltalk.schema.settings import settings_of as settings_of
from reeltalk.store.atomic import storage_advice

if TYPE_CHECKING:
    from reeltalk.schema.outcomes import StageReport
    from reeltalk.stages.finishing import RunReport

USER_ERROR = 2
STORAGE = {
    errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE,
    errno.ENFILE, errno.ENAMETOOLONG, errno.ELOOP,
}  # fmt: skip
"""What a disk or its owner refuses; all else that the system refuses is a fault of ours."""
INTERRUPTED = 130
REMOVED = {
    "plan capacity": "'plan capacity' is no longer a command; read docs/concepts/capacity.md in the repository, or run "
    "'python tools/capacity_page.py' there for your numbers",
}
"""Commands of earlier versions, each with the line that names its successor."""

app = App(
    name="reeltalk",
    help="Build and run benchmarks of multi-turn dialogue about video.",
    version=__version__,
    help_format="markdown",
    # `run` says what became of the work.
    suppress_keyboard_interrupt=False,
    group_commands=Group("Commands, in the order one uses them", sort_key=0),
)

OVERWRITE = Parameter(name="--overwrite", negative="")
DELETE_REPLIES = Parameter(name="--delete-replies", negative="")

ExecutorName = Annotated[
    str,
    Parameter(
        name="--executor",
        help="Where work runs: local, on this machine's cores; ray, on the Ray cluster of RAY_ADDRESS or an instance "
        "of Ray here; ray://HOST:PORT or ray://auto, on the cluster that this machine is a node of.",
    ),
]


def main() -> None:
    """Run the command line and exit: 0 done, 1 findings, 2 the user must act, 130 interrupted."""
    try:
        code = run(sys.argv[1:])
        # A reader such as `head` may be gone; find out here, where it can be handled.
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        # Its output went into a file, and the disk is full.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = _complain(f"cannot write the output: {error.strerror}; free some space and run the command again")
    # Python would look for cycles in all that was imported before it lets go of it: a third of a second for nothing.
    gc.freeze()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command.

    Args:
        arguments: As typed after `reeltalk`.

    Returns:
        The exit code.
    """
    for removed, successor in REMOVED.items():
        if " ".join([*arguments, ""]).startswith(f"{removed} "):
            return _complain(successor)
    try:
        result = app(list(arguments), exit_on_error=False, print_error=False, result_action="return_value")
    except CycloptsError as error:
        cause = error.__cause__ or error.__context__
        if isinstance(cause, ValidationError):
            return _complain(setting_problem(cause))
        return _complain(f"{_sentence(str(error))}; 'reeltalk --help' lists the commands")
    except ReeltalkError as error:
        return _complain(str(error))
    except OSError as error:
        if error.errno not in STORAGE:
            raise
        # The last net: what writes files says itself what it could not write.
        place = error.filename or "the output or a file"
        return _complain(f"cannot read or write {place}: {error.strerror}; {storage_advice(error)}")
    except ModuleNotFoundError as error:
        # What trains models may be left out of an installation; all else is a fault of ours, or a missing extra.
        if (error.name or "").split(".")[:2] != ["reeltalk", "streaming"]:
            raise
        return _complain(
            "this installation lacks reeltalk.streaming, which this command needs; install reeltalk anew: "
            "pip install --force-reinstall --no-deps reeltalk"
        )
    except KeyboardInterrupt:
        print("interrupted; nothing is half-written, run the same command to go on", file=sys.stderr)
        return INTERRUPTED
    return result if isinstance(result, int) else 0


def _complain(message: str) -> int:
    # One paragraph: a file's name or a value may hold line feeds and control characters.
    line = "".join(c if c.isprintable() else " " for c in " ".join(message.split()))
    print(f"reeltalk: {line}", file=sys.stderr)
    return USER_ERROR


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    return (words[:1].lower() + words[1:]).rstrip(".")


def say(message: str) -> None:
    """Tell people something that is no result: on standard error."""
    print(message, file=sys.stderr, flush=True)


def refuse_existing(out: Path | None, *, overwrite: bool) -> None:
    """Refuse to write a file where something is already, unless it is to be replaced."""
    if out is not None and out.exists() and not overwrite:
        raise BenchmarkError(f"{out} exists; choose another file or pass --overwrite")


def print_report(report: "StageReport") -> None:
    """Print what a stage did."""
    for line in report.lines():
        print(line)


def print_run(done: "RunReport") -> int:
    """Print what became of a run, and give the exit code: 1 where turns have no answer or no score."""
    for line in done.lines():
        print(line)
    for warning in done.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return 0 if done.complete else 1


class Bar:
    """Progress with the time that is left: a line that moves on a terminal, now and then a line elsewhere."""

    EVERY_S = 10.0

    def __init__(self) -> None:
        self._what, self._last_s = "", 0.0
        self._bar: Any = None

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, what: str, done: int, total: int, share: float) -> None:
        """Show how far a part of the work is."""
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
