"""A real language model judges released answers, is killed and goes on, with replies as bad as they come.

SmolLM2 hardly ever writes a rating, so these tests are about what becomes of the rest. `REELTALK_JUDGE_GGUF` may name
the file of a better model, as Qwen2.5-Coder-1.5B-Instruct, which judges thirty dialogues then.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from local_language_model import NAME, is_installed, serve_language_model
from scripted_server import Body, serve, words

from reeltalk.cli import run
from reeltalk.schema.dialogue import Checklist, ChecklistItem, Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.schema.scoring import JudgedScore, ScoreState
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import Run, read_run
from reeltalk.store.tables import DIALOGUES, VIDEOS

RESULTS = "test-videollama2-16f"
SLOTS = 2
"""Of the server, and dialogues at a time: so each prompt begins as the one before it in its slot did."""
NEEDS_LLM = "no language model: run make build/llm/ready"
COMMAND = "import sys; from reeltalk.cli import run; sys.exit(run(sys.argv[1:]))"


@pytest.fixture(scope="module")
def vdact(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The benchmark that the answers are about, where there is a model to judge them."""
    if not is_installed():
        pytest.skip(NEEDS_LLM)
    folder = tmp_path_factory.mktemp("vdact") / "bench"
    assert run(["import", "vdact", str(shared / "data" / "vdact"), str(folder)]) in (0, 1)
    return folder


