import itertools
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
import write_mini_sample
from compare_exported import compare_exported, embed, torch_answer
from hypothesis import given, settings
from hypothesis import strategies as st

from reeltalk.errors import InputError
from reeltalk_household.mini.mini import FRAME, FrameContents, MiniModel
from reeltalk_household.mini.mini_input import ANSWER, BEGIN, END, PAD, PEOPLE, QUESTION, MiniShape
from reeltalk_household.mini.mini_people import KnownPeople
from reeltalk_household.training.export_onnx import (
    DECODER,
    MOST_BYTES,
    VISION,
    DecoderGraph,
    Vision,
    export_mini,
    round_weights,
)
from reeltalk_household.training.network import Mini, load_mini, save_mini

SHAPE = write_mini_sample.SHAPE


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_mini_sample.words(tmp_path_factory.mktemp("words") / "tokenizer.json")


@pytest.fixture(scope="module")
def model() -> Mini:
    return write_mini_sample.tiny(seed=1)


@pytest.fixture(scope="module")
def small(model: Mini) -> Mini:
    return round_weights(model)


@pytest.fixture(scope="module")
def exported(model: Mini, words: Path, tmp_path_factory: pytest.TempPathFactory) -> MiniModel:
    folder = tmp_path_factory.mktemp("mini") / "exported"
    export_mini(model, words, folder)
    return MiniModel(folder, longest_answer=12)


@given(tokens=st.integers(1, 6), kept=st.integers(0, 9), seed=st.integers(0, 999))
@settings(max_examples=20, deadline=None)
def test_graphs_tell_what_the_rounded_network_tells(
    small: Mini, exported: MiniModel, tokens: int, kept: int, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    frames = draw.integers(0, 256, (tokens, 2, SHAPE.height_px, SHAPE.width_px, 3), dtype=np.uint8)
    times = draw.uniform(0, 4000, tokens).astype(np.float32)
    past = draw.normal(size=(2, SHAPE.layers, SHAPE.heads, kept, SHAPE.head_width)).astype(np.float32)
    ids = draw.integers(-1, SHAPE.vocabulary, tokens)
    seen = draw.normal(size=(tokens, SHAPE.width)).astype(np.float32)
    marks = draw.choice([PAD, *PEOPLE], tokens)
    with torch.inference_mode():
        looked = Vision(small)(torch.from_numpy(frames), torch.from_numpy(times))
        told = DecoderGraph(small)(torch.from_numpy(ids), *map(torch.from_numpy, (seen, marks, past[0], past[1])))
    for own, torchs in zip(exported.look(frames, times.tolist()), looked, strict=True):
        assert own is not None
        assert np.abs(own - torchs.numpy()).max() < 1e-4
    inputs = {"ids": ids, "seen": seen, "marks": marks, "past_k": past[0], "past_v": past[1]}
    found = exported._decoder.run(None, inputs)
    for own, torchs in zip(found, told, strict=True):
        assert own.shape == tuple(torchs.shape)
        assert np.abs(own - torchs.numpy()).max() < 1e-4


def test_rounding_changes_little_and_a_second_time_nothing(model: Mini, small: Mini) -> None:
    again = round_weights(small)
    for one, two in zip(small.parameters(), again.parameters(), strict=True):
        assert torch.allclose(one, two, atol=1e-7)
    frames = torch.rand(2, 6, SHAPE.height_px, SHAPE.width_px)
    with torch.inference_mode():
        before, after = model.encoder(frames), small.encoder(frames)
    assert 0 < float((before - after).abs().max()) < 0.1 * float(before.abs().max())


def test_a_stream_tells_what_the_whole_sequence_tells_and_answers_alike(
    small: Mini, exported: MiniModel, full: bool
) -> None:
    draw = np.random.default_rng(3)
    frames = draw.integers(0, 256, (24, SHAPE.height_px, SHAPE.width_px, 3), dtype=np.uint8)
    pairs = np.stack([frames, frames[np.maximum(np.arange(24) - 1, 0)]], axis=1)
    stream, ids = exported.stream(), [BEGIN]
    with torch.inference_mode():
        tokens, letters, looks, present = Vision(small)(torch.from_numpy(pairs), torch.arange(24.0))
        people = KnownPeople()
        told = zip(letters.numpy(), looks.numpy(), present.numpy(), strict=True)
        marks = torch.tensor([[PAD, *people.see(*one)] for one in told])
        assert marks.any()
        visual = small.decoder.marked(tokens, marks).flatten(0, 1)
        for number, frame in enumerate(frames):
            ready = stream.see(frame, float(number))
            ids += [FRAME] * SHAPE.frame_tokens
            logits, speaking = small.decoder(embed(small, ids, visual))
            assert abs(ready - float(speaking[0, -1].sigmoid())) < 1e-4
            if number % 5 == 2:
                question, answer = f"what is on the table? {number}", "a red cup."
                stream.add_exchange(question, answer)
                numbers = stream.numbers
                ids += [QUESTION, *numbers(question), ANSWER, *numbers(answer), END]
            asked = [QUESTION, *stream.numbers("where is the person?"), ANSWER]
            said, first = torch_answer(small, exported.words, [*ids, *asked], visual, exported.longest_answer)
            found = exported.read(asked, None, stream.memory)[0]
            assert np.abs(found - first.numpy()).max() < 1e-4
            if full or number % 6 == 0:
                assert stream.fork().say(asked) == said
        # What was asked stays, too.
        assert stream.say(asked) == said
        logits = small.decoder(embed(small, [*ids, *asked, *said, END, QUESTION], visual))[0][0, -1]
        assert np.abs(exported.read([QUESTION], None, stream.memory)[0] - logits.numpy()).max() < 1e-4


def test_agreement_counts_what_is_answered_otherwise(small: Mini, exported: MiniModel) -> None:
    draw = np.random.default_rng(5)
    pixels = draw.integers(0, 256, (2, 6, SHAPE.height_px, SHAPE.width_px, 3), dtype=np.uint8)
    questions = [(1.5, "where is the cup?"), (4.0, "what is on the table?")]
    videos = [(video, [float(n) for n in range(6)], questions) for video in pixels]
    found = compare_exported(small, exported, videos)
    assert (found.answers, found.same, found.different) == (4, 4, ())
    assert found.largest < 1e-4
    other = compare_exported(round_weights(write_mini_sample.tiny(seed=2)), exported, videos)
    assert other.largest > 1e-2


def test_the_default_network_is_small_enough_and_its_matrices_are_of_8_bits(words: Path, tmp_path: Path) -> None:
    torch.manual_seed(0)
    export_mini(Mini(MiniShape()), words, tmp_path / "mini")
    assert sum(path.stat().st_size for path in (tmp_path / "mini").iterdir()) < MOST_BYTES
    for name in (VISION, DECODER):
        graph = onnx.load(tmp_path / "mini" / name).graph
        kinds = {tensor.data_type for tensor in graph.initializer if np.prod(tensor.dims) > 40_000}
        assert kinds == {onnx.TensorProto.INT8}


def test_a_network_that_is_too_large_is_refused(words: Path, tmp_path: Path) -> None:
    shape = SHAPE.model_copy(update={"width": 512, "hidden": 2048, "layers": 3, "heads": 8})
    with pytest.raises(InputError, match="more than 8,388,608"):
        export_mini(Mini(shape), words, tmp_path / "mini")
    assert not (tmp_path / "mini").exists()
    with pytest.raises(InputError, match="no such file"):
        export_mini(Mini(SHAPE), tmp_path / "none.json", tmp_path / "mini")


def test_a_checkpoint_comes_back_as_it_was(model: Mini, words: Path, tmp_path: Path) -> None:
    save_mini(tmp_path / "mini", model, words)
    again = load_mini(tmp_path / "mini")
    assert again.shape == model.shape
    assert not again.training
    for (name, one), (other, two) in zip(model.state_dict().items(), again.state_dict().items(), strict=True):
        assert name == other
        assert torch.equal(one, two)
    assert (tmp_path / "mini" / "tokenizer.json").read_bytes() == words.read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("model.safetensors", None, "no such file"),
        ("shape.json", None, "no such file"),
        ("model.safetensors", b"\x08\0\0\0\0\0\0\0rubbish!", "not a file of weights"),
        ("shape.json", b"{", "not the measures"),
        ("shape.json", b'{"layers": 1}', "the weights do not fit"),
    ],
)
def test_a_broken_checkpoint_is_told_about(
    model: Mini, words: Path, tmp_path: Path, name: str, content: bytes | None, told: str
) -> None:
    folder = tmp_path / "mini"
    save_mini(folder, model, words)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(InputError, match=told) as caught:
        load_mini(folder)
    assert str(folder) in str(caught.value)
    with pytest.raises(InputError, match="no such file"):
        save_mini(tmp_path / "other", model, tmp_path / "none.json")


