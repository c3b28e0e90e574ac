"""Whether a turn can be understood if a path enters its chain in the middle and skips earlier turns.

A path that jumps asks its next turn right after the one that it left. The turns that it skips were never said, so the
next turn and those after it must not refer to them. The decision:

- For turns that a graph wrote it is exact: each turn records what its *it* or *that* means, and what the next turn may
  mean by these words.
- For other turns it uses the wording. A turn that no draft reworded must hold no pronoun and no word like *then* or
  *else*. No turn may speak of *the car* if only skipped turns have said *car*. A doubtful turn is rejected.

`construct` also asks a graph or a language model, which can decide more cases.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from reeltalk.schema.dialogue import REFERS_TO, SPEAKS_OF, PathStep, Turn, TurnRef
from reeltalk.schema.record import derive_id

REFERENCE_WORDS: Final = re.compile(
    r"\b(he|him|his|himself|she|hers?|herself|it|its|itself|they|them|their|theirs|themselves|this|that|these|those|"
    # "there" in "How many people are there?" does not refer to anything.
    r"(?<!is )(?<!are )(?<!was )(?<!were )there|here|then|same|such|both|neither|one|ones|another|others?|else|next|"
    r"afterwards?|again|former|latter|instead)\b|\b(before|after)\b(?=\s*(?:[?,.]|$))",
    re.IGNORECASE,
)
"""Words by which an English question may refer to what was said before it."""
REFERENCE_WORDS_ZH: Final = re.compile(
    "他|她|它|这|那|此|其|(?<!应)该|之后|之前|然后|接着|随后|后来|同样|两者|前者|后者|另一|另外|再次|自己|彼此|对方|上述"
)
"""The same for Chinese."""
_GOES_ON: Final = re.compile(r"\s*(and|but|so|also|or|why|how|what about|how about)\b\W*$|\s*(and|but|so|or)\b", re.I)
"""A question that only continues another, such as *Why?* or *And in the kitchen?*"""
_KNOWN: Final = re.compile(
    r"\b(?:the|this|that|these|those|his|her|its|their)\s+((?:[a-z'-]+\s*){1,3})|([\u3400-\u4dbf\u4e00-\u9fff]+)", re.I
)
"""Phrases that a question treats as known; for Chinese, which has no articles, all its words."""
_WORDS: Final = re.compile(r"[a-z]{3,}|[\u3400-\u4dbf\u4e00-\u9fff]+", re.I)
_EVERYWHERE: Final = frozenset(
    "the and are was were has have had does did can could will would should may might not with from for into onto out "
    "off over under about who whom whose what when where which why how many much long often all any some each video "
    "scene clip person man woman people after before while during between first last yes his her him she its they them "
    "their this that these those there here then more most other another such same only also".split()
)
"""Words that do not connect two turns."""

NO_DRAFT: Final = "it refers to turns that are skipped, and no draft for the link stands"
NEW_WORDS: Final = "it takes up what only the skipped turns speak of"
MODEL_SAYS: Final = "a model says that it does not stand without the skipped turns"
NO_REPLY: Final = "the model gave no usable reply on whether it stands"
ANSWERED_BEFORE: Final = "with its draft a question is answered by itself or by what is asked before it"
FOLLOWING: Final = "a turn after it refers to what only the skipped turns speak of"


@dataclass(frozen=True)
class Entrance:
    """The entry of a path into the middle of a chain."""

    before: tuple[Turn, ...]
    """Turns that every such path asks right before, in order; the last one is the source of the jump."""
    skipped: tuple[Turn, ...]
    """The turns of the later chain that it skips."""
    turn: Turn
    """The turn that it enters at, in its wording there."""
    following: tuple[Turn, ...]
    """The rest of the later chain."""
    reworded: bool
    """True if a draft for this link replaces the chain's own wording."""

    @property
    def signature(self) -> str:
        """An identifier of all wordings, by which a recorded verdict is found again."""
        asked = [[turn.question, *turn.references] for turn in (*self.before, self.turn, *self.following)]
        return derive_id("entered", asked, [turn.question for turn in self.skipped])


