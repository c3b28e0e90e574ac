"""Art styles: how a house is drawn. Styles change the drawing, never a fact; the pools of the splits share none."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from reeltalk_household.world.canvas import Colour, Manner


@dataclass(frozen=True)
class Style:
    """An art style."""

    manner: Manner
    """How shapes are drawn."""
    walls: tuple[str, ...] = ("plain", "stripes", "panel")
    """Patterns of walls: plain, stripes, dots, panel, diamonds, bricks or leaves; a room has one of them."""
    boards: tuple[str, ...] = ("boards",)
    """Patterns of wooden floors: boards, herringbone or plain."""
    texture: str | None = None
    """paper, wash or grain: a structure that lies over the picture."""
    pixels: int = 1
    """Edge of the squares of which the picture consists, for a picture that is 640 pixels wide."""
    wall_tint: Colour | None = None
    """Colour that walls and floors are mixed with, and its share."""
    tint_share: float = 0.0
    shadows: bool = False
    """Whether things that stand on the floor throw a soft shadow."""


STYLES: Final[Mapping[str, Style]] = {
    "flat": Style(Manner(outline="shade", form="straight")),
    "ink": Style(Manner(outline="ink", line=1.35, form="round"), walls=("plain", "panel", "diamonds"), texture=None),
    "pastel": Style(
        Manner(outline="none", lift=0.1, saturation=0.95, form="round"),
        walls=("plain", "dots", "leaves"),
        boards=("plain", "herringbone"),
        shadows=True,
    ),
    "paper": Style(
        Manner(outline="light", line=0.85, form="straight"),
        walls=("plain", "stripes", "leaves"),
        texture="paper",
        shadows=True,
    ),
    "pixel": Style(
        Manner(outline="ink", line=0.8, smooth=False, form="straight"),
        walls=("plain", "bricks", "dots"),
        pixels=2,
    ),
    "night": Style(
        Manner(outline="shade", line=1.2, saturation=1.1, form="slim"),
        walls=("plain", "diamonds", "stripes"),
        boards=("herringbone",),
        wall_tint=(46, 60, 92),
        tint_share=0.62,
    ),
    "wash": Style(
        Manner(outline="shade", line=0.8, lift=0.05, saturation=1.1, form="slim"),
        walls=("plain", "leaves", "stripes"),
        boards=("plain",),
        texture="wash",
    ),
    "crayon": Style(
        Manner(outline="ink", line=1.1, wobble=0.012, form="round"),
        walls=("plain", "stripes", "bricks", "panel"),
        texture="grain",
    ),
}
"""Styles by name."""

SPLIT_STYLES: Final[Mapping[str, tuple[str, ...]]] = {
    "train": ("flat", "ink", "pastel", "paper", "pixel"),
    "dev": ("night",),
    "test": ("wash", "crayon"),
}
"""The styles of the houses of each split."""


@lru_cache(maxsize=8)
def texture(name: str, width_px: int, height_px: int) -> NDArray[np.float32]:
    """The structure of a style, as factors of brightness around 1, (H, W, 1)."""
    draw = np.random.Generator(np.random.PCG64(20_28))
    fine = draw.standard_normal((height_px, width_px)).astype(np.float32)
    unit = width_px / 640

    def soft(sigma: float, seed_rows: int) -> NDArray[np.float32]:
        rows, columns = max(4, height_px // seed_rows), max(4, width_px // seed_rows)
        coarse = draw.standard_normal((rows, columns)).astype(np.float32)
        wide = cv2.resize(coarse, (width_px, height_px), interpolation=cv2.INTER_CUBIC)
        return np.asarray(cv2.GaussianBlur(wide, (0, 0), sigma * unit), np.float32)

    def even(noise: NDArray[np.float32]) -> NDArray[np.float32]:
        """With a standard deviation of 1, whatever the size of the picture."""
        return np.asarray(noise / noise.std(), np.float32)

    if name == "paper":
        # Fibres: noise that is blurred along each axis.
        along = cv2.GaussianBlur(fine, (0, 0), sigmaX=2.2 * unit, sigmaY=0.5)
        across = cv2.GaussianBlur(fine[:, ::-1], (0, 0), sigmaX=0.5, sigmaY=2.2 * unit)
        map_ = 0.985 + 0.028 * even(np.asarray(along + across))
    elif name == "wash":
        blots, drops = soft(8.0, round(60 * unit)), soft(1.5, max(1, round(9 * unit)))
        map_ = 0.975 + 0.012 * even(blots) + 0.008 * even(drops) + 0.008 * fine
    elif name == "grain":
        map_ = 0.98 + 0.02 * even(np.asarray(cv2.GaussianBlur(fine, (0, 0), max(0.5, 0.9 * unit))))
    else:
        raise ValueError(f"{name!r} is no texture; known: paper, wash, grain")
    return np.asarray(map_[:, :, None], np.float32)
