"""METEOR's process: what it says when something is missing or dies. A script stands in for a Java that fails."""

import stat
import sys
from pathlib import Path

import pytest

from reeltalk.errors import MissingToolError, ReeltalkError
from reeltalk.metrics.meteor import MeteorProcess


def a_program(path: Path, body: str) -> str:
    path.write_text(f"#!{sys.executable}\n{body}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_missing_java_is_named_with_advice(tmp_path: Path) -> None:
    with pytest.raises(MissingToolError, match="needs Java, which was not found; install"):
        MeteorProcess(jar=tmp_path / "meteor.jar", java="no-such-java")


def test_a_missing_jar_is_named_with_advice(tmp_path: Path) -> None:
    java = a_program(tmp_path / "java", "")
    with pytest.raises(MissingToolError, match=r"meteor\.jar does not exist; run 'pip install pycocoevalcap'"):
        MeteorProcess(jar=tmp_path / "meteor.jar", java=java)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("import sys; sys.exit('out of heap')", "stopped after 0 of 1 replies: out of heap"),
        ("input(); print('what?', flush=True)", "replied 'what\\?' in place of 23 numbers"),
        ("input(); print('1 ' * 23, flush=True); input(); print('0.5', flush=True)", "stopped after 1 of 2 replies"),
    ],
)
def test_a_process_that_dies_or_babbles_is_an_error_that_says_so(tmp_path: Path, body: str, message: str) -> None:
    (tmp_path / "meteor.jar").write_bytes(b"")
    java = a_program(tmp_path / "java", body)
    with (
        MeteorProcess(jar=tmp_path / "meteor.jar", java=java) as meteor,
        pytest.raises(ReeltalkError, match=message),
    ):
        meteor.statistics(["a dog"], [["a dog"]])
