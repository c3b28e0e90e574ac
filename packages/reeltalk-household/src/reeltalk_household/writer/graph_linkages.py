"""Linkages between chains and their rewriting drafts, from graphs.

Two turns are linked by something that both are about; `extra` of the linkage records it. A draft replaces the later
turn on a path that follows the linkage. On such a path the earlier turns of its own chain were not asked, so a draft
names everything that it asks about. SPARQL checks each draft.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from reeltalk.language import phrases
from reeltalk.language.vocabulary import ROOMS, class_of, is_person
from reeltalk.schema.dialogue import REFERS_TO, Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.labels import Relation
from reeltalk.schema.record import Json, derive_id
from reeltalk.schema.rewriting import RESTS_ON, Rewrite, RewritingMethod, catalogue
from reeltalk_build.construct.leakage import leak_of
from reeltalk_build.construct.round_forms import round_forms, texts_of_split
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.linked import DULL, POSED, linked_questions
from reeltalk_household.questions.question import LASTING, Question, event_key, story_of
from reeltalk_household.questions.questions import questions
from reeltalk_household.questions.wording import linked_forms, turn_of, word_question
from reeltalk_household.writer.graph_chains import KnownFact, VideoPart, are_news, asked_facts, known_facts, named_facts
from reeltalk_household.writer.graph_needs import event_clause

SHOWS: Final = "shows"
ASKS: Final = "asks"
"""Key of a turn's `extra`: the facts that its answer adds to its question."""
MOST_OF_A_TURN: Final = 2
"""Most linkages that begin or end at one turn."""
WORDINGS: Final = 4
"""Wordings of a question that are tried, since some name what it asks for."""
MOST_EVIDENCE: Final = 2
"""A turn with more events as evidence is not about a particular event."""

_OF_THINGS: Final = frozenset({"object_colour", "state_end", "what_else", "never_handled"})
"""Kinds about a thing itself, not about the actions in their evidence."""
_OF_PLACES: Final = frozenset({"which_room", "where_put", "where_from"})
"""Kinds that ask about places."""
_UNDOES: Final = frozenset(
    {("open", "close"), ("close", "open"), ("switchOn", "switchOff"), ("switchOff", "switchOn"), ("grab", "put")}
    | {("grab", "putIn"), ("put", "grab"), ("putIn", "grab")}
)
"""Pairs of acts on one thing in which the later act changes the result of the earlier one."""


def shown_facts(question: Question, story: Story) -> dict[str, Json]:
    """The subjects of a turn as stored in its `extra`: objects, actions, and events as ACTIVITY#INDEX."""
    near = question.evidence if len(question.evidence) <= MOST_EVIDENCE else ()
    about = near if question.kind not in _OF_THINGS else ()
    objects = {event.main for event in about} | {target for event in about for target in event.targets}
    named = (*objects, question.focus_object, question.params.get("object"), question.anchor)
    return {
        SHOWS: {
            "objects": sorted({name for name in named if isinstance(name, str) and _is_thing(name)}),
            "actions": sorted({event.action for event in about} - DULL),
            "events": [f"{story.graphs[event.part].name}#{event.index}" for event in about],
        },
        ASKS: [list(fact) for fact in sorted(named_facts(asked_facts(question), story))],
    }


def _is_thing(name: str) -> bool:
    return class_of(name) not in ROOMS and not is_person(name)


@dataclass(frozen=True)
class SharedGround:
    """Something that two turns have in common."""

    relation: Relation
    same: bool
    """True if both are about the same action, person, thing, event or room."""
    what: dict[str, Json]
    """In terms of the graph, for example `{"action": "open"}` or `{"object": "fridge3"}`."""
    earlier: StoryEvent | None = None
    later: StoryEvent | None = None


