"""OVO-Bench (CVPR 2025, arXiv 2501.05510): questions at a moment of a stream, and repeated probes along it.

Backward and real-time tasks have options and one moment. The forward tasks repeat a question at each entry
of `test_info`: how often so far (REC), is this step being done now (SSR), is there enough to answer (CRR). Their
annotations also say when each repetition ends, when each step is done, and when the clue is shown. By these, each is a
task for a model that speaks unasked.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Literal

from pydantic import Field

from reeltalk.formats.layout import DocumentKind, Layout, SourceDocument
from reeltalk.formats.multiple_choice import read_options
from reeltalk.metrics.proactive import TOLERANCE_S
from reeltalk.schema.dialogue import AnswerKey, Dialogue, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.schema.record import DialogueId, Finite, Json, Name, VideoId
from reeltalk.schema.stream import Moment, ProactiveTask, UserRequest
from reeltalk.store.documents import SourceModel, parse, record_errors

FORMAT: Final = "ovo-bench"
TASK: Final = "ovo_bench.task"
MODE: Final = "ovo_bench.mode"
MODES: Final = {
    **dict.fromkeys(("EPM", "ASI", "HLD"), "backward"),
    **dict.fromkeys(("OCR", "ACR", "ATR", "STU", "FPD", "OJR"), "realtime"),
    **dict.fromkeys(("REC", "SSR", "CRR"), "forward"),
}
"""The mode of each task; the benchmark's score is the mean over its three modes."""
COUNTING: Final = re.compile(r"How many times did they (?P<activity>.*)\?", re.DOTALL)
"""The question of the official prompt about an activity."""
YES_NO: Final = {0: "No", 1: "Yes"}

ProbeTime = Annotated[Finite, Field(ge=0)]


class OVOBenchRow(SourceModel):
    """The fields of every question."""

    id: int
    task: Name
    video: Name


class ChoiceRow(OVOBenchRow):
    """A question with options at one moment; `gt` is the index of the right one, and `answer` its text."""

    question: str
    options: list[str]
    gt: Annotated[int, Field(ge=0)]
    realtime: ProbeTime
    answer: str | None = None


class CountProbe(SourceModel):
    """A probe of REC: the number of times so far."""

    realtime: ProbeTime
    count: int


class YesNoProbe(SourceModel):
    """A probe of CRR: whether there is enough to answer."""

    realtime: ProbeTime
    type: Literal[0, 1]


class StepProbe(YesNoProbe):
    """A probe of SSR: whether this step is being done."""

    step: str


class CountRow(OVOBenchRow):
    """A counting question: how often do they do it?"""

    test_info: Annotated[list[CountProbe], Field(min_length=1)]
    activity: str


class StepRow(OVOBenchRow):
    """A question on steps: is this step being done?"""

    test_info: Annotated[list[StepProbe], Field(min_length=1)]


class ClueRow(OVOBenchRow):
    """A question on clues: is there enough to answer `question`? `answer` is the later answer."""

    test_info: Annotated[list[YesNoProbe], Field(min_length=1)]
    question: str
    answer: str | None = None


class RepetitionTimes(SourceModel):
    """When each repetition of REC ends, in seconds."""

    end_times: Annotated[list[ProbeTime], Field(min_length=1)]


class StepTimes(SourceModel):
    """The steps of SSR, and when each is done, in seconds."""

    all_steps: Annotated[list[str], Field(min_length=1)]
    start_time: list[ProbeTime]
    end_time: list[ProbeTime]


class ClueTimes(SourceModel):
    """When the question of CRR is asked, and when the video shows its answer, in seconds."""

    ask_time: ProbeTime
    clue_time: ProbeTime
    answer: str


ROWS: Final[dict[str, type[OVOBenchRow]]] = {"REC": CountRow, "SSR": StepRow, "CRR": ClueRow}


def _decode(document: SourceDocument) -> Iterator[str]:
    for index, item in enumerate(document.value):
        place = f"$[{index}]"
        row = parse(OVOBenchRow, item, file=document.path, place=place)
        with record_errors(document.path, place):
            document.records.add_video(document, place, Video(id=VideoId(row.video), file=row.video))
            full = parse(ROWS.get(row.task, ChoiceRow), item, file=document.path, place=place)
            dialogue = _dialogue(document, place, full)
            is_new = dialogue.id not in document.records.dialogues
            yield document.records.add_dialogue(document, f"{place}.id", dialogue)
            if is_new and (task := _stream_task(document, place, dialogue)) is not None:
                document.records.content.proactive.append(task)


