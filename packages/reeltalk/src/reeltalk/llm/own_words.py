"""Distinguishes the writer's own verdict in a reply from one that it quotes, doubts or takes back.

If a verdict cannot be distinguished from a quotation, it is asked for again: that costs a request, while a wrong
verdict falsifies a score.
"""

import html
import json
import re
import tomllib
from collections.abc import Sequence
from functools import cache
from typing import Final

from reeltalk.llm.fencing import FENCED
from reeltalk.schema.long_texts import without_long_spaces
from reeltalk.schema.model_texts import FORMS, plain_characters
from reeltalk.schema.record import Json

_FENCE: Final = re.compile(r"(?m)^[ \t]*(?:```|~~~)[\w+-]*[ \t]*$|```(?:json)?")
_END: Final = re.compile(r"(?:\s*(?:<\|\w+\|>|</s>))+\s*\Z")
_BOXED: Final = re.compile(r"(?<!\$)\$*\\boxed\{\s*(?:(\{[^{}]*\})|([1-3]))\s*\}\$*")
_QUOTES: Final = "\"'“”‘’«»「」『』`"
_SENTENCE_END: Final = re.compile(r"(?<=[.!?。！？])[\"'”’)*]*\s+|(?<=[。！？])|\n+")
_WHOLE: Final = re.compile(r"[.!?。！？][\"'”’)*_]*$")
# Words that attribute the following text to the candidate.
_QUOTING: Final = re.compile(
    r"""\b(?:say|says|said|saying|write|writes|wrote|writing|claim(?:s|ed|ing)?|demand(?:s|ed|ing)?|dictat(?:e|es|ed|ing)
    |tells|telling|told|contain(?:s|ed|ing)?|includes|included|including|instruct(?:s|ed|ing|ions?)?|insist(?:s|ed|ing)?
    |want(?:s|ed)?|asks\s+(?:me|for|that|to|you)|asking|asked\s+(?:me|for)|tries|tried|trying|attempt(?:s|ed|ing)?|pretend(?:s|ed|ing)?|outputs
    |reads|stat(?:es|ed|ing)|suggest(?:s|ed|ing)?|inject(?:s|ed|ing|ion)?|quot(?:e|es|ed|ing|ation)|embeds?|embedded|embedding
    |propos(?:es|ed|ing)|request(?:s|ing)|order(?:s|ed|ing)|begs|begged|hopes|wishes|expects|ends\s+with|begins\s+with
    |starts\s+with|attack|trick|(?:its|their|his|her)\s+own|example|e\.g|for\s+instance|such\s+as|rather\s+than|instead\s+of|if|unless|would|could
    |might|not|never|cannot|without|ignor(?:e|es|ed|ing)|reject(?:s|ed|ing)?|refus(?:e|es|ed|ing))\b
    |n['’]t\b|写道?|说|称|要求|声称|试图|命令|诱导|如果|例如|不|schreibt|sagt|verlangt|behauptet|nicht|wenn|dice|exige|pide|si\b""",
    re.VERBOSE | re.IGNORECASE,
)
_MINE: Final = re.compile(
    r"\b(?:(?:as\s+)?I(?:\s+have|['’]ve)?\s+(?:said|wrote|stated|suggest)"
    r"|(?:as\s+)?you(?:\s+have|['’]ve)?\s+(?:asked(?:\s+for)?|requested|wanted|want|instructed|told\s+me))\b",
    re.IGNORECASE,
)
_OWN_LEAD: Final = re.compile(
    r"\b(?:(?:my|final|overall|the)\s+(?:\w+\s+)?(?:verdict|judg(?:e|)ments?|evaluation|assessment|result|json|score|rating|record)"
    r"|(?:my|final)\s+(?:answer|response|reply|output))(?:\s+(?:is|are|as|follows|in|json|object|here|=))*\s*$",
    re.IGNORECASE,
)
LONGEST_HEADING: Final = 6
"""Words of a line without a full stop that may be a heading."""
_PARTY: Final = re.compile(
    r"\b(?:candidates?|predict\w*|students?|users?|systems?|models?|assistants?|authors?|found|given|received|under)\b"
    r"|候选|预测|Kandidat\w*",
    re.IGNORECASE,
)
_ABOUT_PARTY: Final = re.compile(
    r"\bmy\b|\b(?:of|on|for|about|regarding)\s+(?:the\s+|this\s+)?(?:\w+\s+)?$", re.IGNORECASE
)
"""Words right before the name of the candidate in a lead to a verdict about it, and not by it."""
_STRONG: Final = re.compile(
    r"\b(?:my|verdict|(?<!under )(?:evaluation|judge?[m]ents?|assessment)|likelihood|ratings?|scores?)\b"
    r"|判断|评价|评估",
    re.IGNORECASE,
)
_LEADS: Final = re.compile(
    r"""\b(?:verdict|evaluation|judg(?:e|)ments?|assessment|result|json|record|ratings?|scores?|likelihood|outputs?|response|reply|replies
    |final|answers?|here|follow(?:s|ing)|therefore|thus|hence|so|conclusion|conclude|conclusively|overall|summary|sum|short|sure
    |certainly|okay|ok|evaluate|i\s+(?:judge|rate)|decision|again|i\s+(?:said|wrote)|^as\b.*\basks?
    |once\s+more|hier|antwort(?:en)?|urteil|bewertung|ergebnis|verdict|r[ée]sultat|[ée]valuation|veredicto|resultado
    |evaluaci[óo]n)\b|结果|如下|以下|根据|评|判断|好的""",
    re.VERBOSE | re.IGNORECASE,
)
_SUPPOSED: Final = re.compile(
    r"^\W*(?:had|were|was|should|suppose|assuming|imagine|in\s+case)\b|\b(?:best|worst)\s+case\b", re.I
)
# Words that take a verdict back, give another one, or attribute it to somebody else.
_AGAINST: Final = re.compile(
    r"""\b(?:actually|instead|however|but|although|though|wait|hmm+|oops|correct(?:ion|ed)|scratch|rather|sorry|mistaken?
    |typo|kidding|joking|joke|revis\w*|chang\w*|reconsider\w*|second\s+thoughts?|should|would|could|might|may|if|ignor\w*
    |follow\w*|obey\w*|comply|complying|refus\w*|reject\w*|disregard\w*|dictat\w*|demand\w*|quot\w*|inject\w*|instruct\w*
    |manipulat\w*|trick\w*|claim\w*|pretend\w*|wrong|incorrect|false|untrue|not|never|no|nor|none|nothing|cannot|minus|plus
    |half|maybe|perhaps|possibly|or|between|almost|nearly|verdicts?|scor(?:e|es|ed|ing)|ratings?|rated?|graded?|points?|marks?
    |stars?|zero|(?:a|is|to|it|give)\s+one|two|three|four|five|six|seven|eight|nine|ten|hundred|full|above|below|higher|lower|better|worse|more|less
    |want\w*|wish\w*|request\w*|asks?|asked|attempt\w*|tries|tried|said|says|wrote|writes|words?|text|example|format|template
    |previous|earlier|disagree\w*|doubt\w*|unsure|uncertain|depends|except|unless|null|void|invalid|retract\w*|withdraw\w*
    |replac\w*|strike|taken?|took|off[-\s]topic|c[ao]mes?\s+from|itself|own|cheat\w*|make\s+(?:it|that)|call\s+(?:it|that)
    |barely|irrelevant|contradict\w*|dishonest\w*|overrid\w*|nein|nicht|aber|doch|sondern|eigentlich|non|pas|mais|pero|sino|sin)\b
    |n['’]t\b|\d|[{}→⇒≠±~?]|但|不|错|其实|实际|而是|应该|更正|评分|分""",
    re.VERBOSE | re.IGNORECASE,
)
# Words that take a verdict back, beside explanations that may hold any other word.
_TAKES_BACK: Final = re.compile(
    r"""\b(?:correction|corrected|revis(?:e[ds]?|ing|ion)|re-?consider\w*|on\s+(?:second\s+thoughts?|(?:further\s+)?reflection)
    |(?:should|must|ought\s+to)\s+(?:be|have\s+been|read|say)\W*(?:yes|no|true|false)\b|scratch\s+that
    |(?:my|a)\s+mistake|i\s+(?:was|am)\s+wrong|i\s+(?:cannot|can['’]t|am\s+unable|will\s+not|won['’]t)|unable\s+to\s+(?:evaluate|judge)
    |(?:cannot|can['’]t)\s+(?:evaluate|judge|assess)|please\s+(?:provide|ignore)|(?:ignore|disregard)\s+(?:the|this|that)
    |(?:no|not\s+a)\s+(?:real\s+)?(?:verdict|evaluation)|placeholder|inject\w*|manipulat\w*)\b
    |(?:^|[.!?]\s+|\n\s*)(?:wait|hmm+|oops|actually)\b|更正|请提供|无法(?:评估|判断)""",
    re.VERBOSE | re.IGNORECASE,
)
_ONLY_A_FORM: Final = re.compile(r"\b(?:expected|required|requested)\s+format\s+(?:is|would|was)\b|\btemplate\b", re.I)
# Counts of facts are no ratings.
_COUNTED: Final = re.compile(
    r"\b(?:\d+|one|two|three|four|five)(?:\s+of\s+(?:the\s+)?(?:\d+|two|three|four|five))?\s+"
    r"(?:facts?|details?|items?|things?|objects?|references?|statements?|sentences?|elements?|events?|parts?)\b",
    re.IGNORECASE,
)
_CLOSING: Final = re.compile(
    r"""(?:(?:i\s+)?hope\s+(?:this|that|it)\s+(?:helps|is\s+(?:helpful|useful|clear))
    |(?:please\s+)?let\s+me\s+know\s+(?:if|should|whether)\s+you\s+[\w\s']{1,60}
    |(?:please\s+)?feel\s+free\s+to\s+(?:ask|reach\s+out)[\w\s]{0,40}
    |(?:is\s+there\s+)?anything\s+else[\w\s']{0,40}
    |thank(?:s|\s+you)[\w\s]{0,30}|(?:best|kind)\s+regards|that(?:'s|’s|\s+is)\s+all|this\s+is\s+my\s+(?:final\s+)?\w+|done
    |end\s+of\s+(?:my\s+)?\w+|happy\s+to\s+help[\w\s]{0,30}|\[end\]|</?\w+>|confidence\s*[:=]\s*(?:high|low|medium|0?\.\d+|1\.0|\d+\s*%)
    |\(?confidence:\s*\w+\)?|谢谢|多谢|(?:希望|如有)[^{}\d]{0,30})""",
    re.VERBOSE | re.IGNORECASE,
)


