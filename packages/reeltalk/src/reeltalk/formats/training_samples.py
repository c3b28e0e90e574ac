"""Read and write training samples as JSON Lines, in the three layouts that trainers read.

- `streamingchat`: `image` and `conversations` (`from` human or gpt, `value`), for SVBench's StreamingChat and InternVL.
- `sharegpt`: `images` and `messages` (`role`, `content` with `<image>`), for LLaMA-Factory.
- `trl`: `images` and `messages` whose `content` is a list of parts, or `prompt` and `completion`, for TRL.

In the first two, one `<image>` stands for each frame. A line also has `id`, `video_id`, `frame_times_s`, `asked_at_s`
and `carried`, which trainers ignore.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field

from reeltalk.errors import InputError
from reeltalk.schema.record import Json
from reeltalk.schema.sft import (
    PLACEHOLDER,
    CarriedTurn,
    TrainingFrame,
    TrainingMessage,
    TrainingSample,
    TrainingTurn,
    carried_text,
    reserved_in,
)
from reeltalk.store.documents import SourceModel, parse, read_json_lines, record_errors

SampleLayout = Literal["streamingchat", "sharegpt", "trl"]
"""The layout of a line."""

_LEADING: Final = re.compile(rf"\A(?:(?:Frame-?\d+: ?)?{PLACEHOLDER}\s?)*")
"""Placeholders as StreamingChat and InternVL write them, before a question."""
_ROLES: Final = {"human": "user", "gpt": "assistant"}


class _Line(SourceModel):
    id: str | int | None = None
    video_id: str | None = None
    frame_times_s: list[float | None] | None = None
    asked_at_s: list[float | None] | None = None
    carried: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(default_factory=list)


class _Said(SourceModel):
    role: Annotated[Literal["human", "gpt"], Field(alias="from")]
    value: Annotated[str, Field(min_length=1)]


class _StreamingChatLine(_Line):
    image: list[str] | str = Field(default_factory=list)
    conversations: Annotated[list[_Said], Field(min_length=2)]


class _Message(SourceModel):
    role: Literal["user", "assistant"]
    content: Annotated[str, Field(min_length=1)]


class _ShareGptLine(_Line):
    images: list[str] = Field(default_factory=list)
    messages: Annotated[list[_Message], Field(min_length=2)]


class _Part(SourceModel):
    type: Literal["text", "image"]
    text: str | None = None


class _PartsMessage(SourceModel):
    role: Literal["user", "assistant"]
    content: Annotated[list[_Part] | str, Field(min_length=1)]


class _TrlLine(_Line):
    images: list[str] = Field(default_factory=list)
    messages: Annotated[list[_PartsMessage], Field(min_length=2)] | None = None
    prompt: Annotated[list[_PartsMessage], Field(min_length=1)] | None = None
    completion: Annotated[list[_PartsMessage], Field(min_length=1, max_length=1)] | None = None


class _Told(NamedTuple):
    """A message as it was read."""

    role: str
    text: str
    role_place: str
    place: str


def to_line(sample: TrainingSample, layout: SampleLayout) -> dict[str, Json]:
    """A sample as one line of a layout; TRL's in the form `messages`."""
    messages, files = list(sample.messages()), [frame.file for frame in sample.frames]
    line: dict[str, Json] = {"id": sample.id}
    if layout == "streamingchat":
        senders = {role: sender for sender, role in _ROLES.items()}
        line["image"] = files
        line["conversations"] = [{"from": senders[said.role], "value": said.text} for said in messages]
    elif layout == "sharegpt":
        line["messages"] = [{"role": said.role, "content": said.text} for said in messages]
        line["images"] = files
    else:
        line["messages"] = [_in_parts(said) for said in messages]
        line["images"] = files
    line["video_id"] = sample.video_id
    line["frame_times_s"] = [frame.at_s for frame in sample.frames]
    line["asked_at_s"] = [turn.asked_at_s for turn in sample.turns]
    if sample.carried:
        line["carried"] = [[turn.question, turn.answer] for turn in sample.carried]
    return line


