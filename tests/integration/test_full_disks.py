"""A disk that is full, read-only, closed or short: one sentence with cause and place, nothing torn; it goes on later.

Disks are file systems in memory of their own, so that they are full to the byte. Where mounting is refused, the tests
are skipped; `RLIMIT_FSIZE` needs no mount.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import scripted_vision
from launched_runs import Ended, Launcher
from people_at_work import decide, full_content, member, unit_id, verdicts
from reliability_page import Reliability
from sample_videos import numbered_picture
from scripted_server import Body, serve

from reeltalk.cli import run
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file
from reeltalk_build.video.write import write_video
from reeltalk_review.database import ReviewProject
from reeltalk_review.importing import import_benchmark

SIZE = 32 << 20
NOBODY = 65534
RESULTS = sorted((Path(__file__).parents[1] / "samples" / "vdact" / "results").glob("*.json"))
LOOSE = ["--min-duration-s", "1", "--min-shots", "1", "--max-shots", "500", "--min-mean-shot-s", "0", "--cut", "exact"]
LOOSE += ["--max-mean-shot-s", "1000", "--min-flow-px", "0", "--max-flow-px", "1000", "--save-frames"]
CAUSES = {
    "full": ("No space left on device", "database or disk is full", "disk I/O error"),
    "read-only": ("Read-only file system", "readonly database", "unable to open database"),
    "closed": ("Permission denied", "readonly database", "unable to open database"),
    "short": ("File too large", "disk I/O error", "database or disk is full"),
}


@dataclass(frozen=True)
class Prepared:
    """What the commands read, on a disk that is not full."""

    folder: Path
    url: str


def reply(body: Body) -> Any:
    """The writer's, the tagger's, or a player's answer."""
    if body["model"] == "tagger":
        turn = {"target": ["Object"], "content": ["Identity"], "thinking": "Recall"}
        return json.dumps({"turns": [{"number": number, **turn} for number in (1, 2, 3)]})
    return scripted_vision.reply(body) if body["model"] == "vision-1" else "Gesundheit ist das höchste Gut."


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory, samples: Path, filmed_video: Path) -> Iterator[Prepared]:
    folder = tmp_path_factory.mktemp("prepared")
    turns = tuple(Turn(question=f"What is the number {n}?", references=("It is one.",)) for n in range(3))
    write_video(folder / "film.mp4", map(numbered_picture, range(60)), fps=10)
    sha256 = hash_file(folder / "film.mp4")[0]
    content = Content(
        videos=[Video(id="v", sha256=sha256)],
        media={sha256: folder / "film.mp4"},
        dialogues=[Dialogue(id="d", video_id="v", turns=turns)],
    )
    Benchmark.create(folder / "bench").write_content(content, stage="test")
    shutil.copytree(filmed_video, folder / "house")
    reviewed = Benchmark.create(folder / "rev" / "reviewed")
    reviewed.write_content(full_content(), stage="test")
    project = ReviewProject.open(reviewed.path)
    import_benchmark(project, reviewed, serving=lambda _: {})
    unit = unit_id("turns", "chains", "a")
    decisions = {"0": {"decision": "reject"}, "1": {"decision": "edit", "question": "Why?"}}
    decide(project, member(project, "Ada"), unit, verdicts(project, unit, decisions))
    project.database.close()
    shutil.copytree(samples / "svbench", folder / "svbench")
    with serve(reply, keep=0) as server:
        made = Prepared(folder, server.base_url)
        for command in ("evaluate",):
            assert run([str(word) for word in COMMANDS[command](made, folder)]) == 0
        (folder / "run").rename(folder / "answered")
        yield made


def asked(made: Prepared, model: str) -> list[object]:
    return ["--model", model, "--base-url", made.url, "--backoff-s", 0.01]


