"""DramaQA (AAAI 2021, arXiv 2005.03356): multiple choice on scenes and shots of a television series.

A video is an episode; `AnotherMissOh14_001_0000` is its first scene (the last four digits are zero) and
`AnotherMissOh14_001_0003` the third shot of that scene. The script gives spoken lines and times, the visual file
persons and objects in frames; both are kept with the clip.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError

from reeltalk.formats.export_losses import ADDED_LATER, fields_left_out
from reeltalk.formats.layout import DocumentKind, Index, Layout, SourceDocument, as_file_stem, lost_splits
from reeltalk.formats.multiple_choice import lost_beyond_questions, question_named, question_names, read_options
from reeltalk.schema.dialogue import Dialogue, Turn
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.outcomes import SourceFile
from reeltalk.schema.record import ClipId, DialogueId, Json, Name, VideoId
from reeltalk.schema.speech import Utterance
from reeltalk.store.content import Content
from reeltalk.store.documents import SourceModel, parse, record_errors

FORMAT: Final = "dramaqa"
CLIP_NAME: Final = re.compile(r"(?P<episode>\w+?\d\d)_(?P<scene>\d{3})_(?P<shot>\d{4})")
WHOLE_SCENE: Final = "0000"
NO_SUBTITLE: Final = "."
NOBODY: Final = "None"
"""The speaker of a line that nobody in the script speaks, such as a sound."""
SECONDS: Final = re.compile(r"[0-9]{1,9}(\.[0-9]*)?")
LEVELS: Final = ("q_level_logic", "q_level_mem")
TAGS: Final = ("target", "content", "thinking")
"""CogME's three components (CogSci 2024); several tags form a list."""
EXTENT: Final = "dramaqa.extent"
LABELS: Final = (EXTENT, *(f"dramaqa.{name}" for name in LEVELS), *(f"cogme.{name}" for name in TAGS))


class SpokenLine(SourceModel):
    """A spoken line; times are strings of seconds."""

    speaker: str
    utter: str
    st: str
    et: str


class ClipScript(SourceModel):
    """The lines of a clip."""

    st: str
    et: str
    contained_subs: list[SpokenLine]


class DramaQAQuestion(SourceModel):
    """One row of a question file; test questions hide the answer.

    `correct_idx` counts from 0, as in the official loader; the data set's page says 1 to 5.
    `subtitle` is the clip's part of the script, in the derived `*_script.json` lists.
    """

    qid: int | Name
    vid: str
    que: str
    answers: Annotated[list[str], Field(min_length=1)]
    correct_idx: Annotated[int, Field(ge=0)] | None = None
    videoType: str | None = None
    q_level_logic: int | None = None
    q_level_mem: int | None = None
    shot_contained: list[int] | None = None
    subtitle: ClipScript | Literal["."] | None = None
    target: str | list[str] | None = None
    content: str | list[str] | None = None
    thinking: str | list[str] | None = None


class DramaQABox(SourceModel):
    """A rectangle in pixels."""

    min_x: float
    min_y: float
    max_x: float
    max_y: float


class PersonInfo(SourceModel):
    """A person's behaviour in a frame; a rectangle is empty if nobody drew it."""

    behavior: str | None = None
    emotion: str | None = None
    predicate: str | None = None
    full_rect: DramaQABox | Literal[""] | None = None
    face_rect: DramaQABox | Literal[""] | None = None


class RelatedObject(SourceModel):
    """An object that the predicate is about."""

    related_object_id: str


class FramePerson(SourceModel):
    """A person in a frame."""

    person_id: str
    person_info: PersonInfo
    related_objects: list[RelatedObject] = Field(default_factory=list)


class VisibleObject(SourceModel):
    """An object in a frame."""

    object_id: str


class AnnotatedFrame(SourceModel):
    """The persons and objects in one frame."""

    frame_id: str
    persons: list[FramePerson]
    place: str | None = None
    objects: list[VisibleObject] = Field(default_factory=list)


def _clip_of(document: SourceDocument, place: str, name: str) -> tuple[VideoId, ClipId]:
    found = CLIP_NAME.fullmatch(name)
    if found is None:
        raise document.error("not a clip of the form AnotherMissOh14_001_0000", place, name)
    document.records.add_video(document, place, Video(id=VideoId(found["episode"]), split=document.split))
    document.records.add_clip(Clip(id=ClipId(name), video_id=VideoId(found["episode"])))
    return VideoId(found["episode"]), ClipId(name)


