"""Streams with standing requests that are added, changed and cancelled, and with questions in between.

The words come at times at which nothing that they are about happens. After a change or a cancellation at least one
event follows that would have been announced before and is not any more. Two messages are never due at once.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from reeltalk.schema.intervals import Interval
from reeltalk.schema.stream import RequestAct, UserRequest
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.changing import Asking, Timeline, askings, colour_askings, draw_stretch, request_of
from reeltalk_household.questions.proactive_forms import say
from reeltalk_household.questions.watching import LATEST_S, Watch, moments_of, takes_effect_s, watches

CLEAR_S: Final = 2.5
"""No words of the user come within this time of an event that they are about: StreamingBench's tolerance, and more."""
APART_S: Final = 4.5
"""Least time between two messages that are due: they cannot be taken for each other."""
TRIES: Final = 150
"""How often each pattern is tried."""
MOST_QUESTIONS: Final = 3
"""Most questions between the requests of a stream."""
PATTERNS: Final = ("only", "instead", "added", "ended")
"""`only`: one person's events from some time on. `instead`: other events from some time on. `added`: other events too.
`ended`: one request that is cancelled."""
PATTERNS_TRIED: Final = (*PATTERNS, "only", "instead", "only", "instead", "added")
"""Patterns as often as they are tried first: those with changes need more luck with the events."""


@dataclass(frozen=True)
class _Step:
    """A request whose words are not chosen yet."""

    at_s: float
    act: RequestAct
    watch: Watch
    of: int | None = None
    due: tuple[StoryEvent, ...] = ()
    quiet: tuple[StoryEvent, ...] = ()


def standing_requests(
    timeline: Timeline, split: str, draw: random.Random
) -> tuple[list[str], list[UserRequest]] | None:
    """Write the requests and questions of one stream.

    Returns:
        Names of the forms, and the requests in the order of time; None if the story has too few events of any kind.
    """
    known = list(watches(timeline.story))
    if not known:
        return None
    for pattern in dict.fromkeys(draw.sample(PATTERNS_TRIED, len(PATTERNS_TRIED))):
        for _ in range(TRIES):
            steps = _draw_steps(timeline, known, pattern, draw)
            if steps and _are_sound(steps, timeline):
                return _worded(steps, timeline, split, draw)
    return None


def _draw_steps(timeline: Timeline, known: Sequence[Watch], pattern: str, draw: random.Random) -> list[_Step]:
    """Requests at times drawn at random; empty if the events do not allow the pattern."""
    story = timeline.story
    what = draw.choice(sorted({watch.what for watch in known}))
    first = draw.choice([watch for watch in known if watch.what == what])
    other = draw.choice(known)
    if pattern == "only" and (first.what == "happen" or len(story.people) < 2):
        return []
    if pattern in ("instead", "added") and (other == first or set(other.events(story)) & set(first.events(story))):
        return []
    about = [*first.events(story), *(other.events(story) if pattern in ("instead", "added") else ())]
    gaps = list(_gaps(about, timeline.until_s))
    cuts = sorted(round(draw.uniform(*draw.choice(gaps)), 1) for _ in range(2 if pattern == "ended" else 3))
    if draw.random() < 0.5 and gaps[0][0] == 0.0:
        cuts[0] = 0.0
    begin_s, change_s, *ends = cuts
    end_s = ends[0] if ends and draw.random() < 0.85 else None
    until_s = timeline.until_s if end_s is None else end_s

    def between(watch: Watch, start_s: float, stop_s: float) -> tuple[StoryEvent, ...]:
        return tuple(event for event in watch.events(story) if start_s <= takes_effect_s(event) < stop_s)

    if pattern == "ended":
        return [
            _Step(begin_s, "watch", first, due=between(first, begin_s, change_s)),
            _Step(change_s, "cancel", first, 0, quiet=between(first, change_s, timeline.until_s)),
        ]
    if pattern == "added":
        second = _Step(change_s, "watch", other, due=between(other, change_s, timeline.until_s))
        steps = [_Step(begin_s, "watch", first, due=between(first, begin_s, until_s)), second]
        if end_s is not None:
            steps.append(_Step(end_s, "cancel", first, 0, quiet=between(first, end_s, timeline.until_s)))
        return steps
    changed = first.of(draw.choice(story.people)) if pattern == "only" else other
    left_out = tuple(event for event in between(first, change_s, until_s) if not changed.fits(event))
    steps = [
        _Step(begin_s, "watch", first, due=between(first, begin_s, change_s)),
        _Step(change_s, "change", changed, 0, due=between(changed, change_s, until_s), quiet=left_out),
    ]
    if end_s is not None:
        steps.append(_Step(end_s, "cancel", changed, 1, quiet=between(changed, end_s, timeline.until_s)))
    return steps


