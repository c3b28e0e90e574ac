"""Scenarios: activities that follow each other under VDAct's constraints (AAAI 2025).

Here is what is known of each activity, and the bounds; `scenario_constraints.py` checks scenarios, `scenario_search.py`
composes them.
"""

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.errors import SettingError
from reeltalk.graph.activity import ActivityGraph, agent_of
from reeltalk.graph.activity_facts import action_time, category_of, released_lengths
from reeltalk.graph.telling import initial_room
from reeltalk.graph.vocabulary import ROOMS, class_of, told_name
from reeltalk.store.documents import SourceModel, parse, read_json

VIEWS: Final = frozenset({"switching", "fixed"})
"""Views that VDAct allows: the indoor camera that switches, and a fixed one in a corner of the room."""
PAPER_CANDIDATES: Final = 3021
EVENT_SPREAD_S: Final = 4.4
"""Standard deviation of the lengths of VDAct's events, for one whose action was not measured."""
_NUMBER = re.compile(r"\d*(_scene\d+)?$")
Scenario = tuple[str, ...]


class ComposeSettings(BaseModel):
    """Settings of `reeltalk scenario`; the defaults are VDAct's."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    min_activities: Annotated[int, Field(ge=2)] = 2
    """Fewest activities of a scenario."""
    max_activities: Annotated[int, Field(ge=2)] = 5
    """Most activities of a scenario."""
    lengths: Literal["vdact", "uniform"] = "vdact"
    """How many activities: as often as in VDAct's 1,000 released scenarios, filling the time; or each number alike."""
    min_duration_s: Annotated[float, Field(ge=0)] = 60.0
    """Shortest scenario."""
    max_duration_s: Annotated[float, Field(gt=0)] = 300.0
    """Longest scenario."""
    max_first: Annotated[int, Field(ge=1)] = 8
    """In how many scenarios an activity may come first."""
    max_pair: Annotated[int, Field(ge=1)] = 2
    """In how many scenarios two activities may follow each other directly."""
    max_shared: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of the longer of two scenarios' activities that both may have."""
    seconds_per_event: Annotated[float, Field(gt=0)] = 6.2
    """Estimated length of an event without a time whose action was not measured: the mean of VDAct's events."""
    attempts: Annotated[int, Field(ge=1)] = 40
    """Walks that are tried for each activity in each round."""
    sample: Annotated[int, Field(ge=1)] | None = None
    """Draw this many of the candidates; all by default."""
    seed: int = 17
    """Seed of the walks and of the sample."""

    @property
    def length_shares(self) -> dict[int, float]:
        """Shares of scenarios by number of activities, within the bounds; they add up to 1.

        Raises:
            SettingError: VDAct released no scenario of as many activities.
        """
        within = range(self.min_activities, self.max_activities + 1)
        released = released_lengths()
        if self.lengths == "uniform":
            return dict.fromkeys(within, 1 / len(within))
        if unknown := [number for number in within if number not in released]:
            raise SettingError(
                f"VDAct released no scenarios of {unknown[-1]} activities: keep within {min(released)} to "
                f"{max(released)}, or use --lengths uniform"
            )
        total = sum(released[number] for number in within)
        return {number: released[number] / total for number in within}

    @model_validator(mode="after")
    def _ranges(self) -> "ComposeSettings":
        if self.min_activities > self.max_activities:
            raise ValueError(f"min_activities {self.min_activities} is above max_activities {self.max_activities}")
        if self.min_duration_s > self.max_duration_s:
            raise ValueError(f"min_duration_s {self.min_duration_s:g} is above max_duration_s {self.max_duration_s:g}")
        return self


@dataclass(frozen=True)
class ActivityCard:
    """What composing needs to know of an activity; None is unknown.

    `measured_s` and `spread_s` are the estimate of the events whose actions were measured, all but `unmeasured`.
    """

    name: str
    environment: str
    events: int
    start_room: str | None = None
    end_room: str | None = None
    duration_s: float | None = None
    views: frozenset[str] | None = None
    category: str | None = None
    measured_s: float = 0.0
    spread_s: float = 0.0
    unmeasured: int | None = None

    @cached_property
    def kind(self) -> str:
        """The activity without its number and environment: `Watch_television3_scene1` is `Watch_television`."""
        return _NUMBER.sub("", self.name)

    def length_s(self, seconds_per_event: float) -> float:
        """Its duration, estimated from its events where it is not known."""
        if self.duration_s is not None:
            return self.duration_s
        return self.measured_s + (self.events if self.unmeasured is None else self.unmeasured) * seconds_per_event

    @property
    def error_s(self) -> float:
        """Standard error of `length_s`; 0 where the duration is known."""
        if self.duration_s is not None:
            return 0.0
        unmeasured = self.events if self.unmeasured is None else self.unmeasured
        return math.hypot(self.spread_s, EVENT_SPREAD_S * math.sqrt(unmeasured))


class _CardRow(SourceModel):
    start_room: str | None = None
    end_room: str | None = None
    duration_s: Annotated[float, Field(gt=0)] | None = None
    views: tuple[str, ...] | None = None
    category: str | None = None


def cards(
    graphs: Mapping[str, ActivityGraph],
    *,
    initial_rooms: Mapping[str, str] | None = None,
    table: Path | None = None,
) -> dict[str, ActivityCard]:
    """What graphs say of their activities, completed by tables.

    Args:
        graphs: By name.
        initial_rooms: Start rooms, as `living room`, in place of the graphs' own.
        table: JSON object by activity of `start_room`, `end_room`, `duration_s`, `views`, `category`, each optional.

    Raises:
        InputError: The table is malformed.
    """
    rows = parse(dict[str, _CardRow], read_json(table), file=table) if table else {}
    made = {}
    for name, graph in graphs.items():
        row = rows.get(name, _CardRow())
        start = row.start_room or (initial_rooms or {}).get(name) or initial_room(graph)
        times = [time for event in graph.events if (time := action_time(event)) is not None]
        made[name] = ActivityCard(
            name=name,
            environment=graph.scene,
            events=len(graph.events),
            start_room=start,
            end_room=row.end_room or _end_room(graph, start),
            duration_s=row.duration_s or graph.duration_s,
            views=frozenset(row.views) if row.views is not None else None,
            category=row.category or category_of(graph),
            measured_s=sum(time.mean_s for time in times),
            spread_s=math.hypot(*(time.spread_s for time in times)),
            unmeasured=len(graph.events) - len(times),
        )
    return made


def _end_room(graph: ActivityGraph, start: str | None) -> str | None:
    """Where the person is at the end: by the last event, their own state, or what they last walked to."""
    agent, last = agent_of(graph), graph.situations - 1
    if graph.events and (room := graph.events[-1].to_room):
        return told_name(room)
    # Curated graphs hold no state of the person, only shapes from when something was near: these may be out of date.
    if agent in graph.values and (room := graph.room_at(agent, last)):
        return told_name(room)
    for event in reversed(graph.events):
        if event.main and class_of(event.main) in ROOMS:
            return told_name(event.main)
        if event.main and (room := graph.room_at(event.main, event.before)):
            return told_name(room)
    return start


def adjacent(scenario: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Each two activities that follow each other."""
    return itertools.pairwise(scenario)
