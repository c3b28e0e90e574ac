"""Rows of a run besides its answers: scores of items, summary, curves and counts.

A run lies outside the benchmark: `run.json`, `answers.jsonl`, `scores/items.jsonl`, `scores/curves.jsonl` and
`summary.json`. `score`, `evaluate` and `judge` write runs; `report`, `compare` and `calibrate` read them.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from reeltalk.schema.answers import Outcome
from reeltalk.schema.record import Finite, Index, Json, Name, Record

Control = Literal["none", "black", "shuffled", "other-video"]
CONTROLS: Final[dict[Control, str]] = {
    "none": "no pictures",
    "black": "black pictures",
    "shuffled": "shuffled pictures",
    "other-video": "another video's pictures",
}
"""The pictures that a control run shows in place of the video's own."""

REPLIES: Final = "replies"
"""Key of `RunInfo.settings`: number of replies by role, name of the model, host and dialect."""
JUMPS: Final = "jumps"
"""Key of `RunInfo.settings`: `jumps` and `chances` of the paths that were played."""

SELECTED: Final = "selected"
"""Key of `RunInfo.settings`: setting `only` and the number of turns that it leaves out, by reason, if it does."""
EPOCHS: Final = "epochs"
"""Key of `RunInfo.settings`: number of plays of each dialogue, if there were several, and `EpochSpread` of measures."""

MOST_UNSCORED: Final = 0.02
"""Largest share of items without a score. Above it, a number is withheld everywhere."""


def is_withheld(n: int, unscored: float) -> bool:
    """True if too many items have no score to quote a number over the others.

    Missing items usually differ from the others. The rule applies to every number: in the leaderboard, for groups, turn
    positions and tasks, and in pages that compute numbers from scores of turns.

    Args:
        n: Number of scored items.
        unscored: Number of items whose score is missing. An item that lacks some of its judgings counts in part.
    """
    # 7 of 350 items are 2 %, whatever the rounding of binary fractions.
    return unscored > MOST_UNSCORED * (n + unscored) + 1e-9


def value_fields(
    value: float | None, low: float | None, high: float | None, *, withheld: bool
) -> dict[str, float | None]:
    """A number as fields of a row: with its interval, or only as `over_scored` if it is withheld.

    Args:
        value: The value over scored items; None without any.
        low: Lower end of the 95 % interval.
        high: Upper end of the interval.
        withheld: Result of `is_withheld`.
    """
    if withheld:
        return {"value": None, "low": None, "high": None, "over_scored": value}
    return {"value": value, "low": low, "high": high, "over_scored": None}


class SummaryRow(Record):
    """One number of a leaderboard, with everything needed to quote it."""

    model: Name
    metric: Name
    value: Finite | None = None
    """None if nothing could be scored; `RunInfo.unscored` says why."""
    n: Annotated[int, Field(ge=0)]
    """Number of scored items."""
    videos: Annotated[int, Field(ge=0)] | None = None
    """Number of their videos, by which the interval is clustered; None in runs of older versions."""
    low: Finite | None = None
    """Lower end of the 95 % interval; None if there is none, as with one video."""
    high: Finite | None = None
    signature: Name
    unscored: Annotated[int, Field(ge=0)] = 0
    """Items without a value because the judge failed or the model gave no answer."""
    not_applicable: Annotated[int, Field(ge=0)] = 0
    """Items to which the criterion does not apply, according to the judge."""
    over_scored: Finite | None = None
    """The value over scored items, if `value` is withheld because more than 2 % are unscored."""
    reasons: dict[str, int] = Field(default_factory=dict)
    """Number of unscored items by reason, the most frequent first."""


class GroupRow(Record):
    """A metric over the items of one group, such as the turns with one question type."""

    model: Name
    metric: Name
    by: Name
    """Key of the groups, such as `question_type`, `task`, `skill`, `scene`, `turns`, `video_length`."""
    group: Name
    value: Finite | None = None
    n: Annotated[int, Field(ge=0)]
    videos: Annotated[int, Field(ge=0)] | None = None
    unscored: Annotated[int, Field(ge=0)] = 0
    low: Finite | None = None
    high: Finite | None = None
    over_scored: Finite | None = None
    """As of `SummaryRow`."""


class ItemScores(Record):
    """All metrics of one model's answer to one turn, without failed ones."""

    model: Name
    item_id: Name
    epoch: Index = 0
    """As of the answer."""
    scores: dict[str, Finite]


class CurvePoint(Record):
    """A metric over the turns at one position of their dialogues."""

    model: Name
    metric: Name
    turn_index: Index
    """From 0."""
    value: Finite | None = None
    """None if it is withheld."""
    n: Annotated[int, Field(ge=0)]
    videos: Annotated[int, Field(ge=0)] | None = None
    unscored: Annotated[int, Field(ge=0)] = 0
    low: Finite | None = None
    high: Finite | None = None
    over_scored: Finite | None = None
    """As of `SummaryRow`."""


class Duplicate(Record):
    """An item with several rows in a source. The first row is kept; the others are listed here."""

    item_id: Name
    kept: str
    """Place of the kept row, such as `results.json at $[12]`."""
    dropped: tuple[str, ...]
    same_answer: bool
    """True if every dropped row gave the same answer as the kept one."""
    dropped_answers: tuple[str, ...] = ()


