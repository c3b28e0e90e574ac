"""How fast `reeltalk review` serves a team on a project of SVBench's size: 1,353 videos with 49,979 turns.

The benchmark is synthetic text over a few real clips, each of which stands for many videos. A real server process
serves it; a team of simulated annotators, in a process of its own, signs in, opens units, reads half a mebibyte of
video before each turn, thinks for two seconds on the average, saves every turn and hands the unit in. Both processes
share the machine's cores, and what the client itself waits for is told beside what it measured.
"""

import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
import sample_videos

from record import Goal, Measure, at_most, options_of, record
from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file
from reeltalk_review.access import Role
from reeltalk_review.database import DATABASE, ReviewProject
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.people import invite, join_team
from reeltalk_review.verifying import verify_history
from review_team import PASSWORD, SEEK_BYTES

HERE = Path(__file__).parent
VIDEOS, TURNS = 1353, 49_979
QUICK_TURNS = 5_000
BUSY_CORES = 0.25
RELATIONS = ("continuation", "causality", "comparison")
WORDS = [
    "the", "person", "walks", "to", "kitchen", "and", "opens", "a", "fridge", "then", "takes", "milk", "out", "of",
    "it", "before", "sitting", "down", "at", "table", "with", "cup", "bread", "television", "lamp", "light", "red",
    "shirt", "left", "hand", "while", "other", "one", "turns", "off", "stove", "again", "twice", "he", "she", "looks",
]  # fmt: skip
TARGETS_MS = {"save": 150.0, "open": 100.0, "seek": 150.0, "board": 500.0}
"""At the 95th percentile with 30 people; with 60, a save may take 300."""


def content(turns: int) -> Content:
    """Chains of five or six turns, videos and clips, and the links of neighbours."""
    rng = random.Random(49_979)
    clips = [path for path in sample_videos.real_clips().values() if path.stat().st_size > 2 * SEEK_BYTES]
    files = [(hash_file(path)[0], path) for path in clips]
    found = Content(media=dict(files))
    videos = max(1, round(VIDEOS * turns / TURNS))
    for number in range(videos):
        name = f"video-{number:04d}"
        found.videos.append(Video(id=name, sha256=files[number % len(files)][0], duration_s=120.0, category="daily"))
    left, number = turns, 0
    last: dict[str, str] = {}
    while left:
        count = min(left, rng.choice((5, 5, 5, 6, 6)))
        video, scene = f"video-{number % videos:04d}", number // videos
        clip, chain = f"clip-{number:05d}", f"chain-{number:05d}"
        span = Interval(start_s=10.0 * scene, end_s=10.0 * scene + 9.5)
        found.clips.append(Clip(id=clip, video_id=video, interval=span))
        drafts = tuple(_turn(rng, span) for _ in range(count))
        found.chains.append(QAChain(id=chain, video_id=video, clip_id=clip, turns=drafts))
        if video in last:
            source, target = (
                TurnRef(unit_id=last[video], turn_index=0),
                TurnRef(unit_id=chain, turn_index=min(1, count - 1)),
            )
            found.linkages.append(Linkage(source=source, target=target, relation=rng.choice(RELATIONS)))
        last[video] = chain
        left, number = left - count, number + 1
    return found


def _turn(rng: random.Random, span: Interval) -> Turn:
    return Turn(
        question=f"{' '.join(rng.choices(WORDS, k=rng.randint(6, 16)))}?",
        references=(" ".join(rng.choices(WORDS, k=rng.randint(6, 40))),),
        asked_at_s=span.end_s,
        evidence=(span,),
        labels={"svbench.skill": (rng.choice(("II", "PA", "CR", "STS")),)},
    )


