"""METEOR's process: what it says when something is missing or dies. A script stands in for a Java that fails."""

import stat
import sys
from pathlib import Path

import pytest

from reeltalk.errors import MissingToolError, ReeltalkError
from reeltalk.metrics import meteor as meteor_module
from reeltalk.metrics.meteor import MeteorError, MeteorProcess


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


TRACE = r"""import sys; input()
sys.exit("Exception in thread main OutOfMemoryError\n\tat Aligner.align\n\tat Meteor.main")"""


def test_an_item_that_kills_java_is_named_with_the_exception(tmp_path: Path) -> None:
    (tmp_path / "meteor.jar").write_bytes(b"")
    java = a_program(tmp_path / "java", TRACE)
    with (
        MeteorProcess(jar=tmp_path / "meteor.jar", java=java) as meteor,
        pytest.raises(
            MeteorError, match=r"0 of 1 replies: Exception .*OutOfMemoryError; it was at: 'SCORE \|\|\| b \|"
        ),
    ):
        meteor.statistics(["a a a"], [["b"]])


def test_a_process_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor_module, "REPLY_TIMEOUT_S", 0.5)
    (tmp_path / "meteor.jar").write_bytes(b"")
    java = a_program(tmp_path / "java", "import time; time.sleep(60)")
    with (
        MeteorProcess(jar=tmp_path / "meteor.jar", java=java) as meteor,
        pytest.raises(MeteorError, match="it was stopped after 1 s"),
    ):
        meteor.statistics(["a dog"], [["a dog"]])


def test_a_program_that_is_no_program_is_named(tmp_path: Path) -> None:
    (tmp_path / "meteor.jar").write_bytes(b"")
    java = tmp_path / "java"
    java.write_bytes(b"\x00\x01")
    java.chmod(0o755)
    with (
        pytest.raises(MeteorError, match=r"could not be started: .*java.*; is .*/java a Java runtime\?"),
        MeteorProcess(jar=tmp_path / "meteor.jar", java=str(java)),
    ):
        raise AssertionError("not reached")


ECHO = """import sys
for line in sys.stdin.buffer:
    print(line.decode().strip().replace(" ", "_"), flush=True)
"""


def test_what_would_break_the_protocol_is_taken_out_of_texts(tmp_path: Path) -> None:
    """Line ends, the separator, and half a surrogate pair, which has no UTF-8."""
    (tmp_path / "meteor.jar").write_bytes(b"")
    java = a_program(tmp_path / "java", ECHO)
    with (
        MeteorProcess(jar=tmp_path / "meteor.jar", java=java) as meteor,
        pytest.raises(MeteorError, match=r"replied 'SCORE_\|\|\|_a_b_\|\|\|_c_d_e_\?' in place"),
    ):
        meteor.statistics(["c ||| d\ne \ud800"], [["a\n\tb"]])
