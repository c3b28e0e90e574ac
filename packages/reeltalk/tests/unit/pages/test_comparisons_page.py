"""The page of comparisons: what it shows, when it is there, and how large it gets."""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from reeltalk.analysis.comparison import CompareSettings, compare_models, format_p
from reeltalk.analysis.leaderboard import build_leaderboard
from reeltalk.analysis.values import format_signed
from reeltalk.pages.settings import ReportSettings
from reeltalk.pages.stage import write_report
from reeltalk.store.runs import Run

RunMaker = Callable[..., Run]
Scores = dict[str, tuple[str, dict[str, float]]]
HOSTILE = "<script>alert(1)</script>"


def turns(seed: int, better: float = 0.0, videos: int = 20, metrics: tuple[str, ...] = ("match", "rouge_l")) -> Scores:
    draw = np.random.default_rng(seed)
    return {
        f"d{video}/{turn + 1:02d}": (
            f"v{video}",
            {metric: float(draw.random() * 40 + better) / (100 if metric == "rouge_l" else 1) for metric in metrics},
        )
        for video in range(videos)
        for turn in range(3)
    }


def page_of(folder: Path) -> str:
    return (folder / "comparisons.html").read_text(encoding="utf-8")


def test_every_pair_has_difference_interval_and_corrected_p(make_paired_run: RunMaker, tmp_path: Path) -> None:
    run = make_paired_run({"a": turns(1), HOSTILE: turns(2), "c": turns(3, better=30)})
    (tmp_path / "site").mkdir()
    write_report([run], tmp_path / "site")
    page = page_of(tmp_path / "site")
    matrix = page[page.index("<table") : page.index("</table>")]
    assert "Match" in matrix
    cells = re.findall(r'<td class="number ([a-z]+)"[^>]*>(.*?)</td>', matrix)
    assert [state for state, _ in cells] == ["same", "less", "same", "less", "more", "more"]
    assert all(re.search(r"\[[+-]\d+\.\d+, [+-]\d+\.\d+\]", cell) for _, cell in cells)
    assert len(re.findall(r'title="p (?:=|&lt;) \d', matrix)) == len(cells)
    assert "Of 3 pairs, 2 show a winner." in page
    assert "smallest detectable difference here is" in page
    sentences = re.findall(r'<li class="(apart|open)">(.*?)</li>', page)
    assert [state for state, _ in sentences] == ["open", "apart", "apart"]
    assert sentences[1][1].startswith("C c is better than A a, ")
    assert "ROUGE-L: Of 3 pairs" in page
    assert HOSTILE not in page
    assert 'href="comparisons.html" aria-current="page"' in page


@pytest.mark.parametrize(("videos", "missed"), [(2, "any difference"), (20, "a difference of less than")])
def test_no_difference_larger_than_the_scale_is_named(
    videos: int, missed: str, make_paired_run: RunMaker, tmp_path: Path
) -> None:
    runs = {name: turns(seed, videos=videos) for seed, name in enumerate("abc")}
    (tmp_path / "site").mkdir()
    write_report([make_paired_run(runs)], tmp_path / "site")
    assert f"In the other pairs {missed}" in page_of(tmp_path / "site")


def test_the_page_and_the_command_give_the_same_numbers_for_a_pair(make_paired_run: RunMaker, tmp_path: Path) -> None:
    models = {name: turns(seed) for seed, name in enumerate("abc")} | {"oracle": turns(9, better=50)}
    run = make_paired_run(models, sources={"oracle": "oracle"})
    (tmp_path / "site").mkdir()
    write_report([run], tmp_path / "site", settings=ReportSettings(tables=("csv",)))
    page = page_of(tmp_path / "site")
    board = build_leaderboard([run])
    for chosen in (None, [0, 2]):
        for row in compare_models(board, CompareSettings(), models=chosen).rows:
            assert row.low is not None
            assert row.high is not None
            assert f"[{format_signed(row.metric, row.low)}, {format_signed(row.metric, row.high)}]" in page
            assert f"p = {format_p(row.corrected_p)}" in page
            file = f"comparisons-{row.metric.replace('_', '-')}.csv"
            table = (tmp_path / "site" / "tables" / file).read_text(encoding="utf-8")
            names = [board.models[index].name for index in (row.first, row.second)]
            (line,) = [line for line in csv.DictReader(io.StringIO(table)) if list(line.values())[:2] == names]
            assert (line["p"], line["corrected p"]) == (format_p(row.p), format_p(row.corrected_p))


def test_floors_stand_in_the_matrix_and_are_marked(make_paired_run: RunMaker, tmp_path: Path) -> None:
    run = make_paired_run(
        {"a": turns(1, metrics=("match",)), "b": turns(2, metrics=("match",)), "empty": {}},
        sources={"empty": "baseline:empty"},
        summary={("empty", "match"): 0.0},
        floor={item: {"match": 0.0} for item in turns(1)},
    )
    (tmp_path / "site").mkdir()
    write_report([run], tmp_path / "site")
    page = page_of(tmp_path / "site")
    assert '<span class="tag" title="a baseline that says nothing">floor</span>' in page
    assert "Difference to the floor, C empty" in page


def test_without_a_pair_to_compare_there_is_no_page(make_paired_run: RunMaker, tmp_path: Path) -> None:
    alone = make_paired_run({"a": turns(1)}, name="alone")
    strangers = make_paired_run(
        {"b": {f"other-{item}": (f"w{video}", scores) for item, (video, scores) in turns(2).items()}}, name="strangers"
    )
    for number, runs in enumerate(([alone], [alone, strangers])):
        folder = tmp_path / f"site-{number}"
        folder.mkdir()
        write_report(runs, folder)
        assert not (folder / "comparisons.html").exists()
        assert "comparisons.html" not in (folder / "index.html").read_text(encoding="utf-8")


def test_the_same_runs_give_the_same_bytes_and_tables_for_papers(make_paired_run: RunMaker, tmp_path: Path) -> None:
    run = make_paired_run({"a": turns(1), "b": turns(2)})
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_report([run], tmp_path / name, settings=ReportSettings(tables=("csv",)))
    assert page_of(tmp_path / "one") == page_of(tmp_path / "two")
    table = (tmp_path / "one" / "tables" / "comparisons-match.csv").read_text(encoding="utf-8")
    assert "corrected p" in table.splitlines()[0]


def test_few_videos_are_said_to_be_few(make_paired_run: RunMaker, tmp_path: Path) -> None:
    run = make_paired_run({"a": turns(1, videos=4), "b": turns(2, videos=4)})
    (tmp_path / "site").mkdir()
    write_report([run], tmp_path / "site")
    page = page_of(tmp_path / "site")
    assert "4 source videos are few." in page
    matrix = page[page.index("<table") : page.index("</table>")]
    assert len(re.findall(r"\[[+-]\d+\.\d+, [+-]\d+\.\d+\], 4 videos", matrix)) == 2
    assert "roughly: 4 videos are few" in page or "; 4 videos are few." in page


def test_thirty_models_stay_below_two_megabytes(make_paired_run: RunMaker, tmp_path: Path) -> None:
    metrics = ("match", "lave", "rouge_l", "cider", "token_f1", "exact_match")
    run = make_paired_run({f"model-{n}": turns(n, videos=3, metrics=metrics) for n in range(30)})
    (tmp_path / "site").mkdir()
    write_report([run], tmp_path / "site")
    assert len(page_of(tmp_path / "site").encode()) < 2_000_000
