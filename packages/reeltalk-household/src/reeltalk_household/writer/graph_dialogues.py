"""Dialogues from a graph for MT-Video-Bench's six tasks: exact, with 5 to 8 rounds, about one or several scenes."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from reeltalk.language import phrases
from reeltalk.language.answer_reading import read_answer
from reeltalk.language.answer_values import UNKNOWN
from reeltalk.schema.dialogue import REFERS_TO, SPEAKS_OF, AnswerKey, Turn
from reeltalk.schema.intervals import Interval, union
from reeltalk.schema.labels import Task
from reeltalk.schema.record import Json
from reeltalk_build.construct.knowledge import topics
from reeltalk_build.construct.leakage import leak_of
from reeltalk_build.construct.linting import TASK_LABEL
from reeltalk_build.construct.round_forms import expand_pattern, round_forms, texts_of_split
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.balancing import AnswerBalance
from reeltalk_household.questions.checking import FACTS
from reeltalk_household.questions.linked import DULL
from reeltalk_household.questions.question import (
    Question,
    act_phrase,
    event_slots,
    story_of,
    told_act,
    told_clause,
)
from reeltalk_household.questions.wording import (
    WordedQuestion,
    fill_form,
    fitting_forms,
    form_of,
    identity,
    name_in,
    question_labels,
    spoken_of,
    turn_of,
    word_question,
)
from reeltalk_household.writer.graph_chains import (
    MISREAD,
    MOST_NEIGHBOURS,
    NEIGHBOURS,
    ORIGINS,
    TIMELESS,
    KnownFact,
    VideoPart,
    can_be_asked,
    ends,
    ends_at,
    event_facts,
    fault_of_turn,
    has_one_referent,
    is_named,
    is_news,
    known_facts,
    means_one_person,
)
from reeltalk_household.writer.graph_checklists import GraphRound, Statement, statement_of
from reeltalk_household.writer.graph_premises import FalsePremise, false_premises, missing_premises
from reeltalk_household.writer.graph_references import (
    Description,
    candidates_of,
    described,
    descriptions,
    is_ambiguous,
    people_for,
    recorded,
)
from reeltalk_household.writer.graph_summaries import (
    LIMITS,
    Consequence,
    Sentence,
    event_clause,
    event_fact,
    find_consequences,
    important_events,
    sum_up,
)

DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
ELSE: Final = {"object": "a suitcase", "place": "in a suitcase", "list": "a suitcase", "seconds": "two minutes"}
"""Wrong values for a story with too few things to choose one from. No house contains these."""
REFERRING_SHARE: Final = 0.6
"""Least share of the rounds of an object-reference dialogue whose words have several candidates."""
MOST_OF_A_SORT: Final = {"other person": 2, "that": 2}
"""Most rounds of a dialogue that refer in the same way, for ways that would grow tiresome."""
FOLLOW_UP_SHARE: Final = 0.4
"""Probability that a round refers to the one before if it can, in the other tasks."""
REFUSED_SHARE: Final = 0.5
"""Probability that a round of an answer-refusal dialogue takes for granted what does not happen."""
MOST_LIKE: Final = 2
"""Most rounds of an answer-refusal dialogue that ask for the same."""
LEAST_DISTANCE: Final = 3
"""Least number of rounds between a fact and its recall."""
CLOSED_FROM: Final = 7
"""Rounds from which a dialogue may ask one question for yes or no, so that fewer than 15 % of all rounds do."""
AHEAD: Final = 4
"""Questions among which the one about the earliest moment is asked, so that a dialogue goes on in time."""
TRIES: Final = 12
"""Wordings or plans that are drawn before a round or a plan is given up."""
PLAIN: Final = "{question}"
"""The opening of a round that begins with its question."""
ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")

Fits = Callable[[Question], bool]


def said_before(turns: Sequence[Turn]) -> list[str]:
    """For each turn all that was said so far, with its own question."""
    said: list[str] = []
    texts = []
    for turn in turns:
        texts.append(" ".join((*said, turn.question)))
        said += [turn.question, turn.references[0]]
    return texts


class DialogueMaker:
    """Composes dialogues about one part of a video.

    Args:
        part: The clips that the questions are about.
        split: The split whose surface forms are used.
        seed: Chooses questions and wordings.
        pool_seed: Chooses the absent things and acts to ask for.
        shown: Indices of the activities that the dialogue asks about; the part is the film up to the last of them.
        earlier: Those of them that belong to the earlier of two scenes.
        objects: Objects that a cross-scene dialogue prefers to ask about.
        balance: The answers chosen so far; `asked` holds those to count.
    """

    def __init__(
        self,
        part: VideoPart,
        *,
        split: str,
        seed: str,
        pool_seed: int = 0,
        shown: frozenset[int],
        earlier: frozenset[int] = frozenset(),
        objects: frozenset[str] = frozenset(),
        balance: AnswerBalance | None = None,
    ) -> None:
        self.part, self.split, self.shown, self.earlier = part, split, shown, earlier
        self.draw = random.Random(f"dialogue {seed}")
        self._balance = balance
        self.universe = part.question_pool(pool_seed)
        self.pool = [q for q in self.universe if can_be_asked(q, self.story, shown)]
        wanted = balance.weights(self.pool, self.story, split) if balance else [1.0] * len(self.pool)
        many: dict[str, float] = defaultdict(float)
        for want, question in zip(wanted, self.pool, strict=True):
            many[question.kind] += want
        # By kind, so that kinds with many questions do not come first most of the time.
        drawn = [
            (self.draw.expovariate(form_of(q.kind).weight * want / many[q.kind]), q)
            for want, q in zip(wanted, self.pool, strict=True)
            if want > 0
        ]
        self.pool = [question for _, question in sorted(drawn, key=lambda one: one[0])]
        # Questions about the shared objects come first; the sort is stable.
        self.pool.sort(key=lambda q: not objects & _objects_of(q))
        self._reset()

    def _reset(self) -> None:
        self.rounds: list[GraphRound] = []
        self._told: frozenset[KnownFact] = frozenset()
        self._asked: list[Question] = []
        self._by_round: dict[int, Question] = {}
        self._said: set[str] = set()
        self._last: Question | None = None
        self._before: Question | None = None
        """The last question about the video, also after rounds about something else."""
        self._sorts: Counter[str] = Counter()
        self._reached = (0, 0.0)
        """When the latest act that was asked about is over."""
        self.passed_over: list[tuple[int, str, str]] = []
        """Questions that were not asked: index of the round, the gate that each failed, and the reason."""

    @property
    def story(self) -> Story:
        """The events of the part."""
        return self.part.story

    @property
    def material(self) -> int:
        """Number of questions that need no earlier turn. The more, the more suitable the part."""
        return sum(bool(form_of(question.kind).forms) for question in self.pool)

    @property
    def asked(self) -> tuple[Question, ...]:
        """The questions of the dialogue."""
        return tuple(self._asked)

    def is_earlier(self, question: Question) -> bool:
        """True if a question is about the earlier of two scenes alone."""
        return bool(question.evidence) and all(event.part in self.earlier for event in question.evidence)

    def is_later(self, question: Question) -> bool:
        """True if a question is about the later of two scenes alone."""
        return bool(question.evidence) and not any(event.part in self.earlier for event in question.evidence)

    def dialogue(self, task: Task) -> list[GraphRound] | str:
        """The rounds of a dialogue for a task, or the reason why there are none."""
        wanted = self.draw.randint(5, 8)
        for count in dict.fromkeys((wanted, 6, 5)):
            self._reset()
            self._count = count
            if _MAKERS[task](self, count):
                return self.rounds
        return _REASONS.get(task, "too little happens for five rounds that each ask for something new")

    def _new(self, fits: Fits | None = None) -> list[Question]:
        """Questions that nothing said so far answers, about no moment before those that were asked about."""
        asked = {(q.kind, identity(q)) for q in self._asked}
        kinds = Counter(q.kind for q in self._asked)
        closed = self._count < CLOSED_FROM or any(q.answer_type == "yes_no" for q in self._asked)
        neighbours = sum(kinds[kind] for kind in NEIGHBOURS) >= MOST_NEIGHBOURS
        said = " ".join((self.rounds[-1].turn.question, *self.rounds[-1].turn.references)) if self.rounds else ""
        return [
            q
            for q in self.pool
            if (q.kind, identity(q)) not in asked and is_news(q, self._told) and (fits is None or fits(q))
            if not (closed and q.answer_type == "yes_no") and not (neighbours and q.kind in NEIGHBOURS)
            if q.kind in TIMELESS | ORIGINS or ends(q) >= self._reached
            if not is_named(q, said, self.story)
            if self._balance is None or self._balance.suits(q, self._asked, self.split)
        ]

    def _rarest(self, options: Sequence[Question]) -> Question:
        """Of the rarest kinds, what happens earliest among a few."""
        kinds = Counter(q.kind for q in self._asked)
        least = min(kinds[q.kind] for q in options)
        return min([q for q in options if kinds[q.kind] == least][:AHEAD], key=ends)

    def video(
        self,
        task: Task | None = None,
        *,
        follow: bool | None = None,
        leads: bool = False,
        fits: Fits | None = None,
        opening: str = PLAIN,
    ) -> bool:
        """Add a round about the video; False if there is nothing new to ask.

        With `follow` it refers to the round before, with False it does not; with `leads` a later one can refer to it.
        """
        leaking: list[Question] = []
        while True:
            new = [q for q in self._new(fits) if q not in leaking]
            last = self._before if opening != PLAIN else self._last
            follows = [q for q in new if last is not None and self._rests(q)]
            rests = bool(follows) and (follow if follow is not None else self.draw.random() < FOLLOW_UP_SHARE)
            options = follows if rests else [q for q in new if fitting_forms(q, self.split, ref=False)]
            if leads:
                options = [q for q in options if any(self._can_rest(other, q) for other in new)] or options
            if not options or (follow and not rests):
                return False
            question = self._rarest(options)
            if self._ask(question, task, rests=rests, opening=opening):
                return True
            leaking.append(question)

    def _rests(self, question: Question) -> bool:
        """True if *it* or *that* in a question can mean only what the last round about the video speaks of."""
        before = self._before
        if before is None or not self._can_rest(question, before):
            return False
        turn = next(made.turn for made in reversed(self.rounds) if made.turn.extra["about"] == "video")
        text = " ".join((turn.question, *turn.references))
        return has_one_referent(question, text, self.story, self.universe)

    def _can_rest(self, question: Question, before: Question) -> bool:
        name = name_in(question.anchor, story_of(question, self.story))
        spoken = spoken_of(before, story_of(before, self.story))
        return name in spoken and bool(fitting_forms(question, self.split, ref=True))

    def _ask(
        self,
        question: Question,
        task: Task | None,
        *,
        rests: bool = False,
        description: Description | None = None,
        opening: str = PLAIN,
        ambiguous: bool = False,
    ) -> bool:
        """Add a question as a round; False if its words or earlier rounds answer it, or the words do not fit."""
        asked = self._word(question, rests=rests, description=description)
        if asked is None:
            return False
        turn = self._turn(asked, opening, asked.answer, task)
        candidates = self._candidates(asked, description)
        if is_ambiguous(candidates):
            turn = turn.model_copy(update={"extra": turn.extra | recorded(candidates)})
        elif ambiguous:
            return False
        told = [(made.turn.question, made.turn.references[0]) for made in self.rounds]
        fault = fault_of_turn(turn, told, self.story)
        if fault is not None:
            self.passed_over.append((len(self.rounds), fault[0], f"not asked, {turn.question!r}: {fault[1]}"))
            return False
        so_far = said_before([*(made.turn for made in self.rounds), turn])[-1]
        if self._balance and not self._balance.suits_person(question, self.story, so_far, self.split):
            return False
        self._add(asked, turn, self._statement(question))
        self._last = self._before = question
        return True

    @property
    def said(self) -> list[str]:
        """For each question of `asked` all that was said so far, with its own words."""
        said = said_before([made.turn for made in self.rounds])
        return [said[index] for index in sorted(self._by_round)]

    def _word(
        self,
        question: Question,
        *,
        rests: bool,
        description: Description | None = None,
    ) -> WordedQuestion | None:
        """A question in words that were not said before; None if no form has a place for the description."""
        spoken = question if description is None else described(question, description, self.story)
        other = description is not None and description.sort == "other person"
        goes_on = bool(self.rounds) and self._last is not None
        one = goes_on and not other and means_one_person(question, self.rounds[-1].turn, self.story)
        for _ in range(TRIES):
            asked = word_question(spoken, split=self.split, draw=self.draw, rests=rests, named=not one)
            if description is not None and description.words.casefold() not in asked.text.casefold():
                continue
            if asked.text in self._said:
                continue
            if description is not None:
                asked = replace(asked, rests=True, anchored=not other)
            return replace(asked, question=question)
        return None

    def _candidates(self, asked: WordedQuestion, description: Description | None) -> Mapping[str, Question]:
        if description is not None:
            return description.candidates
        if asked.anchored:
            return candidates_of(asked.question, self.story, self.universe)
        return people_for(asked.question, self.universe, self.story) if asked.rests else {}

    def refer(self, task: Task) -> bool:
        """Add a round whose words have several candidates, which only the dialogue tells apart; False if none can."""
        last = self._last
        if last is None:
            return False
        options: list[tuple[str, Question, Description | None, bool]] = []
        for question in self._new():
            rests = self._rests(question)
            if rests and is_ambiguous(candidates_of(question, self.story, self.universe)):
                sort = "it" if isinstance(question.anchor, str) else "that"
                options.append((sort, question, None, True))
            if not fitting_forms(question, self.split, ref=False):
                continue
            if not rests and self._means(question) and is_ambiguous(people_for(question, self.universe, self.story)):
                options.append(("he or she", question, None, False))
            options += [
                (one.sort, question, one, False) for one in descriptions(question, last, self.story, self.universe)
            ]
        kinds = Counter(q.kind for q in self._asked)
        options = [o for o in options if self._sorts[o[0]] < MOST_OF_A_SORT.get(o[0], 4) and kinds[o[1].kind] < 2]
        self.draw.shuffle(options)
        options.sort(key=lambda o: (self._sorts[o[0]], kinds[o[1].kind]))
        for sort, question, description, rests in options[:TRIES]:
            if self._ask(question, task, rests=rests, description=description, ambiguous=True):
                self._sorts[sort] += 1
                return True
        return False

    def _means(self, question: Question) -> bool:
        """True if *he* or *she* in a question means the person of the round before, and nobody else."""
        turn = self.rounds[-1].turn
        spoken = turn.extra.get(SPEAKS_OF, ())
        return question.subject in spoken and means_one_person(question, turn, self.story)

    def _turn(self, asked: WordedQuestion, opening: str, reference: str, task: Task | None) -> Turn:
        turn = turn_of(asked, self.story, self.draw, asked_at_s=self.part.asked_at_s)
        text = asked.text if opening == PLAIN else phrases.sentence(opening.replace(PLAIN, self._after(opening, asked)))
        return turn.model_copy(
            update={
                "question": text,
                "references": (reference,),
                "labels": turn.labels | ({TASK_LABEL: (task.value,)} if task else {}),
                # Options belong to VDAct and DramaQA; answers in these dialogues are free text.
                "options": None,
                "correct_option": None,
                "extra": turn.extra | {"about": "video"},
            }
        )

    def _after(self, opening: str, asked: WordedQuestion) -> str:
        """A question after an opening, without a capital after a colon unless a name begins it."""
        word = asked.text.split()[0].rstrip(",.'")
        names = {name for called in self.story.names.values() for name in called.split()}
        if not opening.removesuffix(PLAIN).rstrip().endswith((":", ",")) or word in names or word == "I":
            return asked.text
        return asked.text[:1].lower() + asked.text[1:]

    def _add(self, asked: WordedQuestion, turn: Turn, said: Statement) -> None:
        self._by_round[len(self.rounds)] = asked.question
        self.rounds.append(GraphRound(turn, says=(said,)))
        self._said.add(asked.text)
        self._asked.append(asked.question)
        self._told |= known_facts(asked.question)
        self._reached = max(self._reached, ends(asked.question))

    def _statement(self, question: Question) -> Statement:
        """The statement of a question; what somebody else does, or what else happens, is the wrong answer to it."""
        right = {question.slots.get(name) for name in ("next", "why", "purpose", "effect")}
        shown = {(event.part, event.index) for event in question.evidence}
        others = [e for e in self.story.events if (e.part, e.index) not in shown and e.action not in DULL]
        if "why" in question.slots or "effect" in question.slots:
            wrong = {told_clause(event, self.story) for event in others}
        elif question.answer_type == "action":
            form = "do" if "purpose" in question.slots else "does"
            wrong = {act_phrase(e, self.story, form) for e in others if e.agent in (None, question.person)}
        else:
            wrong = {ELSE[question.answer_type]} if question.answer_type in ELSE else set()
        found = sorted(wrong - right)
        return statement_of(question, other=self.draw.choice(found) if found else None)

    def refusal(self, premise: FalsePremise) -> bool:
        """Add a round that takes for granted what does not happen; False if its words or what they deny were said."""
        told = event_facts(premise.event, self._agent(premise.event))
        asked = self._word(premise.question, rests=False) if not told & self._told else None
        if asked is None or ends_at(premise.event) < self._reached:
            return False
        slots = {"says": premise.says, "instead": premise.instead}
        shown = () if premise.event.interval is None else (premise.event.interval,)
        labels = question_labels(premise.question, asked.template, rests=asked.rests)
        turn = Turn(
            question=asked.text,
            references=(self._answer("premise", slots),),
            asked_at_s=self.part.asked_at_s,
            evidence=shown,
            labels=labels | {TASK_LABEL: (Task.ANSWER_REFUSAL.value,)},
            key=premise.key,
            extra={
                "about": "video",
                "kind": premise.check,
                "params": dict(premise.params),
                "answer_key": "no",
                "answer_type": "refusal",
                "form": asked.form,
                "asks_like": premise.question.kind,
                "premise": premise.sort,
                FACTS: [event_fact(self._whole(premise.event), self.story)],
                REFERS_TO: asked.refers_to,
                SPEAKS_OF: [],
            },
        )
        if self._is_misread(turn):
            return False
        about = f"whether {premise.wrong}"
        said = Statement(about=about, says=premise.says, wrong=premise.wrong, value=premise.instead)
        self.rounds.append(GraphRound(turn, says=(said,)))
        self._said.add(asked.text)
        self._told |= told
        self._reached = ends_at(premise.event)
        # No later question can refer to what does not happen.
        self._last = self._before = None
        return True

    def affirm(self, premise: FalsePremise) -> bool:
        """Add the round from which a false premise was made; False if it asks for nothing new."""
        return self.video(follow=False, fits=lambda q: q is premise.true)

    def _whole(self, event: StoryEvent) -> StoryEvent:
        """An event of one person's story, as it stands in the story of everybody."""
        return next(e for e in self.story.events if (e.part, e.index) == (event.part, event.index))

    def premises(self) -> list[FalsePremise]:
        """Questions with a false premise whose kinds can also be asked with a true one, in a seeded order."""
        able = [q for q in self.pool if fitting_forms(q, self.split, ref=False)]
        found = list(false_premises(able, self.story))
        found += missing_premises(able, self.story, split=self.split, draw=self.draw)
        # Somebody else may do what is asked about in another scene.
        found = [one for one in found if one.event.part in self.shown]
        self.draw.shuffle(found)
        return found

    def unknown(self) -> bool:
        """Add a round about the day of an act, or about a sound: what no video of ours tells; False if none can be."""
        heard = " ".join(event.says or "" for event in self.story.events).casefold()
        sorts = ["sound", *([] if any(day in heard for day in DAYS) else ["day"])]
        acts = [q for q in self._new() if q.kind in ("next_action", "which_room", "who_does", "times", "meanwhile")]
        acts = [q for q in acts if q.evidence[0].agent is not None and q.evidence[0].action not in DULL]
        acts = [q for q in acts if ends_at(q.evidence[0]) >= self._reached]
        if not acts:
            return False
        event, sort = self._rarest(acts).evidence[0], self.draw.choice(sorts)
        who, does = event_clause(event, self.story)
        slots = {"who": who, "says": f"{who} {does}"} | event_slots(event, self.story)
        key = AnswerKey(type="refusal", values=(UNKNOWN,), about=(told_act(event),))
        said = Statement(about=f"the {sort}", says=f"{who} {does}", wrong="nobody is seen", value=None)
        labels = {"vdact.question_type": ("VID",), "cogme.target": ("Commonsense",), "cogme.content": ("Identity",)}
        extra: dict[str, Json] = {"about": "video", "answer_type": "refusal", REFERS_TO: None, SPEAKS_OF: []}
        extra |= {FACTS: [event_fact(self._whole(event), self.story)]}
        if not self._speak(
            sort,
            Task.ANSWER_REFUSAL,
            [said],
            slots=slots,
            evidence=() if event.interval is None else (event.interval,),
            labels=labels | {"cogme.thinking": ("Recall",)},
            extra=extra,
            key=key,
        ):
            return False
        self._reached = ends_at(event)
        self.forget_last()
        return True

    def repeat(self, sort: str, task: Task, places: Sequence[int]) -> bool:
        """Add a round that repeats what earlier ones said: a `recall`, `recall_first` or `recall_both`."""
        said = [one for n in places for one in self.rounds[n].says]
        labels = {name: self.rounds[places[0]].turn.labels[name] for name in ("cogme.target", "cogme.content")}
        slots = {"number": str(places[0] + 1), "about": said[0].about, "says": said[0].says}
        if len(said) > 1:
            slots |= {"other_number": str(places[1] + 1), "other_about": said[1].about, "other_says": said[1].says}
        extra: dict[str, Json] = {
            "about": "video",
            "recalls": list(places),
            FACTS: [fact for n in places for fact in facts_of(self.rounds[n].turn)],
        }
        evidence = union(i for n in places for i in self.rounds[n].turn.evidence)
        return self._speak(sort, task, said, slots=slots, evidence=evidence, labels=labels | _RECALLED, extra=extra)

    def summary(self) -> bool:
        """Add a round that asks to sum up what the dialogue was about; False if too little of it matters."""
        shown = {(event.part, event.index) for question in self._asked for event in question.evidence}
        events = [event for event in self.story.events if (event.part, event.index) in shown]
        told = sum_up(events, self.story)
        if not told:
            return False
        kept = important_events(events)
        slots = {
            "limit": phrases.number(max(len(told), LIMITS[0])),
            "says": " ".join(sentence.text for sentence in told),
        }
        extra: dict[str, Json] = {
            "about": "video",
            "recalls": list(self._by_round),
            FACTS: [event_fact(event, self.story) for event in kept],
        }
        return self._speak(
            "summary",
            Task.CONTENT_SUMMARY,
            [],
            slots=slots,
            evidence=union(event.interval for event in kept if event.interval is not None),
            labels={"cogme.target": ("Event",), "cogme.content": ("Sequence",)} | _RECALLED,
            extra=extra,
            told=told,
        )

    def use_of_recalled(self) -> bool:
        """Add a question about the later scene and a thing that an earlier question was about, without its name."""
        distant = {
            str(q.anchor): index
            for index, q in self._by_round.items()
            if isinstance(q.anchor, str) and self.is_earlier(q) and len(self.rounds) - index >= LEAST_DISTANCE
        }
        options = [
            q
            for q in self._new(self.is_later)
            if isinstance(q.anchor, str) and q.anchor in distant and fitting_forms(q, self.split, ref=True)
        ]
        patterns = texts_of_split(round_forms()["recall_use"].questions, self.split)
        for question in options:
            index = distant[str(question.anchor)]
            self._last, self._before = None, None
            asked = self._word(question, rests=True)
            if asked is None:
                continue
            said = self._statement(question)
            opening = self.draw.choice(patterns).replace("{ordinal}", self._ordinal(index))
            slots = {"number": str(index + 1), "thing": question.slots["o"], "says": said.says}
            turn = self._turn(asked, opening, self._answer("recall_use", slots), Task.MEMORY_RECALL)
            extra: dict[str, Json] = {
                "recalls": [index],
                "recall": "use",
                FACTS: facts_of(self.rounds[index].turn),
            }
            candidates = candidates_of(question, self.story, self.universe)
            if is_ambiguous(candidates):
                extra |= recorded(candidates)
            turn = turn.model_copy(update={"extra": turn.extra | extra})
            if leak_of(turn, []) is not None:
                continue
            self._add(asked, turn, said)
            self._last = self._before = question
            return True
        return False

    def _ordinal(self, index: int) -> str:
        """Which of the user's questions about the video a round is."""
        return ORDINALS[sum(made.turn.extra["about"] == "video" for made in self.rounds[:index])]

    def remark(self) -> bool:
        """Add a round in which the user shows no interest in what is on screen, and the assistant goes on from it."""
        found = [one for one in find_consequences(self.story, sorted(self.shown)) if self._is_new(one)]
        patterns = texts_of_split(round_forms()["remark"].questions, self.split)
        if not found:
            return False
        chosen = self.draw.choice(found)
        clauses = [" ".join(event_clause(event, self.story)) for event in chosen.effects]
        told = " ".join(event_clause(chosen.act, self.story))
        says = ". ".join([clauses[0], *map(phrases.sentence, clauses[1:])])
        slots = {"told": told, "says": says, "ask": self._answer("remark_ask", {})}
        events = (chosen.act, *chosen.effects)
        turn = Turn(
            question=phrases.sentence(fill_form(self.draw.choice(patterns), slots, named=True)),
            references=(self._answer("remark", slots),),
            asked_at_s=self.part.asked_at_s,
            evidence=union(event.interval for event in events if event.interval is not None),
            # The user asks nothing, so there is no question to label.
            labels={TASK_LABEL: (Task.PROACTIVE_INTERACTION.value,)},
            extra={
                "about": "chat",
                "kind": "remark",
                FACTS: [event_fact(event, self.story) for event in events],
            },
        )
        said = tuple(Statement(f"what comes of it that {told}", one, "nothing comes of it", None) for one in clauses)
        self.rounds.append(GraphRound(turn, says=said))
        self._said.add(turn.question)
        for event in events:
            self._told |= event_facts(event, self._agent(event))
        self._reached = max(self._reached, *map(ends_at, events))
        self._last = None
        return True

    def _is_new(self, one: Consequence) -> bool:
        """True if nothing said so far tells an act or what comes of it, and it is not over and done with."""
        events = (one.act, *one.effects)
        news = not any(event_facts(event, self._agent(event)) & self._told for event in events)
        return news and ends_at(one.effects[-1]) >= self._reached

    def _agent(self, event: StoryEvent) -> str | None:
        return event.agent if self.story.names else None

    def _speak(
        self,
        sort: str,
        task: Task | None,
        said: Sequence[Statement],
        *,
        slots: Mapping[str, str],
        evidence: tuple[Interval, ...],
        labels: Mapping[str, tuple[str, ...]],
        extra: Mapping[str, Json],
        told: tuple[Sentence, ...] = (),
        key: AnswerKey | None = None,
    ) -> bool:
        new = [t for t in texts_of_split(round_forms()[sort].questions, self.split) if t not in self._said]
        if not new:
            return False
        template = self.draw.choice(new)
        self._said.add(template)
        turn = Turn(
            question=phrases.sentence(fill_form(template, slots, named=True)),
            references=(self._answer(sort, slots),),
            asked_at_s=self.part.asked_at_s,
            evidence=evidence,
            labels={**labels, **({TASK_LABEL: (task.value,)} if task else {})},
            key=key,
            extra={**extra, "kind": sort},
        )
        if self._is_misread(turn):
            return False
        self.rounds.append(GraphRound(turn, says=tuple(said), told=told))
        return True

    def _is_misread(self, turn: Turn) -> bool:
        """True, and counted, if the rules that read answers would not take the reference of a refusal for right."""
        if turn.key is None or not self.story.names or read_answer(turn.question, turn.key, turn.references[0]).right:
            return False
        why = f"not asked, {turn.question!r}: the rules misread {turn.references[0]!r}"
        self.passed_over.append((len(self.rounds), MISREAD, why))
        return True

    def _answer(self, sort: str, slots: Mapping[str, str]) -> str:
        texts = [text for pattern in round_forms()[sort].answers for text in expand_pattern(pattern)]
        return phrases.sentence(fill_form(self.draw.choice(texts), slots, named=True))

    def topic(self) -> bool:
        """Add a round about a topic outside the video."""
        used = {made.topic.family for made in self.rounds if made.topic is not None}
        fitting = [topic for topic in topics(self.split) if topic.family not in used]
        chosen = self.draw.choice(fitting)
        slots = {"question": chosen.question, "about": chosen.about, "answer": chosen.answer}
        forms = texts_of_split(round_forms()["topic"].questions, self.split)
        turn = Turn(
            question=phrases.sentence(fill_form(self.draw.choice(forms), slots, named=True)),
            references=(self._answer("topic", slots),),
            asked_at_s=self.part.asked_at_s,
            labels={
                "cogme.target": ("Commonsense",),
                "cogme.content": ("Identity",),
                "cogme.thinking": ("Recall",),
                TASK_LABEL: (Task.TOPIC_SHIFTING.value,),
            },
            extra={"about": "topic", "kind": "topic"},
        )
        self.rounds.append(GraphRound(turn, topic=chosen))
        self._last = None
        return True

    def back(self) -> bool:
        """Add a round that returns to what was said about the video last, or else to the video with a new question."""
        forms = round_forms()
        again = self.draw.choice(texts_of_split(forms["back_to"].questions, self.split))
        if self.draw.random() < 0.6 and self.video(Task.TOPIC_SHIFTING, follow=True, opening=again):
            return True
        opening = self.draw.choice(texts_of_split(forms["back"].questions, self.split))
        return self.video(Task.TOPIC_SHIFTING, follow=False, opening=opening)

    def forget_last(self) -> None:
        """Go on without a reference to the round before, as when another scene begins."""
        self._last = self._before = None

    def recall_places(self, *, again: bool = True) -> list[int]:
        """Rounds about the earlier scene that are far enough back, those that were not recalled yet first, or alone."""
        now = len(self.rounds)
        recalled = Counter(n for made in self.rounds for n in made.turn.extra.get("recalls", ()))
        places = [n for n, q in self._by_round.items() if self.is_earlier(q) and now - n >= LEAST_DISTANCE]
        self.draw.shuffle(places)
        alone = {n for made in self.rounds if made.turn.extra["kind"] == "recall" for n in made.turn.extra["recalls"]}
        fitting = (n for n in places if n not in alone and (again or not recalled[n]))
        return sorted(fitting, key=lambda n: recalled[n])


