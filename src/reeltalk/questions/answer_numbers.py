"""Numbers and lengths of time in an answer."""

import re
from collections.abc import Sequence
from typing import Final

from reeltalk.questions.answer_values import NOTHING, Said, compare
from reeltalk.questions.answer_words import (
    Mention,
    clause_end,
    clause_start,
    is_negated,
    lexicon,
    names_in,
    tokens_of,
    verbs_in,
)
from reeltalk.schema.dialogue import AnswerKey

_VAGUE: Final = frozenset({"than", "least", "most", "over", "under", "almost", "nearly", "every", "per"})
_POINTING: Final = frozenset(
    "the this that which another second first last third other each no any every someone".split()
)
_UNITS: Final = (
    frozenset({"times", "time", "occasions"}), frozenset({"rooms", "room"}),
    frozenset({"things", "thing", "objects", "object", "items", "item"}),
    frozenset({"people", "person", "persons", "man", "individual", "individuals", "woman"}),
)  # fmt: skip


def count(tokens: list[str], question: str, key: AnswerKey) -> Said:
    """The number that an answer gives."""
    asked = ["times"] if "often" in question else [word for word in tokens_of(question) if word != "time"]
    asked = asked[asked.index("many") :] if "many" in asked else asked
    unit = next((units for word in asked for units in _UNITS if word in units), frozenset())
    others = {word for words in _UNITS if words is not unit for word in words}
    act = key.about[0].split("|")[0] if key.about else None
    standing: list[tuple[int, int]] = []
    for at, end, value in numbers_in(tokens):
        before = tokens[at - 1] if at else ""
        after = tokens[end : end + 2]
        if (tokens[at] == "one" and before in _POINTING) or before in ("more", "fewer", "less", "at", "number"):
            continue
        if before in _VAGUE or tokens[max(0, at - 2) : at] == ["up", "to"] or (after[:1] and after[0] in _SECONDS):
            continue
        if after == ["more", "than"] or after in (["fewer", "than"], ["less", "than"]):
            return NOTHING
        if act is not None and _is_of_another(tokens, at, end, act):
            continue
        owned = unit and after and (after[0] in others or (after[-1] in others and after[0] == "different"))
        partly = after[:1] == ["of"] or (after[:1] in (["in"], ["on"]) and standing)
        each = bool(standing) and (owned or partly or tokens[at] == "both")
        if owned or each:
            continue
        if is_negated(tokens, Mention("number", frozenset(), at, end)) and value:
            continue
        standing.append((at, int(value)) if value == int(value) else (at, -1))
    # "Once here and once there, so twice."
    concluded = [n for n, word in enumerate(tokens) if word in ("so", "thus", "hence", "therefore", "altogether")]
    standing = [found for found in standing if concluded and found[0] > concluded[-1]] or standing
    if re.search(
        r"\bnot (?:once|even once|at all)\b|\bno one\b|\bno (?:people|person|rooms?|things?)\b", " ".join(tokens)
    ):
        standing = [(0, 0)]
    if not standing and "single" in tokens:
        standing = [(0, 1)]
    if not standing and re.fullmatch(r"(?:a )?(?:couple|pair)(?: of times| of \w+)? ?\.?", " ".join(tokens)):
        standing = [(0, 2)]
    again = [m for m in re.finditer(r"\ba (second|third|fourth|fifth) time\b", " ".join(tokens)) if "not" not in tokens]
    if again and {n for _, n in standing} <= {1}:
        # "Once, and then a second time."
        standing = [(0, ("second", "third", "fourth", "fifth").index(again[-1][1]) + 2)]
    if len(standing) > 2 and standing[0][1] == sum(n for _, n in standing[1:]):
        # "Twice: once at the start and once at the end."
        between = {*tokens[standing[0][0] : standing[1][0]]}
        joined = "," in between and "and" in tokens[standing[-2][0] : standing[-1][0]]
        standing = standing[:1] if joined or between & {":", "("} else standing
    if {"between", "or"} & set(tokens) and len({n for _, n in standing}) > 1:
        return Said(tuple(str(n) for _, n in standing), why="it leaves open how many")
    return compare([frozenset({str(n)}) for _, n in standing], key)


