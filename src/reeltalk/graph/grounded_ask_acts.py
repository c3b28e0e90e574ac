"""Questions for what is done: whether, in which order, how, and what comes next."""

import re
from typing import Final

from reeltalk.graph.grounded_asked import Asked, Moment, one_named, timed_part
from reeltalk.graph.grounded_clauses import Clause, Referents, read_clause
from reeltalk.graph.grounded_words import ANY, objects_in, rooms_in, terms

_NARROWED: Final = (
    r"\b(?:else|other|another|different|same|if|more|than|only|just|first|last|whole|entire|all|every|both|each|fully"
    r"|completely|straight|enough|because|how|why|several)\b"
)
"""Words that make a question ask for more than whether it was done."""


def yes_no_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *does he drink the milk*."""
    timed = timed_part(core, referents)
    if timed is None or " or " in core:
        return None
    core, moment = timed
    found = re.match(r"^(?:do|have|be) (?:he|him|they) (?:also |ever |actually |just |indeed )?(.+)$", core)
    if found is None or re.search(_NARROWED, core):
        return None
    if re.search(r"\bback\b|^return (?!to\b)", found[1]) and not re.search(
        r"\b(?:go|come|walk|head|sit|get)\b", found[1]
    ):
        return None
    what, again = re.subn(r"\b(?:again|later|later on|afterwards|remember to)\b ?", "", found[1])
    clause = read_clause(what.strip(), referents)
    if clause is None or clause.negated:
        return None
    if core.startswith("be") and not re.match(r"\w+ing\b", found[1]):
        return None
    if again and moment is None:
        if not clause.groups & {"close", "switchOff"}:
            return None
        opened = Clause(frozenset({"open"} if "close" in clause.groups else {"switchOn"}), main=clause.main)
        moment = Moment("after", opened)
    return Asked("yes_no", clause=clause, moment=moment)


def closes_again_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *is the fridge closed again after he has opened it*."""
    if not (re.search(r"\bclos(?:e|es|ed)\b", core) and re.search(r"\b(?:again|later|remember to)\b", core)):
        return None
    classes = one_named(core, referents)
    if classes is None or re.search(r"\bhow many\b|\bwhen\b|\bwho\b|\bwhy\b", core):
        return None
    opened = Clause(frozenset({"open"}), main=classes)
    return Asked("yes_no", Clause(frozenset({"close"}), main=classes), moment=Moment("after", opened))


def holding_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *is he holding the pillow when he falls*."""
    timed = timed_part(core, referents)
    if timed is None or timed[1] is None or timed[1].relation != "when" or timed[1].clause is None:
        return None
    found = re.match(r"^be he (?:still )?(?:holding|carrying) (.+?)(?: in his hands?)?$", timed[0])
    if found is None:
        return None
    named = [term for term in terms(found[1]) if term.kind != "stop"]
    if len(named) != 1 or named[0].kind not in ("object", "pronoun"):
        return None
    classes = named[0].classes or (referents.it if named[0].text in ("it", "them") else None)
    return None if classes is None else Asked("holding", moment=timed[1], about=classes)


def choice_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *does he drink the milk or the juice*, which a name answers as well as *both*."""
    timed = timed_part(core, referents)
    if timed is None or (found := re.match(r"^(?:do|have|be) he (.+?),? or (?:just |only )?(.+)$", timed[0])) is None:
        return None
    core, moment = timed
    other = [term for term in terms(found[2]) if term.kind != "stop"]
    first = terms(found[1])
    if len(other) != 1 or other[0].kind not in ("object", "room") or not first or first[-1].kind != other[0].kind:
        return None
    clause = read_clause(found[1], referents)
    if clause is None or clause.negated or ANY in (other[0].classes, first[-1].classes) or clause.groups & {"use"}:
        return None
    both = read_clause(" ".join([*(term.text for term in first[:-1]), other[0].text]), referents)
    if both is None:
        return None
    return Asked("choice", clause=clause, other=both, moment=moment)


