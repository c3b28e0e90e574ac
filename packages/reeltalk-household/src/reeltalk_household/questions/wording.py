"""Puts questions into words with surface forms, and makes dialogues and turns of them.

The forms (`grammar.py`, from the cores in `forms.toml`) are divided among the splits, so that no form of train occurs
in test. The questions come from `questions.py`.
"""

import random
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from reeltalk.language import phrases
from reeltalk.language.grammar import SPLITS, SurfaceForm, surface_forms
from reeltalk.language.vocabulary import ROOMS, plain_name
from reeltalk.schema.dialogue import REFERS_TO, SPEAKS_OF, Turn
from reeltalk.schema.intervals import union
from reeltalk.schema.record import Json
from reeltalk_build.graph.naming import SOMEBODY
from reeltalk_build.graph.story import Story
from reeltalk_household.questions.balancing import AnswerBalance
from reeltalk_household.questions.question import FORMS_LIKE, Question, answer_key, story_of
from reeltalk_household.questions.questions import questions

SUBJECT: Final = "subject"
"""Key of a turn's `extra`: whom its *he* or *she* means."""
FORMS: Final = Path(__file__).parent / "forms.toml"
LINKED_FORMS: Final = Path(__file__).parent / "linked_forms.toml"
LESSONS: Final = SPLITS[0]
"""The split whose forms a model may be taught with."""
FOLLOW_UP_SHARE: Final = 0.45
"""Probability that a turn refers to the one before if it can. Reference is a frequent type in VDAct."""
GOING_ON_SHARE: Final = 0.5
"""Probability that a turn that does not refer to a thing or act is about the person of the one before, if it can."""
GIVEN_AWAY: Final = {"never_handled": 17.4}
"""Kinds that dialogues leave out, since a learner of the text finds their answers, with what it gains over the constant
answer in points: of the questions about absent things (530 turns, 274 videos; 95 % interval 11.7 to 22.9). Dialogues of
answer refusal ask for what does not happen in another way."""
REVEALING_KINDS: Final = frozenset({"where_from", "could_take", "would_place"})
"""Kinds of which one answer mostly tells the others, if they are about the same thing."""
NEIGHBOUR_KINDS: Final = frozenset({"next_action", "previous_action"})
"""Kinds whose answer is an act. It is not asked for after a question that speaks of the act."""
MOST_OF_A_KIND: Final = 2
"""Most questions of one kind in a dialogue."""


class LabelOverride(BaseModel):
    """Other labels for some wordings of a kind; None for labels that do not differ."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    words: tuple[str, ...] = ()
    """It applies to wordings that contain one of these; to all if empty."""
    names_object: bool | None = None
    """True: only wordings that name an object; False: only those that name none; None: both."""
    types: tuple[str, ...] | None = None
    target: tuple[str, ...] | None = None
    content: tuple[str, ...] | None = None
    thinking: str | None = None


class Form(BaseModel):
    """The cores of one kind, and the labels of its questions by the definitions of the vocabularies."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    types: tuple[str, ...]
    target: tuple[str, ...]
    content: tuple[str, ...]
    thinking: str
    skill: str
    """SVBench's skill that it asks for."""
    weight: float = 1.0
    """How often the kind is drawn, next to 1 for most."""
    otherwise: tuple[LabelOverride, ...] = ()
    forms: tuple[str, ...]
    ref: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    """More cores of train like `forms`."""
    more_ref: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()


@cache
def forms() -> Mapping[str, Form]:
    """Surface forms by kind of question."""
    return _read(FORMS)


@cache
def linked_forms() -> Mapping[str, Form]:
    """Surface forms of the questions about two scenes, by kind."""
    return _read(LINKED_FORMS)


def form_of(kind: str) -> Form:
    """Forms and labels of a kind of question, about one scene or two."""
    return forms()[kind] if kind in forms() else linked_forms()[kind]


def _read(path: Path) -> dict[str, Form]:
    raw = tomllib.loads(path.read_text(encoding="utf-8"))
    return {kind: Form.model_validate(form) for kind, form in raw.items()}


def forms_of(kind: str, split: str, *, ref: bool) -> tuple[SurfaceForm, ...]:
    """The surface forms that a split may use."""
    if kind in FORMS_LIKE:
        return tuple(form for other in FORMS_LIKE[kind] for form in forms_of(other, split, ref=ref)) if not ref else ()
    form = form_of(kind)
    cores, more = (form.ref, form.more_ref) if ref else (form.forms, form.more)
    return surface_forms(kind, "ref" if ref else "forms", cores, more, split)


