"""Name tags with names that nobody has: reeltalk-mini learns letters from them, and not the few names of its films."""

import io
import random
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from reeltalk_household.mini.mini_input import LETTERS, TAG_HIGH_PX, TAG_WIDE_PX
from reeltalk_household.world.canvas import draw_words, text_width_px

Pixels = NDArray[np.uint8]
TAG_SCALE: Final = 2
"""Films are twice as large as the pictures that the network sees."""
SIZE_PX: Final = 13
"""Height of the letters in a film of 640 pixels."""
GROUND: Final = (44, 48, 60)
PAPER: Final = (255, 255, 255)
LETTER_WEIGHT: Final = 600
VOWELS: Final = "aeiou"
SHORTEST: Final = 3
LONGEST: Final = 8
SPELT_SHARE: Final = 0.35
"""Share of names whose letters are drawn each for itself; in the others vowels and consonants take turns."""
DOUBLED_SHARE: Final = 0.15
"""Share of the letters of these that come twice."""
NO_NAME_SHARE: Final = 0.2
"""Share of pictures without a name."""
OFFSETS_PX: Final = (10, 16)
"""How far a tag is from the middle of the part, down and to the right, in pixels of the film."""
JPEG_QUALITY: Final = (50, 95)
"""JPEG's quality, for the traces of encoding."""


def invented_name(draw: random.Random) -> str:
    """A name that can be pronounced, or any letters."""
    count, name, vowel = draw.randint(SHORTEST, LONGEST - 1), "", draw.random() < 0.4
    if draw.random() < SPELT_SHARE:
        return "".join(draw.choices(LETTERS, k=count)).capitalize()
    consonants = [letter for letter in LETTERS if letter not in VOWELS]
    while len(name) < count:
        name += draw.choice(VOWELS if vowel else consonants)
        name += name[-1] if draw.random() < DOUBLED_SHARE else ""
        vowel = not vowel
    return name[:LONGEST].capitalize()


def draw_name(pixels: Pixels, name: str, left: int, top: int, shirt: tuple[int, int, int]) -> None:
    """Draws the tag of a person into a picture of a film's size, in place, as films do.

    Args:
        pixels: (H, W, 3) uint8.
        left: Column of its left edge; the tag may cross the edges of the picture.
        top: Row of its upper edge.
        shirt: RGB of the stripe below the name.
    """
    wide, high = tag_size(name)
    tag = np.full((high, wide, 3), GROUND, np.uint8)
    tag[high - max(2, SIZE_PX // 6) :] = shirt
    draw_words(tag, name, round(SIZE_PX * 0.45), round(SIZE_PX * 0.98), SIZE_PX, PAPER, weight=LETTER_WEIGHT)
    rows, columns = np.arange(top, top + high), np.arange(left, left + wide)
    down, right = (rows >= 0) & (rows < pixels.shape[0]), (columns >= 0) & (columns < pixels.shape[1])
    pixels[np.ix_(rows[down], columns[right])] = tag[np.ix_(down, right)]


def tag_size(name: str) -> tuple[int, int]:
    """Width and height of a tag in pixels of a film."""
    return text_width_px(name, SIZE_PX, LETTER_WEIGHT) + round(SIZE_PX * 0.9), round(SIZE_PX * 1.35)


def tagged_parts(pictures: Sequence[Pixels], draw: random.Random) -> tuple[Pixels, list[str]]:
    """Parts of pictures with invented names, and some without.

    Args:
        pictures: (H, W, 3) uint8 each, in the size that the network sees.
        draw: Decides names, places and colours.

    Returns:
        (N, TAG_HIGH_PX, TAG_WIDE_PX, 3) uint8, and the name in each; empty where there is none.
    """
    parts, names = [], []
    for picture in pictures:
        top = draw.randint(0, picture.shape[0] - TAG_HIGH_PX)
        left = draw.randint(0, picture.shape[1] - TAG_WIDE_PX)
        part = picture[top : top + TAG_HIGH_PX, left : left + TAG_WIDE_PX]
        large = part.repeat(TAG_SCALE, axis=0).repeat(TAG_SCALE, axis=1)
        name = "" if draw.random() < NO_NAME_SHARE else invented_name(draw)
        if name:
            wide, high = tag_size(name)
            down, right = (draw.randint(-off, off) for off in OFFSETS_PX)
            shirt = (draw.randrange(256), draw.randrange(256), draw.randrange(256))
            draw_name(large, name, (large.shape[1] - wide) // 2 + right, (large.shape[0] - high) // 2 + down, shirt)
        parts.append(_halved(_encoded(large, draw.randint(*JPEG_QUALITY))))
        names.append(name)
    return np.stack(parts), names


def _encoded(pixels: Pixels, quality: int) -> Pixels:
    stored = io.BytesIO()
    Image.fromarray(pixels).save(stored, "JPEG", quality=quality)
    return np.asarray(Image.open(stored))


def _halved(pixels: Pixels) -> Pixels:
    high, wide, _ = pixels.shape
    means = pixels.reshape(high // TAG_SCALE, TAG_SCALE, wide // TAG_SCALE, TAG_SCALE, 3).mean(axis=(1, 3))
    out: Pixels = means.round().astype(np.uint8)
    return out
