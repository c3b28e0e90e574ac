"""What a question and its answer say, in words that need no other turn: for recall, summaries and checklists."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from reeltalk.graph import phrases
from reeltalk.questions.question import Question
from reeltalk.questions.wording import fill

STATEMENTS: Final = Path(__file__).parent / "statements.toml"


class StatementForms(BaseModel):
    """The words for one kind of question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    about: str
    says: str
    denies: str | None = None
    wrong: str | None = None


@dataclass(frozen=True)
class Statement:
    """An answer as a clause of its own."""

    about: str
    """What was asked, as `where the person puts the mug`."""
    says: str
    """The answer, as `the person puts the mug on the table`."""
    wrong: str
    """A clause that contradicts it."""
    value: str | None
    """What it comes down to, as `on the table`; None where the question is closed or asks for no single value."""


@cache
def statement_forms() -> Mapping[str, StatementForms]:
    """Forms by kind of question."""
    raw = tomllib.loads(STATEMENTS.read_text(encoding="utf-8"))
    return {kind: StatementForms.model_validate(forms) for kind, forms in raw.items()}


def statement(question: Question, *, other: str = "something else entirely") -> Statement:
    """What a question and its answer say.

    Args:
        question: A question about one scene.
        other: What takes the place of the right value in the contradicting clause, where the question has no
            distractors.
    """
    forms = statement_forms()[question.kind]
    positive = question.key != "no" or forms.denies is None
    says = forms.says if positive else forms.denies or ""
    wrong = forms.wrong or (forms.denies if positive else forms.says) or ""
    slots = dict(question.slots) | {"wrong": question.distractors[0] if question.distractors else other}
    return Statement(
        about=_clause(forms.about, slots),
        says=_clause(says, slots),
        wrong=_clause(wrong, slots),
        value=slots.get("option") or slots.get("list") if forms.denies is None else None,
    )


def _clause(form: str, slots: Mapping[str, str]) -> str:
    return fill(form, slots, named=True)


def told_together(says: Sequence[str]) -> str:
    """Several clauses as sentences."""
    return " ".join(phrases.sentence(f"{clause}.") for clause in says)
