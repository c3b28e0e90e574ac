"""Bodies: poses as places of joints, poses between poses, and the drawing of a person in a pose."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk_household.world.canvas import Canvas, Colour, Point, Stencil
from reeltalk_household.world.faces import Face, draw_hair_behind, draw_head
from reeltalk_household.world.house import Person
from reeltalk_household.world.kinds import colour_rgb, shade

ARM_M: Final = 0.56
HIP_M: Final = 0.76
NECK_M: Final = 1.25
HEAD_M: Final = 1.47
STRIDE_M: Final = 0.56
DEPTH: Final = 0.16
"""How much lower a place is drawn for each metre that it is nearer to the viewer."""
HIP, NECK, HEAD = 0, 1, 2
SHOULDERS, HIPS, KNEES, FEET, HANDS = (3, 4), (5, 6), (7, 8), (9, 10), (11, 12)
"""Indices of joints in a pose, the right one first."""
SKIN_LINE: Final = -0.35

Joints = NDArray[np.float64]
Place = tuple[float, float, float]
"""Metres forwards, to the left of the body, and above the floor."""


@dataclass(frozen=True)
class Pose:
    """Positions of the joints in the picture."""

    joints: Joints
    """(13, 2), metres from the point on the floor below the body; x to the right."""
    heading_deg: float
    """Where the chest points: 0 to the viewer, 90 to the right, -90 to the left."""
    face_deg: float
    """Where the face points."""
    roll_deg: float = 0.0
    """How far the body is turned in the picture, counterclockwise; 90 lies with the head at the left."""
    shift: Point = (0.0, 0.0)
    """Added to every joint after the turn."""

    def hand(self, side: int) -> Point:
        """The place of the right (0) or left (1) hand."""
        x, y = self.joints[HANDS[side]]
        return float(x), float(y)

    def with_hand(self, side: int, point: Point, share: float = 1.0) -> "Pose":
        """The pose with a hand moved towards a point, as far as the arm reaches."""
        joints = self.joints.copy()
        start = joints[SHOULDERS[side]]
        dx, dy = point[0] - start[0], point[1] - start[1]
        length = math.hypot(dx, dy)
        if length > ARM_M:
            dx, dy = dx * ARM_M / length, dy * ARM_M / length
        goal = start + np.array([dx, dy])
        joints[HANDS[side]] += (goal - joints[HANDS[side]]) * share
        return replace(self, joints=joints)


def place(heading_deg: float, points: Sequence[Place]) -> Joints:
    """Places on a body that stands upright, in the picture.

    Args:
        heading_deg: Where the chest points.
        points: Places relative to the point on the floor below the body.
    """
    turn = math.radians(heading_deg)
    cos, sin = math.cos(turn), math.sin(turn)
    f, side, up = np.asarray(points, np.float64).T
    return np.stack([side * cos + f * sin, up - DEPTH * (f * cos - side * sin)], axis=1)


def body(
    heading_deg: float,
    *,
    hip: Place = (0.0, 0.0, HIP_M),
    lean: float = 0.0,
    knees: tuple[Place, Place] = ((0.03, -0.09, 0.4), (0.03, 0.09, 0.4)),
    feet: tuple[Place, Place] = ((0.0, -0.1, 0.03), (0.0, 0.1, 0.03)),
    hands: tuple[Place, Place] = ((0.06, -0.25, 0.72), (0.06, 0.25, 0.72)),
    nod: float = 0.0,
    face_deg: float | None = None,
) -> Pose:
    """A pose from the places of a body's parts."""
    f, _, up = hip
    spine = math.sqrt(max(0.05, (NECK_M - HIP_M) ** 2 - lean**2))
    neck = (f + lean, 0.0, up + spine)
    shoulder = (f + lean * 0.9, up + spine * 0.93)
    head = (neck[0] + lean * 0.3 + nod, 0.0, neck[2] + (HEAD_M - NECK_M) - abs(nod) * 0.3)
    joints = place(
        heading_deg,
        (
            hip,
            neck,
            head,
            (shoulder[0], -0.175, shoulder[1]),
            (shoulder[0], 0.175, shoulder[1]),
            (f, -0.078, up),
            (f, 0.078, up),
            *knees,
            *feet,
            *hands,
        ),
    )
    return Pose(joints, heading_deg, heading_deg if face_deg is None else face_deg)


