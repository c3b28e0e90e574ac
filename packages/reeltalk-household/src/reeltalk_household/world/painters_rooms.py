"""Draws empty rooms, and their furniture and appliances, one function for each class."""

import random
from typing import Final

from reeltalk_household.world.canvas import Canvas, Colour
from reeltalk_household.world.house import DOOR_X_M, ROOM_HEIGHT_M, ROOM_WIDTH_M, House
from reeltalk_household.world.kinds import (
    DARK,
    GLASS,
    GLOW,
    INK,
    LEAF,
    METAL,
    PORCELAIN,
    SCREEN_OFF,
    SKY,
    STEEL,
    WATER,
    named,
    shade,
    wood,
)
from reeltalk_household.world.painters_things import Painter
from reeltalk_household.world.styles import STYLES


def _leg(c: Canvas, x: float, y: float, w: float, h: float, body: Colour) -> None:
    """A leg of a table or a chair, from its lower left corner."""
    if c.manner.form == "round":
        c.limb([(x + w / 2, y + 0.03), (x + w / 2, y + h)], body, w * 0.7)
        c.disc(x + w / 2, y + h * 0.55, w * 0.62, body)
        c.disc(x + w / 2, y + 0.035, w * 0.5, body)
    elif c.manner.form == "slim":
        c.polygon([(x + w * 0.3, y), (x + w * 0.6, y), (x + w, y + h), (x, y + h)], body)
    else:
        c.rectangle(x, y, w, h, body)


def _handle(c: Canvas, x: float, y: float, *, size: float = 0.03) -> None:
    """A handle of a door or a drawer."""
    if c.manner.form == "round":
        c.disc(x, y, size, STEEL, outline=shade(STEEL, -0.35))
    elif c.manner.form == "slim":
        c.line([(x, y - size * 2), (x, y + size * 2)], DARK, 0.022)
    else:
        c.rectangle(x - size, y - size * 0.45, size * 2, size * 0.9, STEEL, outline=shade(STEEL, -0.3))


