"""The graphs of a video by clip, and question chains from them: each turn depends on the answer before it (SVBench).

Facts record the information in a question and its answer, so that no later turn asks for it again.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from reeltalk.errors import InputError
from reeltalk.language.grammar import SPLITS
from reeltalk.language.near_misses import misread
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.media import Clip, Video
from reeltalk_build.construct.leakage import leak_of
from reeltalk_build.graph.activity import ActivityGraph
from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.balancing import AnswerBalance
from reeltalk_household.questions.checking import Checker
from reeltalk_household.questions.question import Question
from reeltalk_household.questions.questions import questions
from reeltalk_household.questions.wording import WordedQuestion, fitting_forms, identity, rests_on, word_question


@dataclass(frozen=True)
class VideoPart:
    """Some clips of a video, with their story and the checker of answers about it."""

    clips: tuple[Clip, ...]
    graphs: tuple[ActivityGraph, ...] = field(repr=False)
    texts: dict[str, str] = field(repr=False)
    pools: dict[int, list[Question]] = field(default_factory=dict, repr=False, compare=False)
    """Questions about the clips, by seed."""

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
            self.pools[seed] = questions(self.story, seed=own.getrandbits(32))
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

    @property
    def whole(self) -> VideoPart:
        """All clips of the video."""
        found = self.part([clip.id for clip in self.clips])
        assert found is not None
        return found


KnownFact = tuple[str, str]
"""A fact: its kind and its subject, for example `("event", "0.12")` or `("put", "mug4")`."""

_ACTION_ANSWERS: Final = frozenset({"next_action", "previous_action", "use", "order"})
_PARTS_OF_AN_EVENT: Final = frozenset(
    {
        "who_does", "who_takes", "who_says", "says_to", "says_what", "offers_what", "asks_about", "talks_about",
        "give_receiver", "give_giver", "give_thing", "towards", "whom", "which_colour", "which_size",
        "meanwhile", "reply",
    }
)  # fmt: skip
"""Kinds whose answer is a part of the event that is their last evidence."""
_OF_OBJECT: Final = {
    "where_put": "put",
    "where_from": "from",
    # Whether it could have been taken with everything closed, and where it would be if nobody had taken it, mostly tell
    # where it was.
    "could_take": "from",
    "would_place": "from",
    "object_colour": "colour",
    "state_end": "state",
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


def asked_facts(question: Question) -> frozenset[KnownFact]:
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
    told: set[KnownFact] = set(asked_facts(question))
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
    """The facts that an event tells.

    Args:
        event: The event.
        person: Who does it, in a story of several people; None otherwise.
    """
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


def is_news(question: Question, told: Iterable[KnownFact]) -> bool:
    """True if no earlier fact answers the question.

    Args:
        question: A question that may be asked.
        told: Facts of all earlier turns, from `known_facts`.
    """
    return are_news(asked_facts(question), frozenset(told), kind=question.kind, key=question.key)


def are_news(wanted: frozenset[KnownFact], known: frozenset[KnownFact], *, kind: str, key: str) -> bool:
    """True if no known fact answers a question."""
    if wanted & known:
        return False
    # Each room is asked for once: after that it is easy to guess.
    if kind == "which_room" and ("in", key) in known:
        return False
    if kind == "could_take" and any(fact == "acts" and act.startswith("open|") for fact, act in known):
        return False
    return True


LEFT_OUT: Final = frozenset(
    {
        "video_length",
        "people_count",
        "unknown_person",
        "opinion",
        "never_handled",
        "acts",
    }
)
"""Kinds that do not fit a chain: about the whole video, about nothing in it, or always closed."""
MOST: Final = {"next_action": 2, "previous_action": 2, "where_put": 2, "where_from": 2, "use": 2}
"""Most questions of a kind in one chain; one for every other kind."""
PERSON: Final = "person"
"""Marks turns that rest on a person alone, among kinds and anchors."""
CLOSED: Final = frozenset({"yes_no", "choice"})
"""Answer types of closed questions. A chain's questions are open (SVBench); at most one of them is closed."""
LOOKED_AT: Final = 300
"""Turns that the search words before it is content with the longest chain so far, or gives up."""
WORDINGS: Final = 2
"""Wordings of a question that are tried, since some are answered by what was said before."""
MOST_OF_PEOPLE: Final = 1
"""Most turns of a chain that rest on the turn before only by *he* or *she*; the others say *it* or *that*."""

