"""Questions about causes, what would have been otherwise, changes, comparisons, common knowledge and false premises."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from reeltalk.language import phrases
from reeltalk.language.vocabulary import ROOMS, class_of, is_person
from reeltalk_build.graph.activity import Counterfactual
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.question import (
    DISTRACTORS,
    GRABS,
    Question,
    act_phrase,
    called_thing,
    event_key,
    event_slots,
    object_slots,
    only_object,
    present_clause,
)
from reeltalk_household.questions.together import FEELING_OF, about_person

UNTOLD_PLACES: Final = frozenset({"character", "floor"})
_MECHANICAL: Final = frozenset({"boil", "pop", "ring", "break", "spill", "cool", "finish"})
"""Changes that nobody does."""


def _clauses(story: Story, *without: str, draw: random.Random) -> tuple[str, ...]:
    texts = {present_clause(event, story) for event in story.events if event.action not in ("walk", "stand", "turnTo")}
    wrong = sorted(texts - set(without))
    return tuple(draw.sample(wrong, DISTRACTORS)) if len(wrong) >= DISTRACTORS else ()


def _unique_events(story: Story) -> frozenset[int]:
    """The events whose words mean no other event of the film."""
    texts = [present_clause(event, story) for event in story.events]
    counts = Counter(texts)
    return frozenset(order for order, text in enumerate(texts) if counts[text] == 1)


def causes(story: Story, draw: random.Random) -> Iterator[Question]:
    """What makes something happen, what follows from an act, and why somebody acts."""
    effects = Counter(event.cause for event in story.events if event.cause is not None)
    unique = _unique_events(story)
    for event in story.events:
        if event.order not in unique:
            continue
        if event.cause is None:
            yield from _purpose(event, story)
            continue
        cause = story.events[event.cause]
        why, effect = present_clause(cause, story), present_clause(event, story)
        base = Question(
            kind="",
            key=event_key(cause),
            answer_type="action",
            params={"event": event.order},
            slots={"why": present_clause(cause, story, about=event.agent), "effect": effect, "option": why},
            evidence=(cause, event),
            focus_object=only_object(cause),
            focus_event=cause.order,
            focus_person=cause.agent,
            distractors=_clauses(story, why, effect, draw=draw),
        )
        if event.action in _MECHANICAL and cause.agent is not None:
            yield replace(base, kind="cause_of")
        elif event.agent is not None and event.action not in FEELING_OF and event.action != "say":
            because = f"because {base.slots['why']}"
            slots = {**base.slots, **event_slots(event, story), "because": because}
            made = replace(base, kind="why_act", slots=slots, distractors=())
            yield about_person(made, event.agent, story, focus=cause.agent or event.agent)
        if (
            effects[event.cause] == 1
            and event.action in _MECHANICAL
            and cause.agent is not None
            and cause.order in unique
        ):
            made = replace(
                base,
                kind="effect_of",
                key=event_key(event),
                params={"event": cause.order},
                slots=event_slots(cause, story) | {"effect": effect, "option": effect},
                focus_object=only_object(event),
                focus_event=event.order,
                distractors=_clauses(story, why, effect, draw=draw),
            )
            yield about_person(made, cause.agent, story)


def _purpose(event: StoryEvent, story: Story) -> Iterator[Question]:
    """Why somebody does something: what they do it for."""
    end = None if event.purpose is None else story.events[event.purpose]
    if end is None or event.agent is None or (event.action == "walk" and event.main in (end.main, *end.targets)):
        # People who walk to a thing mostly use it; there is nothing to find out.
        return
    it = {event.main: object_slots(event.main, story)["it"]} if event.main and not is_person(event.main) else {}
    made = Question(
        kind="why_act",
        key=event_key(end),
        answer_type="action",
        params={"event": event.order},
        slots=event_slots(event, story) | {"because": f"to {act_phrase(end, story, 'do', it)}"},
        evidence=(event, end),
        focus_object=only_object(end),
        focus_event=end.order,
    )
    yield about_person(made, event.agent, story)


def otherwise(story: Story, draw: random.Random) -> Iterator[Question]:
    """What would have been if an act had not happened, where the graphs know it and the words mean one act alone."""
    unique = _unique_events(story)
    by_index = {(event.part, event.index): event for event in story.events if event.order in unique}
    for part, graph in enumerate(story.graphs):
        for told in graph.counterfactuals:
            left_out = by_index.get((part, told.event))
            if left_out is None or left_out.agent is None:
                continue
            made = (
                _would_happen(told, left_out, by_index, story)
                if told.aspect == "happens"
                else _would_place(told, left_out, story)
            )
            if made is not None:
                yield about_person(made, left_out.agent, story)


_ByIndex = Mapping[tuple[int, int], StoryEvent]


def _moved_later(name: str, part: int, story: Story) -> bool:
    """True if somebody handles a thing in a later scene, so that the end of this one is not the end."""
    return any(event.part > part and name in (event.main, *event.targets) for event in story.events)


def _would_happen(told: Counterfactual, left_out: StoryEvent, by_index: _ByIndex, story: Story) -> Question | None:
    index, verdict = told.outcome.split()
    event = by_index.get((left_out.part, int(index)))
    if event is None:
        return None
    return Question(
        kind="would_happen",
        key=verdict,
        answer_type="yes_no",
        params={"event": left_out.order, "other": event.order},
        slots=_happened_without(event, left_out, story),
        evidence=(left_out, event),
        focus_object=only_object(left_out),
        focus_event=left_out.order,
    )


def _would_place(told: Counterfactual, left_out: StoryEvent, story: Story) -> Question | None:
    kind, support = told.outcome.split()
    if class_of(support) in UNTOLD_PLACES | ROOMS or _moved_later(told.name, left_out.part, story):
        return None
    place = phrases.place_phrase(support, inside=kind == "inside")
    return Question(
        kind="would_place",
        key=support,
        answer_type="place",
        params={"event": left_out.order, "object": told.name},
        slots=_thing_without(told.name, left_out, story) | {"place": place, "option": place},
        evidence=(left_out,),
        focus_object=told.name,
        focus_event=left_out.order,
    )


def _without(left_out: StoryEvent, story: Story, it: Mapping[str, str]) -> dict[str, str]:
    """Slots for an event that is thought away: `had not switched on the kettle`."""
    return {
        "undone": act_phrase(left_out, story, "done"),
        "did": act_phrase(left_out, story, "did"),
        "undone_it": act_phrase(left_out, story, "done", it),
        "did_it": act_phrase(left_out, story, "did", it),
    }


def _thing_without(name: str, left_out: StoryEvent, story: Story) -> dict[str, str]:
    """Slots for a thing, and for an event without which it would be otherwise."""
    slots = object_slots(name, story)
    then = slots["it_s" if name == left_out.main else "o"]
    return slots | _without(left_out, story, {name: slots["it"]}) | {"o_then": then}


def _happened_without(event: StoryEvent, left_out: StoryEvent, story: Story) -> dict[str, str]:
    """Slots for an event, and for another one without which it might not happen."""
    thing = left_out.main
    # What is said need not name the thing that it is about.
    both = thing is not None and not is_person(thing) and thing in (event.main, *event.targets) and event.says is None
    it = {thing: object_slots(thing, story)["it"]} if both and thing is not None else {}
    return _without(left_out, story, it) | {
        "had": _had_happened(event, left_out, story, {}),
        "had_it": _had_happened(event, left_out, story, it),
    }


def _had_happened(event: StoryEvent, left_out: StoryEvent, story: Story, it: Mapping[str, str]) -> str:
    """The words after *would*: `the kettle have boiled`, or `{he} have smiled` if the same person acts."""
    if event.agent is None:
        thing = event.main or ""
        subject = object_slots(thing, story)["it_s"] if thing in it else called_thing(thing, story)
    elif event.agent == left_out.agent:
        subject = "{he}"
    else:
        subject = story.called[event.agent]
    return f"{subject} have {act_phrase(event, story, 'done', it)}"


def feasible(story: Story, draw: random.Random) -> Iterator[Question]:
    """Whether a thing could have been taken without opening anything."""
    grabs = Counter(event.main for event in story.events if event.action in GRABS)
    possible, impossible = [], []
    for event in story.events:
        name = event.main
        found = story.support_before(event, name) if name is not None and event.action in GRABS else None
        if name is None or found is None or grabs[name] != 1 or class_of(found[0]) in {*UNTOLD_PLACES, class_of(name)}:
            continue
        opened = [e for e in story.events[: event.order] if e.action == "open" and e.main == found[0]]
        made = Question(
            kind="could_take",
            key="no" if opened else "yes",
            answer_type="yes_no",
            params={"event": event.order, "object": name},
            slots=object_slots(name, story) | {"place": phrases.place_phrase(found[0], inside=found[1])},
            evidence=(*opened[-1:], event),
            anchor=name,
            focus_object=name,
        )
        if len(story.people) > 1 or story.names:
            made = about_person(made, event.agent or story.agent, story)
        if found[1] and opened:
            impossible.append(made)
        elif not found[1]:
            possible.append(made)
    yield from impossible
    yield from draw.sample(possible, min(len(possible), max(1, len(impossible))))


KNOWN_FACTS: Final = {
    "can be eaten": "apple cupcake breadslice salmon carrot cereal cake cookie sandwich banana chips",
    "can be drunk": "milk juice wine",
    "breaks easily if it falls": "waterglass wineglass vase",
    "has to be kept cool": "milk salmon",
    "is made for reading": "book magazine",
    "is used for cleaning": "washingsponge broom papertowel",
    "is used for washing oneself": "barsoap towel",
    "needs a battery": "cellphone remotecontrol",
    "makes music": "guitar radio",
    "is a toy": "teddybear ball boardgame",
    "is soft": "pillow blanket teddybear towel clothesshirt clothespile washingsponge",
    "is made of paper": "book magazine notes paper papertowel",
    "is made to be drunk from": "mug waterglass wineglass",
}
"""What people know about classes of things, and the classes of which it is so."""
_DOUBTFUL: Final = {
    "can be drunk": "mug bottle",
    "breaks easily if it falls": "mug plate dishbowl bottle photoframe cellphone",
    "has to be kept cool": "juice cake wine",
    "is made for reading": "photoalbum notes paper cellphone",
    "is used for cleaning": "towel barsoap",
    "is used for washing oneself": "washingsponge facecream",
    "is soft": "slippers breadslice cake ball cookie sandwich cupcake papertowel banana",
    "is made of paper": "photoalbum boardgame photoframe",
    "is made to be drunk from": "bottle milk juice wine dishbowl wateringcan",
    "makes music": "cellphone doorbell",
    "is a toy": "balloon guitar",
}
"""Classes of which people may disagree."""


def common_knowledge(story: Story, draw: random.Random) -> Iterator[Question]:
    """Whether a thing with a well-known property is taken; half of the questions are about things that are not."""
    grabs = [event for event in story.events if event.action in GRABS and event.main]
    taken = {class_of(event.main or "") for event in grabs}
    found, missing = [], []
    for fact, listed in KNOWN_FACTS.items():
        shown = tuple(event for event in grabs if class_of(event.main or "") in listed.split())
        names = sorted({event.main or "" for event in shown})
        made = Question(
            kind="common_sense",
            key="yes" if names else "no",
            answer_type="yes_no",
            params={"classes": listed},
            slots={"fact": fact} | (object_slots(names[0], story) if names else {}),
            evidence=shown,
            focus_object=names[0] if len(names) == 1 else None,
        )
        if names:
            found.append(made)
        elif not taken & set(_DOUBTFUL.get(fact, "").split()):
            missing.append(made)
    yield from found
    yield from draw.sample(missing, min(len(missing), max(1, len(found))))
