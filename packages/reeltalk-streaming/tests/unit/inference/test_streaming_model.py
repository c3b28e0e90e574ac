"""A checkpoint that follows a stream: it computes what it would compute of the whole, and memory has a bound."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reeltalk.errors import InputError, ModelError, SettingError
from reeltalk_streaming.inference.stream import Rewinding, Stream, StreamingModel
from reeltalk_streaming.inference.streaming_model import turn_pieces

pytest.importorskip("transformers", reason="the train extra is not installed")

from tiny_architectures import ARCHITECTURES, save_tiny
from tiny_checkpoint import save_tiny_checkpoint

from reeltalk_streaming.inference.streaming_model import MOST_TURNS, StreamingVideoModel, VideoStream

KINDS = (*ARCHITECTURES, "llava")
PLAIN = tuple(kind for kind in KINDS if not kind.startswith("qwen"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    made = {kind: save_tiny(kind, root / f"tiny-{kind}") for kind in ARCHITECTURES}
    return made | {"llava": save_tiny_checkpoint(root / "tiny-llava")}


@pytest.fixture(scope="module")
def one_layer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """With one layer, keys and values hang on a token and its position alone."""
    root = tmp_path_factory.mktemp("one-layer")
    made = {kind: save_tiny(kind, root / kind, layers=1) for kind in ARCHITECTURES}
    return made | {"llava": save_tiny_checkpoint(root / "llava")}


def opened(folder: Path, **more: Any) -> StreamingVideoModel:
    return StreamingVideoModel(folder, device="cpu", **{"max_new_tokens": 4, **more})


def pictures(seed: int = 0) -> Iterator[NDArray[np.uint8]]:
    draws = np.random.default_rng(seed)
    while True:
        yield draws.integers(0, 256, (40, 60, 3), dtype=np.uint8)


class Recorded:
    """Notes what a model reads, and the logits after it."""

    def __init__(self, model: StreamingVideoModel, monkeypatch: pytest.MonkeyPatch) -> None:
        self.model, self.reads = model, list[tuple[dict[str, Any], Any]]()
        read = model.read

        def noted(inputs: dict[str, Any], cache: Any, position: int) -> tuple[Any, int]:
            logits, after = read(inputs, cache, position)
            self.reads.append((inputs, logits))
            return logits, after

        monkeypatch.setattr(model, "read", noted)

    def whole(self) -> Any:
        """Logits (L, V) of all that was read, at once and without a cache."""
        import torch

        inputs: dict[str, Any] = {"input_ids": torch.cat([part["input_ids"] for part, _ in self.reads], dim=1)}
        for name in {name for part, _ in self.reads for name in part} - {"input_ids", "mm_token_type_ids"}:
            parts = [part[name] for part, _ in self.reads if name in part]
            # SmolVLM counts its pictures on the second axis.
            inputs[name] = torch.cat(
                parts, dim=1 if name.startswith("pixel") and parts[0].shape[0] == 1 < parts[0].ndim - 3 else 0
            )
        if any("mm_token_type_ids" in part for part, _ in self.reads):
            kinds = [part.get("mm_token_type_ids", torch.zeros_like(part["input_ids"])) for part, _ in self.reads]
            inputs["mm_token_type_ids"] = torch.cat(kinds, dim=1)
        with torch.inference_mode():
            return self.model._model(**inputs).logits[0]


def talk(stream: VideoStream) -> None:
    frames = pictures()
    stream.see(next(frames), 0.0)
    stream.see(next(frames), 1.0)
    stream.ask("What is it?")
    stream.ask("And then?")
    stream.see(next(frames), 2.0)
    stream.add_exchange("Who is there?", "Nobody.")
    stream.instruct("Tell me when it boils.")
    stream.see(next(frames), 3.0)
    stream.speak()
    stream.see(next(frames), 4.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_has_the_logits_of_the_whole(
    kind: str, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(folders[kind])
    recorded = Recorded(model, monkeypatch)
    stream = model.stream()
    talk(stream)
    whole = recorded.whole()
    ends = np.cumsum([int(part["input_ids"].shape[1]) for part, _ in recorded.reads]) - 1
    assert stream.tokens == len(whole)
    for end, (_, logits) in zip(ends, recorded.reads, strict=True):
        assert float((whole[int(end)] - logits).abs().max()) < 1e-4
    # What comes out hangs on what went in: frames that differ by more than a hair give other logits.
    assert float((whole[int(ends[1])] - whole[int(ends[2])]).abs().max()) > 1e-2


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_reads_is_what_its_chat_template_writes(
    kind: str, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(folders[kind])
    pieces, written = model.pieces("Be brief."), model._processor.apply_chat_template

    def user(text: str, frames: int) -> dict[str, Any]:
        return {"role": "user", "content": [*[{"type": "image"}] * frames, {"type": "text", "text": text}]}

    def says(role: str, text: str) -> dict[str, Any]:
        return {"role": role, "content": [{"type": "text", "text": text}]}

    chat = [says("system", "Be brief."), user("Who?", 2), says("assistant", "He."), user("So?", 1)]
    expected = written([*chat, says("assistant", "Yes."), user("Why?", 0)], add_generation_prompt=True, tokenize=False)
    p = pieces
    asked = (
        f"{p.head}{p.frame * 2}{p.after_frames}Who?{p.before_answer_given}He.{p.next_frame}{p.frame}{p.after_frames}So?"
    )
    assert f"{asked}{p.before_answer_given}Yes.{p.next_question}Why?{p.before_answer}" == expected


def test_a_frame_is_encoded_once_and_a_question_costs_its_own_tokens(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(folders["internvl"])
    recorded, stream, frames = Recorded(model, monkeypatch), model.stream(), pictures()
    for n in range(20):
        stream.see(next(frames), n)
    assert sum("pixel_values" in part for part, _ in recorded.reads) == 20
    costs = [stream.ask("What is it?") for _ in range(3)]
    assert sum("pixel_values" in part for part, _ in recorded.reads) == 20
    assert costs[1].prompt_tokens == costs[2].prompt_tokens < 60 < stream.tokens
    assert costs[0].text
    assert (costs[0].completion_tokens, costs[0].cut_off) == (4, True)
    assert 0 < (costs[0].first_token_s or 0) <= costs[0].took_s


@pytest.mark.parametrize("kind", PLAIN)
def test_bounded_memory_is_flat_and_keeps_the_first_frame_and_the_newest(kind: str, folders: dict[str, Path]) -> None:
    model = opened(folders[kind], memory_frames=8)
    stream, frames = model.stream(), pictures()
    sizes = []
    for n in range(60):
        stream.see(next(frames), n)
        sizes.append(stream.memory_bytes)
    assert max(sizes[30:]) == max(sizes[8:30]) < 2 * sizes[5]
    numbers = [segment.number for segment in stream._segments if segment.kind == "frame"]
    assert numbers[0] == 1
    assert numbers[1:] == list(range(62 - len(numbers), 61))
    assert 6 <= len(numbers) <= 8
    assert stream._position == stream.tokens
    for _ in range(2 * MOST_TURNS):
        stream.ask("What?")
    assert sum(segment.kind == "turn" for segment in stream._segments) <= MOST_TURNS


@pytest.mark.parametrize("kind", PLAIN)
def test_what_is_kept_is_what_would_be_computed_of_what_is_kept(kind: str, one_layer: dict[str, Path]) -> None:
    """Keys turned back are those of the positions that tokens have now: no trace of what was forgotten is left."""
    bounded, free = opened(one_layer[kind], memory_frames=4), opened(one_layer[kind])
    stream, fresh = bounded.stream(), free.stream()
    frames = [picture for _, picture in zip(range(30), pictures(), strict=False)]
    for n, picture in enumerate(frames):
        stream.see(picture, n)
    kept = [segment.number - 1 for segment in stream._segments if segment.kind == "frame"]
    assert len(kept) < 5
    for n in kept:
        fresh.see(frames[n], n)
    assert stream.tokens == fresh.tokens
    for ours, theirs in zip(stream._layers(), fresh._layers(), strict=True):
        assert float((ours.keys - theirs.keys).abs().max()) < 1e-4
        assert float((ours.values - theirs.values).abs().max()) < 1e-5
    assert stream.ask("What is it?").text == fresh.ask("What is it?").text


def test_a_bound_is_refused_where_positions_have_three_axes(folders: dict[str, Path]) -> None:
    with pytest.raises(SettingError, match=r"M-RoPE.*without a bound"):
        opened(folders["qwen2_5_vl"], memory_frames=8)
    with pytest.raises(SettingError, match="memory of 1 frames is too small"):
        opened(folders["internvl"], memory_frames=1)


def test_a_bound_is_refused_where_turned_keys_are_not_those_of_another_position(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of models that pair neighbours instead of halves."""
    from reeltalk_streaming.inference import streaming_model

    turned = streaming_model._Rotary.turned
    monkeypatch.setattr(
        streaming_model._Rotary, "turned", lambda self, keys, by: turned(self, keys.flip(-1), by).flip(-1)
    )
    with pytest.raises(SettingError, match="of a kind that cannot be counted anew"):
        opened(folders["internvl"], memory_frames=8)


