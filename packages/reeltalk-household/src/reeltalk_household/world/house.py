"""Rooms, furniture and objects: their places in a house and the actions that they allow.

A room is seen from the side. `x_m` runs along its back wall from the left, `y_m` upwards from the floor, in metres. A
house's rooms and objects depend on its number alone, so house 3 is the same everywhere. Its people and its art style
come from pools of its split, so that no name, no looks and no style of train occur in test.
"""

import random
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

from reeltalk.language.vocabulary import class_of
from reeltalk_household.world.kinds import KINDS, ObjectKind
from reeltalk_household.world.styles import SPLIT_STYLES
from reeltalk_household.world.tables import world_table

ROOM_WIDTH_M: Final = 6.4
ROOM_HEIGHT_M: Final = 3.6
ROOM_ORDER: Final = ("kitchen", "livingroom", "bedroom", "bathroom")
DOOR_X_M: Final = {"left": 0.45, "right": ROOM_WIDTH_M - 0.45}
SMALLEST_HOUSE, LARGEST_HOUSE = 1, 9999
MOST_PEOPLE: Final = 3


Layer = Literal["wall", "back", "floor", "front"]
Split = Literal["train", "dev", "test"]
SIZES: Final = {None: 1.0, "small": 0.78, "large": 1.28}
"""Width and height of an object in parts of its kind's."""


@dataclass(frozen=True)
class Thing:
    """An object of a house at the beginning."""

    name: str
    """Class and number, such as `fridge12`."""
    room: str
    """Name of the room's object, such as `kitchen1`."""
    layer: Layer
    x_m: float
    y_m: float
    """Height of its lowest point."""
    support: str
    """The object or room that it rests on or in."""
    inside: bool = False
    """True if it is in its support, not on it."""
    colour: str | None = None
    states: tuple[str, ...] = ()
    size: Literal["small", "large"] | None = None
    """None for the usual size."""

    @property
    def width_m(self) -> float:
        """Its width, by its kind and size."""
        return round(self.kind.width_m * SIZES[self.size], 3)

    @property
    def height_m(self) -> float:
        """Its height, by its kind and size."""
        return round(self.kind.height_m * SIZES[self.size], 3)

    @property
    def kind(self) -> ObjectKind:
        return KINDS[self.class_name]

    @property
    def class_name(self) -> str:
        """Name of its class."""
        return class_of(self.name)


@dataclass(frozen=True)
class Person:
    """Somebody who lives in a house, and their looks."""

    character: str
    """The name in situations and graphs, such as `character1`."""
    name: str
    """What others call them, such as `Anna`."""
    pronoun: Literal["she", "he"]
    shirt: str
    trousers: str
    hair: str
    hair_style: str
    """One of `HAIR_STYLES`."""
    skin: tuple[int, int, int]
    glasses: bool
    beard: bool
    height: float
    """In parts of the usual height, 0.9 to 1.06."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The looks as graphs give them, such as `shirt_red`."""
        looks = [f"shirt_{self.shirt}", f"trousers_{self.trousers}", f"hair_{self.hair}", f"style_{self.hair_style}"]
        looks += ["glasses"] * self.glasses + ["beard"] * self.beard
        return (*looks, f"pronoun_{self.pronoun}")


@dataclass(frozen=True)
class Room:
    """The looks of a room."""

    name: str
    """Class and number, such as `kitchen1`."""
    wall: tuple[int, int, int]
    floor: tuple[int, int, int]
    door: Literal["left", "right"]
    window_x_m: float

    @property
    def class_name(self) -> str:
        """`kitchen`, `livingroom`, `bedroom` or `bathroom`."""
        return class_of(self.name)


