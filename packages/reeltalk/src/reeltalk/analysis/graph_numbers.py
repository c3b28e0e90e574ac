"""Numbers of activity graphs: VDAct's table 4 and figure 2a (AAAI 2025). `reeltalk-build` counts them."""

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class GraphCounts:
    """Components of a graph, or their means over graphs, in the order of table 4."""

    events: float
    situations: float
    states: float
    state_values: float
    """Distinct subjects of `state`, that is, states with a value."""
    shapes: float
    main_objects: float
    target_objects: float
    triples: float

    @property
    def values(self) -> tuple[float, ...]:
        """The eight numbers in the order of table 4."""
        return tuple(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True)
class Placements:
    """VDAct's figure 2a, and the origin of the categories."""

    counts: dict[str, tuple[int, ...]]
    """Number of activities at each position in scenarios, by category, the most frequent category first."""
    by_name: int
    """How many of them have their category from their name, not from their graph."""
    unknown: int
    """Activities without a category, which are not counted."""

    @property
    def source(self) -> str:
        """A sentence about the origin of the categories; empty if graphs give all of them."""
        stated = sum(map(sum, self.counts.values())) - self.by_name
        said = []
        if self.by_name:
            said.append(
                f"Categories of {self.by_name:,} activities are by the words of their names, "
                "since their graphs state none" + (f"; of {stated:,} they are the graphs' own" if stated else "")
            )
        if self.unknown:
            said.append(f"{self.unknown:,} activities are left out, their names fit no category")
        return "; ".join(said) + "." if said else ""


@dataclass(frozen=True)
class GraphNumbers:
    """VDAct's table 4 and figure 2a."""

    activities: int
    scenarios: int
    activity: GraphCounts
    """Means over activities."""
    scenario: GraphCounts | None
    """Means over scenarios; None if no video's clips have graphs."""
    placed: Placements
    """Activities of each category by position in their scenario."""
