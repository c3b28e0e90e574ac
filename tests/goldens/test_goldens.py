"""Nothing that people get has changed by accident: the goldens, written again and compared."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

WRITE = Path(__file__).with_name("write.py")
QUICK = ("film", "layouts")
"""Parts that take a few seconds each."""


def differences(shared: Path, *parts: str) -> str:
    """What the comparison prints: nothing where all is as it was."""
    environment = os.environ | {"REELTALK_SHARED": str(shared)}
    command = [sys.executable, str(WRITE), "--check", *parts]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else f"{done.stdout}\n{done.stderr[-3000:]}"


@pytest.mark.parametrize("part", QUICK)
def test_a_quick_part_is_as_it_was(part: str, tmp_path: Path) -> None:
    assert differences(tmp_path, part) == ""


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", ["review", "judging", "analysis", "vdact", "gates", "household", "demo"])
def test_a_long_part_is_as_it_was(part: str, shared: Path) -> None:
    assert differences(shared, part) == ""
