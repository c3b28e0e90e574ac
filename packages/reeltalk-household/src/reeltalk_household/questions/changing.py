"""Facts of a story that change while it goes on, and when they can be asked for.

A `Timeline` knows the situation at each time. A fact is a function of the situation: where a thing is, who holds it,
how many people are in a room, whether a thing is on, how somebody feels, what somebody does, where somebody is. It is
never asked for while it changes, nor before the film has shown it.
"""

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from reeltalk.language import phrases
from reeltalk.language.vocabulary import FEELINGS, ROOMS, class_of, is_person, plain_name
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Json
from reeltalk.schema.stream import Moment, UserRequest
from reeltalk_build.graph.naming import attribute_of
from reeltalk_build.graph.story import Story, StoryEvent, starts_s
from reeltalk_household.questions.proactive_forms import replies, say
from reeltalk_household.questions.question import STATE_WORDS, act_phrase, called_thing, person_slots
from reeltalk_household.questions.watching import PASSING_ACTIONS, takes_effect_s

SETTLED_S: Final = 1.0
"""A fact is asked for at the earliest this long after the end of the event that made it so."""
STILL_S: Final = 0.5
"""A fact is not asked for within this time before the event that changes it."""
LONG_S: Final = 3.0
"""What somebody does is asked for if it takes at least this long."""
FEWEST, MOST = 3, 6
"""How often one question is asked in a stream."""
APART_S: Final = 3.0
"""Least time between two askings of one question."""
COMMONEST: Final = 2 / 3
"""Largest share of one answer among the askings of a question."""
TRIES: Final = 40


@dataclass(frozen=True)
class ChangingFact:
    """Something that has a value at every time of a story."""

    kind: str
    """Whose forms ask for it."""
    params: Mapping[str, str]
    """The thing, person, room or state that it is about, in terms of the graph."""
    slots: Mapping[str, str]
    value: Callable[[int, int], str | None]
    """The value at a situation, given an activity's place in the story and the situation's index; None if unknown."""
    answer: Callable[[str], Mapping[str, str]]
    """Slots of the replies for a value."""
    about: frozenset[str]
    """People or things; the film has shown the fact when each of them took part in an event."""


@dataclass(frozen=True)
class Stretch:
    """A time in which a fact has one value and can be asked for."""

    start_s: float
    end_s: float
    value: str
    act: StoryEvent | None = None
    """What somebody does, if that is the value."""


class Timeline:
    """The situations of a story in the order of time."""

    def __init__(self, story: Story, until_s: float) -> None:
        self.story, self.until_s = story, until_s

    @cached_property
    def events(self) -> tuple[StoryEvent, ...]:
        """All events, in the order in which they take effect."""
        return tuple(sorted(self.story.events, key=lambda event: (takes_effect_s(event), event.order)))

    @cached_property
    def begins_s(self) -> tuple[float, ...]:
        """When each scene begins. Between scenes time may pass, so that things change without an event."""
        return tuple(starts_s(self.story.graphs) or ())

    def shown_s(self, name: str, since_s: float = 0.0) -> float | None:
        """When a person or thing first took part in an event after a time; None if never.

        Who only talks of a thing does not show it.
        """
        return next((at_s for at_s in self._shown.get(name, ()) if at_s >= since_s), None)

    @cached_property
    def _shown(self) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for event in self.events:
            for name in (event.agent, event.main if event.action != "say" else None, *event.targets):
                if name is not None:
                    found.setdefault(name, []).append(takes_effect_s(event))
        return found

    def jumps_s(self, value: Callable[[int, int], str | None]) -> list[float]:
        """Times at which a scene begins with another value than the scene before ended with."""
        graphs = self.story.graphs
        return [
            self.begins_s[part]
            for part in range(1, len(graphs))
            if value(part, 0) != value(part - 1, len(graphs[part - 1].events))
        ]

    def stretches(self, fact: ChangingFact) -> list[Stretch]:
        """When a fact can be asked for, in the order of time."""
        known_s, found = self._known_s(fact, 0.0), []
        begun_s, before = 0.0, fact.value(0, 0)
        for starts, ends, value in self._changes(fact):
            start_s, end_s = max(begun_s, known_s) + SETTLED_S, starts - STILL_S
            if before is not None and start_s < end_s:
                found.append(Stretch(start_s, end_s, before))
            begun_s, before = ends, value
            if starts == ends:
                # After a jump, the video has to show it again.
                known_s = self._known_s(fact, starts)
        return found

    def _known_s(self, fact: ChangingFact, since_s: float) -> float:
        shown = [self.shown_s(name, since_s) for name in fact.about]
        return max((math.inf if at_s is None else at_s for at_s in shown), default=since_s)

    def _changes(self, fact: ChangingFact) -> Iterator[tuple[float, float, str | None]]:
        """The changes of a fact as start, end and new value, in the order of time; the last is the end of the video."""
        before = fact.value(0, 0)
        for part, begin_s in enumerate(self.begins_s):
            if (value := fact.value(part, 0)) != before:
                yield begin_s, begin_s, value
                before = value
            for event in (one for one in self.events if one.part == part):
                value = fact.value(part, event.index + 1)
                if value != before and event.interval is not None:
                    yield event.interval.start_s, event.interval.end_s, value
                    before = value
        yield self.until_s + STILL_S, self.until_s + STILL_S, None

    def facts(self) -> Iterator[ChangingFact]:
        """All facts that change at least once."""
        for maker in _MAKERS:
            for fact in maker(self):
                values = {fact.value(event.part, event.index + 1) for event in self.events}
                if len(values - {None}) > 1:
                    yield fact