def test_frames_read_together_are_read_as_one_by_one(exported: MiniModel) -> None:
    draw = np.random.default_rng(7)
    frames = list(draw.integers(0, 256, (20, 45, 80, 3), dtype=np.uint8))
    one, all_at_once = exported.stream(), exported.stream()
    times = [float(n) for n in range(20)]
    for frame, time_s in zip(frames, times, strict=True):
        ready = one.see(frame, time_s)
    assert abs(all_at_once.see_all(frames, times) - ready) < 1e-5
    assert np.abs(one.memory.keys - all_at_once.memory.keys).max() < 1e-4
    assert [vars(e) for e in one.memory.entries] == [vars(e) for e in all_at_once.memory.entries]
    assert list(itertools.accumulate(e.tokens for e in one.memory.entries))[-1] == 1 + 20 * SHAPE.frame_tokens


def test_frames_that_were_looked_at_before_are_not_looked_at_again(
    exported: MiniModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, look = np.random.default_rng(11), exported._look
    frames, times = list(draw.integers(0, 256, (20, 45, 80, 3), dtype=np.uint8)), [float(n) for n in range(20)]
    looked: list[int] = []

    def counted(given: dict[str, Any]) -> FrameContents:
        looked.append(len(given["frames"]))
        return look(given)

    monkeypatch.setattr(exported, "_look", counted)
    first, again, other = exported.stream(), exported.stream(), exported.stream()
    first.see_all(frames, times)
    again.see_all(frames, times)
    assert looked == [16, 4]
    assert np.array_equal(first.memory.keys, again.memory.keys)
    other.see_all(frames, [time_s + 1 for time_s in times])
    other.see_all([frames[0][::-1], *frames[1:]], times)
    assert looked == [16, 4, 16, 4, 16]