class ChainPair:
    """Two consecutive chains, with the graphs of both clips."""

    def __init__(self, part: VideoPart, boundary: int, before: QAChain, after: QAChain) -> None:
        self.part, self.boundary, self.before, self.after = part, boundary, before, after
        self.story = part.story
        self._orders = {self.name_of(event): event.order for event in self.story.events}

    def name_of(self, event: StoryEvent) -> str:
        """The event's name in `extra`: ACTIVITY#INDEX."""
        return f"{self.story.graphs[event.part].name}#{event.index}"

    @cached_property
    def pool(self) -> list[Question]:
        """All questions about both clips together, and those about the later clip that a method may ask."""
        kinds = {kind for method in catalogue().values() for kind in method.kinds}
        later = [
            question
            for question in questions(self.story)
            if question.kind in kinds and question.evidence and all(map(self.is_later, question.evidence))
        ]
        return [*linked_questions(self.story, self.boundary), *later]

    def is_later(self, event: StoryEvent) -> bool:
        """True for an event of the later clip."""
        return event.part >= self.story.events[self.boundary].part

    def asks(self, shared: SharedGround, question: Question) -> bool:
        """True if a question is about exactly what two turns share."""
        given, what = question.params, shared.what
        if question.kind in linked_forms():
            if "object" in given:
                return given["object"] == what.get("object")
            if "room" in given:
                return given["room"] == what.get("room")
            if shared.earlier is None or shared.later is None:
                return False
            if "action" in given:
                return given["action"] == shared.what.get("quantity") and question.person in (None, shared.later.agent)
            if "signature" in given:
                return given["signature"] == event_key(shared.later) and question.person in (None, shared.later.agent)
            names = self._named(question, "other"), self._named(question, "event")
            return names == (self.name_of(shared.earlier), self.name_of(shared.later))
        if "people" in what:
            return bool(set(what["people"]) == people_in(question))
        if "person" in what:
            return bool(question.subject == what["person"])
        about = {name for event in question.evidence for name in (event.main, *event.targets)}
        if shared.relation is Relation.OBJECTS:
            return what["object"] in {given.get("object"), question.focus_object, *about}
        if shared.later is None:
            return False
        shown = {self.name_of(event) for event in question.evidence}
        return self.name_of(shared.later) in shown or given.get("object", "") == shared.later.main

    def _named(self, question: Question, param: str) -> str | None:
        """The name of the event in a parameter of a question."""
        if param not in question.params:
            return None
        return self.name_of(story_of(question, self.story).events[int(question.params[param])])

    def events_of(self, turn: Turn) -> list[StoryEvent]:
        """The events that a turn is about."""
        names = turn.extra.get(SHOWS, {}).get("events", ())
        return [self.story.events[self._orders[name]] for name in names if name in self._orders]

    def shared(self, x: int, y: int) -> Iterator[SharedGround]:
        """What turn `x` of the earlier chain and turn `y` of the later one have in common."""
        one, other = self.before.turns[x], self.after.turns[y]
        for name in sorted(set(_objects(one)) & set(_objects(other))):
            yield SharedGround(Relation.OBJECTS, True, {"object": name})
        kinds = (one.extra.get("kind"), other.extra.get("kind"))
        for earlier in self.events_of(one):
            for later in self.events_of(other):
                yield from self._of_events(earlier, later, kinds)

    def _of_events(self, earlier: StoryEvent, later: StoryEvent, kinds: tuple[Json, Json]) -> Iterator[SharedGround]:
        told = earlier.action not in DULL and later.action not in DULL
        if told and earlier.action == later.action:
            yield SharedGround(Relation.ACTIONS, True, {"action": later.action}, earlier, later)
            if earlier.agent == later.agent:
                yield SharedGround(Relation.QUANTITY, True, {"quantity": later.action}, earlier, later)
            if earlier.signature == later.signature and earlier.main != later.main:
                what: dict[str, Json] = {"event": event_key(later), "how": "alike"}
                yield SharedGround(Relation.EVENTS, True, what, earlier, later)
        if told and earlier.main is not None and earlier.main == later.main:
            if earlier.signature == later.signature:
                what = {"event": event_key(later), "how": "again"}
                yield SharedGround(Relation.EVENTS, True, what, earlier, later)
            else:
                yield SharedGround(Relation.ACTIONS, False, {"object": later.main}, earlier, later)
            if (earlier.action, later.action) in _UNDOES and self._is_last(earlier, later):
                what = {"event": event_key(later), "how": "takes up"}
                yield SharedGround(Relation.EVENTS, True, what, earlier, later)
        if earlier.from_room is not None and earlier.from_room == later.from_room and {*kinds} <= _OF_PLACES:
            yield SharedGround(Relation.ENVIRONMENT, True, {"room": later.from_room}, earlier, later)
        if kinds == ("posture", "posture") and earlier.action in POSED and later.action in POSED:
            what = {"person": later.agent or self.story.agent, "said": "posture"}
            yield SharedGround(Relation.PEOPLE, True, what, earlier, later)
        elif self.story.names and earlier.agent is not None and later.agent is not None:
            if earlier.agent == later.agent:
                yield SharedGround(Relation.PEOPLE, True, {"person": later.agent, "said": "feeling"}, earlier, later)
            else:
                people = sorted((earlier.agent, later.agent))
                yield SharedGround(Relation.PEOPLE, False, {"people": people}, earlier, later)
        if kinds == ("duration", "duration") and earlier.action in LASTING and later.action in LASTING:
            yield SharedGround(Relation.QUANTITY, True, {"quantity": "duration"}, earlier, later)

    def _is_last(self, earlier: StoryEvent, later: StoryEvent) -> bool:
        """True if nothing happens in between to the object of both events."""
        between = self.story.events[earlier.order + 1 : later.order]
        return not any(later.main in (event.main, *event.targets) and event.action != "walk" for event in between)

    def asked(self, shared: SharedGround, x: int, y: int) -> Iterator[tuple[RewritingMethod, Question]]:
        """Questions by the catalogue's methods that can replace the later turn, in a fixed order."""
        for method in catalogue().values():
            if method.relation != shared.relation or method.case == ("different" if shared.same else "same"):
                continue
            for kind in method.kinds:
                if kind not in linked_forms() and not self.events_of_turn(x):
                    continue
                for question in self._by_kind.get(kind, ()):
                    if self.asks(shared, question) and not self.problems(question, x, y):
                        yield method, question

    def events_of_turn(self, x: int) -> list[StoryEvent]:
        """The events of turn `x` of the earlier chain that are worth telling again."""
        return [event for event in self.events_of(self.before.turns[x]) if event.action not in DULL]

    @cached_property
    def _by_kind(self) -> dict[str, list[Question]]:
        found: dict[str, list[Question]] = {}
        for question in self.pool:
            found.setdefault(question.kind, []).append(question)
        return found

    def problems(self, question: Question, x: int, y: int) -> list[str]:
        """Reasons why a question cannot replace the later turn on a path; empty if it can."""
        found = []
        following: Sequence[Turn] = self.after.turns[y + 1 :]
        if (
            following
            and (means := following[0].extra.get(REFERS_TO)) is not None
            and means not in self._spoken(question)
        ):
            found.append(f"the next turn, {following[0].question!r}, rests on what the draft does not speak of")
        told = self._told(question)
        found += [
            f"it tells what {turn.question!r} asks for"
            for turn in following
            if not are_news(
                frozenset((str(kind), str(subject)) for kind, subject in turn.extra.get(ASKS, ())),
                told,
                kind=str(turn.extra.get("kind")),
                key=str(turn.extra.get("answer_key")),
            )
        ]
        after = {turn.extra.get("answer_key") for turn in following if turn.extra.get("answer_type") == "action"}
        if question.answer_type == "action" and question.key in after:
            found.append("a later turn has the same answer")
        earlier = {event for turn in self.before.turns[: x + 1] for event in self.events_of(turn)}
        if question.kind in ("linked_use",) and set(question.evidence) <= earlier:
            found.append("an earlier turn has told the answer")
        answers = {(turn.extra.get("answer_type"), turn.extra.get("answer_key")) for turn in self.before.turns[: x + 1]}
        if question.answer_type in ("room", "place", "action") and (question.answer_type, question.key) in answers:
            found.append("an earlier turn has the same answer")
        return found

    def _spoken(self, question: Question) -> set[str]:
        """What *it* or *that*, *he* or *she* may mean in the next turn."""
        own = story_of(question, self.story)
        event = question.focus_event
        named = (
            question.focus_object,
            question.focus_person,
            None if event is None else self.name_of(own.events[event]),
        )
        return {name for name in named if name is not None}

    def _told(self, question: Question) -> frozenset[KnownFact]:
        """Facts about the later clip that the question and its answer tell, with events by name."""
        own = tuple(event for event in question.evidence if self.is_later(event))
        told = set(known_facts(replace(question, evidence=own, focus_event=None)))
        by = "" if question.person is None else f" by {question.person}"
        name = f"{question.params.get('object', '')}"
        if question.kind == "linked_trajectory":
            told |= {("put", f"{name}{by}")}
        if question.kind == "linked_state":
            told |= {("state", name)}
        if question.kind == "linked_rooms":
            told |= {("in", room) for room in question.key.split("|")}
        if question.kind == "linked_source":
            told |= {("from", f"{question.focus_object}{by}")}
        if question.kind == "linked_often":
            told |= {("times", f"{question.params['signature']}{by}")}
        found = set(named_facts(told, self.story))
        if question.kind in ("linked_return", "linked_place", "linked_posture"):
            later = story_of(question, self.story).events[int(question.params["event"])]
            found |= {("in", class_of(later.from_room or "")), ("room", self.name_of(later))}
            found |= {("posture", self.name_of(later))} if question.kind == "linked_posture" else set()
        return frozenset(found)


