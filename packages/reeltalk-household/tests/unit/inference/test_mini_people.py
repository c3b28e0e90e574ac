"""Names that are read above heads, and people who are known again by their looks."""

from pathlib import Path

import numpy as np
import pytest

from reeltalk_household.mini.mini_input import LETTERS, PAD, PEOPLE, MiniWords
from reeltalk_household.mini.mini_people import KnownPeople, is_same_spelling, read_name

RED, BLUE = np.array([1, 0, 0, 1, 0], np.float32), np.array([0, 1, 1, 0, 1], np.float32)
THERE = np.ones(2, np.float32)


def spelt(name: str) -> list[int]:
    """Letters as they are read: some twice, with nothing between equal neighbours."""
    found: list[int] = []
    for letter in name.casefold():
        number = LETTERS.index(letter) + 1
        found += [0, number, number] if found and found[-1] == number else [number, number]
    return (found + [0] * 24)[:24]


def frame(*names: str) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array([spelt(name) for name in names])


@pytest.mark.parametrize("name", ["Anna", "Bo", "Gabriel"])
def test_letters_are_read_as_often_as_nothing_parts_them(name: str) -> None:
    assert read_name(spelt(name)) == name


@pytest.mark.parametrize("letters", [[], [0, 0, 0], [0, 3, 3, 0]])
def test_nothing_and_one_letter_are_no_name(letters: list[int]) -> None:
    assert read_name(letters) is None


@pytest.mark.parametrize(
    ("one", "other", "same"), [("Brun", "Bruno", True), ("Gadriel", "Gabriel", True), ("Ben", "Lena", False)]
)
def test_spellings_that_differ_little_are_of_one_name(one: str, other: str, *, same: bool) -> None:
    assert is_same_spelling(one, other) is is_same_spelling(other, one) is same


def test_a_person_is_known_again_by_looks_when_the_name_is_gone() -> None:
    people = KnownPeople()
    assert people.see(frame("", ""), np.stack([RED, BLUE]), THERE) == [PAD, PAD]
    assert people.see(frame("Anna", "Bruno"), np.stack([RED, BLUE]), THERE) == [PEOPLE[0], PEOPLE[1]]
    assert people.see(frame("", ""), np.stack([BLUE, RED]), THERE) == [PEOPLE[1], PEOPLE[0]]
    assert people.see(frame("", ""), np.stack([RED * 0.8, RED]), THERE) == [PAD, PEOPLE[0]]
    assert people.see(frame("", ""), np.stack([RED, BLUE]), np.array([0.1, 0.9], np.float32)) == [PAD, PEOPLE[1]]
    assert people.see(frame("", "Anma"), np.stack([RED, 1 - BLUE]), THERE)[1] == PEOPLE[0]
    assert people.marks == {"Anna": PEOPLE[0], "Bruno": PEOPLE[1]}


def test_strangers_get_no_mark_and_there_are_no_more_people_than_marks() -> None:
    people = KnownPeople()
    one = np.ones(1, np.float32)
    for at, name in enumerate(("Anna", "Bruno", "Clara", "David")):
        looks = np.full((1, 5), at * 5.0, np.float32)
        assert people.see(frame(name), looks, one) == [PEOPLE[at] if at < len(PEOPLE) else PAD]


def test_a_copy_is_changed_alone() -> None:
    people = KnownPeople()
    people.see(frame("Anna", ""), np.stack([RED, BLUE]), THERE)
    other = people.copy()
    other.see(frame("", "Bruno"), np.stack([RED, BLUE]), THERE)
    assert list(people.marks) == ["Anna"]
    assert list(other.marks) == ["Anna", "Bruno"]


def test_a_text_corrects_a_name_that_was_read_wrong_but_no_word_becomes_a_name(samples: Path) -> None:
    words = MiniWords(samples.parent / "mini_sample" / "tokenizer.json")
    people = KnownPeople()
    people.see(frame("Thea", "Brun"), np.stack([RED, BLUE]), THERE)
    assert words.knows("The")
    people.hear("The person and Bruno: where is Theo?", words)
    assert people.marks == {"Theo": PEOPLE[0], "Bruno": PEOPLE[1]}


def test_names_are_replaced_by_marks_and_back(samples: Path) -> None:
    words = MiniWords(samples.parent / "mini_sample" / "tokenizer.json")
    people = {"Anna": PEOPLE[0], "Bruno": PEOPLE[1]}
    plain = words.numbers("Where is the cup?")
    found = words.numbers("Bruno: Where is the cup? Anna.", people)
    assert found[0] == PEOPLE[1]
    assert found[2 : 2 + len(plain)] == plain
    assert found[-2] == PEOPLE[0]
    assert not set(PEOPLE) & set(words.numbers("Annabel <p1>", people))
    assert words.text([PEOPLE[1], *words.numbers("is in the kitchen.")], people) == "Bruno is in the kitchen."
    assert words.text([PEOPLE[2], *words.numbers("is there.")], people).startswith("The person is")
