"""The site and the tables that a run becomes."""

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reeltalk.cli import run
from reeltalk.errors import BenchmarkError
from reeltalk.report.export import render_table
from reeltalk.report.figures import _ticks
from reeltalk.report.leaderboard import build
from reeltalk.report.stage import write_report
from reeltalk.schema.answers import AnsweredTurn
from reeltalk.schema.ids import VideoId
from reeltalk.schema.runs import CurvePoint, Duplicate, ItemScores, ModelInfo, RunInfo, SummaryRow, Unscored
from reeltalk.store.runs import Run, read_run, write_run

HOSTILE = "<script>alert(1)</script> {{ 7*7 }} </td> \u202eevil\x07 & 你好"


def make_run(
    path: Path,
    *,
    models: tuple[str, ...] = ("alpha", "beta"),
    data: str = "d1",
    values: tuple[float | None, ...] = (0.5, 0.3),
) -> Run:
    infos, summary, answers, items, curves, unscored = [], [], [], [], [], []
    for model, value in zip(models, values, strict=True):
        infos.append(
            ModelInfo(
                model=model,
                source=f"{model}.json",
                sha256="0" * 64,
                rows=3,
                items=2,
                duplicates=(Duplicate(item_id="d/1/01", kept="a at $[0]", dropped=("a at $[2]",), same_answer=False),),
                missing=("d/1/03",),
                not_scored={"failed": 1},
            )
        )
        signature = f"test.answers|data:{data}|metric:rouge_l|v:1"
        low, high = (None, None) if value is None else (value - 0.1, value + 0.1)
        summary.append(
            SummaryRow(model=model, metric="rouge_l", value=value, n=2, low=low, high=high, signature=signature)
        )
        if value is None:
            unscored.append(Unscored(model=model, metric="rouge_l", reason="the moon was in the wrong phase"))
        for index in range(2):
            answers.append(
                AnsweredTurn(
                    model=model,
                    item_id=f"d/1/{index + 1:02d}",
                    video_id=VideoId("v1"),
                    unit_id="../d/1",
                    turn_index=index,
                    question=HOSTILE,
                    references=("a reference", "another"),
                    text=HOSTILE if index else "",
                )
            )
            items.append(ItemScores(model=model, item_id=f"d/1/{index + 1:02d}", scores={"rouge_l": 0.25}))
            curves.append(
                CurvePoint(model=model, metric="rouge_l", turn_index=index, value=0.2, n=40, low=0.1, high=0.3)
            )
    info = RunInfo(
        kind="score",
        reeltalk_version="1",
        subject="test.answers",
        models=tuple(infos),
        metrics=("rouge_l",),
        clusters=1,
        unscored=tuple(unscored),
    )
    write_run(path, info, answers=answers, items=items, summary=summary, curves=curves)
    return read_run(path)


class Page(HTMLParser):
    """Links, identifiers and balance of one page."""

    VOID = frozenset({"meta", "link", "input", "br", "img", "line", "circle", "polyline", "polygon"})

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.tags: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        found = dict(attrs)
        self.links += [value for key in ("href", "src") if (value := found.get(key))]
        self.ids += [value for key in ("id",) if (value := found.get(key))]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open, f"</{tag}> closes nothing"
            assert self.open.pop() == tag


def write_site(runs: list[Run], folder: Path) -> Iterator[tuple[Path, Page]]:
    folder.mkdir()
    write_report(runs, folder)
    for path in sorted(folder.rglob("*.html")):
        yield path, Page(path)


def test_pages_are_whole_closed_and_need_no_network(tmp_path: Path) -> None:
    pages = dict(write_site([make_run(tmp_path / "run")], tmp_path / "site"))
    assert len(pages) == 2
    for path, page in pages.items():
        assert page.open == []
        assert len(page.ids) == len(set(page.ids))
        for link in page.links:
            if link.startswith("data:"):
                continue
            assert not re.match(r"[a-z]+:|//", link), link
            target, _, anchor = link.partition("#")
            reached = (path.parent / target).resolve() if target else path
            assert reached.is_file(), link
            assert reached.is_relative_to(tmp_path / "site")
            if anchor:
                assert anchor in pages[reached].ids


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    pages = dict(write_site([make_run(tmp_path / "run")], tmp_path / "site"))
    for path, page in pages.items():
        text = path.read_text(encoding="utf-8")
        assert page.tags.count("script") == 1
        assert "49" not in text.split("</head>")[1] or "{{ 7*7 }}" in text
        assert "\u202e" not in text
        assert "\x07" not in text
    dialogue = next(path for path in pages if path.parent.name == "dialogues").read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; {{ 7*7 }}" in dialogue
    assert "你好" in dialogue
    assert "empty answer" in dialogue


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    opened = make_run(tmp_path / "run")
    one, two = (
        {path.name: path.read_bytes() for path, _ in write_site([opened], tmp_path / name)} for name in ("one", "two")
    )
    assert one == two


