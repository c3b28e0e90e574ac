"""Objects in sampled frames: boxes, appearance, crops and captions.

MT-Video-Bench (arXiv 2510.17722, section 3.2) samples two frames a second and drops blurred frames and near-copies of
the frame before. `reeltalk curate` does the same and calls the rest key frames.
"""

import base64
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from reeltalk.construct.frames import LONGEST_PX
from reeltalk.schema.intervals import Interval
from reeltalk.schema.knowledge import Box
from reeltalk.schema.media import SampledFrame, Video
from reeltalk.schema.record import Seconds
from reeltalk.video.appearance import APPEARANCE_VALUES, colour_name, cut_box, describe_appearance
from reeltalk.video.encode import jpeg, upright, within
from reeltalk.video.frames import frames_at
from reeltalk.video.sampling import fixed_rate
from reeltalk.video.stream import rgb

CROP_PX: Final = 160
"""Longer side of a stored crop."""
CROP_QUALITY: Final = 85
FRONT_SHARE: Final = 0.8
"""A box whose lower edge is below this share of the picture's height is in the front."""

Describe = Callable[[bytes, str], str]
"""Describes the JPEG crop of an object of a class, for example with a vision model."""


class FoundBox(NamedTuple):
    """One object in one frame, from a detector or from known boxes."""

    box: Box
    class_name: str
    confidence: float


class FrameBoxes(NamedTuple):
    """The objects of one frame."""

    pts_s: float
    objects: list[FoundBox]


class DescribedObject(BaseModel):
    """The appearance of one object in one frame."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    appearance: Annotated[str, Field(max_length=8 * APPEARANCE_VALUES)]
    """`video.appearance.Appearance` as float16 in base64."""
    colour: Annotated[str, Field(max_length=20)]
    crop: str
    """JPEG in base64."""


class DescribedFrame(BaseModel):
    """The appearance of a frame and its objects."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pts_s: Seconds
    view: Annotated[str, Field(max_length=8 * APPEARANCE_VALUES)]
    """The appearance of the whole frame."""
    objects: tuple[DescribedObject, ...]


def sample_times(video: Video, frames: Sequence[SampledFrame], *, fps: float) -> list[float]:
    """Times in seconds at which to look for objects: the key frames, or a fixed rate without key frames.

    Args:
        video: The video.
        frames: Its rows of the frames table; empty if it was not curated.
        fps: Rate in frames a second if it was not curated.
    """
    if frames:
        return sorted({frame.pts_s for frame in frames if frame.key_frame})
    if not video.duration_s:
        return [0.0]
    return list(fixed_rate(Interval(start_s=0.0, end_s=video.duration_s), fps=fps))


def describe_objects(argument: dict[str, Any]) -> list[dict[str, Any]]:
    """Describe the objects in frames. Runs in a child process.

    Args:
        argument: `path`, `rotation_deg`, and `frames`: for each its `pts_s` and its `boxes` as four numbers each.

    Returns:
        A `DescribedFrame` as JSON for each frame.
    """
    frames = argument["frames"]
    found = []
    for frame, wanted in zip(
        frames_at(Path(argument["path"]), [frame["pts_s"] for frame in frames]), frames, strict=True
    ):
        picture = upright(within(rgb(frame.picture), LONGEST_PX), argument["rotation_deg"])
        objects = []
        for left, top, right, bottom in wanted["boxes"]:
            crop = cut_box(picture, Box(left=left, top=top, right=right, bottom=bottom))
            small = np.ascontiguousarray(within(crop, CROP_PX))
            objects.append(
                DescribedObject(
                    appearance=pack_appearance(describe_appearance(crop)),
                    colour=colour_name(crop),
                    crop=base64.b64encode(jpeg(small, quality=CROP_QUALITY)).decode(),
                )
            )
        made = DescribedFrame(
            pts_s=wanted["pts_s"], view=pack_appearance(describe_appearance(picture)), objects=tuple(objects)
        )
        found.append(made.model_dump(mode="json"))
    return found


def pack_appearance(values: NDArray[np.float32]) -> str:
    """An appearance as base64 of float16."""
    return base64.b64encode(values.astype("<f2").tobytes()).decode()


def unpack_appearance(text: str) -> NDArray[np.float32]:
    """An appearance from base64 of float16.

    Raises:
        ValueError: The text is not base64, or not an appearance.
    """
    values = np.frombuffer(base64.b64decode(text, validate=True), "<f2").astype(np.float32)
    if values.shape != (APPEARANCE_VALUES,) or not np.isfinite(values).all():
        raise ValueError(f"must be an appearance with shape ({APPEARANCE_VALUES},), but got shape {values.shape}")
    return values


def describe_box(class_name: str, colour: str, box: Box) -> str:
    """A caption without a model: colour, class and place, for example `blue mug, left, back`."""
    across = (box.left + box.right) / 2
    side = "left" if across < 1 / 3 else "right" if across > 2 / 3 else "middle"
    return f"{colour} {class_name}, {side}, {'front' if box.bottom > FRONT_SHARE else 'back'}"


def group_frames(frames: Sequence[FrameBoxes], *, most_boxes: int) -> Iterator[list[FrameBoxes]]:
    """Consecutive frames in groups of at most `most_boxes` boxes; a frame with more boxes is a group of its own."""
    part: list[FrameBoxes] = []
    count = 0
    for frame in frames:
        if part and count + len(frame.objects) + 1 > most_boxes:
            yield part
            part, count = [], 0
        part.append(frame)
        count += len(frame.objects) + 1
    if part:
        yield part
