"""Steps as frames: what a camera in the house sees at each moment.

`switching` cuts between the whole room and a nearer view of what the person does, and with the person from room to
room; `fixed` always shows the whole room. Frames depend on nothing but the house, the steps and the view.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from reeltalk.graph.vocabulary import AGENT, class_of, plain_name
from reeltalk.schema.knowledge import Box
from reeltalk.video.canvas import Canvas, Picture, Point, Stencil
from reeltalk.world.drawing import paint
from reeltalk.world.figure import (
    STRIDE_M,
    Pose,
    between,
    draw,
    lying,
    sitting,
    smooth,
    standing,
    walking,
    within_reach,
)
from reeltalk.world.house import DOOR_X_M, KINDS, ROOM_HEIGHT_M, ROOM_WIDTH_M, House, surface_height_m
from reeltalk.world.palette import GLOW, INK, PORCELAIN, SKY, shade
from reeltalk.world.simulation import AgentState, Situation, Step

View = Literal["switching", "fixed"]
NEAR_WIDTH_M: Final = 4.6
FLOOR_BELOW_M: Final = 0.62
"""How much floor is seen before the back wall's foot."""
DROP_M: Final = {"front": 0.4, "floor": 0.3}
"""How much lower what stands before the back wall is seen."""
MARGIN_M: Final = 0.75
"""Space that the person keeps to the edge of a near view."""
MOST_SHOWN_INSIDE: Final = 6
SMALLEST_SEEN_PX: Final = 24
"""An object that shows fewer pixels is not seen: at 640 pixels across that is a fifth of a toothbrush."""


@dataclass(frozen=True)
class Shot:
    """A part of a room that is seen without moving the camera."""

    room: str
    left_m: float
    width_m: float


@dataclass(frozen=True)
class Moment:
    """One frame to draw."""

    time_s: float
    step: int
    shot: Shot


