"""Questions about acts: if, how often, in which order, in which posture and why they happen."""

import random
from collections import Counter
from collections.abc import Iterator
from typing import Final

from reeltalk.graph import phrases
from reeltalk.graph.story import Story, StoryEvent
from reeltalk.graph.vocabulary import ROOMS, class_of, plain_name
from reeltalk.questions.question import (
    DISTRACTORS,
    GRABS,
    PLACINGS,
    Question,
    distinct_events,
    event_key,
    event_slots,
    object_slots,
    objects_of,
    only_object,
)


def acts_done(story: Story, draw: random.Random) -> Iterator[Question]:
    """If an act happens; half of the questions are about acts that do not."""
    done = {event.signature for event in story.events}
    asked = [event for event in distinct_events(story) if event.action not in ("walk", "stand", "turnTo")]
    for event in asked:
        yield Question(
            kind="acts",
            key="yes",
            answer_type="yes_no",
            params={"signature": event_key(event)},
            slots=event_slots(event),
            evidence=(event,),
            focus_object=only_object(event),
            focus_event=event.order,
        )
    # What is not done: the actions of the story on other objects that they fit, as often as what is done.
    names = [name for name in objects_of(story) if class_of(name) != "faucet"]
    wrong = []
    for event in asked:
        for name in names:
            other = (event.action, class_of(name), ())
            if not event.targets and event.main and other not in done and can_be_done_to(event.action, name):
                wrong.append((event.action, name))
    for action, name in draw.sample(sorted(set(wrong)), min(len(set(wrong)), len(asked))):
        slots = {form: phrases.phrase(action, name, (), form) for form in phrases.FORMS}
        yield Question(
            kind="acts",
            key="no",
            answer_type="yes_no",
            params={"signature": f"{action}|{class_of(name)}"},
            slots=slots,
        )


_FITTING: Final = {
    "open": {"fridge", "closet", "kitchencabinet", "bathroomcabinet", "washingmachine", "microwave"},
    "close": {"fridge", "closet", "kitchencabinet", "bathroomcabinet", "washingmachine", "microwave"},
    "switchOn": {"tv", "computer", "stove", "microwave", "toaster", "coffeemaker", "radio", "floorlamp", "tablelamp"},
    "switchOff": {"tv", "computer", "stove", "microwave", "toaster", "coffeemaker", "radio", "floorlamp", "tablelamp"},
    "sit": {"sofa", "bed", "chair", "toilet"},
    "lie": {"sofa", "bed"},
    "drink": {"milk", "juice", "wine", "mug", "waterglass", "wineglass"},
    "eat": {"apple", "cupcake", "breadslice", "carrot", "salmon", "cereal"},
    "read": {"book", "magazine", "notes"},
}


def can_be_done_to(action: str, name: str) -> bool:
    """True if an act can be done to an object."""
    kind = class_of(name)
    if action == "grab":
        return kind in _CARRIED
    return kind in _FITTING.get(action, ())


_CARRIED: Final = frozenset(
    "milk juice wine waterglass wineglass mug plate dishbowl apple cupcake breadslice salmon carrot cereal "
    "cutleryknife washingsponge book magazine remotecontrol cellphone notes pillow clothesshirt clothespile "
    "slippers dumbbell towel toothbrush toothpaste barsoap facecream wateringcan".split()
)


def acts_counted(story: Story, draw: random.Random) -> Iterator[Question]:
    """How often an act happens."""
    counts = Counter(event.signature for event in story.events)
    seen = set()
    for event in story.events:
        if event.action in ("walk", "stand", "turnTo", "sit") or event.signature in seen:
            continue
        seen.add(event.signature)
        n = counts[event.signature]
        # A count of one is told apart from a yes-or-no question only now and then.
        if n == 1 and draw.random() < 0.7:
            continue
        same = tuple(other for other in story.events if other.signature == event.signature)
        yield Question(
            kind="times",
            key=str(n),
            answer_type="count",
            params={"signature": event_key(event)},
            slots=event_slots(event) | {"times": phrases.times(n), "option": phrases.times(n)},
            evidence=same,
            anchor=event.order if n == 1 else None,
            focus_object=only_object(event),
            distractors=tuple(phrases.times(m) for m in (n + 1, n + 2, n - 1 if n > 1 else n + 3)),
        )


def other_actions(story: Story, right: StoryEvent, *, draw: random.Random, walking: bool = True) -> tuple[str, ...]:
    """Wrong options among the acts of the story."""
    texts = sorted(
        {
            phrases.phrase(event.action, event.main, event.targets, "does")
            for event in story.events
            if event.signature != right.signature and (walking or event.action != "walk")
        }
        - {phrases.phrase(right.action, right.main, right.targets, "does")}
    )
    return tuple(draw.sample(texts, DISTRACTORS)) if len(texts) >= DISTRACTORS else ()