@cache
def all_forms(kind: str) -> tuple[SurfaceForm, ...]:
    """The surface forms of all splits, those that ask outright first."""
    return tuple(form for ref in (False, True) for split in SPLITS for form in forms_of(kind, split, ref=ref))


@dataclass(frozen=True)
class WordedQuestion:
    """A question put into words."""

    question: Question
    form: str
    template: str
    """The core of its surface form, which decides its labels."""
    text: str
    answer: str
    rests: bool
    """True if it refers to the turn before."""
    anchored: bool = False
    """True if its *it* or *that* does; otherwise its *he* or *she*."""

    @property
    def refers_to(self) -> str | None:
        """The person whom its *he* or *she* means, if only the turn before shows it."""
        return self.question.subject if self.rests and not self.anchored else None


IsAnswered = Callable[[Turn, Sequence[tuple[str, str]]], object]
"""Whether a turn needs no video after the questions and answers before it."""


def write_dialogue(
    story: Story,
    *,
    split: str,
    seed: int,
    turns: int = 10,
    asked_at_s: float | None = None,
    balance: AnswerBalance | None = None,
    is_answered: IsAnswered | None = None,
) -> tuple[list[Turn], list[WordedQuestion]]:
    """Write one dialogue about a scenario.

    Args:
        story: The scenario.
        split: The split whose surface forms are used.
        seed: Chooses questions and wordings.
        turns: Number of turns; fewer if the story does not give as many.
        asked_at_s: Time of the questions in seconds; the end of the video by default.
        balance: The answers chosen so far; those of this dialogue are counted.
        is_answered: Leaves out a turn that its own words or the turns before it answer; all turns stay by default.

    Returns:
        The turns, and the worded question behind each.
    """
    draw = random.Random(f"dialogue {seed}")
    pool = questions(story, seed=seed)
    wanted = dict(zip(map(id, pool), balance.weights(pool, story, split), strict=True)) if balance else {}
    pool = [q for q in pool if wanted.get(id(q), 1.0) > 0 and q.kind not in GIVEN_AWAY]
    chosen: list[WordedQuestion] = []
    said: list[tuple[str, str]] = []
    said_before: list[str] = []
    used: set[tuple[str, str]] = set()
    kinds: Counter[str] = Counter()
    revealed: set[tuple[frozenset[str], str | int]] = set()
    spoken_of: set[tuple[int, int]] = set()
    while len(chosen) < turns:
        last = chosen[-1].question if chosen else None
        open_ = [q for q in pool if (q.kind, question_identity(q)) not in used and kinds[q.kind] < MOST_OF_A_KIND]
        open_ = [q for q in open_ if _revealing_group(q) not in revealed]
        open_ = [q for q in open_ if q.kind not in NEIGHBOUR_KINDS or _act(q) not in spoken_of]
        if balance is not None:
            before = [asked.question for asked in chosen]
            open_ = [q for q in open_ if balance.suits(q, before, split)]
        follow = [q for q in open_ if last is not None and rests_on(q, last) and fitting_forms(q, split, ref=True)]
        fresh = [q for q in open_ if fitting_forms(q, split, ref=False)]
        rests = bool(follow) and draw.random() < FOLLOW_UP_SHARE
        going_on = [q for q in fresh if last is not None and goes_on(q, last)]
        options = follow if rests else going_on if going_on and draw.random() < GOING_ON_SHARE else fresh
        if not options:
            break
        many: dict[str, float] = defaultdict(float)
        for q in options:
            many[q.kind] += wanted.get(id(q), 1.0)
        weights = [
            form_of(q.kind).weight * wanted.get(id(q), 1.0) / (1 + kinds[q.kind]) / many[q.kind] for q in options
        ]
        question = draw.choices(options, weights)[0]
        used.add((question.kind, question_identity(question)))
        asked = word_question(question, split=split, draw=draw, first=not chosen, rests=rests, last=last)
        so_far = " ".join((*(text for pair in said for text in pair), asked.text))
        if balance is not None and not balance.suits_person(question, story, so_far, split):
            continue
        if is_answered is not None:
            turn = turn_of(asked, story, random.Random(f"told {seed}"))
            if is_answered(turn, said):
                continue
        kinds[question.kind] += 1
        if (together := _revealing_group(question)) is not None:
            revealed.add(together)
        spoken_of |= {(event.part, event.index) for event in question.evidence}
        chosen.append(asked)
        said.append((asked.text, asked.answer))
        said_before.append(so_far)
    if balance is not None:
        balance.count([asked.question for asked in chosen], story, split, said_before)
    at = story.interval.end_s if asked_at_s is None and story.interval is not None else asked_at_s
    return [turn_of(asked, story, draw, asked_at_s=at) for asked in chosen], chosen


