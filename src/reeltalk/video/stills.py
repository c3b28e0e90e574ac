"""Writes frames of a video as JPEG files of one size, each with its own name. Checks that picture files can be read.

This code runs in a child process, because the video or the picture may be hostile.
"""

from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np

from reeltalk.video.encode import jpeg, upright
from reeltalk.video.frames import frames_at
from reeltalk.video.serving import REFUSED, UNWRITABLE, UnwritableError, sized, write_picture
from reeltalk.video.stream import VideoError, rgb

LARGEST_BYTES: Final = 64 << 20
"""A larger picture file is refused."""


def write(argument: dict[str, Any]) -> dict[str, Any]:
    """Write the frames that are on the screen at some times, each whole or not at all.

    Args:
        argument: `path` of the video; `stills`, pairs of a time in seconds and a file name, in rising order of time;
            `rotation_deg`, clockwise; `square_px`, width and height; `quality`, 1 to 100; `folder`.

    Returns:
        `pts_s`, the presentation time of the frame at each requested time; or `refused`, or `unwritable`.
    """
    found: list[float] = []
    content = b""
    stills = argument["stills"]
    try:
        for (_, name), frame in zip(
            stills, frames_at(Path(argument["path"]), [at_s for at_s, _ in stills]), strict=True
        ):
            if not found or found[-1] != frame.pts_s:
                picture = sized(upright(rgb(frame.picture), argument["rotation_deg"]), None, argument["square_px"])
                content = jpeg(picture, quality=argument["quality"])
            write_picture(Path(argument["folder"]), name, content)
            found.append(frame.pts_s)
    except VideoError as error:
        return {REFUSED: str(error)}
    except UnwritableError as error:
        return {UNWRITABLE: str(error)}
    return {"pts_s": found}


def unreadable(argument: dict[str, Any]) -> list[str | None]:
    """Reports which pictures cannot be read, and why.

    Args:
        argument: `paths` of files.

    Returns:
        For each file the problem, or null.
    """
    return [_problem(Path(path)) for path in argument["paths"]]


def _problem(path: Path) -> str | None:
    try:
        if not path.is_file():
            return "there is no such file"
        if path.stat().st_size > LARGEST_BYTES:
            return "it is too large for a picture of a frame"
        content = np.fromfile(path, np.uint8)
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    if not content.size:
        return "it is empty"
    try:
        picture = cv2.imdecode(content, cv2.IMREAD_COLOR)
    except cv2.error:
        picture = None
    return "it is no picture that can be decoded" if picture is None else None
