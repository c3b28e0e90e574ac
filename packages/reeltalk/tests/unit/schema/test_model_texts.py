"""What models put around an answer is taken off: every row of the table has examples, and each holds."""

import json
import tomllib
from typing import Any

import pytest

from reeltalk.schema.model_texts import (
    FORMS,
    LONGEST_ANNOUNCED,
    announced_answer,
    plain_answer,
    plain_reply,
    without_thoughts,
)

TABLE = tomllib.loads(FORMS.read_text(encoding="utf-8"))
THOUGHTS = [example for row in TABLE["thought"] for example in row["examples"]]


@pytest.mark.parametrize(("text", "left"), [*THOUGHTS, *TABLE["tokens"]["examples"], *TABLE["next_turn"]["examples"]])
def test_thoughts_and_tokens_are_taken_off(text: str, left: str) -> None:
    assert without_thoughts(text) == left
    assert plain_reply(text) == plain_answer(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [pair for part in ("leads", "viewing", "tails", "explanations", "offers") for pair in TABLE[part]["examples"]],
)
def test_leads_and_offers_are_taken_off_an_answer(text: str, left: str) -> None:
    assert plain_answer(text) == left
    assert without_thoughts(text) == text, "a stored answer keeps its words"


@pytest.mark.parametrize(("text", "left"), TABLE["finals"]["examples"])
def test_what_is_announced_as_the_answer_is_the_answer(text: str, left: str) -> None:
    assert plain_answer(text) == left
    assert announced_answer(plain_reply(text)) == left


def rows(part: Any) -> list[Any]:
    return part if isinstance(part, list) else [part]


def test_every_row_has_examples_and_every_one_changes_with_it() -> None:
    assert all(row["examples"] for part in TABLE.values() for row in rows(part))
    assert all(text != left for part in ("thought", "tokens", "finals", "offers") for row in rows(TABLE[part])
               for text, left in row["examples"])  # fmt: skip


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("**a whisk**", "a whisk"),
        ("`a whisk`", "a whisk"),
        ("# Answer\na whisk", "Answer\na whisk"),
        ("<b>a whisk</b>", "a whisk"),
        ("<answer>a whisk</answer>", "a whisk"),
        ("So \\boxed{a whisk}.", "a whisk"),
        ("$\\text{a whisk}$", "a whisk"),
        ("```\na whisk\n```", "a whisk"),
        (json.dumps({"answer": "a whisk"}), "a whisk"),
        (json.dumps({"answer": "a whisk", "reason": "wires"}), "a whisk"),
        (json.dumps(["a whisk"]), "a whisk"),
        (json.dumps({"answer": True}), "yes"),
        (json.dumps({"answer": 3}), "3"),
        ("\uff21\u200b", "A"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("a_b_c", "a_b_c"),
        ("3 < 5", "3 < 5"),
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2}'),
        ("{whisk}", "{whisk}"),
    ],
)
def test_markup_goes_and_words_stay(text: str, left: str) -> None:
    assert plain_reply(text) == left


@pytest.mark.parametrize("text", ["", " \n", "a whisk", "I think it is a whisk.", "It is <3 s.", "No. Yes.", "是的。"])
def test_a_plain_text_stays_as_it_is(text: str) -> None:
    assert without_thoughts(text) == plain_reply(text) == text.strip()


@pytest.mark.parametrize("text", [text for text, _ in THOUGHTS])
def test_what_was_taken_off_once_leaves_nothing_to_take_off(text: str) -> None:
    once = without_thoughts(text)
    assert without_thoughts(once) == once


def test_a_long_text_is_no_announced_answer_and_ends_somewhere() -> None:
    assert announced_answer("Final answer: " + "a" * (LONGEST_ANNOUNCED + 1)) is None
    assert announced_answer("Final answer: ...") is None
