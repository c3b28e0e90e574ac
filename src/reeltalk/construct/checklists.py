"""Checklists that a model writes: five yes/no items, tried out on the reference answer itself.

A published checklist holds an item that contradicts its own reference (MT-Video-Bench, arXiv 2510.17722). So each list
is judged against the reference before it is used: anything but the expected answers sends it back once.
"""

import re
from collections.abc import Sequence
from typing import Final

from reeltalk.construct.prompting import PromptedModel, numbered, unwritten
from reeltalk.construct.replies import ChecklistReply, SelfCheckReply
from reeltalk.construct.wording import normalised
from reeltalk.construct.writers import Unwritten
from reeltalk.llm import Asked, Message
from reeltalk.schema.dialogue import Checklist, ChecklistItem, Turn

NAMES_THE_REFERENCE: Final = re.compile(
    r"\bground[ -]?truth\b|\b(reference|model|correct|standard|gold)\s+answers?\b|标准答案|参考答案|正确答案|范例回答",
    re.IGNORECASE,
)


def checklist_of(
    writer: PromptedModel, judge: PromptedModel, turn: Turn, history: Sequence[Turn]
) -> Checklist | Unwritten:
    """Five items that the reference answer itself passes.

    Args:
        writer: Writes the items.
        judge: Tries them out on the reference answer.
        turn: What they are for.
        history: The turns before it.

    Raises:
        ModelError: There is no reply to be had.
        BudgetError: A limit would be passed.
    """
    if not turn.references:
        return Unwritten("the turn has no reference answer")
    answer = turn.references[0]
    data = {"history": numbered(history), "question": turn.question, "answer": answer}
    asked = writer.ask("checklist", ChecklistReply, data=data, check=_complaint)
    found = _tried_out(judge, asked, answer)
    earlier: tuple[str, ...] = ()
    if isinstance(found, list):
        earlier = asked.replies
        begun = [
            *writer.opening(),
            Message("user", writer.part("checklist", data)),
            Message("assistant", asked.replies[-1]),
        ]
        again = {"problems": "\n".join(f"- {problem}" for problem in found)}
        asked = writer.ask("checklist_again", ChecklistReply, data=again, before=begun, check=_complaint)
        found = _tried_out(judge, asked, answer)
    if isinstance(found, list):
        found = Unwritten(f"the reference answer itself fails the checklist: {'; '.join(found)}", asked.replies)
    return Unwritten(found.reason, (*earlier, *found.replies)) if isinstance(found, Unwritten) else found


def _tried_out(judge: PromptedModel, asked: Asked[ChecklistReply], answer: str) -> Checklist | Unwritten | list[str]:
    """The checklist, or why there is none, or on which items the reference answer does not do as expected."""
    if asked.record is None:
        return unwritten(asked)
    items = asked.record.items
    listed = "\n".join(f"{number}. {item.question}" for number, item in enumerate(items, start=1))
    tried = judge.ask("checklist_self_check", SelfCheckReply, data={"answer": answer, "items": listed})
    if tried.record is None:
        reason = f"the checklist could not be tried out on the reference answer: {unwritten(tried).reason}"
        return Unwritten(reason, (*asked.replies, *tried.replies))
    problems = [
        f"{item.question} (expected {item.expected}, got {got})"
        for item, got in zip(items, tried.record.answers, strict=True)
        if item.expected != got
    ]
    return problems or Checklist(
        items=tuple(ChecklistItem(question=item.question, expected=item.expected == "Yes") for item in items)
    )


def _complaint(reply: ChecklistReply) -> str | None:
    if len({normalised(item.question) for item in reply.items}) < len(reply.items):
        return "two of the items ask the same"
    for item in reply.items:
        if found := NAMES_THE_REFERENCE.search(item.question):
            return f"an item speaks of {found[0]!r}, which the judge does not see"
    return None
