"""Pages about a curation: what they say, and that they open from disk alone."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reeltalk.cli import run
from reeltalk.pages.curation import _histogram, format_clock
from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Clip, ClipFile, SampledFrame, Shot, Video
from reeltalk.schema.outcomes import FilterResult, Rejected, RepairedSpeech, Screening
from reeltalk.schema.record import ClipId, VideoId
from reeltalk.schema.speech import Utterance
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import CLIPS, FRAMES, REJECTED, SCREENINGS, SHOTS, SPEECH, VIDEOS

NASTY = "<script>alert('v')</script>"
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    video = VideoId(NASTY)
    settings = {"detector": "content", "threshold": None, "min_sharpness": 20, "max_similarity": 0.9}
    bench = Benchmark.create(tmp_path / "b")
    with bench.writing(stage="curate", settings=settings) as writer:
        writer.add(VIDEOS, [Video(id=video, duration_s=20.0, width_px=64, height_px=48, category="Film")])
        writer.add(SHOTS, [Shot(video_id=video, interval=Interval(start_s=0, end_s=9)),
                           Shot(video_id=video, interval=Interval(start_s=9, end_s=20), content=41.5)])  # fmt: skip
        writer.add(
            FRAMES,
            [
                SampledFrame(video_id=video, pts_s=0, content=0, sharpness=90, key_frame=True),
                SampledFrame(video_id=video, pts_s=0.5, content=3, sharpness=5, similarity=0.5, key_frame=False,
                             dropped="blurred"),
                SampledFrame(video_id=video, pts_s=1, content=3, sharpness=95, similarity=0.99, flow_px=2,
                             key_frame=False, dropped="alike"),
            ],
        )  # fmt: skip
        interval = Interval(start_s=0, end_s=9.5)
        file = ClipFile(sha256="0" * 64, how="trim", interval=interval)
        writer.add(CLIPS, [Clip(id=ClipId("clip-1"), video_id=video, interval=interval, file=file)])
        spoken = Utterance(
            video_id=video, interval=Interval(start_s=1, end_s=2), text=f"{NASTY} said she", speaker=NASTY
        )
        writer.add(SPEECH, [spoken])
        flow = FilterResult(filter="flow", outcome="passed", value=2, low=0.5, high=100)
        skipped = FilterResult(filter="aesthetic", outcome="not applied", low=4, reason="no model")
        long = FilterResult(filter="duration", outcome="rejected", value=1, low=60, reason="it lasts 1.0 s")
        writer.add(
            SCREENINGS,
            [
                Screening(video_id=video, kept=True, filters=(skipped, flow), quality=30.5, sheet="sheets/a.png",
                          speech=RepairedSpeech(file="v.srt", repaired={"time_format": 3}),
                          left_out=(f"licence not read: {NASTY}",)),
                Screening(video_id=VideoId("short"), kept=False, filters=(long,)),
            ],
        )  # fmt: skip
        writer.add(REJECTED, [Rejected(table="videos", record_id="short", reason="it lasts 1.0 s")])
        writer.add_file("sheets/a.png", PNG)
    return tmp_path / "b"


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if name in ("href", "src") and value]


def test_the_site_says_what_was_kept_and_why_not(benchmark: Path, tmp_path: Path) -> None:
    assert run(["report", str(benchmark), "--out", str(tmp_path / "site")]) == 0
    index = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert "1 of 2 videos kept" in index
    assert "it lasts 1.0 s" in index
    assert re.search(r"aesthetic</th><td[^>]*>1</td><td[^>]*>0</td><td[^>]*>1</td>", index)
    page = (tmp_path / "site" / "videos" / "0001.html").read_text(encoding="utf-8")
    assert "copied, begins by edit list" in page
    assert "From the subtitle or transcript file, after repairs: 3 time_format." in page
    assert "Left out of the files beside it: licence not read: &lt;script&gt;" in page
    assert "like the key frame before (1)" in page
    assert "said she</td>" in page
    assert "1 utterance." in page
    assert "1 utterance." in index
    assert "blurred (1)" in page
    assert page.count('class="cut"') == 1
    assert page.count('class="bound"') == 3
    assert (tmp_path / "site" / "videos" / "a.png").read_bytes() == PNG
    for text in (index, page):
        assert NASTY not in text
    for path in (tmp_path / "site").rglob("*.html"):
        links = Links()
        links.feed(path.read_text(encoding="utf-8"))
        for link in links.found:
            if not link.startswith(("data:", "#")):
                assert (path.parent / link.split("#")[0]).is_file(), link


def test_an_export_leaves_the_pictures_and_the_report_says_so(
    benchmark: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    assert run(["export", "hub", str(benchmark), str(tmp_path / "hub")]) == 0
    assert "contact sheets and saved key frames are left out: 1" in capsys.readouterr().out
    assert run(["import", "hub", str(tmp_path / "hub"), str(tmp_path / "again")]) == 0
    assert run(["report", str(tmp_path / "again"), "--out", str(tmp_path / "site")]) == 0
    assert "This benchmark has no contact sheet of this video." in (
        tmp_path / "site" / "videos" / "0001.html"
    ).read_text(encoding="utf-8")


def test_equal_benchmarks_give_equal_bytes(benchmark: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert run(["report", str(benchmark), "--out", str(tmp_path / name)]) == 0
    for path in (tmp_path / "one").rglob("*.*"):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--format", "csv"], "a site of its own"), (["second"], "a site of its own"), ([], "--out DIR")],
)
def test_what_makes_no_sense_is_refused(
    benchmark: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(benchmark), *arguments]) == 2
    assert says in capsys.readouterr().err


def test_an_empty_benchmark_says_what_fills_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Benchmark.create(tmp_path / "b")
    assert run(["report", str(tmp_path / "b"), "--out", str(tmp_path / "site")]) == 2
    assert "'reeltalk import', 'reeltalk curate' and 'reeltalk construct' fill a benchmark" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()


def test_histograms_count_everything() -> None:
    for values in ([1.0], [0.0, 0.0], [1.0, 2.0, 3.0, 1000.0], [0.1 * n for n in range(100)]):
        drawn = _histogram(values, "seconds", "videos")
        assert sum(int(n) for n in re.findall(r'font-size="10px"[^>]*>(\d+)<', drawn)) == len(values)
    assert "Nothing" in _histogram([], "seconds", "videos")


def test_clock() -> None:
    assert [format_clock(s) for s in (0, 9.96, 59.96, 61.25)] == ["0:00.0", "0:10.0", "1:00.0", "1:01.2"]
