"""Faults that are found without a model: one passing and one failing example of every rule at least."""

from pathlib import Path
from typing import Any

import pytest

from reeltalk.construct.linting import RULES, LintSettings, lint
from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.intervals import Interval

GOOD = (
    ("What does the man carry into the kitchen?", "He carries a wooden crate."),
    ("What does he take out of it?", "Three green bottles."),
    ("Where do they end up?", "On the shelf above the sink."),
)
GOOD_ZH = (
    ("男人把什么搬进了厨房？", "他搬进了一个木箱。"),
    ("他从里面拿出了什么？", "三个绿色的瓶子。"),
    ("它们最后放在哪里？", "水槽上方的架子上。"),
)


def chain(*pairs: tuple[str, str], **fields: Any) -> QAChain:
    turns = tuple(Turn(question=q, references=(a,) if a else (), **fields) for q, a in pairs)
    return QAChain(id="c", video_id="v", turns=turns)


def dialogue(*turns: Turn) -> Dialogue:
    return Dialogue(id="d", video_id="v", turns=turns)


def found(unit: QAChain | Dialogue, rule: str, **options: Any) -> list[int | None]:
    return [result.turn_index for result in lint(unit, **options) if result.gate == f"lint.{rule}"]


def test_a_good_chain_has_no_faults() -> None:
    assert lint(chain(*GOOD)) == []
    assert lint(chain(*GOOD_ZH), language="zh") == []


def test_a_fault_names_unit_turn_and_reason() -> None:
    (fault,) = lint(chain(*GOOD, ("Which colour has that frame?", "Blue.")))
    assert (fault.gate, fault.unit, fault.unit_id, fault.turn_index) == ("lint.wording", "chain", "c", 3)
    assert fault.outcome is GateOutcome.FLAGGED
    assert fault.reason == "the question speaks of a frame: 'frame'"


def test_a_later_question_refers_or_shares_a_word() -> None:
    assert found(chain(*GOOD, ("What colour is the sink?", "It is white.")), "dependence") == []
    assert found(chain(*GOOD, ("What colour is the sofa?", "It is white.")), "dependence") == [3]
    assert found(chain(*GOOD, ("What happened before?", "A van arrived.")), "dependence") == []
    assert found(chain(*GOOD, ("What happened before noon?", "A van arrived.")), "dependence") == [3]
    assert found(chain(*GOOD, ("How many people are there?", "Two persons.")), "dependence") == [3]


def test_a_later_chinese_question_refers_or_shares_a_word() -> None:
    assert found(chain(*GOOD_ZH, ("架子是什么颜色？", "白色。")), "dependence", language="zh") == []
    assert found(chain(*GOOD_ZH, ("沙发应该是什么颜色？", "白色。")), "dependence", language="zh") == [3]


def test_a_dialogue_may_change_its_subject() -> None:
    turns = [Turn(question=q, references=(a,)) for q, a in (GOOD[0], ("What colour is the sofa?", "White."))]
    assert found(dialogue(*turns), "dependence") == []


@pytest.mark.parametrize(
    "question",
    [
        "What does he do at 0:32?",
        "What does he do 12 seconds in?",
        "What does he do 12 s into the video?",
        "What does he do at the 5th second?",
        "What does he hold at second 9?",
        "Which timestamp shows him?",
        "What can be seen in this frame?",
        "What do the keyframes tell of him?",
        "What is he doing in the image?",
        "What does he do while the picture shows a dog?",
        "Who stands behind him in the photo?",
        "他在第12秒做什么？",
        "他在第三分钟做什么？",
        "他在12秒左右做什么？",
        "画面第三十秒他在做什么？",
        "这一帧里他在做什么？",
        "图片里他在做什么？",
        "他在截图中做什么？",
    ],
)
def test_times_frames_and_images_are_not_spoken_of(question: str) -> None:
    language = "en" if question.isascii() else "zh"
    assert found(chain(*GOOD[:1], (question, "x")), "wording", language=language) == [1]


@pytest.mark.parametrize(
    "question",
    [
        "What does he lean against the window frame?",
        "What does he hang up in the picture frame?",
        "How does it look after 12 minutes in the oven?",
        "What does he imagine then?",
        "Why does he take a second bottle out of it?",
        "What does he do for a minute?",
        "他花了多少分钟才打开它？",
        "他第二次做了什么？",
    ],
)
def test_things_and_lengths_may_be_spoken_of(question: str) -> None:
    assert found(chain(*GOOD[:1], (question, "x")), "wording") == []