@dataclass
class Server:
    """A running `reeltalk review`."""

    address: str
    process: subprocess.Popen[str]
    ready_s: float

    def memory_mib(self, what: str = "VmRSS") -> float:
        """Memory in use now, or with `VmHWM` at most, of the process that has most."""
        found = []
        for process in self._processes():
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
            found.append(next(int(line.split()[1]) / 1024 for line in lines if line.startswith(what)))
        return max(found)

    def cpu_s(self) -> float:
        """Processor time of all its processes so far."""
        used = 0
        for process in self._processes():
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            used += int(fields[11]) + int(fields[12])
        return used / os.sysconf("SC_CLK_TCK")

    def _processes(self) -> list[int]:
        first = self.process.pid
        others = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, others)]


@contextlib.contextmanager
def served(benchmark: Path, *options: str) -> Iterator[Server]:
    """Serve a benchmark with the command line, in a process of its own."""
    command = [sys.executable, "-m", "reeltalk", "review", str(benchmark), "--port", "0", *options]
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("open "):
            raise SystemExit(f"the server did not start: {line}")
        try:
            yield Server(line.split()[1].partition("/join/")[0], process, time.perf_counter() - begun)
        finally:
            process.terminate()


def add_people(benchmark: Path, database: str | None, count: int) -> list[str]:
    """An owner and annotators, who join by invitations; their names."""
    project = ReviewProject.open(benchmark, url=database)
    names = []
    for number in range(count + 1):
        with transaction(project.database, OPERATOR) as change:
            role = Role.OWNER if number == 0 else Role.ANNOTATOR
            name = "owner" if number == 0 else f"annotator-{number:03d}"
            join_team(change, project.secret, invite(change, project.secret, role)[1], name, PASSWORD)
            names.append(name)
    project.database.close()
    return names


def measure(server: Server, names: list[str], seconds: float, label: str) -> tuple[dict[str, float], list[str]]:
    """Let a team work; figures by name, and what went wrong."""
    memory, used, busy = server.memory_mib(), server.cpu_s(), _busy_s()
    team = subprocess.run(
        [sys.executable, str(HERE / "review_team.py"), server.address, "--seconds", str(seconds)],
        input="\n".join(names),
        capture_output=True,
        text=True,
        check=False,
    )
    if team.returncode:
        raise SystemExit(team.stderr or f"the team ended with {team.returncode}")
    found: dict[str, Any] = json.loads(team.stdout)
    server_cpu, took = server.cpu_s() - used, found["seconds"]
    others = (_busy_s() - busy - server_cpu - found["cpu_s"]) / took
    figures: dict[str, float] = {}
    for what, times in sorted(found["took_s"].items()):
        ordered = sorted(times)
        for name, share in (("p50", 0.5), ("p95", 0.95), ("max", 1.0)):
            at = min(len(ordered) - 1, int(share * len(ordered)))
            figures[f"{label} {what} {name} ms"] = ordered[at] * 1000
        figures[f"{label} {what} count"] = len(ordered)
    figures[f"{label} errors"] = sum(found["errors"].values())
    figures[f"{label} server memory begin MiB"] = memory
    figures[f"{label} server memory end MiB"] = server.memory_mib()
    figures[f"{label} server cores used"] = server_cpu / took
    figures[f"{label} client cores used"] = found["cpu_s"] / took
    figures[f"{label} cores used by others"] = others
    return figures, [f"{label} {times} × {error}" for error, times in found["errors"].items()]


def _busy_s() -> float:
    """Processor time that all processes of the machine used so far, in seconds."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    return (sum(fields[:8]) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure, and say where a target is missed."""
    parser = options_of(__doc__)
    parser.add_argument("--people", type=int, nargs="+", default=[30, 60])
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--turns", type=int)
    options = parser.parse_args()
    turns = options.turns or (QUICK_TURNS if options.quick else TURNS)
    seconds = options.seconds or (20.0 if options.quick else 300.0)
    figures, notes = on_sqlite(turns, seconds, options.people)
    measures = stated(figures, options.people, turns)
    packages = ["fastapi", "starlette", "uvicorn", "sqlalchemy"]
    record("review", measures, figures=figures, packages=packages, notes=notes, quick=options.quick)


