"""Questions about several people: each is asked about alone and together, by name, by looks, or by a pronoun."""

import random
import re

import pytest
from peopled_scenes import SCENES, TEA, A, M, T, story, texts

from reeltalk.language.grammar import SPLITS
from reeltalk_build.graph.naming import look_of
from reeltalk_household.questions.checking import Checker
from reeltalk_household.questions.questions import questions
from reeltalk_household.questions.wording import fitting_forms, word_question, write_dialogue

SLIPS = re.compile(
    r"[{}_]|\bNone\b|  | [?.,!]|\b(the|a|an|to|is|are|in|on|he|she|it) \1\b|\bthey is\b|\bit are\b|[a-z][A-Z]|\d[a-z]"
    r"|\bthe person\b(?! that| who)|\bcharacter\b"
)


def test_sparql_finds_every_answer_again() -> None:
    checker, told = Checker(texts()), story()
    asked = [question for seed in range(4) for question in questions(told, seed=seed)]
    for question in asked:
        assert checker.answer(question.kind, question.params) == question.key, (question.kind, question.params)
    assert {question.person for question in asked} == {None, A, T, M}


def test_the_events_of_others_do_not_count() -> None:
    checker = Checker(texts())
    grabs = {person: checker.answer("things_count", {"person": person}) for person in (A, T, M)}
    assert grabs == {A: "1", T: "3", M: "2"}
    assert checker.answer("things_count", {}) == "6"


def test_people_are_named_or_described_and_things_told_apart() -> None:
    called = story().called
    assert (called[A], called["mug3"], called["mug4"]) == ("Anna", "the red mug", "the blue mug")
    assert "book8" not in called
    looks = {person: look_of(person, (A, T, M), story().attributes) for person in (A, T, M)}
    assert looks == {A: "the woman in the red shirt", T: "the man", M: "the woman in the yellow shirt"}
    told = [q.slots["do"] for q in questions(story([TEA])) if q.kind == "acts" and q.person == A]
    assert "pick up the red mug" in told


def test_a_pronoun_stands_only_after_a_turn_about_its_person() -> None:
    followed = 0
    for seed in range(40):
        turns, asked = write_dialogue(story(), split=SPLITS[seed % 3], seed=seed, turns=12)
        for place, (turn, how) in enumerate(zip(turns, asked, strict=True)):
            question = how.question
            if question.subject is None:
                continue
            names = {question.slots["who"], question.slots["look"]}
            if any(name.casefold() in turn.question.casefold() for name in names):
                continue
            assert place > 0
            assert how.rests, turn.question
            assert asked[place - 1].question.focus_person == question.subject
            assert "REF" in turn.labels["vdact.question_type"]
            if not how.anchored:
                assert turn.extra["refers_to"] == question.subject
                assert question.subject in turns[place - 1].extra["speaks_of"]
            followed += 1
    assert followed > 40


@pytest.mark.parametrize("split", SPLITS)
def test_the_english_has_no_slips_that_a_rule_can_find(split: str) -> None:
    draw = random.Random(3)
    for question in questions(story(SCENES)):
        for rests in (False, True):
            if not fitting_forms(question, split, ref=rests) or (rests and question.anchor is None):
                continue
            asked = word_question(question, split=split, draw=draw, rests=rests, last=question)
            for said in (asked.text, asked.answer, *question.distractors):
                assert not SLIPS.search(said), said
