"""A line that is typed while other things are shown: keys in, the line as it stands out."""

import codecs
import re
from typing import Final

ESCAPE: Final = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z])")
MOVES: Final = {
    "\x1b[D": "left", "\x1bOD": "left", "\x02": "left", "\x1b[C": "right", "\x1bOC": "right", "\x06": "right",
    "\x1b[H": "home", "\x1bOH": "home", "\x01": "home", "\x1b[F": "end", "\x1bOF": "end", "\x05": "end",
    "\x1b[A": "before", "\x1bOA": "before", "\x10": "before", "\x1b[B": "after", "\x1bOB": "after", "\x0e": "after",
}  # fmt: skip
"""Keys that move, with those of Emacs."""


class LineEditor:
    """Edits one line, and remembers those before it."""

    def __init__(self) -> None:
        self.text = ""
        self.cursor = 0
        """Characters before it."""
        self.closed = False
        """True once Ctrl-D was typed on an empty line."""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._history: list[str] = []
        self._at = 0
        self._rest = ""

    def typed(self, keys: bytes) -> list[str]:
        """Take what was typed.

        Returns:
            Lines that were ended by it.
        """
        pending = self._rest + self._decoder.decode(keys)
        self._rest = ""
        lines: list[str] = []
        while pending:
            escape = ESCAPE.match(pending)
            if escape is None and pending[0] == "\x1b" and len(pending) < 3:
                # The rest of it may still come.
                self._rest = pending
                break
            key = escape[0] if escape else pending[0]
            pending = pending[len(key) :]
            if key in "\r\n":
                lines.append(self._end())
            else:
                self._press(key)
        return lines

    def _end(self) -> str:
        line, self.text, self.cursor = self.text, "", 0
        if line.strip() and line not in self._history[-1:]:
            self._history.append(line)
        self._at = len(self._history)
        return line

    def _press(self, key: str) -> None:
        before, after = self.text[: self.cursor], self.text[self.cursor :]
        match MOVES.get(key, key):
            case "left":
                self.cursor = max(0, self.cursor - 1)
            case "right":
                self.cursor = min(len(self.text), self.cursor + 1)
            case "home":
                self.cursor = 0
            case "end":
                self.cursor = len(self.text)
            case "before" | "after" as way:
                self._at = min(max(0, self._at + (-1 if way == "before" else 1)), len(self._history))
                self._put("", self._history[self._at] if self._at < len(self._history) else "", at_end=True)
            case "\x7f" | "\x08":
                self._put(before[:-1], after)
            case "\x1b[3~":
                self._put(before, after[1:])
            case "\x15":
                self._put("", after)
            case "\x0b":
                self._put(before, "")
            case "\x17":
                self._put(before.rstrip()[: before.rstrip().rfind(" ") + 1], after)
            case "\x04":
                self.closed = self.closed or not self.text
            case _ if key.isprintable():
                self._put(before + key, after)

    def _put(self, before: str, after: str, *, at_end: bool = False) -> None:
        self.text = before + after
        self.cursor = len(self.text) if at_end else len(before)
