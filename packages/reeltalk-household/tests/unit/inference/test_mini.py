import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from reeltalk.errors import InputError, ModelError
from reeltalk_household.mini.mini import MiniModel
from reeltalk_household.mini.mini_input import BEGIN, END, HEARD
from reeltalk_streaming.inference.stream import Stream, StreamingModel
from reeltalk_streaming.inference.stream_memory import MemoryPolicy

FRAMES = np.random.default_rng(0).integers(0, 256, (30, 18, 40, 3), dtype=np.uint8)
BOUNDED = MemoryPolicy(sinks=3, recent_frames=4, merged_frames=4, recent_words=40)


@pytest.fixture
def folder(samples: Path) -> Path:
    return samples.parent / "mini_sample"


def test_a_conversation_stays_and_its_memory_is_counted(folder: Path) -> None:
    model = MiniModel(folder, longest_answer=5)
    following: StreamingModel = model
    stream: Stream = following.stream()
    per_token = 2 * 2 * 2 * 16 * 4  # keys and values, layers, heads, width, bytes
    assert stream.memory_bytes == per_token
    ready = stream.see(FRAMES[0], 0.0)
    assert ready is not None
    assert 0 < ready < 1
    assert stream.memory_bytes == 3 * per_token
    said = stream.ask("where is the person?")
    assert said.text == said.text[:1].upper() + said.text[1:] != ""
    asked = 2 + len(model.words.numbers("where is the person?"))
    assert said.prompt_tokens == asked
    assert 0 < said.completion_tokens <= 5
    assert said.cut_off == (said.completion_tokens == 5)
    assert said.first_token_s is not None
    assert 0 < said.first_token_s <= said.took_s
    # The question, the answer and its end.
    kept = 3 + asked + said.completion_tokens + 1
    assert stream.memory_bytes == kept * per_token
    stream.instruct("tell me when the kettle boils.")
    stream.add_exchange("what is on the table?", "a red cup.")
    texts = ("tell me when the kettle boils.", "what is on the table?", "a red cup.")
    # Marks: an instruction and its end; a question, its answer and its end.
    kept += 2 + 3 + sum(len(model.words.numbers(text)) for text in texts)
    assert stream.memory_bytes == kept * per_token
    unasked = stream.speak()
    assert unasked.prompt_tokens == 1
    assert stream.memory_bytes == (kept + 2 + unasked.completion_tokens) * per_token


def test_what_was_said_before_matters_and_a_fork_leaves_it_alone(folder: Path) -> None:
    model = MiniModel(folder)
    stream = model.stream()
    stream.see_all(list(FRAMES[:6]), range(6))
    logits = model.read([3], None, stream.memory)[0]
    other = stream.fork()
    other.add_exchange("what is on the table?", "a red cup.")
    other.see(FRAMES[6], 6.0)
    assert np.array_equal(model.read([3], None, stream.memory)[0], logits)
    assert np.abs(model.read([3], None, other.memory)[0] - logits).max() > 1e-3
    stream.add_exchange("what is on the table?", "a red cup.")
    stream.see(FRAMES[6], 6.0)
    assert np.array_equal(model.read([3], None, stream.memory)[0], model.read([3], None, other.memory)[0])


def test_what_is_said_in_the_video_is_heard_and_matters(folder: Path, copy_of: Callable[..., Path]) -> None:
    model = MiniModel(folder)
    stream = model.stream()
    stream.see_all(list(FRAMES[:3]), range(3))
    logits, tokens = model.read([3], None, stream.memory)[0], stream.memory.tokens
    stream.hear("where is the cup?")
    assert stream.memory.tokens == tokens + 2 + len(model.words.numbers("where is the cup?"))
    assert np.abs(model.read([3], None, stream.memory)[0] - logits).max() > 1e-3
    deaf = copy_of(folder)
    known = deaf / "tokenizer.json"
    known.write_text(known.read_text(encoding="utf-8").replace('"<h>"', '"<other>"'), encoding="utf-8")
    with pytest.raises(ModelError, match="was trained on pictures and questions alone and reads no speech"):
        MiniModel(deaf).stream().hear("where is the cup?")


