"""Questions for rooms and places."""

import re

from reeltalk.graph.grounded_asked import Asked, Moment, Pick, timed_part
from reeltalk.graph.grounded_clauses import Clause, Referents, read_clause
from reeltalk.graph.grounded_words import ANY, objects_in, rooms_in, terms


def room_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *in which room does he eat*, and where he is at the start or end."""
    start = re.search(
        r"^(?:which room be he in|where be he|in which room|what room be he in|in what room be he|which room)"
        r"(?: do the video (?:begin|start|open)(?: in)?)? ?"
        r"(?:at (?:the (?:very )?(?:start|beginning)|first)|when the video (?:starts|begins))?$",
        core,
    )
    if re.search(
        r"\b(?:at the (?:very )?(?:start|beginning)|video (?:starts?|begins?|opens?)|do the video (?:begin|start"
        r"|open)|when we first see|at the start|at first)\b",
        text,
    ) and re.search(r"\broom|\bwhere (?:be|do)", core):
        return Asked("room", pick="first") if (start or not objects_in(core)) and not rooms_in(core) else None
    if re.search(
        r"\b(?:where (?:in the house )?|in which room |what room )(?:do (?:he|him) (?:decide to )?"
        r"|be he when he )(?:start|begin)(?:ed|s)?(?: (?:out|off))?(?: (?:his|the) (?:day|activit(?:y|ies)))?(?: in)?$",
        core,
    ):
        return Asked("room", pick="first")
    if re.search(
        r"\bat the (?:very )?end\b|\bvideo ends?\b|\bwhen we last see\b|\bend up in\b|\bat the last moment\b", text
    ) and re.search(r"\broom|\bwhere be he", core):
        return Asked("room", pick="last") if not objects_in(core) and not rooms_in(core) else None
    found = (
        re.match(
            r"^(?:in )?(?:which|what) room(?: be it(?: in which)?)?(?: of the house)? ?(?:be he in |do he "
            r"|can he |be )(?:when |while |as )?(?:he )?(.+?)(?: in)?$",
            core,
        )
        or re.match(r"^where in the house do he (.+)$", core)
        or re.match(r"^when he (.+), what room be he in$", core)
    )
    if re.match(
        r"^(?:and )?(?:in )?(?:which|what) room (?:be (?:that|this)(?: in)?"
        r"|do (?:he do )?that(?: happen)?(?: in)?|be he in|be he in (?:then|at that moment|at this moment))$"
        r"|^where in the house be that$|^where do (?:he do (?:that|this)|that happen|this happen)$",
        re.sub(r" then$| at that moment$", "", core),
    ):
        return Asked("room", moment=Moment("when", None))
    if found is None:
        return None
    what = re.sub(r"^(?:he )", "", found[1])
    clause = read_clause(what, referents)
    return None if clause is None or clause.rooms else Asked("room", clause=clause)


def where_asked(core: str, text: str, referents: Referents) -> Asked | None:
    """Reads *where does he put it*, *where does he get it from*, *where does he go next*."""
    core = re.sub(r"^(?:from where|in or on what|what place|in what place)\b", "where", core)
    if re.match(r"^what do he put (.+) in or on$", core):
        core = re.sub(r"^what do he put (.+) in or on$", r"where do he put \1", core)
    if not core.startswith("where"):
        return None
    timed = timed_part(core, referents)
    if timed is None:
        return None
    core, moment = timed
    # Where a thing is before it is taken, after it was put, or kept.
    if found := re.match(
        r"^where (?:be|do|can) (.+?)(?: (?:kept|end up|be found|put|left))?(?: before| first)?$", core
    ):
        named = terms(found[1])
        objects = [term for term in named if term.kind == "object" or term.text in ("it", "them", "they")]
        if (
            len(objects) == 1
            and not any(term.kind in ("verb", "word", "room") for term in named)
            and "he" not in [t.text for t in named]
        ):
            classes = objects[0].classes or referents.it
            if classes is None or classes == ANY:
                return None
            if re.search(r"\bend up\b|\bput\b|\bleft\b|\bbe found\b", core) or (moment and moment.relation == "after"):
                return Asked("place", Clause(frozenset({"put"}), main=classes))
            if re.search(r"\bkept\b|\bbefore\b", text) or (moment and moment.relation in ("before", "when")):
                return Asked("place", Clause(frozenset({"grab"}), main=classes))
            return None
    if (
        core in ("where be he", "where be he doing this")
        and moment is not None
        and moment.relation == "when"
        and moment.clause
    ):
        return None if moment.clause.rooms else Asked("place", clause=moment.clause)
    if moment is None and (found := re.match(r"^where be (?:the|his) ([a-z ]+?)(?: (?:located|at|kept))?$", core)):
        standing = [term for term in terms(found[1]) if term.kind != "stop"]
        if len(standing) == 1 and standing[0].kind == "object" and standing[0].classes != ANY:
            return Asked("place", about=standing[0].classes)
    found = re.match(r"^where do he (?:go|head|walk|move|run)(?: to)?( first| next| last)?$", core)
    if found is not None:
        pick: Pick = "first" if (found[1] or "").strip() == "first" else "next"
        if pick == "next" and moment is None:
            moment = Moment("after", None) if found[1] else None
        return Asked("room", Clause(frozenset({"go"})), moment=moment, pick=pick) if moment or pick == "first" else None
    if found := re.match(r"^where do he (?:take|bring|move|carry) (.+?)(?: to)?$", core):
        carried = None if core.endswith(" from") else read_clause(f"put {found[1]}", referents)
        if carried is not None:
            return Asked("place", clause=carried, moment=moment, words=("carried",))
    found = re.match(r"^where (?:do|be|have) he (?:first )?(.+?)(?: (from|in|on|to|at))?$", core)
    if found is None:
        return None
    if found[1] in ("do that", "do this", "doing that", "doing this"):
        return Asked("room", moment=Moment("when", None))
    what = re.sub(r"^(?:find)\b", "get", found[1])
    clause = read_clause(what, referents)
    if clause is None or clause.rooms or clause.place or clause.source or clause.groups & {"go"}:
        return None
    return Asked("place", clause=clause, moment=moment)
