"""Imported first by the server that forks all worker processes: what they have in common before any library is loaded.

Importing this module changes the process, so nothing else imports it.
"""

import os
import signal
import sys
from types import TracebackType

from reeltalk.parallel.work import THREADS_OF_LIBRARIES


def _report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    # A process that begins while its parent ends finds the locks of the pool gone.
    if not issubclass(kind, FileNotFoundError):
        sys.__excepthook__(kind, error, trace)


os.environ.update(THREADS_OF_LIBRARIES)
# The process of the command handles Ctrl-C, and ends the workers.
signal.signal(signal.SIGINT, signal.SIG_IGN)
# What libraries print is no output of the command.
os.dup2(2, 1)
sys.excepthook = _report