def test_no_mark_but_the_end_is_said(folder: Path) -> None:
    words = MiniModel(folder).words
    logits = np.zeros(words.size, np.float32)
    logits[[BEGIN, HEARD]] = 9.0
    logits[[END, HEARD + 5]] = 1.0, 2.0
    assert words.likeliest(logits) == HEARD + 5
    logits[END] = 3.0
    assert words.likeliest(logits) == END


def test_a_bounded_stream_is_as_an_unbounded_one_until_the_bounds_and_never_beyond(folder: Path) -> None:
    free, bound = MiniModel(folder, longest_answer=5), MiniModel(folder, longest_answer=5, policy=BOUNDED)
    one, two = free.stream(), bound.stream()
    most = BOUNDED.most_tokens(2) * 2 * 2 * 2 * 16 * 4
    for number, frame in enumerate(FRAMES):
        ready = one.see(frame, float(number)), two.see(frame, float(number))
        assert two.memory_bytes <= most
        if number < 9:
            assert ready[0] == ready[1]
        if number % 4 == 3:
            assert bool(two.ask("where is the cup?").text)
            one.ask("where is the cup?")
    assert one.memory_bytes > 1.5 * two.memory_bytes
    assert sum(entry.frames for entry in two.memory.entries) == 30
    with pytest.raises(ModelError, match="keeps 40"):
        two.ask("where is the cup? " * 20)
    with pytest.raises(ModelError, match="keeps 40"):
        two.add_exchange("where is the cup? " * 20, "here.")


def test_the_name_tells_the_weights(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "own")
    one, two = MiniModel(folder).name, MiniModel(tmp_path / "own").name
    assert one.startswith("mini_sample#")
    assert two.startswith("own#")
    assert one.partition("#")[2] == two.partition("#")[2]
    text = (folder / "shape.json").read_text().replace('"fps": 1.0', '"fps": 2.0')
    (tmp_path / "own" / "shape.json").write_text(text)
    assert MiniModel(tmp_path / "own").name != two


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def holding(name: str, content: bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return write


def cut_short(folder: Path) -> None:
    content = (folder / "decoder.onnx").read_bytes()
    (folder / "decoder.onnx").write_bytes(content[: len(content) // 2])


def swapped(folder: Path) -> None:
    shutil.copy(folder / "vision.onnx", folder / "decoder.onnx")


def other_measure(old: bytes, new: bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        path = folder / "shape.json"
        content = path.read_bytes()
        assert old in content
        path.write_bytes(content.replace(old, new))

    return write


@pytest.mark.parametrize(
    ("spoilt", "told"),
    [
        (without("vision.onnx"), "no such file"),
        (without("decoder.onnx"), "no such file"),
        (without("shape.json"), "no such file"),
        (without("tokenizer.json"), "no such file"),
        (cut_short, "not a graph that can be run"),
        (holding("vision.onnx", b""), "not a graph that can be run"),
        (swapped, "no graph of a network"),
        (holding("shape.json", b"{"), "not the measures"),
        (holding("tokenizer.json", b"{}"), "not a tokenizer"),
        (other_measure(b'"vocabulary": 128', b'"vocabulary": 20'), "words and the network 20"),
        (other_measure(b'"vocabulary": 128', b'"vocabulary": 129'), "no graph of a network"),
        (other_measure(b'"frame_tokens": 2', b'"frame_tokens": 3'), "no graph of a network"),
        (other_measure(b'"layers": 2', b'"layers": 3'), "no graph of a network"),
        (other_measure(b'"width_px": 64', b'"width_px": 65'), "no graph of a network"),
        (other_measure(b'"heads": 2', b'"heads": 3'), "not the measures"),
    ],
)
def test_what_is_wrong_in_a_folder_is_told(
    folder: Path, tmp_path: Path, spoilt: Callable[[Path], None], told: str
) -> None:
    own = tmp_path / "own"
    shutil.copytree(folder, own)
    spoilt(own)
    with pytest.raises(InputError, match=told) as caught:
        MiniModel(own)
    assert str(own) in str(caught.value)


def test_times_and_frames_go_together(folder: Path) -> None:
    with pytest.raises(ValueError, match="2 frames with 1 times"):
        MiniModel(folder).stream().see_all(list(FRAMES[:2]), [0.0])
