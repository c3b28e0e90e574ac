"""Damaged files of every layout: each import ends well or in one paragraph that names the place, and leaves nothing.

50 mutations, 1,000 under `make test-full` and 3,000 for a release, spread over all sample folders and drawn from a
fixed seed. What is mutated is every file that a format's importer reads as text.
"""

import random
import shutil
from pathlib import Path

import pytest
from places import TESTS
from reliability_page import Reliability

from file_damage import MUTATIONS
from reeltalk.cli import run
from reeltalk.formats import WRITTEN
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.validate import validate

SAMPLES = TESTS / "samples"
OTHER_NAMES = {"mt-video-bench-v1": "mt-video-bench", "mt-video-bench-v2": "mt-video-bench", "dstc10": "avsd"}
TEXT = {".json", ".jsonl", ".csv", ".txt", ".nt", ".md", ".yaml"}
FOLDERS = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())


def each(count: int) -> int:
    """Every folder's share."""
    return -(-count // len(FOLDERS))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", FOLDERS)
def test_damaged_files_are_refused_in_one_paragraph(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], reliability: Reliability
) -> None:
    draw = random.Random(f"reeltalk {name}")
    count = reliability.count(each(50), full=each(1000), release=each(3000))
    tally = reliability(
        "data", "damaged files of every layout, imported", "a traceback, no place named, or files left over"
    )
    source, layout = tmp_path / "source", OTHER_NAMES.get(name, name)
    refused = 0
    for number in range(count):
        tally.tried += 1
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(SAMPLES / name, source)
        files = sorted(p for p in source.rglob("*") if p.is_file() and p.suffix in TEXT and p.stat().st_size)
        # One folder goes on with the kinds of damage where the one before it stopped.
        victim, mutate = draw.choice(files), MUTATIONS[(FOLDERS.index(name) * count + number) % len(MUTATIONS)]
        victim.write_bytes(mutate(victim.read_bytes(), draw))
        bench = tmp_path / f"bench{number}"
        told = f"{mutate.__name__} of {victim.relative_to(source)} ({number})"
        code = run(["import", layout, str(source), str(bench)])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err, told
        if code == 0 or (code == 1 and name in ("qa", "folder")):
            # What was accepted is whole, readable, and comes out again if the layout is written; damaged rows and rows
            # without a video are set aside.
            refused += code
            validate(Benchmark.open(bench))
            if layout in WRITTEN:
                assert run(["export", layout, str(bench), str(tmp_path / f"out{number}")]) == 0, told
            capsys.readouterr()
        else:
            refused += 1
            assert code == 2, told
            assert captured.err.count("\n") == 1, told
            assert victim.name in captured.err or victim.parent.name in captured.err or str(source) in captured.err, (
                f"{told}: {captured.err}"
            )
            assert not bench.exists(), told
        shutil.rmtree(bench, ignore_errors=True)
        shutil.rmtree(tmp_path / f"out{number}", ignore_errors=True)
        assert not list(tmp_path.glob(".partial-*")), told
    # A suite in which nothing is refused would test nothing.
    assert refused >= count // 4
