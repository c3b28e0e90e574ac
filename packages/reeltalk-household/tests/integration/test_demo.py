"""The walk through all stages: on a small household, stopped and gone on with."""

import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from reeltalk.evaluation.settings import PlaySettings
from reeltalk.pages.settings import ReportSettings
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.runs import read_run
from reeltalk.store.tables import CHAINS, DIALOGUES, PATHS, VIDEOS
from reeltalk.store.validate import validate
from reeltalk_household.benchmarks.household import Household, build_household
from reeltalk_household.world.settings import FilmSettings

WALK = Household(
    filming=FilmSettings(
        scenarios=2, houses=2, dev_houses=0, test_houses=1, width_px=320, fps=2, max_duration_s=80.0, seed=7
    ),
    players=("baseline:reference", "baseline:yes", "baseline:blind", "oracle"),
    report=ReportSettings(),
)
STOPPED_AT = ("filming", "writing chains", "writing pages")
"""Playing is stopped in processes of its own: `test_evaluate_resume`."""


LINK = re.compile(r'(?:href|src|poster)="([^"#?]+)')


def broken_links(site: Path) -> list[str]:
    """Links of all pages to files that are not there."""
    found = []
    for page in site.rglob("*.html"):
        for target in LINK.findall(page.read_text(encoding="utf-8")):
            if "://" not in target and not target.startswith("data:") and not (page.parent / target).exists():
                found.append(f"{page.relative_to(site)}: {target}")
    return found


def stopping(part: str, at_call: int) -> Callable[[str, int, int, float], None]:
    """Ctrl-C while a part of the work is under way, once something of it is done."""
    calls = 0

    def progress(what: str, done: int, total: int, share: float) -> None:
        nonlocal calls
        calls += what.endswith(part)
        if calls == at_call:
            signal.raise_signal(signal.SIGINT)

    return progress


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A walk that was stopped in every kind of work and gone on with, and what it told at last."""
    out = tmp_path_factory.mktemp("walk") / "demo"
    told: list[str] = []
    for part in STOPPED_AT:
        with pytest.raises(KeyboardInterrupt):
            build_household(out, WALK, tell=lambda line: None, progress=stopping(part, 2))
        assert not (out / "site").exists()
    page = build_household(out, WALK, tell=told.append, progress=lambda *_: None)
    assert page == out / "site" / "index.html"
    return out, told


def test_it_says_which_of_how_many_steps_runs(walked: tuple[Path, list[str]]) -> None:
    heads = [line.split(":")[0] for line in walked[1] if line.startswith("step ")]
    assert heads == [f"step {n} of 13" for n in range(1, 14)]


def test_every_stage_left_what_it_is_for(walked: tuple[Path, list[str]]) -> None:
    benchmark = Benchmark.open(walked[0] / "benchmark")
    assert [str(found) for found in validate(benchmark) if found.severity == "error"] == []
    filmed = {video.id: video.split for video in Benchmark.open(walked[0] / "filmed").read(VIDEOS)}
    assert {video.id: video.split for video in benchmark.read(VIDEOS)} == filmed
    assert all(benchmark.rows(table) for table in (CHAINS, PATHS))
    assert any(turn.checklist for dialogue in benchmark.read(DIALOGUES) for turn in dialogue.turns)
    assert {dialogue.extra["kind"] for dialogue in benchmark.read(DIALOGUES)} == {"single", "cross"}


def test_knowing_is_above_guessing_and_nothing_is_at_its_floor(walked: tuple[Path, list[str]]) -> None:
    for mode in ("dialogue", "streaming"):
        rows = {
            row.model: row
            for name in ("yes", "blind", "oracle")
            for row in read_run(walked[0] / "runs" / f"{name}-{mode}").summary
            if row.metric == "typed"
        }
        assert rows["empty"].value == 0.0
        oracle, blind, yes = rows["oracle"], rows["blind"].value, rows["yes"].value
        assert (oracle.unscored, oracle.value) == (0, 100.0)
        assert blind is not None
        assert blind < 100.0
        assert yes is not None
        assert yes <= 25.0


def test_the_first_page_says_what_is_weak_and_every_link_works(walked: tuple[Path, list[str]]) -> None:
    site = walked[0] / "site"
    page = (site / "index.html").read_text(encoding="utf-8")
    assert "make bench-household" in page
    assert "The sample is small: 1 test video." in page
    assert page.count(">Floors</th>") == 2, "floors stand apart in both modes"
    assert page.count("No model was run; the best baseline, blind, has ") == 2
    assert page.count('alt="The video at ') == 4
    assert re.search(r"<dt>blind</dt><dd [^>]+ class=\"(right|wrong)\">", page)
    assert broken_links(site) == []
    for behind in site.glob("*/**/*.html"):
        links = [(behind.parent / link).resolve() for link in LINK.findall(behind.read_text(encoding="utf-8"))]
        assert (site / "index.html").resolve() in links


def test_a_second_walk_finds_all_done(walked: tuple[Path, list[str]]) -> None:
    before = {path: path.stat().st_mtime_ns for path in (walked[0] / "site").rglob("*.html")}
    worked: list[str] = []
    build_household(walked[0], WALK, tell=lambda line: None, progress=lambda what, *_: worked.append(what))
    assert {path: path.stat().st_mtime_ns for path in (walked[0] / "site").rglob("*.html")} == before
    assert not [what for what in worked if what.endswith(("filming", "playing", "writing pages", "decoding"))]


def test_other_settings_are_played_anew(walked: tuple[Path, list[str]], tmp_path: Path) -> None:
    seen = WALK.plays[1].frames
    fewer = WALK.model_copy(
        update={"plays": (PlaySettings(mode="streaming", frames=seen, history="none"),), "players": ("oracle",)}
    )
    build_household(walked[0], fewer, tell=lambda line: None, progress=lambda *_: None)
    play = read_run(walked[0] / "runs" / "oracle-streaming").info.settings["play"]
    assert isinstance(play, dict)
    assert play["history"] == "none"
