"""Linkages and rewriting drafts that a model writes (SVBench, arXiv 2502.10810).

The model copies questions and answers of two chains and says what both turns share. `match_turn` finds the copied turn,
first letter by letter, then by similarity; a copy that fits no turn, or several equally well, is rejected with a reason
and never guessed. Pairs with an unknown relation, or with something that not both turns mention, are rejected too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from reeltalk.construct.linting import normalise, topic_words
from reeltalk.construct.prompting import PromptedModel, VisualContext, number_turns, unwritten_from
from reeltalk.construct.replies import LinkageReply, RewriteReply, StandingReply
from reeltalk.construct.writers import Unwritten
from reeltalk.errors import shorten
from reeltalk.schema.dialogue import Linkage, QAChain, Turn, TurnRef, without_facts
from reeltalk.schema.entrances import MODEL_SAYS, NO_DRAFT, NO_REPLY, Entrance, EntranceVerdict, refers_back
from reeltalk.schema.gates import GateOutcome, GateResult
from reeltalk.schema.intervals import Interval
from reeltalk.schema.labels import Relation
from reeltalk.schema.record import Json, derive_id
from reeltalk.schema.rewriting import RESTS_ON, Rewrite, catalogue


class MatchSettings(BaseModel):
    """How similar a copied question must be to the original."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    min_likeness: Annotated[float, Field(gt=0, le=1)] = 0.85
    """Least similarity of a question that was not copied exactly, 0 to 1."""
    min_margin: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Least difference in similarity between the best turn and the second best."""


DEFAULT_MATCH = MatchSettings()


@dataclass(frozen=True)
class Matched:
    """The turn that was copied."""

    turn_index: int
    """From 0."""
    how: Literal["exact", "fuzzy"]
    likeness: float
    """Similarity of the question, 0 to 1; 1 if exact."""


@dataclass(frozen=True)
class Unmatched:
    """A copy that fits no turn, or several equally well."""

    reason: str


def match_turn(
    question: str, answer: str, turns: Sequence[Turn], settings: MatchSettings = DEFAULT_MATCH
) -> Matched | Unmatched:
    """Find the turn whose question a text copies. The answer decides between turns with similar questions.

    Args:
        question: The copied question; case, punctuation and spaces do not count.
        answer: The copied answer, perhaps empty.
        turns: Turns to search.
        settings: How similar a copy must be.
    """
    wanted = normalise(question)
    if not wanted:
        return Unmatched("the question is empty")
    likeness = {index: likeness_of(question, turn.question) for index, turn in enumerate(turns)}
    exact = [index for index, turn in enumerate(turns) if normalise(turn.question) == wanted]
    if exact:
        near = exact
    else:
        best = max(likeness.values(), default=0.0)
        near = [
            index
            for index, value in likeness.items()
            if value >= max(settings.min_likeness, best - settings.min_margin)
        ]
        if not near:
            return Unmatched(f"no turn asks {shorten(question)}; the nearest is alike by {best:.2f}")
    how: Literal["exact", "fuzzy"] = "exact" if exact else "fuzzy"
    if len(near) == 1:
        return Matched(near[0], how, likeness[near[0]])
    chosen = _by_answer(answer, near, turns, settings)
    if chosen is None:
        places = ", ".join(str(index + 1) for index in near)
        return Unmatched(f"turns {places} ask {shorten(question)} alike, and the answer does not tell which is meant")
    return Matched(chosen, how, likeness[chosen])


def likeness_of(one: str, other: str) -> float:
    """Similarity of two texts, 0 to 1: Ratcliff and Obershelp's measure, without case and punctuation."""
    # The measure depends on the order of its arguments if several common parts are equally long.
    first, second = sorted((normalise(one), normalise(other)))
    return SequenceMatcher(None, first, second, autojunk=False).ratio()


def _by_answer(answer: str, near: Sequence[int], turns: Sequence[Turn], settings: MatchSettings) -> int | None:
    wanted = normalise(answer)
    if not wanted:
        return None
    exact = [index for index in near if any(normalise(text) == wanted for text in turns[index].references)]
    if exact:
        return exact[0] if len(exact) == 1 else None
    ranked = sorted(
        (max((likeness_of(answer, text) for text in turns[index].references), default=0.0), index) for index in near
    )
    (second, _), (best, chosen) = ranked[-2:]
    return chosen if best >= settings.min_likeness and best - second >= settings.min_margin else None


