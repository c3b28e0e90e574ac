"""Who does what to whom in an answer, by the words that its key has for the people."""

from collections.abc import Sequence
from typing import Final

from reeltalk.language.answer_clauses import BACKGROUND, RULE_FILE, Clause, clauses_of, open_of
from reeltalk.language.answer_values import LONGEST_DESCRIPTION, forms_of_look, preposition
from reeltalk.language.answer_words import ARTICLES, Mention, answer_tokens, names_in, verbs_in
from reeltalk.schema.dialogue import AnswerKey

AGENT: Final = frozenset({"agent"})
OTHERS: Final = frozenset({"others"})
_JOINING: Final = RULE_FILE.words["joining"]
_SOMEBODY: Final = RULE_FILE.words["somebody"]
_RECEIVING: Final = RULE_FILE.words["receiving"]
_WEARING: Final = RULE_FILE.words["wearing"]
_TOWARDS: Final = frozenset(RULE_FILE.phrases["towards"])


def named_people(tokens: Sequence[str], key: AnswerKey) -> list[Mention]:
    """The people of a key that an answer names. Their values are the slots `agent`, `receiver` and `others`."""
    slots = {"agent": key.agent, "receiver": key.receiver, "others": key.others}
    known: dict[tuple[str, ...], set[str]] = {}
    for slot, called in slots.items():
        for words in called:
            for form in forms_of_look(words):
                known.setdefault(form, set()).add(slot)
    if key.agent:
        # "She" is somebody else if the agent is a man.
        for pronoun in {"he", "she"} & {*key.agent, *key.receiver}:
            known.setdefault(("she",) if pronoun == "he" else ("he",), {"others"})
    found: list[Mention] = []
    at = 0
    while at < len(tokens):
        for length in range(min(LONGEST_DESCRIPTION, len(tokens) - at), 0, -1):
            slots_of = known.get(tuple(tokens[at : at + length]))
            if slots_of is not None:
                start = _start(tokens, at)
                found = [m for m in found if m.end <= start]
                found.append(Mention("person", frozenset(slots_of), start, at + length))
                at += length - 1
                break
        at += 1
    return found


def _start(tokens: Sequence[str], at: int) -> int:
    """The start of `the woman in the red shirt`, whose last words begin at an index."""
    place = at
    while place > 0 and tokens[place - 1] in _WEARING:
        place -= 1
    return place - 1 if place < at and place > 0 and tokens[place - 1] in _SOMEBODY else at


def doer_of(tokens: Sequence[str], clause: Clause, people: Sequence[Mention]) -> Mention | None:
    """The person who does the act of a clause; None if it names nobody."""
    if clause.passive:
        return next((m for m in _after(clause, people) if _governor(tokens, m) == "by"), None)
    return _giver(tokens, clause, people) or _subject(tokens, clause, people)


def receivers_of(tokens: Sequence[str], clause: Clause, people: Sequence[Mention]) -> list[Mention]:
    """The people to whom the act of a clause is done."""
    if not clause.passive and _giver(tokens, clause, people) and (to := _subject(tokens, clause, people)):
        return [to]
    after = [m for m in _after(clause, people) if _governor(tokens, m) in _TOWARDS]
    before = [m for m in people if open_of(tokens, clause.verb.start) <= m.start < clause.verb.start]
    return [*before[-1:], *after] if clause.passive else after


def _subject(tokens: Sequence[str], clause: Clause, people: Sequence[Mention]) -> Mention | None:
    before = [m for m in people if open_of(tokens, clause.verb.start) <= m.start < clause.verb.start]
    return next((m for m in reversed(before) if not _is_object(tokens, m)), None)


def _giver(tokens: Sequence[str], clause: Clause, people: Sequence[Mention]) -> Mention | None:
    """Anna in *Tom gets the mug from Anna*, who gives it."""
    if tokens[clause.verb.start] not in _RECEIVING:
        return None
    return next((m for m in _after(clause, people) if _governor(tokens, m) == "from"), None)


def _after(clause: Clause, people: Sequence[Mention]) -> list[Mention]:
    return [m for m in people if clause.verb.start < m.start < clause.end]


def _is_object(tokens: Sequence[str], mention: Mention) -> bool:
    """True for Tom in *Anna thanks Tom and leaves*, and in *next to Tom*."""
    start = open_of(tokens, mention.start)
    start = max([n + 1 for n in range(start, mention.start) if tokens[n] in _JOINING], default=start)
    before = tokens[start : mention.start]
    if any(verb.values for verb in verbs_in(before, names_in(before, "noun"))):
        return True
    return _governor(tokens, mention) not in ("", "of", "before", "after", "following")


def _governor(tokens: Sequence[str], mention: Mention) -> str:
    """The preposition of a person; none for Tom in *in the video Tom sleeps*."""
    found, before = preposition(tokens, mention.start), tokens[max(0, mention.start - 1) : mention.start]
    return found if before and (before[0] in ARTICLES or found.endswith(before[0])) else ""


def tells_roles(tokens: Sequence[str], clause: Clause, people: Sequence[Mention], key: AnswerKey) -> bool:
    """False if the clause names another doer or receiver than the key."""
    doer = doer_of(tokens, clause, people)
    if doer is not None and key.agent and "agent" not in doer.values:
        return False
    receivers = receivers_of(tokens, clause, people)
    return not (key.receiver and receivers) or any("receiver" in m.values for m in receivers)


def speaks_of_another(tokens: list[str], question: str, key: AnswerKey) -> bool:
    """True if an answer is about somebody else, or exchanges who does something and to whom."""
    people = named_people(tokens, key)
    asked = {*key.values, *key.among}
    if key.type == "person":
        asked = {action for verb in verbs_in(answer_tokens(question)) for action in verb.values}
    by_doer = key.type == "reply" or key.agent[:1] == key.values
    if not key.agent or not people:
        return False
    told: list[Mention] = []
    for clause in clauses_of(tokens, frozenset()):
        doer, receivers = doer_of(tokens, clause, people), receivers_of(tokens, clause, people)
        exchanged = doer is not None and "agent" not in doer.values and any(m.values == AGENT for m in receivers)
        if exchanged and key.type not in _OF_SEVERAL_ACTS:
            return True
        told_of = by_doer and doer is not None and not clause.negated and asked & clause.verb.values
        if told_of and doer is not None and "agent" not in doer.values:
            return True
        told += receivers
    if key.receiver and told and all(m.values == OTHERS for m in told):
        return True
    first = next((m for m in people if not _is_object(tokens, m) and not _is_aside(tokens, m)), None)
    if first is None or first.values != OTHERS or key.type == "person":
        return False
    # In "Tom is happy because she eats", *she* does not name whom the answer is about.
    pronouns = () if tokens[first.start] in ("he", "she") else ("he", "she")
    return not any("agent" in m.values for m in people if tokens[m.start] not in pronouns)


_OF_SEVERAL_ACTS: Final = frozenset({"yes_no", "feeling", "action"})
"""Types of answers that tell another act beside that of the key."""
_ASIDE: Final = BACKGROUND | {"as", "because", "since", "if", "had"}


def _is_aside(tokens: Sequence[str], mention: Mention) -> bool:
    """True for Anna in *while Anna reads, Tom sleeps*."""
    return tokens[open_of(tokens, mention.start)] in _ASIDE
