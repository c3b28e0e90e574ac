"""Draws steps as frames: what the camera shows of the house and its people at each moment.

Frames depend only on the house, the steps and the view. Objects at rest, and people at rest, are drawn once and kept
until something about them changes.
"""

import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from reeltalk.language.vocabulary import class_of, plain_name
from reeltalk.schema.knowledge import Box
from reeltalk_household.world.acting import Figure, figure_at, head_of
from reeltalk_household.world.bubbles import (
    Bubble,
    draw_bubble,
    draw_tag,
    place_bubble,
    stencil_bubble,
    tag_box,
)
from reeltalk_household.world.canvas import Canvas, Picture, Point, Stencil
from reeltalk_household.world.drawings import draw_object
from reeltalk_household.world.faces import HIGH_M
from reeltalk_household.world.figure import draw_hand, draw_person
from reeltalk_household.world.house import SIZES, House
from reeltalk_household.world.kinds import GLOW, INK, colour_rgb
from reeltalk_household.world.light import ceiling_on, lamps_on, light_factors
from reeltalk_household.world.placing import drawing_order, fit_scale, place_of, seats_in_use
from reeltalk_household.world.rooms import draw_room
from reeltalk_household.world.shots import CameraShot, View, frame_numbers, plan_shots, shot_at
from reeltalk_household.world.situation import ProgramStep, Situation
from reeltalk_household.world.staging import Staging
from reeltalk_household.world.styles import STYLES, texture

SMALLEST_SEEN_PX: Final = 24
"""An object that shows fewer pixels is not seen. In pictures 640 pixels wide, this is a fifth of a toothbrush."""
TAG_S: Final = 2.5
"""How long a name stands above somebody who comes into the picture."""
FALL_S: Final = 0.45
NOISE: Final = 1.6
"""Standard deviation of the noise of the camera, in levels of 255."""
MOVING_STATES: Final = frozenset({"HOT", "RINGING"})
"""States of things that look different from one moment to the next."""
HELD_AT: Final = {"balloon": 0.02, "broom": 0.62, "guitar": 0.5, "flowers": 0.2, "teddybear": 0.5}
"""Where a thing is held, in parts of its height."""


@dataclass(frozen=True)
class FramePlan:
    """What a frame shows."""

    time_s: float
    """Seconds from the film's start."""
    situation: Situation
    figures: tuple[Figure, ...]
    """The people in the room that is shown, from back to front."""
    shot: CameraShot
    named: frozenset[str]
    """The people above whom their names stand."""
    talk: tuple[tuple[str, ProgramStep], ...]
    """Who is talking, and in which steps."""
    falling: tuple[tuple[str, Point], ...] = ()
    """Things that nobody holds and that are on their way, and their places."""


