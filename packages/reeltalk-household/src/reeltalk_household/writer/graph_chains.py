"""The graphs of a video by clip, and question chains from them: each turn depends on the answer before it (SVBench).

A question is asked about the film so far: its answer holds for all that was seen, and what it names occurs there once.
Facts record the information in a question and its answer, so that no later turn asks for it again.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Final

from reeltalk.errors import InputError
from reeltalk.language.grammar import SPLITS
from reeltalk.language.near_misses import misread
from reeltalk.language.phrases import FORMS, is_plural
from reeltalk.language.vocabulary import class_of, plain_name
from reeltalk.schema.dialogue import REFERS_TO, SPEAKS_OF, AnswerKey, Turn
from reeltalk.schema.media import Clip, Video
from reeltalk_build.construct.leakage import leak_of
from reeltalk_build.graph.activity import ActivityGraph
from reeltalk_build.graph.naming import pronoun_of
from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.balancing import AnswerBalance
from reeltalk_household.questions.checking import Checker
from reeltalk_household.questions.linked import CONNECTING_ACTS, scene_questions
from reeltalk_household.questions.question import Question, act_phrase, called_thing, story_of
from reeltalk_household.questions.questions import questions
from reeltalk_household.questions.wording import (
    SUBJECT,
    WordedQuestion,
    fitting_forms,
    name_in,
    question_identity,
    word_question,
)


@dataclass(frozen=True)
class VideoPart:
    """Some clips of a video, with their story and the checker of answers about it."""

    clips: tuple[Clip, ...]
    graphs: tuple[ActivityGraph, ...] = field(repr=False)
    texts: dict[str, str] = field(repr=False)
    pools: dict[int, list[Question]] = field(default_factory=dict, repr=False, compare=False)
    """Questions about the clips, by seed."""

    @cached_property
    def boundary(self) -> int:
        """The order of the first event of the last clip."""
        return sum(event.part < len(self.graphs) - 1 for event in self.story.events)

    def questions_of_last(self, seed: int) -> list[Question]:
        """All questions about the clips, with those about the last clip alone; see `question_pool`."""
        return [*self.question_pool(seed), *scene_questions(self.story, self.boundary)]

    @cached_property
    def story(self) -> Story:
        """The events of the clips, in seconds of the video."""
        begins = [clip.interval.start_s for clip in self.clips if clip.interval is not None]
        return Story(self.graphs, begins_s=begins if len(begins) == len(self.clips) else None)

    @cached_property
    def checker(self) -> Checker:
        """Answers questions about the clips again, with SPARQL."""
        return Checker(self.texts)

    def question_pool(self, seed: int) -> list[Question]:
        """All questions about the clips; found once, since much is written about the same clips.

        Args:
            seed: Chooses the absent things and acts to ask for.
        """
        if seed not in self.pools:
            own = random.Random(f"{seed} {' '.join(clip.id for clip in self.clips)}")
            self.pools[seed] = [
                _with_anchor(one, self.story) for one in questions(self.story, seed=own.getrandbits(32))
            ]
        return self.pools[seed]

    @property
    def asked_at_s(self) -> float | None:
        """Time of questions about these clips, in seconds: the end of the last one."""
        last = self.clips[-1].interval
        return last.end_s if last else None


class GraphVideo:
    """One video with the graphs of its clips.

    Raises:
        InputError: A graph is malformed, or no surface forms exist for the split of the video.
    """

    def __init__(self, video: Video, clips: Sequence[Clip], texts: dict[str, str], *, file: str) -> None:
        self.video, self.clips, self._texts = video, tuple(clips), texts
        self.split = video.split or SPLITS[0]
        if self.split not in SPLITS:
            raise InputError(
                f"video {video.id!r} is of split {self.split!r}; forms are divided among {', '.join(SPLITS)}",
                file=file,
            )
        self._graphs = [read_activity(text, file=f"{file}/{name}.nq", name=name) for name, text in texts.items()]
        self._parts: dict[tuple[str, ...], VideoPart] = {}

    def part(self, clips: Sequence[str]) -> VideoPart | None:
        """Some clips in order of time; None if none of them has a graph."""
        places = [n for n, clip in enumerate(self.clips) if clip.id in clips]
        if not places:
            return None
        key = tuple(self.clips[n].id for n in places)
        if key not in self._parts:
            names = list(self._texts)
            self._parts[key] = VideoPart(
                tuple(self.clips[n] for n in places),
                tuple(self._graphs[n] for n in places),
                {names[n]: self._texts[names[n]] for n in places},
            )
        return self._parts[key]

    def film_until(self, clips: Collection[str]) -> tuple[VideoPart, list[int]] | None:
        """The film up to the last of some clips, and the places of these clips in it; None if none has a graph."""
        places = [n for n, clip in enumerate(self.clips) if clip.id in clips]
        if not places:
            return None
        found = self.part([clip.id for clip in self.clips[: places[-1] + 1]])
        assert found is not None
        return found, places


def _with_anchor(question: Question, story: Story) -> Question:
    """The question, which can refer to the act that it names by *that*."""
    if question.kind in ("meanwhile", "who_beside", "why_act", "cause_of"):
        return replace(question, anchor=int(question.params["event"]))
    if question.kind == "feels_after":
        return replace(question, anchor=question.evidence[0].order)
    if question.kind == "clothes_colour":
        # A person who acts is seen.
        return replace(question, evidence=story_of(question, story).events[-1:])
    return question


KnownFact = tuple[str, str]
"""A fact: its kind and its subject, for example `("event", "0.12")` or `("put", "mug4")`."""

_ACTION_ANSWERS: Final = frozenset({"next_action", "previous_action", "use", "order", "why_act", "cause_of"})
_PARTS_OF_AN_EVENT: Final = frozenset(
    {
        "who_does", "who_takes", "who_says", "says_to", "says_what", "offers_what", "asks_about", "talks_about",
        "give_receiver", "give_giver", "give_thing", "towards", "whom", "which_colour", "which_size",
        "meanwhile", "reply", "says_back", "says_here", "first_here", "last_here", "takes_here", "takes_there",
    }
)  # fmt: skip
"""Kinds whose answer is a part of the event that is their last evidence."""
_OF_OBJECT: Final = {
    "where_put": "put",
    "where_from": "from",
    "put_here": "put",
    "from_here": "from",
    # Where it would be if nobody had taken it mostly tells where it was.
    "would_place": "from",
    "object_colour": "colour",
    "tool": "tool",
    "how_clean": "tool",
}
_OF_EVENT: Final = {"which_room": "room", "posture": "posture"}
_OF_SIGNATURE: Final = {"times": "times", "acts": "acts", "duration": "duration"}


def _known_as(event: StoryEvent) -> str:
    """An event by the numbers of its activity and in it, the same in the story of everybody and of one person."""
    return f"{event.part}.{event.index}"


def _by(person: str | None, what: object) -> str:
    """What somebody does, apart from what others do."""
    return f"{what}" if person is None else f"{what} by {person}"


def answer_facts(question: Question) -> frozenset[KnownFact]:
    """The facts that the answer adds to the question."""
    kind, params, person = question.kind, question.params, question.person
    orders = {event.order: _known_as(event) for event in question.evidence}
    if kind in _ACTION_ANSWERS and question.focus_event in orders:
        return frozenset({("event", orders[question.focus_event])})
    if kind in _PARTS_OF_AN_EVENT and question.evidence:
        answer = question.focus_event if question.focus_event in orders else question.evidence[-1].order
        return frozenset({("event", orders[answer])})
    if kind in _OF_OBJECT:
        return frozenset({(_OF_OBJECT[kind], _by(person, params["object"]))})
    if kind in _OF_EVENT and params["event"] in orders:
        return frozenset({(_OF_EVENT[kind], orders[int(params["event"])])})
    if kind in _OF_SIGNATURE:
        return frozenset({(_OF_SIGNATURE[kind], _by(person, params["signature"]))})
    return frozenset({(kind, repr(sorted(params.items())))})


def known_facts(question: Question) -> frozenset[KnownFact]:
    """All facts known after the question and its answer: the facts of both."""
    told: set[KnownFact] = set(answer_facts(question))
    for event in question.evidence:
        shown = question.kind not in ("times", "things_count", "what_else", "duration") or len(question.evidence) == 1
        if not shown:
            continue
        told |= event_facts(event, None if question.person is None else event.agent)
    if question.kind == "which_room":
        told.add(("in", question.key))
    return frozenset(told)


def named_facts(facts: Iterable[KnownFact], story: Story) -> frozenset[KnownFact]:
    """Facts with events as ACTIVITY#INDEX, the same in every story that contains them."""
    found = set()
    for kind, subject in facts:
        if kind in ("event", *_OF_EVENT.values()):
            part, _, index = subject.partition(".")
            subject = f"{story.graphs[int(part)].name}#{index}"
        found.add((kind, subject))
    return frozenset(found)


