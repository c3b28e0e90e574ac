"""Checklists that a language model writes: five items for one turn, tried on the right answer and on wrong ones.

A published checklist has an item that contradicts its own reference, and others that any answer passes (MT-Video-Bench,
arXiv 2510.17722). Therefore rules refuse items about form and lists that name nothing of the right answer. Then a judge
applies each list to four answers without being told which one is right: the right one must pass all items, and each of
three wrong ones must fail some.
"""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from reeltalk.language.rules import read_rules
from reeltalk.llm import Message
from reeltalk.metrics.agree import content_words, is_negated, polarity
from reeltalk.schema.dialogue import Checklist, ChecklistItem, Dialogue
from reeltalk_build.construct.linting import normalise, text_faults
from reeltalk_build.construct.prompting import PromptedModel, number_turns, unwritten_from
from reeltalk_build.construct.replies import ChecklistReply, ItemReply, TrialReply, WrongAnswersReply
from reeltalk_build.construct.writers import NO_JUDGE, TriedChecklist, Unwritten

RULE_FILE: Final = read_rules(Path(__file__).with_suffix(".toml"))

LEAST_FAILED: Final = 2
"""Fewest of the five items that each wrong answer must fail. One may pass four by luck: an answer that is wrong in one
fact shares the others with the right one, and an evasive one passes the item that expects No."""
MOST_UNNAMED: Final = 1
"""Most items of a list that expect Yes and share no word with the right answer, as a paraphrase may."""
MOST_SHARED: Final = 2
"""Most items that two lists of a dialogue have in common."""
NAMES_THE_REFERENCE: Final = RULE_FILE.pattern("names_the_reference")


def generic_items(items: Sequence[ItemReply], answer: str) -> list[str]:
    """Items that expect Yes without a word of the right answer, so that a wrong one may meet them."""
    due = set(content_words(answer))
    return [
        item.question
        for item in items
        if item.expected == "Yes" and due and not due & set(content_words(item.question))
    ]


def is_met_by_an_echo(items: Sequence[ItemReply], question: str, answer: str) -> bool:
    """True if an answer that only repeats the question passes, because no item names a word that the answer adds.

    An answer that is negative, says yes or no, or adds no word is not checked.
    """
    new = set(content_words(answer)) - set(content_words(question))
    if not new or is_negated(answer) or polarity(answer) is not None:
        return False
    return not any(new & set(content_words(item.question)) for item in items if item.expected == "Yes")


def write_checklists(
    writer: PromptedModel, judge: PromptedModel | None, dialogue: Dialogue, turns: Sequence[int]
) -> dict[int, TriedChecklist | Unwritten]:
    """Ask for a checklist for some turns of a dialogue, and try each on the right answer and on three wrong ones.

    Returns:
        For each turn its list, or the reason why it has none; without replies if a list was written and failed.
    """
    found: dict[int, TriedChecklist | Unwritten] = {
        index: Unwritten("the turn has no reference answer") for index in turns if not dialogue.turns[index].references
    }
    asked = [index for index in turns if index not in found]
    wrong = _wrong_answers(judge, dialogue, asked)
    lists: list[frozenset[str]] = []
    for index in asked:
        found[index] = _write(writer, judge, dialogue, index, wrong, lists)
    return found


def _wrong_answers(
    judge: PromptedModel | None, dialogue: Dialogue, turns: Sequence[int]
) -> Mapping[int, tuple[str, ...]] | Unwritten:
    """Three wrong answers by index of the turn."""
    if judge is None or not turns:
        return Unwritten(NO_JUDGE)

    def complaint(reply: WrongAnswersReply) -> str | None:
        if [one.number for one in reply.rounds] != [index + 1 for index in turns]:
            return f"give wrong answers for the rounds {numbers}, each once and in this order"
        for one in reply.rounds:
            right = normalise(dialogue.turns[one.number - 1].references[0])
            if len({right, *map(normalise, one.answers)}) <= len(one.answers):
                return f"two answers to round {one.number} are the same, or one is the right answer"
        return None

    numbers = ", ".join(str(index + 1) for index in turns)
    asked = judge.ask(
        "wrong_answers",
        WrongAnswersReply,
        data={"dialogue": number_turns(dialogue.turns)},
        parts={"numbers": numbers},
        check=complaint,
    )
    return unwritten_from(asked) if asked.record is None else {r.number - 1: r.answers for r in asked.record.rounds}


