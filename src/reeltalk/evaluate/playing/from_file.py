"""Answers that were given elsewhere, as those that a published file holds."""

from collections.abc import Mapping

from reeltalk.errors import SettingError
from reeltalk.evaluate.playing.player import Pictures, Said, Seen
from reeltalk.store.content import Content


class AnswersPlayer:
    """Gives answers that are known.

    Args:
        answers: Text by the unit's identifier and the turn's index, from 0; None where the source has no answer.
        name: How it stands in a table.
        sha256: Hash of where they were read, for the signature.
    """

    def __init__(self, answers: Mapping[tuple[str, int], str | None], *, name: str, sha256: str = "") -> None:
        self._answers, self._name, self._sha256 = answers, name, sha256

    @classmethod
    def of(cls, content: Content, *, source: str, sha256: str = "") -> "AnswersPlayer":
        """The player of a file's answers.

        Args:
            content: What was read from the file.
            source: Where that is.
            sha256: Its hash.

        Raises:
            SettingError: It holds answers of several models, or of none.
        """
        models = {answer.model for answer in content.answers}
        if len(models) != 1:
            raise SettingError(f"{source} holds answers of {len(models)} models; give a file that holds those of one")
        texts = {(a.unit_id, a.turn_index): a.text if a.state == "answered" else None for a in content.answers}
        return cls(texts, name=models.pop(), sha256=sha256)

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
