"""Classes of objects: their sizes, the actions that they allow, and their looks and colours."""

from dataclasses import dataclass
from typing import Final

from reeltalk_household.world.tables import world_table

COLOURS: Final = {
    "red": (204, 48, 46),
    "orange": (238, 132, 36),
    "yellow": (244, 206, 60),
    "green": (78, 156, 76),
    "blue": (54, 108, 200),
    "purple": (134, 76, 176),
    "pink": (242, 130, 178),
    "brown": (130, 84, 48),
    "white": (246, 245, 242),
    "grey": (148, 150, 154),
    "black": (42, 42, 46),
}
"""Names and RGB of colours, as people would name them."""


@dataclass(frozen=True)
class ObjectKind:
    """A class of objects."""

    width_m: float
    height_m: float
    can: frozenset[str] = frozenset()
    """grab, open, switch, sit, lie, read, eat, drink, surface, container, wipe, lookAt, climb, pour, fill, fragile,
    unwrap, play, throw, ring."""
    states: tuple[str, ...] = ("CLEAN",)
    colours: tuple[str, ...] = ()
    """Colours of the objects of this class; empty if they all look the same."""
    top_m: float = 0.0
    """Height of the surface on which objects lie."""


def _kinds() -> dict[str, ObjectKind]:
    return {
        name: ObjectKind(
            row["width_m"],
            row["height_m"],
            frozenset(row.get("can", "").split()),
            tuple(sorted(row.get("states", "CLEAN").split())),
            tuple(row.get("colours", "").split()),
            row.get("top_m", row["height_m"]),
        )
        for name, row in world_table("kinds").items()
    }


KINDS: Final = _kinds()
"""Classes of objects by name, as `kinds.toml` gives them."""

Colour = tuple[int, int, int]

WOOD: Final = {"brown": (138, 90, 52), "white": (244, 242, 236), "black": (50, 48, 52)}
METAL: Final = (186, 190, 196)
INK: Final = (74, 66, 62)
PORCELAIN: Final = (246, 246, 242)
GLOW: Final = (255, 236, 160)
SKY: Final = (176, 216, 240)


def colour_rgb(colour: str | None, default: Colour = METAL) -> Colour:
    """RGB of a named colour."""
    return COLOURS.get(colour, default) if colour else default


def wood(colour: str | None) -> Colour:
    """RGB of painted or plain wood."""
    return WOOD.get(colour or "brown") or colour_rgb(colour)


def shade(colour: Colour, by: float) -> Colour:
    """The colour, darker by a share if `by` is negative, lighter if it is positive."""
    r, g, b = ((c + (255 - c) * by) if by > 0 else c * (1 + by) for c in colour)
    return (round(r), round(g), round(b))
