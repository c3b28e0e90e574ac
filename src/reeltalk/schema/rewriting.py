"""SVBench's rewriting catalogue as data: how a later question may be rewritten so that it rests on a linkage.

Source: arXiv 2502.10810, appendix C: 31 methods by relation. The methods are facts of the paper; the words that
describe them (`rewriting.toml`) are ours, and so are the methods that are marked so.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.schema.dialogue import Linkage, Turn
from reeltalk.schema.record import Name, Record

RESTS_ON: Final = "rests_on"
"""In a linkage's `extra`: what both turns share, as its writer found it."""
CATALOGUE_FILE: Final = Path(__file__).parent / "rewriting.toml"


class RewritingMethod(BaseModel):
    """One way to rewrite the later question of a linkage."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    relation: Name
    """One of `Relation`."""
    case: Literal["same", "different"] | None = None
    """Whether both turns must be about the same action, person or thing; None if that does not matter."""
    ask: str
    """What the rewritten question asks for."""
    deeper: str | None = None
    """What it asks for beyond that."""
    skill: Name
    """The one of the nine skills that such a question exercises."""
    kinds: tuple[Name, ...] = ()
    """Kinds of questions about two scenes by which a graph asks for it; none if no graph can."""
    ours: bool = False
    """True for a method that the paper does not have."""


@cache
def catalogue() -> Mapping[str, RewritingMethod]:
    """All methods by name, in the order of their relations."""
    raw = tomllib.loads(CATALOGUE_FILE.read_text(encoding="utf-8"))
    return {
        f"{relation}/{name}": RewritingMethod(name=f"{relation}/{name}", relation=relation, **method)
        for relation, methods in raw.items()
        for name, method in methods.items()
    }


def published_methods() -> Mapping[str, RewritingMethod]:
    """SVBench's own methods by name, without ours."""
    return {name: method for name, method in catalogue().items() if not method.ours}


class Rewrite(Record):
    """A draft that puts a linkage's later turn in other words, so that it rests on the earlier one.

    A draft changes no chain: a person accepts or rejects it.
    """

    id: Name
    linkage: Linkage
    method: Name
    """A name of the catalogue."""
    skill: Name
    """The method's, or a person's own."""
    draft: Turn
    """The whole turn that stands in place of the later one on a path that comes along the linkage."""
    coherent: bool
    """True if it stands without the turns of its own chain before it, the next turn still makes sense after it, and
    it tells the answer to no turn that follows."""
    problems: tuple[str, ...] = ()
    """Why it does not."""
    writer: Name
    position: Annotated[int, Field(ge=0)] = 0
    """Place among the drafts of its linkage, from 0."""