_BACK: Final = re.compile(
    r"\bput (.+?) back(?: to)? (?:where|in the same place)|\bend up where\b|\bput back to where\b|\bback where\b"
    r"|\breturn (.+?) to where\b|\bin the same place\b|\bleave (.+?) where (?:it|they) be\b|\bthat where (?:it"
    r"|they) be\b"
    r"|^(?:do|have) he (?:put|return) (?:it|them) back$"
)


def back_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *does he put it back where it was*."""
    if not _BACK.search(core):
        return None
    classes = one_named(core, referents)
    return None if classes is None or classes == ANY else Asked("back", about=classes)


def posture_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *is he sitting or standing when he eats*."""
    if not (re.search(r"\b(?:sit|sitting)\b", core) and re.search(r"\b(?:stand|standing)\b", core) and " or " in core):
        return None
    rest = re.sub(
        r"^in what posture do he|what be his posture|^how do he|^do he|^be he|"
        r"\b(?:be he|do he|does he|he|be|while|in what posture|how|at that moment|then|doing)?[ ,:]*"
        r"(?:sit(?:ting)?|l(?:ie|ying|ay)|stand(?:ing)?)(?: down| up)?(?:, | or |, or )"
        r"(?:(?:sit(?:ting)?|l(?:ie|ying|ay)|stand(?:ing)?)(?: down| up)?(?:, | or )?)+",
        " ",
        core,
    )
    rest = re.sub(r"\b(?:be his posture|in what posture|what|how|then|at that moment|at this moment|and)\b", " ", rest)
    rest = re.sub(r"[,:]", " ", re.sub(r"\s+", " ", rest)).strip()
    rest = re.sub(r"^(?:(?:do|be|he|when|while|to|as) )+|(?: (?:be|do|he|when|while|as))+$", "", rest).strip()
    if rest in ("", "that", "doing that", "do that", "be", "do", "he", "he do that"):
        return Asked("posture", moment=Moment("when", None))
    clause = read_clause(rest, referents)
    return None if clause is None else Asked("posture", clause=clause)


