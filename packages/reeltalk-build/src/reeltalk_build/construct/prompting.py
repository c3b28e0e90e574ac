"""Asks a language model with the prompts of one language, and gets a record back.

Text from a video, a person or another model is put between two lines of equals signs, and cannot contain such a line. A
model that sees no images gets the objects that a detector found, as text.

Prompts contain worked examples about another, invented video.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from reeltalk.llm import Message, Model, RecordResult, ask_for
from reeltalk.llm.prompts import PromptGroup, Prompts, our_prompts, prompts_in
from reeltalk.llm.structured import REPAIR
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import TAGGING_MANUALS
from reeltalk.schema.media import Video
from reeltalk.video.sampling import pick_evenly
from reeltalk_build.construct import replies
from reeltalk_build.construct.retries import RetriedModel
from reeltalk_build.construct.writers import Language, Unwritten

T = TypeVar("T")

PROMPTS: Final = Path(__file__).parent / "prompts"
REPLY_TYPES: Final[Mapping[str, type[replies.ReplyType]]] = {
    "caption": replies.CaptionReply,
    "caption_check": replies.TurnCheck,
    "chain": replies.ChainReply,
    "checklist": replies.ChecklistReply,
    "checklist_trial": replies.TrialReply,
    "dialogue": replies.DialogueReply,
    "dialogue_check": replies.DialogueCheckReply,
    "equivalence": replies.EquivalenceReply,
    "linkages": replies.LinkageReply,
    "merge": replies.MergeReply,
    "quality": replies.QualityReply,
    "rewrite": replies.RewriteReply,
    "rewrite_check": replies.RewriteCheckReply,
    "rubric": replies.RubricReply,
    "standing": replies.StandingReply,
    "suitability": replies.SuitabilityReply,
    "tags": replies.TagsReply,
    "wrong_answers": replies.WrongAnswersReply,
}
"""Type of the reply, by prompt."""
MAY_LACK: Final = {
    name: frozenset({"seen", *more})
    for name, more in {
        "caption": ("advice",),
        "caption_check": (),
        "chain": ("advice", "around", "start_s", "end_s", "wanted"),
        "dialogue": ("advice", "asked_at_s", "earlier"),
        "dialogue_check": (),
        "linkages": ("wanted",),
        "quality": (),
        "rewrite": ("advice", "wanted"),
        "rewrite_check": (),
        "suitability": (),
    }.items()
}
"""Fields that a user's own prompt may omit: images are sent with the text, and the others say what helps."""
UNSEEN: Final = "its film cannot be shown: "
"""Beginning of the reason why nothing was written about a part of a video whose file is missing or damaged."""


@dataclass(frozen=True)
class VisualContext:
    """What a model is shown of a part of a video."""

    images: tuple[bytes, ...] = ()
    """JPEG files in order of time, and then those of the closer look."""
    times_s: tuple[float, ...] = ()
    """Presentation time of each image in seconds."""
    objects_text: str = ""
    """Detected objects with times, one a line, for a model that sees no images."""
    title: str = ""
    """Title and category of the video; empty if they are not known."""
    speech: str = ""
    """What is said in it, one utterance a line with its times and speaker; empty if that is not known."""
    unseen: str = ""
    """Why its film cannot be shown; empty if it can."""
    closer: int = 0
    """How many of the images, the last ones, are a closer look at the stretches that turns rest on."""


class ContextOf(Protocol):
    """Shows parts of a video. May be called from several threads."""

    def __call__(
        self, video: Video, intervals: Sequence[Interval], stretches: Sequence[Interval] = (), /
    ) -> VisualContext:
        """Images from inside the intervals, or the objects in them; and more images from inside some stretches."""
        ...


@cache
def construction_prompts(language: Language) -> PromptGroup:
    """The prompts of a language, and what replacements for them must contain."""
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


PROMPT_GROUPS: Final = (construction_prompts("en"), construction_prompts("zh"))


@cache
def _ours(language: Language) -> Prompts:
    return _with_manual(our_prompts(construction_prompts(language)))


def _with_manual(found: Prompts) -> Prompts:
    tags = found["manual"].followed_by(found["tags"])
    return Prompts(found.group, {**found, "tags": tags}, found.replaced)


def prompts(language: Language, folder: Path | None = None) -> Prompts:
    """All prompts of a language by name: a folder's prompts, and ours for the rest.

    The prompt for tags begins with the manual that people tag by.

    Raises:
        SettingError: The folder does not exist.
        InputError: A file in it cannot replace our prompt.
    """
    return _ours(language) if folder is None else _with_manual(prompts_in(folder, construction_prompts(language)))


