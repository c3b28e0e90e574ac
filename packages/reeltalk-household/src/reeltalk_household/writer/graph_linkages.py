"""Linkages between chains and their rewriting drafts, from graphs.

Two turns are linked by something that both are about; `extra` of the linkage records it. A draft replaces the later
turn on a path that follows the linkage. It links by necessity: without the earlier film its answer would be another, or
without the earlier turn nobody could know what it asks for. SPARQL checks each draft.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from reeltalk.language.vocabulary import ROOMS, class_of, is_person, plain_name
from reeltalk.schema.dialogue import REFERS_TO, SPEAKS_OF, Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.labels import Relation
from reeltalk.schema.record import Json, derive_id
from reeltalk.schema.rewriting import NEEDS_KEY, RESTS_ON, Rewrite, RewritingMethod, catalogue
from reeltalk_build.construct.leakage import leak_of
from reeltalk_build.graph.naming import pronoun_of
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.linked import CONNECTING_ACTS, linked_questions
from reeltalk_household.questions.question import Question, event_key, story_of
from reeltalk_household.questions.wording import (
    LESSONS,
    fitting_forms,
    linked_forms,
    names_spoken_of,
    turn_of,
    word_question,
)
from reeltalk_household.writer.graph_chains import (
    THAT_PERSON,
    KnownFact,
    VideoPart,
    answer_facts,
    are_news,
    has_one_referent,
    is_askable,
    known_facts,
    means_one_person,
    named_facts,
    people_mentioned,
    reworded,
)
from reeltalk_household.writer.graph_references import candidates_of, is_ambiguous, people_for

SHOWS_KEY: Final = "shows"
ASKS_KEY: Final = "asks"
"""Key of a turn's `extra`: the facts that its answer adds to its question."""
MOST_OF_A_TURN: Final = 2
"""Most linkages that begin or end at one turn."""
MOST_OF_A_RELATION: Final = 4
"""Most linkages of one relation between two chains."""
COUNTING_KINDS: Final = frozenset({"linked_interval", "linked_longer", "linked_trend", "linked_often"})
"""Kinds that count acts and seconds over both clips, as people seldom do: one link of them between two chains, and the
last."""
WORDINGS_TRIED: Final = 4
"""Wordings of a question that are tried, since some name what it asks for."""
MOST_EVIDENCE: Final = 2
"""A turn with more events as evidence is not about a particular event."""

_OF_THINGS: Final = frozenset({"object_colour", "state_end", "what_else", "never_handled"})
"""Kinds about a thing itself, not about the actions in their evidence."""
CLIP, TURN = "clip", "turn"
SAME_PERSON: Final = "the same person"
"""Words for the only person of the turn before."""