def _graph_value(timeline: Timeline, name: str) -> Callable[[int, int], tuple[str, ...]]:
    graphs = timeline.story.graphs
    return lambda part, situation: graphs[part].values_at(name, situation)


def _support(timeline: Timeline, name: str) -> Callable[[int, int], str | None]:
    """What a thing is on or inside, as `on table5`; None if that is unknown or ambiguous."""

    def value(part: int, situation: int) -> str | None:
        found = [
            f"{placed.kind} {placed.target.object}"
            for placed in timeline.story.graphs[part].placed_at(name, situation)
            if placed.kind in ("inside", "on") and class_of(placed.target.object) not in ROOMS
        ]
        return found[0] if len(found) == 1 else None

    return value


def _moved(timeline: Timeline) -> list[str]:
    """Things that are carried, but for those whose name is a plural."""
    names = {event.main for event in timeline.events if event.action in ("grab", "put", "putIn", "give") and event.main}
    return sorted(name for name in names if not is_person(name) and not phrases.is_plural(name))


def _places(timeline: Timeline) -> Iterator[ChangingFact]:
    story = timeline.story
    for name in _moved(timeline):
        support = _support(timeline, name)

        def place(value: str, name: str = name) -> Mapping[str, str]:
            kind, holder = value.split()
            if is_person(holder):
                words = f"in {_possessive(called_thing(holder, story))} hand"
            else:
                words = phrases.place_phrase(holder, inside=kind == "inside").replace(
                    phrases.noun(holder), called_thing(holder, story)
                )
            return {"place": words, "o": called_thing(name, story)}

        yield ChangingFact(
            "where", {"object": name}, {"o": called_thing(name, story)}, support, place, frozenset({name})
        )


def _possessive(name: str) -> str:
    return f"{name}'s"


def _holders(timeline: Timeline) -> Iterator[ChangingFact]:
    story = timeline.story
    if len(story.people) < 2:
        return
    for name in _moved(timeline):
        support = _support(timeline, name)

        def holder(part: int, situation: int, support: Callable[[int, int], str | None] = support) -> str | None:
            found = support(part, situation)
            return None if found is None else found.split()[1] if is_person(found.split()[1]) else "nobody"

        def words(value: str, name: str = name) -> Mapping[str, str]:
            return {"who": called_thing(value, story) if is_person(value) else value, "o": called_thing(name, story)}

        yield ChangingFact(
            "holder", {"object": name}, {"o": called_thing(name, story)}, holder, words, frozenset({name})
        )


