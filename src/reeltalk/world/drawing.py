"""How each class of objects looks: one function a class, in flat colours a person reads at a glance.

A painter gets the canvas, the lower left corner and size of the object in metres, its main colour and its states. There
is a module of them for kitchens, one for the other rooms, and one for what is carried.
"""

from collections.abc import Callable
from typing import Final

from reeltalk.video.canvas import Canvas
from reeltalk.world.kinds import KINDS
from reeltalk.world.painters_kitchen import KITCHEN
from reeltalk.world.painters_rooms import ROOMS
from reeltalk.world.painters_things import THINGS

Painter = Callable[[Canvas, float, float, float, float, str | None, frozenset[str]], None]

PAINTERS: Final[dict[str, Painter]] = {**KITCHEN, **ROOMS, **THINGS}


def paint(canvas: Canvas, class_name: str, x_m: float, y_m: float, colour: str | None, values: frozenset[str]) -> None:
    """Draw an object.

    Args:
        canvas: What to draw on, in metres.
        class_name: Its class.
        x_m: Middle of its lower edge.
        y_m: Height of its lower edge.
        colour: Name of its colour, where it has one.
        values: Its states.
    """
    kind = KINDS[class_name]
    PAINTERS[class_name](canvas, x_m - kind.width_m / 2, y_m, kind.width_m, kind.height_m, colour, values)
