"""Frames while a video plays: of a file those on the screen, of what is live the newest; and nothing else is opened."""

import contextlib
import itertools
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rtsp_camera import HEIGHT, WIDTH, camera
from sample_videos import Numbered, number_of

from reeltalk.parallel import Limits
from reeltalk.video.frames import frames_at
from reeltalk.video.picture import rgb
from reeltalk_streaming.video.feed import Feed
from reeltalk_streaming.video.live import FRAME_HEADER, REFUSED, follow

LIMITS = Limits(wall_s=60, memory_bytes=2 << 30)
STAND_IN = {"device": "testsrc=size=320x240:rate=20,realtime", "format": "lavfi"}
"""A source that libav draws, at the pace of a camera: through the code that reads webcams, without a webcam."""


def read(argument: dict[str, Any], *, most: int = 1000) -> Iterator[tuple[float, NDArray[np.uint8]]]:
    """Frames in a process of its own; the reason where there is none raises."""
    with Feed("reeltalk_streaming.video.live:follow", {"fps": 1.0, "longest_side_px": None} | argument, LIMITS) as feed:
        for number, block in enumerate(feed):
            if block.startswith(REFUSED):
                raise ValueError(block.decode())
            pts_s, height, width = FRAME_HEADER.unpack_from(block)
            yield pts_s, np.frombuffer(block, np.uint8, offset=FRAME_HEADER.size).reshape(height, width, 3)
            if number + 1 == most:
                return
        assert feed.failure is None, feed.failure


@pytest.mark.parametrize("fps", [0.4, 50.0, *(pytest.param(fps, marks=pytest.mark.slow) for fps in (1.0, 3.0))])
@pytest.mark.parametrize(
    "made", [Numbered("live.mp4"), Numbered("live-variable.mkv", variable=True)], ids=["even", "variable"]
)
def test_a_file_shows_what_is_on_the_screen_at_each_moment(made: Numbered, fps: float) -> None:
    path, times = made.make()
    shown = list(read({"path": str(path), "fps": fps}))
    moments = [n / fps for n in range(int(float(times[-1]) * fps + 1e-6) + 1)]
    expected = dict.fromkeys(frame.pts_s for frame in frames_at(path, moments))
    assert [pts_s for pts_s, _ in shown] == pytest.approx(list(expected), abs=1e-9)
    assert [float(times[number_of(pixels)]) for _, pixels in shown] == pytest.approx(list(expected), abs=1e-3)


def test_a_file_that_was_filmed_sideways_stands_upright_and_sizes_are_kept() -> None:
    path, _ = Numbered("live-turned.mp4", frames=48, rotation_deg=90).make()
    (_, pixels), *_ = read({"path": str(path), "longest_side_px": 160})
    assert pixels.shape == (160, 48, 3)


def test_a_file_of_one_frame_shows_it() -> None:
    path, _ = Numbered("live-one.mp4", frames=1).make()
    assert [pts_s for pts_s, _ in read({"path": str(path)})] == [0.0]


def test_a_pipe_is_read_like_a_file(tmp_path: Path) -> None:
    path, times = Numbered("live-pipe.ts", frames=72).make()
    os.mkfifo(tmp_path / "pipe.ts")

    def write() -> None:
        (tmp_path / "pipe.ts").write_bytes(path.read_bytes())

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    shown = list(read({"path": str(tmp_path / "pipe.ts")}))
    thread.join(10)
    assert [number_of(pixels) for _, pixels in shown] == [times.index(Fraction(n)) for n in range(3)]


def test_a_webcam_gives_frames_at_the_rate_and_in_its_own_time() -> None:
    shown = list(read({**STAND_IN, "fps": 5.0}, most=6))
    times = [pts_s for pts_s, _ in shown]
    assert times[0] == 0.0
    assert all(later > before for before, later in itertools.pairwise(times))
    # At most one a moment, however fast they come.
    assert len({int(pts_s * 5) for pts_s in times}) == 6
    assert shown[0][1].shape == (240, 320, 3)
    assert any((a != b).any() for (_, a), (_, b) in itertools.pairwise(shown))


def test_a_webcam_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="camera cannot be opened"):
        next(read({"device": "/dev/video-none", "format": "v4l2"}))


