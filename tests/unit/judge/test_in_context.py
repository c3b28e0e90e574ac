"""Answers that say less than their reference because the dialogue has said it."""

import pytest

from reeltalk.judge.choice import agrees_in_context, without_time_clause

AFTER = "After opening the fridge, what does he do next?"
TAKES = "Right after opening the fridge, the person takes the milk."


def test_a_reference_that_tells_its_question_again_asks_for_no_more_than_its_news() -> None:
    assert agrees_in_context("He takes the milk.", [TAKES], AFTER)
    assert not agrees_in_context("He takes the bread.", [TAKES], AFTER)
    assert not agrees_in_context("He opens the fridge.", [TAKES], AFTER)


def test_what_a_pronoun_means_is_no_news() -> None:
    before = [("What does he switch off?", "He switches off the faucet.")]
    assert agrees_in_context("It is grey.", ["The faucet is grey."], "And what colour is it?", before)
    assert not agrees_in_context("It is white.", ["The faucet is grey."], "And what colour is it?", before)
    assert not agrees_in_context("It is the faucet.", ["The faucet is grey."], "And what colour is it?", before)


def test_without_a_turn_before_a_pronoun_means_nothing() -> None:
    assert not agrees_in_context("In the kitchen.", ["He drinks the milk in the garden."], "And in which room is that?")


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        (TAKES, "The person takes the milk."),
        ("The fridge is closed at the end.", "The fridge is closed."),
        ("Besides the milk, he picks up the notes.", "He picks up the notes."),
        ("The person picks up the notes after drinking the milk.", "The person picks up the notes."),
        ("After all.", "After all."),
    ],
)
def test_the_core_of_a_sentence_leaves_out_when(sentence: str, said: str) -> None:
    assert without_time_clause(sentence) == said


def test_a_letter_still_names_an_option() -> None:
    options = ["the milk", "the bread"]
    assert agrees_in_context("A", ["the milk"], "What?", (), options)
    assert not agrees_in_context("B", ["the milk"], "What?", (), options)
