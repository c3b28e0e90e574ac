"""A run that is killed, interrupted, out of budget or out of disk goes on, and ends as if nothing had happened.

What must not differ: all answers and scores, byte for byte. What may: how long requests took, of those that were asked
again, and which replies had been kept (`took_s`, `first_token_s`, `cached`, and the figures made of these).
"""

import hashlib
import json
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from launched_runs import Launcher
from reliability_page import Reliability
from sample_videos import Numbered
from scripted_server import Body, Server, serve

from reeltalk.cli import run
from reeltalk.schema.dialogue import Dialogue, DialoguePath, PathStep, QAChain, Turn, TurnRef
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.content import Content
from reeltalk.store.manifest import hash_file

CONNECTIONS = 3
TIMINGS = ("took_s", "first_token_s")
LONG = {"note": ("The person counts aloud. " * 60,)}
"""Makes `answers.jsonl` the largest file of a run."""
FILM = Numbered("h264-long.mp4", rate=Fraction(12), frames=480)


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory, full: bool) -> Path:
    """Videos that are one file, each with three chains, two paths, and a dialogue."""
    path, _ = FILM.make()
    sha256 = hash_file(path)[0]
    content = Content(media={sha256: path})
    for v in range(3 if full else 2):
        video = f"v{v}"
        content.videos.append(Video(id=video, sha256=sha256, summaries={"refine": "Somebody counts."}))
        for c in range(3):
            chain = f"{video}-q{c}"
            interval = Interval(start_s=4.0 * c, end_s=4.0 * c + 4)
            content.clips.append(Clip(id=f"{video}-c{c}", video_id=video, interval=interval))
            turns = tuple(
                Turn(question=f"What is the number ({chain}, {n})?", references=(f"It is {c}{n}.",), labels=LONG)
                for n in range(3)
            )
            content.chains.append(QAChain(id=chain, video_id=video, clip_id=f"{video}-c{c}", turns=turns))
        content.dialogues.append(Dialogue(id=f"{video}-d", video_id=video, turns=turns))
        for p in range(2):
            places = [(c, n) for c in range(3) for n in range(3) if p == 0 or n != c]
            steps = tuple(PathStep(ref=TurnRef(unit_id=f"{video}-q{c}", turn_index=n)) for c, n in places)
            content.paths.append(DialoguePath(id=f"{video}-p{p}", video_id=video, steps=steps))
    folder = tmp_path_factory.mktemp("resume") / "bench"
    Benchmark.create(folder).write_content(content, stage="test")
    return folder


@dataclass
class Told:
    """How the server answers: what it says follows from the request alone."""

    hold_s: float = 0.004
    last: list[Body] = field(default_factory=list)

    def __call__(self, body: Body) -> str:
        draw = int(hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest(), 16)
        time.sleep(self.hold_s)
        if body["model"] == "judge":
            return f"The answer names {draw % 97}. So rating={1 + draw % 3}"
        return f"It is {draw % 3}{draw % 5}."


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(Told(), keep=0) as running:
        yield running


def evaluate(benchmark: Path, url: str, *more: object) -> list[object]:
    """A run along paths whose answers become history, judged by a model."""
    return [
        "evaluate", benchmark, "--model", "tiny", "--base-url", url, "--mode", "streaming", "--history", "predicted",
        "--protocols", "vdeval", "--protocols", "match", "--judge", "judge", "--judge-base-url", url, "--connections",
        CONNECTIONS, "--backoff-s", 0.01, "--no-preflight", *more,
    ]  # fmt: skip


def changed(command: list[object], option: str, value: object) -> list[object]:
    """A command with another value of an option."""
    at = command.index(option) if option in command else len(command)
    return [*command[:at], option, value, *command[at + 2 :]]


BLIND = ("--policy", "none")
LOOKING = ("--policy", "per-clip", "--frames", 3)


def judge(answers: Path, url: str, *more: object) -> list[object]:
    return [
        "judge", answers, "--protocols", "vdeval", "--metrics", "rouge_l", "--judge", "judge", "--judge-base-url", url,
        "--connections", CONNECTIONS, *more,
    ]  # fmt: skip


def ended(arguments: list[object]) -> int:
    return run([str(argument) for argument in arguments])


def finished(*arguments: object) -> None:
    assert ended(list(arguments)) == 0


def results(folder: Path) -> dict[str, Any]:
    """All of a run but what a clock says."""
    assert not list(folder.rglob(".partial-*"))
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


def check_the_same(folder: Path, expected: dict[str, Any]) -> None:
    found = results(folder)
    assert found.keys() == expected.keys()
    for name in expected:
        assert found[name] == expected[name], name


