"""Right answers and near misses from the slots of a key, and what keys without slots are read like."""

import pytest

from reeltalk.language.answer_reading import read_answer
from reeltalk.language.near_misses import fault_of, misread, missing_slots, variants
from reeltalk.schema.dialogue import AnswerKey

FALSE_PREMISE = AnswerKey(
    type="refusal",
    values=("absent",),
    about=("sit|sofa",),
    agent=("Tom", "he", "glasses"),
    others=("Anna", "woman", "Max"),
    instead=("sit|sofa", "Anna", "she", "woman"),
)
COMPLAINS = AnswerKey(
    type="action",
    values=("complain|notes|character",),
    among=("grab|ball",),
    agent=("Anna", "she"),
    receiver=("Tom", "he"),
    others=("Max",),
)
QUESTION = "What does Tom do after sitting down on the sofa?"


def test_each_slot_of_a_key_has_a_near_miss_that_is_read_as_wrong() -> None:
    question, reference = "What does Anna do before playing?", "Before playing, Anna complains to Tom about the notes."
    found = variants(COMPLAINS, reference)

    assert {variant.slot for variant in found if not variant.right} == {
        "undecided", "value", "denied", "agent", "receiver", "exchanged",
    }  # fmt: skip
    assert all(read_answer(question, COMPLAINS, variant.text).right == variant.right for variant in found)


def test_near_misses_of_a_false_premise_are_no_refusals() -> None:
    found = variants(FALSE_PREMISE, "Tom does not sit down on the sofa. Instead, Anna sits down on the sofa.")

    assert {variant.slot for variant in found if not variant.right} == {"undecided", "premise", "agent", "thing"}
    assert all(read_answer(QUESTION, FALSE_PREMISE, variant.text).right == variant.right for variant in found)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("Tom never sits on the sofa.", True),
        ("It is Anna, not Tom, who sits down on the sofa.", True),
        ("That does not happen.", True),
        ("Anna does not sit down on the sofa.", False),
        ("Tom does not sit down on the bed.", False),
        ("Tom does not sit down on the sofa; Max does.", False),
        ("It is not possible to tell.", False),
        ("None of the above.", False),
        ("After sitting down on the sofa, Tom reads.", False),
    ],
)
def test_a_refusal_denies_the_premise(answer: str, right: bool) -> None:
    assert read_answer(QUESTION, FALSE_PREMISE, answer).right == right


def test_a_key_that_lacks_a_slot_is_named() -> None:
    bare = AnswerKey(type="refusal", values=("absent",))

    assert missing_slots(bare) == ("about",)
    assert missing_slots(COMPLAINS.model_copy(update={"receiver": ()})) == ("receiver",)
    assert missing_slots(FALSE_PREMISE.model_copy(update={"instead": ()})) == ("instead",)
    assert fault_of(bare, "That does not happen.") == "lacks about"
    assert fault_of(COMPLAINS, "Anna complains to Tom about the notes.") is None


def test_a_near_miss_that_is_misread_is_named() -> None:
    question, reference = "What does Anna do before playing?", "Before playing, Anna complains to Tom about the notes."
    of_another = COMPLAINS.model_copy(update={"agent": ("Max", "he"), "others": ("Anna", "she")})

    assert misread(question, COMPLAINS, reference) is None
    found = misread(question, of_another, reference)
    assert found is not None
    assert (found.text, found.right) == (reference, True)


def test_a_key_without_slots_is_read_by_the_words_of_its_question() -> None:
    bare = AnswerKey(type="refusal", values=("absent",))

    assert read_answer(QUESTION, bare, "Tom does not sit down on the sofa.").right
    assert not read_answer(QUESTION, bare, "It is not possible to tell.").right
    assert not read_answer(QUESTION, bare, "Tom does not pick up the mug.").right
