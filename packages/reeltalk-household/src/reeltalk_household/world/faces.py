"""Heads: hair, glasses, beards, and faces on which feelings can be read from every side."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk_household.world.canvas import Canvas, Colour, Point, Stencil, smooth_curve
from reeltalk_household.world.house import Person
from reeltalk_household.world.kinds import colour_rgb, shade

WIDE_M: Final = 0.178
HIGH_M: Final = 0.2
"""Half the width and half the height of a head."""
_EYE_DEG: Final = 27.0
_MOUTH: Final = (138, 52, 52)
_TEAR: Final = (116, 186, 240)
_INK: Final = (52, 44, 46)


@dataclass(frozen=True)
class Face:
    """What a head shows."""

    heading_deg: float
    """0 to the viewer, 90 to the right, -90 to the left."""
    feeling: str | None = None
    """One of `FEELINGS`; None is calm."""
    eyes_shut: bool = False
    mouth_open: float = 0.0
    """How far the mouth is open in talk, 0 to 1."""
    look_deg: float = 0.0
    """How far the eyes look to the right of the heading."""


_TOP: Final = [(math.cos(a), math.sin(a)) for a in (math.radians(4 + 11.47 * n) for n in range(16))]
_ANGLES: Final = np.linspace(0.0, 2 * np.pi, 28, endpoint=False)
# Chins are a little narrower than foreheads.
_OUTLINE: Final = np.stack([np.cos(_ANGLES) * (1 + 0.06 * np.sin(_ANGLES)), np.sin(_ANGLES)], axis=1)


_LENS_ANGLES: Final = np.linspace(0, 2 * np.pi, 15)
_LENS: Final = np.stack([np.cos(_LENS_ANGLES), np.sin(_LENS_ANGLES)], axis=1)


class _Head:
    """The surface of a head: places on it as points of the picture."""

    def __init__(self, at: Callable[[Point], Point], heading_deg: float, size: float) -> None:
        self.at, self.heading, self.size = at, math.radians(heading_deg), size

    def point(self, around_deg: float, up: float, *, out: float = 1.0) -> Point:
        """A place on the head."""
        level = math.sqrt(max(0.0, 1 - (up / (HIGH_M * 1.04)) ** 2))
        across = WIDE_M * level * math.sin(self.heading + math.radians(around_deg)) * out
        return self.at((across * self.size, up * self.size))

    def shown(self, around_deg: float) -> float:
        """How much of a place is turned to the viewer: 1 in the middle, 0 at the edge, negative behind."""
        return math.cos(self.heading + math.radians(around_deg))


def draw_head(canvas: Canvas, person: Person, middle: Point, up: Point, face: Face, *, size: float) -> None:
    """Draws a head."""

    def at(point: Point) -> Point:
        a, b = point
        return middle[0] + a * up[1] + b * up[0], middle[1] - a * up[0] + b * up[1]

    head = _Head(at, face.heading_deg, size)
    hair, skin = colour_rgb(person.hair), _skin(person, face)
    line = shade(skin, -0.35)
    for side in (-90, 90):
        x = head.point(side, -0.01, out=1.02)
        canvas.disc(*x, 0.04 * size, shade(skin, -0.06), outline=line)
    turned = _OUTLINE * (WIDE_M * size, HIGH_M * size) @ np.array([[up[1], -up[0]], [up[0], up[1]]])
    canvas.polygon(turned + middle, skin, outline=line)
    if isinstance(canvas, Stencil):
        # What lies on the face covers nothing else.
        _draw_hair(canvas, head, person.hair_style, hair)
        return
    if person.beard:
        _draw_beard(canvas, head, hair)
    _draw_cheeks(canvas, head, skin, face)
    _draw_mouth(canvas, head, face, bearded=person.beard)
    _draw_nose(canvas, head, skin)
    _draw_eyes(canvas, head, face)
    _draw_hair(canvas, head, person.hair_style, hair)
    _draw_brows(canvas, head, face, shade(hair, -0.35 if sum(hair) > 300 else 0.0))
    if person.glasses:
        _draw_glasses(canvas, head)
    _draw_marks(canvas, head, face)


def draw_hair_behind(
    canvas: Canvas, person: Person, middle: Point, up: Point, heading_deg: float, *, size: float
) -> None:
    """Draws the hair that hangs behind the shoulders. It is drawn before the body."""

    def at(point: Point) -> Point:
        a, b = point
        return middle[0] + a * up[1] + b * up[0], middle[1] - a * up[0] + b * up[1]

    head = _Head(at, heading_deg, size)
    hair = colour_rgb(person.hair)
    back = shade(hair, -0.18)
    line = shade(hair, -0.4)
    if person.hair_style == "long":
        shift = -0.07 * math.sin(head.heading)
        wide = WIDE_M + 0.045 - 0.03 * abs(math.sin(head.heading))
        outline = [
            (shift - wide, 0.04),
            (shift - wide - 0.02, -0.2),
            (shift - wide + 0.03, -0.42),
            (shift, -0.45),
            (shift + wide - 0.03, -0.42),
            (shift + wide + 0.02, -0.2),
            (shift + wide, 0.04),
            (shift, 0.2),
        ]
        canvas.curve([at((a * size, b * size)) for a, b in outline], back, outline=line)
    elif person.hair_style == "curly":
        for around in (110, 140, 180, 220, 250):
            if head.shown(around) < 0.45:
                canvas.disc(*head.point(around, -0.07, out=1.08), 0.08 * size, back, outline=line)
    elif person.hair_style == "bun":
        canvas.disc(*head.point(180, 0.17, out=1.35), 0.085 * size, hair, outline=line)
        if abs(face_side := math.sin(head.heading)) < 0.5:
            canvas.disc(*at((-face_side * 0.1 * size, 0.245 * size)), 0.085 * size, hair, outline=line)


def _skin(person: Person, face: Face) -> Colour:
    if face.feeling != "ANGRY":
        return person.skin
    r, g, b = person.skin
    return round(r + (226 - r) * 0.25), round(g + (86 - g) * 0.25), round(b + (70 - b) * 0.25)


def _draw_hair(canvas: Canvas, head: _Head, style: str, hair: Colour) -> None:
    """The hair on the head: everything above a hairline that is high over the face and low at the neck."""
    line = shade(hair, -0.4)
    low = {"short": -0.08, "long": -0.1, "bun": -0.04, "curly": -0.03}[style]
    fringe = {"short": 0.1, "long": 0.085, "bun": 0.115, "curly": 0.1}[style]
    edge = []
    heading = math.degrees(head.heading)
    for screen in range(-90, 91, 13):
        around = (screen - heading + 180) % 360 - 180
        far = abs(around)
        if far < 55:
            # A parting on one side.
            up = fringe + 0.025 * math.sin(math.radians(around * 1.6 + 25))
        elif far < 100:
            up = fringe + (low - fringe) * (far - 55) / 45
        else:
            up = low - 0.06 * min(1.0, (far - 100) / 30)
        level = math.sqrt(max(0.0, 1 - (up / (HIGH_M * 1.08)) ** 2))
        across = WIDE_M * 1.06 * level * math.sin(math.radians(screen))
        edge.append(head.at((across * head.size, up * head.size)))
    top = [head.at((WIDE_M * 1.1 * cos * head.size, (HIGH_M * 1.1 * sin + 0.008) * head.size)) for cos, sin in _TOP]
    canvas.polygon(np.array([*edge, *top]), hair, outline=line)
    if style == "curly":
        for angle in np.linspace(-8, 188, 10):
            a = math.radians(float(angle))
            place = head.at((WIDE_M * 1.02 * math.cos(a) * head.size, (HIGH_M * 0.98 * math.sin(a) + 0.02) * head.size))
            canvas.disc(*place, 0.066 * head.size, hair, outline=None)
            canvas.disc(place[0] - 0.012, place[1] + 0.012, 0.03 * head.size, shade(hair, 0.14))
    elif style == "long":
        for around in (-78, 78):
            if head.shown(around) > -0.15:
                lock = [head.point(around, up, out=1.1) for up in (0.06, -0.1)]
                end = head.point(around, -0.1, out=1.2)
                drop = head.at((0.0, -0.27 * head.size))
                base = head.at((0.0, -0.1 * head.size))
                lock.append((end[0] + drop[0] - base[0], end[1] + drop[1] - base[1]))
                canvas.limb(lock, hair, 0.075 * head.size, outline=line)
    elif style == "bun":
        shine = [head.point(a - math.degrees(head.heading), 0.15) for a in (-40, -10, 20)]
        canvas.line(shine, shade(hair, 0.2), 0.018)


def _draw_beard(canvas: Canvas, head: _Head, hair: Colour) -> None:
    outer, inner = [], []
    for around in np.linspace(-95, 95, 13):
        if head.shown(float(around)) < -0.02:
            continue
        level = abs(float(around)) / 95
        outer.append(head.point(float(around), -0.205 + 0.17 * level**3, out=1.03))
        inner.append(head.point(float(around), -0.045 - 0.02 * math.cos(level * 9) + 0.02 * level))
    if len(outer) > 2:
        canvas.polygon(np.array([*outer, *reversed(inner)]), hair, outline=shade(hair, -0.35))


def _draw_cheeks(canvas: Canvas, head: _Head, skin: Colour, face: Face) -> None:
    share = {"HAPPY": 0.5, "ANGRY": 0.5, None: 0.18, "SAD": 0.1, "SURPRISED": 0.2}.get(face.feeling, 0.18)
    r, g, b = skin
    blush = (round(r + (236 - r) * share), round(g + (110 - g) * share), round(b + (106 - b) * share))
    for around in (-42, 42):
        shown = head.shown(around)
        if shown > 0.25:
            x, y = head.point(around, -0.065)
            canvas.ellipse(x, y, 0.032 * shown * head.size, 0.022 * head.size, blush)


def _across(head: _Head, centre_deg: float, up: float, half_m: float, bend_m: float, n: int = 7) -> NDArray[np.float64]:
    """A line across the face around a place, bent upwards at its ends by `bend_m`."""
    half_deg = math.degrees(half_m / WIDE_M)
    points = [
        head.point(centre_deg + share * half_deg, up + bend_m * (share * share - 0.5))
        for share in np.linspace(-1, 1, n)
        if head.shown(centre_deg + float(share) * half_deg) > -0.05
    ]
    return np.array(points) if len(points) > 1 else np.zeros((0, 2))


def _draw_mouth(canvas: Canvas, head: _Head, face: Face, *, bearded: bool) -> None:
    if head.shown(0) < 0.05:
        return
    size, wide = head.size, max(0.35, head.shown(0))
    dark = (96, 34, 38) if bearded else _MOUTH
    # In profile the mouth lies on the near cheek.
    centre = 0.0 if head.shown(0) > 0.45 else -math.copysign(14.0, head.heading)

    def open_mouth(high: float, half: float, up: float) -> None:
        x, y = head.point(centre, up)
        canvas.ellipse(x, y, half * wide * size, high * size, dark, outline=shade(dark, -0.4))

    if face.mouth_open > 0.15 and face.feeling != "HAPPY":
        up = -0.105
        open_mouth(0.014 + 0.034 * face.mouth_open, 0.046 if face.feeling != "SURPRISED" else 0.038, up)
    elif face.feeling == "HAPPY":
        deep = 0.085 + 0.02 * face.mouth_open
        top = _across(head, centre, -0.066, 0.086, 0.01)
        low = _across(head, centre, -0.066 - deep * 0.42, 0.086, deep)
        if len(top) > 1 and len(low) > 1:
            mouth = np.concatenate([top, low[::-1]])
            canvas.polygon(mouth, dark, outline=shade(dark, -0.4))
            teeth = np.concatenate([top, (top * 0.72 + low[: len(top)] * 0.28)[::-1]]) if len(top) == len(low) else top
            if len(teeth) > 2:
                canvas.polygon(teeth, (250, 248, 242))
    elif face.feeling == "SAD":
        canvas.line(smooth_curve(_across(head, centre, -0.115, 0.058, -0.055), closed=False), _INK, 0.022 * size)
    elif face.feeling == "ANGRY":
        top = _across(head, centre, -0.092, 0.066, -0.03)
        low = _across(head, centre, -0.148, 0.066, -0.02)
        if len(top) > 1 and len(top) == len(low):
            canvas.polygon(np.concatenate([top, low[::-1]]), (250, 246, 238), outline=_INK, line=0.024)
            canvas.line((top + low) / 2, _INK, 0.012)
    elif face.feeling == "SURPRISED":
        open_mouth(0.056, 0.042, -0.11)
    else:
        points = _across(head, centre, -0.1, 0.042, 0.018)
        if len(points) > 1:
            canvas.line(smooth_curve(points, closed=False), dark if not bearded else (226, 150, 140), 0.018 * size)


def _local(head: _Head, point: NDArray[np.float64], up: float) -> Point:
    """A point of the picture, moved up along the head, in the head's own units."""
    origin = head.at((0.0, 0.0))
    right, above = head.at((1.0, 0.0)), head.at((0.0, 1.0))
    dx, dy = float(point[0]) - origin[0], float(point[1]) - origin[1]
    return (
        dx * (right[0] - origin[0]) + dy * (right[1] - origin[1]),
        dx * (above[0] - origin[0]) + dy * (above[1] - origin[1]) + up,
    )