@dataclass(frozen=True)
class House:
    """A house: everything that does not change."""

    number: int
    rooms: dict[str, Room]
    things: dict[str, Thing]
    people: tuple[Person, ...]
    """Those who live there, one to three, `character1` first."""
    style: str
    """Art style of its pictures, one of its split's `SPLIT_STYLES`."""
    split: Split = "train"
    floors: dict[str, str] = field(default_factory=dict)
    """Name of each room's floor object, by room."""

    def person(self, character: str) -> Person:
        """The person with a name such as `character2`."""
        return next(person for person in self.people if person.character == character)

    def with_people(self, names: Sequence[str]) -> "House":
        """The same house with only these of its people, named `character1` and so on in this order."""
        by_name = {person.name: person for person in self.people}
        chosen = (replace(by_name[name], character=f"character{n}") for n, name in enumerate(names, 1))
        return replace(self, people=tuple(chosen))

    @property
    def scene(self) -> str:
        """The environment's name in graphs."""
        return f"scene{self.number}"

    def of_class(self, class_name: str, room: str | None = None) -> list[Thing]:
        """Objects of a class, sorted by name."""
        return [
            thing
            for thing in self.things.values()
            if thing.class_name == class_name and (room is None or thing.room == room)
        ]


_TABLES: Final = world_table("house")
_SPARE: Final = ("bookshelf", "bed", "sofa", "desk", "coffeetable", "kitchencounter", "bathroomcounter")
"""Where things of a living room are put if their own places are full."""
_GIFTS: Final = ("book", "teddybear", "vase", "mug", "ball", "photoalbum", "clothesshirt")
MOST_INSIDE: Final = 8
TWINS: Final = 0.8
_FOOD: Final = frozenset("milk juice wine bottle apple cupcake cookie sandwich breadslice cake kettle".split())


SHIRTS: Final = ("red", "blue", "green", "yellow", "purple", "orange", "white", "pink", "black")
TROUSERS: Final = ("blue", "black", "grey", "brown", "green")
HAIR_STYLES: Final = ("short", "long", "bun", "curly")
NAMES: Final[Mapping[str, Mapping[str, str]]] = _TABLES["names"]
"""What people are called, by split and pronoun."""


def build_house(number: int, split: Split = "train") -> House:
    """The house with a number.

    Args:
        number: From 1; the same number gives the same rooms and objects everywhere.
        split: Decides the pools of its people and its art style.

    Raises:
        ValueError: The number is out of range.
    """
    if not SMALLEST_HOUSE <= number <= LARGEST_HOUSE:
        raise ValueError(f"house {number}: houses are numbered {SMALLEST_HOUSE} to {LARGEST_HOUSE}")
    return _Builder(number, split).house()


def _colours(name: str) -> tuple[tuple[int, int, int], ...]:
    return tuple((r, g, b) for r, g, b in _TABLES["colours"][name])


