"""The video area in Chromium: a page of a real server that holds nothing else."""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from driven_screen import press, ready, saved
from sample_videos import Numbered
from served_review import ServedReview, content, served
from walk_report import find_axe_problems

from reeltalk.schema.intervals import Interval
from reeltalk.schema.media import Video
from reeltalk.schema.speech import Utterance
from reeltalk.store.manifest import hash_file
from reeltalk_review.database import PLAYABLE

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

MOUNT = """async ([assignment, more]) => {
  const { Playback, Watch, videoOffers } = await import("/static/watch.js");
  const { Keys } = await import("/static/keys.js");
  const { html, render } = await import("/static/vendor/preact.js");
  const { unit } = await (await fetch(`/api/work/${assignment}`)).json();
  document.body.replaceChildren();
  for (const name of ["turns.css", "watch.css"]) {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: `/static/${name}` });
    document.head.append(link);
    await new Promise((resolve) => link.addEventListener("load", resolve));
  }
  document.body.className = "screen";
  const place = document.createElement("main");
  document.body.append(place);
  const playback = new Playback({ ...unit.video, ...more.video }, unit.content);
  const turns = unit.content.turns.map(({ asked_at_s, evidence }) => ({ asked_at_s, evidence: evidence ?? [] }));
  const told = [];
  const onEvidence = (index, interval) => {
    told.push([index, interval]);
    const { asked_at_s, evidence } = turns[more.current];
    turns[more.current] = { asked_at_s, evidence: evidence.map((each, n) => (n === index ? interval : each)) };
    draw();
  };
  const asked = { act: () => told.push("asked"), video: "To question" };
  const keys = new Keys(() => ({ "to-asked": asked, ...videoOffers(playback) }));
  const draw = () => render(html`<${Watch} editor=${{ keys }} playback=${playback} turns=${turns}
    current=${more.current} onEvidence=${more.isFixed ? undefined : onEvidence} />`, place);
  draw();
  const field = document.createElement("textarea");
  field.id = "a-field";
  field.setAttribute("aria-label", "Answer");
  place.after(field);
  Object.assign(window, { playback, told, turns, keys });
  place.style.height = more.height ?? "calc(100vh - 3rem)";
  await playback.open(more.time_s ?? 8);
}"""
SAID = ((8.0, 12.0, "Where is the <i>milk</i>?"), (20.0, 24.0, "On the stove."))
LATE = Numbered(
    "vp9-late-captions.webm",
    codec="libvpx-vp9",
    frames=96,
    start_s=Fraction(5),
    options={"deadline": "realtime", "cpu-used": "8"},
)
"""Its first frame is at 5 s of the browser's clock."""
EDGES = ".edge.starts", ".edge.ends"


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedReview]:
    filled = content()
    late = LATE.make()[0]
    filled.videos.append(Video(id="late", sha256=hash_file(late)[0], duration_s=4.0))
    filled.media[hash_file(late)[0]] = late
    said = [("kitchen", *each) for each in SAID] + [("late", 1.0, 2.0, "Late.")]
    filled.speech.extend(
        Utterance(video_id=video_id, interval=Interval(start_s=start_s, end_s=end_s), text=text)
        for video_id, start_s, end_s, text in said
    )
    with served(tmp_path_factory.mktemp("watch"), filled, overlap=2) as opened:
        yield opened


Mount = Callable[..., "Page"]


@pytest.fixture
def mount(review: ServedReview, context: "BrowserContext") -> Mount:
    """Opens the video area of the chain of eight turns."""

    def opened(who: str = "Ana", unit: str = "chain-eight", page: "Page | None" = None, **more: Any) -> "Page":
        review.sign_in(context, who)
        page = page or context.new_page()
        page.goto(review.address)
        page.evaluate(MOUNT, [review.assignment(who, unit), {"current": 1, **more}])
        return page

    return opened


@pytest.fixture
def page(mount: Mount) -> "Page":
    return mount()


def box(page: "Page", selector: str) -> dict[str, float]:
    found: Any = page.locator(selector).first.bounding_box()
    assert found is not None, selector
    return dict(found)


def told(page: "Page") -> list[Any]:
    found: list[Any] = page.evaluate("() => told")
    return found


def at(page: "Page", time_s: float) -> tuple[float, float]:
    """Where a time is on the bar."""
    start_s, end_s = page.evaluate("() => [playback.view.start_s, playback.view.end_s]")
    track = box(page, ".track")
    return track["x"] + (time_s - start_s) / (end_s - start_s) * track["width"], track["y"] + 25


