"""A moment of the household, and the steps between moments: where everything is, and how."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from reeltalk.world.house import ROOM_WIDTH_M, House
from reeltalk.world.program import Command

HANDS: Final = ("right", "left")


Posture = Literal["stand", "sit", "lie", "fallen", "climbed"]


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
class ProgramStep:
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
