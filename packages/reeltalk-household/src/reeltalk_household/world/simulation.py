"""Programs carried out in a house, step by step, with one rule for each action.

A rule checks the preconditions of its action, and gives the situation after it. If a precondition does not hold, it
raises a `CannotError` with the reason; no step is skipped.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from reeltalk.language.vocabulary import SPEECH_ACTS
from reeltalk_household.world.house import DOOR_X_M, ROOM_WIDTH_M, House, Thing, surface_height_m
from reeltalk_household.world.situation import (
    APART_M,
    DURATIONS_S,
    FEELING_ACTIONS,
    HANDS,
    CannotError,
    Command,
    ProgramStep,
    Situation,
    ThingState,
    moment_of_effect,
    talk_s,
)

REACH_M: Final = 1.3
BESIDE_M: Final = 1.5
"""Greatest distance at which a person can touch somebody, or hand them something."""


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
    def other(self) -> str:
        """The other person: the target if there is one, otherwise the main object."""
        name = self.command.targets[0] if self.command.targets else self.command.main
        if name not in self.situation.people or name == self.person:
            raise CannotError(f"{self.command.action} needs another person")
        assert name is not None
        return name

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
        """Requires that an object is within reach, and not in a closed container."""
        state = self.state(name)
        self.accessible(name)
        if name in self.house.floors.values():
            return
        # The person may stand anywhere along a wide object, not only at its middle.
        reach = REACH_M + self.thing(name).kind.width_m / 2
        self.needs(abs(state.x_m - self.agent.x_m) <= reach, f"{name} is out of reach")

    def beside(self, person: str) -> None:
        """Requires that somebody else is within an arm's length."""
        self.with_company(person)
        away_m = abs(self.situation.people[person].x_m - self.agent.x_m)
        self.needs(away_m <= BESIDE_M, f"{person} is out of reach")

    def with_company(self, person: str) -> None:
        """Requires that somebody else is in the same room."""
        room = self.situation.people[person].room
        self.needs(room == self.agent.room, f"{person} is in {room} and the person in {self.agent.room}")

    def free_hand(self, person: str) -> str:
        """A free hand of a person."""
        state = self.situation.people[person]
        hand = next((hand for hand in HANDS if getattr(state, hand) is None), None)
        self.needs(hand is not None, f"both hands of {person} are full")
        assert hand is not None
        return hand

    def standing(self) -> None:
        """Requires that the person stands."""
        self.needs(self.agent.posture == "stand", f"the person is not standing but in posture {self.agent.posture!r}")

    def holds(self, name: str) -> None:
        """Requires that the person holds an object."""
        self.needs(name in self.agent.held, f"the person does not hold {name}")

    def open(self, name: str) -> None:
        """Requires that a container is open."""
        self.needs("CLOSED" not in self.state(name).values, f"{name} is closed")

    def whole(self, name: str) -> None:
        """Requires that an object is not broken."""
        self.needs("BROKEN" not in self.state(name).values, f"{name} is broken")

    def accessible(self, name: str) -> None:
        """Requires that an object is in the room of the person, and not in a closed container."""
        state = self.state(name)
        self.needs(state.room == self.agent.room, f"{name} is in {state.room} and the person in {self.agent.room}")
        while state.support in self.situation.things:
            if state.inside:
                self.open(state.support)
            state = self.state(state.support)

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
    s.near(s.main)
    holder = s.situation.holder(s.main)
    s.needs(holder is None, f"{holder} holds {s.main}")
    laden = [name for name, state in s.situation.things.items() if state.support == s.main and not state.inside]
    s.needs(not laden, f"{', '.join(laden)} is on {s.main}")
    s.whole(s.main)
    hand = s.free_hand(s.person)
    changed = s.with_thing(
        s.main,
        support=s.person,
        inside=False,
        x_m=s.agent.x_m,
        values=s.state(s.main).values | {"GRABED"},
    )
    changed = with_contents(changed, s.main)
    return s.with_agent(s.towards(s.main, changed), **{hand: s.main})


def with_contents(situation: Situation, name: str) -> Situation:
    """The situation with what is in a thing moved to where the thing is."""
    inside = [other for other, state in situation.things.items() if state.support == name]
    if not inside:
        return situation
    things = dict(situation.things)
    for other in inside:
        things[other] = replace(things[other], room=things[name].room, x_m=things[name].x_m)
    return replace(situation, things=things)


