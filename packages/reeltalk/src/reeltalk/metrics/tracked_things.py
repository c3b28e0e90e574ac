"""Compares what judges say that they saw with tracked objects: things named at a moment, and counts that they support.

A detector overlooks things and names few classes, so that a difference is no fault of one turn. Over many turns the
shares show a judge that names what is not there.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.metrics.agree import content_words
from reeltalk.metrics.uncertainty import Proportion, wilson
from reeltalk.schema.dialogue import Turn
from reeltalk.schema.gates import GateResult
from reeltalk.schema.intervals import Interval
from reeltalk.schema.knowledge import Sighting

NEAR_S: Final = 2.0
"""Seconds around a moment in which a thing that the judge names must be tracked."""
PEOPLE_CLASSES: Final = frozenset({"person"})
"""Classes that a sentence calls by many other words."""


@dataclass(frozen=True)
class SupportedTurn:
    """A turn that a judge supports, and what the judge says of it."""

    video_id: str
    turn: Turn
    moment_s: float | None
    seen: str


@dataclass(frozen=True)
class TrackedShares:
    """How often tracked objects bear out what judges say."""

    things: Proportion
    """Of things of a tracked class that are named at a moment, those that are tracked around it."""
    counts: Proportion
    """Of counts of a tracked class in evidence, those that are not above the number of tracked objects there."""

    def sentences(self) -> Iterable[str]:
        """What a reader should know; empty if nothing could be compared."""
        for share, what in (
            (self.things, "things that a judge names at a moment are tracked there"),
            (self.counts, "counts that a judge supports have as many tracked objects in their evidence"),
        ):
            if share.share is not None and share.low is not None and share.high is not None:
                interval = f"{100 * share.low:.0f} to {100 * share.high:.0f} %"
                yield f"Beside tracked objects: {share.successes:,} of {share.trials:,} {what} ({interval})."


def supported_turn(video_id: str, turn: Turn, verified: GateResult | None) -> SupportedTurn | None:
    """A turn that a judge supports by words of its own; None for others."""
    if verified is None or "supported" not in map(str, verified.extra.get("verdicts", ()) or ()):
        return None
    moment = verified.extra.get("moment_s")
    moment_s = float(moment) if isinstance(moment, int | float) else None
    return SupportedTurn(video_id, turn, moment_s, str(verified.extra.get("seen", "")))


def compare_with_tracks(
    turns: Iterable[SupportedTurn], sightings: Mapping[str, Sequence[Sighting]]
) -> TrackedShares | None:
    """Compare what judges say with tracked objects.

    Args:
        turns: Turns that a judge supports.
        sightings: Tracked objects by video.

    Returns:
        None if there is nothing to compare.
    """
    by_video: dict[str, list[SupportedTurn]] = defaultdict(list)
    for turn in turns:
        by_video[turn.video_id].append(turn)
    things, counts = list[bool](), list[bool]()
    for video_id, own in by_video.items():
        tracked: dict[str, list[Sighting]] = defaultdict(list)
        for sighting in sightings.get(video_id, ()):
            if sighting.class_name not in PEOPLE_CLASSES:
                tracked[" ".join(content_words(sighting.class_name))].append(sighting)
        for one in own:
            seen, asked = (set(content_words(text)) for text in (one.seen, one.turn.question))
            for name, rows in tracked.items():
                words = set(name.split())
                if one.moment_s is not None and words and words <= seen:
                    moment_s = one.moment_s
                    things.append(any(abs(row.pts_s - moment_s) <= NEAR_S for row in rows))
                if (said := _count(one.turn)) is not None and words and words <= asked:
                    counts.append(said <= len({row.entity for row in rows if _within(row.pts_s, one.turn.evidence)}))
    if not things and not counts:
        return None
    return TrackedShares(wilson(sum(things), len(things)), wilson(sum(counts), len(counts)))


def _count(turn: Turn) -> int | None:
    """The one number of an answer to a question for a number."""
    if "how many" not in turn.question.lower() or not turn.references or not turn.evidence:
        return None
    numbers = {word for word in content_words(turn.references[0]) if word.isdigit()}
    return int(numbers.pop()) if len(numbers) == 1 else None


def _within(moment_s: float, parts: Sequence[Interval]) -> bool:
    return any(part.start_s - NEAR_S <= moment_s <= part.end_s + NEAR_S for part in parts)
