"""How a conversation about a video is shown: as plain lines, or on a terminal with a status line and a prompt."""

import asyncio
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from reeltalk.cli.terminal import say

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import ANSI

    from reeltalk.evaluate.chat.conversation import Status
    from reeltalk.evaluate.chat.lines import TypedLines

PROMPT: Final = "> "
CHECK_S: Final = 0.25
"""How often the prompt checks whether the conversation has ended."""
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"


class PlainScreen:
    """Answers as lines on standard output, all else on standard error."""

    def said(self, at_s: float, text: str, *, asked: str | None) -> None:
        """A line for the question, where there was one, and a line for the answer."""
        if asked is not None:
            print(f"[{format_clock(at_s)}] > {printable(asked)}")
        print(f"[{format_clock(at_s)}] {printable(text)}", flush=True)

    def note(self, text: str) -> None:
        """On standard error."""
        say(printable(text))

    def status(self, status: "Status") -> None:
        """Nothing, but at the end: how much it was."""
        if status.doing == "ended":
            say(format_status(status))


class _InterruptedError(Exception):
    """Ctrl-C was typed."""


class TerminalScreen:
    """A terminal: answers scroll, below them are a status line and the line that is typed.

    Args:
        lines: Gets what is typed.
    """

    def __init__(self, lines: "TypedLines") -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.output import create_output

        self._lines = lines
        self.last: Status | None = None
        """The newest status."""
        output = create_output(sys.stdout)
        # Not every terminal answers where its cursor is, and the prompt need not know.
        output.enable_cpr = False  # type: ignore[attr-defined]
        self._session: PromptSession[str] = PromptSession(
            self._prompt, erase_when_done=True, interrupt_exception=_InterruptedError, output=output
        )
        self._session.app.before_render += lambda app: app.renderer.erase()

    def said(self, at_s: float, text: str, *, asked: str | None) -> None:
        """The answer; the question is on the screen since it was typed."""
        mark = "" if asked is not None else f"{BOLD}unasked{PLAIN} "
        print(f"{DIM}[{format_clock(at_s)}]{PLAIN} {mark}{printable(text)}", flush=True)

    def note(self, text: str) -> None:
        """A dimmed line."""
        print(f"{DIM}{printable(text)}{PLAIN}", flush=True)

    def status(self, status: "Status") -> None:
        """The status line; drawn anew where it changed."""
        changed = self.last is None or format_status(status) != format_status(self.last)
        self.last = status
        if changed:
            self._session.app.invalidate()

    def serve(self, running: Callable[[], bool]) -> None:
        """Take what is typed, until `running` says no.

        Raises:
            KeyboardInterrupt: Ctrl-C was typed.
        """
        from prompt_toolkit.patch_stdout import patch_stdout

        with patch_stdout(raw=True):
            try:
                asyncio.run(self._read(running))
            except _InterruptedError:
                raise KeyboardInterrupt from None

    async def _read(self, running: Callable[[], bool]) -> None:
        ended = False
        while running() and not ended:
            typing = asyncio.ensure_future(self._session.prompt_async())
            while running() and not typing.done():
                await asyncio.wait({typing}, timeout=CHECK_S)
            if not typing.done():
                self._session.app.exit(result="")
            try:
                line = await typing
            except EOFError:
                line, ended = "/quit", True
            if line.strip():
                if not ended:
                    print(f"{BOLD}{PROMPT}{printable(line)}{PLAIN}", flush=True)
                self._lines.put(line)
        while running():
            await asyncio.sleep(CHECK_S)

    def _prompt(self) -> "ANSI":
        from prompt_toolkit.formatted_text import ANSI

        status = format_status(self.last) if self.last is not None else "opening the video …"
        return ANSI(f"{DIM}{status}{PLAIN}\n{PROMPT}")


def format_clock(at_s: float) -> str:
    """A time as `1:02:03.4`."""
    minutes, seconds = divmod(at_s, 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02}:{seconds:04.1f}" if hours else f"{minutes}:{seconds:04.1f}"


def format_status(status: "Status") -> str:
    """A status as one line."""
    from reeltalk.evaluate.chat.conversation import format_bytes

    frames = f"{status.frames:,} frame{'' if status.frames == 1 else 's'} seen"
    dropped = f" ({status.dropped:,} dropped)" if status.dropped else ""
    return f"{format_clock(status.at_s)}  {status.doing}  {frames}{dropped}  memory {format_bytes(status.memory_bytes)}"


def printable(text: str) -> str:
    """A text without anything that would move a terminal's cursor or colour what follows."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text.strip())


def is_terminal() -> bool:
    """True where a person types and reads."""
    return sys.stdin is not None and sys.stdout is not None and sys.stdin.isatty() and sys.stdout.isatty()
