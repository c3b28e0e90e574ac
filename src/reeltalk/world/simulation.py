"""Programs carried out in a house, step by step, with one rule for each action.

A rule checks the preconditions of its action, and gives the situation after it. If a precondition does not hold, it
raises a `CannotError` with the reason; no step is skipped.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from reeltalk.world.house import DOOR_X_M, ROOM_WIDTH_M, House, Thing, surface_height_m
from reeltalk.world.situation import DURATIONS_S, HANDS, CannotError, Command, ProgramStep, Situation, ThingState

REACH_M: Final = 1.3


class SituatedCommand:
    """A command in its situation, with the checks that rules need."""

    def __init__(self, house: House, command: Command, situation: Situation) -> None:
        self.house, self.command, self.situation = house, command, situation
        if command.person is None or command.person not in situation.people:
            raise CannotError(f"there is no {command.person} here; people: {', '.join(situation.people)}")
        self.person = command.person
        self.agent = situation.people[command.person]

    @property
    def main(self) -> str:
        """The object acted on."""
        if self.command.main is None:
            raise CannotError(f"{self.command.action} needs an object")
        if self.command.main not in self.situation.things:
            raise CannotError(f"there is no {self.command.main} in this house")
        return self.command.main

    @property
    def target(self) -> str:
        """The second object of the action."""
        if not self.command.targets:
            raise CannotError(f"{self.command.action} needs a second object")
        if self.command.targets[0] not in self.situation.things:
            raise CannotError(f"there is no {self.command.targets[0]} in this house")
        return self.command.targets[0]

    def thing(self, name: str) -> Thing:
        """An object in its initial state."""
        return self.house.things[name]

    def state(self, name: str) -> ThingState:
        """The current state of an object."""
        return self.situation.things[name]

    def needs(self, holds: bool, why: str) -> None:
        """Requires that a condition holds."""
        if not holds:
            raise CannotError(why)

    def can(self, name: str, what: str) -> None:
        """Requires that an object allows an action."""
        self.needs(what in self.thing(name).kind.can, f"a {self.thing(name).class_name} is nothing to {what}")

    def near(self, name: str) -> None:
        """Requires that an object is within reach."""
        state = self.state(name)
        self.needs(state.room == self.agent.room, f"{name} is in {state.room} and the person in {self.agent.room}")
        # The person may stand anywhere along a wide object, not only at its middle.
        reach = REACH_M + self.thing(name).kind.width_m / 2
        self.needs(abs(state.x_m - self.agent.x_m) <= reach, f"{name} is out of reach")

    def standing(self) -> None:
        """Requires that the person stands."""
        self.needs(self.agent.posture == "stand", f"the person is not standing but in posture {self.agent.posture!r}")

    def holds(self, name: str) -> None:
        """Requires that the person holds an object."""
        self.needs(name in self.agent.held, f"the person does not hold {name}")

    def open(self, name: str) -> None:
        """Requires that a container is open."""
        self.needs("CLOSED" not in self.state(name).values, f"{name} is closed")

    def reachable(self, name: str) -> None:
        """Requires that an object is within reach, and not in a closed container."""
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
        return with_person(situation or self.situation, self.person, **changes)

    def towards(self, name: str, situation: Situation | None = None) -> Situation:
        """The situation with the person turned to an object or a person and looking at it."""
        people = self.situation.people
        x_m = people[name].x_m if name in people else self.state(name).x_m
        facing = self.agent.facing if abs(x_m - self.agent.x_m) < 0.05 else (1 if x_m > self.agent.x_m else -1)
        return self.with_agent(situation, facing=facing, gaze=name)


def with_person(situation: Situation, person: str, **changes: object) -> Situation:
    """The situation with a person changed."""
    changed = replace(situation.people[person], **changes)  # type: ignore[arg-type]
    return replace(situation, people={**situation.people, person: changed})


def _grab(s: SituatedCommand) -> Situation:
    s.can(s.main, "grab")
    s.needs(s.main not in s.agent.held, f"the person holds {s.main} already")
    s.reachable(s.main)
    laden = [name for name, state in s.situation.things.items() if state.support == s.main]
    s.needs(not laden, f"{', '.join(laden)} is on {s.main}")
    hand = next((h for h in HANDS if getattr(s.agent, h) is None), None)
    s.needs(hand is not None, "both hands are full")
    changed = s.with_thing(
        s.main,
        support=s.person,
        inside=False,
        x_m=s.agent.x_m,
        values=s.state(s.main).values | {"GRABED"},
    )
    assert hand is not None
    return s.with_agent(s.towards(s.main, changed), **{hand: s.main})


def _released(s: SituatedCommand, *, support: str, inside: bool, x_m: float, y_m: float) -> Situation:
    hand = next(h for h in HANDS if getattr(s.agent, h) == s.main)
    values = s.state(s.main).values - {"GRABED"}
    changed = s.with_thing(s.main, support=support, inside=inside, x_m=x_m, y_m=y_m, values=values)
    return s.with_agent(s.towards(support, changed), **{hand: None})


def _free_place(s: SituatedCommand, on: str) -> float:
    """A place on a surface near the person, as far as possible from the objects there."""
    state, kind = s.state(on), s.thing(on).kind
    half = max(0.0, kind.width_m / 2 - s.thing(s.main).kind.width_m / 2)
    taken = [other.x_m for name, other in s.situation.things.items() if other.support == on and not other.inside]
    places = [round(state.x_m - half + 2 * half * n / 8, 3) for n in range(9)]
    return max(places, key=lambda x: (round(min((abs(x - t) for t in taken), default=9.0), 2), -abs(x - s.agent.x_m)))


def _put(s: SituatedCommand) -> Situation:
    s.holds(s.main)
    s.near(s.target)
    s.can(s.target, "surface")
    top = surface_height_m(s.thing(s.target)) - s.thing(s.target).y_m + s.state(s.target).y_m
    return _released(s, support=s.target, inside=False, x_m=_free_place(s, s.target), y_m=round(top, 3))


def _put_in(s: SituatedCommand) -> Situation:
    s.holds(s.main)
    s.near(s.target)
    s.can(s.target, "container")
    s.open(s.target)
    state = s.state(s.target)
    return _released(s, support=s.target, inside=True, x_m=state.x_m, y_m=round(state.y_m + 0.1, 3))


def _open(s: SituatedCommand) -> Situation:
    s.can(s.main, "open")
    s.near(s.main)
    s.needs("CLOSED" in s.state(s.main).values, f"{s.main} is open already")
    s.needs("ON" not in s.state(s.main).values, f"{s.main} is running")
    return s.towards(s.main, s.with_values(s.main, add="OPEN", drop="CLOSED"))


def _close(s: SituatedCommand) -> Situation:
    s.can(s.main, "open")
    s.near(s.main)
    s.needs("OPEN" in s.state(s.main).values, f"{s.main} is closed already")
    return s.towards(s.main, s.with_values(s.main, add="CLOSED", drop="OPEN"))


def _switch(on: bool) -> "Callable[[SituatedCommand], Situation]":
    add, drop = ("ON", "OFF") if on else ("OFF", "ON")

    def rule(s: SituatedCommand) -> Situation:
        s.can(s.main, "switch")
        # A remote control works from anywhere in the room.
        remote = s.thing(s.main).class_name in ("tv", "radio") and any(
            s.thing(held).class_name == "remotecontrol" for held in s.agent.held
        )
        if remote:
            s.needs(s.state(s.main).room == s.agent.room, f"{s.main} is in another room")
        else:
            s.near(s.main)
        s.needs(drop in s.state(s.main).values, f"{s.main} is {add} already")
        s.needs("OPEN" not in s.state(s.main).values, f"the door of {s.main} is open")
        return s.towards(s.main, s.with_values(s.main, add=add, drop=drop))

    return rule


def _sit(s: SituatedCommand) -> Situation:
    s.can(s.main, "sit")
    s.standing()
    s.near(s.main)
    return s.with_agent(posture="sit", seat=s.main, x_m=_seat_x(s), gaze=None)


def _seat_x(s: SituatedCommand) -> float:
    """Where on a seat the person sits: on the side from which they come."""
    state, width = s.state(s.main), s.thing(s.main).kind.width_m
    side = 1 if s.agent.x_m > state.x_m else -1
    return round(state.x_m + side * max(0.0, width / 2 - 0.55), 3)


def _lie(s: SituatedCommand) -> Situation:
    s.can(s.main, "lie")
    s.needs(s.agent.posture in ("stand", "sit"), f"the person is in posture {s.agent.posture!r}")
    s.near(s.main)
    return s.with_agent(posture="lie", seat=s.main, x_m=s.state(s.main).x_m, facing=1, gaze=None)


def _stand(s: SituatedCommand) -> Situation:
    s.needs(s.agent.posture != "stand", "the person stands already")
    return s.with_agent(posture="stand", seat=None)


def _sleep(s: SituatedCommand) -> Situation:
    s.needs(s.agent.posture == "lie" and s.agent.seat == s.main, f"the person does not lie on {s.main}")
    return s.situation


def _wake_up(s: SituatedCommand) -> Situation:
    s.needs(s.agent.posture == "lie", "the person does not lie down")
    return s.with_agent(posture="sit")


def _use_held(s: SituatedCommand) -> Situation:
    s.holds(s.main)
    return s.with_agent(gaze=s.main)


def _drink(s: SituatedCommand) -> Situation:
    s.can(s.main, "drink")
    s.holds(s.main)
    changed = s.situation
    if s.thing(s.main).class_name in ("mug", "waterglass", "wineglass"):
        changed = s.with_values(s.main, add="DIRTY", drop="CLEAN")
    return s.with_agent(changed, gaze=s.main)


def _eat(s: SituatedCommand) -> Situation:
    s.can(s.main, "eat")
    s.holds(s.main)
    return s.with_agent(gaze=s.main)


def _pour(s: SituatedCommand) -> Situation:
    s.can(s.main, "pour")
    s.holds(s.main)
    s.near(s.target)
    return s.towards(s.target)


def _on_target(s: SituatedCommand) -> Situation:
    """Wipes or scrubs an object with the held object. Afterwards it is clean."""
    s.holds(s.main)
    s.near(s.target)
    return s.towards(s.target, s.with_values(s.target, add="CLEAN", drop="DIRTY"))


def _at_water(s: SituatedCommand) -> Situation:
    s.holds(s.main)
    running = any(
        s.thing(name).class_name == "faucet"
        and state.room == s.agent.room
        and "ON" in state.values
        and abs(state.x_m - s.agent.x_m) <= REACH_M
        for name, state in s.situation.things.items()
    )
    s.needs(running, "no water runs within reach")
    return s.with_agent(s.with_values(s.main, add="CLEAN", drop="DIRTY"), gaze=s.main)


def _cut(s: SituatedCommand) -> Situation:
    s.near(s.main)
    tools = [s.thing(held).class_name for held in s.agent.held]
    s.needs("cutleryknife" in tools, "the person holds no knife")
    s.can(s.main, "eat")
    return s.towards(s.main)


def _turn_to(s: SituatedCommand) -> Situation:
    s.needs(s.state(s.main).room == s.agent.room, f"{s.main} is in another room")
    return s.towards(s.main)


def _watch(s: SituatedCommand) -> Situation:
    _turn_to(s)
    if "switch" in s.thing(s.main).kind.can:
        s.needs("ON" in s.state(s.main).values, f"{s.main} is off")
    return s.towards(s.main)


def _type(s: SituatedCommand) -> Situation:
    s.near(s.main)
    s.needs("ON" in s.state(s.main).values, f"{s.main} is off")
    return s.towards(s.main)


def _exercise(s: SituatedCommand) -> Situation:
    s.standing()
    return s.with_agent(gaze=None)


def _climb(s: SituatedCommand) -> Situation:
    s.can(s.main, "climb")
    s.standing()
    s.near(s.main)
    return s.with_agent(posture="climbed", seat=s.main, x_m=s.state(s.main).x_m, gaze=None)


def _touch(s: SituatedCommand) -> Situation:
    s.near(s.main)
    return s.towards(s.main)


def _fall(s: SituatedCommand) -> Situation:
    s.needs(s.agent.posture in ("stand", "climbed"), f"the person is in posture {s.agent.posture!r}")
    return s.with_agent(posture="fallen", seat=None, gaze=None)


def _fall_sit(s: SituatedCommand) -> Situation:
    s.needs(s.agent.posture == "sit" and s.agent.seat == s.main, f"the person does not sit on {s.main}")
    state, width = s.state(s.main), s.thing(s.main).kind.width_m
    side = -1 if s.agent.x_m > state.x_m else 1
    x_m = min(max(s.agent.x_m - side * (width / 2 + 0.2), 0.9), ROOM_WIDTH_M - 0.9)
    return s.with_agent(posture="fallen", seat=None, x_m=round(x_m, 3), gaze=None)


RULES: Final[dict[str, Callable[[SituatedCommand], Situation]]] = {
    "grab": _grab,
    "put": _put,
    "putIn": _put_in,
    "open": _open,
    "close": _close,
    "switchOn": _switch(True),
    "switchOff": _switch(False),
    "sit": _sit,
    "lie": _lie,
    "stand": _stand,
    "sleep": _sleep,
    "wakeUp": _wake_up,
    "drink": _drink,
    "eat": _eat,
    "pour": _pour,
    "turnTo": _turn_to,
    "lookAt": _turn_to,
    "watch": _watch,
    "wipe": _on_target,
    "scrub": _on_target,
    "rinse": _at_water,
    "soak": _at_water,
    "wash": _at_water,
    "brush": _use_held,
    "squeeze": _use_held,
    "cut": _cut,
    "read": _use_held,
    "type": _type,
    "write": _use_held,
    "text": _use_held,
    "squat": _exercise,
    "jump": _exercise,
    "stretch": _exercise,
    "dance": _exercise,
    "climb": _climb,
    "shake": _use_held,
    "fold": _use_held,
    "touch": _touch,
    "fall": _fall,
    "fallback": _fall,
    "fallsit": _fall_sit,
}


WALK_M_PER_S: Final = 1.0
SETTLE_S: Final = 0.6
STAND_M: Final = 0.35
"""How far from an object's centre the person stops."""


