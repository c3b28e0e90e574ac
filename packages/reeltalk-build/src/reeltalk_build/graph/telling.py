"""Tells activity graphs as sentences, by the rules of VDAct's template summaries (AAAI 2025).

The rules were derived by comparing the released graphs with the released summaries, which they reproduce byte for byte.
Each event is told with the facts about its main object before and after it. A fact that was told and still holds is not
repeated within an activity.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from reeltalk.language.vocabulary import CLAUSES, OPPOSITES, PLURALS, ROOMS, SPATIAL, class_of, summary_name
from reeltalk_build.graph.activity import ActivityEvent, ActivityGraph, Shape, agent_of

_SWITCHED: Final = {"switchOn": ("ON", "OFF"), "switchOff": ("ON", "OFF"), "open": ("OPEN", "CLOSED")}
_SWITCHED_BY: Final = _SWITCHED | {"close": ("OPEN", "CLOSED")}
HAPPENINGS: Final = {
    "boil": "boils",
    "pop": "pops up",
    "finish": "switches itself off",
    "ring": "rings",
    "break": "breaks",
    "spill": "spills",
    "cool": "cools down",
}
"""Clauses for changes that nobody does, by action."""
REPEATS_COUNTED: Final = 3
"""Fewest equal clauses in a row that become one line with a count."""


def tell_scenario(graphs: Iterable[ActivityGraph], initial_rooms: dict[str, str]) -> str:
    """A scenario as text, one sentence per line.

    Args:
        graphs: Its activities in order.
        initial_rooms: Room of the person at the start of an activity, by activity, for example `living room`. An
            activity without an entry gets no such line.
    """
    lines = [line for graph in graphs for line in tell_activity(graph, initial_rooms.get(graph.name))]
    return "".join(f"{line}\n" for line in lines)


def initial_room(graph: ActivityGraph) -> str | None:
    """The room of the person at the start, in words; None if the graph does not give it."""
    if graph.events and (room := graph.events[0].from_room):
        return summary_name(room)
    for placed in graph.placed_at(agent_of(graph), 0):
        if placed.kind == "inside" and class_of(placed.target.object) in ROOMS:
            return summary_name(placed.target.object)
    return None


def tell_activity(graph: ActivityGraph, room: str | None) -> list[str]:
    """One activity as lines of text."""
    if graph.names:
        return _tell_people(graph)
    teller = _Teller(graph)
    if room is not None:
        teller.lines.append(f"The person is in the {room}.")
    for event in graph.events:
        if event.main:
            teller.facts(event.main, event.before)
        teller.lines.append(f"He {clause(event.action, event.main)}.")
        if event.main:
            teller.facts(event.main, event.after)
    return collapse_runs(teller.lines)


def _tell_people(graph: ActivityGraph) -> list[str]:
    """An activity of people with names: who is where at its start, and what they do and say."""
    lines = []
    acting = {name for event in graph.events for name in (event.agent, event.main, *event.targets)}
    for person, name in sorted(graph.names.items()):
        if person in acting and (room := graph.room_at(person, 0)):
            lines.append(f"{name} is in the {summary_name(room)}.")
    for event in graph.events:
        who = graph.names.get(event.agent or "")
        if who is None:
            lines.append(f"The {summary_name(event.main or '')} {HAPPENINGS.get(event.action, event.action)}.")
        elif event.says is not None:
            heard = " and ".join(graph.names[name] for name in event.targets if name in graph.names)
            lines.append(f'{who} says to {heard}: "{event.says}"')
        else:
            lines.append(f"{who} {_with_people(graph, event)}.")
    return lines


def _with_people(graph: ActivityGraph, event: ActivityEvent) -> str:
    """What a person with a name does, with its target."""
    if event.main in graph.names:
        return clause(event.action, event.main).replace(
            f"the {summary_name(event.main or '')}", graph.names[event.main]
        )
    said = clause(event.action, event.main)
    for target in event.targets:
        name = graph.names.get(target, f"the {summary_name(target)}")
        word = "inside" if event.action == "putIn" else "to" if target in graph.names else "on"
        said = f"{said.replace('puts in', 'puts')} {word} {name}"
    return said


def clause(action: str, main: str | None) -> str:
    """The person's action, for example `sits on the sofa`; without an object only the verb."""
    template = CLAUSES.get(action, f"{action} the {{}}")
    if main or "{}" not in template:
        return template.format(summary_name(main or ""))
    return template.removesuffix(" the {}").removesuffix(" on").removesuffix(" with").removesuffix(" to")