def why_not_own(before: str, after: str, record: Json, shown: Sequence[str] = ()) -> str | None:
    """Why a record in a reply may not be the writer's own verdict; None if it is.

    It is the writer's own if it is the whole reply, if it ends the reply after prose that leads up to it, or if it
    begins the reply and the prose after it takes nothing back. It is not if it is in quotation marks, in the middle
    of a sentence, or after words that attribute it to somebody else; nor amid prose if the writer was shown it.

    Args:
        before: Text before the record.
        after: Text after the record.
        record: The record as JSON.
        shown: Texts that the writer was shown, as candidates' answers.
    """
    before, after = _without_ticks(before, after)
    same_line = "\n" not in before[len(before.rstrip()) :] and _FENCE.search(before.rstrip()[-8:]) is None
    lead, rest = (_FENCE.sub("\n", part).strip(" \t\r\n*_#>-") for part in (before, after))
    if not lead.strip(_QUOTES + "[(") and not rest.strip(_QUOTES + ".;])"):
        return None
    opened, closed = before.rstrip(" ")[-1:], after.lstrip(" ")[:1]
    fenced = before.rstrip(" ").endswith("```")
    if not fenced and (
        (opened and opened in _QUOTES) or (closed and closed in _QUOTES and not after.lstrip().startswith("```"))
    ):
        return "the record stands in quotation marks amid other words"
    if any(_holds(text, record) for text in data_shown(shown)):
        return "the record stands amid other words, and in what was shown to you too"
    if lead and (why := _why_not_led(lead, same_line)) is not None:
        return why
    return why_taken_back(rest, closing_only=bool(lead))


