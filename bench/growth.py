"""How the cost of work grows: 8 to 1,000 videos, and 1,000 to 50,000 turns.

Every command runs in a process of its own; CPU seconds are user and system time of it and of what it starts, so that
they hold on a busy machine. The exponent is the slope between the two largest sizes on logarithmic axes, of what was
spent beyond what any run costs: 1 is linear. Videos to curate are 4 seconds of drawn pictures, 160 pixels wide, so that
what a video costs beside its pixels shows; those to construct about are told households with graphs and no pixels;
turns are drawn at random, ten or so a chain.
"""

import hashlib
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from record import ROOT, Measure, at_least, at_most, options_of, record

sys.path.insert(0, str(ROOT / "tools"))
from told_households import told

from reeltalk.schema.answers import Answer
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.manifest import MANIFEST, hash_file
from reeltalk.store.tables import CHAINS, DIALOGUES
from reeltalk.video.write import write_video
from report import TURNS_A_DIALOGUE, Drawn
from review import content, served
from spending import Growth, Spent, reeltalk, size_bytes, spend

VIDEOS, TOLD, TURNS = (10, 100, 1000), (16, 256, 512), (1_000, 10_000, 50_000)
QUICK_VIDEOS, QUICK_TOLD, QUICK_TURNS = (10, 30, 90), (2, 4, 8), (500, 1_000, 2_000)
WIDE = (
    *("--min-duration-s", "0", "--min-shots", "1", "--max-shots", "5000", "--min-mean-shot-s", "0"),
    *("--max-mean-shot-s", "9000", "--min-flow-px", "0", "--max-flow-px", "9999"),
)
READ = "import sys; from pathlib import Path; from reeltalk.store.benchmark import Benchmark; "
READ += "Benchmark.open(Path(sys.argv[1])).content()"
HASHED_BYTES = 256 << 20
LINEAR = 1.15
"""An exponent above it is told as worse than linear; below, memory that is allocated once explains it."""


def film(folder: Path, count: int) -> Path:
    """So many short videos, no two alike."""
    folder.mkdir()
    for number in range(count):
        draw = np.random.default_rng(number)
        first, second = (
            np.kron(draw.integers(0, 255, (9, 16, 3), dtype=np.uint8), np.ones((10, 10, 1), dtype=np.uint8))
            for _ in range(2)
        )
        pictures = (np.roll(first if frame < 20 else second, 2 * frame, axis=1) for frame in range(40))
        write_video(folder / f"video-{number:05d}.mp4", pictures, fps=10)
    return folder


def curated(folder: Path, sizes: tuple[int, ...]) -> tuple[list[Growth], dict[str, float]]:
    """Curate; bytes that it leaves of a video beside the video."""
    growth, stored = Growth("curate", "videos"), dict[str, float]()
    for size in sizes:
        into = folder / f"curated-{size}"
        growth.add(size, spend(reeltalk("curate", str(film(folder / f"raw-{size}", size)), "--into", str(into), *WIDE)))
        tables = sum(size_bytes(path) for path in into.glob("*.jsonl"))
        parts = {"tables": tables, "manifest": size_bytes(into / MANIFEST), "work": size_bytes(into / ".work")}
        stored |= {f"curate, {size} videos: KB of {name} a video": part / size / 1e3 for name, part in parts.items()}
        told_so(growth)
    return [growth], stored


