"""Files that are made to harm: each ends as a rejected video with a reason, in bounded time and memory, and nothing
else is read and nothing asked of a network."""

import http.server
import os
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from reliability_page import Reliability
from sample_videos import Numbered

from reeltalk.cli import run
from reeltalk.parallel import Call, Failure, Limits, LocalExecutor
from reeltalk.store.benchmark import Benchmark
from reeltalk.store.tables import REJECTED, VIDEOS
from reeltalk.video.downscale import rows_of
from reeltalk_build.curate.settings import CurateSettings
from reeltalk_build.curate.stage import curate

GIB = 1 << 30
KEEP_ALL = CurateSettings(
    min_duration_s=0,
    min_shots=1,
    max_shots=500,
    min_mean_shot_s=0,
    max_mean_shot_s=1000,
    min_flow_px=0,
    max_flow_px=1e6,
)


class Canary:
    """A server and a file that nobody may touch."""

    def __init__(self, folder: Path) -> None:
        self.asked: list[str] = []
        asked = self.asked

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                self.send_error(404)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        # A FIFO as the secret: whoever opens it for reading lets this writer through.
        self.secret = folder / "secret.mp4"
        os.mkfifo(self.secret)
        self.opened = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        with open(self.secret, "wb"):
            self.opened.set()


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Canary]:
    made = Canary(tmp_path_factory.mktemp("secret"))
    yield made
    made.server.shutdown()


def box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content) + 8) + kind + content


def patched(data: bytes, marker: bytes, offset: int, value: bytes) -> bytes:
    at = data.index(marker) + offset
    return data[:at] + value + data[at + len(value) :]


def h264(folder: Path, name: str, **options: Any) -> bytes:
    """A small MP4 made by the parameters of `Numbered`."""
    return Numbered(name, **options).make()[0].read_bytes()


def lists(canary: Canary) -> dict[str, bytes]:
    """Playlists, lists and scripts under a video's name: each would have another file or address opened."""
    secret, address = str(canary.secret), canary.address
    hls = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n%s\n#EXT-X-ENDLIST\n"
    return {
        "hls-network.mp4": (hls % f"{address}/a.ts").encode(),
        "hls-file.mp4": (hls % f"file://{secret}").encode(),
        "hls-key.ts": hls.replace("#EXTINF", f'#EXT-X-KEY:METHOD=AES-128,URI="{address}/key"\n#EXTINF').encode(),
        "hls-relative.m4v": (hls % "secret.mp4").encode(),
        "concat-list.mp4": f"ffconcat version 1.0\nfile '{secret}'\nduration 10\n".encode(),
        "concat-network.mkv": f"ffconcat version 1.0\nfile {address}/x.mp4\n".encode(),
        "concat-subfile.mp4": f"ffconcat version 1.0\nfile subfile,,start,0,end,9,,:{secret}\n".encode(),
        "dash.mp4": (
            f'<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet>'
            f'<Representation id="1"><BaseURL>{address}/v.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>'
        ).encode(),
        "smil.mov": f'<smil><body><video src="{address}/a"/></body></smil>'.encode(),
        "asx.wmv": f'<asx version="3"><entry><ref href="{address}/a"/></entry></asx>'.encode(),
        "rtsp-sdp.mp4": b"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n"
        b"a=rtpmap:96 H264/90000\n",
        "image-pattern.mp4": b"%03d.png",
        "vapoursynth.avi": f"import os; open({secret!r})".encode(),
        "shebang.mp4": f"#!/bin/sh\ncat {secret}\n".encode(),
        "data-uri.mp4": b"data:video/mp4;base64,AAAA",
        "webm-dash.webm": f"<MPD><BaseURL>{address}</BaseURL></MPD>".encode(),
    }