class ModelInfo(Record):
    """Counts of the answers of one model, and of missing ones."""

    model: Name
    source: str
    """The file or folder the answers were read from."""
    sha256: str
    """Hash of the source's bytes."""
    rows: Annotated[int, Field(ge=0)]
    """Answers in the source, duplicates included."""
    items: Annotated[int, Field(ge=0)]
    """Distinct items with an answer to score."""
    turns: dict[Outcome, int] = Field(default_factory=dict)
    """The ledger: number of turns by what became of them."""
    duplicates: tuple[Duplicate, ...] = ()
    missing: tuple[Name, ...] = ()
    """Items of another model of the run, or of the benchmark, that this model lacks. They count in no mean, but are
    shown."""
    mismatched: tuple[Name, ...] = ()
    """Items whose question or references differ from those of the run's first model or of the benchmark."""
    not_scored: dict[str, int] = Field(default_factory=dict)
    """Rows that have no answer to score, by reason."""

    @property
    def due(self) -> int:
        """Turns that should have a score: answered, empty, failed and missing ones."""
        return sum(count for outcome, count in self.turns.items() if outcome != "not_due")

    @property
    def without_answer(self) -> int:
        """Due turns without an answer: failed and missing ones."""
        return self.turns.get("failed", 0) + self.turns.get("missing", 0)


class EpochSpread(Record):
    """How far the answers of several epochs to one turn differ, by one metric."""

    model: Name
    metric: Name
    deviation: Finite
    """Standard deviation of the values of one turn."""
    share: Finite | None
    """Share of the variance of the mean that it makes, 0 to 1; None with too few videos."""

    @property
    def gain(self) -> float:
        """By how much twice as many epochs would narrow the interval of the mean, as a share of it."""
        return 0.0 if self.share is None else 1.0 - (1.0 - self.share / 2) ** 0.5


class Unscored(Record):
    """A metric that gave no value, and why."""

    model: Name
    metric: Name
    reason: str


def left_out_sentence(only: str, left_out: Mapping[str, int]) -> str:
    """Which turns of a benchmark a run leaves out.

    Args:
        only: Setting of the run.
        left_out: Number of turns by reason.
    """
    why = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
    return f"Left out by --only {only}: {sum(left_out.values()):,} turns ({why})"


class RunInfo(Record):
    """`run.json`: the verb, settings, inputs and counts of a run."""

    kind: Name
    """The verb that wrote the run, such as `score`."""
    format_version: int = 1
    reeltalk_version: Name
    subject: Name
    """First word of the signatures, such as `vdact.answers`."""
    models: tuple[ModelInfo, ...]
    metrics: tuple[Name, ...]
    settings: dict[str, Json] = Field(default_factory=dict)
    clusters: Annotated[int, Field(ge=0)]
    """Number of videos, by which intervals are clustered."""
    unscored: tuple[Unscored, ...] = ()

    @property
    def remarks(self) -> list[str]:
        """What a reader of the run's numbers may want to know about the plays, one sentence each."""
        found: list[str] = []
        jumps: Any = self.settings.get(JUMPS)
        if jumps and jumps["chances"]:
            rate = jumps["jumps"] / jumps["chances"]
            found.append(f"Its paths jump at {rate:.2f} of the {jumps['chances']:,} turns at which they can.")
        selected: Any = self.settings.get(SELECTED)
        if selected:
            found.append(f"{left_out_sentence(selected['only'], selected['left_out'])}.")
        if epochs := self.epochs:
            found.append(f"Every dialogue was played {epochs} times; the value of a turn is the mean of its answers.")
        for one in self.spreads:
            told = f"Answers of {one.model} to one turn deviate by {one.deviation:.3g} ({one.metric})"
            if one.share is not None:
                told += (
                    f", which makes {one.share:.0%} of the variance of the mean; twice as many epochs would narrow its "
                    f"interval by {one.gain:.0%}"
                )
            found.append(f"{told}.")
        return found

    @property
    def epochs(self) -> int:
        """How often each dialogue was played, if more than once; else 0."""
        told: Any = self.settings.get(EPOCHS)
        return int(told["number"]) if told else 0

    @property
    def spreads(self) -> list[EpochSpread]:
        """How far answers to one turn differ, by the main measures; empty if everything was played once."""
        told: Any = self.settings.get(EPOCHS)
        return [EpochSpread.model_validate(row) for row in told["within"]] if told else []

    @property
    def warnings(self) -> list[str]:
        """What a reader of the run's numbers has to know about who gave the replies, one sentence each."""
        found: list[str] = []
        rows: Any = self.settings.get(REPLIES) or []
        for role in dict.fromkeys(row["role"] for row in rows):
            counts = Counter[str]()
            for row in rows:
                counts[row["model"]] += row["replies"] if row["role"] == role else 0
            named = ", ".join(f"{name} ({count:,})" for name, count in counts.most_common() if count)
            if len(+counts) > 1:
                found.append(
                    f"The replies of the {role} came from models of several names, as the server reported them: "
                    f"{named}. The numbers are of no one model."
                )
        return found
