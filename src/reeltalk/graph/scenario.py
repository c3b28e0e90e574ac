"""Scenarios: sequences of activities under VDAct's constraints (AAAI 2025).

This module has the cards of activities, the bounds, and the check of the constraints; `scenario_search.py` composes
scenarios. An estimated length fails only if it leaves the bounds by more than its error; nearer to them the result is
unknown.

The paper does not say what "more than half of its activities duplicated across other scenarios" compares. In the 1,000
released scenarios no two share more than half of the longer one's activities, while nearly all activities occur in
several scenarios. So sharing is counted between two scenarios, relative to the longer one.
"""

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.errors import SettingError
from reeltalk.graph.activity import ActivityGraph, action_time, agent_of, category_of, released_lengths
from reeltalk.graph.telling import initial_room
from reeltalk.graph.vocabulary import ROOMS, class_of, told_name
from reeltalk.store.documents import SourceModel, parse, read_json

VIEWS: Final = frozenset({"switching", "fixed"})
"""Camera views that VDAct allows: the switching indoor camera, and a fixed one in a corner of the room."""
PAPER_CANDIDATES: Final = 3021
EVENT_SPREAD_S: Final = 4.4
"""Standard deviation of the lengths of VDAct's events, for actions that were not measured."""
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
    """Number of activities: with the shares of VDAct's 1,000 released scenarios, filling the time; or uniform."""
    min_duration_s: Annotated[float, Field(ge=0)] = 60.0
    """Shortest scenario."""
    max_duration_s: Annotated[float, Field(gt=0)] = 300.0
    """Longest scenario."""
    max_first: Annotated[int, Field(ge=1)] = 8
    """Most scenarios in which an activity comes first."""
    max_pair: Annotated[int, Field(ge=1)] = 2
    """Most scenarios in which the same two activities follow each other directly."""
    max_shared: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Largest share of the longer scenario's activities that two scenarios may have in common."""
    seconds_per_event: Annotated[float, Field(gt=0)] = 6.2
    """Estimated length of an event without a time whose action was not measured: the mean of VDAct's events."""
    attempts: Annotated[int, Field(ge=1)] = 40
    """Walks to try for each activity in each round."""
    sample: Annotated[int, Field(ge=1)] | None = None
    """Draw this many of the candidates; all by default."""
    seed: int = 17
    """Seed of the walks and of the sample."""

    @property
    def length_shares(self) -> dict[int, float]:
        """Shares of scenarios by number of activities, within the bounds; they add up to 1.

        Raises:
            SettingError: VDAct released no scenario with one of these numbers of activities.
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
    """Facts about an activity for composing scenarios; None means unknown.

    `measured_s` and `spread_s` estimate the events with measured actions; `unmeasured` counts the others.
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
        """The name without number and environment: `Watch_television` for `Watch_television3_scene1`."""
        return _NUMBER.sub("", self.name)

    def length_s(self, seconds_per_event: float) -> float:
        """Its duration in seconds, estimated from its events if unknown."""
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


def activity_cards(
    graphs: Mapping[str, ActivityGraph],
    *,
    initial_rooms: Mapping[str, str] | None = None,
    table: Path | None = None,
) -> dict[str, ActivityCard]:
    """Make the cards of activities from their graphs and from tables.

    Args:
        graphs: Graphs by name.
        initial_rooms: Start rooms by activity, for example `living room`; they replace those of the graphs.
        table: JSON object with, for each activity, `start_room`, `end_room`, `duration_s`, `views` and `category`, each
            optional.

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
    """Room of the person at the end: from the last event, the person's state, or the last walk."""
    agent, last = agent_of(graph), graph.situations - 1
    if graph.events and (room := graph.events[-1].to_room):
        return told_name(room)
    # Curated graphs have no state of the person, only shapes from moments when something was near, perhaps outdated.
    if agent in graph.values and (room := graph.room_at(agent, last)):
        return told_name(room)
    for event in reversed(graph.events):
        if event.main and class_of(event.main) in ROOMS:
            return told_name(event.main)
        if event.main and (room := graph.room_at(event.main, event.before)):
            return told_name(room)
    return start


def adjacent_pairs(scenario: Sequence[str]) -> Iterable[tuple[str, str]]:
    """Pairs of consecutive activities."""
    return itertools.pairwise(scenario)


@dataclass(frozen=True)
class Constraint:
    """How many scenarios keep one constraint."""

    name: str
    basis: Literal["checked", "estimated", "not checkable"]
    holds: int
    fails: int
    unknown: int
    examples: tuple[str, ...] = ()
    """A few scenarios that fail it."""

    @property
    def line(self) -> str:
        """The result as one line of text."""
        if self.basis == "not checkable":
            return f"{self.name}: not checkable, {self.unknown:,} scenarios lack what it needs"
        text = f"{self.name}: {self.holds:,} hold, {self.fails:,} do not"
        doubt = "too near the bounds to tell" if self.basis == "estimated" else "not checkable"
        text += f", {self.unknown:,} {doubt}" if self.unknown else ""
        text += " (estimated)" if self.basis == "estimated" else ""
        return text + (f": {', '.join(self.examples)}" if self.examples else "")


