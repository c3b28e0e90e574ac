"""Scenarios: sequences of activities under VDAct's constraints (AAAI 2025), checked and composed.

An estimated length fails only if it leaves the bounds by more than its error; nearer to them the result is unknown.

The paper does not say what "more than half of its activities duplicated across other scenarios" compares. In the 1,000
released scenarios no two share more than half of the longer one's activities, while nearly all activities occur in
several scenarios. So sharing is counted between two scenarios, relative to the longer one.

`compose` is a greedy search, since the paper gives no order. Activities are shuffled by the seed. In up to `max_first`
rounds each activity starts one more scenario, a random walk over the activities that can follow. With A activities, F =
`max_first`, T = `attempts` and L = `max_activities` there are at most A·F·T·L walks of L steps. Each step is a lookup
in an index by environment and room, so the cost is O(A·F·T·L²), linear in A.

VDAct's released scenarios of three, four and five activities all last about 250 s of the allowed 300 s, so the short
ones have long activities. Therefore the number of activities is drawn first, with the shares of the released scenarios.
A walk with fewer than the largest number must leave no time for another activity. If no walk of the drawn number fills
the time in this way, one that leaves time is taken; if there is none at all, another number is drawn.
"""

import itertools
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.errors import SettingError
from reeltalk.graph.activity import ActivityGraph, action_time, agent_of, category_of, released_lengths
from reeltalk.graph.telling import initial_room
from reeltalk.graph.vocabulary import ROOMS, class_of, told_name
from reeltalk.progress import CountProgress
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


@dataclass(frozen=True)
class ComposedScenarios:
    """The composed scenarios, with statistics of the search."""

    candidates: dict[str, Scenario]
    """All scenarios that keep the constraints, in order of acceptance."""
    sampled: dict[str, Scenario]
    """A seeded sample of them, or all."""
    pairs: dict[str, int]
    """Number of ordered pairs of activities that can follow each other, and of those that each constraint excludes."""
    walks: dict[str, int]
    """Number of walks tried, and of those that each constraint rejected."""
    estimated: int
    """Number of activities with an estimated duration."""
    not_checkable: tuple[str, ...] = ()
    """Constraints that cannot be checked, each with the number of activities without the needed facts."""
    unusable: dict[str, int] = field(default_factory=dict)
    """Number of activities that no scenario can contain, by reason."""
    unmeasured: int = 0
    """Number of events without a measured action, in activities with an estimated duration."""


TOO_SHORT, TOO_LONG, ROOM_LEFT, FIRST, PAIR, SHARED, AGAIN, FEW = (
    "too short",
    "too long",
    "time left for another activity",
    "first activity used too often",
    "adjacent pair used too often",
    "shares too much with another scenario",
    "found before",
    "no activity can follow",
)


def compose(
    known: Mapping[str, ActivityCard],
    settings: ComposeSettings,
    *,
    progress: CountProgress | None = None,
) -> ComposedScenarios:
    """Compose as many scenarios as the greedy search finds, then draw the sample.

    Args:
        known: Cards of activities by name.
        settings: Bounds and seed.
        progress: Called with the number of finished rounds and of all rounds.

    Raises:
        SettingError: VDAct released no scenario with one of the numbers of activities.
    """
    unusable: Counter[str] = Counter()
    usable = []
    for card in sorted(known.values(), key=lambda card: card.name):
        if card.views is not None and not card.views & VIEWS:
            unusable["no allowed view"] += 1
        elif card.start_room is None and card.end_room is None:
            unusable["neither start nor end room is known"] += 1
        elif card.length_s(settings.seconds_per_event) > settings.max_duration_s:
            unusable["longer than a scenario"] += 1
        else:
            usable.append(card)
    search = _Search(usable, settings)
    search.run(progress)
    candidates = {f"{number:05d}": scenario for number, scenario in enumerate(search.accepted, 1)}
    sampled = candidates
    if settings.sample is not None and settings.sample < len(candidates):
        drawn = _draw(candidates, settings, settings.sample)
        sampled = {f"{number:05d}": candidates[name] for number, name in enumerate(drawn, 1)}
    lacking = [
        (sum(card.views is None for card in usable), "allowed views"),
        (sum(card.start_room is None or card.end_room is None for card in usable), "start and end rooms"),
    ]
    return ComposedScenarios(
        candidates=candidates,
        sampled=sampled,
        pairs=search.count_pairs(),
        walks=dict(search.walks),
        estimated=sum(card.duration_s is None for card in usable),
        not_checkable=tuple(f"{what}: unknown for {n:,} of {len(usable):,} activities" for n, what in lacking if n),
        unusable=dict(unusable),
        unmeasured=sum(card.unmeasured or 0 for card in usable if card.duration_s is None),
    )