_RECALLED: Final = {"vdact.question_type": ("REF",), "cogme.thinking": ("Grasping",)}


def facts_of(turn: Turn) -> list[dict[str, Json]]:
    """The facts of a round as SPARQL checks them: its own, and those that it tells beside."""
    own = [{name: turn.extra[name] for name in ("kind", "params", "answer_key")}] if "params" in turn.extra else []
    return [*own, *turn.extra.get(FACTS, ())]


def _objects_of(question: Question) -> frozenset[str]:
    names = {event.main for event in question.evidence} | {t for event in question.evidence for t in event.targets}
    return frozenset(name for name in names if name is not None)


def _object_reference(maker: DialogueMaker, count: int) -> bool:
    """Most rounds have words that only the conversation resolves, since several things or people could be meant."""
    if not maker.video(follow=False, leads=True):
        return False
    referring = 0
    while len(maker.rounds) < count:
        if maker.refer(Task.OBJECT_REFERENCE):
            referring += 1
        elif not maker.video(follow=False, leads=True):
            return False
        # As many rounds as may do without a reference have gone.
        if len(maker.rounds) - referring > (1 - REFERRING_SHARE) * count:
            return False
    return True


def _memory_recall(maker: DialogueMaker, count: int) -> bool:
    """Rounds about an earlier scene, then about a later one; the last rounds recall what was said about the earlier."""
    recalls = 3 if count == 8 else 2
    first = 2 if count < 7 else 3
    if not all(maker.video(fits=maker.is_earlier, leads=True) for _ in range(first)):
        return False
    maker.forget_last()
    later = count - recalls - first
    if not all(maker.video(fits=maker.is_later) for _ in range(later)):
        return False
    sorts = ["recall", "recall_both", "recall_first"]
    maker.draw.shuffle(sorts)
    made = int(maker.use_of_recalled())
    for again, sort in [(False, sort) for sort in sorts] + [(True, "recall")]:
        if made == recalls:
            break
        made += _recall(maker, sort, again=again)
    return made == recalls


