"""Programs of commands, such as `[WALK] <fridge> (12)`, and the situations that they lead to.

Programs are written as in VirtualHome. `simulation.py` checks the conditions of each command and applies its effects.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from reeltalk.errors import InputError, ReeltalkError
from reeltalk.graph.vocabulary import class_of
from reeltalk.world.house import ROOM_WIDTH_M, House

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
"""Seconds that each action takes; the time of a walk depends on its distance."""


class CannotError(ReeltalkError):
    """A step that cannot be done in its situation; the message names the step and the reason."""


@dataclass(frozen=True)
class Command:
    """One line of a program."""

    action: str
    """In the spelling of graphs, such as `switchOn`."""
    main: str | None = None
    targets: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The line in VirtualHome's form: `[PUTIN] <milk> (4) <fridge> (12)`."""
        parts = [f"[{self.action.upper()}]"]
        for name in ((self.main,) if self.main else ()) + self.targets:
            class_name = class_of(name)
            parts.append(f"<{class_name}> ({name[len(class_name) :]})")
        return " ".join(parts)


ACTIONS: Final = {action.upper(): action for action in ("walk", *DURATIONS_S)}


def parse_command(line: str) -> Command:
    """Reads a line of a program.

    Raises:
        CannotError: It is not in VirtualHome's form.
    """
    match = re.fullmatch(r"\s*\[(\w+)\]((?:\s*<[a-z_ ]+>\s*\(\d+\))*)\s*", line)
    if match is None:
        raise CannotError(f"{line.strip()!r} is no step; expected as [WALK] <television> (297)")
    if match[1].upper() not in ACTIONS:
        raise CannotError(f"{match[1]!r} is no action; known: {', '.join(sorted(ACTIONS))}")
    names = [f"{name.replace(' ', '')}{number}" for name, number in re.findall(r"<([a-z_ ]+)>\s*\((\d+)\)", match[2])]
    return Command(ACTIONS[match[1].upper()], names[0] if names else None, tuple(names[1:]))


def read_program(text: str, *, file: Path) -> list[Command]:
    """Reads a program, one command per line. Empty lines and lines that begin with # are skipped.

    Raises:
        InputError: A line is not a step; the message names it.
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


HANDS: Final = ("right", "left")


Posture = Literal["stand", "sit", "lie", "fallen", "climbed"]


@dataclass(frozen=True)
class ThingState:
    """The place and state of an object."""

    room: str
    x_m: float
    y_m: float
    support: str
    inside: bool
    values: frozenset[str]


@dataclass(frozen=True)
class AgentState:
    """The place and state of the person."""

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
    """The object that the person looks at."""

    @property
    def held(self) -> tuple[str, ...]:
        """The held objects, the one in the right hand first."""
        return tuple(name for name in (self.right, self.left) if name)


@dataclass(frozen=True)
class Situation:
    """The state of all objects and of the person at one moment."""

    things: Mapping[str, ThingState]
    agent: AgentState


@dataclass(frozen=True)
class ProgramStep:
    """A command that was carried out."""

    command: Command
    duration_s: float
    before: Situation
    after: Situation

    @property
    def moved_room(self) -> bool:
        """True if the person went from one room to another."""
        return self.before.agent.room != self.after.agent.room


def begin(house: House, room: str) -> Situation:
    """The initial situation of a house, with the person in the middle of a room.

    Args:
        house: The house.
        room: Name of the room, such as `kitchen1`.
    """
    things = {
        name: ThingState(t.room, t.x_m, t.y_m, t.support, t.inside, frozenset(t.states))
        for name, t in house.things.items()
    }
    return Situation(things, AgentState(room=room, x_m=ROOM_WIDTH_M / 2))
