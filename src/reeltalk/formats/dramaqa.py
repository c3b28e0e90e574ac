"""DramaQA (AAAI 2021, arXiv 2005.03356): multiple choice on scenes and shots of a television series.

A video is an episode; `AnotherMissOh14_001_0000` is its first scene (the last four digits are zero) and
`AnotherMissOh14_001_0003` the third shot of that scene. The script gives spoken lines and times, the visual file
persons and objects in frames; both are kept with the clip.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Annotated, Final

from pydantic import Field

from reeltalk.formats.layout import Document, Index, Kind, Layout, lost_beyond_dialogues
from reeltalk.formats.multiple_choice import question_named, question_names
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.ids import ClipId, DialogueId, VideoId
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import Json
from reeltalk.store.documents import SourceModel, parse

FORMAT: Final = "dramaqa"
CLIP_NAME: Final = re.compile(r"(?P<episode>\w+?\d\d)_(?P<scene>\d{3})_(?P<shot>\d{4})")
WHOLE_SCENE: Final = "0000"
LEVELS: Final = ("q_level_logic", "q_level_mem")


class Question(SourceModel):
    """One row of a question file; test questions may hide the answer."""

    qid: int | str
    vid: str
    que: str
    answers: Annotated[list[str], Field(min_length=1)]
    correct_idx: Annotated[int, Field(ge=0)] | None = None
    q_level_logic: int | None = None
    q_level_mem: int | None = None


class Line(SourceModel):
    """A spoken line; times are strings of seconds."""

    speaker: str
    utter: str
    st: str
    et: str


class Script(SourceModel):
    """The lines of a clip."""

    st: str
    et: str
    contained_subs: list[Line]


class Person(SourceModel):
    """A person in a frame; `full_rect` is empty where nobody drew it."""

    person_id: str
    person_info: dict[str, Json]
    related_objects: list[dict[str, Json]] = Field(default_factory=list)


class Frame(SourceModel):
    """What one frame shows."""

    frame_id: str
    place: str
    persons: list[Person]
    objects: list[dict[str, Json]] = Field(default_factory=list)


def _clip_of(document: Document, place: str, name: str) -> tuple[VideoId, ClipId]:
    found = CLIP_NAME.fullmatch(name)
    if found is None:
        raise document.error("not a clip of the form AnotherMissOh14_001_0000", place, name)
    document.records.add_video(document, place, Video(id=VideoId(found["episode"]), split=document.split))
    document.records.add_clip(Clip(id=ClipId(name), video_id=VideoId(found["episode"])))
    return VideoId(found["episode"]), ClipId(name)


def _decode_questions(document: Document) -> Iterator[str]:
    for index, item in enumerate(document.value):
        place = f"$[{index}]"
        row = parse(Question, item, file=document.path, place=place)
        if row.correct_idx is not None and row.correct_idx >= len(row.answers):
            raise document.error(f"there are {len(row.answers)} answers", f"{place}.correct_idx", row.correct_idx)
        video_id, clip_id = _clip_of(document, f"{place}.vid", row.vid)
        labels = {f"dramaqa.{name}": (str(level),) for name in LEVELS if (level := getattr(row, name)) is not None}
        labels["dramaqa.extent"] = ("scene" if row.vid.endswith(WHOLE_SCENE) else "shot",)
        turn = Turn(
            question=row.que,
            references=() if row.correct_idx is None else (row.answers[row.correct_idx],),
            options=tuple(row.answers),
            correct_option=row.correct_idx,
            labels=labels,
        )
        yield document.records.add_dialogue(
            document,
            f"{place}.qid",
            Dialogue(
                id=DialogueId(f"{document.stem}/{row.qid}"),
                video_id=video_id,
                clip_ids=(clip_id,),
                turns=(turn,),
                extra=row.unknown,
            ),
        )


def _encode_questions(index: Index, file: SourceFile) -> Json:
    rows = []
    shorts = Counter(name.rpartition("/")[2] for name in file.records)
    for name in file.records:
        dialogue, turn = question_named(index, name)
        short = name.rpartition("/")[2]
        row: dict[str, Json] = {
            "qid": short if shorts[short] == 1 else name,
            "vid": dialogue.clip_ids[0] if dialogue.clip_ids else dialogue.video_id,
            "que": turn.question,
            "answers": list(turn.options or ()),
        }
        if row["qid"].isdecimal() and str(int(row["qid"][:18])) == row["qid"]:
            row["qid"] = int(row["qid"])
        if turn.correct_option is not None:
            row["correct_idx"] = turn.correct_option
        for level in LEVELS:
            if found := turn.labels.get(f"dramaqa.{level}"):
                row[level] = int(found[0]) if re.fullmatch(r"-?\d{1,9}", found[0]) else found[0]
        rows.append(dialogue.extra | row)
    return rows


def _seconds(document: Document, place: str, text: str) -> float:
    if not re.fullmatch(r"\d{1,9}(\.\d*)?", text):
        raise document.error("not a number of seconds", place, text)
    return float(text)


def _decode_script(document: Document) -> Iterator[str]:
    for name, item in document.value.items():
        place = f"$.{name}"
        row = parse(Script, item, file=document.path, place=place)
        video_id, clip_id = _clip_of(document, place, name)
        start_s, end_s = (_seconds(document, f"{place}.{key}", getattr(row, key)) for key in ("st", "et"))
        if end_s < start_s:
            raise document.error("the clip ends before it starts", place, [row.st, row.et])
        document.records.add_clip(
            Clip(
                id=clip_id,
                video_id=video_id,
                interval=Interval(start_s=start_s, end_s=end_s),
                extra={"contained_subs": item["contained_subs"], "st": row.st, "et": row.et} | row.unknown,
            )
        )
        yield clip_id


def _encode_script(index: Index, file: SourceFile) -> Json:
    clips = {name: index.clips[ClipId(name)].extra for name in file.records}
    return {name: {key: value for key, value in extra.items() if key != "frames"} for name, extra in clips.items()}


def _decode_visual(document: Document) -> Iterator[str]:
    for name, frames in document.value.items():
        place = f"$.{name}"
        parse(list[Frame], frames, file=document.path, place=place)
        video_id, clip_id = _clip_of(document, place, name)
        document.records.add_clip(Clip(id=clip_id, video_id=video_id, extra={"frames": frames}))
        yield clip_id


def _encode_visual(index: Index, file: SourceFile) -> Json:
    return {name: index.clips[ClipId(name)].extra["frames"] for name in file.records}


def _default_files(index: Index) -> list[SourceFile]:
    by_split: dict[str, list[str]] = defaultdict(list)
    for name in question_names(index):
        dialogue, _ = question_named(index, name)
        if dialogue.clip_ids and CLIP_NAME.fullmatch(dialogue.clip_ids[0]):
            by_split[index.videos[dialogue.video_id].split or "all"].append(name)
    return [
        SourceFile(
            format=FORMAT,
            path=f"AnotherMissOhQA_{split.replace('/', '_')}_set.json",
            kind="questions",
            records=tuple(names),
        )
        for split, names in by_split.items()
    ]


def _is_visual(_: str, value: Json) -> bool:
    return isinstance(value, dict) and bool(value) and all(isinstance(member, list) for member in value.values())


LAYOUT: Final = Layout(
    FORMAT,
    [
        Kind("questions", lambda _, value: isinstance(value, list), _decode_questions, _encode_questions),
        Kind("visual", _is_visual, _decode_visual, _encode_visual),
        Kind("script", lambda _, value: isinstance(value, dict), _decode_script, _encode_script),
    ],
    "AnotherMissOhQA_{train,val,test}_set.json, AnotherMissOh_script.json, AnotherMissOh_visual.json",
    _default_files,
    lambda content: [
        *lost_beyond_dialogues(content, options=True, several_turns=False),
        *(["questions about clips that are not named as DramaQA's are left out"] if content.dialogues else []),
    ],
)
read, write = LAYOUT.read, LAYOUT.write