def check_said(said: str, *words: str) -> None:
    """One clear paragraph at the end, and no traceback."""
    assert "Traceback" not in said
    assert "Error" not in said
    for word in words:
        assert word in said.strip().splitlines()[-1]


@pytest.fixture(scope="module")
def undisturbed(benchmark: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], int]:
    """What an uninterrupted run without frames gives, and how many requests it takes."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    with serve(Told(), keep=0) as server:
        finished(*evaluate(benchmark, server.base_url, "--out", out, *BLIND))
        return results(out), server.count


class When:
    """Waits for a moment of a run, then sends it a signal."""

    def __init__(
        self, runs: Launcher, reached: Callable[[], bool], number: signal.Signals, *, then_s: float = 0.0
    ) -> None:
        self._runs, self._reached, self._number, self._then_s = runs, reached, number, then_s

    def __call__(self, process: int) -> None:
        deadline = time.monotonic() + 200
        while not self._reached() and alive(process) and time.monotonic() < deadline:
            time.sleep(0.0005)
        time.sleep(self._then_s)
        self._runs.send(process, self._number)


def had(server: Server, requests: int) -> Callable[[], bool]:
    """Whether a server has had so many requests."""
    return lambda: server.count >= requests


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


KILLED = "a score differs from an unbroken run, or more is asked again than was under way"


@pytest.mark.timeout(7200)
def test_a_killed_run_asks_nothing_twice_and_ends_the_same(
    runs: Launcher, benchmark: Path, tmp_path: Path, full: bool, reliability: Reliability
) -> None:
    with serve(Told(), keep=0) as other:
        finished(*evaluate(benchmark, other.base_url, "--out", tmp_path / "undisturbed", *LOOKING))
        calls = other.count
    expected, draw = results(tmp_path / "undisturbed"), random.Random(7)
    tally = reliability("power", "SIGKILL of `reeltalk evaluate`", KILLED)
    kills, due = 40 if full else 4, reliability.count(4, full=40, release=300)
    while tally.tried < due:
        with serve(Told(), keep=0) as server:
            out = tmp_path / f"run{tally.tried}"
            killed = killed_runs(
                runs, evaluate(benchmark, server.base_url, "--out", out, *LOOKING), server, kills, draw, calls
            )
            tally.tried += killed
            check_the_same(out, expected)
            assert killed > kills // 2
            assert calls <= server.count <= calls + killed * CONNECTIONS
            print(f"{killed} kills; {calls} requests undisturbed, {server.count} here")


def killed_runs(
    runs: Launcher, command: list[object], server: Server, kills: int, draw: random.Random, calls: int
) -> int:
    """Begin a run again and again until it is whole, and kill it each time but the last; how often it was killed."""
    killed, out = 0, Path(str(command[command.index("--out") + 1]))
    for number in range(kills):
        # Spread over the whole run, and the last ones while tables are written.
        at = server.count + (calls - server.count) // (kills - number) if number else 1
        stopped = runs.run(
            *command,
            meanwhile=When(
                runs, had(server, at), signal.SIGKILL, then_s=draw.uniform(0, 0.02)
            ),
        )  # fmt: skip
        assert stopped.code in (-signal.SIGKILL, 0), stopped.said
        assert (out / "run.json").is_file() == (stopped.code == 0)
        if stopped.code == 0:
            break
        killed += 1
    for name in ("answers.jsonl", "summary.json"):
        if not (out / "run.json").is_file():
            stopped = runs.run(*command, meanwhile=When(runs, (out / name).is_file, signal.SIGKILL))
            killed += stopped.code != 0
    if not (out / "run.json").is_file():
        finished(*command)
    return killed


@pytest.mark.timeout(7200)
def test_a_killed_judging_asks_nothing_twice_and_ends_the_same(
    runs: Launcher,
    benchmark: Path,
    undisturbed: tuple[dict[str, Any], int],
    tmp_path: Path,
    full: bool,
    reliability: Reliability,
) -> None:
    answers = tmp_path / "answers"
    with serve(Told(), keep=0) as other:
        finished(*evaluate(benchmark, other.base_url, "--out", answers, *BLIND))
        before = other.count
        finished(*judge(answers, other.base_url, "--out", tmp_path / "undisturbed"))
        calls = other.count - before
    # An evaluation judges as `judge` does.
    assert results(tmp_path / "undisturbed")["judged-vdeval.jsonl"] == undisturbed[0]["judged-vdeval.jsonl"]
    tally, expected = reliability("power", "SIGKILL of `reeltalk judge`", KILLED), results(tmp_path / "undisturbed")
    kills, due = 20 if full else 2, reliability.count(2, full=20, release=200)
    while tally.tried < due:
        out, killed = tmp_path / f"judged{tally.tried}", 0
        with serve(Told(), keep=0) as server:
            for number in range(kills):
                at = calls * (number + 1) // (kills + 1)
                reached = When(runs, had(server, at), signal.SIGKILL)
                killed += runs.run(*judge(answers, server.base_url, "--out", out), meanwhile=reached).code != 0
            if not (out / "run.json").is_file():
                finished(*judge(answers, server.base_url, "--out", out))
            assert killed > 0
            tally.tried += killed
            check_the_same(out, expected)
            assert calls <= server.count <= calls + killed * CONNECTIONS


def test_two_undisturbed_runs_are_the_same(
    benchmark: Path, server: Server, undisturbed: tuple[dict[str, Any], int], tmp_path: Path
) -> None:
    command = evaluate(benchmark, server.base_url, "--out", tmp_path / "run", *BLIND)
    finished(*changed(command, "--connections", 20))
    check_the_same(tmp_path / "run", undisturbed[0])
    assert server.count == undisturbed[1]


def test_ctrl_c_ends_with_130_and_the_run_goes_on(
    runs: Launcher, benchmark: Path, server: Server, undisturbed: tuple[dict[str, Any], int], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    command = evaluate(benchmark, server.base_url, "--out", out, *BLIND)
    stopped = runs.run(*command, meanwhile=When(runs, had(server, undisturbed[1] // 2), signal.SIGINT))
    assert stopped.code == 130, stopped.said
    check_said(stopped.said, "interrupted", "run the same command to continue")
    assert not (out / "run.json").exists()
    finished(*command)
    check_the_same(out, undisturbed[0])
    assert server.count <= undisturbed[1] + CONNECTIONS


def test_ctrl_c_while_videos_are_decoded_ends_at_once(
    runs: Launcher, benchmark: Path, server: Server, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    command = evaluate(benchmark, server.base_url, "--out", out, *LOOKING)
    stopped = runs.run(*command, meanwhile=When(runs, (out / "request.json").is_file, signal.SIGINT, then_s=0.3))
    assert stopped.code == 130, stopped.said
    check_said(stopped.said, "interrupted", "run the same command to continue")


FULL = "a traceback, a torn file, or a run that does not go on"


@pytest.mark.parametrize("largest_file_bytes", [6_000, pytest.param(33_000, marks=pytest.mark.slow)])
def test_a_full_disk_is_a_clear_error_and_the_run_goes_on(
    runs: Launcher,
    benchmark: Path,
    server: Server,
    undisturbed: tuple[dict[str, Any], int],
    tmp_path: Path,
    largest_file_bytes: int,
    reliability: Reliability,
) -> None:
    """A limit on file size makes the kernel refuse writes as a full disk does, for root too."""
    reliability("storage", "a disk that is full while `evaluate` asks", FULL).tried = 1
    out = tmp_path / "run"
    command = evaluate(benchmark, server.base_url, "--out", out, *BLIND)
    stopped = runs.run(*command, largest_file_bytes=largest_file_bytes)
    assert stopped.code == 2, stopped.said
    check_said(stopped.said, "reeltalk: cannot", str(out), "free some space")
    assert not (out / "run.json").exists()
    finished(*command)
    check_the_same(out, undisturbed[0])
    assert server.count <= undisturbed[1] + CONNECTIONS


def test_a_disk_that_is_full_when_tables_are_written_is_a_clear_error(
    runs: Launcher,
    benchmark: Path,
    server: Server,
    undisturbed: tuple[dict[str, Any], int],
    tmp_path: Path,
    reliability: Reliability,
) -> None:
    reliability("storage", "a disk that is full while the tables of a run are written", FULL).tried = 1
    out = tmp_path / "run"
    command = evaluate(benchmark, server.base_url, "--out", out, *BLIND)
    finished(*command)
    (out / "run.json").unlink()
    shutil.rmtree(out / "scores")
    largest = (out / "answers.jsonl").stat().st_size - 1
    (out / "answers.jsonl").unlink()
    stopped = runs.run(*command, largest_file_bytes=largest)
    assert stopped.code == 2, stopped.said
    check_said(stopped.said, f"reeltalk: cannot write {out}")
    finished(*command)
    check_the_same(out, undisturbed[0])
    assert server.count == undisturbed[1]


def test_a_budget_stops_at_the_very_call_and_a_larger_one_goes_on(
    benchmark: Path,
    server: Server,
    undisturbed: tuple[dict[str, Any], int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "run"
    command = evaluate(benchmark, server.base_url, "--out", out, *BLIND)
    # The second budget ends while answers are judged.
    for more in (17, 40):
        before = server.count
        assert ended([*command, "--max-calls", more]) == 2
        assert server.count == before + more
        said = capsys.readouterr().err
        check_said(said, f"the budget is spent: {more} of {more} requests", "run again with a larger one to continue")
        assert not (out / "run.json").exists()
    finished(*command, "--max-calls", undisturbed[1])
    assert server.count == undisturbed[1]
    check_the_same(out, undisturbed[0])


def test_a_budget_of_tokens_is_never_passed(
    benchmark: Path, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = evaluate(benchmark, server.base_url, "--out", tmp_path / "run", *BLIND)
    assert ended([*command, "--max-tokens", 20_000]) == 2
    assert 0 < server.tokens <= 20_000
    check_said(capsys.readouterr().err, "of 20,000 tokens", "run again with a larger one")


def test_a_run_that_another_process_makes_is_refused(
    runs: Launcher, benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    with serve(Told(hold_s=0.5), keep=0) as slow:
        command = evaluate(benchmark, slow.base_url, "--out", out, *BLIND)
        codes: list[int] = []

        def second(process: int) -> None:
            while not slow.count and alive(process):
                time.sleep(0.005)
            codes.append(ended(command))
            codes.append(ended([*command, "--overwrite"]))
            runs.send(process, signal.SIGKILL)

        assert runs.run(*command, meanwhile=second).code == -signal.SIGKILL
    assert codes == [2, 2]
    check_said(capsys.readouterr().err, f"another process is making the run {out}")


def test_a_run_that_was_begun_with_other_settings_is_refused(
    benchmark: Path, server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    command = evaluate(benchmark, server.base_url, "--out", out, *BLIND)
    assert ended(changed(command, "--max-calls", 5)) == 2
    for differing, option, value in (
        ("play", "--history", "golden"),
        ("judging", "--judge-shots", 0),
        ("answering", "--temperature", 0.5),
        ("judge", "--judge-max-reply-tokens", 7),
        ("limit", "--limit", 2),
    ):
        capsys.readouterr()
        assert ended(changed(command, option, value)) == 2
        check_said(capsys.readouterr().err, f"was begun with other settings ({differing})", "--overwrite")
    assert server.count == 5
    # What moves no score may change: where the model runs, how many requests at a time, what it may cost.
    with serve(Told(), keep=0) as elsewhere:
        moved = [elsewhere.base_url if part == server.base_url else part for part in command]
        assert ended(changed(changed(moved, "--connections", 7), "--timeout-s", 50)) == 0
        assert elsewhere.count > 0
    capsys.readouterr()
    assert ended(command) == 0
    assert "is whole: nothing in it failed, so nothing is asked" in capsys.readouterr().err
    assert ended([*command, "--limit", 1]) == 2
    check_said(capsys.readouterr().err, "holds a whole run by other settings (limit)", "--overwrite")
    assert ended([*command, "--overwrite", "--limit", 1]) == 0


def test_another_style_of_answers_is_another_run(
    benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    systems: list[str] = []

    def answer(body: Body) -> str:
        systems.append(body["messages"][0]["content"])
        return "Tea."

    with serve(answer) as server:
        plain = ["evaluate", benchmark, "--model", "tiny", "--base-url", server.base_url, *BLIND, "--metrics", "none",
                 "--protocols", "match", "--connections", 1, "--limit", 1, "--no-preflight"]  # fmt: skip
        short = [*plain, "--answer-style", "short"]
        assert ended([*short, "--max-calls", 1, "--out", tmp_path / "run"]) == 2
        assert ended([*plain, "--out", tmp_path / "run"]) == 2
        assert "begun with other settings (play)" in " ".join(capsys.readouterr().err.split())
        finished(*short, "--out", tmp_path / "run")
        assert {"one short phrase" in text for text in systems} == {True}
        systems.clear()
        finished(*plain, "--out", tmp_path / "free")
        assert {"one short phrase" in text for text in systems} == {False}
    for name, prompt in (("run", "answer-plain.v1+answer-short.v1#"), ("free", "answer-plain.v1#")):
        signed = json.loads((tmp_path / name / "run.json").read_text())["settings"]["signed"]["tiny"]
        assert dict(map(tuple, signed))["prompt"].startswith(prompt)
