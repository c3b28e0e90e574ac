"""Small graphs of several people, written by hand in the form in which films of a household have them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reeltalk.language.vocabulary import INSTANCE, ONTOLOGY, RDF_TYPE, TIME, XSD
from reeltalk_build.graph.rdf import parse_rdf, quads_of
from reeltalk_build.graph.reading import read_activity
from reeltalk_build.graph.story import Story

FEELS = {"smile": "HAPPY", "frown": "SAD", "scowl": "ANGRY", "gasp": "SURPRISED", "calm": None}
TURNS = {"switchOn": "ON", "switchOff": "OFF", "open": "OPEN", "close": "CLOSED", "boil": "HOT", "break": "BROKEN"}
OPPOSITE = {"ON": "OFF", "OFF": "ON", "OPEN": "CLOSED", "CLOSED": "OPEN"}


@dataclass(frozen=True)
class Does:
    """One event: who does what, from when and for how long, in seconds."""

    agent: str | None
    action: str
    main: str | None = None
    targets: tuple[str, ...] = ()
    at: float = 0.0
    takes: float = 2.0
    cause: int | None = None
    purpose: int | None = None
    says: str | None = None
    act: str | None = None
    to: str | None = None
    """The room that a walk leads to."""


@dataclass
class Scene:
    """A scene in one place: people with rooms and looks, things with supports, states and looks."""

    name: str
    people: Mapping[str, tuple[str, str, Sequence[str]]]
    """Name, room and attributes by person."""
    things: Mapping[str, tuple[str, Sequence[str], Sequence[str]]]
    """Support (as `on kitchentable5`), attributes and state values by thing."""
    events: Sequence[Does]
    light: str = "day"
    unreal: Sequence[tuple[int, str, str, str]] = ()
    """Counterfactuals: the event left out, whose outcome, aspect, outcome."""
    lines: list[str] = field(default_factory=list)

    def quads(self) -> str:
        """The graph as N-Quads."""
        self.lines = []
        node = self.name.lower()
        self._add(node, "type", "Leisure")
        self._add(node, "attribute", f"light_{self.light}")
        for person, (name, _, looks) in self.people.items():
            self._add(node, "agent", self._thing(person))
            self._literal(self._thing(person), f"{ONTOLOGY}name", name)
            for look in looks:
                self._add(self._thing(person), "attribute", look)
        for thing, (_, looks, _) in self.things.items():
            for look in looks:
                self._add(self._thing(thing), "attribute", look)
        self._situations()
        for n, (event, whose, aspect, outcome) in enumerate(self.unreal):
            self._add(f"counterfactual{n}_{node}", "withoutEvent", f"event{event}_{node}")
            self._add(f"counterfactual{n}_{node}", "outcomeOf", self._thing(whose))
            self._literal(f"counterfactual{n}_{node}", f"{ONTOLOGY}aspect", aspect)
            self._literal(f"counterfactual{n}_{node}", f"{ONTOLOGY}outcome", outcome)
        text = "".join(f"{line}\n" for line in self.lines)
        return quads_of(parse_rdf(text, file=f"{self.name}.nt"), name=self.name)

    def _thing(self, name: str) -> str:
        return f"{name}_{self.name.lower().rsplit('_', 1)[-1]}"

    def _add(self, subject: str, predicate: str, target: str) -> None:
        if predicate == "type":
            self.lines.append(
                f"<{INSTANCE}{subject}> <{RDF_TYPE}> <http://www.owl-ontologies.com/VirtualHome.owl#{target}> ."
            )
            return
        space = ONTOLOGY if predicate in ("attribute", "state", "action") else INSTANCE
        target = f"action/{target}" if predicate == "action" else target
        self.lines.append(f"<{INSTANCE}{subject}> <{ONTOLOGY}{predicate}> <{space}{target}> .")

    def _literal(self, subject: str, predicate: str, value: object, kind: str = "") -> None:
        suffix = f"^^<{XSD}{kind}>" if kind else ""
        self.lines.append(f'<{INSTANCE}{subject}> <{predicate}> "{value}"{suffix} .')

    def _situations(self) -> None:
        """Plays the events in order, and writes each with the states and places that it changes."""
        places = {name: support.split() for name, (support, _, _) in self.things.items()}
        places |= {person: ["inside", room] for person, (_, room, _) in self.people.items()}
        values = {name: set(given) for name, (_, _, given) in self.things.items()}
        values |= {person: set() for person in self.people}
        rooms = {person: room for person, (_, room, _) in self.people.items()}
        since = dict.fromkeys(places, 0)
        since |= {support: 0 for _, support in places.values() if support not in places}
        for name in places:
            self._state(name, 0, values[name], places[name], since)
        for index, event in enumerate(self.events):
            self._event(index, event, rooms)
            changed = set()
            if event.main in places and event.action in ("grab", "put", "putIn", "give"):
                places[event.main] = {
                    "grab": ["on", event.agent or ""],
                    "put": ["on", *event.targets],
                    "putIn": ["inside", *event.targets],
                    "give": ["on", *event.targets],
                }[event.action]
                changed.add(event.main)
            if event.to is not None and event.agent is not None:
                places[event.agent], rooms[event.agent] = ["inside", event.to], event.to
                changed.add(event.agent)
            if event.action in TURNS and event.main in values:
                value = TURNS[event.action]
                values[event.main] = (values[event.main] - {OPPOSITE.get(value, "")}) | {value}
                changed.add(event.main)
            if event.action in FEELS and event.agent is not None:
                feeling = FEELS[event.action]
                values[event.agent] = {feeling} if feeling else set()
                changed.add(event.agent)
            for name in sorted(changed):
                since[name] = index + 1
                self._state(name, index + 1, values[name], places[name], since)

    def _state(self, name: str, since: int, values: set[str], place: Sequence[str], shapes: Mapping[str, int]) -> None:
        node = self.name.lower()
        state, shape = f"state{since}_{name}_{node}", f"shape_state{since}_{name}_{node}"
        self._add(state, "isStateOf", self._thing(name))
        self._add(state, "partOf", f"home_situation{since}_{node}")
        for value in sorted(values):
            self._add(state, "state", value)
        self._add(state, "bbox", shape)
        kind, support = place
        self._add(shape, kind, f"shape_state{shapes.get(support, 0)}_{support}_{node}")

    def _event(self, index: int, event: Does, rooms: Mapping[str, str]) -> None:
        activity = self.name.lower()
        node = f"event{index}_{activity}"
        self._add(activity, "hasEvent", node)
        self._add(node, "action", event.action)
        if event.agent is not None:
            self._add(node, "agent", self._thing(event.agent))
            self._add(node, "from", self._thing(rooms[event.agent]))
            self._add(node, "to", self._thing(event.to or rooms[event.agent]))
        if event.main is not None:
            self._add(node, "mainObject", self._thing(event.main))
        for target in event.targets:
            self._add(node, "targetObject", self._thing(target))
        self._add(node, "situationBeforeEvent", f"home_situation{index}_{activity}")
        self._add(node, "situationAfterEvent", f"home_situation{index + 1}_{activity}")
        for what, number, seconds in (("Duration", "Duration", event.takes), ("Beginning", "Position", event.at)):
            at = f"{what.lower()}{index}_{activity}"
            self.lines.append(f"<{INSTANCE}{node}> <{TIME}has{what}> <{INSTANCE}{at}> .")
            self._literal(at, f"{TIME}numeric{number}", seconds, "decimal")
        if event.cause is not None:
            self._add(node, "causedBy", f"event{event.cause}_{activity}")
        if event.purpose is not None:
            self._add(node, "purpose", f"event{event.purpose}_{activity}")
        if event.says is not None:
            self._literal(node, f"{ONTOLOGY}utterance", event.says)
        if event.act is not None:
            self._literal(node, f"{ONTOLOGY}speechAct", event.act)


ANNA = ("shirt_red", "trousers_blue", "hair_brown", "style_long", "pronoun_she")
TOM = ("shirt_green", "trousers_grey", "hair_black", "style_short", "pronoun_he", "glasses")
MARA = ("shirt_yellow", "trousers_black", "hair_yellow", "style_bun", "pronoun_she")
A, T, M = "character1", "character2", "character3"

TEA = Scene(
    "Make_tea1_scene1",
    {A: ("Anna", "kitchen1", ANNA), T: ("Tom", "kitchen1", TOM), M: ("Mara", "livingroom2", MARA)},
    {
        "mug3": ("on kitchentable5", ("colour_red",), ()),
        "mug4": ("on kitchencounter6", ("colour_blue",), ()),
        "kettle7": ("on kitchencounter6", ("colour_white",), ("OFF",)),
        "book8": ("on coffeetable9", ("colour_green",), ()),
        "milk10": ("inside fridge11", (), ()),
        "fridge11": ("inside kitchen1", (), ("CLOSED",)),
        "kitchentable5": ("inside kitchen1", (), ()),
        "kitchencounter6": ("inside kitchen1", (), ()),
        "coffeetable9": ("inside livingroom2", (), ()),
        "sofa12": ("inside livingroom2", (), ()),
    },
    [
        Does(A, "switchOn", "kettle7", at=0.0),
        Does(M, "sit", "sofa12", at=0.5),
        Does(T, "say", "milk10", (A,), at=2.5, says="Would you like some milk, Anna?", act="offer"),
        Does(A, "say", None, (T,), at=5.0, says="Yes, please.", act="accept", cause=2),
        Does(M, "grab", "book8", at=5.5),
        Does(None, "boil", "kettle7", at=7.5, takes=1.0, cause=0),
        Does(T, "open", "fridge11", at=7.5, purpose=8),
        Does(M, "read", "book8", at=8.0, takes=12.0),
        Does(T, "grab", "milk10", at=9.6, purpose=10),
        Does(A, "grab", "mug3", at=10.0),
        Does(T, "give", "milk10", (A,), at=12.0),
        Does(A, "smile", None, at=14.0, takes=1.0, cause=10),
        Does(A, "put", "mug3", ("kitchencounter6",), at=15.5),
        Does(T, "grab", "mug4", at=15.0),
        Does(T, "put", "mug4", ("kitchentable5",), at=18.0),
        Does(A, "switchOff", "kettle7", at=20.5),
    ],
    unreal=[
        (0, "kettle7", "happens", "5 no"),
        (0, "character1", "happens", "12 yes"),
        (12, "mug3", "place", "on character1"),
    ],
)
VASE = Scene(
    "Clean_floor2_scene1",
    {A: ("Anna", "livingroom2", ANNA), T: ("Tom", "livingroom2", TOM), M: ("Mara", "kitchen1", MARA)},
    {
        "vase13": ("on coffeetable9", ("colour_blue",), ()),
        "towel14": ("on kitchentable5", ("colour_white",), ()),
        "tv15": ("inside livingroom2", (), ("OFF",)),
        "floor16": ("inside livingroom2", (), ()),
        "coffeetable9": ("inside livingroom2", (), ()),
        "kitchentable5": ("inside kitchen1", (), ()),
        "sofa12": ("inside livingroom2", (), ()),
        "apple17": ("on kitchentable5", ("colour_red",), ()),
    },
    [
        Does(T, "touch", "vase13", at=0.0),
        Does(None, "break", "vase13", at=2.0, takes=1.0, cause=0),
        Does(A, "scowl", None, at=3.0, takes=1.0, cause=1),
        Does(M, "grab", "apple17", at=3.0, purpose=5),
        Does(T, "say", "vase13", (A,), at=4.5, says="I am sorry about the vase.", act="apologise"),
        Does(M, "eat", "apple17", at=5.0, takes=6.0),
        Does(A, "calm", None, at=7.0, takes=1.0, cause=4),
        Does(T, "walk", "kitchen1", at=7.0, takes=3.0, to="kitchen1"),
        Does(T, "grab", "towel14", at=10.5, cause=1),
        Does(M, "wave", T, at=12.0),
        Does(A, "switchOn", "tv15", at=12.0),
        Does(T, "walk", "livingroom2", at=13.0, takes=3.0, to="livingroom2"),
        Does(T, "wipe", "towel14", ("floor16",), at=16.5, takes=4.0),
        Does(A, "hug", T, at=21.0),
        Does(T, "smile", None, at=23.0, takes=1.0, cause=13),
    ],
    light="evening",
    unreal=[
        (0, "vase13", "happens", "1 no"),
        (0, "character1", "happens", "2 no"),
        (8, "towel14", "place", "on kitchentable5"),
    ],
)
JUICE = Scene(
    "Drink_juice3_scene1",
    {A: ("Anna", "kitchen1", ANNA), T: ("Tom", "kitchen1", TOM), M: ("Mara", "livingroom2", MARA)},
    {
        "juice18": ("inside fridge11", (), ()),
        "fridge11": ("inside kitchen1", (), ("CLOSED",)),
        "waterglass19": ("on kitchentable5", (), ()),
        "kitchentable5": ("inside kitchen1", (), ()),
    },
    [
        Does(A, "open", "fridge11", at=0.0),
        Does(A, "grab", "juice18", at=2.0),
        Does(A, "close", "fridge11", at=4.0),
        Does(A, "pour", "juice18", ("waterglass19",), at=6.0, takes=4.0),
        Does(A, "grab", "waterglass19", at=10.5),
        Does(A, "drink", "waterglass19", at=13.0, takes=5.0),
        Does(A, "give", "waterglass19", (T,), at=18.5),
    ],
    light="evening",
)
"""What the other scenes lack: pouring, a glass to drink from, and somebody who holds a thing at the end."""
SCENES = (TEA, VASE)


def texts(scenes: Sequence[Scene] = SCENES) -> dict[str, str]:
    """Graphs as N-Quads by name."""
    return {scene.name: scene.quads() for scene in scenes}


def story(scenes: Sequence[Scene] = SCENES) -> Story:
    """The story of some scenes."""
    return Story([read_activity(text, file=f"{name}.nq", name=name) for name, text in texts(scenes).items()])
