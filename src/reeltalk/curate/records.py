"""What the child processes of a curation hand back."""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.schema.media import Encoding, Sha256
from reeltalk.video.records import Cut, Gap, Probe

WHOLE_S: Final = 1e-6
"""Less than this is the rounding of floats."""


class Ingested(BaseModel):
    """What ingestion found."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    probe: Probe | None = None
    reason: str | None = None
    """Why the file is no video that we read."""
    quality: float | None = None
    """Mean BRISQUE of the key frames."""
    pictures: tuple[str, ...] = ()
    """Squares of the key frames, 224 × 224 × 3 bytes of RGB in base64, where they were asked for."""


class CutClip(BaseModel):
    """A clip that was cut."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cut: Cut
    target: Annotated[str, Field(pattern=r"^clip-[0-9a-f]+[.]mp4$")]
    """Name of its file in the work folder."""
    sha256: Sha256 | None = None
    """Its name in the media store, once it is there."""


def decoded_of(probe: Probe, lost: Sequence[Gap] = ()) -> float | None:
    """Seconds of a video whose pictures can be had; None where none are missing.

    Args:
        probe: What its packets say.
        lost: Parts that could not be decoded, beside those that the packets lack.
    """
    held_s = round(probe.held_s(lost), 6)
    return held_s if probe.promised_s - held_s > WHOLE_S else None


def encoding_of(probe: Probe) -> Encoding:
    """How a video is written, as its row says it."""
    return Encoding(
        container=probe.container,
        codec=probe.codec,
        pixel_format=probe.pixel_format,
        frames=probe.frames,
        variable_frame_rate=probe.variable_frame_rate,
        rotation_deg=probe.rotation_deg,
        audio_codec=probe.audio_codec,
        subtitles=probe.subtitles,
    )
