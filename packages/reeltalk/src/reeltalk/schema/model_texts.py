"""The text that a model means: without its thoughts, tokens of its template, markup, and words around an answer.

Players, files of answers, judges and readers of answers all pass through here. The forms are rows of
`model_texts.toml`, each with examples.
"""

import json
import re
import tomllib
import unicodedata
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from reeltalk.schema.long_texts import shortened

FORMS: Final = Path(__file__).parent / "model_texts.toml"
THOUGHT_ALONE: Final = "the model thought aloud and gave no answer"
"""Why a reply with a thought alone is a failed turn."""
LONGEST_ANNOUNCED: Final = 1_000
"""Characters after `Final answer:` that may be the answer."""

_NO_WIDTH: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
# Full width, in circles and brackets, and the letters and digits of mathematics.
_STYLED: Final = re.compile("[\uff01-\uff5e\u2460-\u249b\u24b6-\u24ff\U0001d400-\U0001d7ff\U0001f130-\U0001f149]")
_BOX: Final = re.compile(r"<\|begin_of_box\|>(.*?)(?:<\|end_of_box\|>|\Z)", re.S)
_ANSWER_TAG: Final = re.compile(r"<\s*(answer|final_answer|response|output)\s*>(.*?)(?:<\s*/\s*\1\s*>|\Z)", re.S | re.I)
_BOXED: Final = re.compile(r"(?<!\$)\$*\\+boxed\s*\{\s*((?:[^{}]|\{[^{}]*\})*)\}\$*")
_LATEX: Final = re.compile(
    r"\\+(?:text|textbf|mathrm|mathbf|textit|mathit)\s*\{([^{}]*)\}|\\[()\[\]]|\$\$?(?=\S)|(?<=\S)\$\$?"
)
_FENCE: Final = re.compile(r"(?m)^[ \t]*(?:```|~~~)[\w+-]*[ \t]*$|\A```(?:\w+\n)?|```\Z")
_EMPHASIS: Final = re.compile(r"(?<!\w)(\*{1,3}|_{1,3}|`)(?=\S)(.+?)(?<=\S)\1(?!\w)", re.S)
_TAGS: Final = re.compile(r"<[^<>\n]*>|\[/?\w+\]|◁[^▷\n]*▷")
_STRUCK: Final = re.compile(r"~~[^~\n]+~~|<(del|s|strike)>[^<\n]*</\1>", re.I)
_HEADING: Final = re.compile(r"(?m)^[ \t]*(?:#{1,6}[ \t]+|>[ \t]+)")
_HTML: Final = re.compile(r"</?(?:b|i|em|strong|p|br|span|u|code|div)\s*/?>", re.I)
_SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]*\s*")
_CLAUSE: Final = re.compile(r"\W*[^.!?\n,:]+?(?:[,:]|\bthat\b)\s*(?=\S)", re.I)
_SHORTENED: Final = re.compile(r"['’](?:ve|s|ll|re|d|m)\b")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_ANSWER_KEYS: Final = (
    "answer",
    "final_answer",
    "Answer",
    "final answer",
    "response",
    "prediction",
    "choice",
    "option",
    "value",
    "答案",
    "最终答案",
    "选项",
    "选择",
)


def without_thoughts(text: str) -> str:
    """A text without reasoning before its answer, and without tokens of a chat template; empty without an answer.

    Args:
        text: A reply as it came.
    """
    forms = _forms()
    if (begun := forms["next_turn"].search(text)) is not None and any(map(str.isalnum, text[: begun.start()])):
        text = text[: begun.start()]
    for opened, closed in forms["thoughts"]:
        ends = list(closed.finditer(text))
        if ends:
            text = text[ends[-1].end() :]
        if (start := opened.search(text)) is not None:
            text = text[: start.start()]
    if boxes := _BOX.findall(text):
        text = boxes[-1]
    return str(forms["tokens"].sub("", text).strip())


def thinks_only(text: str) -> bool:
    """True for a text that holds or begins a thought and no answer; one without any words is an empty answer."""
    if without_thoughts(text):
        return False
    begun = any(opened.search(text) and not closed.search(text) for opened, closed in _forms()["thoughts"])
    return begun or any(map(str.isalnum, _TAGS.sub("", text)))


def plain_reply(text: str) -> str:
    """A text without thoughts, markup and characters without width, and with plain letters and digits.

    Args:
        text: A reply as it came, with or without thoughts.
    """
    text = plain_characters(without_thoughts(shortened(text)))
    if tags := _ANSWER_TAG.findall(text):
        text = tags[-1][1] if tags[-1][1].strip() else _ANSWER_TAG.sub("", text)
    text = _FENCE.sub("", text).strip()
    if text.startswith(("{", "[")) and (told := _of_json(text)) is not None:
        text = told
    if (boxes := _BOXED.findall(text)) and len(set(boxes)) == 1:
        text = boxes[-1]
    return without_markup(text)


def plain_characters(text: str) -> str:
    """A text without characters that have no width, and with plain letters and digits in place of styled ones."""
    return _STYLED.sub(lambda found: unicodedata.normalize("NFKC", found[0]), _NO_WIDTH.sub("", text))


def without_struck(text: str) -> str:
    """A text without what is struck out in it."""
    return _STRUCK.sub("", text)


