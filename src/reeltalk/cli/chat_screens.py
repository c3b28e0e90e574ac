"""How a conversation about a video is shown: as lines, or on a terminal with a status line and one to type on."""

import contextlib
import os
import select
import shutil
import sys
import termios
import threading
import tty
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from reeltalk.cli.line_editor import LineEditor
from reeltalk.cli.terminal import say

if TYPE_CHECKING:
    from reeltalk.evaluate.chat.conversation import Status
    from reeltalk.evaluate.chat.lines import TypedLines

PROMPT: Final = "> "
LOOK_S: Final = 0.25
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class PlainScreen:
    """Answers as lines on standard output, all else on standard error."""

    def said(self, at_s: float, text: str, *, asked: str | None) -> None:
        """A line for the question, where there was one, and a line for the answer."""
        if asked is not None:
            print(f"[{clock(at_s)}] > {shown(asked)}")
        print(f"[{clock(at_s)}] {shown(text)}", flush=True)

    def note(self, text: str) -> None:
        """On standard error."""
        say(shown(text))

    def status(self, status: "Status") -> None:
        """Nothing, but at the end: how much it was."""
        if status.doing == "ended":
            say(told_status(status))


class TerminalScreen:
    """A terminal: what was said scrolls, below it a status line and the line that is typed.

    Args:
        lines: Gets what is typed.
        keys: File descriptor of the terminal's input.
        out: File descriptor of its output.
    """

    def __init__(self, lines: "TypedLines", *, keys: int = 0, out: int = 1) -> None:
        self._lines, self._keys, self._out = lines, keys, out
        self._editor = LineEditor()
        self._lock = threading.Lock()
        self._new: list[str] = []
        self.last: Status | None = None
        """The newest status."""
        self._drawn = False
        self._woken, self._waker = os.pipe()

    def said(self, at_s: float, text: str, *, asked: str | None) -> None:
        """The answer; the question stands there since it was typed."""
        mark = "" if asked is not None else f"{BOLD}unasked{PLAIN} "
        self._add(f"{DIM}[{clock(at_s)}]{PLAIN} {mark}{shown(text)}")

    def note(self, text: str) -> None:
        """Dimmed."""
        self._add(f"{DIM}{shown(text)}{PLAIN}")

    def status(self, status: "Status") -> None:
        """In the status line."""
        with self._lock:
            changed = self.last is None or told_status(status) != told_status(self.last)
            self.last = status
        if changed:
            os.write(self._waker, b".")

    def serve(self, running: Callable[[], bool]) -> None:
        """Take what is typed and draw, until `running` says no.

        Raises:
            KeyboardInterrupt: Ctrl-C was typed.
        """
        with self._raw():
            try:
                self._draw()
                while running():
                    ready, _, _ = select.select([self._keys, self._woken], [], [], LOOK_S)
                    if not ready:
                        continue
                    if self._woken in ready:
                        os.read(self._woken, 4096)
                    if self._keys in ready:
                        self._take(os.read(self._keys, 4096))
                    self._draw()
            finally:
                self._draw()
                self._erase()

    def _take(self, keys: bytes) -> None:
        for line in self._editor.typed(keys):
            if line.strip():
                self._add(f"{BOLD}{PROMPT}{shown(line)}{PLAIN}")
                self._lines.put(line)
        if self._editor.closed or not keys:
            self._lines.put("/quit")

    def _add(self, text: str) -> None:
        with self._lock:
            self._new.append(text)
        os.write(self._waker, b".")

    def _draw(self) -> None:
        from rich.cells import cell_len, chop_cells

        with self._lock:
            new, self._new, status = self._new, [], self.last
        columns = max(20, shutil.get_terminal_size().columns)
        # The cursor's part of a line that is longer than the terminal.
        room = columns - len(PROMPT) - 1
        before = (chop_cells(self._editor.text[: self._editor.cursor], room) or [""])[-1]
        after = (chop_cells(self._editor.text[self._editor.cursor :], max(1, room - cell_len(before))) or [""])[0]
        if cell_len(before) + cell_len(after) > room:
            after = ""
        told = told_status(status) if status is not None else "opening the video …"
        parts = [f"{line}\n" for text in new for line in text.split("\n")]
        parts.append(f"{DIM}{(chop_cells(told, columns - 1) or [''])[0]}{PLAIN}\n{PROMPT}{before}{after}")
        if back := cell_len(after):
            parts.append(f"\x1b[{back}D")
        self._erase()
        self._write("".join(parts).replace("\n", "\r\n"))
        self._drawn = True

    def _erase(self) -> None:
        if self._drawn:
            self._write("\x1b[1A\r\x1b[J")
        self._drawn = False

    def _write(self, text: str) -> None:
        content = text.encode(errors="replace")
        while content:
            content = content[os.write(self._out, content) :]

    @contextlib.contextmanager
    def _raw(self) -> Iterator[None]:
        before = termios.tcgetattr(self._keys)
        try:
            # Keys come one by one and are not echoed; Ctrl-C still interrupts.
            tty.setcbreak(self._keys)
            yield
        finally:
            termios.tcsetattr(self._keys, termios.TCSADRAIN, before)


def clock(at_s: float) -> str:
    """A time as `1:02:03.4`."""
    minutes, seconds = divmod(at_s, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02}:{seconds:04.1f}" if hours else f"{minutes}:{seconds:04.1f}"


def told_status(status: "Status") -> str:
    """A status as one line."""
    from reeltalk.evaluate.chat.conversation import format_bytes

    frames = f"{status.frames:,} frame{'' if status.frames == 1 else 's'} seen"
    dropped = f" ({status.dropped:,} dropped)" if status.dropped else ""
    return f"{clock(status.at_s)}  {status.doing}  {frames}{dropped}  memory {format_bytes(status.memory_bytes)}"


def shown(text: str) -> str:
    """A text without anything that would move a terminal's cursor or colour what follows."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text.strip())


def is_terminal() -> bool:
    """True where a person types and reads."""
    return sys.stdin is not None and sys.stdout is not None and sys.stdin.isatty() and sys.stdout.isatty()
