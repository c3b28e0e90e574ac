"""`reeltalk chat`, as a person types it: from a pipe and on a terminal, with a model of one's own and a checkpoint."""

import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from launched_runs import Launcher
from rtsp_camera import camera
from sample_videos import Numbered
from scripted_server import Answer, Body, completion, serve, words

from reeltalk.cli import run
from reeltalk.schema.stream import StreamEvent

MODEL = """
from reeltalk_streaming.inference.stream import StreamAnswer

class Counter:
    name = "counter"
    def stream(self):
        return Counting()

class Counting:
    def __init__(self):
        self.frames, self.watched = 0, None
    @property
    def memory_bytes(self):
        return 1000 * self.frames
    def see(self, rgb, pts_s):
        self.frames += 1
        return 0.9 if self.watched and self.frames >= 3 else 0.1
    def ask(self, question):
        return StreamAnswer(f"{self.frames} frames: \\x1b[31m{question}", 1, 1, 0.01, None)
    def instruct(self, instruction):
        self.watched = instruction
    def speak(self):
        return StreamAnswer(f"now: {self.watched}", 1, 1, 0.01, None)
    def add_exchange(self, question, answer):
        pass
"""


@pytest.fixture
def own(tmp_path: Path) -> str:
    (tmp_path / "own.py").write_text(MODEL)
    return f"python:{tmp_path}/own.py:Counter"


@pytest.fixture(scope="module")
def video() -> str:
    return str(Numbered("talk.mp4", frames=144).make()[0])


@dataclass(frozen=True)
class Said:
    """A conversation by a script, in this process."""

    code: int
    out: str
    err: str


Talk = Callable[..., Said]


