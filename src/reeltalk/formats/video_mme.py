"""Video-MME (CVPR 2025, arXiv 2405.21075): multiple choice, with its published form for model outputs.

Questions are one per row, in Parquet as on the Hub or as a JSON list; or three per video, as in the template for
results, in which a question may have a model's `response`. The name of that file is the model. The template's field
names changed over time (`duration_category`, `video_category`, `choices`); both sets are read, and exported unchanged.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Final

from pydantic import AliasChoices, Field

from reeltalk.errors import InputError
from reeltalk.formats.export_losses import ADDED_LATER, fields_left_out
from reeltalk.formats.layout import DocumentKind, Index, Layout, SourceDocument, as_file_stem
from reeltalk.formats.multiple_choice import (
    LETTERS,
    lost_beyond_questions,
    option_of_letter,
    question_named,
    question_names,
    read_options,
    with_letters,
)
from reeltalk.formats.parquet import read_parquet, write_parquet
from reeltalk.schema.answers import Answer, AnswerState
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import DialogueId, Json, Name, VideoId
from reeltalk.store.content import Content
from reeltalk.store.documents import SourceModel, parse, read_json, record_errors, write_json

FORMAT: Final = "video-mme"
VIDEO_LABELS: Final = ("duration", "domain", "sub_category")
LABELS: Final = tuple(f"video_mme.{name}" for name in (*VIDEO_LABELS, "task_type"))
MODEL: Final = "model"
"""Key of a new file's `extra` that holds the model's name, since some names cannot be file names."""


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


def _encode_rows(index: Index, file: SourceFile) -> Json:
    return [_row(index, name) for name in file.records]


def _label(turn: Turn, name: str) -> str:
    return (turn.labels.get(f"video_mme.{name}") or ("",))[0]


def _letter(turn: Turn) -> str:
    return LETTERS[turn.correct_option] if turn.correct_option is not None else ""


def _row(index: Index, name: str) -> dict[str, Json]:
    dialogue, number = question_named(index, name)
    turn, video = dialogue.turns[number], index.videos[dialogue.video_id]
    extra = {key: value for key, value in dialogue.extra.items() if key not in VideoMMERow.model_fields}
    return {
        "video_id": video.id,
        **{key: _label(turn, key) for key in VIDEO_LABELS},
        "url": video.source or "",
        "videoID": video.id if video.file is None else video.file.removesuffix(".mp4"),
        "question_id": name,
        "task_type": _label(turn, "task_type"),
        "question": turn.question,
        "options": with_letters(turn.options or ()),
        "answer": _letter(turn),
    } | extra


def _model(file: SourceFile) -> str:
    return str(file.extra.get(MODEL, PurePosixPath(file.path).stem))


def _encode_videos(index: Index, file: SourceFile) -> Json:
    answers = {
        (answer.unit_id, answer.turn_index): answer
        for answer in index.content.answers
        if answer.model == _model(file) and answer.unit != "path"
    }
    questions = [(name, *question_named(index, name)) for name in file.records]
    rows = []
    for video_id, group in groupby(questions, key=lambda question: question[1].video_id):
        asked = [(name, dialogue.turns[number], answers.get((dialogue.id, number))) for name, dialogue, number in group]
        row: dict[str, Json] = {"video_id": video_id, **{key: _label(asked[0][1], key) for key in VIDEO_LABELS}}
        if (url := index.videos[video_id].source) is not None:
            row["url"] = url
        row["missing"] = all(answer is not None and answer.state is AnswerState.NOT_ASKED for *_, answer in asked)
        rows.append(row | {"questions": [_asked_row(name, turn, answer) for name, turn, answer in asked]})
    return rows


def _asked_row(name: str, turn: Turn, answer: Answer | None) -> dict[str, Json]:
    row: dict[str, Json] = {
        "question_id": name,
        "task_type": _label(turn, "task_type"),
        "question": turn.question,
        "options": with_letters(turn.options or ()),
        "answer": _letter(turn),
    }
    if answer is None:
        return row
    extra = {key: value for key, value in answer.extra.items() if key not in VideoMMEQuestion.model_fields}
    response = answer.text if answer.text or answer.state is not AnswerState.FAILED else None
    return row | {"question": answer.asked_as or turn.question, "response": response} | extra


def _answered_questions(index: Index) -> list[str]:
    return [
        name
        for name in question_names(index)
        if (correct := _turn_named(index, name).correct_option) is not None and correct < len(LETTERS)
    ]


def _turn_named(index: Index, name: str) -> Turn:
    dialogue, number = question_named(index, name)
    return dialogue.turns[number]


def _default_files(index: Index) -> list[SourceFile]:
    names = _answered_questions(index)
    answered: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for answer in index.content.answers:
        if answer.unit != "path":
            answered[answer.model].add((answer.unit_id, answer.turn_index))
    files = [SourceFile(format=FORMAT, path="test.json", kind="questions", records=tuple(names))]
    stems: set[str] = set()
    for model, turns in answered.items():
        found = [
            (name, dialogue)
            for name in names
            for dialogue, turn in [question_named(index, name)]
            if (dialogue.id, turn) in turns
        ]
        found.sort(key=lambda question: question[1].video_id)
        stem = as_file_stem(model, otherwise="model")
        if stem in stems:
            stem += f"-{len(stems)}"
        stems.add(stem)
        path = f"results/{stem}.json"
        records = tuple(name for name, _ in found)
        files.append(SourceFile(format=FORMAT, path=path, kind="videos", records=records, extra={MODEL: model}))
    return files


def _lost(content: Content) -> list[str]:
    index = Index(content)
    names = question_names(index)
    written = [_turn_named(index, name) for name in _answered_questions(index)]
    files = [file for file in _default_files(index) if file.kind == "videos"]
    answers = sum(len(file.records) for file in files)
    counts = {
        "questions without a known answer, or with more than 26 options, are left out": len(names) - len(written),
        "questions without a duration, domain, sub-category or task type have an empty one": sum(
            not all(turn.labels.get(name) for name in LABELS) for turn in written
        ),
        "models are named anew, since their names cannot be file names": sum(
            PurePosixPath(file.path).stem != file.extra[MODEL] for file in files
        ),
        "model answers to paths, or to questions that are left out, are left out": len(content.answers) - answers,
        "videos have no address, and an empty url": sum(video.source is None for video in content.videos),
        "videos whose file is not an .mp4 get that ending": sum(
            video.file is not None and not video.file.endswith(".mp4") for video in content.videos
        ),
    }
    return [
        *(
            line
            for line in lost_beyond_questions(content, labels=LABELS)
            if not line.startswith("model answers are left out")
        ),
        *fields_left_out("videos", content.videos, {"id", "file", "source"}),
        *fields_left_out(
            "answers", content.answers, {"model", "unit", "unit_id", "turn_index", "text", "state", "asked_as"}
        ),
        *(f"{what}: {count:,}" for what, count in counts.items() if count),
    ]


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


def _write_file(path: Path, value: Json) -> None:
    if path.suffix == ".json":
        path.write_text(write_json(value), encoding="utf-8")
    else:
        write_parquet(path, value)


def _has_videos(_: str, value: Json) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) and "questions" in item for item in value)


LAYOUT: Final = Layout(
    FORMAT,
    [
        DocumentKind("videos", _has_videos, _decode_videos, _encode_videos),
        DocumentKind("questions", lambda _, value: isinstance(value, list), _decode_rows, _encode_rows),
    ],
    "a Parquet file or JSON list of rows with video_id, question_id, question, options, answer, "
    "or a JSON list of videos with questions and responses",
    _default_files,
    _lost,
    _read_file,
    _write_file,
    unfilled=tuple(table for table in ADDED_LATER if table != "answers"),
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


def write(content: Content, folder: Path) -> list[str]:
    """Write into an empty folder; return a line for each thing that the layout cannot express."""
    models = {_model(file) for file in content.source_files_of(FORMAT, "videos")}
    added = sum(answer.model not in models for answer in content.answers)
    imported = bool(content.source_files_of(FORMAT))
    return [
        *LAYOUT.write(content, folder),
        *([f"answers of models that no imported file holds are left out: {added:,}"] if imported and added else []),
    ]
