"""Whole files and folders: what a killed process left is used again, and never that of one that still writes."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from launched_runs import Launcher

from reeltalk.errors import BenchmarkError
from reeltalk.store.atomic import write_bytes, writing, writing_directory

WRITER = """
import os, pathlib, signal, sys
from reeltalk.store import atomic

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

kind, place = sys.argv[1], pathlib.Path(sys.argv[2])
if kind == "file":
    with atomic.writing(place) as file:
        file.write(b"half")
        file.flush()
        die()
with atomic.writing_directory(place, overwrite=True) as folder:
    (folder / "new").write_text("half")
    if kind == "folder":
        die()
    pathlib.Path.rename, renamed = lambda one, other: (renamed(one, other), die()), pathlib.Path.rename
"""


def killed(runs: Launcher, folder: Path, kind: str, place: Path) -> None:
    """Write in a process that is killed; `renaming` kills it between the two renames of a replacement."""
    (folder / "killed_writer.py").write_text(WRITER)
    with runs.start(kind, place, module="killed_writer", cwd=folder, stderr=subprocess.DEVNULL) as run:
        assert run.wait(60) == -signal.SIGKILL


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def test_a_file_of_a_killed_process_is_written_anew(runs: Launcher, tmp_path: Path, folder: Path) -> None:
    killed(runs, tmp_path, "file", folder / "a.csv")
    assert len(names(folder)) == 1
    write_bytes(folder / "a.csv", b"whole")
    assert names(folder) == ["a.csv"]
    assert (folder / "a.csv").read_bytes() == b"whole"


def test_a_folder_of_a_killed_process_is_written_anew(runs: Launcher, tmp_path: Path, folder: Path) -> None:
    killed(runs, tmp_path, "folder", folder / "site")
    assert len(names(folder)) == 1
    with writing_directory(folder / "site") as site:
        assert names(site) == []
        (site / "page").touch()
    assert names(folder) == ["site"]
    assert names(folder / "site") == ["page"]


def test_a_replacement_that_is_killed_between_its_renames_loses_nothing(
    runs: Launcher, tmp_path: Path, folder: Path
) -> None:
    with writing_directory(folder / "site") as site:
        (site / "old").touch()
    killed(runs, tmp_path, "renaming", folder / "site")
    assert not (folder / "site").exists()
    with pytest.raises(BenchmarkError, match="exists and is not empty"), writing_directory(folder / "site"):
        pass
    assert names(folder / "site") == ["old"]
    with writing_directory(folder / "site", overwrite=True) as site:
        (site / "new").touch()
    assert names(folder) == ["site"]
    assert names(folder / "site") == ["new"]


def test_ctrl_c_between_the_renames_brings_the_old_folder_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with writing_directory(folder / "site") as site:
        (site / "old").touch()
    rename = Path.rename

    def interrupted(one: Path, other: Path) -> Path:
        if one.name == "site":
            rename(one, other)
            raise KeyboardInterrupt
        return rename(one, other)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", interrupted)
        with pytest.raises(KeyboardInterrupt), writing_directory(folder / "site", overwrite=True):
            pass
    assert names(folder) == ["site"]
    assert names(folder / "site") == ["old"]


def test_two_that_write_the_same_file_do_not_mix(folder: Path) -> None:
    with writing(folder / "a") as one:
        one.write(b"first")
        write_bytes(folder / "a", b"second")
        assert (folder / "a").read_bytes() == b"second"
        one.write(b", whole")
    assert names(folder) == ["a"]
    assert (folder / "a").read_bytes() == b"first, whole"


def test_a_partial_link_of_a_stranger_is_not_followed(folder: Path) -> None:
    with writing_directory(folder / "site") as site:
        partial = site.name
    (folder / "precious").mkdir()
    (folder / "precious" / "file").touch()
    os.symlink(folder / "precious", folder / partial)
    with writing_directory(folder / "site", overwrite=True) as site:
        (site / "new").touch()
    assert names(folder / "precious") == ["file"]
    assert names(folder / "site") == ["new"]


def test_a_partial_file_that_is_linked_elsewhere_is_not_written_to(folder: Path) -> None:
    with writing(folder / "a") as file:
        partial = Path(os.readlink(f"/proc/self/fd/{file.fileno()}"))
    (folder / "precious").write_text("mine")
    os.link(folder / "precious", partial)
    write_bytes(folder / "a", b"whole")
    assert (folder / "precious").read_text() == "mine"
    assert names(folder) == ["a", "precious"]