def event_facts(event: StoryEvent, person: str | None) -> frozenset[KnownFact]:
    """The facts of an event; by `person` in a story of several people."""
    told: set[KnownFact] = {("event", _known_as(event))}
    told.add(("acts", _by(person, "|".join([event.action, event.signature[1], *event.signature[2]]))))
    # "puts the mug on the table" says where it ends up; "wipes the table with the sponge" names the tool.
    if event.action in ("put", "putIn") and event.main and event.targets:
        told.add(("put", _by(person, event.main)))
    if event.action in ("wipe", "scrub") and event.targets:
        told.add(("tool", _by(person, event.targets[0])))
    if event.action in ("switchOn", "switchOff", "open", "close") and event.main:
        told.add(("closes", _by(person, event.main)))
    return frozenset(told)


def is_news(question: Question, known: Iterable[KnownFact]) -> bool:
    """True if no fact of the turns before answers a question."""
    return are_news(answer_facts(question), frozenset(known), kind=question.kind, key=question.key)


def are_news(answers: frozenset[KnownFact], known: frozenset[KnownFact], *, kind: str, key: str) -> bool:
    """True if no known fact answers a question."""
    if answers & known:
        return False
    # Each room is asked for once: after that it is easy to guess.
    if kind == "which_room" and ("in", key) in known:
        return False
    # Once a thing has been put down, "Where does he take it from?" could mean the next time.
    put = {thing.split(" by ")[0] for fact, thing in known if fact == "put"}
    if any(fact == "from" and thing.split(" by ")[0] in put for fact, thing in answers):
        return False
    return True


