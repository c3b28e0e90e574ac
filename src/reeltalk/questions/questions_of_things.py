"""Questions about things: which and how many are used, their places, looks, states and uses."""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Final

from reeltalk.graph import phrases
from reeltalk.graph.story import Story, StoryEvent
from reeltalk.graph.vocabulary import OPPOSITES, class_of
from reeltalk.questions.question import (
    DISTRACTORS,
    GRABS,
    PLACINGS,
    Question,
    distinct_events,
    event_key,
    event_slots,
    grabs_of,
    object_slots,
    objects_of,
    other_counts,
    other_objects,
)

STATE_WORDS: Final = {"ON": "on", "OFF": "off", "OPEN": "open", "CLOSED": "closed"}


def first_and_last_things(story: Story, draw: random.Random) -> Iterator[Question]:
    """The first and the last thing that is taken, and what else is."""
    grabs = grabs_of(story)
    if len({event.main for event in grabs}) < 2:
        return
    for kind, event in (("first_thing", grabs[0]), ("last_thing", grabs[-1])):
        assert event.main is not None
        yield Question(
            kind=kind,
            key=event.main,
            answer_type="object",
            params={},
            slots=object_slots(event.main) | {"option": phrases.noun(event.main)},
            evidence=(event,),
            focus_object=event.main,
            focus_event=event.order,
            distractors=other_objects(story, event.main, draw=draw),
        )
    others = [event.main for event in grabs if event.main != grabs[0].main and event.main]
    names = list(dict.fromkeys(others))
    if 1 <= len(names) <= 4:
        yield Question(
            kind="what_else",
            key="|".join(sorted(names)),
            answer_type="list",
            params={"object": grabs[0].main or ""},
            slots=object_slots(grabs[0].main or "") | {"list": phrases.join_list([phrases.noun(n) for n in names])},
            evidence=tuple(event for event in grabs if event.main != grabs[0].main),
            anchor=grabs[0].main,
        )


def things_after(story: Story, draw: random.Random) -> Iterator[Question]:
    """Which thing the person takes next after an act."""
    unique = {event.order for event in distinct_events(story)}
    for event in story.events:
        later = next((grab for grab in grabs_of(story) if grab.order > event.order), None)
        if event.action == "walk" or later is None or later.main is None or event.order not in unique:
            continue
        if later.order - event.order > 6 or later.main == event.main:
            continue
        yield Question(
            kind="thing_after",
            key=later.main,
            answer_type="object",
            params={"event": event.order},
            slots=object_slots(later.main) | event_slots(event) | {"option": phrases.noun(later.main)},
            evidence=(event, later),
            anchor=event.order,
            focus_object=later.main,
            focus_event=later.order,
            distractors=other_objects(story, later.main, draw=draw),
        )


def places_of_things(story: Story, draw: random.Random) -> Iterator[Question]:
    """The places from which a thing is taken and to which it is put, and if it is put back."""
    grabs = Counter(event.main for event in grabs_of(story))
    placings = Counter(event.main for event in story.events if event.action in PLACINGS)
    places = sorted({_taken_from(story, event) for event in grabs_of(story)} - {None}, key=str)
    for event in story.events:
        name = event.main
        if name is None or event.action not in GRABS | PLACINGS:
            continue
        found = story.support_before(event, name) if event.action in GRABS else story.support_after(event, name)
        if found is None or class_of(found[0]) in ("character", "floor"):
            continue
        once = grabs[name] == 1 if event.action in GRABS else placings[name] == 1
        if not once:
            continue
        text = phrases.place_phrase(found[0], inside=found[1])
        wrong = [other for other in places if other is not None and other != text]
        yield Question(
            kind="where_from" if event.action in GRABS else "where_put",
            key=found[0],
            answer_type="place",
            params={"object": name},
            slots=object_slots(name) | {"place": text, "option": text},
            evidence=(event,),
            anchor=name,
            focus_object=name,
            distractors=tuple(draw.sample(wrong, DISTRACTORS)) if len(wrong) >= DISTRACTORS else (),
        )
        if event.action in PLACINGS and grabs[name] == 1:
            grab = next(g for g in grabs_of(story) if g.main == name)
            before = story.support_before(grab, name)
            if before is not None and grab.order < event.order and class_of(before[0]) != "character":
                yield Question(
                    kind="puts_back",
                    key="yes" if before[0] == found[0] else "no",
                    answer_type="yes_no",
                    params={"object": name},
                    slots=object_slots(name),
                    evidence=(grab, event),
                    anchor=name,
                    focus_object=name,
                )


def _taken_from(story: Story, grab: StoryEvent) -> str | None:
    found = story.support_before(grab, grab.main or "")
    if found is None or class_of(found[0]) in ("character", "floor"):
        return None
    return phrases.place_phrase(found[0], inside=found[1])


