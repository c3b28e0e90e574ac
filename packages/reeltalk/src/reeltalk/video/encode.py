"""Encodes pictures as files: JPEG for models, a contact sheet for people."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from reeltalk.video.downscale import Picture
from reeltalk.video.sampling import pick_evenly

THUMB_WIDTH_PX: Final = 160
COLUMNS: Final = 8
USUAL_THUMBS: Final = 48
"""Pictures on a contact sheet, if there are as many, where neither the shots nor the length ask for more."""
MOST_THUMBS: Final = 240
"""Most pictures on a contact sheet."""
THUMB_EVERY_S: Final = 15.0
"""A long video has a picture for each such part of its length."""
MOST_PICTURES: Final = 960
"""Pictures that are kept to choose from, 43 kB each."""
LABEL_PX: Final = 16
GAP_PX: Final = 4
PAPER: Final = 255
INK: Final = 60
JPEG_QUALITY: Final = 90


def jpeg(rgb: NDArray[np.uint8], *, quality: int = JPEG_QUALITY) -> bytes:
    """A picture as JPEG.

    Args:
        rgb: (H, W, 3) uint8 RGB.
        quality: 1–100.
    """
    done, encoded = cv2.imencode(".jpg", rgb[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    if not done:
        raise ValueError(f"a picture of shape {rgb.shape} cannot be written as JPEG")
    return encoded.tobytes()


def pixels_of(picture: bytes) -> NDArray[np.uint8]:
    """The (H, W, 3) uint8 RGB pixels of a JPEG or PNG file's content.

    Raises:
        ValueError: The content is not a picture.
    """
    decoded = cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR)
    if decoded is None:
        raise ValueError("not a picture")
    return np.ascontiguousarray(decoded[:, :, ::-1])


def shrink_to(rgb: NDArray[np.uint8], longest_px: int) -> NDArray[np.uint8]:
    """Shrinks a picture if its longer side has more than `longest_px` pixels."""
    scale = longest_px / max(rgb.shape[:2])
    if scale >= 1:
        return rgb
    size = max(1, round(rgb.shape[1] * scale)), max(1, round(rgb.shape[0] * scale))
    return np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8)


def centre_square(rgb: NDArray[np.uint8], *, side: int = 224) -> NDArray[np.uint8]:
    """The middle of a picture, prepared as for CLIP: the shorter side is resized to `side`, the longer one is cropped.

    Args:
        rgb: (H, W, 3) uint8.
        side: In pixels.

    Returns:
        (side, side, 3) uint8.
    """
    scale = side / min(rgb.shape[:2])
    size = max(side, round(rgb.shape[1] * scale)), max(side, round(rgb.shape[0] * scale))
    resized = cv2.resize(rgb, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC)
    top, left = (size[1] - side) // 2, (size[0] - side) // 2
    return np.ascontiguousarray(resized[top : top + side, left : left + side])


class Thumbnail(NamedTuple):
    """A small picture for a contact sheet."""

    pts_s: float
    bgr: Picture
    """(h, w, 3) uint8."""


class Thumbnails:
    """Keeps at most `MOST_PICTURES` pictures of a stream, evenly spread, whatever its length."""

    def __init__(self) -> None:
        self.pictures: list[Thumbnail] = []
        self._every, self._seen = 1, 0

    def add(self, pts_s: float, bgr: Picture) -> None:
        """Offer a picture as a player shows it, in any size. If its turn has come, it is shrunk and kept."""
        due = self._seen % self._every == 0
        self._seen += 1
        if not due:
            return
        if len(self.pictures) == MOST_PICTURES:
            self.pictures = self.pictures[::2]
            self._every *= 2
            if (self._seen - 1) % self._every:
                return
        height, width = bgr.shape[:2]
        scale = THUMB_WIDTH_PX / max(width, height)
        size = max(1, round(width * scale)), max(1, round(height * scale))
        self.pictures.append(Thumbnail(pts_s, cv2.resize(bgr, size, interpolation=cv2.INTER_AREA)))

    def chosen(self, cuts_s: Sequence[float], duration_s: float) -> list[Thumbnail]:
        """The pictures of a contact sheet in order: the first of each shot, and others evenly from the rest.

        Args:
            cuts_s: First frame of each shot except the first, in order.
            duration_s: Length of the video.
        """
        shots = [bisect_right(cuts_s, thumb.pts_s) for thumb in self.pictures]
        first = [place for place, shot in enumerate(shots) if place == 0 or shots[place - 1] != shot]
        most = min(MOST_THUMBS, max(USUAL_THUMBS, len(first), int(duration_s / THUMB_EVERY_S)))
        rest = sorted(set(range(len(self.pictures))) - set(first))
        places = (
            [*pick_evenly(first, most), *pick_evenly(rest, most - len(first))]
            if len(first) < most
            else pick_evenly(first, most)
        )
        return [self.pictures[int(place)] for place in sorted(places)]


def load_font() -> None:
    """Unpack the font of the contact sheet now, so that processes forked from this one find it in memory."""
    _write(np.zeros((1, 1, 3), np.uint8), "0", (0, 0))


def _write(sheet: NDArray[np.uint8], text: str, at: tuple[int, int]) -> None:
    cv2.putText(sheet, text, at, cv2.FONT_HERSHEY_SIMPLEX, 0.42, (INK,) * 3, 1, cv2.LINE_AA)


def contact_sheet(thumbs: Sequence[Thumbnail]) -> bytes:
    """Pictures in rows with their times beneath, as PNG.

    Raises:
        ValueError: There are no pictures.
    """
    if not thumbs:
        raise ValueError("a contact sheet needs a picture")
    height, width = thumbs[0].bgr.shape[:2]
    columns = min(COLUMNS, len(thumbs))
    rows = -(-len(thumbs) // columns)
    cell_w, cell_h = width + GAP_PX, height + LABEL_PX + GAP_PX
    sheet = np.full((rows * cell_h + GAP_PX, columns * cell_w + GAP_PX, 3), PAPER, np.uint8)
    for index, thumb in enumerate(thumbs):
        top, left = GAP_PX + index // columns * cell_h, GAP_PX + index % columns * cell_w
        sheet[top : top + height, left : left + width] = thumb.bgr[:height, :width]
        minutes, seconds = divmod(thumb.pts_s, 60)
        at = (left, top + height + LABEL_PX - 3)
        _write(sheet, f"{int(minutes)}:{seconds:04.1f}", at)
    done, encoded = cv2.imencode(".png", sheet, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    if not done:
        raise ValueError("a contact sheet cannot be written as PNG")
    return encoded.tobytes()
