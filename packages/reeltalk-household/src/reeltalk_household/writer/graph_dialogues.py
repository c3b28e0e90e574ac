"""Dialogues from a graph for MT-Video-Bench's six tasks: exact, with 5 to 8 rounds, about one or several scenes."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from reeltalk.language import phrases
from reeltalk.language.vocabulary import class_of
from reeltalk.schema.dialogue import REFERS_TO, SPEAKS_OF, Turn
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
from reeltalk_household.questions.question import COLOURS, Question, act_phrase, story_of
from reeltalk_household.questions.wording import (
    WordedQuestion,
    fill_form,
    fitting_forms,
    form_of,
    goes_on,
    identity,
    question_labels,
    rests_on,
    turn_of,
    word_question,
)
from reeltalk_household.writer.graph_chains import (
    KnownFact,
    VideoPart,
    event_facts,
    fault_of_turn,
    is_guessable,
    is_news,
    known_facts,
)
from reeltalk_household.writer.graph_checklists import GraphRound, Statement, statement_of
from reeltalk_household.writer.graph_needs import MetNeed, event_fact, fitting_texts, helps_of, met_needs
from reeltalk_household.writer.graph_premises import FalsePremise, false_premises, with_colour
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
    Told,
    compress,
    important_events,
    limit_of,
    split_clause,
    told_events,
)

LEFT_OUT: Final = frozenset({"video_length", "people_count", "acts"})
REFUSALS: Final = frozenset({"never_handled", "opinion", "unknown_person"})
LOCAL: Final = frozenset(
    {
        "where_put", "where_from", "which_room", "next_action", "previous_action", "posture", "object_colour", "use",
        "tool", "how_clean", "duration", "order",
        "who_does", "who_takes", "give_receiver", "give_giver", "give_thing", "meanwhile", "who_beside", "feels_after",
        "why_feels", "makes_feel", "who_says", "says_to", "says_what", "offers_what", "asks_about", "talks_about",
        "why_says", "reply", "whom", "could_take", "which_colour", "which_size", "cause_of", "effect_of", "why_act",
        "would_happen",
    }
)  # fmt: skip
"""Kinds whose answer depends only on what they name, so they can be asked about a part of a video."""
ELSE: Final = {"object": "a suitcase", "place": "in a suitcase", "list": "a suitcase"}
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
        shown: Indices of the activities that the dialogue may ask about, if the story contains more than those.
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
        shown: frozenset[int] | None = None,
        earlier: frozenset[int] = frozenset(),
        objects: frozenset[str] = frozenset(),
        balance: AnswerBalance | None = None,
    ) -> None:
        self.part, self.split, self.shown, self.earlier = part, split, shown, earlier
        last = part.clips[max(shown)].interval if shown else None
        self.asked_at_s = last.end_s if last else part.asked_at_s
        self.draw = random.Random(f"dialogue {seed}")
        self._balance = balance
        self.universe = [q for q in part.question_pool(pool_seed) if q.kind not in LEFT_OUT | REFUSALS]
        self.pool = [q for q in self.universe if not is_guessable(q) and self._is_shown(q)]
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
        self._listed: tuple[str, ...] = ()
        self._sorts: Counter[str] = Counter()
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

    def _is_shown(self, question: Question) -> bool:
        if self.shown is None:
            return True
        acts = [*question.evidence]
        if "event" in question.params:
            # The act that it names may be in another scene than the next one of the same person.
            acts.append(story_of(question, self.story).events[int(question.params["event"])])
        return question.kind in LOCAL and bool(question.evidence) and all(act.part in self.shown for act in acts)

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
            if _MAKERS[task](self, count):
                return self.rounds
        return _REASONS.get(task, "too little happens for five rounds that each ask for something new")

    def _new(self, fits: Fits | None = None) -> list[Question]:
        """Questions that nothing said so far answers."""
        asked = {(q.kind, identity(q)) for q in self._asked}
        return [
            q
            for q in self.pool
            if (q.kind, identity(q)) not in asked and is_news(q, self._told) and (fits is None or fits(q))
            if self._balance is None or self._balance.suits(q, self._asked, self.split)
        ]

    def _rarest(self, options: Sequence[Question]) -> Question:
        kinds = Counter(q.kind for q in self._asked)
        least = min(kinds[q.kind] for q in options)
        return next(q for q in options if kinds[q.kind] == least)

    def video(
        self,
        task: Task | None = None,
        *,
        follow: bool | None = None,
        leads: bool = False,
        fits: Fits | None = None,
        opening: str = PLAIN,
        coloured: bool = False,
    ) -> bool:
        """Add a round about the video; False if there is nothing new to ask.

        Args:
            task: The ability that the round tests.
            follow: True for a question that refers to the round before, False for one that does not, None for either.
            leads: True to prefer a question that a later one can refer to.
            fits: Only questions for which it is true.
            opening: Template of the user's turn; contains `{question}`.
            coloured: True for a question that says which colour its thing has.
        """
        leaking: list[Question] = []
        while True:
            new = [q for q in self._new(fits) if q not in leaking]
            last = self._before if opening != PLAIN else self._last
            follows = [
                q for q in new if last is not None and rests_on(q, last) and fitting_forms(q, self.split, ref=True)
            ]
            rests = bool(follows) and (follow if follow is not None else self.draw.random() < FOLLOW_UP_SHARE)
            options = follows if rests else [q for q in new if fitting_forms(q, self.split, ref=False)]
            if coloured:
                options = [q for q in options if with_colour(q, self.story) is not None]
            if leads:
                options = [q for q in options if any(rests_on(other, q) for other in new)] or options
            if not options or (follow and not rests):
                return False
            question = self._rarest(options)
            spoken = with_colour(question, self.story) if coloured else None
            if self._ask(question, task, rests=rests, opening=opening, spoken=spoken):
                return True
            leaking.append(question)

    def _ask(
        self,
        question: Question,
        task: Task | None,
        *,
        rests: bool = False,
        description: Description | None = None,
        opening: str = PLAIN,
        spoken: Question | None = None,
    ) -> bool:
        """Add a question as a round; False if its words or earlier rounds answer it, or the words do not fit."""
        opened = opening != PLAIN
        asked = self._word(question, rests=rests, description=description, opened=opened, spoken=spoken)
        if asked is None:
            return False
        said = self._statement(question)
        head = {"yes": "Yes: ", "no": "No: "}.get(question.key, "")
        turn = self._turn(asked, opening, phrases.sentence(f"{head}{said.says}."), task)
        candidates = self._candidates(asked, description)
        if is_ambiguous(candidates):
            turn = turn.model_copy(update={"extra": turn.extra | recorded(candidates)})
        told = [(made.turn.question, made.turn.references[0]) for made in self.rounds]
        fault = fault_of_turn(turn, told, self.story)
        if fault is not None:
            self.passed_over.append((len(self.rounds), fault[0], f"not asked, {turn.question!r}: {fault[1]}"))
            return False
        so_far = said_before([*(made.turn for made in self.rounds), turn])[-1]
        if self._balance and not self._balance.suits_person(question, self.story, so_far, self.split):
            return False
        self._add(asked, turn, said)
        if spoken is not None:
            self._told |= {("colour", str(event.main)) for event in question.evidence}
        self._listed = self._list_after(question, description)
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
        opened: bool = False,
        spoken: Question | None = None,
    ) -> WordedQuestion | None:
        """A question in words that were not said before; None if no form has a place for the description."""
        last = self._last
        spoken = spoken or (question if description is None else described(question, description, self.story))
        named = description is not None and description.sort == "other person"
        for _ in range(TRIES):
            asked = word_question(
                spoken,
                split=self.split,
                draw=self.draw,
                first=not self.rounds or named,
                rests=rests,
                last=self._before if rests else last,
            )
            if description is not None and description.words.casefold() not in asked.text.casefold():
                continue
            if asked.text in self._said or (opened and asked.form.count("/") > _PARTS_OF_A_CORE):
                continue
            if description is not None:
                asked = replace(asked, question=question, rests=True, anchored=not named)
            return replace(asked, question=question)
        return None

    def _candidates(self, asked: WordedQuestion, description: Description | None) -> Mapping[str, Question]:
        if description is not None:
            return description.candidates
        if asked.anchored:
            return candidates_of(asked.question, self.story, self.universe)
        return people_for(asked.question, self.universe) if asked.rests else {}

    def _list_after(self, question: Question, description: Description | None) -> tuple[str, ...]:
        """The things that *the first one* can mean in the next round."""
        if question.answer_type == "list" or question.kind == "what_else":
            return tuple(dict.fromkeys(event.main for event in question.evidence if event.main is not None))
        kept = description is not None and description.means in self._listed
        return self._listed if kept else ()

    def refer(self, task: Task) -> bool:
        """Add a round whose words have several candidates, which only the dialogue tells apart; False if none can."""
        last = self._last
        if last is None:
            return False
        options: list[tuple[str, Question, Description | None, bool]] = []
        for question in self._new():
            rests = rests_on(question, last) and bool(fitting_forms(question, self.split, ref=True))
            if rests and is_ambiguous(candidates_of(question, self.story, self.universe)):
                sort = "it" if isinstance(question.anchor, str) else "that"
                options.append((sort, question, None, True))
            if not fitting_forms(question, self.split, ref=False):
                continue
            if not rests and goes_on(question, last) and is_ambiguous(people_for(question, self.universe)):
                options.append(("he or she", question, None, False))
            options += [
                (one.sort, question, one, False)
                for one in descriptions(question, last, self._listed, self.story, self.universe)
            ]
        kinds = Counter(q.kind for q in self._asked)
        options = [o for o in options if self._sorts[o[0]] < MOST_OF_A_SORT.get(o[0], 4) and kinds[o[1].kind] < 2]
        self.draw.shuffle(options)
        options.sort(key=lambda o: (self._sorts[o[0]], kinds[o[1].kind]))
        for sort, question, description, rests in options[:TRIES]:
            before = len(self.rounds)
            if not self._ask(question, task, rests=rests, description=description):
                continue
            if "candidates" in self.rounds[-1].turn.extra:
                self._sorts[sort] += 1
                return True
            self._undo(before)
        return False

    def _undo(self, count: int) -> None:
        """Take rounds back until so many are left, after a wording came out without a reference."""
        rounds, by_round = self.rounds[:count], dict(self._by_round)
        passed_over, sorts = self.passed_over, self._sorts
        self._reset()
        self.passed_over, self._sorts = passed_over, sorts
        for index, made in enumerate(rounds):
            self.rounds.append(made)
            if (question := by_round.get(index)) is not None:
                self._by_round[index] = self._last = self._before = question
                self._asked.append(question)
                self._told |= known_facts(question)
                self._listed = self._list_after(question, None)
            self._said.add(made.turn.question)

    def _turn(self, asked: WordedQuestion, opening: str, reference: str, task: Task | None) -> Turn:
        turn = turn_of(asked, self.story, self.draw, asked_at_s=self.asked_at_s)
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

    def _statement(self, question: Question) -> Statement:
        shown = {(event.part, event.index) for event in question.evidence}
        right = question.slots.get("next")
        does = {
            act_phrase(event, self.story, "does")
            for event in self.story.events
            if (event.part, event.index) not in shown
            and event.action != "walk"
            and event.agent in (None, question.person)
        }
        others = sorted(does - {right})
        if question.answer_type in ELSE:
            return statement_of(question, other=ELSE[question.answer_type])
        return statement_of(question, other=self.draw.choice(others) if others else "does nothing at all")

    def refusal(self, premise: FalsePremise) -> bool:
        """Add a round that takes for granted what does not happen; False if its words or what they deny were said."""
        told = event_facts(premise.event, premise.event.agent if self.story.names else None)
        asked = self._word(premise.question, rests=False)
        if asked is None or told & self._told:
            return False
        slots = {"says": premise.says, "instead": premise.instead}
        shown = () if premise.event.interval is None else (premise.event.interval,)
        labels = question_labels(premise.question, asked.template, rests=asked.rests)
        turn = Turn(
            question=asked.text,
            references=(self._answer("premise", slots),),
            asked_at_s=self.asked_at_s,
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
        about = f"whether {premise.wrong}"
        said = Statement(about=about, says=premise.says, wrong=premise.wrong, value=premise.instead)
        self.rounds.append(GraphRound(turn, says=(said,)))
        self._said.add(asked.text)
        self._told |= told
        if premise.sort == "look":
            self._told |= {("colour", str(premise.event.main))}
        # No later question can refer to what does not happen.
        self._last = self._before = None
        self._listed = ()
        return True

    def affirm(self, premise: FalsePremise) -> bool:
        """Add the round from which a false premise was made; False if it asks for nothing new."""
        return self.video(follow=False, fits=lambda q: q is premise.true, coloured=premise.sort == "look")

    def _whole(self, event: StoryEvent) -> StoryEvent:
        """An event of one person's story, as it stands in the story of everybody."""
        return next(e for e in self.story.events if (e.part, e.index) == (event.part, event.index))

    def premises(self) -> list[FalsePremise]:
        """Questions with a false premise whose kinds can also be asked with a true one, in a seeded order."""
        able = [q for q in self.pool if fitting_forms(q, self.split, ref=False)]
        found = list(false_premises(able, self.story, twin_colour=self._twin_colour))
        # Somebody else may do what is asked about in another scene.
        found = [one for one in found if self.shown is None or one.event.part in self.shown]
        self.draw.shuffle(found)
        return found

    def _twin_colour(self, name: str, colours: Collection[str]) -> str | None:
        """A colour that things of a class have in other videos, so that it is not unlikely by itself."""
        known = (
            dict.fromkeys(COLOURS, 1)
            if self._balance is None
            else self._balance.possible("object_colour", class_of(name))
        )
        fitting = sorted(known.keys() - colours)
        return self.draw.choices(fitting, [known[colour] for colour in fitting])[0] if fitting else None

    def repeat(self, sort: str, task: Task, places: Sequence[int]) -> bool:
        """Add a round about the content of earlier ones.

        Args:
            sort: `recall`, `recall_first`, `recall_both`, `recall_order` or `summary`.
            task: The ability that the round tests.
            places: Indices, from 0, of the rounds that it is about.
        """
        said = [one for n in places for one in self.rounds[n].says]
        evidence = union(i for n in places for i in self.rounds[n].turn.evidence)
        # Recall repeats a fact; a summary tells a sequence of events.
        labels = (
            {"cogme.target": ("Event",), "cogme.content": ("Sequence",)}
            if sort in ("summary", "recall_order")
            else {name: self.rounds[places[0]].turn.labels[name] for name in ("cogme.target", "cogme.content")}
        )
        labels |= {"vdact.question_type": ("REF",), "cogme.thinking": ("Grasping",)}
        slots = {"number": str(places[0] + 1), "about": said[0].about, "says": said[0].says}
        if len(said) > 1:
            slots |= {
                "other_number": str(places[1] + 1),
                "other_about": said[1].about,
                "other_says": said[1].says,
            }
        told: tuple[Told, ...] = ()
        if sort == "summary":
            told = self._compressed(places)
            limit = limit_of(told)
            slots |= {"limit": phrases.number(limit), "says": compress(told, limit)}
        extra: dict[str, Json] = {
            "about": "video",
            "recalls": list(places),
            FACTS: [fact for n in places for fact in facts_of(self.rounds[n].turn)],
        }
        return self._speak(sort, task, said, slots=slots, evidence=evidence, labels=labels, extra=extra, told=told)

    def _compressed(self, places: Sequence[int]) -> tuple[Told, ...]:
        """What rounds tell as clauses, in the order of the video; what is about no moment comes last."""
        subjects = [*self.story.names.values(), "the person"]
        placed = []
        for n in places:
            made = self.rounds[n]
            starts = [interval.start_s for interval in made.turn.evidence]
            if made.told:
                continue
            for one in made.says:
                late = not starts or one.says.endswith("at the end")
                placed.append(((float("inf") if late else min(starts), n), split_clause(one.says, subjects)))
        return tuple(told for _, told in sorted(placed, key=lambda pair: pair[0]))

    def scene(self) -> bool:
        """Add a round that asks for a summary of the scene; False if too little happens."""
        inside = [event for event in self.story.events if self.shown is None or event.part in self.shown]
        events = important_events(inside)
        if len(events) < 3:
            return False
        told = tuple(told_events(events, self.story))
        limit = limit_of(told)
        slots = {"limit": phrases.number(limit), "says": compress(told, limit)}
        shown = tuple(event.interval for event in events if event.interval is not None)
        labels = {
            "vdact.question_type": ("SUP",),
            "cogme.target": ("Event",),
            "cogme.content": ("Sequence",),
            "cogme.thinking": ("Grasping",),
        }
        extra: dict[str, Json] = {
            "about": "video",
            FACTS: [event_fact(event, self.story) for event in events],
            REFERS_TO: None,
            SPEAKS_OF: [],
        }
        if not self._speak(
            "scene", None, [], slots=slots, evidence=union(shown), labels=labels, extra=extra, told=told
        ):
            return False
        for event in events:
            self._told |= event_facts(event, event.agent if self.story.names else None)
        self._last = self._before = None
        return True

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
            asked = self._word(question, rests=True, opened=True)
            if asked is None:
                continue
            said = self._statement(question)
            opening = self.draw.choice(patterns).replace("{ordinal}", self._ordinal(index))
            head = {"yes": "Yes: ", "no": "No: "}.get(question.key, "")
            slots = {"number": str(index + 1), "thing": question.slots["o"], "says": f"{head}{said.says}"}
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

    def need(self, *, remark: bool) -> bool:
        """Add a round in which the assistant brings up what meets a need.

        Args:
            remark: True if the user remarks something that shows the need; False if the user shows no interest.
        """
        used = {made.turn.extra.get("need") for made in self.rounds}
        found: list[MetNeed] = []
        for met in met_needs(self.story, parts=self.shown):
            news = met.event is None or not event_facts(met.event, self._agent(met.event)) & self._told
            if met.need.name not in used and news and (remark or met.need.urgent):
                found.append(met)
        self.draw.shuffle(found)
        # Rare needs come first: most scenes have something that is put down.
        found.sort(key=lambda met: met.need.name in _COMMON)
        for met in found:
            texts = (
                fitting_texts(texts_of_split(met.need.remarks, self.split), met)
                if remark
                else texts_of_split(round_forms()["neutral"].questions, self.split)
            )
            asks = [text for pattern in met.need.asks for text in fitting_texts(expand_pattern(pattern), met)]
            new = [text for text in texts if text not in self._said]
            if not new or not asks:
                continue
            slots = {"says": met.says, "helps": helps_of(met), "ask": self.draw.choice(asks)}
            said = Statement(about=f"whether {met.says}", says=met.says, wrong="nothing happens", value=None)
            text = self.draw.choice(new)
            self._said.add(text)
            shown = () if met.event is None or met.event.interval is None else (met.event.interval,)
            turn = Turn(
                question=phrases.sentence(text),
                references=(self._answer("need" if remark else "urgent", slots),),
                asked_at_s=self.asked_at_s,
                evidence=shown,
                # The user asks nothing, so there is no question to label.
                labels={TASK_LABEL: (Task.PROACTIVE_INTERACTION.value,)},
                extra={
                    "about": "chat",
                    "kind": "need" if remark else "neutral",
                    "need": met.need.name,
                    FACTS: [*met.facts],
                },
            )
            self.rounds.append(GraphRound(turn, says=(said,)))
            if met.event is not None:
                self._told |= event_facts(met.event, self._agent(met.event))
            else:
                self._told |= {("state", str(met.thing)), ("closes", str(met.thing))}
            self._last = None
            return True
        return False

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
        told: tuple[Told, ...] = (),
    ) -> bool:
        new = [t for t in texts_of_split(round_forms()[sort].questions, self.split) if t not in self._said]
        if not new:
            return False
        template = self.draw.choice(new)
        self._said.add(template)
        turn = Turn(
            question=phrases.sentence(fill_form(template, slots, named=True)),
            references=(self._answer(sort, slots),),
            asked_at_s=self.asked_at_s,
            evidence=evidence,
            labels={**labels, **({TASK_LABEL: (task.value,)} if task else {})},
            extra={**extra, "kind": sort},
        )
        self.rounds.append(GraphRound(turn, says=tuple(said), told=told))
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
            asked_at_s=self.asked_at_s,
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
        self._listed = ()

    def recall_places(self, *, again: bool = True) -> list[int]:
        """Rounds about the earlier scene that are far enough back, those that were not recalled yet first.

        Args:
            again: False for only those that were not recalled yet.
        """
        now = len(self.rounds)
        recalled = Counter(n for made in self.rounds for n in made.turn.extra.get("recalls", ()))
        places = [n for n, q in self._by_round.items() if self.is_earlier(q) and now - n >= LEAST_DISTANCE]
        self.draw.shuffle(places)
        alone = {n for made in self.rounds if made.turn.extra["kind"] == "recall" for n in made.turn.extra["recalls"]}
        fitting = (n for n in places if n not in alone and (again or not recalled[n]))
        return sorted(fitting, key=lambda n: recalled[n])

    def order_places(self) -> tuple[int, int] | None:
        """Two distant rounds about single events, the earlier event first."""
        moments = []
        for n in self.recall_places():
            evidence = self._by_round[n].evidence
            if len(evidence) == 1 and evidence[0].interval is not None:
                moments.append((evidence[0].interval.start_s, evidence[0].interval.end_s, n))
        moments.sort()
        pairs = [(a[2], b[2]) for a, b in pairwise(moments) if b[0] >= a[1]]
        return self.draw.choice(pairs) if pairs else None