def carry_out(house: House, commands: Iterable[Command], start: Situation) -> list[ProgramStep]:
    """Carries out a program.

    Raises:
        CannotError: A precondition of a step does not hold; names the step and the reason.
    """
    steps: list[ProgramStep] = []
    situation, at_s = start, 0.0
    for number, command in enumerate(commands, 1):
        try:
            step = do(house, command, situation, at_s)
        except CannotError as error:
            raise CannotError(f"step {number}, {command.line}: {error}") from None
        steps.append(step)
        situation, at_s = step.after, step.end_s
    return steps


def do(house: House, command: Command, situation: Situation, start_s: float = 0.0) -> ProgramStep:
    """Carries out one command.

    Raises:
        CannotError: Its precondition does not hold.
    """
    if command.action == "walk":
        return _walk(house, command, situation, start_s)
    rule = RULES.get(command.action)
    if rule is None:
        raise CannotError(f"{command.action!r} is no action")
    after = rule(SituatedCommand(house, command, situation))
    return ProgramStep(command, start_s, DURATIONS_S[command.action], situation, after)


def location(house: House, situation: Situation, name: str) -> tuple[str, float]:
    """The room of an object, and its position along the wall; the position of a room is inside its door."""
    if name in situation.things:
        state = situation.things[name]
        return state.room, state.x_m
    room = house.rooms[name]
    inwards = 1.2 if room.door == "left" else -1.2
    return name, DOOR_X_M[room.door] + inwards