UNASKED_KINDS: Final = frozenset(
    {
        # About the whole video or its end, which is not there yet when a question is asked.
        "video_length", "people_count", "room_start", "room_end", "last_thing", "state_end", "who_has", "who_last",
        "feels_end",
        # About nothing in it.
        "unknown_person", "opinion", "never_handled",
        # Guessed from the question, or put in a way that nobody would.
        "acts", "order", "common_sense", "could_take", "effect_of", "who_first",
    }
)  # fmt: skip
"""Kinds that no chain and no dialogue asks."""
UNCHAINED_KINDS: Final = frozenset({"makes_feel", "times", "towards", "would_place", "things_count", "why_says"})
"""Kinds that no chain asks, since people do not put such questions to each other about a film."""
NEIGHBOUR_KINDS: Final = frozenset({"next_action", "previous_action"})
"""Kinds that ask for what comes right before or after an act."""
MOST_NEIGHBOURS: Final = 1
"""Most of them in a chain or a dialogue, so that fewer than a fifth of all turns ask for the next or previous act."""
ORIGIN_KINDS: Final = frozenset(
    {"where_from", "previous_action", "cause_of", "why_act", "why_feels", "why_says", "makes_feel"}
)
"""Kinds that have a reason to go back in time: they ask how something came about."""
MOST_NEIGHBOURS_OF_CHAIN: Final = 2
"""Most of them in a chain; other kinds come first."""
OPENING_KINDS: Final = frozenset({"first_here", "which_colour", "which_size", "first_thing"})
"""Kinds that begin a chain and never go on with one."""
MOST_ORIGINS: Final = 2
"""Most of them in a chain."""
MOST_OF_A_KIND: Final = {
    "where_put": 2, "where_from": 2, "use": 2, "who_takes": 2, "who_does": 2, "why_act": 2, "meanwhile": 2,
}  # fmt: skip
"""Most questions of a kind in one chain; one for every other kind."""
PERSON: Final = "person"
"""Marks what rests on a person alone."""
THAT_PERSON: Final = "that person"
"""Words for the person who is the answer before."""
TIMELESS_KINDS: Final = frozenset({"object_colour", "clothes_colour", "daytime", "times", "duration", "things_count"})
"""Kinds about no moment, which can be asked at any."""
LEAST_NEEDING: Final = 0.5
"""Least share of the later turns of a chain that need the answer before, since only that names what they refer to."""
TURNS_TRIED: Final = 1000
"""Turns that the search words before it is content with the longest chain so far, or gives up."""
WORDINGS_TRIED: Final = 1
"""Wordings of a question that are tried, since some are answered by what was said before."""

