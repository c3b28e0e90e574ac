"""Questions for objects, numbers, states and colours."""

import re
from typing import Final

from reeltalk.graph.grounded_asked import Asked, Moment, Pick, one_named, timed_part, with_object
from reeltalk.graph.grounded_clauses import Clause, Referents, read_clause
from reeltalk.graph.grounded_words import ANY, Term, objects_in, terms

_COUNTED_ROOMS: Final = frozenset(
    """how many different rooms room be he in do spend time appear the video of house we see what number to goes go
    first one included visit counting starts start seen play at a enter""".split()
)


def counts_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *how many times*, *how many glasses*, *how many rooms*."""
    if re.search(r"\bhow many (?:different )?rooms\b|\bnumber of rooms\b", core):
        words = set(re.findall(r"[a-z]+", core)) - {"that"}
        return Asked("rooms") if words <= _COUNTED_ROOMS else None
    if re.search(r"\bhow many (?:different )?(?:people|persons)\b|\bnumber of people\b|more than one person", core):
        return Asked("people")
    if re.search(r"\bcounting everyone, how many people\b", text):
        return Asked("people")
    if re.search(r"\bhow (?:many|much) (?:seconds|minutes|time)\b|\bhow long\b|\b(?:what|how) .* in seconds\b", core):
        return None
    found = (
        re.match(
            r"^(?:how many times|how often|count the times) (?:do|can|have|be)? ?(?:he|him|we see him)? ?(.+)$", core
        )
        or re.match(r"^what be the number of times (?:he )(.+)$", core)
        or re.match(r"^do he (do that) once or more often, and how many times$", core)
    )
    if found is not None:
        what = re.sub(r"\. how many be there$", "", found[1])
        what = re.sub(r"^(?:do|have) (?:he|him|we see him) ", "", what)
        if re.match(
            r"^(?:he )?(?:do |doing |see )?(?:that|this|so)(?: happens?)?$|^do that happen$|^that happen$"
            r"|^(?:do )?we see that$",
            what,
        ):
            return Asked("count", moment=Moment("when", None))
        clause = read_clause(what, referents)
        if clause is None or clause.groups & {"use", "go"}:
            return None
        return Asked("count", clause=clause)
    found = re.match(
        r"^(?:what be the number of|how many)(?: of the)? (different )?(.+?) (?:do|be|can|have"
        r"|end) (.+?)(?:,? (?:counting each|each counted) (?:only )?once)?$",
        re.sub(r"^counting each only once, ", "", core),
    ) or re.match(r"^what be the number of (different )?(things|objects) (he .+)$", core)
    if found is None:
        return None
    counted = terms(found[2])
    nouns = [term for term in counted if term.kind in ("object", "room")]
    if len(nouns) != 1 or any(
        term.kind == "word" and term.text not in ("dirty", "used", "slices", "pieces") for term in counted
    ):
        return None
    if re.match(r"^(?:up in his hands|picked up)", found[3]):
        return Asked("count", Clause(frozenset({"grab"}), main=nouns[0].classes), distinct=True)
    clause = with_object(found[3], nouns[0], referents)
    if clause is None or clause.groups & {"use", "cook", "go"}:
        return None
    return Asked("count", clause=clause, about=nouns[0].classes, distinct=True)


def seconds_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *how long does he sleep*."""
    if re.search(r"\bvideo\b", text) and re.search(r"\bhow long\b|\blength\b|\bseconds\b|\bhow much time\b", core):
        known = (
            "how long be do the video last what length of many seconds take takes much time cover for run it to watch"
        )
        if set(re.findall(r"[a-z]+", text)) <= {*known.split(), "can", "you", "tell", "me", "about"}:
            return Asked("seconds")
        return None
    found = re.match(
        r"^(?:for |about )?(?:how long|how much time|how many seconds|what time) (?:do|can|be|have) (?:he )?"
        r"(?:spend |be seen |take for |do )?(?:on )?(.+?)(?: for|, in seconds)?$",
        core,
    )
    if found is None:
        return None
    if re.match(r"^(?:that|do that|that take|it take|this|do this|that last)$", found[1]):
        return Asked("seconds", moment=Moment("when", None))
    clause = read_clause(found[1], referents)
    return None if clause is None else Asked("seconds", clause=clause)


def state_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *is the TV on or off at the end*."""
    found = re.search(r"\b(on or off|off or on|open or closed|closed or open|open or close)\b", core)
    if found is None:
        return None
    named = {term.classes for term in objects_in(core[: found.start()] + core[found.end() :])}
    classes = named.pop() if len(named) == 1 else referents.it if not named else None
    ends = re.search(r"\bend\b|\bends\b|\bfinally\b|\bleft\b|\bafter all that\b", text)
    rest = core[: found.start()] + core[found.end() :]
    known = {"be", "in", "what", "state", "do", "end", "with", "how", "left", "when", "video", "ends", "it", "they"}
    known |= {"the", "at", "end", "and", "of", "finally", "after", "all", "that", "them", "room"}
    words = {term.text for term in terms(rest) if term.kind not in ("object", "stop", "mark")}
    if classes is None or ends is None or not words <= known:
        return None
    return Asked("state", about=classes, words=("open", "closed") if "open" in found[1] else ("on", "off"))


def colour_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *what colour is the mug*."""
    if not re.search(r"\bcolou?r\b", core):
        return None
    if part := re.search(r"\bhis (shirt|trousers|hair|shoes|skin|pants|clothes)\b", core):
        return Asked("colour", words=(part[1],))
    classes = one_named(core, referents)
    known = set(
        "what colour color be the which of can you tell me how would describe in this house video look at it they and "
        "its their them his have a one do".split()
    )
    words = {term.text for term in terms(core) if term.kind not in ("object", "stop", "mark")}
    return Asked("colour", about=classes) if classes is not None and words <= known else None


