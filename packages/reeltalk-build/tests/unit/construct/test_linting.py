"""Faults that are found without a model: one passing and one failing example of every rule at least."""

from pathlib import Path
from time import process_time
from typing import Any

import pytest

from reeltalk.schema.dialogue import Dialogue, QAChain, Turn
from reeltalk.schema.gates import GateOutcome
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Task
from reeltalk_build.construct.linting import (
    ABOUT_KEY,
    GRAVE_FAULTS,
    RULES,
    TASK_LABEL,
    check_structure,
    lint,
    repeated,
    repeats_of,
    text_faults,
)
from reeltalk_build.construct.text_rules import TEXT_RULE_FILE, TEXT_RULES, Part
from reeltalk_build.construct.writers import Language

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


def test_a_talk_about_another_topic_may_be_about_images() -> None:
    turns = [Turn(question="How does a camera store an image?", extra={"about": about}) for about in ("topic", "video")]
    assert found(dialogue(*turns), "wording") == [1]


def test_answers_are_read_too() -> None:
    assert found(chain(("What does he carry?", "A crate, in the image.")), "wording") == [0]


def at(asked_s: float | None, start_s: float, end_s: float) -> Turn:
    return Turn(question="Why?", asked_at_s=asked_s, evidence=(Interval(start_s=start_s, end_s=end_s),))


def test_time_never_goes_back_in_a_chain() -> None:
    def chained(*turns: Turn) -> QAChain:
        return QAChain(id="c", video_id="v", turns=turns)

    assert found(chained(at(10, 0, 10), at(10, 0, 10), at(20, 10, 20)), "order") == []
    assert found(chained(at(20, 0, 10), at(10, 0, 10), at(20, 0, 10)), "order") == [1]
    assert found(chained(at(20, 10, 20), at(20, 0, 10)), "order") == [1]
    assert found(chained(at(20, 0, 30)), "sense") == [0]
    assert found(chained(at(None, 0, 30), at(5, 0, 5)), "order") == []


def test_a_dialogue_may_go_back_to_earlier_evidence_but_not_in_time() -> None:
    assert found(dialogue(at(20, 10, 20), at(20, 0, 10)), "order") == []
    assert found(dialogue(at(20, 10, 20), at(10, 0, 10)), "order") == [1]


def test_questions_are_asked_once() -> None:
    assert found(chain(*GOOD, ("what does he take out of it", "Bottles.")), "duplicate") == [3]
    near = chain(*GOOD, ("What does he then take out of it?", "Bottles."))
    assert found(near, "duplicate") == [3]
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


GOOD_TEXTS: dict[Part, list[str]] = TEXT_RULE_FILE.raw["good"]
FAULTY = [(rule, text) for rule, texts in TEXT_RULE_FILE.raw["faulty"].items() for text in texts] + [
    (rule.rule, text)
    for rule in TEXT_RULE_FILE.rules.values()
    for text in rule.right
    if rule.rule and "answer" not in rule.not_of and (not rule.only_of or "answer" in rule.only_of)
]


@pytest.mark.parametrize(("rule", "text"), FAULTY)
def test_each_class_of_fault_is_found_in_a_text(rule: str, text: str) -> None:
    chinese = any("\u4e00" <= character <= "\u9fff" for character in text) and rule != "language"
    assert rule in [name for name, _ in text_faults(text, part="answer", language="zh" if chinese else "en")]


@pytest.mark.parametrize(
    ("question", "fault"),
    [
        ("Does he sit down?", True), ("Is the cup red?", True), ("Has he left it there?", True), ("他坐下了吗？", True),
        ("有没有人进来？", True), ("And is she happy with that?", True), ("What does he do?", False),
        ("Can you tell me where he sits?", False), ("Do you remember who came in?", False), ("他怎么坐下的？", False),
        ("Is it red or blue?", False), ("After that, where does he go?", False),
    ],
)  # fmt: skip
def test_questions_are_open(question: str, fault: bool) -> None:
    language = "en" if question.isascii() else "zh"
    assert (found(chain((question, "x")), "yes_no", language=language) == [0]) is fault
    assert found(dialogue(Turn(question=question, extra={"about": "topic"})), "yes_no", language=language) == []