def _extent(clip_name: str) -> str:
    return "scene" if clip_name.endswith(WHOLE_SCENE) else "shot"


def _decode_questions(document: SourceDocument) -> Iterator[str]:
    seen: set[str] = set()
    for index, item in enumerate(document.value):
        place = f"$[{index}]"
        row = parse(DramaQAQuestion, item, file=document.path, place=place)
        with record_errors(document.path, place):
            dialogue = _question(document, place, item, row)
            known = document.records.dialogues.get(dialogue.id)
            if known is None or dialogue.id in seen:
                document.records.add_dialogue(document, f"{place}.qid", dialogue)
            else:
                document.records.dialogues[dialogue.id] = _merged(document, place, known, dialogue)
            seen.add(dialogue.id)
            yield dialogue.id


def _merged(document: SourceDocument, place: str, known: Dialogue, dialogue: Dialogue) -> Dialogue:
    """Merge a question of a list with script into the one it repeats; it may leave out fields."""
    before, now = known.turns[0], dialogue.turns[0]
    labels = {**now.labels, **before.labels}
    same_turn = before.model_copy(update={"labels": labels}) == now.model_copy(update={"labels": now.labels | labels})
    if not same_turn or {**before.labels, **now.labels} != labels or known.clip_ids != dialogue.clip_ids:
        raise document.error("another file asks this question differently", f"{place}.qid", dialogue.id)
    turns = (before.model_copy(update={"labels": labels}),)
    return known.model_copy(update={"turns": turns, "extra": {**dialogue.extra, **known.extra}})


def _question(document: SourceDocument, place: str, item: Json, row: DramaQAQuestion) -> Dialogue:
    if row.correct_idx is not None and row.correct_idx >= len(row.answers):
        raise document.error(
            f"there are {len(row.answers)} answers", f"{place}.correct_idx", row.correct_idx, "they count from 0"
        )
    video_id, clip_id = _clip_of(document, f"{place}.vid", row.vid)
    if row.videoType is not None and row.videoType != _extent(row.vid):
        document.records.content.warnings.append(
            f"{document.name} calls {row.vid} a {row.videoType} at {place}; by its name it is a {_extent(row.vid)}"
        )
    if isinstance(row.subtitle, ClipScript):
        _add_script(document, f"{place}.subtitle", clip_id, item["subtitle"], row.subtitle, whole=False)
    labels = {f"dramaqa.{name}": (str(level),) for name in LEVELS if (level := getattr(row, name)) is not None}
    for name in TAGS:
        if (tags := getattr(row, name)) is not None:
            labels[f"cogme.{name}"] = (tags,) if isinstance(tags, str) else tuple(tags)
    options, _ = read_options(document, f"{place}.answers", row.answers)
    turn = Turn(
        question=row.que,
        references=() if row.correct_idx is None else (options[row.correct_idx],),
        options=options,
        correct_option=row.correct_idx,
        labels=labels | {EXTENT: (_extent(row.vid),)},
    )
    shots = {} if row.shot_contained is None else {"shot_contained": row.shot_contained}
    return Dialogue(
        id=DialogueId(f"{document.stem.removesuffix('_script')}/{row.qid}"),
        video_id=video_id,
        clip_ids=(clip_id,),
        turns=(turn,),
        extra=shots | row.unknown,
    )


def _encode_questions(index: Index, file: SourceFile) -> list[dict[str, Json]]:
    shorts = Counter(_short(name) for name in file.records)
    return [_question_row(index, name, shorts[_short(name)] == 1) for name in file.records]


def _short(name: str) -> str:
    return name.rpartition("/")[2]


