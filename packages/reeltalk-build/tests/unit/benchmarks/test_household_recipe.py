"""The recipe of a release is a project file that users can change, and it makes every part of the release."""

from pathlib import Path

import pytest

from reeltalk.cli import run
from reeltalk.errors import SettingError
from reeltalk_build.cli.projects import section_commands
from reeltalk_build.project.reading import read_project
from reeltalk_build.project.steps import ProjectStep, steps_of_project
from reeltalk_household.benchmarks.household import RECIPE, release_recipe


def steps_of(text: str, folder: Path) -> dict[str, ProjectStep]:
    file = folder / "project.yaml"
    file.write_text(text, encoding="utf-8")
    commands = section_commands()
    return {step.name: step for step in steps_of_project(read_project(file, commands), commands)}


def test_every_part_of_a_release_is_a_step(tmp_path: Path) -> None:
    steps = steps_of(release_recipe(1000, 1), tmp_path)
    models = ("empty", "constant", "blind", "ngrams", "history", "frames", "mini", "oracle")
    assert list(steps) == [
        *("film", "questions", "streams", "construct"),
        *(f"evaluate:{name}" for name in models),
        *(f"proactive:{name}" for name in ("silence", "every5s", "mini", "oracle")),
        *("compare", "report", "report:streams", "release", "export"),
    ]
    assert "--proactive" in steps["streams"].arguments
    assert "--proactive" not in steps["questions"].arguments
    assert steps["export"].arguments[:4] == ("export", "hub", "releases/1.0.0", "exports/hub")
    assert steps["proactive:every5s"].arguments[:4] == ("proactive", "run", "benchmark", "--model")
    assert [read.path for read in steps["report:streams"].reads][-2:] == ["streams/oracle", "benchmark"]
    assert [read.path for read in steps["export"].reads] == ["releases/1.0.0"]


def test_only_the_size_and_the_seed_differ_from_the_recipe(tmp_path: Path) -> None:
    film = steps_of(release_recipe(30, 5), tmp_path)["film"].arguments
    assert film[:4] == ("world", "film", "--into", "benchmark")
    assert film[4:10] == ("--scenarios", "30", "--dev-houses", "1", "--test-houses", "1")
    assert film[10:] == ("--seed", "5")
    assert release_recipe(1000, 1) == RECIPE.read_text(encoding="utf-8")
    whole = steps_of(release_recipe(400, 2, workers=3, executor="ray"), tmp_path)
    assert ("houses", ("--houses", "40")) in whole["film"].options
    assert ("executor", ("--executor", "ray")) in whole["film"].options
    assert ("workers", ("--workers", "3")) in whole["film"].options


def test_too_few_videos_have_no_splits() -> None:
    with pytest.raises(SettingError, match="so that every split has a house"):
        release_recipe(4, 1)


def test_a_changed_recipe_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "project.yaml").write_text("benchmark: mine\n")
    assert run(["world", "release", "--videos", "12", "--out", str(tmp_path)]) == 2
    assert "has another recipe" in capsys.readouterr().err
    assert (tmp_path / "project.yaml").read_text() == "benchmark: mine\n"
