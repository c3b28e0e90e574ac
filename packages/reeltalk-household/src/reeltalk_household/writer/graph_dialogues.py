"""Dialogues from a graph for MT-Video-Bench's six tasks: exact, with five or six rounds, about one or several scenes.

Every round after the first goes on from the one before or performs the task: by *it*, *that*, *he* or *she*. What could
be guessed without the film, or follows from what was said, is not asked. A dialogue that keeps no such order is not
written.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Final

from reeltalk.language import phrases
from reeltalk.language.answer_reading import read_answer
from reeltalk.language.answer_values import UNKNOWN
from reeltalk.language.vocabulary import class_of
from reeltalk.schema.dialogue import REFERS_TO, SPEAKS_OF, AnswerKey, Turn
from reeltalk.schema.intervals import Interval, union
from reeltalk.schema.labels import Task
from reeltalk.schema.record import Json
from reeltalk_build.construct.knowledge import topics
from reeltalk_build.construct.linting import LEAST_OVERLAP, TASK_LABEL, text_words
from reeltalk_build.construct.round_forms import expand_pattern, round_forms, texts_of_split
from reeltalk_build.graph.naming import pronoun_of
from reeltalk_build.graph.story import Story, StoryEvent
from reeltalk_household.questions.balancing import AnswerBalance, is_usual
from reeltalk_household.questions.checking import FACTS
from reeltalk_household.questions.linked import CONNECTING_ACTS
from reeltalk_household.questions.question import (
    Question,
    act_phrase,
    act_value,
    called_thing,
    event_key,
    event_slots,
    only_object,
    present_clause,
    story_of,
)
from reeltalk_household.questions.wording import (
    WordedQuestion,
    all_forms,
    fill_form,
    fitting_forms,
    form_of,
    name_in,
    question_identity,
    question_labels,
    turn_of,
    word_question,
)
from reeltalk_household.writer.graph_chains import (
    MISREAD_GATE,
    MOST_NEIGHBOURS,
    NEIGHBOUR_KINDS,
    ORIGIN_KINDS,
    TIMELESS_KINDS,
    KnownFact,
    VideoPart,
    answer_end,
    ends_at,
    event_facts,
    fault_of_turn,
    has_one_referent,
    is_askable,
    is_named,
    is_news,
    known_facts,
    means_one_person,
)
from reeltalk_household.writer.graph_checklists import GraphRound, Statement, statement_of
from reeltalk_household.writer.graph_premises import FalsePremise, false_premises, missing_premises
from reeltalk_household.writer.graph_references import is_ambiguous, others_of_two, record_candidates
from reeltalk_household.writer.graph_summaries import (
    Consequence,
    Sentence,
    event_clause,
    event_fact,
    find_consequences,
    important_events,
    is_important,
    sum_up,
)

FALLBACKS: Final = {"object": "a suitcase", "place": "in a suitcase", "list": "a suitcase", "seconds": "two minutes"}
"""Wrong values for a story with too few things to choose one from. No house contains these."""
UNASKED_IN_DIALOGUES: Final = frozenset(
    {
        "would_happen", "would_place", "daytime", "posture", "things_count", "towards", "clothes_colour", "what_else",
        "which_colour", "which_size", "duration", "who_beside",
    }
)  # fmt: skip
"""Kinds that are about no moment or that nobody would ask while talking about a film."""
REFUSED_SHARE: Final = 0.5
"""Probability that a round of an answer-refusal dialogue takes for granted what does not happen."""
LEAST_REFUSED: Final = 2
"""Fewest rounds of such a dialogue that are refused, and that are answered."""
MOST_LIKE: Final = 2
"""Most rounds of an answer-refusal dialogue that ask for the same."""
LOOKAHEAD: Final = 4
"""Questions among which the one about the earliest moment is asked, so that a dialogue goes on in time."""
TRIES: Final = 12
"""Wordings that are drawn before a question is given up."""
ATTEMPTS: Final = 20
"""Dialogues that are begun before a task is given up."""
PLAIN: Final = "{question}"
"""The opening of a round that begins with its question."""

OTHER_ONE: Final = "the other one"
EXPECTED_ACTS: Final = frozenset({"grab", "open", "close", "walk", "put", "putIn", "fill", "rinse"})
"""Acts that anybody expects of a thing that was spoken of."""
OBVIOUS_ACTS: Final = frozenset({"eat", "drink", "read", "fill", "pour", "write", "sit", "lie", "sleep", "squeeze"})
"""What anybody does with a thing that is made for it."""
REASON_KINDS: Final = ORIGIN_KINDS - {"where_from", "previous_action"}
"""Kinds whose answer is known once its act was told."""
REFERRING_SHARE: Final = 0.4
"""Least share of the rounds of an object-reference dialogue whose words fit several things or people."""
BOTH_SHARE: Final = 0.4
"""Probability that one round recalls two answers."""

Fits = Callable[[Question], bool]


def words_so_far(turns: Sequence[Turn]) -> list[str]:
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
        balance: The answers chosen so far; `questions` holds those to count.
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
        self._balance, self._objects = balance, objects
        self.universe = part.question_pool(pool_seed)
        self.pool = [
            question
            for question in self.universe
            if question.kind not in UNASKED_IN_DIALOGUES and question.answer_type != "yes_no"
            if is_askable(question, self.story, shown) and not is_usual(question, self.story)
            if not _is_dull(question, self.story) and not _leaves_one(question, self.story)
        ]
        wanted = balance.weights(self.pool, self.story, split) if balance else [1.0] * len(self.pool)
        self._wanted = {id(question): want for question, want in zip(self.pool, wanted, strict=True)}
        self.pool = [question for question in self.pool if self._wanted[id(question)] > 0]
        self._reset()

    def _reset(self) -> None:
        many: dict[str, float] = defaultdict(float)
        for question in self.pool:
            many[question.kind] += self._wanted[id(question)]
        # By kind, so that kinds with many questions do not come first most of the time; shared objects before all.
        drawn = {
            id(q): self.draw.expovariate(form_of(q.kind).weight * self._wanted[id(q)] / many[q.kind]) for q in self.pool
        }
        self.pool.sort(key=lambda q: (not self._objects & _objects_of(q), drawn[id(q)]))
        self.rounds: list[GraphRound] = []
        self._facts: frozenset[KnownFact] = frozenset()
        self._questions: list[Question] = []
        self._by_round: dict[int, Question] = {}
        self._used: set[str] = set()
        self._before: Turn | None = None
        """The last turn about the video, also after rounds about something else."""
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
    def questions(self) -> tuple[Question, ...]:
        """The questions of the dialogue."""
        return tuple(self._questions)

    def is_earlier(self, question: Question) -> bool:
        """True if a question is about the earlier of two scenes alone."""
        return bool(question.evidence) and all(event.part in self.earlier for event in question.evidence)

    def is_later(self, question: Question) -> bool:
        """True if a question is about the later of two scenes alone."""
        return bool(question.evidence) and not any(event.part in self.earlier for event in question.evidence)

    def matters(self, question: Question) -> bool:
        """True if a summary could tell what a question is about."""
        return bool(question.evidence) and all(map(is_important, question.evidence))

    def dialogue(self, task: Task) -> list[GraphRound] | str:
        """The rounds of a dialogue for a task, or the reason why there are none."""
        for attempt in range(ATTEMPTS):
            self._reset()
            if _MAKERS[task](self, 6 - attempt % 2):
                return self.rounds
        return _REASONS[task]

    def _new(self, fits: Fits | None = None) -> list[Question]:
        """Questions that nothing said so far answers, about no moment before those that were asked about."""
        asked = {(q.kind, question_identity(q)) for q in self._questions}
        kinds = Counter(q.kind for q in self._questions)
        neighbours = sum(kinds[kind] for kind in NEIGHBOUR_KINDS) >= MOST_NEIGHBOURS
        said = self._conversation_text()
        return [
            q
            for q in self.pool
            if (q.kind, question_identity(q)) not in asked and is_news(q, self._facts) and (fits is None or fits(q))
            if not (neighbours and q.kind in NEIGHBOUR_KINDS) and kinds[q.kind] < MOST_LIKE
            if q.kind in TIMELESS_KINDS | ORIGIN_KINDS or answer_end(q) >= self._reached
            if not self._follows(q, said)
            if self._balance is None or self._balance.suits(q, self._questions, self.split)
        ]

    def _conversation_text(self) -> str:
        return " ".join(text for made in self.rounds for text in (made.turn.question, *made.turn.references))

    def _follows(self, question: Question, said: str) -> bool:
        """True if what was said so far tells the answer, or makes it easy to guess, since it is named."""
        told = [e for e in question.evidence if ("event", f"{e.part}.{e.index}") in self._facts]
        if question.kind in REASON_KINDS and any(
            question.kind == "makes_feel" or event_key(e) == question.key for e in told
        ):
            return True
        if question.answer_type == "person" and (before := self._before) is not None:
            named = self.story.called[question.key] in " ".join((before.question, *before.references))
            return named or question.key in (before.extra[REFERS_TO], *before.extra[SPEAKS_OF])
        if question.answer_type == "action" and question.focus_event is not None:
            event = story_of(question, self.story).events[question.focus_event]
            named = event.main is not None and called_thing(event.main, self.story).casefold() in said.casefold()
            return named and event.action in EXPECTED_ACTS
        return is_named(question, said, self.story)

    def _rarest(self, options: Sequence[tuple[Question, bool]]) -> tuple[Question, bool]:
        """Of the rarest kinds, what happens earliest among a few."""
        kinds = Counter(q.kind for q in self._questions)
        least = min(kinds[q.kind] for q, _ in options)
        return min(
            [one for one in options if kinds[one[0].kind] == least][:LOOKAHEAD], key=lambda one: answer_end(one[0])
        )

    def video(
        self, task: Task | None = None, *, fits: Fits | None = None, opening: str = PLAIN, by_person: bool = False
    ) -> bool:
        """Add a round about the video that goes on from the one before; False if there is none.

        The first round of a dialogue names all that it is about. With `by_person` only *he* or *she* refers back.
        """
        # After another topic, *that* is too far away.
        options = [
            (q, not by_person and self._rests(q) and (opening == PLAIN or isinstance(q.anchor, str)))
            for q in self._new(fits)
        ]
        options = [one for one in options if one[1] or self._can_follow(one[0])]
        while options:
            chosen = self._rarest(options)
            if self._ask(chosen[0], task, rests=chosen[1], opening=opening):
                return True
            options.remove(chosen)
        return False

    def _can_follow(self, question: Question) -> bool:
        """True if a question can follow the round before without *it* or *that*, by *he* or *she*."""
        return (self._before is None or self._means(question)) and bool(fitting_forms(question, self.split, ref=False))

    def _rests(self, question: Question) -> bool:
        """True if *it* or *that* in a question can mean only what the last round about the video speaks of."""
        before = self._before
        name = name_in(question.anchor, story_of(question, self.story))
        if before is None or name not in before.extra[SPEAKS_OF] or not fitting_forms(question, self.split, ref=True):
            return False
        return has_one_referent(question, " ".join((before.question, *before.references)), self.story, self.universe)

    def _means(self, question: Question) -> bool:
        """True if *he* or *she* in a question means a person of the round before, and nobody else."""
        before = self._before
        return before is not None and question.subject in before.extra[SPEAKS_OF] and self._is_one(question, before)

    def _is_one(self, question: Question, before: Turn) -> bool:
        """True if *he* or *she* in a question cannot mean a second person of the turn before, named or not."""
        other = before.extra[REFERS_TO]
        is_rival = other in self.story.people and other != question.subject
        if is_rival and pronoun_of(self.story.attributes.get(other, ())) == question.slots.get("he"):
            return False
        return means_one_person(question, before, self.story)

    def _ask(
        self,
        question: Question,
        task: Task | None,
        *,
        rests: bool = False,
        candidates: Mapping[str, Question] | None = None,
        opening: str = PLAIN,
    ) -> bool:
        """Add a question as a round; False if its words or earlier rounds answer it, or the words do not fit."""
        asked = self._word(question, rests=rests, other_one=candidates is not None, opens=opening == PLAIN)
        if asked is None or (question.answer_type == "person" and self.story.called[question.key] in asked.text):
            return False
        turn = self._turn(asked, opening, asked.answer, task)
        if candidates is None:
            candidates = self._candidates(asked)
        if is_ambiguous(candidates):
            turn = turn.model_copy(update={"extra": turn.extra | record_candidates(candidates)})
        elif task is Task.OBJECT_REFERENCE:
            return False
        told = [(made.turn.question, made.turn.references[0]) for made in self.rounds]
        fault = fault_of_turn(turn, told, self.story)
        if fault is not None:
            self.passed_over.append((len(self.rounds), fault[0], f"not asked, {turn.question!r}: {fault[1]}"))
            return False
        so_far = words_so_far([*(made.turn for made in self.rounds), turn])[-1]
        if self._balance and not self._balance.suits_person(question, self.story, so_far, self.split):
            return False
        self._by_round[len(self.rounds)] = asked.question
        self.rounds.append(GraphRound(turn, says=(self._statement(question),)))
        self._used.add(asked.text)
        self._questions.append(question)
        self._facts |= known_facts(question)
        self._reached = max(self._reached, answer_end(question))
        self._before = turn
        return True

    @property
    def words_so_far(self) -> list[str]:
        """For each question of `questions` all that was said so far, with its own words."""
        said = words_so_far([made.turn for made in self.rounds])
        return [said[index] for index in sorted(self._by_round)]

    def _word(
        self, question: Question, *, rests: bool = False, other_one: bool = False, opens: bool = True
    ) -> WordedQuestion | None:
        """A question in words that were not said before, and that refer to the round before; None if there are none."""
        spoken = replace(question, slots={**question.slots, "o": OTHER_ONE}) if other_one else question
        one = self._before is not None and self._is_one(question, self._before)
        for _ in range(TRIES):
            asked = word_question(spoken, split=self.split, draw=self.draw, rests=rests, named=not one)
            if other_one:
                asked = replace(asked, rests=OTHER_ONE in asked.text, anchored=True)
            if not opens and asked.text.startswith("And "):
                continue
            words = set(text_words(asked.text))
            new = all(
                len(words & old) < LEAST_OVERLAP * len(words | old) for old in map(set, map(text_words, self._used))
            )
            if new and (asked.rests or self._before is None):
                return replace(asked, question=question)
        return None

    def _candidates(self, asked: WordedQuestion) -> Mapping[str, Question]:
        """All questions that would be asked in the same words, by what these refer to."""
        if not asked.rests:
            return {}
        form = next(form for form in all_forms(asked.question.kind) if form.name == asked.form)
        found = {_meant(asked.question, self.story, anchored=asked.anchored): asked.question}
        for other in (q for q in self.universe if q.kind == asked.question.kind):
            texts = (fill_form(form.text, other.slots, named=named) for named in (False, True))
            if asked.text in map(phrases.sentence, texts):
                found.setdefault(_meant(other, self.story, anchored=asked.anchored), other)
        return found

    def refer(self) -> bool:
        """Add a round whose words have several candidates, of which only the dialogue selects one; False if none do."""
        task = Task.OBJECT_REFERENCE
        options: list[tuple[str, Question, Mapping[str, Question] | None]] = []
        for question in self._new():
            if self._rests(question):
                options.append(("it" if isinstance(question.anchor, str) else "that", question, None))
            elif self._can_follow(question):
                options.append(("he or she", question, None))
            if self._before is not None and fitting_forms(question, self.split, ref=False):
                alike = others_of_two(question, self._before.extra[SPEAKS_OF], self.story, self.universe)
                options += [("other", question, alike)] if alike else []
        kinds = Counter(q.kind for q in self._questions)
        options.sort(key=lambda o: (self._sorts[o[0]], kinds[o[1].kind]))
        for sort, question, candidates in options:
            if self._ask(question, task, rests=sort in ("it", "that"), candidates=candidates):
                self._sorts[sort] += 1
                return True
        return False

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

    def _statement(self, question: Question) -> Statement:
        """The statement of a question; what somebody else does, or what else happens, is the wrong answer to it."""
        right = {question.slots.get(name) for name in ("next", "why", "purpose", "effect")}
        shown = {(event.part, event.index) for event in question.evidence}
        others = [e for e in self.story.events if (e.part, e.index) not in shown and e.action not in CONNECTING_ACTS]
        if "why" in question.slots or "effect" in question.slots:
            wrong = {present_clause(event, self.story) for event in others}
        elif question.answer_type == "action":
            form = "do" if "purpose" in question.slots else "does"
            wrong = {act_phrase(e, self.story, form) for e in others if e.agent in (None, question.person)}
        else:
            wrong = {FALLBACKS[question.answer_type]} if question.answer_type in FALLBACKS else set()
        found = sorted(wrong - right)
        return statement_of(question, other=self.draw.choice(found) if found else None)

    def refusal(self, premise: FalsePremise) -> bool:
        """Add a round that takes for granted what does not happen; False if its words or what they deny were said."""
        told = event_facts(premise.event, self._agent(premise.event))
        able = not told & self._facts and self._can_follow(premise.question)
        asked = self._word(premise.question) if able else None
        if asked is None:
            return False
        slots = {"says": premise.says, "instead": premise.instead}
        shown = () if premise.event.interval is None else (premise.event.interval,)
        labels = question_labels(premise.question, asked.template, rests=asked.rests)
        turn = Turn(
            question=asked.text,
            references=(self._answer("absent" if premise.is_absent else "premise", slots),),
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
                # Only what is shown instead can be spoken of next, or whom the question is about.
                SPEAKS_OF: [premise.question.subject] if premise.is_absent else self._speaks_of(premise.event),
            },
        )
        if self._is_misread(turn):
            return False
        about = f"whether {premise.wrong}"
        value = None if premise.is_absent else premise.instead
        said = Statement(about=about, says=premise.says, wrong=premise.wrong, value=value)
        self.rounds.append(GraphRound(turn, says=(said,)))
        self._used.add(asked.text)
        self._facts |= told
        self._before = turn
        return True

    def _speaks_of(self, event: StoryEvent) -> list[Json]:
        """What a later round can mean by *it*, *that*, *he* or *she* after an event was told."""
        names = (only_object(event), name_in(self._whole(event).order, self.story), event.agent)
        return [name for name in names if name is not None]

    def _whole(self, event: StoryEvent) -> StoryEvent:
        """An event of one person's story, as it stands in the story of everybody."""
        return next(e for e in self.story.events if (e.part, e.index) == (event.part, event.index))

    def premises(self) -> list[FalsePremise]:
        """Questions with a false premise whose kinds can also be asked with a true one, in a seeded order."""
        able = [q for q in self.pool if q.subject is not None and fitting_forms(q, self.split, ref=False)]
        found = list(false_premises(able, self.story))
        found += missing_premises(able, self.story, draw=self.draw)
        # Somebody else may do what is asked about in another scene.
        found = [one for one in found if one.event.part in self.shown]
        self.draw.shuffle(found)
        return found

    def sound(self) -> bool:
        """Add a round about music or a radio during an act, which no video of ours has; False if none can be."""
        found = [
            q
            for q in self._new()
            if q.kind in ("next_action", "which_room", "why_act", "meanwhile") and self._can_follow(q)
            if q.evidence[0].agent == q.subject and q.evidence[0].action not in CONNECTING_ACTS
            if ends_at(q.evidence[0]) >= self._reached
        ]
        if not found:
            return False
        question, _ = self._rarest([(q, False) for q in found])
        event = question.evidence[0]
        who, does = event_clause(event, self.story)
        slots = {"who": who, "he": question.slots["he"], "says": f"{who} {does}"}
        key = AnswerKey(type="refusal", values=(UNKNOWN,), about=(act_value(event),))
        labels = {"vdact.question_type": ("VID",), "cogme.target": ("Commonsense",), "cogme.content": ("Identity",)}
        made = self._speak(
            "sound",
            Task.ANSWER_REFUSAL,
            [Statement(about="the sound", says=f"{who} {does}", wrong="nobody is seen", value=None)],
            slots=slots | event_slots(event, self.story),
            evidence=() if event.interval is None else (event.interval,),
            labels=labels | {"cogme.thinking": ("Recall",)},
            extra={
                "about": "video",
                "answer_type": "refusal",
                FACTS: [event_fact(self._whole(event), self.story)],
                REFERS_TO: None,
                SPEAKS_OF: self._speaks_of(event),
            },
            key=key,
        )
        if made:
            self._reached, self._before = ends_at(event), self.rounds[-1].turn
        return made

    def affirm(self, kinds: Container[str]) -> bool:
        """Add a round that could have been one with a false premise; False if it asks for nothing new."""
        return self.video(fits=lambda q: q.kind in kinds, by_person=True)

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
        # Who makes somebody happy is said, but not how.
        asked = (question for question in self._questions if question.kind != "makes_feel")
        shown = {(event.part, event.index) for question in asked for event in question.evidence}
        said = self._conversation_text().casefold()
        events = [
            event
            for event in self.story.events
            if (event.part, event.index) in shown
            if all(called_thing(name, self.story).casefold() in said for name in (event.main, *event.targets) if name)
        ]
        sentences = sum_up(events, self.story)
        if not sentences:
            return False
        important = important_events(events)
        slots = {"says": " ".join(sentence.text for sentence in sentences)}
        return self._speak(
            "summary",
            Task.CONTENT_SUMMARY,
            [],
            slots=slots,
            evidence=union(event.interval for event in important if event.interval is not None),
            labels={"cogme.target": ("Event",), "cogme.content": ("Sequence",)} | _RECALLED,
            extra={
                "about": "video",
                "recalls": list(self._by_round),
                FACTS: [event_fact(event, self.story) for event in important],
            },
            summary=sentences,
        )

    def remark(self) -> bool:
        """Add a round in which the user does not follow the screen, and the assistant states the consequence."""
        found = [one for one in find_consequences(self.story, sorted(self.shown)) if self._is_new(one)]
        patterns = texts_of_split(round_forms()["remark"].questions, self.split)
        if not found:
            return False
        chosen = self.draw.choice(found)
        clauses = list(dict.fromkeys(" ".join(event_clause(event, self.story)) for event in chosen.effects))
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
                REFERS_TO: None,
                SPEAKS_OF: self._speaks_of(events[-1]),
            },
        )
        said = tuple(Statement(f"what comes of it that {told}", one, "nothing comes of it", None) for one in clauses)
        self.rounds.append(GraphRound(turn, says=said))
        self._used.add(turn.question)
        for event in events:
            self._facts |= event_facts(event, self._agent(event))
        self._reached = max(self._reached, *map(ends_at, events))
        self._before = turn
        return True

    def _is_new(self, one: Consequence) -> bool:
        """True if nothing said so far tells an act or what comes of it, and it is not over and done with."""
        events = (one.act, *one.effects)
        news = not any(event_facts(event, self._agent(event)) & self._facts for event in events)
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
        summary: tuple[Sentence, ...] = (),
        key: AnswerKey | None = None,
    ) -> bool:
        new = [t for t in texts_of_split(round_forms()[sort].questions, self.split) if t not in self._used]
        if not new:
            return False
        template = self.draw.choice(new)
        self._used.add(template)
        turn = Turn(
            question=phrases.sentence(fill_form(template, slots, named=self._before is None)),
            references=(self._answer(sort, slots),),
            asked_at_s=self.part.asked_at_s,
            evidence=evidence,
            labels={**labels, **({TASK_LABEL: (task.value,)} if task else {})},
            key=key,
            extra={**extra, "kind": sort},
        )
        if self._is_misread(turn):
            return False
        self.rounds.append(GraphRound(turn, says=tuple(said), summary=summary))
        return True

    def _is_misread(self, turn: Turn) -> bool:
        """True, and counted, if the rules that read answers would not take the reference of a refusal for right."""
        if turn.key is None or not self.story.names or read_answer(turn.question, turn.key, turn.references[0]).right:
            return False
        why = f"not asked, {turn.question!r}: the rules misread {turn.references[0]!r}"
        self.passed_over.append((len(self.rounds), MISREAD_GATE, why))
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
        return True

    def back(self) -> bool:
        """Add a round that returns to what was said about the video last."""
        again = self.draw.choice(texts_of_split(round_forms()["back"].questions, self.split))
        return self.video(Task.TOPIC_SHIFTING, opening=again)