def _released(s: SituatedCommand, *, support: str, inside: bool, x_m: float, y_m: float) -> Situation:
    hand = next(h for h in HANDS if getattr(s.agent, h) == s.main)
    values = s.state(s.main).values - {"GRABED"}
    changed = s.with_thing(s.main, support=support, inside=inside, x_m=x_m, y_m=y_m, values=values)
    changed = with_contents(changed, s.main)
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
    s.needs(s.situation.holder(s.target) is None, f"{s.target} is in a hand")
    if s.target in s.house.floors.values():
        return _released(s, support=s.target, inside=False, x_m=s.agent.x_m, y_m=0.0)
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
    s.free_hand(s.person)
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
        if on and s.thing(s.main).class_name in FILLED_FIRST:
            s.needs(any(other.support == s.main for other in s.situation.things.values()), f"{s.main} is empty")
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
    """Where on a seat the person sits: on the side from which they come, or on the other if somebody sits there."""
    state, width = s.state(s.main), s.thing(s.main).kind.width_m
    side, away_m = 1 if s.agent.x_m > state.x_m else -1, max(0.0, width / 2 - 0.55)
    taken = [other for name, other in s.situation.people.items() if other.seat == s.main and name != s.person]
    s.needs(all(other.posture == "sit" for other in taken), f"somebody lies on {s.main}")
    places = [round(state.x_m + way * away_m, 3) for way in (side, -side)]
    free = [x_m for x_m in places if all(abs(other.x_m - x_m) > 0.4 for other in taken)]
    s.needs(bool(free), f"{s.main} is taken")
    return free[0]


def _lie(s: SituatedCommand) -> Situation:
    s.can(s.main, "lie")
    s.needs(s.agent.posture in ("stand", "sit"), f"the person is in posture {s.agent.posture!r}")
    s.near(s.main)
    others = [name for name, other in s.situation.people.items() if other.seat == s.main and name != s.person]
    s.needs(not others, f"{', '.join(others)} is on {s.main}")
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
    if s.thing(s.main).class_name in VESSELS:
        s.needs("FULL" in s.state(s.main).values, f"{s.main} is empty")
        changed = s.with_thing(s.main, values=(s.state(s.main).values - {"CLEAN", "FULL"}) | {"DIRTY"})
    return s.with_agent(changed, gaze=s.main)


def _eat(s: SituatedCommand) -> Situation:
    s.can(s.main, "eat")
    s.holds(s.main)
    return s.with_agent(gaze=s.main)


def _pour(s: SituatedCommand) -> Situation:
    s.can(s.main, "pour")
    s.holds(s.main)
    s.near(s.target)
    s.whole(s.target)
    changed = s.situation
    if s.thing(s.target).class_name in VESSELS:
        changed = s.with_values(s.target, add="FULL")
    return s.towards(s.target, changed)


def _on_target(s: SituatedCommand) -> Situation:
    """Wipes or scrubs an object with the held object. Afterwards it is clean."""
    s.holds(s.main)
    s.near(s.target)
    return s.towards(s.target, s.with_values(s.target, add="CLEAN", drop="DIRTY"))


def _at_water(s: SituatedCommand) -> Situation:
    s.holds(s.main)
    s.needs(_runs(s, "faucet"), "no water runs within reach")
    return s.with_agent(s.with_values(s.main, add="CLEAN", drop="DIRTY"), gaze=s.main)


def _runs(s: SituatedCommand, *sources: str) -> bool:
    """True if a faucet, or what else gives something to drink, is on within reach."""
    return any(
        s.thing(name).class_name in sources
        and state.room == s.agent.room
        and "ON" in state.values
        and abs(state.x_m - s.agent.x_m) <= REACH_M
        for name, state in s.situation.things.items()
    )


def _fill(s: SituatedCommand) -> Situation:
    s.holds(s.main)
    s.needs(s.thing(s.main).class_name in VESSELS or "fill" in s.thing(s.main).kind.can, f"{s.main} holds no water")
    s.needs(_runs(s, "faucet", "coffeemaker"), "no water runs within reach")
    return s.with_agent(s.with_values(s.main, add="FULL"), gaze=s.main)


