"""What a terminal shows while a command works: one bar, and other people's lines above it."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

import pytest

from reeltalk.cli.terminal import ProgressBar

WORK = """
import logging, sys, warnings
own = logging.StreamHandler()
logging.getLogger("library").addHandler(own)
logging.getLogger("library").propagate = False
from reeltalk.cli.terminal import ProgressBar, say

with ProgressBar() as bar:
    for done in range(1, 5):
        bar.note = f"loss 0.{done}"
        bar.show("training", done, 4, done / 4)
        if done == 2:
            warnings.warn("a setting is old", stacklevel=1)
            logging.getLogger("library").warning("a library speaks")
            logging.getLogger("another").warning("nobody listens")
            say("we speak")
            print("half a line", end="", file=sys.stderr)
            print(", the other half", file=sys.stderr)
say("done")
"""


def shown(code: str, columns: int = 80) -> list[str]:
    """The lines on a terminal after a program has run, as the terminal draws them."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 65536):
            written += part
    except OSError:
        # Linux ends a terminal whose programs have left in this way.
        pass
    os.close(ours)
    assert process.wait() == 0, written.decode()
    return drawn(written.decode())


def drawn(written: str) -> list[str]:
    lines, row, column = [""], 0, 0
    rest = written
    while rest:
        if rest.startswith("\x1b[A"):
            row, rest = row - 1, rest[3:]
            continue
        character, rest = rest[0], rest[1:]
        if character == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif character == "\r":
            column = 0
        else:
            assert character.isprintable(), f"what does {character!r} do?"
            line = lines[row].ljust(column)
            lines[row], column = line[:column] + character + line[column + 1 :], column + 1
    return [line.rstrip() for line in lines]


def test_warnings_logs_and_messages_stand_above_a_whole_bar() -> None:
    lines = shown(WORK)
    at = {text: [n for n, line in enumerate(lines) if text in line] for text in ("training: ", "loss 0.4", "done")}
    assert [len(places) for places in at.values()] == [1, 1, 1], lines
    (bar,), (note,), (end,) = at.values()
    assert (note, end) == (bar + 1, bar + 2)
    assert lines[bar].startswith("training: 4 of 4 |")
    assert "100 %" in lines[bar]
    above = [line for line in lines[:bar] if line]
    assert above[0].endswith("UserWarning: a setting is old")
    assert above[1:] == ["a library speaks", "nobody listens", "we speak", "half a line, the other half"]
    assert lines[note] == "loss 0.4"


def test_a_narrow_terminal_keeps_each_line_on_one_row() -> None:
    assert all(len(line) <= 40 for line in shown(WORK, columns=40) if "training" in line or "loss" in line)


def test_without_a_terminal_a_line_has_the_numbers_and_the_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = iter([100.0, 130.0, 131.0, 200.0])
    monkeypatch.setattr("reeltalk.cli.terminal.time.monotonic", lambda: next(now))
    with ProgressBar() as bar:
        bar.show("training", 2, 10, 0.2)
        bar.note = "loss 0.5"
        bar.show("training", 4, 10, 0.4)
        bar.show("training", 5, 10, 0.5)
        bar.show("training", 10, 10, 1.0)
    assert capsys.readouterr().err.splitlines() == [
        "training: 2 of 10",
        "training: 4 of 10, 1:30 left, loss 0.5",
        "training: 10 of 10, loss 0.5",
    ]
