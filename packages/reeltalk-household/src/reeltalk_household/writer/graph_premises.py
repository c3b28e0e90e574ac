"""Questions that take for granted what does not happen in a video (answer refusal).

An act of the video is altered in one part: who does it, to what, or where to; or it is on a thing, or an act, that the
video does not show at all. The question keeps the form of its kind, so its words do not tell that its
premise is false. The answer says what is wrong, and what is shown instead. SPARQL finds no event as in the premise.
"""

import random
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Final

from reeltalk.language.phrases import is_plural
from reeltalk.language.vocabulary import class_of, plain_name
from reeltalk.schema.dialogue import AnswerKey
from reeltalk.schema.record import Json
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.question import (
    ABSENT,
    PLACINGS,
    Question,
    act_phrase,
    act_value,
    event_slots,
    object_slots,
    objects_of,
    people_of_act,
    people_slots,
    person_slots,
    person_words,
    story_of,
)
from reeltalk_household.questions.questions import CARRIED_CLASSES, can_be_done_to

EVENT_KINDS: Final = frozenset({"which_room", "next_action", "previous_action", "why_act"})
"""Kinds that name an act by which a false premise can be made."""
THING_KINDS: Final = {"where_put": ("put", "putIn"), "where_from": ("grab",), "use": ("grab",)}
"""Kinds that name a thing, with the acts that they take for granted."""
UNSURE_ACTS: Final = frozenset({"walk", "run", "stand", "turnTo", "lookAt", "wait", "watch", "calm", "wakeUp"})
"""Acts of which nobody is sure whether they happen."""
NEVER_DONE: Final = ("dance", "jump", "stretch")
"""Acts on nothing, of which a video may show none."""


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
    """What is false: `agent`, `object` or `place`; or what is missing: `thing` or `act`."""
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

    @property
    def is_absent(self) -> bool:
        """True if nothing like it is shown, so that there is nothing to tell instead."""
        return self.sort in ("thing", "act")


@dataclass(frozen=True)
class _Act:
    """An act as somebody might take it for granted."""

    event: StoryEvent
    sort: str
    check: str
    params: Mapping[str, Json]


def false_premises(pool: Sequence[Question], story: Story) -> Iterator[FalsePremise]:
    """Questions with a false premise, made from questions about a story whose premise is true."""
    told = {(event.agent, act_phrase(event, story, "does")) for event in story.events}
    done = {(event.agent, event.action, event.main) for event in story.events}
    for question in pool:
        event = _assumed(question, story)
        if event is None or event.main is None or event.action in UNSURE_ACTS:
            continue
        for act in _altered(event, story, question.kind, told, done):
            yield _as_question(question, event, act, story)


def missing_premises(pool: Sequence[Question], story: Story, *, draw: random.Random) -> Iterator[FalsePremise]:
    """Questions about a thing or an act that the film so far does not show."""
    handled = {class_of(name) for name in story.things}
    things = sorted(name for name in CARRIED_CLASSES - handled if not is_plural(name))
    acts = sorted(set(NEVER_DONE) - {event.action for event in story.events})
    for question in pool:
        event = _assumed(question, story)
        if event is None or event.main is None or event.action in UNSURE_ACTS:
            continue
        doer = person_slots(event.agent or story.agent, story)
        if question.kind in THING_KINDS and things:
            name = f"{draw.choice(things)}0"
            noun = plain_name(name)
            wrong = replace(event, main=name, targets=())
            slots = dict(question.slots) | object_slots(name, story)
            says, told = f"no {noun} is seen", f"{doer['who']} has the {noun}"
            yield _missing(question, event, wrong, "thing", slots, says, told, story)
        if question.kind in EVENT_KINDS and acts:
            wrong = replace(event, action=draw.choice(acts), main=None, targets=(), speech_act=None)
            does = act_phrase(wrong, story, "does")
            slots = _slots(question, event, wrong, story)
            yield _missing(question, event, wrong, "act", slots, f"nobody {does}", f"{doer['who']} {does}", story)


