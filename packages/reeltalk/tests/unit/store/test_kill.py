"""A process killed at any instant leaves a benchmark that opens and holds all of a write or none of it."""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from launched_runs import Launcher
from reliability_page import Reliability

from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import DIALOGUES, VIDEOS
from reeltalk.store.validate import validate

WRITER = """
import sys
from pathlib import Path
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

folder, generation = Path(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
while True:
    generation += 1
    videos = [Video(id=f"v{i}", source=str(generation)) for i in range(200)]
    dialogues = [
        Dialogue(id=f"d{i}", video_id=f"v{i}", turns=(Turn(question=f"generation {generation}?"),) * 5)
        for i in range(200)
    ]
    graphs = {f"g{i}": f"<http://a> <http://b> \\"{generation}\\" .\\n" for i in range(3)}
    content = Content(videos=videos, dialogues=dialogues, graphs=graphs)
    Benchmark.create(folder).write_content(content, stage=f"generation {generation}")
    print(generation, flush=True)
"""


def generation_of(folder: Path) -> int:
    """The one generation that all tables and graphs belong to."""
    benchmark = Benchmark.open(folder)
    assert [str(finding) for finding in validate(benchmark)] == []
    generations = {int(video.source or 0) for video in benchmark.read(VIDEOS)}
    generations |= {int(row.turns[0].question.split()[1][:-1]) for row in benchmark.read(DIALOGUES)}
    generations |= {int(text.split('"')[1]) for text in benchmark.content().graphs.values()}
    assert len(generations) == 1, f"a torn write: {generations}"
    assert benchmark.rows(VIDEOS) == benchmark.rows(DIALOGUES) == 200
    return generations.pop()


@pytest.mark.timeout(3600)
def test_sigkill_during_writes_leaves_all_or_nothing(tmp_path: Path, runs: Launcher, reliability: Reliability) -> None:
    kills = reliability.count(20, full=200, release=500)
    tally = reliability(
        "power", "SIGKILL while a benchmark is written", "a torn benchmark, or an acknowledged write that is lost"
    )
    folder, chance, reached, interrupted = tmp_path / "bench", random.Random(7), 0, 0
    (tmp_path / "generations_writer.py").write_text(WRITER)
    for _ in range(kills):
        writer = runs.start(folder, reached, module="generations_writer", cwd=tmp_path, stdout=subprocess.PIPE)
        with writer as process:
            stdout = process.stdout
            assert stdout is not None
            assert stdout.readline() == "ready\n"
            if reached == 0:
                reached = int(stdout.readline())
            time.sleep(chance.uniform(0, 0.12))
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            acknowledged = [int(line) for line in stdout.read().split()]
        interrupted += any(folder.glob(".partial-*")) or (folder / ".commit").exists()
        tally.tried += 1
        now = generation_of(folder)
        assert now >= max([reached, *acknowledged]), "an acknowledged write was lost"
        reached = now
    # The test must have hit writes in flight, else it shows nothing.
    assert interrupted >= kills // 5
