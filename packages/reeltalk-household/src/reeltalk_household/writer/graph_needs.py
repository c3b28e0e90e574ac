"""Needs of users and of people in a video, for rounds in which the assistant brings something up.

This is proactive interaction. A need is met by an event or a final state in the graph (`needs.toml`). The user remarks
something that shows the need, or nothing of interest; the assistant tells the fact, adds what helps, and asks.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from reeltalk.language import phrases
from reeltalk.language.vocabulary import OPPOSITES, class_of
from reeltalk.schema.record import Json
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.question import (
    STATE_WORDS,
    act_phrase,
    called_thing,
    event_key,
    object_slots,
    person_slots,
)

NEEDS: Final = Path(__file__).parent / "needs.toml"


class UserNeed(BaseModel):
    """A sort of need."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    actions: str = ""
    classes: str = ""
    state: str | None = None
    person: bool = True
    last: bool = False
    """True: only the last such event of a thing meets it."""
    urgent: bool = False
    remarks: tuple[str, ...]
    helps: str
    asks: tuple[str, ...]


@dataclass(frozen=True)
class MetNeed:
    """A need with the fact that meets it."""

    need: UserNeed
    says: str
    """The fact as a clause."""
    slots: dict[str, str]
    event: StoryEvent | None
    thing: str | None
    facts: tuple[dict[str, Json], ...]
    """The fact as SPARQL checks it."""


@cache
def needs() -> tuple[UserNeed, ...]:
    """All sorts of needs."""
    raw = tomllib.loads(NEEDS.read_text(encoding="utf-8"))
    return tuple(UserNeed.model_validate({"name": name} | need) for name, need in raw.items())


def met_needs(story: Story, *, parts: frozenset[int] | None = None) -> Iterator[MetNeed]:
    """The needs that a story meets, in a fixed order; several times if several facts meet one.

    Args:
        story: The story of everybody.
        parts: Indices of the activities that may be spoken of; all by default.
    """
    events = [event for event in story.events if parts is None or event.part in parts]
    for need in needs():
        if need.state is not None:
            # At the end of the video, which a dialogue about a part may not know.
            if parts is None:
                yield from _by_state(need, story)
            continue
        fitting = [event for event in events if _fits(need, event, story)]
        if need.last:
            fitting = list({event.main: event for event in fitting}.values())
        for event in fitting:
            yield _by_event(need, event, story)


def _fits(need: UserNeed, event: StoryEvent, story: Story) -> bool:
    classes = need.classes.split()
    things = {class_of(name) for name in (event.main, *event.targets) if name is not None}
    by = need.person == does_it(event, story)
    return event.action in need.actions.split() and by and (not classes or bool(things & set(classes)))


def _by_event(need: UserNeed, event: StoryEvent, story: Story) -> MetNeed:
    slots = object_slots(event.main, story) if event.main is not None else {}
    if does_it(event, story):
        slots |= person_slots(event.agent or story.agent, story)
    says = " ".join(event_clause(event, story))
    return MetNeed(need, says, slots, event, event.main, (event_fact(event, story),))


def does_it(event: StoryEvent, story: Story) -> bool:
    """True if somebody does an event; the graphs of one unnamed person may not say who."""
    return event.agent is not None or not story.names


def event_clause(event: StoryEvent, story: Story) -> tuple[str, str]:
    """An event as subject and predicate: `Anna`, `opens the fridge`, or `the kettle`, `boils`."""
    if does_it(event, story):
        return person_slots(event.agent or story.agent, story)["who"], act_phrase(event, story, "does")
    subject = called_thing(event.main, story) if event.main is not None else "something"
    return subject, phrases.phrase(event.action, None, (), "does")


def event_fact(event: StoryEvent, story: Story) -> dict[str, Json]:
    """An event as a fact that SPARQL checks."""
    return {"kind": "happens", "params": {"event": event.order}, "answer_key": event_key(event)}


def _by_state(need: UserNeed, story: Story) -> Iterator[MetNeed]:
    assert need.state is not None
    acted = {name for event in story.events for name in (event.main, *event.targets) if name is not None}
    for name in sorted(acted):
        if class_of(name) not in need.classes.split() or need.state not in story.values_at_end(name):
            continue
        slots = object_slots(name, story)
        base = need.state if need.state in ("ON", "OPEN") else OPPOSITES[need.state]
        fact: dict[str, Json] = {
            "kind": "state_end",
            "params": {"object": name, "value": base},
            "answer_key": need.state,
        }
        says = f"{called_thing(name, story)} {slots['is']} still {STATE_WORDS[need.state]} at the end"
        yield MetNeed(need, says, slots, None, name, (fact,))


def helps_of(met: MetNeed) -> str:
    """What the assistant adds, as a clause."""
    return met.need.helps.format(**met.slots)


def fill_need(template: str, met: MetNeed) -> str:
    """A remark or a question of a need with its words."""
    return template.format(**met.slots)


def fitting_texts(texts: Sequence[str], met: MetNeed) -> list[str]:
    """Those texts whose slots a fact can fill."""
    found = []
    for text in texts:
        try:
            found.append(fill_need(text, met))
        except KeyError:
            continue
    return found
