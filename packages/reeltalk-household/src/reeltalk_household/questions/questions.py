"""All questions that a scenario's graphs can answer, with exact answers, evidence and distractors.

Each kind of question finds its facts in a `Story`. Something that the graphs do not know becomes a refusal question,
never a guess. `wording.py` puts questions into words, and `checking.py` answers them again with SPARQL.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from reeltalk.language import phrases
from reeltalk.language.vocabulary import OPPOSITES, ROOMS, class_of, is_person, plain_name
from reeltalk_build.graph.naming import attribute_of, hair_colour
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.causes import (
    causes,
    common_knowledge,
    feasible,
    otherwise,
)
from reeltalk_household.questions.question import (
    DISTRACTORS,
    GRABS,
    LONG_ACTS,
    PLACINGS,
    ROOM_NAMES,
    STATE_WORDS,
    Question,
    act_phrase,
    called_thing,
    distinct_events,
    event_key,
    event_slots,
    grabs_of,
    object_slots,
    objects_of,
    only_object,
    other_colours,
    other_counts,
    other_objects,
    person_slots,
    rivals_of,
)
from reeltalk_household.questions.together import (
    at_the_same_time,
    comparisons,
    dealings,
    feelings,
    gifts,
    lights,
    talk,
    whereabouts,
    which_of_several,
    who_acts,
)


def acts_done(story: Story, draw: random.Random) -> Iterator[Question]:
    """Whether an act happens; half of the questions are about acts that do not."""
    done = {event.signature for event in story.events}
    asked = [event for event in distinct_events(story) if event.action not in ("walk", "stand", "turnTo")]
    for event in asked:
        yield Question(
            kind="acts",
            key="yes",
            answer_type="yes_no",
            params={"signature": event_key(event)},
            slots=event_slots(event, story),
            evidence=(event,),
            focus_object=only_object(event),
            focus_event=event.order,
        )
    # Acts that do not happen: actions of the story on other fitting objects, as many as acts that happen.
    names = [name for name in objects_of(story) if class_of(name) != "faucet"]
    wrong = []
    for event in asked:
        for name in names:
            other = (event.action, class_of(name), ())
            if not event.targets and event.main and other not in done and can_be_done_to(event.action, name):
                wrong.append((event.action, name))
    chosen = draw.sample(sorted(set(wrong)), min(len(set(wrong)), len(asked)))
    # What only somebody else does is easily taken for an act of the person.
    others = sorted({act for act in _acts_of_others(story) if (act[0], class_of(act[1]), ()) not in done})
    others = draw.sample(others, min(len(others), (len(asked) + 1) // 2))
    chosen = list(dict.fromkeys([*others, *chosen]))[: len(asked)]
    for action, name in chosen:
        slots = {form: phrases.phrase(action, name, (), form, names=story.called) for form in phrases.FORMS}
        yield Question(
            kind="acts",
            key="no",
            answer_type="yes_no",
            params={"signature": f"{action}|{class_of(name)}"},
            slots=slots,
        )


def _acts_of_others(story: Story) -> Iterator[tuple[str, str]]:
    """What people other than the story's do to a thing alone: action and thing."""
    for graph in story.graphs if story.person is not None else ():
        for event in graph.events:
            own = event.agent in (None, story.person)
            if own or event.main is None or event.targets or event.action in ("walk", "turnTo", "say", "wait"):
                continue
            if class_of(event.main) not in ROOMS and not is_person(event.main):
                yield event.action, event.main


_FITTING: Final = {
    "open": {"fridge", "closet", "kitchencabinet", "bathroomcabinet", "washingmachine", "microwave"},
    "close": {"fridge", "closet", "kitchencabinet", "bathroomcabinet", "washingmachine", "microwave"},
    "switchOn": {"tv", "computer", "stove", "microwave", "toaster", "coffeemaker", "radio", "floorlamp", "tablelamp"},
    "switchOff": {"tv", "computer", "stove", "microwave", "toaster", "coffeemaker", "radio", "floorlamp", "tablelamp"},
    "sit": {"sofa", "bed", "chair", "toilet"},
    "lie": {"sofa", "bed"},
    "drink": {"milk", "juice", "wine", "mug", "waterglass", "wineglass"},
    "eat": {"apple", "cupcake", "breadslice", "carrot", "salmon", "cereal"},
    "read": {"book", "magazine", "notes"},
}


