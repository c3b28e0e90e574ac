"""What a user may name as a video to talk to, and what of it is opened."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from reeltalk.errors import InputError, SettingError
from reeltalk.schema.record import Json

CAMERA: Final = re.compile(r"camera:(\d{1,2})")
SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
RTSP: Final = ("rtsp", "rtsps")


@dataclass(frozen=True)
class VideoAddress:
    """A video to talk to."""

    shown: str
    """How it is named to people and in logs: without a password."""
    argument: dict[str, Json]
    """What `video.live.follow` opens."""
    live: bool
    """True where it cannot wait for whoever looks at it."""


def video_address(text: str) -> VideoAddress:
    """What a user typed: a file, `camera:N`, or an `rtsp://` or `rtsps://` address.

    Raises:
        InputError: There is no such file.
        SettingError: It is an address of another kind, or one without a host.
    """
    if camera := CAMERA.fullmatch(text):
        return VideoAddress(text, {"device": f"/dev/video{int(camera[1])}", "format": "v4l2"}, live=True)
    if text.startswith("camera:"):
        raise SettingError(f"{text!r} names no camera; give camera:0 for /dev/video0, camera:1 for /dev/video1")
    if SCHEME.match(text):
        return _camera_at(text)
    path = Path(text)
    if not os.path.exists(path):
        raise InputError(
            "no such file", file=path, hint="give a video file, camera:0 for a webcam, or an rtsp:// address"
        )
    if path.is_dir():
        raise InputError("a folder is no video", file=path, hint="give one of the files in it")
    return VideoAddress(path.name, {"path": str(path.absolute())}, live=False)


def _camera_at(text: str) -> VideoAddress:
    try:
        parts = urlsplit(text)
        scheme, host, port = parts.scheme.lower(), parts.hostname, parts.port
    except ValueError as error:
        raise SettingError(f"the address makes no sense: {error}") from None
    if scheme not in RTSP:
        raise SettingError(
            f"{scheme}:// is not opened: a video is a file, camera:N, or an rtsp:// or rtsps:// address; download it, "
            "then give the file"
        )
    if not host:
        raise SettingError("the address names no host; give rtsp://HOST:PORT/PATH")
    if any(not character.isprintable() or character.isspace() for character in text):
        raise SettingError("the address holds spaces or control characters")
    host = f"[{host}]" if ":" in host else host
    shown = f"{scheme}://{host}{f':{port}' if port else ''}{parts.path}"
    return VideoAddress(shown, {"address": text}, live=True)
