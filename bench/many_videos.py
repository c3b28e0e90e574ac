"""One benchmark of 10,000 videos and 827,500 turns: played, judged, reported, validated, frozen, and opened for review.

A graph writes about 16 told households. The benchmark is repeated with other identifiers until it has 96, 960 and
10,000 videos of about 83 turns, so a large one takes no hours to construct (`bench/growth.py` measures that). Each
command runs in a process of its own. Memory is that of its largest process, and CPU time that of all of them.

Tables of 1,000,000 rows are written without pictures to check what these sizes say about a million videos: videos,
clips, and chains of five turns. They are stored in parts, and the rows of one video are read from them.
"""

import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from record import ROOT, Measure, at_most, options_of, record

sys.path.insert(0, str(ROOT / "tools"))
from told_households import repeated, told

from reeltalk.schema.dialogue import QAChain, Turn
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ChainId, ClipId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, CLIPS, DIALOGUES, VIDEOS
from review import served
from spending import Growth, Spent, reeltalk, spend

TOLD: Final = 16
SIZES, QUICK_SIZES = (96, 960, 10_000), (16, 48, 96)
"""Multiples of `TOLD`."""
ROWS, QUICK_ROWS = 1_000_000, 20_000
LINEAR: Final = 1.05
MOST_KIB: Final = 20.0
MOST_MIB: Final = 1536.0
ONE_VIDEO: Final = """
import sys, time
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS

def peak_mib():
    # Not ru_maxrss, which begins with the memory of the process that started this one.
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) / 1024

before, begun = peak_mib(), time.process_time()
table = Benchmark.open(sys.argv[1]).table(CHAINS, among={sys.argv[2]})
chains = table.where(lambda row: row["video_id"] == sys.argv[2])
assert [chain.video_id for chain in chains] == [sys.argv[2]]
print(peak_mib() - before, time.process_time() - begun)
"""


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


def simulated(folder: Path, rows: int, *, quick: bool) -> dict[str, float]:
    """Write tables of so many rows, and read the rows of one video."""
    name = "video-{:07d}".format
    turns = tuple(
        Turn(question=f"What does the person do {place} times?", references=("They wash a cup.",)) for place in range(5)
    )

    def videos() -> Iterator[Video]:
        return (Video(id=VideoId(name(number)), duration_s=60.0) for number in range(rows))

    def clips() -> Iterator[Clip]:
        return (Clip(id=ClipId(f"{name(number)}-0"), video_id=VideoId(name(number))) for number in range(rows))

    def chains() -> Iterator[QAChain]:
        return (
            QAChain(id=ChainId(f"chain-{number}"), video_id=VideoId(name(number)), turns=turns)
            for number in range(rows)
        )

    before = resource.getrusage(resource.RUSAGE_SELF)
    benchmark = Benchmark.create(folder / "simulated", part_bytes=(1 << 20) if quick else None)
    with benchmark.writing(stage="bench") as writer:
        writer.add(VIDEOS, videos())
        writer.add(CLIPS, clips())
        writer.add(CHAINS, chains())
    after = resource.getrusage(resource.RUSAGE_SELF)
    read = subprocess.run(
        [sys.executable, "-c", ONE_VIDEO, str(benchmark.path), name(rows // 2)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    grown_mib, read_s = map(float, read.stdout.split())
    checked = spend(reeltalk("validate", str(benchmark.path)), ok=(0, 1))
    return {
        "CPU s of writing": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "MiB more while writing": (after.ru_maxrss - before.ru_maxrss) / 1024,
        "parts of the chains": float(len(benchmark.manifest.files[CHAINS.file_name].parts)),
        "CPU s of reading a video": read_s,
        "MiB of reading a video": grown_mib,
        "CPU s of validating": checked.cpu_s,
        "MiB of validating": checked.peak_mib,
    }


def stated(growths: list[Growth], simulation: dict[str, float], rows: int, *, quick: bool) -> list[Measure]:
    """What this suite vouches for. Small counts tell neither exponents nor growth well enough to hold them to goals."""
    found = []
    for growth in growths:
        last = f"{growth.what}, {growth.sizes[-1]:,} videos"
        if growth.exponent is not None:
            goal = None if quick else at_most(LINEAR)
            found.append(Measure(f"{last}: exponent of its CPU time", growth.exponent, "exponent", goal=goal))
        found += [
            Measure(f"{last}: CPU time", growth.cpu_s[-1], "core s"),
            Measure(f"{last}: memory", growth.peak_mib[-1], "MiB", goal=None if quick else at_most(MOST_MIB)),
            Measure(
                f"{growth.what}: memory for one video more", growth.one_more_mib * 1024, "KiB",
                goal=None if quick else at_most(MOST_KIB),
            ),
        ]  # fmt: skip
    units = {"CPU s": "core s", "MiB": "MiB", "parts": "files"}
    for name, value in simulation.items():
        unit = next(unit for begin, unit in units.items() if name.startswith(begin))
        found.append(Measure(f"{rows:,} videos, simulated: {name}", value, unit))
    return found


def main() -> None:
    """Measure, and draw the growth of time and memory."""
    quick: bool = options_of(__doc__).parse_args().quick
    rows = QUICK_ROWS if quick else ROWS
    with tempfile.TemporaryDirectory(prefix="reeltalk-many-") as name:
        simulation = simulated(Path(name), rows, quick=quick)
        growths, figures = used(Path(name), QUICK_SIZES if quick else SIZES)
    figures |= {key: value for growth in growths for key, value in growth.figures().items()}
    figures |= {f"simulated, {key}": value for key, value in simulation.items()}
    measures = stated(growths, simulation, rows, quick=quick)
    notes = [f"a benchmark of {TOLD} told households, repeated with other identifiers; one process a command"]
    lines = [
        {"what": growth.what, "unit": growth.unit, "sizes": growth.sizes, "exponent": growth.exponent}
        | {"cpu_s": [round(cpu, 3) for cpu in growth.cpu_s], "peak_mib": [round(mib, 1) for mib in growth.peak_mib]}
        for growth in growths
    ]
    record("many_videos", measures, figures=figures, packages=["numpy"], notes=notes, quick=quick, growth=lines)


if __name__ == "__main__":
    main()
