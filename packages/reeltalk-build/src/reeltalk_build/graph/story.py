"""A scenario as one sequence of events in the time of its video.

Each activity keeps a named graph of its own, so there is one named graph per clip, which also has its start time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from reeltalk.language.vocabulary import INSTANCE, ROOMS, TIME, XSD, class_of, is_person
from reeltalk.schema.intervals import Interval
from reeltalk_build.graph.activity import ActivityGraph, agent_of, people_of
from reeltalk_build.graph.naming import attribute_of, name_words
from reeltalk_build.graph.rdf import graph_iri


def starts_s(graphs: Sequence[ActivityGraph]) -> list[float] | None:
    """Start of each activity in seconds of the video; None if a length is unknown.

    A graph's own start time counts if it has one; otherwise activities follow each other without gaps.
    """
    starts, end_s = [], 0.0
    for graph in graphs:
        if graph.duration_s is None:
            return None
        starts.append(end_s if graph.begins_s is None else graph.begins_s)
        end_s = starts[-1] + graph.duration_s
    return starts


def beginning_quads(name: str, begins_s: float) -> str:
    """N-Quads for an activity's named graph with its start time."""
    own = f"<{graph_iri(name)}>"
    return "".join(f"{line} {own} .\n" for line in _begins(name.lower(), begins_s))


def _begins(node: str, begins_s: float) -> tuple[str, str]:
    moment = f"<{INSTANCE}beginning_{node}>"
    return (
        f"<{INSTANCE}{node}> <{TIME}hasBeginning> {moment}",
        f'{moment} <{TIME}numericPosition> "{begins_s:.3f}"^^<{XSD}decimal>',
    )


@dataclass(frozen=True)
class StoryEvent:
    """An event in a story."""

    order: int
    """Index among all events of the story, from 0."""
    part: int
    """Index of its activity, from 0."""
    index: int
    """Index in its activity, from 0."""
    action: str
    main: str | None
    targets: tuple[str, ...]
    from_room: str | None
    to_room: str | None
    interval: Interval | None
    """Its time in seconds of the video; None if an activity of the story has no times."""
    agent: str | None = None
    """Who acts; None for a change that nobody does, or if the graph does not say."""
    cause: int | None = None
    """`order` of the event that causes it; None if there is none, or if it is not an event of this story."""
    purpose: int | None = None
    """`order` of the later event for which its agent does it; None if there is none."""
    says: str | None = None
    """The words that are said."""
    speech_act: str | None = None
    """What the words do: one of `SPEECH_ACTS`."""

    @cached_property
    def signature(self) -> tuple[str, str, tuple[str, ...]]:
        """Action, class of the main object, classes of the targets."""
        return self.action, class_of(self.main or ""), tuple(class_of(target) for target in self.targets)


