"""Questions about two scenes of one video, for SVBench's rewriting; exact and checked by SPARQL.

The conversation is about the later scene; the earlier one comes before it. A question names everything that it asks
about, so it makes sense without other questions about its scene. The methods of the rewriting catalogue
(`schema/rewriting.toml`) list the kinds of questions that they use.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from reeltalk.language import phrases
from reeltalk.language.vocabulary import ROOMS, class_of, plain_name
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.question import (
    LASTING,
    PLACINGS,
    STATE_WORDS,
    Question,
    act_phrase,
    called_thing,
    event_key,
    event_slots,
    object_slots,
    only_object,
)
from reeltalk_household.questions.questions import ask_of_person, rooms_known
from reeltalk_household.questions.together import CROSSWISE

DULL: Final = frozenset({"walk", "stand", "turnTo"})
"""Actions that only connect others; no question is about them."""
POSED: Final = frozenset({"drink", "eat", "read", "watch", "type", "write", "text", "brush", "pour", "sleep"})
"""Actions that can be done standing, sitting or lying."""
LEAST_SECONDS: Final = 2
"""Shortest time in seconds that a question asks for."""
MOST_BETWEEN_S: Final = 0.5
"""Longest gap in seconds between two scenes that count as continuous."""
SAME_TIME_S: Final = 0.01
_NO_PLACE: Final = frozenset({"character", "floor"})


def linked_questions(story: Story, boundary: int) -> Iterator[Question]:
    """All questions about both scenes together, in a fixed order.

    Args:
        story: The activities of both scenes, the earlier first.
        boundary: The order of the later scene's first event.
    """
    whole = _Scenes(story, boundary)
    if story.person is not None or (len(story.people) == 1 and not story.names):
        for maker in (*_OF_A_PERSON, _changed):
            yield from maker(whole)
        return
    parts = {event.part for event in whole.after}
    for person in story.people:
        own = story.of(person)
        later = sum(event.part in parts for event in own.events)
        if 0 < later < len(own.events):
            scenes = _Scenes(own, len(own.events) - later, between_s=whole.between_s, everybody=whole.after)
            for maker in _OF_A_PERSON:
                yield from (ask_of_person(question, person, story) for question in maker(scenes))
    yield from _changed(whole)


class _Scenes:
    def __init__(
        self,
        story: Story,
        boundary: int,
        *,
        between_s: float | None = None,
        everybody: Sequence[StoryEvent] | None = None,
    ) -> None:
        self.story, self.boundary = story, boundary
        self.before, self.after = story.events[:boundary], story.events[boundary:]
        self.everybody = self.after if everybody is None else everybody
        """What everybody does in the later scene, if the story is one person's."""
        self.between_s = self._gap_s() if between_s is None else between_s

    @property
    def joined(self) -> bool:
        """True if the later scene starts when the earlier one ends, so nothing unknown happens in between."""
        return self.between_s < MOST_BETWEEN_S

    @property
    def timed(self) -> bool:
        """True if the graphs give the time between the scenes."""
        return self.between_s < SAME_TIME_S or all(graph.begins_s is not None for graph in self.story.graphs)

    def _gap_s(self) -> float:
        ends = [event.interval.end_s for event in self.before if event.interval is not None]
        starts = [event.interval.start_s for event in self.after if event.interval is not None]
        return min(starts) - max(ends) if ends and starts else 0.0

    def telling(self, events: Sequence[StoryEvent]) -> list[StoryEvent]:
        """Events of a scene that can be named unambiguously, without walks and turns."""
        counts = Counter(event.signature for event in events)
        return [event for event in events if counts[event.signature] == 1 and event.action not in DULL]


def _slots(event: StoryEvent, story: Story, *, suffix: str = "") -> dict[str, str]:
    return {f"{form}{suffix}": words for form, words in event_slots(event, story).items()}


def _does(event: StoryEvent, story: Story, it: str | None = None) -> str:
    pronouns = {it: "them" if phrases.is_plural(it) else "it"} if it else {}
    return act_phrase(event, story, "does", pronouns)


def _seconds(value: float) -> int | None:
    """Whole seconds, rounded as in SPARQL; None if the value is too near a half, or too small to ask for."""
    if abs(value % 1 - 0.5) < 0.02 or value < LEAST_SECONDS:
        return None
    return int(value + 0.5)


