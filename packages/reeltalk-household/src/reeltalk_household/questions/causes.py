"""Questions about causes, what would have been otherwise, changes, comparisons, common knowledge and false premises."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from reeltalk.language import phrases
from reeltalk.language.vocabulary import OPPOSITES, ROOMS, class_of, is_person
from reeltalk_build.graph.activity import Counterfactual
from reeltalk_build.graph.naming import pronoun_of
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.question import (
    DISTRACTORS,
    GRABS,
    HIM,
    LASTING,
    PLACINGS,
    STATE_WORDS,
    Question,
    act_phrase,
    called_thing,
    distinct_events,
    event_key,
    event_slots,
    object_slots,
    objects_of,
    only_object,
    other_objects,
    told_clause,
)
from reeltalk_household.questions.together import FEELING_OF, about_person

UNTOLD_PLACES: Final = frozenset({"character", "floor"})
_MECHANICAL: Final = frozenset({"boil", "pop", "ring", "break", "spill", "cool", "finish"})
"""Changes that nobody does."""


def _clauses(story: Story, *without: str, draw: random.Random) -> tuple[str, ...]:
    texts = {told_clause(event, story) for event in story.events if event.action not in ("walk", "stand", "turnTo")}
    wrong = sorted(texts - set(without))
    return tuple(draw.sample(wrong, DISTRACTORS)) if len(wrong) >= DISTRACTORS else ()


def _told_once(story: Story) -> frozenset[int]:
    """The events whose words mean no other event of the film."""
    texts = [told_clause(event, story) for event in story.events]
    counts = Counter(texts)
    return frozenset(order for order, text in enumerate(texts) if counts[text] == 1)


def causes(story: Story, draw: random.Random) -> Iterator[Question]:
    """What makes something happen, what follows from an act, and why somebody acts."""
    effects = Counter(event.cause for event in story.events if event.cause is not None)
    once = _told_once(story)
    for event in story.events:
        if event.order not in once:
            continue
        if event.cause is None:
            yield from _purpose(event, story)
            continue
        cause = story.events[event.cause]
        why, effect = told_clause(cause, story), told_clause(event, story)
        base = Question(
            kind="",
            key=event_key(cause),
            answer_type="action",
            params={"event": event.order},
            slots={"why": told_clause(cause, story, about=event.agent), "effect": effect, "option": why},
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
            and cause.order in once
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
        # Whoever walks to a thing mostly uses it; there is nothing to find out.
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
    once = _told_once(story)
    by_index = {(event.part, event.index): event for event in story.events if event.order in once}
    for part, graph in enumerate(story.graphs):
        for told in graph.counterfactuals:
            left_out = by_index.get((part, told.event))
            if left_out is None or left_out.agent is None:
                continue
            makers = {"happens": _would_happen, "place": _would_place, "state": _would_state}
            made = makers[told.aspect](told, left_out, by_index, story, draw)
            if made is not None and (told.aspect == "happens" or not _moved_later(told.name, part, story)):
                yield about_person(made, left_out.agent, story)


_ByIndex = Mapping[tuple[int, int], StoryEvent]


def _moved_later(name: str, part: int, story: Story) -> bool:
    """True if somebody handles a thing in a later scene, so that the end of this one is not the end."""
    return any(event.part > part and name in (event.main, *event.targets) for event in story.events)


def _would_happen(
    told: Counterfactual, left_out: StoryEvent, by_index: _ByIndex, story: Story, draw: random.Random
) -> Question | None:
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


def _would_place(
    told: Counterfactual, left_out: StoryEvent, by_index: _ByIndex, story: Story, draw: random.Random
) -> Question | None:
    kind, support = told.outcome.split()
    if class_of(support) in UNTOLD_PLACES | ROOMS:
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


def _would_state(
    told: Counterfactual, left_out: StoryEvent, by_index: _ByIndex, story: Story, draw: random.Random
) -> Question | None:
    word, other = STATE_WORDS[told.outcome], STATE_WORDS[OPPOSITES[told.outcome]]
    a, b = sorted((word, other), key=lambda _: draw.random())
    return Question(
        kind="would_state",
        key=told.outcome,
        answer_type="choice",
        params={"event": left_out.order, "object": told.name, "value": _pair_of(told.outcome)},
        slots=_thing_without(told.name, left_out, story) | {"a": a, "b": b, "state": word, "option": word},
        evidence=(left_out,),
        focus_object=told.name,
        focus_event=left_out.order,
        distractors=(other,),
    )


def _pair_of(value: str) -> str:
    """The pair of states that a value belongs to, by its first: `ON` or `OPEN`."""
    return "ON" if value in ("ON", "OFF") else "OPEN"


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
    both = thing is not None and not is_person(thing) and thing in (event.main, *event.targets)
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


def changes(story: Story, draw: random.Random) -> Iterator[Question]:
    """The state of things at the beginning, and if they are in the same place at the end."""
    for name in objects_of(story):
        shown = tuple(event for event in story.events if event.main == name)
        for a, b in (("ON", "OFF"), ("OPEN", "CLOSED")):
            began = [value for value in _values_at_start(story, name) if value in (a, b)]
            ever = {v for graph in story.graphs for values in graph.values.get(name, {}).values() for v in values}
            if len(began) == 1 and {a, b} <= ever and shown:
                word = STATE_WORDS[began[0]]
                first, second = sorted((STATE_WORDS[a], STATE_WORDS[b]), key=lambda _: draw.random())
                yield Question(
                    kind="state_start",
                    key=began[0],
                    answer_type="choice",
                    params={"object": name, "value": a},
                    slots=object_slots(name, story) | {"a": first, "b": second, "state": word, "option": word},
                    evidence=(shown[0],),
                    anchor=name,
                    focus_object=name,
                    distractors=(STATE_WORDS[OPPOSITES[began[0]]],),
                )
        moves = [event for event in shown if event.action in GRABS | PLACINGS or event.action == "give"]
        if not moves:
            continue
        before, after = story.support_before(moves[0], name), story.support_after(moves[-1], name)
        if before is None or after is None or {class_of(before[0])} & UNTOLD_PLACES or class_of(after[0]) == "floor":
            continue
        if before[0] == after[0] or draw.random() < MOVED_SHARE:
            yield Question(
                kind="same_place",
                key="yes" if before[0] == after[0] else "no",
                answer_type="yes_no",
                params={"object": name},
                slots=object_slots(name, story),
                evidence=(moves[0], moves[-1]) if len(moves) > 1 else (moves[0],),
                anchor=name,
                focus_object=name,
            )
        if class_of(after[0]) in UNTOLD_PLACES or is_person(after[0]):
            continue
        closed = "CLOSED" in story.graphs[moves[-1].part].values_at(after[0], moves[-1].index + 1)
        later = [event for event in story.events if event.main == after[0] and event.order > moves[-1].order]
        if after[1] and not later:
            yield Question(
                kind="at_hand",
                key="no" if closed else "yes",
                answer_type="yes_no",
                params={"object": name},
                slots=object_slots(name, story) | {"place": phrases.place_phrase(after[0], inside=True)},
                evidence=(moves[-1],),
                anchor=name,
                focus_object=name,
            )
        elif not after[1] and draw.random() < OPEN_SHARE:
            yield Question(
                kind="at_hand",
                key="yes",
                answer_type="yes_no",
                params={"object": name},
                slots=object_slots(name, story) | {"place": phrases.place_phrase(after[0], inside=False)},
                evidence=(moves[-1],),
                anchor=name,
                focus_object=name,
            )


MOVED_SHARE: Final = 0.35
"""Share of the things that end up elsewhere for which it is asked if they do; most things do."""
OPEN_SHARE: Final = 0.15
"""Share of the things that lie open for which it is asked if they are at hand; almost all things do."""


def feasible(story: Story, draw: random.Random) -> Iterator[Question]:
    """If a thing could have been taken without opening anything."""
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


def _values_at_start(story: Story, name: str) -> tuple[str, ...]:
    graph = next((graph for graph in story.graphs if name in graph.values), None)
    return graph.values_at(name, 0) if graph is not None else ()


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
    """If a thing is taken that has a property which everybody knows, asked as often where there is none."""
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


def lengths_compared(story: Story, draw: random.Random) -> Iterator[Question]:
    """Which of two acts of a person takes longer."""
    acts = [event for event in distinct_events(story) if event.action in LASTING | {"drink", "eat", "wipe", "scrub"}]
    pairs = [(a, b) for n, a in enumerate(acts) for b in acts[n + 1 :] if a.interval is not None and b.interval]
    for one, other in draw.sample(pairs, min(len(pairs), 3)):
        assert one.interval is not None
        assert other.interval is not None
        longer, shorter = (one, other) if one.interval.duration_s > other.interval.duration_s else (other, one)
        assert longer.interval is not None
        assert shorter.interval is not None
        if longer.interval.duration_s < LONGER * shorter.interval.duration_s:
            continue
        a, b = (one, other) if draw.random() < 0.5 else (other, one)
        words = {event.order: act_phrase(event, story, "doing") for event in (a, b)}
        yield Question(
            kind="longer",
            key=event_key(longer),
            answer_type="choice",
            params={"event": a.order, "other": b.order},
            slots={"doing": words[a.order], "other": words[b.order], "first": words[longer.order]}
            | {"option": words[longer.order]},
            evidence=(longer, shorter),
            distractors=(words[shorter.order],),
        )


LONGER: Final = 1.4
"""Least ratio of two lengths that are compared."""
VESSELS: Final = frozenset({"mug", "waterglass", "wineglass", "bottle"})


def means(story: Story, draw: random.Random) -> Iterator[Question]:
    """From what somebody drinks or pours, and in what way a person comes by a thing."""
    drinks = {event.main for event in story.events if event.action == "drink" and event.main}
    if len(drinks) == 1:
        (name,) = drinks
        shown = tuple(event for event in story.events if event.action == "drink")
        if class_of(name) in VESSELS:
            yield Question(
                kind="vessel",
                key=name,
                answer_type="object",
                params={},
                slots=object_slots(name, story) | {"option": called_thing(name, story)},
                evidence=shown,
                focus_object=name,
                focus_event=shown[0].order if len(shown) == 1 else None,
                distractors=other_objects(story, name, draw=draw),
            )
    pours: dict[str, set[str]] = defaultdict(set)
    for event in story.events:
        if event.action == "pour" and event.main and event.targets and class_of(event.targets[0]) != "orchid":
            pours[event.targets[0]].add(event.main)
    for target, mains in sorted(pours.items()):
        if len(mains) != 1:
            continue
        (name,) = mains
        yield Question(
            kind="fills_with",
            key=name,
            answer_type="object",
            params={"object": target},
            slots=object_slots(name, story) | {"t": called_thing(target, story), "option": called_thing(name, story)},
            evidence=tuple(e for e in story.events if e.action == "pour" and target in e.targets),
            anchor=target,
            focus_object=name,
            distractors=other_objects(story, name, target, draw=draw),
        )


def comes_by(story: Story, draw: random.Random) -> Iterator[Question]:
    """How somebody gets a thing: by taking it, or from somebody else."""
    for person in story.people:
        ways: dict[str, list[StoryEvent]] = defaultdict(list)
        for event in story.events:
            taken = event.action in GRABS and event.agent == person
            if event.main is not None and (taken or (event.action == "give" and person in event.targets)):
                ways[event.main].append(event)
        for name, events in sorted(ways.items()):
            if len(events) != 1:
                continue
            (event,) = events
            it = "them" if phrases.is_plural(name) else "it"
            pronouns = {name: it, person: HIM[pronoun_of(story.attributes.get(person, ()))]}
            how = f"{story.called[event.agent or '']} {act_phrase(event, story, 'does', pronouns)}"
            made = Question(
                kind="comes_by",
                key=event_key(event),
                answer_type="action",
                params={"event": event.order},
                slots=object_slots(name, story) | {"way": how},
                evidence=(event,),
                anchor=name,
                focus_object=name,
                focus_event=event.order,
            )
            yield about_person(made, person, story, focus=event.agent)
