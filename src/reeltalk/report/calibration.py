"""What a calibration finds, as plain data, and how it is asked for."""

from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.metrics.draws import Statistic
from reeltalk.report.agreement_levels import Categories, Levels
from reeltalk.report.corrected_means import CorrectedMean, Landmark
from reeltalk.report.judge_bias import Bias
from reeltalk.report.judge_values import Kind

RESAMPLES: Final = 1000
SEED: Final = 17


class CalibrationSettings(BaseModel):
    """How judges are compared with people."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    resamples: Annotated[int, Field(ge=100, le=100_000)] = RESAMPLES
    """Draws of the videos behind each interval."""
    seed: Annotated[int, Field(ge=0)] = SEED
    scale: tuple[float, float] | None = None
    """From where to where people rate; what they used where it is not given."""
    people_pass: float | None = None
    """From this value on people pass an answer; the middle of their scale where it is not given."""
    passes: dict[str, float] = Field(default_factory=dict)
    """The same of judges, by protocol, criterion or metric, where it is not the known one."""

    @model_validator(mode="after")
    def _scale_goes_up(self) -> "CalibrationSettings":
        if self.scale is not None and not self.scale[0] < self.scale[1]:
            raise ValueError("a scale goes from a lower to a higher number")
        return self


@dataclass(frozen=True)
class Pair:
    """Two people."""

    first: str
    second: str
    raw: Statistic
    kappa: Statistic
    quadratic: Statistic


@dataclass(frozen=True)
class People:
    """How far people agree with each other."""

    raters: tuple[str, ...]
    items: int
    """Answers that people rated and that the runs hold."""
    several: int
    """Those that more than one rated."""
    alpha: dict[str, Statistic]
    """Krippendorff's, by what differences of ratings are taken to mean."""
    pairs: tuple[Pair, ...]
    ceiling: Statistic
    """Spearman's rho of one person with the mean of the others; the mean over persons."""
    each: tuple[tuple[str, int, float | None], ...]
    """The same of each person, with how many answers it rests on."""


@dataclass(frozen=True)
class JudgeBesidePeople:
    """One judge, rule or text metric beside people."""

    name: str
    kind: Kind
    protocol: str
    criterion: str
    judge: str | None
    scale: tuple[float, float] | None
    levels: Levels
    categories: Categories | None
    no_categories: str | None
    """Why there are none."""
    in_place: Statistic | None
    """Its rho in the place of each person in turn, which compares with the people's ceiling; None for one person."""
    not_told_apart: tuple[str, ...]
    """Others whose correlation on the same answers does not surely differ from its own."""
    bias: Bias
    means: tuple[CorrectedMean, ...]
    shares: tuple[CorrectedMean, ...]
    """Shares of right answers; empty where the judge says more than pass or fail."""
    landmarks: tuple[Landmark, ...]
    points: tuple[tuple[float, float, int, str], ...]
    """What people say, what it says, of how many answers, of which model: for figures."""


@dataclass(frozen=True)
class Dimension:
    """One thing that people rated."""

    criterion: str
    whole: bool
    """True where whole dialogues were rated, False for turns."""
    scale: tuple[float, float]
    people_pass: float
    videos: int
    models: tuple[str, ...]
    people: People
    judges: tuple[JudgeBesidePeople, ...]
    """The highest Spearman correlation on answers first; those without one last."""
    left_out: tuple[tuple[str, str], ...]
    """Judges that could not be compared, and why."""


@dataclass(frozen=True)
class Calibration:
    """All of it."""

    dimensions: tuple[Dimension, ...]
    sources: tuple[str, ...]
    """Where ratings were read."""
    ratings: int
    unmatched: int
    """Ratings of answers that the runs do not hold."""
    apart: int
    """Ratings of floors and references, which are no part of correlations."""
    empty: int
    not_applicable: int
    resamples: int
    seed: int
