"""What follows from a scenario's graphs for each event, and which events a clause means.

The room of an event, what a thing is taken from or put on, and what a glass holds are not triples; they follow from the
events before and from what rests on what.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from reeltalk.graph.activity import ActivityGraph, agent_of
from reeltalk.graph.grounded_clauses import Classes, Clause
from reeltalk.graph.grounded_words import ANY
from reeltalk.graph.questions_of_scenes import rooms_known
from reeltalk.graph.story import Story, StoryEvent
from reeltalk.graph.vocabulary import ROOMS, class_of

VESSELS: Final = frozenset({"waterglass", "wineglass", "mug", "dishbowl", "fryingpan"})
HEATED: Final = frozenset({"fryingpan", "cookingpot", "microwave", "stove"})
_GARBAGE: Final = frozenset({"garbagecan"})
_NOWHERE: Final = frozenset({"character", "floor", "wall", "ceiling", "rug"})


@dataclass(frozen=True)
class Happening:
    """An event with what is around it."""

    event: StoryEvent
    room: str | None
    """Class of the room that it begins in."""
    room_after: str | None
    names: Classes
    """What its object can be called: its class, and what it holds."""
    places: Classes
    """Classes of what its object rests on or in after it, and of what it is put to."""
    sources: Classes
    """Classes of what its object rested on or in before it."""

    @property
    def order(self) -> int:
        """Its place among all events, from 0."""
        return self.event.order

    @property
    def targets(self) -> Classes:
        """Classes of what it acts towards."""
        return frozenset(class_of(target) for target in self.event.targets)


class Facts:
    """A story, ready to be asked.

    Args:
        story: The scenario.
        initial_rooms: The room in which the person starts, by activity, as `living room`; released graphs do not all
            say it.
    """

    def __init__(self, story: Story, initial_rooms: Mapping[str, str] | None = None) -> None:
        self.story = story
        self._initial = initial_rooms or {}

    @cached_property
    def exact(self) -> bool:
        """True where the graphs say of every event in which room it is: nothing is left out between events."""
        return rooms_known(self.story)

    @cached_property
    def happenings(self) -> tuple[Happening, ...]:
        """All events in order."""
        rooms = self._rooms()
        holds: dict[str, set[str]] = {}
        found = []
        for event, (before, after) in zip(self.story.events, rooms, strict=True):
            main = event.main
            names = {class_of(main), *holds.get(main, ())} if main else set()
            if main and class_of(main) in VESSELS and event.action == "drink" and not holds.get(main):
                names.add("water")
            if main and class_of(main) == "faucet":
                names.add("water")
            if main and event.action in ("pour", "putIn", "put"):
                for target in event.targets:
                    if class_of(target) in VESSELS:
                        holds.setdefault(target, set()).add(class_of(main))
            found.append(
                Happening(
                    event=event,
                    room=before,
                    room_after=after,
                    names=frozenset(names),
                    places=self._supports(event, 1) | frozenset(class_of(t) for t in event.targets),
                    sources=self._supports(event, 0),
                )
            )
        return tuple(found)

    def _supports(self, event: StoryEvent, later: int) -> Classes:
        """Everything under an event's object before it, or after it where `later` is 1."""
        if event.main is None or class_of(event.main) in ROOMS:
            return frozenset()
        graph = self.story.graphs[event.part]
        found: set[str] = set()
        names = [event.main]
        while names:
            for placed in graph.placed_at(names.pop(), event.index + later):
                name = placed.target.object
                if placed.kind in ("inside", "on") and class_of(name) not in found | ROOMS | _NOWHERE:
                    found.add(class_of(name))
                    names.append(name)
        return frozenset(found)

    def _rooms(self) -> list[tuple[str | None, str | None]]:
        if self.exact:
            return [(class_of(e.from_room or ""), class_of(e.to_room or "")) for e in self.story.events]
        rooms: list[tuple[str | None, str | None]] = []
        room: str | None = None
        for part, graph in enumerate(self.story.graphs):
            # VDAct joins activities so that each begins in the room where the one before ended.
            room = self._first_room(graph) or room
            for event in (e for e in self.story.events if e.part == part):
                after = room
                if event.action in ("walk", "run") and event.main:
                    if class_of(event.main) in ROOMS:
                        after = class_of(event.main)
                    elif found := graph.room_at(event.main, event.index):
                        after = class_of(found)
                rooms.append((room, after))
                room = after
        return rooms

    def _first_room(self, graph: ActivityGraph) -> str | None:
        told = self._initial.get(graph.name)
        if told is not None:
            return told.replace(" ", "")
        for placed in graph.placed_at(agent_of(graph), 0):
            if placed.kind == "inside" and class_of(placed.target.object) in ROOMS:
                return class_of(placed.target.object)
        return None

    @cached_property
    def classes(self) -> Classes:
        """Classes of everything that the graphs name, acted on or not."""
        return frozenset(
            class_of(name)
            for graph in self.story.graphs
            for name in (*graph.shapes, *graph.values, *graph.main_objects, *graph.target_objects)
        )

    @cached_property
    def handled(self) -> Classes:
        """Classes of what events act on or towards."""
        return frozenset().union(*(h.names | h.targets for h in self.happenings))

    @cached_property
    def rooms(self) -> Classes:
        """Rooms that the person is in."""
        return frozenset(r for h in self.happenings for r in (h.room, h.room_after) if r is not None)

    def held_at(self, happening: Happening) -> Classes:
        """Classes of what is in the person's hands at an event: taken in the same activity and not put down before."""
        held: dict[str, None] = {}
        for other in self.happenings[: happening.order]:
            if other.event.part != happening.event.part or other.event.main is None:
                continue
            if other.event.action == "grab":
                held[other.event.main] = None
            elif other.event.action in ("put", "putIn", "throw"):
                held.pop(other.event.main, None)
        return frozenset(class_of(name) for name in held)

    def standing(self, classes: Classes) -> Classes:
        """Where things of some classes are that no event moves: their rooms and what they rest on."""
        moved = {h.event.main for h in self.happenings if h.event.action in ("grab", "put", "putIn", "throw")}
        names = {
            name
            for h in self.happenings
            for name in (h.event.main, *h.event.targets)
            if name is not None and class_of(name) in classes
        }
        if names & moved:
            return frozenset()
        found: set[str] = set()
        for name in names:
            for graph in self.story.graphs:
                if name not in graph.shapes:
                    continue
                if (room := graph.room_at(name, graph.situations - 1)) is not None:
                    found.add(class_of(room))
                supports = (
                    p.target.object for p in graph.placed_at(name, graph.situations - 1) if p.kind in ("inside", "on")
                )
                found |= {class_of(support) for support in supports} - _NOWHERE
        return frozenset(found)

    def matching(self, clause: Clause) -> list[Happening]:
        """The events that a clause can mean, in order."""
        return [happening for happening in self.happenings if self.fits(clause, happening)]

    def fits(self, clause: Clause, happening: Happening) -> bool:
        """True where an event is what a clause says is done."""
        return any(self._fits(group, clause, happening) for group in clause.groups)

    def _fits(self, group: str, clause: Clause, happening: Happening) -> bool:
        action = happening.event.action
        if group == "use":
            return _some(clause.main, happening.names | happening.targets) and action not in _NO_USE
        if action not in Clause(frozenset({group})).actions:
            return False
        if group in ("go", "run"):
            return self._goes(clause, happening) and (group == "go" or action == "run")
        if clause.rooms and not clause.rooms & {happening.room, happening.room_after}:
            return False
        if group == "throw" and action in ("put", "putIn") and not happening.places & _GARBAGE:
            return False
        if group == "cook" and not self._cooks(happening):
            return False
        if action in ("wipe", "scrub"):
            # The tool is the event's object, what is cleaned its target.
            if clause.main is not None and not _some(clause.main, self.cleaned(happening)):
                return False
            return clause.tool is None or _some(clause.tool, happening.names)
        if clause.tool is not None and not _some(clause.tool, happening.names):
            return False
        if (
            clause.main is not None
            and (happening.event.main or action != "fold")
            and not _some(clause.main, happening.names)
        ):
            return False
        if clause.place is not None and not _some(clause.place, happening.places):
            return False
        if action in ("drink", "pour") and clause.source is not None:
            # It is drunk from what is held, be it a glass or the bottle itself.
            return _some(clause.source, {class_of(happening.event.main or "")})
        return clause.source is None or _some(clause.source, happening.sources)

    def cleaned(self, happening: Happening) -> Classes:
        """What is wiped and what that lies on: who cleans a cushion on the sofa cleans the sofa."""
        graph = self.story.graphs[happening.event.part]
        under = {
            class_of(placed.target.object)
            for target in happening.event.targets
            for placed in graph.placed_at(target, 0)
            if placed.kind in ("inside", "on")
        }
        return happening.targets | frozenset(under - ROOMS - _NOWHERE)

    def _goes(self, clause: Clause, happening: Happening) -> bool:
        if clause.rooms:
            arrives = happening.room_after in clause.rooms and happening.room not in {*clause.rooms, None}
            named = class_of(happening.event.main or "") in clause.rooms
            if not (arrives or named):
                return False
        return clause.main is None or _some(clause.main, happening.names)

    def _cooks(self, happening: Happening) -> bool:
        if not happening.places & HEATED:
            return False
        return any(
            h.event.part == happening.event.part and h.event.action == "switchOn" and h.names & {"stove", "microwave"}
            for h in self.happenings
        )

    def substantive_after(self, order: int) -> Happening | None:
        """The next event that does something, rather than go there."""
        return next((h for h in self.happenings[order + 1 :] if h.event.action not in _LEADING), None)


_NO_USE: Final = frozenset({"walk", "run", "turnTo", "find", "grab", "put", "putIn", "lookAt", "touch"})
_LEADING: Final = frozenset({"walk", "run", "turnTo", "stand", "find"})


def _some(wanted: Classes | None, given: Iterable[str] | Sequence[str] | Classes) -> bool:
    return wanted is None or wanted == ANY or bool(wanted & frozenset(given))
