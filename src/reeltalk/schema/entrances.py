"""Whether a turn stands where a path enters its chain in the middle: without the turns that the path skips.

A path that jumps asks the turn that it lands on right after the one that it left. What stands between them in the
later chain was never said, so neither that turn nor what follows it there may refer to it. Decided is, in this order:

- For turns that a graph wrote, exactly: each says what its *it* or *that* means, and what the turn after may mean.
- For all others by the wording: a turn that no draft reworded holds no pronoun and no word like *then* or *else*; and
  no turn speaks of *the car* where only the skipped turns have said *car*. What cannot be told so does not stand.

Who can do better, as a graph or a language model, is asked on top (`construct.standing`).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from reeltalk.schema.dialogue import REFERS_TO, SPEAKS_OF, PathStep, Turn, TurnRef
from reeltalk.schema.ids import derive_id

REFERENCE_WORDS: Final = re.compile(
    r"\b(he|him|his|himself|she|hers?|herself|it|its|itself|they|them|their|theirs|themselves|this|that|these|those|"
    # "How many people are there?" refers to nothing.
    r"(?<!is )(?<!are )(?<!was )(?<!were )there|here|then|same|such|both|neither|one|ones|another|others?|else|next|"
    r"afterwards?|again|former|latter|instead)\b|\b(before|after)\b(?=\s*(?:[?,.]|$))",
    re.IGNORECASE,
)
"""Words by which an English question may refer to what was said before it."""
REFERENCE_WORDS_ZH: Final = re.compile(
    "他|她|它|这|那|此|其|(?<!应)该|之后|之前|然后|接着|随后|后来|同样|两者|前者|后者|另一|另外|再次|自己|彼此|对方|上述"
)
"""The same of Chinese."""
_GOES_ON: Final = re.compile(r"\s*(and|but|so|also|or|why|how|what about|how about)\b\W*$|\s*(and|but|so|or)\b", re.I)
"""A question that only goes on with another, as *Why?* or *And in the kitchen?*"""
_KNOWN: Final = re.compile(
    r"\b(?:the|this|that|these|those|his|her|its|their)\s+((?:[a-z'-]+\s*){1,3})|([\u3400-\u4dbf\u4e00-\u9fff]+)", re.I
)
"""What a question takes as known; all of a Chinese one, which has no articles."""
_WORDS: Final = re.compile(r"[a-z]{3,}|[\u3400-\u4dbf\u4e00-\u9fff]+", re.I)
_EVERYWHERE: Final = frozenset(
    "the and are was were has have had does did can could will would should may might not with from for into onto out "
    "off over under about who whom whose what when where which why how many much long often all any some each video "
    "scene clip person man woman people after before while during between first last yes his her him she its they them "
    "their this that these those there here then more most other another such same only also".split()
)
"""Words that tie no turn to another."""

NO_DRAFT: Final = "it refers to turns that are skipped, and no draft for the link stands"
NEW_WORDS: Final = "it takes up what only the skipped turns speak of"
MODEL_SAYS: Final = "a model says that it does not stand without the skipped turns"
NO_REPLY: Final = "the model gave no usable reply on whether it stands"
TOLD: Final = "with its draft a question is answered by itself or by what is asked before it"
FOLLOWING: Final = "a turn after it refers to what only the skipped turns speak of"


@dataclass(frozen=True)
class Entrance:
    """A chain as a path would enter it in its middle."""

    before: tuple[Turn, ...]
    """What every such path has asked right before, in order; the turn that it jumps from comes last."""
    skipped: tuple[Turn, ...]
    """The turns of the later chain that it does not ask."""
    turn: Turn
    """The turn that it lands on, as it is asked."""
    following: tuple[Turn, ...]
    """The rest of the later chain."""
    reworded: bool
    """True if a draft for this link replaces the chain's own wording."""

    @property
    def signature(self) -> str:
        """Names all that is asked, so that what was found about it can be found again."""
        asked = [[turn.question, *turn.references] for turn in (*self.before, self.turn, *self.following)]
        return derive_id("entered", asked, [turn.question for turn in self.skipped])


@dataclass(frozen=True)
class EntranceVerdict:
    """What was found about an entrance."""

    stands: bool
    reason: str | None = None
    """Why it does not, in words that are the same for all of a kind."""
    said: str | None = None
    """What a model gave as its reason."""
    raw: tuple[str, ...] = ()
    """Replies of a model that could not be used; the entrance was not checked then, and does not stand."""


def verdict_by_rule(entered: Entrance) -> EntranceVerdict:
    """What the facts of graph-written turns, or else the wording alone, say about an entrance."""
    if not entered.reworded and refers_back(entered.turn):
        return EntranceVerdict(False, NO_DRAFT)
    if not follows((entered.turn, *entered.following)):
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
    """True for a turn that says what it refers to, and what the next may refer to."""
    return SPEAKS_OF in turn.extra


def refers_back(turn: Turn) -> bool:
    """True if a question may refer to what was said before it; exact for turns that a graph wrote."""
    if is_graph_written(turn):
        return turn.extra.get(REFERS_TO) is not None
    text = turn.question
    return bool(REFERENCE_WORDS.search(text) or REFERENCE_WORDS_ZH.search(text) or _GOES_ON.match(text))


def resolves(before: Turn | None, turn: Turn) -> bool:
    """Whether what a graph-written turn refers to is what the turn before it, on the same path, spoke of.

    Args:
        before: The turn that was asked right before; None for the first.
        turn: A turn; one that no graph wrote resolves as far as can be told.
    """
    meant = turn.extra.get(REFERS_TO)
    return meant is None or (before is not None and meant in before.extra.get(SPEAKS_OF, ()))


def finds_its_reference(before: tuple[TurnRef, Turn] | None, step: PathStep, turn: Turn) -> bool:
    """Whether a path's turn can be understood after the one before it; True if nobody can tell.

    Args:
        before: The place and the turn of the step before; None for the first step.
        step: A step of a path.
        turn: What is asked there.
    """
    if REFERS_TO in turn.extra:
        return resolves(before[1] if before else None, turn)
    here, there = step.ref, before[0] if before else None
    goes_on = there is not None and (there.unit_id, there.turn_index + 1) == (here.unit_id, here.turn_index)
    # Graphs wrote these turns before they said what they refer to; that of a chain's later turns is the turn before.
    is_of_graph = step.turn is None and "/ref/" in str(turn.extra.get("form"))
    return goes_on or not is_of_graph


def follows(turns: Sequence[Turn]) -> bool:
    """Whether each of some turns finds what it refers to in the one before it, as far as graphs have written them."""
    return all(resolves(one, other) for one, other in pairwise(turns))


def _words(turns: Iterable[Turn]) -> frozenset[str]:
    return _content(" ".join(" ".join((turn.question, *turn.references[:1])) for turn in turns))


def _asking(turns: Iterable[Turn]) -> frozenset[str]:
    """The words for what questions take as known."""
    return _content(" ".join(" ".join(found) for turn in turns for found in _KNOWN.findall(turn.question)))


def _content(text: str) -> frozenset[str]:
    """The words of a text that may tie it to another, without a plural's s; of Chinese, pairs of characters."""
    found: set[str] = set()
    for word in _WORDS.findall(text.casefold()):
        if word.isascii():
            found.add(word.removesuffix("s"))
        else:
            found.update(word[at : at + 2] for at in range(len(word) - 1))
    return frozenset(found) - _EVERYWHERE
