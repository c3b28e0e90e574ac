"""Keys to answers: every kind of question has one, of classes and acts, and no wrong value is right."""

import re
from collections import Counter

import pytest
from page_world import World
from peopled_scenes import JUICE, SCENES
from peopled_scenes import story as people_story

from reeltalk.language.near_misses import missing_slots
from reeltalk.language.phrases import SPEECH, VERBS, past_of, phrase
from reeltalk.schema.dialogue import AnswerKey
from reeltalk.store.benchmark import Benchmark
from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story
from reeltalk_household.questions.asking import stories
from reeltalk_household.questions.linked import linked_questions
from reeltalk_household.questions.question import Question, answer_key
from reeltalk_household.questions.questions import questions
from reeltalk_household.questions.wording import forms, write_dialogue

Asked = tuple[Question, Story, AnswerKey]


@pytest.fixture(scope="module")
def households(world: World, full: bool) -> list[Story]:
    benchmark = Benchmark.open(world.made(f"told/{40 if full else 12}"))
    return [
        Story([read_activity(text, file=f"{name}.nq", name=name) for name, text in texts.items()])
        for _, _, texts in stories(benchmark)
    ]


@pytest.fixture(scope="module")
def asked(households: list[Story]) -> list[Asked]:
    found: list[Asked] = []
    for seed, story in enumerate((*households, people_story((*SCENES, JUICE)))):
        boundary = len(story.events) // 2
        for question in (*questions(story, seed=seed), *linked_questions(story, boundary)):
            found.append((question, story, answer_key(question, story)))
    return found


def keys_of(asked: list[Asked], kind: str) -> list[tuple[Question, AnswerKey]]:
    return [(question, key) for question, _, key in asked if question.kind == kind]


def test_every_kind_of_question_has_a_key(asked: list[Asked]) -> None:
    assert {question.kind for question, _, _ in asked} >= set(forms())
    kinds = Counter(key.type for _, _, key in asked)
    assert set(kinds) == {
        "room", "object", "place", "colour", "state", "count", "seconds", "yes_no", "order", "action",
        "refusal", "person", "feeling", "utterance", "reply", "daytime", "size",
        "comparison",
    }  # fmt: skip


def test_no_wrong_value_is_right_and_keys_name_no_instances(asked: list[Asked]) -> None:
    for question, _, key in asked:
        assert not {*key.values, *key.also} & {*key.among}, question
        if key.type not in ("count", "seconds"):
            named = " ".join((*key.values, *key.also, *key.among, *key.about))
            assert not re.search(r"\d", named), question


def test_acts_that_read_the_same_are_not_among_the_wrong_ones(asked: list[Asked]) -> None:
    def words(act: str) -> str:
        action, main, *targets = act.split("|")
        return phrase(action, main or None, targets, "does")

    for _, _, key in asked:
        if key.type == "action":
            right = words(key.values[0])
            assert right not in map(words, key.among)
            # Of words that are said with one act in common, each tells it.
            assert all(words(act) == right for act in key.also if act.split("|")[0] not in SPEECH)


def test_a_key_holds_what_the_question_was_written_from(asked: list[Asked]) -> None:
    for question, key in keys_of(asked, "where_put"):
        assert question.key.startswith(key.values[0])
        assert key.relation == question.slots["place"].split()[0]
    for question, key in keys_of(asked, "clothes_colour"):
        assert key.values == (question.slots["colour"],)
        assert set(question.distractors) <= {*key.among}
    for question, key in keys_of(asked, "duration"):
        assert key.tolerance == pytest.approx(max(1, 0.25 * int(question.key)))
    for question, key in keys_of(asked, "acts"):
        assert key.about == (question.params["signature"],)
    for question, key in keys_of(asked, "never_handled"):
        assert (key.values, key.about) == (("absent",), (question.params["class"],))


def test_a_key_names_the_people_of_its_act(asked: list[Asked]) -> None:
    told = [(story, key) for _, story, key in asked if key.type == "action" and len(story.people) > 1]
    assert any(key.agent and key.receiver and key.others for _, key in told)
    for story, key in told:
        names = [key.agent[:1], key.receiver[:1]]
        assert all(name[0] in story.called.values() for name in names if name)
        assert missing_slots(key) == ()


def test_turns_of_dialogues_carry_their_keys(households: list[Story]) -> None:
    for seed, story in enumerate(households[:4]):
        turns, asked = write_dialogue(story, split="train", seed=seed)
        assert [turn.key for turn in turns] == [answer_key(how.question, story) for how in asked]


def test_a_verb_doubles_its_last_letter_in_the_past_if_it_does_in_its_gerund() -> None:
    for base, _, gerund, _ in VERBS.values():
        doubles = gerund == f"{base}{base[-1]}ing"
        past = past_of(base)[1]
        if past in (f"{base}ed", f"{base}{base[-1]}ed"):
            assert (past == f"{base}{base[-1]}ed") == doubles, past