def _missing(
    question: Question,
    event: StoryEvent,
    wrong: StoryEvent,
    sort: str,
    slots: Mapping[str, str],
    says: str,
    told: str,
    story: Story,
) -> FalsePremise:
    params: dict[str, Json] = {"action": wrong.action}
    params |= {} if wrong.main is None else {"object": wrong.main}
    doer = person_slots(event.agent or story.agent, story)
    people = people_slots(event.agent or story.agent, people_of_act(wrong), story)
    instead = (act_value(event), *person_words(event.agent or story.agent, story))
    return FalsePremise(
        question=replace(question, slots=slots),
        true=question,
        event=event,
        sort=sort,
        says=says,
        wrong=told,
        instead=f"{doer['who']} {act_phrase(event, story, 'does')}",
        check={"act": "premise_act", "thing": "premise"}[sort],
        params=params,
        key=AnswerKey(type="refusal", values=(ABSENT,), about=(act_value(wrong),), instead=instead, **people),
    )


def _assumed(question: Question, story: Story) -> StoryEvent | None:
    """The act that a question takes for granted."""
    if question.kind in EVENT_KINDS:
        return story_of(question, story).events[int(question.params["event"])]
    acts = THING_KINDS.get(question.kind, ())
    return next((e for e in question.evidence if e.action in acts and e.main == question.params["object"]), None)


def _altered(
    event: StoryEvent,
    story: Story,
    kind: str,
    told: Set[tuple[str | None, str]],
    done: Set[tuple[str | None, str, str | None]],
) -> Iterator[_Act]:
    """The event in other words, one for each part that can be false; `told` and `done` are what does happen."""
    alike = {(e.agent, e.signature) for e in story.events}
    for act in _candidates(event, story, kind):
        # Of somebody who picks up another mug, an answer could not say plainly what is wrong.
        if (act.event.agent, act.event.signature) in alike:
            continue
        # Who puts a mug into the sink puts it down, too.
        if not act.event.targets and (act.event.agent, act.event.action, act.event.main) in done:
            continue
        if (act.event.agent, act_phrase(act.event, story, "does")) not in told:
            yield act


def _candidates(event: StoryEvent, story: Story, kind: str) -> Iterator[_Act]:
    name = event.main
    assert name is not None
    by = story.names
    if by and event.agent is not None:
        for person in story.people:
            # Who has the thing at another time could be meant.
            if not any(name in (e.main, *e.targets) and person in (e.agent, e.main, *e.targets) for e in story.events):
                yield _act(replace(event, agent=person), "agent", by=True)
    if kind in THING_KINDS:
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


def _act(event: StoryEvent, sort: str, *, by: bool) -> _Act:
    params: dict[str, Json] = {"action": event.action, "object": event.main}
    check = "premise"
    if event.targets:
        params["target"], check = event.targets[0], f"{check}_towards"
    if by:
        params["agent"], check = event.agent, f"{check}_by"
    return _Act(event, sort, check, params)


def _slots(question: Question, event: StoryEvent, told: StoryEvent, story: Story) -> dict[str, str]:
    """The slots of a question with another event told."""
    return dict(question.slots) | {form: act_phrase(told, story, form) for form in event_slots(event, story)}


def _same_act(event: StoryEvent, other: StoryEvent) -> bool:
    return (event.action, event.main, event.targets) == (other.action, other.main, other.targets)


def _as_question(question: Question, event: StoryEvent, act: _Act, story: Story) -> FalsePremise:
    slots = _slots(question, event, act.event, story)
    who = person_slots(event.agent or story.agent, story)["who"]
    if act.sort == "agent" and act.event.agent is not None:
        slots |= person_slots(act.event.agent, story)
        who = slots["who"]
    words = {form: act_phrase(act.event, story, form) for form in ("do", "does")}
    # Where somebody else does what is asked about, that is what is shown.
    shown = next((e for e in story.events if _same_act(e, act.event)), event)
    doer = person_slots(shown.agent or story.agent, story)["who"]
    return FalsePremise(
        question=replace(question, slots=slots, subject=act.event.agent if question.subject else None),
        true=question,
        event=shown,
        sort=act.sort,
        says=f"{who} does not {words['do']}",
        wrong=f"{who} {words['does']}",
        instead=f"{doer} {act_phrase(shown, story, 'does')}",
        check=act.check,
        params=act.params,
        key=_key(question, act, shown, story),
    )


def _key(question: Question, act: _Act, shown: StoryEvent, story: Story) -> AnswerKey:
    """The key of a false premise: the act, who does not do it, and what is shown instead."""
    wrong = act.event
    agent = wrong.agent or story.agent
    return AnswerKey(
        type="refusal",
        values=(ABSENT,),
        about=(act_value(wrong),),
        instead=(act_value(shown), *person_words(shown.agent or story.agent, story)),
        **people_slots(agent, people_of_act(wrong), story),
    )
