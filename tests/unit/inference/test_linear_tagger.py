"""A linear tagger: the numbers of scikit-learn without it, a file that runs no code, and files that are none."""

import io
import json
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reeltalk.errors import BenchmarkError, InputError
from reeltalk.inference.linear_tagger import SHIPPED, LinearTagger, known_vocabularies
from reeltalk.inference.tagger_training import Example, Fitted, Reads, train

WORDS = "who what where why he she the cup it's naïve Straße 他在 哪里 don't a I puts on-table 3rd CUP \t \n ??".split(
    " "
)
ODD = ["", " ", "a", "?!", "x" * 50, "İstanbul ǅ ß", "word", "\u00a0 wide\u3000spaces \x85 and\x0bmore", "a\ufeffb"]


def texts(count: int, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randrange(1, 12))) for _ in range(count)] + ODD


def examples(count: int = 120) -> list[Example]:
    """Turns whose tags follow from their first word."""
    draw = random.Random(3)
    kinds = {
        "where": (("Object", "Place"), ("Relationship",), ("Recall",)),
        "why": (("Behavior",), ("Motivation", "Causality"), ("Reasoning",)),
        "who": (("Character",), ("Identity",), ("Recall",)),
        "then": (("Behavior",), ("Sequence",), ("Grasping",)),
    }
    found = []
    for number in range(count):
        word = draw.choice(sorted(kinds))
        tags = dict(zip(known_vocabularies(), kinds[word], strict=True))
        rest = " ".join(draw.choices(WORDS, k=5))
        found.append(Example(f"{word} {rest}", f"the {draw.choice(WORDS)} {word}", tags, f"video{number % 6}"))
    return found


@pytest.fixture(scope="module", params=["question", "question+answer"])
def fitted(request: pytest.FixtureRequest) -> Fitted:
    reads: Reads = request.param
    return train(examples(), name="small", reads=reads, card={"about": "a test"})


def test_probabilities_are_those_of_scikit_learn(fitted: Fitted) -> None:
    questions, answers = texts(300, 5), texts(300, 6)
    table = fitted.features.transform(np.array(list(zip(questions, answers, strict=True)), dtype=object))
    found = fitted.tagger.scores(questions, answers)
    said = fitted.tagger.probabilities(questions, answers)
    learnt = 0
    one_vs_rest = np.zeros_like(said)
    for column, classifier in enumerate(fitted.classifiers):
        if classifier is not None:
            learnt += 1
            assert np.abs(classifier.decision_function(table) - found[:, column]).max() < 1e-9
        one_vs_rest[:, column] = fitted.calibration.predict_proba(found[:, column : column + 1])[:, 1]
    assert learnt >= 8
    one_vs_rest[:, 16:] /= one_vs_rest[:, 16:].sum(axis=1, keepdims=True)
    assert np.abs(one_vs_rest - said).max() < 1e-9
    assert np.allclose(said[:, 16:].sum(axis=1), 1)


def test_it_learns_what_there_is_to_learn_and_says_what_it_learnt_from(fitted: Fitted) -> None:
    said = fitted.tagger.probabilities(["why does the cup"], ["the he why"])[0]
    by_tag = {tag: value for (_, tag), value in zip(fitted.tagger.tags, said, strict=True)}
    assert max(("Recall", "Grasping", "Reasoning"), key=by_tag.__getitem__) == "Reasoning"
    assert by_tag["Motivation"] > 0.5 > by_tag["Identity"]
    assert by_tag["Emotion"] < 0.2, "no turn that was learnt from has it"
    assert fitted.tagger.card == {"about": "a test"}


def test_a_file_gives_the_same_tagger_and_equal_training_the_same_bytes(fitted: Fitted, tmp_path: Path) -> None:
    path = tmp_path / "tagger.npz"
    fitted.tagger.save(path)
    read = LinearTagger.load(path)
    assert read.signature == fitted.tagger.signature
    assert read.to_bytes() == path.read_bytes() == fitted.tagger.to_bytes()
    questions = texts(50)
    assert np.array_equal(read.probabilities(questions, questions), fitted.tagger.probabilities(questions, questions))
    reads: Reads = "question+answer" if any(block.field == "answer" for block in read.blocks) else "question"
    assert train(examples(), name="small", reads=reads, card={"about": "a test"}).tagger.to_bytes() == read.to_bytes()


