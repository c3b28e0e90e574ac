"""Reads the value in a free-text answer by the type of its key, and compares it with the key.

It needs only the question, the key and a closed vocabulary; neither a language model nor the video.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.language import answer_acts, answer_values
from reeltalk.language.answer_acts import Act, tells_act
from reeltalk.language.answer_clauses import BACKGROUND, Clause, clauses_of
from reeltalk.language.answer_people import doer_of, named_people, speaks_of_another, tells_roles
from reeltalk.language.answer_values import NOTHING, ReadValues, is_unlike, numbers_in, preposition
from reeltalk.language.answer_words import (
    CLOSED_TYPES,
    UNTRUE_PATTERN,
    Mention,
    answer_tokens,
    final_statement,
    is_denied_before,
    is_unable,
    lexicon,
    names_in,
    normalise_answer,
    verbs_in,
    without_hedges,
)
from reeltalk.language.rules import read_rules
from reeltalk.metrics.choice import before_next_question
from reeltalk.schema.dialogue import AnswerKey
from reeltalk.schema.model_texts import plain_answer

RULE_FILE: Final = read_rules(Path(__file__).with_suffix(".toml"))

_YES: Final = RULE_FILE.pattern("yes")
_NO_REPLY: Final = RULE_FILE.pattern("no_reply")
_EXISTS: Final = RULE_FILE.pattern("exists")
_NONE: Final = RULE_FILE.pattern("none")
_SOME: Final = RULE_FILE.pattern("some")
_BOTH: Final = RULE_FILE.pattern("both")
_SHORT: Final = RULE_FILE.pattern("short")
_LEAD: Final = RULE_FILE.pattern("lead")
_THINKS_SO: Final = RULE_FILE.pattern("thinks_so")
_THINKS_NOT: Final = RULE_FILE.pattern("thinks_not")
_AUXILIARY: Final = RULE_FILE.words["auxiliary"]
_CONCLUDED: Final = RULE_FILE.pattern("concluded")


def read_yes_no(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read whether an answer affirms or denies the act in the question."""
    text = " ".join(tokens)
    compact = re.sub(r" ([.,;:!?])", r"\1", text)
    if re.search(r"\byes\? no\b|\bno\? yes\b", compact) or _BOTH.search(compact.replace(",", "")) or _BOTH.search(text):
        return NOTHING
    head = _head(compact)
    body = _supposed(compact, question, key) or _read_statement(tokens, question, key)
    if head is not None and body is not None and head != body:
        return ReadValues((), why="it contradicts itself")
    said = head or body
    if said is None and _EXISTS.search(question):
        said = "no" if _NONE.search(compact) else "yes" if _SOME.search(compact) else None
    said = said or _implied(compact, question, key)
    if said is None:
        return NOTHING
    return ReadValues((said,), right=said in key.values)


def _head(text: str) -> str | None:
    """The last *yes* or *no* at the start of a sentence; None if there is none."""
    said = None
    for n, part in enumerate(re.split(r"(?<=[.!;])\s+", text)):
        words = _LEAD.sub("", part)
        if _THINKS_SO.match(part):
            said = "yes"
        elif _THINKS_NOT.match(part):
            said = "no"
        elif _NO_REPLY.match(words):
            said = "no"
            if re.match(r"^no\b.*[,.;] (?:actually |but |wait )?yes\b", words):
                said = "yes"
        elif _YES.match(words):
            said = "yes"
        elif (n == 0 or said is None) and (short := _SHORT.match(words)):
            said = "no" if short[1] or " never" in words else "yes"
        if concluded := _CONCLUDED.search(part):
            said = concluded[1]
    return said


_WOULD: Final = RULE_FILE.pattern("would")
_LIES: Final = RULE_FILE.pattern("lies")
_WOULD_NOT: Final = RULE_FILE.pattern("would_not")
_SUBORDINATE: Final = RULE_FILE.pattern("subordinate")
_UNASKED: Final = RULE_FILE.words["unasked"]


def _supposed(text: str, question: str, key: AnswerKey) -> str | None:
    """What an answer says of something that is only supposed; None if the question supposes nothing."""
    if not re.search(r"\b(?:would|could|might|possible)\b", question):
        return None
    if _WOULD.search(text):
        return "yes"
    if found := _WOULD_NOT.search(text):
        part = re.split("[,.;:] ", text[: found.start()])[-1]
        return "yes" if re.search(r"\b(?:not|no|never|nothing|none)\b", part) else "no"
    if _LIES.match(text):
        return "no" if re.search(r"\b(?:closed|shut|opened)\b", text) else "yes"
    parts = [part for part in re.split(r"[.;,!]\s+", text) if re.search(r"\b(?:would|could|possible)\b", part)]
    if any(_takes_up(answer_tokens(part), question, key) is not None for part in parts):
        return "yes"
    return None


