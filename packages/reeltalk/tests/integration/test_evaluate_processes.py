"""A run that several processes make is the run that one makes, byte for byte but for what a clock says.

Also where the budget ends amid it, where one of them is killed, and where Ctrl-C ends all and another number goes on.
"""

import hashlib
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from sample_videos import Numbered
from scripted_server import Body, Server, serve
from tiny_checkpoint import save_tiny_checkpoint

from reeltalk.cli import run
from reeltalk.schema.dialogue import Dialogue, DialoguePath, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file

CONNECTIONS = 4
TIMINGS = ("took_s", "first_token_s")
VIDEOS = 5
FILM = Numbered("h264-long.mp4", rate=Fraction(12), frames=480)


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Videos of different numbers of chains, with two paths along each and a dialogue."""
    path, _ = FILM.make()
    sha256 = hash_file(path)[0]
    content = Content(media={sha256: path})
    for v in range(VIDEOS):
        video = f"v{v}"
        content.videos.append(Video(id=video, sha256=sha256, summaries={"refine": "Somebody counts."}))
        for c in range(1 + v % 3):
            chain = f"{video}-q{c}"
            interval = Interval(start_s=4.0 * c, end_s=4.0 * c + 4)
            content.clips.append(Clip(id=f"{video}-c{c}", video_id=video, interval=interval))
            turns = tuple(
                Turn(question=f"What is the number ({chain}, {n})?", references=(f"It is {c}{n}.",)) for n in range(2)
            )
            content.chains.append(QAChain(id=chain, video_id=video, clip_id=f"{video}-c{c}", turns=turns))
        content.dialogues.append(Dialogue(id=f"{video}-d", video_id=video, turns=turns))
        for p in range(2):
            places = [(c, n) for c in range(1 + v % 3) for n in range(2) if p == 0 or n != c]
            steps = tuple(PathStep(ref=TurnRef(unit_id=f"{video}-q{c}", turn_index=n)) for c, n in places)
            content.paths.append(DialoguePath(id=f"{video}-p{p}", video_id=video, steps=steps))
    folder = tmp_path_factory.mktemp("processes") / "bench"
    Benchmark.create(folder).write_content(content, stage="test")
    return folder


def says(body: Body) -> str:
    """What follows from the request alone."""
    draw = int(hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest(), 16)
    time.sleep(0.02)
    if body["model"] == "judge":
        return f"The answer names {draw % 97}. So rating={1 + draw % 3}"
    return f"It is {draw % 3}{draw % 5}."


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(says, keep=0) as running:
        yield running


def evaluate(benchmark: Path, url: str, out: Path, *more: object) -> int:
    """Paths whose answers become history, judged by a model, empty answers of some units too."""
    arguments = [
        "evaluate", benchmark, "--model", "tiny", "--base-url", url, "--mode", "streaming", "--history", "predicted",
        "--protocols", "vdeval", "--protocols", "match", "--null-units", 3, "--metrics", "rouge_l", "--judge", "judge",
        "--judge-base-url", url, "--connections", CONNECTIONS, "--backoff-s", 0.01, "--policy", "per-clip", "--frames",
        2, "--no-preflight", "--verbose", "--out", out, *more,
    ]  # fmt: skip
    return run([str(argument) for argument in arguments])


def results(folder: Path) -> dict[str, Any]:
    """All of a run but what a clock says."""
    assert not list(folder.rglob(".partial-*"))
    assert {path.name for path in folder.iterdir()} >= {"run.json", "logs"}
    assert not {"shards", "frames"} & {path.name for path in folder.iterdir()}
    found: dict[str, Any] = {"run.json": (folder / "run.json").read_text()}
    answers = [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]
    for row in answers:
        row["played"] = {k: v for k, v in row["played"].items() if k not in (*TIMINGS, "cached")}
    found["answers.jsonl"] = [json.dumps(row) for row in answers]
    found["summary.json"] = [r for r in json.loads((folder / "summary.json").read_text()) if r["metric"] not in TIMINGS]
    for path in sorted((folder / "scores").iterdir()):
        lines = path.read_text().splitlines()
        timed = path.name in ("curves.jsonl", "groups.jsonl")
        found[path.name] = [line for line in lines if not timed or json.loads(line)["metric"] not in TIMINGS]
    return found


@pytest.fixture(scope="module")
def undisturbed(benchmark: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], int]:
    """What one process makes, and how many requests it takes."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    with serve(says, keep=0) as server:
        assert evaluate(benchmark, server.base_url, out) == 0
        found = results(out)
        assert [model["model"] for model in json.loads(found["run.json"])["models"]] == ["tiny", "empty"]
        return found, server.count


def children() -> list[int]:
    """Processes that this one has started and that play."""
    return [process.pid for process in multiprocessing.active_children() if process.pid is not None]


