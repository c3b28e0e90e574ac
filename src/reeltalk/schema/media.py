"""What was filmed, and which part of it."""

from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, Field, PlainSerializer

from reeltalk.schema.ids import ClipKey, VideoKey
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import Name, Record, Seconds


def _to_fraction(value: object) -> Fraction:
    if isinstance(value, Fraction):
        return value
    # A float such as 29.97 is not a frame rate: 30000/1001 is. Only exact spellings are taken.
    if isinstance(value, str | int) and not isinstance(value, bool):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            pass
    raise ValueError("a frame rate must be an exact fraction, as '30000/1001' or 25")


FrameRate = Annotated[Fraction, BeforeValidator(_to_fraction), PlainSerializer(str, return_type=str), Field(gt=0)]
"""Frames per second as an exact fraction, for example `Fraction(30000, 1001)`; a string on disk."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Video(Record):
    """A source file. Everything but its identifier may be unknown: annotations are often published without videos."""

    id: VideoKey
    file: str | None = None
    """Where the source says the file lies, relative to its video folder."""
    sha256: Sha256 | None = None
    """Hash of the file's bytes; also its name in the media store, where it is present there."""
    duration_s: Seconds | None = None
    frame_rate: FrameRate | None = None
    width_px: Annotated[int, Field(gt=0)] | None = None
    height_px: Annotated[int, Field(gt=0)] | None = None
    licence: str | None = None
    """An SPDX identifier, or the source's own words."""
    source: str | None = None
    """Where it comes from: an address or a data set's name."""
    split: Name | None = None
    """`train`, `dev`, `test` or the source's own word. Splits never share a video."""
    summaries: dict[str, str] = Field(default_factory=dict)
    """What happens in the video as text, by how it was written: VDAct has `template` and `refine`."""


class Clip(Record):
    """An interval of a video that we cut or that a source names."""

    id: ClipKey
    video_id: VideoKey
    interval: Interval | None = None
    """None where a source names a part of a video without saying when it is."""
