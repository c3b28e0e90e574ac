"""Questions about a scene and the film before it: found again by SPARQL, apart by split, and in good English."""

import random
import re
from collections import Counter
from itertools import combinations

import pytest

from reeltalk.language.grammar import SPLITS
from reeltalk.schema.rewriting import catalogue
from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story
from reeltalk_household.questions.checking import Checker, linked_checks
from reeltalk_household.questions.linked import linked_questions, scene_questions
from reeltalk_household.questions.question import Question, answer_key
from reeltalk_household.questions.wording import forms, forms_of, linked_forms, word_question
from reeltalk_household.world.film import film_graphs, plan_films, play_film
from reeltalk_household.world.settings import FilmSettings

SLIPS = re.compile(
    r"[{}_]|\bNone\b|  | [?.,!]|\b(the|a|an|to|is|are|in|on|he|it) \1\b|\b(pick up|switch on|switch off) (it|them)\b"
    r"|\bthey is\b|\bit are\b|[a-z][A-Z]|\d[a-z]"
)


@pytest.fixture(scope="module")
def pairs(request: pytest.FixtureRequest) -> list[tuple[Story, int, dict[str, str]]]:
    """Two activities of a scenario: both as one story, the later one's first event, their graphs."""
    found = []
    for planned in plan_films(FilmSettings(scenarios=60 if request.config.getoption("--full") else 6, seed=11)).plans:
        clips = [scene.clip for scene in planned.scenes]
        texts = film_graphs(planned, play_film(planned))
        graphs = [read_activity(text, file=f"{n}.nq", name=n) for n, text in zip(clips, texts, strict=True)]
        for n, m in combinations(range(len(graphs)), 2):
            texts_of = {clips[n]: texts[n], clips[m]: texts[m]}
            found.append((Story([graphs[n], graphs[m]]), len(graphs[n].events), texts_of))
    return found


def asked_of(story: Story, boundary: int) -> list[Question]:
    return [*linked_questions(story, boundary), *scene_questions(story, boundary)]


def test_sparql_finds_every_answer_again(pairs: list[tuple[Story, int, dict[str, str]]], full: bool) -> None:
    asked: Counter[str] = Counter()
    for story, boundary, texts in pairs:
        checker = Checker(texts)
        for question in asked_of(story, boundary):
            assert checker.answer(question.kind, question.params) == question.key, (question.kind, question.params)
            assert answer_key(question, story).values
            asked[question.kind] += 1
    assert asked.total() >= (1500 if full else 250)
    assert set(linked_checks()) == set(linked_forms())
    rare = {"linked_longer"} | (
        set() if full else {"linked_left", "linked_trajectory", "linked_who", "put_here", "from_here"}
    )
    assert set(asked) >= set(linked_checks()) - rare


def test_every_kind_is_asked_by_methods_of_one_skill() -> None:
    skills: dict[str, set[str]] = {}
    for method in catalogue().values():
        for kind in method.kinds:
            skills.setdefault(kind, set()).add(method.skill)
    assert set(skills) >= set(linked_forms())
    assert set(skills) - set(linked_forms()) <= set(forms()), "questions about the later scene alone"
    assert all(len(found) == 1 for found in skills.values()), skills


def test_the_english_has_no_slips_that_a_rule_can_find(pairs: list[tuple[Story, int, dict[str, str]]]) -> None:
    draw, seen = random.Random(5), 0
    for story, boundary, _ in pairs:
        for question in asked_of(story, boundary):
            for split in SPLITS:
                assert forms_of(question.kind, split, ref=False)
                asked = word_question(question, split=split, draw=draw, first=draw.random() < 0.3)
                for said in (asked.text, asked.answer):
                    assert not SLIPS.search(said), said
                    assert said[0].isupper()
                assert asked.text[-1] in "?."
                assert asked.answer[-1] in ".”"
                seen += 1
    assert seen > 500
