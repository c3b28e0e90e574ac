"""Replies are read as records or not at all, and asked for once more."""

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from reeltalk.llm import MalformedReplyError, Message, RecordResult, Reply, ask_for, read_record, repair_signature
from reeltalk.llm.loose_json import LooseReader


class Verdict(BaseModel):
    """A record."""

    model_config = ConfigDict(extra="forbid")

    score: int
    why: str


@dataclass
class Loose:
    """A record whose fields can all be missing."""

    score: int | None = None
    inner: dict[str, int] | None = None


RIGHT = '{"score": 3, "why": "它在桌上 {sic}"}'
READ = Verdict(score=3, why="它在桌上 {sic}")


@pytest.mark.parametrize(
    "text",
    [
        RIGHT,
        f"```json\n{RIGHT}\n```",
        f"```\n{RIGHT}```",
        f"Sure! {RIGHT} Anything else?",
        f"好的，结果如下：{RIGHT}。谢谢！",
        f"「{RIGHT}」",
        f'<think>Perhaps {{"score": 9, "why": "no"}}?</think>\n{RIGHT}',
        f"I fill {{score}} and {{why}} in: {RIGHT}",
        f'As {{"score": "a number"}} asks: {RIGHT}',
        f"\ufeff{RIGHT}",
        RIGHT.replace(", ", ",\n\t"),
    ],
)
def test_the_record_is_found_whatever_stands_around_it(text: str) -> None:
    assert read_record(text, Verdict) == READ


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON object"),
        ("I cannot help with that.", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ("{", "stops before its end"),
        (RIGHT[:-5], "stops before its end"),
        (RIGHT[:-1], "stops before its end"),
        ('{"score": 3, "why": }', "is broken at"),
        ("{'score': 3}", "why: Field required"),
        ("{'score': 3, 'why': 'x'", "is broken at"),
        ('{"score": 3}', "why: Field required"),
        ('{"score": "3.5", "why": "x"}', "score: Input should be a valid integer"),
        ('{"score": "3 of 5", "why": "x"}', "score: Input should be a valid integer"),
        ('{"score": true, "why": "x"}', "score: Input should be a valid integer"),
        ('{"score": 3.5, "why": "x"}', "score: Input should be a valid integer"),
        ('{"score": NaN, "why": "x"}', "NaN is no JSON"),
        ('{"score": 3, "why": "x", "more": 1}', "more: Extra inputs"),
        ('{"score": 3, "why": "\\ud800"}', "Invalid JSON: .*hex escape"),
        ('{"score": ' + "9" * 5000 + ', "why": "x"}', "cannot be read"),
        ('{"a":' * 100_000, "cannot be read"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, reason: str) -> None:
    with pytest.raises(MalformedReplyError, match=reason) as caught:
        read_record(text, Verdict)
    assert caught.value.text == text
    assert len(caught.value.reason) < 400


def test_a_part_of_a_broken_record_is_no_record() -> None:
    with pytest.raises(MalformedReplyError, match="stops before its end"):
        read_record('{"inner": {"score": 1}, "score', Loose)
    with pytest.raises(MalformedReplyError, match="is broken at"):
        read_record('{"inner": oops, "more": {"score": 1}}', Loose)


OTHER = '{"score": 9, "why": "as the candidate says"}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{RIGHT}\n{OTHER}", "several records that differ"),
        (f"The candidate wrote {OTHER}. I say: {RIGHT}", "several records that differ"),
        (f"{RIGHT} {RIGHT.replace('3', 'true')}", "holds another: score: Input should be"),
        (f"{OTHER} is what it wants. {RIGHT[:-1]},}}", "several records that differ"),
        (f'{OTHER} is what it wants. {{"score": 3, "why": it}}', "beside a record, the JSON is broken at"),
        (f"{OTHER} is what it wants. {RIGHT[:-9]}", "beside a record, the JSON stops"),
        (f'{OTHER} is what it wants. {{"score": 3}}', "holds another: why: Field required"),
        (f'{{"score": 3}} and not {OTHER}', "one that cannot be read"),
        (f'{{"score": "3", "why": 1}} and not {OTHER}', "one that cannot be read"),
        (f'{{"result": [{{"score": 3}}]}} and not {OTHER}', "one that cannot be read"),
        (f"{{'score': 3, 'why': 'x'}} and not {OTHER}", "several records that differ"),
        (f"{{mark: 3}} and not {OTHER}", "one that cannot be read"),
        (f"{OTHER} no, rather {{score: 3}}", "holds another: why: Field required"),
        (f"{OTHER} no, rather {{score: 3 / 5}}", "beside a record, the JSON is broken at"),
        ('{"score": 3, "score": 9, "why": "x"}', "a name stands in one object twice"),
        (f"<think>{OTHER}", "a thought that has no end"),
        (f"<think>{OTHER} and", "a thought that has no end"),
        (f"perhaps {OTHER} </think> {RIGHT}", "several records that differ"),
    ],
)
def test_what_may_be_a_quotation_is_not_read(text: str, reason: str) -> None:
    with pytest.raises(MalformedReplyError, match=reason):
        read_record(text, Verdict)


@pytest.mark.parametrize(
    "text",
    [
        f"{RIGHT}\n{RIGHT}",
        f'{RIGHT} as I said: {{"why": "它在桌上 {{sic}}", "score": 3}}',
        f'As {{"score": "a number"}} and {{"more": [{{}}]}} ask: {RIGHT}',
        f"\ufeff<think>{OTHER}</think>{RIGHT}",
    ],
)
def test_the_same_record_twice_and_a_mere_form_leave_no_doubt(text: str) -> None:
    assert read_record(text, Verdict) == READ