def test_going_back_leaves_no_trace(folders: dict[str, Path]) -> None:
    model = opened(folders["smolvlm"])
    stream, other = model.stream(), model.stream()
    assert isinstance(stream, Rewinding)
    first, second, third, *_ = (picture for _, picture in zip(range(3), pictures(), strict=False))
    stream.see(first, 0.0)
    mark = stream.mark()
    before = stream.memory_bytes
    stream.ask("What is it?")
    stream.see(second, 1.0)
    assert stream.rewind(mark)
    assert stream.memory_bytes == before
    stream.add_exchange("What is it?", "A cup.")
    stream.see(third, 1.0)
    other.see(first, 0.0)
    other.add_exchange("What is it?", "A cup.")
    other.see(third, 1.0)
    assert stream.ask("Where?").text == other.ask("Where?").text
    assert stream.memory_bytes == other.memory_bytes


def test_one_cannot_go_back_to_before_something_was_forgotten(folders: dict[str, Path]) -> None:
    stream, frames = opened(folders["internvl"], memory_frames=4).stream(), pictures()
    stream.see(next(frames), 0.0)
    mark = stream.mark()
    for n in range(1, 8):
        stream.see(next(frames), n)
    size = stream.memory_bytes
    assert not stream.rewind(mark)
    assert stream.memory_bytes == size


