"""Rooms, furniture and objects: their places in a house and the actions that they allow.

A room is seen from the side. `x_m` runs along its back wall from the left, `y_m` upwards from the floor, in metres. A
house depends on its number alone, so house 3 is the same everywhere.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from reeltalk.graph.vocabulary import class_of
from reeltalk.world.kinds import KINDS, ObjectKind, top_m

ROOM_WIDTH_M: Final = 6.4
ROOM_HEIGHT_M: Final = 3.6
ROOM_ORDER: Final = ("kitchen", "livingroom", "bedroom", "bathroom")
DOOR_X_M: Final = {"left": 0.45, "right": ROOM_WIDTH_M - 0.45}
SMALLEST_HOUSE, LARGEST_HOUSE = 1, 9999


Layer = Literal["wall", "back", "floor", "front"]


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

    @property
    def kind(self) -> ObjectKind:
        return KINDS[self.class_name]

    @property
    def class_name(self) -> str:
        """Name of its class."""
        return class_of(self.name)


@dataclass(frozen=True)
class Person:
    """The looks of the person of a house."""

    shirt: str
    trousers: str
    hair: str
    skin: tuple[int, int, int]


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
    person: Person
    floors: dict[str, str] = field(default_factory=dict)
    """Name of each room's floor object, by room."""

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


# The contents of each room: (class, layer, support); "?" marks objects that only some houses have. Objects with a
# support in the same room lie on it, or in it if the line says so.
_FURNITURE: Final = {
    "kitchen": "fridge kitchencounter stove",
    "livingroom": "sofa tvstand bookshelf floorlamp",
    "bedroom": "bed nightstand closet desk",
    "bathroom": "bathtub toilet bathroomcounter washingmachine",
}
_FRONT: Final = {
    "kitchen": (("kitchentable", 3.4), ("chair", 2.3)),
    "livingroom": (("coffeetable", 3.1),),
    "bedroom": (),
    "bathroom": (("laundrybasket", 5.4),),
}
_ON: Final = {
    "kitchencounter": "sink microwave coffeemaker toaster? washingsponge cuttingboard",
    "stove": "fryingpan",
    "kitchentable": "plate mug apple? cupcake breadslice?",
    "coffeetable": "remotecontrol magazine cellphone?",
    "tvstand": "tv",
    "bookshelf": "book radio?",
    "bed": "pillow",
    "nightstand": "tablelamp",
    "desk": "computer notes",
    "bathroomcounter": "sink toothbrush toothpaste barsoap facecream?",
    "towelrack": "towel",
    "sofa": "",
}
_IN: Final = {
    "fridge": "milk juice wine? salmon carrot?",
    "kitchencabinet": "waterglass wineglass dishbowl? cereal",
    "closet": "clothesshirt",
    "laundrybasket": "clothespile",
}
_FLOOR: Final = {
    "kitchen": ("garbagecan",),
    "livingroom": ("orchid", "rug"),
    "bedroom": ("slippers", "dumbbell?"),
    "bathroom": (),
}
_EXTRA: Final = {"orchid": "wateringcan"}


_WALLS: Final = (
    (244, 232, 208),
    (222, 234, 226),
    (228, 226, 240),
    (246, 222, 212),
    (216, 230, 240),
    (238, 238, 222),
    (236, 224, 232),
)
_FLOORS: Final = ((186, 144, 104), (166, 122, 84), (202, 180, 150), (172, 160, 148), (152, 112, 86))
_TILES: Final = ((206, 216, 220), (214, 206, 196), (196, 208, 200))
_SKINS: Final = ((244, 208, 180), (224, 178, 144), (180, 128, 92), (132, 90, 64))


def build_house(number: int) -> House:
    """The house with a number.

    Args:
        number: From 1; the same number gives the same house everywhere.

    Raises:
        ValueError: The number is out of range.
    """
    if not SMALLEST_HOUSE <= number <= LARGEST_HOUSE:
        raise ValueError(f"house {number}: houses are numbered {SMALLEST_HOUSE} to {LARGEST_HOUSE}")
    return _Builder(number).house()


