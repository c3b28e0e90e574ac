"""Published sets of questions that are imported to be played. A new one is an entry of `QUESTION_SETS`.

Their own harnesses read their own files, so nothing is written back. A set is a JSON document, or a Parquet file of
rows; an entry says what a row looks like, and which records it becomes. Layouts with several kinds of files have a
module of their own.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal

from pydantic import AliasChoices, Field

from reeltalk.formats.multiple_choice import choice
from reeltalk.formats.parquet import read_arrow_rows
from reeltalk.formats.release import DocumentReader, ReleaseFile
from reeltalk.metrics.proactive import POLLED_AFTER_S, TOLERANCE_S
from reeltalk.schema.answers import Answer, AnswerState
from reeltalk.schema.dialogue import AnswerKey, Dialogue, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ClipId, DialogueId, Finite, Json, Name, VideoId
from reeltalk.schema.stream import Moment, ProactiveTask, UserRequest
from reeltalk.store.content import Content
from reeltalk.store.documents import SourceModel

Found = Video | Clip | Dialogue | ProactiveTask | Answer
Seconds = Annotated[Finite, Field(ge=0)]


@dataclass(frozen=True)
class RowPlace:
    """Where a row is: its file, its place in it, and its number from 0, with what was read before it."""

    reader: DocumentReader
    file: ReleaseFile
    at: str
    number: int

    def choice(self, question: str, options: Sequence[str], right: str | int | None, **more: Any) -> Turn:
        """A turn with options; see `multiple_choice.choice`."""
        return choice(self.file, self.at, question=question, options=options, right=right, **more)


@dataclass(frozen=True)
class QuestionSet:
    """A published set of questions."""

    row: type[SourceModel]
    records: Callable[[RowPlace, Any], Iterable[Found]]
    """The records of a row, the video first."""
    expected: str
    """A description of the expected files, for error messages."""


class VideoMMERow(SourceModel):
    """A question. `duration` is a class (short, medium, long). A file of results has a model's `response`.

    The names of fields in such files changed over time.
    """

    video_id: Name
    duration: str = Field(validation_alias=AliasChoices("duration", "duration_category"))
    domain: str = Field(validation_alias=AliasChoices("domain", "video_category"))
    sub_category: str = Field(validation_alias=AliasChoices("sub_category", "video_subcategory", "video_sub_category"))
    question_id: Name
    task_type: str
    question: str
    options: list[str] = Field(validation_alias=AliasChoices("options", "choices"))
    answer: str
    url: str | None = None
    videoID: str | None = None
    response: str | None = None
    missing: bool | None = None
    """True if the model was not shown the video."""


def _video_mme(place: RowPlace, row: VideoMMERow) -> Iterator[Found]:
    file = None if row.videoID is None else f"{row.videoID}.mp4"
    # The name of a file of results is the model, so `qwen_train.json` does not name a split.
    is_result = ".questions[" in place.at
    yield Video(id=VideoId(row.video_id), file=file, source=row.url, split=None if is_result else place.file.split)
    labels = {
        f"video_mme.{name}": (getattr(row, name),) for name in ("duration", "domain", "sub_category", "task_type")
    }
    turn = place.choice(row.question, row.options, row.answer, labels=labels)
    dialogue = Dialogue(id=DialogueId(row.question_id), video_id=VideoId(row.video_id), turns=(turn,))
    if not is_result:
        if dialogue.id not in place.reader.origins:
            place.reader.dialogues.pop(dialogue.id, None)  # so far only a file of results names this question
        yield dialogue.model_copy(update={"extra": row.unknown})
        return
    place.reader.dialogues.setdefault(dialogue.id, dialogue)
    if "response" in row.model_fields_set:
        answered = AnswerState.ANSWERED if row.response is not None else AnswerState.FAILED
        yield Answer(
            model=place.file.path.stem,
            unit_id=row.question_id,
            turn_index=0,
            text=row.response or "",
            state=AnswerState.NOT_ASKED if row.missing else answered,
            asked_as=row.question,
            extra=row.unknown,
        )


MVBENCH_FOLDERS: Final = {
    **dict.fromkeys(("action_sequence", "action_prediction", "object_interaction"), "star/Charades_v1_480"),
    **dict.fromkeys(
        ("object_existence", "moving_direction", "moving_count", "moving_attribute", "counterfactual_inference"),
        "clevrer/video_validation",
    ),
    **dict.fromkeys(("object_shuffle", "action_count", "state_change", "character_order"), "perception/videos"),
    "action_antonym": "ssv2_video",
    "fine_grained_action": "Moments_in_Time_Raw/videos",
    "unexpected_action": "FunQA_test/test",
    "action_localization": "sta/sta_video",
    "scene_transition": "scene_qa/video",
    "fine_grained_pose": "nturgbd",
    "egocentric_navigation": "vlnqa",
    "episodic_reasoning": "tvqa/frames_fps3_hq",
}
"""The video folder of each of MVBench's tasks, by the name of its file: `video_1.mp4` may be two videos."""
MVBENCH_PARTS: Final = (
    "action_sequence", "action_prediction", "object_interaction", "action_localization", "episodic_reasoning",
)  # fmt: skip
"""The tasks that show the part from `start` to `end`; the others always show the whole video."""


