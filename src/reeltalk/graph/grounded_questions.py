"""What a question about a scenario asks for: which kind of fact, about which action, object or room.

A question is understood by its words alone, without a graph. What is not surely understood is None.
"""

import re
from dataclasses import replace
from typing import Final

from reeltalk.graph.grounded_ask_acts import (
    action_asked,
    back_asked,
    choice_asked,
    closes_again_asked,
    holding_asked,
    order_asked,
    posture_asked,
    use_asked,
    why_asked,
    yes_no_asked,
)
from reeltalk.graph.grounded_ask_places import room_asked, where_asked
from reeltalk.graph.grounded_ask_things import (
    colour_asked,
    counts_asked,
    seconds_asked,
    state_asked,
    tool_asked,
    what_asked,
)
from reeltalk.graph.grounded_asked import Asked, Moment
from reeltalk.graph.grounded_clauses import NOBODY, Referents
from reeltalk.graph.grounded_words import ANY, plain, terms

_START: Final = re.compile(
    r"^(?:(?:and|so|ok|okay|oh|oh no|wow|but|well|i see|interesting|in the video|at any time|in total|then|"
    r"over the whole video|roughly|about|finally|in the end|tell me|please|later on|later|now|towards the end"
    r"|in this house|"
    r"in your view|exactly|after all that|at the end|also|this time|during the video|before anything else|great"
    r"|cool|nice|at the start)"
    r"[,.!:]? )+"
)


_END: Final = re.compile(
    r"(?:,? (?:at any point|in the video|during the video|at all|ever|in total|please|in seconds|today|tonight|exactly|"
    r"altogether|all together|of the video|in this house|in the end|overall|then|over the whole video|already|too"
    r"|either"
    r"|as well|instead|though|okay|at first))+$"
)


def understand(question: str, referents: Referents = NOBODY) -> Asked | None:
    """What a question asks for, or None where that is not sure.

    Args:
        question: One sentence.
        referents: What its pronouns stand for.
    """
    text = _base(question)
    begin = re.match(r"^(?:and |so )?(?:then|later|afterwards|next)[, ]", text) is not None
    at_end = re.search(r"\b(?:at the (?:very )?end|in the end|finally|when the video ends)\b", text) is not None
    core = _END.sub("", _START.sub("", text))
    core = re.sub(r"^he goes (.+)\. what for$", r"why do he go \1", core)
    core = re.sub(r"^he walks (.+)\. what for$", r"why do he walk \1", core)
    core = re.sub(r"^he puts (.+) somewhere\. where$", r"where do he put \1", core)
    referents = _within(text, referents)
    for reader in _READERS:
        asked = reader(core, text, referents)
        if asked is not None:
            if begin and asked.moment is None and asked.kind in ("yes_no", "action", "object"):
                return None if asked.kind == "yes_no" else _after_that(asked)
            if at_end and asked.kind == "yes_no":
                return None
            return asked
    return None


def _within(text: str, referents: Referents) -> Referents:
    """*It* is the one object that a question names before."""
    found = terms(text)
    objects = [(n, term.classes) for n, term in enumerate(found) if term.kind == "object" and term.classes != ANY]
    pronouns = [n for n, term in enumerate(found) if term.text in ("it", "them", "they")]
    if len({classes for _, classes in objects}) == 1 and pronouns and objects[0][0] < pronouns[0]:
        return replace(referents, it=objects[0][1])
    return referents


def _after_that(asked: Asked) -> Asked:
    return Asked(
        kind=asked.kind,
        clause=asked.clause,
        moment=Moment("after", None),
        pick="next",
        about=asked.about,
        besides=asked.besides,
    )


def _base(question: str) -> str:
    text = re.sub(r"[?.!\s]+$", "", plain(question))
    for form, base in ((r"does|did", "do"), (r"is|was|are|were", "be"), (r"has|had", "have")):
        text = re.sub(rf"\b(?:{form})\b", base, text)
    text = re.sub(r"\b(?:do|can|could) (?:you|we) (?:see|notice) (?:him|he) (?=\w)", "do he ", text)
    text = re.sub(r"\bbe there a (?:moment|time|point) when he\b", "do he", text)
    text = re.sub(r"\bcan (?:he|him) be seen\b", "do he", text)
    return re.sub(r"\bhe be seen\b|\bdo we see (?:him|he)\b", "do he", text)


_READERS: Final = (
    counts_asked,
    seconds_asked,
    posture_asked,
    state_asked,
    colour_asked,
    order_asked,
    closes_again_asked,
    holding_asked,
    choice_asked,
    back_asked,
    room_asked,
    use_asked,
    why_asked,
    tool_asked,
    where_asked,
    action_asked,
    what_asked,
    yes_no_asked,
)
"""Each reads one sort of question; the first that understands it decides."""
