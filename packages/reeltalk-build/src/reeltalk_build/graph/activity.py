"""One activity's graph in memory: its events in order, and the state and place of every object at every situation.

VirtualHome2KG writes a new State of an object, with its Shape, only when something changes: `stateN` holds from
situation N until the next one. So the version at situation k is the greatest N ≤ k. Curated graphs lack the State of
most objects but name their Shapes; therefore states and shapes are stored separately.

`activity_facts.toml` adds what graphs lack: categories by name.
"""

import re
import tomllib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from reeltalk.language.vocabulary import AGENT, CATEGORIES, ROOMS, class_of
from reeltalk_build.graph.rdf import Triple


class Shape(NamedTuple):
    """A version of an object's place: object and the first situation at which it holds."""

    object: str
    since: int

    @property
    def node(self) -> str:
        """Its node name; nodes sort as in the released graphs."""
        return f"state{self.since}_{self.object}"


class SpatialRelation(NamedTuple):
    """A spatial relation of one object's shape to another's."""

    kind: str
    target: Shape


@dataclass(frozen=True)
class ActivityEvent:
    """One action of a person, or a change that nobody does, such as water that boils."""

    index: int
    action: str
    main: str | None = None
    """The object acted on, for example `tv297`."""
    targets: tuple[str, ...] = ()
    from_room: str | None = None
    to_room: str | None = None
    duration_s: float | None = None
    agent: str | None = None
    """Who acts, for example `character1`; None for a change that nobody does."""
    begins_s: float | None = None
    """Seconds from the activity's start to the event's; None if events follow each other without gaps."""
    cause: int | None = None
    """Index of the event of this activity that causes it."""
    purpose: int | None = None
    """Index of the later event of this activity for which its agent does it."""
    says: str | None = None
    """The words that are said."""
    speech_act: str | None = None
    """What the words do: one of `SPEECH_ACTS`."""

    @property
    def before(self) -> int:
        """Index of the situation before it."""
        return self.index

    @property
    def after(self) -> int:
        """Index of the situation after it."""
        return self.index + 1


@dataclass(frozen=True)
class Counterfactual:
    """What would hold at the end of an activity if one of its events had not happened."""

    event: int
    """Index of the event that is left out."""
    name: str
    """The object or person whose outcome it is."""
    aspect: str
    """`place` or `happens`."""
    outcome: str
    """For `place`, `on kitchentable5` or `inside fridge3`; for `happens`, the index of a later event, and whether it
    happens all the same: `7 no` or `7 yes`."""


