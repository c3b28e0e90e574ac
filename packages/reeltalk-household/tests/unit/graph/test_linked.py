"""Questions about two scenes: exact, found again by SPARQL, in forms that no two splits share, and in good English."""

import random
import re
from collections import Counter
from itertools import combinations

import pytest
from peopled_scenes import Does, Scene

from reeltalk.language.grammar import SPLITS
from reeltalk.schema.rewriting import catalogue
from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story
from reeltalk_household.questions.checking import Checker, linked_checks
from reeltalk_household.questions.linked import linked_questions
from reeltalk_household.questions.question import Question, answer_key
from reeltalk_household.questions.wording import forms, forms_of, linked_forms, word_question
from reeltalk_household.world.film import film_graphs, plan, play_film
from reeltalk_household.world.settings import FilmSettings

SLIPS = re.compile(
    r"[{}_]|\bNone\b|  | [?.,!]|\b(the|a|an|to|is|are|in|on|he|it) \1\b|\b(pick up|switch on|switch off) (it|them)\b"
    r"|\bthey is\b|\bit are\b|[a-z][A-Z]|\d[a-z]"
)


@pytest.fixture(scope="module")
def pairs(request: pytest.FixtureRequest) -> list[tuple[Story, int, dict[str, str]]]:
    """Two activities of a scenario: both as one story, the later one's first event, their graphs."""
    found = []
    for planned in plan(FilmSettings(scenarios=60 if request.config.getoption("--full") else 6, seed=11)).plans:
        clips = [scene.clip for scene in planned.scenes]
        texts = film_graphs(planned, play_film(planned))
        graphs = [read_activity(text, file=f"{n}.nq", name=n) for n, text in zip(clips, texts, strict=True)]
        for n, m in combinations(range(len(graphs)), 2):
            texts_of = {clips[n]: texts[n], clips[m]: texts[m]}
            found.append((Story([graphs[n], graphs[m]]), len(graphs[n].events), texts_of))
    return found


def test_sparql_finds_every_answer_again(pairs: list[tuple[Story, int, dict[str, str]]], full: bool) -> None:
    asked: Counter[str] = Counter()
    for story, boundary, texts in pairs:
        checker = Checker(texts)
        for question in linked_questions(story, boundary):
            assert checker.answer(question.kind, question.params) == question.key, (question.kind, question.params)
            assert answer_key(question, story).values
            asked[question.kind] += 1
    assert asked.total() >= (3000 if full else 500)
    assert set(linked_checks()) == set(linked_forms())
    rare = {"linked_longer", "linked_rooms"} | (set() if full else {"linked_left", "linked_trajectory"})
    assert set(asked) >= set(linked_checks()) - rare


def test_a_state_is_asked_for_only_if_nobody_else_changes_it_afterwards() -> None:
    people = {"character1": ("Anna", "kitchen1", ()), "character2": ("Tom", "kitchen1", ())}
    things = {"fridge5": ("inside kitchen1", (), ("CLOSED",)), "milk7": ("inside fridge5", (), ())}

    def scenes(*later: Does) -> tuple[Story, dict[str, str], int]:
        anna = [Does("character1", "open", "fridge5", at=0), Does("character1", "close", "fridge5", at=3)]
        made = (Scene("Look1_scene1", people, things, anna), Scene("Return1_scene1", people, things, [*anna, *later]))
        texts = {scene.name: scene.quads() for scene in made}
        graphs = [read_activity(text, file=f"{name}.nq", name=name) for name, text in texts.items()]
        return Story(graphs), texts, len(anna)

    def states(story: Story, boundary: int) -> list[Question]:
        return [question for question in linked_questions(story, boundary) if question.kind == "linked_state"]

    story, texts, boundary = scenes()
    [asked] = states(story, boundary)
    assert asked.key == Checker(texts).answer(asked.kind, asked.params) == "CLOSED"
    # Anna closes it, and while she waits Tom has it open again.
    tom = (Does("character2", "open", "fridge5", at=6), Does("character1", "wait", "character2", at=8))
    story, texts, boundary = scenes(*tom, Does("character2", "close", "fridge5", at=10))
    assert {question.params["person"] for question in states(story, boundary)} <= {"character2"}


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
        for question in linked_questions(story, boundary):
            for split in SPLITS:
                assert forms_of(question.kind, split, ref=False)
                asked = word_question(question, split=split, draw=draw, first=draw.random() < 0.3)
                for said in (asked.text, asked.answer):
                    assert not SLIPS.search(said), said
                    assert said[0].isupper()
                assert asked.text[-1] in "?."
                assert asked.answer[-1] == "."
                seen += 1
    assert seen > 1000
