"""Every seek in the browser lands on the frame that was asked for: its number is read from the pixels.

Through our own server and player, in Debian's Chromium and Firefox, under the application's own content security
policy.
"""

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sample_videos import Numbered, cached
from served_review import ReviewSite, review_of, serving

from reeltalk.schema.intervals import Interval
from reeltalk.video.cut import cut_clip
from reeltalk_review.access import Role
from reeltalk_review.app import create_app
from reeltalk_review.playable import ORIGINAL

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FAST = {"deadline": "realtime", "cpu-used": "8"}
QUIET = {"x265-params": "log-level=error"}
NTSC = Fraction(30000, 1001)
SHOWN = (
    Numbered("h264-b-frames.mp4", options={"bf": "3", "g": "48"}, rate=NTSC),
    Numbered("h264-variable-no-b.mp4", variable=True, options={"bf": "0"}),
    Numbered("vp9.webm", codec="libvpx-vp9", frames=120, options=FAST),
    Numbered("vp9-variable.webm", codec="libvpx-vp9", frames=120, variable=True, options=FAST),
)
"""What the 200 seeks are made in."""
AWKWARD = (
    Numbered("h264-sound.mp4", audio=True),
    Numbered("av1.mp4", codec="libsvtav1", frames=120, options={"preset": "12"}),
    Numbered("h264-turned.mp4", rotation_deg=90),
)
"""As they are, too, but for sound and a rotation."""
PROXIED = (
    Numbered("h264-variable.mp4", variable=True),
    Numbered("hevc-10-bit.mp4", codec="libx265", frames=96, pixel_format="yuv420p10le", options=QUIET),
    Numbered("vp9-late.webm", codec="libvpx-vp9", frames=120, start_s=Fraction(5), options=FAST),
    Numbered("mpeg4-turned.mp4", codec="mpeg4", rotation_deg=270, options={"qscale": "3"}),
    Numbered("h264-variable.mkv", variable=True),
    Numbered("h264.ts", rate=Fraction(25)),
    Numbered("mpeg4.avi", codec="mpeg4", rate=Fraction(25), options={"qscale": "3"}),
    Numbered("h264-late.mp4", start_s=Fraction(5), options={"bf": "3"}),
)
"""What browsers do not play, or, as the late one, not to its end."""
TRIMMED = "trimmed.mp4"
TRIMMED_FROM = 31

SEEK = """async ([sha256, wanted]) => {
  const { Player } = await import("/static/player.js");
  document.querySelectorAll("video").forEach((each) => each.remove());
  const video = document.createElement("video");
  video.muted = true;
  document.body.append(video);
  const player = new Player(video);
  const { pts_s } = await (await fetch(`/media/${sha256}/frames`)).json();
  await player.load(`/media/${sha256}`, pts_s);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const read = () => {
    context.drawImage(video, 0, 0);
    let number = 0;
    for (let bit = 0; bit < 14; bit++) {
      const along = 16 + bit * 20 + 9;
      const { width, height } = canvas;
      const turned = height > width;
      // Turned clockwise by 90 degrees, what was above is on the right; by 270, on the left, and read upwards.
      const at = !turned ? [along, 16] : window.turned === 270 ? [16, height - 1 - along] : [width - 1 - 16, along];
      const { data } = context.getImageData(at[0] - 2, at[1] - 2, 5, 5);
      let sum = 0;
      for (let pixel = 0; pixel < 25; pixel++) sum += data[4 * pixel];
      if (sum / 25 > 128) number += 1 << bit;
    }
    return number;
  };
  const found = [];
  for (const [how, value] of wanted) {
    const frame = await player[how](value);
    found.push([frame, read(), player.frame]);
  }
  return { found, frames: player.frames, duration_s: player.duration_s };
}"""


def always(films: Sequence[Numbered]) -> list[Any]:
    """Films of which the first is tried in `make test` too."""
    return [pytest.param(films[0], marks=pytest.mark.browser(always=True)), *films[1:]]


@pytest.fixture(scope="module")
def trimmed() -> Path:
    """A clip whose edit list hides the frames from its key frame to where it begins."""
    path, _ = SHOWN[0].make()

    def cut(target: Path) -> None:
        interval = Interval(start_s=float(TRIMMED_FROM / NTSC), end_s=float(100 / NTSC))
        assert cut_clip(path, interval, target, lossless=True).how == "trim"

    return cached(TRIMMED, f"{SHOWN[0]!r} from {TRIMMED_FROM}", cut)


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest, full: bool, tmp_path_factory: pytest.TempPathFactory) -> ReviewSite:
    films = [film.make()[0] for film in ((*SHOWN, *AWKWARD, *PROXIED) if full else (SHOWN[0], PROXIED[0]))]
    if full:
        films.append(request.getfixturevalue("trimmed"))
    return review_of(films, tmp_path_factory.mktemp("seeking"))


