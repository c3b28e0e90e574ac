"""The cost and gain of Ray compared with processes of this machine: 200 short and 20 long videos, curated in five ways.

Every round curates the same videos by one and two local processes, by one and two workers of Ray on one node, and on a
cluster of two nodes of one core each, so that each figure is a ratio of medians over rounds in which all take turns.
CPU seconds are those of this process and of all below it, Ray's own included. Tables must be the same bytes each time.
"""

import contextlib
import hashlib
import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from record import ROOT, Measure, options_of, record
from reeltalk.parallel import Call, Executor, LocalExecutor
from reeltalk.parallel.ray_executor import RayExecutor
from reeltalk.store.benchmark import Benchmark
from reeltalk_build.curate.settings import CurateSettings
from reeltalk_build.curate.stage import curate
from reeltalk_build.video.write import write_video
from reeltalk_household.world.activities import activities, perform
from reeltalk_household.world.camera import Camera
from reeltalk_household.world.house import build_house
from reeltalk_household.world.situation import CannotError, ProgramStep, initial_situation

sys.path.insert(0, str(ROOT / "tools"))
from sample_videos import cached

FPS = 10
TICKS = os.sysconf("SC_CLK_TCK")
SETTINGS = CurateSettings(
    min_duration_s=0, min_shots=1, max_shots=5000, min_mean_shot_s=0, max_mean_shot_s=9000, min_flow_px=0,
    max_flow_px=9999, media="none",
)  # fmt: skip
SIDES = {"local 2": "two local processes", "ray 1": "one worker of Ray", "ray 2": "two workers of Ray",
         "two nodes": "two nodes of one core each"}  # fmt: skip
CALLS = 400
"""Calls that do nothing, to see what a call costs."""


def film(number: int, seconds: int) -> Path:
    """So many seconds of a person at home, 640x360."""

    def write(path: Path) -> None:
        house = build_house(number)
        situation, steps = initial_situation(house, next(iter(house.rooms))), list[ProgramStep]()
        for activity in activities().values():
            with contextlib.suppress(CannotError):
                done = perform(house, activity, situation, steps[-1].end_s if steps else 0.0)
                steps += done
                situation = done[-1].after
            if steps and steps[-1].end_s > seconds:
                break
        pictures = (picture for _, picture in Camera(house, width_px=640, fps=FPS).film(steps))
        write_video(path, islice(pictures, seconds * FPS), fps=FPS)

    return cached(f"ray-{number}-{seconds}s.mp4", f"household {number} {seconds}", write)


def below(pid: int) -> Iterator[int]:
    """A process and all below it."""
    yield pid
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from below(int(child))


def cpu_s() -> float:
    """User and system time of this process and of all below it, also of those that ended and were waited for."""
    ticks = 0
    for pid in below(os.getpid()):
        with contextlib.suppress(OSError):
            ticks += sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / TICKS


class Measured:
    """Seconds of each side, over all rounds."""

    def __init__(self) -> None:
        self.found: dict[str, list[float]] = defaultdict(list)
        self.tables: dict[str, str] = {}

    def note(self, name: str, value: float) -> None:
        self.found[name].append(value)
        print(f"  {name}: {value:.3f}", flush=True)

    def curate(self, side: str, kind: str, videos: list[Path], executor: Executor) -> None:
        with tempfile.TemporaryDirectory() as name:
            benchmark = Benchmark.create(Path(name, "bench"))
            cpu, wall = cpu_s(), time.monotonic()
            curate(videos, benchmark, SETTINGS, executor=executor)
            self.note(f"{kind} {side} wall", time.monotonic() - wall)
            self.note(f"{kind} {side} cpu", cpu_s() - cpu)
            tables = b"".join(path.read_bytes() for path in sorted(benchmark.path.glob("*.jsonl")))
            known = self.tables.setdefault(kind, hashlib.sha256(tables).hexdigest())
            if known != hashlib.sha256(tables).hexdigest():
                raise RuntimeError(f"{side} gives other tables for {kind} videos")

    def call(self, side: str, executor: Executor) -> None:
        calls = [Call(1)] * CALLS
        for _ in executor.map("operator:neg", calls[:4]):
            pass
        begun = time.monotonic()
        if [outcome for _, outcome in executor.map("operator:neg", calls)] != [-1] * CALLS:
            raise RuntimeError(f"{side} fails")
        self.note(f"{side} ms a call", (time.monotonic() - begun) / CALLS * 1e3)


def one_round(measured: Measured, kinds: dict[str, list[Path]]) -> None:
    import ray
    from ray.cluster_utils import Cluster

    for workers in (1, 2):
        executor: Any = LocalExecutor(workers)
        for kind, videos in kinds.items():
            measured.curate(f"local {workers}", kind, videos, executor)
        if workers == 1:
            measured.call("local 1", executor)
        executor.close()
    begun = time.monotonic()
    RayExecutor(workers=2)
    measured.note("ray start", time.monotonic() - begun)
    for workers in (1, 2):
        executor = RayExecutor(workers=workers)
        for kind, videos in kinds.items():
            measured.curate(f"ray {workers}", kind, videos, executor)
        if workers == 1:
            measured.call("ray 1", executor)
    ray.shutdown()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    executor = RayExecutor(cluster.address)
    for kind, videos in kinds.items():
        measured.curate("two nodes", kind, videos, executor)
    ray.shutdown()
    cluster.shutdown()  # type: ignore[no-untyped-call]


def main() -> None:
    """Measure and write the record."""
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    short, long, rounds = (20, 2, 1) if options.quick else (200, 20, options.rounds)
    print("filming", flush=True)
    kinds = {
        "short": [film(number, 2) for number in range(1, short + 1)],
        "long": [film(number, 60) for number in range(1, long + 1)],
    }
    measured = Measured()
    for number in range(rounds):
        print(f"round {number + 1}", flush=True)
        one_round(measured, kinds)
    found = {name: statistics.median(values) for name, values in measured.found.items()}
    local_ms, ray_ms = found["local 1 ms a call"], found["ray 1 ms a call"]
    measures = [
        Measure("starting Ray on this machine", found["ray start"], "s"),
        Measure("a call that does nothing, by a local process", local_ms, "ms a call"),
        Measure(
            "a call that does nothing, by Ray", ray_ms, "ms a call", "local processes, times as much", ray_ms / local_ms
        ),
    ]
    for kind, videos in kinds.items():
        one = found[f"{kind} local 1 wall"]
        words = f"curating {len(videos)} {kind} videos"
        measures.append(Measure(f"{words}, one local process", one, "s"))
        for side in ("local 2", "ray 1", "ray 2", "two nodes"):
            wall = found[f"{kind} {side} wall"]
            measures.append(
                Measure(f"{words}, {SIDES[side]}", wall, "s", "one local process, times as fast", one / wall)
            )
        cpu, own = found[f"{kind} ray 2 cpu"], found[f"{kind} local 2 cpu"]
        measures.append(
            Measure(f"{words}, two workers of Ray", cpu, "CPU s", "two local processes, times as much", cpu / own)
        )
    record(
        "ray_executor",
        measures,
        packages=["reeltalk", "ray", "av"],
        notes=[f"{short} videos of 2 s and {long} of 60 s, {rounds} rounds; tables were the same bytes every time"],
        quick=options.quick,
    )


if __name__ == "__main__":
    main()
