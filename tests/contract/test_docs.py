"""The documentation says what the code does."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import doc_links
import pytest
import write_pictures
import write_reference

from reeltalk.formats import FORMATS, TRAINING
from reeltalk.metrics.scoring import METRICS, TEXT_METRICS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.mark.parametrize("page", sorted(write_reference.PAGES))
def test_reference_pages_follow_from_the_code(page: str) -> None:
    written = (DOCS / "reference" / page).read_text(encoding="utf-8")
    assert written == write_reference.PAGES[page](), "run: python tools/write_reference.py"


def test_every_metric_is_documented_and_has_a_title() -> None:
    page = (DOCS / "reference" / "protocols.md").read_text(encoding="utf-8")
    for produced in METRICS.values():
        for name in produced:
            assert f"`{name}`" in page
            assert TEXT_METRICS[name].title


def test_every_format_has_a_page() -> None:
    pages = {path.stem for path in (DOCS / "reference" / "formats").glob("*.md")}
    # All layouts of training data stand on one page.
    assert pages == {*FORMATS, next(iter(TRAINING))}


def test_the_site_lists_every_page() -> None:
    listed = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    assert listed == {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}


def test_the_readme_draws_the_packages_that_there_are() -> None:
    tree = (ROOT / "README.md").read_text(encoding="utf-8").partition("└── src/reeltalk/")[2].partition("```")[0]
    drawn = re.findall(r"^    [├└]── (\S+?)/? ", tree, re.MULTILINE)
    there = {path.name for path in (ROOT / "src" / "reeltalk").iterdir() if path.suffix != ".typed"}
    # What trains may be left out of an installation, and tests pass all the same.
    assert set(drawn) == (there | {"streaming"}) - {"__init__.py", "__main__.py", "__pycache__"}


def test_the_page_of_installation_lists_every_extra_with_its_purpose() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (DOCS / "installation.md").read_text(encoding="utf-8").partition("| Extra |")[2].partition("\n\n")[0]
    listed = dict(re.findall(r"^\| `([\w-]+)` \| (.+?) \|", page, re.MULTILINE))
    assert set(listed) == set(project["optional-dependencies"])


def test_terms_of_the_glossary_are_sorted_and_explained_in_at_most_three_sentences() -> None:
    entries = re.findall(
        r"^\*\*(.+)\*\*\n:   (.+(?:\n    .+)*)", (DOCS / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    terms = [term.lower() for term, _ in entries]
    assert len(terms) > 40
    assert terms == sorted(set(terms))
    sentences = {term: len(re.findall(r"[.](?= [A-Z\[`]|\n|$)", text)) for term, text in entries}
    assert {term: count for term, count in sentences.items() if not 1 <= count <= 3} == {}


def test_the_readme_is_short_and_begins_with_two_pictures() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120
    shown = re.findall(r'(?:src|srcset)="(\S+?)"', "\n".join(lines[:12]))
    assert len(shown) == 4, "two pictures, each for light and for dark pages"
    assert all((ROOT / path).stat().st_size <= 250_000 for path in shown)


@pytest.mark.parametrize("name", sorted(write_pictures.PICTURES))
def test_pictures_are_those_that_are_drawn(name: str) -> None:
    drawn = (DOCS / "images" / f"{name}.svg").read_text(encoding="utf-8")
    assert drawn == write_pictures.PICTURES[name](), "run: python tools/write_pictures.py"


def test_no_link_of_a_page_is_broken() -> None:
    assert list(doc_links.broken_in_pages()) == []


def test_no_link_of_the_site_is_broken(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    site = tmp_path / "build" / "docs"
    assert len(list(site.rglob("*.html"))) > len(list(DOCS.rglob("*.md")))
    assert list(doc_links.broken_in_site(site)) == []
    (site / "index.html").write_text('<a href="tutorial/#nowhere">a</a><img src="nowhere.png">', encoding="utf-8")
    assert [found.rpartition(": ")[2] for found in doc_links.broken_in_site(site)] == [
        "no such section",
        "there is no such file",
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("[a](nowhere.md)", "there is no such file"),
        ("[a](tutorial.md#nowhere)", "tutorial.md has no such section"),
        ("![a](images/nowhere.svg)", "there is no such file"),
        ("[a](../README.md)", "the site has no file outside docs"),
        ("[a](htps://example.org)", "htps is no scheme of a page"),
        ("see https://nowhere/x", "the address names no host"),
    ],
)
def test_broken_links_are_found(line: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (tmp_path / "README.md").write_text("# Read me\n", encoding="utf-8")
    (docs / "tutorial.md").write_text("# Tutorial\n", encoding="utf-8")
    (docs / "index.md").write_text(f"# Home\n\n{line}\n", encoding="utf-8")
    monkeypatch.setattr(doc_links, "ROOT", tmp_path)
    monkeypatch.setattr(doc_links, "DOCS", docs)
    assert [found.rpartition(": ")[2] for found in doc_links.broken_in_pages()] == [problem]
