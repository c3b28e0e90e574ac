"""Draws objects from `drawings.toml`, which holds the shapes of each class."""

import math
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk_household.world.canvas import Canvas, Colour
from reeltalk_household.world.kinds import KINDS, METAL, colour_rgb, shade, wood
from reeltalk_household.world.tables import world_table

Tone = Colour | float
"""A colour, or how much lighter or darker than the object's own."""
_STEAM: Final = (236, 242, 248)
_STEAM_EDGE: Final = (150, 164, 178)
_RINGING: Final = (232, 120, 30)


@dataclass(frozen=True)
class ShapeRow:
    """A row of the drawings: equal shapes in several places."""

    name: str
    places: tuple[NDArray[np.float64], ...]
    fill: Tone
    edge: Tone | None
    width: float
    turn_deg: float
    arc_deg: tuple[float, float]
    needed: frozenset[str]
    """States, colour and form without which nothing is drawn."""
    denied: frozenset[str]
    """States, colour and form with which nothing is drawn."""


@dataclass(frozen=True)
class Drawing:
    """What a class of objects looks like."""

    shapes: tuple[ShapeRow, ...]
    wooden: bool
    default: Colour

    def body(self, colour: str | None) -> Colour:
        """RGB of an object of this class."""
        return wood(colour) if self.wooden else colour_rgb(colour, self.default)


@lru_cache(maxsize=1)
def drawings() -> Mapping[str, Drawing]:
    """Drawings by class."""
    return {
        name: Drawing(
            tuple(_shape(row) for row in table["shapes"]),
            table.get("wooden", False),
            _rgb(table["default"]) if "default" in table else METAL,
        )
        for name, table in world_table("drawings").items()
    }


def _shape(row: Mapping[str, Any]) -> ShapeRow:
    name, numbers = next(iter(row.items()))
    conditions = row.get("when", "").split()
    return ShapeRow(
        name,
        tuple(np.array(place, np.float64) for place in (numbers if isinstance(numbers[0], list) else [numbers])),
        _tone(row.get("fill", "body")),
        _tone(row["edge"]) if "edge" in row else None,
        row.get("width", 0.0),
        row.get("turn", 0.0),
        tuple(row.get("arc", (0.0, 360.0))),
        frozenset(word for word in conditions if word[0] != "!"),
        frozenset(word[1:] for word in conditions if word[0] == "!"),
    )


def _tone(text: str) -> Tone:
    return _rgb(text) if text[0] == "#" else float(text.removeprefix("body") or 0)


def _rgb(text: str) -> Colour:
    r, g, b = bytes.fromhex(text[1:])
    return r, g, b


def draw_object(
    canvas: Canvas,
    class_name: str,
    x_m: float,
    y_m: float,
    colour: str | None,
    states: frozenset[str],
    *,
    size: float = 1.0,
) -> None:
    """Draws an object.

    Args:
        canvas: The canvas, in metres.
        x_m: Middle of its lower edge.
        y_m: Height of its lower edge.
        colour: Name of its colour; None if it has none.
        size: Its size in parts of its kind's.
    """
    with canvas.enlarged(size, x_m, y_m) if size != 1.0 else nullcontext():
        _draw(canvas, drawings()[class_name], x_m - KINDS[class_name].width_m / 2, y_m, colour, states)


def _draw(canvas: Canvas, drawing: Drawing, x: float, y: float, colour: str | None, states: frozenset[str]) -> None:
    body, holds = drawing.body(colour), {canvas.manner.form, colour, *states}

    def tone(value: Tone) -> Colour:
        return value if isinstance(value, tuple) else shade(body, value) if value else body

    corner = np.array((x, y))
    for shape in drawing.shapes:
        if not shape.needed <= holds or shape.denied & holds:
            continue
        fill, edge = tone(shape.fill), None if shape.edge is None else tone(shape.edge)
        for place in shape.places:
            if shape.name in ("polygon", "curve", "line", "limb"):
                points = place.reshape(-1, 2) + corner
                if shape.name == "polygon":
                    canvas.polygon(points, fill, outline=edge)
                elif shape.name == "curve":
                    canvas.curve(points, fill, outline=edge)
                elif shape.name == "line":
                    canvas.line(points, fill, shape.width)
                else:
                    canvas.limb(points.tolist(), fill, shape.width, outline=edge)
                continue
            left, low, *sizes = place.tolist()
            a, b = x + left, y + low
            if shape.name == "rectangle":
                canvas.rectangle(a, b, sizes[0], sizes[1], fill, outline=edge)
            elif shape.name == "rounded":
                canvas.rounded(a, b, sizes[0], sizes[1], sizes[2], fill, outline=edge)
            elif shape.name == "disc":
                canvas.disc(a, b, sizes[0], fill, outline=edge)
            elif shape.name == "ellipse":
                turn, arc = shape.turn_deg, shape.arc_deg
                canvas.ellipse(a, b, sizes[0], sizes[1], fill, turn_deg=turn, arc_deg=arc, outline=edge)
            elif shape.name == "steam":
                _steam(canvas, a, b)
            else:
                _ringing(canvas, a, b, sizes[0])


def _steam(canvas: Canvas, x: float, y: float) -> None:
    """Three wisps that move upwards."""
    for n in (-1, 0, 1):
        for k in range(3):
            up = 0.07 + 0.11 * k + 0.026 * ((canvas.phase + n) % 4)
            aside = n * 0.085 + 0.024 * (1 if (k + canvas.phase) % 2 else -1)
            canvas.disc(x + aside, y + up, 0.05 - 0.01 * k, _STEAM, outline=_STEAM_EDGE)


def _ringing(canvas: Canvas, x: float, y: float, reach: float) -> None:
    """Arcs on both sides of a thing that rings."""
    for middle in (math.pi, 0.0):
        for n in range(2):
            r = reach + 0.08 + 0.075 * n + 0.018 * (canvas.phase % 2)
            angles = [middle + a for a in (-0.55, -0.28, 0.0, 0.28, 0.55)]
            canvas.line([(x + r * math.cos(a), y + r * math.sin(a)) for a in angles], _RINGING, 0.032)
