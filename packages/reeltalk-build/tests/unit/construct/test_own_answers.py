"""Questions that hold their own answer, with a key and without, by name, by synonym and by what follows."""

import pytest

from reeltalk.schema.dialogue import AnswerKey, Turn
from reeltalk_build.construct.leakage import BLIND, HISTORY, leak_of, own_answer


def turn(question: str, answer: str, key: AnswerKey | None = None) -> Turn:
    return Turn(question=question, references=(answer,), key=key)


ROOM = AnswerKey(type="room", values=("bathroom",))
KITCHEN = AnswerKey(type="room", values=("kitchen",))
MUG = AnswerKey(type="object", values=("mug",))
PLACE = AnswerKey(type="place", values=("kitchencounter",))
SITTING = AnswerKey(type="state", values=("sitting",))
WALK = AnswerKey(type="action", values=("walk|fridge",), about=("open|fridge",))
PUT = AnswerKey(type="action", values=("put|mug|desk",), about=("grab|mug",))


@pytest.mark.parametrize(
    ("question", "answer", "key"),
    [
        ("In what room can he be seen putting the soap on the bathroom counter?", "In the bathroom.", ROOM),
        ("Which room is he in when he is in the bath room?", "In the bathroom.", ROOM),
        ("He scrubs the tub. Which room is that in?", "In the bathroom.", ROOM),
        ("Which room is he in when he puts the cup on the dining table?", "The kitchen.", KITCHEN),
        ("After walking to the coffee mug, what does he pick up?", "The mug.", MUG),
        ("Where does he put the plate that he puts on the countertop?", "On the kitchen counter.", PLACE),
        ("What colour is the crimson pillow?", "It is red.", AnswerKey(type="colour", values=("red",))),
        ("How often does he open the fridge all three times?", "Thrice.", AnswerKey(type="count", values=("3",))),
        ("What does he do before opening the fridge when he goes to the refrigerator?", "He walks there.", WALK),
        ("What does he do when he places the mug on the desk?", "He puts it on the desk.", PUT),
        ("He sits on the sofa: how is he, sitting or standing?", "Sitting.", SITTING),
        ("In which room is the kitchen cabinet that she closes?", "It is in the kitchen.", None),
        ("What colour is her red coat?", "Her coat is red.", None),
        ("How many of the two dogs bark?", "Two.", None),
        ("What does the man with the heavy crate carry in his hands?", "He carries a heavy crate in his hands.", None),
    ],
)  # fmt: skip
def test_the_answer_is_named(question: str, answer: str, key: AnswerKey | None) -> None:
    asked = turn(question, answer, key)
    assert own_answer(asked)
    assert leak_of(asked, []) == (BLIND, own_answer(asked))


@pytest.mark.parametrize(
    ("question", "answer", "key"),
    [
        ("Is he in the bathroom or in the kitchen?", "In the bathroom.", ROOM),
        ("In what room does he put the soap on the counter?", "In the bathroom.", ROOM),
        ("From the kitchen counter he takes the soap away. Which room does he take it to?", "The bathroom.", ROOM),
        ("What does he pick up after putting the plate down?", "The mug.", MUG),
        ("Where does he put the mug after opening the kitchen cabinet?", "On the kitchen counter.", PLACE),
        ("What colour is the red mug's handle?", "Blue.", AnswerKey(type="colour", values=("blue",))),
        ("Which one does he take, once he is done?", "One.", AnswerKey(type="count", values=("1",))),
        ("What comes right before opening the fridge?", "He walks to the fridge.", WALK),
        ("What does he do right after picking up the mug at the desk?", "He puts it on the desk.", PUT),
        ("Does he open the fridge?", "Yes, he opens the fridge.", AnswerKey(type="yes_no", values=("yes",))),
        ("Is it open or closed?", "It is closed.", AnswerKey(type="state", values=("closed",))),
        ("Does the man carry the crate?", "Yes, the man carries the crate.", None),
        ("Which does she take, the crate or the box?", "She takes the box.", None),
        ("What does the man carry?", "The man carries a heavy crate.", None),
        ("Which room is the sofa in?", "It is in the living room.", None),
    ],
)
def test_it_is_not_named(question: str, answer: str, key: AnswerKey | None) -> None:
    assert own_answer(turn(question, answer, key)) is None


def test_what_was_said_before_is_looked_at_too_and_other_subjects_are_not() -> None:
    asked = turn("Where does he put the mug?", "On the table.")
    said = [("What does he do with the mug?", "He puts the mug on the table.")]
    found = leak_of(asked, said)
    assert found is not None
    assert found[0] == HISTORY
    assert leak_of(asked, []) is None
    assert leak_of(asked.model_copy(update={"extra": {"about": "topic"}}), said) is None
