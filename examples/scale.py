"""Curate on this machine or on a Ray cluster: the same tables, byte for byte, wherever the work runs.

python examples/scale.py benchmarks/kitchen local raw/
python examples/scale.py benchmarks/kitchen ray://auto /data/raw
"""

import sys
from pathlib import Path

from reeltalk import Benchmark
from reeltalk.parallel import open_executor
from reeltalk_build.stages import CurateSettings, curate


def main(into: str, executor: str, *videos: str) -> None:
    """Curate videos with an executor of that name; every node must see the folders."""
    shared = [Path(into).parent, *map(Path, videos)]
    workers = open_executor(executor, workers=2, shared=shared)
    settings = CurateSettings(min_shots=1, min_mean_shot_s=1, max_mean_shot_s=90, min_flow_px=0)
    print(*curate(*videos, into=into, settings=settings, executor=workers).lines(), sep="\n")
    print(f"content {Benchmark.open(into).manifest.content_hash}")


if __name__ == "__main__":
    main(*sys.argv[1:])
