"""Video-MME (CVPR 2025, arXiv 2405.21075): one question a row, in Parquet as on the Hub or as a JSON list."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from reeltalk.formats.layout import Document, Index, Kind, Layout, lost_beyond_dialogues
from reeltalk.formats.multiple_choice import LETTERS, option_of_letter, question_named, question_names
from reeltalk.formats.parquet import read_parquet, write_parquet
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.ids import DialogueId, VideoId
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.store.documents import SourceModel, parse, read_json, write_json

FORMAT: Final = "video-mme"


class Row(SourceModel):
    """One question. `duration` is a class (short, medium, long); `options` begin with their letter."""

    video_id: Annotated[str, Field(min_length=1)]
    duration: str
    domain: str
    sub_category: str
    url: str
    videoID: str
    question_id: Annotated[str, Field(min_length=1)]
    task_type: str
    question: str
    options: list[str]
    answer: str


def _decode(document: Document) -> Iterator[str]:
    for index, item in enumerate(document.value):
        place = f"$[{index}]"
        row = parse(Row, item, file=document.path, place=place)
        correct = option_of_letter(document, f"{place}.answer", row.answer, row.options)
        about = {"duration": row.duration, "domain": row.domain, "sub_category": row.sub_category}
        document.records.add_video(
            document,
            place,
            Video(
                id=VideoId(row.video_id),
                file=f"{row.videoID}.mp4",
                source=row.url,
                split=document.split,
                extra={**about, "videoID": row.videoID},
            ),
        )
        turn = Turn(
            question=row.question,
            references=(row.options[correct],),
            options=tuple(row.options),
            correct_option=correct,
            labels={"video_mme.task_type": (row.task_type,)},
        )
        yield document.records.add_dialogue(
            document,
            f"{place}.question_id",
            Dialogue(id=DialogueId(row.question_id), video_id=VideoId(row.video_id), turns=(turn,), extra=row.unknown),
        )


def _encode(index: Index, file: SourceFile) -> Json:
    return [_row(index, name) for name in file.records]


def _row(index: Index, name: str) -> dict[str, Json]:
    dialogue, turn = question_named(index, name)
    video = index.videos[dialogue.video_id]
    return dialogue.extra | {
        "video_id": video.id,
        "duration": str(video.extra.get("duration", "")),
        "domain": str(video.extra.get("domain", "")),
        "sub_category": str(video.extra.get("sub_category", "")),
        "url": video.source or "",
        "videoID": str(video.extra.get("videoID", video.id)),
        "question_id": name,
        "task_type": (turn.labels.get("video_mme.task_type") or ("",))[0],
        "question": turn.question,
        "options": list(turn.options or ()),
        "answer": LETTERS[turn.correct_option] if turn.correct_option is not None else "",
    }


def _default_files(index: Index) -> list[SourceFile]:
    names = [
        name
        for name in question_names(index)
        if (correct := question_named(index, name)[1].correct_option) is not None and correct < len(LETTERS)
    ]
    return [SourceFile(format=FORMAT, path="test.json", kind="questions", records=tuple(names))]


def _read_file(path: Path) -> Json | None:
    if path.suffix == ".json":
        return read_json(path)
    return read_parquet(path) if path.suffix == ".parquet" else None


def _write_file(path: Path, value: Json) -> None:
    if path.suffix == ".json":
        path.write_text(write_json(value), encoding="utf-8")
    else:
        write_parquet(path, value)


LAYOUT: Final = Layout(
    FORMAT,
    [Kind("questions", lambda _, value: isinstance(value, list), _decode, _encode)],
    "a Parquet file or JSON list of rows with video_id, question_id, question, options, answer",
    _default_files,
    lambda content: lost_beyond_dialogues(content, options=True, several_turns=False),
    _read_file,
    _write_file,
)
read, write = LAYOUT.read, LAYOUT.write
