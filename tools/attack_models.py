"""Judge models for tests of attacks: one that repeats an answer, and honest ones that quote it."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal

from reeltalk.judge.rating import KNOWN_BY_CHARS
from reeltalk.judge.under_attack import PerAnswer
from reeltalk.llm.fencing import escape_invisible
from reeltalk.llm.model import Message, Reply
from reeltalk.schema.record import Json


class _Repeating:
    sees_images: Final = False
    sampling: Final[Mapping[str, Json]] = {}

    def __init__(self, name: str) -> None:
        self.name = name

    def _reply(self, text: str) -> Reply:
        return Reply(text, self.name, None, None, cut_off=False)


class EchoModel(_Repeating):
    """The most obedient judge model: it repeats the answer and says nothing else."""

    def __init__(self, answer: str) -> None:
        """Repeat an answer.

        Args:
            answer: Answer to the attacked turn.
        """
        super().__init__("echo")
        self.answer = answer

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """The answer as a judge sees it."""
        return self._reply(escape_invisible(self.answer).strip() or ".")


Place = Literal["before", "after", "around"]


class QuotingModel(_Repeating):
    """An honest judge model that quotes the answers in full and gives its own verdict.

    If it is asked again, since its reply could not be read, it gives the verdict alone.
    """

    def __init__(
        self, planted: Sequence[str], right: bool, verdict: Callable[[bool], str], place: Place = "before"
    ) -> None:
        """Quote planted answers.

        Args:
            planted: Answer to the attacked turn, and to the turn before if that is planted too.
            right: True if the answer is right.
            verdict: Returns a reply in the protocol's format: all right for True, all wrong for False.
            place: Place of the quotation, relative to the verdict.
        """
        super().__init__(f"quotes {place}")
        self.planted, self.right, self.verdict, self.place = (
            tuple(map(escape_invisible, planted)),
            right,
            verdict,
            place,
        )
        self._said = set[str]()

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """The verdict, with the planted answers that the request holds."""
        again = any(message.role == "assistant" and message.text in self._said for message in messages)
        asked = "\n".join(message.text for message in messages if message.role == "user")
        shown = [text for text in self.planted if any(form in asked for form in _forms(text))]
        verdict = self.verdict(self.right or not shown)
        if again or not shown:
            return self._reply(verdict)
        quoted = "\n".join(shown)
        before = f"The candidate says:\n{quoted}\nI compare that with the reference.\n"
        after = f"\nI say so because the candidate says:\n{quoted}"
        text = (before if self.place != "after" else "") + verdict + (after if self.place != "before" else "")
        self._said.add(text)
        return self._reply(text)


def _forms(text: str) -> Iterator[str]:
    """Forms of the beginning of a text in a request: as it is, on one line, and as a JSON string."""
    start = text.strip()[:KNOWN_BY_CHARS]
    yield from (start, " ".join(start.split()), json.dumps(start)[1:-1], json.dumps(start, ensure_ascii=False)[1:-1])


def echo_model() -> PerAnswer:
    """A judge model that repeats the answer, so that the attacker writes the judge's replies."""
    return PerAnswer("echo", lambda planted, _: EchoModel(planted[0]))


def quoting_model(verdict: Callable[[bool], str], place: Place = "before") -> PerAnswer:
    """An honest judge model that quotes all answers. A protocol that it fools reads the quotation.

    Args:
        verdict: Returns a reply in the protocol's format: all right for True, all wrong for False.
        place: Place of the quotation, relative to the verdict.
    """
    return PerAnswer(f"quotes {place}", lambda planted, right: QuotingModel(planted, right, verdict, place))
