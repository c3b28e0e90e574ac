"""Questions, commands and their moments, from a terminal and from a script."""

import io

import pytest

from reeltalk.errors import SettingError
from reeltalk_streaming.chat.lines import ChatLine, ScriptedLines, TypedLines, parse_line


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("What is it?\n", ChatLine("What is it?")),
        ("@12.5 What is it?", ChatLine("What is it?", None, 12.5)),
        ("  @3   /memory ", ChatLine("", "memory", 3.0)),
        ("/tell  Tell me when it boils. ", ChatLine("Tell me when it boils.", "tell")),
        ("@home who is it?", ChatLine("@home who is it?")),
        ("  \n", None),
        ("@5  ", ChatLine("@5")),
    ],
)
def test_a_line_is_a_question_or_a_command(typed: str, line: ChatLine | None) -> None:
    assert parse_line(typed) == line


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        ("/seek 5", "no command /seek; there are /pause, /play"),
        ("/tell  ", "/tell needs an instruction"),
        ("/", "no command /"),
    ],
)
def test_what_makes_no_sense_is_told(typed: str, problem: str) -> None:
    with pytest.raises(SettingError, match=problem):
        parse_line(typed)


def test_typed_lines_come_at_once_and_those_with_a_moment_when_it_is_there() -> None:
    lines = TypedLines()
    for typed in ("@9 late", "@2 early", "now"):
        lines.put(typed)
    assert lines.due(1.0) == ChatLine("now")
    assert lines.due(1.0) is None
    assert lines.due(2.0) is None
    assert lines.due(2.5) == ChatLine("early", None, 2.0)
    lines.put(None)
    assert lines.due(2.5) is None
    assert not lines.closed
    assert lines.due(None) == ChatLine("late", None, 9.0)
    assert lines.closed


def test_a_script_asks_at_its_moments_and_what_has_none_at_the_end() -> None:
    lines = ScriptedLines(io.StringIO("/tell x\n\n@2 two\n@2 again\n/memory\n@5 five\nlast\n"))
    assert lines.due(0.0) == ChatLine("x", "tell")
    assert lines.due(2.0) is None
    assert [lines.due(2.1), lines.due(2.1), lines.due(2.1)] == [
        ChatLine("two", None, 2.0),
        ChatLine("again", None, 2.0),
        ChatLine("", "memory"),
    ]
    assert lines.due(2.1) is None
    assert lines.due(60.0) == ChatLine("five", None, 5.0)
    assert lines.due(60.0) is None
    assert not lines.closed
    assert lines.due(None) == ChatLine("last")
    assert lines.due(None) is None
    assert lines.closed


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("@5 five\n@4 four\n@6 six\n", "@4 comes after @5"),
        ("at the end\n@4 four\n", "@4 comes after one that is asked at the end"),
        ("/pause\n@6 six\n", "/pause is for a terminal"),
        ("/jump\n@6 six\n", "no command /jump"),
    ],
)
def test_a_script_that_goes_back_is_told_and_goes_on(script: str, problem: str) -> None:
    lines = ScriptedLines(io.StringIO(script))
    found: list[ChatLine] = []
    problems: list[str] = []
    while not lines.closed:
        try:
            line = lines.due(None)
            found += [line] if line is not None else []
        except SettingError as error:
            problems.append(str(error))
    assert problem in problems[0]
    assert len(problems) == 1
    assert found
