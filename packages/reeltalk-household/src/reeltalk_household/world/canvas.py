"""Draws smooth shapes on a picture, in the units of the drawing.

Edges are anti-aliased and placed to a sixteenth of a pixel, so that slow motion is smooth. The same calls draw the same
bytes.
"""

import colorsys
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]
Colour = tuple[int, int, int]
Point = tuple[float, float]

_SHIFT: Final = 4
_SCALE: Final = 1 << _SHIFT
DARK_LINE: Final = (50, 44, 46)
LIGHT_LINE: Final = (252, 250, 244)


@dataclass(frozen=True)
class Manner:
    """How shapes are drawn. The same calls in another manner draw the same things in another look."""

    outline: Literal["none", "shade", "ink", "light"] = "shade"
    """Outlines are left out, drawn in the colour that the shape asks for, drawn dark, or drawn nearly white."""
    line: float = 1.0
    """Widths of outlines are multiplied by it."""
    saturation: float = 1.0
    """Saturations of colours are multiplied by it."""
    lift: float = 0.0
    """Share of white in every colour."""
    wobble: float = 0.0
    """How far a corner is drawn from its place, in units of the drawing: lines as if drawn by hand."""
    smooth: bool = True
    """Whether edges are anti-aliased."""
    form: Literal["straight", "round", "slim"] = "straight"
    """Which of its shapes a thing takes that has several."""


PLAIN: Final = Manner()
_ROUND: Final = np.concatenate([np.linspace(turn, turn + np.pi / 2, 5) for turn in np.arange(4) * np.pi / 2])
_TURN: Final = np.linspace(0.0, 2 * np.pi, 24, endpoint=False)
_CIRCLE: Final = np.stack([np.cos(_TURN), np.sin(_TURN)], axis=1)
_QUARTERS: Final = np.stack([np.cos(_ROUND), np.sin(_ROUND)], axis=1)


@lru_cache(maxsize=64)
def _arc(first_deg: float, last_deg: float) -> NDArray[np.float64]:
    angles = np.radians(np.linspace(first_deg, last_deg, 28))
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


@lru_cache(maxsize=4096)
def tone(colour: Colour, manner: Manner) -> Colour:
    """A colour in a manner, RGB."""
    if manner.saturation == 1.0 and manner.lift == 0.0:
        return colour
    hue, light, saturation = colorsys.rgb_to_hls(*(c / 255 for c in colour))
    r, g, b = colorsys.hls_to_rgb(hue, light, min(1.0, saturation * manner.saturation))
    keep, white = 1 - manner.lift, 255 * manner.lift
    return round(r * 255 * keep + white), round(g * 255 * keep + white), round(b * 255 * keep + white)


