"""Video-MME (CVPR 2025, arXiv 2405.21075): multiple choice, with its published form for model outputs.

Questions are one per row, in Parquet as on the Hub or as a JSON list; or three per video, as in the template for
results, in which a question may have a model's `response`. The name of that file is the model. The template's field
names changed over time (`duration_category`, `video_category`, `choices`); both sets are read.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import AliasChoices, Field

from reeltalk.errors import InputError
from reeltalk.formats.layout import DocumentKind, Layout, SourceDocument
from reeltalk.formats.multiple_choice import option_of_letter, read_options
from reeltalk.formats.parquet import read_parquet
from reeltalk.schema.answers import Answer, AnswerState
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.schema.record import DialogueId, Json, Name, VideoId
from reeltalk.store.content import Content
from reeltalk.store.documents import SourceModel, parse, read_json, record_errors

FORMAT: Final = "video-mme"
VIDEO_LABELS: Final = ("duration", "domain", "sub_category")


class VideoMMERow(SourceModel):
    """One question. `duration` is a class (short, medium, long); `options` begin with their letter."""

    video_id: Name
    duration: str
    domain: str
    sub_category: str
    url: str
    videoID: str
    question_id: Name
    task_type: str
    question: str
    options: list[str]
    answer: str


class VideoMMEQuestion(SourceModel):
    """One question of a video, with a model's response in a file of results."""

    question_id: Name
    task_type: str
    question: str
    options: list[str] = Field(validation_alias=AliasChoices("options", "choices"))
    answer: str
    response: str | None = None


class VideoMMEVideo(SourceModel):
    """A video with its questions; `missing` is true if the model was not shown the video."""

    video_id: Name
    duration: str = Field(validation_alias=AliasChoices("duration", "duration_category"))
    domain: str = Field(validation_alias=AliasChoices("domain", "video_category"))
    sub_category: str = Field(validation_alias=AliasChoices("sub_category", "video_subcategory", "video_sub_category"))
    questions: list[VideoMMEQuestion]
    url: str | None = None
    missing: bool | None = None


def _turn(
    document: SourceDocument, place: str, video: VideoMMERow | VideoMMEVideo, asked: VideoMMERow | VideoMMEQuestion
) -> Turn:
    options, marks = read_options(document, f"{place}.options", asked.options)
    if asked.answer in asked.options:
        correct = asked.options.index(asked.answer)
    else:
        correct = option_of_letter(document, f"{place}.answer", asked.answer, options, marks)
    return Turn(
        question=asked.question,
        references=(options[correct],),
        options=options,
        correct_option=correct,
        labels={f"video_mme.{name}": (getattr(video, name),) for name in VIDEO_LABELS}
        | {"video_mme.task_type": (asked.task_type,)},
    )


def _add_video(document: SourceDocument, place: str, video: Video) -> None:
    document.records.add_video(document, place, video)
    known = document.records.videos[video.id]
    for name, given, kept in (("file", video.file, known.file), ("url", video.source, known.source)):
        if given is not None and given != kept:
            raise document.error(f"video '{video.id}' has the {name} {kept!r} elsewhere", place, given)


def _decode_rows(document: SourceDocument) -> Iterator[str]:
    for index, item in enumerate(document.value):
        place = f"$[{index}]"
        row = parse(VideoMMERow, item, file=document.path, place=place)
        with record_errors(document.path, place):
            file = f"{row.videoID}.mp4"
            video = Video(id=VideoId(row.video_id), file=file, source=row.url, split=document.split)
            _add_video(document, place, video)
            turn = _turn(document, place, row, row)
            name = DialogueId(row.question_id)
            _make_way(document, place, name, turn)
            yield document.records.add_dialogue(
                document,
                f"{place}.question_id",
                Dialogue(id=name, video_id=video.id, turns=(turn,), extra=row.unknown),
            )


def _make_way(document: SourceDocument, place: str, name: DialogueId, turn: Turn) -> None:
    """Replace a question that is known only from a file of results by a row."""
    known, provisional = document.records.dialogues.get(name), document.records.content.dialogues
    for number, dialogue in enumerate(provisional):
        if dialogue is known:
            del document.records.dialogues[name], provisional[number]
            _warn_of_other_wording(document, place, dialogue.turns[0], turn)
            return