class _Builder:
    def __init__(self, number: int, split: Split) -> None:
        self.number, self.split = number, split
        self.random = random.Random(f"house {number}")
        self.things: dict[str, Thing] = {}
        self.rooms: dict[str, Room] = {}
        self.floors: dict[str, str] = {}
        self._count = 0

    def house(self) -> House:
        draw = self.random
        walls = draw.sample(_colours("walls"), len(ROOM_ORDER))
        for index, room in enumerate(ROOM_ORDER):
            name = self._name(room)
            tiled = room in ("kitchen", "bathroom")
            self.rooms[name] = Room(
                name=name,
                wall=walls[index],
                floor=draw.choice(_colours("tiles" if tiled else "floors")),
                door=draw.choice(("left", "right")),
                window_x_m=0.0,
            )
            self.floors[name] = self._add("floor", self.rooms[name], "floor", ROOM_WIDTH_M / 2, 0.0, name).name
            self._furnish(self.rooms[name])
            below = {"kitchen": "stove", "livingroom": "tvstand", "bedroom": "desk", "bathroom": "washingmachine"}
            window_x_m = self._find(below[room], self.rooms[name]).x_m
            self.rooms[name] = replace(self.rooms[name], window_x_m=window_x_m)
        self._movables()
        style = random.Random(f"style {self.split} {self.number}").choice(SPLIT_STYLES[self.split])
        return House(self.number, self.rooms, self.things, self._people(), style, self.split, self.floors)

    def _people(self) -> tuple[Person, ...]:
        """Three people who differ in name, shirt and hair, with looks of this split."""
        draw = random.Random(f"people {self.split} {self.number}")
        people: list[Person] = []
        while len(people) < MOST_PEOPLE:
            pronoun: Literal["she", "he"] = draw.choice(("she", "he"))
            skin = draw.choice(_colours("skins"))
            shirt = draw.choice(SHIRTS)
            # The hair must differ from the skin.
            hair = draw.choice(("brown", "black", "yellow", "grey", "red") if sum(skin) > 480 else ("black", "grey"))
            person = Person(
                character=f"character{len(people) + 1}",
                name=draw.choice(NAMES[self.split][pronoun].split()),
                pronoun=pronoun,
                shirt=shirt,
                trousers=draw.choice([colour for colour in TROUSERS if colour != shirt]),
                hair=hair,
                hair_style=draw.choice(HAIR_STYLES if pronoun == "she" else ("short", "short", "curly")),
                skin=skin,
                glasses=draw.random() < 0.3,
                beard=pronoun == "he" and draw.random() < 0.4,
                height=round(draw.uniform(0.9, 1.0) if pronoun == "she" else draw.uniform(0.95, 1.06), 2),
            )
            taken = {(p.name, p.shirt) for p in people}
            unlike = all(person.name != name and shirt != other for name, other in taken)
            if unlike and (person.hair, person.hair_style) not in {(p.hair, p.hair_style) for p in people}:
                if split_of_looks(person) == self.split:
                    people.append(person)
        return tuple(people)

    def _name(self, class_name: str) -> str:
        self._count += 1
        return f"{class_name}{self._count}"

    def _present(self, words: Iterable[str]) -> list[str]:
        """The entries of a list that this house has; `?` marks entries that some houses lack."""
        return [word.rstrip("?") for word in words if not word.endswith("?") or self.random.random() < 0.7]

    def _furnish(self, room: Room) -> None:
        kind = room.class_name
        back = _TABLES["furniture"][kind].split()
        self.random.shuffle(back)
        if kind == "bedroom" and abs(back.index("bed") - back.index("nightstand")) != 1:
            back.remove("nightstand")
            back.insert(back.index("bed") + 1, "nightstand")
        left = 0.95 if room.door == "left" else 0.15
        right = ROOM_WIDTH_M - (0.95 if room.door == "right" else 0.15)
        gap = (right - left - sum(KINDS[name].width_m for name in back)) / len(back)
        x = left + gap / 2
        for class_name in back:
            width = KINDS[class_name].width_m
            self._place(class_name, room, "back", round(x + width / 2, 3))
            x += width + gap
        for word, at in _TABLES["front"][kind]:
            for class_name in self._present([word]):
                self._place(class_name, room, "front", at if room.door == "left" else round(ROOM_WIDTH_M - at, 3))
        for class_name in self._present(_TABLES["floor"][kind]):
            self._on_floor(class_name, room)
        self._on_walls(room)

    def _on_floor(self, class_name: str, room: Room) -> None:
        taken = {"garbagecan": 1.3, "orchid": 5.9, "rug": 3.1}[class_name]
        x = taken if room.door == "left" else round(ROOM_WIDTH_M - taken, 3)
        self._place(class_name, room, "floor", x)
        if class_name == "orchid":
            offset = -0.45 if room.door == "left" else 0.45
            self._place("wateringcan", room, "floor", round(x + offset, 3))

    def _on_walls(self, room: Room) -> None:
        at = DOOR_X_M[room.door] + (0.62 if room.door == "left" else -0.62)
        self._place("lightswitch", room, "wall", round(at, 3), 1.25)
        if room.class_name == "kitchen":
            counter = self._find("kitchencounter", room)
            self._place("kitchencabinet", room, "wall", counter.x_m, 2.0)
            self._place("clock", room, "wall", self._find("fridge", room).x_m, 2.4)
        elif room.class_name == "livingroom":
            self._place("wallpictureframe", room, "wall", self._find("sofa", room).x_m, 1.9)
            self._place("clock", room, "wall", self._find("floorlamp", room).x_m, 2.4)
            beside = 1.0 if room.door == "left" else -1.0
            self._place("doorbell", room, "wall", round(DOOR_X_M[room.door] + beside, 3), 1.7)
        elif room.class_name == "bedroom":
            self._place("wallpictureframe", room, "wall", self._find("bed", room).x_m, 1.8)
        else:
            self._place("bathroomcabinet", room, "wall", self._find("bathroomcounter", room).x_m, 1.75)
            self._place("towelrack", room, "wall", self._find("bathtub", room).x_m, 1.6)

    def _find(self, class_name: str, room: Room) -> Thing:
        return next(t for t in self.things.values() if t.class_name == class_name and t.room == room.name)

    def _place(self, class_name: str, room: Room, layer: Layer, x_m: float, y_m: float = 0.0) -> None:
        thing = self._add(class_name, room, layer, x_m, y_m, room.name)
        held = self._present(_TABLES["on"].get(class_name, "").split())
        if class_name in ("kitchencounter", "bathroomcounter"):
            self.random.shuffle(held)
        width = thing.kind.width_m
        x = x_m - width / 2
        for name in held:
            # Things on a counter leave half of it free for what people put there.
            share = KINDS[name].width_m + 0.06
            x += share
            lies = self._add(
                name, room, layer, round(x - share / 2, 3), round(y_m + KINDS[class_name].top_m, 3), thing.name
            )
            if name == "sink":
                self._add("faucet", room, layer, lies.x_m, round(lies.y_m + 0.1, 3), thing.name)
            if name == "cuttingboard":
                self._add("cutleryknife", room, layer, lies.x_m, round(lies.y_m + 0.06, 3), lies.name)

    def _movables(self) -> None:
        """What people carry about: several of a class differ in colour, or in size if they have the same colour."""
        for class_name, (fewest, most, _) in _TABLES["movables"].items():
            count = self.random.randint(fewest, most)
            room = next(iter(self.rooms.values()))
            same_colour = self.random.random() < 0.3 or not KINDS[class_name].colours
            for n in range(count):
                name = self._add(class_name, room, "back", 0.0, 0.0, room.name).name
                others = [t for t in self.things.values() if t.class_name == class_name and t.name != name]
                thing = self.things[name]
                if others and same_colour:
                    thing = replace(thing, colour=others[0].colour)
                    if n == 1:
                        sizes: list[Literal["small", "large"]] = ["small", "large"]
                        self.random.shuffle(sizes)
                        self.things[others[0].name] = replace(others[0], size=sizes[0])
                        thing = replace(thing, size=sizes[1])
                elif others:
                    free = [colour for colour in thing.kind.colours if colour not in {t.colour for t in others}]
                    thing = replace(thing, colour=self.random.choice(free or thing.kind.colours))
                self.things[name] = thing
        for name, place in place_things(self.things, self.rooms, self.floors, self.random).items():
            room, layer = self.rooms[place.room], self.things[place.support].layer
            self.things[name] = replace(
                self.things[name],
                room=room.name,
                layer=layer,
                x_m=place.x_m,
                y_m=place.y_m,
                support=place.support,
                inside=place.inside,
            )

    def _add(
        self, class_name: str, room: Room, layer: Layer, x_m: float, y_m: float, support: str, *, inside: bool = False
    ) -> Thing:
        kind = KINDS[class_name]
        name = self._name(class_name)
        thing = Thing(
            name=name,
            room=room.name,
            layer=layer,
            x_m=x_m,
            y_m=y_m,
            support=support,
            inside=inside,
            colour=self.random.choice(kind.colours) if kind.colours else None,
            states=kind.states,
        )
        self.things[name] = thing
        return thing


