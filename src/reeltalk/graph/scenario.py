"""Scenarios: activities that follow each other under VDAct's constraints (AAAI 2025).

Composing is greedy, since the paper gives no order: activities are shuffled by the seed, and in up to `max_first`
rounds each begins one more scenario, a random walk over the activities that can follow. With A activities, F =
`max_first`, T = `attempts` and L = `max_activities` that is at most A·F·T walks of L steps, each step one lookup in an
index by environment and room: O(A·F·T·L), linear in A, never the product of all activities.

The paper leaves open what "more than half of its activities duplicated across other scenarios" compares. In the 1,000
released scenarios no two share more than half of the longer one's activities, while nearly all activities occur in
several scenarios; so sharing is counted between two scenarios, relative to the longer.
"""

import itertools
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from reeltalk.graph.activity import ActivityGraph, agent_of
from reeltalk.graph.telling import initial_room
from reeltalk.graph.vocabulary import ROOMS, class_of, told_name
from reeltalk.store.documents import SourceModel, parse, read_json

VIEWS: Final = frozenset({"switching", "fixed"})
"""Views that VDAct allows: the indoor camera that switches, and a fixed one in a corner of the room."""
PAPER_CANDIDATES: Final = 3021

_NUMBER = re.compile(r"\d*(_scene\d+)?$")
Scenario = tuple[str, ...]


class ComposeSettings(BaseModel):
    """Settings of `reeltalk scenario compose`; the defaults are VDAct's."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    min_activities: Annotated[int, Field(ge=2)] = 2
    """Fewest activities of a scenario."""
    max_activities: Annotated[int, Field(ge=2)] = 5
    """Most activities of a scenario."""
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
    """Estimated length of an event, where a graph gives no times: 248 s for 40.26 events in the paper's tables."""
    attempts: Annotated[int, Field(ge=1)] = 40
    """Walks that are tried for each activity in each round."""
    sample: Annotated[int, Field(ge=1)] | None = None
    """Draw this many of the candidates; all by default."""
    seed: int = 17
    """Seed of the walks and of the sample."""

    @model_validator(mode="after")
    def _ranges(self) -> "ComposeSettings":
        if self.min_activities > self.max_activities:
            raise ValueError(f"min_activities {self.min_activities} is above max_activities {self.max_activities}")
        if self.min_duration_s > self.max_duration_s:
            raise ValueError(f"min_duration_s {self.min_duration_s:g} is above max_duration_s {self.max_duration_s:g}")
        return self


@dataclass(frozen=True)
class ActivityCard:
    """What composing needs to know of an activity; None is unknown."""

    name: str
    environment: str
    events: int
    start_room: str | None = None
    end_room: str | None = None
    duration_s: float | None = None
    views: frozenset[str] | None = None
    category: str | None = None

    @property
    def kind(self) -> str:
        """The activity without its number and environment: `Watch_television3_scene1` is `Watch_television`."""
        return _NUMBER.sub("", self.name)

    def length_s(self, seconds_per_event: float) -> float:
        """Its duration, estimated from its events where it is not known."""
        return self.events * seconds_per_event if self.duration_s is None else self.duration_s


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
        made[name] = ActivityCard(
            name=name,
            environment=graph.scene,
            events=len(graph.events),
            start_room=start,
            end_room=row.end_room or _end_room(graph, start),
            duration_s=row.duration_s or graph.duration_s,
            views=frozenset(row.views) if row.views is not None else None,
            category=row.category or graph.category,
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


@dataclass(frozen=True)
class Constraint:
    """How scenarios stand to one constraint."""

    name: str
    basis: Literal["checked", "estimated", "not checkable"]
    holds: int
    fails: int
    unknown: int
    examples: tuple[str, ...] = ()
    """Scenarios that fail it, a few."""

    @property
    def line(self) -> str:
        """One line for people."""
        if self.basis == "not checkable":
            return f"{self.name}: not checkable, {self.unknown:,} scenarios lack what it needs"
        text = f"{self.name}: {self.holds:,} hold, {self.fails:,} do not"
        text += f", {self.unknown:,} not checkable" if self.unknown else ""
        text += " (estimated)" if self.basis == "estimated" else ""
        return text + (f": {', '.join(self.examples)}" if self.examples else "")


EXAMPLES_SHOWN: Final = 5


def check(
    scenarios: Mapping[str, Scenario], known: Mapping[str, ActivityCard], settings: ComposeSettings
) -> list[Constraint]:
    """Every constraint of the paper, over a set of scenarios.

    Args:
        scenarios: Activities by scenario.
        known: Card of every activity that occurs.
        settings: The bounds.
    """
    firsts = Counter(scenario[0] for scenario in scenarios.values())
    pairs = Counter(pair for scenario in scenarios.values() for pair in _pairs(scenario))
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
        return settings.min_duration_s <= length <= settings.max_duration_s

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
            lambda name, scenario: all(pairs[pair] <= settings.max_pair for pair in _pairs(scenarios[name])),
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
                basis="not checkable" if nothing else "estimated" if rule is duration and estimated else "checked",
                holds=count[True],
                fails=count[False],
                unknown=count[None],
                examples=tuple(name for name, verdict in verdicts.items() if verdict is False)[:EXAMPLES_SHOWN],
            )
        )
    return found