def what_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *what does he pick up first*, *which drink does he pour*."""
    core = re.sub(r"\bend up in his hands\b|\bcomes? into his hands\b", "do he pick up", core)
    core = re.sub(r"\bof all the things he picks up, which comes (first|last)\b", r"what do he pick up \1", core)
    core = re.sub(
        r"\bthe (?:very )?(?:first|last|final|next) (?:thing|object|one|item)(?: that)? he takes? into his hands\b",
        lambda m: m[0].replace("takes into his hands", "picks up").replace("take into his hands", "picks up"),
        core,
    )
    core = re.sub(
        r"\b(?:do he )?(?:get|gets) hold of\b", lambda m: "do he pick up" if m[0].startswith("do") else "picks up", core
    )
    if re.search(r"\bbesides\b|\bapart from\b|\bother than\b|\belse\b|\bother things\b", core):
        return _what_else(core, referents)
    pick: Pick = "all"
    if re.search(r"\b(?:very )?first\b|\bbefore anything else\b", text):
        pick = "first"
    elif re.search(r"\blast(?: of all)?\b|\bfinal\b", core):
        pick = "last"
    elif re.search(r"\bnext\b", core):
        pick = "next"
    core = re.sub(r"\b(?:very )?(?:first|final)\b ?|\blast(?: of all)?\b ?|\bnext\b ?", "", core).strip()
    timed = timed_part(core, referents)
    if timed is None:
        return None
    core, moment = timed
    if pick == "next" and moment is None:
        moment = Moment("after", None)
    core = re.sub(r"^what be the (?:thing|object|one|item)(?: that)? he ", "what do he ", core.strip())
    core = re.sub(r"^which (?:object|thing|item) be the one(?: that)? he ", "what do he ", core)
    found = re.match(
        r"^(?:what|which)(?: (?:kind|type|sort) of)?(?: (?!do\b|be\b|have\b)([a-z ]+?))? (?:do|be|have) he (.+)$", core
    )
    if found is None:
        return None
    about = ANY
    if found[1]:
        nouns = terms(found[1])
        if len(nouns) != 1 or nouns[0].kind != "object":
            return None
        about = nouns[0].classes
        if re.search(r"\b(?:kind|type|sort) of\b", core) and len(about) == 1:
            # Which juice it is no graph says.
            return None
    if re.search(r"\bdo$|\bdoing$", found[2]):
        return None
    noun = Term("object", "something", ANY)
    clause = with_object(found[2], noun, referents)
    if clause is None or (clause.groups & {"go", "use", "fall", "find"} and not clause.tool):
        return None
    if moment is not None and pick == "all":
        pick = "next" if moment.relation == "after" else "previous" if moment.relation == "before" else "all"
    return Asked("object", clause=clause, moment=moment, pick=pick, about=about)


def _what_else(core: str, referents: Referents) -> Asked | None:
    if re.search(r"\b(?:use|clean|do with|do$|doing)\b", core):
        return None
    named = [term.classes for term in objects_in(core)]
    besides = frozenset().union(*named) if named else referents.it
    takes = re.search(r"\bpicks? (?:it )?up\b|\btakes?\b|\bpick up\b", core)
    if besides is None or not takes or len(named) > 1 or re.search(r"\b(?:from|in the|on the)\b", core):
        return None
    if not re.match(
        r"^(?:what|which|apart|besides|other|do he pick up anything else, and|be there other things)", core
    ):
        return None
    return Asked("object", Clause(frozenset({"grab"}), main=ANY), about=ANY, besides=besides)


def tool_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *what does he use to clean the sink*."""
    found = (
        re.search(r"\b(?:use|take|helps him)(?: in order)? to clean (.+)$", core)
        or re.search(r"\bwith what do he clean (.+)$", core)
        or re.search(r"\bclean (.+?) with$", core)
        or re.search(r"\bin his hand when he cleans (.+)$", core)
        or re.search(r"^by what means do he clean (.+)$|^how (?:do he|be) (?:clean|get) (.+?)(?: clean(?:ed)?)?$", core)
        or re.search(r"\b(?:in what way do he|what do he do to|how he) cleans? (.+)$", core)
        or re.search(r"^how be (.+) cleaned$", core)
    )
    if found is None or not re.match(r"^(?:what|which|with what|how|by what|in what)", core):
        return None
    if re.search(r"\b(?:or|anything|something|else|other)\b", core):
        return None
    named = terms(next(group for group in found.groups() if group))
    objects = [term for term in named if term.kind == "object" or term.text in ("it", "them")]
    if len(objects) != 1 or any(
        term.kind in ("word", "verb", "mark") and term.text not in ("clean",) for term in named
    ):
        return None
    classes = objects[0].classes or referents.it
    if classes is None or classes == ANY:
        return None
    return Asked("object", Clause(frozenset({"wipe", "scrub"}), main=classes, tool=ANY), about=ANY)