class MVBenchRow(SourceModel):
    """A question whose answer repeats a candidate; `start` and `end` are seconds."""

    video: Name
    question: str
    candidates: list[str]
    answer: str
    start: Finite | None = None
    end: Finite | None = None


def _mvbench(place: RowPlace, row: MVBenchRow) -> Iterator[Found]:
    task = place.file.path.stem
    file = f"{MVBENCH_FOLDERS[task]}/{row.video}" if task in MVBENCH_FOLDERS else row.video
    yield Video(id=VideoId(file), file=file)
    clip_ids: tuple[ClipId, ...] = ()
    if (row.start is None) != (row.end is None):
        raise place.file.error("one of start and end is missing", place.at, [row.start, row.end])
    if row.start is not None and row.end is not None:
        interval = Interval(start_s=row.start, end_s=row.end)
        if task in MVBENCH_PARTS or task not in MVBENCH_FOLDERS:
            clip_ids = (ClipId(f"{file}@{interval.start_s}-{interval.end_s}"),)
            yield Clip(id=clip_ids[0], video_id=VideoId(file), interval=interval)
    turn = place.choice(row.question, row.candidates, row.answer, labels={"mvbench.task": (task,)})
    name = DialogueId(f"{place.file.name.removesuffix('.json')}/{place.number}")
    yield Dialogue(id=name, video_id=VideoId(file), clip_ids=clip_ids, turns=(turn,), extra=row.unknown)


OVO_MODES: Final = {
    **dict.fromkeys(("EPM", "ASI", "HLD"), "backward"),
    **dict.fromkeys(("OCR", "ACR", "ATR", "STU", "FPD", "OJR"), "realtime"),
    **dict.fromkeys(("REC", "SSR", "CRR"), "forward"),
}
"""The mode of each task of OVO-Bench; the benchmark's score is the mean over its three modes."""
YES_NO: Final = {0: "No", 1: "Yes"}


class OVOBenchRow(SourceModel):
    """The fields of every question of OVO-Bench."""

    id: int
    task: Name
    video: Name


class ChoiceRow(OVOBenchRow):
    """A question with options at one moment; `gt` is the index of the right one."""

    question: str
    options: list[str]
    gt: int
    realtime: Seconds
    answer: str | None = None


class OVOProbe(SourceModel):
    """A probe of a forward question: the count so far (REC), or whether it is so (SSR, CRR), with the step (SSR)."""

    realtime: Seconds
    count: int | None = None
    type: Literal[0, 1] | None = None
    step: str | None = None


class ForwardRow(OVOBenchRow):
    """A question that is repeated at each probe, and when what it asks about happens, in seconds.

    How often do they do it (REC), is this step being done now (SSR), is there enough to answer (CRR)?
    """

    test_info: Annotated[list[OVOProbe], Field(min_length=1)]
    activity: str | None = None
    question: str | None = None
    answer: str | None = None
    end_times: Annotated[list[Seconds], Field(min_length=1)] | None = None
    all_steps: Annotated[list[str], Field(min_length=1)] | None = None
    start_time: list[Seconds] | None = None
    end_time: list[Seconds] | None = None
    ask_time: Seconds | None = None
    clue_time: Seconds | None = None


