"""Where people are at each moment of a program, what they are doing, and how they stay apart from each other.

At a time, the situation is the one after the last step that has taken effect; somebody's step is the one that has begun
and not ended.
"""

import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from reeltalk_household.world.figure import ease
from reeltalk_household.world.house import DOOR_X_M, House
from reeltalk_household.world.situation import LATER, PersonState, ProgramStep, Situation

APART_M: Final = 0.64
"""The least distance at which standing people are drawn."""
EASE_S: Final = 0.5
SETTLE_S: Final = 0.3
"""How long before the end of a walk the person arrives."""
JOINT_ACTIONS: Final = frozenset({"give", "hug", "comfort", "say", "show", "wave", "throw"})
"""Actions in which a person that they are done to takes part."""


@dataclass(frozen=True)
class Whereabouts:
    """The place of a person at a moment."""

    room: str
    x_m: float
    walked_m: float = 0.0
    """Length of the way since the walk began."""
    direction: int = 0
    """1 or -1 on a walk, 0 at rest."""


class Staging:
    """The people of a program, by time.

    Args:
        steps: The steps, in the order in which they take effect, with times from the film's start.
        begin_s: When the first scene begins.
    """

    def __init__(self, house: House, steps: Sequence[ProgramStep], *, begin_s: float = 0.0) -> None:
        if not steps:
            raise ValueError("a film needs at least one step")
        self.house, self.steps = house, steps
        self.end_s = max(step.end_s for step in steps)
        self.scenes = _scenes(steps, begin_s)
        self.changes_s: list[float] = []
        """When the situation changes: steps take effect, and scenes begin."""
        self._situations = [steps[0].before]
        self._number_after: dict[int, int] = {}
        for number, (start_s, first, last) in enumerate(self.scenes):
            if number:
                self.changes_s.append(start_s)
                self._situations.append(steps[first].before if first < len(steps) else steps[-1].after)
            for step in steps[first:last]:
                self.changes_s.append(step.effect_s)
                self._number_after[id(step)] = len(self._situations)
                self._situations.append(step.after)
        self._apart = [_apart(house, situation) for situation in self._situations]
        self._own: dict[str, list[ProgramStep]] = {}
        self._with: dict[str, list[ProgramStep]] = {}
        for step in sorted(steps, key=lambda step: step.start_s):
            if step.command.person is not None:
                self._own.setdefault(step.command.person, []).append(step)
            if step.command.action in JOINT_ACTIONS:
                for name in (step.command.main, *step.command.targets):
                    if name in step.before.people and name != step.command.person:
                        self._with.setdefault(str(name), []).append(step)

    def number(self, time_s: float) -> int:
        """How often the situation has changed."""
        return bisect.bisect_right(self.changes_s, time_s + 1e-6)

    def scene_at(self, time_s: float) -> int:
        """The number of the scene at a time."""
        return bisect.bisect_right([start_s for start_s, _, _ in self.scenes], time_s + 1e-6) - 1

    def situation(self, time_s: float) -> Situation:
        """The situation at a time."""
        return self._situations[self.number(time_s)]

    def next_steps(self, time_s: float) -> Sequence[ProgramStep]:
        """The steps that take effect next, the first three of the scene."""
        _, first, last = self.scenes[self.scene_at(time_s)]
        number = bisect.bisect_right(self.steps, time_s + 1e-6, first, last, key=lambda step: step.effect_s)
        return self.steps[number : min(number + 3, last)]

    def step(self, person: str, time_s: float) -> ProgramStep | None:
        """What a person is doing at a time; None if nothing."""
        return _current(self._own.get(person, ()), time_s)

    def last(self, person: str, time_s: float) -> ProgramStep | None:
        """What a person did last before a time."""
        begun_s = self.scenes[self.scene_at(time_s)][0]
        done = [step for step in self._own.get(person, ()) if begun_s <= step.start_s and step.end_s <= time_s]
        return done[-1] if done else None

    def done_to(self, person: str, time_s: float) -> ProgramStep | None:
        """What somebody else is doing with a person at a time, such as giving them something; None if nothing."""
        return _current(self._with.get(person, ()), time_s)

    def standing(self, person: str, time_s: float) -> Whereabouts:
        """The place of a person at a time."""
        step = self.step(person, time_s)
        if step is not None and step.command.action == "walk":
            return self._on_walk(person, step, time_s)
        now = self.number(time_s)
        state = self._situations[now].people[person]
        x_m = self._apart[now][person]
        if now < len(self.changes_s):
            left_s = self.changes_s[now] - time_s
            following = self._situations[now + 1].people[person]
            cut = any(start_s == self.changes_s[now] for start_s, _, _ in self.scenes[1:])
            if left_s < EASE_S and following.room == state.room and not cut:
                x_m += (self._apart[now + 1][person] - x_m) * ease(1 - left_s / EASE_S)
        return Whereabouts(state.room, x_m)

    def _on_walk(self, person: str, step: ProgramStep, time_s: float) -> Whereabouts:
        start = self.number(step.start_s)
        # The last step of a scene ends when the next scene begins.
        goal = self._number_after[id(step)]
        begin_x, end_x = self._apart[start][person], self._apart[goal][person]
        ways = walk_ways(self.house, step.before.people[person], step.after.people[person], begin_x, end_x)
        total = sum(abs(end - begin) for _, begin, end in ways)
        share = min(1.0, (time_s - step.start_s) / max(step.duration_s - SETTLE_S, 0.1))
        left = share * total
        for index, (room, begin, end) in enumerate(ways):
            length = abs(end - begin)
            if left < length or index == len(ways) - 1:
                direction = 1 if end > begin else -1
                arrived = share >= 1.0 or total < 0.02
                return Whereabouts(
                    room, begin + direction * min(left, length), share * total, 0 if arrived else direction
                )
            left -= length
        raise AssertionError("a walk has a way")

    def entered_s(self, step: ProgramStep) -> float:
        """Time at which a walk to another room leaves the first one, in seconds."""
        person = str(step.command.person)
        low, high = step.start_s, step.end_s
        before = step.before.people[person].room
        for _ in range(16):
            middle = (low + high) / 2
            low, high = (middle, high) if self._on_walk(person, step, middle).room == before else (low, middle)
        return high


