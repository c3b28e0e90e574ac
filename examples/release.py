"""Release a benchmark: check it, freeze it with a card, and look whether a copy is still whole.

python examples/release.py benchmarks/household releases/household-1.0.0 1.0.0
"""

import sys
from pathlib import Path

from reeltalk import Benchmark
from reeltalk.errors import FrozenError
from reeltalk.stages import freeze
from reeltalk.store.release import CARD
from reeltalk.store.validate import validate


def main(benchmark: str, release: str, version: str = "1.0.0") -> None:
    """Freeze `benchmark` as `release`, where nothing is wrong with it."""
    errors = [finding for finding in validate(Benchmark.open(benchmark)) if finding.severity == "error"]
    if errors:
        sys.exit("\n".join(map(str, errors)))
    done = freeze(Benchmark.open(benchmark), Path(release), version=version, title="A household")
    frozen = done.release
    print((frozen.path / CARD).read_text(encoding="utf-8").splitlines()[0])
    try:
        with frozen.writing(stage="mend"):
            print("a release can be changed")
    except FrozenError as refused:
        print(f"it stays as it is: {refused}")
    print(f"{len(validate(Benchmark.open(release)))} findings in the release")


if __name__ == "__main__":
    main(*sys.argv[1:])