def _ovo_bench(place: RowPlace, row: OVOBenchRow) -> Iterator[Found]:
    yield Video(id=VideoId(row.video), file=row.video)
    mode = OVO_MODES.get(row.task)
    labels: dict[str, tuple[str, ...]] = {"ovo_bench.task": (row.task,)}
    labels |= {"ovo_bench.mode": (mode,)} if mode else {}
    name = DialogueId(str(row.id))
    if mode != "forward":
        one = place.file.parse(ChoiceRow, row.model_dump(), place.at)
        turn = place.choice(one.question, one.options, one.gt, labels=labels, asked_at_s=one.realtime)
        yield Dialogue(id=name, video_id=VideoId(row.video), turns=(turn,), extra=one.unknown)
        return
    forward = place.file.parse(ForwardRow, row.model_dump(), place.at)
    turns = tuple(_probed(place, number, forward, labels) for number in range(len(forward.test_info)))
    is_new = name not in place.reader.dialogues
    yield Dialogue(id=name, video_id=VideoId(row.video), task=row.task, turns=turns, extra=forward.unknown)
    request = _ovo_request(place, forward)
    if is_new and request is not None:
        last_s = max(probe.realtime for probe in forward.test_info)
        until_s = max(last_s, *(moment.interval.end_s for moment in request.moments))
        yield ProactiveTask(
            id=name, video_id=VideoId(row.video), requests=(request,), until_s=until_s, kind=str(row.task)
        )


def _probed(place: RowPlace, number: int, row: ForwardRow, labels: Mapping[str, tuple[str, ...]]) -> Turn:
    probe = row.test_info[number]
    asked = {"REC": row.activity, "SSR": probe.step, "CRR": row.question}[row.task]
    answer = probe.count if row.task == "REC" else probe.type
    if asked is None or answer is None:
        needed = {"REC": "activity and count", "SSR": "step and type", "CRR": "question and type"}[row.task]
        raise place.file.error(f"a probe of {row.task} needs {needed}", f"{place.at}.test_info[{number}]")
    is_count = row.task == "REC"
    return Turn(
        question=f"How many times did they {asked}?" if is_count else asked,
        references=(str(answer) if is_count else YES_NO[answer],),
        asked_at_s=probe.realtime,
        labels=dict(labels),
        extra=probe.unknown,
    )


def _ovo_request(place: RowPlace, row: ForwardRow) -> UserRequest | None:
    """A forward question as a request to a model that speaks unasked; None if the row has no times for it."""
    if row.task == "REC" and row.end_times is not None:
        text = f"Count how often somebody does this: {row.activity}. Say the number each time."
        return UserRequest(text=text, moments=tuple(_count_moments(row.end_times)))
    if row.task == "SSR" and row.all_steps is not None and row.start_time is not None and row.end_time is not None:
        if not len(row.start_time) == len(row.end_time) == len(row.all_steps):
            problem = f"start_time and end_time have not one time for each of {len(row.all_steps)} steps"
            raise place.file.error(problem, place.at, [row.start_time, row.end_time])
        # A step is due from its start, and can be told until its end.
        steps = sorted(zip(row.start_time, row.end_time, row.all_steps, strict=True))
        text = f"A tutorial has these steps: {'; '.join(row.all_steps)}. Tell me each step when it begins."
        return UserRequest(text=text, moments=tuple(_moment(*step) for step in steps))
    if row.task == "CRR" and row.ask_time is not None and row.clue_time is not None and row.answer is not None:
        shown_s = max(row.ask_time, row.clue_time)
        # Every probe from the clue on expects that the question can be answered.
        end_s = max(shown_s, *(probe.realtime for probe in row.test_info))
        moments = (_moment(shown_s, end_s, row.answer),)
        return UserRequest(at_s=row.ask_time, text=str(row.question), act="await", moments=moments)
    return None


def _count_moments(ends_s: list[float]) -> Iterator[Moment]:
    """A count is due when a repetition ends, until the next one ends or the tolerance is over."""
    at_s = sorted(set(ends_s))
    for start_s, next_s in zip(at_s, [*at_s[1:], float("inf")], strict=True):
        last, same = sum(end_s <= start_s for end_s in ends_s), ends_s.count(start_s)
        also = tuple(str(number) for number in range(last - same + 1, last))
        key = AnswerKey(type="count", values=(str(last),), also=also)
        yield _moment(start_s, min(next_s, start_s + TOLERANCE_S), str(last), key)


