"""Tokens are counted by the model's own tokenizer, from `tokenizer.json` or through transformers."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import BertWordPieceTokenizer

from reeltalk.errors import InputError
from reeltalk.formats.text_tokens import TextTokens
from reeltalk.schema.sft import most_tokens

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "what", "is", "the", "cup", "##s", "?"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A word-piece tokenizer that says that texts are cut off after four tokens."""
    path = tmp_path_factory.mktemp("tokenizer")
    (path / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    made = BertWordPieceTokenizer(str(path / "vocab.txt"), lowercase=True)
    made.enable_truncation(4)
    made.enable_padding(length=9)
    made.save(str(path / "tokenizer.json"))
    return path


def test_special_tokens_padding_and_truncation_do_not_count(folder: Path) -> None:
    count = TextTokens(folder)
    assert count("What is the cups?") == 6
    assert count("") == 0
    assert TextTokens(folder / "tokenizer.json")("the cup") == 2


def test_a_tokenizer_without_a_file_of_its_own_goes_through_transformers(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes((folder / "vocab.txt").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}), encoding="utf-8")
    assert TextTokens(tmp_path)("What is the cups?") == 6


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_a_text_has_no_more_tokens_than_bytes(folder: Path, text: str) -> None:
    assert TextTokens(folder)(text) <= most_tokens(text)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({}, "holds no tokenizer"),
        ({"tokenizer.json": "{"}, "no tokenizer that can be read"),
        ({"tokenizer.json": "[]"}, "no tokenizer that can be read"),
        ({"tokenizer_config.json": '{"tokenizer_class": "NoSuchTokenizer"}'}, "no tokenizer that can be read"),
        ({"tokenizer_config.json": "["}, "no tokenizer that can be read"),
    ],
)
def test_what_is_no_tokenizer_is_refused(files: dict[str, str], problem: str, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=problem):
        TextTokens(tmp_path)


def test_a_folder_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"no such file or folder \(nowhere\)"):
        TextTokens(Path("nowhere"))