def _cut(s: SituatedCommand) -> Situation:
    s.near(s.main)
    tools = [s.thing(held).class_name for held in s.agent.held]
    s.needs("cutleryknife" in tools, "the person holds no knife")
    s.can(s.main, "eat")
    return s.towards(s.main)


def _turn_to(s: SituatedCommand) -> Situation:
    if s.command.main in s.situation.people:
        s.with_company(s.other)
        return s.towards(s.other)
    s.accessible(s.main)
    return s.towards(s.main)


def _watch(s: SituatedCommand) -> Situation:
    turned = _turn_to(s)
    if s.command.main in s.situation.people:
        return turned
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


def _give(s: SituatedCommand) -> Situation:
    """Puts a held object into a hand of somebody beside the person."""
    s.beside(s.other)
    return _handed(s)


def _throw(s: SituatedCommand) -> Situation:
    s.can(s.main, "throw")
    s.with_company(s.other)
    return _handed(s)


def _handed(s: SituatedCommand) -> Situation:
    s.holds(s.main)
    other = s.situation.people[s.other]
    theirs = s.free_hand(s.other)
    ours = next(hand for hand in HANDS if getattr(s.agent, hand) == s.main)
    changed = with_contents(s.with_thing(s.main, support=s.other, x_m=other.x_m), s.main)
    facing = other.facing if abs(other.x_m - s.agent.x_m) < 0.05 else (1 if s.agent.x_m > other.x_m else -1)
    changed = with_person(changed, s.other, gaze=s.main, facing=facing, **{theirs: s.main})
    return s.with_agent(s.towards(s.other, changed), **{ours: None})


def _show(s: SituatedCommand) -> Situation:
    s.holds(s.main)
    s.with_company(s.other)
    return with_person(s.towards(s.other), s.other, gaze=s.main)


def _with_company(s: SituatedCommand) -> Situation:
    s.with_company(s.other)
    return s.towards(s.other)


def _touch_person(s: SituatedCommand) -> Situation:
    s.beside(s.other)
    return s.towards(s.other)


def _say(s: SituatedCommand) -> Situation:
    s.needs(bool(s.command.says) and s.command.speech_act in SPEECH_ACTS, "nothing is said")
    s.needs(bool(s.command.targets), "nobody is spoken to")
    for listener in s.command.targets:
        s.needs(listener in s.situation.people and listener != s.person, f"{listener} is nobody else here")
        s.with_company(listener)
    return s.towards(s.command.targets[0])


def _wait(s: SituatedCommand) -> Situation:
    return s.situation


def _feel(s: SituatedCommand) -> Situation:
    return s.with_agent(feeling=FEELING_ACTIONS[s.command.action])


def _play(s: SituatedCommand) -> Situation:
    s.can(s.main, "play")
    s.near(s.main)
    s.needs(s.situation.holder(s.main) in (None, s.person), f"somebody else holds {s.main}")
    return s.with_agent(gaze=s.main)


def _unwrap(s: SituatedCommand) -> Situation:
    s.can(s.main, "unwrap")
    s.near(s.main)
    s.needs("CLOSED" in s.state(s.main).values, f"{s.main} is unwrapped already")
    return s.with_agent(s.with_values(s.main, add="OPEN", drop="CLOSED"), gaze=s.main)


def _answer(s: SituatedCommand) -> Situation:
    s.near(s.main)
    s.needs("RINGING" in s.state(s.main).values, f"{s.main} does not ring")
    return s.towards(s.main, s.with_values(s.main, drop="RINGING"))


def _knock(s: SituatedCommand) -> Situation:
    s.near(s.main)
    s.needs(s.situation.holder(s.main) is None, f"{s.main} is in a hand")
    s.can(s.main, "grab")
    return s.with_agent(gaze=s.main)


