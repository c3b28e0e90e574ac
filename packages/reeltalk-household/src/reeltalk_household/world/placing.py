"""Places objects in a picture of a room, and orders them for drawing."""

from typing import Final

from reeltalk.language.vocabulary import class_of
from reeltalk_household.world.canvas import Point
from reeltalk_household.world.house import House
from reeltalk_household.world.situation import Situation

DROP_M: Final = {"front": 0.4, "floor": 0.3}
"""How much lower an object is drawn if it is in front of the back wall."""
STANDING_OUT: Final = frozenset({"vase", "toaster", "giftbox"})
"""Containers of which only the upper part of the contents is seen."""
FLAT_CLASSES: Final = frozenset({"floor", "rug"})
"""Classes on which others stand."""
MOST_SHOWN_INSIDE: Final = 6
SHELVES: Final = {
    "fridge": (3, 2, 0.12, 0.47),
    "kitchencabinet": (2, 4, 0.06, 0.31),
    "closet": (2, 3, 0.08, 0.42),
    "bathroomcabinet": (2, 3, 0.06, 0.3),
    "microwave": (1, 2, 0.06, 0.0),
    "laundrybasket": (1, 1, 0.34, 0.0),
    "dishbowl": (1, 1, 0.05, 0.0),
    "vase": (1, 1, 0.24, 0.0),
    "toaster": (1, 1, 0.14, 0.0),
    "giftbox": (1, 1, 0.1, 0.0),
}
"""For containers that show their contents: number of shelves, places on each, height of the lowest, distance to the
next."""


def place_of(house: House, situation: Situation, name: str) -> Point:
    """The place of an object in the picture. Objects inside a container are on its shelves."""
    state = situation.things[name]
    drop = _drop_m(house, situation, name)
    if not state.inside or state.support not in situation.things:
        return state.x_m, state.y_m - drop
    holder = situation.things[state.support]
    inside = sorted(n for n, other in situation.things.items() if other.support == state.support and other.inside)
    place = inside.index(name)
    holder_class = class_of(state.support)
    shelves, per_shelf, first, step = SHELVES.get(holder_class, (1, MOST_SHOWN_INSIDE, 0.08, 0.0))
    width = house.things[state.support].width_m - 0.16
    if holder_class == "toaster" and "ON" in holder.values:
        # What is toasted is let down.
        first = 0.03
    column = place // shelves if shelves > 1 else place
    across = holder.x_m - width / 2 + width * (column % per_shelf + 0.5) / per_shelf
    return across, holder.y_m + first + step * (place % shelves) - drop


def fit_scale(house: House, situation: Situation, name: str) -> float:
    """How much smaller an object is drawn, so that it fits on the shelf of what it is in; 1 if it fits."""
    state = situation.things[name]
    holder = class_of(state.support)
    if not state.inside or holder not in SHELVES or holder in STANDING_OUT:
        return 1.0
    _, per_shelf, _, step = SHELVES[holder]
    thing, around = house.things[name], house.things[state.support]
    high = (step or around.height_m * 0.75) - 0.05
    wide = (around.width_m - 0.1) / per_shelf * 1.1
    return min(1.0, high / thing.height_m, max(wide / thing.width_m, 0.55))


def _drop_m(house: House, situation: Situation, name: str) -> float:
    """How much lower an object is drawn, by the lowest of its supports."""
    while (support := situation.things[name].support) in situation.things:
        name = support
    return DROP_M.get(house.things[name].layer, 0.0) if support not in situation.people else 0.0


def drawing_order(house: House, situation: Situation, room: str, layer: str) -> list[str]:
    """Objects of a layer from back to front; a support comes before the objects on it."""
    children: dict[str, list[str]] = {}
    for name, state in situation.things.items():
        if state.room == room and state.support not in situation.people:
            children.setdefault(state.support, []).append(name)
    ordered: list[str] = []

    def add(name: str) -> None:
        closed = "CLOSED" in situation.things[name].values
        shown = [
            child
            for child in sorted(children.get(name, ()))
            if not situation.things[child].inside or (not closed and class_of(name) in SHELVES)
        ]
        behind = [child for child in shown if situation.things[child].inside and class_of(name) in STANDING_OUT]
        for child in behind:
            add(child)
        ordered.append(name)
        for child in shown:
            if child not in behind:
                add(child)

    roots = [n for n in children.get(room, ()) if house.things[n].layer == layer]
    # An object on an object of another layer is drawn with that.
    for name in sorted(roots, key=lambda n: (class_of(n) not in FLAT_CLASSES, n)):
        add(name)
    return ordered


def seats_in_use(situation: Situation) -> frozenset[str]:
    """Seats on which somebody is. They are drawn behind their people."""
    return frozenset(state.seat for state in situation.people.values() if state.seat is not None)