def _objects(scenes: _Scenes) -> Iterator[Question]:
    """Questions about a thing in both scenes: its places, its final state, its uses."""
    mains = [
        {e.main for e in part if e.main and class_of(e.main) not in ROOMS} for part in (scenes.before, scenes.after)
    ]
    tellable = {event.order for event in scenes.telling(scenes.before)}
    for name in sorted(mains[0] & mains[1]):
        earlier, later = (
            [e for e in p if e.main == name and e.action != "walk"] for p in (scenes.before, scenes.after)
        )
        if not earlier or not later:
            continue
        yield from _places(scenes, name, earlier, later)
        yield from _states(scenes, name, later)
        known = next((event for event in reversed(earlier) if event.order in tellable), None)
        if known is not None:
            yield Question(
                kind="linked_outcome",
                key=event_key(later[0]),
                answer_type="action",
                params={"object": name, "boundary": scenes.boundary},
                slots=object_slots(name, scenes.story)
                | _slots(known, scenes.story, suffix="1")
                | {"next": _does(later[0], scenes.story, name)},
                evidence=(known, later[0]),
                focus_object=name,
                focus_event=later[0].order,
            )
        yield Question(
            kind="linked_use",
            key=event_key(earlier[-1]),
            answer_type="action",
            params={"object": name, "boundary": scenes.boundary},
            slots=object_slots(name, scenes.story) | {"next": _does(earlier[-1], scenes.story, name)},
            evidence=(earlier[-1],),
            focus_object=name,
        )


def _places(
    scenes: _Scenes, name: str, earlier: Sequence[StoryEvent], later: Sequence[StoryEvent]
) -> Iterator[Question]:
    last = earlier[-1]
    found = scenes.story.support_after(last, name) if last.action in PLACINGS else None
    if found is None or class_of(found[0]) in _NO_PLACE:
        return
    left = phrases.place_phrase(found[0], inside=found[1])
    yield Question(
        kind="linked_left",
        key=found[0],
        answer_type="place",
        params={"object": name, "event": last.order},
        slots=object_slots(name, scenes.story) | {"place": left},
        evidence=(last,),
        focus_object=name,
    )
    end = later[-1]
    now = scenes.story.support_after(end, name) if end.action in PLACINGS else None
    if now is None or class_of(now[0]) in _NO_PLACE or class_of(now[0]) == class_of(found[0]):
        return
    yield Question(
        kind="linked_trajectory",
        key="|".join(sorted((found[0], now[0]))),
        answer_type="place",
        params={"object": name, "event": last.order, "other": end.order},
        slots=object_slots(name, scenes.story) | {"place1": left, "place": phrases.place_phrase(now[0], inside=now[1])},
        evidence=(last, end),
        focus_object=name,
    )


def _states(scenes: _Scenes, name: str, later: Sequence[StoryEvent]) -> Iterator[Question]:
    story, last = scenes.story, scenes.before[-1]
    done = (later[-1].part, later[-1].index)
    if any((event.part, event.index) > done and event.main == name for event in scenes.everybody):
        # Somebody else leaves it as it is at the end.
        return
    for a, b in (("ON", "OFF"), ("OPEN", "CLOSED")):
        before = {a, b} & set(story.graphs[last.part].values_at(name, last.index + 1))
        now = {a, b} & set(story.values_at_end(name))
        # Something that nothing is done to in the later scene is left as it was.
        if len(before) != 1 or len(now) != 1 or later[-1].action not in ("open", "close", "switchOn", "switchOff"):
            continue
        was, is_ = (STATE_WORDS[values.pop()] for values in (before, now))
        yield Question(
            kind="linked_state",
            key=next(value for value in (a, b) if STATE_WORDS[value] == is_),
            answer_type="choice",
            params={"object": name, "value": a},
            slots=object_slots(name, scenes.story)
            | {"a": STATE_WORDS[a], "b": STATE_WORDS[b], "state": is_}
            | {"as": "as before" if was == is_ else f"and no longer {was}"},
            evidence=(later[-1],),
            focus_object=name,
        )


def _pairs(scenes: _Scenes) -> Iterator[Question]:
    """Questions about an act of the earlier scene and one of the later, of the same kind or in the same place."""
    rooms = rooms_known(scenes.story)
    for earlier in scenes.telling(scenes.before):
        for later in scenes.telling(scenes.after):
            if earlier.action == later.action or (earlier.main is not None and earlier.main == later.main):
                yield from _beside(scenes, earlier, later)
                yield from _apart(scenes, earlier, later, "linked_interval")
            if earlier.action == later.action == "grab":
                yield from _purpose(scenes, earlier, later)
                yield from _source(scenes, earlier, later)
            if rooms and earlier.action == later.action:
                yield _place(scenes, earlier, later)
            if rooms and earlier.action in POSED and later.action in POSED:
                yield _posture(scenes, earlier, later)
            if earlier.action in LASTING and later.action in LASTING:
                yield from _longer(scenes, earlier, later)
            if rooms and earlier.from_room == later.from_room:
                yield from _rooms(scenes, earlier, later)
                yield from _apart(scenes, earlier, later, "linked_return")


def _params(earlier: StoryEvent, later: StoryEvent) -> dict[str, str | int]:
    return {"event": later.order, "other": earlier.order}


