"""Training samples come back from every layout as they were; what cannot be trained on is refused with its place."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from reeltalk.errors import InputError
from reeltalk.formats.training_samples import line_text, read_samples, to_lines
from reeltalk.schema.sft import (
    RESERVED,
    SampleLimits,
    TrainingFrame,
    TrainingSample,
    TrainingTurn,
    escape_reserved,
    reserved_in,
    tokens_of,
)

TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\t\n\r"), min_size=1, max_size=30
).filter(lambda text: not reserved_in(text))


def said(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"conversations": [{"from": sender, "value": value} for sender, value in pairs]}


@st.composite
def drawn_samples(draw: st.DrawFn) -> TrainingSample:
    """Samples whose frames rise in time and stand before their questions."""
    at_s, turns = 0.0, []
    for _ in range(draw(st.integers(1, 4))):
        times = [at_s := at_s + draw(st.integers(1, 9)) / 4 for _ in range(draw(st.integers(0, 3)))]
        frames = tuple(TrainingFrame(file=f"frames/v/{time_s:g}.jpg", at_s=time_s) for time_s in times)
        turns.append(TrainingTurn(frames=frames, question=draw(TEXTS), answer=draw(TEXTS), asked_at_s=at_s))
    return TrainingSample(id="path-1", video_id="v", turns=tuple(turns))


@given(sample=drawn_samples())
def test_a_sample_comes_back_equal(sample: TrainingSample, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("samples") / "s.jsonl"
    file.write_text("".join(map(line_text, to_lines(sample, "streamingchat"))), encoding="utf-8")
    assert list(read_samples(file)) == [(1, sample)]


@given(sample=drawn_samples())
def test_placeholders_equal_images_and_roles_alternate(sample: TrainingSample) -> None:
    [line], [shared] = to_lines(sample, "streamingchat"), to_lines(sample, "sharegpt")
    said = line["conversations"]
    assert sum(message["value"].count("<image>") for message in said) == len(line["image"])
    assert [message["from"] for message in said] == ["human", "gpt"] * len(sample.turns)
    assert [message["role"] for message in shared["messages"]] == ["user", "assistant"] * len(sample.turns)
    assert [message["content"] for message in shared["messages"]] == [message["value"] for message in said]
    assert shared["images"] == line["image"]


@given(sample=drawn_samples())
def test_trl_has_a_line_with_one_completion_for_each_answer(sample: TrainingSample) -> None:
    lines = [json.loads(line_text(line)) for line in to_lines(sample, "trl")]
    assert [line["completion"] for line in lines] == [
        [{"role": "assistant", "content": [{"type": "text", "text": turn.answer}]}] for turn in sample.turns
    ]
    for number, line in enumerate(lines, start=1):
        parts = [part for message in line["prompt"] for part in message["content"]]
        shown = [frame.file for turn in sample.turns[:number] for frame in turn.frames]
        assert line["images"] == shown
        assert sum(part["type"] == "image" for part in parts) == len(shown)


@given(TEXTS, st.sampled_from(RESERVED), TEXTS)
def test_escaped_texts_hold_no_placeholder(before: str, word: str, after: str) -> None:
    assert reserved_in(before + word + after)
    assert reserved_in(escape_reserved(before + word + after)) is None


def test_tokens_are_those_of_frames_texts_and_template() -> None:
    turn = TrainingTurn(frames=(TrainingFrame(file="a.jpg"),) * 2, question="abc", answer="de")
    sample = TrainingSample(id="s", turns=(turn, turn.model_copy(update={"frames": ()})))
    limits = SampleLimits(frame_tokens=10, reserve=5)
    # Two frames with three marks each; twice five characters; four messages with eight marks each; the reserve.
    assert tokens_of(sample.turns, limits, len) == 2 * 13 + 10 + 32 + 5


def test_what_others_wrote_is_read(tmp_path: Path) -> None:
    file = tmp_path / "theirs.jsonl"
    lines = [
        {"image": "a.jpg", **said(("human", "<image>\nWhat?"), ("gpt", "A."))},
        {
            "id": 7, "image": ["a.jpg", "b.jpg"], "width": 3,
            "conversations": [
                {"from": "human", "value": "Frame-1: <image>\nFrame-2: <image>\nWhat?"}, {"from": "gpt", "value": "B."},
            ],
        },
    ]  # fmt: skip
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (one, first), (two, second) = read_samples(file)
    assert (one, two) == (1, 2)
    assert (first.id, [frame.file for frame in first.frames], first.turns[0].question) == ("line-1", ["a.jpg"], "What?")
    assert (second.id, len(second.frames), second.extra) == ("7", 2, {"width": 3})


GOOD: dict[str, Any] = {
    "id": "s",
    "image": ["0.jpg", "1.jpg"],
    "conversations": [
        {"from": "human", "value": "<image>\n<image>\nWhat?"},
        {"from": "gpt", "value": "A cup."},
    ],
    "frame_times_s": [0.0, 1.0],
    "asked_at_s": [1.0],
}


@pytest.mark.parametrize(
    ("change", "problem", "place"),
    [
        ({"image": ["0.jpg"]}, "2 placeholders for 1 images", "$.image"),
        (said(("gpt", "Hi."), ("human", "<image><image>What?")), "the user is expected", "[0].from"),
        (said(("human", "<image><image>A?"), ("human", "B?")), "the assistant is expected", "[1].from"),
        (said(("human", "<image><image>A?"), ("gpt", "B."), ("human", "C?")), "has no answer", "[2].value"),
        (said(("human", "<image>What is <image>?"), ("gpt", "B.")), "<image> stands inside a text", "[0].value"),
        (said(("human", "<image><image>What?"), ("gpt", "<video>")), "<video> stands inside a text", "[1].value"),
        (said(("human", "<image>\n<image>\n"), ("gpt", "B.")), "frames without a question", "[0].value"),
        (said(("human", "<image><image>What?"), ("robot", "B.")), "should be 'human' or 'gpt'", "[1].from"),
        ({"asked_at_s": [0.5]}, "asked at 0.5 s but a frame of 1 s comes before it", "$"),
        ({"frame_times_s": [1.0, 0.0]}, "step back", "$"),
        ({"frame_times_s": [1.0]}, "1 entries where 2 are needed", "$.frame_times_s"),
        ({"conversations": []}, "at least 2 items", "$.conversations"),
        ({"image": ["0.jpg", "../1.jpg"]}, "must lie below the root", "$.image[1]"),
        ({"image": ["/0.jpg", "1.jpg"]}, "must lie below the root", "$.image[0]"),
        ({"image": ["0.jpg", ""]}, "must lie below the root", "$.image[1]"),
        ({"image": 3}, "should be a valid", "$.image"),
        ({"id": ""}, "must be a non-empty line", "$.id"),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_on_is_refused(change: dict[str, Any], problem: str, place: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(json.dumps(GOOD) + "\n" + json.dumps(GOOD | change) + "\n", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        list(read_samples(file))
    assert problem in str(refused.value)
    assert (refused.value.file, refused.value.line) == (file, 2)
    assert place in (refused.value.place or "")


@pytest.mark.parametrize("value", [[], "text", {}, {"prompt": []}, {"messages": 3}])
def test_what_is_no_sample_is_refused(value: Any, tmp_path: Path) -> None:
    file = tmp_path / "samples.jsonl"
    file.write_text(f"\n\n\n{json.dumps(value)}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"samples\.jsonl:4"):
        list(read_samples(file))


@pytest.mark.parametrize("word", RESERVED)
def test_a_sample_holds_no_placeholder_in_its_texts(word: str) -> None:
    with pytest.raises(ValidationError, match="stands for a frame"):
        TrainingSample(id="s", turns=(TrainingTurn(question=f"What is {word}?", answer="A."),))
