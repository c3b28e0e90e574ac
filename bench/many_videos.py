"""One benchmark of 10,000 videos and 827,500 turns: played, judged, reported, validated, frozen, and opened for review.

A graph writes about 16 told households. The benchmark is repeated with other identifiers until it has 96, 960 and
10,000 videos of about 83 turns, so a large one takes no hours to construct. Each command runs in a process of its own.
Memory is that of its largest process, and CPU time that of all of them.
"""

import shutil
import subprocess
import sys
import tempfile
from itertools import chain
from pathlib import Path
from typing import Final

from record import ROOT, Measure, at_most, options_of, record

sys.path.insert(0, str(ROOT / "tools"))
from told_households import repeated, told

from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, DIALOGUES, VIDEOS
from review import served
from spending import Growth, Spent, reeltalk, spend

TOLD: Final = 16
SIZES, QUICK_SIZES = (96, 960, 10_000), (16, 48, 96)
"""Multiples of `TOLD`."""
LINEAR: Final = 1.05
MOST_MIB: Final = 2048.0


def used(folder: Path, sizes: tuple[int, ...]) -> tuple[list[Growth], dict[str, float]]:
    """What each command takes on benchmarks of these sizes."""
    source = told(folder / "told", TOLD, 7, TOLD // 2)
    subprocess.run(reeltalk("construct", str(source.path)), check=False, capture_output=True)
    source = Benchmark.open(source.path)
    names = ("evaluate", "judge", "report", "validate", "freeze", "review")
    growths = {name: Growth(name, "videos") for name in names}
    figures: dict[str, float] = {}
    for size in sizes:
        path, run, judged, site, release = (
            folder / f"{name}-{size}" for name in ("videos", "run", "judged", "site", "release")
        )
        benchmark = repeated(source, path, size // source.rows(VIDEOS))
        units = chain(benchmark.table(CHAINS).raw(), benchmark.table(DIALOGUES).raw())
        figures[f"{size} videos: turns"] = float(sum(len(unit["turns"]) for unit in units))
        played = ("--model", "baseline:blind", "--policy", "none", "--metrics", "none", "--out", str(run))
        commands = {
            "evaluate": ("evaluate", str(path), *played),
            "judge": ("judge", str(run), "--out", str(judged)),
            "report": ("report", str(judged), "--out", str(site)),
            "validate": ("validate", str(path)),
            "freeze": ("freeze", str(path), str(release), "--version", "1.0.0"),
        }
        for name, command in commands.items():
            growths[name].add(size, spend(reeltalk(*command), ok=(0, 1)))
            _say(growths[name])
        with served(path) as server:
            growths["review"].add(size, Spent(server.ready_s, server.cpu_s(), server.memory_mib("VmHWM")))
        _say(growths["review"])
        for made in (path, run, judged, site, release):
            shutil.rmtree(made, ignore_errors=True)
    return list(growths.values()), figures


def _say(growth: Growth) -> None:
    spent = f"{growth.cpu_s[-1]:.1f} CPU s, {growth.wall_s[-1]:.1f} s, {growth.peak_mib[-1]:.0f} MiB"
    print(f"{growth.what}, {growth.sizes[-1]:,} {growth.unit}: {spent}", flush=True)


def stated(growths: list[Growth], *, quick: bool) -> list[Measure]:
    """What this suite vouches for. Small counts tell no exponent well enough to hold it to a goal."""
    found = []
    for growth in growths:
        last = f"{growth.what}, {growth.sizes[-1]:,} videos"
        if growth.exponent is not None:
            goal = None if quick else at_most(LINEAR)
            found.append(Measure(f"{last}: exponent of its CPU time", growth.exponent, "exponent", goal=goal))
        found += [
            Measure(f"{last}: CPU time", growth.cpu_s[-1], "core s"),
            Measure(f"{last}: memory", growth.peak_mib[-1], "MiB", goal=None if quick else at_most(MOST_MIB)),
        ]
    return found


def main() -> None:
    """Measure how time and memory grow."""
    quick: bool = options_of(__doc__).parse_args().quick
    with tempfile.TemporaryDirectory(prefix="reeltalk-many-") as name:
        growths, figures = used(Path(name), QUICK_SIZES if quick else SIZES)
    figures |= {key: value for growth in growths for key, value in growth.figures().items()}
    notes = [f"a benchmark of {TOLD} told households, repeated with other identifiers; one process a command"]
    record("many_videos", stated(growths, quick=quick), figures=figures, packages=["numpy"], notes=notes, quick=quick)


if __name__ == "__main__":
    main()
