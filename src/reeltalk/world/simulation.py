"""Programs carried out in a house, step by step, each step with its preconditions.

A program is VirtualHome's: lines such as `[WALK] <fridge> (12)`. What a step needs is checked before it is done; what
cannot be done is a `CannotError` that says why, never a step that is skipped.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from reeltalk.errors import InputError, ReeltalkError
from reeltalk.graph.vocabulary import class_of
from reeltalk.world.house import DOOR_X_M, ROOM_WIDTH_M, House, Thing, surface_height_m

REACH_M: Final = 1.3
WALK_M_PER_S: Final = 1.0
SETTLE_S: Final = 0.6
HANDS: Final = ("right", "left")
STAND_M: Final = 0.35
"""How far from an object's centre one stops."""

Posture = Literal["stand", "sit", "lie", "fallen", "climbed"]

DURATIONS_S: Final = {
    "grab": 1.9,
    "put": 1.9,
    "putIn": 2.2,
    "open": 1.9,
    "close": 1.6,
    "switchOn": 1.6,
    "switchOff": 1.6,
    "sit": 1.9,
    "stand": 1.6,
    "lie": 2.4,
    "sleep": 8.1,
    "wakeUp": 2.2,
    "drink": 4.1,
    "eat": 5.4,
    "pour": 3.2,
    "turnTo": 1.1,
    "lookAt": 4.1,
    "watch": 8.1,
    "wipe": 4.9,
    "scrub": 4.1,
    "rinse": 3.5,
    "soak": 3.2,
    "wash": 4.1,
    "brush": 5.4,
    "squeeze": 2.2,
    "cut": 4.1,
    "read": 8.1,
    "type": 6.8,
    "write": 6.8,
    "text": 5.4,
    "squat": 2.4,
    "jump": 1.6,
    "stretch": 3.5,
    "dance": 5.4,
    "climb": 2.2,
    "shake": 2.7,
    "fold": 3.5,
    "touch": 1.6,
    "fall": 3.2,
    "fallsit": 3.2,
    "fallback": 3.2,
}
"""Seconds that each action takes; walking takes what its distance needs."""


class CannotError(ReeltalkError):
    """A step that cannot be done in the situation it meets; says which and why."""


@dataclass(frozen=True)
class Command:
    """One line of a program."""

    action: str
    """In the graphs' spelling, as `switchOn`."""
    main: str | None = None
    targets: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """As VirtualHome writes it: `[PUTIN] <milk> (4) <fridge> (12)`."""
        parts = [f"[{self.action.upper()}]"]
        for name in ((self.main,) if self.main else ()) + self.targets:
            class_name = class_of(name)
            parts.append(f"<{class_name}> ({name[len(class_name) :]})")
        return " ".join(parts)


ACTIONS: Final = {action.upper(): action for action in ("walk", *DURATIONS_S)}


def parse_command(line: str) -> Command:
    """A line of a program.

    Raises:
        CannotError: It is not written as VirtualHome writes programs.
    """
    match = re.fullmatch(r"\s*\[(\w+)\]((?:\s*<[a-z_ ]+>\s*\(\d+\))*)\s*", line)
    if match is None:
        raise CannotError(f"{line.strip()!r} is no step; expected as [WALK] <television> (297)")
    if match[1].upper() not in ACTIONS:
        raise CannotError(f"{match[1]!r} is no action; known: {', '.join(sorted(ACTIONS))}")
    names = [f"{name.replace(' ', '')}{number}" for name, number in re.findall(r"<([a-z_ ]+)>\s*\((\d+)\)", match[2])]
    return Command(ACTIONS[match[1].upper()], names[0] if names else None, tuple(names[1:]))


def read_program(text: str, *, file: Path) -> list[Command]:
    """A program, a command a line; empty lines and lines that begin with # are passed over.

    Raises:
        InputError: A line is no step; names it.
    """
    commands = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                commands.append(parse_command(line))
            except CannotError as error:
                raise InputError(str(error), file=file, line=number) from None
    if not commands:
        raise InputError("no step", file=file, hint="expected lines as [WALK] <fridge> (3)")
    return commands


@dataclass(frozen=True)
class ThingState:
    """Where an object is and how it is."""

    room: str
    x_m: float
    y_m: float
    support: str
    inside: bool
    values: frozenset[str]


@dataclass(frozen=True)
class AgentState:
    """Where the person is and how."""

    room: str
    x_m: float
    facing: int = 1
    """1 to the right, -1 to the left."""
    posture: Posture = "stand"
    seat: str | None = None
    """What the person sits, lies or stands on."""
    right: str | None = None
    left: str | None = None
    gaze: str | None = None
    """What the person looks at."""

    @property
    def held(self) -> tuple[str, ...]:
        """What is in the hands, the right one first."""
        return tuple(name for name in (self.right, self.left) if name)


