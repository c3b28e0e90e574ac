"""AVSD and its DSTC7, DSTC8 and DSTC10 challenges: ten-turn dialogues about Charades videos (arXiv 1806.00525).

DSTC10 adds to each answer the intervals that show it. Hidden answers stand as `__UNDISCLOSED__`; an answer may be a
list, then all its texts are references.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from reeltalk.formats.layout import Document, Index, Kind, Layout, lost_beyond_dialogues
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.ids import DialogueId, VideoId
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.store.documents import SourceModel, parse

FORMAT: Final = "avsd"
UNDISCLOSED: Final = "__UNDISCLOSED__"


class Reason(SourceModel):
    """Why an answer holds: an interval in seconds, in either order, and usually a sentence."""

    timestamp: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=2, max_length=2)]


class TurnRow(SourceModel):
    """One turn."""

    question: str
    answer: str | list[str]
    reason: list[Reason] | None = None


class DialogueRow(SourceModel):
    """One dialogue about one video."""

    image_id: Annotated[str, Field(min_length=1)]
    dialog: list[TurnRow]
    caption: str | None = None
    summary: str | None = None


def _decode(document: Document) -> Iterator[str]:
    rows = parse(dict[str, object], document.value, file=document.path)["dialogs"]
    if not isinstance(rows, list):
        raise document.error("must be a list of dialogues", "$.dialogs", rows)
    seen: Counter[str] = Counter()
    for index, item in enumerate(rows):
        place = f"$.dialogs[{index}]"
        row = parse(DialogueRow, item, file=document.path, place=place)
        seen[row.image_id] += 1
        if seen[row.image_id] > 1:
            document.records.content.warnings.append(
                f"{document.name} has {seen[row.image_id]} dialogues about video {row.image_id}"
            )
        number = "" if seen[row.image_id] == 1 else f"/{seen[row.image_id]}"
        summaries = {name: text for name in ("caption", "summary") if (text := getattr(row, name)) is not None}
        document.records.add_video(
            document, place, Video(id=VideoId(row.image_id), split=document.split, summaries=summaries)
        )
        yield document.records.add_dialogue(
            document,
            place,
            Dialogue(
                id=DialogueId(f"{document.stem}/{row.image_id}{number}"),
                video_id=VideoId(row.image_id),
                turns=tuple(_turn(turn) for turn in row.dialog),
                extra=row.unknown,
            ),
        )


def _turn(row: TurnRow) -> Turn:
    texts = row.answer if isinstance(row.answer, list) else [row.answer]
    reasons = row.reason or []
    extra = row.unknown
    if any(reason.unknown for reason in reasons):
        extra["reason"] = [reason.unknown for reason in reasons]
    return Turn(
        question=row.question,
        references=tuple(text for text in texts if text != UNDISCLOSED),
        evidence=tuple(Interval(start_s=min(reason.timestamp), end_s=max(reason.timestamp)) for reason in reasons),
        extra=extra,
    )


def _encode(index: Index, file: SourceFile) -> Json:
    rows = []
    for name in file.records:
        dialogue = index.dialogues[DialogueId(name)]
        row: dict[str, Json] = {"image_id": dialogue.video_id}
        summaries = index.videos[dialogue.video_id].summaries
        row |= {name: summaries[name] for name in ("caption", "summary") if name in summaries}
        row["dialog"] = [_turn_row(turn) for turn in dialogue.turns]
        rows.append(dialogue.extra | row)
    return {"dialogs": rows}


def _turn_row(turn: Turn) -> dict[str, Json]:
    extra = {name: value for name, value in turn.extra.items() if name != "reason"}
    references = list(turn.references) or [UNDISCLOSED]
    row: dict[str, Json] = {
        "question": turn.question,
        "answer": references[0] if len(references) == 1 else references,
    }
    if turn.evidence:
        more = turn.extra.get("reason") or [{}] * len(turn.evidence)
        row["reason"] = [
            {"timestamp": [interval.start_s, interval.end_s]} | other
            for interval, other in zip(turn.evidence, more, strict=False)
        ]
    return extra | row


def _default_files(index: Index) -> list[SourceFile]:
    by_split: dict[str, list[str]] = defaultdict(list)
    for dialogue in index.dialogues.values():
        by_split[index.videos[dialogue.video_id].split or "all"].append(dialogue.id)
    return [
        SourceFile(
            format=FORMAT,
            path=f"{split.replace('/', '_')}_set4DSTC10-AVSD.json",
            kind="dialogues",
            records=tuple(names),
        )
        for split, names in by_split.items()
    ]


def _is_avsd(_: str, value: Json) -> bool:
    return isinstance(value, dict) and "dialogs" in value


LAYOUT: Final = Layout(
    FORMAT,
    [Kind("dialogues", _is_avsd, _decode, _encode)],
    '{"dialogs": [{"image_id", "dialog": [{"question", "answer"}]}]}',
    _default_files,
    lambda content: lost_beyond_dialogues(content, options=False, several_turns=True),
)
read, write = LAYOUT.read, LAYOUT.write
