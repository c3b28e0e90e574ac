"""Settings of the shot detectors. Light to import: the command line reads them for its help."""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field


class ContentSettings(BaseModel):
    """ContentDetector's settings, with its own defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    detector: Literal["content"] = "content"
    threshold: Annotated[float, Field(gt=0)] = 27.0
    min_shot_frames: Annotated[int, Field(ge=0)] = 15


class AdaptiveSettings(BaseModel):
    """AdaptiveDetector's settings, with its own defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    detector: Literal["adaptive"] = "adaptive"
    threshold: Annotated[float, Field(gt=0)] = 3.0
    min_shot_frames: Annotated[int, Field(ge=0)] = 15
    window_frames: Annotated[int, Field(ge=1)] = 2
    min_content: Annotated[float, Field(ge=0)] = 15.0


class HashSettings(BaseModel):
    """HashDetector's settings, with its own defaults."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    detector: Literal["hash"] = "hash"
    threshold: Annotated[float, Field(gt=0, le=1)] = 0.35
    min_shot_frames: Annotated[int, Field(ge=0)] = 15


class ThresholdSettings(BaseModel):
    """ThresholdDetector's settings, with its own defaults: fades to and from black."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    detector: Literal["threshold"] = "threshold"
    threshold: Annotated[float, Field(ge=0, le=255)] = 12.0
    min_shot_frames: Annotated[int, Field(ge=0)] = 15


class TransNetSettings(BaseModel):
    """TransNetV2 (Souček & Lokoč 2020, arXiv 2008.04838): a cut where the probability passes the threshold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    detector: Literal["transnetv2"] = "transnetv2"
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5


DetectorSettings = Annotated[
    ContentSettings | AdaptiveSettings | HashSettings | ThresholdSettings | TransNetSettings,
    Field(discriminator="detector"),
]
DETECTORS: Final = {
    kind.model_fields["detector"].default: kind
    for kind in (ContentSettings, AdaptiveSettings, HashSettings, ThresholdSettings, TransNetSettings)
}