@dataclass(frozen=True)
class ActivityGraph:
    """The content of one activity graph. Made by `read_activity` or `build_activity`."""

    name: str
    """The file's name without suffix, for example `Watch_television3_scene1`."""
    events: tuple[ActivityEvent, ...]
    triples: tuple[Triple, ...] = field(repr=False)
    values: dict[str, dict[int, tuple[str, ...]]] = field(repr=False)
    """State values by object and version, sorted: `{'tv297': {0: ('CLEAN', 'OFF'), 4: ('CLEAN', 'ON')}}`."""
    placed: dict[Shape, tuple[SpatialRelation, ...]] = field(repr=False)
    shapes: dict[str, tuple[int, ...]] = field(repr=False)
    """Versions of every shape that the graph names, ascending, by object."""
    classes: dict[str, str] = field(default_factory=dict, repr=False)
    """Class by object, if the graph gives types."""
    attributes: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """Constant attributes by object, for example `('red',)`, if the graph gives any."""
    category: str | None = None
    begins_s: float | None = None
    """Start of its first event in seconds of its video, if the graph gives it."""
    names: dict[str, str] = field(default_factory=dict, repr=False)
    """What people are called, by person: `{'character1': 'Anna'}`."""
    counterfactuals: tuple[Counterfactual, ...] = field(default=(), repr=False)
    warnings: tuple[str, ...] = ()
    """Harmless oddities of the graph."""

    @property
    def node(self) -> str:
        """The activity's node, which is also the suffix of its other nodes."""
        return self.name.lower()

    @property
    def scene(self) -> str:
        """The environment, for example `scene1`; the suffix of objects' nodes."""
        return self.node.rsplit("_", 1)[-1]

    @property
    def situations(self) -> int:
        """Number of situations: one before each event and one after the last."""
        return len(self.events) + 1

    @property
    def main_objects(self) -> frozenset[str]:
        """Objects that events act on."""
        return frozenset(event.main for event in self.events if event.main)

    @property
    def target_objects(self) -> frozenset[str]:
        """Objects that events act towards."""
        return frozenset(target for event in self.events for target in event.targets)

    @property
    def duration_s(self) -> float | None:
        """Seconds from the activity's start to the end of the last event; None if an event has no duration."""
        if self.events and all(event.begins_s is not None for event in self.events):
            ends = [self.event_interval(event.index) for event in self.events]
            return None if None in ends else max(end[1] for end in ends if end is not None)
        durations = [event.duration_s for event in self.events]
        return None if None in durations else sum(duration for duration in durations if duration is not None)

    def values_at(self, name: str, situation: int) -> tuple[str, ...]:
        """State values of an object at a situation, sorted; empty if the graph has no state of it by then."""
        versions = self.values.get(name, {})
        since = _latest(sorted(versions), situation)
        return () if since is None else versions[since]

    def shape_at(self, name: str, situation: int) -> Shape | None:
        """The version of an object's shape that holds at a situation; None if there is none yet."""
        since = _latest(self.shapes.get(name, ()), situation)
        return None if since is None else Shape(name, since)

    def placed_at(self, name: str, situation: int) -> tuple[SpatialRelation, ...]:
        """Spatial relations of an object at a situation. Their targets may be older versions of shapes."""
        shape = self.shape_at(name, situation)
        return () if shape is None else self.placed.get(shape, ())

    def room_at(self, name: str, situation: int) -> str | None:
        """The room of an object, found through the things that it is in or on; None if unknown."""
        seen: set[str] = set()
        while name not in seen:
            seen.add(name)
            supports = [placed for placed in self.placed_at(name, situation) if placed.kind in ("inside", "on")]
            for placed in supports:
                if class_of(placed.target.object) in ROOMS:
                    return placed.target.object
            if not supports:
                return None
            name = supports[0].target.object
        return None

    def event_interval(self, index: int) -> tuple[float, float] | None:
        """Start and end of an event in seconds from the activity's start; None if durations are missing."""
        event = self.events[index]
        if event.begins_s is not None:
            return None if event.duration_s is None else (event.begins_s, event.begins_s + event.duration_s)
        durations = [event.duration_s for event in self.events[: index + 1]]
        if None in durations:
            return None
        known = [duration for duration in durations if duration is not None]
        return sum(known[:-1]), sum(known)


def _latest(versions: Sequence[int], situation: int) -> int | None:
    place = bisect_right(versions, situation)
    return versions[place - 1] if place else None


def people_of(graph: ActivityGraph) -> tuple[str, ...]:
    """The people of a graph who act or have a name, sorted."""
    acting = {event.agent for event in graph.events if event.agent is not None}
    return tuple(sorted(acting | graph.names.keys())) or (agent_of(graph),)


def agent_of(graph: ActivityGraph) -> str:
    """The person, in a graph with one. The released graphs have one agent."""
    return next((name for name in graph.shapes if class_of(name) == "character"), AGENT)


FACTS: Final = Path(__file__).parent / "activity_facts.toml"
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SCENE: Final = re.compile(r"_scene\d+$")


@cache
def _phrases() -> Mapping[str, tuple[str, ...]]:
    """By category, the words of names that suggest it."""
    raw: dict[str, Any] = tomllib.loads(FACTS.read_text(encoding="utf-8"))["categories"]
    if unknown := set(raw) ^ set(CATEGORIES):
        raise ValueError(f"{FACTS.name} lacks, or has beyond HomeOntology's, the categories {sorted(unknown)}")
    return {category: tuple(phrases) for category, phrases in raw.items()}


def named_category(name: str) -> str | None:
    """The category suggested by an activity's name, one of `CATEGORIES`; None if no rule knows any of its words.

    Args:
        name: A name such as `Watch_television3_scene1`, or plain words.
    """
    words = " ".join(word.lower() for word in _WORD.findall(_SCENE.sub("", name)))
    for category, phrases in _phrases().items():
        if any(f" {phrase} " in f" {words} " for phrase in phrases):
            return category
    return None


def category_of(graph: ActivityGraph) -> str | None:
    """The category of an activity, one of `CATEGORIES`: from its graph, otherwise from its name.

    Args:
        graph: The activity. VirtualHome2KG's full graphs give the kind, as `admire_art`, which is not a category.
    """
    return graph.category if graph.category in CATEGORIES else named_category(graph.name)