def _moment(start_s: float, end_s: float, reference: str, key: AnswerKey | None = None) -> Moment:
    return Moment(interval=Interval(start_s=start_s, end_s=end_s), references=(reference,), key=key)


class StreamingBenchRow(SourceModel):
    """What shall be output, and when: *When the scoreboard shows 3, output "3".* Times are `HH:MM:SS`."""

    video_path: Name
    task_type: Literal["Proactive Output"]
    question: Annotated[str, Field(min_length=1)]
    time_stamp: str
    ground_truth_time_stamp: str
    ground_truth_output: Annotated[str, Field(min_length=1)]


def _streamingbench(place: RowPlace, row: StreamingBenchRow) -> Iterator[Found]:
    file = PurePosixPath(row.video_path)
    yield Video(id=VideoId(file.as_posix()), file=file.as_posix())
    said_s, due_s = (
        _clock_seconds(place, field, getattr(row, field)) for field in ("time_stamp", "ground_truth_time_stamp")
    )
    if due_s < said_s:
        raise place.file.error("the output is due before it is asked for", place.at, row.ground_truth_time_stamp)
    # The official script asks a model each second until 4 s after that moment; within 2 s an output is in time.
    moment = _moment(due_s, due_s + TOLERANCE_S, row.ground_truth_output)
    yield ProactiveTask(
        id=f"{place.file.name.removesuffix('.json')}/{file.stem}/{place.number}",
        video_id=VideoId(file.as_posix()),
        requests=(UserRequest(at_s=said_s, text=row.question, moments=(moment,)),),
        until_s=due_s + POLLED_AFTER_S,
        kind="proactive-output",
        extra=row.unknown,
    )


def _clock_seconds(place: RowPlace, field: str, time: str) -> float:
    if re.fullmatch(r"[0-9]{1,3}(?::[0-9]{1,2}){1,2}", time) is None:
        raise place.file.error("not a time as 00:03:10", f"{place.at}.{field}", time)
    return float(sum(int(part) * 60**power for power, part in enumerate(reversed(time.split(":")))))


class AVSDReason(SourceModel):
    """The reason for an answer (DSTC10): an interval in seconds, in either order, and usually a sentence."""

    timestamp: Annotated[list[Seconds], Field(min_length=2, max_length=2)]
    sentence: str | None = None


class AVSDTurn(SourceModel):
    """A question; several answers are several references."""

    question: str
    answer: str | list[str]
    reason: list[AVSDReason] | None = None


class AVSDRow(SourceModel):
    """A dialogue about a video of Charades."""

    image_id: Name
    dialog: list[AVSDTurn]
    caption: str | None = None
    summary: str | None = None


def _avsd(place: RowPlace, row: AVSDRow) -> Iterator[Found]:
    summaries = {"caption": row.caption, "summary": row.summary}
    given = {name: text for name, text in summaries.items() if text is not None}
    yield Video(id=VideoId(row.image_id), split=place.file.split, summaries=given)
    known = place.reader.videos[row.image_id].summaries
    name = f"{place.file.path.stem}/{row.image_id}"
    if place.reader.origins.get(name) == place.file.name:
        name = f"{name}/{place.number}"
        place.reader.content.warnings.append(f"{place.file.name} has several dialogues about video {row.image_id}")
    turns = []
    for turn in row.dialog:
        answers = turn.answer if isinstance(turn.answer, list) else [turn.answer]
        reasons = turn.reason or []
        sentences: list[Json] = [reason.sentence for reason in reasons if reason.sentence is not None]
        turns.append(
            Turn(
                question=turn.question,
                # The answers of a test set may be hidden.
                references=tuple(text for text in answers if text != "__UNDISCLOSED__"),
                evidence=tuple(
                    Interval(start_s=min(reason.timestamp), end_s=max(reason.timestamp)) for reason in reasons
                ),
                extra=turn.unknown | ({"reason": sentences} if sentences else {}),
            )
        )
    differing = {name: text for name, text in given.items() if known[name] != text}
    yield Dialogue(
        id=DialogueId(name), video_id=VideoId(row.image_id), turns=tuple(turns), extra=differing | row.unknown
    )


