"""Question chains from a graph: each turn after the first rests on the answer before it (SVBench)."""

import random
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from reeltalk.graph.story import Story
from reeltalk.questions.question import Question
from reeltalk.questions.questions import questions
from reeltalk.questions.wording import WordedQuestion, forms_of, identity, rests_on, word_question

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


def known_facts(question: Question) -> frozenset[Told]:
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


LEFT_OUT: Final = frozenset(
    {"video_length", "people_count", "unknown_person", "opinion", "never_handled", "rooms_count", "acts"}
)
"""Kinds about the video as a whole, about nothing in it, or closed from the start: no matter for a chain."""
MOST: Final = {"next_action": 2, "previous_action": 2, "thing_after": 2, "where_put": 2, "where_from": 2, "use": 2}
"""Questions of a kind in one chain; one of any other."""
CLOSED: Final = frozenset({"yes_no", "choice"})
"""Sorts of answers that a question names: a chain's questions are open (SVBench), so one of it may be closed."""
LOOKED_AT: Final = 4000
"""Partial chains that are looked at before a length is given up."""


def chain_questions(
    story: Story, *, split: str, seed: str, lengths: Sequence[int], without: Collection[str] = ()
) -> list[Question] | None:
    """Questions each of which rests on the one before, or None where a story gives no chain of any of the lengths.

    Args:
        story: The clip.
        split: Whose surface forms are used.
        seed: Decides among the chains there are.
        lengths: How many turns, the wanted length first.
        without: Questions that are not asked, by `question_id`.
    """
    draw = random.Random(f"chain {seed}")
    pool = [q for q in questions(story, seed=draw.getrandbits(32)) if q.kind not in LEFT_OUT and not is_guessable(q)]
    pool = [q for q in pool if question_id(q) not in without]
    for length in lengths:
        found = _Search(pool, split, draw, length).run()
        if found is not None:
            return found
    return None


def question_id(question: Question) -> str:
    """Tells a question apart from all others of its story."""
    return f"{question.kind} {identity(question)}"


class _Search:
    """Depth first, in a seeded order that prefers kinds not used yet."""

    def __init__(self, pool: Sequence[Question], split: str, draw: random.Random, length: int) -> None:
        self.draw, self.length = draw, length
        self.starts = [q for q in pool if forms_of(q.kind, split, ref=False) and _names_something(q)]
        self.followers = [q for q in pool if q.anchor is not None and forms_of(q.kind, split, ref=True)]
        self.looked_at = 0

    def run(self) -> list[Question] | None:
        # A chain goes on in time, so it begins in the first half where it can.
        half = max(map(_starts, self.starts), default=0) / 2
        for start in sorted(self._ordered(self.starts, Counter()), key=lambda q: _starts(q) > half):
            found = self._extend([start], known_facts(start), Counter({start.kind: 1}))
            if found is not None:
                return found
            if self.looked_at > LOOKED_AT:
                return None
        return None

    def _extend(self, chain: list[Question], told: frozenset[Told], kinds: Counter[str]) -> list[Question] | None:
        if len(chain) == self.length:
            return chain
        self.looked_at += 1
        if self.looked_at > LOOKED_AT:
            return None
        used = {(q.kind, identity(q)) for q in chain}
        following = [
            q
            for q in self.followers
            if rests_on(q, chain[-1])
            and kinds[q.kind] < MOST.get(q.kind, 1)
            and not (q.answer_type in CLOSED and any(other.answer_type in CLOSED for other in chain))
            and (q.kind, identity(q)) not in used
            and is_news(q, told)
        ]
        # What goes on in time comes before what goes back.
        now = _starts(chain[-1])
        ordered = sorted(self._ordered(following, kinds), key=lambda q: _starts(q) < now)
        for question in ordered:
            found = self._extend([*chain, question], told | known_facts(question), kinds + Counter({question.kind: 1}))
            if found is not None:
                return found
        return None

    def _ordered(self, options: Sequence[Question], kinds: Counter[str]) -> list[Question]:
        """Rare kinds first: a kind with many questions would else come first most of the time."""
        many = Counter(question.kind for question in options)
        drawn = [(self.draw.random() ** many[q.kind], n, q) for n, q in enumerate(options)]
        return [q for _, _, q in sorted(drawn, key=lambda d: (kinds[d[2].kind], -d[0], d[1]))]


def _starts(question: Question) -> int:
    return min((event.order for event in question.evidence), default=0)


def _names_something(question: Question) -> bool:
    return question.focus_object is not None or question.focus_event is not None


def is_guessable(question: Question) -> bool:
    """True for a count of one, since nearly everything happens once, and for the order of two acts on one object."""
    if question.kind == "order":
        return len({event.main for event in question.evidence}) == 1
    return question.kind == "times" and question.key == "1"


def word_chain(chain: Sequence[Question], *, split: str, seed: str) -> list[WordedQuestion]:
    """A chain in words: the first turn asks outright, the others rest on the one before; no two are worded alike.

    Args:
        chain: The questions.
        split: Whose surface forms are used.
        seed: Decides among the forms.
    """
    draw = random.Random(f"words {seed}")
    asked: list[WordedQuestion] = []
    used: set[str] = set()
    for n, question in enumerate(chain):
        for _ in range(8):
            said = word_question(question, split=split, draw=draw, first=n == 0, rests=n > 0)
            if said.text not in used:
                break
        used.add(said.text)
        asked.append(said)
    return asked
