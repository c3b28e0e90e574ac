"""A question from a graph and its answer key, with helpers for all kinds: words for slots, and distractors.

A judge without a model compares answers with the key, so keys name classes and acts, never instances.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from reeltalk.language import phrases
from reeltalk.language.answer_values import UNKNOWN
from reeltalk.language.vocabulary import FEELINGS, OPPOSITES, ROOMS, class_of, is_person
from reeltalk.schema.dialogue import AnswerKey, KeyType
from reeltalk_build.graph.naming import SOMEBODY, attribute_of, hair_colour, look_of, pronoun_of
from reeltalk_build.graph.story import Story, StoryEvent

AnswerType = Literal[
    "yes_no", "object", "place", "room", "count", "action", "colour", "choice", "seconds", "list", "refusal",
    "person", "feeling", "utterance", "comparison",
]  # fmt: skip
DISTRACTORS: Final = 3
"""Number of wrong options next to the right one."""
GRABS: Final = frozenset({"grab"})
PLACINGS: Final = frozenset({"put", "putIn"})
LONG_ACTS: Final = frozenset({"read", "watch", "type", "write", "sleep", "dance", "text", "stretch", "eat"})
STATE_WORDS: Final = {"ON": "on", "OFF": "off", "OPEN": "open", "CLOSED": "closed"}
ROOM_NAMES: Final = ("kitchen", "living room", "bedroom", "bathroom")


@dataclass(frozen=True)
class Question:
    """A question about a fact in a graph, not yet put into words."""

    kind: str
    key: str
    """The answer in a comparable form: a class, a number, `yes`, or an event."""
    answer_type: AnswerType
    params: Mapping[str, str | int]
    """Parameters with which `checking` finds the answer again."""
    slots: Mapping[str, str]
    """Words for the slots of its surface forms; `option` is the answer as an option."""
    evidence: tuple[StoryEvent, ...] = ()
    """Events that show the answer; empty if it takes the whole video."""
    anchor: str | int | None = None
    """The object (its name) or event (its order) that *it* or *that* means, if the question can refer to one."""
    focus_object: str | None = None
    """The object that *it* means in the next turn."""
    focus_event: int | None = None
    """The event that *that* means in the next turn."""
    distractors: tuple[str, ...] = ()
    """Wrong options; empty if there are no sensible ones."""
    person: str | None = None
    """Whose events it is about, and whose alone count for the answer; None for the whole story. In `params` too."""
    subject: str | None = None
    """Whom *he* or *she* means, if the story has several people."""
    focus_person: str | None = None
    """Whom *he* or *she* means in the next turn, if the story has several people."""


def object_slots(name: str, story: Story) -> dict[str, str]:
    """Slots for an object: its noun, and pronouns and forms of *to be* that agree with it."""
    plural = phrases.is_plural(name)
    return {
        "o": called_thing(name, story),
        "it": "them" if plural else "it",
        "it_s": "they" if plural else "it",
        "its": "their" if plural else "its",
        "is": "are" if plural else "is",
        "is_it": "are they" if plural else "is it",
        "it_is": "they are" if plural else "it is",
        "was_it": "were they" if plural else "was it",
        "it_was": "they were" if plural else "it was",
    }


def called_thing(name: str, story: Story) -> str:
    """What a thing or a person is called in a story: `the mug`, `the red mug`, `Tom`."""
    return story.called.get(name) or phrases.noun(name)


def act_phrase(event: StoryEvent, story: Story, form: str, pronouns: Mapping[str, str] | None = None) -> str:
    """The verb phrase of an event, without a subject; things and people are called as in the story.

    Args:
        form: `do`, `does`, `doing`, `did` or `done`.
        pronouns: Words to use instead of an object's name, by object.
    """
    # Most phrases are needed again and again.
    told = (event.speech_act or event.action, event.speech_act is None, event.main, event.targets, event.agent, form)
    known = (*told, *(pronouns or {}).items())
    if known not in story.worded:
        story.worded[known] = _worded(event, story, form, pronouns)
    return story.worded[known]


def _worded(event: StoryEvent, story: Story, form: str, pronouns: Mapping[str, str] | None) -> str:
    if event.speech_act is not None:
        names = story.called | dict(pronouns or {})
        return phrases.speech_phrase(event.speech_act, event.main, event.targets, form, names=names)
    his = POSSESSIVES[pronoun_of(story.attributes.get(event.agent or story.agent, ()))]
    return phrases.phrase(event.action, event.main, event.targets, form, pronouns, names=story.called, his=his)


def present_clause(event: StoryEvent, story: Story, *, about: str | None = None) -> str:
    """An event as a clause in the present: `Tom gives the mug to Anna`, `the kettle boils`."""
    subject = event.agent if event.agent is not None else event.main
    called = story.called.get(subject or "") or (phrases.noun(subject) if subject else "something")
    he = pronoun_of(story.attributes.get(about or "", ()))
    if about is not None and subject == about:
        called = he
    them = {about: OBJECT_PRONOUNS[he]} if about is not None and subject != about else {}
    return f"{called} {act_phrase(event, story, 'does', them)}"


POSSESSIVES: Final = {"he": "his", "she": "her"}
OBJECT_PRONOUNS: Final = {"he": "him", "she": "her"}
"""Object pronouns by subject pronoun."""


def person_slots(person: str, story: Story) -> dict[str, str]:
    """Slots for whom `{he}` means: the name, a description by looks if there is one, and the pronouns."""
    he = pronoun_of(story.attributes.get(person, ()))
    look = look_of(person, story.people, story.attributes)
    slots = {"who": story.called[person], "he": he, "him": OBJECT_PRONOUNS[he], "his": POSSESSIVES[he]}
    return slots | ({"look": look} if look is not None else {})


def event_slots(event: StoryEvent, story: Story) -> dict[str, str]:
    """Slots for an event: its verb phrase as *do*, *does* and *doing*."""
    return {form: act_phrase(event, story, form) for form in phrases.FORMS}


def event_key(event: StoryEvent) -> str:
    """An event in comparable form: action, object and targets, joined by `|`."""
    action, main, targets = event.signature
    return "|".join([action, main, *targets])


def distinct_events(story: Story) -> list[StoryEvent]:
    """Events whose action, object and targets occur only once in the story."""
    counts = Counter(event.signature for event in story.events)
    return [event for event in story.events if counts[event.signature] == 1]


def only_object(event: StoryEvent) -> str | None:
    """The object that *it* means after an event; None if that would be ambiguous."""
    fits = event.main and not event.targets and class_of(event.main) not in ROOMS and not is_person(event.main)
    return event.main if fits else None


def objects_of(story: Story) -> list[str]:
    """Names of all objects that events act on, without rooms and people, sorted."""
    names = {event.main for event in story.events if event.main} | {t for e in story.events for t in e.targets}
    return sorted(name for name in names if class_of(name) not in ROOMS and not is_person(name))


def other_objects(story: Story, *right: str, draw: random.Random) -> tuple[str, ...]:
    """Wrong options among the objects of the story; empty if there are too few."""
    wrong = {class_of(r) for r in right}
    names = sorted({called_thing(name, story) for name in objects_of(story) if class_of(name) not in wrong})
    return tuple(draw.sample(names, DISTRACTORS)) if len(names) >= DISTRACTORS else ()


def other_counts(n: int, most: int, *, draw: random.Random) -> tuple[int, ...]:
    """Wrong numbers of 1 to `most`, all equally likely, so that none reveals the right one; empty if that is larger."""
    return tuple(draw.sample([m for m in range(1, most + 1) if m != n], DISTRACTORS)) if n <= most else ()


def other_colours(colour: str, *, of_hair: bool = False, draw: random.Random) -> tuple[str, ...]:
    """Wrong colours. All that may be right elsewhere are equally likely."""
    return tuple(draw.sample([c for c in (HAIR_COLOURS if of_hair else COLOURS) if c != colour], DISTRACTORS))


def grabs_of(story: Story) -> list[StoryEvent]:
    """Events in which the person picks something up."""
    return [event for event in story.events if event.action in GRABS and event.main]


COLOURS: Final = ("red", "blue", "green", "yellow", "black", "brown", "grey", "white", "purple", "orange", "pink")
HAIR_COLOURS: Final = ("blond", "red", "black", "brown", "grey", "white")
POSTURES: Final = ("sitting", "lying", "standing")
SECONDS_OFF: Final = 0.25
"""Tolerance for lengths of time, as a share of the right value; at least one second."""
FORMS_LIKE: Final[Mapping[str, tuple[str, ...]]] = {"never_handled": ("use", "where_put", "where_from")}
"""Kinds of questions without an answer, and the kinds whose forms they have, so that no form gives them away."""
ABSENT: Final = "absent"
FEELING_WORDS: Final = FEELINGS | {"CALM": "calm"}
"""Words for feelings, by state value."""


def answer_key(question: Question, story: Story) -> AnswerKey:
    """The key of a question's answer.

    Returns:
        The key. Its `among` has no value that is right or has the same words as a right one.
    """
    own = story_of(question, story)
    key = _KEYS[question.kind](question, own)
    event = _answer_event(question, own, key)
    agent = event.agent if event is not None else question.person or question.subject
    slots = people_slots(agent, people_of_act(event) if event is not None else (), own) if agent is not None else {}
    if event is not None and event.main is not None and (key.type == "action" or (class_of(event.main),) == key.values):
        slots["looks"] = thing_looks(event.main, own)
    return key.model_copy(update=slots)


def _answer_event(question: Question, story: Story, key: AnswerKey) -> StoryEvent | None:
    """The event that the answer tells, or that the question is about; None if no one person does it."""
    if question.kind == "would_happen":
        return _known(question, story, "other")
    events: Iterable[StoryEvent] = question.evidence
    if key.type in ("action", "utterance"):
        right = {*key.values, *key.also}
        events = (e for e in (*question.evidence, *story.events) if e.says in right or act_value(e) in right)
    elif key.type == "person":
        events = (e for e in question.evidence if question.key in (e.agent, *people_of_act(e)))
    elif key.type == "reply":
        events = reversed(question.evidence)
    elif key.type == "object":
        own = [e for e in question.evidence if e.agent == (question.person or question.subject)]
        events = sorted(own, key=lambda e: e.main is None or class_of(e.main) not in key.values)
    else:
        events = (e for e in question.evidence if e.agent == (question.person or question.subject))
    return next(iter(events), None)


def people_of_act(event: StoryEvent) -> list[str]:
    """The people to whom an act is done, given or said, in order."""
    return [name for name in (event.main, *event.targets) if name is not None and is_person(name)]


def thing_looks(name: str, story: Story) -> tuple[str, ...]:
    """Colour and size of a thing, where the graphs know them."""
    values = story.attributes.get(name, ())
    return tuple(look for kind in ("colour", "size") if (look := attribute_of(values, kind)) is not None)


def people_slots(agent: str | None, receivers: Iterable[str], story: Story) -> dict[str, tuple[str, ...]]:
    """The slots of a key for people, with the words for each; empty if the story has one person without a name."""
    if len(story.people) < 2 and not story.names:
        return {}
    receiver = next((name for name in receivers if name != agent), None)
    others = [person for person in story.people if person not in (agent, receiver)]
    return {
        "agent": person_words(agent, story),
        "receiver": person_words(receiver, story),
        "others": tuple(
            dict.fromkeys(
                word for other in others for word in person_words(other, story) if word not in OBJECT_PRONOUNS
            )
        ),
    }


def person_words(person: str | None, story: Story) -> tuple[str, ...]:
    """What a person may be called: the name, the pronoun, and the looks that nobody else has."""
    if person is None or person not in story.called:
        return ()
    name = story.called[person]
    pronoun = attribute_of(story.attributes.get(person, ()), "pronoun")
    return tuple(word for word in (name, pronoun, *looks_of(person, story)) if word and word != SOMEBODY)


def story_of(question: Question, story: Story) -> Story:
    """The events that count for a question: those of its person, or all."""
    return story if question.person is None or story.person == question.person else story.of(question.person)


def _known(question: Question, story: Story, name: str = "event") -> StoryEvent:
    return story.events[int(question.params[name])]


def _thing(question: Question) -> str:
    """The class of the object that a question is about."""
    return class_of(str(question.params.get("object", question.focus_object)))


def _others(values: Iterable[str], *right: str) -> tuple[str, ...]:
    return tuple(sorted(set(values) - set(right)))


def _act(key: str) -> str:
    action, main, *targets = key.split("|")
    return "|".join([action, class_of(main), *map(class_of, targets)])


@cache
def _words(act: str) -> str:
    """An act in words. Acts with the same words cannot be told apart by an answer."""
    action, main, *targets = act.split("|")
    return phrases.phrase(action, main or None, targets, "does")


def _action(act: str, story: Story, *about: str) -> AnswerKey:
    told = {event_key(event): act_value(event) for event in story.events if event.speech_act is not None}
    if act in told:
        right = tuple(dict.fromkeys(act_value(event) for event in story.events if event_key(event) == act))
        return AnswerKey(type="action", values=right[:1], also=right[1:], about=about)
    acts = {event_key(event) for event in story.events} - {act, *told}
    same = tuple(sorted(other for other in acts if _words(other) == _words(act)))
    return AnswerKey(type="action", values=(act,), also=same, among=_others(acts, *same), about=about)


def _object(question: Question, story: Story, *about: str) -> AnswerKey:
    values = tuple(sorted({class_of(name) for name in question.key.split("|")}))
    names = {class_of(name) for name in objects_of(story)}
    return AnswerKey(type="object", values=values, among=_others(names | set(about), *values), about=about)


def _place(question: Question, story: Story) -> AnswerKey:
    support = class_of(question.key)
    supports = {
        class_of(found[0])
        for event in story.events
        if event.main is not None and event.action in GRABS | PLACINGS
        for found in (story.support_before(event, event.main), story.support_after(event, event.main))
        if found is not None
    }
    return AnswerKey(
        type="place",
        values=(support,),
        among=_others(supports, support, "character", "floor"),
        about=(_thing(question),),
        relation="in" if question.slots["place"].startswith("in ") else "on",
    )


def _places(question: Question, story: Story) -> AnswerKey:
    values = tuple(sorted({class_of(name) for name in question.key.split("|")}))
    return AnswerKey(type="place", values=values, about=(_thing(question),))


def _room(question: Question, *about: str) -> AnswerKey:
    return AnswerKey(type="room", values=(question.key,), among=_others(ROOMS, question.key), about=about)


def _colour(question: Question, about: str) -> AnswerKey:
    colour = question.slots["colour"]
    known = HAIR_COLOURS if about == "hair" else COLOURS
    return AnswerKey(type="colour", values=(colour,), among=_others(known, colour), about=(about,))


def _posture(question: Question, story: Story) -> AnswerKey:
    return AnswerKey(
        type="state",
        values=(question.key,),
        among=_others(POSTURES, question.key),
        about=(event_key(_known(question, story)),),
    )


def _state(question: Question, story: Story) -> AnswerKey:
    opposite = STATE_WORDS[OPPOSITES[question.key]]
    return AnswerKey(type="state", values=(STATE_WORDS[question.key],), among=(opposite,), about=(_thing(question),))


def _seconds(question: Question, *about: str) -> AnswerKey:
    off = max(1.0, SECONDS_OFF * int(question.key))
    return AnswerKey(type="seconds", values=(question.key,), tolerance=off, about=about)


def act_value(event: StoryEvent) -> str:
    """An event as an act of a key; words that are said count by what they do."""
    act = event_key(event)
    return act if event.speech_act is None else "|".join([event.speech_act, *act.split("|")[1:]])


def _event(question: Question, story: Story, event: StoryEvent) -> AnswerKey:
    """The key of an event that an answer tells; no event with the same act is among the wrong ones."""
    right, asked = act_value(event), act_value(_known(question, story))
    others = {act_value(other) for other in story.events if other.action not in ("walk", "stand", "turnTo")}
    same = tuple(sorted(other for other in others - {right} if _words(other) == _words(right)))
    return AnswerKey(
        type="action", values=(right,), also=same, among=_others(others, right, asked, *same), about=(asked,)
    )


def _person(question: Question, story: Story) -> AnswerKey:
    """The key of a person: the name, and the looks that nobody else has."""
    return AnswerKey(
        type="person",
        values=(story.called[question.key],),
        also=looks_of(question.key, story),
        among=tuple(
            dict.fromkeys(
                word for other in rivals_of(question, story) for word in (story.called[other], *looks_of(other, story))
            )
        ),
    )


def rivals_of(question: Question, story: Story) -> list[str]:
    """The people whom the question does not name, other than the one who is its answer."""
    given = {question.slots.get(name) for name in ("who", "q")} - {story.called.get(question.key)}
    return [person for person in story.people if person != question.key and story.called[person] not in given]


def looks_of(person: str, story: Story) -> tuple[str, ...]:
    """Looks of a person that nobody else in the story has: `woman`, `red shirt`, `glasses`."""
    own = set(_looks(story.attributes.get(person, ())))
    others = {look for other in story.people if other != person for look in _looks(story.attributes.get(other, ()))}
    return tuple(sorted(own - others))


def _looks(values: Iterable[str]) -> list[str]:
    words = []
    for value in values:
        part, _, what = value.partition("_")
        if part in ("shirt", "trousers", "hair"):
            words.append(f"{hair_colour(what) if part == 'hair' else what} {part}")
        elif part == "pronoun":
            words.append({"she": "woman", "he": "man"}[what])
        elif value in ("glasses", "beard"):
            words.append(value)
    return words


def _word(type_: KeyType, question: Question, values: Iterable[str], right: str) -> AnswerKey:
    return AnswerKey(type=type_, values=(right,), among=_others(values, right))


def _spoken(question: Question, story: Story) -> AnswerKey:
    said = {event.says for event in story.events if event.says}
    return AnswerKey(type="utterance", values=(question.key,), among=_others(said, question.key))


def _light(question: Question, story: Story) -> AnswerKey:
    return _word("daytime", question, ("day", "evening"), question.key)


def _of(type_: KeyType, question: Question, *about: str) -> AnswerKey:
    return AnswerKey(type=type_, values=(question.key,), about=about)


def _order(question: Question) -> AnswerKey:
    first, second = question.evidence
    return AnswerKey(type="order", values=(event_key(first),), among=(event_key(second),))


def _which(question: Question) -> AnswerKey:
    others = {option.split()[1] for option in question.distractors}
    return AnswerKey(
        type="colour", values=(question.key,), among=_others(others), about=(str(question.params["class"]),)
    )


def _refusal(why: str, *about: str) -> AnswerKey:
    return AnswerKey(type="refusal", values=(why,), about=about)


def _how_clean(question: Question, story: Story) -> AnswerKey:
    action, tool = question.key.split("|")
    act, target = f"{action}|{tool}|{_thing(question)}", _thing(question)
    return _action(act, story, target)


def _signature(question: Question) -> str:
    return _act(str(question.params["signature"]))


def _answering(question: Question) -> StoryEvent:
    """The event of the evidence that is the answer."""
    return next(event for event in question.evidence if event_key(event) == question.key)


_KEYS: Final[Mapping[str, Callable[[Question, Story], AnswerKey]]] = {
    kind: key
    for kinds, key in (
        (
            "first_thing last_thing linked_moved give_thing offers_what asks_about talks_about vessel takes_here",
            _object,
        ),
        ("what_else tool takes_there", lambda q, s: _object(q, s, _thing(q))),
        ("where_put where_from put_here from_here linked_left would_place", _place),
        ("which_room", lambda q, s: _room(q, event_key(_known(q, s)))),
        ("linked_trajectory", _places),
        ("room_start room_end", lambda q, s: _room(q)),
        ("object_colour", lambda q, s: _colour(q, _thing(q))),
        ("clothes_colour", lambda q, s: _colour(q, str(q.params["part"]))),
        ("state_end", _state),
        ("posture", _posture),
        ("times linked_often", lambda q, s: _of("count", q, _signature(q))),
        ("things_count people_count", lambda q, s: _of("count", q)),
        (
            "linked_trend",
            lambda q, s: AnswerKey(
                type="comparison", values=(q.key,), among=_others(("more", "fewer", "as many"), q.key)
            ),
        ),
        ("duration", lambda q, s: _seconds(q, _signature(q))),
        ("linked_interval", lambda q, s: _seconds(q, event_key(_known(q, s)))),
        ("linked_longer video_length", lambda q, s: _seconds(q)),
        ("acts", lambda q, s: _of("yes_no", q, _signature(q))),
        ("order", lambda q, s: _order(q)),
        (
            "next_action previous_action",
            lambda q, s: _action(q.key, s, event_key(_known(q, s))),
        ),
        ("first_here last_here linked_before linked_room", lambda q, s: _action(q.key, s)),
        ("use linked_use", lambda q, s: _action(q.key, s, _thing(q))),
        ("how_clean", _how_clean),
        ("never_handled", lambda q, s: _refusal(ABSENT, str(q.params["class"]))),
        (
            "who_does who_takes give_receiver give_giver who_beside who_has who_first who_last makes_feel "
            "who_says says_to whom linked_who",
            _person,
        ),
        ("meanwhile effect_of", lambda q, s: _event(q, s, q.evidence[1])),
        ("feels_after feels_end", lambda q, s: _word("feeling", q, FEELING_WORDS.values(), FEELING_WORDS[q.key])),
        ("common_sense", lambda q, s: _of("yes_no", q)),
        ("would_happen", lambda q, s: _of("yes_no", q, act_value(_known(q, s, "other")))),
        ("why_feels why_says towards cause_of why_act", lambda q, s: _event(q, s, _answering(q))),
        ("says_what says_here says_back", _spoken),
        ("reply", lambda q, s: _word("reply", q, ("accept", "refuse"), q.key)),
        ("daytime", _light),
        ("which_colour", lambda q, s: _which(q)),
        ("which_size", lambda q, s: _word("size", q, ("small", "large"), q.key)),
        ("could_take", lambda q, s: _of("yes_no", q, f"grab|{_thing(q)}", _thing(q))),
        ("opinion", lambda q, s: _refusal(UNKNOWN, event_key(_known(q, s)))),
        ("unknown_person", lambda q, s: _refusal(UNKNOWN)),
    )
    for kind in kinds.split()
}