QUESTION_SETS: Final[dict[str, QuestionSet]] = {
    # DSTC7, DSTC8 and DSTC10: ten-turn dialogues about Charades videos (arXiv 1806.00525).
    "avsd": QuestionSet(AVSDRow, _avsd, '{"dialogs": [{"image_id", "dialog": [{"question", "answer"}]}]}'),
    # CVPR 2024, arXiv 2311.17005.
    "mvbench": QuestionSet(MVBenchRow, _mvbench, "json/<task>.json, lists of video, question, candidates, answer"),
    # CVPR 2025, arXiv 2501.05510: questions at a moment of a stream, and probes along it.
    "ovo-bench": QuestionSet(
        OVOBenchRow, _ovo_bench,
        "a JSON list of rows with id, task, video and either question, options, gt, realtime or test_info",
    ),
    # The questions of *Proactive Output* (arXiv 2411.03628).
    "streamingbench": QuestionSet(
        StreamingBenchRow, _streamingbench, "questions_proactive.json, a list of parts with video_path and questions"
    ),
    # CVPR 2025, arXiv 2405.21075, with its published form for models' outputs.
    "video-mme": QuestionSet(
        VideoMMERow, _video_mme,
        "a Parquet file or JSON list of rows with video_id, question_id, question, options, answer, "
        "or a JSON list of videos with questions and responses",
    ),
}  # fmt: skip


class SetReader(DocumentReader):
    """Reads the files of a set of questions."""

    def __init__(self, name: str, source: Path) -> None:
        super().__init__(source)
        self.design = QUESTION_SETS[name]
        self.format = self.title = name
        self.expected = f"expected {self.design.expected}"
        self.kinds = {"questions": self._read_questions}

    def open_file(self, name: str, path: Path) -> ReleaseFile | None:
        """Open a JSON or Parquet file."""
        if path.suffix != ".parquet":
            return super().open_file(name, path)
        rows = read_arrow_rows(path)
        return ReleaseFile(path, name, rows, self.kind_of(rows, name) or "")

    def kind_of(self, value: Json, name: str) -> str | None:
        """Questions, if it is a list of rows, or an object with dialogues."""
        is_list = self.design.row is not AVSDRow
        fits = isinstance(value, list) if is_list else isinstance(value, dict) and "dialogs" in value
        return "questions" if fits else None

    def assemble(self) -> None:
        """Put what was read into the tables."""
        super().assemble()
        questions = {dialogue.id: dialogue.turns[0].question for dialogue in self.content.dialogues}
        self.content.answers = [
            answer.model_copy(update={"asked_as": None})
            if questions.get(DialogueId(answer.unit_id)) == answer.asked_as
            else answer
            for answer in self.content.answers
        ]

    def _read_questions(self, file: ReleaseFile) -> None:
        ids: list[str] = []
        for number, (at, item) in enumerate(_rows(file)):
            row = file.parse(self.design.row, item, at)
            with file.making(at):
                for found in self.design.records(RowPlace(self, file, at, number), row):
                    match found:
                        case Video():
                            self.add_video(file, at, found)
                        case Clip():
                            self.add_clip(found)
                        case Dialogue():
                            ids.append(self.add_dialogue(file, at, found))
                        case ProactiveTask():
                            self.content.proactive.append(found)
                            ids.append(found.id)
                        case Answer():
                            self.content.answers.append(found)
                            ids.append(found.unit_id)
        self.add_file(file, ids)


def _rows(file: ReleaseFile) -> Iterator[tuple[str, Json]]:
    """Each row with its place; the questions of a video are rows with the fields of that video."""
    value, place = file.value, "$"
    if isinstance(value, dict):
        value, place = file.parse(list[Any], value["dialogs"], "$.dialogs"), "$.dialogs"
    for index, item in enumerate(value):
        at = f"{place}[{index}]"
        questions = item.get("questions") if isinstance(item, dict) else None
        if not isinstance(questions, list) or not questions:
            yield at, item
            continue
        about = {key: member for key, member in item.items() if key != "questions"}
        for number, asked in enumerate(questions):
            yield f"{at}.questions[{number}]", about | asked if isinstance(asked, dict) else asked


def read_set(name: str, source: Path) -> Content:
    """Read a file or folder of a set of questions.

    Raises:
        InputError: A file is damaged or unknown, or there is none of this set.
        MissingExtraError: There is Parquet and the `hub` extra is not installed.
    """
    return SetReader(name, source).read()
