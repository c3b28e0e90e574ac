"""Writers side by side: every number is that of the tables, differences are paired, and drafts stay text."""

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from side_by_side import HOSTILE, written

from reeltalk.analysis.writers import WriterComparison, compare_writers
from reeltalk.cli import run
from reeltalk.errors import BenchmarkError, SettingError
from reeltalk.stages.writers import benchmarks_for_writers
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CHAINS, CLIPS, GATES


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("writers")
    return (
        written(folder / "careful-7b", "careful-7b", careful=True),
        written(folder / "careless-2b", "careless-2b", careful=False),
    )


@pytest.fixture(scope="module")
def compared(two: tuple[Path, Path]) -> WriterComparison:
    return compare_writers([Benchmark.open(path) for path in two])


@pytest.fixture(scope="module")
def page(two: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    site = tmp_path_factory.mktemp("site") / "site"
    assert run(["report", *map(str, two), "--out", str(site)]) == 0
    return (site / "index.html").read_text()


def test_yield_and_faults_are_those_of_the_tables(compared: WriterComparison) -> None:
    careful, careless = compared.writers
    assert [(y.asked, y.written, y.kept) for y in careful.yields] == [(24, 24, 24)]
    assert [(y.asked, y.written, y.kept) for y in careless.yields] == [(24, 23, 23)]
    faults = {row.name: row.counts for row in compared.faults}
    assert faults["verified: contradicted"] == ((0, 0, 0), (0, 6, 0))
    assert faults["lint.given_away"] == ((0, 0, 0), (6, 0, 0))


def test_differences_are_paired_by_clip_and_clustered_by_video(compared: WriterComparison) -> None:
    rows = {row.measure: row for row in compared.rows}
    passed = rows["Passed every check that was made"]
    difference = passed.differences[0]
    assert difference is not None
    assert (difference.items, difference.clusters) == (23, 6)
    assert passed.values[0] is not None
    assert passed.values[1] is not None
    assert difference.value == pytest.approx(passed.values[1].value - passed.values[0].value)
    assert difference.high is not None
    assert difference.high < 0
    kept = compared.kept[0].differences[0]
    assert kept is not None
    assert kept.value == pytest.approx(-1 / 24)
    first = compared.kept[1].differences[0]
    assert first is not None
    assert first.value == pytest.approx(-7 / 24)


def test_the_difference_of_spreads_is_that_of_all_pairs_of_questions(compared: WriterComparison) -> None:
    careful, careless = compared.diversity
    assert careful.spread is not None
    assert careless.spread is not None
    assert careful.spread > careless.spread
    assert careful.distinct_2 is not None
    assert careless.distinct_2 is not None
    assert careful.distinct_2 > careless.distinct_2
    assert careless.different == 4
    assert (careful.types, careless.types) == (3, 1)
    assert careful.evenness == pytest.approx(1.0)
    spread = compared.spread[0]
    assert spread is not None
    # One clip has a draft of one writer only, so the pairs differ a little from all questions.
    assert spread.value == pytest.approx(careless.spread - careful.spread, abs=0.01)


def test_the_effects_of_places_on_the_spread_are_its_slopes() -> None:
    from reeltalk.analysis.writers import DraftPlace, _spread, _spread_effects, _Vectors

    table = np.random.default_rng(1).random((40, 6))
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    rows = [dict(zip("abcdef", map(float, row), strict=True)) for row in table]
    places = [DraftPlace(f"v{n // 4}", "chain", f"c{n}", 0) for n in range(20)]
    effects = _spread_effects(_Vectors(tuple(rows), tuple(places[n // 2] for n in range(40))), places)
    assert effects is not None
    whole = _spread(rows)
    distances = [1 - one @ other for n, one in enumerate(table) for other in table[:n]]
    assert whole is not None
    assert whole == pytest.approx(np.mean(distances))
    assert effects.mean() == pytest.approx(whole)
    # Left out one at a time, places move the spread against their effects.
    left = [_spread(rows[: 2 * n] + rows[2 * n + 2 :]) or 0.0 for n in range(20)]
    assert np.corrcoef(effects - whole, whole - np.array(left))[0, 1] > 0.999
    assert np.std(effects - whole) == pytest.approx(19 * np.std(left), rel=0.1)


def test_pairs_are_drawn_by_a_seed(two: tuple[Path, Path]) -> None:
    benchmarks = [Benchmark.open(path) for path in two]

    def drawn(seed: int) -> list[str]:
        return [place.name for place, _ in compare_writers(benchmarks, pairs=5, seed=seed).pairs]

    assert drawn(1) == drawn(1) != drawn(2)
    assert len(drawn(1)) == 5


def test_the_page_shows_drafts_as_text_and_every_number_with_its_ground(page: str) -> None:
    assert HOSTILE not in page
    assert "<script>alert" not in page
    for cell in re.findall(r'<td class="number(?: first-count)?">(.*?)</td>', page.split('id="yield"')[0]):
        assert "videos" in cell or "not checked" in cell or cell == '<span class="soft">–</span>', cell
    assert "A judge cannot tell from the video" in page


def test_a_hostile_draft_is_shown_as_text(two: tuple[Path, Path], tmp_path: Path) -> None:
    assert run(["report", str(two[1]), "--out", str(tmp_path / "site")]) == 0
    text = "".join(path.read_text() for path in (tmp_path / "site").rglob("*.html"))
    assert "&lt;script&gt;alert(1)&lt;/script&gt; What is there?" in text
    assert "<script>alert" not in text


def test_other_clips_are_refused(two: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copytree(two[1], tmp_path / "other")
    other = Benchmark.open(tmp_path / "other")
    with other.writing(stage="curate") as tables:
        tables.add(CLIPS, list(other.read(CLIPS))[:-1])
    with pytest.raises(BenchmarkError, match="different clips"):
        compare_writers([Benchmark.open(two[0]), other])
    with pytest.raises(BenchmarkError, match="given twice"):
        compare_writers([Benchmark.open(two[0]), Benchmark.open(two[0])])


def test_copies_share_their_videos_and_leave_out_what_others_wrote(two: tuple[Path, Path], tmp_path: Path) -> None:
    shutil.copytree(two[0], tmp_path / "source")
    source = Benchmark.open(tmp_path / "source")
    (tmp_path / "film.mp4").write_bytes(b"frames")
    sha256 = source.media.add(tmp_path / "film.mp4")
    copies = benchmarks_for_writers(source, ["openai/a:1", "b"], tmp_path / "out")
    assert [copy.path.name for copy in copies.values()] == ["openai-a-1", "b"]
    for copy in copies.values():
        assert copy.media.whole(sha256).samefile(source.media.path(sha256))
        assert copy.rows(CHAINS) == copy.rows(GATES) == 0
        assert copy.rows(CLIPS) == source.rows(CLIPS)
    assert source.rows(CHAINS) == 24
    again = benchmarks_for_writers(source, ["openai/a:1", "b"], tmp_path / "out")
    assert [copy.path for copy in again.values()] == [copy.path for copy in copies.values()]
    with pytest.raises(SettingError, match="each writer once"):
        benchmarks_for_writers(source, ["a/b", "A:B"], tmp_path / "out")
    with source.writing(stage="curate") as tables:
        tables.add(CLIPS, list(source.read(CLIPS))[:-1])
    with pytest.raises(BenchmarkError, match="other clips"):
        benchmarks_for_writers(source, ["openai/a:1", "b"], tmp_path / "out")


def test_several_writers_need_a_folder(two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["construct", str(two[0]), "--writer", "a", "--writer", "b"]) == 2
    assert "--out" in capsys.readouterr().err
    assert run(["construct", str(two[0]), "--writer", "a", "--out", "x"]) == 2
