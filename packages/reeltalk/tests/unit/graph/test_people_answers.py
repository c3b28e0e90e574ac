"""Answers about people: names, looks, feelings, replies, words that are said, and acts between people."""

import pytest

from reeltalk.language.answer_reading import read_answer
from reeltalk.schema.dialogue import AnswerKey

ANNA = AnswerKey(
    type="person", values=("Anna",), also=("red shirt", "brown hair"), among=("Tom", "man", "Mara", "yellow shirt")
)
TOM = AnswerKey(type="person", values=("Tom",), also=("man", "glasses"), among=("Anna", "red shirt", "Mara"))
HAPPY = AnswerKey(type="feeling", values=("happy",), among=("sad", "angry", "surprised", "calm"))
CALM = AnswerKey(type="feeling", values=("calm",), among=("sad", "angry", "surprised", "happy"))
REFUSES = AnswerKey(type="reply", values=("refuse",), among=("accept",))
EVENING = AnswerKey(type="daytime", values=("evening",), among=("day",))
LARGE = AnswerKey(type="size", values=("large",), among=("small",))
SAID = AnswerKey(
    type="utterance", values=("I am sorry about the vase.",), among=("Would you like some milk?", "Thank you, Tom.")
)
GIVES = AnswerKey(type="action", values=("give|milk|character",), among=("grab|milk", "hug|character", "boil|kettle"))
BOILS = AnswerKey(type="action", values=("boil|kettle",), among=("switchOn|kettle", "break|vase"))
THANKS = AnswerKey(type="action", values=("thank|mug|character",), among=("refuse|mug|character", "grab|mug"))
HUGS = AnswerKey(type="action", values=("hug|character",), among=("wave|character", "give|mug|character"))


@pytest.mark.parametrize(
    ("question", "key", "answer", "right"),
    [
        ("Who picks up the mug?", ANNA, "Anna.", True),
        ("Who picks up the mug?", ANNA, "It is Anna who picks it up.", True),
        ("Who picks up the mug?", ANNA, "The woman in the red shirt.", True),
        ("Who picks up the mug?", ANNA, "the one with brown hair", True),
        ("Who picks up the mug?", ANNA, "Not Tom but Anna.", True),
        ("Who picks up the mug?", ANNA, "Tom.", False),
        ("Who picks up the mug?", ANNA, "The woman in the yellow shirt.", False),
        ("Who picks up the mug?", ANNA, "The man.", False),
        ("Who picks up the mug?", ANNA, "Anna or Tom.", False),
        ("Who picks up the mug?", ANNA, "Anna and Tom both do.", False),
        ("Who picks up the mug?", ANNA, "The woman.", False),
        ("Who picks up the mug?", ANNA, "She does.", False),
        ("Who picks up the mug?", ANNA, "Not Anna.", False),
        ("Who says “All right, Tom.”?", ANNA, "Anna says “All right, Tom.”", True),
        ("Who says “All right, Tom.”?", ANNA, "Anna says all right, Tom.", True),
        ("Who says “All right, Tom.”?", ANNA, "Who says “All right, Tom.”? Anna does.", True),
        ("Who says “All right, Tom.”?", ANNA, "“All right, Tom.”", False),
        ("Who says “All right, Tom.”?", ANNA, "Tom says “All right, Tom.”", False),
        ("Who says “How are you, Tom?”", ANNA, "“How are you, Tom?” is what Anna says.", True),
        ("Whom does she call when she says “Tom!”?", TOM, "Tom.", True),
        ("Whom does she call when she says “Tom!”?", TOM, "She says “Tom!” to Tom.", True),
        ("Who speaks first?", TOM, "The man does.", True),
        ("Who speaks first?", TOM, "The guy with glasses.", True),
        ("Who speaks first?", TOM, "Mara speaks first.", False),
        ("How does he feel then?", HAPPY, "He is glad.", True),
        ("How does he feel then?", HAPPY, "He looks pleased and smiles.", True),
        ("How does he feel then?", HAPPY, "Sad.", False),
        ("How does he feel then?", HAPPY, "He is not happy.", False),
        ("How does he feel then?", HAPPY, "Happy or surprised.", False),
        ("How does she feel at the end?", CALM, "She has calmed down and is relaxed.", True),
        ("How does she feel at the end?", CALM, "She is furious.", False),
        ("Does she accept or refuse?", REFUSES, "She refuses.", True),
        ("Does she accept or refuse?", REFUSES, "She says no.", True),
        ("Does she accept or refuse?", REFUSES, "She declines the offer.", True),
        ("Does she accept or refuse?", REFUSES, "She accepts it.", False),
        ("Does she accept or refuse?", REFUSES, "She does not refuse.", False),
        ("Is it day or evening?", EVENING, "It is night.", True),
        ("Is it day or evening?", EVENING, "It is dark outside, so evening.", True),
        ("Is it day or evening?", EVENING, "By day.", False),
        ("Which mug, the small or the large one?", LARGE, "The big one.", True),
        ("Which mug, the small or the large one?", LARGE, "The little one.", False),
        ("What does Tom say to Anna?", SAID, "He says he is sorry about the vase.", True),
        ("What does Tom say to Anna?", SAID, "I am sorry about the vase.", True),
        ("What does Tom say to Anna?", SAID, "Would you like some milk?", False),
        ("What does Tom say to Anna?", SAID, "He says hello.", False),
        ("Why does Anna smile?", GIVES, "Because Tom gives her the milk.", True),
        ("Why does Anna smile?", GIVES, "Tom hands the milk to her.", True),
        ("Why does Anna smile?", GIVES, "Because she picks up the milk.", False),
        ("Why does Anna smile?", GIVES, "Because Tom hugs her.", False),
        ("What does that lead to?", BOILS, "The kettle boils.", True),
        ("What does that lead to?", BOILS, "The vase breaks.", False),
        ("What does Anna do right after that?", THANKS, "She thanks him.", True),
        ("What does Anna do right after that?", THANKS, "She thanks Tom for the mug.", True),
        ("What does Anna do right after that?", THANKS, "She refuses it.", False),
        ("How does Anna act towards Tom?", HUGS, "She hugs him.", True),
        ("How does Anna act towards Tom?", HUGS, "She embraces Tom.", True),
        ("How does Anna act towards Tom?", HUGS, "She waves to him.", False),
    ],
)
def test_answers_about_people_are_read_as_people_read_them(
    question: str, key: AnswerKey, answer: str, right: bool
) -> None:
    assert read_answer(question, key, answer).right == right
