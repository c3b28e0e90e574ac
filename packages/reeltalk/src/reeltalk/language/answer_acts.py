"""Readers of answers about acts: which act happens, and which of two acts comes first."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from reeltalk.language.answer_clauses import BACKGROUND, RULE_FILE, Clause, clauses_of, open_of, stop_of
from reeltalk.language.answer_people import named_people, tells_roles
from reeltalk.language.answer_values import NOTHING, ReadValues, is_unlike, is_used, preposition
from reeltalk.language.answer_words import (
    PUNCTUATION,
    Mention,
    answer_tokens,
    is_denied_before,
    lexicon,
    names_in,
    verbs_in,
)
from reeltalk.language.phrases import AGENTLESS_ACTIONS, SPEECH, VERBS
from reeltalk.language.vocabulary import PERSON, ROOMS
from reeltalk.schema.dialogue import AnswerKey

_FROM: Final = frozenset(RULE_FILE.phrases["from"])
MOST_ACTS: Final = 4
"""Most different acts in an answer; more count as guessing."""
_OPPOSED: Final = (
    ({"open"}, {"close"}),
    ({"switchOn"}, {"switchOff"}),
    ({"grab"}, {"put", "putIn"}),
    ({"sit", "lie", "squat"}, {"stand"}),
    ({"plugIn"}, {"plugOut"}),
)


@dataclass(frozen=True)
class Act:
    """An act in a key: action, main object and targets."""

    action: str
    main: str | None
    targets: tuple[str, ...] = ()

    @classmethod
    def of(cls, value: str) -> "Act":
        """Parse a value of a key, for example `put|mug|coffeetable`."""
        action, *names = (name for name in value.split("|"))
        main, *targets = [name if name != PERSON else "" for name in names] or [""]
        return cls(action, main or None, tuple(name for name in targets if name))

    @property
    def names(self) -> frozenset[str]:
        """Its main object and targets."""
        return frozenset(({self.main} if self.main else set()) | set(self.targets))


def _about(key: AnswerKey) -> frozenset[str]:
    """Things that a pronoun in the answer can mean."""
    first = key.about[0] if key.about else ""
    return Act.of(first).names if "|" in first else frozenset({first} if first else ())


def tells_act(clause: Clause, act: Act, about: frozenset[str], tokens: Sequence[str]) -> bool:
    """True if a clause states an act. Parts that the clause leaves out may be anything."""
    if act.action == "walk" and "leaving" in clause.verb.values:
        # "He leaves the kitchen for the living room."
        rest = list(tokens[clause.verb.end : clause.end])
        cues = [n for n, word in enumerate(rest) if word in ("for", "to", "into")]
        return bool(cues) and any(act.main in m.values for m in names_in(rest[cues[0] :], "noun", "room"))
    if act.action not in clause.verb.values:
        return False
    if act.action in AGENTLESS_ACTIONS:
        # "The kettle boils": the thing is the subject. "He breaks the vase" tells the same.
        named = [values for values in (clause.subject, *clause.objects) if values]
        return not named or act.main is None or any(act.main in values for values in named)
    if act.action in SPEECH or act.action == "say":
        named = [values for values in (*clause.objects, *(v for _, v in clause.places)) if values]
        return not named or act.main is None or any(act.main in values for values in named)
    if clause.subject is not None and not clause.passive and act.main and clause.subject & {act.main}:
        return False
    said = [about if values is None else values for values in clause.objects]
    if act.action in ("walk", "run", "turnTo", "climb"):
        to = [v if v is not None else about for where, v in clause.places if where not in _FROM] + said
        if act.main is None:
            # "He turns to Emma": the key of an act towards a person has no main object.
            return not [values for values in to if values]
        return any(act.main in values for values in to if values)
    if act.action in ("wipe", "scrub", "sweep"):
        return _cleans(clause, act, about)
    if act.action in (
        "sit",
        "lie",
        "sleep",
        "lookAt",
        "watch",
        "type",
        "write",
        "text",
        "stand",
        "fallsit",
        "wakeUp",
        "drink",
        "play",
    ):
        said += [
            v if v is not None else about for where, v in clause.places if where not in _FROM or act.action == "drink"
        ]
        if act.main == "computer" and any("keyboard" in values for values in said):
            return True
        return not said or act.main is None or any(act.main in values or not values for values in said)
    if act.action == "pour" and act.main and said and act.main not in said[0]:
        # "waters the plant with the watering can"
        held = [v if v is not None else about for where, v in clause.places if where in ("with", "using")]
        return any(act.main in v for v in held) and (not act.targets or act.targets[0] in said[0])
    if act.action == "wash" and not said:
        # "He washes his hands with it": the tool is what the act is done with.
        held = [v if v is not None else about for where, v in clause.places if where in ("with", "using")]
        return any(act.main in v for v in held)
    if act.main is not None:
        # "Pouring some into the bowl" leaves out what the question names.
        if not said and not (clause.places and act.main in about):
            return False
        if said and said[0] and act.main not in said[0]:
            return False
    if act.targets:
        there = [
            (where, v if v is not None else about | frozenset(act.targets))
            for where, v in clause.places
            if where not in _FROM and where not in ("with", "at")
        ]
        if act.action == "putIn" and act.targets[0] not in lexicon().either and there:
            there = [(w, v) for w, v in there if w in _INSIDE or act.targets[0] not in v] or [("beside", frozenset())]
        there = [(where, v) for where, v in there if not (v & ROOMS) or act.targets[0] in ROOMS]
        return not there or any(
            act.targets[0] in v and (where in ("on", "in", "to", "into", "onto", "inside", "on top of", "upon", "over"))
            for where, v in there
        )
    return True


_INSIDE: Final = frozenset(RULE_FILE.phrases["inside"])


def _cleans(clause: Clause, act: Act, about: frozenset[str]) -> bool:
    tools = [v for where, v in clause.places if where in ("with", "using", "by using") and v]
    cleaned = [about if v is None else v for v in clause.objects]
    if act.main is not None and tools and not any(act.main in v for v in tools):
        return False
    if act.targets and cleaned and cleaned[0] and act.targets[0] not in cleaned[0]:
        return False
    return bool(tools) or bool(cleaned and act.targets)


def read_action(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read the act that an answer states."""
    about = _about(key)
    wanted = [Act.of(value) for value in (*key.values, *key.also)]
    others = [Act.of(value) for value in key.among]
    known = [Act.of(value) for value in key.about if "|" in value]
    asked = answer_tokens(question)
    taken_for_granted = clauses_of(asked, about)
    known += [act for act in others if any(tells_act(clause, act, about, asked) for clause in taken_for_granted)]
    clauses = clauses_of(tokens, about)
    people = named_people(tokens, key)
    things = [m for m in names_in(tokens, "noun") if any(act.main in m.values for act in wanted)]
    if key.looks and things and all(is_unlike(tokens, m, key.looks) for m in things):
        return ReadValues((" ".join(tokens[things[0].start - 1 : things[0].end]),), why="it is another thing")
    told: list[tuple[Clause, str | None]] = []
    last = about
    for clause in clauses:
        there = last or about
        fitting = next((act for act in wanted if tells_act(clause, act, there, tokens)), None)
        unlike = fitting is not None and (
            not tells_roles(tokens, clause, people, key) or _is_of_another_thing(tokens, clause, fitting, key)
        )
        if fitting is not None and "clean" in asked and _CLEAN & set(tokens[clause.verb.start : clause.verb.end]):
            # "He cleans it" repeats the question, unless it names the tool.
            fitting = fitting if any(where in ("with", "using", "by using") for where, _ in clause.places) else None
        rivals = [act for act in others if tells_act(clause, act, there, tokens)]
        if fitting is not None and not _by_its_verb(tokens, clause, fitting):
            # "He looks at it" can mean that he turns to it, unless the video holds both.
            fitting = None if any(_by_its_verb(tokens, clause, act) for act in rivals) else fitting
        other = rivals[0] if rivals and fitting is None else None
        if clause.objects and clause.objects[0]:
            last = clause.objects[0]
        if clause.negated or (clause.background and len(clauses) > 1 and not _main(tokens, clause)):
            continue
        if unlike:
            told.append((clause, "other"))
        elif fitting is not None:
            told.append((clause, "due"))
        elif other is not None and not any(tells_act(clause, act, there, tokens) for act in known):
            held = {*key.about, *(act.main for act in wanted if _holds(act))}
            # "He walks to the mug to pick it up": the question took the walk for granted.
            presupposed = other.main in (
                held if other.action == "grab" else key.about if other.action == "walk" else ()
            )
            # "He goes there to open it" tells no walk of its own.
            presupposed = presupposed or (other.action == "walk" and not any(clause.objects) and not clause.places)
            told.append((clause, None if presupposed else "other"))
        else:
            told.append((clause, None))
    if not any(kind == "due" for _, kind in told) and _by_tool(tokens, wanted, question):
        return ReadValues(key.values, right=True)
    due = [clause for clause, kind in told if kind == "due"]
    if not due:
        return ReadValues((" ".join(tokens[told[0][0].verb.start : told[0][0].end]),)) if told else NOTHING
    span = tokens[open_of(tokens, due[0].verb.start) : stop_of(tokens, due[0].end)]
    if "or" in span or "either" in tokens:
        return ReadValues(key.values, why="it leaves open which")
    place = told.index((due[0], "due"))
    if any(kind == "other" for _, kind in told[:place]):
        return ReadValues(
            (" ".join(tokens[told[0][0].verb.start : told[0][0].end]),), why="it tells something else first"
        )
    standing = [clause for clause in clauses if clause is not due[0] and not clause.negated]
    named, rest = (
        [c for c in standing if any(tells_act(c, act, about, tokens) for act in acts)] for acts in (known, others)
    )
    if _is_turned(tokens, question, due[0], named, rest):
        return ReadValues(key.values, why="it tells the other order")
    if len({clause.verb.values for clause, _ in told}) > MOST_ACTS:
        return ReadValues(key.values, why="it tells too many acts")
    return ReadValues(key.values, right=True)