def on_sqlite(turns: int, seconds: float, teams: list[int]) -> tuple[dict[str, float], list[str]]:
    """Figures of a server with a SQLite file, and what went wrong."""
    figures: dict[str, float] = {"turns": turns}
    notes: list[str] = []
    with tempfile.TemporaryDirectory(prefix="reeltalk-bench-") as folder:
        path = Path(folder) / "bench"
        benchmark = Benchmark.create(path, name="SVBench's size")
        benchmark.write_content(content(turns), stage="bench", settings={})
        with served(path) as server:
            figures["import s"] = server.ready_s
        names = add_people(path, None, max(teams))
        with served(path) as server:
            figures["start again s"] = server.ready_s
            for people in teams:
                found, problems = measure(server, names[: people + 1], seconds, f"{people} people:")
                figures |= found
                notes += problems
            figures["server memory at most MiB"] = server.memory_mib("VmHWM")
        project = ReviewProject.open(path)
        begun = time.perf_counter()
        verification = verify_history(project.database)
        figures["verify s"], figures["events"] = time.perf_counter() - begun, verification.events
        notes += [f"verify: {finding}" for finding in verification.findings]
        project.database.close()
        begun = time.perf_counter()
        command = ["review", "export", str(path), str(path.with_name("out"))]
        subprocess.run([sys.executable, "-m", "reeltalk", *command], check=True, stdout=subprocess.DEVNULL)
        figures["export s"] = time.perf_counter() - begun
        stored = sum(file.stat().st_size for file in project.folder.glob(f"{DATABASE}*"))
        figures["database KB a turn"] = stored / turns / 1000
    return figures, notes + machine_notes(figures, teams)


def machine_notes(figures: dict[str, float], teams: list[int]) -> list[str]:
    """Whether others used the machine, and where a target was missed, one sentence each."""
    others = max(figures[f"{people} people: cores used by others"] for people in teams)
    busy = [f"the machine was busy: others used {others:.1f} of its {os.cpu_count()} cores"] * (others > BUSY_CORES)
    return busy + missed(figures, teams)


def stated_of_people(figures: dict[str, float], teams: list[int]) -> list[Measure]:
    """What this suite vouches for about teams, with its goals."""
    found = []
    for people in teams:
        of = f"{people} annotators"
        for what in TARGETS_MS:
            if (name := f"{people} people: {what} p95 ms") in figures:
                goal = at_most(target_ms(what, people))
                found.append(Measure(f"{of}: {what}, 95th percentile", figures[name], "ms", goal=goal))
        failed = figures[f"{people} people: errors"]
        found.append(Measure(f"{of}: requests that failed", failed, "count", goal=at_most(0)))
    return found


def stated(figures: dict[str, float], teams: list[int], turns: int) -> list[Measure]:
    """What this suite vouches for, with its goals."""

    def take(what: str, name: str, unit: str, goal: Goal | None = None) -> Measure:
        return Measure(what, figures[name], unit, goal=goal)

    found = stated_of_people(figures, teams)
    sized = f"project of {turns:,} turns"
    found += [
        take(f"{sized}: import", "import s", "s", at_most(120)),
        take(f"{sized}: export", "export s", "s", at_most(60)),
        take(f"{sized}: memory of the server at most", "server memory at most MiB", "MiB", at_most(300)),
    ]
    return [*found, take("database, a turn", "database KB a turn", "KB")]


def target_ms(what: str, people: int) -> float:
    """Goal at the 95th percentile; with more than 30 people, a save may take twice as long."""
    return 300.0 if what == "save" and people > 30 else TARGETS_MS[what]


def missed(figures: dict[str, float], teams: list[int]) -> list[str]:
    """Where a target was missed, one sentence each."""
    found = []
    for people in teams:
        for what in TARGETS_MS:
            wanted = target_ms(what, people)
            got = figures.get(f"{people} people: {what} p95 ms")
            if got is None:
                found.append(f"{people} people: {what} was not measured")
            elif got > wanted:
                found.append(
                    f"{people} people: {what} took {got:.0f} ms at the 95th percentile, and may take {wanted:.0f}"
                )
    return found


if __name__ == "__main__":
    main()
