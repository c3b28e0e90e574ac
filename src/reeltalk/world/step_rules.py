"""What each action needs and what it changes: one rule an action, walking apart.

A rule looks at the `Scene` that a command meets. It raises `CannotError` where a precondition does not hold, else it
gives the situation after the command.
"""

from collections.abc import Callable
from typing import Final

from reeltalk.world.house import ROOM_WIDTH_M, surface_height_m
from reeltalk.world.scene import REACH_M, SituatedCommand
from reeltalk.world.situation import HANDS, Situation


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
        support="character1",
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
    """A place on a surface as far as possible from what lies there, near the person."""
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
    """Where on a seat one sits: on the side one comes from."""
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
    """Wipe or scrub something with what is in the hand: it is clean then."""
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
