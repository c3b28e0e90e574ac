"""Makes the picture of a frame as a video player shows it.

A stored frame may be turned or mirrored, its pixels may not be square, it may hold two half pictures, its size may
differ from that of the first frame, and its colours may be those of HDR. Models, key frames, detectors, pages and
people see what `as_shown` returns.

HDR (PQ and HLG, ITU-R BT.2100) is mapped to SDR with Hable's curve, as by FFmpeg's filters
`zscale=t=linear:npl=100,zscale=p=bt709,tonemap=hable:desat=0,zscale=t=bt709`. A picture without a matrix in its header
is read as by Chromium and mpv: as BT.709 from 720 lines on, else as BT.601.
"""

from fractions import Fraction
from functools import cache
from typing import Any, Final, NamedTuple

import av
import cv2
import numpy as np
from av.filter import Graph
from av.video.reformatter import Colorspace
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
"""(H, W, 3) uint8 RGB."""

PQ: Final = 16
HLG: Final = 18
"""Transfer functions by their numbers in ITU-T H.273."""
BT601: Final = 6
BT709: Final = 1
UNSTATED: Final = 2
"""Matrices by their numbers in the same place."""
LARGE_PX: Final = 720
HDR: Final = {PQ: "pq", HLG: "hlg"}
MOST_STRETCHED: Final = 8
"""A pixel that is this many times wider than high, or higher than wide, is an error in the header."""
SAME_SHAPE_WITHIN: Final = 0.02
"""Frames whose shapes differ by less than this share have the same shape: encoders round sizes to even numbers."""
ROWS: Final = 128
"""HDR is mapped in strips of this height, since its numbers take six times the memory of a picture."""
NITS: Final = 100.0
"""Brightness of the value 1 in linear light."""
USUAL_PEAK_NITS: Final = 1000.0
FROM_2020: Final = np.linalg.inv([[0.6274, 0.3293, 0.0433], [0.0691, 0.9195, 0.0114], [0.0164, 0.0880, 0.8956]])
"""Linear light from the primaries of BT.2020 to those of BT.709 (ITU-R BT.2087)."""


class Look(NamedTuple):
    """How the stored frames of a stream become shown pictures."""

    width_px: int
    height_px: int
    """Size of the first frame as it is stored."""
    aspect: Fraction
    """Width of a pixel divided by its height."""
    rotation_deg: int
    """Clockwise: 0, 90, 180 or 270."""
    mirrored: bool
    """Whether left and right are swapped after the rotation."""

    @property
    def upright_size(self) -> tuple[int, int]:
        """Width and height with square pixels, before rotation. Pixels that are not square never lose detail."""
        if self.aspect >= 1:
            return round(self.width_px * self.aspect), self.height_px
        return self.width_px, round(self.height_px / self.aspect)

    @property
    def shown_size(self) -> tuple[int, int]:
        """Width and height of the shown picture."""
        return self.upright_size[::-1] if self.rotation_deg % 180 else self.upright_size

    def changes(self, picture: av.VideoFrame) -> bool:
        """Whether the shown picture, in YUV, differs from the stored one."""
        return bool(
            self.rotation_deg
            or self.mirrored
            or self.aspect != 1
            or (picture.width, picture.height) != self[:2]
            or picture.interlaced_frame
            or picture.color_trc in HDR
            or picture.format.is_rgb
        )


def find_look(stream: Any, picture: av.VideoFrame, *, turns: bool) -> Look:
    """How frames are shown.

    Args:
        stream: Its header gives the shape of a pixel.
        picture: The first decoded frame, which carries the container's matrix.
        turns: Whether players heed that matrix in this container.
    """
    aspect = Fraction(stream.sample_aspect_ratio or stream.codec_context.sample_aspect_ratio or 1)
    if not 1 / MOST_STRETCHED <= aspect <= MOST_STRETCHED:
        aspect = Fraction(1)
    rotation_deg, mirrored = _orientation(picture) if turns else (0, False)
    return Look(picture.width, picture.height, aspect, rotation_deg, mirrored)


def _orientation(picture: av.VideoFrame) -> tuple[int, bool]:
    matrix = _side_data(picture, "DISPLAYMATRIX")
    if len(matrix) != 9:
        return 0, False
    # A point (x, y) is shown at (a x + c y, b x + d y).
    a, b, c, d = (int(matrix[place]) for place in (0, 1, 3, 4))
    if abs(a) + abs(d) >= abs(b) + abs(c):
        mirrored = (a < 0) != (d < 0)
        return (180 if d < 0 else 0), mirrored
    mirrored = (b < 0) == (c < 0)
    return (90 if b > 0 else 270), mirrored


def _side_data(picture: av.VideoFrame, kind: str) -> NDArray[np.int32]:
    held: Any = picture.side_data
    for data in held:
        if data.type.name == kind:
            return np.frombuffer(bytes(data), np.int32)
    return np.zeros(0, np.int32)


