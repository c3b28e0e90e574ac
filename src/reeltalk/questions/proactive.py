"""Proactive tasks from graphs: an instruction at the start of a video, and the moments at which a message is due.

The message about an act may come from the start of its event. A change of state or room can be told from the middle of
its event, when the film shows it. Both are due until `LATEST_S` after the event's end.
"""

import random
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from reeltalk.graph import phrases
from reeltalk.graph.story import Story, StoryEvent
from reeltalk.graph.vocabulary import class_of, plain_name
from reeltalk.questions.grammar import split_of_form
from reeltalk.questions.question import ROOM_NAMES, objects_of
from reeltalk.questions.questions import ABSENT, can_be_done_to, rooms_known
from reeltalk.questions.wording import fill_form
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import VideoId, derive_id
from reeltalk.schema.stream import Moment, ProactiveTask

FORMS: Final = Path(__file__).parent / "proactive.toml"
KINDS: Final = ("event", "room", "state", "count", "absent", "narrate")
LATEST_S: Final = 2.0
"""Seconds after an event's end in which a message still helps; StreamingBench's tolerance."""
PASSING: Final = frozenset({"walk", "run", "stand", "turnTo"})
"""Actions on the way to others; only narration tells them."""
STATES: Final = {"switchOn": "on", "switchOff": "off", "open": "open", "close": "closed"}
_SWITCHES: Final = ({"switchOn", "switchOff"}, {"open", "close"})
ANY_OF: Final = {
    "grab": ("pick something up", "picks something up", "picking something up"),
    "open": ("open something", "opens something", "opening something"),
    "close": ("close something", "closes something", "closing something"),
    "sit": ("sit down", "sits down", "sitting down"),
    "switchOn": ("switch something on", "switches something on", "switching something on"),
    "switchOff": ("switch something off", "switches something off", "switching something off"),
}
"""Actions that may be counted for any object: base form, third person, gerund."""
MOST_MOMENTS_OF_AN_EVENT: Final = 3
"""More frequent events are only asked for with *each time*."""
UNKNOWN_SHARE: Final = 0.3
"""Number of absent events with an object that no house has."""