def test_a_first_question_refers_to_nothing() -> None:
    for question in ("Where does he put it?", "What is its colour?", "And what does the man take then?"):
        assert found(chain((question, "x"), *GOOD), "opening") == [0]
        assert found(dialogue(Turn(question=question, extra={ABOUT_KEY: "chat"})), "opening") == []
    assert found(chain(("他拿了什么？", "杯子。"), *GOOD_ZH), "opening", language="zh") == [0]
    assert found(chain(*GOOD), "opening") == found(chain(*GOOD_ZH), "opening", language="zh") == []


def test_a_turn_asks_one_question_and_answers_it() -> None:
    for faulty in (
        ("He takes it.", "x"), ("What is it? And where?", "x"), ("What is it?", "What do you mean?"),
        ("What is it when", "x"), ("What is it? It was a mug.", "x"), ("Where is it?", "Twice."),
        ("What is it?", "so it is " * 20),
    ):  # fmt: skip
        assert found(chain(GOOD[0], faulty), "exchange") == [1]
        assert found(dialogue(Turn(question=faulty[0], references=(faulty[1],))), "exchange") == []
    assert found(chain(("Tell me: what does he take?", "A crate.")), "exchange") == []


def test_a_fact_is_asked_for_once() -> None:
    told = (
        ("What does the man lift from the bench?", "A red kettle."),
        ("Which object does the man pick up from the bench?", "He picks up the red kettle."),
    )
    assert found(chain(*told), "same_fact") == [1]
    other = ("What falls to the floor in the end?", "The red kettle.")
    assert found(chain(told[0], other), "same_fact") == []
    assert found(chain(told[0], other, ("What rolls below the sofa?", "The red kettle.")), "same_fact") == [2]


def test_speakers_of_a_dialogue_may_come_back_and_think() -> None:
    turn = Turn(question="What does he do with the crate mentioned earlier?", references=("I think he opens it.",))
    assert found(dialogue(turn), "numbering") == found(dialogue(turn), "opinion") == []
    assert found(chain(*GOOD, (turn.question, turn.references[0])), "numbering") == [3]
    assert found(chain(*GOOD, (turn.question, turn.references[0])), "opinion") == [3]


