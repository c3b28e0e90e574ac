"""Construct chains, linkages, paths and dialogues about a benchmark's clips, by its graphs or by a language model.

python examples/construct.py benchmarks/household
python examples/construct.py benchmarks/kitchen qwen3-vl http://localhost:8000/v1
"""

import sys

from reeltalk import Benchmark
from reeltalk.store.tables import LINKAGES
from reeltalk_build.stages import AskSettings, ConstructSettings, construct


def show(what: str, done: int, total: int, share: float) -> None:
    """Show how far the work is, on one line."""
    print(f"\r{what}: {done} of {total} ({share:.0%})", end="", file=sys.stderr)


def main(benchmark: str, writer: str = "graph", base_url: str | None = None) -> None:
    """Construct into the benchmark; a second call passes over what is done."""
    # The graph asks no model, so there is nothing to limit.
    asking = AskSettings() if writer == "graph" else AskSettings(base_url=base_url, max_calls=5000)
    done = construct(
        Benchmark.open(benchmark),
        writer=writer,
        settings=ConstructSettings(paths=3),
        asking=asking,
        progress=show,
    )
    print()
    print(*done.lines(), sep="\n")

    written = Benchmark.open(benchmark)
    chains = {str(chain.id): chain for chain in written.content().chains}
    for linkage in list(written.read(LINKAGES))[:3]:
        earlier, later = linkage.source, linkage.target
        print(f"{linkage.relation}:")
        print(f"  {chains[earlier.unit_id].turns[earlier.turn_index].question}")
        print(f"  {chains[later.unit_id].turns[later.turn_index].question}")


if __name__ == "__main__":
    main(*sys.argv[1:])
