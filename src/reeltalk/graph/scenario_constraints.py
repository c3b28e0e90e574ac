"""Whether scenarios obey VDAct's constraints, as far as that can be checked.

A length that is estimated fails only where it leaves the bounds by more than its error; nearer to them it is not known.

The paper leaves open what "more than half of its activities duplicated across other scenarios" compares. In the 1,000
released scenarios no two share more than half of the longer one's activities, while nearly all activities occur in
several scenarios; so sharing is counted between two scenarios, relative to the longer.
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from reeltalk.graph.scenario import VIEWS, ActivityCard, ComposeSettings, Scenario, adjacent


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
        doubt = "too near the bounds to tell" if self.basis == "estimated" else "not checkable"
        text += f", {self.unknown:,} {doubt}" if self.unknown else ""
        text += " (estimated)" if self.basis == "estimated" else ""
        return text + (f": {', '.join(self.examples)}" if self.examples else "")


EXAMPLES_SHOWN: Final = 5
CERTAIN: Final = 2.326
"""Standard errors beyond the bounds at which an estimated length fails: the normal distribution's 99 % point."""
ERRORS_TOGETHER: Final = 1.25
"""Factor on the error of independent events, measured on VDAct's 1,000: events share a walker and a house."""


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
    pairs = Counter(pair for scenario in scenarios.values() for pair in adjacent(scenario))
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
            lambda name, scenario: all(pairs[pair] <= settings.max_pair for pair in adjacent(scenarios[name])),
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