def shown_facts(question: Question, story: Story) -> dict[str, Json]:
    """The subjects of a turn as stored in its `extra`: objects, actions, and events as ACTIVITY#INDEX."""
    near = question.evidence if len(question.evidence) <= MOST_EVIDENCE else ()
    about = near if question.kind not in _OF_THINGS else ()
    objects = {event.main for event in about} | {target for event in about for target in event.targets}
    place = question.key if question.answer_type == "place" else None
    named = (*objects, question.focus_object, question.params.get("object"), question.anchor, place)
    return {
        SHOWS_KEY: {
            "objects": sorted({name for name in named if isinstance(name, str) and _is_thing(name)}),
            "actions": sorted({event.action for event in about} - CONNECTING_ACTS),
            "events": [f"{story.graphs[event.part].name}#{event.index}" for event in about],
        },
        ASKS_KEY: [list(fact) for fact in sorted(named_facts(answer_facts(question), story))],
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
    """Two consecutive chains, with the film up to the end of the later one's clip."""

    def __init__(self, part: VideoPart, before: QAChain, after: QAChain, *, later: VideoPart, seed: int) -> None:
        self.part, self.before, self.after, self._later, self._seed = part, before, after, later, seed
        self.story = part.story
        self._needs_clip: dict[int, bool] = {}
        """Whether questions of the pool need the earlier film, by identity."""
        self._orders = {self.name_of(event): event.order for event in self.story.events}

    def name_of(self, event: StoryEvent) -> str:
        """The event's name in `extra`: ACTIVITY#INDEX."""
        return f"{self.story.graphs[event.part].name}#{event.index}"

    @cached_property
    def universe(self) -> list[Question]:
        """All questions about the film, and about the later clip alone."""
        return self.part.questions_of_last(self._seed)

    @cached_property
    def pool(self) -> list[Question]:
        """All questions about the later clip that a method may ask."""
        kinds = {kind for method in catalogue().values() for kind in method.kinds}
        shown = [len(self.story.graphs) - 1]
        asked = (q for q in self.universe if q.kind in kinds)
        return [
            *linked_questions(self.story, self.part.boundary),
            *(question for question in asked if is_askable(question, self.story, shown)),
        ]

    def is_later(self, event: StoryEvent) -> bool:
        """True for an event of the later clip."""
        return event.part == len(self.story.graphs) - 1

    def asks(self, shared: SharedGround, question: Question) -> bool:
        """True if a question is about exactly what two turns share."""
        given, what = question.params, shared.what
        if "people" in what or "person" in what:
            named = {*what.get("people", ()), what.get("person")} - {None}
            return question.subject in named and (len(named) == 1 or named == people_in(question))
        about = question.person in (None, shared.later.agent) if shared.later is not None else True
        if "room" in given:
            return about and given["room"] == what.get("room")
        if question.kind not in linked_forms() or "object" in given:
            return what.get("object") == given.get("object", question.anchor) is not None
        if shared.earlier is None or shared.later is None:
            return False
        if "action" in given:
            return about and given["action"] == what.get("quantity")
        if "signature" in given:
            return about and given["signature"] == event_key(shared.later)
        if "other" not in given:
            return False
        events = story_of(question, self.story).events
        names = tuple(self.name_of(events[int(given[name])]) for name in ("other", "event"))
        return names == (self.name_of(shared.earlier), self.name_of(shared.later))

    def need(self, question: Question, x: int) -> str | None:
        """What a question cannot be answered without: `clip`, the earlier film, or `turn`, the earlier turn.

        Without the film, SPARQL finds another answer or none. Without the turn, *it* or *she* could mean several things
        or people, with different answers.

        Returns:
            None for a question that needs neither, which no linkage may ask.
        """
        if question.kind in linked_forms():
            if id(question) not in self._needs_clip:
                self._needs_clip[id(question)] = self._answer_alone(question) != question.key
            if self._needs_clip[id(question)]:
                return CLIP
        turn = self.before.turns[x]
        said = " ".join((turn.question, *turn.references))
        spoken = turn.extra.get(SPEAKS_OF, ())
        if question.anchor in spoken and fitting_forms(question, LESSONS, ref=True):
            fits = has_one_referent(question, said, self.story, self.universe)
            return TURN if fits and is_ambiguous(candidates_of(question, self.story, self.universe)) else None
        if question.subject in spoken:
            # The scene begins at another place among the acts of each.
            question, *alike = (
                replace(one, params={name: value for name, value in one.params.items() if name != "boundary"})
                for one in (question, *(other for other in self.universe if other.kind == question.kind))
            )
            if people_mentioned(turn, self.story) == {question.subject}:
                # "The same person" could be anybody.
                he = {"he": question.slots["he"]}
                alike = [replace(other, slots={**other.slots, **he}) for other in alike]
            elif not means_one_person(question, turn, self.story):
                return None
            return TURN if is_ambiguous(people_for(question, alike, self.story)) else None
        return None

    def _answer_alone(self, question: Question) -> str:
        """The answer to a question about the later clip and the film before it, from the later clip alone."""
        own = story_of(question, self.story)
        first = sum(not self.is_later(event) for event in own.events)
        moved = {
            name: int(value) - first if name in ("event", "other", "boundary") else value
            for name, value in question.params.items()
        }
        if any(isinstance(value, int) and value < 0 for value in moved.values()):
            return ""
        return self._later.checker.answer(question.kind, moved)

    def events_of(self, turn: Turn) -> list[StoryEvent]:
        """The events that a turn is about."""
        names = turn.extra.get(SHOWS_KEY, {}).get("events", ())
        return [self.story.events[self._orders[name]] for name in names if name in self._orders]

    def shared(self, x: int, y: int) -> Iterator[SharedGround]:
        """What turn `x` of the earlier chain and turn `y` of the later one have in common."""
        one, other = self.before.turns[x], self.after.turns[y]
        for name in sorted(set(_objects(one)) & set(_objects(other))):
            yield SharedGround(Relation.OBJECTS, True, {"object": name})
        for earlier in self.events_of(one):
            for later in self.events_of(other):
                yield from self._of_events(earlier, later)

    def _of_events(self, earlier: StoryEvent, later: StoryEvent) -> Iterator[SharedGround]:
        if earlier.action not in CONNECTING_ACTS and earlier.action == later.action:
            yield SharedGround(Relation.ACTIONS, True, {"action": later.action}, earlier, later)
            if earlier.agent == later.agent:
                yield SharedGround(Relation.QUANTITY, True, {"quantity": later.action}, earlier, later)
            if earlier.signature == later.signature:
                how = "again" if earlier.main == later.main else "alike"
                what: dict[str, Json] = {"event": event_key(later), "how": how}
                yield SharedGround(Relation.EVENTS, True, what, earlier, later)
        elif (
            earlier.main is not None
            and earlier.main == later.main
            and not {earlier.action, later.action} & CONNECTING_ACTS
        ):
            yield SharedGround(Relation.ACTIONS, False, {"object": later.main}, earlier, later)
        if earlier.from_room is not None and earlier.from_room == later.from_room:
            yield SharedGround(Relation.ENVIRONMENT, True, {"room": later.from_room}, earlier, later)
        if self.story.names and earlier.agent is not None and later.agent is not None:
            if earlier.agent == later.agent:
                yield SharedGround(Relation.PEOPLE, True, {"person": later.agent}, earlier, later)
            else:
                people = sorted((earlier.agent, later.agent))
                yield SharedGround(Relation.PEOPLE, False, {"people": people}, earlier, later)

    def replacements(
        self, shared: SharedGround, x: int, y: int
    ) -> Iterator[tuple[RewritingMethod, Question, str | None]]:
        """Questions by the catalogue's methods that can replace the later turn, each with what it needs."""
        for method in catalogue().values():
            if method.relation != shared.relation or method.case == ("different" if shared.same else "same"):
                continue
            for kind in method.kinds:
                for question in self._by_kind.get(kind, ()):
                    if self.asks(shared, question) and not self.problems(question, x, y):
                        yield method, question, self.need(question, x)

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
        facts = self._later_facts(question)
        found += [
            f"it tells what {turn.question!r} asks for"
            for turn in following
            if not are_news(
                frozenset((str(kind), str(subject)) for kind, subject in turn.extra.get(ASKS_KEY, ())),
                facts,
                kind=str(turn.extra.get("kind")),
                key=str(turn.extra.get("answer_key")),
            )
        ]
        after = {turn.extra.get("answer_key") for turn in following if turn.extra.get("answer_type") == "action"}
        if question.answer_type == "action" and question.key in after:
            found.append("a later turn has the same answer")
        earlier = {event for turn in self.before.turns[: x + 1] for event in self.events_of(turn)}
        if question.evidence and set(question.evidence) <= earlier:
            found.append("an earlier turn has told the answer")
        answers = {(turn.extra.get("answer_type"), turn.extra.get("answer_key")) for turn in self.before.turns[: x + 1]}
        if question.answer_type in ("room", "place", "action") and (question.answer_type, question.key) in answers:
            found.append("an earlier turn has the same answer")
        return found

    def _spoken(self, question: Question) -> set[str]:
        """What *it* or *that*, *he* or *she* may mean in the next turn."""
        return set(names_spoken_of(question, story_of(question, self.story)))

    def _later_facts(self, question: Question) -> frozenset[KnownFact]:
        """Facts about the later clip that the question and its answer tell, with events by name."""
        own = tuple(event for event in question.evidence if self.is_later(event))
        facts = set(known_facts(replace(question, evidence=own, focus_event=None)))
        by = "" if question.person is None else f" by {question.person}"
        name = f"{question.params.get('object', '')}"
        if question.kind == "linked_trajectory":
            facts |= {("put", f"{name}{by}")}
        if question.kind == "linked_often":
            facts |= {("times", f"{question.params['signature']}{by}")}
        return named_facts(facts, self.story)


def people_in(question: Question) -> set[str]:
    """Everybody whom a question and its answer are about."""
    agents = {event.agent for event in question.evidence}
    others = {name for event in question.evidence for name in (event.main, *event.targets)}
    named = {question.subject, question.focus_person, question.key, question.params.get("object")}
    return {str(name) for name in agents | others | named if name is not None and is_person(str(name))}


def _objects(turn: Turn) -> Sequence[str]:
    names: Sequence[str] = turn.extra.get(SHOWS_KEY, {}).get("objects", ())
    return names


@dataclass(frozen=True)
class Links:
    """Linkages between two chains."""

    found: list[Linkage]
    refused: Counter[tuple[str, str]]
    """Number of related pairs of turns by relation and reason for which no method gives a question."""


UNNEEDED: Final = "its questions can be answered without the earlier clip and turn"
UNFITTING: Final = "no question stands between the neighbours of the later turn"


def find_links(
    pair: ChainPair,
    *,
    count: int,
    seed: str,
    has_draft: Callable[[Linkage], bool],
    often: Mapping[str, int] | None = None,
) -> Links:
    """Linkages between two consecutive chains, with relations as varied as possible.

    A link is left out if every question for it can be answered without the earlier clip and turn, or if none fits
    between its neighbours, as SVBench's annotators delete a link that makes no sense. `often` is how often each method
    has been used so far; linkages for rare ones come first.
    """
    draw, usual = random.Random(f"link {seed}"), often or {}
    candidates: list[tuple[tuple[bool, int], SharedGround, int, int]] = []
    reasons: dict[tuple[Relation, int, int], str] = {}
    for x in range(len(pair.before.turns)):
        for y in range(len(pair.after.turns)):
            for shared in pair.shared(x, y):
                asked = list(pair.replacements(shared, x, y))
                methods = {m.name: set(m.kinds) <= COUNTING_KINDS for m, _, need in asked if need is not None}
                reasons.setdefault((shared.relation, x, y), UNNEEDED if asked and not methods else UNFITTING)
                if methods:
                    rare = min((counting, usual.get(name, 0)) for name, counting in methods.items())
                    candidates.append((rare, shared, x, y))
    draw.shuffle(candidates)
    found: dict[tuple[int, int, str], Linkage] = {}
    used: Counter[object] = Counter()
    while len(found) < count and candidates:
        # Prefer rare methods, then the least used relations, grounds not used yet, and turns without linkages.
        chosen = min(
            candidates,
            key=lambda c: (c[0], used[c[1].relation], used[repr(_rests_on(pair, c[1]))], used["x", c[2]] + used[c[3]]),
        )
        candidates.remove(chosen)
        (counting, _), shared, x, y = chosen
        if counting and used[COUNTING_KINDS]:
            break
        linkage = Linkage(
            source=TurnRef(unit_id=pair.before.id, turn_index=x),
            target=TurnRef(unit_id=pair.after.id, turn_index=y),
            relation=shared.relation.value,
            extra={RESTS_ON: _rests_on(pair, shared)},
        )
        ends = (x, y, shared.relation.value)
        enough = max(used["x", x], used[y]) >= MOST_OF_A_TURN or used[shared.relation] >= MOST_OF_A_RELATION
        if enough or ends in found or not has_draft(linkage):
            continue
        used.update((*[COUNTING_KINDS] * counting, shared.relation, repr(_rests_on(pair, shared)), ("x", x), y))
        found[ends] = linkage
    refused = Counter(
        (relation.value, reason) for (relation, x, y), reason in reasons.items() if (x, y, relation.value) not in found
    )
    return Links([found[key] for key in sorted(found)], refused)


def _rests_on(pair: ChainPair, shared: SharedGround) -> dict[str, Json]:
    events = {
        name: pair.name_of(event)
        for name, event in (("earlier", shared.earlier), ("later", shared.later))
        if event is not None
    }
    return shared.what | events


def write_drafts(pair: ChainPair, linkage: Linkage, *, split: str, seed: str, writer: str) -> Iterator[Rewrite]:
    """One draft for each method of the catalogue that fits the linkage and that graphs support.

    A draft is left out if it needs neither the earlier clip nor the earlier turn, if it contains its own answer, if
    what is asked before it tells that, or if a turn after it is answered once it is asked.
    """
    draw = random.Random(f"rewrite {seed}")
    x, y = linkage.source.turn_index, linkage.target.turn_index
    asked: dict[str, list[tuple[RewritingMethod, Question, str]]] = {}
    for shared in pair.shared(x, y):
        if shared.relation == linkage.relation and _rests_on(pair, shared) == linkage.extra.get(RESTS_ON):
            for method, question, need in pair.replacements(shared, x, y):
                if need is not None:
                    asked.setdefault(method.name, []).append((method, question, need))
    for found in asked.values():
        draw.shuffle(found)
        drafts = (
            (method, need, draft)
            for method, q, need in found * WORDINGS_TRIED
            if (draft := _draft(pair, q, x, need, split=split, draw=draw)) is not None
        )
        chosen = next(((m, need, draft) for m, need, draft in drafts if not gives_away(pair, draft, x, y)), None)
        if chosen is None:
            continue
        method, need, draft = chosen
        labels = draft.labels | {"svbench.relation": (linkage.relation,), "svbench.skill": (method.skill,)}
        yield Rewrite(
            id=derive_id("rewrite", linkage.model_dump(mode="json"), method.name),
            linkage=linkage,
            method=method.name,
            skill=method.skill,
            draft=draft.model_copy(update={"labels": labels, "extra": draft.extra | {NEEDS_KEY: need}}),
            coherent=True,
            writer=writer,
        )


NO_PERSON: Final = "its *he*, *she* or *the same person* could be several people of the turn before"


def has_its_person(turn: Turn, last: Turn, story: Story) -> bool:
    """True if only one person of the turn before can be whom a turn refers to; also if it refers to nobody."""
    means = turn.extra.get(REFERS_TO)
    if means not in story.people:
        return True
    told = people_mentioned(last, story)
    if SAME_PERSON not in turn.question.casefold() and THAT_PERSON not in turn.question.casefold():
        he = pronoun_of(story.attributes.get(str(means), ()))
        told = {person for person in told if pronoun_of(story.attributes.get(person, ())) == he}
    elif last.extra.get("answer_type") == "person":
        told = {str(last.extra["answer_key"])}
    return told == {means}


def gives_away(pair: ChainPair, draft: Turn, x: int, y: int) -> bool:
    """True if a turn from the draft on is answered by itself or by a turn before it, on a path from `x` to `y`.

    A path may have entered the earlier chain at any turn up to `x`; a turn that it skips says nothing, so all count.
    """
    said = [(turn.question, turn.references[0]) for turn in pair.before.turns[: x + 1]]
    for turn in (draft, *pair.after.turns[y + 1 :]):
        named = turn.extra.get("answer_type") == "object" and plain_name(str(turn.extra.get("answer_key")))
        if leak_of(turn, said) is not None or (named and any(named in answer for _, answer in said)):
            return True
        said.append((turn.question, turn.references[0]))
    return False


def _draft(pair: ChainPair, question: Question, x: int, need: str, *, split: str, draw: random.Random) -> Turn | None:
    """A question as a turn after turn `x`, which says what *it* and *she* mean wherever that is clear."""
    before = pair.before.turns[x]
    spoken = before.extra.get(SPEAKS_OF, ())
    named = question.subject not in spoken or not means_one_person(question, before, pair.story)
    anchored, spoken_of = need == TURN and question.anchor in spoken, question.params.get("object")
    asked = question
    if anchored and not fitting_forms(question, split, ref=True):
        return None
    if need == CLIP and spoken_of in spoken:
        said = " ".join((before.question, *before.references))
        asked = replace(question, anchor=str(spoken_of))
        if anchored := has_one_referent(asked, said, pair.story, pair.universe):
            it = {"o": question.slots["it"], "O": question.slots["it"]}
            asked = replace(asked, slots={**question.slots, **it})
    if same := need == TURN and not anchored and people_mentioned(before, pair.story) == {question.subject}:
        asked, named = reworded(question, SAME_PERSON), True
    said_as = word_question(asked, split=split, draw=draw, rests=need == TURN and anchored, named=named)
    said_as = replace(said_as, rests=said_as.rests or (same and SAME_PERSON in said_as.text.casefold()))
    if need == TURN and not anchored and not said_as.rests:
        return None
    said_as = replace(said_as, rests=said_as.rests or anchored, anchored=anchored)
    turn = turn_of(said_as, pair.story, draw, asked_at_s=pair.part.asked_at_s)
    extra = turn.extra | shown_facts(question, pair.story) | {"tags_verified": False}
    return turn.model_copy(update={"options": None, "correct_option": None, "extra": extra})