class ProactiveForm(BaseModel):
    """The surface forms of one kind of instruction and of its messages."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    forms: tuple[str, ...]
    answers: tuple[str, ...]


@cache
def proactive_forms() -> Mapping[str, ProactiveForm]:
    """Surface forms by kind; `absent` has no forms."""
    raw = tomllib.loads(FORMS.read_text(encoding="utf-8"))
    return {kind: ProactiveForm.model_validate(form) for kind, form in raw.items()}


def proactive_forms_of(kind: str, split: str) -> list[tuple[str, str]]:
    """The forms that a split may use, each with its name, for example `room/forms/3`."""
    given = proactive_forms()[kind].forms
    return [(f"{kind}/forms/{n}", text) for n, text in enumerate(given) if split_of_form(n) == split]


@dataclass(frozen=True)
class _Due:
    """An event to watch for, not yet in words."""

    form: str
    """The kind whose forms ask for it."""
    slots: Mapping[str, str]
    """Words of the instruction."""
    events: tuple[tuple[StoryEvent, ...], ...] = ()
    """One entry per moment: the events that one message covers."""
    changes: bool = False
    """True if the event can be seen only from its middle on."""
    generic: bool = False
    """True if each message has its own words instead of those of the instruction."""


def tasks_of(
    story: Story,
    video_id: VideoId,
    split: str,
    seed: int,
    *,
    until_s: float | None = None,
    kinds: Iterable[str] = KINDS,
    per_kind: int = 1,
) -> list[ProactiveTask]:
    """Write the proactive tasks of a story.

    Args:
        story: The video's events.
        video_id: The video.
        split: The split whose surface forms are used: `train`, `dev` or `test`.
        seed: Chooses events and wordings.
        until_s: End of the video in seconds; the end of the story by default.
        kinds: Kinds of tasks, a selection of `KINDS`.
        per_kind: Most tasks of a kind.

    Returns:
        Tasks in the order of `kinds`; empty if the story has no times.
    """
    if story.interval is None:
        return []
    end_s = story.interval.end_s if until_s is None else until_s
    tasks = []
    for kind in kinds:
        draw = random.Random(f"proactive {seed} {video_id} {kind}")
        found = list(_MAKERS[kind](story, draw))
        for due in draw.sample(found, min(per_kind, len(found))):
            tasks.append(_worded(due, kind=kind, video_id=video_id, split=split, until_s=end_s, seed=seed, draw=draw))
    return tasks


def _worded(
    due: _Due, *, kind: str, video_id: VideoId, split: str, until_s: float, seed: int, draw: random.Random
) -> ProactiveTask:
    name, template = draw.choice(proactive_forms_of(due.form, split))
    instruction = phrases.sentence(fill_form(template, due.slots, named=True))
    answer = draw.choice(proactive_forms()[due.form].answers)
    moments = []
    for together in due.events:
        interval = _interval(together, changes=due.changes, until_s=until_s)
        if interval is None:
            continue
        own = _acts(together[0])
        told = phrases.sentence(fill_form(answer, own if due.generic else due.slots, named=False))
        # The act itself says it as well as the state that it leads to.
        act = f"walks to the {due.slots['room']}" if due.form == "room" else own["does"]
        plain = phrases.sentence(f"he {act}.")
        moments.append(Moment(interval=interval, references=tuple(dict.fromkeys((told, plain)))))
    moments.sort(key=lambda moment: (moment.interval.start_s, moment.interval.end_s))
    return ProactiveTask(
        id=derive_id("proactive", video_id, kind, instruction, seed),
        video_id=video_id,
        instruction=instruction,
        until_s=until_s,
        moments=tuple(moments),
        kind=kind,
        extra={"form": name},
    )


def _interval(together: Sequence[StoryEvent], *, changes: bool, until_s: float) -> Interval | None:
    first, last = together[0].interval, together[-1].interval
    assert first is not None  # The story has times.
    assert last is not None
    start_s = (first.start_s + first.end_s) / 2 if changes else first.start_s
    if start_s >= until_s:
        return None
    return Interval(start_s=round(start_s, 3), end_s=round(min(last.end_s + LATEST_S, until_s), 3))


def _acts(event: StoryEvent) -> dict[str, str]:
    return {form: phrases.phrase(event.action, event.main, event.targets, form) for form in phrases.FORMS}


def _alike(story: Story) -> list[list[StoryEvent]]:
    """Events grouped by their words, in order, without actions on the way to others."""
    found: dict[str, list[StoryEvent]] = defaultdict(list)
    for event in story.events:
        if event.action not in PASSING:
            found[_acts(event)["does"]].append(event)
    return list(found.values())


def _single(events: Iterable[StoryEvent]) -> tuple[tuple[StoryEvent, ...], ...]:
    return tuple((event,) for event in events)


def _events(story: Story, draw: random.Random) -> Iterator[_Due]:
    for events in _alike(story):
        if len(events) <= MOST_MOMENTS_OF_AN_EVENT:
            yield _Due("event", _acts(events[0]), _single(events))


def _rooms(story: Story, draw: random.Random) -> Iterator[_Due]:
    if not rooms_known(story):
        return
    entered = defaultdict(list)
    for event in story.events:
        if event.to_room is not None and event.to_room != event.from_room:
            entered[class_of(event.to_room)].append(event)
    for room, events in sorted(entered.items()):
        yield _Due("room", {"room": plain_name(room)}, _single(events), changes=True)


def _states(story: Story, draw: random.Random) -> Iterator[_Due]:
    for events in _alike(story):
        action, name = events[0].action, class_of(events[0].main or "")
        if action not in STATES or not name:
            continue
        switch = next(actions for actions in _SWITCHES if action in actions)
        first = next(e for e in story.events if e.action in switch and class_of(e.main or "") == name)
        # An object that is closed at the beginning would be due from the first frame on.
        if first.action == action:
            plural = phrases.is_plural(name)
            slots = {
                "o": phrases.noun(name),
                "is": "are" if plural else "is",
                "it_is": "they are" if plural else "it is",
                "state": STATES[action],
            }
            yield _Due("state", slots, _single(events), changes=True)


def _counts(story: Story, draw: random.Random) -> Iterator[_Due]:
    for events in _alike(story):
        if len(events) > 1:
            yield _Due("count", _acts(events[0]), _single(events))
    for action, words in ANY_OF.items():
        same = [event for event in story.events if event.action == action]
        if len({event.signature for event in same}) > 1:
            yield _Due("count", dict(zip(phrases.FORMS, words, strict=True)), _single(same), generic=True)


def _absent(story: Story, draw: random.Random) -> Iterator[_Due]:
    """Events that never happen: acts on other suitable objects of the story, on unknown objects, in other rooms."""
    acted = {(event.action, class_of(event.main or "")) for event in story.events}
    classes = {class_of(name) for name in objects_of(story)}
    near = sorted(
        (action, name)
        for action in {action for action, _ in acted}
        for name in classes
        if (action, name) not in acted and can_be_done_to(action, name)
    )
    rooms: list[str] = []
    if rooms_known(story):
        been = {class_of(r) for event in story.events for r in (event.from_room, event.to_room) if r is not None}
        rooms = [room for room in ROOM_NAMES if room not in {plain_name(name) for name in been}]
    if rooms and draw.random() < UNKNOWN_SHARE:
        yield _Due("room", {"room": draw.choice(rooms)})
    elif near and draw.random() >= UNKNOWN_SHARE:
        for action, name in near:
            yield _Due("event", {form: phrases.phrase(action, name, (), form) for form in phrases.FORMS})
    else:
        for name in ABSENT:
            yield _Due("event", {form: phrases.phrase("grab", name, (), form) for form in phrases.FORMS})


def _narration(story: Story, draw: random.Random) -> Iterator[_Due]:
    """All events, with immediate repetitions told once."""
    runs = [tuple(run) for _, run in groupby(story.events, key=lambda event: _acts(event)["does"])]
    if runs:
        yield _Due("narrate", {}, tuple(runs), generic=True)


_MAKERS: Final[Mapping[str, Callable[[Story, random.Random], Iterator[_Due]]]] = {
    "event": _events,
    "room": _rooms,
    "state": _states,
    "count": _counts,
    "absent": _absent,
    "narrate": _narration,
}
