"""DramaQA (AAAI 2021, arXiv 2005.03356): multiple choice on scenes and shots of a television series. It is only read.

A video is an episode; `AnotherMissOh14_001_0000` is its first scene (the last four digits are zero) and
`AnotherMissOh14_001_0003` the third shot of that scene. The script gives spoken lines and times, the visual file
persons and objects in frames; both are kept with the clip.
"""

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, ValidationError

from reeltalk.formats.multiple_choice import choice
from reeltalk.formats.release import DocumentReader, ReleaseFile
from reeltalk.schema.dialogue import Dialogue
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, Video
from reeltalk.schema.record import ClipId, DialogueId, Json, Name, VideoId
from reeltalk.schema.speech import Utterance
from reeltalk.store.content import Content
from reeltalk.store.documents import SourceModel

FORMAT: Final = "dramaqa"
CLIP_NAME: Final = re.compile(r"(?P<episode>\w+?\d\d)_(?P<scene>\d{3})_(?P<shot>\d{4})")
NOBODY: Final = "None"
"""The speaker of a line that nobody in the script speaks, such as a sound."""
SECONDS: Final = re.compile(r"[0-9]{1,9}(\.[0-9]*)?")
LEVELS: Final = ("q_level_logic", "q_level_mem")
TAGS: Final = ("target", "content", "thinking")
"""CogME's three components (CogSci 2024); several tags form a list."""


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
    subtitle: ClipScript | Literal["."] | None = None
    target: str | list[str] | None = None
    content: str | list[str] | None = None
    thinking: str | list[str] | None = None


