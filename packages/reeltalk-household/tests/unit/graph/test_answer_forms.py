"""What the writers' own forms say is read as they mean it: references are right, answers of other stories wrong."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_world import World

from reeltalk.language import phrases
from reeltalk.language.answer_reading import read_answer
from reeltalk.language.answer_words import answer_tokens, names_in, normalise_answer
from reeltalk.language.near_misses import missing_slots, variants
from reeltalk.language.vocabulary import ROOMS, plain_name
from reeltalk.schema.dialogue import AnswerKey
from reeltalk.store.benchmark import Benchmark
from reeltalk_build.graph.story import Story
from reeltalk_household.questions.asking import stories
from reeltalk_household.questions.linked import linked_questions, scene_questions
from reeltalk_household.questions.question import Question, answer_key
from reeltalk_household.questions.questions import questions
from reeltalk_household.questions.wording import all_forms, fill_form, form_of, forms, linked_forms
from reeltalk_household.world.kinds import COLOURS, KINDS
from reeltalk_household.writer.graph_chains import GraphVideo

EACH = 1
"""Questions of a kind and a household."""
_RARE = {
    "linked_use", "linked_left", "linked_often", "linked_longer", "linked_trajectory", "offers_what", "asks_about",
    "would_happen", "would_place", "reply", "whom", "who_has", "how_clean", "tool", "give_receiver", "give_giver",
    "says_to", "linked_room", "linked_who", "put_here", "from_here", "says_back", "takes_there",
}  # fmt: skip
"""Kinds that few households give."""


def asked(path: Path) -> Iterator[tuple[Question, AnswerKey]]:
    for video, clips, texts in stories(Benchmark.open(path)):
        graphs = GraphVideo(video, clips, texts, file="graphs")
        found = graphs.film_until([clip.id for clip in clips])
        assert found is not None
        whole = found[0].story
        pool: list[tuple[Question, Story]] = [(q, whole) for q in questions(whole, seed=3)]
        if len(clips) > 1:
            first, both = graphs.part([clips[0].id]), graphs.part([clips[0].id, clips[1].id])
            assert first is not None
            assert both is not None
            for maker in (linked_questions, scene_questions):
                pool += [(q, both.story) for q in maker(both.story, len(first.story.events))]
        seen: Counter[str] = Counter()
        for question, story in pool:
            seen[question.kind] += 1
            if seen[question.kind] <= EACH:
                yield question, answer_key(question, story)


def words(question: Question, forms: tuple[str, ...], *, named: bool = False) -> list[str]:
    return [phrases.sentence(fill_form(form, question.slots, named=named)) for form in forms]


def answers(question: Question) -> list[str]:
    return words(question, forms_of_answers(question))


def forms_of_answers(question: Question) -> tuple[str, ...]:
    spec = form_of(question.kind)
    return spec.answers or (spec.yes if question.key == "yes" else spec.no)


@pytest.fixture(scope="module")
def pool(world: World) -> list[tuple[Question, AnswerKey]]:
    return list(asked(world.made("told/12")))


def test_every_answer_form_is_read_as_right_under_every_question_form(
    pool: list[tuple[Question, AnswerKey]], full: bool
) -> None:
    # A quick run takes every thirtieth wording of a kind, for each household other ones.
    every = 1 if full else 30
    missed = [
        (text, answer)
        for number, (question, key) in enumerate(pool)
        for text in words(
            question, tuple(form.text for form in all_forms(question.kind))[number % every :: every], named=True
        )
        for answer in answers(question)
        if not read_answer(text, key, answer).right
    ]

    assert {question.kind for question, _ in pool} >= {*forms(), *linked_forms()} - _RARE
    assert missed == []


def test_another_value_in_the_same_form_is_read_as_wrong(pool: list[tuple[Question, AnswerKey]]) -> None:
    by_kind: dict[str, list[tuple[Question, AnswerKey]]] = defaultdict(list)
    for question, key in pool:
        by_kind[question.kind].append((question, key))
    # A pronoun hides what an act is done to, and some tasks name the same act in two ways.
    named = {"action", "order", "refusal"}
    checked, accepted = 0, []
    for items in by_kind.values():
        for question, key in items:
            text = words(question, (all_forms(question.kind)[0].text,), named=True)[0]
            for other, due in items:
                apart = key.type != "seconds" or abs(float(key.values[0]) - float(due.values[0])) > key.tolerance
                if key.type in named or set(due.values) & set(key.values) or not apart:
                    continue
                checked += 1
                accepted += [(text, answer) for answer in answers(other) if read_answer(text, key, answer).right]

    assert checked > 50
    assert accepted == []


@pytest.mark.parametrize("name", sorted({*KINDS, *ROOMS}))
def test_every_class_of_the_world_is_known_by_its_name(name: str) -> None:
    (mention,) = names_in(answer_tokens(normalise_answer(plain_name(name))), "noun", "room")

    assert name in mention.values


@pytest.mark.parametrize("colour", sorted(COLOURS))
def test_every_colour_of_the_world_is_known_by_its_name(colour: str) -> None:
    assert next(mention.values for mention in names_in([colour], "colour")) >= {colour}


def test_every_kind_has_right_answers_and_near_misses_that_are_told_apart(
    pool: list[tuple[Question, AnswerKey]],
) -> None:
    verdicts: dict[str, set[bool]] = defaultdict(set)
    misread = []
    tried = 0
    for question, key in pool:
        assert missing_slots(key) == (), question
        text = words(question, (all_forms(question.kind)[0].text,), named=True)[0]
        for variant in variants(key, words(question, forms_of_answers(question)[-1:], named=True)[0]):
            verdicts[question.kind].add(variant.right)
            tried += 1
            if read_answer(text, key, variant.text).right != variant.right:
                misread.append((question.kind, variant.slot, text, variant.text))

    assert {kind for kind, found in verdicts.items() if found != {True, False}} == set()
    assert len(misread) <= 0.005 * tried, misread
