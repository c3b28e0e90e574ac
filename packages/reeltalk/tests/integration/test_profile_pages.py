"""Profiles and pages of models, from the command line to the browser."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from walk_report import pages_of, walk

import agent_one
from reeltalk.cli import run
from reeltalk.pages.settings import ReportSettings
from reeltalk.pages.stage import write_report
from reeltalk.store.runs import read_run


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A few hundred questions to the two simulated agents of CogME."""
    folder = tmp_path_factory.mktemp("agents")
    design = agent_one.make_design()
    turns = agent_one.answered(design, agent_one.agents_of(design), seed=1)
    agent_one.write_site(turns, folder, questions=400)
    return sorted((folder / "runs").iterdir())


@pytest.fixture(scope="module")
def site(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("profiles")
    assert run(["report", *map(str, runs), "--out", str(folder / "site"), "--figures", "svg", "--tables", "csv"]) == 0
    return folder / "site"


def test_a_run_with_tags_has_a_page_of_profiles_and_every_model_a_page(site: Path) -> None:
    html = (site / "profiles.html").read_text(encoding="utf-8")
    assert len(set(re.findall(r"figures/profiles-radar-[a-z]+\.svg", html))) == 3
    assert "Credit: <strong>Accuracy</strong>" in html
    assert "simulated.cogme|metric:accuracy" in html
    models = sorted((site / "models").iterdir())
    assert len(models) == 2
    index = (site / "index.html").read_text(encoding="utf-8")
    assert all(f'href="models/{page.name}"' in index for page in models)
    assert (site / "figures" / "profiles-radar-target.svg").is_file()
    assert "Commonsense," in (site / "tables" / "profiles-tags.csv").read_text(encoding="utf-8")


def test_a_run_without_tags_has_pages_of_models_and_none_of_profiles(samples: Path, tmp_path: Path) -> None:
    answers = sorted(str(path) for path in (samples / "vdact" / "results").glob("*.json"))
    assert run(["score", *answers, "--format", "vdact", "--metrics", "rouge_l", "--out", str(tmp_path / "run")]) == 0
    assert run(["report", str(tmp_path / "run"), "--out", str(tmp_path / "site")]) == 0
    assert not (tmp_path / "site" / "profiles.html").exists()
    pages = list((tmp_path / "site" / "models").iterdir())
    assert pages
    assert all("profiles.html" not in page.read_text(encoding="utf-8") for page in pages)


def test_dramaqa_shows_its_levels_joined_with_cogmes_tags(samples: Path, tmp_path: Path) -> None:
    bench, judged = str(tmp_path / "bench"), str(tmp_path / "run")
    assert run(["import", "dramaqa", str(samples / "dramaqa"), bench]) == 0
    assert run(
        [
            "evaluate",
            bench,
            "--split",
            "val",
            "--model",
            "baseline:empty",
            "--protocols",
            "choice,cogme",
            "--out",
            judged,
        ]
    ) in (
        0,
        1,
    )
    assert run(["report", judged, "--bench", bench, "--out", str(tmp_path / "site")]) == 0
    html = (tmp_path / "site" / "profiles.html").read_text(encoding="utf-8")
    assert "DramaQA&#39;s levels of memory" in html
    assert "3 (scene)" in html
    assert re.search(r"Tags and DramaQA&#39;s levels of logic", html)


def test_a_measure_that_no_answer_has_is_refused(
    runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(runs[0]), "--out", str(tmp_path / "site"), "--credit", "vdeval"]) == 2
    assert "no answer of these runs has a score by 'vdeval'" in capsys.readouterr().err


def test_the_same_runs_give_the_same_bytes(site: Path, runs: list[Path], tmp_path: Path) -> None:
    settings = ReportSettings(figures=("svg",), tables=("csv",))
    (tmp_path / "again").mkdir()
    write_report([read_run(path) for path in runs], tmp_path / "again", settings=settings)
    for page in [site / "profiles.html", *(site / "models").iterdir()]:
        assert (tmp_path / "again" / page.relative_to(site)).read_bytes() == page.read_bytes()


@pytest.mark.browser
def test_the_pages_have_no_grave_problem(site: Path, browser: Browser, full: bool) -> None:
    if full:
        problems = list(walk(site, [page for page in pages_of(site) if page.parent.name != "dialogues"], browser))
    else:
        # test_report_walk.py opens the pages that every report has.
        model = min((site / "models").iterdir())
        problems = [
            *walk(site, [site / "profiles.html"], browser, views=((390, "light"),)),
            *walk(site, [model], browser, views=((1280, "dark"),)),
        ]
    assert [str(problem) for problem in problems] == []
