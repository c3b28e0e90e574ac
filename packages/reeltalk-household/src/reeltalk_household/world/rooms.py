"""Draws empty rooms: walls, floors, windows and doors."""

import random
from typing import Final

from reeltalk_household.world.canvas import Canvas, Colour
from reeltalk_household.world.house import DOOR_X_M, ROOM_HEIGHT_M, ROOM_WIDTH_M, House
from reeltalk_household.world.kinds import INK, PORCELAIN, SKY, shade, wood
from reeltalk_household.world.styles import STYLES


def draw_room(canvas: Canvas, house: House, room: str, light: str = "day") -> None:
    """Draws the wall, floor, window and door of an empty room.

    Args:
        canvas: The canvas, in metres.
        room: Name of the room, such as `kitchen1`.
        light: day or evening, as the window shows it.
    """
    spec, style = house.rooms[room], STYLES[house.style]
    draw = random.Random(f"wall {house.number} {room}")
    wall, floor = (_mixed(colour, style.wall_tint, style.tint_share) for colour in (spec.wall, spec.floor))
    canvas.rectangle(-1, 0, ROOM_WIDTH_M + 2, ROOM_HEIGHT_M + 1, wall)
    canvas.rectangle(-1, -1, ROOM_WIDTH_M + 2, 1.0, floor)
    _WALLS[draw.choice(style.walls)](canvas, wall)
    if spec.class_name == "bathroom":
        tile = _mixed(shade(spec.wall, 0.45), style.wall_tint, style.tint_share * 0.8)
        canvas.rectangle(-1, 0, ROOM_WIDTH_M + 2, 1.45, tile)
        for n in range(-3, 26):
            canvas.line([(n * 0.3, 0), (n * 0.3, 1.45)], shade(tile, -0.09), 0.01)
        for n in range(1, 5):
            canvas.line([(-1, n * 0.3), (ROOM_WIDTH_M + 1, n * 0.3)], shade(tile, -0.09), 0.01)
    _draw_floor(canvas, spec.class_name, floor, draw.choice(style.boards))
    canvas.rectangle(-1, 0, ROOM_WIDTH_M + 2, 0.09, shade(wall, 0.6 if style.wall_tint is None else 0.25))
    canvas.line([(-1, 0), (ROOM_WIDTH_M + 1, 0)], shade(floor, -0.35), 0.02)
    _window(canvas, spec.window_x_m, narrow=spec.class_name == "bathroom", light=light, draw=draw)
    if style.shadows:
        for thing in house.things.values():
            if thing.room == room and thing.layer == "back" and thing.support == room:
                canvas.ellipse(thing.x_m, -0.03, thing.width_m / 2 + 0.1, 0.07, shade(floor, -0.16))
    door = DOOR_X_M[spec.door]
    canvas.rectangle(door - 0.44, 0, 0.88, 2.12, shade(wall, -0.28))
    wooden = draw.choice(((170, 124, 84), (150, 104, 70), (226, 222, 212), (132, 150, 150)))
    line = shade(wooden, -0.3)
    canvas.rectangle(door - 0.38, 0, 0.76, 2.06, wooden, outline=line)
    if canvas.manner.form == "round":
        canvas.rounded(door - 0.26, 1.05, 0.52, 0.85, 0.24, shade(wooden, -0.09), outline=line)
        canvas.rectangle(door - 0.26, 0.2, 0.52, 0.66, shade(wooden, -0.09), outline=line)
    elif canvas.manner.form == "slim":
        for y in (0.25, 0.7, 1.15, 1.6):
            canvas.rectangle(door - 0.26, y, 0.52, 0.3, shade(wooden, -0.09))
    else:
        for y in (0.2, 1.12):
            canvas.rectangle(door - 0.26, y, 0.52, 0.78, shade(wooden, -0.09), outline=line)
    canvas.disc(door + 0.28, 1.02, 0.04, (226, 196, 110), outline=(160, 130, 60))


def _mixed(colour: Colour, tint: Colour | None, share: float) -> Colour:
    if tint is None:
        return colour
    r, g, b = (round(a + (t - a) * share) for a, t in zip(colour, tint, strict=True))
    return r, g, b


def _draw_floor(canvas: Canvas, room_class: str, floor: Colour, boards: str) -> None:
    line = shade(floor, -0.13)
    if room_class in ("kitchen", "bathroom"):
        for n in range(-4, 30):
            canvas.line([(n * 0.4, 0), (n * 0.4 - 0.32, -0.7)], line, 0.012)
        for y in (-0.2, -0.46):
            canvas.line([(-1, y), (ROOM_WIDTH_M + 1, y)], line, 0.012)
    elif boards == "herringbone":
        for row in range(4):
            for n in range(-2, 26):
                x, y = n * 0.36 + 0.18 * (row % 2), -0.18 * row
                canvas.line([(x, y), (x + 0.18, y - 0.18), (x + 0.36, y)], line, 0.012)
    elif boards == "boards":
        for n in range(1, 6):
            canvas.line([(-1, -0.13 * n), (ROOM_WIDTH_M + 1, -0.13 * n)], line, 0.012)
            for k in range(-1, 8):
                x = k * 1.05 + (n * 0.41) % 1.05
                canvas.line([(x, -0.13 * n), (x, -0.13 * (n - 1))], line, 0.012)