def _beside(scenes: _Scenes, earlier: StoryEvent, later: StoryEvent) -> Iterator[Question]:
    for kind, place in (("linked_next", later.order + 1), ("linked_previous", later.order - 1)):
        if not scenes.boundary <= place < len(scenes.story.events):
            continue
        asked = scenes.story.events[place]
        # Whoever picks something up has walked there: no question.
        goes_there = asked.action == "walk" and asked.main in (later.main, *later.targets)
        if asked.signature == later.signature or (goes_there and kind == "linked_previous"):
            continue
        yield Question(
            kind=kind,
            key=event_key(asked),
            answer_type="action",
            params=_params(earlier, later),
            slots=_slots(later, scenes.story)
            | _slots(earlier, scenes.story, suffix="1")
            | {"next": _does(asked, scenes.story)},
            evidence=(earlier, *sorted((later, asked), key=lambda event: event.order)),
            focus_object=only_object(asked),
            focus_event=asked.order,
        )


def _apart(scenes: _Scenes, earlier: StoryEvent, later: StoryEvent, kind: str) -> Iterator[Question]:
    if earlier.interval is None or later.interval is None or not scenes.timed:
        return
    seconds = _seconds(later.interval.start_s - earlier.interval.end_s)
    if seconds is None or seconds < 0:
        return
    yield Question(
        kind=kind,
        key=str(seconds),
        answer_type="seconds",
        params=_params(earlier, later),
        slots=_slots(later, scenes.story) | _slots(earlier, scenes.story, suffix="1") | {"n": str(seconds)},
        evidence=(earlier, later),
        focus_object=only_object(later),
        focus_event=later.order,
    )


def _purpose(scenes: _Scenes, earlier: StoryEvent, later: StoryEvent) -> Iterator[Question]:
    name = later.main
    if name is None:
        return
    used = next((event for event in scenes.story.events[later.order + 1 :] if event.main == name), None)
    if used is None or used.action in ("grab", "walk"):
        return
    # An object that is put away after its use was not taken for that.
    between = scenes.story.events[later.order + 1 : used.order]
    if used.action in PLACINGS and not {event.action for event in between} <= DULL | {"open"}:
        return
    pronouns = {name: "them" if phrases.is_plural(name) else "it"}
    yield Question(
        kind="linked_purpose",
        key=event_key(used),
        answer_type="action",
        params=_params(earlier, later),
        slots=_slots(earlier, scenes.story, suffix="1")
        | object_slots(name, scenes.story)
        | {"purpose": act_phrase(used, scenes.story, "do", pronouns)},
        evidence=(earlier, later, used),
        focus_object=name,
        focus_event=used.order,
    )


def _source(scenes: _Scenes, earlier: StoryEvent, later: StoryEvent) -> Iterator[Question]:
    found = scenes.story.support_before(later, later.main) if later.main else None
    if later.main is None or found is None or class_of(found[0]) in _NO_PLACE:
        return
    yield Question(
        kind="linked_source",
        key=found[0],
        answer_type="place",
        params=_params(earlier, later),
        slots=_slots(earlier, scenes.story, suffix="1")
        | object_slots(later.main, scenes.story)
        | {"place": phrases.place_phrase(found[0], inside=found[1])},
        evidence=(earlier, later),
        focus_object=later.main,
        focus_event=later.order,
    )


def _place(scenes: _Scenes, earlier: StoryEvent, later: StoryEvent) -> Question:
    room = later.from_room or ""
    return Question(
        kind="linked_place",
        key=class_of(room),
        answer_type="room",
        params=_params(earlier, later),
        slots=_slots(later, scenes.story) | _slots(earlier, scenes.story, suffix="1") | {"room": plain_name(room)},
        evidence=(earlier, later),
        focus_object=only_object(later),
        focus_event=later.order,
    )


def _posture(scenes: _Scenes, earlier: StoryEvent, later: StoryEvent) -> Question:
    posture = scenes.story.posture_before(later)
    return Question(
        kind="linked_posture",
        key=posture,
        answer_type="choice",
        params=_params(earlier, later),
        slots=_slots(later, scenes.story) | _slots(earlier, scenes.story, suffix="1") | {"posture": posture},
        evidence=(earlier, later),
        focus_object=only_object(later),
        focus_event=later.order,
    )


