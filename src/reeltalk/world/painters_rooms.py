"""Painters of objects in the other rooms; see `drawing.py`."""

from typing import Final

from reeltalk.video.canvas import Canvas
from reeltalk.world.palette import DARK, GLOW, INK, LEAF, METAL, PORCELAIN, SCREEN_OFF, STEEL, WATER, named, shade, wood


def _chair(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = wood(colour)
    for leg in (x + 0.04, x + w - 0.1):
        c.rectangle(leg, y, 0.06, 0.46, shade(body, -0.25))
    c.rounded(x, y + 0.42, w, 0.09, 0.03, body, outline=shade(body, -0.3))
    c.rectangle(x + 0.02, y + 0.5, 0.06, h - 0.5, shade(body, -0.2))
    c.rounded(x, y + 0.62, 0.1, h - 0.62, 0.03, body, outline=shade(body, -0.3))


def _sofa(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = named(colour)
    c.rounded(x + 0.08, y + 0.3, w - 0.16, h - 0.3, 0.14, shade(body, -0.12), outline=shade(body, -0.3))
    for n in range(2):
        left = x + 0.22 + n * (w - 0.44) / 2
        c.rounded(left, y + 0.24, (w - 0.44) / 2 - 0.02, 0.24, 0.07, shade(body, 0.1), outline=shade(body, -0.2))
    c.rectangle(x + 0.14, y + 0.08, w - 0.28, 0.18, shade(body, -0.2))
    for left in (x, x + w - 0.26):
        c.rounded(left, y + 0.08, 0.26, 0.56, 0.11, body, outline=shade(body, -0.3))
    for left in (x + 0.16, x + w - 0.24):
        c.rectangle(left, y, 0.08, 0.09, wood("brown"))


def _tv_stand(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = wood(colour)
    c.rounded(x, y + 0.06, w, h - 0.06, 0.03, body, outline=shade(body, -0.3))
    for n in range(2):
        c.rectangle(x + 0.06 + n * w / 2, y + 0.12, w / 2 - 0.12, h - 0.24, shade(body, -0.25))
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
        c.rectangle(x + 0.06, y + base, w - 0.12, top - base - 0.03, shade(body, -0.45))
        if shelf == 2:
            # The board for things that are put there.
            continue
        place, n = x + 0.08, shelf * 5
        while place < x + w - (0.3 if shelf % 2 else 0.16):
            thick = 0.05 + 0.018 * ((n * 7) % 4)
            c.rectangle(place, y + base, thick - 0.008, (0.32, 0.36, 0.0, 0.26)[shelf] + 0.02 * (n % 3), spines[n % 6])
            place, n = place + thick, n + 1


def _floor_lamp(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    mid, on = x + w / 2, "ON" in values
    c.ellipse(mid, y + 0.03, 0.17, 0.03, DARK)
    c.limb([(mid, y + 0.03), (mid, y + h - 0.3)], DARK, 0.035)
    body = GLOW if on else named(colour)
    c.polygon(
        [(x, y + h - 0.36), (x + w, y + h - 0.36), (x + w - 0.1, y + h), (x + 0.1, y + h)],
        body,
        outline=shade(body, -0.25),
    )


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
    c.rounded(x + 0.72, y + 0.22, w - 0.8, 0.32, 0.08, body, outline=shade(body, -0.25))


def _nightstand(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    body = wood(colour)
    c.rounded(x, y + 0.06, w, h - 0.06, 0.03, body, outline=shade(body, -0.3))
    for level in (0.14, 0.34):
        c.rectangle(x + 0.05, y + level, w - 0.1, 0.16, shade(body, -0.12))
        c.disc(x + w / 2, y + level + 0.08, 0.022, STEEL)
    for leg in (x + 0.05, x + w - 0.1):
        c.rectangle(leg, y, 0.05, 0.07, shade(body, -0.4))


def _table_lamp(c: Canvas, x: float, y: float, w: float, h: float, colour: str | None, values: frozenset[str]) -> None:
    mid = x + w / 2
    c.ellipse(mid, y + 0.03, 0.09, 0.03, DARK)
    c.limb([(mid, y + 0.03), (mid, y + 0.22)], DARK, 0.04)
    body = GLOW if "ON" in values else named(colour)
    c.polygon(
        [(x, y + 0.2), (x + w, y + 0.2), (x + w - 0.08, y + h), (x + 0.08, y + h)], body, outline=shade(body, -0.25)
    )


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


ROOMS: Final = {
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