@pytest.fixture
def talk(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Talk:
    def talked(*arguments: str, script: str = "") -> Said:
        monkeypatch.setattr(sys, "stdin", io.StringIO(script))
        capsys.readouterr()
        code = run(["chat", *arguments])
        return Said(code, *capsys.readouterr())

    return talked


def test_a_script_from_a_pipe_is_answered_at_its_moments(
    runs: Launcher, own: str, video: str, tmp_path: Path, talk: Talk
) -> None:
    log = tmp_path / "talk.jsonl"
    script = "/tell Say when.\n@1.5 what?\n/jump\n@4 again\nat the end\n"
    command = ("chat", video, "--model", own, "--speed", "0", "--log", log)
    done = runs.completed(*command, input=script, timeout=200)
    # There is no command /jump, which a script is to learn.
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines() == [
        "[0:01.5] > what?",
        "[0:01.5] 2 frames:  [31mwhat?",
        "[0:02.0] now: Say when.",
        "[0:04.0] > again",
        "[0:04.0] 5 frames:  [31magain",
        "[0:05.0] > at the end",
        "[0:05.0] 6 frames:  [31mat the end",
    ]
    assert "no command /jump" in done.stderr
    assert "0:05.0  ended  6 frames seen  memory 6.0 kB" in done.stderr
    events = [StreamEvent.model_validate_json(line) for line in log.read_text().splitlines()]
    assert [event.kind for event in events if event.kind != "frame"] == [
        *("started", "instructed", "asked", "replied", "replied", "asked", "replied", "asked", "replied", "ended")
    ]
    again = talk(video, "--model", own, "--speed", "0", "--log", str(log), script=script)
    assert again.code == 2
    assert "exists; choose another file or pass --overwrite" in again.err
    replaced = talk(video, "--model", own, "--speed", "0", "--log", str(log), "--overwrite", script=script)
    assert replaced.out == done.stdout


@pytest.mark.slow  # in make test a provider follows a checkpoint: `test_streaming_provider`
def test_a_checkpoint_follows_a_video(video: str, tmp_path: Path, talk: Talk) -> None:
    pytest.importorskip("transformers", reason="the train extra is not installed")
    from tiny_architectures import save_tiny

    folder = save_tiny("internvl", tmp_path / "tiny")
    log = tmp_path / "talk.jsonl"
    options = ("--model", f"transformers:{folder}", "--speed", "0", "--max-reply-tokens", "4")
    script = "@1.5 What is it?\n@4 And now?\n"
    first = talk(video, *options, "--log", str(log), script=script)
    assert first.code == 0, first.err
    bounded = talk(video, *options, "--memory-frames", "3", script=script)
    assert bounded.code == 0, bounded.err
    assert talk(video, *options, script=script).out == first.out
    events = [json.loads(line) for line in log.read_text().splitlines()]
    sizes = [event["memory_bytes"] for event in events if event["kind"] == "frame"]
    assert sizes == sorted(sizes)
    assert len({event["model"] for event in events}) == 1
    assert sum(event["kind"] == "replied" for event in events) == 2


def test_an_rtsp_camera_is_talked_to_until_it_is_left(own: str, talk: Talk) -> None:
    with camera() as there:
        done = talk(there.address, "--model", own, "--fps", "4", "--until", "1", script="@0.5 what?\n")
    assert done.code == 0, done.err
    assert re.search(r"\d+ frames:  \[31mwhat\?", done.out)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("http://localhost/v.mp4",), "http:// is not opened"),
        (("nowhere.mp4",), "no such file (nowhere.mp4)"),
        (("BENCH",), "give a video of the benchmark, as"),
        (("BENCH/nobody",), "has no video 'nobody'; its videos are house"),
        (("VIDEO", "--fps", "0"), "--fps 0"),
        (("VIDEO", "--speed", "-1"), "--speed -1"),
        (("VIDEO", "--threshold", "2"), "--threshold 2"),
        (("VIDEO", "--until", "-2"), "--until -2"),
        (("VIDEO", "--memory-frames", "1"), "--memory-frames '1': it must be at least 2"),
        (("VIDEO", "--memory", "all", "--memory-frames", "4"), "memory_frames bounds the memory"),
        (("VIDEO", "--prompt", "rude"), "--prompt has no effect on mini: it reads no prompt"),
        (("VIDEO", "--prompt", "rude", "--model", "x", "--base-url", "http://localhost:1/v1"), "no prompt 'rude'"),
        (("VIDEO", "--temperature", "0.5"), "--temperature has no effect on mini"),
        (("VIDEO", "--model", "transformers:nowhere"), "no such folder"),
        (("VIDEO", "--model", "python:nowhere.py:Model"), "no such file"),
    ],
)
def test_bad_input_is_told_in_one_paragraph(
    arguments: tuple[str, ...], problem: str, video: str, filmed_household: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [video if part == "VIDEO" else part.replace("BENCH", str(filmed_household)) for part in arguments]
    assert run(["chat", *given]) == 2
    told = capsys.readouterr().err
    assert problem in told
    assert told.count("\n") == 1


class Terminal:
    """A pseudo-terminal with `reeltalk chat` on it."""

    def __init__(self, runs: Launcher, *arguments: str) -> None:
        self._file, theirs = pty.openpty()
        sizes = {"TERM": "xterm", "COLUMNS": "100", "LINES": "30"}
        self._run = runs.start(
            "chat", *arguments, stdin=theirs, stdout=theirs, stderr=theirs, environment=sizes, terminal=True
        )
        os.close(theirs)
        self.shown = ""

    def type(self, keys: str) -> None:
        os.write(self._file, keys.encode())

    def wait_for(self, words: str, within_s: float = 90.0) -> None:
        end_s = time.monotonic() + within_s
        while words not in self.shown:
            assert time.monotonic() < end_s, f"{words!r} was not shown:\n{self.shown[-3000:]}"
            if not self._read(0.2):
                break
        assert words in self.shown, f"{words!r} was not shown:\n{self.shown[-3000:]}"

    def end(self, within_s: float = 60.0) -> int:
        end_s = time.monotonic() + within_s
        while self._read(0.2) and time.monotonic() < end_s:
            pass
        os.close(self._file)
        with self._run as run:
            try:
                return run.wait(max(1.0, end_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                run.kill()
                raise AssertionError(f"it has not ended:\n{self.shown[-3000:]}") from None

    def _read(self, wait_s: float) -> bool:
        ready, _, _ = select.select([self._file], [], [], wait_s)
        if not ready:
            return True
        try:
            found = os.read(self._file, 65536)
        except OSError:
            return False
        self.shown += found.decode(errors="replace")
        return bool(found)


def test_on_a_terminal_one_types_while_it_plays(runs: Launcher, own: str, tmp_path: Path) -> None:
    saved = tmp_path / "talk.jsonl"
    short, _ = Numbered("short-talk.mp4", frames=72).make()
    terminal = Terminal(runs, str(short), "--model", own, "--speed", "0.4", "--log", str(saved))
    terminal.wait_for("playing")
    terminal.type("wrong\x15what is thrre\x7f\x7f\x7fere?\r")
    terminal.wait_for("> what is there?")
    terminal.wait_for(" frames:  [31mwhat is there?")
    terminal.type("/pause\r")
    terminal.wait_for("paused")
    # The line before it, again, by the arrow.
    terminal.type("\x1b[A\x1b[A!\r")
    terminal.wait_for("[31mwhat is there?!")
    terminal.type("/nonsense\r")
    terminal.wait_for("no command /nonsense")
    terminal.type("/tell Say when.\r/play\r")
    terminal.wait_for("unasked")
    terminal.wait_for("The video has ended. Ask on, or /quit.")
    terminal.type("\x04")
    assert terminal.end() == 0
    assert "3 frames seen" in terminal.shown
    assert {"asked", "replied", "instructed"} <= {json.loads(line)["kind"] for line in saved.read_text().splitlines()}


SLOW_TERMINAL = """
import time
from prompt_toolkit.output.vt100 import Vt100_Output

written = Vt100_Output.flush

def flush(self):
    written(self)
    time.sleep(0.02)

Vt100_Output.flush = flush
"""


def test_ctrl_d_is_not_lost_while_a_line_is_printed(runs: Launcher, video: str, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(MODEL + SLOW_TERMINAL)
    terminal = Terminal(runs, video, "--model", f"python:{tmp_path}/own.py:Counter", "--speed", "0.05")
    terminal.wait_for("playing")
    terminal.type("/nonsense\r")
    terminal.wait_for("no command /nonsense")
    terminal.type("\x04")
    assert terminal.end() == 0


def test_ctrl_c_ends_it_with_a_whole_log_and_an_orderly_terminal(
    runs: Launcher, own: str, video: str, tmp_path: Path
) -> None:
    log = tmp_path / "talk.jsonl"
    terminal = Terminal(runs, video, "--model", own, "--speed", "0.05", "--log", str(log))
    terminal.wait_for("1 frame seen")
    terminal.type("\x03")
    assert terminal.end() == 130
    assert "Traceback" not in terminal.shown
    assert [json.loads(line)["kind"] for line in log.read_text().splitlines()] == ["started", "frame", "ended"]


def test_ctrl_c_cancels_an_answer_that_is_pending(runs: Launcher, video: str, tmp_path: Path) -> None:
    """The server holds its reply longer than the test waits."""
    log = tmp_path / "talk.jsonl"
    asked = threading.Event()

    def hold(body: Body) -> Answer:
        asked.set()
        return Answer(content=completion(body, "Too late."), hold_s=600)

    with serve(hold) as server:
        terminal = Terminal(
            runs, video, "--model", "slow", "--base-url", server.base_url, "--speed", "0.05", "--log", str(log)
        )
        terminal.wait_for("1 frame seen")
        terminal.type("/tell Say when it turns red.\r")
        terminal.wait_for("slow speaks only when it is asked.")
        terminal.type("what is there?\r")
        terminal.wait_for("answering")
        assert asked.wait(60)
        terminal.type("\x03")
        terminal.wait_for("stopping")
        assert terminal.end() == 130
    kinds = [json.loads(line)["kind"] for line in log.read_text().splitlines()]
    assert kinds == ["started", "frame", "instructed", "asked", "failed", "ended"]
    assert "Traceback" not in terminal.shown


def test_a_question_that_was_overtaken_is_quoted_with_its_answer(runs: Launcher, video: str) -> None:
    both = threading.Event()

    def answer(body: Body) -> str:
        said = words(body["messages"][-1])
        if "first" in said:
            assert both.wait(60)
        return "Blue." if "first" in said else "Red."

    with serve(answer) as server:
        terminal = Terminal(runs, video, "--model", "slow", "--base-url", server.base_url, "--speed", "0.05")
        terminal.wait_for("1 frame seen")
        terminal.type("the first one?\r")
        terminal.wait_for("answering")
        terminal.type("the second one?\r")
        terminal.wait_for("> the second one?")
        both.set()
        terminal.wait_for("Blue.")
        terminal.wait_for("Red.")
        terminal.type("/quit\r")
        assert terminal.end() == 0
    assert "to “the first one?”" in terminal.shown
    assert "to “the second one?”" not in terminal.shown


def test_an_interrupt_of_a_script_leaves_a_whole_log(runs: Launcher, own: str, video: str, tmp_path: Path) -> None:
    log = tmp_path / "talk.jsonl"
    command = ("chat", video, "--model", own, "--speed", "0.05", "--log", log)
    with runs.start(*command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        end_s = time.monotonic() + 90
        while not log.exists() or '"frame"' not in log.read_text():
            assert time.monotonic() < end_s
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
        assert process.returncode == 130
    assert "Traceback" not in told
    assert [json.loads(line)["kind"] for line in log.read_text().splitlines()] == ["started", "frame", "ended"]
