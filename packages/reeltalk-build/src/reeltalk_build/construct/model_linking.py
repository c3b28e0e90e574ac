"""Linkages between two chains that a model finds, and its verdicts on where paths land (SVBench, arXiv 2502.10810).

The model gives the numbers of two turns and says what both share. Pairs with a number that no turn has, with an unknown
relation, or with something that not both turns mention, are rejected with a reason.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from reeltalk.errors import shorten
from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef
from reeltalk.schema.entrances import MODEL_SAYS, NO_DRAFT, NO_REPLY, Entrance, EntranceVerdict, refers_back
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.labels import Relation
from reeltalk.schema.record import Json
from reeltalk.schema.rewriting import RESTS_ON
from reeltalk_build.construct.linting import topic_words
from reeltalk_build.construct.prompting import PromptedModel, VisualContext, number_turns, unwritten_from
from reeltalk_build.construct.replies import LinkageReply, StandingReply
from reeltalk_build.construct.writers import LinkageResult, Unwritten

LANDINGS_AT_ONCE: Final = 16
"""Most landings of a request to a judge, so that its reply fits."""
MATCH_GATE: Final = "linkage.match"
_QUANTITY: Final = re.compile(
    r"\d|\bhow (?:many|much|often|long)\b|\b(?:once|twice|times|number|count|amount|seconds?|minutes?|more|fewer)\b"
    r"|\b(?:less|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|many|none)\b"
    r"|[几多次秒二两三四五六七八九十]",
    re.IGNORECASE,
)
"""Matches a text that asks for a quantity or gives one."""


def find_linkages(
    writer: PromptedModel,
    before: QAChain,
    after: QAChain,
    seen: VisualContext,
    *,
    signature: str,
    preferred: Sequence[str] = (),
) -> LinkageResult | Unwritten:
    """Ask a model for related turns of two chains; it sees both parts, if it can and there are pictures of them."""

    def complaint(reply: LinkageReply) -> str | None:
        found, reasons = _paired(reply, before, after, signature)
        return f"no pair can be used: {'; '.join(reasons)}" if reasons and not found else None

    data = {"before": number_turns(before.turns), "after": number_turns(after.turns)}
    first = writer.part("wanted_relations", parts={"relations": ", ".join(preferred)}) if preferred else ""
    asked = writer.ask("linkages", LinkageReply, data=data, check=complaint, **writer.looking(seen, {"wanted": first}))
    if asked.record is None:
        return unwritten_from(asked)
    found, reasons = _paired(asked.record, before, after, signature)
    rejected = [
        GateResult(gate=MATCH_GATE, unit="chain", unit_id=after.id, outcome=GateOutcome.DROPPED, reason=reason)
        for reason in reasons
    ]
    return LinkageResult(found, rejected)


def judge_standing(judge: PromptedModel, entered: Sequence[Entrance], after: QAChain) -> list[EntranceVerdict]:
    """Ask a model where paths can enter a chain in its middle."""
    found: list[EntranceVerdict | None] = [
        EntranceVerdict(False, NO_DRAFT) if not one.reworded and refers_back(one.turn) else None for one in entered
    ]
    left = [place for place, verdict in enumerate(found) if verdict is None]
    for start in range(0, len(left), LANDINGS_AT_ONCE):
        some = left[start : start + LANDINGS_AT_ONCE]
        asked = judge.ask(
            "standing",
            StandingReply,
            data={
                "after": number_turns(after.turns),
                "landings": "\n".join(_landing(number, entered[place]) for number, place in enumerate(some, start=1)),
            },
            check=partial(_miscounted, len(some)),
        )
        for at, place in enumerate(some):
            if asked.record is None:
                found[place] = EntranceVerdict(False, NO_REPLY, raw=asked.replies)
            elif asked.record.landings[at].stands == "Yes":
                found[place] = EntranceVerdict(True)
            else:
                found[place] = EntranceVerdict(False, MODEL_SAYS, explanation=asked.record.landings[at].reason)
    return [verdict for verdict in found if verdict is not None]


def _miscounted(wanted: int, reply: StandingReply) -> str | None:
    if [one.number for one in reply.landings] == list(range(1, wanted + 1)):
        return None
    return f"there are {wanted} landings, so decide on each of them once and in order"


def _landing(number: int, entered: Entrance) -> str:
    """A landing as lines: what was asked (<), what is skipped (x), and what is asked then (>)."""
    lines = [f"< Q: {turn.question}\n     A: {''.join(turn.references[:1])}" for turn in entered.before]
    here = len(entered.skipped) + 1
    lines += [f"x [{skipped}]" for skipped in range(1, here)]
    lines.append(f"> Q: {entered.turn.question}\n     A: {''.join(entered.turn.references[:1])}")
    lines += [f"> [{here + place}]" for place in range(1, len(entered.following) + 1)]
    return "\n   ".join((f"{number}.", *lines))


def _paired(reply: LinkageReply, before: QAChain, after: QAChain, signature: str) -> tuple[list[Linkage], list[str]]:
    found: dict[tuple[int, int, str], Linkage] = {}
    reasons: list[str] = []
    for number, pair in enumerate(reply.pairs, start=1):
        relation = Relation.from_published(pair.relation)
        if relation is None:
            reasons.append(f"pair {number}: {shorten(pair.relation)} is none of the six relations")
            continue
        wrong = _no_turn("first", pair.before, before) or _no_turn("second", pair.after, after)
        if wrong is not None:
            reasons.append(f"pair {number}: {wrong}")
            continue
        ground = _ground(pair.shared, relation, before.turns[: pair.before], after.turns[: pair.after])
        if isinstance(ground, str):
            reasons.append(f"pair {number}: {ground}")
            continue
        # The same pair may occur again with another relation; with the same relation it is a duplicate.
        found.setdefault(
            (pair.before, pair.after, relation.value),
            Linkage(
                source=TurnRef(unit_id=before.id, turn_index=pair.before - 1),
                target=TurnRef(unit_id=after.id, turn_index=pair.after - 1),
                relation=relation.value,
                extra={"writer": signature, RESTS_ON: ground},
            ),
        )
    return list(found.values()), reasons


def _no_turn(side: str, number: int, chain: QAChain) -> str | None:
    if 1 <= number <= len(chain.turns):
        return None
    return f"the {side} chain has no question {number}, only 1 to {len(chain.turns)}"


def _ground(shared: str, relation: Relation, before: Sequence[Turn], after: Sequence[Turn]) -> dict[str, Json] | str:
    """What two turns share according to their texts, or the reason why they share nothing."""
    sides = ("first", before), ("second", after)
    if relation is Relation.QUANTITY:
        for side, turns in sides:
            if not _QUANTITY.search(_text(turns[-1:])):
                return f"the turn of the {side} chain neither asks for a quantity nor tells one"
    said = topic_words(shared)
    if common := said & topic_words(_text(before[-1:])) & topic_words(_text(after[-1:])):
        return {"shared": shared, "words": sorted(common)}
    for side, turns in sides:
        if not said & topic_words(_text(turns)):
            return f"the turn of the {side} chain does not speak of what both are said to share, {shorten(shared)}"
    common = said & topic_words(_text(before)) & topic_words(_text(after))
    # A pronoun may stand for a name in an earlier turn, and two persons may share an action.
    if relation is Relation.PEOPLE:
        return {"shared": shared, "words": sorted(said)}
    return {"shared": shared, "words": sorted(common)} if common else f"no word of {shorten(shared)} is in both chains"


def _text(turns: Sequence[Turn]) -> str:
    return "\n".join(text for turn in turns for text in (turn.question, *turn.references[:1]))