def people_in(question: Question) -> set[str]:
    """Everybody whom a question and its answer are about."""
    agents = {event.agent for event in question.evidence}
    others = {name for event in question.evidence for name in (event.main, *event.targets)}
    named = {question.subject, question.focus_person, question.key, question.params.get("object")}
    return {str(name) for name in agents | others | named if name is not None and is_person(str(name))}


def _objects(turn: Turn) -> Sequence[str]:
    names: Sequence[str] = turn.extra.get(SHOWS, {}).get("objects", ())
    return names


@dataclass(frozen=True)
class Links:
    """Linkages between two chains."""

    found: list[Linkage]
    unwritten: Counter[str]
    """Number of related pairs of turns by relation for which no method gives a question; they are left out."""


def find_links(
    pair: ChainPair,
    *,
    wanted: int,
    seed: str,
    has_draft: Callable[[Linkage], bool],
    often: Mapping[str, int] | None = None,
) -> Links:
    """Linkages between two consecutive chains, with relations as varied as possible.

    A link is left out if no question for it fits between its neighbours, as SVBench's annotators delete a link that
    makes no sense.

    Args:
        pair: The chains.
        wanted: Most linkages; SVBench asks for six pairs or more.
        seed: Chooses among equally good candidates.
        has_draft: Whether a draft of a linkage can be worded that gives no answer away.
        often: How often each method has been used so far; linkages for rare ones come first.
    """
    draw, often = random.Random(f"link {seed}"), often or {}
    rarest: dict[tuple[str, int, int], int] = {}
    candidates, left_out = [], set()
    for x in range(len(pair.before.turns)):
        for y in range(len(pair.after.turns)):
            for shared in pair.shared(x, y):
                methods = {method.name for method, _ in pair.asked(shared, x, y)}
                if methods:
                    candidates.append((shared, x, y))
                    rarest[repr(shared), x, y] = min(often.get(name, 0) for name in methods)
                else:
                    left_out.add((shared.relation, x, y))
    draw.shuffle(candidates)
    related = {(shared.relation, x, y) for shared, x, y in candidates}
    unworded: set[tuple[Relation, int, int]] = set()
    found: dict[tuple[int, int, str], Linkage] = {}
    used: Counter[Relation] = Counter()
    grounds: Counter[str] = Counter()
    sources: Counter[int] = Counter()
    targets: Counter[int] = Counter()
    while len(found) < wanted:
        candidates = [
            (shared, x, y)
            for shared, x, y in candidates
            if sources[x] < MOST_OF_A_TURN
            and targets[y] < MOST_OF_A_TURN
            and (x, y, shared.relation.value) not in found
        ]
        if not candidates:
            break
        # Prefer rare methods, then the least used relations, grounds not used yet, and turns without linkages.
        shared, x, y = min(
            candidates,
            key=lambda c: (
                rarest[repr(c[0]), c[1], c[2]],
                used[c[0].relation],
                grounds[repr(_rests_on(pair, c[0]))],
                sources[c[1]] + targets[c[2]],
            ),
        )
        linkage = Linkage(
            source=TurnRef(unit_id=pair.before.id, turn_index=x),
            target=TurnRef(unit_id=pair.after.id, turn_index=y),
            relation=shared.relation.value,
            extra={RESTS_ON: _rests_on(pair, shared)},
        )
        if not has_draft(linkage):
            candidates.remove((shared, x, y))
            unworded.add((shared.relation, x, y))
            continue
        used[shared.relation] += 1
        grounds[repr(_rests_on(pair, shared))] += 1
        sources[x] += 1
        targets[y] += 1
        found[x, y, shared.relation.value] = linkage
    left_out -= related
    left_out |= {(relation, x, y) for relation, x, y in unworded if (x, y, relation.value) not in found}
    return Links([found[key] for key in sorted(found)], Counter(relation.value for relation, _, _ in left_out))