def _act(question: Question) -> tuple[int, int] | None:
    """The act that is the answer, by its activity and its place there."""
    acts = {event.order: (event.part, event.index) for event in question.evidence}
    return acts.get(question.focus_event) if question.focus_event is not None else None


def _revealing_group(question: Question) -> tuple[frozenset[str], str | int] | None:
    """Kinds and the thing of a question of which one answer mostly tells the others."""
    return (REVEALING_KINDS, question.params["object"]) if question.kind in REVEALING_KINDS else None


def question_identity(question: Question) -> str:
    """An identifier that is unique among the questions of its kind."""
    return repr(sorted(question.params.items()))


def rests_on(question: Question, last: Question) -> bool:
    """True if *it* or *that* in a question can mean the subject of the turn before."""
    if question.anchor is None:
        return False
    if isinstance(question.anchor, int):
        return question.anchor == last.focus_event and question.person == last.person
    return question.anchor == last.focus_object


def goes_on(question: Question, last: Question) -> bool:
    """True if *he* or *she* in a question can mean the person of the turn before."""
    return question.subject is not None and question.subject == last.focus_person


def word_question(
    question: Question,
    *,
    split: str,
    draw: random.Random,
    first: bool = False,
    rests: bool = False,
    last: Question | None = None,
    named: bool | None = None,
) -> WordedQuestion:
    """Put a question and its answer into words.

    Args:
        split: The split whose surface forms are used.
        draw: Chooses among them.
        first: True in the first turn of a dialogue, so that the person is named.
        rests: Use a form whose *it* or *that* refers to the turn before.
        last: The question of the turn before. In a story of several people, *he* or *she* can mean its person.
        named: Whether the question names the person, without words before it that say nothing; drawn by default.
    """
    forms = fitting_forms(question, split, ref=rests) or forms_of(question.kind, split, ref=rests)
    if named is not None:
        forms = [form for form in forms if form.text == form.core] or forms
    form = draw.choices(forms, [form.weight for form in forms])[0]
    spec = form_of(question.kind)
    answers = spec.answers or (spec.yes if question.key == "yes" else spec.no)
    slots = question.slots
    if named is None:
        named = first or draw.random() < 0.3
        if question.subject is not None:
            # With several people, a pronoun needs a turn before that is about the person.
            alone = rests and last is not None and question.person is not None and question.person == last.person
            named = named or not (last is not None and not first and (goes_on(question, last) or alone))
    if question.subject is not None and named and "look" in slots and "his}" not in form.text.lower():
        slots = {**slots, "who": slots["look"]} if draw.random() < LOOK_SHARE else slots
    text = fill_form(form.text, slots, named=named)
    answer = fill_form(draw.choice(answers), question.slots, named=False)
    by_person = question.subject is not None and not named and names_person(form.text)
    return WordedQuestion(
        question,
        form.name,
        form.core,
        phrases.sentence(text),
        phrases.sentence(answer),
        rests=rests or by_person,
        anchored=rests,
    )


LOOK_SHARE: Final = 0.3
"""Probability that a person is described by looks and not named."""


def fitting_forms(question: Question, split: str, *, ref: bool) -> Sequence[SurfaceForm]:
    """The forms of a split that ask a question: those that say who is meant, if it is about one of several people."""
    if question.person is None:
        return forms_of(question.kind, split, ref=ref)
    return _forms_with_person(question.kind, split, ref=ref)


@cache
def _forms_with_person(kind: str, split: str, *, ref: bool) -> tuple[SurfaceForm, ...]:
    return tuple(form for form in forms_of(kind, split, ref=ref) if names_person(form.text))


def fill_form(template: str, slots: Mapping[str, str], *, named: bool) -> str:
    """Fill in the slots. With `named` the first mention of the person is a noun, the others are pronouns."""
    mentioned = not named
    person = slots.get("who", SOMEBODY)
    # What happens may speak of the same person: `{he} have opened the closet`. A name may hold braces of its own.
    template = re.sub(
        r"\{(\w+)\}", lambda m: said if (said := slots.get(m[1], "")).startswith("{he} ") else m[0], template
    )

    def put(match: re.Match[str]) -> str:
        nonlocal mentioned
        slot = match[1]
        if slot.lower() in _PERSON:
            plain = slot.lower().rstrip("2")
            text = f"{person}'s" if plain == "his" else person
            if mentioned:
                text = slots.get(plain, plain)
            mentioned = True
        else:
            text = slots[slot.lower()] if slot.lower() in slots else slots[slot]
        return text[:1].upper() + text[1:] if slot[0].isupper() else text

    return re.sub(r"\{(\w+)\}", put, template)