def _draw_nose(canvas: Canvas, head: _Head, skin: Colour) -> None:
    side = math.sin(head.heading)
    x, y = head.point(0, -0.03, out=1.0 + 0.1 * abs(side))
    if abs(side) > 0.75:
        canvas.disc(x, y, 0.032 * head.size, skin, outline=None)
        canvas.disc(x, y - 0.004, 0.024 * head.size, shade(skin, -0.05))
    else:
        canvas.ellipse(x, y, 0.02 * head.size, 0.026 * head.size, shade(skin, -0.14))


def _draw_eyes(canvas: Canvas, head: _Head, face: Face) -> None:
    size = head.size
    for side in (-1, 1):
        around = side * _EYE_DEG
        shown = head.shown(around)
        if shown < 0.12:
            continue
        x, y = head.point(around, 0.008)
        wide = max(0.45, shown)
        if face.eyes_shut:
            arc = _across(head, around, 0.004, 0.036, 0.03)
            if len(arc) > 1:
                canvas.line(smooth_curve(arc, closed=False), _INK, 0.016 * size)
            continue
        if face.feeling == "HAPPY":
            arc = _across(head, around, 0.006, 0.04, -0.05)
            if len(arc) > 1:
                canvas.line(smooth_curve(arc, closed=False), _INK, 0.022 * size)
            continue
        high = {"SURPRISED": 0.066, "ANGRY": 0.042, "SAD": 0.044}.get(face.feeling or "", 0.048)
        broad = 0.056 if face.feeling == "SURPRISED" else 0.042
        canvas.ellipse(x, y, broad * wide * size, high * size, (252, 252, 250), outline=(120, 104, 100), line=0.008)
        look = 0.014 * math.sin(math.radians(face.look_deg + math.degrees(head.heading) * 0.6))
        drop = -0.012 if face.feeling == "SAD" else 0.0
        pupil = 0.02 if face.feeling == "SURPRISED" else 0.026
        px, py = x + look * size, y + drop * size
        canvas.disc(px, py, pupil * size, _INK)
        canvas.disc(px + 0.007 * size, py + 0.01 * size, 0.008 * size, (255, 255, 255))


