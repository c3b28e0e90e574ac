"""A process that runs one long call, reports progress, and can be interrupted.

`python -m reeltalk.parallel.reporting` reads one JSON line from standard input and writes JSON lines: the progress
reports, then the outcome. It ends at once if the process that started it is gone. `parallel.side_by_side` starts it.
"""

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, Final

from reeltalk.errors import ReeltalkError
from reeltalk.parallel.forking import find

BEGUN: Final = "begun"
"""From this message on, you may interrupt the process with SIGINT."""
TOLD: Final = "told"
ENDED: Final = "ended"
FAILED: Final = "failed"
INTERRUPTED: Final = 130


def main() -> int:
    """Run the one call."""
    lines = os.fdopen(os.dup(1), "wb")
    # Libraries that print must not write among the lines.
    os.dup2(2, 1)
    call = json.loads(sys.stdin.buffer.readline())
    started_by = os.dup(0)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    threading.Thread(target=_end_with, args=(started_by,), daemon=True).start()
    lock = threading.Lock()

    def write(kind: str, value: Any = None) -> None:
        with lock, contextlib.suppress(BrokenPipeError):
            lines.write(json.dumps([kind, value]).encode() + b"\n")
            lines.flush()

    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        write(BEGUN)
        work: Callable[..., Any] = find(call["function"])
        work(call["argument"], lambda value: write(TOLD, value))
        ending: tuple[str, Any] = (ENDED, None)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ReeltalkError as error:
        ending = FAILED, [type(error).__name__, str(error)]
    # Do not interrupt a normal end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    write(*ending)
    return 0


def _end_with(started_by: int) -> None:
    """End this process when the other end of its standard input closes, as it does when that process is killed."""
    while os.read(started_by, 1 << 10):
        pass
    os._exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(main())
