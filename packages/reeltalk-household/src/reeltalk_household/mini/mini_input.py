"""The input of reeltalk-mini, the same in training and in use: the sizes of the network, its words and its pictures."""

import re
from collections.abc import Mapping
from math import gcd
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from reeltalk.errors import InputError
from reeltalk.schema.settings import Settings


class MiniShape(Settings):
    """Sizes of the network and of its input."""

    height_px: int = 180
    """Height of the pictures in its input."""
    width_px: int = 320
    channels: tuple[int, int, int, int] = (32, 64, 96, 160)
    """Channels of the four scales of the vision encoder."""
    person_glimpses: Annotated[int, Field(ge=7)] = 8
    """Number of places in a frame that the encoder attends to for each person."""
    glimpses: Annotated[int, Field(ge=1)] = 8
    """Number of such places for the scene."""
    glimpse_width: int = 64
    close_px: Annotated[int, Field(ge=8, multiple_of=8)] = 32
    """Side of the squares that it looks at closely."""
    close_width: int = 96
    """Width of what it reads from such a square."""
    looks: Annotated[int, Field(ge=1)] = 48
    """Number of looks, such as a red shirt, that tell people apart."""
    frame_tokens: Annotated[int, Field(ge=2)] = 4
    """Tokens per frame: one for the scene and one for each person."""
    vision_width: int = 160
    """Width of a visual token before the projection."""
    clock_waves: int = 12
    """Number of waves that encode the time of a frame in the video."""
    width: int = 192
    """Width of a token in the decoder."""
    layers: int = 4
    heads: int = 6
    hidden: int = 512
    """Width of the gated layer."""
    vocabulary: int = 1024
    """Number of words and pieces of words."""
    fps: float = 1.0
    """Frame rate of its training."""

    @model_validator(mode="after")
    def _heads_divide(self) -> "MiniShape":
        if self.width % self.heads or (self.width // self.heads) % 2:
            raise ValueError(f"width {self.width} does not give {self.heads} heads of an even width")
        return self

    @property
    def people(self) -> int:
        """Number of people of a frame that have a token."""
        return self.frame_tokens - 1

    @property
    def cells_high(self) -> int:
        """Rows of cells of 8 × 8 pixels that glimpses attend to."""
        return _halved(_halved(self.height_px // 2))

    @property
    def cells_wide(self) -> int:
        """Columns of these cells."""
        return _halved(_halved(self.width_px // 2))

    @property
    def head_width(self) -> int:
        return self.width // self.heads


def _halved(length: int) -> int:
    return -(-length // 2)


PAD, UNKNOWN, BEGIN, QUESTION, ANSWER, INSTRUCTION, SAYS, END, HEARD = range(9)
SPECIAL: Final = ("<pad>", "<unk>", "<b>", "<q>", "<a>", "<i>", "<s>", "<e>", "<h>", "<p1>", "<p2>", "<p3>")
"""Marks of the sequence, by number: question, answer, instruction, unasked speech, end of a text, what is heard in the
video, and the people whose names are known, in the place of their names."""
PEOPLE: Final = (9, 10, 11)
"""The marks of people."""
REQUIRED: Final = SPECIAL[:HEARD]
"""The marks of networks that do not know what is said and who is who."""
LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
"""What is read from a name above a head; 0 is nothing, and letter n is n + 1."""
TAG_HIGH_PX, TAG_WIDE_PX = 16, 48
"""Size of the part of the picture that a name is read from."""
TAG_STEPS: Final = TAG_WIDE_PX
"""How many times a letter is read in it, from left to right."""
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
            raise InputError("no such file", file=path, hint="give a folder that reeltalk world train wrote")
        try:
            self._tokenizer: Any = Tokenizer.from_file(str(path))
        except Exception as error:
            # The library raises plain exceptions.
            raise InputError(f"not a tokenizer: {' '.join(str(error).split())[:200]}", file=path) from error
        found = tuple(self._tokenizer.id_to_token(number) for number in range(len(REQUIRED)))
        if found != REQUIRED:
            raise InputError(
                f"its first words are {', '.join(map(str, found))}, not {', '.join(REQUIRED)}",
                file=path,
                hint="the tokenizer is not one of reeltalk-mini",
            )

    @property
    def hears(self) -> bool:
        """True if the network was trained on what is said in videos, and on who is who."""
        return all(self._tokenizer.id_to_token(number) == SPECIAL[number] for number in (HEARD, *PEOPLE))

    @property
    def size(self) -> int:
        """Number of known words and pieces of words."""
        return int(self._tokenizer.get_vocab_size())

    def knows(self, word: str) -> bool:
        """True if a word is not split into pieces."""
        return len(self._encoded(word)) == 1

    def numbers(self, text: str, people: Mapping[str, int] | None = None) -> list[int]:
        """Encodes a text as numbers. A mark that is written in the text counts as an ordinary word.

        Args:
            people: Marks of people, by name, which replace their names; no others are used.
        """
        if not people:
            return self._encoded(text)
        found: list[int] = []
        for place, part in enumerate(re.split(rf"\b({'|'.join(map(re.escape, people))})\b", text)):
            found += [people[part]] if place % 2 else self._encoded(part)
        return found

    def _encoded(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text.replace("<", " "), add_special_tokens=False).ids)

    def likeliest(self, logits: NDArray[np.float32]) -> int:
        """The word, or the end mark, with the largest of the logits (vocabulary,). Other marks are not words."""
        if not self.hears:
            return END + int(logits[END:].argmax())
        words = logits[END:].copy()
        words[HEARD - END] = -np.inf
        return END + int(words.argmax())

    def text(self, numbers: list[int], people: Mapping[str, int] | None = None) -> str:
        """Decodes numbers to text, with a capital first letter.

        Args:
            numbers: Words and pieces of words.
            people: Marks of people, by name, which are replaced by the names.
        """
        found = str(self._tokenizer.decode(numbers, skip_special_tokens=True)).strip()
        found = _CLOSED_UP.sub(lambda match: match[0].strip(), found)
        names = {SPECIAL[mark]: name for name, mark in (people or {}).items()}
        for mark in (SPECIAL[number] for number in PEOPLE):
            found = found.replace(mark, names.get(mark, "the person"))
        return found[:1].upper() + found[1:]


Whole = NDArray[np.unsignedinteger]


def fit_to_network(rgb: NDArray[np.uint8], shape: MiniShape) -> NDArray[np.uint8]:
    """Resizes a frame to the network's size.

    Args:
        rgb: (H, W, 3) uint8.
        shape: Contains the size.

    Returns:
        (shape.height_px, shape.width_px, 3) uint8; the frame itself if it already has that size.

    Raises:
        ValueError: The array has another shape or dtype.
    """
    if rgb.dtype != np.uint8 or rgb.ndim != 3 or rgb.shape[2] != 3 or 0 in rgb.shape:
        raise ValueError(f"a frame is (height, width, 3) uint8, not {rgb.shape} {rgb.dtype}")
    height, width = rgb.shape[:2]
    if (height, width) == (shape.height_px, shape.width_px):
        return rgb
    # The side that is too long by the larger factor decides the scale.
    if height * shape.width_px >= width * shape.height_px:
        inner_h, inner_w = shape.height_px, _rounded(width * shape.height_px, height)
    else:
        inner_h, inner_w = _rounded(height * shape.width_px, width), shape.width_px
    # Each pass multiplies by the source's length over the greatest divisor that it shares with the target's.
    times = height // gcd(height, inner_h) * (width // gcd(width, inner_w))
    kind = np.uint32 if 256 * times < 1 << 32 else np.uint64
    covered = _areas(_areas(rgb.astype(kind), 0, inner_h), 1, inner_w)
    inner = ((covered + kind(times // 2)) // kind(times)).astype(np.uint8)
    if inner.shape[:2] == (shape.height_px, shape.width_px):
        return inner
    out = np.zeros((shape.height_px, shape.width_px, 3), np.uint8)
    top, left = (shape.height_px - inner_h) // 2, (shape.width_px - inner_w) // 2
    out[top : top + inner_h, left : left + inner_w] = inner
    return out


def _areas(values: Whole, axis: int, length: int) -> Whole:
    """Sums over equal parts of an axis, multiplied by the number of fractions in a pixel."""
    size, kind = values.shape[axis], values.dtype.type
    shared = gcd(size, length)
    per_pixel = length // shared
    border = np.arange(length + 1) * (size // shared)
    whole, rest = np.divmod(border, per_pixel)
    summed = np.zeros([n + (at == axis) for at, n in enumerate(values.shape)], values.dtype)
    np.cumsum(values, axis=axis, out=summed[(slice(None),) * axis + (slice(1, None),)])
    begun = values.take(np.minimum(whole, size - 1), axis)
    parts = np.expand_dims(rest.astype(values.dtype), [at for at in range(values.ndim) if at != axis])
    sums: Whole = np.diff(kind(per_pixel) * summed.take(whole, axis) + parts * begun, axis=axis)
    return sums


def _rounded(above: int, below: int) -> int:
    return max(1, (2 * above + below) // (2 * below))