def standing(
    heading_deg: float,
    *,
    hands: tuple[Place, Place] | None = None,
    lower: float = 0.0,
    lift: float = 0.0,
    lean: float = 0.0,
    nod: float = 0.0,
    face_deg: float | None = None,
) -> Pose:
    """Upright; `lower` bends the knees, `lift` raises the feet from the floor, both in metres."""
    hip = HIP_M - lower + lift
    bend = 0.03 + lower * 0.8
    rest = ((0.05, -0.235, hip - 0.09), (0.05, 0.235, hip - 0.09))
    return body(
        heading_deg,
        hip=(-lower * 0.4, 0.0, hip),
        lean=lean + lower * 0.35,
        knees=((bend, -0.1, 0.4 - lower * 0.35 + lift), (bend, 0.1, 0.4 - lower * 0.35 + lift)),
        feet=((0.0, -0.1, 0.03 + lift), (0.0, 0.1, 0.03 + lift)),
        hands=hands or rest,
        nod=nod,
        face_deg=face_deg,
    )


def walking(direction: int, phase: float, held: tuple[bool, bool]) -> Pose:
    """In mid-stride; `phase` in steps taken. Hands that hold something do not swing."""
    swing, lift = math.sin(phase * math.pi), math.cos(phase * math.pi)
    up = max(0.0, lift), max(0.0, -lift)
    hands = tuple(
        (0.3, side * 0.12, 0.98) if holds else (-side * -0.26 * swing + 0.03, side * 0.2, 0.76)
        for side, holds in zip((-1, 1), held, strict=True)
    )
    return body(
        direction * 74.0,
        hip=(0.0, 0.0, HIP_M - 0.02 + 0.015 * abs(lift)),
        lean=0.05,
        knees=(
            (0.14 * swing + 0.05 + 0.06 * up[0], -0.08, 0.4 + 0.03 * up[0]),
            (-0.14 * swing + 0.05 + 0.06 * up[1], 0.08, 0.4 + 0.03 * up[1]),
        ),
        feet=((0.27 * swing, -0.08, 0.03 + 0.1 * up[0]), (-0.27 * swing, 0.08, 0.03 + 0.1 * up[1])),
        hands=(hands[0], hands[1]),
        face_deg=direction * 62.0,
    )


def sitting(heading_deg: float, height_m: float, *, hands: tuple[Place, Place] | None = None) -> Pose:
    """On a seat of the given height, with the feet on the floor."""
    hip = height_m + 0.1
    return body(
        heading_deg,
        hip=(0.0, 0.0, hip),
        lean=-0.02,
        knees=((0.38, -0.11, hip - 0.01), (0.38, 0.11, hip - 0.01)),
        feet=((0.4, -0.11, 0.08), (0.4, 0.11, 0.08)),
        hands=hands or ((0.28, -0.12, hip + 0.1), (0.28, 0.12, hip + 0.1)),
    )


def lying(height_m: float) -> Pose:
    """On a side, with the head at the left and the face to the viewer, at the given height."""
    pose = standing(8.0, hands=((0.06, -0.19, 0.66), (0.08, 0.17, 0.7)), lower=0.03)
    return replace(pose, roll_deg=90.0, shift=(0.72, height_m + 0.16))


def blend(first: Pose, second: Pose, share: float) -> Pose:
    """A pose between two poses; `share` from 0 to 1."""
    s = ease(share)
    if s <= 0.0:
        return first
    if s >= 1.0:
        return second

    def mix(a: float, b: float) -> float:
        return a + (b - a) * s

    return Pose(
        first.joints + (second.joints - first.joints) * s,
        mix(first.heading_deg, second.heading_deg),
        mix(first.face_deg, second.face_deg),
        mix(first.roll_deg, second.roll_deg),
        (mix(first.shift[0], second.shift[0]), mix(first.shift[1], second.shift[1])),
    )


