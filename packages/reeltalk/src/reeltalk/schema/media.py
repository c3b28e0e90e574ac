"""Videos, clips, shots, scenes and sampled frames."""

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import ClipKey, Finite, Name, Record, Seconds, VideoKey


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


class Encoding(BaseModel):
    """Encoding of a video file, from its container and packets."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    container: Name
    """FFmpeg's name of the demuxer, such as `mov,mp4,m4a,3gp,3g2,mj2`."""
    codec: Name
    pixel_format: Name
    frames: Annotated[int, Field(ge=0)]
    variable_frame_rate: bool
    rotation_deg: Literal[0, 90, 180, 270] = 0
    """Clockwise rotation that a video player applies. Width and height are as stored, before it."""
    mirrored: bool = False
    """Whether a player then swaps left and right."""
    pixel_aspect: FrameRate = Fraction(1)
    """Width of a pixel divided by its height, as an exact fraction."""
    transfer: Literal["pq", "hlg"] | None = None
    """The transfer function of HDR. Pictures are mapped to SDR."""
    interlaced: bool = False
    start_s: Seconds = 0.0
    """When the first picture appears; more than 0 if the sound begins before it."""
    hidden_frames: Annotated[int, Field(ge=0)] = 0
    """Frames that an edit list hides."""
    recordings: Annotated[int, Field(ge=1)] = 1
    """Recordings that were joined to this file, each with time stamps of its own."""
    streams: Annotated[int, Field(ge=1)] = 1
    """Streams of pictures; the one that is marked as the default, or the largest, is read."""
    audio_codec: Name | None = None
    subtitles: tuple[Name, ...] = ()
    """Languages of the subtitle streams, `und` for one without a name."""


class Video(Record):
    """A source file. Everything but its identifier may be unknown: annotations are often published without videos."""

    id: VideoKey
    file: str | None = None
    """Path of the file in its source, relative to the video folder."""
    sha256: Sha256 | None = None
    """Hash of the file's bytes; also its name in the media store, if it is present there."""
    duration_s: Seconds | None = None
    """Length of the video stream. If the file declares a longer one, the declared length."""
    decoded_s: Seconds | None = None
    """Seconds of `duration_s` with readable pictures, if the file was cut off or is damaged; None if no loss is
    known."""
    frame_rate: FrameRate | None = None
    width_px: Annotated[int, Field(gt=0)] | None = None
    height_px: Annotated[int, Field(gt=0)] | None = None
    encoding: Encoding | None = None
    lookalikes: Name | None = None
    """Name of a group of near-duplicates, such as copies in another size. Splits never share a group."""
    category: Name | None = None
    """The topic of the video, in its source's own words."""
    licence: str | None = None
    """An SPDX identifier, or the source's own words."""
    source: str | None = None
    """Its origin: an address or a data set's name."""
    split: Name | None = None
    """`train`, `dev`, `test` or the source's own word. Splits never share a video."""
    summaries: dict[str, str] = Field(default_factory=dict)
    """Summaries of the video, by the way they were written: VDAct has `template` and `refine`."""


class Clip(Record):
    """An interval of a video that we cut or that a source names."""

    id: ClipKey
    video_id: VideoKey
    interval: Interval | None = None
    """None if a source names a part of a video without its time."""
    file: "ClipFile | None" = None
    """The clip's own file, if it was cut."""


class ClipFile(BaseModel):
    """A clip that was cut, in the media store."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: Sha256
    how: Literal["copy", "trim", "encode"]
    """`copy`: original packets, from a key frame; `trim`: the same from the key frame before, with an edit list that
    hides the frames before the clip; `encode`: encoded again."""
    interval: Interval
    """The interval of the video that the file shows. Copying may add frames at the end."""


class Shot(Record):
    """The frames between two cuts."""

    video_id: VideoKey
    interval: Interval
    content: Finite | None = None
    """Content score of its first frame against the frame before, 0–255; None for the first shot."""


class Scene(Record):
    """Clips that belong together: neighbours by their captions, or clips of several scenes by objects or themes.

    MT-Video-Bench's single scenes and cross-scene segments (arXiv 2510.17722).
    """

    id: Name
    video_id: VideoKey
    clip_ids: tuple[ClipKey, ...]
    """In the order of time."""
    kind: Literal["single", "cross"] = "single"
    caption: str = ""
    joined_by: tuple[Name, ...] = ()
    """Why a cross-scene segment's parts were joined: `object:mug` or `theme:cooking`."""
    parts: tuple[Name, ...] = ()
    """The single scenes of a cross-scene segment."""
    suitability: dict[str, Annotated[int, Field(ge=1, le=6)]] = Field(default_factory=dict)
    """By task, how well it suits, 1 to 6."""
    writer: Name | None = None


class SampledFrame(Record):
    """A frame that was analysed, named by its presentation time, and whether it is a key frame."""

    video_id: VideoKey
    pts_s: Seconds
    content: Finite
    """Largest content score of the frames since the one sampled before, 0–255."""
    sharpness: Finite
    """Variance of the Laplacian of the luma at a width of 640 pixels."""
    similarity: Finite | None = None
    """Correlation of its histogram with the one of the key frame before, −1 to 1; None for the first."""
    flow_px: Finite | None = None
    """Mean length of the optical flow since the frame a second before, at a width of 256 pixels."""
    key_frame: bool
    dropped: Name | None = None
    """Reason why it is not a key frame: `blurred` or `alike`."""
