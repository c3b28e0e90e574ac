"""Makes one picture of many small ones: a video at regular times, for the bar below a player.

This code runs in a child process, because the video may be hostile.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.video.encode import jpeg, within
from reeltalk.video.frames import frames_at
from reeltalk.video.picture import as_shown
from reeltalk.video.serving import REFUSED, UNWRITABLE, UnwritableError, write_picture
from reeltalk.video.stream import VideoError, open_video

WIDEST_PX: Final = 160
HIGHEST_PX: Final = 90
QUALITY: Final = 70
MOST_PIXELS: Final = 900 * 1920 * 1080
"""Only the key frames are decoded of parts with more pixels in all their frames. This many take some seconds."""
MARGIN_S: Final = 1.0
"""Containers index by decoding time, which runs ahead of presentation time."""


def make_sheet(argument: dict[str, Any]) -> dict[str, Any]:
    """Write a picture with the frames of a video at some times, in rows from left to right, whole or not at all.

    Args:
        argument: `path`; `times_s` in rising order; `columns`; `folder` and `name` of the file.

    Returns:
        `width` and `height` of a frame in it, in pixels; or `refused`, or `unwritable`.
    """
    path, times_s, columns = Path(argument["path"]), argument["times_s"], argument["columns"]
    try:
        tiles = list(_tiles(path, times_s))
        height, width = tiles[0].shape[:2]
        sheet = np.zeros((-(-len(tiles) // columns) * height, columns * width, 3), np.uint8)
        for number, tile in enumerate(tiles):
            top, left = number // columns * height, number % columns * width
            sheet[top : top + height, left : left + width] = tile
        write_picture(Path(argument["folder"]), argument["name"], jpeg(sheet, quality=QUALITY))
    except VideoError as error:
        return {REFUSED: str(error)}
    except UnwritableError as error:
        return {UNWRITABLE: str(error)}
    return {"width": width, "height": height}


def _tiles(path: Path, times_s: Sequence[float]) -> Iterator[NDArray[np.uint8]]:
    with open_video(path) as source:
        if source.next_frame() is None:
            raise VideoError("no frame can be decoded")
        look, rate, pixels = source.look, source.frame_rate or 25, source.width_px * source.height_px
    width, height = look.shown_size
    scale = min(1.0, WIDEST_PX / width, HIGHEST_PX / height)
    is_short = (times_s[-1] - times_s[0]) * rate * pixels <= MOST_PIXELS
    pictures = (frame.picture for frame in frames_at(path, times_s)) if is_short else _key_frames(path, times_s)
    for picture in pictures:
        yield within(as_shown(picture, look), round(scale * max(width, height)))


def _key_frames(path: Path, times_s: Sequence[float]) -> Iterator[Any]:
    """For each time the last key frame before it, which is decoded alone."""
    with open_video(path) as source:
        shown: Any = source.next_frame()
        for time_s in times_s:
            source.seek(source.zero + round((time_s + MARGIN_S) / source.time_base))
            shown = source.next_frame() or shown
            yield shown.picture