def why_doubtful(before: str, after: str, record: Json, shown: Sequence[str]) -> str | None:
    """Why a record amid any prose may not be the writer's verdict; None if nothing speaks against it.

    Args:
        before: Text before the record.
        after: Text after the record.
        record: The record as JSON.
        shown: The candidate's answers. If one names a field of the record, the record may be quoted from it.
    """
    names = record if isinstance(record, dict) else {}
    named = rf"\b(?:{'|'.join(re.escape(name) for name in names)})\W{{0,3}}[:=]"
    if names and any(re.search(named, plain_characters(text), re.IGNORECASE) for text in shown):
        return "other words stand around the verdict, and the candidate's answer has a verdict of its own"
    before, after = _without_ticks(before, after)
    if before.rstrip(" ")[-1:] in set(_QUOTES) - {"`"} or after.lstrip(" ")[:1] in set(_QUOTES) - {"`"}:
        return "the record stands in quotation marks amid other words"
    lead = unfinished(_FENCE.sub("\n", before).strip(" \t\r\n*_#>-"))
    if is_anothers(lead) or _SUPPOSED.search(lead) or _ONLY_A_FORM.search(lead):
        return "the words before the record say that it is not your own verdict"
    if _TAKES_BACK.search(before) or _TAKES_BACK.search(after):
        return "words around the verdict take it back"
    return None


