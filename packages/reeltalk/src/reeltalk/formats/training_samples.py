"""Training samples as JSON Lines: written in the three layouts that trainers read, and read in StreamingChat's.

- `streamingchat`: `image` and `conversations` (`from` human or gpt, `value`), for SVBench's StreamingChat and InternVL.
- `sharegpt`: `images` and `messages` (`role`, `content` with `<image>`), for LLaMA-Factory.
- `trl`: `images`, `prompt` and `completion` whose `content` is a list of parts, for TRL: a line for each answer.

In the first two, one `<image>` stands for each frame. A line also has `id`, `video_id`, `frame_times_s` and
`asked_at_s`, which trainers ignore.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Annotated, Final, Literal

from pydantic import Field

from reeltalk.errors import InputError
from reeltalk.schema.record import Json
from reeltalk.schema.sft import (
    PLACEHOLDER,
    TrainingFrame,
    TrainingMessage,
    TrainingSample,
    TrainingTurn,
    reserved_in,
)
from reeltalk.store.documents import SourceModel, parse, read_json_lines, record_errors

SampleLayout = Literal["streamingchat", "sharegpt", "trl"]
"""The layout of a line."""

_LEADING: Final = re.compile(rf"\A(?:(?:Frame-?\d+: ?)?{PLACEHOLDER}\s?)*")
"""Placeholders as StreamingChat and InternVL write them, before a question."""
_SENDERS: Final = {"user": "human", "assistant": "gpt"}


class _Message(SourceModel):
    sender: Annotated[Literal["human", "gpt"], Field(alias="from")]
    value: Annotated[str, Field(min_length=1)]


class _Line(SourceModel):
    id: str | int | None = None
    image: list[str] | str = Field(default_factory=list)
    conversations: Annotated[list[_Message], Field(min_length=2)]
    video_id: str | None = None
    frame_times_s: list[float | None] | None = None
    asked_at_s: list[float | None] | None = None


def to_lines(sample: TrainingSample, layout: SampleLayout) -> Iterator[dict[str, Json]]:
    """A sample as lines of a layout: one, or in TRL's one for each answer, after everything before it."""
    if layout == "trl":
        for number in range(1, len(sample.turns) + 1):
            part = sample.model_copy(update={"id": f"{sample.id}/{number}", "turns": sample.turns[:number]})
            *prompt, completion = (_in_parts(said) for said in part.messages())
            images = [frame.file for frame in part.frames]
            yield {"id": part.id, "prompt": prompt, "completion": [completion], "images": images, **_about(part)}
        return
    files: Json = [frame.file for frame in sample.frames]
    if layout == "streamingchat":
        said: Json = [{"from": _SENDERS[said.role], "value": said.text} for said in sample.messages()]
        yield {"id": sample.id, "image": files, "conversations": said, **_about(sample)}
    else:
        said = [{"role": said.role, "content": said.text} for said in sample.messages()]
        yield {"id": sample.id, "messages": said, "images": files, **_about(sample)}


def _about(sample: TrainingSample) -> dict[str, Json]:
    return {
        "video_id": sample.video_id,
        "frame_times_s": [frame.at_s for frame in sample.frames],
        "asked_at_s": [turn.asked_at_s for turn in sample.turns],
    }


def _in_parts(said: TrainingMessage) -> dict[str, Json]:
    parts = [{"type": "text", "text": part} if isinstance(part, str) else {"type": "image"} for part in said.parts]
    return {"role": said.role, "content": parts}


def line_text(line: dict[str, Json]) -> str:
    """A line as text with its line feed."""
    return json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"


def read_samples(path: Path) -> Iterator[tuple[int, TrainingSample]]:
    """The samples of a StreamingChat file with their line numbers, from 1. Pictures are not opened.

    Raises:
        InputError: A line is no sample: placeholders and images differ in number, roles do not alternate beginning with
            the user, a placeholder stands behind the text of its message, a picture lies outside the root, a frame is
            later than its question, or a field is missing or wrong. Names file, line and field.
    """
    for number, value in read_json_lines(path):
        yield number, _sample(parse(_Line, value, file=path, line=number), file=path, line=number)


def _sample(row: _Line, *, file: Path, line: int) -> TrainingSample:
    def error(problem: str, place: str, got: object = None, hint: str | None = None) -> InputError:
        return InputError(problem, file=file, line=line, place=place, value=got, hint=hint)

    said, images = row.conversations, [row.image] if isinstance(row.image, str) else row.image
    for index, message in enumerate(said):
        expected = ("user", "assistant")[index % 2]
        if message.sender != _SENDERS[expected]:
            problem = f"roles must alternate, the user first; the {expected} is expected here"
            raise error(problem, f"$.conversations[{index}].from", message.sender)
    if len(said) % 2:
        raise error("the last question has no answer", f"$.conversations[{len(said) - 1}].value")
    placeholders = sum(message.value.count(PLACEHOLDER) for message in said)
    if placeholders != len(images):
        problem = f"{placeholders} placeholders for {len(images)} images"
        raise error(problem, "$.image", hint="each frame has exactly one placeholder")
    for index, name in enumerate(images):
        path = PurePosixPath(name)
        if not path.parts or path.is_absolute() or ".." in path.parts:
            # Otherwise an untrusted file could name any picture of this machine.
            hint = "write its path relative to the folder that --frames names"
            raise error("a picture must lie below the root", f"$.image[{index}]", name, hint)
    count = len(said) // 2
    for name, wanted in (("frame_times_s", len(images)), ("asked_at_s", count)):
        given = getattr(row, name)
        if given is not None and len(given) != wanted:
            raise error(f"{len(given)} entries where {wanted} are needed", f"$.{name}")
    times, asked = row.frame_times_s or [None] * len(images), row.asked_at_s or [None] * count
    with record_errors(file, "$", line=line):
        frames = iter([TrainingFrame(file=name, at_s=at_s) for name, at_s in zip(images, times, strict=True)])
        turns: list[TrainingTurn] = []
        for index in range(count):
            place, answer_place = f"$.conversations[{2 * index}].value", f"$.conversations[{2 * index + 1}].value"
            text, answer = said[2 * index].value, said[2 * index + 1].value
            leading = _LEADING.match(text)
            assert leading is not None
            shown, text = leading[0].count(PLACEHOLDER), text[leading.end() :]
            for words, at in ((text, place), (answer, answer_place)):
                if found := reserved_in(words):
                    raise error(f"{found} stands inside a text", at, words, "frames stand before the question")
            if not text:
                raise error("frames without a question", place)
            own = tuple(islice(frames, shown))
            turns.append(TrainingTurn(frames=own, question=text, answer=answer, asked_at_s=asked[index]))
        return TrainingSample(
            id=str(row.id) if row.id is not None else f"line-{line}",
            video_id=row.video_id,
            turns=tuple(turns),
            extra=row.unknown,
        )
