"""The first page of a report: the verdict, ranks with ranges, bars, what limits the numbers, and where models fail."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.standings import find_standings
from reeltalk.pages.leaderboard import draw_standings
from reeltalk.pages.stage import write_report
from reeltalk.schema.runs import GroupRow
from reeltalk.store.runs import GROUPS, Run

RunMaker = Callable[..., Run]
Scores = dict[str, tuple[str, dict[str, float]]]
HOSTILE = "<script>alert(1)</script>#0a1b2c3d"
LABELS = {"vdact.question_type": ("T-SEQ",)}


def answered(right: float, seed: int, videos: int = 12) -> Scores:
    draw = np.random.default_rng(seed)
    return {
        f"d{video}/{turn + 1:02d}": (f"v{video}", {"typed": 100.0 * float(draw.random() < right)})
        for video in range(videos)
        for turn in range(3)
    }


def models() -> dict[str, Scores]:
    return {HOSTILE: answered(0.9, 1), "other": answered(0.8, 2), "blind": answered(0.2, 3), "facts": answered(1.0, 4)}


SOURCES = {"blind": "baseline:blind", "facts": "oracle"}


def written(run: Run, folder: Path) -> str:
    folder.mkdir()
    return write_report([run], folder).read_text(encoding="utf-8")


def test_the_page_begins_with_the_verdict_and_ranks_with_their_ranges(
    make_paired_run: RunMaker, tmp_path: Path
) -> None:
    run = make_paired_run(models(), sources=SOURCES)
    page = written(run, tmp_path / "site")
    verdict = "No model is shown to be better than another; both are shown to be above the baselines that do not see"
    assert verdict in page
    assert page.index(verdict) < page.index("<table")
    assert len(re.findall(r'<td class="rank">1<span class="interval">1–2</span></td>', page)) == 2
    assert "<script>alert" not in page
    assert '<small class="revision">0a1b2c3d</small>' in page
    assert re.findall(r'<th scope="rowgroup" colspan="7">([^<]+)</th>', page) == [
        "Models", "Baselines", "Oracle and references",
    ]  # fmt: skip


def test_bars_lie_on_the_scale_of_the_metric(make_paired_run: RunMaker) -> None:
    drawn = draw_standings(find_standings(build_leaderboard([make_paired_run(models(), sources=SOURCES)])))
    for _, rows in drawn.groups:
        for row in rows:
            assert row.bar is not None
            assert row.bar.value == row.standing.value
    blind = next(row for row in drawn.standings.rows if row.title == "blind")
    assert drawn.blind == blind.value


def test_a_missing_number_has_no_bar_and_its_reason(make_paired_run: RunMaker, tmp_path: Path) -> None:
    run = make_paired_run(models(), sources=SOURCES, unscored={("other", "typed"): 9})
    page = written(run, tmp_path / "site")
    assert '<span class="unscored">withheld</span>' in page
    assert page.count('class="bar-row"') == 3
    assert "20.0 %" in page, "9 of 45 are unscored"
    assert "Some numbers are withheld" in page


def test_the_lowest_types_lead_to_their_turns(make_paired_run: RunMaker, tmp_path: Path) -> None:
    labels = {item: LABELS for item in answered(0.9, 1)}
    run = make_paired_run(models(), sources=SOURCES, labels=labels)
    rows = [
        GroupRow(model=HOSTILE, metric="typed", by=by, group=group, value=value, n=20, videos=9)
        for by, group, value in (
            ("question_type", "T-SEQ", 40.0), ("question_type", "D-LOC", 60.0),
            ("answer_type", "colour", 50.0), ("answer_type", "room", 90.0),
        )
    ]  # fmt: skip
    (run.path / GROUPS).write_text("".join(row.model_dump_json() + "\n" for row in rows))
    page = written(run, tmp_path / "site")
    links = re.findall(r'<li><a href="([^"]+)">(Sequence|Colour|Locations)</a>', page)
    # A is the model, D the oracle: turns that the oracle gets right and the model wrong.
    assert links == [
        ("turns.html#show=right-wrong&amp;a=3&amp;b=0&amp;label=0", "Sequence"),
        ("breakdowns.html", "Colour"),
        ("breakdowns.html", "Locations"),
    ]
    assert "40.0 %" in page


def test_without_people_and_types_the_page_says_so(make_paired_run: RunMaker, tmp_path: Path) -> None:
    page = written(make_paired_run({"alone": answered(0.5, 1, videos=5)}), tmp_path / "site")
    assert "alone is the only model, and there is no baseline to compare it with" in page
    assert "No person rated these answers" in page
    assert "Judged by a rule, not by a model." in page
    assert "alone</strong> is wrong on <a href" in page
    assert "Some intervals rest on 5 source videos only." in page
