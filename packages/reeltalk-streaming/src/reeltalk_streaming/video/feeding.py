"""A process that runs one generator and writes its blocks until the generator ends or the reader closes the pipe.

`feed` starts it with `python -m`. It reads one JSON call from standard input and writes blocks. A block is one byte for
its kind, eight bytes for its length, and the content.
"""

import json
import os
import signal
import struct
import sys
from collections.abc import Iterator
from typing import Any, Final

from reeltalk.parallel.work import MEMORY_EXIT, describe_error, import_function, limit_memory

BLOCK_HEADER: Final = struct.Struct(">cQ")
"""Header of a block."""
ITEM: Final = b"i"
FAILED: Final = b"f"
ENDED: Final = b"e"


def main() -> None:
    """Run the one call; returns only if there is none."""
    blocks = os.fdopen(os.dup(1), "wb")
    # Libraries that print must not write among the blocks.
    os.dup2(2, 1)
    line = sys.stdin.buffer.readline()
    if not line.endswith(b"\n"):
        return  # the reader was killed before it sent the call
    call = json.loads(line)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    status = 0
    try:
        work = import_function(call["function"])
        limit_memory(call["memory_bytes"])
        items: Iterator[bytes] = work(call["argument"])
        for item in items:
            _write(blocks, ITEM, item)
        _write(blocks, ENDED, b"")
    except BrokenPipeError:
        # The reader has closed the pipe: this is the signal to stop.
        pass
    except MemoryError:
        status = MEMORY_EXIT
    except Exception as error:
        _write(blocks, FAILED, describe_error(error).encode())
    finally:
        # The threads of a decoder may never end by themselves.
        os._exit(status)


def _write(blocks: Any, kind: bytes, content: bytes) -> None:
    blocks.write(BLOCK_HEADER.pack(kind, len(content)))
    blocks.write(content)
    blocks.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    main()
