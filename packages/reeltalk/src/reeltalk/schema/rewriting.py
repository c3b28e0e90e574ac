"""SVBench's rewriting catalogue as data: methods to rewrite a later question so that it builds on a linkage.

Source: arXiv 2502.10810, appendix C: 31 methods by relation. The methods are from the paper. Their
descriptions (`rewriting.toml`) are ours, and so are the methods that are marked.
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
"""Key of a linkage's `extra`: the thing that both turns share, by its writer."""
NEEDS_KEY: Final = "needs"
"""Key of a draft's `extra`: what it cannot be answered without, the earlier `clip` or the earlier `turn`, if known."""
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
    """The content of the rewritten question."""
    deeper: str | None = None
    """The further content of a deeper question."""
    skill: Name
    """The skill of such a question, one of nine."""
    kinds: tuple[Name, ...] = ()
    """Kinds of questions about two scenes by which a graph can ask it; empty if none can."""
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
    """SVBench's methods by name, without ours."""
    return {name: method for name, method in catalogue().items() if not method.ours}


class Rewrite(Record):
    """A draft that rewords a linkage's later turn so that it builds on the earlier one.

    A draft does not change a chain; a person accepts or rejects it.
    """

    id: Name
    linkage: Linkage
    method: Name
    """A name of the catalogue."""
    skill: Name
    """The skill of the method, or one that a person chose."""
    draft: Turn
    """The turn that replaces the later one on a path along the linkage."""
    coherent: bool | None
    """True if a judge finds it right, clear without the skipped turns, and harmless to the next ones; always True from
    a graph. False if a check finds a fault. None if no judge has checked it."""
    problems: tuple[str, ...] = ()
    """What the checks find."""
    writer: Name
    position: Annotated[int, Field(ge=0)] = 0
    """Place among the drafts of its linkage, from 0."""
