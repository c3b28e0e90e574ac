"""What people look like while they act: the pose, the place and the face of each person at a moment."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from reeltalk_household.world.canvas import Point
from reeltalk_household.world.faces import Face
from reeltalk_household.world.figure import (
    ARM_M,
    STRIDE_M,
    Pose,
    blend,
    ease,
    joints_on,
    lying,
    sitting,
    standing,
    walking,
)
from reeltalk_household.world.house import House, Person, surface_height_m
from reeltalk_household.world.placing import DROP_M, place_of
from reeltalk_household.world.situation import PersonState, ProgramStep, Situation
from reeltalk_household.world.staging import Staging

LANES_M: Final = (-0.08, -0.15, -0.22)
"""How much lower than the foot of the wall the first, second and third person stand."""
SEATS_M: Final = {"toilet": 0.42, "chair": 0.48, "bed": 0.5, "sofa": 0.45}
REACHING_ACTIONS: Final = frozenset(
    {"grab", "put", "putIn", "open", "close", "switchOn", "switchOff", "touch", "knock", "unwrap", "answer", "fill"}
)
WORKING_ACTIONS: Final = frozenset({"wipe", "scrub", "cut", "pour", "type"})
BEFORE_THE_CHEST: Final = frozenset(
    {"read", "write", "text", "squeeze", "shake", "fold", "rinse", "soak", "wash", "show", "play", "lookAt"}
)
QUICK_M: Final = {"shake": 0.1, "wash": 0.06, "rinse": 0.06, "write": 0.04, "squeeze": 0.04, "fold": 0.08, "play": 0.07}
"""How far the hands move to and fro."""


@dataclass(frozen=True)
class Figure:
    """A person as they are drawn."""

    person: Person
    room: str
    x_m: float
    y_m: float
    pose: Pose
    face: Face
    state: PersonState
    moving: bool
    """Whether they look different a moment later."""

    @property
    def depth(self) -> tuple[int, bool, str]:
        """Orders figures from back to front: on furniture at the wall, standing, on furniture in front of them."""
        on_seat = self.state.posture in ("sit", "lie") and self.state.seat is not None
        return (0 if on_seat and self.y_m > LANES_M[0] else 2 if on_seat else 1), self.moving, self.person.character


def figure_at(staging: Staging, character: str, time_s: float) -> Figure:
    """How a person is drawn at a time.

    Args:
        staging: The program.
        character: The person, such as `character1`.
        time_s: Seconds from the film's start.
    """
    house = staging.house
    person = house.person(character)
    situation = staging.situation(time_s)
    state = situation.people[character]
    where = staging.standing(character, time_s)
    step, partner_step = staging.step(character, time_s), staging.done_to(character, time_s)
    lane = LANES_M[min(house.people.index(person), len(LANES_M) - 1)]
    held = (state.right is not None, state.left is not None)
    if where.direction:
        pose = walking(where.direction, where.walked_m / STRIDE_M, held)
        face = Face(0.0, state.feeling)
        return Figure(person, where.room, where.x_m, lane, pose, face, state, True)
    rest, height = _resting(house, situation, state, lane)
    pose, y_m, x_m = rest, height, where.x_m
    moving = step is not None or partner_step is not None
    if step is not None and step.command.action != "walk":
        share = (time_s - step.start_s) / step.duration_s
        before, after = step.before.people[character], step.after.people[character]
        if before.posture != after.posture:
            first, y_first = _resting(house, step.before, before, lane)
            second, y_second = _resting(house, step.after, after, lane)
            y_m = y_first + (y_second - y_first) * ease(share * 1.4)
            if after.posture == "fallen":
                pose = _falling(first, second, share)
            else:
                pose = blend(first, second, share * 1.4)
        else:
            scene = _Scene(staging, person, character, state, step, share, time_s, x_m, y_m, rest)
            pose, x_m = scene.acting()
    elif partner_step is not None:
        share = (time_s - partner_step.start_s) / partner_step.duration_s
        scene = _Scene(staging, person, character, state, partner_step, share, time_s, x_m, y_m, rest)
        pose, x_m = scene.taking_part()
    face, blinking = _face(staging, character, state, step, time_s)
    return Figure(person, where.room, x_m, y_m, pose, face, state, moving or blinking)


def _face(
    staging: Staging, character: str, state: PersonState, step: ProgramStep | None, time_s: float
) -> tuple[Face, bool]:
    asleep = (
        state.posture == "lie"
        and (step or staging.last(character, time_s) or staging.steps[0]).command.action == "sleep"
    )
    # Everybody blinks, each at other times.
    beat = 3.3 + 0.7 * int(character.removeprefix("character"))
    blinking = time_s % beat > beat - 0.14
    talking = 0.0
    if step is not None and step.command.action == "say" and 0.15 < step.end_s - time_s < step.duration_s - 0.1:
        talking = (0.15, 0.9, 0.45, 1.0, 0.3, 0.7)[int(time_s * 7) % 6]
    return Face(0.0, state.feeling, eyes_shut=asleep or blinking, mouth_open=talking), blinking


def _resting(house: House, situation: Situation, state: PersonState, lane: float) -> tuple[Pose, float]:
    """The pose in which a person rests, and the height of the floor or support."""
    heading = state.facing * 26.0
    if state.posture == "sit" and state.seat:
        seat = house.things[state.seat]
        height = SEATS_M.get(seat.class_name, 0.48)
        hands = tuple(
            (0.3, side * 0.14, height + (0.36 if held else 0.2))
            for side, held in zip((-1, 1), (state.right, state.left), strict=True)
        )
        return sitting(state.facing * 34.0, height, hands=(hands[0], hands[1])), -DROP_M.get(seat.layer, 0.0)
    if state.posture == "lie" and state.seat:
        return lying({"bed": 0.46, "sofa": 0.42}.get(house.things[state.seat].class_name, 0.46)), 0.0
    if state.posture == "fallen":
        return lying(-0.14), lane
    y_m = lane
    if state.posture == "climbed" and state.seat:
        seat = house.things[state.seat]
        y_m = surface_height_m(seat) - DROP_M.get(seat.layer, 0.0) + 0.04
    hands = tuple(
        (0.2, side * 0.2, 0.9) if held else (0.05, side * 0.235, 0.67)
        for side, held in zip((-1, 1), (state.right, state.left), strict=True)
    )
    nod = 0.0
    if state.feeling == "ANGRY" and not state.held:
        hands = ((0.04, -0.19, 0.79), (0.04, 0.19, 0.79))
    elif state.feeling == "SAD":
        nod = 0.05
    face = heading
    looked_at = _looked_at(situation, state)
    if looked_at is not None:
        side = 1 if looked_at > state.x_m else -1
        face = side * 30.0
        if side != state.facing:
            heading = 6.0 * state.facing
    return standing(heading, hands=(hands[0], hands[1]), nod=nod, face_deg=face), y_m


def _looked_at(situation: Situation, state: PersonState) -> float | None:
    """Where the person at whom somebody looks is, if in the same room."""
    other = situation.people.get(state.gaze or "")
    return other.x_m if other is not None and other.room == state.room else None


@dataclass(frozen=True)
class _Scene:
    """A step as one person does it, or as it is done with them."""

    staging: Staging
    person: Person
    character: str
    state: PersonState
    step: ProgramStep
    share: float
    time_s: float
    x_m: float
    y_m: float
    rest: Pose

    @property
    def there(self) -> float:
        """0 at the beginning and the end of the step, 1 in between."""
        return ease(min(self.share, 1 - self.share) * 3.2)

    @property
    def wave(self) -> float:
        return math.sin((self.time_s - self.step.start_s) * 2 * math.pi)

    def local(self, point: Point) -> Point:
        """A point of the room relative to the person."""
        return (point[0] - self.x_m) / self.person.height, (point[1] - self.y_m) / self.person.height

    def partner(self) -> str | None:
        """The other person of the step."""
        names = (self.step.command.person, self.step.command.main, *self.step.command.targets)
        people = self.step.before.people
        return next((name for name in names if name in people and name != self.character), None)

    def towards(self, other: str) -> tuple[int, float]:
        """The side on which another person is, and their place."""
        where = self.staging.standing(other, self.time_s)
        return (1 if where.x_m >= self.x_m else -1), where.x_m

    def free_side(self) -> int:
        """A hand that holds nothing, the right one first."""
        return 0 if self.state.right is None or self.state.left is not None else 1

    def stand(self, pose: Pose) -> Pose:
        """A standing pose, unless the person sits or lies."""
        return pose if self.state.posture in ("stand", "climbed") else self.rest

    def acting(self) -> tuple[Pose, float]:
        action = self.step.command.action
        method = _ACTIONS.get(action)
        if method is not None:
            return method(self), self.x_m
        if action in REACHING_ACTIONS:
            return self._reaching(self.there), self.x_m
        if action in WORKING_ACTIONS:
            return self._reaching(self.there, sway=0.1 * self.wave), self.x_m
        if action in BEFORE_THE_CHEST and (self.state.held or action == "show"):
            return self._before_chest(), self.x_m
        if action in ("hug", "comfort"):
            return self._close()
        return self.rest, self.x_m

    def taking_part(self) -> tuple[Pose, float]:
        """The pose of the person with whom somebody else does the step."""
        action, partner = self.step.command.action, self.partner()
        if partner is None:
            return self.rest, self.x_m
        if action == "give":
            return self._handing(), self.x_m
        if action in ("hug", "comfort"):
            return self._close()
        side, _ = self.towards(partner)
        looking = replace(self.rest, face_deg=side * 32.0)
        return blend(self.rest, looking, self.there), self.x_m

    # Reaching.

    def _aim(self) -> Point | None:
        """The point of the room to which the hand goes."""
        house, step = self.staging.house, self.step
        action, main = step.command.action, step.command.main
        names = [n for n in step.command.targets if n in step.after.things]
        if action in ("grab", "open", "close", "switchOn", "switchOff", "touch", "type", "knock", "unwrap", "answer"):
            names = [main] if main is not None and main in step.after.things else names
        elif not names and main is not None and main in step.after.things:
            names = [main]
        if not names:
            return None
        name = names[0]
        if action == "unwrap" and self.step.before.holder(name) is not None:
            return None
        if action == "put" and main is not None:
            x_m, y_m = place_of(house, step.after, main)
        else:
            x_m, y_m = place_of(house, step.before if action == "grab" else step.after, name)
        return x_m, y_m + min(house.things[name].height_m * 0.6, 1.0)

    def _reaching(self, share: float, *, sway: float = 0.0) -> Pose:
        aim = self._aim()
        if aim is None:
            return self._before_chest()
        side = 1 if aim[0] >= self.x_m else -1
        goal = self.local((aim[0] + sway, aim[1] + 0.3 * sway))
        pose = self.rest
        if self.state.posture in ("stand", "climbed"):
            low = max(0.0, 0.62 - goal[1])
            far = max(0.0, abs(goal[0]) - 0.42)
            bent = standing(side * 38.0, lower=min(0.34, low * 0.7), lean=min(0.3, far * 0.8 + low * 0.22))
            bent = self._with_rest_hands(bent)
            pose = blend(self.rest, bent, share)
        return pose.with_hand(self._acting_side(), goal, share)

    def _with_rest_hands(self, pose: Pose) -> Pose:
        """The pose with held things where they are held at rest."""
        for side, name in enumerate((self.state.right, self.state.left)):
            if name is not None:
                x, y = self.rest.hand(side)
                pose = pose.with_hand(side, (x + pose.joints[1][0] * 0.6, y - (1.25 - pose.joints[1][1])))
        return pose

    def _acting_side(self) -> int:
        """The hand that acts: the one that takes or leaves the thing, or a free one."""
        command = self.step.command
        before, after = (s.people[self.character] for s in (self.step.before, self.step.after))
        for side, hand in enumerate(("right", "left")):
            if command.main is not None and command.main in (getattr(before, hand), getattr(after, hand)):
                return side
        return 0 if before.right is None or before.left is not None else 1

    # With both hands or before the body.

    def _before_chest(self) -> Pose:
        action = self.step.command.action
        quick = QUICK_M.get(action, 0.012) * self.wave
        x, y = (float(v) for v in self.rest.joints[1])
        forward = math.sin(math.radians(self.rest.heading_deg))
        goal = (x + 0.2 * forward, y - 0.2 + (0.16 if action == "show" else -0.18 if action == "play" else 0.0))
        pose = replace(self.rest, face_deg=self.rest.face_deg * 0.6)
        side = self._acting_side()
        pose = pose.with_hand(side, (goal[0] + quick * 0.6, goal[1] + quick), self.there)
        if self.state.right is None or self.state.left is None:
            pose = pose.with_hand(1 - side, (goal[0] - 0.1, goal[1] - 0.05 - quick * 0.5), self.there)
        return pose

    def _at_mouth(self) -> Pose:
        head = self.rest.joints[2]
        quick = 0.035 * self.wave if self.step.command.action == "brush" else 0.0
        lift = ease(min(self.share, 1 - self.share) * 4)
        forward = math.sin(math.radians(self.rest.face_deg))
        goal = (float(head[0]) + 0.2 * forward, float(head[1]) - 0.2 + quick)
        return self.rest.with_hand(self._acting_side(), goal, lift)

    # With another person.

    def _meeting(self, partner: str) -> Point:
        """The point between two people at which their hands meet."""
        _, other_x = self.towards(partner)
        heights = [self.staging.house.person(name).height for name in (self.character, partner)]
        seated = any(self.step.before.people[name].posture != "stand" for name in (self.character, partner))
        return (self.x_m + other_x) / 2, (0.86 if seated else 0.95) * sum(heights) / 2 + self.y_m * 0.5 - 0.06

    def _handing(self) -> Pose:
        partner = self.partner()
        if partner is None:
            return self._before_chest()
        side, other_x = self.towards(partner)
        gap = abs(other_x - self.x_m)
        lean = min(0.3, max(0.0, gap / 2 - ARM_M * 0.85))
        bent = self.stand(self._with_rest_hands(standing(side * 48.0, lean=lean, face_deg=side * 40.0)))
        pose = blend(self.rest, bent, self.there)
        giver = self.character == self.step.command.person
        hand = self._acting_side() if giver else self._receiving_side()
        return pose.with_hand(hand, self.local(self._meeting(partner)), self.there)

    def _receiving_side(self) -> int:
        after = self.step.after.people[self.character]
        return 1 if self.step.command.main is not None and after.left == self.step.command.main else 0

    def _close(self) -> tuple[Pose, float]:
        """People who hug, or of whom one comforts the other, come close to each other."""
        partner = self.partner()
        if partner is None:
            return self.rest, self.x_m
        side, other_x = self.towards(partner)
        hug = self.step.command.action == "hug"
        gap = abs(other_x - self.x_m)
        upright = self.state.posture == "stand"
        goal = 0.3 if hug else 0.46
        x_m = self.x_m + side * max(0.0, (gap - goal) / 2) * self.there if upright else self.x_m
        if hug:
            hands = ((0.3, -0.1, 1.06), (0.32, 0.1, 1.14))
            pose = self.stand(standing(side * 58.0, hands=hands, lean=0.05, face_deg=side * 40.0))
            return blend(self.rest, pose, self.there), x_m
        if self.character == self.step.command.person:
            pose = self.stand(standing(side * 34.0, lean=0.04, face_deg=side * 40.0))
            pose = blend(self.rest, pose, self.there)
            pat = 0.035 * self.wave
            shoulder = ((other_x - x_m - side * max(0.0, (gap - goal) / 2) * self.there) * 0.86, 1.18 + pat)
            hand = 1 if side > 0 else 0
            return pose.with_hand(hand, shoulder, self.there), x_m
        nod = standing(side * 16.0, nod=0.07, face_deg=side * 20.0)
        return blend(self.rest, self.stand(nod), self.there), x_m

    def _saying(self) -> Pose:
        partner = self.partner()
        side = self.towards(partner)[0] if partner is not None else self.state.facing
        act = self.step.command.speech_act
        pose = self.rest
        if self.state.posture in ("stand", "climbed"):
            pose = blend(self.rest, self._with_rest_hands(standing(side * 24.0, face_deg=side * 28.0)), self.there)
        else:
            pose = blend(self.rest, replace(self.rest, face_deg=side * 28.0), self.there)
        free = [s for s, name in enumerate((self.state.right, self.state.left)) if name is None]
        if not free:
            return pose
        x, y = (float(v) for v in pose.joints[1])
        beat = 0.05 * self.wave
        near = free[-1] if side > 0 else free[0]
        if act in ("thank", "apologise", "comfort"):
            return pose.with_hand(near, (x + 0.02 * side, y - 0.16), self.there)
        if act in ("complain", "warn", "refuse"):
            return pose.with_hand(near, (x + side * 0.34, y + 0.12 + beat), self.there)
        if act == "greet":
            return pose.with_hand(near, (x + side * 0.34 + beat, y + 0.3), self.there)
        pose = pose.with_hand(near, (x + side * 0.38, y - 0.16 + beat), self.there)
        if len(free) == 2 and act in ("ask", "propose", "offer"):
            pose = pose.with_hand(1 - near, (x - side * 0.32, y - 0.2 - beat), self.there * 0.8)
        return pose

    def _waving(self) -> Pose:
        side = self.free_side()
        x, y = (float(v) for v in self.rest.joints[1])
        out = (-1 if side == 0 else 1) * 0.34
        quick = math.sin((self.time_s - self.step.start_s) * 4 * math.pi)
        return self.rest.with_hand(side, (x + out + 0.09 * quick, y + 0.34), self.there)

    def _clapping(self) -> Pose:
        quick = 0.07 * abs(math.sin((self.time_s - self.step.start_s) * 3.5 * math.pi))
        x, y = (float(v) for v in self.rest.joints[1])
        pose = self.rest.with_hand(0, (x - 0.03 - quick, y - 0.1), self.there)
        return pose.with_hand(1, (x + 0.03 + quick, y - 0.1), self.there)

    def _feeling(self) -> Pose:
        action = self.step.command.action
        x, y = (float(v) for v in self.rest.joints[2])
        free = [s for s, name in enumerate((self.state.right, self.state.left)) if name is None]
        pose = replace(self.rest, face_deg=self.rest.face_deg * (1 - 0.5 * self.there))
        for side in free:
            sign = -1 if side == 0 else 1
            goal = {
                "gasp": (x + sign * 0.2, y - 0.16),
                "smile": (x + sign * 0.3, y + 0.06 + 0.04 * self.wave),
                "scowl": (x + sign * 0.2, y - 0.68),
                "frown": (x + sign * 0.16, y - 0.78),
                "calm": (x + sign * 0.06, y - 0.42),
            }[action]
            pose = pose.with_hand(side, goal, self.there)
        if action == "gasp" and self.state.posture == "stand":
            return replace(pose, shift=(0.0, 0.05 * math.sin(min(1.0, self.share * 2.5) * math.pi)))
        return pose

    def _waiting(self) -> Pose:
        x, y = (float(v) for v in self.rest.joints[0])
        pose = self.rest
        for side, name in enumerate((self.state.right, self.state.left)):
            if name is None:
                pose = pose.with_hand(side, (x + (-0.05 if side == 0 else 0.05), y + 0.12), self.there)
        # They look to one side and to the other.
        aside = 12.0 if int((self.time_s - self.step.start_s) / 1.4) % 2 else -12.0
        return replace(pose, face_deg=pose.face_deg + aside)

    def _watching(self) -> Pose:
        where = self.step.command.main
        looked = self.step.after.people.get(where or "")
        x_m = looked.x_m if looked is not None else None
        if x_m is None and where in self.step.after.things:
            x_m = self.step.after.things[str(where)].x_m
        if x_m is None:
            return self.rest
        side = 1 if x_m >= self.x_m else -1
        return blend(self.rest, replace(self.rest, face_deg=side * 40.0), self.there)

    def _throwing(self) -> Pose:
        side = self._acting_side()
        partner = self.partner()
        way = self.towards(partner)[0] if partner is not None else self.state.facing
        x, y = (float(v) for v in self.rest.joints[1])
        angle = math.pi * (0.9 - 1.1 * ease((self.share - 0.2) * 2.4))
        return self.rest.with_hand(
            side, (x + way * 0.45 * math.cos(angle), y + 0.1 + 0.35 * math.sin(angle)), self.there
        )

    def _sweeping(self) -> Pose:
        sway = 0.16 * self.wave
        pose = standing(self.state.facing * 40.0, lean=0.14, lower=0.04)
        x, y = (float(v) for v in pose.joints[1])
        pose = pose.with_hand(0, (x + 0.12 * self.state.facing + sway, y - 0.34))
        pose = pose.with_hand(1, (x + 0.16 * self.state.facing + sway * 0.6, y - 0.18))
        return blend(self.rest, pose, self.there)

    def _dropping(self) -> Pose:
        side = self._acting_side()
        x, y = self.rest.hand(side)
        return self.rest.with_hand(side, (x + 0.1 * self.state.facing, y + 0.12), self.there)

    # Exercise.

    def _squatting(self) -> Pose:
        lower = 0.3 * math.sin(self.share * math.pi)
        reach = 0.34 * ease(self.share * 4) * ease((1 - self.share) * 4)
        hands = ((reach, -0.15, 1.06 - lower * 0.8), (reach, 0.15, 1.06 - lower * 0.8))
        return standing(self.state.facing * 50.0, hands=hands, lower=lower)

    def _jumping(self) -> Pose:
        up = math.sin(self.share * math.pi)
        if up <= 0.25:
            return standing(self.state.facing * 10.0, lower=0.1)
        return standing(
            self.state.facing * 10.0, hands=((0.0, -0.34, 1.6 + 0.3 * up), (0.0, 0.34, 1.6 + 0.3 * up)), lift=0.32 * up
        )

    def _stretching(self) -> Pose:
        sway = 0.1 * self.wave
        pose = standing(0.0, hands=((0.0, -0.14 + sway * 2, 1.74), (0.0, 0.14 + sway * 2, 1.74)))
        pose.joints[1:3, 0] += (sway * 0.7, sway)
        return blend(self.rest, pose, self.there)

    def _dancing(self) -> Pose:
        side = 0.16 * self.wave
        pose = standing(
            18.0 * self.wave,
            hands=((0.05, -0.38, 1.25 + side), (0.05, 0.38, 1.25 - side)),
            lower=0.04 + 0.04 * abs(self.wave),
        )
        pose.joints[9] += (-0.06, max(0.0, side) * 0.5)
        pose.joints[10] += (0.06, max(0.0, -side) * 0.5)
        return blend(self.rest, pose, self.there)


_ACTIONS: Final[dict[str, Callable[[_Scene], Pose]]] = {
    "drink": _Scene._at_mouth,
    "eat": _Scene._at_mouth,
    "brush": _Scene._at_mouth,
    "give": _Scene._handing,
    "say": _Scene._saying,
    "wave": _Scene._waving,
    "clap": _Scene._clapping,
    "wait": _Scene._waiting,
    "watch": _Scene._watching,
    "throw": _Scene._throwing,
    "sweep": _Scene._sweeping,
    "drop": _Scene._dropping,
    "squat": _Scene._squatting,
    "jump": _Scene._jumping,
    "stretch": _Scene._stretching,
    "dance": _Scene._dancing,
    **dict.fromkeys(("smile", "frown", "scowl", "gasp", "calm"), _Scene._feeling),
}


def _falling(first: Pose, second: Pose, share: float) -> Pose:
    # The knees give way, then the body falls quickly.
    kneeling = standing(first.heading_deg, lower=0.34)
    return blend(first, kneeling, share * 3) if share < 0.33 else blend(kneeling, second, (share - 0.33) * 3)


def head_of(figure: Figure) -> Point:
    """The middle of the head of a figure, in the coordinates of the room."""
    x, y = joints_on(figure.person, figure.x_m, figure.y_m, figure.pose)[2]
    return float(x), float(y)