def _is_of_another_thing(tokens: list[str], clause: Clause, act: Act, key: AnswerKey) -> bool:
    """True if the thing of an act has another colour or size than in the key."""
    span = tokens[open_of(tokens, clause.verb.start) : clause.end]
    return any(act.main in m.values and is_unlike(span, m, key.looks) for m in names_in(span, "noun"))


_CLEAN: Final = RULE_FILE.words["clean"]


def _is_turned(tokens: list[str], question: str, due: Clause, known: Sequence[Clause], rest: Sequence[Clause]) -> bool:
    """True if an answer puts the right act on the wrong side of the act in the question."""
    early = bool(re.search(r"\b(?:before|previous)\b", question)) and "after" not in question
    late = bool(re.search(r"\b(?:after|next|then)\b", question)) and "before" not in question
    first = bool(re.search(r"\b(?:begins?|starts?|first)\b", question)) and not early and not late
    for clause in (*known, *(rest if first else ())):
        lead = tokens[open_of(tokens, clause.verb.start) : clause.verb.start][-4:]
        cue = next((word for word in reversed(lead) if word in BACKGROUND), None)
        ahead = clause.verb.start < due.verb.start
        between = tokens[max(0, clause.end - 3) : due.verb.start] if ahead else tokens[due.verb.end : clause.verb.start]
        then = cue is None and "then" in between
        precedes = cue in ("after", "once", "having", "following") or (then and ahead)
        follows = cue == "before" or (then and not ahead)
        # "Having picked it up, he rinses it."
        other = first and clause not in known and "grab" not in clause.verb.values
        if ((early or other) and precedes) or (late and follows):
            return True
    return False


