"""Poses of the person between the beginning and the end of a step."""

import math
from dataclasses import replace

from reeltalk.video.canvas import Point
from reeltalk.world.figure import STRIDE_M, Pose, between, lying, sitting, smooth, standing_pose, walking, within_reach
from reeltalk.world.house import House, surface_height_m
from reeltalk.world.placing import DROP_M, place_of
from reeltalk.world.shots import path
from reeltalk.world.situation import AgentState, ProgramStep


def posed(house: House, step: ProgramStep, share: float) -> tuple[AgentState, float, float, Pose]:
    """How the person is seen in the course of a step.

    Args:
        house: The house.
        step: The step that the person does.
        share: How much of the step has passed, from 0 to 1.

    Returns:
        The person, where they stand along the room and how high above its floor in metres, and the pose.
    """
    before, after = step.before.agent, step.after.agent
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


def _resting(house: House, step: ProgramStep, agent: AgentState) -> tuple[Pose, float]:
    """The pose in which the person stays, and the height at which."""
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


def _walking(house: House, step: ProgramStep, share: float) -> tuple[AgentState, float, float, Pose]:
    before, after = step.before.agent, step.after.agent
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
    """Movements of hands and legs while the posture stays."""
    action, agent = step.command.action, step.after.agent
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
    """A hand moves to the object and back."""
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
    agent = step.after.agent
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


def _carrying(agent: AgentState) -> tuple[Point | None, Point | None]:
    """Where hands that carry something are held."""
    return (0.3, 1.14) if agent.right else None, (0.2, 1.08) if agent.left else None


def _with_hand(pose: Pose, step: ProgramStep, point: Point, share: float) -> Pose:
    """The hand that acts moved towards a point."""
    side = 1 if step.command.main is not None and step.command.main == step.after.agent.left else 0
    if step.command.action in ("grab", "open", "close", "switchOn", "switchOff", "touch") and step.before.agent.right:
        # The right hand is taken: the left one does it, also where both are.
        side = 1
    if step.command.action in ("put", "putIn") and step.command.main == step.before.agent.left:
        side = 1
    hands = list(pose.hands)
    x, y = hands[side]
    hands[side] = (x + (point[0] - x) * share, y + (point[1] - y) * share)
    return replace(pose, hands=(hands[0], hands[1]))


def _falling(first: Pose, second: Pose, share: float) -> Pose:
    # Knees give way, then the body goes down quickly.
    kneeling = standing_pose(lower=0.4)
    return between(first, kneeling, share * 3) if share < 0.33 else between(kneeling, second, (share - 0.33) * 3)