def acts_beside_acts(story: Story, draw: random.Random) -> Iterator[Question]:
    """Which acts happen right before and after an act."""
    unique = {event.order for event in distinct_events(story)}
    for first, second in zip(story.events, story.events[1:], strict=False):
        if first.signature == second.signature:
            continue
        for kind, known, asked in (("next_action", first, second), ("previous_action", second, first)):
            if known.order not in unique or known.action == "stand":
                continue
            text = phrases.phrase(asked.action, asked.main, asked.targets, "does")
            yield Question(
                kind=kind,
                key=event_key(asked),
                answer_type="action",
                params={"event": known.order},
                slots=event_slots(known) | {"next": text, "option": text},
                evidence=(known, asked) if known.order < asked.order else (asked, known),
                anchor=known.order,
                focus_object=only_object(asked),
                focus_event=asked.order,
                distractors=other_actions(story, asked, draw=draw),
            )


def order_of_acts(story: Story, draw: random.Random) -> Iterator[Question]:
    """Which of two acts comes first."""
    events = [event for event in distinct_events(story) if event.action not in ("walk", "stand", "turnTo")]
    pairs = [(a, b) for n, a in enumerate(events) for b in events[n + 1 :] if b.order - a.order > 1]
    for first, second in draw.sample(pairs, min(len(pairs), 6)):
        one, other = (first, second) if draw.random() < 0.5 else (second, first)
        doing = phrases.phrase(first.action, first.main, first.targets, "doing")
        wrong = phrases.phrase(second.action, second.main, second.targets, "doing")
        yield Question(
            kind="order",
            key=event_key(first),
            answer_type="choice",
            params={"event": one.order, "other": other.order},
            slots=event_slots(one)
            | {"other": phrases.phrase(other.action, other.main, other.targets, "doing"), "first": doing}
            | {"option": doing},
            evidence=(first, second),
            distractors=(wrong,),
        )


def postures(story: Story, draw: random.Random) -> Iterator[Question]:
    """If the person stands, sits or lies during an act."""
    if story.events[0].from_room is None:
        # Released activities are joined from separate videos: nothing says how the person begins each.
        return
    for event in distinct_events(story):
        if event.action not in ("drink", "eat", "read", "watch", "type", "write", "text", "brush", "pour", "sleep"):
            continue
        posture = story.posture_before(event)
        yield Question(
            kind="posture",
            key=posture,
            answer_type="choice",
            params={"event": event.order},
            slots=event_slots(event) | {"posture": posture, "option": posture},
            evidence=(event,),
            anchor=event.order,
            focus_object=only_object(event),
            focus_event=event.order,
            distractors=tuple(p for p in ("sitting", "lying", "standing") if p != posture),
        )


def reasons_for_acts(story: Story, draw: random.Random) -> Iterator[Question]:
    """Why the person walks somewhere: the act that follows there."""
    counts = Counter(event.signature for event in story.events)
    unique = {event.order for event in distinct_events(story)}
    for event in story.events:
        if event.action != "walk" or event.main is None:
            continue
        following = next(
            (e for e in story.events[event.order + 1 :] if e.part == event.part and e.action != "walk"), None
        )
        if following is None:
            continue
        if class_of(event.main) in ROOMS:
            before = story.events[event.order - 1] if event.order else None
            if (
                before is None
                or before.order not in unique
                or before.action in ("walk", "stand")
                or following.to_room != event.main
                or following.action not in PURPOSEFUL
            ):
                continue
            purpose = phrases.phrase(following.action, following.main, following.targets, "do")
            yield Question(
                kind="why_room",
                key=event_key(following),
                answer_type="action",
                params={"event": event.order},
                slots=event_slots(before) | {"room": plain_name(event.main), "purpose": purpose},
                evidence=(event, following),
                focus_object=only_object(following),
                focus_event=following.order,
            )
        elif counts[event.signature] == 1 and following.order == event.order + 1:
            if event.main not in (following.main, *following.targets) or following.action not in PURPOSEFUL:
                continue
            pronoun = "them" if phrases.is_plural(event.main) else "it"
            pronouns = {event.main: pronoun}
            yield Question(
                kind="why_walk",
                key=event_key(following),
                answer_type="action",
                params={"event": event.order},
                slots=object_slots(event.main)
                | {"purpose": phrases.phrase(following.action, following.main, following.targets, "do", pronouns)},
                evidence=(event, following),
                focus_object=event.main,
                focus_event=following.order,
            )


PURPOSEFUL: Final = (
    GRABS
    | PLACINGS
    | frozenset(
        {"open", "switchOn", "switchOff", "sit", "lie", "wipe", "scrub", "watch", "lookAt", "pour", "climb", "touch"}
    )
)
