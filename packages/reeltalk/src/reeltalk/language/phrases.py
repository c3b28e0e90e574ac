"""English phrases for events, objects and numbers, the parts of questions and answers."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from reeltalk.language.vocabulary import class_of, plain_name

PLURAL_CLASSES: Final = frozenset({"slippers", "notes", "clothespants", "chips", "crackers", "curtains", "flowers"})
"""Classes whose name is a plural."""

VERBS: Final = {
    "walk": ("walk", "walks", "walking", "to {o}"),
    "run": ("run", "runs", "running", "to {o}"),
    "grab": ("pick", "picks", "picking", "up {o}"),
    "put": ("put", "puts", "putting", "{o} {t_on}"),
    "putIn": ("put", "puts", "putting", "{o} {t_into}"),
    "open": ("open", "opens", "opening", "{o}"),
    "close": ("close", "closes", "closing", "{o}"),
    "switchOn": ("switch", "switches", "switching", "on {o}"),
    "switchOff": ("switch", "switches", "switching", "off {o}"),
    "sit": ("sit", "sits", "sitting", "down on {o}"),
    "lie": ("lie", "lies", "lying", "down on {o}"),
    "stand": ("stand", "stands", "standing", "up"),
    "sleep": ("sleep", "sleeps", "sleeping", "on {o}"),
    "wakeUp": ("wake", "wakes", "waking", "up"),
    "drink": ("drink", "drinks", "drinking", "{o}"),
    "eat": ("eat", "eats", "eating", "{o}"),
    "pour": ("pour", "pours", "pouring", "{o} {t_into}"),
    "turnTo": ("turn", "turns", "turning", "to {o}"),
    "lookAt": ("look", "looks", "looking", "at {o}"),
    "watch": ("watch", "watches", "watching", "{o}"),
    "wipe": ("wipe", "wipes", "wiping", "{t} with {o}"),
    "scrub": ("scrub", "scrubs", "scrubbing", "{t} with {o}"),
    "rinse": ("rinse", "rinses", "rinsing", "{o}"),
    "soak": ("hold", "holds", "holding", "{o} under the water"),
    "wash": ("wash", "washes", "washing", "{o}"),
    "brush": ("use", "uses", "using", "{o}"),
    "squeeze": ("squeeze", "squeezes", "squeezing", "{o}"),
    "cut": ("cut", "cuts", "cutting", "{o}"),
    "read": ("read", "reads", "reading", "{o}"),
    "type": ("type", "types", "typing", "on {o}"),
    "write": ("write", "writes", "writing", "on {o}"),
    "text": ("type", "types", "typing", "a message on {o}"),
    "squat": ("do", "does", "doing", "a squat"),
    "jump": ("jump", "jumps", "jumping", ""),
    "stretch": ("stretch", "stretches", "stretching", ""),
    "dance": ("dance", "dances", "dancing", ""),
    "climb": ("climb", "climbs", "climbing", "onto {o}"),
    "shake": ("shake", "shakes", "shaking", "{o}"),
    "fold": ("fold", "folds", "folding", "{o}"),
    "touch": ("touch", "touches", "touching", "{o}"),
    "throw": ("throw", "throws", "throwing", "{o} to {t}"),
    "find": ("find", "finds", "finding", "{o}"),
    "fall": ("fall", "falls", "falling", "down"),
    "fallback": ("fall", "falls", "falling", "backwards"),
    "fallsit": ("fall", "falls", "falling", "off {o}"),
    "falltable2": ("fall", "falls", "falling", "on the table"),
    "straddle": ("do", "does", "doing", "the splits"),
    "legopp": ("do", "does", "doing", "leg exercises"),
    "plugIn": ("plug", "plugs", "plugging", "in {o}"),
    "plugOut": ("unplug", "unplugs", "unplugging", "{o}"),
    "give": ("give", "gives", "giving", "{o} to {t}"),
    "say": ("talk", "talks", "talking", "to {t} about {o}"),
    "wait": ("wait", "waits", "waiting", "for {o}"),
    "comfort": ("comfort", "comforts", "comforting", "{o}"),
    "hug": ("hug", "hugs", "hugging", "{o}"),
    "wave": ("wave", "waves", "waving", "to {o}"),
    "smile": ("smile", "smiles", "smiling", ""),
    "frown": ("frown", "frowns", "frowning", ""),
    "scowl": ("scowl", "scowls", "scowling", ""),
    "gasp": ("gasp", "gasps", "gasping", ""),
    "calm": ("calm", "calms", "calming", "down"),
    "boil": ("boil", "boils", "boiling", ""),
    "pop": ("pop", "pops", "popping", ""),
    "ring": ("ring", "rings", "ringing", ""),
    "break": ("break", "breaks", "breaking", ""),
    "spill": ("spill", "spills", "spilling", ""),
    "cool": ("cool", "cools", "cooling", "down"),
    "finish": ("finish", "finishes", "finishing", ""),
    "show": ("show", "shows", "showing", "{o} to {t}"),
    "clap": ("clap", "claps", "clapping", "for {o}"),
    "play": ("play", "plays", "playing", "with {o}"),
    "unwrap": ("unwrap", "unwraps", "unwrapping", "{o}"),
    "fill": ("fill", "fills", "filling", "{o}"),
    "sweep": ("sweep", "sweeps", "sweeping", "{t} with {o}"),
    "answer": ("answer", "answers", "answering", "{o}"),
    "knock": ("knock", "knocks", "knocking", "over {o}"),
    "drop": ("drop", "drops", "dropping", "{o}"),
}
"""By action: base form, third person, gerund, and what follows the verb."""

SPECIAL: Final = {
    ("drink", "mug"): "from {o}",
    ("drink", "waterglass"): "from {o}",
    ("drink", "wineglass"): "from {o}",
    ("brush", "toothbrush"): "{o} to clean {his} teeth",
    ("wash", "barsoap"): "{his} hands with {o}",
    ("sleep", "bed"): "in {o}",
    ("drink", "bottle"): "from {o}",
    ("sit", "chair"): "down on {o}",
    ("play", "guitar"): "{o}",
    ("answer", "doorbell"): "the door",
    ("walk", "floor"): "to the dirty spot",
}
"""Words after the verb for certain objects."""

_IN: Final = frozenset(
    {"fryingpan", "sink", "closet", "fridge", "garbagecan", "washingmachine", "microwave", "kitchencabinet"}
)
_NUMBERS: Final = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)

_WITHOUT_TARGET: Final = {
    "put": "{o} down", "putIn": "{o} away", "pour": "{o}", "wipe": "with {o}", "scrub": "with {o}", "give": "{o} away",
    "say": "about {o}", "show": "{o}", "throw": "{o}", "sweep": "with {o}",
}  # fmt: skip
PHRASAL: Final = frozenset({"grab", "switchOn", "switchOff", "knock", "plugIn"})
"""Verbs whose particle may follow the object."""
FORMS: Final = {"do": 0, "does": 1, "doing": 2}
_PASTS: Final = {
    "put": "put put", "sit": "sat sat", "lie": "lay lain", "stand": "stood stood", "sleep": "slept slept",
    "wake": "woke woken", "drink": "drank drunk", "eat": "ate eaten", "hold": "held held", "cut": "cut cut",
    "read": "read read", "write": "wrote written", "do": "did done", "shake": "shook shaken",
    "throw": "threw thrown", "find": "found found", "fall": "fell fallen", "give": "gave given", "say": "said said",
    "break": "broke broken", "ring": "rang rung", "run": "ran run", "tell": "told told", "make": "made made",
    "sweep": "swept swept", "show": "showed shown", "spill": "spilled spilled", "take": "took taken",
    "leave": "left left", "set": "set set", "get": "got got", "go": "went gone", "feel": "felt felt",
    "have": "had had", "speak": "spoke spoken", "begin": "began begun", "come": "came come", "see": "saw seen",
}  # fmt: skip
"""Past tense and participle of verbs that English forms irregularly."""
_DOUBLED: Final = frozenset("pop plug unplug hug drop rub scrub mop stop squat jog clap unwrap".split())


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


SILENT: Final = frozenset({"boil", "pop", "ring", "break", "spill", "finish"})
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
        his: The possessive pronoun of whoever acts.
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
    if action in SILENT:
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


SPEECH: Final = {
    "greet": ("greet", "greets", "greeting", "{t}", "{t}"),
    "ask": ("ask", "asks", "asking", "{t} about {o}", "{t} a question"),
    "offer": ("offer", "offers", "offering", "{t} {o}", "{t} something"),
    "accept": ("say", "says", "saying", "yes to {t}", "yes to {t}"),
    "refuse": ("say", "says", "saying", "no to {t}", "no to {t}"),
    "thank": ("thank", "thanks", "thanking", "{t} for {o}", "{t}"),
    "apologise": ("apologise", "apologises", "apologising", "to {t}", "to {t}"),
    "announce": ("tell", "tells", "telling", "{t} about {o}", "{t} something"),
    "complain": ("complain", "complains", "complaining", "to {t} about {o}", "to {t}"),
    "praise": ("praise", "praises", "praising", "{o}", "{t}"),
    "comfort": ("say", "says", "saying", "something kind to {t}", "something kind to {t}"),
    "propose": ("make", "makes", "making", "{t} a suggestion", "{t} a suggestion"),
    "agree": ("agree", "agrees", "agreeing", "with {t}", "with {t}"),
    "warn": ("warn", "warns", "warning", "{t} about {o}", "{t}"),
}
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
