"""Draws steps as frames: the view of a camera in the house at each moment.

`switching` cuts between the whole room and a nearer view of the person's action, and follows the person from room to
room; `fixed` always shows the whole room. Frames depend only on the house, the steps and the view.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.graph.vocabulary import AGENT, class_of, plain_name
from reeltalk.schema.knowledge import Box
from reeltalk.video.canvas import Canvas, Picture, Point, Stencil
from reeltalk.world.figure import draw_person, posed
from reeltalk.world.house import House
from reeltalk.world.kinds import GLOW, INK, KINDS, named
from reeltalk.world.painters_rooms import KITCHEN, ROOMS, draw_room
from reeltalk.world.painters_things import THINGS
from reeltalk.world.placing import drawing_order, place_of
from reeltalk.world.shots import FLOOR_BELOW_M, CameraShot, View, plan_frames
from reeltalk.world.situation import ProgramStep, Situation

Painter = Callable[[Canvas, float, float, float, float, str | None, frozenset[str]], None]

PAINTERS: Final[dict[str, Painter]] = {**KITCHEN, **ROOMS, **THINGS}


def paint(canvas: Canvas, class_name: str, x_m: float, y_m: float, colour: str | None, values: frozenset[str]) -> None:
    """Draws an object.

    Args:
        canvas: The canvas, in metres.
        class_name: Its class.
        x_m: Middle of its lower edge.
        y_m: Height of its lower edge.
        colour: Name of its colour; None if it has none.
        values: Its states.
    """
    kind = KINDS[class_name]
    if class_name == "floor":
        if "DIRTY" in values:
            canvas.ellipse(x_m, y_m, 0.4, 0.08, (168, 150, 120))
        return
    if class_name not in PAINTERS:
        canvas.rectangle(x_m - kind.width_m / 2, y_m, kind.width_m, kind.height_m, named(colour))
        return
    PAINTERS[class_name](canvas, x_m - kind.width_m / 2, y_m, kind.width_m, kind.height_m, colour, values)


SMALLEST_SEEN_PX: Final = 24
"""An object that shows fewer pixels is not seen. In pictures 640 pixels wide, this is a fifth of a toothbrush."""


class Camera:
    """Films steps in a house.

    Args:
        house: The house.
        width_px: Width of the pictures, 320 to 1280.
        fps: Frames a second.
        view: How the camera moves.
        labels: Write the names of objects into the pictures.
    """

    def __init__(
        self, house: House, *, width_px: int = 640, fps: int = 10, view: View = "switching", labels: bool = False
    ) -> None:
        self.house, self.width_px, self.fps, self.view, self.labels = house, width_px, fps, view, labels
        self.height_px = round(width_px * 9 / 16) // 2 * 2
        self._painted: tuple[object, Picture] | None = None
        self._stencilled: tuple[object, NDArray[np.int16]] | None = None

    def film(self, steps: Sequence[ProgramStep]) -> Iterator[tuple[float, Picture]]:
        """Every frame of the steps with its time in seconds from the first step's start.

        The pictures are (H, W, 3) uint8 RGB, each its own copy.
        """
        for time_s, step, share, shot in plan_frames(self.house, steps, fps=self.fps, view=self.view):
            yield time_s, self.picture(step, share, shot)

    def boxes(self, steps: Sequence[ProgramStep], *, fps: float) -> Iterator[tuple[float, str, Box]]:
        """The boxes of everything that is seen, in the order of time and name.

        Args:
            steps: The steps to film.
            fps: Times per second, at most the frame rate of the film. For each time, the first frame at or after it is
                used.

        Yields:
            The frame's time in seconds, the object's name, and the box around its visible part.
        """
        due = 0.0
        for time_s, step, share, shot in plan_frames(self.house, steps, fps=self.fps, view=self.view):
            if time_s >= due - 1e-9:
                due = (math.floor(time_s * fps + 1e-6) + 1) / fps
                for name, box in self.seen(step, share, shot).items():
                    yield time_s, name, box

    def picture(self, step: ProgramStep, share: float, shot: CameraShot) -> Picture:
        """One frame.

        Args:
            step: The current step.
            share: How much of it has passed, from 0 to 1.
            shot: The view of the camera.
        """
        situation = step.before if share < 0.5 or step.command.action == "walk" else step.after
        seen = self._background(situation, shot)
        canvas = self._canvas(shot, seen.copy())
        agent, x_m, y_m, pose = posed(self.house, step, share)
        hands = draw_person(canvas, self.house.person(AGENT), x_m, y_m, agent.facing, pose)
        self._held(canvas, situation, hands)
        self._layer(canvas, situation, shot.room, "front")
        if not self._lit(situation, shot.room):
            canvas.darken(0.5)
        return canvas.pixels

    def seen(self, step: ProgramStep, share: float, shot: CameraShot) -> dict[str, Box]:
        """Boxes around the visible parts of the objects and of the person (`character1`) in a frame, sorted by name.

        Hidden objects, objects outside the picture and objects in closed furniture are left out.
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
        # Like the painted background, the numbers of objects at rest are stored until something changes.
        key = (id(situation.things), shot)
        if self._stencilled is None or self._stencilled[0] != key:
            for layer in ("wall", "back", "floor"):
                self._layer(stencil, situation, shot.room, layer, number_of)
            self._stencilled = (key, stencil.numbers.copy())
        else:
            stencil.numbers[:] = self._stencilled[1]
        agent, x_m, y_m, pose = posed(self.house, step, share)
        stencil.number = number_of[AGENT]
        hands = draw_person(stencil, self.house.person(AGENT), x_m, y_m, agent.facing, pose)
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

    def _canvas(self, shot: CameraShot, pixels: Picture | None = None) -> Canvas:
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

    # Objects at rest are painted once and stored until something changes.
    def _background(self, situation: Situation, shot: CameraShot) -> Picture:
        key = (id(situation.things), shot)
        if self._painted is None or self._painted[0] != key:
            canvas = self._canvas(shot)
            draw_room(canvas, self.house.rooms[shot.room])
            for layer in ("wall", "back", "floor"):
                self._layer(canvas, situation, shot.room, layer)
            self._painted = (key, canvas.pixels)
        return self._painted[1]

    def _layer(
        self, canvas: Canvas, situation: Situation, room: str, layer: str, number_of: dict[str, int] | None = None
    ) -> None:
        for name in drawing_order(self.house, situation, room, layer):
            if number_of is not None and isinstance(canvas, Stencil):
                canvas.number = number_of[name]
            state, thing = situation.things[name], self.house.things[name]
            x_m, y_m = place_of(self.house, situation, name)
            paint(canvas, thing.class_name, x_m, y_m, thing.colour, state.values)
            if self.labels:
                height = KINDS[thing.class_name].height_m
                canvas.text(plain_name(name), x_m, y_m + height + 0.03, 0.13, INK)
        # Light is not an object.
        if layer == "back" and number_of is None:
            for name, state in situation.things.items():
                if state.room == room and name.startswith(("floorlamp", "tablelamp")) and "ON" in state.values:
                    canvas.ellipse(state.x_m, state.y_m + self.house.things[name].kind.height_m + 0.02, 0.1, 0.02, GLOW)

    def _held(
        self,
        canvas: Canvas,
        situation: Situation,
        hands: tuple[Point, Point],
        number_of: dict[str, int] | None = None,
    ) -> None:
        agent = situation.people[AGENT]
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
