"""A package of a stranger, `tests/plugin_example`, adds to every command what its entry points name.

A package that cannot be imported harms no command that does not name it, and names of packages of ours that are not
installed say which package to install. All of it is seen in a process of its own, which can import what it shall.
"""

import json
import os
import shlex
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

import reeltalk
from reeltalk.plugins import GROUPS, OURS
from reeltalk.store.runs import read_run

ROOT: Final = Path(__file__).parents[2]
EACH_COMMAND: Final = """\
import contextlib, io, json, runpy, sys, traceback

done = {}
for command, words in json.loads(sys.argv[1]).items():
    out, problem, code = io.StringIO(), io.StringIO(), None
    sys.argv = ["reeltalk", *words]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(problem):
        try:
            runpy.run_module("reeltalk", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            code = end.code
        except BaseException:
            traceback.print_exc()
    done[command] = [code, out.getvalue(), problem.getvalue()]
print(json.dumps(done))
"""
"""Does what `python -m reeltalk` does, for one command after the other, which imports everything once."""
INTERVIEWS: Final = """\
Video: kitchen
Q: What does she pour?
A: Milk.
Q: Into what?
A: A cup on the table.
Video: garden
Q: Who comes?
A: Anna.
"""
QUESTIONS: Final = "video,question,answer\nkitchen,What does she pour?,Milk.\ngarden,Who comes?,Anna.\n"
REASON: Final = "ModuleNotFoundError: No module named 'a_package_that_is_not_there'"
LATE: Final = """\
from reeltalk.plugins import Command

COMMAND = Command("broken_example:run", "Comes too late.")


def function() -> None:
    pass
"""
PLAYED: Final = "evaluate bench --policy none --metrics none --out"
IMPORTED: Final = "import qa questions.csv bench"
ANSWERED: Final = f"{PLAYED} run --model baseline:constant --protocols match"
NAMES_NOTHING_BROKEN: Final = ("import qa questions.csv questions", "report run --out site-beside", "--help")
NAMES_WHAT_IS_BROKEN: Final = (
    "broken",
    "help broken",
    "import broken questions.csv never",
    "export broken bench never",
    f"{PLAYED} never --model broken",
    f"{PLAYED} never --model baseline:broken",
    f"{PLAYED} never --model baseline:constant --protocols broken",
    f"{PLAYED} never --model baseline:constant --preset broken",
)
NAMES_WHAT_IS_NOT_INSTALLED: Final = {
    "construct bench": ("'reeltalk construct'", "reeltalk-build"),
    "help review": ("'reeltalk review'", "reeltalk-review"),
    "demo --out never": ("'reeltalk demo'", "reeltalk-household"),
    "import vdact questions.csv never": ("the layout vdact", "reeltalk-build"),
    "export vdact bench never": ("the layout vdact", "reeltalk-build"),
    f"{PLAYED} never --model mini": ("the model mini", "reeltalk-household"),
    f"{PLAYED} never --model oracle": ("the model oracle", "reeltalk-household"),
    f"{PLAYED} never --model transformers:x": ("the model transformers", "reeltalk-streaming"),
    "judge run --protocols clair --judge transformers:x --out never": ("the model transformers", "reeltalk-streaming"),
}


class Done(NamedTuple):
    """What a command ended with."""

    code: int | None
    """None if it raised an error."""
    out: str
    problem: str
    """What it wrote on standard error."""


