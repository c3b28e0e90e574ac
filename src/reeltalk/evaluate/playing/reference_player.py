"""The reference as a player: what a judge gives to the answer that it is told is right."""

from typing import Final

from reeltalk.evaluate.playing.player import Pictures, Said, Seen
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.dialogue import Turn

NO_REFERENCE: Final = "the benchmark holds no reference to this turn"


def right_answer(turn: Turn | AnsweredTurn) -> str | None:
    """The right option where there are options, else the first reference; None where the benchmark withholds it."""
    if turn.options and turn.correct_option is not None:
        return turn.options[turn.correct_option]
    return turn.references[0] if turn.references else None


class ReferencePlayer:
    """Answers with the first reference, or the right option where there are options."""

    @property
    def name(self) -> str:
        """`reference`."""
        return "reference"

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """That the reference answers."""
        return (("baseline", "reference"),)

    @property
    def sees_frames(self) -> bool:
        """Never."""
        return False

    async def answer(self, seen: Seen, pictures: Pictures) -> Said:
        """The reference; nothing where the benchmark withholds it."""
        text = right_answer(seen.step.turn)
        return Said(text) if text is not None else Said(None, reason=NO_REFERENCE)
