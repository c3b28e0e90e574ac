"""Makes the small pictures that PySceneDetect looks at, equal in every pixel, so that its cuts are found."""

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
    """Makes small pictures of one video's frames; all have the size of the first."""

    def __init__(self) -> None:
        self._converter = VideoReformatter()
        # Made once, because allocating memory of this size is slow.
        self._pictures: list[Picture] = []

    def __call__(self, frame: av.VideoFrame) -> Picture:
        """The small picture of a frame, converted to BGRA and shrunk by bilinear interpolation.

        Returns:
            (H, W, 4) uint8 BGRA. The second call after this one overwrites it.
        """
        if not self._pictures:
            width, height = small_size(frame.width, frame.height)
            self._pictures = [np.zeros((height, width, 4), np.uint8) for _ in range(2)]
        self._pictures.reverse()
        small = self._pictures[0]
        plane = self._converter.reformat(frame, format="bgra", threads=1).planes[0]
        pixels = rows_of(plane)[: frame.height, : frame.width * 4].reshape(frame.height, frame.width, 4)
        if small.shape == pixels.shape:
            small[:] = pixels
        else:
            cv2.resize(pixels, small.shape[1::-1], dst=small, interpolation=cv2.INTER_LINEAR)
        return small


def rows_of(plane: Any) -> Picture:
    """A plane of a frame without a copy: (H, line size) uint8, wider than the picture if lines are padded."""
    return np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
