"""OVO-Bench (CVPR 2025, arXiv 2501.05510): questions at a moment of a stream, and probes repeated as it goes on.

Backward and real-time tasks have options and one moment. The forward tasks ask the same again at each entry of
`test_info`: how often so far (REC), is this step being done now (SSR), is there enough to answer (CRR).
"""

from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from reeltalk.formats.layout import Document, Index, Kind, Layout, lost_beyond_dialogues
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.ids import DialogueId, VideoId
from reeltalk.schema.media import Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.store.documents import SourceModel, parse

FORMAT: Final = "ovo-bench"
TASK: Final = "ovo_bench.task"
FORWARD: Final = ("REC", "SSR", "CRR")

Moment = Annotated[float, Field(ge=0)]


class Row(SourceModel):
    """What every question has."""

    id: int
    task: Annotated[str, Field(min_length=1)]
    video: Annotated[str, Field(min_length=1)]


class ChoiceRow(Row):
    """A question with options at one moment; `gt` is the index of the right one."""

    question: str
    options: list[str]
    gt: Annotated[int, Field(ge=0)]
    realtime: Moment


class Probe(SourceModel):
    """One moment at which a forward task asks."""

    realtime: Moment
    count: int | None = None
    step: str | None = None
    type: int | None = None


class ForwardRow(Row):
    """A question that is asked again and again."""

    test_info: list[Probe]
    activity: str | None = None
    question: str | None = None
    answer: str | None = None


def _decode(document: Document) -> Iterator[str]:
    for index, item in enumerate(document.value):
        place = f"$[{index}]"
        row = parse(Row, item, file=document.path, place=place)
        document.records.add_video(document, place, Video(id=VideoId(row.video), file=row.video))
        dialogue = _forward(document, place, item) if row.task in FORWARD else _choice(document, place, item)
        yield document.records.add_dialogue(document, f"{place}.id", dialogue)


def _choice(document: Document, place: str, item: Json) -> Dialogue:
    row = parse(ChoiceRow, item, file=document.path, place=place)
    if row.gt >= len(row.options):
        raise document.error(f"there are {len(row.options)} options", f"{place}.gt", row.gt)
    turn = Turn(
        question=row.question,
        references=(row.options[row.gt],),
        options=tuple(row.options),
        correct_option=row.gt,
        asked_at_s=row.realtime,
        labels={TASK: (row.task,)},
    )
    return Dialogue(id=DialogueId(str(row.id)), video_id=VideoId(row.video), turns=(turn,), extra=row.unknown)


def _forward(document: Document, place: str, item: Json) -> Dialogue:
    row = parse(ForwardRow, item, file=document.path, place=place)
    about = {name: value for name in ("activity", "question", "answer") if (value := getattr(row, name)) is not None}
    turns = []
    for probe in row.test_info:
        reference = str(probe.count) if probe.count is not None else {1: "Yes", 0: "No"}.get(probe.type or 0, "")
        extra = {name: value for name in ("count", "step", "type") if (value := getattr(probe, name)) is not None}
        turns.append(
            Turn(
                question=probe.step or row.question or row.activity or "",
                references=(reference,) if probe.count is not None or probe.type is not None else (),
                asked_at_s=probe.realtime,
                labels={TASK: (row.task,)},
                extra=extra | probe.unknown,
            )
        )
    return Dialogue(
        id=DialogueId(str(row.id)),
        video_id=VideoId(row.video),
        task=row.task,
        turns=tuple(turns),
        extra=about | row.unknown,
    )


def _encode(index: Index, file: SourceFile) -> Json:
    rows = []
    for number, name in enumerate(file.records):
        dialogue = index.dialogues[DialogueId(name)]
        row: dict[str, Json] = {
            "id": int(name) if name.isdecimal() and name.isascii() and len(name) < 19 else number,
            "task": dialogue.task or (dialogue.turns[0].labels.get(TASK) if dialogue.turns else None) or "EPM",
            "video": dialogue.video_id,
        }
        if not isinstance(row["task"], str):
            row["task"] = row["task"][0]
        if dialogue.task in FORWARD:
            row["test_info"] = [turn.extra | {"realtime": turn.asked_at_s} for turn in dialogue.turns]
        else:
            turn = dialogue.turns[0]
            row |= {
                "realtime": turn.asked_at_s,
                "question": turn.question,
                "options": list(turn.options or ()),
                "gt": turn.correct_option,
            }
        rows.append(dialogue.extra | row)
    return rows


def _default_files(index: Index) -> list[SourceFile]:
    names = tuple(
        dialogue.id
        for dialogue in index.dialogues.values()
        if dialogue.task in FORWARD
        or (
            len(dialogue.turns) == 1
            and dialogue.turns[0].options
            and dialogue.turns[0].asked_at_s is not None
            and dialogue.turns[0].correct_option is not None
        )
    )
    return [SourceFile(format=FORMAT, path="ovo_bench.json", kind="questions", records=names)]


LAYOUT: Final = Layout(
    FORMAT,
    [Kind("questions", lambda _, value: isinstance(value, list), _decode, _encode)],
    "a JSON list of rows with id, task, video and either question, options, gt, realtime or test_info",
    _default_files,
    lambda content: [
        *lost_beyond_dialogues(content, options=True, several_turns=False),
        *(
            ["only single questions with options and a moment, and forward tasks, are written"]
            if content.dialogues
            else []
        ),
    ],
)
read, write = LAYOUT.read, LAYOUT.write