def as_shown(picture: av.VideoFrame, look: Look) -> Pixels:
    """The picture of a frame as a player shows it: upright, with square pixels, in SDR, in the size of the first.

    Args:
        picture: A decoded frame.
        look: How frames of its stream are shown.

    Returns:
        (H, W, 3) uint8 RGB of `look.shown_size`.
    """
    if picture.interlaced_frame:
        picture = _whole(picture)
    pixels = _mapped(picture) if picture.color_trc in HDR else rgb(picture)
    width, height = look.upright_size
    own = Look(picture.width, picture.height, look.aspect, 0, False).upright_size
    scale = min(width / own[0], height / own[1])
    inside = round(own[0] * scale), round(own[1] * scale)
    if inside[0] >= width * (1 - SAME_SHAPE_WITHIN) and inside[1] >= height * (1 - SAME_SHAPE_WITHIN):
        inside = width, height
    if (picture.width, picture.height) != inside:
        shrinks = inside[0] * inside[1] < picture.width * picture.height
        how = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        pixels = np.asarray(cv2.resize(pixels, inside, interpolation=how), np.uint8)
    if inside != (width, height):
        # A picture of another shape stands in the middle of a black one, as in a player's window.
        whole = np.zeros((height, width, 3), np.uint8)
        top, left = (height - inside[1]) // 2, (width - inside[0]) // 2
        whole[top : top + inside[1], left : left + inside[0]] = pixels
        pixels = whole
    turned = np.rot90(pixels, -look.rotation_deg // 90)
    return np.ascontiguousarray(turned[:, ::-1] if look.mirrored else turned)


def rgb(picture: av.VideoFrame) -> Pixels:
    """The stored pixels of a frame: (H, W, 3) uint8 RGB."""
    unstated = picture.colorspace == UNSTATED and picture.height >= LARGE_PX and not picture.format.is_rgb
    # FFmpeg itself would take BT.601.
    found = picture.reformat(format="rgb24", src_colorspace=Colorspace.ITU709 if unstated else None)
    return np.asarray(found.to_ndarray(), np.uint8)


def shown_frame(picture: av.VideoFrame, look: Look) -> av.VideoFrame:
    """`as_shown` as a frame for an encoder, in yuv420p.

    Its matrix is that of BT.601, since Chromium without a GPU is off by up to 9 of 255 with the one of BT.709.
    """
    shown = av.VideoFrame.from_ndarray(as_shown(picture, look), format="rgb24")
    encoded = shown.reformat(format="yuv420p", dst_colorspace=Colorspace.ITU601)
    encoded.color_primaries = encoded.color_trc = encoded.color_range = 1
    encoded.colorspace = BT601
    return encoded


def state_colours(context: Any, picture: av.VideoFrame) -> None:
    """Let an encoder state the colours of the frames that it gets.

    Args:
        context: The encoder's context, before its first frame.
        picture: The first frame.
    """
    context.color_range, context.color_primaries = picture.color_range, picture.color_primaries
    context.color_trc = picture.color_trc
    # What it was read as, since the encoder may make it smaller.
    as_read = BT709 if picture.height >= LARGE_PX else BT601
    context.colorspace = as_read if picture.colorspace == UNSTATED else picture.colorspace


def black(look: Look) -> av.VideoFrame:
    """What a player shows before the first frame."""
    return av.VideoFrame.from_ndarray(np.zeros((look.height_px, look.width_px, 3), np.uint8), format="rgb24")


def _whole(picture: av.VideoFrame) -> av.VideoFrame:
    """A frame from the first of its two half pictures, by FFmpeg's filter `estdif`, which needs no other frame."""
    graph = Graph()
    source = graph.add_buffer(
        width=picture.width, height=picture.height, format=picture.format, time_base=Fraction(1, 25)
    )
    lines, sink = graph.add("estdif", "mode=frame:parity=auto:deint=all"), graph.add("buffersink")
    source.link_to(lines)
    lines.link_to(sink)
    graph.configure()
    graph.push(picture)
    graph.push(None)
    found = graph.pull()
    assert isinstance(found, av.VideoFrame)
    return found


def _mapped(picture: av.VideoFrame) -> Pixels:
    """HDR as SDR."""
    deep = picture.to_ndarray(format="rgb48le")
    to_light = _light(int(picture.color_trc))
    peak = _peak_nits(picture) / NITS
    pixels = np.empty(deep.shape, np.uint8)
    for top in range(0, len(deep), ROWS):
        light = to_light[deep[top : top + ROWS]] @ FROM_2020.T.astype(np.float32)
        brightest = np.maximum(light.max(axis=2, keepdims=True), 1e-6)
        light *= _hable(brightest) / (_hable(peak) * brightest)
        # BT.1886: displays of SDR raise a value to 2.4.
        pixels[top : top + ROWS] = np.round(255 * np.clip(light, 0, 1) ** (1 / 2.4))
    return pixels


@cache
def _light(transfer: int) -> NDArray[np.float32]:
    """Linear light of each of 65,536 values, in units of `NITS`."""
    value = np.arange(65536) / 65535
    if transfer == PQ:
        root = value ** (1 / 78.84375)
        light = (np.maximum(root - 0.8359375, 0) / (18.8515625 - 18.6875 * root)) ** (1 / 0.1593017578125) * 10_000
    else:
        scene = np.where(value <= 0.5, value**2 / 3, (np.exp((value - 0.55991073) / 0.17883277) + 0.28466892) / 12)
        # The gamma of a display of 1000 nits, for each colour by itself as in zimg.
        light = scene**1.2 * 1000
    return np.asarray(light / NITS, np.float32)


def _peak_nits(picture: av.VideoFrame) -> float:
    """The brightest light of the film according to its header, which FFmpeg's `tonemap` uses as well."""
    content, display = _side_data(picture, "CONTENT_LIGHT_LEVEL"), _side_data(picture, "MASTERING_DISPLAY_METADATA")
    nits = 0.0
    if len(content):
        nits = float(content[0])
    elif len(display) == 22 and display[21] and display[19]:
        nits = display[18] / display[19]
    return nits if NITS <= nits <= 10_000 else USUAL_PEAK_NITS


def _hable(light: Any) -> Any:
    return (light * (light * 0.15 + 0.05) + 0.004) / (light * (light * 0.15 + 0.5) + 0.06) - 0.02 / 0.3
