"""A question from facts, and what every kind of question needs: words for its slots, and wrong choices."""

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
"""Wrong choices beside the right one."""
GRABS: Final = frozenset({"grab"})
PLACINGS: Final = frozenset({"put", "putIn"})
LASTING: Final = frozenset({"read", "watch", "type", "write", "sleep", "dance", "text", "stretch", "eat"})
ROOM_NAMES: Final = ("kitchen", "living room", "bedroom", "bathroom")


@dataclass(frozen=True)
class Question:
    """A fact that can be asked for."""

    kind: str
    key: str
    """The answer, in a form that can be compared: a class, a number, `yes`, an event."""
    answer_type: AnswerType
    params: Mapping[str, str | int]
    """What the kind needs to find the answer again."""
    slots: Mapping[str, str]
    """Words for the slots of its forms; `option` is the answer as a choice among several."""
    evidence: tuple[StoryEvent, ...] = ()
    """Events that show it; none where it takes the whole video."""
    anchor: str | int | None = None
    """The object (its name) or event (its order) that *it* or *that* means, where the question rests on one."""
    focus_object: str | None = None
    """What *it* means in the turn after."""
    focus_event: int | None = None
    """What *that* means in the turn after."""
    distractors: tuple[str, ...] = ()
    """Wrong choices; none where the kind has no sensible ones."""


def object_slots(name: str) -> dict[str, str]:
    """What every question about an object needs: pronouns and forms of *to be* that agree with it."""
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
    """Forms of what an event is told with: *do*, *does*, *doing*."""
    return {form: phrases.phrase(event.action, event.main, event.targets, form) for form in phrases.FORMS}


def event_key(event: StoryEvent) -> str:
    """An event as it can be compared: action, object and targets."""
    action, main, targets = event.signature
    return "|".join([action, main, *targets])


def distinct_events(story: Story) -> list[StoryEvent]:
    """Events that are told apart from all others by what they are."""
    counts = Counter(event.signature for event in story.events)
    return [event for event in story.events if counts[event.signature] == 1]


def only_object(event: StoryEvent) -> str | None:
    """What *it* can mean after an event: its object, where it has no other."""
    return event.main if event.main and not event.targets and class_of(event.main) not in ROOMS else None


def objects_of(story: Story) -> list[str]:
    """Everything that some event acts on, rooms left out, sorted."""
    names = {event.main for event in story.events if event.main} | {t for e in story.events for t in e.targets}
    return sorted(name for name in names if class_of(name) not in ROOMS)


def other_objects(story: Story, *right: str, draw: random.Random) -> tuple[str, ...]:
    """Wrong choices among things of the story; none where these are too few."""
    wrong = {class_of(r) for r in right}
    names = sorted({phrases.noun(name) for name in objects_of(story) if class_of(name) not in wrong})
    return tuple(draw.sample(names, DISTRACTORS)) if len(names) >= DISTRACTORS else ()


def other_counts(n: int) -> tuple[str, ...]:
    """Wrong numbers near the right one."""
    return tuple(phrases.number(m) for m in (n + 1, n + 2, n - 1 if n > 1 else n + 3))


def grabs_of(story: Story) -> list[StoryEvent]:
    """Events in which something is taken."""
    return [event for event in story.events if event.action in GRABS and event.main]
