"""Statements of the rounds in a graph's dialogues, and checklists made from them.

A `Statement` says a question and its answer in words that need no other turn; recall and checklists use it. A checklist
has yes/no items, one of which expects No (MT-Video-Bench, arXiv 2510.17722), and the reference answer passes it. Each
item asks for one fact, and no two ask for the same: an answer that gives one value has one item for it. The item that
expects No is for answers that say something else or nothing.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from reeltalk.language import phrases
from reeltalk.schema.dialogue import Checklist, ChecklistItem, Turn
from reeltalk_build.construct.knowledge import Topic
from reeltalk_build.construct.writers import Unwritten
from reeltalk_household.questions.question import Question
from reeltalk_household.questions.wording import fill_form
from reeltalk_household.writer.graph_summaries import Sentence

STATEMENTS: Final = Path(__file__).parent / "statements.toml"


class StatementForms(BaseModel):
    """Templates of the clauses for one kind of question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    about: str
    says: str
    denies: str | None = None
    wrong: str | None = None


@dataclass(frozen=True)
class Statement:
    """An answer as a complete clause."""

    about: str
    """The question as a clause, for example `where the person puts the mug`."""
    says: str
    """The answer, for example `the person puts the mug on the table`."""
    wrong: str | None
    """A clause that contradicts it; None if nothing in the video could be taken for the answer."""
    value: str | None = None
    """What the answer adds to the question, for example `on the table`; None if that is more than one value."""


@cache
def statement_forms() -> Mapping[str, StatementForms]:
    """Templates by kind of question."""
    raw = tomllib.loads(STATEMENTS.read_text(encoding="utf-8"))
    return {kind: StatementForms.model_validate(forms) for kind, forms in raw.items()}


def statement_of(question: Question, *, other: str | None) -> Statement:
    """The statement that a question and its answer make.

    Args:
        question: A question about one scene.
        other: Replaces the right value in the contradicting clause if the question has no distractors.
    """
    forms = statement_forms()[question.kind]
    positive = question.key != "no" or forms.denies is None
    says = forms.says if positive else forms.denies or ""
    contrary = forms.wrong or (forms.denies if positive else forms.says) or ""
    slots = dict(question.slots)
    if (wrong := question.distractors[0] if question.distractors else other) is not None:
        slots["wrong"] = wrong.removeprefix("because ")
    if "had" in slots:
        subject, _, done = slots["had"].partition(" have ")
        if subject == "{he}":
            # The clause begins with whom it is about, so the name comes first and the pronoun later.
            subject, slots["who"] = slots["who"], slots["he"]
        slots |= {"would": f"{subject} would have {done}", "would_not": f"{subject} would not have {done}"}
    known = "{wrong}" not in contrary or "wrong" in slots
    return Statement(
        about=_clause(forms.about, slots),
        says=_clause(says, slots),
        wrong=_clause(contrary, slots) if known else None,
        value=next((slots[name] for name in VALUES.get(question.answer_type, "").split() if name in slots), None),
    )


VALUES: Final = {
    "place": "place", "room": "room", "count": "times n", "action": "next purpose why way", "colour": "colour value",
    "object": "o", "list": "list", "seconds": "n", "person": "option", "feeling": "feeling", "utterance": "says",
    "choice": "posture state light value reply",
}  # fmt: skip
"""By type of answer, the slots that may hold its value."""


def _clause(form: str, slots: Mapping[str, str]) -> str:
    return fill_form(form, slots, named=True)


FORMS: Final = Path(__file__).parent / "checklists.toml"


@dataclass(frozen=True)
class GraphRound:
    """A round of a dialogue, and the facts for its checklist."""

    turn: Turn
    says: tuple[Statement, ...] = ()
    """Statements about the video that it makes, or repeats from earlier rounds."""
    topic: Topic | None = None
    summary: tuple[Sentence, ...] = ()
    """A summary, in its order."""


@cache
def item_forms() -> dict[str, Any]:
    """Templates of the items."""
    return dict(tomllib.loads(FORMS.read_text(encoding="utf-8")))


def graph_checklist(made: GraphRound) -> Checklist | Unwritten:
    """The checklist of a round, or the reason why its reference answer would not pass one."""
    reference = made.turn.references[0]
    items, wrong, slots = _items(made)
    if wrong is None or not items:
        return Unwritten("nothing in the video could be taken for the answer")
    yes = list(dict.fromkeys(phrases.sentence(form.format(**given)) for form, given, _ in items))
    for _, _, due in items:
        if not _holds(reference, due):
            return Unwritten(f"the reference answer does not say {due!r}")
    if slots.get("wrong") and _holds(reference, slots["wrong"]):
        return Unwritten(f"the reference answer says what its checklist forbids, {slots['wrong']!r}")
    found = [ChecklistItem(question=text, expected=True) for text in yes]
    return Checklist(items=(*found, ChecklistItem(question=phrases.sentence(wrong.format(**slots)), expected=False)))


Item = tuple[str, Mapping[str, str], str]
"""A form, its slots, and the words of the answer that meet it."""


def _items(made: GraphRound) -> tuple[list[Item], str | None, Mapping[str, str]]:
    """The items that expect Yes, and the form and slots of the one that expects No; None if there is none."""
    forms, kind = item_forms(), str(made.turn.extra.get("kind"))
    items: list[Item]
    if made.topic is not None:
        slots = {"value": made.topic.value, "wrong": made.topic.wrong}
        return [(forms["topic"], slots, made.topic.value)], forms["not_topic"], slots
    if made.summary:
        facts = [pair for one in made.summary for pair in zip(one.facts, one.predicates, strict=True)]
        items = [(forms["tells"], {"says": fact}, predicate) for fact, predicate in facts]
        return items, forms["leaves_out"], {"about": made.summary[0].subject}
    if kind == "remark":
        items = [(forms["brings_up"], {"says": said.says}, said.says) for said in made.says]
        return [*items, (forms["asks"], {}, "?")], forms["turns_away"], {}
    if kind == "sound":
        return [(forms["sound"], {}, made.says[0].says)], forms["not_sound"], {}
    said = made.says[0]
    slots = {"about": said.about, "wrong": said.wrong or ""}
    no = forms["wrong"] if said.wrong is not None else None
    if "recalls" in made.turn.extra:
        numbers = re.findall(r"round (\d+)", made.turn.references[0])
        items = [(forms["says"], {"says": one.says}, one.says) for one in made.says]
        items += [(forms["round"], {"number": number}, f"round {number}") for number in numbers]
        return items, no, slots
    if made.turn.extra.get("answer_type") == "refusal":
        items = [(forms["denies"], {"wrong": said.wrong or ""}, said.says)]
        if said.value is not None:
            items.append((forms["instead"], {"value": said.value}, said.value))
        return items, forms["goes_along"], slots
    key = str(made.turn.extra.get("answer_key"))
    if made.turn.extra.get("answer_type") == "yes_no":
        return [(forms["closed"][key], {"about": said.about}, key)], no, slots
    value = said.value or said.says
    return [(forms["value"][str(made.turn.extra.get("answer_type"))], {"value": value}, value)], no, slots


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+|\?", text.casefold()))


def _holds(text: str, clause: str) -> bool:
    return f" {_plain(clause)} " in f" {_plain(text)} "
