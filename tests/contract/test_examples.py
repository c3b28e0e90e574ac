"""Every how-to names its script in `examples/`, and a test runs it."""

import ast
import re
import sys
from pathlib import Path

import pytest
from places import PACKAGES, ROOT

PAGES = sorted(PACKAGES.glob("*/docs/how-to/*.md"))
NOT_OF_A_PAGE = {"first_leaderboard", "answer_questions", "train_with_trl"}
"""Scripts that other pages name."""


def scripts_of(page: Path) -> set[str]:
    """The scripts that a page names below its heading, as "In Python: `examples/judge.py`.\""""
    head = "\n".join(page.read_text(encoding="utf-8").splitlines()[:4])
    return set(re.findall(r"`examples/(\w+)\.py`", head))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_how_to_names_its_script(page: Path) -> None:
    assert scripts_of(page), "below the heading: In Python: `examples/…`"


def test_every_script_is_of_a_page_and_is_run() -> None:
    scripts = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert scripts - NOT_OF_A_PAGE == set[str]().union(*map(scripts_of, PAGES))
    tests = (ROOT / "tests" / "integration" / "test_examples.py").read_text(encoding="utf-8")
    called = {name for how in ("example", "example_alone") for name in scripts if f'{how}("{name}", ' in tests}
    assert sorted(scripts - NOT_OF_A_PAGE - called) == []


def test_no_script_hides_a_module_of_python() -> None:
    assert not {path.stem for path in (ROOT / "examples").glob("*.py")} & sys.stdlib_module_names


def test_scripts_are_short_and_say_how_they_are_run() -> None:
    for path in sorted((ROOT / "examples").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if path.stem not in NOT_OF_A_PAGE:
            assert f"python examples/{path.name} " in (ast.get_docstring(ast.parse(text)) or ""), path.name
            assert len(text.splitlines()) <= 65, path.name
            assert "reeltalk.cli" not in text, path.name
