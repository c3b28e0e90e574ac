"""A language model with the prompts of one language: what it sees, what it is told, and the record it must answer with.

What comes from a video, a person or another model goes between two lines of equals signs and can hold no such line
itself. A model that sees no pictures is told what a detector found instead.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Protocol, TypeVar

from pydantic import TypeAdapter, ValidationError

from reeltalk.construct import replies
from reeltalk.construct.wording import normalise, topic_words
from reeltalk.construct.writers import Language, Unwritten
from reeltalk.errors import shorten
from reeltalk.llm import Asked, Message, Model, Prompt, ask_for
from reeltalk.llm.prompt_folder import PromptGroup, Prompts, our_prompts, prompts_in
from reeltalk.llm.structured import REPAIR
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.manuals import TAGGING_MANUALS
from reeltalk.schema.media import Video

T = TypeVar("T")

PROMPTS: Final = Path(__file__).parent / "prompts"
REPLY_TYPES: Final[Mapping[str, type[replies.ReplyType]]] = {
    "caption": replies.CaptionReply,
    "chain": replies.ChainReply,
    "checklist": replies.ChecklistReply,
    "checklist_self_check": replies.SelfCheckReply,
    "dialogue": replies.DialogueReply,
    "linkages": replies.LinkageReply,
    "merge": replies.MergeReply,
    "object_caption": replies.CaptionReply,
    "quality": replies.QualityReply,
    "rewrite": replies.RewriteReply,
    "rubric": replies.RubricReply,
    "standing": replies.StandingReply,
    "suitability": replies.SuitabilityReply,
    "tags": replies.TagsReply,
}
"""What a prompt is answered with, by its name."""
MAY_LACK: Final = {
    name: frozenset({"seen", "advice"})
    for name in ("caption", "chain", "dialogue", "quality", "rewrite", "suitability")
}
"""Fields without which a prompt still works: pictures go along with it, and advice is about an earlier attempt."""


@dataclass(frozen=True)
class VisualContext:
    """What a writer gets to know of a part of a video."""

    images: tuple[bytes, ...] = ()
    """JPEG files in the order of time."""
    times_s: tuple[float, ...] = ()
    """Presentation time of each picture."""
    objects_text: str = ""
    """Detected objects with the times at which they were seen, for a model that sees no pictures."""


class ContextOf(Protocol):
    """Gives what can be seen in parts of a video. May be called from several threads."""

    def __call__(self, video: Video, intervals: Sequence[Interval], /) -> VisualContext:
        """Pictures from inside the intervals and the objects in them.

        Args:
            video: What to look at.
            intervals: Its parts, in the order of time.
        """
        ...


@cache
def construction_prompts(language: Language) -> PromptGroup:
    """The prompts of a language, and what others in their place must hold."""
    return PromptGroup(
        f"construct/{language}",
        {path.stem: path for path in sorted((PROMPTS / language).glob("*.md"))}
        | {"manual": TAGGING_MANUALS[language], "repair": REPAIR},
        optional=MAY_LACK,
        replies={
            name: tuple(word for word, field in kind.model_fields.items() if field.is_required())
            for name, kind in REPLY_TYPES.items()
        }
        | {"probe": ("UNKNOWN",)},
    )


@cache
def _ours(language: Language) -> Prompts:
    return _with_manual(our_prompts(construction_prompts(language)))


def _with_manual(found: Prompts) -> Prompts:
    tags = found["manual"].followed_by(found["tags"])
    return Prompts(found.group, {**found, "tags": tags}, found.replaced)


def prompts(language: Language, folder: Path | None = None) -> Prompts:
    """All prompts of a language by name: those of a folder, and ours where it has none.

    That for tags begins with the manual that people tag by.

    Args:
        language: Of the prompts.
        folder: A user's own folder of prompts.

    Raises:
        SettingError: There is no such folder.
        InputError: A file of it cannot stand in the place of ours.
    """
    return _ours(language) if folder is None else _with_manual(prompts_in(folder, construction_prompts(language)))


class PromptedModel:
    """A model that is asked in one language."""

    def __init__(self, model: Model, language: Language, own: Prompts | None = None) -> None:
        self.model, self.language = model, language
        self.prompts = prompts(language) if own is None else own

    def part(self, name: str, data: Mapping[str, str] | None = None, parts: Mapping[str, str] | None = None) -> str:
        """A prompt with its fields.

        Args:
            name: Of the prompt.
            data: Fields that come from elsewhere; the prompt has them between lines of equals signs.
            parts: Fields that are our own words.
        """
        fields = {field: without_fences(text) for field, text in (data or {}).items()} | dict(parts or {})
        return self.prompts[name].fill(**fields)

    def refused(self, name: str, kind: type[T], texts: Callable[[T], Sequence[str]]) -> Callable[[T], str | None]:
        """What says of a draft that it copies an example of a prompt, if it does.

        Args:
            name: Of the prompt that holds the examples.
            kind: Type of the replies.
            texts: What a reply says, text by text.
        """
        prompt = self.prompts[name]
        examples = [texts(example) for example in examples_in(prompt, kind)] or [quoted_in(prompt)]

        def why(draft: T) -> str | None:
            return next(filter(None, (copy_complaint(texts(draft), example) for example in examples)), None)

        return why

    def ask(
        self,
        name: str,
        kind: type[T],
        *,
        seen: VisualContext | None = None,
        images: tuple[bytes, ...] = (),
        data: Mapping[str, str] | None = None,
        parts: Mapping[str, str] | None = None,
        before: Sequence[Message] = (),
        check: Callable[[T], str | None] | None = None,
    ) -> RecordResult[T]:
        """Ask for a record; once more where it cannot be used.

        Args:
            name: Of the prompt.
            kind: Type of the record.
            seen: What fills the prompt's `{seen}`.
            images: Pictures that go along without words of their own.
            data: Fields that come from elsewhere.
            parts: Fields that are our own words.
            before: The conversation that this goes on with.
            check: Says what is wrong with a record, if anything.

        Returns:
            No record and no reply, but a reason, where there was nothing that the model could have seen.

        Raises:
            ModelError: There is no reply to be had.
            BudgetError: A limit would be passed.
        """
        ours = dict(parts or {})
        if seen is not None:
            if missing := self._missing(seen):
                return RecordResult(None, (), (missing,))
            ours["seen"] = self._shown(seen)
            images = seen.images if self.model.sees_images else ()
        message = Message("user", self.part(name, data, ours), images)
        again = self.prompts["repair"]
        return ask_for(self.model, [*self.opening(before), message], kind, check=check, repair=again)

    def opening(self, before: Sequence[Message] = ()) -> Sequence[Message]:
        """How every conversation begins, unless it has begun."""
        return before or [Message("system", self.part("system"))]

    def _missing(self, seen: VisualContext) -> str | None:
        if self.model.sees_images:
            return None if seen.images else "there is no picture of this part of the video"
        return (
            None if seen.objects_text.strip() else "nothing was detected that a model without sight could write about"
        )

    def _shown(self, seen: VisualContext) -> str:
        if not self.model.sees_images:
            return self.part("seen_objects", {"objects": seen.objects_text})
        moments = ", ".join(f"{moment_s:.1f}" for moment_s in seen.times_s)
        return self.part("seen_pictures", parts={"count": str(len(seen.images)), "moments": moments})


def without_fences(text: str) -> str:
    """The text without runs of equals signs that could be taken for the end of what is fenced."""
    return re.sub(r"={3,}", lambda run: " ".join(run[0]), text.strip())


def number_turns(turns: Sequence[Turn]) -> str:
    """Questions and preferred answers, numbered from 1."""
    return "\n".join(
        f"{number}. Q: {turn.question}\n   A: {turn.references[0] if turn.references else ''}"
        for number, turn in enumerate(turns, start=1)
    )


def record_or_unwritten(asked: Asked[T]) -> T | Unwritten:
    """The record, or why there is none, with the replies as they came."""
    return unwritten_from(asked) if asked.record is None else asked.record


def unwritten_from(asked: Asked[T]) -> Unwritten:
    """Why there is no record, with the replies as they came."""
    return Unwritten("; then ".join(asked.reasons), asked.replies)


_QUOTED: Final = re.compile(r'"([^"\n]+)"|\u201c([^\u201d\n]+)\u201d')
_BLANK: Final = '"\u2026"'
"""What stands in a form in place of a text."""

MOST_SHARED: Final = 0.75
"""A text of whose content words this share stands in one text of an example repeats it."""
FEWEST_WORDS: Final = 4
"""A text with fewer content words may share all of them by chance, as "What does she do next?"; only the very same
words make it a copy."""
FEWEST_SAME: Final = 3
"""With fewer content words even the very same text says nothing, as "Okay."."""
MOST_OF_SUBJECT: Final = 0.75
"""A draft with this share of the words that an example comes back to has the example's subject."""
FEWEST_OF_SUBJECT: Final = 5
"""And with at least so many of them."""


