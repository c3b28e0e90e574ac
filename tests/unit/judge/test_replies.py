"""A table of judges' replies: none is read as what it does not say, and what is plainly meant is read at once."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from reeltalk.judge.checklist import replies_to
from reeltalk.judge.clair import Likelihood
from reeltalk.judge.gpt_score import AccuracyVerdict
from reeltalk.judge.llm_acc import LlmAccVerdict
from reeltalk.judge.rating import read_rating
from reeltalk.llm import MalformedReplyError, read_record

REPLIES = tomllib.loads((Path(__file__).parent / "replies.toml").read_text(encoding="utf-8"))["reply"]
KINDS: dict[str, type[BaseModel]] = {
    "clair": Likelihood,
    "llm-acc": LlmAccVerdict,
    "gpt-score": AccuracyVerdict,
    "checklist": replies_to(("A1", "A2")),
}


def value_of(protocol: str, text: str, shown: tuple[str, ...] = ()) -> float | str | None:
    """What is read; None where the judge is asked once more."""
    try:
        if protocol == "vdeval":
            return float(read_rating(text).value)
        record: Any = read_record(text, KINDS[protocol], shown=shown)
    except MalformedReplyError:
        return None
    match protocol:
        case "clair":
            found = float(record.score) / 100
            return None if 0 < record.score < 1 else found
        case "llm-acc":
            return float(record.pred == "yes")
        case "gpt-score":
            return float(record.accuracy)
        case _:
            return f"{record.A1} {record.A2}"


def read(row: dict[str, Any]) -> float | str | None:
    return value_of(row["protocol"], row["text"], tuple(row.get("shown", ())))


def test_no_reply_is_read_as_what_it_does_not_say() -> None:
    wrong = [(row["text"], found) for row in REPLIES if (found := read(row)) not in (None, row.get("value"))]
    assert wrong == []


@pytest.mark.parametrize("fresh", [False, True])
def test_what_is_plainly_meant_is_read_at_once(fresh: bool) -> None:
    plain = [row for row in REPLIES if "value" in row and row.get("fresh", False) is fresh]
    unread = [row["text"] for row in plain if read(row) is None]
    assert plain
    assert len(unread) <= 0.05 * len(plain), unread


def test_the_table_is_large_and_has_both_sorts() -> None:
    assert len({(row["protocol"], row["text"]) for row in REPLIES}) == len(REPLIES) >= 500
    assert sum("value" not in row for row in REPLIES) >= 200
    assert sum(row.get("fresh", False) for row in REPLIES) >= 100
