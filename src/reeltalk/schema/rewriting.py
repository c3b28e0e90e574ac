"""SVBench's rewriting catalogue as data: how a later question may be rewritten so that it rests on a linkage.

Source: arXiv 2502.10810, the per-relation methods of its annotation guide. The methods are facts of the paper; the
words that describe them (`rewriting.toml`) are ours.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.schema.dialogue import Linkage, Turn
from reeltalk.schema.record import Name, Record

CATALOGUE_FILE: Final = Path(__file__).parent / "rewriting.toml"


class RewritingMethod(BaseModel):
    """One way to rewrite the later question of a linkage."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    relation: Name
    """One of `Relation`."""
    ask: str
    """What the rewritten question asks for."""
    skills: tuple[Name, ...]
    """The skills of the nine that it exercises."""


@cache
def catalogue() -> Mapping[str, RewritingMethod]:
    """All methods by name, in the order of their relations."""
    raw = tomllib.loads(CATALOGUE_FILE.read_text(encoding="utf-8"))
    return {
        f"{relation}/{name}": RewritingMethod(name=f"{relation}/{name}", relation=relation, **method)
        for relation, methods in raw.items()
        for name, method in methods.items()
    }


class Rewrite(Record):
    """A draft that puts a linkage's later turn in other words, so that it rests on the earlier one.

    A draft changes no chain: a person accepts or rejects it.
    """

    id: Name
    linkage: Linkage
    method: Name
    """A name of the catalogue."""
    skill: Name
    """One of the nine, or the writer's own."""
    draft: Turn
    coherent: bool
    """True where it agrees with the turns before and after it."""
    problems: tuple[str, ...] = ()
    """Why it does not."""
    writer: Name
    position: Annotated[int, Field(ge=0)] = 0
    """Place among the drafts of its linkage, from 0."""
