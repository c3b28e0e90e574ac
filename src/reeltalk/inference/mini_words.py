"""The words of reeltalk-mini: text to numbers and back, by a lower-case WordPiece tokenizer (arXiv:1609.08144)."""

import re
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import InputError

PAD, UNKNOWN, BEGIN, QUESTION, ANSWER, INSTRUCTION, SAYS, END = range(8)
SPECIAL: Final = ("<pad>", "<unk>", "<b>", "<q>", "<a>", "<i>", "<s>", "<e>")
"""Marks of the sequence, by number: a question, its answer, an instruction, what is said unasked, the end of a text."""
TOKENIZER: Final = "tokenizer.json"
_CLOSED_UP: Final = re.compile(r" ' (?=s\b)| [:;]")
"""What the tokenizer's decoder leaves apart: `person ' s`, `sitting :`."""


class MiniWords:
    """A tokenizer, loaded.

    Args:
        path: Its `tokenizer.json`.

    Raises:
        InputError: There is no such file, or it holds no tokenizer with the marks that reeltalk-mini needs.
    """

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        if not path.is_file():
            raise InputError("no such file", file=path, hint="give a folder that reeltalk train mini wrote")
        try:
            self._tokenizer: Any = Tokenizer.from_file(str(path))
        except Exception as error:
            # The library raises plain exceptions.
            raise InputError(f"not a tokenizer: {' '.join(str(error).split())[:200]}", file=path) from error
        found = tuple(self._tokenizer.id_to_token(number) for number in range(len(SPECIAL)))
        if found != SPECIAL:
            raise InputError(
                f"its first words are {', '.join(map(str, found))}, not {', '.join(SPECIAL)}",
                file=path,
                hint="the tokenizer is not one of reeltalk-mini",
            )

    @property
    def size(self) -> int:
        """How many words and pieces of words it knows."""
        return int(self._tokenizer.get_vocab_size())

    def numbers(self, text: str) -> list[int]:
        """The text as numbers, without marks. Marks that are written in a text are words like others, not marks."""
        encoded = self._tokenizer.encode(text.replace("<", " "), add_special_tokens=False)
        return list(encoded.ids)

    def text(self, numbers: list[int]) -> str:
        """The text of numbers, marks left out, with a capital first letter."""
        found = str(self._tokenizer.decode(numbers, skip_special_tokens=True)).strip()
        found = _CLOSED_UP.sub(lambda match: match[0].strip(), found)
        return found[:1].upper() + found[1:]