def _write(
    writer: PromptedModel,
    judge: PromptedModel | None,
    dialogue: Dialogue,
    index: int,
    wrong: Mapping[int, tuple[str, ...]] | Unwritten,
    lists: list[frozenset[str]],
) -> TriedChecklist | Unwritten:
    turn = dialogue.turns[index]
    data = {"history": number_turns(dialogue.turns[:index]), "question": turn.question, "answer": turn.references[0]}

    def complaint(reply: ChecklistReply) -> str | None:
        return _complaint(writer, reply, turn.question, turn.references[0], lists)

    asked = writer.ask("checklist", ChecklistReply, data=data, check=complaint)
    if asked.record is None:
        return unwritten_from(asked)
    items = asked.record.items
    failed = _tried(judge, items, turn.references[0], wrong, index)
    if isinstance(failed, list) and failed:
        begun = [
            *writer.opening(),
            Message("user", writer.part("checklist", data)),
            Message("assistant", asked.replies[-1]),
        ]
        again = {"problems": "\n".join(f"- {problem}" for problem in failed)}
        asked = writer.ask("checklist_again", ChecklistReply, data=again, before=begun, check=complaint)
        if asked.record is None:
            return unwritten_from(asked)
        items = asked.record.items
        failed = _tried(judge, items, turn.references[0], wrong, index)
        if isinstance(failed, list) and failed:
            return Unwritten(f"it fails its trial twice: {'; '.join(failed)}")
    lists.append(_shared(items))
    written = Checklist(
        items=tuple(ChecklistItem(question=item.question, expected=item.expected == "Yes") for item in items)
    )
    return TriedChecklist(written, failed if isinstance(failed, Unwritten) else None)


def _tried(
    judge: PromptedModel | None,
    items: Sequence[ItemReply],
    right: str,
    wrong: Mapping[int, tuple[str, ...]] | Unwritten,
    index: int,
) -> list[str] | Unwritten:
    """What is wrong with a list by its trial; empty if it passes."""
    if judge is None or isinstance(wrong, Unwritten):
        return wrong if isinstance(wrong, Unwritten) else Unwritten(NO_JUDGE)
    answers = [right, *wrong[index]]
    # The judge must not learn from the order which answer is right.
    random.Random(f"trial {index} {right}").shuffle(answers)
    tried = judge.ask(
        "checklist_trial",
        TrialReply,
        data={
            "answers": "\n".join(f"{letter}. {answer}" for letter, answer in zip("ABCD", answers, strict=True)),
            "items": "\n".join(f"{number}. {item.question}" for number, item in enumerate(items, start=1)),
        },
    )
    if tried.record is None:
        return unwritten_from(tried)
    problems = []
    for answer, applied in zip(answers, tried.record.answers, strict=True):
        missed = [
            f"item {number}, expected {item.expected}, got {got}"
            for number, (item, got) in enumerate(zip(items, applied.items, strict=True), start=1)
            if item.expected != got
        ]
        if answer == right and missed:
            problems.append(f"the right answer fails {'; '.join(missed)}")
        elif answer != right and len(missed) < LEAST_FAILED:
            problems.append(
                f"the wrong answer {answer!r} passes {len(items) - len(missed)} of the {len(items)} items, and must "
                f"fail {LEAST_FAILED} or more"
            )
    return problems


def _shared(items: Sequence[ItemReply]) -> frozenset[str]:
    return frozenset(normalise(item.question) for item in items)


def _complaint(
    writer: PromptedModel, reply: ChecklistReply, question: str, answer: str, lists: Sequence[frozenset[str]]
) -> str | None:
    asked = _shared(reply.items)
    if len(asked) < len(reply.items):
        return "two of the items ask the same"
    if any(len(asked & other) > MOST_SHARED for other in lists):
        return "the list is nearly the same as that of an earlier round"
    for item in reply.items:
        if found := NAMES_THE_REFERENCE.search(item.question):
            return f"an item speaks of {found[0]!r}, which the judge does not see"
        if faults := text_faults(item.question, part="checklist item", language=writer.language):
            return f"{faults[0][1]}: {item.question}"
    generic = generic_items(reply.items, answer)
    if len(generic) > MOST_UNNAMED:
        return (
            f"{len(generic)} items can be met by a wrong answer, and at most {MOST_UNNAMED} may: they name nothing "
            f"that the right answer says: {'; '.join(generic)}"
        )
    if is_met_by_an_echo(reply.items, question, answer):
        return "no item names what the right answer adds to the question, so that an answer that repeats it passes"
    return None
