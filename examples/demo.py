"""The whole on a small household: film, curate the pixels, construct, play, judge, report; sizes are settings.

python examples/demo.py build/little 4
"""

import sys
from pathlib import Path

from reeltalk_build.stages import ConstructSettings
from reeltalk_household.benchmarks.household import SMALL_HOUSEHOLD, build_household


def show(what: str, done: int, total: int, share: float) -> None:
    """Show how far a step is, on one line."""
    print(f"\r{what}: {done} of {total} ({share:.0%})   ", end="", file=sys.stderr)


def main(out: str, scenarios: str = "4") -> None:
    """Build a household of so many scenarios below `out`; a second call goes on where it was."""
    count = int(scenarios)
    filming = SMALL_HOUSEHOLD.filming.model_copy(
        update={"scenarios": count, "houses": count, "test_houses": count // 2, "fps": 2}
    )
    little = SMALL_HOUSEHOLD.model_copy(
        update={
            "filming": filming,
            "construction": ConstructSettings(paths=2),
            "plays": SMALL_HOUSEHOLD.plays[:1],
            "players": ("baseline:blind", "oracle"),
        }
    )
    print(build_household(Path(out), little, tell=print, progress=show))


if __name__ == "__main__":
    main(*sys.argv[1:])
