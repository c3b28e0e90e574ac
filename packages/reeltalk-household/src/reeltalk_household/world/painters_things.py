"""Draws the things that a person carries, one function for each class."""

import math
from collections.abc import Callable
from typing import Final

from reeltalk_household.world.canvas import Canvas, Colour
from reeltalk_household.world.kinds import DARK, GLASS, INK, LEAF, METAL, PORCELAIN, STEEL, named, shade

Painter = Callable[[Canvas, float, float, float, float, str | None, frozenset[str]], None]
"""Draws an object: canvas, lower left corner, width, height, name of its colour, and its states."""


def _carton(c: Canvas, x: float, y: float, w: float, h: float, body: Colour, label: Colour) -> None:
    c.rectangle(x, y, w, h - 0.08, body, outline=shade(body, -0.3))
    c.polygon([(x, y + h - 0.08), (x + w, y + h - 0.08), (x + w * 0.7, y + h), (x + w * 0.3, y + h)], shade(body, -0.1))
    c.rectangle(x, y + 0.06, w, h * 0.26, label)


def _milk(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    _carton(c, x, y, w, h, (248, 248, 246), (92, 140, 206))


def _juice(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    _carton(c, x, y, w, h, named(colour), (250, 236, 190))


def _wine(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.rounded(x, y, w, h * 0.62, 0.03, (58, 84, 58))
    c.rectangle(x + w * 0.34, y + h * 0.55, w * 0.32, h * 0.45, (58, 84, 58))
    c.rectangle(x, y + 0.06, w, 0.12, (238, 228, 200))
    c.rectangle(x + w * 0.32, y + h - 0.06, w * 0.36, 0.06, (150, 40, 50))


def _glass(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.polygon([(x + 0.025, y), (x + w - 0.025, y), (x + w, y + h), (x, y + h)], GLASS, outline=(140, 176, 196))
    if "FULL" in values:
        c.polygon(
            [(x + 0.03, y + 0.02), (x + w - 0.03, y + 0.02), (x + w - 0.02, y + h * 0.7), (x + 0.02, y + h * 0.7)],
            (110, 176, 220),
        )


def _wine_glass(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    mid = x + w / 2
    c.ellipse(mid, y + 0.015, w * 0.4, 0.015, (140, 176, 196))
    c.line([(mid, y), (mid, y + h * 0.5)], (140, 176, 196), 0.02)
    c.ellipse(mid, y + h * 0.72, w / 2, h * 0.28, GLASS, outline=(140, 176, 196))
    if "FULL" in values:
        c.ellipse(mid, y + h * 0.7, w * 0.42, h * 0.2, (160, 46, 66), arc_deg=(180, 360))
    elif "DIRTY" in values:
        c.ellipse(mid, y + h * 0.6, w * 0.3, h * 0.1, (160, 46, 66), arc_deg=(180, 360))


def _mug(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.ellipse(x + w - 0.03, y + h / 2, 0.07, 0.07, shade(body, -0.2))
    c.ellipse(x + w - 0.03, y + h / 2, 0.035, 0.035, (236, 232, 224))
    c.rounded(x, y, w - 0.04, h, 0.03, body, outline=shade(body, -0.3))
    if "FULL" in values:
        c.ellipse(x + (w - 0.04) / 2, y + h - 0.01, (w - 0.08) / 2, 0.026, (110, 70, 42))
        c.disc(x + (w - 0.04) * 0.4, y + h, 0.012, (206, 178, 150))
    if "HOT" in values:
        _steam(c, x + (w - 0.04) / 2, y + h * 0.85)
    if "DIRTY" in values:
        c.line([(x + 0.05, y + h - 0.03), (x + 0.06, y + h * 0.4)], (96, 60, 36), 0.026)


def _plate(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.polygon(
        [(x, y + 0.07), (x + w, y + 0.07), (x + w * 0.72, y), (x + w * 0.28, y)],
        shade(body, -0.12),
        outline=shade(body, -0.35),
    )
    c.ellipse(x + w / 2, y + 0.07, w / 2, 0.03, body, outline=shade(body, -0.3))
    if "DIRTY" in values:
        _stained(c, x, y + 0.07, w)


def _bowl(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.ellipse(x + w / 2, y + h, w / 2, h, body, arc_deg=(180, 360), outline=shade(body, -0.3))
    c.ellipse(x + w / 2, y + h, w / 2, 0.03, shade(body, -0.2))


def _pan(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.polygon(
        [(x, y + 0.1), (x + w * 0.62, y + 0.1), (x + w * 0.56, y), (x + 0.04, y)], (56, 58, 64), outline=(34, 34, 38)
    )
    c.limb([(x + w * 0.6, y + 0.08), (x + w, y + 0.13)], (96, 70, 52), 0.045)


def _apple(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.disc(x + w * 0.36, y + h * 0.46, w * 0.34, body)
    c.disc(x + w * 0.64, y + h * 0.46, w * 0.34, shade(body, -0.08))
    c.line([(x + w / 2, y + h * 0.75), (x + w * 0.56, y + h)], (96, 66, 44), 0.018)


def _cupcake(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.polygon(
        [(x + 0.04, y), (x + w - 0.04, y), (x + w, y + h * 0.45), (x, y + h * 0.45)],
        (206, 156, 96),
        outline=(150, 104, 58),
    )
    body = named(colour)
    c.disc(x + w * 0.5, y + h * 0.6, w * 0.42, body)
    c.disc(x + w * 0.5, y + h * 0.82, w * 0.26, shade(body, 0.2))
    c.disc(x + w * 0.5, y + h * 1.02, 0.03, (206, 44, 52))


def _bread(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.rounded(x, y, w, h * 0.75, 0.04, (176, 118, 66))
    c.disc(x + w * 0.28, y + h * 0.7, w * 0.26, (176, 118, 66))
    c.disc(x + w * 0.72, y + h * 0.7, w * 0.26, (176, 118, 66))
    c.rounded(x + 0.03, y + 0.03, w - 0.06, h * 0.72, 0.05, (240, 212, 160))


def _salmon(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.ellipse(x + w * 0.44, y + h / 2, w * 0.42, h / 2, (240, 138, 104), outline=(196, 96, 70))
    c.polygon([(x + w * 0.8, y + h / 2), (x + w, y + h), (x + w, y)], (226, 120, 90))
    for n in (0.3, 0.45, 0.6):
        c.line([(x + w * n, y + 0.03), (x + w * (n + 0.06), y + h - 0.03)], (252, 186, 156), 0.014)


def _carrot(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    for dy in (0.02, 0.07, 0.12):
        c.line([(x + w * 0.76, y + h / 2), (x + w, y + dy)], LEAF, 0.03)
    c.polygon(
        [(x, y + h * 0.5), (x + w * 0.76, y + h * 0.95), (x + w * 0.8, y + h * 0.5), (x + w * 0.76, y + h * 0.05)],
        (236, 134, 50),
        outline=(190, 98, 30),
    )


def _cereal(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rectangle(x, y, w, h, body, outline=shade(body, -0.3))
    c.ellipse(x + w / 2, y + h * 0.32, w * 0.36, 0.06, PORCELAIN)
    for n in (0.34, 0.5, 0.66):
        c.disc(x + w * n, y + h * 0.36, 0.026, (196, 132, 60))
    c.rectangle(x + 0.04, y + h * 0.66, w - 0.08, 0.06, PORCELAIN)


def _board(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.rounded(x, y, w, 0.06, 0.02, (206, 164, 112), outline=(150, 112, 70))


def _knife(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.polygon([(x + 0.1, y + 0.02), (x + w, y + 0.03), (x + 0.1, y + 0.08)], (214, 220, 226), outline=STEEL)
    c.rectangle(x, y + 0.02, 0.11, 0.05, DARK)


def _sponge(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rounded(x, y, w, h, 0.03, body, outline=shade(body, -0.3))
    c.rectangle(x + 0.01, y + h * 0.76, w - 0.02, h * 0.18, shade(body, -0.1))
    for px, py in ((0.25, 0.3), (0.55, 0.2), (0.75, 0.42)):
        c.disc(x + w * px, y + h * py, 0.018, shade(body, -0.3))


def _book(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rounded(x, y, w, h, 0.015, body, outline=shade(body, -0.4))
    c.rectangle(x + w - 0.03, y + 0.02, 0.03, h - 0.04, PORCELAIN)
    c.rectangle(x + 0.06, y + h * 0.62, w - 0.14, 0.05, shade(body, 0.6))


def _magazine(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.polygon([(x, y), (x + w, y), (x + w - 0.03, y + h), (x + 0.03, y + h)], body, outline=shade(body, -0.4))
    c.rectangle(x + 0.06, y + h * 0.72, w - 0.12, 0.04, (70, 70, 76))
    c.rectangle(x + w * 0.5, y + 0.04, w * 0.36, h * 0.38, (150, 190, 214))
    c.line([(x + 0.05, y + h * 0.4), (x + w * 0.42, y + h * 0.4)], shade(body, -0.3), 0.014)


def _remote(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.rounded(x, y, w, h * 0.7, 0.03, (52, 54, 60))
    c.disc(x + 0.04, y + h * 0.35, 0.02, (216, 66, 60))
    for n in (0.4, 0.55, 0.7, 0.85):
        c.disc(x + w * n, y + h * 0.35, 0.014, METAL)


def _phone(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour, (58, 58, 62))
    c.rounded(x, y, w, h, 0.03, body, outline=shade(body, -0.4))
    c.rectangle(
        x + 0.035, y + 0.06, w - 0.07, h - 0.12, (134, 196, 236) if "RINGING" not in values else (150, 236, 150)
    )
    if "RINGING" in values:
        _ringing(c, x + w / 2, y + h / 2, w / 2)


def _notes(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.polygon([(x, y), (x + w, y), (x + w - 0.03, y + h), (x + 0.03, y + h)], (252, 244, 196), outline=(190, 176, 120))
    for n in (0.25, 0.5, 0.75):
        c.line([(x + 0.06, y + h * n), (x + w - 0.06, y + h * n)], (120, 130, 160), 0.014)


def _pillow(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rounded(x, y, w, h, 0.11, body, outline=shade(body, -0.22))
    c.line([(x + 0.1, y + h * 0.4), (x + w * 0.4, y + h * 0.34)], shade(body, -0.15), 0.014)


def _shirt(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.polygon(
        [
            (x + w * 0.24, y),
            (x + w * 0.76, y),
            (x + w * 0.76, y + h * 0.55),
            (x + w, y + h * 0.5),
            (x + w * 0.92, y + h * 0.86),
            (x + w * 0.62, y + h),
            (x + w * 0.38, y + h),
            (x + w * 0.08, y + h * 0.86),
            (x, y + h * 0.5),
            (x + w * 0.24, y + h * 0.55),
        ],
        body,
        outline=shade(body, -0.3),
    )


def _clothes(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    for n, tone in enumerate(("blue", "red", "grey")):
        body = named(tone)
        c.ellipse(
            x + w * (0.3 + 0.2 * n),
            y + h * (0.3 + 0.16 * (n % 2)),
            w * 0.32,
            h * 0.3,
            body,
            turn_deg=20 - 20 * n,
            outline=shade(body, -0.25),
        )


def _slippers(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    for left in (x, x + w * 0.46):
        c.rounded(left, y, w * 0.5, 0.05, 0.02, shade(body, -0.35))
        c.ellipse(left + w * 0.34, y + 0.05, w * 0.17, h * 0.6, body, arc_deg=(0, 180))


def _dumbbell(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.rectangle(x + 0.06, y + h / 2 - 0.02, w - 0.12, 0.04, STEEL)
    for left in (x, x + w - 0.1):
        c.rounded(left, y, 0.1, h, 0.03, DARK)


def _towel(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rounded(x, y, w, h, 0.03, body, outline=shade(body, -0.25))
    c.rectangle(x, y + 0.08, w, 0.05, shade(body, -0.2))


def _toothbrush(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.limb([(x + w * 0.36, y + 0.02), (x + w * 0.5, y + h - 0.02)], body, 0.05, outline=shade(body, -0.3))
    c.rectangle(x + w * 0.62, y + h - 0.08, 0.04, 0.075, PORCELAIN)


def _toothpaste(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.polygon(
        [(x, y), (x, y + h), (x + w * 0.8, y + h * 0.72), (x + w * 0.8, y + h * 0.28)],
        (240, 246, 250),
        outline=(150, 170, 190),
    )
    c.rectangle(x + w * 0.8, y + h * 0.26, w * 0.2, h * 0.48, (84, 160, 206))
    c.line([(x + 0.05, y + h / 2), (x + w * 0.7, y + h / 2)], (214, 66, 70), 0.03)


def _soap(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rounded(x - 0.03, y, w + 0.06, 0.04, 0.02, (206, 214, 220))
    c.rounded(x, y + 0.03, w, h - 0.04, 0.05, body, outline=shade(body, -0.25))


def _cream(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rounded(x, y, w, h * 0.66, 0.03, body, outline=shade(body, -0.3))
    c.rounded(x - 0.01, y + h * 0.62, w + 0.02, h * 0.36, 0.03, shade(body, -0.08), outline=shade(body, -0.3))


def _watering_can(
    c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]
) -> None:
    body = named(colour)
    c.limb([(x + w * 0.6, y + 0.06), (x + w, y + h * 0.8)], shade(body, -0.15), 0.045)
    c.limb([(x + 0.05, y + h * 0.5), (x + 0.02, y + h * 0.8), (x + w * 0.5, y + h * 0.85)], shade(body, -0.2), 0.035)
    c.polygon(
        [(x + 0.02, y), (x + w * 0.62, y), (x + w * 0.56, y + h * 0.66), (x + 0.08, y + h * 0.66)],
        body,
        outline=shade(body, -0.3),
    )


def _shards(c: Canvas, x: float, y: float, w: float, body: Colour) -> None:
    """What is left of a thing of glass or china that broke."""
    wide = max(w * 1.6, 0.36)
    left = x + w / 2 - wide / 2
    for n, (at, high, lean) in enumerate(
        (
            (0.02, 0.09, 0.5),
            (0.2, 0.13, 0.1),
            (0.42, 0.08, 0.8),
            (0.56, 0.15, 0.35),
            (0.78, 0.1, 0.2),
            (0.94, 0.06, 0.6),
        )
    ):
        a = left + wide * at
        part = wide * (0.17 if n % 2 else 0.22)
        tone = shade(body, 0.12 if n % 2 else -0.12)
        c.polygon([(a, y), (a + part, y + 0.01), (a + part * lean, y + high * 1.4)], tone, outline=shade(body, -0.45))


def _steam(c: Canvas, x: float, y: float) -> None:
    """Three wisps that move upwards."""
    for n in (-1, 0, 1):
        for k in range(3):
            up = 0.07 + 0.11 * k + 0.026 * ((c.phase + n) % 4)
            c.disc(
                x + n * 0.085 + 0.024 * (1 if (k + c.phase) % 2 else -1),
                y + up,
                0.05 - 0.01 * k,
                (236, 242, 248),
                outline=(150, 164, 178),
            )


def _ringing(c: Canvas, x: float, y: float, reach: float) -> None:
    """Arcs on both sides of a thing that rings."""
    for side in (-1, 1):
        for n in range(2):
            r = reach + 0.08 + 0.075 * n + 0.018 * (c.phase % 2)
            middle = 0.0 if side > 0 else math.pi
            arc = [
                (x + r * math.cos(middle + a), y + r * math.sin(middle + a)) for a in (-0.55, -0.28, 0.0, 0.28, 0.55)
            ]
            c.line(arc, (232, 120, 30), 0.032)


def _stained(c: Canvas, x: float, y: float, w: float) -> None:
    for at in (0.25, 0.5, 0.72):
        c.ellipse(x + w * at, y, w * 0.1, 0.02, (110, 80, 52))


def _kettle(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    line = shade(body, -0.35)
    c.limb([(x + w * 0.74, y + h * 0.2), (x + w * 0.97, y + h * 0.62)], shade(body, -0.12), 0.06, outline=line)
    c.line([(x + w * 0.14, y + h * 0.66), (x - 0.01, y + h * 0.5), (x + w * 0.06, y + h * 0.2)], DARK, 0.042)
    c.polygon(
        [(x + w * 0.08, y + 0.04), (x + w * 0.86, y + 0.04), (x + w * 0.72, y + h * 0.8), (x + w * 0.2, y + h * 0.8)],
        body,
        outline=line,
    )
    c.rounded(x + w * 0.06, y, w * 0.82, 0.05, 0.02, shade(body, -0.2))
    c.ellipse(x + w * 0.46, y + h * 0.8, w * 0.25, 0.035, shade(body, -0.06))
    c.disc(x + w * 0.46, y + h * 0.9, 0.026, DARK)
    c.disc(x + w * 0.46, y + 0.1, 0.026, (250, 96, 56) if "ON" in values else METAL)
    if "HOT" in values:
        _steam(c, x + w * 0.5, y + h * 0.92)


def _bottle(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.curve(
        [
            (x, y + 0.02), (x + w, y + 0.02), (x + w, y + h * 0.5), (x + w * 0.68, y + h * 0.68),
            (x + w * 0.64, y + h * 0.94), (x + w * 0.36, y + h * 0.94), (x + w * 0.32, y + h * 0.68), (x, y + h * 0.5),
        ],
        body,
        outline=shade(body, -0.35),
    )  # fmt: skip
    c.rectangle(x + w * 0.02, y + h * 0.2, w * 0.96, h * 0.14, PORCELAIN)
    c.rectangle(x + w * 0.32, y + h * 0.92, w * 0.36, h * 0.08, (176, 140, 96))


def _cookie(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.ellipse(x + w / 2, y + h / 2, w / 2, h / 2, (208, 156, 92), outline=(150, 102, 54))
    for px, py in ((0.3, 0.55), (0.52, 0.3), (0.68, 0.62), (0.46, 0.72)):
        c.disc(x + w * px, y + h * py, 0.016, (84, 52, 34))


def _sandwich(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.rounded(x, y, w, h * 0.34, 0.03, (226, 182, 116), outline=(160, 116, 66))
    c.rectangle(x - 0.01, y + h * 0.32, w + 0.02, h * 0.14, LEAF)
    c.rectangle(x, y + h * 0.46, w, h * 0.14, (240, 206, 90))
    c.rectangle(x + 0.01, y + h * 0.56, w - 0.02, h * 0.1, (206, 70, 60))
    c.rounded(x, y + h * 0.64, w, h * 0.36, 0.05, (226, 182, 116), outline=(160, 116, 66))


def _cake(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    line = shade(body, -0.3)
    c.ellipse(x + w / 2, y + 0.02, w / 2, 0.028, PORCELAIN, outline=(170, 170, 166))
    c.rounded(x + 0.04, y + 0.02, w - 0.08, h * 0.52, 0.03, body, outline=line)
    c.rectangle(x + 0.045, y + h * 0.26, w - 0.09, 0.028, shade(body, 0.5 if sum(body) < 600 else -0.16))
    for n in range(4):
        c.disc(x + 0.085 + n * (w - 0.17) / 3, y + h * 0.58, 0.048, shade(body, 0.35 if sum(body) < 600 else -0.08))
    for n in range(3):
        at = x + w * (0.3 + 0.2 * n)
        c.line([(at, y + h * 0.66), (at, y + h * 0.86)], (224, 90, 90), 0.022)


def _balloon(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    mid = x + w / 2
    c.line([(mid, y), (mid + 0.02, y + h * 0.16), (mid, y + h * 0.32)], INK, 0.012)
    if "BROKEN" in values:
        c.curve(
            [(mid - 0.05, y + 0.04), (mid, y + 0.16), (mid + 0.06, y + 0.05), (mid + 0.02, y)],
            body,
            outline=shade(body, -0.35),
        )
        return
    c.polygon([(mid - 0.03, y + h * 0.3), (mid + 0.03, y + h * 0.3), (mid, y + h * 0.37)], shade(body, -0.2))
    c.ellipse(mid, y + h * 0.67, w / 2, h * 0.34, body, outline=shade(body, -0.35))
    c.ellipse(mid - w * 0.18, y + h * 0.8, 0.03, 0.055, shade(body, 0.55), turn_deg=-24)


def _gift_box(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    line, band = shade(body, -0.35), (250, 232, 170) if colour != "yellow" else (206, 60, 70)
    high = h * 0.66
    c.rectangle(x + 0.02, y, w - 0.04, high, body, outline=line)
    c.rectangle(x + w * 0.46, y, w * 0.08, high, band)
    if "OPEN" in values:
        c.rectangle(x + 0.04, y + high - 0.05, w - 0.08, 0.05, shade(body, -0.55))
        c.polygon(
            [
                (x + w, y + high - 0.02),
                (x + w + 0.16, y + high + 0.16),
                (x + w + 0.1, y + high + 0.2),
                (x + w - 0.05, y + high + 0.03),
            ],
            shade(body, 0.12),
            outline=line,
        )
        return
    c.rectangle(x, y + high - 0.07, w, 0.08, shade(body, 0.1), outline=line)
    c.rectangle(x + w * 0.46, y + high - 0.07, w * 0.08, 0.08, band)
    for side in (-1, 1):
        c.ellipse(
            x + w / 2 + side * 0.065,
            y + high + 0.065,
            0.075,
            0.042,
            band,
            turn_deg=side * 28,
            outline=shade(band, -0.3),
        )
    c.disc(x + w / 2, y + high + 0.035, 0.03, shade(band, -0.12))


def _flowers(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    mid = x + w / 2
    for side in (-0.34, 0.0, 0.34):
        c.line([(mid, y), (mid + w * side, y + h * 0.72)], shade(LEAF, -0.1), 0.02)
    for side, up in ((-0.22, 0.3), (0.22, 0.34)):
        c.ellipse(mid + w * side, y + h * up, 0.06, 0.024, LEAF, turn_deg=60 if side > 0 else 120)
    for side, up in ((-0.34, 0.74), (0.34, 0.74), (0.0, 0.88)):
        c.disc(mid + w * side, y + h * up, 0.074, shade(body, -0.06), outline=shade(body, -0.3))
        for k in range(5):
            a = k * 1.2566
            c.disc(mid + w * side + 0.036 * math.cos(a), y + h * up + 0.036 * math.sin(a), 0.034, body)
        c.disc(mid + w * side, y + h * up, 0.02, (246, 206, 70) if colour != "yellow" else (150, 96, 50))


def _vase(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    mid = x + w / 2
    c.curve(
        [
            (mid - w * 0.28, y), (mid + w * 0.28, y), (mid + w * 0.5, y + h * 0.34), (mid + w * 0.26, y + h * 0.72),
            (mid + w * 0.36, y + h), (mid - w * 0.36, y + h), (mid - w * 0.26, y + h * 0.72),
            (mid - w * 0.5, y + h * 0.34),
        ],
        body,
        outline=shade(body, -0.35),
    )  # fmt: skip
    c.ellipse(mid, y + h * 0.98, w * 0.33, 0.022, shade(body, -0.3))
    c.line(
        [(mid - w * 0.45, y + h * 0.4), (mid + w * 0.45, y + h * 0.4)],
        shade(body, 0.4 if sum(body) < 600 else -0.2),
        0.026,
    )


def _teddy_bear(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    line, light, mid = shade(body, -0.35), shade(body, 0.3 if sum(body) < 600 else -0.12), x + w / 2
    for side in (-1, 1):
        c.ellipse(mid + side * w * 0.3, y + 0.05, 0.07, 0.05, body, outline=line)
        c.ellipse(mid + side * w * 0.36, y + h * 0.42, 0.05, 0.08, body, turn_deg=side * 30, outline=line)
        c.disc(mid + side * w * 0.26, y + h * 0.94, 0.048, body, outline=line)
    c.ellipse(mid, y + h * 0.32, w * 0.34, h * 0.32, body, outline=line)
    c.ellipse(mid, y + h * 0.28, w * 0.14, h * 0.15, light)
    c.ellipse(mid, y + h * 0.74, w * 0.36, h * 0.24, body, outline=line)
    c.ellipse(mid, y + h * 0.67, 0.056, 0.042, light)
    for side in (-1, 1):
        c.disc(mid + side * 0.045, y + h * 0.78, 0.016, (40, 36, 38))
    c.disc(mid, y + h * 0.69, 0.016, (40, 36, 38))


def _ball(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    mx, my, r = x + w / 2, y + h / 2, w / 2
    c.disc(mx, my, r, body, outline=shade(body, -0.35))
    band = [(mx + r * 0.92 * s, my + r * (0.34 - 0.3 * s * s)) for s in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    c.line(band, PORCELAIN, 0.045)
    c.disc(mx - r * 0.3, my + r * 0.5, 0.03, shade(body, 0.6))


def _guitar(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    mid, line = x + w / 2, shade(body, -0.4)
    c.rectangle(mid - 0.025, y + h * 0.4, 0.05, h * 0.52, (92, 62, 42), outline=(60, 40, 28))
    c.rounded(mid - 0.05, y + h * 0.88, 0.1, h * 0.12, 0.02, (92, 62, 42))
    c.curve(
        [
            (mid, y), (mid + w * 0.48, y + h * 0.1), (mid + w * 0.4, y + h * 0.28), (mid + w * 0.36, y + h * 0.42),
            (mid, y + h * 0.5), (mid - w * 0.36, y + h * 0.42), (mid - w * 0.4, y + h * 0.28),
            (mid - w * 0.48, y + h * 0.1),
        ],
        body,
        outline=line,
    )  # fmt: skip
    c.disc(mid, y + h * 0.28, 0.055, (46, 34, 30))
    c.line([(mid, y + h * 0.12), (mid, y + h * 0.9)], (236, 228, 210), 0.01)
    c.rectangle(mid - 0.07, y + h * 0.11, 0.14, 0.026, (60, 40, 28))


def _board_game(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rectangle(x, y, w, h * 0.72, body, outline=shade(body, -0.35))
    c.rectangle(x + w * 0.06, y + h * 0.1, w * 0.4, h * 0.5, (246, 238, 214))
    for row in range(2):
        for n in range(4):
            if (row + n) % 2:
                c.rectangle(x + w * (0.06 + 0.1 * n), y + h * (0.1 + 0.25 * row), w * 0.1, h * 0.25, (58, 54, 56))
    for n, tone in enumerate(((206, 66, 60), (70, 116, 190), (240, 200, 80))):
        at = x + w * (0.6 + 0.14 * n)
        c.polygon([(at - 0.025, y + h * 0.72), (at + 0.025, y + h * 0.72), (at, y + h * 0.96)], tone)
        c.disc(at, y + h * 0.98, 0.022, tone)


def _photo_album(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rounded(x, y, w, h, 0.02, body, outline=shade(body, -0.4))
    c.rectangle(x + w - 0.03, y + 0.02, 0.03, h - 0.04, PORCELAIN)
    c.rectangle(x + 0.06, y + h * 0.3, w - 0.15, h * 0.5, (250, 246, 236), outline=shade(body, -0.4))
    c.rectangle(x + 0.075, y + h * 0.35, w - 0.18, h * 0.36, (164, 206, 232))
    c.disc(x + w * 0.42, y + h * 0.52, 0.034, (236, 190, 150))


def _blanket(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    for n in range(3):
        c.rounded(
            x + 0.01 * n,
            y + n * h / 3,
            w - 0.02 * n,
            h / 3,
            0.045,
            shade(body, 0.08 * (n - 1)),
            outline=shade(body, -0.3),
        )
    for n in range(6):
        c.line([(x + 0.05 + n * 0.08, y + 0.02), (x + 0.05 + n * 0.08, y - 0.03)], shade(body, -0.15), 0.014)


def _broom(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    mid = x + w / 2
    c.line([(mid, y + 0.26), (mid, y + h)], shade(body, -0.12), 0.04)
    c.polygon([(x, y), (x + w, y), (x + w * 0.7, y + 0.3), (x + w * 0.3, y + 0.3)], body, outline=shade(body, -0.35))
    for n in (0.3, 0.5, 0.7):
        c.line([(x + w * n, y + 0.02), (x + w * (0.5 + (n - 0.5) * 0.5), y + 0.24)], shade(body, -0.25), 0.014)
    c.rectangle(x + w * 0.3, y + 0.24, w * 0.4, 0.05, shade(body, -0.35))


def _doorbell(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rounded(x, y, w, h, 0.03, body, outline=INK)
    c.ellipse(x + w / 2, y + h * 0.46, w * 0.3, h * 0.26, (226, 186, 84), arc_deg=(0, 180), outline=(150, 116, 40))
    c.rectangle(x + w * 0.16, y + h * 0.4, w * 0.68, h * 0.07, (190, 150, 60))
    c.disc(x + w / 2, y + h * 0.32, 0.02, (150, 116, 40))
    if "RINGING" in values:
        _ringing(c, x + w / 2, y + h / 2, w / 2)


def _floor_stain(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    mid = x + w / 2
    # A floor itself is drawn with the room.
    if "DIRTY" in values:
        _puddle(c, mid, y, (150, 116, 76), (104, 76, 46))


def _puddle(c: Canvas, x: float, y: float, body: Colour, line: Colour) -> None:
    edge = (
        (-0.42, 0.0),
        (-0.3, -0.07),
        (-0.05, -0.06),
        (0.16, -0.1),
        (0.4, -0.03),
        (0.34, 0.05),
        (0.08, 0.07),
        (-0.2, 0.06),
    )
    c.curve([(x + a, y + b) for a, b in edge], body, outline=line)
    c.ellipse(x - 0.14, y + 0.012, 0.09, 0.014, shade(body, 0.45))
    c.disc(x + 0.5, y - 0.03, 0.03, body, outline=line)
    c.disc(x - 0.52, y + 0.02, 0.022, body, outline=line)


_GLASSY: Final = (166, 208, 232)


def _fragile(painter: Painter, shards: Colour | None = None) -> Painter:
    """The painter of a thing that can break."""

    def draw(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
        if "BROKEN" in values:
            _shards(c, x, y, w, shards or named(colour))
        else:
            painter(c, x, y, w, h, colour, values)

    return draw


THINGS: Final[dict[str, Painter]] = {
    "milk": _milk,
    "juice": _juice,
    "wine": _wine,
    "waterglass": _fragile(_glass, _GLASSY),
    "wineglass": _fragile(_wine_glass, _GLASSY),
    "mug": _fragile(_mug),
    "plate": _fragile(_plate),
    "dishbowl": _fragile(_bowl),
    "fryingpan": _pan,
    "apple": _apple,
    "cupcake": _cupcake,
    "breadslice": _bread,
    "salmon": _salmon,
    "carrot": _carrot,
    "cereal": _cereal,
    "cuttingboard": _board,
    "cutleryknife": _knife,
    "washingsponge": _sponge,
    "book": _book,
    "magazine": _magazine,
    "remotecontrol": _remote,
    "cellphone": _phone,
    "notes": _notes,
    "pillow": _pillow,
    "clothesshirt": _shirt,
    "clothespile": _clothes,
    "slippers": _slippers,
    "dumbbell": _dumbbell,
    "towel": _towel,
    "toothbrush": _toothbrush,
    "toothpaste": _toothpaste,
    "barsoap": _soap,
    "facecream": _cream,
    "wateringcan": _watering_can,
    "paper": _notes,
    "kettle": _kettle,
    "bottle": _bottle,
    "cookie": _cookie,
    "sandwich": _sandwich,
    "cake": _cake,
    "balloon": _balloon,
    "giftbox": _gift_box,
    "flowers": _flowers,
    "vase": _fragile(_vase),
    "teddybear": _teddy_bear,
    "ball": _ball,
    "guitar": _guitar,
    "boardgame": _board_game,
    "photoalbum": _photo_album,
    "blanket": _blanket,
    "broom": _broom,
    "doorbell": _doorbell,
    "floor": _floor_stain,
}
"""Painters of things, by class."""
