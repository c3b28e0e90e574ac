"""Answers that were given elsewhere, as those that a published file holds."""

from collections.abc import Mapping

from reeltalk.evaluate.playing.player import Pictures, Said, Seen


class AnswersPlayer:
    """Gives answers that are known.

    Args:
        answers: Text by the unit's identifier and the turn's index, from 0; None where the source has no answer.
        name: How it stands in a table.
        sha256: Hash of where they were read, for the signature.
    """

    def __init__(self, answers: Mapping[tuple[str, int], str | None], *, name: str, sha256: str = "") -> None:
        self._answers, self._name, self._sha256 = answers, name, sha256

    @property
    def name(self) -> str:
        """As given."""
        return self._name

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """The source's hash, where it is known."""
        return (("answers", self._sha256[:8] or "given"),)

    @property
    def sees_frames(self) -> bool:
        """Never."""
        return False

    async def answer(self, seen: Seen, pictures: Pictures) -> Said:
        """The known answer; nothing, with the reason, where there is none."""
        place = (seen.step.unit_id, seen.step.turn_index)
        if place not in self._answers:
            return Said(text=None, reason="the file has no answer to this turn")
        text = self._answers[place]
        return Said(text=text, reason=None if text is not None else "the file says that there is no answer")