def _draw(candidates: Mapping[str, Scenario], settings: ComposeSettings, count: int) -> list[str]:
    """Names of the sample. With VDAct's lengths each number of activities gets its share as far as possible."""
    drawing = random.Random(f"{settings.seed} sample")
    if settings.lengths == "uniform":
        return sorted(drawing.sample(sorted(candidates), count))
    drawn: set[str] = set()
    for number, wanted in apportion(settings.length_shares, count).items():
        having = sorted(name for name, scenario in candidates.items() if len(scenario) == number)
        drawn.update(drawing.sample(having, min(wanted, len(having))))
    rest = sorted(set(candidates) - drawn)
    return sorted(drawn.union(drawing.sample(rest, count - len(drawn))))


def apportion(shares: Mapping[int, float], count: int) -> dict[int, int]:
    """Whole numbers in proportion to shares, by largest remainder.

    Args:
        shares: Shares that add up to 1.
        count: Sum of the numbers.
    """
    parts = {key: int(share * count) for key, share in shares.items()}
    by_remainder = sorted(shares, key=lambda key: (parts[key] - shares[key] * count, key))
    for key in by_remainder[: count - sum(parts.values())]:
        parts[key] += 1
    return parts


class _Search:
    def __init__(self, usable: Sequence[ActivityCard], settings: ComposeSettings) -> None:
        self.usable, self.settings = usable, settings
        self.random = random.Random(settings.seed)
        self._shares = settings.length_shares
        self.accepted: list[Scenario] = []
        self.walks: Counter[str] = Counter()
        self._known = {card.name: card for card in usable}
        self._followers: dict[tuple[str, str], list[ActivityCard]] = defaultdict(list)
        for card in usable:
            if card.start_room is not None:
                self._followers[card.environment, card.start_room].append(card)
        self._firsts: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._used_up: dict[str, set[str]] = defaultdict(set)
        """Activities that may no longer follow one: the pair is in `max_pair` scenarios."""
        self._with: dict[str, list[int]] = defaultdict(list)
        self._seen: set[Scenario] = set()

    def run(self, progress: CountProgress | None) -> None:
        order = list(self.usable)
        for done in range(self.settings.max_first):
            self.random.shuffle(order)
            before = len(self.accepted)
            for card in order:
                self._begin(card)
            if progress is not None:
                progress(done + 1, self.settings.max_first)
            if len(self.accepted) == before:
                break

    def _begin(self, card: ActivityCard) -> None:
        if self.settings.lengths == "uniform":
            self._find(card, lambda: self.random.randint(self.settings.min_activities, self.settings.max_activities))
            return
        left = dict(self._shares)
        while left:
            wanted = self.random.choices(list(left), list(left.values()))[0]
            if self._find(card, partial(int, wanted)):
                return
            del left[wanted]

    def _find(self, card: ActivityCard, length: Callable[[], int]) -> bool:
        """Accept the first walk that keeps the constraints; a walk that leaves time only after all attempts."""
        spare: Scenario | None = None
        for _ in range(self.settings.attempts):
            self.walks["tried"] += 1
            scenario, problem = self._walk(card, length())
            problem = problem if problem not in (None, ROOM_LEFT) else self._refuse(scenario) or problem
            if problem is None:
                self._accept(scenario)
                return True
            if problem == ROOM_LEFT and spare is None:
                spare = scenario
            self.walks[problem] += 1
        if spare is not None:
            self._accept(spare)
        return spare is not None

    def _walk(self, card: ActivityCard, wanted: int) -> tuple[Scenario, str | None]:
        """A walk with a number of activities, and its problem, if any. With `ROOM_LEFT` the walk is complete."""
        s = self.settings
        walk = [card]
        length = card.length_s(s.seconds_per_event)
        while len(walk) < wanted:
            chosen, problem = self._next(walk)
            if chosen is None:
                return (), problem
            walk.append(chosen)
            length += chosen.length_s(s.seconds_per_event)
            if length > s.max_duration_s:
                return (), TOO_LONG
        if length < s.min_duration_s:
            return (), TOO_SHORT
        scenario = tuple(c.name for c in walk)
        if s.lengths == "vdact" and wanted < max(self._shares):
            chosen, _ = self._next(walk)
            if chosen is not None and length + chosen.length_s(s.seconds_per_event) <= s.max_duration_s:
                return scenario, ROOM_LEFT
        return scenario, None

    def _next(self, walk: Sequence[ActivityCard]) -> tuple[ActivityCard | None, str | None]:
        end, kinds = walk[-1], {card.kind for card in walk}
        following = self._followers.get((end.environment, end.end_room or ""), [])
        open_ = [c for c in following if c.kind not in kinds]
        if not open_:
            return None, FEW
        # A pair that is used up is passed over, and counted, rather than ending the walk.
        used_up = self._used_up.get(end.name)
        free = [c for c in open_ if c.name not in used_up] if used_up else open_
        self.walks[f"steps passed over: {PAIR}"] += len(open_) - len(free)
        return (self.random.choice(free), None) if free else (None, PAIR)

    def _refuse(self, scenario: Scenario) -> str | None:
        if scenario in self._seen:
            return AGAIN
        if self._firsts[scenario[0]] >= self.settings.max_first:
            return FIRST
        if any(self._pairs[pair] >= self.settings.max_pair for pair in adjacent_pairs(scenario)):
            return PAIR
        common = Counter(other for activity in scenario for other in self._with[activity])
        for other, count in common.items():
            if count > self.settings.max_shared * max(len(scenario), len(self.accepted[other])):
                return SHARED
        return None

    def _accept(self, scenario: Scenario) -> None:
        self._seen.add(scenario)
        self._firsts[scenario[0]] += 1
        for first, second in adjacent_pairs(scenario):
            self._pairs[first, second] += 1
            if self._pairs[first, second] >= self.settings.max_pair:
                self._used_up[first].add(second)
        for activity in scenario:
            self._with[activity].append(len(self.accepted))
        self.accepted.append(scenario)

    def count_pairs(self) -> dict[str, int]:
        """Count pairs from the sizes of groups, without listing them."""
        total = len(self.usable) * (len(self.usable) - 1)
        by_environment = Counter(card.environment for card in self.usable)
        same_environment = sum(n * (n - 1) for n in by_environment.values())
        starts = Counter((c.environment, c.start_room) for c in self.usable if c.start_room)
        joined = sum(
            starts[c.environment, c.end_room] - (c.start_room == c.end_room) for c in self.usable if c.end_room
        )
        kinds = Counter((c.environment, c.start_room, c.kind) for c in self.usable if c.start_room)
        again = sum(
            kinds[c.environment, c.end_room, c.kind] - (c.start_room == c.end_room) for c in self.usable if c.end_room
        )
        return {
            "pairs of activities": total,
            "another environment": total - same_environment,
            "another room, or a room that is not known": same_environment - joined,
            "the same activity again": again,
            "can follow": joined - again,
        }
