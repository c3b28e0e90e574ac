"""StreamingBench (arXiv 2411.03628): the questions of *Proactive Output*, a list of parts of videos with questions.

A question says what to output and when: *When the scoreboard shows 3, output "3".* It is said at `time_stamp`, and
`ground_truth_output` is due at `ground_truth_time_stamp`. The official script asks a model each second, until 4 s
after that moment, whether it is time; an output is in time within 2 s.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import PurePosixPath
from typing import Annotated, Final

from pydantic import Field

from reeltalk.formats.export_losses import ADDED_LATER, MADE_ON_THE_WAY, fields_left_out, tables_left_out
from reeltalk.formats.layout import DocumentKind, Index, Layout, SourceDocument
from reeltalk.metrics.proactive import POLLED_AFTER_S, TOLERANCE_S
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json, Name, VideoId
from reeltalk.schema.stream import Moment, ProactiveTask, UserRequest
from reeltalk.store.content import Content
from reeltalk.store.documents import SourceModel, parse, record_errors

FORMAT: Final = "streamingbench"
KIND: Final = "proactive-output"
TASK_TYPE: Final = "Proactive Output"
ENTRY: Final = "entry"
"""Key of a task's `extra`: the place of its part in the file, since a part may have several questions."""
PART: Final = "part"
"""Key of a task's `extra`: the other fields of its part."""
FIELDS: Final = frozenset({"task_type", "question", "time_stamp", "ground_truth_time_stamp", "ground_truth_output"})
_TIME: Final = re.compile(r"[0-9]{1,3}(?::[0-9]{1,2}){1,2}")


class OutputQuestion(SourceModel):
    """What shall be output, and when; times are `HH:MM:SS`."""

    task_type: str
    question: Annotated[str, Field(min_length=1)]
    time_stamp: str
    ground_truth_time_stamp: str
    ground_truth_output: Annotated[str, Field(min_length=1)]


class QuestionedPart(SourceModel):
    """A part of a video, with the questions about it."""

    video_path: Name
    questions: list[Json]


def _decode(document: SourceDocument) -> Iterator[str]:
    counts: dict[str, int] = {}
    for entry, item in enumerate(document.value):
        place = f"$[{entry}]"
        part = parse(QuestionedPart, item, file=document.path, place=place)
        file = PurePosixPath(part.video_path).as_posix()
        with record_errors(document.path, place):
            document.records.add_video(document, place, Video(id=VideoId(file), file=file))
        for number, value in enumerate(part.questions):
            at = f"{place}.questions[{number}]"
            question = _question(document, at, value)
            counts[file] = counts.get(file, 0) + 1
            name = f"{document.name.removesuffix('.json')}/{PurePosixPath(file).stem}/{counts[file]}"
            with record_errors(document.path, at):
                task = _task(document, at, question, name, file)
                about: dict[str, Json] = {ENTRY: entry} | ({PART: part.unknown} if part.unknown else {})
                task = task.model_copy(update={"extra": about | question.unknown})
            document.records.content.proactive.append(task)
            yield task.id


def _question(document: SourceDocument, place: str, value: Json) -> OutputQuestion:
    if isinstance(value, dict) and value.get("task_type") not in (TASK_TYPE, None):
        raise document.error(
            f"only questions of {TASK_TYPE} are read",
            f"{place}.task_type",
            value["task_type"],
            "give questions_proactive.json",
        )
    return parse(OutputQuestion, value, file=document.path, place=place)


def _task(document: SourceDocument, place: str, question: OutputQuestion, name: str, file: str) -> ProactiveTask:
    said_s = _seconds(document, f"{place}.time_stamp", question.time_stamp)
    due_s = _seconds(document, f"{place}.ground_truth_time_stamp", question.ground_truth_time_stamp)
    if due_s < said_s:
        raise document.error("the output is due before it is asked for", place, question.ground_truth_time_stamp)
    moment = Moment(
        interval=Interval(start_s=due_s, end_s=due_s + TOLERANCE_S), references=(question.ground_truth_output,)
    )
    return ProactiveTask(
        id=name,
        video_id=VideoId(file),
        requests=(UserRequest(at_s=said_s, text=question.question, moments=(moment,)),),
        until_s=due_s + POLLED_AFTER_S,
        kind=KIND,
    )


def _seconds(document: SourceDocument, place: str, time: str) -> float:
    if _TIME.fullmatch(time) is None:
        raise document.error("not a time as 00:03:10", place, time)
    return float(sum(int(part) * 60**power for power, part in enumerate(reversed(time.split(":")))))


def _time_stamp(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}"


def _encode(index: Index, file: SourceFile) -> Json:
    tasks = {task.id: task for task in index.content.proactive}
    named = [tasks[name] for name in file.records if name in tasks and _fits(tasks[name])]
    parts = groupby(enumerate(named), lambda found: (found[1].video_id, found[1].extra.get(ENTRY, -found[0])))
    return [_part([task for _, task in own]) for _, own in parts]


def _part(tasks: list[ProactiveTask]) -> dict[str, Json]:
    other = tasks[0].extra.get(PART)
    part: dict[str, Json] = dict(other) if isinstance(other, dict) else {}
    return {**part, "questions": [_row(task) for task in tasks], "video_path": tasks[0].video_id}


def _row(task: ProactiveTask) -> dict[str, Json]:
    [request] = task.requests
    [moment] = request.moments
    return {
        "task_type": TASK_TYPE,
        "question": request.text,
        "time_stamp": _time_stamp(request.at_s),
        "ground_truth_time_stamp": _time_stamp(moment.interval.start_s),
        "ground_truth_output": moment.references[0],
        **{key: value for key, value in task.extra.items() if key not in {*FIELDS, ENTRY, PART}},
    }


def _fits(task: ProactiveTask) -> bool:
    """True if a task is one output at one moment."""
    first = task.requests[0]
    return (
        len(task.requests) == 1
        and first.act == "watch"
        and len(first.moments) == 1
        and bool(first.moments[0].references)
    )


def _default_files(index: Index) -> list[SourceFile]:
    records = tuple(task.id for task in index.content.proactive if _fits(task))
    return [SourceFile(format=FORMAT, path="questions_proactive.json", kind="questions", records=records)]


def _lost(content: Content) -> list[str]:
    fitting = [task for task in content.proactive if _fits(task)]
    moments = [task.requests[0].moments[0] for task in fitting]
    counts = {
        "tasks of several requests or moments are left out": len(content.proactive) - len(fitting),
        "tasks get a new identifier, kind and end": len(fitting),
        "moments lose their end": len(moments),
        "moments lose references but the first, or their key": sum(
            len(moment.references) > 1 or moment.key is not None for moment in moments
        ),
        "times are rounded to seconds": sum(
            not (task.requests[0].at_s.is_integer() and moment.interval.start_s.is_integer())
            for task, moment in zip(fitting, moments, strict=True)
        ),
    }
    tables = ("clips", "dialogues", *ADDED_LATER, *(name for name in MADE_ON_THE_WAY if name != "proactive"))
    return [
        *tables_left_out(content, tables),
        *fields_left_out("videos", content.videos, {"id", "file"}),
        *(f"{what}: {count:,}" for what, count in counts.items() if count),
    ]


LAYOUT: Final = Layout(
    FORMAT,
    [DocumentKind("questions", lambda _, value: isinstance(value, list), _decode, _encode)],
    "questions_proactive.json, a list of parts with video_path and questions",
    _default_files,
    _lost,
)
read = LAYOUT.read
write = LAYOUT.write
