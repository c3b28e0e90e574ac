"""Replies to a yes-or-no question, in the forms in which models give them."""

import math

import pytest

from reeltalk.llm.wire import token_logprobs
from reeltalk_streaming.proactive.yes_or_no import read_yes_or_no, yes_probability

YES = [
    "yes", "Yes.", "**Yes**", "*Yes* — the kettle boils", "The answer is yes.", "Answer: Yes", "Final answer: **Yes**.",
    '{"answer": "yes"}', '{"answer": "Yes", "reason": "No sign of doubt"}', '```json\n{"speak": true}\n```', '["yes"]',
    "{'answer': 'yes'}", "<think>no, or rather</think>Yes", "<answer>yes</answer>", r"\boxed{yes}", "“Yes.”", "- Yes",
    "Yes, it is time to speak.", "Yes the kettle boils", "Yes\n\nThe cup was taken.", "It is time, so yes.",
    "I would say yes.", "It's a yes.",
    "Yes, no doubt.", "Yes; there is no time to lose", "Sure.", "Yep", "是的", "1", "Ok, yes.",
    "<THINK>no</THINK>Yes", "no, or rather yes\n</think>\nYes", "ｙｅｓ", "Y\u200bes", "◁think▷no◁/think▷Yes",
    "<|channel|>analysis<|message|>no?<|end|><|start|>assistant<|channel|>final<|message|>Yes<|return|>",
]  # fmt: skip
NO = [
    "no", "No.", "**No**", "The answer is no.", "Answer: **No**, because nothing happened", '{"answer": "no"}',
    '{"speak": false}', "Not yet.", "No, not yet.", "Nope", "I'd say no.", "It is not time yet, so no.", "不",
    '"No"', "<answer>No</answer>", "{answer: no}", "No; the cup is still there.", "No - the door stays closed",
]  # fmt: skip
NEITHER = [
    "", "Yes and no", "Yes or no?", "yes/no", "Maybe", "No mug is on the table.", "No. Yes.", "No, wait, yes.",
    "Yes, but no", "I cannot tell", "The kettle boils.", "If yes, tell me", "<think>yes", '{"answer": "maybe"}',
    '{"answer": "yes", "final": "no"}', "Answer: yes\nFinal answer: no", "<THINK>yes", "[THINK]yes", "◁think▷yes, yes",
    "<|channel|>analysis<|message|>yes", "analysisYes, I think", "yes</think>",
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


def logs(**chances: float) -> dict[str, float]:
    return {token: math.log(chance) for token, chance in chances.items()}


def test_the_probability_of_yes_is_read_where_the_answer_is_said() -> None:
    assert yes_probability((logs(Yes=0.6, No=0.3, yes=0.1),)) == pytest.approx(0.7)
    assert yes_probability((logs(No=0.8, Yes=0.2),)) == pytest.approx(0.2)
    assert yes_probability(({"Not": math.log(0.9), " yes": math.log(0.1)},)) == pytest.approx(0.1)
    # What comes before the answer says nothing.
    bold = ({"**": math.log(0.9), "No": math.log(0.1)}, {"Yes": math.log(0.75), "No": math.log(0.25)})
    assert yes_probability(bold) == pytest.approx(0.75)
    assert yes_probability((logs(The=0.9, Yes=0.1),)) is None
    assert yes_probability(None) is None


def test_probabilities_of_a_server_are_read_or_left_out() -> None:
    def token(text: str, value: object, *others: tuple[str, float]) -> dict[str, object]:
        top = [{"token": other, "logprob": chance} for other, chance in others]
        return {"token": text, "logprob": value, "top_logprobs": top}

    found = token_logprobs({"content": [token("Yes", -0.1, ("Yes", -0.1), ("No", -2.5)), token(".", -0.01)]})
    assert found == ({"Yes": -0.1, "No": -2.5}, {".": -0.01})
    broken: list[object] = [{"content": None}, {"content": [1]}, {"content": [token("Yes", "high")]}]
    for told in (None, {}, [], "no", {"content": [token("Yes", 3.0)]}, *broken):
        assert token_logprobs(told) is None


@pytest.mark.parametrize("sign", [*".,;:()[]-*_`\n ", "yes or ", "</a>"])
def test_a_reply_of_signs_without_end_is_read_in_a_moment(sign: str) -> None:
    # Before, the quick ones took seconds and the slow ones hours.
    assert read_yes_or_no(f"{sign * 20_000}x") is None
