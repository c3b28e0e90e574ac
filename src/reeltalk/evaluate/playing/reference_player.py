"""The reference as a player: what a judge gives to the answer that it is told is right."""

from typing import Final

from reeltalk.evaluate.playing.player import Pictures, Said, Seen

NO_REFERENCE: Final = "the benchmark holds no reference to this turn"


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
        turn = seen.step.turn
        if turn.options and turn.correct_option is not None:
            return Said(text=turn.options[turn.correct_option])
        if turn.references:
            return Said(text=turn.references[0])
        return Said(text=None, reason=NO_REFERENCE)
