"""Decodes frames of a video at given times, in full, in a child process."""

import base64
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.video.encode import upright, within
from reeltalk.video.frames import frames_at
from reeltalk.video.stream import rgb

FUNCTION: Final = "reeltalk.video.whole_frames:decode_whole_frames"
"""Name of the function for an executor."""


def decode_whole_frames(argument: dict[str, Any]) -> dict[str, Any]:
    """Decode frames. Runs in a child process.

    Args:
        argument: `path`, `times_s` in rising order, `rotation_deg`, and `longest_px`; pictures with a longer side are
            shrunk.

    Returns:
        `times_s` of the frames, `shape` (T, H, W, 3) and `pixels` as base64 of uint8 RGB.
    """
    found = [
        (frame.pts_s, within(upright(rgb(frame.picture), argument["rotation_deg"]), argument["longest_px"]))
        for frame in frames_at(Path(argument["path"]), argument["times_s"])
    ]
    pixels = np.stack([picture for _, picture in found])
    return {
        "times_s": [pts_s for pts_s, _ in found],
        "shape": list(pixels.shape),
        "pixels": base64.b64encode(pixels.tobytes()).decode(),
    }


def frame_pixels(answer: dict[str, Any]) -> NDArray[np.uint8]:
    """(T, H, W, 3) pixels from the result of `decode_whole_frames`."""
    return np.frombuffer(base64.b64decode(answer["pixels"]), np.uint8).reshape(answer["shape"])