@dataclass(frozen=True)
class Situation:
    """Everything at one moment."""

    things: Mapping[str, ThingState]
    agent: AgentState


@dataclass(frozen=True)
class Step:
    """An event: a command carried out."""

    command: Command
    duration_s: float
    before: Situation
    after: Situation

    @property
    def moved_room(self) -> bool:
        """True where the person went from one room to another."""
        return self.before.agent.room != self.after.agent.room


def begin(house: House, room: str) -> Situation:
    """The house as it was built, the person in the middle of a room.

    Args:
        house: Which house.
        room: Name of the room, as `kitchen1`.
    """
    things = {
        name: ThingState(t.room, t.x_m, t.y_m, t.support, t.inside, frozenset(t.states))
        for name, t in house.things.items()
    }
    return Situation(things, AgentState(room=room, x_m=ROOM_WIDTH_M / 2))


def carry_out(house: House, commands: Iterable[Command], start: Situation) -> list[Step]:
    """Carry out a program.

    Raises:
        CannotError: A step's precondition does not hold; names the step and why.
    """
    steps: list[Step] = []
    situation = start
    for number, command in enumerate(commands, 1):
        try:
            step = do(house, command, situation)
        except CannotError as error:
            raise CannotError(f"step {number}, {command.line}: {error}") from None
        steps.append(step)
        situation = step.after
    return steps


def do(house: House, command: Command, situation: Situation) -> Step:
    """Carry out one command.

    Raises:
        CannotError: Its precondition does not hold.
    """
    if command.action == "walk":
        return _walk(house, command, situation)
    rule = _RULES.get(command.action)
    if rule is None:
        raise CannotError(f"{command.action!r} is no action")
    after = rule(_Scene(house, command, situation))
    return Step(command, DURATIONS_S[command.action], situation, after)


def location(house: House, situation: Situation, name: str) -> tuple[str, float]:
    """The room of an object and where along its wall it is; a room's own place is beyond its door."""
    if name in situation.things:
        state = situation.things[name]
        return state.room, state.x_m
    room = house.rooms[name]
    inwards = 1.2 if room.door == "left" else -1.2
    return name, DOOR_X_M[room.door] + inwards


def stop_beside(house: House, x_m: float, from_x_m: float, name: str) -> float:
    """Where one stops when walking to something: on the near side of it."""
    if name in house.rooms:
        return x_m
    away = STAND_M if from_x_m > x_m else -STAND_M
    return min(max(x_m + away, 0.6), ROOM_WIDTH_M - 0.6)


def _walk(house: House, command: Command, situation: Situation) -> Step:
    agent = situation.agent
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
    return Step(command, seconds, situation, Situation(things, moved))


class _Scene:
    """A command in its situation, with the checks that rules need."""

    def __init__(self, house: House, command: Command, situation: Situation) -> None:
        self.house, self.command, self.situation = house, command, situation
        self.agent = situation.agent

    @property
    def main(self) -> str:
        if self.command.main is None:
            raise CannotError(f"{self.command.action} needs an object")
        if self.command.main not in self.situation.things:
            raise CannotError(f"there is no {self.command.main} in this house")
        return self.command.main

    @property
    def target(self) -> str:
        if not self.command.targets:
            raise CannotError(f"{self.command.action} needs a second object")
        if self.command.targets[0] not in self.situation.things:
            raise CannotError(f"there is no {self.command.targets[0]} in this house")
        return self.command.targets[0]

    def thing(self, name: str) -> Thing:
        return self.house.things[name]

    def state(self, name: str) -> ThingState:
        return self.situation.things[name]

    def needs(self, holds: bool, why: str) -> None:
        if not holds:
            raise CannotError(why)

    def can(self, name: str, what: str) -> None:
        self.needs(what in self.thing(name).kind.can, f"a {self.thing(name).class_name} is nothing to {what}")

    def near(self, name: str) -> None:
        state = self.state(name)
        self.needs(state.room == self.agent.room, f"{name} is in {state.room} and the person in {self.agent.room}")
        # One stands anywhere along a wide object, not only at its middle.
        reach = REACH_M + self.thing(name).kind.width_m / 2
        self.needs(abs(state.x_m - self.agent.x_m) <= reach, f"{name} is out of reach")

    def standing(self) -> None:
        self.needs(self.agent.posture == "stand", f"the person is not standing but in posture {self.agent.posture!r}")

    def holds(self, name: str) -> None:
        self.needs(name in self.agent.held, f"the person does not hold {name}")

    def open(self, name: str) -> None:
        self.needs("CLOSED" not in self.state(name).values, f"{name} is closed")

    def reachable(self, name: str) -> None:
        self.near(name)
        state = self.state(name)
        if state.inside and state.support in self.situation.things:
            self.open(state.support)

    def with_values(self, name: str, *, add: str | None = None, drop: str | None = None) -> Situation:
        values = (self.state(name).values - {drop}) | ({add} if add else frozenset())
        return self.with_thing(name, values=values)

    def with_thing(self, name: str, **changes: object) -> Situation:
        things = dict(self.situation.things)
        things[name] = replace(things[name], **changes)  # type: ignore[arg-type]
        return replace(self.situation, things=things)

    def with_agent(self, situation: Situation | None = None, **changes: object) -> Situation:
        situation = situation or self.situation
        return replace(situation, agent=replace(situation.agent, **changes))  # type: ignore[arg-type]

    def towards(self, name: str, situation: Situation | None = None) -> Situation:
        """Turned to an object, looking at it."""
        x_m = self.state(name).x_m
        facing = self.agent.facing if abs(x_m - self.agent.x_m) < 0.05 else (1 if x_m > self.agent.x_m else -1)
        return self.with_agent(situation, facing=facing, gaze=name)