def collapse_runs(lines: Sequence[str]) -> list[str]:
    """Lines with each run of equal clauses as one line with a count, or as a first and a second time."""
    told: list[str] = []
    start = 0
    while start < len(lines):
        end = start + 1
        while end < len(lines) and lines[end] == lines[start]:
            end += 1
        line, count = lines[start], end - start
        if line.startswith("He") and count >= REPEATS_COUNTED:
            told.append(f"{line.removesuffix('.')} {count} times.")
        elif line.startswith("He") and count == 2 and " the " in line:
            told += [line.replace(" the ", f" the {which} ", 1) for which in ("first", "second")]
        else:
            told += lines[start:end]
        start = end
    return told


class _Teller:
    """Tells the facts about an object at a situation, and remembers those told."""

    def __init__(self, graph: ActivityGraph) -> None:
        self.graph = graph
        self.lines: list[str] = []
        self.agent = agent_of(graph)
        self._last_relation: dict[tuple[str, str], str] = {}
        self._last_state: dict[str, str] = {}
        self._switched = {
            (event.main, value) for event in graph.events if event.main for value in _SWITCHED_BY.get(event.action, ())
        }

    def facts(self, name: str, situation: int) -> None:
        shape = self.graph.shape_at(name, situation)
        if shape is not None:
            self._relations(shape, situation)
        self._state(name, situation)

    def _relations(self, shape: Shape, situation: int) -> None:
        subject = summary_name(shape.object)
        current = {
            (p.kind, p.target)
            for p in self.graph.placed.get(shape, ())
            if p.kind in SPATIAL and self.graph.shape_at(p.target.object, situation) == p.target
        }
        person = self.graph.shape_at(self.agent, situation)
        if person is not None and any(
            p.kind == "close" and p.target == shape for p in self.graph.placed.get(person, ())
        ):
            current.add(("close", person))
        for kind, target in _in_order(current):
            if kind == "close" and target.object != self.agent:
                continue
            place = "next to" if kind == "close" else kind
            sentence = f"{_is(subject)} {place} the {summary_name(target.object)}."
            if self._say(subject, summary_name(target.object), kind, sentence) and not (
                kind == "inside" and class_of(target.object) in ROOMS
            ):
                self._nested(target, than=subject)

    def _nested(self, shape: Shape, *, than: str) -> None:
        subject = summary_name(shape.object)
        kept = {(p.kind, p.target) for p in self.graph.placed.get(shape, ()) if p.kind in ("inside", "on")}
        for kind, target in _in_order(kept):
            other = summary_name(target.object)
            if other == than:
                continue
            if kind == "on" and target.object == self.agent:
                self._say(subject, other, "holding", f"  The person is holding the {subject}.")
            else:
                self._say(subject, other, kind, f"  {_is(subject)} {kind} the {other}.")

    def _state(self, name: str, situation: int) -> None:
        subject = summary_name(name)
        ever = {value for values in self.graph.values.get(name, {}).values() for value in values}
        for value in self.graph.values_at(name, situation):
            if (name, value) in self._switched and OPPOSITES[value] in ever and self._last_state.get(subject) != value:
                self._last_state[subject] = value
                self.lines.append(f"{_is(subject)} {value}.")

    def _say(self, subject: str, other: str, relation: str, sentence: str) -> bool:
        if self._last_relation.get((subject, other)) == relation:
            return False
        self._last_relation[subject, other] = relation
        self.lines.append(sentence)
        return True


def _in_order(relations: set[tuple[str, Shape]]) -> list[tuple[str, Shape]]:
    return sorted(sorted(relations, key=lambda r: r[1].node), key=lambda r: SPATIAL.index(r[0]))


def _is(subject: str) -> str:
    return f"The {subject} {'are' if subject in PLURALS else 'is'}"
