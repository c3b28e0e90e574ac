"""Rewriting drafts that a model writes for the linkages of two chains, and their checks (SVBench, arXiv 2502.10810).

One request shows the frames of both parts and asks for the drafts of up to eight linkages. Rules check each draft first
(`rewrite_checks`), then judges compare the drafts with the video. Faulty drafts go back to the writer together, each
with its faults. A draft that the video contradicts, or with a grave fault, is never kept; one with other faults is kept
as not coherent. Without a judge it is unknown if a draft is right, and `coherent` is None.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from reeltalk.errors import shorten
from reeltalk.schema.dialogue import Linkage, QAChain, Turn, without_facts
from reeltalk.schema.gates import VERIFIED, GateOutcome, GateResult
from reeltalk.schema.intervals import Interval
from reeltalk.schema.record import derive_id
from reeltalk.schema.rewriting import RESTS_ON, Rewrite, catalogue
from reeltalk_build.construct.gate_results import Subject
from reeltalk_build.construct.prompting import (
    PromptedModel,
    VisualContext,
    number_turns,
    turn_times,
    unwritten_from,
)
from reeltalk_build.construct.replies import DraftReply, RewriteCheckReply, RewriteReply, TurnCheck
from reeltalk_build.construct.rewrite_checks import (
    DraftFault,
    asks_again,
    draft_gates,
    find_draft_faults,
    rule_fault,
    with_ends,
)
from reeltalk_build.construct.verification import TurnVerdict, check_numbers, combine_checks
from reeltalk_build.construct.writers import NO_JUDGE, RewriteResult, Unwritten

T = TypeVar("T")
_Methods = Mapping[str, Mapping[str, str]]
"""Texts of the catalogue's methods, by relation and name."""
LINKAGES_AT_ONCE: Final = 8
"""Most linkages of a request for drafts."""
DRAFTS_AT_ONCE: Final = 16
"""Most drafts of a request to a judge, so that its reply fits."""
REWRITE_GATE: Final = "rewrite"
SKILL_LABEL: Final = "svbench.skill"
RELATION_LABEL: Final = "svbench.relation"


@dataclass
class _Tried:
    """A draft and what is known of it."""

    id: str
    """Identifier of the row that it becomes."""
    number: int
    """Number of its linkage, from 1."""
    linkage: Linkage
    method: str
    turn: Turn
    faults: list[DraftFault]
    verdict: TurnVerdict | None = None
    unchecked: GateResult | None = None
    """Why no judge checked it."""

    @property
    def complaints(self) -> list[str]:
        return [*(fault.reason for fault in self.faults), *(self.verdict.complaints if self.verdict else ())]

    @property
    def is_grave(self) -> bool:
        return self.is_contradicted or any(fault.grave for fault in self.faults)

    @property
    def is_contradicted(self) -> bool:
        return self.verdict is not None and self.verdict.verdict == "contradicted"

    @property
    def needs_frames(self) -> bool:
        """True if its writer has to look at the video again; faults of wording can be mended without."""
        return self.verdict is not None and self.verdict.verdict != "supported"

    def gates(self, outcome: GateOutcome | None = None) -> list[GateResult]:
        """All results about the draft."""
        found = draft_gates(self.faults, self.linkage, self.id, outcome or GateOutcome.FLAGGED)
        judged: list[GateResult] = []
        if self.verdict is not None:
            judged = Subject("linkage", self.id).verdict(self.verdict, outcome=outcome)
            # What passed and is in no table would be counted as verified.
            judged = judged[outcome is not None and self.verdict.verdict == "supported" :]
        elif self.unchecked is not None and outcome is None:
            judged = [self.unchecked]
        return [*found, *(with_ends(gate, self.linkage) for gate in judged)]