def _question_row(index: Index, name: str, unique: bool) -> dict[str, Json]:
    dialogue, number = question_named(index, name)
    turn = dialogue.turns[number]
    clip_name = dialogue.clip_ids[0] if dialogue.clip_ids else dialogue.video_id
    qid = _short(name) if unique else name
    row: dict[str, Json] = {
        "qid": int(qid) if re.fullmatch(r"0|[1-9][0-9]{0,17}", qid) else qid,
        "vid": clip_name,
        "videoType": _extent(clip_name),
        "que": turn.question,
        "answers": list(turn.options or ()),
    }
    if turn.correct_option is not None:
        row["correct_idx"] = turn.correct_option
    for level in LEVELS:
        if found := turn.labels.get(f"dramaqa.{level}"):
            row[level] = int(found[0]) if re.fullmatch(r"-?[0-9]{1,18}", found[0]) else found[0]
    for tag in TAGS:
        if (tags := turn.labels.get(f"cogme.{tag}")) is not None:
            row[tag] = tags[0] if tag == "thinking" and len(tags) == 1 else list(tags)
    kept = {key: value for key, value in dialogue.extra.items() if key not in DramaQAQuestion.model_fields}
    shots = dialogue.extra.get("shot_contained")
    return row | ({"shot_contained": shots} if shots is not None else {}) | kept


def _encode_with_script(index: Index, file: SourceFile) -> Json:
    rows = _encode_questions(index, file)
    for row in rows:
        clip = index.clips.get(ClipId(row["vid"]))
        row["subtitle"] = _script_row(clip) if clip and "contained_subs" in clip.extra else NO_SUBTITLE
    return rows


def _seconds(document: SourceDocument, place: str, text: str) -> float:
    if not SECONDS.fullmatch(text):
        raise document.error("not a number of seconds", place, text)
    return float(text)


def _add_script(
    document: SourceDocument, place: str, clip_id: ClipId, item: Json, row: ClipScript, *, whole: bool = True
) -> None:
    """Give a clip its time and lines; the script file (`whole`) overrides lists that are derived from it."""
    start_s, end_s = (_seconds(document, f"{place}.{key}", getattr(row, key)) for key in ("st", "et"))
    if end_s < start_s:
        raise document.error("the clip ends before it starts", place, [row.st, row.et])
    clip = document.records.clips[clip_id]
    lines, interval = item["contained_subs"], Interval(start_s=start_s, end_s=end_s)
    if "contained_subs" in clip.extra:
        if (clip.extra["contained_subs"], clip.interval) != (lines, interval):
            document.records.content.warnings.append(
                f"{document.name} has other lines for {clip_id} at {place} than an earlier file; "
                "those of AnotherMissOh_script.json count, else the first"
            )
        if not whole:
            return
    extra = clip.extra | {"contained_subs": lines} | ({"script": row.unknown} if row.unknown else {})
    document.records.clips[clip_id] = clip.model_copy(update={"interval": interval, "extra": extra})


def _decode_script(document: SourceDocument) -> Iterator[str]:
    for name, item in document.value.items():
        place = f"$.{name}"
        row = parse(ClipScript, item, file=document.path, place=place)
        with record_errors(document.path, place):
            _, clip_id = _clip_of(document, place, name)
            _add_script(document, place, clip_id, item, row)
        yield clip_id


def _encode_script(index: Index, file: SourceFile) -> Json:
    return {name: _script_row(index.clips[ClipId(name)]) for name in file.records}


def _script_row(clip: Clip) -> dict[str, Json]:
    more: dict[str, Json] = clip.extra.get("script", {})
    interval = clip.interval or Interval(start_s=0, end_s=0)
    return more | {
        "st": str(interval.start_s),
        "et": str(interval.end_s),
        "contained_subs": clip.extra.get("contained_subs", []),
    }


def _decode_visual(document: SourceDocument) -> Iterator[str]:
    for name, frames in document.value.items():
        place = f"$.{name}"
        parse(list[AnnotatedFrame], frames, file=document.path, place=place)
        with record_errors(document.path, place):
            video_id, clip_id = _clip_of(document, place, name)
            known = document.records.clips[clip_id].extra.get("frames", frames)
            if known != frames:
                raise document.error("another file annotates this clip differently", place, clip_id)
            document.records.add_clip(Clip(id=clip_id, video_id=video_id, extra={"frames": frames}))
        yield clip_id


def _encode_visual(index: Index, file: SourceFile) -> Json:
    return {name: index.clips[ClipId(name)].extra["frames"] for name in file.records}


def _fits(index: Index, name: str) -> bool:
    dialogue, _ = question_named(index, name)
    return bool(dialogue.clip_ids) and CLIP_NAME.fullmatch(dialogue.clip_ids[0]) is not None