@dataclass(frozen=True)
class EntranceVerdict:
    """A verdict on an entrance."""

    stands: bool
    reason: str | None = None
    """The reason if it does not stand, in the same words for all entrances of a kind."""
    explanation: str | None = None
    """The reason that a model gave."""
    raw: tuple[str, ...] = ()
    """Unusable replies of a model. The entrance was not checked then, and does not stand."""


def verdict_by_rule(entered: Entrance) -> EntranceVerdict:
    """Decide by the facts of graph-written turns, and by wording for all others."""
    if not entered.reworded and refers_back(entered.turn):
        return EntranceVerdict(False, NO_DRAFT)
    if not has_referent(entered.before[-1] if entered.before else None, entered.turn):
        return EntranceVerdict(False, NO_DRAFT)
    if not all_resolve((entered.turn, *entered.following)):
        return EntranceVerdict(False, FOLLOWING)
    unsaid = _words(entered.skipped) - _words(entered.before)
    if not is_graph_written(entered.turn) and unsaid & _asking((entered.turn,)):
        return EntranceVerdict(False, NEW_WORDS)
    unsaid -= _words((entered.turn,))
    for number, turn in enumerate(entered.following):
        if not is_graph_written(turn) and unsaid & _asking((turn,)):
            return EntranceVerdict(False, FOLLOWING)
        unsaid -= _words(entered.following[: number + 1])
    return EntranceVerdict(True)


def is_graph_written(turn: Turn) -> bool:
    """True for a turn that records its own references and those of the next turn."""
    return SPEAKS_OF in turn.extra


def refers_back(turn: Turn) -> bool:
    """True if a question may refer to earlier turns; exact for turns that a graph wrote."""
    if is_graph_written(turn):
        return turn.extra.get(REFERS_TO) is not None
    text = turn.question
    return bool(REFERENCE_WORDS.search(text) or REFERENCE_WORDS_ZH.search(text) or _GOES_ON.match(text))


def has_referent(before: Turn | None, turn: Turn) -> bool:
    """True if the turn before, on the same path, spoke of the thing that a graph-written turn refers to.

    Args:
        before: The turn that was asked right before; None for the first.
        turn: A turn. The result is True for one that no graph wrote.
    """
    meant = turn.extra.get(REFERS_TO)
    return meant is None or (before is not None and meant in before.extra.get(SPEAKS_OF, ()))


def finds_its_reference(before: tuple[TurnRef, Turn] | None, step: PathStep, turn: Turn) -> bool:
    """True if a path's turn can be understood after the one before it, or if this is unknown.

    Args:
        before: The place and the turn of the step before; None for the first step.
        step: A step of a path.
        turn: The turn at the step.
    """
    if REFERS_TO in turn.extra:
        return has_referent(before[1] if before else None, turn)
    here, there = step.ref, before[0] if before else None
    goes_on = there is not None and (there.unit_id, there.turn_index + 1) == (here.unit_id, here.turn_index)
    # Older graphs did not record references. A later turn of a chain refers to the turn before it.
    is_of_graph = step.turn is None and "/ref/" in str(turn.extra.get("form"))
    return goes_on or not is_of_graph


def all_resolve(turns: Sequence[Turn]) -> bool:
    """True if each turn finds its references in the turn before it, as far as graphs wrote them."""
    return all(has_referent(one, other) for one, other in pairwise(turns))


def _words(turns: Iterable[Turn]) -> frozenset[str]:
    return _content(" ".join(" ".join((turn.question, *turn.references[:1])) for turn in turns))


def _asking(turns: Iterable[Turn]) -> frozenset[str]:
    """Words of phrases that questions treat as known."""
    return _content(" ".join(" ".join(found) for turn in turns for found in _KNOWN.findall(turn.question)))


def _content(text: str) -> frozenset[str]:
    """Words of a text that may connect it to another, without the plural s; pairs of characters for Chinese."""
    found: set[str] = set()
    for word in _WORDS.findall(text.casefold()):
        if word.isascii():
            found.add(word.removesuffix("s"))
        else:
            found.update(word[at : at + 2] for at in range(len(word) - 1))
    return frozenset(found) - _EVERYWHERE