def test_long_runs_are_read_in_linear_time() -> None:
    started = process_time()
    for run in (
        " ",
        "\n",
        "\n ",
        "(",
        "[",
        "【",
        "“",
        "<",
        "*",
        "1. ",
        "a. ",
        "- ",
        "a",
        "A) ",
        "one ",
        "the ",
        "在",
        "[insert ",
        "](",
    ):
        text_faults(run * (64_000 // len(run)), part="answer")
        list(lint(chain((run * (64_000 // len(run)), "x"))))
    assert process_time() - started < 20


def test_an_answer_is_no_question() -> None:
    assert found(chain((GOOD[0][0], GOOD[0][0])), "repeats_question") == [0]
    assert found(chain((GOOD[0][0], f"{GOOD[0][0]} A crate.")), "repeats_question") == [0]
    assert found(chain(*GOOD), "repeats_question") == []


def labelled(task: Task, question: str, answer: str, about: str = "video") -> Turn:
    return Turn(question=question, references=(answer,), labels={TASK_LABEL: (task.value,)}, extra={ABOUT_KEY: about})


VIDEO = [Turn(question=q, references=(a,), extra={ABOUT_KEY: "video"}) for q, a in GOOD]


@pytest.mark.parametrize(
    ("turn", "rule"),
    [
        (labelled(Task.ANSWER_REFUSAL, "What colour is the umbrella?", "It is red."), "task"),
        (labelled(Task.ANSWER_REFUSAL, "What colour is the umbrella?", "The video shows no umbrella."), None),
        (labelled(Task.CONTENT_SUMMARY, "Please sum up.", "Yes."), "task"),
        (labelled(Task.CONTENT_SUMMARY, "Please sum up.", "He takes a crate with bottles to the shelf at home."), None),
    ],
)  # fmt: skip
def test_a_round_does_what_its_task_demands(turn: Turn, rule: str | None) -> None:
    results = {result.gate for result in lint(dialogue(*VIDEO, turn)) if result.turn_index == 3}
    assert f"lint.{rule}" in results if rule else "lint.task" not in results


def ends_with(task: Task, question: str, answer: str, language: Language = "en") -> set[str]:
    """The rules of tasks that find fault with the last round, `structure` among them."""
    pairs = GOOD_ZH if language == "zh" else GOOD
    before = [Turn(question=q, references=(a,), extra={ABOUT_KEY: "video"}) for q, a in pairs]
    unit = dialogue(*before, before[-1], labelled(task, question, answer))
    rules = {row.gate.removeprefix("lint.") for row in lint(unit, language=language) if row.turn_index == 4}
    return rules & {"task"} | {"structure" for told in check_structure(unit, task) if "speaks of round" in told}


def test_a_refusal_refuses() -> None:
    umbrella = "What colour is the umbrella?"
    for answer in (
        "It is red.", "Red.", "He carries a red umbrella.", "The umbrella is blue with white dots.", "A Toyota.",
        "He put it on the sofa.", "The dog sleeps under the table.", "He opens it at the door.", "She gave it to him.",
        "It leans at the wall.", "It has three handles.",
    ):  # fmt: skip
        assert ends_with(Task.ANSWER_REFUSAL, umbrella, answer) == {"task"}, answer
    for answer in ("红色的。", "它是蓝色的。", "他把伞放在门口。"):
        assert ends_with(Task.ANSWER_REFUSAL, "雨伞是什么颜色的？", answer, "zh") == {"task"}, answer
    for answer in (
        "The video shows no umbrella.", "There isn't an umbrella in the video.", "That is never shown.", "He has none.",
        "I can't see an umbrella anywhere; he only carries a crate.", "Sorry, I don't see one.",
        "An umbrella does not come up in the video.", "I'm afraid the video leaves that open.",
        "You may be thinking of the crate; he carries that.", "Nothing in the video tells us.",
    ):  # fmt: skip
        assert ends_with(Task.ANSWER_REFUSAL, umbrella, answer) == set(), answer
    for answer in ("视频里没有出现雨伞。", "看不到雨伞。", "视频并未提到，无法回答。"):
        assert ends_with(Task.ANSWER_REFUSAL, "雨伞是什么颜色的？", answer, "zh") == set(), answer


def test_a_summary_sums_up() -> None:
    for answer in ("Yes.", "Okay.", "A man.", "He sits.", "Sure.", "That is all.", "Nothing much."):
        assert ends_with(Task.CONTENT_SUMMARY, "Please sum up.", answer), answer
    for answer in ("好的。", "一个男人。"):
        assert ends_with(Task.CONTENT_SUMMARY, "请总结一下。", answer, "zh"), answer
    good = "A man carries a crate into the kitchen, takes three bottles out and puts them on the shelf."
    assert ends_with(Task.CONTENT_SUMMARY, "Please sum up.", good) == set()
    good = "男人把木箱搬进厨房，拿出三个绿色的瓶子放到水槽上方的架子上。"
    assert ends_with(Task.CONTENT_SUMMARY, "请总结一下。", good, "zh") == set()


def test_a_recall_recalls_a_round_that_there_is() -> None:
    for answer in (
        "In round 9 we said that he carries a crate.", "As said in round 5, he carries a crate.",
        "In round 7 it was a wooden crate.", "In the ninth round you asked about the crate.",
        "In turn 8 we said a crate.", "In round seven we spoke of a crate.", "Round 12 says that it was a crate.",
        "In the 6th round we said a crate.",
        "In round no. 9 he carries a crate.", "In round 0 we said a crate.",
    ):  # fmt: skip
        assert ends_with(Task.MEMORY_RECALL, "What did he bring?", answer) == {"structure"}, answer
    assert ends_with(Task.MEMORY_RECALL, "他搬了什么？", "第九轮说过他搬进木箱。", "zh") == {"structure"}
    assert ends_with(Task.MEMORY_RECALL, "他搬了什么？", "第一轮说过，他搬进了一个木箱。", "zh") == set()
    assert ends_with(Task.MEMORY_RECALL, "What about bottles?", "In the second round: three green bottles.") == set()


@pytest.mark.parametrize(("part", "text"), [(part, text) for part, texts in GOOD_TEXTS.items() for text in texts])
def test_a_good_text_has_no_faults(part: Part, text: str) -> None:
    chinese = (text[0] >= "\u4e00" and text[0] <= "\u9fff") or "的" in text
    assert text_faults(text, part=part, language="zh" if chinese else "en") == []


@pytest.mark.parametrize(
    ("text", "part", "language"),
    [
        ("Yes.", "summary", "en"), ("好的。", "summary", "zh"), ("A man.", "caption", "en"),
        ("一个人。", "caption", "zh"), ("Cup", "object caption", "en"), ("Why?", "question", "en"),
        ("Red?", "checklist item", "en"),
    ],
)  # fmt: skip
def test_a_text_is_long_enough_for_what_it_is(text: str, part: Part, language: Language) -> None:
    assert [rule for rule, _ in text_faults(text, part=part, language=language)] == ["length"]


def test_a_turn_recurs_if_question_and_answer_do() -> None:
    first, again = chain(*GOOD), chain(("Who comes in?", "A woman in a coat."), GOOD[1]).model_copy(update={"id": "e"})
    next_one = chain(("Who goes out?", "A boy."), (GOOD[1][0], "A dusty old violin.")).model_copy(update={"id": "f"})
    (fault,) = repeated([first, again, next_one])
    assert (fault.gate, fault.unit_id, fault.turn_index) == ("lint.repeated", "e", 1)
    assert fault.reason == "it asks and answers the same as c, question 2"
    assert repeats_of(again, [first]) == [(1, f"it asks and answers the same as {GOOD[1][0]!r}")]
    assert repeats_of(next_one, [first]) == []


def test_a_turn_that_many_videos_share_recurs_in_its_own_video_only() -> None:
    told = [chain(*GOOD).model_copy(update={"id": f"{n}", "video_id": f"video {n}"}) for n in range(60)]
    told.append(told[-1].model_copy(update={"id": "again"}))
    turns = [flag for flag in repeated(told) if flag.turn_index is not None]
    assert {flag.unit_id for flag in turns} == {"again"}
    assert {flag.reason for flag in turns} <= {f"it asks and answers the same as 59, question {n}" for n in (1, 2, 3)}


def test_a_chain_is_generic_if_most_of_its_questions_are_asked_elsewhere() -> None:
    generic = chain(*((question, f"A thing, the {number}th.") for number, (question, _) in enumerate(GOOD)))
    (fault,) = repeated([chain(*GOOD), generic.model_copy(update={"id": "e"})])
    assert fault.turn_index is None
    assert fault.reason == "3 of its 3 questions are asked in earlier chains, first: c, question 1"
    assert [index for index, _ in repeats_of(generic, [chain(*GOOD)])] == [0, 1, 2]


def test_every_rule_is_tried_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    in_file = {rule.rule for rule in TEXT_RULE_FILE.rules.values() if rule.right} | set(TEXT_RULE_FILE.raw["faulty"])
    assert all(f'"{name}"' in source or name in in_file for name in (*RULES, *TEXT_RULES))
    assert {*RULES, *TEXT_RULES} >= GRAVE_FAULTS


@pytest.mark.parametrize("sign", ["1", "\n", "\t", "a ", "0:", "( ", "I am a ", "，"])
def test_a_text_without_end_is_checked_in_a_moment_and_found(sign: str) -> None:
    # Before, some of these took minutes.
    names = {name for name, _ in text_faults(f"He{sign * 20_000}walks.", part="answer")}
    assert not sign.strip() or names & {"looping", "length"}
