"""The table of commands, their options and their help."""

import re
from collections.abc import Iterator

import pytest
from cyclopts import App, Argument

from reeltalk.cli import app, run
from reeltalk.cli.commands import COMMAND_ORDER, EXAMPLE_PREFIX, GROUPS, command_names

MOST_COMMANDS = 46
UNNAMED = {"", "Options", "Parameters"}
"""Titles of groups that say nothing."""


def found(words: tuple[str, ...]) -> App:
    command = app
    for word in words:
        command = command[word]
    return command


def options_of(words: tuple[str, ...]) -> Iterator[Argument]:
    # A settings model is one argument named "*"; its fields follow it.
    arguments = found(words).assemble_argument_collection(parse_docstring=True)
    return (argument for argument in arguments if argument.names != ("*",))


NAMES = tuple(command_names())


def test_there_are_few_commands() -> None:
    assert len(NAMES) <= MOST_COMMANDS


@pytest.mark.parametrize("words", NAMES, ids=" ".join)
def test_every_option_has_help_and_a_named_group(words: tuple[str, ...]) -> None:
    for option in options_of(words):
        assert option.parameter.help, option.name
        groups = option.parameter.group
        assert isinstance(groups, tuple)
        titles = {getattr(group, "name", group) for group in groups}
        assert titles, option.name
        assert not titles & UNNAMED, option.name


@pytest.mark.parametrize("words", NAMES, ids=" ".join)
def test_help_ends_with_an_example(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words, "--help"]) == 0
    out = capsys.readouterr().out
    last = out[out.rindex("╯") :]
    assert last.strip("╯ \n").startswith(f"{EXAMPLE_PREFIX}reeltalk {words[0]}"), last
    assert out.count(EXAMPLE_PREFIX) == 1


@pytest.mark.parametrize(
    ("command", "first"),
    [
        (
            "evaluate",
            ["--model", "--base-url", "--out", "--mode", "--preset", "--judge", "--judge-base-url", "--limit"],
        ),
        ("curate", ["--into", "--preset", "--splits"]),
        ("judge", ["--out", "--bench", "--format", "--protocols", "--judge", "--judge-base-url"]),
        ("report", ["--out", "--bench", "--format", "--media"]),
        ("construct", ["--writer", "--base-url", "--judge", "--limit", "--max-calls", "--plan"]),
    ],
)
def test_help_begins_with_the_options_that_everybody_needs(
    command: str, first: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, "--help"]) == 0
    out = capsys.readouterr().out
    start = out.partition("─ Start here ─")[2].partition("╰")[0]
    assert re.findall(r"^│ (?:\*  |   )?(--[a-z-]+)", start, re.MULTILINE) == first
    titles = re.findall(r"╭─ (.+?) ─", out)
    assert titles[:2] == ["Arguments", "Start here"]


@pytest.mark.parametrize("words", [("evaluate",), ("world", "film"), ("review",), ("graph",)], ids=" ".join)
def test_help_of_a_command_is_its_page(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["help", *words]) == 0
    asked = capsys.readouterr().out
    assert run([*words, "--help"]) == 0
    assert asked == capsys.readouterr().out


def test_help_shows_the_groups_and_their_commands_in_the_order_of_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    titles = [out.index(f"─ {title} ─") for title in GROUPS]
    assert titles == sorted(titles)
    places = [out.index(f"│ {name} ") for name in COMMAND_ORDER]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("arguments", "nearest", "page"),
    [
        (["evaluat"], "evaluate", "reeltalk --help"),
        (["reportt", "runs/a"], "report", "reeltalk --help"),
        (["world", "flim"], "film", "reeltalk world --help"),
        (["help", "evaluat"], "evaluate", "reeltalk --help"),
        (["evaluate", "bench", "--modle", "x"], "--model", "reeltalk evaluate --help"),
        (["world", "film", "--scenario", "3", "--into", "x"], "--scenarios", "reeltalk world film --help"),
        (["review", "add", "bench", "test", "--mod", "x"], "--mode", "reeltalk review add --help"),
    ],
)
def test_a_mistyped_name_gets_the_nearest_one_and_the_page_to_read(
    arguments: list[str], nearest: str, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    said = capsys.readouterr().err
    assert f"Did you mean {nearest}" in said.replace('"', "")
    assert f"'{page}'" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "page"),
    [
        (["evaluate", "bench", "--model", "x", "--limit", "many"], "reeltalk evaluate --help"),
        (["evaluate", "bench", "--model", "x", "--frames", "0", "--out", "y"], "reeltalk evaluate --help"),
        (["world", "film"], "reeltalk world film --help"),
        (["freeze", "a", "b"], "reeltalk freeze --help"),
    ],
)
def test_a_wrong_or_missing_value_points_to_the_page_of_its_command(
    arguments: list[str], page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert f"'{page}'" in capsys.readouterr().err
