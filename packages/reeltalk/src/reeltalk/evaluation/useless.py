"""Stops a run whose server answers and says nothing: one sentence to all questions, or verdicts that cannot be read."""

from collections.abc import Iterable
from typing import Final

from reeltalk.errors import UnusableError
from reeltalk.judge.asking import UNUSABLE_REPLIES
from reeltalk.judge.match import has_short_reference
from reeltalk.llm.retrying import IN_A_ROW
from reeltalk.metrics.agree import is_yes_no
from reeltalk.progress import Tell
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.scoring import JudgedScore

MOST_SAME_ANSWERS: Final = 50
"""Different questions in a row with the same answer after which a run stops. A model may have few words for a while."""
SHOWN_CHARS: Final = 120
_ADVICE: Final = "these replies are forgotten, all others kept. See what answers there, or pass --no-preflight to go on"


class UselessReplies:
    """Counts them as they come.

    Args:
        tell: Receives a warning, once.
        stops: Stop the run, unless only to warn of equal answers is wanted.
        same_stops: Whether equal answers stop it. Those about black pictures are alike.
    """

    def __init__(self, tell: Tell, *, stops: bool, same_stops: bool) -> None:
        self._tell, self._stops, self._same_stops = tell, stops, stops and same_stops
        self._text, self._warned = "", False
        self._questions: set[str] = set()
        self._unread: dict[tuple[str, int | None, int], tuple[str, ...]] = {}
        self.texts: set[str] = set()
        """Texts of replies that are not to be kept, once the run stops."""

    def see_answer(self, turn: AnsweredTurn) -> None:
        """Count an answer of a server to a free question.

        Raises:
            UnusableError: So many different questions in a row had this answer.
        """
        if turn.played is None or turn.played.cached or not turn.text or turn.options or turn.key is not None:
            return
        if is_yes_no(turn.question) or has_short_reference(turn):
            return
        if turn.text != self._text:
            self._text, self._questions = turn.text, set()
        self._questions.add(turn.question)
        count, shown = len(self._questions), repr(" ".join(turn.text.split())[:SHOWN_CHARS])
        told = f"{turn.model} gave one answer to {count} different questions in a row: {shown}"
        if count == IN_A_ROW and not self._warned:
            self._warned = True
            self._tell(f"{told}; see what answers before the run costs more")
        if count >= MOST_SAME_ANSWERS and self._same_stops:
            self.texts = {turn.text}
            raise UnusableError(f"{told}, so the command stops; {_ADVICE}")

    def see_verdicts(self, rows: Iterable[JudgedScore]) -> None:
        """Count the verdicts of a judge.

        Raises:
            UnusableError: So many in a row could not be read, though each was asked for again.
        """
        for row in rows if self._stops else ():
            if row.value is not None and row.replies:
                self._unread = {}
            elif (row.reason or "").startswith(UNUSABLE_REPLIES):
                self._unread[row.unit_id, row.turn_index, row.sample] = row.replies
            if len(self._unread) >= IN_A_ROW:
                self.texts = {text for replies in self._unread.values() for text in replies}
                shown = repr(" ".join(row.replies[-1].split())[:SHOWN_CHARS])
                raise UnusableError(
                    f"{row.judge} gave {IN_A_ROW} verdicts in a row that cannot be read, so the command stops; the "
                    f"last one is {shown}, and {row.reason}; {_ADVICE}"
                )