def _recall(maker: DialogueMaker, sort: str, *, again: bool) -> bool:
    """Add a round that recalls what was said about the earlier scene, what was not recalled yet if it can."""
    places = maker.recall_places(again=again)
    if not places:
        return False
    if sort == "recall_first":
        return places[0] == 0 and maker.repeat(sort, Task.MEMORY_RECALL, [0])
    if sort == "recall_both":
        return len(places) > 1 and maker.repeat(sort, Task.MEMORY_RECALL, places[:2])
    return maker.repeat(sort, Task.MEMORY_RECALL, places[:1])


def _summary(maker: DialogueMaker, count: int) -> bool:
    """The last round, and only that one, asks for a summary of the conversation."""
    return all(maker.video() for _ in range(count - 1)) and maker.summary()


def _answer_refusal(maker: DialogueMaker, count: int) -> bool:
    """Each round takes for granted what does not happen, or asks the same about what does, as a coin falls."""
    left = maker.premises()
    order = sorted({premise.sort for premise in left})
    maker.draw.shuffle(order)
    sorts, kinds = Counter[str](), Counter[str]()
    refused, unknown = False, maker.draw.randrange(1, 2 * count)
    while len(maker.rounds) < count:
        if len(maker.rounds) == unknown and maker.unknown():
            refused = True
            continue
        last = len(maker.rounds) == count - 1
        is_false = maker.draw.random() < REFUSED_SHARE or (last and not refused)
        left = [premise for premise in left if kinds[premise.question.kind] < MOST_LIKE]
        left.sort(key=lambda premise: (sorts[premise.sort], order.index(premise.sort)))
        chosen = next((p for p in left if (maker.refusal(p) if is_false else maker.affirm(p))), None)
        if chosen is None:
            # Few acts can be asked about twice, so the last rounds may ask for something else.
            if refused and maker.video(follow=False):
                continue
            return False
        refused = refused or (is_false and len(maker.rounds) > 1)
        sorts[chosen.sort] += 1
        kinds[chosen.question.kind] += 1
        left = [premise for premise in left if premise.event != chosen.event]
    return True