def frame(page: "Page") -> int:
    """The number of the frame on the screen, once no seek runs."""
    found: int = page.evaluate("() => playback.player.seekFrame(playback.player.frame)")
    return found


def drag(page: "Page", edge: str, to_s: float) -> None:
    """Drags an edge to a time."""
    handle = box(page, edge)
    page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
    page.mouse.down()
    page.mouse.move(*at(page, to_s + 0.7))
    page.mouse.move(*at(page, to_s))
    page.mouse.up()


def pixels(page: "Page", selector: str) -> Any:
    """The (H, W, 3) pixels of a canvas."""
    data, width, height = page.evaluate(
        """(selector) => {
          const canvas = document.querySelector(selector);
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return [[...data], canvas.width, canvas.height];
        }""",
        selector,
    )
    return np.array(data, np.uint8).reshape(height, width, 4)[:, :, :3]


@pytest.mark.browser
def test_the_picture_takes_what_bar_and_controls_leave(page: "Page") -> None:
    area, shown = box(page, ".watch"), box(page, "#video-frame")
    assert shown["width"] == area["width"]
    assert shown["height"] > area["height"] - 150
    assert box(page, "#theatre")["y"] + box(page, "#theatre")["height"] <= area["y"] + area["height"] + 1


@pytest.mark.browser
def test_the_time_and_the_scene_stand_below_the_pointer(page: "Page") -> None:
    page.mouse.move(*at(page, 11.1))
    assert page.locator(".preview span").all_inner_texts() == ["0:11.10", "Scene 2"]
    page.mouse.move(5, 5)
    page.locator(".preview").wait_for(state="detached")


@pytest.mark.browser(always=True)
def test_edges_of_the_evidence_are_dragged_to_frames(page: "Page") -> None:
    assert page.evaluate("() => turns[1].evidence") == [{"start_s": 8.8, "end_s": 10.4}]
    drag(page, EDGES[1], 12.13)
    assert told(page) == [[0, {"start_s": 8.8, "end_s": 12.1}]]
    assert frame(page) == 121, "the edge's frame is on the screen"
    drag(page, EDGES[0], 8.31)
    assert told(page)[1:] == [[0, {"start_s": 8.3, "end_s": 12.1}]]
    # An edge stops at the other one.
    drag(page, EDGES[1], 7.7)
    assert told(page)[2:] == [[0, {"start_s": 8.3, "end_s": 8.3}]]
    drag(page, EDGES[1], 9.0)
    assert told(page)[3:] == [[0, {"start_s": 8.3, "end_s": 9}]]


@pytest.mark.browser
def test_a_dragged_edge_is_saved_and_undone(review: ServedReview, context: "BrowserContext") -> None:
    review.sign_in(context, "Drag")
    page = context.new_page()
    page.goto(review.work("Drag"))
    ready(page)
    page.wait_for_selector("#play:enabled")
    handle, track = box(page, EDGES[1]), box(page, ".track")
    shown = page.locator(EDGES[1]).get_attribute("aria-valuenow")
    page.mouse.move(handle["x"] + 4, handle["y"] + 10)
    page.mouse.down()
    page.mouse.move(track["x"] + track["width"] / 2, handle["y"] + 10, steps=3)
    page.mouse.up()
    moved = page.locator(EDGES[1]).get_attribute("aria-valuenow")
    assert shown == "9.6"
    assert 11.5 < float(moved or 0) < 12.5
    saved(page)
    for _ in range(50):
        if review.entries("Drag"):
            break
        page.wait_for_timeout(100)
    assert review.entries("Drag")["0"]["evidence"] == [{"start_s": 8.0, "end_s": float(moved or 0)}]
    press(page, "z")
    page.wait_for_function("() => document.querySelector('.edge.ends').getAttribute('aria-valuenow') === '9.6'")


@pytest.mark.browser
def test_edges_are_dragged_with_a_finger(page: "Page") -> None:
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    x, y = at(page, 10.4)
    touch("touchStart", (x + 3, y))
    touch("touchMove", at(page, 11.0))
    touch("touchMove", at(page, 11.5))
    touch("touchEnd")
    page.wait_for_function("() => told.length === 1")
    assert told(page) == [[0, {"start_s": 8.8, "end_s": 11.5}]]
    touch("touchStart", at(page, 14.0))
    touch("touchEnd")
    page.wait_for_function("() => Math.abs(playback.time_s - 14) < 0.15")
    assert len(told(page)) == 1


