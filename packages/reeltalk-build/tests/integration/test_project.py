"""A project from nothing to a report with the real commands, then changed, broken, stopped and gone on with."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from reeltalk.cli import run
from reeltalk_build.project.records import read_records

TINY = {
    "scenarios: 8": "scenarios: 2",
    "houses: 4": "houses: 2",
    "fps: 5": "fps: 2",
}
TINY |= {"#min_duration_s: 60.0": "min_duration_s: 20.0", "max_duration_s: 120.0": "max_duration_s: 45.0"}
TINY |= {"    blind: baseline:blind\n": "", "    frames: baseline:frames\n": "", "frames: 8": "frames: 2"}
Ran = Callable[..., tuple[int, list[str]]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small project that was made, and run once."""
    folder = tmp_path_factory.mktemp("projects") / "kitchen"
    assert run(["new", str(folder)]) == 0
    file = folder / "project.yaml"
    for before, after in TINY.items():
        change(file, before, after)
    assert run(["run", str(file)]) == 0
    return file


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after, 1), encoding="utf-8")


@pytest.fixture
def ran(project: Path, capsys: pytest.CaptureFixture[str]) -> Ran:
    """Runs the project, and gives the exit code and the steps that were run."""

    def run_it(*options: str) -> tuple[int, list[str]]:
        capsys.readouterr()
        code = run(["run", str(project), *options])
        said = capsys.readouterr().err.splitlines()
        starts = [at for at, line in enumerate(said) if line.startswith("$ reeltalk ")]
        return code, [re.sub(r"\[\d+/\d+\] (\S+): .*", r"\1", said[at - 1]) for at in starts]

    return run_it


def test_the_first_run_ends_in_a_report(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (project.parent / "report/index.html").is_file()
    assert run(["status", str(project)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [
        "film",
        "construct",
        "evaluate:history",
        "evaluate:oracle",
        "compare",
        "report",
    ]
    assert all("done" in line for line in lines)
    assert re.search(r"evaluate:history +runs/history +done", lines[2])


def test_a_second_run_runs_nothing(ran: Ran, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran() == (0, [])
    assert run(["run", str(project.parent)]) == 0
    assert capsys.readouterr().out == f"report: {project.parent / 'report/index.html'}\n"


def test_only_what_rests_on_a_change_runs_again(project: Path, ran: Ran, capsys: pytest.CaptureFixture[str]) -> None:
    change(project, "#most_frames: 5000", "most_frames: 10")
    assert ran() == (0, ["report"])
    change(project, "    #mine:", "    copying: baseline:copied-question\n    #mine:")
    assert ran() == (0, ["evaluate:copying", "compare", "report"])
    change(project, "#workers: null", "workers: 1")
    assert ran() == (0, [])
    # The chains come out the same, so that nothing that rests on them is made again.
    change(project, "#attempts: 2", "attempts: 1")
    assert run(["run", "--plan", str(project)]) == 0
    planned = capsys.readouterr().out
    assert "film: done, would not run" in planned
    assert "construct: now --attempts 1" in planned
    assert "$ reeltalk construct benchmarks/kitchen" in planned
    assert "evaluate:history: runs again if construct changes what it reads" in planned
    assert "1 of 7 steps would run, and 5 more if their input changes" in planned
    assert ran() == (0, ["construct"])


def test_the_plan_forecasts_what_a_model_is_asked(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = project.read_text(encoding="utf-8")
    change(
        project,
        "    #mine:",
        "    mine: {model: qwen, price_in: 1, price_out: 2, base_url: 'http://localhost:9/v1'}\n    #mine:",
    )
    try:
        assert run(["run", "--plan", str(project)]) == 0
    finally:
        project.write_text(text, encoding="utf-8")
    planned = capsys.readouterr().out
    assert "evaluate:mine: not run yet" in planned
    assert re.search(r"[1-9]\d* requests", planned)


def test_a_failing_step_stops_and_the_next_run_goes_on_there(
    project: Path, ran: Ran, capsys: pytest.CaptureFixture[str]
) -> None:
    change(project, "    #mine:", "    theirs: answers:nowhere\n    #mine:")
    assert ran() == (2, ["evaluate:theirs"])
    assert run(["status", str(project)]) == 1
    assert re.search(r"evaluate:theirs +- +failed +failed when it was last run", capsys.readouterr().out)
    change(project, "theirs: answers:nowhere", "theirs: baseline:reference")
    assert ran() == (0, ["evaluate:theirs", "compare", "report"])


def test_ctrl_c_stops_and_the_next_run_goes_on_there(project: Path, ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("reeltalk.stages.reporting.write_report", interrupt)
        assert ran("--force", "report") == (130, ["report"])
    assert read_records(project.parent).steps["report"].ended == "interrupted"
    # The report of before is whole and the project's own, so that it is replaced.
    assert ran() == (0, ["report"])
    assert ran() == (0, [])


def test_a_project_that_is_none_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["run", str(tmp_path)]) == 2
    assert "no such project" in capsys.readouterr().err
    assert run(["new", str(tmp_path / "two words")]) == 2
    assert run(["new", str(tmp_path / "kitchen")]) == 0
    assert run(["new", str(tmp_path / "kitchen")]) == 2
    assert "exists; choose another name" in capsys.readouterr().err