class _Builder:
    def __init__(self, number: int) -> None:
        self.number = number
        self.random = random.Random(f"house {number}")
        self.things: dict[str, Thing] = {}
        self.rooms: dict[str, Room] = {}
        self.floors: dict[str, str] = {}
        self._count = 0

    def house(self) -> House:
        draw = self.random
        walls = draw.sample(_WALLS, len(ROOM_ORDER))
        for index, room in enumerate(ROOM_ORDER):
            name = self._name(room)
            tiled = room in ("kitchen", "bathroom")
            self.rooms[name] = Room(
                name=name,
                wall=walls[index],
                floor=draw.choice(_TILES if tiled else _FLOORS),
                door=draw.choice(("left", "right")),
                window_x_m=0.0,
            )
            self.floors[name] = self._name("floor")
            self._furnish(self.rooms[name])
            below = {"kitchen": "stove", "livingroom": "tvstand", "bedroom": "desk", "bathroom": "washingmachine"}
            window_x_m = self._find(below[room], self.rooms[name]).x_m
            self.rooms[name] = replace(self.rooms[name], window_x_m=window_x_m)
        skin = draw.choice(_SKINS)
        shirt = draw.choice(("red", "blue", "green", "yellow", "purple", "orange", "white"))
        person = Person(
            shirt=shirt,
            trousers=draw.choice([c for c in ("blue", "black", "grey", "brown") if c != shirt]),
            # The hair must differ from the skin.
            hair=draw.choice(("brown", "black", "yellow", "grey", "red") if sum(skin) > 480 else ("black", "grey")),
            skin=skin,
        )
        return House(self.number, self.rooms, self.things, person, self.floors)

    def _name(self, class_name: str) -> str:
        self._count += 1
        return f"{class_name}{self._count}"

    def _present(self, words: Iterable[str]) -> list[str]:
        """The entries of a list that this house has; `?` marks entries that some houses lack."""
        return [word.rstrip("?") for word in words if not word.endswith("?") or self.random.random() < 0.7]

    def _furnish(self, room: Room) -> None:
        kind = room.class_name
        back = _FURNITURE[kind].split()
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
        for class_name, at in _FRONT[kind]:
            self._place(class_name, room, "front", at if room.door == "left" else round(ROOM_WIDTH_M - at, 3))
        for class_name in self._present(_FLOOR[kind]):
            self._on_floor(class_name, room)
        self._on_walls(room)

    def _on_floor(self, class_name: str, room: Room) -> None:
        taken = {"garbagecan": 1.3, "orchid": 5.9, "rug": 3.1, "slippers": 2.2, "dumbbell": 4.4}[class_name]
        x = taken if room.door == "left" else round(ROOM_WIDTH_M - taken, 3)
        self._place(class_name, room, "floor", x)
        if class_name in _EXTRA:
            offset = -0.45 if room.door == "left" else 0.45
            self._place(_EXTRA[class_name], room, "floor", round(x + offset, 3))

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
        elif room.class_name == "bedroom":
            self._place("wallpictureframe", room, "wall", self._find("bed", room).x_m, 1.8)
        else:
            self._place("bathroomcabinet", room, "wall", self._find("bathroomcounter", room).x_m, 1.75)
            self._place("towelrack", room, "wall", self._find("bathtub", room).x_m, 1.6)

    def _find(self, class_name: str, room: Room) -> Thing:
        return next(t for t in self.things.values() if t.class_name == class_name and t.room == room.name)

    def _place(self, class_name: str, room: Room, layer: Layer, x_m: float, y_m: float = 0.0) -> None:
        thing = self._add(class_name, room, layer, x_m, y_m, room.name)
        held = self._present(_ON.get(class_name, "").split())
        if class_name in ("kitchencounter", "bathroomcounter"):
            self.random.shuffle(held)
        width = thing.kind.width_m
        for index, name in enumerate(held):
            x = x_m - width / 2 + width * (index + 0.5) / len(held)
            if name == "pillow":
                x = x_m - width / 2 + 0.4
            lies = self._add(name, room, layer, round(x, 3), round(y_m + top_m(class_name), 3), thing.name)
            if name == "sink":
                self._add("faucet", room, layer, round(x, 3), round(y_m + top_m(class_name) + 0.1, 3), thing.name)
            if name == "cuttingboard":
                self._add("cutleryknife", room, layer, lies.x_m, round(lies.y_m + 0.06, 3), lies.name)
        inside = self._present(_IN.get(class_name, "").split())
        for index, name in enumerate(inside):
            x = x_m - width / 2 + width * (index + 0.5) / max(1, len(inside))
            self._add(name, room, layer, round(x, 3), round(y_m + 0.1, 3), thing.name, inside=True)

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


def surface_height_m(thing: Thing) -> float:
    """Height above the floor of an object's surface."""
    return thing.y_m + top_m(thing.class_name)
