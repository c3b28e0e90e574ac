"""The documentation says what the code does."""

import csv
import itertools
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import doc_links
import performance_page
import pytest
import reference_pages
import report_replays
import write_pictures
from assemble_docs import INCLUDES, assemble
from places import PACKAGES, REVIEW, ROOT, SOURCES, doc_page
from playwright.sync_api import Browser
from search_page import Entry, search_page
from walk_report import find_axe_problems

from reeltalk.cli import app
from reeltalk.cli.commands import COMMANDS
from reeltalk.formats import FORMATS, TRAINING_LAYOUTS
from reeltalk.metrics.scoring import METRICS, TEXT_METRICS
from reeltalk.plugins import GROUPS
from reeltalk_build.cli.projects import command_of

DOCS = ROOT / "docs"


def test_every_metric_is_documented_and_has_a_title() -> None:
    listed = {entry.name for entry in reference_pages.protocols_and_metrics()}
    for produced in METRICS.values():
        for name in produced:
            assert f"metric {name}" in listed
            assert TEXT_METRICS[name].title


def test_every_command_and_each_of_its_options_can_be_searched() -> None:
    entries = {entry.name: entry for entry in reference_pages.commands()}
    assert {f"reeltalk {name}" for name in app if not name.startswith("-")} <= set(entries)
    for words in (("evaluate",), ("review", "apply"), ("world", "film")):
        told = " ".join(term for term, _ in entries[f"reeltalk {' '.join(words)}"].rows)
        flags = [option.flag for option in command_of(words).options if option.flag]
        assert flags
        assert [flag for flag in flags if flag not in told] == []


def test_a_search_page_refuses_two_entries_of_one_anchor_and_writes_texts_as_texts() -> None:
    one = Entry("a b", "Says `<script>` & [more](x.md).", [("", "Group"), ("--c", "d")])
    page = search_page("Things", "About.", [one], example="--c")
    assert '<details class="entry" id="a-b">' in page
    assert '<code>&lt;script&gt;</code> &amp; <a href="x.md">more</a>' in page
    with pytest.raises(ValueError, match="several entries have the anchors a-b"):
        search_page("Things", "About.", [one, Entry("A-B", "")], example="--c")


def test_every_format_has_a_page() -> None:
    pages = {path.stem for path in (DOCS / "reference" / "formats").glob("*.md")}
    # All layouts of training data stand on one page.
    assert pages == {*FORMATS, next(iter(TRAINING_LAYOUTS))}


def test_the_site_lists_every_page() -> None:
    listed = set(re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    folders = (DOCS, *PACKAGES.glob("*/docs"))
    written = {path.relative_to(docs).as_posix() for docs in folders for path in docs.rglob("*.md")}
    made = {f"reference/{name}" for name in reference_pages.PAGES}
    assert listed == {page for page in written if not page.startswith("includes/")} | made


def projects() -> Mapping[str, Mapping[str, Any]]:
    """What each package says of itself in its `pyproject.toml`, by its name."""
    found = [tomllib.loads(file.read_text(encoding="utf-8"))["project"] for file in PACKAGES.glob("*/pyproject.toml")]
    return {project["name"]: project for project in found}


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without the line of its titles."""
    table = text.partition(f"\n{heading}\n")[2].partition("\n## ")[0].partition("\n| --- |")[2]
    lines = itertools.takewhile(lambda line: line.startswith("|"), table.splitlines()[1:])
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def commands_of_packages() -> dict[str, set[str]]:
    """The names of the commands of each package."""
    added = {name: project.get("entry-points", {}) for name, project in projects().items()}
    found = {name: {*points.get("reeltalk.commands", ())} for name, points in added.items()}
    return found | {"reeltalk": {row[0] for group in COMMANDS.values() for row in group}}


def test_the_readme_names_the_packages_with_their_commands() -> None:
    told = {}
    for package, _, commands in rows((ROOT / "README.md").read_text(encoding="utf-8"), "## Five packages"):
        name = package.partition("]")[0].removeprefix("[")
        assert package == f"[{name}](packages/{name}/README.md)"
        told[name] = set(re.findall(r"`(\w+)`", commands))
    there = commands_of_packages()
    # The table names the commands of reeltalk that a newcomer needs.
    assert told.pop("reeltalk") < there.pop("reeltalk")
    assert told == there


def test_the_page_of_installation_lists_every_package_with_its_commands() -> None:
    page = (DOCS / "installation.md").read_text(encoding="utf-8")
    told = {name.strip("`"): commands.partition(";")[0] for name, commands, _ in rows(page, "## Packages")}
    assert {name: {*re.findall(r"`(\w+)`", commands)} for name, commands in told.items()} == commands_of_packages()


def test_the_page_of_installation_lists_every_extra_with_its_purpose() -> None:
    page = (DOCS / "installation.md").read_text(encoding="utf-8")
    listed = {name.strip("`"): purpose for name, purpose, _ in rows(page, "## Extras")}
    assert all(listed.values())
    there = {
        f"{name}[{extra}]" for name, project in projects().items() for extra in project.get("optional-dependencies", ())
    }
    assert set(listed) == there - {"reeltalk[all]"}


@pytest.mark.parametrize("package", sorted(projects()))
def test_the_readme_of_a_package_fits_a_page_and_its_picture_is_small(package: str) -> None:
    text = (PACKAGES / package / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 80
    (picture,) = re.findall(r"```mermaid\n(.*?)```", text, re.DOTALL)
    arrows = re.sub(r'"[^"]*"', "", picture)
    nodes = re.findall(r"^ +(\w+)|> *(?:\|\| *)?(\w+)", arrows, re.MULTILINE)
    assert 5 <= len({first or second for first, second in nodes}) <= 14


@pytest.mark.parametrize("package", sorted(projects()))
def test_every_file_that_the_readme_of_a_package_names_is_there(package: str) -> None:
    text = (PACKAGES / package / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.(?:py|js|toml|md|txt|html))`", text)
    places = [ROOT, REVIEW / "static", *SOURCES]
    assert len(named) > 10
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


@pytest.mark.parametrize("package", sorted({*projects()} - {"reeltalk"}))
def test_the_readme_of_a_package_lists_its_entry_points(package: str) -> None:
    text = (PACKAGES / package / "README.md").read_text(encoding="utf-8")
    told = {group.strip("`"): names for group, names in rows(text, "## Entry points")}
    points = projects()[package]["entry-points"]
    assert set(told) == set(points)
    for group, names in points.items():
        listed = re.findall(r"`([\w-]+)`", told[group].partition(", with")[0])
        assert set(listed) == set(names)


def test_pages_list_the_groups_of_entry_points_that_there_are() -> None:
    core = (PACKAGES / "reeltalk" / "README.md").read_text(encoding="utf-8")
    page = doc_page("how-to/extend.md").read_text(encoding="utf-8")
    for text, heading in ((core, "## What other packages add"), (page, "## A package of your own")):
        assert {row[0].strip("`") for row in rows(text, heading)} == set(GROUPS)


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


def test_the_readme_has_the_recipe_of_the_documentation() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for part in ("questions.md", "recipe.md"):
        block = (INCLUDES / part).read_text(encoding="utf-8").strip()
        assert block in text
        assert f"{{{{ include {part} }}}}" in (DOCS / "quickstart.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(write_pictures.PICTURES))
def test_pictures_are_those_that_are_drawn(name: str) -> None:
    drawn = (DOCS / "images" / f"{name}.svg").read_text(encoding="utf-8")
    assert drawn == write_pictures.PICTURES[name](), "run: python tools/write_pictures.py"


def test_no_link_of_a_page_is_broken() -> None:
    assert list(doc_links.broken_in_pages()) == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built anew."""
    folder = tmp_path_factory.mktemp("site")
    assemble(folder / "build" / "docs-source")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return folder / "build" / "docs"


def test_the_pages_that_the_site_lists_have_at_most_45_000_words(site: Path) -> None:
    # The entries of pages to search do not count: nobody reads them one after the other.
    words = {}
    for page in re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE):
        text = (site.with_name("docs-source") / page).read_text(encoding="utf-8")
        shown, entries = re.subn(r'<details class="entry".*?</details>', "", text, flags=re.DOTALL)
        words[page] = len((re.sub(r"<[^>]+>", " ", shown) if entries else shown).split())
    assert sum(words.values()) <= 45_000, sorted(words.items(), key=lambda item: -item[1])[:10]


