"""How many tokens a model counts for a picture, by its family and the size of the picture (`picture_tokens.toml`)."""

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

UNKNOWN: Final = 2048
"""Tokens of a picture for models of no known family."""
ROOM: Final = 1.25
"""What a budget reserves for a picture, in what its family counts: servers may be set up otherwise."""
USUAL_SHAPE: Final = 16 / 9
LARGE_PX: Final = 1920
"""Longer side of a picture that is sent in full."""
_Numbers = Mapping[str, float]


def picture_tokens(model: str, width_px: float, height_px: float) -> int | None:
    """Tokens that a model counts for a picture of a size.

    Args:
        model: Name of the model, as a server knows it.
        width_px: Width of the picture as it is sent.

    Returns:
        None for a model of no known family.
    """
    if (found := _family(model)) is None:
        return None
    rule, numbers = found
    return max(1, math.ceil(_RULES[rule](width_px, height_px, numbers)))


def frame_tokens(model: str, longest_side_px: float | None, *, square: bool = False) -> int:
    """Tokens that a model counts for a frame, of which only the longer side is known; `UNKNOWN` without a family."""
    side = longest_side_px or LARGE_PX
    found = picture_tokens(model, side, side if square else side / USUAL_SHAPE)
    return UNKNOWN if found is None else found


def jpeg_size(jpeg: bytes) -> tuple[int, int] | None:
    """Width and height of a JPEG file by its header; None if it is none."""
    at = 2
    while jpeg.startswith(b"\xff\xd8") and at + 9 <= len(jpeg) and jpeg[at] == 0xFF:
        marker, length = jpeg[at + 1], int.from_bytes(jpeg[at + 2 : at + 4])
        # Frames begin with C0 to CF, but for C4, C8 and CC, which are tables.
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = (int.from_bytes(jpeg[at + start : at + start + 2]) for start in (5, 7))
            return (width, height) if width and height else None
        at += 2 + length
    return None


@lru_cache
def _family(model: str) -> tuple[str, _Numbers] | None:
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["family"]
    small = model.lower().replace("_", "-")
    return next(
        ((row["rule"], row["numbers"]) for row in rows for name in row["names"] if re.search(name, small)), None
    )


def _fitted(width: float, height: float, longest: float) -> tuple[float, float]:
    scale = min(1.0, longest / max(width, height))
    return width * scale, height * scale


def _tiles(width: float, height: float, numbers: _Numbers) -> float:
    width, height = _fitted(width, height, numbers["box"])
    scale = min(1.0, numbers["short"] / min(width, height))
    count = math.ceil(width * scale / numbers["tile"]) * math.ceil(height * scale / numbers["tile"])
    return numbers["base"] + count * numbers["each"]


def _grid(width: float, height: float, numbers: _Numbers) -> float:
    width, height = _fitted(width, height, numbers.get("longest", math.inf))
    cell = numbers["cell"]
    whole = round if "nearest" in numbers else math.ceil
    rows, columns = max(1, whole(height / cell)), max(1, whole(width / cell))
    count = min(max(rows * columns, numbers.get("least", 1)), numbers["most"])
    return (count + rows * numbers.get("break", 0)) * numbers.get("factor", 1.0)


def _area(width: float, height: float, numbers: _Numbers) -> float:
    width, height = _fitted(width, height, numbers["longest"])
    return min(width * height / numbers["cell"], numbers["most"])


def _crops(width: float, height: float, numbers: _Numbers) -> float:
    if max(width, height) <= numbers["small"]:
        return numbers["each"]
    return math.ceil(width / numbers["tile"]) * math.ceil(height / numbers["tile"]) * numbers["each"]


def _best(width: float, height: float, numbers: _Numbers) -> float:
    """The grid whose shape is nearest to the picture's; of equal ones a larger one only if the picture fills half."""
    most, shape = int(numbers["most"]), width / height
    grids = sorted(
        ((columns, rows) for columns in range(1, most + 1) for rows in range(1, most // columns + 1)),
        key=lambda grid: grid[0] * grid[1],
    )
    best, nearest = (1, 1), math.inf
    for columns, rows in grids:
        away = abs(shape - columns / rows)
        fills = width * height > 0.5 * numbers["tile"] ** 2 * columns * rows
        if away < nearest or (away == nearest and fills):
            best, nearest = (columns, rows), away
    count = best[0] * best[1]
    return numbers["each"] * (count + (count > 1))


def _fixed(_width: float, _height: float, numbers: _Numbers) -> float:
    return numbers["each"]


_RULES: Final[Mapping[str, Callable[[float, float, _Numbers], float]]] = {
    "tiles": _tiles,
    "grid": _grid,
    "area": _area,
    "crops": _crops,
    "best": _best,
    "fixed": _fixed,
}