def _implied(text: str, question: str, key: AnswerKey) -> str | None:
    """*yes* or *no* as implied by the first clause that takes up words of the question, by how often it is negated."""
    if re.search(r"\b(?:mood|feeling)\b", question):
        felt = {m.values for m in names_in(answer_tokens(text), "feeling")}
        if len(felt) > 1 or _CHANGED.search(text):
            return "no" if re.search(r"\b(?:not|never|no)\b", text) else "yes"
        return "no" if felt or _UNCHANGED.search(text) else None
    asked = answer_values.stems_of(set(answer_tokens(question)) - _UNASKED)
    for part in re.split(r"[.;!]\s+|\bbut\b|, (?=so\b)", text):
        told = answer_tokens(_SUBORDINATE.sub(" ", part))
        repeated = len(answer_values.stems_of(told) & asked)
        least = 0 if key.about else (LEAST_BY_PRONOUN if set(told[:1]) & _PRONOUNS else LEAST_REPEATED) * len(asked)
        if repeated and repeated >= least and _takes_up(told, question, key) is not None:
            return "no" if len(_NEGATIVE.findall(" ".join(told))) % 2 else "yes"
    return None


LEAST_REPEATED: Final = 0.6
LEAST_BY_PRONOUN: Final = 0.3
"""Least share of a question's words that a statement must repeat, if the key does not name the act."""
_PRONOUNS: Final = frozenset({"he", "she", "it", "they"})
_CHANGED: Final = RULE_FILE.pattern("changed")
_UNCHANGED: Final = RULE_FILE.pattern("unchanged")
_NEGATIVE: Final = RULE_FILE.pattern("negative")
_ELSEWHERE: Final = RULE_FILE.pattern("elsewhere")
_MOVED: Final = RULE_FILE.pattern("moved")
_BACK: Final = RULE_FILE.pattern("back")
_STAYS: Final = RULE_FILE.pattern("stays")


def _read_statement(tokens: list[str], question: str, key: AnswerKey) -> str | None:
    """*yes* or *no* as implied by a statement; None if it implies neither."""
    text = " ".join(tokens)
    act = Act.of(key.about[0]) if key.about and "|" in key.about[0] else None
    if act is None:
        return None
    negation = len(_NEGATIVE.findall(re.sub(r"(?:^|[.,;:!] )no (?=[.,;:])", "", text))) % 2 == 1
    if re.search(r"\b(?:back|return|same place|end up|where)\b", question) and act.action in ("put", "putIn"):
        if _ELSEWHERE.search(text) or _MOVED.search(text):
            return "yes" if negation else "no"
        if _BACK.search(text):
            return "no" if negation else "yes"
        # "He puts it in the washing machine" gives the new place, and does not say if the object was there before.
        return None
    about, people = frozenset(act.names), named_people(tokens, key)
    if (kept := _STAYS.search(text)) and act.action in ("close", "open", "switchOff", "switchOn"):
        due = {"close": ("closed", "shut"), "open": ("open",), "switchOff": ("off",), "switchOn": ("on",)}[act.action]
        is_so = (kept[1] in due) != is_denied_before(tokens, _at(tokens, kept[1]))
        return "yes" if is_so else "no"
    if act.action == "close" and (
        match := re.search(r"\b(?:is|gets|was|been) (not )?(?:\w+ ){0,2}?(closed|shut|open)\b", text)
    ):
        return "yes" if (match[2] != "open") != bool(match[1]) else "no"
    last = about
    for clause in clauses_of(tokens, about):
        if clause.background and clause.verb.start > 0 and tokens[clause.verb.start - 1] in BACKGROUND:
            continue
        if not tells_roles(tokens, clause, people, key):
            continue
        if tells_act(clause, act, last or about, tokens) or (
            not clause.objects and not clause.places and act.action in clause.verb.values
        ):
            return "no" if clause.negated else "yes"
        if clause.objects and clause.objects[0]:
            last = clause.objects[0]
    # "He drinks water, not milk."
    named = names_in(tokens, "noun", "room")
    return "no" if any(act.main in m.values and is_denied_before(tokens, m) for m in named) else None


