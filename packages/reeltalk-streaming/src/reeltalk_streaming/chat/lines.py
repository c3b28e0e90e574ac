"""Questions and commands that a person types, with the times at which they are due."""

import math
import queue
import re
import threading
from dataclasses import dataclass
from typing import IO, Final, Literal, Protocol

from reeltalk.errors import SettingError

CommandName = Literal["pause", "play", "memory", "quit", "tell", "help"]
COMMANDS: Final[dict[CommandName, str]] = {
    "pause": "/pause stops the video",
    "play": "/play lets it go on",
    "tell": "/tell INSTRUCTION says something that is answered when it is time to, as: Tell me when the kettle boils",
    "memory": "/memory says what the model keeps",
    "quit": "/quit ends",
    "help": "/help shows this",
}
AT_PATTERN: Final = re.compile(r"@(\d+(?:\.\d+)?)\s+(.*)")


@dataclass(frozen=True)
class ChatLine:
    """A question or a command that was typed."""

    text: str
    """The question, or the argument of the command."""
    command: CommandName | None = None
    at_s: float | None = None
    """When it is due, by the video's clock. None means now."""


def parse_line(typed: str) -> ChatLine | None:
    """Parse a typed line. None if it is empty.

    Raises:
        SettingError: The command does not exist, or its argument is missing.
    """
    text, at_s = typed.strip(), None
    if due := AT_PATTERN.fullmatch(text):
        at_s, text = float(due[1]), due[2].strip()
    if not text:
        return None
    if not text.startswith("/"):
        return ChatLine(text, None, at_s)
    word, _, rest = text[1:].partition(" ")
    for command in COMMANDS:
        if word == command:
            if command == "tell" and not rest.strip():
                raise SettingError(f"/tell needs an instruction: {COMMANDS[command]}")
            return ChatLine(rest.strip(), command, at_s)
    raise SettingError(f"there is no command /{word}; there are {', '.join(f'/{name}' for name in COMMANDS)}")


class ChatLines(Protocol):
    """A source of lines."""

    def due(self, until_s: float | None) -> ChatLine | None:
        """The next line that is due before the stream continues to `until_s`. None is the end of the stream.

        Raises:
            SettingError: The line is invalid. The next call continues after it.
        """
        ...

    @property
    def closed(self) -> bool:
        """True when no further line will come."""
        ...


class TypedLines:
    """Lines that arrive from another thread at any time. A line with a time waits for that time."""

    def __init__(self) -> None:
        self._typed: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._later: list[ChatLine] = []
        self._ended = False

    @property
    def closed(self) -> bool:
        """True when no further line will come."""
        return self._ended and not self._later

    def put(self, typed: str | None) -> None:
        """Add a line. None marks the end of the lines."""
        self._typed.put(typed)

    def due(self, until_s: float | None) -> ChatLine | None:
        while not self._typed.empty():
            typed = self._typed.get()
            if typed is None:
                self._ended = True
                break
            line = parse_line(typed)
            if line is not None and line.at_s is None:
                return line
            if line is not None:
                self._later.append(line)
                self._later.sort(key=lambda later: later.at_s or 0.0)
        return self._later.pop(0) if self._later and _is_due(self._later[0], until_s) else None

    def read_from(self, stream: IO[str]) -> None:
        """Read all lines of a stream in a separate thread."""

        def read() -> None:
            for typed in stream:
                self.put(typed)
            self.put(None)

        threading.Thread(target=read, name="lines", daemon=True).start()


class ScriptedLines:
    """Lines of a script. The video waits for the next line, so the same script always asks the same questions.

    A command without a time is due as soon as it is read. A question without a time is due at the end of the video.
    Times must not decrease.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._next: ChatLine | None = None
        self._last_s = 0.0
        self._ended = False

    @property
    def closed(self) -> bool:
        """True when no further line will come."""
        return self._ended and self._next is None

    def due(self, until_s: float | None) -> ChatLine | None:
        """Like `ChatLines.due`, but waits for a line."""
        while self._next is None and not self._ended:
            typed = self._stream.readline()
            if not typed:
                self._ended = True
            self._next = self._checked(parse_line(typed))
        line = self._next
        if line is None or (until_s is not None and not _is_due(line, until_s)):
            return None
        if until_s is not None and line.at_s is None and line.command is None:
            return None
        self._next = None
        return line

    def _checked(self, line: ChatLine | None) -> ChatLine | None:
        if line is None:
            return None
        if line.command == "pause":
            raise SettingError("the video of a script waits for its lines anyway; /pause is for a terminal")
        if line.at_s is not None and line.at_s < self._last_s:
            before = "one that is asked at the end" if math.isinf(self._last_s) else f"@{self._last_s:g}"
            raise SettingError(
                f"@{line.at_s:g} comes after {before}: the lines of a script must be in the order of time"
            )
        if line.command is None or line.at_s is not None:
            self._last_s = math.inf if line.at_s is None else line.at_s
        return line


def _is_due(line: ChatLine, until_s: float | None) -> bool:
    return until_s is None or line.at_s is None or line.at_s < until_s
