"""The player plays parts of a video and nothing else, one after the other or over and over, in Debian's Chromium."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from sample_videos import Numbered
from served_review import ReviewSite, review_of, serving

from reeltalk_review.access import Role
from reeltalk_review.app import create_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FILM = Numbered("h264-variable.mp4", variable=True)
"""Frames of 40, 80 and 120 ms in turn."""
OPEN = """async (sha256) => {
  const { Player } = await import("/static/player.js");
  document.querySelectorAll("video").forEach((each) => each.remove());
  const video = document.createElement("video");
  video.muted = true;
  document.body.append(video);
  const player = new Player(video);
  window.player = player;
  window.heard = [];
  for (const name of ["frame", "state", "interval", "intervals", "end", "problem"]) {
    player.addEventListener(name, ({ detail }) => heard.push([name, detail]));
  }
  const { pts_s } = await (await fetch(`/media/${sha256}/frames`)).json();
  await player.load(`/media/${sha256}`, pts_s);
  window.until = (name, count = 1) => new Promise((resolve) => {
    player.addEventListener(name, () => { if (--count === 0) resolve(); });
  });
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> ReviewSite:
    return review_of([FILM.make()[0]], tmp_path_factory.mktemp("playing"))


@pytest.fixture(scope="module")
def tab(site: ReviewSite, browser: "Browser") -> "Iterator[Page]":
    headers = site.headers("player", Role.OWNER)
    with serving(create_app(site.project)) as address:
        opened = browser.new_context(extra_http_headers=headers).new_page()
        opened.goto(address)
        yield opened
        opened.context.close()


@pytest.fixture
def page(site: ReviewSite, tab: "Page") -> "Page":
    """A player with the video open, as `player`; what it tells is in `heard`."""
    tab.evaluate(OPEN, site.hashes[FILM.make()[0].name])
    return tab


def heard(page: "Page", name: str) -> list[Any]:
    return [detail for event, detail in page.evaluate("() => heard") if event == name]


def time_of(frame: int) -> float:
    return float(FILM.times()[frame])


def part(first: int, end: int) -> dict[str, float]:
    """From a frame to just before another."""
    return {"start_s": time_of(first), "end_s": time_of(end)}


@pytest.mark.browser
def test_a_video_opens_on_its_first_frame(page: "Page") -> None:
    assert page.evaluate("() => [player.frame, player.time_s, player.frames, player.paused]") == [0, 0, 240, True]
    assert page.evaluate("() => player.duration_s") == pytest.approx(19.12, abs=0.1)


@pytest.mark.browser
def test_frames_and_times_are_told_from_each_other(page: "Page") -> None:
    times = page.evaluate("() => [...Array(240).keys()].map((n) => player.timeOf(n))")
    assert times == pytest.approx([float(time) for time in FILM.times()], abs=0.0011)
    middles = [(time_of(n) + time_of(n + 1)) / 2 for n in range(239)]
    assert page.evaluate("(times) => times.map((each) => player.frameAt(each))", middles) == list(range(239))
    assert page.evaluate("() => [player.frameAt(-5), player.frameAt(1e9), player.frameAt(NaN)]") == [0, 239, 0]


@pytest.mark.browser
def test_playing_tells_frames_in_order(page: "Page") -> None:
    page.evaluate("async () => { await player.seekFrame(20); heard.length = 0; await player.play(); "
                  "await until('frame', 8); player.pause(); }")  # fmt: skip
    frames = [detail["frame"] for detail in heard(page, "frame")]
    assert frames == sorted(set(frames))
    assert frames[0] >= 20
    assert [detail["paused"] for detail in heard(page, "state")] == [False, True]


@pytest.mark.browser
def test_a_part_is_played_to_its_last_frame_and_no_further(page: "Page") -> None:
    told = page.evaluate(
        "async (part) => { const end = until('end'); await player.playIntervals([part]); await end; "
        "await new Promise((resolve) => setTimeout(resolve, 300)); return [player.frame, player.paused]; }",
        part(30, 40),
    )
    assert told == [39, True]
    # Some that came while the part was being left may have been on the screen for an instant, more on a slow machine.
    assert {detail["frame"] for detail in heard(page, "frame")} <= {0, *range(30, 50)}


@pytest.mark.browser
def test_parts_are_played_one_after_the_other(page: "Page") -> None:
    parts = [part(100, 106), part(10, 16), part(200, 206)]
    page.evaluate("async (parts) => { const end = until('end'); await player.playIntervals(parts); await end; }", parts)
    assert [detail["index"] for detail in heard(page, "interval")] == [0, 1, 2]
    assert page.evaluate("async () => player.seekFrame(player.frame)") == 205
    frames = [detail["frame"] for detail in heard(page, "frame")]
    assert [n for n in (100, 10, 200) if n in frames] == [100, 10, 200]
    assert frames.index(100) < frames.index(10) < frames.index(200)


@pytest.mark.browser
def test_a_loop_begins_again(page: "Page") -> None:
    page.evaluate(
        "async (part) => { const again = until('interval', 3); await player.playIntervals([part], { loop: true }); "
        "await again; player.pause(); }",
        part(50, 54),
    )
    assert len(heard(page, "interval")) == 3
    assert heard(page, "end") == []
    assert page.evaluate("() => [player.looping, player.intervals.length]") == [True, 1]


@pytest.mark.browser
def test_the_end_of_the_video_ends_a_loop_not(page: "Page") -> None:
    page.evaluate(
        "async (part) => { const again = until('interval', 2); await player.playIntervals([part], { loop: true }); "
        "await again; await until('frame'); player.pause(); }",
        {"start_s": time_of(235), "end_s": 1000},
    )
    assert page.evaluate("() => player.frame") in range(235, 240)


@pytest.mark.browser
def test_a_seek_to_outside_lets_go_of_the_parts_and_one_to_inside_does_not(page: "Page") -> None:
    parts = [part(10, 20), part(40, 50)]
    page.evaluate("async (parts) => player.playIntervals(parts, { loop: true, play: false })", parts)
    assert page.evaluate("async () => [await player.seekFrame(45), player.intervals.length]") == [45, 2]
    assert page.evaluate("async () => [await player.seekFrame(50), player.intervals.length]") == [50, 0]
    assert heard(page, "intervals")[-1] == {"intervals": [], "loop": False}


@pytest.mark.browser
def test_the_latest_of_many_seeks_counts(page: "Page") -> None:
    asked = "() => Promise.all([200, 3, 77, 150, 12].map((n) => player.seekFrame(n)))"
    assert page.evaluate(asked) == [12] * 5
    assert page.evaluate("async () => { for (let n = 0; n < 30; n++) player.step(1); return player.step(1); }") == 43


@pytest.mark.browser
def test_a_video_that_is_not_there_says_so(page: "Page") -> None:
    for src in ("/media/" + "0" * 64, "/static/player.js"):
        told = page.evaluate("(src) => player.load(src, [0, 0.04]).catch((error) => error.message)", src)
        assert told == "The browser cannot play this video."
    told = page.evaluate("() => player.load('/media/x', []).catch((error) => error.message)")
    assert told == "The times of this video's frames are not known."


@pytest.mark.browser
def test_playing_goes_on_from_the_start_after_the_end(page: "Page") -> None:
    page.evaluate(
        "async () => { await player.seekFrame(237); const end = until('end'); await player.play(); await end; }"
    )
    assert page.evaluate("() => player.paused")
    assert (
        page.evaluate(
            "async () => { await player.play(); await until('frame', 3); player.pause(); return player.frame }"
        )
        < 120
    )
