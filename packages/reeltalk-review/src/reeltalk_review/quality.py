"""Quality of each person's work in one queue: decisions, agreement, gold, and time.

Only complete units count, and of each the work as it was when all of it was in: the numbers tell nothing about work
that others may not see yet. Gold counts for itself alone. All functions are pure; `team_stats` reads the database.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Final

import numpy as np

from reeltalk.metrics.draws import Statistic
from reeltalk.metrics.uncertainty import mean_interval
from reeltalk.schema.record import Json
from reeltalk_review.agreement import NO_PAIRS, CodedPlace, agreement_by_variable
from reeltalk_review.gold import GoldMeasures
from reeltalk_review.tasks.task import ReviewTask

DECISIONS: Final = ("accepted", "edited", "rejected", "skipped")
FEW: Final = 20
"""With fewer decisions no shares are shown, and with fewer timed turns nobody is warned."""
NOT_SETTLED: Final = "no place that more than their own work settled"
ALONE: Final = "nobody else did these tasks"
_KINDS: Final = {
    "accept": "accepted", "keep": "accepted", "edit": "edited", "reject": "rejected", "delete": "rejected",
    "skip": "skipped",
}  # fmt: skip
Spans = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class UnitWork:
    """One person's work on one complete unit, in counts."""

    person: str
    video: str
    turns: int
    decisions: Mapping[str, int]
    """By `DECISIONS`."""
    unsure: int
    """Places at which they said that they are unsure."""
    settled: int
    """Places that were settled, and not by their work alone."""
    equal: int
    """Of these, the places at which their work is what was settled."""
    watch: Spans
    """Seconds of the video that the unit is about; empty if that is not known."""


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
    watch = _watched(content)
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
        turns = len(task.places(content))
        found.append(UnitWork(person, video, turns, dict(kinds), unsure, len(settled), equal, watch))
    return found


def _decision(value: Json) -> str:
    return str(value.get("decision")) if isinstance(value, dict) else ""


def _essence(task: ReviewTask, content: Mapping[str, Any], place: str, value: Json) -> Json:
    return task.essence(content, place, value) if value is not None else None


def _watched(content: Mapping[str, Any]) -> Spans:
    """What of the video a unit is about: its clips, else the evidence of its turns."""
    clips = content.get("clips") or [
        part for turn in content.get("turns", ()) if isinstance(turn, dict) for part in turn.get("evidence") or ()
    ]
    return tuple(
        (float(part["start_s"]), float(part["end_s"]))
        for part in clips
        if isinstance(part, dict) and "start_s" in part and "end_s" in part
    )


def watch_seconds(works: Iterable[UnitWork]) -> float:
    """Seconds that it takes to watch what units are about. What several units are about is watched once."""
    spans: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for work in works:
        spans[work.video].extend(work.watch)
    total = 0.0
    for found in spans.values():
        reached = float("-inf")
        for start, end in sorted(found):
            total += max(0.0, end - max(start, reached))
            reached = max(reached, end)
    return total


@dataclass(frozen=True)
class PersonTimes:
    """How long somebody worked on turns of a queue."""

    seconds: tuple[float, ...] = ()
    """One number for each turn that they worked on."""
    measured: int = 0
    """How many of them a browser measured. The others are gaps between two saves."""


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
    others: Statistic
    """Krippendorff's alpha on the main variable, with everybody who did the same places."""
    gold: GoldMeasures | None
    """None without gold."""
    seconds: float | None
    """Median seconds for a turn; None if there is no time."""
    timed: int
    """Turns with a time."""
    measured: int
    """Of these, the turns whose time a browser measured."""
    watch_s: float | None
    """Seconds that watching takes for a turn: all that the units are about, watched once; None if not known."""

    @property
    def decided(self) -> int:
        """Number of decisions."""
        return sum(self.decisions.values())

    @property
    def too_fast(self) -> bool:
        """True if their time for a turn is below what watching takes."""
        known = self.seconds is not None and self.watch_s is not None
        return known and self.timed >= FEW and (self.seconds or 0.0) < (self.watch_s or 0.0)


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
    others: Statistic,
    gold: GoldMeasures | None,
    times: PersonTimes,
) -> PersonQuality:
    """Quality of one person's work in one queue.

    Args:
        person: Their id.
        queue_id: The queue.
        works: Their work on its complete units.
        handed: How much they handed in.
        others: The result of `agreement_with_others`.
        gold: Their results on its gold.
        times: Their times.
    """
    decisions: Counter[str] = Counter(dict.fromkeys(DECISIONS, 0))
    for work in works:
        decisions.update(work.decisions)
    turns, watch_s = sum(work.turns for work in works), watch_seconds(works)
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
        others=others,
        gold=gold,
        seconds=median(times.seconds) if times.seconds else None,
        timed=len(times.seconds),
        measured=times.measured,
        watch_s=watch_s / turns if turns and watch_s else None,
    )


def _with_results(works: Sequence[UnitWork]) -> Statistic:
    values = np.concatenate(
        [np.repeat([1.0, 0.0], [work.equal, work.settled - work.equal]) for work in works] or [np.zeros(0)]
    )
    if not len(values):
        return Statistic(None, None, None, 0, 0, NOT_SETTLED)
    found = mean_interval(values, [work.video for work in works for _ in range(work.settled)], (0.0, 1.0))
    return Statistic(found.value, found.low, found.high, found.n, found.clusters, found.reason)


def agreement_with_others(person: str, rows: Iterable[CodedPlace]) -> Statistic:
    """Krippendorff's alpha between somebody and the others who did the same places, on the task's main variable.

    Others are compared with this person only, not with each other.

    Args:
        person: Their id.
        rows: Everybody's codes in one queue.
    """
    placed: dict[tuple[str, str], list[CodedPlace]] = defaultdict(list)
    for row in rows:
        placed[row.unit, row.place].append(row)
    pairs: list[CodedPlace] = []
    for coded in placed.values():
        mine = next((row for row in coded if row.person == person), None)
        if mine is None:
            continue
        name = next(iter(mine.codes), "")
        for row in coded:
            if row is not mine and name in mine.codes and name in row.codes:
                # Each pair is a unit of its own.
                for one in (mine, row):
                    pairs.append(replace(one, unit=f"{one.unit} {row.person}", codes={name: one.codes[name]}))
    found = agreement_by_variable(pairs, tags=False)
    if not found:
        return Statistic(None, None, None, 0, 0, ALONE)
    alpha = found[0].chance_corrected
    return replace(alpha, reason=ALONE) if alpha.reason == NO_PAIRS else alpha