MATCH_GATE: Final = "linkage.match"
SKILL_LABEL: Final = "svbench.skill"
RELATION_LABEL: Final = "svbench.relation"
_QUANTITY: Final = re.compile(
    r"\d|\bhow (?:many|much|often|long)\b|\b(?:once|twice|times|number|count|amount|seconds?|minutes?|more|fewer)\b"
    r"|\b(?:less|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|many|none)\b"
    r"|[几多次秒二两三四五六七八九十]",
    re.IGNORECASE,
)
"""Matches a text that asks for a quantity or gives one."""


@dataclass(frozen=True)
class LinkageResult:
    """Linkages between two chains."""

    linkages: list[Linkage]
    rejected: list[GateResult]
    """Gate results of pairs that could not be used, each with its reason."""


def find_linkages(
    writer: PromptedModel, before: QAChain, after: QAChain, *, signature: str, settings: MatchSettings
) -> LinkageResult | Unwritten:
    """Ask a model for related turns of two chains.

    Args:
        writer: The model.
        before: The earlier chain.
        after: The later chain.
        signature: Signature of the writer, for the records.
        settings: How similar a copied question must be.

    Raises:
        ModelError: The model gives no reply.
        BudgetError: A limit would be exceeded.
    """

    def complaint(reply: LinkageReply) -> str | None:
        found, reasons = _matched(reply, before, after, signature, settings)
        return f"no pair can be used: {'; '.join(reasons)}" if reasons and not found else None

    data = {"before": number_turns(before.turns), "after": number_turns(after.turns)}
    asked = writer.ask("linkages", LinkageReply, data=data, check=complaint)
    if asked.record is None:
        return unwritten_from(asked)
    found, reasons = _matched(asked.record, before, after, signature, settings)
    rejected = [
        GateResult(gate=MATCH_GATE, unit="chain", unit_id=after.id, outcome=GateOutcome.DROPPED, reason=reason)
        for reason in reasons
    ]
    return LinkageResult(found, rejected)