def things_counted(story: Story, draw: random.Random) -> Iterator[Question]:
    """The number of things that the person takes."""
    names = {event.main for event in grabs_of(story)}
    if len(names) > 1:
        n = len(names)
        yield Question(
            kind="things_count",
            key=str(n),
            answer_type="count",
            params={},
            slots={"n": phrases.number(n), "things": "things", "option": phrases.number(n)},
            evidence=tuple(grabs_of(story)),
            distractors=other_counts(n),
        )


def looks_and_states(story: Story, draw: random.Random) -> Iterator[Question]:
    """Colours of things, their final states, and if they are closed again."""
    classes = Counter(class_of(name) for name in objects_of(story))
    for name in objects_of(story):
        colours = [
            value.removeprefix("colour_") for value in story.attributes.get(name, ()) if value.startswith("colour_")
        ]
        shown = tuple(e for e in story.events if e.main == name or name in e.targets)
        if len(colours) == 1 and classes[class_of(name)] == 1:
            others = [c for c in ("red", "blue", "green", "yellow", "brown", "white", "grey") if c != colours[0]]
            yield Question(
                kind="object_colour",
                key=colours[0],
                answer_type="colour",
                params={"object": name},
                slots=object_slots(name) | {"colour": colours[0], "option": colours[0]},
                evidence=shown,
                anchor=name,
                focus_object=name,
                distractors=tuple(draw.sample(others, DISTRACTORS)),
            )
        ever = {v for graph in story.graphs for values in graph.values.get(name, {}).values() for v in values}
        for a, b in (("ON", "OFF"), ("OPEN", "CLOSED")):
            now = [value for value in story.values_at_end(name) if value in (a, b)]
            if len(now) == 1 and {a, b} <= ever and classes[class_of(name)] == 1:
                yield Question(
                    kind="state_end",
                    key=now[0],
                    answer_type="choice",
                    params={"object": name, "value": a},
                    slots=object_slots(name)
                    | {"a": STATE_WORDS[a], "b": STATE_WORDS[b], "state": STATE_WORDS[now[0]]}
                    | {"option": STATE_WORDS[now[0]]},
                    evidence=shown,
                    anchor=name,
                    focus_object=name,
                    distractors=(STATE_WORDS[OPPOSITES[now[0]]],),
                )
        opens = [event for event in story.events if event.action == "open" and event.main == name]
        if len(opens) == 1:
            closes = [e for e in story.events if e.action == "close" and e.main == name and e.order > opens[0].order]
            yield Question(
                kind="closes_again",
                key="yes" if closes else "no",
                answer_type="yes_no",
                params={"object": name},
                slots=object_slots(name),
                evidence=(opens[0], closes[0]) if closes else (),
                anchor=name,
                focus_object=name,
            )


def cleaning(story: Story, draw: random.Random) -> Iterator[Question]:
    """The tool of cleaning, and the way of cleaning."""
    by_target = Counter(e.targets[0] for e in story.events if e.action in ("wipe", "scrub") and e.targets)
    tools: dict[str, set[tuple[str, str]]] = {}
    for event in story.events:
        if event.action in ("wipe", "scrub") and event.targets and event.main:
            tools.setdefault(event.targets[0], set()).add((event.action, event.main))
    for target in sorted(by_target):
        if len(tools.get(target, ())) != 1:
            continue
        ((action, tool),) = tools[target]
        same = tuple(e for e in story.events if e.action == action and e.main == tool and target in e.targets)
        slots = object_slots(tool) | {"t": phrases.noun(target), "option": phrases.noun(tool)}
        yield Question(
            kind="tool",
            key=tool,
            answer_type="object",
            params={"object": target},
            slots=slots,
            evidence=same,
            focus_object=tool,
            distractors=other_objects(story, tool, target, draw=draw),
        )
        yield Question(
            kind="how_clean",
            key=f"{action}|{class_of(tool)}",
            answer_type="action",
            params={"object": target},
            slots=slots | {f: phrases.phrase(action, tool, (target,), f, {target: "it"}) for f in phrases.FORMS},
            evidence=same,
            focus_object=tool,
        )


def uses(story: Story, draw: random.Random) -> Iterator[Question]:
    """The purpose for which a thing is taken."""
    grabs = Counter(event.main for event in grabs_of(story))
    for grab in grabs_of(story):
        name = grab.main
        if name is None or grabs[name] != 1:
            continue
        used = next((e for e in story.events[grab.order + 1 :] if e.main == name), None)
        if used is None:
            continue
        pronouns = {name: "them" if phrases.is_plural(name) else "it"}
        does = phrases.phrase(used.action, used.main, used.targets, "does", pronouns)
        yield Question(
            kind="use",
            key=event_key(used),
            answer_type="action",
            params={"object": name},
            slots=object_slots(name) | {"next": does},
            evidence=(grab, used),
            anchor=name,
            focus_object=name,
            focus_event=used.order,
        )
