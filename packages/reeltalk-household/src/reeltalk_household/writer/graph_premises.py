"""Questions that take for granted what does not happen in a video (answer refusal).

An act of the video is altered in one part: who does it, to what, or where to. The question keeps the form of its kind,
so its words do not tell that its premise is false. The answer says what is wrong, and what is shown instead. SPARQL
finds no event as in the premise.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Final

from reeltalk.language.vocabulary import class_of, plain_name
from reeltalk.schema.dialogue import AnswerKey
from reeltalk.schema.record import Json
from reeltalk_build.graph.naming import attribute_of
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.question import (
    ABSENT,
    PLACINGS,
    Question,
    act_phrase,
    event_slots,
    objects_of,
    people_of_act,
    people_slots,
    person_slots,
    person_words,
    story_of,
    told_act,
)
from reeltalk_household.questions.questions import can_be_done_to

OF_EVENTS: Final = frozenset(
    {
        "which_room", "posture", "next_action", "previous_action", "who_beside", "why_act", "effect_of",
        "who_does",
    }
)  # fmt: skip
"""Kinds that name an act by which a false premise can be made."""
OF_THINGS: Final = {"where_put": ("put", "putIn"), "where_from": ("grab",), "use": ("grab",)}
"""Kinds that name a thing, with the acts that they take for granted."""
DULL: Final = frozenset({"walk", "run", "stand", "turnTo", "wait", "watch", "calm", "wakeUp"})
"""Acts of which nobody is sure whether they happen."""
TwinColour = Callable[[str, Collection[str]], str | None]
"""A colour that a thing of this name could have, other than some colours; None if there is none."""


@dataclass(frozen=True)
class FalsePremise:
    """A question about an act that does not happen."""

    question: Question
    """In the form of its kind, with the false act in its slots."""
    true: Question
    """The question from which it was made, about what happens."""
    event: StoryEvent
    """The act that is shown instead."""
    sort: str
    """What is false: `agent`, `object`, `place` or `look`."""
    says: str
    """What does not happen, as a clause: `Tom does not open the fridge`."""
    wrong: str
    """The premise as a clause: `Tom opens the fridge`."""
    instead: str
    """What is shown instead: `Anna opens the fridge`."""
    check: str
    """The kind of the SPARQL query that finds no such act."""
    params: Mapping[str, Json]
    key: AnswerKey


@dataclass(frozen=True)
class _Act:
    """An act as somebody might take it for granted: an event, and words for what is not in the video."""

    event: StoryEvent
    words: Mapping[str, str]
    sort: str
    check: str
    params: Mapping[str, Json]
    true_words: Mapping[str, str] = field(default_factory=dict)
    """Words for what is in the video, where those of the story would not show the difference."""


def false_premises(pool: Sequence[Question], story: Story, *, twin_colour: TwinColour) -> Iterator[FalsePremise]:
    """Questions with a false premise, made from questions whose premise is true.

    Args:
        pool: Questions that the dialogue may ask.
        story: The story that they are about.
        twin_colour: Finds the colour of a thing that is not there.
    """
    told = {(event.agent, act_phrase(event, story, "does")) for event in story.events}
    done = {(event.agent, event.action, event.main) for event in story.events}
    for question in pool:
        event = _assumed(question, story)
        if event is None or event.main is None or event.action in DULL:
            continue
        for act in _altered(event, story, question.kind, told, done, twin_colour):
            yield _as_question(question, event, act, story)


def _assumed(question: Question, story: Story) -> StoryEvent | None:
    """The act that a question takes for granted."""
    if question.kind in OF_EVENTS:
        return story_of(question, story).events[int(question.params["event"])]
    acts = OF_THINGS.get(question.kind, ())
    return next((e for e in question.evidence if e.action in acts and e.main == question.params["object"]), None)


def _altered(
    event: StoryEvent,
    story: Story,
    kind: str,
    told: Set[tuple[str | None, str]],
    done: Set[tuple[str | None, str, str | None]],
    twin_colour: TwinColour,
) -> Iterator[_Act]:
    """The event in other words, one for each part that can be false; `told` and `done` are what does happen."""
    agents = story.people if kind == "who_does" else ()
    for act in _candidates(event, story, kind, twin_colour):
        # Who puts a mug into the sink puts it down, too.
        if (
            not act.words
            and not act.event.targets
            and any((agent, act.event.action, act.event.main) in done for agent in (*agents, act.event.agent))
        ):
            continue
        words = act_phrase(act.event, story, "does", act.words)
        if not any((agent, words) in told for agent in (*agents, act.event.agent)):
            yield act


def _candidates(event: StoryEvent, story: Story, kind: str, twin_colour: TwinColour) -> Iterator[_Act]:
    name = event.main
    assert name is not None
    by = story.names and kind != "who_does"
    if by and event.agent is not None:
        for person in story.people:
            if person not in (event.agent, event.main, *event.targets):
                yield _act(replace(event, agent=person), "agent", by=True)
    colours = _colours(name, story)
    colour = twin_colour(name, colours) if colours else None
    if colour is not None:
        words = {name: f"the {colour} {plain_name(name)}"}
        params: dict[str, Json] = {"class": class_of(name), "colour": f"colour_{colour}"}
        yield _Act(event, words, "look", "premise_look", params, {name: f"the {colours[0]} {plain_name(name)}"})
    if kind in OF_THINGS:
        return
    for other in objects_of(story):
        carried = event.action in PLACINGS and can_be_done_to("grab", other)
        if class_of(other) != class_of(name) and (carried or can_be_done_to(event.action, other)):
            yield _act(replace(event, main=other), "object", by=bool(by))
    if event.action in PLACINGS and event.targets:
        places = {e.targets[0] for e in story.events if e.action == event.action and e.targets}
        for place in sorted(places):
            if class_of(place) != class_of(event.targets[0]) and place != name:
                yield _act(replace(event, targets=(place,)), "place", by=bool(by))


def _colours(name: str, story: Story) -> list[str]:
    """The colours of a thing and of those of its class; empty if it has none, or if nobody takes it."""
    alike = [name, *(other for other in sorted(story.things) if other != name and class_of(other) == class_of(name))]
    colours = [attribute_of(story.attributes.get(other, ()), "colour") for other in alike]
    # Furniture is known at sight; what is carried could have a twin.
    carried = any(event.action == "grab" and event.main == name for event in story.events)
    return [colour for colour in colours if colour is not None] if carried and None not in colours else []


def with_colour(question: Question, story: Story) -> Question | None:
    """A question whose premise is true, with the colour of the thing, as one with a false premise has it.

    Returns:
        None if no thing that it names could have a twin of another colour.
    """
    event = _assumed(question, story)
    colours = _colours(event.main, story) if event is not None and event.main is not None else []
    if event is None or event.main is None or not colours:
        return None
    words = {event.main: f"the {colours[0]} {plain_name(event.main)}"}
    return replace(question, slots=_slots(question, event, event, words, story))


def _act(event: StoryEvent, sort: str, *, by: bool) -> _Act:
    params: dict[str, Json] = {"action": event.action, "object": event.main}
    check = "premise"
    if event.targets:
        params["target"], check = event.targets[0], f"{check}_towards"
    if by:
        params["agent"], check = event.agent, f"{check}_by"
    return _Act(event, {}, sort, check, params)


def _slots(
    question: Question, event: StoryEvent, told: StoryEvent, words: Mapping[str, str], story: Story
) -> dict[str, str]:
    """The slots of a question, with another event told, or other words for its things."""
    slots = dict(question.slots) | {form: act_phrase(told, story, form, words) for form in event_slots(event, story)}
    if "o" in slots and question.kind in OF_THINGS:
        slots["o"] = words.get(event.main or "", slots["o"])
    return slots


def _same_act(event: StoryEvent, other: StoryEvent) -> bool:
    return (event.action, event.main, event.targets) == (other.action, other.main, other.targets)


def _as_question(question: Question, event: StoryEvent, act: _Act, story: Story) -> FalsePremise:
    slots = _slots(question, event, act.event, act.words, story)
    own = person_slots(event.agent or story.agent, story)["who"]
    who = "nobody" if question.kind == "who_does" else own
    if act.sort == "agent" and act.event.agent is not None:
        slots |= person_slots(act.event.agent, story)
        who = slots["who"]
    words = {form: act_phrase(act.event, story, form, act.words) for form in ("do", "does")}
    # Where somebody else does what is asked about, that is what is shown.
    shown = next((e for e in story.events if not act.words and _same_act(e, act.event)), event)
    doer = person_slots(shown.agent or story.agent, story)["who"]
    return FalsePremise(
        question=replace(question, slots=slots, subject=act.event.agent if question.subject else None),
        true=question,
        event=shown,
        sort=act.sort,
        says=f"nobody {words['does']}" if who == "nobody" else f"{who} does not {words['do']}",
        wrong=f"{'somebody' if who == 'nobody' else who} {words['does']}",
        instead=f"{doer} {act_phrase(shown, story, 'does', act.true_words)}",
        check=act.check,
        params=act.params,
        key=_key(question, act, shown, story),
    )


def _key(question: Question, act: _Act, shown: StoryEvent, story: Story) -> AnswerKey:
    """The key of a false premise: the act, who does not do it, and what is shown instead."""
    wrong = act.event
    agent = None if question.kind == "who_does" else wrong.agent or story.agent
    return AnswerKey(
        type="refusal",
        values=(ABSENT,),
        about=(told_act(wrong),),
        looks=(str(act.params["colour"]).removeprefix("colour_"),) if act.sort == "look" else (),
        instead=(told_act(shown), *person_words(shown.agent or story.agent, story)),
        **people_slots(agent, people_of_act(wrong), story),
    )