def _draw_brows(canvas: Canvas, head: _Head, face: Face, colour: Colour) -> None:
    # Height of the inner and of the outer end.
    inner, outer, bow = {
        "HAPPY": (0.085, 0.075, 0.02),
        "SAD": (0.105, 0.056, 0.004),
        "ANGRY": (0.042, 0.1, -0.004),
        "SURPRISED": (0.118, 0.108, 0.026),
    }.get(face.feeling or "", (0.074, 0.07, 0.008))
    thick = 0.032 if face.feeling == "ANGRY" else 0.024
    for side in (-1, 1):
        if head.shown(side * _EYE_DEG) < 0.1:
            continue
        points = [
            head.point(side * angle, height)
            for angle, height in ((9, inner), (26, (inner + outer) / 2 + bow), (44, outer))
            if head.shown(side * angle) > -0.05
        ]
        if len(points) > 1:
            canvas.limb(points, colour, thick * head.size)


def _draw_glasses(canvas: Canvas, head: _Head) -> None:
    frame = (58, 52, 60)
    inner = []
    for side in (-1, 1):
        shown = head.shown(side * _EYE_DEG)
        if shown < 0.1:
            continue
        x, y = head.point(side * _EYE_DEG, 0.004, out=1.03)
        ring = _LENS * (0.066 * max(0.5, shown) * head.size, 0.062 * head.size) + (x, y)
        canvas.line(ring, frame, 0.017)
        inner.append((x - side * 0.066 * max(0.5, shown) * head.size, y + 0.01))
        if head.shown(side * 85) > -0.3:
            hinge = (x + side * 0.066 * max(0.5, shown) * head.size, y + 0.01)
            canvas.line([hinge, head.point(side * 86, 0.012)], frame, 0.015)
    if len(inner) == 2:
        canvas.line(inner, frame, 0.017)