_RECALLED: Final = {"vdact.question_type": ("REF",), "cogme.thinking": ("Grasping",)}


def facts_of(turn: Turn) -> list[dict[str, Json]]:
    """The facts of a round as SPARQL checks them: its own, and those that it adds."""
    own = [{name: turn.extra[name] for name in ("kind", "params", "answer_key")}] if "params" in turn.extra else []
    return [*own, *turn.extra.get(FACTS, ())]


def _meant(question: Question, story: Story, *, anchored: bool) -> str:
    """What *it* or *that* in a question means, or else *he* or *she*."""
    return str(name_in(question.anchor, story_of(question, story)) if anchored else question.subject)


def _is_dull(question: Question, story: Story) -> bool:
    """True if a question names or tells an act of which nobody takes note, or asks what a thing is for."""
    action, thing, *_ = f"{question.key}|".split("|")
    acts = {action, str(question.params.get("signature")).split("|")[0]}
    asked = str(question.params.get("object"))
    if "event" in question.params and question.answer_type in ("action", "room", "person"):
        event = story_of(question, story).events[int(question.params["event"])]
        acts.add(event.action)
        asked = str(event.main)
    return bool(acts & (CONNECTING_ACTS | {"calm"})) or (action in OBVIOUS_ACTS and class_of(asked) == class_of(thing))


