"""Dialogues from a graph for MT-Video-Bench's six tasks: exact, with 5 to 8 rounds, about one or several scenes."""

import random
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from reeltalk.construct.graph_chains import KnownFact, VideoPart, is_guessable, is_news, known_facts
from reeltalk.construct.graph_checklists import GraphRound, Statement, Topic, join_statements, statement_of
from reeltalk.construct.leakage import leak_of
from reeltalk.construct.linting import TASK_LABEL
from reeltalk.graph import phrases
from reeltalk.graph.story import Story, StoryEvent
from reeltalk.questions.balancing import AnswerBalance
from reeltalk.questions.question import Question
from reeltalk.questions.questions import questions
from reeltalk.questions.wording import (
    WordedQuestion,
    fill_form,
    form_of,
    forms_of,
    identity,
    rests_on,
    split_of_form,
    turn_of,
    word_question,
)
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Task

FOLDER: Final = Path(__file__).parent
LEFT_OUT: Final = frozenset({"video_length", "people_count", "acts"})
REFUSALS: Final = frozenset({"never_handled", "opinion", "unknown_person"})
LOCAL: Final = frozenset(
    {
        "where_put", "where_from", "which_room", "next_action", "previous_action", "posture", "object_colour", "use",
        "puts_back", "closes_again", "thing_after", "tool", "how_clean", "why_walk", "why_room", "duration", "order",
    }
)  # fmt: skip
"""Kinds whose answer depends only on what they name, so they can be asked about a part of a video."""
ELSE: Final = {"object": "a suitcase", "place": "in a suitcase", "list": "a suitcase"}
"""Wrong values for a story with too few things to choose one from. No house contains these."""
LEAST_REFERRING: Final = 3
"""Fewest rounds that refer to the round before in a dialogue for object reference."""
FOLLOW_UP_SHARE: Final = 0.4
"""Probability that a round refers to the one before if it can, in the other tasks."""


