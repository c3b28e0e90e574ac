"""Writes frames of a video as JPEG files, and checks that videos and pictures can be read.

This code runs in a child process, because the video or the picture may be hostile.
"""

from pathlib import Path
from typing import Any, Final

import cv2
import numpy as np
from numpy.typing import NDArray

from reeltalk.store.atomic import partial_beside
from reeltalk.video.encode import jpeg, shrink_to
from reeltalk.video.frames import frames_at
from reeltalk.video.probe import probe
from reeltalk.video.stream import VideoError

REFUSED: Final = "refused"
"""Key of an answer with the reason why a file cannot be read."""
LOST_S: Final = 2.0
"""If a frame is older than the requested time by more than this, it does not stand in for a lost frame."""
UNWRITABLE: Final = "unwritable"
"""Key of an answer with the reason why the folder cannot be written, which is not the fault of the video."""


def probe_length(argument: dict[str, Any]) -> dict[str, Any]:
    """Length and damage of a video.

    Args:
        argument: `path`.

    Returns:
        `duration_s`, `promised_s` and `gaps_s`, or `refused`.
    """
    try:
        facts = probe(Path(argument["path"]))
    except VideoError as error:
        return {REFUSED: str(error)}
    known = facts.model_dump(mode="json", include={"duration_s", "promised_s", "gaps_s"})
    return dict(known)


def serve(argument: dict[str, Any]) -> dict[str, Any]:
    """Write the frames that are on the screen at some times, each whole or not at all.

    Args:
        argument: `path` of the video; `times_s` in rising order, seconds on the clock of a player;
            `longest_side_px` and `square_px`, or null; `quality`, 1–100; `folder`; `name`, a file's name with a `%f`
            for the frame's time in seconds, or `names`, one for each time.

    Returns:
        `pts_s`, the presentation time of the frame at each requested time, and `lost`, the times whose own frame could
        not be decoded, so that an earlier one is on the screen; or `refused`, or `unwritable`.
    """
    found: list[float] = []
    lost: list[float] = []
    content = b""
    times_s = argument["times_s"]
    names = argument.get("names") or [argument["name"]] * len(times_s)
    written: set[str] = set()
    try:
        for time_s, pattern, frame in zip(times_s, names, frames_at(Path(argument["path"]), times_s), strict=True):
            if not found or found[-1] != frame.pts_s:
                picture = resize_for_model(frame.pixels, argument["longest_side_px"], argument["square_px"])
                content = jpeg(picture, quality=argument["quality"])
            name = pattern if "names" in argument else pattern % frame.pts_s
            if name not in written:
                write_picture(Path(argument["folder"]), name, content)
                written.add(name)
            found.append(frame.pts_s)
            if frame.spoilt or (frame.stands_in and time_s - frame.pts_s > LOST_S):
                lost.append(time_s)
    except VideoError as error:
        return {REFUSED: str(error)}
    except UnwritableError as error:
        return {UNWRITABLE: str(error)}
    return {"pts_s": found, "lost": lost}


def resize_for_model(
    pixels: NDArray[np.uint8], longest_side_px: int | None, square_px: int | None
) -> NDArray[np.uint8]:
    """Resizes a picture to the size in which a model sees it.

    Args:
        pixels: (H, W, 3) uint8.
        longest_side_px: The picture is shrunk if its longer side has more pixels.
        square_px: The picture is resized to exactly this width and height, whatever its shape. Overrides
            `longest_side_px`.
    """
    if square_px is not None:
        smaller = square_px <= min(pixels.shape[:2])
        how = cv2.INTER_AREA if smaller else cv2.INTER_CUBIC
        return np.asarray(cv2.resize(pixels, (square_px, square_px), interpolation=how), np.uint8)
    return pixels if longest_side_px is None else shrink_to(pixels, longest_side_px)


class UnwritableError(Exception):
    """The folder cannot be written; the message gives the reason."""


def write_picture(folder: Path, name: str, content: bytes) -> None:
    """Write a file whole or not at all.

    Raises:
        UnwritableError: The folder cannot be written.
    """
    # No fsync: a file lost in a power cut is decoded again. Another run may write the same frame at the same time.
    try:
        with partial_beside(folder / name, folder=False) as partial:
            partial.write_bytes(content)
            partial.replace(folder / name)
    except OSError as error:
        raise UnwritableError(error.strerror or str(error)) from None
