"""Tagging and question types: closed vocabularies by a versioned manual, from a machine's proposals."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from reeltalk.errors import ModelError
from reeltalk.llm import Message, Prompt, Reply
from reeltalk.schema.dialogue import QAChain, Turn
from reeltalk.schema.labels import TAGGING_MANUAL, TagProposal
from reeltalk.store.content import Content
from reeltalk_build.construct.tagging.model_tagger import ModelTagging
from reeltalk_build.construct.tagging.turns import TurnToTag
from reeltalk_review.describing import doubt_of
from reeltalk_review.errors import InvalidValue
from reeltalk_review.tasks.labelling import LabelsTask, Vocabulary
from reeltalk_review.tasks.registry import TAGGING, TYPES

BOTH = pytest.mark.parametrize("task", [TAGGING, TYPES], ids=["tagging", "types"])
TARGET, CONTENT, THINKING = "cogme.target", "cogme.content", "cogme.thinking"
RIGHT = {TARGET: ["Object"], CONTENT: ["Identity"], THINKING: ["Recall"]}


def proposal(chain: str, vocabulary: str, tags: tuple[str, ...], margin: float | None) -> TagProposal:
    return TagProposal(
        unit="chain",
        unit_id=chain,
        turn_index=0,
        vocabulary=vocabulary,
        tags=tags,
        probabilities={tag: 0.91234567 for tag in tags},
        margin=margin,
        tagger="model:t#1",
    )


def content() -> Content:
    def chain(name: str, **labels: tuple[str, ...]) -> QAChain:
        return QAChain(id=name, video_id="v", turns=(Turn(question="What is it?", labels=labels),))

    return Content(
        chains=[
            chain("untagged"),
            chain("sure", **{TARGET: ("Object",), "svbench.skill": ("II",)}),
            chain("close"),
            chain("unknown"),
        ],
        tag_proposals=[
            proposal("sure", TARGET, ("Place",), 0.4),
            proposal("close", TARGET, ("Place", "Object"), 0.02),
            proposal("close", CONTENT, ("Identity",), 0.3),
            proposal("unknown", TARGET, (), None),
        ],
    )


def unit(task: LabelsTask, name: str) -> Any:
    return next(draft.content for draft in task.drafts(content()) if draft.target_id == name)


def test_the_closest_calls_are_the_most_doubtful() -> None:
    doubts = {draft.target_id: doubt_of(draft.content) for draft in TAGGING.drafts(content())}
    assert sorted(doubts, key=lambda unit: -doubts[unit]) == ["unknown", "close", "sure", "untagged"]
    assert TAGGING.order == TYPES.order == "doubt"


def test_a_turn_starts_with_its_tags_or_with_what_was_proposed() -> None:
    assert TAGGING.draft_value(unit(TAGGING, "sure"), "0")["labels"] == {TARGET: ["Object"], CONTENT: [], THINKING: []}
    start = TAGGING.draft_value(unit(TAGGING, "close"), "0")
    assert start["labels"] == {TARGET: ["Object", "Place"], CONTENT: ["Identity"], THINKING: []}
    assert unit(TAGGING, "close")["proposals"]["0"][TARGET]["probabilities"] == {"Place": 0.9123, "Object": 0.9123}


def test_one_question_may_be_tagged_otherwise_on_another_clip() -> None:
    one, other = unit(TAGGING, "sure"), unit(TAGGING, "close")
    assert one["turns"][0]["question"] == other["turns"][0]["question"]
    assert TAGGING.draft_value(one, "0") != TAGGING.draft_value(other, "0")


def test_what_is_stored_names_the_manual_and_has_the_vocabularys_order() -> None:
    given = {**RIGHT, TARGET: ["Emotion", "Character", "Object"]}
    stored = TAGGING.check(unit(TAGGING, "sure"), "0", {"decision": "accept", "labels": given, "manual": "forged"})
    assert stored["labels"][TARGET] == ["Character", "Object", "Emotion"]
    assert stored["decision"] == "edit"
    assert stored["manual"] == Prompt.load(TAGGING_MANUAL).signature
    assert stored["manual"].startswith("tagging-manual.v2#")


def test_labels_as_proposed_are_accepted_and_others_edited() -> None:
    start = TYPES.draft_value(unit(TYPES, "sure"), "0")
    assert start["labels"] == {"vdact.question_type": []}
    close = unit(TAGGING, "close")
    begun = TAGGING.draft_value(close, "0")["labels"]
    assert (
        TAGGING.check(close, "0", {"decision": "edit", "labels": {**begun, THINKING: ["Recall"]}})["decision"] == "edit"
    )
    whole = {**close, "turns": [{"question": "?", "labels": RIGHT}]}
    assert TAGGING.check(whole, "0", {"decision": "edit", "labels": RIGHT})["decision"] == "accept"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({TARGET: []}, "1 to 3, not 0"),
        ({CONTENT: ["Identity", "Feature", "Means", "Context"]}, "1 to 3, not 4"),
        ({THINKING: []}, "exactly 1, not 0"),
        ({THINKING: ["Recall", "Reasoning"]}, "exactly 1, not 2"),
        ({TARGET: ["Objekt"]}, "no label 'Objekt'"),
        ({"svbench.skill": ["II"]}, "no vocabulary"),
    ],
)
def test_a_turn_takes_one_to_three_targets_and_contents_and_one_thinking(changed: Any, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        TAGGING.check(unit(TAGGING, "sure"), "0", {"decision": "accept", "labels": {**RIGHT, **changed}})


@BOTH
def test_what_is_being_tagged_can_be_kept_and_is_no_decision(task: LabelsTask) -> None:
    stored = task.check(unit(task, "sure"), "0", {"labels": {}})
    assert not task.is_decided(stored)
    assert set(stored["labels"]) == {vocabulary.name for vocabulary in task.vocabularies}


@BOTH
@pytest.mark.parametrize("value", [None, [], {"decision": "reject"}, {"note": 3}, {"labels": {"x": "y"}}])
def test_what_is_no_value_is_refused(task: LabelsTask, value: Any) -> None:
    with pytest.raises(InvalidValue):
        task.check(unit(task, "sure"), "0", value)


@BOTH
@pytest.mark.parametrize("place", ["1", "00", "-1", "", "x", "²"])
def test_a_turn_that_is_not_there_is_refused(task: LabelsTask, place: str) -> None:
    with pytest.raises(InvalidValue, match="turns 0 to 0"):
        task.check(unit(task, "sure"), place, {"labels": {}})


def test_two_people_agree_on_labels_whatever_they_noted() -> None:
    shown = unit(TAGGING, "sure")

    def essence(**value: Any) -> Any:
        return TAGGING.essence(shown, "0", TAGGING.check(shown, "0", value))

    assert essence(decision="accept", labels=RIGHT, note="hm") == essence(decision="edit", labels=RIGHT)
    assert essence(decision="skip") is None
    assert essence(decision="accept", labels={**RIGHT, THINKING: ["Grasping"]}) != essence(
        decision="accept", labels=RIGHT
    )


def test_agreement_sees_sets_and_one_way_of_thinking() -> None:
    shown = unit(TAGGING, "sure")
    tagged = TAGGING.check(shown, "0", {"decision": "accept", "labels": {**RIGHT, TARGET: ["Place", "Object"]}})
    assert [(code.variable, code.scale, code.value) for code in TAGGING.codes(shown, "0", tagged)] == [
        (TARGET, "set", ["Object", "Place"]),
        (CONTENT, "set", ["Identity"]),
        (THINKING, "nominal", "Recall"),
    ]
    skipped = TAGGING.check(shown, "0", {"decision": "skip"})
    assert {code.value for code in TAGGING.codes(shown, "0", skipped)} == {None}


def test_no_turn_rests_on_the_labels_of_another() -> None:
    shown = unit(TAGGING, "sure")
    assert not TAGGING.affects_others(None, TAGGING.draft_value(shown, "0"))
    assert list(TAGGING.dependents(shown, "0")) == []


def test_lines_tell_labels_in_words() -> None:
    shown = unit(TYPES, "sure")
    value = TYPES.check(
        shown, "0", {"decision": "accept", "labels": {"vdact.question_type": ["REF", "D-OBJ"]}, "note": "n"}
    )
    assert TYPES.summary(shown, "0", value) == [("Decision", "edit"), ("Question types", "D-OBJ, REF"), ("Note", "n")]


@BOTH
def test_the_manual_explains_every_label_and_every_label_has_a_key_of_its_own(task: LabelsTask) -> None:
    labels = [label for vocabulary in task.vocabularies for label in vocabulary.labels]
    assert [label for label in task.manual.says if label in labels] == labels
    keys = "".join(vocabulary.keys for vocabulary in task.vocabularies)
    assert len(set(keys)) == len(keys) == len(labels)


class Listening:
    """Is asked, and says nothing."""

    name: str = "listening"
    sees_images: bool = False
    sampling: Mapping[str, object] = MappingProxyType({})

    def __init__(self) -> None:
        self.heard: list[Message] = []

    def ask(self, messages: Sequence[Message], *, schema: Any = None) -> Reply:
        self.heard += messages
        raise ModelError("there is no reply to be had")

    def close(self) -> None:
        """Nothing is open."""


def test_people_and_models_tag_by_the_same_manual() -> None:
    model = Listening()
    asked = TurnToTag("chain", "c", 0, "v", Turn(question="What is it?"), (), {})
    with pytest.raises(ModelError):
        ModelTagging([model]).tag([asked], lambda *_: None)
    assert model.heard[0].text == Prompt.load(TAGGING_MANUAL).text
    titles = [section["title"].split(":")[0] for section in TAGGING.manual.sections]
    assert titles == ["", "TARGET", "CONTENT", "THINKING", "TYPES", "Examples"]


@pytest.mark.parametrize("task", [TAGGING, TYPES], ids=lambda task: task.kind)
def test_the_screen_gets_closed_vocabularies_with_keys_and_the_manual(task: LabelsTask) -> None:
    shown = task.visible_content({"turns": []}, {})
    assert list(shown["vocabularies"]) == [vocabulary.name for vocabulary in task.vocabularies]
    for known in shown["vocabularies"].values():
        assert known["closed"]
        assert len(known["labels"]) == len(set(known["keys"])) == len(known["says"])
    assert shown["manual"]["signature"] == task.manual.signature


def test_a_manual_that_lacks_a_label_is_refused_when_the_task_is_made(tmp_path: Path) -> None:
    manual = tmp_path / "manual.md"
    manual.write_text("<!-- skills v1 -->\n- II: what is it?\n", encoding="utf-8")
    vocabulary = Vocabulary("svbench.skill", "Skills", 1, 9, "123456789")
    with pytest.raises(ValueError, match="says nothing about PA, CR"):
        LabelsTask("skills", "Name skills", (vocabulary,), manual)