class Camera:
    """Films steps in a house.

    Args:
        house: Where.
        width_px: Width of the pictures, 320 to 1280.
        fps: Frames a second.
        view: How the camera moves.
        labels: Write the names of objects on them.
    """

    def __init__(
        self, house: House, *, width_px: int = 640, fps: int = 10, view: View = "switching", labels: bool = False
    ) -> None:
        self.house, self.width_px, self.fps, self.view, self.labels = house, width_px, fps, view, labels
        self.height_px = round(width_px * 9 / 16) // 2 * 2
        self._painted: tuple[object, Picture] | None = None
        self._stencilled: tuple[object, NDArray[np.int16]] | None = None

    def film(self, steps: Sequence[Step]) -> Iterator[tuple[float, Picture]]:
        """Every frame of the steps with its time in seconds from the first step's start.

        The pictures are (H, W, 3) uint8 RGB, each its own copy.
        """
        for time_s, step, share, shot in self._moments(steps):
            yield time_s, self.picture(step, share, shot)

    def boxes(self, steps: Sequence[Step], *, fps: float) -> Iterator[tuple[float, str, Box]]:
        """What is to be seen where: of the first frame at or after each time of a grid, in the order of time and name.

        Args:
            steps: What is filmed.
            fps: Times a second, at most the frames a second of the film.

        Yields:
            The frame's time in seconds, the object's name, and the box around what shows of it.
        """
        due = 0.0
        for time_s, step, share, shot in self._moments(steps):
            if time_s >= due - 1e-9:
                due = (math.floor(time_s * fps + 1e-6) + 1) / fps
                for name, box in self.seen(step, share, shot).items():
                    yield time_s, name, box

    def _moments(self, steps: Sequence[Step]) -> Iterator[tuple[float, Step, float, Shot]]:
        starts = [0.0]
        for step in steps:
            starts.append(starts[-1] + step.duration_s)
        shots = self._shots(steps)
        index = 0
        for number in range(math.ceil(round(starts[-1] * self.fps, 6))):
            time_s = number / self.fps
            while index + 1 < len(steps) and time_s >= starts[index + 1] - 1e-9:
                index += 1
            share = (time_s - starts[index]) / steps[index].duration_s
            yield time_s, steps[index], share, shots[index][_part(self.house, steps[index], share)]

    def _shots(self, steps: Sequence[Step]) -> list[tuple[Shot, Shot]]:
        """The view of each step before and after the person changed rooms; a near view is kept while it serves."""
        chosen: list[tuple[Shot, Shot]] = []
        last: Shot | None = None
        for step in steps:
            before, after = step.before.agent, step.after.agent
            whole = [Shot(room, 0.0, ROOM_WIDTH_M) for room in (before.room, after.room)]
            if self.view == "fixed" or step.command.action == "walk":
                chosen.append((whole[0], whole[1]))
                last = None
                continue
            points = [before.x_m, after.x_m]
            top = 2.4 if step.command.action in ("jump", "stretch") else 1.85
            if step.command.main is not None and step.command.main in step.after.things:
                state = step.after.things[step.command.main]
                if state.room == after.room:
                    points.append(state.x_m)
                    kind = self.house.things[step.command.main].kind
                    top = max(top, state.y_m + kind.height_m)
            near = self._near(after.room, points, top, last)
            chosen.append((near, near))
            last = near
        return chosen

    def _near(self, room: str, points: Sequence[float], top_m: float, last: Shot | None) -> Shot:
        low, high = min(points) - MARGIN_M, max(points) + MARGIN_M
        if last is not None and last.room == room and last.left_m <= low and high <= last.left_m + last.width_m:
            return last
        if high - low > NEAR_WIDTH_M or top_m > NEAR_WIDTH_M * 9 / 16 - FLOOR_BELOW_M:
            return Shot(room, 0.0, ROOM_WIDTH_M)
        left = min(max((low + high - NEAR_WIDTH_M) / 2, 0.0), ROOM_WIDTH_M - NEAR_WIDTH_M)
        return Shot(room, round(left, 2), NEAR_WIDTH_M)

    def picture(self, step: Step, share: float, shot: Shot) -> Picture:
        """One frame.

        Args:
            step: The step that goes on.
            share: How much of it has passed, from 0 to 1.
            shot: What is seen.
        """
        situation = step.before if share < 0.5 or step.command.action == "walk" else step.after
        seen = self._background(situation, shot)
        canvas = self._canvas(shot, seen.copy())
        agent, x_m, y_m, pose = self._pose(step, share, shot.room)
        if agent is not None:
            hands = draw(canvas, self.house.person, x_m, y_m, agent.facing, pose)
            self._held(canvas, situation, hands)
        self._layer(canvas, situation, shot.room, "front")
        if not self._lit(situation, shot.room):
            canvas.darken(0.5)
        return canvas.pixels

    def seen(self, step: Step, share: float, shot: Shot) -> dict[str, Box]:
        """Boxes around what shows of each object and of the person (`character1`) in a frame, by name in order.

        What stands behind something else, outside of the picture or in what is closed is left out.
        """
        situation = step.before if share < 0.5 or step.command.action == "walk" else step.after
        names = [AGENT, *sorted(situation.things)]
        number_of = {name: number for number, name in enumerate(names, start=1)}
        stencil = Stencil(
            self.width_px,
            self.height_px,
            scale=self.width_px / shot.width_m,
            left=shot.left_m,
            bottom=-FLOOR_BELOW_M,
        )
        # As the painted background, so is what lies where in it kept until something changes.
        key = (id(situation.things), shot)
        if self._stencilled is None or self._stencilled[0] != key:
            for layer in ("wall", "back", "floor"):
                self._layer(stencil, situation, shot.room, layer, number_of)
            self._stencilled = (key, stencil.numbers.copy())
        else:
            stencil.numbers[:] = self._stencilled[1]
        agent, x_m, y_m, pose = self._pose(step, share, shot.room)
        if agent is not None:
            stencil.number = number_of[AGENT]
            hands = draw(stencil, self.house.person, x_m, y_m, agent.facing, pose)
            self._held(stencil, situation, hands, number_of)
        self._layer(stencil, situation, shot.room, "front", number_of)
        return {
            names[number - 1]: Box(
                left=left / self.width_px,
                top=top / self.height_px,
                right=right / self.width_px,
                bottom=bottom / self.height_px,
            )
            for number, (left, top, right, bottom) in sorted(
                stencil.boxes(smallest_px=SMALLEST_SEEN_PX).items(), key=lambda found: names[found[0] - 1]
            )
        }

    def _canvas(self, shot: Shot, pixels: Picture | None = None) -> Canvas:
        return Canvas(
            self.width_px,
            self.height_px,
            scale=self.width_px / shot.width_m,
            left=shot.left_m,
            bottom=-FLOOR_BELOW_M,
            pixels=pixels,
        )

    def _lit(self, situation: Situation, room: str) -> bool:
        lamps = {"lightswitch", "floorlamp", "tablelamp"}
        return any(
            "ON" in state.values
            for name, state in situation.things.items()
            if state.room == room and class_of(name) in lamps
        )

    # What does not move is painted once and kept until something changes.
    def _background(self, situation: Situation, shot: Shot) -> Picture:
        key = (id(situation.things), shot)
        if self._painted is None or self._painted[0] != key:
            canvas = self._canvas(shot)
            self._walls(canvas, shot.room)
            for layer in ("wall", "back", "floor"):
                self._layer(canvas, situation, shot.room, layer)
            self._painted = (key, canvas.pixels)
        return self._painted[1]

    def _walls(self, canvas: Canvas, room: str) -> None:
        spec = self.house.rooms[room]
        canvas.rectangle(-1, 0, ROOM_WIDTH_M + 2, ROOM_HEIGHT_M + 1, spec.wall)
        canvas.rectangle(-1, -1, ROOM_WIDTH_M + 2, 1.0, spec.floor)
        if spec.class_name in ("kitchen", "bathroom"):
            if spec.class_name == "bathroom":
                canvas.rectangle(-1, 0, ROOM_WIDTH_M + 2, 1.45, shade(spec.wall, 0.45))
                for n in range(24):
                    canvas.line([(n * 0.3, 0), (n * 0.3, 1.45)], shade(spec.wall, -0.06), 0.01)
                for n in range(1, 5):
                    canvas.line([(-1, n * 0.3), (ROOM_WIDTH_M + 1, n * 0.3)], shade(spec.wall, -0.06), 0.01)
            for n in range(-4, 30):
                canvas.line([(n * 0.4, 0), (n * 0.4 - 0.25, -0.5)], shade(spec.floor, -0.12), 0.012)
            canvas.line([(-1, -0.2), (ROOM_WIDTH_M + 1, -0.2)], shade(spec.floor, -0.12), 0.012)
        else:
            for n in range(1, 4):
                canvas.line([(-1, -0.13 * n), (ROOM_WIDTH_M + 1, -0.13 * n)], shade(spec.floor, -0.14), 0.012)
        canvas.rectangle(-1, 0, ROOM_WIDTH_M + 2, 0.09, shade(spec.wall, 0.6))
        canvas.line([(-1, 0), (ROOM_WIDTH_M + 1, 0)], shade(spec.floor, -0.35), 0.02)
        self._window(canvas, spec.window_x_m, narrow=spec.class_name == "bathroom")
        door = DOOR_X_M[spec.door]
        canvas.rectangle(door - 0.44, 0, 0.88, 2.12, shade(spec.wall, -0.28))
        canvas.rectangle(door - 0.38, 0, 0.76, 2.06, (170, 124, 84), outline=(120, 84, 54))
        for y in (0.2, 1.12):
            canvas.rectangle(door - 0.26, y, 0.52, 0.78, (156, 110, 72), outline=(120, 84, 54))
        canvas.disc(door + 0.28, 1.02, 0.04, (226, 196, 110))

    @staticmethod
    def _window(canvas: Canvas, x_m: float, *, narrow: bool) -> None:
        width, low, high = (0.8, 1.75, 2.6) if narrow else (1.1, 1.6, 2.75)
        canvas.rectangle(x_m - width / 2 - 0.07, low - 0.07, width + 0.14, high - low + 0.14, PORCELAIN, outline=INK)
        canvas.rectangle(x_m - width / 2, low, width, high - low, SKY)
        canvas.ellipse(x_m - width * 0.2, low + 0.3, 0.22, 0.09, (240, 248, 252))
        canvas.ellipse(x_m - width * 0.05, low + 0.36, 0.18, 0.1, (240, 248, 252))
        canvas.rectangle(x_m - 0.025, low, 0.05, high - low, PORCELAIN)
        canvas.rectangle(x_m - width / 2, (low + high) / 2 - 0.025, width, 0.05, PORCELAIN)

    def _layer(
        self, canvas: Canvas, situation: Situation, room: str, layer: str, number_of: dict[str, int] | None = None
    ) -> None:
        for name in self._order(situation, room, layer):
            if number_of is not None and isinstance(canvas, Stencil):
                canvas.number = number_of[name]
            state, thing = situation.things[name], self.house.things[name]
            x_m, y_m = self._place(situation, name)
            paint(canvas, thing.class_name, x_m, y_m, thing.colour, state.values)
            if self.labels:
                height = KINDS[thing.class_name].height_m
                canvas.text(plain_name(name), x_m, y_m + height + 0.03, 0.13, INK)
        # Light is no object.
        if layer == "back" and number_of is None:
            for name, state in situation.things.items():
                if state.room == room and name.startswith(("floorlamp", "tablelamp")) and "ON" in state.values:
                    canvas.ellipse(state.x_m, state.y_m + self.house.things[name].kind.height_m + 0.02, 0.1, 0.02, GLOW)

    def _place(self, situation: Situation, name: str) -> Point:
        """Where an object is seen: what is inside of something stands on its shelves."""
        state = situation.things[name]
        drop = self._drop_m(situation, name)
        if not state.inside or state.support not in situation.things:
            return state.x_m, state.y_m - drop
        holder = situation.things[state.support]
        inside = sorted(n for n, other in situation.things.items() if other.support == state.support and other.inside)
        place = inside.index(name)
        holder_class = class_of(state.support)
        shelves, per_shelf, first, step = _SHELVES.get(holder_class, (1, MOST_SHOWN_INSIDE, 0.08, 0.0))
        width = KINDS[holder_class].width_m - 0.16
        column = place // shelves if shelves > 1 else place
        across = holder.x_m - width / 2 + width * (column % per_shelf + 0.5) / per_shelf
        return across, holder.y_m + first + step * (place % shelves) - drop

    def _drop_m(self, situation: Situation, name: str) -> float:
        """How much lower an object is seen, by what it rests on in the end."""
        while (support := situation.things[name].support) in situation.things:
            name = support
        return DROP_M.get(self.house.things[name].layer, 0.0) if support != "character1" else 0.0

    def _order(self, situation: Situation, room: str, layer: str) -> list[str]:
        """Objects of a layer from the back to the front: what supports comes before what it supports."""
        children: dict[str, list[str]] = {}
        for name, state in situation.things.items():
            if state.room == room and state.support != "character1":
                children.setdefault(state.support, []).append(name)
        ordered: list[str] = []

        def add(name: str) -> None:
            ordered.append(name)
            closed = "CLOSED" in situation.things[name].values
            for child in sorted(children.get(name, ())):
                if not situation.things[child].inside or (not closed and class_of(name) in _SHELVES):
                    add(child)

        roots = [n for n in children.get(room, ()) if self.house.things[n].layer == layer]
        # What was put on something of another layer is drawn with that.
        for name in sorted(roots, key=lambda n: (KINDS[class_of(n)].height_m < 0.1, n)):
            add(name)
        return ordered

    def _held(
        self,
        canvas: Canvas,
        situation: Situation,
        hands: tuple[Point, Point],
        number_of: dict[str, int] | None = None,
    ) -> None:
        agent = situation.agent
        for name, hand in ((agent.left, hands[1]), (agent.right, hands[0])):
            if name is not None:
                if number_of is not None and isinstance(canvas, Stencil):
                    canvas.number = number_of[name]
                thing = self.house.things[name]
                paint(
                    canvas,
                    thing.class_name,
                    hand[0],
                    hand[1] - thing.kind.height_m * 0.35,
                    thing.colour,
                    situation.things[name].values,
                )

    def _pose(self, step: Step, share: float, room: str) -> tuple[AgentState | None, float, float, Pose]:
        before, after = step.before.agent, step.after.agent
        if step.command.action == "walk":
            return self._walking(step, share)
        posed = replace(after, facing=after.facing)
        x_m = before.x_m + (after.x_m - before.x_m) * smooth(share * 1.6)
        first, y_first = self._resting(step, before)
        second, y_second = self._resting(step, after)
        y_m = y_first + (y_second - y_first) * smooth(share * 1.6)
        if before.posture != after.posture:
            if after.posture == "fallen":
                return posed, x_m, y_m, _falling(first, second, share)
            return posed, x_m, y_m, between(first, second, share * 1.4)
        return posed, x_m, y_m, self._acting(step, second, share)

    def _resting(self, step: Step, agent: AgentState) -> tuple[Pose, float]:
        """The pose in which the person stays, and the height at which."""
        carry = _carrying(agent)
        if agent.posture == "sit" and agent.seat:
            seat = self.house.things[agent.seat]
            height = {"toilet": 0.42, "chair": 0.48, "bed": 0.5, "sofa": 0.45}.get(seat.class_name, 0.48)
            lap = ((0.36, height + 0.28), (0.3, height + 0.26))
            hands = ((carry[0] and (0.34, height + 0.4)) or lap[0], (carry[1] and (0.3, height + 0.36)) or lap[1])
            return sitting(height, hands), -DROP_M.get(seat.layer, 0.0)
        if agent.posture == "lie" and agent.seat:
            asleep = step.command.action == "sleep"
            return lying(
                {"bed": 0.5, "sofa": 0.46}.get(self.house.things[agent.seat].class_name, 0.5), asleep=asleep
            ), 0.0
        if agent.posture == "fallen":
            return lying(-0.1, asleep=False), 0.0
        height = 0.0
        if agent.posture == "climbed" and agent.seat:
            seat = self.house.things[agent.seat]
            height = surface_height_m(seat) - DROP_M.get(seat.layer, 0.0)
        base = standing()
        return replace(base, hands=(carry[0] or base.hands[0], carry[1] or base.hands[1])), height

    def _walking(self, step: Step, share: float) -> tuple[AgentState | None, float, float, Pose]:
        before, after = step.before.agent, step.after.agent
        path = _path(self.house, step)
        walked = share * step.duration_s / max(step.duration_s - 0.3, 0.1) * sum(abs(b - a) for a, b in path)
        for part, (start, end) in enumerate(path):
            length = abs(end - start)
            if walked <= length or part == len(path) - 1:
                done = min(walked, length)
                direction = 1 if end > start else -1
                x_m = start + direction * done
                carry = _carrying(before)
                agent = replace(after, facing=direction)
                if done >= length and part == len(path) - 1:
                    return replace(after), end, 0.0, self._resting(step, after)[0]
                return agent, x_m, 0.0, walking(done / STRIDE_M, carry)
            walked -= length
        raise AssertionError("a path has at least one part")

    def _acting(self, step: Step, rest: Pose, share: float) -> Pose:
        """What the hands and legs do while the posture stays."""
        action, agent = step.command.action, step.after.agent
        wave = math.sin(share * step.duration_s * 2 * math.pi)
        if action in ("grab", "put", "putIn", "open", "close", "switchOn", "switchOff", "touch"):
            return self._reaching(step, rest, share)
        if action in ("wipe", "scrub", "cut", "pour", "type"):
            return self._reaching(step, rest, 0.5, sway=0.12 * wave)
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
            return standing(((0.42, 1.2 - lower), (0.4, 1.16 - lower)), lower=lower)
        if action == "jump":
            up = math.sin(share * math.pi)
            return standing(((0.26, 1.75), (-0.22, 1.75)), lift=0.34 * up) if up > 0.25 else standing(lower=0.12)
        if action == "stretch":
            lean = 0.22 * wave
            pose = standing(((lean + 0.1, 1.98), (lean - 0.05, 1.98)))
            return replace(pose, neck=(lean * 0.4, pose.neck[1]), head=(lean * 0.6 + 0.03, pose.head[1]))
        if action == "dance":
            side = 0.16 * wave
            pose = standing(((0.36 + side, 1.5 + side), (-0.3 + side, 1.5 - side)), lower=0.06 + 0.05 * abs(wave))
            return replace(pose, feet=((0.16, 0.03 + max(0.0, side) * 0.5), (-0.16, 0.03 + max(0.0, -side) * 0.5)))
        return rest

    def _reaching(self, step: Step, rest: Pose, share: float, *, sway: float = 0.0) -> Pose:
        """A hand goes to what is handled and comes back."""
        names = [n for n in (*step.command.targets, step.command.main) if n in step.after.things]
        if not names:
            return rest
        action = step.command.action
        name = (
            step.command.main
            if action in ("grab", "open", "close", "switchOn", "switchOff", "touch", "type")
            else names[0]
        )
        assert name is not None
        situation = step.before if action == "grab" else step.after
        x_m, y_m = self._place(situation, name)
        agent = step.after.agent
        if action == "put":
            x_m, y_m = self._place(step.after, step.command.main or name)
        height = self.house.things[name].kind.height_m
        aim = y_m + min(height * 0.6, 1.0) + sway * 0.3
        local = ((x_m - agent.x_m) * agent.facing + sway, aim - self._resting(step, agent)[1])
        low = max(0.0, 0.75 - aim)
        bent = standing(rest.hands, lower=min(0.45, low * 0.7)) if agent.posture == "stand" and low > 0 else rest
        pose = between(rest, bent, min(share, 1 - share) * 3)
        hand = within_reach(pose, local)
        return _with_hand(pose, step, hand, smooth(min(share, 1 - share) * 3))