def _longer(scenes: _Scenes, earlier: StoryEvent, later: StoryEvent) -> Iterator[Question]:
    if earlier.interval is None or later.interval is None:
        return
    longer, shorter = sorted((earlier, later), key=lambda e: -e.interval.duration_s if e.interval else 0.0)
    assert longer.interval is not None
    assert shorter.interval is not None
    seconds = _seconds(longer.interval.duration_s - shorter.interval.duration_s)
    if seconds is None:
        return
    where = {earlier.order: "in the earlier scene", later.order: "in this scene"}
    yield Question(
        kind="linked_longer",
        key=str(seconds),
        answer_type="seconds",
        params=_params(earlier, later),
        slots=_slots(longer, scenes.story)
        | _slots(shorter, scenes.story, suffix="1")
        | {"where": where[longer.order], "where1": where[shorter.order], "n": str(seconds)},
        evidence=(earlier, later),
        focus_object=only_object(later) if longer is later else None,
    )


def _rooms(scenes: _Scenes, earlier: StoryEvent, later: StoryEvent) -> Iterator[Question]:
    between = scenes.story.events[earlier.order : later.order]
    names = list(dict.fromkeys(room for event in between for room in (event.from_room, event.to_room) if room))
    # Where only one room is seen, whoever knows one of the two acts knows the answer.
    if not scenes.joined or len({class_of(room) for room in names}) < 2:
        return
    yield Question(
        kind="linked_rooms",
        key="|".join(sorted({class_of(room) for room in names})),
        answer_type="room",
        params=_params(earlier, later),
        slots=_slots(later, scenes.story)
        | _slots(earlier, scenes.story, suffix="1")
        | {"rooms": phrases.join_list([f"the {plain_name(room)}" for room in names])},
        evidence=(earlier, *(e for e in between[1:] if e.from_room != e.to_room), later),
        focus_object=only_object(later),
        focus_event=later.order,
    )


def _repeated(scenes: _Scenes) -> Iterator[Question]:
    """Questions how often an act happens that both scenes show."""
    later = Counter(event.signature for event in scenes.after if event.action not in DULL)
    for signature in sorted({event.signature for event in scenes.before} & set(later)):
        same = tuple(event for event in scenes.story.events if event.signature == signature)
        mains = {event.main for event in same}
        yield Question(
            kind="linked_often",
            key=str(len(same)),
            answer_type="count",
            params={"signature": event_key(same[0])},
            slots=_slots(same[0], scenes.story) | {"times": phrases.times(len(same))},
            evidence=same,
            focus_object=only_object(same[-1]) if len(mains) == 1 else None,
        )


def _trends(scenes: _Scenes) -> Iterator[Question]:
    """Questions if an act is done more often in the later scene than in the earlier, whatever it is done to."""
    for action, words in CROSSWISE.items():
        before, after = ([event for event in part if event.action == action] for part in (scenes.before, scenes.after))
        if not before or not after:
            continue
        key = "more" if len(after) > len(before) else "fewer" if len(after) < len(before) else "as many"
        yield Question(
            kind="linked_trend",
            key=key,
            answer_type="comparison",
            params={"action": action, "boundary": scenes.boundary},
            slots={"act": words, "more": key, "as": "as" if key == "as many" else "than"}
            | {"n1": phrases.times(len(before)), "n": phrases.times(len(after))},
            # It counts acts on whatever things, and names neither one of them nor a thing that *it* might mean.
            evidence=(*before, *after),
        )


def _changed(scenes: _Scenes) -> Iterator[Question]:
    """Questions which things in a room were moved since the end of the earlier scene."""
    if not rooms_known(scenes.story):
        return
    first, last = scenes.after[0], scenes.after[-1]
    placings: dict[str, list[StoryEvent]] = {}
    for event in scenes.after:
        if event.action in PLACINGS and event.main:
            placings.setdefault(event.main, []).append(event)
    moved: dict[str, list[tuple[str, StoryEvent]]] = {}
    for name, events in placings.items():
        before, now = scenes.story.support_before(first, name), scenes.story.support_after(last, name)
        rooms = {event.from_room for event in events}
        places = [found[0] for found in (before, now) if found is not None and class_of(found[0]) not in _NO_PLACE]
        if len(rooms) != 1 or len(places) != 2:
            # Where it was or is cannot be said, so neither can what has changed in the room.
            for room in rooms:
                moved.setdefault(room or "", []).append(("", events[-1]))
        elif places[0] != places[1]:
            moved.setdefault(events[-1].from_room or "", []).append((name, events[-1]))
    for room, things in sorted(moved.items()):
        names = sorted(name for name, _ in things)
        if not room or not all(names) or len({class_of(name) for name in names}) < len(names):
            continue
        yield Question(
            kind="linked_moved",
            key="|".join(names),
            answer_type="object",
            params={"room": room, "boundary": scenes.boundary},
            slots={
                "room": plain_name(room),
                "things": phrases.join_list([called_thing(name, scenes.story) for name in names]),
            },
            evidence=tuple(event for _, event in things),
            focus_object=names[0] if len(names) == 1 else None,
        )


_OF_A_PERSON: Final = (_objects, _pairs, _repeated, _trends)
