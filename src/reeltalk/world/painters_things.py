"""Draws the things that a person carries, one function for each class."""

from typing import Final

from reeltalk.video.canvas import Canvas
from reeltalk.world.kinds import DARK, GLASS, LEAF, METAL, PORCELAIN, STEEL, Colour, named, shade


def _carton(c: Canvas, x: float, y: float, w: float, h: float, body: Colour, label: Colour) -> None:
    c.rectangle(x, y, w, h - 0.08, body, outline=shade(body, -0.3))
    c.polygon([(x, y + h - 0.08), (x + w, y + h - 0.08), (x + w * 0.7, y + h), (x + w * 0.3, y + h)], shade(body, -0.1))
    c.rectangle(x, y + 0.06, w, h * 0.32, label)


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
    c.polygon(
        [(x + 0.03, y + 0.02), (x + w - 0.03, y + 0.02), (x + w - 0.02, y + h * 0.6), (x + 0.02, y + h * 0.6)],
        (150, 200, 228),
    )


def _wine_glass(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    mid = x + w / 2
    c.ellipse(mid, y + 0.015, w * 0.4, 0.015, (140, 176, 196))
    c.line([(mid, y), (mid, y + h * 0.5)], (140, 176, 196), 0.02)
    c.ellipse(mid, y + h * 0.72, w / 2, h * 0.28, GLASS, outline=(140, 176, 196))
    c.ellipse(mid, y + h * 0.68, w * 0.42, h * 0.18, (160, 46, 66), arc_deg=(180, 360))


def _mug(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.ellipse(x + w - 0.03, y + h / 2, 0.07, 0.07, shade(body, -0.2))
    c.ellipse(x + w - 0.03, y + h / 2, 0.035, 0.035, (236, 232, 224))
    c.rounded(x, y, w - 0.04, h, 0.03, body, outline=shade(body, -0.3))
    if "DIRTY" in values:
        c.line([(x + 0.05, y + h - 0.03), (x + 0.06, y + h * 0.4)], (96, 60, 36), 0.022)


def _plate(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.polygon(
        [(x, y + 0.07), (x + w, y + 0.07), (x + w * 0.72, y), (x + w * 0.28, y)],
        shade(body, -0.12),
        outline=shade(body, -0.35),
    )
    c.ellipse(x + w / 2, y + 0.07, w / 2, 0.03, body, outline=shade(body, -0.3))


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
    c.rectangle(x, y + h * 0.66, w, h * 0.34, shade(LEAF, -0.15))
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
    c.rectangle(x + 0.07, y + h * 0.62, w - 0.14, 0.05, (70, 70, 76))
    c.rectangle(x + 0.07, y + 0.05, w - 0.14, h * 0.4, (150, 190, 214))


def _remote(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.rounded(x, y, w, h * 0.7, 0.03, (52, 54, 60))
    c.disc(x + 0.04, y + h * 0.35, 0.02, (216, 66, 60))
    for n in (0.4, 0.55, 0.7, 0.85):
        c.disc(x + w * n, y + h * 0.35, 0.014, METAL)


def _phone(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    c.rounded(x, y, w, h, 0.03, (40, 42, 48))
    c.rectangle(x + 0.02, y + 0.04, w - 0.04, h - 0.08, (134, 196, 236))


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
    c.limb([(x + w * 0.4, y), (x + w * 0.5, y + h)], body, 0.035)
    c.rectangle(x + w * 0.55, y + h - 0.09, 0.045, 0.09, PORCELAIN, outline=METAL)


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
    c.rounded(x - 0.01, y + h * 0.62, w + 0.02, h * 0.36, 0.03, (150, 132, 176))


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


THINGS: Final = {
    "milk": _milk,
    "juice": _juice,
    "wine": _wine,
    "waterglass": _glass,
    "wineglass": _wine_glass,
    "mug": _mug,
    "plate": _plate,
    "dishbowl": _bowl,
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
}
"""Painters of things, by class."""