class PromptedModel:
    """A model with the prompts of one language."""

    def __init__(self, model: Model, language: Language, own: Prompts | None = None) -> None:
        self.model, self.language = model, language
        self.prompts = prompts(language) if own is None else own

    def part(self, name: str, data: Mapping[str, str] | None = None, parts: Mapping[str, str] | None = None) -> str:
        """A prompt with its fields filled in."""
        fields = {field: without_fences(text) for field, text in (data or {}).items()} | dict(parts or {})
        return self.prompts[name].fill(**fields)

    def ask(
        self,
        name: str,
        kind: type[T],
        *,
        seen: VisualContext | None = None,
        data: Mapping[str, str] | None = None,
        parts: Mapping[str, str] | None = None,
        before: Sequence[Message] = (),
        check: Callable[[T], str | None] | None = None,
    ) -> RecordResult[T]:
        """Ask for a record. If the reply cannot be used, ask once more.

        Returns:
            The record with the replies; without a record and replies, but with a reason, if there was nothing to show.
        """
        ours, images = dict(parts or {}), tuple[bytes, ...]()
        if seen is not None:
            if missing := self._missing(seen):
                return RecordResult(None, (), (missing,))
            ours["seen"] = self._shown(seen)
            images = seen.images if self.model.sees_images else ()
        times = tuple(f"<{time_s:.1f} seconds>" for time_s in seen.times_s) if seen is not None and images else ()
        message = Message("user", self.part(name, data, ours), images, times)
        again = self.prompts["repair"]
        conversation = [*self.opening(before), message]
        if isinstance(self.model, RetriedModel):
            return self.model.converse(name, conversation, kind, check=check, repair=again)
        return ask_for(self.model, conversation, kind, check=check, repair=again)

    def looking(self, seen: VisualContext, parts: Mapping[str, str]) -> dict[str, Any]:
        """Arguments of `ask` for a prompt that can do without pictures: with them if there are some for this model."""
        if self.model.sees_images and seen.images:
            return {"seen": seen, "parts": parts}
        return {"parts": {**parts, "seen": ""}}

    def opening(self, before: Sequence[Message] = ()) -> Sequence[Message]:
        """The conversation so far, or the system message that starts one."""
        return before or [Message("system", self.part("system"))]

    def _missing(self, seen: VisualContext) -> str | None:
        if seen.unseen:
            return seen.unseen
        if self.model.sees_images:
            return None if seen.images else "there is no picture of this part of the video"
        return (
            None
            if seen.objects_text.strip() or seen.speech
            else "nothing was detected that a model without sight could write about"
        )

    def _shown(self, seen: VisualContext) -> str:
        pictured = self._pictured(seen)
        texts = {"title": seen.title, "speech": seen.speech}
        more = [self.part(f"seen_{name}", {name: text}) for name, text in texts.items() if text]
        return "\n\n".join([pictured, *more])

    def _pictured(self, seen: VisualContext) -> str:
        if not self.model.sees_images:
            return self.part("seen_objects", {"objects": seen.objects_text})
        pictured = self.part("seen_pictures", parts={"count": str(len(seen.images) - seen.closer)})
        closer = [self.part("seen_closer", parts={"count": str(seen.closer)})] if seen.closer else []
        return "\n\n".join([pictured, *closer])


def thin_out(seen: VisualContext, share: float) -> VisualContext:
    """The same with a share of the frames, at least two, the first and the last among them."""
    wanted = min(len(seen.images), max(2, math.ceil(len(seen.images) * share)))
    places = [int(place) for place in pick_evenly(range(len(seen.images)), wanted)]
    return replace(
        seen,
        images=tuple(seen.images[place] for place in places),
        times_s=tuple(seen.times_s[place] for place in places),
    )


def without_fences(text: str) -> str:
    """The text without runs of equals signs, which could end the fence around it."""
    return re.sub(r"={3,}", lambda run: " ".join(run[0]), text.strip())


def number_turns(turns: Sequence[Turn], *, timed: bool = False) -> str:
    """Questions and preferred answers, numbered from 1, for a judge with the line of `turn_times`."""
    return "\n".join(
        f"{number}. Q: {turn.question}\n   A: {turn.references[0] if turn.references else ''}"
        + (turn_times(turn) if timed else "")
        for number, turn in enumerate(turns, start=1)
    )


def turn_times(turn: Turn) -> str:
    """A line with a turn's evidence and the moment of its question, such as `T: 3.0–5.5 s → 20.0 s`."""
    shown = ", ".join(f"{part.start_s:.1f}–{part.end_s:.1f} s" for part in turn.evidence) or "–"
    return f"\n   T: {shown}" + (f" → {turn.asked_at_s:.1f} s" if turn.asked_at_s is not None else "")


def record_or_unwritten(result: RecordResult[T]) -> T | Unwritten:
    """The record, or the reason why there is none with the raw replies."""
    return unwritten_from(result) if result.record is None else result.record


def unwritten_from(result: RecordResult[T]) -> Unwritten:
    """The reason why there is no record, with the raw replies."""
    return Unwritten("; then ".join(result.reasons), result.replies)
