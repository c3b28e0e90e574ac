"""Colours of the drawings, and how they are made lighter and darker."""

from typing import Final

from reeltalk.world.kinds import COLOURS

Colour = tuple[int, int, int]

WOOD: Final = {"brown": (146, 100, 64), "white": (236, 232, 222), "black": (66, 62, 64)}
METAL: Final = (186, 190, 196)
STEEL: Final = (156, 162, 170)
DARK: Final = (62, 64, 70)
INK: Final = (74, 66, 62)
GLASS: Final = (206, 228, 236)
WATER: Final = (120, 180, 220)
PORCELAIN: Final = (246, 246, 242)
SCREEN_OFF: Final = (40, 42, 48)
GLOW: Final = (255, 236, 160)
SKY: Final = (176, 216, 240)
LEAF: Final = (86, 146, 84)


def named(colour: str | None, default: Colour = METAL) -> Colour:
    """RGB of a colour's name."""
    return COLOURS.get(colour, default) if colour else default


def wood(colour: str | None) -> Colour:
    """RGB of painted or plain wood."""
    return WOOD.get(colour or "brown") or named(colour)


def shade(colour: Colour, by: float) -> Colour:
    """Darker by a share where `by` is negative, lighter where it is positive."""
    r, g, b = ((c + (255 - c) * by) if by > 0 else c * (1 + by) for c in colour)
    return (round(r), round(g), round(b))
