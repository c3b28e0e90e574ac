"""Questions whose answers are not there yet: asked before the video shows them, at times after, at times in vain.

The user wants the answer as soon as it is known. The words do not say whether it is known now.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from reeltalk.language import phrases
from reeltalk.language.vocabulary import plain_name
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Json
from reeltalk.schema.stream import Moment, UserRequest
from reeltalk_build.graph.story import StoryEvent
from reeltalk_household.questions.changing import Timeline, room_value
from reeltalk_household.questions.proactive_forms import replies, say
from reeltalk_household.questions.question import PLACINGS, act_phrase, called_thing, person_slots
from reeltalk_household.questions.watching import LATEST_S, PASSING_ACTIONS, WALKS, is_short, takes_effect_s

LEAD_S: Final = (5.0, 25.0)
"""How long before its answer is shown a question is asked, in seconds."""
AFTER_S: Final = 20.0
"""A question that can be answered at once is asked at most this long after its answer was shown."""
AT_ONCE_SHARE: Final = 0.3
"""Share of questions that can be answered at once, among those for which that can be."""
NEVER_SHARE: Final = 0.25
"""Share of streams with a question whose answer is never shown."""
AT_ONCE_S: Final = 4.0
"""Time for the answer to a question that can be answered at once."""
MOST_ANSWERED: Final = 3
"""Most questions of a stream that are answered."""
TRIES: Final = 60
SURPRISES: Final = frozenset({"break", "spill", "ring", "pop"})
"""Events that nobody does, and of which the action does not tell the thing."""


@dataclass(frozen=True)
class AwaitedQuestion:
    """A question and the event that answers it, not yet in words."""

    kind: str
    slots: Mapping[str, str]
    """Words of the question and of its answers."""
    event: StoryEvent
    since_s: float
    """Asked before this time, it would have another answer."""
    lasting: bool
    """True if it has this answer after the event too."""
    fact: Mapping[str, Json]


def awaited_questions(timeline: Timeline) -> Iterator[AwaitedQuestion]:
    """All questions that can wait for an answer in a story."""
    yield from _who_does(timeline)
    for person in timeline.story.people:
        yield from _next_acts(timeline, person)
    yield from _surprises(timeline)


def _who_does(timeline: Timeline) -> Iterator[AwaitedQuestion]:
    story = timeline.story
    if len(story.people) < 2:
        return
    alike: dict[str, list[StoryEvent]] = defaultdict(list)
    for event in timeline.events:
        if event.agent is not None and event.main is not None and event.action not in PASSING_ACTIONS:
            alike[act_phrase(event, story, "does")].append(event)
    for does, events in alike.items():
        # A possessive would tell whether it is a woman or a man.
        if len(events) == 1 and is_short(events[0], story) and not {"his", "her"} & set(does.split()):
            event = events[0]
            slots = {"who": story.called[event.agent or ""], "does": does}
            yield AwaitedQuestion("who_does", slots, event, 0.0, True, _fact("who_does", event, "main", "targets"))


def _fact(kind: str, event: StoryEvent, *parts: str) -> dict[str, Json]:
    known: dict[str, Json] = {"agent": event.agent, "main": event.main, "targets": list(event.targets)}
    found: dict[str, Json] = {"kind": kind, "action": event.action} | {part: known[part] for part in parts}
    return found | ({"speech_act": event.speech_act} if event.speech_act is not None else {})


def _next_acts(timeline: Timeline, person: str) -> Iterator[AwaitedQuestion]:
    story, slots = timeline.story, person_slots(person, timeline.story)
    before_s: dict[tuple[str, str], float] = defaultdict(float)
    jumps = timeline.jumps_s(room_value(timeline, person))
    for event in timeline.events:
        if event.agent != person:
            continue
        at_s = takes_effect_s(event)
        main, target = event.main, event.targets[0] if event.targets else None
        if event.action == "grab" and main is not None:
            own = {**slots, "o": called_thing(main, story)}
            yield AwaitedQuestion(
                "what_next", own, event, before_s["grab", ""], False, _fact("what_next", event, "agent")
            )
            before_s["grab", ""] = at_s
        elif event.action in PLACINGS and main is not None and target is not None:
            place = phrases.place_phrase(target, inside=event.action == "putIn")
            place = place.replace(phrases.noun(target), called_thing(target, story))
            own = {**slots, "o": called_thing(main, story), "place": place}
            # Both ways of putting something down answer the question.
            known = _fact("where_put", event, "agent", "main") | {"action": "put"}
            yield AwaitedQuestion("where_put", own, event, before_s["put", main], False, known)
            before_s["put", main] = at_s
        elif event.action == "give" and main is not None and target is not None and len(story.people) > 2:
            own = {**slots, "o": called_thing(main, story), "receiver": called_thing(target, story)}
            known = _fact("to_whom", event, "agent", "main")
            yield AwaitedQuestion("to_whom", own, event, before_s["give", main], False, known)
            before_s["give", main] = at_s
        elif event.action in WALKS and event.to_room is not None and event.to_room != event.from_room:
            own = {**slots, "room": plain_name(event.to_room)}
            known = {"kind": "next_room", "agent": person}
            # Between scenes somebody may go to another room unseen.
            since_s = max([before_s["walk", ""], *(jump_s for jump_s in jumps if jump_s <= at_s)])
            yield AwaitedQuestion("next_room", own, event, since_s, False, known)
            before_s["walk", ""] = at_s


def _surprises(timeline: Timeline) -> Iterator[AwaitedQuestion]:
    before_s: dict[str, float] = defaultdict(float)
    for event in timeline.events:
        if event.agent is None and event.action in SURPRISES and event.main is not None:
            acts = {form: phrases.phrase(event.action, None, (), form) for form in phrases.FORMS}
            slots = {**acts, "o": called_thing(event.main, timeline.story)}
            yield AwaitedQuestion("happens", slots, event, before_s[event.action], False, _fact("happens", event))
            before_s[event.action] = takes_effect_s(event)


def awaited_requests(timeline: Timeline, split: str, draw: random.Random) -> tuple[list[str], list[UserRequest]] | None:
    """Write the questions of one stream.

    Returns:
        Names of the forms, and the requests in the order of time; None if nothing can be asked.
    """
    pool: dict[str, list[AwaitedQuestion]] = defaultdict(list)
    for found in awaited_questions(timeline):
        pool[found.kind].append(found)
    made: list[tuple[str, UserRequest]] = []
    count = draw.randint(1, MOST_ANSWERED)
    for _ in range(TRIES):
        if not pool or len(made) == count:
            break
        kind = draw.choice(sorted(pool))
        one = draw.choice(pool[kind])
        span = _when(one, timeline, draw)
        if span is None or any(_meet(span, request) for _, request in made):
            continue
        at_s, shown = span
        text, form = say(one.kind, one.slots, split, draw)
        moment = Moment(interval=shown, references=replies(one.kind, one.slots))
        made.append((form, UserRequest(at_s=at_s, text=text, act="await", moments=(moment,), fact=dict(one.fact))))
        del pool[kind]
    if not made:
        return None
    made.sort(key=lambda pair: pair[1].at_s)
    if draw.random() < NEVER_SHARE and (last := _in_vain(timeline, made[-1][1], split, draw)) is not None:
        made.append(last)
    return [form for form, _ in made], [request for _, request in made]


def _when(one: AwaitedQuestion, timeline: Timeline, draw: random.Random) -> tuple[float, Interval] | None:
    """When a question is asked, and when its answer is due; None if the time that was drawn does not fit."""
    assert one.event.interval is not None
    shown_s, over_s = takes_effect_s(one.event), one.event.interval.end_s + LATEST_S
    if one.lasting and draw.random() < AT_ONCE_SHARE:
        at_s = round(draw.uniform(over_s, over_s + AFTER_S), 1)
        span = (at_s, round(at_s + AT_ONCE_S, 3))
    else:
        at_s = round(shown_s - draw.uniform(*LEAD_S), 1)
        span = (shown_s, round(over_s, 3))
    if at_s <= one.since_s or span[1] > timeline.until_s:
        return None
    return at_s, Interval(start_s=span[0], end_s=span[1])


def _meet(span: tuple[float, Interval], request: UserRequest) -> bool:
    """True if a question would be asked while another one waits."""
    at_s, shown = span
    return at_s <= request.moments[0].interval.end_s + LATEST_S and request.at_s <= shown.end_s + LATEST_S


def _in_vain(timeline: Timeline, last: UserRequest, split: str, draw: random.Random) -> tuple[str, UserRequest] | None:
    """A question at the end, about what somebody did before and does not do again."""
    story, begin_s = timeline.story, last.moments[0].interval.end_s + LATEST_S
    fitting = []
    for one in awaited_questions(timeline):
        again = [
            other
            for other in awaited_questions(timeline)
            if other.kind == one.kind and other.fact == one.fact and takes_effect_s(other.event) >= begin_s
        ]
        if not one.lasting and not again and one.kind != "next_room":
            fitting.append(one)
    if not fitting or begin_s + LEAD_S[0] > timeline.until_s or not story.people:
        return None
    one = draw.choice(fitting)
    text, form = say(one.kind, one.slots, split, draw)
    at_s = round(draw.uniform(begin_s, timeline.until_s - LEAD_S[0]), 1)
    return form, UserRequest(at_s=at_s, text=text, act="await", fact=dict(one.fact))
