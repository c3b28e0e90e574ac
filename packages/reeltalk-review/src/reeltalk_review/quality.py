"""Quality of each person's work in one queue: decisions, agreement, gold, and time.

Only complete units count, and of each the work as it was when all of it was in: the numbers tell nothing about work
that others may not see yet. Gold counts for itself alone. All functions are pure; `team_stats` reads the database.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

import numpy as np

from reeltalk.metrics.draws import Statistic
from reeltalk.metrics.uncertainty import mean_interval
from reeltalk.schema.record import Json
from reeltalk_review.gold import GoldMeasures
from reeltalk_review.tasks.task import ReviewTask

DECISIONS: Final = ("accepted", "edited", "rejected", "skipped")
FEW: Final = 20
"""With fewer decisions no shares are shown."""
NOT_SETTLED: Final = "no place that more than their own work settled"
_KINDS: Final = {
    "accept": "accepted", "keep": "accepted", "edit": "edited", "reject": "rejected", "delete": "rejected",
    "skip": "skipped",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class UnitWork:
    """One person's work on one complete unit, in counts."""

    person: str
    video: str
    decisions: Mapping[str, int]
    """By `DECISIONS`."""
    unsure: int
    """Places at which they said that they are unsure."""
    settled: int
    """Places that were settled, and not by their work alone."""
    equal: int
    """Of these, the places at which their work is what was settled."""
    in_bulk: int = 0
    """Turns that they accepted together with others and looked at no more."""


def unit_works(
    task: ReviewTask,
    content: Mapping[str, Any],
    video: str,
    values: Mapping[str, Mapping[str, Json]],
    results: Mapping[str, tuple[Json, str]],
) -> list[UnitWork]:
    """Counts of everybody's work on a complete unit.

    Args:
        task: Its task.
        content: Its content.
        video: Its video.
        values: Values by place, by person.
        results: What was settled and how, by place.
    """
    found = []
    for person, places in values.items():
        decided = [value for value in places.values() if value is not None and task.is_decided(value)]
        kinds = Counter(_KINDS[kind] for value in decided if (kind := _decision(value)) in _KINDS)
        unsure = sum(isinstance(value, dict) and value.get("unsure") is True for value in decided)
        settled = {place: value for place, (value, how) in results.items() if how != "sole"}
        equal = sum(
            _essence(task, content, place, places.get(place)) == _essence(task, content, place, value)
            for place, value in settled.items()
        )
        in_bulk = sum(isinstance(value, dict) and value.get("in_bulk") is True for value in decided)
        found.append(UnitWork(person, video, dict(kinds), unsure, len(settled), equal, in_bulk))
    return found


def _decision(value: Json) -> str:
    return str(value.get("decision")) if isinstance(value, dict) else ""


def _essence(task: ReviewTask, content: Mapping[str, Any], place: str, value: Json) -> Json:
    return task.essence(content, place, value) if value is not None else None


@dataclass(frozen=True)
class PersonQuality:
    """Quality of one person's work in one queue."""

    person: str
    queue_id: str
    submitted: int
    """Units submitted, gold included."""
    turns: int
    """Turns in them."""
    returned: int
    """How often work came back."""
    units: int
    """Complete units that they worked on. What follows is about these, except gold and times."""
    decisions: Mapping[str, int]
    """By `DECISIONS`."""
    unsure: int
    results: Statistic
    """Share of places at which their work is what was settled. Places that their work alone settled do not count."""
    gold: GoldMeasures | None
    """None without gold."""
    times_s: Sequence[float]
    """Seconds of activity at each turn, as browsers measured them."""
    in_bulk: int = 0
    """Of the accepted ones, those accepted together with others. Agreement leaves them out."""

    @property
    def seconds(self) -> float | None:
        """Median seconds for a turn; None if there is no time."""
        return median(self.times_s) if self.times_s else None

    @property
    def hours(self) -> float:
        """Hours of activity."""
        return sum(self.times_s) / 3600

    @property
    def decided(self) -> int:
        """Number of decisions."""
        return sum(self.decisions.values())


@dataclass(frozen=True)
class Handed:
    """How much one person handed in, in one queue."""

    submitted: int = 0
    turns: int = 0
    returned: int = 0


def quality_of(
    person: str,
    queue_id: str,
    works: Sequence[UnitWork],
    *,
    handed: Handed,
    gold: GoldMeasures | None,
    times_s: Sequence[float],
) -> PersonQuality:
    """Quality of one person's work in one queue.

    Args:
        person: Their id.
        queue_id: The queue.
        works: Their work on its complete units.
        handed: How much they handed in.
        gold: Their results on its gold.
        times_s: Their seconds at each turn.
    """
    decisions: Counter[str] = Counter(dict.fromkeys(DECISIONS, 0))
    for work in works:
        decisions.update(work.decisions)
    return PersonQuality(
        person=person,
        queue_id=queue_id,
        submitted=handed.submitted,
        turns=handed.turns,
        returned=handed.returned,
        units=len(works),
        decisions=dict(decisions),
        unsure=sum(work.unsure for work in works),
        results=_with_results(works),
        gold=gold,
        times_s=times_s,
        in_bulk=sum(work.in_bulk for work in works),
    )


def _with_results(works: Sequence[UnitWork]) -> Statistic:
    values = np.concatenate(
        [np.repeat([1.0, 0.0], [work.equal, work.settled - work.equal]) for work in works] or [np.zeros(0)]
    )
    if not len(values):
        return Statistic(None, None, None, 0, 0, NOT_SETTLED)
    found = mean_interval(values, [work.video for work in works for _ in range(work.settled)], (0.0, 1.0))
    return Statistic(found.value, found.low, found.high, found.n, found.clusters, found.reason)
