"""Light: the day at the windows, lamps, and darkness, as factors of brightness of every pixel."""

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from reeltalk.language.vocabulary import class_of
from reeltalk_household.world.house import House
from reeltalk_household.world.shots import CameraShot
from reeltalk_household.world.situation import Situation

LAMPS: Final = {"floorlamp": 0.5, "tablelamp": 0.42, "candle": 0.25}
"""Classes of lamps, and how much their light adds."""
CEILING: Final = "lightswitch"
WARM: Final = (1.0, 0.87, 0.62)
_DAY: Final = (1.0, 1.0, 1.0)
_DAY_OFF: Final = (0.74, 0.76, 0.82)
_EVENING_CEILING: Final = (0.97, 0.93, 0.84)
_EVENING_LAMP: Final = (0.78, 0.75, 0.74)
_EVENING_OFF: Final = (0.42, 0.45, 0.6)

Lamp = tuple[float, float, float]
"""x and y in metres, and strength."""


def lamps_on(house: House, situation: Situation, room: str) -> tuple[Lamp, ...]:
    """The lamps that are lit in a room."""
    found = []
    for name, state in situation.things.items():
        kind = class_of(name)
        if kind in LAMPS and state.room == room and ("ON" in state.values or "LIT" in state.values):
            found.append((state.x_m, state.y_m + house.things[name].height_m * 0.8, LAMPS[kind]))
    return tuple(found)


def ceiling_on(situation: Situation, room: str) -> bool:
    """Whether the light of the ceiling is on in a room."""
    return any(
        state.room == room and "ON" in state.values and class_of(name) == CEILING
        for name, state in situation.things.items()
    )


@lru_cache(maxsize=64)
def light_factors(
    light: str, ceiling: bool, lamps: tuple[Lamp, ...], shot: CameraShot, width_px: int, height_px: int
) -> NDArray[np.float32] | None:
    """Factors of brightness, (H, W, 3); None if nothing changes."""
    if light == "day":
        base = _DAY if ceiling else _DAY_OFF
    else:
        base = _EVENING_CEILING if ceiling else _EVENING_LAMP if lamps else _EVENING_OFF
    if base == _DAY:
        return None
    factors = np.empty((height_px, width_px, 3), np.float32)
    factors[:] = base
    scale = width_px / shot.width_m
    x = shot.left_m + (np.arange(width_px, dtype=np.float32) + 0.5) / scale
    y = shot.bottom_m + (height_px - np.arange(height_px, dtype=np.float32) - 0.5) / scale
    if light == "evening" and ceiling:
        # Walls are a little darker far from the middle of the room.
        fall = 1 - 0.14 * ((x[None] - 3.2) / 3.2) ** 2 - 0.05 * ((y[:, None] - 2.0) / 2.0) ** 2
        factors *= np.clip(fall, 0.75, 1.0)[:, :, None]
    for lamp_x, lamp_y, strength in lamps:
        near = np.exp(-(((x[None] - lamp_x) / 2.4) ** 2 + ((y[:, None] - lamp_y) / 1.7) ** 2))
        share = strength * (0.4 if ceiling or light == "day" else 0.85)
        factors += (near * share)[:, :, None] * np.array(WARM, np.float32)
    return np.minimum(factors, np.array([1.06, 1.02, 0.96], np.float32))