def _rests_on(pair: ChainPair, shared: SharedGround) -> dict[str, Json]:
    events = {
        name: pair.name_of(event)
        for name, event in (("earlier", shared.earlier), ("later", shared.later))
        if event is not None
    }
    return shared.what | events


def write_drafts(pair: ChainPair, linkage: Linkage, *, split: str, seed: str, writer: str) -> Iterator[Rewrite]:
    """One draft for each method of the catalogue that fits the linkage and that graphs support.

    A draft is left out if it contains its own answer, if what is asked before it tells that, or if a turn after it is
    answered once it is asked.

    Args:
        pair: The chains.
        linkage: A linkage from `find_links`.
        split: The split whose surface forms are used.
        seed: Chooses among questions and forms.
        writer: Signature of the writer.
    """
    draw = random.Random(f"rewrite {seed}")
    x, y = linkage.source.turn_index, linkage.target.turn_index
    asked: dict[str, list[tuple[RewritingMethod, Question]]] = {}
    for shared in pair.shared(x, y):
        if shared.relation == linkage.relation and _rests_on(pair, shared) == linkage.extra.get(RESTS_ON):
            for method, question in pair.asked(shared, x, y):
                asked.setdefault(method.name, []).append((method, question))
    for found in asked.values():
        draw.shuffle(found)
        tried = found * WORDINGS
        drafts = ((method, q, _draft(pair, linkage, q, split=split, draw=draw)) for method, q in tried)
        fitting = ((method, q, draft) for method, q, draft in drafts if not gives_away(pair, draft, x, y))
        if (chosen := next(fitting, None)) is None:
            continue
        method, question, draft = chosen
        labels = draft.labels | {"svbench.relation": (linkage.relation,), "svbench.skill": (method.skill,)}
        extra = draft.extra | shown_facts(question, pair.story) | {"tags_verified": False}
        yield Rewrite(
            id=derive_id("rewrite", linkage.model_dump(mode="json"), method.name),
            linkage=linkage,
            method=method.name,
            skill=method.skill,
            draft=draft.model_copy(update={"labels": labels, "extra": extra}),
            coherent=True,
            writer=writer,
        )