def can_be_done_to(action: str, name: str) -> bool:
    """True if an act can be done to an object."""
    kind = class_of(name)
    if action == "grab":
        return kind in CARRIED_CLASSES
    return kind in _FITTING.get(action, ())


CARRIED_CLASSES: Final = frozenset(
    "milk juice wine waterglass wineglass mug plate dishbowl apple cupcake breadslice salmon carrot cereal "
    "cutleryknife washingsponge book magazine remotecontrol cellphone notes pillow clothesshirt clothespile "
    "slippers dumbbell towel toothbrush toothpaste barsoap facecream wateringcan cookie sandwich cake teddybear ball "
    "boardgame photoalbum blanket broom vase kettle".split()
)
"""Classes of things that people carry about."""


def acts_counted(story: Story, draw: random.Random) -> Iterator[Question]:
    """How often an act happens."""
    counts = Counter(event.signature for event in story.events)
    seen = set()
    for event in story.events:
        if event.action in ("walk", "stand", "turnTo", "sit") or event.signature in seen:
            continue
        seen.add(event.signature)
        n = counts[event.signature]
        # A count of one is close to a yes-or-no question, so it is asked only now and then.
        if n == 1 and draw.random() < 0.7:
            continue
        same = tuple(other for other in story.events if other.signature == event.signature)
        if len({(other.main, other.targets) for other in same}) > 1:
            continue
        yield Question(
            kind="times",
            key=str(n),
            answer_type="count",
            params={"signature": event_key(event)},
            slots=event_slots(event, story) | {"times": phrases.times(n), "option": phrases.times(n)},
            evidence=same,
            anchor=event.order if n == 1 else None,
            focus_object=only_object(event),
            distractors=tuple(phrases.times(m) for m in other_counts(n, MOST_TIMES, draw=draw)),
        )


MOST_TIMES: Final = 6
MOST_THINGS: Final = 7
"""Largest numbers that are offered as options."""


def other_actions(story: Story, right: StoryEvent, *, draw: random.Random) -> tuple[str, ...]:
    """Wrong options among the acts of the story."""
    texts = sorted(
        {act_phrase(event, story, "does") for event in story.events if event.signature != right.signature}
        - {act_phrase(right, story, "does")}
    )
    return tuple(draw.sample(texts, DISTRACTORS)) if len(texts) >= DISTRACTORS else ()


def acts_beside_acts(story: Story, draw: random.Random) -> Iterator[Question]:
    """Which acts happen right before and after an act."""
    unique = {event.order for event in distinct_events(story)}
    for first, second in zip(story.events, story.events[1:], strict=False):
        if first.signature == second.signature:
            continue
        for kind, known, asked in (("next_action", first, second), ("previous_action", second, first)):
            if known.order not in unique or known.action == "stand":
                continue
            text = act_phrase(asked, story, "does")
            yield Question(
                kind=kind,
                key=event_key(asked),
                answer_type="action",
                params={"event": known.order},
                slots=event_slots(known, story) | {"next": text, "option": text},
                evidence=(known, asked) if known.order < asked.order else (asked, known),
                anchor=known.order,
                focus_object=only_object(asked),
                focus_event=asked.order,
                distractors=other_actions(story, asked, draw=draw),
            )


def order_of_acts(story: Story, draw: random.Random) -> Iterator[Question]:
    """Which of two acts comes first."""
    events = [event for event in distinct_events(story) if event.action not in ("walk", "stand", "turnTo", "say")]
    pairs = [(a, b) for n, a in enumerate(events) for b in events[n + 1 :] if b.order - a.order > 1]
    for first, second in draw.sample(pairs, min(len(pairs), 6)):
        one, other = (first, second) if draw.random() < 0.5 else (second, first)
        doing = act_phrase(first, story, "doing")
        wrong = act_phrase(second, story, "doing")
        yield Question(
            kind="order",
            key=event_key(first),
            answer_type="choice",
            params={"event": one.order, "other": other.order},
            slots=event_slots(one, story)
            | {"other": act_phrase(other, story, "doing"), "first": doing}
            | {"option": doing},
            evidence=(first, second),
            distractors=(wrong,),
        )