_PARTS_OF_A_CORE: Final = 2
"""Slashes in the name of a form without an opening, such as `where_put/forms/3`."""
_COMMON: Final = frozenset({"lost", "waits", "talk"})


def facts_of(turn: Turn) -> list[dict[str, Json]]:
    """The facts of a round as SPARQL checks them: its own, and those that it tells beside."""
    own = [{name: turn.extra[name] for name in ("kind", "params", "answer_key")}] if "params" in turn.extra else []
    return [*own, *turn.extra.get(FACTS, ())]


def _objects_of(question: Question) -> frozenset[str]:
    names = {event.main for event in question.evidence} | {t for event in question.evidence for t in event.targets}
    return frozenset(name for name in names if name is not None)


def _object_reference(maker: DialogueMaker, count: int) -> bool:
    """Most rounds have words that only the conversation resolves, since several things or people could be meant."""
    listing = maker.draw.random() < 0.4
    if not (
        (listing and maker.video(follow=False, fits=lambda q: q.kind == "what_else"))
        or maker.video(follow=False, leads=True)
    ):
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
    sorts = ["recall", "recall_both", "recall_order", "recall_first"]
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
    if sort == "recall_order":
        pair = maker.order_places()
        return pair is not None and maker.repeat(sort, Task.MEMORY_RECALL, pair)
    if not places:
        return False
    if sort == "recall_first":
        return places[0] == 0 and maker.repeat(sort, Task.MEMORY_RECALL, [0])
    if sort == "recall_both":
        return len(places) > 1 and maker.repeat(sort, Task.MEMORY_RECALL, places[:2])
    return maker.repeat(sort, Task.MEMORY_RECALL, places[:1])


