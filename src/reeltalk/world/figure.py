"""The person: positions of the joints, poses between the beginning and the end of a step, and their drawing."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from reeltalk.video.canvas import Canvas, Point
from reeltalk.world.house import House, Person, surface_height_m
from reeltalk.world.kinds import INK, named, shade
from reeltalk.world.placing import DROP_M, place_of
from reeltalk.world.shots import actor, path
from reeltalk.world.situation import PersonState, ProgramStep

ARM_M: Final = 0.66
HIP_M: Final = 0.92
TORSO_M: Final = 0.5
STRIDE_M: Final = 0.62
HEAD_M: Final = 0.135


@dataclass(frozen=True)
class Pose:
    """Positions of the joints in metres, from the point on the floor below the hip; x runs forwards."""

    hip: Point = (0.0, HIP_M)
    neck: Point = (0.0, HIP_M + TORSO_M)
    head: Point = (0.03, HIP_M + TORSO_M + 0.19)
    knees: tuple[Point, Point] = ((0.04, 0.47), (-0.01, 0.47))
    feet: tuple[Point, Point] = ((0.07, 0.03), (-0.07, 0.03))
    hands: tuple[Point, Point] = ((0.1, 0.8), (-0.06, 0.8))
    """Right and left."""
    eyes_shut: bool = False


def standing_pose(hands: tuple[Point, Point] | None = None, *, lower: float = 0.0, lift: float = 0.0) -> Pose:
    """Upright; `lower` bends the knees, `lift` raises the feet from the floor."""
    hip = HIP_M - lower
    bend = 0.04 + lower * 0.75
    middle = 0.47 - lower * 0.4
    return Pose(
        hip=(-lower * 0.35, hip + lift),
        neck=(lower * 0.1, hip + TORSO_M + lift),
        head=(0.03 + lower * 0.15, hip + TORSO_M + 0.19 + lift),
        knees=((bend, middle + lift), (bend - 0.05, middle + lift)),
        feet=((0.07, 0.03 + lift), (-0.07, 0.03 + lift)),
        hands=hands or ((0.12, hip - 0.1 + lift), (-0.06, hip - 0.1 + lift)),
    )


def walking(phase: float, hands: tuple[Point | None, Point | None]) -> Pose:
    """In mid-stride; `phase` in steps taken. Hands that carry something do not swing."""
    swing = math.sin(phase * math.pi)
    lift = math.cos(phase * math.pi)
    feet = (
        (0.3 * swing, 0.03 + 0.1 * max(0.0, lift)),
        (-0.3 * swing, 0.03 + 0.1 * max(0.0, -lift)),
    )
    knees = (
        (0.16 * swing + 0.06 + 0.06 * max(0.0, lift), 0.48 + 0.03 * max(0.0, lift)),
        (-0.16 * swing + 0.06 + 0.06 * max(0.0, -lift), 0.48 + 0.03 * max(0.0, -lift)),
    )
    bob = 0.02 * abs(lift)
    free = ((-0.24 * swing + 0.04, 0.86), (0.24 * swing + 0.02, 0.86))
    return Pose(
        hip=(0.0, HIP_M - 0.03 + bob),
        neck=(0.04, HIP_M + TORSO_M - 0.03 + bob),
        head=(0.08, HIP_M + TORSO_M + 0.16 + bob),
        knees=knees,
        feet=feet,
        hands=(hands[0] or free[0], hands[1] or free[1]),
    )


def sitting(height_m: float, hands: tuple[Point, Point]) -> Pose:
    """On a seat of the given height, with the feet on the floor."""
    hip = height_m + 0.1
    return Pose(
        hip=(0.0, hip),
        neck=(-0.03, hip + TORSO_M),
        head=(0.01, hip + TORSO_M + 0.19),
        knees=((0.44, hip + 0.02), (0.4, hip)),
        feet=((0.46, 0.03), (0.4, 0.03)),
        hands=hands,
    )


def lying(height_m: float, *, asleep: bool) -> Pose:
    """On the back, with the head behind the person, at the given height."""
    y = height_m + 0.12
    return Pose(
        hip=(0.1, y),
        neck=(-0.42, y + 0.03),
        head=(-0.62, y + 0.08),
        knees=((0.5, y + 0.04), (0.5, y)),
        feet=((0.9, y + 0.02), (0.9, y - 0.02)),
        hands=((0.0, y + 0.09), (-0.1, y + 0.05)),
        eyes_shut=asleep,
    )


def between(first: Pose, second: Pose, share: float) -> Pose:
    """A pose between two poses; `share` from 0 to 1."""
    s = smooth(share)

    def mix(a: Point, b: Point) -> Point:
        return (a[0] + (b[0] - a[0]) * s, a[1] + (b[1] - a[1]) * s)

    def both(a: tuple[Point, Point], b: tuple[Point, Point]) -> tuple[Point, Point]:
        return mix(a[0], b[0]), mix(a[1], b[1])

    return Pose(
        hip=mix(first.hip, second.hip),
        neck=mix(first.neck, second.neck),
        head=mix(first.head, second.head),
        knees=both(first.knees, second.knees),
        feet=both(first.feet, second.feet),
        hands=both(first.hands, second.hands),
        eyes_shut=second.eyes_shut if share > 0.5 else first.eyes_shut,
    )


def smooth(share: float) -> float:
    """Maps a share to a share that is slow at both ends. The result is between 0 and 1."""
    s = min(max(share, 0.0), 1.0)
    return s * s * (3 - 2 * s)


def shoulder_of(pose: Pose) -> Point:
    """The shoulders, where the arms start."""
    dx, dy = pose.neck[0] - pose.hip[0], pose.neck[1] - pose.hip[1]
    return pose.hip[0] + dx * 0.9, pose.hip[1] + dy * 0.9


def within_reach(pose: Pose, point: Point) -> Point:
    """The point within an arm's length that is nearest to `point`."""
    sx, sy = shoulder_of(pose)
    dx, dy = point[0] - sx, point[1] - sy
    length = math.hypot(dx, dy)
    if length <= ARM_M:
        return point
    return sx + dx / length * ARM_M, sy + dy / length * ARM_M