def test_an_rtsp_camera_is_read_over_its_one_connection() -> None:
    with camera() as there:
        shown = list(read({"address": there.address, "fps": 4.0}, most=4))
    assert [pixels.shape for _, pixels in shown] == [(HEIGHT, WIDTH, 3)] * 4
    assert 200 < shown[0][1].max()
    assert 60 > shown[0][1].min()
    assert [line.split()[0] for line in there.asked][:4] == ["OPTIONS", "DESCRIBE", "SETUP", "PLAY"]


def test_a_camera_that_hangs_up_ends_the_stream() -> None:
    with camera(frames=30) as there:
        assert list(read({"address": there.address, "fps": 10.0}))


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate that a camera signed for itself, as they do."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("certificate")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -keyout key.pem -out cert.pem"
    subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    return folder / "cert.pem", folder / "key.pem"


def test_an_rtsps_camera_is_read_through_tls(certificate: tuple[Path, Path]) -> None:
    with camera(certificate=certificate) as there:
        shown = list(read({"address": there.address, "fps": 4.0}, most=2))
    assert there.address.startswith("rtsps://")
    assert [pixels.shape for _, pixels in shown] == [(HEIGHT, WIDTH, 3)] * 2


@contextlib.contextmanager
def listening() -> Iterator[tuple[str, list[bytes]]]:
    """A host that notes whoever connects, and hangs up."""
    connected: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as other:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = other.accept()
                    connected.append(connection.recv(100))
                    connection.close()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"127.0.0.1:{other.getsockname()[1]}", connected
        # What was sent before this has been noted when the next one has.
        with socket.create_connection(other.getsockname()) as last:
            last.sendall(b"last")
            last.recv(1)
        other.shutdown(socket.SHUT_RDWR)
        thread.join(5)
    assert connected.pop() == b"last"


SCHEMES = ["rtsp://", "RTSP://", "rtsps://", "tcp://", "tls://", "http://", "udp://", "satip://", "file://", "//", ""]


@pytest.mark.parametrize(
    ("typed", "scheme"), [*(("rtsp", scheme) for scheme in SCHEMES), ("rtsps", "rtsps://"), ("rtsps", "tls://")]
)
def test_a_camera_that_sends_us_elsewhere_is_left(scheme: str, typed: str, request: pytest.FixtureRequest) -> None:
    """Whatever address it names: nobody connects to the other one."""
    own = request.getfixturevalue("certificate") if typed == "rtsps" else None
    with listening() as (host, connected):
        with camera(redirect_to=f"{scheme}{host}/live", certificate=own) as there:
            with pytest.raises(ValueError, match=r"sends us to another address|cannot be opened"):
                next(read({"address": there.address}))
            assert [line.split()[0] for line in there.asked] == ["OPTIONS", "DESCRIBE"]
    assert connected == []


def test_a_redirect_within_its_own_scheme_is_told_as_one() -> None:
    with camera() as other, camera(redirect_to=other.address) as there:
        with pytest.raises(ValueError, match="sends us to another address, and only the one that was typed is opened"):
            next(read({"address": there.address}))
        assert other.asked == []


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:1/v.mp4", "concat:/etc/hostname|/etc/hostname", "file:/etc/hostname", "tcp://127.0.0.1:1"],
)
def test_no_other_protocol_is_opened_even_where_one_is_asked_for(address: str) -> None:
    with pytest.raises(ValueError, match="cannot be opened"):
        next(read({"address": address}))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.m3u8", "#EXTM3U\n#EXTINF:1,\n{video}\n#EXT-X-ENDLIST\n"),
        ("list.ffconcat", "ffconcat version 1.0\nfile {video}\n"),
        ("session.sdp", "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 26\n"),
    ],
)
def test_a_file_that_names_others_is_refused(tmp_path: Path, name: str, content: str) -> None:
    video, _ = Numbered("live-one.mp4", frames=1).make()
    (tmp_path / name).write_text(content.format(video=video))
    with pytest.raises(ValueError, match="no container that we read"):
        next(read({"path": str(tmp_path / name)}))


def test_names_that_look_like_protocols_are_names_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, _ = Numbered("live-one.mp4", frames=1).make()
    monkeypatch.chdir(tmp_path)
    assert next(follow({"path": f"concat:{path}|{path}", "fps": 1.0, "longest_side_px": None})).startswith(REFUSED)


def test_rgb_is_what_other_readers_see() -> None:
    path, _ = Numbered("live.mp4").make()
    [(_, pixels)] = read({"path": str(path)}, most=1)
    [frame] = frames_at(path, [0.0])
    assert (pixels == rgb(frame.picture)).all()