def _fridge(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rounded(x, y, w, h, 0.16 if c.manner.form == "round" else 0.05, body, outline=shade(body, -0.25))
    if "OPEN" in values:
        c.rectangle(x + 0.06, y + 0.08, w - 0.12, h - 0.16, (250, 250, 244))
        for level in (0.55, 1.0, 1.45):
            c.rectangle(x + 0.06, y + level - 0.03, w - 0.12, 0.03, (190, 206, 214))
        # The door, swung to the left.
        c.polygon([(x, y), (x - 0.42, y - 0.06), (x - 0.42, y + h - 0.06), (x, y + h)], shade(body, -0.12))
        c.line([(x - 0.34, y + 0.8), (x - 0.34, y + 1.15)], DARK, 0.03)
    else:
        c.line([(x + 0.02, y + 1.25), (x + w - 0.02, y + 1.25)], shade(body, -0.25), 0.02)
        c.line([(x + 0.1, y + 0.75), (x + 0.1, y + 1.12)], DARK, 0.035)
        c.line([(x + 0.1, y + 1.36), (x + 0.1, y + 1.6)], DARK, 0.035)


def _counter(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = wood("white") if colour is None else named(colour)
    c.rectangle(x, y + 0.08, w, h - 0.14, body, outline=shade(body, -0.2))
    c.rectangle(x + 0.03, y, w - 0.06, 0.09, shade(body, -0.45))
    c.rounded(x - 0.04, y + h - 0.07, w + 0.08, 0.07, 0.02, (120, 108, 104))
    doors = max(2, round(w / 0.65))
    for n in range(doors):
        left = x + 0.05 + n * (w - 0.05) / doors
        c.rectangle(left, y + 0.13, (w - 0.05) / doors - 0.05, h - 0.26, shade(body, -0.05), outline=shade(body, -0.2))
        _handle(c, left + (w - 0.05) / doors - 0.11, y + h - 0.26)


def _sink(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.rounded(x, y - 0.16, w, 0.2, 0.05, shade(STEEL, 0.25), outline=STEEL)
    c.rectangle(x + 0.06, y - 0.1, w - 0.12, 0.1, shade(STEEL, -0.15))


def _faucet(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    mid = x + w * 0.7
    c.limb(
        [(mid, y - 0.1), (mid, y + h - 0.1), (mid - 0.06, y + h), (x + 0.02, y + h), (x, y + h - 0.08)], STEEL, 0.045
    )
    if "ON" in values:
        c.polygon(
            [(x - 0.025, y + h - 0.09), (x + 0.025, y + h - 0.09), (x + 0.035, y - 0.08), (x - 0.035, y - 0.08)], WATER
        )


def _stove(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.rounded(x, y, w, h, 0.03, (226, 226, 224), outline=STEEL)
    on = "ON" in values
    c.rounded(x + 0.1, y + 0.12, w - 0.2, 0.42, 0.04, (236, 150, 60) if on else DARK, outline=STEEL)
    c.line([(x + 0.14, y + 0.6), (x + w - 0.14, y + 0.6)], STEEL, 0.03)
    for n in range(4):
        c.disc(x + 0.14 + n * (w - 0.28) / 3, y + 0.74, 0.04, (200, 60, 50) if on else DARK)
    c.rectangle(x, y + h - 0.05, w, 0.05, DARK)
    if on:
        for place in (0.25, 0.75):
            c.ellipse(x + w * place, y + h, 0.13, 0.025, (250, 110, 50))


def _cabinet(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = wood(colour)
    c.rectangle(x, y, w, h, body, outline=shade(body, -0.25))
    if "OPEN" in values:
        c.rectangle(x + 0.05, y + 0.05, w - 0.1, h - 0.1, shade(body, -0.5))
        c.rectangle(x + 0.05, y + h / 2 - 0.02, w - 0.1, 0.03, shade(body, -0.2))
        c.polygon([(x, y), (x - 0.22, y - 0.05), (x - 0.22, y + h - 0.05), (x, y + h)], shade(body, -0.1))
        c.polygon(
            [(x + w, y), (x + w + 0.22, y - 0.05), (x + w + 0.22, y + h - 0.05), (x + w, y + h)], shade(body, -0.1)
        )
    else:
        c.line([(x + w / 2, y + 0.03), (x + w / 2, y + h - 0.03)], shade(body, -0.3), 0.02)
        for side in (-0.08, 0.08):
            _handle(c, x + w / 2 + side, y + h * 0.4)


def _table(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = wood(colour)
    for leg in (x + 0.07, x + w - 0.15):
        _leg(c, leg, y, 0.08, h - 0.05, shade(body, -0.1))
    if c.manner.form == "round":
        c.rounded(x + 0.06, y + h - 0.17, w - 0.12, 0.1, 0.03, shade(body, -0.14))
        c.rounded(x - 0.02, y + h - 0.09, w + 0.04, 0.09, 0.045, body, outline=shade(body, -0.28))
    else:
        c.rounded(x, y + h - 0.09, w, 0.09, 0.01, body, outline=shade(body, -0.28))
    if "DIRTY" in values:
        for place, wide in ((0.22, 0.1), (0.52, 0.14), (0.74, 0.08)):
            c.ellipse(x + w * place, y + h - 0.03, wide, 0.032, (92, 66, 40))
            c.ellipse(x + w * place + wide * 0.5, y + h - 0.075, 0.022, 0.045, (92, 66, 40))


def _garbage(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.polygon(
        [(x + 0.04, y), (x + w - 0.04, y), (x + w, y + h - 0.06), (x, y + h - 0.06)], body, outline=shade(body, -0.3)
    )
    for n in (0.3, 0.5, 0.7):
        c.line([(x + w * n, y + 0.06), (x + w * n, y + h - 0.12)], shade(body, -0.2), 0.02)
    c.rounded(x - 0.02, y + h - 0.09, w + 0.04, 0.09, 0.04, shade(body, -0.25))


def _microwave(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rounded(x, y, w, h, 0.03, body, outline=shade(body, -0.35))
    inside = (255, 214, 120) if "ON" in values else (44, 46, 52)
    if "OPEN" in values:
        inside = (214, 214, 208)
    c.rounded(x + 0.05, y + 0.07, w - 0.23, h - 0.14, 0.02, inside)
    if "OPEN" in values:
        c.polygon([(x, y), (x - 0.2, y - 0.05), (x - 0.2, y + h - 0.05), (x, y + h)], shade(body, -0.2))
    for n in (0.08, 0.16, 0.24):
        c.disc(x + w - 0.08, y + n, 0.022, (110, 230, 140) if "ON" in values else METAL)


def _toaster(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rounded(x, y + 0.02, w, h - 0.04, 0.07, body, outline=shade(body, -0.3))
    c.rectangle(x + 0.07, y + h - 0.05, w - 0.14, 0.03, GLOW if "ON" in values else DARK)
    c.disc(x + w - 0.07, y + 0.1, 0.03, (250, 110, 50) if "ON" in values else DARK)


def _coffee(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    line = shade(body, -0.35)
    c.rectangle(x + w * 0.55, y, w * 0.45, h, shade(body, -0.06), outline=line)
    c.rounded(x, y, w, 0.07, 0.02, body, outline=line)
    c.rounded(x, y + h - 0.16, w, 0.16, 0.03, body, outline=line)
    c.polygon(
        [(x + 0.02, y + 0.08), (x + 0.16, y + 0.08), (x + 0.14, y + 0.21), (x + 0.04, y + 0.21)], GLASS, outline=STEEL
    )
    if "ON" in values:
        c.rectangle(x + 0.035, y + 0.09, 0.11, 0.07, (96, 60, 36))
        c.disc(x + w - 0.06, y + h - 0.08, 0.028, (255, 220, 90))


KITCHEN: Final[dict[str, Painter]] = {
    "fridge": _fridge,
    "kitchencounter": _counter,
    "bathroomcounter": _counter,
    "sink": _sink,
    "faucet": _faucet,
    "stove": _stove,
    "kitchencabinet": _cabinet,
    "bathroomcabinet": _cabinet,
    "kitchentable": _table,
    "coffeetable": _table,
    "desk": _table,
    "garbagecan": _garbage,
    "microwave": _microwave,
    "toaster": _toaster,
    "coffeemaker": _coffee,
}
"""Painters of furniture and appliances of kitchens, by class."""


def _chair(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = wood(colour)
    for leg in (x + 0.04, x + w - 0.1):
        _leg(c, leg, y, 0.06, 0.44, shade(body, -0.25))
    if c.manner.form == "slim":
        c.polygon(
            [(x + 0.02, y + 0.46), (x + 0.09, y + 0.46), (x + 0.04, y + h), (x - 0.04, y + h)],
            body,
            outline=shade(body, -0.3),
        )
    else:
        c.rectangle(x + 0.02, y + 0.46, 0.06, h - 0.5, shade(body, -0.15))
        radius = 0.06 if c.manner.form == "round" else 0.02
        c.rounded(x - 0.01, y + 0.6, 0.12, h - 0.6, radius, body, outline=shade(body, -0.3))
    c.rounded(x, y + 0.42, w, 0.09, 0.03, body, outline=shade(body, -0.3))


def _sofa(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    round_ = c.manner.form == "round"
    if c.manner.form == "slim":
        for left in (x + 0.2, x + w - 0.26):
            _leg(c, left, y, 0.06, 0.2, wood("brown"))
    c.rounded(
        x + 0.08, y + 0.3, w - 0.16, h - 0.3, 0.26 if round_ else 0.08, shade(body, -0.12), outline=shade(body, -0.3)
    )
    for n in range(2):
        left = x + 0.22 + n * (w - 0.44) / 2
        c.rounded(left, y + 0.24, (w - 0.44) / 2 - 0.02, 0.24, 0.07, shade(body, 0.1), outline=shade(body, -0.2))
    c.rectangle(x + 0.14, y + 0.08, w - 0.28, 0.18, shade(body, -0.2))
    for left in (x, x + w - 0.26):
        c.rounded(left, y + 0.08, 0.26, 0.56, 0.13 if round_ else 0.05, body, outline=shade(body, -0.3))
    for left in (x + 0.16, x + w - 0.24):
        c.rectangle(left, y, 0.08, 0.09, wood("brown"))


def _tv_stand(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = wood(colour)
    c.rounded(x, y + 0.06, w, h - 0.06, 0.03, body, outline=shade(body, -0.3))
    for n in range(2):
        c.rectangle(
            x + 0.06 + n * w / 2, y + 0.14, w / 2 - 0.12, h - 0.26, shade(body, -0.08), outline=shade(body, -0.3)
        )
        _handle(c, x + w * (0.42 if n == 0 else 0.58), y + h * 0.55, size=0.024)
    for leg in (x + 0.1, x + w - 0.16):
        c.rectangle(leg, y, 0.06, 0.07, shade(body, -0.4))


def _tv(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.rectangle(x + w / 2 - 0.16, y, 0.32, 0.05, DARK)
    c.rounded(x, y + 0.05, w, h - 0.05, 0.03, (34, 34, 38))
    inner = (x + 0.05, y + 0.1, w - 0.1, h - 0.15)
    if "ON" in values:
        c.rectangle(*inner, (120, 190, 236))
        c.rectangle(inner[0], inner[1], inner[2], inner[3] * 0.36, (104, 176, 96))
        c.disc(inner[0] + inner[2] * 0.78, inner[1] + inner[3] * 0.74, 0.08, (252, 220, 96))
        c.disc(inner[0] + inner[2] * 0.36, inner[1] + inner[3] * 0.3, 0.06, PORCELAIN)
    else:
        c.rectangle(*inner, SCREEN_OFF)
        c.polygon(
            [(x + 0.2, y + h - 0.06), (x + 0.42, y + h - 0.06), (x + 0.2, y + 0.3), (x + 0.05, y + 0.3)], (54, 58, 66)
        )


def _bookshelf(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = wood(colour)
    c.rectangle(x, y, w, h, body, outline=shade(body, -0.3))
    spines = ((178, 76, 66), (84, 122, 164), (108, 148, 96), (214, 178, 92), (136, 104, 150), (214, 208, 196))
    for shelf, base in enumerate((0.08, 0.62, 1.18, 1.62)):
        top = (0.62, 1.14, 1.58, h - 0.06)[shelf]
        c.rectangle(x + 0.08, y + base, w - 0.16, top - base - 0.05, shade(body, -0.08))
        if shelf == 2:
            # The board on which objects are put.
            continue
        place, n = x + 0.1, shelf * 5
        while place < x + w - (0.42 if shelf % 2 else 0.3):
            thick = 0.05 + 0.018 * ((n * 7) % 4)
            c.rectangle(place, y + base, thick - 0.008, (0.32, 0.36, 0.0, 0.26)[shelf] + 0.02 * (n % 3), spines[n % 6])
            place, n = place + thick, n + 1


def _shade(c: Canvas, x: float, y: float, w: float, h: float, body: Colour) -> None:
    """The shade of a lamp."""
    line = shade(body, -0.25)
    if c.manner.form == "round":
        c.ellipse(x + w / 2, y, w / 2, h, body, arc_deg=(0, 180), outline=line)
    elif c.manner.form == "slim":
        c.rounded(x + w * 0.1, y, w * 0.8, h, 0.02, body, outline=line)
    else:
        c.polygon([(x, y), (x + w, y), (x + w * 0.78, y + h), (x + w * 0.22, y + h)], body, outline=line)


def _floor_lamp(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    mid, on = x + w / 2, "ON" in values
    c.ellipse(mid, y + 0.03, 0.17, 0.03, DARK)
    c.limb([(mid, y + 0.03), (mid, y + h - 0.3)], DARK, 0.035)
    body = GLOW if on else named(colour)
    _shade(c, x, y + h - 0.36, w, 0.36, body)


def _radio(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.line([(x + w - 0.06, y + h), (x + w + 0.02, y + h + 0.16)], STEEL, 0.015)
    c.rounded(x, y, w, h, 0.05, body, outline=shade(body, -0.3))
    c.disc(x + 0.12, y + h / 2, 0.085, shade(body, -0.4))
    c.rectangle(x + 0.24, y + h - 0.12, w - 0.3, 0.06, GLOW if "ON" in values else DARK)
    c.disc(x + 0.29, y + 0.07, 0.026, PORCELAIN)
    if "ON" in values:
        for n in (1, 2):
            c.line([(x - 0.06 * n, y + h + 0.04 * n), (x - 0.06 * n, y + h + 0.1 + 0.04 * n)], INK, 0.016)


def _picture(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.rectangle(x, y, w, h, wood("brown"), outline=INK)
    c.rectangle(x + 0.06, y + 0.06, w - 0.12, h - 0.12, (176, 212, 232))
    c.polygon([(x + 0.06, y + 0.06), (x + w * 0.38, y + h * 0.66), (x + w * 0.66, y + 0.06)], (120, 146, 128))
    c.polygon([(x + w * 0.4, y + 0.06), (x + w * 0.68, y + h * 0.52), (x + w - 0.06, y + 0.06)], (92, 122, 104))
    c.disc(x + w * 0.78, y + h * 0.74, 0.06, (250, 216, 110))


def _clock(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    mx, my, r = x + w / 2, y + h / 2, w / 2
    c.disc(mx, my, r, INK)
    c.disc(mx, my, r - 0.03, PORCELAIN)
    c.line([(mx, my), (mx, my + r * 0.62)], INK, 0.02)
    c.line([(mx, my), (mx + r * 0.42, my - r * 0.2)], INK, 0.026)


def _bed(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body, frame = named(colour), wood("brown")
    c.rounded(x - 0.04, y, 0.14, 1.05, 0.05, frame, outline=shade(frame, -0.3))
    c.rounded(x + w - 0.08, y, 0.12, 0.66, 0.05, frame, outline=shade(frame, -0.3))
    c.rectangle(x + 0.06, y + 0.14, w - 0.12, 0.18, shade(frame, -0.1))
    c.rounded(x + 0.08, y + 0.3, w - 0.16, 0.2, 0.06, PORCELAIN)
    c.rounded(x + 0.56, y + 0.16, w - 0.64, 0.4, 0.08, body, outline=shade(body, -0.25))
    c.line([(x + 0.6, y + 0.44), (x + w - 0.14, y + 0.44)], shade(body, -0.14), 0.014)


def _nightstand(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = wood(colour)
    c.rounded(x, y + 0.06, w, h - 0.06, 0.06 if c.manner.form == "round" else 0.02, body, outline=shade(body, -0.3))
    for level in (0.14, 0.34):
        c.rectangle(x + 0.05, y + level, w - 0.1, 0.16, shade(body, -0.05), outline=shade(body, -0.25))
        _handle(c, x + w / 2, y + level + 0.08, size=0.024)
    for leg in (x + 0.05, x + w - 0.1):
        c.rectangle(leg, y, 0.05, 0.07, shade(body, -0.4))


def _table_lamp(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    mid = x + w / 2
    c.ellipse(mid, y + 0.03, 0.09, 0.03, DARK)
    c.limb([(mid, y + 0.03), (mid, y + 0.22)], DARK, 0.04)
    body = GLOW if "ON" in values else named(colour)
    _shade(c, x, y + 0.2, w, h - 0.2, body)


def _closet(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = wood(colour)
    c.rectangle(x, y, w, h, body, outline=shade(body, -0.3))
    if "OPEN" in values:
        c.rectangle(x + 0.06, y + 0.06, w - 0.12, h - 0.12, shade(body, -0.55))
        c.line([(x + 0.06, y + h - 0.25), (x + w - 0.06, y + h - 0.25)], STEEL, 0.025)
        for n, hung in enumerate(("blue", "red", "grey", "green")):
            left = x + 0.14 + n * 0.28
            c.polygon(
                [(left, y + 0.9), (left + 0.2, y + 0.9), (left + 0.16, y + h - 0.28), (left + 0.04, y + h - 0.28)],
                named(hung),
            )
        for side, edge in ((-0.36, x), (0.36, x + w)):
            c.polygon(
                [(edge, y), (edge + side, y - 0.06), (edge + side, y + h - 0.06), (edge, y + h)], shade(body, -0.12)
            )
    else:
        for n in range(2):
            c.rectangle(
                x + 0.06 + n * (w - 0.06) / 2,
                y + 0.1,
                w / 2 - 0.1,
                h - 0.2,
                shade(body, -0.08),
                outline=shade(body, -0.25),
            )
        for side in (-0.07, 0.07):
            c.line([(x + w / 2 + side, y + 0.95), (x + w / 2 + side, y + 1.15)], STEEL, 0.03)


def _computer(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.rectangle(x + w / 2 - 0.03, y, 0.06, 0.12, DARK)
    c.rectangle(x + w / 2 - 0.14, y, 0.28, 0.03, DARK)
    c.rounded(x, y + 0.1, w, h - 0.1, 0.03, (40, 42, 46))
    on = "ON" in values
    c.rectangle(x + 0.04, y + 0.15, w - 0.08, h - 0.2, (206, 226, 246) if on else SCREEN_OFF)
    if on:
        for n in range(4):
            c.line(
                [(x + 0.09, y + h - 0.12 - n * 0.06), (x + 0.3 + 0.06 * (n % 3), y + h - 0.12 - n * 0.06)],
                (84, 122, 176),
                0.022,
            )
    c.rounded(x - 0.1, y, 0.3, 0.035, 0.01, (96, 98, 104))


def _bathtub(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    for foot in (x + 0.2, x + w - 0.3):
        c.disc(foot + 0.05, y + 0.05, 0.06, STEEL)
    c.polygon(
        [(x + 0.03, y + h - 0.05), (x + w - 0.03, y + h - 0.05), (x + w - 0.2, y + 0.07), (x + 0.2, y + 0.07)],
        PORCELAIN,
        outline=(186, 194, 198),
    )
    c.rounded(x, y + h - 0.1, w, 0.1, 0.05, PORCELAIN, outline=(186, 194, 198))
    c.limb([(x + 0.14, y + h), (x + 0.14, y + h + 0.26), (x + 0.3, y + h + 0.26), (x + 0.3, y + h + 0.18)], STEEL, 0.04)


def _toilet(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    line = (186, 194, 198)
    c.rounded(x, y + 0.4, 0.24, h - 0.4, 0.04, PORCELAIN, outline=line)
    c.polygon([(x + 0.16, y), (x + 0.42, y), (x + 0.5, y + 0.36), (x + 0.1, y + 0.36)], PORCELAIN, outline=line)
    c.rounded(x + 0.12, y + 0.36, w - 0.14, 0.09, 0.04, PORCELAIN, outline=line)
    c.disc(x + 0.12, y + h - 0.08, 0.025, STEEL)


def _washer(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.rounded(x, y, w, h, 0.03, (236, 238, 240), outline=STEEL)
    mx, my = x + w / 2, y + 0.38
    c.disc(mx, my, 0.25, STEEL)
    c.disc(mx, my, 0.2, WATER if "ON" in values else (70, 76, 84))
    if "ON" in values:
        c.ellipse(mx - 0.04, my - 0.05, 0.11, 0.06, (196, 90, 84), turn_deg=30)
    if "OPEN" in values:
        c.ellipse(mx - 0.36, my, 0.07, 0.25, shade(STEEL, 0.2), outline=STEEL)
    c.rectangle(x + 0.05, y + h - 0.16, w - 0.1, 0.11, (206, 212, 218))
    c.disc(x + w - 0.14, y + h - 0.1, 0.035, (90, 210, 120) if "ON" in values else DARK)


def _towel_rack(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.line([(x, y + h / 2), (x + w, y + h / 2)], STEEL, 0.035)
    for end in (x, x + w):
        c.disc(end, y + h / 2, 0.035, STEEL)


def _light_switch(
    c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]
) -> None:
    c.rounded(x, y, w, h, 0.02, PORCELAIN, outline=INK)
    c.rectangle(
        x + 0.045,
        y + (h / 2 if "ON" in values else 0.04),
        w - 0.09,
        h / 2 - 0.04,
        (120, 200, 130) if "ON" in values else METAL,
    )


def _rug(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.ellipse(x + w / 2, y + 0.06, w / 2, 0.14, shade(body, -0.1))
    c.ellipse(x + w / 2, y + 0.06, w / 2 - 0.18, 0.09, shade(body, 0.25))
    c.ellipse(x + w / 2, y + 0.06, w / 2 - 0.4, 0.05, body)


def _plant(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    mid = x + w / 2
    for turn, reach in ((50, 0.24), (130, 0.24), (75, 0.32), (105, 0.32), (90, 0.36)):
        c.ellipse(
            mid + (90 - turn) * 0.003,
            y + 0.26 + reach * 0.6,
            reach,
            0.07,
            shade(LEAF, (turn - 90) * 0.004),
            turn_deg=turn,
        )
    c.polygon(
        [(x + 0.1, y), (x + w - 0.1, y), (x + w - 0.04, y + 0.26), (x + 0.04, y + 0.26)],
        (190, 108, 74),
        outline=(140, 78, 52),
    )


def _basket(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = wood(colour) if colour in ("brown", "white") else named(colour)
    c.polygon([(x + 0.06, y), (x + w - 0.06, y), (x + w, y + h), (x, y + h)], body, outline=shade(body, -0.3))
    for n in (0.14, 0.26, 0.38):
        c.line([(x + 0.05, y + n), (x + w - 0.05, y + n)], shade(body, -0.18), 0.018)


ROOMS: Final[dict[str, Painter]] = {
    "chair": _chair,
    "sofa": _sofa,
    "tvstand": _tv_stand,
    "tv": _tv,
    "bookshelf": _bookshelf,
    "floorlamp": _floor_lamp,
    "radio": _radio,
    "wallpictureframe": _picture,
    "clock": _clock,
    "bed": _bed,
    "nightstand": _nightstand,
    "tablelamp": _table_lamp,
    "closet": _closet,
    "computer": _computer,
    "bathtub": _bathtub,
    "toilet": _toilet,
    "washingmachine": _washer,
    "towelrack": _towel_rack,
    "lightswitch": _light_switch,
    "rug": _rug,
    "orchid": _plant,
    "laundrybasket": _basket,
}
"""Painters of furniture of the other rooms, by class."""


def draw_room(canvas: Canvas, house: House, room: str, light: str = "day") -> None:
    """Draws the wall, floor, window and door of an empty room.

    Args:
        canvas: The canvas, in metres.
        house: The house.
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
