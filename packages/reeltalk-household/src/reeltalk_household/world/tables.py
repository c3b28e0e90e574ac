"""The files of data beside these modules."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def world_table(name: str) -> dict[str, Any]:
    """The content of `NAME.toml`; do not change it."""
    return tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))