EXAMPLES_SHOWN: Final = 5
CERTAIN: Final = 2.326
"""Standard errors beyond the bounds at which an estimated length fails: 99 % point of the normal distribution."""
ERRORS_TOGETHER: Final = 1.25
"""Factor on the error of independent events, measured on VDAct's 1,000: events share a walker and a house."""


def check_scenarios(
    scenarios: Mapping[str, Scenario], known: Mapping[str, ActivityCard], settings: ComposeSettings
) -> list[Constraint]:
    """Check every constraint of the paper over a set of scenarios.

    Args:
        scenarios: Activities by scenario.
        known: Cards of all activities that occur.
        settings: The bounds.
    """
    firsts = Counter(scenario[0] for scenario in scenarios.values())
    pairs = Counter(pair for scenario in scenarios.values() for pair in adjacent_pairs(scenario))
    shared = _most_shared(scenarios)

    def environment(name: str, scenario: Sequence[ActivityCard]) -> bool | None:
        return len({card.environment for card in scenario}) == 1

    def rooms(name: str, scenario: Sequence[ActivityCard]) -> bool | None:
        joints = [(a.end_room, b.start_room) for a, b in itertools.pairwise(scenario)]
        if any(a != b for a, b in joints if a and b):
            return False
        return None if any(not a or not b for a, b in joints) else True

    def duration(name: str, scenario: Sequence[ActivityCard]) -> bool | None:
        length = sum(card.length_s(settings.seconds_per_event) for card in scenario)
        if settings.min_duration_s <= length <= settings.max_duration_s:
            return True
        doubt = CERTAIN * ERRORS_TOGETHER * math.hypot(*(card.error_s for card in scenario))
        beyond = max(settings.min_duration_s - length, length - settings.max_duration_s)
        return None if 0 < beyond <= doubt else False

    def views(name: str, scenario: Sequence[ActivityCard]) -> bool | None:
        if any(card.views is None for card in scenario):
            return None
        return all(card.views is not None and card.views & VIEWS for card in scenario)

    def distinct(name: str, scenario: Sequence[ActivityCard]) -> bool | None:
        return len({card.kind for card in scenario}) == len(scenario)

    rules: list[tuple[str, Callable[[str, Sequence[ActivityCard]], bool | None]]] = [
        (
            f"{settings.min_activities} to {settings.max_activities} activities",
            lambda name, scenario: settings.min_activities <= len(scenario) <= settings.max_activities,
        ),
        ("same environment", environment),
        ("each starts in the room where the one before ends", rooms),
        ("no activity twice", distinct),
        (f"{settings.min_duration_s:g} to {settings.max_duration_s:g} s", duration),
        (f"views among {', '.join(sorted(VIEWS))}", views),
        (
            f"an activity first in at most {settings.max_first} scenarios",
            lambda name, scenario: firsts[scenario[0].name] <= settings.max_first,
        ),
        (
            f"at most {settings.max_shared:.0%} of its activities shared with another scenario",
            lambda name, scenario: shared[name] <= settings.max_shared,
        ),
        (
            f"an adjacent pair in at most {settings.max_pair} scenarios",
            lambda name, scenario: all(pairs[pair] <= settings.max_pair for pair in adjacent_pairs(scenarios[name])),
        ),
    ]
    estimated = any(known[name].duration_s is None for scenario in scenarios.values() for name in scenario)
    found = []
    for title, rule in rules:
        verdicts = {name: rule(name, [known[a] for a in scenario]) for name, scenario in scenarios.items()}
        count = Counter(verdicts.values())
        nothing = bool(scenarios) and count[None] == len(scenarios)
        found.append(
            Constraint(
                name=title,
                basis="estimated" if rule is duration and estimated else "not checkable" if nothing else "checked",
                holds=count[True],
                fails=count[False],
                unknown=count[None],
                examples=tuple(name for name, verdict in verdicts.items() if verdict is False)[:EXAMPLES_SHOWN],
            )
        )
    return found


def _most_shared(scenarios: Mapping[str, Scenario]) -> dict[str, float]:
    """By scenario, the largest share of activities in common with another one, relative to the longer of the two."""
    by_activity = defaultdict(list)
    for name, scenario in scenarios.items():
        for activity in set(scenario):
            by_activity[activity].append(name)
    most = {}
    for name, scenario in scenarios.items():
        common = Counter(other for activity in set(scenario) for other in by_activity[activity] if other != name)
        most[name] = max((n / max(len(scenario), len(scenarios[o])) for o, n in common.items()), default=0.0)
    return most