def why_taken_back(after: str, *, closing_only: bool = False) -> str | None:
    """Why words after a verdict may change it; None if they do not.

    Args:
        after: Words after the verdict.
        closing_only: True to allow a closing phrase alone, as "I hope this helps!".
    """
    rest = after.strip(" \t\r\n*_#>-.;!")
    if not rest.strip(_QUOTES + ")]}"):
        return None
    parts = [part.strip(" \t\r\n*_.;!?。！🙂😊") for part in _SENTENCE_END.split(rest)]
    if all(_CLOSING.fullmatch(part) for part in parts if part):
        return None
    if closing_only:
        return "other words stand before the verdict and after it; end your message with it"
    if not (
        after[:1] in "\n.!;"
        or re.match(r"\s*(?:because|since)\b", after)
        or re.match(r"\s*[A-Z\u4e00-\u9fff\"]", after)
    ):
        return "a sentence goes on after the verdict"
    return "what stands after the verdict may take it back" if _AGAINST.search(_COUNTED.sub("", rest)) else None


def is_anothers(lead: str) -> bool:
    """True if the words right before a verdict attribute it to somebody else, suppose it, or deny it."""
    return _QUOTING.search(_MINE.sub("", lead)) is not None


def unfinished(text: str) -> str:
    """The unfinished sentence at the end of a text; empty if the last sentence is complete."""
    parts = [part for part in _SENTENCE_END.split(text.rstrip()) if part.strip()]
    last = parts[-1].strip() if parts else ""
    return "" if _WHOLE.search(last) else last


def leads_to_verdict(lead: str) -> bool:
    """True if an unfinished sentence leads up to the writer's own verdict, as `Here is my evaluation:`.

    A sentence that names the candidate must also name the judging.
    """
    if is_anothers(lead) or _SUPPOSED.search(lead) is not None:
        return False
    if (party := _PARTY.search(lead)) is None:
        return _LEADS.search(lead) is not None
    own = _ABOUT_PARTY.search(lead[: party.start()]) is not None and "own" not in lead.split()
    return own and _STRONG.search(lead) is not None and re.match(r"['’]s?\b", lead[party.end() :]) is None


def is_echo(record: Json, shown: Sequence[str]) -> bool:
    """True if the writer was shown this record with a text in it: an example of the format, or a dictated verdict."""
    told = isinstance(record, dict) and any(isinstance(value, str) and " " in value for value in record.values())
    return told and any(_holds(text, record) for text in shown)


