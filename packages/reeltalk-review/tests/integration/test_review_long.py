"""An hour of 1080p with sound: it is prepared, opened and sought like a short clip."""

import itertools
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import av
import httpx
import numpy as np
import pytest
from sample_videos import cached, numbered_picture, real_clips
from served_review import ReviewSite, review_of, serving

from reeltalk.store.media import MediaStore
from reeltalk_review.access import Role
from reeltalk_review.app import create_app
from reeltalk_review.database import PLAYABLE
from reeltalk_review.playable import ORIGINAL, PlayableFolder

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
RATE: Final = 30
LOOP: Final = 120
"""Frames that are encoded; the hour repeats them."""
OPTIONS: Final = {"preset": "ultrafast", "crf": "34", "bf": "0", "g": "60"}
SHORT, WHOLE = 60 * RATE, 3600 * RATE

OPEN = """async ([sha256, wanted]) => {
  const { Player } = await import("/static/player.js");
  const video = document.createElement("video");
  video.muted = true;
  document.body.append(video);
  const begun = performance.now();
  const player = new Player(video);
  const { pts_s } = await (await fetch(`/media/${sha256}/frames`)).json();
  await player.load(`/media/${sha256}`, pts_s);
  const opened_ms = performance.now() - begun;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [320, 96];
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const found = [], took_ms = [];
  for (const frame of wanted) {
    const asked = performance.now();
    await player.seekFrame(frame);
    took_ms.push(performance.now() - asked);
    context.drawImage(video, 0, 0, 320, 96, 0, 0, 320, 96);
    let number = 0;
    for (let bit = 0; bit < 14; bit++) {
      const { data } = context.getImageData(16 + bit * 20 + 7, 14, 5, 5);
      let sum = 0;
      for (let pixel = 0; pixel < 25; pixel++) sum += data[4 * pixel];
      if (sum / 25 > 128) number += 1 << bit;
    }
    found.push(number);
  }
  return { found, took_ms, opened_ms, frames: player.frames, size: [video.videoWidth, video.videoHeight] };
}"""


def film(frames: int) -> Path:
    """Real pictures of 1920 × 1080 with the number of each frame in a corner, and sound, repeated."""

    def write(path: Path) -> None:
        loop = cached("loop-1080p.mp4", f"{LOOP} numbered frames, {RATE}, {OPTIONS}, with sound", _write_loop)
        with av.open(str(loop)) as source, av.open(str(path), "w") as output:
            streams = {stream.index: output.add_stream_from_template(stream) for stream in source.streams}
            packets = [packet for packet in source.demux() if packet.size and packet.dts is not None]
            for turn in range(frames // LOOP):
                for packet in packets:
                    late = round(Fraction(turn * LOOP, RATE) / packet.time_base)
                    again = av.Packet(bytes(packet))
                    again.pts, again.dts = (packet.pts or 0) + late, (packet.dts or 0) + late
                    again.time_base, again.duration = packet.time_base, packet.duration
                    again.is_keyframe, again.stream = packet.is_keyframe, streams[packet.stream_index]
                    output.mux(again)

    return cached(f"film-1080p-{frames}.mp4", f"{frames} frames of a loop of {LOOP}, {OPTIONS}", write)


def _write_loop(path: Path) -> None:
    with av.open(str(real_clips()["bigbuckbunny"])) as clip:
        shown = itertools.islice(clip.decode(video=0), 75)
        pictures = [frame.reformat(1920, 1080, "rgb24").to_ndarray() for frame in shown]
    with av.open(str(path), "w") as output:
        video: Any = output.add_stream("libx264", rate=RATE, options=OPTIONS)
        video.width, video.height, video.pix_fmt = 1920, 1080, "yuv420p"
        sound: Any = output.add_stream("aac", rate=48_000)
        for number in range(LOOP):
            picture = pictures[number % len(pictures)].copy()
            picture[:96, :320] = numbered_picture(number)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format="yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            output.mux(video.encode(frame))
        output.mux(video.encode(None))
        # A whole number of AAC's frames of 1,024 samples is a little less than the pictures take.
        for start in range(0, 48_000 * LOOP // RATE - 2048, 1024):
            tone = np.sin((np.arange(1024) + start) / 20).astype(np.float32)[None]
            part = av.AudioFrame.from_ndarray(tone, format="fltp", layout="mono")
            part.sample_rate, part.pts, part.time_base = 48_000, start, Fraction(1, 48_000)
            output.mux(sound.encode(part))
        output.mux(sound.encode(None))


@pytest.fixture(scope="module")
def frames(full: bool) -> int:
    return WHOLE if full else SHORT


@pytest.fixture(scope="module")
def site(frames: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ReviewSite, float]]:
    path = film(frames)
    begun = time.monotonic()
    found = review_of([path], tmp_path_factory.mktemp("long"))
    yield found, time.monotonic() - begun
    found.project.database.close()


@pytest.fixture(scope="module")
def page(site: tuple[ReviewSite, float], browser: "Browser") -> "Iterator[Page]":
    headers = site[0].headers(f"Somebody in {browser.browser_type.name}", Role.OWNER)
    with serving(create_app(site[0].project)) as address:
        tab = browser.new_context(extra_http_headers=headers).new_page()
        tab.goto(address)
        yield tab
        tab.context.close()


@pytest.mark.firefox
def test_it_opens_and_every_seek_lands_on_its_frame(site: tuple[ReviewSite, float], page: "Page", frames: int) -> None:
    review, prepared_s = site
    # What is looked at in it is its packets, not its pictures.
    assert prepared_s < 120
    (sha256,) = review.hashes.values()
    assert [served.file for served in review.served.values()] == [ORIGINAL]
    wanted = [0, frames - 1, frames // 2, frames // 2 + 1, frames // 3, 7, frames - 61, frames // 5 * 4]
    seen = page.evaluate(OPEN, [sha256, wanted])
    assert seen["size"] == [1920, 1080]
    assert seen["frames"] == frames
    assert seen["found"] == [frame % LOOP for frame in wanted]
    # Generous: other tests run beside this one.
    assert seen["opened_ms"] < 10_000
    assert max(seen["took_ms"]) < 10_000


def test_times_of_frames_are_sent_compressed(site: tuple[ReviewSite, float], frames: int) -> None:
    review, _ = site
    (sha256,) = review.hashes.values()
    headers = review.headers("A script", Role.OWNER)
    with serving(create_app(review.project)) as address, httpx.Client(base_url=address, headers=headers) as client:
        packed = client.get(f"/media/{sha256}/frames")
        assert packed.headers["content-encoding"] == "gzip"
        assert len(packed.json()["pts_s"]) == frames
        assert int(packed.headers["content-length"]) * 3 < len(packed.content)
        again = client.get(f"/media/{sha256}/frames", headers={"If-None-Match": packed.headers["etag"]})
        assert again.status_code == 304
    folder = PlayableFolder(review.project.folder / PLAYABLE, MediaStore(review.project.benchmark))
    assert folder.frames(sha256).stat().st_size == int(packed.headers["content-length"])