def constructed(folder: Path, sizes: tuple[int, ...]) -> tuple[list[Growth], dict[str, float]]:
    """Construct with the graph writer, validate, and read all into memory; bytes of graphs and tables."""
    made, checked, read = (Growth(what, "videos") for what in ("construct", "validate", "read all"))
    stored: dict[str, float] = {}
    for size in sizes:
        path = folder / f"told-{size}"
        benchmark = told(path, size, 7, max(2, size // 2))
        graphs = sum(entry.size_bytes for name, entry in benchmark.manifest.files.items() if name.startswith("graphs/"))
        made.add(size, spend(reeltalk("construct", str(path))))
        checked.add(size, spend(reeltalk("validate", str(path)), ok=(0, 1)))
        read.add(size, spend([sys.executable, "-c", READ, str(path)]))
        content = Benchmark.open(path).content()
        turns = sum(len(unit.turns) for units in (content.chains, content.dialogues) for unit in units)
        tables = sum(size_bytes(table) for table in path.glob("*.jsonl"))
        stored |= {
            f"construct, {size} videos: KB of graphs a video": graphs / size / 1e3,
            f"construct, {size} videos: KB of tables a video": tables / size / 1e3,
            f"construct, {size} videos: turns a video": turns / size,
            f"construct, {size} videos: rows": float(benchmark.rows(CHAINS) + benchmark.rows(DIALOGUES)),
        }
        for growth in (made, checked, read):
            told_so(growth)
    return [made, checked, read], stored


def asked(folder: Path, sizes: tuple[int, ...]) -> tuple[list[Growth], dict[str, float]]:
    """Play a baseline, score, report, compare, and review's import and export; bytes of a turn."""
    names = ("evaluate, empty", "evaluate, blind", "score", "report", "compare", "review, import", "review, export")
    evaluated, blind, scored, reported, compared, imported, exported = growths = [Growth(n, "turns") for n in names]
    stored: dict[str, float] = {}
    for size in sizes:
        path, run, site = (folder / f"{name}-{size}" for name in ("turns", "run", "site"))
        drawn = content(size)
        drawn.answers = [
            Answer(model="drawn", unit="chain", unit_id=chain.id, turn_index=index, text=turn.references[0][::-1])
            for chain in drawn.chains
            for index, turn in enumerate(chain.turns)
        ]
        Benchmark.create(path).write_content(drawn, stage="bench")
        played = ("--policy", "none", "--metrics", "none", "--units", "chain")
        for name, growth in (("empty", evaluated), ("blind", blind)):
            out = ("--out", str(folder / f"{name}-{size}"))
            growth.add(size, spend(reeltalk("evaluate", str(path), "--model", f"baseline:{name}", *played, *out)))
        how = ("--metrics", "bleu,rouge_l,cider", "--out", str(folder / f"scored-{size}"))
        scored.add(size, spend(reeltalk("score", str(path), *how)))
        Drawn(size // TURNS_A_DIALOGUE * TURNS_A_DIALOGUE, 2).write(run)
        reported.add(size, spend(reeltalk("report", str(run), "--out", str(site))))
        compared.add(size, spend(reeltalk("compare", str(run))))
        with served(path) as server:
            imported.add(size, Spent(server.ready_s, server.cpu_s(), server.memory_mib("VmHWM")))
        exported.add(size, spend(reeltalk("review", "export", str(path), str(folder / f"reviewed-{size}"))))
        spend(reeltalk("export", "hub", str(path), str(folder / f"hub-{size}")))
        parquet = sum(size_bytes(file) for file in (folder / f"hub-{size}").rglob("*.parquet"))
        stored |= {
            f"{size} turns: KB of chains a turn": size_bytes(path / CHAINS.file_name) / size / 1e3,
            f"{size} turns: KB of Parquet a turn": parquet / size / 1e3,
            f"{size} turns: KB of a run a turn": size_bytes(folder / f"empty-{size}") / size / 1e3,
            f"{size} turns: KB of a report a turn, of two models": size_bytes(site) / size / 1e3,
        }
        for growth in growths:
            told_so(growth)
        for made in folder.glob(f"*-{size}"):
            shutil.rmtree(made)
    return growths, stored


def told_so(growth: Growth) -> None:
    """Say what was measured last."""
    spent = f"{growth.cpu_s[-1]:.1f} CPU s, {growth.wall_s[-1]:.1f} s, {growth.peak_mib[-1]:.0f} MiB"
    print(f"{growth.what}, {growth.sizes[-1]:,} {growth.unit}: {spent}", flush=True)


def hashing(folder: Path) -> float:
    """Megabytes that one core hashes in a second, read from a file."""
    path = folder / "hashed"
    path.write_bytes(bytes(HASHED_BYTES))
    begun = time.process_time()
    digest, _ = hash_file(path)
    spent = time.process_time() - begun
    if digest != hashlib.sha256(bytes(HASHED_BYTES)).hexdigest():
        raise RuntimeError("the hash is wrong")
    path.unlink()
    return HASHED_BYTES / 1e6 / spent


def stated(growths: list[Growth], stored: dict[str, float], hash_mb_s: float, *, quick: bool = False) -> list[Measure]:
    """What this suite vouches for; small counts tell no exponent well enough to hold it to a goal."""
    feeds = {
        "curate": "curate_core_s_a_video", "construct": "construct_core_s_a_video", "score": "score_core_s_a_turn",
        "report": "report_core_s_a_turn", "evaluate, empty": "play_core_s_a_turn",
    }  # fmt: skip
    found, goal = [], None if quick else at_most(LINEAR, "linear")
    for growth in growths:
        last, one = f"{growth.what}, {growth.sizes[-1]:,} {growth.unit}", growth.unit.removesuffix("s")
        if growth.exponent is not None:
            found.append(Measure(f"{last}: exponent of its CPU time", growth.exponent, "exponent", goal=goal))
        smallest = f"one {one} of the smallest run of {growth.sizes[0]:,}, its start included"
        ratio = growth.one_more_s / (growth.cpu_s[0] / growth.sizes[0])
        feed = feeds.get(growth.what, "")
        found.append(
            Measure(f"{growth.what}: one {one} more", growth.one_more_s, "core s", smallest, ratio, feeds=feed)
        )
        if growth.what in ("construct", "curate"):
            name = "construct_mib" if growth.what == "construct" else ""
            found.append(
                Measure(f"{growth.what}: memory of the largest process", max(growth.peak_mib), "MiB", feeds=name)
            )
        if growth.what == "evaluate, empty":
            rate = growth.sizes[-1] / growth.wall_s[-1]
            found.append(Measure(f"{last}: turns a second without model time", rate, "turns a s", goal=at_least(200)))
    largest = {name.partition(": ")[2]: (name, value) for name, value in stored.items()}
    kilobytes = {
        "KB of tables a video": "tables_kb_a_video", "KB of manifest a video": "manifest_kb_a_video",
        "KB of graphs a video": "graph_kb_a_video", "turns a video": "turns_a_video_constructed",
        "KB of chains a turn": "jsonl_kb_a_turn", "KB of Parquet a turn": "parquet_kb_a_turn",
        "KB of a run a turn": "run_kb_a_turn", "KB of a report a turn, of two models": "report_kb_a_turn",
    }  # fmt: skip
    for name, figure in kilobytes.items():
        what, value = largest[name]
        unit = "turns" if name == "turns a video" else "KB"
        found.append(Measure(what, value, unit, feeds=figure))
    return [*found, Measure("hashing a file", hash_mb_s, "MB a core s", feeds="hash_mb_a_core_s")]


def main() -> None:
    """Measure, and say what is worse than linear."""
    quick: bool = options_of(__doc__).parse_args().quick
    with tempfile.TemporaryDirectory(prefix="reeltalk-growth-") as name:
        folder = Path(name)
        hash_mb_s = hashing(folder)
        parts = [
            curated(folder, QUICK_VIDEOS if quick else VIDEOS),
            constructed(folder, QUICK_TOLD if quick else TOLD),
            asked(folder, QUICK_TURNS if quick else TURNS),
        ]
    growths = [growth for part, _ in parts for growth in part]
    stored = {name: value for _, part in parts for name, value in part.items()}
    figures = {name: value for growth in growths for name, value in growth.figures().items()} | stored
    notes = [
        f"worse than linear: {growth.what}, exponent {growth.exponent:.2f} at {growth.sizes[-1]:,} {growth.unit}"
        for growth in growths
        if not quick and growth.exponent is not None and growth.exponent > LINEAR
    ]
    lines = [
        {"what": growth.what, "unit": growth.unit, "sizes": growth.sizes, "exponent": growth.exponent}
        | {"cpu_s": [round(cpu, 3) for cpu in growth.cpu_s]}
        for growth in growths
    ]
    measures = stated(growths, stored, hash_mb_s, quick=quick)
    record("growth", measures, figures=figures, packages=["numpy"], notes=notes, quick=quick, growth=lines)


if __name__ == "__main__":
    main()