@pytest.fixture(scope="module")
def smollm2(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of SmolLM2."""
    if not is_installed():
        pytest.skip(NEEDS_LLM)
    # One thread, for other tests run on the other core.
    with serve_language_model(tmp_path_factory.mktemp("llm") / "server.log", slots=SLOTS, threads=1) as address:
        yield address


def judging(shared: Path, bench: Path, url: str, out: Path, *more: str, name: str = NAME) -> list[str]:
    return [
        *("judge", str(shared / "data" / "vdact" / "results" / f"{RESULTS}.json"), "--format", "vdact"),
        *("--bench", str(bench), "--protocols", "vdeval", "--metrics", "none", "--judge", name),
        # No null answers: their replies stand in no row.
        *("--judge-base-url", url, "--connections", str(SLOTS), "--timeout-s", "900", "--null-units", "0"),
        # It would be sent away for its useless replies.
        "--no-preflight",
        *("--out", str(out), *more),
    ]


def kept(folder: Path) -> dict[str, str]:
    """Replies by key."""
    if not (folder / "replies.sqlite").is_file():
        return {}
    with closing(sqlite3.connect(f"file:{folder / 'replies.sqlite'}?mode=ro", uri=True)) as connection:
        try:
            return dict(connection.execute("SELECT key, reply FROM replies"))
        except sqlite3.OperationalError:
            return {}


def kill_after(command: list[str], folder: Path, replies: int) -> None:
    """Run a command, and kill it once it keeps so many replies more than before."""
    wanted = len(kept(folder)) + replies
    with subprocess.Popen([sys.executable, "-c", COMMAND, *command], stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and len(kept(folder)) < wanted:
            time.sleep(0.2)
        assert process.poll() is None, "it ended before it could be killed"
        process.send_signal(signal.SIGKILL)
    assert not (folder / "run.json").exists()


def coverage(found: Run) -> tuple[list[JudgedScore], Counter[str]]:
    """All rows, and how many are scored; what has no score has a reason and the replies."""
    rows = list(found.judged("vdeval"))
    assert len({(row.unit_id, row.turn_index) for row in rows}) == len(rows)
    for row in rows:
        if row.state is ScoreState.SCORED:
            assert row.value in (1, 2, 3)
        else:
            assert row.state is ScoreState.UNSCORED
            assert row.reason
            assert row.replies
    return rows, Counter(row.state.value for row in rows)


def judge_with_kills(shared: Path, bench: Path, url: str, folder: Path, limit: int, *more: str, name: str) -> None:
    """Judge so many dialogues; SIGKILL twice on the way."""
    out, again = folder / "judged", folder / "again"
    command = judging(shared, bench, url, out, "--limit", str(limit), *more, name=name)
    survived: dict[str, str] = {}
    began = time.monotonic()
    for _ in range(2):
        kill_after(command, out, replies=limit * 3)
        # What was kept before the first kill is there after the second.
        assert survived.items() <= kept(out).items()
        survived = kept(out)
    assert run(command) in (0, 1)
    took_s = time.monotonic() - began
    replies = kept(out)
    assert survived.items() <= replies.items()

    rows, states = coverage(read_run(out))
    assert len({row.unit_id for row in rows}) == limit
    # Every reply that was paid for is in the rows: none was asked for twice and thrown away.
    said = sorted(json.loads(reply)["text"] for reply in replies.values())
    assert sorted(set(said)) == sorted({text for row in rows for text in row.replies})
    assert len(replies) <= sum(len(row.replies) for row in rows)

    scored = Counter(row.turn_index for row in rows if row.state is ScoreState.SCORED)
    curve = {p.turn_index: p for p in read_run(out).curves if p.metric == "vdeval"}
    assert {index: point.n for index, point in curve.items()} == scored
    headline = next(row for row in read_run(out).summary if row.metric == "vdeval")
    assert (headline.n, headline.unscored) == (states["scored"], states["unscored"])

    # The same again from the replies alone: nobody is there to be asked.
    again.mkdir()
    for file in ("request.json", "replies.sqlite"):
        shutil.copy(out / file, again / file)
    nowhere = judging(shared, bench, "http://127.0.0.1:9/v1", again, "--limit", str(limit), *more, name=name)
    assert run(nowhere) in (0, 1)
    for file in ("judged-vdeval.jsonl", "items.jsonl", "curves.jsonl"):
        assert (again / "scores" / file).read_bytes() == (out / "scores" / file).read_bytes()
    assert (again / "summary.json").read_bytes() == (out / "summary.json").read_bytes()
    print(
        f"{name}: {limit} dialogues, {dict(states)}, {len(replies)} replies in {took_s:.0f} s, "
        f"curve {[(at + 1, point.value and round(point.value, 2), point.n) for at, point in sorted(curve.items())]}"
    )


# A limit of the function would come before those of its cases.
@pytest.mark.parametrize(
    "limit",
    [
        pytest.param(2, marks=pytest.mark.timeout(900)),
        pytest.param(8, marks=[pytest.mark.slow, pytest.mark.timeout(3_600)]),
    ],
)
def test_a_judge_that_is_killed_twice_ends_with_all_scores(
    limit: int, shared: Path, vdact: Path, smollm2: str, tmp_path: Path
) -> None:
    short = ("--judge-shots", "0", "--judge-max-reply-tokens", "24")
    judge_with_kills(shared, vdact, smollm2, tmp_path, limit, *short, name=NAME)


@pytest.mark.slow
@pytest.mark.timeout(14_400)
def test_a_better_judge_rates_thirty_dialogues(
    shared: Path, vdact: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    gguf = os.environ.get("REELTALK_JUDGE_GGUF")
    if not gguf:
        pytest.skip("no judge: set REELTALK_JUDGE_GGUF to the file of a model")
    if not is_installed():
        pytest.skip(NEEDS_LLM)
    name = Path(gguf).stem
    log = tmp_path_factory.mktemp("judge") / "server.log"
    with serve_language_model(log, gguf=Path(gguf), name=name, slots=SLOTS) as url:
        short = ("--judge-shots", "0", "--judge-max-reply-tokens", "120")
        judge_with_kills(shared, vdact, url, tmp_path, 30, *short, name=name)
    _, states = coverage(read_run(tmp_path / "judged"))
    assert states["scored"] > states["unscored"]


@pytest.mark.timeout(900)
def test_a_turn_whose_prompt_is_too_long_is_unscored_with_the_reason(
    shared: Path, vdact: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if not is_installed():
        pytest.skip(NEEDS_LLM)
    log = tmp_path_factory.mktemp("llm") / "server.log"
    # The first turn of a dialogue fits, the last one does not.
    with serve_language_model(log, context=1024, threads=1) as url:
        more = ("--judge-shots", "0", "--judge-max-reply-tokens", "16", "--limit", "1")
        assert run(judging(shared, vdact, url, tmp_path / "judged", *more)) == 1
    rows = list(read_run(tmp_path / "judged").judged("vdeval"))
    long = [row.turn_index for row in rows if "context" in (row.reason or "")]
    assert long
    assert long == [row.turn_index for row in rows][-len(long) :]
    assert 0 not in long
    assert all(row.state is ScoreState.UNSCORED for row in rows if row.turn_index in long)
    print(next(row.reason for row in rows if row.turn_index == long[0]))


@pytest.mark.timeout(900)
def test_judges_that_ask_for_json_say_what_they_could_not_use(smollm2: str, tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "bench")
    facts = ("the woman takes the cup", "she puts it into the sink", "she leaves the kitchen")
    checklist = Checklist(
        items=(
            ChecklistItem(question="Does it name a person?", expected=True),
            ChecklistItem(question="Does it speak of a dog?", expected=False),
        )
    )
    with benchmark.writing(stage="test") as writing:
        writing.add(VIDEOS, [Video(id="v", duration_s=60.0)])
        writing.add(
            DIALOGUES,
            [
                Dialogue(
                    id=f"d{n}",
                    video_id="v",
                    task="object reference",
                    turns=tuple(
                        Turn(question=f"What happens in step {step}?", references=(fact,), checklist=checklist)
                        for step, fact in enumerate(facts, start=1)
                    ),
                )
                for n in range(2)
            ],
        )

    def answer(body: Body) -> str:
        return f"I think that {facts[len(body['messages']) % 3]}. {words(body['messages'][-1])}"

    with serve(answer) as server:
        played = [str(tmp_path / "bench"), "--model", "m", "--base-url", server.base_url, "--policy", "none"]
        played += ["--sees", "text", "--metrics", "none", "--out", str(tmp_path / "run")]
        assert run(["evaluate", *played]) == 0
    protocols = ("clair", "svbench", "gpt-score", "checklist")
    command = ["judge", str(tmp_path / "run"), "--bench", str(tmp_path / "bench"), "--metrics", "none"]
    for protocol in protocols:
        command += ["--protocols", protocol]
    command += ["--judge", NAME, "--judge-base-url", smollm2, "--judge-max-reply-tokens", "160", "--timeout-s", "900"]
    command += ["--connections", str(SLOTS), "--out", str(tmp_path / "judged")]
    assert run(command) in (0, 1)
    found = read_run(tmp_path / "judged")
    for protocol in protocols:
        rows = list(found.judged(protocol))
        states = Counter(row.state.value for row in rows)
        assert rows
        assert all((row.value is not None) == (row.state is ScoreState.SCORED) for row in rows)
        assert all(row.reason for row in rows if row.state is not ScoreState.SCORED)
        print(protocol, dict(states), sorted({row.reason for row in rows if row.reason})[:3])
