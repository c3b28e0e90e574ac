"""What a run directory holds besides its answers: per-item scores, summary rows, curves, and what was counted.

A run lies outside the benchmark: `run.json`, `answers.jsonl`, `scores/items.jsonl`, `scores/curves.jsonl` and
`summary.json`. `score`, `evaluate` and `judge` write runs; `report`, `compare` and `calibrate` read them.
"""

from typing import Annotated, Final, Literal

from pydantic import Field

from reeltalk.schema.record import Finite, Json, Name, Record

Control = Literal["none", "black", "shuffled", "other-video"]
CONTROLS: Final[dict[Control, str]] = {
    "none": "no pictures",
    "black": "black pictures",
    "shuffled": "shuffled pictures",
    "other-video": "another video's pictures",
}
"""What a control run shows a model in place of the video's own pictures."""

MOST_UNSCORED: Final = 0.02
"""Above this share of items without a score a number is withheld, wherever it stands."""


def is_withheld(n: int, unscored: float) -> bool:
    """True if so many items have no score that a number over the others is not quoted.

    Those that are missing are seldom like those that are there. Every number goes by this: of the leaderboard, of a
    group, of a turn position, of a task, and those that pages compute from scores of turns.

    Args:
        n: Items that have a score.
        unscored: Items that should have one and have none. An item that lacks some of its judgings counts in part.
    """
    # Of 350 items 7 are 2 %, whatever binary fractions make of it.
    return unscored > MOST_UNSCORED * (n + unscored) + 1e-9


def value_fields(
    value: float | None, low: float | None, high: float | None, *, withheld: bool
) -> dict[str, float | None]:
    """A number as fields of a row: with its interval, or in `over_scored` alone if it is withheld.

    Args:
        value: Over what was scored; None if nothing was.
        low: Lower end of the 95 % interval.
        high: Upper end.
        withheld: As `is_withheld` says.
    """
    if withheld:
        return {"value": None, "low": None, "high": None, "over_scored": value}
    return {"value": value, "low": low, "high": high, "over_scored": None}


class SummaryRow(Record):
    """One number of a leaderboard, with all that is needed to quote it."""

    model: Name
    metric: Name
    value: Finite | None = None
    """None if nothing could be scored; `RunInfo.unscored` says why."""
    n: Annotated[int, Field(ge=0)]
    """Items that the value rests on."""
    videos: Annotated[int, Field(ge=0)] | None = None
    """Source videos of those items, by which the interval is clustered; None in runs of older versions."""
    low: Finite | None = None
    """Lower end of the 95 % interval; None if nothing can be said, as with one video."""
    high: Finite | None = None
    signature: Name
    unscored: Annotated[int, Field(ge=0)] = 0
    """Items that should have a value and have none, as the judge failed or the model gave no answer."""
    not_applicable: Annotated[int, Field(ge=0)] = 0
    """Items to which the criterion does not apply, as the judge says."""
    over_scored: Finite | None = None
    """The value over what was scored, where `value` is withheld because more than 2 % are unscored."""
    reasons: dict[str, int] = Field(default_factory=dict)
    """Why items are unscored, and how many for each reason, the most frequent first."""


class GroupRow(Record):
    """A metric over the items of one group, as the turns that carry one question type."""

    model: Name
    metric: Name
    by: Name
    """What the items are grouped by, as `question_type`, `task`, `skill`, `scene`, `turns`, `video_length`."""
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
    """All metrics of one model's answer to one turn; a metric that failed there is absent."""

    model: Name
    item_id: Name
    scores: dict[str, Finite]


class CurvePoint(Record):
    """A metric over the turns that stand at one position of their dialogues."""

    model: Name
    metric: Name
    turn_index: Annotated[int, Field(ge=0)]
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
    """An item that a source held more than once. The first row is kept; all others are listed here."""

    item_id: Name
    kept: str
    """Where the kept row stood, as `results.json at $[12]`."""
    dropped: tuple[str, ...]
    same_answer: bool
    """True if every dropped row gave the same answer as the kept one."""
    dropped_answers: tuple[str, ...] = ()


class ModelInfo(Record):
    """What was read for one model, and what was found wanting."""

    model: Name
    source: str
    """The file or folder the answers were read from."""
    sha256: str
    """Hash of the source's bytes."""
    rows: Annotated[int, Field(ge=0)]
    """Answers in the source, duplicates included."""
    items: Annotated[int, Field(ge=0)]
    """Distinct items with an answer to score."""
    duplicates: tuple[Duplicate, ...] = ()
    missing: tuple[Name, ...] = ()
    """Items that another model of the run, or the benchmark, has and this one lacks. Not in any mean; shown."""
    mismatched: tuple[Name, ...] = ()
    """Items whose question or references differ from those of the run's first model or of the benchmark."""
    not_scored: dict[str, int] = Field(default_factory=dict)
    """Rows that have no answer to score, by reason."""


class Unscored(Record):
    """A metric that gave no value, and why."""

    model: Name
    metric: Name
    reason: str


class RunInfo(Record):
    """`run.json`: what was run, on what, how, and what was counted on the way."""

    kind: Name
    """The verb that wrote the run, as `score`."""
    format_version: int = 1
    reeltalk_version: Name
    subject: Name
    """First word of the signatures, as `vdact.answers`."""
    models: tuple[ModelInfo, ...]
    metrics: tuple[Name, ...]
    settings: dict[str, Json] = Field(default_factory=dict)
    clusters: Annotated[int, Field(ge=0)]
    """Source videos, by which intervals are clustered."""
    unscored: tuple[Unscored, ...] = ()
