"""Whether short answers say the same, on examples judged by hand."""

import pytest

from reeltalk.metrics.agree import added_words, agrees, content_words, is_yes_no, polarity, states_reference

SAME = [
    ("On the kitchen table.", "He puts it on the kitchen table.", "Where does he put the mug?"),
    ("He puts it on the kitchen table.", "On the kitchen table.", "Where does he put the mug?"),
    ("He leaves it on the kitchen table.", "On the kitchen table.", "Where does he put the mug?"),
    ("Twice.", "Two times.", "How many times does he open the fridge?"),
    ("He does so two times.", "Twice.", "How often does he jump?"),
    ("Once.", "It happens one time.", "How many times does he sit down?"),
    ("4", "He is seen in four rooms.", "How many rooms is he seen in?"),
    ("About 12 seconds.", "For about 12 seconds.", "How long does he read?"),
    ("Yes.", "Yes, he does.", "Does he open the fridge?"),
    ("No, he doesn't.", "No.", "Does he open the fridge?"),
    ("He opens the fridge.", "Yes, he opens the fridge.", "Does he open the fridge?"),
    ("He does not open the fridge.", "No.", "Does he open the fridge?"),
    ("In the kitchen.", "The kitchen.", "Which room is he in at the end?"),
    ("He opens the closet.", "Then he opens the closet.", "What does he do next?"),
    ("He is opening the closet.", "He opens the closet.", "What does he do next?"),
    ("It is off.", "Off.", "At the end, is the TV on or off?"),
    ("To take the milk.", "Because he wants to take the milk.", "Why does he walk to the fridge?"),
    ("The mug and the book.", "He also picks up the book and the mug.", "What else does he pick up?"),
    ("He takes the milk.", "He picks up the milk.", "After opening the fridge, what does he pick up?"),
    ("On the desk. That is where he finds it.", "It was on the desk.", "Where does he take the mug from?"),
    ("他把杯子放在桌子上。", "放在桌子上。", "他把杯子放在哪里?"),
    ("是的。", "是的,他打开了冰箱。", "他打开冰箱了吗?"),
]
OTHER = [
    ("In the fridge.", "On the fridge.", "Where does he put the milk?"),
    ("Yes.", "No, he doesn't.", "Does he open the fridge?"),
    ("On the coffee table.", "On the kitchen table.", "Where does he put the mug?"),
    ("Twice.", "Three times.", "How many times does he open the fridge?"),
    ("He opens the closet.", "He closes the closet.", "What does he do next?"),
    ("He opens the closet.", "He opens the fridge.", "What does he do next?"),
    ("It is on.", "It is off.", "At the end, is the TV on or off?"),
    ("He turns on the TV in the bedroom.", "He turns off the TV in the bedroom.", "What does he do next?"),
    ("He does not open the fridge.", "Yes.", "Does he open the fridge?"),
    ("He opens the closet.", "Yes.", "Does he open the fridge?"),
    ("In the bedroom.", "In the kitchen.", "Which room is he in at the end?"),
    ("", "In the kitchen.", "Which room is he in at the end?"),
    ("The video does not show that.", "On the table.", "Where does he put the mug?"),
    ("Sitting.", "He is standing.", "What is his posture: sitting, lying or standing?"),
    ("About 12 seconds.", "About 30 seconds.", "How long does he read?"),
    ("He walks to the door.", "He walks to the fridge.", "What does he do right before opening the fridge?"),
    ("On the sofa. He finds it there.", "On the bed. He finds it there.", "Where was it before?"),
    ("不是。", "是的。", "他打开冰箱了吗?"),
]


@pytest.mark.parametrize(("answer", "reference", "question"), SAME)
def test_these_say_the_same(answer: str, reference: str, question: str) -> None:
    assert agrees(answer, [reference], question)
    assert agrees(answer, ["Something else entirely.", reference], question)


@pytest.mark.parametrize(("answer", "reference", "question"), OTHER)
def test_these_do_not(answer: str, reference: str, question: str) -> None:
    assert not agrees(answer, [reference], question)


def test_without_a_reference_nothing_agrees() -> None:
    assert not agrees("Yes.", [])


def test_the_essence_is_what_is_new() -> None:
    assert added_words("Yes, he opens it.") == ("yes",)
    assert added_words("He does so twice.", "How many times does he jump?") == ("2",)
    assert added_words("He puts the mug on the table.", "Where does he put the mug?") == ("tabl",)
    assert added_words("Off.", "Is it on or off?") == ("off",)
    assert content_words("He takes, taking, took two mugs") == ("tak", "2", "mug")


def test_a_yes_no_question_is_known_by_its_auxiliary() -> None:
    assert is_yes_no("Does he open it?")
    assert is_yes_no("After opening the closet, does he close it again?")
    assert not is_yes_no("Is he sitting or standing?")
    assert not is_yes_no("What does he do?")
    assert polarity("No mug is there.") is None
    assert polarity("No, it isn't.") == "no"


def test_a_longer_text_may_state_the_answer() -> None:
    long = "At the end the mug is on the desk, and after that he opens the fridge twice."
    assert states_reference(long, "On the desk.", "Where is the mug?")
    assert states_reference(long, "He opens the fridge.", "What does he do next?")
    assert states_reference(long, "Twice.", "How many times does he open the fridge?")
    assert not states_reference(long, "On the sofa.", "Where is the mug?")
    assert not states_reference(long, "He does not open the fridge.", "What does he do next?")
    assert not states_reference(long, "Three times.", "How many times does he open the fridge?")


def test_names_that_look_like_denials_are_none() -> None:
    assert agrees("He picks up the notes.", ["He takes the notes."], "What does he pick up?")
    assert not agrees("He does not pick up anything.", ["He takes the notes."], "What does he pick up?")
