"""Is an answer true by the graph? Typed questions are understood, looked up, and compared with what was answered.

No language model takes part. A question that is not surely understood, or that the graph does not decide, is *not
covered*; so the share that is covered says how far the check reaches, and the share accepted of those what it found.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from reeltalk.graph import grounded_acts, grounded_sequence, grounded_whereabouts
from reeltalk.graph.grounded_asked import Asked
from reeltalk.graph.grounded_clauses import NOBODY, Classes, Referents, clauses_of, read_clause
from reeltalk.graph.grounded_facts import Facts, Happening
from reeltalk.graph.grounded_found import Found, NotCovered
from reeltalk.graph.grounded_questions import understand
from reeltalk.graph.grounded_replies import is_denied, is_unsure, named, polarity
from reeltalk.graph.grounded_words import ANY, objects_in, plain, rooms_in
from reeltalk.graph.story import Story
from reeltalk.graph.vocabulary import ROOMS

Outcome = Literal["accepted", "rejected", "not_covered"]
SIGNATURE: Final = "grounded:v1"
"""Names these rules wherever a number rests on them."""
SHOWN: Final = 4
"""How much of what is expected a reason tells."""


@dataclass(frozen=True)
class Verdict:
    """What the graph says of an answer."""

    outcome: Outcome
    kind: str
    """The question's type, as `yes_no` or `count`; empty where it was not understood."""
    expected: tuple[str, ...]
    """What the graph has, in words; empty where that is not known."""
    reason: str


class Ground:
    """A scenario's graphs, ready to check answers.

    Args:
        story: The scenario.
        initial_rooms: The room in which the person starts, by activity, which released graphs may lack.
    """

    def __init__(self, story: Story, initial_rooms: Mapping[str, str] | None = None) -> None:
        self._facts = Facts(story, initial_rooms)
        self._referents_after: dict[tuple[tuple[str, str], ...], Referents] = {}

    def check(self, question: str, answer: str, history: Sequence[tuple[str, str]] = ()) -> Verdict:
        """Whether an answer is true.

        Args:
            question: What was asked.
            answer: What was answered.
            history: Questions and reference answers of the turns before, in order, for what pronouns stand for.
        """
        asked, referents = self._understand(question, self._referents(tuple(history)))
        try:
            found = self._look_up(asked, referents) if asked is not None else self._unheard(question)
        except NotCovered as reason:
            return Verdict("not_covered", asked.kind if asked is not None else "", (), str(reason))
        kind = asked.kind if asked is not None else "absent"
        said = found.says(answer)
        if not re.search(r"\w", answer):
            return Verdict("rejected", kind, found.expected, "the answer is empty")
        if said is not True and is_unsure(answer):
            return Verdict("rejected", kind, found.expected, "the answer says that it cannot be told")
        if said is None:
            return Verdict("not_covered", kind, found.expected, "the answer is not understood")
        if said:
            return Verdict("accepted", kind, found.expected, "the graph has it so")
        return Verdict("rejected", kind, found.expected, f"the graph has {_some_of(found.expected)}")

    def _understand(self, question: str, referents: Referents) -> tuple[Asked | None, Referents]:
        """The last sentence of a question, after what the ones before it tell."""
        *told, last = _sentences(question)
        for sentence in told:
            clause = read_clause(sentence, referents)
            if clause is None:
                objects = {term.classes for term in objects_in(sentence)}
                referents = replace(referents, it=objects.pop()) if len(objects) == 1 else referents
                continue
            events = self._facts.matching(clause)
            referents = Referents(
                opened=referents.opened,
                it=clause.main or referents.it,
                there=referents.there,
                that=frozenset(h.order for h in events) or referents.that,
            )
        return understand(last, referents), referents

    def _referents(self, history: tuple[tuple[str, str], ...]) -> Referents:
        """What pronouns stand for after the turns before."""
        if not history:
            return NOBODY
        if history not in self._referents_after:
            before = self._referents(history[:-1])
            self._referents_after[history] = self._told(*history[-1], before)
        return self._referents_after[history]

    def _told(self, question: str, answer: str, before: Referents) -> Referents:
        rooms = {term.classes for term in rooms_in(answer)}
        there = rooms.pop() if len(rooms) == 1 else None
        asked, referents = self._understand(question, before)
        found = None
        if asked is not None:
            try:
                found = self._look_up(asked, referents)
            except NotCovered:
                found = None
        if asked is None or found is None or found.says(answer) is not True:
            return self._told_plainly(question, answer, there, before)
        if asked.kind == "yes_no" and polarity(answer) == "no":
            return Referents(opened=True, it=found.it, there=there)
        if asked.kind == "object":
            objects = {term.classes for term in named(answer) if term.kind == "object" and term.classes != ANY}
            it = objects.pop() if len(objects) == 1 else None
            events = [h for h in found.events if it is not None and it & (h.names | h.targets)]
            return Referents(opened=True, it=it, there=there, that=frozenset(h.order for h in events))
        if asked.kind in ("action", "purpose"):
            fitting, it = self._fitting(answer, found.events, referents)
            return Referents(opened=True, it=it, there=there, that=fitting)
        return Referents(opened=True, it=found.it, there=there, that=frozenset(h.order for h in found.events))

    def _fitting(
        self, answer: str, events: Sequence[Happening], referents: Referents
    ) -> tuple[frozenset[int], Classes | None]:
        for clause in clauses_of(answer, referents):
            fitting = [h for h in events if self._facts.fits(clause, h)]
            if fitting:
                it = clause.main if clause.main != ANY and clause.place is None else None
                return frozenset(h.order for h in fitting), it
        return frozenset(), None

    def _told_plainly(self, question: str, answer: str, there: Classes | None, before: Referents) -> Referents:
        """Where a turn was not understood, *it* is the one object that it names."""
        text = plain(question)
        objects = {term.classes for term in objects_in(question)}
        if re.search(r"\b(?:it|them)\b", text) and not objects:
            objects = {before.it} if before.it is not None else set()
        elif not re.match(r"^(?:and )?(?:from |in )?where\b", text):
            objects |= {term.classes for term in objects_in(answer)}
        it = objects.pop() if len(objects) == 1 else None
        clauses = clauses_of(answer, before)
        that: frozenset[int] = frozenset()
        # "He is sitting" tells how, not what he does.
        telling = [c for c in clauses if c.main not in (None, ANY) or c.rooms or "fall" in c.groups]
        if len(clauses) == len(telling) == 1 and not clauses[0].negated:
            that = frozenset(h.order for h in self._facts.matching(clauses[0]))
        return Referents(opened=True, it=it, there=there, that=that)

    def _look_up(self, asked: Asked, referents: Referents) -> Found:
        absent = self._absent(asked)
        if absent is not None:
            return absent
        return _LOOK_UPS[asked.kind](self._facts, asked, referents)

    def _absent(self, asked: Asked) -> Found | None:
        """Questions that take for granted what is not there, where the graph holds all that is."""
        if not self._facts.exact or asked.kind == "yes_no":
            return None
        classes = asked.clause.main if asked.clause is not None else asked.about
        if classes is None or classes == ANY or classes & (self._facts.classes | ROOMS | {"water"}):
            return None
        return Found(("none",), lambda answer: is_denied(answer) or is_unsure(answer), it=classes)

    def _unheard(self, question: str) -> Found:
        """A question that is not understood but takes for granted an object that is not there."""
        objects = {term.classes for term in objects_in(question)}
        if len(objects) == 1 and re.match(r"^(?:and )?(?:what|which|where|when|how|after)\b", plain(question)):
            absent = self._absent(Asked("object", about=objects.pop()))
            if absent is not None:
                return absent
        raise NotCovered("the question is not surely understood")


