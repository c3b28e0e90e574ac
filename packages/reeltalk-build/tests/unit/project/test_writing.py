"""The file that `reeltalk new` writes is made from the commands, and says what they say."""

import re
from pathlib import Path

import pytest
import yaml

from reeltalk_build.cli.projects import section_commands
from reeltalk_build.project.reading import read_project
from reeltalk_build.project.sections import SECTIONS, CommandSpec
from reeltalk_build.project.steps import steps_of_project
from reeltalk_build.project.writing import TEMPLATES, WIDTH, project_text


def without_marks(text: str) -> str:
    """A project file with all commented-out settings enabled."""
    return re.sub(r"^(\s*)#(?=[^\s#])", r"\1", text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def commands() -> dict[str, CommandSpec]:
    return section_commands()


@pytest.mark.parametrize("name", TEMPLATES)
def test_all_settings_taken_in_are_the_defaults(name: str, commands: dict[str, CommandSpec], tmp_path: Path) -> None:
    template = TEMPLATES[name]
    text = project_text(template, "kitchen", commands)
    assert max(map(len, text.splitlines())) <= WIDTH
    file, whole = tmp_path / "project.yaml", tmp_path / "whole.yaml"
    file.write_text(text, encoding="utf-8")
    whole.write_text(without_marks(text), encoding="utf-8")
    steps = {step.name: step for step in steps_of_project(read_project(file, commands), commands)}
    taken_in = {step.name: step for step in steps_of_project(read_project(whole, commands), commands)}
    # A setting that equals the default is not typed, so that the command lines are the same.
    for step in steps.values():
        if step.section in ("compare", "report"):  # they show the example's run too
            assert [o for o in taken_in[step.name].options if o not in step.options] == []
        else:
            assert taken_in[step.name].arguments == step.arguments
    assert {step.section for step in taken_in.values()} == {*template.given, *template.offered}
    assert "evaluate:mine" in taken_in


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_setting_stands_in_the_file(name: str, commands: dict[str, CommandSpec]) -> None:
    template = TEMPLATES[name]
    value = yaml.safe_load(without_marks(project_text(template, "kitchen", commands)))
    for section in (*template.given, *template.offered):
        filled = SECTIONS[section].filled
        expected = {option.key for option in commands[section].options if option.key not in filled}
        if section == "evaluate":
            expected = expected - {"model"} | {"models"}
        assert set(value[section]) == expected


def test_the_options_are_those_of_thesection_commands(commands: dict[str, CommandSpec]) -> None:
    quality = commands["construct"].option("quality")
    assert quality is not None
    assert (quality.flag, quality.default, quality.help) == (
        "--quality",
        90.0,
        "Lowest overall quality that passes (SVBench); a chain below it goes back to its writer.",
    )
    for command in commands.values():
        assert command.help
        assert all(option.help for option in command.options)
        assert len({option.key for option in command.options}) == len(command.options)