def gives_away(pair: ChainPair, draft: Turn, x: int, y: int) -> bool:
    """True if a turn from the draft on is answered by itself or by a turn before it, on a path from `x` to `y`.

    A path may have entered the earlier chain at any turn up to `x`; a turn that it skips says nothing, so all count.
    """
    said = [(turn.question, turn.references[0]) for turn in pair.before.turns[: x + 1]]
    for turn in (draft, *pair.after.turns[y + 1 :]):
        if leak_of(turn, said) is not None:
            return True
        said.append((turn.question, turn.references[0]))
    return False


def _draft(pair: ChainPair, linkage: Linkage, question: Question, *, split: str, draw: random.Random) -> Turn:
    """A question as a turn; one about the later scene alone is put beside what the earlier turn was about."""
    alone = question.kind not in linked_forms()
    said = word_question(question, split=split, draw=draw, first=alone)
    turn = turn_of(said, pair.story, draw, asked_at_s=pair.part.asked_at_s)
    if not alone:
        return turn
    context = _context(pair, linkage, split=split, draw=draw)
    return turn.model_copy(update={"question": phrases.sentence(f"{context} {turn.question}")})


def _context(pair: ChainPair, linkage: Linkage, *, split: str, draw: random.Random) -> str:
    """A sentence that tells the event of the earlier turn."""
    ground = linkage.extra.get(RESTS_ON, {})
    told = pair.events_of_turn(linkage.source.turn_index)
    named = [event for event in told if pair.name_of(event) == ground.get("earlier")]
    subject, predicate = event_clause((named or told)[-1], pair.story)
    template = draw.choice(texts_of_split(round_forms()["context"].questions, split))
    return template.replace("{told}", f"{subject} {predicate}").replace("{who}", subject).replace("{does}", predicate)
