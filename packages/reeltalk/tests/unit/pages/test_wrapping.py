"""Text in lines that fit a drawing."""

import pytest

from reeltalk.pages.case import width_of, wrap_text

TEXTS = (
    "The person opens the fridge, takes the milk and closes it again before sitting down.",
    "x" * 300,
    "这个人打开冰箱拿出牛奶然后坐下来看电视。" * 4,
    "mixed 中文 and English 文字together, https://example.org/" + "path/" * 30,
    "e\u0301" * 80,
    "\u202e<script>alert(1)</script>" * 5,
    "WWWWWWWWWW " * 20,
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("width", [60.0, 200.0, 500.0])
def test_every_line_fits_and_nothing_is_lost(text: str, width: float) -> None:
    lines = wrap_text(text, width, 12, most_lines=1000)
    assert all(width_of(line, 12) <= width for line in lines)
    kept = text.replace("\u202e", "\ufffd")
    assert "".join(lines).replace(" ", "") == kept.replace(" ", "")


def test_words_stay_whole_where_they_can() -> None:
    words = TEXTS[0].split()
    assert [word for line in wrap_text(TEXTS[0], 120, 12, most_lines=99) for word in line.split()] == words


def test_what_is_too_long_ends_with_an_ellipsis() -> None:
    lines = wrap_text(TEXTS[0] * 9, 200, 12, most_lines=3)
    assert len(lines) == 3
    assert lines[-1].endswith("…")
    assert width_of(lines[-1], 12) <= 200
    assert not wrap_text(TEXTS[0], 200, 12, most_lines=9)[-1].endswith("…")


def test_a_text_without_end_is_not_read_to_its_end() -> None:
    assert wrap_text("word " * 10_000_000, 200, 12, most_lines=2)[-1].endswith("…")


@pytest.mark.parametrize("text", ["", "  ", "\n\t"])
def test_no_text_gives_no_lines(text: str) -> None:
    assert wrap_text(text, 100, 12, most_lines=3) == []
