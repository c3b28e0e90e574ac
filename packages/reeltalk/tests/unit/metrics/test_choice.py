"""The option that an answer names: the examples of the table of forms, and what tells options apart."""

import string
import tomllib

import pytest
from places import TESTS

from reeltalk.metrics.choice import (
    FORMS,
    NAMES_NONE,
    NAMES_SEVERAL,
    choice_signature,
    names_same,
    read_choice,
    says_unsure,
)

QUESTION = "Which utensil does the cook pick up?"
OPTIONS = ("a ladle", "a whisk", "a spoon", "a peeler")
CHOICE_ANSWERS = TESTS / "choice_answers"
EXAMPLES = tomllib.loads(FORMS.read_text(encoding="utf-8"))["examples"]


@pytest.mark.parametrize("answer", EXAMPLES["B"])
def test_these_name_the_second(answer: str) -> None:
    assert read_choice(answer, OPTIONS, QUESTION).option == 1


@pytest.mark.parametrize("answer", EXAMPLES["none"])
def test_these_name_none(answer: str) -> None:
    found = read_choice(answer, OPTIONS, QUESTION)
    assert (found.option, found.several, found.why) == (None, False, NAMES_NONE)


@pytest.mark.parametrize("answer", EXAMPLES["several"])
def test_these_name_several(answer: str) -> None:
    found = read_choice(answer, OPTIONS, QUESTION)
    assert (found.option, found.several, found.why) == (None, True, NAMES_SEVERAL)


def test_there_are_examples_of_all_three() -> None:
    assert set(EXAMPLES) == {"B", "none", "several"}
    assert all(len(rows) == len(set(rows)) >= 10 for rows in EXAMPLES.values())


@pytest.mark.parametrize(
    "form", ["{}", "({})", "**{}**", "Answer: {}", "{}.", "\\boxed{{{}}}", "答案：{}", "{}\n\nIt shows."]
)
@pytest.mark.parametrize("count", [2, 4, 9, 26])
def test_every_letter_that_was_shown_is_read_and_no_other(form: str, count: int) -> None:
    options = tuple(f"the thing {number}" for number in range(count))
    for place, letter in enumerate(string.ascii_uppercase):
        found = read_choice(form.format(letter), options, "Which thing is it?").option
        assert found == (place if place < count else None), letter


@pytest.mark.parametrize("place", range(4))
def test_an_option_is_the_same_by_its_letter_its_text_and_both(place: int) -> None:
    letter, text = string.ascii_uppercase[place], OPTIONS[place]
    for answer in (letter, text, f"{letter}. {text}", f"The cook picks up {text}.", f"{text.capitalize()}."):
        assert read_choice(answer, OPTIONS, QUESTION).option == place
    for other in (text for n, text in enumerate(OPTIONS) if n != place):
        assert read_choice(f"{letter}. {other}", OPTIONS, QUESTION).several


@pytest.mark.parametrize(
    ("answer", "references", "same"),
    [
        ("B", ["a whisk"], True),
        ("a whisk", ["B"], True),
        ("The whisk", ["a ladle", "a whisk"], True),
        ("C", ["a whisk"], False),
        ("B", ["something else"], None),
        ("B or C", ["a whisk"], None),
        ("", ["a whisk"], None),
    ],
)
def test_a_reference_is_read_as_an_answer_is(answer: str, references: list[str], same: bool | None) -> None:
    assert names_same(answer, references, OPTIONS, QUESTION) is same


def test_the_signature_changes_with_the_table() -> None:
    version, digits = choice_signature().split("-")
    assert version.startswith("choice:v")
    assert len(digits) == 8


def test_replies_by_readers_who_did_not_know_the_rule() -> None:
    cases = tomllib.loads((CHOICE_ANSWERS / "fresh.toml").read_text(encoding="utf-8"))["case"]
    wrong: list[tuple[str, str]] = []
    missed: list[str] = []
    for case in cases:
        found = read_choice(case["answer"], tuple(case["options"]), case["question"])
        named = "several" if found.several else "none" if found.option is None else string.ascii_uppercase[found.option]
        if named != case["expect"]:
            missed.append(case["form"])
            if found.option is not None:
                wrong.append((case["form"], named))
    assert not wrong
    assert len(missed) <= 0.02 * len(cases), missed


@pytest.mark.parametrize(
    ("answer", "unsure"),
    [("I cannot tell from the video.", True), ("无法确定。", True), ("B", False), ("She can tell them apart.", False)],
)
def test_an_answer_may_say_that_it_does_not_know(answer: str, unsure: bool) -> None:
    assert says_unsure(answer) is unsure