class DramaQAReader(DocumentReader):
    """Reads questions, the script and what is seen."""

    format = FORMAT
    title = FORMAT
    expected = (
        "expected AnotherMissOhQA_{train,val,test}_set.json, AnotherMissOh_script.json, AnotherMissOh_visual.json"
    )

    def __init__(self, source: Path) -> None:
        super().__init__(source)
        self.kinds = {
            "questions": self._read_questions,
            "script": self._read_script,
            "visual": self._read_visual,
        }

    def kind_of(self, value: Json, name: str) -> str | None:
        """A list of questions, an object of clips with frames, or one of clips with lines."""
        if isinstance(value, list):
            return "questions"
        if not isinstance(value, dict):
            return None
        return "visual" if {*map(type, value.values())} == {list} else "script"

    def assemble(self) -> None:
        """Put what was read into the tables. The script's lines become the table of speech, each once."""
        super().assemble()
        content = self.content
        spoken = {line for clip in content.clips for line in _utterances(clip, content.warnings)}
        content.speech = [Utterance.model_validate_json(line) for _, line in sorted(spoken)]

    def _clip_of(self, file: ReleaseFile, place: str, name: str) -> tuple[VideoId, ClipId]:
        found = CLIP_NAME.fullmatch(name)
        if found is None:
            raise file.error("not a clip of the form AnotherMissOh14_001_0000", place, name)
        video_id = VideoId(found["episode"])
        self.add_video(file, place, Video(id=video_id, split=file.split))
        self.add_clip(Clip(id=ClipId(name), video_id=video_id))
        return video_id, ClipId(name)

    def _read_questions(self, file: ReleaseFile) -> None:
        ids: list[str] = []
        for index, item in enumerate(file.value):
            place = f"$[{index}]"
            row = file.parse(DramaQAQuestion, item, place)
            with file.making(place):
                dialogue = self._question(file, place, item, row)
                known = self.dialogues.get(dialogue.id)
                if known is None or dialogue.id in ids:
                    self.add_dialogue(file, f"{place}.qid", dialogue)
                else:
                    self.dialogues[dialogue.id] = _merged(file, place, known, dialogue)
                ids.append(dialogue.id)
        self.add_file(file, ids)

    def _question(self, file: ReleaseFile, place: str, item: Json, row: DramaQAQuestion) -> Dialogue:
        video_id, clip_id = self._clip_of(file, f"{place}.vid", row.vid)
        extent = "scene" if row.vid.endswith("0000") else "shot"
        if row.videoType not in (None, extent):
            self.content.warnings.append(
                f"{file.name} calls {row.vid} a {row.videoType} at {place}; by its name it is a {extent}"
            )
        if isinstance(row.subtitle, ClipScript):
            self._add_script(file, f"{place}.subtitle", clip_id, item["subtitle"], row.subtitle, whole=False)
        labels = {f"dramaqa.{name}": (str(level),) for name in LEVELS if (level := getattr(row, name)) is not None}
        for name in TAGS:
            if (tags := getattr(row, name)) is not None:
                labels[f"cogme.{name}"] = (tags,) if isinstance(tags, str) else tuple(tags)
        labels["dramaqa.extent"] = (extent,)
        turn = choice(file, place, question=row.que, options=row.answers, right=row.correct_idx, labels=labels)
        return Dialogue(
            id=DialogueId(f"{file.path.stem.removesuffix('_script')}/{row.qid}"),
            video_id=video_id,
            clip_ids=(clip_id,),
            turns=(turn,),
            extra=row.unknown,
        )

    def _add_script(
        self, file: ReleaseFile, place: str, clip_id: ClipId, item: Json, row: ClipScript, *, whole: bool = True
    ) -> None:
        """Give a clip its time and lines; the script file (`whole`) overrides lists that are derived from it."""
        for key in ("st", "et"):
            if not SECONDS.fullmatch(getattr(row, key)):
                raise file.error("not a number of seconds", f"{place}.{key}", getattr(row, key))
        start_s, end_s = float(row.st), float(row.et)
        if end_s < start_s:
            raise file.error("the clip ends before it starts", place, [row.st, row.et])
        clip = self.clips[clip_id]
        lines, interval = item["contained_subs"], Interval(start_s=start_s, end_s=end_s)
        if "contained_subs" in clip.extra:
            if (clip.extra["contained_subs"], clip.interval) != (lines, interval):
                self.content.warnings.append(
                    f"{file.name} has other lines for {clip_id} at {place} than an earlier file; "
                    "those of AnotherMissOh_script.json count, else the first"
                )
            if not whole:
                return
        extra = clip.extra | {"contained_subs": lines} | ({"script": row.unknown} if row.unknown else {})
        self.clips[clip_id] = clip.model_copy(update={"interval": interval, "extra": extra})

    def _read_script(self, file: ReleaseFile) -> None:
        for name, item in file.value.items():
            place = f"$.{name}"
            row = file.parse(ClipScript, item, place)
            with file.making(place):
                _, clip_id = self._clip_of(file, place, name)
                self._add_script(file, place, clip_id, item, row)
        self.add_file(file, file.value)

    def _read_visual(self, file: ReleaseFile) -> None:
        for name, frames in file.value.items():
            place = f"$.{name}"
            with file.making(place):
                video_id, clip_id = self._clip_of(file, place, name)
                if self.clips[clip_id].extra.get("frames", frames) != frames:
                    raise file.error("another file annotates this clip differently", place, clip_id)
                self.add_clip(Clip(id=clip_id, video_id=video_id, extra={"frames": frames}))
        self.add_file(file, file.value)


def _merged(file: ReleaseFile, place: str, known: Dialogue, dialogue: Dialogue) -> Dialogue:
    """Merge a question of a list with script into the one it repeats; it may leave out fields."""
    before, now = known.turns[0], dialogue.turns[0]
    labels = {**now.labels, **before.labels}
    same_turn = before.model_copy(update={"labels": labels}) == now.model_copy(update={"labels": now.labels | labels})
    if not same_turn or {**before.labels, **now.labels} != labels or known.clip_ids != dialogue.clip_ids:
        raise file.error("another file asks this question differently", f"{place}.qid", dialogue.id)
    turns = (before.model_copy(update={"labels": labels}),)
    return known.model_copy(update={"turns": turns, "extra": {**dialogue.extra, **known.extra}})


def read(source: Path) -> Content:
    """Read a folder or one file. The script's lines become the table of speech, each once.

    Raises:
        InputError: A file is damaged or unknown, or there is none of this layout.
    """
    return DramaQAReader(source).read()


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