class Place(NamedTuple):
    """Where an object is put."""

    room: str
    support: str
    inside: bool
    x_m: float
    y_m: float


def place_things(
    things: Mapping[str, Thing], rooms: Mapping[str, Room], floors: Mapping[str, str], draw: random.Random
) -> dict[str, Place]:
    """Draws a place for everything that people carry about.

    Returns:
        The places, by object. Nothing lies on something else that is carried, and each has room beside the others.
    """
    places_of = {class_name: places.split() for class_name, (_, _, places) in _TABLES["movables"].items()}
    carried = [name for name, thing in things.items() if thing.class_name in places_of]
    room_names = {room.class_name: name for name, room in rooms.items()}
    at: dict[str, Thing] = {}
    for thing in things.values():
        if thing.class_name not in places_of:
            at.setdefault(thing.class_name, thing)
    taken: dict[str, list[tuple[float, float]]] = {}
    for thing in things.values():
        if thing.class_name not in places_of and thing.support in things:
            taken.setdefault(thing.support, []).append((thing.x_m, thing.width_m))
    inside: Counter[str] = Counter()
    found: dict[str, Place] = {}
    gift = next((name for name in carried if things[name].class_name == "giftbox"), None)
    given = [name for name in carried if things[name].class_name in _GIFTS]
    wrapped = draw.choice(given) if gift and given else None
    draw.shuffle(carried)
    # What can be in one place alone goes first.
    carried.sort(key=lambda name: len(places_of[things[name].class_name]) > 1)
    for name in carried:
        thing = things[name]
        words = places_of[thing.class_name]
        # The first place is the most frequent one.
        order = sorted(words, key=lambda word: (draw.random() * (0.6 if word == words[0] else 1.0), word))
        # Those of a class are often in one room, so that one must say which one is meant.
        twins = {place.room for other, place in found.items() if things[other].class_name == thing.class_name}
        if twins and draw.random() < TWINS:
            order.sort(key=lambda word: _room_at(word, at, things, floors, room_names) not in twins)
        spare = draw.sample(_SPARE, len(_SPARE)) if words[0] in _SPARE or thing.class_name in _GIFTS else []
        for word in (*order, *spare):
            where = word.removeprefix(">")
            support = things[floors[room_names[where.split(":")[0]]]] if ":floor" in where else at.get(where)
            if support is None:
                continue
            if word.startswith(">"):
                if inside[support.name] < MOST_INSIDE:
                    inside[support.name] += 1
                    found[name] = Place(support.room, support.name, True, support.x_m, round(support.y_m + 0.1, 3))
                    break
                continue
            x_m = _gap(support, thing, taken.get(support.name, []), draw)
            if x_m is not None:
                taken.setdefault(support.name, []).append((x_m, thing.width_m))
                top = 0.0 if ":floor" in where else surface_height_m(support)
                found[name] = Place(support.room, support.name, False, x_m, round(top, 3))
                break
        else:
            cabinet = at["kitchencabinet" if ">kitchencabinet" in words or thing.class_name in _FOOD else "closet"]
            found[name] = Place(cabinet.room, cabinet.name, True, cabinet.x_m, round(cabinet.y_m + 0.1, 3))
    if gift and wrapped:
        box = found[gift]
        found[wrapped] = Place(box.room, gift, True, box.x_m, round(box.y_m + 0.05, 3))
    return found