_SHELVES: Final = {
    "fridge": (3, 2, 0.12, 0.47),
    "kitchencabinet": (2, 4, 0.06, 0.31),
    "closet": (2, 3, 0.08, 0.42),
    "bathroomcabinet": (2, 3, 0.06, 0.3),
    "microwave": (1, 2, 0.06, 0.0),
    "laundrybasket": (1, 1, 0.34, 0.0),
    "dishbowl": (1, 1, 0.05, 0.0),
}
"""Shelves, places on each, height of the lowest and the distance of the next, of what one can see into."""


def _carrying(agent: AgentState) -> tuple[Point | None, Point | None]:
    """Where hands that carry something are held."""
    return (0.3, 1.14) if agent.right else None, (0.2, 1.08) if agent.left else None


def _with_hand(pose: Pose, step: Step, point: Point, share: float) -> Pose:
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
    kneeling = standing(lower=0.4)
    return between(first, kneeling, share * 3) if share < 0.33 else between(kneeling, second, (share - 0.33) * 3)


def _path(house: House, step: Step) -> list[tuple[float, float]]:
    """The ways of a walk, each within one room."""
    before, after = step.before.agent, step.after.agent
    if before.room == after.room:
        return [(before.x_m, after.x_m)]
    out, into = DOOR_X_M[house.rooms[before.room].door], DOOR_X_M[house.rooms[after.room].door]
    return [(before.x_m, out), (into, after.x_m)]


def _part(house: House, step: Step, share: float) -> int:
    """0 before the person has left the first room, 1 after."""
    if not step.moved_room:
        return 0
    path = _path(house, step)
    lengths = [abs(b - a) for a, b in path]
    walked = share * step.duration_s / max(step.duration_s - 0.3, 0.1) * sum(lengths)
    return int(walked > lengths[0])
