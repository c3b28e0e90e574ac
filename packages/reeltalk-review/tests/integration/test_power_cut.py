"""A power cut at any moment: what was acknowledged as lasting is there, and all else is old or new, and never torn.

`tools/power_cut.py` works out what a cut may leave. Each program runs once; then it is cut short at many moments.
"""

import json
import random
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import power_cut
import pytest
from power_cut import Recording
from reliability_page import Reliability
from scripted_server import Body, serve, words
from sqlalchemy import select

from reeltalk.cli import run
from reeltalk.errors import BenchmarkError
from reeltalk.llm import ReplyStore
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.event_log import EventLog
from reeltalk.store.tables import DIALOGUES, VIDEOS
from reeltalk.store.validate import validate
from reeltalk_review.database import ReviewProject
from reeltalk_review.tables import EventRow
from reeltalk_review.verifying import verify_history

pytestmark = [
    pytest.mark.skipif(
        not power_cut.is_installed(), reason="no strace that may watch; on Debian: apt-get install strace"
    ),
    pytest.mark.timeout(3600),
]

WRITES_A_BENCHMARK: Final = """
import sys
from pathlib import Path
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content

folder = Path(sys.argv[1]) / "made" / "bench"
for generation in range(1, 6):
    videos = [Video(id=f"v{i}", source=str(generation)) for i in range(40)]
    dialogues = [
        Dialogue(id=f"d{i}", video_id=f"v{i}", turns=(Turn(question=f"generation {generation}?"),) * 5)
        for i in range(20 * (generation % 3))
    ]
    graphs = {f"g{i}": f"<http://a> <http://b> \\"{generation}\\" .\\n" for i in range(3)}
    content = Content(videos=videos, dialogues=dialogues, graphs=graphs)
    # The videos are stored in parts, and so are the dialogues of some generations.
    Benchmark.create(folder, part_bytes=1500).write_content(content, stage=f"generation {generation}")
    print(generation, flush=True)
"""
KEEPS_REPLIES: Final = """
import sys
from pathlib import Path
from reeltalk.llm import Reply, ReplyStore

with ReplyStore(Path(sys.argv[1]) / "run" / "replies.sqlite") as store:
    # More than fit into the log of one checkpoint.
    for number in range(600):
        store.put(f"key {number}", Reply(f"reply {number} " * 200, "m", 1, 1, cut_off=False))
        print(number, flush=True)
print("closed", flush=True)
"""
REVIEWS: Final = """
import sys
from pathlib import Path
from reeltalk_review.events import OPERATOR, transaction
from reeltalk_review.database import ReviewProject

project = ReviewProject.open(Path(sys.argv[1]) / "bench", folder=Path(sys.argv[1]) / "bench.review")
print("opened", flush=True)
for number in range(60):
    with transaction(project.database, OPERATOR) as change:
        change.record("tried", str(number), after={"text": "x" * 3000})
    print(number, flush=True)
project.database.close()
"""
FOLLOWS_STREAMS: Final = """
import sys
from pathlib import Path
from reeltalk.schema.stream import StreamEvent
from reeltalk.store.event_log import EventLog

with EventLog(Path(sys.argv[1]) / "events.jsonl") as log:
    for number in range(40):
        for at_s, kind in enumerate(("asked", "replied", "ended")):
            text = "Tea." * 50 if kind != "ended" else ""
            log.add(StreamEvent(model="m", session=f"s{number}", video_id="v", kind=kind, at_s=at_s, text=text))
        print(f"s{number}", flush=True)
"""


def cut_often(
    program: str, tmp_path: Path, reliability: Reliability, what: str, check: Callable[[Path, list[str]], None]
) -> None:
    """Run a program, and check what cuts at many moments leave; `check` has the folder and what the program said."""
    failing = "something torn, or lost that was acknowledged as lasting"
    tally = reliability("power", f"simulated power cuts while {what}", failing)
    watched = tmp_path / "watched"
    watched.mkdir()
    recording = Recording([sys.executable, "-c", program, str(watched)], watched)
    draw = random.Random(what)
    for number in range(reliability.count(12, full=250, release=250)):
        left = tmp_path / f"cut{number}"
        said = recording.cut(draw, left)
        tally.tried += 1
        check(left, said)
        shutil.rmtree(left)


def test_a_benchmark_is_old_or_new(tmp_path: Path, reliability: Reliability) -> None:
    def check(left: Path, said: list[str]) -> None:
        try:
            benchmark = Benchmark.open(left / "made" / "bench")
        except BenchmarkError:
            assert said == []
            return
        assert [str(finding) for finding in validate(benchmark)] == []
        generations = {int(video.source or 0) for video in benchmark.read(VIDEOS)}
        generations |= {int(text.split('"')[1]) for text in benchmark.content().graphs.values()}
        assert len(generations) <= 1, f"a torn write: {generations}"
        reached = generations.pop() if generations else 0
        assert reached >= int(said[-1] if said else 0), "an acknowledged write was lost"
        assert len(list(benchmark.read(DIALOGUES))) == (20 * (reached % 3) if reached else 0)
        # The next write goes on from it.
        with benchmark.writing(stage="next") as writing:
            writing.add(VIDEOS, [Video(id="v", source="9")])
        assert [video.source for video in Benchmark.open(benchmark.path).read(VIDEOS)] == ["9"]

    cut_often(WRITES_A_BENCHMARK, tmp_path, reliability, "a benchmark is written", check)


