"""Reads an answer by the checklists that graphs write, literally and without a model, and makes up wrong answers.

It parses the forms of `checklists.toml`.
"""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from reeltalk.schema.dialogue import Checklist, Dialogue, Turn
from reeltalk_household.writer.graph_checklists import item_forms

FIXED = "A definite wrong answer."
_NEGATIONS = (
    (" does not ", " does "), (" is not ", " is "), (" cannot ", " can "),
    (": nobody ", ": somebody "), (": no ", ": a "),
)  # fmt: skip
_DENIES = re.compile(r"\bit is not (?:true|so) that\b", re.IGNORECASE)


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    found = []

    def add(form: Any) -> None:
        if isinstance(form, str):
            parts = re.split(r"\{(\w+)\}", form.rstrip("?"))
            slots = [f"(?P={p})" if p in parts[1:n:2] else f"(?P<{p}>.+?)" for n, p in enumerate(parts) if n % 2]
            words = [re.escape(part) for part in parts[::2]]
            pattern = "".join(word + slot for word, slot in zip(words, [*slots, ""], strict=True))
            found.append((re.compile(pattern + r"\?", re.IGNORECASE | re.DOTALL), form))
            return
        for part in form.values() if isinstance(form, Mapping) else form:
            add(part)

    add(item_forms())
    # The longest fixed words come first, so that the most specific form is used.
    return sorted(found, key=lambda one: -len(re.sub(r"\{\w+\}", "", one[1])))


def parts_of(question: str) -> dict[str, str]:
    """The values of an item's slots, by the name of the slot.

    Args:
        question: An item's question.

    Raises:
        ValueError: No form matches.
    """
    for pattern, _ in _patterns():
        match = pattern.fullmatch(question)
        if match:
            return match.groupdict()
    raise ValueError(f"no form gives {question!r}")


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _holds(answer: str, clause: str) -> bool:
    return f" {_plain(clause)} " in f" {_plain(answer)} "


def replies(question: str, answer: str) -> bool:
    """True if an answer gets Yes for an item that expects it."""
    parts = parts_of(question)
    if not _plain(answer) or _DENIES.search(answer):
        return False
    if "does the answer say yes" in question:
        return _plain(answer).startswith("yes")
    if "does the answer say no" in question:
        return _plain(answer).startswith("no")
    if "end with a question" in question:
        return answer.rstrip().endswith("?")
    if "wrong" in parts:
        return bool(re.search(r"\b(?:not|no|nobody|never)\b", answer))
    if "does the summary tell" in question.casefold():
        # A sentence tells several acts of one person, and calls a thing *it* the second time.
        return set(_plain(parts["says"]).split()) <= set(_plain(answer).split())
    if "number" in parts:
        return _holds(answer, f"round {parts['number']}")
    due = parts.get("says") or parts.get("value")
    return (
        _holds(answer, due)
        if due is not None
        else bool(re.search(r"\b(?:cannot|not|no|nothing)\b", answer, re.IGNORECASE))
    )


def score(checklist: Checklist, answer: str) -> float:
    """Share of the items that an answer meets, from 0 to 1; what meets no other item does not meet the last either."""
    *yes, _ = checklist.items
    met = [replies(item.question, answer) for item in yes]
    return (sum(met) + all(met)) / len(checklist.items)


def negated(reference: str) -> str:
    """The negated reference, as far as a rule can negate it."""
    said = reference
    # A refusal says the same twice: "That is not in the video: nobody jumps."
    for no, yes in _NEGATIONS:
        said = said.replace(no, yes)
    if said != reference:
        return said
    for old, new in (("Yes: ", "No: it is not so that "), ("No: ", "Yes: it is not so that ")):
        if reference.startswith(old):
            return new + reference.removeprefix(old)
    return f"It is not true that {reference[:1].lower()}{reference[1:]}"


def wrong_answers(dialogues: Iterable[Dialogue]) -> Iterator[tuple[Turn, dict[str, str]]]:
    """Every turn with a checklist, and its answers by their rule; only `reference` is right.

    Args:
        dialogues: The dialogues of one benchmark.
    """
    turns: list[Turn] = [turn for dialogue in dialogues for turn in dialogue.turns]
    by_kind: dict[object, list[Turn]] = {}
    for turn in turns:
        by_kind.setdefault(turn.extra.get("kind"), []).append(turn)
    draw = random.Random(0)
    for turn in turns:
        if turn.checklist is None:
            continue
        answers = {
            "reference": turn.references[0],
            "fixed": FIXED,
            "yes": "Yes.",
            "negated": negated(turn.references[0]),
            "empty": "",
        }
        others = _others(turn, by_kind[turn.extra.get("kind")])
        if others:
            answers["other"] = draw.choice(others)
        yield turn, answers


def _others(turn: Turn, alike: Sequence[Turn]) -> list[str]:
    """References of other turns of the same kind that answer a different question."""
    key = turn.extra.get("answer_key")
    return sorted(
        {
            other.references[0]
            for other in alike
            if other.references != turn.references and (key is None or other.extra.get("answer_key") != key)
        }
    )
