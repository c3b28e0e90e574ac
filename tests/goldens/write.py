"""Writes the goldens of all parts, or compares them with what the program does now.

    python tests/goldens/write.py                  writes all parts
    python tests/goldens/write.py demo review      writes these
    python tests/goldens/write.py --check          prints each difference with its place, old and new; exit code 1

Each part has one JSON file, with the numbers that people read and hashes for the rest. `golden_files.plain` says
what is left out, and why.
"""

import argparse
import json
import shutil
import sys
import time
import traceback
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools")]

import golden_films as films  # noqa: E402
import golden_playing as playing  # noqa: E402
from golden_files import SHARED, WORK, differences  # noqa: E402
from golden_review import review  # noqa: E402

PARTS: Final = {
    "layouts": playing.layouts,
    "judging": playing.judging,
    "analysis": playing.analysis,
    "vdact": playing.vdact,
    "review": review,
    "film": films.film,
    "gates": films.gates,
    "household": films.household,
    "demo": films.demo,
}
NEED_SHARED: Final = ("vdact",)
"""Parts of real data that are not in the repository."""


def keep(name: str, *, check: bool) -> bool:
    """Make a part, and write it or compare it; True if it differs from its file."""
    made = json.loads(json.dumps(PARTS[name]()))
    path = HERE / f"{name}.json"
    if not check:
        path.write_text(json.dumps(made, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
        return False
    found = list(differences(json.loads(path.read_text(encoding="utf-8")), made))
    sys.stdout.writelines(f"{name}: {line}\n" for line in found)
    return bool(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args()
    failed = False
    try:
        for name in options.parts or PARTS:
            if name in NEED_SHARED and not SHARED.is_dir():
                sys.stderr.write(f"{name}: left out, there is no shared data at {SHARED}\n")
                continue
            begun = time.monotonic()
            try:
                failed |= keep(name, check=options.check)
            except Exception:
                # The other parts are still to be told.
                failed = True
                sys.stdout.write(f"{name}: cannot be made\n{traceback.format_exc()}")
            sys.stderr.write(f"{name}: {time.monotonic() - begun:.0f} s\n")
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
