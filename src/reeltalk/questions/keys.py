"""Makes the answer key of a question from a graph: its type, its right values, and wrong values that could be confused.

A judge without a model compares answers with the key, so keys name classes and acts, never instances.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from reeltalk.graph import phrases
from reeltalk.graph.story import Story, StoryEvent
from reeltalk.graph.vocabulary import OPPOSITES, ROOMS, class_of
from reeltalk.questions.question import GRABS, PLACINGS, Question, event_key, objects_of
from reeltalk.questions.questions_of_things import STATE_WORDS
from reeltalk.schema.dialogue import AnswerKey, KeyType

COLOURS: Final = ("red", "blue", "green", "yellow", "black", "brown", "grey", "white", "purple", "orange", "pink")
HAIR_COLOURS: Final = ("blond", "red", "black", "brown", "grey", "white")
POSTURES: Final = ("sitting", "lying", "standing")
SECONDS_OFF: Final = 0.25
"""Tolerance for lengths of time, as a share of the right value; at least one second."""
ABSENT: Final = "absent"
UNKNOWN: Final = "unknown"


def answer_key(question: Question, story: Story) -> AnswerKey:
    """The key of a question's answer.

    Args:
        question: A question about one scene or two.
        story: The events that it is about.

    Returns:
        The key. Its `among` has no value that is right or has the same words as a right one.
    """
    return _KEYS[question.kind](question, story)


def _known(question: Question, story: Story, name: str = "event") -> StoryEvent:
    return story.events[int(question.params[name])]


def _thing(question: Question) -> str:
    return class_of(str(question.params.get("object", question.focus_object)))


def _others(values: Iterable[str], *right: str) -> tuple[str, ...]:
    return tuple(sorted(set(values) - set(right)))


def _act(key: str) -> str:
    action, main, *targets = key.split("|")
    return "|".join([action, class_of(main), *map(class_of, targets)])


def _words(act: str) -> str:
    """An act in words. Acts with the same words cannot be told apart by an answer."""
    action, main, *targets = act.split("|")
    return phrases.phrase(action, main or None, targets, "does")


def _action(act: str, story: Story, *about: str) -> AnswerKey:
    acts = {event_key(event) for event in story.events} - {act}
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


def _rooms(question: Question, story: Story) -> AnswerKey:
    values = tuple(question.key.split("|"))
    about = (event_key(_known(question, story)), event_key(_known(question, story, "other")))
    return AnswerKey(type="room", values=values, among=_others(ROOMS, *values), about=about)


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


def _of(type_: KeyType, question: Question, *about: str) -> AnswerKey:
    return AnswerKey(type=type_, values=(question.key,), about=about)


def _order(question: Question) -> AnswerKey:
    first, second = question.evidence
    return AnswerKey(type="order", values=(event_key(first),), among=(event_key(second),))


def _refusal(why: str, *about: str) -> AnswerKey:
    return AnswerKey(type="refusal", values=(why,), about=about)


def _how_clean(question: Question, story: Story) -> AnswerKey:
    action, tool = question.key.split("|")
    act, target = f"{action}|{tool}|{_thing(question)}", _thing(question)
    return _action(act, story, target)


def _signature(question: Question) -> str:
    return _act(str(question.params["signature"]))


def _walk(question: Question, story: Story) -> tuple[str, str]:
    """The walk whose reason a question asks for, and the events before it."""
    event = _known(question, story)
    return f"walk|{class_of(event.main or '')}", event_key(story.events[event.order - 1])


_KEYS: Final[Mapping[str, Callable[[Question, Story], AnswerKey]]] = {
    "first_thing": _object,
    "last_thing": _object,
    "thing_after": _object,
    "what_else": lambda q, s: _object(q, s, _thing(q)),
    "tool": lambda q, s: _object(q, s, _thing(q)),
    "where_put": _place,
    "where_from": _place,
    "linked_left": _place,
    "linked_source": _place,
    "linked_place": lambda q, s: _room(q, event_key(_known(q, s))),
    "linked_trajectory": _places,
    "linked_rooms": _rooms,
    "linked_moved": _object,
    "room_start": lambda q, s: _room(q),
    "room_end": lambda q, s: _room(q),
    "which_room": lambda q, s: _room(q, event_key(_known(q, s))),
    "object_colour": lambda q, s: _colour(q, _thing(q)),
    "clothes_colour": lambda q, s: _colour(q, str(q.params["part"])),
    "state_end": _state,
    "linked_state": _state,
    "posture": _posture,
    "linked_posture": _posture,
    "times": lambda q, s: _of("count", q, _signature(q)),
    "things_count": lambda q, s: _of("count", q),
    "rooms_count": lambda q, s: _of("count", q),
    "people_count": lambda q, s: _of("count", q),
    "linked_often": lambda q, s: _of("count", q, _signature(q)),
    "duration": lambda q, s: _seconds(q, _signature(q)),
    "linked_interval": lambda q, s: _seconds(q, event_key(_known(q, s))),
    "linked_return": lambda q, s: _seconds(q, event_key(_known(q, s))),
    "linked_longer": lambda q, s: _seconds(q),
    "video_length": lambda q, s: _seconds(q),
    "acts": lambda q, s: _of("yes_no", q, _signature(q)),
    "closes_again": lambda q, s: _of("yes_no", q, f"close|{_thing(q)}", _thing(q)),
    "puts_back": lambda q, s: _of("yes_no", q, f"put|{_thing(q)}", _thing(q)),
    "order": lambda q, s: _order(q),
    "next_action": lambda q, s: _action(q.key, s, event_key(_known(q, s))),
    "previous_action": lambda q, s: _action(q.key, s, event_key(_known(q, s))),
    "first_in_room": lambda q, s: _action(event_key(q.evidence[1]), s, event_key(q.evidence[0])),
    "use": lambda q, s: _action(q.key, s, _thing(q)),
    "linked_next": lambda q, s: _action(q.key, s, event_key(_known(q, s))),
    "linked_previous": lambda q, s: _action(q.key, s, event_key(_known(q, s))),
    "linked_purpose": lambda q, s: _action(q.key, s, class_of(_known(q, s).main or "")),
    "linked_use": lambda q, s: _action(q.key, s, _thing(q)),
    "linked_outcome": lambda q, s: _action(q.key, s, _thing(q)),
    "why_walk": lambda q, s: _action(q.key, s, class_of(_known(q, s).main or "")),
    "why_room": lambda q, s: _action(q.key, s, *_walk(q, s)),
    "how_clean": _how_clean,
    "never_handled": lambda q, s: _refusal(ABSENT, str(q.params["class"])),
    "opinion": lambda q, s: _refusal(UNKNOWN, event_key(_known(q, s))),
    "unknown_person": lambda q, s: _refusal(UNKNOWN),
}
