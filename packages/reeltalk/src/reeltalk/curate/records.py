"""Facts about one file, as a child process finds them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict

from reeltalk.schema.media import Encoding, Video
from reeltalk.video.records import Gap, Probe

ROUNDING_S: Final = 1e-6
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
    return held_s if probe.promised_s - held_s > ROUNDING_S else None


def encoding_of(probe: Probe) -> Encoding:
    """The encoding of a video, for its row."""
    return Encoding.model_validate(probe.model_dump(include=set(Encoding.model_fields)))


def unusual(videos: Iterable[Video]) -> list[str]:
    """What is unusual about some files and how they are read, with the files of each kind."""
    found: dict[str, list[str]] = {}
    for video in videos:
        for note in _notes(video.encoding) if video.encoding is not None else ():
            found.setdefault(note, []).append(video.file or video.id)
    return [f"{note}: {', '.join(names)}" for note, names in found.items()]


def _notes(encoding: Encoding) -> Iterator[str]:
    if encoding.start_s:
        yield "the pictures begin after the sound; until then a black one is shown, as by players"
    if encoding.recordings > 1:
        yield "recordings were joined; their times follow each other, and clips of them have no sound"
    if encoding.streams > 1:
        yield "it holds several films; the one that is marked as the default, or the largest, is read"
    if encoding.transfer is not None:
        yield "HDR is shown in SDR, by Hable's curve"
    if encoding.interlaced:
        yield "half pictures are filled up to whole ones"
