"""AVSD and its DSTC7, DSTC8 and DSTC10 challenges: ten-turn dialogues about Charades videos (arXiv 1806.00525).

DSTC10 adds to each answer the intervals that show it. A hidden answer is `__UNDISCLOSED__`. If an answer is a list,
all its texts are references.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from reeltalk.formats.layout import DocumentKind, Layout, SourceDocument
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.schema.record import DialogueId, Finite, Json, Name, VideoId
from reeltalk.store.documents import SourceModel, parse, record_errors

FORMAT: Final = "avsd"
UNDISCLOSED: Final = "__UNDISCLOSED__"
DESCRIPTIONS: Final = ("caption", "summary")


class AVSDReason(SourceModel):
    """The reason for an answer: an interval in seconds, in either order, and usually a sentence."""

    timestamp: Annotated[list[Annotated[Finite, Field(ge=0)]], Field(min_length=2, max_length=2)]
    sentence: str | None = None


class AVSDTurn(SourceModel):
    question: str
    answer: str | list[str]
    reason: list[AVSDReason] | None = None


class AVSDDialogue(SourceModel):
    """One dialogue about one video."""

    image_id: Name
    dialog: list[AVSDTurn]
    caption: str | None = None
    summary: str | None = None


def _decode(document: SourceDocument) -> Iterator[str]:
    rows = parse(dict[str, object], document.value, file=document.path)["dialogs"]
    if not isinstance(rows, list):
        raise document.error("must be a list of dialogues", "$.dialogs", rows)
    seen: Counter[str] = Counter()
    for index, item in enumerate(rows):
        place = f"$.dialogs[{index}]"
        row = parse(AVSDDialogue, item, file=document.path, place=place)
        seen[row.image_id] += 1
        with record_errors(document.path, place):
            dialogue = _dialogue(document, place, row, seen[row.image_id])
            yield document.records.add_dialogue(document, f"{place}.image_id", dialogue)


def _dialogue(document: SourceDocument, place: str, row: AVSDDialogue, number: int) -> Dialogue:
    warnings = document.records.content.warnings
    if number > 1:
        warnings.append(f"{document.name} has {number} dialogues about video {row.image_id}")
    summaries = {name: text for name in DESCRIPTIONS if (text := getattr(row, name)) is not None}
    document.records.add_video(
        document, place, Video(id=VideoId(row.image_id), split=document.split, summaries=summaries)
    )
    known = document.records.videos[row.image_id].summaries
    differing = {name: text for name, text in summaries.items() if known[name] != text}
    if differing:
        warnings.append(
            f"{document.name} describes video {row.image_id} at {place} differently from an earlier dialogue; "
            f"its {' and '.join(differing)} stays with the dialogue"
        )
    return Dialogue(
        id=DialogueId(f"{document.stem}/{row.image_id}" + ("" if number == 1 else f"/{number}")),
        video_id=VideoId(row.image_id),
        turns=tuple(_turn(turn) for turn in row.dialog),
        extra=differing | row.unknown,
    )


def _turn(row: AVSDTurn) -> Turn:
    texts = row.answer if isinstance(row.answer, list) else [row.answer]
    reasons = row.reason or []
    beside = [_beside(reason) for reason in reasons]
    return Turn(
        question=row.question,
        references=tuple(text for text in texts if text != UNDISCLOSED),
        evidence=tuple(Interval(start_s=min(reason.timestamp), end_s=max(reason.timestamp)) for reason in reasons),
        extra=row.unknown | ({"reason": beside} if any(beside) else {}),
    )


def _beside(reason: AVSDReason) -> dict[str, Json]:
    """The fields of a reason next to its interval, and its two times if they are in the wrong order."""
    more = {} if reason.sentence is None else {"sentence": reason.sentence}
    reversed_ends = reason.timestamp[0] > reason.timestamp[1]
    return more | reason.unknown | ({"timestamp": reason.timestamp} if reversed_ends else {})


def _is_avsd(_: str, value: Json) -> bool:
    return isinstance(value, dict) and "dialogs" in value


LAYOUT: Final = Layout(
    FORMAT,
    [DocumentKind("dialogues", _is_avsd, _decode)],
    '{"dialogs": [{"image_id", "dialog": [{"question", "answer"}]}]}',
)
read = LAYOUT.read