class RoundForms(BaseModel):
    """Templates for one sort of round."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    questions: tuple[str, ...]
    answers: tuple[str, ...] = ()


@cache
def round_forms() -> Mapping[str, RoundForms]:
    """Templates of rounds that ask for no single fact, by sort."""
    raw = tomllib.loads((FOLDER / "rounds.toml").read_text(encoding="utf-8"))
    return {name: RoundForms.model_validate(forms) for name, forms in raw.items()}


@cache
def topics() -> tuple[Topic, ...]:
    """Questions of general knowledge for topic shifting."""
    raw = tomllib.loads((FOLDER / "knowledge.toml").read_text(encoding="utf-8"))
    return tuple(Topic.model_validate(topic) for topic in raw["topic"])


class DialogueMaker:
    """Composes dialogues about one part of a video.

    Args:
        part: The clips that the questions are about.
        split: The split whose surface forms are used.
        seed: Chooses questions and wordings.
        shown: Indices of the activities that the dialogue may ask about, if the story contains more than those.
        objects: Objects that a cross-scene dialogue prefers to ask about.
        balance: The answers chosen so far; `asked` holds those to count.
    """

    def __init__(
        self,
        part: VideoPart,
        *,
        split: str,
        seed: str,
        shown: frozenset[int] | None = None,
        objects: frozenset[str] = frozenset(),
        balance: AnswerBalance | None = None,
    ) -> None:
        self.part, self.split, self.shown = part, split, shown
        last = part.clips[max(shown)].interval if shown else None
        self.asked_at_s = last.end_s if last else part.asked_at_s
        self.draw = random.Random(f"dialogue {seed}")
        pool = questions(self.story, seed=self.draw.getrandbits(32))
        self.pool = [q for q in pool if q.kind not in LEFT_OUT | REFUSALS and not is_guessable(q) and self._is_shown(q)]
        self.refusals = [q for q in pool if q.kind in REFUSALS and self._is_shown(q)]
        wanted = balance.weights(self.pool, self.story, split) if balance else [1.0] * len(self.pool)
        drawn = [(self.draw.random() ** (1 / want), q) for want, q in zip(wanted, self.pool, strict=True) if want > 0]
        self.pool = [question for _, question in sorted(drawn, key=lambda one: -one[0])]
        # Questions about the shared objects come first; the sort is stable.
        self.pool.sort(key=lambda q: not objects & _objects_of(q))
        self._reset()

    def _reset(self) -> None:
        self.rounds: list[GraphRound] = []
        self._told: frozenset[KnownFact] = frozenset()
        self._asked: list[Question] = []
        self._said: set[str] = set()
        self._last: Question | None = None
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
        if question.kind in REFUSALS:
            return question.kind != "opinion"
        inside = [event.part in self.shown for event in question.evidence]
        return question.kind in LOCAL and bool(inside) and all(inside)

    def dialogue(self, task: Task) -> list[GraphRound] | str:
        """The rounds of a dialogue for a task, or the reason why there are none."""
        wanted = self.draw.randint(5, 8)
        for count in dict.fromkeys((wanted, 6, 5)):
            self._reset()
            if _MAKERS[task](self, count):
                return self.rounds
        return "too little happens for five rounds that each ask for something new"

    def _choose(
        self,
        *,
        follow: bool | None,
        leads: bool = False,
        shown: bool = False,
        without: Sequence[Question] = (),
    ) -> tuple[Question, bool] | None:
        """Choose a question of a rare kind that nothing said so far answers; True if it refers to the last question.

        Args:
            follow: True to refer to the last question, False not to, None for either.
            leads: Prefer a question that a later one can refer to.
            shown: Only questions with events as evidence.
            without: Questions not to choose.
        """
        asked = {(q.kind, identity(q)) for q in (*self._asked, *without)}
        new = [q for q in self.pool if (q.kind, identity(q)) not in asked and is_news(q, self._told)]
        last = self._last
        follows = [q for q in new if last is not None and rests_on(q, last) and forms_of(q.kind, self.split, ref=True)]
        rests = bool(follows) and (follow if follow is not None else self.draw.random() < FOLLOW_UP_SHARE)
        options = follows if rests else [q for q in new if forms_of(q.kind, self.split, ref=False)]
        if shown:
            options = [q for q in options if q.evidence and q.answer_type in ("action", "object", "place")]
        if leads:
            options = [q for q in options if any(rests_on(other, q) for other in new)] or options
        if not options or (follow and not rests):
            return None
        kinds = Counter(q.kind for q in self._asked)
        least = min(kinds[q.kind] for q in options)
        return next(q for q in options if kinds[q.kind] == least), rests

    def video(
        self,
        task: Task | None = None,
        *,
        follow: bool | None = None,
        leads: bool = False,
        opening: str = "{question}",
    ) -> bool:
        """Add a round about the video; False if there is nothing new to ask.

        Args:
            task: The ability that the round tests.
            follow: True for a question that refers to the round before, False for one that does not, None for either.
            leads: True to prefer a question that a later one can refer to.
            opening: Template of the user's turn; contains `{question}`.
        """
        leaking: list[Question] = []
        while (chosen := self._choose(follow=follow, leads=leads, without=leaking)) is not None:
            question, rests = chosen
            for _ in range(8):
                asked = word_question(question, split=self.split, draw=self.draw, first=not self.rounds, rests=rests)
                if asked.text not in self._said:
                    break
            said = self._statement(question)
            head = {"yes": "Yes: ", "no": "No: "}.get(question.key, "")
            turn = self._turn(asked, opening, phrases.sentence(f"{head}{said.says}."), task)
            leak = leak_of(turn, [(made.turn.question, made.turn.references[0]) for made in self.rounds])
            if leak is None:
                self._add(asked, turn, said)
                self._told |= known_facts(question)
                self._last = question
                return True
            self.passed_over.append((len(self.rounds), leak[0], f"not asked, {turn.question!r}: {leak[1]}"))
            leaking.append(question)
        return False

    def refusal(self) -> bool:
        """Add a round that the video cannot answer; False if there is none left."""
        options = [q for q in self.refusals if q not in self._asked]
        if not options:
            return False
        kinds = Counter(q.kind for q in self._asked)
        question = min(options, key=lambda q: (kinds[q.kind], options.index(q)))
        asked = word_question(question, split=self.split, draw=self.draw, first=not self.rounds)
        said = statement_of(question)
        reference = phrases.sentence(f"{said.says}, so this cannot be answered.")
        self._add(asked, self._turn(asked, "{question}", reference, Task.ANSWER_REFUSAL), said)
        # No later question can refer to a refusal.
        self._last = None
        return True

    def _turn(self, asked: WordedQuestion, opening: str, reference: str, task: Task | None) -> Turn:
        turn = turn_of(asked, self.story, self.draw, asked_at_s=self.asked_at_s)
        text = asked.text if opening == "{question}" else phrases.sentence(opening.replace("{question}", asked.text))
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

    def _add(self, asked: WordedQuestion, turn: Turn, said: Statement) -> None:
        self.rounds.append(GraphRound(turn, says=(said,)))
        self._said.add(asked.text)
        self._asked.append(asked.question)

    def _statement(self, question: Question) -> Statement:
        shown = {event.order for event in question.evidence}
        right = question.slots.get("next")
        does = {_does(event) for event in self.story.events if event.order not in shown and event.action != "walk"}
        others = sorted(does - {right})
        if question.answer_type in ELSE:
            return statement_of(question, other=ELSE[question.answer_type])
        return statement_of(question, other=self.draw.choice(others) if others else "does nothing at all")

    def repeat(self, sort: str, task: Task, places: Sequence[int]) -> bool:
        """Add a round about the content of earlier ones.

        Args:
            sort: `recall`, `recall_first` or `summary`.
            task: The ability that the round tests.
            places: Indices, from 0, of the rounds that it is about.
        """
        said = [one for n in places for one in self.rounds[n].says]
        evidence = dict.fromkeys(i for n in places for i in self.rounds[n].turn.evidence)
        # Recall repeats a fact; a summary tells a sequence of events.
        labels = (
            {"cogme.target": ("Event",), "cogme.content": ("Sequence",)}
            if sort == "summary"
            else {name: self.rounds[places[0]].turn.labels[name] for name in ("cogme.target", "cogme.content")}
        )
        labels |= {"vdact.question_type": ("REF",), "cogme.thinking": ("Grasping",)}
        return self._speak(sort, task, said, number=places[0] + 1, evidence=tuple(evidence), labels=labels)

    def neutral(self) -> bool:
        """Add a round in which the user shows no interest and the assistant points out something in the video."""
        chosen = self._choose(follow=False, shown=True)
        if chosen is None:
            return False
        question, _ = chosen
        self._told |= known_facts(question)
        self._asked.append(question)
        self._last = None
        shown = tuple(event.interval for event in question.evidence if event.interval is not None)
        said = [self._statement(question)]
        # The user asks nothing, so there is no question to label.
        return self._speak("neutral", Task.PROACTIVE_INTERACTION, said, number=1, evidence=shown, labels={})

    def _speak(
        self,
        sort: str,
        task: Task,
        said: Sequence[Statement],
        *,
        number: int,
        evidence: tuple[Interval, ...],
        labels: Mapping[str, tuple[str, ...]],
    ) -> bool:
        forms = round_forms()[sort]
        says = join_statements([one.says for one in said]) if sort == "summary" else said[0].says
        slots = {"number": str(number), "about": said[0].about, "says": says}
        fitting = [text for n, text in enumerate(forms.questions) if split_of_form(n) == self.split]
        new = [text for text in fitting if text not in self._said]
        if not new:
            return False
        template = self.draw.choice(new)
        self._said.add(template)
        turn = Turn(
            question=phrases.sentence(fill_form(template, slots, named=True)),
            references=(phrases.sentence(fill_form(self.draw.choice(forms.answers), slots, named=True)),),
            asked_at_s=self.asked_at_s,
            evidence=evidence,
            labels={**labels, TASK_LABEL: (task.value,)},
            extra={"about": "chat" if sort == "neutral" else "video", "kind": sort},
        )
        self.rounds.append(GraphRound(turn, says=tuple(said)))
        return True

    def topic(self) -> bool:
        """Add a round about a topic outside the video."""
        used = {made.topic for made in self.rounds}
        fitting = [topic for n, topic in enumerate(topics()) if split_of_form(n) == self.split and topic not in used]
        if not fitting:
            return False
        chosen = self.draw.choice(fitting)
        turn = Turn(
            question=chosen.question,
            references=(chosen.answer,),
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
        """Add a round that returns to the video."""
        forms = [text for n, text in enumerate(round_forms()["back"].questions) if split_of_form(n) == self.split]
        return self.video(Task.TOPIC_SHIFTING, follow=False, opening=self.draw.choice(forms))


def _does(event: StoryEvent) -> str:
    return phrases.phrase(event.action, event.main, event.targets, "does")


def _objects_of(question: Question) -> frozenset[str]:
    names = {event.main for event in question.evidence} | {t for event in question.evidence for t in event.targets}
    return frozenset(name for name in names if name is not None)


def _object_reference(maker: DialogueMaker, count: int) -> bool:
    """Most rounds after the first contain a pronoun that only the conversation resolves."""
    if not maker.video(leads=True):
        return False
    referring = 0
    while len(maker.rounds) < count:
        if maker.video(Task.OBJECT_REFERENCE, follow=True, leads=True):
            referring += 1
        elif not maker.video(follow=False, leads=True):
            return False
    return referring >= LEAST_REFERRING


def _memory_recall(maker: DialogueMaker, count: int) -> bool:
    """The last two rounds ask for answers of earlier ones."""
    while len(maker.rounds) < count - 2:
        if not maker.video():
            return False
    return maker.repeat("recall", Task.MEMORY_RECALL, [maker.draw.randrange(1, count - 2)]) and maker.repeat(
        "recall_first", Task.MEMORY_RECALL, [0]
    )


def _summary(maker: DialogueMaker, count: int) -> bool:
    """The last round, and only that one, asks for a summary of the conversation."""
    while len(maker.rounds) < count - 1:
        if not maker.video():
            return False
    return maker.repeat("summary", Task.CONTENT_SUMMARY, range(len(maker.rounds)))


def _answer_refusal(maker: DialogueMaker, count: int) -> bool:
    """Two rounds after the first ask for something that the video does not show."""
    second = maker.draw.randint(3, count - 1)
    first = maker.draw.randint(1, second - 2)
    return all(maker.refusal() if place in (first, second) else maker.video() for place in range(count))


def _topic_shifting(maker: DialogueMaker, count: int) -> bool:
    """Two shifts to other topics, each with a return, after rounds about the video alone."""
    before = all(maker.video() for _ in range(max(2, count - 4)))
    return before and maker.topic() and maker.back() and maker.topic() and maker.back()


def _proactive_interaction(maker: DialogueMaker, count: int) -> bool:
    """In two rounds the user shows no interest, and the assistant asks about something in the video."""
    return all(maker.neutral() if place in (2, count - 1) else maker.video() for place in range(count))


_MAKERS: Final = {
    Task.OBJECT_REFERENCE: _object_reference,
    Task.MEMORY_RECALL: _memory_recall,
    Task.CONTENT_SUMMARY: _summary,
    Task.ANSWER_REFUSAL: _answer_refusal,
    Task.TOPIC_SHIFTING: _topic_shifting,
    Task.PROACTIVE_INTERACTION: _proactive_interaction,
}
