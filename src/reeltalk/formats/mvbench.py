"""MVBench (CVPR 2024, arXiv 2311.17005): `json/<task>.json`, a list of questions whose answer repeats a candidate."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from reeltalk.formats.layout import Document, Index, Kind, Layout, lost_beyond_dialogues
from reeltalk.formats.multiple_choice import option_of_text, question_named, question_names
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.ids import ClipId, DialogueId, VideoId
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.store.documents import SourceModel, parse

FORMAT: Final = "mvbench"


class Row(SourceModel):
    """One question; `start` and `end` bound the part of the video that is shown, in seconds."""

    video: Annotated[str, Field(min_length=1)]
    question: str
    candidates: list[str]
    answer: str
    start: float | None = None
    end: float | None = None


def _decode(document: Document) -> Iterator[str]:
    for index, item in enumerate(document.value):
        place = f"$[{index}]"
        row = parse(Row, item, file=document.path, place=place)
        correct = option_of_text(document, f"{place}.answer", row.answer, row.candidates)
        document.records.add_video(document, place, Video(id=VideoId(row.video), file=row.video))
        clip_ids: tuple[ClipId, ...] = ()
        if row.start is not None and row.end is not None:
            if row.end < row.start or row.start < 0:
                raise document.error("the shown part ends before it starts", place, [row.start, row.end])
            interval = Interval(start_s=row.start, end_s=row.end)
            clip_ids = (ClipId(f"{row.video}@{row.start:g}-{row.end:g}"),)
            document.records.add_clip(Clip(id=clip_ids[0], video_id=VideoId(row.video), interval=interval))
        turn = Turn(
            question=row.question,
            references=(row.answer,),
            options=tuple(row.candidates),
            correct_option=correct,
            labels={"mvbench.task": (document.stem,)},
        )
        yield document.records.add_dialogue(
            document,
            place,
            Dialogue(
                id=DialogueId(f"{document.name.removesuffix('.json')}/{index}"),
                video_id=VideoId(row.video),
                clip_ids=clip_ids,
                turns=(turn,),
                extra=row.unknown,
            ),
        )


def _encode(index: Index, file: SourceFile) -> Json:
    return [_row(index, name) for name in file.records]


def _row(index: Index, name: str) -> dict[str, Json]:
    dialogue, turn = question_named(index, name)
    options = list(turn.options or ())
    row: dict[str, Json] = {
        "video": dialogue.video_id,
        "question": turn.question,
        "candidates": options,
        "answer": options[turn.correct_option] if turn.correct_option is not None else "",
    }
    clip = index.clips.get(dialogue.clip_ids[0]) if dialogue.clip_ids else None
    if clip and clip.interval:
        row |= {"start": clip.interval.start_s, "end": clip.interval.end_s}
    return dialogue.extra | row


def _default_files(index: Index) -> list[SourceFile]:
    by_task: dict[str, list[str]] = defaultdict(list)
    for name in question_names(index):
        _, turn = question_named(index, name)
        if turn.correct_option is not None:
            by_task[(turn.labels.get("mvbench.task") or ("questions",))[0].replace("/", "_")].append(name)
    return [
        SourceFile(format=FORMAT, path=f"json/{task}.json", kind="questions", records=tuple(names))
        for task, names in by_task.items()
    ]


LAYOUT: Final = Layout(
    FORMAT,
    [Kind("questions", lambda _, value: isinstance(value, list), _decode, _encode)],
    "json/<task>.json, lists of video, question, candidates, answer",
    _default_files,
    lambda content: lost_beyond_dialogues(content, options=True, several_turns=False),
)
read, write = LAYOUT.read, LAYOUT.write