def test_no_link_of_the_site_is_broken(site: Path) -> None:
    assert len(list(site.rglob("*.html"))) > len(list(DOCS.rglob("*.md")))
    assert list(doc_links.broken_in_site(site)) == []
    wrong = site / "wrong.html"
    wrong.write_text('<a href="tutorial/#nowhere">a</a><img src="nowhere.png">', encoding="utf-8")
    found = [found.rpartition(": ")[2] for found in doc_links.broken_in_site(site)]
    wrong.unlink()
    assert found == ["no such section", "there is no such file"]


def test_results_pages_show_measured_figures_and_tables_have_all(site: Path) -> None:
    shown = (site / "reference" / "performance" / "index.html").read_text(encoding="utf-8")
    assert performance_page.figure("report: report on 50,000 turns of 6 models: built in") in shown
    assert "{{" not in shown
    with (site / "reference" / "performance.csv").open(encoding="utf-8", newline="") as file:
        measured = list(csv.DictReader(file))
    suites = performance_page.read_book()["suites"]
    assert len(measured) == sum(len(suite.get("measures", [""])) for suite in suites)
    with (site / "reference" / "reliability.csv").open(encoding="utf-8", newline="") as file:
        tried = sum(int(row["tried"]) for row in csv.DictReader(file))
    assert f"{tried:,}" in (site / "reference" / "reliability" / "index.html").read_text(encoding="utf-8")
    with (site / "reference" / "public-reports.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(report_replays.read_reports())


@pytest.mark.slow
@pytest.mark.browser
def test_a_search_page_finds_by_typing_and_by_its_address(site: Path, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    wanted: list[str] = []
    page.on("request", lambda request: wanted.append(request.url))
    place = (site / "reference" / "commands" / "index.html").as_uri()
    page.goto(f"{place}#reeltalk-evaluate")
    assert page.locator("#reeltalk-evaluate dl").first.is_visible()
    page.fill("#find", "--min-shots")
    assert page.locator("details.entry:visible").count() == 1
    assert page.locator("#reeltalk-curate dl > div:visible").all_inner_texts()[0].startswith("--min-shots")
    assert page.inner_text("#found") == "1 entry"
    page.press("#find", "Enter")
    assert page.evaluate("document.activeElement.parentElement.id") == "reeltalk-curate"
    page.fill("#find", "--no-such-option")
    assert page.inner_text("#found") == "0 entries"
    for name in reference_pages.PAGES:
        page.goto((site / "reference" / name.removesuffix(".md") / "index.html").as_uri())
        page.fill("#find", page.get_attribute("#find", "placeholder") or "")
        assert page.locator("details.entry:visible").count() >= 1
        assert find_axe_problems(page) == []
    assert {url.partition(":")[0] for url in wanted} <= {"file", "data"}
    page.close()


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
