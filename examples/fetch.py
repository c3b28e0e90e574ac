"""Get a published data set: terms accepted once, every file hashed, then read into a benchmark.

python examples/fetch.py svbench data/svbench benchmarks/svbench
python examples/fetch.py vdact data/vdact benchmarks/vdact ~/Downloads/VDAct
"""

import sys
from pathlib import Path

from reeltalk import Benchmark
from reeltalk.formats.fetch import fetch
from reeltalk.stages import import_layout
from reeltalk.store.validate import validate


def accepted(terms: str) -> bool:
    """Show the terms, and accept them."""
    print(terms)
    return True


def main(name: str, folder: str, benchmark: str, source: str | None = None) -> None:
    """Fetch from the Hub, or from a folder where `source` is given, and import."""
    fetched = fetch(
        name,
        into=Path(folder),
        source=Path(source).expanduser() if source else None,
        accept_licence=accepted,
        progress=print,
    )
    print(*fetched.lines(), sep="\n")
    print(*import_layout(name, folder, benchmark).lines(), sep="\n")
    for finding in validate(Benchmark.open(benchmark))[:5]:
        print(finding)


if __name__ == "__main__":
    main(*sys.argv[1:])
