"""A module is read in one sitting: it has one reason to change, and so it stays short."""

from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "reeltalk"
MOST_LINES = 450


def test_no_module_is_long() -> None:
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert lines
    assert {path.relative_to(SOURCE).as_posix(): n for path, n in lines.items() if n > MOST_LINES} == {}