COMMANDS: dict[str, Callable[[Prepared, Path], list[object]]] = {
    "evaluate": lambda made, disk: [
        "evaluate", made.folder / "bench", *asked(made, "tiny"), "--policy", "none", "--protocols", "match",
        "--out", disk / "run",
    ],
    "judge": lambda made, disk: ["judge", made.folder / "answered", "--protocols", "match", "--out", disk / "judged"],
    "score": lambda made, disk: [
        "score", *RESULTS, "--format", "vdact", "--metrics", "rouge_l", "--out", disk / "scored",
    ],
    "report": lambda made, disk: ["report", made.folder / "answered", "--out", disk / "site"],
    "freeze": lambda made, disk: ["freeze", made.folder / "house", disk / "release", "--version", "1.0.0"],
    "import": lambda made, disk: ["import", "svbench", made.folder / "svbench", disk / "imported"],
    "curate": lambda made, disk: ["curate", made.folder / "film.mp4", "--into", disk / "curated", *LOOSE],
    "export": lambda made, disk: ["export", "hub", made.folder / "house", disk / "hub"],
    "construct": lambda made, disk: [
        "construct", disk / "house", "--writer", "vision-1", "--base-url", made.url, "--frames", 2, "--steps", "chains",
    ],
    "construct graph": lambda made, disk: ["construct", disk / "house", "--writer", "graph"],
    "tag": lambda made, disk: ["tag", disk / "bench", "--model", "tagger", "--base-url", made.url],
    "review apply": lambda made, disk: ["review", "apply", disk / "rev" / "reviewed"],
    "demo": lambda made, disk: ["demo", "--out", disk / "demo"],
}  # fmt: skip
"""Commands, and where they write."""
BROUGHT = {"construct": ["house"], "construct graph": ["house"], "tag": ["bench"], "review apply": ["rev"]}
"""What lies on the disk before."""
OFTEN = [name for name in COMMANDS if name != "demo"]
MORE = ("evaluate", "curate", "review apply", "report")
"""What `make test` tries on a full disk: what asks, what decodes, the database, and what writes many files."""
QUICK = {
    "read-only": ("evaluate", "tag"),
    "closed": ("curate", "review apply"),
    "short": ("evaluate", "review apply"),
}
"""What it tries where every write ends a command, by the cause."""
PASSING = ("evaluate", "curate")
"""What it tries with a full home and full folders of temporary files."""


