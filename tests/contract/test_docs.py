"""The documentation says what the code does."""

import re
import shlex
from pathlib import Path

import pytest
import write_reference

from reeltalk.cli import run
from reeltalk.formats import FORMATS, TRAINING
from reeltalk.metrics.scoring import METRICS
from reeltalk.report.columns import METRIC_TITLES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("page", sorted(write_reference.PAGES))
def test_reference_pages_follow_from_the_code(page: str) -> None:
    written = (DOCS / "reference" / page).read_text(encoding="utf-8")
    assert written == write_reference.PAGES[page](), "run: python tools/write_reference.py"


def test_every_metric_is_documented_and_has_a_title() -> None:
    page = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
    for produced in METRICS.values():
        for name in produced:
            assert f"`{name}`" in page or name.startswith("bleu_")
            assert name in METRIC_TITLES


def test_every_format_has_a_page() -> None:
    pages = {path.stem for path in (DOCS / "reference" / "formats").glob("*.md")}
    # All layouts of training data stand on one page.
    assert pages == {*FORMATS, next(iter(TRAINING))}


def test_the_site_lists_every_page_and_links_resolve() -> None:
    listed = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert listed == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    for path in DOCS.rglob("*.md"):
        for target in re.findall(r"\]\(([^)#]+\.md)[^)]*\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).is_file(), f"{path} links to {target}"


def test_the_tutorial_runs_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    commands = re.findall(r"^\$ reeltalk (.+)$", (DOCS / "tutorial.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) >= 6
    for command in commands:
        assert run(shlex.split(command)) == 0, command
    assert (tmp_path / "build/tutorial/site/index.html").is_file()
    assert (tmp_path / "build/tutorial/release/README.md").is_file()
