"""Whoever reads while others write sees the old state or the new one, whole; or is told to read again."""

import contextlib
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from reliability_page import Reliability
from scripted_server import serve

from reeltalk.cli import run
from reeltalk.errors import BenchmarkError
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import read_run
from reeltalk.store.tables import DIALOGUES, VIDEOS
from reeltalk_review.database import Database, ReviewProject, sqlite_url
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.exporting import export_project, restore_project
from reeltalk_review.importing import import_benchmark
from reeltalk_review.verifying import verify_history

WRITER = """
import sys
from pathlib import Path
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

for generation in range(1, 1_000_000):
    videos = [Video(id=f"v{i}", source=str(generation)) for i in range(100)]
    dialogues = [
        Dialogue(id=f"d{i}", video_id=f"v{i}", turns=(Turn(question=f"generation {generation}?"),) * 5)
        for i in range(100)
    ]
    graphs = {f"g{i}": f"<http://a> <http://b> \\"{generation}\\" .\\n" for i in range(3)}
    content = Content(videos=videos, dialogues=dialogues, graphs=graphs)
    Benchmark.create(Path(sys.argv[1])).write_content(content, stage=f"generation {generation}")
    print(generation, flush=True)
"""
TORN = "a mixture of old and new, or an error other than that it was written meanwhile"
MEANWHILE = "another process wrote"


@pytest.mark.timeout(3600)
def test_a_reader_of_a_benchmark_sees_one_write(tmp_path: Path, reliability: Reliability) -> None:
    tally = reliability("storage", "reading a whole benchmark while another process writes it without a pause", TORN)
    folder, seen, told = tmp_path / "bench", [0], 0
    with subprocess.Popen([sys.executable, "-c", WRITER, str(folder)], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        try:
            due = reliability.count(20, full=300, release=1000)
            # On a slow disk few reads come between two writes.
            while tally.tried < due or (len(set(seen)) <= 2 and tally.tried < 2000):
                tally.tried += 1
                try:
                    content = Benchmark.open(folder).content()
                except BenchmarkError as error:
                    if MEANWHILE not in str(error):
                        raise
                    told += 1
                    continue
                found = {int(video.source or 0) for video in content.videos}
                found |= {int(dialogue.turns[0].question.split()[1][:-1]) for dialogue in content.dialogues}
                found |= {int(text.split('"')[1]) for text in content.graphs.values()}
                assert len(found) == 1, f"a mixture of {found}"
                assert (len(content.videos), len(content.dialogues), len(content.graphs)) == (100, 100, 3)
                assert found >= {max(seen)} or min(found) > max(seen), "an older state than before"
                seen += found
        finally:
            writer.kill()
    print(f"{len(set(seen)) - 1} states were seen, {told} times another process wrote meanwhile")
    assert len(set(seen)) > 2


@pytest.mark.timeout(3600)
def test_a_reader_of_a_run_sees_one_run(tmp_path: Path, reliability: Reliability) -> None:
    tally = reliability("storage", "reading a whole run while it is made anew without a pause", TORN)
    bench, out = tmp_path / "bench", tmp_path / "run"
    turns = tuple(Turn(question=f"question {n}", references=("It is tea.",)) for n in range(3))
    with Benchmark.create(bench).writing(stage="test") as writing:
        writing.add(VIDEOS, [Video(id="v", duration_s=60.0)])
        writing.add(DIALOGUES, [Dialogue(id=f"d{n}", video_id="v", turns=turns) for n in range(4)])
    stop, codes = threading.Event(), [0]
    seen: set[int] = set()

    def make_anew(url: str) -> None:
        where = ["--model", "tiny", "--base-url", url, "--policy", "none", "--sees", "text", "--out", str(out)]
        while not stop.is_set():
            limit = str(2 + 2 * (len(codes) % 2))
            codes.append(run(["evaluate", str(bench), *where, "--protocols", "match", "--limit", limit, "--overwrite"]))

    with serve(lambda _: "It is tea.", keep=0) as server:
        maker = threading.Thread(target=make_anew, args=(server.base_url,))
        maker.start()
        try:
            while not (out / "run.json").is_file() and maker.is_alive():
                stop.wait(0.01)
            due = reliability.count(60, full=2000, release=5000)
            # Few reads are spread over several runs, which take longer than they do.
            while tally.tried < due or (seen != {6, 12} and tally.tried < 2000):
                tally.tried += 1
                stop.wait(0.01)
                try:
                    found = read_run(out)
                    rows = len(list(found.answers()))
                    judged = len(list(found.judged("match")))
                except BenchmarkError as error:
                    if MEANWHILE not in str(error):
                        raise
                    continue
                means = {row.n for row in found.summary if row.metric == "match"}
                tally.failed += {rows, judged, *means} not in ({6}, {12})
                seen.add(rows)
        finally:
            stop.set()
            maker.join()
    assert set(codes) == {0}
    assert seen == {6, 12}
    assert tally.failed == 0


@pytest.mark.timeout(3600)
def test_an_export_of_a_review_is_one_moment_of_it(
    tmp_path: Path, samples: Path, reliability: Reliability, monkeypatch: pytest.MonkeyPatch
) -> None:
    # People write as fast as a server's disk lets them.
    monkeypatch.setattr("team.WAITS", True)
    tally = reliability("storage", "exports of a review while 4 people write without a pause", "an export that is torn")
    assert run(["import", "vdact", str(samples / "vdact"), str(tmp_path / "bench")]) == 0
    project = ReviewProject.open(tmp_path / "bench")
    import_benchmark(project, Benchmark.open(tmp_path / "bench"), serving=lambda _: {}, overlap=2)
    database = project.database
    stop, written = threading.Event(), [0] * 4

    def write(number: int) -> None:
        while not stop.is_set():
            with transaction(database, OPERATOR) as change:
                change.record("tried", f"{number}-{written[number]}", after={"text": "x" * 500})
            written[number] += 1

    with writers(write, stop):
        for number in range(reliability.count(2, full=30, release=100)):
            tally.tried += 1
            before = sum(written)
            out = tmp_path / f"export{number}"
            export_project(database, out)
            # It goes in again, its history is unbroken, and it leaves out nothing that was there when it began.
            restored = Database(sqlite_url(tmp_path / f"restored{number}.db"))
            restored.make_tables()
            restore_project(restored, out)
            found = verify_history(restored)
            assert found.findings == ()
            assert found.events >= before
            restored.close()
            shutil.rmtree(out)
    assert min(written) > 0
    database.close()


@contextlib.contextmanager
def writers(write: object, stop: threading.Event) -> Iterator[None]:
    """Four threads that write until the block ends."""
    assert callable(write)
    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
