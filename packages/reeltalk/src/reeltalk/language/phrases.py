"""English phrases for events, objects and numbers, the parts of questions and answers."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from reeltalk.language.rules import read_rules
from reeltalk.language.vocabulary import class_of, plain_name

RULE_FILE: Final = read_rules(Path(__file__).with_suffix(".toml"))


def _forms_of(table: str) -> dict[str, tuple[str, ...]]:
    """Forms of verbs, and what follows them, by name."""
    split = ((name, row.split(" |")) for name, row in RULE_FILE.raw[table].items())
    return {name: (*forms.split(), *(rest.strip() for rest in more)) for name, (forms, *more) in split}


PLURAL_CLASSES: Final = RULE_FILE.words["plural_classes"]
"""Classes whose name is a plural."""

VERBS: Final = _forms_of("verbs")
"""By action: base form, third person, gerund, and what follows the verb."""

SPECIAL: Final = {tuple(which.split()): rest for which, rest in RULE_FILE.raw["special"].items()}
"""Words after the verb for certain objects."""

_IN: Final = RULE_FILE.words["in"]
_NUMBERS: Final = "no one two three four five six seven eight nine ten eleven twelve".split()

_WITHOUT_TARGET: Final[dict[str, str]] = RULE_FILE.raw["without_target"]
PHRASAL: Final = RULE_FILE.words["phrasal"]
"""Verbs whose particle may follow the object."""
FORMS: Final = {"do": 0, "does": 1, "doing": 2}
_PASTS: Final[dict[str, str]] = RULE_FILE.raw["pasts"]
"""Past tense and participle of verbs that English forms irregularly."""
_DOUBLED: Final = RULE_FILE.words["doubled"]


def past_of(verb: str) -> tuple[str, str]:
    """Past tense and past participle of a base form: `("gave", "given")`."""
    if verb in _PASTS:
        past, participle = _PASTS[verb].split()
        return past, participle
    if verb.endswith("e"):
        return f"{verb}d", f"{verb}d"
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ied", f"{verb[:-1]}ied"
    return (f"{verb}{verb[-1]}ed",) * 2 if verb in _DOUBLED else (f"{verb}ed",) * 2


def _headed(heads: Sequence[str], form: str) -> str:
    if form in FORMS:
        return heads[FORMS[form]]
    return past_of(heads[0])[form == "done"]


AGENTLESS_ACTIONS: Final = RULE_FILE.words["silent"]
"""Changes that nobody does: their thing is the subject."""


def noun(name: str) -> str:
    """`the kitchen table`."""
    return f"the {plain_name(name)}"


def is_plural(name: str) -> bool:
    """True if the name takes *are*."""
    return class_of(name) in PLURAL_CLASSES


def place_phrase(support: str, *, inside: bool) -> str:
    """`in the fridge`, `on the kitchen table`."""
    preposition = "in" if inside or class_of(support) in _IN else "on"
    return f"{preposition} {noun(support)}"


def phrase(
    action: str,
    main: str | None,
    targets: Sequence[str],
    form: str,
    pronouns: Mapping[str, str] | None = None,
    *,
    names: Mapping[str, str] | None = None,
    his: str = "his",
) -> str:
    """The verb phrase of an event, without a subject.

    Args:
        action: Action as in graphs, for example `putIn`.
        main: The object acted on.
        targets: Objects acted towards; only the first is named.
        form: `do` (put), `does` (puts), `doing` (putting), `did` (put) or `done` (put).
        pronouns: Words to use instead of an object's name, by object.
        names: What people are called, by person; `the person` by default.
        his: The possessive pronoun of the person who acts.
    """
    pronouns, names = pronouns or {}, names or {}
    *heads, rest = VERBS.get(action, (action, f"{action}s", f"{action}ing", "{o}"))
    target = targets[0] if targets else None
    rest = SPECIAL.get((action, class_of(main or "")), rest)
    if action == "pour" and target is not None and class_of(target) == "orchid":
        heads, rest = ["water", "waters", "watering"], "{t} with {o}"
    if main is None:
        rest = re.sub(r"\s*\b(to|at|on|up|down|onto|off|in|from|with|about|for)?\s*\{o\}.*", "", rest)
    elif target is None:
        rest = _WITHOUT_TARGET.get(action, rest)
    words = {
        "o": pronouns.get(main or "", names.get(main or "", noun(main or ""))),
        "t": pronouns.get(target or "", names.get(target or "", noun(target or ""))),
        "his": his,
    }
    if action in AGENTLESS_ACTIONS:
        return _headed(heads, form)
    if target is not None:
        inside = class_of(target) in _IN
        called = pronouns.get(target)
        words["t_on"] = f"{'in' if inside else 'on'} {called}" if called else place_phrase(target, inside=False)
        words["t_into"] = f"into {words['t']}"
    # A pronoun goes between the parts of a verb: "pick it up", "switch it on".
    if main in pronouns and (particle := re.fullmatch(r"(up|on|off|over|in) \{o\}", rest)) and action in PHRASAL:
        rest = f"{{o}} {particle[1]}"
    return f"{_headed(heads, form)} {rest.format(**words)}".strip()


SPEECH: Final = _forms_of("speech")
"""By speech act: base form, third person, gerund, and what follows, with a thing that it is about and without one."""


def speech_phrase(
    act: str, about: str | None, listeners: Sequence[str], form: str, *, names: Mapping[str, str] | None = None
) -> str:
    """The verb phrase for words that are said, without a subject: `offer Tom the mug`.

    Args:
        act: One of `SPEECH_ACTS`.
        about: The thing that is spoken of.
        listeners: To whom; only the first is named.
        form: `do`, `does` or `doing`.
        names: What people and things are called, by name.
    """
    names = names or {}
    *heads, with_thing, without = SPEECH[act]
    words = {"t": names.get(listeners[0], noun(listeners[0])) if listeners else "somebody"}
    rest = without if about is None else with_thing
    return f"{_headed(heads, form)} {rest.format(o=names.get(about or '', noun(about or '')), **words)}"


def number(n: int) -> str:
    """`three`, or digits beyond twelve."""
    return _NUMBERS[n] if 0 < n < len(_NUMBERS) else str(n)


def times(n: int) -> str:
    """`once`, `twice`, `three times`."""
    return {1: "once", 2: "twice"}.get(n, f"{number(n)} times")


def join_list(words: Sequence[str]) -> str:
    """`the milk, the mug and the plate`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def sentence(text: str) -> str:
    """The text with a capital at its start and after each full stop, and without repeated spaces."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"([.?!]”)\.", r"\1", re.sub(r"\s+([?.,!])", r"\1", text))
    return re.sub(r"(^|[.?!]”? )([a-z])", lambda match: match[1] + match[2].upper(), text)