def _by_its_verb(tokens: Sequence[str], clause: Clause, act: Act) -> bool:
    """True if a clause uses the standard verb of an act."""
    verb = VERBS.get(act.action, (act.action,))[0]
    return verb in lexicon().verbs.get(tokens[clause.verb.start], ())


def _holds(act: Act) -> bool:
    return act.action not in ("grab", "open", "close", "walk", "sit", "lie", "switchOn", "switchOff")


def _main(tokens: Sequence[str], clause: Clause) -> bool:
    """True if a clause with *when* or *after* is a main clause: another verb is between that word and its verb."""
    start = open_of(tokens, clause.verb.start)
    between = tokens[start : clause.verb.start]
    cues = [n for n, word in enumerate(between) if word in BACKGROUND]
    # "After opening the fridge he picks up the mug": another verb is between.
    nouns = names_in(between, "noun", "room")
    return bool(cues) and any(v.values and v.start > cues[-1] for v in verbs_in(between, nouns))


def _by_tool(tokens: list[str], wanted: Sequence[Act], question: str) -> bool:
    """True if the answer names only the tool, as *with the towel*, and the question asks how something is cleaned."""
    if "clean" not in question:
        return False
    nouns = names_in(tokens, "noun", "room")
    for act in wanted:
        if act.action not in ("wipe", "scrub") or act.main is None:
            continue
        tools = [
            m for m in nouns if preposition(tokens, m.start) in ("with", "using", "by using") or is_used(tokens, m)
        ]
        said = [m for m in tools if not is_denied_before(tokens, m)]
        if (
            said
            and all(act.main in m.values for m in said)
            and not [m for m in nouns if m not in tools and m.values & {act.main}]
        ):
            return "or" not in tokens
    return False


