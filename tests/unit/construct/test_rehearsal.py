"""The rehearsed model knows every prompt."""

from reeltalk.construct.prompting import REPLY_TYPES
from reeltalk.construct.rehearsed_replies import REPLIES


def test_every_prompt_can_be_rehearsed() -> None:
    asked = {kind.__name__ for name, kind in REPLY_TYPES.items() if name != "rubric"}
    assert asked <= set(REPLIES)
