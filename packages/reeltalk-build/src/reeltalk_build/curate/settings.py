"""Settings of curation. Defaults are those of SVBench and MT-Video-Bench where the papers name a value."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from reeltalk.curate.transcripts import LANGUAGE
from reeltalk.curate.wholeness import MAX_MISSING
from reeltalk.errors import SettingError
from reeltalk.schema.settings import Settings
from reeltalk.video.records import SHOT_DETECTORS, DetectorSettings

NonNegative = Annotated[float, Field(ge=0)]
PRESETS: Final[Mapping[str, Mapping[str, int | float]]] = {
    "static-camera": {
        "min_duration_s": 10.0,
        "min_flow_px": 0.0,
        "min_shots": 1,
        "max_shots": 100,
        "min_mean_shot_s": 1.0,
        "max_mean_shot_s": 3600.0,
    },
    "short-clips": {
        "min_duration_s": 1.0,
        "min_flow_px": 0.1,
        "min_shots": 1,
        "min_mean_shot_s": 0.5,
        "merge_below_s": 1.0,
    },
}
"""Settings by the name of a preset, where they differ from the defaults. static-camera: recordings without cuts, in
which little moves for long times; light and people make a detector find some cuts in them all the same. short-clips:
videos of a few seconds, of one or two shots."""


class CurateSettings(Settings):
    """Settings of `reeltalk curate`."""

    preset: Literal["static-camera", "short-clips"] | None = None
    """static-camera: recordings without cuts, from surveillance, a worn camera or a household; short-clips: videos of a
    few seconds. A preset sets some of the options below; an option that you give wins."""
    detector: Literal["content", "adaptive", "hash", "threshold", "transnetv2"] = "content"
    """How cuts are found: PySceneDetect's content, adaptive, hash or threshold detector, or TransNetV2."""
    threshold: Annotated[float, Field(gt=0)] | None = None
    """The detector's threshold; its own by default."""
    min_shot_s: Annotated[float, Field(ge=0, le=60)] | None = None
    """Least time between two cuts, in seconds; .6 by default, as in PySceneDetect's command."""
    min_shot_frames: Annotated[int, Field(ge=0)] | None = None
    """The same in frames, whatever the rate, and flashes cut: 15 is the default of PySceneDetect's library."""
    min_duration_s: NonNegative = 60.0
    """Shortest video (SVBench)."""
    max_missing: Annotated[float, Field(ge=0, le=100)] = MAX_MISSING
    """Largest missing part of a truncated or damaged video, in percent of its length."""
    min_aesthetic: float = 4.0
    """Lowest LAION aesthetic score, 0 to 10 (SVBench); applied only with --aesthetic-model."""
    aesthetic_model: Path | None = None
    """Folder with CLIP and the LAION aesthetic head; see the documentation."""
    max_brisque: float | None = None
    """Highest (worst) BRISQUE score, 0 to 100; always measured, applied only if you give a value."""
    min_flow_px: NonNegative = 0.5
    """Smallest mean motion (DIS, frames a second apart, pixels at a width of 256). It is no optical flow score as in
    SVBench, whose number this is."""
    max_flow_px: NonNegative = 100.0
    """Largest mean motion; likewise SVBench's number for another score."""
    min_shots: Annotated[int, Field(ge=1)] = 5
    """Fewest shots of a video (SVBench)."""
    max_shots: Annotated[int, Field(ge=1)] = 15
    """Most shots of a video (SVBench)."""
    min_mean_shot_s: NonNegative = 5.0
    """Shortest mean length of a video's shots (SVBench)."""
    max_mean_shot_s: Annotated[float, Field(gt=0)] = 30.0
    """Longest mean length of a video's shots (SVBench)."""
    merge_below_s: NonNegative = 2.0
    """Shots shorter than this join a neighbour before clips are made (SVBench)."""
    extend_s: NonNegative = 0.5
    """Seconds by which clips are extended on both sides, within the video (SVBench)."""
    compat: Literal["svbench"] | None = None
    """svbench: clips as in SVBench's script, without shots below 1.5 s, with bounds at whole seconds."""
    sample_fps: Annotated[int, Field(ge=1, le=10)] = 2
    """Frames per second that are analysed (MT-Video-Bench); an integer, so that some frames are a second apart."""
    min_sharpness: NonNegative = 20.0
    """Smallest variance of the Laplacian of a key frame; the papers give no value."""
    max_similarity: Annotated[float, Field(ge=-1, le=1)] = 0.9
    """Largest similarity of the histograms of a key frame and the key frame before it (MT-Video-Bench)."""
    alike_bits: Annotated[int, Field(ge=0, le=7)] = 4
    """Largest number of bits, of 64, in which the perceptual hashes of two equal pictures differ."""
    alike_share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Smallest share of the shorter video's pictures that a near-duplicate also has."""
    splits: str | None = None
    """Splits with their shares, such as train=0.8,test=0.2; near-duplicates are in the same split."""
    seed: int = 17
    """Seed of the splits."""
    cut: Literal["none", "lossless", "exact"] = "none"
    """Write clips as files: lossless copies packets; exact encodes clips again that do not begin on a key frame."""
    media: Literal["copy", "link", "none"] = "copy"
    """copy: copy accepted videos into the benchmark; link: hard-link them, which takes no space and needs one file
    system; none: leave them where they are."""
    speech: bool = True
    """Read the subtitle or transcript file beside each video: NAME.srt, NAME.vtt or Whisper's JSON."""
    speech_language: Annotated[str, Field(pattern=rf"^{LANGUAGE.pattern}$")] | None = None
    """Language of the file that is read if a video has several, as en for NAME.en.srt; by default the file without a
    language in its name, or the only one."""
    save_frames: bool = False
    """Write the key frames as JPEG files."""
    max_minutes: Annotated[float, Field(gt=0)] = 60.0
    """Longest time for one video, in minutes; less for small files."""
    max_memory_mib: Annotated[int, Field(ge=128)] = 1024
    """Memory limit of the process of one video, in MiB."""

    @model_validator(mode="before")
    @classmethod
    def _with_preset(cls, given: Any) -> Any:
        preset = PRESETS.get(given.get("preset") or "") if isinstance(given, Mapping) else None
        return given if preset is None else {**preset, **given}

    @model_validator(mode="after")
    def _bounds_in_order(self) -> "CurateSettings":
        for low, high in (
            ("min_flow_px", "max_flow_px"),
            ("min_shots", "max_shots"),
            ("min_mean_shot_s", "max_mean_shot_s"),
        ):
            if getattr(self, low) > getattr(self, high):
                raise ValueError(f"{low} is {getattr(self, low):g}, which is above {high}, {getattr(self, high):g}")
        return self

    @property
    def detector_settings(self) -> DetectorSettings:
        """The detector with its threshold."""
        values = {"threshold": self.threshold, "min_shot_s": self.min_shot_s, "min_shot_frames": self.min_shot_frames}
        kind = SHOT_DETECTORS[self.detector]
        unknown = [name for name, value in values.items() if value is not None and name not in kind.model_fields]
        if unknown:
            raise SettingError(f"the {self.detector} detector has no {unknown[0]}")
        found: DetectorSettings = kind.model_validate({k: v for k, v in values.items() if v is not None})
        return found

    @property
    def max_duration_s(self) -> float:
        """Longest video that can pass, in seconds: the most shots times the longest mean length."""
        return self.max_shots * self.max_mean_shot_s

    @property
    def shortest_s(self) -> float:
        """Shortest video that can pass, in seconds."""
        return max(self.min_duration_s, self.min_shots * self.min_mean_shot_s)

    @property
    def split_shares(self) -> dict[str, float]:
        """Shares by split; they add up to 1. Empty without splits.

        Raises:
            SettingError: `splits` is malformed.
        """
        if not self.splits:
            return {}
        shares: dict[str, float] = {}
        for part in self.splits.split(","):
            name, _, share = part.partition("=")
            try:
                shares[name.strip()] = float(share)
            except ValueError:
                raise SettingError(f"--splits {self.splits!r}: {part!r} is not NAME=SHARE, such as train=0.8") from None
        if not all(shares) or any(share <= 0 for share in shares.values()) or abs(sum(shares.values()) - 1) > 1e-6:
            raise SettingError(f"--splits {self.splits!r}: shares must be above 0 and add up to 1")
        return shares