def _topic_shifting(maker: DialogueMaker, count: int) -> bool:
    """Two shifts to other topics, each with a return, after rounds about the video alone."""
    before = all(maker.video(leads=True) for _ in range(max(2, count - 4)))
    return before and maker.topic() and maker.back() and maker.topic() and maker.back()


def _proactive_interaction(maker: DialogueMaker, count: int) -> bool:
    """In two rounds the user shows no interest in what is on screen, and the assistant tells what comes of it."""
    places = {2, count - 1} if count < CLOSED_FROM else {1, 4, count - 1}
    return all(maker.remark() if place in places else maker.video() for place in range(count))


_MAKERS: Final = {
    Task.OBJECT_REFERENCE: _object_reference,
    Task.MEMORY_RECALL: _memory_recall,
    Task.CONTENT_SUMMARY: _summary,
    Task.ANSWER_REFUSAL: _answer_refusal,
    Task.TOPIC_SHIFTING: _topic_shifting,
    Task.PROACTIVE_INTERACTION: _proactive_interaction,
}
_REASONS: Final = {
    Task.OBJECT_REFERENCE: "too few questions could be about several things or people",
    Task.MEMORY_RECALL: "there are no two scenes with enough to ask about each",
    Task.CONTENT_SUMMARY: "too little that matters was asked about for a summary",
    Task.ANSWER_REFUSAL: "too few acts can be asked about with a false premise",
    Task.PROACTIVE_INTERACTION: "too little happens for five rounds, or nothing comes of what is on screen",
}