@dataclass
class PairDrafting:
    """Writes the drafts for the linkages of two chains."""

    writer: PromptedModel
    judges: Sequence[PromptedModel]
    seen: VisualContext
    """Frames or objects of both parts, for the writer; few are enough."""
    looked_at: VisualContext
    """The same for the judges, who may see more."""
    linkages: Sequence[Linkage]
    """From turns of `before` to turns of `after`."""
    before: QAChain
    after: QAChain
    signature: str
    """Signature of the writer, for the records."""
    drafts: int = 1
    """Drafts for each linkage."""
    attempts: int = 0
    """Most times that faulty drafts go back."""
    skills: Collection[str] = ()
    """Skills of which the benchmark has too few questions."""
    _gates: list[GateResult] = field(default_factory=list)
    _nothing: dict[int, Unwritten] = field(default_factory=dict)
    """Why there is no draft, by number of the linkage."""

    def run(self) -> RewriteResult:
        """Write, check, send back, and decide."""
        methods = self._methods()
        numbers = [n for n, linkage in enumerate(self.linkages, start=1) if linkage.relation in methods]
        good: dict[int, list[_Tried]] = {n: [] for n in numbers}
        bad: dict[int, list[_Tried]] = {n: [] for n in numbers}
        for _ in range(1 + self.attempts):
            lacking = [n for n in numbers if len(good[n]) < self.drafts]
            back = [one for n in lacking for one in bad[n][len(good[n]) - self.drafts :]]
            written = self._write(lacking, methods, back, good)
            self._judge([one for one in written if not one.is_grave])
            for one in written:
                (bad if one.complaints else good)[one.number].append(one)
        return self._settle(good, bad)

    def _settle(self, good: Mapping[int, list[_Tried]], bad: Mapping[int, list[_Tried]]) -> RewriteResult:
        rewrites: list[Rewrite] = []
        gates = list(self._gates)
        for n, linkage in enumerate(self.linkages, start=1):
            if n not in good:
                nothing = Unwritten(f"the catalogue has no method for the relation {shorten(linkage.relation)}")
                gates.append(self._unwritten(linkage, nothing))
                continue
            # The latest of the drafts with the fewest faults.
            light = sorted((one for one in reversed(bad[n]) if not one.is_grave), key=lambda one: len(one.complaints))
            kept = [*good[n], *_by_method(light, good[n])][: self.drafts]
            gone = [one for one in bad[n] if all(one is not other for other in kept)]
            # The last ones have no draft in their place.
            places = self.drafts - len(kept)
            for at, one in enumerate(gone):
                gates += one.gates(GateOutcome.DROPPED if at >= len(gone) - places else GateOutcome.REPLACED)
            for position, one in enumerate(kept):
                gates += one.gates()
                rewrites.append(self._rewrite(one, position))
            if not kept and not gone:
                gates.append(
                    self._unwritten(linkage, self._nothing.get(n, Unwritten("the writer gave no draft for it")))
                )
        return RewriteResult(rewrites, gates)

    def _unwritten(self, linkage: Linkage, nothing: Unwritten) -> GateResult:
        return Subject.of(self.after).unwritten(REWRITE_GATE, nothing, turn=linkage.target.turn_index)

    def _write(
        self, numbers: Sequence[int], methods: _Methods, back: Sequence[_Tried], good: Mapping[int, Sequence[_Tried]]
    ) -> list[_Tried]:
        """New drafts for some linkages, checked by the rules."""
        found: list[_Tried] = []
        asks = [one.turn.question for own in good.values() for one in own]
        for some in _chunks(numbers, LINKAGES_AT_ONCE):
            reply = self._ask(some, methods, [one for one in back if one.number in some])
            taken = {n: {one.method for one in good[n]} for n in some}
            lacking = {n: self.drafts - len(good[n]) for n in some}
            for draft in reply.drafts if reply else ():
                n = draft.linkage
                if n not in some:
                    reason = f"a draft is for link {n}, and the links are {', '.join(map(str, some))}"
                    self._gates.append(Subject.of(self.after).gate(REWRITE_GATE, GateOutcome.DROPPED, reason))
                elif lacking[n]:
                    lacking[n] -= 1
                    one = self._tried(draft)
                    one.faults += self._method_faults(draft, methods, taken[n])
                    if asks_again(draft.question, asks):
                        one.faults.append(rule_fault("repeated", "it asks nearly the same as another of these drafts"))
                    taken[n].add(draft.method)
                    asks.append(draft.question)
                    found.append(one)
        return found

    def _ask(self, some: Sequence[int], methods: _Methods, back: Sequence[_Tried]) -> RewriteReply | None:
        language = self.writer.language
        relations = dict.fromkeys(self.linkages[n - 1].relation for n in some)
        told = [f"- {name}: {text}" for relation in relations for name, text in methods[relation].items()]
        parts = {
            "methods": "\n".join(told),
            "count": _ONE_DRAFT[language] if self.drafts == 1 else _DRAFTS[language].format(self.drafts),
            "wanted": self._wanted(relations, methods),
            "advice": self._advice(back),
        }
        looks = {one.number for one in back} != set(some) or any(one.needs_frames for one in back)
        asked = self.writer.ask(
            "rewrite",
            RewriteReply,
            seen=self.seen if looks else None,
            data={
                "before": number_turns(self.before.turns),
                "after": number_turns(self.after.turns),
                "links": "\n".join(self._line(n) for n in some),
            },
            parts=parts if looks else parts | {"seen": ""},
            check=lambda reply: _complaint(reply, some),
        )
        if asked.record is None:
            nothing = unwritten_from(asked)
            # The raw replies are kept once.
            self._nothing |= {n: Unwritten(nothing.reason, nothing.replies if n == some[0] else ()) for n in some}
        return asked.record

    def _wanted(self, relations: Iterable[str], methods: _Methods) -> str:
        """The methods for the skills that are short."""
        names = [name for relation in relations for name in methods[relation] if catalogue()[name].skill in self.skills]
        return self.writer.part("wanted_methods", parts={"methods": ", ".join(names)}) if names else ""

    def _tried(self, draft: DraftReply) -> _Tried:
        linkage = self.linkages[draft.linkage - 1]
        ends = linkage.source.model_dump(), linkage.target.model_dump()
        earlier, target = self.before.turns[linkage.source.turn_index], self.after.turns[linkage.target.turn_index]
        turn = without_facts(target).model_copy(
            update={
                "question": draft.question,
                "references": (draft.answer,),
                "evidence": _in_order((*earlier.evidence, *target.evidence)),
            }
        )
        return _Tried(
            id=derive_id("rewrite", *ends, linkage.relation, draft.method, "model"),
            number=draft.linkage,
            linkage=linkage,
            method=draft.method,
            turn=turn,
            faults=find_draft_faults(turn, linkage, self.before, self.after, language=self.writer.language),
        )

    def _method_faults(self, draft: DraftReply, methods: _Methods, taken: Collection[str]) -> list[DraftFault]:
        known = methods[self.linkages[draft.linkage - 1].relation]
        if draft.method not in known:
            return [rule_fault("method", f"{shorten(draft.method)} is none of the methods {', '.join(known)}")]
        if draft.method in taken:
            return [rule_fault("method", f"another draft of this link is by the method {draft.method} too")]
        return []

    def _rewrite(self, one: _Tried, position: int) -> Rewrite:
        skill = catalogue()[one.method].skill
        labels = one.turn.labels | {RELATION_LABEL: (one.linkage.relation,), SKILL_LABEL: (skill,)}
        checked = None if one.verdict is None else True
        return Rewrite(
            id=one.id,
            linkage=one.linkage,
            method=one.method,
            skill=skill,
            draft=one.turn.model_copy(update={"labels": labels, "extra": one.turn.extra | {"writer": self.signature}}),
            coherent=False if one.complaints else checked,
            problems=tuple(one.complaints),
            writer=self.signature,
            position=position,
        )

    def _judge(self, drafts: Sequence[_Tried]) -> None:
        """Add to each draft what all judges together find."""
        for some in _chunks(drafts, DRAFTS_AT_ONCE):
            said: list[tuple[str, Sequence[TurnCheck]]] = []
            failed = Unwritten(NO_JUDGE)
            for judge in self.judges:
                checks = self._checks(judge, some)
                if isinstance(checks, Unwritten):
                    failed = checks
                else:
                    said.append((judge.model.name, checks))
            if said:
                for one, verdict in zip(some, combine_checks(said), strict=True):
                    one.verdict = verdict
                continue
            for at, one in enumerate(some):
                gate = Subject("linkage", one.id).unchecked(VERIFIED, failed.reason)
                # The raw replies are kept once.
                one.unchecked = gate if at else gate.model_copy(update={"raw": failed.replies})

    def _checks(self, judge: PromptedModel, drafts: Sequence[_Tried]) -> Sequence[TurnCheck] | Unwritten:
        asked = judge.ask(
            "rewrite_check",
            RewriteCheckReply,
            seen=self.looked_at,
            data={
                "before": number_turns(self.before.turns),
                "after": number_turns(self.after.turns),
                "drafts": "\n".join(
                    _shown(one, number) + turn_times(one.turn) for number, one in enumerate(drafts, start=1)
                ),
            },
            check=lambda reply: check_numbers(reply.checks, len(drafts)),
        )
        return unwritten_from(asked) if asked.record is None else asked.record.checks

    def _methods(self) -> _Methods:
        found: dict[str, dict[str, str]] = {}
        for name, text in _describe_methods(self.writer).items():
            found.setdefault(catalogue()[name].relation, {})[name] = text
        return found

    def _line(self, number: int) -> str:
        linkage = self.linkages[number - 1]
        ground = linkage.extra.get(RESTS_ON)
        shared = ground.get("shared") if isinstance(ground, dict) else None
        return f"{number}. {_ends(linkage)} {linkage.relation}{f': {shared}' if shared else ''}"

    def _advice(self, back: Sequence[_Tried]) -> str:
        shown = ("\n".join((_shown(one, one.number), *(f"   ! {fault}" for fault in one.complaints))) for one in back)
        return self.writer.part("rewrite_again", {"drafts": "\n".join(shown)}) if back else ""