def _leaves_one(question: Question, story: Story) -> bool:
    """True if a question asks for a person and names one of only two."""
    return question.answer_type == "person" and question.subject is not None and len(story.people) <= 2


def _objects_of(question: Question) -> frozenset[str]:
    names = {event.main for event in question.evidence} | {t for event in question.evidence for t in event.targets}
    return frozenset(name for name in names if name is not None)


def _object_reference(maker: DialogueMaker, count: int) -> bool:
    """After the first, most rounds have words that only the conversation resolves, and the others go on from it."""
    referring = 0
    while len(maker.rounds) < count:
        if maker.rounds and maker.refer():
            referring += 1
        elif not maker.video():
            return False
    return referring >= REFERRING_SHARE * count


def _memory_recall(maker: DialogueMaker, count: int) -> bool:
    """Two rounds about an earlier scene, some about a later one, and one or two that recall what was said at first."""
    both = maker.draw.random() < BOTH_SHARE
    if not all(maker.video(fits=maker.is_earlier) for _ in range(2)):
        return False
    if not all(maker.video(fits=maker.is_later) for _ in range(count - (3 if both else 4))):
        return False
    if both:
        return maker.repeat("recall_both", Task.MEMORY_RECALL, [0, 1])
    first = maker.draw.choice(["recall", "recall_first"])
    return maker.repeat(first, Task.MEMORY_RECALL, [0]) and maker.repeat("recall", Task.MEMORY_RECALL, [1])