def each_done(folder: Path, commands: tuple[str, ...], packages: Path, *, alone: bool = False) -> dict[str, Done]:
    """Run commands of `reeltalk` in a new process.

    Args:
        folder: Its current folder.
        commands: The words of each after `reeltalk`.
        packages: A folder of packages that it can import.
        alone: Whether it can import these only, and none of this environment.
    """
    asked = json.dumps({command: shlex.split(command) for command in commands})
    done = subprocess.run(
        # Without `site`, the packages of this environment are out of reach.
        [sys.executable, *(["-S"] if alone else []), "-c", EACH_COMMAND, asked],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(packages), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return {command: Done(*ended) for command, ended in json.loads(done.stdout).items()}


def only_sentence(done: Done) -> str:
    """What a command that a user must change says."""
    assert (done.code, done.out) == (2, ""), done
    lines = done.problem.splitlines()
    assert len(lines) == 1, done.problem
    assert lines[0].startswith("reeltalk: ")
    return lines[0].removeprefix("reeltalk: ")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the example's commands run."""
    folder = tmp_path_factory.mktemp("work")
    (folder / "talks.txt").write_text(INTERVIEWS, encoding="utf-8")
    (folder / "wrong.txt").write_text("Video: kitchen\nQ: Who comes?\nAnna.\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def done(work: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Done]:
    """What commands do if the example is installed, by pip from its folder."""
    packages = tmp_path_factory.mktemp("packages")
    offline = ("--isolated", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    source = ROOT / "tests" / "plugin_example"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", *offline, "--no-compile")
    subprocess.run([*pip, "--target", str(packages), str(source)], check=True)
    commands = (
        "--help",
        "import interview talks.txt bench",
        "import interview wrong.txt never",
        "export interview bench exported",
        f"{PLAYED} run --model baseline:shortest --protocols brevity",
        f"{PLAYED} never --model baseline:longest",
        f"{PLAYED} never --model say",
        "evaluate bench --preset brief --model 'say:Yes, I do' --out said",
        "longest run",
        "longest bench",
        "report run --out site --tables csv",
        "help longest",
        "import --help",
        "evaluate --help-all",
    )
    return each_done(work, commands, packages)


@pytest.fixture(scope="module")
def done_beside_broken(
    done: Mapping[str, Done], work: Path, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Done]:
    """What commands do if a package is installed that adds to every group what cannot be imported.

    The benchmark and the run are those of the example, which is not installed any more.
    """
    packages = tmp_path_factory.mktemp("broken")
    about = packages / "broken_example-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-example\nVersion: 1.0\n", encoding="utf-8")
    groups = {group: ["broken = broken_example:THING"] for group in GROUPS}
    groups["reeltalk.commands"] += ["late = late_example:COMMAND", "other = late_example:function"]
    lines = [line for group, points in groups.items() for line in (f"[{group}]", *points)]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (packages / "broken_example.py").write_text("import a_package_that_is_not_there\n", encoding="utf-8")
    (packages / "late_example.py").write_text(LATE, encoding="utf-8")
    (work / "questions.csv").write_text(QUESTIONS, encoding="utf-8")
    return each_done(work, (*NAMES_NOTHING_BROKEN, "doctor", *NAMES_WHAT_IS_BROKEN, "late run", "other"), packages)


@pytest.fixture(scope="module")
def done_alone(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Done]:
    """What commands do if of our packages `reeltalk` alone is installed."""
    packages, folder = tmp_path_factory.mktemp("alone"), tmp_path_factory.mktemp("bare")
    found = {path for key in ("purelib", "platlib") for path in Path(sysconfig.get_path(key)).iterdir()}
    own = {path for path in found if path.name.startswith("reeltalk")}
    about = {path for path in own if path.name.startswith("reeltalk-") and path.suffix == ".dist-info"}
    for path in {*found - own, *about, Path(reeltalk.__file__).parent}:
        (packages / path.name).symlink_to(path)
    (folder / "questions.csv").write_text(QUESTIONS, encoding="utf-8")
    commands = (IMPORTED, ANSWERED, "--help", *NAMES_WHAT_IS_NOT_INSTALLED)
    return each_done(folder, commands, packages, alone=True)


def test_the_command_is_listed_and_runs(done: Mapping[str, Done]) -> None:
    assert done["longest run"] == (0, "shortest: Anna.\n", "")
    assert "bench is not a run" in only_sentence(done["longest bench"])
    listed = done["--help"].out
    # Behind our own commands of its group.
    assert listed.index("compare") < listed.index("Print the longest answer of each model.") < listed.index("Projects")
    own = done["help longest"].out
    assert own.startswith("Usage: reeltalk longest [OPTIONS] RUN")
    assert "Folder that reeltalk evaluate wrote." in own


def test_the_layout_is_listed_and_comes_back_as_it_was(done: Mapping[str, Done], work: Path) -> None:
    assert done["import interview talks.txt bench"] == (0, "import interview: 2 videos, 2 dialogues\n", "")
    assert "wrong.txt:3" in only_sentence(done["import interview wrong.txt never"])
    assert done["export interview bench exported"].code == 0
    assert (work / "exported" / "interviews.txt").read_text(encoding="utf-8") == INTERVIEWS
    assert "Layout: avsd, dramaqa, folder, hub, interview, mt-video-bench" in done["import --help"].out


def test_the_baseline_plays_and_the_judge_scores(done: Mapping[str, Done], work: Path) -> None:
    played = done[f"{PLAYED} run --model baseline:shortest --protocols brevity"]
    assert played.code == 0, played
    assert "Brevity (%)" in played.out
    assert "shortest (baseline)  100.0 %" in played.out
    run = read_run(work / "run")
    rows = [row for row in run.judged("brevity") if row.model == "shortest"]
    assert [(row.criterion, row.value) for row in rows] == [("brevity", 1.0)] * 3
    assert [row.explanation for row in rows if row.unit_id == "interview-2"] == ["1 words, reference 1"]
    # A baseline learns nothing from the video that it is asked about.
    answers = {turn.text for turn in run.answers() if (turn.model, turn.unit_id) == ("shortest", "interview-2")}
    assert answers == {"Milk."}
    assert "shortest" in only_sentence(done[f"{PLAYED} never --model baseline:longest"])


def test_the_judge_and_the_preset_are_listed_with_ours(done: Mapping[str, Done]) -> None:
    text = " ".join(done["evaluate --help-all"].out.replace("│", " ").split())
    assert "brevity Each answer by itself: whether it is as short as its reference, 0 to 1. Needs no model." in text
    assert "[choices: svbench, mt-video-bench, vdact, dramaqa, brief]" in text
    assert "brevity for preset brief" in text


def test_the_model_plays_by_the_preset(done: Mapping[str, Done], work: Path) -> None:
    assert "say needs words" in only_sentence(done[f"{PLAYED} never --model say"])
    played = done["evaluate bench --preset brief --model 'say:Yes, I do' --out said"]
    assert played.code == 0, played
    run = read_run(work / "said")
    assert {turn.text for turn in run.answers() if turn.model != "empty"} == {"Yes, I do"}
    signatures = [row.signature for row in run.summary if row.metric == "brevity"]
    assert any("preset:brief" in signature and "say:Yes, I do" in signature for signature in signatures), signatures


def test_the_page_and_the_judge_stand_in_the_report(done: Mapping[str, Done], work: Path) -> None:
    assert done["report run --out site --tables csv"] == (0, "report: site/index.html\n", "")
    site = work / "site"
    pages = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    link = '<a href="answer-lengths.html">Answer lengths</a>'
    assert pages["index.html"].index(">Leaderboard<") < pages["index.html"].index(link)
    assert '<tr><th scope="row">shortest</th><td>1.0</td><td>1</td></tr>' in pages["answer-lengths.html"]
    assert "shortest,1.0,1" in (site / "tables" / "answer-lengths-words.csv").read_text(encoding="utf-8")
    assert {"index.html", "numbers.html", "turns.html"} <= {name for name, text in pages.items() if "Brevity" in text}


def test_what_is_broken_and_not_named_is_left_out(done_beside_broken: Mapping[str, Done]) -> None:
    done = done_beside_broken
    for command in NAMES_NOTHING_BROKEN:
        assert done[command].code == 0, (command, done[command])
    assert "broken" not in done["--help"].out
    line = next(line for line in done["doctor"].out.splitlines() if "additions: broken-example" in line)
    assert line.startswith("warning ")
    assert REASON in line


def test_what_is_broken_and_named_says_which_package_and_why(done_beside_broken: Mapping[str, Done]) -> None:
    told = {command: only_sentence(done_beside_broken[command]) for command in NAMES_WHAT_IS_BROKEN}
    why = f"broken-example adds broken = broken_example:THING, which cannot be imported: {REASON}"
    assert told == dict.fromkeys(NAMES_WHAT_IS_BROKEN, why)


def test_a_broken_command_says_why_when_it_is_used(done_beside_broken: Mapping[str, Done]) -> None:
    done = done_beside_broken
    assert "Comes too late." in done["--help"].out
    why = f"broken-example adds late = broken_example:run, which cannot be imported: {REASON}"
    assert only_sentence(done["late run"]) == why
    assert only_sentence(done["other"]) == "broken-example adds other = late_example:function, which is no Command"


def test_a_name_of_a_package_of_ours_says_what_to_install(done_alone: Mapping[str, Done]) -> None:
    for command in (IMPORTED, ANSWERED):
        assert done_alone[command].code == 0, (command, done_alone[command])
    told = {command: only_sentence(done_alone[command]) for command in NAMES_WHAT_IS_NOT_INSTALLED}
    assert told == {
        command: f"{purpose} needs the package '{package}'; install it with: pip install {package}"
        for command, (purpose, package) in NAMES_WHAT_IS_NOT_INSTALLED.items()
    }


def test_reeltalk_alone_lists_its_own_commands_only(done_alone: Mapping[str, Done]) -> None:
    listed = done_alone["--help"]
    assert (listed.code, listed.problem) == (0, "")
    assert "evaluate" in listed.out
    assert "construct" not in listed.out


def test_the_table_of_our_packages_is_that_of_their_entry_points() -> None:
    found = {}
    for path in (ROOT / "packages").glob("*/pyproject.toml"):
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        points = project.get("entry-points", {})
        found[project["name"]] = {group: set(names) for group, names in points.items() if group.startswith("reeltalk.")}
    assert found.pop("reeltalk") == {}
    assert found == {package: {group: set(names) for group, names in own.items()} for package, own in OURS.items()}
    assert {group for own in found.values() for group in own} <= set(GROUPS)
