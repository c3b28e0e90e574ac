"""What the review shows at a time is the picture that a model gets at that time, for the films of the corpus.

Through our own server and player, in Debian's Chromium. Films that browsers show otherwise are proxies.
"""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import cv2
import numpy as np
import pytest
from served_review import ReviewSite, review_of, serving

from corpus import films
from corpus.pattern import read_number
from reeltalk.video.encode import shrink_to
from reeltalk.video.frames import frames_at
from reeltalk_review.access import Role
from reeltalk_review.app import create_app

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FILMS: Final = {film.name: film for film in films.entries() if film.verdict in ("read", "repair") and film.times}
QUICK: Final = (
    "picture_3s_late.mp4", "portrait_mirrored.mp4", "dvd_pal_wide.vob", "untagged_hd.mp4",
)  # fmt: skip
"""One each of those that begin late, are turned, have wide pixels or tell no colours, for `make test`."""
SMALL_PX: Final = 48
"""Pictures are compared at this width: what is left of them after two encoders is their place, shape and colour."""
MOST_APART: Final = 7
"""For 99 % of the plain pixels, since two lossy encoders lie between. All but two films stay within 6."""
IN_BT709: Final = 12
"""Chromium without a GPU has the matrix of BT.709 in eight bits, and is off by up to 9 in blue and 11 in red."""
SQUARE: Final = np.ones((5, 5), np.uint8)

SHOW = """async ([sha256, times_s]) => {
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
  const found = [];
  for (const time_s of times_s) {
    await player.seek(time_s);
    context.drawImage(video, 0, 0, canvas.width, canvas.height);
    found.push(canvas.toDataURL("image/png").split(",")[1]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def site(full: bool, tmp_path_factory: pytest.TempPathFactory) -> ReviewSite:
    folder = tmp_path_factory.mktemp("films")
    names = [name for name in FILMS if full or name in QUICK]
    for name in names:
        FILMS[name].make(folder / name)
    return review_of([folder / name for name in names], tmp_path_factory.mktemp("pictures"))


@pytest.fixture(scope="module")
def page(site: ReviewSite, browser: "Browser") -> "Iterator[Page]":
    headers = site.headers(f"A viewer in {browser.browser_type.name}", Role.OWNER)
    with serving(create_app(site.project)) as address:
        tab = browser.new_context(extra_http_headers=headers).new_page()
        tab.goto(address)
        yield tab
        tab.context.close()


@pytest.mark.browser(always=True)
@pytest.mark.parametrize("name", FILMS)
def test_people_see_what_models_see(
    name: str, site: ReviewSite, page: "Page", tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if name not in site.hashes:
        pytest.skip("full counts: make test-full")
    film = FILMS[name]
    film.make(tmp_path / name)
    assert film.times is not None
    assert film.ends is not None
    ends = [*film.times[1:], film.ends]
    middles = [(start + end) / 2 for start, end in zip(film.times, ends, strict=True) if end > start]
    asked = sorted({middles[0] / 2, middles[len(middles) // 3], middles[-1]})
    shown: Any = page.evaluate(SHOW, [site.hashes[name], asked])
    for time_s, text, frame in zip(asked, shown, frames_at(tmp_path / name, asked), strict=True):
        by_people = cv2.imdecode(np.frombuffer(base64.b64decode(text), np.uint8), cv2.IMREAD_COLOR)
        assert by_people is not None
        by_model = frame.pixels
        ratio = by_people.shape[1] / by_people.shape[0] / (by_model.shape[1] / by_model.shape[0])
        assert ratio == pytest.approx(1, abs=0.03)
        small = shrink_to(by_model, SMALL_PX)
        size = small.shape[1], small.shape[0]
        other = cv2.resize(by_people[:, :, ::-1], size, interpolation=cv2.INTER_AREA)
        # At an edge, encoders share out one colour for four pixels.
        plain = (cv2.dilate(small, SQUARE).astype(int) - cv2.erode(small, SQUARE)).max(axis=2) <= MOST_APART
        apart = np.percentile(np.abs(small.astype(int) - other.astype(int)).max(axis=2)[plain], 99)
        assert apart <= (IN_BT709 if film.light == "bt709" else MOST_APART), (
            name,
            time_s,
            apart,
            read_number(by_people[:, :, ::-1]),
            read_number(by_model),
        )