def _elbow(shoulder: Point, hand: Point) -> Point:
    mx, my = (shoulder[0] + hand[0]) / 2, (shoulder[1] + hand[1]) / 2
    dx, dy = hand[0] - shoulder[0], hand[1] - shoulder[1]
    length = math.hypot(dx, dy) or 1.0
    bend = math.sqrt(max(0.0, (ARM_M / 2) ** 2 - (length / 2) ** 2)) * 0.8
    # Elbows bend downwards and to the back.
    nx, ny = dy / length, -dx / length
    if ny > 0 or (ny == 0 and nx > 0):
        nx, ny = -nx, -ny
    return mx + nx * bend, my + ny * bend


def draw_person(canvas: Canvas, person: Person, x_m: float, y_m: float, facing: int, pose: Pose) -> tuple[Point, Point]:
    """Draws the person.

    Args:
        canvas: The canvas, in metres.
        person: Their looks.
        x_m: Position of the person along the room, in metres.
        y_m: Height of their support.
        facing: 1 to the right, -1 to the left.
        pose: Positions of the joints.

    Returns:
        Positions of the right and the left hand on the canvas.
    """

    def at(point: Point) -> Point:
        return x_m + facing * point[0], y_m + point[1]

    shirt, trousers = named(person.shirt), named(person.trousers)
    hair, skin = named(person.hair), person.skin
    shoulder = shoulder_of(pose)
    far, near = shade(trousers, -0.22), trousers

    def leg(side: int, colour: tuple[int, int, int]) -> None:
        knee, foot = pose.knees[side], pose.feet[side]
        canvas.limb([at(pose.hip), at(knee), at(foot)], colour, 0.145)
        fx, fy = at(foot)
        canvas.ellipse(fx + facing * 0.06, fy + 0.01, 0.12, 0.05, (70, 62, 60))

    def arm(side: int, colour: tuple[int, int, int]) -> None:
        hand = pose.hands[side]
        elbow = _elbow(shoulder, hand)
        canvas.limb([at(shoulder), at(elbow)], colour, 0.11)
        canvas.limb([at(elbow), at(hand)], shade(skin, -0.06 if side else 0.0), 0.085)
        canvas.disc(*at(hand), 0.06, skin)

    arm(1, shade(shirt, -0.25))
    leg(1, far)
    leg(0, near)
    canvas.limb([at(pose.hip), at(shoulder)], shirt, 0.3)
    canvas.limb([at(shoulder), at(pose.neck)], shirt, 0.2)
    canvas.limb([at(pose.neck), at(pose.head)], skin, 0.1)
    _head(canvas, at, pose, hair, skin)
    arm(0, shade(shirt, -0.08))
    return at(pose.hands[0]), at(pose.hands[1])


