"""Counts the modules of reeltalk that one command enters, as a measure of how far a reader has to follow it.

    python tools/hops.py evaluate build/demo/benchmark --model baseline:blind --out /tmp/run
    python tools/hops.py --list report /tmp/run --out /tmp/site

A module is entered if one of its functions runs in this process, in any thread. Importing a module and creating its
classes does not count. The command really runs and writes its output. Modules are printed in the order in which they
are first entered.
"""

import os
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any, Final

SOURCE: Final = f"{os.sep}src{os.sep}reeltalk{os.sep}"
NOT_ENTERED: Final = ("<module>", "<lambda>")


def count_modules(argv: list[str]) -> tuple[list[str], int]:
    """Names of the modules that `reeltalk ARGV` enters, in order, and its exit code."""
    from reeltalk.cli import main

    entered: dict[str, None] = {}

    def see(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or SOURCE not in code.co_filename or not code.co_filename.endswith(".py"):
            return
        if code.co_name in NOT_ENTERED:
            return
        name = _name(code.co_filename)
        if name not in entered and not _is_import(frame):
            entered[name] = None

    sys.argv = ["reeltalk", *argv]
    threading.setprofile(see)
    sys.setprofile(see)
    try:
        main()
        done = 0
    except SystemExit as ended:
        done = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(entered), done


def _is_import(frame: FrameType) -> bool:
    """True if a call only initialises a module: its constants, its classes, and the functions that these call."""
    caller: FrameType | None = frame
    while caller is not None:
        code = caller.f_code
        if SOURCE in code.co_filename:
            # A class body runs like a function when its module is imported.
            if code.co_name == "<module>" or {"__module__", "__qualname__"} <= set(code.co_names):
                return True
        caller = caller.f_back
    return False


def _name(path: str) -> str:
    inside = Path(path.rpartition(SOURCE)[2]).with_suffix("")
    return ".".join(part for part in inside.parts if part != "__init__") or "reeltalk"


def main() -> int:
    listed = sys.argv[1:2] == ["--list"]
    argv = sys.argv[2:] if listed else sys.argv[1:]
    if not argv:
        print(__doc__)
        return 2
    modules, done = count_modules(argv)
    if listed:
        print("\n".join(modules))
    print(f"{len(modules)} modules entered; the command ended with {done}")
    return done


if __name__ == "__main__":
    sys.exit(main())
