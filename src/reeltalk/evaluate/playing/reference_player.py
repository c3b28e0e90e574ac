"""The reference as a player: what a judge gives to the answer that it is told is right."""

from reeltalk.evaluate.playing.player import Pictures, Said, Seen
from reeltalk.schema.answers import NO_REFERENCE, right_answer


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
