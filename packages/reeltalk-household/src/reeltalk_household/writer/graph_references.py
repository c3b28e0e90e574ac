"""Words of a question that only the dialogue resolves, and what they could mean without it (object reference).

A question about one of several mugs may say *it* or *the other one*; a question about one of several people *she*. The
candidates are everything in the video of which the same question could be asked. A reference counts if there are at
least two with different answers.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from reeltalk.language.phrases import is_plural
from reeltalk.schema.record import Json
from reeltalk_build.graph.naming import siblings
from reeltalk_build.graph.story import Story
from reeltalk_household.questions.question import Question, event_key, story_of
from reeltalk_household.questions.wording import name_in

CANDIDATES: Final = "candidates"
"""Key of a turn's `extra`: everything that its referring words could mean without the dialogue, by name, each with the
parameters with which SPARQL answers the question about it."""
LEAST_CANDIDATES: Final = 2


def candidates_of(question: Question, story: Story, universe: Sequence[Question]) -> dict[str, Question]:
    """The same question about everything that its *it* or *that* could mean, by name; at most itself if unique."""
    found: dict[str, Question] = {}
    for other in universe:
        if other.kind == question.kind and other.person == question.person and other.anchor is not None:
            found.setdefault(str(name_in(other.anchor, story_of(other, story))), other)
    return found


def people_for(question: Question, universe: Sequence[Question], story: Story) -> dict[str, Question]:
    """The same question about everybody whom its *he* or *she* could mean, by person: also of the same act."""
    return _same_of_others(question, [q for q in universe if q.slots.get("he") == question.slots.get("he")], story)


def _same_of_others(question: Question, universe: Sequence[Question], story: Story) -> dict[str, Question]:
    named = _named(question, story)
    return {
        other.subject: other
        for other in universe
        if other.subject is not None and other.kind == question.kind and _named(other, story) == named
    }


def _named(question: Question, story: Story) -> dict[str, str | int]:
    """What a question names beside its person, with acts by what is done and not by their numbers."""
    own = story_of(question, story)
    return {
        name: event_key(own.events[int(value)]) if name in ("event", "other") else value
        for name, value in question.params.items()
        if name != "person"
    }


def is_ambiguous(candidates: Mapping[str, Question]) -> bool:
    """True if at least two candidates give different answers."""
    return len(candidates) >= LEAST_CANDIDATES and len({other.key for other in candidates.values()}) > 1


def record_candidates(candidates: Mapping[str, Question]) -> dict[str, Json]:
    """Candidates as a turn's `extra` has them."""
    return {CANDIDATES: {name: dict(candidates[name].params) for name in sorted(candidates)}}


def others_of_two(
    question: Question, spoken: Sequence[str], story: Story, universe: Sequence[Question]
) -> dict[str, Question]:
    """The same question about two things alike, one of which was spoken of: *the other one*; empty if it cannot be."""
    name = question.anchor
    if not isinstance(name, str) or is_plural(name) or name in spoken:
        return {}
    alike = next((names for names in siblings(story.things).values() if name in names), [])
    own = {
        str(other.anchor): other
        for other in universe
        if other.kind == question.kind and other.person == question.person and other.anchor in alike
    }
    return own if len(alike) == LEAST_CANDIDATES and {*alike} & {*spoken} and is_ambiguous(own) else {}