def _gaps(events: Sequence[StoryEvent], until_s: float) -> Iterator[tuple[float, float]]:
    """Times at which none of some events is near."""
    free_s = 0.0
    for event in sorted(events, key=lambda event: (takes_effect_s(event), event.order)):
        assert event.interval is not None
        if takes_effect_s(event) - CLEAR_S > free_s:
            yield free_s, takes_effect_s(event) - CLEAR_S
        free_s = max(free_s, event.interval.end_s + LATEST_S + CLEAR_S)
    if until_s - CLEAR_S > free_s:
        yield free_s, until_s - CLEAR_S


def _are_sound(steps: Sequence[_Step], timeline: Timeline) -> bool:
    """True if each request has something to tell, each end something to be silent about, and no messages meet."""
    if any(later.at_s - earlier.at_s < APART_S for earlier, later in pairwise(steps)):
        return False
    if any(not step.due for step in steps if step.act != "cancel"):
        return False
    if any(not step.quiet for step in steps if step.act != "watch"):
        return False
    due = sorted(takes_effect_s(event) for step in steps for event in step.due)
    if any(later - earlier < APART_S for earlier, later in pairwise(due)):
        return False
    # A message that is not wanted must not look like one that is.
    quiet = [takes_effect_s(event) for step in steps for event in step.quiet]
    return due[-1] < timeline.until_s and not any(abs(one - other) < APART_S for one in quiet for other in due)


def _worded(
    steps: Sequence[_Step], timeline: Timeline, split: str, draw: random.Random
) -> tuple[list[str], list[UserRequest]]:
    story, until_s = timeline.story, timeline.until_s
    made: list[tuple[UserRequest, str]] = []
    for place, step in enumerate(steps):
        text, form = _words(steps, place, story, split, draw)
        request = UserRequest(
            at_s=step.at_s,
            text=text,
            act=step.act,
            of=step.of,
            moments=moments_of(step.due, story, until_s),
            quiet=moments_of(step.quiet, story, until_s),
            fact=step.watch.fact,
        )
        made.append((request, form))
    asked = list(_questions([request for request, _ in made], timeline, split, draw))
    whole = sorted([*made, *asked], key=lambda one: one[0].at_s)
    # The places of the requests change with the questions between them.
    place_of = {id(request): place for place, (request, _) in enumerate(whole)}
    moved = [
        request if request.of is None else request.model_copy(update={"of": place_of[id(made[request.of][0])]})
        for request, _ in whole
    ]
    return [form for _, form in whole], moved


def _words(steps: Sequence[_Step], place: int, story: Story, split: str, draw: random.Random) -> tuple[str, str]:
    """The words of a request. Several requests that stand are told apart by what they look for."""
    step = steps[place]
    slots = step.watch.slots(story)
    ended = {one.of for one in steps[:place]}
    alone = sum(number not in ended for number in range(place) if steps[number].act != "cancel") < 2
    if step.act == "watch":
        return say("watch" if place == 0 else "also", slots, split, draw)
    if step.act == "cancel":
        return say("cancel" if alone and draw.random() < 0.6 else "cancel_named", slots, split, draw)
    assert step.of is not None
    before = steps[step.of].watch
    if step.watch.of(before.agent) == before:
        return say("only" if alone and draw.random() < 0.6 else "only_named", slots, split, draw)
    if alone and draw.random() < 0.6:
        return say("instead", slots, split, draw)
    # The old act comes first in the sentence, and the new one after it.
    old = before.slots(story)
    return say("instead_named", {**old, "who2": slots["who"], "does2": slots["does"]}, split, draw)


def _questions(
    requests: Sequence[UserRequest], timeline: Timeline, split: str, draw: random.Random
) -> Iterator[tuple[UserRequest, str]]:
    """Questions about other things, at times at which no message is due."""
    taken = [_widened(moment.interval) for request in requests for moment in (*request.moments, *request.quiet)]
    taken += [Interval(start_s=max(0.0, request.at_s - 1), end_s=request.at_s + 1) for request in requests]
    pool = _by_kind([*askings(timeline), *colour_askings(timeline)])
    for _ in range(draw.randint(1, MOST_QUESTIONS)):
        for _ in range(TRIES // 4):
            if not pool:
                return
            asking = draw.choice(pool[draw.choice(sorted(pool))])
            stretch = draw_stretch(asking, draw)
            at_s = round(draw.uniform(stretch.start_s, stretch.end_s), 1)
            inside = stretch.start_s <= at_s <= stretch.end_s and requests[0].at_s < at_s
            if inside and not any(span.reaches(at_s) for span in taken):
                taken.append(Interval(start_s=max(0.0, at_s - APART_S), end_s=at_s + APART_S))
                text, form = say(asking.kind, asking.slots, split, draw)
                pool.pop(asking.kind)
                yield request_of(asking, stretch, at_s, text), form
                break


def _by_kind(found: Sequence[Asking]) -> dict[str, list[Asking]]:
    kinds: dict[str, list[Asking]] = {}
    for asking in found:
        kinds.setdefault(asking.kind, []).append(asking)
    return kinds


def _widened(span: Interval) -> Interval:
    return Interval(start_s=max(0.0, span.start_s - CLEAR_S), end_s=span.end_s)