def room_value(timeline: Timeline, person: str) -> Callable[[int, int], str | None]:
    """The room of a person by situation."""
    graphs = timeline.story.graphs
    return lambda part, situation: graphs[part].room_at(person, situation)


def _people_in_rooms(timeline: Timeline) -> Iterator[ChangingFact]:
    story = timeline.story
    if len(story.people) < 2:
        return
    rooms = [room_value(timeline, person) for person in story.people]
    for room in sorted({event.to_room for event in timeline.events if event.to_room is not None}):

        def count(part: int, situation: int, room: str = room) -> str | None:
            found = [of(part, situation) for of in rooms]
            return None if None in found else str(found.count(room))

        yield ChangingFact(
            "people",
            {"room": room},
            {"room": plain_name(room)},
            count,
            lambda value: {"n": "nobody" if value == "0" else phrases.number(int(value))},
            frozenset(story.people),
        )


def _rooms(timeline: Timeline) -> Iterator[ChangingFact]:
    for person in timeline.story.people:
        slots = person_slots(person, timeline.story)

        def words(value: str, slots: Mapping[str, str] = slots) -> Mapping[str, str]:
            return {**slots, "room": plain_name(value)}

        yield ChangingFact(
            "in_room", {"person": person}, slots, room_value(timeline, person), words, frozenset({person})
        )


def _states(timeline: Timeline) -> Iterator[ChangingFact]:
    story = timeline.story
    acted = {event.main for event in timeline.events if event.main is not None and not is_person(event.main)}
    for name in sorted(acted):
        values = _graph_value(timeline, name)
        for state, opposite in (("ON", "OFF"), ("OPEN", "CLOSED")):

            def is_so(
                part: int,
                situation: int,
                values: Callable[[int, int], tuple[str, ...]] = values,
                state: str = state,
                opposite: str = opposite,
            ) -> str | None:
                found = values(part, situation)
                return "yes" if state in found else "no" if opposite in found else None

            slots = {"o": called_thing(name, story), "state": STATE_WORDS[state]}
            if phrases.is_plural(name):
                continue
            yield ChangingFact(
                "is_state",
                {"object": name, "state": state},
                slots,
                is_so,
                lambda value: {"yes": value},
                frozenset({name}),
            )


def _feelings(timeline: Timeline) -> Iterator[ChangingFact]:
    for person in timeline.story.people:
        values, slots = _graph_value(timeline, person), person_slots(person, timeline.story)

        def feeling(part: int, situation: int, values: Callable[[int, int], tuple[str, ...]] = values) -> str | None:
            found = [value for value in values(part, situation) if value in FEELINGS]
            return (found or ["CALM"])[0] if len(found) < 2 else None

        def words(value: str, slots: Mapping[str, str] = slots) -> Mapping[str, str]:
            return {**slots, "feeling": FEELINGS.get(value, "calm")}

        yield ChangingFact("feels", {"person": person}, slots, feeling, words, frozenset({person}))


_MAKERS: Final = (_places, _holders, _people_in_rooms, _rooms, _states, _feelings)


def activity_stretches(timeline: Timeline, person: str) -> list[Stretch]:
    """When it can be asked what a person does: in the second half of long acts."""
    story, found = timeline.story, []
    for event in (story.of(person) if len(story.people) > 1 else story).events:
        if event.action in PASSING_ACTIONS or event.interval is None or event.interval.duration_s < LONG_S:
            continue
        start_s, end_s = takes_effect_s(event) + STILL_S, event.interval.end_s - STILL_S
        if start_s < end_s:
            found.append(Stretch(start_s, end_s, act_phrase(event, timeline.story, "doing"), event))
    return found


@dataclass(frozen=True)
class Asking:
    """A fact, or what a person does, with the times at which it can be asked for."""

    kind: str
    params: Mapping[str, str]
    slots: Mapping[str, str]
    stretches: Sequence[Stretch]
    answers: Mapping[str, tuple[str, ...]]
    """Replies by value."""


