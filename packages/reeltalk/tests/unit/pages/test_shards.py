"""Data as scripts: whole, in slices, and harmless whatever strangers wrote."""

import json
import re
from pathlib import Path

import pytest

from reeltalk.pages.dialogues import script_json, write_shards

HOSTILE = (
    "</script><script>alert(1)</script>", "<!-- <script>", "]]>", "a\u2028b\u2029c", "\ud800", "\u202eevil", "\\u003c",
    "__proto__", '");alert(1);("', "\x00\x1b[31m", "你好 'quoted' `${x}`",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_string_ends_no_script_and_says_the_same(text: str) -> None:
    found = script_json([text])
    assert not re.search("[<>&\u2028\u2029\u202a-\u202e\x00-\x1f\ud800-\udfff]", found)
    kept = re.sub("[\u202a-\u202e\ud800-\udfff]", "\ufffd", text)
    assert json.loads(found) == [kept]


def rows_of(folder: Path, name: str) -> list[object]:
    rows: list[object] = []
    for place in range(len(list(folder.glob(f"{name}-*.js")))):
        text = (folder / f"{name}-{place}.js").read_text(encoding="utf-8")
        assert text.startswith(f'reeltalk.put("{name}-{place}",[\n')
        assert text.endswith("]);\n")
        rows += json.loads(text[text.index("[") : -3])
    return rows


def test_slices_hold_every_row_once_and_stay_small(tmp_path: Path) -> None:
    rows = [[number, "对" * (number % 90)] for number in range(500)]
    starts = write_shards(tmp_path, "turns", rows, most_bytes=4_000)
    assert rows_of(tmp_path / "data", "turns") == rows
    assert len(starts) == len(list((tmp_path / "data").iterdir())) > 1
    assert starts[0] == 0
    assert all(path.stat().st_size < 4_100 for path in (tmp_path / "data").iterdir())
    for place, start in enumerate(starts):
        text = (tmp_path / "data" / f"turns-{place}.js").read_text(encoding="utf-8")
        assert json.loads(text[text.index("[") : -3])[0] == rows[start]


def test_a_row_longer_than_a_slice_stands_alone(tmp_path: Path) -> None:
    assert write_shards(tmp_path, "words", ["a", "b" * 100, "c"], most_bytes=10) == [0, 1, 2]


def test_no_rows_give_no_files(tmp_path: Path) -> None:
    assert write_shards(tmp_path, "words", []) == []
    assert list(tmp_path.iterdir()) == []
