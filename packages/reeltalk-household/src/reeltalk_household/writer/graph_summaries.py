"""Summaries that compress: of a scene and of a dialogue, in at most a stated number of sentences.

A scene's summary names people and keeps the order of important events; walking and turning are left out. A dialogue's
summary tells all answers, in the order of the video, with what one person does in one sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from reeltalk.language import phrases
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.question import event_key
from reeltalk_household.writer.graph_needs import event_clause

LIMITS: Final = (2, 3, 4)
"""Numbers of sentences that a user may ask for."""
MOST_EVENTS: Final = 6
"""Most events of a scene in its summary."""
_WEIGHTS: Final = {
    **dict.fromkeys("break spill ring give say hug comfort smile frown scowl gasp fall fallback unwrap".split(), 3),
    **dict.fromkeys(
        "eat drink read watch type write text sleep wipe scrub wash pour boil brush dance play wait".split(), 2
    ),
    **dict.fromkeys("put putIn switchOn switchOff open close grab sit lie cut rinse throw wave calm pop".split(), 1),
}
"""How important an event is, by its action; others, such as walking, are left out."""


@dataclass(frozen=True)
class Told:
    """A clause of a summary."""

    subject: str
    predicate: str

    @property
    def clause(self) -> str:
        """Both together."""
        return f"{self.subject} {self.predicate}".strip()


def important_events(events: Sequence[StoryEvent]) -> list[StoryEvent]:
    """The most important events of a scene, in order."""
    weighed = [event for event in events if event.action in _WEIGHTS]
    # What is picked up and then used or put down is told once.
    used = {event.main for event in weighed if event.action != "grab"}
    weighed = [event for event in weighed if event.action != "grab" or event.main not in used]
    once = list({(event.agent, event_key(event)): event for event in reversed(weighed)}.values())
    kept = sorted(once, key=lambda event: (-_WEIGHTS[event.action], event.order))[:MOST_EVENTS]
    return sorted(kept, key=lambda event: event.order)


def told_events(events: Sequence[StoryEvent], story: Story) -> list[Told]:
    """Events as clauses."""
    return [Told(*event_clause(event, story)) for event in events]


def split_clause(clause: str, subjects: Sequence[str]) -> Told:
    """A clause with its subject, if it begins with one.

    Args:
        clause: Such as `Anna puts the mug on the table`.
        subjects: What people are called.
    """
    found = next((subject for subject in subjects if clause.startswith(f"{subject} ")), "")
    return Told(found, clause.removeprefix(found).strip())


def compress(told: Sequence[Told], limit: int) -> str:
    """Clauses as at most a number of sentences; clauses of one subject in a row are joined."""
    groups = []
    for subject, clauses in groupby(told, key=lambda one: one.subject):
        predicates = list(dict.fromkeys(one.predicate for one in clauses))
        # Clauses without a subject of their own stand apart.
        groups += [f"{subject} {phrases.join_list(predicates)}"] if subject else predicates
    sentences = []
    for n in range(min(limit, len(groups))):
        start, end = n * len(groups) // min(limit, len(groups)), (n + 1) * len(groups) // min(limit, len(groups))
        part = groups[start:end]
        text = part[0] if len(part) == 1 else f"{'; '.join(part[:-1])}, and {part[-1]}"
        sentences.append(phrases.sentence(f"{text}."))
    return " ".join(sentences)


def limit_of(told: Sequence[Told]) -> int:
    """A number of sentences in which clauses can be told without crowding."""
    groups = sum(
        1 if subject else len(list(clauses)) for subject, clauses in groupby(told, key=lambda one: one.subject)
    )
    return next((limit for limit in LIMITS if groups <= 2 * limit), LIMITS[-1])
