"""What the two roles of a collected dialogue are told: rules, types of questions with examples, sample dialogues."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

GUIDE: Final = Path(__file__).parent / "guide.toml"


class QuestionKind(BaseModel):
    """A kind of question with an example."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    example: str


class SampleDialogue(BaseModel):
    """A few turns to learn from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    turns: tuple[tuple[str, str], ...]


class Guide(BaseModel):
    """All of it, in a version."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str
    investigator: tuple[str, ...]
    correspondent: tuple[str, ...]
    types: tuple[QuestionKind, ...]
    samples: tuple[SampleDialogue, ...]


@cache
def guide() -> Guide:
    """The guide that comes with reeltalk."""
    return Guide.model_validate(tomllib.loads(GUIDE.read_text(encoding="utf-8")))
