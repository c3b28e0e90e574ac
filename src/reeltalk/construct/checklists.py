"""Checklists that a model writes: five yes/no items, tried out on the reference answer.

A published checklist has an item that contradicts its own reference (MT-Video-Bench, arXiv 2510.17722). Therefore a
judge applies each new list to the reference answer; if an answer differs from the expected one, the list is sent back
once. A list is also refused if a wrong answer could meet more than one item, because the items name nothing that the
reference says.
"""

import re
from collections.abc import Sequence
from typing import Final

from reeltalk.construct.prompting import PromptedModel, number_turns, unwritten_from
from reeltalk.construct.replies import ChecklistReply, ItemReply, SelfCheckReply
from reeltalk.construct.wording import normalise
from reeltalk.construct.writers import Unwritten
from reeltalk.llm import Message, RecordResult
from reeltalk.metrics.agree import content_words, is_negated, polarity
from reeltalk.schema.dialogue import Checklist, ChecklistItem, Turn

NAMES_THE_REFERENCE: Final = re.compile(
    r"\bground[ -]?truth\b|\b(reference|model|correct|standard|gold)\s+answers?\b|标准答案|参考答案|正确答案|范例回答",
    re.IGNORECASE,
)


MOST_GENERIC: Final = 1
"""Most items of a list that a wrong answer may meet."""
_FORM: Final = re.compile(
    r"\b(?:fluent|fluently|grammatical\w*|coherent\w*|polite\w*|concise\w*|well[- ]written|naturally worded"
    r"|readable|helpful|detailed|relevant|consistent|plausible|confident|hedging|free of contradictions?|on topic"
    r"|not empty)\b"
    r"|\b(?:at least|more than|fewer than|less than|at most) (?:\d+|one|two|three|four|five|ten|twenty|a few) "
    r"(?:words?|sentences?|characters?|letters?)\b"
    r"|\b(?:full|complete) sentences?\b|\bin (?:English|Chinese)\b|\b(?:definite|direct|clear) (?:answer|reply|claim)\b"
    r"|\b(?:answers?|address(?:es)?|responds? to) the (?:user's )?question\b"
    r"|通顺|流畅|语法|礼貌|简洁|连贯|切题|有帮助|字以上|至少[0-9一二三四五十]+(?:个)?(?:字|词|句)|完整的句子|回答了(?:用户的)?问题",
    re.IGNORECASE,
)
"""Matches an item about the form of an answer instead of its content."""


def generic_items(items: Sequence[ItemReply], answer: str) -> list[str]:
    """Items that a wrong answer can meet: those about form, and those expected Yes without a word of the right answer.

    Args:
        items: The items of one checklist.
        answer: The right answer.
    """
    due = set(content_words(answer))
    return [
        item.question
        for item in items
        if _FORM.search(item.question)
        or (item.expected == "Yes" and due and not due & set(content_words(item.question)))
    ]


def is_met_by_an_echo(items: Sequence[ItemReply], question: str, answer: str) -> bool:
    """True if an answer that only repeats the question passes, because no item names a word that the answer adds.

    An answer that is negative, says yes or no, or adds no word is not checked.

    Args:
        items: The items of one checklist.
        question: The question.
        answer: The right answer.
    """
    new = set(content_words(answer)) - set(content_words(question))
    if not new or is_negated(answer) or polarity(answer) is not None:
        return False
    return not any(new & set(content_words(item.question)) for item in items if item.expected == "Yes")


def model_checklist(
    writer: PromptedModel, judge: PromptedModel, turn: Turn, history: Sequence[Turn]
) -> Checklist | Unwritten:
    """Ask a model for five items that the reference answer itself passes.

    Args:
        writer: Writes the items.
        judge: Applies them to the reference answer.
        turn: The turn.
        history: The turns before it.

    Raises:
        ModelError: The model gives no reply.
        BudgetError: A limit would be exceeded.
    """
    if not turn.references:
        return Unwritten("the turn has no reference answer")
    answer = turn.references[0]
    data = {"history": number_turns(history), "question": turn.question, "answer": answer}

    def complaint(reply: ChecklistReply) -> str | None:
        return _complaint(reply, turn.question, answer)

    asked = writer.ask("checklist", ChecklistReply, data=data, check=complaint)
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
        asked = writer.ask("checklist_again", ChecklistReply, data=again, before=begun, check=complaint)
        found = _tried_out(judge, asked, answer)
    if isinstance(found, list):
        found = Unwritten(f"the reference answer itself fails the checklist: {'; '.join(found)}", asked.replies)
    return Unwritten(found.reason, (*earlier, *found.replies)) if isinstance(found, Unwritten) else found


def _tried_out(
    judge: PromptedModel, asked: RecordResult[ChecklistReply], answer: str
) -> Checklist | Unwritten | list[str]:
    """The checklist, or the reason why there is none, or the items that the reference answer fails."""
    if asked.record is None:
        return unwritten_from(asked)
    items = asked.record.items
    listed = "\n".join(f"{number}. {item.question}" for number, item in enumerate(items, start=1))
    tried = judge.ask("checklist_self_check", SelfCheckReply, data={"answer": answer, "items": listed})
    if tried.record is None:
        reason = f"the checklist could not be tried out on the reference answer: {unwritten_from(tried).reason}"
        return Unwritten(reason, (*asked.replies, *tried.replies))
    problems = [
        f"{item.question} (expected {item.expected}, got {got})"
        for item, got in zip(items, tried.record.answers, strict=True)
        if item.expected != got
    ]
    return problems or Checklist(
        items=tuple(ChecklistItem(question=item.question, expected=item.expected == "Yes") for item in items)
    )


def _complaint(reply: ChecklistReply, question: str, answer: str) -> str | None:
    if len({normalise(item.question) for item in reply.items}) < len(reply.items):
        return "two of the items ask the same"
    for item in reply.items:
        if found := NAMES_THE_REFERENCE.search(item.question):
            return f"an item speaks of {found[0]!r}, which the judge does not see"
    generic = generic_items(reply.items, answer)
    if len(generic) > MOST_GENERIC:
        return (
            f"{len(generic)} items can be met by a wrong answer, and at most {MOST_GENERIC} may: they are about form "
            f"or name nothing that the right answer says: {'; '.join(generic)}"
        )
    if is_met_by_an_echo(reply.items, question, answer):
        return "no item names what the right answer adds to the question, so that an answer that repeats it passes"
    return None
