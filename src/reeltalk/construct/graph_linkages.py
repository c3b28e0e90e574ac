"""Linkages and their rewriting from graphs: relations by what two turns share, drafts that SPARQL has checked."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from reeltalk.construct.graph_video import Part
from reeltalk.graph.linked import METHODS, linked_questions
from reeltalk.graph.question import Question
from reeltalk.graph.wording import turn_of, word
from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.ids import derive_id
from reeltalk.schema.labels import Relation
from reeltalk.schema.record import Json
from reeltalk.schema.rewriting import Rewrite, catalogue

SHOWS: Final = "shows"
RESTS_ON: Final = "rests_on"
MOST_OF_A_TURN: Final = 2
"""Linkages that begin or end at one turn."""
MOST_EVIDENCE: Final = 2
"""A turn whose evidence is longer is about no event in particular."""

_KINDS: Final = {
    Relation.QUANTITY: frozenset({"times", "things_count", "duration"}),
    Relation.ENVIRONMENT: frozenset({"which_room", "where_put", "where_from", "puts_back", "room_start", "room_end"}),
    Relation.PEOPLE: frozenset({"posture", "clothes_colour", "which_room"}),
    Relation.EVENTS: frozenset(
        {"next_action", "previous_action", "first_in_room", "use", "thing_after", "why_walk", "why_room", "order"}
    ),
}


def shows(question: Question) -> dict[str, Json]:
    """What a chain's turn is about, as its `extra` keeps it: objects, actions and what it rests on."""
    near = question.evidence if len(question.evidence) <= MOST_EVIDENCE else ()
    objects = {event.main for event in near} | {target for event in near for target in event.targets}
    named = (*objects, question.focus_object, question.params.get("object"), question.anchor)
    return {
        SHOWS: {
            "objects": sorted({name for name in named if isinstance(name, str)}),
            "actions": sorted({event.action for event in near} - {"walk", "stand", "turnTo"}),
        },
        RESTS_ON: question.anchor,
    }


def relations(earlier: Turn, later: Turn) -> list[Relation]:
    """The relations between two turns that a graph wrote, by what they share."""
    one, other = (turn.extra.get(SHOWS, {}) for turn in (earlier, later))
    kinds = (earlier.extra.get("kind"), later.extra.get("kind"))
    found = [relation for relation, names in _KINDS.items() if kinds[0] in names and kinds[1] in names]
    if set(one.get("objects", ())) & set(other.get("objects", ())):
        found.append(Relation.OBJECTS)
    if set(one.get("actions", ())) & set(other.get("actions", ())):
        found.append(Relation.ACTIONS)
    return found


def link(before: QAChain, after: QAChain, *, wanted: int, seed: str) -> list[Linkage]:
    """Linkages between two chains that follow each other, of relations as different as can be.

    Args:
        before: The earlier chain.
        after: The later chain.
        wanted: How many at most; SVBench asks for six pairs or more.
        seed: Decides among turns that are related alike.
    """
    draw = random.Random(f"link {seed}")
    candidates = [
        (relation, x, y)
        for x, earlier in enumerate(before.turns)
        for y, later in enumerate(after.turns)
        for relation in relations(earlier, later)
    ]
    draw.shuffle(candidates)
    found: list[Linkage] = []
    used: Counter[Relation] = Counter()
    sources: Counter[int] = Counter()
    targets: Counter[int] = Counter()
    while candidates and len(found) < wanted:
        open_ = [c for c in candidates if sources[c[1]] < MOST_OF_A_TURN and targets[c[2]] < MOST_OF_A_TURN]
        if not open_:
            break
        # Relations that were used least, then turns that lead nowhere yet.
        best = min(open_, key=lambda c: (used[c[0]], sources[c[1]] + targets[c[2]]))
        candidates.remove(best)
        relation, x, y = best
        used[relation] += 1
        sources[x] += 1
        targets[y] += 1
        found.append(
            Linkage(
                source=TurnRef(unit_id=before.id, turn_index=x),
                target=TurnRef(unit_id=after.id, turn_index=y),
                relation=relation.value,
            )
        )
    return sorted(found, key=lambda k: (k.source.turn_index, k.target.turn_index, k.relation))


def drafts(
    part: Part, boundary: int, linkage: Linkage, before: QAChain, after: QAChain, *, split: str, seed: str, writer: str
) -> Iterator[Rewrite]:
    """A draft for each method of the catalogue that fits the linkage and that the graphs can carry out.

    Args:
        part: Both clips.
        boundary: The order of the later clip's first event among those of both.
        linkage: The linkage.
        before: The earlier chain.
        after: The later chain, whose turn is put in other words.
        split: Whose surface forms are used.
        seed: Decides among questions and forms.
        writer: Signature of the writer.
    """
    draw = random.Random(f"rewrite {seed}")
    earlier, later = before.turns[linkage.source.turn_index], after.turns[linkage.target.turn_index]
    objects = set(earlier.extra.get(SHOWS, {}).get("objects", ())) | set(later.extra.get(SHOWS, {}).get("objects", ()))
    pool = list(linked_questions(part.story, boundary))
    for method in (m for m in catalogue().values() if m.relation == linkage.relation):
        fitting = [q for q in pool if method.name in METHODS[q.kind]]
        if not fitting:
            continue
        draw.shuffle(fitting)
        # Those that keep the thread to the next turn come first, then those about what the linked turns are about.
        question = min(
            fitting,
            key=lambda q: (
                bool(incoherences(q, linkage.target.turn_index, after, boundary)),
                not objects & {name for event in q.evidence for name in (event.main, *event.targets)},
            ),
        )
        asked = word(question, split=split, draw=draw, first=False)
        draft = turn_of(asked, part.story, draw, asked_at_s=part.asked_at_s)
        problems = tuple(incoherences(question, linkage.target.turn_index, after, boundary))
        skill = method.skills[draw.randrange(len(method.skills))]
        draft = draft.model_copy(
            update={
                "labels": draft.labels | {"svbench.relation": (linkage.relation,), "svbench.skill": (skill,)},
                "extra": draft.extra | {"tags_verified": False},
            }
        )
        yield Rewrite(
            id=derive_id("rewrite", linkage.model_dump(mode="json"), method.name),
            linkage=linkage,
            method=method.name,
            skill=skill,
            draft=draft,
            coherent=not problems,
            problems=problems,
            writer=writer,
        )


def incoherences(question: Question, place: int, after: QAChain, boundary: int) -> list[str]:
    """Why a draft would not agree with its neighbours in the later chain; empty where it does."""
    problems = []
    following: Sequence[Turn] = after.turns[place + 1 : place + 2]
    last = question.evidence[-1] if question.evidence else None
    spoken_of: set[str | int | None] = {question.focus_object}
    for order in (question.focus_event, last.order if last else None):
        spoken_of.add(order - boundary if order is not None else None)
    if last is not None and not last.targets:
        spoken_of.add(last.main)
    for turn in following:
        anchor = turn.extra.get(RESTS_ON)
        if anchor is not None and anchor not in spoken_of:
            problems.append(f"the next turn, {turn.question!r}, rests on what the draft no longer speaks of")
    keys = {
        str(turn.extra.get("answer_key")) for turn in after.turns[:place] if turn.extra.get("answer_type") == "action"
    }
    if question.answer_type == "action" and question.key in keys:
        problems.append("an earlier turn of the chain has told the answer")
    return problems