def _drop(s: SituatedCommand) -> Situation:
    s.holds(s.main)
    return _released(s, support=s.house.floors[s.agent.room], inside=False, x_m=s.agent.x_m, y_m=0.0)


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
    "give": _give,
    "throw": _throw,
    "show": _show,
    "say": _say,
    "wait": _wait,
    "hug": _touch_person,
    "comfort": _touch_person,
    "wave": _with_company,
    "clap": _with_company,
    "smile": _feel,
    "frown": _feel,
    "scowl": _feel,
    "gasp": _feel,
    "calm": _feel,
    "play": _play,
    "unwrap": _unwrap,
    "fill": _fill,
    "sweep": _on_target,
    "answer": _answer,
    "knock": _knock,
    "drop": _drop,
}
VESSELS: Final = frozenset({"mug", "waterglass", "wineglass", "dishbowl"})
"""Classes of objects that are filled and emptied."""
FILLED_FIRST: Final = frozenset({"microwave", "toaster", "washingmachine"})
"""Machines that nobody switches on while they are empty."""


def apply_change(house: House, command: Command, situation: Situation) -> Situation:
    """The situation after a change that nobody does, such as a kettle that boils.

    Raises:
        CannotError: It cannot happen in this situation.
    """
    name = command.main
    if name is None or name not in situation.things:
        raise CannotError(f"there is no {name} in this house")
    state, action = situation.things[name], command.action
    things = dict(situation.things)
    on = "ON" in state.values
    if action in ("boil", "pop", "finish") and not on:
        raise CannotError(f"{name} is off")
    if action == "boil":
        things[name] = replace(state, values=state.values | {"HOT"})
    elif action in ("pop", "finish"):
        things[name] = replace(state, values=(state.values - {"ON"}) | {"OFF"})
    elif action == "cool":
        things[name] = replace(state, values=state.values - {"HOT"})
    elif action == "ring":
        if "RINGING" in state.values:
            raise CannotError(f"{name} rings already")
        things[name] = replace(state, values=state.values | {"RINGING"})
    elif action == "break":
        if "BROKEN" in state.values:
            raise CannotError(f"{name} is broken already")
        floor = house.floors[state.room]
        values = (state.values - {"FULL"}) | {"BROKEN"}
        things[name] = replace(state, values=values, support=floor, inside=False, y_m=0.0)
        for inside, other in situation.things.items():
            if other.support == name:
                things[inside] = replace(other, support=floor, inside=False, y_m=0.0)
    elif action == "spill":
        under = command.targets[0]
        if "FULL" not in state.values or under not in situation.things:
            raise CannotError(f"nothing spills from {name}")
        things[name] = replace(state, values=state.values - {"FULL"})
        stained = situation.things[under]
        values = (stained.values - {"CLEAN"}) | {"DIRTY"}
        x_m = state.x_m if under == house.floors[state.room] else stained.x_m
        things[under] = replace(stained, values=values, x_m=x_m)
    else:
        raise CannotError(f"{action!r} does not happen by itself")
    return replace(situation, things=things)


WALK_M_PER_S: Final = 1.3
SETTLE_S: Final = 0.6
STAND_M: Final = 0.35
"""How far from an object's centre the person stops."""
CROWDED_M: Final = 0.55
"""Nobody stops nearer to somebody else if there is room."""


@dataclass(frozen=True)
class BegunStep:
    """A step that somebody has begun, before it takes effect."""

    command: Command
    start_s: float
    duration_s: float
    to: tuple[str, float, int] | None = None
    """For walks: the room, the place along its wall, and the direction in which the person looks at the end."""

    @property
    def effect_s(self) -> float:
        return moment_of_effect(self.command.action, self.start_s, self.duration_s)

    @property
    def end_s(self) -> float:
        return round(self.start_s + self.duration_s, 3)


def begin_command(
    house: House,
    command: Command,
    situation: Situation,
    start_s: float = 0.0,
    *,
    pace: float = 1.0,
    bound_for: Mapping[str, tuple[str, float]] | None = None,
) -> BegunStep:
    """Begins a command.

    Args:
        command: The command of a person.
        situation: The situation at its start.
        start_s: When it starts.
        pace: Its length in parts of the usual one. Walks and talk keep theirs.
        bound_for: Room and place of those who walk at this moment, by person; nobody else walks there.

    Raises:
        CannotError: It is a walk that cannot be done, or no action.
    """
    if command.action == "walk":
        return _set_out(house, command, situation, start_s, bound_for or {})
    if command.action == "say":
        return BegunStep(command, start_s, talk_s(command.says or ""))
    if command.action not in RULES:
        raise CannotError(f"{command.action!r} is no action")
    return BegunStep(command, start_s, round(DURATIONS_S[command.action] * pace, 1))