def _plain_wall(canvas: Canvas, wall: Colour) -> None:
    """No pattern."""


def _striped_wall(canvas: Canvas, wall: Colour) -> None:
    for n in range(-2, 20):
        canvas.rectangle(n * 0.42, 0, 0.2, ROOM_HEIGHT_M + 1, shade(wall, -0.035))


def _dotted_wall(canvas: Canvas, wall: Colour) -> None:
    for row in range(11):
        for n in range(-2, 20):
            canvas.disc(n * 0.38 + 0.19 * (row % 2), 0.3 + row * 0.33, 0.035, shade(wall, -0.06))


def _panelled_wall(canvas: Canvas, wall: Colour) -> None:
    canvas.rectangle(-1, 0, ROOM_WIDTH_M + 2, 1.0, shade(wall, -0.08))
    for n in range(-1, 11):
        canvas.rectangle(n * 0.7 + 0.06, 0.18, 0.58, 0.68, shade(wall, -0.04), outline=shade(wall, -0.17))
    canvas.rectangle(-1, 0.98, ROOM_WIDTH_M + 2, 0.05, shade(wall, 0.35))


def _diamond_wall(canvas: Canvas, wall: Colour) -> None:
    for n in range(-10, 26):
        for way in (1, -1):
            x = n * 0.42
            canvas.line([(x, 0.0), (x + way * 4.0, 4.2)], shade(wall, -0.055), 0.014)


def _brick_wall(canvas: Canvas, wall: Colour) -> None:
    for row in range(1, 20):
        y = row * 0.22
        canvas.line([(-1, y), (ROOM_WIDTH_M + 1, y)], shade(wall, -0.06), 0.014)
        for n in range(-2, 16):
            x = n * 0.55 + 0.27 * (row % 2)
            canvas.line([(x, y), (x, y - 0.22)], shade(wall, -0.06), 0.014)


def _leafy_wall(canvas: Canvas, wall: Colour) -> None:
    leaf = shade(wall, -0.07)
    for row in range(8):
        for n in range(-2, 14):
            x, y = n * 0.56 + 0.28 * (row % 2), 0.35 + row * 0.46
            canvas.line([(x, y - 0.1), (x, y + 0.12)], leaf, 0.014)
            canvas.ellipse(x - 0.06, y + 0.06, 0.07, 0.032, leaf, turn_deg=140)
            canvas.ellipse(x + 0.06, y + 0.0, 0.07, 0.032, leaf, turn_deg=40)


_WALLS: Final = {
    "plain": _plain_wall,
    "stripes": _striped_wall,
    "dots": _dotted_wall,
    "panel": _panelled_wall,
    "diamonds": _diamond_wall,
    "bricks": _brick_wall,
    "leaves": _leafy_wall,
}


def _window(canvas: Canvas, x_m: float, *, narrow: bool, light: str, draw: random.Random) -> None:
    width, low, high = (0.8, 1.75, 2.6) if narrow else (1.1, 1.6, 2.75)
    canvas.rectangle(x_m - width / 2 - 0.07, low - 0.07, width + 0.14, high - low + 0.14, PORCELAIN, outline=INK)
    left = x_m - width / 2
    if light == "day":
        canvas.rectangle(left, low, width, high - low, SKY)
        canvas.ellipse(x_m - width * 0.2, low + 0.42, 0.2, 0.08, (240, 248, 252))
        canvas.ellipse(x_m - width * 0.05, low + 0.48, 0.16, 0.09, (240, 248, 252))
        canvas.rectangle(left, low, width, 0.2, (150, 190, 134))
    else:
        canvas.rectangle(left, low, width, high - low, (38, 52, 98))
        for n in range(7):
            canvas.disc(
                left + width * ((n * 0.37 + 0.12) % 0.94),
                low + 0.3 + (n * 0.29) % 0.7 * (high - low - 0.36),
                0.012,
                (236, 236, 210),
            )
        canvas.disc(x_m + width * 0.25, high - 0.26, 0.11, (246, 238, 196))
        canvas.disc(x_m + width * 0.25 + 0.05, high - 0.22, 0.1, (38, 52, 98))
        canvas.rectangle(left, low, width, 0.16, (26, 40, 62))
    canvas.rectangle(x_m - 0.025, low, 0.05, high - low, PORCELAIN)
    if canvas.manner.form != "slim":
        canvas.rectangle(left, (low + high) / 2 - 0.025, width, 0.05, PORCELAIN)
    if not narrow and draw.random() < 0.6:
        # Curtains.
        cloth = draw.choice(((214, 120, 110), (120, 150, 186), (150, 176, 130), (226, 204, 150), (170, 140, 180)))
        for side in (-1, 1):
            edge, inner = x_m + side * (width / 2 + 0.16), x_m + side * (width / 2 - 0.12)
            canvas.polygon(
                [
                    (edge, high + 0.12),
                    (inner, high + 0.12),
                    (x_m + side * (width / 2 - 0.02), low - 0.2),
                    (edge, low - 0.2),
                ],
                cloth,
                outline=shade(cloth, -0.3),
            )
        canvas.line([(x_m - width / 2 - 0.24, high + 0.13), (x_m + width / 2 + 0.24, high + 0.13)], wood("brown"), 0.04)