def test_what_was_counted_is_shown(tmp_path: Path) -> None:
    list(write_site([make_run(tmp_path / "run", values=(0.5, None))], tmp_path / "site"))
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "the moon was in the wrong phase" in index
    assert ">not scored<" in index
    assert "a at $[2]" in index
    assert "1 rows: failed" in index
    assert "d/1/03" in index


def test_an_unscored_metric_is_never_best_nor_zero(tmp_path: Path) -> None:
    board = build([make_run(tmp_path / "run", values=(None, 0.0))])
    cells = [model.cells["rouge_l"] for model in board.models]
    assert cells[0] is not None
    assert cells[1] is not None
    assert (cells[0].row.value, cells[0].is_best, cells[1].is_best) == (None, False, True)


def test_overlap_with_the_best_is_marked(tmp_path: Path) -> None:
    board = build([make_run(tmp_path / "run", models=("a", "b", "c"), values=(0.5, 0.35, 0.2))])
    cells = [cell for model in board.models if (cell := model.cells["rouge_l"])]
    assert [(cell.is_best, cell.overlaps_best) for cell in cells] == [(True, False), (False, True), (False, False)]


def test_runs_with_other_data_are_said_not_to_compare(tmp_path: Path) -> None:
    first = make_run(tmp_path / "first")
    second = make_run(tmp_path / "second", data="d2")
    board = build([first, second])
    assert board.mixed == {"rouge_l": ["data"]}
    assert [model.name for model in board.models] == [
        "alpha · first",
        "beta · first",
        "alpha · second",
        "beta · second",
    ]
    list(write_site([first, second], tmp_path / "site"))
    assert "does not compare between all models" in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert build([first]).mixed == {}


def test_a_run_without_scores_is_refused(tmp_path: Path) -> None:
    write_run(
        tmp_path / "run",
        RunInfo(kind="score", reeltalk_version="1", subject="x", models=(), metrics=(), clusters=0),
        answers=[],
        items=[],
        summary=[],
        curves=[],
    )
    with pytest.raises(BenchmarkError, match="hold no scores"):
        build([read_run(tmp_path / "run")])


class TestTables:
    def test_json_and_csv_carry_every_signature(self, tmp_path: Path) -> None:
        opened = make_run(tmp_path / "run", models=('a,"b"', "beta"))
        rows = json.loads(render_table([opened], "json"))
        assert rows[0]["model"] == 'a,"b"'
        assert rows[0]["signature"] == "test.answers|data:d1|metric:rouge_l|v:1"
        parsed = list(csv.DictReader(io.StringIO(render_table([opened], "csv"))))
        assert [row["model"] for row in parsed] == ['a,"b"', "beta"]
        assert float(parsed[0]["value"]) == 0.5

    def test_markdown_and_latex_escape_names(self, tmp_path: Path) -> None:
        opened = make_run(tmp_path / "run", models=("a|b*", "50%_&"))
        markdown, latex = render_table([opened], "markdown"), render_table([opened], "latex")
        assert r"a\|b\*" in markdown
        assert "**0.5000** [0.4000, 0.6000]" in markdown
        assert r"50\%\_\& & 0.3000" in latex
        assert latex.count(r"\\") == 3


def test_ticks_are_round_and_inside() -> None:
    assert _ticks(0.0, 1.0) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert _ticks(0.083, 0.137) == [0.09, 0.1, 0.11, 0.12, 0.13]
    assert _ticks(5, 5) == [5.0] or len(_ticks(5, 5)) >= 1


@pytest.mark.browser
def test_in_a_browser_sorting_and_filtering_work_and_nothing_overflows(tmp_path: Path, samples: Path) -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("no Chromium here; .ci/run installs it")
    from playwright.sync_api import sync_playwright

    results = str(samples / "vdact" / "results")
    run(["score", results, "--format", "vdact", "--metrics", "bleu,rouge_l,cider", "--out", str(tmp_path / "run")])
    run(["report", str(tmp_path / "run"), "--out", str(tmp_path / "site")])
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        page = browser.new_page(viewport={"width": 390, "height": 800})
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: problems.append(request.url) if request.url.startswith("http") else None)
        page.goto((tmp_path / "site" / "index.html").as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        names = "table.leaderboard tbody th"
        page.click("table.leaderboard th:nth-child(2) button")
        assert page.locator(names).all_inner_texts() == ["careful-8f", "hasty-1f"]
        page.click("table.leaderboard th:nth-child(2) button")
        assert page.locator(names).all_inner_texts() == ["hasty-1f", "careful-8f"]
        page.fill("#find", "09002")
        assert page.locator("#dialogue-list li:visible").count() == 2
        page.click("#dialogue-list li:visible a")
        assert page.locator("h1").inner_text() == "Dialogue 0900201"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert problems == []
        browser.close()