def test_a_question_that_fails_leaves_the_conversation_as_it_was(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = opened(folders["internvl"])
    stream, untouched, frames = model.stream(), model.stream(), pictures()
    picture = next(frames)
    stream.see(picture, 0.0)
    untouched.see(picture, 0.0)
    with monkeypatch.context() as patched:
        patched.setattr(model, "words", lambda tokens: "")
        with pytest.raises(ModelError, match="wrote no answer"):
            stream.ask("What?")
    assert stream.memory_bytes == untouched.memory_bytes
    assert stream.ask("Who?").text == untouched.ask("Who?").text


def test_a_question_before_any_frame_is_answered(folders: dict[str, Path]) -> None:
    assert opened(folders["smolvlm"]).stream().ask("Hello?").text


def test_a_template_that_does_not_grow_is_refused(folders: dict[str, Path]) -> None:
    class Numbering:
        def apply_chat_template(self, chat: list[Any], **_: Any) -> str:
            count = sum(part["type"] == "image" for turn in chat for part in turn["content"])
            return f"{count} frames: " + " ".join(str(turn["content"][-1].get("text")) for turn in chat)

    class Refusing:
        def apply_chat_template(self, chat: list[Any], **_: Any) -> str:
            raise ValueError("no system role")

    with pytest.raises(InputError, match="does not put turn after turn"):
        turn_pieces(Numbering(), Path("model"))
    with pytest.raises(InputError, match=r"chat template fails: no system role.*--prompt"):
        turn_pieces(Refusing(), Path("model"), system="Be brief.")


def test_it_serves_as_any_streaming_model(folders: dict[str, Path]) -> None:
    model: StreamingModel = opened(folders["internvl"])
    stream: Stream = model.stream()
    assert stream.memory_bytes == 0
    assert stream.see(next(pictures()), 0.0) is None
    assert model.name == "tiny-internvl"
