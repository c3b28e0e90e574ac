"""Facts about one file, as a child process finds them."""

from collections.abc import Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict

from reeltalk.schema.media import Encoding
from reeltalk.video.records import Gap, Probe

WHOLE_S: Final = 1e-6
"""Smaller differences are rounding errors."""


class FileFacts(BaseModel):
    """The facts about one file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sha256: str
    probe: Probe | None = None
    reason: str | None = None
    """Reason why the file cannot be read as a video."""
    quality: float | None = None
    """Mean BRISQUE of the key frames."""
    pictures: tuple[str, ...] = ()
    """Squares of the key frames if requested: 224 × 224 × 3 bytes of RGB in base64."""


def decoded_of(probe: Probe, lost: Sequence[Gap] = ()) -> float | None:
    """Seconds of a video that can be decoded; None if nothing is missing.

    Args:
        probe: Facts from its packets.
        lost: Parts that could not be decoded, without those whose packets are missing.
    """
    held_s = round(probe.held_s(lost), 6)
    return held_s if probe.promised_s - held_s > WHOLE_S else None


def encoding_of(probe: Probe) -> Encoding:
    """The encoding of a video, for its row."""
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
