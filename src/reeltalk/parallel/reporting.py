"""A process that calls one function for long, tells what it does meanwhile, and may be interrupted.

`python -m reeltalk.parallel.reporting` reads one JSON line from standard input and writes JSON lines: what is told,
then how it ended. It ends at once where whoever started it is gone. Who starts it is `parallel.side_by_side`.
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
"""From now on the process may be interrupted by SIGINT."""
TOLD: Final = "told"
ENDED: Final = "ended"
FAILED: Final = "failed"
INTERRUPTED: Final = 130


def main() -> int:
    """Serve the one call."""
    lines = os.fdopen(os.dup(1), "wb")
    # Libraries that write to standard output must not write among the lines.
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
    # An orderly end is not to be interrupted.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    write(*ending)
    return 0


def _end_with(started_by: int) -> None:
    """End this process when the other end of its standard input is closed, as it is when that process was killed."""
    while os.read(started_by, 1 << 10):
        pass
    os._exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(main())