def test_running_one_needs_no_scikit_learn() -> None:
    script = (
        "import sys; sys.modules['sklearn'] = None\n"
        "from reeltalk.construct.tagging.stage import LinearTagging\n"
        "tagger = LinearTagging.named('household').tagger\n"
        "print(tagger.probabilities(['Where does he put the cup?'], ['On the table.']).shape)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(1, 19)"


def test_the_tagger_that_comes_along_is_small_and_says_what_it_is() -> None:
    assert SHIPPED.stat().st_size <= 1_000_000
    tagger = LinearTagger.load(SHIPPED)
    assert "simulated households only" in str(tagger.card["about"])
    assert tagger.to_bytes() == SHIPPED.read_bytes()
    card = SHIPPED.with_suffix(".md").read_text(encoding="utf-8")
    assert f"{tagger.card['turns']:,} turns" in card
    assert tagger.signature in card


def test_what_cannot_be_learnt_from_is_refused() -> None:
    some = examples()
    with pytest.raises(BenchmarkError, match="2 videos or kinds"):
        train([Example(e.question, e.answer, e.tags, "one") for e in some], name="x")
    with pytest.raises(BenchmarkError, match="same tags"):
        train([Example(e.question, e.answer, some[0].tags, e.group) for e in some], name="x")
    with pytest.raises(BenchmarkError, match="no question has a word"):
        train([Example(" ", "", e.tags, e.group) for e in some], name="x")


def altered(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    head = json.loads(arrays["head"].tobytes())
    change(head, arrays)
    arrays["head"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
    np.savez(path, allow_pickle=True, **arrays)


def _version(head: dict[str, Any], _: dict[str, Any]) -> None:
    head["version"] = 99


def _other_tags(head: dict[str, Any], _: dict[str, Any]) -> None:
    head["vocabularies"]["cogme.thinking"] = ["Recall", "Guessing"]


def _more_tags(head: dict[str, Any], _: dict[str, Any]) -> None:
    head["vocabularies"]["mine"] = ["a"]


def _other_format(head: dict[str, Any], _: dict[str, Any]) -> None:
    head["format"] = "something"


def _no_blocks(head: dict[str, Any], _: dict[str, Any]) -> None:
    head["blocks"] = []


def _nan(_: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["weights"] = np.full_like(arrays["weights"], np.nan)


def _objects(_: dict[str, Any], arrays: dict[str, Any]) -> None:
    arrays["weights"] = np.array([{"a": 1}], dtype=object)


def _no_slope(head: dict[str, Any], _: dict[str, Any]) -> None:
    head["slope"] = "steep"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_version, "version 1, got 99"),
        (_other_tags, "tags of cogme.thinking"),
        (_more_tags, "does not tag, got ['mine']"),
        (_other_format, "no tagger, or a damaged one"),
        (_no_blocks, "no tagger, or a damaged one"),
        (_nan, "no tagger, or a damaged one"),
        (_objects, "no tagger, or a damaged one"),
        (_no_slope, "no tagger, or a damaged one"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(
    fitted: Fitted, tmp_path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None], says: str
) -> None:
    path = tmp_path / "tagger.npz"
    fitted.tagger.save(path)
    altered(path, change)
    with pytest.raises(InputError) as error:
        LinearTagger.load(path)
    assert says in str(error.value)
    assert "tagger.npz" in str(error.value)


def test_damaged_files_are_refused_whatever_is_damaged(fitted: Fitted, tmp_path: Path, full: bool) -> None:
    path = tmp_path / "tagger.npz"
    whole = fitted.tagger.to_bytes()
    draw = random.Random(11)
    for _ in range(400 if full else 40):
        damaged = bytearray(whole)
        if draw.random() < 0.5:
            del damaged[draw.randrange(len(damaged)) :]
        else:
            for _ in range(3):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        path.write_bytes(bytes(damaged))
        try:
            read = LinearTagger.load(path)
        except InputError:
            continue
        # What is left over by zip, as a time of change, may be damaged without harm.
        assert read.signature == fitted.tagger.signature
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("weights.npy", bytes(65 << 20))
    for content in (b"", b"text", bomb.getvalue()):
        path.write_bytes(content)
        with pytest.raises(InputError):
            LinearTagger.load(path)
    for missing in (tmp_path / "none.npz", tmp_path):
        with pytest.raises(InputError):
            LinearTagger.load(missing)
