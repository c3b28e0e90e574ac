"""Activities: recipes that become VirtualHome programs in a given house and situation.

The recipes are in `activities.txt`. If an earlier activity moved an object, it is fetched from its new place. An
impossible step raises `CannotError`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from reeltalk.graph.vocabulary import AGENT, CATEGORIES
from reeltalk.world.house import ROOM_ORDER, House
from reeltalk.world.simulation import do, location
from reeltalk.world.situation import CannotError, Command, PersonState, ProgramStep, Situation

RECIPES: Final = Path(__file__).parent / "activities.txt"
NEAR_M: Final = 0.6
"""Within this distance the person need not walk."""


@dataclass(frozen=True)
class Activity:
    name: str
    """A name such as `Drink_milk`."""
    category: str
    """One of VDAct's twelve categories."""
    lines: tuple[tuple[str, ...], ...]


@cache
def activities() -> dict[str, Activity]:
    """All recipes by name."""
    made: dict[str, Activity] = {}
    for block in re.split(r"^= ", RECIPES.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, *lines = [line for line in block.splitlines() if line.strip()]
        name, category = head.split()
        if category not in CATEGORIES:
            raise ValueError(f"{name}: {category!r} is no category")
        made[name] = Activity(name, category, tuple(tuple(line.split()) for line in lines))
    return made


def perform(house: House, activity: Activity, start: Situation, start_s: float = 0.0) -> list[ProgramStep]:
    """Carry out a recipe.

    Args:
        house: The house.
        activity: The activity.
        start: The situation before it.
        start_s: When its first step begins.

    Returns:
        The steps of the resulting program.

    Raises:
        CannotError: The house lacks something, or a step cannot be done.
    """
    planner = _Planner(house, start, start_s)
    for line in activity.lines:
        planner.line(line)
    if planner.agent.held:
        raise CannotError(f"{activity.name} ends with {planner.agent.held[0]} in a hand")
    return planner.steps


def program(steps: Sequence[ProgramStep]) -> str:
    """The program that was carried out, with one command per line."""
    return "".join(f"{step.command.line}\n" for step in steps)


class _Planner:
    def __init__(self, house: House, start: Situation, at_s: float) -> None:
        self.house, self.situation = house, start
        self.steps: list[ProgramStep] = []
        self.at_s = at_s

    @property
    def agent(self) -> PersonState:
        return self.situation.people[AGENT]

    def line(self, words: tuple[str, ...]) -> None:
        verb, names = words[0], [self._find(word) for word in words[1:]]
        if verb == "go":
            self._go(names[0])
        elif verb == "fetch":
            self._fetch(names[0])
        elif verb == "place":
            self._go(names[1])
            self._do("put", *names)
        elif verb == "stow":
            self._stow(*names)
        else:
            self._do(verb, *names)

    def _do(self, action: str, *names: str) -> None:
        command = Command(action, names[0] if names else None, tuple(names[1:]))
        step = do(self.house, command, self.situation, self.at_s)
        self.steps.append(step)
        self.situation, self.at_s = step.after, step.end_s

    def _find(self, word: str) -> str:
        """The object that a word of a recipe means in this situation."""
        room_class, _, class_name = word.rpartition(":")
        if class_name in ROOM_ORDER:
            return next(name for name, room in self.house.rooms.items() if room.class_name == class_name)
        rooms = {name: room.class_name for name, room in self.house.rooms.items()}
        found = [
            thing.name for thing in self.house.of_class(class_name) if not room_class or rooms[thing.room] == room_class
        ]
        if not found:
            raise CannotError(f"this house has no {class_name}")
        # If there are several, the one in the person's room, otherwise the first.
        here = [name for name in found if self.situation.things[name].room == self.agent.room]
        return (here or found)[0]

    def _go(self, name: str) -> None:
        # The previous activity may have ended on the floor or on a seat.
        if self.agent.posture != "stand":
            self._do("stand")
        agent = self.agent
        room, x_m = location(self.house, self.situation, name)
        if name in self.house.rooms:
            if agent.room != room:
                self._do("walk", name)
        elif agent.room != room or abs(agent.x_m - x_m) > NEAR_M:
            if agent.room != room:
                self._do("walk", room)
            self._do("walk", name)

    def _fetch(self, name: str) -> None:
        if name in self.agent.held:
            return
        state = self.situation.things[name]
        holder = state.support if state.inside and state.support in self.situation.things else None
        if holder is None:
            self._go(name)
            self._do("grab", name)
            return
        self._go(holder)
        closed = "CLOSED" in self.situation.things[holder].values
        if closed:
            self._do("open", holder)
        self._do("grab", name)
        if closed:
            self._do("close", holder)

    def _stow(self, name: str, holder: str) -> None:
        self._go(holder)
        closed = "CLOSED" in self.situation.things[holder].values
        if closed:
            self._do("open", holder)
        self._do("putIn", name, holder)
        if closed:
            self._do("close", holder)