_EARLIER: Final = RULE_FILE.words["earlier"]
_LATER: Final = RULE_FILE.words["later"]


def read_order(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read which of two acts an answer puts first."""
    if not key.among:
        return NOTHING
    first, second = Act.of(key.values[0]), Act.of(key.among[0])
    told = [c for c in clauses_of(tokens, first.names) if not {first.action, second.action} & c.verb.values]
    if any(_opposes(clause, act) for act in (first, second) for clause in told):
        return NOTHING
    # "In the earlier scene he sits": the scene that the question asks for.
    if re.search(r"\bin the earlier\b", question) and tokens[:3] == ["in", "the", "earlier"]:
        tokens = tokens[4 + (tokens[4:8] == ["of", "the", "two", "scenes"]) * 4 :]
    words = answer_tokens(question)
    asked = _sequence(words, first, second)
    # "Is it before or after putting it down that he sits?" asks when he sits.
    cleft = bool(asked) and words[max(0, asked[0][1] - 3) : asked[0][1]] == ["before", "or", "after"]
    subject = asked[-1 if cleft else 0][0] if asked else first
    other = second if subject == first else first
    said = _first(tokens, question, subject, other)
    if said is None:
        return NOTHING
    value = key.values[0] if said == first else key.among[0]
    return ReadValues((value,), right=said == first)


def _opposes(clause: Clause, act: Act) -> bool:
    """True if a clause tells the opposite act, as *switching on the faucet* for switching it off."""
    against = next((b if act.action in a else a for a, b in _OPPOSED if act.action in a | b), None)
    opposed = against is not None and bool(against & clause.verb.values)
    return opposed and clause.objects[:1] == (frozenset({act.main}),)


def _sequence(tokens: list[str], one: Act, two: Act) -> list[tuple[Act, int, int]]:
    """Mentions of two acts as (act, start, end), with consecutive mentions of one act merged."""
    nouns = names_in(tokens, "noun", "room")
    found: list[tuple[Act, int, int]] = []
    for m in sorted([*nouns, *verbs_in(tokens, nouns)], key=lambda m: m.start):
        if m.kind == "verb":
            hits = [act for act in (one, two) if act.action in m.values]
        else:
            hits = [act for act in (one, two) if act.names & m.values]
        if len(hits) != 1:
            continue
        if found and found[-1][0] == hits[0]:
            found[-1] = (hits[0], found[-1][1], m.end)
        else:
            found.append((hits[0], m.start, m.end))
    return found


def _first(tokens: list[str], question: str, subject: Act, other: Act) -> Act | None:
    text = " ".join(word for word in tokens if word not in PUNCTUATION)
    words = set(tokens)
    if re.search(r"\b(?:both|neither|same time|simultaneously|at once|together)\b", text) or re.search(
        r"\b(?:before|earlier|sooner|former|first)\b \b(?:or|and)\b (?:\w+ )?\b(?:after|later|latter|second)\b", text
    ):
        return None
    told = _sequence(tokens, subject, other)
    negated = bool({"not", "never"} & words)
    if not told:
        if re.search(r"\b(?:former|first (?:one|act|action|option|event))\b", text):
            return other if negated else subject
        if re.search(r"\b(?:latter|second|last (?:one|act))\b", text):
            return subject if negated else other
        # "Not before." and "after, not before" differ in the negated word.
        early = [n for n, word in enumerate(tokens) if word in _EARLIER | {"first"}]
        late = [n for n, word in enumerate(tokens) if word in _LATER]
        said = [n for n in early + late if not is_denied_before(tokens, Mention("order", frozenset(), n, n + 1))]
        if said:
            kinds = {n in early for n in said}
            return None if len(kinds) > 1 else subject if kinds.pop() else other
        if early or late:
            return None if early and late else other if early else subject
        return None
    if "or" in words and len(told) > 1 and not _EARLIER & words and not _LATER & words and "first" not in words:
        return None
    if "whether" in words:
        return None
    if len(told) == 1:
        return _alone(tokens, told[0], subject if told[0][0] == other else other)
    return _together(tokens, told)


def _alone(tokens: list[str], told: tuple[Act, int, int], other: Act) -> Act | None:
    act, start, end = told
    before = tokens[max(0, start - 8) : start]
    after = tokens[end:]
    negated = is_denied_before(tokens, Mention("act", frozenset(), start, end))
    if _EARLIER & set(before) and not negated:
        return other
    if _LATER & set(before) or {"once", "when", "having"} & set(before):
        return act
    if "first" in before or "earlier" in after or "first" in after or "sooner" in after or "before" in after:
        return other if negated or "not" in after else act
    if {"second", "later", "last", "after", "afterwards"} & {*after, *before}:
        return act if negated else other
    return other if negated else act


def _together(tokens: list[str], told: Sequence[tuple[Act, int, int]]) -> Act | None:
    (one, start, end), (two, begin, stop) = told[0], told[1]
    between, lead, tail = tokens[end:begin], tokens[max(0, start - 8) : start], tokens[stop:]
    negated = bool({"not", "never"} & {*lead, *between})
    said: Act | None = one
    if "before" in between or "earlier" in between or "sooner" in between or "precedes" in between:
        said = one
    elif "after" in between or ("later" in between and "than" in between) or "once" in between:
        said = two
        # "He takes the book. Afterwards he sits."
    elif "before" in lead and "," in between:
        said = two
    elif {"after", "once", "when", "having"} & set(lead):
        said = one
    elif "first" in tail and "first" not in lead and "then" not in between:
        said = two
    elif "not" in between or {"rather", "instead"} & set(between):
        return two if "first" in tail and "first" not in {*lead, *between} else one
    if negated and said is not None:
        return two if said == one else one
    return said