def _grab(s: _Scene) -> Situation:
    s.can(s.main, "grab")
    s.needs(s.main not in s.agent.held, f"the person holds {s.main} already")
    s.reachable(s.main)
    laden = [name for name, state in s.situation.things.items() if state.support == s.main]
    s.needs(not laden, f"{', '.join(laden)} is on {s.main}")
    hand = next((h for h in HANDS if getattr(s.agent, h) is None), None)
    s.needs(hand is not None, "both hands are full")
    changed = s.with_thing(
        s.main,
        support="character1",
        inside=False,
        x_m=s.agent.x_m,
        values=s.state(s.main).values | {"GRABED"},
    )
    assert hand is not None
    return s.with_agent(s.towards(s.main, changed), **{hand: s.main})


def _released(s: _Scene, *, support: str, inside: bool, x_m: float, y_m: float) -> Situation:
    hand = next(h for h in HANDS if getattr(s.agent, h) == s.main)
    values = s.state(s.main).values - {"GRABED"}
    changed = s.with_thing(s.main, support=support, inside=inside, x_m=x_m, y_m=y_m, values=values)
    return s.with_agent(s.towards(support, changed), **{hand: None})


def _free_place(s: _Scene, on: str) -> float:
    """A place on a surface as far as possible from what lies there, near the person."""
    state, kind = s.state(on), s.thing(on).kind
    half = max(0.0, kind.width_m / 2 - s.thing(s.main).kind.width_m / 2)
    taken = [other.x_m for name, other in s.situation.things.items() if other.support == on and not other.inside]
    places = [round(state.x_m - half + 2 * half * n / 8, 3) for n in range(9)]
    return max(places, key=lambda x: (round(min((abs(x - t) for t in taken), default=9.0), 2), -abs(x - s.agent.x_m)))


def _put(s: _Scene) -> Situation:
    s.holds(s.main)
    s.near(s.target)
    s.can(s.target, "surface")
    top = surface_height_m(s.thing(s.target)) - s.thing(s.target).y_m + s.state(s.target).y_m
    return _released(s, support=s.target, inside=False, x_m=_free_place(s, s.target), y_m=round(top, 3))


def _put_in(s: _Scene) -> Situation:
    s.holds(s.main)
    s.near(s.target)
    s.can(s.target, "container")
    s.open(s.target)
    state = s.state(s.target)
    return _released(s, support=s.target, inside=True, x_m=state.x_m, y_m=round(state.y_m + 0.1, 3))


def _open(s: _Scene) -> Situation:
    s.can(s.main, "open")
    s.near(s.main)
    s.needs("CLOSED" in s.state(s.main).values, f"{s.main} is open already")
    s.needs("ON" not in s.state(s.main).values, f"{s.main} is running")
    return s.towards(s.main, s.with_values(s.main, add="OPEN", drop="CLOSED"))


def _close(s: _Scene) -> Situation:
    s.can(s.main, "open")
    s.near(s.main)
    s.needs("OPEN" in s.state(s.main).values, f"{s.main} is closed already")
    return s.towards(s.main, s.with_values(s.main, add="CLOSED", drop="OPEN"))


def _switch(on: bool) -> "Callable[[_Scene], Situation]":
    add, drop = ("ON", "OFF") if on else ("OFF", "ON")

    def rule(s: _Scene) -> Situation:
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


