"""Questions about a scene and the film before it, for SVBench's chains and rewriting; exact and checked by SPARQL.

Questions about both need what came before: without the earlier film their answer would be another, or there would be
none. Questions about a scene alone say so, and ask what one person does in it, or what is taken from a place. The
methods of the rewriting catalogue (`schema/rewriting.toml`) list the kinds of questions that they use.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from reeltalk.language import phrases
from reeltalk.language.vocabulary import ROOMS, class_of, plain_name
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.question import (
    GRABS,
    LONG_ACTS,
    PLACINGS,
    Question,
    act_phrase,
    called_thing,
    event_key,
    event_slots,
    object_slots,
    only_object,
    present_clause,
)
from reeltalk_household.questions.questions import ask_of_person, rooms_known
from reeltalk_household.questions.together import SHARED_ACTIONS, UNASKED_ACTIONS, about_person

CONNECTING_ACTS: Final = frozenset({"walk", "run", "stand", "turnTo", "lookAt", "wait"})
"""Acts that only connect others: no question is about them, and no answer tells of one."""
LEAST_SECONDS: Final = 2
"""Shortest time in seconds that a question asks for."""
SAME_TIME_S: Final = 0.01
_NO_PLACE: Final = frozenset({"character", "floor"})


def linked_questions(story: Story, boundary: int) -> Iterator[Question]:
    """All questions about a scene and the film before it together, in a fixed order.

    Args:
        story: The film up to the end of the scene.
        boundary: The order of the scene's first event.
    """
    whole = _Scenes(story, boundary)
    if story.person is not None or (len(story.people) == 1 and not story.names):
        for maker in (*_OF_A_PERSON, _changed):
            yield from maker(whole)
        return
    yield from _held(whole)
    parts = {event.part for event in whole.after}
    for person in story.people:
        own = story.of(person)
        later = sum(event.part in parts for event in own.events)
        if 0 < later < len(own.events):
            scenes = _Scenes(own, len(own.events) - later, between_s=whole.between_s)
            for maker in _OF_A_PERSON:
                yield from (ask_of_person(question, person, story) for question in maker(scenes))
    yield from _changed(whole)


def scene_questions(story: Story, boundary: int) -> Iterator[Question]:
    """All questions about the last scene of a film alone, in a fixed order: they name no act, and so need a person.

    Args:
        story: The film up to the end of the scene, with several people.
        boundary: The order of the scene's first event.
    """
    if not story.names:
        return
    parts = {event.part for event in story.events[boundary:]}
    for person in story.people:
        own = story.of(person)
        scenes = _Scenes(own, sum(event.part not in parts for event in own.events), between_s=0.0)
        for maker in (_here, _there):
            yield from (ask_of_person(question, person, story) for question in maker(scenes))
    for event in story.events[boundary:]:
        yield from _answered(event, story)


class _Scenes:
    def __init__(self, story: Story, boundary: int, *, between_s: float | None = None) -> None:
        self.story, self.boundary = story, boundary
        self.before, self.after = story.events[:boundary], story.events[boundary:]
        self.between_s = self._gap_s() if between_s is None else between_s

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
        return [event for event in events if counts[event.signature] == 1 and event.action not in CONNECTING_ACTS]


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
    """Questions about a thing that is handled both before and in the later scene: its places, its last use."""
    mains = [
        {e.main for e in part if e.main and class_of(e.main) not in ROOMS} for part in (scenes.before, scenes.after)
    ]
    for name in sorted(mains[0] & mains[1]):
        earlier, later = (
            [e for e in p if e.main == name and e.action not in CONNECTING_ACTS] for p in (scenes.before, scenes.after)
        )
        if not earlier or not later:
            continue
        yield from _places(scenes, name, earlier, later)
        yield Question(
            kind="linked_use",
            key=event_key(earlier[-1]),
            answer_type="action",
            params={"object": name, "boundary": scenes.boundary},
            slots=object_slots(name, scenes.story) | {"next": _does(earlier[-1], scenes.story, name)},
            evidence=(earlier[-1],),
            focus_object=name,
        )


def _act(kind: str, event: StoryEvent, scenes: _Scenes, **params: str | int) -> Question:
    """A question whose answer is an act of its person."""
    later = event.order >= scenes.boundary
    return Question(
        kind=kind,
        key=event_key(event),
        answer_type="action",
        params={**params, "boundary": scenes.boundary},
        slots={"next": _does(event, scenes.story)},
        evidence=(event,),
        focus_object=only_object(event) if later else None,
        focus_event=event.order if later else None,
    )


def _here(scenes: _Scenes) -> Iterator[Question]:
    """What somebody does, takes and says first in a scene, and does last."""
    told = [event for event in scenes.after if event.action not in CONNECTING_ACTS]
    for kind, event in (("first_here", told[0]), ("last_here", told[-1])) if len(told) > 1 else ():
        # After the last act, a viewer counts walks and looks as acts, too.
        if event.action not in _UNTOLD and (kind == "first_here" or event is scenes.after[-1]):
            yield _act(kind, event, scenes)
    takes = [event for event in scenes.after if event.action == "grab" and event.main]
    if takes:
        name = takes[0].main or ""
        yield Question(
            kind="takes_here",
            key=name,
            answer_type="object",
            params={"boundary": scenes.boundary},
            slots=object_slots(name, scenes.story) | {"first": " first" if len(takes) > 1 else ""},
            evidence=(takes[0],),
            focus_object=name,
            focus_event=takes[0].order,
        )
    for kind, actions in (("from_here", GRABS), ("put_here", PLACINGS)):
        yield from _place_here(kind, actions, scenes)
    said = [event for event in scenes.after if event.says]
    if said:
        yield Question(
            kind="says_here",
            key=said[0].says or "",
            answer_type="utterance",
            params={"boundary": scenes.boundary},
            slots={"says": said[0].says or "", "first": " first" if len(said) > 1 else ""},
            evidence=(said[0],),
            focus_event=said[0].order,
        )


def _place_here(kind: str, actions: Collection[str], scenes: _Scenes) -> Iterator[Question]:
    """Where a thing is taken from or put in a scene, if that happens in it once and elsewhere too."""
    times, often = (
        Counter(event.main for event in part if event.action in actions) for part in (scenes.after, scenes.story.events)
    )
    for event in scenes.after:
        name = event.main
        if name is None or event.action not in actions or times[name] != 1 or often[name] == 1:
            continue
        where = scenes.story.support_before if actions is GRABS else scenes.story.support_after
        found = where(event, name)
        if found is not None and class_of(found[0]) not in _NO_PLACE:
            yield Question(
                kind=kind,
                key=found[0],
                answer_type="place",
                params={"object": name, "boundary": scenes.boundary},
                slots=object_slots(name, scenes.story) | {"place": phrases.place_phrase(found[0], inside=found[1])},
                evidence=(event,),
                anchor=name,
                focus_object=name,
            )


def _there(scenes: _Scenes) -> Iterator[Question]:
    """What somebody takes from a place in a scene, if it is one thing."""
    taken: dict[str, list[StoryEvent]] = {}
    for event in scenes.after:
        found = scenes.story.support_before(event, event.main) if event.action == "grab" and event.main else None
        if found is not None and class_of(found[0]) not in _NO_PLACE:
            taken.setdefault(found[0], []).append(event)
    for place, events in sorted(taken.items()):
        name = events[0].main or ""
        if len({event.main for event in events}) == 1:
            yield Question(
                kind="takes_there",
                key=name,
                answer_type="object",
                params={"object": place, "boundary": scenes.boundary},
                slots=object_slots(place, scenes.story) | {"thing": called_thing(name, scenes.story)},
                evidence=(events[0],),
                anchor=place,
                focus_object=name,
                focus_event=events[0].order,
            )


def _answered(event: StoryEvent, story: Story) -> Iterator[Question]:
    """What is said in answer to somebody, if it is one thing."""
    answers = [other for other in story.events if other.cause == event.order and other.says]
    if event.says is None or len(answers) != 1:
        return
    answer = answers[0]
    yield Question(
        kind="says_back",
        key=answer.says or "",
        answer_type="utterance",
        params={"event": event.order},
        slots={"told": present_clause(event, story), "says": answer.says or "", "p": story.called[answer.agent or ""]},
        evidence=(event, answer),
        anchor=event.order,
        focus_event=answer.order,
        focus_person=answer.agent,
    )


def _recalled(scenes: _Scenes) -> Iterator[Question]:
    """What somebody did last before a scene, and last in the room to which the scene brings them back."""
    told = [event for event in scenes.before if event.action not in _UNTOLD]
    if told:
        yield _act("linked_before", told[-1], scenes)
    room = scenes.after[0].to_room
    there = [event for event in told if event.from_room == room]
    if room is not None and there and any(e.from_room != room for e in scenes.story.events[there[-1].order :]):
        made = _act("linked_room", there[-1], scenes, room=room)
        yield replace(made, slots={**made.slots, "room": plain_name(room)})


def _held(scenes: _Scenes) -> Iterator[Question]:
    """Who had a thing before somebody else has it in a scene."""
    done: set[str] = set()
    for event in scenes.after:
        name = event.main or ""
        earlier = [other for other in scenes.before if other.main == name and other.action in PLACINGS]
        if event.action != "grab" or name in done or not earlier:
            continue
        done.add(name)
        last = earlier[-1]
        if last.agent is not None and event.agent not in (None, last.agent):
            made = Question(
                kind="linked_who",
                key=last.agent,
                answer_type="person",
                params={"object": name, "boundary": scenes.boundary},
                slots=object_slots(name, scenes.story) | {"p": scenes.story.called[last.agent]},
                evidence=(last,),
                focus_object=name,
            )
            yield about_person(made, event.agent, scenes.story)


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


def _pairs(scenes: _Scenes) -> Iterator[Question]:
    """Questions about an act of the earlier film and one of the later scene, of the same kind or on the same thing."""
    for earlier in scenes.telling(scenes.before):
        for later in scenes.telling(scenes.after):
            if earlier.action == later.action or (earlier.main is not None and earlier.main == later.main):
                yield from _apart(scenes, earlier, later)
            if earlier.action in LONG_ACTS and later.action in LONG_ACTS:
                yield from _longer(scenes, earlier, later)


def _params(earlier: StoryEvent, later: StoryEvent) -> dict[str, str | int]:
    return {"event": later.order, "other": earlier.order}


def _apart(scenes: _Scenes, earlier: StoryEvent, later: StoryEvent) -> Iterator[Question]:
    if earlier.interval is None or later.interval is None or not scenes.timed:
        return
    seconds = _seconds(later.interval.start_s - earlier.interval.end_s)
    if seconds is None or seconds < 0:
        return
    yield Question(
        kind="linked_interval",
        key=str(seconds),
        answer_type="seconds",
        params=_params(earlier, later),
        slots=_slots(later, scenes.story) | _slots(earlier, scenes.story, suffix="1") | {"n": str(seconds)},
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
    where = {earlier.order: "earlier", later.order: "in this scene"}
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


def _repeated(scenes: _Scenes) -> Iterator[Question]:
    """Questions how often an act happens that both scenes show."""
    later = Counter(event.signature for event in scenes.after if event.action not in CONNECTING_ACTS)
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
    for action, words in SHARED_ACTIONS.items():
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


_OF_A_PERSON: Final = (_objects, _pairs, _repeated, _trends, _recalled)
_UNTOLD: Final = CONNECTING_ACTS | UNASKED_ACTIONS | {"close", "say"}
"""Acts that do not answer what somebody does."""