def _head(
    canvas: Canvas,
    at: Callable[[Point], Point],
    pose: Pose,
    hair: tuple[int, int, int],
    skin: tuple[int, int, int],
) -> None:
    up = (pose.head[0] - pose.neck[0], pose.head[1] - pose.neck[1])
    length = math.hypot(*up) or 1.0
    ux, uy = up[0] / length, up[1] / length
    # The face looks along the room.
    ax, ay = (uy, -ux) if uy > 0.5 or abs(ux) < abs(uy) else (0.0, 1.0)
    if abs(ux) >= abs(uy):
        # Lying: the face looks up.
        ax, ay = 0.0, 1.0

    def shifted(across: float, along: float) -> Point:
        x, y = pose.head[0] + ax * across + ux * along, pose.head[1] + ay * across + uy * along
        return at((x, y))

    canvas.disc(*shifted(-0.035, 0.035), HEAD_M + 0.012, hair)
    canvas.disc(*shifted(0.01, -0.01), HEAD_M - 0.01, skin)
    canvas.limb([shifted(-0.06, 0.1), shifted(0.07, 0.105)], hair, 0.075)
    eye = shifted(0.075, 0.012)
    if pose.eyes_shut:
        canvas.line([shifted(0.05, 0.0), shifted(0.1, 0.0)], INK, 0.014)
    else:
        canvas.disc(*eye, 0.018, INK)
    canvas.line([shifted(0.06, -0.06), shifted(0.105, -0.052)], (168, 84, 78), 0.016)
    canvas.disc(*shifted(0.13, -0.012), 0.022, shade(skin, -0.08))


def posed(house: House, step: ProgramStep, share: float) -> tuple[PersonState, float, float, Pose]:
    """The state and the pose of the person at a moment of a step.

    Args:
        house: The house.
        step: The step that the person does.
        share: How much of the step has passed, from 0 to 1.

    Returns:
        The person's state, their position along the room and their height above its floor in metres, and the pose.
    """
    before, after = step.before.people[actor(step)], step.after.people[actor(step)]
    if step.command.action == "walk":
        return _walking(house, step, share)
    posed = replace(after, facing=after.facing)
    x_m = before.x_m + (after.x_m - before.x_m) * smooth(share * 1.6)
    first, y_first = _resting(house, step, before)
    second, y_second = _resting(house, step, after)
    y_m = y_first + (y_second - y_first) * smooth(share * 1.6)
    if before.posture != after.posture:
        if after.posture == "fallen":
            return posed, x_m, y_m, _falling(first, second, share)
        return posed, x_m, y_m, between(first, second, share * 1.4)
    return posed, x_m, y_m, _acting(house, step, second, share)


def _resting(house: House, step: ProgramStep, agent: PersonState) -> tuple[Pose, float]:
    """The pose in which the person rests, and the height of the support."""
    carry = _carrying(agent)
    if agent.posture == "sit" and agent.seat:
        seat = house.things[agent.seat]
        height = {"toilet": 0.42, "chair": 0.48, "bed": 0.5, "sofa": 0.45}.get(seat.class_name, 0.48)
        lap = ((0.36, height + 0.28), (0.3, height + 0.26))
        hands = ((carry[0] and (0.34, height + 0.4)) or lap[0], (carry[1] and (0.3, height + 0.36)) or lap[1])
        return sitting(height, hands), -DROP_M.get(seat.layer, 0.0)
    if agent.posture == "lie" and agent.seat:
        asleep = step.command.action == "sleep"
        return lying({"bed": 0.5, "sofa": 0.46}.get(house.things[agent.seat].class_name, 0.5), asleep=asleep), 0.0
    if agent.posture == "fallen":
        return lying(-0.1, asleep=False), 0.0
    height = 0.0
    if agent.posture == "climbed" and agent.seat:
        seat = house.things[agent.seat]
        height = surface_height_m(seat) - DROP_M.get(seat.layer, 0.0)
    base = standing_pose()
    return replace(base, hands=(carry[0] or base.hands[0], carry[1] or base.hands[1])), height


def _walking(house: House, step: ProgramStep, share: float) -> tuple[PersonState, float, float, Pose]:
    before, after = step.before.people[actor(step)], step.after.people[actor(step)]
    ways = path(house, step)
    walked = share * step.duration_s / max(step.duration_s - 0.3, 0.1) * sum(abs(b - a) for a, b in ways)
    for part, (start, end) in enumerate(ways):
        length = abs(end - start)
        if walked <= length or part == len(ways) - 1:
            done = min(walked, length)
            direction = 1 if end > start else -1
            x_m = start + direction * done
            carry = _carrying(before)
            agent = replace(after, facing=direction)
            if done >= length and part == len(ways) - 1:
                return replace(after), end, 0.0, _resting(house, step, after)[0]
            return agent, x_m, 0.0, walking(done / STRIDE_M, carry)
        walked -= length
    raise AssertionError("a path has at least one part")


