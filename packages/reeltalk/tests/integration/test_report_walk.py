"""Every page of a report in a real browser: wide and narrow, light and dark, without a grave finding of axe."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from walk_report import VIEWS, pages_of, walk

from reeltalk.cli import run


@pytest.fixture(scope="module")
def site(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on the sample's models, with its benchmark."""
    folder = tmp_path_factory.mktemp("walked")
    answers = sorted(str(path) for path in (samples / "vdact" / "results").glob("*.json"))
    steps = [
        ["import", "vdact", str(samples / "vdact"), str(folder / "bench")],
        ["score", *answers, "--format", "vdact", "--metrics", "bleu,rouge_l,token_f1", "--out", str(folder / "run")],
        ["report", str(folder / "run"), "--bench", str(folder / "bench"), "--out", str(folder / "site")],
    ]
    for step in steps:
        assert run(step) == 0
    return folder / "site"


@pytest.mark.browser
def test_no_page_has_a_grave_problem(site: Path, browser: Browser, full: bool) -> None:
    pages = pages_of(site, each=None if full else 1)
    if full:
        problems = list(walk(site, pages, browser))
    else:
        # Each page once; wide and light or narrow and dark in turn.
        problems = [
            *walk(site, pages[::2], browser, views=VIEWS[:1]),
            *walk(site, pages[1::2], browser, views=VIEWS[-1:]),
        ]
    assert len(pages) >= 3
    assert [str(problem) for problem in problems] == []


@pytest.mark.slow
@pytest.mark.browser
def test_the_walk_finds_what_is_wrong(tmp_path: Path, browser: Browser) -> None:
    wide = '<div style="width: 900px">wide</div>'
    (tmp_path / "index.html").write_text(
        "<!DOCTYPE html><html lang=en><title>t</title>"
        f"<main><h1>h</h1>{wide}<img src=data:,></main><script>no()</script>",
        encoding="utf-8",
    )
    found = list(walk(tmp_path, pages_of(tmp_path), browser, views=((390, "light"),)))
    said = " ".join(problem.what for problem in found)
    assert "scrolls sideways" in said
    assert "image-alt" in said
    assert "no is not defined" in said
    assert {(problem.width_px, problem.scheme) for problem in found} == {(390, "light")}


def test_a_benchmark_that_runs_were_not_played_on_is_refused(samples: Path, site: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert run(["import", "dramaqa", str(samples / "dramaqa"), str(other)]) == 0
    assert run(["report", str(site.parent / "run"), "--bench", str(other), "--out", str(tmp_path / "x")]) == 2
    assert not (tmp_path / "x").exists()
