"""Checklists that a model writes: about content, different for each turn, and tried on right and wrong answers."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from reeltalk.llm import Message, Reply
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.record import Json
from reeltalk_build.construct.linting import text_faults
from reeltalk_build.construct.model_checklists import write_checklists
from reeltalk_build.construct.prompting import PromptedModel
from reeltalk_build.construct.writers import NO_JUDGE, Language, TriedChecklist, Unwritten

THINGS = ("mug", "plate", "book", "pillow", "bottle", "towel", "lamp", "chair", "crate", "radio")
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
TALK = Dialogue(
    id="d",
    video_id="v",
    turns=tuple(
        Turn(
            question=f"What does person {n} take from the box?", references=(f"{number} green {thing}s with a stripe.",)
        )
        for n, (thing, number) in enumerate(zip(THINGS, NUMBERS, strict=True))
    ),
)
Items = list[dict[str, str]]


def good(index: int) -> Items:
    facts = (NUMBERS[index], "green", f"{THINGS[index]}s", "stripe")
    items = [
        {"question": f"Does the answer speak of {fact} taken by person {index}?", "expected": "Yes"} for fact in facts
    ]
    return [*items, {"question": f"Does the answer say that person {index} takes elephants?", "expected": "No"}]


class Writing:
    """Writes a list for each turn, and other lists when it is asked again."""

    name, sees_images, sampling = "writing", False, {"temperature": 0.0}

    def __init__(self, first: Callable[[int], Items], again: Callable[[int], Items] = good) -> None:
        self._first, self._again = first, again
        self.asked: list[Sequence[Message]] = []

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        self.asked.append(messages)
        question = messages[1].text.split("=====")[3]
        items = (self._first if len(messages) == 2 else self._again)(int(question.split("person ")[1][0]))
        return Reply(json.dumps({"items": items}), self.name, 1, 1, False)

    def close(self) -> None:
        return


WRONG = ("He takes an umbrella and nothing else.", "The box takes him, one green stripe at a time.", "Hard to tell.")


class Judging:
    """Applies an item to an answer by the thing that the item names."""

    name, sees_images, sampling = "judging", False, {"temperature": 0.0}

    def __init__(self, *, strict: bool = False) -> None:
        self._strict = strict
        self.asked: list[str] = []

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        text = messages[-1].text
        self.asked.append(text)
        if "{numbers}" not in text and "wrong answers for these rounds" in text:
            numbers = text.split("wrong answers for these rounds: ")[1].split(".")[0].split(", ")
            said: Any = {"rounds": [{"number": int(n), "answers": WRONG} for n in numbers]}
            return Reply(json.dumps(said), self.name, 1, 1, False)
        answers, items = (text.split("=====")[at].strip().splitlines() for at in (1, 3))
        tried = [
            {"letter": letter, "says": answer, "items": [self._applied(item, answer) for item in items]}
            for letter, answer in zip("ABCD", answers, strict=True)
        ]
        return Reply(json.dumps({"answers": tried}), self.name, 1, 1, False)

    def _applied(self, item: str, answer: str) -> str:
        if self._strict:
            return "No"
        named = item.split("of ")[1].split(" taken")[0] if "of " in item else "elephants"
        return "Yes" if named in answer else "No"

    def close(self) -> None:
        return


def tried(
    first: Callable[[int], Items],
    again: Callable[[int], Items] = good,
    *,
    judge: Judging | None = None,
    turns: Sequence[int] = range(10),
) -> tuple[dict[int, TriedChecklist | Unwritten], Writing]:
    model = Writing(first, again)
    judges = PromptedModel(judge, "en") if judge is not None else None
    return write_checklists(PromptedModel(model, "en"), judges, TALK, turns), model


def test_lists_that_pass_their_trial_are_kept() -> None:
    judge = Judging()
    found, model = tried(good, judge=judge)
    assert [isinstance(one, TriedChecklist) and one.untried for one in found.values()] == [None] * 10
    assert len(model.asked) == 10
    # One request for all wrong answers, and one for each list.
    assert len(judge.asked) == 11
    first = found[0]
    assert isinstance(first, TriedChecklist)
    assert [item.expected for item in first.checklist.items] == [True] * 4 + [False]


def test_the_judge_is_not_told_which_answer_is_right() -> None:
    judge = Judging()
    tried(good, judge=judge)
    places = set()
    for trial, turn in zip(judge.asked[1:], TALK.turns, strict=True):
        answers = [line[3:] for line in trial.split("=====")[1].strip().splitlines()]
        assert sorted(answers) == sorted([*WRONG, turn.references[0]])
        assert turn.question not in trial
        places.add(answers.index(turn.references[0]))
    assert len(places) > 1


def lenient(index: int) -> Items:
    """A list that the second wrong answer passes, too."""
    facts = ("green", "stripe", "a green", "green stripe")
    items = [{"question": f"Is it {n} and of {fact} taken from it?", "expected": "Yes"} for n, fact in enumerate(facts)]
    return [*items[:2], *good(index)[1:2], *good(index)[3:]]


def failing(index: int) -> Items:
    """A list that the right answer fails."""
    return [
        {"question": f"Does the answer speak of silver taken with a stripe by {index}?", "expected": "Yes"},
        *good(index)[1:],
    ]


@pytest.mark.parametrize(
    ("planted", "told"), [(lenient, "the wrong answer"), (failing, "the right answer fails item 1")]
)
def test_a_list_that_fails_its_trial_is_written_again_with_the_reason(
    planted: Callable[[int], Items], told: str
) -> None:
    found, model = tried(planted, judge=Judging())
    assert all(isinstance(one, TriedChecklist) for one in found.values())
    assert len(model.asked) == 20
    assert all(told in messages[-1].text for messages in model.asked[1::2])
    lost, _ = tried(planted, lambda index: planted(index)[::-1], judge=Judging())
    for one in lost.values():
        # Its replies can be used; it is the list that is no good.
        assert isinstance(one, Unwritten)
        assert one.reason.startswith("it fails its trial twice: ")
        assert one.replies == ()


def test_a_judge_that_says_no_to_all_lets_nothing_pass() -> None:
    found, _ = tried(good, lambda index: good(index)[::-1], judge=Judging(strict=True))
    assert {type(one) for one in found.values()} == {Unwritten}


def test_a_list_is_kept_untried_without_a_judge() -> None:
    found, _ = tried(good)
    assert {one.untried and one.untried.reason for one in found.values() if isinstance(one, TriedChecklist)} == {
        NO_JUDGE
    }
    assert len(found) == 10


class Silent(Judging):
    def ask(self, messages: Sequence[Message], *, schema: dict[str, Json] | None = None) -> Reply:
        return Reply("I would rather not.", self.name, 1, 1, False)


def test_a_judge_whose_replies_cannot_be_used_has_tried_nothing() -> None:
    found, _ = tried(good, judge=Silent(), turns=[3])
    (one,) = found.values()
    assert isinstance(one, TriedChecklist)
    assert one.untried is not None
    assert one.untried.replies == ("I would rather not.",) * 2


FORM = (
    "Does the answer contain at least {k} words?",
    "Does the answer contain at least {k} characters of text?",
    "Is the answer written in {k} or more sentences?",
    "Is the answer fluent?",
    "Is the reply clear and detailed?",
    "Does the answer reply to the user?",
    "Does the answer give specific information?",
    "Does the answer make a definite statement?",
    "Is the answer free of contradictions?",
    "Is the answer long?",
)


@pytest.mark.parametrize("form", FORM)
def test_an_item_about_form_is_refused(form: str) -> None:
    for index in range(10):
        item = {"question": form.format(k=index + 1), "expected": "Yes"}

        def planted(place: int, item: dict[str, str] = item) -> Items:
            return [item, *good(place)[1:]]

        found, model = tried(planted, turns=[index])
        assert isinstance(found[index], TriedChecklist)
        assert "about the form of an answer" in model.asked[1][-1].text
        lost, _ = tried(planted, planted, turns=[index])
        assert isinstance(lost[index], Unwritten)


@pytest.mark.parametrize(
    "item",
    [
        "Does the answer say that there are three?",
        "Does the answer say that the video shows no umbrella?",
        "Does the answer end with a question about the lamp?",
        "Does the answer say that he writes a letter?",
        "Does the answer name the kitchen?",
        "回答是否说他拿起了红色的杯子？",
        "回答是否说明视频里没有雨伞？",
    ],
)
def test_an_item_about_content_is_none_about_form(item: str) -> None:
    language: Language = "en" if item.isascii() else "zh"
    assert text_faults(item, part="checklist item", language=language) == []


@pytest.mark.parametrize(
    "items",
    [
        good(0)[:4],
        [item | {"expected": "Yes"} for item in good(0)],
        [item | {"expected": "No"} for item in good(0)],
        [good(0)[0], *good(0)[:3], good(0)[4]],
        [{"question": "Is the ground truth named?", "expected": "Yes"}, *good(0)[1:]],
        [{"question": "回答是否符合标准答案？", "expected": "Yes"}, *good(0)[1:]],
        [{"question": "Does the answer speak of two taken in the fourth frame?", "expected": "Yes"}, *good(0)[1:]],
        [*({"question": f"Does the answer speak of {n} tigers?", "expected": "Yes"} for n in "ab"), *good(0)[2:]],
    ],
)
def test_a_list_has_five_items_and_one_no_and_names_what_is_right(items: Items) -> None:
    found, _ = tried(lambda _: items, lambda _: items, turns=[0])
    assert isinstance(found[0], Unwritten)
    assert len(found[0].replies) == 2


def test_a_list_that_the_question_itself_meets_is_refused() -> None:
    echo = [{"question": f"Does the answer say that {what}?", "expected": "Yes"} for what in ECHOES]
    found, _ = tried(lambda _: [*echo, good(0)[4]], lambda _: [*echo, good(0)[4]], turns=[0])
    assert isinstance(found[0], Unwritten)
    assert "name nothing that the right answer says" in found[0].reason


ECHOES = ("person 0 takes something", "the box is opened", "something is in the box", "the box holds something")


def test_two_rounds_do_not_share_a_list() -> None:
    twin = Dialogue(id="d", video_id="v", turns=(TALK.turns[0], TALK.turns[0]))
    model = PromptedModel(Writing(good), "en")
    found = write_checklists(model, None, twin, [0, 1])
    assert isinstance(found[0], TriedChecklist)
    assert isinstance(found[1], Unwritten)
    assert "nearly the same as that of an earlier round" in found[1].reason


def test_a_turn_without_a_reference_has_no_checklist() -> None:
    talk = Dialogue(id="d", video_id="v", turns=(Turn(question="What now?"),))
    found = write_checklists(PromptedModel(Writing(good), "en"), PromptedModel(Judging(), "en"), talk, [0])
    assert found == {0: Unwritten("the turn has no reference answer")}
