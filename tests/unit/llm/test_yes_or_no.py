"""Replies to a yes-or-no question, in the forms in which models give them."""

import pytest

from reeltalk.llm.yes_or_no import read_yes_or_no

YES = [
    "yes", "Yes.", "**Yes**", "*Yes* — the kettle boils", "The answer is yes.", "Answer: Yes", "Final answer: **Yes**.",
    '{"answer": "yes"}', '{"answer": "Yes", "reason": "No sign of doubt"}', '```json\n{"speak": true}\n```', '["yes"]',
    "{'answer': 'yes'}", "<think>no, or rather</think>Yes", "<answer>yes</answer>", r"\boxed{yes}", "“Yes.”", "- Yes",
    "Yes, it is time to speak.", "Yes the kettle boils", "Yes\n\nThe cup was taken.", "It is time, so yes.",
    "I would say yes.", "It's a yes.",
    "Yes, no doubt.", "Yes; there is no time to lose", "Sure.", "Yep", "是的", "1", "Ok, yes.",
]  # fmt: skip
NO = [
    "no", "No.", "**No**", "The answer is no.", "Answer: **No**, because nothing happened", '{"answer": "no"}',
    '{"speak": false}', "Not yet.", "No, not yet.", "Nope", "I'd say no.", "It is not time yet, so no.", "不",
    '"No"', "<answer>No</answer>", "{answer: no}", "No; the cup is still there.", "No - the door stays closed",
]  # fmt: skip
NEITHER = [
    "", "Yes and no", "Yes or no?", "yes/no", "Maybe", "No mug is on the table.", "No. Yes.", "No, wait, yes.",
    "Yes, but no", "I cannot tell", "The kettle boils.", "If yes, tell me", "<think>yes", '{"answer": "maybe"}',
    '{"answer": "yes", "final": "no"}', "Answer: yes\nFinal answer: no",
]  # fmt: skip


@pytest.mark.parametrize("text", YES)
def test_yes(text: str) -> None:
    assert read_yes_or_no(text) == "yes"


@pytest.mark.parametrize("text", NO)
def test_no(text: str) -> None:
    assert read_yes_or_no(text) == "no"


@pytest.mark.parametrize("text", NEITHER)
def test_neither_or_both(text: str) -> None:
    assert read_yes_or_no(text) is None
