"""Pages about objects: what they say, and that they open from disk alone."""

import re
from html.parser import HTMLParser
from pathlib import Path

from reeltalk.cli import run
from reeltalk.pages.objects import has_objects
from reeltalk.pages.stage import write_benchmark_report
from reeltalk.schema.intervals import Interval
from reeltalk.schema.knowledge import Box, Entity, IdentityChange, Sighting
from reeltalk.schema.media import Clip, Shot, Video
from reeltalk.schema.outcomes import Screening
from reeltalk.schema.record import ClipId, EntityId, VideoId
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import (
    CLIPS,
    ENTITIES,
    IDENTITY_CHANGES,
    SCREENINGS,
    SHOTS,
    SIGHTINGS,
    VIDEOS,
)

NASTY = "<script>alert('v')</script>"
JPEG = b"\xff\xd8\xff\xd9"
VIDEO = VideoId(NASTY)


def sighting(pts_s: float, entity: str, class_name: str, crop: str | None = None) -> Sighting:
    return Sighting(
        video_id=VIDEO, pts_s=pts_s, box=Box(left=0.1, top=0.1, right=0.4, bottom=0.6), class_name=class_name,
        confidence=0.9, entity=EntityId(entity), caption=f"{class_name} & more", crop=crop,
    )  # fmt: skip


def make(folder: Path, *, curated: bool = True) -> Path:
    bench = Benchmark.create(folder)
    with bench.writing(stage="test", settings={"detector": NASTY}) as writer:
        writer.add(VIDEOS, [Video(id=VIDEO, duration_s=20.0, width_px=64, height_px=48), Video(id=VideoId("empty"))])
        writer.add(SHOTS, [Shot(video_id=VIDEO, interval=Interval(start_s=a, end_s=b)) for a, b in ((0, 9), (9, 20))])
        writer.add(CLIPS, [Clip(id=ClipId(NASTY), video_id=VIDEO, interval=Interval(start_s=4, end_s=15))])
        cup = [sighting(t, "e-cup", "cup", "crops/a.jpg" if t == 2 else None) for t in (1, 2, 3, 8, 9)]
        writer.add(
            SIGHTINGS, [*cup, sighting(5, "e-dog", NASTY), sighting(2, "e-man", "man"), sighting(4, "e-man", "man")]
        )
        writer.add(ENTITIES, [Entity(id=EntityId(e), video_id=VIDEO, class_name=c, attributes={"colour": "blue"})
                              for e, c in (("e-cup", "cup"), ("e-dog", NASTY))])  # fmt: skip
        changes = [("split", "e-cup", "e-man"), ("merge", "e-man", "e-gone")]
        found = [
            IdentityChange.model_validate(
                {"video_id": VIDEO, "pts_s": 4, "kind": k, "kept": a, "other": b, "similarity": 0.931}
            )
            for k, a, b in changes
        ]
        writer.add(IDENTITY_CHANGES, found)
        if curated:
            writer.add(SCREENINGS, [Screening(video_id=VIDEO, kept=True, filters=())])
        writer.add_file("crops/a.jpg", JPEG)
    return folder


class Page(HTMLParser):
    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.open: list[str] = []
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "img", "br", "input"):
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href") and value:
                self.links.append(value)
            if name == "id" and value:
                assert value not in self.ids
                self.ids.add(value)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_site_of_a_curated_benchmark_has_its_objects(tmp_path: Path) -> None:
    bench = make(tmp_path / "b")
    assert run(["report", str(bench), "--out", str(tmp_path / "site")]) == 0
    index = Page(tmp_path / "site/index.html")
    assert "objects.html" in index.links
    listed = Page(tmp_path / "site/objects.html")
    assert "3 objects" in listed.text
    assert "8 sightings" in listed.text
    assert "index.html" in listed.links
    page = Page(tmp_path / "site/objects/0001.html")
    assert (tmp_path / "site/objects/a.jpg").read_bytes() == JPEG
    assert "a.jpg" in page.links
    assert {"o1", "o2", "o3"} <= page.ids
    # Sightings a second apart are joined; those after a gap are not.
    assert re.findall(r"<title>(0:\d\d\.\d to [^<:]*:\d\d\.\d, \d sightings)", page.text) == [
        "0:01.0 to 0:03.0, 3 sightings", "0:08.0 to 0:09.0, 2 sightings",
    ]  # fmt: skip
    assert "1 object seen once" in page.text
    assert "an identity that no longer exists" in page.text
    assert "0.931" in page.text
    assert page.text.count('class="change"') == 2 + 3, "two in the legend, one for each row that a change names"
    assert 'class="cut"' in page.text
    assert 'class="begins"' in page.text


def test_strangers_text_is_shown_and_never_run_and_all_links_resolve(tmp_path: Path) -> None:
    bench = make(tmp_path / "b")
    assert run(["report", str(bench), "--out", str(tmp_path / "site")]) == 0
    for path in (tmp_path / "site").rglob("*.html"):
        page = Page(path)
        assert "<script>alert" not in page.text
        for link in page.links:
            assert not link.startswith(("http:", "https:", "//"))
            if not link.startswith(("#", "data:")):
                assert (path.parent / link.split("#")[0]).is_file(), f"{path} links to {link}"
            elif link.startswith("#") and len(link) > 1:
                assert link[1:] in page.ids


def test_objects_alone_are_a_site(tmp_path: Path) -> None:
    bench = make(tmp_path / "b", curated=False)
    assert run(["report", str(bench), "--out", str(tmp_path / "site")]) == 0
    index = Page(tmp_path / "site/index.html")
    assert "objects/0001.html" in index.links
    assert "../index.html" in Page(tmp_path / "site/objects/0001.html").links
    assert not (tmp_path / "site/objects.html").exists()
    first = {p.name: p.read_bytes() for p in (tmp_path / "site").rglob("*") if p.is_file()}
    assert run(["report", str(bench), "--out", str(tmp_path / "again")]) == 0
    assert first == {p.name: p.read_bytes() for p in (tmp_path / "again").rglob("*") if p.is_file()}


def test_crops_that_an_export_left_behind_are_left_out(tmp_path: Path) -> None:
    bench = make(tmp_path / "b", curated=False)
    benchmark = Benchmark.open(bench)
    with benchmark.writing(stage="test") as writer:
        writer.remove(benchmark.manifest, "crops/")
    (tmp_path / "site").mkdir()
    write_benchmark_report(Benchmark.open(bench), tmp_path / "site")
    assert "a.jpg" not in Page(tmp_path / "site/objects/0001.html").links


def test_a_benchmark_without_sightings_has_no_such_pages(tmp_path: Path) -> None:
    benchmark = Benchmark.create(tmp_path / "b")
    assert not has_objects(benchmark)
