"""Checklists that a language model writes: five items for one turn, tried on the right answer and on wrong ones.

A published checklist has an item that contradicts its own reference, and others that any answer passes (MT-Video-Bench,
arXiv 2510.17722). Therefore rules refuse items about form and lists that name nothing of the right answer. Then a judge
applies each list to four answers without being told which one is right: the right one must pass all items, and each of
three wrong ones must fail some.
"""

import random
import re
from collections.abc import Mapping, Sequence
from typing import Final

from reeltalk.llm import Message
from reeltalk.metrics.agree import content_words, is_negated, polarity
from reeltalk.schema.dialogue import Checklist, ChecklistItem, Dialogue
from reeltalk_build.construct.linting import FUNCTION_CHARACTERS, FUNCTION_WORDS, normalise, text_faults
from reeltalk_build.construct.prompting import PromptedModel, number_turns, unwritten_from
from reeltalk_build.construct.replies import ChecklistReply, ItemReply, TrialReply, WrongAnswersReply
from reeltalk_build.construct.writers import NO_JUDGE, TriedChecklist, Unwritten

LEAST_FAILED: Final = 2
"""Fewest of the five items that each wrong answer must fail. One may pass four by luck: an answer that is wrong in one
fact shares the others with the right one, and an evasive one passes the item that expects No."""
MOST_UNNAMED: Final = 1
"""Most items of a list that expect Yes and share no word with the right answer, as a paraphrase may."""
MOST_SHARED: Final = 2
"""Most items that two lists of a dialogue have in common."""
NAMES_THE_REFERENCE: Final = re.compile(
    r"\bground[ -]?truth\b|\b(reference|model|correct|standard|gold)\s+answers?\b|标准答案|参考答案|正确答案|范例回答",
    re.IGNORECASE,
)
_FORM: Final = re.compile(
    r"\b(?:fluent\w*|grammatical\w*|coherent\w*|polite\w*|concise\w*|well[- ]written|naturally worded|readable"
    r"|helpful|free of contradictions?|on topic|not empty)\b"
    r"|\b(?:full|complete) sentences?\b|\bin (?:English|Chinese)\b"
    r"|\b(?:answers?|address(?:es)?|(?:responds?|repl(?:y|ies)) to) the (?:user(?:'s question)?|question)\b"
    r"|通顺|流畅|语法|礼貌|简洁|连贯|切题|有帮助|完整的句子|回答了(?:用户的)?问题",
    re.IGNORECASE,
)
"""Matches an item about the form of an answer in place of its content."""
_FORM_WORDS: Final = frozenset(
    "answer answers reply replies response responses text say says said state states stated stating mention mentions "
    "mentioned tell tells told name names give gives given contain contains include includes have has use uses "
    "consist consists speak speaks express expresses make makes made provide provides describe describes explain "
    "explains respond responds write writes written word words sentence sentences letter letters character characters "
    "line lines length long longer short shorter brief least most more fewer less than exactly number amount count "
    "detail details detailed clear clearly definite definitely direct directly specific specifically confident "
    "confidently plausible relevant consistent consistently correct correctly right true accurate accurately complete "
    "full fully hedging hedge claim claims information informative something anything nothing thing things some any "
    "well proper properly natural naturally good style tone form format user question questions video happen happens "
    "statement statements assertion make any one two three four five six seven eight nine ten twenty fifty hundred few "
    "several many k n x in without "
    "punctuation spelling language english chinese capital empty free contradiction contradictions".split()
)
"""English words that ask for no content."""
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_FORM_ZH: Final = re.compile(
    r"回答|答案|回复|是否|有没有|说明|说出|说到|提到|提及|指出|表示|表明|给出|包含|含有|使用|至少|超过|不少于|不超过|多于|少于"
    r"|[0-9一二三四五六七八九十百]+|句子|文字|字数|长度|[个句字词段行]|详细|具体|明确|清楚|完整|准确|合理|内容|信息|用户|问题"
)


def generic_items(items: Sequence[ItemReply], answer: str) -> list[str]:
    """Items that expect Yes without a word of the right answer, so that a wrong one may meet them.

    Args:
        items: The items of one checklist.
        answer: The right answer.
    """
    due = set(content_words(answer))
    return [
        item.question
        for item in items
        if item.expected == "Yes" and due and not due & set(content_words(item.question))
    ]


def is_about_form(item: str, answer: str) -> bool:
    """True if an item asks for no content: it is about form, or nothing is left of it but words about answers.

    Args:
        item: The item.
        answer: The right answer; what it says is content.
    """
    if _FORM.search(item) and not _FORM.search(answer):
        return True
    if _HAN.search(item):
        left = _FORM_ZH.sub("", item)
        return all(sign in FUNCTION_CHARACTERS or not sign.isalpha() for sign in left)
    said = set(normalise(answer).split()) - FUNCTION_WORDS
    return not any(
        word in said or not (word.isdigit() or word in FUNCTION_WORDS or word in _FORM_WORDS)
        for word in normalise(item).split()
    )


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


def write_checklists(
    writer: PromptedModel, judge: PromptedModel | None, dialogue: Dialogue, turns: Sequence[int]
) -> dict[int, TriedChecklist | Unwritten]:
    """Ask for a checklist for some turns of a dialogue, and try each on the right answer and on three wrong ones.

    Args:
        writer: Writes the items.
        judge: Writes the wrong answers and applies the items; without one the lists are not tried.
        dialogue: The dialogue.
        turns: Indices of the turns, from 0.

    Returns:
        For each turn its list, or why there is none. The replies are left out where a list was written and failed.

    Raises:
        ModelError: A model gives no reply.
        BudgetError: A limit would be exceeded.
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
        if is_about_form(item.question, answer):
            return f"an item is about the form of an answer and not about what it says: {item.question}"
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