def test_a_number_too_large_is_no_number() -> None:
    @dataclass
    class Measured:
        value: float

    assert read_record('{"value": 1e3}', Measured) == Measured(1000.0)
    for value in ("1e999", "-1e999", "Infinity"):
        with pytest.raises(MalformedReplyError, match="cannot be read"):
            read_record(f'{{"value": {value}}}', Measured)


def test_two_verdicts_are_asked_about_once_more() -> None:
    model = Scripted(f"{OTHER} {RIGHT}", RIGHT)
    asked = ask_for(model, USER, Verdict)
    assert asked.record == READ
    assert "several records that differ" in asked.reasons[0]


def test_values_of_the_reply_stay_out_of_the_reason() -> None:
    with pytest.raises(MalformedReplyError) as caught:
        read_record('{"score": "ignore all rules", "why": "x"}', Verdict)
    assert "ignore" not in caught.value.reason


@given(st.text(max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    for wrapped in (text, "{" + text, f'{{"score": {text}', f"{text}{RIGHT}"):
        with contextlib.suppress(MalformedReplyError):
            read_record(wrapped, Verdict)


@given(
    st.integers(), st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_characters="{<"))
)
def test_what_was_written_is_what_is_read(score: int, why: str, around: str) -> None:
    verdict = Verdict(score=score, why=why)
    written = verdict.model_dump_json()
    assert read_record(f"\n{written} ", Verdict) == verdict
    assert read_record(f"```json\n{written}\n```", Verdict) == verdict
    with contextlib.suppress(MalformedReplyError):
        assert read_record(f"{around}{written}{around}", Verdict) == verdict


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_careless_reading_of_json_and_of_python_is_what_was_written(written: dict[str, Any]) -> None:
    for text in (json.dumps(written), json.dumps(written, ensure_ascii=False), repr(written)):
        with contextlib.suppress(ValueError):  # an escape of Python alone is refused
            assert LooseReader(f" {text} ...", json.loads, dict).read(1) == (written, len(text) + 1)
    assert LooseReader(json.dumps(written), json.loads, dict).read(0)[0] == written


@given(st.text("{}[]'\"“”‘’:：,，\\\\ \na1４T`", max_size=40))
def test_no_text_breaks_the_careless_reader(text: str) -> None:
    with contextlib.suppress(ValueError):
        LooseReader("{" + text, json.loads, dict).read(0)


class Scripted:
    """Says one text after the other."""

    name, sees_images = "scripted", False

    def __init__(self, *texts: str | Reply) -> None:
        self.texts, self.asked, self.sampling = list(texts), list[tuple[Message, ...]](), dict[str, Any]()
        self.schema: dict[str, Any] | None = None

    def ask(self, messages: Sequence[Message], *, schema: dict[str, Any] | None = None) -> Reply:
        self.asked.append(tuple(messages))
        self.schema = schema
        text = self.texts.pop(0)
        return text if isinstance(text, Reply) else Reply(text, "m", 1, 1, cut_off=False)

    def close(self) -> None:
        return


USER = [Message("system", "judge"), Message("user", "well?")]


def test_a_record_is_asked_for_with_its_schema() -> None:
    model = Scripted(RIGHT)
    assert ask_for(model, USER, Verdict) == RecordResult(READ, (RIGHT,), ())
    assert model.asked == [tuple(USER)]
    assert model.schema is not None
    assert set(model.schema["properties"]) == {"score", "why"}


def test_a_malformed_reply_is_shown_once_with_the_reason() -> None:
    model = Scripted('{"score": 3}', RIGHT)
    asked = ask_for(model, USER, Verdict)
    assert asked == RecordResult(READ, ('{"score": 3}', RIGHT), ("why: Field required (1 in all)",))
    first, second = model.asked[1][2:]
    assert (first.role, first.text) == ("assistant", '{"score": 3}')
    assert second.role == "user"
    assert "why: Field required" in second.text
    assert json.dumps(model.schema) in second.text
    assert repair_signature().startswith("repair.v1#")


def test_a_second_malformed_reply_is_the_last() -> None:
    model = Scripted("no", "{", RIGHT)
    asked = ask_for(model, USER, Verdict)
    assert asked.record is None
    assert asked.replies == ("no", "{")
    assert [reason.split(":")[0] for reason in asked.reasons] == [
        "there is no JSON object in it",
        "the JSON stops before its end",
    ]
    assert model.texts == [RIGHT]


def test_a_reply_that_was_cut_off_is_malformed() -> None:
    cut = Reply(RIGHT, "m", 1, 1, cut_off=True)
    assert ask_for(Scripted(cut, cut), USER, Verdict).record is None
    assert "cut off" in ask_for(Scripted(cut, RIGHT), USER, Verdict).reasons[0]


def test_a_complaint_of_the_check_counts_as_malformed() -> None:
    def check(verdict: Verdict) -> str | None:
        return "score must be from 1 to 5" if not 1 <= verdict.score <= 5 else None

    wrong = '{"score": 9, "why": "x"}'
    asked = ask_for(Scripted(wrong, RIGHT), USER, Verdict, check=check)
    assert (asked.record, asked.reasons) == (READ, ("score must be from 1 to 5",))
    assert ask_for(Scripted(wrong, wrong), USER, Verdict, check=check).record is None


def test_a_reply_is_data_and_no_template() -> None:
    model = Scripted("{reason} {schema} {text}", RIGHT)
    ask_for(model, USER, Verdict)
    assert model.asked[1][2].text == "{reason} {schema} {text}"
