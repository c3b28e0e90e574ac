"""Answers that the words of a question give away are not asked too often."""

from collections import Counter

import pytest
from page_world import World

from reeltalk.language.vocabulary import class_of
from reeltalk.store.benchmark import Benchmark
from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story
from reeltalk_household.questions.asking import stories as stories_of
from reeltalk_household.questions.balancing import AnswerBalance, AnswerCounts
from reeltalk_household.questions.question import Question, answer_key
from reeltalk_household.questions.questions import questions
from reeltalk_household.questions.wording import write_dialogue

PLENTY = 8
"""Dialogues of each video, so that most kinds of question are asked often."""
Asked = tuple[Story, list[Question]]
"""What one dialogue about a story asks."""


@pytest.fixture(scope="module")
def stories(world: World) -> list[Story]:
    benchmark = Benchmark.open(world.made("told/12"))
    return [
        Story([read_activity(text, file=f"{name}.nq", name=name) for name, text in texts.items()])
        for _, _, texts in stories_of(benchmark)
    ]


@pytest.fixture(scope="module")
def possible(stories: list[Story]) -> AnswerCounts:
    counts = AnswerCounts()
    for story in stories:
        counts.add(questions(story, seed=17), story)
    return counts


def chosen(stories: list[Story], possible: AnswerCounts | None = None, *, rounds: int) -> list[Asked]:
    """What dialogues ask, balanced where it is said what could be asked."""
    balance = AnswerBalance(possible) if possible is not None else None
    return [
        (story, [asked.question for asked in write_dialogue(story, split="train", seed=seed, balance=balance)[1]])
        for number in range(rounds)
        for seed, story in enumerate(stories, start=100 * number)
    ]


@pytest.fixture(scope="module")
def plain(stories: list[Story], rounds: int) -> list[Asked]:
    return chosen(stories, rounds=rounds)


@pytest.fixture(scope="module")
def balanced(stories: list[Story], possible: AnswerCounts, rounds: int) -> list[Asked]:
    return chosen(stories, possible, rounds=rounds)


@pytest.fixture(scope="module")
def rounds(full: bool) -> int:
    return 2 * PLENTY if full else PLENTY


def most_often(dialogues: list[Asked]) -> dict[str, float]:
    """Share of the most frequent answer among the yes-or-no questions of each kind."""
    answers: dict[str, Counter[str]] = {}
    for story, asked in dialogues:
        for question in asked:
            key = answer_key(question, story)
            if key.type == "yes_no":
                answers.setdefault(question.kind, Counter())[key.values[0]] += 1
    return {kind: max(counts.values()) / counts.total() for kind, counts in answers.items() if counts.total() >= 20}


def test_neither_yes_nor_no_prevails(stories: list[Story], plain: list[Asked], balanced: list[Asked]) -> None:
    # What prevails without a balance differs by household; over more dialogues more kinds have answers enough to tell.
    assert max(most_often(plain[: PLENTY * len(stories)]).values()) > 0.65
    shares = most_often(balanced[: PLENTY * len(stories)])
    assert max(shares.values()) <= 0.65, shares


def test_what_a_thing_gives_away_is_left_out(stories: list[Story]) -> None:
    """After one room for each act, the same room of the same act is not asked for again."""
    story = next(s for s in stories if any(q.kind == "which_room" for q in questions(s)))
    asked = next(q for q in questions(story) if q.kind == "which_room")
    balance = AnswerBalance()
    assert balance.weights([asked], story, "train")[0] > 0
    for _ in range(6):
        balance.count([asked], story, "train")
    assert balance.weights([asked], story, "train") == [0.0]
    assert balance.weights([asked], story, "test")[0] > 0, "splits are counted apart"


def test_what_all_videos_tell_is_known_from_the_start(stories: list[Story]) -> None:
    story, asked = next((s, q) for s in stories for q in questions(s) if answer_key(q, s).type == "place")
    counts = AnswerCounts()
    for _ in range(9):
        counts.add([asked], story)
    assert AnswerBalance(counts).weights([asked], story, "train") == [0.0]


def test_refusals_have_no_answer_to_balance(stories: list[Story], possible: AnswerCounts) -> None:
    story = stories[0]
    refused = [q for q in questions(story) if answer_key(q, story).type == "refusal"]
    balance = AnswerBalance(possible)
    balance.count(refused * 20, story, "train")
    assert set(balance.weights(refused, story, "train")) == {1.0}