def _scenes(steps: Sequence[ProgramStep], begin_s: float) -> list[tuple[float, int, int]]:
    """Start in seconds, first step and step after the last of each scene."""
    found = [(begin_s, 0)]
    for number, (one, other) in enumerate(pairwise(steps), 1):
        if other.command.action == LATER:
            found.append((other.start_s, number + 1))
        elif one.command.action != LATER and other.before is not one.after and other.before != one.after:
            found.append((max(step.end_s for step in steps[:number]), number))
    lasts = [first - (steps[first - 1].command.action == LATER) for _, first in found[1:]]
    return [(start_s, first, last) for (start_s, first), last in zip(found, [*lasts, len(steps)], strict=True)]


def _current(steps: Sequence[ProgramStep], time_s: float) -> ProgramStep | None:
    return next((step for step in steps if step.start_s <= time_s + 1e-6 < step.end_s), None)


def walk_ways(
    house: House, before: PersonState, after: PersonState, begin_x: float, end_x: float
) -> list[tuple[str, float, float]]:
    """The parts of a walk: the room, and where in it the part begins and ends, in metres."""
    if before.room == after.room:
        return [(before.room, begin_x, end_x)]
    out, into = DOOR_X_M[house.rooms[before.room].door], DOOR_X_M[house.rooms[after.room].door]
    return [(before.room, begin_x, out), (after.room, into, end_x)]


def _apart(house: House, situation: Situation) -> Mapping[str, float]:
    """Where people are drawn, so that those who stand do not hide each other."""
    places = {name: state.x_m for name, state in situation.people.items()}
    free = {name: state.posture in ("stand", "climbed") for name, state in situation.people.items()}
    by_room: dict[str, list[str]] = {}
    for name, state in situation.people.items():
        by_room.setdefault(state.room, []).append(name)
    for names in by_room.values():
        for _ in range(8):
            names.sort(key=lambda name: (places[name], name))
            for left, right in pairwise(names):
                lacking = APART_M - (places[right] - places[left])
                if lacking <= 0.005 or not (free[left] or free[right]):
                    continue
                share = 0.5 if free[left] and free[right] else 1.0
                places[left] -= lacking * share if free[left] else 0.0
                places[right] += lacking * share if free[right] else 0.0
            for name in names:
                if free[name]:
                    places[name] = min(max(places[name], 0.5), 5.9)
    return places
