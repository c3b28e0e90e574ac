"""Strict JSON, and errors that name the place."""

from pathlib import Path

import pytest

from reeltalk.errors import InputError
from reeltalk.store.documents import SourceModel, parse, parse_json, read_json, read_json_lines


class Row(SourceModel):
    id: str
    count: int = 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "the key 'a' appears twice"),
        ("[NaN]", "NaN is not JSON"),
        ("[1e999]", "too large"),
        ("[" + "9" * 5000 + "]", "cannot be read"),
        ('[1,\n2,\n"cut', r"f\.json:3"),
        ("[" * 200 + "]" * 200, "nested deeper than 64"),
        ("[" * 100_000, "nested too deep|not JSON"),
        ('{"a": ["\\ud800"]}', r"lone UTF-16 surrogate, .* \(f\.json at \$\.a\[0\]"),
        ("", "not JSON"),
    ],
)
def test_what_is_not_strict_json_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_json(text, file="f.json")


def test_a_wrong_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_bytes('["a",\n"ü"]'.encode("latin-1"))
    with pytest.raises(InputError, match=r"not UTF-8: byte 0xfc .*f\.json:2"):
        read_json(tmp_path / "f.json")


def test_a_byte_order_mark_is_no_content(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_bytes(b"\xef\xbb\xbf[1]")
    assert read_json(tmp_path / "f.json") == [1]


def test_json_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    (tmp_path / "f.jsonl").write_text('{"a": "x\u2028y"}\n\n[2]\n', encoding="utf-8")
    assert list(read_json_lines(tmp_path / "f.jsonl")) == [(1, {"a": "x\u2028y"}), (3, [2])]


def test_a_misfit_names_path_and_value() -> None:
    with pytest.raises(InputError, match=r"got '1' \(f\.json at \$\[1\]\.count\)"):
        parse(list[Row], [{"id": "a"}, {"id": "b", "count": "1"}], file="f.json")


def test_unknown_fields_are_kept() -> None:
    assert parse(Row, {"id": "a", "mood": "calm"}, file="f.json").unknown == {"mood": "calm"}