def _dialogue(document: SourceDocument, place: str, row: OVOBenchRow) -> Dialogue:
    labels: dict[str, tuple[str, ...]] = {TASK: (row.task,)}
    if row.task in MODES:
        labels[MODE] = (MODES[row.task],)
    extra = row.unknown
    turns: list[Turn] = []
    match row:
        case ChoiceRow():
            if row.gt >= len(row.options):
                raise document.error(f"there are {len(row.options)} options", f"{place}.gt", row.gt)
            options, _ = read_options(document, f"{place}.options", row.options)
            turns = [
                Turn(
                    question=row.question,
                    references=(options[row.gt],),
                    options=options,
                    correct_option=row.gt,
                    asked_at_s=row.realtime,
                    labels=labels,
                )
            ]
        case CountRow():
            question = f"How many times did they {row.activity}?"
            turns = [_probe(probe, question, str(probe.count), labels) for probe in row.test_info]
        case StepRow():
            turns = [_probe(probe, probe.step, YES_NO[probe.type], labels) for probe in row.test_info]
        case ClueRow():
            turns = [_probe(probe, row.question, YES_NO[probe.type], labels) for probe in row.test_info]
            extra |= {} if row.answer is None else {"answer": row.answer}
    return Dialogue(
        id=DialogueId(str(row.id)),
        video_id=VideoId(row.video),
        task=None if isinstance(row, ChoiceRow) else row.task,
        turns=tuple(turns),
        extra=extra,
    )


def _probe(probe: CountProbe | YesNoProbe, question: str, reference: str, labels: dict[str, tuple[str, ...]]) -> Turn:
    return Turn(
        question=question, references=(reference,), asked_at_s=probe.realtime, labels=labels, extra=probe.unknown
    )


def _stream_task(document: SourceDocument, place: str, dialogue: Dialogue) -> ProactiveTask | None:
    """A forward question as a task for a model that speaks unasked; None if the row has no times for it."""
    times = dialogue.extra
    asked_s = max(turn.asked_at_s or 0.0 for turn in dialogue.turns)
    if dialogue.task == "REC" and "end_times" in times:
        ends = parse(RepetitionTimes, times, file=document.path, place=place).end_times
        found = COUNTING.fullmatch(dialogue.turns[0].question)
        assert found is not None
        request = _count_request(found["activity"], ends)
    elif dialogue.task == "SSR" and {"all_steps", "start_time", "end_time"} <= set(times):
        request = _step_request(document, place, times)
    elif dialogue.task == "CRR" and {"ask_time", "clue_time", "answer"} <= set(times):
        clue = parse(ClueTimes, times, file=document.path, place=place)
        shown_s = max(clue.ask_time, clue.clue_time)
        request = UserRequest(
            at_s=clue.ask_time,
            text=dialogue.turns[0].question,
            act="await",
            # Every probe from the clue on expects that the question can be answered.
            moments=(_moment(shown_s, max(shown_s, asked_s), clue.answer),),
        )
    else:
        return None
    until_s = max(asked_s, *(moment.interval.end_s for moment in request.moments))
    return ProactiveTask(
        id=dialogue.id, video_id=dialogue.video_id, requests=(request,), until_s=until_s, kind=str(dialogue.task)
    )


def _moment(start_s: float, end_s: float, reference: str, key: AnswerKey | None = None) -> Moment:
    return Moment(interval=Interval(start_s=start_s, end_s=end_s), references=(reference,), key=key)


def _count_request(activity: str, ends: list[float]) -> UserRequest:
    """A count is due when a repetition ends, until the next one ends or the tolerance is over.

    Of repetitions that end at the same time, the probes count some, so each of their counts is right.
    """
    at_s = sorted(set(ends))
    moments = []
    for start_s, next_s in zip(at_s, [*at_s[1:], float("inf")], strict=True):
        last, same = sum(end_s <= start_s for end_s in ends), ends.count(start_s)
        also = tuple(str(number) for number in range(last - same + 1, last))
        key = AnswerKey(type="count", values=(str(last),), also=also)
        moments.append(_moment(start_s, min(next_s, start_s + TOLERANCE_S), str(last), key))
    text = f"Count how often somebody does this: {activity}. Say the number each time."
    return UserRequest(text=text, moments=tuple(moments))


def _step_request(document: SourceDocument, place: str, times: Mapping[str, Json]) -> UserRequest:
    """A step is due from its start, and can be told until its end."""
    row = parse(StepTimes, times, file=document.path, place=place)
    for name, own in (("start_time", row.start_time), ("end_time", row.end_time)):
        if len(own) != len(row.all_steps):
            raise document.error(f"there are {len(row.all_steps)} steps in all_steps", f"{place}.{name}", own)
    steps = sorted(zip(row.start_time, row.end_time, row.all_steps, strict=True))
    text = f"A tutorial has these steps: {'; '.join(row.all_steps)}. Tell me each step when it begins."
    return UserRequest(text=text, moments=tuple(_moment(start_s, end_s, step) for start_s, end_s, step in steps))


LAYOUT: Final = Layout(
    FORMAT,
    [DocumentKind("questions", lambda _, value: isinstance(value, list), _decode)],
    "a JSON list of rows with id, task, video and either question, options, gt, realtime or test_info",
)
read = LAYOUT.read
