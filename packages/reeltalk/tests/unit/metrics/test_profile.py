"""CogME's profile where rubrics tell credit at single tags apart."""

import pytest

from reeltalk.metrics.profile import TaggedAnswer, highest_thinking, profile
from reeltalk.schema.labels import Thinking


def test_credit_at_a_tag_counts_there_and_the_whole_credit_elsewhere() -> None:
    answer = TaggedAnswer(("Behavior", "Place", "Context"), Thinking.GRASPING, 0.5, {"Behavior": 1.0, "Place": 0.0})
    found = profile([answer])
    assert [found.weighted[tag] for tag in ("Behavior", "Place", "Context", "Grasping")] == [100.0, 0.0, 50.0, 50.0]
    assert found.accuracy == 50.0


def test_credit_at_a_tag_that_the_question_does_not_carry_counts_nowhere() -> None:
    found = profile([TaggedAnswer(("Behavior",), Thinking.RECALL, 1.0, {"Object": 0.0})])
    assert found.weighted["Object"] is None
    assert found.weighted["Behavior"] == 100.0


def test_credit_at_a_tag_must_be_a_share() -> None:
    with pytest.raises(ValueError, match="within 0 and 1, got 2"):
        profile([TaggedAnswer(("Behavior",), Thinking.RECALL, 1.0, {"Behavior": 2.0})])


def test_of_several_ways_of_thinking_the_highest_counts() -> None:
    assert highest_thinking(("Recall", "Reasoning", "Grasping")) is Thinking.REASONING
    assert highest_thinking(("Dreaming",)) is None
