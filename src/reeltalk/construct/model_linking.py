"""Linkages and rewriting drafts that a model writes (SVBench, arXiv 2502.10810).

A model copies questions and answers; which turns it means is found by `matching`. Pairs that name no turn, or a
relation that is none of the six, are refused and reported.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from reeltalk.construct.matching import MatchSettings, Unmatched, match_turn
from reeltalk.construct.prompting import PromptedModel, Seen, numbered, prompts, unwritten
from reeltalk.construct.replies import LinkageReply, RewriteReply, StandingReply
from reeltalk.construct.writers import Language, Unwritten
from reeltalk.errors import shorten
from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef, without_facts
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.ids import derive_id
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Relation
from reeltalk.schema.rewriting import Rewrite, catalogue
from reeltalk.schema.standing import MODEL_SAYS, NO_DRAFT, NO_REPLY, Entered, Standing, refers_back

MATCH_GATE: Final = "linkage.match"
SKILL_LABEL: Final = "svbench.skill"


@dataclass(frozen=True)
class Linked:
    """Relations between two chains."""

    linkages: list[Linkage]
    rejected: list[GateResult]
    """Pairs that a model named and that could not be used, each with its reason."""


def linked(
    writer: PromptedModel, before: QAChain, after: QAChain, *, signature: str, settings: MatchSettings
) -> Linked | Unwritten:
    """Relations between turns of two chains.

    Args:
        writer: Finds them.
        before: The earlier chain.
        after: The later one.
        signature: Of the writer, for the records.
        settings: How alike a copied question must be.

    Raises:
        ModelError: There is no reply to be had.
        BudgetError: A limit would be passed.
    """

    def complaint(reply: LinkageReply) -> str | None:
        found, reasons = _matched(reply, before, after, signature, settings)
        return f"no pair can be used: {'; '.join(reasons)}" if reasons and not found else None

    data = {"before": numbered(before.turns), "after": numbered(after.turns)}
    asked = writer.ask("linkages", LinkageReply, data=data, check=complaint)
    if asked.record is None:
        return unwritten(asked)
    found, reasons = _matched(asked.record, before, after, signature, settings)
    rejected = [
        GateResult(gate=MATCH_GATE, unit="chain", unit_id=after.id, outcome=GateOutcome.DROPPED, reason=reason)
        for reason in reasons
    ]
    return Linked(found, rejected)


def rewritten(
    writer: PromptedModel, seen: Seen, linkage: Linkage, before: QAChain, after: QAChain, *, signature: str
) -> list[Rewrite] | Unwritten:
    """Drafts for the later turn of a linkage, each by another method of the catalogue.

    Args:
        writer: Writes them.
        seen: What the video shows at both turns.
        linkage: Relates a turn of `before` to a turn of `after`.
        before: The earlier chain.
        after: The later one.
        signature: Of the writer, for the records.

    Raises:
        ModelError: There is no reply to be had.
        BudgetError: A limit would be passed.
    """
    methods = {name: ask for name, ask in _asks(writer.language).items() if name.startswith(f"{linkage.relation}/")}
    if not methods:
        return Unwritten(f"the catalogue has no method for the relation {shorten(linkage.relation)}")

    def complaint(reply: RewriteReply) -> str | None:
        names = [draft.method for draft in reply.drafts]
        if unknown := [name for name in names if name not in methods]:
            return f"{shorten(unknown[0])} is none of the methods {', '.join(methods)}"
        return "two drafts use the same method" if len(set(names)) < len(names) else is_copy(reply)

    is_copy = writer.refused("rewrite", RewriteReply, _drafts_said)
    earlier, target = before.turns[linkage.source.turn_index], after.turns[linkage.target.turn_index]
    asked = writer.ask(
        "rewrite",
        RewriteReply,
        seen=seen,
        data={"earlier": numbered([earlier]), "chain": numbered(after.turns)},
        parts={
            "relation": linkage.relation,
            "number": str(linkage.target.turn_index + 1),
            "methods": "\n".join(f"- {name}: {ask}" for name, ask in methods.items()),
        },
        check=complaint,
    )
    if asked.record is None:
        return unwritten(asked)
    return [
        Rewrite(
            id=derive_id(
                "rewrite",
                linkage.source.model_dump(),
                linkage.target.model_dump(),
                linkage.relation,
                draft.method,
                "model",
            ),
            linkage=linkage,
            method=draft.method,
            skill=draft.skill,
            draft=without_facts(target).model_copy(
                update={
                    "question": draft.question,
                    "references": (draft.answer,),
                    "evidence": _in_order((*earlier.evidence, *target.evidence)),
                    "labels": target.labels | {SKILL_LABEL: (draft.skill.value,)},
                    "extra": without_facts(target).extra | {"writer": signature},
                }
            ),
            coherent=draft.coherent,
            problems=draft.problems,
            writer=signature,
            position=position,
        )
        for position, draft in enumerate(asked.record.drafts)
    ]


def _drafts_said(reply: RewriteReply) -> list[str]:
    return [text for draft in reply.drafts for text in (draft.question, draft.answer)]


def model_standing(judge: PromptedModel, entered: Entered) -> Standing:
    """Whether a path can enter a chain in its middle, as a model sees it.

    Args:
        judge: Reads what is asked and what is skipped.
        entered: Both.

    Raises:
        ModelError: There is no reply to be had.
        BudgetError: A limit would be passed.
    """
    if not entered.reworded and refers_back(entered.turn):
        return Standing(False, NO_DRAFT)
    asked = judge.ask(
        "standing",
        StandingReply,
        data={
            "before": numbered(entered.before),
            "skipped": numbered(entered.skipped),
            "asked": numbered((entered.turn, *entered.following)),
        },
    )
    if asked.record is None:
        return Standing(False, NO_REPLY, raw=asked.replies)
    stands = asked.record.stands == "Yes"
    return Standing(stands, None if stands else MODEL_SAYS, said=None if stands else asked.record.reason)


def evidence_of(linkage: Linkage, before: QAChain, after: QAChain) -> tuple[Interval, ...]:
    """Where both turns of a linkage can be seen, in the order of time."""
    turns: Sequence[Turn] = (before.turns[linkage.source.turn_index], after.turns[linkage.target.turn_index])
    return _in_order(tuple(interval for turn in turns for interval in turn.evidence))


def _in_order(intervals: tuple[Interval, ...]) -> tuple[Interval, ...]:
    return tuple(sorted(dict.fromkeys(intervals), key=lambda interval: (interval.start_s, interval.end_s)))


def _matched(
    reply: LinkageReply, before: QAChain, after: QAChain, signature: str, settings: MatchSettings
) -> tuple[list[Linkage], list[str]]:
    found: dict[tuple[int, int, str], Linkage] = {}
    reasons: list[str] = []
    pairs = zip(
        reply.questionsBefore,
        reply.answersBefore,
        reply.questionsAfter,
        reply.answersAfter,
        reply.relationship,
        strict=True,
    )
    for number, (asks_before, says_before, asks_after, says_after, word) in enumerate(pairs, start=1):
        relation = Relation.from_published(word)
        source = match_turn(asks_before, says_before, before.turns, settings)
        target = match_turn(asks_after, says_after, after.turns, settings)
        if relation is None:
            reasons.append(f"pair {number}: {shorten(word)} is none of the six relations")
        elif isinstance(source, Unmatched):
            reasons.append(f"pair {number}, first chain: {source.reason}")
        elif isinstance(target, Unmatched):
            reasons.append(f"pair {number}, second chain: {target.reason}")
        else:
            # The same pair may come again with another relation; with the same one it says nothing new.
            found.setdefault(
                (source.turn_index, target.turn_index, relation.value),
                Linkage(
                    source=TurnRef(unit_id=before.id, turn_index=source.turn_index),
                    target=TurnRef(unit_id=after.id, turn_index=target.turn_index),
                    relation=relation.value,
                    extra={"writer": signature, "matched": "fuzzy" if "fuzzy" in (source.how, target.how) else "exact"},
                ),
            )
    return list(found.values()), reasons


@cache
def _asks(language: Language) -> Mapping[str, str]:
    if language == "en":
        return {name: method.ask for name, method in catalogue().items()}
    return dict(re.findall(r"^- (\S+): (.+)$", prompts(language)["methods"].text, re.MULTILINE))