def postures(story: Story, draw: random.Random) -> Iterator[Question]:
    """Whether the person stands, sits or lies during an act."""
    if story.events[0].from_room is None:
        # Released activities are joined from separate videos: nothing says how the person begins each.
        return
    for event in distinct_events(story):
        if event.action not in ("drink", "eat", "read", "watch", "type", "write", "text", "brush", "pour", "sleep"):
            continue
        posture = story.posture_before(event)
        yield Question(
            kind="posture",
            key=posture,
            answer_type="choice",
            params={"event": event.order},
            slots=event_slots(event, story) | {"posture": posture, "option": posture},
            evidence=(event,),
            anchor=event.order,
            focus_object=only_object(event),
            focus_event=event.order,
            distractors=tuple(p for p in ("sitting", "lying", "standing") if p != posture),
        )


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
            slots=object_slots(event.main, story) | {"option": called_thing(event.main, story)},
            evidence=(event,),
            focus_object=event.main,
            focus_event=event.order,
            distractors=other_objects(story, event.main, draw=draw),
        )
    others = [event.main for event in grabs if event.main != grabs[0].main and event.main]
    names = list(dict.fromkeys(others))
    # What goes with one thing is mostly the same: a toothbrush with the toothpaste.
    if 2 <= len(names) <= 4:
        yield Question(
            kind="what_else",
            key="|".join(sorted(names)),
            answer_type="list",
            params={"object": grabs[0].main or ""},
            slots=object_slots(grabs[0].main or "", story)
            | {"list": phrases.join_list([called_thing(n, story) for n in names])},
            evidence=tuple(event for event in grabs if event.main != grabs[0].main),
            anchor=grabs[0].main,
        )


def places_of_things(story: Story, draw: random.Random) -> Iterator[Question]:
    """The places from which a thing is taken and to which it is put."""
    grabs = Counter(event.main for event in grabs_of(story))
    placings = Counter(event.main for event in story.events if event.action in PLACINGS)
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
        yield Question(
            kind="where_from" if event.action in GRABS else "where_put",
            key=found[0],
            answer_type="place",
            params={"object": name},
            slots=object_slots(name, story) | {"place": text},
            evidence=(event,),
            anchor=name,
            focus_object=name,
        )


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
            distractors=tuple(map(phrases.number, other_counts(n, MOST_THINGS, draw=draw))),
        )