def ease(share: float) -> float:
    """Maps a share to a share that is slow at both ends. The result is between 0 and 1."""
    s = min(max(share, 0.0), 1.0)
    return s * s * (3 - 2 * s)


@dataclass(frozen=True)
class Clothes:
    """What a person's clothes look like besides their colours."""

    pattern: str
    """plain, stripes, dots, band, buttons or cross."""
    sleeves: str
    """short or long."""
    flared: bool
    """Whether the shirt is long and wide."""
    shorts: bool
    """Whether the trousers end at the knees."""
    shoes: Colour


@lru_cache(maxsize=512)
def clothes_of(person: Person) -> Clothes:
    """The clothes of a person. They follow from the person's name and colours."""
    draw = random.Random(f"clothes {person.name} {person.shirt} {person.trousers} {person.hair}")
    return Clothes(
        pattern=draw.choice(("plain", "plain", "stripes", "dots", "band", "buttons", "cross")),
        sleeves=draw.choice(("short", "long")),
        flared=person.pronoun == "she" and draw.random() < 0.55,
        shorts=draw.random() < 0.25,
        shoes=draw.choice(((70, 62, 60), (120, 74, 52), (226, 222, 214), (64, 84, 120))),
    )


def draw_person(canvas: Canvas, person: Person, x_m: float, y_m: float, pose: Pose, face: Face) -> tuple[Point, Point]:
    """Draws a person.

    Returns:
        Positions of the right and the left hand on the canvas.
    """
    joints = joints_on(person, x_m, y_m, pose)
    points: list[Point] = [(float(x), float(y)) for x, y in joints]
    size = person.height
    clothes = clothes_of(person)
    shirt, trousers, skin = colour_rgb(person.shirt), colour_rgb(person.trousers), person.skin
    turned = abs(pose.heading_deg) > 50
    # A body that points to the right shows its right side.
    near = 0 if pose.heading_deg >= 0 else 1
    axis = joints[HEAD] - joints[NECK]
    length = float(np.hypot(*axis)) or 1.0
    up = (float(axis[0]) / length, float(axis[1]) / length)
    draw_hair_behind(canvas, person, points[HEAD], up, pose.face_deg, size=size)
    if turned:
        _draw_arm(canvas, points, 1 - near, pose, shade(shirt, -0.2), skin, clothes, size)
    for side in (1 - near, near):
        _draw_leg(
            canvas,
            points,
            side,
            pose,
            trousers if side == near or not turned else shade(trousers, -0.2),
            skin,
            clothes,
            size,
        )
    canvas.limb([points[NECK], points[HEAD]], shade(skin, -0.1), 0.11 * size)
    _draw_torso(canvas, joints, pose, shirt, trousers, clothes, size)
    draw_head(canvas, person, points[HEAD], up, replace(face, heading_deg=pose.face_deg), size=size)
    if not turned:
        _draw_arm(canvas, points, 1 - near, pose, shirt, skin, clothes, size)
    _draw_arm(canvas, points, near, pose, shirt, skin, clothes, size)
    return points[HANDS[0]], points[HANDS[1]]


def joints_on(person: Person, x_m: float, y_m: float, pose: Pose) -> Joints:
    """The joints of a person in the coordinates of the room, (13, 2)."""
    joints = pose.joints
    if pose.roll_deg:
        turn = math.radians(pose.roll_deg)
        cos, sin = math.cos(turn), math.sin(turn)
        joints = joints @ np.array([[cos, sin], [-sin, cos]])
    return np.asarray((joints + pose.shift) * person.height + (x_m, y_m), np.float64)


def draw_hand(canvas: Canvas, person: Person, at: Point) -> None:
    """Draws a hand again, over the thing that it holds."""
    canvas.disc(*at, 0.05 * person.height, person.skin, outline=shade(person.skin, SKIN_LINE))