def to_answer_line(sample: TrainingSample) -> dict[str, Json]:
    """The last answer of a sample as TRL's `completion`, and everything before it as its `prompt`."""
    line = to_line(sample, "trl")
    *prompt, completion = line.pop("messages")
    return {"id": line.pop("id"), "prompt": prompt, "completion": [completion], **line}


def _in_parts(said: TrainingMessage) -> dict[str, Json]:
    parts = [{"type": "text", "text": part} if isinstance(part, str) else {"type": "image"} for part in said.parts]
    return {"role": said.role, "content": parts}


def line_text(line: dict[str, Json]) -> str:
    """A line as text with its line feed."""
    return json.dumps(line, ensure_ascii=False, allow_nan=False) + "\n"


def read_samples(path: Path, layout: SampleLayout | None = None) -> Iterator[tuple[int, TrainingSample]]:
    """The samples of a file with their line numbers, from 1. Pictures are not opened.

    Args:
        path: JSON Lines.
        layout: Its layout; by default it is recognised line by line.

    Raises:
        InputError: A line is no sample; names file, line and field.
    """
    for number, value in read_json_lines(path):
        yield number, read_sample(value, layout or layout_of(value, file=path, line=number), file=path, line=number)


def layout_of(value: Json, *, file: Path, line: int) -> SampleLayout:
    """The layout of a line.

    Raises:
        InputError: It matches none of the three layouts.
    """
    if isinstance(value, dict):
        if "conversations" in value:
            return "streamingchat"
        messages = value.get("messages")
        if "prompt" in value or (isinstance(messages, list) and _has_parts(messages)):
            return "trl"
        if messages is not None:
            return "sharegpt"
    raise InputError("no training sample", file=file, line=line, place="$", value=value,
                     hint="a sample has `conversations` (streamingchat), `messages` (sharegpt, trl) or `prompt` (trl)"
                     )  # fmt: skip


def _has_parts(messages: list[Any]) -> bool:
    return any(isinstance(said, dict) and isinstance(said.get("content"), list) for said in messages)


def read_sample(value: Json, layout: SampleLayout, *, file: Path, line: int) -> TrainingSample:
    """One line as a sample.

    Raises:
        InputError: Placeholders and images differ in number, roles do not alternate beginning with the user, a
            placeholder stands behind the text of its message, a picture lies outside the root, a frame is later than
            its question, or a field is missing or wrong. Names file, line and field.
    """
    row: _Line
    if layout == "streamingchat":
        chat = parse(_StreamingChatLine, value, file=file, line=line)
        row, images = chat, [chat.image] if isinstance(chat.image, str) else chat.image
        said = [
            _Told(_ROLES[turn.role], turn.value, f"$.conversations[{n}].from", f"$.conversations[{n}].value")
            for n, turn in enumerate(chat.conversations)
        ]
    elif layout == "sharegpt":
        share = parse(_ShareGptLine, value, file=file, line=line)
        row, images = share, share.images
        said = [
            _Told(turn.role, turn.content, f"$.messages[{n}].role", f"$.messages[{n}].content")
            for n, turn in enumerate(share.messages)
        ]
    else:
        trl = parse(_TrlLine, value, file=file, line=line)
        row, images, said = trl, trl.images, _trl_messages(trl, file=file, line=line)
    return _sample(row, images, said, "$.image" if layout == "streamingchat" else "$.images", file=file, line=line)