def order_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *does he eat before or after reading*."""
    found = (
        re.match(r"^(?:tell me the order: )?do he (.+?) (?:before or after|before) (.+?)(?:, or after)?$", core)
        if re.search(r"before or after|, or after$", core)
        else re.match(r"^(?:which|what) (?:comes?|happens?|be|do he do) (?:first|earlier)[:,] (.+?) or (.+)$", core)
        or re.match(r"^be (.+?) earlier or later than (.+)$", core)
        or re.match(r"^(?:of|between) (.+?) and (.+?), (?:which|what) (?:do he do|be|comes?) first$", core)
        or re.match(r"^the order: do he (.+?) before (.+?), or after$", core)
        or re.match(r"^do he (.+?) first or (.+)$", core)
    )
    if found is None:
        return None
    one, other = read_clause(found[1], referents), read_clause(found[2], referents)
    return None if one is None or other is None else Asked("order", clause=one, other=other)


_ACTIVITY: Final = r"(?:thing|activity|action|task|chore|step|move)"


_DO_WHAT: Final = re.compile(
    r"^(?:what|which (?:action|activity|task)|what (?:action|activity|task))(?: be| do| comes?| happens?"
    r"| happened| follows?| have)"
    rf"(?: (?:the|his) (?:very )?(?:next|last|first|final) {_ACTIVITY})?"
    r"(?: (?:that )?(?:you see )?(?:he|him))?(?: (?:do|doing|does|do do|been doing|start by doing|start doing"
    r"|begin doing|begin by doing))?(?: to (?:he|him))?"
    rf"(?: (?:for|in|as) (?:the|his) (?:next|last|first|final) {_ACTIVITY})?(?: (?:first|next|last))?$"
)


_IN_ROOM: Final = re.compile(
    r"^what(?: else)? (?:do he do|be he doing|have he been doing)(?: while)?(?: he be)? (in (?:the |his )?[a-z ]+"
    r"|there|in there)(?: then)?$"
)


_WITH: Final = re.compile(r"^what (?:do he do|be he doing) with ((?:the |his |that )?[a-z ]+|it|them)$")


def action_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *what does he do next*, and *what does he do in the kitchen*."""
    if re.fullmatch(r"(?:and )?(?:then|next|after that|what (?:happens?|do) (?:next|after that|then))", text):
        return Asked("action", moment=Moment("after", None), pick="next")
    if re.fullmatch(r"(?:and )?(?:right |just |immediately )?before that", text):
        return Asked("action", moment=Moment("before", None, True), pick="previous")
    clean = re.sub(
        r"\b(?:apart from walking|besides walking|walking aside|other than walk|other than walking)\b,? ?", "", core
    )
    clean = re.sub(r"^which (?:action of his|action) (?=comes)", "what ", clean.strip(" ,"))
    if found := re.match(
        r"^(?:what (?:be|do) (?:the first thing |his first action )?(?:he )?(?:do"
        r"|does)?(?: first)?(?: begin with)? ?(?:after (?:entering|he have come to)|in|when he comes? into)|"
        r"(?:when he comes? into|after he have come to|once in|in)) the ([a-z ]+?)(?:,.*)?$",
        clean.replace("what be his first action", "what do he do first").strip(" ,"),
    ):
        rooms = rooms_in(found[1])
        if len(rooms) == 1 and "first" in text + (" first" if "begin" in text else "") and clean != core:
            return Asked("action", pick="first", about=rooms[0].classes)
        return None
    if found := _IN_ROOM.match(clean):
        rooms = rooms_in(found[1])
        if len([term for term in terms(found[1]) if term.kind not in ("stop", "pronoun") and term.text != "in"]) > len(
            rooms
        ):
            return None
        there = rooms[0].classes if rooms else referents.there
        return Asked("action", pick="all", about=there) if there is not None else None
    if found := _WITH.match(clean):
        named = [term for term in terms(found[1]) if term.kind != "stop"]
        if len(named) == 1 and (classes := named[0].classes or (referents.it if named[0].kind == "pronoun" else None)):
            return Asked("action", pick="all", about=classes) if classes != ANY else None
    clean = re.sub(r"^what (?:be )?his last action\b", "what do he do", clean)
    timed = timed_part(clean, referents)
    if timed is None:
        return None
    rest, moment = timed
    rest = re.sub(r"^(?:once he be done with|after) .+?, ", "", rest).strip()
    found = _DO_WHAT.match(rest)
    if found is None:
        return None
    if moment is None:
        if re.search(r"\b(?:next|then)\b", text):
            return Asked("action", moment=Moment("after", None), pick="next")
        if re.search(r"\bfirst\b|\b(?:start|begin) (?:by )?doing$", rest):
            return Asked("action", pick="first")
        return Asked("action", pick="last") if re.search(r"\b(?:last|final)\b", rest) else None
    if moment.relation == "when":
        return None
    return Asked("action", moment=moment, pick="next" if moment.relation == "after" else "previous")


def use_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *what does he do with it first, once he holds it*."""
    if not re.search(r"\bfirst\b", core) or not re.search(r"\b(?:with|use|to)\b", core):
        return None
    found = re.search(
        r"\b(?:do he do with|thing he do(?:es)? with|happens to|first use) (it|them|(?:the )?[a-z ]+?)(?: first"
        r"| for| once.*| after.*)*$",
        core,
    )
    if found is None:
        return None
    named = {term.classes for term in objects_in(core) if term.classes != ANY}
    classes = named.pop() if len(named) == 1 else referents.it if not named else None
    return None if classes is None else Asked("action", about=classes, pick="next")


def why_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *why does he walk to the fridge*."""
    timed = timed_part(core, referents)
    if timed is None:
        return None
    rest, moment = timed
    found = re.match(
        r"^(?:why|for what purpose|what be the reason(?: why| for)?|what makes (?:him|he)|what) (?:do he |he "
        r"|his )?(.+)$",
        rest,
    )
    asks = r"^why|^for what|^what be the reason|^what makes|.* for$|.* to do$|^what do he want (?:at|in)\b"
    if found is None or not re.match(asks, rest):
        return None
    walk = re.sub(r"\b(?:to do|for)$", "", found[1]).strip()
    clause = read_clause(re.sub(r"^(?:want (?:at|in)|walk to|goes to)\b", "walk to", walk), referents)
    if clause is None or not clause.groups & {"go"} or (clause.main is None and clause.room is None):
        return None
    return Asked("purpose", clause=clause, moment=moment)