def test_kept_replies_lose_the_last_ones_at_most_and_none_once_closed(tmp_path: Path, reliability: Reliability) -> None:
    def check(left: Path, said: list[str]) -> None:
        with ReplyStore(left / "run" / "replies.sqlite") as store:
            found = [store.get(f"key {number}") for number in range(600)]
            kept = [number for number, reply in enumerate(found) if reply is not None]
            assert all(found[number].text == f"reply {number} " * 200 for number in kept)  # type: ignore[union-attr]
            assert kept == list(range(len(kept))), "a later reply is there, and an earlier one is lost"
            assert len(kept) == 600 or said[-1:] != ["closed"]
            store.put("after it", found[0]) if found[0] is not None else None

    cut_often(KEEPS_REPLIES, tmp_path, reliability, "replies are kept", check)


def test_the_review_database_keeps_every_acknowledged_change(tmp_path: Path, reliability: Reliability) -> None:
    secrets: set[bytes] = set()

    def check(left: Path, said: list[str]) -> None:
        # The first start may not have come to its end.
        project = ReviewProject.open(left / "bench", folder=left / "bench.review")
        with project.database.reading() as session:
            tried = select(EventRow.subject).where(EventRow.kind == "tried").order_by(EventRow.seq)
            found = list(session.scalars(tried))
        acknowledged = said[1:]
        assert found[: len(acknowledged)] == acknowledged
        assert len(found) <= len(acknowledged) + 1
        assert verify_history(project.database).findings == ()
        project.database.close()
        if said:
            secrets.add((left / "bench.review" / "secret").read_bytes())
            assert len(secrets) == 1, "everybody would have to sign in again"

    cut_often(REVIEWS, tmp_path, reliability, "people review (SQLite)", check)


def test_sessions_that_ended_stay_in_the_log_of_a_stream(tmp_path: Path, reliability: Reliability) -> None:
    def check(left: Path, said: list[str]) -> None:
        path = left / "events.jsonl"
        with EventLog(path) as log:
            whole = {session for _, session in log.whole}
        assert whole >= set(said)

    cut_often(FOLLOWS_STREAMS, tmp_path, reliability, "models follow streams", check)


def answer(body: Body) -> str:
    return f"It is {len(words(body['messages'][-1]))}."


def results(folder: Path) -> dict[str, str]:
    """What a run says, without times."""
    rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row.pop("played", None)
    scores = {path.name: path.read_text(encoding="utf-8") for path in (folder / "scores").glob("judged-*")}
    return {"answers": json.dumps(rows), **scores}


def test_a_run_goes_on_and_ends_as_if_there_had_been_no_cut(tmp_path: Path, reliability: Reliability) -> None:
    tally = reliability(
        "power",
        "simulated power cuts while `evaluate` plays, after which the same command goes on",
        "a whole run that is lost or torn, or other answers than those of an unbroken run",
    )
    bench = tmp_path / "bench"
    with Benchmark.create(bench).writing(stage="test") as writing:
        writing.add(VIDEOS, [Video(id="v", duration_s=60.0)])
        turns = tuple(Turn(question=f"question {n}", references=("It is 9.",)) for n in range(4))
        writing.add(DIALOGUES, [Dialogue(id=f"d{n}", video_id="v", turns=turns) for n in range(6)])
    watched = tmp_path / "watched"
    watched.mkdir()
    with serve(answer) as server:

        def command(out: Path) -> list[str]:
            where = ["--model", "tiny", "--base-url", server.base_url, "--policy", "none", "--sees", "text"]
            return ["evaluate", str(bench), *where, "--protocols", "match", "--metrics", "none", "--out", str(out)]

        recording = Recording([sys.executable, "-m", "reeltalk", *command(watched / "runs" / "run")], watched)
        print(recording.said)
        undisturbed, draw = results(watched / "runs" / "run"), random.Random(11)
        for number in range(reliability.count(3, full=30, release=100)):
            left = tmp_path / f"cut{number}"
            said = recording.cut(draw, left)
            out = left / "runs" / "run"
            tally.tried += 1
            if any(line.startswith("run: ") for line in said):
                # The command has told its results: the run is whole.
                assert results(out) == undisturbed
            elif not (out / "run.json").is_file():
                assert run(command(out)) == 0
            assert results(out) == undisturbed
            shutil.rmtree(left)


RENAMES_WITHOUT_WAITING: Final = """
import os, sys
from pathlib import Path

folder = Path(sys.argv[1])
(folder / "new").write_text("new" * 1000)
os.replace(folder / "new", folder / "file")
print("done", flush=True)
with (folder / "other").open("w") as stream:
    stream.write("other")
    stream.flush()
    os.fsync(stream.fileno())
descriptor = os.open(folder, os.O_RDONLY)
os.fsync(descriptor)
"""


def test_the_simulation_takes_what_was_not_waited_for_and_leaves_what_was(tmp_path: Path) -> None:
    watched = tmp_path / "watched"
    watched.mkdir()
    (watched / "file").write_text("old")
    recording = Recording([sys.executable, "-c", RENAMES_WITHOUT_WAITING, str(watched)], watched)
    seen: set[str] = set()
    for number in range(200):
        left = tmp_path / f"cut{number}"
        recording.cut(random.Random(number), left, at=recording.moments[-1])
        # Its folder was waited for, and so was this file.
        assert (left / "other").read_text() == "other"
        seen.add((left / "file").read_text())
    # The name was waited for, its content never: the old is gone and the new may be torn.
    assert "old" not in seen
    assert {"", "new" * 1000} < seen
    before = next(place for place, line in recording.said if line == "done")
    recording.cut(random.Random(0), tmp_path / "before", at=before)
    fates = set()
    for number in range(50):
        left = tmp_path / f"early{number}"
        recording.cut(random.Random(number), left, at=before)
        fates.add((left / "file").read_text() == "old")
    assert fates == {True, False}