def _trl_messages(row: _TrlLine, *, file: Path, line: int) -> list[_Told]:
    if row.messages is not None:
        named = [("messages", n, message) for n, message in enumerate(row.messages)]
    elif row.prompt is not None and row.completion is not None:
        named = [("prompt", n, message) for n, message in enumerate(row.prompt)]
        named += [("completion", n, message) for n, message in enumerate(row.completion)]
    else:
        raise InputError("`messages`, or `prompt` and `completion`, are missing", file=file, line=line, place="$")
    told = []
    for name, n, message in named:
        place = f"$.{name}[{n}].content"
        if isinstance(message.content, str):
            text = message.content
        else:
            for part in message.content:
                if part.type == "text" and reserved_in(part.text or ""):
                    raise InputError(f"{reserved_in(part.text or '')} stands inside a text", file=file, line=line,
                                     place=place, value=part.text)  # fmt: skip
            text = "".join(f"{PLACEHOLDER}\n" if part.type == "image" else part.text or "" for part in message.content)
        told.append(_Told(message.role, text, f"$.{name}[{n}].role", place))
    return told


def _sample(
    row: _Line, images: list[str], said: list[_Told], images_at: str, *, file: Path, line: int
) -> TrainingSample:
    def error(problem: str, place: str, got: object = None, hint: str | None = None) -> InputError:
        return InputError(problem, file=file, line=line, place=place, value=got, hint=hint)

    for index, message in enumerate(said):
        expected = ("user", "assistant")[index % 2]
        if message.role != expected:
            raise error(f"roles must alternate, the user first; the {expected} is expected here", message.role_place,
                        message.role)  # fmt: skip
    if len(said) % 2:
        raise error("the last question has no answer", said[-1].place)
    placeholders = sum(message.text.count(PLACEHOLDER) for message in said)
    if placeholders != len(images):
        raise error(f"{placeholders} placeholders for {len(images)} images", images_at,
                    hint="each frame has exactly one placeholder")  # fmt: skip
    for index, name in enumerate(images):
        path = PurePosixPath(name)
        if not path.parts or path.is_absolute() or ".." in path.parts:
            # Otherwise an untrusted file could name any picture of this machine.
            raise error("a picture must lie below the root", f"{images_at}[{index}]", name,
                        hint="write its path relative to the folder that --root or --frames names")  # fmt: skip
    turns_there = len(said) // 2
    for name, given, wanted in (
        ("frame_times_s", row.frame_times_s, len(images)),
        ("asked_at_s", row.asked_at_s, turns_there),
    ):
        if given is not None and len(given) != wanted:
            raise error(f"{len(given)} entries where {wanted} are needed", f"$.{name}")
    times, asked = row.frame_times_s or [None] * len(images), row.asked_at_s or [None] * turns_there
    with record_errors(file, "$", line=line):
        carried = tuple(CarriedTurn(question=question, answer=answer) for question, answer in row.carried)
        frames = iter([TrainingFrame(file=name, at_s=at_s) for name, at_s in zip(images, times, strict=True)])
        turns: list[TrainingTurn] = []
        for index in range(turns_there):
            question, answer = said[2 * index], said[2 * index + 1]
            text = question.text
            if index == 0 and carried:
                told = carried_text(carried)
                if not text.startswith(told):
                    raise error("does not begin with the carried turns", question.place, text)
                text = text[len(told) :]
            leading = _LEADING.match(text)
            assert leading is not None
            shown, text = leading[0].count(PLACEHOLDER), text[leading.end() :]
            for words, place in ((text, question.place), (answer.text, answer.place)):
                found = reserved_in(words)
                if found is not None:
                    raise error(f"{found} stands inside a text", place, words, "frames stand before the question")
            if not text or not answer.text:
                raise error("frames without a question" if not text else "an empty answer",
                            question.place if not text else answer.place)  # fmt: skip
            turns.append(
                TrainingTurn(
                    frames=tuple(islice(frames, shown)), question=text, answer=answer.text, asked_at_s=asked[index]
                )
            )
        return TrainingSample(
            id=str(row.id) if row.id is not None else f"line-{line}",
            video_id=row.video_id,
            carried=carried,
            turns=tuple(turns),
            extra=row.unknown,
        )
