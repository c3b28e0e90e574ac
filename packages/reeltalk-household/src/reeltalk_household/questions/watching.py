"""Events that a user may ask to hear about, when they are known, and words for them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from reeltalk.language import phrases
from reeltalk.language.vocabulary import ROOMS, class_of, is_person, plain_name
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Json
from reeltalk.schema.stream import Moment
from reeltalk_build.graph.naming import SOMEBODY
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.question import act_phrase, called_thing, person_slots

PASSING_ACTIONS: Final = frozenset({"walk", "run", "stand", "turnTo"})
"""Actions on the way to others; only narration tells them."""
LATEST_S: Final = 2.0
"""Seconds after an event's end in which a message still helps; StreamingBench's tolerance."""
LONGEST_S: Final = 5.0
"""Longer acts of several people are not watched for: when the film shows them first is not certain to a tolerance."""
WALKS: Final = frozenset({"walk", "run"})
SOMEONE: Final = "someone"
SOMETHING: Final = "something"


def takes_effect_s(event: StoryEvent) -> float:
    """When an event takes effect, in seconds of the video: at the end of a walk, else in the middle of the event.

    The film shows this moment of every event.
    """
    assert event.interval is not None  # The story has times.
    if event.action in WALKS:
        return event.interval.end_s
    return round((event.interval.start_s + event.interval.end_s) / 2, 3)


def is_short(event: StoryEvent, story: Story) -> bool:
    """True if it is certain when a film shows an event: it is no long act of one of several people."""
    return len(story.people) < 2 or event.interval is None or event.interval.duration_s <= LONGEST_S


def due_interval(events: Sequence[StoryEvent], until_s: float) -> Interval | None:
    """When a message about events is due; None if the video ends before.

    It is due from the effect of the first event to `LATEST_S` after the end of the last.
    """
    start_s, last = takes_effect_s(events[0]), events[-1].interval
    assert last is not None
    if start_s >= until_s:
        return None
    return Interval(start_s=round(start_s, 3), end_s=round(min(last.end_s + LATEST_S, until_s), 3))


def subject_of(event: StoryEvent, story: Story) -> str:
    """Who or what an event is about, in words: who acts, or the thing that changes by itself."""
    if event.agent is not None or event.main is None:
        return story.called.get(event.agent or story.agent, SOMEBODY)
    return called_thing(event.main, story)


def messages(event: StoryEvent, story: Story) -> tuple[str, ...]:
    """Messages that tell an event, each of which is right; the first is the fullest."""
    who = subject_of(event, story)
    said = [f"{who} {act_phrase(event, story, 'does')}."]
    if event.to_room is not None and event.action in WALKS and event.to_room != event.from_room:
        room = plain_name(event.to_room)
        said += [f"{who} enters the {room}.", f"{who} walks into the {room}."]
    if event.targets and event.action in ("put", "putIn", "pour"):
        said.append(f"{who} {_act(event, story, targets=())}.")
    if event.main is not None and event.action in ("sit", "lie"):
        said.append(f"{who} {_act(event, story, targets=(), main=None)}.")
    if event.action == "say" and event.targets:
        listener = called_thing(event.targets[0], story)
        said += [f"{who} talks to {listener}.", f"{who} says something to {listener}."]
    return tuple(dict.fromkeys(phrases.sentence(one) for one in said))


def _act(event: StoryEvent, story: Story, *, targets: Sequence[str], main: str | None = "") -> str:
    changed = replace(event, targets=tuple(targets), main=event.main if main == "" else main)
    return act_phrase(changed, story, "does")


def moments_of(events: Iterable[StoryEvent], story: Story, until_s: float) -> tuple[Moment, ...]:
    """One moment for each event that the video shows, in the order of time."""
    found = [
        Moment(interval=span, references=messages(event, story))
        for event in events
        if (span := due_interval((event,), until_s)) is not None
    ]
    return tuple(sorted(found, key=lambda moment: (moment.interval.start_s, moment.interval.end_s)))


WATCHED_EVENTS: Final = {
    "open": ({"open", "unwrap"}, "open something", "opens something", "opening something"),
    "close": ({"close"}, "close something", "closes something", "closing something"),
    "grab": ({"grab"}, "pick something up", "picks something up", "picking something up"),
    "put": ({"put", "putIn"}, "put something somewhere", "puts something somewhere", "putting something somewhere"),
    "switch_on": ({"switchOn"}, "switch something on", "switches something on", "switching something on"),
    "switch_off": ({"switchOff"}, "switch something off", "switches something off", "switching something off"),
    "sit": ({"sit"}, "sit down", "sits down", "sitting down"),
    "stand": ({"stand"}, "stand up", "stands up", "standing up"),
    "give": ({"give"}, "hand something over", "hands something over", "handing something over"),
    "say": ({"say"}, "say something", "says something", "saying something"),
    "consume": ({"eat", "drink"}, "eat or drink something", "eats or drinks something", "eating or drinking something"),
    "clean": (
        {"wipe", "scrub", "wash", "rinse", "sweep", "brush"}, "clean something", "cleans something",
        "cleaning something",
    ),
    "feel": (
        {"smile", "frown", "scowl", "gasp"}, "become happy, sad, angry or surprised",
        "becomes happy, sad, angry or surprised", "becoming happy, sad, angry or surprised",
    ),
    "smile": ({"smile"}, "start to smile", "starts to smile", "starting to smile"),
    "anger": ({"scowl"}, "get angry", "gets angry", "getting angry"),
    "affection": (
        {"hug", "wave"}, "hug a person or wave to one", "hugs a person or waves to one",
        "hugging a person or waving to one",
    ),
    "happen": (
        {"boil", "pop", "ring", "break", "spill"}, "break, spill, boil, ring or pop",
        "breaks, spills, boils, rings or pops", "breaking, spilling, boiling, ringing or popping",
    ),
}  # fmt: skip
"""What one may watch for: actions, and words as base form, third person and gerund. Nobody does what just happens."""
DOUBTFUL_ACTIONS: Final = {
    "grab": {"answer"}, "put": {"drop", "throw"}, "give": {"throw", "show"}, "sit": {"fallsit"}, "stand": {"wakeUp"},
    "say": {"answer"}, "clean": {"soak"}, "affection": {"greet", "comfort"}, "consume": {"squeeze"},
}  # fmt: skip
"""Actions and speech acts of which one can argue whether they count. Where they occur, that is not watched for."""
IDLE_ACTIONS: Final = PASSING_ACTIONS | {"say", "lookAt", "watch", "wait"}
"""Actions that do nothing with the thing that they are about."""


@dataclass(frozen=True)
class Watch:
    """A kind of event to watch for."""

    what: str
    """A key of `WATCHED_EVENTS`, `enter` or `handle`."""
    actions: frozenset[str]
    words: tuple[str, str, str]
    """The act as base form, third person and gerund."""
    agent: str | None = None
    """Only of this person."""
    thing: str | None = None
    """Only with this thing as main object, or the room that is entered."""

    def fits(self, event: StoryEvent) -> bool:
        """True if an event counts for this watch."""
        if self.agent is not None and event.agent != self.agent:
            return False
        if self.what == "happen":
            return event.agent is None and event.action in self.actions
        if self.what == "enter":
            return event.to_room == self.thing and event.to_room != event.from_room and event.agent is not None
        if event.agent is None or (self.thing is not None and event.main != self.thing):
            return False
        return event.action in self.actions or (self.what == "handle" and event.action not in IDLE_ACTIONS)

    def events(self, story: Story) -> list[StoryEvent]:
        """The events of a story that count, in the order of time."""
        fitting = (event for event in story.events if self.fits(event))
        return sorted(fitting, key=lambda event: (takes_effect_s(event), event.order))

    def is_tellable(self, story: Story) -> bool:
        """True if each of its events is known when it is shown."""
        return all(is_short(event, story) for event in self.events(story))

    def of(self, person: str | None) -> "Watch":
        """The same, but only of one person, or of anybody."""
        return replace(self, agent=person)

    def slots(self, story: Story) -> dict[str, str]:
        """Words for the slots of surface forms."""
        do, does, doing = self.words
        if self.agent is not None:
            who = person_slots(self.agent, story)
        else:
            someone = SOMETHING if self.what == "happen" else SOMEONE
            who = {"who": someone, "he": "it" if someone == SOMETHING else "he", "him": "it", "his": "its"}
        return {**who, "do": do, "does": does, "doing": doing}

    @property
    def fact(self) -> dict[str, Json]:
        """What it looks for, in terms of the graph."""
        found: dict[str, Json] = {"kind": self.what, "actions": sorted(self.actions)}
        return found | {name: value for name, value in (("agent", self.agent), ("thing", self.thing)) if value}


def watches(story: Story) -> Iterator[Watch]:
    """All that can be watched for in a story and happens at least twice."""
    for watch in _watches(story):
        if len(watch.events(story)) > 1 and watch.is_tellable(story):
            yield watch


def _watches(story: Story) -> Iterator[Watch]:
    acted = {name for event in story.events for name in (event.action, event.speech_act)}
    for what, (actions, *words) in WATCHED_EVENTS.items():
        if acted & DOUBTFUL_ACTIONS.get(what, set()):
            continue
        do, does, doing = words
        yield Watch(what, frozenset(actions), (do, does, doing))
    for room in sorted({event.to_room for event in story.events if event.to_room is not None}):
        if class_of(room) in ROOMS:
            name = plain_name(room)
            words_ = (f"come into the {name}", f"comes into the {name}", f"coming into the {name}")
            yield Watch("enter", frozenset(), words_, thing=room)
    for thing in sorted({event.main for event in story.events if event.main is not None and event.action == "grab"}):
        if not is_person(thing):
            called = called_thing(thing, story)
            words_ = (f"do something with {called}", f"does something with {called}", f"doing something with {called}")
            yield Watch("handle", frozenset(), words_, thing=thing)


def slots_of(event: StoryEvent, story: Story) -> Mapping[str, str]:
    """Words for the slots of forms about one event."""
    acts = {form: act_phrase(event, story, form) for form in phrases.FORMS}
    if event.agent is not None or event.main is None:
        return {**person_slots(event.agent or story.agent, story), **acts}
    thing = called_thing(event.main, story)
    return {"who": thing, "he": "it", "him": "it", "his": "its", **acts}
