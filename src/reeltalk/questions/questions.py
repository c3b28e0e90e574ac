"""All questions that a scenario's graphs can answer, with exact answers, evidence and distractors.

Each kind of question finds its facts in a `Story`; those about rooms, persons, times and refusals are here. Something
that the graphs do not know becomes a refusal question, never a guess. `wording.py` puts questions into words, and
`checking.py` answers them again with SPARQL.
"""

import random
from collections.abc import Iterator
from typing import Final

from reeltalk.graph import phrases
from reeltalk.graph.story import Story
from reeltalk.graph.vocabulary import class_of, plain_name
from reeltalk.questions.question import (
    DISTRACTORS,
    LASTING,
    ROOM_NAMES,
    Question,
    distinct_events,
    event_key,
    event_slots,
    only_object,
    other_counts,
)
from reeltalk.questions.questions_of_acts import (
    acts_beside_acts,
    acts_counted,
    acts_done,
    order_of_acts,
    other_actions,
    postures,
    reasons_for_acts,
)
from reeltalk.questions.questions_of_things import (
    cleaning,
    first_and_last_things,
    looks_and_states,
    places_of_things,
    things_after,
    things_counted,
    uses,
)

ABSENT: Final = (
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


def rooms_asked(story: Story, draw: random.Random) -> Iterator[Question]:
    """Rooms at the start and the end of the video, rooms of acts, and the first act in a room."""
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
    visited = {event.from_room for event in events} | {event.to_room for event in events}
    n = len(visited)
    yield Question(
        kind="rooms_count",
        key=str(n),
        answer_type="count",
        params={},
        slots={
            "n": phrases.number(n),
            "rooms": "room" if n == 1 else "rooms",
            "are_n": "is" if n == 1 else "are",
            "option": phrases.number(n),
        },
        distractors=other_counts(n),
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
            slots=event_slots(event) | {"room": room, "option": f"the {room}"},
            evidence=(event,),
            anchor=event.order,
            focus_object=only_object(event),
            focus_event=event.order,
            distractors=_other_rooms(room),
        )
    for room in sorted({event.to_room for event in events if event.to_room}):
        enters = [event for event in events if event.to_room == room and event.from_room != room]
        if len(enters) != 1 or events[0].from_room == room:
            continue
        inside = [event for event in events[enters[0].order + 1 :] if event.action != "walk"]
        if not inside or inside[0].from_room != room:
            continue
        first = inside[0]
        does = phrases.phrase(first.action, first.main, first.targets, "does")
        yield Question(
            kind="first_in_room",
            key=str(first.order),
            answer_type="action",
            params={"room": room},
            slots={"room": plain_name(room), "next": does, "option": does},
            evidence=(enters[0], first),
            focus_object=only_object(first),
            focus_event=first.order,
            distractors=other_actions(story, first, draw=draw, walking=False),
        )


def looks_of_the_person(story: Story, draw: random.Random) -> Iterator[Question]:
    """Colours of clothes and hair, and how many people there are."""
    looks = dict(value.split("_", 1) for value in story.attributes.get(story.agent, ()) if "_" in value)
    for part, colour in sorted(looks.items()):
        plural = part == "trousers"
        word_ = {"yellow": "blond"}.get(colour, colour) if part == "hair" else colour
        others = [c for c in ("red", "blue", "green", "black", "brown", "grey", "white", "purple") if c != word_]
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
            distractors=tuple(draw.sample(others, DISTRACTORS)),
        )
    if looks:
        yield Question(
            kind="people_count",
            key="1",
            answer_type="count",
            params={},
            slots={"n": "one", "option": "one"},
            distractors=("two", "three", "none"),
        )


def how_long(story: Story, draw: random.Random) -> Iterator[Question]:
    """Lengths of the video and of lasting acts."""
    if story.duration_s is None:
        return
    whole = _rounded(story.duration_s)
    yield Question(
        kind="video_length",
        key=str(whole),
        answer_type="seconds",
        params={},
        slots={"n": str(whole), "option": f"about {whole} seconds"},
        distractors=tuple(f"about {round(whole * f)} seconds" for f in (0.4, 1.7, 2.5)),
    )
    seen = set()
    for event in story.events:
        if event.action not in LASTING or event.signature in seen:
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
            slots=event_slots(event) | {"n": str(seconds), "option": f"about {seconds} seconds"},
            evidence=same,
            anchor=event.order if len(same) == 1 else None,
            focus_object=only_object(event),
            distractors=tuple(f"about {n} seconds" for n in (seconds * 2 + 1, seconds * 3 + 2, seconds * 5 + 3)),
        )


def _rounded(seconds: float) -> int:
    """Whole seconds, halves upwards, as SPARQL's ROUND does."""
    return int(round(seconds, 3) + 0.5)


def refusals(story: Story, draw: random.Random) -> Iterator[Question]:
    """Questions without an answer in the graphs: absent things, opinions, the identity of the person."""
    known = {class_of(name) for graph in story.graphs for name in (*graph.shapes, *graph.main_objects)}
    absent = [name for name in ABSENT if name not in known]
    for name in draw.sample(absent, min(3, len(absent))):
        yield Question(
            kind="never_handled",
            key="refusal",
            answer_type="refusal",
            params={"class": name},
            slots={"absent": name},
        )
    lasting = [event for event in distinct_events(story) if event.action in LASTING | {"drink", "jump", "squat"}]
    for event in draw.sample(lasting, min(2, len(lasting))):
        yield Question(
            kind="opinion",
            key="refusal",
            answer_type="refusal",
            params={"event": event.order},
            slots=event_slots(event),
        )
    yield Question(kind="unknown_person", key="refusal", answer_type="refusal", params={}, slots={})


def questions(story: Story, *, seed: int = 0) -> list[Question]:
    """All questions that a story's graphs can answer, in a fixed order.

    Args:
        story: The scenario.
        seed: Chooses the absent things and acts to ask for.
    """
    draw = random.Random(f"questions {seed}")
    return [question for maker in _MAKERS for question in maker(story, draw)]


_MAKERS: Final = (
    first_and_last_things,
    things_after,
    acts_done,
    acts_counted,
    places_of_things,
    rooms_asked,
    acts_beside_acts,
    order_of_acts,
    things_counted,
    looks_of_the_person,
    postures,
    looks_and_states,
    reasons_for_acts,
    cleaning,
    how_long,
    uses,
    refusals,
)
