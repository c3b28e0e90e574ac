"""Makes the small pictures that PySceneDetect uses, equal in every pixel, without converting the whole frame.

PySceneDetect converts a frame to BGR and shrinks it to 256 pixels by bilinear interpolation, which reads at most four
pixels for each new pixel. This module reads only those pixels from the YUV planes. It converts them with the same code
of swscale and interpolates with the same code of OpenCV, so it finds the same cuts. A frame is converted whole if its
layout is not known or if a trial finds any difference.

If each new pixel needs four pixels, reading only the nearest one costs a quarter. Such a quick picture is good enough
to find frames that are nowhere near a cut. It never decides on a cut.
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
PLANAR: Final = {"yuv420p": (1, 1), "yuvj420p": (1, 1), "yuv422p": (1, 0), "yuvj422p": (1, 0)}
"""Supported layouts, with the shifts of their chroma planes. swscale converts 4:2:2 as it does 4:2:0."""
MOST_RUNS: Final = 8
MOST_COPIES: Final = 16
"""If a plane needs more strided copies than this, its rows are copied first. If its columns need more than `MOST_RUNS`,
converting the whole frame is not slower."""


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
        self._whole = VideoReformatter()
        self._gather: _Gather | None = None
        self._quick: _Gather | None = None
        self._tried = False
        self._out: list[Picture] = []
        self._quick_out: list[Picture] = []

    def __call__(self, picture: av.VideoFrame) -> Picture:
        """The small picture.

        Returns:
            (H, W, 4) uint8 BGRA. The second call after this one overwrites it.
        """
        self._try(picture)
        self._out.reverse()
        (self._gather or self.convert)(picture, self._out[0])
        return self._out[0]

    def quick(self, picture: av.VideoFrame) -> tuple[Picture, bool]:
        """Makes a picture in the cheapest way.

        Returns:
            (H, W, 4) uint8 BGRA, which the second call after this one overwrites, and whether it equals an exact
            picture.
        """
        self._try(picture)
        if self._quick is None:
            return self(picture), True
        self._quick_out.reverse()
        self._quick(picture, self._quick_out[0])
        return self._quick_out[0], False

    def _try(self, picture: av.VideoFrame) -> None:
        """Find the shortcuts for frames like this one, once."""
        if self._tried:
            return
        self._tried = True
        width, height = small_size(picture.width, picture.height)
        self._out, self._quick_out = ([np.zeros((height, width, 4), np.uint8) for _ in range(2)] for _ in range(2))
        gather = _Gather.of(picture)
        if gather is not None and gather.agrees(self.convert):
            self._gather = gather
        if self._gather is None or not self._gather.point:
            self._quick = _Gather.of(picture, nearest=True)

    @property
    def gathers(self) -> bool:
        """True if the frames seen so far use the shortcut."""
        return self._gather is not None

    def convert(self, picture: av.VideoFrame, out: Picture) -> None:
        """Write the small picture of a frame, made from the whole frame, to `out`."""
        converted = self._whole.reformat(picture, format="bgra", threads=1)
        plane = converted.planes[0]
        pixels = rows_of(plane)[: picture.height, : picture.width * 4].reshape(picture.height, picture.width, 4)
        if out.shape == pixels.shape:
            out[:] = pixels
        else:
            cv2.resize(pixels, out.shape[1::-1], dst=out, interpolation=cv2.INTER_LINEAR)


class _Axis:
    """Which lines of one axis are read, and their places on a shorter axis with the same weights.

    Line `x` of the result lies at `(x + 1/2) r - 1/2`, where `r` is the ratio of the lengths. Lowering `r` by an even
    number moves that by a whole number. The weights stay the same, and the unread lines between the read ones drop out.
    """

    def __init__(self, length: int, small: int, *, nearest: bool = False) -> None:
        ratio = length / small
        if nearest:
            self.sources = ((np.arange(small) + 0.5) * ratio).astype(int)
            self.targets, self.length, self.drops = np.arange(small), small, True
            return
        drop = max(0, int(ratio - 2) // 2 * 2)
        self.length = length - drop * small
        """Length of the shorter axis."""
        at = (np.arange(small) + 0.5) * ratio - 0.5
        first = np.clip(np.floor(at).astype(int), 0, length - 1)
        taps = np.unique(np.concatenate([first, np.minimum(first + 1, length - 1)]))
        if not (at % 1).any():
            taps = first
        result = np.clip(np.searchsorted(first, taps, side="right") - 1, 0, small - 1)
        self.sources = taps
        self.targets = taps - drop * result - drop // 2
        self.drops = drop > 0


Runs = list[tuple[slice, slice]]
"""Pairs of strided slices, target and source, that together copy some lines."""


def _runs(targets: NDArray[np.int64], sources: NDArray[np.int64]) -> Runs | None:
    """The fewest pairs that copy `sources` to `targets`; None if it takes more than `MOST_RUNS`."""
    for count in range(1, MOST_RUNS + 1):
        pairs = [(_strided(targets[k::count]), _strided(sources[k::count])) for k in range(count)]
        if all(pair[0] is not None and pair[1] is not None for pair in pairs):
            return pairs  # type: ignore[return-value]
    return None


def _strided(lines: NDArray[np.int64]) -> slice | None:
    steps = set(np.diff(lines).tolist()) or {1}
    if len(steps) > 1 or min(steps) < 1:
        return None
    return slice(int(lines[0]), int(lines[-1]) + 1, steps.pop())


class _Gather:
    """The shortcut for one size and layout."""

    @classmethod
    def of(cls, picture: av.VideoFrame, *, nearest: bool = False) -> "_Gather | None":
        shifts = PLANAR.get(picture.format.name)
        if shifts is None or max(picture.width, picture.height) < 4 * WIDTH_PX:
            return None
        size = small_size(picture.width, picture.height)
        columns, rows = (
            _Axis(*lengths, nearest=nearest) for lengths in zip((picture.width, picture.height), size, strict=True)
        )
        if not columns.drops or not rows.drops:
            return None
        gather = cls(picture, shifts, size, columns, rows)
        return gather if gather.possible else None

    def __init__(
        self, picture: av.VideoFrame, shifts: tuple[int, int], size: tuple[int, int], columns: _Axis, rows: _Axis
    ) -> None:
        self.size, self.like = size, picture
        self.point = len(columns.sources) == size[0] and len(rows.sources) == size[1]
        self.width, self.height = len(columns.sources), len(rows.sources)
        # In 4:2:2, two columns share one chroma value. Each column that is read gets two, so that none is shared.
        layout = "yuvj422p" if picture.format.name.startswith("yuvj") else "yuv422p"
        self.packed = av.VideoFrame(2 * self.width, self.height, layout)
        self.packed.colorspace, self.packed.color_range = picture.colorspace, picture.color_range
        self.reformatter = VideoReformatter()
        packed = [rows_of(plane)[: self.height] for plane in self.packed.planes]
        packed[0][:] = 0
        self.targets = [packed[0][:, : 2 * self.width : 2], packed[1][:, : self.width], packed[2][:, : self.width]]
        to_columns, to_rows = np.arange(self.width), np.arange(self.height)
        self.columns = [_runs(to_columns, columns.sources >> shift) for shift in (0, shifts[0], shifts[0])]
        row_runs = [_runs(to_rows, rows.sources >> shift) for shift in (0, shifts[1], shifts[1])]
        self.rows = [
            runs if runs and own and len(runs) * len(own) <= MOST_COPIES else rows.sources >> shift
            for runs, own, shift in zip(row_runs, self.columns, (0, shifts[1], shifts[1]), strict=True)
        ]
        self.possible = all(self.columns)
        if self.point:
            return
        # A pixel is moved as one number of 32 bits, which is several times faster than three bytes.
        self.spread = np.zeros((rows.length, columns.length), np.uint32)
        self.spread_columns = _runs(columns.targets, 2 * to_columns)
        self.spread_rows = _runs(rows.targets, to_rows)
        self.possible = self.possible and bool(self.spread_columns) and bool(self.spread_rows)

    def __call__(self, picture: av.VideoFrame, out: Picture) -> None:
        for plane, target, rows, columns in zip(picture.planes, self.targets, self.rows, self.columns, strict=True):
            assert columns is not None
            lines = rows_of(plane)
            if isinstance(rows, list):
                for to_row, row in rows:
                    part, from_part = target[to_row], lines[row]
                    for to_column, column in columns:
                        part[:, to_column] = from_part[:, column]
                continue
            lines = lines.take(rows, axis=0)
            for to_column, column in columns:
                target[:, to_column] = lines[:, column]
        converted = self.reformatter.reformat(self.packed, format="bgra", threads=1)
        pixels = rows_of(converted.planes[0]).view(np.uint32)
        if self.point:
            out.view(np.uint32)[:, :, 0] = pixels[: self.height, : 2 * self.width : 2]
            return
        self._spread_out(pixels)
        spread = self.spread.view(np.uint8).reshape(*self.spread.shape, 4)
        cv2.resize(spread, self.size, dst=out, interpolation=cv2.INTER_LINEAR)

    def _spread_out(self, pixels: NDArray[np.uint32]) -> None:
        assert self.spread_rows is not None
        assert self.spread_columns is not None
        for to_row, row in self.spread_rows:
            part, from_part = self.spread[to_row], pixels[row]
            for to_column, column in self.spread_columns:
                part[:, to_column] = from_part[:, column]

    def agrees(self, convert: Any) -> bool:
        """True if a picture of noise gives the same result as converting the whole picture."""
        noise = av.VideoFrame(self.like.width, self.like.height, self.like.format.name)
        noise.colorspace, noise.color_range = self.like.colorspace, self.like.color_range
        generator = np.random.default_rng(0)
        for plane in noise.planes:
            lines = rows_of(plane)
            lines[:] = generator.integers(0, 256, lines.shape, dtype=np.uint8)
        here, there = (np.zeros((self.size[1], self.size[0], 4), np.uint8) for _ in range(2))
        self(noise, here)
        convert(noise, there)
        return bool(np.array_equal(here, there))


def rows_of(plane: Any) -> Picture:
    """A plane of a frame without a copy: (H, line size) uint8, wider than the picture if lines are padded."""
    return np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