@pytest.mark.browser
def test_edges_are_sliders_for_keys_and_screen_readers(page: "Page") -> None:
    from playwright.sync_api import expect

    start, end = (page.locator(edge) for edge in EDGES)
    expect(start).to_have_attribute("aria-label", "Evidence 1 of turn 2 starts")
    expect(end).to_have_attribute("aria-valuetext", "0:10.40")
    end.focus()
    press(page, "ArrowRight", "ArrowUp", "ArrowLeft", "PageUp")
    expect(end).to_have_attribute("aria-valuetext", "0:11.50")
    expect(end).to_be_focused()
    assert [each[1]["end_s"] for each in told(page)] == [10.5, 10.6, 10.5, 11.5]
    assert frame(page) == 115
    start.focus()
    press(page, "PageDown")
    expect(start).to_have_attribute("aria-valuenow", "7.8")
    press(page, "Shift+ArrowRight")
    assert len(told(page)) == 5, "keys of the page act on the page"


@pytest.mark.browser
def test_what_may_not_be_changed_has_no_edges(mount: Mount) -> None:
    assert mount(isFixed=True).locator(".edge").count() == 0


@pytest.mark.browser
def test_the_bar_shows_the_part_and_goes_with_the_playhead(page: "Page") -> None:
    def view() -> tuple[float, float]:
        start_s, end_s = page.evaluate("() => [playback.view.start_s, playback.view.end_s]")
        return round(start_s, 2), round(end_s, 2)

    part = view()
    assert part == (7.36, 16.64), "first the unit is shown"
    press(page, "\\")
    assert view() == (0, 40)
    assert page.locator("#zoom").inner_text().startswith("This part")
    press(page, "\\")
    page.evaluate("() => playback.seek(2)")
    page.wait_for_function("() => playback.view.start_s < 2")
    start_s, end_s = view()
    assert start_s <= 2 <= end_s
    assert end_s - start_s == pytest.approx(part[1] - part[0], abs=0.02)


@pytest.mark.browser
def test_captions_are_shown_by_a_key_and_stay_on(mount: Mount, review: ServedReview) -> None:
    asked: list[str] = []
    page = mount()
    page.on("request", lambda request: asked.append(request.url))
    active = "() => [...(playback.element.textTracks[0]?.activeCues ?? [])].map((cue) => cue.text)"
    page.wait_for_timeout(300)
    assert [url for url in asked if "captions" in url] == [], "who wants no captions does not load them"
    press(page, "Shift+C")
    page.wait_for_function(f"() => ({active})().length === 1")
    assert page.evaluate(active) == ["Where is the &lt;i&gt;milk&lt;/i&gt;?"]
    assert page.evaluate("() => playback.element.textTracks[0].activeCues[0].getCueAsHTML().textContent") == SAID[0][2]
    assert page.evaluate("() => playback.element.textTracks[0].mode") == "showing"
    page.evaluate("() => playback.seek(15)")
    page.wait_for_function(f"() => ({active})().length === 0")
    again = mount(page=page)
    again.wait_for_function(f"() => ({active})().length === 1")
    again.locator("#captions").click()
    assert again.evaluate("() => playback.element.textTracks[0].mode") == "disabled"


@pytest.mark.browser
def test_captions_count_from_the_first_frame(mount: Mount, review: ServedReview) -> None:
    sha256 = hash_file(LATE.make()[0])[0]
    assert list((review.project.folder / PLAYABLE).glob(f"{sha256}.speech.jsonl"))
    review.join("Olga", "owner")
    video = {"playable": f"/media/{sha256}", "captions": f"/media/{sha256}/captions", "duration_s": 4, "thumbnails": []}
    page = mount("Olga", "chain-later", video=video, time_s=0.5)
    press(page, "Shift+C")
    cue = "() => [...(playback.element.textTracks[0]?.cues ?? [])].map((cue) => [cue.startTime, cue.endTime])"
    # A film whose clock starts late is served as a copy whose clock starts at 0.
    page.wait_for_function(f"() => ({cue})().length === 1")
    assert page.evaluate(cue) == [[1, 2]]
    page.evaluate("() => playback.seek(1.5)")
    page.wait_for_function("() => playback.element.textTracks[0].activeCues.length === 1")


@pytest.mark.browser
def test_whether_there_is_sound_is_kept(mount: Mount) -> None:
    from playwright.sync_api import expect

    page = mount()
    press(page, "Shift+M")
    assert page.evaluate("() => playback.element.muted")
    expect(page.locator("#mute")).to_have_attribute("aria-pressed", "true")
    page = mount(page=page)
    assert page.evaluate("() => playback.element.muted")