_LOOK_UPS: Final[Mapping[str, Callable[[Facts, Asked, Referents], Found]]] = {
    "yes_no": grounded_acts.yes_no,
    "count": grounded_acts.count,
    "seconds": grounded_acts.seconds,
    "object": grounded_acts.object_,
    "holding": grounded_acts.holding,
    "choice": grounded_acts.choice,
    "order": grounded_sequence.order,
    "action": grounded_sequence.action,
    "purpose": grounded_sequence.purpose,
    "place": grounded_whereabouts.place,
    "room": grounded_whereabouts.room,
    "rooms": grounded_whereabouts.rooms,
    "people": grounded_whereabouts.people,
    "posture": grounded_whereabouts.posture,
    "state": grounded_whereabouts.state,
    "colour": grounded_whereabouts.colour,
    "back": grounded_whereabouts.back,
}
_TOGETHER: Final = re.compile(r"colou?r|what for|somewhere\.|how many are there|tell me|standing", re.IGNORECASE)
"""Where sentences ask for one thing together."""


def _sentences(question: str) -> list[str]:
    if _TOGETHER.search(question):
        return [question]
    parts = re.split(r"(?<=[.?!]) +|(?<=:) +(?=(?:what|which|how|where|is|are|does|did) )", question.strip())
    return [part for part in parts if part] or [""]


def _some_of(expected: Sequence[str]) -> str:
    shown = " or ".join(expected[:SHOWN])
    return shown if len(expected) <= SHOWN else f"{shown}, or {len(expected) - SHOWN} more"