def _summary(maker: DialogueMaker, count: int) -> bool:
    """The last round, and only that one, asks for a summary of the conversation."""
    return all(maker.video(fits=maker.matters) for _ in range(count - 1)) and maker.summary()


def _answer_refusal(maker: DialogueMaker, count: int) -> bool:
    """Each round takes for granted what does not happen, or asks the same about what does, as a coin falls."""
    left = maker.premises()
    able = {premise.question.kind for premise in left}
    sorts, kinds = Counter[str](), Counter[str]()
    refused, sound = 0, maker.draw.randrange(1, 3 * count)
    while len(maker.rounds) < count:
        if len(maker.rounds) == sound and maker.sound():
            refused += 1
            continue
        coin = maker.draw.random() < REFUSED_SHARE
        if not coin and maker.affirm(able):
            continue
        left = [p for p in left if kinds[p.question.kind] < MOST_LIKE and not (p.is_absent and sorts[p.sort])]
        left.sort(key=lambda premise: sorts[premise.sort])
        chosen = next(filter(maker.refusal, left), None)
        if chosen is not None:
            refused += 1
            sorts[chosen.sort] += 1
            kinds[chosen.question.kind] += 1
        elif not coin or not maker.affirm(able):
            return False
    return LEAST_REFUSED <= refused <= count - LEAST_REFUSED


def _topic_shifting(maker: DialogueMaker, count: int) -> bool:
    """Two shifts to other topics, each with a return to what was spoken of before it."""
    before = all(maker.video() for _ in range(count - 4))
    return before and maker.topic() and maker.back() and maker.topic() and maker.back()


def _proactive_interaction(maker: DialogueMaker, count: int) -> bool:
    """The user does not follow what is on screen, and the assistant tells what comes of it; then they go on from it."""
    remarks = {maker.draw.randrange(1, count - 2), count - 1}
    for place in range(count):
        if not (place in remarks and maker.remark()) and not maker.video():
            return False
    return any(made.turn.extra["about"] == "chat" for made in maker.rounds)


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
    Task.TOPIC_SHIFTING: "too few questions go on from the one before",
    Task.PROACTIVE_INTERACTION: "too little happens for five rounds, or nothing comes of what is on screen",
}