def after(server: Server, requests: int, act: Callable[[], None]) -> threading.Thread:
    """Act when a server has had so many requests more."""
    begun, deadline = server.count, time.monotonic() + 120

    def wait() -> None:
        while server.count < begun + requests and time.monotonic() < deadline:
            time.sleep(0.001)
        act()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_two_processes_make_the_run_of_one(
    benchmark: Path,
    server: Server,
    undisturbed: tuple[dict[str, Any], int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    expected, calls = undisturbed
    assert evaluate(benchmark, server.base_url, tmp_path / "run", "--processes", 2) == 0
    assert results(tmp_path / "run") == expected
    assert server.count == calls
    assert len(list((tmp_path / "run" / "logs").glob("*.eval"))) == 2
    said = capsys.readouterr()
    turns = len(expected["answers.jsonl"])
    assert f"playing: {turns} of {turns}" in said.err
    assert f"asked: {calls} requests" in said.out
    assert "0 replies were kept" in said.out


def test_a_budget_is_never_passed_in_sum_and_all_of_it_can_be_used(
    benchmark: Path,
    server: Server,
    undisturbed: tuple[dict[str, Any], int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    full: bool,
) -> None:
    expected, calls = undisturbed
    out, most = tmp_path / "run", calls - 1
    # In proportion to turns one process has more than it needs; what it leaves goes to the other.
    assert evaluate(benchmark, server.base_url, out, "--processes", 2, "--max-calls", most) == 2
    assert server.count == most
    assert f"the budget is spent: {most} of {most} requests" in capsys.readouterr().err
    assert not (out / "run.json").exists()
    assert evaluate(benchmark, server.base_url, out, "--max-calls", 1) == 0
    assert server.count == calls
    assert results(out) == expected
    if full:
        for allowed, first in ((13, 0), (calls - 13, 13)):
            capsys.readouterr()
            ended = evaluate(benchmark, server.base_url, tmp_path / "again", "--processes", 3, "--max-calls", allowed)
            assert ended == (0 if first else 2)
            assert server.count == calls + first + allowed
        said = capsys.readouterr().out
        assert f"asked: {calls - 13} requests" in said
        assert "13 replies were kept from before" in said
        assert results(tmp_path / "again") == expected


def test_ctrl_c_ends_all_processes_and_another_number_goes_on(
    benchmark: Path,
    server: Server,
    undisturbed: tuple[dict[str, Any], int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    full: bool,
) -> None:
    out, (expected, calls) = tmp_path / "run", undisturbed
    if full:
        killing = after(server, calls // 3, lambda: os.kill(children()[0], signal.SIGKILL))
        assert evaluate(benchmark, server.base_url, out, "--processes", 3) == 2
        killing.join()
        said = capsys.readouterr().err.strip().splitlines()[-1]
        assert "of 3 was killed by SIGKILL" in said
        assert "every reply is kept; run the same command to continue" in said
        assert children() == []
        assert not (out / "run.json").exists()
    stopping = after(server, calls // 4, lambda: os.kill(os.getpid(), signal.SIGINT))
    assert evaluate(benchmark, server.base_url, out, "--processes", 2) == 130
    stopping.join()
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "run the same command to continue" in said
    assert children() == []
    assert evaluate(benchmark, server.base_url, out) == 0
    assert results(out) == expected
    assert server.count <= calls + 2 * CONNECTIONS


@pytest.mark.slow
@pytest.mark.parametrize("player", ["baseline:history", "mini"])
def test_what_needs_no_server_is_shared_as_well(benchmark: Path, tmp_path: Path, player: str) -> None:
    plain = ["evaluate", str(benchmark), "--model", player, "--mode", "dialogue", "--frames", "2"]
    assert run([*plain, "--out", str(tmp_path / "one")]) == 0
    assert run([*plain, "--out", str(tmp_path / "two"), "--processes", "2"]) == 0
    assert results(tmp_path / "two") == results(tmp_path / "one")


@pytest.mark.slow
def test_each_process_loads_a_checkpoint_of_its_own_and_a_run_that_was_broken_off_goes_on(
    benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("transformers", reason="the train extra is not installed")
    checkpoint = save_tiny_checkpoint(tmp_path / "tiny-llava")
    plain = ["evaluate", benchmark, "--model", f"transformers:{checkpoint}", "--mode", "dialogue", "--frames", 2]
    plain += ["--max-reply-tokens", 4, "--history", "predicted", "--metrics", "rouge_l", "--verbose"]

    def play(name: str, *more: object) -> tuple[int, str]:
        ended = run([*map(str, [*plain, "--out", tmp_path / name, *more])])
        said = capsys.readouterr()
        return ended, said.out + said.err

    def played(name: str) -> dict[str, Any]:
        """What a run holds, without what follows from the process: its memory."""
        found = results(tmp_path / name)
        info = json.loads(found["run.json"])
        assert info["settings"].pop("peak_memory_bytes")["host"] > 0
        return found | {"run.json": info}

    ended, said = play("one")
    assert ended == 0
    # Half of the requests leave both processes amid their work.
    calls = int(said.partition("asked: ")[2].partition(" ")[0])
    ended, said = play("two", "--processes", 2, "--max-calls", calls // 2)
    assert (ended, f"{calls // 2} of {calls // 2} requests" in said) == (2, True)
    ended, said = play("two", "--processes", 2)
    assert ended == 0
    assert f"{calls // 2} replies were kept" in said
    assert played("two") == played("one")
    assert len(list((tmp_path / "two" / "logs").glob("*.eval"))) == 2


def test_a_checkpoint_that_is_not_there_is_said_before_any_process_begins(
    benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["evaluate", str(benchmark), "--model", "transformers:weights", "--out", str(tmp_path / "run")]
    assert run([*command, "--processes", "0"]) == 2
    assert "--processes 0: it must be at least 1" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    pytest.importorskip("torch", reason="the train extra is not installed")
    assert run([*command, "--processes", "2"]) == 2
    assert "No such file or directory (weights)" in capsys.readouterr().err