def _is_of_another(tokens: Sequence[str], at: int, end: int, action: str) -> bool:
    """True for the three in *he closes it twice and opens it three times* where it is asked how often he closes it."""
    start, stop = clause_start(tokens, at), clause_end(tokens, end)
    start = max([n + 1 for n in range(start, at) if tokens[n] == "and"], default=start)
    stop = min([n for n in range(end, stop) if tokens[n] == "and"], default=stop)
    part = list(tokens[start:stop])
    told = [verb.values for verb in verbs_in(part, names_in(part, "noun")) if verb.values]
    return bool(told) and not any(action in values for values in told)


def numbers_in(tokens: Sequence[str]) -> list[tuple[int, int, float]]:
    """Numbers with the places of their words."""
    known = lexicon().numbers
    found: list[tuple[int, int, float]] = []
    at = 0
    while at < len(tokens):
        two = " ".join(tokens[at : at + 2])
        if two in known:
            found.append((at, at + 2, float(known[two])))
            at += 1
        elif tokens[at] in known:
            found.append((at, at + 1, float(known[tokens[at]])))
        elif re.fullmatch(r"\d{1,9}(?:\.\d{1,9})?", tokens[at]):
            found.append((at, at + 1, float(tokens[at])))
        at += 1
    return found


_BOUND: Final = re.compile(r"(?<!little )(?<!slightly )(?<!just )(?<!bit )\b(?:less than|more than|at least|at most)\b")
_SECONDS: Final = {"s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1, "m": 60, "min": 60, "mins": 60} | {
    "minute": 60, "minutes": 60, "h": 3600, "hour": 3600, "hours": 3600, "hrs": 3600,
}  # fmt: skip


def seconds(tokens: list[str], question: str, key: AnswerKey) -> Said:
    """The length of time that an answer gives, whose every number must be near the right one."""
    text = re.sub(r"\bhalf an? (minute|hour)", r"0.5 \1", " ".join(tokens))
    text = re.sub(r"\b(?:an?|one) (minute|hour|second)\b", r"1 \1", text)
    text = re.sub(r"\ba third of 1 minute", "20 seconds", re.sub(r"\ba quarter of 1 minute", "15 seconds", text))
    text = re.sub(r"\bhundred\b", "100", re.sub(r"\b(?:a|one) hundred\b", "100", text))
    text = re.sub(r"\b(\d+) and a half (minutes?)\b", r"\1.5 \2", text)
    words = text.split()
    spans: list[float] = []
    stamps: list[float] = []
    pending: list[float] = []
    last_end = -9
    for at, end, value in _amounts(words):
        if isinstance(value, str):
            parts = [int(part) for part in value.split(":")]
            total = float(sum(part * 60**n for n, part in enumerate(reversed(parts))))
            start = at and words[at - 1] in ("from", "at", "to", "until", "between", "and")
            (stamps if start else spans).append(total)
            continue
        if is_negated(words, Mention("number", frozenset(), at, end)):
            continue
        unit = words[end] if end < len(words) else ""
        if unit in ("time", "times", "rooms"):
            continue
        if at and words[at - 1] == "at" and unit in _SECONDS:
            # "At 14 seconds he sits down" is a moment.
            continue
        if unit in _SECONDS:
            scale = _SECONDS[unit]
            joined = bool(spans) and at - last_end <= 1 and scale < 60 and spans[-1] % 60 == 0 and spans[-1] >= 60
            spans += [n * scale for n in pending]
            pending = []
            if joined:
                spans[-1] += value * scale
            else:
                spans.append(value * scale)
            last_end = end + 1 + (end + 1 < len(words) and words[end + 1] == "and")
        else:
            pending.append(value)
    spans += pending
    if _BOUND.search(text):
        return Said(tuple(f"{span:g}" for span in spans), why="it gives a bound, and not a length")
    if not spans and len(stamps) == 2:
        spans = [abs(stamps[1] - stamps[0])]
    if not spans:
        return NOTHING
    due = float(key.values[0])
    shown = tuple(f"{span:g}" for span in spans)
    return Said(shown, right=all(abs(span - due) <= max(key.tolerance, 0.5) for span in spans))


def _amounts(words: Sequence[str]) -> list[tuple[int, int, float | str]]:
    found: list[tuple[int, int, float | str]] = [*numbers_in(words)]
    found += [(at, at + 1, word) for at, word in enumerate(words) if ":" in word and len(word) > 1]
    return sorted(found, key=lambda amount: amount[0])
