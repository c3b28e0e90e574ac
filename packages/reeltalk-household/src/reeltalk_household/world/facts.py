"""Writes an activity that was carried out as a full VirtualHome2KG graph: every object of the house in every situation.

Relations follow VirtualHome's definitions: `close` if a centre is less than 1.5 m from the other's box, `facing` for
objects that the person looks at within 5 m, `on` and `inside` for objects that rest on or in others. An object gets a
new State and Shape when its values, its place or its relations change, or when the object under it gets a new Shape. So
a relation always connects a current Shape with a current Shape. (VirtualHome2KG does the latter only if the box moves.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from reeltalk.language.vocabulary import (
    DCTERMS,
    HOME,
    INSTANCE,
    ONTOLOGY,
    RDF,
    RDFS,
    TIME,
    X3D,
    XSD,
    class_of,
    plain_name,
)
from reeltalk_build.graph.activity import Counterfactual
from reeltalk_household.world.house import ROOM_HEIGHT_M, ROOM_WIDTH_M, House
from reeltalk_household.world.situation import ProgramStep, Situation

CLOSE_M: Final = 1.5
FACING_M: Final = 5.0
_DEPTH_M: Final = {"wall": 0.05, "back": 0.4, "floor": 1.2, "front": 1.7}
_AGENT_DEPTH_M: Final = 1.0
_Vector = tuple[float, float, float]


class _Box(NamedTuple):
    """An axis-parallel box in metres: centre and size, each (x, y, z) with y upwards."""

    centre: _Vector
    size: _Vector


@dataclass(frozen=True)
class _Version:
    since: int
    values: frozenset[str]
    box: _Box
    relations: frozenset[tuple[str, str]]
    """(kind, object)."""
    supports: tuple[tuple[str, int], ...]
    """The objects that it rests on, and since when their Shapes hold."""


def activity_triples(
    house: House,
    name: str,
    category: str,
    steps: Sequence[ProgramStep],
    *,
    begins_s: float | None = None,
    others: Sequence[Counterfactual] = (),
) -> str:
    """The graph as N-Triples, one per line.

    Args:
        name: The activity's name, which must end in the house's scene, as `Drink_milk3_scene2`.
        category: One of the twelve categories.
        steps: The steps that were carried out, in the order in which they take effect.
        begins_s: The time from which events count their seconds; by default the start of the earliest step.
        others: What would hold at the end without one of the events.
    """
    begins_s = min(step.start_s for step in steps) if begins_s is None else begins_s
    return _Graph(house, name, category, steps, begins_s).text(others)


class _Graph:
    def __init__(self, house: House, name: str, category: str, steps: Sequence[ProgramStep], begins_s: float) -> None:
        self.house, self.steps, self.category = house, steps, category
        self.begins_s, self.suffix = begins_s, name.lower()
        self.lines: list[str] = []
        self._room_of_floor = {floor: room for room, floor in house.floors.items()}
        self.people = tuple(steps[0].before.people)
        self._close_in: dict[str, tuple[list[tuple[str, _Box]], dict[str, list[tuple[str, str]]]]] = {}

    def text(self, others: Sequence[Counterfactual]) -> str:
        self._events()
        for number, other in enumerate(others):
            self._other(number, other)
        self._objects()
        self._situations()
        return "".join(f"{line}\n" for line in self.lines)

    def _add(self, subject: str, predicate: str, target: str) -> None:
        self.lines.append(f"{subject} <{predicate}> {target} .")

    def _node(self, name: str) -> str:
        return f"<{INSTANCE}{name}_{self.suffix}>"

    def _object(self, name: str) -> str:
        return f"<{INSTANCE}{name}_{self.house.scene}>"

    def _literal(self, value: object, kind: str) -> str:
        return f'"{value}"^^<{XSD}{kind}>'

    def _events(self) -> None:
        activity = f"<{INSTANCE}{self.suffix}>"
        self._add(activity, f"{RDF}type", f"<{HOME}{self.category}>")
        for person in self.people:
            self._add(activity, f"{ONTOLOGY}agent", self._object(person))
        self._add(activity, f"{ONTOLOGY}virtualHome", f"<{INSTANCE}{self.house.scene}>")
        self._add(activity, f"{ONTOLOGY}attribute", f"<{ONTOLOGY}light_{self.steps[0].before.light}>")
        for index, step in enumerate(self.steps):
            self._event(activity, index, step)

    def _event(self, activity: str, index: int, step: ProgramStep) -> None:
        node, command = self._node(f"event{index}"), step.command
        kind = "StartEvent" if index == 0 else "EndEvent" if index == len(self.steps) - 1 else "Event"
        self._add(activity, f"{ONTOLOGY}hasEvent", node)
        self._add(node, f"{RDF}type", f"<{ONTOLOGY}{kind}>")
        self._add(node, f"{ONTOLOGY}eventNumber", self._literal(index, "int"))
        self._add(node, f"{ONTOLOGY}action", f"<{ONTOLOGY}action/{command.action}>")
        if command.main:
            self._add(node, f"{ONTOLOGY}mainObject", self._object(command.main))
        for target in command.targets:
            self._add(node, f"{ONTOLOGY}targetObject", self._object(target))
        self._add(node, f"{ONTOLOGY}situationBeforeEvent", self._node(f"home_situation{index}"))
        self._add(node, f"{ONTOLOGY}situationAfterEvent", self._node(f"home_situation{index + 1}"))
        if command.person is not None:
            self._add(node, f"{ONTOLOGY}agent", self._object(command.person))
            before, after = step.before.people[command.person], step.after.people[command.person]
            self._add(node, f"{ONTOLOGY}from", self._object(before.room))
            self._add(node, f"{ONTOLOGY}to", self._object(after.room))
        if command.says is not None:
            self._add(node, f"{ONTOLOGY}utterance", _text(command.says))
            self._add(node, f"{ONTOLOGY}speechAct", _text(command.speech_act or ""))
        if step.cause is not None:
            self._add(node, f"{ONTOLOGY}causedBy", self._node(f"event{step.cause}"))
        if step.purpose is not None:
            self._add(node, f"{ONTOLOGY}purpose", self._node(f"event{step.purpose}"))
        self._add(node, f"{TIME}hasBeginning", self._node(f"beginning{index}"))
        begins_s = self._literal(round(step.start_s - self.begins_s, 3), "decimal")
        self._add(self._node(f"beginning{index}"), f"{TIME}numericPosition", begins_s)
        self._add(node, f"{TIME}hasDuration", self._node(f"duration{index}"))
        self._add(self._node(f"duration{index}"), f"{TIME}numericDuration", self._literal(step.duration_s, "decimal"))
        if index:
            self._add(self._node(f"event{index - 1}"), f"{ONTOLOGY}nextEvent", node)
            previous = self._node(f"home_situation{index - 1}")
            self._add(previous, f"{ONTOLOGY}nextSituation", self._node(f"home_situation{index}"))

    def _other(self, number: int, other: Counterfactual) -> None:
        node = self._node(f"counterfactual{number}")
        self._add(node, f"{ONTOLOGY}withoutEvent", self._node(f"event{other.event}"))
        self._add(node, f"{ONTOLOGY}outcomeOf", self._object(other.name))
        self._add(node, f"{ONTOLOGY}aspect", _text(other.aspect))
        self._add(node, f"{ONTOLOGY}outcome", _text(other.outcome))

    def _objects(self) -> None:
        for name in self._names():
            class_name = class_of(name)
            node = self._object(name)
            self._add(node, f"{RDF}type", f"<{ONTOLOGY}{class_name.capitalize()}>")
            self._add(node, f"{RDFS}label", f'"{plain_name(name)}"')
            self._add(node, f"{DCTERMS}identifier", self._literal(name[len(class_name) :], "int"))
            thing = self.house.things.get(name)
            if thing is not None:
                for ability in sorted(thing.kind.can):
                    self._add(node, f"{ONTOLOGY}affords", f"<{ONTOLOGY}action/{ability}>")
                if thing.colour:
                    self._add(node, f"{ONTOLOGY}attribute", f"<{ONTOLOGY}colour_{thing.colour}>")
                if thing.size:
                    self._add(node, f"{ONTOLOGY}attribute", f"<{ONTOLOGY}size_{thing.size}>")
        for person in self.house.people:
            if person.character in self.people:
                node = self._object(person.character)
                self._add(node, f"{ONTOLOGY}name", _text(person.name))
                for attribute in person.attributes:
                    self._add(node, f"{ONTOLOGY}attribute", f"<{ONTOLOGY}{attribute}>")

    def _names(self) -> list[str]:
        return sorted([*self.house.things, *self.house.rooms, *self.people])

    def _situations(self) -> None:
        situations = [self.steps[0].before, *(step.after for step in self.steps)]
        current: dict[str, _Version] = {}
        for number, situation in enumerate(situations):
            names = self._by_support(situation)
            boxes = {name: self._box(situation, name) for name in names}
            close = self._close(situation, boxes)
            for name in names:
                version = self._version(situation, name, number, current, boxes, close)
                old = current.get(name)
                if old is not None and (old.values, old.box, old.relations, old.supports) == (
                    version.values,
                    version.box,
                    version.relations,
                    version.supports,
                ):
                    continue
                current[name] = version
            for name, version in current.items():
                if version.since == number:
                    self._state(name, version, current, number)
            for name, version in current.items():
                node = self._node(f"state{version.since}_{name}")
                self._add(node, f"{ONTOLOGY}partOf", self._node(f"home_situation{number}"))

    def _by_support(self, situation: Situation) -> list[str]:
        """Names, a support before the objects on it, because the support's Shape is needed first."""
        order: list[str] = [*sorted(self.house.rooms), *sorted(self._room_of_floor)]
        seats = [person.seat for person in situation.people.values() if person.seat]
        placed = set(order)

        def add(name: str) -> None:
            if name in placed:
                return
            support = situation.people[name].seat if name in situation.people else situation.things[name].support
            if support in situation.things or support in situation.people:
                assert support is not None
                add(support)
            placed.add(name)
            order.append(name)

        for name in (*seats, *sorted(situation.things), *situation.people):
            add(name)
        return order

    def _close(self, situation: Situation, boxes: dict[str, _Box]) -> dict[str, list[tuple[str, str]]]:
        """What is close to each thing and person; computed anew for rooms in which something has moved."""
        here: dict[str, list[tuple[str, _Box]]] = {}
        for states in (situation.things, situation.people):
            for name, state in states.items():
                if name not in self._room_of_floor:
                    here.setdefault(state.room, []).append((name, boxes[name]))
        for room, placed in here.items():
            if room not in self._close_in or self._close_in[room][0] != placed:
                self._close_in[room] = (
                    placed,
                    {
                        name: [
                            ("close", other)
                            for other, beside in placed
                            if other != name and _distance(box.centre, beside) < CLOSE_M
                        ]
                        for name, box in placed
                    },
                )
        return {name: found for room in here for name, found in self._close_in[room][1].items()}

    def _version(
        self,
        situation: Situation,
        name: str,
        number: int,
        current: dict[str, _Version],
        boxes: dict[str, _Box],
        close: dict[str, list[tuple[str, str]]],
    ) -> _Version:
        relations = self._relations(situation, name, boxes, close)
        supports = tuple(
            sorted((target, current[target].since) for kind, target in relations if kind in ("on", "inside"))
        )
        values = situation.things[name].values if name in situation.things else frozenset({"CLEAN"})
        if name in situation.people:
            person = situation.people[name]
            posture = {"sit": "SITTING", "lie": "LYING"}.get(person.posture)
            values = frozenset(value for value in (posture, person.feeling) if value)
        return _Version(number, values, boxes[name], relations, supports)

    def _box(self, situation: Situation, name: str) -> _Box:
        if name in situation.things and name not in self._room_of_floor:
            thing, state = self.house.things[name], situation.things[name]
            width, height, held = thing.width_m, thing.height_m, state.support in situation.people
            depth = _AGENT_DEPTH_M if held else _DEPTH_M[thing.layer]
            y_m = 1.1 if held else state.y_m
            return _Box((state.x_m, round(y_m + height / 2, 3), depth), (width, height, round(min(width, 0.6), 3)))
        if name in situation.people:
            agent = situation.people[name]
            low = agent.posture in ("lie", "fallen")
            size = (1.7, 0.4, 0.6) if low else (0.5, 1.3 if agent.posture == "sit" else 1.75, 0.4)
            return _Box((agent.x_m, round(size[1] / 2, 3), _AGENT_DEPTH_M), size)
        height = 0.1 if name.startswith("floor") else ROOM_HEIGHT_M
        return _Box((ROOM_WIDTH_M / 2, height / 2, 1.0), (ROOM_WIDTH_M, height, 2.0))

    def _relations(
        self, situation: Situation, name: str, boxes: dict[str, _Box], close: dict[str, list[tuple[str, str]]]
    ) -> frozenset[tuple[str, str]]:
        if name in self.house.rooms:
            return frozenset()
        if name in self._room_of_floor:
            return frozenset({("inside", self._room_of_floor[name])})
        found: set[tuple[str, str]] = set()
        if name in situation.people:
            agent = situation.people[name]
            room = agent.room
            found.add(("inside", room))
            if agent.seat:
                found.add(("on", agent.seat))
            for hand, held in (("holds_rh", agent.right), ("holds_lh", agent.left)):
                if held:
                    found.add((hand, held))
            if agent.gaze and _distance(boxes[name].centre, boxes[agent.gaze]) < FACING_M:
                found.add(("facing", agent.gaze))
        else:
            state = situation.things[name]
            room = state.room
            found.add(("inside", room))
            if state.support in self.house.rooms:
                if self.house.things[name].layer != "wall":
                    found.add(("on", self.house.floors[room]))
            elif state.support in situation.people:
                found.add(("on", state.support))
            else:
                found.add(("inside" if state.inside else "on", state.support))
        return frozenset(found.union(close[name]))

    def _state(self, name: str, version: _Version, current: dict[str, _Version], number: int) -> None:
        node = self._node(f"state{number}_{name}")
        shape = self._node(f"shape_state{number}_{name}")
        self._add(node, f"{RDF}type", f"<{ONTOLOGY}State>")
        self._add(node, f"{ONTOLOGY}isStateOf", self._object(name))
        for value in sorted(version.values):
            self._add(node, f"{ONTOLOGY}state", f"<{ONTOLOGY}{value}>")
        self._add(node, f"{ONTOLOGY}bbox", shape)
        self._add(shape, f"{RDF}type", f"<{X3D}Shape>")
        for what, vector in (("bboxCenter", version.box.centre), ("bboxSize", version.box.size)):
            heads = [f"_:{what}{n}_{number}_{name}_{self.suffix}" for n in range(3)]
            self._add(shape, f"{X3D}{what}", heads[0])
            for n, number_m in enumerate(vector):
                self._add(heads[n], f"{RDF}first", self._literal(number_m, "double"))
                self._add(heads[n], f"{RDF}rest", heads[n + 1] if n < 2 else f"<{RDF}nil>")
        for kind, target in sorted(version.relations):
            target_shape = self._node(f"shape_state{current[target].since}_{target}")
            self._add(shape, f"{ONTOLOGY}{kind}", target_shape)


def _text(words: str) -> str:
    """A plain literal, as N-Triples write it."""
    escaped = words.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _distance(centre: _Vector, box: _Box) -> float:
    """Distance from the centre of one object to the box of another."""
    (x, y, z), (other_x, other_y, other_z), (width, height, depth) = centre, box.centre, box.size
    # The order of the sum decides the last digit of the distances in graphs.
    gap_x, gap_y = max(0.0, abs(x - other_x) - width / 2), max(0.0, abs(y - other_y) - height / 2)
    gap_z = max(0.0, abs(z - other_z) - depth / 2)
    return float((gap_x * gap_x + gap_y * gap_y + gap_z * gap_z) ** 0.5)