def _at(tokens: Sequence[str], word: str) -> Mention:
    at = tokens.index(word)
    return Mention("state", frozenset(), at, at + 1)


_NEVER: Final = RULE_FILE.pattern("never")
_NOT_SHOWN: Final = RULE_FILE.pattern("not_shown")
_CLAIMS: Final = RULE_FILE.pattern("claims")


def read_denial(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read whether an answer says that an act does not happen: its doer, the act, or its thing is denied."""
    act = Act.of(key.about[0]) if key.about and "|" in key.about[0] else None
    things = act.names if act else frozenset()
    same_act = bool(key.instead) and key.instead[0] in key.about
    refused = False
    if (untrue := UNTRUE_PATTERN.search(" ".join(tokens))) and _DENIES.search(untrue[0].partition("that")[2]):
        return ReadValues((untrue[0],), why="it denies that the premise is false")
    for part in re.split(r" ?[.,;!?:] ?|\bbut\b|\bthough\b|\bhowever\b", " ".join(tokens)):
        words = part.split()
        if same_act and _echoes(words, key):
            return ReadValues((part.strip(),), why="somebody else does that")
        if (_UNSURE.search(part) or _UNDECIDED.search(part)) and not _LACKS.search(part):
            # "I cannot tell the colour of the guitar" takes the guitar for granted.
            continue
        if key.about and act is None and _supposes_thing(part, frozenset(key.about)):
            if not _DENIES.search(part) and not (refused and _CORRECTION.match(part)):
                return ReadValues((part.strip(),), why="it takes for granted what is not so")
            continue
        named = _takes_up(_main_words(words, act), question, key)
        if named is None:
            continue
        nobody = re.search(r"\b(?:nobody|no one|neither|none of them)\b", part) is not None
        if nobody and not key.agent:
            refused = True
        elif (_NEVER.search(part) and not part.startswith("none")) or (named and _DENIES.search(part)):
            refused = refused or not (nobody and same_act)
    people = named_people(tokens, key)
    for clause in clauses_of(tokens, things) if act else ():
        doer = doer_of(tokens, clause, people)
        if doer is None or clause.negated or clause.background or is_denied_before(tokens, doer):
            continue
        known = " ".join(tokens[doer.start : doer.end]).endswith(tuple(map(normalise_answer, key.instead[1:])))
        shown = bool(key.instead) and tells_act(clause, Act.of(key.instead[0]), things, tokens)
        if shown and not known and "agent" not in doer.values:
            return ReadValues((_words_of(tokens, clause),), why="somebody else does that")
        claims = (
            act is not None and tells_act(clause, act, things, tokens) and ("agent" in doer.values or not key.agent)
        )
        if claims and not (shown and known) and not _IF.search(" ".join(tokens[: clause.verb.start])):
            span = tokens[clause.verb.start : clause.end]
            if not any(is_unlike(span, m, key.looks) for m in names_in(span, "noun")):
                return ReadValues((_words_of(tokens, clause),), why="it takes for granted what is not so")
        refused = refused or (same_act and shown and known and _CONTRAST.search(" ".join(tokens)) is not None)
    return ReadValues(key.values, right=True) if refused else NOTHING


def _main_words(words: list[str], act: Act | None) -> list[str]:
    """The words of a part after *after writing on the notes*, which takes the act for granted."""
    told = clauses_of(words, frozenset()) if act is not None and words[:1] and words[0] in BACKGROUND else []
    taken = len(told) > 1 and act is not None and act.action in told[0].verb.values and not told[0].negated
    return words[told[1].verb.start :] if taken else words


def _takes_up(words: list[str], question: str, key: AnswerKey) -> bool | None:
    """True if a part of an answer speaks of the act in question, None if it speaks of another act, thing or person."""
    people, nouns = named_people(words, key), names_in(words, "noun")
    if key.about and "|" in key.about[0]:
        act = Act.of(key.about[0])
        actions, slots = {act.action}, [frozenset({name}) for name in (act.main, *act.targets) if name]
    else:
        asked = answer_tokens(question)
        actions = {value for verb in verbs_in(asked) for value in verb.values}
        slots = [frozenset(key.about)] if key.about else [m.values for m in names_in(asked, "noun")]
    # "Would have been": this *have* is no act.
    verbs = {v for verb in verbs_in(words, nouns) if words[verb.start] not in _AUXILIARY for v in verb.values}
    here = [m for m in nouns if any(m.values & slot for slot in slots) and not is_unlike(words, m, key.looks)]
    missing = not here or (bool(key.about) and any(not any(m.values & slot for m in here) for slot in slots))
    agent = any("agent" in m.values for m in people) and re.search(r"\b(?:no|nothing|none)\b", " ".join(words)) is None
    of_another = bool(key.agent and people) and not any("agent" in m.values for m in people)
    of_act = not verbs or not actions or bool(verbs & actions) or (here and "|" not in "".join(key.about))
    if of_another or not of_act or (slots and len(nouns) > len(here) and missing):
        return None
    coloured = any(m.values & set(key.looks) for m in names_in(words, "colour"))
    return bool(verbs or here or agent or coloured)


def _supposes_thing(part: str, things: frozenset[str]) -> bool:
    """True if a part of an answer places or colours a thing that is absent, or tells something of it."""
    words = part.split()
    nouns, colours = names_in(words, "noun", "room"), names_in(words, "colour")
    placed = any(preposition(words, m.start) in _PLACED for m in nouns if not m.values & things)
    if _DENIES.search(part):
        return "no other" in part or bool(colours) or (placed and words[:3] != ["the", "video", "does"])
    bare = bool(nouns or colours) and not verbs_in(words, nouns)
    told = bare or {"it", "them"} & set(words) or any(m.values & things for m in nouns)
    return bool(told) and _IF.search(part) is None


_PLACED: Final = frozenset({"on", "in", "at", "under"})
_CORRECTION: Final = RULE_FILE.pattern("correction")


def _echoes(words: list[str], key: AnswerKey) -> bool:
    """True for *Felix does*, if somebody else than he is shown."""
    people = [m for m in named_people(words, key) if "agent" not in m.values]
    called = [words[m.start : m.end] for m in people]
    shown = [answer_tokens(normalise_answer(word)) for word in key.instead[1:]]
    echo = bool(words) and words[-1] in ("does", "did", "is") and len(people) == 1
    return echo and not any(called[0][-len(words_) :] == words_ for words_ in shown)


def _words_of(tokens: Sequence[str], clause: Clause) -> str:
    return " ".join(tokens[clause.verb.start : clause.end])


_DENIES: Final = RULE_FILE.pattern("denies")
_IF: Final = RULE_FILE.pattern("if")
_CONTRAST: Final = RULE_FILE.pattern("contrast")


def read_refusal(tokens: list[str], question: str, key: AnswerKey) -> ReadValues:
    """Read whether an answer says that the video does not show what is asked for, or denies what a question assumes."""
    if key.values[0] == "absent":
        return read_denial(tokens, question, key)
    refused = False
    for part in re.split(r" ?[.,;!?:] ?|\bbut\b|\bthough\b|\bhowever\b", " ".join(tokens)):
        if not re.search(r"[a-z]", part):
            continue
        if lexicon().refusals.search(part) or _NOT_SHOWN.search(part):
            refused = True
        elif _claims_to_know(part.strip()):
            return ReadValues((part.strip(" ,"),), why="it claims to know")
    return ReadValues(key.values, right=True) if refused else NOTHING


_UNSURE: Final = RULE_FILE.pattern("unsure")
_LACKS: Final = RULE_FILE.pattern("lacks")
_PERHAPS: Final = RULE_FILE.words["perhaps"]
_FILLERS: Final = RULE_FILE.words["fillers"]


def _claims_to_know(part: str) -> bool:
    if re.search(r"\b(?:if|whether|question|premise|assumes|presupposes|may|might|could)\b", part) or re.match(
        r"(?:sorry|unfortunately|i am afraid)\b", part
    ):
        return False
    if re.search(r"\b(?:not|never|no|none|nothing|nobody)\b", part):
        return False
    words = [word for word in part.split() if word not in _PERHAPS]
    # "Twenty, though the video does not say so."
    alone = len(words) == 1 and words[0] not in _FILLERS and not verbs_in(words)
    return alone or (bool(numbers_in(words)) and len(words) < 5) or _CLAIMS.search(" ".join(words)) is not None


RULES: Final = "v6"
"""Version of the rules; raised whenever they change."""
UNREAD: Final = "no value read"
"""Prefix of the explanation if no value could be read."""
_READERS: Final[Mapping[str, Callable[[list[str], str, AnswerKey], ReadValues]]] = {
    "room": answer_values.read_room,
    "object": answer_values.read_thing,
    "place": answer_values.read_place,
    "colour": answer_values.read_colour,
    "state": answer_values.read_state,
    "person": answer_values.read_person,
    "comparison": answer_values.read_comparison,
    "count": answer_values.read_count,
    "seconds": answer_values.read_seconds,
    "action": answer_acts.read_action,
    "order": answer_acts.read_order,
    "yes_no": read_yes_no,
    "refusal": read_refusal,
    **dict.fromkeys(CLOSED_TYPES, answer_values.read_closed),
}
_PLAIN: Final = frozenset({"action", "order", "yes_no", "refusal", "reply", "utterance"})
"""Types for which *no* inside an answer does not take anything back."""
_UNDECIDED: Final = RULE_FILE.pattern("undecided")
_ELSE: Final = RULE_FILE.pattern("else")
_NO: Final = RULE_FILE.pattern("no")


@dataclass(frozen=True)
class AnswerReading:
    """The result of reading an answer."""

    found: tuple[str, ...]
    """The values in the answer; empty if none could be read."""
    right: bool
    why: str
    """Explanation: the values read, the expected values, and the fault."""

    @property
    def unread(self) -> bool:
        """True if no value could be read."""
        return not self.found


def rules_signature() -> str:
    """Version of the rules and hash of the vocabulary, for example `v1-1a2b3c4d`."""
    return f"{RULES}-{lexicon().signature}"


_QUOTE: Final = RULE_FILE.pattern("quote")


def _without_quotes(answer: str, question: str) -> tuple[str, str]:
    """Answer and question without what the question quotes: a name in "All right, Carlos." does not say who spoke."""
    told, asked = answer, question
    for words in _QUOTE.findall(question):
        bare = words.strip(" .,!?")
        whole = rf"(?<!\w){re.escape(bare)}(?!\w)[.,!?]*"
        # A single word may be the answer itself, unless it is quoted beside other words.
        alone = " " not in bare
        rest = re.sub(rf"[“\"']{whole}[”\"']" + ("" if alone else f"|{whole}"), " ", told, flags=re.IGNORECASE)
        if rest == told or (alone and not any(map(str.isalnum, rest))):
            continue
        told, asked = rest, asked.replace(words, " ")
    return told, asked


def read_answer(question: str, key: AnswerKey, answer: str) -> AnswerReading:
    """Read an answer by the type of its key.

    Args:
        key: The expected answer.
        answer: The answer as the model wrote it, of any length.
    """
    due = " and ".join(key.values)
    answer = plain_answer(before_next_question(answer, question))
    if key.type != "refusal":
        answer = UNTRUE_PATTERN.sub(lambda found: " " if found.start() or key.type != "yes_no" else found[0], answer)
    if is_unable(normalise_answer(answer)):
        return AnswerReading((), False, f"{UNREAD}: it tells that the model sees no video; due: {due}")
    told, asked = _without_quotes(answer, question)
    text = final_statement(told, asked)
    if key.type != "refusal":
        parts = re.split(r"(?<=[.!;])\s+|(?=\bbut\b)", text)
        text = without_hedges(" ".join(part for part in parts if not _UNDECIDED.search(part)))
    if key.type != "utterance" and not any(letter.isalnum() for letter in text):
        return AnswerReading((), False, f"{UNREAD}: nothing is said that stands; due: {due}")
    if key.type != "refusal" and _ELSE.search(text):
        return AnswerReading((), False, f"{UNREAD}: it leaves open whether it is so; due: {due}")
    if key.type not in _PLAIN:
        # "In the kitchen, no, in the bedroom."
        text = _NO.split(text)[-1].removeprefix("no, ")
    if key.type == "utterance":
        # What somebody says in a video may be a question, and its quotation marks count.
        said = answer_values.read_utterance(answer, key)
    else:
        said = _READERS[key.type](answer_tokens(text), normalise_answer(question), key)
    spoken = answer_tokens(normalise_answer(_QUOTE.sub(" ", told)))
    if said.right and key.type != "refusal" and speaks_of_another(spoken, normalise_answer(question), key):
        said = ReadValues(said.values, why="it speaks of somebody else")
    shown = f"read: {' and '.join(said.values)[:200]}" if said.values else UNREAD
    why = f"; {said.why}" if said.why else ""
    return AnswerReading(said.values, said.right, f"{shown}; due: {due}{why}")
