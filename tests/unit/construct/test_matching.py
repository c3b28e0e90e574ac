"""A copied question is found again: letter by letter, then by likeness, and never by a guess."""

import pytest

from reeltalk.construct.model_linking import Matched, MatchSettings, Unmatched, likeness_of, match_turn
from reeltalk.schema.dialogue import Turn

TURNS = (
    Turn(question="What does the man put on the table?", references=("He puts a red mug on it.",)),
    Turn(question="What happens next?", references=("The mug falls down.",)),
    Turn(question="What happens next?", references=("A dog comes in and barks.",)),
    Turn(question="他把杯子放在哪里？", references=("放在桌子上。",)),
)


@pytest.mark.parametrize(
    "question",
    [
        "What does the man put on the table?",
        "  what does the MAN put\non the table",
        "What does the man put — on the table?!",
    ],
)
def test_case_spaces_and_punctuation_do_not_count(question: str) -> None:
    assert match_turn(question, "", TURNS) == Matched(0, "exact", 1.0)


def test_chinese_is_matched_whichever_punctuation_it_has() -> None:
    assert match_turn("他把杯子放在哪里?", "", TURNS) == Matched(3, "exact", 1.0)


def test_a_slip_of_the_pen_is_forgiven() -> None:
    found = match_turn("What does the man put on a table?", "", TURNS)
    assert isinstance(found, Matched)
    assert (found.turn_index, found.how) == (0, "fuzzy")
    assert 0.85 <= found.likeness < 1


def test_another_question_is_refused_with_the_nearest_likeness() -> None:
    found = match_turn("Why is the dog afraid of the thunderstorm?", "", TURNS)
    assert isinstance(found, Unmatched)
    assert "no turn asks" in found.reason
    assert "alike by 0." in found.reason


def test_the_answer_decides_between_turns_that_ask_alike() -> None:
    assert match_turn("What happens next?", "a dog comes in, and barks", TURNS) == Matched(2, "exact", 1.0)
    assert match_turn("What happens next?", "The mug falls downwards.", TURNS) == Matched(1, "exact", 1.0)


@pytest.mark.parametrize("answer", ["", "Nobody knows."])
def test_turns_that_ask_alike_are_not_guessed_between(answer: str) -> None:
    found = match_turn("What happens next?", answer, TURNS)
    assert isinstance(found, Unmatched)
    assert "turns 2, 3 ask" in found.reason


def test_two_turns_nearly_as_alike_are_ambiguous() -> None:
    turns = [Turn(question=f"What is the {colour} cup standing on?", references=(colour,)) for colour in ("red", "ret")]
    found = match_turn("What is the rex cup standing on?", "", turns)
    assert isinstance(found, Unmatched)
    assert match_turn("What is the rex cup standing on?", "red", turns) == Matched(
        0, "fuzzy", likeness_of("What is the rex cup standing on?", turns[0].question)
    )


def test_the_threshold_is_a_setting() -> None:
    question = "What does the tall man put down on the table?"
    assert isinstance(match_turn(question, "", TURNS, MatchSettings(min_likeness=0.99)), Unmatched)
    assert isinstance(match_turn(question, "", TURNS, MatchSettings(min_likeness=0.6)), Matched)


def test_an_empty_question_or_no_turns_match_nothing() -> None:
    assert match_turn(" ?! ", "", TURNS) == Unmatched("the question is empty")
    assert isinstance(match_turn("What?", "", ()), Unmatched)


def test_likeness_does_not_depend_on_the_order() -> None:
    assert likeness_of("a cat sat", "sat a cat on it") == likeness_of("sat a cat on it", "a cat sat")
