"""Construction in blocks of videos: the same bytes for any number of processes, also after kills, in flat memory."""

import shutil
import time
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from subprocess import DEVNULL
from typing import Final

import pytest
from launched_runs import Launcher
from reliability_page import Reliability
from told_households import repeated, told
from traced_memory import traced_peak

from reeltalk.cli import run
from reeltalk.parallel import LocalExecutor
from reeltalk.schema.gates import GateResult
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import GATES
from reeltalk_build.construct.settings import STEPS, ConstructSettings
from reeltalk_build.construct.stage import BLOCK_STEPS
from reeltalk_build.construct.step import ConstructRun, StepResult
from reeltalk_household.questions.balancing import AnswerCounts
from reeltalk_household.writer.graph_writer import GraphWriter

TWO_STEPS: Final = ("--steps", "chains", "--steps", "linkages")
BLOCKS: Final = 3


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As many videos with graphs as there are blocks."""
    return told(tmp_path_factory.mktemp("films") / "b", BLOCKS, 7, 2, is_short=True).path


@pytest.fixture(scope="module")
def unbroken(films: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The tables that one process writes."""
    return construct(shutil.copytree(films, tmp_path_factory.mktemp("unbroken") / "b"), "--workers", "1")


def construct(folder: Path, *options: str, steps: tuple[str, ...] = TWO_STEPS, block: str = "1") -> dict[str, bytes]:
    assert run(["construct", str(folder), "--block", block, *steps, *options]) == 0
    stored = {name: sorted((folder / name[:-6]).glob("*.jsonl")) for name in Benchmark.open(folder).manifest.files}
    joined = {name: b"".join(map(Path.read_bytes, parts)) for name, parts in stored.items() if parts}
    return joined | {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}


@pytest.fixture(scope="module")
def own_ray() -> Iterator[str]:
    """Address of Ray on this machine."""
    import ray

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_TOKEN", "0" * 64)
        from reeltalk.parallel import open_executor

        open_executor("ray", 3)
        yield f"ray://{ray.get_runtime_context().gcs_address}"
        ray.shutdown()


@pytest.mark.parametrize("workers", ["2", pytest.param("7", marks=pytest.mark.slow)])
def test_any_number_of_processes_writes_the_same(
    films: Path, unbroken: dict[str, bytes], tmp_path: Path, workers: str
) -> None:
    # Also if tables are stored in parts, of a video or so each.
    parted = Benchmark.create(tmp_path / "b", part_bytes=2000)
    parted.write_content(Benchmark.open(films).content(), stage="test")
    assert construct(parted.path, "--workers", workers) == unbroken
    assert len(Benchmark.open(parted.path).manifest.files["chains.jsonl"].parts) > 1


@pytest.mark.slow
def test_ray_writes_the_same(films: Path, unbroken: dict[str, bytes], tmp_path: Path, own_ray: str) -> None:
    assert construct(shutil.copytree(films, tmp_path / "b"), "--executor", own_ray) == unbroken


def test_blocks_of_another_size_are_other_blocks(films: Path, unbroken: dict[str, bytes], tmp_path: Path) -> None:
    folder = shutil.copytree(films, tmp_path / "b")
    assert construct(folder, steps=TWO_STEPS[:2], block="2")["chains.jsonl"] != unbroken["chains.jsonl"]
    assert Benchmark.open(folder).manifest.files["chains.jsonl"].settings["block"] == 2
    assert not [path for path in (folder / ".work" / "construct").iterdir() if path.is_dir()]


@pytest.mark.timeout(1800)
def test_a_killed_construction_goes_on_with_the_other_blocks(
    runs: Launcher,
    films: Path,
    unbroken: dict[str, bytes],
    tmp_path: Path,
    reliability: Reliability,
    capsys: pytest.CaptureFixture[str],
) -> None:
    tally = reliability(
        "power",
        "SIGKILL of `reeltalk construct` in blocks",
        "a byte differs from an unbroken run, or a finished block is written again",
    )
    for number in range(reliability.count(1, full=4, release=20)):
        tally.tried += 1
        folder = shutil.copytree(films, tmp_path / f"{number}")
        killed_at(runs, folder, finished=1 + number % (BLOCKS - 1))
        marked = shutil.copytree(folder, tmp_path / f"{number}-marked")
        assert construct(folder, "--workers", "2") == unbroken
        # A finished block that was written again would lose the mark.
        block = next((marked / ".work" / "construct").glob("chains-*/videos-*"))
        text = (block / "chains.jsonl").read_text()
        (block / "chains.jsonl").write_text(text.replace('"question":"', '"question":"MARK ', 1))
        assert construct(marked, steps=TWO_STEPS[:2])["chains.jsonl"].count(b"MARK ") == 1


def killed_at(runs: Launcher, folder: Path, finished: int) -> None:
    command = ["construct", folder, "--block", "1", "--workers", "1", "--steps", "chains"]
    with runs.start(*command, stdout=DEVNULL, stderr=DEVNULL) as child:
        until = time.monotonic() + 120
        while len(list(folder.glob(".work/construct/chains-*/videos-*"))) < finished and time.monotonic() < until:
            assert child.poll() is None
            time.sleep(0.01)
        child.kill()
        child.wait()
    assert not (folder / "chains.jsonl").exists()


def test_a_block_that_fails_is_named(films: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = shutil.copytree(films, tmp_path / "b")
    benchmark = Benchmark.open(folder)
    name = benchmark.graphs()[-1]
    with benchmark.writing(stage="test") as writer:
        writer.add_graph(name, "this is no graph\n")
    assert run(["construct", str(folder), "--block", "1", "--steps", "chains"]) == 2
    said = capsys.readouterr().err
    assert f"{name}.nq" in said
    assert "of videos" in said
    assert "Traceback" not in said


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """A constructed benchmark, repeated until it has so many videos. Smaller ones would still fill buffers."""
    folder = tmp_path_factory.mktemp("many")
    source = told(folder / "told", 16, 7, 8)
    assert run(["construct", str(source.path), *chain(*(("--steps", step) for step in STEPS if step != "gates"))]) == 0
    source = Benchmark.open(source.path)
    return {16 * times: repeated(source, folder / f"{times}", times).path for times in (1, 20, 60)}


def join(folder: Path, step: str) -> None:
    """What a step does with the rows of all blocks."""
    benchmark, settings = Benchmark.open(folder), ConstructSettings()
    writer = GraphWriter(benchmark, settings, graphs_needed=False, possible=AnswerCounts(), among=frozenset())
    spec = BLOCK_STEPS[step]
    gates = benchmark.table(GATES).where(lambda row: row["gate"].startswith(f"{step}:"))
    made = StepResult({table: benchmark.table(table) for table in spec.writes}, benchmark.spool(GateResult, gates))
    spec.join(ConstructRun(benchmark, settings, writer, LocalExecutor(1)), made)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("step", ["chains", "linkages", "paths", "scenes", "dialogues"])
def test_the_process_that_joins_blocks_keeps_little_of_each_video(many: dict[int, Path], step: str) -> None:
    few, more = sorted(many)[1:]
    # The first run fills caches.
    join(many[16], step)
    peaks = [traced_peak(partial(join, many[size], step)) for size in (few, more)]
    assert (peaks[1] - peaks[0]) / 1024 / (more - few) < 20