def _draw_arm(
    canvas: Canvas,
    points: Sequence[Point],
    side: int,
    pose: Pose,
    shirt: Colour,
    skin: Colour,
    clothes: Clothes,
    size: float,
) -> None:
    shoulder, hand = points[SHOULDERS[side]], points[HANDS[side]]
    elbow = _elbow(shoulder, hand, side, pose, size)
    line, skin_line = shade(shirt, -0.3), shade(skin, SKIN_LINE)
    if clothes.sleeves == "short":
        canvas.limb([elbow, hand], skin, 0.078 * size, outline=skin_line)
        canvas.disc(*hand, 0.05 * size, skin, outline=skin_line)
        canvas.limb([shoulder, elbow], shirt, 0.112 * size, outline=line)
    else:
        canvas.disc(*hand, 0.05 * size, skin, outline=skin_line)
        wrist = (elbow[0] + (hand[0] - elbow[0]) * 0.82, elbow[1] + (hand[1] - elbow[1]) * 0.82)
        canvas.limb([shoulder, elbow, wrist], shirt, 0.1 * size, outline=line)


def _elbow(shoulder: Point, hand: Point, side: int, pose: Pose, size: float) -> Point:
    mx, my = (shoulder[0] + hand[0]) / 2, (shoulder[1] + hand[1]) / 2
    dx, dy = hand[0] - shoulder[0], hand[1] - shoulder[1]
    length = math.hypot(dx, dy) or 1.0
    bend = math.sqrt(max(0.0, (ARM_M * size / 2) ** 2 - (length / 2) ** 2)) * 0.75
    nx, ny = dy / length, -dx / length
    # Elbows bend downwards, and away from the body.
    turn = math.radians(pose.heading_deg)
    outwards = (1.0 if side else -1.0) * math.cos(turn) - 0.5 * math.sin(turn)
    roll = math.radians(pose.roll_deg)
    cos, sin = math.cos(roll), math.sin(roll)
    if nx * (outwards * cos + 0.6 * sin) + ny * (outwards * sin - 0.6 * cos) < 0:
        nx, ny = -nx, -ny
    return mx + nx * bend, my + ny * bend


def _draw_leg(
    canvas: Canvas,
    points: Sequence[Point],
    side: int,
    pose: Pose,
    trousers: Colour,
    skin: Colour,
    clothes: Clothes,
    size: float,
) -> None:
    hip, knee, foot = points[HIPS[side]], points[KNEES[side]], points[FEET[side]]
    line = shade(trousers, -0.3)
    turn = math.radians(pose.heading_deg)
    roll = math.radians(pose.roll_deg)
    toe = 0.055 * math.sin(turn) + (0.02 if side else -0.02) * math.cos(turn)
    tx, ty = toe * math.cos(roll), toe * math.sin(roll)
    wide = 0.07 + 0.055 * abs(math.sin(turn))
    canvas.ellipse(
        foot[0] + tx * size,
        foot[1] + ty * size + 0.012,
        wide * size,
        0.05 * size,
        clothes.shoes,
        turn_deg=pose.roll_deg,
        outline=shade(clothes.shoes, -0.3),
    )
    if clothes.shorts:
        canvas.limb([knee, (foot[0], foot[1] + 0.04)], skin, 0.09 * size, outline=shade(skin, SKIN_LINE))
        low = (knee[0] + (foot[0] - knee[0]) * 0.12, knee[1] + (foot[1] - knee[1]) * 0.12)
        canvas.limb([hip, knee, low], trousers, 0.145 * size, outline=line)
    else:
        ankle = (knee[0] + (foot[0] - knee[0]) * 0.9, knee[1] + (foot[1] - knee[1]) * 0.9)
        canvas.limb([hip, knee, ankle], trousers, 0.135 * size, outline=line)


