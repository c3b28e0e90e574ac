"""What is played: the turns of one dialogue, path or video in the order in which they are asked."""

from dataclasses import dataclass

from reeltalk.schema.answers import UnitKind
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval


@dataclass(frozen=True)
class Step:
    """One turn as it is asked."""

    unit: UnitKind
    unit_id: str
    turn_index: int
    """Position in its unit, from 0."""
    turn: Turn
    asked_at_s: float | None
    """The moment of the question; None where it is asked after the whole video."""
    clips: tuple[Interval, ...] = ()
    """The clips it is about, in order."""
    answered: bool = True
    """False where the protocol does not score this turn. It is not asked, and its reference stands in the history,
    unless all of the history is to be the model's own."""
    task: str | None = None
    source: str | None = None
    """The chain or dialogue that a step of a path is a turn of; its unit by default."""
    understood: bool = True
    """False where it refers to a turn that its path has skipped, so that nobody can tell what it asks for."""

    @property
    def source_id(self) -> str:
        """The chain or dialogue that it is a turn of."""
        return self.source or self.unit_id


@dataclass(frozen=True)
class Script:
    """One Sample: turns that are played in order, and see each other's answers."""

    id: str
    video_id: str
    steps: tuple[Step, ...]