def without_markup(text: str) -> str:
    """A text without the marks of Markdown, LaTeX and HTML, and without what is struck out."""
    text = without_struck(text)
    text = _LATEX.sub(lambda found: found[1] or "", _HTML.sub("", text))
    for _ in range(3):
        text = _EMPHASIS.sub(r"\2", text)
    return _HEADING.sub("", text).replace("**", "").strip()


def plain_answer(text: str) -> str:
    """`plain_reply` without words that lead up to an answer or say where it is seen, and without offers after it.

    Every rule that reads an answer reads this.

    Args:
        text: A reply as it came.
    """
    forms = _forms()
    said = plain_reply(text)
    if (announced := announced_answer(said)) is not None:
        said = announced
    said = _without_explanation(said)
    while (shorter := forms["offers"].sub("", said).strip()) and shorter != said:
        said = shorter
    said = forms["tails"].sub(r"\1", said)
    if any(map(str.isalnum, shorter := _SENTENCE.sub(_unless_of_viewing, said))):
        said = shorter.strip()
    while (shorter := forms["leads"].sub("", _without_viewing_clause(said), count=1).strip()) and shorter != said:
        said = shorter
    return said


def _unless_of_viewing(found: re.Match[str]) -> str:
    return "" if _tells_of_viewing(found[0]) else found[0]


def _without_viewing_clause(text: str) -> str:
    """A text without words before its first comma, colon or *that* that tell of looking at the video alone."""
    clause = _CLAUSE.match(text)
    return text if clause is None or not _tells_of_viewing(clause[0], sentence=False) else text[clause.end() :]


def _tells_of_viewing(text: str, *, sentence: bool = True) -> bool:
    """True for a sentence, or the words before a comma, that tells of looking at the video and of nothing in it."""
    known = _forms()["viewing"]
    text = _SHORTENED.sub("", text.lower())
    for phrase in known["phrases"]:
        text = text.replace(phrase, "")
    words = set(_WORD.findall(text))
    if not words <= known["all"] or (words & known["denials"] and not words & known["beyond"]):
        return False
    # "You can see a picture" may be the answer, and "Looking at the frames, on" holds one.
    told = set(_WORD.findall(re.split("[,:]", text)[-1])) & known["acts"] if sentence else words & known["either"]
    return bool(told) and known["one"].search(text) is None


def announced_answer(text: str) -> str | None:
    """The words after the last `Final answer:` of a text, from `plain_reply`; None without one."""
    marks = list(_forms()["finals"].finditer(text))
    rest = _without_explanation(text[marks[-1].end() :]).strip() if marks else ""
    return rest if any(map(str.isalnum, rest)) and len(rest) <= LONGEST_ANNOUNCED else None


def _without_explanation(text: str) -> str:
    begun = _forms()["explanations"].search(text)
    return text[: begun.start()] if begun is not None and any(map(str.isalnum, text[: begun.start()])) else text


def _of_json(text: str) -> str | None:
    """The answer in a text that is a JSON object or list with one; None if it is something else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    if isinstance(found, dict):
        named = [found[key] for key in _ANSWER_KEYS if key in found]
        alone = next(iter(found.values())) if len(found) == 1 else None
        found = named[0] if named else alone if isinstance(alone, str) else None
    if isinstance(found, list) and all(isinstance(part, str | int | float) for part in found):
        found = ", ".join(map(str, found)) or None
    if isinstance(found, bool):
        return "yes" if found else "no"
    return str(found) if isinstance(found, str | int | float) else None


@cache
def _forms() -> dict[str, Any]:
    raw = tomllib.loads(FORMS.read_text(encoding="utf-8"))
    flags = re.IGNORECASE
    viewing = {name: frozenset(listed.split()) for name, listed in raw["viewing"].items() if isinstance(listed, str)}
    viewing |= {"all": frozenset().union(*viewing.values()), "either": viewing["medium"] | viewing["acts"]}
    one_of = re.compile(rf"\ban? (?:\w+ )?(?:{'|'.join(viewing['medium'])})\b")
    return {
        # "analysis" without tokens begins a text in lower case.
        "thoughts": [
            (re.compile(row["open"], _case(row)), re.compile(row["close"], _case(row))) for row in raw["thought"]
        ],
        "viewing": {**viewing, "phrases": raw["viewing"]["phrases"], "one": one_of},
        "tokens": re.compile(raw["tokens"]["pattern"], flags),
        "next_turn": re.compile(raw["next_turn"]["pattern"], flags),
        "leads": re.compile(rf"\A\W*(?:{_either(raw['leads'])})", flags),
        "finals": re.compile(_either(raw["finals"]), flags),
        "tails": re.compile(rf"(?<=\w)(?:{_either(raw['tails'])})([.!]?)\s*\Z", flags),
        "explanations": re.compile(rf"(?<=[.!?。！？\n])[ \t]*(?:{_either(raw['explanations'])})", flags),
        "offers": re.compile(rf"(?:(?<=[.!?。！？\n])|\A)\s*(?:{_either(raw['offers'])})\s*\Z", flags),
    }


def _case(row: dict[str, Any]) -> re.RegexFlag:
    return re.RegexFlag(0) if row["open"].startswith(r"\Aanalysis") else re.IGNORECASE


def _either(row: dict[str, Sequence[str]]) -> str:
    return "|".join(f"(?:{pattern})" for pattern in row["patterns"])
