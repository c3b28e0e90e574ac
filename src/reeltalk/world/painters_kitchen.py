"""Painters of kitchen furniture and appliances; see `drawing.py`."""

from typing import Final

from reeltalk.video.canvas import Canvas
from reeltalk.world.palette import DARK, GLASS, GLOW, METAL, STEEL, WATER, named, shade, wood


def _fridge(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rounded(x, y, w, h, 0.06, body, outline=shade(body, -0.25))
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
        c.disc(left + (w - 0.05) / doors - 0.11, y + h - 0.28, 0.022, STEEL)


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
            c.disc(x + w / 2 + side, y + h * 0.4, 0.025, STEEL)


def _table(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = wood(colour)
    for leg in (x + 0.07, x + w - 0.15):
        c.polygon([(leg, y), (leg + 0.08, y), (leg + 0.08, y + h), (leg, y + h)], shade(body, -0.22))
    c.rounded(x, y + h - 0.09, w, 0.09, 0.03, body, outline=shade(body, -0.28))
    if "DIRTY" in values:
        for place in (0.3, 0.55, 0.7):
            c.ellipse(x + w * place, y + h, 0.05, 0.015, (120, 92, 60))


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
    c.rounded(x + 0.04, y + 0.05, w - 0.2, h - 0.1, 0.02, inside)
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
    c.rounded(x, y, w, 0.08, 0.02, body)
    c.rectangle(x + w - 0.12, y, 0.12, h, shade(body, -0.1))
    c.rounded(x, y + h - 0.13, w, 0.13, 0.03, body, outline=shade(body, -0.3))
    c.polygon(
        [(x + 0.03, y + 0.09), (x + 0.19, y + 0.09), (x + 0.17, y + 0.24), (x + 0.05, y + 0.24)], GLASS, outline=STEEL
    )
    if "ON" in values:
        c.rectangle(x + 0.05, y + 0.1, 0.12, 0.08, (96, 60, 36))
        c.disc(x + w - 0.06, y + h - 0.07, 0.025, (250, 90, 60))


KITCHEN: Final = {
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