def _complaint(reply: RewriteReply, numbers: Sequence[int]) -> str | None:
    if any(draft.linkage in numbers for draft in reply.drafts):
        return None
    named = ", ".join(str(draft.linkage) for draft in reply.drafts)
    return f"no draft is for one of the links {', '.join(map(str, numbers))}; `linkage` says {named}"


def _shown(one: _Tried, number: int) -> str:
    return f"{number}. {_ends(one.linkage)} {one.method}\n   Q: {one.turn.question}\n   A: {one.turn.references[0]}"


def _ends(linkage: Linkage) -> str:
    return f"[{linkage.source.turn_index + 1}] → [{linkage.target.turn_index + 1}]"


def _by_method(drafts: Iterable[_Tried], kept: Iterable[_Tried]) -> list[_Tried]:
    """The first draft of each method that no kept draft uses."""
    found = {one.method: one for one in kept}
    return [one for one in drafts if found.setdefault(one.method, one) is one]


def _in_order(intervals: tuple[Interval, ...]) -> tuple[Interval, ...]:
    return tuple(sorted(dict.fromkeys(intervals), key=lambda interval: (interval.start_s, interval.end_s)))


def _chunks(items: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    return (items[at : at + most] for at in range(0, len(items), most))


_ONE_DRAFT: Final = {"en": "one draft", "zh": "一稿"}
_DRAFTS: Final = {"en": "up to {} drafts", "zh": "最多 {} 稿"}
_CASES: Final = {
    "en": {"same": "where both are about the same, ", "different": "where they are about different ones, "},
    "zh": {"same": "两者相同时，", "different": "两者不同时，"},
}
_DEEPER: Final = {"en": "; going deeper, ", "zh": "；更深一步，"}


def _describe_methods(writer: PromptedModel) -> Mapping[str, str]:
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
