"""What a question about a graph tells, so that no later turn asks for what was told before."""

from collections.abc import Iterable
from typing import Final

from reeltalk.questions.question import Question

Told = tuple[str, str]
"""A fact by its sort and what it is about, as `("event", "12")` or `("put", "mug4")`."""

_ACTION_ANSWERS: Final = frozenset(
    {"next_action", "previous_action", "first_in_room", "use", "why_walk", "why_room", "thing_after", "order"}
)
_OF_OBJECT: Final = {
    "where_put": "put",
    "where_from": "from",
    "puts_back": "back",
    "object_colour": "colour",
    "state_end": "state",
    "closes_again": "closes",
    "tool": "tool",
    "how_clean": "tool",
}
_OF_EVENT: Final = {"which_room": "room", "posture": "posture"}
_OF_SIGNATURE: Final = {"times": "times", "acts": "acts", "duration": "duration"}


def asked_facts(question: Question) -> frozenset[Told]:
    """What the answer tells that was not in the question."""
    kind, params = question.kind, question.params
    if kind in _ACTION_ANSWERS and question.focus_event is not None:
        return frozenset({("event", str(question.focus_event))})
    if kind in _OF_OBJECT:
        return frozenset({(_OF_OBJECT[kind], str(params["object"]))})
    if kind in _OF_EVENT:
        return frozenset({(_OF_EVENT[kind], str(params["event"]))})
    if kind in _OF_SIGNATURE:
        return frozenset({(_OF_SIGNATURE[kind], str(params["signature"]))})
    return frozenset({(kind, repr(sorted(params.items())))})


def told_facts(question: Question) -> frozenset[Told]:
    """All that is known once the question was asked and answered: the answer, and what the question gave away."""
    told: set[Told] = set(asked_facts(question))
    for event in question.evidence:
        shown = question.kind not in ("times", "things_count", "what_else", "duration") or len(question.evidence) == 1
        if not shown:
            continue
        told.add(("event", str(event.order)))
        told.add(("acts", "|".join([event.action, event.signature[1], *event.signature[2]])))
        # "puts the mug on the table" says where it ends up; "wipes the table with the sponge" names the tool.
        if event.action in ("put", "putIn") and event.main and event.targets:
            told.add(("put", event.main))
        if event.action in ("wipe", "scrub") and event.targets:
            told.add(("tool", event.targets[0]))
        if event.action in ("switchOn", "switchOff", "open", "close") and event.main:
            told.add(("closes", event.main))
    if question.kind == "which_room":
        told.add(("in", question.key))
    return frozenset(told)


def is_news(question: Question, told: Iterable[Told]) -> bool:
    """True where nothing that was told before answers the question."""
    known, wanted = frozenset(told), asked_facts(question)
    if wanted & known:
        return False
    # One room is asked for once: whoever was told it guesses it the next time.
    if question.kind == "which_room" and ("in", question.key) in known:
        return False
    # Where it was, where it ends up, and whether that is the same place: any two of them give the third.
    trio = {("from", name) for _, name in wanted} | {("put", name) for _, name in wanted}
    trio |= {("back", name) for _, name in wanted}
    return not (wanted & trio and len(known & trio) > 1)
