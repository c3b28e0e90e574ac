"""Stand-ins for whoever answers and judges: they count what they are asked, and reply at once.

Answers are as long as the references and never alike; a judge's replies can be used.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from reeltalk.evaluate.playing.player import Player, Said, Seen
from reeltalk.llm.model import Message, Reply
from reeltalk.llm.replies import reply_key
from reeltalk.schema.record import Json

CHARACTERS_A_TOKEN: Final = 4.0
WIDE_A_TOKEN: Final = 1.5
"""Of Chinese, Japanese and Korean."""
WIDE_FROM: Final = "\u2e80"
BLOCK_TOKENS: Final = 16
"""A server keeps prefixes by blocks of so many tokens."""
NO_REFERENCE: Final = "an answer of usual length"
RATIONALE: Final = "The answer names what the reference names, and adds nothing that speaks against it. " * 3
"""As long as judges' reasons usually are: some 60 tokens."""


@dataclass(frozen=True)
class Line:
    """The requests of one kind."""

    what: str
    """`answers`, or the protocol that judges."""
    calls: int
    repeated: int
    """Questions that were asked in the same words before, and are answered from kept replies."""
    images: int
    tokens_in: int
    new_tokens_in: int
    """Tokens of prompts that a server computes anew if it keeps all prefixes."""
    tokens_out: int


@dataclass
class Counting:
    """A model that counts what it is asked, and replies with a stand-in."""

    name: str
    sees_images: bool = False
    image_tokens: int = 0
    sampling: Mapping[str, Json] = field(default_factory=dict)
    calls: int = 0
    repeated: int = 0
    images: int = 0
    tokens_in: float = 0.0
    new_tokens_in: float = 0.0
    tokens_out: float = 0.0
    stand_in: Callable[[dict[str, Json] | None], str] = lambda schema: stand_in_reply(schema)
    """Gives the reply to a new request."""
    _replies: dict[str, str] = field(default_factory=dict)
    _before: list[str | bytes] = field(default_factory=list)

    async def ask(
        self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None, sample: int = 0
    ) -> Reply:
        """Count a request.

        Args:
            messages: The conversation.
            schema: What the reply shall follow.
            sample: Number of the sample.
        """
        key = reply_key(self.name, messages, schema=schema, sample=sample)
        text = self._replies.get(key)
        if text is not None:
            self.repeated += 1
            return Reply(text, self.name, None, None, cut_off=False, cached=True)
        text = self._replies[key] = self.stand_in(schema)
        asked: list[str | bytes] = []
        for message in messages:
            asked += [*message.images, message.text]
        tokens = sum(self._tokens(part) for part in asked)
        self.calls += 1
        self.images += sum(len(message.images) for message in messages)
        self.tokens_in += tokens
        self.new_tokens_in += tokens - self._kept(asked)
        self.tokens_out += max(1.0, tokens_of(text))
        self._before = [*asked, text]
        return Reply(text, self.name, None, None, cut_off=False)

    def line(self, what: str) -> Line:
        """What was counted.

        Args:
            what: What was asked for.
        """
        return Line(
            what,
            self.calls,
            self.repeated,
            self.images,
            round(self.tokens_in),
            round(self.new_tokens_in),
            round(self.tokens_out),
        )

    def _tokens(self, part: str | bytes) -> float:
        return tokens_of(part) if isinstance(part, str) else float(self.image_tokens)

    def _kept(self, asked: Sequence[str | bytes]) -> float:
        """Tokens at the start that the request before this one, with its reply, has too, in whole blocks."""
        tokens = 0.0
        for before, now in zip(self._before, asked, strict=False):
            if before == now:
                tokens += self._tokens(now)
                continue
            if isinstance(before, str) and isinstance(now, str):
                tokens += tokens_of(now[: _common(before, now)])
            break
        return tokens // BLOCK_TOKENS * BLOCK_TOKENS


class StandIn:
    """Plays with answers as long as the references.

    Args:
        player: Who would answer, asking `model`; None where no model is asked.
        model: Counts.
        sees_frames: Whether frames are shown to a player that asks no model.
    """

    def __init__(self, player: Player | None, model: Counting, *, sees_frames: bool = False) -> None:
        self._player, self._model, self._sees_frames = player, model, sees_frames
        self._numbers = count(1)

    @property
    def name(self) -> str:
        """Of the model."""
        return self._model.name

    @property
    def signature(self) -> tuple[tuple[str, str], ...]:
        """Nothing is signed."""
        return ()

    @property
    def sees_frames(self) -> bool:
        """As the player."""
        return self._player.sees_frames if self._player is not None else self._sees_frames

    async def answer(self, seen: Seen, pictures: Any) -> Said:
        """What the player makes of a stand-in reply."""
        references = seen.step.turn.references
        self._model.stand_in = lambda schema: self._text(references[0] if references else NO_REFERENCE)
        if self._player is None:
            return Said(self._model.stand_in(None))
        return await self._player.answer(seen, pictures)

    def _text(self, reference: str) -> str:
        """As long as the reference, and like no other: equal answers would be judged once."""
        number = str(next(self._numbers))
        return f"{number} {reference}"[: max(len(number), len(reference))].strip()


def tokens_of(text: str) -> float:
    """About how many tokens a text has."""
    wide = sum(character >= WIDE_FROM for character in text) if not text.isascii() else 0
    return wide / WIDE_A_TOKEN + (len(text) - wide) / CHARACTERS_A_TOKEN


def stand_in_reply(schema: dict[str, Json] | None) -> str:
    """A judge's reply that can be used: a rating in words, or an object that a schema describes.

    Args:
        schema: A JSON schema of an object of strings, numbers and words to choose from; None where none was sent.
    """
    if schema is None:
        return f"{RATIONALE}So rating=3."
    found: Any = schema
    return json.dumps({name: _value(kind) for name, kind in found["properties"].items()})


def _value(kind: Any) -> Any:
    kinds = [one for one in kind.get("anyOf", [kind]) if one.get("type") != "null"]
    first = kinds[0]
    if "enum" in first:
        return first["enum"][0]
    if first.get("type") in ("integer", "number"):
        return first.get("maximum", first.get("minimum", 1))
    return RATIONALE


def _common(one: str, other: str) -> int:
    """Length of the longest common start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
