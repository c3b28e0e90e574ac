"""Composes scenarios: random walks over activities that can follow each other, under all constraints.

The search is greedy, since the paper gives no order. Activities are shuffled by the seed. In up to `max_first` rounds
each activity starts one more scenario, a random walk over the activities that can follow. With A activities, F =
`max_first`, T = `attempts` and L = `max_activities` there are at most A·F·T·L walks of L steps. Each step is a lookup
in an index by environment and room, so the cost is O(A·F·T·L²), linear in A.

VDAct's released scenarios of three, four and five activities all last about 250 s of the allowed 300 s, so the short
ones have long activities. Therefore the number of activities is drawn first, with the shares of the released scenarios.
A walk with fewer than the largest number must leave no time for another activity. If no walk of the drawn number fills
the time in this way, one that leaves time is taken; if there is none at all, another number is drawn.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from reeltalk.graph.scenario import VIEWS, ActivityCard, ComposeSettings, Scenario, adjacent_pairs
from reeltalk.progress import CountProgress


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
        free = [c for c in open_ if self._pairs[end.name, c.name] < self.settings.max_pair]
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
        self._pairs.update(adjacent_pairs(scenario))
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