Word = Callable[[WordedQuestion, Sequence[Turn]], Turn | None]
"""Makes the turn of a worded question after the turns before it; None if it may not be asked there."""


def is_askable(question: Question, story: Story, shown: Collection[int]) -> bool:
    """True if a question about the film so far is about some of its parts alone, and worth asking.

    Args:
        question: A question whose answer holds for the film so far.
        story: The film so far.
        shown: Indices of the activities that are asked about.
    """
    acts = [*question.evidence]
    own = story_of(question, story)
    # The act that it names may be in another scene than the next one of the same person.
    acts += [own.events[int(question.params[name])] for name in ("event", "other") if name in question.params]
    told = own.events[question.focus_event] if question.focus_event is not None else None
    dull = question.answer_type == "action" and told is not None and told.action in CONNECTING_ACTS
    # A person who walks to a thing does something with it next.
    if question.kind in NEIGHBOUR_KINDS and "event" in question.params:
        dull = dull or own.events[int(question.params["event"])].action in CONNECTING_ACTS
    # The colour of furniture can be guessed, and a conversation hardly turns to it.
    furniture = question.kind == "object_colour" and not any(
        event.action == "grab" and event.main == question.anchor for event in story.events
    )
    dull = dull or (
        question.kind in ("times", "cause_of", "who_does", "who_beside")
        and _act_of(question, own) in CONNECTING_ACTS | {"finish"}
    )
    return (
        question.kind not in UNASKED_KINDS
        and bool(question.evidence)
        and all(act.part in shown for act in acts)
        and not (furniture or is_guessable(question))
        and not dull
    )


def is_open(question: Question, story: Story) -> bool:
    """True if people would put a question to each other about a film, and could not guess its answer from its words."""
    if question.kind in UNCHAINED_KINDS:
        return False
    if question.kind == "where_put" and class_of(question.key) in _MADE_FOR:
        return False
    if question.answer_type != "action" or question.focus_event is None:
        return True
    own = story_of(question, story)
    told = own.events[question.focus_event]
    others = [event for event in question.evidence if event.order != told.order]
    same = any({event.main, *event.targets} & {told.main, *told.targets} - {None} for event in others)
    # Food is eaten once it is taken, and the fridge is closed again.
    if question.kind == "previous_action" and told.action == "open":
        return not same
    return told.action != "close" and not (
        same and (told.action in _USUAL or _MADE_FOR & set(map(class_of, told.targets)))
    )


_USUAL: Final = frozenset(
    "eat drink read write brush squeeze wash wipe scrub text play pour rinse fold type watch sleep fill answer "
    "switchOff boil ring pop".split()
)
"""Acts that are expected of a person who takes or uses a thing."""
_MADE_FOR: Final = frozenset({"vase", "toaster", "washingmachine", "towelrack"})
"""Things into which one expects what is put there."""


def _act_of(question: Question, own: Story) -> str:
    if "signature" in question.params:
        return str(question.params["signature"]).split("|")[0]
    return own.events[int(question.params["event"])].action


