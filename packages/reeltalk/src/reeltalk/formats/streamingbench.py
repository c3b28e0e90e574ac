"""StreamingBench (arXiv 2411.03628): the questions of *Proactive Output*, a list of parts of videos with questions.

A question says what to output and when: *When the scoreboard shows 3, output "3".* It is said at `time_stamp`, and
`ground_truth_output` is due at `ground_truth_time_stamp`. The official script asks a model each second, until 4 s
after that moment, whether it is time; an output is in time within 2 s.
"""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Annotated, Final

from pydantic import Field

from reeltalk.formats.layout import DocumentKind, Layout, SourceDocument
from reeltalk.metrics.proactive import POLLED_AFTER_S, TOLERANCE_S
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.schema.record import Json, Name, VideoId
from reeltalk.schema.stream import Moment, ProactiveTask, UserRequest
from reeltalk.store.documents import SourceModel, parse, record_errors

FORMAT: Final = "streamingbench"
KIND: Final = "proactive-output"
TASK_TYPE: Final = "Proactive Output"
PART: Final = "part"
"""Key of a task's `extra`: the other fields of its part."""
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
    for index, item in enumerate(document.value):
        place = f"$[{index}]"
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
                about: dict[str, Json] = {PART: part.unknown} if part.unknown else {}
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


LAYOUT: Final = Layout(
    FORMAT,
    [DocumentKind("questions", lambda _, value: isinstance(value, list), _decode)],
    "questions_proactive.json, a list of parts with video_path and questions",
)
read = LAYOUT.read
