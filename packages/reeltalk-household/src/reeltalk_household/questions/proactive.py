"""Proactive tasks from graphs: what a user says while a video runs, and when something is to be said back.

The simple kinds are one request at the start of the video. `changing` asks one question several times, `ready` asks for
what is not shown yet, and `standing` adds, changes and cancels requests between questions.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final

from reeltalk.language import phrases
from reeltalk.language.vocabulary import class_of, plain_name
from reeltalk.schema.record import VideoId, derive_id
from reeltalk.schema.stream import Moment, ProactiveTask, UserRequest
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.awaited import awaited_requests
from reeltalk_household.questions.changing import Timeline, changing_requests
from reeltalk_household.questions.proactive_forms import replies, say
from reeltalk_household.questions.question import (
    ROOM_NAMES,
    STATE_WORDS,
    act_phrase,
    called_thing,
    objects_of,
    person_slots,
)
from reeltalk_household.questions.questions import ABSENT_THINGS, can_be_done_to, rooms_known
from reeltalk_household.questions.standing import standing_requests
from reeltalk_household.questions.watching import (
    PASSING_ACTIONS,
    WALKS,
    Watch,
    due_interval,
    is_short,
    messages,
    slots_of,
    takes_effect_s,
    watches,
)

SIMPLE_KINDS: Final = ("event", "room", "state", "count", "absent", "narrate")
"""Kinds of one request."""
STREAM_KINDS: Final = ("changing", "ready", "standing")
"""Kinds of several requests."""
KINDS: Final = (*SIMPLE_KINDS, *STREAM_KINDS)
STATES: Final = {"switchOn": "ON", "switchOff": "OFF", "open": "OPEN", "close": "CLOSED"}
_SWITCHES: Final = ({"switchOn", "switchOff"}, {"open", "close"})
MOST_MOMENTS_OF_AN_EVENT: Final = 3
"""More frequent events are only asked for with *each time*."""
APART_S: Final = 2.0
"""Least time between two moments at which things are to be counted."""
UNKNOWN_SHARE: Final = 0.3
"""Number of absent events with an object that no house has."""


@dataclass(frozen=True)
class _Due:
    """An event to watch for, not yet in words."""

    form: str
    """The kind whose forms ask for it."""
    slots: Mapping[str, str]
    """Words of the instruction."""
    events: tuple[tuple[StoryEvent, ...], ...] = ()
    """One entry per moment: the events that one message covers."""
    generic: bool = False
    """True if each message has its own words instead of those of the instruction."""


def tasks_of(
    story: Story,
    video_id: VideoId,
    split: str,
    seed: int,
    *,
    until_s: float | None = None,
    kinds: Iterable[str] = SIMPLE_KINDS,
    per_kind: int = 1,
) -> list[ProactiveTask]:
    """Write the proactive tasks of a story.

    Args:
        story: The video's events.
        split: The split whose surface forms are used: `train`, `dev` or `test`.
        seed: Chooses events and wordings.
        until_s: End of the video in seconds; the end of the story by default.
        kinds: Kinds of tasks, a selection of `KINDS`; those of one request by default.
        per_kind: Most tasks of a kind.

    Returns:
        Tasks in the order of `kinds`; empty if the story has no times.
    """
    if story.interval is None:
        return []
    end_s = story.interval.end_s if until_s is None else until_s
    timeline = Timeline(story, end_s)
    tasks: list[ProactiveTask] = []

    def add(kind: str, forms: Sequence[str], requests: Sequence[UserRequest]) -> None:
        said = " ".join(f"{request.at_s:g} {request.text}" for request in requests)
        name = derive_id("proactive", video_id, kind, said, seed)
        if name not in {task.id for task in tasks}:
            tasks.append(
                ProactiveTask(
                    id=name,
                    video_id=video_id,
                    requests=tuple(requests),
                    until_s=end_s,
                    kind=kind,
                    extra={"forms": list(forms)},
                )
            )

    for kind in kinds:
        draw = random.Random(f"proactive {seed} {video_id} {kind}")
        if kind in SIMPLE_KINDS:
            found = list(_MAKERS[kind](story, draw))
            for due in draw.sample(found, min(per_kind, len(found))):
                request, form = _worded(due, story, split=split, until_s=end_s, draw=draw)
                add(kind, [form], [request])
            continue
        for _ in range(per_kind):
            if written := _streamed(kind, timeline, split, draw):
                add(kind, *written)
    return tasks


def _streamed(
    kind: str, timeline: Timeline, split: str, draw: random.Random
) -> tuple[Sequence[str], Sequence[UserRequest]] | None:
    if kind == "standing":
        return standing_requests(timeline, split, draw)
    if kind == "ready":
        return awaited_requests(timeline, split, draw)
    found = changing_requests(timeline, split, draw)
    return None if found is None else ([found[0]], found[1])


def _worded(due: _Due, story: Story, *, split: str, until_s: float, draw: random.Random) -> tuple[UserRequest, str]:
    text, form = say(due.form, due.slots, split, draw)
    moments = []
    for together in due.events:
        interval = due_interval(together, until_s)
        if interval is None:
            continue
        own = {**due.slots, **(slots_of(together[0], story) if due.generic else {})}
        told = replies(due.form, own)
        # The act itself says it as well as the state that it leads to.
        moments.append(
            Moment(interval=interval, references=tuple(dict.fromkeys((*told, *messages(together[0], story)))))
        )
    moments.sort(key=lambda moment: (moment.interval.start_s, moment.interval.end_s))
    return UserRequest(text=text, moments=tuple(moments)), form


def _alike(story: Story) -> list[list[StoryEvent]]:
    """Events grouped by who does what in words, in order, without actions on the way to others."""
    found: dict[tuple[str | None, str], list[StoryEvent]] = defaultdict(list)
    for event in story.events:
        if event.action not in PASSING_ACTIONS:
            found[event.agent, act_phrase(event, story, "does")].append(event)
    return list(found.values())


def _own(story: Story, person: str) -> Story:
    """The story of a person alone. Events of a story of one person may not say whose they are."""
    return story.of(person) if len(story.people) > 1 else story


def _apart(events: Sequence[StoryEvent]) -> bool:
    """True if the messages about events cannot be taken for each other."""
    times = sorted(takes_effect_s(event) for event in events)
    return all(later - earlier >= APART_S for earlier, later in pairwise(times))


def _single(events: Iterable[StoryEvent]) -> tuple[tuple[StoryEvent, ...], ...]:
    return tuple((event,) for event in events)


def _events(story: Story, draw: random.Random) -> Iterator[_Due]:
    for events in _alike(story):
        if len(events) <= MOST_MOMENTS_OF_AN_EVENT and all(is_short(event, story) for event in events):
            yield _Due("event", slots_of(events[0], story), _single(events))


def _rooms(story: Story, draw: random.Random) -> Iterator[_Due]:
    entered = defaultdict(list)
    for event in (event for person in story.people for event in _own(story, person).events):
        if event.to_room is not None and event.to_room != event.from_room and event.action in WALKS:
            entered[event.agent or story.agent, class_of(event.to_room)].append(event)
    for (person, room), events in sorted(entered.items()):
        yield _Due("room", {**person_slots(person, story), "room": plain_name(room)}, _single(events))


def _states(story: Story, draw: random.Random) -> Iterator[_Due]:
    changed: dict[tuple[str, str], list[StoryEvent]] = defaultdict(list)
    for event in story.events:
        if event.action in STATES and event.main is not None:
            changed[event.action, event.main].append(event)
    for (action, name), events in changed.items():
        switch = next(actions for actions in _SWITCHES if action in actions)
        first = next(e for e in story.events if e.action in switch and e.main == name)
        # An object that is closed at the beginning would be due from the first frame on.
        if first.action == action:
            plural = phrases.is_plural(name)
            slots = {
                "o": called_thing(name, story),
                "is": "are" if plural else "is",
                "it_is": "they are" if plural else "it is",
                "state": STATE_WORDS[STATES[action]],
            }
            yield _Due("state", slots, _single(events))


def _counts(story: Story, draw: random.Random) -> Iterator[_Due]:
    for events in _alike(story):
        if len(events) > 1 and all(is_short(event, story) for event in events) and _apart(events):
            yield _Due("watch", slots_of(events[0], story), _single(events))
    for watch in watches(story):
        for person in (None, *(story.people if len(story.people) > 1 else ())):
            if watch.what not in ("handle", "happen", "enter"):
                yield from _each(watch.of(person), story)


def _each(watch: Watch, story: Story) -> Iterator[_Due]:
    events = watch.events(story)
    if len({event.signature for event in events}) > 1 and _apart(events):
        slots = watch.slots(story)
        if watch.agent is None and len(story.people) == 1:
            slots = {**slots, **person_slots(story.people[0], story)}
        yield _Due("watch", slots, _single(events), generic=True)


def _absent(story: Story, draw: random.Random) -> Iterator[_Due]:
    """Events that never happen: acts of others, acts on other suitable things, on unknown things, in other rooms."""
    person = draw.choice(story.people)
    done = {(event.agent, act_phrase(event, story, "does")) for event in story.events}
    others = [
        event
        for event in story.events
        if event.agent not in (None, person)
        and event.action not in PASSING_ACTIONS
        and person not in (event.main, *event.targets)
        and (person, act_phrase(event, story, "does")) not in done
    ]
    if others and draw.random() < 0.5:
        for event in others:
            yield _Due("event", {**slots_of(event, story), **person_slots(person, story)})
        return
    slots = person_slots(person, story)
    acted = {(event.action, class_of(event.main or "")) for event in story.events}
    classes = {class_of(name) for name in objects_of(story)}
    near = sorted(
        (action, name)
        for action in {action for action, _ in acted}
        for name in classes
        if (action, name) not in acted and can_be_done_to(action, name)
    )
    rooms: list[str] = []
    if rooms_known(_own(story, person)):
        own = _own(story, person).events
        been = {class_of(room) for event in own for room in (event.from_room, event.to_room) if room is not None}
        rooms = [room for room in ROOM_NAMES if room not in {plain_name(name) for name in been}]
    if rooms and draw.random() < UNKNOWN_SHARE:
        yield _Due("room", {**slots, "room": draw.choice(rooms)})
    elif near and draw.random() >= UNKNOWN_SHARE:
        for action, name in near:
            yield _Due("event", {**slots, **_acts(action, name)})
    else:
        for name in ABSENT_THINGS:
            yield _Due("event", {**slots, **_acts("grab", name)})


def _acts(action: str, name: str) -> dict[str, str]:
    return {form: phrases.phrase(action, name, (), form) for form in phrases.FORMS}


def _narration(story: Story, draw: random.Random) -> Iterator[_Due]:
    """All events of a person, with immediate repetitions told once."""
    for person in story.people:
        events = _own(story, person).events
        runs = [tuple(run) for _, run in groupby(events, key=lambda event: act_phrase(event, story, "does"))]
        if runs:
            yield _Due("narrate", person_slots(person, story), tuple(runs), generic=True)


_MAKERS: Final[Mapping[str, Callable[[Story, random.Random], Iterator[_Due]]]] = {
    "event": _events,
    "room": _rooms,
    "state": _states,
    "count": _counts,
    "absent": _absent,
    "narrate": _narration,
}
