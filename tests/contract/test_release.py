"""A release is made of committed files that name one version, and of nothing else."""

import re
import shutil
import subprocess
from datetime import date
from pathlib import Path

import licences
import pytest
import release
from lock import RUNTIME
from places import ROOT

from reeltalk import __version__

TODAY = date(2026, 12, 1)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The files of this repository that name the version, committed."""
    for file in (ROOT / "CITATION.cff", ROOT / "CHANGELOG.md", *ROOT.glob("packages/*/pyproject.toml")):
        copy = tmp_path / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    name = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "all")


def test_every_file_of_this_repository_names_one_version() -> None:
    assert list(release.wrong_versions(ROOT, __version__)) == []


def test_each_file_and_requirement_with_another_version_is_named(tree: Path) -> None:
    file = tree / "packages" / "reeltalk-household" / "pyproject.toml"
    file.write_text(file.read_text().replace(f"reeltalk-build=={__version__}", "reeltalk-build==9.9"))
    (tree / "CITATION.cff").write_text("title: reeltalk\n")
    assert list(release.wrong_versions(tree, __version__)) == [
        f"CITATION.cff names version none instead of {__version__}",
        f"a requirement in packages/reeltalk-household/pyproject.toml names version 9.9 instead of {__version__}",
    ]


@pytest.mark.parametrize(
    ("heading", "fault"),
    [
        ("## 1.2.3 - 2026-12-01", None),
        ("## 1.2.3", "its date is missing"),
        ("## 1.2.3 - soon", "its date is soon"),
        ("## 1.2.3 - 2026-12-02", "its date 2026-12-02 is in the future"),
        ("## Unreleased\n\n## 1.2.3 - 2026-12-01", "its first section is Unreleased"),
        ("", "its first section is missing"),
    ],
)
def test_the_changelog_begins_with_the_version_and_a_date(heading: str, fault: str | None, tmp_path: Path) -> None:
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n\nText.\n")
    found = list(release.wrong_changelog(tmp_path, "1.2.3", TODAY))
    wanted = "CHANGELOG.md: write `## 1.2.3 - 2026-12-01` above the changes of this version"
    assert found == ([] if fault is None else [f"{wanted}; {fault}"])


def test_changes_that_are_not_committed_and_a_tag_elsewhere_are_named(tree: Path) -> None:
    assert list(release.wrong_in_git(tree, "1.2.3")) == []
    git(tree, "tag", "v1.2.3")
    assert list(release.wrong_in_git(tree, "1.2.3")) == [], "the tag of this commit"
    commit(tree)
    (tree / "new.py").touch()
    (tree / "CITATION.cff").unlink()
    assert list(release.wrong_in_git(tree, "1.2.3")) == [
        "not committed: CITATION.cff",
        "not committed: new.py",
        "the tag v1.2.3 is on another commit: raise the version",
    ]


def test_an_sbom_lists_what_running_needs_as_the_lock_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("check_package.DIST", tmp_path)
    for name in licences.PACKAGES:
        (tmp_path / f"{name.replace('-', '_')}-{__version__}-py3-none-any.whl").write_text(name)
    lines = release.components()
    named = re.findall(r"^(\S+)==", lines, re.MULTILINE)
    assert named == sorted(named)
    assert {*licences.PACKAGES} | {"av", "numpy", "sqlalchemy"} <= {*named}
    assert {"pytest", "torch", "hatchling"} & {*named} == set()
    locked = (ROOT / RUNTIME).read_text(encoding="utf-8")
    others = re.sub(r"^reeltalk.*\n", "", lines, flags=re.MULTILINE)
    assert all(line in locked for line in others.splitlines())