class Canvas:
    """A picture that you draw on in place. x grows to the right and y upwards, from the lower left corner.

    Args:
        width_px: Width of the picture.
        height_px: Height of the picture.
        scale: Pixels per unit.
        left: The x of the left edge.
        bottom: The y of the lower edge.
        pixels: (H, W, 3) uint8 RGB to draw on; black by default.
        manner: How shapes are drawn.
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
        manner: Manner = PLAIN,
    ) -> None:
        self.pixels: Picture = np.zeros((height_px, width_px, 3), np.uint8) if pixels is None else pixels
        self.scale, self.left, self.bottom, self.manner = scale, left, bottom, manner
        self.phase = 0
        """Which of four pictures a moving thing, such as steam, shows; 0 to 3."""
        self._height_px = height_px
        self._edge = cv2.LINE_AA if manner.smooth else cv2.LINE_8
        # OpenCV counts from the centre of a pixel.
        self._zoom = np.array([scale, -scale]) * _SCALE
        self._shift = np.array([-left * scale - 0.5, height_px + bottom * scale - 0.5]) * _SCALE
        self._scaling = self._zoom.tolist(), self._shift.tolist()

    def _points(self, points: Sequence[Point] | NDArray[np.float64]) -> NDArray[np.int32]:
        array = np.asarray(points, np.float64)
        if self.manner.wobble and len(array) > 1:
            # The same corner always has the same error, so that nothing flickers.
            array = array + self.manner.wobble * np.sin(array * 37.0 + array[:, ::-1] * 23.0)
        placed: NDArray[np.int32] = np.rint(array * self._zoom + self._shift).astype(np.int32)
        return placed

    @contextmanager
    def enlarged(self, factor: float, x: float, y: float) -> Iterator[None]:
        """Draws everything larger or smaller around a point, while the context is open."""
        kept = self._zoom, self._shift, self._scaling, self.scale
        at = np.array([x, y]) * self._zoom + self._shift
        self._zoom = self._zoom * factor
        self._shift = at - np.array([x, y]) * self._zoom
        self._scaling = self._zoom.tolist(), self._shift.tolist()
        self.scale *= factor
        try:
            yield
        finally:
            self._zoom, self._shift, self._scaling, self.scale = kept

    def _line_of(self, outline: Colour | None, fill: Colour) -> Colour | None:
        """The colour of an outline in the manner of this canvas; None if it is left out."""
        manner = self.manner.outline
        if outline is None or manner == "none":
            return None
        # A light line around a light shape would not be seen.
        if manner == "shade" or (manner == "light" and sum(fill) > 640):
            return tone(outline, self.manner)
        return DARK_LINE if manner == "ink" else LIGHT_LINE

    def _fill(self, at: NDArray[np.int32], colour: Colour) -> None:
        cv2.fillPoly(self.pixels, [at], colour, self._edge, _SHIFT)

    def polygon(
        self,
        points: Sequence[Point] | NDArray[np.float64],
        colour: Colour,
        *,
        outline: Colour | None = None,
        line: float = 0.015,
    ) -> None:
        """A filled polygon."""
        drawn = self._line_of(outline, colour)
        if drawn is not None:
            # Thick anti-aliased lines of OpenCV are ragged; a larger shape behind the shape is not.
            wide = max(line * self.manner.line * 0.7, 0.6 / self.scale)
            self._fill(self._points(_grown(np.asarray(points, np.float64), wide)), drawn)
        self._fill(self._points(points), tone(colour, self.manner))

    def curve(
        self,
        points: Sequence[Point] | NDArray[np.float64],
        colour: Colour,
        *,
        outline: Colour | None = None,
        line: float = 0.015,
    ) -> None:
        """A filled shape whose edge runs smoothly through the points (a closed Catmull-Rom curve)."""
        self.polygon(smooth_curve(points), colour, outline=outline, line=line)

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
        right, left, top, low = x + width - radius, x + radius, y + height - radius, y + radius
        centres = np.repeat(np.array([(right, top), (left, top), (left, low), (right, low)]), 5, axis=0)
        self.polygon(centres + radius * _QUARTERS, colour, outline=outline)

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
        line: float = 0.015,
    ) -> None:
        """A filled ellipse, or a part of one, around its centre. Angles run counterclockwise from the right."""
        angles = _CIRCLE if arc_deg[1] - arc_deg[0] >= 360.0 else _arc(*arc_deg)
        points = angles * (radius_x, radius_y)
        if turn_deg:
            turn = math.radians(turn_deg)
            cos, sin = math.cos(turn), math.sin(turn)
            points = points @ np.array([[cos, sin], [-sin, cos]])
        points += (x, y)
        self.polygon(points, colour, outline=outline, line=line)

    def line(self, points: Sequence[Point] | NDArray[np.float64], colour: Colour, width: float) -> None:
        """A line through points, with round ends. Nothing is drawn for fewer than two points."""
        at = np.asarray(points, np.float64)
        if len(at) < 2:
            return
        half = max(width / 2, 0.55 / self.scale)
        sides = _normals(at, closed=False) * half
        drawn = tone(colour, self.manner)
        self._fill(self._points(np.concatenate([at + sides, (at - sides)[::-1]])), drawn)
        if half * self.scale > 1.2:
            for x, y in (at[0], at[-1]):
                self._paint_disc(self._spot(float(x), float(y)), round(half * self.scale * _SCALE), drawn)

    def limb(self, points: Sequence[Point], colour: Colour, width: float, *, outline: Colour | None = None) -> None:
        """A thick line with round joints, such as an arm or a leg. Its width is exact to a fraction of a pixel."""
        line = self._line_of(outline, colour)
        if line is not None:
            self._limb(points, line, width + 0.02 * self.manner.line)
        self._limb(points, tone(colour, self.manner), width)

    def _limb(self, points: Sequence[Point], drawn: Colour, width: float) -> None:
        r = max(1, round(width / 2 * self.scale * _SCALE))
        for start, end in pairwise(points):
            dx, dy = end[0] - start[0], end[1] - start[1]
            length = (dx * dx + dy * dy) ** 0.5 or 1.0
            nx, ny = -dy / length * width / 2, dx / length * width / 2
            quad = (
                (start[0] + nx, start[1] + ny),
                (end[0] + nx, end[1] + ny),
                (end[0] - nx, end[1] - ny),
                (start[0] - nx, start[1] - ny),
            )
            self._paint_quad(np.rint(np.array(quad) * self._zoom + self._shift).astype(np.int32), drawn)
        for x, y in points:
            self._paint_disc(self._spot(x, y), r, drawn)

    def _paint_quad(self, at: NDArray[np.int32], colour: Colour) -> None:
        cv2.fillConvexPoly(self.pixels, at, colour, self._edge, _SHIFT)

    def _spot(self, x: float, y: float) -> tuple[int, int]:
        """A point in sixteenths of a pixel."""
        (zoom_x, zoom_y), (shift_x, shift_y) = self._scaling
        return round(x * zoom_x + shift_x), round(y * zoom_y + shift_y)

    def _paint_disc(self, at: tuple[int, int], radius: int, colour: Colour) -> None:
        cv2.circle(self.pixels, at, radius, colour, -1, self._edge, _SHIFT)

    def disc(self, x: float, y: float, radius: float, colour: Colour, *, outline: Colour | None = None) -> None:
        """A filled circle."""
        at = self._spot(x, y)
        drawn = self._line_of(outline, colour)
        if drawn is not None:
            wide = radius + 0.0075 * self.manner.line
            self._paint_disc(at, max(1, round(wide * self.scale * _SCALE)), drawn)
        self._paint_disc(at, max(1, round(radius * self.scale * _SCALE)), tone(colour, self.manner))

    def text(self, words: str, x: float, y: float, height: float, colour: Colour, *, weight: int = 500) -> None:
        """Words centred at `x` with their lower edge at `y`, in the sans-serif font that OpenCV includes.

        Args:
            words: One line.
            x: Their middle.
            y: Their base line.
            height: Height of the letters with ascenders and descenders, in units of the drawing.
            colour: RGB.
            weight: 300 to 900; 400 is regular and 700 bold.
        """
        size = max(8, round(height * self.scale))
        left = round((x - self.left) * self.scale - text_width_px(words, size, weight) / 2)
        base = round(self._height_px - (y - self.bottom) * self.scale)
        draw_words(self.pixels, words, left, base, size, colour, weight=weight)


def _normals(at: NDArray[np.float64], *, closed: bool) -> NDArray[np.float64]:
    """Vectors to the left of a line at its points, (N, 2), as long as a line of width 2 needs at its bends."""
    steps = np.empty((len(at) + 1, 2))
    np.subtract(at[1:], at[:-1], out=steps[1:-1])
    if closed:
        np.subtract(at[0], at[-1], out=steps[0])
        steps[-1] = steps[0]
    else:
        steps[0], steps[-1] = steps[1], steps[-2]
    x, y = steps[:, 0], steps[:, 1]
    steps /= np.maximum(np.sqrt(x * x + y * y), 1e-9)[:, None]
    around = steps[:-1] + steps[1:]
    x, y = around[:, 0], around[:, 1]
    size = np.sqrt(x * x + y * y)
    # The sum of two unit vectors is short where the line bends sharply.
    reach = 2 / np.maximum(size, 0.8 if closed else 1.1) / np.maximum(size, 1e-9)
    normals = np.empty_like(around)
    np.multiply(y, -reach, out=normals[:, 0])
    np.multiply(x, reach, out=normals[:, 1])
    return normals


def _grown(at: NDArray[np.float64], by: float) -> NDArray[np.float64]:
    """A polygon that is larger by a margin on all sides."""
    x, y = at[:, 0], at[:, 1]
    area = float(x[:-1] @ y[1:] - x[1:] @ y[:-1] + x[-1] * y[0] - x[0] * y[-1])
    return at + _normals(at, closed=True) * (-by if area > 0 else by)


def smooth_curve(points: Sequence[Point] | NDArray[np.float64], *, closed: bool = True) -> NDArray[np.float64]:
    """Points of a smooth curve through points, (N, 2): six for each of them (Catmull and Rom, 1974)."""
    p = np.asarray(points, np.float64)
    return np.asarray((_CATMULL_ROM @ p[_neighbours(len(p), closed=closed)]).reshape(-1, 2))


_TIMES: Final = np.arange(6) / 6
_CATMULL_ROM: Final = 0.5 * np.stack(
    [
        -_TIMES + 2 * _TIMES**2 - _TIMES**3,
        2 - 5 * _TIMES**2 + 3 * _TIMES**3,
        _TIMES + 4 * _TIMES**2 - 3 * _TIMES**3,
        -(_TIMES**2) + _TIMES**3,
    ],
    axis=1,
)
"""(6, 4): what four neighbours contribute to six points between the middle two."""


@lru_cache(maxsize=128)
def _neighbours(count: int, *, closed: bool) -> NDArray[np.int64]:
    """For each part of a curve, the indices of the four points that shape it."""
    if closed:
        return np.asarray((np.arange(count)[:, None] + np.arange(-1, 3)) % count)
    return np.asarray(np.clip(np.arange(count - 1)[:, None] + np.arange(-1, 3), 0, count - 1))


@lru_cache(maxsize=1)
def _font() -> "cv2.FontFace":
    return cv2.FontFace("sans")


@lru_cache(maxsize=4096)
def text_width_px(words: str, size_px: int, weight: int = 500) -> int:
    """Width of a line of text in the font that OpenCV includes."""
    _, _, width, _ = cv2.getTextSize((0, 0), words, (0, 0), _font(), size_px, weight)
    return int(width)


def draw_words(
    pixels: Picture, words: str, left: int, base: int, size_px: int, colour: Colour, *, weight: int = 500
) -> None:
    """Writes a line of text into a picture.

    Args:
        pixels: (H, W, 3) uint8; changed in place.
        words: The line.
        left: Column of its left edge.
        base: Row of its base line.
        size_px: Height of the letters with ascenders and descenders.
        colour: RGB.
        weight: 300 to 900; 400 is regular and 700 bold.
    """
    # A text that crosses the right edge would be wrapped.
    cv2.putText(pixels, words, (left, base), colour, _font(), size_px, weight, cv2.PUT_TEXT_ALIGN_LEFT, (0, 10_000))


class Stencil(Canvas):
    """A map of the objects in a picture: every shape writes the number of the object that is being drawn.

    It takes the same calls as a canvas, so everything that you can draw has a position. Parts that are hidden behind
    another object are not counted.
    """

    def __init__(
        self,
        width_px: int,
        height_px: int,
        *,
        scale: float,
        left: float = 0.0,
        bottom: float = 0.0,
        manner: Manner = PLAIN,
    ) -> None:
        super().__init__(
            width_px,
            height_px,
            scale=scale,
            left=left,
            bottom=bottom,
            pixels=np.zeros((0, 0, 3), np.uint8),
            manner=manner,
        )
        self.numbers: NDArray[np.int16] = np.zeros((height_px, width_px), np.int16)
        """(H, W) int16; 0 where no numbered object was drawn."""
        self.number = 0
        """The number of the object that is drawn next."""

    def _fill(self, at: NDArray[np.int32], colour: Colour) -> None:
        cv2.fillPoly(self.numbers, [at], self.number, cv2.LINE_8, _SHIFT)

    def _paint_quad(self, at: NDArray[np.int32], colour: Colour) -> None:
        cv2.fillConvexPoly(self.numbers, at, self.number, cv2.LINE_8, _SHIFT)

    def _paint_disc(self, at: tuple[int, int], radius: int, colour: Colour) -> None:
        cv2.circle(self.numbers, at, radius, self.number, -1, cv2.LINE_8, _SHIFT)

    def text(self, words: str, x: float, y: float, height: float, colour: Colour, *, weight: int = 500) -> None:
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
