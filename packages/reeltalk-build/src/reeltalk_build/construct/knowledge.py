"""Facts of general knowledge that a user may ask for in between, when a dialogue leaves the video (topic shifting).

The facts are written as families of a form and rows (`knowledge.toml`), so that each one can be asked for directly, and
as a clause after openings such as *Do you know*. They are divided among the splits.
"""

import tomllib
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from reeltalk.language.grammar import split_of_form

KNOWLEDGE: Final = Path(__file__).parent / "knowledge.toml"


class Topic(BaseModel):
    """A question of general knowledge. Texts are clauses, without a capital or a full stop."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    family: str
    """What sort of fact it is, for example `capital`."""
    question: str
    about: str
    """The question as a clause, after *Do you know*."""
    answer: str
    value: str
    """What a right answer names."""
    wrong: str
    """What a wrong answer may name."""


class _Family(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: str
    question: str
    about: str
    answer: str
    rows: str

    def topics(self, name: str) -> list[Topic]:
        found = []
        for row in self.rows.strip().splitlines():
            *given, value, wrong = (cell.strip() for cell in row.split("|"))
            slots = dict(zip(self.columns.split(), given, strict=True)) | {"value": value}
            texts = (form.format(**slots) for form in (self.question, self.about, self.answer))
            found.append(Topic(family=name, **dict(zip(("question", "about", "answer"), texts, strict=True)),
                               value=value, wrong=wrong))  # fmt: skip
        return found


@cache
def topics(split: str | None = None) -> tuple[Topic, ...]:
    """All facts, or those of a split."""
    raw = tomllib.loads(KNOWLEDGE.read_text(encoding="utf-8"))
    every = [topic for name, family in raw.items() for topic in _Family.model_validate(family).topics(name)]
    return tuple(topic for n, topic in enumerate(every) if split is None or split_of_form(n) == split)
