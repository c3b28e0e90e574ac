"""Faults of a rewriting draft that code can detect, without a model.

A draft replaces the later turn of a linkage on a path that skips the turns before it (SVBench, arXiv 2502.10810). So
beside the rules for every turn (`linting`) it must ask something new, build on the earlier turn, name what it asks
about, and give away neither its own answer nor that of a turn that follows.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from reeltalk.language.answer_words import lexicon
from reeltalk.schema.dialogue import Linkage, QAChain, Turn
from reeltalk.schema.entrances import is_graph_written, refers_back
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.record import ChainId, Json, VideoId
from reeltalk.schema.rewriting import RESTS_ON, Rewrite
from reeltalk.store.rows import SpooledRows
from reeltalk_build.construct.leakage import own_answer
from reeltalk_build.construct.linting import (
    GATE,
    GRAVE_FAULTS,
    LEAST_OVERLAP,
    lint,
    normalise,
    repeated,
    text_words,
    topic_words,
)
from reeltalk_build.construct.writers import Language

GRAVE_RULES: Final = GRAVE_FAULTS | {"unchanged", "method"}
"""Rules after whose faults a draft must not stay."""
_OF_OTHERS: Final = frozenset({"yes_no", "order", "opening"})
"""Rules for turns that a draft need not keep: a method may ask whether something is possible, and a draft refers."""
MOST_SHARED: Final = 0.8
"""A draft that has at least this share of the words that an answer adds to its question tells the answer."""
_COMPARES: Final = re.compile(r"\bwhich (?:of|one)\b|\bcompared\b|相比|哪一?[个只件样种]更", re.I)
"""Matches a question that offers the answers to choose from."""
_EARLIER: Final = re.compile(
    r"\b(?:earlier|before|previous(?:ly)?|first (?:part|scene)|so far)\b|之前|前面|先前|上一", re.I
)
"""Matches a question that speaks of the earlier part as a whole."""


@dataclass(frozen=True)
class DraftFault:
    """A fault of a draft."""

    gate: str
    reason: str
    grave: bool = False
    """True if the draft must not be kept."""


def rule_fault(rule: str, reason: str) -> DraftFault:
    """A fault by the name of its rule."""
    return DraftFault(f"{GATE}.{rule}", reason, rule in GRAVE_RULES)


def find_draft_faults(
    draft: Turn, linkage: Linkage, before: QAChain, after: QAChain, *, language: Language = "en"
) -> list[DraftFault]:
    """Find the faults of a draft with all rules."""
    alone = QAChain(id=after.id, video_id=after.video_id, turns=(draft,))
    found = ((flag.gate.removeprefix(f"{GATE}."), flag.reason or "") for flag in lint(alone, language=language))
    offered = {"given_away"} if _COMPARES.search(draft.question) else set()
    faults = [rule_fault(rule, reason) for rule, reason in found if rule not in _OF_OTHERS | offered]
    said, target = before.turns[: linkage.source.turn_index + 1], linkage.target.turn_index
    own = own_answer(draft)
    if own is not None and not offered:
        faults.append(rule_fault("given_away", own))
    for name, chain in (("earlier", before), ("later", after)):
        if number := asks_again(draft.question, [turn.question for turn in chain.turns]):
            again = "the question that it replaces" if (chain, number) == (after, target + 1) else ""
            reason = f"it asks nearly the same as {again or f'question {number} of the {name} chain'}"
            faults.append(rule_fault("unchanged", reason))
    shared = linkage.extra.get(RESTS_ON)
    known = topic_words(_text(said)) | topic_words(str(shared.get("shared", "")) if isinstance(shared, dict) else "")
    words, asked = topic_words(_text([draft])), topic_words(draft.question)
    if words and not words & known and not _EARLIER.search(draft.question):
        faults.append(rule_fault("builds_on_nothing", "it does not build on the earlier turn: they share no word"))
    if refers_back(draft) and not asked & (known | topic_words(_text(after.turns))):
        faults.append(rule_fault("pronoun", "it names nothing, so its pronouns mean nothing"))
    faults += (
        rule_fault("tells_later", f"it tells the answer to question {number} of the later chain, which follows it")
        for number in _find_given_away(draft, said, after.turns, target)
    )
    return list({fault.gate: fault for fault in faults}.values())


def asks_again(question: str, others: Sequence[str]) -> int | None:
    """The number, from 1, of the first question that asks nearly the same in the same words; None if none does."""
    one = set(text_words(question))
    for number, other in enumerate((set(text_words(text)) for text in others), start=1):
        if one and len(one & other) / len(one | other) >= LEAST_OVERLAP:
            return number
    return None


def _find_given_away(draft: Turn, said: Sequence[Turn], turns: Sequence[Turn], target: int) -> Iterator[int]:
    """Numbers of the following turns whose answers add to their questions only words that the draft says."""
    asks, answers = topic_words(draft.question), topic_words(" ".join(draft.references[:1]))
    known = topic_words(_text([*said, *turns[: target + 1]])) | _number_words()
    for number, turn in enumerate(turns[target + 1 :], start=target + 2):
        asked = topic_words(turn.question)
        added = topic_words(" ".join(turn.references[:1])) - asked
        # Another thing may have the same answer, so what the draft answers must say more, or repeat the question too.
        new = added - known
        in_answer = _covers(answers, added) and (
            2 * len(asked & answers) >= len(asked) or (new and len(answers - added) > 1)
        )
        if added and ((new and _covers(asks, added)) or in_answer):
            yield number
        known |= topic_words(_text([turn]))


def _covers(told: frozenset[str], words: frozenset[str]) -> bool:
    return len(words & told) >= MOST_SHARED * len(words)


@cache
def _number_words() -> frozenset[str]:
    return topic_words(" ".join((*lexicon().numbers, *map(str, range(21)))))


def _text(turns: Sequence[Turn]) -> str:
    return "\n".join(text for turn in turns for text in (turn.question, *turn.references[:1]))


def flag_recurring_drafts(rewrites: Sequence[Rewrite]) -> tuple[Sequence[Rewrite], list[GateResult]]:
    """Mark drafts that ask the same as an earlier one, or ask and answer nearly the same, within and across videos.

    Args:
        rewrites: All drafts of a benchmark, in their order.

    Returns:
        The drafts, those that recur as not coherent, and a gate result for each of these.
    """
    # A draft names things of two clips, so that hardly any recurs by chance: all are compared, as if of one video.
    # What a graph wrote has one form for each kind of question, and is compared with nothing.
    units = [
        QAChain(id=ChainId(one.id), video_id=VideoId("drafts"), turns=(one.draft,))
        for one in rewrites
        if not is_graph_written(one.draft)
    ]
    again = {flag.unit_id for flag in repeated(units) if flag.turn_index is not None}
    first: dict[str, str] = {}
    again |= {unit.id for unit in units if first.setdefault(normalise(unit.turns[0].question), unit.id) != unit.id}
    gates: list[GateResult] = []

    def marked() -> Iterator[Rewrite]:
        for one in rewrites:
            if one.id in again and one.coherent is not False:
                fault = rule_fault("repeated", "it asks the same as an earlier draft for other turns")
                gates.extend(draft_gates([fault], one.linkage, one.id, GateOutcome.FLAGGED))
                one = one.model_copy(update={"coherent": False, "problems": (*one.problems, fault.reason)})
            yield one

    return SpooledRows(Rewrite, rows=marked()), gates


def draft_gates(faults: Sequence[DraftFault], linkage: Linkage, unit_id: str, outcome: GateOutcome) -> list[GateResult]:
    """A gate result for each fault of a draft."""
    return [
        with_ends(
            GateResult(gate=fault.gate, unit="linkage", unit_id=unit_id, outcome=outcome, reason=fault.reason), linkage
        )
        for fault in faults
    ]


def with_ends(gate: GateResult, linkage: Linkage) -> GateResult:
    """A gate result about a draft with the turns of its linkage, since a dropped draft is in no table."""
    source, target = linkage.source, linkage.target
    ends: dict[str, Json] = {
        "source": [source.unit_id, source.turn_index],
        "target": [target.unit_id, target.turn_index],
    }
    return gate.model_copy(update={"turn_index": target.turn_index, "extra": gate.extra | ends})
