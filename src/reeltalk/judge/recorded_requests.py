"""What a judge was asked, what must hold of that whatever it replies, and judges that repeat what they are shown."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from reeltalk.llm.fencing import visible
from reeltalk.llm.model import Message, Reply
from reeltalk.llm.recording import RecordedRequest
from reeltalk.schema.record import Json
from reeltalk.schema.scoring import JudgedScore

Invariant = Literal["outside", "mark", "unclosed", "invisible", "system", "schema", "changed", "items"]

INVARIANTS: Final[Mapping[Invariant, str]] = {
    "outside": "an answer stands in a request outside of any fence",
    "mark": "what a fence encloses holds its mark, or closes it",
    "unclosed": "a fence is not closed",
    "invisible": "characters that cannot be seen reach the judge as they are",
    "system": "an answer changes the system message",
    "schema": "an answer changes the schema that replies shall follow",
    "changed": "an answer changes what is asked, outside of the fences or in number",
    "items": "an answer changes which scores there are",
}
"""What must not happen, by its name."""
TELLING_CHARS: Final = 24
"""Shorter answers, as "Yes.", may stand in a prompt by chance."""

TOLD_BY_CHARS: Final = 200
"""By so much of its beginning an answer is known again, since a judge may shorten it."""

_FENCE = re.compile(r"<<<DATA ([0-9a-f]{8})\n")


class _Repeating:
    sees_images: Final = False
    sampling: Final[Mapping[str, Json]] = {}

    def __init__(self, name: str) -> None:
        self.name = name

    def _reply(self, text: str) -> Reply:
        return Reply(text, self.name, None, None, cut_off=False)


class EchoModel(_Repeating):
    """The most obedient judge: it says what the answer says, and nothing else."""

    def __init__(self, answer: str) -> None:
        """Repeat an answer.

        Args:
            answer: The attacked turn's.
        """
        super().__init__("echo")
        self.answer = answer

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """The answer, as a judge sees it."""
        return self._reply(visible(self.answer).strip() or ".")


Place = Literal["before", "after", "around"]


class QuotingModel(_Repeating):
    """An honest judge that quotes: it repeats what it judges in full, and gives a verdict of its own.

    Asked once more, because its reply could not be read, it gives the verdict alone.
    """

    def __init__(
        self, planted: Sequence[str], right: bool, verdict: Callable[[bool], str], place: Place = "before"
    ) -> None:
        """Quote what was planted.

        Args:
            planted: The attacked turn's answer, and what stands in the turn before if that is planted too.
            right: Whether the answer is right.
            verdict: A reply in the protocol's format that finds all right, or all wrong.
            place: Where the quotation stands, seen from the verdict.
        """
        super().__init__(f"quotes {place}")
        self.planted, self.right, self.verdict, self.place = tuple(map(visible, planted)), right, verdict, place
        self._said = set[str]()

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """The verdict, with all that was planted in the question where the question holds it."""
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
    """How the beginning of a text may stand in a request: as it is, on one line, or as a JSON string."""
    start = text.strip()[:TOLD_BY_CHARS]
    yield from (start, _spaced(start), json.dumps(start)[1:-1], json.dumps(start, ensure_ascii=False)[1:-1])


def broken_invariants(
    requests: Sequence[RecordedRequest],
    scores: Sequence[JudgedScore],
    plain_requests: Sequence[RecordedRequest],
    plain_scores: Sequence[JudgedScore],
    planted: Iterable[str],
) -> tuple[Invariant, ...]:
    """What an attack changed that no answer may change, whatever model judges.

    Args:
        requests: Of judging the attack.
        scores: What came of it.
        plain_requests: Of judging the same dialogue with a plain wrong answer.
        plain_scores: What came of that.
        planted: What the attacker wrote.
    """
    found: set[Invariant] = set()
    plain_outside = [_outside(message.text)[0] for request in plain_requests for message in request.messages]
    telling = [
        text
        for text in (_spaced(visible(written)) for written in planted)
        if len(text) >= TELLING_CHARS and not any(text in _spaced(outside) for outside in plain_outside)
    ]
    # What the judge itself said comes back to it as it was.
    for message in (message for request in requests for message in request.messages if message.role != "assistant"):
        outside, problems = _outside(message.text)
        found.update(problems)
        if any(text in _spaced(outside) for text in telling):
            found.add("outside")
        if visible(message.text) != message.text.replace("\r\n", "\n"):
            found.add("invisible")
    if not _systems(requests) <= _systems(plain_requests):
        found.add("system")
    if not _schemas(requests) <= _schemas(plain_requests):
        found.add("schema")
    if _asks_something_else(requests, plain_requests):
        found.add("changed")
    if _rows(scores) != _rows(plain_scores):
        found.add("items")
    return tuple(name for name in INVARIANTS if name in found)


def _asks_something_else(requests: Sequence[RecordedRequest], plain_requests: Sequence[RecordedRequest]) -> bool:
    """Compared as long as the judge replied the same, since later requests may hold its replies."""
    for request, plain in zip(requests, plain_requests, strict=False):
        if _skeleton(request) != _skeleton(plain):
            return True
        if request.reply != plain.reply:
            return False
    return len(requests) != len(plain_requests)


def _skeleton(request: RecordedRequest) -> tuple[object, ...]:
    told = tuple((message.role, _outside(message.text)[0], message.images) for message in request.messages)
    return told, request.sample


def _outside(text: str) -> tuple[str, set[Invariant]]:
    """What stands outside of fences, and what is wrong with the fences. A fence may show others within it."""
    outside: list[str] = []
    marks: set[str] = set()
    problems: set[Invariant] = set()
    position = 0
    while (start := _FENCE.search(text, position)) is not None:
        outside.append(text[position : start.start()])
        content, closing, _ = text[start.end() :].partition(f"\nDATA {start[1]}>>>")
        position = start.end() + len(content) + len(closing)
        marks.add(start[1])
        if not closing:
            problems.add("unclosed")
        elif start[1] in content:
            problems.add("mark")
    outside.append(text[position:])
    # A fence that was closed from within leaves its own end behind.
    if any(f"DATA {mark}>>>" in part for mark in marks for part in outside):
        problems.add("mark")
    return "⟨data⟩".join(outside), problems


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _systems(requests: Iterable[RecordedRequest]) -> set[str]:
    return {message.text for request in requests for message in request.messages if message.role == "system"}


def _schemas(requests: Iterable[RecordedRequest]) -> set[str]:
    return {json.dumps(request.schema, sort_keys=True) for request in requests}


def _rows(scores: Iterable[JudgedScore]) -> Counter[tuple[object, ...]]:
    return Counter((row.unit, row.unit_id, row.turn_index, row.criterion, row.sample) for row in scores)
