"""Reads the rating at the end of a judge's reply, `… So rating=2`: strictly, and as the official scripts do.

Reference: VDEval (VDAct, AAAI 2025) and LAVE (Mañas et al., AAAI 2024) rate from 1 to 3 with the reasons first.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.llm.fencing import escape_invisible, fence
from reeltalk.llm.own_words import (
    data_shown,
    follows_thought,
    is_anothers,
    leads_to_verdict,
    own_reply,
    unfinished,
    why_taken_back,
)
from reeltalk.llm.structured import MalformedReplyError
from reeltalk.schema.long_texts import shortened
from reeltalk.schema.model_texts import plain_characters

MARKER: Final = "So rating="
TELLING_CHARS: Final = 24
"""A shorter answer, as "Yes.", may occur in reasons or in a prompt by chance."""
KNOWN_BY_CHARS: Final = 200
"""Number of first characters by which an answer is recognised if a judge repeats it."""

_MARK: Final = r"\b(?:[Ss]o,?\s+)?(?:(?:[Tt]he|[Mm]y|[Ff]inal|[Oo]verall)\s+)*[Rr]ating(?:\s*[*_]*\s*[=:：]|\s+is\b)"
_MARKER = re.compile(_MARK)
_RATING = re.compile(rf"{_MARK}(?P<before>\W*)(?P<value>[1-3])(?!\d)")
_QUOTES: Final = re.compile(r"""[\s*`"'“”‘’「『【（(\[{<:：$=]*""")
# The digit is part of another number, one of several numbers, or a mark on another scale.
_GOES_ON = re.compile(
    r"""\w                                                       # 3x, 3rd
    | [.,·٫](?!0+(?!\d|[.,]\d))\d                                   # 2.5, and not 2.0
    | [*`"')\]}>]* [^\S\n]*
      (?: ->|[-–—~/|,、;&+^×→⇒]|\.\.+|(?:or|and|to|out\s+of|of|und|oder|bis|von|ou|sur|à)\b|[或到至] )
      [^\S\n]* [*`"'(\[{<]* \d                                   # 2-3, 2/5, 2 or 3, **2** / 3
    | [*`"')\]}>]* [^\S\n]* [%‰]                                 # 3%
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OUT_OF_THREE = re.compile(r"""[*`"')\]}>]*\s*(?:/|out of|of)\s*3(?![\w/]|[.,]\d)""")
_MEANS: Final = {
    "1": r"(?:completely |entirely |simply )?(?:incorrect|irrelevant|wrong)(?: or irrelevant)?",
    "2": r"(?:ambiguous|incomplete|partial(?:ly)?(?: correct)?|partly correct)(?: or incomplete)?",
    "3": r"(?:fully |completely |entirely )?correct",
}
"""Meaning of the numbers in the prompts."""
_PRAISE: Final = re.compile(
    r"\b(?:is|was|fully|entirely|completely)\s+(?:correct|right|accurate|perfect)\b|\A[\s(\[:,–—-]*(?:correct|right)\b",
    re.IGNORECASE,
)
_CONCLUDES: Final = re.compile(
    r"\b(?:in\s+(?:conclusion|short|sum|total)|therefore|thus|hence|overall|rationale|reason\w*)\W*$", re.I
)
_LIST_ITEM = re.compile(r"[.)][^\S\n]+\w")
_OPENING: Final = tuple("\"'“‘„«「『`[{")
_MARKED = re.compile(r"So\s+rating\s*=\s*\W*\d*", re.IGNORECASE)


@dataclass(frozen=True)
class JudgeRating:
    """A rating and its reasons."""

    value: int
    """1 incorrect or irrelevant, 2 ambiguous or incomplete, 3 correct."""
    rationale: str


class OfficialScriptStopsError(Exception):
    """The official script ends with an exception when it reads this reply."""


def read_rating(text: str, shown: Sequence[str] = ()) -> JudgeRating:
    """The last rating of a reply: `So rating=3`, or the like, as `Rating: 3` or `the rating is 3`.

    The reply has no rating if

    - a later marker has none of the three numbers;
    - the number is part of a fraction, a range or a correction, a share of another scale, negative, or counts a list;
    - words after it may change it, as `(of 5)`, `and a half`, `, maybe 3`. Its meaning, as `(correct)`, a closing
      phrase, and sentences that take nothing back may follow;
    - it is in quotation marks or brackets within a line, as a quotation from a candidate's answer does, or after
      words that attribute it to somebody else;
    - it follows the end of a thought that `llm.own_words.own_reply` leaves there, and was shown;
    - it differs from an earlier one: one of the two may be quoted from the candidate's answer.

    Args:
        text: The reply, with or without a thought before it.
        shown: Texts that the judge was shown; see `llm.own_words.own_reply`.

    Raises:
        MalformedReplyError: The reply has no rating.
    """
    said = own_reply(shortened(text), shown)
    answer = plain_characters(said)
    markers = list(_MARKER.finditer(answer))
    if not markers:
        raise MalformedReplyError(f"there is no `{MARKER}` in it", text)
    found = _RATING.match(answer, markers[-1].start())
    if found is None:
        raise MalformedReplyError(f"no 1, 2 or 3 stands directly after the last `{MARKER}`", text)
    if not _stands_for_itself(found, answer) or _is_changed(found, answer):
        there = answer[found.start() : found.end() + 12].replace("\n", " ")
        raise MalformedReplyError(f"the text after the marker is not one of 1, 2 and 3: {there!r}", text)
    if _is_quoted(answer, found.start()) or not _is_led_to(answer[: found.start()]):
        raise MalformedReplyError(f"the last `{MARKER}` is quoted, or said not to hold", text)
    known = {match["value"] for one in data_shown(shown) for match in _RATING.finditer(plain_characters(one))}
    if found["value"] in known and follows_thought(answer[: found.start()]):
        raise MalformedReplyError(f"the last `{MARKER}` follows a mark that was shown to you with it", text)
    earlier = {match["value"] for match in _RATING.finditer(answer, 0, found.start())}
    if earlier - {found["value"]}:
        raise MalformedReplyError("there are several ratings that differ; write one and quote none", text)
    own = list(_MARKER.finditer(said))
    reasons = said[: own[-1].start()] if len(own) == len(markers) else answer[: found.start()]
    return JudgeRating(int(found["value"]), reasons.strip())


def rating_line(rating: JudgeRating, answers: Sequence[str] = ()) -> str:
    """A rating for the history of later turns: the reasons on one line, and the number as we read it.

    Markers inside the reasons are removed. Reasons that repeat an answer are put between fences, like the answer.
    """
    reasons = _spaced(rating.rationale)
    while (cleaned := _MARKED.sub("", reasons)) != reasons:
        reasons = " ".join(cleaned.split())
    repeated = (_spaced(answer)[:KNOWN_BY_CHARS] for answer in answers)
    if any(len(answer) >= TELLING_CHARS and answer in reasons for answer in repeated):
        reasons = fence(reasons) + "\n"
    return f"{reasons} {MARKER}{rating.value}".lstrip()


def _spaced(text: str) -> str:
    return " ".join(escape_invisible(text).split())


def vdeval_compat(text: str) -> int:
    """The rating that VDEval's script reads: the text after the marker as an integer, or 1 if that fails.

    The integer may be any, 0 and 5 too, in any form that Python's `int` reads. A reply without the marker gives 1.

    Raises:
        OfficialScriptStopsError: The reply has the marker more than once.
    """
    parts = text.split(MARKER)
    if len(parts) == 1:
        return 1
    if len(parts) > 2:
        raise OfficialScriptStopsError(f"`{MARKER}` stands there {len(parts) - 1} times")
    try:
        return int(parts[1])
    except ValueError:
        return 1


def lave_compat(text: str) -> int:
    """The rating that LAVE's script reads: the last token if it is 1, 2 or 3, else 2.

    A run of digits is one token, and so is any other character; the script uses the tokens of Flan-T5.
    """
    last = re.search(r"((?<!\d)\d++|\D)\Z", text.rstrip())
    return int(last[1]) if last is not None and last[1] in ("1", "2", "3") else 2


def _stands_for_itself(match: re.Match[str], text: str) -> bool:
    before, after = match["before"], text[match.end() :]
    if _QUOTES.fullmatch(before) is None or ("<" in before and ">" not in after[:8]):
        return False
    if _OUT_OF_THREE.match(after):
        return True
    # A number at the start of a line that looks like a list item may count reasons.
    return _GOES_ON.match(after) is None and not ("\n" in before and _LIST_ITEM.match(after))


def _is_changed(match: re.Match[str], text: str) -> bool:
    """True if the words after the number may change it or take it back."""
    rest = re.sub(r"\A\.0+(?!\d)", "", text[match.end() :])
    if (out_of := _OUT_OF_THREE.match(rest)) is not None:
        rest = rest[out_of.end() :]
    meaning = _MEANS[match["value"]]
    rest = re.sub(rf"\A[*`\"'_]*\s*[(\[,:;=–—-]*\s*{meaning}\s*[)\]]?(?!\w)", "", rest, count=1, flags=re.IGNORECASE)
    rest = re.sub(r"\A[\u200b\u2060\ufeff*`\"'_”’»」』)\]}>$]+", "", rest)
    if re.match(r"[^\S\n]*(?:\?|\.\.|…|!\?)", rest):
        return True
    praised = match["value"] != "3" and _PRAISE.search(rest) is not None
    return praised or why_taken_back(rest) is not None


def _is_led_to(before: str) -> bool:
    """True if the marker begins a sentence or a line, or follows words that lead up to a rating."""
    lead = unfinished(before).strip(" \t*_`>#-•\"'“「(")
    own_line = before.rstrip(" \t*_`>#-•\"'“「(").endswith("\n") and not lead.endswith((":", "："))
    if own_line and is_anothers(" ".join(lead.split()[-1:])):
        return False
    return not lead or own_line or leads_to_verdict(lead) or _CONCLUDES.search(lead) is not None


def _is_quoted(text: str, start: int) -> bool:
    line = text[text.rfind("\n", 0, start) + 1 : start]
    # A marker that begins its line is the judge's own, in quotation marks or not.
    opened = line.rstrip().endswith(_OPENING) and re.search(r"\w", line) is not None
    return opened or line.count("(") > line.count(")") or line.count("（") > line.count("）")