def _acting(house: House, step: ProgramStep, rest: Pose, share: float) -> Pose:
    """Movements of hands and legs in a posture."""
    action, agent = step.command.action, step.after.people[actor(step)]
    wave = math.sin(share * step.duration_s * 2 * math.pi)
    if action in ("grab", "put", "putIn", "open", "close", "switchOn", "switchOff", "touch"):
        return _reaching(house, step, rest, share)
    if action in ("wipe", "scrub", "cut", "pour", "type"):
        return _reaching(house, step, rest, 0.5, sway=0.12 * wave)
    if action in ("drink", "eat", "brush"):
        mouth = (rest.head[0] + 0.15, rest.head[1] - 0.12 + (0.04 * wave if action == "brush" else 0.0))
        lift = smooth(min(share, 1 - share) * 5)
        return _with_hand(rest, step, mouth, lift)
    if action in ("read", "write", "text", "squeeze", "shake", "fold", "rinse", "soak", "wash"):
        quick = {"shake": 0.12, "wash": 0.06, "rinse": 0.06, "write": 0.04, "squeeze": 0.04, "fold": 0.08}
        front = (rest.neck[0] + 0.38, rest.neck[1] - 0.2 + quick.get(action, 0.015) * wave)
        both = replace(rest, hands=(rest.hands[0], (front[0] - 0.06, front[1] - 0.02)))
        if agent.left is not None:
            both = rest
        return _with_hand(both, step, front, smooth(min(share, 1 - share) * 6))
    if action == "squat":
        lower = 0.4 * math.sin(share * math.pi)
        return standing_pose(((0.42, 1.2 - lower), (0.4, 1.16 - lower)), lower=lower)
    if action == "jump":
        up = math.sin(share * math.pi)
        return standing_pose(((0.26, 1.75), (-0.22, 1.75)), lift=0.34 * up) if up > 0.25 else standing_pose(lower=0.12)
    if action == "stretch":
        lean = 0.22 * wave
        pose = standing_pose(((lean + 0.1, 1.98), (lean - 0.05, 1.98)))
        return replace(pose, neck=(lean * 0.4, pose.neck[1]), head=(lean * 0.6 + 0.03, pose.head[1]))
    if action == "dance":
        side = 0.16 * wave
        pose = standing_pose(((0.36 + side, 1.5 + side), (-0.3 + side, 1.5 - side)), lower=0.06 + 0.05 * abs(wave))
        return replace(pose, feet=((0.16, 0.03 + max(0.0, side) * 0.5), (-0.16, 0.03 + max(0.0, -side) * 0.5)))
    return rest


def _reaching(house: House, step: ProgramStep, rest: Pose, share: float, *, sway: float = 0.0) -> Pose:
    """Moves a hand to the object and back."""
    names = [n for n in (*step.command.targets, step.command.main) if n in step.after.things]
    if not names:
        return rest
    action = step.command.action
    name = (
        step.command.main if action in ("grab", "open", "close", "switchOn", "switchOff", "touch", "type") else names[0]
    )
    assert name is not None
    situation = step.before if action == "grab" else step.after
    x_m, y_m = place_of(house, situation, name)
    agent = step.after.people[actor(step)]
    if action == "put":
        x_m, y_m = place_of(house, step.after, step.command.main or name)
    height = house.things[name].kind.height_m
    aim = y_m + min(height * 0.6, 1.0) + sway * 0.3
    local = ((x_m - agent.x_m) * agent.facing + sway, aim - _resting(house, step, agent)[1])
    low = max(0.0, 0.75 - aim)
    bent = standing_pose(rest.hands, lower=min(0.45, low * 0.7)) if agent.posture == "stand" and low > 0 else rest
    pose = between(rest, bent, min(share, 1 - share) * 3)
    hand = within_reach(pose, local)
    return _with_hand(pose, step, hand, smooth(min(share, 1 - share) * 3))


def _carrying(agent: PersonState) -> tuple[Point | None, Point | None]:
    """Positions of hands that carry something."""
    return (0.3, 1.14) if agent.right else None, (0.2, 1.08) if agent.left else None


def _with_hand(pose: Pose, step: ProgramStep, point: Point, share: float) -> Pose:
    """The hands, with the acting hand moved towards a point."""
    side = 1 if step.command.main is not None and step.command.main == step.after.people[actor(step)].left else 0
    if (
        step.command.action in ("grab", "open", "close", "switchOn", "switchOff", "touch")
        and step.before.people[actor(step)].right
    ):
        # If the right hand holds something, the left one acts, even if both hold something.
        side = 1
    if step.command.action in ("put", "putIn") and step.command.main == step.before.people[actor(step)].left:
        side = 1
    hands = list(pose.hands)
    x, y = hands[side]
    hands[side] = (x + (point[0] - x) * share, y + (point[1] - y) * share)
    return replace(pose, hands=(hands[0], hands[1]))


def _falling(first: Pose, second: Pose, share: float) -> Pose:
    # The knees give way, then the body falls quickly.
    kneeling = standing_pose(lower=0.4)
    return between(first, kneeling, share * 3) if share < 0.33 else between(kneeling, second, (share - 0.33) * 3)
