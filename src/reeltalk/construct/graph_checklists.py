"""Checklists from a graph: five yes/no items, four expected Yes and one No, that the reference answer itself passes.

The items are MT-Video-Bench's in kind (arXiv 2510.17722): atomic facts of the answer and one that contradicts it.
"""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

from reeltalk.construct.graph_dialogues import Round
from reeltalk.construct.statements import Statement
from reeltalk.construct.writers import Unwritten
from reeltalk.graph import phrases
from reeltalk.schema.dialogue import Checklist, ChecklistItem

FORMS: Final = Path(__file__).parent / "checklists.toml"
SUMMED_UP: Final = 4
"""Facts of a summary that its checklist asks for."""


@cache
def item_forms() -> dict[str, Any]:
    """The words of the items."""
    return dict(tomllib.loads(FORMS.read_text(encoding="utf-8")))


def checklist_of(made: Round) -> Checklist | Unwritten:
    """The checklist of a round, or why its reference answer would not pass one."""
    forms, kind = item_forms(), str(made.turn.extra.get("kind"))
    reference = made.turn.references[0]
    if made.topic is not None:
        slots = {"value": made.topic.value, "question": made.topic.question, "wrong": made.topic.wrong}
        yes = [form.format(**slots) for form in forms["topic"]["items"]]
        no = forms["topic"]["wrong"].format(**slots)
        needed, forbidden = [made.topic.value], [made.topic.wrong]
    elif kind == "summary":
        picked = made.says if len(made.says) <= SUMMED_UP else made.says[:: len(made.says) // SUMMED_UP][:SUMMED_UP]
        yes = [forms["says"].format(says=one.says) for one in picked]
        no = forms["wrong"].format(wrong=made.says[-1].wrong)
        needed, forbidden = [one.says for one in picked], [made.says[-1].wrong]
    else:
        (said,) = made.says
        yes, no = _about_one(made, said, kind)
        needed, forbidden = [said.says], [said.wrong] if kind != "neutral" else []
    for clause in needed:
        if not _holds(reference, clause):
            return Unwritten(f"the reference answer does not say that {clause}")
    for clause in forbidden:
        if _holds(reference, clause):
            return Unwritten(f"the reference answer says what its checklist forbids, that {clause}")
    items = [ChecklistItem(question=_asked(text), expected=True) for text in yes[:4]]
    if len(items) < 4 or len({item.question for item in items}) < 4:
        return Unwritten(f"only {len(items)} different facts to ask for")
    return Checklist(items=(*items, ChecklistItem(question=_asked(no), expected=False)))


def _about_one(made: Round, said: Statement, kind: str) -> tuple[list[str], str]:
    forms = item_forms()
    number = re.search(r"round (\d+)", made.turn.references[0])
    slots = {"says": said.says, "about": said.about, "number": number[1] if number else "1"}
    if kind in ("recall", "recall_first", "neutral"):
        part = forms["neutral" if kind == "neutral" else "recall"]
        no = part.get("wrong") or forms["wrong"].format(wrong=said.wrong)
        return [form.format(**slots) for form in part["items"]], no
    answer_type = str(made.turn.extra.get("answer_type"))
    if answer_type == "refusal":
        return [f.format(**slots) for f in forms["refusal"]["items"]], forms["wrong"].format(wrong=said.wrong)
    key = str(made.turn.extra.get("answer_key"))
    second = forms["closed"].get(key) if answer_type == "yes_no" else None
    if second is None and said.value is not None and answer_type in forms["value"]:
        second = forms["value"][answer_type].format(value=said.value)
    yes = [
        forms["says"].format(says=said.says),
        second or "Does the answer state its claim as a fact, without hedging?",
        forms["about"].format(about=said.about),
        forms["alone"].format(about=said.about),
    ]
    return yes, forms["wrong"].format(wrong=said.wrong)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _holds(text: str, clause: str) -> bool:
    return f" {_plain(clause)} " in f" {_plain(text)} "


def _asked(text: str) -> str:
    return phrases.sentence(text)