def stop_beside(house: House, x_m: float, from_x_m: float, name: str) -> float:
    """Where the person stops on a walk to an object: on the near side of it."""
    if name in house.rooms:
        return x_m
    away = STAND_M if from_x_m > x_m else -STAND_M
    return min(max(x_m + away, 0.6), ROOM_WIDTH_M - 0.6)


def _walk(house: House, command: Command, situation: Situation, start_s: float) -> ProgramStep:
    agent = SituatedCommand(house, command, situation).agent
    if command.main is None:
        raise CannotError("walk needs something to walk to")
    if command.main not in situation.things and command.main not in house.rooms:
        raise CannotError(f"there is no {command.main} in this house")
    if agent.posture != "stand":
        raise CannotError(f"the person cannot walk, being in posture {agent.posture!r}")
    room, x_m = location(house, situation, command.main)
    entered = agent.x_m if room == agent.room else DOOR_X_M[house.rooms[room].door]
    stop = stop_beside(house, x_m, entered, command.main)
    length = abs(stop - entered)
    if room != agent.room:
        length += abs(DOOR_X_M[house.rooms[agent.room].door] - agent.x_m)
    facing = (1 if x_m > stop else -1) if command.main in situation.things else (1 if stop > entered else -1)
    moved = replace(agent, room=room, x_m=round(stop, 3), facing=facing, gaze=None)
    things = dict(situation.things)
    for name in agent.held:
        things[name] = replace(things[name], room=room, x_m=moved.x_m)
    seconds = round(length / WALK_M_PER_S + SETTLE_S, 1)
    assert command.person is not None
    after = replace(situation, things=things, people={**situation.people, command.person: moved})
    return ProgramStep(command, start_s, seconds, situation, after)