def examples_in(prompt: Prompt, kind: type[T]) -> tuple[T, ...]:
    """The replies that a prompt shows as examples. A form with blanks, as `{"caption": "…"}`, is none.

    Args:
        prompt: Any.
        kind: Type of the replies to it.
    """
    return tuple(_records(prompt.text, TypeAdapter(kind)))


def quoted_in(prompt: Prompt) -> tuple[str, ...]:
    """What a prompt quotes, as an example that it tells in prose does.

    Args:
        prompt: Any.
    """
    return tuple(straight or curved for straight, curved in _QUOTED.findall(prompt.text))


def copy_complaint(draft: Sequence[str], example: Sequence[str]) -> str | None:
    """Why a draft cannot be used, where it repeats what an example says.

    Args:
        draft: Its texts.
        example: Those of the example.
    """
    known = [(normalise(text), topic_words(text)) for text in example]
    seen = Counter(word for _, words in known for word in words)
    subject = {word for word, times in seen.items() if times > 1}
    for text in draft:
        own = topic_words(text)
        for said, words in known:
            same = len(own) >= FEWEST_SAME and normalise(text) == said
            alike = len(own) >= FEWEST_WORDS and len(own & words) >= MOST_SHARED * len(own)
            # "Please sum up what we have talked about so far." may stand in any dialogue.
            if (same or alike) and own & words & subject:
                return f"it repeats the example in place of this video: {shorten(text)}"
    shared = subject & {word for text in draft for word in topic_words(text)}
    if len(shared) >= max(FEWEST_OF_SUBJECT, MOST_OF_SUBJECT * len(subject)):
        return f"it has the subject of the example in place of this video's: {', '.join(sorted(shared))}"
    return None


def _records(text: str, adapter: TypeAdapter[T]) -> Iterator[T]:
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start >= 0:
        try:
            found, end = decoder.raw_decode(text, start)
            if _BLANK in text[start:end]:
                start = text.find("{", end)
                continue
            yield adapter.validate_json(json.dumps(found), strict=True)
        except ValidationError:
            start = text.find("{", end)
        except ValueError:
            start = text.find("{", start + 1)
        else:
            start = text.find("{", end)