def _summary(maker: DialogueMaker, count: int) -> bool:
    """The last round, and only that one, asks for a summary of the conversation."""
    # A checklist asks for four facts of the conversation.
    scene = count > 5 and maker.draw.random() < 0.5
    while len(maker.rounds) < count - 1 - scene:
        if not maker.video():
            return False
    if scene and not maker.scene() and not maker.video():
        return False
    places = [n for n, made in enumerate(maker.rounds) if not made.told]
    return maker.repeat("summary", Task.CONTENT_SUMMARY, places)


def _answer_refusal(maker: DialogueMaker, count: int) -> bool:
    """Each round takes for granted what does not happen, or asks the same about what does, as a coin falls."""
    left = maker.premises()
    order = sorted({premise.sort for premise in left})
    maker.draw.shuffle(order)
    sorts, kinds = Counter[str](), Counter[str]()
    refused = False
    while len(maker.rounds) < count:
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
    """In two or three rounds the user shows a need or no interest, and the assistant brings up what helps, and asks."""
    places = {2: True, count - 1: False} if count < 7 else {1: True, 4: True, count - 1: False}
    for place in range(count):
        if place not in places:
            if not maker.video():
                return False
        elif not (maker.need(remark=places[place]) or maker.need(remark=not places[place])):
            return False
    return True


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
    Task.ANSWER_REFUSAL: "too few acts can be asked about with a false premise",
    Task.PROACTIVE_INTERACTION: "too little happens for five rounds, or it meets no need",
}
