"""The clauses of an answer: verbs of acts, with their objects and places."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reeltalk.language.answer_values import preposition
from reeltalk.language.answer_words import PUNCTUATION, Mention, is_denied_before, names_in, verbs_in
from reeltalk.language.rules import read_rules

RULE_FILE: Final = read_rules(Path(__file__).with_name("answer_acts.toml"))

BACKGROUND: Final = RULE_FILE.words["background"]
_PASSIVE: Final = RULE_FILE.words["passive"]
_RELATIVE: Final = frozenset({"who", "that", "and"})
_PERSONS: Final = RULE_FILE.words["persons"]


@dataclass(frozen=True)
class Clause:
    """A verb with its objects, places and subject in an answer."""

    verb: Mention
    objects: tuple[frozenset[str] | None, ...]
    """Objects of the verb; None for a pronoun."""
    places: tuple[tuple[str, frozenset[str] | None], ...]
    subject: frozenset[str] | None
    """A thing before the verb."""
    passive: bool
    negated: bool
    background: bool
    end: int


def clauses_of(tokens: list[str], about: frozenset[str]) -> list[Clause]:
    """The clauses of an answer in order, one for each verb of an act."""
    nouns = names_in(tokens, "noun", "room")
    verbs = [verb for verb in verbs_in(tokens, nouns) if verb.values]
    found = []
    for n, verb in enumerate(verbs):
        limit = verbs[n + 1].start if n + 1 < len(verbs) else len(tokens)
        end = min(limit, stop_of(tokens, verb.end))
        start = max(verbs[n - 1].end if n else 0, open_of(tokens, verb.start))
        subjects = [m for m in nouns if start <= m.start < verb.start and not preposition(tokens, m.start)]
        objects: list[frozenset[str] | None] = []
        places: list[tuple[str, frozenset[str] | None]] = []
        at = verb.end
        while at < end:
            name = next((m for m in nouns if m.start == at), None)
            pronoun = tokens[at] in ("it", "them", "that", "there")
            if name is not None or pronoun:
                # "Placing in the sink": the particle governs the words after it.
                begin = verb.end - (verb.particle == "in")
                local = preposition(tokens[begin:], at - begin)
                values = name.values if name is not None else None
                if local and local not in ("of", "at", "up"):
                    places.append((local, values))
                elif tokens[at] == "there":
                    pass
                else:
                    objects.append(values)
            at = name.end if name is not None else at + 1
        before = tokens[start : verb.start]
        near = before[max([n + 1 for n, word in enumerate(before) if word in _RELATIVE], default=0) :][-3:]
        passive = any(word in _PASSIVE for word in near) and near[-1] != "to"
        passive = passive and not tokens[verb.start].endswith("ing")
        if passive and subjects:
            objects.insert(0, subjects[-1].values)
        elif passive and not objects and ({"it", "they"} & set(before)):
            objects.insert(0, None)
        found.append(
            Clause(
                verb=verb,
                objects=tuple(objects),
                places=tuple(places),
                subject=subjects[-1].values if subjects and not passive and not _PERSONS & set(before) else None,
                passive=passive,
                negated=is_denied_before(tokens, verb),
                background=bool(BACKGROUND & set(tokens[open_of(tokens, verb.start) : verb.start])),
                end=end,
            )
        )
    return found


_STOPS: Final = PUNCTUATION - {"/"} | frozenset("but because since while before after once when until so".split())


def stop_of(tokens: Sequence[str], at: int) -> int:
    """Index after the last word of a clause."""
    while at < len(tokens) and tokens[at] not in _STOPS:
        at += 1
    return at


def open_of(tokens: Sequence[str], at: int) -> int:
    """Index of the first word of a clause, by punctuation and a few joining words."""
    while at > 0 and tokens[at - 1] not in PUNCTUATION and tokens[at - 1] not in ("but", "because", "then"):
        at -= 1
    return at