@pytest.mark.browser
def test_a_large_film_is_a_key_away(page: "Page") -> None:
    small = box(page, ".watch")["height"]
    press(page, "x")
    assert page.evaluate("() => document.documentElement.hasAttribute('data-theatre')")
    assert box(page, ".watch")["height"] >= small
    assert page.locator("#theatre").get_attribute("aria-pressed") == "true"
    press(page, "x")
    assert box(page, ".watch")["height"] == small


@pytest.mark.browser
def test_the_end_of_the_last_frame_is_the_end_of_the_film(page: "Page") -> None:
    end_s = page.evaluate("async () => { await playback.seek(1e9); return playback.markEnd_s; }")
    assert end_s == page.evaluate("() => playback.snap(playback.duration_s)") == pytest.approx(40.0, abs=0.01)
    assert page.evaluate("(end_s) => playback.snap(end_s, -1)", end_s) == page.evaluate("() => playback.mark_s")
    assert page.evaluate("(end_s) => playback.snap(end_s, 1)", end_s) == end_s


@pytest.mark.browser
def test_buttons_do_what_they_say(page: "Page") -> None:
    from playwright.sync_api import expect

    page.locator("#to-asked").click()
    assert told(page) == ["asked"]
    page.locator("#step-on").click()
    page.locator("#step-on").click()
    page.locator("#step-back").click()
    assert frame(page) == 81
    expect(page.locator("#video-time")).to_have_text(re.compile(r"0:08\.10 / 0:40\.00"))
    page.locator("#faster").click()
    expect(page.locator("#video-speed")).to_have_text("1.25×")
    page.locator("#loop").click()
    expect(page.locator("#loop")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#video-doing")).to_have_text("looping the clip")
    expect(page.locator("#play")).to_contain_text("Pause")
    page.locator("#loop").click()
    page.locator("#play").click()
    expect(page.locator("#play")).to_contain_text("Play")


@pytest.mark.browser
def test_without_a_video_the_bar_moves_a_time(mount: Mount) -> None:
    from playwright.sync_api import expect

    page = mount(unit="dialogue-unseen", time_s=8)
    expect(page.locator("#video-problem")).to_contain_text("This video cannot be played")
    expect(page.locator("#play")).to_be_disabled()
    x, y = at(page, 9.0)
    page.mouse.click(x, y)
    expect(page.locator("#video-time")).to_have_text(re.compile(r"0:09\.0\d "))
    assert page.evaluate("() => playback.mark_s") == pytest.approx(9.0, abs=0.05)
    page.locator(EDGES[1]).focus()
    press(page, "ArrowRight")
    assert told(page) == [[0, {"start_s": 8.8, "end_s": 10.5}]]


@pytest.mark.browser
def test_nothing_is_watched_after_the_time_of_a_test(page: "Page") -> None:
    page.evaluate("() => { playback.until_s = 10; }")
    page.evaluate("() => playback.seek(30)")
    assert frame(page) == 100
    page.evaluate("async () => { await playback.seek(9.5); playback.toggle(); }")
    page.wait_for_function("() => playback.player.paused && playback.player.frame === 100")
    page.wait_for_timeout(300)
    assert frame(page) == 100


@pytest.mark.browser
@pytest.mark.parametrize(("width", "height"), [(390, 844), (844, 390), (1366, 768)])
def test_every_button_can_be_reached(mount: Mount, context: "BrowserContext", width: int, height: int) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": height})
    mount(page=page, height="70vh" if height > 500 else "100vh")
    buttons = page.locator(".watch button")
    boxes: list[Any] = [buttons.nth(n).bounding_box() for n in range(buttons.count())]
    assert None not in boxes
    assert len(boxes) >= 10
    for one in boxes:
        assert one["x"] >= 0
        assert one["x"] + one["width"] <= width
        assert one["height"] >= 20 or one["width"] >= 20
    for n, one in enumerate(boxes):
        for other in boxes[:n]:
            apart = (
                one["x"] + one["width"] <= other["x"] + 1
                or other["x"] + other["width"] <= one["x"] + 1
                or one["y"] + one["height"] <= other["y"] + 1
                or other["y"] + other["height"] <= one["y"] + 1
            )
            assert apart, (one, other)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.browser
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_nothing_is_grave_for_axe(mount: Mount, context: "BrowserContext", colours: Any) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme=colours)
    mount(page=page)
    page.evaluate(
        """() => {
          document.title = "Video";
          const heading = Object.assign(document.createElement("h1"), { textContent: "Video" });
          document.querySelector("main").prepend(heading);
        }"""
    )
    assert find_axe_problems(page) == []
