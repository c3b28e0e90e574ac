"""The structural rules of the six tasks."""

import pytest

from reeltalk.formats import mt_video_bench_layout
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.labels import Task
from reeltalk_build.construct.linting import ABILITY_LABEL, ABOUT_KEY, TASK_LABEL, check_structure
from reeltalk_build.construct.replies import Ability

PLAIN = Ability.SCENE_UNDERSTANDING


def turn(ability: Ability = PLAIN, about: str = "video", answer: str = "A dog, as in round 1.") -> Turn:
    return Turn(
        question="What is there?",
        references=(answer,),
        labels=mt_video_bench_layout.labels_of_ability(ability.value),
        extra={ABOUT_KEY: about},
    )


def problems(task: Task, *turns: Turn) -> list[str]:
    return check_structure(Dialogue(id="d", video_id="v", turns=turns), task)


def test_labels_are_those_of_the_format() -> None:
    assert (TASK_LABEL, ABILITY_LABEL) == (mt_video_bench_layout.TASK_LABEL, mt_video_bench_layout.ABILITY_LABEL)
    assert {ability.task: ability.value for ability in Ability if ability.task} == mt_video_bench_layout.ABILITIES


@pytest.mark.parametrize("rounds", [4, 9])
def test_a_dialogue_has_five_to_eight_rounds(rounds: int) -> None:
    turns = [turn(Ability.OBJECT_REFERENCE)] * rounds
    assert problems(Task.OBJECT_REFERENCE, *turns) == [f"it has {rounds} rounds, not 5 to 8"]


def test_every_round_has_an_answer() -> None:
    turns = [turn(Ability.OBJECT_REFERENCE)] * 4
    assert problems(Task.OBJECT_REFERENCE, Turn(question="?"), *turns) == ["round 1 has no answer"]


@pytest.mark.parametrize(
    ("task", "ability"),
    [
        (Task.OBJECT_REFERENCE, Ability.OBJECT_REFERENCE),
        (Task.MEMORY_RECALL, Ability.MEMORY_RECALL),
        (Task.ANSWER_REFUSAL, Ability.ANSWER_REFUSAL),
    ],
)
def test_the_ability_is_tested_after_the_first_round(task: Task, ability: Ability) -> None:
    assert problems(task, *[turn()] * 4, turn(ability)) == []
    assert problems(task, turn(ability), *[turn()] * 4) == [f"no round after the first carries the ability {task}"]


@pytest.mark.parametrize(
    "answer", ["In round 2 it was a mug.", "As in your third question, a mug.", "第二轮说的是杯子。"]
)
def test_a_recall_names_its_round(answer: str) -> None:
    assert problems(Task.MEMORY_RECALL, *[turn()] * 4, turn(Ability.MEMORY_RECALL, answer=answer)) == []


def test_a_recall_that_names_no_round_is_a_problem() -> None:
    found = problems(Task.MEMORY_RECALL, *[turn()] * 4, turn(Ability.MEMORY_RECALL, answer="It was a mug."))
    assert found == ["the answer of round 5 does not name the round that it goes back to"]


def test_a_summary_comes_once_and_last() -> None:
    last = turn(Ability.CONTENT_SUMMARY)
    assert problems(Task.CONTENT_SUMMARY, *[turn()] * 4, last) == []
    for turns in ([turn()] * 5, [turn(), last, turn(), turn(), turn()], [last, turn(), turn(), turn(), last]):
        assert len(problems(Task.CONTENT_SUMMARY, *turns)) == 1


def about(*subjects: str, answer: str = "Yes.") -> list[Turn]:
    return [turn(about=subject, answer=answer) for subject in subjects]


@pytest.mark.parametrize(
    "subjects",
    [
        ("video", "topic", "video", "topic", "video"),
        ("video", "topic", "topic", "video", "chat", "topic", "video"),
        ("video", "topic", "chat", "video", "topic", "video"),
    ],
)
def test_the_subject_shifts_twice_and_comes_back(subjects: tuple[str, ...]) -> None:
    assert problems(Task.TOPIC_SHIFTING, *about(*subjects)) == []


@pytest.mark.parametrize(
    ("subjects", "problem"),
    [
        (("video", "topic", "video", "video", "topic"), "comes back 1 times"),
        (("video", "topic", "topic", "topic", "video"), "comes back 1 times"),
        (("topic", "video", "topic", "video", "video"), "comes back 1 times"),
        (("video", "video", "video", "chat", "video"), "comes back 0 times"),
        (("topic", "topic", "topic", "topic", "video"), "1 rounds are about nothing but the video"),
    ],
)
def test_too_few_shifts_or_video_rounds_are_a_problem(subjects: tuple[str, ...], problem: str) -> None:
    assert any(problem in found for found in problems(Task.TOPIC_SHIFTING, *about(*subjects)))


def test_subjects_must_be_told() -> None:
    found = problems(Task.TOPIC_SHIFTING, *about("video", "topic", "video", "topic", "video", "weather"))
    assert found == ["round 6 does not say whether it is about the video, another topic or chat"]


@pytest.mark.parametrize("answer", ["Fair. What do you think the dog hides?", "好吧。你觉得狗藏了什么？”"])
def test_a_bored_user_is_won_back_by_a_question(answer: str) -> None:
    turns = [*about("video", "video", "video", "video"), *about("chat", answer=answer)]
    assert problems(Task.PROACTIVE_INTERACTION, *turns) == []


def test_a_bored_user_is_needed_and_must_be_asked() -> None:
    assert problems(Task.PROACTIVE_INTERACTION, *about(*["video"] * 5)) == [
        "in no round does the user make a neutral or uninterested remark"
    ]
    assert problems(Task.PROACTIVE_INTERACTION, *about(*["video"] * 4, "chat", answer="Why? Never mind.")) == [
        "no neutral or uninterested remark is answered with a question at the end"
    ]
