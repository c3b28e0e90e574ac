"""A command in the situation that it meets, with the checks that rules need; each raises `CannotError`."""

from dataclasses import replace
from typing import Final

from reeltalk.world.house import House, Thing
from reeltalk.world.program import CannotError, Command
from reeltalk.world.situation import Situation, ThingState

REACH_M: Final = 1.3


class SituatedCommand:
    """A command in its situation, with the checks that rules need."""

    def __init__(self, house: House, command: Command, situation: Situation) -> None:
        self.house, self.command, self.situation = house, command, situation
        self.agent = situation.agent

    @property
    def main(self) -> str:
        """What is acted on."""
        if self.command.main is None:
            raise CannotError(f"{self.command.action} needs an object")
        if self.command.main not in self.situation.things:
            raise CannotError(f"there is no {self.command.main} in this house")
        return self.command.main

    @property
    def target(self) -> str:
        """What it is done to or with."""
        if not self.command.targets:
            raise CannotError(f"{self.command.action} needs a second object")
        if self.command.targets[0] not in self.situation.things:
            raise CannotError(f"there is no {self.command.targets[0]} in this house")
        return self.command.targets[0]

    def thing(self, name: str) -> Thing:
        """An object as it was built."""
        return self.house.things[name]

    def state(self, name: str) -> ThingState:
        """Where an object is now, and how."""
        return self.situation.things[name]

    def needs(self, holds: bool, why: str) -> None:
        """Demand that something holds."""
        if not holds:
            raise CannotError(why)

    def can(self, name: str, what: str) -> None:
        """Demand that an object can be used so."""
        self.needs(what in self.thing(name).kind.can, f"a {self.thing(name).class_name} is nothing to {what}")

    def near(self, name: str) -> None:
        """Demand that an object is within reach."""
        state = self.state(name)
        self.needs(state.room == self.agent.room, f"{name} is in {state.room} and the person in {self.agent.room}")
        # One stands anywhere along a wide object, not only at its middle.
        reach = REACH_M + self.thing(name).kind.width_m / 2
        self.needs(abs(state.x_m - self.agent.x_m) <= reach, f"{name} is out of reach")

    def standing(self) -> None:
        """Demand that the person stands."""
        self.needs(self.agent.posture == "stand", f"the person is not standing but in posture {self.agent.posture!r}")

    def holds(self, name: str) -> None:
        """Demand that the person holds an object."""
        self.needs(name in self.agent.held, f"the person does not hold {name}")

    def open(self, name: str) -> None:
        """Demand that a container is open."""
        self.needs("CLOSED" not in self.state(name).values, f"{name} is closed")

    def reachable(self, name: str) -> None:
        """Demand that an object is within reach, and not shut in."""
        self.near(name)
        state = self.state(name)
        if state.inside and state.support in self.situation.things:
            self.open(state.support)

    def with_values(self, name: str, *, add: str | None = None, drop: str | None = None) -> Situation:
        """The situation with one value of an object changed."""
        values = (self.state(name).values - {drop}) | ({add} if add else frozenset())
        return self.with_thing(name, values=values)

    def with_thing(self, name: str, **changes: object) -> Situation:
        """The situation with an object changed."""
        things = dict(self.situation.things)
        things[name] = replace(things[name], **changes)  # type: ignore[arg-type]
        return replace(self.situation, things=things)

    def with_agent(self, situation: Situation | None = None, **changes: object) -> Situation:
        """The situation with the person changed."""
        situation = situation or self.situation
        return replace(situation, agent=replace(situation.agent, **changes))  # type: ignore[arg-type]

    def towards(self, name: str, situation: Situation | None = None) -> Situation:
        """Turned to an object, looking at it."""
        x_m = self.state(name).x_m
        facing = self.agent.facing if abs(x_m - self.agent.x_m) < 0.05 else (1 if x_m > self.agent.x_m else -1)
        return self.with_agent(situation, facing=facing, gaze=name)