def own_reply(text: str, shown: Sequence[str] = ()) -> str:
    r"""A reply without the thought before it, a server's marks around it, as `<|im_end|>`, and LaTeX's `\boxed`.

    The first end of a thought counts, so that a thought cannot hide what differs after a quoted one. An end without a
    beginning, whose beginning is in the template of the prompt, counts if no other mark of a thought is in the reply,
    none like it was shown, and no unfinished sentence leads up to it. It may be quoted from a candidate's answer.

    Args:
        text: The reply.
        shown: Texts that the writer was shown; without them, an end needs its beginning.

    Returns:
        The reply; empty if its thought has no end.
    """
    rest = whole = without_long_spaces(text.lstrip("\ufeff"))
    while (end := next((end for begins, end in _thoughts() if begins.match(rest)), None)) is not None:
        found = end.search(rest)
        rest = rest[found.end() :].lstrip() if found is not None else ""
    ends = [found for _, end in _thoughts() for found in end.finditer(rest)]
    alone = len(ends) == 1 and rest is whole and not any(begins.search(rest) for begins, _ in _thoughts())
    if alone and shown and not any(_marks(ends[0][0]) in _marks(one) for one in shown):
        before = rest[: ends[0].start()]
        last = unfinished(before).rstrip("*_ ")
        if not last or (before.rstrip(" ").endswith("\n") and not last.endswith((":", "：")) and not is_anothers(last)):
            rest = rest[ends[0].end() :]
    return _BOXED.sub(lambda found: found[1] or found[2], _END.sub("", rest))


@cache
def _thoughts() -> list[tuple[re.Pattern[str], re.Pattern[str]]]:
    """Beginnings and ends of thoughts."""
    rows = tomllib.loads(FORMS.read_text(encoding="utf-8"))["thought"]
    return [(re.compile(rf"\s*(?:{row['open']})", re.I), re.compile(row["close"], re.I)) for row in rows]


def _marks(text: str) -> str:
    """The letters and strokes of a text, by which a mark is known however it is written."""
    return re.sub(r"[^\w/]", "", _bare(html.unescape(text)))


def follows_thought(before: str) -> bool:
    """True if a text ends in the end of a thought."""
    return any(found.end() == len(before.rstrip()) for _, end in _thoughts() for found in end.finditer(before))


def data_shown(shown: Sequence[str]) -> list[str]:
    """The fenced texts that were shown; all texts if there are no fences.

    Instructions outside of the fences may contain an example that is like a verdict by chance.
    """
    blocks = [found["data"] for text in shown for found in FENCED.finditer(text)]
    return blocks or list(shown)


def _without_ticks(before: str, after: str) -> tuple[str, str]:
    """The text before and after a record, without the backticks that mark it as code."""
    opened, closed = before.rstrip(" "), after.lstrip(" ")
    if opened.endswith("`") and closed.startswith("`") and not opened.endswith("``") and not closed.startswith("``"):
        return opened[:-1], closed[1:]
    return before, after


def _why_not_led(lead: str, same_line: bool) -> str | None:
    last = unfinished(lead)
    if not last:
        return None
    if last.rstrip("*_ ").endswith((":", "：", "—", "–", "->", "→", "=")):
        return None if leads_to_verdict(last) else "the words before the record do not say that it is your own verdict"
    if not same_line:
        heading = len(last.split()) <= LONGEST_HEADING and not leads_to_verdict(last)
        return (
            "the words before the record say that it is not your own verdict"
            if heading and (is_anothers(last) or _PARTY.search(last) is not None)
            else None
        )
    if _OWN_LEAD.search(last) and leads_to_verdict(last):
        return None
    return "the record stands in the middle of a sentence"


def _holds(text: str, record: Json) -> bool:
    """True if a text contains every field of a record with its value, in any quotes, spaces and escapes."""
    there = _bare(text)
    if not isinstance(record, dict) or not record:
        return False
    return all(
        re.search(rf"{re.escape(_bare(str(name)))}[:=]{re.escape(_bare(_text(value)))}(?![\d.])", there) is not None
        for name, value in record.items()
    )


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bare(text: str) -> str:
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda found: chr(int(found[1], 16)), text)
    text = re.sub(r"\\[nrt]", "", text)
    text = re.sub(r"(?<=\d)\.0+(?!\d)", "", text)
    return re.sub(r"[\s\\\"'“”‘’`*_]+", "", plain_characters(text)).casefold()