def _warn_of_other_wording(document: SourceDocument, place: str, known: Turn, turn: Turn) -> None:
    if (known.options, known.correct_option, known.labels) != (turn.options, turn.correct_option, turn.labels):
        document.records.content.warnings.append(
            f"{document.name} has other options, another right one or other categories at {place} than another file; "
            "those of the questions' own file count"
        )


def _decode_videos(document: SourceDocument) -> Iterator[str]:
    seen: Counter[str] = Counter()
    asked_here: Counter[str] = Counter()
    answered = {answer.model for answer in document.records.content.answers}
    for index, item in enumerate(document.value):
        place = f"$[{index}]"
        row = parse(VideoMMEVideo, item, file=document.path, place=place)
        seen[row.video_id] += 1
        if seen[row.video_id] > 1:
            if item in document.value[:index]:
                yield from (asked.question_id for asked in row.questions)
                continue
            raise document.error("this video appears twice in one file", f"{place}.video_id", row.video_id)
        with record_errors(document.path, place):
            # The name of a file of results is the model, so `qwen_train.json` does not name a split.
            _add_video(document, place, Video(id=VideoId(row.video_id), source=row.url))
        for number, asked in enumerate(row.questions):
            at = f"{place}.questions[{number}]"
            asked_here[asked.question_id] += 1
            if asked_here[asked.question_id] > 1:
                raise document.error("this identifier appears twice", f"{at}.question_id", asked.question_id)
            with record_errors(document.path, at):
                _add_question(document, at, row, asked)
                if "response" not in asked.model_fields_set:
                    if asked.unknown:
                        raise document.error("a question without a response has unknown fields", at, asked.unknown)
                elif document.stem in answered:
                    raise document.error(
                        f"another file answers for the model '{document.stem}'", at, None, "rename one of the files"
                    )
                else:
                    document.records.content.answers.append(_answer(document.stem, row, asked))
            yield asked.question_id


def _add_question(document: SourceDocument, place: str, row: VideoMMEVideo, asked: VideoMMEQuestion) -> None:
    turn = _turn(document, place, row, asked)
    known = document.records.dialogues.get(asked.question_id)
    if known is None:
        dialogue = Dialogue(id=DialogueId(asked.question_id), video_id=VideoId(row.video_id), turns=(turn,))
        document.records.add_dialogue(document, f"{place}.question_id", dialogue)
        # While files are read, this list holds the questions that only files of results have named so far.
        document.records.content.dialogues.append(dialogue)
    elif known.video_id != row.video_id:
        raise document.error(
            f"question '{known.id}' is about video '{known.video_id}' elsewhere", f"{place}.question_id", row.video_id
        )
    else:
        _warn_of_other_wording(document, place, known.turns[0], turn)


def _answer(model: str, row: VideoMMEVideo, asked: VideoMMEQuestion) -> Answer:
    state = AnswerState.ANSWERED if asked.response is not None else AnswerState.FAILED
    return Answer(
        model=model,
        unit_id=asked.question_id,
        turn_index=0,
        text=asked.response or "",
        state=AnswerState.NOT_ASKED if row.missing else state,
        asked_as=asked.question,
        extra=asked.unknown,
    )


def _read_file(path: Path) -> Json | None:
    if path.suffix == ".json":
        return read_json(path)
    if path.suffix != ".parquet":
        return None
    rows = read_parquet(path)[0].to_pylist()
    for number, row in enumerate(rows):
        try:
            json.dumps(row, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InputError(f"holds a value that JSON cannot: {error}", file=path, place=f"$[{number}]") from None
    return rows


def _has_videos(_: str, value: Json) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) and "questions" in item for item in value)


LAYOUT: Final = Layout(
    FORMAT,
    [
        DocumentKind("videos", _has_videos, _decode_videos),
        DocumentKind("questions", lambda _, value: isinstance(value, list), _decode_rows),
    ],
    "a Parquet file or JSON list of rows with video_id, question_id, question, options, answer, "
    "or a JSON list of videos with questions and responses",
    read_file=_read_file,
)


def read(source: Path) -> Content:
    """Read a folder or one file.

    Raises:
        InputError: A file is damaged or unknown, or there is none of this layout.
        MissingExtraError: There is Parquet and the `hub` extra is not installed.
    """
    content = LAYOUT.read(source)
    questions = {dialogue.id: dialogue.turns[0].question for dialogue in content.dialogues}
    content.answers = [
        answer.model_copy(update={"asked_as": None})
        if answer.asked_as == questions[DialogueId(answer.unit_id)]
        else answer
        for answer in content.answers
    ]
    return content
