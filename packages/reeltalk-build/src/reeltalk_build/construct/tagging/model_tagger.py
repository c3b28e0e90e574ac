"""A tagger that asks a language model with our manual. The share of replies with a tag is its probability."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from reeltalk.llm import Message, Model, ask_for
from reeltalk.llm.prompts import PromptGroup, prompts_in
from reeltalk.llm.structured import REPAIR
from reeltalk.progress import Progress
from reeltalk.schema.labels import TAGGING_MANUAL, Content, Target, Thinking
from reeltalk_build.construct.prompting import without_fences
from reeltalk_build.construct.replies import ReplyType
from reeltalk_build.construct.tagging.turns import MOST_TAGS, TurnTags, TurnToTag, choose_tags, known_vocabularies
from reeltalk_build.threads import map_threads

PROMPTS: Final = Path(__file__).parent / "prompts"
PROMPT_GROUP: Final = PromptGroup(
    "tag",
    {"manual": TAGGING_MANUAL, "request": PROMPTS / "request.md", "repair": REPAIR},
    replies={"request": ("turns", "number", "target", "content", "thinking")},
)
"""The manual and the request, and what replacements for them must contain."""
PROMPT_GROUPS: Final = (PROMPT_GROUP,)
TURNS_AT_ONCE: Final = 10
"""Most turns of one unit in one request."""
TURNS_BEFORE: Final = 4
"""Earlier turns that the request shows too, so that *it* and *there* are clear."""


class TurnReply(ReplyType):
    """The tags of one turn."""

    number: Annotated[int, Field(ge=1)]
    target: Annotated[tuple[Target, ...], Field(min_length=1, max_length=MOST_TAGS)]
    content: Annotated[tuple[Content, ...], Field(min_length=1, max_length=MOST_TAGS)]
    thinking: Thinking


class TurnsReply(ReplyType):
    """The tags of some turns."""

    turns: tuple[TurnReply, ...]


@dataclass(frozen=True)
class _TurnBatch:
    """The turns of one request."""

    places: tuple[int, ...]
    """Their indices among all turns."""
    turns: tuple[TurnToTag, ...]


@dataclass(frozen=True)
class _TagReply:
    """One reply, or the reason why it cannot be used."""

    tags: dict[int, TurnReply] | None
    """By number of the turn in the request, from 1."""
    reason: str = ""
    raw: tuple[str, ...] = ()


class ModelTagging:
    """Tags with a language model that is asked once or several times."""

    def __init__(self, samples: Sequence[Model], *, threads: int = 4, own_prompts: Path | None = None) -> None:
        """Load the prompts. The model is not asked yet.

        Raises:
            SettingError: The folder does not exist.
            InputError: A prompt in it cannot replace ours.
        """
        self._samples, self._threads = tuple(samples), threads
        prompts = prompts_in(own_prompts, PROMPT_GROUP)
        self._manual, self._request, self._repair = (prompts[name] for name in ("manual", "request", "repair"))
        depends = [self._manual.signature, self._request.signature, self._repair.signature]
        depends += [str(sorted(model.sampling.items())) for model in samples]
        depends += [f"{TURNS_AT_ONCE} {TURNS_BEFORE}"]
        digest = hashlib.sha256("\n".join(depends).encode()).hexdigest()[:8]
        self.signature = f"model:{samples[0].name}#{digest}"

    def tag(self, turns: Sequence[TurnToTag], progress: Progress) -> list[TurnTags]:
        """Tag turns by the majority of replies. With a single reply there are no probabilities."""
        parts = list(_parts(turns))
        work = [(part, model) for part in parts for model in self._samples]
        given: dict[int, _TagReply] = {}
        for done, (index, reply) in enumerate(map_threads(self._ask, work, self._threads), 1):
            given[index] = reply
            progress("asking for tags", done, len(work), done / len(work))
        found: list[TurnTags] = [TurnTags({}, {}, "there is no question") for _ in turns]
        count = len(self._samples)
        for number, part in enumerate(parts):
            replies = [given[number * count + sample] for sample in range(count)]
            for line, place in enumerate(part.places, 1):
                found[place] = _joined(replies, line)
        return found

    def _ask(self, item: tuple[_TurnBatch, Model]) -> _TagReply:
        part, model = item
        numbers = set(range(1, len(part.turns) + 1))

        def complaint(reply: TurnsReply) -> str | None:
            told = Counter(turn.number for turn in reply.turns)
            if twice := sorted(number for number, times in told.items() if times > 1):
                return f"turn {twice[0]} stands there {told[twice[0]]} times"
            if numbers != set(told):
                return f"turns {sorted(numbers)} are to be tagged, not {sorted(told)}"
            return next(
                (
                    f"turn {turn.number} names a tag twice"
                    for turn in reply.turns
                    if len(set(turn.target)) < len(turn.target) or len(set(turn.content)) < len(turn.content)
                ),
                None,
            )

        before = part.turns[0].before[-TURNS_BEFORE:]
        lines = [f"(before) Q: {turn.question}" for turn in before]
        lines += [
            f"{number}. Q: {asked.turn.question}\n   A: {asked.answer}" for number, asked in enumerate(part.turns, 1)
        ]
        text = self._request.fill(turns=without_fences("\n".join(lines)), count=str(len(part.turns)))
        messages = [Message("system", self._manual.text), Message("user", text)]
        asked = ask_for(model, messages, TurnsReply, check=complaint, repair=self._repair)
        if asked.record is None:
            return _TagReply(None, "; then ".join(asked.reasons), asked.replies)
        return _TagReply({turn.number: turn for turn in asked.record.turns})


def requests_for(turns: Sequence[TurnToTag]) -> int:
    """Number of requests to tag these turns once, if every reply can be used."""
    return len(list(_parts(turns)))


def _parts(turns: Sequence[TurnToTag]) -> Iterator[_TurnBatch]:
    """Turns of each unit in batches for one request. Turns without a question are left out."""
    asked = [(place, turn) for place, turn in enumerate(turns) if turn.turn.question.strip()]
    for _, grouped in groupby(asked, key=lambda item: item[1].place[:2]):
        unit = list(grouped)
        for at in range(0, len(unit), TURNS_AT_ONCE):
            piece = unit[at : at + TURNS_AT_ONCE]
            yield _TurnBatch(tuple(place for place, _ in piece), tuple(turn for _, turn in piece))


def _joined(replies: Sequence[_TagReply], number: int) -> TurnTags:
    """The tags of a turn, with the share of usable replies that give a tag as its probability."""
    usable = [reply.tags[number] for reply in replies if reply.tags is not None]
    if not usable:
        raw = tuple(text for reply in replies for text in reply.raw)
        return TurnTags({}, {}, replies[0].reason, raw)
    votes = Counter(
        (vocabulary, str(tag.value))
        for turn in usable
        for vocabulary, tags in (
            ("cogme.target", turn.target),
            ("cogme.content", turn.content),
            ("cogme.thinking", (turn.thinking,)),
        )
        for tag in tags
    )
    shares = {
        name: {tag: votes[name, tag] / len(usable) for tag in tags} for name, tags in known_vocabularies().items()
    }
    decisions = {name: choose_tags(name, part) for name, part in shares.items()}
    # A single reply gives no probabilities.
    return TurnTags(decisions, shares if len(usable) > 1 else {})
