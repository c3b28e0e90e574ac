"""The ways of thinking that CogME tells apart."""

from reeltalk.metrics.profile import highest_thinking
from reeltalk.schema.labels import Thinking


def test_of_several_ways_of_thinking_the_highest_counts() -> None:
    assert highest_thinking(("Recall", "Reasoning", "Grasping")) is Thinking.REASONING
    assert highest_thinking(("Dreaming",)) is None