def askings(timeline: Timeline) -> list[Asking]:
    """All that can be asked for and whose answers change."""
    found = []
    for fact in timeline.facts():
        stretches = timeline.stretches(fact)
        answers = {one.value: replies(fact.kind, {**fact.slots, **fact.answer(one.value)}) for one in stretches}
        found.append(Asking(fact.kind, fact.params, fact.slots, stretches, answers))
    for person in timeline.story.people:
        slots = person_slots(person, timeline.story)
        shown = activity_stretches(timeline, person)
        answers = {
            one.value: replies(
                "doing", {**slots, "doing": one.value, "does": act_phrase(one.act, timeline.story, "does")}
            )
            for one in shown
            if one.act is not None
        }
        found.append(Asking("doing", {"person": person}, slots, shown, answers))
    return [asking for asking in found if len(asking.answers) > 1]


def colour_askings(timeline: Timeline) -> list[Asking]:
    """Colours of things that need no colour in their names, from when the film has shown them."""
    story, found = timeline.story, []
    for name in story.things:
        colour, shown_s = attribute_of(story.attributes.get(name, ()), "colour"), timeline.shown_s(name)
        if colour is None or shown_s is None or name in story.called or phrases.is_plural(name):
            continue
        slots = {"o": called_thing(name, story)}
        answers = {colour: replies("colour", {**slots, "colour": colour})}
        known = Stretch(shown_s + SETTLED_S, timeline.until_s, colour)
        found.append(Asking("colour", {"object": name}, slots, [known], answers))
    return found


def draw_stretch(asking: Asking, draw: random.Random) -> Stretch:
    """A time for a question, by its answer: all answers are as likely, however long each of them holds."""
    value = draw.choice(sorted({stretch.value for stretch in asking.stretches}))
    return draw.choice([stretch for stretch in asking.stretches if stretch.value == value])


def request_of(asking: Asking, stretch: Stretch, at_s: float, text: str) -> UserRequest:
    """A question about a fact at a time, to be answered at once."""
    moment = Moment(interval=Interval(start_s=at_s, end_s=at_s), references=asking.answers[stretch.value])
    fact: dict[str, Json] = {"kind": asking.kind, "value": stretch.value, **asking.params}
    if stretch.act is not None:
        fact |= {"action": stretch.act.action, "main": stretch.act.main}
    return UserRequest(at_s=at_s, text=text, act="ask", moments=(moment,), fact=fact)


def changing_requests(
    timeline: Timeline, split: str, draw: random.Random, *, used: frozenset[str] = frozenset()
) -> tuple[str, list[UserRequest]] | None:
    """One question, asked at several times with answers that change.

    Args:
        timeline: The story in time.
        split: The split whose forms are used.
        draw: Chooses the question, its wording and its times.
        used: Questions that are asked already, by their facts, and not asked again.

    Returns:
        The name of the form and the requests; None if no fact changes often enough.
    """
    by_kind: dict[str, list[Asking]] = {}
    for asking in askings(timeline):
        if _name(asking) not in used:
            by_kind.setdefault(asking.kind, []).append(asking)
    kinds = list(by_kind)
    draw.shuffle(kinds)
    for kind in kinds:
        some = by_kind[kind]
        draw.shuffle(some)
        for asking in some:
            if times := _times(asking, draw):
                text, form = say(kind, asking.slots, split, draw)
                return form, [request_of(asking, stretch, at_s, text) for at_s, stretch in times]
    return None


def _name(asking: Asking) -> str:
    return f"{asking.kind} {sorted(asking.params.items())}"


def _times(asking: Asking, draw: random.Random) -> list[tuple[float, Stretch]]:
    for _ in range(TRIES):
        count = draw.randint(FEWEST, MOST)
        picked = [draw_stretch(asking, draw) for _ in range(count)]
        times = sorted((round(draw.uniform(one.start_s, one.end_s), 1), one) for one in picked)
        times = [(at_s, one) for at_s, one in times if one.start_s <= at_s <= one.end_s]
        apart = all(later - earlier >= APART_S for (earlier, _), (later, _) in itertools.pairwise(times))
        commonest = Counter(one.value for _, one in times).most_common(1)
        if apart and len(times) >= FEWEST and commonest[0][1] <= COMMONEST * len(times):
            return times
    return []