def _pairs(scenario: Sequence[str]) -> Iterable[tuple[str, str]]:
    return itertools.pairwise(scenario)


def _most_shared(scenarios: Mapping[str, Scenario]) -> dict[str, float]:
    """The largest share of activities that a scenario has in common with another, relative to the longer."""
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
class Composed:
    """Scenarios and how they came about."""

    candidates: dict[str, Scenario]
    """All that obey the constraints, in the order of acceptance."""
    sampled: dict[str, Scenario]
    """The seeded sample of them, or all."""
    pairs: dict[str, int]
    """Ordered pairs of activities that can follow each other, and those that each constraint rules out."""
    walks: dict[str, int]
    """Walks tried, and those that each constraint rejected."""
    estimated: int
    """Activities whose duration is estimated."""
    not_checkable: tuple[str, ...] = ()
    """Constraints for which the activities lack what is needed, and how many of them do."""
    unusable: dict[str, int] = field(default_factory=dict)
    """Activities that cannot be in any scenario, by reason."""


TOO_SHORT, TOO_LONG, FIRST, PAIR, SHARED, AGAIN, FEW = (
    "too short",
    "too long",
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
    progress: Callable[[int, int], None] | None = None,
) -> Composed:
    """Build as many scenarios as the greedy walk finds, then draw the sample.

    Args:
        known: Activities by name.
        settings: Bounds and seed.
        progress: Called with rounds done of rounds.
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
        drawn = sorted(random.Random(f"{settings.seed} sample").sample(sorted(candidates), settings.sample))
        sampled = {f"{number:05d}": candidates[name] for number, name in enumerate(drawn, 1)}
    lacking = [
        (sum(card.views is None for card in usable), "allowed views"),
        (sum(card.start_room is None or card.end_room is None for card in usable), "start and end rooms"),
    ]
    return Composed(
        candidates=candidates,
        sampled=sampled,
        pairs=search.count_pairs(),
        walks=dict(search.walks),
        estimated=sum(card.duration_s is None for card in usable),
        not_checkable=tuple(f"{what}: unknown for {n:,} of {len(usable):,} activities" for n, what in lacking if n),
        unusable=dict(unusable),
    )


class _Search:
    def __init__(self, usable: Sequence[ActivityCard], settings: ComposeSettings) -> None:
        self.usable, self.settings = usable, settings
        self.random = random.Random(settings.seed)
        self.accepted: list[Scenario] = []
        self.walks: Counter[str] = Counter()
        self._known = {card.name: card for card in usable}
        self._followers: dict[tuple[str, str], list[ActivityCard]] = defaultdict(list)
        for card in usable:
            if card.start_room is not None:
                self._followers[card.environment, card.start_room].append(card)
        self._firsts: Counter[str] = Counter()
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._with: dict[str, list[int]] = defaultdict(list)
        self._seen: set[Scenario] = set()

    def run(self, progress: Callable[[int, int], None] | None) -> None:
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
        for _ in range(self.settings.attempts):
            self.walks["tried"] += 1
            scenario, problem = self._walk(card)
            problem = problem or self._refuse(scenario)
            if problem is None:
                self._accept(scenario)
                return
            self.walks[problem] += 1

    def _walk(self, card: ActivityCard) -> tuple[Scenario, str | None]:
        s = self.settings
        wanted = self.random.randint(s.min_activities, s.max_activities)
        walk, kinds = [card], {card.kind}
        length = card.length_s(s.seconds_per_event)
        while len(walk) < wanted:
            end = walk[-1]
            following = self._followers.get((end.environment, end.end_room or ""), [])
            open_ = [c for c in following if c.kind not in kinds]
            if not open_:
                return (), FEW
            # A pair that is used up is passed over, and counted, rather than ending the walk.
            free = [c for c in open_ if self._pairs[end.name, c.name] < s.max_pair]
            self.walks[f"steps passed over: {PAIR}"] += len(open_) - len(free)
            if not free:
                return (), PAIR
            chosen = self.random.choice(free)
            walk.append(chosen)
            kinds.add(chosen.kind)
            length += chosen.length_s(s.seconds_per_event)
            if length > s.max_duration_s:
                return (), TOO_LONG
        if length < s.min_duration_s:
            return (), TOO_SHORT
        return tuple(c.name for c in walk), None

    def _refuse(self, scenario: Scenario) -> str | None:
        if scenario in self._seen:
            return AGAIN
        if self._firsts[scenario[0]] >= self.settings.max_first:
            return FIRST
        if any(self._pairs[pair] >= self.settings.max_pair for pair in _pairs(scenario)):
            return PAIR
        common = Counter(other for activity in scenario for other in self._with[activity])
        for other, count in common.items():
            if count > self.settings.max_shared * max(len(scenario), len(self.accepted[other])):
                return SHARED
        return None

    def _accept(self, scenario: Scenario) -> None:
        self._seen.add(scenario)
        self._firsts[scenario[0]] += 1
        self._pairs.update(_pairs(scenario))
        for activity in scenario:
            self._with[activity].append(len(self.accepted))
        self.accepted.append(scenario)

    def count_pairs(self) -> dict[str, int]:
        """Counted from group sizes, never by listing the pairs."""
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