Word = Callable[[WordedQuestion, Sequence[Turn]], Turn | None]
"""Makes the turn of a worded question after the turns before it; None if it may not be asked there."""


def write_chain(
    story: Story,
    *,
    split: str,
    seed: str,
    lengths: Sequence[int],
    word: Word,
    pool: Sequence[Question] | None = None,
    balance: AnswerBalance | None = None,
) -> list[tuple[Question, Turn]] | None:
    """Questions that each depend on the one before, as turns; None if the story gives no chain of any of the lengths.

    The first turn names its subject, and the others refer back: by *it* or *that*, or by *he* or *she*. No two texts
    are equal.

    Args:
        story: The events of the clip.
        split: The split whose surface forms are used.
        seed: Chooses among the possible chains, and among the forms.
        lengths: Numbers of turns, the preferred one first.
        word: Makes turns.
        pool: Questions that may be asked; all of the story by default.
        balance: The answers chosen so far; the chain is not counted.
    """
    draw = random.Random(f"chain {seed}")
    pool = questions(story, seed=draw.getrandbits(32)) if pool is None else pool
    pool = [q for q in pool if q.kind not in LEFT_OUT and not is_guessable(q)]
    wanted = dict(zip(map(id, pool), balance.weights(pool, story, split), strict=True)) if balance else {}
    pool = [q for q in pool if wanted.get(id(q), 1.0) > 0]
    # A chain that goes back behind its first question is written only if there is no other.
    for forward in (True, False):
        found = _Search(pool, split, draw, lengths, wanted, word, balance, forward=forward).run()
        if found is not None:
            return found
    return None


MISREAD: Final = "key.misread"
"""The gate of a turn whose key reads one of its own right answers or near misses wrongly."""


def fault_of_turn(turn: Turn, said: Sequence[tuple[str, str]], story: Story) -> tuple[str, str] | None:
    """Why a turn is not asked, as gate and reason; None if it can be asked.

    Args:
        turn: A turn that was just written.
        said: Questions and answers before it.
        story: What it is about. Graphs that name nobody need not say who acts.
    """
    if (leak := leak_of(turn, said)) is not None:
        return leak
    wrong = misread(turn.question, turn.key, turn.references[0]) if turn.key is not None and story.names else None
    return None if wrong is None else (MISREAD, f"the rules misread {wrong.text!r} ({wrong.slot})")


def question_id(question: Question) -> str:
    """An identifier that is unique among the questions of a story."""
    return f"{question.kind} {identity(question)}"