def _draw_marks(canvas: Canvas, head: _Head, face: Face) -> None:
    """Signs beside the head that show a feeling also where the face is small."""
    size = head.size

    def at(a: float, b: float) -> Point:
        return head.at((a * size, b * size))

    if face.feeling == "SAD":
        for around, up in ((-_EYE_DEG - 6, -0.075), (_EYE_DEG + 6, -0.105)):
            if head.shown(around) > 0.15:
                x, y = head.point(around, up)
                tip = head.at(_local(head, np.array([x, y]), 0.055 * size))
                canvas.polygon([tip, (x - 0.024 * size, y), (x + 0.024 * size, y)], _TEAR)
                canvas.disc(x, y - 0.004, 0.027 * size, _TEAR)
                canvas.disc(x - 0.008 * size, y, 0.008 * size, (240, 250, 255))
    elif face.feeling == "SURPRISED":
        for a in (62, 90, 118):
            x, y = math.cos(math.radians(a)), math.sin(math.radians(a))
            canvas.limb(
                [at(0.27 * x, 0.28 * y), at(0.36 * x, 0.37 * y)], (240, 168, 40), 0.026 * size, outline=(120, 76, 10)
            )
    elif face.feeling == "ANGRY":
        # The crossed veins of comics.
        side = -1 if head.heading > 0 else 1
        cx, cy = 0.2 * side, 0.22
        for dx, dy in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
            canvas.limb(
                [
                    at(cx + dx * 0.018, cy + dy * 0.055),
                    at(cx + dx * 0.018, cy + dy * 0.018),
                    at(cx + dx * 0.055, cy + dy * 0.018),
                ],
                (226, 40, 36),
                0.022 * size,
                outline=(110, 10, 14),
            )
