"""Facts about activities that graphs leave out (`activity_facts.toml`): how long actions take, categories by name."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from reeltalk.graph.activity import ActivityEvent, ActivityGraph
from reeltalk.graph.vocabulary import CATEGORIES, ROOMS, class_of

FACTS: Final = Path(__file__).parent / "activity_facts.toml"
TO_A_ROOM: Final = "walk to a room"
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SCENE: Final = re.compile(r"_scene\d+$")


class ActionTime(NamedTuple):
    """How long an action takes, in seconds: mean and standard deviation over events."""

    mean_s: float
    spread_s: float


@dataclass(frozen=True)
class _Facts:
    lengths: Mapping[int, int]
    actions: Mapping[str, ActionTime]
    categories: Mapping[str, tuple[str, ...]]


@cache
def _facts() -> _Facts:
    raw: dict[str, Any] = tomllib.loads(FACTS.read_text(encoding="utf-8"))
    unknown = set(raw["categories"]) ^ set(CATEGORIES)
    if unknown:
        raise ValueError(f"{FACTS.name} lacks, or has beyond HomeOntology's, the categories {sorted(unknown)}")
    return _Facts(
        lengths={int(number): count for number, count in raw["lengths"].items()},
        actions={name: ActionTime(row["mean_s"], row["spread_s"]) for name, row in raw["actions"].items()},
        categories={category: tuple(phrases) for category, phrases in raw["categories"].items()},
    )


def released_lengths() -> Mapping[int, int]:
    """VDAct's 1,000 released scenarios by their number of activities."""
    return _facts().lengths


def action_time(event: ActivityEvent) -> ActionTime | None:
    """How long such an event takes on average, or None where its action was not measured.

    Args:
        event: Its action counts, and whether a walk leads to a room.
    """
    to_room = event.action == "walk" and event.main is not None and class_of(event.main) in ROOMS
    return _facts().actions.get(TO_A_ROOM if to_room else event.action)


def named_category(name: str) -> str | None:
    """The category that an activity's name suggests, one of `CATEGORIES`; None where no rule knows a word of it.

    Args:
        name: As graphs are named, `Watch_television3_scene1`, or plain words.
    """
    words = " ".join(word.lower() for word in _WORD.findall(_SCENE.sub("", name)))
    for category, phrases in _facts().categories.items():
        if any(f" {phrase} " in f" {words} " for phrase in phrases):
            return category
    return None


def category_of(graph: ActivityGraph) -> str | None:
    """One of `CATEGORIES`: the one that the graph states, or else the one that its name suggests.

    Args:
        graph: VirtualHome2KG's full graphs state the kind of activity, `admire_art`, which is no category.
    """
    return graph.category if graph.category in CATEGORIES else named_category(graph.name)