class Camera:
    """Films steps in a house.

    Args:
        width_px: Width of the pictures, 320 to 1280.
        fps: Frames a second.
        view: How the camera moves: `switching` cuts to near views, `fixed` shows whole rooms.
        labels: Write the names of objects into the pictures.
        noise: Standard deviation of the noise of the camera, in levels of 255.
    """

    def __init__(
        self,
        house: House,
        *,
        width_px: int = 640,
        fps: int = 10,
        view: View = "switching",
        labels: bool = False,
        noise: float = NOISE,
    ) -> None:
        self.house, self.width_px, self.fps, self.view, self.labels = house, width_px, fps, view, labels
        self.height_px = round(width_px * 9 / 16) // 2 * 2
        self.style = STYLES[house.style]
        # Squares of a picture made of squares; they are drawn as pixels and enlarged.
        self._squares = max(1, round(self.style.pixels * width_px / 640))
        self._noise = noise
        self._painted: dict[object, _Scenery] = {}
        self._stencilled: tuple[object, object, NDArray[np.int16]] | None = None
        self._still: tuple[_Scenery, Sequence[object], Picture] | None = None
        self._looks: Sequence[object] = ()
        self._bubbles: dict[object, Bubble] = {}
        self._factors: tuple[object, NDArray[np.float32] | None] = (None, None)

    # Planning.

    def moments(self, steps: Sequence[ProgramStep], *, fps: float | None = None) -> Iterator[FramePlan]:
        """What the frames of the steps show.

        Args:
            fps: Frames a second, at most the film's; all of them if not given. For each time, the first frame of the
                film at or after it is used.
        """
        staging = Staging(self.house, steps)
        shots = plan_shots(staging, view=self.view)
        since: dict[str, float] = {}
        last: float | None = None
        due = 0.0
        for number in frame_numbers(staging.end_s, self.fps):
            time_s = number / self.fps
            begun_s, shot = shot_at(shots, time_s)
            if begun_s != last:
                since, last = {}, begun_s
            for person in (p for p in self.house.people if p.character in steps[0].before.people):
                if staging.standing(person.character, time_s).room == shot.room:
                    since.setdefault(person.character, time_s)
            if fps is not None:
                if time_s < due - 1e-9:
                    continue
                due = (math.floor(time_s * fps + 1e-6) + 1) / fps
            shown = frozenset(name for name, first_s in since.items() if time_s < first_s + TAG_S - 1e-6)
            yield self._moment(staging, time_s, shot, self._figures(staging, shot, time_s), shown)

    def moment(self, steps: Sequence[ProgramStep], time_s: float, shot: CameraShot | None = None) -> FramePlan:
        """What a frame at a time shows, without names above heads."""
        staging = Staging(self.house, steps)
        shot = shot or shot_at(plan_shots(staging, view=self.view), time_s)[1]
        return self._moment(staging, time_s, shot, self._figures(staging, shot, time_s), frozenset())

    def _figures(self, staging: Staging, shot: CameraShot, time_s: float) -> tuple[Figure, ...]:
        present = staging.situation(time_s).people
        figures = [figure_at(staging, p.character, time_s) for p in self.house.people if p.character in present]
        return tuple(sorted((f for f in figures if f.room == shot.room), key=lambda f: f.depth))

    def _moment(
        self, staging: Staging, time_s: float, shot: CameraShot, figures: tuple[Figure, ...], shown: frozenset[str]
    ) -> FramePlan:
        talk = []
        for figure in figures:
            step = staging.step(figure.person.character, time_s)
            if step is not None and step.command.says is not None:
                talk.append((figure.person.character, step))
        return FramePlan(
            time_s,
            staging.situation(time_s),
            figures,
            shot,
            shown,
            tuple(talk),
            tuple(self._falling(staging, time_s, shot)),
        )

    def _falling(self, staging: Staging, time_s: float, shot: CameraShot) -> Iterator[tuple[str, Point]]:
        """Things that get to another place without hands, shortly before they are there."""
        for step in staging.next_steps(time_s):
            left_s = step.effect_s - time_s
            if left_s > FALL_S or step.command.action == "walk":
                continue
            for name in (step.command.main, *step.command.targets):
                if name is None or name not in step.before.things:
                    continue
                before, after = step.before.things[name], step.after.things[name]
                if step.command.action == "throw" and name == step.command.main:
                    yield name, self._flying(staging, step, time_s, 1 - left_s / FALL_S)
                    continue
                held = step.before.holder(name) or step.after.holder(name)
                same = (before.support, before.x_m, before.inside) == (after.support, after.x_m, after.inside)
                if held or same or shot.room not in (before.room, after.room) or before.inside or after.inside:
                    continue
                start, goal = place_of(self.house, step.before, name), place_of(self.house, step.after, name)
                share = 1 - left_s / FALL_S
                # A thing that falls gets faster.
                yield name, (start[0] + (goal[0] - start[0]) * share, start[1] + (goal[1] - start[1]) * share**2)

    def _flying(self, staging: Staging, step: ProgramStep, time_s: float, share: float) -> Point:
        """Where something is that is thrown from one person to another."""
        ends = [
            head_of(figure_at(staging, name, time_s))
            for name in filter(None, (step.command.person, *step.command.targets))
            if name in step.before.people
        ]
        (x, y), (goal_x, goal_y) = ends[0], ends[-1]
        arc = 1.4 * share * (1 - share)
        return x + (goal_x - x) * share, y + (goal_y - y) * share + arc - 0.4

    # Pictures.

    def film(self, steps: Sequence[ProgramStep]) -> Iterator[tuple[float, Picture]]:
        """Every frame of the steps with its time in seconds from the film's start.

        The pictures are (H, W, 3) uint8 RGB, each its own copy.
        """
        for moment in self.moments(steps):
            yield moment.time_s, self.picture(moment)

    def picture(self, moment: FramePlan) -> Picture:
        """One frame, (H, W, 3) uint8 RGB."""
        scenery = self._scenery(moment)
        looks = [(_look(figure), moment.falling) for figure in moment.figures]
        # A person who looks as in the frame before, behind all others, is not drawn again.
        same = next((n for n, (one, other) in enumerate(zip(looks, self._looks, strict=False)) if one != other), None)
        self._looks, still = looks, min(len(looks), len(self._looks)) if same is None else same
        canvas = self._canvas(moment.shot, self._with_figures(moment, scenery, looks[:still]).copy())
        for figure in moment.figures[still:]:
            self._draw_figure(canvas, moment, figure)
        self._draw_falling(canvas, moment)
        scenery.put_front(canvas.pixels)
        pixels = canvas.pixels
        if self._squares > 1:
            size = (pixels.shape[1] * self._squares, pixels.shape[0] * self._squares)
            pixels = cv2.resize(pixels, size, interpolation=cv2.INTER_NEAREST)
            pixels = np.ascontiguousarray(pixels[: self.height_px, : self.width_px])
        factors = self._light(moment)
        if factors is not None:
            pixels = cv2.multiply(pixels, factors, dtype=cv2.CV_8U)
        self._write(pixels, moment)
        if self._noise:
            self._add_noise(pixels, moment.time_s)
        return pixels

    def _canvas(self, shot: CameraShot, pixels: Picture | None = None) -> Canvas:
        wide, high = -(-self.width_px // self._squares), -(-self.height_px // self._squares)
        canvas = Canvas(
            wide,
            high,
            scale=self.width_px / shot.width_m / self._squares,
            left=shot.left_m,
            bottom=shot.bottom_m,
            pixels=pixels,
            manner=self.style.manner,
        )
        return canvas

    def _phase(self, moment: FramePlan) -> int:
        """Which picture things such as steam show."""
        moves = any(
            state.room == moment.shot.room and not MOVING_STATES.isdisjoint(state.values)
            for state in moment.situation.things.values()
        )
        return int(moment.time_s * 5) % 4 if moves else 0

    def _scenery_key(self, moment: FramePlan) -> object:
        """What decides how the things of a view are drawn."""
        hidden = frozenset(name for name, _ in moment.falling)
        situation = moment.situation
        return id(situation.things), seats_in_use(situation), moment.shot, self._phase(moment), hidden

    def _scenery(self, moment: FramePlan) -> "_Scenery":
        """The things of a view, painted once and kept until something changes."""
        things, phase, key = moment.situation.things, self._phase(moment), self._scenery_key(moment)
        if key not in self._painted:
            if len(self._painted) >= 8:
                self._painted.clear()
            canvas = self._canvas(moment.shot)
            canvas.phase = phase
            draw_room(canvas, self.house, moment.shot.room, moment.situation.light)
            for layer in ("wall", "back", "floor", "seat"):
                self._layer(canvas, moment, layer)
            front = self._canvas(moment.shot, canvas.pixels.copy())
            front.phase = phase
            self._layer(front, moment, "front")
            # The things are kept with the picture, so that no others get their identity.
            self._painted[key] = _Scenery(things, canvas.pixels, front.pixels)
        return self._painted[key]

    def _with_figures(self, moment: FramePlan, scenery: "_Scenery", looks: Sequence[object]) -> Picture:
        """The room without what is in front of the people, with the first people of a frame."""
        if not looks:
            return scenery.behind
        if self._still is None or self._still[0] is not scenery or self._still[1] != looks:
            canvas = self._canvas(moment.shot, scenery.behind.copy())
            for figure in moment.figures[: len(looks)]:
                self._draw_figure(canvas, moment, figure)
            self._still = (scenery, looks, canvas.pixels)
        return self._still[2]

    def _draw_figure(
        self, canvas: Canvas, moment: FramePlan, figure: Figure, numbers: dict[str, int] | None = None
    ) -> None:
        if numbers is not None and isinstance(canvas, Stencil):
            canvas.number = numbers[figure.person.character]
        hands = draw_person(canvas, figure.person, figure.x_m, figure.y_m, figure.pose, figure.face)
        for name, hand in ((figure.state.left, hands[1]), (figure.state.right, hands[0])):
            if name is None or any(name == flying for flying, _ in moment.falling):
                continue
            if numbers is not None and isinstance(canvas, Stencil):
                canvas.number = numbers[name]
            thing = self.house.things[name]
            low = hand[1] - thing.height_m * HELD_AT.get(thing.class_name, 0.3)
            self._paint(canvas, name, hand[0], low, moment.situation)
            if numbers is not None and isinstance(canvas, Stencil):
                canvas.number = numbers[figure.person.character]
            draw_hand(canvas, figure.person, hand)

    def _draw_falling(self, canvas: Canvas, moment: FramePlan, numbers: dict[str, int] | None = None) -> None:
        for name, (x_m, y_m) in moment.falling:
            if numbers is not None and isinstance(canvas, Stencil):
                canvas.number = numbers[name]
            self._paint(canvas, name, x_m, y_m, moment.situation)

    def _paint(self, canvas: Canvas, name: str, x_m: float, y_m: float, situation: Situation) -> None:
        thing = self.house.things[name]
        values = situation.things[name].values
        size = SIZES[thing.size] * fit_scale(self.house, situation, name)
        draw_object(canvas, thing.class_name, x_m, y_m, thing.colour, values, size=size)

    def _layer(self, canvas: Canvas, moment: FramePlan, layer: str, numbers: dict[str, int] | None = None) -> None:
        situation, room = moment.situation, moment.shot.room
        used = seats_in_use(situation)
        hidden = {name for name, _ in moment.falling}
        behind = self._with_loads(situation, used)
        for name in drawing_order(self.house, situation, room, "front" if layer == "seat" else layer):
            if (layer == "seat" and name not in behind) or (layer == "front" and name in behind) or name in hidden:
                continue
            if numbers is not None and isinstance(canvas, Stencil):
                canvas.number = numbers[name]
            x_m, y_m = place_of(self.house, situation, name)
            self._paint(canvas, name, x_m, y_m, situation)
            if self.labels and class_of(name) != "floor":
                canvas.text(plain_name(name), x_m, y_m + self.house.things[name].height_m + 0.03, 0.13, INK)
            # Light is not an object.
            if numbers is None and class_of(name) in ("floorlamp", "tablelamp"):
                if "ON" in situation.things[name].values:
                    canvas.ellipse(x_m, y_m + self.house.things[name].height_m + 0.02, 0.1, 0.02, GLOW)

    def _with_loads(self, situation: Situation, names: frozenset[str]) -> frozenset[str]:
        """Things and whatever lies on them."""
        return names | {name for name, state in situation.things.items() if state.support in names}

    def _light(self, moment: FramePlan) -> NDArray[np.float32] | None:
        """Light and the structure of the style, as factors of brightness."""
        situation, room = moment.situation, moment.shot.room
        # A lamp that is carried shines where its person is, which the light does not follow.
        key = (situation.light, ceiling_on(situation, room), lamps_on(self.house, situation, room), moment.shot)
        if self._factors[0] != key:
            light = light_factors(*key, self.width_px, self.height_px)
            if self.style.texture is not None:
                grain = texture(self.style.texture, self.width_px, self.height_px)
                light = np.repeat(grain, 3, axis=2) if light is None else light * grain
            if light is not None:
                # The last digits may differ between processors.
                light = np.round(light * 256) / np.float32(256)
            self._factors = (key, light)
        return self._factors[1]

    def _write(self, pixels: Picture, moment: FramePlan) -> None:
        for bubble in self._bubbles_of(moment):
            draw_bubble(pixels, bubble)
        for figure, box in self._tags(moment):
            draw_tag(pixels, figure.person.name, box, colour_rgb(figure.person.shirt))

    def _pixel(self, point: Point, shot: CameraShot) -> Point:
        scale = self.width_px / shot.width_m
        return (point[0] - shot.left_m) * scale, self.height_px - (point[1] - shot.bottom_m) * scale

    def _tags(self, moment: FramePlan) -> list[tuple[Figure, tuple[int, int, int, int]]]:
        """The people above whose heads their names stand, and the boxes of the names."""
        found = []
        for figure in moment.figures:
            x, y = head_of(figure)
            left, top = self._pixel((x, y + 0.33 * figure.person.height), moment.shot)
            # Of some people only a hand is in a near view.
            if figure.person.character in moment.named and 0 <= left < self.width_px:
                found.append((figure, tag_box(figure.person.name, round(left), round(top), self.width_px)))
        return found

    def _bubbles_of(self, moment: FramePlan) -> list[Bubble]:
        """The bubbles of a frame. A bubble stays where it is as long as its words are shown in a view."""
        if not moment.talk:
            return []
        scale = self.width_px / moment.shot.width_m
        heads = {
            f.person.character: (self._pixel(head_of(f), moment.shot), HIGH_M * f.person.height * scale)
            for f in moment.figures
        }
        faces = [
            (round(x - r * 1.1), round(y - r * 1.2), round(x + r * 1.1), round(y + r * 1.1))
            for (x, y), r in heads.values()
        ]
        bubbles: list[Bubble] = []
        for person, step in moment.talk:
            key = (person, step.start_s, step.command.says, moment.shot)
            if key not in self._bubbles:
                (x, y), r = heads[person]
                names = [box for _, box in self._tags(moment)]
                taken = [*faces, *names, *(b.box for b in bubbles)]
                self._bubbles[key] = place_bubble(
                    step.command.says or "", (x, y), r, taken, self.width_px, self.height_px
                )
            bubbles.append(self._bubbles[key])
        return bubbles

    def _add_noise(self, pixels: Picture, time_s: float) -> None:
        tile = _noise_tile(self._noise, self.width_px, self.height_px)
        seed = zlib.crc32(f"{self.house.number} {time_s:.3f}".encode())
        row, column = seed % 61, (seed >> 8) % 61
        part = tile[row : row + self.height_px, column : column + self.width_px]
        cv2.add(pixels, part, dst=pixels, dtype=cv2.CV_8U)

    # Boxes.

    def boxes(self, steps: Sequence[ProgramStep], *, fps: float) -> Iterator[tuple[float, str, Box]]:
        """The boxes of everything that is seen, in the order of time and name.

        Args:
            steps: The steps to film.
            fps: Times per second, at most the frame rate of the film. For each time, the first frame at or after it is
                used.

        Yields:
            The frame's time in seconds, the object's name, and the box around its visible part.
        """
        for moment in self.moments(steps, fps=fps):
            for name, box in self.seen(moment).items():
                yield moment.time_s, name, box

    def seen(self, moment: FramePlan) -> dict[str, Box]:
        """Boxes around the visible parts of the objects and people (`character1`) in a frame, sorted by name.

        Hidden objects, objects outside the picture and objects in closed furniture are left out.
        """
        numbers, found = self.numbered(moment)
        names = {number: name for name, number in numbers.items()}
        return {
            names[number]: Box(
                left=left / self.width_px,
                top=top / self.height_px,
                right=right / self.width_px,
                bottom=bottom / self.height_px,
            )
            for number, (left, top, right, bottom) in sorted(
                found.boxes(smallest_px=SMALLEST_SEEN_PX).items(), key=lambda item: names[item[0]]
            )
        }

    def numbered(self, moment: FramePlan) -> tuple[dict[str, int], Stencil]:
        """Which object each pixel of a frame shows: the number of each object, and the map of numbers."""
        names = [*(person.character for person in self.house.people), *sorted(moment.situation.things)]
        numbers = {name: number for number, name in enumerate(names, start=1)}
        stencil = Stencil(
            self.width_px,
            self.height_px,
            scale=self.width_px / moment.shot.width_m,
            left=moment.shot.left_m,
            bottom=moment.shot.bottom_m,
            manner=self.style.manner,
        )
        key = self._scenery_key(moment)
        if self._stencilled is None or self._stencilled[0] != key:
            stencil.phase = self._phase(moment)
            for layer in ("wall", "back", "floor", "seat"):
                self._layer(stencil, moment, layer, numbers)
            self._stencilled = (key, moment.situation.things, stencil.numbers.copy())
        else:
            stencil.numbers[:] = self._stencilled[2]
        for figure in moment.figures:
            self._draw_figure(stencil, moment, figure, numbers)
        self._draw_falling(stencil, moment, numbers)
        self._layer(stencil, moment, "front", numbers)
        for _, (left, top, right, bottom) in self._tags(moment):
            stencil.numbers[top:bottom, left:right] = 0
        for bubble in self._bubbles_of(moment):
            stencil_bubble(stencil.numbers, bubble)
        return numbers, stencil


def _look(figure: Figure) -> object:
    """What decides how a figure is drawn."""
    pose = figure.pose
    turns = (pose.heading_deg, pose.face_deg, pose.roll_deg, pose.shift)
    held = (figure.state.right, figure.state.left)
    return figure.person.character, figure.x_m, figure.y_m, pose.joints.tobytes(), turns, figure.face, held


class _Scenery:
    """The things of a view: pictures of what is behind the people, and of what is in front of them."""

    def __init__(self, things: object, behind: Picture, whole: Picture) -> None:
        self.things, self.behind = things, behind
        change = cv2.absdiff(whole, behind)
        covered = (change[..., 0] | change[..., 1] | change[..., 2]) > 0
        rows, columns = np.flatnonzero(covered.any(axis=1)), np.flatnonzero(covered.any(axis=0))
        self._part = (
            (slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)) if len(rows) else (slice(0), slice(0))
        )
        self._front, self._covered = whole[self._part].copy(), covered[self._part][:, :, None].copy()

    def put_front(self, pixels: Picture) -> None:
        """Puts the things in front of the people into a picture."""
        np.copyto(pixels[self._part], self._front, where=self._covered)


_TILES: dict[tuple[float, int, int], NDArray[np.int8]] = {}


def _noise_tile(sigma: float, width_px: int, height_px: int) -> NDArray[np.int8]:
    """Noise for a frame and a margin of 61 pixels, the same for all colours of a pixel, (H, W, 3)."""
    key = (sigma, width_px, height_px)
    if key not in _TILES:
        draw = np.random.Generator(np.random.PCG64(28))
        grey = draw.normal(0.0, sigma, (height_px + 61, width_px + 61, 1))
        _TILES[key] = np.repeat(np.clip(np.round(grey), -20, 20), 3, axis=2).astype(np.int8)
    return _TILES[key]