_PERSON: Final = ("he", "he2", "him", "his")


def names_person(template: str) -> bool:
    """True if a surface form has a slot for the person whom it is about."""
    return any(slot.lower() in _PERSON for slot in re.findall(r"\{(\w+)\}", template))


def turn_of(worded: WordedQuestion, story: Story, draw: random.Random, *, asked_at_s: float | None = None) -> Turn:
    """A question as a turn of a benchmark."""
    question, story = worded.question, story_of(worded.question, story)
    shown = [event.interval for event in question.evidence if event.interval is not None]
    if not question.evidence and question.answer_type != "refusal" and story.interval is not None:
        shown = [story.interval]
    options, correct = None, None
    if question.distractors:
        right = question.slots["option"]
        shuffled = [right, *question.distractors]
        draw.shuffle(shuffled)
        options, correct = tuple(shuffled), shuffled.index(right)
    extra: dict[str, Json] = {
        "kind": question.kind,
        "form": worded.form,
        "answer_type": question.answer_type,
        "answer_key": question.key,
        "params": dict(question.params),
        REFERS_TO: worded.refers_to if not worded.anchored else name_in(question.anchor, story),
        SPEAKS_OF: names_spoken_of(question, story),
        SUBJECT: question.subject,
    }
    return Turn(
        question=worded.text,
        references=(worded.answer,),
        asked_at_s=asked_at_s,
        evidence=union(shown),
        options=options,
        correct_option=correct,
        labels=question_labels(question, worded.template, rests=worded.rests),
        key=answer_key(question, story),
        extra=extra,
    )


_OF_CAUSES: Final = frozenset({"why_feels", "why_act", "why_says", "cause_of", "effect_of", "makes_feel"})


def names_spoken_of(question: Question, story: Story) -> list[str]:
    """Names of what a question and its answer speak of: a thing, the act that shows the answer, a person, a place."""
    event = question.focus_event
    if event is None and len(question.evidence) == 1:
        event = question.evidence[0].order
    if question.kind in _OF_CAUSES or question.answer_type == "colour":
        # *That* could be the cause as well as what it brings about; and who asks for a colour tells of no act.
        event = None
    person = question.key if question.answer_type == "person" else question.focus_person
    place = question.key if question.answer_type == "place" and "|" not in question.key else None
    names = (question.focus_object, name_in(event, story), person, place)
    return [name for name in names if name is not None]


def question_labels(question: Question, template: str, *, rests: bool) -> dict[str, tuple[str, ...]]:
    """VDAct's question types and CogME's tags of a question."""
    spec = form_of(_kind_of_form(question.kind, template))
    types, target, content, thinking = spec.types, spec.target, spec.content, spec.thinking
    named = names_object(template, question.slots)
    for other in spec.otherwise:
        said = not other.words or any(words in template for words in other.words)
        if said and other.names_object in (None, named):
            types, target, content = other.types or types, other.target or target, other.content or content
            thinking = other.thinking or thinking
    if rests and "REF" not in types:
        types = (*types, "REF")
    return {
        "svbench.skill": (spec.skill,),
        "vdact.question_type": types,
        "cogme.target": target,
        "cogme.content": content,
        "cogme.thinking": ("Grasping" if rests and thinking == "Recall" else thinking,),
    }


def _kind_of_form(kind: str, template: str) -> str:
    """The kind whose form a question has."""
    cores = {other: {form.core for form in all_forms(other)} for other in FORMS_LIKE.get(kind, ())}
    return next((other for other, own in cores.items() if template in own), kind)


def names_object(template: str, slots: Mapping[str, str]) -> bool:
    """True if a filled-in surface form names an object. Rooms do not count."""
    used = {slot.lower() for slot in re.findall(r"\{(\w+)\}", template)} & slots.keys()
    return bool(used & _THINGS) or any(_THING.search(slots[slot]) for slot in used if slot.startswith(_ACTS))


_THINGS: Final = frozenset({"o", "t", "absent"})
"""Slots that hold an object."""
_ACTS: Final = ("do", "other")
"""Prefixes of slots that hold an act, perhaps on an object."""
_THING: Final = re.compile(rf"\bthe (?!(?:{'|'.join(map(plain_name, sorted(ROOMS)))}|splits)$)")


def name_in(what: str | int | None, story: Story) -> str | None:
    """An object's name, or an event's as ACTIVITY#INDEX; the same in every story that contains it."""
    if not isinstance(what, int):
        return what
    event = story.events[what]
    return f"{story.graphs[event.part].name}#{event.index}"
