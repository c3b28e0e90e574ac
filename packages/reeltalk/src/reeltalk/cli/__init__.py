"""The command line: one function a command, which reads its options, calls a verb of `stages`, and prints.

The stages do the work. Each module here imports its stage when the command is called, so that `reeltalk --help` is
fast and extras stay optional. Begin with `commands.py`: its table names every command and its function.
"""

import signal
import sys
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from reeltalk.cli.commands import app, run

__all__ = ["app", "main", "run"]
EXIT_INTERRUPTED: Final = 130
INTERRUPTED_TEXT: Final = "interrupted; nothing is half-written, run the same command to continue"


def main() -> None:
    """Run the command line and exit: 0 done, 1 findings, 2 the user must act, 130 interrupted."""
    if sys.argv[1:] == ["--version"]:
        # Answered before the parser is imported, which takes most of the time.
        from reeltalk._version import __version__

        print(__version__)
        return
    sys.unraisablehook = _interrupt_again
    try:
        from reeltalk.cli.commands import main as run_and_exit

        run_and_exit()
    except (KeyboardInterrupt, ImportError, RuntimeError) as error:
        # While modules were imported, before the command began. Python and extensions wrap it in another error there.
        if not isinstance(error, KeyboardInterrupt) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        print(INTERRUPTED_TEXT, file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)


def _interrupt_again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Interrupt a moment later where Ctrl-C came in a callback of Python's, such as one of imports, which loses it."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
        return
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.01)


def __getattr__(name: str) -> Any:
    if name in ("app", "run"):
        from reeltalk.cli import commands

        return getattr(commands, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