def _file_name(split: str | None) -> str:
    return f"AnotherMissOhQA_{as_file_stem(split or 'all', otherwise='all')}_set.json"


def _default_files(index: Index) -> list[SourceFile]:
    by_name: dict[str, list[str]] = defaultdict(list)
    for name in question_names(index):
        if _fits(index, name):
            by_name[_file_name(index.videos[question_named(index, name)[0].video_id].split)].append(name)
    clips = [clip for clip in index.clips.values() if CLIP_NAME.fullmatch(clip.id)]
    about_clips = {
        "script": tuple(clip.id for clip in clips if clip.interval is not None),
        "visual": tuple(clip.id for clip in clips if "frames" in clip.extra),
    }
    return [
        *(
            SourceFile(format=FORMAT, path=path, kind="questions", records=tuple(names))
            for path, names in by_name.items()
        ),
        *(
            SourceFile(format=FORMAT, path=f"AnotherMissOh_{kind}.json", kind=kind, records=names)
            for kind, names in about_clips.items()
        ),
    ]


def _lost(content: Content) -> list[str]:
    index = Index(content)
    if any("contained_subs" in clip.extra for clip in content.clips):
        content = replace(content, speech=[])  # The clips hold their lines.
    misfits = sum(not _fits(index, name) for name in question_names(index))
    unnamed = sum(CLIP_NAME.fullmatch(clip.id) is None for clip in content.clips)
    return [
        *lost_beyond_questions(content, labels=LABELS, dialogue={"clip_ids"}),
        *fields_left_out("videos", content.videos, {"id", "split"}),
        *lost_splits(content.videos, _file_name),
        *([f"questions about clips that are not named as DramaQA's are left out: {misfits:,}"] if misfits else []),
        *([f"clips that are not named as DramaQA's are left out: {unnamed:,}"] if unnamed else []),
    ]


def _is_list_with_script(_: str, value: Json) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) and "subtitle" in item for item in value)


def _is_visual(_: str, value: Json) -> bool:
    return isinstance(value, dict) and bool(value) and all(isinstance(member, list) for member in value.values())


LAYOUT: Final = Layout(
    FORMAT,
    [
        DocumentKind("questions with script", _is_list_with_script, _decode_questions, _encode_with_script),
        DocumentKind("questions", lambda _, value: isinstance(value, list), _decode_questions, _encode_questions),
        DocumentKind("visual", _is_visual, _decode_visual, _encode_visual),
        DocumentKind("script", lambda _, value: isinstance(value, dict), _decode_script, _encode_script),
    ],
    "AnotherMissOhQA_{train,val,test}_set.json, AnotherMissOh_script.json, AnotherMissOh_visual.json",
    _default_files,
    _lost,
    unfilled=tuple(table for table in ADDED_LATER if table != "speech"),
)


def read(source: Path) -> Content:
    """Read a folder or one file. The script's lines become the table of speech, each once.

    Raises:
        InputError: A file is damaged or unknown, or there is none of this layout.
    """
    content = LAYOUT.read(source)
    spoken = {line for clip in content.clips for line in _utterances(clip, content.warnings)}
    content.speech = [Utterance.model_validate_json(line) for _, line in sorted(spoken)]
    return content


def _utterances(clip: Clip, warnings: list[str]) -> Iterator[tuple[tuple[float, float], str]]:
    """The lines of a clip, each with its times. A line without times or words cannot be shown, and is counted."""
    unusable = 0
    for line in clip.extra.get("contained_subs", ()):
        try:
            start_s, end_s = (float(line[key]) if SECONDS.fullmatch(line[key]) else math.nan for key in ("st", "et"))
            speaker = " ".join(line["speaker"].split())
            row = Utterance(
                video_id=clip.video_id,
                interval=Interval(start_s=start_s, end_s=end_s),
                text=line["utter"].strip(),
                speaker=None if speaker in ("", NOBODY) else speaker,
            )
        except ValidationError:
            unusable += 1
            continue
        yield (start_s, end_s), row.to_json()
    if unusable:
        warnings.append(f"{unusable:,} lines of {clip.id} have no usable times or words, and are not in speech.jsonl")


write = LAYOUT.write
