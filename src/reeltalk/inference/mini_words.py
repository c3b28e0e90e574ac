"""Tokenizer of reeltalk-mini: text to numbers and back, by lower-case WordPiece (arXiv:1609.08144)."""

import re
from pathlib import Path
from typing import Any, Final

from reeltalk.errors import InputError

PAD, UNKNOWN, BEGIN, QUESTION, ANSWER, INSTRUCTION, SAYS, END = range(8)
SPECIAL: Final = ("<pad>", "<unk>", "<b>", "<q>", "<a>", "<i>", "<s>", "<e>")
"""Marks of the sequence, by number: question, answer, instruction, unasked speech, end of a text."""
TOKENIZER: Final = "tokenizer.json"
_CLOSED_UP: Final = re.compile(r" ' (?=s\b)| [:;]")
"""Spaces that the tokenizer's decoder leaves in: `person ' s`, `sitting :`."""


class MiniWords:
    """A loaded tokenizer.

    Args:
        path: Its `tokenizer.json`.

    Raises:
        InputError: There is no such file, or it is not a tokenizer with the marks that reeltalk-mini needs.
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
        """Encodes a text as numbers, without marks. A mark that is written in the text counts as an ordinary word."""
        encoded = self._tokenizer.encode(text.replace("<", " "), add_special_tokens=False)
        return list(encoded.ids)

    def text(self, numbers: list[int]) -> str:
        """Decodes numbers to text, without marks, with a capital first letter."""
        found = str(self._tokenizer.decode(numbers, skip_special_tokens=True)).strip()
        found = _CLOSED_UP.sub(lambda match: match[0].strip(), found)
        return found[:1].upper() + found[1:]
