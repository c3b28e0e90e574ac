"""Right and nearly right answers to a question, made from the slots of its key, to test what reads answers.

A near miss differs from a right answer in one slot: another person, thing, look, day or number, the opposite, or
nothing decided. There are no rules for single kinds of questions.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from reeltalk.language.answer_acts import Act
from reeltalk.language.answer_reading import read_answer
from reeltalk.language.answer_values import UNKNOWN, hard_words
from reeltalk.language.phrases import AGENTLESS_ACTIONS, SPEECH, phrase, place_phrase, sentence, speech_phrase
from reeltalk.language.vocabulary import PERSON, plain_name
from reeltalk.schema.dialogue import AnswerKey

MOST_OTHERS: Final = 2
"""Most wrong values of a key that are tried."""
UNDECIDED: Final = ("It is not clear.", "It is not possible to tell.", "None of the above.")
_OPPOSITE: Final = {"yes": "no", "no": "yes"}


@dataclass(frozen=True)
class Variant:
    """An answer whose verdict is known."""

    slot: str
    """The slot in which it differs from the reference; `wording` if it says the same."""
    text: str
    right: bool


def variants(key: AnswerKey, reference: str) -> list[Variant]:
    """Right and wrong answers to a question, each once.

    Args:
        key: The key of the question.
        reference: Its reference answer.
    """
    found: dict[str, Variant] = {}
    for one in (*_right(key, reference), *_wrong(key, reference)):
        text = sentence(one.text)
        found.setdefault(text.lower(), replace(one, text=text if text.endswith((".", "”")) else f"{text}."))
    return list(found.values())


def missing_slots(key: AnswerKey) -> tuple[str, ...]:
    """The slots that a key lacks and that its near misses need."""
    act = (key.about if key.type == "refusal" else key.values)[:1]
    person = any(PERSON in value.split("|") for value in act) if key.type in ("action", "refusal") else False
    silent = key.type == "action" and Act.of(key.values[0]).action in AGENTLESS_ACTIONS
    known = key.values[0] != UNKNOWN
    needed = {
        "about": key.type == "refusal" and known,
        "instead": key.type == "refusal" and known and "|" in "".join(act),
        "agent": key.type in ("action", "utterance") and bool(key.others) and not silent,
        "receiver": person and bool(key.agent),
    }
    return tuple(slot for slot, is_needed in needed.items() if is_needed and not getattr(key, slot))


def fault_of(key: AnswerKey, reference: str) -> str | None:
    """Why a key does not suffice to tell right answers from near misses; None if it does."""
    if missing := missing_slots(key):
        return f"lacks {' and '.join(missing)}"
    made = {variant.right for variant in variants(key, reference)}
    return None if made == {True, False} else f"gives no {'near misses' if True in made else 'right answers'}"


def misread(question: str, key: AnswerKey, reference: str) -> Variant | None:
    """The first right answer that is read as wrong, or near miss that is read as right; None if all are read well.

    Args:
        reference: Its reference answer.
    """
    found = (one for one in variants(key, reference) if read_answer(question, key, one.text).right != one.right)
    return next(found, None)


def _right(key: AnswerKey, reference: str) -> Iterator[Variant]:
    yield Variant("wording", reference, True)
    agent, pronoun = _name(key.agent), next((word for word in key.agent if word in ("he", "she")), None)
    if key.type == "yes_no":
        yield Variant("wording", key.values[0], True)
        told = re.sub(r"^(?:yes|no)[:,.]? ", "", reference, flags=re.IGNORECASE)
        if told.count(" ") > 3:
            yield Variant("wording", told, True)
    if agent and pronoun and key.type not in ("person", "refusal"):
        yield Variant("wording", re.sub(rf"^{agent} (?!and |also )", f"{pronoun} ", reference), True)
    if key.type == "action":
        yield Variant("wording", f"{agent or 'he'} {_act_words(key.values[0], key, 'does')}", True)
    if key.type == "refusal" and key.instead:
        denied = f"{agent or 'nobody'} {_denied(key)}"
        yield Variant("wording", denied, True)
        yield Variant("wording", f"{denied}. Instead, {_shown(key)}", True)
        yield Variant("wording", f"That never happens in the video; {_shown(key)}", True)


def _wrong(key: AnswerKey, reference: str) -> Iterator[Variant]:
    if key.values[0] == UNKNOWN:
        yield Variant("known", "Yes, certainly.", False)
        return
    yield from (Variant("undecided", text, False) for text in UNDECIDED)
    agent, receiver, rival = _name(key.agent), _name(key.receiver), _name(key.others)
    if key.type == "refusal":
        yield from _taken_for_granted(key, agent, rival)
        return
    for value in key.among[:MOST_OTHERS]:
        yield Variant("value", _with_value(key, reference, value), False)
    if key.type == "yes_no":
        yield Variant("polarity", _OPPOSITE[key.values[0]], False)
    elif key.type in ("count", "seconds"):
        yield Variant("value", str(int(float(key.values[0]) + 2 * key.tolerance) + 1), False)
    elif key.type == "action":
        yield Variant("denied", f"{agent or 'he'} does not {_act_words(key.values[0], key, 'do')}", False)
    elif key.type == "utterance":
        yield from (Variant("day", reference.replace(word, other), False) for word, other in hard_words(key.values[0]))
    if rival and agent and key.type != "person":
        yield Variant("agent", reference.replace(agent, rival), False)
    if rival and receiver and key.type in ("action", "utterance"):
        yield Variant("receiver", reference.replace(receiver, rival), False)
    if agent and receiver and {agent, receiver} <= set(re.findall(r"\w+", reference)) and key.type != "yes_no":
        swapped = {agent: receiver, receiver: agent}
        text = re.sub(rf"\b(?:{agent}|{receiver})\b", lambda match: swapped[match[0]], reference)
        yield Variant("exchanged", text, False)
    for look in key.looks:
        thing = plain_name(key.values[0] if key.type == "object" else Act.of(key.values[0]).main or "")
        other = "purple" if look in ("green", "large", "small") else "green"
        if f"{look} {thing}" in reference and look not in ("large", "small"):
            yield Variant("look", reference.replace(f"{look} {thing}", f"{other} {thing}"), False)


def _taken_for_granted(key: AnswerKey, agent: str, rival: str) -> Iterator[Variant]:
    if not key.instead:
        return
    yield Variant("premise", f"{agent or rival} {_act_words(key.about[0], key, 'does')}", False)
    if agent and rival:
        yield Variant("agent", f"{rival} {_denied(key)}", False)
    act = Act.of(key.about[0])
    if act.main and not key.looks:
        other = "umbrella" if act.main != "umbrella" else "violin"
        about = key.about[0].replace(f"|{act.main}", f"|{other}", 1)
        yield Variant("thing", f"{agent or 'nobody'} {_denied(key, about)}", False)


def _name(words: tuple[str, ...]) -> str:
    return next((word for word in words if word[:1].isupper()), "")


def _act_words(act: str, key: AnswerKey, form: str) -> str:
    """The verb phrase of an act in a key, with the people and looks that the key names."""
    action, *names = act.split("|")
    looks = [look for look in key.looks if Act.of(act).main]
    called = {PERSON: _name(key.receiver) or "somebody"}
    called |= {name: f"the {' '.join(looks)} {plain_name(name)}" for name in names[:1] if looks and name != PERSON}
    main, targets = (names[0] or None) if names else None, [name for name in names[1:] if name]
    if action in SPEECH:
        return speech_phrase(action, None if main == PERSON else main, targets or [PERSON], form, names=called)
    return phrase(action, main, targets, form, names=called)


def _denied(key: AnswerKey, act: str = "") -> str:
    form = "do" if key.agent else "does"
    return f"{'does not ' if key.agent else ''}{_act_words(act or key.about[0], key, form)}"


def _shown(key: AnswerKey) -> str:
    plain = key.model_copy(update={"looks": ()})
    return f"{_name(key.instead[1:]) or 'he'} {_act_words(key.instead[0], plain, 'does')}"


def _with_value(key: AnswerKey, reference: str, value: str) -> str:
    """The reference with another value; the value alone if the reference does not hold the right one as it stands."""
    if key.type in ("action", "order"):
        return f"{_name(key.agent) or 'he'} {_act_words(value, key.model_copy(update={'looks': ()}), 'does')}"
    if key.type == "place":
        return place_phrase(value, inside=key.relation == "in")
    named = {"room", "object"}
    right, wrong = (plain_name(name) if key.type in named else name for name in (key.values[0], value))
    return re.sub(rf"\b{re.escape(right)}\b", wrong, reference) if f" {right}" in f" {reference.lower()}" else wrong