def _draw_torso(
    canvas: Canvas, joints: Joints, pose: Pose, shirt: Colour, trousers: Colour, clothes: Clothes, size: float
) -> None:
    hip, neck = joints[HIP], joints[NECK]
    axis = neck - hip
    across = np.array([axis[1], -axis[0]]) / (float(np.hypot(*axis)) or 1.0)
    turn = math.radians(pose.heading_deg)
    cos, sin = abs(math.cos(turn)), abs(math.sin(turn))
    top, waist, low = (
        (0.2 * cos + 0.135 * sin) * size,
        (0.16 * cos + 0.13 * sin) * size,
        (0.175 * cos + 0.14 * sin) * size,
    )
    bent = abs(pose.joints[KNEES[0]][1] - pose.joints[HIPS[0]][1]) < 0.25
    # The hip belongs to the trousers.
    seat = hip - axis * 0.1
    canvas.limb(
        [tuple(seat - across * low * 0.5), tuple(seat + across * low * 0.5)],
        trousers,
        0.15 * size,
        outline=shade(trousers, -0.3),
    )

    def at(side: float, along: float) -> NDArray[np.float64]:
        return np.asarray(hip + axis * along + across * side)

    hem = 0.07 if not clothes.flared else (-0.08 if bent else -0.42)
    wide = low if not clothes.flared or bent else low * 1.38
    along = np.array([1.03, 0.97, 0.82, 0.4, hem + 0.06, hem, hem, hem + 0.06, 0.4, 0.82, 0.97, 1.03])
    left = [-0.07 * size, -top * 0.92, -top, -waist, -wide, -wide * 0.94]
    sides = np.array([*left, *(-side for side in reversed(left))])
    edge = hip + axis * along[:, None] + across * sides[:, None]
    canvas.curve(edge, shirt, outline=shade(shirt, -0.3))
    if isinstance(canvas, Stencil):
        return
    _draw_pattern(canvas, at, clothes.pattern, shirt, (top, waist, wide), hem, size, math.sin(turn))
    collar = [at(-0.075 * size, 1.0), at(0.075 * size * math.sin(turn), 0.9), at(0.075 * size, 1.0)]
    canvas.line(np.array(collar), shade(shirt, -0.28), 0.018)


def _draw_pattern(
    canvas: Canvas,
    at: Callable[[float, float], NDArray[np.float64]],
    pattern: str,
    shirt: Colour,
    widths: tuple[float, float, float],
    hem: float,
    size: float,
    sideways: float,
) -> None:
    light = shade(shirt, 0.42) if sum(shirt) < 560 else shade(shirt, -0.22)
    top, waist, low = widths

    def half(along: float) -> float:
        if along > 0.4:
            return waist + (top - waist) * (along - 0.4) / 0.42
        return low + (waist - low) * (along - hem) / (0.4 - hem)

    if pattern == "stripes":
        along = hem + 0.14
        while along < 0.84:
            w = half(along) * 0.93
            canvas.line(np.array([at(-w, along), at(w, along)]), light, 0.03 * size)
            along += 0.17
    elif pattern == "dots":
        for row in range(4):
            along = hem + 0.12 + row * 0.22
            for column in (-0.55, 0.0, 0.55) if row % 2 else (-0.3, 0.3):
                if along < 0.9:
                    x, y = at(half(along) * column, along)
                    canvas.disc(float(x), float(y), 0.022 * size, light)
    elif pattern == "band":
        w = half(0.62) * 0.95
        canvas.line(np.array([at(-w, 0.62), at(w, 0.62)]), light, 0.085 * size)
    elif pattern == "buttons":
        middle = top * 0.55 * sideways
        for along in (0.2, 0.42, 0.64, 0.84):
            x, y = at(middle, along)
            canvas.disc(float(x), float(y), 0.016 * size, light)
    elif pattern == "cross":
        x, y = at(top * 0.35 * sideways, 0.55)
        canvas.disc(float(x), float(y), 0.062 * size, light)
        canvas.disc(float(x), float(y), 0.034 * size, shade(shirt, -0.2))
