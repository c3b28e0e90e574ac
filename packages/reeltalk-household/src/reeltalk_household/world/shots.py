"""Chooses what the camera shows: which room, and how much of it, so that whatever takes effect is in the picture."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from reeltalk_household.world.house import ROOM_WIDTH_M, House
from reeltalk_household.world.placing import place_of
from reeltalk_household.world.situation import LATER, ProgramStep
from reeltalk_household.world.staging import Staging

View = Literal["switching", "fixed"]
FLOOR_BELOW_M: Final = 0.62
"""How much floor is seen in front of the back wall in a view of a whole room."""
ASPECT: Final = 9 / 16
NEAR_WIDTHS_M: Final = (3.5, 4.1, 4.7)
MARGIN_M: Final = 0.55
"""Distance of people from the edge of a near view."""
HOLD_S: Final = 0.5
"""How long the camera stays after something took effect, and looks before, if there is time."""
LEAST_S: Final = 0.25
"""Where less time is left before or after, what takes effect counts as not shown."""
SHOT_S: Final = 2.4
"""A near view lasts at least so long."""


@dataclass(frozen=True)
class CameraShot:
    """The part of a room that a camera shows without moving."""

    room: str
    left_m: float
    width_m: float
    bottom_m: float = -FLOOR_BELOW_M


@dataclass(frozen=True)
class _Wanted:
    """What has to be in the picture when a step takes effect."""

    room: str
    start_s: float
    effect_s: float
    left_m: float
    right_m: float
    low_m: float
    high_m: float
    walk: bool
    intimate: bool
    """Whether faces matter more than the room."""


def plan_shots(staging: Staging, *, view: View) -> list[tuple[float, CameraShot]]:
    """The views of a film, each with the second at which it begins.

    Args:
        staging: The program to film.
        view: `switching` has near views, `fixed` shows whole rooms.
    """
    steps = staging.steps
    cuts: list[tuple[float, CameraShot]] = []
    for number, (begin_s, first, last) in enumerate(staging.scenes):
        end_s = staging.scenes[number + 1][0] if number + 1 < len(staging.scenes) else staging.end_s
        cuts += _scene_views(staging, steps[first:last], begin_s, end_s, view)
    merged: list[tuple[float, CameraShot]] = []
    starts_s = {begin_s for begin_s, _, _ in staging.scenes}
    for start_s, shot in cuts:
        if merged and merged[-1][1] == shot and start_s not in starts_s:
            continue
        if merged and start_s <= merged[-1][0] + 1e-6:
            merged.pop()
        merged.append((start_s, shot))
    return merged


def _scene_views(
    staging: Staging, steps: Sequence[ProgramStep], begin_s: float, end_s: float, view: View
) -> list[tuple[float, CameraShot]]:
    house, cuts = staging.house, list[tuple[float, CameraShot]]()
    run: list[_Wanted] = []
    since_s = begin_s
    for step in steps:
        want = _wanted(staging, step)
        if not run:
            # A scene begins where somebody begins to act.
            first = min(steps, key=lambda step: step.start_s)
            room = _room_at_start(first, want.room)
            cut_s = _cut_s(begin_s, staging, step, want)
            if room != want.room and cut_s - begin_s >= SHOT_S / 2:
                since_s = cut_s
                cuts.append((begin_s, whole_room(house, room)))
            run = [want]
        elif want.room != run[-1].room:
            cut_s = _cut_s(run[-1].effect_s, staging, step, want)
            cuts += _views(house, run, since_s, cut_s, view)
            run, since_s = [want], cut_s
        else:
            run.append(want)
    return cuts + (_views(house, run, since_s, end_s, view) if run else [])


def on_camera(house: House, steps: Sequence[ProgramStep], *, view: View, begin_s: float = 0.0) -> list[bool]:
    """For each step, whether the picture shows the place where it takes effect when it does so.

    The place must be seen from a quarter of a second before to a quarter of a second after.

    Args:
        steps: The steps of a film or of one scene, in the order in which they take effect.
        view: How the camera moves.
        begin_s: When the first scene begins.
    """
    staging = Staging(house, steps, begin_s=begin_s)
    shots = plan_shots(staging, view=view)
    found = []
    for step in steps:
        if step.command.action == LATER:
            found.append(True)
            continue
        want = _wanted(staging, step)
        middle = (want.left_m + want.right_m) / 2
        seen = [shot_at(shots, want.effect_s + shift)[1] for shift in (-LEAST_S, 0.0, LEAST_S)]
        found.append(
            all(
                shot.room == want.room and shot.left_m <= middle <= shot.left_m + shot.width_m
                for shot in (seen if want.effect_s + LEAST_S < staging.end_s else seen[:2])
            )
        )
    return found


def shot_at(shots: Sequence[tuple[float, CameraShot]], time_s: float) -> tuple[float, CameraShot]:
    """The view at a time and the second at which it began."""
    current = shots[0]
    for begun in shots:
        if begun[0] > time_s + 1e-6:
            break
        current = begun
    return current


def whole_room(house: House, room: str) -> CameraShot:
    """The view of a whole room. Rooms of a house are seen from slightly different distances."""
    width = random.Random(f"view {house.number} {room}").choice((ROOM_WIDTH_M, 6.6, 6.8))
    return CameraShot(
        room, round((ROOM_WIDTH_M - width) / 2, 3), width, round(-FLOOR_BELOW_M * width / ROOM_WIDTH_M, 3)
    )


def _room_at_start(first: ProgramStep, otherwise: str) -> str:
    person = first.command.person
    return first.before.people[person].room if person is not None else otherwise


def _wanted(staging: Staging, step: ProgramStep) -> _Wanted:
    command, after = step.command, step.after
    xs: list[float] = []
    lows, highs = [0.75], [1.8]
    if command.person is not None:
        room = after.people[command.person].room
        xs.append(staging.standing(command.person, step.effect_s).x_m)
        if command.action != "walk":
            xs.append(staging.standing(command.person, step.start_s).x_m)
    else:
        room = next(
            (after.things[n].room for n in filter(None, (command.main, *command.targets)) if n in after.things),
            next(iter(after.people.values())).room,
        )
        if command.main in staging.house.rooms:
            room = str(command.main)
    for name in filter(None, (command.main, *command.targets)):
        if name in after.people and after.people[name].room == room:
            xs.append(staging.standing(name, step.effect_s).x_m)
        elif name in after.things and after.things[name].room == room:
            for situation in (step.before, after):
                if situation.things[name].room == room and situation.holder(name) is None:
                    x_m, y_m = place_of(staging.house, situation, name)
                    half = min(staging.house.things[name].width_m / 2, 0.4)
                    xs += [x_m - half, x_m + half]
                    lows.append(y_m)
                    highs.append(y_m + staging.house.things[name].height_m)
    xs = xs or [ROOM_WIDTH_M / 2]
    if command.action in ("jump", "stretch", "dance", "climb", "throw"):
        lows.append(0.0)
        highs.append(2.3)
    if command.says is not None:
        highs.append(2.25)
    return _Wanted(
        room,
        step.start_s,
        step.effect_s,
        min(xs),
        max(xs),
        min(lows),
        max(highs),
        command.action == "walk",
        command.says is not None or command.action in ("smile", "frown", "scowl", "gasp", "calm", "comfort", "hug"),
    )


def _cut_s(before_s: float, staging: Staging, step: ProgramStep, want: _Wanted) -> float:
    """When the camera leaves a room for the next effect: when that begins, after a look at the last one."""
    best = want.start_s
    if step.moved_room:
        best = staging.entered_s(step)
    low, high = before_s + HOLD_S, want.effect_s - HOLD_S
    return (before_s + want.effect_s) / 2 if low > high else min(max(best, low), high)


def _views(
    house: House, run: Sequence[_Wanted], begin_s: float, end_s: float, view: View
) -> list[tuple[float, CameraShot]]:
    """The views of one room between two cuts."""
    whole = whole_room(house, run[0].room)
    if view == "fixed":
        return [(begin_s, whole)]
    draw = random.Random(f"shots {house.number} {run[0].room} {begin_s:.2f}")
    groups: list[list[_Wanted]] = []
    for want in run:
        together = [*groups[-1], want] if groups else [want]
        last_s = groups[-1][0].start_s if groups else begin_s
        if groups and (_near(want.room, together, None) is not None or want.effect_s - last_s < SHOT_S):
            groups[-1].append(want)
        else:
            groups.append([want])
    views: list[tuple[float, CameraShot]] = []
    for index, group in enumerate(groups):
        start_s = begin_s
        if index:
            before_s = groups[index - 1][-1].effect_s
            low, high = before_s + HOLD_S, group[0].effect_s - HOLD_S
            start_s = (before_s + group[0].effect_s) / 2 if low > high else min(max(group[0].start_s, low), high)
        upto_s = end_s if index + 1 == len(groups) else groups[index + 1][0].start_s
        near = _near(group[0].room, group, draw)
        walks = any(want.walk for want in group)
        stays = upto_s - start_s >= SHOT_S * 0.6
        take = near is not None and stays and not walks and draw.random() < (0.9 if group[0].intimate else 0.7)
        views.append((start_s, near if take and near is not None else whole))
    return views


def _near(room: str, group: Sequence[_Wanted], draw: random.Random | None) -> CameraShot | None:
    """A near view that holds all that is wanted; None if there is none."""
    low = min(want.left_m for want in group) - MARGIN_M
    high = max(want.right_m for want in group) + MARGIN_M
    bottom = min(want.low_m for want in group) - 0.12
    top = max(want.high_m for want in group) + 0.08
    widths = [w for w in NEAR_WIDTHS_M if w >= high - low and w * ASPECT >= top - bottom]
    if not widths or any(want.walk for want in group):
        return None
    width = widths[0] if draw is None or group[0].intimate else draw.choice(widths)
    height = width * ASPECT
    spare = height - (top - bottom)
    # As much floor as is left, but not more than in the view of the whole room.
    base = max(bottom - spare * 0.75, -0.55)
    middle = (low + high) / 2 + (draw.uniform(-0.2, 0.2) if draw is not None else 0.0) * (width - (high - low))
    left = min(max(middle - width / 2, -0.1), ROOM_WIDTH_M + 0.1 - width)
    return CameraShot(room, round(left, 2), width, round(base, 2))


def frame_numbers(end_s: float, fps: int) -> range:
    """Numbers of the frames of a film."""
    return range(math.ceil(round(end_s * fps, 6)))