def test_a_talk_about_another_topic_may_be_about_images() -> None:
    turns = [Turn(question="How does a camera store an image?", extra={"about": about}) for about in ("topic", "video")]
    assert found(dialogue(*turns), "wording") == [1]


def test_answers_are_read_too() -> None:
    assert found(chain(("What does he carry?", "A crate, in the image.")), "wording") == [0]


def at(asked_s: float | None, start_s: float, end_s: float) -> Turn:
    return Turn(question="?", asked_at_s=asked_s, evidence=(Interval(start_s=start_s, end_s=end_s),))


def test_time_never_goes_back_in_a_chain() -> None:
    def chained(*turns: Turn) -> QAChain:
        return QAChain(id="c", video_id="v", turns=turns)

    assert found(chained(at(10, 0, 10), at(10, 0, 10), at(20, 10, 20)), "order") == []
    assert found(chained(at(20, 0, 10), at(10, 0, 10), at(20, 0, 10)), "order") == [1]
    assert found(chained(at(20, 10, 20), at(20, 0, 10)), "order") == [1]
    assert found(chained(at(20, 0, 30)), "order") == [0]
    assert found(chained(at(None, 0, 30), at(5, 0, 5)), "order") == []


def test_a_dialogue_may_go_back_to_earlier_evidence_but_not_in_time() -> None:
    assert found(dialogue(at(20, 10, 20), at(20, 0, 10)), "order") == []
    assert found(dialogue(at(20, 10, 20), at(10, 0, 10)), "order") == [1]


def test_questions_are_asked_once() -> None:
    assert found(chain(*GOOD, ("what does he take out of it", "Bottles.")), "duplicate") == [3]
    near = chain(*GOOD, ("What does he then take out of it?", "Bottles."))
    assert found(near, "duplicate") == [3]
    assert found(near, "duplicate", settings=LintSettings(min_overlap=1.0)) == []
    assert found(chain(*GOOD_ZH, ("他从里面又拿出了什么？", "瓶子。")), "duplicate", language="zh") == []
    assert found(chain(*GOOD_ZH, ("他从里面拿出了什么", "瓶子。")), "duplicate", language="zh") == [3]


def test_a_bored_user_may_repeat_himself() -> None:
    turns = [Turn(question="Okay.", references=("What about the dog?",), extra={"about": "chat"})] * 2
    assert lint(dialogue(*turns)) == []


def test_a_question_does_not_say_its_answer() -> None:
    given_away = ("Why does he put the green bottles on the shelf?", "He put bottles on the green shelf.")
    assert found(chain(*GOOD, given_away), "given_away") == [3]
    assert found(chain(*GOOD, ("Why does he put them there?", "To keep bottles dry.")), "given_away") == []
    assert found(chain(("他把木箱放在厨房吗？", "木箱放在厨房。")), "given_away", language="zh") == [0]


@pytest.mark.parametrize(
    ("question", "answer", "language", "faulty"),
    [
        ("Why?", "", "en", True),
        ("Why is it?", "", "en", False),
        ("why " * 41, "", "en", True),
        ("Why is it?", "so " * 121, "en", True),
        ("什么？", "", "zh", True),
        ("为什么？他呢", "", "zh", False),
        ("为什么" * 24, "", "zh", True),
        ("他为什么走？", "因为" * 121, "zh", True),
    ],
)
def test_lengths_are_bounded(question: str, answer: str, language: str, faulty: bool) -> None:
    assert bool(found(chain((question, answer)), "length", language=language)) is faulty


def test_text_is_in_the_language_that_was_asked_for() -> None:
    assert found(chain(*GOOD_ZH), "language") == [0, 0, 1, 1, 2, 2]
    assert found(chain(*GOOD), "language", language="zh") == [0, 0, 1, 1, 2, 2]
    assert found(chain(("NASA的宇航员在做什么？", "42")), "language", language="zh") == []
    assert found(chain(("What does the sign 出口 mean?", "It means exit.")), "language") == []


def test_every_rule_is_tried_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert all(f'"{name}"' in source for name in RULES)
