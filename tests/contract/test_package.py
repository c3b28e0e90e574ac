"""What is built to be installed holds all that is needed and nothing else."""

from pathlib import Path

import check_package
import pytest


def test_wheel_and_archive_are_whole_and_their_metadata_holds(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(check_package, "DIST", tmp_path / "dist")
    monkeypatch.setattr("sys.argv", ["check_package.py", "--without-use"])
    assert check_package.main() == 0
    assert capfd.readouterr().out.count("PASSED") == 10
