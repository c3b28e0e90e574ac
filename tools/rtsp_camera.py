"""An RTSP camera for tests without a real one. Its pictures are drawn here, and sent interleaved over TCP.

`python tools/rtsp_camera.py` films until it is interrupted, and prints its address. `redirect_to` redirects every
client to another address, as a hostile camera would.
"""

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

RATE = 10
WIDTH, HEIGHT = 160, 96
SDP = (
    "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=camera\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
    "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=fmtp:96 packetization-mode=1\r\na=control:video\r\n"
)


@dataclass
class Camera:
    """A camera at `address`."""

    address: str
    asked: list[str] = field(default_factory=list)
    """Request lines in the order in which they came."""


@contextlib.contextmanager
def camera(
    *, frames: int | None = None, redirect_to: str | None = None, certificate: tuple[Path, Path] | None = None
) -> Iterator[Camera]:
    """A camera on a free port of this machine.

    Args:
        frames: Number of frames after which it hangs up; by default it never does.
        redirect_to: Address to which it redirects every client.
        certificate: Files of a certificate and its key. With them it uses TLS, at an `rtsps://` address.
    """
    tls: ssl.SSLContext | None = None
    if certificate is not None:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*certificate)
    listener = socket.create_server(("127.0.0.1", 0))
    made = Camera(f"{'rtsps' if tls else 'rtsp'}://127.0.0.1:{listener.getsockname()[1]}/live")
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                if tls is None:
                    _talk(connection, made, frames, redirect_to, stop)
                else:
                    with tls.wrap_socket(connection, server_side=True) as wrapped:
                        _talk(wrapped, made, frames, redirect_to, stop)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        stop.set()
        # Closing alone does not wake a thread in `accept`.
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


def _talk(
    connection: socket.socket, made: Camera, frames: int | None, redirect_to: str | None, stop: threading.Event
) -> None:
    requests = connection.makefile("rb")
    while True:
        line = requests.readline().decode(errors="replace").strip()
        if not line:
            return
        made.asked.append(line)
        headers = {}
        while header := requests.readline().decode(errors="replace").strip():
            name, _, value = header.partition(":")
            headers[name.lower()] = value.strip()
        answer = [f"CSeq: {headers.get('cseq', '0')}"]
        method, body, status = line.split()[0], "", "200 OK"
        if method == "DESCRIBE" and redirect_to is not None:
            status = "302 Found"
            answer.append(f"Location: {redirect_to}")
        elif method == "OPTIONS":
            answer.append("Public: OPTIONS, DESCRIBE, SETUP, PLAY, TEARDOWN")
        elif method == "DESCRIBE":
            body = SDP
            answer += ["Content-Type: application/sdp", f"Content-Length: {len(body)}"]
        elif method == "SETUP":
            answer += ["Transport: RTP/AVP/TCP;unicast;interleaved=0-1", "Session: 1"]
        else:
            answer.append("Session: 1")
        head = "\r\n".join([f"RTSP/1.0 {status}", *answer])
        connection.sendall(f"{head}\r\n\r\n{body}".encode())
        if method == "PLAY":
            _film(connection, frames, stop)
            return
        if method == "TEARDOWN":
            return


def _film(connection: socket.socket, frames: int | None, stop: threading.Event) -> None:
    """Sends pictures as H.264 in RTP packets, `RATE` a second. PyAV makes the packets."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    receiver.settimeout(0.02)
    with receiver, av.open(f"rtp://127.0.0.1:{receiver.getsockname()[1]}", "w", format="rtp") as sender:
        stream: Any = sender.add_stream("libx264", rate=RATE, options={"preset": "ultrafast", "tune": "zerolatency"})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.gop_size = RATE
        number = 0
        while not stop.is_set() and (frames is None or number < frames):
            picture = av.VideoFrame.from_ndarray(_picture(number), format="rgb24")
            picture.pts, picture.time_base = number, Fraction(1, RATE)
            for packet in stream.encode(picture):
                sender.mux(packet)
            _carry(receiver, connection)
            number += 1
            time.sleep(1 / RATE)


def _carry(receiver: socket.socket, connection: socket.socket) -> None:
    with contextlib.suppress(TimeoutError):
        while True:
            packet = receiver.recv(65536)
            # Reports of the sender have types from 200; they go on the second channel.
            channel = 1 if 200 <= packet[1] <= 204 else 0
            connection.sendall(b"$" + bytes([channel]) + len(packet).to_bytes(2, "big") + packet)


def _picture(number: int) -> Any:
    """(HEIGHT, WIDTH, 3) uint8: a light square that moves to the right."""
    picture = np.full((HEIGHT, WIDTH, 3), 40, np.uint8)
    left = number * 4 % (WIDTH - 24)
    picture[36:60, left : left + 24] = 230
    return picture


if __name__ == "__main__":
    with camera() as running, contextlib.suppress(KeyboardInterrupt):
        print(running.address, flush=True)
        threading.Event().wait()