def take_effect(house: House, going: BegunStep, situation: Situation) -> Situation:
    """The situation after a step that was begun takes effect.

    Raises:
        CannotError: Its precondition does not hold.
    """
    command = going.command
    if command.person is None:
        return apply_change(house, command, situation)
    s = SituatedCommand(house, command, situation)
    if going.to is None:
        return RULES[command.action](s)
    s.needs(s.agent.posture == "stand", f"the person cannot walk, being in posture {s.agent.posture!r}")
    room, x_m, facing = going.to
    return moved_to(situation, s.person, room, x_m, facing=facing)


def moved_to(situation: Situation, person: str, room: str, x_m: float, *, facing: int) -> Situation:
    """The situation with a person somewhere else, and what they hold with them."""
    things = dict(situation.things)
    for name in situation.people[person].held:
        things[name] = replace(things[name], room=room, x_m=x_m)
    moved = with_person(replace(situation, things=things), person, room=room, x_m=x_m, facing=facing, gaze=None)
    for name in situation.people[person].held:
        moved = with_contents(moved, name)
    return moved


def carry_out_command(house: House, command: Command, situation: Situation, start_s: float = 0.0) -> ProgramStep:
    """Carries out one command alone.

    Raises:
        CannotError: Its precondition does not hold.
    """
    going = begin_command(house, command, situation, start_s)
    return ProgramStep(command, start_s, going.duration_s, situation, take_effect(house, going, situation))


def location(house: House, situation: Situation, name: str) -> tuple[str, float]:
    """The room of an object or person, and its position along the wall; that of a room is inside its door."""
    if name in situation.people:
        return situation.people[name].room, situation.people[name].x_m
    if name in situation.things:
        state = situation.things[name]
        return state.room, state.x_m
    room = house.rooms[name]
    inwards = 1.2 if room.door == "left" else -1.2
    return name, DOOR_X_M[room.door] + inwards


def stop_beside(house: House, x_m: float, from_x_m: float, name: str, others_x_m: Sequence[float] = ()) -> float:
    """Where somebody stops on a walk to an object or person: on its near side, beside those who stand there."""
    side = 1 if from_x_m > x_m else -1
    away_m = 0.0 if name in house.rooms else STAND_M if name in house.things else APART_M
    ways = (away_m, -away_m, away_m + 0.45, -away_m - 0.45, away_m + 0.8, -away_m - 0.8)
    places = [min(max(x_m + side * way, 0.6), ROOM_WIDTH_M - 0.6) for way in ways]
    gaps = [min((abs(other - place) for other in others_x_m), default=9.0) for place in places]
    # If it is crowded everywhere, the emptiest place.
    return next(
        (place for place, gap in zip(places, gaps, strict=True) if gap >= CROWDED_M), places[gaps.index(max(gaps))]
    )


def _set_out(
    house: House, command: Command, situation: Situation, start_s: float, bound_for: Mapping[str, tuple[str, float]]
) -> BegunStep:
    agent = SituatedCommand(house, command, situation).agent
    name = command.main
    if name is None:
        raise CannotError("walk needs something to walk to")
    if name not in situation.things and name not in house.rooms and name not in situation.people:
        raise CannotError(f"there is no {name} in this house")
    if agent.posture != "stand":
        raise CannotError(f"the person cannot walk, being in posture {agent.posture!r}")
    room, x_m = location(house, situation, name)
    entered = agent.x_m if room == agent.room else DOOR_X_M[house.rooms[room].door]
    places = {other: (state.room, state.x_m) for other, state in situation.people.items()} | dict(bound_for)
    others = [at for other, (where, at) in places.items() if where == room and other != command.person]
    stop = stop_beside(house, x_m, entered, name, others)
    length = abs(stop - entered)
    if room != agent.room:
        length += abs(DOOR_X_M[house.rooms[agent.room].door] - agent.x_m)
    facing = (1 if stop > entered else -1) if name in house.rooms else (1 if x_m > stop else -1)
    seconds = round(length / WALK_M_PER_S + SETTLE_S, 1)
    return BegunStep(command, start_s, seconds, (room, round(stop, 3), facing))
