"""Runs commands of the `reeltalk` that this Python has installed, one after the other, each in a folder of its own.

    python tools/each_command.py FOLDER SECONDS < commands.json > done.json

It imports nothing of the checkout. A command that takes longer than SECONDS is interrupted, as by Ctrl-C.
"""

import contextlib
import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from reeltalk.cli import run


def main(folder: Path, seconds: float) -> None:
    """Read lists of words, and write the exit code, the output and the errors of each."""
    asked, sys.stdin = json.load(sys.stdin), io.StringIO()
    # Processes that a command starts inherit file 1.
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    json.dump([_done(words, folder / str(number), seconds) for number, words in enumerate(asked)], told)
    told.flush()


def _done(words: Sequence[str], folder: Path, seconds: float) -> tuple[int, str, str]:
    folder.mkdir()
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            code = run(words)
        except BaseException:
            # As Python does for what nobody expects.
            traceback.print_exc()
            code = 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return code, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]))
