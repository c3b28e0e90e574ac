"""Reads JSON objects in the careless notation of models. It completes nothing and never guesses.

Beside JSON it takes Python's quotation marks and constants, names without quotation marks, curved and full-width marks,
numbers in full width, line breaks in strings, a comma before the end, and characters without width.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Final

from reeltalk.schema.model_texts import plain_characters
from reeltalk.schema.record import Json

_NAMED: Final = r"""(?:["'‘’“”＂][\w\u200b .-]+['‘’“”＂]?|[\w\u200b]+['‘’“”]?)\s*[:：]"""
START: Final = re.compile(rf"""[{{｛](?=[\s\u200b\u2060\ufeff]*(?:["}}]|\Z|{_NAMED}))""")
"""A brace alone may be part of a sentence; in an object a name or the end follows."""
DEEPEST: Final = 20
"""Objects and lists within each other."""

_GAP: Final = re.compile("[\\s\u00ad\u200b-\u200f\u2060-\u2064\ufeff]*")
_CLOSING: Final = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’", "’": "’", "＂": "＂"}
# An apostrophe within a word ends no string, since a comma, a colon or a bracket follows every end.
_STRINGS: Final = {
    end: re.compile(rf"((?:\\.|(?<=[^\W\d_])['’](?=[^\W\d_])|[^\\{end}])*+){end}", re.DOTALL)
    for end in _CLOSING.values()
}
_WORD: Final = re.compile(r"""[^\s,，:：{}｛｝\[\]"'“”‘’＂]+""")
_NAME: Final = re.compile(r"[^\W\d]\w*")
_PYTHON: Final = {"True": True, "False": False, "None": None}
# The end of a block of code shows that the reply was not cut off within the object.
_BLOCK_ENDS: Final = ("```", "~~~")


class LooseReader:
    """Reads objects of one text."""

    def __init__(self, text: str, number: Callable[[str], Json], object_of: Callable[[list[Any]], Json]) -> None:
        self._text, self._number, self._object_of, self._at = text, number, object_of, 0

    def read(self, start: int) -> tuple[Json, int]:
        """The object that begins at a brace, and the place after it.

        Raises:
            ValueError: It cannot be read, or not in one way only.
        """
        self._at = start
        return self._value(0), self._at

    def _value(self, depth: int) -> Json:
        if depth > DEEPEST:
            raise ValueError("nested too deeply")
        if self._takes("{｛"):
            return self._object_of(self._items("}｝", depth))
        if self._takes("["):
            return [value for _, value in self._items("]", depth)]
        if self._peek() in _CLOSING:
            return self._string()
        word = plain_characters(self._match(_WORD)[0])
        return _PYTHON[word] if word in _PYTHON else self._number(word)

    def _items(self, end: str, depth: int) -> list[tuple[str, Json]]:
        found: list[tuple[str, Json]] = []
        while not self._takes(end):
            name = ""
            if end != "]":
                name = self._string() if self._peek() in _CLOSING else self._match(_NAME)[0]
                self._needs(":：")
            found.append((name, self._value(depth + 1)))
            if not self._takes(",，"):
                flat = depth == 0 and not any(isinstance(value, dict | list) for _, value in found)
                if not (flat and self._text.startswith(_BLOCK_ENDS, self._at)):
                    self._needs(end)
                break
        return found

    def _string(self) -> str:
        end = _CLOSING[self._text[self._at]]
        self._at += 1
        body = self._match(_STRINGS[end])[1]
        told = re.sub(r"\\'|(\\.)|\"", lambda part: part[1] or ('\\"' if part[0] == '"' else "'"), body)
        return str(json.loads(f'"{told}"', strict=False))

    def _peek(self) -> str:
        self._match(_GAP)
        return self._text[self._at : self._at + 1]

    def _takes(self, signs: str) -> bool:
        taken = bool(sign := self._peek()) and sign in signs
        self._at += taken
        return taken

    def _needs(self, signs: str) -> None:
        if not self._takes(signs):
            raise ValueError(f"no {signs[0]} at {self._at}")

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str]:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise ValueError(f"broken at {self._at}")
        self._at = found.end()
        return found
