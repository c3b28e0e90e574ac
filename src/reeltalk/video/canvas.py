"""Draws smooth shapes on a picture, in the units of the drawing.

Edges are anti-aliased and placed to a sixteenth of a pixel, so that slow motion is smooth. The same calls draw the same
bytes.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Colour = tuple[int, int, int]
Point = tuple[float, float]

_SHIFT: Final = 4
_SCALE: Final = 1 << _SHIFT


class Canvas:
    """A picture that you draw on in place. x grows to the right and y upwards, from the lower left corner.

    Args:
        width_px: Width of the picture.
        height_px: Height of the picture.
        scale: Pixels per unit.
        left: The x of the left edge.
        bottom: The y of the lower edge.
        pixels: (H, W, 3) uint8 RGB to draw on; black by default.
    """

    def __init__(
        self,
        width_px: int,
        height_px: int,
        *,
        scale: float,
        left: float = 0.0,
        bottom: float = 0.0,
        pixels: Picture | None = None,
    ) -> None:
        self.pixels: Picture = np.zeros((height_px, width_px, 3), np.uint8) if pixels is None else pixels
        self.scale, self.left, self.bottom = scale, left, bottom
        self._height_px = height_px

    def _points(self, points: Sequence[Point]) -> NDArray[np.int32]:
        array = np.asarray(points, np.float64)
        array = np.stack(
            [(array[:, 0] - self.left) * self.scale, self._height_px - (array[:, 1] - self.bottom) * self.scale], axis=1
        )
        # OpenCV counts from the centre of a pixel.
        return np.round((array - 0.5) * _SCALE).astype(np.int32)

    def _px(self, length: float) -> int:
        return max(1, round(length * self.scale))

    def polygon(
        self, points: Sequence[Point], colour: Colour, *, outline: Colour | None = None, line: float = 0.015
    ) -> None:
        """A filled polygon."""
        at = self._points(points)
        cv2.fillPoly(self.pixels, [at], colour, cv2.LINE_AA, _SHIFT)
        if outline is not None:
            cv2.polylines(self.pixels, [at], True, outline, self._px(line), cv2.LINE_AA, _SHIFT)

    def rectangle(
        self, x: float, y: float, width: float, height: float, colour: Colour, *, outline: Colour | None = None
    ) -> None:
        """A filled rectangle from its lower left corner."""
        corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
        self.polygon(corners, colour, outline=outline)

    def rounded(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        radius: float,
        colour: Colour,
        *,
        outline: Colour | None = None,
    ) -> None:
        """A filled rectangle with round corners, from its lower left corner."""
        radius = min(radius, width / 2, height / 2)
        steps = np.linspace(0.0, np.pi / 2, 5)
        corners = [
            (x + width - radius, y + height - radius, 0.0),
            (x + radius, y + height - radius, np.pi / 2),
            (x + radius, y + radius, np.pi),
            (x + width - radius, y + radius, 3 * np.pi / 2),
        ]
        points = [
            (cx + radius * float(np.cos(a + turn)), cy + radius * float(np.sin(a + turn)))
            for cx, cy, turn in corners
            for a in steps
        ]
        self.polygon(points, colour, outline=outline)

    def ellipse(
        self,
        x: float,
        y: float,
        radius_x: float,
        radius_y: float,
        colour: Colour,
        *,
        turn_deg: float = 0.0,
        arc_deg: tuple[float, float] = (0.0, 360.0),
        outline: Colour | None = None,
    ) -> None:
        """A filled ellipse, or a part of one, around its centre. Angles run counterclockwise from the right."""
        angles = np.radians(np.linspace(arc_deg[0], arc_deg[1], 28))
        turn = np.radians(turn_deg)
        cos, sin = np.cos(angles) * radius_x, np.sin(angles) * radius_y
        points = [
            (float(x + c * np.cos(turn) - s * np.sin(turn)), float(y + c * np.sin(turn) + s * np.cos(turn)))
            for c, s in zip(cos, sin, strict=True)
        ]
        self.polygon(points, colour, outline=outline)

    def line(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        """A line through points, with round ends."""
        at = self._points(points)
        thickness = self._px(width)
        cv2.polylines(self.pixels, [at], False, colour, thickness, cv2.LINE_AA, _SHIFT)

    def limb(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        """A thick line with round joints, such as an arm or a leg. Its width is exact to a fraction of a pixel."""
        for start, end in pairwise(points):
            dx, dy = end[0] - start[0], end[1] - start[1]
            length = (dx * dx + dy * dy) ** 0.5 or 1.0
            nx, ny = -dy / length * width / 2, dx / length * width / 2
            self.polygon(
                [
                    (start[0] + nx, start[1] + ny),
                    (end[0] + nx, end[1] + ny),
                    (end[0] - nx, end[1] - ny),
                    (start[0] - nx, start[1] - ny),
                ],
                colour,
            )
        for point in points:
            self.disc(point[0], point[1], width / 2, colour)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """A filled circle."""
        at = self._points([(x, y)])[0]
        r = max(1, round(radius * self.scale * _SCALE))
        cv2.circle(self.pixels, (int(at[0]), int(at[1])), r, colour, -1, cv2.LINE_AA, _SHIFT)

    def darken(self, share: float) -> None:
        """Darken the whole picture, with a blue shade as at night.

        Args:
            share: 0 changes nothing, 1 makes the picture black.
        """
        keep = np.array([1 - share, 1 - 0.95 * share, 1 - 0.8 * share])
        table = (np.arange(256)[:, None] * keep).astype(np.uint8)
        self.pixels[:] = cv2.LUT(self.pixels, table[None])

    def text(self, words: str, x: float, y: float, height: float, colour: Colour) -> None:
        """Words centred at `x` with their lower edge at `y`; for labels, in the one font that OpenCV includes."""
        size = height * self.scale / 22
        (width_px, _), _ = cv2.getTextSize(words, cv2.FONT_HERSHEY_SIMPLEX, size, 1)
        left = round((x - self.left) * self.scale - width_px / 2)
        base = round(self._height_px - (y - self.bottom) * self.scale)
        cv2.putText(self.pixels, words, (left, base), cv2.FONT_HERSHEY_SIMPLEX, size, colour, 1, cv2.LINE_AA)


class Stencil(Canvas):
    """A map of the objects in a picture: every shape writes the number of the object that is being drawn.

    It takes the same calls as a canvas, so everything that you can draw has a position. Parts that are hidden behind
    another object are not counted.

    Args:
        width_px: Width of the picture.
        height_px: Height of the picture.
        scale: Pixels per unit.
        left: The x of the left edge.
        bottom: The y of the lower edge.
    """

    def __init__(self, width_px: int, height_px: int, *, scale: float, left: float = 0.0, bottom: float = 0.0) -> None:
        super().__init__(
            width_px, height_px, scale=scale, left=left, bottom=bottom, pixels=np.zeros((0, 0, 3), np.uint8)
        )
        self.numbers: NDArray[np.int16] = np.zeros((height_px, width_px), np.int16)
        """(H, W) int16; 0 where no numbered object was drawn."""
        self.number = 0
        """The number of the object that is drawn next."""

    def polygon(
        self, points: Sequence[Point], colour: Colour, *, outline: Colour | None = None, line: float = 0.015
    ) -> None:
        """The area of a polygon."""
        at = self._points(points)
        cv2.fillPoly(self.numbers, [at], self.number, cv2.LINE_8, _SHIFT)
        if outline is not None:
            cv2.polylines(self.numbers, [at], True, self.number, self._px(line), cv2.LINE_8, _SHIFT)

    def line(self, points: Sequence[Point], colour: Colour, width: float) -> None:
        """The area of a line."""
        cv2.polylines(self.numbers, [self._points(points)], False, self.number, self._px(width), cv2.LINE_8, _SHIFT)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """The area of a circle."""
        at = self._points([(x, y)])[0]
        r = max(1, round(radius * self.scale * _SCALE))
        cv2.circle(self.numbers, (int(at[0]), int(at[1])), r, self.number, -1, cv2.LINE_8, _SHIFT)

    def darken(self, share: float) -> None:
        """Does nothing: darkness does not change where objects are."""

    def text(self, words: str, x: float, y: float, height: float, colour: Colour) -> None:
        """Does nothing: a label is not part of the object that it names."""

    def boxes(self, *, smallest_px: int) -> dict[int, tuple[int, int, int, int]]:
        """Left, top, right and bottom (right and bottom exclusive) in pixels of the visible part of each object.

        Args:
            smallest_px: Objects with fewer visible pixels are left out.
        """
        rows, columns = np.nonzero(self.numbers)
        numbers = self.numbers[rows, columns]
        order = np.argsort(numbers, kind="stable")
        rows, columns, numbers = rows[order], columns[order], numbers[order]
        found, starts, counts = np.unique(numbers, return_index=True, return_counts=True)
        return {
            int(number): (
                int(columns[start : start + count].min()),
                int(rows[start : start + count].min()),
                int(columns[start : start + count].max()) + 1,
                int(rows[start : start + count].max()) + 1,
            )
            for number, start, count in zip(found, starts, counts, strict=True)
            if count >= smallest_px
        }
