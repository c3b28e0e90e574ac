"""Words of a question that only the dialogue resolves, and what they could mean without it (object reference).

A question about one of several mugs may say *it*, *the other one*, *the blue one* or *the first one*; a question about
one of several people *she* or *the other person*. The candidates are everything in the video of which the same question
could be asked. A reference counts if there are at least two with different answers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from reeltalk.language.phrases import is_plural
from reeltalk.schema.record import Json
from reeltalk_build.graph.naming import adjectives, attribute_of, siblings
from reeltalk_build.graph.story import Story
from reeltalk_household.questions.question import Question, story_of

CANDIDATES: Final = "candidates"
"""Key of a turn's `extra`: everything that its referring words could mean without the dialogue, by name, each with the
parameters with which SPARQL answers the question about it."""
LEAST_CANDIDATES: Final = 2


@dataclass(frozen=True)
class Description:
    """Words for what a question is about, to be resolved by the dialogue."""

    words: str
    means: str
    """The thing or person."""
    sort: str
    """`other`, `look`, `place in a list` or `other person`."""
    candidates: Mapping[str, Question]


def candidates_of(question: Question, story: Story, universe: Sequence[Question]) -> dict[str, Question]:
    """The same question about everything that its *it* or *that* could mean, by name; at most itself if unique."""
    found: dict[str, Question] = {}
    for other in universe:
        if other.kind == question.kind and other.person == question.person and other.anchor is not None:
            found.setdefault(str(named_anchor(other, story)), other)
    return found


def people_for(question: Question, universe: Sequence[Question]) -> dict[str, Question]:
    """The same question about everybody whom its *he* or *she* could mean, by person."""
    return {
        other.subject: other
        for other in universe
        if other.subject is not None
        and other.kind == question.kind
        and other.slots.get("he") == question.slots.get("he")
        and _without_person(other) == _without_person(question)
    }


def _without_person(question: Question) -> dict[str, str | int]:
    return {name: value for name, value in question.params.items() if name != "person"}


def named_anchor(question: Question, story: Story) -> str | None:
    """What a question can refer to: the name of a thing, or an event as ACTIVITY#INDEX."""
    if not isinstance(question.anchor, int):
        return question.anchor
    own = story_of(question, story)
    event = own.events[question.anchor]
    return f"{own.graphs[event.part].name}#{event.index}"


def is_ambiguous(candidates: Mapping[str, Question]) -> bool:
    """True if at least two candidates give different answers."""
    return len(candidates) >= LEAST_CANDIDATES and len({other.key for other in candidates.values()}) > 1


def recorded(candidates: Mapping[str, Question]) -> dict[str, Json]:
    """Candidates as a turn's `extra` has them."""
    return {CANDIDATES: {name: dict(candidates[name].params) for name in sorted(candidates)}}


def descriptions(
    question: Question, last: Question, listed: Sequence[str], story: Story, universe: Sequence[Question]
) -> Iterator[Description]:
    """Descriptions of what a question is about that can follow a turn.

    Args:
        question: The question to be asked.
        last: The question of the turn before.
        listed: Things that the answer of the turn before lists, or the pair that was spoken of last, in order.
        story: The story.
        universe: All questions of the story.
    """
    yield from _of_things(question, last, listed, story, universe)
    yield from _of_people(question, last, story, universe)


def _of_things(
    question: Question, last: Question, listed: Sequence[str], story: Story, universe: Sequence[Question]
) -> Iterator[Description]:
    name = question.anchor
    if not isinstance(name, str) or is_plural(name):
        return
    same = {
        str(other.anchor): other
        for other in universe
        if other.kind == question.kind and other.person == question.person and isinstance(other.anchor, str)
    }
    before = last.focus_object
    alike = next((names for names in siblings(story.things).values() if name in names), [])
    if before in alike and before != name:
        own = {other: same[other] for other in alike if other in same}
        if len(alike) == LEAST_CANDIDATES and is_ambiguous(own):
            yield Description("the other one", name, "other", own)
        values = story.attributes
        for kind in ("colour", "size"):
            value = attribute_of(values.get(name, ()), kind)
            if value is None or adjectives(alike, values).get(name) != value:
                continue
            fitting = {other: q for other, q in same.items() if attribute_of(values.get(other, ()), kind) == value}
            if is_ambiguous(fitting):
                yield Description(f"the {value} one", name, "look", fitting)
    if name in listed and len(listed) >= LEAST_CANDIDATES:
        own = {other: same[other] for other in listed if other in same}
        if not is_ambiguous(own):
            return
        if before in listed and before != name and len(listed) == LEAST_CANDIDATES:
            yield Description("the other one", name, "other", own)
        place = listed.index(name)
        ends = {0: "first", len(listed) - 1: "last"}
        word = ends.get(place) or {1: "second", 2: "third"}.get(place)
        if word is not None:
            yield Description(f"the {word} one", name, "place in a list", own)
            yield Description(f"the {word} of them", name, "place in a list", own)


def _of_people(question: Question, last: Question, story: Story, universe: Sequence[Question]) -> Iterator[Description]:
    person = question.subject
    if person is None or last.focus_person in (None, person) or len(story.people) != LEAST_CANDIDATES:
        return
    same = {
        other.subject: other
        for other in universe
        if other.subject is not None
        and other.kind == question.kind
        and _without_person(other) == _without_person(question)
    }
    if is_ambiguous(same):
        yield Description("the other person", person, "other person", same)


def described(question: Question, description: Description, story: Story) -> Question:
    """The question with the words of a description in place of what it names.

    Args:
        question: The question.
        description: One of its `descriptions`.
        story: The story.
    """
    slots = {name: words for name, words in question.slots.items() if name != "look"}
    if description.sort == "other person":
        return replace(question, slots=slots | {"who": description.words})
    return replace(question, slots=slots | {"o": description.words})