def looks_and_states(story: Story, draw: random.Random) -> Iterator[Question]:
    """Colours of things, and their final states."""
    classes = Counter(class_of(name) for name in objects_of(story))
    for name in objects_of(story):
        colours = [
            value.removeprefix("colour_") for value in story.attributes.get(name, ()) if value.startswith("colour_")
        ]
        shown = tuple(e for e in story.events if e.main == name or name in e.targets)
        # What is called by its colour has been named by it before *it* can be asked about.
        called = called_thing(name, story).split()
        if len(colours) == 1 and classes[class_of(name)] == 1 and colours[0] not in called:
            yield Question(
                kind="object_colour",
                key=colours[0],
                answer_type="colour",
                params={"object": name},
                slots=object_slots(name, story) | {"colour": colours[0], "option": colours[0]},
                evidence=shown,
                anchor=name,
                focus_object=name,
                distractors=other_colours(colours[0], draw=draw),
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
                    slots=object_slots(name, story)
                    | {"a": STATE_WORDS[a], "b": STATE_WORDS[b], "state": STATE_WORDS[now[0]]}
                    | {"option": STATE_WORDS[now[0]]},
                    evidence=shown,
                    anchor=name,
                    focus_object=name,
                    distractors=(STATE_WORDS[OPPOSITES[now[0]]],),
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
        slots = object_slots(tool, story) | {"t": called_thing(target, story), "option": called_thing(tool, story)}
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
            slots=slots | {form: act_phrase(same[0], story, form, {target: "it"}) for form in phrases.FORMS},
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
        if used is None or used.action == "say":
            continue
        pronouns = {name: "them" if phrases.is_plural(name) else "it"}
        does = act_phrase(used, story, "does", pronouns)
        yield Question(
            kind="use",
            key=event_key(used),
            answer_type="action",
            params={"object": name},
            slots=object_slots(name, story) | {"next": does},
            evidence=(grab, used),
            anchor=name,
            focus_object=name,
            focus_event=used.order,
        )


ABSENT_THINGS: Final = (
    "guitar",
    "umbrella",
    "hammer",
    "camera",
    "basketball",
    "suitcase",
    "violin",
    "candle",
    "newspaper",
    "hat",
)


def _other_rooms(right: str) -> tuple[str, ...]:
    return tuple(f"the {name}" for name in ROOM_NAMES if name != right)


def rooms_known(story: Story) -> bool:
    """True if every event has a room. In VDAct's released graphs none has."""
    return all(event.from_room is not None and event.to_room is not None for event in story.events)


def rooms_of_acts(story: Story, draw: random.Random) -> Iterator[Question]:
    """Rooms at the start and the end of the video, and rooms of acts."""
    events = story.events
    if not rooms_known(story):
        return
    for kind, room, event in (
        ("room_start", events[0].from_room, events[0]),
        ("room_end", events[-1].to_room, events[-1]),
    ):
        assert room is not None
        yield Question(
            kind=kind,
            key=class_of(room),
            answer_type="room",
            params={},
            slots={"room": plain_name(room), "option": f"the {plain_name(room)}"},
            evidence=(event,),
            distractors=_other_rooms(plain_name(room)),
        )
    for event in distinct_events(story):
        if event.action in ("walk", "stand", "turnTo"):
            continue
        assert event.from_room is not None
        room = plain_name(event.from_room)
        yield Question(
            kind="which_room",
            key=class_of(event.from_room),
            answer_type="room",
            params={"event": event.order},
            slots=event_slots(event, story) | {"room": room, "option": f"the {room}"},
            evidence=(event,),
            anchor=event.order,
            focus_object=only_object(event),
            focus_event=event.order,
            distractors=_other_rooms(room),
        )


def looks_of_the_person(story: Story, draw: random.Random) -> Iterator[Question]:
    """Colours of clothes and hair."""
    own = story.attributes.get(story.agent, ())
    looks = {part: colour for part in LOOKS if (colour := attribute_of(own, part)) is not None}
    for part, colour in sorted(looks.items()):
        plural = part == "trousers"
        word_ = hair_colour(colour) if part == "hair" else colour
        yield Question(
            kind="clothes_colour",
            key=colour,
            answer_type="colour",
            params={"part": part},
            slots={
                "part": part,
                "are": "are" if plural else "is",
                "they": "they" if plural else "it",
                "have": "have" if plural else "has",
                "colour": word_,
                "option": word_,
            },
            distractors=other_colours(word_, of_hair=part == "hair", draw=draw),
        )


LOOKS: Final = ("hair", "shirt", "trousers")


def people_counted(story: Story, draw: random.Random) -> Iterator[Question]:
    """How many people there are, if the graphs tell what they look like."""
    if not any(attribute_of(story.attributes.get(person, ()), part) for person in story.people for part in LOOKS):
        return
    n = len(story.people)
    yield Question(
        kind="people_count",
        key=str(n),
        answer_type="count",
        params={},
        slots={"n": phrases.number(n), "are_n": "is" if n == 1 else "are", "people": "person" if n == 1 else "people"}
        | {"option": phrases.number(n)},
        distractors=tuple(word for word in ("one", "two", "three", "four") if word != phrases.number(n)),
    )


def length_of_the_video(story: Story, draw: random.Random) -> Iterator[Question]:
    """The length of the video."""
    lengths = [graph.duration_s for graph in story.graphs]
    known = [length for length in lengths if length is not None]
    # What is filmed between two activities is in no graph.
    if story.duration_s is None or len(known) < len(lengths) or sum(known) < LEAST_ACTIVE_SHARE * story.duration_s:
        return
    whole = _rounded(sum(known))
    yield Question(
        kind="video_length",
        key=str(whole),
        answer_type="seconds",
        params={},
        slots={"n": str(whole)},
    )


def lengths_of_acts(story: Story, draw: random.Random) -> Iterator[Question]:
    """Lengths of lasting acts."""
    if story.duration_s is None:
        return
    seen = set()
    for event in story.events:
        if event.action not in LONG_ACTS or event.signature in seen:
            continue
        seen.add(event.signature)
        same = tuple(other for other in story.events if other.signature == event.signature)
        lengths = [e.interval.end_s - e.interval.start_s for e in same if e.interval is not None]
        seconds = _rounded(sum(lengths))
        yield Question(
            kind="duration",
            key=str(seconds),
            answer_type="seconds",
            params={"signature": event_key(event)},
            slots=event_slots(event, story) | {"n": str(seconds)},
            evidence=same,
            anchor=event.order if len(same) == 1 else None,
            focus_object=only_object(event),
        )


LEAST_ACTIVE_SHARE: Final = 0.93
"""Share of a video that its activities take, so that they tell about how long it is."""


def _rounded(seconds: float) -> int:
    """Whole seconds, halves upwards, as SPARQL's ROUND does."""
    return int(round(seconds, 3) + 0.5)


def refusals(story: Story, draw: random.Random) -> Iterator[Question]:
    """Questions without an answer in the graphs: absent things, opinions, the identity of the person."""
    handled = {class_of(name) for graph in story.graphs for name in graph.main_objects | graph.target_objects}
    # They fit the scene: people carry such things in other videos.
    absent = sorted(name for name in CARRIED_CLASSES - handled if not phrases.is_plural(name))
    for name in draw.sample(absent, min(MOST_ABSENT, len(absent))):
        yield Question(
            kind="never_handled",
            key="refusal",
            answer_type="refusal",
            params={"class": name},
            slots=object_slots(name, story) | {"absent": plain_name(name)},
        )
    lasting = [event for event in distinct_events(story) if event.action in LONG_ACTS | {"drink", "jump", "squat"}]
    for event in draw.sample(lasting, min(2, len(lasting))):
        yield Question(
            kind="opinion",
            key="refusal",
            answer_type="refusal",
            params={"event": event.order},
            slots=event_slots(event, story),
        )
    yield Question(kind="unknown_person", key="refusal", answer_type="refusal", params={}, slots={})


MOST_ABSENT: Final = 3
"""Most absent things of which it may be asked."""


def questions(story: Story, *, seed: int = 0, draw: random.Random | None = None) -> list[Question]:
    """All questions that a story's graphs can answer, in a fixed order.

    In a story of several people, questions about what somebody does are asked for each person.
    """
    draw = draw or random.Random(f"questions {seed}")
    if story.person is not None or (len(story.people) == 1 and not story.names):
        return [question for maker in (*_OF_A_PERSON, *_OF_THE_STORY) for question in maker(story, draw)]
    found = []
    for person in story.people:
        own = story.of(person)
        if own.events:
            slots = person_slots(person, story)
            made = (question for maker in _OF_A_PERSON for question in maker(own, draw))
            found += [_with_person(question, person, slots) for question in made]
    found += [question for maker in (*_OF_THE_STORY, *_OF_SEVERAL) for question in maker(story, draw)]
    # Who it is follows where nobody else is left.
    return [question for question in found if question.answer_type != "person" or rivals_of(question, story)]


def ask_of_person(question: Question, person: str, story: Story) -> Question:
    """A question about one person in a story of several."""
    return _with_person(question, person, person_slots(person, story))


def _with_person(question: Question, person: str, slots: Mapping[str, str]) -> Question:
    return replace(
        question,
        params={**question.params, "person": person},
        slots={**question.slots, **slots},
        person=person,
        subject=person,
        focus_person=person,
    )


_OF_A_PERSON: Final = (
    first_and_last_things,
    acts_done,
    acts_counted,
    places_of_things,
    rooms_of_acts,
    acts_beside_acts,
    order_of_acts,
    things_counted,
    looks_of_the_person,
    postures,
    cleaning,
    lengths_of_acts,
    uses,
    refusals,
)
_OF_THE_STORY: Final = (
    looks_and_states,
    people_counted,
    length_of_the_video,
    which_of_several,
    lights,
    causes,
    feasible,
    common_knowledge,
)
_OF_SEVERAL: Final = (
    who_acts,
    gifts,
    at_the_same_time,
    whereabouts,
    comparisons,
    feelings,
    talk,
    dealings,
    otherwise,
)
