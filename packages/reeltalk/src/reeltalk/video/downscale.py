"""Makes the small pictures in which cuts are looked for: as PySceneDetect's, in a third of the time.

PySceneDetect converts whole frames and shrinks the result. Here each plane is shrunk as it was decoded, from the rows
that count, and only the small picture is converted. Content scores differ by at most .8 of 255 on the tests' films.
"""

from typing import Any, Final

import av
import cv2
import numpy as np
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

Picture = NDArray[np.uint8]

WIDTH_PX: Final = 256
"""Width of the small picture, or height of a portrait, as in PySceneDetect."""


def small_size(width_px: int, height_px: int) -> tuple[int, int]:
    """Width and height of the small picture, by PySceneDetect's rule."""
    longest = max(width_px, height_px)
    if longest < WIDTH_PX:
        return width_px, height_px
    factor = longest / float(WIDTH_PX)
    return max(1, round(width_px / factor)), max(1, round(height_px / factor))


class Downscaler:
    """Makes small pictures of one video's frames; all have the size of the first.

    Args:
        exact: True for PySceneDetect's own way, which gives its pictures in every pixel.
    """

    def __init__(self, *, exact: bool = False) -> None:
        self._exact, self._converter = exact, VideoReformatter()
        self._size: tuple[int, int] | None = None
        self._layout: tuple[str, int, int, int] | None = None
        """Layout, size and length of a line of the frame before."""

    def __call__(self, frame: av.VideoFrame) -> Picture:
        """The small picture of a frame, shrunk by bilinear interpolation: (H, W, 4) uint8 BGRA."""
        self._size = self._size or small_size(frame.width, frame.height)
        if self._exact or not frame.format.name.startswith("yuv") or frame.format.is_big_endian:
            return np.asarray(cv2.resize(self._bgra(frame), self._size, interpolation=cv2.INTER_LINEAR), np.uint8)
        layout = (frame.format.name, frame.width, frame.height, frame.planes[0].line_size)
        if self._layout != layout:
            self._layout = layout
            self._prepare(frame, self._size)
        for plane, (rows, held, wide, small) in zip(frame.planes, self._planes, strict=True):
            # Rows are copied first, since OpenCV would look at twice as many, far apart in memory.
            np.take(rows_of(plane).view(held.dtype), rows, axis=0, out=held, mode="clip")
            cv2.resize(wide, small.shape[::-1], dst=small, interpolation=cv2.INTER_LINEAR)
        self._small.colorspace, self._small.color_range = frame.colorspace, frame.color_range
        return self._bgra(self._small)

    def _bgra(self, frame: av.VideoFrame) -> Picture:
        plane = self._converter.reformat(frame, format="bgra", threads=1).planes[0]
        return rows_of(plane)[: frame.height, : frame.width * 4].reshape(frame.height, frame.width, 4)

    def _prepare(self, frame: av.VideoFrame, size: tuple[int, int]) -> None:
        self._small = av.VideoFrame(*size, frame.format.name)
        self._planes: list[tuple[Any, Any, Any, Any]] = []
        """For each plane, the rows that count; room for them; their part without padding; and the small plane."""
        kind = np.dtype(np.uint8 if frame.format.components[0].bits == 8 else np.uint16)
        for plane, target in zip(frame.planes, self._small.planes, strict=True):
            rows = ((np.arange(target.height) + 0.5) * plane.height / target.height).astype(np.intp)
            held = np.empty((target.height, plane.line_size // kind.itemsize), kind)
            small = rows_of(target).view(kind)[:, : target.width]
            self._planes.append((rows, held, held[:, : plane.width], small))


def rows_of(plane: Any) -> Picture:
    """A plane of a frame without a copy: (H, line size) uint8, wider than the picture if lines are padded."""
    return np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