def shapes(folder: Path, canary: Canary) -> dict[str, bytes]:
    """Files that are videos, or nearly, and lie about their size, their times or their tracks."""
    good = h264(folder, "h264.mp4")
    ftyp = good[: struct.unpack(">I", good[:4])[0]]
    alis = box(b"alis", b"\0\0\0\0" + b"\0" * 150)
    url = box(b"url ", b"\0\0\0\0" + f"{canary.address}/media\0".encode())
    dref_at = good.index(b"dref")
    stts_at = good.index(b"stts")
    return {
        "giant-entry.mp4": patched(good, b"avcC", -58, struct.pack(">HH", 65535, 65535)),
        "giant-header.mp4": patched(good, b"tkhd", 80, struct.pack(">II", 0x7FFFFFFF, 0x7FFFFFFF)),
        "giant-box.mp4": ftyp + struct.pack(">I4sQ", 1, b"moov", 2**62),
        "endless-box.mp4": ftyp + box(b"moov", b"\0\0\0\0trak" * 4000),
        "deep-boxes.mp4": ftyp + nested(400),
        "external-media.mp4": good[: dref_at + 12] + url + good[dref_at + 24 :],
        "alias.mov": good[: dref_at + 12] + alis + good[dref_at + 24 :],
        "endless-times.mp4": patched(good, b"stts", 8, struct.pack(">III", 0, 0, 0)) if stts_at else b"",
        "billions-of-frames.mp4": patched(good, b"stts", 12, struct.pack(">II", 0xFFFFFFFF, 1)),
        "times-backwards.mp4": patched(good, b"stts", 16, struct.pack(">I", 0xFFFFFFF0)),
        "time-scale-zero.mp4": patched(good, b"mdhd", 16, struct.pack(">I", 0)),
        "long-duration.mp4": patched(good, b"mvhd", 20, struct.pack(">I", 0xFFFFFFFF)),
        "sizes-lie.mp4": patched(good, b"stsz", 12, struct.pack(">I", 0xFFFFFF)),
        "offsets-lie.mp4": patched(good, b"stco", 12, struct.pack(">I", 0xFFFFFFF0)),
        "no-index.mp4": good.replace(b"stco", b"free"),
        "only-header.mp4": ftyp,
        "zeros.mp4": b"\0" * 200_000,
        "random.mkv": np.random.default_rng(1).bytes(200_000),
        "matroska-bomb.mkv": b"\x1a\x45\xdf\xa3\x01" + b"\xff" * 6 + b"\xfe\x18\x53\x80\x67\x01" + b"\xff" * 5000,
        "ts-noise.ts": b"".join(b"\x47" + np.random.default_rng(n).bytes(187) for n in range(800)),
        "torn.mp4": good[: len(good) // 2],
        "torn-in-the-middle.mkv": torn(h264(folder, "h264-variable.mkv", variable=True)),
        "bit-flips.webm": flipped(h264(folder, "vp9.webm", codec="libvpx-vp9", frames=120,
                                       options={"deadline": "realtime", "cpu-used": "8"})),
    }  # fmt: skip


def nested(depth: int) -> bytes:
    content = b""
    for _ in range(depth):
        content = box(b"moov" if len(content) % 3 else b"udta", content)
    return content


def torn(data: bytes) -> bytes:
    return data[: len(data) // 3] + b"\0" * 3000 + data[len(data) // 2 :]


def flipped(data: bytes) -> bytes:
    broken = bytearray(data)
    chance = random.Random(2)
    for _ in range(len(data) // 40):
        broken[chance.randrange(300, len(data))] ^= 1 << chance.randrange(8)
    return bytes(broken)


def grey(width: int, height: int, layout: str) -> av.VideoFrame:
    """A frame of one colour; a new one holds whatever memory held, which not every encoder takes."""
    frame = av.VideoFrame(width, height, layout)
    for plane in frame.planes:
        rows_of(plane)[:] = 128
    return frame


def made_by_muxer(folder: Path, still_frames: int) -> None:
    """Files that a muxer makes and nobody wants; one has so many large frames that cost nothing to store."""
    with av.open(str(folder / "sound-only.mp4"), "w") as output:
        stream: Any = output.add_stream("aac", rate=8000)
        for start in range(0, 8000, 1024):
            part = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            part.sample_rate, part.pts = 8000, start
            output.mux(stream.encode(part))
        output.mux(stream.encode(None))
    for name, times in (
        ("negative-times.mkv", [-5000, -4000, -10, 0, 40, 80]),
        ("jump-in-time.mkv", [0, 40, 80, 10**9, 10**9 + 40]),
        ("one-frame.mp4", [0]),
    ):
        options = {"avoid_negative_ts": "disabled"}
        with av.open(str(folder / name), "w", options=options) as output:
            stream = output.add_stream("mpeg4", rate=25)
            stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
            stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
            packets = []
            for number in range(len(times)):
                frame = grey(64, 64, "yuv420p")
                frame.pts, frame.time_base = 40 * number, Fraction(1, 1000)
                packets += stream.encode(frame)
            # The encoder would not take such times; a container does.
            for packet, time_ms in zip([*packets, *stream.encode(None)], times, strict=True):
                packet.pts = packet.dts = time_ms
                output.mux(packet)
    # A picture that says that it is 30,000 pixels wide and high.
    with av.open(str(folder / "giant-size.avi"), "w") as output:
        stream = output.add_stream("mjpeg", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuvj420p"
        for number in range(10):
            frame = grey(64, 64, "yuvj420p")
            frame.pts = number
            output.mux(stream.encode(frame))
        output.mux(stream.encode(None))
    data = (folder / "giant-size.avi").read_bytes()
    sizes = struct.pack(">HH", 64, 64)
    (folder / "giant-size.avi").write_bytes(data.replace(b"\x08" + sizes, b"\x08" + struct.pack(">HH", 30000, 30000)))
    # The longer, the more decoding for the same few bytes.
    with av.open(str(folder / "skip-bomb.mp4"), "w") as output:
        stream = output.add_stream("libx264", rate=1000, options={"preset": "ultrafast", "g": "100000", "crf": "51"})
        stream.width, stream.height, stream.pix_fmt = 1280, 720, "yuv420p"
        still = grey(1280, 720, "yuv420p")
        for number in range(still_frames):
            still.pts = number
            output.mux(stream.encode(still))
        output.mux(stream.encode(None))


@pytest.mark.timeout(900)
def test_hostile_files_are_rejected_with_a_reason(
    canary: Canary, tmp_path: Path, reliability: Reliability, full: bool
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name, content in {**lists(canary), **shapes(tmp_path, canary)}.items():
        (folder / name).write_bytes(content)
    made_by_muxer(folder, still_frames=6000 if full else 600)
    (folder / "fifo.mp4").unlink(missing_ok=True)
    os.mkfifo(folder / "fifo.mp4")
    (folder / "link.mp4").symlink_to(canary.secret)
    (folder / "link-to-proc.mp4").symlink_to("/proc/self/environ")
    (folder / "empty.mp4").touch()
    (folder / "folder.mp4").mkdir()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(folder / "socket.mp4"))
    (folder / "secret.mp4").symlink_to(canary.secret)
    count = len(os.listdir(folder))
    assert count >= 40
    tally = reliability(
        "videos",
        "files that are made to harm, curated",
        "no reason, a connection, a foreign file that is read, above 30 s or 1 GiB",
    )
    tally.tried = count
    executor = LocalExecutor(2)
    seconds: list[float] = []
    curate([folder], Benchmark.create(tmp_path / "b"), KEEP_ALL, executor=Timed(executor, seconds))
    bench = Benchmark.open(tmp_path / "b")
    rejected = {row.record_id: row.reason for row in bench.read(REJECTED)}
    kept = {video.id for video in bench.read(VIDEOS)}
    # Some only lie about what nobody asks, and decode: they may stay.
    assert kept <= {
        "torn-in-the-middle", "bit-flips", "negative-times", "one-frame", "skip-bomb", "giant-header", "long-duration",
        "external-media", "alias", "times-backwards", "time-scale-zero", "jump-in-time", "billions-of-frames",
        "endless-times", "sizes-lie", "torn", "offsets-lie", "giant-entry",
    }  # fmt: skip
    assert all(reason and len(reason) < 400 for reason in rejected.values())
    assert {"hls-file", "concat-list", "dash", "link", "fifo", "sound-only", "giant-size"} <= set(rejected)
    assert len(rejected) + len(kept) >= count - 1
    assert max(seconds) <= 30
    assert canary.asked == []
    assert not canary.opened.is_set()
    listening.close()


class Timed:
    """An executor that notes how long each call took from when it was taken."""

    def __init__(self, executor: LocalExecutor, seconds: list[float]) -> None:
        self.executor, self.seconds = executor, seconds

    def map(self, function: str, calls: Any) -> Iterator[tuple[int, Any]]:
        begun: dict[int, float] = {}

        def noted() -> Iterator[Call]:
            for index, call in enumerate(calls):
                begun[index] = time.monotonic()
                yield call

        for index, outcome in self.executor.map(function, noted()):
            self.seconds.append(time.monotonic() - begun[index])
            yield index, outcome


MUTATIONS: list[Callable[[bytes, random.Random], bytes]] = [
    lambda data, chance: data[: chance.randrange(1, len(data))],
    lambda data, chance: data[:100] + data[100 + chance.randrange(1, len(data) // 2) :],
    lambda data, chance: mutate(data, chance, chance.randrange(1, 6), 0, 2000),
    lambda data, chance: mutate(data, chance, chance.randrange(1, 200), 0, len(data)),
    lambda data, chance: mutate(data, chance, chance.randrange(1, 30), max(0, len(data) - 5000), len(data)),
    lambda data, chance: data + data[: chance.randrange(len(data))],
    lambda data, chance: swapped(data, chance),
]


def mutate(data: bytes, chance: random.Random, count: int, low: int, high: int) -> bytes:
    broken = bytearray(data)
    for _ in range(count):
        broken[chance.randrange(low, min(high, len(data)))] = chance.choice((0, 255, 127, chance.randrange(256)))
    return bytes(broken)


def swapped(data: bytes, chance: random.Random) -> bytes:
    a, b = sorted(chance.randrange(len(data)) for _ in range(2))
    return data[:a] + data[b:] + data[a:b]


@pytest.mark.timeout(10_800)
def test_mutated_videos_never_take_the_parent_with_them(
    canary: Canary, tmp_path: Path, reliability: Reliability
) -> None:
    """40, 1,000 under make test-full, 20,000 for a release; eight pairs of container and codec."""
    tally = reliability(
        "videos",
        "mutated videos, read and scanned",
        "a parent that dies, an error of ours, a connection, above 30 s or 1 GiB",
    )
    quick = {"deadline": "realtime", "cpu-used": "8"}
    films = [
        Numbered("m-h264.mp4", frames=60),
        Numbered("m-h264.mkv", frames=60, options={"bf": "3"}),
        Numbered("m-h264.ts", frames=60),
        Numbered("m-h264.mov", frames=60, audio=True),
        Numbered("m-vp9.webm", codec="libvpx-vp9", frames=60, options=quick),
        Numbered("m-av1.mp4", codec="libsvtav1", frames=60, options={"preset": "12"}),
        Numbered("m-mpeg4.avi", codec="mpeg4", frames=60, rate=Fraction(25)),
        Numbered("m-hevc.mkv", codec="libx265", frames=60, options={"x265-params": "log-level=error"}),
    ]
    originals = [(film.name, film.make()[0].read_bytes()) for film in films]
    chance = random.Random(7)
    executor = LocalExecutor(2)
    limits = Limits(wall_s=30, memory_bytes=GIB)
    settings = {
        "detector": {"detector": "content"}, "sample_fps": 2, "min_sharpness": 20, "max_similarity": 0.9,
        "max_shots": 500,
    }  # fmt: skip
    ends: dict[str, int] = {"read": 0, "refused": 0, "failed": 0}
    due = reliability.count(24, full=1000, release=20_000)
    # Not all lie on the disk at once.
    for first in range(0, due, 1000):
        calls = []
        for number in range(first, min(first + 1000, due)):
            name, data = originals[number % len(originals)]
            path = tmp_path / f"{number}-{name}"
            path.write_bytes(MUTATIONS[chance.randrange(len(MUTATIONS))](data, chance))
            calls.append(path)
        for function, told in (
            ("reeltalk_build.curate.workers:ingest", {"pictures": False, "shortest_s": 0}),
            ("reeltalk_build.curate.scanning:scan", {"rotation_deg": 0, "settings": settings}),
        ):
            for _, outcome in executor.map(function, [Call({"path": str(path), **told}, limits) for path in calls]):
                if isinstance(outcome, Failure):
                    assert outcome.kind != "time", outcome
                    assert str(outcome)
                    ends["failed"] += 1
                else:
                    ends["refused" if outcome["reason"] else "read"] += 1
        for path in calls:
            path.unlink()
        tally.tried += len(calls)
    assert sum(ends.values()) == 2 * due
    assert ends["read"]
    assert ends["refused"]
    # Our own mistakes would come as failures of kind `error`; decoders die, we do not.
    assert canary.asked == []
    print(ends)


def test_the_command_survives_a_folder_of_rubbish(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    for number in range(6):
        (tmp_path / "in" / f"{number}.mp4").write_bytes(np.random.default_rng(number).bytes(4000))
    assert run(["curate", str(tmp_path / "in"), "--into", str(tmp_path / "b")]) == 1
    assert "6 rejected" in capsys.readouterr().out
