"""Reads a reply to a yes-or-no question: a word, a sentence, or a JSON object that says yes or no."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from reeltalk.llm.own_words import own_reply
from reeltalk.schema.long_texts import shortened
from reeltalk.schema.model_texts import plain_characters, without_thoughts

_YES_WORDS: Final = (
    "yes",
    "yeah",
    "yep",
    "yup",
    "sure",
    "certainly",
    "absolutely",
    "definitely",
    "affirmative",
    "true",
)
_NO_WORDS: Final = ("no", "nope", "nah", "never", "negative", "false", "not yet", "not now", "not really")
_HAN_YES: Final = ("是的", "是", "对", "有", "可以", "需要")
_HAN_NO: Final = ("不是", "不", "没有", "没", "否", "还没有", "还没", "不需要")
_TOKENS: Final[Mapping[str, Literal["yes", "no"]]] = {
    "yes": "yes",
    "true": "yes",
    "no": "no",
    "not": "no",
    "false": "no",
}
"""First tokens of an answer that say yes or no."""
_VALUES: Final = {
    **dict.fromkeys((*_YES_WORDS, *_HAN_YES, "y", "1"), "yes"),
    **dict.fromkeys((*_NO_WORDS, *_HAN_NO, "n", "0"), "no"),
}
_WORDS: Final = "|".join(sorted((*_YES_WORDS, *_NO_WORDS, *_HAN_YES, *_HAN_NO), key=len, reverse=True))
_END: Final = r"(?=\s*(?:$|[.,;:!?。，；！？\n)\]–—-]))"
_CLAUSE: Final = re.compile(rf"(?:^|[.,;:!?。，；！？\n(\[–—-]|\b(?:and|but|or|so|then)\b)\s*({_WORDS}){_END}")
"""Yes or no as a clause of its own."""
_NAMED: Final = re.compile(
    rf"\b(?:answer|reply|response|verdict|decision|conclusion|result)\b(?:\s+(?:is|would be|should be)\b|\s*[:=-])+\s*"
    rf"(?:a\s+)?({_WORDS})\b|\b(?:i(?:\s+would|'d)?\s+say|that(?:'s| is)|this is|it(?:'s| is))\s+(?:a\s+)?"
    rf"(?:clear\s+)?(yes|no){_END}"
)
_OPENS: Final = re.compile(rf"^(?:well|so|ok|okay|hmm|hm|oh)?[\s,:]*({'|'.join(_YES_WORDS)})\b(?!\s*(?:or|and|/)\b)")
"""Yes begins a sentence: *Yes the kettle boils*. No does not: *No mug is on the table* is no answer."""
_FENCED: Final = re.compile(r"\A```\w*\s*\n?(.*?)```\s*\Z", re.DOTALL)
_TAG: Final = re.compile(r"</?[a-z_]{1,20}/?>|\\boxed\s*\{|[{}]", re.IGNORECASE)
_BOTH: Final = re.compile(rf"\byes\W*(?:and|or|but)?\W*no{_END}|\bno\W*(?:and|or|but)?\W*yes{_END}")


def read_yes_or_no(text: str) -> Literal["yes", "no"] | None:
    """What a reply says to a yes-or-no question; None if it says neither, or both.

    A thought before it, marks of Markdown, quotation marks and a code block are set aside. `**Yes**`, `The answer is
    yes.`, `Answer: Yes`, `{"answer": "yes"}`, `{"speak": true}` and `Not yet.` are read; `Yes and no` is not.
    """
    answer = own_reply(plain_characters(without_thoughts(shortened(text)))).strip()
    answer = _FENCED.sub(r"\1", answer).strip()
    if answer.startswith(("{", "[")):
        try:
            return _of_json(json.loads(answer))
        except (ValueError, RecursionError):
            pass  # an object in careless notation is read as words
    plain = re.sub(r"[*_`#>\"“”„«»]+", " ", _TAG.sub(" ", answer)).replace("’", "'").lower()
    plain = re.sub(r"(?<!\w)'|'(?!\w)", " ", plain).strip()
    if _BOTH.search(plain):
        return None
    if plain in _VALUES:
        return _as_answer(plain)
    said = {_VALUES[next(word for word in found.groups() if word)] for found in _NAMED.finditer(plain)}
    said |= {_VALUES[found[1]] for found in _CLAUSE.finditer(plain)}
    if (found := _OPENS.match(plain)) is not None:
        said.add(_VALUES[found[1]])
    return _as_answer(said.pop()) if len(said) == 1 else None


def yes_probability(logprobs: Sequence[Mapping[str, float]] | None) -> float | None:
    """The probability of yes against no, 0 to 1, where a reply says one of them; None if it is not known.

    Args:
        logprobs: As `Reply.logprobs`.
    """
    for known in logprobs or ():
        mass = {"yes": 0.0, "no": 0.0}
        written = [_TOKENS.get(_bare(token)) for token in known]
        if not written or written[0] is None:
            continue
        for word, value in zip(written, known.values(), strict=True):
            if word is not None:
                mass[word] += math.exp(value)
        return mass["yes"] / sum(mass.values()) if any(mass.values()) else None
    return None


def _bare(token: str) -> str:
    return re.sub(r"[\W_]+", "", token).lower()


def _of_json(found: Any) -> Literal["yes", "no"] | None:
    values = list(found.values()) if isinstance(found, dict) else found if isinstance(found, list) else [found]
    said = {_of_value(value) for value in values} - {None}
    return _as_answer(str(said.pop())) if len(said) == 1 else None


def _of_value(value: object) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return read_yes_or_no(value) if isinstance(value, str) and not value.lstrip().startswith(("{", "[")) else None


def _as_answer(word: str) -> Literal["yes", "no"]:
    return "yes" if _VALUES.get(word, word) == "yes" else "no"