def _room_at(
    word: str, at: Mapping[str, Thing], things: Mapping[str, Thing], floors: Mapping[str, str], rooms: Mapping[str, str]
) -> str | None:
    """The room of a place in the list of what people carry about."""
    where = word.removeprefix(">")
    if ":floor" in where:
        return things[floors[rooms[where.split(":")[0]]]].room
    return at[where].room if where in at else None


def _gap(support: Thing, thing: Thing, taken: Sequence[tuple[float, float]], draw: random.Random) -> float | None:
    """A free place along a surface; None if there is none."""
    if support.class_name == "floor":
        low, high = 1.6, ROOM_WIDTH_M - 0.5
    else:
        half = max(0.0, (support.width_m - thing.width_m) / 2)
        low, high = support.x_m - half, support.x_m + half
    places = [round(low + (high - low) * n / 20, 3) for n in range(21)]
    free = [x for x in places if all(abs(x - at) >= (width + thing.width_m) / 2 + 0.02 for at, width in taken)]
    return draw.choice(free) if free else None


def split_of_looks(person: Person) -> Split:
    """The split to which somebody's looks belong: three fifths of all are train's, a fifth each dev's and test's."""
    share = zlib.crc32(" ".join(person.attributes).encode()) % 5
    return "train" if share < 3 else "dev" if share == 3 else "test"


def surface_height_m(thing: Thing) -> float:
    """Height above the floor of an object's surface."""
    return thing.y_m + thing.kind.top_m
