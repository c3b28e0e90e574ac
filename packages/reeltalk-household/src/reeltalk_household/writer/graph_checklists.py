"""Statements of the rounds in a graph's dialogues, and checklists made from them.

A `Statement` says a question and its answer in words that need no other turn; recall, summaries and checklists use it.
A checklist has five yes/no items, four expected Yes and one No, and the reference answer passes it. Its items are of
MT-Video-Bench's kind (arXiv 2510.17722): facts of the answer, and one false fact. Most answers of a graph are a single
fact, which four items ask for in different ways, so an answer earns all points or none. Each item names the expected
value, so an answer without it fails all five.
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
from reeltalk_household.writer.graph_summaries import Told

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
    wrong: str
    """A clause that contradicts it."""
    value: str | None
    """The value alone, for example `on the table`; None if the question is closed or asks for no single value."""


@cache
def statement_forms() -> Mapping[str, StatementForms]:
    """Templates by kind of question."""
    raw = tomllib.loads(STATEMENTS.read_text(encoding="utf-8"))
    return {kind: StatementForms.model_validate(forms) for kind, forms in raw.items()}


def statement_of(question: Question, *, other: str = "something else entirely") -> Statement:
    """The statement that a question and its answer make.

    Args:
        question: A question about one scene.
        other: Replaces the right value in the contradicting clause if the question has no distractors.
    """
    forms = statement_forms()[question.kind]
    positive = question.key != "no" or forms.denies is None
    says = forms.says if positive else forms.denies or ""
    wrong = forms.wrong or (forms.denies if positive else forms.says) or ""
    slots = dict(question.slots) | {"wrong": question.distractors[0] if question.distractors else other}
    slots["wrong"] = slots["wrong"].removeprefix("because ")
    if "had" in slots:
        subject, _, done = slots["had"].partition(" have ")
        if subject == "{he}":
            # The clause begins with whom it is about, so the name comes first and the pronoun later.
            subject, slots["who"] = slots["who"], slots["he"]
        slots |= {"would": f"{subject} would have {done}", "would_not": f"{subject} would not have {done}"}
    clause = _clause(says, slots)
    value = slots.get("option") or slots.get("list") if forms.denies is None else None
    # "The red one" of a question with two mugs is "the red mug" in the clause.
    known = value is not None and _holds(clause, value.removeprefix("because "))
    return Statement(
        about=_clause(forms.about, slots),
        says=clause,
        wrong=_clause(wrong, slots),
        value=value.removeprefix("because ") if known and value is not None else None,
    )


def _clause(form: str, slots: Mapping[str, str]) -> str:
    return fill_form(form, slots, named=True)


FORMS: Final = Path(__file__).parent / "checklists.toml"
SUMMED_UP: Final = 4
"""Facts of a summary that its checklist asks for."""
YES_ITEMS: Final = 4
"""Items that a right answer meets with Yes (MT-Video-Bench)."""


@dataclass(frozen=True)
class GraphRound:
    """A round of a dialogue, and the facts for its checklist."""

    turn: Turn
    says: tuple[Statement, ...] = ()
    """Statements about the video that it makes, or repeats from earlier rounds."""
    topic: Topic | None = None
    told: tuple[Told, ...] = ()
    """Clauses of a summary, in its order."""


@cache
def item_forms() -> dict[str, Any]:
    """Templates of the items."""
    return dict(tomllib.loads(FORMS.read_text(encoding="utf-8")))


def graph_checklist(made: GraphRound) -> Checklist | Unwritten:
    """The checklist of a round, or the reason why its reference answer would not pass one."""
    forms, kind = item_forms(), str(made.turn.extra.get("kind"))
    reference = made.turn.references[0]
    if made.topic is not None:
        slots = made.topic.model_dump() | {"question": phrases.sentence(made.topic.question)}
        yes = [form.format(**slots) for form in forms["topic"]["items"]]
        no = forms["topic"]["wrong"].format(**slots)
        needed, forbidden = [made.topic.value], [made.topic.wrong]
    elif made.told:
        last = len(made.told) - 1
        picked = [made.told[n * last // (SUMMED_UP - 1)] for n in range(SUMMED_UP)]
        yes = [
            forms["sums_up_of" if one.subject else "sums_up"].format(about=one.subject, says=one.predicate)
            for one in picked
        ]
        no = forms["leaves_out"].format(says=picked[-1].predicate, wrong=NOTHING_TOLD)
        needed, forbidden = [one.predicate for one in picked], [NOTHING_TOLD]
    elif len(made.says) > 1:
        yes, no = _about_two(made)
        needed, forbidden = [said.says for said in made.says], [made.says[0].wrong]
    else:
        (said,) = made.says
        yes, no = _about_one(made, said, kind)
        needed, forbidden = [said.says], [said.wrong] if kind not in CHAT else []
    for clause in needed:
        if not _holds(reference, clause):
            return Unwritten(f"the reference answer does not say that {clause}")
    for clause in forbidden:
        if _holds(reference, clause):
            return Unwritten(f"the reference answer says what its checklist forbids, that {clause}")
    items = [ChecklistItem(question=_asked(text), expected=True) for text in dict.fromkeys(yes)]
    if len(items) < YES_ITEMS:
        return Unwritten(f"only {len(items)} different facts to ask for")
    return Checklist(items=(*items, ChecklistItem(question=_asked(no), expected=False)))


CHAT: Final = ("neutral", "need")
"""Kinds of rounds in which the user asks nothing."""
NOTHING_TOLD: Final = "nothing at all happens"
"""What no right summary says."""


def _about_two(made: GraphRound) -> tuple[list[str], str]:
    """The items of a round that recalls two facts."""
    forms = item_forms()["two"]
    numbers = re.findall(r"round (\d+)", made.turn.references[0])
    items = [
        form.format(says=said.says, number=number)
        for said, number in zip(made.says, numbers, strict=True)
        for form in forms["items"]
    ]
    return items, forms["wrong"].format(says=made.says[0].says, wrong=made.says[0].wrong)


def _about_one(made: GraphRound, said: Statement, kind: str) -> tuple[list[str], str]:
    """The items that expect Yes, and the one that expects No, of a round about a single fact."""
    forms = item_forms()
    number = re.search(r"round (\d+)", made.turn.references[0])
    slots = {"says": said.says, "about": said.about, "wrong": said.wrong, "number": number[1] if number else "1"}
    slots["value"] = said.value or ""
    # The answer to "how does he clean it" is an object, the tool.
    answer_type = "object" if kind == "how_clean" else str(made.turn.extra.get("answer_type"))
    sort = {"recall": "recall", "recall_first": "recall", "neutral": "neutral", "need": "neutral"}.get(kind)
    sort = sort or ("premise" if answer_type == "refusal" else None)
    if sort is not None:
        due, no = forms[sort]["items"], forms[sort].get("wrong", forms["wrong"])
    else:
        no = forms["wrong"]
        if answer_type == "yes_no":
            own = (forms["closed"][str(made.turn.extra.get("answer_key"))], forms["settles"])
        elif said.value is not None and answer_type in forms["value"]:
            own = (forms["value"][answer_type], forms["namely"])
        else:
            own = (forms["open"]["says"], forms["settles"])
        due = (forms["says"], *own, forms["rather"])
    return [form.format(**slots) for form in due], no.format(**slots)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _holds(text: str, clause: str) -> bool:
    return f" {_plain(clause)} " in f" {_plain(text)} "


def _asked(text: str) -> str:
    return phrases.sentence(text)