def write_chain(
    story: Story,
    pool: Sequence[Question],
    *,
    universe: Sequence[Question],
    split: str,
    seed: str,
    lengths: Sequence[int],
    word: Word,
    balance: AnswerBalance | None = None,
) -> list[tuple[Question, Turn]] | str:
    """Questions that each depend on the one before, as turns; the reason, if there is no chain of any of the lengths.

    The first turn names its subject, and the others refer back by *it* or *that*, most of them to what only the answer
    before names. The chain goes forward in time, and back only to ask how something came about.

    Args:
        story: The film so far.
        pool: Questions that may be asked.
        universe: All questions about the film so far, for what *it* could mean.
        split: The split whose surface forms are used.
        seed: Chooses among the possible chains, and among the forms.
        lengths: Numbers of turns, the preferred one first.
        word: Makes a turn of a question.
        balance: The answers chosen so far; the chain is not counted.
    """
    # SVBench's questions are open.
    pool = [question for question in pool if question.answer_type != "yes_no"]
    wanted = dict(zip(map(id, pool), balance.weights(pool, story, split), strict=True)) if balance else {}
    pool = [q for q in pool if wanted.get(id(q), 1.0) > 0]
    return _Search(pool, universe, story, split, random.Random(f"chain {seed}"), lengths, wanted, word, balance).run()


MISREAD_GATE: Final = "key.misread"
"""The gate of a turn whose key reads one of its own right answers or near misses wrongly."""


def fault_of_turn(turn: Turn, history: Sequence[tuple[str, str]], story: Story) -> tuple[str, str] | None:
    """Why a turn is not asked, as gate and reason; None if it can be asked.

    Args:
        turn: A turn that was just written.
        history: Questions and answers before it.
        story: What it is about. Graphs that name nobody need not say who acts.
    """
    if (leak := leak_of(turn, history)) is not None:
        return leak
    if turn.key is None or not story.names:
        return None
    why = _misread(turn.question, turn.key.model_dump_json(), turn.references[0])
    return None if why is None else (MISREAD_GATE, why)


@lru_cache(maxsize=1 << 13)
def _misread(question: str, key: str, answer: str) -> str | None:
    """What the rules misread of a turn; kept, since the search makes the same turn after other turns again."""
    wrong = misread(question, AnswerKey.model_validate_json(key), answer)
    return None if wrong is None else f"the rules misread {wrong.text!r} ({wrong.slot})"


def question_id(question: Question) -> str:
    """An identifier that is unique among the questions of a story."""
    return f"{question.kind} {question_identity(question)}"


