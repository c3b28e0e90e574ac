"""Chooses the view of the camera from step to step: the whole room, or a nearer view of the person's action."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from reeltalk.world.house import DOOR_X_M, ROOM_WIDTH_M, House
from reeltalk.world.situation import ProgramStep

View = Literal["switching", "fixed"]
NEAR_WIDTH_M: Final = 4.6
FLOOR_BELOW_M: Final = 0.62
"""How much floor is seen in front of the back wall."""
MARGIN_M: Final = 0.75
"""Distance that the person keeps from the edge of a near view."""


def actor(step: ProgramStep) -> str:
    """Whoever acts in a step."""
    assert step.command.person is not None
    return step.command.person


@dataclass(frozen=True)
class CameraShot:
    """The part of a room that a camera shows without moving."""

    room: str
    left_m: float
    width_m: float


def plan_frames(
    house: House, steps: Sequence[ProgramStep], *, fps: int, view: View
) -> Iterator[tuple[float, ProgramStep, float, CameraShot]]:
    """The time and the content of each frame.

    Args:
        house: The house.
        steps: The steps to film.
        fps: Frames a second.
        view: How the camera moves.

    Yields:
        The frame's time in seconds, the current step, the share of it that has passed, and the view.
    """
    starts = [0.0]
    for step in steps:
        starts.append(starts[-1] + step.duration_s)
    shots = _shots(house, steps, view)
    index = 0
    for number in range(math.ceil(round(starts[-1] * fps, 6))):
        time_s = number / fps
        while index + 1 < len(steps) and time_s >= starts[index + 1] - 1e-9:
            index += 1
        share = (time_s - starts[index]) / steps[index].duration_s
        yield time_s, steps[index], share, shots[index][_part(house, steps[index], share)]


def _shots(house: House, steps: Sequence[ProgramStep], view: View) -> list[tuple[CameraShot, CameraShot]]:
    """The views of each step before and after the person changes rooms. A near view stays as long as it fits."""
    chosen: list[tuple[CameraShot, CameraShot]] = []
    last: CameraShot | None = None
    for step in steps:
        before, after = step.before.people[actor(step)], step.after.people[actor(step)]
        whole = [CameraShot(room, 0.0, ROOM_WIDTH_M) for room in (before.room, after.room)]
        if view == "fixed" or step.command.action == "walk":
            chosen.append((whole[0], whole[1]))
            last = None
            continue
        points = [before.x_m, after.x_m]
        top = 2.4 if step.command.action in ("jump", "stretch") else 1.85
        if step.command.main is not None and step.command.main in step.after.things:
            state = step.after.things[step.command.main]
            if state.room == after.room:
                points.append(state.x_m)
                kind = house.things[step.command.main].kind
                top = max(top, state.y_m + kind.height_m)
        near = _near(after.room, points, top, last)
        chosen.append((near, near))
        last = near
    return chosen


def _near(room: str, points: Sequence[float], top_m: float, last: CameraShot | None) -> CameraShot:
    low, high = min(points) - MARGIN_M, max(points) + MARGIN_M
    if last is not None and last.room == room and last.left_m <= low and high <= last.left_m + last.width_m:
        return last
    if high - low > NEAR_WIDTH_M or top_m > NEAR_WIDTH_M * 9 / 16 - FLOOR_BELOW_M:
        return CameraShot(room, 0.0, ROOM_WIDTH_M)
    left = min(max((low + high - NEAR_WIDTH_M) / 2, 0.0), ROOM_WIDTH_M - NEAR_WIDTH_M)
    return CameraShot(room, round(left, 2), NEAR_WIDTH_M)


def path(house: House, step: ProgramStep) -> list[tuple[float, float]]:
    """The parts of a walk, each within one room."""
    before, after = step.before.people[actor(step)], step.after.people[actor(step)]
    if before.room == after.room:
        return [(before.x_m, after.x_m)]
    out, into = DOOR_X_M[house.rooms[before.room].door], DOOR_X_M[house.rooms[after.room].door]
    return [(before.x_m, out), (into, after.x_m)]


def _part(house: House, step: ProgramStep, share: float) -> int:
    """0 before the person leaves the first room, 1 after."""
    if not step.moved_room:
        return 0
    lengths = [abs(b - a) for a, b in path(house, step)]
    walked = share * step.duration_s / max(step.duration_s - 0.3, 0.1) * sum(lengths)
    return int(walked > lengths[0])
