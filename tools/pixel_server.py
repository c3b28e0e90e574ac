"""A vision model that reads the numbers of frames from the pixels that it receives, and records them.

Its pictures come from `sample_videos.Numbered`. `python tools/pixel_server.py` serves it.
"""

import base64
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Final

import cv2
import numpy as np
from sample_videos import number_of
from scripted_server import Body, question_in, serve, times_in

WIDTH_PX: Final = 320
HEIGHT_PX: Final = 96
JPEG: Final = "data:image/jpeg;base64,"


@dataclass(frozen=True)
class Look:
    """One message of a request: its question or answer, the numbers of its frames, and the times that it tells."""

    role: str
    text: str
    numbers: tuple[int, ...]
    times_s: tuple[float, ...]


@dataclass
class PixelModel:
    """Answers with the numbers of all frames in a request, in order. It may be shared among threads."""

    seen: list[tuple[Look, ...]] = field(default_factory=list)
    """All requests, message by message."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, body: Body) -> str:
        looks = tuple(
            Look(
                message["role"],
                question_in(message),
                tuple(map(number_in, pictures_of(message))),
                tuple(times_in(message)),
            )
            for message in body["messages"]
        )
        with self._lock:
            self.seen.append(looks)
        return " ".join(str(number) for look in looks for number in look.numbers) or "nothing"


def pictures_of(message: Body) -> list[bytes]:
    """The JPEG files of one message, in their order.

    Raises:
        ValueError: A picture is not a JPEG in a `data:` address.
    """
    found: list[bytes] = []
    for part in message["content"] if isinstance(message["content"], list) else ():
        if part["type"] == "image_url":
            url: str = part["image_url"]["url"]
            if not url.startswith(JPEG):
                raise ValueError(f"a picture came as {url[:40]}")
            found.append(base64.b64decode(url.removeprefix(JPEG), validate=True))
    return found


def number_in(jpeg: bytes) -> int:
    """The number in a picture of any size. A portrait picture was turned clockwise.

    Raises:
        ValueError: It cannot be decoded.
    """
    pixels: Any = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    if pixels is None:
        raise ValueError("a picture cannot be decoded")
    if pixels.shape[0] > pixels.shape[1]:
        pixels = np.rot90(pixels)
    if pixels.shape[:2] != (HEIGHT_PX, WIDTH_PX):
        pixels = cv2.resize(pixels, (WIDTH_PX, HEIGHT_PX), interpolation=cv2.INTER_LINEAR)
    return number_of(np.ascontiguousarray(pixels))


def main() -> None:
    """Serves until Ctrl-C."""
    with serve(PixelModel()) as server:
        print(server.base_url, flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            sys.exit(0)


if __name__ == "__main__":
    main()
