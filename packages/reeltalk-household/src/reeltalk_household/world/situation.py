"""Programs of commands, such as `[WALK] <fridge> (12)`, and the situations that they lead to.

Programs are written as in VirtualHome. `simulation.py` checks the conditions of each command and applies its effects.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from reeltalk.errors import ReeltalkError
from reeltalk.language.vocabulary import class_of
from reeltalk_household.world.house import ROOM_WIDTH_M, House, place_things
from reeltalk_household.world.tables import world_table

DURATIONS_S: Final[Mapping[str, float]] = world_table("actions")["seconds"]
"""Seconds that each action takes. The time of a walk depends on its distance, of talk on its words."""
AGENTLESS_ACTIONS: Final = frozenset({"boil", "pop", "finish", "ring", "break", "spill", "cool"})
"""Changes that nobody does."""
LATER: Final = "later"
"""A cut to another time. Only cameras know this action; no graph has it."""
FEELING_ACTIONS: Final = {"smile": "HAPPY", "frown": "SAD", "scowl": "ANGRY", "gasp": "SURPRISED", "calm": None}
"""Actions that show a feeling, and the feeling."""


def talk_s(says: str) -> float:
    """Seconds that words take."""
    return round(min(max(0.8 + 0.3 * len(says.split()), 1.6), 5.0), 1)


class CannotError(ReeltalkError):
    """A step that cannot be done in its situation; the message names the step and the reason."""


@dataclass(frozen=True)
class Command:
    """One line of a program."""

    action: str
    """In the spelling of graphs, such as `switchOn`."""
    main: str | None = None
    """The object or person acted on, or the object that is talked about."""
    targets: tuple[str, ...] = ()
    """The second object or person; for talk, those who listen."""
    person: str | None = "character1"
    """Who acts; None for a change that nobody does, such as water that boils."""
    says: str | None = None
    """The words that are said."""
    speech_act: str | None = None
    """What the words do, one of `SPEECH_ACTS`."""

    @property
    def people(self) -> tuple[str, ...]:
        """Everybody who takes part."""
        names = (self.person, self.main, *self.targets)
        return tuple(dict.fromkeys(name for name in names if name is not None and class_of(name) == "character"))

    @property
    def line(self) -> str:
        """The line in VirtualHome's form: `<char0> [PUTIN] <milk> (4) <fridge> (12)`.

        The first person is `char0`. Words that are said follow in quotes, after what they do: `"offer: Tea?"`.
        """
        parts = [] if self.person is None else [f"<char{int(self.person.removeprefix('character')) - 1}>"]
        parts.append(f"[{self.action.upper()}]")
        for name in ((self.main,) if self.main else ()) + self.targets:
            class_name = class_of(name)
            parts.append(f"<{class_name}> ({name[len(class_name) :]})")
        if self.says is not None:
            parts.append(f'"{self.speech_act}: {self.says}"')
        return " ".join(parts)


HANDS: Final = ("right", "left")
APART_M: Final = 0.8
"""How far people stand from each other, at least where there is room."""


Posture = Literal["stand", "sit", "lie", "fallen", "climbed"]


@dataclass(frozen=True)
class ThingState:
    """The place and state of an object.

    A floor's place is that of the latest stain on it.
    """

    room: str
    x_m: float
    y_m: float
    support: str
    inside: bool
    values: frozenset[str]


@dataclass(frozen=True)
class PersonState:
    """The place and state of a person."""

    room: str
    x_m: float
    facing: int = 1
    """1 to the right, -1 to the left."""
    posture: Posture = "stand"
    seat: str | None = None
    """The object that the person sits, lies or stands on."""
    right: str | None = None
    left: str | None = None
    gaze: str | None = None
    """The object or person that the person looks at."""
    feeling: str | None = None
    """One of `FEELINGS`; None is calm."""

    @property
    def held(self) -> tuple[str, ...]:
        """The held objects, the one in the right hand first."""
        return tuple(name for name in (self.right, self.left) if name)


Light = Literal["day", "evening"]


@dataclass(frozen=True)
class Situation:
    """The state of all objects and people at one moment."""

    things: Mapping[str, ThingState]
    people: Mapping[str, PersonState]
    """By name, such as `character1`."""
    light: Light = "day"

    def holder(self, name: str) -> str | None:
        """Who holds an object."""
        support = self.things[name].support
        return support if support in self.people else None


@dataclass(frozen=True)
class ProgramStep:
    """A command that was carried out, or a change that nobody did, whose command has no person."""

    command: Command
    start_s: float
    duration_s: float
    before: Situation
    """All people and objects just before the step takes effect."""
    after: Situation
    """The same just after it."""
    cause: int | None = None
    """Index of the step of the same scene that causes this one."""
    purpose: int | None = None
    """Index of the later step of the same scene for which its person does this one."""

    @property
    def end_s(self) -> float:
        return round(self.start_s + self.duration_s, 3)

    @property
    def effect_s(self) -> float:
        """When it takes effect: in the middle, and at the end of a walk."""
        return moment_of_effect(self.command.action, self.start_s, self.duration_s)

    @property
    def moved_room(self) -> bool:
        """True if its person went from one room to another."""
        person = self.command.person
        return person is not None and self.before.people[person].room != self.after.people[person].room


FIRST_STATES: Final[Mapping[str, tuple[str, str, float]]] = world_table("actions")["often"]
"""States that things may have when a film begins: what they lack then, what they have, and how often."""


def moment_of_effect(action: str, start_s: float, duration_s: float) -> float:
    """When a step with this start and length takes effect."""
    return round(start_s + (duration_s if action == "walk" else duration_s / 2), 3)


def initial_situation(
    house: House, rooms: str | Sequence[str], *, light: Light = "day", draw: random.Random | None = None
) -> Situation:
    """The initial situation of a house.

    Args:
        rooms: Name of the room of each person, in the order of `House.people`, such as `["kitchen1", "kitchen1"]`; one
            name for the first person alone. People in one room stand side by side about its middle.
        light: Time of the day.
        draw: Decides where things lie that people carry about, and their states; by default all is as in the house.
    """
    rooms = [rooms] if isinstance(rooms, str) else rooms
    things = {
        name: ThingState(t.room, t.x_m, t.y_m, t.support, t.inside, frozenset(t.states))
        for name, t in house.things.items()
    }
    if draw is not None:
        for name, place in place_things(house.things, house.rooms, house.floors, draw).items():
            things[name] = replace(things[name], **place._asdict())
        for name, state in things.items():
            change = FIRST_STATES.get(class_of(name))
            if change is not None and draw.random() < change[2]:
                things[name] = replace(state, values=(state.values - {change[0]}) | {change[1]})
    people = {}
    for n, (person, room) in enumerate(zip(house.people, rooms, strict=False)):
        beside, count = list(rooms[:n]).count(room), list(rooms).count(room)
        x_m = round(ROOM_WIDTH_M / 2 + (beside - (count - 1) / 2) * APART_M, 3)
        people[person.character] = PersonState(room=room, x_m=x_m)
    return Situation(things, people, light)
