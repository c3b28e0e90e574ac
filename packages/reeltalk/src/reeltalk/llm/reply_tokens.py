"""How long a reply of a model may be: its answer, and its thoughts if it thinks first (`reply_tokens.toml`)."""

import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

ANSWER: Final = 2048
"""Tokens of an answer without thoughts."""


def longest_reply(model: str) -> int:
    """Most tokens of a reply of a model: 2,048, and room for thoughts for a model of a family that thinks.

    Args:
        model: Name of the model, as a server knows it.
    """
    small = model.lower().replace("_", "-")
    if any(re.search(name, small) for name in _table()["never"]):
        return ANSWER
    thinks = (row["thinks"] for row in _table()["family"] for name in row["names"] if re.search(name, small))
    return ANSWER + next(thinks, 0)


@lru_cache
def _table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
