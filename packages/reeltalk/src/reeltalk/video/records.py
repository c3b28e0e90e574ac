"""Settings and results of reading a video, as records. They import no video library."""

import itertools
from collections.abc import Iterator, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.schema.intervals import Interval


class _ShortestShot(BaseModel):
    """The distance between cuts, as PySceneDetect's command has it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_shot_s: Annotated[float, Field(ge=0, le=60)] = 0.6
    min_shot_frames: Annotated[int, Field(ge=0)] | None = None
    """In place of `min_shot_s`, as PySceneDetect's library has it; its default there is 15."""

    @property
    def min_scene_len(self) -> int | float:
        """The same for PySceneDetect, which takes a whole number for frames and any other for seconds."""
        return self.min_shot_s if self.min_shot_frames is None else self.min_shot_frames


class ContentSettings(_ShortestShot):
    """ContentDetector's settings, with its own defaults."""

    detector: Literal["content"] = "content"
    threshold: Annotated[float, Field(gt=0)] = 27.0


class AdaptiveSettings(_ShortestShot):
    """AdaptiveDetector's settings, with its own defaults."""

    detector: Literal["adaptive"] = "adaptive"
    threshold: Annotated[float, Field(gt=0)] = 3.0
    window_frames: Annotated[int, Field(ge=1)] = 2
    min_content: Annotated[float, Field(ge=0)] = 15.0


class HashSettings(_ShortestShot):
    """HashDetector's settings, with its own defaults."""

    detector: Literal["hash"] = "hash"
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.35


class ThresholdSettings(_ShortestShot):
    """ThresholdDetector's settings, with its own defaults: fades to and from black."""

    detector: Literal["threshold"] = "threshold"
    threshold: Annotated[float, Field(ge=0, le=255)] = 12.0


class TransNetSettings(BaseModel):
    """TransNetV2 (Souček & Lokoč 2020, arXiv 2008.04838): a cut where the probability passes the threshold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    detector: Literal["transnetv2"] = "transnetv2"
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5


DetectorSettings = Annotated[
    ContentSettings | AdaptiveSettings | HashSettings | ThresholdSettings | TransNetSettings,
    Field(discriminator="detector"),
]
SHOT_DETECTORS: Final = {
    kind.model_fields["detector"].default: kind
    for kind in (ContentSettings, AdaptiveSettings, HashSettings, ThresholdSettings, TransNetSettings)
}


Finite = Annotated[float, Field(allow_inf_nan=False)]
Gap = tuple[Finite, Finite]
"""Start and end of a part without pictures, in seconds."""


class Probe(BaseModel):
    """Facts of a video file. Times are seconds on the clock of a player: 0 is where pictures or sound begin."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    container: str
    codec: str
    pixel_format: str
    width_px: int
    height_px: int
    """As stored; see `rotation_deg` and `pixel_aspect`."""
    rotation_deg: int
    """Clockwise rotation that a player applies: 0, 90, 180 or 270."""
    mirrored: bool
    """Whether a player then swaps left and right."""
    pixel_aspect: Fraction
    """Width of a pixel divided by its height."""
    transfer: Literal["pq", "hlg"] | None
    """`pq` or `hlg` for HDR."""
    interlaced: bool
    start_s: Finite
    """When the first picture appears; more than 0 if the sound begins before it."""
    duration_s: Finite
    """The end of the last packet of the pictures."""
    promised_s: Finite
    """The end of the pictures according to the header; more than `duration_s` if the file was cut off."""
    gaps_s: tuple[Gap, ...]
    """Parts before the end whose packets were lost to damage."""
    frame_rate: Fraction | None
    variable_frame_rate: bool
    frames: int
    """Frames that are shown."""
    hidden_frames: int
    """Frames before the beginning or after the end that an edit list hides."""
    recordings: int
    """Recordings that were joined to this file, each with time stamps of its own."""
    streams: int
    """Streams of pictures, without covers; one of them is read."""
    audio_codec: str | None
    subtitles: tuple[str, ...]
    """Languages of the subtitle streams; `und` if a language is not named."""
    key_frames_s: tuple[float, ...]

    def held_s(self, more: Sequence[Gap] = ()) -> float:
        """Seconds of `promised_s` with pictures.

        Args:
            more: Further lost parts that a decoder found.
        """
        lost_s = sum(min(end_s, self.duration_s) - start_s for start_s, end_s in join_gaps([*self.gaps_s, *more]))
        return max(0.0, self.duration_s - lost_s)


class Sample(NamedTuple):
    """One sampled frame, like `reeltalk.schema.media.SampledFrame` without the video."""

    pts_s: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    content: Finite
    sharpness: Finite
    similarity: Finite | None
    flow_px: Finite | None
    dropped: str | None


class ScanSettings(BaseModel):
    """The settings of curation that a scan depends on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    detector: DetectorSettings
    sample_fps: int
    min_sharpness: float
    max_similarity: float
    max_shots: int
    save_frames: str | None = None
    """Folder for the key frames as JPEG files."""


class Scan(BaseModel):
    """The results of a scan. Times are seconds on the clock of a player."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cuts_s: tuple[Annotated[float, Field(ge=0, allow_inf_nan=False)], ...] = ()
    """First frame of each shot except the first, in order."""
    cut_contents: tuple[Finite, ...] = ()
    """Content score of each cut."""
    samples: tuple[Sample, ...] = ()
    hashes: tuple[str, ...] = ()
    """Perceptual hashes of the key frames; plain pictures have none."""
    decoded_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    """End of the last frame."""
    gaps_s: tuple[Gap, ...] = ()
    """Parts before the end whose frames were lost to damage."""
    damaged_end: bool = False
    """Whether packets after the last frame could not be decoded."""
    frames: int = 0
    stopped: bool = False
    """Whether it stopped early because there were too many shots."""
    damaged_packets: int = 0
    sheet: str | None = None
    """Contact sheet as PNG in base64."""
    reason: str | None = None
    """Why the video could not be decoded."""


def join_gaps(parts: Sequence[Gap]) -> list[Gap]:
    """Gaps in order; gaps that touch are joined."""
    found: list[Gap] = []
    for start_s, end_s in sorted(parts):
        if found and start_s <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end_s))
        elif end_s > start_s:
            found.append((start_s, end_s))
    return found


def shots_between(cuts_s: tuple[float, ...], start_s: float, end_s: float) -> Iterator[tuple[float, float]]:
    """Start and end of each shot of a film whose pictures begin and end at these times."""
    bounds = [start_s, *cuts_s, end_s]
    yield from itertools.pairwise(bounds)


class CutMethod(StrEnum):
    """The way in which a clip file was made."""

    COPY = "copy"
    """Packets copied; begins on a key frame."""
    TRIM = "trim"
    """Packets copied from the key frame before; an edit list hides the frames before the clip."""
    ENCODE = "encode"
    """Decoded and encoded again."""


class Cut(BaseModel):
    """A clip file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    how: CutMethod
    interval: Interval
    """The part that the file shows, in the time of the source. A copy may add a few frames at the end: those from which
    frames before the end are predicted."""
