"""Questions about several people: who acts, what passes between them, what they say, and how they feel.

Each kind finds its facts in the whole story. `Question.subject` is the person whom *he* or *she* means.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from reeltalk.language import phrases
from reeltalk.language.vocabulary import class_of, is_person, plain_name
from reeltalk_build.graph.naming import attribute_of
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.question import (
    FEELING_WORDS,
    GRABS,
    Question,
    act_phrase,
    called_thing,
    event_key,
    event_slots,
    object_slots,
    only_object,
    other_objects,
    person_slots,
    present_clause,
)

FEELING_OF: Final = {"smile": "HAPPY", "frown": "SAD", "scowl": "ANGRY", "gasp": "SURPRISED", "calm": "CALM"}
"""The feeling that an action shows."""
UNASKED_ACTIONS: Final = frozenset({"walk", "stand", "turnTo", "wait", "say"}) | FEELING_OF.keys()
"""Actions about which it is not asked who does them."""
SOCIAL: Final = ("hug", "comfort", "wave", "give", "show", "clap", "throw")
"""What one person does to another without words."""
SHARED_ACTIONS: Final = {
    "grab": "pick something up",
    "sit": "sit down",
    "stand": "stand up",
    "put": "put something down",
    "drink": "drink something",
    "eat": "eat something",
    "open": "open something",
    "switchOn": "switch something on",
    "say": "speak",
    "smile": "smile",
}
"""What several people may do, by action, in words."""
LEAST_APART_S: Final = 0.8
"""Seconds between two acts whose order is asked for."""
LEAST_OVERLAP_S: Final = 1.0
"""Seconds for which two acts must happen at the same time."""


def about_person(question: Question, person: str, story: Story, *, focus: str | None = None) -> Question:
    """The question with a person whom *he* or *she* means; all events of the story count."""
    slots = {**question.slots, **person_slots(person, story)}
    return replace(question, slots=slots, subject=person, focus_person=focus or person)


def other_people(story: Story, *right: str) -> tuple[str, ...]:
    """What the people other than these are called, as wrong options."""
    return tuple(story.called[person] for person in story.people if person not in right)


def _distinct(story: Story, events: Iterable[StoryEvent]) -> list[StoryEvent]:
    """The events that are named by action and instances alone."""
    counts = Counter((event.action, event.main, event.targets) for event in story.events)
    return [event for event in events if counts[event.action, event.main, event.targets] == 1]


def _other(person: str, story: Story) -> dict[str, str]:
    """Slots for a second person."""
    slots = person_slots(person, story)
    return {"q": slots["who"], "q_he": slots["he"], "q_him": slots["him"], "q_his": slots["his"]}


def who_acts(story: Story, draw: random.Random) -> Iterator[Question]:
    """Who does what, and who takes a thing."""
    takes = Counter(event.main for event in story.events if event.action in GRABS)
    for event in _distinct(story, story.events):
        if event.agent is None or event.action in UNASKED_ACTIONS:
            continue
        yield Question(
            kind="who_does",
            key=event.agent,
            answer_type="person",
            params={"event": event.order},
            slots=event_slots(event, story) | {"p": story.called[event.agent], "option": story.called[event.agent]},
            evidence=(event,),
            focus_object=only_object(event),
            focus_event=event.order,
            focus_person=event.agent,
            distractors=other_people(story, event.agent),
        )
        if event.action in GRABS and event.main is not None and takes[event.main] == 1:
            yield Question(
                kind="who_takes",
                key=event.agent,
                answer_type="person",
                params={"object": event.main},
                slots=object_slots(event.main, story)
                | {"p": story.called[event.agent], "option": story.called[event.agent]},
                evidence=(event,),
                anchor=event.main,
                focus_object=event.main,
                focus_person=event.agent,
                distractors=other_people(story, event.agent),
            )


def gifts(story: Story, draw: random.Random) -> Iterator[Question]:
    """Who gives what to whom."""
    given = [event for event in story.events if event.action == "give" and event.main and event.targets and event.agent]
    things = Counter((event.agent, event.main) for event in given)
    received = Counter((event.targets[0], event.main) for event in given)
    pairs = Counter((event.agent, event.targets[0]) for event in given)
    for event in given:
        giver, receiver, thing = event.agent or "", event.targets[0], event.main or ""
        slots = object_slots(thing, story) | {"p": story.called[giver]} | _other(receiver, story)
        base = Question(
            kind="", key="", answer_type="person", params={"event": event.order}, slots=slots, evidence=(event,),
            focus_object=thing, focus_event=event.order,
        )  # fmt: skip
        if things[giver, thing] == 1:
            made = replace(
                base,
                kind="give_receiver",
                key=receiver,
                anchor=thing,
                slots=slots | {"option": story.called[receiver]},
                distractors=other_people(story, receiver, giver),
            )
            yield about_person(made, giver, story, focus=receiver)
        if received[receiver, thing] == 1:
            yield replace(
                base,
                kind="give_giver",
                key=giver,
                slots=slots | {"option": story.called[giver]},
                focus_person=giver,
                distractors=other_people(story, giver, receiver),
            )
        if pairs[giver, receiver] == 1:
            made = replace(
                base,
                kind="give_thing",
                key=thing,
                answer_type="object",
                slots=slots | {"option": called_thing(thing, story)},
                distractors=other_objects(story, thing, draw=draw),
            )
            yield about_person(made, giver, story)


def at_the_same_time(story: Story, draw: random.Random) -> Iterator[Question]:
    """What one person does while another does something that lasts."""
    for event in _distinct(story, story.events):
        if event.agent is None or event.interval is None or event.action in UNASKED_ACTIONS - {"say"}:
            continue
        for person in story.people:
            beside = [e for e in story.of(person).events if e.part == event.part and overlap_s(e, event) > 0]
            if person == event.agent or len(beside) != 1 or beside[0].action in ("turnTo", "stand"):
                continue
            if overlap_s(beside[0], event) < LEAST_OVERLAP_S:
                continue
            (found,) = (e for e in story.events if (e.part, e.index) == (beside[0].part, beside[0].index))
            does = act_phrase(found, story, "does")
            wrong = sorted(
                {act_phrase(e, story, "does") for e in story.events if e.agent is not None and e.order != found.order}
                - {does}
            )
            made = Question(
                kind="meanwhile",
                key=event_key(found),
                answer_type="action",
                params={"event": event.order, "object": person},
                slots=event_slots(event, story) | _other(person, story) | {"next": does, "option": does},
                evidence=(event, found),
                focus_object=only_object(found),
                focus_event=found.order,
                distractors=tuple(draw.sample(wrong, 3)) if len(wrong) >= 3 else (),
            )
            yield about_person(made, event.agent, story, focus=person)


def overlap_s(one: StoryEvent, other: StoryEvent) -> float:
    """Seconds for which two events happen at the same time; 0 without times."""
    if one.interval is None or other.interval is None:
        return 0.0
    return max(0.0, min(one.interval.end_s, other.interval.end_s) - max(one.interval.start_s, other.interval.start_s))


def whereabouts(story: Story, draw: random.Random) -> Iterator[Question]:
    """Who is in a room at a moment, and who has a thing at the end."""
    for event in _distinct(story, story.events):
        if event.agent is None or event.action in UNASKED_ACTIONS or event.from_room is None:
            continue
        graph, room = story.graphs[event.part], event.from_room
        rooms = {person: graph.room_at(person, event.index) for person in story.people}
        here = [person for person, found in rooms.items() if found == room]
        if None in rooms.values() or event.agent not in here:
            continue
        others = [person for person in here if person != event.agent]
        if {event.main, *event.targets} & set(others):
            continue
        if len(others) != 1 or len(story.people) < 3:
            continue
        made = Question(
            kind="who_beside",
            key=others[0],
            answer_type="person",
            params={"event": event.order},
            slots=event_slots(event, story)
            | {"room": plain_name(room), "p": story.called[others[0]], "option": story.called[others[0]]},
            evidence=(event,),
            distractors=(*other_people(story, others[0], event.agent), "nobody"),
        )
        yield about_person(made, event.agent, story, focus=others[0])
    last = story.graphs[-1]
    for name in sorted({event.main for event in story.events if event.action in (*GRABS, "give") and event.main}):
        found = [placed.target.object for placed in last.placed_at(name, last.situations - 1) if placed.kind == "on"]
        if len(found) == 1 and found[0] in story.people and name in last.values:
            shown = [event for event in story.events if event.main == name]
            yield Question(
                kind="who_has",
                key=found[0],
                answer_type="person",
                params={"object": name},
                slots=object_slots(name, story) | {"p": story.called[found[0]], "option": story.called[found[0]]},
                evidence=(shown[-1],),
                anchor=name,
                focus_object=name,
                focus_person=found[0],
                distractors=other_people(story, found[0]),
            )


def comparisons(story: Story, draw: random.Random) -> Iterator[Question]:
    """Who does something first or last."""
    by_action: dict[str, list[StoryEvent]] = defaultdict(list)
    for event in story.events:
        if event.agent is not None and event.action in SHARED_ACTIONS:
            by_action[event.action].append(event)
    for action, events in sorted(by_action.items()):
        agents = {event.agent for event in events}
        if len(agents) < 2:
            continue
        words = {"act": SHARED_ACTIONS[action]}
        for kind, found in (("who_first", events[0]), ("who_last", events[-1])):
            rivals = [event for event in events if event.agent != found.agent]
            nearest = rivals[0] if kind == "who_first" else rivals[-1]
            if found.interval is None or nearest.interval is None or found.agent is None:
                continue
            if abs(found.interval.end_s - nearest.interval.end_s) < LEAST_APART_S:
                continue
            yield Question(
                kind=kind,
                key=found.agent,
                answer_type="person",
                params={"action": action},
                slots=words | {"p": story.called[found.agent], "option": story.called[found.agent]},
                evidence=(found, nearest) if found.order < nearest.order else (nearest, found),
                focus_event=found.order,
                focus_person=found.agent,
                distractors=other_people(story, found.agent),
            )


def _cause(event: StoryEvent, story: Story) -> StoryEvent | None:
    return story.events[event.cause] if event.cause is not None else None


def feelings(story: Story, draw: random.Random) -> Iterator[Question]:
    """How people feel, why, and who makes them feel so."""
    shown = [event for event in story.events if event.action in FEELING_OF and event.agent is not None]
    for event in shown:
        person, feeling = event.agent or "", FEELING_OF[event.action]
        word = FEELING_WORDS[feeling]
        same = [other for other in shown if (other.agent, other.action) == (person, event.action)]
        cause = _cause(event, story)
        if cause is None:
            continue
        others = tuple(other for other in FEELING_WORDS.values() if other != word)
        why = present_clause(cause, story, about=person)
        slots = {"cause": present_clause(cause, story), "feeling": word, "why": why}
        base = Question(
            kind="feels_after",
            key=feeling,
            answer_type="feeling",
            params={"event": event.order},
            slots=slots | {"option": word},
            evidence=(cause, event),
            focus_event=event.order,
            distractors=tuple(draw.sample(others, 3)),
        )
        reactions = [e for e in shown if e.cause == event.cause and e.agent == person]
        if len(reactions) == 1:
            yield about_person(base, person, story)
        if len(same) == 1 and feeling != "CALM":
            made = replace(
                base,
                kind="why_feels",
                key=event_key(cause),
                answer_type="action",
                slots=slots,
                # Among other acts the one that may move somebody can be guessed.
                distractors=(),
            )
            yield about_person(made, person, story)
            if cause.agent is not None and cause.agent != person:
                made = replace(
                    base,
                    kind="makes_feel",
                    key=cause.agent,
                    answer_type="person",
                    slots=slots | {"p": story.called[cause.agent], "option": story.called[cause.agent]},
                    distractors=other_people(story, cause.agent, person),
                )
                yield about_person(made, person, story, focus=cause.agent)
    for person in sorted({event.agent or "" for event in shown}):
        own = [event for event in shown if event.agent == person]
        word = FEELING_WORDS[FEELING_OF[own[-1].action]]
        others = tuple(other for other in FEELING_WORDS.values() if other != word)
        made = Question(
            kind="feels_end",
            key=FEELING_OF[own[-1].action],
            answer_type="feeling",
            params={"object": person},
            slots={"feeling": word, "option": word},
            evidence=(own[-1],),
            distractors=tuple(draw.sample(others, 3)),
        )
        yield about_person(made, person, story)


def talk(story: Story, draw: random.Random) -> Iterator[Question]:
    """Who says what to whom, what about, and how it is answered."""
    said = [event for event in story.events if event.action == "say" and event.agent and event.says]
    texts = Counter(event.says for event in said)
    to = Counter((event.agent, event.targets) for event in said)
    acts = Counter((event.agent, event.targets, event.speech_act) for event in said)
    for event in said:
        speaker, listener = event.agent or "", event.targets[0] if event.targets else None
        words = {"says": event.says or "", "p": story.called[speaker]}
        base = Question(
            kind="", key="", answer_type="person", params={"event": event.order}, slots=words, evidence=(event,),
            focus_event=event.order, focus_person=speaker,
        )  # fmt: skip
        if texts[event.says] == 1:
            yield replace(
                base,
                kind="who_says",
                key=speaker,
                slots=words | {"option": story.called[speaker]},
                distractors=other_people(story, speaker),
            )
        if listener is None or len(event.targets) > 1:
            continue
        words |= _other(listener, story)
        if texts[event.says] == 1 and len(story.people) > 2:
            made = replace(
                base,
                kind="says_to",
                key=listener,
                slots=words | {"option": story.called[listener]},
                distractors=other_people(story, listener, speaker),
            )
            yield about_person(made, speaker, story, focus=listener)
        if acts[speaker, event.targets, event.speech_act] == 1 and event.speech_act is not None:
            speech = {form: act_phrase(event, story, form) for form in phrases.FORMS}
            others = sorted({other.says or "" for other in said} - {event.says or ""})
            if to[speaker, event.targets] == 1:
                made = replace(
                    base,
                    kind="says_what",
                    key=event.says or "",
                    answer_type="utterance",
                    slots=words | {"option": event.says or ""},
                    distractors=tuple(draw.sample(others, 3)) if len(others) >= 3 else (),
                )
                yield about_person(made, speaker, story, focus=listener)
            yield from _about_what(event, base, words, story, draw)
            yield from _why_says(event, base, words | speech, story)
        yield from _reply(event, base, words, story)


def _about_what(
    event: StoryEvent, base: Question, words: dict[str, str], story: Story, draw: random.Random
) -> Iterator[Question]:
    if event.main is None or is_person(event.main):
        return
    kind = {"offer": "offers_what", "ask": "asks_about"}.get(event.speech_act or "", "talks_about")
    made = replace(
        base,
        kind=kind,
        key=event.main,
        answer_type="object",
        slots=words
        | {form: act_phrase(replace(event, main=None), story, form) for form in phrases.FORMS}
        | object_slots(event.main, story)
        | {"option": called_thing(event.main, story)},
        focus_object=event.main,
        distractors=other_objects(story, event.main, draw=draw),
    )
    yield about_person(made, event.agent or "", story)


def _why_says(event: StoryEvent, base: Question, words: dict[str, str], story: Story) -> Iterator[Question]:
    cause = _cause(event, story)
    if cause is None or event.speech_act in ("accept", "refuse", "greet"):
        return
    why = present_clause(cause, story, about=event.agent)
    made = replace(
        base,
        kind="why_says",
        key=event_key(cause),
        answer_type="action",
        slots=words | {"why": why},
        evidence=(cause, event),
    )
    yield about_person(made, event.agent or "", story)


def _reply(event: StoryEvent, base: Question, words: dict[str, str], story: Story) -> Iterator[Question]:
    cause = _cause(event, story)
    if event.speech_act not in ("accept", "refuse") or cause is None or cause.agent is None:
        return
    asks = [other for other in story.events if other.cause == event.cause and other.speech_act in ("accept", "refuse")]
    if len(asks) > 1 or cause.speech_act not in ("offer", "ask", "propose") or cause.agent == event.agent:
        return
    called = {"offer": "offer", "ask": "request", "propose": "suggestion"}[cause.speech_act]
    wrong = "refuse" if event.speech_act == "accept" else "accept"
    forms = {"accept": "accepts", "refuse": "refuses"}
    made = replace(
        base,
        kind="reply",
        key=event.speech_act,
        answer_type="choice",
        slots=words
        | _other(event.agent or "", story)
        | {"called": called, "reply": forms[event.speech_act], "option": forms[event.speech_act]}
        | {"told": present_clause(cause, story)},
        evidence=(cause, event),
        distractors=(forms[wrong],),
    )
    yield about_person(made, cause.agent, story, focus=event.agent)


def dealings(story: Story, draw: random.Random) -> Iterator[Question]:
    """What one person does to another, and to whom."""
    found: list[tuple[StoryEvent, str]] = []
    for event in story.events:
        people = [name for name in (event.main, *event.targets) if is_person(name)]
        if event.agent is not None and event.action in SOCIAL and len(people) == 1 and people[0]:
            found.append((event, people[0]))
    pairs = Counter((event.agent, other) for event, other in found)
    acts = Counter((event.agent, event.action) for event, _ in found)
    for event, other in found:
        agent = event.agent or ""
        slots = _other(other, story) | {"p": story.called[agent]}
        if pairs[agent, other] == 1:
            does = act_phrase(event, story, "does")
            made = Question(
                kind="towards",
                key=event_key(event),
                answer_type="action",
                params={"event": event.order},
                slots=slots | {"next": does},
                evidence=(event,),
                focus_object=only_object(event),
                focus_event=event.order,
            )
            yield about_person(made, agent, story)
        if acts[agent, event.action] == 1 and event.action in _WHOM and len(story.people) > 2:
            made = Question(
                kind="whom",
                key=other,
                answer_type="person",
                params={"event": event.order},
                slots=slots | {"act": _WHOM[event.action], "option": story.called[other]},
                evidence=(event,),
                focus_event=event.order,
                distractors=other_people(story, other, agent),
            )
            yield about_person(made, agent, story, focus=other)


_WHOM: Final = {"hug": "hug", "comfort": "comfort", "wave": "wave to", "clap": "clap for"}


def lights(story: Story, draw: random.Random) -> Iterator[Question]:
    """Whether it is day or evening in the video."""
    light = story.lights[0]
    if light is None or set(story.lights) != {light}:
        return
    yield Question(
        kind="daytime",
        key=light,
        answer_type="choice",
        params={},
        slots={"light": light, "option": light},
        distractors=("evening" if light == "day" else "day",),
    )


def which_of_several(story: Story, draw: random.Random) -> Iterator[Question]:
    """Which of two things of a class somebody handles, by colour or size."""
    rivals = [name for name in story.called if not is_person(name)]
    for person in story.people:
        own = story.of(person) if len(story.people) > 1 or story.names else story
        for name in rivals:
            others = [other for other in rivals if class_of(other) == class_of(name) and other != name]
            same_class = [event for event in own.events if class_of(event.main or "") == class_of(name)]
            handled = [event for event in same_class if event.action in (*GRABS, "drink", "eat", "read", "give")]
            if {event.main for event in handled} != {name} or not others:
                continue
            kind = next(
                (k for k in ("colour", "size") if _attribute(story, name, k) in story.called[name].split()), None
            )
            values = [_attribute(story, other, kind) for other in others] if kind else []
            if kind is None or None in values:
                continue
            right = _attribute(story, name, kind) or ""
            pair = sorted((right, str(values[0])), key=lambda _: draw.random())
            event = next(e for e in story.events if (e.part, e.index) == (handled[0].part, handled[0].index))
            made = Question(
                kind=f"which_{kind}",
                key=right,
                answer_type="choice",
                params={"class": class_of(name), "event": event.order},
                slots={form: phrases.phrase(event.action, event.main, (), form) for form in phrases.FORMS}
                | {
                    "class": plain_name(name),
                    "verb": _HANDLES[event.action],
                    "value": right,
                    "option": f"the {right} {plain_name(name)}",
                }
                | {"first": pair[0], "second": pair[1]},
                evidence=(event,),
                focus_object=name,
                focus_event=event.order,
                distractors=tuple(
                    f"the {value} {plain_name(name)}"
                    for value in dict.fromkeys(str(v) for v in values)
                    if value != right
                ),
            )
            yield about_person(made, person, story) if own is not story else made


_HANDLES: Final = {"grab": "pick up", "drink": "drink from", "eat": "eat", "read": "read", "give": "give away"}


def _attribute(story: Story, name: str, kind: str) -> str | None:
    return attribute_of(story.attributes.get(name, ()), kind)