class _Search:
    """Depth-first search in a seeded order that prefers kinds not yet used."""

    def __init__(
        self,
        pool: Sequence[Question],
        universe: Sequence[Question],
        story: Story,
        split: str,
        draw: random.Random,
        lengths: Sequence[int],
        wanted: Mapping[int, float],
        word: Word,
        balance: AnswerBalance | None,
    ) -> None:
        self.pool, self.universe, self.story, self.split = pool, universe, story, split
        self.draw, self.lengths = draw, lengths
        self.wanted, self.word, self.balance = wanted, word, balance
        self.followers: dict[object, list[Question]] = defaultdict(list)
        for question in pool:
            if question.anchor is not None and fitting_forms(question, split, ref=True):
                self.followers[name_in(question.anchor, story_of(question, story))].append(question)
            elif question.subject is not None and fitting_forms(question, split, ref=False):
                self.followers[PERSON, question.subject].append(question)
        self.known = {id(q): known_facts(q) for q in pool}
        self.looked_at = 0
        self.best: list[tuple[Question, Turn]] = []
        self.longest = 0

    def run(self) -> list[tuple[Question, Turn]] | str:
        starts = [
            q
            for q in self.pool
            if fitting_forms(q, self.split, ref=False) and (q.focus_object is not None or q.focus_event is not None)
        ]
        # A chain moves forward in time, so it starts in the first half if it can.
        times = sorted(map(_begins, starts))
        half = times[len(times) // 2] if times else (0, 0)
        for start in sorted(self._ordered(starts, Counter()), key=lambda q: _begins(q) > half):
            turn = self._turn(start, [])
            if turn is not None and self._extend([(start, turn)], self.known[id(start)], 0):
                break
            if self.looked_at > TURNS_TRIED:
                break
        if self.best:
            return self.best
        if self.longest < min(self.lengths):
            return f"too little happens for {min(self.lengths)} questions that rest on each other"
        return f"in fewer than {LEAST_NEEDING:.0%} of the later turns only the answer before names what they refer to"

    def _extend(self, chain: list[tuple[Question, Turn]], told: frozenset[KnownFact], needing: int) -> bool:
        """Extend a chain; True once one has the preferred length or enough were tried."""
        self.longest = max(self.longest, len(chain))
        if len(chain) in self.lengths and needing >= LEAST_NEEDING * (len(chain) - 1):
            place = self.lengths.index
            if not self.best or place(len(chain)) < place(len(self.best)):
                self.best = chain
        if len(chain) == max(self.lengths):
            return self.best is chain
        if all(needing + length - len(chain) < LEAST_NEEDING * (length - 1) for length in self.lengths):
            return False
        used = {id(q) for q, _ in chain}
        kinds = Counter(q.kind for q, _ in chain)
        before = [asked for asked, _ in chain]
        said = " ".join(text for _, turn in chain for text in (turn.question, *turn.references))
        last, text = before[-1], " ".join((chain[-1][1].question, *chain[-1][1].references))
        now = max(map(answer_end, before))
        anchors: list[object] = [*chain[-1][1].extra[SPEAKS_OF]]
        # After "Who takes the mug?", *she* in what is asked next.
        anchors += [(PERSON, name) for name in dict.fromkeys((last.key, last.focus_person, last.subject))]
        fitting = [
            q
            for q in (q for anchor in anchors for q in self.followers.get(anchor, ()))
            if id(q) not in used
            and kinds[q.kind] < MOST_OF_A_KIND.get(q.kind, 1)
            and not (
                q.kind in NEIGHBOUR_KINDS and sum(kinds[kind] for kind in NEIGHBOUR_KINDS) >= MOST_NEIGHBOURS_OF_CHAIN
            )
            and q.kind not in OPENING_KINDS
            and not (q.kind in ORIGIN_KINDS and sum(kinds[kind] for kind in ORIGIN_KINDS) >= MOST_ORIGINS)
            and (
                q.kind in TIMELESS_KINDS or answer_end(q) >= (answer_end(before[0]) if q.kind in ORIGIN_KINDS else now)
            )
            and are_news(answer_facts(q), told, kind=q.kind, key=q.key)
            and has_one_referent(q, text, self.story, self.universe)
            and not is_named(q, text, self.story)
            and not is_answered_before(q, said, self.story)
            and (self.balance is None or self.balance.suits(q, before, self.split))
        ]
        # Those that need the answer before come first.
        for question in sorted(self._ordered(fitting, kinds), key=lambda q: not needs_answer(q, chain[-1], self.story)):
            if self.looked_at > TURNS_TRIED:
                return True
            turn = self._turn(question, chain)
            if turn is None:
                continue
            needs = needing + needs_answer(question, chain[-1], self.story)
            if self._extend([*chain, (question, turn)], told | self.known[id(question)], needs):
                return True
        return False

    def _turn(self, question: Question, chain: Sequence[tuple[Question, Turn]]) -> Turn | None:
        """The turn of a question in words that were not said before and that nothing before answers."""
        last = chain[-1] if chain else None
        before = [turn for _, turn in chain]
        named = last is None or not means_one_person(question, last[1], self.story)
        # After "Who is there with him? Gabriel.", *he* could be both.
        that = named and last is not None and last[0].answer_type == "person" and question.subject == last[0].key
        if that:
            question = reworded(question, THAT_PERSON)
        for _ in range(WORDINGS_TRIED):
            self.looked_at += 1
            said = word_question(
                question,
                split=self.split,
                draw=self.draw,
                rests=last is not None and _anchored(question, last[1], self.story),
                last=last and last[0],
                named=named,
            )
            said = replace(said, rests=said.rests or (that and THAT_PERSON in said.text.casefold()))
            if (last is not None and not said.rests) or any(said.text == turn.question for turn in before):
                continue
            turn = self.word(said, before)
            if turn is not None:
                return turn
        return None

    def _ordered(self, options: Sequence[Question], kinds: Counter[str]) -> list[Question]:
        """Rare kinds first; otherwise a kind with many questions would come first most of the time."""
        many = Counter(question.kind for question in options)
        drawn = [
            (self.draw.random() ** (many[q.kind] / self.wanted.get(id(q), 1.0)), n, q) for n, q in enumerate(options)
        ]
        return [q for _, _, q in sorted(drawn, key=lambda d: (kinds[d[2].kind], -d[0], d[1]))]


def reworded(question: Question, words: str) -> Question:
    """The question with other words for whom it is about."""
    slots = {name: said for name, said in question.slots.items() if name != "look"}
    return replace(question, slots=slots | {"who": words})


def has_one_referent(question: Question, words: str, story: Story, universe: Iterable[Question]) -> bool:
    """True if *it* or *them* in a question can mean only one of the things that the turn before names."""
    name = question.anchor
    if not isinstance(name, str):
        return True
    others = {str(other.anchor) for other in universe if other.kind == question.kind and isinstance(other.anchor, str)}
    alike = (other for other in others - {name} if is_plural(other) == is_plural(name))
    return not any(called_thing(other, story).casefold() in words.casefold() for other in alike)


def is_named(question: Question, words: str, story: Story) -> bool:
    """True if the turn before names the thing or place that is the answer, so that it is easily guessed."""
    if question.answer_type not in ("object", "list", "place"):
        return False
    return any(called_thing(name, story).casefold() in words.casefold() for name in question.key.split("|"))


def is_answered_before(question: Question, text: str, story: Story) -> bool:
    """True if what was said so far holds the answer: the place that somebody opened, or the colour of a thing."""
    if question.kind in ("where_from", "from_here"):
        return any(words in text.casefold() for words in (called_thing(question.key, story), plain_name(question.key)))
    if question.kind == "object_colour":
        return re.search(rf"\b{question.key}\b.{{0,12}}\b{plain_name(str(question.anchor))}\b", text) is not None
    if question.kind in ("tool", "how_clean"):
        return plain_name(question.focus_object or "") in text
    return question.answer_type == "utterance" and question.key.casefold() in text.casefold()


def means_one_person(question: Question, last: Turn, story: Story) -> bool:
    """True if *he* or *she* in a question can mean only one of the people whom the turn before names or means."""
    if question.subject is None:
        return True
    he = question.slots["he"]
    told = people_mentioned(last, story)
    return {person for person in told if pronoun_of(story.attributes.get(person, ())) == he} == {question.subject}


def people_mentioned(turn: Turn, story: Story) -> set[str]:
    """The people whom a turn names or means."""
    text = " ".join((turn.question, *turn.references))
    named = {person for person in story.people if story.called[person] in text}
    return named | ({*turn.extra.get(SPEAKS_OF, ()), turn.extra.get(SUBJECT)} & set(story.people))


def needs_answer(question: Question, last: tuple[Question, Turn], story: Story) -> bool:
    """True if only the answer before names what a question refers to, so that the question means nothing without it."""
    asked, turn = last
    own = story_of(question, story)
    # After "Who takes the mug?", *she* in "Where does she put it?".
    if question.subject is not None and question.subject == asked.key:
        return True
    if question.anchor is None or name_in(question.anchor, own) == turn.extra.get(REFERS_TO):
        return False
    if isinstance(question.anchor, int):
        event = own.events[question.anchor]
        named = {act_phrase(event, own, form) for form in FORMS}
    else:
        named = {called_thing(str(question.anchor), story)}
    said = turn.question.casefold()
    return not any(words.casefold() in said for words in named)


def _anchored(question: Question, last: Turn, story: Story) -> bool:
    """True if *it* or *that* in a question can mean what the turn before speaks of."""
    return name_in(question.anchor, story_of(question, story)) in last.extra[SPEAKS_OF]


def ends_at(event: StoryEvent) -> tuple[int, float]:
    """When an act is over: its activity, and its end or its place there."""
    return event.part, event.index if event.interval is None else event.interval.end_s


def _begins(question: Question) -> tuple[int, float]:
    return min(map(ends_at, question.evidence))


def answer_end(question: Question) -> tuple[int, float]:
    """When the last act is over that shows the answer; at the start for a question about no moment."""
    return (0, 0) if question.kind in TIMELESS_KINDS else max(map(ends_at, question.evidence))


def is_guessable(question: Question) -> bool:
    """True for a count of one, since most things happen once."""
    return question.kind == "times" and question.key == "1"