def test_the_same_videos_give_the_same_questions(
    stories: list[Story], possible: AnswerCounts, balanced: list[Asked]
) -> None:
    assert chosen(stories, possible, rounds=1) == balanced[: len(stories)]


def implied_share(dialogues: list[Asked]) -> float:
    """Share of the questions for a room that are about a room in which one of the two turns before takes place."""
    implied = []
    for _, asked in dialogues:
        for at, question in enumerate(asked):
            acts = [event for earlier in asked[max(0, at - 2) : at] for event in earlier.evidence]
            rooms = {class_of(event.from_room) for event in acts if event.from_room is not None}
            if question.answer_type == "room" and rooms:
                implied.append(question.key in rooms)
    assert len(implied) >= 15
    return sum(implied) / len(implied)


def test_the_turns_before_do_not_tell_the_room(plain: list[Asked], balanced: list[Asked]) -> None:
    assert implied_share(plain) > 0.4
    assert implied_share(balanced) <= 0.25


def test_a_room_that_is_not_implied_may_always_be_asked_for(stories: list[Story]) -> None:
    story, asked = next((s, q) for s in stories for q in questions(s) if q.kind == "which_room")
    elsewhere = next(
        q
        for q in questions(story)
        if q.evidence and all(class_of(event.from_room or "") not in (asked.key, "") for event in q.evidence)
    )
    balance = AnswerBalance()
    assert not balance.suits(asked, [asked], "train")
    assert balance.suits(asked, [], "train")
    assert balance.suits(asked, [elsewhere], "train")
    for _ in range(3):
        balance.count([elsewhere, asked], story, "train")
    assert balance.suits(asked, [asked], "train")
    assert not balance.suits(asked, [asked], "test"), "splits are counted apart"


def test_no_act_is_asked_for_after_a_question_that_speaks_of_it(stories: list[Story], full: bool) -> None:
    seen = 0
    for place, story in enumerate(stories * (6 if full else 2)):
        spoken_of: set[tuple[int, int]] = set()
        for asked in write_dialogue(story, split="train", seed=place, turns=12)[1]:
            question = asked.question
            if question.kind in ("next_action", "previous_action"):
                seen += 1
                assert question.focus_event is not None
                [answer] = [e for e in question.evidence if e.order == question.focus_event]
                assert (answer.part, answer.index) not in spoken_of, asked.text
            spoken_of |= {(event.part, event.index) for event in question.evidence}
    assert seen > (10 if full else 3)


def test_a_dialogue_asks_only_once_for_what_tells_where_a_thing_was(stories: list[Story], full: bool) -> None:
    seen = 0
    for place, story in enumerate(stories * (3 if full else 1)):
        things = [
            question.params["object"]
            for question in (one.question for one in write_dialogue(story, split="train", seed=place, turns=12)[1])
            if question.kind in ("where_from", "could_take", "would_place")
        ]
        assert len(set(things)) == len(things)
        seen += len(things)
    assert seen > (20 if full else 7)


def test_the_person_named_last_is_not_asked_for_too_often(stories: list[Story]) -> None:
    """After two questions for the person named last, the next one asks for another person."""
    tried = 0
    for story in stories:
        for asked in questions(story, seed=17):
            key = answer_key(asked, story)
            right = key.values[0]
            other = next((name for name in key.among if name[:1].isupper()), None)
            if key.type != "person" or other is None:
                continue
            last, before = f"{other} sees {right}. Who is it?", f"{right} sees {other}. Who is it?"
            balance = AnswerBalance()
            assert balance.suits_person(asked, story, last, "train")
            for _ in range(2):
                balance.count([asked], story, "train", [last])
            assert not balance.suits_person(asked, story, last, "train")
            assert balance.suits_person(asked, story, before, "train")
            assert balance.suits_person(asked, story, last, "test"), "splits are counted apart"
            tried += 1
    assert tried >= 5


def test_no_answer_prevails_in_one_split_alone(stories: list[Story]) -> None:
    """What is rare in train does not become the most frequent answer of test."""
    story = next(s for s in stories if len({q.key for q in questions(s) if q.kind == "next_action"}) >= 16)
    one, *others = {q.key: q for q in questions(story) if q.kind == "next_action"}.values()
    balance = AnswerBalance()
    balance.count([one, *others[:3]], story, "test")
    assert balance.weights([one], story, "test")[0] > 0
    balance.count([one, *others], story, "train")
    assert balance.weights([one], story, "test") == [0.0]
