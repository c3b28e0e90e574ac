"""Speech bubbles and name tags: their places in a picture, and their drawing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import cv2
import numpy as np

from reeltalk_household.world.canvas import Picture, Point, draw_words, text_width_px

PAPER: Final = (255, 255, 252)
LINE: Final = (44, 42, 48)
TAG: Final = (44, 48, 60)
LONGEST_LINE: Final = 24
"""Characters of a line of a bubble, unless a word is longer."""

Box = tuple[int, int, int, int]
"""Left, top, right and bottom, in pixels."""


@dataclass(frozen=True)
class Bubble:
    """Words in a bubble that points to a mouth."""

    lines: tuple[str, ...]
    box: Box
    tip: tuple[float, float]
    """Where its tail ends: at the edge of the head."""
    size_px: int


def wrap(words: str, longest: int = LONGEST_LINE) -> tuple[str, ...]:
    """The words in lines of about equal length, of at most `longest` characters where words allow."""
    parts = words.split()
    count = max(1, -(-len(words) // longest))
    while True:
        aim = max(len(words) / count, max((len(p) for p in parts), default=0))
        lines: list[str] = []
        for part in parts:
            if lines and len(lines[-1]) + 1 + len(part) <= max(aim + 2, 6):
                lines[-1] += f" {part}"
            else:
                lines.append(part)
        if all(len(line) <= max(longest, len(line.split()[0])) for line in lines) or count > len(parts):
            return tuple(lines)
        count += 1


def text_size_px(width_px: int) -> int:
    """Height of letters in pictures of a width."""
    return max(10, round(width_px * 0.0255))


def place_bubble(words: str, head: Point, radius: float, taken: Sequence[Box], width_px: int, height_px: int) -> Bubble:
    """Finds a place for a bubble at which it hides no face, if there is one, and lies in the picture."""
    size = text_size_px(width_px)
    lines = wrap(words)
    line_px = round(size * 1.22)
    wide = max(text_width_px(line, size) for line in lines) + round(size * 1.3)
    high = line_px * len(lines) + round(size * 0.8)
    x, y = head
    gap = size * 0.7
    best: tuple[float, Box] | None = None
    for side in (1, -1, 0):
        for level in (-1.0, -1.4, -0.6, -0.2, 0.3):
            left = (
                x - wide / 2 if side == 0 else (x + radius * 1.1 + gap if side > 0 else x - radius * 1.1 - gap - wide)
            )
            if side and level < -0.5:
                # Above the head and to one side.
                left = x - wide * (0.25 if side > 0 else 0.75)
            top = y + level * radius * 1.6 - high if level < -0.5 else y + level * radius - high / 2
            if level < -0.5:
                top -= gap * 0.5
            left = min(max(left, 3), width_px - wide - 3)
            top = min(max(top, 3), height_px - high - 3)
            box = (round(left), round(top), round(left) + wide, round(top) + high)
            hidden = sum(_overlap(box, face) for face in taken)
            far = abs((box[0] + box[2]) / 2 - x) + abs((box[1] + box[3]) / 2 - y)
            cost = hidden * 60 + far * 0.6 + (8 if side == 0 else 0)
            if best is None or cost < best[0]:
                best = (cost, box)
    assert best is not None
    left_px, top_px, right_px, bottom_px = best[1]
    dx, dy = (left_px + right_px) / 2 - x, (top_px + bottom_px) / 2 - y
    length = max(1.0, (dx * dx + dy * dy) ** 0.5)
    return Bubble(lines, best[1], (x + dx / length * radius * 1.12, y + dy / length * radius * 1.12), size)


def _overlap(one: Box, other: Box) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return math.sqrt(max(0, wide) * max(0, high))


def _outline(bubble: Bubble) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    """The edge of a bubble with its tail."""
    left, top, right, bottom = bubble.box
    r = min(bubble.size_px * 0.7, (bottom - top) / 2)
    turn = np.linspace(0, np.pi / 2, 6)
    corners = (
        (right - r, bottom - r, 0.0),
        (left + r, bottom - r, 1.0),
        (left + r, top + r, 2.0),
        (right - r, top + r, 3.0),
    )
    points = [
        (cx + r * np.cos(a + q * np.pi / 2), cy + r * np.sin(a + q * np.pi / 2)) for cx, cy, q in corners for a in turn
    ]
    return np.round(np.array(points) * 16).astype(np.int32)


def _tail(bubble: Bubble, grow: float) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    left, top, right, bottom = bubble.box
    cx, cy = (left + right) / 2, (top + bottom) / 2
    mx, my = bubble.tip
    dx, dy = mx - cx, my - cy
    length = max(1.0, float(np.hypot(dx, dy)))
    base_x = min(max(mx, left + bubble.size_px), right - bubble.size_px)
    base_y = min(max(my, top + bubble.size_px * 0.6), bottom - bubble.size_px * 0.6)
    half = bubble.size_px * 0.42 + grow
    nx, ny = -dy / length, dx / length
    grown = (mx + dx / length * grow * 2, my + dy / length * grow * 2)
    points = [(base_x + nx * half, base_y + ny * half), grown, (base_x - nx * half, base_y - ny * half)]
    return np.round(np.array(points) * 16).astype(np.int32)


def draw_bubble(pixels: Picture, bubble: Bubble) -> None:
    """Draws a bubble into a picture, in place."""
    outline = _outline(bubble)
    cv2.polylines(pixels, [outline], True, LINE, 3 if bubble.size_px > 12 else 2, cv2.LINE_AA, 4)
    cv2.fillPoly(pixels, [_tail(bubble, 1.6)], LINE, cv2.LINE_AA, 4)
    cv2.fillPoly(pixels, [outline], PAPER, cv2.LINE_AA, 4)
    cv2.fillPoly(pixels, [_tail(bubble, 0.0)], PAPER, cv2.LINE_AA, 4)
    for number, line in enumerate(bubble.lines):
        wide = text_width_px(line, bubble.size_px)
        middle = (bubble.box[0] + bubble.box[2] - wide) // 2
        base = bubble.box[1] + round(bubble.size_px * 0.3) + round(bubble.size_px * (0.95 + 1.22 * number))
        draw_words(pixels, line, middle, base, bubble.size_px, LINE)


def stencil_bubble(numbers: np.ndarray[tuple[int, ...], np.dtype[np.int16]], bubble: Bubble) -> None:
    """Marks the pixels of a bubble as no object's, in place."""
    for edge in (_outline(bubble), _tail(bubble, 1.6)):
        cv2.fillPoly(numbers, [edge], 0, cv2.LINE_8, 4)


@lru_cache(maxsize=256)
def tag_box(name: str, x: int, y: int, width_px: int) -> Box:
    """The box of a name tag whose lower edge is centred at a point, moved into the picture."""
    size = round(text_size_px(width_px) * 0.82)
    wide, high = text_width_px(name, size, 600) + round(size * 0.9), round(size * 1.35)
    left = min(max(x - wide // 2, 2), width_px - wide - 2)
    top = max(y - high, 2)
    return left, top, left + wide, top + high


def draw_tag(pixels: Picture, name: str, box: Box, colour: tuple[int, int, int]) -> None:
    """Draws a name tag into a picture, in place; the stripe below the name has the colour of the person's shirt."""
    left, top, right, bottom = box
    size = round((bottom - top) / 1.35)
    cv2.rectangle(pixels, (left, top), (right - 1, bottom - 1), TAG, -1)
    cv2.rectangle(pixels, (left, bottom - max(2, size // 6)), (right - 1, bottom - 1), colour, -1)
    draw_words(pixels, name, left + round(size * 0.45), top + round(size * 0.98), size, (255, 255, 255), weight=600)