@pytest.fixture(scope="module")
def page(site: ReviewSite, browser: "Browser") -> "Iterator[Page]":
    headers = site.headers(f"A seeker in {browser.browser_type.name}", Role.OWNER)
    with serving(create_app(site.project)) as address:
        tab = browser.new_context(extra_http_headers=headers).new_page()
        tab.goto(address)
        yield tab
        tab.context.close()


def played(site: ReviewSite, page: "Page", path: Path, wanted: Sequence[tuple[str, float]]) -> Any:
    return page.evaluate(SEEK, [site.hashes[path.name], list(wanted)])


def moments(film: Numbered, count: int) -> list[tuple[int, float]]:
    """Frames in no order, and moments at which each is on the screen, in seconds from the first; both ends are in."""
    generator = random.Random(film.name)
    times = [*film.times(), film.times()[-1] + (film.times()[-1] - film.times()[-2])]
    frames = [0, film.frames - 1, *(generator.randrange(film.frames) for _ in range(count - 2))]
    generator.shuffle(frames)
    # Containers count milliseconds: a moment nearer to a frame's bounds has no certain frame.
    found = []
    for n in frames:
        share = generator.uniform(0.05, 0.95)
        found.append((n, float(times[n] - times[0]) + share * float(times[n + 1] - times[n])))
    return found


@pytest.mark.browser
@pytest.mark.firefox
@pytest.mark.parametrize("film", always(SHOWN), ids=lambda film: film.name)
def test_fifty_seeks_land_on_the_frame_asked_for(site: ReviewSite, page: "Page", film: Numbered, full: bool) -> None:
    path, _ = film.make()
    wanted = moments(film, 50 if full else 5)
    answer = played(site, page, path, [("seek", time_s) for _, time_s in wanted])
    assert site.served[path.name].file == ORIGINAL
    assert answer["frames"] == film.frames
    assert answer["found"] == [[n, n, n] for n, _ in wanted]


@pytest.mark.browser
@pytest.mark.firefox
@pytest.mark.parametrize("film", AWKWARD, ids=lambda film: film.name)
def test_sound_and_rotation_do_not_matter(site: ReviewSite, page: "Page", film: Numbered, full: bool) -> None:
    path, _ = film.make()
    wanted = moments(film, 20 if full else 4)
    answer = played(site, page, path, [("seek", time_s) for _, time_s in wanted])
    assert site.served[path.name].file == ORIGINAL
    assert answer["found"] == [[n, n, n] for n, _ in wanted]


@pytest.mark.browser
@pytest.mark.firefox
@pytest.mark.parametrize("film", always(PROXIED), ids=lambda film: film.name)
def test_a_proxy_shows_the_frame_that_its_original_has_then(
    site: ReviewSite, page: "Page", film: Numbered, full: bool
) -> None:
    path, _ = film.make()
    wanted = moments(film, 20 if full else 4)
    page.evaluate("turned => { window.turned = turned }", film.rotation_deg)
    answer = played(site, page, path, [("seek", time_s) for _, time_s in wanted])
    page.evaluate("() => { window.turned = 0 }")
    assert site.served[path.name].file not in (ORIGINAL, None)
    assert answer["frames"] == film.frames
    assert answer["found"] == [[n, n, n] for n, _ in wanted]


@pytest.mark.browser
@pytest.mark.firefox
def test_frames_that_an_edit_list_hides_are_not_counted(site: ReviewSite, page: "Page", trimmed: Path) -> None:
    frames = [0, 1, 40, 68, 7, 2]
    answer = played(site, page, trimmed, [("seekFrame", n) for n in frames])
    assert answer["found"] == [[n, n + TRIMMED_FROM, n] for n in frames]


@pytest.mark.browser
@pytest.mark.firefox
@pytest.mark.parametrize("film", SHOWN[:2], ids=lambda film: film.name)
def test_a_step_is_one_frame_and_the_start_of_a_frame_is_that_frame(
    site: ReviewSite, page: "Page", film: Numbered
) -> None:
    path, _ = film.make()
    wanted: list[tuple[str, float]] = [
        ("seekFrame", 46),
        ("step", 1),
        ("step", 1),
        ("step", 1),
        ("step", -1),
        ("step", -2),
        ("step", 10_000),
    ]
    wanted += [("step", 1), ("step", -1), ("seekFrame", 0), ("step", -1), ("step", 1)]
    wanted += [("seek", float(film.times()[n])) for n in (17, 100)]
    answer = played(site, page, path, wanted)
    last = film.frames - 1
    expected = [46, 47, 48, 49, 48, 46, last, last, last - 1, 0, 0, 1, 17, 100]
    assert [[number, now] for _, number, now in answer["found"]] == [[n, n] for n in expected]
