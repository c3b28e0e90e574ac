"""The record of a question from a graph, with helpers for all kinds: words for slots, and distractors."""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from reeltalk.graph import phrases
from reeltalk.graph.story import Story, StoryEvent
from reeltalk.graph.vocabulary import ROOMS, class_of

AnswerType = Literal[
    "yes_no", "object", "place", "room", "count", "action", "colour", "choice", "seconds", "list", "refusal"
]
DISTRACTORS: Final = 3
"""Number of wrong options beside the right one."""
GRABS: Final = frozenset({"grab"})
PLACINGS: Final = frozenset({"put", "putIn"})
LASTING: Final = frozenset({"read", "watch", "type", "write", "sleep", "dance", "text", "stretch", "eat"})
ROOM_NAMES: Final = ("kitchen", "living room", "bedroom", "bathroom")


@dataclass(frozen=True)
class Question:
    """A question about a fact in a graph, not yet put into words."""

    kind: str
    key: str
    """The answer in a comparable form: a class, a number, `yes`, or an event."""
    answer_type: AnswerType
    params: Mapping[str, str | int]
    """Parameters with which `checking` finds the answer again."""
    slots: Mapping[str, str]
    """Words for the slots of its surface forms; `option` is the answer as an option."""
    evidence: tuple[StoryEvent, ...] = ()
    """Events that show the answer; empty if it takes the whole video."""
    anchor: str | int | None = None
    """The object (its name) or event (its order) that *it* or *that* means, if the question can refer to one."""
    focus_object: str | None = None
    """The object that *it* means in the next turn."""
    focus_event: int | None = None
    """The event that *that* means in the next turn."""
    distractors: tuple[str, ...] = ()
    """Wrong options; empty if there are no sensible ones."""


def object_slots(name: str) -> dict[str, str]:
    """Slots for an object: its noun, and pronouns and forms of *to be* that agree with it."""
    plural = phrases.is_plural(name)
    return {
        "o": phrases.noun(name),
        "it": "them" if plural else "it",
        "it_s": "they" if plural else "it",
        "its": "their" if plural else "its",
        "is": "are" if plural else "is",
        "is_it": "are they" if plural else "is it",
        "it_is": "they are" if plural else "it is",
        "was_it": "were they" if plural else "was it",
        "it_was": "they were" if plural else "it was",
    }


def event_slots(event: StoryEvent) -> dict[str, str]:
    """Slots for an event: its verb phrase as *do*, *does* and *doing*."""
    return {form: phrases.phrase(event.action, event.main, event.targets, form) for form in phrases.FORMS}


def event_key(event: StoryEvent) -> str:
    """An event in comparable form: action, object and targets, joined by `|`."""
    action, main, targets = event.signature
    return "|".join([action, main, *targets])


def distinct_events(story: Story) -> list[StoryEvent]:
    """Events whose action, object and targets occur only once in the story."""
    counts = Counter(event.signature for event in story.events)
    return [event for event in story.events if counts[event.signature] == 1]


def only_object(event: StoryEvent) -> str | None:
    """The object that *it* means after an event; None if that would be ambiguous."""
    return event.main if event.main and not event.targets and class_of(event.main) not in ROOMS else None


def objects_of(story: Story) -> list[str]:
    """Names of all objects that events act on, without rooms, sorted."""
    names = {event.main for event in story.events if event.main} | {t for e in story.events for t in e.targets}
    return sorted(name for name in names if class_of(name) not in ROOMS)


def other_objects(story: Story, *right: str, draw: random.Random) -> tuple[str, ...]:
    """Wrong options among the objects of the story; empty if there are too few."""
    wrong = {class_of(r) for r in right}
    names = sorted({phrases.noun(name) for name in objects_of(story) if class_of(name) not in wrong})
    return tuple(draw.sample(names, DISTRACTORS)) if len(names) >= DISTRACTORS else ()


def other_counts(n: int) -> tuple[str, ...]:
    """Three wrong numbers near the right one, in words."""
    return tuple(phrases.number(m) for m in (n + 1, n + 2, n - 1 if n > 1 else n + 3))


def grabs_of(story: Story) -> list[StoryEvent]:
    """Events in which the person picks something up."""
    return [event for event in story.events if event.action in GRABS and event.main]
