"""The pages about construction: every chain, link, draft, dialogue and check is there, and text stays text."""

import re
import shutil
from pathlib import Path

import pytest
from page_world import World
from two_writers import written

from reeltalk.cli import run
from reeltalk.metrics.counting import count_benchmark, count_words, format_counts
from reeltalk.pages.construction import constructed_videos, is_constructed
from reeltalk.schema.dialogue import Dialogue, QAChain
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, DIALOGUES, GATES, REWRITES


@pytest.fixture(scope="module")
def constructed(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shown") / "household"
    assert not is_constructed(Benchmark.open(world.made("told/4")))
    shutil.copytree(world.made("written/4"), folder)
    benchmark = Benchmark.open(folder)
    raw = GateResult(
        gate="chains:written",
        unit="clip",
        unit_id=next(iter(benchmark.read(CHAINS))).clip_id or "",
        outcome=GateOutcome.UNWRITTEN,
        reason="no JSON",
        raw=("<script>alert(1)</script> & more",),
    )
    rows = [*benchmark.read(GATES), raw]
    with benchmark.writing(stage="construct gates") as writer:
        writer.add(GATES, rows)
    return folder


@pytest.fixture(scope="module")
def site(constructed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    assert run(["report", str(constructed), "--out", str(folder)]) == 0
    return folder


def test_it_is_the_first_page_and_every_link_resolves(site: Path) -> None:
    assert 'href="dataset.html"' in (site / "index.html").read_text()
    for page in site.rglob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#]+)', page.read_text()):
            if not target.startswith("data:"):
                assert (page.parent / target).is_file(), (page, target)


def test_every_turn_draft_and_item_is_on_its_page(constructed: Path, site: Path) -> None:
    benchmark = Benchmark.open(constructed)
    pages = "".join(page.read_text() for page in sorted((site / "construction").iterdir()))
    pages = pages.replace("&#39;", "'").replace("&amp;", "&")
    units: list[QAChain | Dialogue] = [*benchmark.read(CHAINS), *benchmark.read(DIALOGUES)]
    for unit in units:
        for turn in unit.turns:
            assert turn.question in pages
            assert turn.references[0] in pages
            for item in turn.checklist.items if turn.checklist else ():
                assert item.question in pages
    for rewrite in benchmark.read(REWRITES):
        assert rewrite.draft.question in pages
        assert all(problem in pages for problem in rewrite.problems)


def test_raw_replies_are_shown_as_text(site: Path) -> None:
    page = (site / "index.html").read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in page
    assert "<script>alert" not in page


def test_numbers_on_the_page_are_those_that_are_printed(constructed: Path, site: Path) -> None:
    found = count_benchmark(Benchmark.open(constructed))
    page = (site / "index.html").read_text()
    assert f"{found.ours.units:,} chains and dialogues" in page
    printed = "\n".join(format_counts(found))
    assert f"{found.ours.turns:,} turns" in printed
    assert "unusable replies: 1" in printed
    for name, n in found.question_types.items():
        assert f"{name} {n:,}" in printed


def test_the_same_benchmark_gives_the_same_bytes(constructed: Path, site: Path, tmp_path: Path) -> None:
    assert run(["report", str(constructed), "--out", str(tmp_path / "again")]) == 0
    for page in sorted(path for path in site.rglob("*") if path.is_file()):
        assert (tmp_path / "again" / page.relative_to(site)).read_bytes() == page.read_bytes()


@pytest.mark.parametrize(
    ("text", "count"), [("What does he do?", 4), ("the person's mug", 3), ("", 0), ("他在做什么?", 5), ("3 mugs", 2)]
)
def test_words_are_counted_as_people_count_them(text: str, count: int) -> None:
    assert count_words(text) == count


def test_each_turn_says_its_verdict_and_what_was_not_checked_is_no_fault(tmp_path: Path) -> None:
    written(tmp_path / "judged", "careless-2b", careful=False)
    written(tmp_path / "alone", "alone-7b", careful=True, judged=False)
    for name in ("judged", "alone"):
        assert run(["report", str(tmp_path / name), "--out", str(tmp_path / f"{name}-site")]) == 0
    judged = (tmp_path / "judged-site" / "construction" / "0001.html").read_text()
    assert "The video supports the answer (at 3.0 s, 2 of 2 verdicts)." in judged
    assert "A judge cannot tell from the video if the answer is right (at 0.0 s, 2 of 2 verdicts): the corner" in judged
    assert "Evidence 0.0–2.5 s (enough)" in judged
    assert "Rests on 2 earlier turns" in judged
    assert "Needs no video: a model that has only the question answers" in judged
    first = (tmp_path / "alone-site" / "index.html").read_text()
    assert '<li class="warn">Not checked: whether the video supports the reference answers' in first
    alone = (tmp_path / "alone-site" / "construction" / "0001.html").read_text()
    assert "--judge" not in alone
    assert 'class="warn' not in alone
    shown = list(constructed_videos(Benchmark.open(tmp_path / "alone")))
    assert shown
    assert not any(video.flagged for video in shown)
