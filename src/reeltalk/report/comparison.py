"""What a comparison of two models is: its settings, its numbers, and what it shows in words."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.metrics.clustered import ClusteredEstimate
from reeltalk.metrics.multiple import Correction
from reeltalk.metrics.power import POWER
from reeltalk.metrics.uncertainty import FEW_VIDEOS
from reeltalk.report.columns import digits_of, direction_of
from reeltalk.report.leaderboard import Leaderboard, key_of

Method = Literal["clustered t", "linearised clustered t", "against a fixed number", "unpaired clustered t"]


class CompareSettings(BaseModel):
    """What to compare, and how."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metrics: tuple[str, ...] = ()
    """Names on the leaderboard; all judged headlines and text metrics where none is named."""
    by: str | None = None
    """Compare within each group of turns instead, as `task` or `question_type`."""
    correction: Correction = "holm"
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    target_power: float = Field(default=POWER, gt=0.5, lt=1)
    """How surely the smallest detectable difference would be found."""
    anyway: bool = False
    """Compare also where the numbers were scored in different ways."""
    unpaired: bool = False
    """Compare models that have no turn in common, each over its own turns."""

    @property
    def alpha(self) -> float:
        """Level of the tests."""
        return 1 - self.confidence


@dataclass(frozen=True)
class LeftOut:
    """Items that a comparison does not rest on."""

    only_first: int = 0
    """That the second model was not asked."""
    only_second: int = 0
    asked_otherwise: int = 0
    """That both were asked, in other words, or with other references or options."""
    unscored_first: int = 0
    """Without a score of the first model alone."""
    unscored_second: int = 0
    unscored_both: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(dataclasses.astuple(self))


@dataclass(frozen=True)
class Comparison:
    """One metric of two models, over all turns or those of a group. The difference is the first less the second."""

    metric: str
    first: int
    """The model's place on the leaderboard."""
    second: int
    group: str | None = None
    problem: str | None = None
    """Why there is nothing to say; then all that follows is empty."""
    method: Method = "clustered t"
    first_value: float | None = None
    """Over the turns compared, so that it may differ from the leaderboard's."""
    second_value: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    df: float | None = None
    p: float | None = None
    corrected_p: float | None = None
    """Corrected over the family; `p` itself for a pair outside it."""
    family: int = 0
    """How many p values the family of its metric has; 0 for a pair outside it."""
    detectable: float | None = None
    """The smallest difference that a test of this one comparison would find with the power asked for."""
    items: int = 0
    item: str = "turn"
    videos: int = 0
    icc: float | None = None
    design_effect: float | None = None
    wins: int = 0
    """Items on which the first has more."""
    ties: int = 0
    losses: int = 0
    net: ClusteredEstimate | None = None
    """Wins less losses, as a share of items, -1 to 1."""
    left_out: LeftOut = LeftOut()
    withheld: str | None = None
    """Why no winner may be named."""
    notes: tuple[str, ...] = ()

    @property
    def paired(self) -> bool:
        """True where both models answered the same items."""
        return self.method in ("clustered t", "linearised clustered t")

    def winner(self, alpha: float) -> int | None:
        """The place of the model that is better, or has more where more is not better; None where none is shown."""
        if self.difference is None or self.corrected_p is None or self.withheld or self.corrected_p >= alpha:
            return None
        return self.first if self.difference > 0 else self.second


@dataclass(frozen=True)
class Comparisons:
    """All comparisons that were asked for."""

    board: Leaderboard
    models: tuple[int, ...]
    """Places of the models that were compared."""
    rows: tuple[Comparison, ...]
    settings: CompareSettings
    aside: tuple[int, ...] = ()
    """Floors, the oracle, references and people, where they were not asked for."""

    def verdict(self, row: Comparison) -> str:
        """What a comparison shows, in words."""
        first, second = key_of(row.first), key_of(row.second)
        if row.problem is not None:
            return f"not compared: {row.problem}"
        if row.p is None:
            if row.videos > 1:
                return "nothing can be said: a part of its mean rests on one source video, and an interval needs two"
            return "nothing can be said: 1 source video, and an interval needs two"
        if row.withheld:
            return f"no winner is named: {row.withheld}"
        best = row.winner(self.settings.alpha)
        if best is None:
            shown = "" if row.detectable is None else (
                f"; the smallest detectable difference here is {shown_difference(row.metric, row.detectable)[1:]}"
                f" ({self.settings.target_power * 100:.0f} % power)"
            )  # fmt: skip
            return f"no difference shown{shown}"
        word = "has more" if direction_of(row.metric) == "neither" else "is better"
        rough = f", roughly: {row.videos} videos are few" if row.videos < FEW_VIDEOS else ""
        return f"{first if best == row.first else second} {word}{rough}"


def shown_difference(metric: str, value: float) -> str:
    """A difference with its sign, in the metric's digits."""
    return f"{value:+z,.{digits_of(metric, 0.0)}f}"


def shown_p(p: float | None) -> str:
    """A p value as one quotes it."""
    return "–" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.4f}"
