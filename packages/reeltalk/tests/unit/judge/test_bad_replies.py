"""No bad reply is read as something that it does not say, and what it plainly says is read in the end."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import pytest
from bad_replies import BadReply, Checklists, Ratings, Records, bad_replies, canonical, classes_of
from pydantic import BaseModel, ConfigDict, Field, create_model
from reliability_page import Reliability

from reeltalk.llm import MalformedReplyError, Message, Reply, ask_for_async, read_record

Tenths = Annotated[int, Field(ge=0, le=10)]


class Forbids(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Dimensions(Forbids):
    """Six scores, one of which may say that it does not apply."""

    accuracy: Tenths
    context: Tenths
    logic: Tenths
    time: Annotated[int, Field(ge=-1, le=10)]
    complete: Tenths
    overall: Tenths


class Percent(Forbids):
    """A score and a reason."""

    score: Annotated[int, Field(ge=0, le=100)]
    reason: str


class Agreement(Forbids):
    """A word and a score."""

    pred: Literal["yes", "no"]
    score: Annotated[int, Field(ge=0, le=5)]


KEYS = ("A1", "A2", "A3", "A4", "A5")
YesNo: type[BaseModel] = create_model("YesNo", __base__=Forbids, **{key: (Literal["Yes", "No"], ...) for key in KEYS})  # type: ignore[call-overload]

SIX = ("accuracy", "context", "logic", "time", "complete", "overall")
KINDS: dict[str, tuple[Records | Checklists, type[BaseModel]]] = {
    "six dimensions": (
        Records(
            Dimensions, tuple(dict(zip(SIX, row, strict=True)) for row in ((7, 6, 5, -1, 4, 3), (2, 9, 8, 1, 10, 0)))
        ),
        Dimensions,
    ),
    "percent": (
        Records(
            Percent,
            tuple(
                {"score": score, "reason": f"It says {why}."} for score, why in ((20, "no"), (85, "yes"), (0, "little"))
            ),
        ),
        Percent,
    ),
    "agreement": (
        Records(Agreement, ({"pred": "no", "score": 1}, {"pred": "yes", "score": 5}, {"pred": "yes", "score": 4})),
        Agreement,
    ),
    "checklist": (Checklists(KEYS), YesNo),
}
REPLIES = {name: bad_replies(kind) for name, (kind, _) in KINDS.items()}
RATINGS = bad_replies(Ratings())


class Scripted:
    """Says one text, and another when it is asked once more."""

    name, sees_images, sampling = "scripted", False, dict[str, Any]()

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)

    async def ask(self, messages: Sequence[Message], *, schema: Any = None, sample: int = 0) -> Reply:
        return Reply(self.texts.pop(0), "m", 1, 1, cut_off=False)


def test_there_are_two_thousand_replies_in_twelve_classes_and_none_twice() -> None:
    every = [*RATINGS, *(reply for replies in REPLIES.values() for reply in replies)]
    assert len(every) >= 2000
    assert len(classes_of(every)) >= 12
    assert min(len(classes_of(replies)) for replies in (RATINGS, *REPLIES.values())) >= 12
    for replies in (RATINGS, *REPLIES.values()):
        assert len({(reply.text, reply.allowed) for reply in replies}) == len(replies)
        assert replies == list(replies)


def test_what_must_be_read_may_be_read() -> None:
    for reply in (*RATINGS, *(reply for replies in REPLIES.values() for reply in replies)):
        assert not reply.readable or reply.allowed, reply


@pytest.mark.parametrize("name", KINDS)
def test_no_record_is_read_that_is_not_there(name: str, reliability: Reliability) -> None:
    tally = reliability(
        "judges", "bad replies of judges that are asked for a record", "a score that the reply does not give"
    )
    wrong = [reply for reply in REPLIES[name] if not may_be(reply, read(reply.text, KINDS[name][1]))]
    tally.tried, tally.failed = len(REPLIES[name]), len(wrong)
    assert wrong == []


@pytest.mark.parametrize("name", KINDS)
def test_records_that_are_plainly_there_are_read_at_once_or_when_asked_once_more(
    name: str, reliability: Reliability
) -> None:
    tally = reliability(
        "judges", "bad replies in which the record is plainly there", "unread when asked once more (5 % are allowed)"
    )
    kind = KINDS[name][1]
    due = [reply for reply in REPLIES[name] if reply.readable]
    got = [asyncio.run(ask_for_async(Scripted(r.text, r.clean), [Message("user", "?")], kind)).record for r in due]
    right = sum(record is not None and told(record) in (r.allowed or ()) for r, record in zip(due, got, strict=True))
    tally.tried, tally.failed = len(due), len(due) - right
    assert right >= 0.95 * len(due) > 0
    # Asking once more is for what is broken, not for what merely has words around it.
    at_once = {reply.cls for reply in due if read(reply.text, kind) is not None}
    assert {"fenced", "prose around", "duplicated", "thinking", "invisible", "markdown", "placeholders"} <= at_once


def told(record: BaseModel) -> str:
    return canonical(record.model_dump())


def read(text: str, kind: type[BaseModel]) -> str | None:
    try:
        return told(read_record(text, kind))
    except MalformedReplyError:
        return None


def may_be(reply: BadReply, found: int | str | None) -> bool:
    return found is None or found in (reply.allowed or ())


def first_object(text: str) -> str | None:
    """What many scripts do: the first thing in braces."""
    found = re.search(r"\{[^{}]*\}", text)
    try:
        return None if found is None else told(Percent.model_validate_json(found[0]))
    except ValueError:
        return None


def test_the_replies_find_a_reader_that_takes_the_first_braces() -> None:
    wrong = Counter(reply.cls for reply in REPLIES["percent"] if not may_be(reply, first_object(reply.text)))
    assert {"contradicting", "quoted", "thinking", "lost in thought"} <= wrong.keys()


def one_rating(text: str) -> int | None:
    """All markers are read and must agree; what goes on as another number is none."""
    answer = re.sub(r"\A\s*<think(ing)?>.*?(</think(ing)?>|\Z)", "", text.lstrip("\ufeff"), count=1, flags=re.DOTALL)
    answer = re.sub("[\u200b\u2060]", "", answer)
    tails = re.split(r"(?i)so rating\s*=", answer)[1:]
    ends = r"(?!\s*[-–/,.]?\s*\d|\s*(?:or|to|out of)\b|\w)"
    found = [re.match(r"[\s*_`\"']{0,4}([1-3])" + ends, tail, re.ASCII) for tail in tails]
    values = {int(match[1]) if match else None for match in found}
    return values.pop() if len(values) == 1 else None


def test_a_reader_of_ratings_can_be_right_about_all_of_them() -> None:
    assert [reply for reply in RATINGS if not may_be(reply, one_rating(reply.text))] == []
    due = [reply for reply in RATINGS if reply.readable]
    assert [reply for reply in due if one_rating(reply.text) is None and one_rating(reply.clean) is None] == []
    assert sum(one_rating(reply.text) is not None for reply in due) == len(due)


def first_rating(text: str) -> int | None:
    found = re.search(r"So rating=\W*(\d)", text)
    return int(found[1]) if found else None


def last_rating(text: str) -> int | None:
    found = re.findall(r"So rating\s*=\s*\W*([1-3])(?!\d)", text)
    return int(found[-1]) if found else None


@pytest.mark.parametrize(
    ("reader", "classes"),
    [
        (first_rating, {"out of range", "wrong type", "undecided", "contradicting", "quoted", "thinking"}),
        (last_rating, {"out of range", "wrong type", "undecided", "contradicting", "quoted", "lost in thought"}),
    ],
)
def test_the_replies_find_readers_of_the_first_or_last_marker(
    reader: Callable[[str], int | None], classes: set[str]
) -> None:
    wrong = Counter(reply.cls for reply in RATINGS if not may_be(reply, reader(reply.text)))
    assert classes <= wrong.keys()
