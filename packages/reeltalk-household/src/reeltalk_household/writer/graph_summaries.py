"""Events of a video in sentences: what a summary keeps, and what becomes of an act that is on screen.

A summary has the important events, in two to four sentences: changes of things and people, what is said and given, and
what things are used for. It is made from events, so each sentence has one subject, and a pronoun only where one thing
was named before it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from reeltalk.language import phrases
from reeltalk.schema.record import Json
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.linked import CONNECTING_ACTS
from reeltalk_household.questions.question import act_phrase, called_thing, event_key, person_slots

SENTENCE_LIMITS: Final = (2, 3, 4)
"""Numbers of sentences that a user may ask for."""
MOST_IN_A_SENTENCE: Final = 3
"""Most acts of one subject that a sentence tells."""
LEAST_EVENTS: Final = 3
"""Fewest events of a summary."""
MOST_EVENTS: Final = 6
"""Most events of a summary."""
_WEIGHTS: Final = {
    **dict.fromkeys("break spill ring give say hug comfort smile frown scowl gasp fall fallback unwrap".split(), 3),
    **dict.fromkeys(
        "eat drink read watch type write text sleep wipe scrub wash pour boil brush dance play throw".split(), 2
    ),
    **dict.fromkeys("put putIn switchOn switchOff open close grab sit lie cut rinse wave pop drop".split(), 1),
}
"""How important an event is, by its action; others, such as walking, are left out."""


@dataclass(frozen=True)
class Sentence:
    """A sentence of a summary."""

    subject: str
    predicates: tuple[str, ...]
    facts: tuple[str, ...]
    """The same as clauses, each with all its names."""

    @property
    def text(self) -> str:
        """With a capital and a full stop."""
        return phrases.sentence(f"{self.subject} {phrases.join_list(self.predicates)}.")


@dataclass(frozen=True)
class Consequence:
    """An act with its effects."""

    act: StoryEvent
    effects: tuple[StoryEvent, ...]


def is_important(event: StoryEvent) -> bool:
    """True if a summary may tell an event."""
    return event.action in _WEIGHTS


def important_events(events: Sequence[StoryEvent]) -> list[StoryEvent]:
    """The most important events, in order."""
    weighed = [event for event in events if is_important(event)]
    # What is picked up and then used or put down is told once.
    used = {event.main for event in weighed if event.action != "grab"}
    weighed = [event for event in weighed if event.action != "grab" or event.main not in used]
    once = list({(event.agent, event_key(event)): event for event in reversed(weighed)}.values())
    kept = sorted(once, key=lambda event: (-_WEIGHTS[event.action], event.order))[:MOST_EVENTS]
    return sorted(kept, key=lambda event: event.order)


def sum_up(events: Sequence[StoryEvent], story: Story) -> tuple[Sentence, ...]:
    """The most important of some events in at most four sentences; empty if there are too few, or only one sentence."""
    kept = important_events(events)
    while len(sentences := _sentences(kept, story)) > SENTENCE_LIMITS[-1]:
        kept.remove(min(kept, key=lambda event: (_WEIGHTS[event.action], -event.order)))
    return sentences if len(kept) >= LEAST_EVENTS and len(sentences) >= SENTENCE_LIMITS[0] else ()


def _sentences(events: Sequence[StoryEvent], story: Story) -> tuple[Sentence, ...]:
    found = []
    for subject, group in groupby(events, key=lambda event: event_clause(event, story)[0]):
        own = list(group)
        for start in range(0, len(own), MOST_IN_A_SENTENCE):
            part = own[start : start + MOST_IN_A_SENTENCE]
            facts = tuple(" ".join(event_clause(event, story)) for event in part)
            # The sentence before is about the same person alone.
            called = subject_pronoun(own[0], story) if start else subject
            found.append(Sentence(called, tuple(_predicates(part, story)), facts))
    return tuple(found)


def _predicates(events: Sequence[StoryEvent], story: Story) -> Iterator[str]:
    """What one subject does; a thing that alone was named before is *it* or *them*."""
    before: tuple[str | None, ...] = ()
    for event in events:
        alone = event.main is not None and before == (event.main,) and is_done(event, story)
        it = "them" if event.main is not None and phrases.is_plural(event.main) else "it"
        if alone and event.main is not None and event.main not in story.people:
            yield act_phrase(event, story, "does", {event.main: it})
        else:
            yield event_clause(event, story)[1]
        before = (event.main, *event.targets)


def find_consequences(story: Story, shown: Sequence[int]) -> Iterator[Consequence]:
    """Acts of some activities that can be named, each with its effects.

    Args:
        story: The film so far.
        shown: Indices of the activities.
    """
    events = [event for event in story.events if event.part in shown]
    keys = [(event.agent, event_key(event)) for event in story.events]
    for act in events:
        if act.agent is None or act.action in CONNECTING_ACTS or keys.count((act.agent, event_key(act))) > 1:
            continue
        # Nobody needs to be told that a kettle boils.
        effects = [event for event in events if event.cause == act.order and event.action not in ("calm", "boil")]
        if effects:
            yield Consequence(act, tuple(effects[:2]))


def subject_pronoun(event: StoryEvent, story: Story) -> str:
    """The pronoun for whom or what an event's clause is about."""
    return person_slots(event.agent or story.agent, story)["he"] if is_done(event, story) else "it"


def is_done(event: StoryEvent, story: Story) -> bool:
    """True if somebody does an event; the graphs of one unnamed person may not say who."""
    return event.agent is not None or not story.names


def event_clause(event: StoryEvent, story: Story) -> tuple[str, str]:
    """An event as subject and predicate: `Anna`, `opens the fridge`, or `the kettle`, `boils`."""
    if is_done(event, story):
        return person_slots(event.agent or story.agent, story)["who"], act_phrase(event, story, "does")
    subject = called_thing(event.main, story) if event.main is not None else "something"
    return subject, phrases.phrase(event.action, None, (), "does")


def event_fact(event: StoryEvent, story: Story) -> dict[str, Json]:
    """An event as a fact that SPARQL checks."""
    return {"kind": "happens", "params": {"event": event.order}, "answer_key": event_key(event)}