def _sit(s: _Scene) -> Situation:
    s.can(s.main, "sit")
    s.standing()
    s.near(s.main)
    return s.with_agent(posture="sit", seat=s.main, x_m=_seat_x(s), gaze=None)


def _seat_x(s: _Scene) -> float:
    """Where on a seat one sits: on the side one comes from."""
    state, width = s.state(s.main), s.thing(s.main).kind.width_m
    side = 1 if s.agent.x_m > state.x_m else -1
    return round(state.x_m + side * max(0.0, width / 2 - 0.55), 3)


def _lie(s: _Scene) -> Situation:
    s.can(s.main, "lie")
    s.needs(s.agent.posture in ("stand", "sit"), f"the person is in posture {s.agent.posture!r}")
    s.near(s.main)
    return s.with_agent(posture="lie", seat=s.main, x_m=s.state(s.main).x_m, facing=1, gaze=None)


def _stand(s: _Scene) -> Situation:
    s.needs(s.agent.posture != "stand", "the person stands already")
    return s.with_agent(posture="stand", seat=None)


def _sleep(s: _Scene) -> Situation:
    s.needs(s.agent.posture == "lie" and s.agent.seat == s.main, f"the person does not lie on {s.main}")
    return s.situation


def _wake_up(s: _Scene) -> Situation:
    s.needs(s.agent.posture == "lie", "the person does not lie down")
    return s.with_agent(posture="sit")


def _use_held(s: _Scene) -> Situation:
    s.holds(s.main)
    return s.with_agent(gaze=s.main)


def _drink(s: _Scene) -> Situation:
    s.can(s.main, "drink")
    s.holds(s.main)
    changed = s.situation
    if s.thing(s.main).class_name in ("mug", "waterglass", "wineglass"):
        changed = s.with_values(s.main, add="DIRTY", drop="CLEAN")
    return s.with_agent(changed, gaze=s.main)


def _eat(s: _Scene) -> Situation:
    s.can(s.main, "eat")
    s.holds(s.main)
    return s.with_agent(gaze=s.main)


def _pour(s: _Scene) -> Situation:
    s.can(s.main, "pour")
    s.holds(s.main)
    s.near(s.target)
    return s.towards(s.target)


def _on_target(s: _Scene) -> Situation:
    """Wipe or scrub something with what is in the hand: it is clean then."""
    s.holds(s.main)
    s.near(s.target)
    return s.towards(s.target, s.with_values(s.target, add="CLEAN", drop="DIRTY"))


def _at_water(s: _Scene) -> Situation:
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


def _cut(s: _Scene) -> Situation:
    s.near(s.main)
    tools = [s.thing(held).class_name for held in s.agent.held]
    s.needs("cutleryknife" in tools, "the person holds no knife")
    s.can(s.main, "eat")
    return s.towards(s.main)


def _turn_to(s: _Scene) -> Situation:
    s.needs(s.state(s.main).room == s.agent.room, f"{s.main} is in another room")
    return s.towards(s.main)


def _watch(s: _Scene) -> Situation:
    _turn_to(s)
    if "switch" in s.thing(s.main).kind.can:
        s.needs("ON" in s.state(s.main).values, f"{s.main} is off")
    return s.towards(s.main)


def _type(s: _Scene) -> Situation:
    s.near(s.main)
    s.needs("ON" in s.state(s.main).values, f"{s.main} is off")
    return s.towards(s.main)


def _exercise(s: _Scene) -> Situation:
    s.standing()
    return s.with_agent(gaze=None)


def _climb(s: _Scene) -> Situation:
    s.can(s.main, "climb")
    s.standing()
    s.near(s.main)
    return s.with_agent(posture="climbed", seat=s.main, x_m=s.state(s.main).x_m, gaze=None)


def _touch(s: _Scene) -> Situation:
    s.near(s.main)
    return s.towards(s.main)


def _fall(s: _Scene) -> Situation:
    s.needs(s.agent.posture in ("stand", "climbed"), f"the person is in posture {s.agent.posture!r}")
    return s.with_agent(posture="fallen", seat=None, gaze=None)


def _fall_sit(s: _Scene) -> Situation:
    s.needs(s.agent.posture == "sit" and s.agent.seat == s.main, f"the person does not sit on {s.main}")
    state, width = s.state(s.main), s.thing(s.main).kind.width_m
    side = -1 if s.agent.x_m > state.x_m else 1
    x_m = min(max(s.agent.x_m - side * (width / 2 + 0.2), 0.9), ROOM_WIDTH_M - 0.9)
    return s.with_agent(posture="fallen", seat=None, x_m=round(x_m, 3), gaze=None)


_RULES: Final[dict[str, Callable[[_Scene], Situation]]] = {
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