def chosen(names: Iterable[str], quick: Container[str]) -> list[Any]:
    """Commands as parameters, of which `make test` tries some."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in names]


@contextlib.contextmanager
def disk() -> Iterator[Path]:
    """An empty file system of its own.

    It is not in a folder of pytest, which would fail to delete it if this process was killed.
    """
    folder = Path(tempfile.mkdtemp(prefix="reeltalk-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        refused = done.stderr.strip() if done.returncode else ""
    except FileNotFoundError as error:
        refused = str(error)
    if refused:
        folder.rmdir()
        pytest.skip(f"no file system can be mounted here: {refused}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def fill(folder: Path, free_bytes: int) -> Path:
    """Fill a disk up to so many bytes."""
    status = os.statvfs(folder)
    filler = folder / "filler"
    filler.write_bytes(bytes(max(0, status.f_bavail * status.f_frsize - free_bytes)))
    return filler


def bring(made: Prepared, name: str, folder: Path) -> None:
    for brought in BROUGHT.get(name, []):
        shutil.copytree(made.folder / brought, folder / brought)


def fault_of(ended: Ended, cause: str, places: list[Path]) -> str | None:
    """What is wrong with how a command ended that could not write; None where it ended as it should."""
    if "Traceback" in ended.said or "Exception ignored" in ended.said:
        return f"a traceback: {ended.said[-2000:]}"
    if ended.code == 0:
        return None
    if ended.code != 2:
        return f"exit code {ended.code}: {ended.said[-500:]}"
    lines = [line for line in ended.said.splitlines() if line.startswith("reeltalk: ")]
    if len(lines) != 1:
        return f"{len(lines)} sentences: {ended.said[-500:]}"
    if not any(words in lines[0] for words in CAUSES[cause]):
        return f"no cause: {lines[0]}"
    if not any(str(place) in lines[0] for place in places):
        return f"no place: {lines[0]}"
    return None


def goes_on(ended: Ended, runs: Launcher, command: list[object], folder: Path) -> str | None:
    """What is wrong when there is space again; None where the same command ends well and leaves nothing torn."""
    again = ended if ended.code == 0 else runs.run(*command)
    if again.code:
        return f"does not go on: {again.said[-1000:]}"
    left = [path for path in folder.rglob(".partial-*") if path.suffix != ".lock"]
    if left:
        return f"leaves {left[0]}"
    for manifest in folder.rglob("manifest.json"):
        if run(["validate", str(manifest.parent)]):
            return f"{manifest.parent} does not validate"
    return None


@pytest.mark.parametrize("name", chosen(OFTEN, MORE))
def test_a_full_disk(runs: Launcher, prepared: Prepared, name: str, reliability: Reliability) -> None:
    levels_kib = [60, 0, 96, 4, 16, 44, 120, 200, 500, 1000][: reliability.count(1, full=3, release=10)]
    wrong = []
    tally = reliability("storage", "disks with 0 to 1,000 KiB left, under 13 commands", "no clear end, or a torn file")
    for level_kib in levels_kib:
        with disk() as folder:
            bring(prepared, name, folder)
            command = COMMANDS[name](prepared, folder)
            filler = fill(folder, level_kib << 10)
            ended = runs.run(*command)
            filler.unlink()
            fault = fault_of(ended, "full", [folder]) or goes_on(ended, runs, command, folder)
            tally.tried += 1
            tally.failed += fault is not None
            wrong += [f"{level_kib} KiB: {fault}"] if fault else []
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("cause", "name"),
    [
        pytest.param(cause, name, marks=() if name in QUICK[cause] else pytest.mark.slow)
        for cause in ("read-only", "closed")
        for name in OFTEN
    ],
)
def test_a_disk_that_may_not_be_written(
    runs: Launcher, prepared: Prepared, name: str, cause: str, reliability: Reliability
) -> None:
    what = {"read-only": "read-only file systems", "closed": "folders of another user"}[cause]
    tally = reliability("storage", f"{what}, under 13 commands", "no clear end")
    with disk() as folder:
        bring(prepared, name, folder)
        command = COMMANDS[name](prepared, folder)
        if cause == "read-only":
            subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
            ended = runs.run(*command)
            subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)
        else:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, NOBODY, NOBODY)
            ended = runs.run(*command, obeys_modes=True)
        fault = "it did not notice" if ended.code == 0 else fault_of(ended, cause, [folder])
        fault = fault or goes_on(ended, runs, command, folder)
        tally.tried, tally.failed = 1, int(fault is not None)
    assert fault is None


@pytest.mark.parametrize("name", chosen(["evaluate", "judge", "report", "curate", "export"], PASSING))
def test_folders_for_passing_files_that_are_full(
    runs: Launcher, prepared: Prepared, name: str, tmp_path: Path, full: bool, reliability: Reliability
) -> None:
    """Home and the folder of temporary files lie on a full disk; the command's own folder does not."""
    wrong = []
    tally = reliability("storage", "a full home and a full folder of temporary files", "no clear end")
    for level_kib in (0, 8) if full else (8,):
        out = tmp_path / f"out-{level_kib}"
        out.mkdir()
        with disk() as folder:
            places = {"HOME": "home", "XDG_DATA_HOME": "data", "XDG_CACHE_HOME": "cache", "TMPDIR": "tmp"}
            for place in places.values():
                (folder / place).mkdir()
            fill(folder, level_kib << 10)
            command = COMMANDS[name](prepared, out)
            ended = runs.run(*command, environment={key: str(folder / place) for key, place in places.items()})
            fault = fault_of(ended, "full", [folder]) or goes_on(ended, runs, command, out)
            tally.tried += 1
            tally.failed += fault is not None
            wrong += [f"{level_kib} KiB: {fault}"] if fault else []
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", chosen(OFTEN, QUICK["short"]))
def test_a_limit_on_the_size_of_files(
    runs: Launcher, prepared: Prepared, name: str, tmp_path: Path, reliability: Reliability
) -> None:
    wrong = []
    tally = reliability("storage", "limits on the size of a file, as of a quota", "no clear end, or a torn file")
    for number, largest_bytes in enumerate((6_000, 33_000)[: reliability.count(1, release=2)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        bring(prepared, name, folder)
        command = COMMANDS[name](prepared, folder)
        ended = runs.run(*command, largest_file_bytes=largest_bytes)
        fault = fault_of(ended, "short", [folder]) or goes_on(ended, runs, command, folder)
        tally.tried += 1
        tally.failed += fault is not None
        wrong += [f"{largest_bytes} bytes: {fault}"] if fault else []
    assert not wrong, "\n".join(wrong)


def test_output_into_a_full_file(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        words = [sys.executable, "-m", "reeltalk", "--help"]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("reeltalk: cannot")
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_demo_on_a_full_disk(runs: Launcher, prepared: Prepared, reliability: Reliability) -> None:
    tally = reliability("storage", "a demo on a full disk", "no clear end, or a torn file")
    wrong = []
    for level_kib in (0, 500):
        with disk() as folder:
            command = COMMANDS["demo"](prepared, folder)
            filler = fill(folder, level_kib << 10)
            ended = runs.run(*command)
            filler.unlink()
            fault = fault_of(ended, "full", [folder])
            tally.tried += 1
            tally.failed += fault is not None
            wrong += [f"{level_kib} KiB: {fault}"] if fault else []
    assert not wrong, "\n".join(wrong)
