"""Training samples as StreamingChat's JSON Lines, as InternVL's trainer reads them, in and out.

A line has `id`, `image` (paths below the root) and `conversations` (`from` human or gpt, `value` with one `<image>` for
each frame). reeltalk adds what trainers pass over: `video_id`, `frame_times_s`, `asked_at_s` and `carried`.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field

from reeltalk.errors import InputError
from reeltalk.schema.record import Json
from reeltalk.schema.sft import (
    PLACEHOLDER,
    CarriedTurn,
    TrainingFrame,
    TrainingSample,
    TrainingTurn,
    carried_text,
    reserved_in,
)
from reeltalk.store.documents import SourceModel, parse, placed, read_json_lines

_LEADING: Final = re.compile(rf"\A(?:(?:Frame-?\d+: ?)?{PLACEHOLDER}\s?)*")
"""Placeholders as StreamingChat and InternVL write them, before a question."""


class _Said(SourceModel):
    sender: Annotated[Literal["human", "gpt"], Field(alias="from")]
    value: Annotated[str, Field(min_length=1)]


class _Line(SourceModel):
    id: str | int | None = None
    image: list[str] | str = Field(default_factory=list)
    conversations: Annotated[list[_Said], Field(min_length=2)]
    video_id: str | None = None
    frame_times_s: list[float | None] | None = None
    asked_at_s: list[float | None] | None = None
    carried: list[Annotated[list[str], Field(min_length=2, max_length=2)]] = Field(default_factory=list)


def to_streamingchat(sample: TrainingSample) -> dict[str, Json]:
    """A sample as one line of StreamingChat's file."""
    senders = {"user": "human", "assistant": "gpt"}
    line: dict[str, Json] = {
        "id": sample.id,
        "image": [frame.file for frame in sample.frames],
        "conversations": [{"from": senders[said.role], "value": said.text} for said in sample.messages()],
        "video_id": sample.video_id,
        "frame_times_s": [frame.at_s for frame in sample.frames],
        "asked_at_s": [turn.asked_at_s for turn in sample.turns],
    }
    if sample.carried:
        line["carried"] = [[turn.question, turn.answer] for turn in sample.carried]
    return line


def streamingchat_line(sample: TrainingSample) -> str:
    """A sample as a line of text with its line feed."""
    return json.dumps(to_streamingchat(sample), ensure_ascii=False, allow_nan=False) + "\n"


def read_samples(path: Path) -> Iterator[tuple[int, TrainingSample]]:
    """The samples of a StreamingChat file with their line numbers, from 1. Pictures are not looked at.

    Raises:
        InputError: A line is no sample; names file, line and field.
    """
    for number, value in read_json_lines(path):
        yield number, read_streamingchat(value, file=path, line=number)


def read_streamingchat(value: Json, *, file: Path, line: int) -> TrainingSample:
    """One line of StreamingChat's file as a sample.

    Raises:
        InputError: Placeholders and images differ in number, roles do not alternate beginning with human, a
            placeholder stands behind the text of its message, or a field is missing or wrong.
    """
    row = parse(_Line, value, file=file, line=line)

    def error(problem: str, place: str, got: object = None, hint: str | None = None) -> InputError:
        return InputError(problem, file=file, line=line, place=place, value=got, hint=hint)

    images = [row.image] if isinstance(row.image, str) else row.image
    for index, said in enumerate(row.conversations):
        expected = ("human", "gpt")[index % 2]
        if said.sender != expected:
            raise error(f"roles must alternate beginning with human; '{expected}' is expected here",
                        f"$.conversations[{index}].from", said.sender)  # fmt: skip
    if len(row.conversations) % 2:
        raise error("the last question has no answer", f"$.conversations[{len(row.conversations) - 1}]")
    placeholders = sum(said.value.count(PLACEHOLDER) for said in row.conversations)
    if placeholders != len(images):
        raise error(f"{placeholders} placeholders {PLACEHOLDER} for {len(images)} images", "$.image",
                    hint="each frame has exactly one placeholder; a question about the word itself must be escaped"
                    )  # fmt: skip
    for name, given, count in (
        ("frame_times_s", row.frame_times_s, len(images)),
        ("asked_at_s", row.asked_at_s, len(row.conversations) // 2),
    ):
        if given is not None and len(given) != count:
            raise error(f"{len(given)} entries where {count} are needed", f"$.{name}")
    times = row.frame_times_s or [None] * len(images)
    asked = row.asked_at_s or [None] * (len(row.conversations) // 2)
    with placed(file, "$", line=line):
        carried = tuple(CarriedTurn(question=question, answer=answer) for question, answer in row.carried)
        frames = iter([TrainingFrame(file=name, at_s=at_s) for name, at_s in zip(images, times, strict=True)])
        turns: list[TrainingTurn] = []
        for index in range(0, len(row.conversations), 2):
            text, place = row.conversations[index].value, f"$.conversations[{index}].value"
            if index == 0 and carried:
                told = carried_text(carried)
                if not text.startswith(told):
                    raise error("does not begin with the carried turns", place, text)
                text = text[len(told) :]
            leading = _LEADING.match(text)
            assert leading is not None
            shown = leading[0].count(PLACEHOLDER)
            question, answer = text[leading.end() :], row.conversations[index + 1].value
            for words, where in ((question, place), (answer, f"$.conversations[{index + 1}].value")):
                found = reserved_in(words)
                if found is not None:
                    raise error(f"{found} stands inside a text", where, words, "frames stand before the question")
            if not question:
                raise error("frames without a question", place)
            turns.append(
                TrainingTurn(
                    frames=tuple(islice(frames, shown)), question=question, answer=answer, asked_at_s=asked[index // 2]
                )
            )
        return TrainingSample(
            id=str(row.id) if row.id is not None else f"line-{line}",
            video_id=row.video_id,
            carried=carried,
            turns=tuple(turns),
            extra=row.unknown,
        )