class Story:
    """A scenario's events.

    Args:
        graphs: Its activities in order.
        begins_s: Start of each activity in seconds of the video, for graphs without a start time of their own. By
            default activities follow each other from 0.
        person: Only the events of this person, such as `character2`; all events by default.
    """

    def __init__(
        self, graphs: Sequence[ActivityGraph], *, begins_s: Sequence[float] | None = None, person: str | None = None
    ) -> None:
        self.graphs = tuple(graphs)
        self.person = person
        self._begins_s = begins_s
        self._parts: dict[str, Story] = {}

    def of(self, person: str) -> "Story":
        """The same scenario with the events of one person alone, numbered anew from 0."""
        if person not in self._parts:
            self._parts[person] = Story(self.graphs, begins_s=self._begins_s, person=person)
        return self._parts[person]

    @cached_property
    def people(self) -> tuple[str, ...]:
        """Everybody who acts or has a name, sorted."""
        return tuple(sorted({person for graph in self.graphs for person in people_of(graph)}))

    @cached_property
    def names(self) -> dict[str, str]:
        """What people are called, by person; empty if the graphs name nobody."""
        return {person: name for graph in self.graphs for person, name in graph.names.items()}

    @cached_property
    def events(self) -> tuple[StoryEvent, ...]:
        """All events in order."""
        starts = starts_s(self.graphs)
        if starts is not None and self._begins_s is not None:
            starts = [
                given if graph.begins_s is None else graph.begins_s
                for graph, given in zip(self.graphs, self._begins_s, strict=True)
            ]
        events: list[StoryEvent] = []
        for part, graph in enumerate(self.graphs):
            told = [event for event in graph.events if self.person in (None, event.agent)]
            orders = {event.index: order for order, event in enumerate(told, len(events))}
            for event in told:
                at = graph.event_interval(event.index) if starts else None
                shown = None
                if at is not None and starts is not None:
                    shown = Interval(start_s=round(starts[part] + at[0], 3), end_s=round(starts[part] + at[1], 3))
                events.append(
                    StoryEvent(
                        order=len(events),
                        part=part,
                        index=event.index,
                        action=event.action,
                        main=event.main,
                        targets=event.targets,
                        from_room=event.from_room,
                        to_room=event.to_room,
                        interval=shown,
                        agent=event.agent,
                        cause=None if event.cause is None else orders.get(event.cause),
                        purpose=None if event.purpose is None else orders.get(event.purpose),
                        says=event.says,
                        speech_act=event.speech_act,
                    )
                )
        return tuple(events)

    @property
    def interval(self) -> Interval | None:
        """From the start of the first event to the end of the last; None if times are unknown."""
        shown = [event.interval for event in self.events]
        known = [interval for interval in shown if interval is not None]
        if not known or len(known) < len(shown):
            return None
        return Interval(start_s=min(i.start_s for i in known), end_s=max(i.end_s for i in known))

    @property
    def duration_s(self) -> float | None:
        """Length in seconds; None if times are unknown."""
        return self.interval.duration_s if self.interval else None

    @cached_property
    def attributes(self) -> dict[str, tuple[str, ...]]:
        """Constant attributes by object, including the person."""
        found: dict[str, tuple[str, ...]] = {}
        for graph in self.graphs:
            found.update(graph.attributes)
        return found

    @cached_property
    def things(self) -> tuple[str, ...]:
        """All things and rooms that events act on or that have attributes, sorted; people are not among them."""
        acted = {name for graph in self.graphs for name in graph.main_objects | graph.target_objects}
        activities = {graph.node.removesuffix(f"_{graph.scene}") for graph in self.graphs}
        known = acted | self.attributes.keys()
        return tuple(sorted(name for name in known - activities if not is_person(name)))

    @cached_property
    def called(self) -> dict[str, str]:
        """Words for people, and for things of which there are several of a class, by name."""
        return name_words(self.people, self.names, self.things, self.attributes)

    @cached_property
    def worded(self) -> dict[tuple[object, ...], str]:
        """Verb phrases of acts, by all that decides their words; filled as acts are worded."""
        return {}

    @property
    def lights(self) -> tuple[str | None, ...]:
        """By activity, `day` or `evening`; None where the graph does not say."""
        nodes = [(graph, graph.node.removesuffix(f"_{graph.scene}")) for graph in self.graphs]
        return tuple(attribute_of(graph.attributes.get(node, ()), "light") for graph, node in nodes)

    @property
    def agent(self) -> str:
        """The person's name in the graphs; the first one's, if there are several."""
        return self.person or agent_of(self.graphs[0])

    def support_before(self, event: StoryEvent, name: str) -> tuple[str, bool] | None:
        """The support of an object before an event, as (name, True if inside it); None if unknown or ambiguous."""
        return self._support(event.part, name, event.index)

    def support_after(self, event: StoryEvent, name: str) -> tuple[str, bool] | None:
        """The support of an object after an event, as in `support_before`."""
        return self._support(event.part, name, event.index + 1)

    def _support(self, part: int, name: str, situation: int) -> tuple[str, bool] | None:
        found = [
            (placed.target.object, placed.kind == "inside")
            for placed in self.graphs[part].placed_at(name, situation)
            if placed.kind in ("inside", "on") and class_of(placed.target.object) not in ROOMS
        ]
        # Some released graphs give more than one support; that is no answer.
        return found[0] if len(found) == 1 else None

    def posture_before(self, event: StoryEvent) -> str:
        """Posture of the person before an event: `standing`, `sitting` or `lying`."""
        for earlier in reversed(self.events[: event.order]):
            if earlier.action in POSTURES:
                return POSTURES[earlier.action]
        return "standing"

    def values_at_end(self, name: str) -> tuple[str, ...]:
        """State values of an object at the end, from the last activity that has any."""
        for graph in reversed(self.graphs):
            if name in graph.values:
                return graph.values_at(name, graph.situations - 1)
        return ()


POSTURES = {
    "sit": "sitting",
    "lie": "lying",
    "stand": "standing",
    "wakeUp": "sitting",
    "fall": "lying",
    "fallback": "lying",
    "fallsit": "lying",
    "climb": "standing",
}
"""Posture of the person after an action."""