def write_rewrites(
    writer: PromptedModel, seen: VisualContext, linkage: Linkage, before: QAChain, after: QAChain, *, signature: str
) -> list[Rewrite] | Unwritten:
    """Ask a model for drafts of the later turn of a linkage, each by another method of the catalogue.

    Args:
        writer: The model.
        seen: Frames or objects of the video at both turns.
        linkage: Relates a turn of `before` to a turn of `after`.
        before: The earlier chain.
        after: The later chain.
        signature: Signature of the writer, for the records.

    Raises:
        ModelError: The model gives no reply.
        BudgetError: A limit would be exceeded.
    """
    methods = {name: told for name, told in _told(writer).items() if name.startswith(f"{linkage.relation}/")}
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
        data={"earlier": number_turns([earlier]), "chain": number_turns(after.turns)},
        parts={
            "relation": linkage.relation,
            "number": str(linkage.target.turn_index + 1),
            "methods": "\n".join(f"- {name}: {told}" for name, told in methods.items()),
        },
        check=complaint,
    )
    if asked.record is None:
        return unwritten_from(asked)
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
            skill=catalogue()[draft.method].skill,
            draft=without_facts(target).model_copy(
                update={
                    "question": draft.question,
                    "references": (draft.answer,),
                    "evidence": _in_order((*earlier.evidence, *target.evidence)),
                    "labels": target.labels
                    | {RELATION_LABEL: (linkage.relation,), SKILL_LABEL: (catalogue()[draft.method].skill,)},
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


def judge_standing(judge: PromptedModel, entered: Entrance) -> EntranceVerdict:
    """Ask a model if a path can enter a chain in its middle.

    Args:
        judge: The model.
        entered: The turns asked and the turns skipped.

    Raises:
        ModelError: The model gives no reply.
        BudgetError: A limit would be exceeded.
    """
    if not entered.reworded and refers_back(entered.turn):
        return EntranceVerdict(False, NO_DRAFT)
    asked = judge.ask(
        "standing",
        StandingReply,
        data={
            "before": number_turns(entered.before),
            "skipped": number_turns(entered.skipped),
            "asked": number_turns((entered.turn, *entered.following)),
        },
    )
    if asked.record is None:
        return EntranceVerdict(False, NO_REPLY, raw=asked.replies)
    stands = asked.record.stands == "Yes"
    return EntranceVerdict(stands, None if stands else MODEL_SAYS, said=None if stands else asked.record.reason)


def evidence_of(linkage: Linkage, before: QAChain, after: QAChain) -> tuple[Interval, ...]:
    """Evidence intervals of both turns of a linkage, in order of time."""
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
        reply.shared or [""] * len(reply.relationship),
        strict=True,
    )
    for number, (asks_before, says_before, asks_after, says_after, word, shared) in enumerate(pairs, start=1):
        relation = Relation.from_published(word)
        source = match_turn(asks_before, says_before, before.turns, settings)
        target = match_turn(asks_after, says_after, after.turns, settings)
        if relation is None:
            reasons.append(f"pair {number}: {shorten(word)} is none of the six relations")
            continue
        if isinstance(source, Unmatched):
            reasons.append(f"pair {number}, first chain: {source.reason}")
            continue
        if isinstance(target, Unmatched):
            reasons.append(f"pair {number}, second chain: {target.reason}")
            continue
        ground = _ground(shared, relation, before.turns[: source.turn_index + 1], after.turns[: target.turn_index + 1])
        if isinstance(ground, str):
            reasons.append(f"pair {number}: {ground}")
            continue
        # The same pair may occur again with another relation; with the same relation it is a duplicate.
        found.setdefault(
            (source.turn_index, target.turn_index, relation.value),
            Linkage(
                source=TurnRef(unit_id=before.id, turn_index=source.turn_index),
                target=TurnRef(unit_id=after.id, turn_index=target.turn_index),
                relation=relation.value,
                extra={
                    "writer": signature,
                    "matched": "fuzzy" if "fuzzy" in (source.how, target.how) else "exact",
                    RESTS_ON: ground,
                },
            ),
        )
    return list(found.values()), reasons


def _ground(shared: str, relation: Relation, before: Sequence[Turn], after: Sequence[Turn]) -> dict[str, Json] | str:
    """What two turns share according to their texts, or the reason why they share nothing.

    Args:
        shared: What the model says that they share; empty if the prompt did not ask.
        relation: Their relation.
        before: The turn of the earlier chain, after the turns that its pronouns may point to.
        after: The same for the later chain.
    """
    sides = ("first", before), ("second", after)
    if relation is Relation.QUANTITY:
        for side, turns in sides:
            if not _QUANTITY.search(_text(turns[-1:])):
                return f"the turn of the {side} chain neither asks for a quantity nor tells one"
    own = topic_words(_text(before[-1:])) & topic_words(_text(after[-1:]))
    if not shared.strip():
        return {"words": sorted(own)} if own else "the two turns have no word in common that says what they are about"
    said = topic_words(shared)
    if common := said & own:
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


_CASES: Final = {
    "en": {"same": "where both are about the same, ", "different": "where they are about different ones, "},
    "zh": {"same": "两者相同时，", "different": "两者不同时，"},
}
_DEEPER: Final = {"en": "; going deeper, ", "zh": "；更深一步，"}


def _told(writer: PromptedModel) -> Mapping[str, str]:
    """The catalogue's methods as text for the prompt, by name."""
    language = writer.language
    asks = {name: (method.ask, method.deeper) for name, method in catalogue().items()}
    if language == "zh":
        lines = re.findall(r"^- (\S+): ([^；\n]+)(?:；(.+))?$", writer.prompts["methods"].text, re.MULTILINE)
        asks = {name: (ask, deeper or None) for name, ask, deeper in lines}
    return {
        name: _CASES[language].get(catalogue()[name].case or "", "")
        + ask
        + (f"{_DEEPER[language]}{deeper}" if deeper else "")
        for name, (ask, deeper) in asks.items()
    }