class _Search:
    """Depth-first search in a seeded order that prefers kinds not yet used."""

    def __init__(
        self,
        pool: Sequence[Question],
        split: str,
        draw: random.Random,
        lengths: Sequence[int],
        wanted: Mapping[int, float],
        word: Word,
        balance: AnswerBalance | None,
        *,
        forward: bool,
    ) -> None:
        self.split, self.draw, self.lengths, self.wanted, self.word = split, draw, lengths, wanted, word
        self.balance, self.forward = balance, forward
        self.starts = [q for q in pool if fitting_forms(q, split, ref=False) and _names_something(q)]
        self.followers: dict[object, list[Question]] = defaultdict(list)
        for question in pool:
            if question.anchor is not None and fitting_forms(question, split, ref=True):
                self.followers[_anchor_of(question)].append(question)
            # A person's clothes or last room have nothing to do with the turn before, also if it is about that person.
            about = question.params.keys() - {PERSON}
            if (
                question.person is not None
                and about & {"event", "object"}
                and fitting_forms(question, split, ref=False)
            ):
                self.followers[PERSON, question.subject].append(question)
        self.names = {id(q): question_id(q) for q in pool}
        self.asked = {id(q): asked_facts(q) for q in pool}
        self.known = {id(q): known_facts(q) for q in pool}
        self.looked_at = 0
        self.best: list[tuple[Question, Turn]] | None = None

    def run(self) -> list[tuple[Question, Turn]] | None:
        # A chain moves forward in time, so it starts in the first half if it can.
        times = sorted(map(_starts, self.starts))
        half = times[len(times) // 2] if times else (0, 0)
        for start in sorted(self._ordered(self.starts, Counter()), key=lambda q: _starts(q) > half):
            turn = self._turn(start, [], by_person=False)
            if turn is None:
                continue
            if self._extend([(start, turn)], self.known[id(start)], Counter([start.kind])):
                break
            if self.looked_at > LOOKED_AT:
                break
        return self.best

    def _extend(self, chain: list[tuple[Question, Turn]], told: frozenset[KnownFact], kinds: Counter[str]) -> bool:
        """Extend a chain; True once one has the preferred length or enough were tried."""
        place = {length: n for n, length in enumerate(self.lengths)}
        longest = place.get(len(self.best), len(place)) if self.best is not None else len(place)
        if place.get(len(chain), len(place)) < longest:
            self.best = chain
        if len(chain) == max(self.lengths):
            return True
        used = {self.names[id(q)] for q, _ in chain}
        closed = any(q.answer_type in CLOSED for q, _ in chain)
        last = chain[-1][0]
        now, people = _starts(last), kinds[PERSON] < MOST_OF_PEOPLE
        anchored = [q for a in (last.focus_object, (last.focus_event, last.person)) for q in self.followers.get(a, ())]
        going_on = self.followers.get((PERSON, last.focus_person), ()) if people and last.focus_person else ()
        before = [asked for asked, _ in chain]
        for by_person, options in ((False, anchored), (True, going_on)):
            fitting = [
                q
                for q in options
                if kinds[q.kind] < MOST.get(q.kind, 1)
                and not (q.answer_type in CLOSED and closed)
                and self.names[id(q)] not in used
                and are_news(self.asked[id(q)], told, kind=q.kind, key=q.key)
                and not (self.forward and _lies_before(q, chain[0][0]))
                and not (by_person and rests_on(q, last))
                and (self.balance is None or self.balance.suits(q, before, self.split))
            ]
            # Questions about later events come before those about earlier ones.
            for question in sorted(self._ordered(fitting, kinds), key=lambda q: _starts(q) < now):
                if self.looked_at > LOOKED_AT:
                    return True
                turn = self._turn(question, chain, by_person=by_person)
                if turn is None:
                    continue
                counted = kinds + Counter([question.kind, *([PERSON] if by_person else [])])
                if self._extend([*chain, (question, turn)], told | self.known[id(question)], counted):
                    return True
        return False

    def _turn(self, question: Question, chain: Sequence[tuple[Question, Turn]], *, by_person: bool) -> Turn | None:
        """The turn of a question in words that were not said before and that nothing before answers."""
        last = chain[-1][0] if chain else None
        before = [turn for _, turn in chain]
        for _ in range(WORDINGS):
            self.looked_at += 1
            rests = last is not None and not by_person
            said = word_question(question, split=self.split, draw=self.draw, first=last is None, rests=rests, last=last)
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


def _anchor_of(question: Question) -> object:
    """What the turn before must speak of: a thing, or an event in the numbers of a person's story."""
    return (question.anchor, question.person) if isinstance(question.anchor, int) else question.anchor


def _starts(question: Question) -> tuple[int, int]:
    return min(((event.part, event.index) for event in question.evidence), default=(0, 0))


def _lies_before(question: Question, first: Question) -> bool:
    """True if all that shows an answer is over when what shows the first one begins."""
    ends = [event.interval.end_s for event in question.evidence if event.interval is not None]
    begins = [event.interval.start_s for event in first.evidence if event.interval is not None]
    return bool(ends and begins) and max(ends) <= min(begins)


def _names_something(question: Question) -> bool:
    return question.focus_object is not None or question.focus_event is not None


def is_guessable(question: Question) -> bool:
    """True for a count of one, since most things happen once, and for the order of two acts on one object."""
    if question.kind == "order":
        return len({event.main for event in question.evidence}) == 1
    return question.kind == "times" and question.key == "1"
