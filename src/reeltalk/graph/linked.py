"""Questions about two scenes of one video: what SVBench's rewriting asks for, exact and checked by SPARQL.

The later scene is the one that is being talked about; the earlier one lies before it. Each kind belongs to methods of
the rewriting catalogue (`schema/rewriting.toml`).
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from reeltalk.graph import phrases
from reeltalk.graph.question import Question
from reeltalk.graph.questions_of_scenes import rooms_known
from reeltalk.graph.story import Story, StoryEvent
from reeltalk.graph.vocabulary import ROOMS, class_of, plain_name

METHODS: Final = {
    "linked_left": ("Objects/trajectory",),
    "linked_outcome": ("Objects/outcome",),
    "linked_use": ("Objects/use",),
    "linked_again": ("Events/repetition", "Actions/same_action"),
    "linked_more": ("Quantity/comparison", "Quantity/trend"),
    "linked_total": ("Quantity/total",),
    "linked_last_before": ("Actions/different_action",),
    "linked_event_order": ("Events/sequence", "Actions/continued_action"),
    "linked_same_room": ("Environment/change",),
    "linked_room_before": ("Environment/route",),
    "linked_posture": ("People/position",),
    "linked_looks": ("People/appearance",),
}
"""The methods of the catalogue that each kind carries out."""
_DULL: Final = frozenset({"walk", "stand", "turnTo"})
_POSED: Final = frozenset({"drink", "eat", "read", "watch", "type", "write", "text", "brush", "pour", "sleep"})


def linked_questions(story: Story, boundary: int) -> Iterator[Question]:
    """All that can be asked about both scenes, in a fixed order.

    Args:
        story: The activities of both scenes, the earlier first.
        boundary: The order of the later scene's first event.
    """
    scenes = _Scenes(story, boundary)
    for maker in (_objects, _events, _counts, _places, _person):
        yield from maker(scenes)


class _Scenes:
    def __init__(self, story: Story, boundary: int) -> None:
        self.story, self.boundary = story, boundary
        self.before, self.after = story.events[:boundary], story.events[boundary:]
        counts = Counter(event.signature for event in story.events)
        self.unique = frozenset(event.order for event in story.events if counts[event.signature] == 1)

    def telling(self, events: tuple[StoryEvent, ...]) -> list[StoryEvent]:
        """Events that can be named without doubt, walks and turns left out."""
        return [event for event in events if event.order in self.unique and event.action not in _DULL]


def _slots(event: StoryEvent, *, suffix: str = "") -> dict[str, str]:
    return {f"{form}{suffix}": phrases.phrase(event.action, event.main, event.targets, form) for form in phrases.FORMS}


def _does(event: StoryEvent) -> str:
    return phrases.phrase(event.action, event.main, event.targets, "does")


def _key(event: StoryEvent) -> str:
    action, main, targets = event.signature
    return "|".join([action, main, *targets])


def _named(name: str) -> dict[str, str]:
    plural = phrases.is_plural(name)
    return {"o": phrases.noun(name), "it": "them" if plural else "it", "was": "were" if plural else "was"}


def _objects(scenes: _Scenes) -> Iterator[Question]:
    mains = [
        {e.main for e in part if e.main and class_of(e.main) not in ROOMS} for part in (scenes.before, scenes.after)
    ]
    for name in sorted(mains[0] & mains[1]):
        earlier = [event for event in scenes.before if event.main == name and event.action != "walk"]
        later = [event for event in scenes.after if event.main == name and event.action != "walk"]
        placings = [event for event in earlier if event.action in ("put", "putIn")]
        if placings and earlier[-1] is placings[-1]:
            last = placings[-1]
            found = scenes.story.support_after(last, name)
            if found is not None and class_of(found[0]) not in ("character", "floor"):
                yield Question(
                    kind="linked_left",
                    key=found[0],
                    answer_type="place",
                    params={"object": name, "event": last.order},
                    slots=_named(name) | {"place": phrases.place(found[0], inside=found[1])},
                    evidence=(last,),
                    focus_object=name,
                    focus_event=last.order,
                )
        if not earlier or not later:
            continue
        acted = [event for part in (scenes.before, scenes.after) for event in part if event.main == name]
        first = next(event for event in acted if event.order >= scenes.boundary)
        known = next((event for event in reversed(earlier) if event.order in scenes.unique), None)
        if known is not None and first.action != "walk":
            pronouns = {name: "them" if phrases.is_plural(name) else "it"}
            does = phrases.phrase(first.action, first.main, first.targets, "does", pronouns)
            yield Question(
                kind="linked_outcome",
                key=_key(first),
                answer_type="action",
                params={"object": name, "boundary": scenes.boundary},
                slots=_named(name) | _slots(known, suffix="1") | {"next": does},
                evidence=(known, first),
                focus_object=name,
                focus_event=first.order,
            )
        last_act = next(event for event in reversed(acted) if event.order < scenes.boundary)
        if last_act.action != "walk":
            pronouns = {name: "them" if phrases.is_plural(name) else "it"}
            does = phrases.phrase(last_act.action, last_act.main, last_act.targets, "does", pronouns)
            yield Question(
                kind="linked_use",
                key=_key(last_act),
                answer_type="action",
                params={"object": name, "boundary": scenes.boundary},
                slots=_named(name) | {"next": does},
                evidence=(last_act,),
                focus_object=name,
                focus_event=last_act.order,
            )


def _events(scenes: _Scenes) -> Iterator[Question]:
    seen: set[tuple[str, str, tuple[str, ...]]] = set()
    later_signatures = {event.signature for event in scenes.after}
    for event in scenes.before:
        if event.action in _DULL or event.signature in seen:
            continue
        seen.add(event.signature)
        again = [other for other in scenes.after if other.signature == event.signature]
        yield Question(
            kind="linked_again",
            key="yes" if event.signature in later_signatures else "no",
            answer_type="yes_no",
            params={"signature": _key(event), "boundary": scenes.boundary},
            slots=_slots(event, suffix="1"),
            evidence=(event, *again[:1]),
            focus_object=event.main if event.main and not event.targets else None,
            focus_event=event.order,
        )
    last = scenes.before[-1]
    for event in scenes.telling(scenes.after):
        yield Question(
            kind="linked_last_before",
            key=_key(last),
            answer_type="action",
            params={"boundary": scenes.boundary, "event": event.order},
            slots=_slots(event) | {"next": _does(last)},
            evidence=(last, event),
            focus_object=last.main if last.main and not last.targets and class_of(last.main) not in ROOMS else None,
            focus_event=last.order,
        )
    for first in scenes.telling(scenes.before):
        for second in scenes.telling(scenes.after):
            # Which of the two is named first follows from their places, so that neither answer is the rule.
            one, other = (first, second) if (first.order + second.order) % 2 else (second, first)
            yield Question(
                kind="linked_event_order",
                key=_key(first),
                answer_type="choice",
                params={"event": one.order, "other": other.order},
                slots=_slots(one)
                | {"other": phrases.phrase(other.action, other.main, other.targets, "doing")}
                | {"first": phrases.phrase(first.action, first.main, first.targets, "doing")},
                evidence=(first, second),
                focus_event=first.order,
            )


def _counts(scenes: _Scenes) -> Iterator[Question]:
    grabs = [[e for e in part if e.action == "grab" and e.main] for part in (scenes.before, scenes.after)]
    before, after = ({event.main for event in part} for part in grabs)
    if not before or not after:
        return
    more = "more" if len(after) > len(before) else "fewer" if len(after) < len(before) else "as many"
    shown = tuple(event for part in grabs for event in part)
    yield Question(
        kind="linked_more",
        key=more,
        answer_type="choice",
        params={"boundary": scenes.boundary},
        slots={"more": more, "n_before": phrases.number(len(before)), "n_after": phrases.number(len(after))},
        evidence=shown,
    )
    total = len(before | after)
    if total > 1:
        yield Question(
            kind="linked_total",
            key=str(total),
            answer_type="count",
            params={},
            slots={"n": phrases.number(total)},
            evidence=shown,
        )


def _places(scenes: _Scenes) -> Iterator[Question]:
    if not rooms_known(scenes.story):
        return
    last = scenes.before[-1]
    room = last.to_room or ""
    for event in scenes.telling(scenes.after):
        yield Question(
            kind="linked_room_before",
            key=class_of(room),
            answer_type="room",
            params={"boundary": scenes.boundary, "event": event.order},
            slots=_slots(event) | {"room": plain_name(room)},
            evidence=(last, event),
            focus_event=event.order,
        )
        for earlier in scenes.telling(scenes.before):
            here, there = event.from_room or "", earlier.from_room or ""
            yield Question(
                kind="linked_same_room",
                key="yes" if here == there else "no",
                answer_type="yes_no",
                params={"event": earlier.order, "other": event.order},
                slots=_slots(event)
                | _slots(earlier, suffix="1")
                | {"room": plain_name(here), "room1": plain_name(there)},
                evidence=(earlier, event),
                focus_event=event.order,
            )


def _person(scenes: _Scenes) -> Iterator[Question]:
    if rooms_known(scenes.story):
        for event in scenes.telling(scenes.before):
            if event.action in _POSED:
                posture = scenes.story.posture_before(event)
                yield Question(
                    kind="linked_posture",
                    key=posture,
                    answer_type="choice",
                    params={"event": event.order},
                    slots=_slots(event, suffix="1") | {"posture": posture},
                    evidence=(event,),
                    focus_event=event.order,
                )
    looks = dict(value.split("_", 1) for value in scenes.story.attributes.get(scenes.story.agent, ()) if "_" in value)
    for part, colour in sorted(looks.items()):
        word = {"yellow": "blond"}.get(colour, colour) if part == "hair" else colour
        yield Question(
            kind="linked_looks",
            key=colour,
            answer_type="colour",
            params={"part": part},
            slots={"part": part, "are": "are" if part == "trousers" else "is", "colour": word},
        )
